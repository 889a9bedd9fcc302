"""What a server or a reader of stores needs of a job in addition to its commands.

The object of a job that users hold has the commands only, so that it shows nothing else. :class:`JobInternals` is the
interface for the extensions of this repository, as ``TaskInternals`` and ``RegionInternals`` are for CICS.
"""

from __future__ import annotations

from collections.abc import Iterable

from tdqsim.core.store import Entry
from tdqsim.ibmi.describe import describe
from tdqsim.ibmi.job import Job
from tdqsim.ibmi.layouts import layout
from tdqsim.ibmi.queue import DataQueue
from tdqsim.ibmi.records import RDQD0100


class JobInternals:
    """A job without the conversions of its commands.

    Args:
        job: the job.
    """

    __slots__ = ("_core",)

    def __init__(self, job: Job) -> None:
        self._core = job._core

    def check_names(self, name: str, library: str) -> None:
        """Refuse names that no object can have, for an API that does not convert the names in a program's bytes.

        Raises:
            EscapeMessage: CPF9810 the library's name is not valid, or blank; CPF9801 the queue's name is not valid.
        """
        self._core.check_names(name, library)

    def describe(self, name: str, library: str) -> RDQD0100:
        """The description of a data queue as QMHQRDQD returns it, but the job remembers neither address nor authority.

        Args:
            name: the queue's name.
            library: its library, ``*LIBL`` or ``*CURLIB``.

        Raises:
            EscapeMessage: as for QMHQRDQD.
        """
        core = self._core
        core.check_usable()
        form = layout("RDQD0100")
        data = describe(core, name, library, form.name, form.length, remember=False)
        core.give_turn()
        return RDQD0100(**form.parse(data, core.page))

    def is_immediate(self, name: str, library: str) -> bool:
        """Whether a send, or a receive without a wait time, neither waits nor commits, so that it needs no fiber.

        Args:
            name: the queue's name in upper case, as the job has used it before.
            library: its library, likewise.
        """
        place = name, library
        queue = self._core.sending.get(place) or self._core.receiving.get(place)
        return queue is not None and not queue.forced and not queue.journal

    def take_entries(self, queue: DataQueue, entries: Iterable[Entry]) -> int:
        """Remove the given entries from a standard data queue, journaled as receives of the job; returns how many."""
        core = self._core
        core.check_usable()
        removed = 0
        for entry in entries:
            queue.stored.take_promised(entry, lambda taken: core.received(queue, taken), {})
            removed += 1
        if removed:
            queue.reclaim_if_empty(core.system.clock.time_ns())
        return removed
