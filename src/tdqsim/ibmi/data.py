"""The data of a system and of a job that all parts use, with the code that keeps it consistent.

Locks, waits, journals and data queues use a job as :class:`JobData` and a system as :class:`SystemData`, which call
nothing in higher modules. :class:`~tdqsim.ibmi.job_core.JobCore` and :class:`~tdqsim.ibmi.system_core.SystemCore` add
the parts, and the public :class:`~tdqsim.ibmi.Job` and :class:`~tdqsim.ibmi.System` each hold a core.

A job caches its look-ups in a dictionary from the name of a data queue to the queue. The system clears all these caches
whenever an object is created, deleted or moved, or an authority changes. So an entry of a cache is always valid.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from tdqsim.core.changes import KeptChange, carry_out
from tdqsim.core.clock import Clock, time_zone
from tdqsim.core.codepage import CodePage, codepage
from tdqsim.core.dispatch import Dispatcher
from tdqsim.core.fiber import Fiber
from tdqsim.core.notices import Notices
from tdqsim.core.store import Store, Work
from tdqsim.errors import SystemClosed
from tdqsim.facts import notice_words
from tdqsim.ibmi.dts import offset_seconds
from tdqsim.ibmi.errors import JobEnded, ParameterError
from tdqsim.ibmi.fact_tables import LIMITS
from tdqsim.ibmi.recorder import OnFailure, SystemRecorder

if TYPE_CHECKING:
    from tdqsim.ibmi.objects import SystemObject


SYSTEM_NAME: Final = r"^[A-Z$#@][A-Z0-9$#@]{0,7}$"
"""The name of a system, in system.yaml and in Python."""


def check_system_name(name: object) -> None:
    """Refuse what is not the name of a system.

    Raises:
        ParameterError: the text names the value and what is allowed.
    """
    if not isinstance(name, str) or not re.fullmatch(SYSTEM_NAME, name):
        raise ParameterError(
            f"name {name!r:.80}: the name of a system has 1 to 8 characters: A-Z, 0-9, $, # or @, not first a digit"
        )


def job_page(ccsid: int) -> CodePage:
    """The code page of a job's CCSID; for 65535 (no conversion) that of the default CCSID.

    Raises:
        ConversionError: there is no such CCSID.
    """
    return codepage(LIMITS["default_ccsid"] if ccsid == LIMITS["no_conversion_ccsid"] else ccsid)


class _ObjectChange(KeptChange):
    """A change of objects: ``make`` changes the memory, ``then`` follows. Both may be repeated after an interrupt."""

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
        store: the store with its objects and entries.
        dispatcher: runs its jobs.
        clock: the dispatcher's clock.
        timezone: the time zone of *DTS and QWCCVTDT, which use local time.
        ccsid: default CCSID of its jobs.
        date_format: the system value QDATFMT.
        readonly: whether nothing can be changed.
        closed: whether no further commands are accepted.
        failed: whether it was closed as if its process had ended: nothing more is written to the store.
        notices: what was asked for and will not happen.
        recorder: records events; or None.
        on_failure: called with the event of each operation that ends with an escape message; or None.
    """

    __slots__ = (
        "_clear_places", "_utc", "ccsid", "clock", "closed", "date_format", "dispatcher", "failed", "name",
        "notices", "on_failure", "readonly", "recorder", "store", "timezone",
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
        self.notices = Notices(f"system {name}", notice_words, self.clock.time_ns)
        self.clock.on_set_back.append(self.notices.clock_set_back)
        self.closed = self.failed = False
        self.recorder: SystemRecorder | None = None
        self.on_failure: OnFailure | None = None
        self._clear_places: dict[int, Callable[[], None]] = {}

    def check_open(self) -> None:
        """Refuse calls from another thread, and any call after the system is closed."""
        self.dispatcher.check_thread()
        if self.closed:
            raise SystemClosed(f"system {self.name} is closed")

    def offset_at(self, moment_ns: int) -> int:
        """The seconds by which local time is ahead of UTC at a moment."""
        return 0 if self._utc else offset_seconds(moment_ns, self.timezone)

    def note(
        self, operation: str, job: JobData | None, queue: SystemObject | None = None, data: bytes = b"",
        key: bytes = b"", /, **info: object,
    ) -> None:  # fmt: skip
        """Record an operation of a job (None for no particular job), if there is a recorder."""
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
            then: called after it; may be repeated. The default clears the jobs' caches of data queues.
        """
        carry_out(self.store.durable, _ObjectChange(make, then or self.forget_places), meta, works)

    def clear_on_change(self, places: object, clear: Callable[[], None]) -> None:
        """Register a job's cache of data queues to be cleared at the next change of objects or authorities."""
        self._clear_places[id(places)] = clear

    def forget_places(self) -> None:
        """Clear the jobs' caches of data queues."""
        for clear in self._clear_places.values():
            clear()
        self._clear_places.clear()


class JobData:
    """A job without its parts.

    Attributes:
        system: the system that it runs on.
        dispatcher, clock: those of the system.
        name: job name.
        user: its user profile.
        number: six digits that distinguish it from active jobs with the same name and user.
        qualified_name: ``number/user/name``.
        current_user: the profile it runs under now, which sender IDs and authority checks use.
        page: the code page of its CCSID.
        run_priority: 1 to 99; the lowest number is served first.
        fiber: the fiber that runs it; None for a job of the program outside.
        ended: whether no further commands are accepted.
    """

    __slots__ = (
        "clock",
        "current_user",
        "dispatcher",
        "ended",
        "fiber",
        "name",
        "number",
        "page",
        "qualified_name",
        "run_priority",
        "system",
        "user",
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
        self.fiber: Fiber | None = None
        self.ended = False

    def check_usable(self) -> None:
        """Refuse calls from another thread, and any call after the job has ended or the system is closed."""
        self.system.check_open()
        if self.ended:
            raise JobEnded(f"job {self.qualified_name} has ended")

    def note(
        self, operation: str, queue: SystemObject | None = None, data: bytes = b"", key: bytes = b"", /, **info: object
    ) -> None:
        """Record an operation of this job, if the system has a recorder."""
        self.system.note(operation, self, queue, data, key, **info)
