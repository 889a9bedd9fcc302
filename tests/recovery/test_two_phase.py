"""Queues of other regions, and the distributed unit of work: the link is lost at every message, and what then holds."""

from __future__ import annotations

import itertools

import pytest

from tdqsim.cics import Abend, Condition
from tdqsim.cics.ship.branch import Branch
from tdqsim.cics.ship.messages import STEPS
from tdqsim.cics.uow.indoubt import HeuristicDamage, decisions
from tdqsim.definitions import define_connection, define_tdqueue, define_transaction
from tdqsim.facts import Cvda, Resp
from tdqsim.faults import add_hook
from tests.recovery.complexes import Complex, fan, pair, remote, row
from tests.recovery.helpers import full_from, outcome, queue, status
from tests.rules import expect_rule, rule


@pytest.fixture(params=[True, False], ids=["at once", "network"])
def two(tmp_path, request):
    """Two regions; messages are carried out where they are sent, or as over a network."""
    near = [
        queue("LOCL"), remote("REMQ", "FAR", "FARQ"), remote("REMN", "FAR", "FARN"), remote("REMP", "FAR", "FARP"),
        define_connection(name="FAR"), define_transaction(name="WAIT", dtimout="10"),
    ]  # fmt: skip
    far = [queue("FARQ"), queue("FARN", "NO"), queue("FARP", "PHYSICAL"), define_transaction(name="CSMI")]
    made = Complex(tmp_path, ("NEAR", "NEAR", near), ("FAR", "FAR", far), at_once=request.param)
    yield made
    made.sysplex.close()


NOTHING = {("NEAR", "LOCL"): [b"old"], ("FAR", "FARQ"): [b"old"], ("FAR", "FARN"): [], ("FAR", "FARP"): []}
EVERYTHING = NOTHING | {("NEAR", "LOCL"): [b"old", b"new"], ("FAR", "FARQ"): [b"new"]}
NEAR_ONLY = EVERYTHING | {("FAR", "FARQ"): [b"old"]}

CUT_AT_COMMIT = {
    # the message that is lost: what the task sees, the queues then, who is in doubt, who keeps a decision; the queues
    # once they have spoken
    "": ("committed", EVERYTHING, set(), set(), EVERYTHING),
    "REQUEST": ("SYSIDERR ROLLEDBACK", NOTHING, set(), set(), NOTHING),  # the second one: there is work over there
    "REPLY": ("SYSIDERR ROLLEDBACK", NOTHING, set(), set(), NOTHING),
    "PREPARE": ("ROLLEDBACK", NOTHING, set(), set(), NOTHING),
    "VOTE": ("ROLLEDBACK", NOTHING, {"FAR"}, set(), NOTHING),
    "COMMIT": ("committed", NEAR_ONLY, {"FAR"}, {"NEAR"}, EVERYTHING),
    "COMMITTED": ("committed", EVERYTHING, set(), {"NEAR"}, EVERYTHING),
}
CUT_AT_BACKOUT = {
    "": ("backed out", NOTHING, set(), set(), NOTHING),
    "BACKOUT": ("backed out", NOTHING, set(), set(), NOTHING),
    "BACKED_OUT": ("backed out", NOTHING, set(), set(), NOTHING),
}
CUTS = {True: CUT_AT_COMMIT, False: CUT_AT_BACKOUT}


def test_the_tables_have_every_message():
    assert {*CUT_AT_COMMIT, *CUT_AT_BACKOUT} == {"", *STEPS}


def work(two, *, commit):
    """One distributed unit of work; the words for what its task saw."""
    seen = []
    with two["NEAR"].task() as task:
        task.writeq_td("LOCL", b"new")
        for call in (lambda: task.readq_td("REMQ"), lambda: task.writeq_td("REMQ", b"new")):
            answer = outcome(call)
            if answer not in (None, b"old"):
                seen.append(answer)
                break
        end = outcome(task.syncpoint if commit else task.syncpoint_rollback)
        seen.append(end or ("committed" if commit else "backed out"))
    return " ".join(seen)


def speak(two, how):
    """Let the regions come together again."""
    if "near" in how:
        two.again("NEAR")
    if "far" in how:
        two.again("FAR")
    two.link().restore()
    two.run()


@pytest.mark.rule("REC-TWO-PHASE", "REC-RESYNC")
@pytest.mark.parametrize("how", ["link", "near", "far", "near and far"])
@pytest.mark.parametrize(
    ("commit", "step"),
    [(commit, step) for commit in (True, False) for step in dict.fromkeys((*CUTS[commit], "REQUEST", "REPLY"))],
)
def test_the_link_is_lost_at_every_message(two, step, commit, how):
    table = CUTS[commit]
    two["NEAR"].seed("LOCL", [b"old"])
    two["FAR"].seed("FARQ", [b"old"])
    if step:
        two.link().cut_at(step, nth=2 if step == "REQUEST" else 1)
    saw = work(two, commit=commit)
    if step in table:
        words, then, doubt, kept, finally_ = table[step]
    else:
        words, then, doubt, kept, finally_ = "SYSIDERR backed out", NOTHING, set(), set(), NOTHING
    assert (saw, two.contents(), two.in_doubt(), two.remembered()) == (words, then, doubt, kept)
    if doubt:
        assert outcome(two["FAR"].readq_td, "FARQ") == "LOCKED"
    speak(two, how)
    assert (two.contents(), two.in_doubt(), two.remembered()) == (finally_, set(), set())
    with two["NEAR"].task() as task:  # nothing is held any more
        task.writeq_td("REMQ", b"free")
    assert two["FAR"].peek("FARQ") == [*finally_["FAR", "FARQ"], b"free"]


def test_a_first_request_that_is_lost_concerns_nobody_else(two):
    """Nothing was done over there, so the requester may go on with the rest of its unit of work."""
    two.link().cut_at("REQUEST")
    assert work(two, commit=True) == "SYSIDERR committed"
    assert two["NEAR"].peek("LOCL") == [b"new"]
    assert two.remembered() == set()


@pytest.mark.parametrize("how", ["link", "far"])
def test_a_unit_of_work_that_lost_its_link_gets_no_other(two, how):
    """The link, or the region, comes back within the unit of work: what was done there is gone, so all of it must be."""
    with two["NEAR"].task() as task:
        task.writeq_td("REMQ", b"lost")
        two.link().cut()
        speak(two, how)
        assert outcome(task.writeq_td, "REMQ", b"half of it") == "SYSIDERR"
        assert outcome(task.syncpoint) == "ROLLEDBACK"
        task.writeq_td("REMQ", b"whole")
    assert two["FAR"].peek("FARQ") == [b"whole"]


@pytest.mark.parametrize("first", ["NEAR", "FAR"])
@pytest.mark.parametrize("step", ["VOTE", "COMMIT"])
def test_resynchronisation_waits_for_both(two, step, first):
    two["NEAR"].seed("LOCL", [b"old"])
    two["FAR"].seed("FARQ", [b"old"])
    two.link().cut_at(step)
    work(two, commit=True)
    for applid in ("NEAR", "FAR"):
        two[applid].close(clean=False)
    two.start(first)
    assert two.in_doubt() == ({"FAR"} if first == "FAR" else set())
    two.start("FAR" if first == "NEAR" else "NEAR")
    assert two.in_doubt() == two.remembered() == set()
    assert two.contents() == (NOTHING if step == "VOTE" else EVERYTHING)


@pytest.mark.rule("REC-MIRROR-ATTRIBUTES")
@pytest.mark.parametrize("action", ["COMMIT", "BACKOUT"])
@pytest.mark.parametrize("step", ["VOTE", "COMMIT"])
def test_the_mirror_decides_alone_and_damage_is_reported(tmp_path, step, action):
    far = [queue("FARQ"), define_transaction(name="CSMI", wait="NO", action=action)]
    near = [queue("LOCL"), remote("REMQ", "FAR", "FARQ"), define_connection(name="FAR")]
    two = Complex(tmp_path, ("NEAR", "NEAR", near), ("FAR", "FAR", far))
    two["NEAR"].seed("LOCL", [b"old"])
    two["FAR"].seed("FARQ", [b"old"])
    two.link().cut_at(step)
    work(two, commit=True)
    assert two.in_doubt() == set()
    here = [b"new"] if action == "COMMIT" else [b"old"]
    assert two["FAR"].peek("FARQ") == here
    two.link().restore()
    theirs = "COMMIT" if step == "COMMIT" else "BACKOUT"
    damage = [(item.here, item.coordinator) for item in two["FAR"].recovery.damage]
    assert damage == ([] if action == theirs else [(action, theirs)])
    assert all(isinstance(item, HeuristicDamage) for item in two["FAR"].recovery.damage)
    assert two.remembered() == set()
    assert two["FAR"].peek("FARQ") == here
    two.sysplex.close()


def test_set_uow_while_the_link_is_away(two):
    two["NEAR"].seed("LOCL", [b"old"])
    two["FAR"].seed("FARQ", [b"old"])
    two.link().cut_at("COMMIT")
    work(two, commit=True)
    (uow,) = two["FAR"].recovery.shunted.values()
    info = two["FAR"].inquire_uow(uow.id)
    assert (info.uowstate, info.waitstate, info.waitcause) == (Cvda.INDOUBT, Cvda.SHUNTED, Cvda.CONNECTION)
    assert info.link.strip() == "NEAR"
    two["FAR"].set_uow(uow.id, uowstate="BACKOUT")
    assert two["FAR"].peek("FARQ") == [b"old"]
    info = two["FAR"].inquire_uow(uow.id)
    assert (info.uowstate, info.waitstate, info.link.strip(), info.sysid) == (
        Cvda.HEURBACKOUT, Cvda.WAITING, "NEAR", "NEAR",
    )  # fmt: skip
    two.link().restore()
    assert two["FAR"].recovery.damage == [HeuristicDamage(uow.id, "BACKOUT", "COMMIT")]
    assert two.remembered() == set()


@pytest.mark.rule("UOW-WAITFORGET")
@pytest.mark.parametrize("restarted", [False, True], ids=["", "after a restart"])
def test_a_decision_that_is_not_heard_is_shown_by_its_coordinator(two, restarted):
    two["NEAR"].seed("LOCL", [b"old"])
    two["FAR"].seed("FARQ", [b"old"])
    two.link().cut_at("COMMIT")
    work(two, commit=True)
    if restarted:
        two["FAR"].close(clean=False)
        two.again("NEAR")
    near = two["NEAR"]
    (uow_id,) = decisions(near._core)
    info = near.inquire_uow(uow_id)
    words = " ".join(Cvda(value).name for value in (info.uowstate, info.waitstate, info.waitcause))
    assert words == rule("UOW-WAITFORGET").message
    assert (info.link.strip(), info.transid) == ("FAR", "TEST")
    assert outcome(near.set_uow, uow_id, uowstate="COMMIT") == "INVREQ"
    two.start("FAR") if restarted else two.link().restore()
    assert outcome(near.inquire_uow, uow_id) == "UOWNOTFOUND"
    assert two.contents() == EVERYTHING


def test_a_store_that_cannot_carry_the_decision_out_keeps_its_promise(two):
    two["NEAR"].seed("LOCL", [b"old"])
    two["FAR"].seed("FARQ", [b"old"])
    two["FAR"].store.durable.fault = full_from(2)  # the first one prepares
    assert work(two, commit=True) == "committed"
    assert (two.contents(), two.in_doubt(), two.remembered()) == (NEAR_ONLY, {"FAR"}, {"NEAR"})
    info = two["FAR"].inquire_uow(*two["FAR"].recovery.shunted)
    assert (info.uowstate, info.waitstate, info.waitcause) == (Cvda.INDOUBT, Cvda.SHUNTED, Cvda.NOTAPPLIC)
    two["FAR"].store.durable.fault = None
    two.link().cut()
    two.link().restore()
    assert (two.contents(), two.in_doubt(), two.remembered()) == (EVERYTHING, set(), set())


@pytest.mark.rule("LOCK-RETAINED-LOCKED")
def test_those_who_wait_for_what_a_decision_could_not_end_are_refused(two):
    with two["NEAR"].task() as task:
        task.writeq_td("REMQ", b"new")
        waiter = two["FAR"].start(lambda other: outcome(other.writeq_td, "FARQ", b"other"))
        two.run()
        assert not waiter.done
        two["FAR"].store.durable.fault = full_from(2)  # the first one prepares
        task.syncpoint()
    two["FAR"].store.durable.fault = None
    two.run()
    assert (two.in_doubt(), waiter.result()) == ({"FAR"}, "LOCKED")


# -- requests ---------------------------------------------------------------------------------------------------------


@pytest.mark.rule("REC-REMOTE-SHIPPED")
def test_what_is_not_recoverable_is_done_at_once_over_there(two):
    with two["NEAR"].task() as task:
        for name in ("REMN", "REMP"):
            task.writeq_td(name, b"one")
            task.writeq_td(name, b"two")
            assert task.readq_td(name) == b"one"
        task.syncpoint_rollback()
    assert two["FAR"].peek("FARN") == two["FAR"].peek("FARP") == [b"two"]
    assert not [task for task in two["FAR"].tasks.values() if task.transid == "CSMI"]


def test_locks_over_there_last_as_long_as_the_requester(two):
    with two["NEAR"].task() as task:
        task.writeq_td("REMQ", b"one")
        mirrors = [mirror for mirror in two["FAR"].tasks.values() if mirror.transid == "CSMI"]
        assert len(mirrors) == 1
        local = two["FAR"].start(lambda other: other.writeq_td("FARQ", b"two"))
        two.run()
        assert not local.done
        assert two["FAR"].peek("FARQ") == []
    two.run()
    assert local.done
    assert two["FAR"].peek("FARQ") == [b"one", b"two"]
    assert not two["FAR"].tasks


def test_a_reader_waits_across_the_link(two):
    with two["FAR"].task() as writer:
        writer.writeq_td("FARQ", b"one")
        reader = two["NEAR"].start(lambda task: task.readq_td("REMQ"))
        two.run()
        assert not reader.done
    assert reader.result() == b"one"
    assert two["FAR"].peek("FARQ") == []


def test_dtimout_of_the_requester_ends_its_wait_over_there(two):
    with two["FAR"].task() as writer:
        writer.writeq_td("FARQ", b"one")
        two["NEAR"].register("WAIT", lambda task: task.readq_td("REMQ"))
        reader = two["NEAR"].start("WAIT")
        two.run()
        assert outcome(reader.result) == "AKCS"
    assert two["FAR"].peek("FARQ") == [b"one"]
    assert two["NEAR"].readq_td("REMQ") == b"one"


@pytest.mark.rule("REC-SYSIDERR-LINK")
def test_a_link_that_goes_ends_the_waits_across_it(two):
    with two["FAR"].task() as writer:
        writer.writeq_td("FARQ", b"one")
        reader = two["NEAR"].start(lambda task: outcome(task.readq_td, "REMQ"))
        two.run()
        two.link().cut()
        two.run()
        assert reader.exception is not None or reader.result() == "SYSIDERR"
    assert two["FAR"].peek("FARQ") == [b"one"]
    expect_rule("REC-SYSIDERR-LINK", two["NEAR"].readq_td, "REMQ")
    two.link().restore()
    assert two["NEAR"].readq_td("REMQ") == b"one"


@pytest.mark.rule("REC-SYSIDERR-UNKNOWN", "REC-SYSIDERR-OUT-OF-SERVICE", "REC-SYSIDERR-CLOSED")
def test_every_cause_of_sysiderr(two):
    near = two["NEAR"]
    expect_rule("REC-SYSIDERR-UNKNOWN", near.writeq_td, "FARQ", b"x", sysid="NONE")
    near.install([define_connection(name="FAR", inservice="NO")])
    expect_rule("REC-SYSIDERR-OUT-OF-SERVICE", near.writeq_td, "REMQ", b"x")
    near.install([define_connection(name="FAR")])
    near.writeq_td("REMQ", b"x")
    two["FAR"].close()
    expect_rule("REC-SYSIDERR-CLOSED", near.writeq_td, "REMQ", b"x")


class Negative:
    """A number of another package."""

    def __index__(self):
        return -1


@pytest.mark.rule("REC-LENGTH-LAST")
@pytest.mark.parametrize("where", [{"queue": "REMQ"}, {"queue": "FARQ", "sysid": "FAR"}])
def test_a_wrong_length_is_told_last(two, where):
    """The way to the queue, its name and its state come before lengths, here as for a queue of the region's own."""
    near, far = two["NEAR"], two["FAR"]

    def outcomes():
        with near.task() as task:
            negative = outcome(task.readq_td, length=-1, **where)
            return [negative, *(outcome(task.writeq_td, from_=b"x", length=each, **where) for each in (0, -1))]

    assert outcomes() == ["LENGERR"] * 3
    two.link().cut()
    assert outcomes() == [rule("REC-LENGTH-LAST").resp] * 3
    two.link().restore()
    with near.task() as task:
        task.writeq_td("REMQ", b"x")
        two.link().cut()
        two.link().restore()
        assert outcome(task.readq_td, length=-1, **where) == rule("REC-LENGTH-LAST").resp
        task.syncpoint_rollback()
    near.install([define_connection(name="FAR", inservice="NO")])
    assert outcomes() == [rule("REC-LENGTH-LAST").resp] * 3
    expect_rule("REC-LENGTH-LAST", near.readq_td, length=-1, **where)
    near.install([define_connection(name="FAR")])
    for length in (-(2**63) - 1, Negative()):
        assert outcome(near.readq_td, length=length, **where) == "LENGERR"
    far.set_tdqueue("FARQ", enablestatus="DISABLED")
    assert outcomes() == ["DISABLED"] * 3
    far.discard_tdqueue("FARQ")
    assert outcomes() == ["QIDERR"] * 3


@pytest.mark.rule("REC-SYSID-BYPASSES")
def test_sysid_does_not_look_at_local_definitions(two):
    near = two["NEAR"]
    near.writeq_td("FARQ", b"one", sysid="FAR")
    assert two["FAR"].peek("FARQ") == [b"one"]
    near.set_tdqueue("REMQ", enablestatus="DISABLED")
    assert outcome(near.readq_td, "REMQ") == "DISABLED"
    assert near.readq_td("FARQ", sysid="FAR") == b"one"
    assert outcome(near.readq_td, "REMQ", sysid="FAR") == "QIDERR"
    near.deleteq_td("FARQ", sysid="FAR")
    assert status(two["FAR"], "FARQ") == "ENABLED"


def test_conditions_come_back_over_the_link(two):
    near, far = two["NEAR"], two["FAR"]
    assert outcome(near.readq_td, "REMQ") == "QZERO"
    with pytest.raises(Condition) as raised:
        near.writeq_td("REMQ", b"x" * 5000)
    assert raised.value.name == "LENGERR"
    near.writeq_td("REMQ", b"abcdef")
    with pytest.raises(Condition) as raised:
        near.readq_td("REMQ", 4)
    assert (raised.value.name, raised.value.data, raised.value.length) == ("LENGERR", b"abcd", 6)
    far.set_tdqueue("FARQ", enablestatus="DISABLED")
    assert outcome(near.readq_td, "REMQ") == "DISABLED"
    far.discard_tdqueue("FARQ")
    assert outcome(near.readq_td, "REMQ") == "QIDERR"
    assert not far.tasks


@pytest.mark.rule("REC-REMOTELENGTH")
def test_remotelength_is_the_length_when_none_is_given(tmp_path):
    length = int(rule("REC-REMOTELENGTH").message)
    near = [
        define_tdqueue(name="REMQ", remotesystem="FAR", remotename="FARQ", remotelength=4),
        define_connection(name="FAR"),
    ]
    two = Complex(tmp_path, ("NEAR", "NEAR", near), ("FAR", "FAR", [queue("FARQ")]))
    two["NEAR"].writeq_td("REMQ", b"abcdefgh")
    two["NEAR"].writeq_td("REMQ", b"ab")
    two["NEAR"].writeq_td("REMQ", b"abcdefgh", 6)
    two["NEAR"].writeq_td("FARQ", b"abcdefgh", sysid="FAR")
    assert two["FAR"].peek("FARQ") == [b"abcdefgh"[:length], b"ab", b"abcdef", b"abcdefgh"]
    two.sysplex.close()


class Broken:
    """Lets the mirror fail with a condition that no command of transient data has."""

    def before(self, task, *_command):
        if task.transid == "CSMI":
            raise Condition(Resp.MAPFAIL)

    def after(self, *_command):
        pass


@pytest.mark.rule("REC-ISCINVREQ")
def test_a_failure_that_maps_to_nothing_is_iscinvreq(two):
    add_hook(two["FAR"], Broken())
    for call in (
        lambda: two["NEAR"].writeq_td("REMQ", b"x"),
        lambda: two["NEAR"].readq_td("REMQ"),
        lambda: two["NEAR"].deleteq_td("REMQ"),
    ):
        expect_rule("REC-ISCINVREQ", call)
    assert not two["FAR"].tasks


@pytest.mark.parametrize(("regions", "ends"), [(8, True), (9, False)])
def test_a_request_goes_through_eight_regions_at_most(tmp_path, regions, ends):
    """From R0 to R8, say, each of which has the queue in the next one: a ring of them would never end."""
    names = [f"R{number}" for number in range(regions + 1)]
    passing = [
        (name, name, [define_tdqueue(name="REMQ", remotesystem=behind), define_connection(name=behind)])
        for name, behind in itertools.pairwise(names)
    ]
    far = Complex(tmp_path, *passing, (names[-1], names[-1], [queue("REMQ")]))
    if ends:
        far["R0"].writeq_td("REMQ", b"x")
    else:
        with pytest.raises(Condition, match="ISCINVREQ"):
            far["R0"].writeq_td("REMQ", b"x")
    assert far[names[-1]].peek("REMQ") == [b"x"] * ends
    far.sysplex.close()


@pytest.mark.rule("REC-REMOTE-DISABLED", "REC-REMOTE-REJECTED")
def test_a_disabled_remote_entry_ships_nothing(two):
    with two["NEAR"].task() as task:
        task.writeq_td("REMQ", b"before")
        two["NEAR"].set_tdqueue("REMQ", enablestatus="DISABLED")
        assert status(two["NEAR"], "REMQ") == "DISABLED"
        assert status(two["FAR"], "FARQ") == "ENABLED"
        expect_rule("REC-REMOTE-DISABLED", task.writeq_td, "REMQ", b"after")
    expect_rule("REC-REMOTE-REJECTED", two["NEAR"].writeq_td, "REMQ", b"after")
    assert two["FAR"].peek("FARQ") == [b"before"]
    two["NEAR"].set_tdqueue("REMQ", enablestatus="ENABLED")
    assert two["NEAR"].readq_td("REMQ") == b"before"


@pytest.mark.rule("REC-REMOTE-DISABLING")
def test_a_user_from_another_region_completes_a_disable(two):
    with two["NEAR"].task() as task:
        task.writeq_td("REMQ", b"one")
        two["FAR"].set_tdqueue("FARQ", enablestatus="DISABLED")
        assert status(two["FAR"], "FARQ") == "DISABLING"
        assert outcome(two["FAR"].writeq_td, "FARQ", b"another") == "DISABLED"
        expect_rule("REC-REMOTE-DISABLING", task.writeq_td, "REMQ", b"two")
    assert status(two["FAR"], "FARQ") == "DISABLED"
    assert two["FAR"].peek("FARQ") == [b"one", b"two"]


@pytest.mark.rule("REC-DUAL-PURPOSE")
def test_one_definition_serves_both_regions(tmp_path):
    dual = define_tdqueue(
        name="DUAL", type="INTRA", recovstatus="LOGICAL", remotesystem="OWN", remotename="DUAL", remotelength=80
    )
    two = Complex(
        tmp_path, ("NEAR", "NEAR", [dual, define_connection(name="OWN", netname="OWNER")]), ("OWNER", "OWN", [dual])
    )
    kinds = " ".join(Cvda(two[applid].inquire_tdqueue("DUAL", "TYPE").type).name for applid in ("NEAR", "OWNER"))
    assert kinds == rule("REC-DUAL-PURPOSE").message
    two["NEAR"].writeq_td("DUAL", b"one")
    two["OWNER"].writeq_td("DUAL", b"two")
    assert two["NEAR"].readq_td("DUAL") == b"one"
    assert two["OWNER"].peek("DUAL") == [b"two"]
    two.sysplex.close()


@pytest.mark.rule("REC-REMOTE-ATI")
def test_triggers_belong_to_the_owner(tmp_path):
    attributes = {"transid": "PAYP", "triggerlevel": 2, "atifacility": "FILE"}
    two = Complex(
        tmp_path,
        (
            "NEAR",
            "NEAR",
            [remote("REMQ", "FAR", "FARQ"), define_connection(name="FAR"), define_transaction(name="PAYP")],
        ),
        ("FAR", "FAR", [queue("FARQ", **attributes), define_transaction(name="PAYP")]),
    )
    started = []
    for applid in ("NEAR", "FAR"):
        two[applid].register("PAYP", lambda task, applid=applid: started.append((applid, task.readq_td("FARQ"))))
    with two["NEAR"].task() as task:
        task.writeq_td("REMQ", b"one")
        task.writeq_td("REMQ", b"two")
        two.run()
        assert started == []
    two.run()
    assert started == [("FAR", b"one")]
    two.sysplex.close()


# -- more than one of them -------------------------------------------------------------------------------------------


@pytest.fixture
def three(tmp_path):
    made = fan(tmp_path)
    yield made
    made.sysplex.close()


def write_three(three):
    with three["NEAR"].task() as task:
        for name in ("LOCL", "ONE", "TWO"):
            task.writeq_td(name, b"new")
        return outcome(task.syncpoint)


def in_three(three):
    return [three["NEAR"].peek("LOCL"), three["FARA"].peek("FARQ"), three["FARB"].peek("FARQ")]


def test_a_region_that_cannot_prepare_refuses_for_all(three):
    """Its disk is full: for the promise, and for taking note of the backout too."""
    three["FARB"].seed("PHYQ", [b"one", b"two"])
    three["FARB"].store.durable.fault = full_from()
    assert write_three(three) == "ROLLEDBACK"
    three["FARB"].store.durable.fault = None
    assert in_three(three) == [[], [], []]
    assert three.in_doubt() == three.remembered() == set()
    assert write_three(three) is None
    assert in_three(three) == [[b"new"]] * 3
    three.again("FARB")
    assert three["FARB"].peek("PHYQ") == [b"one", b"two"]


def test_a_participant_that_asks_while_another_prepares_stays_indoubt(three):
    """Its coordinator has not decided: there is no record of a commit yet, and that does not mean BACKOUT."""
    answers = []

    def comes_back(point):
        if point == "before_commit" and not answers:
            three.link("NEAR", "FARA").cut()
            three.link("NEAR", "FARA").restore()
            answers.append((three.in_doubt(), three["FARA"].peek("FARQ")))

    three["FARB"].store.durable.fault = comes_back
    assert write_three(three) is None
    three["FARB"].store.durable.fault = None
    three.run()
    assert answers == [({"FARA"}, [])]
    assert in_three(three) == [[b"new"]] * 3
    assert three.in_doubt() == three.remembered() == set()


@pytest.mark.parametrize("cut", ["FARA", "FARB"])
@pytest.mark.parametrize("step", ["PREPARE", "VOTE", "COMMIT", "COMMITTED"])
def test_one_of_two_links_is_lost(three, step, cut):
    three.link("NEAR", cut).cut_at(step)
    committed = step in ("COMMIT", "COMMITTED")
    assert write_three(three) == (None if committed else "ROLLEDBACK")
    doubtful = {cut} if step in ("VOTE", "COMMIT") else set()
    assert three.in_doubt() == doubtful
    expected = [[b"new"] if committed and applid not in doubtful else [] for applid in ("NEAR", "FARA", "FARB")]
    assert in_three(three) == expected
    three.again("NEAR")
    three.run()
    assert in_three(three) == [[b"new"] if committed else []] * 3
    assert three.in_doubt() == three.remembered() == set()


@pytest.mark.rule("REC-RESYNC")
@pytest.mark.parametrize("order", [("FARA", "FARB"), ("FARB", "FARA")], ids=str)
@pytest.mark.parametrize("restarted", [False, True], ids=["", "after a restart"])
@pytest.mark.parametrize("step", ["COMMIT", "COMMITTED"])
def test_a_decision_is_kept_until_each_of_two_regions_has_heard_it(three, step, restarted, order):
    for cut in order:
        three.link("NEAR", cut).cut_at(step)
    assert write_three(three) is None
    if restarted:
        for applid in order:
            three[applid].close(clean=False)
        three.again("NEAR")
    for applid, left in zip(order, ({"NEAR"}, set()), strict=True):
        if restarted:
            three.start(applid)
        else:
            three.link("NEAR", applid).restore()
        assert three[applid].peek("FARQ") == [b"new"]
        three["NEAR"].writeq_td("LOCL", b"commits what was acknowledged")
        assert three.remembered() == left
    assert three.in_doubt() == set()


def test_a_cut_that_was_planned_over_a_link_does_not_come_over_the_next_one(two):
    two["FAR"].seed("FARQ", [b"old"])
    two.link().cut_at("PREPARE")
    two.link().cut()
    two.link().restore()
    assert work(two, commit=True) == "committed"
    assert two.link().acquired


class Interrupted(BaseException):
    """What a program is stopped by while the decision is on its way."""


@pytest.mark.parametrize("commit", [True, False])
def test_the_second_region_is_told_the_decision_when_telling_the_first_fails(three, monkeypatch, commit):
    def interrupted(branch):
        if branch.name == "FAR1":
            raise Interrupted
        return told(branch)

    told = getattr(Branch, name := "commit" if commit else "back_out")
    with three["NEAR"].task() as task:
        for queue_name in ("LOCL", "ONE", "TWO"):
            task.writeq_td(queue_name, b"new")
        monkeypatch.setattr(Branch, name, interrupted)
        with pytest.raises(Interrupted):
            task.syncpoint() if commit else task.syncpoint_rollback()
        monkeypatch.undo()
        assert three["FARB"].peek("FARQ") == ([b"new"] if commit else [])
        three["FARB"].writeq_td("FARQ", b"next")  # it is not held any more
    assert three["NEAR"].peek("LOCL") == ([b"new"] if commit else [])


# -- chains -----------------------------------------------------------------------------------------------------------


@pytest.fixture(params=[True, False], ids=["at once", "network"])
def chain(tmp_path, request):
    made = row(tmp_path, at_once=request.param)
    yield made
    made.sysplex.close()


def chain_work(chain):
    with chain["NEAR"].task() as task:
        task.writeq_td("LOCL", b"new")
        task.writeq_td("MIDQ", b"new", sysid="MID")
        first = outcome(task.writeq_td, "REMQ", b"new")
        return " ".join(filter(None, (first, outcome(task.syncpoint))))


@pytest.mark.rule("REC-CHAIN")
@pytest.mark.parametrize("restart", [(), ("MID",), ("FAR", "MID", "NEAR")], ids=str)
@pytest.mark.parametrize(
    ("step", "link"),
    [
        ("", ()),
        *itertools.product(["PREPARE", "VOTE", "COMMIT", "COMMITTED"], [("NEAR", "MID"), ("MID", "FAR")]),
    ],
    ids=str,
)
def test_a_chain_of_three_ends_the_same_everywhere(chain, step, link, restart):
    if step:
        chain.link(*link).cut_at(step)
    saw = chain_work(chain)
    committed = step in ("", "COMMIT", "COMMITTED")
    assert saw == ("" if committed else "ROLLEDBACK")
    for applid in restart:
        chain.again(applid)
    for both in (("NEAR", "MID"), ("MID", "FAR")):
        chain.link(*both).restore()
    chain.run()
    expected = [b"new"] if committed else []
    assert chain.contents() == {("NEAR", "LOCL"): expected, ("MID", "MIDQ"): expected, ("FAR", "FARQ"): expected}
    assert chain.in_doubt() == chain.remembered() == set()
    assert not any(region.recovery.damage for region in chain.sysplex.regions.values())
    chain["NEAR"].writeq_td("REMQ", b"free")


@pytest.mark.rule("REC-CHAIN-TOO-LONG")
def test_a_ring_of_remote_definitions_ends(tmp_path):
    ring = Complex(
        tmp_path,
        ("NEAR", "NEAR", [remote("RING", "FAR"), define_connection(name="FAR")]),
        ("FAR", "FAR", [remote("RING", "NEAR"), define_connection(name="NEAR")]),
    )
    expect_rule("REC-CHAIN-TOO-LONG", ring["NEAR"].writeq_td, "RING", b"x")
    told = ring["NEAR"].explain("RING")
    assert told.commands["WRITEQ TD"].outcome == "ISCINVREQ"
    assert told.statements[-1].endswith("It cannot be asked there: the request has gone through 8 regions already.")
    assert not any(region.tasks for region in ring.sysplex.regions.values())
    ring.sysplex.close()


def test_a_region_behind_another_hears_of_the_decision_through_it(chain):
    """The middle one is in doubt itself: it asks first, then it passes the answer on."""
    chain.link("NEAR", "MID").cut_at("COMMIT")
    chain_work(chain)
    assert chain.in_doubt() == {"MID"}
    chain["FAR"].close(clean=False)
    chain.link("NEAR", "MID").restore()
    assert chain["MID"].peek("MIDQ") == [b"new"]
    chain.start("FAR")
    chain.run()
    assert chain["FAR"].peek("FARQ") == [b"new"]
    assert chain.in_doubt() == chain.remembered() == set()


@pytest.mark.rule("UOW-BROWSE-END")
def test_a_unit_of_work_whose_link_goes_while_its_prepare_fails_is_not_shunted(tmp_path):
    two = pair(tmp_path, durability="power")

    def work(task):
        task.writeq_td("LOCL", b"x")
        task.writeq_td("REMQ", b"x")
        return outcome(task.syncpoint)

    def watch(task):
        while not any(uow.state is Cvda.INDOUBT for uow in two["FAR"].recovery.units_of_work()):
            task.suspend()
        two["FAR"].store.durable.fault = full_from()
        two.link().cut()

    working = two["NEAR"].start(work)
    two["FAR"].start(watch)
    two.run()
    two["FAR"].store.durable.fault = None
    assert working.result() == "ROLLEDBACK"
    assert two.in_doubt() == set()
    with two["FAR"].task() as task:
        task.inquire_uow_start()
        expect_rule("UOW-BROWSE-END", task.inquire_uow_next)
    two.link().restore()
    assert two["NEAR"].peek("LOCL") == two["FAR"].peek("FARQ") == []
    two.sysplex.close()


@pytest.mark.rule("UOW-GROUP-COMMIT")
@pytest.mark.parametrize("where", ["NEAR", "FAR"])
def test_a_link_that_is_lost_while_a_decision_waits_for_its_shared_commit_changes_nothing(tmp_path, where):
    two = pair(tmp_path, durability="power")

    def work(task):
        task.writeq_td("LOCL", b"x")
        task.writeq_td("REMQ", b"x")
        task.syncpoint()

    cut = []

    def watch(task):
        for _ in range(100):
            if cut:
                return
            if any(uow.state is Cvda.COMMIT for uow in two[where].recovery.units_of_work()):
                two.link().cut()
                cut.append(task.number)
            task.suspend()

    working = two["NEAR"].start(work)
    two[where].start(watch)
    two.run()
    assert cut
    assert working.done
    two.link().restore()
    two.run()
    assert two["NEAR"].peek("LOCL") == two["FAR"].peek("FARQ") == [b"x"]
    assert not two.in_doubt()
    assert not two.remembered()
    two.sysplex.close()


@pytest.mark.rule("LOCK-QBUSY-HANDLE")
def test_a_handler_for_qbusy_counts_for_a_queue_of_another_region_too(two):
    owner = two["FAR"].task()
    owner.writeq_td("FARQ", b"x")
    with two["NEAR"].task() as task:
        task.handle_condition(QBUSY=lambda condition: condition.name)
        assert task.readq_td("REMQ") == "QBUSY"
    owner.syncpoint()
    with two["NEAR"].task() as task:
        task.handle_condition(QBUSY=lambda condition: condition.name)
        assert task.readq_td("REMQ") == b"x"


@pytest.mark.parametrize("length", [-1, 0, 32768, 40000])
def test_a_length_that_no_record_has_is_refused_before_anything_is_shipped(two, length):
    with two["NEAR"].task() as task:
        assert outcome(task.writeq_td, "REMN", b"x" * 50_000, length=length) == "LENGERR"
    assert two["FAR"].peek("FARN") == []


@pytest.mark.rule("REC-TWO-PHASE", "REC-RESYNC")
def test_a_region_that_ends_before_it_came_to_a_loss_keeps_what_is_in_doubt(tmp_path):
    """Its coordinator has failed with the decision, and it is closed in order before anybody had a turn."""
    two = pair(tmp_path, at_once=False)
    two["NEAR"].seed("LOCL", [b"moved"])

    def fail(step: str) -> None:
        if step == "COMMIT":
            two.link().fault = None
            two["NEAR"].close(clean=False)
            two["FAR"].close()

    two.link().fault = fail
    two["NEAR"].start(lambda task: task.writeq_td("REMQ", task.readq_td("LOCL")))
    two.run()
    two.start("FAR")
    assert two["FAR"].peek("FARQ") == []
    assert two.in_doubt() == {"FAR"}
    two.start("NEAR")
    two.run()
    assert two["FAR"].peek("FARQ") == [b"moved"]
    assert two["NEAR"].peek("LOCL") == []
    assert two.left() == []
    two.sysplex.close()


@pytest.mark.rule("REC-TWO-PHASE", "REC-RESYNC")
@pytest.mark.parametrize("how", ["the coordinator fails", "the link bounces"])
@pytest.mark.parametrize("seed", range(6))
def test_a_link_that_is_back_before_anybody_came_to_its_loss_keeps_what_is_in_doubt(tmp_path, seed, how):
    """It is lost with the decision on it: whoever has a turn first then, the decision is heard."""
    two = pair(tmp_path, at_once=False, seed=seed)
    two["NEAR"].seed("LOCL", [b"moved"])

    def fail(step: str) -> None:
        if step == "COMMIT":
            two.link().fault = None
            if how == "the coordinator fails":
                two.again("NEAR")
            else:
                two.link().cut()
                two.link().restore()

    two.link().fault = fail
    two["NEAR"].start(lambda task: task.writeq_td("REMQ", task.readq_td("LOCL")))
    two.run()
    assert two["FAR"].peek("FARQ") == [b"moved"]
    assert two["NEAR"].peek("LOCL") == []
    assert two.left() == []
    two.sysplex.close()


@pytest.mark.rule("REC-TWO-PHASE")
@pytest.mark.parametrize("step", ["REQUEST", "PREPARE", "VOTE"])
def test_a_link_that_another_takes_the_place_of_is_given_up(two, step):
    """As if it were lost: what was in flight over it is backed out at both ends."""
    two["NEAR"].seed("LOCL", [b"stays"])

    def replace(at: str) -> None:
        if at == step:
            two.link().fault = None
            two.sysplex.connect(two["NEAR"], two["FAR"], name="FAR", name_there="NEAR")

    def work(task):
        task.writeq_td("REMQ", b"first")
        two.link().fault = replace
        task.writeq_td("REMQ", task.readq_td("LOCL"), nohandle=True)
        return outcome(task.syncpoint)

    handle = two["NEAR"].start(work)
    two.run()
    assert handle.result() == "ROLLEDBACK"
    assert two["NEAR"].peek("LOCL") == [b"stays"]
    assert two["FAR"].peek("FARQ") == []
    assert two.left() == []
    two["NEAR"].writeq_td("REMQ", b"over the new one")
    assert two["FAR"].peek("FARQ") == [b"over the new one"]


@pytest.mark.rule("REC-RESYNC")
def test_an_answer_that_nobody_waits_for_is_no_answer_to_a_later_request(tmp_path):
    """The requester is purged while the region behind the other one is lost, so that an answer comes all the same."""
    three = row(tmp_path, at_once=False)
    three["NEAR"].install([remote("MIDR", "MID", "MIDQ")])
    records = [b"%d" % number for number in range(8)]
    three["MID"].seed("MIDQ", records)
    three["FAR"].seed("FARQ", [b"held"])
    readers = []

    def hold(task):
        task.readq_td("FARQ")
        readers.append(three["NEAR"].start(lambda task: task.readq_td("REMQ")))
        for _ in range(8):
            task.suspend()
        three["NEAR"].purge(readers[0].local)
        three.link("MID", "FAR").cut()

    holder = three["FAR"].start(hold)
    three.run()
    assert holder.result() is None
    with pytest.raises(Abend, match="AEXY"):
        readers[0].result()
    three.link("NEAR", "MID").cut()
    three.link("NEAR", "MID").restore()
    three.run()
    with three["NEAR"].task() as task:
        assert [outcome(task.readq_td, "MIDR") for _ in records] == records
    three.sysplex.close()
