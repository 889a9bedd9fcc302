"""The options of ``format("qsam")`` and ``format("cobol")``: parsed from a dict.

Names and meanings follow Cobrix; the table ``facts/qsam_options.tsv`` says which are the same, which differ, and which
do not exist here. Under ``cobol`` the defaults are Cobrix's too; under ``qsam`` they suit the data sets of a mainframe.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tdqsim.datasets import RecordFormat
from tdqsim.errors import DatasetError
from tdqsim.hosting import Clock
from tdqsim.layouts import Layout
from tdqsim.pipeline._numbers import Ints, Mask
from tdqsim.pipeline.layout_options import QsamValues, charset_of, layout_of
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

    @property
    def self_sized(self) -> bool:
        """Whether the content of each record determines its length."""
        return self.counted or bool(self.record_length_field)

    @property
    def blocked(self) -> bool:
        """Whether records are in blocks with descriptor words."""
        return (self.recfm.variable or self.fixed_blocks) and not self.self_sized

    @property
    def extracted(self) -> bool:
        """Whether the user's code delimits the records."""
        return bool(self.record_extractor) or bool(
            self.record_header_parser and self.record_header_parser.lower() not in HEADER_PARSERS
        )

    @property
    def length(self) -> int:
        """Bytes of a fixed record in the file, including prefix and suffix."""
        inner = self.layout.length if self.layout else 0
        return self.record_length or inner + self.record_start_offset + self.record_end_offset

    def wanted_lengths(self, lengths: Ints) -> Mask:
        """A mask of the records whose length is within the limits that the options set."""
        most = self.maximum_record_length or np.iinfo(np.int64).max
        wanted: Mask = (lengths >= self.minimum_record_length) & (lengths <= most)
        return wanted


def read_options(options: Mapping[str, str], *, cobrix: bool = False) -> QsamOptions:
    """Check the options of a read or write.

    Raises:
        DatasetError: an option is unknown or missing, its value is not allowed, or options conflict.
        LayoutError: the copybook is refused.
    """
    # Long, because each option is one line of one table; everything else is in other functions.
    given = QsamValues(options, cobrix=cobrix)
    recfm = _format(given)
    layout, header, trailer = layout_of(given)
    if given["debug"] == "string" and not recfm.separator:
        raise DatasetError("option debug is 'string', which works only with lines (record_format D)")
    _refuse_records_side_by_side(given, layout)
    most = given["maximum_record_length"]
    if most and given["minimum_record_length"] > most:
        raise DatasetError(f"minimum_record_length is more than maximum_record_length ({most})")
    children, columns = _segment_children(given), given["columns"]
    return QsamOptions(
        **given.attributes(QsamOptions)
        | dict(
            cobrix=cobrix,
            paths=_paths(given),
            layout=layout,
            shape=_shape(given),
            recfm=recfm,
            columns=columns if "columns" in given.written else None,
            only_read=given.only_read,
            **_words(given, recfm),
            length_adjustment=given["rdw_adjustment"],
            counted=layout is not None and _counted(given, recfm, layout),
            file_start_offset=given["file_start_offset"] + header,
            file_end_offset=given["file_end_offset"] + trailer,
            segment_map=_segments(given),
            redefine_rules=_redefine_rules(given),
            segment_levels=_segment_levels(given),
            segment_children=children,
            segment_prefix=given["segment_id_prefix"] or f"{Clock(simulated=False).now():%Y%m%d%H%M%S}",
            segment_prefix_given=bool(given["segment_id_prefix"]),
            check_words=_checks_words(given, recfm),
            split_bytes=max(given["input_split_size_mb"], 1) << 20,
            split_records=given["input_split_records"],
            splittable=given["enable_indexes"] and not children,
        )
    )


def _refuse_records_side_by_side(given: QsamValues, layout: Layout | None) -> None:
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


def _format(given: QsamValues) -> RecordFormat:
    name = given["record_format"]
    if given["is_record_sequence"] or given["is_xcom"]:
        name = "V"
    if given["is_text"]:
        name = "D"
    if given["record_header_parser"].lower() == "fixed_length":
        name = "F"
    return SEPARATORS[given["line_separator"]] if FORMATS[name] is RecordFormat.LF else FORMATS[name]


def _words(given: QsamValues, recfm: RecordFormat) -> dict[str, Any]:
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


def _checks_words(given: QsamValues, recfm: RecordFormat) -> bool:
    """Whether to check files for descriptor words when records without any, or without blocks, are to be read."""
    if recfm.fixed:
        return not _words(given, recfm)["fixed_blocks"] and not given["debug_ignore_file_size"]
    if recfm.separator:
        return True
    plain = recfm is RecordFormat.RDW and given["record_format"] != "RDW"
    return plain and not given.cobrix and not any(name in given.written for name in RDW)


def _paths(given: QsamValues) -> tuple[str, ...]:
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


def _counted(given: QsamValues, recfm: RecordFormat, layout: Layout) -> bool:
    """Whether the tables of records without descriptor words take only the room they need.

    Then the tables determine the length of each record.
    """
    asked = given["variable_size_occurs"] == "shift_record"
    length_given = "record_length" in given.written or "record_length_field" in given.written
    return recfm is RecordFormat.F and asked and bool(layout.counters) and not length_given


def _shape(given: QsamValues) -> Shape:
    own = {"ascii_charset": charset_of(given["ascii_charset"]), "flat": given["flatten"]}
    return Shape(**given.attributes(Shape) | own)


def _segments(given: QsamValues) -> dict[str, tuple[str, ...]]:
    segments: dict[str, tuple[str, ...]] = {}
    for _, target, ids in given.arrows("redefine_segment_id_map", empty=True):
        key = target.replace("-", "_").lower()
        segments[key] = (*segments.get(key, ()), *(word.strip() for word in ids.split(",")))
    return segments


def _redefine_rules(given: QsamValues) -> dict[str, str]:
    """The expression for each redefinition."""
    rules: dict[str, str] = {}
    for name, target, rule in given.arrows("redefine_rule"):
        if target.replace("-", "_").lower() in rules:
            raise given.bad(name, f"{target} has a rule already")
        rules[target.replace("-", "_").lower()] = rule
    return rules


def _segment_children(given: QsamValues) -> dict[str, tuple[str, ...]]:
    """The child segments of each segment."""
    below_each: dict[str, tuple[str, ...]] = {}
    for _, left, right in given.arrows("segment_children"):
        parent = left.replace("-", "_").lower()
        names = tuple(filter(None, (word.strip() for word in right.replace("-", "_").lower().split(","))))
        below_each[parent] = (*below_each.get(parent, ()), *names)
    below = [child for children in below_each.values() for child in children]
    doubles = sorted({child for child in below if below.count(child) > 1})
    if doubles:
        raise DatasetError(f"segment-children: {doubles[0]} is below more than one segment")
    return below_each


def _segment_levels(given: QsamValues) -> tuple[tuple[str, ...], ...]:
    """Values of the segment field for each level; segment_id_root is another name for level 0."""
    levels: dict[int, tuple[str, ...]] = {}
    for name, _ in (*given.starting_with("segment_id_root"), *given.starting_with("segment_id_level")):
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
