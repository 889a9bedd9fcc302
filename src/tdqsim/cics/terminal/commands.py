"""SEND MAP, RECEIVE MAP, SEND TEXT, SEND CONTROL, SEND and RECEIVE.

The first RECEIVE of a task gets the input that started it; a later one waits for the next. After an input command
EIBAID is the key and EIBCPOSN the cursor position; both are set already when a task begins. In a task without a
terminal a BMS command abends with ABM3, and RECEIVE and SEND get NOTALLOC. A map that is not in its mapset is abend
ABM0, a missing mapset APCT. Sources: SEND MAP, RECEIVE MAP, RECEIVE, ABM3 (IBM Docs).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from tdqsim.cics.kernel.command import Flag, From, HalfwordOrNone, Opt, command
from tdqsim.cics.kernel.conditions import Abend, Condition, check_sent
from tdqsim.cics.kernel.levels import check_subset
from tdqsim.cics.kernel.task import TaskBase
from tdqsim.cics.model.level import AidLabel
from tdqsim.cics.terminal.maps import received, sent
from tdqsim.cics.terminal.screen import Input, Screen, Screens, Sent
from tdqsim.errors import UsageError
from tdqsim.facts import AIDS, Resp

if TYPE_CHECKING:
    from tdqsim.definitions.bms import BmsMap, Mapset

T = TypeVar("T")

_NO_TERMINAL = "the task has no terminal"
MapName = Annotated[str, Opt("name", 7, "MAP")]
MapsetName = Annotated[str | None, Opt("name", 7, "MAPSET")]


def _screen(task: TaskBase) -> Screen:
    check_subset(task)
    if task._facility is None:
        raise Condition(Resp.NOTALLOC, detail=_NO_TERMINAL)
    screens: Screens = task._region.screens
    return screens.of(task)


def _bms_screen(task: TaskBase) -> Screen:
    """The screen for a BMS command; in a task without a terminal the command abends rather than get a condition."""
    check_subset(task)
    if task._facility is None:
        raise Abend("ABM3", detail=_NO_TERMINAL)
    return _screen(task)


def _map(task: TaskBase, name: str, mapset: str | None) -> tuple[Mapset, BmsMap]:
    wanted = (mapset or name).rstrip(" ").upper()
    try:
        screens: Screens = task._region.screens
        match = screens.find_map(wanted, name.rstrip(" ").upper())
    except KeyError:
        raise Abend("APCT", detail=f"mapset {wanted} is not there") from None
    if match is None:
        raise Abend("ABM0", detail=f"mapset {wanted} does not hold map {name}")
    return match


def _next(task: TaskBase, screen: Screen) -> Input:
    """Wait for the next input and set its key and cursor in the EIB."""
    typed = screen.first.pop(task, None) or screen.take(task)
    task.eib.eibaid = AIDS[typed.key]
    task.eib.eibcposn = typed.cursor
    return typed


def _taken_by(task: TaskBase, key: str, *, nohandle: bool) -> AidLabel | None:
    """The label of HANDLE AID for the key of an input; None if there is none, or with RESP or NOHANDLE."""
    if nohandle:
        return None
    aids = task._handles.aids
    return aids.get(key) or (aids.get("ANYKEY") if key != "ENTER" else None)


def _options(**given: bool) -> tuple[str, ...]:
    return tuple(word.upper() for word, wanted in given.items() if wanted)


@command("SEND MAP", "INVMPSZ INVREQ")
def send_map(
    task: TaskBase,
    map: MapName,
    mapset: MapsetName = None,
    from_: From = b"",
    length: HalfwordOrNone = None,
    *,
    maponly: Flag = False,
    dataonly: Flag = False,
    erase: Flag = False,
    eraseaup: Flag = False,
    freekb: Flag = False,
    alarm: Flag = False,
    frset: Flag = False,
    cursor: HalfwordOrNone = None,
    nohandle: Flag = False,
) -> None:
    """Send a map with the program's data.

    Args:
        map: the map, 1 to 7 characters.
        mapset: its mapset; by default the mapset with the name of the map.
        from_: the output record of the symbolic map.
        length: the number of bytes of ``from_``; all if not given.
        maponly: send only the values of the map itself.
        dataonly: send only the program's data.
        erase, eraseaup, freekb, alarm, frset: recorded with the output.
        cursor: the cursor position, from 0; if omitted or negative, the first field whose length is -1.
        nohandle: raise nothing; the response is in the EIB.

    Raises:
        Abend: ABM0: the map is not in the mapset; ABM3: the task has no terminal; APCT: there is no such mapset.
        UsageError: LENGTH is negative, or more than ``from_`` has.
    """
    screen = _bms_screen(task)
    owner, each = _map(task, map, mapset)
    options = _options(erase=erase, eraseaup=eraseaup, freekb=freekb, alarm=alarm, frset=frset)
    check_sent(from_, length)
    if length is not None and length < 0:
        raise UsageError(f"SEND MAP: LENGTH is {length}; allowed are 0 and more")
    record = bytes(from_ if length is None else from_[:length])
    shown = sent(
        owner, each, record, task._region.screens.codepage, maponly=maponly, dataonly=dataonly, options=options
    )
    if cursor is not None and cursor >= 0:
        shown = shown._replace(cursor=cursor)
    screen.put(task, shown)


@command("RECEIVE MAP", "INVMPSZ INVREQ MAPFAIL", {"INTO": Opt("data"), "SET": Opt("pointer", 4)})
def receive_map(
    task: TaskBase,
    map: MapName,
    mapset: MapsetName = None,
    *,
    asis: Flag = False,  # without effect: text is never converted to upper case
    terminal: Flag = False,  # the default
    nohandle: Flag = False,
) -> Any:
    """Receive a map: what the terminal user typed into its fields.

    Args:
        map: the map.
        mapset: its mapset; by default the mapset with the name of the map.
        asis, terminal: accepted without effect.
        nohandle: raise nothing; the response is in the EIB.

    Returns:
        The input record of the symbolic map; or the result of the label of an active HANDLE AID for the key.

    Raises:
        Condition: MAPFAIL: nothing of the map was typed.
        Abend: ABM0: the map is not in the mapset; ABM3: the task has no terminal; APCT: there is no such mapset.
    """
    screen = _bms_screen(task)
    owner, each = _map(task, map, mapset)
    typed = _next(task, screen)
    label = _taken_by(task, typed.key, nohandle=nohandle)
    record = received(owner, each, typed, task._region.screens.codepage)
    if record is None:
        raise Condition(Resp.MAPFAIL, detail=f"nothing of map {map} was received", taken_by=label)
    return record if label is None else label(record)


@command("SEND TEXT", "INVREQ LENGERR")
def send_text(
    task: TaskBase,
    from_: From,
    length: HalfwordOrNone = None,
    *,
    erase: Flag = False,
    freekb: Flag = False,
    alarm: Flag = False,
    cursor: HalfwordOrNone = None,
    nohandle: Flag = False,
) -> None:
    """Send text.

    Args:
        from_: the text, in the region's code page.
        length: how many bytes of ``from_``; all when not given.
        erase, freekb, alarm: recorded with the output.
        cursor: the cursor position, from 0.
        nohandle: raise nothing; the response is in the EIB.

    Raises:
        Condition: LENGERR: LENGTH is negative.
        Abend: ABM3: the task has no terminal.
    """
    screen, text = _bms_screen(task), _text_of(task, from_, length)
    options = _options(erase=erase, freekb=freekb, alarm=alarm)
    screen.put(task, Sent("SEND TEXT", text=text, cursor=cursor, options=options))


def _text_of(task: TaskBase, from_: bytes, length: int | None) -> str:
    """The characters of FROM, or of as many bytes of it as LENGTH says."""
    check_sent(from_, length)
    if length is not None and length < 0:
        raise Condition(Resp.LENGERR, detail=f"LENGTH is {length}; allowed are 0 and more")
    text: str = task._region.screens.codepage.decode(bytes(from_ if length is None else from_[:length]))
    return text


@command("SEND CONTROL", "INVREQ")
def send_control(
    task: TaskBase,
    *,
    erase: Flag = False,
    eraseaup: Flag = False,
    freekb: Flag = False,
    alarm: Flag = False,
    frset: Flag = False,
    cursor: HalfwordOrNone = None,
    nohandle: Flag = False,
) -> None:
    """Send control functions without data.

    Args:
        erase, eraseaup, freekb, alarm, frset: recorded with the output.
        cursor: the cursor position, from 0.
        nohandle: raise nothing; the response is in the EIB.

    Raises:
        Abend: ABM3: the task has no terminal.
    """
    options = _options(erase=erase, eraseaup=eraseaup, freekb=freekb, alarm=alarm, frset=frset)
    _bms_screen(task).put(task, Sent("SEND CONTROL", cursor=cursor, options=options))


@command("SEND", "INVREQ LENGERR NOTALLOC")
def send(
    task: TaskBase,
    from_: From = b"",
    length: HalfwordOrNone = None,
    *,
    erase: Flag = False,
    fmh: Flag = False,
    last: Flag = False,
    wait: Flag = False,  # without effect: output is sent at once
    nohandle: Flag = False,
) -> None:
    """Send data without formatting.

    Args:
        from_: the data, in the region's code page.
        length: how many bytes of ``from_``; all when not given.
        erase: recorded with the output.
        fmh: the data begin with a function management header; recorded with the output.
        last: the last output of the task; recorded with the output.
        wait: accepted without effect: output is sent at once.
        nohandle: raise nothing; the response is in the EIB.

    Raises:
        Condition: NOTALLOC: the task has no terminal. LENGERR: LENGTH is negative.
    """
    screen, text = _screen(task), _text_of(task, from_, length)
    screen.put(task, Sent("SEND", text=text, options=_options(erase=erase, fmh=fmh, last=last)))


@command(
    "RECEIVE", "INVREQ LENGERR NOTALLOC", {"INTO": Opt("data"), "SET": Opt("pointer", 4), "LENGTH": Opt("halfword", 2)}
)
def receive(
    task: TaskBase,
    length: HalfwordOrNone = None,
    *,
    maxlength: HalfwordOrNone = None,
    notruncate: Flag = False,
    asis: Flag = False,  # without effect: text is never converted to upper case
    nohandle: Flag = False,
) -> Any:
    """Receive what the terminal user typed.

    Args:
        length: the length of the area (INTO) in bytes.
        maxlength: the same, if LENGTH is only a receiver.
        notruncate: keep data beyond ``length`` for the next RECEIVE.
        asis: accepted without effect: text is never converted to upper case.
        nohandle: raise nothing; the response is in the EIB.

    Returns:
        The text, including the transaction id if it started the task; or the result of the label of an active HANDLE
        AID.

    Raises:
        Condition: NOTALLOC: the task has no terminal. LENGERR, with ``data`` and ``length``: it is longer than LENGTH.
    """
    screen = _screen(task)
    typed = _next(task, screen)
    label = _taken_by(task, typed.key, nohandle=nohandle)
    page = task._region.screens.codepage
    data = b"" if typed.short else page.encode(typed.text)
    most = length if maxlength is None else maxlength
    if most is not None and len(data) > most and notruncate:
        screen.first[task] = typed._replace(text=page.decode(data[most:]))
        data = data[:most]
    if most is not None and len(data) > most:
        length = max(most, 0)
        raise Condition(
            Resp.LENGERR,
            detail=f"LENGTH is {length}, the input has {len(data)} bytes",
            data=data[:length],
            length=len(data),
            taken_by=label,
        )
    return data if label is None else label(data)
