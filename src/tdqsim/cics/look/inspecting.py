"""What a tester asks of a region beside commands: peek, seed, snapshot; and checks of what a region is made of."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from tdqsim import definitions as defs
from tdqsim.cics.kernel.conditions import Condition
from tdqsim.cics.kernel.handlers import Handler, TransactionEntry, undefined
from tdqsim.cics.queues.checks import final_target
from tdqsim.cics.queues.kinds import ExtraQueue, IntraQueue, TdQueue
from tdqsim.core.codepage import CodePage
from tdqsim.datasets import DataSetDirectory
from tdqsim.errors import ConversionError, StoreFull, TdqError
from tdqsim.facts import LIMITS, REGION_DEFAULTS, Cvda, Resp

if TYPE_CHECKING:
    from tdqsim.cics.region import Region
    from tdqsim.core.store import Store
    from tdqsim.definitions.regionfile import RegionFile

__all__ = ["QueueSnapshot", "RegionLog", "as_definitions", "peek", "seed", "snapshot", "supplied"]

_STARTS: Final = ("AUTO", "COLD", "INITIAL")
_TDINTRA: Final = ("NOEMPTY", "EMPTY")
_FEWEST: Final = 2
_LONGEST_TRANSID: Final = 4


@dataclass(frozen=True, slots=True)
class QueueSnapshot:
    """One queue at one moment.

    Attributes:
        name: the queue.
        type: INTRA, EXTRA, INDIRECT or REMOTE.
        enablestatus: as INQUIRE shows it; an alias is ENABLED.
        numitems: records of an intrapartition queue, the committed ones; else 0.
        target: INDIRECTNAME, or REMOTENAME; empty for others.
        records: the records in order; empty when not asked for, and for aliases and remote queues.
    """

    name: str
    type: str
    enablestatus: Cvda
    numitems: int
    target: str
    records: tuple[bytes, ...]


class RegionLog:
    """The region's logger: structlog's events through the standard library, and so silent until that is configured.

    structlog is imported with the first event that anybody listens for: it costs more than the rest of a small command.
    """

    __slots__ = ("_applid", "_log", "_structured")

    def __init__(self, applid: str) -> None:
        self._applid = applid
        self._structured: Any = None
        self._log = logging.getLogger("tdqsim.cics")
        if not self._log.handlers:
            self._log.addHandler(logging.NullHandler())

    def info(self, event: str, **values: Any) -> None:
        """Something that happened as it should."""
        if self._log.isEnabledFor(logging.INFO):
            self._bound().info(event, **values)

    def warning(self, event: str, **values: Any) -> None:
        """Something that a test may want to know of."""
        if self._log.isEnabledFor(logging.WARNING):
            self._bound().warning(event, **values)

    def error(self, event: str, **values: Any) -> None:
        """Something that went wrong in the region itself."""
        if self._log.isEnabledFor(logging.ERROR):
            self._bound().error(event, **values)

    def _bound(self) -> Any:
        if self._structured is None:
            import structlog  # noqa: PLC0415  (see the class)

            renderer = structlog.processors.KeyValueRenderer(key_order=["event"])
            processors: list[Any] = [structlog.stdlib.filter_by_level, renderer]
            self._structured = structlog.wrap_logger(
                self._log,
                processors=processors,
                wrapper_class=structlog.stdlib.BoundLogger,
                cache_logger_on_first_use=True,
            ).bind(applid=self._applid)
        return self._structured


@cache
def supplied() -> defs.Definitions:
    """The supplied queues, made once."""
    return defs.supplied_definitions()


def as_definitions(given: defs.Definitions | Iterable[defs.Resource]) -> defs.Definitions:
    """Definitions, or single resources put together."""
    return given if isinstance(given, defs.Definitions) else defs.Definitions.of(given)


def check_arguments(*, start: str, tdintra: str) -> None:
    """What a region cannot be started with.

    Raises:
        TdqError: the argument, its value and what is allowed.
    """
    if start not in _STARTS:
        raise TdqError(f"start {start!r}: allowed are {', '.join(_STARTS)}")
    if tdintra not in _TDINTRA:
        raise TdqError(f"tdintra {tdintra!r}: allowed are {', '.join(_TDINTRA)}")


def dfhintra(given: Mapping[str, int]) -> tuple[int, int]:
    """The size of a control interval and how many there are, from what was given and the defaults.

    Raises:
        TdqError: the argument, its value and what is allowed.
    """
    names = ("ci_size", "control_intervals")
    for name in given:
        if name not in names:
            raise TdqError(f"dfhintra {name!r}: allowed are {' and '.join(names)}")
    ci_size, control_intervals = (given.get(name, int(REGION_DEFAULTS[name])) for name in names)
    low, high = LIMITS["ci_size_minimum"], LIMITS["ci_size_maximum"]
    if not low <= ci_size <= high:
        raise TdqError(f"dfhintra ci_size {ci_size}: allowed are {low} to {high} bytes")
    if control_intervals < _FEWEST:
        raise TdqError(f"dfhintra control_intervals {control_intervals}: at least {_FEWEST}; the first is CICS's own")
    return ci_size, control_intervals


def from_region_file(cls: type[Region], file: RegionFile, overrides: dict[str, Any]) -> Region:
    """A region as region.yaml describes it; overrides win, DD cards are added."""
    arguments: dict[str, Any] = {
        "applid": file.applid,
        "sysid": file.sysid,
        "timezone": file.time_zone,
        "default_user": file.default_user,
        "codepage": file.code_page,
        "release": file.release,
        "seed": file.seed,
        "supplied_queues": file.supplied == "YES",
        "start": file.start_type,
        "tdintra": file.tdintra,
        "dfhintra": file.dfhintra.model_dump(),
        "datasets": DataSetDirectory(file.datasets, file.gdg) if file.gdg else file.datasets or None,
        "handlers": file.handlers,
    }
    cards = {**file.dd, **overrides.pop("dd", {})}
    if "definitions" not in overrides:
        overrides["definitions"] = file.load_definitions()
    return cls(**{**arguments, **overrides, "dd": cards})


def startable(region: Region, program: str | Handler) -> TransactionEntry:
    """The transaction that ``region.start`` is to start.

    Raises:
        TdqError: there is none of that name, or it cannot be attached.
    """
    if not isinstance(program, str):
        name = getattr(program, "__name__", "").upper()[:_LONGEST_TRANSID]
        if not name.isalnum():
            name = "PROG"
        return TransactionEntry(undefined(name), program, defined=False)
    entry = region.transactions.get(program)
    if entry is None:
        known = ", ".join(region.transactions) or "none"
        raise TdqError(f"transaction {program} is not defined; defined are {known}")
    if entry.definition.status != "ENABLED":
        raise TdqError(f"transaction {program} is disabled")
    if entry.program is None:
        raise TdqError(f"transaction {program} has no program: register a handler for it")
    return entry


def empty_intrapartition(store: Store) -> None:
    """TDINTRA=EMPTY: no records, no cycles, nothing indoubt."""
    for half in (store.durable, store.volatile):
        for queue in half.queues():
            queue.clear()
    for prefix in (b"ati/", b"read/", b"uow/"):
        for key, _ in list(store.durable.meta_items(prefix)):
            store.durable.delete_meta(key)


def encode(page: CodePage, text: str) -> bytes:
    """Text in a code page; what it cannot express becomes a question mark."""
    try:
        return page.encode(text)
    except ConversionError:
        return b"".join(_encode_one(page, character) for character in text)


def _encode_one(page: CodePage, character: str) -> bytes:
    try:
        return page.encode(character)
    except ConversionError:
        return page.encode("?")


def peek(region: Region, name: str, limit: int | None, *, uncommitted: bool) -> list[bytes]:
    """See :meth:`tdqsim.cics.region.Region.peek`."""
    return list(islice(_records(final_target(region, name.rstrip(" ")), uncommitted=uncommitted), limit))


def _records(queue: TdQueue, *, uncommitted: bool = False) -> Iterable[bytes]:
    if isinstance(queue, ExtraQueue):
        return queue.file.peek() if queue.file is not None else []
    if not isinstance(queue, IntraQueue):
        raise TdqError(f"queue {queue.name} is in region {queue.definition.remotesystem}; look at it there")
    if uncommitted:
        return _uncommitted(queue)
    return (entry.data for entry in queue.stored.entries())


def _uncommitted(queue: IntraQueue) -> Iterable[bytes]:
    reads, deleted = 0, False
    written: list[bytes] = []
    for lock in queue.locks:
        work = lock.owner.work.get(queue) if lock.owner is not None else None
        if work is not None:
            reads, deleted = max(reads, work.reads), deleted or work.deleted
            written = [data for _, data in work.written] or written
    if not deleted:
        yield from (entry.data for entry in islice(queue.stored.entries(), reads, None))
    yield from written


def seed(region: Region, name: str, records: Iterable[bytes | str]) -> int:
    """See :meth:`tdqsim.cics.region.Region.seed`."""
    queue = final_target(region, name.rstrip(" "))
    data = [region.encode(record) if isinstance(record, str) else bytes(record) for record in records]
    if isinstance(queue, ExtraQueue):
        assert queue.file is not None, queue
        queue.file.seed(data)
        return len(data)
    if not isinstance(queue, IntraQueue):
        raise TdqError(f"queue {queue.name} is in region {queue.definition.remotesystem}; seed it there")
    longest = region.intra.longest
    for number, record in enumerate(data, 1):
        if not 0 < len(record) <= longest:
            raise Condition(Resp.LENGERR, detail=f"record {number} has {len(record)} bytes; allowed are 1 to {longest}")
    _seed_intra(region, queue, data)
    return len(data)


def _seed_intra(region: Region, queue: IntraQueue, data: list[bytes]) -> None:
    if queue.uncommitted:
        raise TdqError(f"queue {queue.name} is being written: {queue.write_end}")
    space, stored = region.intra, queue.stored
    before, count = space.mark(queue), stored.count
    try:
        for record in data:
            seq = space.place(queue, len(record), stored.last_seq, empty=not stored.count)
            stored.put(record, seq=seq)
    except (Condition, StoreFull) as error:
        for entry in list(stored.entries(reverse=True, limit=stored.count - count)):
            stored.remove(entry.seq)
        space.restore(queue, before)
        if isinstance(error, StoreFull):
            raise Condition(Resp.NOSPACE, detail=str(error)) from error
        raise
    region.force()


def snapshot(queue: TdQueue, *, records: bool) -> QueueSnapshot:
    """One queue as it is now."""
    intra = isinstance(queue, IntraQueue)
    target = getattr(queue, "indirectname", "") or getattr(queue, "remotename", "")
    found = tuple(_records(queue)) if records and queue.type in ("INTRA", "EXTRA") else ()
    return QueueSnapshot(queue.name, queue.type, queue.enablestatus, queue.numitems if intra else 0, target, found)  # type: ignore[attr-defined]
