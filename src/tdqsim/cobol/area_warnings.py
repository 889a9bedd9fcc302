"""Warnings about options whose areas have the wrong size or type: real CICS would overwrite storage or show garbage.

CICS gets only addresses. A LENGTH that is longer than its area makes it read or write the storage after the area; an
option that receives a fullword writes four bytes, whatever the program has declared there. Such programs work only by
luck. So a :class:`CobolWarning`, which pytest shows, is issued once for each command and option.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from tdqsim.cobol.fields import Area, Areas
from tdqsim.cobol.translate import ExecCommand
from tdqsim.languages import CommandOption

if TYPE_CHECKING:
    from tdqsim.cobol.level import Level

_BINARY: Final = {"halfword": (2, "a halfword, PIC S9(4) COMP"), "fullword": (4, "a fullword, PIC S9(8) COMP")}
_ABSTIME: Final = 8
_POINTER: Final = 8


class CobolWarning(UserWarning):
    """An option's area has the wrong size or type: real CICS would overwrite storage or show garbage."""


def over(level: Level, declared: ExecCommand, word: str, area: Area, length: int) -> None:
    """Warn that a command reads or writes beyond an area."""
    warn_of(
        level,
        declared,
        word,
        f"{word}({area.written}) has {area.size} bytes and the command uses {length}: CICS continues into the "
        "storage after it",
    )


def unfit(level: Level, declared: ExecCommand, options: Sequence[tuple[CommandOption, int]], areas: Areas) -> None:
    """Warn of each option whose area does not have the type that CICS assumes."""
    for option, at in options:
        area = areas[at]
        if option.kind == "abstime":
            if area.size != _ABSTIME or not area.packed:
                text = f"{_named(option, area)}; ABSTIME is eight bytes, PIC S9(15) COMP-3"
                warn_of(level, declared, option.word, text)
        elif not option.receiver:
            continue
        elif option.kind in _BINARY:
            size, wanted = _BINARY[option.kind]
            if area.size != size or not area.binary:
                warn_of(level, declared, option.word, f"{_named(option, area)}; CICS writes {wanted}")
        elif option.kind == "pointer" and area.size < _POINTER:
            warn_of(level, declared, option.word, f"{_named(option, area)}; a pointer has {_POINTER} here")
        elif option.kind == "name" and option.length and area.size < option.length:
            warn_of(level, declared, option.word, f"{_named(option, area)}; CICS writes {option.length} bytes")


def unconverted(level: Level, declared: ExecCommand, name: str) -> None:
    """Warn, once for each name, that records of a queue or file are not converted in a region that is not ASCII."""
    key = ("unconverted", name)
    if key not in level.settings.warned:
        level.settings.warned.add(key)
        level.settings.on_warning(
            f"{declared.place}: {declared.verb}: {name} has no code page in cobol: code_pages, so its records stay "
            "ASCII in a region that is not"
        )


def _named(option: CommandOption, area: Area) -> str:
    usage = "binary" if area.binary else "packed" if area.packed else "DISPLAY digits" if area.numeric else "characters"
    return f"{option.word}({area.written}) has {area.size} bytes, {usage}"


def warn_of(level: Level, declared: ExecCommand, word: str, text: str) -> None:
    """Issue a warning about an option of a command, once for each place and option."""
    key = (declared.place, word)
    if key not in level.settings.warned:
        level.settings.warned.add(key)
        level.settings.on_warning(f"{declared.place}: {declared.verb}: {text}")
