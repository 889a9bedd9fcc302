"""Segments: ids of segments, and root records with their child segments as tables inside a row.

``Seg_Id0`` is prefix, file number and record number of the last root record; ``Seg_Id1`` adds ``_L1_`` and the number
of records of that level since the root, as in Cobrix. Levels below that of the record are null. A record without a
level has the ids of the record before it; therefore each part of a file continues with the state at the end of the part
before. The last level may be ``_`` or ``*``, which stands for all other segments. Before the first root the id of the
root is empty.

The segments in a file form a tree in depth-first order: a child belongs to the last preceding record of its parent's
segment, unless a record of a segment above that parent stands between them. Children without a parent are left out, and
so are records before the first root.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from tdqsim.errors import DatasetError
from tdqsim.layouts import Layout
from tdqsim.pipeline._corrupt import Corrupt
from tdqsim.pipeline._numbers import Bytes, Ints, Mask
from tdqsim.pipeline._rows import Path
from tdqsim.pipeline.decoder import RecordDecoder
from tdqsim.pipeline.descriptor_words import Frames
from tdqsim.pipeline.options import OTHERS, QsamOptions
from tdqsim.pipeline.redefines import fields_called, is_among, pruned, segments_of
from tdqsim.pipeline.shape import Column, Shape, list_of


@dataclass(frozen=True, slots=True)
class SegmentState:
    """The segments before a place in a file.

    Attributes:
        root: number of the last root record, -1 for none.
        level: the current level, -1 for none.
        counts: records of each level since the root.
    """

    root: int = -1
    level: int = -1
    counts: tuple[int, ...] = ()


class SegmentIds:
    """Numbers records in file order, starting from a state."""

    def __init__(self, options: QsamOptions, state: SegmentState) -> None:
        self._levels = {value: level for level, ids in enumerate(options.segment_levels) for value in ids}
        self._others = next((self._levels[mark] for mark in OTHERS if mark in self._levels), None)
        self._prefix = options.segment_prefix
        self._root, self._level = state.root, state.level
        self._counts = list(state.counts or (0,) * len(options.segment_levels))

    @property
    def state(self) -> SegmentState:
        """The current state of the numbering."""
        return SegmentState(self._root, self._level, tuple(self._counts))

    def _meet(self, segment: str | None, number: int) -> None:
        level = self._levels.get(segment or "", self._others)
        if level is None:
            return
        self._level = level
        if level == 0:
            self._root, self._counts = number, [0] * len(self._counts)
        else:
            self._counts[level] += 1

    def pass_over(self, segments: Iterable[str | None], numbers: Iterable[int]) -> None:
        """Count records without returning ids."""
        for segment, number in zip(segments, numbers, strict=True):
            self._meet(segment, number)

    def arrays(self, segments: Sequence[str | None], numbers: Iterable[int], file_id: int) -> list[pa.Array]:
        """The ids of records: a column for each level."""
        columns: list[list[str | None]] = [[] for _ in self._counts]
        for segment, number in zip(segments, numbers, strict=True):
            self._meet(segment, number)
            root = f"{self._prefix}_{file_id}_{self._root}" if self._root >= 0 else ""
            for level, column in enumerate(columns):
                if level > self._level:
                    column.append(None)
                else:
                    column.append(f"{root}_L{level}_{self._counts[level]}" if level else root)
        return [pa.array(column, pa.string()) for column in columns]


def segment_decoder(layout: Layout, name: str) -> RecordDecoder:
    """A decoder of the segment field, wherever it is in its groups.

    Raises:
        DatasetError: there is no such field, or it is a group or a table.
    """
    try:
        item = layout.field(name)
    except LookupError:
        item = None
    if item is None or item.is_group or item.occurs:
        raise DatasetError(f"segment_field: the copybook has no single elementary field {name!r}")
    return RecordDecoder(Layout(layout.name, (item,), layout.rules), Shape(drop_value_fillers=False))


def segment_states(parts: Iterable[Iterator[tuple[int, Frames]]], options: QsamOptions) -> list[SegmentState]:
    """The state at the beginning of each part of a file, by one pass that decodes only the segment field."""
    assert options.layout is not None
    decoder = segment_decoder(options.layout, options.segment_field)
    ids, states, first = SegmentIds(options, SegmentState()), list[SegmentState](), 0
    for part in parts:
        states.append(ids.state)
        for _, frames in part:
            numbers = np.arange(first, first + len(frames.starts))
            first += len(frames.starts)
            starts, lengths = frames.starts + options.record_start_offset, frames.lengths - options.record_start_offset
            segments = segments_of(decoder, frames.data, starts, lengths - options.record_end_offset)
            ids.pass_over(segments.to_pylist(), numbers.tolist())
    return states


# roots with their children --------------------------------------------------------------------------------------------


class Family:
    """Decodes roots with the segments below them.

    Raises:
        DatasetError: a segment is not a redefinition of the copybook, is in a table, or has no ids.
    """

    def __init__(self, options: QsamOptions) -> None:
        assert options.layout is not None
        self.layout, self.shape = options.layout, options.shape
        self.children = options.segment_children
        below = {child for children in self.children.values() for child in children}
        names = [*self.children, *(child for child in below if child not in self.children)]
        self.ids = {name: _ids(name, options) for name in names}
        self.roots = [name for name in self.children if name not in below]
        if not self.roots:
            raise DatasetError("segment-children: no segment is above all others")
        self.paths = {name: fields_called(self.layout, name)[0] for name in names}
        self._base = self._decoder([name for name in names if name not in self.roots], None)
        self._decoders = {name: self._decoder([other for other in names if other != name], name) for name in below}
        empty = np.zeros(0, np.int64)
        self.schema = self.decode(np.zeros(0, np.uint8), empty, empty, pa.array([], pa.string()))[0].schema

    def _decoder(self, without: Iterable[str], wanted: str | None) -> RecordDecoder:
        layout = pruned(self.layout, frozenset(self.paths[name] for name in without))
        every = RecordDecoder(layout, self.shape)
        for name in self.roots if wanted is None else [wanted]:
            if not any(_holds(column, self.paths[name]) for column in every.columns):
                raise DatasetError(f"segment-children: {name} is no column, or is in a table; see keep_original")
        if wanted is None:
            return every
        columns = [column.name for column in every.columns if _holds(column, self.paths[wanted])]
        return RecordDecoder(layout, self.shape, columns=columns)

    def roots_in(self, segments: pa.Array) -> Ints:
        """Which records are roots."""
        ids = [value for name in self.roots for value in self.ids[name]]
        return np.flatnonzero(is_among(segments, ids))

    def children_in(self, segments: pa.Array) -> int:
        """How many records are of child segments."""
        return sum(int(is_among(segments, self.ids[name]).sum()) for name in self._decoders)

    def decode(
        self, data: Bytes, starts: Ints, lengths: Ints, segments: pa.Array, found: list[Corrupt] | None = None
    ) -> tuple[pa.RecordBatch, int]:
        """The roots among records, located by place and segment, with everything below them.

        The number is that of child records that are left out because their parents are missing. The corrupt fields in
        all of the records are added to ``found``.
        """
        batch = _Batch(self, data, starts, lengths, segments, found)
        roots = self.roots_in(segments)
        decoded = batch.decoded(self._base, roots)
        arrays = [
            batch.rebuilt(column, array, roots) for column, array in zip(self._base.columns, decoded, strict=True)
        ]
        names = [column.name for column in self._base.columns]
        return pa.RecordBatch.from_arrays(arrays, names=names), batch.left_out

    def child(self, name: str, batch: _Batch, rows: Ints) -> pa.Array:
        """The structs of one segment's records."""
        decoder = self._decoders[name]
        return _dug(decoder.columns[0], batch.decoded(decoder, rows).column(0), self.paths[name])


class _Batch:
    """Some records, starting at the first record of each segment."""

    def __init__(
        self,
        family: Family,
        data: Bytes,
        starts: Ints,
        lengths: Ints,
        segments: pa.Array,
        found: list[Corrupt] | None,
    ) -> None:
        self.family, self.data, self.starts, self.lengths, self.found = family, data, starts, lengths, found
        self.rows = {name: np.flatnonzero(is_among(segments, ids)) for name, ids in family.ids.items()}
        self.roots = {family.paths[name]: name for name in family.roots}
        self.left_out = 0

    def decoded(self, decoder: RecordDecoder, rows: Ints) -> pa.RecordBatch:
        """The columns of some of the records."""
        corrupt: list[Corrupt] | None = None if self.found is None else []
        made = decoder.decode(self.data, self.starts[rows], self.lengths[rows], found=corrupt)
        if self.found is not None:
            self.found += [replace(each, rows=rows[each.rows]) for each in corrupt or ()]
        return made

    def rebuilt(self, column: Column, array: pa.Array, rows: Ints) -> pa.Array:
        """The array with the children of the root segments added."""
        name = self.roots.get(column.field.path)
        if name is not None:
            return self.grown(name, array, rows, [], np.ones(len(rows), np.bool_))
        if column.field.occurs is not None or not any(_holds(column, path) for path in self.roots):
            return array
        inner = [self.rebuilt(child, array.field(index), rows) for index, child in enumerate(column.children)]
        fields = [pa.field(child.name, made.type) for child, made in zip(column.children, inner, strict=True)]
        return pa.StructArray.from_arrays(inner, fields=fields)

    def grown(self, name: str, array: pa.Array, rows: Ints, above: list[Ints], kept: Mask) -> pa.Array:
        """The structs of a segment's records with their children, each a list after the fields.

        Children of records that are not kept are left out too.
        """
        arrays = [array.field(index) for index in range(array.type.num_fields)]
        fields = list(array.type)
        for child in self.family.children.get(name, ()):
            mine = self.rows[child]
            parents = np.searchsorted(rows, mine, "right") - 1
            attached = parents >= 0
            if len(rows):
                place = rows[np.maximum(parents, 0)]
                attached &= kept[np.maximum(parents, 0)]
                for higher in above:
                    attached &= _last(higher, mine) < place
            self.left_out += int((~attached).sum())
            structs = self.family.child(child, self, mine)
            structs = self.grown(child, structs, mine, [*above, rows], attached).filter(pa.array(attached))
            counts = np.bincount(parents[attached], minlength=len(rows))
            offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts))).astype(np.int32)
            kind = list_of(structs.type)
            arrays.append(pa.ListArray.from_arrays(pa.array(offsets), structs, type=kind))
            fields.append(pa.field(self.family.paths[child][-1].replace("-", "_"), kind))
        return pa.StructArray.from_arrays(arrays, fields=fields)


def _ids(name: str, options: QsamOptions) -> tuple[str, ...]:
    ids = options.segment_map.get(name, ())
    if not ids:
        raise DatasetError(f"segment-children: {name} has no ids; give redefine_segment_id_map:N = {name} => ID")
    return ids


def _holds(column: Column, path: Path) -> bool:
    """Whether a column contains the field of a path, outside tables."""
    own = column.field.path
    if column.field.occurs is not None or path[: len(own)] != own:
        return False
    return path == own or any(_holds(child, path) for child in column.children)


def _dug(column: Column, array: pa.Array, path: Path) -> pa.Array:
    if column.field.path == path:
        return array
    index = next(index for index, child in enumerate(column.children) if _holds(child, path))
    return _dug(column.children[index], array.field(index), path)


def _last(rows: Ints, places: Ints) -> Ints:
    """The last of ``rows`` before each place; -1 where there is none."""
    return np.concatenate((np.full(1, -1, np.int64), rows))[np.searchsorted(rows, places, "right")]


def whole_families(
    walk: Iterable[tuple[int, Frames]], roots_in: Callable[[Frames], Ints]
) -> Iterator[tuple[int, Frames]]:
    """The same records in pieces that each begin with a root; records before the first root are separate pieces."""
    held = list[Frames]()  # the last root and what followed it; joined once, however much it is
    for base, walked in walk:
        frames = Frames(walked.data, walked.starts, walked.lengths, walked.places + base, walked.used)
        roots = roots_in(frames)
        if not len(roots):
            if held:
                held.append(frames)
            else:
                yield 0, frames
            continue
        last = sum(len(each.starts) for each in held) + int(roots[-1])
        frames = _joined([*held, frames])
        if last:
            yield 0, _some(frames, slice(0, last))
        held = [_some(frames, slice(last, None))]
    if held:
        yield 0, _joined(held)


def _some(frames: Frames, rows: slice) -> Frames:
    return Frames(frames.data, frames.starts[rows], frames.lengths[rows], frames.places[rows], frames.used)


def _joined(pieces: Sequence[Frames]) -> Frames:
    if len(pieces) == 1:
        return pieces[0]
    pieces = [each for each in pieces if len(each.starts)]
    kept = [each.data[each.starts[0] : each.starts[-1] + each.lengths[-1]] for each in pieces]
    moved = np.cumsum([0, *map(len, kept[:-1])])
    return Frames(
        np.concatenate(kept),
        np.concatenate([each.starts - each.starts[0] + by for each, by in zip(pieces, moved, strict=True)]),
        np.concatenate([each.lengths for each in pieces]),
        np.concatenate([each.places for each in pieces]),
        pieces[-1].used,
    )
