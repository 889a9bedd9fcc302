"""Sysplexes: connections that are installed later or out of service, and random worlds of regions, links and failures."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tdqsim.cics import Abend, Condition, Sysplex
from tdqsim.definitions import define_connection
from tdqsim.errors import TdqError, WouldWaitForever
from tdqsim.facts import Resp
from tests.recovery.complexes import pair, remote
from tests.recovery.helpers import outcome, queue
from tests.recovery.sysplex_worlds import World
from tests.rules import expect_rule, rule

SEEDS = range(25)
SOAK = [*SEEDS, *range(1000, 11000)]
KINDS = {
    "all wait": {},
    "unilateral decisions": {"unilateral": True},
    "full stores": {"full": True},
    "unilateral decisions, full stores": {"unilateral": True, "full": True},
}


def lives_through(seed: int, directory: Path, **options: bool) -> None:
    world = World(seed, directory, **options)
    try:
        world.run()
        world.check()
    except BaseException as error:
        error.add_note(f"seed {seed}: regions {world.letters}, links {world.pairs}: {'; '.join(world.told)}")
        raise
    finally:
        world.sysplex.close()


@pytest.mark.rule("REC-TWO-PHASE", "REC-RESYNC", "REC-CHAIN")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", SEEDS[:5])
def test_no_unit_of_work_is_half_done(tmp_path, seed, kind):
    lives_through(seed, tmp_path, **KINDS[kind])


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_no_unit_of_work_is_half_done_in_many_worlds(tmp_path, kind):
    for seed in SOAK:
        directory = tmp_path / str(seed)
        lives_through(seed, directory, **KINDS[kind])
        shutil.rmtree(directory)


def test_the_worlds_notice_a_decision_that_is_not_kept(tmp_path, monkeypatch):
    """A bug planted for them: the coordinator forgets its decision when somebody could not be told."""
    from tdqsim.cics.uow import indoubt

    monkeypatch.setattr(indoubt, "decision_kept", lambda _uow: {})

    def live():
        for seed in SEEDS:
            lives_through(seed, tmp_path / str(seed))

    with pytest.raises(AssertionError):
        live()


def test_a_connection_that_is_installed_later_links_the_regions():
    with Sysplex() as sysplex:
        near = sysplex.region([remote("REMQ", "FAR")], applid="NEAR", sysid="NEAR", supplied_queues=False)
        far = sysplex.region([queue("REMQ")], applid="FARAWAY", sysid="FAR", supplied_queues=False)
        expect_rule("REC-SYSIDERR-UNKNOWN", near.writeq_td, "REMQ", b"early")
        near.install([define_connection(name="FAR", netname="FARAWAY")])
        near.writeq_td("REMQ", b"late")
        assert far.peek("REMQ") == [b"late"]
        link = sysplex.link(near, far)
        near.install([define_connection(name="FAR", netname="FARAWAY", inservice="NO")])
        assert sysplex.link(near, far) is link
        expect_rule("REC-SYSIDERR-OUT-OF-SERVICE", near.writeq_td, "REMQ", b"x")


@pytest.mark.parametrize(("applid", "sysid"), [("NEAR", "FAR"), ("FARAWAY", "NEAR")])
def test_neither_name_of_a_region_may_be_that_of_another(applid, sysid):
    with Sysplex() as sysplex:
        sysplex.region(applid="NEAR", sysid="NEAR", supplied_queues=False)
        with pytest.raises(TdqError, match=f"{applid} with SYSID {sysid} needs other names"):
            sysplex.region(applid=applid, sysid=sysid, supplied_queues=False)
        assert list(sysplex.regions) == ["NEAR"]


@pytest.mark.rule("REC-SYSIDERR-OUT-OF-SERVICE")
def test_a_connection_that_is_out_of_service_at_the_other_end(tmp_path):
    two = pair(tmp_path, define_connection(name="NEAR", inservice="NO"))
    expect_rule("REC-SYSIDERR-OUT-OF-SERVICE", two["NEAR"].writeq_td, "REMQ", b"x")
    with pytest.raises(Condition, match="connection NEAR of region FAR is not in service"):
        two["NEAR"].readq_td("REMQ")
    two["FAR"].install([define_connection(name="NEAR")])
    two["NEAR"].writeq_td("REMQ", b"x")
    two.sysplex.close()


@pytest.mark.rule("REC-SYSID-BYPASSES")
def test_sysid_that_names_the_region_itself_is_no_sysid(tmp_path):
    """The local definition decides then, be it of a queue here or of a remote one."""
    two = pair(tmp_path)
    two["NEAR"].writeq_td("LOCL", b"here", sysid="NEAR")
    two["NEAR"].writeq_td("REMQ", b"there", sysid="NEAR")
    assert two["NEAR"].peek("LOCL") == [b"here"]
    assert two["FAR"].peek("FARQ") == [b"there"]
    assert outcome(two["NEAR"].readq_td, "FARQ", sysid="NEAR") == "QIDERR"
    two.sysplex.close()


@pytest.mark.rule("LOCK-QBUSY-NOSUSPEND")
def test_nosuspend_over_the_link(tmp_path):
    two = pair(tmp_path)
    with two["FAR"].task() as writer:
        writer.writeq_td("FARQ", b"one")
        with two["NEAR"].task() as task:
            assert task.readq_td("REMQ", nosuspend=True, nohandle=True) == b""
            assert task.eib.eibresp is Resp.QBUSY
            with pytest.raises(WouldWaitForever, match="FARQ"):
                task.readq_td("REMQ")
    assert two["NEAR"].readq_td("REMQ", nosuspend=True) == b"one"
    assert two.left() == []
    two.sysplex.close()


@pytest.mark.rule("REC-BACKOUT-REQUIRED")
@pytest.mark.parametrize("back", [False, True], ids=["gone", "back again"])
@pytest.mark.parametrize("rollback", [False, True], ids=["returns", "backs out"])
def test_a_task_that_has_lost_a_region_must_back_out(tmp_path, rollback, back):
    two = pair(tmp_path)

    def work(task):
        task.writeq_td("LOCL", b"undone")
        task.writeq_td("REMQ", b"undone")
        two.link().cut()
        if back:
            two.link().restore()
        assert outcome(task.writeq_td, "REMQ", b"too late") == "SYSIDERR"
        if rollback:
            task.syncpoint_rollback()
            task.writeq_td("LOCL", b"afterwards")

    handle = two["NEAR"].start(work)
    two["NEAR"].run()
    if rollback:
        assert handle.result() is None
    else:
        with pytest.raises(Abend, match=rule("REC-BACKOUT-REQUIRED").message):
            handle.result()
    assert two["NEAR"].peek("LOCL") == ([b"afterwards"] if rollback else [])
    assert two["FAR"].peek("FARQ") == []
    two.sysplex.close()
