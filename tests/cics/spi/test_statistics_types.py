"""What statistics count, type by type, and what a reset leaves."""

from __future__ import annotations

import pytest

from tdqsim import Region, SystemOptions, define_transaction
from tdqsim.cics.files import DataFile
from tdqsim.definitions import define_tranclass
from tests.cics.spi.helpers import condition

CLASSES = [
    define_tranclass(name="PAY", maxactive=2, purgethresh=3),
    define_transaction(name="PAYP", tranclass="PAY", program="PAYPGM", priority=7),
    define_transaction(name="FREE"),
]
PLAIN = {"supplied_queues": False}


def values(record, *names):
    return [record[name] for name in names]


def nap(task):
    task.delay(interval=1)


@pytest.mark.rule("STATS-TYPES")
def test_attaches_of_transactions():
    with Region(CLASSES, **PLAIN) as region, region.task() as task:
        region.register("FREE", nap)
        handles = [region.start("FREE") for _ in range(3)]
        region.dispatcher.run_ready()
        total = task.extract_statistics(transaction=True)
        assert values(total, "transactions", "active", "peak_active", "queued", "maxtasks") == [3, 3, 3, 0, 0]
        assert values(task.extract_statistics(dispatcher=True), "tasks", "peak_tasks", "priority_aging") == [4, 4, 1000]
        for handle in handles:
            handle.result()
        one = task.extract_statistics("FREE", transaction=True)
        assert values(one, "name", "attaches", "priority", "tranclass", "XMRAC") == ["FREE", 3, 1, "", 3]
        assert values(task.extract_statistics("PAYP", transaction=True), "program", "tranclass", "priority", "attaches") == [
            "PAYPGM", "PAY", 7, 0,
        ]  # fmt: skip
        assert values(task.extract_statistics(transaction=True), "active", "peak_active") == [0, 3]
        region.discard_transaction("FREE")
        assert task.extract_statistics(transaction=True)["transactions"] == 3
        region.install([each for each in CLASSES if each.name == "FREE"])
        task.perform_statistics(transaction=True, resetnow=True)
        assert values(task.extract_statistics(transaction=True), "transactions", "active", "peak_active") == [0, 0, 0]
        assert task.extract_statistics("FREE", transaction=True)["attaches"] == 0


def test_active_tasks_of_a_region_without_limits():
    with Region(**PLAIN) as region:
        region.register("FREE", nap)
        for _ in range(3):
            region.start("FREE")
        region.dispatcher.run_ready()
        with region.task() as task:
            assert values(task.extract_statistics(transaction=True), "active", "peak_active") == [4, 4]
            task.perform_statistics(transaction=True, resetnow=True)
            region.run()
            assert values(task.extract_statistics(transaction=True), "active", "peak_active") == [1, 4]
            task.perform_statistics(transaction=True, resetnow=True)
            assert values(task.extract_statistics(transaction=True), "active", "peak_active") == [1, 1]


def test_tasks_that_wait_for_mxt():
    with Region(CLASSES, system=SystemOptions(mxt=10), **PLAIN) as region, region.task() as task:
        region.register("FREE", nap)
        for _ in range(13):
            region.start("FREE")
        names = ("maxtasks", "queued", "peak_queued", "delayed", "times_at_maxtasks", "peak_active", "transactions")
        assert values(task.extract_statistics(transaction=True), *names) == [10, 3, 3, 3, 1, 10, 13]
        region.run()
        assert values(task.extract_statistics(transaction=True), *names) == [10, 0, 3, 3, 4, 10, 13]
        task.perform_statistics(transaction=True, resetnow=True)
        assert values(task.extract_statistics(transaction=True), *names) == [10, 0, 0, 0, 0, 0, 0]


def test_a_task_that_is_purged_while_it_waits_for_mxt_is_queued_no_more():
    with Region(CLASSES, system=SystemOptions(mxt=10), **PLAIN) as region, region.task() as task:
        region.register("FREE", nap)
        for purged in (True, False):
            handles = [region.start("FREE") for _ in range(11)]
            region.dispatcher.run_ready()
            if purged:
                task.set_task(handles[10].local.number, purgetype="PURGE")
            region.run()
        assert values(task.extract_statistics(transaction=True), "delayed", "peak_queued") == [2, 1]


def test_a_storm_of_triggers_is_counted_as_the_limits_met_it():
    """A flood of tasks of one class: most are purged when they arrive, none is lost from the counts."""
    with Region(CLASSES, **PLAIN) as region, region.task() as task:
        region.register("PAYP", nap)
        for _ in range(1000):
            region.start("PAYP")
        region.run()
        counts = task.extract_statistics("PAY", tranclass=True)
        assert values(counts, "attaches", "accepted", "delayed", "purged", "times_at_purgethresh") == [
            1000, 2, 2, 996, 996,
        ]  # fmt: skip
        assert values(counts, "peak_active", "peak_queued", "active", "queued", "maxactive", "purgethresh") == [
            2, 2, 0, 0, 2, 3,
        ]  # fmt: skip
        assert values(counts, "transactions", "purged_waiting", "XMCTAT") == [1, 0, 1000]
        assert counts["times_at_maxactive"] == 3  # once at the beginning, once for each task that waited
        assert region.statistics.abends == {"AKCC": 996}
        task.perform_statistics(tranclass=True, resetnow=True)
        assert values(task.extract_statistics("PAY", tranclass=True), "attaches", "purged", "peak_active") == [0, 0, 0]


def test_a_task_that_is_purged_while_it_waits():
    with Region(CLASSES, **PLAIN) as region, region.task() as task:
        region.register("PAYP", nap)
        handles = [region.start("PAYP") for _ in range(4)]
        region.dispatcher.run_ready()
        task.set_task(handles[3].local.number, purgetype="PURGE")
        task.set_tranclass("PAY", purgethresh=1)
        region.run()
        assert values(task.extract_statistics("PAY", tranclass=True), "delayed", "purged_waiting", "purged") == [
            2,
            2,
            0,
        ]


def test_temporary_storage():
    names = (
        "writes_main",
        "reads_main",
        "writes_auxiliary",
        "reads_auxiliary",
        "created",
        "queues",
        "peak_queues",
        "longest",
    )
    with Region(**PLAIN) as region, region.task() as task:
        task.writeq_ts("AUXQ", b"one")
        task.writeq_ts("AUXQ", b"two")
        task.writeq_ts("AUXQ", b"new", item=1, rewrite=True)
        task.writeq_ts("MAINQ", b"one", main=True)
        task.readq_ts("AUXQ")
        task.readq_ts("MAINQ")
        condition(task.readq_ts, "MAINQ", item=9)
        task.deleteq_ts("AUXQ")
        assert values(task.extract_statistics(tsqueue=True), *names) == [1, 1, 3, 1, 2, 1, 2, 1]
        task.perform_statistics(tsqueue=True, resetnow=True)
        assert values(task.extract_statistics(tsqueue=True), *names) == [0, 0, 0, 0, 0, 1, 1, 1]
        for name in ("TWOQ", "TRIQ"):
            task.writeq_ts(name, b"one")
            task.deleteq_ts(name)
        task.writeq_ts("TWOQ", b"one")
        task.writeq_ts("TRIQ", b"one")
        task.deleteq_ts("TWOQ")
        task.deleteq_ts("MAINQ")
        task.writeq_ts("TWOQ", b"one")  # fewer are there than were there
        assert values(task.extract_statistics(tsqueue=True), "created", "queues", "peak_queues") == [5, 2, 3]


def test_programs():
    with Region(CLASSES, **PLAIN) as region, region.task() as task:
        region.programs.register("SUBP", lambda _task: None)
        region.register("PAYP", lambda task: task.link("SUBP"))
        for _ in range(2):
            region.start("PAYP").result()
        task.link("SUBP")
        assert task.extract_statistics("SUBP", program=True)["uses"] == 3
        assert task.extract_statistics("PAYPGM", program=True)["LDRTU"] == 2
        task.perform_statistics(transaction=True, resetnow=True)
        assert task.extract_statistics("PAYPGM", program=True)["uses"] == 2  # another type was reset
        task.perform_statistics(program=True, resetnow=True)
        region.start("PAYP").result()
        assert [task.extract_statistics(name, program=True)["uses"] for name in ("SUBP", "PAYPGM")] == [1, 1]


def test_files():
    names = ("reads", "update_reads", "browses", "adds", "rewrites", "deletes")
    with Region(**PLAIN) as region, region.task() as task:
        region.files.define("ACCT", DataFile(keylength=2, recordsize=20))
        for key in (b"01", b"02", b"03"):
            task.write_file("ACCT", key + b"A", key)
        task.read_file("ACCT", b"01")
        condition(task.read_file, "ACCT", b"09")
        task.read_file("ACCT", b"01", update=True)
        task.rewrite_file("ACCT", b"01B")
        task.startbr("ACCT", b"01")
        task.readnext("ACCT")
        task.readnext("ACCT")
        task.readprev("ACCT")
        task.endbr("ACCT")
        task.delete_file("ACCT", b"02")
        record = task.extract_statistics("ACCT", file=True)
        assert values(record, *names) == [2, 1, 3, 3, 1, 1]
        assert values(record, "name", "dsname", "A17DSRD") == ["ACCT", "ACCT", 2]
        task.perform_statistics(file=True, resetnow=True)
        assert values(task.extract_statistics("ACCT", file=True), *names) == [0] * 6


def test_everything_at_once_is_json():
    with Region(CLASSES, **PLAIN) as region:
        region.files.define("ACCT", DataFile(keylength=2, recordsize=20))
        region.programs.register("SUBP", lambda _task: None)
        found = region.statistics.now().as_dict()["records"]
        assert [(each["record"], each.get("name")) for each in found] == [
            ("STG", None), ("XMG", None), ("XMR", "PAYP"), ("XMR", "FREE"), ("XMC", "PAY"), ("DSG", None), ("TSG", None),
            ("LDR", "SUBP"), ("LDR", "PAYPGM"), ("A17", "ACCT"),
        ]  # fmt: skip
