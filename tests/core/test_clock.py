"""The one source of time."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from freezegun import freeze_time

from tdqsim import Region
from tdqsim.core.clock import Clock
from tdqsim.errors import UsageError
from tdqsim.ibmi import System


def test_freezegun_drives_the_clock():
    clock = Clock()
    with freeze_time("1989-12-06 19:01:04.820"):
        assert clock.now() == datetime(1989, 12, 6, 19, 1, 4, 820_000, tzinfo=UTC)


def test_jumps_add_to_the_frozen_reading():
    clock = Clock()
    with freeze_time("2026-01-01 00:00:00") as frozen:
        clock.advance(1.5)
        frozen.tick(10)
        assert clock.now() == datetime(2026, 1, 1, 0, 0, 11, 500_000, tzinfo=UTC)


def test_a_moment_that_is_past_changes_nothing():
    clock = Clock()
    with freeze_time("2026-01-01"):
        before = clock.time_ns()
        clock.advance_to(before - 1)
        assert clock.time_ns() == before


def test_time_does_not_run_backward():
    with pytest.raises(ValueError, match="allowed is 0 or more"):
        Clock().advance(-0.001)


def test_time_ends_where_nanoseconds_in_eight_bytes_do():
    clock = Clock()
    with freeze_time("2262-04-11 23:47:06"):
        with pytest.raises(ValueError, match="allowed are 0 to 10 seconds, to 11 April 2262"):
            clock.advance(11)
        clock.advance(10)
        assert clock.now() == datetime(2262, 4, 11, 23, 47, 16, tzinfo=UTC)


def test_two_clocks_share_nothing():
    one, other = Clock(), Clock()
    with freeze_time("2026-01-01"):
        one.advance(60)
        assert one.time_ns() - other.time_ns() == 60 * 1_000_000_000


def test_a_simulated_moment_is_reached_without_sleeping():
    clock = Clock()
    with freeze_time("2026-01-01"):
        clock.reach(clock.time_ns() + 86_400 * 1_000_000_000)
        assert clock.now() == datetime(2026, 1, 2, tzinfo=UTC)


@pytest.mark.parametrize("moment", ["1969-12-31 23:59:59", "1900-01-01", "2262-04-12", "9999-12-31"])
def test_a_clock_begins_in_the_years_1970_to_2262(moment: str) -> None:
    with freeze_time(moment), pytest.raises(UsageError, match="allowed are the years 1970 to 2262"):
        Clock()
    with freeze_time("1970-01-01"):
        assert Clock().time_ns() == 0


HOUR = 3_600 * 1_000_000_000


class Machine:
    """The two clocks of a machine, of which somebody sets the first one."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.wall = self.steady = 1_800_000_000 * 1_000_000_000
        monkeypatch.setattr("time.time_ns", lambda: self.wall)
        monkeypatch.setattr("time.monotonic_ns", lambda: self.steady)

    def pass_by(self, seconds: float) -> None:
        self.wall += round(seconds * 1_000_000_000)
        self.steady += round(seconds * 1_000_000_000)


class Alarm:
    """The lock by which a clock sleeps: the sleep takes no time, and the machine's clocks move by its length."""

    def __init__(self, machine: Machine, *set_by: int) -> None:
        self.machine, self.set_by, self.naps = machine, list(set_by), 0

    def acquire(self, timeout: float) -> bool:
        self.naps += 1
        self.machine.pass_by(timeout)
        self.machine.wall += self.set_by.pop(0) if self.set_by else 0
        return False


@pytest.mark.parametrize("set_by", [-HOUR, -20 * HOUR, -2_500_000_000])
def test_a_wait_keeps_its_length_when_the_machines_clock_is_set_back(
    monkeypatch: pytest.MonkeyPatch, set_by: int
) -> None:
    machine = Machine(monkeypatch)
    clock, heard = Clock(simulated=False), []
    clock.on_set_back.append(lambda *told: heard.append(told))
    clock._alarm = Alarm(machine, set_by)
    began, steadily = clock.time_ns(), machine.steady
    assert clock.reach(began + 12_000_000_000)
    assert machine.steady - steadily == 12_000_000_000
    assert clock.time_ns() == began + 12_000_000_000
    assert heard == [(-set_by, -set_by)]
    machine.wall -= HOUR  # and once more, with nobody asleep
    assert clock.reach(began + 13_000_000_000)
    assert heard[1:] == [(HOUR, HOUR - set_by)]


def test_a_real_clock_follows_the_machines_clock_forward(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(monkeypatch)
    clock, heard = Clock(simulated=False), []
    clock.on_set_back.append(lambda *told: heard.append(told))
    clock._alarm = Alarm(machine, HOUR)
    began = clock.time_ns()
    assert clock.reach(began + 60_000_000_000)
    assert clock._alarm.naps == 1
    assert (clock.time_ns(), heard) == (began + HOUR + 5_000_000_000, [])


def test_what_a_frozen_clock_stood_through_is_not_made_good_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(monkeypatch)
    clock, heard = Clock(simulated=False), []
    clock.on_set_back.append(lambda *told: heard.append(told))
    began = clock.time_ns()
    clock.freeze()
    machine.pass_by(60)
    clock.freeze()  # it stands already
    assert clock.time_ns() == began
    machine.wall -= HOUR
    clock.thaw()
    assert clock.time_ns() == began
    machine.pass_by(7)
    assert clock.reach(began + 7_000_000_000)
    assert (clock.time_ns(), heard) == (began + 7_000_000_000, [])


def test_a_second_clock_that_a_test_replaces_moves_nothing() -> None:
    with freeze_time("2026-01-01 00:00:00"):
        clock = Clock(simulated=False)
    with freeze_time("2026-01-01 00:00:05"):
        assert clock.reach(1_767_225_605 * 1_000_000_000)
        assert clock.now() == datetime(2026, 1, 1, 0, 0, 5, tzinfo=UTC)


def test_a_region_and_a_system_say_that_the_machines_clock_was_set_back(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(monkeypatch)
    clock = Clock(simulated=False)
    with Region(clock=clock) as region, System(dispatcher=region.dispatcher) as system:
        region.notices.silence()
        system.notices.silence()
        began, steadily = clock.time_ns(), machine.steady
        clock._alarm = Alarm(machine, -HOUR)
        region.start(lambda task: task.delay(seconds=8))
        region.run()
        said = (
            "TDQ0060: The machine's clock was set back by 3600 s. The time here runs on, so that waits keep their "
            "length, and is 3600 s ahead of the machine's clock. Start again where the times of day must agree."
        )
        assert [str(each) for each in (*region.notices, *system.notices)] == [said, said]
        assert machine.steady - steadily == 8_000_000_000
    assert (clock.time_ns() - began, clock.on_set_back) == (8_000_000_000, [])
