"""The report of statistics: sections in the order of DFHSTUP, titles and values."""

from __future__ import annotations

from itertools import pairwise

from tdqsim import Region, define_tdqueue, define_transaction
from tdqsim.definitions import define_tranclass
from tdqsim.testing import StillClock

NOON = 1_767_268_800 * 10**9
DEFINITIONS = [
    define_tranclass(name="PAY", maxactive=2, purgethresh=3),
    define_transaction(name="PAYP", tranclass="PAY", program="PAYPGM"),
    define_tdqueue(name="PAYQ", type="INTRA", transid="PAYP", triggerlevel=2, atifacility="FILE"),
    define_tdqueue(name="ALIA", type="INDIRECT", indirectname="PAYQ"),
]


def report(reason=None):
    with Region(DEFINITIONS, clock=StillClock(NOON), applid="PAYREGN", supplied_queues=False) as region:
        region.register("PAYP", lambda task: task.readq_td("PAYQ"))
        for _ in range(5):
            region.writeq_td("PAYQ", b"x")
        collection = region.statistics.now() if reason is None else region.statistics.record(reason)
        return collection.report(region.applid).splitlines()


def section(lines, title):
    begin = lines.index(title)
    assert lines[begin + 1] == "_" * len(title)
    end = lines.index("", begin) if "" in lines[begin:] else len(lines)
    return lines[begin + 2 : end]


def test_the_sections_and_their_order():
    lines = report()
    assert lines[0] == "Requested Statistics Report  Collection Date-Time 01/01/2026-12:00:00  Applid PAYREGN"
    titles = [before for before, line in pairwise(lines) if line and not line.strip("_")]
    assert titles == [
        "Statistics domain", "Transaction manager", "Transaction class", "Dispatcher", "Temporary storage",
        "Transient data", "Transaction", "Program", "Transient data queue",
    ]  # fmt: skip


def test_the_heading_names_the_reason():
    assert report("INTERVAL")[0].startswith("Interval Statistics Report  ")
    assert report("ENDOFDAY")[0].startswith("End-of-day Statistics Report  ")
    assert report("REQUESTRESET")[0].startswith("Requested reset Statistics Report  ")


def test_a_global_record_has_a_value_on_each_line():
    lines = section(report(), "Transaction manager")
    assert lines[0] == "  Total number of transactions (user + system) . . . . . . :            4"
    assert [line.split()[-1] for line in lines] == ["4", "0", "0", "0", "0", "1", "0", "0"]
    assert section(report(), "Transient data")[4] == (
        "  Times NOSPACE occurred . . . . . . . . . . . . . . . . . :            0"
    )


def test_resources_are_a_table():
    assert section(report(), "Transaction") == [
        "  Trans id  Program name  Tclass name  Prty  Attach count",
        "  PAYP      PAYPGM        PAY             1             4",
    ]
    assert section(report(), "Program") == ["  Program name  Times used", "  PAYPGM                 4"]
    heads, *rows = section(report(), "Transient data queue")
    assert "Number of writes" in heads
    assert "DDNAME" not in heads  # no queue has one
    assert [row.split()[:4] for row in rows] == [["PAYQ", "5", "4", "2"], ["ALIA", "0", "0", "0"]]


def test_a_closed_resource_alone():
    with Region(DEFINITIONS, clock=StillClock(NOON), supplied_queues=False) as region:
        region.set_tdqueue("PAYQ", enablestatus="DISABLED")
        region.discard_tdqueue("PAYQ")
        lines = region.statistics.collections[0].report(region.applid).splitlines()
    assert lines[0].startswith("Unsolicited Statistics Report  ")
    assert [line for line in lines if line in ("Transient data queue", "Transient data")] == ["Transient data queue"]
