"""What is in doubt comes to its end whoever decides, and whatever goes and comes on the way to the decision."""

from __future__ import annotations

from pathlib import Path

import pytest

from tdqsim import StartOptions
from tdqsim.cics import Condition, Region
from tdqsim.cics.files import DataFile
from tdqsim.cics.uow.indoubt import HeuristicDamage, decisions
from tdqsim.definitions import define_connection, define_transaction, define_tsmodel
from tdqsim.errors import RegionClosed, WouldWaitForever
from tdqsim.facts import Cvda
from tests.recovery.complexes import Complex, fan, pair, remote, ring, row
from tests.recovery.helpers import full_from, outcome, queue
from tests.rules import rule


def write(made: Complex, *names: str) -> str | None:
    """One distributed unit of work of NEAR; how its syncpoint ended."""
    with made["NEAR"].task() as task:
        for name in names:
            task.writeq_td(name, b"new")
        return outcome(task.syncpoint)  # type: ignore[no-any-return]


def everywhere(made: Complex) -> set[tuple[bytes, ...]]:
    """The different contents that queues have: one for a unit of work that ended alike everywhere."""
    return {tuple(records) for records in made.contents().values()}


@pytest.fixture
def three(tmp_path: Path):
    made = fan(tmp_path)
    yield made
    made.sysplex.close()


@pytest.fixture
def chain(tmp_path: Path):
    made = row(tmp_path)
    yield made
    made.sysplex.close()


@pytest.fixture
def two(tmp_path: Path):
    made = pair(tmp_path)
    yield made
    made.sysplex.close()


# -- before the decision ----------------------------------------------------------------------------------------------


@pytest.mark.rule("REC-RESYNC")
@pytest.mark.parametrize("how", ["link", "FARA"])
@pytest.mark.parametrize("agrees", [True, False])
def test_a_region_that_goes_and_comes_between_its_vote_and_the_decision(three, agrees, how):
    """FARA has voted; while FARB is asked, the link to FARA goes and comes, or FARA itself."""

    def meanwhile(step: str) -> None:
        if step == "PREPARE":
            if how == "link":
                three.link("NEAR", "FARA").cut()
                three.link("NEAR", "FARA").restore()
            else:
                three.again("FARA")

    three.link("NEAR", "FARB").fault = meanwhile
    if not agrees:
        three.link("NEAR", "FARB").cut_at("VOTE")
    assert write(three, "LOCL", "ONE", "TWO") == (None if agrees else "ROLLEDBACK")
    assert not three["FARA"].recovery.shunted
    three.link("NEAR", "FARB").fault = None
    three.link("NEAR", "FARB").restore()
    assert three["FARA"].peek("FARQ") == three["FARB"].peek("FARQ") == three["NEAR"].peek("LOCL")
    assert three["NEAR"].peek("LOCL") == ([b"new"] if agrees else [])
    assert three.left() == []


@pytest.mark.parametrize("step", ["PREPARE", "VOTE", "COMMIT", "COMMITTED"])
@pytest.mark.parametrize("victim", ["NEAR", "FAR"])
@pytest.mark.parametrize("first", ["NEAR", "FAR"])
def test_a_region_fails_in_the_midst_of_a_message(two, victim, step, first):
    """The other one fails afterwards, and they come back in either order."""
    two.link().fault = lambda at: two[victim].close(clean=False) if at == step else None
    two["NEAR"].start(lambda task: [task.writeq_td(name, b"new") for name in ("LOCL", "REMQ")])
    two.run()
    other = {"NEAR": "FAR", "FAR": "NEAR"}[victim]
    two[other].close(clean=False)
    two.start(first)
    two.start({"NEAR": "FAR", "FAR": "NEAR"}[first])
    two.run()
    assert everywhere(two) == {(b"new",) if step in ("COMMIT", "COMMITTED") else ()}
    assert two.left() == []


def share_commits(made: Complex) -> None:
    """Let tasks wait for commits that they share, as with durability power: then others run in the midst of one."""
    for region in made.sysplex.regions.values():
        region._core.committer.shared = True


def purged(two: Complex, region: str, state: Cvda) -> list[bool]:
    """A started task of NEAR is purged when a unit of work in ``region`` has got into a state."""
    share_commits(two)
    done: list[bool] = []

    def work(task):
        for name in ("LOCL", "REMQ"):
            task.writeq_td(name, b"new")
        task.syncpoint()

    handle = two["NEAR"].start(work)

    def operator(task):
        while not handle.done and not done:
            if any(uow.state is state for uow in two[region].recovery.units_of_work()):
                done.append(two["NEAR"].purge(handle))
            task.suspend()

    two["NEAR"].start(operator)
    two.run()
    assert outcome(handle.result) == "AEXY"
    return done


@pytest.mark.rule("REC-TWO-PHASE")
@pytest.mark.parametrize(
    ("region", "state", "committed"),
    [("FAR", Cvda.INDOUBT, False), ("NEAR", Cvda.COMMIT, True), ("FAR", Cvda.COMMIT, True)],
)
def test_a_purge_in_the_midst_of_a_syncpoint_leaves_nothing_undecided(two, region, state, committed):
    """A purge before the decision is a backout for all; one after it comes too late, and all hear the decision."""
    assert purged(two, region, state) == [True]
    assert everywhere(two) == {(b"new",) if committed else ()}
    assert two.left() == []


def test_the_coordinator_of_a_middle_region_is_lost_while_it_prepares_those_behind_it(chain):
    """It backs out: for itself and for those that have voted already; the requester is told of a refusal."""
    share_commits(chain)

    def work(task):
        for name in ("LOCL", "REMQ"):
            task.writeq_td(name, b"new")
        return outcome(task.syncpoint)

    handle = chain["NEAR"].start(work)

    def operator(task):
        while not any(uow.state is Cvda.INDOUBT for uow in chain["FAR"].recovery.units_of_work()):
            task.suspend()
        chain.link("NEAR", "MID").cut()

    chain["FAR"].start(operator)
    assert handle.result() == "ROLLEDBACK"
    chain.link("NEAR", "MID").restore()
    assert everywhere(chain) == {()}
    assert chain.left() == []


@pytest.mark.parametrize("commit", [True, False])
def test_the_files_and_temporary_storage_of_a_middle_region_follow_the_decision_over_restarts(tmp_path, commit):
    """It coordinates the region behind it; the decision comes after one restart, and is looked at after another."""
    near = (queue("LOCL"), remote("REMQ", "FAR"), define_connection(name="FAR"))
    two = Complex(tmp_path, ("NEAR", "NEAR", (*near, define_tsmodel(name="KEPT", prefix="REC", recovery="YES"))),
                  ("FAR", "FAR", (queue("REMQ"),)))  # fmt: skip

    def accounts(region: Region) -> DataFile:
        data = DataFile(keylength=2)
        region.files.define("ACCT", data, kept=True, recoverable=True)
        return data

    accounts(two["NEAR"])
    with two["NEAR"].task() as task:
        for name in ("LOCL", "REMQ"):
            task.writeq_td(name, b"record")
        task.writeq_ts("REC1", b"item")
        task.write_file("ACCT", b"A1 record", b"A1")
        branch = two["NEAR"].recovery.branch("XA1", task)
    assert branch.prepare()
    branch = two.again("NEAR").recovery.branch("XA1")
    (branch.commit if commit else branch.back_out)()
    two.run()
    region = two.again("NEAR")
    assert [two["FAR"].readq_td("REMQ", nohandle=True), region.readq_td("LOCL", nohandle=True)] == (
        [b"record"] * 2 if commit else [b""] * 2
    )
    assert list(region.ts.queues) == (["REC1"] if commit else [])
    assert dict(accounts(region).records) == ({b"A1": b"A1 record"} if commit else {})
    two.sysplex.close()


def test_a_link_that_goes_while_a_request_waits_behind_it(chain):
    """A READQ waits in FAR, with its end of the queue held; MID gives that up when it loses NEAR."""
    with chain["FAR"].task() as writer:
        writer.writeq_td("FARQ", b"one")
        reader = chain["NEAR"].start(lambda task: outcome(task.readq_td, "REMQ"))
        chain.run()
        chain.link("NEAR", "MID").cut()
        chain.run()
    assert reader.done
    assert chain["FAR"].readq_td("FARQ") == b"one"
    chain.link("NEAR", "MID").restore()
    assert chain.left() == []


def test_a_request_to_a_queue_that_comes_round_waits_for_its_own_unit_of_work(tmp_path):
    """NEAR holds LOCL, and asks for it by way of FAR: that is another unit of work, and the two wait for each other."""
    made = ring(tmp_path)
    with made["NEAR"].task() as task:
        task.writeq_td("LOCL", b"own")
        with pytest.raises(WouldWaitForever, match=task._uow.id.hex().upper()):
            task.writeq_td("RING", b"round")
        task.syncpoint_rollback()
    made.sysplex.close()


@pytest.mark.parametrize("again", [(), ("NEAR",), ("FAR",), ("NEAR", "FAR"), ("FAR", "NEAR")], ids=str)
@pytest.mark.parametrize("nth", [1, 2])
@pytest.mark.parametrize("step", ["PREPARE", "VOTE", "COMMIT", "COMMITTED"])
def test_a_unit_of_work_that_comes_round_ends_the_same_everywhere(tmp_path, step, nth, again):
    """NEAR coordinates FAR, which coordinates another unit of work in NEAR, all over one link."""
    made = ring(tmp_path)
    made.link().cut_at(step, nth=nth)
    committed = write(made, "HERE", "RING") is None
    for applid in again:
        made.again(applid)
    made.link().restore()
    made.run()
    assert everywhere(made) == {(b"new",) if committed else ()}
    assert made.left() == []
    made.sysplex.close()


# -- decisions in the middle ------------------------------------------------------------------------------------------


@pytest.mark.rule("REC-CHAIN")
@pytest.mark.parametrize("bounced", [False, True], ids=["", "link bounced"])
@pytest.mark.parametrize("again", [(), ("MID",), ("FAR",), ("MID", "FAR"), ("FAR", "MID")], ids=str)
@pytest.mark.parametrize("how", ["COMMIT", "BACKOUT"])
def test_a_unilateral_decision_is_passed_on_to_those_behind(chain, how, again, bounced):
    chain.link("NEAR", "MID").cut_at("COMMIT")
    assert write(chain, "LOCL", "REMQ") is None
    assert chain["MID"].recovery.shunted
    for applid in again:
        chain[applid].close(clean=False)
        if applid == "MID":
            chain["NEAR"].close(clean=False)
        chain.start(applid)
    if bounced:
        chain.link("MID", "FAR").cut()
        chain.link("MID", "FAR").restore()
    (uow_id,) = chain["MID"].recovery.shunted
    chain["MID"].set_uow(uow_id, uowstate=how)
    chain.run()
    assert not chain["FAR"].recovery.units_of_work()
    assert chain["FAR"].peek("FARQ") == ([b"new"] if how == "COMMIT" else [])
    if "NEAR" not in chain.sysplex.regions:
        assert not chain.again("MID").recovery.shunted
        chain.start("NEAR")
    chain.link("NEAR", "MID").restore()
    assert chain["MID"].recovery.damage == ([] if how == "COMMIT" else [HeuristicDamage(uow_id, "BACKOUT", "COMMIT")])
    assert chain["FAR"].recovery.damage == []  # it did as its coordinator said
    assert chain.left() == []


@pytest.mark.parametrize("again", [False, True], ids=["", "after a restart"])
@pytest.mark.parametrize("commit", [True, False])
def test_a_program_outside_coordinates_two_regions(two, commit, again):
    """Its decision reaches the region behind, after a restart too."""
    with two["NEAR"].task() as task:
        for name in ("LOCL", "REMQ"):
            task.writeq_td(name, b"new")
        branch = two["NEAR"].recovery.branch("XA1", task)
    assert branch.prepare()
    assert two["FAR"].peek("FARQ") == []
    if again:
        branch = two.again("NEAR").recovery.branch("XA1")
    assert two["FAR"].recovery.units_of_work()[0].state is Cvda.INDOUBT
    (branch.commit if commit else branch.back_out)()
    two.run()
    assert everywhere(two) == {(b"new",) if commit else ()}
    assert two.left() == []


@pytest.mark.rule("REC-INDOUBT-COLD", "REC-INDOUBT-TDINTRA")
@pytest.mark.parametrize("options", [{"start": "COLD"}, {"start": StartOptions(tdintra="EMPTY")}], ids=str)
@pytest.mark.parametrize("step", ["VOTE", "COMMIT"])
@pytest.mark.parametrize("order", [("NEAR", "MID", "FAR"), ("FAR", "MID", "NEAR"), ("MID", "FAR", "NEAR")], ids=str)
def test_a_middle_region_that_starts_with_empty_queues_still_passes_the_decision_on(chain, step, options, order):
    """It has lost its own part; what FAR has in doubt follows NEAR all the same, and it may be started once more."""
    chain.link("NEAR", "MID").cut_at(step)
    assert write(chain, "LOCL", "REMQ") == (None if step == "COMMIT" else "ROLLEDBACK")
    for applid in order:
        chain[applid].close(clean=False)
    chain.start("MID", **options).close(clean=False)
    for applid in order:
        chain.start(applid)
    chain.run()
    assert everywhere(chain) == ({(b"new",), ()} if step == "COMMIT" else {()})
    assert chain["FAR"].peek("FARQ") == chain["NEAR"].peek("LOCL")
    assert chain["MID"].peek("MIDQ") == []
    assert chain.left() == []


@pytest.mark.rule("REC-CHAIN")
def test_a_decision_by_hand_is_made_at_one_moment(chain):
    """A task decides for MID; those that ask at that very moment are told the same."""
    chain.link("NEAR", "MID").cut_at("COMMIT")
    assert write(chain, "LOCL", "REMQ") is None
    chain["NEAR"].close(clean=False)
    chain["FAR"].close(clean=False)
    (uow_id,) = chain.again("MID").recovery.shunted

    def operator(task):
        task.set_uow(uow_id, uowstate="COMMIT")

    def starter(_task):
        chain.start("FAR")

    chain["MID"].start(operator)
    chain["MID"].start(starter)
    chain.run()
    assert chain["FAR"].peek("FARQ") == [b"new"]
    chain.start("NEAR")
    assert not chain["MID"].recovery.damage
    assert chain.left() == []


# -- WAITTIME ---------------------------------------------------------------------------------------------------------


@pytest.mark.rule("REC-WAITTIME")
@pytest.mark.parametrize("action", ["COMMIT", "BACKOUT"])
@pytest.mark.parametrize("down", [False, True], ids=["", "the region is down when it is over"])
def test_waittime_of_the_mirror_runs_on_the_clock_that_all_share(tmp_path, action, down):
    two = pair(tmp_path, define_transaction(name="CSMI", waittime="00,00,05", action=action))
    two.link().cut_at("COMMIT")
    assert write(two, "LOCL", "REMQ") is None
    (uow_id,) = two["FAR"].recovery.shunted
    if down:
        two["FAR"].close(clean=False)
    two.sysplex.clock.advance(301)
    two.run()
    if down:
        two["NEAR"].close(clean=False)
        two.start("FAR")
        two.run()
    assert two["FAR"].inquire_uow(uow_id, "UOWSTATE").uowstate is Cvda[f"HEUR{action}"]
    assert two["FAR"].peek("FARQ") == ([b"new"] if action == "COMMIT" else [])
    two.start("NEAR") if down else two.link().restore()
    assert two["FAR"].recovery.damage == ([] if action == "COMMIT" else [HeuristicDamage(uow_id, "BACKOUT", "COMMIT")])
    assert two.left() == []
    two.sysplex.close()


# -- stores that take nothing -----------------------------------------------------------------------------------------


def test_a_decision_is_forgotten_with_the_next_commit_and_told_again_until_then(two):
    """NEAR fails, or its store takes no more, before it has taken note that FAR has heard: it does no harm."""
    assert write(two, "LOCL", "REMQ") is None
    two["FAR"].close()
    assert [*decisions(two.again("NEAR")._core).values()] == [("FAR",)]
    two.start("FAR")
    assert not decisions(two["NEAR"]._core)
    two["NEAR"].store.durable.fault = full_from()
    assert outcome(two["NEAR"].writeq_td, "LOCL", b"refused") == "ROLLEDBACK"
    two["NEAR"].store.durable.fault = None
    assert decisions(two["NEAR"]._core)
    two.link().cut()
    two.link().restore()
    two["NEAR"].writeq_td("LOCL", b"kept")
    two["FAR"].close()
    assert not decisions(two.again("NEAR")._core)
    two.start("FAR")
    assert two["NEAR"].peek("LOCL") == [b"new", b"kept"]
    assert two["FAR"].peek("FARQ") == [b"new"]
    assert two.left() == []


@pytest.mark.rule("UOW-GROUP-COMMIT")
def test_distributed_units_of_work_share_their_commits(tmp_path):
    """A hundred tasks end together: one commit for the requesters, two for the mirrors, which prepare first."""
    count = 100
    names = [f"{at:03}" for at in range(count)]
    near = [define_connection(name="FAR"), *(remote(f"R{name}", "FAR", f"F{name}") for name in names)]
    two = Complex(
        tmp_path,
        ("NEAR", "NEAR", [*near, *(queue(f"L{name}") for name in names)]),
        ("FAR", "FAR", [queue(f"F{name}") for name in names]),
        durability="power",
    )

    def work(task, name):
        task.writeq_td(f"L{name}", b"new")
        task.writeq_td(f"R{name}", b"new")

    before = [two[applid]._core.committer.commits for applid in ("NEAR", "FAR")]
    handles = [two["NEAR"].start(work, name) for name in names]
    two.run()
    made = [two[applid]._core.committer.commits - then for applid, then in zip(("NEAR", "FAR"), before, strict=True)]
    assert all(handle.result() is None for handle in handles)
    assert made == [1, 2]
    for applid in ("NEAR", "FAR"):
        two[applid].close(clean=False)
    for applid in ("FAR", "NEAR"):
        two.start(applid)
    assert [*two.contents().values()] == [[b"new"]] * (2 * count)
    assert two.left() == []
    two.sysplex.close()


@pytest.mark.parametrize("action", ["COMMIT", "BACKOUT"])
def test_a_store_that_takes_no_decision_leaves_it_in_doubt_when_the_link_goes(tmp_path, action):
    """FAR would decide alone, and cannot write that: it waits on; so does it when the link is back too early."""
    two = pair(tmp_path, define_transaction(name="CSMI", wait="NO", action=action))

    def full(step):
        if step == "COMMIT":
            two["FAR"].store.durable.fault = full_from()

    two.link().fault = full
    two.link().cut_at("COMMIT")
    assert write(two, "LOCL", "REMQ") is None
    (uow,) = two["FAR"].recovery.shunted.values()
    two.link().restore()
    assert two["FAR"].recovery.shunted
    two["FAR"].store.durable.fault = None
    two.link().cut()
    two.link().restore()
    assert uow.ended
    assert two["FAR"].recovery.damage == []
    assert everywhere(two) == {(b"new",)}
    assert two.left() == []
    two.sysplex.close()


def test_an_error_of_any_kind_in_a_commit_is_no_commit(tmp_path):
    two = pair(tmp_path)

    def broken(point: str) -> None:
        if point == "before_commit":
            raise OSError("the disk is gone, for the test")

    two["FAR"].store.durable.fault = broken
    with pytest.raises(Condition, match="ROLLEDBACK"), two["FAR"].task() as task:
        task.writeq_td("FARQ", b"one")
    handles = [two["FAR"].start(lambda task, name=name: task.writeq_td(name, b"one")) for name in ("FARQ", "FARQ")]
    two.run()
    assert all(handle.exception is not None for handle in handles)
    two["FAR"].store.durable.fault = None
    assert two["FAR"].peek("FARQ") == []
    two["FAR"].writeq_td("FARQ", b"two")
    assert two["FAR"].peek("FARQ") == [b"two"]
    assert two.left() == []
    two.sysplex.close()


# -- those who wait ---------------------------------------------------------------------------------------------------


@pytest.mark.rule("LOCK-ACTIVE-WAITS", "LOCK-RETAINED-LOCKED")
@pytest.mark.parametrize("waitaction", ["QUEUE", "REJECT"])
@pytest.mark.parametrize("commit", [True, False])
def test_two_requesters_want_what_a_shunted_unit_of_work_holds(tmp_path, commit, waitaction):
    """QUEUE serves them in order when the doubt is over, REJECT refuses both at once."""
    two = pair(tmp_path, far=[queue("FARQ", waitaction=waitaction)])
    two.link().cut_at("COMMIT" if commit else "VOTE")
    write(two, "LOCL", "REMQ")
    waiting = [
        two["FAR"].start(lambda task, data=data: outcome(task.writeq_td, "FARQ", data))
        for data in (b"first", b"second")
    ]
    two.run()
    assert [handle.done for handle in waiting] == [waitaction == "REJECT"] * 2
    two.link().restore()
    two.run()
    refused = rule("LOCK-RETAINED-LOCKED").resp
    assert [handle.result() for handle in waiting] == [refused if waitaction == "REJECT" else None] * 2
    kept = [b"new"] if commit else []
    assert two["FAR"].peek("FARQ") == [*kept, *([] if waitaction == "REJECT" else [b"first", b"second"])]
    assert two.left() == []


@pytest.mark.rule("LOCK-RETAINED-LOCKED")
@pytest.mark.parametrize("waitaction", ["QUEUE", "REJECT"])
def test_those_who_wait_already_when_the_lock_is_retained(tmp_path, waitaction):
    """They were waiting for a unit of work that ran; it is shunted: with REJECT they are told LOCKED."""
    two = pair(tmp_path, far=[queue("FARQ", waitaction=waitaction)])
    two.link().cut_at("COMMIT")
    with two["NEAR"].task() as task:
        task.writeq_td("REMQ", b"new")
        waiting = [two["FAR"].start(lambda other: outcome(other.writeq_td, "FARQ", b"x")) for _ in range(2)]
        waiting.append(two["FAR"].start(lambda other: outcome(other.readq_td, "FARQ")))
        two.run()
        assert not any(handle.done for handle in waiting)
    two.run()
    if waitaction == "REJECT":
        assert [handle.result() for handle in waiting] == [rule("LOCK-RETAINED-LOCKED").resp] * 3
    two.link().restore()
    two.run()
    assert waiting[2].result() == (b"new" if waitaction == "QUEUE" else "LOCKED")
    assert two["FAR"].peek("FARQ") == ([b"x", b"x"] if waitaction == "QUEUE" else [b"new"])
    assert two.left() == []
    two.sysplex.close()


@pytest.mark.rule("REC-INDOUBT-SHUNTED", "REC-INDOUBT-COMMITTED", "REC-INDOUBT-BACKED-OUT")
@pytest.mark.parametrize(
    ("transaction", "wait", "row"),
    [
        ({}, "YES", "SHUNTED"), ({"wait": "NO", "action": "COMMIT"}, "YES", "COMMITTED"),
        ({"action": "COMMIT"}, "NO", "COMMITTED"), ({"wait": "NO"}, "YES", "BACKED-OUT"), ({}, "NO", "BACKED-OUT"),
    ],
)  # fmt: skip
def test_the_abend_of_a_mirror_that_loses_its_requester(tmp_path, transaction, wait, row):
    far = [queue("FARQ", wait=wait), queue("CSMT", "NO"), define_transaction(name="CSMI", **transaction)]
    two = pair(tmp_path, far=far)
    two.link().cut_at("COMMIT")
    write(two, "LOCL", "REMQ")
    code, message = rule(f"REC-INDOUBT-{row}").message.split()
    told = b"".join(two["FAR"].peek("CSMT")).decode("cp037")
    assert message in told
    assert code in told
    assert two["FAR"].statistics.abends == {code: 1}
    two.sysplex.close()


# -- a region that has ended ------------------------------------------------------------------------------------------


def test_nothing_can_be_done_to_a_unit_of_work_of_a_region_that_has_ended(tmp_path):
    two = pair(tmp_path)
    with two["FAR"].task() as task:
        task.writeq_td("FARQ", b"new")
        branch = two["FAR"].recovery.branch("XA1", task)
    assert branch.prepare()
    two["FAR"].close(clean=False)
    for call in (branch.prepare, branch.commit, branch.back_out, branch.forget, branch.lose_coordinator):
        with pytest.raises(RegionClosed, match="FAR"):
            call()
    two.start("FAR").recovery.branch("XA1").commit()
    assert two["FAR"].peek("FARQ") == [b"new"]
    two.sysplex.close()


@pytest.mark.rule("REC-RESYNC")
def test_a_region_that_fails_while_it_resynchronises_is_in_nobodys_way(tmp_path):
    """MID hears from NEAR, which is back, and fails while it tells FAR: NEAR is linked to SIDE all the same."""
    near = [remote("REMQ", "MID"), remote("SIDR", "SIDE", "SIDQ"), define_connection(name="MID"),
            define_connection(name="SIDE")]  # fmt: skip
    made = Complex(
        tmp_path,
        ("NEAR", "NEAR", near),
        ("MID", "MID", [remote("REMQ", "FAR", "FARQ"), queue("MIDQ"), define_connection(name="FAR")]),
        ("FAR", "FAR", [queue("FARQ")]),
        ("SIDE", "SIDE", [queue("SIDQ")]),
    )

    def fail(region: str, at: str, link: tuple[str, str]) -> None:
        def fault(step: str) -> None:
            if step == at:
                made.link(*link).fault = None
                made[region].close(clean=False)

        made.link(*link).fault = fault

    fail("NEAR", "VOTE", ("NEAR", "MID"))
    assert write(made, "SIDR", "REMQ") == "ROLLEDBACK"
    assert "MID" in made.in_doubt()
    fail("MID", "BACKED_OUT", ("MID", "FAR"))
    made.start("NEAR")
    assert "MID" not in made.sysplex.regions
    with made["NEAR"].task() as task:
        task.writeq_td("SIDR", b"there")
    assert made["SIDE"].peek("SIDQ") == [b"there"]
    made.start("MID")
    made.run()
    assert made["FAR"].peek("FARQ") == []
    assert made.left() == []
    made.sysplex.close()


@pytest.mark.parametrize("step", ["PREPARE", "VOTE", "COMMIT", "COMMITTED", "BACKOUT"])
@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("again", ["", "NEAR", "FAR"])
def test_the_ends_of_a_link_come_in_either_order(two, step, swapped, again):
    """Whoever says first who is here and what it is in doubt about, with or without a restart of one of them before."""
    link = two.link()
    link.cut_at(step)
    with two["NEAR"].task() as task:
        outcome(lambda: [task.writeq_td(name, b"new") for name in ("LOCL", "REMQ")])
        outcome(task.syncpoint_rollback if step == "BACKOUT" else task.syncpoint)
    if again:
        two.again(again)
    link = two.link()
    if swapped:
        link.ends = link.ends[::-1]
    link.cut()
    link.restore()
    two.run()
    assert everywhere(two) == {(b"new",) if step in ("COMMIT", "COMMITTED") else ()}
    assert two.left() == []
