"""Object locks: the table of which states go together, and who holds what.

Locks are of jobs (a thread-scoped lock is recorded as such, but a job here has one thread). A job's own locks never
stand in its way. Data queue operations look at locks only when the queue enforces them.

Locks are counted by job, state and scope, and the jobs of one state are found by it: to take one, to give it back and
to ask what stands in its way costs the same however many jobs hold others that go together with it.

Who waits
    A release wakes, in the order in which they came, those who wait for this object and can have it now; of two whose
    states do not go together only the first. One that is woken and goes without (its time ran out, its job ended)
    passes that on. Nobody is kept from taking a free lock before them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import merge
from operator import itemgetter
from typing import Any, NamedTuple, Protocol, TypeVar

from tdqsim.core.dispatch import WAIT, Dispatcher, TimedOut, WaitQueue
from tdqsim.ibmi._fact import LOCK_STATES
from tdqsim.ibmi._who import Who

__all__ = ["HeldLock", "LockEntry", "LockManager", "Lockable", "Locks", "Request"]


class HeldLock(NamedTuple):
    """One lock that a job holds on an object: a job may hold several, each is released by itself."""

    job: Who
    state: str
    scope: str


class Locks:
    """What jobs hold on one object."""

    __slots__ = ("_counts", "_states")

    def __init__(self) -> None:
        self._counts: dict[HeldLock, int] = {}
        self._states: dict[str, dict[HeldLock, None]] = {}

    def __iter__(self) -> Iterator[HeldLock]:
        """Each once, however often its job has taken it, in the order in which they were first taken."""
        return iter(self._counts)

    def count(self, held: HeldLock) -> int:
        """How often a job has taken the same lock."""
        return self._counts.get(held, 0)

    def add(self, held: HeldLock) -> None:
        """Take one."""
        self._counts[held] = self.count(held) + 1
        self._states.setdefault(held.state, {})[held] = None

    def take_away(self, held: HeldLock, times: int = 1) -> None:
        """Give one back, which is there so often."""
        if self._counts[held] > times:
            self._counts[held] -= times
        else:
            del self._counts[held], self._states[held.state][held]

    def against(self, state: str) -> Iterator[HeldLock]:
        """Those that do not go together with a state."""
        return (held for other, holders in self._states.items() if other not in LOCK_STATES[state] for held in holders)


class Lockable(Protocol):
    """What locks are taken on.

    Attributes:
        locks: what jobs hold on it.
        gone: it has been deleted.
    """

    locks: Locks
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


K = TypeVar("K")
L = TypeVar("L")


def _take_out(groups: dict[K, dict[L, Any]], group: K, key: L) -> None:
    """Take something out of its group, if it is there, and an empty group away."""
    found = groups.get(group)
    if found is not None:
        found.pop(key, None)
        if not found:
            del groups[group]


class _Wait:
    """One job that waits for locks.

    Attributes:
        number: rising in the order in which they came.
        job: who waits.
        requests: what it waits for, all of it or nothing.
        scope: of the locks.
        parked: where its strand waits.
    """

    __slots__ = ("job", "number", "parked", "requests", "scope")

    def __init__(self, number: int, job: Who, requests: Sequence[Request], scope: str, parked: WaitQueue) -> None:
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
        self._waiting: dict[Who, dict[int, _Wait]] = {}
        self._lines: dict[Lockable, dict[str, dict[int, _Wait]]] = {}  # those who wait for an object, by state
        self._holding: dict[Who, dict[tuple[Lockable, HeldLock], None]] = {}

    def blockers(self, job: Who, request: Request) -> Iterator[HeldLock]:
        """Locks of other jobs that do not go together with the request, each once."""
        return (held for held in request.target.locks.against(request.state) if held.job is not job)

    def blocked(self, job: Who, *requests: Request) -> bool:
        """Whether there is one for any of some requests; an object that is deleted blocks nobody."""
        return any(True for one in requests if not one.target.gone for _ in self.blockers(job, one))

    def acquire(self, job: Who, requests: Sequence[Request], wait_ns: int | None, scope: str = "*JOB") -> bool:
        """Take all locks or none, waiting for others to be released; False when the time ran out.

        An object that is deleted meanwhile blocks nobody: the caller looks whether it is gone.
        """

        def attempt() -> Any:
            job.check_usable()
            if self.blocked(job, *requests):
                self._wake(*requests)  # others may have stood back for it
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

    def hold(self, job: Who, request: Request, scope: str = "*JOB") -> None:
        """Take one lock without a look at others."""
        held = HeldLock(job, request.state, scope)
        self._holding.setdefault(job, {})[request.target, held] = None
        request.target.locks.add(held)

    def release(self, job: Who, request: Request, scope: str = "*JOB") -> bool:
        """Give back one lock; False when the job does not hold it."""
        target, held = request.target, HeldLock(job, request.state, scope)
        count = target.locks.count(held)
        if not count:
            return False
        target.locks.take_away(held)
        if count == 1:
            _take_out(self._holding, job, (target, held))
            self._wake(request)
        return True

    def release_all(self, job: Who) -> None:
        """Give back everything that a job holds."""
        held_by_it = self._holding.pop(job, {})
        for target, held in held_by_it:
            target.locks.take_away(held, target.locks.count(held))
        self._wake(*(Request(target, held.state) for target, held in held_by_it))

    def waits(self) -> list[tuple[Who, Request, list[HeldLock]]]:
        """Who waits for which lock, and the locks in its way."""
        return [
            (wait.job, request, list(self.blockers(wait.job, request)))
            for wait in self._in_turn(*self._waiting.values())
            for request in wait.requests
        ]

    def wake(self, gone: Iterable[Lockable]) -> None:
        """Let those who wait for objects that are deleted look again."""
        for target in gone:
            for wait in self._in_turn(*self._lines.get(target, {}).values()):
                wait.parked.wake_one()

    @staticmethod
    def _in_turn(*lines: Mapping[int, _Wait]) -> Iterator[_Wait]:
        """Those who wait in some lines, first come first."""
        return (wait for _, wait in merge(*(line.items() for line in lines), key=itemgetter(0)))

    def _wake(self, *released: Request) -> None:
        """Wake those who can have now what they wait for on some objects."""
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

    def _hopeful(self, target: Lockable, state: str, line: Mapping[int, _Wait]) -> Mapping[int, _Wait]:
        """Those in a line whom no lock of others keeps from a state: nobody, everybody, or the one who has it all."""
        holders: set[Who] = set()
        for held in target.locks.against(state):
            holders.add(held.job)
            if len(holders) > 1:
                return {}
        if not holders:
            return line
        own = self._waiting.get(holders.pop(), {})
        return {number: wait for number, wait in own.items() if number in line}

    def entries(self, target: Lockable) -> tuple[LockEntry, ...]:
        """Who holds and who waits for locks on an object."""
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
