"""The depth of queues over time, recorded since the region is served.

Each queue has a ring buffer of samples. All changes within one second become one sample, with the depth at the end of
the second, so that a burst does not push out older samples. The resolution is therefore one second. A queue without
changes has no ring buffer.
"""

from __future__ import annotations

from array import array
from typing import Final

from tdqsim import state
from tdqsim.cics import Region
from tdqsim.hosting import NS_PER_SECOND
from tdqsim.server.bounds import BOUNDS

_MOST: Final = BOUNDS["depth_samples"]


class _Ring:
    """The samples of one queue: times and depths alternately, eight bytes each."""

    __slots__ = ("depths", "times")

    def __init__(self, time_ns: int, depth: int) -> None:
        self.times, self.depths = array("q", [time_ns]), array("q", [depth])

    def add(self, time_ns: int, depth: int) -> None:
        if depth == self.depths[-1]:
            return
        if len(self.times) > 1 and 0 <= time_ns - self.times[-1] < NS_PER_SECOND:
            self.depths[-1] = depth
            return
        self.times.append(time_ns)
        self.depths.append(depth)
        if len(self.times) > _MOST:
            del self.times[0], self.depths[0]


class DepthHistory:
    """The depths of one region's intrapartition queues.

    Args:
        region: the region; the object is created in the region's thread.
    """

    def __init__(self, region: Region) -> None:
        self._region = region
        self._began = region.clock.time_ns()
        self._first = {name: depth for name in region.tdqueues if (depth := state.depth(region, name))}
        self._rings: dict[str, _Ring] = {}

    def changed(self, name: str) -> None:
        """Record the depth of a queue (name or alias) after a possible change; call in the region's thread."""
        for each in state.aliases(self._region, name):
            depth = state.depth(self._region, each)
            if depth is not None:
                self._add(each, depth)

    def _add(self, name: str, depth: int) -> None:
        ring = self._rings.get(name)
        if ring is None:
            ring = self._rings[name] = _Ring(self._began, self._first.pop(name, 0))
        ring.add(self._region.clock.time_ns(), depth)

    def prune(self) -> None:
        """Remove the samples of queues that no longer exist; call in the region's thread."""
        for name in [name for name in self._rings if name not in self._region.tdqueues]:
            del self._rings[name]

    def latest(self) -> list[tuple[str, int]]:
        """The queues with changes, and the time of the last change of each in nanoseconds; any thread may call this."""
        return [(name, ring.times[-1]) for name, ring in list(self._rings.items())]

    def of(self, name: str) -> list[tuple[int, int]]:
        """Pairs of the time of a change in nanoseconds and the depth since then; empty for a queue without changes.

        Any thread may call this; a sample that is just being added may be missing.
        """
        ring = self._rings.get(name)
        return [] if ring is None else list(zip(ring.times[:], ring.depths[:], strict=False))
