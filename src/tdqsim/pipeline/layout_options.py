"""The options of ``format("qsam")`` and ``format("cobol")``, and the layout that they name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from tdqsim.errors import ConversionError, DatasetError
from tdqsim.hosting import codepage
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
from tdqsim.pipeline.option_table import DeclaredOption, OptionValues

FORMATS_OF_LINES = ("D", "D2", "T")
SOURCES = ("copybook", "copybooks", "copybook_contents", "layout")
HEADER_AND_TRAILER = (("record_header_name", "file_header_field"), ("record_trailer_name", "file_trailer_field"))
EBCDIC = "EBCDIC"


class QsamValues(OptionValues):
    """The values of the options of ``format("qsam")``, or of ``format("cobol")``, whose defaults are Cobrix's.

    Raises:
        DatasetError: an option is unknown or not supported, its value is not allowed, or options conflict.
    """

    numbered = ("redefine_segment_id_map", "redefine_rule", "segment_children", "segment_id_level")
    prefixes = ("field_code_page",)

    def __init__(self, given: Mapping[str, str], *, cobrix: bool) -> None:
        super().__init__("qsam_options", given, column="cobol" if cobrix else "default")
        self.cobrix = cobrix
        self.check_values("pedantic")
        self.check_names(unknown=not self["pedantic"], hint="set pedantic to false to pass over unknown options")
        self.check_conflicts("qsam_conflicts")
        self.check_values()

    @property
    def only_read(self) -> tuple[str, ...]:
        """The options given that only a read can have: a write with them would not give what they read."""
        return tuple(name for name in self.written if (option := self._option(name)) and self._only_read(option, name))

    def _only_read(self, option: DeclaredOption, name: str) -> bool:
        return option.row["applies"] == "read only" and self[name] != option.parse(option.row["default"])

    def in_ascii(self, default: bool) -> bool:
        """Whether text is in ASCII: as ``encoding`` says, or the default if it is not given."""
        return bool(self["encoding"] == "ascii") if "encoding" in self.written else default


# from options to a layout ---------------------------------------------------------------------------------------------


def layout_of(given: QsamValues) -> tuple[Layout | None, int, int]:
    """The layout, and the lengths of the header and trailer records.

    Raises:
        DatasetError: an option's value is not allowed, or it names a field that does not exist.
        LayoutError: the copybook is refused.
    """
    source = next((name for name in SOURCES if given.texts.get(name, "").strip()), "")
    if not source and given.cobrix:
        raise DatasetError("no copybook was given: option copybook, copybooks or copybook_contents")
    if not source:
        return None, 0, 0
    fixed = given["variable_size_occurs"] == "max_size"
    occurs: Literal["max_size", "shift_record"] = "max_size" if fixed else "shift_record"
    header = trailer = 0
    if source == "layout":
        layout = load_layout_yaml(_local(given.texts.get("layout", "")))
        layout = replace(layout, rules=_kept_rules(given, layout.rules))
        layout = layout.with_rules(variable_size_occurs=occurs if "variable_size_occurs" in given.written else None)
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


def _page(given: QsamValues) -> str:
    lines = given["is_text"] or given["record_format"] in FORMATS_OF_LINES
    return _page_named(given, in_ascii=given.in_ascii(lines and given["line_separator"] != "nl"))


def _refuse_other_page(given: QsamValues) -> None:
    """Refuse an EBCDIC page where ``encoding`` says that text is ASCII, and the other way round."""
    in_ascii = codepage(_page(given)).kind != EBCDIC
    name, asked, text = ("ebcdic_code_page", "ebcdic", "ASCII") if in_ascii else ("ascii_charset", "ascii", "EBCDIC")
    if name in given.written and "encoding" not in given.written and not given.cobrix:
        raise given.bad(name, f"text of this record_format is {text}; give encoding={asked} too, or leave it out")


def _page_named(given: QsamValues, *, in_ascii: bool) -> str:
    if in_ascii:
        charset = charset_of(given["ascii_charset"])
        return "ascii" if charset == "utf-8" else charset
    return _as_read(given["ebcdic_code_page"])


def _rules(given: QsamValues) -> Rules:
    detects = given["improved_null_detection"]
    return Rules(
        code_page=_page(given),
        floating_point=given["floating_point_format"],
        numbers="Cobrix" if given.cobrix else "IBM",
        strict_overpunch=given["strict_sign_overpunching"],
        null_detection=detects and given["string_trimming_policy"] != "keep_all",
        blank_is_zero=not detects,
        utf16_big_endian=given["is_utf16_big_endian"],
    )


def _kept_rules(given: QsamValues, own: Rules) -> Rules:
    """The rules of a layout in YAML: its own code page and number formats hold unless an option says otherwise."""
    in_ascii = codepage(own.code_page).kind != EBCDIC
    asked = given.in_ascii(in_ascii) and "ebcdic_code_page" not in given.written
    keeps: dict[str, Any] = {"native_little_endian": own.native_little_endian}
    if "floating_point_format" not in given.written:
        keeps["floating_point"] = own.floating_point
    page_given = asked != in_ascii or ("ascii_charset" if asked else "ebcdic_code_page") in given.written
    page = _page_named(given, in_ascii=asked) if page_given else own.code_page
    return replace(_rules(given), **keeps, code_page=page)


def _copybook(given: QsamValues) -> tuple[Layout, int, int]:
    _refuse_other_page(given)
    options: dict[str, Any] = {
        "rules": _rules(given),
        "long_binary": True,
        "nearest_counter": given.cobrix,
        "columns": (given["comments_lbound"], given["comments_ubound"]),
    }
    if not given["truncate_comments"]:
        options["source_format"] = "free"
    elif "comments_lbound" in given.written or "comments_ubound" in given.written:
        options["source_format"] = "fixed"
    if given.texts.get("copybooks", "").strip():
        paths = given["copybooks"]
        if not paths:
            raise DatasetError("option copybooks is empty; must be paths with commas between them")
        return merge_copybooks([load_copybook(_local(path), **options) for path in paths]).whole, 0, 0
    if given.texts.get("copybook", "").strip():
        book = load_copybook(_local(given.texts.get("copybook", "")), **options)
    else:
        book = parse_copybook(given.texts.get("copybook_contents", ""), file="copybook_contents", **options)
    aside = [_aside(given, book, *names) for names in HEADER_AND_TRAILER]
    if aside[0] is not None and aside[0] is aside[1]:
        raise DatasetError(f"record_header_name and record_trailer_name name the same record, {aside[0].name}")
    header, trailer = (record.length if record is not None else 0 for record in aside)
    if given["record_name"]:
        return book.record(given["record_name"]), header, trailer
    return book.without(*(record.name for record in aside if record is not None)), header, trailer


def _aside(given: QsamValues, book: Copybook, *options: str) -> Layout | None:
    """The header or trailer record, by either spelling of its option."""
    name = next((given[name] for name in options if given[name]), "")
    return book.record(name) if name else None


def _changed(given: QsamValues, layout: Layout) -> Layout:
    """The layout with the changes of occurs_mapping and non_terminals."""
    mapping = next((name for name in ("occurs_mapping", "occurs_mappings") if name in given.written), "")
    try:
        if mapping:
            layout = layout.with_occurs_counts(given[mapping])
        names = given["non_terminals"]
        return layout.with_groups_as_text(names) if names else layout
    except LookupError as error:
        raise DatasetError(f"option {mapping or 'non_terminals'}: {error.args[0]}") from None


def _field_pages(given: QsamValues, layout: Layout) -> Layout:
    pages: dict[str, str] = {}
    for name, value in given.starting_with("field_code_page"):
        page = _as_read(charset_of(name.partition(":")[2].strip()))
        pages |= {word.strip(): page for word in value.split(",") if word.strip()}
    try:
        return layout.with_code_pages(pages) if pages else layout
    except LookupError as error:
        raise DatasetError(f"option field_code_page: {error.args[0]}") from None


def _as_read(name: str) -> str:
    """The code page of EBCDIC text for columns, by Cobrix's name, which also says how to treat control characters."""
    page = name.strip().lower()
    if page.endswith("_extended") or page == "common":
        return page
    try:
        return page if codepage(page).kind != EBCDIC or "_" in codepage(page).name else f"{page}_text"
    except ConversionError:
        return page  # the layout reports what is wrong with it


def _without_native(item: Field) -> Field:
    """The field with COMP-5 as COMP, like Cobrix: an unsigned number with its top bit set is null."""
    usage = Usage.BINARY if item.usage is Usage.COMP_5 else item.usage
    return replace(item, usage=usage, children=tuple(_without_native(child) for child in item.children))


def _local(path: str) -> Path:
    return Path(path.strip().removeprefix("file://").removeprefix("file:"))
