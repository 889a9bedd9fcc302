"""The results of the Python forms: named tuples, one type for each format.

The field names are those of the format tables (checked at import). Text is without trailing blanks, numbers are
integers, and stamps are the eight bytes of a *DTS (:func:`tdqsim.ibmi.dts_to_datetime` converts them).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal, NamedTuple

from tdqsim.core.codepage import CodePage
from tdqsim.ibmi.layouts import layout

KeyOrder = Literal["GT", "LT", "NE", "EQ", "GE", "LE"]
"""The relation that the key of an entry must have to the search key."""


class SenderId(NamedTuple):
    """The sender of an entry: job name, user and number of the job, and its current user profile at the send."""

    job_name: str
    user: str
    number: str
    current_user: str

    def __str__(self) -> str:
        """The qualified job name, ``number/user/name``."""
        return f"{self.number}/{self.user}/{self.job_name}"


class DataQueueEntry(NamedTuple):
    """The result of QRCVDTAQ.

    Attributes:
        data: the bytes moved to the caller, at most the receiver's size.
        length: the length of the whole entry in bytes.
        key: its key; empty for a queue without keys.
        sender: its sender, or None for a queue without sender IDs.
    """

    data: bytes
    length: int
    key: bytes
    sender: SenderId | None


class RDQD0100(NamedTuple):
    """Format RDQD0100: the basic description of a data queue."""

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
    last_reclaim_date_and_time: bytes


class RDQD0200(NamedTuple):
    """Format RDQD0200: the description of a DDM data queue."""

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


class RetrievedMessage(NamedTuple):
    """One entry of QMHRDQM.

    Attributes:
        message_enqueue_date_and_time: *DTS.
        enqueued_message_entry_length: the length that was sent, plus 36 with a sender ID; 0 in RDQM0100, which does not
            have this field.
        message_key: the requested number of bytes of the key.
        message_text: the text, preceded by the sender ID if the queue has sender IDs.
    """

    message_enqueue_date_and_time: bytes
    enqueued_message_entry_length: int
    message_key: bytes
    message_text: bytes


class RDQM0100(NamedTuple):
    """Format RDQM0100: header and entries of equal length."""

    bytes_returned: int
    bytes_available: int
    number_of_messages_returned: int
    number_of_messages_available: int
    message_key_length_returned: int
    message_key_length_available: int
    maximum_message_text_length_requested: int
    maximum_message_text_length_available: int
    entry_length_returned: int
    entry_length_available: int
    offset_to_first_message_entry: int
    actual_data_queue_library_name: str
    messages: tuple[RetrievedMessage, ...]


class RDQM0200(NamedTuple):
    """Format RDQM0200: header, and entries of the length that was enqueued."""

    bytes_returned: int
    bytes_available: int
    number_of_messages_returned: int
    number_of_messages_available: int
    message_key_length_returned: int
    message_key_length_available: int
    maximum_message_text_length_requested: int
    maximum_message_text_length_available: int
    offset_to_first_message_entry: int
    actual_data_queue_library_name: str
    messages: tuple[RetrievedMessage, ...]


class RDQS0100(NamedTuple):
    """Selection RDQS0100: A all in queue order, F the first, L the last, R all in reverse order.

    None as the number of text bytes means the maximum.
    """

    selection_type: str = "A"
    number_of_message_text_bytes_to_retrieve: int | None = None


class RDQS0200(NamedTuple):
    """Selection RDQS0200, for keyed queues: K all entries whose keys have the relation to ``key``.

    None as the number of text bytes means the maximum, as the number of key bytes KEYLEN.
    """

    key: bytes
    key_search_order: str = "EQ"
    number_of_message_text_bytes_to_retrieve: int | None = None
    number_of_message_key_bytes_to_retrieve: int | None = None
    selection_type: str = "K"


@lru_cache(maxsize=1024)
def sender_of(sender_id: bytes, page: CodePage) -> SenderId | None:
    """Parse a 36-byte sender ID; None for an empty one."""
    if not sender_id:
        return None
    return SenderId(**layout("SENDERID").parse(sender_id, page))


def _agree() -> None:
    for record in (RDQD0100, RDQD0200, RDQM0100, RDQM0200, SenderId):
        name = "SENDERID" if record is SenderId else record.__name__
        declared = [field.name for field in layout(name).fields if not field.name.startswith("reserved")]
        assert [field for field in record._fields if field != "messages"] == declared, name


_agree()
