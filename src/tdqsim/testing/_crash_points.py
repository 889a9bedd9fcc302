"""The points at which a process can be ended, and the state of its store after that."""

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
from tdqsim.faults import torn
from tdqsim.faults.hooks import add_hook, recorded
from tdqsim.faults.plan import Crashed
from tdqsim.testing._deferred_dispatch import DeferredDispatcher
from tdqsim.testing._footprints import DURABLE

if TYPE_CHECKING:
    from tdqsim.cics import Region, Task
    from tdqsim.cics.ship.link import Link
    from tdqsim.core.dispatch import Dispatcher
    from tdqsim.core.store import Store
    from tdqsim.ibmi import System
    from tdqsim.ibmi.job_core import JobBase
    from tdqsim.ibmi.messages import Message
    from tdqsim.testing._orders import Controller

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
"""How points are named by messages that arrive, and by the answers that are sent."""


class Points:
    """Counts the points of one run, and ends a process at one of them.

    Args:
        end_at: number of the point; -1 for none.
        tears: count torn commits as points too.
        controller: of the order of the tasks, in which all that changes what a crash leaves conflicts; None for none.

    Attributes:
        names: the points so far, in words.
        places: for each point, how many turns had begun, and whether the last of them was going on.
        victim: the region or system whose process has ended; None before that.
        image: the files of the victim's durable data before the commit that is torn; None if none is torn.
    """

    def __init__(self, end_at: int, *, tears: bool, controller: Controller | None = None) -> None:
        self._controller = controller
        self.names: list[str] = []
        self.places: list[tuple[int, bool]] = []
        self.victim: Region | System | None = None
        self.image: dict[str, bytes] | None = None
        self._end_at = end_at
        self._tears = tears
        self._undo: list[Callable[[], None]] = []
        self._deleting: tuple[str | int, ...] = ()
        self._later: dict[Dispatcher, DeferredDispatcher] = {}

    def watch_region(self, region: Region, prefix: str = "") -> None:
        """Make each command and each commit of a region a point."""
        add_hook(region, _Commands(self, region, prefix))
        self._return_first(region.dispatcher)
        self._watch_store(region, region.store, prefix)

    def watch_system(self, system: System) -> None:
        """Make each API, CL command and commit of a system a point."""
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
            self._later[dispatcher] = DeferredDispatcher(dispatcher)

    def take_turns(self) -> None:
        """Run the tasks that the last command of the scenario has made ready (see :mod:`._later_turns`)."""
        for later in tuple(self._later.values()):
            later.take()

    def watch_link(self, link: Link) -> None:
        """Make the arrival of each message at either end of a link a point, and the sending of its answer."""
        for end in link.ends:
            end.served.serve = partial(self._message, end, end.served.serve)  # type: ignore[method-assign]

    def _message(self, end: LinkEnd, act: Callable[[MessageFrame], T], message: MessageFrame) -> T:
        """Process a message. If the region ends meanwhile, the other end sees that the link is down."""
        if message.kind == "ASK":
            return act(message)
        region = end.region.facade
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
        footprint = None if self._controller is None else self._controller.footprint
        if footprint is not None:
            footprint.add(DURABLE)
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
        """A point: end the process of ``owner`` here if this is the chosen one. If it has ended already, fail."""
        if self.victim is None:
            if self._counted(name):
                self._crash(name, owner)
        elif self.victim is owner:
            # When the victim is closed, its other tasks end, perhaps at a command; Crashed would cut the close short.
            raise (RegionClosed if owner.closed else Crashed)("the process has ended already")

    def _counted(self, name: str) -> bool:
        if self.victim is not None:
            return False
        self.names.append(name)
        if self._controller is not None:
            self.places.append((len(self._controller.turns), self._controller.footprint is not None))
        return len(self.names) - 1 == self._end_at

    def _crash(self, name: str, owner: Region | System) -> None:
        self.victim = owner
        core = recorded(owner)
        trace = core.recorder.trace if core.recorder is not None else None
        if trace is not None and self._deleting:
            rest = (b"", "UNKNOWN") if isinstance(self._deleting[1], str) else ("", "", "UNKNOWN")
            trace((*self._deleting, b"", owner.clock.time_ns(), *rest))
        core.failed = True
        self._turns_at_once()
        raise Crashed(name)

    def _turns_at_once(self) -> None:
        while self._later:
            self._later.popitem()[1].end()

    def begins(self, task: Task, command: str, arguments: Mapping[str, object]) -> None:
        """Remember a DELETEQ TD that begins: if the process ends here, the history has it with outcome UNKNOWN."""
        queue = str(arguments.get("queue") or "").rstrip()
        self._deleting = (command, task.number, queue) if command == "DELETEQ TD" else ()

    def forget(self) -> None:
        """Count no more points: what ends stores, APIs and CL commands is none. After a crash none counts."""
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
        """Nothing happens here: the next command or commit is the next point."""


def tear(store: Path, image: dict[str, bytes], *, synced: bool) -> None:
    """Undo half of what a commit has written, as when the machine stops in the middle of it.

    Args:
        store: the store's directory; no process has it open.
        image: the files of its durable half before the commit.
        synced: with durability ``power``, LMDB writes the meta page that makes the commit valid after the rest is on
            the disk; then it is the meta page that is undone.
    """
    durable = store / "durable"
    if synced:
        with (durable / "data.mdb").open("r+b") as file:
            file.write(image["data.mdb"][: _METAS * _PAGE])
    else:
        torn.tear(durable, image)
    as_if_machine_stopped(store)
