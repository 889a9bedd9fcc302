"""The commands that give a program an address that other tasks share: POST and WAIT EVENT, LOAD and RELEASE.

POST returns a timer-event control area of four bytes. It is binary zeros until the time expires; then it becomes
X'40008000', and the tasks that wait for it continue. A task has one such area at a time: another POST, a DELAY, or a
START of a transaction of this region takes it back. CANCEL without a name cancels the task's own POST, also after it
has expired, and clears the area; CANCEL with its REQID makes it expire at once. WAIT EVENT waits until any such area is
posted (bit 1 of byte 0); an area that a program posts by itself is noticed when the next POST expires.

LOAD returns the address of a table (see :mod:`tdqsim.cics.programs.loading`): of its one copy, so a change by one
program is a change for all. Sources: POST, CANCEL, WAIT EVENT, LOAD, RELEASE (IBM Docs), from memory.
"""

from __future__ import annotations

import ctypes
from collections.abc import Container
from functools import partial
from typing import TYPE_CHECKING, Final

from tdqsim.cics import Condition, Task
from tdqsim.cobol.fields import FLOOR, Area
from tdqsim.cobol.guarded_areas import GuardedArea
from tdqsim.cobol.translate import ExecCommand
from tdqsim.facts import Cvda, Resp
from tdqsim.hosting import WAIT, WaitMark, core_of
from tdqsim.languages import (
    COMMON_OPTIONS,
    TimedWait,
    completion,
    interval_ns,
    moment_of_day,
    respond,
    supersede_post,
    wait,
)

if TYPE_CHECKING:
    from tdqsim.cobol.level import Level

_POSTED: Final = bytes.fromhex("40008000")
_COMPLETE: Final = 0x40
_SIZE: Final = len(_POSTED)
_ALIGNED: Final = 4
_LARGEST: Final = 32767
_Options = dict[str, Area | None]


def quiet(options: Container[str]) -> bool:
    """Whether a condition of the command is not raised: it has RESP or NOHANDLE."""
    return any(word in options for word in COMMON_OPTIONS)


def _respond(level: Level, options: _Options, command: str, resource: str, met: Condition) -> None:
    respond(level.task, met, command, resource, nohandle=quiet(options), otherwise=None)


def _number(options: _Options, word: str) -> int:
    area = options.get(word)
    return 0 if area is None else area.number


def _post(level: Level, options: _Options, declared: ExecCommand) -> None:
    """POST: give an area that is posted when an interval has expired, or at a time of day."""
    del declared
    task = level.task
    try:
        moment = _moment(task, options)
    except Condition as met:
        _respond(level, options, "POST", "", met)
        return
    storage, dispatcher, starts = level.storage, task.region.dispatcher, core_of(task.region).starts
    supersede_post(task)
    address = storage.get(level.libcob, _SIZE, b"\0")
    events = level.settings.events

    pointer, given = options.get("SET"), options.get("REQID")
    reqid = "" if given is None else given.read().decode("latin-1")[:8].rstrip(" ")

    def end(*, posted: bool) -> bool:
        starts.drop_timed(reqid, expire)
        if not posted and starts.posts.get(task) is take_back:  # the task may cancel it after it has expired, too
            del starts.posts[task]
        ctypes.memmove(address, _POSTED if posted else bytes(_SIZE), _SIZE)
        if storage.timer is not None:  # it is None when this function was interrupted and runs again
            storage.timer.cancel()
        storage.timer = None  # last, because the timer keeps the storage alive
        events.wake_all()
        return True

    def over() -> None:
        end(posted=True)

    expire, take_back = partial(end, posted=True), partial(end, posted=False)
    storage.timer = dispatcher.call_at(moment, over)
    starts.posts[task] = take_back
    if pointer is not None:
        pointer.point(address)
    if reqid:
        starts.add_timed(TimedWait(Cvda.POST, reqid, moment, task.userid), expire)
        task.eib.eibreqid = reqid
    task.eib.last = completion("POST")


def _moment(task: Task, options: _Options) -> int:
    """Return the time at which the area is to be posted.

    Raises:
        Condition: INVREQ 4, 5, 6: hours, minutes, seconds are out of range. EXPIRED: the time has passed.
    """
    of_day = "TIME" in options or "AT" in options
    whole = _number(options, "TIME") if "TIME" in options else _number(options, "INTERVAL")
    parts = (_number(options, word) if word in options else None for word in ("HOURS", "MINUTES", "SECONDS"))
    pause = interval_ns(whole, *parts)
    now = int(task.region.clock.time_ns())
    if not of_day:
        return now + pause
    moment = moment_of_day(task, now, pause)
    if moment == now:
        raise Condition(Resp.EXPIRED, detail="the time of the day is past")
    return moment


def _wait_event(level: Level, options: _Options, declared: ExecCommand) -> None:
    """WAIT EVENT: wait until the area is posted."""
    del declared
    task = level.task
    pointer, named = options.get("ECADDR"), options.get("NAME")
    address = 0 if pointer is None else pointer.pointer
    name = "" if named is None else named.read().decode("latin-1")[:8].rstrip(" ")
    if address < FLOOR:
        _respond(level, options, "WAIT EVENT", name, Condition(Resp.INVREQ, 2, f"ECADDR is {address:#x}, no storage"))
        return
    if address % _ALIGNED:
        _respond(level, options, "WAIT EVENT", name, Condition(Resp.INVREQ, 4, f"ECADDR is {address:#x}, no fullword"))
        return
    first = ctypes.c_ubyte.from_address(address)

    def attempt() -> WaitMark | None:
        return None if first.value & _COMPLETE else WAIT

    if attempt() is WAIT:
        wait(task, attempt, level.settings.events, "EKCWAIT", name)
    task.eib.last = completion("WAIT EVENT")


def _load(level: Level, options: _Options, declared: ExecCommand) -> None:
    """LOAD: return the address and the length of a table."""
    del declared
    name = _program(options)
    if level.task.load(name, hold="HOLD" in options, nohandle=quiet(options)) is None:
        return
    table = level.task.region.programs.loadable(name)
    assert table is not None
    if table.storage is None:
        table.storage = GuardedArea(level.libcob, f"table {name}", table.data)
    area = table.storage
    assert isinstance(area, GuardedArea)
    for word in ("SET", "ENTRY"):
        pointer = options.get(word)
        if pointer is not None:
            pointer.point(area.address)
    for word, size in (("LENGTH", 2), ("FLENGTH", 4)):
        length = options.get(word)
        if length is not None:
            length.store(min(area.size, _LARGEST) if size == 2 else area.size, size)


def _release(level: Level, options: _Options, declared: ExecCommand) -> None:
    """RELEASE: end the use of a table."""
    del declared
    level.task.release(_program(options), nohandle=quiet(options))


def _program(options: _Options) -> str:
    area = options.get("PROGRAM")
    return "" if area is None else area.read().decode("latin-1")[:8].rstrip(" \0").upper()


EVENTS: Final = {"POST": _post, "WAIT EVENT": _wait_event, "LOAD": _load, "RELEASE": _release}
"""The functions of the commands that a program gives addresses of events or storage."""
