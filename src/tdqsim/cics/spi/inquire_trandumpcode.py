"""INQUIRE TRANDUMPCODE with its browse, and SET TRANDUMPCODE: the transaction dump table.

See :mod:`tdqsim.cics.kernel.dump_codes`. Source: INQUIRE TRANDUMPCODE, SET TRANDUMPCODE (IBM Docs).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final

from tdqsim.cics.kernel.authority import check_command
from tdqsim.cics.kernel.command import Flag, FullwordOrNone, Opt, command, to_cvda
from tdqsim.cics.kernel.dump_codes import NO_LIMIT, DumpCode, dump_codes, keep, remove
from tdqsim.cics.kernel.security import Access
from tdqsim.cics.kernel.task import TaskBase
from tdqsim.cics.spi.inquiry import BrowseCommands, ResourceType, browse_command, inquire_one, receivers
from tdqsim.cics.spi.requests import is_null, refusal
from tdqsim.facts import Cvda
from tdqsim.facts.inquiries import TrandumpcodeInfo, TrandumpcodeOption

DumpCodeName = Annotated[str, Opt("name", 4, "TRANDUMPCODE")]
CvdaOrNone = Annotated[int | str | None, Opt("cvda", 4)]

_SET: Final = "SET TRANDUMPCODE"
_NAME_LENGTH: Final = 4
_CHOICES: Final = {
    "TRANDUMPING": ("trandumping", Cvda.TRANDUMP, Cvda.NOTRANDUMP),
    "SYSDUMPING": ("sysdumping", Cvda.SYSDUMP, Cvda.NOSYSDUMP),
    "SHUTOPTION": ("shutdown", Cvda.SHUTDOWN, Cvda.NOSHUTDOWN),
    "DUMPSCOPE": ("related", Cvda.RELATED, Cvda.LOCAL),
}
"""For each option the attribute of an entry that it shows and changes, and the values for true and false."""

TRANDUMPCODE: Final = ResourceType[str, DumpCode, TrandumpcodeInfo](
    "TRANDUMPCODE",
    TrandumpcodeInfo,
    {
        "CURRENT": lambda known, _region: known.current,
        "DUMPSCOPE": lambda known, _region: Cvda.RELATED if known.related else Cvda.LOCAL,
        "MAXIMUM": lambda known, _region: known.maximum,
        "SHUTOPTION": lambda known, _region: Cvda.SHUTDOWN if known.shutdown else Cvda.NOSHUTDOWN,
        "SYSDUMPING": lambda known, _region: Cvda.SYSDUMP if known.sysdumping else Cvda.NOSYSDUMP,
        "TRANDUMPING": lambda known, _region: Cvda.TRANDUMP if known.trandumping else Cvda.NOTRANDUMP,
    },
    keys=lambda region: sorted(dump_codes(region)),
    find=lambda region, code: dump_codes(region).get(code),
    identity=lambda known: known.code.ljust(_NAME_LENGTH),
)


@command("INQUIRE TRANDUMPCODE", "NOTAUTH NOTFND", receivers("TRANDUMPCODE"), otherwise=TrandumpcodeInfo())
def inquire_trandumpcode(
    task: TaskBase, trandumpcode: DumpCodeName, *options: TrandumpcodeOption, nohandle: bool = False
) -> TrandumpcodeInfo:
    """Retrieve information about a transaction dump code.

    Args:
        trandumpcode: the code.
        options: the options to return; all when none is named. MAXIMUM is 999 for no limit.
        nohandle: return with the response in the EIB instead of raising.

    Raises:
        Condition: NOTFND 1: it has no entry, and no dump was requested with it so far; NOTAUTH 100.
    """
    return inquire_one(task, TRANDUMPCODE, trandumpcode.rstrip(" ").upper(), options)


_BROWSE: Final = BrowseCommands[TrandumpcodeOption, TrandumpcodeInfo](
    TRANDUMPCODE, "transaction dump codes", __name__, receives=Opt("name", _NAME_LENGTH, required=True)
)
inquire_trandumpcode_start = browse_command(_BROWSE.start)
inquire_trandumpcode_next = browse_command(_BROWSE.next)
inquire_trandumpcode_end = browse_command(_BROWSE.end)


@command(_SET, "DUPREC INVREQ NOTAUTH NOTFND")
def set_trandumpcode(
    task: TaskBase,
    trandumpcode: DumpCodeName,
    *,
    action: CvdaOrNone = None,
    dumpscope: CvdaOrNone = None,
    maximum: FullwordOrNone = None,
    shutoption: CvdaOrNone = None,
    sysdumping: CvdaOrNone = None,
    trandumping: CvdaOrNone = None,
    nohandle: Flag = False,
) -> None:
    """Change, add or remove an entry of the transaction dump table.

    Args:
        trandumpcode: the code, 1 to 4 characters without blanks between.
        action: ADD, REMOVE (without another option) or RESET, which sets CURRENT to zero.
        dumpscope, shutoption, sysdumping: LOCAL or RELATED, SHUTDOWN or NOSHUTDOWN, SYSDUMP or NOSYSDUMP; kept and
            shown, without effect.
        maximum: how many requests take a dump, 0 to 999; 999 for all.
        trandumping: TRANDUMP or NOTRANDUMP.
        nohandle: return with the response in the EIB instead of raising.

    Raises:
        Condition: DUPREC: ADD of a code that has an entry. NOTFND: the code has none. INVREQ: a value is not allowed.
            NOTAUTH 100. Nothing was changed.
    """
    check_command(task, "TRANDUMPCODE", Access.UPDATE)
    region, code = task._region, trandumpcode.rstrip(" ").upper()
    values = {"DUMPSCOPE": dumpscope, "SHUTOPTION": shutoption, "SYSDUMPING": sysdumping, "TRANDUMPING": trandumping}
    changes = _changes(values, maximum)
    asked = None if is_null(action) else _chosen("ACTION", action, (Cvda.ADD, Cvda.REMOVE, Cvda.RESET))
    entry = dump_codes(region).get(code)
    if asked is Cvda.ADD:
        entry = _new(code, entry)
    elif entry is None:
        raise refusal(_SET, "not found", f"there is no dump code {code}")
    if asked is Cvda.REMOVE:
        if changes:
            raise refusal(_SET, "remove", "REMOVE has no other option")
        remove(region, entry)
        return
    if asked is Cvda.RESET:
        changes["current"] = 0
    changed = entry._replace(**changes)
    keep(region, changed)
    if changed.sysdumping or changed.shutdown:
        region.notices.say("dump_option_without_effect", code=code)


def _chosen(option: str, value: object, allowed: tuple[Cvda, ...]) -> Cvda:
    wanted = to_cvda(value)
    if wanted not in allowed:
        names = ", ".join(each.name for each in allowed)
        raise refusal(_SET, "bad cvda", f"{option} must be one of {names}, not {value!r}")
    return wanted


def _changes(values: Mapping[str, object], maximum: int | None) -> dict[str, Any]:
    """The attributes of an entry that the options change."""
    changes: dict[str, Any] = {
        _CHOICES[option][0]: _chosen(option, value, _CHOICES[option][1:]) is _CHOICES[option][1]
        for option, value in values.items()
        if not is_null(value)
    }
    if maximum is not None and maximum != -1:
        if not 0 <= maximum <= NO_LIMIT:
            raise refusal(_SET, "bad number", f"MAXIMUM must be from 0 to {NO_LIMIT}, not {maximum}")
        changes["maximum"] = maximum
    return changes


def _new(code: str, before: DumpCode | None) -> DumpCode:
    if before is not None:
        raise refusal(_SET, "duplicate", f"dump code {code} has an entry already")
    if not code or " " in code or not code.isprintable():
        raise refusal(_SET, "bad code", f"TRANDUMPCODE({code}): 1 to 4 characters without blanks between")
    return DumpCode(code)
