"""What was found by trying the text of the reference, sentence by sentence, and fits into no other file."""

from __future__ import annotations

import pytest

from tdqsim.cics import Sysplex
from tdqsim.definitions import define_connection, define_tdqueue, define_transaction
from tdqsim.facts import Resp
from tests.recovery.helpers import WRITEQ, make, outcome, prepared, queue
from tests.rules import expect_rule, rule


@pytest.mark.rule("REC-INDOUBT-TOUCHED")
@pytest.mark.parametrize("refused", ["QBUSY", "DISABLED", ""], ids=["QBUSY", "DISABLED", "QZERO"])
def test_a_refused_request_does_not_make_the_wait_of_its_queue_count(tmp_path, refused):
    with make(
        queue("LOGQ"), queue("NOWT", wait="NO"), define_transaction(name="PAYP"), store=tmp_path / "store"
    ) as region:
        other = region.task()
        if refused == "QBUSY":
            other.writeq_td("NOWT", b"x")
        elif refused:
            region.set_tdqueue("NOWT", enablestatus="DISABLED")
        task = region.task(transid="PAYP")
        task.writeq_td("LOGQ", b"one")
        task.readq_td("NOWT", nosuspend=True, nohandle=True)
        assert task.eib.eibresp is Resp[refused or "QZERO"]
        branch = region.recovery.branch("XA1", task)
        assert branch.prepare()
        touched, not_touched = rule("REC-INDOUBT-TOUCHED").message.split()
        assert branch.lose_coordinator().code == (not_touched if refused else touched)


@pytest.mark.rule("UOWENQ-WAITER-DURATION")
def test_a_waiter_is_shown_with_the_time_it_has_waited(tmp_path):
    with make(queue("LOGQ"), store=tmp_path / "store") as region:
        waiters = []
        for _ in range(2):
            region.clock.advance(100)
            waiters.append(region.start(lambda task: task.writeq_td("LOGQ", b"one")))
            if len(waiters) == 1:
                owner = region.task()
                owner.writeq_td("LOGQ", b"zero")
            region.run()
        region.clock.advance(10)
        with region.task() as task:
            task.inquire_uowenq_start(resource="LOGQ")
            found = []
            while info := task.inquire_uowenq_next("RELATION", "DURATION", nohandle=True):
                found.append((info.relation.name, info.duration))
        first, second = (duration for relation, duration in found if relation == "WAITER")
        assert first >= 110
        assert 10 <= second < first  # not the owner's, nor the other's
        owner.syncpoint()


THREE = {"ci_size": 512, "control_intervals": 4}
"""Room for three records of :data:`LARGE`."""
LARGE = b"x" * 400


@pytest.mark.rule("REC-INDOUBT-SPACE")
@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("used", [False, True], ids=["a new queue", "one that was used"])
def test_what_is_in_doubt_keeps_its_room_over_a_restart(tmp_path, used, clean):
    store = tmp_path / "store"
    region = make(queue("LOGQ"), queue("PHYQ", "PHYSICAL"), store=store, dfhintra=THREE)
    if used:
        region.writeq_td("LOGQ", LARGE)
        region.readq_td("LOGQ")
    prepared(region, (WRITEQ, "LOGQ"))
    region.close(clean=clean)
    region = make(store=store, dfhintra=THREE)
    for _ in range(2):
        region.writeq_td("PHYQ", LARGE)
    expect_rule("REC-INDOUBT-SPACE", region.writeq_td, "PHYQ", LARGE)
    region.recovery.branch("XA1").commit()
    assert region.peek("LOGQ") == [b"new"]
    expect_rule("REC-INDOUBT-SPACE", region.writeq_td, "PHYQ", LARGE)
    region.readq_td("LOGQ")
    region.writeq_td("PHYQ", LARGE)
    region.close()


@pytest.mark.rule("REC-IDLE-SPACE")
def test_an_empty_queue_gives_up_its_room_after_its_unit_of_work(tmp_path):
    with make(queue("LOGQ"), queue("NOQ", "NO"), store=tmp_path / "store", dfhintra=THREE) as region:
        region.writeq_td("LOGQ", LARGE)
        region.readq_td("LOGQ")
        with region.task() as task:
            task.deleteq_td("LOGQ")
            for _ in range(2):
                region.writeq_td("NOQ", LARGE)
            expect_rule("REC-IDLE-SPACE", region.writeq_td, "NOQ", LARGE)  # while the write end is held
            task.syncpoint_rollback()
        assert region.peek("NOQ") == [LARGE] * 3


class Doubt:
    """A region that has promised, and whose coordinator has failed before it could say that it committed."""

    def __init__(self, directory):
        self.directory = directory
        self.sysplex = Sysplex()
        self.start("NEAR")
        self.far = self.start("FAR")
        self.sysplex.link("NEAR", "FAR").cut_at("COMMIT")
        self.near.writeq_td("REMQ", b"one")
        self.near.close(clean=False)
        (self.uow,) = self.far.recovery.shunted.values()

    @property
    def near(self):
        return self.sysplex.regions["NEAR"]

    def start(self, applid, **options):
        definitions = {
            "NEAR": [define_tdqueue(name="REMQ", remotesystem="FAR"), define_connection(name="FAR")],
            "FAR": [queue("REMQ"), define_transaction(name="CSMI", waittime="00,00,10", action="COMMIT")],
        }[applid]
        region = make(
            *definitions, applid=applid, sysid=applid, store=self.directory / applid,
            dispatcher=self.sysplex.dispatcher, **options,
        )  # fmt: skip
        return self.sysplex.add(region)

    def resyncstatus(self):
        with self.far.task() as task:
            task.inquire_uowlink_start(self.uow.id)
            return task.inquire_uowlink_next("RESYNCSTATUS").resyncstatus.name


@pytest.fixture
def doubt(tmp_path):
    made = Doubt(tmp_path)
    yield made
    made.sysplex.close()


@pytest.mark.rule("REC-RESYNC-COLD")
@pytest.mark.parametrize("end", ["SET UOW", "WAITTIME"])
@pytest.mark.parametrize("restarted", [False, True], ids=["", "after a restart"])
def test_a_coordinator_that_was_started_initial_decides_nothing(doubt, restarted, end):
    doubt.start("NEAR", start="INITIAL")
    if restarted:
        doubt.far.close(clean=False)
        doubt.far = doubt.start("FAR")
        (doubt.uow,) = doubt.far.recovery.shunted.values()
    assert list(doubt.far.recovery.shunted) == [
        doubt.uow.id
    ]  # that nothing is on record says nothing: it had committed
    assert doubt.resyncstatus() == rule("REC-RESYNC-COLD").message
    assert outcome(doubt.far.writeq_td, "REMQ", b"two") == "LOCKED"
    if end == "SET UOW":
        doubt.far.set_uow(doubt.uow.id, uowstate="COMMIT")
    else:
        doubt.far.clock.advance(601)
        doubt.far.run()
    assert doubt.far.peek("REMQ") == [b"one"]
    assert not doubt.far.recovery.shunted
    doubt.near.writeq_td("REMQ", b"three")
    assert doubt.far.peek("REMQ") == [b"one", b"three"]


@pytest.mark.rule("REC-RESYNC-COLD")
@pytest.mark.parametrize("start", ["AUTO", "COLD"])
def test_any_other_start_of_the_coordinator_keeps_its_decision(doubt, start):
    doubt.start("NEAR", start=start)
    assert doubt.far.peek("REMQ") == [b"one"]
    assert not doubt.far.recovery.shunted


@pytest.mark.rule("REC-RESYNC-COLD")
def test_units_of_work_after_the_initial_start_are_known_again(doubt):
    doubt.start("NEAR", start="INITIAL")
    doubt.far.set_uow(doubt.uow.id, uowstate="COMMIT")
    doubt.sysplex.link("NEAR", "FAR").cut_at("COMMIT")
    doubt.near.writeq_td("REMQ", b"two")
    assert len(doubt.far.recovery.shunted) == 1
    doubt.near.close(clean=False)
    doubt.start("NEAR")
    assert doubt.far.peek("REMQ") == [b"one", b"two"]
    assert not doubt.far.recovery.shunted
