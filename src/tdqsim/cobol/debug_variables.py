"""The items of a program as a tree of values, for a debugger and for the dump of an abend.

A node is an item with its subscripts, such as ``05 LINE-TEXT (2)``. Its children are the items of a group, or the
occurrences of a table. Storage is read and written through ``/proc/self/mem``, because an item of the LINKAGE SECTION
is wherever the program has set its address: where that is no storage, the kernel refuses, and the process continues.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from tdqsim.cobol.program_storage import MEMORY, ProgramStorage, decoded, encoded, part_of, stored
from tdqsim.cobol.symbols import Item
from tdqsim.errors import TdqError, UsageError

EIB: Final = "DFHEIBLK"
_SHOWN: Final = 200
"""The number of bytes of an item that its value shows."""
_HEX: Final = re.compile(r"X'((?:[0-9A-F]{2})*)'", re.IGNORECASE)
_TEXT: Final = re.compile(r"'((?:[^']|'')*)'|\"((?:[^\"]|\"\")*)\"")
_USAGE: Final = re.compile(r"\s*\b(?:OCCURS .*|GLOBAL|EXTERNAL)$")
_REDEFINES: Final = re.compile(r",?\s*REDEFINES (\S+)")


@dataclass(frozen=True, slots=True)
class StorageItem:
    """An item, or one occurrence of it.

    Attributes:
        storage: the program.
        at: the number of the item among those of the program.
        subscripts: one for each table that contains it; one fewer than its dimensions for a whole table.
        part: for a part of an item, its first byte, from 1, and its length; else None.
    """

    storage: ProgramStorage
    at: int
    subscripts: tuple[int, ...] = ()
    part: tuple[int, int] | None = None

    @property
    def item(self) -> Item:
        """Its item."""
        item = self.storage.items[self.at]
        return item if self.part is None else part_of(item, *self.part)

    @property
    def is_table(self) -> bool:
        """Whether it is a whole table."""
        return len(self.subscripts) < len(self.item.dimensions)

    @property
    def label(self) -> str:
        """Its level and name; an occurrence is called by its subscripts."""
        if self.subscripts and len(self.subscripts) == len(self.item.dimensions) and self._occurs:
            return f"{self.item.name} ({', '.join(map(str, self.subscripts))})"
        return f"{self.item.level:02d} {self.item.name}"

    @property
    def reference(self) -> str:
        """The name by which a program refers to it; empty for FILLER and for a whole table."""
        item = self.item
        if item.name == "FILLER" or self.is_table:
            return ""
        names = " OF ".join(name for name in (item.name, *item.above) if name != "FILLER")
        names += f" ({', '.join(map(str, self.subscripts))})" if self.subscripts else ""
        return names if self.part is None else f"{names} ({self.part[0]}:{self.part[1]})"

    @property
    def picture(self) -> str:
        """Its level, picture and usage as declared: ``05 PIC S9(5)V99 COMP-3``."""
        text = self.item.picture
        redefines = _REDEFINES.search(text)
        text = _USAGE.sub("", _REDEFINES.sub("", text)).strip(" ,")
        declared = f"PIC {text}" if text else self.item.kind
        parts = [f"{self.item.level:02d}", "" if self.item.kind == "GROUP" else declared]
        parts += [f"REDEFINES {redefines[1]}" if redefines else "", f"OCCURS {self.occurs}" if self._occurs else ""]
        return " ".join(part for part in parts if part)

    @property
    def _occurs(self) -> bool:
        """Whether the item itself, not only a group above it, is a table."""
        above = next((each for each in self._above()), None)
        return len(self.item.dimensions) > (0 if above is None else len(above.dimensions))

    def _above(self) -> Iterator[Item]:
        items, level = self.storage.items, self.item.level
        for at in range(self.at - 1, -1, -1):
            if items[at].root != self.item.root:
                return
            if items[at].level < level:
                yield items[at]
                return

    @property
    def occurs(self) -> int:
        """The number of occurrences of a table; 0 for another item."""
        return self.item.dimensions[-1][0] if self._occurs else 0

    @property
    def size(self) -> int:
        """Its size in bytes."""
        return self.item.size * (self.occurs if self.is_table else 1)

    @property
    def address(self) -> int:
        """Where it is; 0 when it has no storage now."""
        start = self.storage.start_of(self.item)
        steps = zip(self.subscripts, self.item.dimensions, strict=False)
        return start and start + self.item.offset + sum((number - 1) * step for number, (_count, step) in steps)

    def data(self, most: int | None = None) -> bytes | None:
        """Its bytes, or the first ``most`` of them; None when it has no storage."""
        size = self.size if most is None else min(self.size, most)
        return stored(self.address, size)

    @property
    def value(self) -> str:
        """Its value as a COBOL literal: a number, text in apostrophes, or hexadecimal digits."""
        if self.is_table:
            return f"{self.occurs} occurrences"
        data = self.data(max(_SHOWN, self.item.size if self.item.kind == "NUMERIC" else 0))
        if data is None:
            return "no storage"
        if self.item.kind == "GROUP" or len(data) < self.item.size:
            return shown_bytes(data, cut=len(data) < self.item.size)
        try:
            value = decoded(self.item, data)
        except TdqError:
            return f"{_hex(data)} (not valid)"
        if isinstance(value, str):
            return shown_bytes(data)
        if self.item.kind in ("POINTER", "INDEX") and isinstance(value, int):
            return f"X'{value:016X}'" if self.item.kind == "POINTER" else str(value)
        return f"{value:f}" if isinstance(value, Decimal) else str(value)

    @property
    def hex(self) -> str:
        """Its first bytes in hexadecimal; empty when it has no storage."""
        data = self.data(_SHOWN)
        return "" if data is None else _hex(data, cut=len(data) < self.size)

    def set(self, text: str) -> None:
        """Set its value from a literal: a number, text with or without apostrophes, or X'...'.

        Raises:
            UsageError: the text does not fit the picture, or the item has no storage.
        """
        if self.is_table:
            raise UsageError(f"{self.item.name} is a table; set one of its {self.occurs} occurrences")
        data = _literal(self.item, text.strip())
        if not self.address or not _write(self.address, data):
            raise UsageError(f"{self.item.name} has no storage now")

    def children(self, start: int = 0, count: int | None = None) -> list[StorageItem]:
        """The occurrences of a table, or the items of a group; some of them by number."""
        if self.is_table:
            end = self.occurs if count is None else min(self.occurs, start + count)
            return [StorageItem(self.storage, self.at, (*self.subscripts, number + 1)) for number in range(start, end)]
        found = [StorageItem(self.storage, at, self.subscripts) for at in self._below()]
        return found[start:] if count is None else found[start : start + count]

    def _below(self) -> Iterator[int]:
        items, own = self.storage.items, self.item
        direct = 0
        for at in range(self.at + 1, len(items)):
            if items[at].level <= own.level or items[at].root != own.root:
                return
            if not direct or items[at].level <= direct:
                direct = items[at].level
                yield at


def roots(storage: ProgramStorage, section: str = "") -> list[StorageItem]:
    """The 01 and 77 items that a program uses, or those of one section; the EIB is a section of its own."""
    tops = [StorageItem(storage, at) for at, item in enumerate(storage.items) if item.level in (1, 77)]
    found = [node for node in tops if storage.section_of(node.item)]
    if not section:
        return found
    if section == EIB:
        return [node for node in found if node.item.name == EIB]
    return [node for node in found if storage.section_of(node.item) == section and node.item.name != EIB]


def named(storage: ProgramStorage, name: str) -> StorageItem:
    """The item that a program would refer to by a name such as ``NAME OF CUSTOMER`` or ``LINE-TEXT (2) (1:3)``.

    Raises:
        TdqError: see :meth:`~tdqsim.cobol.program_storage.ProgramStorage.refer`.
    """
    _item, at, _start, subscripts, part = storage.refer(name, table=True)
    return StorageItem(storage, at, subscripts, part)


def shown_bytes(data: bytes, *, cut: bool = False) -> str:
    """Bytes as a literal: text if all can be printed, else hexadecimal."""
    text = data.decode("latin-1")
    if not text.isascii() or not text.isprintable():
        return _hex(data, cut=cut)
    quoted = text.replace("'", "''")
    return f"'{quoted}'{'...' if cut else ''}"


def _hex(data: bytes, *, cut: bool = False) -> str:
    return f"X'{data.hex().upper()}'{'...' if cut else ''}"


def _literal(item: Item, text: str) -> bytes:
    if (match := _HEX.fullmatch(text)) is not None:
        data = bytes.fromhex(match[1])
        if len(data) != item.size:
            raise UsageError(f"{item.name} has {item.size} bytes, not {len(data)}")
        return data
    quoted = literal_text(text)
    value = text if quoted is None else quoted
    if item.kind == "GROUP":
        return _fitted(item, value)
    if item.kind in ("POINTER", "INDEX"):
        raise UsageError(f"{item.name} takes a value of {item.size} bytes in hexadecimal: X'...'")
    try:
        return encoded(item, value)
    except UnicodeEncodeError:
        raise UsageError(f"{item.name}: {value!r} has characters that need more than a byte") from None


def literal_text(text: str) -> str | None:
    """The text of a literal in apostrophes or quotation marks; None if it is not one."""
    match = _TEXT.fullmatch(text)
    if match is None:
        return None
    quote = text[0]
    return str(match[1] if quote == "'" else match[2]).replace(quote * 2, quote)


def _fitted(item: Item, value: str) -> bytes:
    try:
        return value.encode("latin-1")[: item.size].ljust(item.size)
    except UnicodeEncodeError:
        raise UsageError(f"{item.name}: {value!r} has characters that need more than a byte") from None


def _write(address: int, data: bytes) -> bool:
    try:
        memory = os.open(MEMORY, os.O_RDWR)
    except OSError:
        return False
    try:
        return os.pwrite(memory, data, address) == len(data)
    except (OSError, OverflowError):
        return False
    finally:
        os.close(memory)


def flattened(nodes: Sequence[StorageItem], most: int) -> Iterator[StorageItem]:
    """Nodes with all below them, in the order of the source, at most ``most``."""
    waiting = list(reversed(nodes))
    while waiting and most > 0:
        node = waiting.pop()
        most -= 1
        yield node
        waiting += reversed(node.children(0, most))
