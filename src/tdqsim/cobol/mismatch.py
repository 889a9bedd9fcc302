"""What a program does that real CICS would punish, or that would show as garbage there.

CICS knows addresses only. A LENGTH that goes beyond its area reads or writes what follows; an option that receives a
fullword writes four bytes, whatever the program has declared there. Programs get away with it by luck, so it is told,
once for each command and option, as a :class:`CobolWarning` that pytest shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from tdqsim.cics.kernel.command import CommandOption
from tdqsim.cobol.fields import Area, Areas
from tdqsim.cobol.translate import ExecCommand

if TYPE_CHECKING:
    from tdqsim.cobol.level import Level

__all__ = ["CobolWarning", "over", "unfit"]

_BINARY: Final = {"halfword": (2, "a halfword, PIC S9(4) COMP"), "fullword": (4, "a fullword, PIC S9(8) COMP")}
_ABSTIME: Final = 8
_POINTER: Final = 8


class CobolWarning(UserWarning):
    """A program does what real CICS would punish, or what would be garbage there."""


def over(level: Level, declared: ExecCommand, word: str, area: Area, length: int) -> None:
    """Tell that a command reads or writes beyond an area."""
    _tell(
        level,
        declared,
        word,
        f"{word}({area.written}) has {area.size} bytes and the command takes {length}: CICS goes on with what follows",
    )


def unfit(level: Level, declared: ExecCommand, options: Sequence[tuple[CommandOption, int]], areas: Areas) -> None:
    """Tell of each option whose area is not what CICS takes it for."""
    for option, at in options:
        area = areas[at]
        if option.kind == "abstime":
            if area.size != _ABSTIME or not area.packed:
                text = f"{_named(option, area)}; ABSTIME is eight bytes, PIC S9(15) COMP-3"
                _tell(level, declared, option.word, text)
        elif not option.receiver:
            continue
        elif option.kind in _BINARY:
            size, wanted = _BINARY[option.kind]
            if area.size != size or not area.binary:
                _tell(level, declared, option.word, f"{_named(option, area)}; CICS writes {wanted}")
        elif option.kind == "pointer" and area.size < _POINTER:
            _tell(level, declared, option.word, f"{_named(option, area)}; a pointer has {_POINTER} here")
        elif option.kind == "name" and option.length and area.size < option.length:
            _tell(level, declared, option.word, f"{_named(option, area)}; CICS writes {option.length} bytes")


def _named(option: CommandOption, area: Area) -> str:
    usage = "binary" if area.binary else "packed" if area.packed else "DISPLAY digits" if area.numeric else "characters"
    return f"{option.word}({area.written}) has {area.size} bytes, {usage}"


def _tell(level: Level, declared: ExecCommand, word: str, text: str) -> None:
    key = (declared.place, word)
    if key not in level.settings.told:
        level.settings.told.add(key)
        level.settings.on_warning(f"{declared.place}: {declared.verb}: {text}")
