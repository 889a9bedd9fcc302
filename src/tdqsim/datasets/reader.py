"""Read data sets: one record at a time, or all records at the speed of a plain loop.

A reader delivers records as bytes, without descriptor words and separators. ``get()`` returns None at the end of data,
each time. The end of a data set is determined at open: bytes that another program appends later are seen only by the
next open.

Memory is limited to the buffers (BUFNO times BLKSIZE, but from 64 to 256 KB) and one record, regardless of the lengths
in the file.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from operator import length_hint
from pathlib import Path
from typing import Self

from tdqsim.datasets._deblock import Damage, deblocker_for
from tdqsim.datasets._files import Opener, RawFile, lock, open_file
from tdqsim.datasets._limits import limit
from tdqsim.datasets.dcb import Dcb, Disposition, ErrorOption, RecordFormat
from tdqsim.datasets.errors import BlockError, BlockFault, DatasetFault, DatasetNotOpen, DcbError, OpenError

_BLOCK_SHOWN = limit("block_maximum")


class DatasetReader(ABC):
    """An open data set for input.

    Iteration delivers the same records as ``get()``, faster; both may be mixed.

    Attributes:
        path: the file.
        dcb: the checked data control block with which the file is read.
        blocks_in_error: number of damaged blocks so far.
        pending: the records of the current batch that have not been delivered yet.
        salvage: the records of the damaged block of the last BlockError; None if the last request raised none.
    """

    def __init__(self, path: Path, dcb: Dcb) -> None:
        self.path = path
        self.dcb = dcb
        self.blocks_in_error = 0
        self._open = True
        self.pending: Iterator[bytes] = iter(())
        self._before = 0  # records delivered before the current batch
        self._batch = 0  # records in the current batch
        self.salvage: tuple[bytes, ...] | None = None

    def get(self) -> bytes | None:
        """Return the next record, or None at the end of data. A record without data is an empty bytes object.

        Raises:
            BlockError: the next block is damaged; the reader is now positioned after it.
            DatasetNotOpen: the reader is closed.
        """
        for record in self.pending:
            return record
        while self.advance():
            for record in self.pending:
                return record
        return None

    def __iter__(self) -> Iterator[bytes]:
        return chain.from_iterable(self._batches())

    def skip(self, count: int, pause: Callable[[], object] | None = None) -> None:
        """Skip a number of records, at most to the end of data; ``pause`` is called between two buffers.

        Raises:
            BlockError, DatasetNotOpen: as :meth:`get`.
        """
        to = self.records_read + count
        while to >= self._before + self._batch:
            self._before, self._batch, self.pending = self._before + self._batch, 0, iter(())
            if to == self._before or not self.advance():
                return
            if pause is not None:
                pause()
        deque(islice(self.pending, to - self.records_read), maxlen=0)

    def accept_block(self) -> None:
        """Make ``get()`` deliver the contents of the damaged block of the last BlockError (ERROROPTION IGNORE).

        Raises:
            DatasetFault: the previous request did not raise a BlockError.
        """
        if self.salvage is None:
            raise DatasetFault(self.path, "no damaged block to accept: the last request met none")
        self._deliver(self.salvage, len(self.salvage))

    @property
    def records_read(self) -> int:
        """The number of records delivered so far."""
        return self._before + self._batch - length_hint(self.pending)

    @property
    def is_open(self) -> bool:
        """Whether the reader has not been closed yet."""
        return self._open

    def close(self) -> None:
        """Close the reader; a second close does nothing."""
        if self._open:
            self._before = self.records_read
            self._batch = 0
            self.pending = iter(())
            self.salvage = None
            self._open = False
            self._release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @abstractmethod
    def _fill(self) -> bool:
        """Pass the next batch to ``_deliver``; return False at the end of data."""

    def _release(self) -> None:
        """Close the file if the reader has one."""
        return

    def advance(self) -> bool:
        """Put the next batch of records into ``pending``; return False at the end of data."""
        if not self._open:
            raise DatasetNotOpen(self.path, "the data set is closed")
        self.salvage = None
        return self._fill()

    def _batches(self) -> Iterator[Iterator[bytes]]:
        yield self.pending
        while self.advance():
            yield self.pending

    def _deliver(self, records: Sequence[bytes], count: int) -> None:
        self._before = self.records_read
        self._batch = count
        self.pending = iter(records)
        self.salvage = None


class _FileReader(DatasetReader):
    """Base class of forward and backward readers of one file: the file, its size, the handling of damage."""

    def __init__(
        self, path: Path, file: RawFile, dcb: Dcb, eropt: ErrorOption, on_error: Callable[[BlockError], None] | None
    ) -> None:
        super().__init__(path, dcb)
        self._file = file
        self._size = os.fstat(file.fileno()).st_size
        self._eropt = eropt
        self._on_error = on_error
        room = max(min(dcb.blksize * dcb.bufno, limit("read_ahead_maximum")), limit("read_ahead_minimum"))
        self._unit = dcb.blksize or limit("block_maximum")
        # Whole blocks only: then fixed records never straddle two reads.
        self._chunk = room // self._unit * self._unit or self._unit

    def _release(self) -> None:
        self._file.close()

    def _read(self, offset: int, size: int) -> bytes:
        """Read ``size`` bytes at ``offset``; fewer only if the file has become shorter."""
        self._file.seek(offset)
        data = self._file.read(size) or b""
        while len(data) < size:
            more = self._file.read(size - len(data))
            if not more:
                break
            data += more
        return data

    def _report(self, damage: Damage, block: bytes, offset: int) -> bool:
        """Report damage according to EROPT. Return True if its contents are delivered."""
        self.blocks_in_error += 1
        error = BlockError(
            self.path,
            damage.problem,
            fault=damage.fault,
            block=block,
            skips=self._size - offset if damage.skips is None else damage.skips,
            record=self.records_read + 1,
            offset=offset,
        )
        if self._eropt is ErrorOption.ABE:
            self.salvage = damage.salvage
            raise error
        if self._on_error is not None:
            self._on_error(error)
        if self._eropt is ErrorOption.ACC and damage.salvage:
            self._deliver(damage.salvage, len(damage.salvage))
            return True
        return False


class ForwardReader(_FileReader):
    """TYPEFILE INPUT of one file."""

    def __init__(
        self, path: Path, file: RawFile, dcb: Dcb, eropt: ErrorOption, on_error: Callable[[BlockError], None] | None
    ) -> None:
        super().__init__(path, file, dcb, eropt, on_error)
        self._deblocker = deblocker_for(dcb)
        self._data = b""
        self._at = 0  # position in _data at which the next block begins
        self._base = 0  # offset of _data in the file
        self._hungry = True  # more bytes must be read before the next split
        self._final = False
        self._lost = 0  # bytes that existed at open but are missing now
        self._damage: Damage | None = None

    def skip(self, count: int, pause: Callable[[], object] | None = None) -> None:
        """See the base class. In a file of fixed-length records that has not been read yet, nothing is read."""
        if self.dcb.recfm in {RecordFormat.F, RecordFormat.FB} and not (self._base or self._data or self._final):
            self._before = min(count, self._size // self.dcb.lrecl)
            self._base = self._before * self.dcb.lrecl
            count -= self._before
        super().skip(count, pause)

    def _fill(self) -> bool:
        while True:
            damage = self._damage
            if damage is None and self._hungry:
                if self._final and not self._lost:
                    return False
                self._load()
                damage = self._damage
            if damage is not None:
                if self._pass_over(damage):
                    return True
                continue
            records, count, place, damage = self._deblocker.split(self._data, self._at, final=self._final)
            self._at, self._damage, self._hungry = place, damage, damage is None
            if count:
                self._deliver(records, count)
                return True

    def _load(self) -> None:
        """Read more bytes after those in the buffer; set ``_damage`` if the system cannot."""
        if self._final:
            problem = f"the data set became shorter while it was read: {self._lost} bytes are gone"
            self._lost, self._damage = 0, Damage(BlockFault.IO, problem, None)
            return
        unused = self._data[self._at :]
        self._base, self._at = self._base + self._at, 0
        begin = self._base + len(unused)
        wanted = min(self._chunk, self._size - begin)
        try:
            data = self._read(begin, wanted)
        except OSError as error:
            self._data = unused
            self._chunk = self._fail(error, min(self._unit, wanted), wanted)
            return
        self._data = unused + data if unused else data
        self._final = begin + len(data) >= self._size or len(data) < wanted
        if len(data) < wanted:
            # The loss is reported once, after everything before it has been delivered.
            self._lost, self._size = self._size - begin - len(data), begin + len(data)

    def _fail(self, error: OSError, unit: int, wanted: int) -> int:
        """Handle a failed read: the first time, try again with one block; if that fails, report the block."""
        if wanted > unit:
            return unit
        problem = f"cannot be read: {error.strerror or error}"
        fixed = self.dcb.recfm in {RecordFormat.F, RecordFormat.FB, RecordFormat.U}
        self._damage = Damage(BlockFault.IO, problem, unit if fixed else None)
        return self._chunk

    def _pass_over(self, damage: Damage) -> bool:
        """Move to the end of the damage, then report it."""
        offset = self._base + self._at
        if damage.fault is BlockFault.IO:
            offset += len(self._data) - self._at
            block = b""
            self._skip_unreadable(damage)
        else:
            size = len(self._data) - self._at if damage.skips is None else damage.skips
            block = self._data[self._at : self._at + min(size, _BLOCK_SHOWN)]
            self._skip(damage)
        self._damage = None
        self._deblocker.resume()
        return self._report(damage, block, offset)

    def _skip(self, damage: Damage) -> None:
        if damage.skips is None:
            self._end()
        else:
            self._at = min(self._at + damage.skips, len(self._data))
            self._hungry = False

    def _skip_unreadable(self, damage: Damage) -> None:
        if damage.skips is None:
            self._end()
            return
        self._base += len(self._data) + damage.skips
        self._data, self._at = b"", 0
        self._hungry = True
        self._final = self._base >= self._size

    def _end(self) -> None:
        self._data, self._at = b"", 0
        self._base = self._size
        self._hungry = self._final = True


class BackwardReader(_FileReader):
    """TYPEFILE RDBACK: F, FB and U from the last record to the first."""

    def __init__(
        self, path: Path, file: RawFile, dcb: Dcb, eropt: ErrorOption, on_error: Callable[[BlockError], None] | None
    ) -> None:
        super().__init__(path, file, dcb, eropt, on_error)
        self._end = self._size
        assert dcb.recfm is not None
        self._length = dcb.lrecl if dcb.recfm.fixed else dcb.blksize
        self._fixed = dcb.recfm.fixed

    def _fill(self) -> bool:
        while self._end:
            rest = self._end % self._length
            size = rest or min(self._chunk, self._end)
            begin = self._end - size
            data = self._read_back(begin, size)
            if data is None:
                continue
            self._end = begin
            if rest and self._fixed:
                problem = (
                    f"the data set ends with {size} bytes; every record of LRECL {self._length} needs {self._length}"
                )
                if self._report(Damage(BlockFault.LENGTH, problem, size, (data,)), data, begin):
                    return True
                continue
            records = [data[at : at + self._length] for at in range(0, size, self._length)][::-1]
            self._deliver(records, len(records))
            return True
        return False

    def _read_back(self, begin: int, size: int) -> bytes | None:
        """Return the bytes; None when damage has been reported and skipped, or a smaller read is to be tried."""
        try:
            data = self._read(begin, size)
            if len(data) == size:
                return data
            problem = "the data set became shorter while it was read"
        except OSError as error:
            if size > self._unit:
                self._chunk = self._unit
                return None
            problem = f"cannot be read: {error.strerror or error}"
        self._end = begin
        self._report(Damage(BlockFault.IO, problem, size), b"", begin)
        return None


class DummyReader(DatasetReader):
    """DUMMY: the first request returns the end of data."""

    def __init__(self, dcb: Dcb | None = None) -> None:
        super().__init__(Path("DUMMY"), dcb or Dcb())

    def _fill(self) -> bool:
        return False


class ConcatenatedReader(DatasetReader):
    """Several data sets, read one after the other as if they were one."""

    def __init__(self, openers: Sequence[Callable[[], DatasetReader]]) -> None:
        self._current = openers[0]()
        super().__init__(self._current.path, self._current.dcb)
        self._openers = list(openers[1:])
        self._errors_before = 0

    def _fill(self) -> bool:
        while True:
            current = self._current
            try:
                advanced = current.advance()
            except BlockError:
                self.salvage = current.salvage
                raise
            finally:
                self.blocks_in_error = self._errors_before + current.blocks_in_error
            if advanced:
                batch = list(current.pending)
                self._deliver(batch, len(batch))
                return True
            if not self._openers:
                return False
            self._errors_before = self.blocks_in_error
            current.close()
            self._current = self._openers.pop(0)()
            self.path, self.dcb = self._current.path, self._current.dcb

    def _release(self) -> None:
        self._current.close()


def open_reader(
    path: Path | str,
    dcb: Dcb,
    *,
    backward: bool = False,
    disposition: Disposition = Disposition.SHR,
    eropt: ErrorOption = ErrorOption.ABE,
    on_error: Callable[[BlockError], None] | None = None,
    locked: bool = True,
    check_words: bool = True,
    opener: Opener | None = None,
) -> DatasetReader:
    """Open a file for input.

    Args:
        path: the file.
        dcb: its known parameters; RECFM is required.
        backward: read from the last record to the first (TYPEFILE RDBACK).
        disposition: SHR shares the file with other readers; OLD and MOD open it exclusively.
        eropt: the action at damaged blocks.
        on_error: with SKP and ACC, called with the BlockError of each damaged block.
        locked: lock the file according to ``disposition``; False reads it even while it is open elsewhere.
        check_words: refuse F and FB if descriptor words chain from the beginning of the file to its end.
        opener: opens the file instead of the system's open; for tests that make I/O fail.

    Raises:
        DcbError: the data control block is incomplete, contradicts itself or the descriptor words in the file, or its
            format cannot be read backward.
        OpenError: the file is missing, not a regular file, or not permitted.
        DatasetInUse: it is open elsewhere in a way that excludes this.
    """
    path = Path(path)
    complete = dcb.checked(path)
    assert complete.recfm is not None
    if backward and not (complete.recfm.fixed or complete.recfm is RecordFormat.U):
        raise DcbError(path, f"RECFM={complete.recfm.value} cannot be read backward; RDBACK is for F, FB and U")
    if disposition is Disposition.NEW:
        raise OpenError(path, "DISP=NEW is for output; input is OLD, SHR or MOD")
    file = open_file(path, os.O_RDONLY, opener)
    if locked:
        lock(file, path, exclusive=disposition is not Disposition.SHR)
    if check_words and complete.recfm.fixed:
        try:
            _refuse_words(path, file, complete)
        except BaseException:
            file.close()
            raise
    kind = BackwardReader if backward else ForwardReader
    return kind(path, file, complete, eropt, on_error)


def _refuse_words(path: Path, file: RawFile, dcb: Dcb) -> None:
    """Refuse to read a file with descriptor words as fixed records, because every record would be wrong."""
    from tdqsim.datasets._detect import SAMPLE, format_by_words  # noqa: PLC0415  (slow to import; few files are read)

    assert dcb.recfm is not None
    try:
        head = file.read(SAMPLE) or b""
    except OSError:
        return  # the first GET fails in the same way, and is handled according to EROPT
    words = format_by_words(head, whole=len(head) >= os.fstat(file.fileno()).st_size, lrecl=dcb.lrecl)
    if words is not None and words.dcb is not None:
        raise DcbError(
            path,
            f"RECFM={dcb.recfm.value}, but descriptor words chain through the file as in {words.dcb.text}: give that, "
            "or, if the records only look so, detect: NO for a DD card (check_words=False in Python)",
        )
