"""The one slot that sees every command: what it may see, and that it costs nothing when it is empty."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tdqsim.cics import Condition, Region, Task
from tdqsim.facts import Resp
from tdqsim.faults import add_hook, remove_hook


class Recording:
    """Notes every command, and breaks the one it is told to."""

    def __init__(self, breaks: str = "") -> None:
        self.seen: list[tuple[str, str, Any]] = []
        self.breaks = breaks

    def before(self, _task: Task, command: str, arguments: Mapping[str, Any]) -> None:
        self.seen.append(("before", command, arguments.get("queue")))
        if command == self.breaks:
            raise Condition(Resp.IOERR, detail="broken on purpose")

    def after(self, _task: Task, command: str, _arguments: Mapping[str, Any], outcome: object) -> None:
        self.seen.append(("after", command, outcome.name if isinstance(outcome, Condition) else outcome))


@pytest.mark.parametrize("queue", ["NOQ", "LOGQ", "PHYQ"])
def test_a_hook_sees_every_command(region: Region, queue: str) -> None:
    hook = Recording()
    add_hook(region, hook)
    with region.task() as task:
        task.writeq_td(queue, b"x")
        assert task.readq_td(queue) == b"x"
        task.readq_td(queue, nohandle=True)
    assert hook.seen == [
        ("before", "WRITEQ TD", queue), ("after", "WRITEQ TD", None),
        ("before", "READQ TD", queue), ("after", "READQ TD", b"x"),
        ("before", "READQ TD", queue), ("after", "READQ TD", "QZERO"),
    ]  # fmt: skip
    remove_hook(region, hook)
    region.writeq_td(queue, b"x")
    assert len(hook.seen) == 6


@pytest.mark.parametrize("queue", ["NOQ", "LOGQ"])
def test_a_hook_may_break_a_command(region: Region, queue: str) -> None:
    region.writeq_td(queue, b"x")
    add_hook(region, Recording(breaks="READQ TD"))
    with region.task() as task:
        with pytest.raises(Condition, match="broken on purpose"):
            task.readq_td(queue)
        assert task.eib.eibresp is Resp.IOERR
    assert region.peek(queue) == [b"x"]
