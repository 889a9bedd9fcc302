"""Write data sets: records are collected into blocks, and a full block is written at once.

A crash loses only the block that has not been written yet. A record for which there is no space is refused as a whole
(:class:`SpaceExhausted`); earlier records remain readable, and writing can continue when there is space again.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from struct import Struct
from types import TracebackType
from typing import Self

from tdqsim.datasets._append import end_of_data
from tdqsim.datasets._files import NO_SPACE, Opener, RawFile, lock, open_file
from tdqsim.datasets._limits import limit
from tdqsim.datasets.dcb import Dcb, Disposition, RecordFormat
from tdqsim.datasets.errors import DatasetIOError, DatasetNotOpen, DcbError, OpenError, RecordError, SpaceExhausted
from tdqsim.datasets.space import Space

_RDW = limit("record_descriptor")
_BDW = limit("block_descriptor")
_DESCRIPTOR = Struct(">HH").pack
_BULK = 4096  # records that put_all processes at once
_WHOLE, _FIRST, _LAST, _MIDDLE = 0x0000, 0x0100, 0x0200, 0x0300


class DatasetWriter(ABC):
    """An open data set for output.

    Attributes:
        path: the file.
        dcb: the checked data control block with which the file is written.
        records_written: number of records accepted so far.
    """

    def __init__(self, path: Path, dcb: Dcb) -> None:
        self.path = path
        self.dcb = dcb
        self.records_written = 0
        self._open = True

    @abstractmethod
    def put(self, record: bytes) -> None:
        """Write one record.

        Raises:
            RecordError: its length or content cannot be written in this format; nothing was written.
            SpaceExhausted: there is no space; the record was not written.
            DatasetIOError: the write failed in the operating system.
            DatasetNotOpen: the writer is closed.
        """

    def has_room(self, _size: int, /) -> bool:
        """Return whether SPACE has room for a record of so many bytes of data; free disk space is not checked."""
        return True

    def put_all(self, records: Iterable[bytes]) -> int:
        """Write all records and return their number. Raises the errors of ``put()``, after writing earlier records."""
        before = self.records_written
        put = self.put
        for record in records:
            put(record)
        return self.records_written - before

    def trunc(self) -> None:
        """Write the current, possibly incomplete block (TRUNC), so that all records so far survive a crash.

        A writer without blocks does nothing.
        """
        return

    @property
    def is_open(self) -> bool:
        """Whether the writer has not been closed yet."""
        return self._open

    def close(self) -> None:
        """Write the last block and close the file; closing a closed writer does nothing.

        Raises:
            SpaceExhausted: no space for the last block. The writer stays open; a second close discards the block.
            DatasetIOError: the write failed in the operating system; the writer stays open as above.
        """
        self._open = False

    def abandon(self) -> None:
        """Close the file without writing the last block, as when the program is killed; earlier blocks are kept."""
        self._open = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.close()
        except (SpaceExhausted, DatasetIOError):
            self.close()
            if value is None:
                raise

    def _not_open(self) -> DatasetNotOpen:
        return DatasetNotOpen(self.path, "the data set is closed")


class DummyWriter(DatasetWriter):
    """DUMMY: records are counted and discarded."""

    def __init__(self, dcb: Dcb | None = None) -> None:
        super().__init__(Path("DUMMY"), dcb or Dcb())

    def put(self, record: bytes) -> None:
        """Count the record.

        Raises:
            RecordError: its length does not fit RECFM and LRECL.
            DatasetNotOpen: the writer is closed.
        """
        if not self._open:
            raise self._not_open()
        if fault := self.dcb.length_fault(len(record)):
            raise RecordError(self.path, fault, record=self.records_written + 1)
        self.records_written += 1


class _BlockWriter(DatasetWriter):
    """A file written block by block; subclasses add descriptor words or separators to the records."""

    _base = 0  # bytes of a block before its first record
    _framing = 0  # bytes of a record in addition to its data

    def __init__(
        self, path: Path, file: RawFile, dcb: Dcb, space: Space | None, position: int, *, partitioned: bool
    ) -> None:
        super().__init__(path, dcb)
        self._file = file
        self._space = space
        self._partitioned = partitioned
        self._position = position
        self._blksize = dcb.blksize
        self._blocks_written = -(-position // self._blksize)
        self._parts: list[bytes] = []
        self._close_failed = False
        self._new_block()

    def trunc(self) -> None:
        """See :meth:`DatasetWriter.trunc`."""
        if not self._open:
            raise self._not_open()
        if self._parts:
            self._write_block()

    def close(self) -> None:
        """See :meth:`DatasetWriter.close`."""
        if not self._open:
            return
        if self._parts and not self._close_failed:
            try:
                self._write_block()
            except (SpaceExhausted, DatasetIOError):
                self._close_failed = True
                raise
        self.abandon()

    def abandon(self) -> None:
        """See :meth:`DatasetWriter.abandon`."""
        if self._open:
            self._open = False
            self._parts.clear()
            self._limit = -1
            self._file.close()

    def _new_block(self) -> None:
        self._parts = []
        self._used = self._base
        self._room = self._room_left()
        self._limit = min(self._blksize, self._room)

    def _room_left(self) -> int:
        """Return the number of bytes that the next block may have."""
        return self._room_behind(self._position, self._blocks_written)

    def _room_behind(self, position: int, written: int) -> int:
        """Return the number of bytes that a block at ``position``, after ``written`` other blocks, may have."""
        if self._space is None:
            return 1 << 62
        blocks = self._space.blocks(self._blksize)
        if blocks is None:
            return self._space.total - position
        return self._blksize if written < blocks else 0

    def has_room(self, size: int) -> bool:
        """See :meth:`DatasetWriter.has_room`."""
        size += self._framing
        if self._used + size <= self._limit:
            return True
        started = 1 if self._parts else 0
        room = self._room_behind(self._position + started * self._used, self._blocks_written + started)
        return self._base + size <= room

    def _make_room(self, size: int) -> None:
        """Begin another block, because the current one has no room for ``size`` bytes."""
        if not self._open:
            raise self._not_open()
        if self._parts:
            self._write_block()
        if self._base + size > self._room:
            raise self._exhausted("the space of the data set is used up")

    def _write_block(self) -> None:
        self._emit(self._block())
        self._blocks_written += 1
        self._new_block()

    def _block(self) -> bytes:
        return b"".join(self._parts)

    def _emit(self, data: bytes) -> None:
        """Write the data at the end of the file, either completely or not at all."""
        try:
            view = memoryview(data)
            while view:
                view = view[self._file.write(view) or 0 :]
        except OSError as error:
            self._undo_write(error)
            if error.errno in NO_SPACE:
                raise self._exhausted(f"the disk has no room: {error.strerror}", disk=True) from error
            raise DatasetIOError(self.path, f"cannot be written: {error.strerror}", offset=self._position) from error
        self._position += len(data)

    def _undo_write(self, cause: OSError) -> None:
        """Remove the bytes of a write that failed halfway."""
        try:
            self._restore(self._position)
        except OSError as error:
            problem = (
                f"cannot be written ({cause.strerror}), and the partial write could not be removed ({error.strerror})"
            )
            raise DatasetIOError(self.path, problem, offset=self._position) from error

    def _restore(self, position: int) -> None:
        """Truncate the file to ``position`` and continue there."""
        self._file.truncate(position)
        self._file.seek(position)
        self._position = position

    def _exhausted(self, problem: str, *, disk: bool = False) -> SpaceExhausted:
        extended = disk or (self._space is not None and self._space.secondary > 0)
        code = "E37" if self._partitioned else "B37" if extended else "D37"
        return SpaceExhausted(self.path, problem, code=code, record=self.records_written + 1)

    def _flush_full(self, size: int) -> None:
        """Write the block that the last record filled; if that fails, remove the record from the block."""
        try:
            self._write_block()
        except (SpaceExhausted, DatasetIOError):
            self._parts.pop()
            self._used -= size
            self.records_written -= 1
            raise

    def _refuse(self, problem: str) -> RecordError:
        return RecordError(self.path, problem, record=self.records_written + 1)


class FixedWriter(_BlockWriter):
    """F and FB."""

    def put(self, record: bytes) -> None:
        """See :meth:`DatasetWriter.put`."""
        size = len(record)
        if size != self.dcb.lrecl:
            raise self._refuse(f"a record of {size} bytes; fixed-length records have exactly LRECL, {self.dcb.lrecl}")
        used = self._used + size
        if used > self._limit:
            self._make_room(size)
            used = self._used + size
        self._parts.append(record)
        self._used = used
        self.records_written += 1
        if used == self._blksize:
            self._flush_full(size)

    def put_all(self, records: Iterable[bytes]) -> int:
        """See :meth:`DatasetWriter.put_all`."""
        before = self.records_written
        source = iter(records)
        while batch := list(islice(source, _BULK)):
            if not self._put_batch(batch):
                super().put_all(batch)
        return self.records_written - before

    def _put_batch(self, records: list[bytes]) -> bool:
        """Write many blocks in one write; return False if the records must be written one by one."""
        if not self._open or self._space is not None or set(map(len, records)) != {self.dcb.lrecl}:
            return False
        data = b"".join([*self._parts, *records])
        whole = len(data) // self._blksize * self._blksize
        if whole:
            try:
                self._emit(data[:whole])
            except SpaceExhausted:
                return False  # written one by one, all records that fit are kept
            self._new_block()
        else:
            self._parts.clear()
        if whole < len(data):
            self._parts.append(data[whole:])
        self._used = len(data) - whole
        self.records_written += len(records)
        return True


class VariableWriter(_BlockWriter):
    """V and VB."""

    _base = _BDW
    _framing = _RDW

    def put(self, record: bytes) -> None:
        """See :meth:`DatasetWriter.put`."""
        size = len(record) + _RDW
        if size > self.dcb.lrecl:
            raise self._refuse(
                f"a record of {size - _RDW} bytes; LRECL {self.dcb.lrecl} with its RDW holds {self.dcb.data_maximum}"
            )
        if self._used + size > self._limit:
            self._make_room(size)
        self._parts.append(_DESCRIPTOR(size, 0) + record)
        self._used += size
        self.records_written += 1
        if self.dcb.recfm is RecordFormat.V or self._used + _RDW >= self._blksize:
            self._flush_full(size)

    def _block(self) -> bytes:
        return _DESCRIPTOR(self._used, 0) + b"".join(self._parts)


class SpannedWriter(_BlockWriter):
    """VS and VBS: a record that does not fit into a block continues in the next."""

    _base = _BDW
    _framing = _RDW

    def has_room(self, size: int) -> bool:
        """See :meth:`DatasetWriter.has_room`."""
        used, limit, position, written = self._used, self._limit, self._position, self._blocks_written
        least, started = _RDW + (1 if size else 0), bool(self._parts)
        while True:
            if used + least <= limit:
                size -= limit - used - _RDW
                if size <= 0:
                    return True
                used, started = limit, True
            position, written = position + started * used, written + started
            limit = min(self._blksize, self._room_behind(position, written))
            if self._base + _RDW + 1 > limit:
                return False
            used, started = self._base, False

    def put(self, record: bytes) -> None:
        """See :meth:`DatasetWriter.put`."""
        if not self._open:
            raise self._not_open()
        if len(record) > self.dcb.data_maximum:
            raise self._refuse(
                f"a record of {len(record)} bytes; the longest that LRECL allows has {self.dcb.data_maximum}"
            )
        parts, count, used = self._parts, len(self._parts), self._used
        position, blocks = self._position, self._blocks_written
        try:
            self._put_segments(record)
        except (SpaceExhausted, DatasetIOError):
            self._restore(position)
            self._blocks_written = blocks
            self._new_block()
            del parts[count:]
            self._parts, self._used = parts, used
            raise
        self.records_written += 1

    def _put_segments(self, record: bytes) -> None:
        at, first = 0, True
        while first or at < len(record):
            # A segment of a record with data has at least one byte, so a block with less room than that is full.
            if self._used + _RDW + (1 if record else 0) > self._limit:
                self._make_room(_RDW + 1)
            size = min(len(record) - at, self._limit - self._used - _RDW)
            last = at + size == len(record)
            code = (_WHOLE if last else _FIRST) if first else (_LAST if last else _MIDDLE)
            self._parts.append(_DESCRIPTOR(size + _RDW, code) + record[at : at + size])
            self._used += size + _RDW
            at, first = at + size, False
            if self.dcb.recfm is RecordFormat.VS or self._used + _RDW >= self._blksize:
                self._write_block()

    def _block(self) -> bytes:
        return _DESCRIPTOR(self._used, 0) + b"".join(self._parts)


class HeadedWriter(_BlockWriter):
    """RDW and RDWLE."""

    _framing = _RDW

    def __init__(
        self, path: Path, file: RawFile, dcb: Dcb, space: Space | None, position: int, *, partitioned: bool
    ) -> None:
        super().__init__(path, file, dcb, space, position, partitioned=partitioned)
        self._pack = Struct("<HH" if dcb.recfm is RecordFormat.RDWLE else ">HH").pack
        self._added = _RDW if dcb.rdw_inclusive else 0
        self._second = dcb.rdw_position == 2

    def put(self, record: bytes) -> None:
        """See :meth:`DatasetWriter.put`."""
        length = len(record) + self._added
        if not 0 < length <= self.dcb.lrecl:
            least = "" if self._added else ", at least 1"
            raise self._refuse(f"a record of {len(record)} bytes; at most {self.dcb.data_maximum} fit LRECL{least}")
        header = self._pack(0, length) if self._second else self._pack(length, 0)
        size = len(record) + _RDW
        if self._used + size > self._limit:
            self._make_room(size)
        self._parts.append(header + record)
        self._used += size
        self.records_written += 1


class LineWriter(_BlockWriter):
    """LF, CRLF and NL."""

    def has_room(self, size: int) -> bool:
        """See :meth:`DatasetWriter.has_room`."""
        assert self.dcb.recfm is not None
        return super().has_room(size + len(self.dcb.recfm.separator))

    def put(self, record: bytes) -> None:
        """See :meth:`DatasetWriter.put`."""
        assert self.dcb.recfm is not None
        separator = self.dcb.recfm.separator
        if len(record) > self.dcb.lrecl:
            raise self._refuse(f"a line of {len(record)} bytes; at most {self.dcb.lrecl} are allowed")
        if separator in record:
            place = record.index(separator)
            raise self._refuse(f"the record holds the line separator X'{separator.hex().upper()}' at byte {place}")
        size = len(record) + len(separator)
        if self._used + size > self._limit:
            self._make_room(size)
        self._parts.append(record + separator)
        self._used += size
        self.records_written += 1

    def end_line(self) -> None:
        """Add the separator that the file's last line lacks, before another line is written."""
        assert self.dcb.recfm is not None
        self._parts.append(self.dcb.recfm.separator)
        self._used += len(self._parts[0])


_WRITERS: dict[RecordFormat, type[_BlockWriter]] = {
    RecordFormat.F: FixedWriter,
    RecordFormat.FB: FixedWriter,
    RecordFormat.V: VariableWriter,
    RecordFormat.VB: VariableWriter,
    RecordFormat.VS: SpannedWriter,
    RecordFormat.VBS: SpannedWriter,
    RecordFormat.RDW: HeadedWriter,
    RecordFormat.RDWLE: HeadedWriter,
    RecordFormat.LF: LineWriter,
    RecordFormat.CRLF: LineWriter,
    RecordFormat.NL: LineWriter,
}


def open_writer(
    path: Path | str,
    dcb: Dcb,
    *,
    disposition: Disposition = Disposition.SHR,
    space: Space | None = None,
    partitioned: bool = False,
    opener: Opener | None = None,
) -> DatasetWriter:
    """Open a file for output; create it if it does not exist.

    Args:
        path: the file.
        dcb: the format to write; RECFM is required, and cannot be U (a file has no block boundaries).
        disposition: OLD and SHR write from the start, and the old contents are deleted at open; MOD writes after the
            last record; NEW refuses a file that exists. All but SHR open the file exclusively.
        space: the space that the file may take; None: no limit but the disk.
        partitioned: the file is a member, which changes the x37 code.
        opener: opens the file instead of the system's open; for tests that make I/O fail.

    Raises:
        DcbError: the data control block is incomplete, contradicts itself, or cannot be written.
        OpenError: not a regular file, not permitted, exists (NEW), or is damaged so that nothing can be added (MOD).
        DatasetInUse: it is open elsewhere in a way that excludes this.
    """
    path = Path(path)
    complete = dcb.checked(path, output=True)
    assert complete.recfm is not None
    if complete.recfm is RecordFormat.U:
        raise DcbError(path, "RECFM=U can only be read: a file keeps no block boundaries")
    new = os.O_EXCL if disposition is Disposition.NEW else 0
    file = open_file(path, os.O_RDWR | os.O_CREAT | new, opener)
    lock(file, path, exclusive=disposition is not Disposition.SHR)
    position, open_line = 0, False
    try:
        if disposition is Disposition.MOD:
            position, open_line = end_of_data(path, file, complete)
        else:
            file.truncate(0)
        file.seek(position)
    except OSError as error:
        file.close()
        raise OpenError(path, f"cannot be positioned: {error.strerror}") from error
    except BaseException:
        file.close()
        raise
    writer = _WRITERS[complete.recfm](path, file, complete, space, position, partitioned=partitioned)
    if open_line and isinstance(writer, LineWriter):
        writer.end_line()
    return writer
