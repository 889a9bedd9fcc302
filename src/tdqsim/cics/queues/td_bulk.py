"""READQ TD and WRITEQ TD in bulk: read all records of a queue, or write many records to it.

Each record is a separate request: it is counted, it sets the EIB, and a change between two records (the queue is
disabled, closed or watched) applies to the next one. On an open data set many records are processed in one loop, which
is as fast as a plain loop over the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tdqsim.cics.kernel.conditions import Condition
from tdqsim.cics.kernel.task import TaskBase, let_others_run, respond
from tdqsim.cics.model.queue import ExtraTdQueue, TdQueue
from tdqsim.cics.queues.td import readq_td, writeq_td
from tdqsim.core.argument_types import explains_wrong_types, raise_wrong_type
from tdqsim.errors import DatasetError
from tdqsim.facts import Cvda, Resp

_AT_ONCE = 4096


def readq_td_all(task: TaskBase, queue: str) -> Iterator[bytes]:
    """READQ TD until QZERO; a record is read when the iterator is advanced.

    Args:
        task: the task that issues them.
        queue: the queue's name, 1 to 4 characters.

    Raises:
        Condition: as READQ TD, but QZERO ends the iteration. After another condition a new call continues.
    """
    while True:
        task._region.dispatcher.check_thread()
        q = _named(task, queue)
        if isinstance(q, ExtraTdQueue) and _is_enabled(q) and q.get is not None:
            yield from _read_through(task, q)
        try:
            record = readq_td(task, queue)
        except Condition as condition:
            if condition.resp is Resp.QZERO:
                return
            raise
        yield record


def _named(task: TaskBase, queue: str) -> TdQueue | None:
    try:
        queue_object = task._queues.get(queue)
    except TypeError as error:
        raise_wrong_type(error, "READQ TD, WRITEQ TD", _named, (task, queue), {})
        raise
    return queue_object if isinstance(queue_object, TdQueue) else None


def _is_enabled(queue: ExtraTdQueue) -> bool:
    """Whether requests to an unwatched data set may proceed."""
    return queue.enablestatus is Cvda.ENABLED


def _read_through(task: TaskBase, q: ExtraTdQueue) -> Iterator[bytes]:
    """The records of an open data set, until its end or a change of the queue's state."""
    bound, eib, done = q.read, task.eib, q.read_ok
    try:
        for record in q.file.drain():
            q.reads += 1
            eib.last = done
            yield record
            if q.read is not bound or task._queues.get(q.name) is not q:
                break
    except DatasetError as error:
        respond(task, q.file.refused(error), "READQ TD", q.name, nohandle=False, otherwise=b"")
    if task._outside:
        let_others_run(task)


def writeq_td_all(task: TaskBase, queue: str, records: Iterable[bytes]) -> int:
    """WRITEQ TD of each record.

    Args:
        task: the task that issues them.
        queue: the queue's name, 1 to 4 characters.
        records: the records; a list is fastest.

    Returns:
        The number of records written.

    Raises:
        Condition: as WRITEQ TD; the records before the refused one are written.
    """
    if not isinstance(records, Sequence):
        return _write_each(task, queue, records)
    at = 0
    while at < len(records):
        task._region.dispatcher.check_thread()
        q = _named(task, queue)
        some = records[at : at + _AT_ONCE]
        if isinstance(q, ExtraTdQueue) and _is_enabled(q) and q.put is not None and _are_records(some):
            at += _write_through(task, q, some)
        else:
            at += _write_each(task, queue, some)
    return at


@explains_wrong_types
def _write_each(task: TaskBase, queue: str, records: Iterable[bytes]) -> int:
    written = 0
    for record in records:
        writeq_td(task, queue, record)
        written += 1
    return written


def _write_through(task: TaskBase, q: ExtraTdQueue, records: Sequence[bytes]) -> int:
    """Write all records, or up to and including one whose condition the program ignores; return their number."""
    before = q.writes
    try:
        q.file.write_all(records)
    except DatasetError as error:
        respond(task, q.file.refused(error), "WRITEQ TD", q.name, nohandle=False, otherwise=None)
        return q.writes - before + 1
    task.eib.last = q.write_ok
    if task._outside:
        let_others_run(task)
    return len(records)


def _are_records(records: Sequence[object]) -> bool:
    """Whether all records are non-empty bytes, which the writer does not check."""
    return set(map(type, records)) == {bytes} and all(records)
