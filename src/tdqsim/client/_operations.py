"""A method for each operation of the API; ``python -m tests.generators.client_methods`` writes it.

Parameters without a value are left out of the request, so that the default of the server applies. A body is sent as
JSON.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Literal

from tdqsim.client._http import ServerConnection, part

if TYPE_CHECKING:
    from tdqsim.client.answers.ibmi import (
        ClearResult,
        CommandMessages,
        CreatedDataQueues,
        DataQueueDescription,
        DataQueuePage,
        DdmDataQueueDescription,
        EntryPage,
        IbmiSystemState,
        ReceiveResult,
        SendResult,
        SystemSummary,
    )
    from tdqsim.client.answers.operating import (
        FaultState,
        InstalledDefinitions,
        InstallResult,
        RegionStatistics,
        SubmittedJobInfo,
        SysoutDatasetInfo,
    )
    from tdqsim.client.answers.process import ClockState
    from tdqsim.client.answers.regions import (
        DecodedPage,
        PeekPage,
        QueueDepth,
        QueueExplanation,
        QueuePage,
        ReadRecord,
        ReadRecords,
        RegionSummary,
        RestoreResult,
        SeedResult,
        Snapshot,
        WriteResult,
    )
    from tdqsim.client.answers.tdqueue import TdqueueOptions, TdqueueState
    from tdqsim.client.answers.work import (
        CeciAnswer,
        CemtAnswer,
        CommandResult,
        CommitResult,
        DumpState,
        IncidentState,
        NoticeState,
        OpenUnitOfWork,
        RefusedState,
        TaskEntry,
        TaskExplanation,
        UnitOfWorkState,
        WaitResult,
    )

Body = Mapping[str, object] | Sequence[Mapping[str, object]]


class Operations(ServerConnection):
    """The operations of a server, named by their ids in the OpenAPI document."""

    def list_regions(self) -> list[RegionSummary]:
        """The regions that are served."""
        return self.ask("GET", "/regions")

    def get_region(self, name: str) -> RegionSummary:
        """One region."""
        return self.ask("GET", f"/regions/{part(name)}")

    def list_tdqueues(
        self, name: str, *, prefix: str | None = None, after: str | None = None, limit: int | None = None
    ) -> QueuePage:
        """The queues of a region, in the order of their names, a page at a time."""
        return self.ask(
            "GET", f"/regions/{part(name)}/queues", query={"prefix": prefix, "after": after, "limit": limit}
        )

    def inquire_tdqueue(self, name: str, queue: str, *, options: str | None = None) -> TdqueueOptions:
        """INQUIRE TDQUEUE with all options, or with those that are named."""
        return self.ask("GET", f"/regions/{part(name)}/queues/{part(queue)}", query={"options": options})

    def set_tdqueue(self, name: str, queue: str, body: Body) -> TdqueueState:
        """SET TDQUEUE, with the options by name, such as ``{"enablestatus": "DISABLED"}``."""
        return self.ask("PATCH", f"/regions/{part(name)}/queues/{part(queue)}", body)

    def discard_tdqueue(self, name: str, queue: str) -> None:
        """DISCARD TDQUEUE."""
        self.ask("DELETE", f"/regions/{part(name)}/queues/{part(queue)}")

    def get_depth_history(self, name: str, queue: str) -> QueueDepth:
        """NUMITEMS of an intrapartition queue over time: the moments of changes, with a resolution of one second."""
        return self.ask("GET", f"/regions/{part(name)}/queues/{part(queue)}/depth")

    def explain_tdqueue(self, name: str, queue: str, *, size: int | None = None) -> QueueExplanation:
        """Why a queue is in its state, and the predicted result of each command, in sentences and as fields."""
        return self.ask("GET", f"/regions/{part(name)}/queues/{part(queue)}/explain", query={"size": size})

    def peek_records(
        self,
        name: str,
        queue: str,
        *,
        position: int | None = None,
        limit: int | None = None,
        encoding: Literal["text", "hex", "base64"] | None = None,
        uncommitted: bool | None = None,
    ) -> PeekPage:
        """Read records without removing them, a page at a time."""
        return self.ask(
            "GET",
            f"/regions/{part(name)}/queues/{part(queue)}/records",
            query={"position": position, "limit": limit, "encoding": encoding, "uncommitted": uncommitted},
        )

    def peek_decoded_records(
        self, name: str, queue: str, *, position: int | None = None, limit: int | None = None
    ) -> DecodedPage:
        """Read records decoded by the layout of the queue in region.yaml, without removing them; 404 without one."""
        return self.ask(
            "GET",
            f"/regions/{part(name)}/queues/{part(queue)}/records/decoded",
            query={"position": position, "limit": limit},
        )

    def peek_records_by_layout(
        self, name: str, queue: str, body: Body, *, position: int | None = None, limit: int | None = None
    ) -> DecodedPage:
        """Read records decoded by a copybook or YAML layout, without removing them; `problem` names invalid fields."""
        return self.ask(
            "POST",
            f"/regions/{part(name)}/queues/{part(queue)}/records/decoded",
            body,
            query={"position": position, "limit": limit},
        )

    def read_records(
        self,
        name: str,
        queue: str,
        *,
        nosuspend: bool | None = None,
        encoding: Literal["text", "hex", "base64"] | None = None,
        count: int | None = None,
    ) -> ReadRecord | ReadRecords:
        """READQ TD, as a separate task; the record is removed from the queue."""
        return self.ask(
            "POST",
            f"/regions/{part(name)}/queues/{part(queue)}/read",
            query={"nosuspend": nosuspend, "encoding": encoding, "count": count},
        )

    def write_records(self, name: str, queue: str, body: Body) -> WriteResult:
        """WRITEQ TD, as a separate task; several records are one task and one unit of work."""
        return self.ask("POST", f"/regions/{part(name)}/queues/{part(queue)}/records", body)

    def delete_records(self, name: str, queue: str) -> None:
        """DELETEQ TD."""
        self.ask("DELETE", f"/regions/{part(name)}/queues/{part(queue)}/records")

    def seed_records(self, name: str, queue: str, body: Body) -> SeedResult:
        """Add records to a queue outside any task: no trigger, no statistics."""
        return self.ask("POST", f"/regions/{part(name)}/queues/{part(queue)}/seed", body)

    def execute_command(self, name: str, body: Body) -> CommandResult:
        """Execute an EXEC CICS command given as text, as a separate task. It needs the role of the command."""
        return self.ask("POST", f"/regions/{part(name)}/exec", body)

    def execute_cemt(self, name: str, body: Body) -> CemtAnswer:
        """Execute a CEMT request; return rows, and the screen as text. It needs the role of the request."""
        return self.ask("POST", f"/regions/{part(name)}/cemt", body)

    def wait_for_state(self, name: str, body: Body, *, patience: float = 0) -> WaitResult:
        """Wait for a number of items of a queue, a condition, or the end of tasks; the time limit is in real time."""
        return self.ask("POST", f"/regions/{part(name)}/wait", body, patience=patience)

    def begin_unit_of_work(self, name: str, *, idle_seconds: float | None = None) -> OpenUnitOfWork:
        """Begin a unit of work that stays open between requests; it is backed out after a time without requests."""
        return self.ask("POST", f"/regions/{part(name)}/units-of-work", query={"idle_seconds": idle_seconds})

    def execute_command_in_unit_of_work(self, unit: str, body: Body) -> CommandResult:
        """Execute an EXEC CICS command in an open unit of work. It needs the role of the command."""
        return self.ask("POST", f"/units-of-work/{part(unit)}/exec", body)

    def execute_ceci(self, unit: str, body: Body) -> CeciAnswer:
        """Execute a command as typed into CECI, in an open unit of work; return its parts, and the screen as text."""
        return self.ask("POST", f"/units-of-work/{part(unit)}/ceci", body)

    def commit_unit_of_work(self, unit: str) -> CommitResult:
        """Commit and end an open unit of work."""
        return self.ask("POST", f"/units-of-work/{part(unit)}/commit")

    def back_out_unit_of_work(self, unit: str) -> None:
        """Back out and end an open unit of work."""
        self.ask("DELETE", f"/units-of-work/{part(unit)}")

    def list_tasks(self, name: str) -> list[TaskEntry]:
        """The tasks that have not ended, with the resource that each waits for and its holder."""
        return self.ask("GET", f"/regions/{part(name)}/tasks")

    def explain_task(self, name: str, number: int) -> TaskExplanation:
        """What a task waits for, also in another region; of a task that has abended, what its last command named."""
        return self.ask("GET", f"/regions/{part(name)}/tasks/{part(number)}/explain")

    def list_dumps(self, name: str) -> list[DumpState]:
        """The dumps of the last 50 tasks that have abended, the newest last. They contain records and storage."""
        return self.ask("GET", f"/regions/{part(name)}/dumps")

    def list_incidents(self, name: str) -> list[IncidentState]:
        """What needs attention now: deadlocks, long waits, units of work in doubt, full queues, refused commands."""
        return self.ask("GET", f"/regions/{part(name)}/incidents")

    def purge_task(self, name: str, number: int, *, how: Literal["PURGE", "FORCEPURGE"] | None = None) -> None:
        """SET TASK PURGE or FORCEPURGE, which needs the role break."""
        self.ask("DELETE", f"/regions/{part(name)}/tasks/{part(number)}", query={"how": how})

    def list_units_of_work(self, name: str) -> list[UnitOfWorkState]:
        """The units of work of a region."""
        return self.ask("GET", f"/regions/{part(name)}/units-of-work")

    def end_unit_of_work(
        self, name: str, uow: str, *, how: Literal["COMMIT", "BACKOUT", "FORCE"] | None = None
    ) -> None:
        """SET UOW: force the end of a unit of work in doubt."""
        self.ask("POST", f"/regions/{part(name)}/units-of-work/{part(uow)}/end", query={"how": how})

    def install_definitions(self, name: str, body: Body) -> InstallResult:
        """Install definitions into the running region, all or none; from CSD or DCT text they are imported first."""
        return self.ask("POST", f"/regions/{part(name)}/definitions", body)

    def get_definitions(self, name: str) -> InstalledDefinitions:
        """The installed definitions as a definition file, with current trigger levels, and data sets of DD cards."""
        return self.ask("GET", f"/regions/{part(name)}/definitions")

    def take_snapshot(self, name: str) -> Snapshot:
        """The intrapartition queues with their records, for restore; refused if there are too many for an answer."""
        return self.ask("GET", f"/regions/{part(name)}/snapshot")

    def restore_snapshot(self, name: str, body: Body) -> RestoreResult:
        """Restore the records and ENABLESTATUS of the queues in a snapshot; all or none."""
        return self.ask("PUT", f"/regions/{part(name)}/snapshot", body)

    def get_faults(self, name: str) -> FaultState:
        """The active faults, of the API and of the console, and those that have occurred."""
        return self.ask("GET", f"/regions/{part(name)}/faults")

    def set_faults(self, name: str, body: Body) -> FaultState:
        """Activate a fault plan in the form of FaultPlan.to_json, in place of all active ones."""
        return self.ask("PUT", f"/regions/{part(name)}/faults", body)

    def remove_faults(self, name: str) -> None:
        """Remove all faults."""
        self.ask("DELETE", f"/regions/{part(name)}/faults")

    def get_clock(self) -> ClockState:
        """The time, and whether it stands still."""
        return self.ask("GET", "/clock")

    def set_clock(self, *, frozen: bool | None = None, advance: float | None = None) -> ClockState:
        """Freeze or thaw the clock, or move it forward, to the end of the year 2199 at most."""
        return self.ask("POST", "/clock", query={"frozen": frozen, "advance": advance})

    def get_statistics(self, name: str) -> RegionStatistics:
        """The current statistics."""
        return self.ask("GET", f"/regions/{part(name)}/statistics")

    def list_jobs(self, name: str, *, position: int | None = None) -> list[SubmittedJobInfo]:
        """The jobs that were submitted through the internal reader; long jobs have only their first lines."""
        return self.ask("GET", f"/regions/{part(name)}/jobs", query={"position": position})

    def get_job_cards(self, name: str, number: int) -> AbstractContextManager[Iterator[str]]:
        """The cards of a job as text, a line each."""
        return self.stream(f"/regions/{part(name)}/jobs/{part(number)}")

    def list_sysout_datasets(
        self, name: str, *, class_: str | None = None, after: int | None = None
    ) -> list[SysoutDatasetInfo]:
        """The SYSOUT data sets of output queues, by number, a page at a time."""
        return self.ask("GET", f"/regions/{part(name)}/sysout", query={"class": class_, "after": after})

    def print_sysout_dataset(self, name: str, number: int) -> AbstractContextManager[Iterator[str]]:
        """A SYSOUT data set in printed form, as text."""
        return self.stream(f"/regions/{part(name)}/sysout/{part(number)}")

    def list_systems(self) -> list[SystemSummary]:
        """The IBM i systems that are served."""
        return self.ask("GET", "/systems")

    def get_system(self, name: str) -> IbmiSystemState:
        """One system, with its libraries and its active jobs."""
        return self.ask("GET", f"/systems/{part(name)}")

    def list_data_queues(
        self,
        name: str,
        *,
        library: str | None = None,
        after: str | None = None,
        limit: int | None = None,
        profile: str | None = None,
    ) -> DataQueuePage:
        """The rows of DATA_QUEUE_INFO, by library and name, a page at a time."""
        return self.ask(
            "GET",
            f"/systems/{part(name)}/queues",
            query={"library": library, "after": after, "limit": limit, "profile": profile},
        )

    def execute_cl_command(self, name: str, body: Body, *, profile: str | None = None) -> CommandMessages:
        """Run a CL command, such as CRTDTAQ DTAQ(APPLIB/ORDERS) MAXLEN(80); return its messages."""
        return self.ask("POST", f"/systems/{part(name)}/commands", body, query={"profile": profile})

    def install_data_queues(self, name: str, body: Body, *, profile: str | None = None) -> CreatedDataQueues:
        """Create the data queues of definitions, all or none."""
        return self.ask("POST", f"/systems/{part(name)}/definitions", body, query={"profile": profile})

    def describe_data_queue(
        self,
        name: str,
        library: str,
        queue: str,
        *,
        format_: Literal["RDQD0100", "RDQD0200"] | None = None,
        profile: str | None = None,
    ) -> DataQueueDescription | DdmDataQueueDescription:
        """QMHQRDQD: the description of a data queue, the fields of RDQD0100 or RDQD0200."""
        return self.ask(
            "GET",
            f"/systems/{part(name)}/queues/{part(library)}/{part(queue)}",
            query={"format": format_, "profile": profile},
        )

    def change_data_queue(
        self, name: str, library: str, queue: str, body: Body, *, profile: str | None = None
    ) -> DataQueueDescription:
        """QMHQCDQ: change attributes of a data queue."""
        return self.ask(
            "PATCH", f"/systems/{part(name)}/queues/{part(library)}/{part(queue)}", body, query={"profile": profile}
        )

    def delete_data_queue(self, name: str, library: str, queue: str, *, profile: str | None = None) -> CommandMessages:
        """DLTDTAQ: delete a data queue, or those of a generic name, with all entries; return its messages."""
        return self.ask(
            "DELETE", f"/systems/{part(name)}/queues/{part(library)}/{part(queue)}", query={"profile": profile}
        )

    def browse_entries(
        self,
        name: str,
        library: str,
        queue: str,
        *,
        position: int | None = None,
        limit: int | None = None,
        encoding: Literal["text", "hex", "base64"] | None = None,
        key: str | None = None,
        order: Literal["EQ", "GT", "LT", "NE", "GE", "LE"] | None = None,
        profile: str | None = None,
    ) -> EntryPage:
        """Read entries in the order of the queue without removing them."""
        return self.ask(
            "GET",
            f"/systems/{part(name)}/queues/{part(library)}/{part(queue)}/entries",
            query={
                "position": position,
                "limit": limit,
                "encoding": encoding,
                "key": key,
                "order": order,
                "profile": profile,
            },
        )

    def clear_data_queue(
        self,
        name: str,
        library: str,
        queue: str,
        *,
        key: str | None = None,
        order: Literal["EQ", "GT", "LT", "NE", "GE", "LE"] | None = None,
        profile: str | None = None,
    ) -> ClearResult:
        """QCLRDTAQ: clear a data queue, or the entries of a keyed queue whose keys match."""
        return self.ask(
            "DELETE",
            f"/systems/{part(name)}/queues/{part(library)}/{part(queue)}/entries",
            query={"key": key, "order": order, "profile": profile},
        )

    def send_entries(
        self, name: str, library: str, queue: str, body: Body, *, profile: str | None = None
    ) -> SendResult:
        """QSNDDTAQ; if the queue would refuse one of several entries, none is sent."""
        return self.ask(
            "POST",
            f"/systems/{part(name)}/queues/{part(library)}/{part(queue)}/entries",
            body,
            query={"profile": profile},
        )

    def receive_entry(
        self,
        name: str,
        library: str,
        queue: str,
        body: Body,
        *,
        encoding: Literal["text", "hex", "base64"] | None = None,
        profile: str | None = None,
        patience: float = 0,
    ) -> ReceiveResult:
        """QRCVDTAQ; `entry` is null if none arrived within the time limit."""
        return self.ask(
            "POST",
            f"/systems/{part(name)}/queues/{part(library)}/{part(queue)}/receive",
            body,
            query={"encoding": encoding, "profile": profile},
            patience=patience,
        )

    def list_refused_commands(self, name: str) -> list[RefusedState]:
        """The commands that were refused because something is wrong, in groups that are alike; the newest last."""
        return self.ask("GET", f"/regions/{part(name)}/refused")

    def list_refused_apis(self, name: str) -> list[RefusedState]:
        """The APIs and commands that were refused because something is wrong, in groups; the newest last."""
        return self.ask("GET", f"/systems/{part(name)}/refused")

    def list_notices(self, name: str) -> list[NoticeState]:
        """What was asked for and does not happen, and what has failed, with reason and cure; the newest last."""
        return self.ask("GET", f"/regions/{part(name)}/notices")

    def list_system_notices(self, name: str) -> list[NoticeState]:
        """What jobs and programs asked for and does not happen, and what has failed; the newest last."""
        return self.ask("GET", f"/systems/{part(name)}/notices")

    def stream_events(
        self, *, region: str | None = None, queue: str | None = None
    ) -> AbstractContextManager[Iterator[str]]:
        """New events, as server-sent events: commands, units of work, tasks, seeds; the number of lost events."""
        return self.stream("/events", query={"region": region, "queue": queue})

    def stream_history(
        self, name: str, *, position: int | None = None, follow: bool | None = None
    ) -> AbstractContextManager[Iterator[str]]:
        """The past events of a region that are kept, as server-sent events with their positions as ids."""
        return self.stream(f"/regions/{part(name)}/history", query={"position": position, "follow": follow})

    def stream_alerts(self, *, region: str | None = None) -> AbstractContextManager[Iterator[str]]:
        """Alerts as server-sent events: incidents that begin (first the present ones) and end, and abends of tasks."""
        return self.stream("/alerts", query={"region": region})
