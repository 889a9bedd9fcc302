"""Assertions whose failures show the actual state: records as text and hexadecimal, conditions with their RESP2."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from tdqsim.cics import Condition, Region, Task
from tdqsim.cics.inspection.remote_queues import followed_records
from tdqsim.cics.internals import core_of
from tdqsim.cics.kernel.handling import condition_named
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


def raises_condition(resp: Resp | str, resp2: int | None = None) -> AbstractContextManager[Caught]:
    """Assert that a block ends with a condition, such as ``"QZERO"``.

    Args:
        resp: the condition, or its name.
        resp2: RESP2; None for any.

    Raises:
        AssertionError: the block ended without a condition, or with another one.
        UsageError: there is no condition of that name.
    """
    return _Raises(condition_named(resp), resp2)


class _Raises:
    """A block that must end with a condition; a class, as of a generator pytest would show the lines of contextlib."""

    def __init__(self, wanted: Resp, resp2: int | None) -> None:
        self._wanted, self._resp2 = wanted, resp2
        self._caught = Caught()

    def __enter__(self) -> Caught:
        return self._caught

    def __exit__(self, kind: object, error: BaseException | None, _traceback: object) -> bool:
        if error is None:
            raise AssertionError(f"expected {self._wanted.name}, but nothing was raised")
        if not isinstance(error, Condition):
            return False
        self._caught.condition = error
        if error.resp != self._wanted or self._resp2 not in (None, error.resp2):
            wanted = f"{self._wanted.name}{'' if self._resp2 is None else f' RESP2 {self._resp2}'}"
            raise AssertionError(
                f"expected {wanted}, got {error.resp.name} RESP2 {error.resp2}: {error.detail}"
            ) from error
        return True


def assert_resp(task: Task, resp: Resp | str = Resp.NORMAL, resp2: int | None = None) -> None:
    """Assert EIBRESP and EIBRESP2 after a command with NOHANDLE.

    Raises:
        AssertionError: EIBRESP or EIBRESP2 has another value.
    """
    wanted = condition_named(resp)
    actual, actual2 = task.eib.eibresp, task.eib.eibresp2
    detail = f": {task.condition.detail}" if task.condition is not None and actual else ""
    assert actual == wanted, f"EIBRESP is {Resp(actual).name}, expected {wanted.name}{detail}"
    assert resp2 in (None, actual2), f"EIBRESP2 is {actual2}, expected {resp2}{detail}"
