"""The points at which a process can end, and what is left of it then."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from tdqsim.cics.ship.remote import LinkEnd
from tdqsim.core.messages import MessageFrame
from tdqsim.core.store.check import as_if_machine_stopped
from tdqsim.core.transport import LinkDown
from tdqsim.errors import RegionClosed
from tdqsim.testing import torn
from tdqsim.testing._later_turns import LaterTurns
from tdqsim.testing.faults import Crashed
from tdqsim.testing.hooks import add_hook

if TYPE_CHECKING:
    from tdqsim.cics import Region, Task
    from tdqsim.cics.ship.link import Link
    from tdqsim.core.dispatch import Dispatcher
    from tdqsim.core.store import Store
    from tdqsim.ibmi import System
    from tdqsim.ibmi.job import JobBase
    from tdqsim.ibmi.messages import Message

__all__ = ["Points", "tear"]

T = TypeVar("T")
_PAGE: Final = 4096
_METAS: Final = 2
_DECISION: Final = ("the decision", "what it has done")
_WORDS: Final = {
    "REQUEST": ("REQUEST", "REPLY"),
    "PREPARE": ("PREPARE", "VOTE"),
    "COMMIT": _DECISION,
    "BACKOUT": _DECISION,
    "REMIND": _DECISION,
}
"""Messages that arrive, and the answers that leave, as points are named."""


class Points:
    """Counts the points of one run, and ends a process at one of them.

    Args:
        end_at: number of the point; -1 for none.
        tears: count commits that are left half done too.

    Attributes:
        names: the points so far, in words.
        victim: the region or system that has ended; None as long as all are there.
        image: the files of the victim's durable data before the commit that is torn; None for no torn one.
    """

    def __init__(self, end_at: int, *, tears: bool) -> None:
        self.names: list[str] = []
        self.victim: Region | System | None = None
        self.image: dict[str, bytes] | None = None
        self._end_at = end_at
        self._tears = tears
        self._undo: list[Callable[[], None]] = []
        self._deleting: tuple[str | int, ...] = ()
        self._later: dict[Dispatcher, LaterTurns] = {}

    def watch_region(self, region: Region, prefix: str = "") -> None:
        """Be asked at each command and commit of a region."""
        add_hook(region, _Commands(self, region, prefix))
        self._return_first(region.dispatcher)
        self._watch_store(region, region.store, prefix)

    def watch_system(self, system: System) -> None:
        """Be asked at each API, CL command and commit of a system."""
        planned = system.faults

        def before(job: JobBase, operation: str, name: str, library: str) -> Message | None:
            self.take_turns()
            where = f" {library}/{name}".rstrip("/") if name else ""
            self._deleting = (operation, job.qualified_name, f"{library}/{name}") if operation == "QCLRDTAQ" else ()
            self.point(f"before {operation}{where} of job {job.qualified_name}", system)
            return planned(job, operation, name, library) if planned is not None else None

        system.faults = before
        self._undo.append(lambda: setattr(system, "faults", planned))
        self._return_first(system.dispatcher)
        self._watch_store(system, system.store, "")

    def _return_first(self, dispatcher: Dispatcher) -> None:
        if dispatcher not in self._later:
            self._later[dispatcher] = LaterTurns(dispatcher)

    def take_turns(self) -> None:
        """The scenario goes on, or has ended: others have the turns that its last command has left to them."""
        for later in tuple(self._later.values()):
            later.take()

    def watch_link(self, link: Link) -> None:
        """Be asked when a message arrives at an end of a link, and when its answer leaves."""
        for end in link.ends:
            end.served.serve = partial(self._message, end, end.served.serve)  # type: ignore[method-assign]

    def _message(self, end: LinkEnd, act: Callable[[MessageFrame], T], message: MessageFrame) -> T:
        """Do what a message asks for; a region that ends in the midst of it is a link that is gone."""
        if message.kind == "ASK":
            return act(message)
        region = end.region
        arrives, leaves = _WORDS[message.kind]
        try:
            self.point(f"{region.applid}: {arrives} arrives", region)
            answer = act(message)
            self.point(f"{region.applid}: before {leaves} is sent", region)
        except Crashed as crash:
            if self.victim is not region:
                raise
            region.close(clean=False)
            raise LinkDown(f"region {region.applid} has failed") from crash
        return answer

    def _watch_store(self, owner: Region | System, store: Store, prefix: str) -> None:
        store.durable.fault = partial(self._at_store, owner, store, f"{prefix}durable")
        self._undo.append(partial(setattr, store.durable, "fault", None))

    def _at_store(self, owner: Region | System, store: Store, half: str, step: str) -> None:
        if self.image is not None and self.victim is None:
            if step.startswith("after"):
                self._crash(f"{half}: in the middle of a commit", owner)
            return
        self.point(f"{half}: {step.replace('_', ' ')}", owner)
        if (
            self._tears
            and step == "before_commit"
            and half.endswith("durable")
            and self._counted(f"{half}: torn commit")
        ):
            self.image = torn.image_of(store.durable.path)

    def point(self, name: str, owner: Region | System) -> None:
        """One point: the process of ``owner`` may end here, and has ended if it is the victim."""
        if self.victim is None:
            if self._counted(name):
                self._crash(name, owner)
        elif self.victim is owner:
            # While the victim is closed its other tasks end, at a command perhaps; Crashed would leave the close.
            raise (RegionClosed if owner.closed else Crashed)("the process has ended already")

    def _counted(self, name: str) -> bool:
        if self.victim is not None:
            return False
        self.names.append(name)
        return len(self.names) - 1 == self._end_at

    def _crash(self, name: str, owner: Region | System) -> None:
        self.victim = owner
        trace = owner.recorder.trace if owner.recorder is not None else None
        if trace is not None and self._deleting:
            rest = (b"", "UNKNOWN") if isinstance(self._deleting[1], str) else ("", "", "UNKNOWN")
            trace((*self._deleting, b"", owner.clock.time_ns(), *rest))
        owner.failed = True
        self._turns_at_once()
        raise Crashed(name)

    def _turns_at_once(self) -> None:
        while self._later:
            self._later.popitem()[1].end()

    def begins(self, task: Task, command: str, arguments: Mapping[str, object]) -> None:
        """A command of a region begins: whether one that deletes was done will not be known when it ends here."""
        queue = str(arguments.get("queue") or "").rstrip()
        self._deleting = (command, task.number, queue) if command == "DELETEQ TD" else ()

    def forget(self) -> None:
        """Be asked no more at stores, APIs and CL commands."""
        self._turns_at_once()
        while self._undo:
            self._undo.pop()()


class _Commands:
    """A region's hook: the moment before each command is a point."""

    def __init__(self, points: Points, region: Region, prefix: str) -> None:
        self._points, self._region, self._prefix = points, region, prefix

    def before(self, task: Task, command: str, arguments: Mapping[str, object]) -> None:
        """See :class:`tdqsim.cics.Hook`."""
        self._points.take_turns()
        words = (f"{self._prefix}before", command, str(arguments.get("queue") or ""), f"of task {task.number}")
        self._points.begins(task, command, arguments)
        self._points.point(" ".join(word for word in words if word), self._region)

    def after(self, task: Task, command: str, arguments: Mapping[str, object], outcome: object) -> None:
        """Nothing: what follows is a point of its own."""


def tear(store: Path, image: dict[str, bytes], *, synced: bool) -> None:
    """Leave a commit half done, as when the machine stops: of what it has written one half is there.

    Args:
        store: the store's directory; nobody has it open.
        image: what was in the files of its durable half before.
        synced: with durability ``power`` what makes LMDB's commit valid is written when the rest is on the disk: so
            that is what has not been written.
    """
    durable = store / "durable"
    if synced:
        with (durable / "data.mdb").open("r+b") as file:
            file.write(image["data.mdb"][: _METAS * _PAGE])
    else:
        torn.tear(durable, image)
    as_if_machine_stopped(store)
