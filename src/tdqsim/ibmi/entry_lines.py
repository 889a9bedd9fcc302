"""Reading and writing entries of data queues as JSON lines, for people and scripts.

A line is an object with ``data`` (hexadecimal) or ``text`` (in the CCSID of the job), and ``key`` or ``key_text`` for a
keyed queue. A dump adds the enqueue time and the sender.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, Protocol

from tdqsim.core.codepage import CodePage
from tdqsim.core.hexadecimal import hex_bytes
from tdqsim.core.record_list import several
from tdqsim.errors import ConversionError, WrongValue
from tdqsim.ibmi.dts import dts_to_datetime, ns_to_dts
from tdqsim.ibmi.errors import ParameterError
from tdqsim.ibmi.job import Job
from tdqsim.ibmi.names import place
from tdqsim.ibmi.records import sender_of
from tdqsim.ibmi.retrieve import open_for_retrieval
from tdqsim.ibmi.send import check_entry

_LONGEST_LINE = 400_000
_KNOWN = frozenset({"data", "text", "key", "key_text", "time", "sender"})


class Converting(Protocol):
    """A job, local or on a server, whose code page converts text."""

    @property
    def page(self) -> CodePage:
        """The code page of text."""


class SeedEntry(NamedTuple):
    """One entry for :func:`seed_entries` to send."""

    data: bytes
    key: bytes | None


def dump_entries(job: Job, name: str, library: str = "") -> Iterator[dict[str, Any]]:
    """The entries of a queue, in its order, each as the object of one line; none is removed."""
    core = job._core
    queue = open_for_retrieval(core, name, library, "DATA_QUEUE_ENTRIES")
    for entry in queue.stored.entries():
        stamp = ns_to_dts(entry.time_ns, core.system.offset_at(entry.time_ns))
        line: dict[str, Any] = {"data": entry.data.hex().upper(), "text": job.page.printable(entry.data)}
        if queue.keyed:
            line["key"] = entry.key.hex().upper()
        line["time"] = dts_to_datetime(stamp).isoformat()
        sender = sender_of(entry.sender, job.page)
        if sender is not None:
            line["sender"] = {"job": str(sender), "current_user": sender.current_user}
        yield line


def parse_seed(job: Converting, lines: Iterable[str], *, file: str = "<seed>") -> list[SeedEntry]:
    """Parse entries from JSON lines, or from lines of plain text (those that do not begin with a brace).

    Raises:
        ParameterError: a line is not valid; the message names the file and line.
        WrongType: a text is given in place of its lines.
    """
    return [
        _seed_entry(job, text, f"{file}:{number}")
        for number, line in enumerate(several("parse_seed: lines", lines, "lines"), 1)
        if (text := line.rstrip("\r\n"))
    ]


def _seed_entry(job: Converting, text: str, place: str) -> SeedEntry:
    if len(text) > _LONGEST_LINE:
        raise ParameterError(f"{place}: a line has at most {_LONGEST_LINE} characters, this one {len(text)}")
    try:
        if not text.startswith("{"):
            return SeedEntry(job.page.encode(text), None)
        return _from_object(job, json.loads(text))
    except (ValueError, RecursionError, ConversionError) as error:
        raise ParameterError(f"{place}: {error}") from None


def _from_object(job: Converting, values: dict[str, Any]) -> SeedEntry:
    stray = sorted(set(values) - _KNOWN)
    if stray:
        raise WrongValue(f"{stray[0]!r} is not known; allowed are {', '.join(sorted(_KNOWN))}")
    data, key = _bytes(job, values, "data", "text"), _bytes(job, values, "key", "key_text")
    if data is None:
        raise WrongValue("data (hexadecimal) or text is needed")
    return SeedEntry(data, key)


def _bytes(job: Converting, values: dict[str, Any], as_hex: str, as_text: str) -> bytes | None:
    for name, convert in ((as_hex, hex_bytes), (as_text, job.page.encode)):
        if name in values:
            if not isinstance(values[name], str):
                raise WrongValue(f"{name} must be text")
            return convert(values[name])
    return None


def seed_entries(job: Job, name: str, library: str = "", entries: Iterable[SeedEntry] = ()) -> int:
    """Send entries in order; when the queue would refuse one of them, none is sent. Returns how many were sent.

    Raises:
        EscapeMessage: as for QSNDDTAQ. A full queue is not noticed in advance; the entries sent before stay on it.
    """
    wanted = list(entries)
    core = job._core
    core.check_usable()
    queue = core.open_queue("QSNDDTAQ", *place(name, library))
    if not queue.ddm:
        for entry in wanted:
            check_entry(core, queue, entry.data, entry.key)
    for entry in wanted:
        job.qsnddtaq(name, library, entry.data, entry.key)
    return len(wanted)
