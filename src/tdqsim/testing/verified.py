"""Tests that can also run against a real region, through a small target; and transcripts of the answers.

A test marked ``verified`` uses only ``tdq_target``. By default that is the simulator. If you have a real region, write
a target for it: an object with the methods of :class:`Target` that reaches the region by a CICS web service, a 3270
session with CECI, or a bridge. Then run the same tests::

    pytest -m verified --tdq-target mysite:make_target --tdq-transcript real.jsonl

The transcript has every call and its answer. :func:`compare_transcript` runs the calls on the simulator and lists the
differences. Send us the transcript. For IBM i see :mod:`~tdqsim.testing.verified_jobs`; one transcript can have both.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from tdqsim.cics import Abend, Condition
from tdqsim.core.symbolic_links import stays_here
from tdqsim.errors import UsageError
from tdqsim.facts import Resp
from tdqsim.ibmi import System
from tdqsim.testing.events import check_head, check_not_empty, format_head
from tdqsim.testing.verified_jobs import JOB_OPERATIONS, JobAnswer, JobTarget, SimulatedJobTarget

if TYPE_CHECKING:
    from tdqsim.cics import Region, Task

T = TypeVar("T")
_OPERATIONS = ("writeq_td", "readq_td", "deleteq_td", "inquire_tdqueue", "syncpoint", "rollback", "begin", "end")


class Answer(NamedTuple):
    """The answer to a request of a verified test.

    Attributes:
        resp: the name of the condition.
        resp2: RESP2.
        data: the record of READQ, even if it was truncated; empty otherwise.
        values: the values of INQUIRE by option, numbers and names.
    """

    resp: str
    resp2: int = 0
    data: bytes = b""
    values: dict[str, Any] = {}  # noqa: RUF012  (never changed)


class Target(Protocol):
    """The target of verified tests. A *task* is a number that the test chooses; several may be open at once.

    A request for a task that was not started is a separate task, which is committed at once.
    """

    def begin(self, task: int) -> Answer:
        """Begin a task."""

    def end(self, task: int) -> Answer:
        """End it normally: its unit of work is committed."""

    def writeq_td(self, queue: str, record: bytes, *, task: int = 0, length: int | None = None) -> Answer:
        """EXEC CICS WRITEQ TD."""

    def readq_td(self, queue: str, *, task: int = 0, length: int | None = None, nosuspend: bool = False) -> Answer:
        """EXEC CICS READQ TD."""

    def deleteq_td(self, queue: str, *, task: int = 0) -> Answer:
        """EXEC CICS DELETEQ TD."""

    def inquire_tdqueue(self, queue: str, *options: str) -> Answer:
        """EXEC CICS INQUIRE TDQUEUE."""

    def syncpoint(self, *, task: int) -> Answer:
        """EXEC CICS SYNCPOINT."""

    def rollback(self, *, task: int) -> Answer:
        """EXEC CICS SYNCPOINT ROLLBACK."""


class SimulatedTarget:
    """The simulator as a target of verified tests of transient data."""

    def __init__(self, region: Region) -> None:
        self.region = region
        self._tasks: dict[int, Task] = {}

    def begin(self, task: int) -> Answer:
        """See :class:`Target`."""
        self._tasks[task] = self.region.task().__enter__()
        return Answer("NORMAL")

    def end(self, task: int) -> Answer:
        """See :class:`Target`."""
        self._tasks.pop(task).__exit__(None, None, None)
        return Answer("NORMAL")

    def _do(self, task: int, act: Callable[[Task], T]) -> tuple[Answer, T]:
        if task:
            return self._answer(self._tasks[task], act)
        alone = self.region.task().__enter__()
        answer, value = self._answer(alone, act)
        try:
            alone.__exit__(None, None, None)
        except Condition as refused:  # its implicit syncpoint was backed out
            answer = Answer(refused.name, refused.resp2)
        except Abend as abend:
            answer = Answer(abend.code)
        return answer, value

    @staticmethod
    def _answer(task: Task, act: Callable[[Task], T]) -> tuple[Answer, T]:
        value = act(task)
        data = value if isinstance(value, bytes) else b""
        return Answer(Resp(task.eib.eibresp).name, task.eib.eibresp2, data), value

    def writeq_td(self, queue: str, record: bytes, *, task: int = 0, length: int | None = None) -> Answer:
        """See :class:`Target`."""
        return self._do(task, lambda t: t.writeq_td(queue, record, length, nohandle=True))[0]

    def readq_td(self, queue: str, *, task: int = 0, length: int | None = None, nosuspend: bool = False) -> Answer:
        """See :class:`Target`."""
        return self._do(task, lambda t: t.readq_td(queue, length, nosuspend=nosuspend, nohandle=True))[0]

    def deleteq_td(self, queue: str, *, task: int = 0) -> Answer:
        """See :class:`Target`."""
        return self._do(task, lambda t: t.deleteq_td(queue, nohandle=True))[0]

    def inquire_tdqueue(self, queue: str, *options: str) -> Answer:
        """See :class:`Target`."""
        wanted: tuple[Any, ...] = options  # other targets may have other options
        answer, info = self._do(0, lambda t: t.inquire_tdqueue(queue, *wanted, nohandle=True))
        if answer.resp != "NORMAL":
            return answer
        values = {option: getattr(info[option], "name", info[option]) for option in options}
        return answer._replace(values=values)

    def syncpoint(self, *, task: int) -> Answer:
        """See :class:`Target`."""
        return self._do(task, lambda t: t.syncpoint())[0]

    def rollback(self, *, task: int) -> Answer:
        """See :class:`Target`."""
        return self._do(task, lambda t: t.syncpoint_rollback())[0]


class Call(NamedTuple):
    """One line of a transcript: a request of a verified test, and its answer.

    Attributes:
        test: the test it belongs to.
        operation: a method of :class:`Target`, or of :class:`~tdqsim.testing.verified_jobs.JobTarget`.
        arguments: those given by position; in the file bytes are ``{"hex": ...}``.
        options: those given by name.
        answer: the answer.
        target: ``cics`` or ``ibmi``.
    """

    test: str
    operation: str
    arguments: tuple[object, ...]
    options: dict[str, object]
    answer: Answer | JobAnswer
    target: str = "cics"

    def as_json(self) -> str:
        """The line."""
        return json.dumps(
            {
                "test": self.test,
                "target": self.target,
                "operation": self.operation,
                "arguments": [_encoded(each) for each in self.arguments],
                "options": {name: _encoded(each) for name, each in self.options.items()},
                "answer": {name: _encoded(each) for name, each in self.answer._asdict().items()},
            }
        )


def _encoded(value: object) -> object:
    return {"hex": bytes(value).hex()} if isinstance(value, bytes | bytearray) else value


def _decoded(value: object) -> object:
    return bytes.fromhex(value["hex"]) if isinstance(value, dict) and value.keys() == {"hex"} else value


class Transcript:
    """A target that records the calls of another target and their answers.

    Attributes:
        calls: the calls so far.
    """

    def __init__(self, target: Target | JobTarget, test: str, kind: str = "cics") -> None:
        self.calls: list[Call] = []
        self._target = target
        self._test = test
        self._kind = kind

    def __getattr__(self, name: str) -> object:
        method = getattr(self._target, name)
        if name not in _KINDS[self._kind][0]:
            return method

        def call(*arguments: object, **options: object) -> Answer | JobAnswer:
            answer: Answer | JobAnswer = method(*arguments, **options)
            self.calls.append(Call(self._test, name, arguments, options, answer, self._kind))
            return answer

        return call


_KINDS: dict[str, tuple[tuple[str, ...], type[Answer | JobAnswer]]] = {
    "cics": (_OPERATIONS, Answer),
    "ibmi": (JOB_OPERATIONS, JobAnswer),
}


class Difference(NamedTuple):
    """A call that the simulator answers differently from the transcript."""

    call: Call
    simulated: Answer | JobAnswer

    def __str__(self) -> str:
        """The difference on one line."""
        what = f"{self.call.operation}{self.call.arguments} {self.call.options or ''}".rstrip()
        return f"{self.call.test}: {what}: the target answered {self.call.answer}, the simulator {self.simulated}"


def load_transcript(path: Path | str) -> list[Call]:
    """Read the calls of a transcript.

    Raises:
        UsageError: a line is not a call, or the file has another format; the message has the line's number.
    """
    calls = []
    check_not_empty("transcript", path)
    for number, line in enumerate(Path(path).read_text("utf-8").splitlines(), 1):
        if check_head("transcript", f"{path}:{number}", f"{line}\n"):
            continue
        try:
            calls.append(_parsed(json.loads(line)))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise UsageError(f"{path}:{number}: this is not a line of a transcript: {error}") from error
    return calls


def _parsed(record: dict[str, Any]) -> Call:
    kind = str(record.get("target", "cics"))
    operations, answer_type = _KINDS[kind]
    operation = operations[operations.index(record["operation"])]
    values = {name: _decoded(value) for name, value in record["answer"].items()}
    answer = answer_type(**{name: _bytes(name, value) for name, value in values.items()})
    options = {str(name): _decoded(value) for name, value in record["options"].items()}
    return Call(str(record["test"]), operation, tuple(map(_decoded, record["arguments"])), options, answer, kind)


def _bytes(name: str, value: Any) -> Any:
    """The bytes of a value in an answer; plain hexadecimal is accepted too."""
    if name in ("data", "key") and not isinstance(value, bytes):
        return bytes.fromhex(value)
    return value


def compare_transcript(
    calls: Iterable[Call] | Path | str,
    make_region: Callable[[], Region] | None = None,
    *,
    make_system: Callable[[], System] | None = None,
) -> list[Difference]:
    """Make the calls of a transcript on the simulator, and list the different answers.

    Args:
        calls: the calls, or the file.
        make_region: returns a new region for each test of the transcript, with the queues of the real one.
        make_system: returns a new system for each test of data queues; by default one without options.

    Raises:
        UsageError: a line of the file is not a call, the target cannot make a call, or ``make_region`` is missing for a
            test of a region.
    """
    differences = []
    test, target = None, None
    for call in load_transcript(calls) if isinstance(calls, Path | str) else calls:
        if (call.test, call.target) != test or target is None:
            _release(target)
            test, target = (call.test, call.target), _simulated(call, make_region, make_system)
        try:
            answer = getattr(target, call.operation)(*call.arguments, **call.options)
        except (TypeError, KeyError, ValueError) as error:
            what = f"{call.operation}{call.arguments}"
            raise UsageError(f"{call.test}: {what} cannot be called: {error!r}") from error
        if not _alike(call, answer):
            differences.append(Difference(call, answer))
    _release(target)
    return differences


def _simulated(
    call: Call, make_region: Callable[[], Region] | None, make_system: Callable[[], System] | None
) -> SimulatedTarget | SimulatedJobTarget:
    if call.target == "ibmi":
        library = str(call.answer.values.get("library", "")) if call.operation == "setup" else ""
        system = make_system() if make_system is not None else System()
        return SimulatedJobTarget(system, library) if library else SimulatedJobTarget(system)
    if make_region is None:
        raise UsageError(f"{call.test}: the transcript has tests of a region: give make_region")
    return SimulatedTarget(make_region())


def _release(target: SimulatedTarget | SimulatedJobTarget | None) -> None:
    if isinstance(target, SimulatedJobTarget):
        target.system.close()


def _alike(call: Call, simulated: Answer | JobAnswer) -> bool:
    """Whether the answers agree; values that name the machine, or that the simulator does not have, are ignored."""
    if call.operation == "setup":
        return True
    if call.operation == "qmhqrdqd" and isinstance(simulated, JobAnswer):
        values = {name: value for name, value in call.answer.values.items() if name in simulated.values}
        return call.answer._replace(values=values) == simulated._replace(
            values={name: value for name, value in simulated.values.items() if name in values}
        )
    return call.answer == simulated


@contextmanager
def target_for(name: str, make: Callable[[], Target | JobTarget], test: str, file: str, kind: str) -> Iterator[Any]:
    """The target of one test, with its transcript.

    Args:
        name: ``module:factory``; empty for the simulator.
        make: returns the simulator's target.
        test: the id of the test.
        file: the transcript; empty for none.
        kind: ``cics`` or ``ibmi``.

    Raises:
        UsageError: ``name`` is not of the form ``module:factory``.
    """
    if not name:
        target = make()
    else:
        module, _, factory = name.partition(":")
        try:
            target = getattr(import_module(module), factory)()
        except (ImportError, AttributeError, ValueError) as error:
            raise UsageError(f"target {name}: it must be MODULE:FACTORY: {error}") from error
    transcript = Transcript(target, test, kind)
    try:
        yield transcript
    finally:
        if file:
            with stays_here(file).open("a", encoding="utf-8") as lines:
                if not lines.tell():
                    lines.write(format_head("transcript"))
                lines.writelines(f"{call.as_json()}\n" for call in transcript.calls)
