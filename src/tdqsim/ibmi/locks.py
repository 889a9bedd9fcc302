"""The locks that jobs hold on one object."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tdqsim.ibmi.data import JobData
from tdqsim.ibmi.fact_tables import LOCK_STATES


class HeldLock(NamedTuple):
    """One lock that a job holds on an object. A job may hold several, which are released individually."""

    job: JobData
    state: str
    scope: str


class Locks:
    """The locks on one object."""

    __slots__ = ("_counts", "_states")

    def __init__(self) -> None:
        self._counts: dict[HeldLock, int] = {}
        self._states: dict[str, dict[HeldLock, None]] = {}

    def __iter__(self) -> Iterator[HeldLock]:
        """Each distinct lock once, in the order in which they were first taken."""
        return iter(self._counts)

    def count(self, held: HeldLock) -> int:
        """How often a job has taken the same lock."""
        return self._counts.get(held, 0)

    def add(self, held: HeldLock) -> None:
        """Add a lock."""
        self._counts[held] = self.count(held) + 1
        self._states.setdefault(held.state, {})[held] = None

    def take_away(self, held: HeldLock, times: int = 1) -> None:
        """Release a lock this many times; one whose taking was interrupted is released as far as it was taken."""
        if self.count(held) > times:
            self._counts[held] -= times
        else:
            self._counts.pop(held, None)
            self._states.get(held.state, {}).pop(held, None)

    def against(self, state: str) -> Iterator[HeldLock]:
        """The locks that conflict with a state."""
        return (held for other, holders in self._states.items() if other not in LOCK_STATES[state] for held in holders)
