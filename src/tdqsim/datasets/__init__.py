"""Sequential data sets: record formats, blocking, DD names, print control, SYSOUT and the internal reader.

This package deals with files and records and does not depend on queues. It has two entry points: :class:`Allocation`
for a DD or DSNAME, with everything that z/OS does at open, and :func:`open_reader` and :func:`open_writer` for a plain
file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tdqsim.lazy import lazy_names

if TYPE_CHECKING:
    from tdqsim.datasets._detect import Confidence as Confidence
    from tdqsim.datasets._detect import (
        Detection,
        detect,
    )
    from tdqsim.datasets._detect import FoundFormat as FoundFormat
    from tdqsim.datasets._detect import damaged_blocks as damaged_blocks
    from tdqsim.datasets._detect import fixed_blocks_in as fixed_blocks_in
    from tdqsim.datasets._detect import format_by_words as format_by_words
    from tdqsim.datasets._detect import formats_in as formats_in
    from tdqsim.datasets._detect import looks_ebcdic as looks_ebcdic
    from tdqsim.datasets.allocation import Allocation as Allocation
    from tdqsim.datasets.allocation import DDCard
    from tdqsim.datasets.allocation import DDTable as DDTable
    from tdqsim.datasets.allocation import Spooling as Spooling
    from tdqsim.datasets.bulk import convert, convert_records, read_records, write_records
    from tdqsim.datasets.dcb import Dcb, Disposition, ErrorOption, PrintControl, RecordFormat, parse_dcb, parse_recfm
    from tdqsim.datasets.dsname import DataSetDirectory as DataSetDirectory
    from tdqsim.datasets.dsname import DsName, parse_dsname
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
    from tdqsim.datasets.intrdr import InternalReader as InternalReader
    from tdqsim.datasets.jobs import JobLog, SubmittedJob
    from tdqsim.datasets.printing import render, render_asa, render_machine
    from tdqsim.datasets.reader import (
        DatasetReader,
        open_reader,
    )
    from tdqsim.datasets.space import Space, SpaceUnit, parse_space
    from tdqsim.datasets.spool import SysoutDataset, SysoutSpool
    from tdqsim.datasets.workdir import output_directory as output_directory
    from tdqsim.datasets.writer import DatasetWriter, open_writer
    from tdqsim.datasets.writer import DummyWriter as DummyWriter

# Names that are imported as themselves are for other packages of this repository, without a promise.
__all__ = [
    "BlockError",
    "BlockFault",
    "DDCard",
    "DatasetFault",
    "DatasetIOError",
    "DatasetInUse",
    "DatasetNotOpen",
    "DatasetReader",
    "DatasetWriter",
    "Dcb",
    "DcbError",
    "Detection",
    "Disposition",
    "DsName",
    "DsnameError",
    "ErrorOption",
    "JobLog",
    "OpenError",
    "PrintControl",
    "RecordError",
    "RecordFormat",
    "Space",
    "SpaceExhausted",
    "SpaceUnit",
    "SubmittedJob",
    "SysoutDataset",
    "SysoutSpool",
    "convert",
    "convert_records",
    "detect",
    "open_reader",
    "open_writer",
    "parse_dcb",
    "parse_dsname",
    "parse_recfm",
    "parse_space",
    "read_records",
    "render",
    "render_asa",
    "render_machine",
    "write_records",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        ".allocation": ("Allocation", "DDCard", "DDTable", "Spooling"),
        ".bulk": ("convert", "convert_records", "read_records", "write_records"),
        ".dcb": ("Dcb", "Disposition", "ErrorOption", "PrintControl", "RecordFormat", "parse_dcb", "parse_recfm"),
        "._detect": (
            "Confidence",
            "Detection",
            "FoundFormat",
            "detect",
            "damaged_blocks",
            "fixed_blocks_in",
            "format_by_words",
            "formats_in",
            "looks_ebcdic",
        ),
        ".dsname": ("DataSetDirectory", "DsName", "parse_dsname"),
        ".errors": (
            "BlockError",
            "BlockFault",
            "DatasetFault",
            "DatasetInUse",
            "DatasetIOError",
            "DatasetNotOpen",
            "DcbError",
            "DsnameError",
            "OpenError",
            "RecordError",
            "SpaceExhausted",
        ),
        ".intrdr": ("InternalReader",),
        ".jobs": ("JobLog", "SubmittedJob"),
        ".printing": ("render", "render_asa", "render_machine"),
        ".reader": ("DatasetReader", "open_reader"),
        ".space": ("Space", "SpaceUnit", "parse_space"),
        ".spool": ("SysoutDataset", "SysoutSpool"),
        ".writer": ("DatasetWriter", "DummyWriter", "open_writer"),
        ".workdir": ("output_directory",),
    },
)
