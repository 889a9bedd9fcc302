"""The parameters of a program call, from the words of a step to the bytes that the program gets."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from tdqsim.errors import WrongValue
from tdqsim.hosting import codepage
from tdqsim.ibmi import pack_binary, pack_decimal

_PAGE: Final = codepage(37)
_SIZED = re.compile(r"([cp])(\d+)")
_NAME = 10


class Argument(NamedTuple):
    """One parameter of a call.

    Attributes:
        data: its bytes before the call; None for a null pointer.
        output: whether the program may change it.
    """

    data: bytes | None
    output: bool


def argument(word: str) -> Argument:
    """The parameter for a word such as ``p5:10``; the cases describe the forms."""
    kind, _, value = word.partition(":")
    if kind == "null":
        return Argument(None, output=False)
    if kind in ("o", "i", "e"):
        return Argument(_output(kind, value), output=True)
    return Argument(_input(kind, value), output=False)


def _output(kind: str, value: str) -> bytes:
    if kind == "i":
        return bytes.fromhex(value)
    length = int(value)
    return pack_binary(length).ljust(length, b"\0") if kind == "e" else bytes(length)


def _input(kind: str, value: str) -> bytes:
    if kind == "t":
        return _PAGE.encode(value)
    if kind == "x":
        return bytes.fromhex(value)
    if kind == "b4":
        return pack_binary(int(value))
    if kind == "q":
        name, _, library = value.partition("/")
        return _PAGE.encode(name.ljust(_NAME) + library.ljust(_NAME))
    sized = _SIZED.fullmatch(kind)
    if sized is None:
        raise WrongValue(f"{kind}:{value}: this is no parameter of a call")
    length = int(sized[2])
    return pack_decimal(int(value), length) if sized[1] == "p" else _PAGE.encode(value.ljust(length))
