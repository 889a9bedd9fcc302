"""Stubs: a test answers commands of COBOL programs instead of the region.

A stub names a command. It may be limited to a program, a transaction, values of options, and the number of the command
among the matching ones: "the third READQ TD of PAYQ ends with IOERR". The first stub in the list that matches answers;
a command that no stub and no function of ``verbs`` answers goes to the region.

>>> from tdqsim.cobol import StubAnswer, Stub
>>> Stub("READQ TD", StubAnswer(resp="IOERR"), where={"QUEUE": "PAYQ"}, count=3).count
'3'

An answer contains data for the options that receive it (INTO, SET, LENGTH, ...), fields of the EIB, and the condition.
The condition has the same effect as one raised by the region: RESP, NOHANDLE, HANDLE CONDITION and the default action
apply. Data of variable length also sets the option for its length, unless the answer has it: INTO and SET set LENGTH,
FLENGTH or TOLENGTH, and in WEB commands HOST sets HOSTLENGTH, PATH sets PATHLENGTH, VALUE sets VALUELENGTH, and so on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from tdqsim.cics import Abend, Condition, Task
from tdqsim.cobol._libcob import Libcob
from tdqsim.cobol.compiler import Module
from tdqsim.cobol.fields import Area
from tdqsim.cobol.paragraphs import ParagraphRun
from tdqsim.cobol.program_storage import ProgramStorage
from tdqsim.cobol.storage import TaskStorage
from tdqsim.errors import TdqError, UsageError
from tdqsim.facts import AIDS, CVDAS, Resp, table
from tdqsim.hosting import did_you_mean
from tdqsim.languages import TaskInternals

Value = str | int | bytes
"""A value for an option or for a field of the EIB."""
ListValue = Sequence[int | str]
"""A list for an option that receives its address: SET (task numbers, packed in four bytes) and SETTRANSID (transaction
ids of four characters) of INQUIRE TASK LIST."""
Options = Mapping[str, Area | None]
"""The options of a command with their arguments; None for an option without one."""
_EIB: Final = {row["name"]: row for row in table("eib_fields")}
_NAMES: Final = ("EIBTRMID", "EIBDS", "EIBREQID")
_ADDRESSES: Final = ("SET", "SETTRANSID")
_TASK_DIGITS: Final = 7
_RECORDS: Final = ("INTO", *_ADDRESSES)
_LENGTHS: Final = {
    "INTO": ("LENGTH", "FLENGTH", "TOLENGTH"),
    "SET": ("LENGTH", "FLENGTH", "TOLENGTH"),
    "FORMFIELD": ("NAMELENGTH",),
    "HOST": ("HOSTLENGTH",),
    "HTTPHEADER": ("NAMELENGTH",),
    "HTTPMETHOD": ("METHODLENGTH",),
    "HTTPVERSION": ("VERSIONLEN",),
    "PATH": ("PATHLENGTH",),
    "QUERYSTRING": ("QUERYSTRLEN",),
    "REPLY": ("REPLYLENGTH",),
    "STATUSTEXT": ("STATUSLEN",),
    "VALUE": ("VALUELENGTH",),
}
"""The options that return the length of the data of an option."""
_COUNT: Final = re.compile(r"(?P<first>[1-9]\d*)(?P<to>-(?P<last>[1-9]\d*)?)?")
_LATIN: Final = "latin-1"


class Unserved(TdqError):
    """A program has issued a command that the simulator does not support, and there is no function for it."""


class Issuer(Protocol):
    """The level whose program issued a command, for a stub.

    Attributes:
        task: its task.
        storage: the storage of the task's programs.
        libcob: the run-time.
    """

    task: Task
    storage: TaskStorage
    libcob: Libcob

    @property
    def issuer(self) -> str:
        """The PROGRAM-ID of the program that issued the command."""

    def mark_eib(self, offset: int, data: bytes) -> None:
        """Set an indicator of the EIB until the next command."""


class StubSettings(Protocol):
    """The settings of the programs of a region, for stubs.

    Attributes:
        stubs: the stubs in the order in which they are tried.
        paragraph: the paragraph that a test runs now, or None.
    """

    stubs: list[AnyStub]
    paragraph: ParagraphRun | None


class Answered(Issuer, Protocol):
    """The level whose program executes an SQL statement or a CALL, for a stub.

    Attributes:
        libcob: the run-time.
        statement: the text of an SQL statement for the function of ``verbs``.
    """

    libcob: Libcob
    statement: str

    @property
    def settings(self) -> StubSettings:
        """The settings of its programs."""

    @property
    def verbs(self) -> Mapping[str, Callable[..., object]]:
        """The functions that answer commands by their verbs."""

    def programs(self) -> Iterator[ProgramStorage]:
        """The items of its programs, those of the current program first."""

    def room_from(self, address: int) -> int:
        """Bytes from an address to the end of its area; 0 when no known area has it."""

    def module_of(self, module: int) -> Module:
        """The compiled program of a running program."""


@dataclass(frozen=True, slots=True)
class StubAnswer:
    r"""The results of a command for its program.

    Attributes:
        values: by option: bytes, text, or a number. Text is padded with blanks to the length of its area, except for
            INTO; for an area that is a number, it is a number or the name of a CVDA; SET and SETTRANSID take a list.
        resp: the condition; NORMAL for none.
        resp2: RESP2, -2147483648 to 2147483647.
        eib: fields of the EIB by name, such as ``{"EIBAID": "PF3", "EIBEOC": b"\xff"}``. Indicators such as EIBEOC are
            reset to X'00' by the next command.
        abend: an abend code of four characters, with which the command ends the task instead.

    Raises:
        UsageError: there is no such condition or field of the EIB.
    """

    values: Mapping[str, Value | ListValue] = field(default_factory=dict)
    resp: str = "NORMAL"
    resp2: int = 0
    eib: Mapping[str, Value] = field(default_factory=dict)
    abend: str = ""

    def __post_init__(self) -> None:
        if self.resp not in Resp.__members__:
            raise UsageError(f"there is no condition {self.resp!r}{_near(self.resp, Resp.__members__)}")
        for name in self.eib:
            if name not in _EIB:
                raise UsageError(f"{name!r} is not a field of the EIB that a stub can set{_near(name, _EIB)}")


def _near(name: str, known: Mapping[str, Any]) -> str:
    return did_you_mean(name, known, 3) or f"; there are {', '.join(known)}"


class AnyStub:
    """What all stubs have in common: whose statements they answer, and which of those.

    Args:
        program: the program that issues the statement.
        transaction: the transaction id of its task.
        count: which of the matching statements are answered: ``3``, ``"2-4"``, ``"5-"``; all when empty.

    Raises:
        UsageError: the count has another form.

    Attributes:
        answer: the answer, or a function that gives one, or NotImplemented.
        calls: what each answered statement passed.
    """

    answer: Any
    calls: list[Any]

    def __init__(self, *, program: str = "", transaction: str = "", count: int | str = "") -> None:
        self.program = program.upper()
        self.transaction = transaction
        self.count = str(count)
        match = _COUNT.fullmatch(self.count)
        if self.count and match is None:
            raise UsageError(f"count {self.count!r} is not like 3, 2-4 or 5-")
        self._first = int(match["first"]) if match else 1
        self._last = int(match["last"] or 0) if match and match["to"] else self._first if match else 0
        self._fitted = 0

    def concerns(self, level: Issuer) -> bool:
        """Whether it may answer statements of a program and task."""
        if self.program and self.program != level.issuer:
            return False
        return not self.transaction or self.transaction == level.task.eib.eibtrnid

    def counts(self) -> bool:
        """Count a statement that matches; returns whether it is one of those that are answered."""
        self._fitted += 1
        return self._fitted >= self._first and (not self._last or self._fitted <= self._last)


def first_answer(
    taking: Iterable[AnyStub], kind: type, inputs: Callable[[], dict[Any, Any]], *arguments: object
) -> object:
    """The answer of the first stub that has one; NotImplemented if none has.

    Args:
        taking: the stubs that take the statement. All are to be asked whether they take it, because each counts the
            statements that it fits.
        kind: the type of an answer; anything else is a function.
        inputs: what the stubs note that the statement passed.
        arguments: the arguments of the functions.
    """
    for stub in taking:
        stub.calls.append(inputs())
        answer: object = stub.answer if isinstance(stub.answer, kind) else stub.answer(*arguments)
        if answer is not NotImplemented:
            return answer
    return NotImplemented


class Stub(AnyStub):
    """A command that a test answers.

    Args:
        command: its words, such as ``READQ TD`` or ``WEB OPEN``; it matches each command that begins with the first
            word and contains the others.
        answer: the answer, or a function that takes the options and the level and returns a StubAnswer, a Condition,
            None (the command ends normally) or NotImplemented (the region does the command).
        where: values of options, compared as text without trailing blanks or as numbers; a number may be the name
            of a CVDA.
        program: the program that issues it.
        transaction: the transaction id of its task.
        count: which of the matching commands are answered: ``3``, ``"2-4"``, ``"5-"``; all when empty.

    Attributes:
        calls: the values of the options of each command that was answered, as bytes; None for options without one.
    """

    def __init__(
        self,
        command: str,
        answer: StubAnswer | Callable[..., object],
        *,
        where: Mapping[str, str | int] | None = None,
        program: str = "",
        transaction: str = "",
        count: int | str = "",
    ) -> None:
        super().__init__(program=program, transaction=transaction, count=count)
        self.command = command
        self.words = command.upper().split()
        if not self.words:
            raise UsageError("a stub needs the words of a command, such as READQ TD")
        self.answer = answer
        self.where = {name.upper(): value for name, value in (where or {}).items()}
        self.calls: list[dict[str, bytes | None]] = []

    def __repr__(self) -> str:
        return f"Stub({self.command!r}, where={self.where}, count={self.count!r})"

    def takes(self, level: Issuer, words: frozenset[str], options: Options) -> bool:
        """Whether the stub answers a command; counts the commands that match."""
        return self._fits(level, words, options) and self.counts()

    def _fits(self, level: Issuer, words: frozenset[str], options: Options) -> bool:
        if not words.issuperset(self.words) or next(iter(options)) != self.words[0]:
            return False
        if not self.concerns(level):
            return False
        return all(name in options and _is(options[name], value) for name, value in self.where.items())


def _is(area: Area | None, value: str | int) -> bool:
    """Whether an option has a value."""
    if area is None:
        return value in ("", "YES")
    if area.numeric:
        return area.number == value or str(area.number) == str(CVDAS.get(str(value), value))
    return area.read().decode(_LATIN).rstrip(" \0") == str(value)


# -- giving an answer ------------------------------------------------------------------------------------------------


def give(level: Issuer, name: str, options: Options, answer: object, *, nohandle: bool) -> None:
    """End a command with an answer.

    Args:
        level: the level whose program issued it.
        name: the command.
        options: its options.
        answer: a StubAnswer, a Condition, or any other value for the normal end.
        nohandle: whether a condition is not raised.

    Raises:
        Condition: the program does not handle it.
        Abend: the answer is an abend.
        UsageError: a value does not fit its area.
    """
    task = level.task
    TaskInternals(task).completed(name)
    condition = answer if isinstance(answer, Condition) else None
    eib: Mapping[str, Value] = {}
    if isinstance(answer, StubAnswer):
        _put_values(level, options, answer.values)
        if answer.abend:
            raise Abend(answer.abend, detail=f"the answer of a stub for {name}")
        eib = answer.eib
        if answer.resp != "NORMAL" or answer.resp2:
            condition = Condition(Resp[answer.resp], answer.resp2, "the answer of a stub", rule="")
    try:
        if condition is not None:
            TaskInternals(task).respond(condition, name, nohandle=nohandle)
    finally:
        for field_name, value in eib.items():
            _put_eib(level, field_name, value)


def _put_values(level: Issuer, options: Options, values: Mapping[str, Value | ListValue]) -> None:
    """Put the values into the areas of the options, and the length of a record."""
    for name, value in values.items():
        area = options.get(name)
        if area is None:
            raise UsageError(
                f"the answer has {name}, which is not an option of the command; its options are {', '.join(options)}"
            )
        data: Value
        if not isinstance(value, str | int | bytes):
            if name not in _ADDRESSES:
                raise UsageError(f"{name} does not receive the address of a list: {value!r}")
            data = b"".join(_listed(name, each) for each in value)
        else:
            data = value.encode(_LATIN, "replace") if isinstance(value, str) and name in _RECORDS else value
        if name in _ADDRESSES and isinstance(data, bytes):
            area.point(level.storage.hold(level.libcob, ("stub", area.address), data))
        else:
            put(area, data)
        for length in _LENGTHS.get(name, ()):
            room = options.get(length)
            if room is not None and length not in values and not room.written[:1].isdigit():
                put(room, len(data) if isinstance(data, str | bytes) else area.size)


def _listed(option: str, value: int | str) -> bytes:
    """An element of a list: of SET a task number in packed decimal, of SETTRANSID a transaction id."""
    if option != "SET":
        return str(value).encode(_LATIN, "replace")[:4].ljust(4)
    if not (number := str(value)).isdecimal() or len(number) > _TASK_DIGITS:
        raise UsageError(f"SET lists numbers of tasks, of at most {_TASK_DIGITS} digits, not {value!r}")
    return bytes.fromhex(f"{int(number):0{_TASK_DIGITS}d}C")


def put(area: Area, value: Value) -> None:
    """Put a value into an area, in the form that the program declares.

    Raises:
        UsageError: for an area that is a number: the text is neither a number nor the name of a CVDA, or the number is
            too large.
    """
    if isinstance(value, str) and area.numeric:
        value = _number(area, value)
    if isinstance(value, str):
        area.fill(value.encode(_LATIN, "replace")[: area.size].ljust(area.size))
    elif isinstance(value, bytes):
        area.fill(value[: area.size])
    else:
        try:
            area.fill(_digits(area, value))
        except (OverflowError, ValueError) as error:
            raise UsageError(f"{value} does not fit into {area.written}, which has {area.size} bytes") from error


def _number(area: Area, text: str) -> int:
    if re.fullmatch(r"[-+]?\d+", text):
        return int(text)
    if text in CVDAS:
        return CVDAS[text]
    raise UsageError(f"{text!r} does not fit into {area.written}: it is neither a number nor the name of a CVDA")


def _digits(area: Area, value: int) -> bytes:
    """A number in the form that the program declares."""
    if area.packed:
        return bytes.fromhex(f"{abs(value):0{area.size * 2 - 1}d}{'D' if value < 0 else 'C'}")
    if area.numeric and not area.binary:
        digits = f"{abs(value):0{area.size}d}"
        if len(digits) > area.size:
            raise OverflowError(value)
        return (digits if value >= 0 else digits[:-1] + "}JKLMNOPQR"[int(digits[-1])]).encode("ascii")
    return value.to_bytes(area.size, "big" if area.swapped or not area.binary else "little", signed=value < 0)


def _put_eib(level: Issuer, name: str, value: Value) -> None:
    """Set a field of the EIB."""
    row = _EIB[name]
    size, kind = int(row["length"]), row["kind"]
    if kind == "binary":
        data = int(value).to_bytes(size, "big")
    elif isinstance(value, bytes):
        data = value[:size].ljust(size, b"\0")
    elif name == "EIBAID" and value in AIDS:
        data = AIDS[str(value)]
    else:
        data = str(value).encode(_LATIN, "replace")[:size].ljust(size)
    text = data.decode(_LATIN).rstrip()
    eib = level.task.eib
    if name == "EIBFN":
        eib.last = eib.last._replace(fn=data)
    elif name == "EIBRCODE":
        eib.last = eib.last._replace(rcode=data)
    elif name == "EIBRSRCE":
        eib.last = eib.last._replace(rsrce=text)
    elif name == "EIBCPOSN":
        eib.eibcposn = int.from_bytes(data, "big")
    elif name == "EIBAID":
        eib.eibaid = data
    elif name in _NAMES:
        setattr(eib, name.lower(), text)
    else:
        level.mark_eib(int(row["offset"]), data)
