"""Regions and systems in a process of yours: the engine, stores, transports, code pages, processes.

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

The names by their purpose: the engine (``Engine``), whose dispatcher and clock are those of :mod:`tdqsim`; tasks that
wait (``Fiber``, ``WaitQueue``, ``WAIT``); what a region keeps private (``RegionInternals``); stores
(``StoredRegion``, ``BorrowedStore``); other processes (``Transport``, ``MessageFrame``, ``Address``); code pages
(``codepage``, ``CodePage``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tdqsim.lazy import lazy_names

if TYPE_CHECKING:
    from tdqsim.cics.internals import RegionInternals
    from tdqsim.cics.queues.offline import StoredRegion
    from tdqsim.cics.ship.network import FarLink
    from tdqsim.core.capitals import capitals
    from tdqsim.core.clock import NS_PER_SECOND
    from tdqsim.core.codepage import CodePage, codepage
    from tdqsim.core.control import Address
    from tdqsim.core.engine import Engine, EngineStopped
    from tdqsim.core.fiber import WAIT, Fiber, WaitQueue
    from tdqsim.core.hexadecimal import hex_bytes
    from tdqsim.core.messages import FrameDecoder, MessageFrame
    from tdqsim.core.own_frames import discards_errors
    from tdqsim.core.portable import OWN_FILE, FileLock, alive, read_at
    from tdqsim.core.process import run_program
    from tdqsim.core.product_faults import product_fault
    from tdqsim.core.spelling import did_you_mean
    from tdqsim.core.store import BorrowedStore, Entry
    from tdqsim.core.transport import LinkDown, Transport

__all__ = [
    "NS_PER_SECOND",
    "OWN_FILE",
    "WAIT",
    "Address",
    "BorrowedStore",
    "CodePage",
    "Engine",
    "EngineStopped",
    "Entry",
    "FarLink",
    "Fiber",
    "FileLock",
    "FrameDecoder",
    "LinkDown",
    "MessageFrame",
    "RegionInternals",
    "StoredRegion",
    "Transport",
    "WaitQueue",
    "alive",
    "capitals",
    "codepage",
    "did_you_mean",
    "discards_errors",
    "hex_bytes",
    "product_fault",
    "read_at",
    "run_program",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "tdqsim.cics.internals": ("RegionInternals",),
        "tdqsim.cics.queues.offline": ("StoredRegion",),
        "tdqsim.cics.ship.network": ("FarLink",),
        "tdqsim.core.capitals": ("capitals",),
        "tdqsim.core.clock": ("NS_PER_SECOND",),
        "tdqsim.core.codepage": ("CodePage", "codepage"),
        "tdqsim.core.control": ("Address",),
        "tdqsim.core.engine": ("Engine", "EngineStopped"),
        "tdqsim.core.hexadecimal": ("hex_bytes",),
        "tdqsim.core.messages": ("FrameDecoder", "MessageFrame"),
        "tdqsim.core.own_frames": ("discards_errors",),
        "tdqsim.core.portable": ("OWN_FILE", "FileLock", "alive", "read_at"),
        "tdqsim.core.process": ("run_program",),
        "tdqsim.core.product_faults": ("product_fault",),
        "tdqsim.core.spelling": ("did_you_mean",),
        "tdqsim.core.store": ("BorrowedStore", "Entry"),
        "tdqsim.core.fiber": ("WAIT", "Fiber", "WaitQueue"),
        "tdqsim.core.transport": ("LinkDown", "Transport"),
    },
)
