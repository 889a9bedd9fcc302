"""Sequential data sets: record formats, blocking, DD names, print control, SYSOUT and the internal reader.

This room knows files and records, and nothing of queues. Two ways in: :class:`Allocation` for a DD or DSNAME with
everything z/OS does at open, and :func:`open_reader`, :func:`open_writer` for a plain file.
"""

from __future__ import annotations

from tdqsim.datasets.dcb import Dcb, Disposition, ErrorOption, PrintControl, RecordFormat, parse_dcb, parse_recfm
from tdqsim.datasets.dsname import DataSetDirectory, DsName, parse_dsname
from tdqsim.datasets.errors import (
    BlockError,
    BlockFault,
    DatasetFault,
    DatasetInUse,
    DatasetIOError,
    DatasetNotOpen,
    DcbError,
    DsnameError,
    OpenError,
    RecordError,
    SpaceExhausted,
)
from tdqsim.datasets.reader import ConcatenatedReader, DatasetReader, DummyReader, open_reader
from tdqsim.datasets.space import Space, SpaceUnit, parse_space
from tdqsim.datasets.writer import DatasetWriter, DummyWriter, open_writer

__all__ = [
    "BlockError",
    "BlockFault",
    "ConcatenatedReader",
    "DataSetDirectory",
    "DatasetFault",
    "DatasetIOError",
    "DatasetInUse",
    "DatasetNotOpen",
    "DatasetReader",
    "DatasetWriter",
    "Dcb",
    "DcbError",
    "Disposition",
    "DsName",
    "DsnameError",
    "DummyReader",
    "DummyWriter",
    "ErrorOption",
    "OpenError",
    "PrintControl",
    "RecordError",
    "RecordFormat",
    "Space",
    "SpaceExhausted",
    "SpaceUnit",
    "open_reader",
    "open_writer",
    "parse_dcb",
    "parse_dsname",
    "parse_recfm",
    "parse_space",
]
