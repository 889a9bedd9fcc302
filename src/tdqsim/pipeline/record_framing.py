"""Write records in every record format that can be read, with the options of :mod:`tdqsim.pipeline.record_locations`.

A :class:`RecordFraming` turns records into the bytes of a file: with descriptor words, in blocks, as lines, or one
after the other. It may end a block at any record, so the files of several of them can be joined. It refuses a record
that a read with the same options would not return as it is.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from tdqsim.datasets import Dcb, RecordFormat
from tdqsim.errors import ConversionError, DatasetError
from tdqsim.pipeline.descriptor_words import DESCRIPTOR, LARGE, MAX_BLOCK
from tdqsim.pipeline.options import QsamOptions
from tdqsim.pipeline.record_locations import END_OF_FILE, walk_for

HALFWORD = 0xFFFF
WHOLE, FIRST, LAST, MIDDLE = 0x0000, 0x0100, 0x0200, 0x0300
"""The segment codes of spanned records."""


class RecordFraming:
    """Frames the records of one file.

    Raises:
        DatasetError: the options describe no format that can be written.
    """

    def __init__(self, options: QsamOptions) -> None:
        walk_for(options)  # checks that no option is missing
        recfm = options.recfm
        self._options = options
        self._separator = b"" if options.self_sized else recfm.separator
        self._words = not options.self_sized and (recfm.variable or recfm is RecordFormat.RDW)
        self._spanned = self._words and recfm.spanned
        self._dcb = Dcb() if options.self_sized or recfm is RecordFormat.U else _dcb(options)
        if self._spanned and not (options.rdw_big_endian or options.cobrix):
            raise DatasetError(
                "record_format VS and VBS need is_rdw_big_endian=true: the other half is the segment code"
            )
        self._room = self._dcb.blksize - (DESCRIPTOR if self._words else 0)
        self._block: list[bytes] = []
        self._used = 0

    def check(self, records: Sequence[bytes], first: int = 0) -> None:
        """Refuse records that cannot be written in this format.

        Args:
            records: the records.
            first: how many records there were before, for the message.

        Raises:
            ConversionError: the message names the record, counted from 1, and what is allowed.
        """
        problems = {size: problem for size in set(map(len, records)) if (problem := self._problem(size))}
        if not problems and not self._separator:
            return
        for number, record in enumerate(records, first + 1):
            if problem := problems.get(len(record)) or (self._line_problem(record) if self._separator else ""):
                raise ConversionError(f"the record has {len(record)} bytes: {problem}", record=number)

    def _problem(self, size: int) -> str:
        """Why a record of this size cannot be written; empty if it can."""
        options, recfm = self._options, self._options.recfm
        inner = size - options.record_start_offset - options.record_end_offset
        if inner < options.minimum_record_length or 0 < options.maximum_record_length < inner:
            return "a read would skip it, by minimum_record_length or maximum_record_length"
        if options.self_sized:
            return "" if size else "a record has at least 1 byte"
        exact = options.length if recfm.fixed else options.block_length if recfm is RecordFormat.U else size
        if size != exact:
            return f"all records of record_format {recfm.value} have {exact} bytes"
        if not size and (self._separator or options.cobrix):
            return "a read would skip an empty record"
        if self._words and not 0 < size - options.rdw_adjustment <= HALFWORD:
            return f"its descriptor word would contain {size - options.rdw_adjustment}; allowed are 1 to {HALFWORD}"
        most = self._dcb.data_maximum if not recfm.fixed and recfm is not RecordFormat.U else size
        return "" if size <= most else f"at most {most} are allowed"

    def _line_problem(self, record: bytes) -> str:
        end = self._separator[-1:]
        if end in record:
            return f"byte {record.index(end)} is X'{end.hex().upper()}', which ends a line; allowed are other bytes"
        if end == b"\n" and record.endswith(b"\r"):
            return "its last byte is X'0D', which a read takes as a part of the end of the line"
        return "a line of X'1A' marks the end of the file" if record == END_OF_FILE else ""

    # framing ----------------------------------------------------------------------------------------------------------

    def add(self, records: Sequence[bytes]) -> bytes:
        """The bytes of records that :meth:`check` has accepted; those of the last block come later."""
        if self._spanned:
            return self._spanning(records)
        if self._words and self._options.recfm is RecordFormat.RDW:
            return b"".join([self._word(len(record)) + record for record in records])
        if self._words or self._options.fixed_blocks:
            return self._blocked(records)
        if self._separator:
            return b"".join([record + self._separator for record in records])
        return b"".join(records)

    def end(self) -> bytes:
        """The bytes of the last block."""
        return self._ended() if self._block else b""

    def _word(self, size: int, code: int = WHOLE) -> bytes:
        """The descriptor word of a record or segment."""
        length = size - self._options.rdw_adjustment
        if self._options.rdw_big_endian:
            return struct.pack(">HH", length, code)
        if self._spanned:  # under cobol, the length may be in the first half
            return struct.pack("<H", length) + struct.pack(">H", code)
        return struct.pack("<HH", 0, length)

    def _blocked(self, records: Sequence[bytes]) -> bytes:
        """VB, and FB with block descriptor words."""
        done = []
        for record in records:
            piece = self._word(len(record)) + record if self._words else record
            if self._used and self._used + len(piece) > self._room:
                done.append(self._ended())
            self._block.append(piece)
            self._used += len(piece)
        return b"".join(done)

    def _spanning(self, records: Sequence[bytes]) -> bytes:
        """VS and VBS: a record that does not fit into a block continues in the next. A block of VS has one segment."""
        done = []
        for record in records:
            at, first = 0, True
            while first or at < len(record):
                if self._used + DESCRIPTOR + bool(record) > self._room:
                    done.append(self._ended())
                size = min(len(record) - at, self._room - self._used - DESCRIPTOR)
                last = at + size == len(record)
                code = (WHOLE if last else FIRST) if first else (LAST if last else MIDDLE)
                self._block.append(self._word(size, code) + record[at : at + size])
                self._used += size + DESCRIPTOR
                at, first = at + size, False
                if not self._options.recfm.blocked:
                    done.append(self._ended())
        return b"".join(done)

    def _ended(self) -> bytes:
        """The current block, with its descriptor word; if the first bit is on, the other 31 are the length."""
        contents = b"".join(self._block)
        length = len(contents) - self._options.bdw_adjustment
        self._block, self._used = [], 0
        if not 0 < length < MAX_BLOCK:
            raise DatasetError(f"bdw_adjustment {self._options.bdw_adjustment} leaves no length for a block")
        word = (LARGE << 24 | length if length > HALFWORD >> 1 else length << 16).to_bytes(DESCRIPTOR, "big")
        return (word if self._options.bdw_big_endian else word[::-1]) + contents


def _dcb(options: QsamOptions) -> Dcb:
    """The checked data control block, with a block size chosen if none is given."""
    recfm = options.recfm
    if recfm.fixed:
        block = options.block_length if recfm is RecordFormat.FB else 0
        return Dcb(recfm, options.length, block).checked(options.paths[0], output=True)
    inclusive = options.rdw_adjustment == -DESCRIPTOR if recfm is RecordFormat.RDW else None
    lrecl = 0 if recfm.separator else options.record_length
    return Dcb(recfm, lrecl, options.block_length, rdw_inclusive=inclusive).checked(options.paths[0], output=True)
