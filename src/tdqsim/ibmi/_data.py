"""The data of a system and of a job that the parts of both work with, and what keeps it consistent.

Locks, waits, journals and data queues know a job as :class:`JobData` and a system as :class:`SystemData`; neither calls
anything above itself. :class:`~tdqsim.ibmi._job_core.JobCore` and :class:`~tdqsim.ibmi._system_core.SystemCore` add
the parts, and the public :class:`~tdqsim.ibmi.Job` and :class:`~tdqsim.ibmi.System` each hold a core.

A job keeps a dictionary in front of its look-ups, from the name of a data queue to the queue. The system clears all of
them whenever an object comes, goes or moves, or an authority changes. So an entry that is there is valid.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from tdqsim.core.changes import KeptChange, carry_out
from tdqsim.core.clock import Clock, time_zone
from tdqsim.core.codepage import CodePage, codepage
from tdqsim.core.dispatch import Dispatcher, Strand
from tdqsim.core.store import Store, Work
from tdqsim.errors import SystemClosed
from tdqsim.ibmi._dts import offset_seconds
from tdqsim.ibmi._errors import JobEnded
from tdqsim.ibmi._fact_tables import LIMITS
from tdqsim.ibmi._recorder import SystemRecorder

if TYPE_CHECKING:
    from tdqsim.ibmi._objects import SystemObject

__all__ = ["JobData", "SystemData", "job_page"]


def job_page(ccsid: int) -> CodePage:
    """The code page of a job's CCSID. 65535 means no conversion; the page is that of the default CCSID then.

    Raises:
        ConversionError: there is no such CCSID.
    """
    return codepage(LIMITS["default_ccsid"] if ccsid == LIMITS["no_conversion_ccsid"] else ccsid)


class _ObjectChange(KeptChange):
    """A change of objects: what makes it in memory, and what follows. Either may be repeated after an interrupt."""

    def __init__(self, make: Callable[[], object], then: Callable[[], object]) -> None:
        self._make, self._then = make, then

    def committed(self) -> None:
        """See the base."""
        self.made = True
        self._make()

    def finish(self) -> None:
        """See the base."""
        self._then()


class SystemData:
    """A system without its parts.

    Attributes:
        name: its name, for messages.
        store: where its objects and entries are kept.
        dispatcher: runs its jobs.
        clock: the dispatcher's clock.
        timezone: *DTS and QWCCVTDT show local time.
        ccsid: CCSID of its jobs, unless they have another.
        date_format: QDATFMT.
        readonly: nothing can be changed.
        closed: no further commands are accepted.
        failed: it was closed as if its process had ended: nothing more reaches the store.
        recorder: records what happens; None for none.
    """

    __slots__ = (
        "_clear_places", "_utc", "ccsid", "clock", "closed", "date_format", "dispatcher", "failed", "name", "readonly",
        "recorder", "store", "timezone",
    )  # fmt: skip

    def __init__(
        self, name: str, store: Store, dispatcher: Dispatcher, *, timezone: str, ccsid: int, readonly: bool
    ) -> None:
        self.name = name
        self.store = store
        self.dispatcher = dispatcher
        self.clock: Clock = dispatcher.clock
        self.timezone = time_zone(timezone)
        self._utc = timezone == "UTC"
        self.ccsid = ccsid
        self.date_format = "*YMD"
        self.readonly = readonly
        self.closed = self.failed = False
        self.recorder: SystemRecorder | None = None
        self._clear_places: dict[int, Callable[[], None]] = {}

    def check_open(self) -> None:
        """Refuse calls from another thread, and any call after the system is closed."""
        self.dispatcher.check_thread()
        if self.closed:
            raise SystemClosed(f"system {self.name} is closed")

    def offset_at(self, moment_ns: int) -> int:
        """Seconds that local time is ahead of UTC at a moment."""
        return 0 if self._utc else offset_seconds(moment_ns, self.timezone)

    def note(
        self, operation: str, job: JobData | None, queue: SystemObject | None = None, data: bytes = b"",
        key: bytes = b"", /, **info: object,
    ) -> None:  # fmt: skip
        """Record what a job has done, if there is a recorder; None stands for no job in particular."""
        if self.recorder is not None:
            who = job.qualified_name if job is not None else ""
            place = queue.qualified if queue is not None else ""
            self.recorder.trace((operation, who, place, data, self.clock.time_ns(), key, "", info))

    def carry_out(
        self, make: Callable[[], object], meta: Mapping[bytes, bytes | None], works: Sequence[Work] = (),
        then: Callable[[], object] | None = None,
    ) -> None:  # fmt: skip
        """Commit a change of the catalogue, then make it in memory.

        Args:
            make: makes the change in memory; may be repeated.
            meta: records of the catalogue.
            works: other changes of the store, in the same commit.
            then: what follows; may be repeated. Unless given, remembered places are forgotten.
        """
        carry_out(self.store.durable, _ObjectChange(make, then or self.forget_places), meta, works)

    def clear_on_change(self, places: object, clear: Callable[[], None]) -> None:
        """Have a job's dictionary of places cleared at the next change of objects or authorities."""
        self._clear_places[id(places)] = clear

    def forget_places(self) -> None:
        """Clear the places that jobs remember."""
        for clear in self._clear_places.values():
            clear()
        self._clear_places.clear()


class JobData:
    """A job without its parts.

    Attributes:
        system: the system that it runs on.
        dispatcher, clock: the system's.
        name: job name.
        user: its user profile.
        number: six digits that distinguish it from active jobs of the same name and user.
        qualified_name: ``number/user/name``.
        current_user: the profile it runs under now; sender IDs and authority go by it.
        page: the code page of its CCSID.
        run_priority: 1 to 99, the lowest number is served first.
        strand: where it runs; None for a job that the program outside uses.
        ended: no further commands are accepted.
    """

    __slots__ = (
        "clock", "current_user", "dispatcher", "ended", "name", "number", "page", "qualified_name", "run_priority",
        "strand", "system", "user",
    )  # fmt: skip

    def __init__(
        self, system: SystemData, name: str, user: str, number: str, page: CodePage, run_priority: int
    ) -> None:
        self.system = system
        self.dispatcher, self.clock = system.dispatcher, system.clock
        self.name, self.user, self.number = name, user, number
        self.qualified_name = f"{number}/{user}/{name}"
        self.current_user = user
        self.page = page
        self.run_priority = run_priority
        self.strand: Strand | None = None
        self.ended = False

    def check_usable(self) -> None:
        """Refuse calls from another thread, and any call after the job has ended or the system is closed."""
        self.system.check_open()
        if self.ended:
            raise JobEnded(f"job {self.qualified_name} has ended")

    def note(
        self, operation: str, queue: SystemObject | None = None, data: bytes = b"", key: bytes = b"", /, **info: object
    ) -> None:
        """Record what this job has done, if the system has a recorder."""
        self.system.note(operation, self, queue, data, key, **info)
