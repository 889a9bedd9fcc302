"""The lock manager: which jobs hold object locks, and which wait for them.

Locks belong to jobs (the scope *THREAD is recorded, but a simulated job has one thread). A job's own locks never
conflict. Data queue operations check locks only when the queue enforces them.

Locks are counted by job, state and scope, and indexed by state. So the cost of taking a lock, releasing it and finding
conflicts does not depend on the number of jobs that hold compatible locks.

Waiting
    A release wakes the jobs that wait for this object and can have their locks now, in order of arrival; if two of them
    conflict, only the first. A woken job that does not take its lock (timeout, end of the job) wakes the next one. A
    job that requests a free lock gets it at once, even before jobs that were woken.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import merge
from operator import itemgetter
from typing import NamedTuple, TypeVar

from tdqsim.core.dispatch import Dispatcher
from tdqsim.core.fiber import WAIT, TimedOut, WaitMark, WaitQueue
from tdqsim.ibmi.data import JobData
from tdqsim.ibmi.fact_tables import LOCK_STATES
from tdqsim.ibmi.locks import HeldLock
from tdqsim.ibmi.objects import SystemObject


class Request(NamedTuple):
    """A request for a lock of one state on one object."""

    target: SystemObject
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


K = TypeVar("K")
L = TypeVar("L")
V = TypeVar("V")


def _take_out(groups: dict[K, dict[L, V]], group: K, key: L) -> None:
    """Remove a key from its group, if it is there, and the group when it becomes empty."""
    members = groups.get(group)
    if members is not None:
        members.pop(key, None)
        if not members:
            del groups[group]


class _Wait:
    """One job that waits for locks.

    Attributes:
        number: ascending in order of arrival.
        job: the job that waits.
        requests: the locks it waits for; it gets all of them or none.
        scope: the scope of the locks.
        parked: the queue in which its fiber waits.
    """

    __slots__ = ("job", "number", "parked", "requests", "scope")

    def __init__(self, number: int, job: JobData, requests: Sequence[Request], scope: str, parked: WaitQueue) -> None:
        self.number = number
        self.job = job
        self.requests = requests
        self.scope = scope
        self.parked = parked


class LockManager:
    """The locks of one system."""

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher
        self._last = 0
        self._waiting: dict[JobData, dict[int, _Wait]] = {}
        self._lines: dict[SystemObject, dict[str, dict[int, _Wait]]] = {}  # the waits for an object, by lock state
        self._holding: dict[JobData, dict[tuple[SystemObject, HeldLock], None]] = {}

    def blockers(self, job: JobData, request: Request) -> Iterator[HeldLock]:
        """Locks of other jobs that conflict with the request, each once."""
        return (held for held in request.target.locks.against(request.state) if held.job is not job)

    def blocked(self, job: JobData, *requests: Request) -> bool:
        """Whether any of the requests conflicts with a lock of another job; a deleted object never conflicts."""
        return any(True for one in requests if not one.target.deleted for _ in self.blockers(job, one))

    def acquire(self, job: JobData, requests: Sequence[Request], wait_ns: int | None, scope: str = "*JOB") -> bool:
        """Take all locks or none, waiting for other jobs to release theirs; False when the time ran out.

        A wait ends when its object is deleted, so the caller must check whether the object still exists.
        """

        def attempt() -> bool | WaitMark:
            job.check_usable()
            if self.blocked(job, *requests):
                self._wake(*requests)  # this job continues to wait, so another one may be able to get its lock
                return WAIT
            for request in requests:
                self.hold(job, request, scope)
            return True

        if attempt() is not WAIT:
            return True
        if wait_ns == 0:
            return False
        self._last += 1
        wait = _Wait(self._last, job, requests, scope, WaitQueue("an object lock", self._holders))
        got = False
        try:
            self._enter(wait)
            for request in requests:
                job.note("WAIT", request.target, lock=request.state)
            got = self._dispatcher.wait(attempt, wait.parked, wait_ns)
        except TimedOut:
            return False
        finally:
            self._leave(wait)
            if not got:
                self._wake(*requests)
        return True

    def _enter(self, wait: _Wait) -> None:
        self._waiting.setdefault(wait.job, {})[wait.number] = wait
        for target, state in wait.requests:
            self._lines.setdefault(target, {}).setdefault(state, {})[wait.number] = wait

    def _leave(self, wait: _Wait) -> None:
        _take_out(self._waiting, wait.job, wait.number)
        for target, state in wait.requests:
            lines = self._lines.get(target)
            if lines is not None:
                _take_out(lines, state, wait.number)
                if not lines:
                    del self._lines[target]

    def hold(self, job: JobData, request: Request, scope: str = "*JOB") -> None:
        """Take one lock without checking for conflicts."""
        held = HeldLock(job, request.state, scope)
        self._holding.setdefault(job, {})[request.target, held] = None
        request.target.locks.add(held)

    def release(self, job: JobData, request: Request, scope: str = "*JOB") -> bool:
        """Release one lock; False when the job does not hold it."""
        target, held = request.target, HeldLock(job, request.state, scope)
        count = target.locks.count(held)
        if not count:
            return False
        target.locks.take_away(held)
        if count == 1:
            _take_out(self._holding, job, (target, held))
            self._wake(request)
        return True

    def release_all(self, job: JobData) -> None:
        """Release everything that a job holds."""
        held_by_it = self._holding.pop(job, {})
        for target, held in held_by_it:
            target.locks.take_away(held, target.locks.count(held))
        self._wake(*(Request(target, held.state) for target, held in held_by_it))

    def waits(self) -> list[tuple[JobData, Request, list[HeldLock]]]:
        """For each waiting job and each lock it waits for, the conflicting locks."""
        return [
            (wait.job, request, list(self.blockers(wait.job, request)))
            for wait in self._in_turn(*self._waiting.values())
            for request in wait.requests
        ]

    def wake(self, deleted: Iterable[SystemObject]) -> None:
        """Wake the jobs that wait for deleted objects."""
        for target in deleted:
            for wait in self._in_turn(*self._lines.get(target, {}).values()):
                wait.parked.wake_one()

    @staticmethod
    def _in_turn(*lines: Mapping[int, _Wait]) -> Iterator[_Wait]:
        """The waits in some lines, in order of arrival."""
        return (wait for _, wait in merge(*(line.items() for line in lines), key=itemgetter(0)))

    def _wake(self, *released: Request) -> None:
        """Wake the jobs that can now have the locks they wait for on some objects."""
        for target in dict.fromkeys(one.target for one in released if one.target in self._lines):
            free = set(LOCK_STATES)
            hopeful = [self._hopeful(target, state, line) for state, line in self._lines[target].items()]
            for wait in self._in_turn(*hopeful):
                asked = {state for one, state in wait.requests if one is target}
                if asked <= free and not self.blocked(wait.job, *wait.requests):
                    wait.parked.wake_one()
                    free.intersection_update(*(LOCK_STATES[state] for state in asked))
                    if not free:
                        break

    def _hopeful(self, target: SystemObject, state: str, line: Mapping[int, _Wait]) -> Mapping[int, _Wait]:
        """The waits of a line without conflicts: all, none, or those of the only job that holds conflicting locks."""
        holders: set[JobData] = set()
        for held in target.locks.against(state):
            holders.add(held.job)
            if len(holders) > 1:
                return {}
        if not holders:
            return line
        own = self._waiting.get(holders.pop(), {})
        return {number: wait for number, wait in own.items() if number in line}

    def entries(self, target: SystemObject) -> tuple[LockEntry, ...]:
        """The locks on an object, and the waits for one."""
        held = [
            LockEntry(lock.job.qualified_name, lock.state, "HELD", lock.scope)
            for lock in target.locks
            for _ in range(target.locks.count(lock))
        ]
        waits = [
            LockEntry(wait.job.qualified_name, state, "WAIT", wait.scope)
            for wait in dict.fromkeys(self._in_turn(*self._lines.get(target, {}).values()))
            for one, state in wait.requests
            if one is target
        ]
        return (*held, *waits)

    def _holders(self) -> str:
        lines = []
        for job, request, blockers in self.waits():
            holders = ", ".join(f"{held.job.qualified_name} {held.state}" for held in blockers)
            lines.append(f"{job.qualified_name} asks {request.target.qualified} {request.state}, held by {holders}")
        return "; ".join(lines)
