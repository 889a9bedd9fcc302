"""The EXEC interface block (EIB).

Every command ends by putting one :class:`Completion` into the block: the command, its resource and its response. The
other fields belong to the task and change rarely. :meth:`Eib.image` returns the 85 bytes of DFHEIBLK in the region's
code page; numbers are big-endian, dates and times packed decimal.
"""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from functools import lru_cache
from typing import ClassVar

from tdqsim.cics.kernel.abstime import abstime, local_time
from tdqsim.cics.kernel.conditions import Condition
from tdqsim.core.named import NamedTuple
from tdqsim.facts import EIBFN, EIBRCODE, Resp

_TD_GROUP = 0x08
_NO_RCODE = bytes(6)
_COMPLETIONS_KEPT = 10_000
SPI_VERBS = frozenset({"INQUIRE", "SET", "CREATE", "DISCARD", "PERFORM", "EXTRACT"})
"""The verbs of system programming commands, each the first word of the command's name."""


class Completion(NamedTuple):
    """The end of a command as the EIB shows it.

    Attributes:
        fn: EIBFN, two bytes.
        rsrce: EIBRSRCE, the resource's name without padding.
        resp: EIBRESP.
        resp2: EIBRESP2.
        rcode: EIBRCODE, six bytes.
    """

    fn: bytes
    rsrce: str
    resp: Resp
    resp2: int
    rcode: bytes


NO_COMMAND = Completion(bytes(2), "", Resp.NORMAL, 0, _NO_RCODE)
"""The state before the first command."""


@lru_cache(_COMPLETIONS_KEPT)
def completion(name: str, resource: str = "") -> Completion:
    """The normal end of a command, such as ``completion("READQ TD", "PAYQ")``; the resource may be padded."""
    return Completion(EIBFN[name], resource.rstrip(" "), Resp.NORMAL, 0, _NO_RCODE)


def failure(condition: Condition) -> Completion:
    """The completion of a command that ended with a condition.

    EIBRCODE of a system programming command is the RESP number as a fullword; that of a transient data command is a
    one-byte code in the first byte; for other commands it is zero.
    """
    return _failed(condition.command, condition.resource, condition.resp, condition.resp2)


@lru_cache(_COMPLETIONS_KEPT)
def _failed(command: str, resource: str, resp: Resp, resp2: int) -> Completion:
    fn = EIBFN.get(command, bytes(2))
    if command.split(" ", 1)[0] in SPI_VERBS:
        rcode = int(resp).to_bytes(4, "big") + bytes(2)
    elif fn[0] == _TD_GROUP:
        rcode = bytes([EIBRCODE.get(resp, 0)]) + bytes(5)
    else:
        rcode = _NO_RCODE
    return Completion(fn, resource, resp, resp2, rcode)


class Eib:
    """The block of one task.

    Attributes:
        last: the end of the last command.
        eibtrnid: transaction id.
        eibtaskn: task number.
        eibtrmid: terminal or session; empty for none.
        eibcalen: length of the COMMAREA; 0 for triggered tasks.
        eibcposn: the cursor position at the last terminal input, from 0.
        eibaid: the attention identifier, one byte; zero when there was no terminal input.
        eibds: the last file that a file control command named; transient data commands do not change it.
        eibreqid: the request id of the last START or other interval control command.
        moment_ns: the time of EIBDATE and EIBTIME: that of the task's start, then of each ASKTIME.
        zone: the region's time zone.
    """

    LENGTH: ClassVar = 85
    """The bytes of DFHEIBLK."""

    __slots__ = ("__dict__", "eibtaskn", "eibtrnid", "last", "moment_ns", "zone")

    eibaid = bytes(1)  # what most tasks never change: a new block does not set it
    eibcalen = eibcposn = 0
    eibds = eibreqid = eibtrmid = ""

    def __init__(self, trnid: str, taskn: int, moment_ns: int, zone: tzinfo = UTC) -> None:
        self.last = NO_COMMAND
        self.eibtrnid = trnid
        self.eibtaskn = taskn
        self.moment_ns = moment_ns
        self.zone = zone

    @property
    def eibfn(self) -> bytes:
        """Function code of the last command: two bytes."""
        return self.last.fn

    @property
    def eibrcode(self) -> bytes:
        """Response code of the last command as older programs test it: six bytes."""
        return self.last.rcode

    @property
    def eibresp(self) -> Resp:
        """The condition of the last command."""
        return self.last.resp

    @property
    def eibresp2(self) -> int:
        """The reason of the last command's condition."""
        return self.last.resp2

    @property
    def eibrsrce(self) -> str:
        """The resource the last command was issued for, eight characters padded with blanks."""
        return self.last.rsrce.ljust(8)

    @property
    def moment(self) -> datetime:
        """The time of EIBDATE and EIBTIME, as a local datetime without a zone."""
        return local_time(abstime(self.moment_ns, self.zone))

    @property
    def eibdate(self) -> int:
        """0CYYDDD as a number, local time: 126325 is day 325 of 2026."""
        moment = self.moment
        return (moment.year - 1900) * 1000 + moment.timetuple().tm_yday

    @property
    def eibtime(self) -> int:
        """0HHMMSS as a number, local time."""
        moment = self.moment
        return moment.hour * 10000 + moment.minute * 100 + moment.second

    def image(self, codepage: str = "cp037") -> bytes:
        """The 85 bytes of DFHEIBLK with text in a code page (a Python codec's name)."""

        def text(value: str, length: int) -> bytes:
            return value.ljust(length)[:length].encode(codepage, "replace") if value else bytes(length)

        return b"".join(
            (
                _packed(self.eibtime),
                _packed(self.eibdate),
                text(self.eibtrnid, 4),
                _packed(self.eibtaskn % 10**7),
                text(self.eibtrmid, 4),
                bytes(2),  # EIBRSVD1
                self.eibcposn.to_bytes(2, "big"),
                self.eibcalen.to_bytes(2, "big"),
                self.eibaid,
                self.eibfn,
                self.eibrcode,
                text(self.eibds, 8),
                text(self.eibreqid, 8),
                text(self.last.rsrce, 8),
                bytes(17),  # EIBSYNC to EIBNODAT, which only terminal and APPC commands set
                int(self.eibresp).to_bytes(4, "big"),
                self.eibresp2.to_bytes(4, "big", signed=True),
                bytes(1),  # EIBRLDBK
            )
        )


def _packed(value: int) -> bytes:
    """S9(7) COMP-3."""
    return bytes.fromhex(f"{value:07d}C")
