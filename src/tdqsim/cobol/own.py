"""The commands that concern the program itself: labels, levels, storage and addresses.

HANDLE with labels, LINK and XCTL with the program's own storage as COMMAREA, GETMAIN and FREEMAIN, ADDRESS. Each gets
the options with their areas.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from tdqsim.cics import Condition
from tdqsim.cics.kernel.eib import completion
from tdqsim.cics.programs.commands import abend_program
from tdqsim.cics.text.translator import COMMON_OPTIONS
from tdqsim.cobol.fields import Area, Areas
from tdqsim.cobol.mismatch import over
from tdqsim.cobol.own_events import EVENTS, quiet
from tdqsim.cobol.translate import ExecCommand
from tdqsim.errors import TdqError
from tdqsim.facts import Resp, table

if TYPE_CHECKING:
    from tdqsim.cobol.level import Level

__all__ = ["OWN", "Own", "Unserved", "options_of", "own_command"]

_UNSET: Final = b"\x9f"
"""What fills storage that nobody has asked to be cleared."""
_LONGEST: Final = next(int(row["value"]) for row in table("programs") if row["name"] == "longest_commarea")
_NO_AREA: Final = next(int(row["value"], 16) for row in table("cobol") if row["name"] == "no_area")


Own = Callable[["Level", dict[str, Area | None], ExecCommand], None]
"""Does a command that concerns the program itself."""


class Unserved(TdqError):
    """A program has issued a command that the simulator does not have, and for which there is no function."""


def _words(declared: ExecCommand) -> list[tuple[str, int]]:
    """The options of a command, each with the place of its argument; -1 for one that has none or is not passed."""
    found = []
    for part in declared.text.split():
        word, _, argument = part.partition("(")
        at = int(argument[1:-1]) - 1 if argument else -1
        found.append((word, at if at < declared.passed else -1))
    return found


def options_of(declared: ExecCommand, areas: Areas) -> dict[str, Area | None]:
    """The options of a command by word, with their arguments."""
    return {word: None if at < 0 else areas[at] for word, at in _words(declared)}


def own_command(own: Own, declared: ExecCommand) -> Callable[[Level, Sequence[int]], None]:
    """What one of these commands comes to."""
    words = _words(declared)

    def issue(level: Level, rows: Sequence[int]) -> None:
        areas = Areas(level.libcob, rows, declared.written)
        own(level, {word: None if at < 0 else areas[at] for word, at in words}, declared)

    return issue


def _handle_condition(level: Level, options: dict[str, Area | None], declared: ExecCommand) -> None:
    del options
    labels = {name: level.take_branch(number) if number else None for name, number in declared.labels}
    level.task.handle_condition(**labels)


def _handle_aid(level: Level, options: dict[str, Area | None], declared: ExecCommand) -> None:
    del options
    labels = {name: level.take_aid(number) if number else None for name, number in declared.labels}
    level.task.handle_aid(**labels)


def _handle_abend(level: Level, options: dict[str, Area | None], declared: ExecCommand) -> None:
    if declared.labels:
        level.task.handle_abend(level.abend_exit(declared.labels[0][1]))
        return
    named = options.get("PROGRAM")
    if named is not None:
        try:
            level.task.handle_abend(abend_program(level.task, _name(named)))
        except Condition as met:
            level.task.respond(met, "HANDLE ABEND", _name(named), nohandle=quiet(options), otherwise=None)
    else:
        level.task.handle_abend(reset="RESET" in options)


def _name(area: Area) -> str:
    return area.read().decode("latin-1")[:8].rstrip(" \0")


def _getmain(level: Level, options: dict[str, Area | None], declared: ExecCommand) -> None:
    """GETMAIN: storage on a 16-byte boundary, of the length asked for rounded up to 16."""
    del declared
    pointer = options.get("SET")
    length = options.get("FLENGTH") or options.get("LENGTH")
    if pointer is None or length is None:
        raise Unserved("GETMAIN needs SET and LENGTH or FLENGTH")
    size = length.number
    if size < 1:
        met = Condition(Resp.LENGERR, 1, f"GETMAIN of {size} bytes")
        level.task.respond(met, "GETMAIN", "", nohandle=quiet(options), otherwise=None)
    else:
        initial = options.get("INITIMG")
        pointer.point(level.storage.get(-(-size // 16) * 16, initial.read(1) if initial is not None else _UNSET))
        level.task.eib.last = completion("GETMAIN")


def _freemain(level: Level, options: dict[str, Area | None], declared: ExecCommand) -> None:
    del declared
    data, pointer = options.get("DATA"), options.get("DATAPOINTER")
    address = data.address if data is not None else pointer.pointer if pointer is not None else 0
    if level.storage.free(address):
        level.task.eib.last = completion("FREEMAIN")
    else:
        met = Condition(Resp.INVREQ, 1, "FREEMAIN of what GETMAIN has not given")
        level.task.respond(met, "FREEMAIN", "", nohandle=quiet(options), otherwise=None)


def _given(level: Level, options: dict[str, Area | None], declared: ExecCommand) -> tuple[str, dict[str, Any]]:
    """The program and the other arguments of LINK or XCTL."""
    named, area, length = options.get("PROGRAM"), options.get("COMMAREA"), options.get("LENGTH")
    if named is None:
        raise Unserved("LINK and XCTL need PROGRAM")
    given: dict[str, Any] = {"nohandle": quiet(options)}
    if length is not None:
        given["length"] = length.number
    if area is not None:
        given["commarea"] = _commarea(level, area, given.get("length"), declared)
    channel = options.get("CHANNEL")
    if channel is not None:
        given["channel"] = channel.read().decode("latin-1")
    return _name(named), given


def _commarea(level: Level, area: Area, length: int | None, declared: ExecCommand) -> memoryview | None:
    """The program's own storage, of the length that is passed: that may go beyond the item, to the end of its 01.

    An area of no storage is none where nothing of it is passed.
    """
    if length is None or 0 <= length <= area.size:
        return area.view() if length != 0 else None
    if not 0 <= length <= _LONGEST:  # which is refused
        return area.view()
    over(level, declared, "COMMAREA", area, length)
    return area.view(min(length, max(level.room_from(area.address), area.size)))


def _link(level: Level, options: dict[str, Area | None], declared: ExecCommand) -> None:
    program, given = _given(level, options, declared)
    task: Any = level.task
    task.link(program, **given)


def _xctl(level: Level, options: dict[str, Area | None], declared: ExecCommand) -> None:
    program, given = _given(level, options, declared)
    task: Any = level.task
    task.xctl(program, **given)


def _address(level: Level, options: dict[str, Area | None], declared: ExecCommand) -> None:
    """ADDRESS: the areas of the task and of the region; one that is not there has an address of its own."""
    del declared
    area = options.get("SET")
    using = options.get("USING")
    if area is not None and using is not None:
        area.point(using.pointer)
    for word, address in (
        ("EIB", level.eib_address),
        ("COMMAREA", level.commarea_address),
        ("TWA", level.twa_address),
        ("CWA", level.settings.cwa_address),
        ("TCTUA", None),
        ("ACEE", None),
    ):
        pointer = options.get(word)
        if pointer is not None:
            pointer.point(_NO_AREA if address is None else address)
    level.task.eib.last = completion("ADDRESS")


def _return(level: Level, options: dict[str, Area | None], declared: ExecCommand) -> None:
    """RETURN: with a COMMAREA that may go beyond the item."""
    given: dict[str, Any] = {"nohandle": quiet(options), "immediate": "IMMEDIATE" in options}
    refused = options.keys() - _RETURN
    if refused:
        raise Unserved(f"{declared.place}: RETURN with {', '.join(sorted(refused))} is not served")
    length, area = options.get("LENGTH"), options.get("COMMAREA")
    for word in ("TRANSID", "CHANNEL"):
        named = options.get(word)
        if named is not None:
            given[word.lower()] = named.read().decode("latin-1").rstrip(" ")
    if length is not None:
        given["length"] = length.number
    if area is not None:
        given["commarea"] = _commarea(level, area, given.get("length"), declared)
    task: Any = level.task  # which goes on where a condition is not raised
    task.return_(**given)


_RETURN: Final = frozenset(["RETURN", "TRANSID", "COMMAREA", "LENGTH", "CHANNEL", "IMMEDIATE", *COMMON_OPTIONS])
OWN: Final[dict[str, Own]] = {
    "HANDLE CONDITION": _handle_condition,
    "HANDLE AID": _handle_aid,
    "HANDLE ABEND": _handle_abend,
    "GETMAIN": _getmain,
    "FREEMAIN": _freemain,
    "ADDRESS": _address,
    "RETURN": _return,
    "LINK": _link,
    "XCTL": _xctl,
    **EVENTS,
}
