"""Values of host variables and of parameters of CALLs, in the form in which a test writes them.

An argument has the type that the program declares: text is ``str``, without trailing blanks when it is read; a number
is ``int`` or ``Decimal``; a group is the values of its items by name. A group of two items of level 49 is a VARCHAR: a
length and a text, which together are one text.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from tdqsim.cobol.fields import Area
from tdqsim.cobol.program_storage import ProgramStorage, decoded, encoded
from tdqsim.cobol.stubs import put
from tdqsim.cobol.symbols import Item
from tdqsim.errors import TdqError, UsageError

ArgumentValue = str | int | float | Decimal | bytes | Mapping[str, Any] | Sequence[Any] | None
"""A value for an argument; None is SQL's null value."""
_VARCHAR: Final = 49


class CobolArgument:
    """A host variable, or a parameter of a CALL.

    Attributes:
        name: its name in the program.
        address: where its storage is.
        items: the item and those inside it; empty for an expression, or when the program does not declare the name.
        area: the argument as the run-time passes it; None for an item of a structure.
    """

    def __init__(self, name: str, address: int, items: Sequence[Item], area: Area | None = None) -> None:
        self.name = name
        self.address = address
        self.items = tuple(items)
        self.area = area

    @property
    def parts(self) -> list[CobolArgument]:
        """The items of a structure; a list of only itself for others."""
        if not self.items or self.items[0].kind != "GROUP" or self._is_varchar:
            return [self]
        first = self.items[0]
        own = min((item.level for item in self.items[1:]), default=0)
        parts: list[CobolArgument] = []
        for at, item in enumerate(self.items[1:], 1):
            if item.level != own:
                continue
            end = next((i for i in range(at + 1, len(self.items)) if self.items[i].level <= own), len(self.items))
            inside = CobolArgument(item.name, self.address + item.offset - first.offset, self.items[at:end])
            parts += inside.parts
        return parts

    @property
    def _is_varchar(self) -> bool:
        inside = self.items[1:]
        return [item.level for item in inside] == [_VARCHAR, _VARCHAR] and inside[0].kind == "NUMERIC"

    @property
    def size(self) -> int:
        """Its length in bytes; of a VARCHAR, of the text."""
        if self._is_varchar:
            return self.items[2].size
        return self.items[0].size if self.items else self.area.size if self.area is not None else 0

    @property
    def is_text(self) -> bool:
        """Whether it is a text, which a longer value does not fit."""
        return self._is_varchar or (bool(self.items) and self.items[0].kind not in ("NUMERIC", "GROUP"))

    def raw(self) -> bytes:
        """Its bytes."""
        return ctypes.string_at(self.address, self.items[0].size if self.items else self.size)

    def value(self) -> Any:
        """Its value; bytes when they are not valid for its picture."""
        parts = self.parts
        if parts[:1] != [self]:
            return {part.name: part.value() for part in parts}
        if not self.items:
            return self._value_of_area()
        try:
            if self._is_varchar:
                size = self.items[1].size
                length = int(decoded(self.items[1], self.raw()[:size]))
                return self.raw()[size:][: max(length, 0)].decode("latin-1")
            value = decoded(self.items[0], self.raw())
        except UsageError:
            return self.raw()
        return value.rstrip(" ") if isinstance(value, str) else value

    def _value_of_area(self) -> Any:
        assert self.area is not None
        if self.area.numeric:
            return self.area.number
        return self.area.read().decode("latin-1").rstrip(" ")

    def put(self, value: ArgumentValue) -> None:
        """Give it a value; a text that is too long is cut.

        Raises:
            UsageError: the value does not fit.
        """
        parts = self.parts
        if parts[:1] != [self]:
            self._put_structure(parts, value)
        elif self._is_varchar:
            data = value if isinstance(value, bytes) else str(value).encode("latin-1", "replace")
            data = data[: self.size]
            length = encoded(self.items[1], len(data))
            ctypes.memmove(self.address, length + data, len(length) + len(data))
        elif self.items:
            if not isinstance(value, bytes) and self.items[0].kind not in ("NUMERIC", "POINTER", "INDEX"):
                value = str(value)
            data = encoded(self.items[0], value)
            ctypes.memmove(self.address, data, len(data))
        else:
            assert self.area is not None
            put(self.area, value if isinstance(value, int | bytes) else str(value))

    def _put_structure(self, parts: Sequence[CobolArgument], value: ArgumentValue) -> None:
        if isinstance(value, bytes):
            ctypes.memmove(self.address, value, min(len(value), self.items[0].size))
            return
        named = {part.name: part for part in parts}
        if not isinstance(value, Mapping):
            raise UsageError(f"{self.name} is a group: its value is a mapping with {', '.join(named)}, or bytes")
        for name, each in value.items():
            if name.upper() not in named:
                raise UsageError(f"{self.name} has no item {name}; it has {', '.join(named)}")
            named[name.upper()].put(each)


def argument(written: str, area: Area, programs: Iterable[ProgramStorage]) -> CobolArgument:
    """The argument that a program has written.

    Args:
        written: the name in the program.
        area: where it is.
        programs: the programs of the level; the first that has the item declares it.
    """
    for program in programs:
        try:
            items = program.items_of(written)
        except TdqError:
            continue
        return CobolArgument(items[0].name, area.address, items, area)
    return CobolArgument(written.upper(), area.address, (), area)


def is_value(actual: Any, expected: ArgumentValue) -> bool:
    """Whether an argument has a value: texts are compared without trailing blanks, numbers as numbers."""
    if isinstance(actual, int | Decimal | float):
        try:
            return Decimal(str(actual)) == Decimal(str(expected))
        except InvalidOperation:
            return False
    if isinstance(actual, str) and isinstance(expected, str):
        return actual.rstrip(" ") == expected.rstrip(" ")
    return bool(actual == expected)
