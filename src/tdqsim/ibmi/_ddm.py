"""DDM data queues: a queue here that stands for one on another system.

The other system is found by the queue's remote location name (or its RDB name) among the links of this one
(:meth:`System.connect`). A link is a small interface, so that the other system can be in this process or anywhere. The
remote queue need not exist before it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from tdqsim.core.store import Entry
from tdqsim.ibmi._queue import DataQueue
from tdqsim.ibmi.messages import EscapeMessage

if TYPE_CHECKING:
    from tdqsim.ibmi._job_core import JobCore
    from tdqsim.ibmi.job import Job
    from tdqsim.ibmi.system import System

__all__ = ["InProcessLink", "RemoteLink", "RemoteQueues"]


class RemoteLink(Protocol):
    """What another system does for a DDM queue, in the name of a user."""

    def send(self, user: str, name: str, library: str, data: bytes, key: bytes | None) -> None:
        """Send to the remote queue."""

    def receive(
        self, user: str, name: str, library: str, wait_ns: int | None, key_order: str, key: bytes | None,
        room: int | None = None,
    ) -> Entry | None:  # fmt: skip
        """Receive from the remote queue, removing; an entry of more than ``room`` bytes stays there (CPF24B4)."""

    def clear(self, user: str, name: str, library: str) -> None:
        """Clear the remote queue."""


class InProcessLink:
    """A link to a system in this process; each user has one job there, as a DDM conversation would."""

    def __init__(self, target: System) -> None:
        self._target = target
        self._jobs: dict[str, Job] = {}

    def _job(self, user: str) -> Job:
        job = self._jobs.get(user)
        if job is None or job.ended:
            job = self._jobs[user] = self._target.job("QRWTSRVR", user=user)
        return job

    def send(self, user: str, name: str, library: str, data: bytes, key: bytes | None) -> None:
        """Send to the remote queue."""
        self._job(user).qsnddtaq(name, library, data, key)

    def receive(
        self, user: str, name: str, library: str, wait_ns: int | None, key_order: str, key: bytes | None,
        room: int | None = None,
    ) -> Entry | None:  # fmt: skip
        """Receive from the remote queue, removing; an entry of more than ``room`` bytes stays there (CPF24B4)."""
        return self._job(user).receive_entry(name, library, wait_ns, key_order, key, remove=True, room=room)

    def clear(self, user: str, name: str, library: str) -> None:
        """Clear the remote queue."""
        self._job(user).qclrdtaq(name, library)


class RemoteQueues:
    """The DDM side of one system."""

    def __init__(self) -> None:
        self.links: dict[str, RemoteLink] = {}

    def send(self, job: JobCore, queue: DataQueue, data: bytes, key: bytes | None, *, asynchronous: bool) -> None:
        """Send through the queue's link; an asynchronous failure is kept for the next access."""
        self._raise_kept(job, queue)
        attributes = queue.attributes
        try:
            self._link(job, queue).send(job.current_user, attributes.rmtdtaq, attributes.rmtdtaqlib, data, key)
            job.note("QSNDDTAQ", queue, data, key or b"")
        except EscapeMessage as error:
            if not asynchronous:
                raise
            job.keep_remote_failure(queue, error)

    def receive(
        self, job: JobCore, queue: DataQueue, wait_ns: int | None, key_order: str, key: bytes | None,
        room: int | None = None,
    ) -> Entry | None:  # fmt: skip
        """Receive through the queue's link."""
        self._raise_kept(job, queue)
        attributes = queue.attributes
        link = self._link(job, queue)
        entry = link.receive(job.current_user, attributes.rmtdtaq, attributes.rmtdtaqlib, wait_ns, key_order, key, room)
        job.note("QRCVDTAQ", queue, *((entry.data, entry.key) if entry is not None else ()))
        return entry

    def clear(self, job: JobCore, queue: DataQueue) -> None:
        """Clear through the queue's link."""
        self._raise_kept(job, queue)
        attributes = queue.attributes
        self._link(job, queue).clear(job.current_user, attributes.rmtdtaq, attributes.rmtdtaqlib)
        job.note("QCLRDTAQ", queue)

    def _link(self, job: JobCore, queue: DataQueue) -> RemoteLink:
        attributes = queue.attributes
        link = self.links.get(attributes.rdb or attributes.rmtlocname)
        if link is None:
            job.fail("CPF9510", queue.name, queue.library)
        return link

    @staticmethod
    def _raise_kept(job: JobCore, queue: DataQueue) -> None:
        kept = job.take_remote_failure(queue)
        if kept is not None:
            raise kept
