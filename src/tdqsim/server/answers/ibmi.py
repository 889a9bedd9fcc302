"""Answers about IBM i systems and their data queues."""

from __future__ import annotations

from typing import Annotated, NotRequired

from pydantic import Field
from typing_extensions import TypedDict


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
    user: str


class IbmiSystemState(SystemSummary):
    """An IBM i system with its libraries and active jobs."""

    library_names: list[str]
    active_jobs: Annotated[list[ActiveJob], Field(description="the first 1000")]


class DataQueueInfo(TypedDict):
    """A row of DATA_QUEUE_INFO."""

    data_queue_library: str
    data_queue_name: str
    data_queue_type: str
    maximum_message_length: int | None
    sequence: str | None
    key_length: int | None
    include_sender_id: str | None
    current_messages: int | None
    maximum_messages: int | None
    specified_maximum_messages: int | None
    initial_message_allocation: int | None
    current_message_allocation: int | None
    force: str | None
    automatic_reclaim: str | None
    last_reclaim_timestamp: str | None
    enforce_data_queue_locks: str | None
    text_description: str | None
    remote_data_queue_library: str | None
    remote_data_queue: str | None
    remote_location: str | None
    relational_database_name: str | None
    appc_device_description: str | None
    local_location: str | None
    mode: str | None
    remote_network_id: str | None


class DataQueuePage(TypedDict):
    """Rows of DATA_QUEUE_INFO by library and name."""

    queues: list[DataQueueInfo]
    next: Annotated[str | None, Field(description="the value of after for the next page; null on the last page")]


class DataQueueDescription(TypedDict):
    """Format RDQD0100 of QMHQRDQD; bytes in hexadecimal."""

    bytes_returned: int
    bytes_available: int
    message_length: int
    key_length: int
    sequence: str
    include_sender_id: str
    force_indicator: str
    text_description: str
    type_of_data_queue: str
    automatic_reclaim: str
    enforce_data_queue_locks: str
    number_of_messages: int
    number_of_entries_currently_allocated: int
    data_queue_name_used: str
    data_queue_library_used: str
    maximum_number_of_entries_allowed: int
    initial_number_of_entries: int
    maximum_number_of_entries_specified: int
    last_reclaim_date_and_time: str


class DdmDataQueueDescription(TypedDict):
    """Format RDQD0200 of QMHQRDQD."""

    bytes_returned: int
    bytes_available: int
    appc_device_description: str
    mode: str
    remote_location_name: str
    local_location_name: str
    remote_network_identifier: str
    remote_data_queue_name: str
    remote_data_queue_library_name: str
    data_queue_name_used: str
    data_queue_library_used: str
    relational_database_name: str


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
