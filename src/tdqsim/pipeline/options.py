"""The options of ``format("qsam")`` and ``format("cobol")``: parsed from a dict.

Names and meanings follow Cobrix; the table ``facts/qsam_options.tsv`` says which are the same, which differ, and which
do not exist here. Under ``cobol`` the defaults are Cobrix's too; under ``qsam`` they suit the data sets of a mainframe.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from tdqsim import Clock
from tdqsim.datasets import RecordFormat
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
from tdqsim.pipeline._numbers import Ints, Mask
from tdqsim.pipeline.option_table import OptionValues
from tdqsim.pipeline.shape import Shape

FORMATS = {
    "F": RecordFormat.F, "FB": RecordFormat.FB, "V": RecordFormat.RDW, "RDW": RecordFormat.RDW, "VB": RecordFormat.VB,
    "VS": RecordFormat.VS, "VBS": RecordFormat.VBS, "U": RecordFormat.U,
    "D": RecordFormat.LF, "D2": RecordFormat.LF, "T": RecordFormat.LF,
}  # fmt: skip
SEPARATORS = {"lf": RecordFormat.LF, "crlf": RecordFormat.CRLF, "nl": RecordFormat.NL}
RDW = ("rdw_adjustment", "is_rdw_big_endian", "is_rdw_part_of_record_length")
HEADER_PARSERS = {"rdw": False, "xcom": False, "rdw_little_endian": False, "rdw_big_endian": True, "fixed_length": True}
OTHERS = ("_", "*")  # id of the last level that stands for all other segments
NUMBERED = ("redefine_segment_id_map", "redefine_rule", "segment_children", "segment_id_level")
FORMATS_OF_LINES = ("D", "D2", "T")
SOURCES = ("copybook", "copybooks", "copybook_contents", "layout")
HEADER_AND_TRAILER = (("record_header_name", "file_header_field"), ("record_trailer_name", "file_trailer_field"))
EBCDIC = "EBCDIC"


@dataclass(frozen=True)
class QsamOptions:
    """Checked options of one read or write.

    The attributes have the names of the options, and the meanings and defaults of ``facts/qsam_options.tsv``. Others
    are derived from several options: ``shape``, ``recfm``, ``fixed_blocks``, ``counted``, ``segment_levels``,
    ``check_words``, ``split_bytes``, ``split_records``, ``splittable``.
    """

    cobrix: bool
    paths: tuple[str, ...]
    layout: Layout | None
    shape: Shape
    recfm: RecordFormat
    record_length: int
    block_length: int
    rdw_big_endian: bool
    bdw_big_endian: bool
    rdw_adjustment: int
    bdw_adjustment: int
    fixed_blocks: bool
    record_length_field: str
    record_length_map: Mapping[str, int]
    length_adjustment: int
    record_extractor: str
    re_additional_info: str
    record_header_parser: str
    rhp_additional_info: str
    counted: bool
    allow_partial_records: bool
    minimum_record_length: int
    maximum_record_length: int
    file_start_offset: int
    file_end_offset: int
    record_start_offset: int
    record_end_offset: int
    generate_record_id: bool
    generate_record_bytes: bool
    generate_corrupt_fields: bool
    metadata: str
    columns: tuple[str, ...] | None
    with_input_file_name_col: str
    with_record_offset_col: str
    segment_field: str
    segment_filter: tuple[str, ...]
    segment_map: Mapping[str, tuple[str, ...]]
    redefine_rules: Mapping[str, str]
    segment_levels: tuple[tuple[str, ...], ...]
    segment_children: Mapping[str, tuple[str, ...]]
    segment_prefix: str
    segment_prefix_given: bool
    mode: str
    debug_ignore_file_size: bool
    check_words: bool
    split_bytes: int
    split_records: int
    splittable: bool
    plan: str
    output: str
    partition_by: tuple[str, ...]
    only_read: tuple[str, ...]
    write_onto_record_bytes: bool
    write_null_strings_as_spaces: bool
    write_null_display_numbers_as_zeros: bool
    write_null_comp3_numbers_as_zeros: bool

    @cached_property
    def self_sized(self) -> bool:
        """Whether the content of each record determines its length."""
        return self.counted or bool(self.record_length_field)

    @cached_property
    def blocked(self) -> bool:
        """Whether records are in blocks with descriptor words."""
        return (self.recfm.variable or self.fixed_blocks) and not self.self_sized

    @cached_property
    def extracted(self) -> bool:
        """Whether the user's code delimits the records."""
        return bool(self.record_extractor) or bool(
            self.record_header_parser and self.record_header_parser.lower() not in HEADER_PARSERS
        )

    @cached_property
    def length(self) -> int:
        """Bytes of a fixed record in the file, including prefix and suffix."""
        inner = self.layout.length if self.layout else 0
        return self.record_length or inner + self.record_start_offset + self.record_end_offset

    def wanted_lengths(self, lengths: Ints) -> Mask:
        """A mask of the records whose length is within the limits that the options set."""
        most = self.maximum_record_length or np.iinfo(np.int64).max
        wanted: Mask = (lengths >= self.minimum_record_length) & (lengths <= most)
        return wanted


class _Given(OptionValues):
    """The values of the options of ``format("qsam")``, or of ``format("cobol")``, whose defaults are Cobrix's."""

    def __init__(self, given: Mapping[str, str], *, cobrix: bool) -> None:
        self.cobrix = cobrix
        super().__init__(
            "qsam_options",
            given,
            column="cobol" if cobrix else "default",
            numbered=NUMBERED,
            prefixes=("field_code_page",),
            conflicts="qsam_conflicts",
            hint="set pedantic to false to pass over unknown options",
        )

    def in_ascii(self, default: bool) -> bool:
        """Whether text is in ASCII: as ``encoding`` says, or the default if it is not given."""
        return bool(self["encoding"] == "ascii") if "encoding" in self.written else default


def read_options(options: Mapping[str, str], *, cobrix: bool = False) -> QsamOptions:
    """Check the options of a read or write.

    Raises:
        DatasetError: an option is unknown or missing, its value is not allowed, or options conflict.
        LayoutError: the copybook is refused.
    """
    # Long, because each option is one line of one table; everything else is in other functions.
    given = _Given(options, cobrix=cobrix)
    recfm = _format(given)
    layout, header, trailer = layout_of(given)
    if given["debug"] == "string" and not recfm.separator:
        raise DatasetError("option debug is 'string', which works only with lines (record_format D)")
    _refuse_records_side_by_side(given, layout)
    most = given["maximum_record_length"]
    if most and given["minimum_record_length"] > most:
        raise DatasetError(f"minimum_record_length is more than maximum_record_length ({most})")
    children, levels = _segment_children(given), _segment_levels(given)
    return QsamOptions(
        **given.attributes(QsamOptions)
        | dict(
            cobrix=cobrix,
            paths=_paths(given),
            layout=layout,
            shape=_shape(given),
            recfm=recfm,
            columns=given["columns"] if "columns" in given.written else None,
            only_read=given.differing("applies", "read only"),
            **_words(given, recfm),
            length_adjustment=given["rdw_adjustment"],
            counted=layout is not None and _counted(given, recfm, layout),
            file_start_offset=given["file_start_offset"] + header,
            file_end_offset=given["file_end_offset"] + trailer,
            segment_map=_segments(given),
            redefine_rules=_redefine_rules(given),
            segment_levels=levels,
            segment_children=children,
            segment_prefix=given["segment_id_prefix"]
            or (f"{Clock(simulated=False).now():%Y%m%d%H%M%S}" if levels else ""),
            segment_prefix_given=bool(given["segment_id_prefix"]),
            check_words=_checks_words(given, recfm),
            split_bytes=max(given["input_split_size_mb"], 1) << 20,
            split_records=given["input_split_records"],
            splittable=given["enable_indexes"] and not children,
        )
    )


def _refuse_records_side_by_side(given: _Given, layout: Layout | None) -> None:
    """Refuse several records of a copybook where records have the length of the first: the others would have no bytes.

    ``cobol`` reads nulls for them, as Cobrix does.
    """
    length = given["record_length"]
    if given.cobrix or layout is None or not length:
        return
    beyond = next((item for item in layout.fields[1:] if item.level == 1 and item.offset >= length), None)
    if beyond is not None:
        raise DatasetError(
            f"record {beyond.name} of the copybook follows {layout.fields[0].name} at offset {beyond.offset}, and "
            f"records have {length} bytes (record_length): choose one of them with record_name"
        )


def _format(given: _Given) -> RecordFormat:
    name = given["record_format"]
    if given["is_record_sequence"] or given["is_xcom"]:
        name = "V"
    if given["is_text"]:
        name = "D"
    if given["record_header_parser"].lower() == "fixed_length":
        name = "F"
    return SEPARATORS[given["line_separator"]] if FORMATS[name] is RecordFormat.LF else FORMATS[name]


def _words(given: _Given, recfm: RecordFormat) -> dict[str, Any]:
    """How descriptor words are interpreted."""
    part = given["is_rdw_part_of_record_length"]
    if "is_rdw_part_of_record_length" not in given.written and "rdw_adjustment" in given.written:
        part = False
    blocked = recfm is RecordFormat.FB and (
        not ("block_length" in given.written or given["records_per_block"])
        if given.cobrix
        else "is_bdw_big_endian" in given.written or "bdw_adjustment" in given.written
    )
    parser = HEADER_PARSERS.get(given["record_header_parser"].lower())
    return {
        "rdw_big_endian": given["is_rdw_big_endian"] if parser is None else parser,
        "bdw_big_endian": given["is_bdw_big_endian"],
        "rdw_adjustment": given["rdw_adjustment"] - (4 if part else 0),
        "bdw_adjustment": given["bdw_adjustment"] if given.cobrix or "bdw_adjustment" in given.written else -4,
        "fixed_blocks": blocked,
    }


def _checks_words(given: _Given, recfm: RecordFormat) -> bool:
    """Whether to check files for descriptor words when records without any, or without blocks, are to be read."""
    if recfm.fixed:
        return not _words(given, recfm)["fixed_blocks"] and not given["debug_ignore_file_size"]
    if recfm.separator:
        return True
    plain = recfm is RecordFormat.RDW and given["record_format"] != "RDW"
    return plain and not given.cobrix and not any(name in given.written for name in RDW)


def _paths(given: _Given) -> tuple[str, ...]:
    several = given.texts.get("paths", "").strip()
    if several.startswith("["):  # Spark passes the paths of load([...]) like this
        try:
            paths = [str(path) for path in json.loads(several)]
        except ValueError:
            raise given.bad("paths", "must be JSON, or paths with commas") from None
    else:
        paths = list(given["paths"])
    paths += given["data_paths"]
    return tuple([given.texts.get("path", ""), *paths] if given.texts.get("path", "") else paths)


def _counted(given: _Given, recfm: RecordFormat, layout: Layout) -> bool:
    """Whether the tables of records without descriptor words take only the room they need.

    Then the tables determine the length of each record.
    """
    asked = given["variable_size_occurs"] == "shift_record"
    length_given = "record_length" in given.written or "record_length_field" in given.written
    return recfm is RecordFormat.F and asked and bool(layout.counters) and not length_given


def _shape(given: _Given) -> Shape:
    own = {"ascii_charset": charset_of(given["ascii_charset"]), "flat": given["flatten"]}
    return Shape(**given.attributes(Shape) | own)


def _segments(given: _Given) -> dict[str, tuple[str, ...]]:
    segments: dict[str, tuple[str, ...]] = {}
    for target, ids in map(given.__getitem__, given.several["redefine_segment_id_map"]):
        key = target.replace("-", "_").lower()
        segments[key] = (*segments.get(key, ()), *(word.strip() for word in ids.split(",")))
    return segments


def _redefine_rules(given: _Given) -> dict[str, str]:
    """The expression for each redefinition."""
    rules: dict[str, str] = {}
    for name in given.several["redefine_rule"]:
        target, rule = given[name]
        if target.replace("-", "_").lower() in rules:
            raise given.bad(name, f"{target} has a rule already")
        rules[target.replace("-", "_").lower()] = rule
    return rules


def _segment_children(given: _Given) -> dict[str, tuple[str, ...]]:
    """The child segments of each segment."""
    below_each: dict[str, tuple[str, ...]] = {}
    for name in given.several["segment_children"]:
        parent, words = (side.replace("-", "_").lower() for side in given[name])
        names = tuple(filter(None, (word.strip() for word in words.split(","))))
        if not names:
            raise given.bad(name, f"must be {given.known[name].allowed}")
        below_each[parent] = (*below_each.get(parent, ()), *names)
    below = [child for children in below_each.values() for child in children]
    doubles = sorted({child for child in below if below.count(child) > 1})
    if doubles:
        raise DatasetError(f"segment-children: {doubles[0]} is below more than one segment")
    return below_each


def _segment_levels(given: _Given) -> tuple[tuple[str, ...], ...]:
    """Values of the segment field for each level; segment_id_root is another name for level 0."""
    levels: dict[int, tuple[str, ...]] = {}
    for name in (*("segment_id_root",) * ("segment_id_root" in given.written), *given.several["segment_id_level"]):
        number = "0" if name == "segment_id_root" else name.removeprefix("segment_id_level")
        if not (number.isascii() and number.isdigit() and len(number) <= 2) or int(number) in levels:
            raise DatasetError(f"option {name}: must be segment_id_root, or segment_id_level0 and so on, each once")
        levels[int(number)] = given[name]
    if sorted(levels) != list(range(len(levels))):
        raise DatasetError(f"segment_id_level{max(levels)} is given, but not all levels above it")
    for level, ids in levels.items():
        mark = next((mark for mark in OTHERS if mark in ids), "")
        if mark and (level < max(levels) or len(ids) > 1):
            raise DatasetError(f"segment_id_level{level}: {mark} (all others) stands alone, and for the last level")
    return tuple(levels[level] for level in sorted(levels))


# from options to a layout ---------------------------------------------------------------------------------------------


def layout_of(given: _Given) -> tuple[Layout | None, int, int]:
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


def _page(given: _Given) -> str:
    lines = given["is_text"] or given["record_format"] in FORMATS_OF_LINES
    return _page_named(given, in_ascii=given.in_ascii(lines and given["line_separator"] != "nl"))


def _refuse_other_page(given: _Given) -> None:
    """Refuse an EBCDIC page where ``encoding`` says that text is ASCII, and the other way round."""
    in_ascii = codepage(_page(given)).kind != EBCDIC
    name, asked, text = ("ebcdic_code_page", "ebcdic", "ASCII") if in_ascii else ("ascii_charset", "ascii", "EBCDIC")
    if name in given.written and "encoding" not in given.written and not given.cobrix:
        raise given.bad(name, f"text of this record_format is {text}; give encoding={asked} too, or leave it out")


def _page_named(given: _Given, *, in_ascii: bool) -> str:
    if in_ascii:
        charset = charset_of(given["ascii_charset"])
        return "ascii" if charset == "utf-8" else charset
    return _as_read(given["ebcdic_code_page"])


def _rules(given: _Given) -> Rules:
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


def _kept_rules(given: _Given, own: Rules) -> Rules:
    """The rules of a layout in YAML: its own code page and number formats hold unless an option says otherwise."""
    in_ascii = codepage(own.code_page).kind != EBCDIC
    asked = given.in_ascii(in_ascii) and "ebcdic_code_page" not in given.written
    keeps: dict[str, Any] = {"native_little_endian": own.native_little_endian}
    if "floating_point_format" not in given.written:
        keeps["floating_point"] = own.floating_point
    page_given = asked != in_ascii or ("ascii_charset" if asked else "ebcdic_code_page") in given.written
    page = _page_named(given, in_ascii=asked) if page_given else own.code_page
    return replace(_rules(given), **keeps, code_page=page)


def _copybook(given: _Given) -> tuple[Layout, int, int]:
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


def _aside(given: _Given, book: Copybook, *options: str) -> Layout | None:
    """The header or trailer record, by either spelling of its option."""
    name = next((given[name] for name in options if given[name]), "")
    return book.record(name) if name else None


def _changed(given: _Given, layout: Layout) -> Layout:
    """The layout with the changes of occurs_mapping and non_terminals."""
    mapping = next((name for name in ("occurs_mapping", "occurs_mappings") if name in given.written), "")
    try:
        if mapping:
            layout = layout.with_occurs_counts(given[mapping])
        names = given["non_terminals"]
        return layout.with_groups_as_text(names) if names else layout
    except LookupError as error:
        raise DatasetError(f"option {mapping or 'non_terminals'}: {error.args[0]}") from None


def _field_pages(given: _Given, layout: Layout) -> Layout:
    pages: dict[str, str] = {}
    for name in given.several["field_code_page"]:
        page = _as_read(charset_of(name.partition(":")[2].strip()))
        pages |= dict.fromkeys(given[name], page)
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
