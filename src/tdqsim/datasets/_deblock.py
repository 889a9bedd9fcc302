"""Split bytes into records: one deblocker for each family of record formats.

The caller passes bytes and the position in them at which a block (or record, or line) begins:

    records, count, place, damage = deblocker.split(data, at, final=...)

``records`` are the complete records between ``at`` and ``place``. ``damage`` is None, or describes the bytes at
``place`` that cannot be used. If there are neither records nor damage, the caller must supply more bytes; ``final``
says that there are no more. Every length in the data is checked against a limit before it is used, so a deblocker
never needs more than one block of data, and a record made of segments is limited to the largest record.

The end of the damage is known only if the block's own length can be trusted. Otherwise ``skips`` is None: nothing
after the damage can be found, and skipping it leads to the end of the data set.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import Protocol

from tdqsim.core.named import NamedTuple
from tdqsim.datasets._limits import limit
from tdqsim.datasets.dcb import Dcb, RecordFormat
from tdqsim.datasets.errors import BlockFault

_BIG = Struct(">HH")
_LITTLE = Struct("<HH")
_RDW = limit("record_descriptor")
_BDW = limit("block_descriptor")
_MIDDLE = 3  # segment control codes: 0 complete record, 1 first, 2 last, 3 middle
_EXTENDED = 0x8000  # first bit of a BDW: the other 31 bits are the length, for tape blocks of more than 32760 bytes
_BLOCK_MAXIMUM = limit("block_maximum")
_EXTENDED_MAXIMUM = limit("extended_block_maximum")
_LAYOUT_MAXIMUM = 8192  # a Struct takes 32 bytes of memory for each record


class Damage(NamedTuple):
    """Bytes that cannot be used.

    Attributes:
        fault: what is wrong.
        problem: a description of the fault and of what is allowed.
        skips: the number of bytes to skip, or None when the end of the damage is not known.
        salvage: the records to deliver if the damaged bytes are accepted (ERROROPTION IGNORE).
    """

    fault: BlockFault
    problem: str
    skips: int | None
    salvage: tuple[bytes, ...] = ()


Split = tuple[Sequence[bytes], int, int, Damage | None]


class Deblocker(Protocol):
    """See the module. ``split`` returns the records, their number, the position reached, and the damage."""

    def split(self, data: bytes, at: int, *, final: bool) -> Split: ...

    def resume(self) -> None:
        """Continue with the next block after the damage that was just reported."""


class FixedBlocks:
    """F and FB: records of one length, without descriptor words."""

    def __init__(self, dcb: Dcb) -> None:
        self._lrecl = dcb.lrecl
        self._layouts: dict[int, Struct] = {}

    def split(self, data: bytes, at: int, *, final: bool) -> Split:
        """See :class:`Deblocker`."""
        lrecl = self._lrecl
        count = (len(data) - at) // lrecl
        place = at + count * lrecl
        records = self._records(data, at, count)
        rest = len(data) - place
        if not final or not rest:
            return records, count, place, None
        problem = f"the data set ends with {rest} bytes; every record of LRECL {lrecl} needs {lrecl}"
        return records, count, place, Damage(BlockFault.LENGTH, problem, rest, (data[place:],))

    def resume(self) -> None:
        """Nothing to forget."""

    def _records(self, data: bytes, at: int, count: int) -> Sequence[bytes]:
        if not 0 < count <= _LAYOUT_MAXIMUM:
            lrecl = self._lrecl
            return [data[place : place + lrecl] for place in range(at, at + count * lrecl, lrecl)]
        # One Struct splits many records in one call. There are few different counts: that of a full read and the last.
        layout = self._layouts.get(count)
        if layout is None:
            if len(self._layouts) > 1:
                self._layouts.clear()
            layout = self._layouts[count] = Struct(f"{self._lrecl}s" * count)
        return layout.unpack_from(data, at)


class UndefinedBlocks:
    """U: a block is a record. A file has no block boundaries, so each block but the last is taken as BLKSIZE bytes."""

    def __init__(self, dcb: Dcb) -> None:
        self._blksize = dcb.blksize

    def split(self, data: bytes, at: int, *, final: bool) -> Split:
        """See :class:`Deblocker`."""
        size = self._blksize
        place = len(data) if final else at + (len(data) - at) // size * size
        records = [data[begin : begin + size] for begin in range(at, place, size)]
        return records, len(records), place, None

    def resume(self) -> None:
        """Nothing to forget."""


class VariableBlocks:
    """V and VB: a BDW, then records with an RDW each, which must end exactly at the block's end."""

    def __init__(self, dcb: Dcb) -> None:
        self._largest = dcb.blksize
        self._lrecl = dcb.lrecl

    def split(self, data: bytes, at: int, *, final: bool) -> Split:
        """See :class:`Deblocker`."""
        records: list[bytes] = []
        append, unpack, lrecl = records.append, _BIG.unpack_from, self._lrecl
        size = len(data)
        while True:
            end, damage = _block_end(data, at, self._largest, final=final)
            if damage or not end:
                return records, len(records), at, damage
            at += _BDW
            last = end - _RDW
            while at <= last:
                length, rest = unpack(data, at)
                following = at + length
                if length < _RDW or rest or following > end or length > lrecl:
                    return records, len(records), at, _bad_rdw(data, at, end, lrecl)
                append(data[at + _RDW : following])
                at = following
            if at != end:
                return records, len(records), at, _bad_rdw(data, at, end, lrecl)
            if at == size:
                return records, len(records), at, None

    def resume(self) -> None:
        """Nothing to forget."""


class SpannedBlocks:
    """VS and VBS: blocks of segments. A record is one segment (0), or a first (1), middle (3) and last (2) one."""

    def __init__(self, dcb: Dcb) -> None:
        self._largest = dcb.blksize
        self._data_maximum = dcb.data_maximum
        self._parts: list[bytes] = []
        self._collected = 0
        self._left = 0  # bytes of the current block after damage inside it
        self._resuming = False  # after damage: skip the remaining segments of the record in error

    def split(self, data: bytes, at: int, *, final: bool) -> Split:
        """See :class:`Deblocker`."""
        records: list[bytes] = []
        while True:
            if self._left:
                end, self._left = at + self._left, 0
            else:
                end, damage = _block_end(data, at, self._largest, final=final)
                if damage:
                    return records, len(records), at, damage
                if not end:
                    break
                at += _BDW
            while at < end:
                following = self._segment(data, at, end, records)
                if isinstance(following, Damage):
                    self._left = end - at - (following.skips or 0)
                    return records, len(records), at, following
                at = following
        if final and at == len(data) and self._parts:
            return records, len(records), at, self._unfinished()
        return records, len(records), at, None

    def resume(self) -> None:
        """Drop the record in error; its remaining segments are skipped without a second error."""
        self._resuming = True
        self._drop()

    def _segment(self, data: bytes, at: int, end: int, records: list[bytes]) -> int | Damage:
        if at + _RDW > end:
            return _bad_rdw(data, at, end, end - at)
        length, rest = _BIG.unpack_from(data, at)
        code = rest >> 8
        following: int = at + length
        if length < _RDW or following > end or code > _MIDDLE or rest & 0xFF:
            return _bad_rdw(data, at, end, end - at, spanned=True)
        starts, ends = code in {0, 1}, code in {0, 2}
        if starts and self._resuming:
            self._resuming = False
        if self._resuming:
            return following
        part = data[at + _RDW : following]
        if starts == bool(self._parts):
            return self._misfit(code, following - at, part)
        if self._collected + len(part) > self._data_maximum:
            problem = f"a record of {self._collected + len(part)} bytes or more; at most {self._data_maximum} fit LRECL"
            return Damage(BlockFault.SEGMENT, problem, end - at, (b"".join(self._parts) + part,))
        self._collected += len(part)
        self._parts.append(part)
        if ends:
            records.append(b"".join(self._parts))
            self._drop()
        return following

    def _misfit(self, code: int, skips: int, part: bytes) -> Damage:
        if self._parts:
            # The new record may be complete: only the segments before it are damaged, so no bytes are skipped.
            problem = f"segment code {code} begins a record while the one before it has no last segment"
            return Damage(BlockFault.SEGMENT, problem, 0, (b"".join(self._parts),))
        problem = f"segment code {code} continues a record that has no first segment"
        return Damage(BlockFault.SEGMENT, problem, skips, (part,))

    def _unfinished(self) -> Damage:
        problem = "the data set ends inside a spanned record: its last segment is missing"
        return Damage(BlockFault.TRUNCATED, problem, 0, (b"".join(self._parts),))

    def _drop(self) -> None:
        self._parts.clear()
        self._collected = 0


class HeadedRecords:
    """RDW and RDWLE: a descriptor word before each record, no blocks."""

    def __init__(self, dcb: Dcb) -> None:
        little = dcb.recfm is RecordFormat.RDWLE
        self._unpack = (_LITTLE if little else _BIG).unpack_from
        self._second = dcb.rdw_position == 2
        self._header = 0 if dcb.rdw_inclusive else _RDW  # bytes of the descriptor word that the length does not count
        self._largest = dcb.lrecl

    def split(self, data: bytes, at: int, *, final: bool) -> Split:
        """See :class:`Deblocker`."""
        records: list[bytes] = []
        append, unpack = records.append, self._unpack
        second, header, largest = self._second, self._header, self._largest
        shortest = _RDW - header or 1
        size = len(data)
        last = size - _RDW
        while at <= last:
            length, rest = unpack(data, at)
            if second:
                length, rest = rest, length
            following = at + length + header
            if rest or not shortest <= length <= largest:
                return records, len(records), at, self._bad_word(data, at, length, rest)
            if following > size:
                break
            append(data[at + _RDW : following])
            at = following
        damage = _cut_short(data, at, "record") if final and at != size else None
        return records, len(records), at, damage

    def resume(self) -> None:
        """Nothing to forget."""

    def _bad_word(self, data: bytes, at: int, length: int, rest: int) -> Damage:
        shown = data[at : at + _RDW].hex().upper()
        why = "its other two bytes are not zero" if rest else f"it says {length}"
        shortest = _RDW - self._header or 1
        problem = (
            f"RDW X'{shown}': {why}; a length from {shortest} to {self._largest} and two bytes of zero are allowed"
        )
        return Damage(BlockFault.RDW, problem, None, (data[at + _RDW : at + self._largest],))


class Lines:
    """LF, CRLF and NL: text with a separator after each record; the last record may lack it."""

    def __init__(self, dcb: Dcb) -> None:
        assert dcb.recfm is not None
        self._separator = dcb.recfm.separator
        self._largest = dcb.lrecl
        self._endless = False  # the end of the line in error has not been read yet
        self._discarding = False  # the rest of the line in error is being skipped

    def split(self, data: bytes, at: int, *, final: bool) -> Split:
        """See :class:`Deblocker`."""
        separator = self._separator
        if self._discarding:
            line_end = data.find(separator, at)
            if line_end < 0:
                # A separator of two bytes may continue in the next read.
                return (), 0, max(at, len(data) - (0 if final else len(separator) - 1)), None
            at, self._discarding = line_end + len(separator), False
        records = data[at:].split(separator)
        rest = records.pop()
        if final and rest:
            records.append(rest)
            rest = b""
        if records and len(max(records, key=len)) > self._largest:
            return self._long_line(records, at)
        place = len(data) - len(rest)
        if len(rest) > self._largest + len(separator):
            self._endless = True
            return records, len(records), place, self._too_long(rest, len(rest) - len(separator) + 1, "or more ")
        return records, len(records), place, None

    def resume(self) -> None:
        """Skip the rest of a line whose end has not been read yet."""
        self._discarding, self._endless = self._endless, False

    def _long_line(self, records: list[bytes], at: int) -> Split:
        place = next(number for number, record in enumerate(records) if len(record) > self._largest)
        good, line = records[:place], records[place]
        at += sum(map(len, good)) + len(self._separator) * place
        return good, place, at, self._too_long(line, len(line) + len(self._separator), "")

    def _too_long(self, line: bytes, skips: int, more: str) -> Damage:
        problem = (
            f"a line of {len(line)} bytes {more}; at most {self._largest} are allowed (is this a file of text lines?)"
        )
        return Damage(BlockFault.LINE, problem.replace(" ;", ";"), skips, (line[: self._largest],))


def deblocker_for(dcb: Dcb) -> Deblocker:
    """Return a new deblocker for the format of a checked data control block."""
    assert dcb.recfm is not None
    if dcb.recfm.fixed:
        return FixedBlocks(dcb)
    if dcb.recfm.separator:
        return Lines(dcb)
    return _KINDS[dcb.recfm](dcb)


_KINDS: dict[RecordFormat, type[VariableBlocks | SpannedBlocks | UndefinedBlocks | HeadedRecords]] = {
    RecordFormat.V: VariableBlocks,
    RecordFormat.VB: VariableBlocks,
    RecordFormat.VS: SpannedBlocks,
    RecordFormat.VBS: SpannedBlocks,
    RecordFormat.U: UndefinedBlocks,
    RecordFormat.RDW: HeadedRecords,
    RecordFormat.RDWLE: HeadedRecords,
}


def _block_end(data: bytes, at: int, largest: int, *, final: bool) -> tuple[int, Damage | None]:
    """Return the end of the block at ``at``; 0 when it is not complete. ``largest`` is BLKSIZE, or 0: unknown."""
    size = len(data)
    if at + _BDW > size:
        return 0, _cut_short(data, at, "block") if final and at != size else None
    length, rest = _BIG.unpack_from(data, at)
    top = largest or _BLOCK_MAXIMUM
    if length & _EXTENDED:
        length, rest, top = (length & ~_EXTENDED) << 16 | rest, 0, largest or _EXTENDED_MAXIMUM
    if rest or not _BDW + _RDW <= length <= top:
        return 0, _bad_bdw(data, at, length, rest, top)
    if at + length > size:
        return 0, _cut_short(data, at, "block") if final else None
    return at + length, None


def _bad_bdw(data: bytes, at: int, length: int, rest: int, largest: int) -> Damage:
    shown = data[at : at + _BDW].hex().upper()
    why = "its last two bytes are not zero" if rest else f"it says {length}"
    problem = f"BDW X'{shown}': {why}; a length from 8 to {largest} and two bytes of zero are allowed"
    # A length beyond BLKSIZE but within the system's maximum is probably real: skip so many bytes to the next block.
    skips = length if not rest and largest < length <= _BLOCK_MAXIMUM and at + length <= len(data) else None
    return Damage(BlockFault.BDW, problem, skips, (data[at + _BDW : at + min(largest, _BLOCK_MAXIMUM)],))


def _bad_rdw(data: bytes, at: int, end: int, largest: int, *, spanned: bool = False) -> Damage:
    name, remainder = ("SDW" if spanned else "RDW"), data[at:end]
    shown = remainder[:_RDW].hex().upper()
    if len(remainder) < _RDW:
        problem = f"{len(remainder)} bytes X'{shown}' are left in the block, too few for an {name}"
    else:
        room = min(end - at, largest)
        codes = " a segment code 0-3 and a zero" if spanned else " two bytes of zero"
        problem = (
            f"{name} X'{shown}': a length from {_RDW} to {room} (the rest of the block, LRECL) and{codes} are allowed"
        )
    return Damage(BlockFault.RDW, problem, end - at, (remainder[_RDW:] or remainder,))


def _cut_short(data: bytes, at: int, what: str) -> Damage:
    remainder = data[at:]
    problem = f"the data set ends inside a {what}: {len(remainder)} bytes are left of it"
    return Damage(BlockFault.TRUNCATED, problem, len(remainder), (remainder[_RDW:] or remainder,))
