"""A program's items by name (``WS-COUNT``, ``NAME OF CUSTOMER``, ``LINE-TEXT (WS-I + 1)``), to be read and set.

A part of an item, such as ``NAME (1:3)``, is text.

=====================  ============================================================================
text                   str of the item's length
numbers                int, or Decimal where the picture has a V
groups                 bytes
POINTER, INDEX         int
=====================  ============================================================================

Text is padded with blanks or cut; a number must fit its picture. Numbers have the forms that GnuCOBOL uses here:
DISPLAY digits in ASCII with the sign over the last one, COMP big-endian, COMP-5 in the byte order of the machine.
"""

from __future__ import annotations

import ctypes
import os
import re
import struct
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from typing import Any, Final, Literal, NamedTuple

from tdqsim.cobol.symbols import Item, Symbols, Variable
from tdqsim.errors import TdqError, UsageError, WrongValue
from tdqsim.hosting import did_you_mean

MEMORY: Final = "/proc/self/mem"
"""By this file storage is read where an address may be wrong: the kernel refuses, and the process continues."""
_REFERENCE: Final = re.compile(
    r"^\s*(?P<names>[^()]+?)\s*(?:\((?P<subscripts>[^():]*)\))?\s*(?:\((?P<start>[^():]+):(?P<length>[^():]*)\))?\s*$"
)
_NUMBER: Final = re.compile(r"(?P<word>[A-Z0-9_-]+)(?:\s+(?P<sign>[+-])\s+(?P<by>\d{1,9}))?", re.IGNORECASE)
"""A subscript or a position: a number or the name of an item, plus or minus a number."""
_DIGITS: Final = 9
"""The maximum number of digits of a subscript."""
_QUALIFIER: Final = re.compile(r"\s+(?:OF|IN)\s+", re.IGNORECASE)
_REDEFINES: Final = re.compile(r"REDEFINES (\S+)")
_REPEATED: Final = re.compile(r"(.)\((\d+)\)")
_POSITIVE: Final = "{ABCDEFGHI"
_NEGATIVE: Final = "}JKLMNOPQR"
_OVERPUNCHED: Final = {
    **{char: (digit, 1) for digit, char in enumerate(_POSITIVE)},
    **{char: (digit, -1) for digit, char in enumerate(_NEGATIVE)},
}


class ItemReference(NamedTuple):
    """What a name refers to.

    Attributes:
        item: the item; for a part of one, the part as an item.
        at: the number of the item among those of the program.
        start: the address of its 01 or 77.
        subscripts: its subscripts.
        part: the first byte, from 1, and the number of bytes of reference modification; None without it.
    """

    item: Item
    at: int
    start: int
    subscripts: tuple[int, ...]
    part: tuple[int, int] | None = None


class ProgramStorage:
    """The items of one running program.

    Args:
        program: its name, for messages.
        symbols: its items.
        base: the address of its module.
        active: whether the program has started and not ended; only then do the items of LOCAL-STORAGE exist.
    """

    def __init__(self, program: str, symbols: Symbols, base: int, *, active: bool = True) -> None:
        self.program = program
        self._symbols = symbols
        self._base = base
        self._active = active
        self._roots: dict[str, Variable | None] = {}

    def __contains__(self, name: str) -> bool:
        try:
            self._find(name)
        except TdqError:
            return False
        return True

    def __iter__(self) -> Iterator[str]:
        """The names of its items, in the order of the source."""
        return (item.name for item in self._symbols.items if item.name != "FILLER")

    def __getitem__(self, name: str) -> Any:
        """The value of an item.

        Raises:
            TdqError: there is no such item, the name fits several, a subscript is missing or out of range, the item has
                no storage now, or its contents do not match its picture.
        """
        item, address = self._find(name)
        return _decode(item, ctypes.string_at(address, item.size), name)

    def __setitem__(self, name: str, value: Any) -> None:
        """Set the value of an item.

        Raises:
            TdqError: as for reading; or the value does not fit.
        """
        item, address = self._find(name)
        data = _encode(item, value, name)
        ctypes.memmove(address, data, len(data))

    def raw(self, name: str) -> bytes:
        """The bytes of an item of any type."""
        item, address = self._find(name)
        return ctypes.string_at(address, item.size)

    @property
    def items(self) -> tuple[Item, ...]:
        """Its items in the order of the source."""
        return self._symbols.items

    def refer(self, name: str, *, table: bool = False) -> ItemReference:
        """What a name with its subscripts and reference modification refers to.

        Args:
            name: as a program writes it.
            table: whether the name may stand for a whole table, without its last subscript.

        Raises:
            TdqError: there is no such item, the name fits several, it has no storage now, a subscript is missing or out
                of range, or the part is not inside the item.
        """
        item, match = self._named(name)
        at = next(number for number, each in enumerate(self.items) if each is item)
        subscripts = self._subscripts(item, match["subscripts"] or "", name, table=table)
        address = self._address(item, name)
        if match["start"] is None:
            return ItemReference(item, at, address, subscripts)
        start = self._position(match["start"], name)
        length = self._position(match["length"], name) if match["length"].strip() else item.size + 1 - start
        if not 1 <= start <= start + length - 1 <= item.size:
            raise UsageError(f"{name}: {item.name} has {item.size} bytes")
        return ItemReference(part_of(item, start, length), at, address, subscripts, (start, length))

    def start_of(self, item: Item) -> int:
        """The address of the 01 or 77 of an item; 0 if it has no storage now, or nothing in the program uses it."""
        start = self._start(item.root)
        return 0 if start == sys.maxsize else start

    def section_of(self, item: Item) -> str:
        """The section of an item, such as WORKING-STORAGE; empty if nothing in the program uses its 01 or 77."""
        variable = self._variable(item.root)
        if variable is None:
            return ""
        if not variable.linkage:
            return "WORKING-STORAGE"
        return "LINKAGE" if variable.local < 0 else "LOCAL-STORAGE"

    def room_from(self, address: int) -> int:
        """Bytes from an address to the end of the 01 that contains it; 0 when no 01 does."""
        for variable in self._symbols.variables:
            start, size = self._base + variable.offset, variable.size
            if variable.linkage:
                start = self._pointed(variable)
                size = next((item.size for item in self._symbols.items if item.root == variable.name), 0)
            if start and start <= address < start + size:
                return start + size - address
        return 0

    def numbers_at(self, address: int, size: int) -> dict[str, Item]:
        """The names, with subscripts, of the numbers with this storage."""
        return {
            name: item
            for item, at, name in self._named_at(address)
            if at == 0 and item.kind == "NUMERIC" and item.size == size
        }

    def items_at(self, address: int) -> Iterator[tuple[int, str]]:
        """The items that have a byte at an address, each as its size and its name with subscripts."""
        return ((item.size, name) for item, at, name in self._named_at(address) if at < item.size)

    def _named_at(self, address: int) -> Iterator[tuple[Item, int, str]]:
        """The items that begin at an address or before it: each with the bytes from there and its subscripted name."""
        for item in self._symbols.items:
            at = address - self._start(item.root) - item.offset
            if at < 0 or item.name == "FILLER":
                continue
            subscripts = []
            for count, step in item.dimensions:
                at, inside = at % step, at // step
                subscripts.append(str(inside + 1))
                if inside >= count:
                    break
            else:
                yield item, at, item.name + (f" ({', '.join(subscripts)})" if subscripts else "")

    def _start(self, root: str) -> int:
        """The address of an 01 or 77; an address greater than all others if it has no storage."""
        variable = self._variable(root)
        if variable is None:
            return sys.maxsize
        return (self._pointed(variable) if variable.linkage else self._base + variable.offset) or sys.maxsize

    def _variable(self, root: str) -> Variable | None:
        """The storage of an 01 or 77; None if it has none of its own, nor shares that of another one."""
        if not self._roots:
            own = {each.name: each for each in reversed(self._symbols.variables)}
            tops = _tops(self._symbols)
            self._roots = {each: own.get(each) or own.get(_shared(tops, each)) for each in tops}
        return self._roots.get(root)

    def _pointed(self, variable: Variable) -> int:
        """The address of an item that the program accesses through a pointer; 0 when it has none now."""
        address = ctypes.c_size_t.from_address(self._base + variable.offset).value
        if variable.local < 0:
            return address
        return address + variable.local if address and self._active else 0

    def snapshot(self, room_from: Callable[[int], int]) -> StorageSnapshot:
        """A copy of the items as they are now.

        Args:
            room_from: gives the bytes from an address to the end of its area.
        """
        copies = {}
        for variable in self._symbols.variables:
            address, size = self._base + variable.offset, variable.size
            if variable.linkage:
                address = self._pointed(variable)
                wanted = next((item.size for item in self._symbols.items if item.root == variable.name), 0)
                size = min(wanted, room_from(address)) if address else 0
            if size:
                copies[variable.name] = ctypes.create_string_buffer(ctypes.string_at(address, size), size)
        return StorageSnapshot(self.program, self._symbols, copies)

    def items_of(self, name: str) -> tuple[Item, ...]:
        """The item with a name, then the items that it contains, without those that redefine others.

        Raises:
            UsageError: there is no such item, or the name fits several.
        """
        item = self._named(name)[0]
        items = self._symbols.items
        inside = []
        redefining = 0
        for each in items[next(at for at, other in enumerate(items) if other is item) + 1 :]:
            if each.root != item.root or each.level <= item.level:
                break
            if redefining and each.level > redefining:
                continue
            redefining = each.level if " REDEFINES " in f" {each.picture} " else 0
            if not redefining:
                inside.append(each)
        return (item, *inside)

    def _find(self, name: str) -> tuple[Item, int]:
        item, _at, start, subscripts, _part = self.refer(name)
        steps = zip(subscripts, item.dimensions, strict=True)
        return item, start + item.offset + sum((number - 1) * step for number, (_, step) in steps)

    def _subscripts(self, item: Item, text: str, name: str, *, table: bool) -> tuple[int, ...]:
        given = [each[0] for each in _NUMBER.finditer(text)]
        if rest := _NUMBER.sub("", text).strip(" ,"):
            raise UsageError(f"{name}: {rest[:40]} is neither a whole number nor an item that contains one")
        wanted = len(item.dimensions)
        if len(given) != wanted and not (table and len(given) == wanted - 1):
            raise UsageError(f"{name}: {item.name} takes {wanted} subscripts, not {len(given)}")
        numbers = tuple(self._position(each, name) for each in given)
        for number, (count, _step) in zip(numbers, item.dimensions, strict=False):
            if not 1 <= number <= count:
                raise UsageError(f"{name}: subscript {number} of {item.name}; allowed are 1 to {count}")
        return numbers

    def _position(self, text: str, name: str) -> int:
        """The value of a subscript, or of a position of reference modification."""
        match = _NUMBER.fullmatch(text.strip())
        value = None if match is None else self._value(match["word"])
        if match is None or not isinstance(value, int):
            raise UsageError(f"{name}: {text.strip()[:40]} is neither a whole number nor an item that contains one")
        return value + int(f"{match['sign'] or '+'}{match['by'] or 0}")

    def _value(self, word: str) -> Any:
        if word.isdecimal():
            return int(word) if len(word) <= _DIGITS else None
        item, address = self._find(word)
        data = stored(address, item.size)
        return None if data is None else _decode(item, data, word)

    def _named(self, name: str) -> tuple[Item, re.Match[str]]:
        """The item with a name, and the parts of the name."""
        match = _REFERENCE.match(name)
        if match is None:
            raise UsageError(
                f"{name!r} is not a name of an item; valid are, for example, WS-COUNT, NAME OF CUSTOMER, "
                "LINE-TEXT (2) and NAME (1:3)"
            )
        first, *groups = (part.upper() for part in _QUALIFIER.split(match["names"]))
        items = [item for item in self._symbols.items if item.name == first and _within(groups, item.above)]
        if not items:
            raise UsageError(f"program {self.program} has no item {name}{did_you_mean(first, set(self), 3)}")
        if len(items) > 1:
            ways = ", ".join(" OF ".join((item.name, *item.above)) for item in items)
            raise UsageError(f"program {self.program}: {name} may be {ways}")
        return items[0], match

    def _address(self, item: Item, name: str) -> int:
        variable = self._variable(item.root)
        if variable is None:
            raise UsageError(f"{name} of program {self.program} has no storage: nothing in the program uses it")
        address = self._base + variable.offset
        if variable.linkage:
            address = self._pointed(variable)
            if not address:
                raise UsageError(f"{name} of program {self.program} has no address now")
        return address


class StorageSnapshot(ProgramStorage):
    """The items of a program at one time.

    Args:
        program: its name, for messages.
        symbols: its items.
        copies: the storage of its 01 and 77 items.
    """

    def __init__(self, program: str, symbols: Symbols, copies: Mapping[str, ctypes.Array[ctypes.c_char]]) -> None:
        super().__init__(program, symbols, 0)
        self._copies = copies

    def _address(self, item: Item, name: str) -> int:
        for root in (item.root, _shared(_tops(self._symbols), item.root)):
            copy = self._copies.get(root)
            if copy is not None and item.offset + item.size <= len(copy):
                return ctypes.addressof(copy)
        raise UsageError(f"{name} of program {self.program} has no storage")


def _tops(symbols: Symbols) -> dict[str, Item]:
    """The 01 and 77 items by name."""
    return {item.root: item for item in symbols.items if item.level in (1, 77)}


def _shared(tops: Mapping[str, Item], root: str) -> str:
    """The 01 whose storage a redefining 01 shares.

    Args:
        tops: the 01 and 77 items by name.
        root: the name of one.
    """
    for _ in tops:
        item = tops.get(root)
        match = _REDEFINES.search(item.picture) if item is not None else None
        if match is None:
            return root
        root = match[1].upper()
    return root


def _within(groups: list[str], above: tuple[str, ...]) -> bool:
    """Whether groups are named from the innermost outward; some may be left out."""
    rest = iter(above)
    return all(group in rest for group in groups)


def part_of(item: Item, start: int, length: int) -> Item:
    """A part of an item: text, from a byte (from 1) on."""
    picture = f"X({length})"
    return replace(item, kind="ALPHANUMERIC", picture=picture, size=length, offset=item.offset + start - 1)


_PLAIN: Final = frozenset("S9VP()0123456789")
_FLOATS: Final = {"COMP-1": struct.Struct("=f"), "COMP-2": struct.Struct("=d")}
"""The compiler uses the byte order of the machine."""


def stored(address: int, size: int) -> bytes | None:
    """The bytes at an address; None if that is not storage of this process."""
    if not address or size <= 0:
        return None
    try:
        memory = os.open(MEMORY, os.O_RDONLY)
    except OSError:
        return None
    try:
        data = os.pread(memory, size, address)
    except (OSError, OverflowError):
        return None
    finally:
        os.close(memory)
    return data if len(data) == size else None


# -- values ----------------------------------------------------------------------------------------------------------


def _scale(item: Item) -> int:
    """Digits after the V of the picture."""
    picture = _REPEATED.sub(lambda match: match[1] * int(match[2]), item.picture.split(" ")[0].rstrip(",").upper())
    return len(picture.partition("V")[2].replace("S", "")) if "V" in picture else 0


def _digits(item: Item) -> int:
    picture = _REPEATED.sub(lambda match: match[1] * int(match[2]), item.picture.split(" ")[0].upper())
    return picture.count("9")


def _usage(item: Item) -> str:
    words = item.picture.upper().replace(",", " ").split()
    return next((word for word in words[1:] if word.startswith(("COMP", "BINARY", "PACKED"))), "DISPLAY")


def _signed(item: Item) -> bool:
    return item.picture.upper().startswith("S")


def _is_number(item: Item) -> bool:
    """Whether an item is a number; an edited number is text, because the program compares it as text."""
    plain = set(item.picture.split(" ")[0].rstrip(",").upper()) <= _PLAIN
    return item.kind == "NUMERIC" and (plain or _usage(item) != "DISPLAY")


def decoded(item: Item, data: bytes) -> Any:
    """The value of an item in its bytes.

    Raises:
        UsageError: they do not match its picture.
    """
    return _decode(item, data, item.name)


def encoded(item: Item, value: Any) -> bytes:
    """The bytes of a value of an item.

    Raises:
        UsageError: it does not fit.
    """
    return _encode(item, value, item.name)


def _decode(item: Item, data: bytes, name: str) -> Any:
    if item.kind in ("POINTER", "INDEX"):
        return int.from_bytes(data, sys.byteorder)
    if item.kind == "GROUP":
        return data
    if not _is_number(item):
        return data.decode("latin-1")
    if _usage(item) in _FLOATS:
        return _FLOATS[_usage(item)].unpack(data)[0]
    try:
        number = _number(item, data)
    except ValueError:
        raise UsageError(f"{name} holds X'{data.hex().upper()}', which is not valid for {item.picture}") from None
    scale = _scale(item)
    return Decimal(number).scaleb(-scale) if scale else number


def _number(item: Item, data: bytes) -> int:
    usage = _usage(item)
    if usage in ("COMP-3", "PACKED-DECIMAL"):
        digits = data.hex().upper()
        if digits[-1] not in "CDFABE":
            raise WrongValue(digits)
        return int(digits[:-1] or "0") * (-1 if digits[-1] in "DB" else 1)
    if usage == "COMP-6":
        return int(data.hex())
    if usage.startswith(("COMP", "BINARY")):
        return int.from_bytes(data, sys.byteorder if usage == "COMP-5" else "big", signed=_signed(item))
    text = data.decode("latin-1")
    last, sign = _OVERPUNCHED.get(text[-1:], (None, 1))
    if last is not None:
        text = f"{text[:-1]}{last}"
    elif text[:1] in "+-" or text[-1:] in "+-":
        sign, text = (-1 if "-" in text else 1), text.strip("+-")
    if not (text.isascii() and text.isdigit()):
        raise WrongValue(text)
    return int(text) * sign


def _encode(item: Item, value: Any, name: str) -> bytes:
    if item.kind in ("POINTER", "INDEX"):
        return int(value).to_bytes(item.size, sys.byteorder)
    if not _is_number(item) or isinstance(value, bytes | bytearray):
        data = value.encode("latin-1") if isinstance(value, str) else bytes(value)
        if item.kind in ("GROUP", "NUMERIC") and len(data) != item.size:
            raise UsageError(f"{name} has {item.size} bytes, not {len(data)}")
        return data[: item.size].ljust(item.size)
    return _from_number(item, value, name)


def _from_number(item: Item, value: Any, name: str) -> bytes:
    try:
        scaled = Decimal(str(value)).scaleb(_scale(item))
        number = int(scaled)
        if _usage(item) in _FLOATS:
            return _FLOATS[_usage(item)].pack(float(value))
    except (InvalidOperation, OverflowError, ValueError):
        raise UsageError(f"{name}: {value!r} is not a number") from None
    usage, digits = _usage(item), _digits(item)
    if scaled != number or (number < 0 and not _signed(item)):
        raise UsageError(f"{name}: {value} does not fit {item.picture}")
    if usage != "COMP-5" and abs(number) >= 10**digits:
        raise UsageError(f"{name}: {value} does not fit {item.picture}")
    if usage in ("COMP-3", "PACKED-DECIMAL"):
        sign = ("D" if number < 0 else "C") if _signed(item) else "F"
        return bytes.fromhex(f"{abs(number):0{item.size * 2 - 1}d}{sign}")
    if usage.startswith(("COMP", "BINARY")):
        order: Literal["little", "big"] = sys.byteorder if usage == "COMP-5" else "big"
        return number.to_bytes(item.size, order, signed=_signed(item))
    text = f"{abs(number):0{item.size}d}"
    if number < 0 or _signed(item):
        last = int(text[-1])
        text = text[:-1] + (_NEGATIVE[last] if number < 0 else _POSITIVE[last])
    return text.encode("ascii")
