"""The exceptional ends of a command or program: conditions, abends, and RETURN.

A condition is always a :class:`Condition` object. A command raises it or, under NOHANDLE or RESP, puts its response
into the EIB. A condition that leaves a program unhandled becomes an :class:`Abend` with the condition's AExx code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Final, TypeGuard

from tdqsim import facts
from tdqsim.errors import TdqError, UsageError, bounded
from tdqsim.facts import ABEND_CODES, Resp

if TYPE_CHECKING:
    from tdqsim.cics.model.dump import Dump
    from tdqsim.facts import Rule

AREAS: Final = (bytes, bytearray, memoryview)
"""The types of data that a program may send. A constant, because an inline union would be built at each check."""


@cache
def _placeholders() -> frozenset[int]:
    return frozenset(int(row["resp2"]) for row in facts.table("spi_resp2") if row["source"].startswith("placeholder"))


def is_published(resp2: int) -> bool:
    """Whether an EIBRESP2 is a number of CICS; otherwise it stands for one that no page gives, and is not shown."""
    return resp2 not in _placeholders()


class Condition(TdqError):
    """An exceptional condition of a command. Attributes that few conditions set have defaults in the class.

    Attributes:
        resp: its number, as EIBRESP shows it.
        resp2: the reason, as EIBRESP2 shows it; 0 when the command has none. A number from 901 stands for one that no
            page gives (:func:`is_published`).
        command: the command, such as ``READQ TD``; filled in by the task.
        resource: the resource it was issued for, such as a queue's name.
        data: with LENGERR of READQ TD: the truncated record.
        length: with LENGERR of READQ TD: the length of the whole record; else 0.
        brings: values that the program receives despite the condition, by option, beyond the record of READQ TD.
        taken_by: the label of HANDLE AID that handles it, in preference to any HANDLE CONDITION.
        abend: the abend code if it is not handled, from machine.yaml; empty for the usual one.
        violation: the resource class and the name for which security refused the command; None if it did not, and once
            this was reported.
        rule: the id of the rule that it rests on, if command, condition and RESP2 do not determine it; empty for
            none, as of a planned fault.
        detail: an explanation as text.
    """

    command = ""
    resource = ""
    data = b""
    length = 0
    abend = ""
    brings: Mapping[str, object] | None = None
    taken_by: Callable[[Condition], object] | None = None
    rule: str | None = None
    violation: tuple[str, str] | None = None

    def __init__(
        self,
        resp: Resp,
        resp2: int = 0,
        detail: str = "",
        *,
        command: str = "",
        resource: str = "",
        data: bytes = b"",
        length: int = 0,
        brings: Mapping[str, object] | None = None,
        taken_by: Callable[[Condition], object] | None = None,
        rule: str | None = None,
    ) -> None:
        TdqError.__init__(self, resp, resp2, detail)
        self.resp = resp
        self.resp2 = resp2
        self.detail = detail
        if command:
            self.command = command
        if resource:
            self.resource = resource
        if data:
            self.data = data
        if length:
            self.length = length
        if brings is not None:
            self.brings = brings
        if taken_by is not None:
            self.taken_by = taken_by
        if rule is not None:
            self.rule = rule

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules of behaviour that it rests on, or may rest on; see :func:`tdqsim.facts.rules_of`."""
        if self.rule is None:
            return facts.rules_of(self.name, self.resp2, self.command)
        return (facts.rules()[self.rule],) if self.rule else ()

    @property
    def doubt(self) -> str:
        """A remark on the rules that it rests on, if no vendor source shows them; else empty."""
        return facts.doubt(facts.unconfirmed(self.rules))

    @property
    def name(self) -> str:
        """The condition's name, such as ``QZERO``."""
        return self.resp.name

    @property
    def abend_code(self) -> str:
        """The code of the abend if no program handles it; empty for a condition that CICS ignores by default."""
        return self.abend or ABEND_CODES.get(self.resp, "")

    @property
    def received(self) -> Mapping[str, object] | None:
        """The data for the receivers, by option, such as LENGERR's truncated record and true length; None for none."""
        if self.brings is not None:
            return self.brings
        if self.resp is not Resp.LENGERR or not self.length:
            return None
        return {"INTO": self.data, "SET": self.data, "LENGTH": self.length}

    @property
    def resp2_text(self) -> str:
        """EIBRESP2 for a person: ``RESP2 11``, or ``RESP2 not published``; empty when the command has none."""
        if not is_published(self.resp2):
            return "RESP2 not published"
        return f"RESP2 {self.resp2}" if self.resp2 else ""

    def __repr__(self) -> str:
        """Its name, RESP2 and detail; a number that stands for one that no page gives is not shown."""
        resp2 = str(self.resp2) if is_published(self.resp2) else self.resp2_text
        return bounded(f"Condition({self.name}, {resp2}, {self.detail!r})")

    def __str__(self) -> str:
        where = f"{self.command}{f' {self.resource}' if self.resource else ''}: " if self.command else ""
        reason = f" {self.resp2_text}" if self.resp2_text else ""
        return bounded(f"{where}{self.name} (RESP {int(self.resp)}{reason}){f': {self.detail}' if self.detail else ''}")


class Abend(TdqError):
    """The abnormal end of a task.

    Attributes:
        code: four characters, such as ``AEIW`` or ``ASRA``.
        cause: the condition or the Python exception behind it, or None (ABEND command).
        dump: the dump of the task, once the abend has ended it; else None.
        cancel: whether no exit of HANDLE ABEND is called, on any level: ABEND CANCEL, and abends of a syncpoint.
        nodump: whether no transaction dump is taken: ABEND NODUMP, or without ABCODE.
    """

    dump: Dump | None = None
    nodump = False

    def __init__(
        self, code: str, cause: BaseException | None = None, detail: str = "", *, cancel: bool = False
    ) -> None:
        super().__init__(code, detail)
        self.cancel = cancel
        self.code = code
        self.cause = cause
        self.detail = detail
        if cause is not None:
            self.__cause__ = cause

    def __str__(self) -> str:
        why = self.detail or (f"{type(self.cause).__name__}: {self.cause}" if self.cause is not None else "")
        return bounded(f"abend {self.code}{f': {why}' if why else ''}")


def calls_exits(error: BaseException) -> TypeGuard[Exception]:
    """Whether the exits of HANDLE ABEND are called for an exception that leaves a program."""
    return isinstance(error, Exception) and not (isinstance(error, Abend) and error.cancel)


class TaskReturn(BaseException):
    """Raised by RETURN to leave a program. It is not an Exception, so ``except Exception`` does not catch it.

    Attributes:
        value: the result of the task.
    """

    def __init__(self, value: object = None) -> None:
        super().__init__(value)
        self.value = value


def check_sent(data: object, length: int | None, word: str = "LENGTH", area: str = "FROM") -> None:
    """Refuse a length beyond the data to be sent. CICS would send the storage behind it; a Python value has none.

    Raises:
        UsageError: there are fewer bytes or characters; nothing was done.
    """
    if length is None:
        return
    size = len(data) if isinstance(data, (*AREAS, str)) else 0
    if length > size:
        unit = "characters" if isinstance(data, str) else "bytes"
        raise UsageError(f"{word} {length} is more than the {size} {unit} of {area}: CICS would read beyond it")
