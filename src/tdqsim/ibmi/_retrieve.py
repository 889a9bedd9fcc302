"""QMHRDQM: retrieve data queue messages without removing any; formats RDQM0100 and RDQM0200.

The answer is a header and one entry a message, each with the offset of the next. In RDQM0100 all entries have the same
length, the text padded with X'00'; in RDQM0200 an entry is as long as what was sent. A receiver that is too short gets
whole entries only (or a part of the header); bytes available tells the size of the full answer either way. The first
entry follows the header, whose reserved field is as long as the format table says.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple, overload

from tdqsim.core.codepage import CodePage, codepage
from tdqsim.core.store import Entry
from tdqsim.ibmi._declare import declare
from tdqsim.ibmi._dts import stamper
from tdqsim.ibmi._fact import LIMITS
from tdqsim.ibmi._job_core import JobCore
from tdqsim.ibmi._layout import layout, pack_binary
from tdqsim.ibmi._queue import DataQueue
from tdqsim.ibmi._receive import KEY_ORDERS
from tdqsim.ibmi._records import RDQM0100, RDQM0200, RDQS0100, RDQS0200, RetrievedMessage

__all__ = ["RetrieveApi", "Selection", "parse_messages"]

_RECORDS: dict[str, type[RDQM0100 | RDQM0200]] = {"RDQM0100": RDQM0100, "RDQM0200": RDQM0200}
_SELECTIONS = frozenset({RDQS0100.__name__, RDQS0200.__name__})


class Selection(NamedTuple):
    """A selection that passed its checks, with every number filled in."""

    type: str
    text_bytes: int
    key_bytes: int
    order: str = ""
    key: bytes = b""


class RetrieveApi(JobCore):
    """The API that looks at the messages of a data queue."""

    @overload
    def qmhrdqm(
        self,
        name: str,
        library: str,
        format: Literal["RDQM0100"] = ...,
        selection: RDQS0100 | RDQS0200 = ...,
    ) -> RDQM0100: ...

    @overload
    def qmhrdqm(
        self,
        name: str,
        library: str,
        format: Literal["RDQM0200"],
        selection: RDQS0100 | RDQS0200 = ...,
    ) -> RDQM0200: ...

    @declare("QMHRDQM")
    def qmhrdqm(
        self,
        name: str,
        library: str,
        format: str = "RDQM0100",  # noqa: A002
        selection: RDQS0100 | RDQS0200 = RDQS0100(),  # noqa: B008  (a frozen record)
    ) -> RDQM0100 | RDQM0200:
        """Retrieve messages from a data queue, removing none.

        Args:
            name: the data queue, 1 to 10 characters.
            library: its library, ``*LIBL`` or ``*CURLIB``.
            format: ``RDQM0100`` (text padded to the length asked for) or ``RDQM0200`` (text as it was sent).
            selection: which messages; all in queue order unless given.

        Raises:
            EscapeMessage: CPF3C21 format, CPF950B selection type, CPF9504 order, CPF950C bytes to retrieve, CPF950E not
                keyed, CPF950F key length, CPF9511 DDM queue, CPF9503 locked, and those of finding it.
        """
        data = self.retrieve(name, library, format, selection, None)
        self.give_turn()
        return parse_messages(data, format, self.page)

    def retrieve(
        self, name: str, library: str, format_name: str, selection: RDQS0100 | RDQS0200, receiver_length: int | None
    ) -> bytes:
        """The answer's bytes, as many as the receiver takes (None: all)."""
        self.check_usable()
        self.check_retrieval(format_name, type(selection).__name__, receiver_length)
        queue = self.open_for_retrieval(name, library)
        return self.answer(queue, format_name, selection, receiver_length)

    def check_retrieval(self, format_name: str, selection_format: str, receiver_length: int | None) -> None:
        """Refuse what can be refused before the queue is looked for."""
        for asked, known in ((format_name, _RECORDS), (selection_format, _SELECTIONS)):
            if asked not in known:
                self.fail("CPF3C21", asked)
        if receiver_length is not None and receiver_length < LIMITS["receiver_minimum"]:
            self.fail("CPF3C24")

    def open_for_retrieval(self, name: str, library: str) -> DataQueue:
        """The standard queue that is meant, after waiting for its lock when it enforces locks."""
        self.begin("QMHRDQM", name, library)
        queue = self.open_queue("QMHRDQM", self.object_name(name), self.object_name(library, "library"))
        if queue.ddm:
            self.fail("CPF9511", queue.name)
        self.await_lock("QMHRDQM", queue)
        return queue

    def answer(
        self, queue: DataQueue, format_name: str, selection: RDQS0100 | RDQS0200, receiver_length: int | None
    ) -> bytes:
        """The answer's bytes for a queue that was opened, as many as the receiver takes (None: all)."""
        return _answer(self, queue, format_name, self._check_selection(queue, selection), receiver_length)

    def _check_selection(self, queue: DataQueue, selection: RDQS0100 | RDQS0200) -> Selection:
        longest = queue.maxlen + (LIMITS["sender_id_length"] if queue.sender_id else 0)
        text = selection.number_of_message_text_bytes_to_retrieve
        text = longest if text is None else text
        if isinstance(selection, RDQS0100):
            if selection.selection_type not in ("A", "F", "L", "R"):
                self.fail("CPF950B")
            self._check_retrieve_length(text, LIMITS["text_bytes_maximum"])
            return Selection(selection.selection_type, text, 0)
        if not queue.keyed:
            self.fail("CPF950E")
        if selection.selection_type != "K":
            self.fail("CPF950B")
        if selection.key_search_order not in KEY_ORDERS:
            self.fail("CPF9504")
        wanted = selection.number_of_message_key_bytes_to_retrieve
        wanted = queue.key_length if wanted is None else wanted
        self._check_retrieve_length(text, LIMITS["text_bytes_maximum"])
        self._check_retrieve_length(wanted, LIMITS["key_bytes_maximum"])
        if len(selection.key) != queue.key_length:
            self.fail("CPF950F")
        return Selection("K", text, wanted, selection.key_search_order, bytes(selection.key))

    def _check_retrieve_length(self, asked: int, maximum: int) -> None:
        if not 0 <= asked <= maximum:
            self.fail("CPF950C")


def _chosen(queue: DataQueue, selection: Selection) -> Iterator[Entry]:
    stored = queue.stored
    if selection.type == "K":
        return stored.search(KEY_ORDERS[selection.order], selection.key)
    one = selection.type in ("F", "L")
    return stored.entries(reverse=selection.type in ("R", "L"), limit=1 if one else None)


class _Assembly(NamedTuple):
    """Entries as bytes, and what the header says about them."""

    body: bytes
    returned: int
    available: int
    bytes_available: int


def _answer(job: JobCore, queue: DataQueue, name: str, selection: Selection, limit: int | None) -> bytes:
    form = layout(name)
    longest = queue.maxlen + (LIMITS["sender_id_length"] if queue.sender_id else 0)
    fixed = layout(f"{name}.entry").length
    built = _assemble(job, queue, name, selection, limit)
    end = form.length + len(built.body)
    values: dict[str, Any] = {
        "bytes_returned": end if limit is None else min(limit, end),
        "bytes_available": built.bytes_available,
        "number_of_messages_returned": built.returned,
        "number_of_messages_available": built.available,
        "message_key_length_returned": selection.key_bytes,
        "message_key_length_available": queue.key_length,
        "maximum_message_text_length_requested": selection.text_bytes,
        "maximum_message_text_length_available": longest,
        "entry_length_returned": fixed + selection.key_bytes + selection.text_bytes,
        "entry_length_available": fixed + queue.key_length + longest,
        "offset_to_first_message_entry": form.length if built.returned else 0,
        "actual_data_queue_library_name": queue.library,
    }
    return (form.build(values, job.page) + built.body)[:limit]


def _assemble(job: JobCore, queue: DataQueue, name: str, selection: Selection, limit: int | None) -> _Assembly:
    start = offset = last = layout(name).length
    room = 2**31 if limit is None else limit
    padded = name == "RDQM0100"
    text_bytes, key_bytes = selection.text_bytes, selection.key_bytes
    parts: list[bytes] = []
    add, stamp = parts.append, stamper(job.system.offset_at)
    returned = left_out = left_out_bytes = 0
    head = layout(f"{name}.entry").head
    pack, fixed = head.pack, head.size + key_bytes
    for _, time_ns, key, sender, data in _chosen(queue, selection):
        text = sender + data if sender else data
        enqueued = len(text)
        size = fixed + (text_bytes if padded or text_bytes < enqueued else enqueued)
        if offset + size > room:
            room = 0  # whole entries only: nothing after the first that does not fit
            left_out += 1
            left_out_bytes += size
            continue
        last = offset
        offset += size
        returned += 1
        add(pack(offset, stamp(time_ns)) if padded else pack(offset, stamp(time_ns), enqueued))
        if key_bytes:
            add(key[:key_bytes].ljust(key_bytes, b"\0"))
        if text_bytes < enqueued:
            text = text[:text_bytes]
        add(text.ljust(text_bytes, b"\0") if padded else text)
    body = bytearray().join(parts)
    if returned:
        end = pack_binary(0)
        body[last - start : last - start + len(end)] = end
    return _Assembly(bytes(body), returned, returned + left_out, offset + left_out_bytes)


def parse_messages(data: bytes, format: str = "RDQM0100", page: CodePage | int = 37) -> RDQM0100 | RDQM0200:  # noqa: A002
    """The record of a QMHRDQM answer: the header, and the entries found by following the offsets.

    Args:
        data: the receiver's bytes.
        format: ``RDQM0100`` or ``RDQM0200``.
        page: code page of the library name, or its CCSID.

    Raises:
        ValueError: the bytes end before the header does, or an offset points outside them.
    """
    page = codepage(page)
    form = layout(format)
    header = form.parse(data, page)
    if len(data) < form.length:
        raise ValueError(f"{format}: {len(data)} bytes are less than the header, {form.length}")
    header = {name: value for name, value in header.items() if not name.startswith("reserved")}
    messages = _follow(data, format, header)
    if len(messages) != header["number_of_messages_returned"]:
        told = header["number_of_messages_returned"]
        raise ValueError(f"{format}: the header tells of {told} messages, the offsets of {len(messages)}")
    return _RECORDS[format](**header, messages=tuple(messages))


def _follow(data: bytes, format_name: str, header: dict[str, Any]) -> list[RetrievedMessage]:
    padded = format_name == "RDQM0100"
    key_length, asked = header["message_key_length_returned"], header["maximum_message_text_length_requested"]
    entry_head = layout(f"{format_name}.entry").head
    fixed = entry_head.size
    found: list[RetrievedMessage] = []
    offset = header["offset_to_first_message_entry"]
    while offset:
        if not 0 < offset <= len(data) - fixed or len(found) * fixed > len(data):
            raise ValueError(f"{format_name}: no entry at offset {offset}")
        following, stamp, *rest = entry_head.unpack_from(data, offset)
        enqueued = 0 if padded else rest[0]
        at = offset + fixed + key_length
        length = asked if padded else min(asked, enqueued)
        found.append(RetrievedMessage(stamp, enqueued, data[at - key_length : at], data[at : at + length]))
        offset = following
    return found
