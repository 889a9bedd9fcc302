"""The format of queues, entries and meta data in an LMDB file.

Everything is in one tree. The first byte of a key is its kind, so that a walk in key order gives the head, the meta
data, the queue records, the numbers to reclaim, and then all entries:

=============  =========================================================  =========================================
first byte     rest of the key                                            value
=============  =========================================================  =========================================
``00``         nothing                                                    the head: see :class:`Head`
``01``         the caller's key                                           meta data
``02``         the queue's name                                           the queue record
``03``         internal number of a cleared or dropped queue              nothing
``80`` - ``BF``  internal number, key of a KEYED queue, record number       an entry
``C0`` - ``FF``  internal number, index                                     a piece of something long
=============  =========================================================  =========================================

Internal numbers are never reused. Every value begins with a checksum over its key and the rest of the value, so that an
entry with a matching checksum is undamaged and under its own key. Plain records that one commit puts on a FIFO queue
share LMDB entries of up to :data:`INLINE` bytes, under the number of the last one; every other record has its own LMDB
entry. A record longer than that is stored in pieces of this size, under a number of its own. So no value needs LMDB's
overflow pages, which must be contiguous, and room can be counted in single pages, wherever they are free.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from functools import cache
from itertools import accumulate
from struct import Struct, unpack_from
from typing import Final, Literal, TypeAlias
from zlib import crc32

from tdqsim.core.named import NamedTuple
from tdqsim.errors import StoreDamaged, WrongType, WrongValue

FORMAT: Final = 1
"""The version of this layout and of the records of regions and systems; other formats are refused."""

Durability = Literal["process", "power"]
"""The failures that a commit survives: ``process``: the end of the process; ``power``: a loss of power too."""

INLINE: Final = 1900
"""Bytes of records in one entry; two such entries fit into a page of 4,096."""
MAX_DATA: Final = 2**31 - 1
MAX_KEY: Final = 256
MAX_NAME: Final = 480
MAX_SENDER: Final = 255

HEAD_KEY: Final = b"\0"
META: Final = b"\x01"
QUEUE: Final = b"\x02"
RECLAIM: Final = b"\x03"
ENTRIES: Final = 1 << 63
PIECES: Final = ENTRIES | 1 << 62
ZERO: Final = 1 << 40
"""Added to the record number in a key, because records put back at the front may have numbers below 1."""

_SEAL: Final = Struct(">I")
_NUMBERED: Final = Struct(">QQ")
_PIECE: Final = Struct(">QI")
_QUEUE_RECORD: Final = Struct(">BHQqqQQ")
_FACTS: Final = Struct(">QB")
_FULL: Final = Struct(">cQB")
_LONG: Final = Struct(">QII")
_HEAD: Final = Struct(">HB16sQBQQ16s")
_CLEAN, _SALVAGED = 0x01, 0x02
_MOST: Final = 100

_pack_seal, _pack_numbered, _pack_record = _SEAL.pack, _NUMBERED.pack, _QUEUE_RECORD.pack
_pack_full, _unpack_full = _FULL.pack, _FULL.unpack_from
_new = tuple.__new__

ONE, MANY, FULL, LONG = b"\x31", b"\x32", b"\x33", b"\x34"
"""The kinds of values: one plain record, several, one with sender and time, one whose data is in pieces."""


class Order(Enum):
    """The order in which entries are taken from a queue."""

    FIFO = "FIFO"
    LIFO = "LIFO"
    KEYED = "KEYED"


ORDERS: Final = tuple(Order)


class SearchOrder(Enum):
    """The relation of an entry's key to the key of a search."""

    EQ = "EQ"
    NE = "NE"
    LT = "LT"
    LE = "LE"
    GT = "GT"
    GE = "GE"


EQ: Final = SearchOrder.EQ
"""The most frequent one, since looking up a member of an enumeration takes as long as a short function."""


class Entry(NamedTuple):
    """One entry of a queue.

    Attributes:
        data: the data, which may be empty.
        key: its key, as long as the KEYED queue's key length; key, sender and time are empty for other queues.
        sender: the sender, in the caller's format; up to 255 bytes.
        time_ns: the caller's time of the put, in nanoseconds since 1970 UTC.
    """

    data: bytes
    key: bytes = b""
    sender: bytes = b""
    time_ns: int = 0


Item: TypeAlias = bytes | Entry
"""One item of a queue: a record of a FIFO or LIFO queue, an entry of a KEYED one."""


class Standing(NamedTuple):
    """The state of a durable queue as of a commit.

    Attributes:
        first: the number of its first record; in a KEYED queue a lower bound of the numbers in use.
        last: the number of its last record, ``first - 1`` when a FIFO or LIFO queue is empty.
        count: how many records there are.
        data_bytes: bytes of their data.
        number: the internal number, which changes when the queue is cleared; 0 while it is not on the disk.
    """

    first: int = 1
    last: int = 0
    count: int = 0  # type: ignore[assignment]
    data_bytes: int = 0
    number: int = 0


class Long(NamedTuple):
    """Data stored in pieces: the internal number of the pieces, size and checksum of the data, and the other fields."""

    number: int
    size: int
    crc: int
    sender: bytes
    time_ns: int

    def item(self, key: bytes, data: bytes) -> Item:
        """The item that was stored under an LMDB key, with its data."""
        return data if len(key) == _NUMBERED.size else Entry(data, key[8:-8], self.sender, self.time_ns)

    def pieces(self) -> Iterator[bytes]:
        """The keys of its pieces."""
        return (_PIECE.pack(self.number | PIECES, index) for index in range(-(-self.size // INLINE)))

    def data(self, get: Callable[[bytes], bytes | None], what: str) -> bytes:
        """The data of all pieces; StoreDamaged, naming ``what``, when it is not what was written."""
        data = b"".join(get(key) or b"" for key in self.pieces())
        if len(data) != self.size or crc32(data) != self.crc:
            raise StoreDamaged(f"{what} is damaged: a piece of it is not what was written")
        return data


# -- values -----------------------------------------------------------------------------------------------------------


def seal(key: bytes, rest: bytes) -> bytes:
    """Put the checksum over key and value in front of a value."""
    return _pack_seal(crc32(rest, crc32(key))) + rest


def unseal(key: bytes, value: bytes, what: str) -> bytes:
    """The value without its checksum; StoreDamaged, naming ``what``, when the checksum does not match."""
    rest = value[4:]
    if not rest or value[:4] != _pack_seal(crc32(rest, crc32(key))):
        raise StoreDamaged(f"{what} is damaged: its checksum does not match")
    return rest


def encode(key: bytes, part: Sequence[Item]) -> bytes:
    """Encode records that share an LMDB entry (see :func:`parts`) as the value for its key."""
    item = part[0]
    if len(part) == 1 and item.__class__ is bytes:
        rest = ONE + item
    elif len(part) > 1:
        sizes = _sizes(len(part)).pack(*map(len, part))
        rest = MANY + len(part).to_bytes(2, "big") + sizes + b"".join(part)  # type: ignore[arg-type]
    elif isinstance(item, Entry):
        rest = packed(*item)
    else:
        raise WrongType(f"a record is bytes, not {type(item).__name__}")
    return _pack_seal(crc32(rest, crc32(key))) + rest


def packed(data: bytes, _key: bytes, sender: bytes, time_ns: int) -> bytes:
    """An entry of a KEYED queue, but for its key, as the value under its LMDB key without the checksum."""
    return _pack_full(FULL, time_ns, len(sender)) + sender + data


def unpacked(there: bytes, key: bytes) -> Entry:
    """The entry that :func:`packed` has packed."""
    _, time_ns, size = _unpack_full(there)
    start = 10 + size
    return _new(Entry, (there[start:], key, there[10:start], time_ns))


def packed_size(there: bytes) -> int:
    """The bytes of data of an entry that :func:`packed` has packed."""
    return len(there) - 10 - there[9]


def encode_long(key: bytes, item: Item, number: int) -> tuple[bytes, Iterator[tuple[bytes, bytes]]]:
    """Encode a record whose data is stored in pieces: the value for its key, and keys and values of the pieces."""
    data, _, sender, time_ns = item if isinstance(item, Entry) else Entry(item)
    long = Long(number, len(data), crc32(data), sender, time_ns)
    rest = LONG + _LONG.pack(*long[:3]) + _FACTS.pack(time_ns, len(sender)) + sender
    return seal(key, rest), zip(
        long.pieces(), (data[at : at + INLINE] for at in range(0, len(data), INLINE)), strict=True
    )


def decode(key: bytes, value: bytes, what: str) -> list[Item] | Long:
    """Decode the value under a key to its records; StoreDamaged, naming ``what``, when it is damaged."""
    rest = unseal(key, value, what)
    kind = rest[:1]
    if kind == ONE:  # most of them
        return [rest[1:]]
    if kind == FULL:
        return [unpacked(rest, key[8:-8])]
    if kind == MANY:
        return _split(rest)
    if kind == LONG:
        number, size, crc = _LONG.unpack_from(rest, 1)
        time_ns, _ = _FACTS.unpack_from(rest, 1 + _LONG.size)
        return Long(number, size, crc, rest[1 + _LONG.size + _FACTS.size :], time_ns)
    raise StoreDamaged(f"{what} is of the unknown kind {kind.hex()}")


def _split(rest: bytes) -> list[Item]:
    count = int.from_bytes(rest[1:3], "big")
    form = "%ds" * count % _sizes(count).unpack_from(rest, 3)  # one call for all records; struct caches its formats
    return list(unpack_from(form, rest, 3 + 2 * count))


@cache
def _sizes(count: int) -> Struct:
    return Struct(f">{count}H")


def parts(items: Sequence[bytes]) -> Iterator[tuple[Sequence[bytes], int]]:
    """Divide records of one commit on a FIFO queue into groups that share an LMDB entry, with the bytes of data."""
    ends = list(accumulate(map(len, items), initial=0))
    start, count = 0, len(items)
    while start < count:
        offset = ends[start]
        stop = bisect_right(ends, offset + INLINE, start + 1, min(start + _MOST, count) + 1) - 1
        while ends[stop] - offset > INLINE - 2 * (stop - start):  # two bytes for the length of each record
            stop -= 1
        stop = max(stop, start + 1)
        yield items[start:stop], ends[stop] - offset
        start = stop


def size_of(item: Item) -> int:
    """The bytes of a record's data."""
    return len(item.data) if isinstance(item, Entry) else len(item)


# -- keys -------------------------------------------------------------------------------------------------------------


def entry_key(number: int, seq: int) -> bytes:
    """The key of an entry without a key."""
    return _pack_numbered(number | ENTRIES, seq + ZERO)


def entry_prefix(number: int) -> bytes:
    """The begin of the keys of all entries under an internal number."""
    return (number | ENTRIES).to_bytes(8, "big")


def keyed_entry_key(prefix: bytes, user_key: bytes, seq: int) -> bytes:
    """The key of an entry of a KEYED queue; ``prefix`` is what :func:`entry_prefix` returns."""
    return prefix + user_key + (seq + ZERO).to_bytes(8, "big")


def entry_number(key: bytes) -> int:
    """The record number in the key of an entry."""
    return int.from_bytes(key[-8:], "big") - ZERO


# -- queue records ----------------------------------------------------------------------------------------------------


def queue_record(facts: tuple[int, int, int], now: Standing) -> bytes:
    """Encode a queue record; ``facts`` is its key's checksum, its index in ORDERS, and its key length."""
    crc, order, key_length = facts
    first, last, count, size, number = now
    body = _pack_record(order, key_length, number, first, last, count, size)
    return _pack_seal(crc32(body, crc)) + body


def read_queue_record(name: bytes, value: bytes) -> tuple[Order, int, Standing]:
    """Decode a queue record to order, key length and standing; StoreDamaged when it is not one."""
    body = unseal(QUEUE + name, value, f"the record of queue {name!r}")
    if len(body) != _QUEUE_RECORD.size or body[0] >= len(ORDERS):
        raise StoreDamaged(f"the record of queue {name!r} is not a queue record")
    order, key_length, number, first, last, count, size = _QUEUE_RECORD.unpack(body)
    return ORDERS[order], key_length, Standing(first, last, count, size, number)


class Head(NamedTuple):
    """The head record of a file: the store it belongs to, and, in the durable file, how the store was left.

    Attributes:
        format: the version of the layout.
        kind: the kind of file: 0 volatile, 1 durable.
        store_id: the store's unique identifier.
        next_number: the next internal number.
        clean: the store was closed cleanly, by the commit that wrote this record.
        salvaged: the store was made by salvage and has not been closed cleanly since.
        commit: the number of the commit that set ``clean``.
        volatile: at a clean close, the number of the volatile file's last commit; 0 when there was no such file.
        boot: the identifier of the machine's boot in which the store was last opened; zeros where there is none.
    """

    format: int
    kind: int
    store_id: bytes
    next_number: int
    clean: bool = False
    salvaged: bool = False
    commit: int = 0
    volatile: int = 0
    boot: bytes = bytes(16)

    def pack(self) -> bytes:
        """The record as stored."""
        flags = self.clean * _CLEAN | self.salvaged * _SALVAGED
        return seal(HEAD_KEY, _HEAD.pack(*self[:4], flags, *self[6:]))


def read_head(value: bytes | None) -> Head:
    """Decode the head of a file, of whatever format; StoreDamaged when it is not one."""
    body = unseal(HEAD_KEY, value or b"", "the head record")
    if len(body) < _HEAD.size:
        raise StoreDamaged("the head record is not one")
    format_, kind, store_id, number, flags, *rest = _HEAD.unpack_from(body)
    return Head(format_, kind, store_id, number, bool(flags & _CLEAN), bool(flags & _SALVAGED), *rest)


# -- checks of callers' arguments -------------------------------------------------------------------------------------


def check_queue(name: bytes, order: Order, key_length: int) -> None:
    """Raise ValueError when a queue cannot have these properties."""
    if not 0 < len(name) <= MAX_NAME:
        raise WrongValue(f"queue name of {len(name)} bytes: it must have 1 to {MAX_NAME}")
    if (key_length not in range(1, MAX_KEY + 1)) if order is Order.KEYED else key_length:
        raise WrongValue(f"queue {name!r}: key length {key_length}: 1 to {MAX_KEY} when KEYED, else 0")


def nothing() -> None:
    """The default callback for pauses: does nothing."""


def not_keyed(name: bytes, order: Order) -> WrongValue:
    """The exception for a call with a key on a queue without keys."""
    return WrongValue(f"queue {name!r}: only a KEYED queue has entries with keys; this one is {order.name}")


def check_key(name: bytes, key: bytes, key_length: int) -> None:
    """Raise ValueError when a key does not have the queue's key length."""
    if len(key) != key_length:
        raise _wrong_key(name, key, key_length)


def _wrong_key(name: bytes, key: bytes, key_length: int) -> WrongValue:
    return WrongValue(f"queue {name!r}: key of {len(key)} bytes: it must have {key_length}")


def check_entry(name: bytes, entry: Entry, key_length: int) -> None:
    """Raise ValueError when an entry does not fit its queue."""
    _, key, sender, time_ns = entry
    if len(key) != key_length:
        raise _wrong_key(name, key, key_length)
    if len(sender) > MAX_SENDER:
        raise WrongValue(f"queue {name!r}: sender of {len(sender)} bytes: at most {MAX_SENDER}")
    if not 0 <= time_ns < 2**64:
        raise WrongValue(f"queue {name!r}: enqueue time {time_ns}: it must be 0 to 2**64 - 1")
