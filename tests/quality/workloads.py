"""Workloads: processes that use queues at the same time, faults between and inside their requests, and a judge.

This is the method of Jepsen. A workload has some *processes*. Each is a generator that yields operations and receives
the answer to each. :func:`run_workload` lets the processes take turns in an order that follows from a seed, so that
their units of work overlap, and causes faults between the requests. It sends one request at a time. At the end the
history checker judges what the clients have seen: it does not use what the server says about itself.

A request that was not answered has the response ``UNKNOWN``: it was executed, or it was not. The judge accepts both,
as long as all later observations agree with one of them.

============================= ========================================================================================
workload                      what it does
============================= ========================================================================================
:func:`unique_records`        writes and reads records that are all different, alone and in units of work
:func:`registers`             a queue is a register: its one record is read, and replaced in a unit of work
:func:`bank`                  a queue is an account: its one record is the balance; a transfer is a unit of work, and
                              an audit reads all accounts in one
============================= ========================================================================================

A target is anything with the methods of :class:`~tdqsim.testing.Target` that can also show the records of a queue:
:class:`RegionTarget` for a region in this process, :class:`ServedTarget` for a region that a server serves, your own
class for a real region. :class:`~tests.quality.relay.Relay` cuts the connections to a server.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Final, NamedTuple

from tdqsim.errors import UsageError
from tdqsim.testing.checker import Verdict, check_history
from tdqsim.testing.events import Event
from tdqsim.testing.verified import Answer
from tests.quality.workload_history import BACKED_OUT, COMMITTED, OPEN, UNKNOWN, Act, Unit, events_of
from tests.quality.workload_targets import UNITS, WorkloadTarget

_TRIES: Final = 5
"""How often a backout that was not answered is sent."""


class WorkloadOperation(NamedTuple):
    """What a process does next.

    Attributes:
        command: ``WRITEQ TD``, ``READQ TD``; ``BEGIN`` for a unit of work, which ``SYNCPOINT`` or ``ROLLBACK`` ends.
            A request outside a unit of work is one by itself. READQ TD is sent with NOSUSPEND.
        queue: the queue.
        record: the record of WRITEQ TD.
    """

    command: str
    queue: str = ""
    record: bytes = b""


BEGIN: Final = WorkloadOperation("BEGIN")
SYNCPOINT: Final = WorkloadOperation("SYNCPOINT")
ROLLBACK: Final = WorkloadOperation("ROLLBACK")
Process = Generator[WorkloadOperation, Answer, None]
"""Yields operations, and receives their answers: ``UNKNOWN`` if none came, ``ENDED`` if the unit of work is gone."""
Problems = list[str]
AtEnd = Mapping[str, Sequence[bytes]]
"""The records that are on each queue at the end."""


def _nothing(_final: AtEnd) -> Iterable[str]:
    return ()


@dataclass(frozen=True)
class Workload:
    """Processes and the queues that they use.

    Attributes:
        queues: the names of the queues; they must be empty before.
        processes: makes the processes; its arguments are a random number generator and a list, to which a process
            appends a text for each thing that should not be.
        initial: the record that is written to each queue first.
        at_end: returns a text for each thing that is wrong at the end.
    """

    queues: tuple[str, ...]
    processes: Callable[[Random, Problems], list[Process]]
    initial: Mapping[str, bytes] = field(default_factory=dict)
    at_end: Callable[[AtEnd], Iterable[str]] = _nothing


# -- the workloads ----------------------------------------------------------------------------------------------------


def unique_records(queues: Sequence[str], *, processes: int = 3, operations: int = 30) -> Workload:
    """Processes that write and read records which are all different.

    Args:
        queues: the queues, of any RECOVSTATUS.
        processes: the number of processes.
        operations: the number of requests or units of work of each. A write that is not answered is sent again now and
            then, as a client with retries does; the record shows that, so that all are different.
    """

    def process(number: int, random: Random) -> Process:
        for turn in range(operations):
            queue, record, chance = random.choice(queues), f"{number}.{turn}".encode(), random.random()
            if chance < 0.4:
                answer = yield WorkloadOperation("WRITEQ TD", queue, record)
                if answer.resp == UNKNOWN and random.random() < 0.5:
                    yield WorkloadOperation("WRITEQ TD", queue, record + b" again")
            elif chance < 0.6:
                yield WorkloadOperation("READQ TD", queue)
            else:
                yield from _unit(record, sorted(random.sample(queues, min(2, len(queues)))), random)

    return Workload(tuple(queues), lambda random, _problems: [process(each, random) for each in range(processes)])


def _unit(record: bytes, queues: Sequence[str], random: Random) -> Process:
    """A unit of work with some writes and reads; queues in the order of their names, so that nothing deadlocks."""
    answer = yield BEGIN
    if answer.resp != "NORMAL":
        return
    for queue in queues:
        for part in range(random.randint(1, 2)):
            if random.random() < 0.6:
                answer = yield WorkloadOperation("WRITEQ TD", queue, b"%b.%b.%d" % (record, queue.encode(), part))
            else:
                answer = yield WorkloadOperation("READQ TD", queue)
            if answer.resp not in ("NORMAL", "QZERO"):
                yield ROLLBACK
                return
    yield SYNCPOINT if random.random() < 0.7 else ROLLBACK


def registers(queues: Sequence[str], *, processes: int = 3, operations: int = 30) -> Workload:
    """Processes that read the one record of a queue, and replace it in half of all units of work.

    Args:
        queues: the queues, with RECOVSTATUS LOGICAL.
        processes: the number of processes.
        operations: the number of units of work of each.
    """

    def process(number: int, random: Random) -> Process:
        for turn in range(operations):
            queue = random.choice(queues)
            answer = yield BEGIN
            if answer.resp != "NORMAL":
                continue
            answer = yield WorkloadOperation("READQ TD", queue)
            if answer.resp == "NORMAL" and random.random() < 0.5:
                answer = yield WorkloadOperation("WRITEQ TD", queue, f"{queue}={number}.{turn}".encode())
                if answer.resp == "NORMAL" and random.random() < 0.8:
                    yield SYNCPOINT
                    continue
            yield ROLLBACK

    return Workload(
        tuple(queues),
        lambda random, _problems: [process(each, random) for each in range(processes)],
        {queue: f"{queue}=first".encode() for queue in queues},
    )


def bank(accounts: Sequence[str], *, balance: int = 100, processes: int = 3, operations: int = 20) -> Workload:
    """Processes that transfer money between accounts, and audit them: the total is always the same.

    Args:
        accounts: the queues, at least two, with RECOVSTATUS LOGICAL.
        balance: the first balance of each.
        processes: the number of processes.
        operations: the number of transfers and audits of each.
    """
    total = balance * len(accounts)

    def process(number: int, random: Random, problems: Problems) -> Process:
        for turn in range(operations):
            if (yield BEGIN).resp != "NORMAL":
                continue
            audit = random.random() < 0.25
            used = list(accounts) if audit else random.sample(list(accounts), 2)
            balances: list[int] = []
            for account in used:
                answer = yield WorkloadOperation("READQ TD", account)
                if answer.resp != "NORMAL":
                    break
                balances.append(_balance(answer.data))
            if len(balances) < len(used):
                yield ROLLBACK
            elif audit:
                yield ROLLBACK
                if sum(balances) != total:
                    problems.append(f"an audit found {sum(balances)} instead of {total}")
            else:
                yield from _transfer(used, balances, f"{number}.{turn}", random)

    def at_end(final: AtEnd) -> Iterable[str]:
        found = sum(_balance(record) for account in accounts for record in final[account])
        if found != total:
            yield f"the accounts have {found} at the end instead of {total}"

    return Workload(
        tuple(accounts),
        lambda random, problems: [process(each, random, problems) for each in range(processes)],
        {account: f"{account} {balance} first".encode() for account in accounts},
        at_end,
    )


def _balance(record: bytes) -> int:
    return int(record.split()[1])


def _transfer(used: Sequence[str], balances: Sequence[int], name: str, random: Random) -> Process:
    amount = random.randint(1, 10)
    for account, new in zip(used, (balances[0] - amount, balances[1] + amount), strict=True):
        answer = yield WorkloadOperation("WRITEQ TD", account, f"{account} {new} {name}".encode())
        if answer.resp != "NORMAL":
            yield ROLLBACK
            return
    yield SYNCPOINT if random.random() < 0.8 else ROLLBACK


# -- running a workload -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class WorkloadRun:
    """What a workload has found.

    Attributes:
        verdict: the result of the history checker.
        problems: what the workload itself found wrong, such as a total of a bank.
        events: the history that was checked.
        responses: how often each response came, by command and response.
    """

    verdict: Verdict
    problems: tuple[str, ...]
    events: tuple[Event, ...]
    responses: Counter[tuple[str, str]]

    @property
    def correct(self) -> bool:
        """Whether nothing was wrong."""
        return not self.verdict.anomalies and not self.problems

    def check(self) -> WorkloadRun:
        """Raise AssertionError if anything is wrong."""
        assert self.correct, str(self)
        return self

    def __str__(self) -> str:
        """A summary, and what is wrong."""
        return "\n".join([str(self.verdict), *(f"  {each}" for each in self.problems)])


def run_workload(
    workload: Workload,
    target: WorkloadTarget,
    *,
    seed: int = 0,
    faults: Sequence[Callable[[], object]] = (),
    every: int = 10,
) -> WorkloadRun:
    """Run a workload, and return what was wrong.

    Args:
        workload: the workload.
        target: what it runs against.
        seed: decides what the processes do, in which order, and when faults happen.
        faults: functions without arguments. Each causes a fault at once, or arranges one for the next request: cuts a
            link or a connection, or restarts the region (``target.restart``).
        every: the mean number of requests between two faults.

    Raises:
        UsageError: a queue of the workload is not empty, or its first record cannot be written.
    """
    run = _Run(workload, target, Random(seed))
    run.begin()
    while run.processes:
        if faults and run.random.random() < 1 / every:
            run.random.choice(faults)()
            run.look_for_losses()
        run.step()
    return run.finish()


class _Process:
    """A process, its next operation, and its open unit of work."""

    def __init__(self, number: int, script: Process) -> None:
        self.number = number
        self.script = script
        self.next: WorkloadOperation | None = next(script, None)
        self.unit: Unit | None = None

    def answered(self, answer: Answer) -> None:
        try:
            self.next = self.script.send(answer)
        except StopIteration:
            self.next = None


class _Run:
    def __init__(self, workload: Workload, target: WorkloadTarget, random: Random) -> None:
        self.workload = workload
        self.target = target
        self.random = random
        self.acts: list[Act] = []
        self.problems: Problems = []
        self.responses: Counter[tuple[str, str]] = Counter()
        self.writers: dict[str, _Process] = {}
        self.status: dict[str, str] = {}
        scripts = workload.processes(random, self.problems)
        self.processes = [_Process(number, script) for number, script in enumerate(scripts, 1)]
        self.processes = [each for each in self.processes if each.next is not None]

    def begin(self) -> None:
        for queue in self.workload.queues:
            if self.target.peek(queue):
                raise UsageError(f"queue {queue} is not empty; a workload must know all records of its queues")
            status = self.target.inquire_tdqueue(queue, "RECOVSTATUS").values["RECOVSTATUS"]
            self.status[queue] = "NO" if status == "NOTRECOVABLE" else status
        for queue, record in self.workload.initial.items():
            answer = self._alone(0, WorkloadOperation("WRITEQ TD", queue, record))
            if answer.resp != "NORMAL":
                raise UsageError(f"the first record of queue {queue} cannot be written: {answer.resp}")

    def finish(self) -> WorkloadRun:
        self.look_for_losses()
        final = self._look()
        events = events_of(self.acts, self.status)
        verdict = check_history(events, final=final)
        problems = (*self.problems, *self.workload.at_end(final))
        return WorkloadRun(verdict, problems, tuple(events), self.responses)

    def _look(self) -> dict[str, list[bytes]]:
        found = {queue: self.target.peek(queue) for queue in self.workload.queues}
        self.acts += [Act("LOOK", queue, records=tuple(records)) for queue, records in found.items()]
        return found

    def look_for_losses(self) -> None:
        """Open units of work that were lost are backed out; after a restart, the queues have what was kept."""
        lost = self.target.lost()
        if not lost:
            return
        for process in self.processes:
            if process.unit is not None and process.unit.outcome == OPEN:
                if lost == UNITS:
                    self._back_out(process.number)
                self._ended(process.unit, BACKED_OUT)
        self.writers.clear()
        if lost != UNITS:
            self.acts.append(Act("RESTART", lost))
            self._look()

    def step(self) -> None:
        """Let one process send its next request; not a write that would wait for another process."""
        ready = [each for each in self.processes if not self._would_wait(each)]
        process = self.random.choice(ready or self.processes)
        operation = process.next
        assert operation is not None, "processes that have ended are removed"
        answer = self._do(process, operation) if ready else Answer("QBUSY")
        self.responses[operation.command, answer.resp] += 1
        self.look_for_losses()
        process.answered(answer)
        if process.next is None:
            self._give_up(process)
            self.processes.remove(process)

    def _would_wait(self, process: _Process) -> bool:
        wanted = process.next
        writer = self.writers.get(wanted.queue) if wanted is not None and wanted.command == "WRITEQ TD" else None
        return writer is not None and writer is not process

    def _do(self, process: _Process, operation: WorkloadOperation) -> Answer:
        if operation.command == "BEGIN":
            return self._begin(process)
        if operation.command in ("SYNCPOINT", "ROLLBACK"):
            return self._end(process, commits=operation.command == "SYNCPOINT")
        if process.unit is None:
            return self._alone(process.number, operation)
        if process.unit.outcome != OPEN:
            return Answer("ENDED")
        answer = self._request(operation, process.number, process.unit)
        if operation.command == "WRITEQ TD" and self.status[operation.queue] == "LOGICAL":
            self.writers[operation.queue] = process
        return answer

    def _begin(self, process: _Process) -> Answer:
        if process.unit is not None:
            raise UsageError("a process has begun a unit of work inside another one")
        answer = self.target.begin(process.number)
        if answer.resp == "NORMAL":
            process.unit = Unit(f"{process.number}.{len(self.acts)}", process.number)
        return answer

    def _alone(self, number: int, operation: WorkloadOperation) -> Answer:
        unit = Unit(f"{number}.{len(self.acts)}", number, alone=True)
        unit.ended = len(self.acts)
        return self._request(operation, 0, unit)

    def _request(self, operation: WorkloadOperation, task: int, unit: Unit) -> Answer:
        if operation.command == "WRITEQ TD":
            answer = self.target.writeq_td(operation.queue, operation.record, task=task)
        else:
            answer = self.target.readq_td(operation.queue, task=task, nosuspend=True)
        data = operation.record or answer.data
        self.acts.append(Act(operation.command, operation.queue, data, unit, answer.resp))
        return answer

    def _end(self, process: _Process, *, commits: bool) -> Answer:
        """End a unit of work. If its commit is not answered, it is backed out: that may tell that it was still open."""
        unit, process.unit = process.unit, None
        self.writers = {queue: writer for queue, writer in self.writers.items() if writer is not process}
        if unit is None or unit.outcome != OPEN:
            self.target.end(process.number)
            return Answer("ENDED")
        answer = self.target.syncpoint(task=process.number) if commits else self._back_out(process.number)
        if not commits or answer.resp not in ("NORMAL", UNKNOWN):
            self._ended(unit, BACKED_OUT)
        elif answer.resp == "NORMAL":
            self._ended(unit, COMMITTED)
        else:
            self._ended(unit, BACKED_OUT if self._back_out(process.number).resp == "NORMAL" else UNKNOWN)
        self.target.end(process.number)
        return answer

    def _back_out(self, task: int) -> Answer:
        for _ in range(_TRIES):
            answer = self.target.rollback(task=task)
            if answer.resp != UNKNOWN:
                break
        return answer

    def _ended(self, unit: Unit, outcome: str) -> None:
        unit.outcome = outcome
        unit.ended = len(self.acts)
        self.acts.append(Act("END", unit=unit))

    def _give_up(self, process: _Process) -> None:
        if process.unit is not None:
            self._end(process, commits=False)
