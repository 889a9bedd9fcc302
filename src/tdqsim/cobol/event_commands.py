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
from typing import TYPE_CHECKING, Final

from tdqsim.cics import Condition
from tdqsim.cobol.fields import FLOOR, Area
from tdqsim.cobol.guarded_areas import GuardedArea
from tdqsim.cobol.translate import ExecCommand
from tdqsim.facts import Resp
from tdqsim.languages import COMMON_OPTIONS, TaskInternals

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
    TaskInternals(level.task).respond(met, command, resource, nohandle=quiet(options))


def _number(options: _Options, word: str) -> int:
    area = options.get(word)
    return 0 if area is None else area.number


def _post(level: Level, options: _Options, declared: ExecCommand) -> None:
    """POST: give an area that is posted when an interval has expired, or at a time of day."""
    storage, events = level.storage, level.settings.events
    address = storage.get(level.libcob, _SIZE, b"\0")

    def ended(posted: bool) -> None:
        storage.put(address, _POSTED if posted else bytes(_SIZE))
        events.wake_all()

    pointer, given = options.get("SET"), options.get("REQID")
    reqid = "" if given is None else given.read().decode("latin-1")[:8].rstrip(" ")
    of_day = "TIME" in options or "AT" in options
    whole = _number(options, "TIME") if "TIME" in options else _number(options, "INTERVAL")
    parts = (_number(options, word) if word in options else None for word in ("HOURS", "MINUTES", "SECONDS"))
    try:
        TaskInternals(level.task).post(ended, whole, *parts, of_day=of_day, reqid=reqid)
    except Condition as met:
        storage.free(address, declared.place)
        _respond(level, options, "POST", "", met)
        return
    if pointer is not None:
        pointer.point(address)


def _wait_event(level: Level, options: _Options, declared: ExecCommand) -> None:
    """WAIT EVENT: wait until the area is posted."""
    del declared
    pointer, named = options.get("ECADDR"), options.get("NAME")
    address = 0 if pointer is None else pointer.pointer
    name = "" if named is None else named.read().decode("latin-1")[:8].rstrip(" ")
    freed = level.storage.has_freed(address)
    if address < FLOOR or freed:
        why = f"ECADDR is {address:#x}, {'storage that FREEMAIN has freed' if freed else 'no storage'}"
        _respond(level, options, "WAIT EVENT", name, Condition(Resp.INVREQ, 2, why))
        return
    if address % _ALIGNED:
        _respond(level, options, "WAIT EVENT", name, Condition(Resp.INVREQ, 4, f"ECADDR is {address:#x}, no fullword"))
        return
    first = ctypes.c_ubyte.from_address(address)

    inside = TaskInternals(level.task)
    inside.wait_until(lambda: bool(first.value & _COMPLETE), level.settings.events, "EKCWAIT", name)
    inside.completed("WAIT EVENT")


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
