"""The lock tables, cell by cell: among units of work in flight (2.3), and against one that is shunted (3.3)."""

from __future__ import annotations

import pytest

from tdqsim.cics import Abend
from tdqsim.definitions import define_transaction
from tdqsim.errors import WouldWaitForever
from tests.recovery.helpers import DELETEQ, READQ, WRITEQ, again, make, outcome, prepared, queue, request, status

REQUESTS = [READQ, WRITEQ, DELETEQ]

CONFLICTS = {
    # (what another unit of work has done, my request): whether I go on at once, with a committed record left
    (READQ, READQ): False, (READQ, WRITEQ): True, (READQ, DELETEQ): False,
    (WRITEQ, READQ): True, (WRITEQ, WRITEQ): False, (WRITEQ, DELETEQ): False,
    (DELETEQ, READQ): False, (DELETEQ, WRITEQ): False, (DELETEQ, DELETEQ): False,
}  # fmt: skip


@pytest.fixture
def region():
    with make(queue("LOGQ"), define_transaction(name="WAIT", dtimout="10")) as made:
        yield made


@pytest.mark.rule("LOCK-CONFLICTS")
@pytest.mark.parametrize("end", ["syncpoint", "syncpoint_rollback", "abend"])
@pytest.mark.parametrize(("theirs", "mine"), CONFLICTS)
def test_every_cell_among_units_of_work_in_flight(region, theirs, mine, end):
    region.seed("LOGQ", [b"one", b"two"])
    other = region.task()
    request(other, theirs, "LOGQ")
    handle = region.start(lambda task: request(task, mine, "LOGQ"))
    region.run()
    assert handle.done is CONFLICTS[theirs, mine]
    other.end(normal=False) if end == "abend" else getattr(other, end)()
    region.run()
    assert handle.done
    committed = end == "syncpoint"
    if mine == READQ:
        gone = {READQ: 1, WRITEQ: 0, DELETEQ: 2}[theirs] if committed else 0
        expected = [b"one", b"two", *([b"new"] if committed and theirs == WRITEQ else [])][gone : gone + 1]
        assert outcome(handle.result) == (expected[0] if expected else "AEIW")
    else:
        handle.result()


@pytest.mark.rule("LOCK-CONFLICTS")
@pytest.mark.parametrize("mine", REQUESTS)
@pytest.mark.parametrize("theirs", REQUESTS)
def test_a_unit_of_work_is_never_in_its_own_way(region, theirs, mine):
    region.seed("LOGQ", [b"one", b"two"])
    with region.task() as task:
        request(task, theirs, "LOGQ")
        assert outcome(request, task, mine, "LOGQ") == (
            {READQ: b"two", WRITEQ: b"one", DELETEQ: "QZERO"}[theirs] if mine == READQ else None
        )


@pytest.mark.rule("LOCK-TD-READ-WAITS", "LOCK-TD-READ-REEVALUATES")
def test_a_reader_behind_a_writer_looks_again_from_the_beginning(region):
    region.seed("LOGQ", [b"one"])

    def write(task):
        task.writeq_td("LOGQ", b"a")
        task.suspend()  # the reader comes and waits
        task.syncpoint_rollback()
        task.writeq_td("LOGQ", b"b")  # before the reader has its turn
        task.suspend()  # it has it, and must wait again
        assert not reader.done
        task.syncpoint()

    writer = region.start(write)
    reader = region.start(lambda task: [task.readq_td("LOGQ"), task.readq_td("LOGQ")])
    region.run()
    writer.result()
    assert reader.result() == [b"one", b"b"]


@pytest.mark.rule("LOCK-QBUSY-NOSUSPEND")
@pytest.mark.parametrize(("theirs", "expected"), [(READQ, "QBUSY"), (WRITEQ, b"one"), (DELETEQ, "QBUSY")])
def test_nosuspend_never_waits(region, theirs, expected):
    region.seed("LOGQ", [b"one"])
    other = region.task()
    request(other, theirs, "LOGQ")
    with region.task() as task:
        answers = []
        task.handle_condition(QBUSY=lambda condition: condition.name)
        answers.append(task.readq_td("LOGQ", nosuspend=True))
        assert answers == [expected]
        if theirs == WRITEQ:
            assert task.readq_td("LOGQ", nosuspend=True) == "QBUSY"


@pytest.mark.parametrize("mine", [WRITEQ, DELETEQ])
def test_a_wait_ends_with_dtimout_and_leaves_nothing_held(region, mine):
    other = region.task()
    other.writeq_td("LOGQ", b"theirs")
    region.register("WAIT", lambda task: request(task, mine, "LOGQ"))
    handle = region.start("WAIT")
    region.run()
    with pytest.raises(Abend, match="AKCS"):
        handle.result()
    other.syncpoint()
    region.deleteq_td("LOGQ")
    assert region.peek("LOGQ") == []


# -- against a shunted unit of work -----------------------------------------------------------------------------------

SHUNTED = {
    # (what the shunted one has done, my request): whether it is in my way
    (READQ, READQ): True, (READQ, WRITEQ): False, (READQ, DELETEQ): True,
    (WRITEQ, READQ): False, (WRITEQ, WRITEQ): True, (WRITEQ, DELETEQ): True,
    (DELETEQ, READQ): True, (DELETEQ, WRITEQ): True, (DELETEQ, DELETEQ): True,
}  # fmt: skip


def indoubt_region(store, waitaction):
    return make(queue("LOGQ", waitaction=waitaction), define_transaction(name="WAIT", dtimout="10"), store=store)


@pytest.mark.rule("LOCK-RETAINED-LOCKED", "LOCK-ACTIVE-WAITS")
@pytest.mark.parametrize("restarted", [False, True], ids=["", "after a restart"])
@pytest.mark.parametrize("waitaction", ["REJECT", "QUEUE"])
@pytest.mark.parametrize(("theirs", "mine"), SHUNTED)
def test_every_cell_against_a_shunted_unit_of_work(tmp_path, theirs, mine, waitaction, restarted):
    region = indoubt_region(tmp_path / "store", waitaction)
    region.seed("LOGQ", [b"one", b"two"])
    branch = prepared(region, (theirs, "LOGQ"))
    branch.lose_coordinator()
    if restarted:
        region = again(region, tmp_path / "store")
        branch = region.recovery.branch("XA1")
    handle = region.start(lambda task: request(task, mine, "LOGQ"))
    region.run()
    refused = SHUNTED[theirs, mine]
    if not refused:
        assert handle.result() == (b"one" if mine == READQ else None)
    elif waitaction == "REJECT":
        assert outcome(handle.result) == "AEX8"
    else:
        assert not handle.done
        branch.commit()
        region.run()
        assert handle.done
        assert outcome(handle.result) == ({READQ: b"two", DELETEQ: "AEIW"}[theirs] if mine == READQ else None)
    region.close()


@pytest.mark.parametrize(("waitaction", "expected"), [("REJECT", "LOCKED"), ("QUEUE", "QBUSY")])
def test_nosuspend_behind_a_shunted_reader(tmp_path, waitaction, expected):
    with indoubt_region(tmp_path / "store", waitaction) as region:
        region.seed("LOGQ", [b"one", b"two"])
        prepared(region, (READQ, "LOGQ")).lose_coordinator()
        region.readq_td("LOGQ", nosuspend=True, nohandle=True)
        with region.task() as task:
            task.handle_condition(QBUSY=lambda condition: condition.name)
            assert outcome(task.readq_td, "LOGQ", nosuspend=True) == expected


@pytest.mark.rule("LOCK-RETAINED-READ-PAST")
@pytest.mark.parametrize(("waitaction", "expected"), [("REJECT", "AEX8"), ("QUEUE", None)])
def test_past_the_committed_records_behind_a_shunted_writer(tmp_path, waitaction, expected):
    with indoubt_region(tmp_path / "store", waitaction) as region:
        region.seed("LOGQ", [b"one"])
        branch = prepared(region, (WRITEQ, "LOGQ"))
        branch.lose_coordinator()
        handle = region.start(lambda task: [task.readq_td("LOGQ"), task.readq_td("LOGQ")])
        region.run()
        if expected:
            assert outcome(handle.result) == expected
            branch.commit()
            assert region.peek("LOGQ") == [b"one", b"new"]
        else:
            assert not handle.done
            branch.commit()
            assert handle.result() == [b"one", b"new"]


@pytest.mark.rule("LOCK-REFUSED-KEEPS-NOTHING")
@pytest.mark.parametrize("mine", [READQ, DELETEQ])
def test_who_is_refused_is_in_nobodys_way(tmp_path, mine):
    with indoubt_region(tmp_path / "store", "REJECT") as region:
        prepared(region, (WRITEQ, "LOGQ")).lose_coordinator()
        with region.task() as first, region.task() as second:
            for task in (first, second):
                assert outcome(request, task, mine, "LOGQ") == "LOCKED"
                assert not task._uow.locks


@pytest.mark.parametrize("mine", [READQ, DELETEQ])
def test_who_would_wait_forever_is_in_nobodys_way(tmp_path, mine):
    with make(store=tmp_path / "store") as region, region.task() as writer, region.task() as other:
        writer.writeq_td("LOGQ", b"one")
        for task in (other, region.task()):
            with pytest.raises(WouldWaitForever, match="held by unit of work"):
                request(task, mine, "LOGQ")
        writer.syncpoint()
        assert region.readq_td("LOGQ") == b"one"


@pytest.mark.rule("LOCK-REFUSED-KEEPS-NOTHING")
def test_who_has_waited_and_is_refused_then_is_in_nobodys_way(tmp_path):
    with indoubt_region(tmp_path / "store", "REJECT") as region:
        region.seed("LOGQ", [b"one"])
        prepared(region, (WRITEQ, "LOGQ")).lose_coordinator()
        holder, held = region.task(), []
        holder.readq_td("LOGQ")

        def wait(task):
            task.readq_td("LOGQ", nohandle=True)
            held.append((task.eib.eibresp.name, task._uow.locks[:]))

        for _ in range(2):
            region.start(wait)
        region.run()
        holder.syncpoint()
        region.run()
        assert held == [("LOCKED", [])] * 2


@pytest.mark.rule("LOCK-REFUSED-KEEPS-NOTHING")
@pytest.mark.parametrize("room", [{"dfhintra": {"control_intervals": 3}}, {"limit_bytes": 4 << 20}], ids=str)
def test_who_finds_no_space_is_in_nobodys_way(tmp_path, room):
    """Neither with nothing else done nor with a record read."""
    with make(store=tmp_path / "store", **room) as region:
        region.writeq_td("LOGQ", b"one")
        while outcome(region.writeq_td, "PHYQ", b"x" * 4000) != "NOSPACE":
            pass
        record = b"y" * region._core.intra.longest  # for which it takes another control interval
        with region.task() as first, region.task() as second:
            for task in (first, second):
                assert outcome(task.writeq_td, "LOGQ", record) == "NOSPACE"
                assert task._uow.locks == []
            assert first.readq_td("LOGQ") == b"one"
            assert outcome(first.writeq_td, "LOGQ", record) == "NOSPACE"
            assert [lock.end for lock in first._uow.locks] == ["FROMQ"]
            assert outcome(second.writeq_td, "LOGQ", record) == "NOSPACE"
            first.syncpoint_rollback()
        assert region.peek("LOGQ") == [b"one"]


def test_those_who_wait_already_are_refused_when_the_lock_is_retained(tmp_path):
    with indoubt_region(tmp_path / "store", "REJECT") as region:
        branch = prepared(region, (WRITEQ, "LOGQ"))
        handles = [region.start(lambda task, kind=kind: request(task, kind, "LOGQ")) for kind in REQUESTS]
        region.run()
        assert not any(handle.done for handle in handles)
        branch.lose_coordinator()
        region.run()
        assert [outcome(handle.result) for handle in handles] == ["AEX8"] * 3


# -- disable ----------------------------------------------------------------------------------------------------------


@pytest.mark.rule("DISABLE-COMPLETES", "DISABLE-PENDING-NEWCOMER", "DISABLE-PENDING-OWNER")
@pytest.mark.parametrize("end", ["syncpoint", "syncpoint_rollback", "abend"])
@pytest.mark.parametrize("kind", REQUESTS)
def test_a_logical_queue_is_disabled_by_its_last_user(region, kind, end):
    region.seed("LOGQ", [b"one"])
    user = region.task()
    request(user, kind, "LOGQ")
    region.set_tdqueue("LOGQ", enablestatus="DISABLED")
    assert status(region, "LOGQ") == "DISABLING"
    assert [outcome(request, region, each, "LOGQ") for each in REQUESTS] == ["DISABLED"] * 3
    assert outcome(region.set_tdqueue, "LOGQ", enablestatus="ENABLED") == "INVREQ"
    assert outcome(region.discard_tdqueue, "LOGQ") == "INVREQ"
    request(user, WRITEQ, "LOGQ")  # the one that is inside goes on
    user.end(normal=False) if end == "abend" else getattr(user, end)()
    assert status(region, "LOGQ") == "DISABLED"
    assert [outcome(request, region, each, "LOGQ") for each in REQUESTS] == ["DISABLED"] * 3
    region.set_tdqueue("LOGQ", enablestatus="ENABLED")
    region.writeq_td("LOGQ", b"again")


def test_those_who_wait_are_users_too(region):
    first = region.task()
    first.writeq_td("LOGQ", b"first")
    second = region.start(lambda task: task.writeq_td("LOGQ", b"second"))
    region.run()
    region.set_tdqueue("LOGQ", enablestatus="DISABLED")
    first.syncpoint()
    assert region.peek("LOGQ") == [b"first", b"second"]
    second.result()
    assert status(region, "LOGQ") == "DISABLED"


@pytest.mark.rule("REC-DISABLE-SHUNTED")
def test_a_queue_of_a_shunted_unit_of_work_stays_disabling(tmp_path):
    region = indoubt_region(tmp_path / "store", "REJECT")
    prepared(region, (WRITEQ, "LOGQ")).lose_coordinator()
    region.set_tdqueue("LOGQ", enablestatus="DISABLED")
    assert status(region, "LOGQ") == "DISABLING"
    assert outcome(region.set_tdqueue, "LOGQ", atiuserid="ANNA") == "INVREQ"
    assert outcome(region.discard_tdqueue, "LOGQ") == "INVREQ"
    region.set_tdqueue("LOGQ", triggerlevel=7)
    region.recovery.branch("XA1").commit()
    assert status(region, "LOGQ") == "DISABLED"
    region.discard_tdqueue("LOGQ")
    region.close()


@pytest.mark.rule("UOW-AGE")
def test_the_age_of_a_unit_of_work_is_that_of_its_wait_state(region):
    def age():
        (uow,) = (uow for uow in region.recovery.units_of_work() if uow.transid == "WAIT")
        shown = region.inquire_uow(uow.id, "AGE", "WAITSTATE")
        return shown.waitstate.name, shown.age

    def work(task):
        task.readq_td("LOGQ")
        region.clock.advance(100)
        seen.append(age())
        task.deleteq_td("LOGQ")
        seen.append(age())

    seen = []
    region.seed("LOGQ", [b"one"])
    region.register("WAIT", work)
    owner = region.task()
    owner.writeq_td("LOGQ", b"two")
    region.start("WAIT")
    region.dispatcher.run_ready()
    region.clock.advance(5)
    seen.append(age())
    owner.syncpoint()
    states, ages = zip(*seen, strict=True)
    assert states == ("ACTIVE", "ACTIVE", "ACTIVE")  # its task's wait is none of its syncpoint
    assert 100 <= ages[0] < 200
    assert 105 <= ages[1] < 200
    assert 105 <= ages[2] < 200


def test_a_deleteq_that_is_refused_keeps_the_end_that_its_unit_of_work_had(region):
    for record in (b"old", b"next"):
        region.writeq_td("LOGQ", record)
    prepared(region, (WRITEQ, "LOGQ")).lose_coordinator()
    with region.task() as reader, region.task() as other:
        assert reader.readq_td("LOGQ") == b"old"
        assert outcome(reader.deleteq_td, "LOGQ") == "LOCKED"
        assert outcome(other.readq_td, "LOGQ", nosuspend=True) == "QBUSY"
        reader.syncpoint_rollback()
        assert outcome(other.deleteq_td, "LOGQ") == "LOCKED"  # and one that had none gives it back
        assert reader.readq_td("LOGQ") == b"old"
