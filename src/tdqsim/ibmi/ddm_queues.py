"""DDM data queues: queues that refer to a queue on another system.

The other system is looked up by the queue's remote location name (or its RDB name) among the links of this one
(:meth:`System.connect`). The remote queue need not exist until it is used.

A DDM queue may refer to another DDM queue. A request contains the DDM queues that it has passed, so that a cycle of
them is refused. If the other system does not carry out a request for a reason that has no escape message (no link, a
closed system, an unknown user, a cycle), the requester gets CPF9510.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn, TypeVar

from tdqsim.core.store import Entry
from tdqsim.core.transport import LinkDown
from tdqsim.ibmi.job_core import JobCore
from tdqsim.ibmi.messages import EscapeMessage
from tdqsim.ibmi.queue import DataQueue
from tdqsim.ibmi.remote_link import RemoteLink

T = TypeVar("T")
_NS = 1_000_000_000


def send_remotely(
    job: JobCore, queue: DataQueue, data: bytes, key: bytes | None, *, asynchronous: bool, replay: bool
) -> None:
    """Send through the queue's link; the failure of an asynchronous send is reported at the next access."""
    if replay:
        _refuse(job, queue, "DTAQ-DDM-REPLAY")
    _admit(job, queue)
    try:
        _through(job, queue, lambda link, remote, route: link.send(*remote, data, key, route=route))
        job.note("QSNDDTAQ", queue, data, key or b"")
    except EscapeMessage as error:
        if not asynchronous:
            raise
        job.remote_failures[queue.number] = error


def receive_remotely(
    job: JobCore, queue: DataQueue, wait_ns: int | None, key_order: str, key: bytes | None, room: int | None, *,
    remove: bool,
) -> Entry | None:  # fmt: skip
    """Receive through the queue's link."""
    if not remove:
        _refuse(job, queue, "DTAQ-DDM-PEEK")
    _admit(job, queue)
    whole = wait_ns if wait_ns is None else wait_ns - wait_ns % _NS  # DDM waits have no milliseconds
    entry = _through(
        job, queue, lambda link, remote, route: link.receive(*remote, whole, key_order, key, room, route=route)
    )
    job.note("QRCVDTAQ", queue, *((entry.data, entry.key) if entry is not None else ()))
    return entry


def clear_remotely(job: JobCore, queue: DataQueue, key: bytes) -> None:
    """Clear through the queue's link."""
    if key:
        _refuse(job, queue, "DTAQ-DDM-CLEAR-KEY")
    _admit(job, queue)
    _through(job, queue, lambda link, remote, route: link.clear(*remote, route=route))
    job.note("QCLRDTAQ", queue)


def _through(
    job: JobCore, queue: DataQueue, call: Callable[[RemoteLink, tuple[str, str, str], tuple[str, ...]], T]
) -> T:
    """Send a request to the other system; CPF9510 when there is no link, it is lost, or the request is in a cycle."""
    remote = job.current_user, queue.attributes.rmtdtaq, queue.attributes.rmtdtaqlib
    link = job.system.links.get(queue.attributes.rdb or queue.attributes.rmtlocname)
    here = f"{job.system.name} {queue.library}/{queue.name}"
    if link is None or here in job.route:
        job.fail("CPF9510", queue.name, queue.library)
    try:
        return call(link, remote, (*job.route, here))
    except LinkDown:
        job.fail("CPF9510", queue.name, queue.library)


def _refuse(job: JobCore, queue: DataQueue, rule: str) -> NoReturn:
    """Refuse a request that DDM queues do not support; a job that may not use them at all is refused for that."""
    job.fail("CPF9511", queue.name, rule="DTAQ-SERVER-DDM" if job.local_only else rule)


def _admit(job: JobCore, queue: DataQueue) -> None:
    """Refuse a job that may not use DDM queues, and report the failure of its earlier asynchronous send, once."""
    if job.local_only:
        job.fail("CPF9511", queue.name, rule="DTAQ-SERVER-DDM")
    kept = job.remote_failures.pop(queue.number, None)
    if kept is not None:
        raise kept
