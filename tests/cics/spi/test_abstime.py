from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tdqsim.cics.kernel.abstime import (
    abstime,
    abstime_of,
    format_abstime,
    local_time,
    pack_abstime,
    unpack_abstime,
)
from tdqsim.cics.region import Region
from tdqsim.core.clock import NS_PER_SECOND, time_zone
from tdqsim.errors import TdqError
from tdqsim.facts import Cvda
from tests.rules import expect_rule, rule

IBM_EXAMPLE = 2837962864820  # 002837962864820: 1989-12-06 19:01:04.820


def moment(*parts: int) -> int:
    return int(datetime(*parts, tzinfo=UTC).timestamp()) * NS_PER_SECOND


@pytest.mark.rule("ABSTIME-LOCAL-MILLISECONDS")
def test_abstime_counts_milliseconds_of_local_time_since_1900():
    assert abstime_of(datetime(1989, 12, 6, 19, 1, 4, 820000)) == IBM_EXAMPLE
    assert abstime(0) == 2_208_988_800_000  # 1970-01-01 in UTC
    assert abstime(999_999) - abstime(0) == 0  # truncated, not rounded
    assert abstime(moment(2024, 7, 1, 12), time_zone("Europe/Berlin")) - abstime(moment(2024, 7, 1, 12)) == 7_200_000
    assert abstime(moment(2024, 1, 1, 12), time_zone("Europe/Berlin")) - abstime(moment(2024, 1, 1, 12)) == 3_600_000


@pytest.mark.rule("ABSTIME-PACKED-8")
def test_a_program_receives_eight_bytes_packed_decimal():
    assert pack_abstime(IBM_EXAMPLE) == bytes.fromhex("002837962864820C")
    assert unpack_abstime(bytes.fromhex("002837962864820F")) == IBM_EXAMPLE


@given(st.integers(0, 10**15 - 1))
def test_packing_is_undone_by_unpacking(value):
    assert unpack_abstime(pack_abstime(value)) == value


@pytest.mark.parametrize(
    "data", [b"", bytes(7), bytes(8), bytes.fromhex("00000000000000AC"), bytes.fromhex("000000000000000D")]
)
def test_bytes_that_are_no_abstime_are_refused(data):
    with pytest.raises(ValueError, match=r"not (an|the) ABSTIME"):
        unpack_abstime(data)


@pytest.mark.parametrize("value", [-1, 10**15])
def test_numbers_that_are_no_abstime_are_refused(value):
    with pytest.raises(ValueError, match=r"not (an|the) ABSTIME"):
        pack_abstime(value)
    with pytest.raises(ValueError, match=r"not (an|the) ABSTIME"):
        local_time(value)


@pytest.mark.rule("FORMATTIME-ROUNDS")
def test_formattime_of_ibms_example_rounds_to_the_second():
    formatted = format_abstime(IBM_EXAMPLE, datesep="-", timesep=":")
    assert (formatted.ddmmyy, formatted.time) == ("06-12-89", "19:01:05")
    assert (formatted.yyddd, formatted.yyyymmdd, formatted.mmddyyyy) == ("89-340", "1989-12-06", "12-06-1989")
    assert (formatted.dayofweek, formatted.dayofmonth, formatted.monthofyear, formatted.year) == (3, 6, 12, 1989)


@pytest.mark.rule("FORMATTIME-ROUNDS")
def test_formattime_never_rounds_the_day_up():
    midnight = abstime_of(datetime(2024, 12, 31, 23, 59, 59, 499_000))
    for later in (0, 1, 500):
        formatted = format_abstime(midnight + later)
        assert (formatted.time, formatted.yyyymmdd) == (rule("FORMATTIME-ROUNDS").message, "20241231")
        assert formatted.milliseconds == 499 + later
    assert format_abstime(midnight + 501).time == "000000"
    assert format_abstime(abstime_of(datetime(2024, 12, 31, 22, 59, 59, 500_000))).time == "230000"


@pytest.mark.rule("FORMATTIME-DATESTRING", "FORMATTIME-DATFORM", "FORMATTIME-STRINGFORMAT-INVREQ")
@pytest.mark.parametrize(("zone", "hour"), [("UTC", 10), ("Europe/Berlin", 12), ("America/New_York", 5)])
def test_dates_by_datform_and_in_architected_form(zone, hour):
    """The vendor's example, written at one moment in three time zones; on 1 April 2003 New York had winter time."""
    value = abstime_of(datetime(2003, 4, 1, hour, 1, 2, 498_000))
    with Region([], time_zone=zone) as region, region.task() as task:
        host = {"A": value, "S": bytearray(b"\0" * 64), "D": bytearray(b"\0" * 8)}
        task.execute(
            "FORMATTIME ABSTIME(A) DATE(D) FULLDATE(F) DATEFORM(W) MILLISECONDS(M) DATESTRING(S) DATESEP RFC3339", host
        )
        assert region.text(bytes(host["S"])) == rule("FORMATTIME-DATESTRING").message.ljust(64)
        assert region.text(bytes(host["D"])) == "04/01/03"
        assert (host["F"], host["W"], host["M"]) == ("04/01/2003", rule("FORMATTIME-DATFORM").message, 498)
        assert task.formattime(value).datestring == "Tue, 01 Apr 2003 10:01:02 GMT"
        assert task.formattime(value, stringformat="RFC1123").fulldate == "04012003"
        expect_rule("FORMATTIME-STRINGFORMAT-INVREQ", task.formattime, value, stringformat=Cvda.OPEN)


@pytest.mark.rule("FORMATTIME-DAYCOUNT")
def test_formattime_without_separators_and_day_count():
    assert str(format_abstime(0).daycount) == rule("FORMATTIME-DAYCOUNT").message
    formatted = format_abstime(abstime_of(datetime(1900, 1, 2)))
    assert (formatted.daycount, formatted.yyyyddd, formatted.yymmdd, formatted.time) == (
        2,
        "1900002",
        "000102",
        "000000",
    )
    assert (formatted.yyyyddmm, formatted.yyddmm, formatted.ddmmyyyy, formatted.mmddyy) == (
        "19000201",
        "000201",
        "02011900",
        "010200",
    )


@given(st.datetimes(datetime(1900, 1, 1), datetime(9999, 12, 30)))
def test_local_time_gives_back_the_datetime_to_the_millisecond(when):
    assert local_time(abstime_of(when)) == when.replace(microsecond=when.microsecond // 1000 * 1000)


def test_a_datetime_with_a_zone_is_refused():
    with pytest.raises(ValueError, match="time zone"):
        abstime_of(datetime(2024, 1, 1, tzinfo=UTC))


@pytest.mark.parametrize("name", ["Nowhere/Atall", "", "../etc/passwd", "\0"])
def test_an_unknown_time_zone_is_refused(name):
    with pytest.raises(TdqError, match="IANA"):
        time_zone(name)


FORMS = {
    "DATE": "12/06/89", "YYDDD": "89/340", "YYYYDDD": "1989/340", "YYMMDD": "89/12/06",
    "YYYYMMDD": "1989/12/06", "DDMMYY": "06/12/89", "DDMMYYYY": "06/12/1989",
    "MMDDYY": "12/06/89", "MMDDYYYY": "12/06/1989", "YYDDMM": "89/06/12",
    "YYYYDDMM": "1989/06/12", "FULLDATE": "12/06/1989", "DATEFORM": "MMDDYY",
    "TIME": "19:01:05", "DAYCOUNT": 32847, "DAYOFWEEK": 3, "DAYOFMONTH": 6,
    "MONTHOFYEAR": 12, "YEAR": 1989, "MILLISECONDS": 820,
}  # fmt: skip
"""What FORMATTIME gives for IBM's example. The 6th of December is the 340th day of 1989; the day count is from 1900."""


@pytest.mark.parametrize("word", FORMS)
def test_each_receiver_of_formattime_has_its_form(word):
    got = {"WHEN": IBM_EXAMPLE}
    with Region() as region:
        region.execute(f"FORMATTIME ABSTIME(WHEN) {word}(GOT) DATESEP('/') TIMESEP(':')", got)
        assert got["GOT"] == FORMS[word]
        if word in ("TIME", "YYMMDD"):
            region.execute(f"FORMATTIME ABSTIME(WHEN) {word}(GOT)", got)
            assert got["GOT"] == FORMS[word].translate({ord("/"): None, ord(":"): None})
