"""How entries, queue records and the state record lie in an environment.

Everything is in one LMDB tree; the first byte of a key says what it is, so that one walk in key order meets the state
record, the user's meta data, the queue records, the list of what is to be reclaimed, and then all entries:

=============  ===========================================================  =======================
first byte     rest of the key                                              value
=============  ===========================================================  =======================
``00``         nothing                                                      the state record
``01``         the caller's key                                             meta data
``02``         the queue's name                                             the queue record
``03``         internal number of a queue that was cleared or dropped       nothing
``80`` - ``BF``  internal number, user key of a KEYED queue, sequence number  an entry
``C0`` - ``FF``  internal number + 2**62, sequence number, piece number       a piece of a large entry
=============  ===========================================================  =======================

A number is never used twice, an entry never altered. So an entry found under its own key with a matching checksum is
the entry that was put there: the checksum covers the key too.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from struct import Struct
from typing import Final, Literal, NamedTuple
from zlib import crc32

from tdqsim.errors import StoreDamaged

__all__ = [
    "FORMAT",
    "INLINE",
    "MAX_KEY",
    "MAX_NAME",
    "MAX_SENDER",
    "MAX_SEQ",
    "Durability",
    "Entry",
    "Order",
    "SearchOrder",
    "bad_time",
    "check_slots",
    "decode",
    "encode",
    "queue_facts",
    "seal",
    "unseal",
]

FORMAT: Final = 2
"""The version of this layout, kept in the state record; a store with a higher one is refused."""

Durability = Literal["process", "power"]
"""What a commit of the durable environment survives: the end of the process, or a loss of power too."""

MAX_SEQ: Final = 2**64 - 2
MAX_KEY: Final = 256
MAX_SENDER: Final = 255
MAX_NAME: Final = 480
INLINE: Final = 1900
"""The longest data that lies in a tree page; longer data takes pages of its own."""

FIRST_NUMBER: Final = 2**63
PIECES: Final = 2**62
PIECE_SIZE: Final = 1960
STATE_KEY: Final = b"\0"
META: Final = b"\x01"
QUEUE: Final = b"\x02"
RECLAIM: Final = b"\x03"
ENTRIES: Final = b"\x80"

PLAIN: Final = 0x51
FULL: Final = 0xAE
PLAIN_HEAD: Final = Struct(">BQI")
FULL_HEAD: Final = Struct(">BQIBHIH")
FULL_FACTS: Final = Struct(">BHIH")
ENTRY_KEY: Final = Struct(">QQ")
PIECE_KEY: Final = Struct(">QQI")
NUMBER: Final = Struct(">Q")
SEAL: Final = Struct(">I")

_plain_head = PLAIN_HEAD.pack
_read_plain = PLAIN_HEAD.unpack_from
_full_head = FULL_HEAD.pack
_read_full = FULL_HEAD.unpack_from


class Order(Enum):
    """The order in which a queue hands out its entries."""

    FIFO = "FIFO"
    LIFO = "LIFO"
    KEYED = "KEYED"


ORDERS: Final = (Order.FIFO, Order.LIFO, Order.KEYED)
QUEUE_RECORD: Final = Struct(">BHQQQQQ")


class SearchOrder(Enum):
    """How the key of an entry relates to the key that is searched for."""

    EQ = "EQ"
    NE = "NE"
    LT = "LT"
    LE = "LE"
    GT = "GT"
    GE = "GE"


class Entry(NamedTuple):
    """One entry of a queue.

    Attributes:
        seq: its sequence number in the queue, 1 to 2**64 - 2.
        time_ns: when it was put, in nanoseconds since 1970 UTC, as the caller gave it.
        key: its key; of the queue's key length in a KEYED queue.
        sender: who sent it, in the caller's format; up to 255 bytes.
        data: the data, which may be empty.
    """

    seq: int
    time_ns: int
    key: bytes
    sender: bytes
    data: bytes


def bad_time(name: bytes, time_ns: int) -> str:
    """Why an enqueue time is refused."""
    return f"queue {name!r}: enqueue time {time_ns}: it must be 0 to 2**64 - 1"


def check_slots(name: bytes, sender: bytes, time_ns: int) -> None:
    """ValueError when an entry's sender or time does not fit its slot."""
    if len(sender) > MAX_SENDER:
        raise ValueError(f"queue {name!r}: sender of {len(sender)} bytes: at most {MAX_SENDER}")
    if not 0 <= time_ns < 2**64:
        raise ValueError(bad_time(name, time_ns))


def seal(key: bytes, body: bytes) -> bytes:
    """A record other than an entry, with the checksum that ties it to its key."""
    return SEAL.pack(crc32(body, crc32(key))) + body


def unseal(key: bytes, value: bytes, what: str) -> bytes:
    """The body of a sealed record; StoreDamaged, naming ``what``, when it is not what was written."""
    if len(value) < SEAL.size or SEAL.unpack_from(value)[0] != crc32(value[4:], crc32(key)):
        raise StoreDamaged(f"{what} is damaged: its checksum does not match")
    return value[4:]


def encode(
    lmdb_key: bytes, time_ns: int, key: bytes, sender: bytes, data: bytes, *, split: bool
) -> tuple[bytes, list[bytes]]:
    """The value of an entry with all slots, and its pieces when ``split`` says that it must not take pages of its own.

    ``key`` is empty for a KEYED queue, whose keys lie in the LMDB key.
    """
    pieces = [data[at : at + PIECE_SIZE] for at in range(0, len(data), PIECE_SIZE)] if split else []
    facts = (len(sender), len(key), len(data), len(pieces))
    start = crc32(lmdb_key, time_ns ^ (time_ns >> 32))
    crc = crc32(data, crc32(FULL_FACTS.pack(*facts) + key + sender, start))
    head = _full_head(FULL, time_ns, crc, *facts) + key + sender
    return (head if pieces else head + data), pieces


def decode(lmdb_key: bytes, value: bytes, pieces: Callable[[int], bytes]) -> tuple[int, bytes, bytes, bytes] | None:
    """Time, key slot, sender and data of an entry; None when it is not what was written.

    ``pieces(n)`` gives the n pieces of a split entry put together.
    """
    kind = value[0] if len(value) >= PLAIN_HEAD.size else -1
    if kind == PLAIN:
        _, time_ns, crc = _read_plain(value)
        data = value[PLAIN_HEAD.size :]
        sound = crc32(data, crc32(lmdb_key, time_ns ^ (time_ns >> 32))) == crc
        return (time_ns, b"", b"", data) if sound else None
    if kind != FULL or len(value) < FULL_HEAD.size:
        return None
    _, time_ns, crc, sender_size, key_size, data_size, count = _read_full(value)
    at = FULL_HEAD.size + key_size
    key, sender = value[FULL_HEAD.size : at], value[at : at + sender_size]
    data = value[at + sender_size :] + (pieces(count) if count else b"")
    facts = FULL_FACTS.pack(sender_size, key_size, data_size, count)
    start = crc32(lmdb_key, time_ns ^ (time_ns >> 32))
    sound = len(data) == data_size and crc32(data, crc32(facts + key + sender, start)) == crc
    return (time_ns, key, sender, data) if sound else None


def queue_facts(name: bytes, record: bytes) -> tuple[Order, int, int, int, int, int, int]:
    """Order, key length, number, count, data bytes, head and last number in a queue record, or StoreDamaged."""
    body = unseal(QUEUE + name, record, f"the record of queue {name!r}")
    if len(body) != QUEUE_RECORD.size or body[0] >= len(ORDERS):
        raise StoreDamaged(f"the record of queue {name!r} is not a queue record")
    order, key_length, number, count, size, head, last = QUEUE_RECORD.unpack(body)
    return ORDERS[order], key_length, number, count, size, head, last
