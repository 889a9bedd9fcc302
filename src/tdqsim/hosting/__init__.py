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

Public are the engine (``Engine``), whose dispatcher and clock are those of :mod:`tdqsim`, and code pages (``codepage``,
``CodePage``). The other names serve the extensions of this repository and may change in any version: tasks that wait
(``Fiber``, ``WaitQueue``, ``WAIT``); what a region or a job keeps private (``RegionInternals``, ``JobInternals``);
stores (``StoredRegion``, ``BorrowedStore``); other processes (``Transport``, ``MessageFrame``, ``Address``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tdqsim.lazy import lazy_names

if TYPE_CHECKING:
    from tdqsim.cics.internals import RegionInternals as RegionInternals
    from tdqsim.cics.queues.offline import StoredRegion as StoredRegion
    from tdqsim.cics.ship.network import FarLink as FarLink
    from tdqsim.core.capitals import capitals as capitals
    from tdqsim.core.clock import NS_PER_SECOND as NS_PER_SECOND
    from tdqsim.core.codepage import CodePage, codepage
    from tdqsim.core.codepage import shown_bytes as shown_bytes
    from tdqsim.core.control import Address as Address
    from tdqsim.core.engine import Engine, EngineStopped
    from tdqsim.core.fiber import WAIT as WAIT
    from tdqsim.core.fiber import Fiber as Fiber
    from tdqsim.core.fiber import WaitQueue as WaitQueue
    from tdqsim.core.hexadecimal import hex_bytes as hex_bytes
    from tdqsim.core.messages import FrameDecoder as FrameDecoder
    from tdqsim.core.messages import MessageFrame as MessageFrame
    from tdqsim.core.own_frames import discards_errors as discards_errors
    from tdqsim.core.portable import OWN_FILE as OWN_FILE
    from tdqsim.core.portable import FileLock as FileLock
    from tdqsim.core.portable import alive as alive
    from tdqsim.core.portable import read_at as read_at
    from tdqsim.core.process import run_program as run_program
    from tdqsim.core.product_faults import product_fault as product_fault
    from tdqsim.core.spelling import did_you_mean as did_you_mean
    from tdqsim.core.store import BorrowedStore as BorrowedStore
    from tdqsim.core.store import Entry as Entry
    from tdqsim.core.transport import LinkDown as LinkDown
    from tdqsim.core.transport import Transport as Transport
    from tdqsim.ibmi.internals import JobInternals as JobInternals

# Names that are imported as themselves are for other packages of this repository, without a promise.
__all__ = [
    "CodePage",
    "Engine",
    "EngineStopped",
    "codepage",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "tdqsim.cics.internals": ("RegionInternals",),
        "tdqsim.cics.queues.offline": ("StoredRegion",),
        "tdqsim.cics.ship.network": ("FarLink",),
        "tdqsim.core.capitals": ("capitals",),
        "tdqsim.core.clock": ("NS_PER_SECOND",),
        "tdqsim.core.codepage": ("CodePage", "codepage", "shown_bytes"),
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
        "tdqsim.ibmi.internals": ("JobInternals",),
    },
)
