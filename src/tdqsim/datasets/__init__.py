"""Sequential data sets: record formats, blocking, DD names, print control, SYSOUT and the internal reader.

This package deals with files and records and does not depend on queues. It has two entry points: :class:`Allocation`
for a DD or DSNAME, with everything that z/OS does at open, and :func:`open_reader` and :func:`open_writer` for a plain
file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tdqsim.lazy import lazy_names

if TYPE_CHECKING:
    from tdqsim.datasets._detect import (
        Confidence,
        Detection,
        FoundFormat,
        damaged_blocks,
        detect,
        fixed_blocks_in,
        format_by_words,
        formats_in,
        looks_ebcdic,
    )
    from tdqsim.datasets.allocation import Allocation, DDCard, DDTable, Spooling
    from tdqsim.datasets.bulk import convert, convert_records, read_records, write_records
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
    from tdqsim.datasets.intrdr import InternalReader
    from tdqsim.datasets.jobs import JobLog, SubmittedJob
    from tdqsim.datasets.printing import render, render_asa, render_machine
    from tdqsim.datasets.reader import ConcatenatedReader, DatasetReader, DummyReader, open_reader
    from tdqsim.datasets.space import Space, SpaceUnit, parse_space
    from tdqsim.datasets.spool import SysoutDataset, SysoutSpool
    from tdqsim.datasets.workdir import output_directory
    from tdqsim.datasets.writer import DatasetWriter, DummyWriter, open_writer

__all__ = [
    "Allocation",
    "BlockError",
    "BlockFault",
    "ConcatenatedReader",
    "Confidence",
    "DDCard",
    "DDTable",
    "DataSetDirectory",
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
    "DummyReader",
    "DummyWriter",
    "ErrorOption",
    "FoundFormat",
    "InternalReader",
    "JobLog",
    "OpenError",
    "PrintControl",
    "RecordError",
    "RecordFormat",
    "Space",
    "SpaceExhausted",
    "SpaceUnit",
    "Spooling",
    "SubmittedJob",
    "SysoutDataset",
    "SysoutSpool",
    "convert",
    "convert_records",
    "damaged_blocks",
    "detect",
    "fixed_blocks_in",
    "format_by_words",
    "formats_in",
    "looks_ebcdic",
    "open_reader",
    "open_writer",
    "output_directory",
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
        ".reader": ("ConcatenatedReader", "DatasetReader", "DummyReader", "open_reader"),
        ".space": ("Space", "SpaceUnit", "parse_space"),
        ".spool": ("SysoutDataset", "SysoutSpool"),
        ".writer": ("DatasetWriter", "DummyWriter", "open_writer"),
        ".workdir": ("output_directory",),
    },
)
