"""Read the queues of a store, without the region or system that owns it, and without changing it.

Each read opens the store read-only and sees the last commit, even while another process writes. Reading consumes
nothing; :func:`trim` takes records off and needs the store for itself.

An offset of a stream contains, for each queue, the sequence number of the last record of a batch, how many records of
the queue the stream has read so far, the incarnation of the queue, and the version of this format. A number belongs to
one record for ever: the store keeps it with the record and gives it to no other, whatever reads take off the queue. It
says where to continue. The number of records and the incarnation detect, also after a restart, when that would be
wrong: records of the range are gone, or the queue was deleted or created again since.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa

from tdqsim.errors import DatasetError
from tdqsim.facts import FORMATS
from tdqsim.hosting import Entry, codepage
from tdqsim.ibmi import SenderId, sender_of
from tdqsim.pipeline.limits import BOUNDS
from tdqsim.pipeline.parquet import schema
from tdqsim.pipeline.queue_options import QueueOptions
from tdqsim.pipeline.queue_traces import HISTORY, JOURNAL, Piece, history_pieces, journals, read_history, read_journal
from tdqsim.pipeline.stored import Kind, Queue, opened, wanted

SCHEMAS: Final[Mapping[str, pa.Schema]] = {
    "tdqueue": schema("queue string, seq int64, data binary"),
    "dtaq": schema(
        "queue string, seq int64, time_us int64, key binary, sender string, sender_user string, data binary"
    ),
}
"""A record of a queue; its sequence number is never given to another record while the queue exists."""

QUEUES: Final = schema(
    "queue string, order string, key_length int32, recoverable bool, records int64, bytes int64, first_seq int64, "
    "last_seq int64"
)
"""A queue: its contents in figures; its first number, null when it is empty, and the last number given."""

_FORMAT: Final = FORMATS["stream of queues"]
_PAGE: Final = codepage(37)
_BATCH: Final = 8192
_BATCH_BYTES: Final = 16 * 2**20
_Numbered = tuple[int, Entry]


class QueueHoles(DatasetError):
    """Records of a range are missing: another program has read them, or the queue was deleted."""


def heads(path: Path, kind: Kind, names: Sequence[str] = ()) -> dict[str, Queue]:
    """The current position of each queue.

    Raises:
        DatasetError: there is no store, or no such queue.
    """
    with opened(path, kind) as stored:
        return {queue.name: queue for queue in wanted(stored, names, path)}


def queue_rows(path: Path, kind: Kind, names: Sequence[str] = ()) -> pa.Table:
    """A row for each queue; see :data:`QUEUES`."""
    rows = [
        {
            **queue._asdict(),
            "queue": queue.name,
            "bytes": queue.size,
            "first_seq": queue.first if queue.records else None,
            "last_seq": queue.last,
        }
        for queue in heads(path, kind, names).values()
    ]
    return pa.Table.from_pylist(rows, schema=QUEUES)


# reading -------------------------------------------------------------------------------------------------------------


def read_range(
    path: Path, kind: Kind, name: str, after: int, upto: int | None = None, columns: Sequence[str] | None = None
) -> Iterator[pa.RecordBatch]:
    """The records of a queue with sequence numbers above ``after`` and up to ``upto``; none is removed."""
    whole = SCHEMAS[kind]
    fields = pa.schema([whole.field(each) for each in (columns if columns is not None else whole.names)])
    with opened(path, kind) as stored:
        actual = wanted(stored, (name,), path)[0].name
        for batch in _batches(stored.entries(actual, after, upto)):
            arrays = [pa.array(_COLUMNS[each.name](name, batch), each.type) for each in fields]
            yield pa.RecordBatch.from_arrays(arrays, schema=fields)


def _batches(entries: Iterator[_Numbered]) -> Iterator[list[_Numbered]]:
    """Entries in batches of some thousands, fewer when they are large."""
    batch: list[_Numbered] = []
    size = 0
    for entry in entries:
        batch.append(entry)
        size += len(entry[1].data)
        if len(batch) >= _BATCH or size >= _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _senders(batch: list[_Numbered]) -> list[SenderId | None]:
    return [sender_of(entry.sender, _PAGE) for _, entry in batch]


_COLUMNS: Final[Mapping[str, Any]] = {
    "queue": lambda name, batch: [name] * len(batch),
    "seq": lambda _, batch: [seq for seq, _ in batch],
    "time_us": lambda _, batch: [entry.time_ns // 1000 for _, entry in batch],
    "key": lambda _, batch: [entry.key for _, entry in batch],
    "sender": lambda _, batch: [None if each is None else str(each) for each in _senders(batch)],
    "sender_user": lambda _, batch: [None if each is None else each.current_user for each in _senders(batch)],
    "data": lambda _, batch: [entry.data for _, entry in batch],
}


# the end of a stream -------------------------------------------------------------------------------------------------


def trim(path: Path, kind: Kind, upto: Mapping[str, int], *, wait: float = 0) -> dict[str, int]:
    """Take off records that have been processed: those with sequence numbers up to the given ones.

    Calling it again changes nothing. The numbers are not used again.

    Returns:
        How many records were taken off, by queue.

    Raises:
        StoreInUse: a process has the store; the message names it.
        DatasetError: there is no such queue, or a unit of work in doubt has it.
    """
    with opened(path, kind, readonly=False, wait=wait) as stored:
        wanted(stored, upto, path)
        gone = {name: stored.take_through(name, last) for name, last in upto.items()}
        stored.commit()
        return gone


def finished_offsets(checkpoint: Path, source: int | None = None) -> dict[str, int]:
    """The offsets of a stream's last finished batch, from its checkpoint, by queue.

    Raises:
        DatasetError: no batch was finished, or it is not the checkpoint of a stream of queues.
    """
    done = sorted(int(path.name) for path in (checkpoint / "commits").glob("[0-9]*") if path.name.isdecimal())
    if not done:
        raise DatasetError(f"{checkpoint}: no batch was finished there; there is nothing to trim")
    lines = (checkpoint / "offsets" / str(done[-1])).read_text("utf-8").splitlines()[2:]
    of_sources = [offsets for line in lines if (offsets := _offsets(line, checkpoint)) is not None]
    if len(of_sources) > 1 and source is None:
        raise DatasetError(f"{checkpoint}: the query has {len(of_sources)} sources; say which one, from 0")
    if not of_sources or not 0 <= (source or 0) < len(of_sources):
        raise DatasetError(f"{checkpoint}: this is not the checkpoint of a stream of queues")
    return of_sources[source or 0]


def _offsets(line: str, checkpoint: Path) -> dict[str, int] | None:
    try:
        places = json.loads(line)
        found = {str(name): int(place["seq"]) for name, place in places.items()}
    except (ValueError, TypeError, KeyError, AttributeError):
        return None  # the source is of another kind, or there is none
    _check_format(places, checkpoint)
    return found


def trim_finished(path: Path, kind: Kind, checkpoint: Path, source: int | None = None) -> dict[str, int]:
    """Take off the records of a stream that has ended: Spark leaves its last batch uncommitted at the source.

    Returns:
        How many records were taken off, by queue.
    """
    return trim_read(path, kind, finished_offsets(checkpoint, source))


def trim_read(path: Path, kind: Kind, upto: Mapping[str, int]) -> dict[str, int]:
    """As :func:`trim`, for queues that may have been deleted; without writing where there is nothing to take off."""
    with opened(path, kind) as stored:
        present = {name: last for name, last in upto.items() if name in stored.names}
        due = {name: last for name, last in present.items() if next(stored.entries(name, 0, last), None)}
    return trim(path, kind, due, wait=BOUNDS["store_wait_seconds"]) if due else {}


# batch reads ----------------------------------------------------------------------------------------------------------


class ReadTask(NamedTuple):
    """What one task reads: a queue or journal from above ``after`` up to ``upto``, a piece of a history, or nothing.

    A task of a stream has in ``records`` how many records there must be.
    """

    name: str = ""
    after: int = 0
    upto: int = 0
    piece: Piece | None = None
    records: int | None = None


def schema_of(options: QueueOptions) -> pa.Schema:
    """The columns of a read.

    Raises:
        DatasetError: this kind of store has no such data.
    """
    if options.read == "journal":
        if options.kind != "dtaq":
            raise DatasetError("journals are an IBM i system's: format('dtaq'); a region has histories")
        return JOURNAL
    return {"records": SCHEMAS[options.kind], "queues": QUEUES, "history": HISTORY[options.kind]}[options.read]


def plan_read(options: QueueOptions) -> list[ReadTask]:
    """The queues to read, in order, as they are now."""
    if options.read == "history":
        return [ReadTask(piece=piece) for piece in history_pieces(options.path)]
    if options.read == "queues":
        return [ReadTask(name="*")]
    low = max(options.starting_sequence - 1, 0)
    high = 2**63 - 1 if options.ending_sequence is None else options.ending_sequence
    if options.read == "journal":
        return [
            ReadTask(name, after, upto)
            for name, last in journals(options.store, options.journals).items()
            for after, upto in _pieces(low, min(high, last), max(1, last // options.rows_per_partition))
        ]
    with opened(options.store, options.kind) as stored:
        return [
            ReadTask(queue.name, after, upto)
            for queue in wanted(stored, options.queues, options.store)
            if queue.records
            # The records of a keyed queue are stored by key, so each part would have to read all of them.
            for after, upto in _pieces(
                max(low, queue.first - 1),
                min(high, queue.last),
                1 if queue.order == "KEYED" else -(-queue.records // options.rows_per_partition),
            )
        ]


def _pieces(low: int, high: int, parts: int) -> Iterator[tuple[int, int]]:
    """A range divided into parts of about the same length."""
    step = max(1, -(-(high - low) // max(parts, 1)))
    for after in range(low, high, step):
        yield after, min(after + step, high)


def read_task(options: QueueOptions, task: ReadTask, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """The rows of one task.

    Raises:
        QueueHoles: some records of a stream's batch are gone.
    """
    if task.piece is not None:
        yield from read_history(task.piece, options.kind, columns, mode=options.mode, queues=options.queues)
    elif task.name == "*":
        yield from queue_rows(options.store, options.kind, options.queues).select(list(columns)).to_batches()
    elif task.name and options.read == "journal":
        yield from read_journal(options.store, task.name, columns, task.after, task.upto, options.queues)
    elif task.name:
        found = 0
        for batch in read_range(options.store, options.kind, task.name, task.after, task.upto, columns):
            found += batch.num_rows
            yield batch
        if task.records is not None and found != task.records:
            _miss_some(options, task, task.records - found)


# streams --------------------------------------------------------------------------------------------------------------


Offsets = dict[str, dict[str, int]]
"""For each queue: ``seq``, the number of the last record; ``records``, how many there were; its ``incarnation``; and
``format``, the version of this format."""


def _place(seq: int, records: int, incarnation: int) -> dict[str, int]:
    return {"format": _FORMAT, "seq": seq, "records": records, "incarnation": incarnation}


def _check_format(offsets: Mapping[str, Mapping[str, int]], where: Path) -> None:
    """Refuse offsets that another version of tdqsim has written in another format."""
    for name, place in offsets.items():
        if (given := place.get("format", 1)) != _FORMAT:
            raise DatasetError(
                f"{where}: queue {name}: the checkpoint has offsets of format {given}; this tdqsim reads format "
                f"{_FORMAT}: continue with the version that wrote them, or give the stream a new checkpoint"
            )


def first_offsets(options: QueueOptions) -> Offsets:
    """Where a new stream begins: before the first record, or after the last one."""
    return {
        name: place if options.starting_offsets == "latest" else place | {"seq": 0}
        for name, place in last_offsets(options).items()
    }


def last_offsets(options: QueueOptions) -> Offsets:
    """The current end of the queues; the number of records up to there is not counted."""
    positions = heads(options.store, options.kind, options.queues)
    return {name: _place(head.last, 0, head.incarnation) for name, head in positions.items()}


def next_offsets(
    options: QueueOptions, start: Mapping[str, Mapping[str, int]], *, rows: int, size: int, target: Offsets | None
) -> Offsets:
    """How far the next batch goes: queues in turn, within the limits on records and bytes, but at least one record.

    Raises:
        QueueHoles: a queue was deleted or created again since ``start``.
    """
    _check_format(start, options.store)
    end: Offsets = {name: dict(place) for name, place in start.items()}
    taken = taken_bytes = 0
    with opened(options.store, options.kind) as stored:
        for queue in wanted(stored, options.queues, options.store):
            name = queue.name
            after, records = _resume(options, queue, start.get(name))
            upto = queue.last if target is None else min(target.get(name, {}).get("seq", 0), queue.last)
            seq = after
            for number, entry in stored.entries(name, after, upto):
                more, more_bytes = taken + 1, taken_bytes + len(entry.data)
                if taken and (0 < rows < more or 0 < size < more_bytes):
                    break
                seq, records, taken, taken_bytes = number, records + 1, more, more_bytes
            else:
                seq = max(after, upto)
            end[name] = _place(seq, records, queue.incarnation)
    return end


def _resume(options: QueueOptions, queue: Queue, place: Mapping[str, int] | None) -> tuple[int, int]:
    """The number after which to continue, and how many records were read so far."""
    if place is None or not place["seq"]:
        return 0, 0  # nothing of it has been read yet
    after, records = int(place["seq"]), int(place["records"])
    # A kill can take back the last number of a data queue that was empty, so an earlier clock may give lower ones.
    lower = queue.order == "FIFO" and queue.records and queue.last < after
    if queue.incarnation == place["incarnation"] and not lower:
        # A region numbers records without gaps. Entries of data queues have the numbers of their moments.
        if options.kind == "tdqueue" and queue.first > after + 1:
            _miss(options, queue.name, f"its records from {after + 1} to {queue.first - 1} are gone")
        return after, records
    if options.fail_on_data_loss:
        problem = "has lower numbers" if lower else "was deleted or created again"
        raise QueueHoles(
            f"{options.store}: queue {queue.name} {problem} since the stream read up to {after}; records may have gone "
            "unread: give the stream a new checkpoint, or set failOnDataLoss to false"
        )
    return 0, records


def ranges(
    options: QueueOptions, start: Mapping[str, Mapping[str, int]], end: Mapping[str, Mapping[str, int]]
) -> list[ReadTask]:
    """The parts of a batch for tasks; a long range in pieces.

    Raises:
        QueueHoles: records of the batch are gone.
    """
    _check_format(end, options.store)
    parts: list[ReadTask] = []
    with opened(options.store, options.kind) as stored:
        for name, place in end.items():
            before = start.get(name, {"seq": 0, "records": 0})
            after = int(before["seq"])
            if place["seq"] == after and place["records"] == before["records"]:
                continue  # nothing of it is in the batch
            if name not in stored.names or stored.queue(name).incarnation != place["incarnation"]:
                _miss(options, name, "the queue was deleted, or was created again")
                continue
            if before.get("incarnation", place["incarnation"]) != place["incarnation"] or place["seq"] < after:
                after = 0  # the numbers began again before this batch was planned
            whole = ReadTask(name, after, int(place["seq"]))
            missing = int(place["records"]) - int(before["records"])
            entries = stored.entries(name, after, whole.upto)
            while piece := [seq for seq, _ in islice(entries, options.rows_per_partition)]:
                parts.append(ReadTask(name, after, piece[-1], records=len(piece)))
                after, missing = piece[-1], missing - len(piece)
            if missing:
                _miss_some(options, whole, missing)
    return parts


def _miss_some(options: QueueOptions, part: ReadTask, missing: int) -> None:
    _miss(options, part.name, f"{missing} of its records from {part.after + 1} to {part.upto} are gone")


def _miss(options: QueueOptions, name: str, what: str) -> None:
    if options.fail_on_data_loss:
        raise QueueHoles(
            f"{options.store}: queue {name}: {what}: another program reads the queue; give the stream a separate queue "
            "and a new checkpoint, or set failOnDataLoss to false"
        )
