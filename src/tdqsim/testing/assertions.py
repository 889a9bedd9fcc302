"""Assertions whose failures show the actual state: records as text and hexadecimal, conditions with their RESP2."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from tdqsim.cics import Condition, Region, Task
from tdqsim.cics.inspection.remote_queues import followed_records
from tdqsim.cics.internals import core_of
from tdqsim.core.codepage import CodePage
from tdqsim.core.codepage import codepage as find_codepage
from tdqsim.core.record_list import several
from tdqsim.errors import UsageError, WrongType
from tdqsim.facts import Resp
from tdqsim.ibmi import System
from tdqsim.testing.text import hex_lines, show_record

_SHOWN = 20


def assert_records(
    owner: Region | System, queue: str, expected: Sequence[bytes | str], *, code_page: str | int | None = None
) -> None:
    """Assert that a queue holds these records, in this order; no record is removed.

    For a logically recoverable queue the committed records are compared; for a remote queue those of the queue in the
    region that has it.

    Args:
        owner: the region, or the IBM i system.
        queue: its name, or an alias; for a data queue ``LIBRARY/NAME``.
        expected: bytes, or text in the code page.
        code_page: the code page of the text, and of the records in the message; by default the region's or system's.

    Raises:
        AssertionError: the records differ; the message shows both, and the first record that differs as a dump.
        Condition, UsageError: there is no such queue, or its records cannot be listed.
        WrongType: the owner is neither a region nor a system, or a single record is given in place of a list.
    """
    if not isinstance(owner, Region | System):
        raise WrongType(f"assert_records of {owner!r}: a region or a system is needed")
    own = owner.options.code_page if isinstance(owner, Region) else find_codepage(owner.ccsid)
    page = own if code_page is None else find_codepage(code_page)
    wanted = [
        page.encode(record) if isinstance(record, str) else bytes(record)
        for record in several("assert_records: expected", expected, "records")
    ]
    actual = _records(owner, queue)
    if actual != wanted:
        raise AssertionError(_difference(queue, actual, wanted, page))


def _records(owner: Region | System, name: str) -> list[bytes]:
    if isinstance(owner, Region):
        records = followed_records(core_of(owner), name)
        if records is None:
            raise UsageError(f"queue {name} is in another region, which is not connected or does not have the queue")
        return records
    match = next((queue for queue in owner.queues() if queue.qualified == name.upper()), None)
    if match is None:
        names = ", ".join(queue.qualified for queue in owner.queues()) or "none"
        raise UsageError(f"system {owner.name} has no data queue {name}; there are {names}")
    return [entry.data for entry in match.stored.entries()]


def _difference(queue: str, actual: list[bytes], wanted: list[bytes], page: CodePage) -> str:
    lines = [f"queue {queue} holds {len(actual)} records, {len(wanted)} are expected"]
    for at in range(min(max(len(actual), len(wanted)), _SHOWN)):
        has = show_record(actual[at], page) if at < len(actual) else "(none)"
        want = show_record(wanted[at], page) if at < len(wanted) else "(none)"
        lines.append(f"  {at + 1:3} {has}" if has == want else f"! {at + 1:3} {has}   expected {want}")
    first = next((at for at, (has, want) in enumerate(zip(actual, wanted, strict=False)) if has != want), None)
    if first is not None:
        lines += [f"record {first + 1} is", *(f"  {line}" for line in hex_lines(actual[first], page))]
        lines += ["expected", *(f"  {line}" for line in hex_lines(wanted[first], page))]
        if text := _ascii_of(actual[first], wanted[first], page):
            lines.append(f"record {first + 1} is ASCII; the code page is {page.name}: write encode({text!r})")
    return "\n".join(lines)


def _ascii_of(actual: bytes, wanted: bytes, page: CodePage) -> str:
    """The text of a record that was written in ASCII where the code page's bytes are expected; empty if it was not."""
    if not actual.isascii() or not (text := actual.decode("ascii")).isprintable():
        return ""
    return text if page.encode(text) == wanted else ""


@dataclass(slots=True)
class Caught:
    """The condition that :func:`raises_condition` has caught.

    Attributes:
        condition: the condition; None until the block has ended.
    """

    condition: Condition | None = None


@contextmanager
def raises_condition(resp: Resp | str, resp2: int | None = None) -> Iterator[Caught]:
    """Assert that a block ends with a condition, such as ``"QZERO"``.

    Args:
        resp: the condition, or its name.
        resp2: RESP2; None for any.

    Raises:
        AssertionError: the block ended without a condition, or with another one.
    """
    wanted = Resp[resp] if isinstance(resp, str) else resp
    caught = Caught()
    try:
        yield caught
    except Condition as condition:
        caught.condition = condition
        got = f"{condition.resp.name} RESP2 {condition.resp2}"
        text = f"expected {wanted.name}{'' if resp2 is None else f' RESP2 {resp2}'}, got {got}: {condition.detail}"
        if condition.resp != wanted or resp2 not in (None, condition.resp2):
            raise AssertionError(text) from condition
    else:
        raise AssertionError(f"expected {wanted.name}, but nothing was raised")


def assert_resp(task: Task, resp: Resp | str = Resp.NORMAL, resp2: int | None = None) -> None:
    """Assert EIBRESP and EIBRESP2 after a command with NOHANDLE.

    Raises:
        AssertionError: EIBRESP or EIBRESP2 has another value.
    """
    wanted = Resp[resp] if isinstance(resp, str) else resp
    actual, actual2 = task.eib.eibresp, task.eib.eibresp2
    detail = f": {task.condition.detail}" if task.condition is not None and actual else ""
    assert actual == wanted, f"EIBRESP is {Resp(actual).name}, expected {wanted.name}{detail}"
    assert resp2 in (None, actual2), f"EIBRESP2 is {actual2}, expected {resp2}{detail}"
