"""A region in a server, with the methods of a task and of a local region.

Each command is a separate task, or belongs to a unit of work. Records are bytes; text is encoded in the code page of
the region. A condition is a :class:`~tdqsim.client.RemoteError` with its name. Long lists are read in pages.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from http import HTTPStatus
from itertools import islice
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Literal, Self, TypedDict, Unpack, cast

from tdqsim.client.http import LostConnection, RemoteError, ServerConnection, ask, part
from tdqsim.errors import UsageError
from tdqsim.facts import INQUIRE_OPTIONS, Cvda, TdqueueInfo, TdqueueOption

if TYPE_CHECKING:
    from tdqsim.server.answers.operating import (
        DfhcsdupResult,
        FaultState,
        InstalledDefinitions,
        InstallResult,
        SysoutDatasetInfo,
    )
    from tdqsim.server.answers.regions import (
        BytesValue,
        DecodedPage,
        DecodedRecord,
        PeekPage,
        QueueDepth,
        QueuePage,
        RegionSummary,
        SeedResult,
        Snapshot,
    )
    from tdqsim.server.answers.tables import (
        DumpState,
        IncidentState,
        NoticeState,
        QueueExplanation,
        RefusedState,
        RegionStatistics,
        SubmittedJobInfo,
        TaskEntry,
        TdqueueState,
        UnitOfWorkState,
    )
    from tdqsim.server.answers.work import CeciAnswer, CemtAnswer, CommandResult, OpenUnitOfWork, TaskExplanation

PAGE: Final = 1000
"""The maximum number of records or queues in a request or an answer."""
_Data = bytes | bytearray | str
Purgetype = Literal["PURGE", "purge", "FORCEPURGE", "forcepurge"]
Uowstate = Literal["COMMIT", "commit", "BACKOUT", "backout", "FORCE", "force"]


class SetTdqueueOptions(TypedDict, total=False):
    """The options of SET TDQUEUE, with the names and values of :meth:`Task.set_tdqueue`."""

    atifacility: Literal["NOTERMINAL", "noterminal", "TERMINAL", "terminal"]
    atitermid: str
    atitranid: str
    atiuserid: str
    enablestatus: Literal["DISABLED", "disabled", "ENABLED", "enabled"]
    openstatus: Literal["CLOSED", "closed", "OPEN", "open"]
    triggerlevel: int


def _record(data: _Data) -> dict[str, str]:
    return {"text": data} if isinstance(data, str) else {"hex": bytes(memoryview(data)).hex()}  # a number is no bytes


def _several(records: Iterable[_Data]) -> Iterable[_Data]:
    """Records, which are not a single one: that would be taken for its characters or numbers."""
    if isinstance(records, (str, bytes, bytearray)):
        raise UsageError(f"records is {records!r:.40}; allowed is a list of records, such as [{records!r:.40}]")
    return records


def _variables(variables: Mapping[str, object]) -> dict[str, object]:
    return {
        name: _record(value) if isinstance(value, (bytes, bytearray)) else value for name, value in variables.items()
    }


class _Commands:
    """The EXEC CICS commands, which a region and a unit of work have in common."""

    __slots__ = ()

    def execute(self, text: str, variables: Mapping[str, object] | None = None) -> CommandResult:
        """Execute an EXEC CICS command given as text; return RESP, RESP2, the received data, and the variables.

        Raises:
            RemoteError: a condition without RESP in the text, an abend, or the text is not a command.
        """
        raise NotImplementedError

    def _given(self, text: str, variables: dict[str, object], **options: object) -> CommandResult:
        """Execute a command with the options that have a value, by the names of their variables."""
        there = {name.upper(): value for name, value in options.items() if value is not None and value is not False}
        words = [name if value is True else f"{name}({name})" for name, value in there.items()]
        values = {name: value for name, value in there.items() if value is not True}
        answer = self.execute(" ".join([text, *words]), variables | values)
        if answer["resp"]:  # QBUSY, whose default action is to ignore it: the methods of a task raise it
            detail = f"{text.partition(' QUEUE(')[0]}: {answer['condition']} (RESP {answer['resp']})"
            raise RemoteError(HTTPStatus.CONFLICT, {"detail": detail, **answer})
        return answer

    def readq_td(
        self, queue: str, length: int | None = None, *, sysid: str | None = None, nosuspend: bool = False
    ) -> bytes:
        """READQ TD: return the record, which is removed from the queue."""
        answer = self._given(
            "READQ TD QUEUE(Q) INTO(REC)", {"Q": queue}, LENGTH=length, SYSID=sysid, NOSUSPEND=nosuspend
        )
        return bytes.fromhex(cast("BytesValue", answer["received"]["INTO"])["hex"])

    def writeq_td(self, queue: str, from_: _Data, length: int | None = None, *, sysid: str | None = None) -> None:
        """WRITEQ TD; text is encoded in the code page of the region."""
        self._given("WRITEQ TD QUEUE(Q) FROM(REC)", {"Q": queue, "REC": _record(from_)}, LENGTH=length, SYSID=sysid)

    def deleteq_td(self, queue: str, *, sysid: str | None = None) -> None:
        """DELETEQ TD."""
        self._given("DELETEQ TD QUEUE(Q)", {"Q": queue}, SYSID=sysid)

    def start(self, transid: str, from_: _Data | None = None, *, interval: int = 0) -> None:
        """START TRANSID after an interval (HHMMSS)."""
        data = None if from_ is None else _record(from_)
        self._given("START TRANSID(T)", {"T": transid}, FROM=data, INTERVAL=interval or None)

    def create_tdqueue(self, tdqueue: str, attributes: str) -> None:
        """CREATE TDQUEUE with the attributes of DEFINE."""
        self._given("CREATE TDQUEUE(Q) ATTRIBUTES(A)", {"Q": tdqueue, "A": attributes})

    def perform_statistics(self, *, resetnow: bool = False) -> None:
        """PERFORM STATISTICS RECORD TDQUEUE."""
        self.execute("PERFORM STATISTICS RECORD TDQUEUE" + " RESETNOW" * resetnow)


class RemoteRegion(_Commands):
    """A region of a server; each command is a separate task.

    Args:
        client: a client that is signed on.
        applid: the APPLID of the region.
    """

    __slots__ = ("_client", "_path", "_summary")

    def __init__(self, client: ServerConnection, applid: str) -> None:
        self._client = client
        self._path = f"/regions/{part(applid)}"
        self._summary: RegionSummary | None = None

    def _queue(self, name: str) -> str:
        return f"{self._path}/queues/{part(name)}"

    def about(self) -> RegionSummary:
        """APPLID, SYSID, code page and the like."""
        return ask(self._client, "GET", self._path)

    def _kept(self) -> RegionSummary:
        """What does not change while it is served, which is asked once."""
        if self._summary is None:
            self._summary = self.about()
        return self._summary

    @property
    def applid(self) -> str:
        """Its APPLID."""
        return self._kept()["applid"]

    @property
    def sysid(self) -> str:
        """Its SYSID."""
        return self._kept()["sysid"]

    @property
    def code_page(self) -> str:
        """The name of its code page."""
        return self._kept()["code_page"]

    def execute(self, text: str, variables: Mapping[str, object] | None = None) -> CommandResult:
        """Execute an EXEC CICS command as a separate task; return RESP, RESP2, the received data, and the variables.

        Raises:
            RemoteError: a condition without RESP in the text, an abend, or the text is not a command.
        """
        return ask(self._client, "POST", f"{self._path}/exec", {"text": text, "variables": _variables(variables or {})})

    # -- queues and their records -------------------------------------------------------------------------------------

    def queues(self, prefix: str = "") -> Iterator[TdqueueState]:
        """All queues with their values of INQUIRE TDQUEUE, in the order of their names."""
        after: str | None = None
        while True:
            query = {"prefix": prefix or None, "after": after, "limit": PAGE}
            page: QueuePage = ask(self._client, "GET", f"{self._path}/queues", query=query)
            yield from page["queues"]
            after = page["next"]
            if after is None:
                return

    def writeq_td_all(self, queue: str, records: Iterable[_Data]) -> int:
        """WRITEQ TD of each record, in one task; return the number of records.

        Raises:
            UsageError: there are too many for one request.
        """
        body = [_record(each) for each in islice(_several(records), PAGE + 1)]
        if len(body) > PAGE:
            raise UsageError(f"a server writes at most {PAGE} records in one task; use seed for any number")
        ask(self._client, "POST", f"{self._queue(queue)}/records", body)
        return len(body)

    def seed(self, queue: str, records: Iterable[_Data]) -> int:
        """Add records to a queue without a task; return their number."""
        source, count = map(_record, _several(records)), 0
        while page := list(islice(source, PAGE)):
            answer: SeedResult = ask(self._client, "POST", f"{self._queue(queue)}/seed", page)
            count += answer["seeded"]
        return count

    def peek(self, queue: str, *, limit: int | None = None, skip: int = 0, uncommitted: bool = False) -> list[bytes]:
        """The records of a queue in order, without removing them.

        Args:
            queue: the queue; for an alias, its target is read.
            limit: the maximum number of records; default: all.
            skip: the number of records to skip at the beginning.
            uncommitted: whether to include records that units of work have written and not committed.
        """
        records: list[bytes] = []
        while limit is None or len(records) < limit:
            size = PAGE if limit is None else min(limit - len(records), PAGE)
            query = {"position": skip + len(records), "limit": size, "encoding": "hex", "uncommitted": uncommitted}
            page: PeekPage = ask(self._client, "GET", f"{self._queue(queue)}/records", query=query)
            records += map(bytes.fromhex, page["records"])
            if len(page["records"]) < size:
                break
        return records

    def decoded(
        self, queue: str, *, position: int = 0, limit: int = 100, layout: Mapping[str, object] | None = None
    ) -> list[DecodedRecord]:
        """Records decoded by a layout; none is removed.

        Each record has ``values`` by field, and ``problem`` if a field is invalid. Numbers with decimals are text.

        Args:
            queue: the queue.
            position: the number of records to skip.
            limit: the maximum number of records.
            layout: the layout as the API takes it, such as ``{"copybook": TEXT}``; default: that of region.yaml.
        """
        path, query = f"{self._queue(queue)}/records/decoded", {"position": position, "limit": limit}
        page: DecodedPage = ask(self._client, "GET" if layout is None else "POST", path, layout, query=query)
        return page["records"]

    def depth_history(self, queue: str) -> list[tuple[int, int]]:
        """NUMITEMS over time: pairs of a time in nanoseconds and the depth since then; the resolution is a second."""
        depth: QueueDepth = ask(self._client, "GET", f"{self._queue(queue)}/depth")
        return [(time_ns, items) for time_ns, items in depth["samples"]]

    def inquire_tdqueue(self, tdqueue: str, *options: TdqueueOption) -> TdqueueInfo:
        """INQUIRE TDQUEUE with all options, or with those that you name."""
        query = {"options": ",".join(_checked(options)) or None}
        return TdqueueInfo(_values(ask(self._client, "GET", self._queue(tdqueue), query=query)))

    def browse_tdqueue(self, *options: TdqueueOption) -> Iterator[TdqueueInfo]:
        """INQUIRE TDQUEUE of all queues, in the order of their names, each with its name as TDQUEUE."""
        wanted = _checked(options) or list(INQUIRE_OPTIONS["TDQUEUE"])
        for each in self.queues():
            values = _values(each)
            yield TdqueueInfo({"TDQUEUE": each["name"]} | {option: values[option] for option in wanted})

    def set_tdqueue(self, tdqueue: str, **options: Unpack[SetTdqueueOptions]) -> TdqueueInfo:
        """SET TDQUEUE; return the values of INQUIRE afterwards.

        Args:
            tdqueue: the name of the queue.
            options: the options of SET TDQUEUE by name, in lower case.

        Raises:
            RemoteError: a condition of SET TDQUEUE, with its name, RESP and RESP2.
        """
        given = {name.upper(): value for name, value in options.items()}
        return TdqueueInfo(_values(ask(self._client, "PATCH", self._queue(tdqueue), given)))

    def discard_tdqueue(self, tdqueue: str) -> None:
        """DISCARD TDQUEUE."""
        ask(self._client, "DELETE", self._queue(tdqueue))

    def explain(self, name: str, *, size: int = 1) -> QueueExplanation:
        """Why a queue is in its state, and the predicted result of each command."""
        return ask(self._client, "GET", f"{self._queue(name)}/explain", query={"size": size})

    # -- the region ---------------------------------------------------------------------------------------------------

    def statistics(self) -> RegionStatistics:
        """The current statistics."""
        return ask(self._client, "GET", f"{self._path}/statistics")

    def tasks(self) -> list[TaskEntry]:
        """The tasks that have started and not ended."""
        return ask(self._client, "GET", f"{self._path}/tasks")

    def explain_task(self, number: int) -> TaskExplanation:
        """What a task waits for, also in another region; of a task that has abended, what its last command named."""
        return ask(self._client, "GET", f"{self._path}/tasks/{number}/explain")

    def dumps(self) -> list[DumpState]:
        """The dumps of the last 50 tasks that have abended, the newest last."""
        return ask(self._client, "GET", f"{self._path}/dumps")

    def incidents(self) -> list[IncidentState]:
        """What needs attention now; abends have dumps."""
        return ask(self._client, "GET", f"{self._path}/incidents")

    def refused_commands(self) -> list[RefusedState]:
        """The commands that were refused because something is wrong, in groups that are alike; the newest last."""
        return ask(self._client, "GET", f"{self._path}/refused")

    def notices(self) -> list[NoticeState]:
        """What was asked for and does not happen, and what has failed, with reason and cure; the newest last."""
        return ask(self._client, "GET", f"{self._path}/notices")

    def units_of_work(self) -> list[UnitOfWorkState]:
        """The units of work."""
        return ask(self._client, "GET", f"{self._path}/units-of-work")

    def snapshot(self) -> Snapshot:
        """The intrapartition queues with their records, for :meth:`restore`."""
        return ask(self._client, "GET", f"{self._path}/snapshot")

    def restore(self, snapshot: Mapping[str, object]) -> None:
        """Restore the records and states of the queues in a snapshot."""
        ask(self._client, "PUT", f"{self._path}/snapshot", snapshot)

    def install(self, definitions: str) -> list[str]:
        """Install the text of a definition file; return the names."""
        answer: InstallResult = ask(self._client, "POST", f"{self._path}/definitions", {"text": definitions})
        return answer["names"]

    def definitions(self) -> InstalledDefinitions:
        """The installed definitions: ``yaml`` is a definition file as text, ``data_sets`` the file of each DD name."""
        return ask(self._client, "GET", f"{self._path}/definitions")

    def set_task(self, task: int, *, purgetype: Purgetype) -> None:
        """SET TASK: PURGE or FORCEPURGE."""
        ask(self._client, "DELETE", f"{self._path}/tasks/{task}", query={"purgetype": purgetype.upper()})

    def set_uow(self, uow: bytes, *, uowstate: Uowstate) -> None:
        """SET UOW: end a unit of work in doubt by COMMIT, BACKOUT or FORCE."""
        path = f"{self._path}/units-of-work/{uow.hex().upper()}/end"
        ask(self._client, "POST", path, query={"uowstate": uowstate.upper()})

    def set_faults(self, plan: str) -> None:
        """Activate a fault plan in the form of FaultPlan.to_json; an empty list removes it."""
        ask(self._client, "PUT", f"{self._path}/faults", json.loads(plan))

    def faults(self) -> FaultState:
        """The active faults, of the API and of the console, and those that have occurred."""
        return ask(self._client, "GET", f"{self._path}/faults")

    def remove_faults(self) -> None:
        """Remove all faults."""
        ask(self._client, "DELETE", f"{self._path}/faults")

    def jobs(self) -> Iterator[SubmittedJobInfo]:
        """The jobs that were submitted through the internal reader, in order; long jobs have only their first lines."""
        position = 0
        while page := self._page("jobs", position=position):
            yield from page
            position += len(page)

    def _page(self, name: str, **query: object) -> list[Any]:
        page: list[Any] = ask(self._client, "GET", f"{self._path}/{name}", query=query)
        return page

    def job(self, number: int) -> list[str]:
        """The cards of a job."""
        with self._client.stream(f"{self._path}/jobs/{number}") as lines:
            return list(lines)

    def sysout(self, sysout_class: str = "") -> Iterator[SysoutDatasetInfo]:
        """All SYSOUT data sets, or those of a class, in the order of their numbers."""
        after = 0
        while page := self._page("sysout", **{"class": sysout_class or None}, after=after):
            yield from page
            after = page[-1]["number"]

    def printed(self, number: int) -> Iterator[str]:
        """The lines of a SYSOUT data set in printed form, as they arrive."""
        with self._client.stream(f"{self._path}/sysout/{number}") as lines:
            yield from lines

    def history(self, position: int = 0, *, follow: bool = True, run: str | None = None) -> Iterator[dict[str, Any]]:
        """The events of the region from a position on, past and new ones, each as it arrives.

        An event ``lost`` has the number of events that are no longer kept, or that were too fast for the client. A lost
        connection is opened again, and continues after the last event, or with the first of a restarted server, whose
        events have another ``run``.

        Args:
            position: the position of the first event; the first of all is 0.
            follow: whether to continue with new events; False ends after the past ones.
            run: the run of the server to which the position belongs, as its events name it; None does not check that.

        Raises (in the iteration):
            LostConnection: the server cannot be reached any more.
            RemoteError: with status 409, the position is of another run.
        """
        reached: str | None = None  # the run of the last event
        while True:
            try:
                query = {"position": position, "follow": follow, "run": reached or run}
                with self._client.stream(f"{self._path}/history", query=query) as lines:
                    for event in events(lines):
                        yield event
                        position = event.get("position", position - 1) + 1
                        reached = event.get("run", reached)
            except RemoteError as refused:
                if not (refused.run and reached):
                    raise
                position, reached, run = 0, None, None
            except LostConnection as lost:
                if not (lost.sent and follow):
                    raise
            else:
                return

    def cemt(self, text: str) -> CemtAnswer:
        """Execute a CEMT request; return its rows, and the screen as ``text``."""
        return ask(self._client, "POST", f"{self._path}/cemt", {"text": text})

    def dfhcsdup(self, text: str, *, file: str = "SYSIN") -> DfhcsdupResult:
        """Carry out DFHCSDUP commands on the region's CSD; return the listing and the return code.

        Args:
            text: the commands.
            file: their name in the messages.
        """
        return ask(self._client, "POST", f"{self._path}/csd", {"text": text, "file": file})

    def wait(self, queue: str, items: int | None = None, *, at_most: int | None = None, seconds: float = 30) -> None:
        """Wait until the number of items of a queue is in a range.

        Args:
            queue: the queue.
            items: the minimum; 1 if neither number is given.
            at_most: the maximum.
            seconds: the time limit.

        Raises:
            RemoteError: with status 504, at the time limit.
        """
        self._wait({"queue": queue, "items": items, "at_most": at_most}, seconds)

    def wait_for_condition(
        self, condition: str, *, position: int | None = None, run: str | None = None, seconds: float = 30
    ) -> None:
        """Wait until a command ends with a condition, such as NOSPACE.

        Args:
            condition: the name of the condition.
            position: the position in the history from which commands count; default: from now on.
            run: the run of the server to which the position belongs; RemoteError with status 409 if it is another.
            seconds: the time limit; at its end RemoteError with status 504 is raised.
        """
        self._wait({"condition": condition.upper(), "position": position, "run": run}, seconds)

    def wait_for_task(self, task: int, *, seconds: float = 30) -> None:
        """Wait until a task has ended; a number without a task counts as a task that has ended."""
        self._wait({"task": task}, seconds)

    def wait_for_tasks(self, *, seconds: float = 30) -> None:
        """Wait until all tasks have ended."""
        self._wait({"tasks_ended": True}, seconds)

    def _wait(self, what: dict[str, object], seconds: float) -> None:
        body = {name: value for name, value in what.items() if value is not None} | {"seconds": seconds}
        ask(self._client, "POST", f"{self._path}/wait", body, patience=seconds)

    def unit_of_work(self, *, idle_seconds: float | None = None) -> RemoteUnitOfWork:
        """Begin a unit of work that stays open between requests."""
        query = {"idle_seconds": idle_seconds}
        unit: OpenUnitOfWork = ask(self._client, "POST", f"{self._path}/units-of-work", query=query)
        return RemoteUnitOfWork(self._client, unit["id"])


def _checked(options: tuple[str, ...]) -> list[str]:
    """The names of options in capitals, each of which INQUIRE TDQUEUE has."""
    for option in options:
        if option.upper() not in INQUIRE_OPTIONS["TDQUEUE"]:
            allowed = ", ".join(INQUIRE_OPTIONS["TDQUEUE"])
            raise UsageError(f"{option} is not an option of INQUIRE TDQUEUE; allowed are {allowed}")
    return [option.upper() for option in options]


def _values(state: TdqueueState) -> dict[str, object]:
    """The options of an answer, with CVDAs as such."""
    return {
        name: Cvda[each["cvda"]] if isinstance(each, dict) else each for name, each in state.items() if name != "name"
    }


def events(lines: Iterator[str]) -> Iterator[dict[str, Any]]:
    """The events of a stream; other lines only keep the connection open."""
    for line in lines:
        if line.startswith("data: "):
            try:
                event = json.loads(line.removeprefix("data: "))
            except ValueError:
                raise RemoteError(
                    200, {"detail": f"unexpected answer: an event that is not JSON: {line[:80]}"}
                ) from None
            yield event


class RemoteUnitOfWork(_Commands):
    """An open unit of work; a ``with`` block commits it at its normal end, and backs it out on an exception.

    Args:
        client: a client that is signed on.
        unit: the id of the unit of work.
    """

    __slots__ = ("_client", "_path")

    def __init__(self, client: ServerConnection, unit: str) -> None:
        self._client = client
        self._path = f"/units-of-work/{part(unit)}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.syncpoint()
            return
        try:
            self.syncpoint_rollback()
        except RemoteError as refused:  # an abend has already ended it
            if refused.status != HTTPStatus.NOT_FOUND:
                raise

    def execute(self, text: str, variables: Mapping[str, object] | None = None) -> CommandResult:
        """Execute an EXEC CICS command in the unit of work; see the method of the region."""
        body = {"text": text, "variables": _variables(variables or {})}
        return ask(self._client, "POST", f"{self._path}/exec", body)

    def ceci(self, text: str) -> CeciAnswer:
        """Execute a command as typed into CECI; return its parts, and the screen as ``text``."""
        return ask(self._client, "POST", f"{self._path}/ceci", {"text": text})

    def syncpoint(self) -> None:
        """Commit and end the unit of work."""
        ask(self._client, "POST", f"{self._path}/commit")

    def syncpoint_rollback(self) -> None:
        """Back out and end the unit of work."""
        ask(self._client, "DELETE", self._path)
