"""The commands that concern the program itself: labels, levels, storage and addresses.

HANDLE with labels, LINK and XCTL with the program's own storage as COMMAREA, GETMAIN and FREEMAIN, ADDRESS. The
function for each command gets the options with their areas.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tdqsim.cics import COMMANDS, Condition, TranslationError
from tdqsim.cobol.area_warnings import over, warn_of
from tdqsim.cobol.event_commands import EVENTS, quiet
from tdqsim.cobol.fields import Area, Areas
from tdqsim.cobol.translate import ExecCommand
from tdqsim.facts import Resp, table
from tdqsim.languages import COMMON_OPTIONS, TaskInternals, resolve

if TYPE_CHECKING:
    from tdqsim.cobol.level import Level

_UNSET: Final = b"\x9f"
"""The byte that fills storage without INITIMG."""
_LONGEST: Final = next(int(row["value"]) for row in table("programs") if row["name"] == "longest_commarea")
_COMMON: Final = {word: word != "NOHANDLE" for word in COMMON_OPTIONS}
"""The options of all commands, and whether each has an argument."""
_NO_AREA: Final = next(int(row["value"], 16) for row in table("cobol") if row["name"] == "no_area")


ProgramCommand = Callable[["Level", dict[str, Area | None], ExecCommand], None]
"""A function that does a command that concerns the program itself."""


class Refusal(NamedTuple):
    """Why the simulator does not execute a command.

    Attributes:
        reason: the problem.
        option: the word that is not an option of the command; empty for other problems.
    """

    reason: str
    option: str = ""


def refusal_of(error: TranslationError) -> Refusal:
    """The refusal of a command that cannot be resolved."""
    return Refusal(error.reason, error.option)


def _words(declared: ExecCommand) -> list[tuple[str, int]]:
    """The options of a command, each with the position of its argument; -1 if it has none, or it is not passed."""
    options = []
    for part in declared.text.split():
        word, _, argument = part.partition("(")
        at = int(argument[1:-1]) - 1 if argument else -1
        options.append((word, at if at < declared.passed else -1))
    return options


def options_of(declared: ExecCommand, areas: Areas) -> dict[str, Area | None]:
    """The options of a command by word, with their arguments."""
    return {word: None if at < 0 else areas[at] for word, at in _words(declared)}


def program_command(own: ProgramCommand, declared: ExecCommand) -> Callable[[Level, Sequence[int]], None]:
    """The function that does one of these commands."""
    words = _words(declared)

    def issue(level: Level, rows: Sequence[int]) -> None:
        areas = Areas(level.libcob, rows, declared.written)
        own(level, {word: None if at < 0 else areas[at] for word, at in words}, declared)

    return issue


def program_command_name(declared: ExecCommand) -> str:
    """The name of a command in the table; empty when it is not in the table."""
    words = declared.text.replace("(", " (").split()
    return next((name for name in (" ".join(words[:2]), words[0]) if name in PROGRAM_COMMANDS), "")


def refused(name: str, declared: ExecCommand) -> Refusal | None:
    """The problem with the options of a command of the table; None when there is none."""
    if name not in COMMANDS:
        return _wrong_options(name, declared)
    labels = "".join(f" {word}(A1)" if number else f" {word}" for word, number in declared.labels)
    try:
        resolve(declared.text + labels)
    except TranslationError as error:
        return refusal_of(error)
    words = {word for word, _at in _words(declared)}
    beyond = sorted(words - _SERVED.get(name, words) - {*name.split(), *COMMON_OPTIONS})
    if beyond:
        return Refusal(f"{beyond[0]} is not an option of {name} that is supported here", beyond[0])
    return None


def _wrong_options(name: str, declared: ExecCommand) -> Refusal | None:
    """As :func:`refused`, for a command that is declared only in ``cobol_options``."""
    rows = {row["option"]: row for row in table("cobol_options") if row["command"] == name}
    known = {word: row["argument"] == "yes" for word, row in rows.items()} | _COMMON
    given: set[str] = set()
    parts = declared.text.split()[1:]
    for word, opened, _argument in (part.partition("(") for part in parts if part not in name.split()):
        if word not in known:
            allowed = f"{', '.join(sorted(rows))}, {', '.join(_COMMON)}"
            return Refusal(f"{word} is not an option of {name}; allowed are {allowed}", word)
        if word in given:
            return Refusal(f"{word} is given twice")
        if bool(opened) is not known[word]:
            return Refusal(f"{word} needs an argument in parentheses" if known[word] else f"{word} takes no argument")
        given.add(word)
    for group in dict.fromkeys(row["group"] for row in rows.values() if row["group"]):
        words = [word for word, row in rows.items() if row["group"] == group]
        if len(given.intersection(words)) != 1:
            return Refusal(f"{name} needs {'one of ' if len(words) > 1 else ''}{' and '.join(words)}")
    return None


def _handle_condition(level: Level, options: dict[str, Area | None], declared: ExecCommand) -> None:
    del options
    labels = {name: level.take_branch(number) if number else None for name, number in declared.labels}
    level.task.handle_condition(**labels)


def _handle_aid(level: Level, options: dict[str, Area | None], declared: ExecCommand) -> None:
    del options
    labels = {name: level.take_aid(number) if number else None for name, number in declared.labels}
    level.task.handle_aid(**labels)


def _handle_abend(level: Level, options: dict[str, Area | None], declared: ExecCommand) -> None:
    cancel, reset = "CANCEL" in options, "RESET" in options
    named = options.get("PROGRAM")
    if declared.labels:
        level.task.handle_abend(level.abend_exit(declared.labels[0][1]), cancel=cancel, reset=reset)
    elif named is not None:
        try:
            level.task.handle_abend(TaskInternals(level.task).abend_exit(_name(named)), cancel=cancel, reset=reset)
        except Condition as met:
            TaskInternals(level.task).respond(met, "HANDLE ABEND", _name(named), nohandle=quiet(options))
    else:
        level.task.handle_abend(cancel=cancel, reset=reset)


def _name(area: Area) -> str:
    return area.read().decode("latin-1")[:8].rstrip(" \0")


def _getmain(level: Level, options: dict[str, Area | None], declared: ExecCommand) -> None:
    """GETMAIN: storage on a 16-byte boundary, of the requested length rounded up to a multiple of 16."""
    del declared
    pointer, length = options["SET"], options.get("FLENGTH") or options.get("LENGTH")
    assert pointer is not None
    assert length is not None
    size = length.number
    if size < 1:
        met = Condition(Resp.LENGERR, 1, f"GETMAIN of {size} bytes")
        TaskInternals(level.task).respond(met, "GETMAIN", nohandle=quiet(options))
    else:
        initial = options.get("INITIMG")
        owner = level.settings.shared if "SHARED" in options else level.storage
        pointer.point(owner.get(level.libcob, -(-size // 16) * 16, initial.read(1) if initial is not None else _UNSET))
        TaskInternals(level.task).completed("GETMAIN")


def _freemain(level: Level, options: dict[str, Area | None], declared: ExecCommand) -> None:
    data, pointer = options.get("DATA"), options.get("DATAPOINTER")
    address = level.libcob.original(data.address) if data is not None else pointer.pointer if pointer is not None else 0
    if any(storage.free(address, declared.place) for storage in (level.storage, level.settings.shared)):
        TaskInternals(level.task).completed("FREEMAIN")
    else:
        met = Condition(Resp.INVREQ, 1, "FREEMAIN of storage that is not from GETMAIN")
        TaskInternals(level.task).respond(met, "FREEMAIN", nohandle=quiet(options))


def _given(level: Level, options: dict[str, Area | None], declared: ExecCommand) -> tuple[str, dict[str, Any]]:
    """The program and the other arguments of LINK or XCTL."""
    named, channel = options["PROGRAM"], options.get("CHANNEL")
    assert named is not None
    given = _passed(level, options, declared)
    if channel is not None:
        given["channel"] = channel.read().decode("latin-1")
    return _name(named), given


def _passed(level: Level, options: dict[str, Area | None], declared: ExecCommand) -> dict[str, Any]:
    """The arguments that LINK, XCTL and RETURN have in common: the COMMAREA, which may go beyond the item."""
    area, length = options.get("COMMAREA"), options.get("LENGTH")
    given: dict[str, Any] = {"nohandle": quiet(options)}
    if length is not None:
        given["length"] = length.number
    if area is not None:
        given["commarea"] = _commarea(level, area, given.get("length"), declared)
    return given


def _commarea(level: Level, area: Area, length: int | None, declared: ExecCommand) -> memoryview | None:
    """The program's own storage as COMMAREA; its length may go beyond the item, to the end of the 01.

    With length 0, an address outside storage means no COMMAREA.
    """
    if level.libcob.freed(area.address):
        name = level.libcob.area_of(area.address).decode("latin-1")
        text = f"COMMAREA({area.written}) is in the {name}: on the mainframe it is other storage"
        warn_of(level, declared, "COMMAREA", text)
    if length is None or 0 <= length <= area.size:
        return area.view() if length != 0 else None
    if not 0 <= length <= _LONGEST:  # CICS refuses such a length
        return area.view()
    over(level, declared, "COMMAREA", area, length)
    return area.view(min(length, max(level.room_from(area.address), area.size)))


def _link(level: Level, options: dict[str, Area | None], declared: ExecCommand) -> None:
    program, given = _given(level, options, declared)
    datalength = options.get("DATALENGTH")
    if datalength is not None:
        given["datalength"] = datalength.number
    for word in ("SYSID", "TRANSID"):
        named = options.get(word)
        if named is not None:
            given[word.lower()] = named.read().decode("latin-1")
    level.task.link(program, syncpointonreturn="SYNCONRETURN" in options, **given)


def _xctl(level: Level, options: dict[str, Area | None], declared: ExecCommand) -> None:
    program, given = _given(level, options, declared)
    level.task.xctl(program, **given)


def _address(level: Level, options: dict[str, Area | None], declared: ExecCommand) -> None:
    """ADDRESS: the addresses of areas of the task and the region; a special address for a missing area."""
    del declared
    for word, address in (
        ("EIB", level.eib_address),
        ("COMMAREA", level.commarea_address),
        ("TWA", level.twa_address),
        ("CWA", level.cwa_address),
        ("TCTUA", None),
        ("ACEE", None),
    ):
        pointer = options.get(word)
        if pointer is not None:
            pointer.point(_NO_AREA if address is None else address)
    TaskInternals(level.task).completed("ADDRESS")


def _address_set(level: Level, options: dict[str, Area | None], declared: ExecCommand) -> None:
    """ADDRESS SET: set a pointer of the program, or set the address of an item from a pointer."""
    del declared
    area, using = options["SET"], options["USING"]
    assert area is not None
    assert using is not None
    area.point(using.pointer)
    TaskInternals(level.task).completed("ADDRESS")


def _return(level: Level, options: dict[str, Area | None], declared: ExecCommand) -> None:
    """RETURN with a COMMAREA, which may go beyond the item."""
    given = {**_passed(level, options, declared), "immediate": "IMMEDIATE" in options}
    for word in ("TRANSID", "CHANNEL"):
        named = options.get(word)
        if named is not None:
            given[word.lower()] = named.read().decode("latin-1").rstrip(" ")
    level.task.return_(**given)


_PASSED: Final = frozenset(["PROGRAM", "COMMAREA", "LENGTH", "CHANNEL"])
_SERVED: Final = {
    "LINK": _PASSED | {"DATALENGTH", "SYNCONRETURN", "SYSID", "TRANSID"},
    "XCTL": _PASSED,
    "RETURN": frozenset(["TRANSID", "COMMAREA", "LENGTH", "CHANNEL", "IMMEDIATE"]),
}
"""The options that have an effect; the fact tables may declare more options."""
PROGRAM_COMMANDS: Final[dict[str, ProgramCommand]] = {
    "HANDLE CONDITION": _handle_condition,
    "HANDLE AID": _handle_aid,
    "HANDLE ABEND": _handle_abend,
    "GETMAIN": _getmain,
    "FREEMAIN": _freemain,
    "ADDRESS": _address,
    "ADDRESS SET": _address_set,
    "RETURN": _return,
    "LINK": _link,
    "XCTL": _xctl,
    **EVENTS,
}
