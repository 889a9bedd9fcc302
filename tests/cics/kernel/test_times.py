"""How long DELAY and START wait by each of their options, and the names by which they are cancelled.

Expectations are from DELAY, START and CANCEL (IBM Docs).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tdqsim import Condition, Region, Task, define_transaction
from tdqsim.testing import StillClock

MIDNIGHT = 1_767_225_600 * 10**9
"""2026-01-01 00:00 UTC."""


@pytest.fixture
def region() -> Iterator[Region]:
    with Region([define_transaction(name="LATE")], clock=StillClock(MIDNIGHT + 3600 * 10**9)) as region:
        yield region


def later(region: Region, seconds: float) -> None:
    """Let time pass, and what is due run."""
    region.clock.advance(seconds)
    region.asktime()  # after a command outside a task the others have their turn


@pytest.mark.parametrize(
    ("options", "waits"),
    [
        ({"interval": 130}, 90),
        ({"hours": 1}, 3600),
        ({"minutes": 2}, 120),
        ({"seconds": 3}, 3),
        ({"hours": 1, "minutes": 2, "seconds": 3}, 3723),
        ({"time": 20000}, 3600),
        ({"millisecs": 500}, 0.5),
        ({"seconds": 1, "millisecs": 500}, 1.5),
        ({"hours": 2, "minutes": 0, "until": True}, 3600),
    ],
    ids=str,
)
def test_delay_ends_when_its_time_is_over_and_no_earlier(region: Region, options: dict[str, Any], waits: float) -> None:
    handle = region.start(lambda task: task.delay(**options))
    region.asktime()
    later(region, waits - 0.25)
    assert not handle.done
    later(region, 0.25)
    assert handle.done


@pytest.mark.parametrize(
    ("options", "waits"),
    [
        ({"interval": 130}, 90),
        ({"hours": 1}, 3600),
        ({"minutes": 2}, 120),
        ({"seconds": 3}, 3),
        ({"time": 20000}, 3600),
        ({"hours": 2, "minutes": 0, "at": True}, 3600),
    ],
    ids=str,
)
def test_start_begins_the_task_when_its_time_has_come_and_no_earlier(
    region: Region, options: dict[str, Any], waits: float
) -> None:
    ran: list[int] = []
    region.register("LATE", lambda task: ran.append(task.number))
    with region.task() as task:
        task.start("LATE", **options)
    later(region, waits - 1)
    assert not ran
    later(region, 1)
    assert len(ran) == 1


def test_cancel_ends_the_delay_that_has_the_name_and_no_other(region: Region) -> None:
    named = region.start(lambda task: task.delay(hours=1, reqid="WAKE"))
    other = region.start(lambda task: task.delay(hours=1, reqid="SLEEP"))
    region.asktime()
    region.cancel("WAKE")
    region.asktime()
    assert (named.done, other.done) == (True, False)
    later(region, 3600)
    assert other.done


def test_cancel_ends_one_delay_of_a_name_at_a_time_the_one_that_expires_first(region: Region) -> None:
    hours = (2, 1, 3)
    sleepers = [region.start(lambda task, long=long: task.delay(hours=long, reqid="WAKE")) for long in hours]
    region.asktime()
    for left in ([2, 3], [3], []):
        region.cancel("WAKE")
        region.asktime()
        assert [long for long, sleeper in zip(hours, sleepers, strict=True) if not sleeper.done] == left
    with pytest.raises(Condition, match="no request WAKE is waiting"):
        region.cancel("WAKE")


def test_a_delay_can_be_cancelled_after_another_of_its_name_is_over(region: Region) -> None:
    long = region.start(lambda task: task.delay(hours=2, reqid="WAKE"))
    short = region.start(lambda task: task.delay(hours=1, reqid="WAKE"))
    region.asktime()
    later(region, 3600)
    assert (long.done, short.done) == (False, True)
    region.cancel("WAKE")
    region.asktime()
    assert long.done


@pytest.mark.parametrize("options", [{"transid": "LATE"}, {"sysid": "TDQ1"}, {}], ids=str)
def test_cancel_takes_back_a_start_of_this_region(region: Region, options: dict[str, str]) -> None:
    ran: list[int] = []
    region.register("LATE", lambda task: ran.append(task.number))
    with region.task() as task:
        task.start("LATE", seconds=5, reqid="MINE")
        task.start("LATE", seconds=5, reqid="OTHER")
    region.cancel("MINE", **options)
    later(region, 5)
    assert len(ran) == 1


def test_cancel_in_a_system_that_is_not_known(region: Region) -> None:
    with pytest.raises(Condition) as caught:
        region.cancel("MINE", sysid="NONE")
    assert caught.value.name == "SYSIDERR"


def test_asktime_brings_the_eib_up_to_date(region: Region) -> None:
    with region.task() as task:
        region.clock.advance(3600)
        task.asktime_eib()
        assert (task.eib.eibtime, task.eib.eibdate) == (20000, 126001)
        region.clock.advance(24 * 3600)
        task.asktime_eib()
        assert (task.eib.eibtime, task.eib.eibdate) == (20000, 126002)


@pytest.mark.parametrize("release", ["deq", "syncpoint"])
def test_length_says_how_much_of_a_name_is_enqueued(region: Region, release: str) -> None:
    """The first three bytes are the name, so PAYROLL and PAYMENT are one, and PAST is another."""

    def answer(name: bytes) -> str:
        def program(task: Task) -> str:
            task.enq(name, length=3, nosuspend=True, nohandle=True)
            return task.eib.eibresp.name

        handle = region.start(program)
        region.run()
        return handle.result()

    with region.task() as owner:
        owner.enq(b"PAYROLL", length=3)
        owner.deq(b"PAYROLL")  # another name
        assert (answer(b"PAYMENT"), answer(b"PAST")) == ("ENQBUSY", "NORMAL")
        if release == "deq":
            owner.deq(b"PAYDAY", length=3)
        else:
            owner.syncpoint()
        assert answer(b"PAYMENT") == "NORMAL"


def test_a_generated_reqid_is_none_that_a_delay_or_another_start_has(region):
    names = []

    def program(task):
        task.start("LATE", hours=2, reqid="DF000002")
        names.extend(task.start("LATE", hours=hours) for hours in (3, 4))

    region.start(lambda task: task.delay(hours=1, reqid="DF000001"))
    region.start(program)
    region.execute("ASKTIME", {})
    assert names == ["DF000003", "DF000004"]
    region.execute("CANCEL REQID('DF000003')", {})  # and no other one
    assert sorted(region._core.starts.requests) == ["DF000002", "DF000004"]
