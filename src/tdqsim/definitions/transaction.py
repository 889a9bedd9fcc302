"""TRANSACTION definitions."""

from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator

from tdqsim.definitions._fields import Dtimout, Keyword, Name, Number, Runaway, Text, WaitTime, refuse
from tdqsim.definitions._resource import Conflict, Resource, YesNo

_DAY, _HOUR, _MINUTE = 86_400, 3_600, 60


def check_import_path(value: str) -> str:
    """Check an import path ``package.module:function``, without importing it."""
    names = value.replace(":", ".").split(".")
    if value and not (value.isascii() and value.count(":") == 1 and all(map(str.isidentifier, names))):
        raise refuse("must be an import path such as package.module:function")
    return value


class Transaction(Resource):
    """A transaction, and the Python function that is its program in the simulator.

    Attributes:
        program: the program's name, as returned by ASSIGN PROGRAM.
        handler: the import path of the callable to run, ``package.module:function``; not an RDO attribute. Without it
            the callable must be registered in Python under the transaction's name.
        status: ENABLED, or DISABLED for a transaction that cannot be started.
        wait: whether a unit of work waits when the coordinator is lost while it is indoubt.
        waittime: the maximum of this wait as dd,hh,mm; 00,00,00 means no limit. See :attr:`waittime_seconds`.
        action: the action when the unit of work does not wait, or no longer: BACKOUT or COMMIT.
        dtimout: the maximum wait of a task as mmss, or NO. See :attr:`dtimout_seconds`.
        restart: whether DFHREST may restart the task after backout.
        ressec: whether resource security is checked; YES by default, as from CICS TS 6.2 on.
        cmdsec: whether command security is checked; YES by default, as from CICS TS 6.2 on.
        priority: the priority, 0 to 255. Of two ready tasks the one with the higher priority runs first.
        spurge: NO protects its tasks from DTIMOUT and from SET TASK PURGE.
        tranclass: the transaction class, which limits how many tasks run.
        remotesystem: the SYSID of the region that runs it; empty for this region.
        remotename: its name in that region.
        runaway: the processor time in milliseconds, since it was last suspended, after which a task that runs a COBOL
            program ends with AICA; 0 for no limit, SYSTEM for that of the region. Python functions have no limit.
        localq: YES queues a START NOCHECK here while the link to the other region is away.
        twasize: the bytes of the transaction work area, which ADDRESS TWA gives to COBOL programs; 0 for none.
    """

    kind: ClassVar[str] = "TRANSACTION"

    name: Annotated[str, Name(4, "transaction")]
    program: Annotated[str, Name(8, blank=True)] = ""
    handler: Annotated[str, Text(200), AfterValidator(check_import_path)] = ""
    status: Annotated[Literal["ENABLED", "DISABLED"], Keyword()] = "ENABLED"
    wait: YesNo = "YES"
    waittime: Annotated[str, WaitTime()] = "00,00,00"
    action: Annotated[Literal["BACKOUT", "COMMIT"], Keyword()] = "BACKOUT"
    dtimout: Annotated[str, Dtimout()] = "NO"
    spurge: YesNo = "YES"
    restart: YesNo = "NO"
    ressec: YesNo = "YES"
    cmdsec: YesNo = "YES"
    priority: Annotated[int, Number(0, 255)] = 1
    tranclass: Annotated[str, Name(8, blank=True)] = ""
    remotesystem: Annotated[str, Name(4, blank=True)] = ""
    remotename: Annotated[str, Name(8, "transaction", blank=True)] = ""
    runaway: Annotated[str, Runaway()] = "SYSTEM"
    localq: YesNo = "NO"
    twasize: Annotated[int, Number(0, 32767)] = 0

    @property
    def dtimout_seconds(self) -> int | None:
        """DTIMOUT in seconds, or None for NO."""
        if self.dtimout == "NO":
            return None
        minutes, seconds = divmod(int(self.dtimout), 100)
        return minutes * _MINUTE + seconds

    @property
    def runaway_ms(self) -> int | None:
        """RUNAWAY in milliseconds, or None for SYSTEM."""
        return None if self.runaway == "SYSTEM" else int(self.runaway)

    @property
    def waittime_seconds(self) -> int | None:
        """WAITTIME in seconds, or None for no limit."""
        days, hours, minutes = (int(part) for part in self.waittime.split(","))
        return days * _DAY + hours * _HOUR + minutes * _MINUTE or None

    def conflicts(self) -> list[Conflict]:
        """WAITTIME requires WAIT(YES), REMOTENAME requires REMOTESYSTEM."""
        conflicts = []
        if self.wait == "NO" and self.waittime_seconds is not None:
            conflicts.append(("waittime", "is allowed with wait YES only"))
        if self.remotename and not self.remotesystem:
            conflicts.append(("remotename", "needs remotesystem"))
        return conflicts
