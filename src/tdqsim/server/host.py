"""The regions and systems of a server, which live in the engine's thread, and their recent events.

Regions are used only in the engine's thread: calls from the event loop go through :meth:`Host.ask`. A recorder
publishes events, such as each command that ended, as plain values that any thread may read.
"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter, deque
from collections.abc import Callable, Container, Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from functools import partial
from itertools import takewhile
from pathlib import Path
from secrets import token_hex
from typing import Any, Final, TypeVar

from tdqsim import Clock
from tdqsim.cics import Region, SecurityOptions, Sysplex, Task, UnitOfWork
from tdqsim.datasets import output_directory
from tdqsim.definitions import REGION_FILE_NAME, RegionFile, load_region_file
from tdqsim.errors import TdqError, UsageError
from tdqsim.facts import REGION_DEFAULTS
from tdqsim.faults import ActivePlan, FaultPlan
from tdqsim.hosting import Engine, RegionInternals
from tdqsim.ibmi import SYSTEM_FILE_NAME, System, load_system_file, system_from_directory
from tdqsim.job import JobClass, JobRequest, importable, named_class
from tdqsim.languages import TaskInternals
from tdqsim.layouts import Layout
from tdqsim.report import FlowCounts, queue_layouts, resource_of
from tdqsim.server.activity import Activity, ResourceChange
from tdqsim.server.audit import LINK, audit
from tdqsim.server.depths import DepthHistory
from tdqsim.server.engine_bridge import EngineBridge
from tdqsim.server.errors import ServeError
from tdqsim.server.hostservers import Accounts, CommandPasswords
from tdqsim.server.kept_dumps import KeptDumps
from tdqsim.server.last_commands import LastCommands
from tdqsim.server.latency import Latency
from tdqsim.server.notices import log_notices
from tdqsim.server.open_units import OpenUnits
from tdqsim.server.refusals import Refusals
from tdqsim.server.users import Users
from tdqsim.server.waits import ChangeWaits
from tdqsim.server.watched_change import WatchedChange
from tdqsim.state import Dump

T = TypeVar("T")
_RECENT: Final = 5000
"""The number of past events of a region that are kept."""
_SHOWN: Final = 60
"""The number of characters that are shown of a value."""
_CHANGES_RESOURCES: Final = ("CREATE ", "DISCARD ", "INSTALL ", "SET ")


class UnknownRegion(TdqError):
    """No region or system of that name is served."""


class OtherRun(TdqError):
    """A position belongs to the history of another run of the server.

    Attributes:
        run: the present run.
    """

    def __init__(self, region: Region, named: str, run: str) -> None:
        super().__init__(
            f"region {region.applid}: the position is of run {named}, but the present run is {run}; "
            "its history begins at position 0"
        )
        self.run = run


class _Recorder:
    """Publishes the events of one region."""

    trace = None

    def __init__(self, host: Host, region: Region) -> None:
        self._host = host
        self._region = region
        self._applid = region.applid
        self._position = 0
        self._run = host.runs.setdefault(region.applid, token_hex(4))
        self._recent = host.recent.setdefault(region.applid, deque(maxlen=_RECENT))
        self._depths = host.depths.setdefault(region.applid, DepthHistory(region))
        self._commands = LastCommands(region.options.code_page)
        self._flows = host.flows.setdefault(region.applid, FlowCounts())
        self._counts = self._flows.commands
        self._activity = host.activity.setdefault(region.applid, Activity())
        self._refusals = host.refused.setdefault(region.applid, Refusals(region.applid))

    def last_commands(self, task: int, most: int) -> list[str]:
        """The last commands of a task with their answers and records, at most ``most``, the newest last."""
        return self._commands.of(task, most)

    def command(self, task: Task, command: str, arguments: Mapping[str, Any], outcome: object) -> None:
        """A command has ended."""
        condition = getattr(outcome, "name", "NORMAL") if isinstance(outcome, Exception) else "NORMAL"
        queue = arguments.get("queue")
        named = queue.rstrip(" ") if isinstance(queue, str) and command != "START" else resource_of(command, arguments)
        key = (task.transid, command, named, condition)
        if key in self._counts:
            self._counts[key] += 1
        else:
            self._flows.command(*key)
        self._commands.add(task.number, command, arguments, outcome)
        called = {"requester": TaskInternals(task).requester} if TaskInternals(task).mirror else {}
        self._publish("command", command=command, task=task.number, condition=condition, queue=queue, **called)
        self._activity.commands += 1
        if called and not command.startswith("INQUIRE "):
            text = queue.rstrip(" ") if isinstance(queue, str) else None
            audit(LINK, task.userid, command, applid=self._applid, queue=text, task=task.number, resp=condition)
        if condition != "NORMAL":
            self._activity.failed += 1
            self._refusals.command(task, command, named, condition, self._region.clock.time_ns())
            self._host.waits.condition_came(self._region, condition)
        if isinstance(queue, str):
            self._changed(queue)
        elif command.startswith(_CHANGES_RESOURCES):
            self._depths.prune()
            details = " ".join(f"{name}({_shown(value)})" for name, value in arguments.items() if value is not None)
            now = self._host.engine.dispatcher.clock.time_ns()
            self._activity.changes.append(ResourceChange(now, task.userid, command, details, condition))
            self._host.waits.all_changed(self._region)

    def task_waits(self, task: Task, what: str, holder: str) -> None:
        """A task begins to wait."""
        self._publish("task_waits", task=task.number, transid=task.transid, what=what, holder=holder)

    def task_goes_on(self, task: Task) -> None:
        """The wait of a task has ended."""
        self._publish("task_goes_on", task=task.number, transid=task.transid)

    def unit_of_work_ends(self, uow: UnitOfWork) -> None:
        """A unit of work is about to be committed; only its end is published."""

    def unit_of_work_ended(self, uow: UnitOfWork, *, committed: bool) -> None:
        """A unit of work has ended."""
        self._host.units_ended[self._applid, committed] += 1
        network = {"coordinator": uow.coordinator} if uow.link and uow.coordinator else {}
        self._publish("unit_of_work", uow=uow.id.hex().upper(), task=uow.taskid, committed=committed, **network)
        for queue in uow.works:
            self._changed(queue.name)

    def task_started(self, task: Task) -> None:
        """A task was attached."""
        request = TaskInternals(task).request
        self._flows.tasks[task.transid] += 1
        if request is not None:
            self._flows.started[request.queue.name, task.transid] += 1
        requester = TaskInternals(task).requester
        called = {"requester": requester} if requester else {}
        self._publish("task_started", task=task.number, transid=task.transid, **called)

    def task_ended(self, task: Task, *, normal: bool) -> None:
        """A task has ended."""
        self._publish("task_ended", task=task.number, transid=task.transid, normal=normal, abcode=task.abcode)
        if not normal:
            self._say_left(task, sys.exception())
            self._flows.abends[task.transid, task.abcode or ""] += 1
            self._refusals.abended(task)
            self._take_over_dump(task)
        self._host.waits.task_ended(self._region)

    def _say_left(self, task: Task, error: BaseException | None) -> None:
        """Make a notice of an exception such as SystemExit, which is no abend, and which has no receiver here.

        A task ends while this exception is handled, so it is the present one.
        """
        if error is None or isinstance(error, Exception):
            return
        what = f"{type(error).__name__}: {error}".removesuffix(": ")
        notices = self._region.notices
        notices.say("task_left", transid=task.transid, task=task.number, what=what, traceback=error)

    def _take_over_dump(self, task: Task) -> None:
        """Report the dump of a task that has abended, and write it to the file of the region's dumps, if any."""
        kept, dumps = self._host.dumps.get(self._applid), self._region.diagnostics.failures
        if not dumps or dumps[-1].task != task.number:
            return
        for listener in tuple(self._host.abend_listeners):
            listener(self._region, dumps[-1])
        if kept is None:
            return
        try:
            kept.keep_last()
        except OSError as error:
            self._region.notices.say("dump_not_kept", reason=str(error))

    def seeded(self, queue: str, records: Sequence[bytes | str]) -> None:
        """Records were put on a queue outside any task."""
        self._flows.command("seed", "SEED", queue.rstrip(" "), "NORMAL", len(records))
        self._publish("seeded", queue=queue, records=len(records))
        self._changed(queue)

    def _changed(self, queue: str) -> None:
        name = queue.rstrip(" ")
        self._depths.changed(name)
        self._host.waits.queue_changed(self._region, name)

    def _publish(self, event: str, **facts: Any) -> None:
        engine = self._host.engine
        now = engine.dispatcher.clock.time_ns()
        if now >= self._activity.next_ns:
            self._activity.at(now)
        place = {"region": self._applid, "run": self._run, "position": self._position}
        published = {"event": event, **place, "time_ns": now, **facts}
        self._position += 1
        self._recent.append(published)
        engine.publish(published)


def _shown(value: object) -> str:
    """A value of an option as text; the name of a CVDA, and the beginning of a long value."""
    return str(getattr(value, "name", value))[:_SHOWN]


class Host:
    """The regions of one server.

    Args:
        frozen: whether the clock stands still from the start; then only an operator moves it.
        users: the users of the server; the regions of directories know their groups.
        accounts: the accounts for the host servers of the systems; None if there are none.
        out: the directory of data sets that no DD card names, with a folder for each region; None for ``tdq-out`` in
            the current directory of the process.
        network_handlers: whether definitions from clients may name handlers, which are Python code.

    Attributes:
        engine: the engine that owns the regions and systems.
        regions: the regions by APPLID.
        sysplex: links the regions by their CONNECTION definitions.
        systems: the IBM i systems by name.
        served: for each directory, in order, ``region`` or ``system`` and its name.
        units: the units of work that clients keep open.
        waits: the waits of clients for records or the end of tasks.
        flows: the counts of commands, by APPLID.
        activity: what the regions have done lately, by APPLID.
        units_ended: the number of units of work that ended, by (region, whether it was committed).
        commits: the times of durable commits, by region.
        faults: the active fault plans, by APPLID and a number for each plan; includes those of the console.
        recent: the last published events of each region, by APPLID.
        runs: for each region, by APPLID, eight hexadecimal digits that no other run of the server has; positions in the
            history of a region belong to one run.
        abend_listeners: called in the engine's thread with the region and the dump of each task that abends.
        watched_changes: what was done with the last changes of files, by APPLID, if its files are watched.
        watched_changes_of_systems: the same by the names of the systems.
        dumps: the files of the dumps of the regions with a store, by APPLID.
        refused: the refused commands of the regions, by APPLID.
        refused_jobs: those of the systems, by name.
        depths: the depths of queues over time, by APPLID.
        layouts: the layouts that ``region.yaml`` gives to queues, by APPLID and queue.
    """

    def __init__(
        self,
        *,
        frozen: bool = False,
        users: Users | None = None,
        accounts: Accounts | None = None,
        out: Path | None = None,
        network_handlers: bool = False,
    ) -> None:
        self.accounts = accounts
        self.network_handlers = network_handlers
        self._out = out
        self._groups = {} if users is None else users.groups
        self.engine = Engine(Clock(simulated=False))
        self.regions: dict[str, Region] = {}
        self.sysplex = Sysplex(dispatcher=self.engine.dispatcher)
        self.systems: dict[str, System] = {}
        self.served: list[tuple[str, str]] = []
        self.units = OpenUnits(self.engine)
        self.waits = ChangeWaits(self.engine)
        self.flows: dict[str, FlowCounts] = {}
        self.activity: dict[str, Activity] = {}
        self.units_ended: Counter[tuple[str, bool]] = Counter()
        self.commits: dict[str, Latency] = {}
        self.faults: dict[str, dict[str, ActivePlan]] = {}
        self.recent: dict[str, deque[dict[str, Any]]] = {}
        self.runs: dict[str, str] = {}
        self.abend_listeners: list[Callable[[Region, Dump], object]] = []
        self.watched_changes: dict[str, Sequence[WatchedChange]] = {}
        self.watched_changes_of_systems: dict[str, Sequence[WatchedChange]] = {}
        self.dumps: dict[str, KeptDumps] = {}
        self.refused: dict[str, Refusals] = {}
        self.refused_jobs: dict[str, Refusals] = {}
        self.depths: dict[str, DepthHistory] = {}
        self.layouts: dict[str, Mapping[str, Layout]] = {}
        self._starts: list[tuple[Region, str]] = []
        self._bridge: EngineBridge | None = None
        self._modules = ExitStack()
        if frozen:
            self.engine.outside(self.engine.dispatcher.clock.freeze).result()

    def add(self, factory: Callable[..., Region], *args: Any, **options: Any) -> Region:
        """Create a region and serve it; nothing is created if the ``applid`` is already served.

        It is linked to the regions that are served already, and to those that are added later, as their CONNECTION
        definitions say. A region that has the SYSID of another one is served, but not linked.

        Raises:
            TdqError: a region with that APPLID is already served, or an error of the factory.
        """
        self._check_free("region", options.get("applid", REGION_DEFAULTS["applid"]), self.regions)
        region = self.engine.make(factory, *args, **options)
        try:
            self._check_free("region", region.applid, self.regions)
        except TdqError:
            self.engine.outside(region.close).result()  # the factory has chosen another name
            raise
        self.regions[region.applid] = region
        self.faults[region.applid] = {}

        def watch() -> None:
            inside = RegionInternals(region)
            inside.recorder = _Recorder(self, region)
            inside.time_commits(self.commits.setdefault(region.applid, Latency()).add)
            try:
                self.sysplex.add(region)
            except UsageError as refused:
                region.notices.say("region_not_linked", reason=str(refused))

        self.engine.outside(watch).result()
        return region

    def add_system(self, factory: Callable[..., System], *args: Any, **options: Any) -> System:
        """Create an IBM i system and serve it.

        Raises:
            TdqError: a system of that name is already served, or an error of the factory.
        """
        system = self.engine.make(factory, *args, **options)
        try:
            self._check_free("system", system.name, self.systems)
        except TdqError:
            self.engine.outside(system.close).result()
            raise
        self.systems[system.name] = system
        refusals = self.refused_jobs[system.name] = Refusals(system.name)

        def watch() -> None:
            system.on_failure = refusals.message
            log_notices(system)

        self.engine.outside(watch).result()
        return system

    @staticmethod
    def _check_free(kind: str, name: str, existing: Container[str]) -> None:
        if name in existing:
            raise ServeError(f"a {kind} {name} is served already; give each a different name")

    def _passwords(self) -> Callable[[System], CommandPasswords] | None:
        """Makes what keeps the passwords of a system's commands: in the accounts, if there are any."""
        accounts = self.accounts
        return None if accounts is None else lambda system: CommandPasswords(system, accounts)

    def add_directory(self, path: Path, store: Path | None = None) -> Region | System:
        """Serve the region that ``region.yaml`` in a directory describes, or the system of its ``system.yaml``.

        The modules of ``handlers:`` are searched in the directory first. Each directory has its own modules, even if
        two directories have a module of the same name. The class of ``job:`` makes the data sets that no DD card names.
        The transactions of ``start_transactions:`` are started when everything is served (:meth:`start_transactions`).

        Raises:
            TdqError: the directory has neither file, or its region or system cannot be created, or the name is taken;
                nothing remains of it.
        """
        if (path / SYSTEM_FILE_NAME).is_file():
            self._check_free("system", load_system_file(path)[0].name, self.systems)
            system = self.add_system(partial(system_from_directory, path, store=store, passwords=self._passwords()))
            self.served.append(("system", system.name))
            if store is not None:
                self.refused_jobs[system.name].keep_in(store)
            return system
        if not (path / REGION_FILE_NAME).is_file():
            raise ServeError(
                f"{path}: is not a directory to serve; it has no {REGION_FILE_NAME} and no {SYSTEM_FILE_NAME}"
            )
        file = load_region_file(path)
        layouts = queue_layouts(file)
        overrides: dict[str, Any] = {"security": SecurityOptions(groups=self._groups)}
        if store is not None:
            overrides["store"] = store

        def factory(**options: Any) -> Region:
            region = Region.from_directory(path, **overrides, **options)
            region.statistics.keep_time()
            return region

        self._check_free("region", file.applid, self.regions)
        # The import path stays until the server ends, because handlers may import modules when they run.
        self._modules.enter_context(importable(path))
        if file.job:
            overrides["dd"] = self._prepared(path, file)
        region = self.add(factory, applid=file.applid)
        if store is not None:
            self._read_dumps(region, store)
            self.refused[region.applid].keep_in(store)
        self.layouts[region.applid] = layouts
        self._starts += [(region, transid) for transid in file.start_transactions]
        self.served.append(("region", region.applid))
        return region

    def _read_dumps(self, region: Region, store: Path) -> None:
        """Give a region the dumps that an earlier server has kept in its store, and keep those to come."""
        try:
            self.dumps[region.applid] = self.engine.outside(partial(KeptDumps, region, store)).result()
        except OSError as error:
            region.notices.say("dumps_not_read", reason=str(error))

    def _prepared(self, path: Path, file: RegionFile) -> dict[str, Path]:
        """The data sets that the class of ``job:`` makes or names, by DD name, except those of DD cards in the file.

        Raises:
            TdqError: the class cannot be imported, or a data set cannot be made.
        """
        name = path.resolve().name
        output = self._modules.enter_context(output_directory(self._out and self._out / name, name))
        cards = {name: Path(card.path) for name, card in file.dd.items() if card.path}
        job: JobClass = named_class(file.job)(JobRequest(path, output, cards, None, 0, lambda *_: None))
        return {name: made for name, made in job.prepare().items() if name not in cards}

    def start_transactions(self) -> None:
        """Start the transactions that the file of each region names, in order; a second call does nothing."""
        starts, self._starts = self._starts, []
        for region, transid in starts:
            self.engine.outside(partial(region.start, transid)).result()

    @property
    def counts(self) -> dict[tuple[str, str, str], int]:
        """The number of commands that ended, by (region, command, condition)."""
        return {
            (applid, *key): count for applid, flows in self.flows.items() for key, count in flows.by_condition().items()
        }

    def region(self, name: str) -> Region:
        """The region of this APPLID.

        Raises:
            UnknownRegion: there is none.
        """
        region = self.regions.get(name.upper())
        if region is None:
            raise UnknownRegion(f"no region {name} is served; there are {', '.join(self.regions) or 'none'}")
        return region

    def system(self, name: str) -> System:
        """The IBM i system of this name.

        Raises:
            UnknownRegion: there is none.
        """
        system = self.systems.get(name.upper())
        if system is None:
            raise UnknownRegion(f"no system {name} is served; there are {', '.join(self.systems) or 'none'}")
        return system

    def switch_on(self, region: Region, plan: FaultPlan) -> ActivePlan:
        """Activate a fault plan in addition to those that are active; call in the engine's thread.

        Raises:
            TdqError: the plan does not suit the region; none of it is active then.
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
        """Remove a fault plan, or all plans of a region; call in the engine's thread."""
        plans = self.faults[region.applid]
        behind = [each for each in plans if key is None or int(each) >= int(key)]
        for each in reversed(behind):  # the last first: each restores what it replaced
            plans[each].detach()
        for each in behind:
            if key in (None, each):
                del plans[each]
            else:
                plans[each].attach(region)

    def check_run(self, region: Region, run: str | None) -> None:
        """Refuse a position in the history of another run; with None, a client does not say to which it belongs.

        Raises:
            OtherRun: it is of another run.
        """
        present = self.runs[region.applid]
        if run not in (None, present):
            raise OtherRun(region, run, present)

    def wait_for_condition(
        self, region: Region, condition: str, seconds: float, position: int | None = None
    ) -> Future[bool]:
        """Wait until a command of a region ends with a condition.

        Args:
            region: the region.
            condition: the name of the condition.
            seconds: the time limit; at its end TimeoutError is raised in the future.
            position: the position in the region's history from which commands count; None for from now on.
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

    def submit(self, call: Callable[[], T], *, name: str = "a request") -> asyncio.Future[T]:
        """Run a call in the engine's thread; the call may wait like a task, until the future is cancelled.

        Raises:
            EngineStopped: the engine is stopping or has stopped.
        """
        return self._to_engine().submit(call, name)

    def _to_engine(self) -> EngineBridge:
        loop = asyncio.get_running_loop()
        if self._bridge is None or self._bridge.loop is not loop:
            self._bridge = EngineBridge(self.engine, loop)
        return self._bridge

    async def ask(self, call: Callable[[], T], *, name: str = "a request") -> T:
        """Run a call in the engine's thread; the call may wait like a task."""
        return await self.submit(call, name=name)

    async def look(self, call: Callable[[], T]) -> T:
        """Run a call in the engine's thread that only reads: no task is started for it, and it must not wait.

        Raises:
            EngineStopped: the engine is stopping or has stopped.
        """
        result: T = await self._to_engine().look(call)
        return result

    def stop(self, timeout: float = 10.0) -> Any:
        """Back out open units of work of clients, let tasks end, and close the regions."""
        self.units.end_all()
        try:
            return self.engine.stop(timeout)
        finally:
            for refusals in (*self.refused.values(), *self.refused_jobs.values()):
                refusals.close()
            self._modules.close()
