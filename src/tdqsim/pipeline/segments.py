"""Segment ids: which root record a record belongs to, and which of its children it is, as Cobrix numbers them.

``Seg_Id0`` is prefix, file number and record number of the last root record; ``Seg_Id1`` adds ``_L1_`` and how many
records of that level there were since the root. Levels below that of the record are null. A record of no level at all
has the ids of the record before it, and so each part of a file begins where the one before it has left off. The last
level may be ``_`` or ``*``: it is that of all other segments. The id of the root is empty before the first one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tdqsim.errors import DatasetError
from tdqsim.layouts import Layout
from tdqsim.pipeline.decoder import RecordDecoder
from tdqsim.pipeline.frames import Frames
from tdqsim.pipeline.options import OTHERS, QsamOptions
from tdqsim.pipeline.shape import Shape

__all__ = ["SegmentIds", "SegmentState", "segment_decoder", "segment_states"]


@dataclass(frozen=True, slots=True)
class SegmentState:
    """What was met before a place in a file.

    Attributes:
        root: number of the last root record, -1 for none.
        level: the level reached, -1 for none.
        counts: records of each level since the root.
    """

    root: int = -1
    level: int = -1
    counts: tuple[int, ...] = ()


class SegmentIds:
    """Numbers records in file order, beginning with a state."""

    def __init__(self, options: QsamOptions, state: SegmentState) -> None:
        self._levels = {value: level for level, ids in enumerate(options.segment_levels) for value in ids}
        self._others = next((self._levels[mark] for mark in OTHERS if mark in self._levels), None)
        self._prefix = options.segment_prefix
        self._root, self._level = state.root, state.level
        self._counts = list(state.counts or (0,) * len(options.segment_levels))

    @property
    def state(self) -> SegmentState:
        """Where the numbering has come to."""
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
        """Count records without giving ids."""
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
    """The state at the beginning of each part of a file; one pass over it, which decodes the segment field only."""
    assert options.layout is not None
    decoder = segment_decoder(options.layout, options.segment_field)
    ids, found, first = SegmentIds(options, SegmentState()), list[SegmentState](), 0
    for part in parts:
        found.append(ids.state)
        for _, frames in part:
            numbers = np.arange(first, first + len(frames.starts))
            first += len(frames.starts)
            starts, lengths = frames.starts + options.record_start_offset, frames.lengths - options.record_start_offset
            column = decoder.decode(frames.data, starts, lengths - options.record_end_offset).column(0)
            ids.pass_over((None if v is None else str(v) for v in column.to_pylist()), numbers.tolist())
    return found
