"""QMHRDQM: retrieve data queue messages without removing any; formats RDQM0100 and RDQM0200.

The answer is a header and one entry for each message, with the offset of the next entry. In RDQM0100 all entries have
the same length, and the text is padded with X'00'; in RDQM0200 an entry has the length that was sent. A receiver that
is too short gets only complete entries (or a part of the header). Bytes available is always the size of the full
answer. It is computed from the queue's counts where possible, so that a short receiver is fast on a long queue too. A
field of four bytes has at most the value 2,147,483,647, also for larger numbers. The first entry follows the header;
the length of the header's reserved field is in the format table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Literal, NamedTuple, overload

from tdqsim.core.codepage import CodePage, codepage
from tdqsim.core.store import Entry
from tdqsim.errors import WrongValue
from tdqsim.ibmi.declare import declare
from tdqsim.ibmi.dts import stamper
from tdqsim.ibmi.errors import ParameterError
from tdqsim.ibmi.fact_tables import LIMITS
from tdqsim.ibmi.job_core import JobBase, JobCore
from tdqsim.ibmi.layouts import layout, pack_binary
from tdqsim.ibmi.names import place
from tdqsim.ibmi.queue import DataQueue
from tdqsim.ibmi.receive import KEY_ORDERS
from tdqsim.ibmi.records import RDQM0100, RDQM0200, RDQS0100, RDQS0200, RetrievedMessage

_RECORDS: dict[str, type[RDQM0100 | RDQM0200]] = {"RDQM0100": RDQM0100, "RDQM0200": RDQM0200}
_record: Callable[[tuple[bytes, int, bytes, bytes]], RetrievedMessage] = partial(tuple.__new__, RetrievedMessage)
"""As ``RetrievedMessage._make``, but without its check of the length, which is slow for 100,000 entries."""
_SELECTIONS = frozenset({RDQS0100.__name__, RDQS0200.__name__})


class Selection(NamedTuple):
    """A checked selection, with all default values filled in."""

    type: str
    text_bytes: int
    key_bytes: int
    order: str = ""
    key: bytes = b""


@overload
def qmhrdqm(
    job: JobBase,
    /,
    name: str,
    library: str = ...,
    format: Literal["RDQM0100"] = ...,
    selection: RDQS0100 | RDQS0200 = ...,
) -> RDQM0100: ...


@overload
def qmhrdqm(
    job: JobBase,
    /,
    name: str,
    library: str,
    format: Literal["RDQM0200"],
    selection: RDQS0100 | RDQS0200 = ...,
) -> RDQM0200: ...


@overload
def qmhrdqm(
    job: JobBase,
    /,
    name: str,
    library: str = ...,
    *,
    format: Literal["RDQM0200"],
    selection: RDQS0100 | RDQS0200 = ...,
) -> RDQM0200: ...


@declare("QMHRDQM")
def qmhrdqm(
    job: JobCore,
    name: str,
    library: str = "",
    format: str = "RDQM0100",
    selection: RDQS0100 | RDQS0200 = RDQS0100(),  # noqa: B008  (a frozen record)
) -> RDQM0100 | RDQM0200:
    """Retrieve messages from a data queue without removing them.

    Args:
        name: the data queue: ``"LIB/NAME"``, or a name of 1 to 10 characters.
        library: its library, ``*LIBL`` (the default) or ``*CURLIB``.
        format: ``RDQM0100`` (text padded to the requested length) or ``RDQM0200`` (text as sent).
        selection: which messages; by default all, in queue order.

    Raises:
        EscapeMessage: CPF3C21 format, CPF950B selection type, CPF9504 order, CPF950C bytes to retrieve, CPF950E not
            keyed, CPF950F key length, CPF9511 DDM queue, CPF9503 locked, and those for finding the queue.
    """
    job.check_usable()
    if not isinstance(selection, RDQS0100 | RDQS0200):
        raise ParameterError(
            f"selection is {type(selection).__name__}; allowed are RDQS0100('F') and other selections of that format,"
            " and RDQS0200(key, order)"
        )
    check_retrieval(job, format, type(selection).__name__, None)
    queue = open_for_retrieval(job, name, library)
    chosen = _check_selection(job, queue, selection)
    messages = tuple(map(_record, _messages(job, queue, format, chosen)))
    _note(job, queue, chosen, len(messages))
    length = len(messages) * _fixed(format, chosen) + sum(len(message.message_text) for message in messages)
    header = _header(queue, format, chosen, len(messages), len(messages), layout(format).length + length)
    job.give_turn()
    return _RECORDS[format](**header, messages=messages)


def retrieve(
    job: JobCore, name: str, library: str, format_name: str, selection: RDQS0100 | RDQS0200, receiver_length: int | None
) -> bytes:
    """The bytes of the answer, cut to the receiver's length (None: all of it)."""
    job.check_usable()
    check_retrieval(job, format_name, type(selection).__name__, receiver_length)
    queue = open_for_retrieval(job, name, library)
    return answer(job, queue, format_name, selection, receiver_length)


def check_retrieval(job: JobCore, format_name: str, selection_format: str, receiver_length: int | None) -> None:
    """Check the formats and the receiver's length, before the queue is looked up."""
    for asked, known in ((format_name, _RECORDS), (selection_format, _SELECTIONS)):
        if asked not in known:
            job.fail("CPF3C21", asked)
    if receiver_length is not None and receiver_length < LIMITS["receiver_minimum"]:
        job.fail("CPF3C24")


def open_for_retrieval(job: JobCore, name: str, library: str, operation: str = "QMHRDQM") -> DataQueue:
    """Find the standard queue whose entries an operation reads, and wait for its lock if it enforces locks."""
    name, library = place(name, library)
    job.begin(operation, name, library)
    queue = job.open_queue("QMHRDQM", name, library)
    if queue.ddm:
        job.fail("CPF9511", queue.name)
    job.await_lock("QMHRDQM", queue)
    return queue


def answer(
    job: JobCore, queue: DataQueue, format_name: str, selection: RDQS0100 | RDQS0200, receiver_length: int | None
) -> bytes:
    """The bytes of the answer for an opened queue, cut to the receiver's length (None: all of it)."""
    return _answer(job, queue, format_name, _check_selection(job, queue, selection), receiver_length)


def _check_selection(job: JobCore, queue: DataQueue, selection: RDQS0100 | RDQS0200) -> Selection:
    text = selection.number_of_message_text_bytes_to_retrieve
    text = queue.longest_text if text is None else text
    if isinstance(selection, RDQS0100):
        if selection.selection_type not in ("A", "F", "L", "R"):
            job.fail("CPF950B")
        _check_retrieve_length(job, text, LIMITS["text_bytes_maximum"])
        return Selection(selection.selection_type, text, 0)
    if not queue.keyed:
        job.fail("CPF950E")
    if selection.selection_type != "K":
        job.fail("CPF950B")
    if selection.key_search_order not in KEY_ORDERS:
        job.fail("CPF9504")
    wanted = selection.number_of_message_key_bytes_to_retrieve
    wanted = queue.key_length if wanted is None else wanted
    _check_retrieve_length(job, text, LIMITS["text_bytes_maximum"])
    _check_retrieve_length(job, wanted, LIMITS["key_bytes_maximum"])
    if len(selection.key) != queue.key_length:
        possible = LIMITS["key_length_minimum"] <= len(selection.key) <= LIMITS["key_bytes_maximum"]
        job.fail("CPF950F", rule="DTAQ-RETRIEVE-KEY-LENGTH" if possible else "DTAQ-RETRIEVE-KEY-RANGE")
    return Selection("K", text, wanted, selection.key_search_order, bytes(selection.key))


def _check_retrieve_length(job: JobCore, asked: int, maximum: int) -> None:
    if not 0 <= asked <= maximum:
        job.fail("CPF950C")


def _chosen(queue: DataQueue, selection: Selection, most: int | None) -> Iterator[Entry]:
    if selection.type == "K":
        return queue.stored.matching(KEY_ORDERS[selection.order], selection.key)
    one = selection.type in ("F", "L")
    return queue.stored.entries(reverse=selection.type in ("R", "L"), limit=1 if one else most)


def _messages(
    job: JobCore, queue: DataQueue, name: str, selection: Selection, most: int | None = None
) -> Iterator[tuple[bytes, int, bytes, bytes]]:
    """The fields of each entry of the answer, in the order of :class:`RetrievedMessage`; ``most`` limits A and R."""
    padded = name == "RDQM0100"
    text_bytes, key_bytes = selection.text_bytes, selection.key_bytes
    stamp = stamper(job.system.offset_at)
    wanted = b""
    for data, key, sender, time_ns in _chosen(queue, selection, most):
        text = sender + data if sender else data
        enqueued = len(text)
        if text_bytes < enqueued:
            text = text[:text_bytes]
        elif padded:
            text = text.ljust(text_bytes, b"\0")
        if key_bytes:
            wanted = key[:key_bytes].ljust(key_bytes, b"\0")
        yield stamp(time_ns), 0 if padded else enqueued, wanted, text


def _note(job: JobCore, queue: DataQueue, selection: Selection, count: int) -> None:
    if queue.trace is not None:
        info: dict[str, Any] = {"selection": selection.type, "messages": count}
        if selection.type == "K":
            info |= {"key_order": selection.order, "key": selection.key.hex()}
        job.note("QMHRDQM", queue, **info)


def _fixed(name: str, selection: Selection) -> int:
    """The bytes of each entry before its text."""
    return layout(f"{name}.entry").length + selection.key_bytes


def _header(
    queue: DataQueue, name: str, selection: Selection, returned: int, available: int, bytes_available: int
) -> dict[str, Any]:
    """The values of the header, for an answer that is returned completely."""
    values = {
        "bytes_returned": bytes_available,
        "bytes_available": bytes_available,
        "number_of_messages_returned": returned,
        "number_of_messages_available": available,
        "message_key_length_returned": selection.key_bytes,
        "message_key_length_available": queue.key_length,
        "maximum_message_text_length_requested": selection.text_bytes,
        "maximum_message_text_length_available": queue.longest_text,
        "offset_to_first_message_entry": layout(name).length if returned else 0,
        "actual_data_queue_library_name": queue.library,
    }
    if name == "RDQM0100":
        values["entry_length_returned"] = _fixed(name, selection) + selection.text_bytes
        values["entry_length_available"] = layout(f"{name}.entry").length + queue.key_length + queue.longest_text
    return values


def _whole_size(queue: DataQueue, name: str, selection: Selection) -> tuple[int, int] | None:
    """The number and bytes of all selected messages, from the queue's counts; None if the entries must be read."""
    if selection.type not in ("A", "R") or queue.stored.promised:
        return None
    count, each = queue.count, _fixed(name, selection)
    if name == "RDQM0100":
        return count, count * (each + selection.text_bytes)
    if not selection.text_bytes:
        return count, count * each
    if selection.text_bytes < queue.longest_text:
        return None
    return count, count * each + queue.stored.text_bytes


def _answer(job: JobCore, queue: DataQueue, name: str, selection: Selection, limit: int | None) -> bytes:
    form = layout(name)
    start = offset = last = form.length
    room = 2**31 if limit is None else limit
    padded = name == "RDQM0100"
    pack, fixed = layout(f"{name}.entry").head.pack, _fixed(name, selection)
    parts: list[bytes] = []
    add = parts.append
    returned = left_out = left_out_bytes = 0
    known = _whole_size(queue, name, selection) if limit is not None else None
    most = None if known is None else room // fixed + 1  # more than fit, so that the loop sees one that does not
    for stamp, enqueued, key, text in _messages(job, queue, name, selection, most):
        size = fixed + len(text)
        if offset + size > room:
            room = 0  # no entry after the first one that does not fit
            if known is not None:
                left_out, left_out_bytes = known[0] - returned, known[1] - (offset - start)
                break
            left_out += 1
            left_out_bytes += size
            continue
        last = offset
        offset += size
        returned += 1
        add(pack(offset, stamp) if padded else pack(offset, stamp, enqueued))
        if key:
            add(key)
        add(text)
    _note(job, queue, selection, returned + left_out)
    body = bytearray().join(parts)
    if returned:
        end = pack_binary(0)
        body[last - start : last - start + len(end)] = end
    values = _header(queue, name, selection, returned, returned + left_out, offset + left_out_bytes)
    values["bytes_returned"] = offset if limit is None else min(limit, offset)
    return (form.build(values, job.page) + body)[:limit]


def parse_messages(data: bytes, format: str = "RDQM0100", page: CodePage | int = 37) -> RDQM0100 | RDQM0200:
    """Parse an answer of QMHRDQM: the header, and the entries, by following the offsets.

    Args:
        data: the bytes of the receiver.
        format: ``RDQM0100`` or ``RDQM0200``.
        page: the code page of the library name, or its CCSID.

    Raises:
        ValueError: the bytes end before the header does, or an offset points outside the bytes.
    """
    page = codepage(page)
    form = layout(format)
    header = form.parse(data, page)
    if len(data) < form.length:
        raise WrongValue(f"{format}: {len(data)} bytes are less than the header, {form.length}")
    header = {name: value for name, value in header.items() if not name.startswith("reserved")}
    messages = _follow(data, format, header)
    if len(messages) != header["number_of_messages_returned"]:
        expected = header["number_of_messages_returned"]
        raise WrongValue(f"{format}: the header counts {expected} messages, the offsets lead to {len(messages)}")
    return _RECORDS[format](**header, messages=tuple(messages))


def _follow(data: bytes, format_name: str, header: dict[str, Any]) -> list[RetrievedMessage]:
    padded = format_name == "RDQM0100"
    key_length, asked = header["message_key_length_returned"], header["maximum_message_text_length_requested"]
    entry_head = layout(f"{format_name}.entry").head
    fixed = entry_head.size
    messages: list[RetrievedMessage] = []
    offset = header["offset_to_first_message_entry"]
    while offset:
        if not 0 < offset <= len(data) - fixed or len(messages) * fixed > len(data):
            raise WrongValue(f"{format_name}: no entry at offset {offset}")
        following, stamp, *rest = entry_head.unpack_from(data, offset)
        enqueued = 0 if padded else rest[0]
        at = offset + fixed + key_length
        length = asked if padded else min(asked, enqueued)
        messages.append(RetrievedMessage(stamp, enqueued, data[at - key_length : at], data[at : at + length]))
        offset = following
    return messages
