"""What a server serves: regions in an engine's thread, and what has happened in them.

Nothing of a region is touched but in the engine's thread: everything here goes through :meth:`Host.ask`. Events are
published by a recorder: each command that ended, as a plain value that any thread may read.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Container, Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any, Final, TypeVar

from tdqsim.cics import Region, Sysplex, Task, UnitOfWork
from tdqsim.core.clock import Clock
from tdqsim.core.engine import Engine
from tdqsim.datasets.workdir import output_directory
from tdqsim.definitions.regionfile import RegionFile, load_region_file
from tdqsim.errors import TdqError, UsageError
from tdqsim.facts import REGION_DEFAULTS
from tdqsim.ibmi import System
from tdqsim.job import JobClass, JobRequest, importable, named_class
from tdqsim.layouts import Layout
from tdqsim.report.queue_layouts import queue_layouts
from tdqsim.server.depths import DepthHistory
from tdqsim.server.errors import ServeError
from tdqsim.server.hostservers import Accounts
from tdqsim.server.latency import Latency
from tdqsim.server.open_units import OpenUnits
from tdqsim.server.systemfile import SYSTEM_FILE_NAME, load_system_file, system_from_directory
from tdqsim.server.users import Users
from tdqsim.server.waits import ChangeWaits
from tdqsim.testing.active import ActivePlan
from tdqsim.testing.faults import FaultPlan

__all__ = ["Host", "UnknownRegion"]

T = TypeVar("T")
_RECENT: Final = 5000
"""Events of a region that are kept for those who come later."""
_CHANGES_RESOURCES: Final = ("CREATE ", "DISCARD ", "INSTALL ", "SET ")


class UnknownRegion(TdqError):
    """No region, or no system, of that name is served."""


class _Recorder:
    """Publishes what happens in one region."""

    trace = None

    def __init__(self, host: Host, region: Region) -> None:
        self._host = host
        self._region = region
        self._applid = region.applid
        self._position = 0
        self._recent = host.recent.setdefault(region.applid, deque(maxlen=_RECENT))
        self._depths = host.depths.setdefault(region.applid, DepthHistory(region))

    def command(self, task: Task, command: str, arguments: Mapping[str, Any], outcome: object) -> None:
        """A command has ended."""
        condition = getattr(outcome, "name", "NORMAL") if isinstance(outcome, Exception) else "NORMAL"
        self._host.counts[self._applid, command, condition] += 1
        queue = arguments.get("queue")
        self._publish("command", command=command, task=task.number, condition=condition, queue=queue)
        if condition != "NORMAL":
            self._host.waits.condition_came(self._region, condition)
        if isinstance(queue, str):
            self._changed(queue)
        elif command.startswith(_CHANGES_RESOURCES):
            self._depths.prune()
            self._host.waits.all_changed(self._region)

    def task_waits(self, task: Task, what: str, holder: str) -> None:
        """A task begins to wait."""
        self._publish("task_waits", task=task.number, transid=task.transid, what=what, holder=holder)

    def task_goes_on(self, task: Task) -> None:
        """A task waits no longer."""
        self._publish("task_goes_on", task=task.number, transid=task.transid)

    def unit_of_work_ends(self, uow: UnitOfWork) -> None:
        """A unit of work is about to be committed; its end is told."""

    def unit_of_work_ended(self, uow: UnitOfWork, *, committed: bool) -> None:
        """A unit of work has ended."""
        self._host.units_ended[self._applid, committed] += 1
        self._publish("unit_of_work", uow=uow.id.hex().upper(), task=uow.taskid, committed=committed)
        for queue in uow.works:
            self._changed(queue.name)

    def task_started(self, task: Task) -> None:
        """A task was attached."""
        self._publish("task_started", task=task.number, transid=task.transid)

    def task_ended(self, task: Task, *, normal: bool) -> None:
        """A task has ended."""
        self._publish("task_ended", task=task.number, transid=task.transid, normal=normal, abcode=task.abcode)
        self._host.waits.task_ended(self._region)

    def seeded(self, queue: str, records: Sequence[bytes | str]) -> None:
        """Records were put on a queue outside any task."""
        self._publish("seeded", queue=queue, records=len(records))
        self._changed(queue)

    def _changed(self, queue: str) -> None:
        name = queue.rstrip(" ")
        self._depths.changed(name)
        self._host.waits.queue_changed(self._region, name)

    def _publish(self, event: str, **facts: Any) -> None:
        engine = self._host.engine
        told = {
            "event": event,
            "region": self._applid,
            "position": self._position,
            "time_ns": engine.dispatcher.clock.time_ns(),
            **facts,
        }
        self._position += 1
        self._recent.append(told)
        engine.publish(told)


class Host:
    """The regions of one server.

    Args:
        frozen: stand still from the start; only the operator moves the clock then.
        users: who may use it; the regions of directories know their groups.
        accounts: who may sign on to host servers of the systems; None where none keeps passwords.
        out: where data sets go that no DD card names, a folder for each directory; None for ``tdq-out`` where the
            process was started.

    Attributes:
        engine: the thread that owns them.
        regions: by APPLID.
        sysplex: links the regions by their CONNECTION definitions.
        systems: IBM i systems by name.
        served: of each directory, in order, ``region`` or ``system`` and its name.
        units: the units of work that clients keep open.
        waits: who waits for records, or for the end of tasks.
        counts: commands that ended, by (region, command, condition).
        units_ended: units of work that ended, by (region, whether it was committed).
        commits: by region, how long its commits of what is durable took.
        faults: the fault plans that are at work, by APPLID and by a number of their own, whoever switched them on.
        recent: the last events of each region, as they were published, by APPLID.
        depths: by APPLID, the depths of its queues over time.
        layouts: by APPLID and queue, the layouts that ``region.yaml`` gives to queues.
    """

    def __init__(
        self,
        *,
        frozen: bool = False,
        users: Users | None = None,
        accounts: Accounts | None = None,
        out: Path | None = None,
    ) -> None:
        self.accounts = accounts
        self._out = out
        self._groups = {} if users is None else users.groups
        self.engine = Engine(Clock(simulated=False))
        self.regions: dict[str, Region] = {}
        self.sysplex = Sysplex(dispatcher=self.engine.dispatcher)
        self.systems: dict[str, System] = {}
        self.served: list[tuple[str, str]] = []
        self.units = OpenUnits(self.engine)
        self.waits = ChangeWaits(self.engine)
        self.counts: Counter[tuple[str, str, str]] = Counter()
        self.units_ended: Counter[tuple[str, bool]] = Counter()
        self.commits: dict[str, Latency] = {}
        self.faults: dict[str, dict[str, ActivePlan]] = {}
        self.recent: dict[str, deque[dict[str, Any]]] = {}
        self.depths: dict[str, DepthHistory] = {}
        self.layouts: dict[str, Mapping[str, Layout]] = {}
        self._starts: list[tuple[Region, str]] = []
        self._modules = ExitStack()
        if frozen:
            self.engine.outside(self.engine.dispatcher.clock.freeze).result()

    def add(self, factory: Callable[..., Region], *args: Any, **options: Any) -> Region:
        """Make a region and serve it; nothing is made for an ``applid`` that is taken.

        It is linked to the regions that are served already, and to those that are added later, as their CONNECTION
        definitions say. A region that has the SYSID of another one is served, but not linked.

        Raises:
            TdqError: a region with that APPLID is served already, or whatever the factory raised.
        """
        self._check_free("region", options.get("applid", REGION_DEFAULTS["applid"]), self.regions)
        region = self.engine.make(factory, *args, **options)
        try:
            self._check_free("region", region.applid, self.regions)
        except TdqError:
            self.engine.outside(region.close).result()  # the factory has given it another name than it was told
            raise
        self.regions[region.applid] = region
        self.faults[region.applid] = {}

        def watch() -> None:
            region.recorder = _Recorder(self, region)
            region.hardening.timed = self.commits.setdefault(region.applid, Latency()).add
            try:
                self.sysplex.add(region)
            except UsageError as refused:
                region.log.warning("region_not_linked", reason=str(refused))

        self.engine.outside(watch).result()
        return region

    def add_system(self, factory: Callable[..., System], *args: Any, **options: Any) -> System:
        """Make an IBM i system and serve it.

        Raises:
            TdqError: a system of that name is served already, or whatever the factory raised.
        """
        system = self.engine.make(factory, *args, **options)
        try:
            self._check_free("system", system.name, self.systems)
        except TdqError:
            self.engine.outside(system.close).result()
            raise
        self.systems[system.name] = system
        return system

    @staticmethod
    def _check_free(kind: str, name: str, there: Container[str]) -> None:
        if name in there:
            raise ServeError(f"a {kind} {name} is served already; give each a name of its own")

    def add_directory(self, path: Path, store: Path | None = None) -> Region | System:
        """Serve the region that ``region.yaml`` in a directory describes, or the system of its ``system.yaml``.

        The modules that ``handlers:`` names are looked for in the directory first. Each directory has its own, even
        where two have one of the same name. The class of ``job:`` makes the data sets that no DD card names. The
        transactions of ``start:`` are started when all is served (:meth:`start_transactions`).

        Raises:
            TdqError: there is neither, or it cannot be made, or its name is taken: then nothing was made.
        """
        if (path / SYSTEM_FILE_NAME).is_file():
            self._check_free("system", load_system_file(path)[0].name, self.systems)
            system = self.add_system(partial(system_from_directory, path, store, accounts=self.accounts))
            self.served.append(("system", system.name))
            return system
        file = load_region_file(path)
        layouts = queue_layouts(file)
        overrides: dict[str, Any] = {"groups": self._groups} | ({} if store is None else {"store": store})

        def factory(**options: Any) -> Region:
            return Region.from_directory(path, **overrides, **options)

        self._check_free("region", file.applid, self.regions)
        self._modules.enter_context(importable(path))  # as long as it is served: a handler may import when it runs
        if file.job:
            overrides["dd"] = self._prepared(path, file)
        region = self.add(factory, applid=file.applid)
        self.layouts[region.applid] = layouts
        self._starts += [(region, transid) for transid in file.start]
        self.served.append(("region", region.applid))
        return region

    def _prepared(self, path: Path, file: RegionFile) -> dict[str, Path]:
        """The data sets that the class of ``job:`` makes or names, by DD name, without those of the file's own cards.

        Raises:
            TdqError: the class cannot be imported, or a data set cannot be made.
        """
        name = path.resolve().name
        output = self._modules.enter_context(output_directory(self._out and self._out / name, name))
        cards = {name: Path(card.path) for name, card in file.dd.items() if card.path}
        job: JobClass = named_class(file.job)(JobRequest(path, output, cards, None, 0, lambda *_: None))
        return {name: made for name, made in job.prepare().items() if name not in cards}

    def start_transactions(self) -> None:
        """Start what ``start:`` names in each region's file, in the order of the files and lines; once."""
        starts, self._starts = self._starts, []
        for region, transid in starts:
            self.engine.outside(partial(region.start, transid)).result()

    def region(self, name: str) -> Region:
        """The region of this APPLID.

        Raises:
            UnknownRegion: there is none.
        """
        found = self.regions.get(name.upper())
        if found is None:
            raise UnknownRegion(f"no region {name} is served; there are {', '.join(self.regions) or 'none'}")
        return found

    def system(self, name: str) -> System:
        """The IBM i system of this name.

        Raises:
            UnknownRegion: there is none.
        """
        found = self.systems.get(name.upper())
        if found is None:
            raise UnknownRegion(f"no system {name} is served; there are {', '.join(self.systems) or 'none'}")
        return found

    def switch_on(self, region: Region, plan: FaultPlan) -> ActivePlan:
        """Put a fault plan to work, beside those that are; in the engine's thread.

        Raises:
            TdqError: it is nothing for such a region; nothing of it is at work then.
        """
        active = ActivePlan(plan)
        try:
            active.attach(region)
        except BaseException:
            active.detach()
            raise
        plans = self.faults[region.applid]
        plans[str(max(map(int, plans), default=0) + 1)] = active
        return active

    def switch_off(self, region: Region, key: str | None = None) -> None:
        """Take a fault plan away, or all of a region; in the engine's thread."""
        plans = self.faults[region.applid]
        behind = [each for each in plans if key is None or int(each) >= int(key)]
        for each in reversed(behind):  # each puts back what was there before it
            plans[each].detach()
        for each in behind:
            if key in (None, each):
                del plans[each]
            else:
                plans[each].attach(region)

    def wait_for_condition(
        self, region: Region, condition: str, seconds: float, position: int | None = None
    ) -> Future[bool]:
        """Wait until a command of a region meets a condition.

        Args:
            region: the region.
            condition: its name.
            seconds: how long at most; then TimedOut is raised in the future.
            position: of the first event of the region's history that counts; None for what happens from now on.
        """
        recent = self.recent[region.applid]
        first = position

        def has_come() -> bool:
            nonlocal first
            if first is None:
                first = recent[-1]["position"] + 1 if recent else 0
            later = takewhile(lambda event: event["position"] >= first, reversed(recent))
            return any(event["event"] == "command" and event["condition"] == condition for event in later)

        return self.waits.for_condition(region, condition, seconds, has_come=has_come)

    async def ask(self, call: Callable[[], T], *, name: str = "a request") -> T:
        """Have something done in the engine's thread; it may wait as a task does."""
        return await asyncio.wrap_future(self.engine.submit(call, name=name))

    def stop(self, timeout: float = 10.0) -> Any:
        """Back out what clients have open, let tasks end, close the regions."""
        self.units.end_all()
        try:
            return self.engine.stop(timeout)
        finally:
            self._modules.close()
