"""INQUIRE UOWENQ and INQUIRE ENQ: the ends of queues and the names of ENQ, their owners and who waits for them."""

from __future__ import annotations

import pytest

from tdqsim.cics.kernel.enqueue import acquire, give_up
from tdqsim.definitions import define_tdqueue
from tdqsim.errors import TdqError
from tdqsim.facts import Cvda, Resp
from tests.cics.spi.helpers import condition
from tests.recovery.helpers import WRITEQ, make, outcome, prepared, queue
from tests.rules import expect_rule, rule

NO_UOW = bytes(16)


@pytest.fixture
def reg():
    with make(queue("LOGQ"), queue("LOG2"), queue("SOFT", waitaction="QUEUE")) as made:
        yield made


def enqueues(issuer, **chosen):
    """What a browse shows, CVDAs by name and text without blanks."""
    issuer.inquire_uowenq_start(**chosen)
    found = []
    while info := issuer.inquire_uowenq_next(nohandle=True):
        found.append(info.as_dict(plain=True))
    issuer.inquire_uowenq_end()
    return found


def busy(task, name):
    task.enq(name, nosuspend=True, nohandle=True)
    return task.eib.eibresp is Resp.ENQBUSY


def short(found):
    return [(each["RELATION"], each["RESOURCE"], each["QUALIFIER"], each["TRANSID"]) for each in found]


@pytest.mark.rule("UOWENQ-EXECENQ")
def test_a_name_of_enq_is_shown_with_its_owner_and_who_waits_for_it(reg):
    with reg.task(transid="OWNR") as owner:
        owner.enq("PAYROLL")
        handle = reg.start(lambda task: task.enq("PAYROLL"))
        reg.run()
        first, second = enqueues(reg)
        uow = owner._uow.id.ljust(16, b"\0")
        assert (first["RELATION"], first["TASKID"], first["TRANSID"]) == ("OWNER", owner.number, "OWNR")
        assert first["UOW"] == uow
        assert (second["RELATION"], second["UOW"]) == ("WAITER", NO_UOW)  # it has done nothing else yet
        for each in (first, second):
            assert each["TYPE"] == rule("UOWENQ-EXECENQ").message
            assert (each["RESOURCE"], each["RESLEN"]) == ("PAYROLL", 7)
            assert (each["QUALIFIER"], each["QUALLEN"], each["ENQSCOPE"], each["ENQFAILS"]) == ("", 0, "", 0)
            assert each["STATE"] == "ACTIVE"
        waiting = reg.inquire_task(second["TASKID"])
        assert (waiting.suspendtype.rstrip(), waiting.suspendvalue.rstrip()) == ("ENQUEUE", "EXECSTRN")
    handle.result()
    assert enqueues(reg) == []


@pytest.mark.rule("UOWENQ-LIFETIMES")
def test_names_of_either_lifetime_are_shown(reg):
    with reg.task() as task:
        task.enq("FOR UOW")
        task.enq("FOR TASK", task=True)
        here = task._uow.id.ljust(16, b"\0")
        assert {(each["RESOURCE"], each["UOW"]) for each in enqueues(reg)} == {("FOR UOW", here), ("FOR TASK", here)}
        task.syncpoint()
        (left,) = enqueues(reg)
        assert (left["RESOURCE"], left["UOW"], left["TASKID"], left["NETUOWID"]) == (
            "FOR TASK",
            NO_UOW,
            task.number,
            "",
        )
        task.writeq_td("LOGQ", b"x")
        assert {each["UOW"] for each in enqueues(reg)} == {task._uow.id.ljust(16, b"\0")}
    assert enqueues(reg) == []


def test_enq_outside_a_task_is_given_up_with_the_command(reg):
    """Each command outside a task is a task of its own, which ends with it."""
    reg.enq("NAME", task=True)
    with reg.task() as other:
        assert not busy(other, "NAME")
    assert reg._core.enqueues == {}


def test_a_name_that_is_given_up_takes_no_other_of_its_owner_along(reg):
    with reg.task() as task, reg.task() as other:
        for name in ("ONE", "TWO", "THREE"):
            task.enq(name)
        task.deq("TWO")
        assert [busy(other, name) for name in ("ONE", "TWO", "THREE")] == [True, False, True]
        other.syncpoint()
        task.syncpoint()
        assert [busy(other, name) for name in ("ONE", "TWO", "THREE")] == [False, False, False]


def test_a_name_that_was_about_to_be_given_to_a_purged_task_is_free(reg):
    with reg.task() as task:
        task.enq("NAME")
        waiter = reg.start(lambda waiting: waiting.enq("NAME"))
        reg.run()

        def free_and_purge(operator):
            task.deq("NAME")
            assert reg.purge(waiter)
            operator.suspend()

        reg.start(free_and_purge)
        reg.run()
        assert outcome(waiter.result) == "AEXY"
        assert reg._core.enqueues == {}


@pytest.mark.rule("UOWENQ-ORDER")
def test_one_unit_of_work_after_the_other_with_those_who_wait(reg):
    with reg.task(transid="ONE") as one, reg.task(transid="TWO") as two:
        one.writeq_td("LOGQ", b"x")
        two.writeq_td("LOG2", b"x")
        one.enq("NAME")
        two.enq("OTHER")
        one.readq_td("LOGQ")
        reg.register("WAIT", lambda task: task.writeq_td("LOGQ", b"y"))
        reg.start("WAIT")
        reg.run()
        assert short(enqueues(reg)) == [
            ("OWNER", "LOGQ", "TOQ", "ONE"),
            ("WAITER", "LOGQ", "TOQ", "WAIT"),
            ("OWNER", "LOGQ", "FROMQ", "ONE"),
            ("OWNER", "NAME", "", "ONE"),
            ("OWNER", "LOG2", "TOQ", "TWO"),
            ("OWNER", "OTHER", "", "TWO"),
        ]


@pytest.mark.rule("UOWENQ-FILTERS")
def test_filters_on_start(reg):
    with reg.task(transid="ONE") as one, reg.task(transid="TWO") as two:
        one.writeq_td("LOGQ", b"x")
        one.enq("LOG2")
        two.writeq_td("LOG2", b"x")
        two.enq("LOG2 ")
        assert short(enqueues(reg, uow=two._uow.id)) == [("OWNER", "LOG2", "TOQ", "TWO"), ("OWNER", "LOG2", "", "TWO")]
        assert len(enqueues(reg, resource="LOG2")) == 3
        assert [each["RESLEN"] for each in enqueues(reg, resource="LOG2", reslen=4)] == [4, 4]
        assert [each["RESLEN"] for each in enqueues(reg, resource="LOG2", reslen=5)] == [4, 5]  # the queue, and "LOG2 "
        assert enqueues(reg, resource="LOG2", uow=one._uow.id, enqscope="PLEX") == []
        assert short(enqueues(reg, resource="LOG2", uow=one._uow.id, enqscope="    ")) == [("OWNER", "LOG2", "", "ONE")]
        assert condition(reg.inquire_enq_start, uow=b"\xff" * 16) == (Resp.UOWNOTFOUND, 1)


@pytest.mark.rule("ENQ-SYNONYM")
def test_inquire_enq_is_another_word_for_it(reg):
    with reg.task() as task:
        task.enq("NAME")
        task.inquire_enq_start(resource="NAME")
        assert condition(task.inquire_uowenq_start) == (Resp.ILLOGIC, 1)  # there is one browse
        assert task.inquire_enq_next("RESOURCE", "RELATION").as_dict(plain=True) == {
            "RESOURCE": "NAME", "RELATION": "OWNER",
        }  # fmt: skip
        expect_rule("UOW-BROWSE-END", task.inquire_uowenq_next)
        task.inquire_uowenq_end()
        for out_of_sequence in (task.inquire_enq_next, task.inquire_enq_end):
            expect_rule("UOW-BROWSE-ILLOGIC", out_of_sequence)
        host = {}
        task.execute("INQUIRE ENQ START RESOURCE('NAME') RESLEN(4)")
        task.execute("INQUIRE ENQ NEXT RESOURCE(R) RESLEN(L) QUALIFIER(Q) QUALLEN(N) TYPE(T)", host)
        task.execute("INQUIRE ENQ END")
        assert host == {"R": "NAME", "L": 4, "Q": "", "N": 0, "T": Cvda.EXECENQ}
        assert task.eib.eibfn == b"\x92\x02"


@pytest.mark.rule("UOWENQ-TDQ-POOL")
def test_a_wait_for_an_end_is_a_wait_for_the_pool_of_queues(reg):
    with reg.task() as owner:
        owner.writeq_td("LOGQ", b"x")
        reg.start(lambda task: task.writeq_td("LOGQ", b"y"))
        reg.run()
        waiter = enqueues(reg)[1]
        waiting = reg.inquire_task(waiter["TASKID"]).as_dict(plain=True)
        assert (waiting["SUSPENDTYPE"], waiting["SUSPENDVALUE"]) == ("ENQUEUE", rule("UOWENQ-TDQ-POOL").message)


@pytest.mark.rule("UOWENQ-WAITER-DURATION")
@pytest.mark.parametrize("take", [lambda task: task.enq("NAME"), lambda task: task.writeq_td("LOGQ", b"x")])
def test_a_waiter_has_its_duration_and_as_an_owner_then_a_new_one(reg, take):
    with reg.task() as owner:
        take(owner)
        reg.clock.advance(100)
        reg.start(take)
        reg.run()
        reg.clock.advance(5)
        held, awaited = enqueues(reg)
        assert held["DURATION"] >= 105
        assert 5 <= awaited["DURATION"] < 100
        assert reg.inquire_task(awaited["TASKID"]).suspendtime == awaited["DURATION"]
        reg.start(lambda task: (take(task), reg.clock.advance(7), shown.extend(enqueues(reg))))
        shown: list[dict[str, object]] = []
        owner.syncpoint()
        reg.run()
    assert [7 <= each["DURATION"] < 100 for each in shown if each["RELATION"] == "OWNER"] == [True]


def test_the_duration_of_a_retained_end_is_the_time_since_it_was_retained(reg):
    branch = prepared(reg, (WRITEQ, "LOGQ"))
    reg.clock.advance(100)
    assert enqueues(reg)[0]["DURATION"] >= 100
    branch.lose_coordinator()
    reg.clock.advance(5)
    (shown,) = enqueues(reg)
    assert shown["STATE"] == "RETAINED"
    assert 5 <= shown["DURATION"] < 100
    branch.commit()


@pytest.mark.rule("ENQ-LENGERR")
def test_the_length_of_a_name(reg):
    """What ENQ and DEQ need for their option LENGTH."""
    with reg.task() as task, reg.task() as other:
        acquire(task, bytearray(reg.encode("NAME AND MORE")), for_task=False, nosuspend=False, length=4)
        assert busy(other, "NAME")
        acquire(other, bytes(range(255)), for_task=False, nosuspend=True)
        for length in (0, -1, 256):
            expect_rule("ENQ-LENGERR", acquire, task, b"NAME", for_task=False, nosuspend=False, length=length)
        with pytest.raises(TdqError, match="LENGTH 5 is more than the 4 bytes"):
            acquire(task, b"NAME", for_task=False, nosuspend=False, length=5)
        give_up(task, "NAME AND LESS", for_task=False, length=4)
        assert not busy(other, "NAME")


# -- ENQFAILS ---------------------------------------------------------------------------------------------------------


@pytest.mark.rule("UOWENQ-ENQFAILS")
def test_enqfails_counts_what_a_retained_lock_has_refused(reg):
    reg.seed("LOGQ", [b"one"])
    branch = prepared(reg, (WRITEQ, "LOGQ"), (WRITEQ, "SOFT"))

    def fails():
        return {each["RESOURCE"]: each["ENQFAILS"] for each in enqueues(reg) if each["RELATION"] == "OWNER"}

    waiting = reg.start(lambda task: task.writeq_td("LOGQ", b"x"))
    reg.run()
    assert fails() == {"LOGQ": 0, "SOFT": 0}  # they are active
    branch.lose_coordinator()
    reg.run()
    assert outcome(waiting.result) == "AEX8"
    assert fails() == {"LOGQ": 1, "SOFT": 0}
    for _ in range(2):
        assert outcome(reg.writeq_td, "LOGQ", b"x") == "LOCKED"
    assert outcome(reg.deleteq_td, "LOGQ") == "LOCKED"
    with reg.task() as reader:
        assert reader.readq_td("LOGQ") == b"one"
        assert outcome(reader.readq_td, "LOGQ") == "LOCKED"  # past the committed records, behind the write end
    assert fails() == {"LOGQ": 5, "SOFT": 0}
    branch.commit()
    with reg.task() as owner:
        owner.writeq_td("LOGQ", b"x")
        assert fails() == {"LOGQ": 0}  # acquired anew
    again = prepared(reg, (WRITEQ, "LOGQ"))
    again.lose_coordinator()
    assert fails() == {"LOGQ": 0}  # what the first one has refused is not this one's
    assert outcome(reg.writeq_td, "LOGQ", b"x") == "LOCKED"
    assert fails() == {"LOGQ": 1}
    again.commit()


def test_a_lock_counts_its_refusals_until_it_is_released(reg):
    branch = prepared(reg, (WRITEQ, "LOGQ"))
    lock = reg.tdqueues["LOGQ"].write_end
    lock.refused()
    assert enqueues(reg)[0]["ENQFAILS"] == 0  # an active one has none
    branch.lose_coordinator()
    lock.refused()
    (shown,) = enqueues(reg)
    assert (shown["STATE"], shown["ENQFAILS"]) == ("RETAINED", 2)
    branch.commit()
    with reg.task() as task:
        task.writeq_td("LOGQ", b"x")
        assert enqueues(reg)[0]["ENQFAILS"] == 0


# -- an indoubt failure -----------------------------------------------------------------------------------------------


@pytest.mark.rule("ENQ-INDOUBT")
def test_an_indoubt_failure_frees_the_names_got_for_the_unit_of_work(reg):
    task = reg.task()
    task.writeq_td("LOGQ", b"x")
    task.enq("FOR UOW")
    task.enq("FOR TASK", task=True)
    branch = reg.recovery.branch("XA1", task)
    assert branch.prepare()
    branch.lose_coordinator()
    assert [each["RESOURCE"] for each in enqueues(reg)] == ["LOGQ", "FOR TASK"]
    task.end(normal=True)
    assert [each["RESOURCE"] for each in enqueues(reg)] == ["LOGQ"]
    branch.back_out()


def test_queues_without_locks_have_no_enqueues():
    with make(
        queue("NOQ", "NO"), queue("PHYQ", "PHYSICAL"), define_tdqueue(name="INDQ", type="INDIRECT", indirectname="NOQ")
    ) as reg, reg.task() as task:  # fmt: skip
        for name in ("NOQ", "PHYQ", "INDQ"):
            task.writeq_td(name, b"x")
        assert enqueues(reg) == []
