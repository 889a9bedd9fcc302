"""The arguments of a command: COBOL items that are read and filled by the type of the option, not of the item.

CICS knows only addresses. A data area has the size that its option asks for (a halfword two bytes, an ABSTIME eight),
whatever the program has declared there. So a name is read as characters, a record as bytes, and LENGTH of READQ, which
is read and written, as a halfword. Only a data *value* (LENGTH of WRITEQ, SECONDS) is converted by the item's usage,
because a translator moves it to a work field first. RESP and RESP2 are moved in the same way.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from typing import Final, Literal

from tdqsim.cics import Abend
from tdqsim.cobol._libcob import Libcob
from tdqsim.facts import table

FLOOR: Final = next(int(row["value"]) for row in table("cobol") if row["name"] == "area_floor")
"""The lowest address that can be storage of a program."""
_NUMERIC: Final = range(0x10, 0x20)
_BINARY: Final = (0x11, 0x1B)
_PACKED: Final = 0x12
_SIGNED: Final = 0x01
_SWAPPED: Final = 0x20
NO_VALUE: Final = -(2**63)
"""Replaces the value of an argument that is not a binary integer."""
_ASRA: Final = "ASRA"
_ZONE: Final = 0xF0
"""The zone of a digit in EBCDIC."""


class Area:
    """One argument of the current command; it is valid until the command ends.

    Attributes:
        size: bytes that the program declares.
        written: the argument as the program has it, for messages.
    """

    __slots__ = ("_address", "_item", "_kind", "_libcob", "size", "written")

    def __init__(self, libcob: Libcob, rows: Sequence[int], at: int, written: str) -> None:
        self._libcob = libcob
        at *= 5
        self._address, self.size, self._kind, self._item = rows[at : at + 4]
        self.written = written

    @property
    def address(self) -> int:
        """Where it is.

        Raises:
            Abend: ASRA: the address is not storage, such as an item of a COMMAREA that was not passed.
        """
        address = self._address
        if address < FLOOR:
            raise Abend(_ASRA, detail=f"{self.written} is at address {address:#x}, which is no storage of the program")
        return address

    def read(self, size: int | None = None) -> bytes:
        """Its bytes, or the given number of bytes from its beginning."""
        return ctypes.string_at(self.address, self.size if size is None else size)

    def view(self, size: int | None = None) -> memoryview:
        """A view of its storage, for reading and writing."""
        wanted = self.size if size is None else size
        return memoryview((ctypes.c_char * wanted).from_address(self.address)).cast("B")

    @property
    def pointer(self) -> int:
        """The address that it holds."""
        return int.from_bytes(self.read(8), "little")

    def point(self, address: int) -> None:
        """Store an address in it."""
        self.fill(address.to_bytes(8, "little"))

    def fill(self, data: bytes) -> None:
        """Put bytes at its beginning; the rest does not change."""
        ctypes.memmove(self.address, data, len(data))

    @property
    def type(self) -> int:
        """The type that the program declares, as libcob's number."""
        return self._kind & 0xFFFF

    @property
    def numeric(self) -> bool:
        """Whether the program declares a number."""
        return self._kind & 0xFFFF in _NUMERIC

    @property
    def binary(self) -> bool:
        """Whether that is a binary number (COMP, COMP-5, LENGTH OF)."""
        return self._kind & 0xFFFF in _BINARY

    @property
    def swapped(self) -> bool:
        """Whether a binary number has its high byte first (COMP, not COMP-5)."""
        return bool(self._kind >> 16 & _SWAPPED)

    @property
    def packed(self) -> bool:
        """Whether that is a packed number (COMP-3)."""
        return self._kind & 0xFFFF == _PACKED

    @property
    def whole(self) -> bool:
        """Whether that is a binary or packed number without decimals."""
        return (self.binary or self.packed) and not self._kind >> 32

    @property
    def number(self) -> int:
        """Its value as a number, moved by its usage; of a group or text the binary number in its bytes."""
        kind = self._kind
        if kind & 0xFFFF in _BINARY and not kind >> 32:
            order: Literal["big", "little"] = "big" if kind >> 16 & _SWAPPED else "little"
            return int.from_bytes(self.read(), order, signed=bool(kind >> 16 & _SIGNED))
        if kind & 0xFFFF in _NUMERIC:
            _ = self.address  # raises ASRA for an area without storage
            return int(self._libcob.number(self._item))
        return int.from_bytes(self.read(), "big", signed=True)

    def store(self, value: int, size: int) -> None:
        """Store a number as CICS does: ``size`` bytes, big-endian unless the item is a native binary of that size."""
        native = self.binary and self.size == size and not self._kind >> 16 & _SWAPPED
        self.fill(value.to_bytes(size, "little" if native else "big", signed=value < 0))

    def taken(self, size: int) -> int:
        """The number as CICS reads it: the first ``size`` bytes, in the order in which the mainframe has them."""
        data = self.read()
        if self.binary:
            data = data if self._kind >> 16 & _SWAPPED else data[::-1]
        elif self.numeric and not self.packed:
            data = bytes(each | _ZONE for each in data)
        return int.from_bytes(data[:size].ljust(size, b"\0"), "big", signed=True)


class Areas:
    """The arguments of the current command; each becomes an :class:`Area` when it is read.

    Attributes:
        rows: five numbers for each: address, size, type, item, value of a binary number or NO_VALUE.
    """

    __slots__ = ("_libcob", "_written", "rows")

    def __init__(self, libcob: Libcob, rows: Sequence[int], written: Sequence[str]) -> None:
        self._libcob = libcob
        self.rows = rows
        self._written = written

    def __getitem__(self, at: int) -> Area:
        return Area(self._libcob, self.rows, at, self._written[at])

    def __len__(self) -> int:
        return len(self._written)

    def __iter__(self) -> Iterator[Area]:
        return (self[at] for at in range(len(self._written)))

    def data(self, at: int) -> bytes:
        """The bytes of an argument."""
        rows, at5 = self.rows, at * 5
        address = rows[at5]
        return ctypes.string_at(address, rows[at5 + 1]) if address >= FLOOR else self[at].read()

    def number(self, at: int) -> int:
        """The number in an argument; see :attr:`Area.number`."""
        value = self.rows[at * 5 + 4]
        return self[at].number if value == NO_VALUE else value
