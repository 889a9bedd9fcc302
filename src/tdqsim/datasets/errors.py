"""The errors of data sets. Each names the file, and the record and offset where they are known."""

from __future__ import annotations

from enum import Enum
from pathlib import Path

from tdqsim.errors import DatasetError


class DatasetFault(DatasetError):
    """Base class of the errors of ``tdqsim.datasets``.

    Attributes:
        path: the file (or the DD or DSNAME if the file is not known yet), as text.
        record: number of the record concerned, from 1, or None.
        offset: byte offset in the file, from 0, or None.
        problem: what is wrong and what is allowed, without path, record and offset.
    """

    def __init__(self, path: Path | str, problem: str, *, record: int | None = None, offset: int | None = None) -> None:
        self.path = str(path)
        self.problem = problem
        self.record = record
        self.offset = offset
        parts = [self.path]
        if record is not None:
            parts.append(f"record {record}")
        if offset is not None:
            parts.append(f"offset {offset}")
        super().__init__(f"{', '.join(parts)}: {problem}")


class OpenError(DatasetFault):
    """The data set cannot be opened as requested; nothing was changed. In CICS: IOERR on SET OPEN."""


class DcbError(OpenError):
    """RECFM, LRECL and BLKSIZE contradict each other, or do not fit the data set."""


class DatasetInUse(OpenError):
    """The data set or the DD is already open in a way that excludes this open."""


class DsnameError(DatasetFault):
    """The text is not a data set name, or the data set cannot be found."""


class DatasetNotOpen(DatasetFault):
    """The reader or writer is closed."""


class RecordError(DatasetFault):
    """A record cannot be written because of its length or content; nothing was written. In CICS: LENGERR."""


class DatasetIOError(DatasetFault):
    """A write failed in the operating system for a reason other than space; the data set is unchanged."""


class SpaceExhausted(DatasetFault):
    """There is no space for the record: the x37 abends. The record was not written; earlier records are kept.

    Attributes:
        code: ``D37`` (primary space used up, no secondary), ``B37`` (all extents or the disk used up) or ``E37``
            (the same in a partitioned data set).
    """

    def __init__(self, path: Path | str, problem: str, *, code: str, record: int | None = None) -> None:
        self.code = code
        super().__init__(path, f"{code}: {problem}", record=record)


class BlockFault(Enum):
    """What is wrong with a block."""

    LENGTH = "LENGTH"  #: fixed: the last block is no multiple of LRECL; or a block longer than BLKSIZE
    BDW = "BDW"  #: the block descriptor word is not valid
    RDW = "RDW"  #: a record descriptor word is not valid
    SEGMENT = "SEGMENT"  #: the segments of a spanned record do not fit together
    TRUNCATED = "TRUNCATED"  #: the data set ends inside a block or record
    LINE = "LINE"  #: a line longer than allowed
    IO = "IO"  #: the operating system could not read


class BlockError(DatasetFault):
    """A block is damaged. Reading can continue: the reader is positioned after the damage.

    The next ``get()`` of the reader that raised it continues after the damage (ERROROPTION SKIP); after
    ``accept_block()`` it first delivers the contents of the damaged part (ERROROPTION IGNORE).

    Attributes:
        fault: what is wrong.
        block: the bytes from the beginning of the damage, at most one block; empty when they could not be read.
        skips: the number of bytes that are skipped with the damage.
    """

    def __init__(
        self, path: Path | str, problem: str, *, fault: BlockFault, block: bytes, skips: int, record: int, offset: int
    ) -> None:
        self.fault = fault
        self.block = block
        self.skips = skips
        super().__init__(path, problem, record=record, offset=offset)
