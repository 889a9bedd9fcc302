"""The options that a read or write was given: their values, what does not go together, and the layout that they name.

Which options there are, and their defaults, is the table ``facts/qsam_options.tsv``; which exclude or need each other
is ``facts/qsam_conflicts.tsv``. Names know no case; ``-`` and ``_`` are the same in those that are numbered.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from tdqsim.core.codepage import codepage
from tdqsim.errors import ConversionError, DatasetError
from tdqsim.facts import table
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

__all__ = ["FORMATS_OF_LINES", "Given", "charset_of", "known_options", "layout_of"]

NUMBERED = ("redefine_segment_id_map", "redefine_rule", "segment_children", "segment_id_level")
PREFIXES = (*NUMBERED, "field_code_page")
AT_LEAST_ONE = frozenset({"minimum_record_length", "maximum_record_length", "records_per_block"})


def known_options() -> list[dict[str, str]]:
    """The table: option, group, applies, default, cobol, status, note, source."""
    return table("qsam_options")


@cache
def _rows() -> dict[str, dict[str, str]]:
    return {row["option"].lower(): row for row in known_options()}


class Given:
    """The options given, by name.

    Raises:
        DatasetError: an option is unknown or not supported, or some do not go together.
    """

    def __init__(self, options: Mapping[str, str], *, cobrix: bool) -> None:
        self.cobrix = cobrix
        self._written: dict[str, str] = {}
        self._values: dict[str, str] = {}
        for written, value in options.items():
            if value is not None:
                name = str(written).lower()
                plain = name.replace("-", "_")
                name = plain if plain.startswith(NUMBERED) else name
                self._written[name], self._values[name] = str(written), str(value)
        self._refuse_unknown()
        self._refuse_conflicts()
        for name in AT_LEAST_ONE & self._values.keys():  # whether or not the record format looks at them
            self.number(name)

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def raw(self, name: str) -> str:
        """What was given, as it was given; empty for nothing."""
        return self._values.get(name, "")

    def text(self, name: str) -> str:
        """The value, or its default."""
        row = _rows().get(name, {})
        default = (self.cobrix and row.get("cobol")) or row.get("default", "")
        return self._values.get(name, default).strip()

    def flag(self, name: str) -> bool:
        """A value that is true or false."""
        return self.choice(name, ("true", "false")) == "true"

    def number(self, name: str) -> int:
        """A whole number; 0 where nothing is given."""
        value, adjusts = self.text(name) or "0", "adjustment" in name
        body = value.removeprefix("-")
        good = body.isascii() and body.isdigit() and len(body) <= 12 and (value == body or adjusts)
        if not good or (name in AT_LEAST_ONE and name in self and int(value) < 1):
            least = "" if adjusts else ", 1 or more" if name in AT_LEAST_ONE else ", 0 or more"
            raise DatasetError(f"option {name} is {value!r}; must be a whole number{least}")
        return int(value)

    def choice(self, name: str, allowed: tuple[str, ...]) -> str:
        """One of some words, in any case."""
        value = self.text(name).lower()
        if value not in allowed:
            said = " or ".join(allowed) if len(allowed) < 3 else f"one of {', '.join(allowed)}"
            raise DatasetError(f"option {name} is {value!r}; must be {said}")
        return value

    def words(self, name: str) -> tuple[str, ...]:
        """Words with commas between them."""
        return tuple(filter(None, (word.strip() for word in self.raw(name).split(","))))

    def json(self, name: str, example: str) -> dict[str, Any]:
        """A JSON object; empty where nothing is given."""
        if name not in self:
            return {}
        try:
            value = json.loads(self.raw(name))
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise self.bad(name, f"must be JSON such as {example}")
        return value

    def numbered(self, prefix: str) -> Iterator[tuple[str, str]]:
        """Name and value of each option that begins so."""
        return ((name, value) for name, value in self._values.items() if name.startswith(prefix))

    def arrows(self, prefix: str, form: str, *, empty: bool = False) -> Iterator[tuple[str, str, str]]:
        """Name, left and right side of each option of the form ``LEFT => RIGHT``, whose right side may be ``empty``."""
        for name, value in self.numbered(prefix):
            left, arrow, right = value.partition("=>")
            if not arrow or not left.strip() or not (right.strip() or empty):
                raise self.bad(name, f"must be {form}")
            yield name, left.strip(), right.strip()

    def bad(self, name: str, problem: str) -> DatasetError:
        """An error about a value."""
        return DatasetError(f"option {self._written.get(name, name)} is {self.raw(name)[:60]!r}; {problem}")

    # what does not go together ----------------------------------------------------------------------------------------

    def _refuse_unknown(self) -> None:
        pedantic = self.flag("pedantic")
        for name in self._values:
            base = next((start for start in PREFIXES if name.startswith(start)), name)
            row = _rows().get(base)
            if row is not None and row["status"] == "absent":
                raise DatasetError(f"option {name} is not supported: {row['note']}")
            if row is None and pedantic:
                raise DatasetError(f"option {name} is not known; set pedantic to false to pass over unknown options")

    def _refuse_conflicts(self) -> None:
        rows = table("qsam_conflicts")
        for row in sorted(rows, key=lambda row: row["rule"] == "needs"):
            one, other = self._as_given(row["option"], row["value"]), self._as_given(row["other"], row["other_value"])
            if one and other and row["rule"] == "excludes":
                raise DatasetError(f"options {one} and {other} exclude each other")
            if one and not other and row["rule"] == "needs":
                raise DatasetError(f"option {one} needs {row['other']}")

    def _as_given(self, name: str, value: str) -> str:
        """The option as it was written, if it was given with that value (or with any, where that is empty)."""
        names = [known for known in self._values if known == name or (name in NUMBERED and known.startswith(name))]
        found = names[0] if names else ""
        if not found or (value and self._values[found].strip().lower() != value):
            return ""
        return self._written[found] + (f"={value}" if value else "")


# from options to a layout ---------------------------------------------------------------------------------------------


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
        layout = replace(layout, rules=_kept_rules(given, layout.rules))
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
    return _page_named(given, in_ascii=ascii_text)


def _refuse_other_page(given: Given) -> None:
    """A page of EBCDIC where text is ASCII, or the other way round; the table refuses it where ``encoding`` says so."""
    in_ascii = codepage(_page(given)).kind != EBCDIC
    name, asked, text = ("ebcdic_code_page", "ebcdic", "ASCII") if in_ascii else ("ascii_charset", "ascii", "EBCDIC")
    if name in given and "encoding" not in given and not given.cobrix:
        raise given.bad(name, f"text of this record_format is {text}; give encoding={asked} too, or leave it out")


def _page_named(given: Given, *, in_ascii: bool) -> str:
    if in_ascii:
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


def _kept_rules(given: Given, own: Rules) -> Rules:
    """The rules of a layout in YAML: its own code page and number formats hold where no option says others."""
    in_ascii = codepage(own.code_page).kind != EBCDIC
    asked = given.choice("encoding", ("ebcdic", "ascii")) == "ascii" if "encoding" in given else in_ascii
    asked = asked and "ebcdic_code_page" not in given
    keeps: dict[str, Any] = {"native_little_endian": own.native_little_endian}
    if "floating_point_format" not in given:
        keeps["floating_point"] = own.floating_point
    said = asked != in_ascii or ("ascii_charset" if asked else "ebcdic_code_page") in given
    page = _page_named(given, in_ascii=asked) if said else own.code_page
    return replace(_rules(given), **keeps, code_page=page)


def _copybook(given: Given) -> tuple[Layout, int, int]:
    _refuse_other_page(given)
    options: dict[str, Any] = {
        "rules": _rules(given),
        "long_binary": True,
        "nearest_counter": given.cobrix,
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
