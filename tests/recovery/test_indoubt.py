"""What becomes of a unit of work whose coordinator is lost: the table (3.2), and every way to end the doubt (3.4)."""

from __future__ import annotations

import pytest
from freezegun import freeze_time

from tdqsim import StartOptions
from tdqsim.cics import Condition
from tdqsim.cics.uow.indoubt import HeuristicDamage
from tdqsim.definitions import define_transaction
from tdqsim.errors import StoreFull, TdqError
from tdqsim.facts import Cvda
from tests.recovery.helpers import READQ, WRITEQ, again, full_from, make, outcome, prepared, queue, request, triggered
from tests.rules import expect_rule, rule

SECOND = 10**9


def doubtful(store, *, wait="YES", action="BACKOUT", queue_wait="YES", other_wait="YES", waittime="00,00,00"):
    return make(
        queue("LOGQ", wait=queue_wait),
        queue("LOG2", wait=other_wait),
        queue("PHYQ", "PHYSICAL", wait="NO"),
        queue("CSMT", "NO"),
        define_transaction(name="PAYP", wait=wait, action=action, waittime=waittime),
        store=store,
    )


TABLE = {
    # TRANSACTION WAIT, WAIT of two queues: whether it waits
    ("YES", "YES", "YES"): True,
    ("YES", "YES", "NO"): False,
    ("YES", "NO", "YES"): False,
    ("YES", "NO", "NO"): False,
    ("NO", "YES", "YES"): False,
    ("NO", "YES", "NO"): False,
    ("NO", "NO", "YES"): False,
    ("NO", "NO", "NO"): False,
}


@pytest.mark.rule("REC-INDOUBT-SHUNTED", "REC-INDOUBT-COMMITTED", "REC-INDOUBT-BACKED-OUT")
@pytest.mark.parametrize("action", ["BACKOUT", "COMMIT"])
@pytest.mark.parametrize(("wait", "queue_wait", "other_wait"), TABLE)
def test_every_cell_of_the_table(tmp_path, wait, queue_wait, other_wait, action):
    store = tmp_path / "store"
    with doubtful(store, wait=wait, action=action, queue_wait=queue_wait, other_wait=other_wait) as region:
        branch = prepared(region, (WRITEQ, "LOGQ"), (WRITEQ, "LOG2"), (WRITEQ, "PHYQ"), transid="PAYP")
        abend = branch.lose_coordinator()
        waits = TABLE[wait, queue_wait, other_wait]
        row = "SHUNTED" if waits else {"COMMIT": "COMMITTED", "BACKOUT": "BACKED-OUT"}[action]
        code, message = rule(f"REC-INDOUBT-{row}").message.split()
        assert (abend.code, abend.cancel) == (code, True)  # so no exit of HANDLE ABEND is called
        assert message in b"".join(region.peek("CSMT")).decode("cp037")
        committed = [] if waits or action == "BACKOUT" else [b"new"]
        assert region.peek("LOGQ") == region.peek("LOG2") == committed
        assert region.peek("PHYQ") == [b"new"]
        assert (branch.uow in region.recovery.shunted.values()) is waits
        assert outcome(request, region, WRITEQ, "LOGQ") == ("LOCKED" if waits else None)


def shunted(region):
    region.seed("LOGQ", [b"one", b"two"])
    branch = prepared(region, (READQ, "LOGQ"), (WRITEQ, "LOG2"), transid="PAYP")
    branch.lose_coordinator()
    return branch


DECIDED = {True: ([b"two"], [b"new"]), False: ([b"one", b"two"], [])}
"""What LOGQ and LOG2 hold after commit, and after backout."""


def contents(region):
    return (region.peek("LOGQ"), region.peek("LOG2"))


@pytest.mark.rule("REC-SET-UOW", "SET-UOW-FORCE")
@pytest.mark.parametrize("restarted", [False, True], ids=["", "after a restart"])
@pytest.mark.parametrize(
    ("uowstate", "action", "commit"),
    [
        ("COMMIT", "BACKOUT", True), ("BACKOUT", "COMMIT", False),
        ("FORCE", "BACKOUT", False), ("FORCE", "COMMIT", True),
    ],
)  # fmt: skip
def test_set_uow_ends_the_doubt(tmp_path, uowstate, action, commit, restarted):
    region = doubtful(tmp_path / "store", action=action)
    uow_id = shunted(region).uow.id
    if restarted:
        region = again(region, tmp_path / "store")
    waiter = region.start(lambda task: outcome(request, task, WRITEQ, "LOG2"))
    assert waiter.result() == "LOCKED"
    region.set_uow(uow_id, uowstate=uowstate)
    assert contents(region) == DECIDED[commit]
    assert not region.recovery.shunted
    region.writeq_td("LOG2", b"free")
    region = again(region, tmp_path / "store")
    assert contents(region) == (DECIDED[commit][0], [*DECIDED[commit][1], b"free"])
    region.close()


@pytest.mark.rule("REC-SET-UOW-BAD-CVDA", "REC-SET-UOW-STATE", "REC-SET-UOW-UNKNOWN")
def test_set_uow_is_for_units_of_work_in_doubt(tmp_path):
    with doubtful(tmp_path / "store") as region:
        branch = shunted(region)
        expect_rule("REC-SET-UOW-BAD-CVDA", region.set_uow, branch.uow.id, uowstate="RETAINED")
        expect_rule("REC-SET-UOW-UNKNOWN", region.set_uow, bytes(16), uowstate="COMMIT")
        with region.task() as task:
            task.writeq_td("LOGQ", b"x")
            expect_rule("REC-SET-UOW-STATE", region.set_uow, task._uow.id, uowstate="COMMIT")
        region.set_uow(branch.uow.id, uowstate="COMMIT")
        expect_rule("REC-SET-UOW-STATE", region.set_uow, branch.uow.id, uowstate="COMMIT")
        branch.forget()
        expect_rule("REC-SET-UOW-UNKNOWN", region.set_uow, branch.uow.id, uowstate="COMMIT")


def shown(region):
    """What INQUIRE UOW shows: id, UOWSTATE, WAITSTATE, WAITCAUSE."""
    found = []
    with region.task() as task:
        task.inquire_uow_start()
        while info := task.inquire_uow_next(nohandle=True):
            found.append(
                (info.uow[:8], *(Cvda(value).name for value in (info.uowstate, info.waitstate, info.waitcause)))
            )
    return found


@pytest.mark.rule("UOW-HEURISTIC", "UOW-COORDINATED")
@pytest.mark.parametrize("ending", ["commit", "back_out", "forget"])
@pytest.mark.parametrize("restarted", [False, True], ids=["", "after a restart"])
@pytest.mark.parametrize("how", ["at once", "SET UOW"])
@pytest.mark.parametrize("here", ["COMMIT", "BACKOUT"])
def test_a_unilateral_decision_is_shown_until_the_coordinator_knows(tmp_path, here, how, restarted, ending):
    region = doubtful(tmp_path / "store", action=here, queue_wait="NO" if how == "at once" else "YES")
    branch = prepared(region, (WRITEQ, "LOGQ"), transid="PAYP")
    uow_id, taskid = branch.uow.id, branch.uow.taskid
    assert shown(region) == [(uow_id, *rule("UOW-COORDINATED").message.split(), "NOTAPPLIC")]
    branch.lose_coordinator()
    if how == "SET UOW":
        assert shown(region) == [(uow_id, "INDOUBT", "SHUNTED", "CONNECTION")]
        region.set_uow(uow_id, uowstate=here)
    if restarted:
        region = again(region, tmp_path / "store")
        branch = region.recovery.branch("XA1")
    assert shown(region) == [(uow_id, f"HEUR{here}", *rule("UOW-HEURISTIC").message.split())]
    info = region.inquire_uow(uow_id)
    assert (info.transid, info.taskid, info.userid.strip()) == ("PAYP", taskid, "CICSUSER")
    region.clock.advance(60)
    assert region.inquire_uow(uow_id, "AGE").age >= 60
    expect_rule("REC-SET-UOW-STATE", region.set_uow, uow_id, uowstate="COMMIT")
    getattr(branch, ending)()
    assert shown(region) == []
    region = again(region, tmp_path / "store")
    assert shown(region) == []
    region.close()


@pytest.mark.rule("REC-WAITTIME")
@pytest.mark.parametrize("restarted", [False, True], ids=["", "over a restart"])
@pytest.mark.parametrize("action", ["BACKOUT", "COMMIT"])
def test_waittime_ends_the_doubt(tmp_path, action, restarted):
    region = doubtful(tmp_path / "store", action=action, waittime="00,00,05")
    shunted(region)
    before = region.clock.time_ns()
    region.clock.advance(200)
    region.run()
    assert region.recovery.shunted
    if restarted:
        now = region.clock.time_ns()
        region = again(region, tmp_path / "store")
        region.clock.advance_to(max(now, region.clock.time_ns()))
    region.clock.advance_to(before + 299 * SECOND)
    region.run()
    assert region.recovery.shunted
    region.clock.advance_to(before + 302 * SECOND)
    region.run()
    assert not region.recovery.shunted
    assert contents(region) == DECIDED[action == "COMMIT"]
    region.close()


def test_without_waittime_it_waits_for_ever(tmp_path):
    with doubtful(tmp_path / "store") as region:
        shunted(region)
        region.clock.advance(10**9)
        region.run()
        assert region.recovery.shunted


@pytest.mark.rule("REC-INDOUBT-TDINTRA", "REC-INDOUBT-COLD")
@pytest.mark.parametrize(
    "options", [{"start": StartOptions(tdintra="EMPTY")}, {"start": "COLD"}, {"start": "INITIAL"}], ids=str
)
def test_a_start_with_empty_queues_ends_the_doubt(tmp_path, options):
    region = doubtful(tmp_path / "store")
    shunted(region)
    region.close()
    definitions = () if isinstance(options["start"], StartOptions) else (queue("LOGQ"), queue("LOG2"))
    with make(*definitions, store=tmp_path / "store", **options) as after:
        assert not after.recovery.shunted
        assert contents(after) == ([], [])
        after.writeq_td("LOG2", b"free")


@pytest.mark.rule("RESTART-INDOUBT")
@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("commit", [True, False])
def test_the_doubt_survives_restarts_with_everything(tmp_path, commit, clean):
    store = tmp_path / "store"
    region = doubtful(store)
    branch = prepared(region, (WRITEQ, "LOG2"), (READQ, "LOG2"), (WRITEQ, "LOG2"), transid="PAYP")
    region.seed("LOGQ", [b"one", b"two"])
    uow_id = branch.uow.id
    for _ in range(3):
        region.close(clean=clean)
        region = make(store=store)
        (uow,) = region.recovery.shunted.values()
        assert (uow.id, uow.transid, uow.coordinator, uow.state) == (uow_id, "PAYP", "XA1", Cvda.INDOUBT)
        assert outcome(request, region, WRITEQ, "LOG2") == "LOCKED"
        assert region.peek("LOG2") == []
        assert region.peek("LOG2", uncommitted=True) == [b"new"]
    branch = region.recovery.branch("XA1")
    (branch.commit if commit else branch.back_out)()
    region = again(region, store)
    assert not region.recovery.shunted
    assert region.peek("LOG2") == ([b"new"] if commit else [])
    region.close()


@pytest.mark.rule("REC-ATI-PENDING")
@pytest.mark.parametrize("restarted", [False, True], ids=["", "after a restart"])
@pytest.mark.parametrize("commit", [True, False])
def test_triggers_wait_for_the_decision(tmp_path, commit, restarted):
    region = make(*triggered("TRGQ", "LOGICAL", "FILE", level=1), store=tmp_path / "store")
    started = []
    program = lambda task: started.append(task.readq_td("TRGQ"))  # noqa: E731
    region.register("PAYP", program)
    branch = prepared(region, (WRITEQ, "TRGQ"))
    branch.lose_coordinator()
    if restarted:
        region = again(region, tmp_path / "store")
        region.register("PAYP", program)
        branch = region.recovery.branch("XA1")
    region.run()
    assert started == []
    branch.commit() if commit else branch.back_out()
    region.run()
    assert started == ([b"new"] if commit else [])
    region.close()


class Triggered:
    """A queue whose triggered task has written to LOGQ, was prepared by somebody outside, and lost them."""

    def __init__(self, store, kind, facility, *, abends=True):
        self.store, self.abends = store, abends
        self.doubt = True
        self.started = 0
        self.region = make(*triggered("TRGQ", kind, facility), queue("LOGQ"), store=store)
        self.region.register("PAYP", self.program)
        self.region.seed("TRGQ", [b"1", b"2"])
        self.region.writeq_td("TRGQ", b"3")
        self.region.run()

    def program(self, task):
        self.started += 1
        if not self.doubt:
            return
        self.doubt = False
        task.writeq_td("LOGQ", b"new")
        branch = task.region.recovery.branch("XA1", task)
        assert branch.prepare()
        abend = branch.lose_coordinator()
        if self.abends:
            raise abend

    def again(self, *, clean):
        self.region.close(clean=clean)
        self.region = make(store=self.store)
        self.region.register("PAYP", self.program)

    def writes(self):
        """How many tasks a write at the level starts."""
        before = self.started
        self.region.writeq_td("TRGQ", b"4", nohandle=True)
        self.region.run()
        return self.started - before

    def resolve(self):
        """End the doubt; how many tasks that starts."""
        before = self.started
        self.region.recovery.branch("XA1").commit()
        self.region.run()
        return self.started - before


@pytest.mark.rule("REC-ATI-CYCLE-HELD")
@pytest.mark.parametrize("restart", ["", "warm", "emergency"])
@pytest.mark.parametrize("kind", ["NO", "PHYSICAL", "LOGICAL"])
def test_a_shunted_triggered_task_holds_the_cycle_of_its_queue(tmp_path, kind, restart):
    """Facility FILE: the end of the task would end the cycle, and the next write start another task."""
    made = Triggered(tmp_path / "store", kind, "FILE")
    assert (made.started, len(made.region.recovery.shunted)) == (1, 1)
    if restart:
        made.again(clean=restart == "warm")
    if kind == "NO" and restart == "emergency":  # its records are lost
        made.region.seed("TRGQ", [b"1", b"2", b"3"])
    assert made.writes() == 0
    assert made.resolve() == 0
    assert made.writes() == 1
    made.region.close()


@pytest.mark.rule("REC-ATI-CYCLE-HELD")
@pytest.mark.parametrize("kind", ["NO", "PHYSICAL", "LOGICAL"])
def test_qzero_counts_when_the_doubt_is_over(tmp_path, kind):
    made = Triggered(tmp_path / "store", kind, "FILE")
    while made.region.readq_td("TRGQ", nohandle=True):
        pass
    assert [made.writes() for _ in range(4)] == [0, 0, 0, 0]
    assert made.resolve() == 0
    assert made.writes() == 1
    made.region.close()


@pytest.mark.rule("REC-ATI-CYCLE-HELD")
@pytest.mark.parametrize(("abends", "restarted", "starts"), [(True, False, 0), (False, False, 20), (True, True, 20)])
def test_a_terminals_cycle_goes_on_when_the_doubt_is_over(tmp_path, abends, restarted, starts):
    """After an abend it stays on; after a normal end, or a restart, the transaction is started again."""
    made = Triggered(tmp_path / "store", "LOGICAL", "TERMINAL", abends=abends)
    if restarted:
        made.again(clean=False)
        made.region.run()
    assert made.started == 1
    assert made.writes() == 0
    assert made.resolve() in (starts, starts - 1)  # it never reads: it is started until that is noticed
    made.region.close()


@pytest.mark.parametrize("restarted", [False, True], ids=["", "after a restart"])
def test_uowenq_tells_how_long_the_locks_have_been_retained(tmp_path, restarted):
    region = doubtful(tmp_path / "store")
    branch = shunted(region)
    if restarted:
        region = again(region, tmp_path / "store")
    region.clock.advance(30)
    with region.task() as task:
        task.inquire_uowenq_start(branch.uow.id)
        found = []
        while info := task.inquire_uowenq_next(nohandle=True):
            found.append((info.resource, Cvda(info.state), Cvda(info.relation), info.taskid, info.transid))
            assert info.duration >= 30
    owner = (Cvda.RETAINED, Cvda.OWNER, branch.uow.taskid, "PAYP")
    assert sorted(found) == [("LOG2", *owner), ("LOGQ", *owner)]
    region.close()


# -- an external coordinator ------------------------------------------------------------------------------------------


@pytest.mark.rule("REC-COORDINATE")
@pytest.mark.parametrize("commit", [True, False])
def test_an_external_coordinator_drives_the_phases(tmp_path, commit):
    with doubtful(tmp_path / "store") as region:
        region.seed("LOGQ", [b"one", b"two"])
        with region.task() as task:
            task.readq_td("LOGQ")
            task.writeq_td("LOG2", b"new")
            branch = region.recovery.branch("TX42", task)
            task.writeq_td("PHYQ", b"the task goes on with another unit of work")
        assert branch.state is Cvda.INFLIGHT
        assert contents(region) == ([b"one", b"two"], [])
        assert branch.prepare()
        assert branch.state is Cvda.INDOUBT
        assert contents(region) == ([b"one", b"two"], [])
        with pytest.raises(TdqError, match="INFLIGHT"):
            branch.prepare()
        with pytest.raises(TdqError, match="decided"):
            branch.forget()
        (branch.commit if commit else branch.back_out)()
        assert contents(region) == DECIDED[commit]
        (branch.commit if commit else branch.back_out)()  # said twice, done once
        branch.forget()
        assert contents(region) == DECIDED[commit]


OUT_OF_ORDER = {
    # what has been said already: what is said then, and the words of the refusal (none where it is done, or was)
    ("commit",): "INFLIGHT; only one that is INDOUBT",
    ("forget",): "only one that has been decided",
    ("back_out", "back_out"): "",
    ("back_out", "commit"): "was backed out; it cannot be committed",
    ("back_out", "prepare"): "BACKOUT; only one that is INFLIGHT",
    ("back_out", "forget", "forget"): "",
    ("lose_coordinator", "commit"): "was backed out; it cannot be committed",
    ("lose_coordinator", "prepare"): "BACKOUT; only one that is INFLIGHT",
    ("prepare", "prepare"): "INDOUBT; only one that is INFLIGHT",
    ("prepare", "forget"): "only one that has been decided",
    ("prepare", "commit", "commit"): "",
    ("prepare", "commit", "back_out"): "was committed; it cannot be backed out",
    ("prepare", "commit", "prepare"): "COMMIT; only one that is INFLIGHT",
    ("prepare", "commit", "forget", "back_out"): "was committed; it cannot be backed out",
    ("prepare", "commit", "lose_coordinator"): "",
    ("prepare", "back_out", "commit"): "was backed out; it cannot be committed",
    ("prepare", "back_out", "back_out"): "",
    ("prepare", "lose_coordinator", "prepare"): "INDOUBT; only one that is INFLIGHT",
    ("prepare", "lose_coordinator", "lose_coordinator", "forget"): "only one that has been decided",
    ("prepare", "lose_coordinator", "commit", "back_out"): "was committed; it cannot be backed out",
}


@pytest.mark.rule("REC-COORDINATE")
@pytest.mark.parametrize("said", OUT_OF_ORDER, ids=" ".join)
def test_an_external_coordinator_that_says_things_out_of_order(tmp_path, said):
    """What cannot be is refused by name, and changes nothing."""
    with doubtful(tmp_path / "store") as region:
        with region.task() as task:
            task.writeq_td("LOGQ", b"new")
            branch = region.recovery.branch("TX42", task)
        *before, last = said
        for word in before:
            getattr(branch, word)()
        found = region.peek("LOGQ"), region.peek("LOGQ", uncommitted=True), branch.state
        if OUT_OF_ORDER[said]:
            with pytest.raises(TdqError, match=OUT_OF_ORDER[said]) as raised:
                getattr(branch, last)()
            assert branch.uow.title in str(raised.value)
        else:
            getattr(branch, last)()
        assert (region.peek("LOGQ"), region.peek("LOGQ", uncommitted=True), branch.state) == found


def test_the_task_has_used_a_queue_before_that_is_discarded_while_it_is_in_doubt(tmp_path):
    """Only what the unit of work itself has done is kept with it."""
    region = doubtful(tmp_path / "store")
    with region.task() as task:
        task.writeq_td("LOG2", b"committed")
        task.syncpoint()
        task.writeq_td("LOGQ", b"new")
        branch = region.recovery.branch("TX42", task)
    assert branch.prepare()
    region.set_tdqueue("LOG2", enablestatus="DISABLED")
    region.discard_tdqueue("LOG2")
    region = again(region, tmp_path / "store")
    region.recovery.branch("TX42").commit()
    assert region.peek("LOGQ") == [b"new"]
    region.close()


def test_a_unit_of_work_that_cannot_be_handed_over(tmp_path):
    """A name of its own is what an outside coordinator finds it by, after a restart too."""
    with doubtful(tmp_path / "store") as region:
        branch = prepared(region, (WRITEQ, "LOGQ"), name="TX42")
        with region.task() as task:
            task.writeq_td("LOG2", b"mine")
            for name, words in (("", "1 character"), ("TX42", "TX42 is unfinished")):
                with pytest.raises(TdqError, match=words):
                    region.recovery.branch(name, task)
            branch.lose_coordinator()
            region.set_uow(branch.uow.id, uowstate="COMMIT")
            with pytest.raises(TdqError, match="TX42 is unfinished"):
                region.recovery.branch("TX42", task)
            branch.forget()
            again = region.recovery.branch("TX42", task)
        with pytest.raises(TdqError, match="has ended"):
            region.recovery.branch("TX43", task)
        assert again.prepare()
        again.commit()
        assert contents(region) == ([b"new"], [b"mine"])
        assert not region.recovery.units


def test_a_coordinator_that_is_lost_before_prepare_leaves_nothing(tmp_path):
    with doubtful(tmp_path / "store") as region, region.task() as task:
        task.writeq_td("LOGQ", b"new")
        branch = region.recovery.branch("TX42", task)
        assert branch.lose_coordinator() is None
        assert contents(region) == ([], [])
        region.writeq_td("LOGQ", b"free")


@pytest.mark.rule("REC-HEURISTIC-DAMAGE")
@pytest.mark.parametrize("how", ["at once", "SET UOW", "WAITTIME"])
@pytest.mark.parametrize("restarted", [False, True], ids=["", "after a restart"])
@pytest.mark.parametrize(("here", "theirs"), [("COMMIT", "COMMIT"), ("COMMIT", "BACKOUT"), ("BACKOUT", "COMMIT")])
def test_a_decision_without_the_coordinator_is_compared_with_its_own(tmp_path, here, theirs, how, restarted):
    waittime = "00,00,01" if how == "WAITTIME" else "00,00,00"
    region = doubtful(
        tmp_path / "store", action=here, queue_wait="NO" if how == "at once" else "YES", waittime=waittime
    )
    region.seed("LOGQ", [b"one", b"two"])
    branch = prepared(region, (READQ, "LOGQ"), (WRITEQ, "LOG2"), transid="PAYP")
    branch.lose_coordinator()
    if how == "SET UOW":
        region.set_uow(branch.uow.id, uowstate=here)
    elif how == "WAITTIME":
        region.clock.advance(61)
        region.run()
    assert branch.state is {"COMMIT": Cvda.HEURCOMMIT, "BACKOUT": Cvda.HEURBACKOUT}[here]
    uow_id = branch.uow.id
    if restarted:
        region = again(region, tmp_path / "store")
        branch = region.recovery.branch("XA1")
    (branch.commit if theirs == "COMMIT" else branch.back_out)()
    assert region.recovery.damage == ([] if here == theirs else [HeuristicDamage(uow_id, here, theirs)])
    assert contents(region) == DECIDED[here == "COMMIT"]
    branch.forget()
    (branch.commit if theirs == "COMMIT" else branch.back_out)()
    assert len(region.recovery.damage) == (here != theirs)
    region.close()


@freeze_time("2026-01-01")
def test_ids_are_not_given_again_after_a_restart_under_a_clock_that_stands_still(tmp_path):
    given = []
    region = make(store=tmp_path / "store")
    for start in ({}, {}, {"start": "COLD"}, {}):
        for _ in range(3):
            with region.task() as task:
                task.writeq_td("LOGQ", b"x")
                given.append(task._uow.id)
        region.close(clean=False)
        region = make(*([] if not start else [queue("LOGQ")]), store=tmp_path / "store", **start)
    region.close()
    assert len(set(given)) == len(given)


def test_a_store_that_does_not_take_the_decision_leaves_it_in_doubt(tmp_path):
    region = doubtful(tmp_path / "store")
    region.seed("LOGQ", [b"one", b"two"])
    branch = prepared(region, (READQ, "LOGQ"), (WRITEQ, "LOG2"))
    region.store.durable.fault = full_from()
    for decide in (branch.commit, branch.back_out):
        with pytest.raises(StoreFull):
            decide()
        assert contents(region) == DECIDED[False]
        assert outcome(request, region, WRITEQ, "LOG2") == "LOCKED"
    region.store.durable.fault = None
    region.recovery.branch("XA1").commit()
    assert contents(region) == DECIDED[True]
    region = again(region, tmp_path / "store")
    assert contents(region) == DECIDED[True]
    assert not region.recovery.shunted
    region.close()


def test_a_store_that_does_not_take_a_commit_backs_it_out(tmp_path):
    store = tmp_path / "store"
    with make(
        queue("LOGQ", transid="PAYP", triggerlevel=1, atifacility="FILE"), define_transaction(name="PAYP"), store=store
    ) as region:
        started = []
        region.register("PAYP", lambda task: started.append(task.readq_td("LOGQ")))
        region.store.durable.fault = full_from()
        with region.task() as task:
            task.writeq_td("LOGQ", b"lost")
            with pytest.raises(Condition, match="ROLLEDBACK"):
                task.syncpoint()
            region.store.durable.fault = None
        assert region.peek("LOGQ") == []
        region.run()
        assert started == []
        region.writeq_td("LOGQ", b"kept")  # the trigger that failed with the commit is not thought to be on
        region.run()
        assert started == [b"kept"]


def test_a_normal_end_settles_what_a_coordinator_has_not_had_prepared(tmp_path):
    """The one read of a PHYSICAL queue is given back after a failure in that unit of work, not after a later one."""
    region = make(store=tmp_path / "store")
    region.seed("PHYQ", [b"read", b"left"])
    task = region.task()
    task.readq_td("PHYQ")
    region.recovery.branch("TX1", task)
    region.close()
    make(store=tmp_path / "store").close(clean=False)
    with make(store=tmp_path / "store") as region:
        assert region.recovery.start_type == "EMERGENCY"
        assert region.peek("PHYQ") == [b"left"]
