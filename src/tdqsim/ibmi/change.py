"""QMHQCDQ: change the two attributes of a data queue that can be changed after CRTDTAQ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tdqsim.ibmi.declare import declare
from tdqsim.ibmi.errors import ParameterError, check_flags
from tdqsim.ibmi.fact_tables import LIMITS
from tdqsim.ibmi.job_core import JobCore
from tdqsim.ibmi.layouts import layout
from tdqsim.ibmi.names import place
from tdqsim.ibmi.queue import DataQueue

AUTOMATIC_RECLAIM = LIMITS["reclaim_key"]
ENFORCE_DATA_QUEUE_LOCKS = LIMITS["enforce_key"]


class Change(NamedTuple):
    """One change for QMHQCDQ: a key and the bytes of the new value."""

    key: int
    value: bytes


@declare("QMHQCDQ")
def qmhqcdq(
    job: JobCore,
    name: str,
    library: str = "",
    changes: Sequence[Change] = (),
    *,
    automatic_reclaim: bool | None = None,
    enforce_data_queue_locks: bool | None = None,
) -> None:
    """Change attributes of a standard data queue.

    Args:
        name: the data queue: ``"LIB/NAME"``, or a name of 1 to 10 characters.
        library: its library, ``*LIBL`` (the default) or ``*CURLIB``.
        changes: records of key and value as in the byte form; of several with the same key the last one counts.
        automatic_reclaim: key 100: shrink to the initial number of entries when the queue becomes empty.
        enforce_data_queue_locks: key 200: data queue operations respect the locks of ALCOBJ.

    Raises:
        EscapeMessage: CPF3C88 no record, CPF3C82 key, CPF3C81 value, CPF9511 DDM queue, CPF9803 locked, CPF9503 a
            job waits in a receive that removes, and those of finding it.
        ParameterError: a value is neither True nor False.
    """
    if not isinstance(library, str):
        raise ParameterError(f"library is {type(library).__name__}; pass the changes by name: changes=[Change(...)]")
    named = (
        (AUTOMATIC_RECLAIM, automatic_reclaim),
        (ENFORCE_DATA_QUEUE_LOCKS, enforce_data_queue_locks),
    )
    check_flags(**{f"key {key}": on for key, on in named if on is not None})
    digits = job.page.encode("01")
    records = [*changes, *(Change(key, digits[on : on + 1]) for key, on in named if on is not None)]
    change(job, name, library, records)
    job.give_turn()


def change(job: JobCore, name: str, library: str, records: Sequence[Change]) -> None:
    """Check every record, then apply them all; both forms call this."""
    name, library = place(name, library)
    job.begin("QMHQCDQ", name, library)
    values = _checked(job, records)
    queue = job.open_queue("QMHQCDQ", name, library)
    if queue.ddm:
        job.fail("CPF9511", queue.name)
    job.await_lock("QMHQCDQ", queue)
    if any(waiter.remove for waiter in queue.waiters):
        job.fail("CPF9503", queue.name, queue.library)
    _apply(job, queue, values)


def _checked(job: JobCore, records: Sequence[Change]) -> dict[int, bool]:
    if not records:
        job.fail("CPF3C88", 0)
    last: dict[int, bytes] = {}
    for key, raw in records:
        if key not in (AUTOMATIC_RECLAIM, ENFORCE_DATA_QUEUE_LOCKS):
            job.fail("CPF3C82", key, "QMHQCDQ")
        last[key] = raw
    return {key: _value(job, key, raw) for key, raw in last.items()}  # of a repeated key only the last value counts


def _value(job: JobCore, key: int, raw: bytes) -> bool:
    # A value longer than CHAR(1) is cut; a shorter one is padded with a blank, which is not valid.
    value = job.page.printable(raw[:1])
    if value not in ("0", "1"):
        job.fail("CPF3C81", key)
    return value == "1"


def _apply(job: JobCore, queue: DataQueue, values: dict[int, bool]) -> None:
    autorcl = values.get(AUTOMATIC_RECLAIM, queue.autorcl)
    enforce = values.get(ENFORCE_DATA_QUEUE_LOCKS, queue.enforce)
    job.system.objects.change(queue, {"autorcl": autorcl, "enforce": enforce})
    job.note("QMHQCDQ", queue, autorcl=queue.autorcl, enforce=queue.enforce)


def parse_changes(job: JobCore, data: bytes) -> list[Change]:
    """The records of the byte form: a count, then key, length and value of each, one right after the other.

    Raises:
        EscapeMessage: CPF3C88 a count below 1, CPF3C4D a negative length, CPF24B4 the bytes end before the records do.
    """
    head, form = layout("CDQ.head"), layout("CDQ.record")
    if len(data) < head.length:
        job.fail("CPF24B4")
    count = head.parse(data, job.page)["number_of_records"]
    if count < 1:
        job.fail("CPF3C88", count)
    records, offset = [], head.length
    for _ in range(count):
        fixed = form.parse(data[offset : offset + form.length], job.page)
        if "length" not in fixed:
            job.fail("CPF24B4")
        key, length = fixed["key"], fixed["length"]
        if length < 0:
            job.fail("CPF3C4D", length, key, rule="DTAQ-CHANGE-LENGTH")
        offset += form.length
        if offset + length > len(data):
            job.fail("CPF24B4")
        records.append(Change(key, data[offset : offset + length]))
        offset += length
    return records
