"""Depth over time in bounded memory: when there are too many points, every other one goes."""

from __future__ import annotations

from collections.abc import Iterator

__all__ = ["Depths"]


class Depths:
    """The depth of each queue at regular steps, and the greatest.

    A step is counted in whatever the caller samples by (events, dispatches); it doubles as often as needed, so that the
    points kept depend on nothing but the sequence of depths.

    Args:
        limit: the most points kept of a queue.
    """

    def __init__(self, limit: int) -> None:
        self._limit = max(4, limit)
        self._points: dict[str, list[tuple[int, int, int]]] = {}
        self._strides: dict[str, int] = {}
        self._seen: dict[str, int] = {}
        self.peaks: dict[str, int] = {}

    def sample(self, queue: str, step: int, time_us: int, depth: int) -> None:
        """The depth of a queue at a step."""
        seen = self._seen.get(queue, 0)
        self._seen[queue] = seen + 1
        if depth > self.peaks.get(queue, -1):
            self.peaks[queue] = depth
        stride = self._strides.get(queue, 1)
        if seen % stride:
            return
        points = self._points.setdefault(queue, [])
        points.append((step, time_us, depth))
        if len(points) > self._limit:
            del points[1::2]
            self._strides[queue] = stride * 2

    def points(self) -> Iterator[tuple[str, int, int, int]]:
        """Queue, step, microseconds, depth; queues by name, each in order."""
        for queue in sorted(self._points):
            for point in self._points[queue]:
                yield queue, *point
