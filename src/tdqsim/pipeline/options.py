"""The options of ``format("qsam")`` and ``format("cobol")``: what a dict of them says.

Names and meanings follow Cobrix; the table ``facts/qsam_options.tsv`` tells which are the same, which differ, and which
there are not. Under ``cobol`` the defaults are Cobrix's too, under ``qsam`` those of a mainframe's data sets.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from tdqsim.core.clock import Clock
from tdqsim.datasets import RecordFormat
from tdqsim.errors import DatasetError
from tdqsim.layouts import Layout
from tdqsim.pipeline._given import Given, charset_of, known_options, layout_of
from tdqsim.pipeline._numbers import Ints, Mask
from tdqsim.pipeline.shape import TRIM_POLICIES, Shape

__all__ = ["QsamOptions", "known_options", "read_options"]

FORMATS = {
    "F": RecordFormat.F, "FB": RecordFormat.FB, "V": RecordFormat.RDW, "RDW": RecordFormat.RDW, "VB": RecordFormat.VB,
    "VS": RecordFormat.VS, "VBS": RecordFormat.VBS, "U": RecordFormat.U,
    "D": RecordFormat.LF, "D2": RecordFormat.LF, "T": RecordFormat.LF,
}  # fmt: skip
SEPARATORS = {"lf": RecordFormat.LF, "crlf": RecordFormat.CRLF, "nl": RecordFormat.NL}
DEBUG = {"false": "", "none": "", "true": "hex", "hex": "hex", "raw": "raw", "binary": "raw", "string": "string"}
METADATA = {"basic": "basic", "extended": "extended", "false": "", "no": "", "no_metadata": ""}
MODES = ("permissive", "dropmalformed", "failfast")
RDW = ("rdw_adjustment", "is_rdw_big_endian", "is_rdw_part_of_record_length")
HEADER_PARSERS = {"rdw": False, "xcom": False, "rdw_little_endian": False, "rdw_big_endian": True, "fixed_length": True}
OTHERS = ("_", "*")  # as the id of the last level: all other segments


@dataclass(frozen=True)
class QsamOptions:
    """Options of one read or write, checked. The attributes are named as the options; see the table."""

    cobrix: bool = False
    paths: tuple[str, ...] = ()
    layout: Layout | None = None
    shape: Shape = field(default_factory=Shape)
    recfm: RecordFormat = RecordFormat.F
    record_length: int = 0
    block_length: int = 0
    rdw_big_endian: bool = True
    bdw_big_endian: bool = True
    rdw_adjustment: int = -4
    bdw_adjustment: int = -4
    fixed_blocks: bool = False
    record_length_field: str = ""
    record_length_map: Mapping[str, int] = field(default_factory=dict)
    length_adjustment: int = 0
    record_extractor: str = ""
    re_additional_info: str = ""
    record_header_parser: str = ""
    rhp_additional_info: str = ""
    counted: bool = False
    allow_partial_records: bool = False
    minimum_record_length: int = 0
    maximum_record_length: int = 0
    file_start_offset: int = 0
    file_end_offset: int = 0
    record_start_offset: int = 0
    record_end_offset: int = 0
    generate_record_id: bool = False
    generate_record_bytes: bool = False
    generate_corrupt_fields: bool = False
    metadata: str = "basic"
    with_input_file_name_col: str = ""
    with_record_offset_col: str = ""
    segment_field: str = ""
    segment_filter: tuple[str, ...] = ()
    segment_map: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    redefine_rules: Mapping[str, str] = field(default_factory=dict)
    segment_levels: tuple[tuple[str, ...], ...] = ()
    segment_children: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    segment_prefix: str = ""
    segment_prefix_given: bool = False
    mode: str = "permissive"
    debug_ignore_file_size: bool = False
    refuse_blocks: bool = False
    split_bytes: int = 32 * 1024 * 1024
    split_records: int = 0
    splittable: bool = True
    output: str = "file"
    write_onto_record_bytes: bool = False
    write_null_strings_as_spaces: bool = False
    write_null_display_numbers_as_zeros: bool = False
    write_null_comp3_numbers_as_zeros: bool = False

    @property
    def self_sized(self) -> bool:
        """Each record says by what is in it how long it is."""
        return self.counted or bool(self.record_length_field)

    @property
    def blocked(self) -> bool:
        """Records are in blocks with descriptor words."""
        return (self.recfm.variable or self.fixed_blocks) and not self.self_sized

    @property
    def extracted(self) -> bool:
        """Code of the user's says where the records are."""
        return bool(self.record_extractor) or bool(
            self.record_header_parser and self.record_header_parser.lower() not in HEADER_PARSERS
        )

    @property
    def length(self) -> int:
        """Bytes of a fixed record in the file, prefix and suffix included."""
        inner = self.layout.length if self.layout else 0
        return self.record_length or inner + self.record_start_offset + self.record_end_offset

    def wanted_lengths(self, lengths: Ints) -> Mask:
        """Which records are neither shorter nor longer than what is wanted."""
        most = self.maximum_record_length or np.iinfo(np.int64).max
        wanted: Mask = (lengths >= self.minimum_record_length) & (lengths <= most)
        return wanted


READ_AS: dict[str, Callable[[Given, str], Any]] = {
    "bool": Given.flag, "int": Given.number, "str": Given.text, "tuple[str, ...]": Given.words
}  # fmt: skip


def _as_given(given: Given, kind: type) -> dict[str, Any]:
    """The attributes of a class that an option says as it is; what reads it says those of the others."""
    known = {row["option"] for row in known_options()}
    plain = ((each.name, str(each.type)) for each in fields(kind) if each.name in known and each.type in READ_AS)
    return {name: READ_AS[type_](given, name) for name, type_ in plain}


def read_options(options: Mapping[str, str], *, cobrix: bool = False) -> QsamOptions:
    """Check the options of a read or write.

    Raises:
        DatasetError: an option is unknown or absent, its value is not allowed, or options do not go together.
        LayoutError: the copybook is refused.
    """
    # Long, because each option is one line of one table: what is behind it is a function of its own.
    given = Given(options, cobrix=cobrix)
    recfm = _format(given)
    layout, header, trailer = layout_of(given)
    if given.text("debug").lower() == "string" and not recfm.separator:
        raise DatasetError("option debug is 'string', which is for lines only (record_format D)")
    most = given.number("maximum_record_length")
    if most and given.number("minimum_record_length") > most:
        raise DatasetError(f"minimum_record_length is more than maximum_record_length ({most})")
    children = _segment_children(given)
    return QsamOptions(
        **_as_given(given, QsamOptions)
        | dict(
            cobrix=cobrix,
            paths=_paths(given),
            layout=layout,
            shape=_shape(given),
            recfm=recfm,
            **_words(given, recfm),
            record_length_map=_lengths(given),
            length_adjustment=given.number("rdw_adjustment"),
            re_additional_info=given.raw("re_additional_info"),
            rhp_additional_info=given.raw("rhp_additional_info"),
            counted=layout is not None and _counted(given, recfm, layout),
            file_start_offset=given.number("file_start_offset") + header,
            file_end_offset=given.number("file_end_offset") + trailer,
            metadata=METADATA[given.choice("metadata", tuple(METADATA))],
            segment_map=_segments(given),
            redefine_rules=_redefine_rules(given),
            segment_levels=_segment_levels(given),
            segment_children=children,
            segment_prefix=given.text("segment_id_prefix") or f"{Clock(simulated=False).now():%Y%m%d%H%M%S}",
            segment_prefix_given=bool(given.text("segment_id_prefix")),
            mode=given.choice("mode", MODES),
            refuse_blocks=_suspicious(given, recfm),
            split_bytes=max(given.number("input_split_size_mb"), 1) << 20,
            split_records=given.number("input_split_records"),
            splittable=given.flag("enable_indexes") and not children,
            output=given.choice("output", ("file", "directory")),
        )
    )


def _format(given: Given) -> RecordFormat:
    name = given.text("record_format").upper()
    if given.flag("is_record_sequence") or given.flag("is_xcom"):
        name = "V"
    if given.flag("is_text"):
        name = "D"
    if given.text("record_header_parser").lower() == "fixed_length":
        name = "F"
    if name not in FORMATS:
        raise DatasetError(f"option record_format is {name!r}; must be one of {', '.join(FORMATS)}")
    separator = given.choice("line_separator", tuple(SEPARATORS))
    return SEPARATORS[separator] if FORMATS[name] is RecordFormat.LF else FORMATS[name]


def _words(given: Given, recfm: RecordFormat) -> dict[str, Any]:
    """How descriptor words are read."""
    part = given.flag("is_rdw_part_of_record_length")
    if "is_rdw_part_of_record_length" not in given and "rdw_adjustment" in given:
        part = False
    blocked = recfm is RecordFormat.FB and (
        not ("block_length" in given or given.number("records_per_block"))
        if given.cobrix
        else "is_bdw_big_endian" in given or "bdw_adjustment" in given
    )
    parser = HEADER_PARSERS.get(given.text("record_header_parser").lower())
    return {
        "rdw_big_endian": given.flag("is_rdw_big_endian") if parser is None else parser,
        "bdw_big_endian": given.flag("is_bdw_big_endian"),
        "rdw_adjustment": given.number("rdw_adjustment") - (4 if part else 0),
        "bdw_adjustment": given.number("bdw_adjustment") if given.text("bdw_adjustment") else -4,
        "fixed_blocks": blocked,
    }


def _suspicious(given: Given, recfm: RecordFormat) -> bool:
    """Whether a file is looked at for blocks where none are foreseen."""
    if recfm is RecordFormat.FB:
        return not given.cobrix and not _words(given, recfm)["fixed_blocks"]
    plain = recfm is RecordFormat.RDW and given.text("record_format").upper() != "RDW"
    return plain and not given.cobrix and not any(name in given for name in RDW)


def _paths(given: Given) -> tuple[str, ...]:
    several = given.raw("paths").strip()
    if several.startswith("["):  # as Spark gives those of load([...])
        try:
            paths = [str(path) for path in json.loads(several)]
        except ValueError:
            raise given.bad("paths", "must be JSON, or paths with commas") from None
    else:
        paths = list(given.words("paths"))
    paths += given.words("data_paths")
    return tuple([given.raw("path"), *paths] if given.raw("path") else paths)


def _lengths(given: Given) -> dict[str, int]:
    example = '{"A": 100}'
    found = given.json("record_length_map", example)
    texts = {key: str(size) for key, size in found.items() if type(size) in (int, str)}
    if texts.keys() != found.keys() or not all(text.isascii() and text.isdigit() for text in texts.values()):
        raise given.bad("record_length_map", f"must be JSON such as {example}, with whole numbers")
    return {key: int(text) for key, text in texts.items()}


def _counted(given: Given, recfm: RecordFormat, layout: Layout) -> bool:
    """Records without descriptor words are as long as their tables when these take only what they need."""
    asked = given.text("variable_size_occurs").lower() in ("shift_record", "true")
    said = "record_length" in given or "record_length_field" in given
    return recfm is RecordFormat.F and asked and bool(layout.counters) and not said


def _shape(given: Given) -> Shape:
    return Shape(
        **_as_given(given, Shape)
        | {
            "string_trimming_policy": given.choice("string_trimming_policy", TRIM_POLICIES),
            "ascii_charset": charset_of(given.text("ascii_charset")),
            "debug": DEBUG[given.choice("debug", tuple(DEBUG))],
            "flat": given.flag("flatten"),
        }
    )


def _segments(given: Given) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for _, target, ids in given.arrows("redefine_segment_id_map", "FIELD => ID, ID", empty=True):
        key = target.replace("-", "_").lower()
        found[key] = (*found.get(key, ()), *(word.strip() for word in ids.split(",")))
    return found


def _redefine_rules(given: Given) -> dict[str, str]:
    """The rule of each redefinition."""
    found: dict[str, str] = {}
    for name, target, rule in given.arrows("redefine_rule", "FIELD => expression"):
        if target.replace("-", "_").lower() in found:
            raise given.bad(name, f"{target} has a rule already")
        found[target.replace("-", "_").lower()] = rule
    return found


def _segment_children(given: Given) -> dict[str, tuple[str, ...]]:
    """Segments below each segment."""
    found: dict[str, tuple[str, ...]] = {}
    for _, left, right in given.arrows("segment_children", "PARENT => CHILD, CHILD"):
        parent = left.replace("-", "_").lower()
        names = tuple(filter(None, (word.strip() for word in right.replace("-", "_").lower().split(","))))
        found[parent] = (*found.get(parent, ()), *names)
    below = [child for children in found.values() for child in children]
    doubles = sorted({child for child in below if below.count(child) > 1})
    if doubles:
        raise DatasetError(f"segment-children: {doubles[0]} is below more than one segment")
    return found


def _segment_levels(given: Given) -> tuple[tuple[str, ...], ...]:
    """Values of the segment field for each level; segment_id_root is another name of level 0."""
    found: dict[int, tuple[str, ...]] = {}
    for name, _ in (*given.numbered("segment_id_root"), *given.numbered("segment_id_level")):
        number = "0" if name == "segment_id_root" else name.removeprefix("segment_id_level")
        if not (number.isascii() and number.isdigit() and len(number) <= 2) or int(number) in found:
            raise DatasetError(f"option {name}: must be segment_id_root, or segment_id_level0 and so on, each once")
        found[int(number)] = given.words(name)
    if sorted(found) != list(range(len(found))):
        raise DatasetError(f"segment_id_level{max(found)} is given, but not all levels above it")
    for level, ids in found.items():
        mark = next((mark for mark in OTHERS if mark in ids), "")
        if mark and (level < max(found) or len(ids) > 1):
            raise DatasetError(f"segment_id_level{level}: {mark} (all others) stands alone, and for the last level")
    return tuple(found[level] for level in sorted(found))
