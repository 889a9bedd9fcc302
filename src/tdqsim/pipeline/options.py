"""The options of ``format("qsam")``: the table in ``facts/qsam_options.tsv``, and what a dict of them says.

Names and meanings follow Cobrix where they can; the table tells which are the same, which differ, and which there are
not.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tdqsim.core.clock import Clock
from tdqsim.core.codepage import codepage
from tdqsim.datasets import RecordFormat
from tdqsim.errors import ConversionError, DatasetError
from tdqsim.facts import table
from tdqsim.layouts import (
    Copybook,
    Layout,
    Rules,
    load_copybook,
    load_layout_yaml,
    merge_copybooks,
    parse_copybook,
)
from tdqsim.pipeline.shape import TRIM_POLICIES, Shape

__all__ = ["QsamOptions", "known_options", "options_page", "read_options"]

Ints = npt.NDArray[np.int64]
FORMATS = {
    "F": RecordFormat.F, "FB": RecordFormat.FB, "V": RecordFormat.RDW, "RDW": RecordFormat.RDW, "VB": RecordFormat.VB,
    "VS": RecordFormat.VS, "VBS": RecordFormat.VBS, "U": RecordFormat.U, "D": RecordFormat.LF, "D2": RecordFormat.LF,
}  # fmt: skip
SEPARATORS = {"lf": RecordFormat.LF, "crlf": RecordFormat.CRLF, "nl": RecordFormat.NL}
VARIABLE_SIZE = {
    "max_size": "max_size", "shift_record": "shift_record", "pad_record": "shift_record",
    "false": "max_size", "true": "shift_record",
}  # fmt: skip
DEBUG = {"false": "", "none": "", "true": "hex", "hex": "hex", "raw": "raw", "binary": "raw"}
MODES = ("permissive", "dropmalformed", "failfast")
HEADER_AND_TRAILER = (("record_header_name", "file_header_field"), ("record_trailer_name", "file_trailer_field"))
EBCDIC = "EBCDIC"
OTHERS = ("_", "*")  # as the id of the last level: all other segments
NUMBERED = (
    "redefine_segment_id_map",
    "redefine-segment-id-map",
    "segment-children",
    "segment_children",
    "segment_id_level",
)


@dataclass(frozen=True)
class QsamOptions:
    """Options of one read or write, checked. The attributes are named as the options; see the table."""

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
    record_length_field: str = ""
    record_length_map: Mapping[str, int] = field(default_factory=dict)
    length_adjustment: int = 0
    counted: bool = False
    partial_records: bool = False
    minimum_record_length: int = 0
    maximum_record_length: int = 0
    file_start_offset: int = 0
    file_end_offset: int = 0
    record_start_offset: int = 0
    record_end_offset: int = 0
    generate_record_id: bool = False
    generate_record_bytes: bool = False
    generate_corrupt_fields: bool = False
    file_name_col: str = ""
    offset_col: str = ""
    segment_field: str = ""
    segment_filter: tuple[str, ...] = ()
    segment_map: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    segment_levels: tuple[tuple[str, ...], ...] = ()
    segment_children: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    segment_prefix: str = ""
    mode: str = "permissive"
    ignore_file_size: bool = False
    refuse_blocks: bool = False
    split_bytes: int = 32 * 1024 * 1024
    split_records: int = 0
    splittable: bool = True
    push_filters: bool = False
    output: str = "file"
    null_strings_as_spaces: bool = False
    null_display_as_zeros: bool = False
    null_packed_as_zeros: bool = False

    @property
    def self_sized(self) -> bool:
        """Each record says by what is in it how long it is."""
        return self.counted or bool(self.record_length_field)

    @property
    def length(self) -> int:
        """Bytes of a fixed record in the file, prefix and suffix included."""
        inner = self.layout.length if self.layout else 0
        return self.record_length or inner + self.record_start_offset + self.record_end_offset

    def wanted_lengths(self, lengths: Ints) -> npt.NDArray[np.bool_]:
        """Which records are neither shorter nor longer than what is wanted."""
        most = self.maximum_record_length or np.iinfo(np.int64).max
        wanted: npt.NDArray[np.bool_] = (lengths >= self.minimum_record_length) & (lengths <= most)
        return wanted


def known_options() -> list[dict[str, str]]:
    """The table: option, group, applies, default, status, note, source."""
    return table("qsam_options")


def options_page() -> str:
    """The table as the Markdown of the documentation's page."""
    lines = ["| option | default | against Cobrix | |", "|---|---|---|---|"]
    lines += [f"| `{row['option']}` | {row['default']} | {row['status']} | {row['note']} |" for row in known_options()]
    return "\n".join(lines) + "\n"


def read_options(options: Mapping[str, str]) -> QsamOptions:
    """Check the options of a read or write.

    Raises:
        DatasetError: an option is unknown or absent, its value is not allowed, or options do not go together.
        LayoutError: the copybook is refused.
    """
    return _Options(options).read()


class _Options:
    def __init__(self, options: Mapping[str, str]) -> None:
        self.given = {str(key).lower(): str(value) for key, value in options.items() if value is not None}
        self.defaults = {row["option"].lower(): row for row in known_options()}

    def read(self) -> QsamOptions:
        self._refuse_unknown()
        recfm = self._format()
        layout, header, trailer = self._layout()
        plain = not {"rdw_adjustment", "is_rdw_big_endian", "is_rdw_part_of_record_length"} & set(self.given)
        part = self.flag("is_rdw_part_of_record_length", default="rdw_adjustment" not in self.given)
        mapping = self._json("record_length_map")
        children = self._segment_children()
        return QsamOptions(
            paths=self._paths(),
            layout=layout,
            shape=self._shape(),
            recfm=recfm,
            record_length=self.number("record_length"),
            block_length=self.number("block_length"),
            rdw_big_endian=self.flag("is_rdw_big_endian"),
            bdw_big_endian=self.flag("is_bdw_big_endian"),
            rdw_adjustment=self.number("rdw_adjustment") - (4 if part else 0),
            bdw_adjustment=self.number("bdw_adjustment") if "bdw_adjustment" in self.given else -4,
            record_length_field=self.text("record_length_field"),
            record_length_map=mapping,
            length_adjustment=self.number("rdw_adjustment"),
            counted=layout is not None and self._counted(recfm, layout),
            partial_records=self.flag("allow_partial_records"),
            minimum_record_length=self.number("minimum_record_length"),
            maximum_record_length=self.number("maximum_record_length"),
            file_start_offset=self.number("file_start_offset") + header,
            file_end_offset=self.number("file_end_offset") + trailer,
            record_start_offset=self.number("record_start_offset"),
            record_end_offset=self.number("record_end_offset"),
            generate_record_id=self.flag("generate_record_id"),
            generate_record_bytes=self.flag("generate_record_bytes"),
            generate_corrupt_fields=self.flag("generate_corrupt_fields"),
            file_name_col=self.text("with_input_file_name_col"),
            offset_col=self.text("with_record_offset_col"),
            segment_field=self.text("segment_field").replace("_", "-"),
            segment_filter=self.words("segment_filter"),
            segment_map=self._segments(),
            segment_levels=self._segment_levels(),
            segment_children=children,
            segment_prefix=self.text("segment_id_prefix") or f"{Clock(simulated=False).now():%Y%m%d%H%M%S}",
            mode=self.choice("mode", MODES),
            ignore_file_size=self.flag("debug_ignore_file_size"),
            refuse_blocks=recfm is RecordFormat.RDW and self.text("record_format").upper() != "RDW" and plain,
            split_bytes=max(self.number("input_split_size_mb"), 1) << 20,
            split_records=self.number("input_split_records"),
            splittable=self.flag("enable_indexes") and not children,
            push_filters=self.flag("push_filters"),
            output=self.choice("output", ("file", "directory")),
            null_strings_as_spaces=self.flag("write_null_strings_as_spaces"),
            null_display_as_zeros=self.flag("write_null_display_numbers_as_zeros"),
            null_packed_as_zeros=self.flag("write_null_comp3_numbers_as_zeros"),
        )

    # values -----------------------------------------------------------------------------------------------------------

    def text(self, name: str) -> str:
        return self.given.get(name, self.defaults[name]["default"] if name in self.defaults else "").strip()

    def flag(self, name: str, *, default: bool | None = None) -> bool:
        if name not in self.given and default is not None:
            return default
        value = self.text(name).lower()
        if value not in ("true", "false"):
            raise DatasetError(f"option {name} is {value!r}; must be true or false")
        return value == "true"

    def number(self, name: str) -> int:
        value = self.text(name) or "0"
        body = value.removeprefix("-")
        if not (body.isascii() and body.isdigit() and len(body) <= 12) or (value != body and "adjustment" not in name):
            least = "" if "adjustment" in name else ", 0 or more"
            raise DatasetError(f"option {name} is {value!r}; must be a whole number{least}")
        return int(value)

    def choice(self, name: str, allowed: tuple[str, ...]) -> str:
        value = self.text(name).lower()
        if value not in allowed:
            raise DatasetError(f"option {name} is {value!r}; must be one of {', '.join(allowed)}")
        return value

    def words(self, name: str) -> tuple[str, ...]:
        return tuple(filter(None, (word.strip() for word in self.given.get(name, "").split(","))))

    def _json(self, name: str) -> dict[str, int]:
        if name not in self.given:
            return {}
        try:
            value = json.loads(self.given[name])
            return {str(key): int(size) for key, size in value.items()}
        except (ValueError, AttributeError, TypeError):
            raise DatasetError(
                f'option {name} is {self.given[name][:60]!r}; must be JSON such as {{"A": 100}}'
            ) from None

    # parts ------------------------------------------------------------------------------------------------------------

    def _refuse_unknown(self) -> None:
        pedantic = self.flag("pedantic")
        for name in self.given:
            base = next((start for start in (*NUMBERED, "field_code_page") if name.startswith(start)), name)
            row = self.defaults.get(base)
            if row is not None and row["status"] == "absent":
                raise DatasetError(f"option {name} is not supported: {row['note']}")
            if row is None and pedantic:
                raise DatasetError(f"option {name} is not known; set pedantic to false to pass over unknown options")

    def _paths(self) -> tuple[str, ...]:
        several = self.given.get("paths", "").strip()
        if several.startswith("["):  # as Spark gives those of load([...])
            try:
                paths = [str(path) for path in json.loads(several)]
            except ValueError:
                raise DatasetError(f"option paths is {several[:60]!r}; must be JSON, or paths with commas") from None
        else:
            paths = list(self.words("paths"))
        paths += self.words("data_paths")
        return tuple([self.given["path"], *paths] if self.given.get("path") else paths)

    def _format(self) -> RecordFormat:
        name = self.text("record_format").upper()
        if self.flag("is_record_sequence") or self.flag("is_xcom"):
            name = "V"
        if self.flag("is_text"):
            name = "D"
        if name not in FORMATS:
            raise DatasetError(f"option record_format is {name!r}; must be one of {', '.join(FORMATS)}")
        separator = self.choice("line_separator", tuple(SEPARATORS))
        return SEPARATORS[separator] if FORMATS[name] is RecordFormat.LF else FORMATS[name]

    def _counted(self, recfm: RecordFormat, layout: Layout) -> bool:
        """Records without descriptor words are as long as their tables when these take only what they need."""
        asked = self.text("variable_size_occurs").lower() in ("shift_record", "true")
        said = {"record_length", "record_length_field"} & set(self.given)
        return recfm is RecordFormat.F and asked and bool(layout.counters) and not said

    def _shape(self) -> Shape:
        return Shape(
            schema_retention_policy=self.text("schema_retention_policy"),
            drop_group_fillers=self.flag("drop_group_fillers"),
            drop_value_fillers=self.flag("drop_value_fillers"),
            filler_naming_policy=self.text("filler_naming_policy"),
            string_trimming_policy=self.choice("string_trimming_policy", TRIM_POLICIES),
            ascii_charset=_charset(self.text("ascii_charset")),
            strict_integral_precision=self.flag("strict_integral_precision"),
            display_pic_always_string=self.flag("display_pic_always_string"),
            binary_as_hex=self.flag("binary_as_hex"),
            debug=DEBUG[self.choice("debug", tuple(DEBUG))],
            flat=self.flag("flatten"),
        )

    def _page(self) -> str:
        ascii_text = self.choice("encoding", ("ebcdic", "ascii")) == "ascii"
        if "encoding" not in self.given and (self.flag("is_text") or self.text("record_format").upper() in ("D", "D2")):
            ascii_text = self.text("line_separator").lower() != "nl"
        if ascii_text:
            charset = _charset(self.text("ascii_charset"))
            return "ascii" if charset == "utf-8" else charset
        return _as_read(self.text("ebcdic_code_page"))

    def _rules(self) -> Rules:
        return Rules(
            code_page=self._page(),
            floating_point=self.text("floating_point_format"),
            strict_overpunch=self.flag("strict_sign_overpunching"),
            null_detection=self.flag("improved_null_detection")
            and self.text("string_trimming_policy").lower() != "keep_all",
            blank_is_zero=not self.flag("improved_null_detection"),
            utf16_big_endian=self.flag("is_utf16_big_endian"),
        )

    def _layout(self) -> tuple[Layout | None, int, int]:
        """The layout, and the lengths of the header and trailer records."""
        sources = [name for name in ("copybook", "copybooks", "copybook_contents", "layout") if name in self.given]
        if len(sources) > 1:
            raise DatasetError(f"options {' and '.join(sources)} exclude each other")
        if not sources:
            return None, 0, 0
        occurs: Any = VARIABLE_SIZE[self.choice("variable_size_occurs", tuple(VARIABLE_SIZE))]
        header = trailer = 0
        if sources == ["layout"]:
            layout = load_layout_yaml(_local(self.given["layout"]))
            layout = layout.with_rules(variable_size_occurs=occurs if "variable_size_occurs" in self.given else None)
        else:
            layout, header, trailer = self._copybook()
            layout = layout.with_rules(variable_size_occurs=occurs)
        return self._field_pages(self._changed(layout)), header, trailer

    def _changed(self, layout: Layout) -> Layout:
        """The layout with what occurs_mapping and non_terminals say."""
        mapping = next((name for name in ("occurs_mapping", "occurs_mappings") if name in self.given), "")
        try:
            if mapping:
                layout = layout.with_occurs_counts(self._occurs(mapping))
            names = [name.replace("_", "-") for name in self.words("non_terminals")]
            return layout.with_groups_as_text(names) if names else layout
        except LookupError as error:
            raise DatasetError(f"option {mapping or 'non_terminals'}: {error.args[0]}") from None

    def _occurs(self, name: str) -> dict[str, dict[str, int]]:
        try:
            tables = json.loads(self.given[name])
            counts = {str(table).replace("_", "-"): dict(items) for table, items in tables.items()}
            if all(type(number) is int for items in counts.values() for number in items.values()):
                return counts
        except (ValueError, AttributeError, TypeError, RecursionError):
            pass  # told of below
        said = self.given[name][:60]
        raise DatasetError(f'option {name} is {said!r}; must be JSON such as {{"TABLE": {{"A": 1, "B": 2}}}}')

    def _copybook(self) -> tuple[Layout, int, int]:
        options: dict[str, Any] = {
            "rules": self._rules(),
            "long_binary": True,
            "columns": (self.number("comments_lbound"), self.number("comments_ubound")),
        }
        if not self.flag("truncate_comments"):
            options["source_format"] = "free"
        elif "comments_lbound" in self.given or "comments_ubound" in self.given:
            options["source_format"] = "fixed"
        if "copybooks" in self.given:
            paths = self.words("copybooks")
            if not paths:
                raise DatasetError("option copybooks is empty; must be paths with commas between them")
            return merge_copybooks([load_copybook(_local(path), **options) for path in paths]).whole, 0, 0
        if "copybook" in self.given:
            book = load_copybook(_local(self.given["copybook"]), **options)
        else:
            book = parse_copybook(self.given["copybook_contents"], file="copybook_contents", **options)
        aside = [self._aside(book, *names) for names in HEADER_AND_TRAILER]
        header, trailer = (record.length if record is not None else 0 for record in aside)
        if self.text("record_name"):
            return book.record(self.text("record_name")), header, trailer
        return book.without(*(record.name for record in aside if record is not None)), header, trailer

    def _aside(self, book: Copybook, *options: str) -> Layout | None:
        """The header or trailer record, by either name of its option."""
        given = next((self.text(name) for name in options if self.text(name)), "")
        if not given:
            return None
        known = {record.name.upper().replace("-", "_"): record.name for record in book.records}
        return book.record(known.get(given.upper().replace("-", "_"), given))

    def _field_pages(self, layout: Layout) -> Layout:
        pages: dict[str, str] = {}
        for name, value in self.given.items():
            if name.startswith("field_code_page"):
                page = _as_read(name.partition(":")[2])
                pages |= {word.strip().replace("_", "-"): page for word in value.split(",") if word.strip()}
        try:
            return layout.with_code_pages(pages) if pages else layout
        except LookupError as error:
            raise DatasetError(f"option field_code_page: {error.args[0]}") from None

    def _segments(self) -> dict[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = {}
        for name, value in self.given.items():
            if name.startswith(("redefine_segment_id_map", "redefine-segment-id-map")):
                target, arrow, ids = value.partition("=>")
                if not arrow or not target.strip():
                    raise DatasetError(f"option {name} is {value[:60]!r}; must be FIELD => ID, ID")
                key = target.strip().replace("-", "_").lower()
                found[key] = (*found.get(key, ()), *(word.strip() for word in ids.split(",")))
        if found and not self.text("segment_field"):
            raise DatasetError("redefine_segment_id_map needs segment_field")
        return found

    def _segment_children(self) -> dict[str, tuple[str, ...]]:
        """Segments below each segment."""
        found: dict[str, tuple[str, ...]] = {}
        for name, value in self.given.items():
            if name.startswith(("segment-children", "segment_children")):
                parent, arrow, children = value.replace("-", "_").lower().partition("=>")
                names = tuple(filter(None, (word.strip() for word in children.split(","))))
                if not arrow or not parent.strip() or not names:
                    raise DatasetError(f"option {name} is {value[:60]!r}; must be PARENT => CHILD, CHILD")
                found[parent.strip()] = (*found.get(parent.strip(), ()), *names)
        below = [child for children in found.values() for child in children]
        doubles = sorted({child for child in below if below.count(child) > 1})
        if doubles:
            raise DatasetError(f"segment-children: {doubles[0]} is below more than one segment")
        if found:
            self._refuse_beside_children()
        return found

    def _refuse_beside_children(self) -> None:
        if not self.text("segment_field"):
            raise DatasetError("segment-children needs segment_field")
        flags = ("generate_record_bytes", "generate_corrupt_fields", "flatten", "push_filters")
        others = [name for name in flags if self.flag(name)]
        others += [name for name in self.given if name.startswith(("segment_id_level", "segment_id_root"))]
        others += [name for name in ("segment_filter",) if name in self.given]
        others += ["mode"] if self.choice("mode", MODES) != "permissive" else []
        if others:
            raise DatasetError(f"segment-children and {others[0]} exclude each other: a row is made of several records")

    def _segment_levels(self) -> tuple[tuple[str, ...], ...]:
        """Values of the segment field for each level; segment_id_root is another name of level 0."""
        found: dict[int, tuple[str, ...]] = {}
        for name in self.given:
            number = "0" if name == "segment_id_root" else name.partition("segment_id_level")[2]
            if name != "segment_id_root" and not name.startswith("segment_id_level"):
                continue
            if not (number.isascii() and number.isdigit() and len(number) <= 2) or int(number) in found:
                raise DatasetError(f"option {name}: must be segment_id_root, or segment_id_level0 and so on, each once")
            found[int(number)] = self.words(name)
        if found and not self.text("segment_field"):
            raise DatasetError("segment_id_level needs segment_field")
        if sorted(found) != list(range(len(found))):
            raise DatasetError(f"segment_id_level{max(found)} is given, but not all levels above it")
        for level, ids in found.items():
            mark = next((mark for mark in OTHERS if mark in ids), "")
            if mark and (level < max(found) or len(ids) > 1):
                raise DatasetError(f"segment_id_level{level}: {mark} (all others) stands alone, and for the last level")
        return tuple(found[level] for level in sorted(found))


def _charset(name: str) -> str:
    """The charset of text in ASCII: ``ascii``, ``utf-8``, or a code page."""
    packed = name.upper().replace("-", "").replace("_", "")
    return {"UTF8": "utf-8", "USASCII": "ascii", "ASCII": "ascii"}.get(packed, name)


def _as_read(name: str) -> str:
    """The code page of EBCDIC text for columns, by Cobrix's name for it: there control characters go by the name."""
    page = name.strip().lower()
    if page.endswith("_extended") or page == "common":
        return page
    try:
        return page if codepage(page).kind != EBCDIC or "_" in codepage(page).name else f"{page}_text"
    except ConversionError:
        return page  # the layout says what is wrong with it


def _local(path: str) -> Path:
    return Path(path.removeprefix("file://").removeprefix("file:"))
