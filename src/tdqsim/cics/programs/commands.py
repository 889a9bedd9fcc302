"""LINK and XCTL.

LINK passes the address of its COMMAREA: the linked program reads and changes the caller's bytes, and the changes remain
if it abends. XCTL passes a copy, and the program that issues it does not continue. The abend exit belongs to the level,
so that the program that XCTL runs may cancel, reset or replace it. LINK to a program of another region is in
:mod:`~tdqsim.cics.programs.remote`. Source: LINK, XCTL (IBM Docs); Recovery and Restart Guide, exit code.
"""

from __future__ import annotations

from typing import Annotated, Any, NoReturn

from tdqsim.cics.kernel.channels import Channel
from tdqsim.cics.kernel.command import Flag, HalfwordOrNone, Name4OrNone, Opt, command
from tdqsim.cics.kernel.conditions import Abend, Condition, TaskReturn
from tdqsim.cics.kernel.levels import level_of, passed, program_of
from tdqsim.cics.kernel.task import TaskBase
from tdqsim.cics.model.level import NO_HANDLES, AbendExit, ProgramLevel
from tdqsim.cics.programs.remote import LONGEST, LinkOrder, Passed, ship_link, where_program
from tdqsim.cics.programs.running import find_program, on_level, run_program
from tdqsim.errors import UsageError
from tdqsim.facts import Resp

ProgramName = Annotated[str, Opt("name", 8, "PROGRAM")]
Synconreturn = Annotated[bool, Opt("flag", word="SYNCONRETURN")]
Commarea = Annotated[bytearray | memoryview | bytes | None, Opt("data", word="COMMAREA")]
SharedCommarea = Annotated[bytearray | memoryview | bytes | None, Opt("storage", word="COMMAREA")]


ChannelName = Annotated[str | None, Opt("name", 16, "CHANNEL")]


def _area(commarea: bytearray | memoryview | bytes | None, length: int | None) -> memoryview | None:
    """The COMMAREA as storage of the requested length; a shorter area is extended with binary zeros."""
    size = (0 if commarea is None else len(commarea)) if length is None else length
    if not 0 <= size <= LONGEST:
        raise Condition(Resp.LENGERR, 11, f"LENGTH is {size}; allowed are 0 to {LONGEST}")
    if commarea is None or size == 0:
        return None
    view = memoryview(bytearray(commarea) if isinstance(commarea, bytes) else commarea).cast("B")
    return view[:size] if size <= len(view) else memoryview(bytearray(view.tobytes().ljust(size, b"\0")))


def _given_channel(task: TaskBase, channel: str | None, commarea: object) -> Channel | None:
    if channel is not None and commarea is not None:
        raise UsageError("CHANNEL and COMMAREA exclude each other")
    return passed(task, channel)


def abend_program(task: TaskBase, name: str) -> AbendExit:
    """The exit of HANDLE ABEND PROGRAM: the program takes over the level when the task abends.

    Raises:
        Condition: PGMIDERR 1: there is no such program. PGMIDERR 9: another region has it. NOTAUTH 101: the user may
            not use it.
    """
    target, level = find_program(task, name), level_of(task)  # it gets what was passed to the program that names it

    def run(_abend: Abend) -> object:
        with on_level(task, _replacing(level, name, level.commarea, level.channel, level.invoker)):
            return run_program(task, target)

    return run


def _replacing(
    level: ProgramLevel, program: str, commarea: memoryview | None, channel: Channel | None, invoker: str
) -> ProgramLevel:
    """The level for a program that replaces the program of a level, with the same restrictions."""
    made = ProgramLevel(program, commarea, level.up, channel, invoker)
    made.subset = level.subset
    return made


def _sent(area: memoryview | None, channel: Channel | None, datalength: int | None) -> Passed:
    """The data sent to a program of another region.

    Raises:
        Condition: LENGERR 12, 13: DATALENGTH is out of range.
    """
    size = 0 if area is None else len(area)
    if datalength is not None and datalength < 0:
        raise Condition(Resp.LENGERR, 12, f"DATALENGTH is {datalength}; allowed are 0 and more")
    if datalength is not None and datalength > size:
        raise Condition(Resp.LENGERR, 13, f"DATALENGTH is {datalength}, the COMMAREA has {size} bytes")
    if area is None:
        return Passed(-1, b"", channel)
    return Passed(size, area[:datalength].tobytes(), channel)


def _take_back(back: Passed, area: memoryview | None, channel: Channel | None) -> None:
    """Copy the COMMAREA or channel returned by a program of another region to the caller's storage or channel."""
    if area is not None and not area.readonly:
        data = back.sent[: len(area)]
        area[: len(data)] = data
    if channel is not None and back.channel is not None:
        channel.containers = back.channel.containers


@command("LINK", "CHANNELERR INVREQ LENGERR NOTAUTH PGMIDERR ROLLEDBACK SYSIDERR TERMERR", resource="program")
def link(
    task: TaskBase,
    program: ProgramName,
    commarea: SharedCommarea = None,
    length: HalfwordOrNone = None,
    *,
    channel: ChannelName = None,
    datalength: HalfwordOrNone = None,
    sysid: Name4OrNone = None,
    transid: Name4OrNone = None,
    syncpointonreturn: Synconreturn = False,
    nohandle: Flag = False,
) -> Any:
    """Run another program at a lower level, in this region or another one; then continue.

    A program whose definition names another REMOTESYSTEM, or any with SYSID, runs in that region, in a mirror task: a
    distributed program link. Its work belongs to this unit of work. It gets a copy of the COMMAREA or channel, whose
    new contents are returned when it ends.

    Args:
        program: its name, 1 to 8 characters.
        commarea: the COMMAREA. A bytearray or memoryview is shared with the program, which may change it; the COMMAREA
            returned by a remote program is copied into it.
        length: the length of the COMMAREA, 0 to 32763; all of ``commarea`` if not given.
        channel: the channel to share with the program, instead of a COMMAREA.
        datalength: the number of bytes of the COMMAREA sent to a remote program, 0 to ``length``; the rest is binary
            zeros there. All if not given.
        sysid: the system that runs it; the local definition of the program is then ignored.
        transid: the transaction under which a remote program runs; CSMI if not given.
        syncpointonreturn: SYNCONRETURN: a remote program has its own unit of work, committed when it returns.
        nohandle: return with the response in the EIB instead of raising.

    Returns:
        The result of a Python program of this region; None for other programs.

    Raises:
        Condition: LENGERR 11, 12, 13: LENGTH or DATALENGTH is out of range, or DATALENGTH is more than LENGTH. PGMIDERR
            1, 2: there is no such program, or it is disabled. NOTAUTH 101: the user may not use it. CHANNELERR 1: the
            channel name is not valid. For a remote program also INVREQ 14, 15: SYNCONRETURN or another TRANSID after a
            request of this unit of work to that region; INVREQ 16: TRANSID is blank; SYSIDERR 18, 19: the system is not
            known, or not connected; TERMERR 17: the region or the link failed while the program ran; ROLLEDBACK 29:
            with SYNCONRETURN, its work could not be committed.
        Abend: a remote program has abended. Without SYNCONRETURN this unit of work can then only be backed out.
    """
    area, given = _area(commarea, length), _given_channel(task, channel, commarea)
    system, there, mirror = where_program(task, program, sysid, transid)
    if system:
        order = LinkOrder(_sent(area, given, datalength), program_of(task), mirror, syncpointonreturn)
        _take_back(ship_link(task, system, there, order), area, given)
        return None
    target = find_program(task, program)
    below = ProgramLevel(program, area, level_of(task), given, program_of(task))
    definition = task._region.programs.definition(program)
    if definition is not None and definition.executionset == "DPLSUBSET":
        below.subset = below.subset or "D"
    with on_level(task, below):
        return run_program(task, target)


@command("XCTL", "INVREQ LENGERR NOTAUTH PGMIDERR", resource="program")
def xctl(
    task: TaskBase,
    program: ProgramName,
    commarea: Commarea = None,
    length: HalfwordOrNone = None,
    *,
    channel: ChannelName = None,
    nohandle: Flag = False,
) -> NoReturn:
    """Transfer control to another program at the same level; this program ends.

    Args:
        program: its name, 1 to 8 characters.
        commarea: the COMMAREA, which is copied.
        length: the length of the COMMAREA, 0 to 32763; all of ``commarea`` if not given.
        channel: the channel to pass, instead of a COMMAREA.
        nohandle: return with the response in the EIB instead of raising; the program continues.

    Raises:
        Condition: LENGERR 11: LENGTH is out of range. PGMIDERR 1: there is no such program. NOTAUTH 101. CHANNELERR 1:
            the channel name is not valid.
    """
    area, given = _area(commarea, length), _given_channel(task, channel, commarea)
    target = find_program(task, program)
    copy = None if area is None else memoryview(bytearray(area))
    of_level = NO_HANDLES._replace(abend=task._handles.abend, cancelled=task._handles.cancelled)
    task._handles = NO_HANDLES  # the program has been left: nothing comes back to it, not even an abend
    with on_level(task, _replacing(level_of(task), program, copy, given, program_of(task)), of_level):
        value = run_program(task, target)
    raise TaskReturn(value)
