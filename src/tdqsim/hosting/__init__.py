"""Regions and systems in a process of yours: the engine, the clock, stores, transports, code pages, processes.

A process that hosts regions has one :class:`Engine`: the thread that owns the dispatcher of its regions and systems.
Other threads give it work by ``submit`` and get a future. Requests to regions of other processes are
:class:`MessageFrame` values over a :class:`Transport`::

    from tdqsim import Region, define_tdqueue
    from tdqsim.hosting import Engine

    with Engine() as engine:
        queue = define_tdqueue(name="PAYQ", type="INTRA")
        region = engine.submit(lambda: Region([queue], dispatcher=engine.dispatcher)).result()
        engine.submit(lambda: region.writeq_td("PAYQ", b"x")).result()
        print(engine.submit(lambda: len(region.peek("PAYQ"))).result())  # 1
        engine.submit(region.close).result()

The names by their purpose: the engine and its clock (``Engine``, ``Dispatcher``, ``Clock``); tasks that wait
(``Strand``, ``WaitQueue``, ``WAIT``, ``Timer``, ``TimedOut``); stores (``Store``, ``BorrowedStore``, ``StoredRegion``);
other processes (``Transport``, ``MessageFrame``, ``Address``, ``announce``); code pages (``codepage``, ``CodePage``);
operator's requests as text (``parse_cemt``, ``cemt``, ``session`` of CECI).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tdqsim.lazy import lazy_names

if TYPE_CHECKING:
    from tdqsim.cics.internals import core_of
    from tdqsim.cics.kernel.dumps import COMMANDS_KEPT, CommandRecorder
    from tdqsim.cics.kernel.machine import why_not_told_apart
    from tdqsim.cics.look.explain_requests import doubt
    from tdqsim.cics.look.records import records
    from tdqsim.cics.queues.offline import Half, StoredRegion
    from tdqsim.cics.region_arguments import from_region_file
    from tdqsim.cics.ship.network import FarLink
    from tdqsim.cics.spi.statistics_report import columns_of, sections_of
    from tdqsim.cics.text.ceci import CeciResult, session
    from tdqsim.cics.text.cemt import cemt
    from tdqsim.cics.text.cemt_request import CemtError, CemtRequest, parse_cemt
    from tdqsim.core.capitals import capitals
    from tdqsim.core.clock import NS_PER_SECOND, Clock
    from tdqsim.core.codepage import CodePage, codepage
    from tdqsim.core.control import Address, announce, control_folder, find, withdraw
    from tdqsim.core.dispatch import Dispatcher
    from tdqsim.core.engine import CallCancelled, Engine, EngineStopped
    from tdqsim.core.hexadecimal import hex_bytes
    from tdqsim.core.messages import FrameDecoder, Kinds, MessageError, MessageFrame, encode
    from tdqsim.core.notices import own_lines
    from tdqsim.core.own_frames import is_own_frame
    from tdqsim.core.portable import OWN_FILE, FileLock, alive, read_at
    from tdqsim.core.process import run_program
    from tdqsim.core.product_faults import product_fault
    from tdqsim.core.spelling import close_names, did_you_mean
    from tdqsim.core.store import BorrowedStore, Entry, Store
    from tdqsim.core.strand import WAIT, Strand, TimedOut, Timer, WaitMark, WaitQueue
    from tdqsim.core.transport import LinkDown, Transport

__all__ = [
    "COMMANDS_KEPT",
    "NS_PER_SECOND",
    "OWN_FILE",
    "WAIT",
    "Address",
    "BorrowedStore",
    "CallCancelled",
    "CeciResult",
    "CemtError",
    "CemtRequest",
    "Clock",
    "CodePage",
    "CommandRecorder",
    "Dispatcher",
    "Engine",
    "EngineStopped",
    "Entry",
    "FarLink",
    "FileLock",
    "FrameDecoder",
    "Half",
    "Kinds",
    "LinkDown",
    "MessageError",
    "MessageFrame",
    "Store",
    "StoredRegion",
    "Strand",
    "TimedOut",
    "Timer",
    "Transport",
    "WaitMark",
    "WaitQueue",
    "alive",
    "announce",
    "capitals",
    "cemt",
    "close_names",
    "codepage",
    "columns_of",
    "control_folder",
    "core_of",
    "did_you_mean",
    "doubt",
    "encode",
    "find",
    "from_region_file",
    "hex_bytes",
    "is_own_frame",
    "own_lines",
    "parse_cemt",
    "product_fault",
    "read_at",
    "records",
    "run_program",
    "sections_of",
    "session",
    "why_not_told_apart",
    "withdraw",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "tdqsim.cics.internals": ("core_of",),
        "tdqsim.cics.kernel.dumps": (
            "COMMANDS_KEPT",
            "CommandRecorder",
        ),
        "tdqsim.cics.kernel.machine": ("why_not_told_apart",),
        "tdqsim.cics.look.explain_requests": ("doubt",),
        "tdqsim.cics.look.records": ("records",),
        "tdqsim.cics.queues.offline": (
            "Half",
            "StoredRegion",
        ),
        "tdqsim.cics.region_arguments": ("from_region_file",),
        "tdqsim.cics.ship.network": ("FarLink",),
        "tdqsim.cics.spi.statistics_report": (
            "columns_of",
            "sections_of",
        ),
        "tdqsim.cics.text.ceci": (
            "CeciResult",
            "session",
        ),
        "tdqsim.cics.text.cemt": ("cemt",),
        "tdqsim.cics.text.cemt_request": (
            "CemtError",
            "CemtRequest",
            "parse_cemt",
        ),
        "tdqsim.core.capitals": ("capitals",),
        "tdqsim.core.clock": (
            "Clock",
            "NS_PER_SECOND",
        ),
        "tdqsim.core.codepage": (
            "CodePage",
            "codepage",
        ),
        "tdqsim.core.control": (
            "Address",
            "announce",
            "control_folder",
            "find",
            "withdraw",
        ),
        "tdqsim.core.dispatch": ("Dispatcher",),
        "tdqsim.core.engine": (
            "CallCancelled",
            "Engine",
            "EngineStopped",
        ),
        "tdqsim.core.hexadecimal": ("hex_bytes",),
        "tdqsim.core.messages": (
            "FrameDecoder",
            "Kinds",
            "MessageError",
            "MessageFrame",
            "encode",
        ),
        "tdqsim.core.notices": ("own_lines",),
        "tdqsim.core.own_frames": ("is_own_frame",),
        "tdqsim.core.portable": (
            "FileLock",
            "OWN_FILE",
            "alive",
            "read_at",
        ),
        "tdqsim.core.process": ("run_program",),
        "tdqsim.core.product_faults": ("product_fault",),
        "tdqsim.core.spelling": (
            "close_names",
            "did_you_mean",
        ),
        "tdqsim.core.store": (
            "BorrowedStore",
            "Entry",
            "Store",
        ),
        "tdqsim.core.strand": (
            "Strand",
            "TimedOut",
            "Timer",
            "WAIT",
            "WaitMark",
            "WaitQueue",
        ),
        "tdqsim.core.transport": (
            "LinkDown",
            "Transport",
        ),
    },
)
