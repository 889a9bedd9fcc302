"""The one source of time."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from freezegun import freeze_time

from tdqsim.core.clock import Clock
from tdqsim.errors import UsageError


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
