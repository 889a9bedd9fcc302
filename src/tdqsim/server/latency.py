"""Durations counted in classes of seconds, for a Prometheus histogram."""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate
from typing import Final

_BOUNDS: Final = (0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0)


class Latency:
    """The measured durations.

    Attributes:
        seconds: their sum.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self._counts = [0] * (len(_BOUNDS) + 1)

    def add(self, seconds: float) -> None:
        """Add a duration."""
        self.seconds += seconds
        self._counts[bisect_left(_BOUNDS, seconds)] += 1

    def buckets(self) -> list[tuple[str, float]]:
        """The cumulative counts by upper bound, in the format of Prometheus; the last is the total."""
        bounds = [*map(str, _BOUNDS), "+Inf"]
        return list(zip(bounds, map(float, accumulate(self._counts)), strict=True))
