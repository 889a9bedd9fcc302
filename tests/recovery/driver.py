"""Two linked regions in a few words, so that a failure found by chance can be told in a script."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from tdqsim.cics import Condition, Region, Sysplex, Task
from tdqsim.definitions import define_connection, define_tdqueue
from tdqsim.testing import History

_KINDS = {"LOG": "LOGICAL", "NO": "NO", "PHY": "PHYSICAL"}


def _own(prefix: str) -> list[Any]:
    return [
        define_tdqueue(name=prefix + name, type="INTRA", recovstatus=kind) for name, kind in _KINDS.items()
    ]  # fmt: skip


DEFINITIONS = {
    "NEAR": [
        *_own("N"),
        *(define_tdqueue(name=f"F{name}", remotesystem="FAR") for name in _KINDS),
        define_connection(name="FAR"),
    ],
    "FAR": _own("F"),
}


class Driver:
    """Regions NEAR and FAR, and one task in NEAR at a time.

    Args:
        directory: where the stores are; a new one when not given.
    """

    def __init__(self, directory: Path | None = None) -> None:
        self.directory = directory or Path(tempfile.mkdtemp(prefix="tdqsim-test-"))
        self.sysplex = Sysplex()
        self.task: Task | None = None
        self.histories = {applid: History() for applid in DEFINITIONS}
        for applid in DEFINITIONS:
            self._start(applid)

    def _start(self, applid: str) -> Region:
        region = self.sysplex.region(
            DEFINITIONS[applid], applid=applid, sysid=applid, store=self.directory / applid, supplied_queues=False
        )
        self.histories[applid].attach(region)
        return region

    def check_histories(self) -> None:
        """What happened since the beginning, restarts included, must be what queues could do."""
        for history in self.histories.values():
            history.check()

    def close(self) -> None:
        self.sysplex.close()

    @property
    def near(self) -> Region:
        return self.sysplex.regions["NEAR"]

    @property
    def far(self) -> Region:
        return self.sysplex.regions["FAR"]

    def _owner(self, name: str) -> Region:
        return self.near if name.startswith("N") else self.far

    def _arm(self, cut: str) -> None:
        if cut:
            self.sysplex.link("NEAR", "FAR").cut_at(cut)

    def seed(self, name: str, records: list[bytes]) -> int:
        return self._owner(name).seed(name, records)

    def request(self, kind: str, name: str, data: bytes, cut: str = "") -> Any:
        """READQ, WRITEQ or DELETEQ; the record, None, or the name of the condition."""
        self._arm(cut)
        task = self.task = self.task or self.near.task()
        try:
            if kind == "read":
                return task.readq_td(name)
            return task.writeq_td(name, data) if kind == "write" else task.deleteq_td(name)
        except Condition as condition:
            return condition.name

    def local(self, kind: str, name: str, data: bytes) -> Any:
        """The same in the region that has the queue, by a task of its own."""
        region = self._owner(name)
        try:
            if kind == "read":
                return region.readq_td(name)
            return region.writeq_td(name, data) if kind == "write" else region.deleteq_td(name)
        except Condition as condition:
            return condition.name

    def syncpoint(self, cut: str = "") -> str | None:
        self._arm(cut)
        task = self.task or self.near.task()
        try:
            task.syncpoint()
        except Condition as condition:
            return condition.name
        finally:
            self._end()
        return None

    def rollback(self, cut: str = "") -> None:
        self._arm(cut)
        if self.task is not None:
            self.task.syncpoint_rollback()
        self._end()

    def _end(self) -> None:
        task, self.task = self.task, None
        if task is not None and not task._ended:
            task.end(normal=True)

    def cut(self) -> None:
        self.sysplex.link("NEAR", "FAR").cut()

    def restore(self) -> None:
        self.sysplex.link("NEAR", "FAR").restore()

    def again(self, *applids: str, clean: bool = False) -> str:
        """Let regions fail, or end normally, and start them again; the kind of start."""
        for applid in applids:
            if applid == "NEAR":
                self.task = None
            self.sysplex.regions[applid].close(clean=clean)
        return {self._start(applid).recovery.start_type for applid in applids}.pop()

    def set_uow(self, how: str) -> None:
        (uow,) = self.far.recovery.shunted.values()
        self.far.set_uow(uow.id, uowstate=how)

    def set(self, name: str, enablestatus: str) -> str | None:
        try:
            self._owner(name).set_tdqueue(name, enablestatus=enablestatus)
        except Condition as condition:
            return condition.name
        return None

    def peek(self, name: str) -> list[bytes]:
        return self._owner(name).peek(name)

    def in_doubt(self) -> bool:
        return bool(self.far.recovery.shunted)

    def damage(self) -> int:
        return len(self.far.recovery.damage)
