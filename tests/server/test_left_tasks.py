"""Tasks of a served region whose program ends by an exception that is no abend."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

import pytest

pytest.importorskip("fastapi", reason="the extra [serve] is not installed")

from tdqsim import Region, define_tdqueue, define_transaction
from tdqsim.cics import Task
from tdqsim.server.host import Host


class OutOfHere(BaseException):
    """An exception of a user that is no Exception."""


def exits(task: Task) -> None:
    task.writeq_td("LOGQ", b"x")
    sys.exit(3)


def interrupted(task: Task) -> None:
    task.writeq_td("LOGQ", b"x")
    raise KeyboardInterrupt


def closes(task: Task) -> None:
    task.writeq_td("LOGQ", b"x")
    raise GeneratorExit


def leaves(task: Task) -> None:
    task.writeq_td("LOGQ", b"x")
    raise OutOfHere("by the window")


@pytest.fixture
def host() -> Iterator[Host]:
    host = Host()
    queue = define_tdqueue(name="LOGQ", type="INTRA", recovstatus="LOGICAL")
    host.add(Region, [queue, define_transaction(name="LEFT")], applid="PAYREGN")
    yield host
    host.stop()


@pytest.mark.parametrize(
    ("program", "what"),
    [
        (exits, "SystemExit: 3"),
        (interrupted, "KeyboardInterrupt"),
        (closes, "GeneratorExit"),
        (leaves, "OutOfHere: by the window"),
    ],
)
def test_an_exception_that_is_no_abend_is_said_with_its_line(
    host: Host, program: Callable[[Task], None], what: str, caplog: pytest.LogCaptureFixture
) -> None:
    engine, region = host.engine, host.regions["PAYREGN"]
    engine.outside(lambda: region.register("LEFT", program)).result(60)
    engine.outside(lambda: [region.start("LEFT")]).result(60)
    engine.wait_until(lambda: len(region.notices) > 0).result(60)
    [notice] = region.notices
    assert (notice.id, notice.resource, notice.severity) == ("TDQ0041", "TRANSACTION(LEFT)", "error")
    assert f"was ended by {what}, which is no abend: its work was backed out" in notice.reason
    assert "test_left_tasks.py" in notice.traceback
    assert "TDQ0041" in caplog.text
    assert engine.outside(lambda: region.peek("LOGQ")).result(60) == []
