"""CECI: commands that a user types one after another in one task.

:func:`ceci` executes one command; ``session(region)`` starts a task that lasts until :meth:`CeciSession.end`. A command
may begin with the word CECI. Words may be abbreviated to a unique prefix, values need no quotes, names that begin with
``&`` are variables of the session, receivers need no variable, and no condition is raised: the result of every command
has RESPONSE, EIBRESP and EIBRESP2, as CECI's screen shows them. Source: CECI (IBM Docs).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from tdqsim.cics.kernel.conditions import TaskReturn, is_published
from tdqsim.cics.text.host_variables import Received
from tdqsim.cics.text.parts import check_region, task_of
from tdqsim.cics.text.run_text import run_text
from tdqsim.cics.text.translator import Resolved, resolve
from tdqsim.core.argument_types import explains_wrong_types
from tdqsim.errors import UsageError
from tdqsim.facts import Cvda, Resp

if TYPE_CHECKING:
    from tdqsim.cics.commands import Task
    from tdqsim.cics.model.region import RegionBase

_COMPLETE = "COMMAND EXECUTION COMPLETE"
_CHECK = "COMMAND SYNTAX CHECK"
_END = "END-EXEC"


@dataclass(frozen=True, slots=True)
class CeciResult:
    """The result of one command.

    Attributes:
        command: the command as typed.
        name: the command's name, such as ``WRITEQ TD``.
        response: the condition (EIBRESP).
        resp2: EIBRESP2.
        received: the values of the receivers by option; records are bytes.
        text: the screen as text.
    """

    command: str
    name: str
    response: Resp
    resp2: int
    received: Received
    text: str

    def as_dict(self) -> Received:
        """The result as values for JSON: CVDAs by name, bytes in hexadecimal."""
        return {
            "command": self.command,
            "name": self.name,
            "response": self.response.name,
            "eibresp": int(self.response),
            "eibresp2": self.resp2,
            "received": {word: _jsonable(value) for word, value in self.received.items()},
        }


def _jsonable(value: object) -> Any:
    if isinstance(value, Cvda):
        return value.name
    if isinstance(value, bytes):
        return value.hex().upper()
    return value.rstrip() if isinstance(value, str) else value


@dataclass(slots=True)
class CeciSession:
    """One CECI transaction.

    Attributes:
        region: the region in which the commands run.
        variables: the session's variables by name with their ``&``.
    """

    region: RegionBase
    variables: Received = field(default_factory=dict)
    _task: Task | None = None

    def __post_init__(self) -> None:
        if self._task is None:
            self._task = task_of(self.region._core, "CECI")
            self._task.__enter__()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _t: TracebackType | None) -> None:
        if self._task is None:
            return
        if kind is None:
            self.end()
        else:
            task, self._task = self._task, None
            task.__exit__(kind, error, None)

    @explains_wrong_types
    def execute(self, command: str) -> CeciResult:
        """Execute one command. RETURN ends the session.

        Raises:
            TranslationError: the text is not a command; nothing was executed.
            UsageError: the session has ended.
        """
        task = self._open_task()
        text = _typed("CECI", command)
        resolved = resolve(text, bare=True)
        try:
            received = run_text(task, _with_receivers(resolved, text), self.variables, bare=True, quiet=True)
        except TaskReturn:
            received = {}
            self.end()
        response, resp2 = task.eib.eibresp, task.eib.eibresp2
        shown = self._screen(command, resolved.command.name, received, response, resp2)
        return CeciResult(command, resolved.command.name, response, resp2, received, shown)

    @explains_wrong_types
    def check(self, command: str) -> str:
        """Check the syntax of a command without executing it, as CECS does, and return the screen.

        Raises:
            TranslationError: the text is not a command.
        """
        resolved = resolve(_typed("CECS", command), bare=True)
        return f" {command}\n STATUS:  {_CHECK}\n  EXEC CICS {resolved.command.name}"

    def end(self) -> None:
        """End the transaction: its unit of work is committed."""
        task = self._open_task()
        self._task = None
        task.__exit__(None, None, None)

    def _open_task(self) -> Task:
        if self._task is None:
            raise UsageError("the CECI session has ended; start another")
        return self._task

    def _screen(self, command: str, name: str, received: Received, response: Resp, resp2: int) -> str:
        page = self.region._core.codepage
        lines = [f" {command}", f" STATUS:  {_COMPLETE}", f"  EXEC CICS {name}"]
        for word, value in received.items():
            shown = page.printable(value) if isinstance(value, bytes) else _shown(value)
            lines.append(f"   {word.capitalize()}( {shown} )")
        lines.append(f"   RESPONSE: {response.name:<13} EIBRESP={int(response):+011d} EIBRESP2={resp2:+011d}")
        if not is_published(resp2):
            lines.append("   RESP2 not published: the number above stands for one that no page gives")
        return "\n".join(lines)


def _typed(transaction: str, command: str) -> str:
    """The text with a leading transaction name replaced by blanks, so that columns in messages stay correct."""
    typed = command.lstrip()
    start = len(command) - len(typed)
    rest = typed[len(transaction) :]
    if typed[: len(transaction)].upper() != transaction or not rest[:1].isspace():
        return command
    return f"{command[:start]}{' ' * len(transaction)}{rest}"


def _with_receivers(resolved: Resolved, command: str) -> str:
    """Add the receivers that the command does not name, so that the screen shows their values."""
    given = {option.word for _declared, option in (*resolved.sends, *resolved.receives)}
    if resolved.command.name == "INQUIRE TDQUEUE" and not resolved.receives:
        words = list(resolved.command.receives)
    elif "INTO" not in resolved.command.receives or given & {"INTO", "SET"}:
        return command
    else:
        words = ["INTO"] if "LENGTH" in given else ["INTO", "LENGTH"]
    text = command.rstrip().rstrip(".")
    ended = text.upper().endswith(_END)
    return f"{text[: -len(_END)] if ended else text} {' '.join(words)}"


def _shown(value: object) -> str:
    """A value as CECI shows it: numbers and CVDAs as numbers, text in quotes."""
    return f"{int(value):+011d}" if isinstance(value, int) else f"'{value}'"


def session(region: RegionBase, variables: Received | None = None, *, task: Task | None = None) -> CeciSession:
    """Start a CECI transaction in a region.

    Args:
        region: the region.
        variables: variables to begin with, by name with their ``&``.
        task: an existing task in which to issue the commands; it continues after the session.
    """
    check_region(region, "ceci")
    return CeciSession(region, {} if variables is None else variables, task)


def ceci(region: RegionBase, text: str, variables: Received | None = None, *, task: Task | None = None) -> CeciResult:
    """Execute one CECI command; see :func:`session` for the arguments, and :meth:`CeciSession.execute`."""
    if task is not None:
        return session(region, variables, task=task).execute(text)
    with session(region, variables) as alone:
        return alone.execute(text)
