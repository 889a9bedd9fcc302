"""Test bodies that can run against a real region as well: a small target, and the transcript of what it answered.

A test marked ``verified`` talks to ``tdq_target`` only. By default that is the simulator. Somebody who has a real
region writes a target for it - an object with the methods of :class:`Target`, over whatever reaches the region: a CICS
web service, a 3270 session with CECI, a bridge - and runs the same bodies::

    pytest -m verified --tdq-target mysite:make_target --tdq-transcript real.jsonl

The transcript holds every call and its answer. :func:`compare_transcript` runs it against the simulator and says where
the two differ; it is what to send back.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from tdqsim.errors import TdqError
from tdqsim.facts import Resp

if TYPE_CHECKING:
    from tdqsim.cics import Region, Task

__all__ = ["Answer", "Call", "Difference", "SimulatedTarget", "Target", "Transcript", "compare_transcript"]

_OPERATIONS = ("writeq_td", "readq_td", "deleteq_td", "inquire_tdqueue", "syncpoint", "rollback", "begin", "end")


class Answer(NamedTuple):
    """What a request was answered with.

    Attributes:
        resp: the name of the condition.
        resp2: RESP2.
        data: the record of READQ, also one that was cut off; empty otherwise.
        values: what INQUIRE gave, by option; numbers and names.
    """

    resp: str
    resp2: int = 0
    data: bytes = b""
    values: dict[str, Any] = {}  # noqa: RUF012  (never changed)


class Target(Protocol):
    """What verified tests run against. A *task* is a number that the test chooses; one may be open beside others.

    A request of a task that has not begun is a task of its own, committed at once.
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
    """The simulator as a target."""

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

    def _do(self, task: int, act: Callable[[Task], Any]) -> tuple[Answer, Any]:
        if task:
            return self._answer(self._tasks[task], act)
        alone = self.region.task().__enter__()
        found = self._answer(alone, act)
        alone.__exit__(None, None, None)
        return found

    @staticmethod
    def _answer(task: Task, act: Callable[[Task], Any]) -> tuple[Answer, Any]:
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
        answer, info = self._do(0, lambda t: t.inquire_tdqueue(queue, *options, nohandle=True))
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
    """One line of a transcript.

    Attributes:
        test: the test it belongs to.
        operation: a method of :class:`Target`.
        arguments: those given by position; records as hexadecimal in ``{"hex": ...}``.
        options: those given by name.
        answer: what came back.
    """

    test: str
    operation: str
    arguments: tuple[Any, ...]
    options: dict[str, Any]
    answer: Answer

    def as_json(self) -> str:
        """The line."""
        arguments = [{"hex": each.hex()} if isinstance(each, bytes) else each for each in self.arguments]
        answer = {**self.answer._asdict(), "data": self.answer.data.hex()}
        record = {"test": self.test, "operation": self.operation, "arguments": arguments, "options": self.options}
        return json.dumps({**record, "answer": answer})


class Transcript:
    """A target that writes down what another one answers.

    Attributes:
        calls: the calls so far.
    """

    def __init__(self, target: Target, test: str) -> None:
        self.calls: list[Call] = []
        self._target = target
        self._test = test

    def __getattr__(self, name: str) -> Any:
        if name not in _OPERATIONS:
            raise AttributeError(name)
        method = getattr(self._target, name)

        def call(*arguments: Any, **options: Any) -> Answer:
            answer: Answer = method(*arguments, **options)
            self.calls.append(Call(self._test, name, arguments, options, answer))
            return answer

        return call


class Difference(NamedTuple):
    """Where the simulator answers otherwise than the transcript."""

    call: Call
    simulated: Answer

    def __str__(self) -> str:
        """A line for people."""
        what = f"{self.call.operation}{self.call.arguments} {self.call.options or ''}".rstrip()
        return f"{self.call.test}: {what}: the target answered {self.call.answer}, the simulator {self.simulated}"


def load_transcript(path: Path | str) -> list[Call]:
    """The calls of a transcript.

    Raises:
        TdqError: a line is none; the message names it.
    """
    found = []
    for number, line in enumerate(Path(path).read_text("utf-8").splitlines(), 1):
        try:
            record = json.loads(line)
            arguments = tuple(
                bytes.fromhex(each["hex"]) if isinstance(each, dict) else each for each in record["arguments"]
            )
            answer = Answer(**{**record["answer"], "data": bytes.fromhex(record["answer"]["data"])})
            operation = _OPERATIONS[_OPERATIONS.index(record["operation"])]
            found.append(Call(record["test"], operation, arguments, record["options"], answer))
        except (ValueError, KeyError, TypeError) as error:
            raise TdqError(f"{path}:{number}: this is no line of a transcript: {error}") from error
    return found


def compare_transcript(calls: Iterable[Call] | Path | str, make_region: Callable[[], Region]) -> list[Difference]:
    """Make the calls of a transcript on the simulator and say where it answers otherwise.

    Args:
        calls: the calls, or the file.
        make_region: gives a new region for each test of the transcript, with the queues that the real one had.
    """
    found = []
    test, target = None, None
    for call in load_transcript(calls) if isinstance(calls, Path | str) else calls:
        if call.test != test or target is None:
            test, target = call.test, SimulatedTarget(make_region())
        answer = getattr(target, call.operation)(*call.arguments, **call.options)
        if answer != call.answer:
            found.append(Difference(call, answer))
    return found


@contextmanager
def target_for(name: str, make: Callable[[], Region] | None, test: str, file: str) -> Iterator[Any]:
    """The target of one test, written down in a transcript.

    Raises:
        TdqError: ``name`` is no ``module:factory``.
    """
    if make is not None:
        target: Target = SimulatedTarget(make())
    else:
        module, _, factory = name.partition(":")
        try:
            target = getattr(import_module(module), factory)()
        except (ImportError, AttributeError, ValueError) as error:
            raise TdqError(f"--tdq-target {name}: it must be MODULE:FACTORY: {error}") from error
    transcript = Transcript(target, test)
    yield transcript
    if file:
        with Path(file).open("a", encoding="utf-8") as lines:
            lines.writelines(f"{call.as_json()}\n" for call in transcript.calls)
