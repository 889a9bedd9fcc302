"""A system's core: its state and its parts.

==============  ================================================================================================
``profiles``    user profiles, their authorities, authorization lists (:mod:`tdqsim.ibmi.profiles`)
``objects``     libraries, data queues, journals, programs (:mod:`tdqsim.ibmi.object_table`)
``locks``       object locks (:mod:`tdqsim.ibmi.lock_manager`)
``journals``    makes journal entries (:mod:`tdqsim.ibmi.journals`)
``values``      the system values that can be set
``links``       the links to other systems, by remote location or RDB name
``jobs``        active jobs by qualified name
==============  ================================================================================================

The commands of a job access them through ``job.system``. Programs use a :class:`~tdqsim.ibmi.System`, which holds this
core privately.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tdqsim.core.dispatch import Dispatcher
from tdqsim.core.store import Store
from tdqsim.ibmi.catalogue import Catalogue
from tdqsim.ibmi.data import SystemData, job_page
from tdqsim.ibmi.errors import ParameterError
from tdqsim.ibmi.fact_tables import LIMITS
from tdqsim.ibmi.faults import FaultHook
from tdqsim.ibmi.journals import JournalWriter
from tdqsim.ibmi.lock_manager import LockManager
from tdqsim.ibmi.object_table import ObjectTable
from tdqsim.ibmi.objects import SHIPPED_LIBRARIES, SYSTEM_LIBRARIES
from tdqsim.ibmi.profiles import SECURITY_OFFICER, Profiles
from tdqsim.ibmi.recorder import SystemRecorder
from tdqsim.ibmi.remote_link import RemoteLink
from tdqsim.ibmi.system_values import SystemValues

if TYPE_CHECKING:
    from tdqsim.ibmi.job_core import JobBase


class SystemCore(SystemData):
    """See the module's text.

    Attributes:
        catalogue: the records that survive a restart.
        faults: called before each API and command; or None.
        machine: the message ids of a real machine, by rule; empty without a machine.yaml.
    """

    __slots__ = (
        "catalogue", "faults", "jobs", "journals", "links", "locks", "machine", "objects", "profiles", "values",
    )  # fmt: skip

    def __init__(
        self, name: str, store: Store, dispatcher: Dispatcher, *, timezone: str, ccsid: int, readonly: bool,
        machine: Mapping[str, str],
    ) -> None:  # fmt: skip
        super().__init__(name, store, dispatcher, timezone=timezone, ccsid=ccsid, readonly=readonly)
        job_page(ccsid)
        self.faults: FaultHook | None = None
        self.machine = machine
        self.jobs: dict[str, JobBase] = {}
        self.links: dict[str, RemoteLink] = {}
        self.values = SystemValues()
        self.locks = LockManager(dispatcher)
        self.catalogue = Catalogue(store, readonly=readonly)
        self.catalogue.check_ours()
        self.profiles = Profiles(self, self.catalogue)
        self.objects = ObjectTable(self, self.catalogue, self.locks)
        self.journals = JournalWriter(self, self.objects.journal_of)
        if not self.profiles.by_name and not readonly:
            self._ship()

    def _ship(self) -> None:
        """Create the profiles and libraries that every new system has."""
        self.profiles.crtusrprf(SECURITY_OFFICER, allobj=True)
        self.profiles.crtusrprf("QPGMR")
        self.profiles.crtusrprf("QUSER")
        for library in SHIPPED_LIBRARIES:
            self.objects.crtlib(library, aut="*USE" if library in SYSTEM_LIBRARIES else "*CHANGE")

    def next_job_number(self, name: str, user: str) -> str:
        """The next number that no active job with this name and user has: 000001 to 999999, then 000001 again."""
        most = LIMITS["job_number_maximum"]
        if len(self.jobs) >= most:
            raise ParameterError(f"{most} jobs are active, and no number is left for another one")
        while True:
            digits = f"{(self.objects.next_job() - 1) % most + 1:06d}"
            if f"{digits}/{user}/{name}" not in self.jobs:
                return digits

    def set_recorder(self, recorder: SystemRecorder | None) -> None:
        """Set the recorder; each queue gets a reference to the recorder's function, for speed."""
        self.recorder = recorder
        for queue in self.objects.every_queue():
            queue.trace = recorder.trace if recorder is not None else None
            queue.bind()


class SystemBase:
    """The base of :class:`~tdqsim.ibmi.System`, for modules below it."""

    __slots__ = ()

    _core: SystemCore
