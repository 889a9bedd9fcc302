"""What a CICS program can meet: conditions, abends, and the way a program returns.

There is one condition value inside. A task sees it as a raised :class:`Condition`, or, under NOHANDLE or RESP, as the
response in the EIB. A condition that leaves a program unhandled is an :class:`Abend` with its AExx code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from tdqsim.errors import TdqError, UsageError
from tdqsim.facts import ABEND_CODES, Resp

__all__ = ["AREAS", "Abend", "Condition", "TaskReturn", "abend_code", "check_sent"]

AREAS: Final = (bytes, bytearray, memoryview)
"""What a program may send. (A union that is written out where it is asked for is made anew each time.)"""


class Condition(TdqError):
    """An exceptional condition of a command. What few of them have is a default of the class.

    Attributes:
        resp: its number, as EIBRESP shows it.
        resp2: the reason, as EIBRESP2 shows it; 0 when the command has none.
        command: the command, such as ``READQ TD``; filled in by the task.
        resource: the resource it was issued for, such as a queue's name.
        data: with LENGERR of READQ TD: the truncated record.
        length: with LENGERR of READQ TD: the length of the whole record; else 0.
        brings: what a program gets all the same, by option, where that is more than the record of READQ TD.
        taken_by: who takes it before any HANDLE CONDITION: a label of HANDLE AID.
        detail: the same in words, for people.
    """

    command = ""
    resource = ""
    data = b""
    length = 0
    brings: Mapping[str, object] | None = None
    taken_by: Callable[[Condition], object] | None = None

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

    @property
    def name(self) -> str:
        """The condition's name, such as ``QZERO``."""
        return self.resp.name

    def __str__(self) -> str:
        where = f"{self.command}{f' {self.resource}' if self.resource else ''}: " if self.command else ""
        reason = f" RESP2 {self.resp2}" if self.resp2 else ""
        return f"{where}{self.name} (RESP {int(self.resp)}{reason}){f': {self.detail}' if self.detail else ''}"


class Abend(TdqError):
    """The abnormal end of a task.

    Attributes:
        code: four characters, such as ``AEIW`` or ``ASRA``.
        cause: the condition or the Python exception behind it, or None (ABEND command).
    """

    def __init__(self, code: str, cause: BaseException | None = None, detail: str = "") -> None:
        super().__init__(code, detail)
        self.code = code
        self.cause = cause
        self.detail = detail
        if cause is not None:
            self.__cause__ = cause

    def __str__(self) -> str:
        why = self.detail or (f"{type(self.cause).__name__}: {self.cause}" if self.cause is not None else "")
        return f"abend {self.code}{f': {why}' if why else ''}"


class TaskReturn(BaseException):
    """How RETURN leaves a program; not an Exception, so that ``except Exception`` in a program does not stop it.

    Attributes:
        value: what becomes the task's result.
    """

    def __init__(self, value: object = None) -> None:
        super().__init__(value)
        self.value = value


def abend_code(condition: Condition) -> str:
    """The code of the abend that an unhandled condition is; empty for a condition that CICS ignores by default."""
    return ABEND_CODES.get(condition.resp, "")


def check_sent(data: object, length: int | None, word: str = "LENGTH", area: str = "FROM") -> None:
    """Refuse a length beyond the data that is sent: no storage lies behind a Python value, which CICS would read.

    Raises:
        UsageError: there are fewer bytes or characters; nothing was done.
    """
    if length is None:
        return
    size = len(data) if isinstance(data, (*AREAS, str)) else 0
    if length > size:
        unit = "characters" if isinstance(data, str) else "bytes"
        raise UsageError(f"{word} {length} is more than the {size} {unit} of {area}: CICS would read beyond it")
