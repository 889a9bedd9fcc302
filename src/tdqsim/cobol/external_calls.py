"""CALLs of programs that are not there, such as MQOPEN or an assembler routine: a test answers them.

A stub names the program. While there is one, all CALLs of that program go to the stubs, even if the region has a
program of that name. A CALL that no stub answers ends the task.

>>> from tdqsim.cobol import CallAnswer, CallStub
>>> CallStub("MQOPEN", CallAnswer({"WS-REASON": 2035, 5: 2})).called
'MQOPEN'
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from struct import unpack_from
from typing import Any, Final

from tdqsim.cics import Abend
from tdqsim.cobol._libcob import HEADING, STAND_INS
from tdqsim.cobol.fields import FLOOR, Areas
from tdqsim.cobol.sql_values import ArgumentValue, CobolArgument, argument, is_value
from tdqsim.cobol.stubs import Answered, AnyStub, Unserved, first_answer
from tdqsim.cobol.translate import ProgramCall
from tdqsim.errors import UsageError

_NUMBERS: Final[dict[str, int]] = {}
"""The number of the function that stands in for each program. The functions belong to the process."""
_SIZE: Final = 8


@dataclass(frozen=True, slots=True)
class CallAnswer:
    """The result of a CALL.

    Attributes:
        values: values of parameters, by name or by position from 1.
        return_code: the RETURN-CODE.
        abend: an abend code of four characters, with which the CALL ends the task instead.
    """

    values: Mapping[str | int, ArgumentValue] = field(default_factory=dict)
    return_code: int = 0
    abend: str = ""


class ExternalCall:
    """One execution of a CALL.

    Attributes:
        program: the called program.
        place: the user's file and line.
        parameters: the parameters in order; None for one that is omitted or has no address.
        inputs: their values by name, or by position from 1 where a parameter has no name of its own.
    """

    def __init__(self, program: str, place: str, names: Sequence[str], areas: Areas, level: Answered) -> None:
        self.program = program
        self.place = place
        self.level = level
        self.parameters: list[CobolArgument | None] = []
        self.inputs: dict[str | int, Any] = {}
        programs = tuple(level.programs())
        for at, name in enumerate(names):
            given = areas.rows[at * 5] >= FLOOR
            parameter = argument(name, areas[at], programs) if given else None
            self.parameters.append(parameter)
            named = parameter is not None and parameter.items and parameter.name not in self.inputs
            self.inputs[parameter.name if parameter is not None and named else at + 1] = (
                None if parameter is None else parameter.value()
            )

    def __str__(self) -> str:
        names = " ".join("OMITTED" if each is None else each.name for each in self.parameters)
        return f"CALL '{self.program}'{f' USING {names}' if names else ''}"

    def put(self, which: str | int, value: ArgumentValue) -> None:
        """Give a parameter a value.

        Raises:
            UsageError: there is no such parameter, or the value does not fit.
        """
        found = None
        if isinstance(which, int) or which.isdigit():
            found = self.parameters[int(which) - 1] if 0 < int(which) <= len(self.parameters) else None
        else:
            found = next((each for each in self.parameters if each is not None and each.name == which.upper()), None)
        if found is None:
            names = ", ".join(f"{at} {each.name}" for at, each in enumerate(self.parameters, 1) if each is not None)
            raise UsageError(f"{self} has no parameter {which}; it has {names or 'none'}")
        found.put(value)


class CallStub(AnyStub):
    """CALLs that a test answers.

    Args:
        called: the called program.
        answer: the answer, or a function that takes the :class:`ExternalCall` and returns a CallAnswer, or
            NotImplemented to leave the CALL to the next stub.
        where: values of parameters, by name or by position from 1.
        program: the program that issues the CALL.
        transaction: the transaction id of its task.
        count: which of the matching CALLs are answered: ``3``, ``"2-4"``, ``"5-"``; all when empty.

    Attributes:
        calls: the values that the parameters of each answered CALL had, by name, or by position from 1 for a literal.
    """

    def __init__(
        self,
        called: str,
        answer: CallAnswer | Callable[[ExternalCall], object],
        *,
        where: Mapping[str | int, ArgumentValue] | None = None,
        program: str = "",
        transaction: str = "",
        count: int | str = "",
    ) -> None:
        super().__init__(program=program, transaction=transaction, count=count)
        self.called = called.upper()
        self.answer = answer
        self.where = dict(where or {})
        self.calls: list[dict[str | int, Any]] = []

    def takes(self, call: ExternalCall) -> bool:
        """Whether the stub answers a CALL; counts the CALLs that match."""
        return (
            self.called == call.program
            and all(_has(call, which, value) for which, value in self.where.items())
            and self.concerns(call.level)
            and self.counts()
        )


def _has(call: ExternalCall, which: str | int, value: ArgumentValue) -> bool:
    at = int(which) if isinstance(which, int) or which.isdigit() else 0
    if at:
        found = call.parameters[at - 1] if at <= len(call.parameters) else None
    else:
        found = next((each for each in call.parameters if each is not None and each.name == str(which).upper()), None)
    return found is not None and is_value(found.value(), value)


def stand_in(level: Answered, name: str) -> int:
    """The address of the function that stands in for a program; 0 when no stub answers its CALLs.

    Raises:
        UsageError: too many programs have stubs in this process.
    """
    if not any(isinstance(each, CallStub) and each.called == name for each in level.settings.stubs):
        return 0
    number = _NUMBERS.setdefault(name, len(_NUMBERS))
    if number >= STAND_INS:
        raise UsageError(f"CALL '{name}': stubs can answer the CALLs of at most {STAND_INS} programs in a process")
    return level.libcob.stand_in(number)


def _written(calls: Iterable[ProgramCall], place: str, name: str, count: int) -> tuple[str, ...]:
    """The parameters of the current CALL as its program has written them, or their numbers if unknown."""
    at_place = [each for each in calls if str(each.place) == place]
    named = [each for each in at_place if each.program.strip("'\"").upper() == name] or at_place
    written = next((each.written for each in named if len(each.written) >= count), ())
    return written[:count] or tuple(map(str, range(1, count + 1)))


def answer_call(level: Answered, number: int) -> None:
    """Answer the CALL whose parameters are in the run-time's table.

    Raises:
        Unserved: no stub answers it. Abend: the answer is an abend. UsageError: a value does not fit its parameter.
    """
    table = level.libcob.table
    name = next(name for name, each in _NUMBERS.items() if each == number)
    place = level.libcob.place(table[1])
    count = table[0]
    written = _written(level.module_of(table[1]).calls, place, name, count)
    rows = unpack_from(f"{5 * count}q", table, HEADING * _SIZE)
    call = ExternalCall(name, place, written, Areas(level.libcob, rows, written), level)
    taking = [each for each in level.settings.stubs if isinstance(each, CallStub) and each.takes(call)]
    answer = first_answer(taking, CallAnswer, lambda: call.inputs, call)
    if not isinstance(answer, CallAnswer):
        raise Unserved(f"{place}: {call} (program {level.issuer}): no CallStub answers it")
    if answer.abend:
        raise Abend(answer.abend, detail=f"the answer of a stub for {call}")
    for which, value in answer.values.items():
        call.put(which, value)
    table[0] = answer.return_code
