"""What one test has of the kit: its regions and systems, and what to show of them when it fails."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tdqsim.cics import Region
from tdqsim.cics.queues import IntraQueue
from tdqsim.cics.sysplex import Sysplex
from tdqsim.core.clock import Clock
from tdqsim.core.dispatch import Dispatcher, Strand
from tdqsim.definitions import Definitions, Resource, load_definitions
from tdqsim.ibmi import Job, System
from tdqsim.testing.clock import waiting
from tdqsim.testing.history import History
from tdqsim.testing.text import show_record

if TYPE_CHECKING:
    from tdqsim.testing.stores import RecycledStores

__all__ = ["Kit", "definitions_of"]

_EVENTS_KEPT: Final = 5_000
_DISPATCHES_KEPT: Final = 200
_SHOWN_DISPATCHES: Final = 20
_SHOWN_EVENTS: Final = 8
_SHOWN_RECORDS: Final = 3

Given = Definitions | Resource | Path | str

_loaded: dict[tuple[Path, int, int], Definitions] = {}


def definitions_of(given: Iterable[Given | Iterable[Resource]], base: Path) -> Definitions:
    """Definitions put together from files, resources and definitions; relative paths start at ``base``.

    Raises:
        DefinitionError: a file is wrong, or two things do not go together.
    """
    found = Definitions.of(())
    for each in given:
        if isinstance(each, Path | str):
            found = found + _load(base / each)
        elif isinstance(each, Definitions):
            found = found + each
        elif isinstance(each, Resource):
            found = found + Definitions.of((each,))
        else:
            found = found + Definitions.of(each)
    return found


def _load(path: Path) -> Definitions:
    """A file's definitions, loaded once as long as it does not change: they are values, and may be installed often."""
    if not path.is_file():
        return load_definitions(path)
    stat = path.stat()
    key = (path.resolve(), stat.st_mtime_ns, stat.st_size)
    known = _loaded.get(key)
    if known is None:
        known = _loaded[key] = load_definitions(path)
    return known


class Kit:
    """The regions and systems of one test, on one dispatcher.

    Args:
        seed: of the dispatcher.
        definitions: what ``region()`` installs when it is given nothing.
        start: start type of regions that are given a store.
        stores: where temporary stores come from.
        directory: a region directory that ``region()`` makes its region of, instead of definitions.

    Attributes:
        dispatcher: what everything of the test runs on.
        regions, systems: what was made, in order.
    """

    def __init__(
        self,
        *,
        seed: int,
        definitions: Definitions,
        start: str,
        stores: RecycledStores,
        directory: Path | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.seed = seed
        self.dispatcher = Dispatcher(clock, seed)
        self.dispatcher.on_dispatch = self._dispatched
        self.regions: list[Region] = []
        self.systems: list[System] = []
        self.histories: dict[Region, History] = {}
        self._definitions, self._start, self._stores, self._directory = definitions, start, stores, directory
        self._dispatches: deque[str] = deque(maxlen=_DISPATCHES_KEPT)
        self._count = 0

    def _dispatched(self, strand: Strand) -> None:
        self._count += 1
        self._dispatches.append(strand.name)

    # -- making ---------------------------------------------------------------------------------------------------

    def region(self, *definitions: Any, **options: Any) -> Region:
        """A region with the definitions of the test's marker, or those given; arguments as ``Region``'s.

        Supplied queues are installed only when asked for, and a history is attached.
        """
        options.setdefault("dispatcher", self.dispatcher)
        if "store" in options:
            options.setdefault("start", self._start)
        elif options.get("durability", "process") == "process" and "limit_bytes" not in options:
            options["store"] = self._stores.take()
        if self._directory is not None and not definitions:
            region = Region.from_directory(self._directory, **options)
        else:
            options.setdefault("supplied_queues", False)
            region = Region(definitions_of(definitions, Path()) if definitions else self._definitions, **options)
        self.regions.append(region)
        self.histories[region] = History(_EVENTS_KEPT).attach(region)
        return region

    def sysplex(self) -> Sysplex:
        """A sysplex on the test's dispatcher; regions are put into it with ``add``."""
        return Sysplex(dispatcher=self.dispatcher)

    def system(self, **options: Any) -> System:
        """An IBM i system with the data queues of the test's definitions; arguments as ``System``'s."""
        options.setdefault("dispatcher", self.dispatcher)
        if "path" not in options and not options.keys() & {"durability", "limit_bytes"}:
            options["path"] = self._stores.take()
        system = System(**options)
        self.systems.append(system)
        if self._definitions.dtaqs:
            system.install(self._definitions, create_libraries=True)
        return system

    def job(self, **options: Any) -> Job:
        """A job on the test's first system, which is made when there is none."""
        system = self.systems[0] if self.systems else self.system()
        return system.job(**options)

    def close(self) -> None:
        """End everything, the newest first."""
        for system in reversed(self.systems):
            system.close()
        for region in reversed(self.regions):
            region.close()
        self.dispatcher.release_workers()

    # -- showing --------------------------------------------------------------------------------------------------

    @property
    def used(self) -> bool:
        """Whether there is anything to show."""
        return bool(self.regions or self.systems)

    def report(self) -> str:
        """The seed, the schedule so far, who waits, and what happened last on each queue."""
        lines = [f"seed {self.seed} (--tdq-seed {self.seed})"]
        if self._dispatches:
            last = list(self._dispatches)[-_SHOWN_DISPATCHES:]
            lines.append(f"schedule, the last {len(last)} of {self._count} dispatches: {' > '.join(last)}")
        lines += [f"waiting: {each}" for each in waiting(self.dispatcher)]
        for region in self.regions:
            lines += self._of_region(region)
        for system in self.systems:
            lines += [] if system.closed else _of_system(system)
        return "\n".join(lines)

    def _of_region(self, region: Region) -> list[str]:
        lines = [f"region {region.applid} ({region.start_type}{', closed' if region.closed else ''})"]
        history = self.histories[region]
        for queue in region.tdqueues.values():
            events = history.of(queue.name, _SHOWN_EVENTS)
            count = queue.stored.count if isinstance(queue, IntraQueue) and not region.closed else 0
            if not events and not count:
                continue
            state = f"{queue.type} {queue.enablestatus.name}"
            if isinstance(queue, IntraQueue) and not region.closed:
                state += f", {count} records, RECOVSTATUS {queue.recovstatus}{', cycle on' if queue.latch else ''}"
                first = [
                    show_record(record, region.codepage) for record in region.peek(queue.name, limit=_SHOWN_RECORDS)
                ]
                state += f": {', '.join(first)}{' ...' if count > len(first) else ''}" if first else ""
            lines.append(f"  {queue.name}: {state}")
            lines += [f"    {event.line(lambda data: show_record(data, region.codepage))}" for event in events]
        return lines


def _of_system(system: System) -> list[str]:
    lines = [f"system {system.name}"]
    for queue in system.queues():
        if not queue.ddm:
            first = [
                show_record(entry.data, queue_page(system)) for entry in queue.stored.entries(limit=_SHOWN_RECORDS)
            ]
            lines.append(f"  {queue.library}/{queue.name}: {queue.stored.count} entries: {', '.join(first) or 'none'}")
    return lines


def queue_page(system: System) -> Any:
    """The code page in which entries are shown."""
    from tdqsim.core.codepage import codepage  # noqa: PLC0415  (only for showing)

    return codepage(system.ccsid)
