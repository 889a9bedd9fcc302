"""From options to a layout: copybooks, code pages, and what changes the fields."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from tdqsim.core.codepage import codepage
from tdqsim.errors import ConversionError, DatasetError
from tdqsim.layouts import (
    Copybook,
    Field,
    Layout,
    Rules,
    Usage,
    load_copybook,
    load_layout_yaml,
    merge_copybooks,
    parse_copybook,
)
from tdqsim.pipeline._given import Given

__all__ = ["FORMATS_OF_LINES", "charset_of", "layout_of"]

FORMATS_OF_LINES = ("D", "D2", "T")
SOURCES = ("copybook", "copybooks", "copybook_contents", "layout")
HEADER_AND_TRAILER = (("record_header_name", "file_header_field"), ("record_trailer_name", "file_trailer_field"))
EBCDIC = "EBCDIC"
VARIABLE_SIZE = {
    "max_size": "max_size", "shift_record": "shift_record", "pad_record": "shift_record",
    "false": "max_size", "true": "shift_record",
}  # fmt: skip


def layout_of(given: Given) -> tuple[Layout | None, int, int]:
    """The layout, and the lengths of the header and trailer records.

    Raises:
        DatasetError: an option's value is not allowed, or names a field that there is not.
        LayoutError: the copybook is refused.
    """
    source = next((name for name in SOURCES if given.raw(name).strip()), "")
    if not source and given.cobrix:
        raise DatasetError("no copybook was given: option copybook, copybooks or copybook_contents")
    if not source:
        return None, 0, 0
    occurs: Any = VARIABLE_SIZE[given.choice("variable_size_occurs", tuple(VARIABLE_SIZE))]
    header = trailer = 0
    if source == "layout":
        layout = load_layout_yaml(_local(given.raw("layout")))
        layout = layout.with_rules(variable_size_occurs=occurs if "variable_size_occurs" in given else None)
    else:
        layout, header, trailer = _copybook(given)
        layout = layout.with_rules(variable_size_occurs=occurs)
    if given.cobrix:
        layout = replace(layout, fields=tuple(_without_native(item) for item in layout.fields))
    return _field_pages(given, _changed(given, layout)), header, trailer


def charset_of(name: str) -> str:
    """The charset of text in ASCII: ``ascii``, ``utf-8``, or a code page."""
    packed = name.upper().replace("-", "").replace("_", "")
    return {"UTF8": "utf-8", "USASCII": "ascii", "ASCII": "ascii"}.get(packed, name)


def _page(given: Given) -> str:
    ascii_text = given.choice("encoding", ("ebcdic", "ascii")) == "ascii"
    lines = given.flag("is_text") or given.text("record_format").upper() in FORMATS_OF_LINES
    if "encoding" not in given and lines:
        ascii_text = given.text("line_separator").lower() != "nl"
    if ascii_text:
        charset = charset_of(given.text("ascii_charset"))
        return "ascii" if charset == "utf-8" else charset
    return _as_read(given.text("ebcdic_code_page"))


def _rules(given: Given) -> Rules:
    detects = given.flag("improved_null_detection")
    return Rules(
        code_page=_page(given),
        floating_point=given.text("floating_point_format"),
        strict_overpunch=given.flag("strict_sign_overpunching"),
        null_detection=detects and given.text("string_trimming_policy").lower() != "keep_all",
        blank_is_zero=not detects,
        utf16_big_endian=given.flag("is_utf16_big_endian"),
    )


def _copybook(given: Given) -> tuple[Layout, int, int]:
    options: dict[str, Any] = {
        "rules": _rules(given),
        "long_binary": True,
        "columns": (given.number("comments_lbound"), given.number("comments_ubound")),
    }
    if not given.flag("truncate_comments"):
        options["source_format"] = "free"
    elif "comments_lbound" in given or "comments_ubound" in given:
        options["source_format"] = "fixed"
    if given.raw("copybooks").strip():
        paths = given.words("copybooks")
        if not paths:
            raise DatasetError("option copybooks is empty; must be paths with commas between them")
        return merge_copybooks([load_copybook(_local(path), **options) for path in paths]).whole, 0, 0
    if given.raw("copybook").strip():
        book = load_copybook(_local(given.raw("copybook")), **options)
    else:
        book = parse_copybook(given.raw("copybook_contents"), file="copybook_contents", **options)
    aside = [_aside(given, book, *names) for names in HEADER_AND_TRAILER]
    if aside[0] is not None and aside[0] is aside[1]:
        raise DatasetError(f"record_header_name and record_trailer_name name the same record, {aside[0].name}")
    header, trailer = (record.length if record is not None else 0 for record in aside)
    if given.text("record_name"):
        return book.record(given.text("record_name")), header, trailer
    return book.without(*(record.name for record in aside if record is not None)), header, trailer


def _aside(given: Given, book: Copybook, *options: str) -> Layout | None:
    """The header or trailer record, by either name of its option."""
    name = next((given.text(name) for name in options if given.text(name)), "")
    return book.record(name) if name else None


def _changed(given: Given, layout: Layout) -> Layout:
    """The layout with what occurs_mapping and non_terminals say."""
    mapping = next((name for name in ("occurs_mapping", "occurs_mappings") if name in given), "")
    try:
        if mapping:
            layout = layout.with_occurs_counts(_occurs(given, mapping))
        names = given.words("non_terminals")
        return layout.with_groups_as_text(names) if names else layout
    except LookupError as error:
        raise DatasetError(f"option {mapping or 'non_terminals'}: {error.args[0]}") from None


def _occurs(given: Given, name: str) -> dict[str, dict[str, int]]:
    example = '{"TABLE": {"A": 1, "B": 2}}'
    tables = given.json(name, example)
    for items in tables.values():
        if not isinstance(items, dict) or not all(type(number) is int for number in items.values()):
            raise given.bad(name, f"must be JSON such as {example}")
    return tables


def _field_pages(given: Given, layout: Layout) -> Layout:
    pages: dict[str, str] = {}
    for name, value in given.numbered("field_code_page"):
        page = _as_read(charset_of(name.partition(":")[2].strip()))
        pages |= {word.strip(): page for word in value.split(",") if word.strip()}
    try:
        return layout.with_code_pages(pages) if pages else layout
    except LookupError as error:
        raise DatasetError(f"option field_code_page: {error.args[0]}") from None


def _as_read(name: str) -> str:
    """The code page of EBCDIC text for columns, by Cobrix's name for it: there control characters go by the name."""
    page = name.strip().lower()
    if page.endswith("_extended") or page == "common":
        return page
    try:
        return page if codepage(page).kind != EBCDIC or "_" in codepage(page).name else f"{page}_text"
    except ConversionError:
        return page  # the layout says what is wrong with it


def _without_native(item: Field) -> Field:
    """The field with COMP-5 as COMP, as Cobrix has it: an unsigned number with its top bit set is null."""
    usage = Usage.BINARY if item.usage is Usage.COMP_5 else item.usage
    return replace(item, usage=usage, children=tuple(_without_native(child) for child in item.children))


def _local(path: str) -> Path:
    return Path(path.strip().removeprefix("file://").removeprefix("file:"))
