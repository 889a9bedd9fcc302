"""Snapshots, assertions, seeding and the clock."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tdqsim import Region, System, TdqError, define_tdqueue
from tdqsim.cics import Abend, Sysplex, Task
from tdqsim.core.codepage import codepage
from tdqsim.errors import UsageError
from tdqsim.state import find_deadlock
from tdqsim.testing import (
    RecycledStores,
    assert_records,
    assert_resp,
    diff,
    frozen,
    jump_to_next_deadline,
    load_records,
    raises_condition,
    seed,
    snapshot,
    waiting,
)
from tdqsim.testing.snapshots import record_changes

DEFINITIONS = [
    define_tdqueue(name="NOQ", type="INTRA"),
    define_tdqueue(name="LOGQ", type="INTRA", recovstatus="LOGICAL"),
    define_tdqueue(name="LOG2", type="INTRA", recovstatus="LOGICAL"),
    define_tdqueue(name="ALIA", type="INDIRECT", indirectname="NOQ"),
]
EBCDIC = codepage("037")


@pytest.fixture
def region() -> Iterator[Region]:
    with Region(DEFINITIONS, supplied_queues=False) as made:
        yield made


def test_a_file_as_large_as_is_allowed_is_read_and_a_larger_one_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text('"one"\n')
    monkeypatch.setattr("tdqsim.testing.seeding._LARGEST", 6)
    assert load_records(path, EBCDIC) == [EBCDIC.encode("one")]
    path.write_text('"three"\n')
    with pytest.raises(TdqError, match="the file has more than 6 bytes"):
        load_records(path, EBCDIC)


def test_a_snapshot_tells_of_a_deleteq_that_is_not_committed(region: Region) -> None:
    region.seed("LOGQ", [b"a"])
    with region.task() as task:
        task.deleteq_td("LOGQ")
        (work,) = snapshot(region)["LOGQ"].uncommitted
        assert (work.read, work.written, work.deleted) == ((), (), True)
    assert snapshot(region)["LOGQ"].uncommitted == ()


def test_a_snapshot_names_what_is_uncommitted_and_by_whom(region: Region) -> None:
    region.seed("LOGQ", [b"a", b"b"])
    with region.task(transid="PAYP") as task:
        task.readq_td("LOGQ")
        task.writeq_td("LOGQ", b"c")
        state = snapshot(region)
        (work,) = state["LOGQ"].uncommitted
        assert state["LOGQ"].records == (b"a", b"b")
        assert (work.task, work.transid, work.state) == (task.number, "PAYP", "INFLIGHT")
        assert (work.read, work.written, work.deleted) == ((b"a",), (b"c",), False)
        assert state.tasks == ((task.number, "PAYP"),)
    after = snapshot(region)
    assert diff(state, after) == [
        "LOGQ: - 1: 'a'",
        "LOGQ: + 2: 'c'",
        f"LOGQ: no longer: task {task.number} PAYP INFLIGHT; read 'a'; written 'c'",
    ]
    assert diff(after, snapshot(region)) == []
    assert after == snapshot(region)
    assert snapshot(region)["ALIA"].target == "NOQ"


def test_a_snapshot_stays_as_it_was_taken(region: Region) -> None:
    """What happens afterwards, a second time too, is in the next snapshot only."""

    def fail(task: Task) -> None:
        task.writeq_td("NOQ", b"x")
        task.abend("MINE")

    taken = [snapshot(region)]
    for _ in range(2):
        handle = region.start(fail)
        region.run()
        with pytest.raises(Abend, match="MINE"):
            handle.result()
        taken.append(snapshot(region))
    with System() as system, system.job() as job:
        job.crtdtaq(dtaq="QGPL/ORDERS", maxlen=10)
        empty = snapshot(system)
        job.qsnddtaq("ORDERS", "QGPL", b"order")
        job.crtdtaq(dtaq="QGPL/OTHER", maxlen=10)
        assert dict(empty.queues) == {"QGPL/ORDERS": ()}
    assert [each.abends for each in taken] == [{}, {"MINE": 1}, {"MINE": 2}]
    assert [each["NOQ"].records for each in taken] == [(), (b"x",), (b"x", b"x")]


def test_states_and_queues_that_come_and_go_are_differences(region: Region) -> None:
    before = snapshot(region)
    region.set_tdqueue("NOQ", enablestatus="DISABLED")
    region.install([define_tdqueue(name="NEWQ", type="INTRA")])
    assert diff(before, snapshot(region)) == ["NOQ: enablestatus ENABLED -> DISABLED", "NEWQ: new"]


def test_a_system_has_snapshots_too() -> None:
    with System() as system, system.job() as job:
        job.crtdtaq(dtaq="QGPL/ORDERS", maxlen=10)
        before = snapshot(system)
        job.qsnddtaq("ORDERS", "QGPL", b"order")
        after = snapshot(system)
        assert after.queues["QGPL/ORDERS"] == ((b"", b"order", b""),)
        assert diff(before, after) == ["QGPL/ORDERS: + 1: 'order'"]
        job.crtdtaq("QGPL/KEYED", maxlen=10, seq="*KEYED", keylen=2)
        job.qsnddtaq("KEYED", "QGPL", b"same", b"K1")
        before = snapshot(system)
        job.qrcvdtaq("KEYED", "QGPL", 0, "EQ", b"K1")
        job.qsnddtaq("KEYED", "QGPL", b"same", b"K2")
        assert diff(before, snapshot(system)) == ["QGPL/KEYED: - 1: 'K1same'", "QGPL/KEYED: + 1: 'K2same'"]


def test_remote_queues_are_followed_to_where_they_are() -> None:
    here = [
        define_tdqueue(name=name, remotesystem="CICB", remotename=to)
        for name, to in (("REMA", "ALIA"), ("RING", "RING"), ("GONE", "GONE"))
    ]
    there = [*DEFINITIONS, define_tdqueue(name="RING", remotesystem="CICA", remotename="RING")]
    with Sysplex() as sysplex:
        one = sysplex.region(here, applid="CICA", sysid="CICA", supplied_queues=False)
        two = sysplex.region(there, applid="CICB", sysid="CICB", supplied_queues=False)
        assert snapshot(one)["REMA"].region == ""
        link = sysplex.connect(one, two)
        before = snapshot(one)
        one.writeq_td("REMA", b"x")
        after = snapshot(one)
        assert (after["REMA"].records, after["REMA"].region, after["REMA"].target) == ((b"x",), "CICB", "ALIA")
        assert after["RING"].region == after["GONE"].region == ""
        assert diff(before, after) == ["REMA: + 1: 'x'"]
        assert snapshot(one, records=False)["REMA"].records == ()
        link.cut()
        assert snapshot(one)["REMA"].records == ()


@given(st.lists(st.binary(max_size=2), max_size=8), st.lists(st.binary(max_size=2), max_size=8))
def test_no_line_of_a_difference_means_no_difference(before: list[bytes], after: list[bytes]) -> None:
    lines = record_changes(before, after)
    assert (lines == []) == (before == after)
    gone = sum(line.startswith("-") for line in lines)
    assert len(before) - gone + len(lines) - gone == len(after)


def test_a_failed_assertion_shows_text_and_bytes(region: Region) -> None:
    region.seed("NOQ", ["ABC", b"\x00\x01"])
    assert_records(region, "ALIA", ["ABC", b"\x00\x01"])
    with pytest.raises(AssertionError) as failed:
        assert_records(region, "NOQ", ["ABD", b"\x00\x01"])
    text = str(failed.value)
    assert "!   1 'ABC'   expected 'ABD'" in text
    assert "0000  C1C2C3" in text
    assert "0000  C1C2C4" in text
    with pytest.raises(AssertionError, match="holds 2 records, 1 are expected"):
        assert_records(region, "NOQ", ["ABC"])


def test_a_record_in_ascii_is_told_with_its_cure(region: Region) -> None:
    region.seed("NOQ", [b"10.00"])
    with pytest.raises(AssertionError, match=r"record 1 is ASCII; the code page is 037: write encode\('10.00'\)"):
        assert_records(region, "NOQ", ["10.00"])


def test_records_of_remote_queues_and_data_queues_are_asserted_too() -> None:
    with Sysplex() as sysplex:
        remote = define_tdqueue(name="REMQ", remotesystem="CICB", remotename="NOQ")
        one = sysplex.region([remote], applid="CICA", sysid="CICA", supplied_queues=False)
        with pytest.raises(TdqError, match="another region"):
            assert_records(one, "REMQ", [])
        two = sysplex.region(DEFINITIONS, applid="CICB", sysid="CICB", supplied_queues=False)
        sysplex.connect(one, two)
        one.writeq_td("REMQ", b"x")
        assert_records(one, "REMQ", [b"x"])
    with System() as system, system.job() as job:
        job.crtdtaq(dtaq="QGPL/ORDERS", maxlen=10)
        assert seed(job, "QGPL/ORDERS", ["ABC", b"x"]) == 2
        assert_records(system, "QGPL/ORDERS", ["ABC", b"x"])
        with pytest.raises(AssertionError, match="!   1 'ABC'   expected 'ABD'"):
            assert_records(system, "qgpl/orders", ["ABD", b"x"])
        with pytest.raises(TdqError, match="has no data queue QGPL/NONE; there are QGPL/ORDERS"):
            assert_records(system, "QGPL/NONE", [])
        with pytest.raises(TdqError, match="QGPL/ORDERS"):
            seed(job, "ORDERS", [b"x"])


def test_conditions_are_compared_with_their_resp2(region: Region) -> None:
    with raises_condition("QZERO") as caught:
        region.readq_td("NOQ")
    assert caught.condition is not None
    with pytest.raises(AssertionError, match="expected QZERO, got QIDERR"), raises_condition("QZERO"):
        region.readq_td("NONE")
    with pytest.raises(AssertionError, match="RESP2 7"), raises_condition("QZERO", 7):
        region.readq_td("NOQ")
    with pytest.raises(UsageError, match="'QZERRO' is not a condition; did you mean QZERO"):
        raises_condition("QZERRO")
    with pytest.raises(AssertionError, match="nothing was raised"), raises_condition("QZERO"):
        region.writeq_td("NOQ", b"x")
    with region.task() as task:
        task.readq_td("LOGQ", nohandle=True)
        assert_resp(task, "QZERO", 0)
        with pytest.raises(AssertionError, match="EIBRESP is QZERO, expected NORMAL: queue LOGQ is empty"):
            assert_resp(task)


RECORDS = [EBCDIC.encode("ABC"), b"\x01\x02", b"xyz"]


def test_records_come_from_yaml_json_lines_and_data_sets(region: Region, tmp_path: Path) -> None:
    (tmp_path / "r.yaml").write_text("- ABC\n- {hex: '0102'}\n- {base64: eHl6}\n", "utf-8")
    (tmp_path / "r.jsonl").write_text('"ABC"\n\n{"hex": "0102"}\n{"base64": "eHl6"}\n', "utf-8")
    (tmp_path / "r.dat").write_bytes(b"aaabbbccc")
    for name in ("r.yaml", "r.jsonl"):
        assert load_records(tmp_path / name, EBCDIC) == RECORDS
    assert seed(region, "NOQ", tmp_path / "r.yaml") == 3
    assert seed(region, "NOQ", tmp_path / "r.dat", dcb="RECFM=F,LRECL=3") == 3
    assert seed(region, "NOQ", [b"last"]) == 1
    assert region.peek("NOQ") == [*RECORDS, b"aaa", b"bbb", b"ccc", b"last"]


def test_a_line_of_json_ends_at_a_newline_only(tmp_path):
    (tmp_path / "r.jsonl").write_text('"a\x85b"\r\n"c"\n', "utf-8", newline="")
    assert load_records(tmp_path / "r.jsonl", EBCDIC) == [EBCDIC.encode("a\x85b"), EBCDIC.encode("c")]


@pytest.mark.parametrize(
    ("name", "text", "where"),
    [
        ("r.yaml", "a: 1", "a list of records"),
        ("r.yaml", "- [", "r.yaml:2: is not valid YAML"),
        ("r.yaml", "- ok\n- [7]", r"r.yaml:2: \['7'\]: a record is"),
        ("r.yaml", "- {hex: 123}", "r.yaml:1: hex '123'"),
        ("r.yaml", "- {hex: [12]}", "in quotes"),
        ("r.yaml", "- " + "[" * 20_000, "nested more than"),
        ("r.yaml", "- &a [x]\n- *a", "aliases"),
        ("r.yaml", "- !!python/object:os.system x", "tags"),
        ("r.yaml", "- ok\n- a\n- " + "x" * 70_000, "a value may have 65536 characters"),
        ("r.jsonl", "9" * 5_000, "r.jsonl:1: this is not JSON"),
        ("r.jsonl", "[" * 100_000, "r.jsonl:1: this is not JSON"),
        ("r.jsonl", '{"a": "' + "x" * 1_000_000 + '"}', "a record is a text"),
        ("r.yaml", "- {hex: xx}", "r.yaml:1: hex 'xx'"),
        ("r.jsonl", '"a"\n{', r"r\.jsonl:2: this is not JSON"),
        ("r.jsonl", '{"text": "a", "hex": "00"}', "one of text, hex, base64"),
        ("r.jsonl", '{"base64": "%"}', "base64 '%'"),
        ("r.txt", "a", "allowed are"),
    ],
)
def test_files_that_are_wrong_are_named(tmp_path: Path, name: str, text: str, where: str) -> None:
    (tmp_path / name).write_text(text, "utf-8")
    with pytest.raises(TdqError, match=where) as refused:
        load_records(tmp_path / name, EBCDIC)
    assert len(str(refused.value)) < 500 + len(str(tmp_path))


def test_a_value_in_yaml_is_the_text_as_written(tmp_path: Path) -> None:
    written = ["2001-99-99", "9" * 5_000, "NO", "0010", "1E05", "~"]
    (tmp_path / "r.yaml").write_text("".join(f"- {each}\n" for each in written), "utf-8")
    assert [EBCDIC.decode(each) for each in load_records(tmp_path / "r.yaml", EBCDIC)] == written


def test_frozen_time_and_simulated_time_are_one() -> None:
    with frozen("2026-02-03 04:05:06") as clock, Region(DEFINITIONS, supplied_queues=False, clock=clock) as region:
        assert region.clock.now() == datetime.now(UTC) == datetime(2026, 2, 3, 4, 5, 6, tzinfo=UTC)
        region.start(lambda task: task.delay(seconds=10))
        region.start(lambda task: task.delay(seconds=20))
        region.dispatcher.run_ready()
        assert [each.until.second for each in waiting(region.dispatcher) if each.until] == [16, 26]
        assert jump_to_next_deadline(region.dispatcher) == datetime.now(UTC)
        assert datetime.now(UTC).second == 16
        clock.advance(3.5)
        assert datetime.now(UTC) == region.clock.now() == datetime(2026, 2, 3, 4, 5, 19, 500_000, tzinfo=UTC)
        region.run()
        assert datetime.now(UTC).second == 26
        assert jump_to_next_deadline(region.dispatcher) is None
        with pytest.raises(ValueError, match="backward"):
            clock.advance(-1)


def test_no_nanosecond_is_lost() -> None:
    with frozen() as clock:  # once: to freeze the time takes as long as a hundred examples

        @given(st.lists(st.integers(0, 3_000_000), max_size=10))
        def advances(steps: list[int]) -> None:
            start = clock.time_ns()
            for step in steps:
                clock.advance_to(clock.time_ns() + step)
            assert clock.time_ns() - start == sum(steps)

        advances()


def test_who_waits_for_whom(region: Region) -> None:
    def write(task, first: str, second: str) -> None:
        task.writeq_td(first, b"x")
        task.delay(seconds=1)
        task.writeq_td(second, b"x")

    region.start(write, "LOGQ", "LOG2")
    region.start(write, "LOG2", "LOGQ")
    region.dispatcher.run_ready()
    assert find_deadlock([region]) is None
    region.run()
    ring = find_deadlock([region])
    assert ring is not None
    assert len(ring.tasks) == 2
    assert "held by unit of work" in str(waiting(region.dispatcher)[0])


def test_recycled_stores_start_empty_and_are_not_shared() -> None:
    with RecycledStores() as stores:
        with Region(DEFINITIONS, supplied_queues=False, store=stores.take()) as one:
            with Region(DEFINITIONS, supplied_queues=False, store=stores.take()) as other:
                one.writeq_td("NOQ", b"x")
                one.writeq_td("LOGQ", b"x")
                assert one.store is not other.store
                assert other.peek("NOQ") == []
            path = one.store.path
        with Region(DEFINITIONS, supplied_queues=False, store=stores.take()) as again:
            assert again.store.path == path
            assert again.recovery.start_type == "INITIAL"
            assert (again.peek("NOQ"), again.peek("LOGQ")) == ([], [])
    assert not path.exists()


def test_a_store_with_a_planned_fault_is_not_used_again() -> None:
    with RecycledStores() as stores:
        plain, faulty = stores.take(), stores.take()
        faulty.durable.fault = lambda _step: None
        faulty.close()
        plain.close()
        again, other = stores.take(), stores.take()
        assert again is plain
        assert other is not faulty
        again.close()
        other.close()
