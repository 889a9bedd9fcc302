"""From a command of a program to the command of the task: values in by the option's kind, values out likewise.

Most commands are those of :mod:`tdqsim.cics.text`: the text, with its arguments called A1, A2, ..., is resolved once,
and says of each argument what the option holds and which way it goes. Some need the program itself: HANDLE with labels,
LINK, XCTL and RETURN, which concern levels; they are in :data:`_OWN`. A verb that the simulator does not have goes to
the
user's function for it, or stops the task with verb, program and line.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from tdqsim.cics import Condition
from tdqsim.cics.kernel.eib import NO_COMMAND, completion
from tdqsim.cics.programs.commands import abend_program
from tdqsim.cics.text.exec_text import TranslationError
from tdqsim.cics.text.run_text import run_text
from tdqsim.cics.text.translator import Resolved, brought, resolve
from tdqsim.cobol.fields import Area
from tdqsim.cobol.translate import ExecCommand
from tdqsim.errors import TdqError
from tdqsim.facts import Resp

if TYPE_CHECKING:
    from tdqsim.cobol.program import Level

__all__ = ["Plan", "Unserved"]

_UNSET: Final = b"\x9f"
"""What fills storage that nobody has asked to be cleared."""
_SIZES: Final = {"halfword": 2, "fullword": 4, "cvda": 4, "abstime": 8}


class Unserved(TdqError):
    """A program has issued a command that the simulator does not have, and for which there is no function."""


class Plan:
    """What one command of a program comes to; made once for each."""

    def __init__(self, declared: ExecCommand) -> None:
        self.declared = declared
        words = declared.text.replace("(", " (").split()
        own = _OWN.get(" ".join(words[:2])) or _OWN.get(words[0])
        self._do: Callable[[Level, Sequence[Area]], None]
        if words[0] in ("SQL", "DLI"):
            self._do = lambda level, areas: _statement(level, declared, areas)
        elif own is not None:
            self._do = lambda level, areas: own(level, _options(declared, areas), declared)
        else:
            self._do = self._resolved()

    @staticmethod
    @cache
    def of(declared: ExecCommand) -> Plan:
        """The plan of a command."""
        return Plan(declared)

    def issue(self, level: Level, areas: Sequence[Area]) -> None:
        """Do the command.

        Raises:
            Condition, Abend: as the command does. TaskReturn: the level is over.
        """
        self._do(level, areas)

    def _resolved(self) -> Callable[[Level, Sequence[Area]], None]:
        try:
            resolved = resolve(self.declared.text)
        except TranslationError as error:
            reason = str(error)
            return lambda level, areas: _verb_of_the_user(level, self.declared, areas, reason)
        values, receivers = _values(resolved), _receivers(resolved)
        text = self.declared.text

        def issue(level: Level, areas: Sequence[Area]) -> None:
            variables = {f"A{at + 1}": convert(areas[at]) for at, convert in values}
            try:
                received = run_text(level.task, text, variables)
            except Condition as condition:
                _deliver(level, receivers, areas, brought(condition) or {})
                raise
            _deliver(level, receivers, areas, received)
            for word, option in resolved.common.items():
                if word != "NOHANDLE":
                    areas[_at(option)].move(variables[f"A{_at(option) + 1}"])

        return issue


def _deliver(
    level: Level,
    receivers: Sequence[tuple[int, str, Callable[[Area, Any], None]]],
    areas: Sequence[Area],
    values: Mapping[str, Any],
) -> None:
    for at, word, store in receivers:
        if word not in values:
            continue
        if word == "SET":
            data = bytes(values[word])
            areas[at].point(level.storage.hold(level.task.eib.last[:2], data))
        else:
            store(areas[at], values[word])


# -- by kind ------------------------------------------------------------------------------------------------------


def _at(option: Any) -> int:
    """Which argument an option of the resolved text names: A3 is the third."""
    argument = getattr(option.argument, "reference", option.argument)
    return int(argument.name[1:]) - 1


def _values(resolved: Resolved) -> list[tuple[int, Callable[[Area], Any]]]:
    found = []
    received = {_at(option): declared for declared, option in resolved.receives}
    for declared, option in resolved.sends:
        if declared.kind != "flag":
            found.append((_at(option), _READ[declared.kind]))
    sent = {at for at, _convert in found}
    found += [(at, _area) for at, declared in received.items() if declared.kind == "data" and at not in sent]
    return found


def _receivers(resolved: Resolved) -> list[tuple[int, str, Callable[[Area, Any], None]]]:
    return [
        (_at(option), declared.word, _writer(declared.kind, declared.length)) for declared, option in resolved.receives
    ]


def _area(area: Area) -> bytearray:
    return bytearray(area.size)


def _text(area: Area) -> str:
    return area.read().decode("latin-1")


def _abstime(area: Area) -> bytes:
    return area.read(8)


_READ: Final[dict[str, Callable[[Area], Any]]] = {
    "name": _text,
    "data": Area.read,
    "halfword": lambda area: area.number,
    "fullword": lambda area: area.number,
    "cvda": lambda area: area.number,
    "abstime": _abstime,
    "value": lambda area: area.number if area.numeric else _text(area),
    "pointer": lambda area: area.number,
    "label": _text,
}


def _writer(kind: str, length: int) -> Callable[[Area, Any], None]:
    if kind == "abstime":
        return lambda area, value: area.fill(_packed(int(value)))
    if kind in _SIZES:
        return lambda area, value: area.store(int(value), _SIZES[kind])

    def fill(area: Area, value: Any) -> None:
        data = value.encode("latin-1", "replace") if isinstance(value, str) else bytes(value)
        area.fill(data.ljust(length) if isinstance(value, str) else data)

    return fill


def _packed(value: int) -> bytes:
    return bytes.fromhex(f"{value:015d}C")


# -- commands that concern the program itself -----------------------------------------------------------------------


def _options(declared: ExecCommand, areas: Sequence[Area]) -> dict[str, Area | None]:
    """The options of a command by word, with their arguments."""
    found: dict[str, Area | None] = {}
    for part in declared.text.split():
        word, _, argument = part.partition("(")
        found[word] = areas[int(argument[1:-1]) - 1] if argument else None
    return found


def _handle_condition(level: Level, options: dict[str, Area | None], declared: ExecCommand) -> None:
    del options
    labels = {name: level.take_branch(number) if number else None for name, number in declared.labels}
    level.task.handle_condition(**labels)


def _handle_aid(level: Level, options: dict[str, Area | None], declared: ExecCommand) -> None:
    del options
    labels = {name: level.take_branch(number) if number else None for name, number in declared.labels}
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
            level.task.respond(met, "HANDLE ABEND", _name(named), nohandle=_quiet(options), otherwise=None)
    else:
        level.task.handle_abend(reset="RESET" in options)
    _respond(level, options)


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
        level.task.respond(met, "GETMAIN", "", nohandle=_quiet(options), otherwise=None)
    else:
        initial = options.get("INITIMG")
        pointer.point(level.storage.get(-(-size // 16) * 16, initial.read(1) if initial is not None else _UNSET))
        level.task.eib.last = completion("GETMAIN")
    _respond(level, options)


def _freemain(level: Level, options: dict[str, Area | None], declared: ExecCommand) -> None:
    del declared
    data, pointer = options.get("DATA"), options.get("DATAPOINTER")
    address = data.address if data is not None else pointer.pointer if pointer is not None else 0
    if level.storage.free(address):
        level.task.eib.last = completion("FREEMAIN")
    else:
        met = Condition(Resp.INVREQ, 1, "FREEMAIN of what GETMAIN has not given")
        level.task.respond(met, "FREEMAIN", "", nohandle=_quiet(options), otherwise=None)
    _respond(level, options)


def _given(options: dict[str, Area | None]) -> tuple[str, dict[str, Any]]:
    """The program and the other arguments of LINK or XCTL."""
    named, area, length = options.get("PROGRAM"), options.get("COMMAREA"), options.get("LENGTH")
    if named is None:
        raise Unserved("LINK and XCTL need PROGRAM")
    given: dict[str, Any] = {"nohandle": _quiet(options)}
    if area is not None:
        given["commarea"] = area.view()
    if length is not None:
        given["length"] = length.number
    return _name(named), given


def _quiet(options: Container[str]) -> bool:
    return any(word in options for word in ("RESP", "RESP2", "NOHANDLE"))


def _respond(level: Level, options: dict[str, Area | None]) -> None:
    """RESP and RESP2 are moved from the EIB."""
    for word, value in (("RESP", int(level.task.eib.eibresp)), ("RESP2", level.task.eib.eibresp2)):
        area = options.get(word)
        if area is not None:
            area.move(value)


def _link(level: Level, options: dict[str, Area | None], declared: ExecCommand) -> None:
    del declared
    program, given = _given(options)
    task: Any = level.task
    task.link(program, **given)
    _respond(level, options)


def _xctl(level: Level, options: dict[str, Area | None], declared: ExecCommand) -> None:
    del declared
    program, given = _given(options)
    task: Any = level.task
    task.xctl(program, **given)
    _respond(level, options)


_OWN: Final[dict[str, Callable[[Level, dict[str, Area | None], ExecCommand], None]]] = {
    "HANDLE CONDITION": _handle_condition,
    "HANDLE AID": _handle_aid,
    "HANDLE ABEND": _handle_abend,
    "GETMAIN": _getmain,
    "FREEMAIN": _freemain,
    "LINK": _link,
    "XCTL": _xctl,
}


def _statement(level: Level, declared: ExecCommand, areas: Sequence[Area]) -> None:
    """EXEC SQL or EXEC DLI: the user's function gets the statement and its host variables A1, A2, ..."""
    language, _, text = declared.text.partition(" ")
    function = level.verbs.get(language)
    if function is None:
        raise Unserved(f"{declared.place}: EXEC {language} {text}: there is no function for {language}")
    variables: dict[str, Area | None] = {f"A{number}": area for number, area in enumerate(areas, 1)}
    level.statement = text
    function(variables, level)


def _verb_of_the_user(level: Level, declared: ExecCommand, areas: Sequence[Area], reason: str) -> None:
    """A verb that the simulator does not have: the user's function answers it, with a condition or nothing."""
    words = declared.text.replace("(", " (").split()
    name = next((name for name in (" ".join(words[:2]), words[0]) if name in level.verbs), "")
    if not name:
        raise Unserved(f"{declared.place}: EXEC CICS {declared.text}: {reason}")
    options = _options(declared, areas)
    met = level.verbs[name](options, level)
    task = level.task
    if isinstance(met, Condition):
        task.respond(met, name, "", nohandle=_quiet(options), otherwise=None)
    else:
        task.eib.last = NO_COMMAND
    _respond(level, options)
