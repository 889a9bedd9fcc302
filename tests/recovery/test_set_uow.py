"""SET UOW: it decides only about a unit of work that is shunted indoubt, whatever else is there."""

from __future__ import annotations

import pytest

from tests.recovery.helpers import WRITEQ, make, prepared, queue
from tests.rules import expect_rule


@pytest.fixture
def region():
    with make(queue("LOGQ"), queue("LOG2")) as made:
        yield made


def inflight(region):
    task = region.task()
    task.writeq_td("LOGQ", b"x")
    return task._uow.id, task.syncpoint


def waiting(region):
    """Its task waits for another unit of work."""
    owner = region.task()
    owner.writeq_td("LOG2", b"x")

    def work(task):
        task.writeq_td("LOGQ", b"x")
        task.writeq_td("LOG2", b"y")

    handle = region.start(work)
    region.run()
    (found,) = (uow.id for uow in region.recovery.units_of_work() if uow.taskid != owner.number)

    def end():
        owner.syncpoint()
        handle.result()

    return found, end


def in_doubt(region):
    """Its coordinator has not decided, and can be asked."""
    branch = prepared(region, (WRITEQ, "LOGQ"))
    return branch.uow.id, branch.commit


def decided(how):
    """It was decided by SET UOW, and its coordinator has not heard of it."""

    def make_it(region):
        branch = prepared(region, (WRITEQ, "LOGQ"))
        branch.lose_coordinator()
        region.set_uow(branch.uow.id, uowstate=how)
        return branch.uow.id, branch.forget

    return make_it


STATES = {
    inflight: ("INFLIGHT", "ACTIVE"),
    waiting: ("INFLIGHT", "ACTIVE"),
    in_doubt: ("INDOUBT", "ACTIVE"),
    decided("COMMIT"): ("HEURCOMMIT", "WAITING"),
    decided("BACKOUT"): ("HEURBACKOUT", "WAITING"),
}


@pytest.mark.rule("REC-SET-UOW-STATE")
@pytest.mark.parametrize("uowstate", ["COMMIT", "BACKOUT", "FORCE"])
@pytest.mark.parametrize("state", STATES, ids=lambda state: "-".join(STATES[state]))
def test_where_set_uow_is_not_valid(region, state, uowstate):
    uow, end = state(region)
    shown = region.inquire_uow(uow).as_dict(plain=True)
    assert (shown["UOWSTATE"], shown["WAITSTATE"]) == STATES[state]
    expect_rule("REC-SET-UOW-STATE", region.set_uow, uow, uowstate=uowstate)
    assert region.inquire_uow(uow, "UOWSTATE", "WAITSTATE").as_dict(plain=True) == {
        "UOWSTATE": STATES[state][0], "WAITSTATE": STATES[state][1],
    }  # fmt: skip
    end()
    expect_rule("UOW-NOT-FOUND", region.inquire_uow, uow)
