"""Object locks: the table of which states go together, and who holds what.

Locks are of jobs (a thread-scoped lock is recorded as such, but a job here has one thread). A job's own locks never
stand in its way. Data queue operations look at locks only when the queue enforces them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from tdqsim.core.dispatch import WAIT, Dispatcher, TimedOut, WaitQueue
from tdqsim.ibmi._fact import LOCK_STATES
from tdqsim.ibmi._who import Who

__all__ = ["HeldLock", "LockEntry", "LockManager", "Lockable", "Request"]


class HeldLock(NamedTuple):
    """One lock that a job holds on an object: a job may hold several, each is released by itself."""

    job: Who
    state: str
    scope: str


class Lockable(Protocol):
    """What locks are taken on.

    Attributes:
        locks: what jobs hold on it.
        gone: it has been deleted.
    """

    locks: list[HeldLock]
    gone: bool

    @property
    def qualified(self) -> str:
        """``LIB/NAME``."""


class Request(NamedTuple):
    """One object that is asked for in one state."""

    target: Lockable
    state: str


class LockEntry(NamedTuple):
    """One line of WRKOBJLCK.

    Attributes:
        job: qualified job name, ``number/user/name``.
        state: ``*SHRRD``, ``*SHRNUP``, ``*SHRUPD``, ``*EXCLRD`` or ``*EXCL``.
        status: ``HELD`` or ``WAIT``.
        scope: ``*JOB`` or ``*THREAD``.
    """

    job: str
    state: str
    status: str
    scope: str


class LockManager:
    """The locks of one system."""

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher
        self._released = WaitQueue("an object lock", self._holders)
        self._waiting: list[tuple[Who, Request, str]] = []
        self._holding: dict[str, list[Lockable]] = {}  # by job, each object once a lock

    def blockers(self, job: Who, request: Request) -> list[HeldLock]:
        """Locks of other jobs that do not go together with the request."""
        return [
            held
            for held in request.target.locks
            if held.job is not job and held.state not in LOCK_STATES[request.state]
        ]

    def acquire(self, job: Who, requests: Sequence[Request], wait_ns: int | None, scope: str = "*JOB") -> bool:
        """Take all locks or none, waiting for others to be released; False when the time ran out.

        An object that is deleted meanwhile blocks nobody: the caller looks whether it is gone.
        """

        def attempt() -> Any:
            job.check_usable()
            if any(self.blockers(job, request) for request in requests if not request.target.gone):
                return WAIT
            for request in requests:
                self.hold(job, request, scope)
            return True

        waiting = [(job, request, scope) for request in requests]
        return self._wait(attempt, waiting, wait_ns)

    def _wait(self, attempt: Callable[[], Any], waiting: list[tuple[Who, Request, str]], wait_ns: int | None) -> bool:
        if attempt() is not WAIT:
            return True
        if wait_ns == 0:
            return False
        self._waiting.extend(waiting)
        for job, request, _ in waiting:
            job.note("WAIT", request.target, lock=request.state)
        try:
            self._dispatcher.wait(attempt, self._released, wait_ns)
        except TimedOut:
            return False
        finally:
            for one in waiting:
                self._waiting.remove(one)
        return True

    def hold(self, job: Who, request: Request, scope: str = "*JOB") -> None:
        """Take one lock without a look at others."""
        self._holding.setdefault(job.qualified_name, []).append(request.target)
        request.target.locks.append(HeldLock(job, request.state, scope))

    def release(self, job: Who, request: Request, scope: str = "*JOB") -> bool:
        """Give back one lock; False when the job does not hold it."""
        held = HeldLock(job, request.state, scope)
        if held not in request.target.locks:
            return False
        request.target.locks.remove(held)
        self._holding[job.qualified_name].remove(request.target)
        self._released.wake_all()
        return True

    def release_all(self, job: Who) -> None:
        """Give back everything that a job holds."""
        for target in self._holding.pop(job.qualified_name, ()):
            target.locks[:] = [held for held in target.locks if held.job is not job]
        self._released.wake_all()

    def waits(self) -> list[tuple[Who, Request, list[HeldLock]]]:
        """Who waits for which lock, and the locks in its way."""
        return [(job, request, self.blockers(job, request)) for job, request, _ in self._waiting]

    def wake(self) -> None:
        """Let the waiters look again, after something else than a release has changed."""
        self._released.wake_all()

    def entries(self, target: Lockable) -> tuple[LockEntry, ...]:
        """Who holds and who waits for locks on an object."""
        held = [LockEntry(lock.job.qualified_name, lock.state, "HELD", lock.scope) for lock in target.locks]
        waits = [
            LockEntry(job.qualified_name, request.state, "WAIT", scope)
            for job, request, scope in self._waiting
            if request.target is target
        ]
        return (*held, *waits)

    def _holders(self) -> str:
        lines = []
        for job, request, blockers in self.waits():
            holders = ", ".join(f"{held.job.qualified_name} {held.state}" for held in blockers)
            lines.append(f"{job.qualified_name} asks {request.target.qualified} {request.state}, held by {holders}")
        return "; ".join(lines)
