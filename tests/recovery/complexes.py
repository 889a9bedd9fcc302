"""Regions of one sysplex, each with a store, that tests fail and start again.

The parts of the package that tests of linked regions look into are imported here, in one place for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tdqsim.cics import Condition, Region, Sysplex, Task
from tdqsim.cics.ship.link import Link
from tdqsim.cics.ship.remote import LinkEnd
from tdqsim.cics.uow.indoubt import decisions, heuristics
from tdqsim.definitions import define_connection, define_tdqueue
from tests.recovery.helpers import queue


def remote(name: str, sysid: str, remotename: str = "", **attributes: Any) -> Any:
    return define_tdqueue(name=name, remotesystem=sysid, remotename=remotename, **attributes)


class Complex:
    """Two regions or more, each with a store, that can be failed and started again."""

    def __init__(
        self,
        directory: Path,
        *regions: tuple[str, str, Sequence[Any]],
        at_once: bool = True,
        seed: int = 0,
        **options: Any,
    ) -> None:
        self.directory = directory
        self.options = options
        self.sysplex = Sysplex(at_once=at_once, seed=seed)
        self.given = {applid: (sysid, definitions) for applid, sysid, definitions in regions}
        for applid in self.given:
            self.start(applid)

    def start(self, applid: str, **options: Any) -> Region:
        sysid, definitions = self.given[applid]
        region = Region(
            definitions, applid=applid, sysid=sysid, store=self.directory / applid, supplied_queues=False,
            dispatcher=self.sysplex.dispatcher, **self.options, **options,
        )  # fmt: skip
        return self.sysplex.add(region)

    def again(self, applid: str, **options: Any) -> Region:
        self[applid].close(clean=False)
        return self.start(applid, **options)

    def __getitem__(self, applid: str) -> Region:
        return self.sysplex.regions[applid]

    def link(self, one: str = "NEAR", other: str = "FAR") -> Link:
        return self.sysplex.link(one, other)

    def run(self) -> None:
        self.sysplex.run()

    def task(self, program: Callable[[Task], Any], applid: str = "NEAR") -> Any:
        """Run a task in a region; gives its result, its condition or its abend."""

        def guarded(task: Task) -> Any:
            try:
                return program(task)
            except Condition as condition:
                return condition

        handle = self[applid].start(guarded)
        self.run()
        return handle.exception or handle.result()

    def lose(self, end: str) -> None:
        """With a message delayed: it comes ``late``, the link is ``cut``, or the region of this name fails; what follows."""
        if end == "late":
            self.link().release()
        elif end == "cut":
            self.link().cut()
        else:
            self[end].close(clean=False)
        self.run()

    def recover(self, end: str) -> None:
        """Start a region that has failed, and have the link come back."""
        if end in self.given:
            self.start(end)
        self.link().cut()
        self.link().restore()
        self.run()

    def contents(self) -> dict[tuple[str, str], list[bytes]]:
        return {
            (applid, name): region.peek(name)
            for applid, region in self.sysplex.regions.items()
            for name, found in region.tdqueues.items()
            if found.type == "INTRA"
        }

    def in_doubt(self) -> set[str]:
        return {applid for applid, region in self.sysplex.regions.items() if region.recovery.shunted}

    def remembered(self) -> set[str]:
        return {applid for applid, region in self.sysplex.regions.items() if decisions(region._core)}

    def left(self) -> list[Any]:
        """What is unfinished anywhere: units of work, tasks, locks, what is kept for others' questions."""
        found: list[Any] = []
        for region in self.sysplex.regions.values():
            found += [
                *region.recovery.units_of_work(),
                *region.tasks.values(),
                *decisions(region._core),
                *heuristics(region._core),
                *region._core.routing.relays,
            ]
            for end in region._core.links.values():
                assert isinstance(end, LinkEnd)
                found += [*end.mirrors, *end.branches]
            for each in region.tdqueues.values():
                found += [lock for lock in getattr(each, "locks", ()) if lock.in_use]
        return found


def pair(directory: Path, *more: Any, far: Sequence[Any] = (), near: Sequence[Any] = (), **options: Any) -> Complex:
    """NEAR with a queue of its own and REMQ, which is FARQ of FAR; ``more`` is installed in FAR."""
    here = [queue("LOCL"), remote("REMQ", "FAR", "FARQ"), define_connection(name="FAR"), *near]
    return Complex(directory, ("NEAR", "NEAR", here), ("FAR", "FAR", [*(far or [queue("FARQ")]), *more]), **options)


def fan(directory: Path) -> Complex:
    """NEAR, and two regions that take part in its units of work: ONE is FARQ of FARA, TWO is FARQ of FARB."""
    near = [
        queue("LOCL"), remote("ONE", "FAR1", "FARQ"), remote("TWO", "FAR2", "FARQ"),
        define_connection(name="FAR1", netname="FARA"), define_connection(name="FAR2", netname="FARB"),
    ]  # fmt: skip
    far = [queue("FARQ"), queue("PHYQ", "PHYSICAL")]
    return Complex(directory, ("NEAR", "NEAR", near), ("FARA", "FAR1", far), ("FARB", "FAR2", far))


def row(directory: Path, **options: Any) -> Complex:
    """NEAR reaches FARQ of FAR by way of MID, which has MIDQ itself."""
    return Complex(
        directory,
        ("NEAR", "NEAR", [queue("LOCL"), remote("REMQ", "MID"), define_connection(name="MID")]),
        ("MID", "MID", [remote("REMQ", "FAR", "FARQ"), queue("MIDQ"), define_connection(name="FAR")]),
        ("FAR", "FAR", [queue("FARQ")]),
        **options,
    )


def ring(directory: Path) -> Complex:
    """NEAR reaches LOCL, a queue of its own, by way of FAR."""
    return Complex(
        directory,
        ("NEAR", "NEAR", [queue("LOCL"), queue("HERE"), remote("RING", "FAR", "BACK"), define_connection(name="FAR")]),
        ("FAR", "FAR", [remote("BACK", "NEAR", "LOCL"), define_connection(name="NEAR")]),
    )
