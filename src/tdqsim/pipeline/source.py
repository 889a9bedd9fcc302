"""The plan of one read, and reading the parts of data sets by it as Arrow, without Spark.

Options and copybook are parsed once, in the process that plans. The plan that is made of them goes with the tasks.

>>> plan = ReadPlan.of(options)                                        # doctest: +SKIP
>>> for split in plan.splits(): batches = list(plan.read(split))       # doctest: +SKIP
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from uuid import uuid4

import numpy as np
import pyarrow as pa

from tdqsim.errors import ConversionError, DatasetError
from tdqsim.hosting import did_you_mean
from tdqsim.pipeline._columns import in_hexadecimal, pieces
from tdqsim.pipeline._corrupt import CORRUPT_COLUMN, Corrupt, corrupt_type
from tdqsim.pipeline._numbers import Ints, Mask
from tdqsim.pipeline._rows import Path
from tdqsim.pipeline.decoder import RecordDecoder
from tdqsim.pipeline.descriptor_words import Frames, FramingError
from tdqsim.pipeline.opening import Opened, open_file
from tdqsim.pipeline.options import QsamOptions
from tdqsim.pipeline.quality import Quality
from tdqsim.pipeline.redefines import RedefineRules, fields_called, is_among, refuse_unknown_places, segments_of
from tdqsim.pipeline.segments import Family, SegmentIds, SegmentState, segment_decoder, whole_families
from tdqsim.pipeline.shape import column_name
from tdqsim.pipeline.splits import (
    BATCH_ROWS,
    Split,
    framing_error,
    part_bounds,
    records_before,
    walk_part,
)
from tdqsim.pipeline.splits import plan as plan_splits

BATCH_BYTES = 16 << 20
BATCH_VALUES = 1 << 21
"""Bytes of memory used temporarily for each value, and more for a corrupt one, however short the field."""
LARGE_PIECE = 31 << 20


class _Batch:
    """Some records of a walk: their places in its bytes, and other facts about them."""

    def __init__(self, frames: Frames, base: int, first: int, rows: slice, options: QsamOptions) -> None:
        self.data = frames.data
        self.starts, self.lengths = frames.starts[rows], frames.lengths[rows]
        aside = options.record_start_offset, options.record_end_offset
        if any(aside):
            self.starts, self.lengths = self.starts + aside[0], self.lengths - sum(aside)
        self._places, self._base = frames.places[rows], base
        self._first = first + rows.start
        self._kept: Ints | None = None
        self.ids: list[pa.Array] = []

    def keep(self, mask: Mask) -> None:
        """Drop the other records."""
        self.starts, self.lengths, self._places = self.starts[mask], self.lengths[mask], self._places[mask]
        self._kept = np.flatnonzero(mask) if self._kept is None else self._kept[mask]
        self.ids = [array.filter(pa.array(mask)) for array in self.ids]

    @property
    def places(self) -> Ints:
        """Where each record begins in the file."""
        return np.add(self._places, self._base)

    @property
    def numbers(self) -> Ints:
        """The number of each record in the file, from 0."""
        kept: Ints = np.arange(len(self), dtype=np.int64) if self._kept is None else self._kept
        numbers: Ints = kept + self._first
        return numbers

    def __len__(self) -> int:
        return len(self.starts)


@dataclass(frozen=True, eq=False)
class ReadPlan:
    """How one read gets its columns from the bytes of files: what the reader, its partitions and tasks receive.

    Attributes:
        options: the checked options; their layout and record format are those of the read.
        full: all columns.
        schema: the columns to return.
        generated: names of the columns that locate a record.
        decoder: decodes those of the columns that the layout has; None without a layout, or with a family.
        family: decodes root segments with their child segments, if they are tables in a row.
        segment: decodes the segment field.
        segment_of: for redefinitions that only some segments have, the ids of these segments.
        rules: the rules that give the redefinitions that a record has.
        name: the name of the read, which no other one has.
    """

    options: QsamOptions
    full: pa.Schema
    schema: pa.Schema
    generated: frozenset[str]
    decoder: RecordDecoder | None
    family: Family | None
    segment: RecordDecoder | None
    segment_of: Mapping[Path, tuple[str, ...]]
    rules: RedefineRules | None
    name: str = field(default_factory=lambda: uuid4().hex)

    @classmethod
    def of(cls, options: QsamOptions, columns: Sequence[str] | None = None) -> ReadPlan:
        """The plan of a read of some columns; of all for None.

        Raises:
            LayoutError: a column cannot be made.
            DatasetError: a wanted column does not exist, or the options of segments need others.
        """
        layout = options.layout
        if layout is None and (options.segment_field or options.redefine_rules):
            raise DatasetError("segment options need a copybook")
        generated = _generated(options)
        decoder = family = segment = rules = None
        segments: dict[Path, tuple[str, ...]] = {}
        if layout is not None and options.segment_children:
            family = Family(options)
        elif layout is not None:
            decoder = RecordDecoder(
                layout,
                options.shape,
                corrupt=options.generate_corrupt_fields or options.mode != "permissive",
                strict=options.mode == "failfast" or not options.cobrix,
            )
            for name, ids in options.segment_map.items():
                segments |= dict.fromkeys(fields_called(layout, name), tuple(ids))
            rules = RedefineRules(layout, options.shape, options.redefine_rules) if options.redefine_rules else None
            told = [path for paths in rules.paths.values() for path in paths] if rules is not None else []
            refuse_unknown_places(layout, {*segments, *told})
        if layout is not None and options.segment_field:
            segment = segment_decoder(layout, options.segment_field)
        made = _all_columns(options, generated, family.schema if family is not None else decoder and decoder.schema)
        full = pa.schema([made.field(name) for name in columns_among(made.names, options.columns)])
        names = frozenset(field.name for field in generated)
        plan = cls(options, full, full, names, decoder, family, segment, segments, rules)
        wanted = full.names if columns is None else columns
        return plan if wanted == made.names else plan.only(wanted)

    def only(self, columns: Sequence[str]) -> ReadPlan:
        """The plan of a read of some of the columns.

        Raises:
            DatasetError: a column does not exist.
        """
        there = {field.name: field for field in self.full}
        for name in columns:
            if name not in there:
                raise _no_column(name, self.full.names)
        decoder = self.decoder
        if decoder is not None and not self.options.shape.flat:
            decoder = decoder.only([name for name in columns if name not in self.generated and name != CORRUPT_COLUMN])
        return replace(self, schema=pa.schema([there[name] for name in columns]), decoder=decoder)

    def splits(self) -> list[Split]:
        """The parts of all files, one for each task; see :func:`tdqsim.pipeline.splits.plan`."""
        return plan_splits(self.options)

    @cached_property
    def _column_paths(self) -> dict[str, tuple[str, bool]]:
        """The path of each field, with the name of its column and whether the column is a table."""
        layout = self.options.layout
        fields = layout.walk() if layout is not None else ()
        return {".".join(item.path): (column_name(item), item.occurs is not None) for item in fields}

    def read(self, split: Split, quality: Quality | None = None) -> Iterator[pa.RecordBatch]:
        """The record batches of one part; ``quality`` counts the values in them.

        Raises:
            DatasetError: the file cannot be read or its descriptor words are wrong; the message names file and offset.
            ConversionError: a field is corrupt under ``failfast``; the message names file, record, offset and bytes.
        """
        _keep_memory()
        opened = open_file(split.place)
        first = max(split.first_record, 0)
        ids = SegmentIds(self.options, split.segments or SegmentState()) if self.options.segment_levels else None
        end = split.data_end
        try:
            start, end = part_bounds(opened, split, self.options)
            walk = walk_part(opened, start, end, self.options, data_end=split.data_end, rows=self._rows)
            if self.family is not None:
                walk = whole_families(walk, self._roots_in)
            for base, frames in walk:
                for rows in self._slices(frames):
                    batch = _Batch(frames, base, first, rows, self.options)
                    made = self._batch(batch, split, ids, opened, quality)
                    if made is not None:
                        yield made
                first += len(frames.starts)
        except FramingError as error:
            searched = end if split.searched and end < split.data_end else -1
            raise framing_error(opened, split.path, error, self.options, searched=searched) from None
        except (OSError, EOFError) as error:
            raise DatasetError(f"{split.path}: cannot be read: {error}") from error
        finally:
            opened.close()

    def _roots_in(self, frames: Frames) -> Ints:
        assert self.family is not None
        batch = _Batch(frames, 0, 0, slice(0, len(frames.starts)), self.options)
        return self.family.roots_in(self._segments(batch))

    @cached_property
    def _rows(self) -> int:
        """How many records a batch has, at most."""
        width = self.options.layout.length if self.options.layout else 1
        values = sum(column.field.value_count for column in self.decoder.columns) if self.decoder is not None else 1
        return max(min(BATCH_ROWS, BATCH_BYTES // max(width, 1), BATCH_VALUES // max(values, 1)), 1)

    def _slices(self, frames: Frames) -> Iterator[slice]:
        count = len(frames.starts)
        rows = count if self.family is not None else self._rows
        for low in range(0, count, max(rows, 1)):
            yield slice(low, low + rows)

    def _batch(
        self, batch: _Batch, split: Split, ids: SegmentIds | None, opened: Opened, quality: Quality | None
    ) -> pa.RecordBatch | None:
        options = self.options
        if (batch.lengths < 0).any():
            index = int((batch.lengths < 0).argmax())
            raise DatasetError(
                f"{split.path}: at offset {batch.places[index]}: the record is shorter than what is to be skipped"
            )
        segments = None
        if self.segment is not None and (options.segment_filter or options.segment_map or ids is not None):
            segments = self._segments(batch)
            if self.family is not None:
                return self._families(self.family, batch, split, segments, quality)
            if ids is not None:
                batch.ids = ids.arrays(segments.to_pylist(), batch.numbers.tolist(), split.file_id)
                below = np.asarray(batch.ids[0].is_valid())
                batch.keep(below)
                segments = segments.filter(pa.array(below))
            if options.segment_filter:
                mask = is_among(segments, options.segment_filter)
                batch.keep(mask)
                segments = segments.filter(pa.array(mask))
        return self._made(batch, split, segments, opened, quality) if len(batch) else None

    def _families(
        self, family: Family, batch: _Batch, split: Split, segments: pa.Array, quality: Quality | None
    ) -> pa.RecordBatch | None:
        """A row for each root with the records up to the next root, whose number the row has, as in Cobrix."""
        roots = family.roots_in(segments)
        if not len(roots):
            if quality is not None:
                quality.left_out += family.children_in(segments)
            return None
        if not self.schema.names:
            return self._as_batch({}, len(roots))
        found: list[Corrupt] | None = None if quality is None else []
        rows, left_out = family.decode(batch.data, batch.starts, batch.lengths, segments, found)
        if quality is not None:
            quality.rows += len(roots)
            quality.left_out += left_out
            numbers = batch.numbers if split.first_record >= 0 else None
            quality.add_corrupt(found or (), (split.path, numbers, batch.places))
        arrays = {name: rows.column(name) for name in rows.schema.names}
        self._generate(batch, split, arrays, roots)
        return self._as_batch(arrays, len(roots))

    def _segments(self, batch: _Batch) -> pa.Array:
        assert self.segment is not None
        return segments_of(self.segment, batch.data, batch.starts, batch.lengths)

    def _made(
        self, batch: _Batch, split: Split, segments: pa.Array | None, opened: Opened, quality: Quality | None
    ) -> pa.RecordBatch | None:
        arrays: dict[str, pa.Array] = {}
        entries: pa.Array | None = None
        if self.decoder is not None:
            present = self._present(batch, segments)
            found: list[Corrupt] | None = None if quality is None else []
            decoded = self.decoder.decode(batch.data, batch.starts, batch.lengths, present, found)
            if quality is not None:
                numbers = batch.numbers if split.first_record >= 0 else None
                quality.add_batch(decoded, found or (), (split.path, numbers, batch.places))
            arrays = {name: decoded.column(name) for name in decoded.schema.names}
            entries = arrays.pop(CORRUPT_COLUMN, None) if self.decoder.corrupt else None
        mask = self._checked(entries, batch, split, opened) if entries is not None else None
        self._generate(batch, split, arrays)
        if self.options.generate_corrupt_fields and CORRUPT_COLUMN in self.schema.names:
            kind = self.schema.field(CORRUPT_COLUMN).type
            arrays[CORRUPT_COLUMN] = (
                pa.nulls(len(batch), kind) if entries is None else _corrupt_column(entries, self._column_paths, kind)
            )
        made = self._as_batch(arrays, len(batch))
        return made if mask is None else made.filter(mask)

    def _as_batch(self, arrays: Mapping[str, pa.Array], rows: int) -> pa.RecordBatch:
        """The columns wanted; a batch of no column has rows too, for a count."""
        if not self.schema.names:
            return pa.RecordBatch.from_struct_array(pa.array([{}] * rows, pa.struct([])))
        return pa.RecordBatch.from_arrays([arrays[name] for name in self.schema.names], schema=self.schema)

    def _present(self, batch: _Batch, segments: pa.Array | None) -> dict[Path, Mask]:
        """For each redefinition that not every record has, which records have it."""
        present = {}
        for path, ids in self.segment_of.items():
            present[path] = np.zeros(len(batch), np.bool_) if segments is None else is_among(segments, ids)
        if self.rules is not None:
            present |= self.rules.present(batch.data, batch.starts, batch.lengths)
        return present

    def _checked(self, entries: pa.Array, batch: _Batch, split: Split, opened: Opened) -> pa.Array | None:
        """The records to keep under ``dropmalformed``; under ``failfast`` a corrupt field raises an error."""
        mode = self.options.mode
        if mode == "permissive" or not len(entries.flatten()):
            return None
        sizes = np.diff(entries.offsets.to_numpy())
        if mode == "dropmalformed":
            return pa.array(sizes == 0)
        row = int((sizes > 0).argmax())
        bad = entries[row].as_py()[0]
        place, counted = int(batch.places[row]), split.first_record >= 0
        number = int(batch.numbers[row]) if counted else records_before(opened, place, self.options)
        raise ConversionError(
            f"{split.path}: record {number + 1}, record at offset {place}: field {bad['field_name']} "
            f"X'{bad['raw_value'].hex().upper()}' at offset {bad['offset']} of the record is no value that its "
            "clauses allow; use mode permissive or dropmalformed to go on"
        )

    def _generate(self, batch: _Batch, split: Split, arrays: dict[str, pa.Array], roots: Ints | None = None) -> None:
        """The columns that locate a record; for ``roots``, each includes the records up to the next root."""
        options = self.options
        rows = len(batch) if roots is None else len(roots)
        if options.generate_record_id:
            numbers, whole = batch.numbers, batch.lengths + options.record_start_offset + options.record_end_offset
            if roots is not None:
                numbers, whole = np.append(roots[1:], len(batch)) + int(numbers[0]), np.add.reduceat(whole, roots)
            arrays["File_Id"] = pa.array(np.full(rows, split.file_id, np.int32))
            arrays["Record_Id"] = pa.array(numbers)
            arrays["Record_Byte_Length"] = pa.array(whole.astype(np.int32))
        if "Record_Bytes" in self.schema.names and "Record_Bytes" in self.generated and roots is None:
            arrays["Record_Bytes"] = _raw(batch, options)
        if options.with_input_file_name_col:
            name = pa.array([split.path], pa.string())
            arrays[options.with_input_file_name_col] = name.take(pa.array(np.zeros(rows, np.int64)))
        if options.with_record_offset_col:
            arrays[options.with_record_offset_col] = pa.array(batch.places if roots is None else batch.places[roots])
        arrays |= {f"Seg_Id{level}": array for level, array in enumerate(batch.ids)}


def _generated(options: QsamOptions) -> list[pa.Field]:
    """The columns that locate a record."""
    fields = []
    if options.generate_record_id:
        fields += [
            pa.field("File_Id", pa.int32(), nullable=False),
            pa.field("Record_Id", pa.int64(), nullable=False),
            pa.field("Record_Byte_Length", pa.int32(), nullable=False),
        ]
    if options.generate_record_bytes or options.layout is None:
        fields.append(pa.field("Record_Bytes", pa.binary(), nullable=False))
    if options.with_input_file_name_col:
        fields.append(pa.field(options.with_input_file_name_col, pa.string()))
    if options.with_record_offset_col:
        fields.append(pa.field(options.with_record_offset_col, pa.int64()))
    return fields + [pa.field(f"Seg_Id{level}", pa.string()) for level in range(len(options.segment_levels))]


def _all_columns(options: QsamOptions, generated: list[pa.Field], decoded: pa.Schema | None) -> pa.Schema:
    """All columns of a read.

    Raises:
        DatasetError: two columns have the same name.
    """
    fields = [*generated, *(field for field in decoded or () if field.name != CORRUPT_COLUMN)]
    if options.generate_corrupt_fields:
        kind = corrupt_type(as_hex=options.shape.binary_as_hex, offset=not options.cobrix)
        fields.append(pa.field(CORRUPT_COLUMN, kind))
    names = Counter([field.name.lower() for field in fields])
    if doubles := sorted(name for name, count in names.items() if count > 1):
        raise DatasetError(f"two columns are called {doubles[0]}; rename one of them or leave the generated one out")
    return pa.schema(fields)


def columns_among(there: Sequence[str], columns: Iterable[str] | None) -> list[str]:
    """The names that a user gives, as the columns spell them; all columns for None.

    Case does not matter, and a name may be spelled as in the copybook, with hyphens.

    Raises:
        DatasetError: a column does not exist or is named twice, or no name is given.
    """
    if columns is None:
        return list(there)
    if isinstance(columns, str):
        raise DatasetError(f"columns is {columns!r}; must be a list of names, of which there are {', '.join(there)}")
    known, columns = {name.lower(): name for name in there}, list(columns)
    plain = [name.strip().lower() for name in columns]
    spelled = [name if name in known else name.replace("-", "_") for name in plain]
    chosen = [known.get(name, given.strip()) for name, given in zip(spelled, columns, strict=True)]
    if not chosen:
        raise DatasetError(f"columns is empty; there are {', '.join(there)}")
    for name, count in Counter(chosen).items():
        if name.lower() not in known:
            raise _no_column(name, there)
        if count > 1:
            raise DatasetError(f"columns has {name} twice; leave one of them out")
    return chosen


def _no_column(name: str, there: Iterable[str]) -> DatasetError:
    names = list(there)
    return DatasetError(f"there is no column {name!r}{did_you_mean(name, names)}; there are {', '.join(names)}")


@cache
def _keep_memory() -> None:
    """Make this process keep the memory of one batch for the next.

    The C library returns memory to the system as soon as the free memory exceeds twice the size of the largest piece
    freed so far. With batches of some megabytes that happens after each batch, and the system clears every page again
    for the next one, which takes a sixth of the time of decoding. After one large piece, which is never touched, the
    library keeps the memory.
    """
    np.empty(LARGE_PIECE, np.uint8)


def _raw(batch: _Batch, options: QsamOptions) -> pa.Array:
    """The whole records as stored in the file, without descriptor words."""
    starts = batch.starts - options.record_start_offset
    ends = batch.starts + batch.lengths + options.record_end_offset
    low, high = int(starts[0]), int(ends[-1])
    return pieces(batch.data[low:high], starts - low, ends - low, pa.binary())


def _corrupt_column(entries: pa.Array, names: Mapping[str, tuple[str, bool]], kind: pa.DataType) -> pa.Array:
    """Corrupt fields, with the names of their columns, and with their bytes unchanged or in hexadecimal."""

    def column_of(field: str) -> str:
        path, _, indexes = field.partition("(")
        name, is_table = names[path]
        return f"{name}[{int(indexes[:-1].split(',')[-1]) - 1}]" if is_table else name

    paths, raw, offsets = entries.values.flatten()
    paths = paths.dictionary_encode()
    members = [pa.array([column_of(path) for path in paths.dictionary.to_pylist()], pa.string()).take(paths.indices)]
    members.append(in_hexadecimal(raw) if pa.types.is_string(kind.value_type.field("raw_value").type) else raw)
    members += [offsets] * (kind.value_type.num_fields > len(members))
    values = pa.StructArray.from_arrays(members, fields=list(kind.value_type))
    return pa.ListArray.from_arrays(entries.offsets, values, type=kind)
