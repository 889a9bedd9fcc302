"""Global user exits of transient data: programs that are called at XTDEREQ, XTDREQ, XTDOUT, XTDIN and XTDEREQC.

A request passes the exits in this order::

    XTDEREQ   before the command is executed; may change its values, or bypass it
    XTDREQ    before the request is analysed; may end it with NORMAL or NOTAUTH
    XTDOUT    before a record is passed to a data set or an intrapartition queue; may change or suppress it
    XTDIN     after a record was received from one; may change it
    XTDEREQC  after the command; may change its response and the record that was read

XTDOUT is also called for each line of a message that CICS writes to a queue. While a region has a program at any of
these exits, its directory gives requests an :class:`~tdqsim.cics.queues.exited.Exited` instead of their queue, so that
a region without exit programs never checks for them. A hook and a recorder see the command as the application issued
it.

The parameters and return codes are those of the vendor (``facts/exits.tsv``). Python passes values where CICS passes
addresses. The return code UERCPURG is not accepted: it reports what a call of the XPI returned, and there is no XPI.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from tdqsim.cics.kernel.conditions import Condition
from tdqsim.cics.model.level import NO_HANDLES
from tdqsim.cics.model.region import RegionData
from tdqsim.cics.model.task import TaskData
from tdqsim.core.callables import why_unusable
from tdqsim.errors import UsageError
from tdqsim.facts import table

if TYPE_CHECKING:
    from tdqsim.cics.queues.directory import Directory
    from tdqsim.cics.queues.exited import CommandExit, DataExit, Exited, RequestExit

ExitPoint = Literal["XTDEREQ", "XTDREQ", "XTDOUT", "XTDIN", "XTDEREQC"]
ExitProgram = Callable[[Any], str | None]
"""An exit program: it is called with the parameters of its exit and returns a return code; None is UERCNORM."""
NORMAL: Final = "UERCNORM"
"""The return code of an exit program that asks for nothing."""


@cache
def _codes() -> Mapping[str, list[str]]:
    """The return codes of each exit."""
    codes: dict[str, list[str]] = defaultdict(list)
    for row in table("exits"):
        if row["kind"] == "return code" and row["name"] != "UERCPURG":
            codes[row["exit"]].append(row["name"])
    return codes


class Exits:
    """The exit programs of a region: ``region.programs.exits``. They last until the region ends."""

    def __init__(self, region: RegionData) -> None:
        self._region = region
        self._programs: dict[str, tuple[ExitProgram, ...]] = dict.fromkeys(get_args(ExitPoint), ())
        self._calls: dict[tuple[int, str], int] = {}

    @property
    def enabled(self) -> bool:
        """Whether an exit program is enabled."""
        return any(self._programs.values())

    def programs(self, point: ExitPoint) -> tuple[ExitProgram, ...]:
        """The programs that are enabled at an exit, in the order in which they are called.

        Raises:
            UsageError: there is no such exit.
        """
        if point not in self._programs:
            raise UsageError(f"{point!r} is not an exit; allowed are {', '.join(self._programs)}")
        return self._programs[point]

    def enable(self, point: ExitPoint, program: ExitProgram) -> None:
        """Call a program at an exit from now on, after those that are enabled there (ENABLE PROGRAM EXIT START).

        Args:
            point: XTDEREQ, XTDREQ, XTDOUT, XTDIN or XTDEREQC.
            program: called with a :class:`CommandExit` (XTDEREQ, XTDEREQC), :class:`RequestExit` (XTDREQ) or
                :class:`DataExit` (XTDOUT, XTDIN). It returns the name of a return code; None is UERCNORM. An exception
                that it raises is raised by the command.

        Raises:
            UsageError: there is no such exit, the program cannot be called, or is enabled there already.
        """
        present = self.programs(point)
        if reason := why_unusable(program, "parameters"):
            raise UsageError(f"{point}: {reason}; allowed are functions of the exit's parameters")
        if program in present:
            raise UsageError(f"{point}: {_name(program)} is enabled there already")
        self._programs[point] = (*present, program)
        self._region.directory.refresh_all()

    def disable(self, point: ExitPoint, program: ExitProgram) -> None:
        """Call a program no more at an exit (DISABLE PROGRAM EXIT).

        Raises:
            UsageError: there is no such exit, or the program is not enabled there.
        """
        present = self.programs(point)
        if program not in present:
            raise UsageError(f"{point}: {_name(program)} is not enabled there")
        self._programs[point] = tuple(each for each in present if each != program)
        self._region.directory.refresh_all()

    def call(self, point: ExitPoint, parameters: RequestExit | DataExit | CommandExit) -> str:
        """Call the programs of an exit; the return code that counts.

        Raises:
            UsageError: a program returns a code that its exit does not have, or ends with a condition.
        """
        current = NORMAL
        for number, program in enumerate(self._programs[point]):
            parameters.uepcrca = current
            code = _run(point, program, parameters)
            agreed = number == 0 or code == parameters.uepcrca
            current = code if agreed else NORMAL
        return current

    def call_for_command(self, parameters: CommandExit) -> str:
        """Call the programs at XTDEREQ or XTDEREQC, without the HANDLEs and IGNOREs of the application."""
        task, point = parameters.task, parameters.point
        handles, key = task._handles, (task.number, point)
        task._handles, self._calls[key] = NO_HANDLES, parameters.ueprecur + 1
        try:
            return self.call(point, parameters)  # type: ignore[arg-type]
        finally:
            task._handles = handles
            if parameters.ueprecur:
                self._calls[key] = parameters.ueprecur
            else:
                del self._calls[key]

    def depth(self, task: TaskData, point: ExitPoint) -> int:
        """How many calls of an exit for a task have not ended."""
        return self._calls.get((task.number, point), 0)

    def record_out(self, queue: str, record: bytes, number: int = 1, count: int = 1) -> bytes | None:
        """The record that XTDOUT lets pass to a queue; None for none."""
        if not self._programs["XTDOUT"]:
            return record
        from tdqsim.cics.queues.exited import DataExit  # noqa: PLC0415  (slow to import; few regions have exit programs)

        parameters = DataExit("XTDOUT", queue, record, count, number)
        return None if self.call("XTDOUT", parameters) == "UERCTDOK" else _replaced(parameters)

    def record_in(self, queue: str, record: bytes) -> bytes:
        """The record that XTDIN makes of one received from a queue."""
        if not self._programs["XTDIN"]:
            return record
        from tdqsim.cics.queues.exited import DataExit  # noqa: PLC0415  (slow to import; few regions have exit programs)

        parameters = DataExit("XTDIN", queue, record)
        self.call("XTDIN", parameters)
        return _replaced(parameters)

    def message_lines(self, queue: str, lines: list[bytes]) -> list[bytes]:
        """The lines of a message that XTDOUT lets pass; none if it suppresses the first."""
        passed = []
        for number, line in enumerate(lines, 1):
            record = self.record_out(queue, line, number, len(lines))
            if record is not None:
                passed.append(record)
            elif number == 1:
                return []
        return passed

    def target(self, directory: Directory, name: str, sysid: str | None) -> Exited:
        """The target of requests for a name, while a program is enabled."""
        from tdqsim.cics.queues.exited import Exited  # noqa: PLC0415  (slow to import; few regions have exit programs)

        return Exited(self, directory, name, sysid)


def _name(program: ExitProgram) -> str:
    return getattr(program, "__name__", repr(program))


def _run(point: ExitPoint, program: ExitProgram, parameters: RequestExit | DataExit | CommandExit) -> str:
    try:
        code = program(parameters) or NORMAL
    except Condition as condition:
        raise UsageError(f"{point}: {_name(program)} ended with {condition}; handle it there") from condition
    if code not in _codes()[point]:
        allowed = ", ".join(_codes()[point])
        raise UsageError(f"{point}: {_name(program)} returned {code!r}; allowed are {allowed}")
    return code


def _replaced(parameters: DataExit) -> bytes:
    return parameters.ueptdaud if parameters.ueptdamd is None else bytes(parameters.ueptdamd)
