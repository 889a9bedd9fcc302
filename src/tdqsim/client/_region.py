"""A region of a server: the names of a task's methods. Each command is a task of its own, or is in a unit of work.

What a command takes and gives is what the task's method does: bytes as bytes, text in the region's code page, a
condition as :class:`~tdqsim.client.RemoteError` with its name. What a task gives as a record comes as a dictionary.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from http import HTTPStatus
from types import TracebackType
from typing import Any, Literal, Self, TypedDict, Unpack
from urllib.parse import quote

from tdqsim.client._http import LostConnection, RemoteError, ServerConnection
from tdqsim.client._option_words import TdqueueOption
from tdqsim.errors import UsageError

__all__ = ["RemoteRegion", "RemoteUnitOfWork"]

_Data = bytes | bytearray | str
Purgetype = Literal["PURGE", "purge", "FORCEPURGE", "forcepurge"]
Uowstate = Literal["COMMIT", "commit", "BACKOUT", "backout", "FORCE", "force"]


class SetTdqueueOptions(TypedDict, total=False):
    """What SET TDQUEUE changes; the names and words are those of a task's method."""

    atifacility: Literal["NOTERMINAL", "noterminal", "TERMINAL", "terminal"]
    atitermid: str
    atitranid: str
    atiuserid: str
    enablestatus: Literal["DISABLED", "disabled", "ENABLED", "enabled"]
    openstatus: Literal["CLOSED", "closed", "OPEN", "open"]
    triggerlevel: int


def _record(data: _Data) -> dict[str, str]:
    return {"hex": bytes(data).hex()} if not isinstance(data, str) else {"text": data}


def _variables(variables: Mapping[str, Any] | None) -> dict[str, Any]:
    given = (variables or {}).items()
    return {name: _record(value) if isinstance(value, (bytes, bytearray)) else value for name, value in given}


class _Commands:
    """What a region and a unit of work have in common: EXEC CICS commands.

    Args:
        client: signed on.
        path: of the resource that carries them out.
    """

    def __init__(self, client: ServerConnection, path: str) -> None:
        self._client = client
        self._path = path

    def execute(self, text: str, variables: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """An EXEC CICS command as text: its RESP and RESP2, what it received, and the variables behind it.

        Raises:
            RemoteError: a condition that the text does not take by RESP, an abend, or the text is no command.
        """
        body = {"text": text, "variables": _variables(variables)}
        return self._client.request("POST", f"{self._path}/exec", body)  # type: ignore[no-any-return]

    def _given(self, text: str, variables: dict[str, Any], **options: Any) -> dict[str, Any]:
        """A command with the options that are given, by the names of their variables."""
        there = {name.upper(): value for name, value in options.items() if value is not None and value is not False}
        words = [name if value is True else f"{name}({name})" for name, value in there.items()]
        values = {name: value for name, value in there.items() if value is not True}
        return self.execute(" ".join([text, *words]), variables | values)

    def readq_td(
        self, queue: str, length: int | None = None, *, sysid: str | None = None, nosuspend: bool = False
    ) -> bytes:
        """READQ TD: the record, which is gone then."""
        found = self._given(
            "READQ TD QUEUE(Q) INTO(REC)", {"Q": queue}, LENGTH=length, SYSID=sysid, NOSUSPEND=nosuspend
        )
        return bytes.fromhex(found["received"]["INTO"]["hex"])

    def writeq_td(self, queue: str, from_: _Data, length: int | None = None, *, sysid: str | None = None) -> None:
        """WRITEQ TD; text is in the region's code page."""
        self._given("WRITEQ TD QUEUE(Q) FROM(REC)", {"Q": queue, "REC": _record(from_)}, LENGTH=length, SYSID=sysid)

    def deleteq_td(self, queue: str, *, sysid: str | None = None) -> None:
        """DELETEQ TD."""
        self._given("DELETEQ TD QUEUE(Q)", {"Q": queue}, SYSID=sysid)

    def start(self, transid: str, from_: _Data | None = None, *, interval: int = 0) -> None:
        """START TRANSID, after an interval (HHMMSS); the task is another one."""
        data = None if from_ is None else _record(from_)
        self._given("START TRANSID(T)", {"T": transid}, FROM=data, INTERVAL=interval or None)

    def create_tdqueue(self, tdqueue: str, attributes: str) -> None:
        """CREATE TDQUEUE with attributes as DEFINE has them."""
        self._given("CREATE TDQUEUE(Q) ATTRIBUTES(A)", {"Q": tdqueue, "A": attributes})

    def perform_statistics(self, *, resetnow: bool = False) -> None:
        """PERFORM STATISTICS RECORD TDQUEUE."""
        self.execute("PERFORM STATISTICS RECORD TDQUEUE" + " RESETNOW" * resetnow)


class RemoteRegion(_Commands):
    """A region of a server; its commands are tasks of their own.

    Args:
        client: signed on.
        applid: which.
    """

    def __init__(self, client: ServerConnection, applid: str) -> None:
        super().__init__(client, f"/regions/{quote(applid, safe='')}")

    def about(self) -> dict[str, Any]:
        """APPLID, SYSID, code page and the like."""
        return self._client.request("GET", self._path)  # type: ignore[no-any-return]

    def queues(self, prefix: str = "") -> Iterator[dict[str, Any]]:
        """All queues, each with what INQUIRE TDQUEUE tells, in the order of their names."""
        after: str | None = None
        while True:
            query: dict[str, Any] = {"prefix": prefix or None, "after": after, "limit": 1000}
            page = self._client.request("GET", f"{self._path}/queues", **query)
            yield from page["queues"]
            after = page["next"]
            if after is None:
                return

    def _queue(self, queue: str) -> str:
        return f"{self._path}/queues/{quote(queue or ' ', safe='')}"  # an empty name has a place in the path too

    def writeq_td_all(self, queue: str, records: Iterable[bytes | str]) -> int:
        """WRITEQ TD of each record, in one task; at most 1000."""
        body = [_record(each) for each in records]
        self._client.request("POST", f"{self._queue(queue)}/records", body)
        return len(body)

    def seed(self, queue: str, records: Iterable[bytes | str]) -> int:
        """Put records on a queue without a task; at most 1000."""
        body = [_record(each) for each in records]
        return self._client.request("POST", f"{self._queue(queue)}/seed", body)["seeded"]  # type: ignore[no-any-return]

    def peek(self, queue: str, *, position: int = 0, limit: int = 100) -> list[bytes]:
        """Look at records without taking them."""
        found = self._client.request(
            "GET", f"{self._queue(queue)}/records", position=position, limit=limit, encoding="hex"
        )
        return [bytes.fromhex(record) for record in found["records"]]

    def decoded(self, queue: str, *, position: int = 0, limit: int = 100) -> list[dict[str, Any]]:
        """Look at records by the layout that region.yaml gives to the queue.

        Each is ``values`` by field, and ``problem`` where something is no value; numbers with a decimal point as text.
        """
        path = f"{self._queue(queue)}/records/decoded"
        return self._client.request("GET", path, position=position, limit=limit)["records"]  # type: ignore[no-any-return]

    def depth(self, queue: str) -> list[tuple[int, int]]:
        """NUMITEMS over time: (nanoseconds, depth), since when the queue has had which; true to the second."""
        found = self._client.request("GET", f"{self._queue(queue)}/depth")
        return [(time_ns, items) for time_ns, items in found["samples"]]

    def inquire_tdqueue(self, tdqueue: str, *options: TdqueueOption) -> dict[str, Any]:
        """INQUIRE TDQUEUE: with all options, or with those that are named; CVDAs as ``{"cvda": ..., "value": ...}``."""
        return _of(self._client.request("GET", self._queue(tdqueue)), options)

    def browse_tdqueue(self, *options: TdqueueOption) -> Iterator[dict[str, Any]]:
        """INQUIRE TDQUEUE of all queues, in the order of their names."""
        return (_of(each, options) for each in self.queues())

    def set_tdqueue(self, tdqueue: str, **options: Unpack[SetTdqueueOptions]) -> dict[str, Any]:
        """SET TDQUEUE; gives what INQUIRE tells then.

        Args:
            tdqueue: the queue's name.
            options: ATIFACILITY, ATITERMID, ATITRANID, ATIUSERID, ENABLESTATUS, OPENSTATUS, TRIGGERLEVEL.

        Raises:
            RemoteError: a condition of SET TDQUEUE, with its name, RESP and RESP2.
        """
        given = {name.lower(): value for name, value in options.items()}
        return self._client.request("PATCH", self._queue(tdqueue), given)  # type: ignore[no-any-return]

    def explain(self, queue: str, *, size: int = 1) -> dict[str, Any]:
        """Why a queue is as it is, and what each request would meet."""
        return self._client.request("GET", f"{self._queue(queue)}/explain", size=size)  # type: ignore[no-any-return]

    def statistics(self) -> dict[str, Any]:
        """The statistics of this moment."""
        return self._client.request("GET", f"{self._path}/statistics")  # type: ignore[no-any-return]

    def tasks(self) -> list[dict[str, Any]]:
        """The tasks that have begun and not ended."""
        return self._client.request("GET", f"{self._path}/tasks")  # type: ignore[no-any-return]

    def units_of_work(self) -> list[dict[str, Any]]:
        """The units of work."""
        return self._client.request("GET", f"{self._path}/units-of-work")  # type: ignore[no-any-return]

    def snapshot(self) -> dict[str, Any]:
        """The intrapartition queues with their records, for :meth:`restore`."""
        return self._client.request("GET", f"{self._path}/snapshot")  # type: ignore[no-any-return]

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Give the queues of a snapshot its records and states."""
        self._client.request("PUT", f"{self._path}/snapshot", snapshot)

    def install(self, definitions: str) -> list[str]:
        """Install the text of a definition file; gives the names."""
        found = self._client.request("POST", f"{self._path}/definitions", {"text": definitions})
        return found["names"]  # type: ignore[no-any-return]

    def definitions(self) -> dict[str, Any]:
        """What is installed now: ``yaml`` is the text of a definition file, ``data_sets`` the file of each DD name."""
        return self._client.request("GET", f"{self._path}/definitions")  # type: ignore[no-any-return]

    def discard_tdqueue(self, tdqueue: str) -> None:
        """DISCARD TDQUEUE."""
        self._client.request("DELETE", self._queue(tdqueue))

    def set_task(self, task: int, *, purgetype: Purgetype) -> None:
        """SET TASK: PURGE or FORCEPURGE."""
        self._client.request("DELETE", f"{self._path}/tasks/{task}", how=purgetype.upper())

    def set_uow(self, uow: bytes, *, uowstate: Uowstate) -> None:
        """SET UOW: end one that is in doubt by COMMIT, BACKOUT or FORCE."""
        self._client.request("POST", f"{self._path}/units-of-work/{uow.hex().upper()}/end", how=uowstate.upper())

    def faults(self, plan: str) -> None:
        """Put a fault plan to work, as FaultPlan.to_json writes it; an empty list takes it away."""
        self._client.request("PUT", f"{self._path}/faults", json.loads(plan))

    def jobs(self) -> Iterator[dict[str, Any]]:
        """The jobs that were submitted through the internal reader, in order; of a long one the first lines."""
        position = 0
        while page := self._client.request("GET", f"{self._path}/jobs", position=position):
            yield from page
            position += len(page)

    def job(self, number: int) -> list[str]:
        """The cards of a job."""
        with self._client.stream(f"{self._path}/jobs/{number}") as lines:
            return list(lines)

    def sysout(self, letter: str = "") -> Iterator[dict[str, Any]]:
        """The SYSOUT data sets, all or those of a class, in the order of their numbers."""
        after = 0
        query: dict[str, Any] = {"class": letter or None}
        while page := self._client.request("GET", f"{self._path}/sysout", after=after, **query):
            yield from page
            after = page[-1]["number"]

    def printed(self, number: int) -> Iterator[str]:
        """The lines of a SYSOUT data set as it is printed, as they come."""
        with self._client.stream(f"{self._path}/sysout/{number}") as lines:
            yield from lines

    def history(self, position: int = 0, *, follow: bool = True) -> Iterator[dict[str, Any]]:
        """What has happened, from a position on, and what happens from now on: each event as it comes.

        An event ``lost`` says how many are kept no more, or came too fast. When the connection is lost it is opened
        again, and goes on behind the last event.

        Args:
            position: of the first event wanted; the first of all is 0.
            follow: go on with what happens; False ends with what has happened.

        Raises (in the iteration):
            LostConnection: the server cannot be reached any more.
        """
        while True:
            try:
                with self._client.stream(f"{self._path}/history", position=position, follow=follow) as lines:
                    for event in _events(lines):
                        yield event
                        position = event.get("position", position - 1) + 1
            except LostConnection as lost:
                if not (lost.sent and follow):
                    raise
            else:
                return

    def cemt(self, text: str) -> dict[str, Any]:
        """A CEMT request: its rows, and the screen as ``text``."""
        return self._client.request("POST", f"{self._path}/cemt", {"text": text})  # type: ignore[no-any-return]

    def wait(self, queue: str, items: int | None = None, *, at_most: int | None = None, seconds: float = 30) -> None:
        """Wait until a queue has so many items.

        Args:
            queue: the queue.
            items: so many at least; one when neither number is given.
            at_most: so many at most.
            seconds: how long.

        Raises:
            RemoteError: with status 504: not in so many seconds.
        """
        self._wait({"queue": queue, "items": items, "at_most": at_most}, seconds)

    def wait_for_condition(self, condition: str, *, position: int | None = None, seconds: float = 30) -> None:
        """Wait until a command meets a condition, such as NOSPACE.

        Args:
            condition: its name.
            position: of the first event of the history that counts; what happens from now on unless given.
            seconds: how long; RemoteError with status 504 then.
        """
        self._wait({"condition": condition.upper(), "position": position}, seconds)

    def wait_for_task(self, task: int, *, seconds: float = 30) -> None:
        """Wait until a task has ended; a number that no task has is that of one which has."""
        self._wait({"task": task}, seconds)

    def wait_for_tasks(self, *, seconds: float = 30) -> None:
        """Wait until all tasks have ended."""
        self._wait({"tasks_ended": True}, seconds)

    def _wait(self, what: dict[str, Any], seconds: float) -> None:
        body = {name: value for name, value in what.items() if value is not None} | {"seconds": seconds}
        self._client.request("POST", f"{self._path}/wait", body, patience=seconds)

    def unit_of_work(self, *, idle_seconds: float | None = None) -> RemoteUnitOfWork:
        """Begin a unit of work that stays open between requests."""
        found = self._client.request("POST", f"{self._path}/units-of-work", idle_seconds=idle_seconds)
        return RemoteUnitOfWork(self._client, found["id"])


def _of(found: dict[str, Any], options: tuple[str, ...]) -> dict[str, Any]:
    if not options:
        return found
    for option in options:
        if option.upper() not in found:
            raise UsageError(f"{option} is no option of INQUIRE TDQUEUE; allowed are {', '.join(sorted(found))}")
    return {"name": found["name"], **{option.upper(): found[option.upper()] for option in options}}


def _events(lines: Iterator[str]) -> Iterator[dict[str, Any]]:
    """The events of a stream; lines that are none keep the connection open."""
    for line in lines:
        if line.startswith("data: "):
            yield json.loads(line.removeprefix("data: "))


class RemoteUnitOfWork(_Commands):
    """An open unit of work; as a context it is committed at the normal end and backed out by an exception.

    Args:
        client: signed on.
        unit: its id.
    """

    def __init__(self, client: ServerConnection, unit: str) -> None:
        super().__init__(client, f"/units-of-work/{unit}")

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
        except RemoteError as gone:  # an abend has ended it already
            if gone.status != HTTPStatus.NOT_FOUND:
                raise

    def ceci(self, text: str) -> dict[str, Any]:
        """A command as it is typed into CECI: its parts, and the screen as ``text``."""
        return self._client.request("POST", f"{self._path}/ceci", {"text": text})  # type: ignore[no-any-return]

    def syncpoint(self) -> None:
        """Commit, which ends it."""
        self._client.request("POST", f"{self._path}/commit")

    def syncpoint_rollback(self) -> None:
        """Back out, which ends it."""
        self._client.request("DELETE", self._path)
