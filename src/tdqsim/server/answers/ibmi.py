"""Answers about IBM i systems and their data queues."""

from __future__ import annotations

from typing import Annotated, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from tdqsim.server.answers.tables import DataQueueInfo


class SystemSummary(TypedDict):
    """An IBM i system."""

    name: str
    ccsid: int
    libraries: Annotated[int, Field(description="how many")]
    jobs: Annotated[int, Field(description="the number of active jobs")]
    ended: Annotated[str, Field(description="why the system has ended, as its store has failed; empty if it has not")]


class ActiveJob(TypedDict):
    """An active job."""

    job: Annotated[str, Field(description="the qualified name: number/user/name")]
    user: Annotated[str, Field(description="its current user: for a server job, the user of the client")]


class IbmiSystemState(SystemSummary):
    """An IBM i system with its libraries and active jobs."""

    library_names: list[str]
    active_jobs: Annotated[list[ActiveJob], Field(description="the first 1000")]


class DataQueuePage(TypedDict):
    """Rows of DATA_QUEUE_INFO by library and name."""

    queues: list[DataQueueInfo]
    next: Annotated[str | None, Field(description="the value of after for the next page; null on the last page")]


class ReceivedEntry(TypedDict):
    """An entry of a data queue."""

    data: Annotated[str, Field(description="in the requested encoding")]
    length: Annotated[int, Field(description="the length of the data in bytes")]
    key: Annotated[str | None, Field(description="the key of a keyed queue, in hexadecimal")]
    sender: Annotated[str | None, Field(description="the job that sent it, if the queue keeps sender ids")]


class BrowsedEntry(ReceivedEntry):
    """An entry that was read without removing it."""

    position: Annotated[int, Field(description="1 for the first")]
    current_user: str | None
    enqueued: Annotated[str, Field(description="when it was sent, in ISO form")]


class EntryPage(TypedDict):
    """Entries from a position on."""

    position: int
    entries: list[BrowsedEntry]


class ReceiveResult(TypedDict):
    """The result of QRCVDTAQ."""

    entry: Annotated[ReceivedEntry | None, Field(description="null if none arrived within the time limit")]


class SendResult(TypedDict):
    """The result of QSNDDTAQ."""

    sent: Annotated[int, Field(description="bytes")]
    entries: NotRequired[Annotated[int, Field(description="the number of entries, if a list was sent")]]


class ClearResult(TypedDict):
    """The result of QCLRDTAQ."""

    cleared: Annotated[int, Field(description="entries")]


class CommandMessages(TypedDict):
    """The messages of a CL command or an API."""

    messages: list[str]


class CreatedDataQueues(TypedDict):
    """Data queues that were created."""

    names: Annotated[list[str], Field(description="LIBRARY/NAME")]
