"""When statistics are written and reset: intervals, the end of the day, requests, closed files; INQUIRE and SET STATISTICS."""

from __future__ import annotations

import pytest

from tdqsim import Region, SecurityOptions, Sysplex, define_tdqueue
from tdqsim.cics import Access, AccessList
from tdqsim.core.clock import Clock
from tdqsim.errors import TdqError, WouldWaitForever
from tdqsim.facts import Cvda, Resp
from tdqsim.testing import StillClock
from tests.cics.spi.helpers import condition
from tests.rules import expect_rule

NOON = 1_767_268_800 * 10**9
"""12:00 UTC on 1 January 2026."""
QUEUES = [define_tdqueue(name="PAYQ", type="INTRA")]


@pytest.fixture
def reg():
    with Region(QUEUES, clock=StillClock(NOON), supplied_queues=False) as made:
        yield made


@pytest.fixture
def task(reg):
    with reg.task() as made:
        yield made


def later(reg, **time):
    reg.clock.advance(time.get("hours", 0) * 3600 + time.get("minutes", 0) * 60 + time.get("seconds", 0))
    reg.dispatcher.run_ready()


def reasons(reg):
    return [each.reason for each in reg.statistics.collections]


def writes(reg):
    return reg.extract_statistics("PAYQ")["writes"]


@pytest.mark.rule("STATS-REQUEST", "STATS-REQUEST-RESET")
def test_a_request_resets_only_with_resetnow_and_only_its_types(reg, task):
    reg.writeq_td("PAYQ", b"x")
    reg.writeq_ts("BASKET", b"x")
    reg.perform_statistics()
    assert (reasons(reg), writes(reg)) == (["REQUEST"], 1)
    assert {record["name"]: record["writes"] for record in reg.statistics.collections[0].queues} == {"PAYQ": 1}
    task.execute("PERFORM STATISTICS RECORD TSQUEUE RESETNOW")
    collection = reg.statistics.collections[-1]
    assert (collection.reason, collection.queues, collection.total) == ("REQUESTRESET", (), None)
    assert [record["writes_auxiliary"] for record in collection.of("TSG")] == [1]
    assert task.extract_statistics(tsqueue=True)["writes_auxiliary"] == 0
    assert writes(reg) == 1
    task.execute("PERFORM STATISTICS RECORD TDQUEUE TSQUEUE")
    assert len(reg.statistics.collections[-1].queues) == 1
    task.execute("PERFORM STATISTICS RECORD ALL RESETNOW")
    assert {record.record for record in reg.statistics.collections[-1].records} == {"STG", "XMG", "DSG", "TSG"}
    assert reg.statistics.collections[-1].total["ci_size"] == 4096
    assert writes(reg) == 0


@pytest.mark.rule("STATS-ENDOFDAY")
def test_the_day_ends_at_midnight_without_any_set_statistics(reg):
    reg.writeq_td("PAYQ", b"x")
    reg.clock.advance(12 * 3600 - 1)
    assert (reasons(reg), writes(reg)) == ([], 1)
    reg.clock.advance(1)
    assert (reasons(reg), writes(reg)) == (["ENDOFDAY"], 0)
    assert reg.statistics.collections[0].queues[0]["writes"] == 1
    reg.start(lambda task: task.delay(hours=30))
    reg.run()
    assert reasons(reg) == ["ENDOFDAY", "ENDOFDAY"]
    reg.clock.advance(3600)  # the day has ended once
    assert reasons(reg) == ["ENDOFDAY", "ENDOFDAY"]
    assert not reg.dispatcher.deadlines  # no timer makes its commands slower


def test_a_wait_that_nothing_can_end_is_said_in_real_time_too():
    queue = define_tdqueue(name="LOGQ", type="INTRA", recovstatus="LOGICAL")
    with Region([queue], clock=Clock(simulated=False), supplied_queues=False) as region:
        writer = region.task().__enter__()
        writer.writeq_td("LOGQ", b"x")
        with pytest.raises(WouldWaitForever):
            region.readq_td("LOGQ")
        writer.syncpoint()
        region.statistics.keep_time()
        assert region.dispatcher.deadlines


def test_a_closed_region_leaves_a_shared_clock_alone():
    clock = StillClock(NOON)
    with Region(QUEUES, clock=clock, supplied_queues=False) as region:
        written = region.statistics.collections
    clock.advance(48 * 3600)
    assert [each.reason for each in written] == ["ENDOFDAY"]  # that of the end of the region
    assert clock.on_move == []


@pytest.mark.parametrize("begin", ["every", "set_statistics"])
def test_a_closed_region_with_intervals_leaves_the_others_of_its_sysplex_alone(begin):
    with Sysplex() as sysplex:
        left = sysplex.region(QUEUES, applid="LEFT", sysid="LEFT")
        other = sysplex.region(QUEUES, applid="OTHER", sysid="OTHR")
        if begin == "every":
            left.statistics.every(3600)
        else:
            with left.task() as task:
                task.set_statistics(interval=10000, recording="ON")
        written = left.statistics.collections
        left.close()
        later(other, hours=48)
        assert [each.reason for each in written] == ["ENDOFDAY"]


@pytest.mark.rule("STATS-ALIGNED", "INQ-STATISTICS-NEXTTIME")
def test_intervals_that_began_at_a_call_are_counted_from_the_end_of_the_day_after_set_statistics(reg, task):
    later(reg, minutes=7)
    reg.statistics.every(3600)
    task.set_statistics(interval=20000, recording="ON", endofday=0)
    assert task.inquire_statistics("NEXTTIME").nexttime == 140000
    for _ in range(6):
        later(reg, hours=2)
    assert reasons(reg) == ["INTERVAL"] * 5 + ["ENDOFDAY"]


@pytest.mark.rule("STATS-ENDOFDAY-INTERVAL", "STATS-ALIGNED", "INQ-STATISTICS-NEXTTIME")
def test_intervals_are_counted_from_the_end_of_the_day(reg, task):
    task.set_statistics(endofday=123000, interval=10000)
    assert task.inquire_statistics("NEXTTIME").nexttime == 123000
    task.set_statistics(endofday=170000, interval=20000, recording="ON")
    assert task.inquire_statistics("NEXTTIME", "RECORDING").as_dict() == {"NEXTTIME": 130000, "RECORDING": Cvda.ON}
    for _ in range(3):
        later(reg, hours=2)
    assert reasons(reg) == ["INTERVAL", "INTERVAL", "ENDOFDAY"]
    later(reg, minutes=59)
    assert task.extract_statistics(stats=True)["intervals"] == 0  # the day begins again
    later(reg, minutes=1)
    assert reasons(reg)[3:] == ["INTERVAL"]
    assert task.extract_statistics(stats=True).as_dict().items() >= {"intervals": 1, "interval_writes": 1}.items()
    task.set_statistics(recording="OFF")
    assert task.inquire_statistics("NEXTTIMEHRS", "NEXTTIMEMINS", "NEXTTIMESECS").as_dict() == {
        "NEXTTIMEHRS": 17, "NEXTTIMEMINS": 0, "NEXTTIMESECS": 0,
    }  # fmt: skip


def test_the_day_ends_by_the_clock_of_the_time_zone():
    with Region(QUEUES, clock=StillClock(NOON), time_zone="Asia/Tokyo", supplied_queues=False) as reg:
        with reg.task() as task:
            task.set_statistics(endofday=213000)  # 12:30 UTC
        later(reg, minutes=29)
        assert reasons(reg) == []
        later(reg, minutes=1)
        assert reasons(reg) == ["ENDOFDAY"]


def test_a_jump_over_days_ends_one_day(reg, task):
    task.set_statistics(interval=10000, recording="ON")
    later(reg, hours=24 * 9 + 1)
    assert reasons(reg) == ["ENDOFDAY"]
    later(reg, hours=1)
    assert reasons(reg) == ["ENDOFDAY", "INTERVAL"]


def test_a_region_that_fails_writes_none(reg):
    reg.close(clean=False)
    assert reasons(reg) == []


def test_what_was_written_is_counted_by_reason(reg, task):
    task.perform_statistics(all_=True)
    task.perform_statistics()
    task.perform_statistics(resetnow=True)
    counts = task.extract_statistics(stats=True)
    assert [counts[name] for name in ("writes", "requested_writes", "reset_writes", "STGSMFW")] == [3, 2, 1, 3]
    task.perform_statistics(stats=True, resetnow=True)
    counts = task.extract_statistics(stats=True)
    assert [counts[name] for name in ("writes", "requested_writes", "reset_writes")] == [1, 0, 1]


# -- INQUIRE and SET STATISTICS ---------------------------------------------------------------------------------------


def test_settings_at_the_start(task):
    assert task.inquire_statistics().as_dict() == {
        "ENDOFDAY": 0, "ENDOFDAYHRS": 0, "ENDOFDAYMINS": 0, "ENDOFDAYSECS": 0, "INTERVAL": 10000, "INTERVALHRS": 1,
        "INTERVALMINS": 0, "INTERVALSECS": 0, "NEXTTIME": 0, "NEXTTIMEHRS": 0, "NEXTTIMEMINS": 0, "NEXTTIMESECS": 0,
        "RECORDING": Cvda.OFF,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("given", "hours", "minutes", "seconds"),
    [
        ({"interval": 13005}, 1, 30, 5),
        ({"intervalhrs": 1, "intervalmins": 30, "intervalsecs": 5}, 1, 30, 5),
        ({"intervalmins": 90}, 1, 30, 0),
        ({"intervalsecs": 5405}, 1, 30, 5),
        ({"interval": 240000}, 24, 0, 0),
        ({"interval": 100}, 0, 1, 0),
    ],
)
def test_forms_of_a_time(task, given, hours, minutes, seconds):
    task.set_statistics(**given)
    found = task.inquire_statistics("INTERVALHRS", "INTERVALMINS", "INTERVALSECS", "ENDOFDAY")
    assert list(found.as_dict().values()) == [hours, minutes, seconds, 0]


@pytest.mark.parametrize(
    ("given", "value"),
    [
        ({"endofdayhrs": 23, "endofdaymins": 59, "endofdaysecs": 58}, 235958),
        ({"endofdaymins": 61}, 10100),
        ({"endofdaysecs": 86399}, 235959),
    ],
)
def test_forms_of_the_end_of_the_day(task, given, value):
    task.set_statistics(**given)
    assert task.inquire_statistics("ENDOFDAY").endofday == value


@pytest.mark.rule("SET-STATISTICS-INTERVAL", "SET-STATISTICS-ENDOFDAY", "SET-STATISTICS-RECORDING")
def test_values_out_of_range_change_nothing(task):
    for given in ({"interval": 59}, {"interval": 240001}, {"interval": 6000}, {"intervalhrs": 1, "intervalmins": 60},
                  {"interval": -100}):  # fmt: skip
        expect_rule("SET-STATISTICS-INTERVAL", task.set_statistics, **given)
    for given in ({"endofday": 240000}, {"endofdayhrs": 24}, {"endofday": 70}):
        expect_rule("SET-STATISTICS-ENDOFDAY", task.set_statistics, interval=20000, **given)
    for value in ("OPEN", 12345):
        expect_rule("SET-STATISTICS-RECORDING", task.set_statistics, interval=20000, recording=value)
    assert task.inquire_statistics("INTERVAL", "ENDOFDAY", "RECORDING").as_dict() == {
        "INTERVAL": 10000, "ENDOFDAY": 0, "RECORDING": Cvda.OFF,
    }  # fmt: skip


@pytest.mark.rule("SET-STATISTICS-NO-CHANGE")
def test_now_needs_a_change_of_recording(reg, task):
    reg.writeq_td("PAYQ", b"x")
    for given in ({"resetnow": True}, {"recordnow": True}, {"recording": "OFF", "resetnow": True}):
        expect_rule("SET-STATISTICS-NO-CHANGE", task.set_statistics, **given)
    task.execute("SET STATISTICS ON RECORDNOW")
    assert (reasons(reg), writes(reg)) == (["REQUEST"], 1)
    task.set_statistics(recording="OFF", resetnow=True)
    assert (reasons(reg), writes(reg)) == (["REQUEST"], 0)
    task.set_statistics(recording="ON", recordnow=True, resetnow=True)
    assert reasons(reg) == ["REQUEST", "REQUESTRESET"]


def test_command_security():
    policy = AccessList(commands={"CICSUSER": {"STATISTICS": Access.READ, "DISPATCHER": Access.READ}})
    with (
        Region(security=SecurityOptions(policy=policy, cmdsec="ALWAYS"), supplied_queues=False) as reg,
        reg.task() as task,
    ):
        assert task.inquire_statistics("INTERVAL").interval == 10000
        assert task.collect_statistics(tsqueue=True)["queues"] == 0
        assert task.inquire_dispatcher().prtyaging == 1000
        assert condition(task.set_statistics, recording="ON") == (Resp.NOTAUTH, 100)
        assert condition(task.set_dispatcher, prtyaging=1) == (Resp.NOTAUTH, 100)
    with (
        Region(security=SecurityOptions(policy=AccessList(commands={}), cmdsec="ALWAYS"), supplied_queues=False) as reg,
        reg.task() as task,
    ):
        for refused in (task.inquire_statistics, lambda: task.collect_statistics(stats=True), task.inquire_dispatcher):
            assert condition(refused) == (Resp.NOTAUTH, 100)


# -- COLLECT and EXTRACT STATISTICS -----------------------------------------------------------------------------------


@pytest.mark.rule("COLLECT-STATISTICS", "COLLECT-STATISTICS-NOTFND")
def test_collect_is_extract_in_other_words(reg, task):
    reg.writeq_td("PAYQ", b"x")
    assert task.collect_statistics(tdqueue="PAYQ") == task.extract_statistics("PAYQ")
    assert task.collect_statistics(tdqueue="    ") == task.extract_statistics()
    assert task.collect_statistics(stats=True).record == "STG"
    host = {}
    task.execute("COLLECT STATISTICS TDQUEUE('PAYQ') SET(P)", host)
    task.execute("COLLECT STATISTICS TDQUEUE SET(G)", host)
    assert host["P"] == task.extract_statistics("PAYQ").image(reg.options.code_page)
    assert host["G"] == task.extract_statistics().image(reg.options.code_page)
    for given in ({"tdqueue": "NOQ"}, {"file": "NOFILE"}, {"program": "NOPROG"}, {"tranclass": "NOCLASS"},
                  {"transaction": "NOTR"}, {"tranclass": ""}):  # fmt: skip
        expect_rule("COLLECT-STATISTICS-NOTFND", task.collect_statistics, **given)
    for given in ({}, {"tsqueue": True, "stats": True}):
        with pytest.raises(TdqError, match="name one type"):
            task.collect_statistics(**given)
    with pytest.raises(TdqError, match="name one type"):
        task.extract_statistics(tsqueue=True, stats=True)


def test_a_record_without_a_known_layout_has_no_bytes(task):
    with pytest.raises(TdqError, match="TSG is not known"):
        task.execute("EXTRACT STATISTICS TSQUEUE SET(P)", {})
