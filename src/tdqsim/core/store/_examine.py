"""Check and salvage: read every page and record of a store, without LMDB."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from heapq import merge
from pathlib import Path
from typing import Any, Final, NamedTuple

from tdqsim.core.store import Entry, Order, Store
from tdqsim.core.store import _layout as layout
from tdqsim.core.store._layout import FORMAT, Head, Item, Long, Standing
from tdqsim.core.store._lockfile import LockFile
from tdqsim.core.store._opening import KINDS, UNFINISHED, last_commit
from tdqsim.core.store._pages import PageFile
from tdqsim.errors import StoreDamaged, StoreError, StoreVersionError

_AT_ONCE: Final = 1000


class QueueFindings:
    """The findings about one queue."""

    __slots__ = ("damaged", "key_length", "lost", "name", "now", "order", "saved", "whole")

    def __init__(self, name: bytes, order: Order, key_length: int, now: Standing, *, lost: bool = False) -> None:
        self.name, self.order, self.key_length, self.now, self.lost = name, order, key_length, now, lost
        self.whole = self.saved = 0
        self.damaged: list[int] = []


class Half:
    """The findings about one file.

    Attributes:
        name: ``volatile`` or ``durable``.
        queues: the findings about each queue, by internal number.
        meta: the meta data that is whole.
        problems: problems other than damaged entries.
        notes: problems with a meta page that the other one replaces.
        head: the head record; None when it is damaged.
        commit: the number of the last commit; 0 when it is not known.
    """

    def __init__(self, path: Path) -> None:
        self.name = path.name
        self.head: Head | None = None
        self._orphans: list[tuple[bytes, bytes]] = []
        self._file: PageFile | None = None
        self.notes: list[str] = []
        self.commit = 0
        self._forget()
        try:
            last = last_commit(path)
        except StoreError as error:
            self._unusable = [str(error)]
        else:
            self._unusable = []
            self.notes = [last.note] if last.note else []
            self.commit = last.meta.txnid
            self._file = PageFile(path, last.meta)

    def _forget(self) -> None:
        self.queues: dict[int, QueueFindings] = {}
        self.meta: dict[bytes, bytes] = {}
        self.problems: list[str] = []
        self._gone: set[int] = set()

    def check(self) -> None:
        """Read everything."""
        file = self._file
        if file is None:
            self.problems = self._unusable
            return
        for _ in self.entries():
            continue
        free = file.free()
        if file.problems and free is not None:
            self._orphans = file.orphans(free)
            if self._orphans:
                for _ in self.entries():
                    continue
        if self.head is None:
            self.problems.append("the head record is missing or damaged")
        for queue in self.queues.values():
            there = queue.whole + len(queue.damaged)
            if not queue.lost and there != queue.now.count:
                self.problems.append(f"queue {queue.name!r}: {there} records are there, {queue.now.count} should be")
        self.problems += dict.fromkeys(file.problems)

    def entries(self) -> Iterator[tuple[QueueFindings, Item]]:
        """Every undamaged record with its queue, in key order."""
        self._forget()
        last = b""
        for key, value in merge(self._file.records(), self._orphans) if self._file is not None else ():
            if key != last:  # damage may leave two copies of a page, and so of a key
                yield from self._record(key, value)
            last = key

    def _record(self, key: bytes, value: bytes) -> Iterator[tuple[QueueFindings, Item]]:
        try:
            if key[0] >= layout.PIECES >> 56:
                return
            if key[0] >= layout.ENTRIES >> 56:
                yield from self._entry(key, value)
            elif key == layout.HEAD_KEY:
                self.head = layout.read_head(value)
            elif key.startswith(layout.META):
                what = f"the meta data {key[1:]!r}"
                self.meta[key[1:]] = self._whole(layout.decode(key, value, what), what)
            elif key.startswith(layout.QUEUE):
                order, key_length, now = layout.read_queue_record(key[1:], value)
                self.queues[now.number] = QueueFindings(key[1:], order, key_length, now)
            elif key.startswith(layout.RECLAIM):
                self._gone.add(int.from_bytes(key[1:], "big"))
        except StoreDamaged as error:
            self.problems.append(str(error))

    def _whole(self, decoded: list[Item] | Long, what: str) -> bytes:
        assert self._file is not None
        return decoded.data(self._file.get, what) if isinstance(decoded, Long) else decoded[0]  # type: ignore[return-value]

    def _entry(self, key: bytes, value: bytes) -> Iterator[tuple[QueueFindings, Item]]:
        number = int.from_bytes(key[:8], "big") ^ layout.ENTRIES
        if number in self._gone or len(key) < 16:
            return
        queue = self.queues.get(number)
        if queue is None:
            queue = self.queues[number] = self._lost(number, len(key) - 16)
        seq = layout.entry_number(key)
        try:
            items = layout.decode(key, value, "a record")
            if isinstance(items, Long):
                items = [items.item(key, self._whole(items, "a record"))]
        except StoreDamaged:
            queue.damaged.append(seq)
            return
        for at, item in enumerate(items, seq - len(items) + 1):
            if queue.order is Order.KEYED or queue.lost or queue.now.first <= at <= queue.now.last:
                queue.whole += 1
                yield queue, item
            elif at > queue.now.last or seq < queue.now.first:
                self.problems.append(f"queue {queue.name!r}: record {at} was taken long ago, but is still there")

    def _lost(self, number: int, key_length: int) -> QueueFindings:
        """Make findings for a queue whose record is lost."""
        name = b"LOST-%d" % number
        self.problems.append(f"there are records of a queue whose own record is lost; it is called {name!r} here")
        return QueueFindings(name, Order.KEYED if key_length else Order.FIFO, key_length, Standing(), lost=True)


# -- the store --------------------------------------------------------------------------------------------------------


class StoreFindings(NamedTuple):
    """The findings about a store.

    Attributes:
        halves: its files.
        problems: problems that concern both files, or files beside them.
        notes: problems with a meta page that the other one replaces.
        format: its format; 0 when no head record is whole.
        clean: whether it is certain that it was closed cleanly.
        salvaged: whether it was made by salvage and has not been closed cleanly since.
    """

    halves: list[Half]
    problems: list[str]
    notes: list[str]
    format: int
    clean: bool
    salvaged: bool

    def wrong(self) -> list[str]:
        """Everything that is wrong, as lines of text."""
        damaged = [
            f"{half.name}: queue {queue.name!r}: record {seq} is damaged"
            for half in self.halves
            for queue in half.queues.values()
            for seq in queue.damaged
        ]
        of_files = [f"{half.name}: {problem}" for half in self.halves for problem in half.problems]
        return [*self.problems, *self.notes, *of_files, *damaged]


def examine(path: Path) -> StoreFindings:
    """Read all of a store.

    Raises:
        StoreVersionError: it has a format that this version cannot read.
    """
    problems: list[str] = []
    halves = [Half(path / kind) for kind in KINDS if kind == "durable" or (path / kind / "made").exists()]
    for half in halves:
        half.check()
    durable, volatile = halves[-1], halves[0] if len(halves) > 1 else None
    heads = [half.head for half in halves if half.head is not None]
    formats = {head.format for head in heads}
    if formats - {FORMAT}:
        raise StoreVersionError(
            f"{path}: the store has format {max(formats - {FORMAT})}; this tdqsim reads format {FORMAT}"
        )
    if len({head.store_id for head in heads}) > 1:
        problems.append("the files belong to different stores")
    problems += [
        f"{half.name}: it holds the other kind of data: files were swapped"
        for half in halves
        if half.head is not None and half.head.kind != KINDS.index(half.name)
    ]
    left = durable.head or Head(0, 0, b"", 0)
    notes = [f"{half.name}: {note}" for half in halves for note in half.notes]
    clean = left.clean and not notes
    if clean and left.volatile and (volatile is None or volatile.commit != left.volatile):
        what = "is not the one that the store was closed with" if volatile else "is left out: volatile/made is missing"
        problems.append(f"the volatile file {what}")
        clean = False
    return StoreFindings(halves, problems, notes, max(formats, default=0), clean, left.salvaged)


def report(halves: list[Half], problems: list[str]) -> dict[str, Any]:
    """The findings as the JSON object that :mod:`tdqsim.core.store.check` reads."""
    return {
        "problems": problems + [f"{half.name}: {problem}" for half in halves for problem in half.problems],
        "queues": [
            [half.name, queue.name.hex(), queue.order.name, -1 if queue.lost else queue.now.count, queue.whole,
             queue.damaged, queue.saved]
            for half in halves
            for queue in half.queues.values()
        ],
    }  # fmt: skip


def rescue(path: Path, target: Path) -> dict[str, Any]:
    """Copy all undamaged data to a new store; it is made in a subdirectory and moved into place when complete."""
    if any((target / name).exists() for name in KINDS):
        raise StoreError(f"{target}: there is a store already; salvage writes to a new one")
    there = target.exists()
    try:
        target.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = LockFile(target / "lock")
        try:
            return _fill(path, target)
        finally:
            shutil.rmtree(target / UNFINISHED, ignore_errors=True)
            lock.release()
    except BaseException as error:
        if not there:
            shutil.rmtree(target, ignore_errors=True)
        if isinstance(error, OSError) and error.filename is None:
            raise StoreError(f"{target}: the new store cannot be written: {error.strerror}") from error
        raise


def _fill(path: Path, target: Path) -> dict[str, Any]:
    findings = examine(path)
    before = (
        findings.problems
        + findings.notes
        + [f"{half.name}: {each}" for half in findings.halves for each in half.problems]
    )
    place = target / UNFINISHED
    shutil.rmtree(place, ignore_errors=True)
    store = Store(place)
    try:
        for half in findings.halves:
            kind = half.head.kind if half.head is not None else KINDS.index(half.name)
            _save(half, store, durable=kind == 1)
        store.close_as(clean=findings.clean, salvaged=True)
    finally:
        store.close(clean=False)
    for name in KINDS:
        if (place / name).exists():
            (place / name).replace(target / name)
    return {**report(findings.halves, []), "problems": before, "format": findings.format}


def _save(half: Half, store: Store, *, durable: bool) -> None:
    """Copy the undamaged records of a half into the new store.

    The numbers of a FIFO queue continue after the number of its last record, even when all records are lost. So when a
    unit of work had read the records up to a number and is completed after the salvage, it removes no record behind
    that number, whichever records are lost; some of those that it had read may remain.
    """
    before = {queue.name: queue.now.last - queue.whole for queue in half.queues.values() if not queue.lost}
    if durable:
        items = iter(half.meta.items())
        while batch := dict(item for item, _ in zip(items, range(_AT_ONCE), strict=False)):
            store.durable.commit(meta=batch)
    owner: Any = store.durable if durable else store.volatile
    queue: Any = None
    work: Any = None
    for findings, item in half.entries():
        if queue is None or queue.name != findings.name or (durable and len(work.items) >= _AT_ONCE):
            if durable and work is not None:
                store.durable.commit((work,))
            queue = owner.queue(findings.name)
            if queue is None:
                queue = owner.create_queue(findings.name, findings.order, findings.key_length)
                if durable and findings.order is Order.FIFO and findings.name in before:
                    queue.stand(Standing(before[findings.name] + 1, before[findings.name]))
            work = queue.work() if durable else queue
        if isinstance(item, Entry):
            work.put_entry(item)
        else:
            work.put(item)
        findings.saved += 1
    if durable and work is not None:
        store.durable.commit((work,))
    for findings in half.queues.values():
        if (
            durable
            and findings.order is Order.FIFO
            and findings.now.count > 0
            and not findings.lost
            and not findings.whole
        ):
            empty = store.durable.create_queue(findings.name)
            empty.stand(Standing(findings.now.last + 1, findings.now.last))
            work = empty.work()
            work.clear()
            store.durable.commit((work,))
