"""Temporary storage: items by number, NEXT of the queue, and what is refused."""

from __future__ import annotations

import pytest

from tdqsim import Condition, Region
from tdqsim.cics import TranslationError
from tdqsim.definitions import define_tsmodel


@pytest.fixture
def task():
    with Region([]) as region, region.task() as task:
        yield task


def refused(call, *args, **options):
    with pytest.raises(Condition) as caught:
        call(*args, **options)
    return caught.value


def test_items_are_numbered_and_stay(task):
    assert [task.writeq_ts("Q", data).item for data in (b"one", b"two")] == [1, 2]
    assert task.readq_ts("Q", item=2).data == b"two"
    assert task.readq_ts("Q", item=2).numitems == 2


def test_next_follows_what_any_task_has_read():
    with Region([]) as region:
        for data in (b"one", b"two", b"three"):
            region.writeq_ts("Q", data)
        assert region.readq_ts("Q").data == b"one"
        with region.task() as other:
            assert other.readq_ts("Q", next=True).data == b"two"
            assert other.readq_ts("Q", item=1).data == b"one"
        assert region.readq_ts("Q").data == b"two"


def test_of_two_models_with_one_prefix_the_newer_one_counts():
    definitions = [
        define_tsmodel(name="OLD", prefix="REC", recovery="YES"), define_tsmodel(name="NEW", prefix="REC"),
        define_tsmodel(name="SHORT", prefix="R", recovery="YES"),
    ]  # fmt: skip
    with Region(definitions) as region, region.task() as task:
        for name in ("RECQ", "RXQ"):
            task.writeq_ts(name, b"x")
        task.syncpoint_rollback()
        assert task.readq_ts("RECQ").data == b"x"
        assert refused(task.readq_ts, "RXQ").name == "QIDERR"
        region.install([define_tsmodel(name="OLD", prefix="REC", recovery="YES")])  # installed again: it is the newer
        task.deleteq_ts("RECQ")
        task.writeq_ts("RECQ", b"x")
        task.syncpoint_rollback()
        assert refused(task.readq_ts, "RECQ").name == "QIDERR"


def test_a_deleted_queue_is_held_although_its_model_has_changed_since():
    with Region([define_tsmodel(name="KEPT", prefix="REC", recovery="YES")]) as region:

        def deletes(task):
            task.deleteq_ts("RECQ")
            region.install([define_tsmodel(name="KEPT", prefix="REC")])
            task.suspend()
            task.syncpoint_rollback()

        region.writeq_ts("RECQ", b"one")
        for program in (deletes, lambda task: task.writeq_ts("RECQ", b"two")):
            region.start(program)
        region.run()
        assert [region.readq_ts("RECQ", item=number).data for number in (1, 2)] == [b"one", b"two"]


def test_the_most_queues_at_a_time_are_counted_over_deletes(task):
    for name in ("A", "B", "C"):
        task.writeq_ts(name, b"x")
    for name in ("A", "B"):
        task.deleteq_ts(name)
    task.writeq_ts("D", b"x")
    counts = task.extract_statistics(tsqueue=True)
    assert (counts["queues"], counts["peak_queues"], counts["created"]) == (2, 3, 4)


def test_next_goes_on_behind_the_last_item_that_is_left_after_a_backout():
    with Region([define_tsmodel(name="KEPT", prefix="REC", recovery="YES")]) as region, region.task() as task:
        task.writeq_ts("RECQ", b"one")
        task.syncpoint()
        for _ in range(2):
            for data in (b"two", b"three"):
                task.writeq_ts("RECQ", data)
            while task.readq_ts("RECQ").data != b"three":
                pass
            task.syncpoint_rollback()
        task.writeq_ts("RECQ", b"two again")
        assert task.readq_ts("RECQ").data == b"two again"


def test_rewrite_replaces_an_item(task):
    task.writeq_ts("Q", b"one")
    assert task.writeq_ts("Q", b"longer", item=1, rewrite=True) == (1, 1)
    assert task.readq_ts("Q", item=1).data == b"longer"


@pytest.mark.parametrize("item", [0, -1, 2])
def test_an_item_that_is_not_there_is_itemerr(task, item):
    task.writeq_ts("Q", b"one")
    assert refused(task.readq_ts, "Q", item=item).name == "ITEMERR"
    assert refused(task.writeq_ts, "Q", b"x", item=item, rewrite=True).name == "ITEMERR"


def test_a_queue_has_32767_items_at_most(task):
    for _ in range(32767):
        last = task.writeq_ts("Q", b"x")
    assert last.item == 32767
    assert refused(task.writeq_ts, "Q", b"x").name == "ITEMERR"
    assert task.readq_ts("Q", item=32767).numitems == 32767


def test_next_behind_the_last_is_itemerr(task):
    task.writeq_ts("Q", b"one")
    task.readq_ts("Q")
    assert refused(task.readq_ts, "Q").name == "ITEMERR"


@pytest.mark.parametrize("command", ["readq_ts", "deleteq_ts"])
def test_a_queue_that_does_not_exist_is_qiderr(task, command):
    assert refused(getattr(task, command), "NONE").name == "QIDERR"
    assert refused(task.writeq_ts, "NONE", b"x", item=1, rewrite=True).name == "QIDERR"


def test_a_record_too_long_for_the_area_is_cut(task):
    task.writeq_ts("Q", b"0123456789")
    met = refused(task.readq_ts, "Q", 4)
    assert (met.name, met.resp2, met.data, met.length) == ("LENGERR", 0, b"0123", 10)


@pytest.mark.parametrize("length", [-5, 0])
def test_a_negative_length_counts_as_zero(task, length):
    task.writeq_ts("Q", b"abc")
    met = refused(task.readq_ts, "Q", length)
    assert (met.name, met.data, met.length) == ("LENGERR", b"", 3)


def test_the_length_is_from_1_to_32763(task):
    assert refused(task.writeq_ts, "Q", b"").name == "LENGERR"
    assert refused(task.writeq_ts, "Q", bytes(32764)).name == "LENGERR"
    assert task.writeq_ts("Q", bytes(32763)).item == 1


@pytest.mark.parametrize("name", ["\0\0\0\0", "DFHQ", "**Q", "$$Q", "CEBRX", ""])
def test_names_of_cics_are_refused(task, name):
    assert refused(task.writeq_ts, name, b"x").name == "INVREQ"


@pytest.mark.rule("TS-QNAME")
def test_qname_is_the_queue_with_a_long_name(task):
    name = "CUSTOMER.ORDERS1"
    assert len(name) == 16
    task.execute(f"WRITEQ TS QNAME('{name}') FROM('hello')")
    variables = {}
    task.execute(f"READQ TS QNAME('{name}') INTO(REC)", variables)
    assert variables["REC"] == task.readq_ts(name, item=1).data == task.region.encode("hello")
    with pytest.raises(TranslationError, match="given twice"):
        task.execute(f"DELETEQ TS QNAME('{name}') QUEUE('Q')")
    task.execute(f"DELETEQ TS QNAME('{name}')")
    assert refused(task.readq_ts, name).name == "QIDERR"


@pytest.mark.parametrize("into", ["INTO", "SET"])
def test_the_receivers_of_readq_as_text(task, into):
    got = {}
    task.writeq_ts("Q", b"first", 3)
    task.execute(f"READQ TS QUEUE('Q') {into}(REC) LENGTH(LEN) NUMITEMS(COUNT)", got)
    assert (bytes(got["REC"]), got["LEN"], got["COUNT"]) == (b"fir", 3, 1)
