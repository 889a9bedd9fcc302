"""Depth over time in bounded memory: when there are too many points, every other one goes."""

from __future__ import annotations

from collections.abc import Iterator

__all__ = ["Depths", "Probe"]


class Probe:
    """The depths of one queue.

    Whoever feeds events counts ``left`` down by himself, and calls :meth:`keep` when it reaches 0: that is the one
    thing done for every event.

    Args:
        limit: the most points kept.

    Attributes:
        peak: the greatest depth seen; -1 before there was one.
        left: how many samples until one is kept.
    """

    __slots__ = ("_limit", "_stride", "left", "peak", "points")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._stride = 1
        self.left = 1
        self.peak = -1
        self.points: list[tuple[int, int, int]] = []

    def sample(self, step: int, time_us: int, depth: int) -> None:
        """The depth at a step."""
        self.peak = max(self.peak, depth)
        self.left -= 1
        if not self.left:
            self.keep(step, time_us, depth)

    def keep(self, step: int, time_us: int, depth: int) -> None:
        """Keep a point; when there are too many, every other one goes, and only every other one comes from now on."""
        self.points.append((step, time_us, depth))
        if len(self.points) > self._limit:
            del self.points[1::2]
            self._stride *= 2
        self.left = self._stride


class Depths(dict[str, Probe]):
    """A probe for each queue, made when it is asked for.

    A step is counted in whatever the caller samples by (events, dispatches); it doubles as often as needed, so that the
    points kept depend on nothing but the sequence of depths.

    Args:
        limit: the most points kept of a queue.
    """

    def __init__(self, limit: int) -> None:
        super().__init__()
        self._limit = max(4, limit)

    def __missing__(self, queue: str) -> Probe:
        probe = self[queue] = Probe(self._limit)
        return probe

    def peak(self, queue: str) -> int:
        """The greatest depth of a queue; 0 when none was seen."""
        return max(0, self[queue].peak) if queue in self else 0

    def points(self) -> Iterator[tuple[str, int, int, int]]:
        """Queue, step, microseconds, depth; queues by name, each in order."""
        for queue in sorted(self):
            for point in self[queue].points:
                yield queue, *point
