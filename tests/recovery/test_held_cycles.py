"""A cycle that a shunted unit of work holds, and what SET, DISCARD and CREATE do about it."""

from __future__ import annotations

import pytest

from tests.recovery.helpers import make, outcome, queue, triggered


class Held:
    """A queue of terminal T001 whose first task has left a unit of work in doubt, on another queue."""

    def __init__(self, *, abends: bool, kind: str = "PHYSICAL") -> None:
        self.abends = abends
        self.started = 0
        self.region = make(*triggered("TRGQ", kind, "TERMINAL", level=1), queue("LOGQ"))
        self.region.register("PAYP", self.program)
        self.writes(2)
        assert (self.started, len(self.region.recovery.shunted)) == (1, 1)

    def program(self, task):
        self.started += 1
        if self.started > 1:
            while task.readq_td("TRGQ", nohandle=True):
                pass
            return
        task.writeq_td("LOGQ", b"new")
        self.branch = task.region.recovery.branch("XA1", task)
        assert self.branch.prepare()
        abend = self.branch.lose_coordinator()
        if self.abends:
            raise abend

    def writes(self, count=1):
        for _ in range(count):
            self.region.writeq_td("TRGQ", b"x")
        self.region.run()

    def resolve(self):
        self.branch.commit()
        self.region.run()


@pytest.mark.rule("REC-ATI-CYCLE-HELD", "ATI-SET-STUCK")
@pytest.mark.parametrize("kind", ["NO", "PHYSICAL", "LOGICAL"])
@pytest.mark.parametrize(("abends", "level"), [(True, 1), (False, 1), (False, 0)])
def test_a_set_of_the_trigger(kind, abends, level):
    """The cycle stays held; an abend leaves it on whatever is SET, and a normal end counts as ever."""
    with Held(abends=abends, kind=kind).region as region:
        held = region.resources.transactions["PAYP"].program.__self__
        region.set_tdqueue("TRGQ", triggerlevel=level)
        held.writes()
        assert held.started == 1
        held.resolve()
        started_again = not abends and level == 1
        assert held.started == (2 if started_again else 1)
        assert region.peek("TRGQ") == ([] if started_again else [b"x"] * 3)
        region.set_tdqueue("TRGQ", triggerlevel=1)
        held.writes()
        assert held.started == (3 if started_again else 1 if abends else 2)


@pytest.mark.rule("RESTART-TRIGGER-TERMINAL", "ATI-SET-PENDING")
@pytest.mark.parametrize("clean", [True, False])
def test_a_set_right_after_a_restart_takes_nothing_from_the_cycle_that_goes_on(tmp_path, clean):
    region = make(*triggered("TRGQ", "PHYSICAL", "TERMINAL", level=1), store=tmp_path / "store")
    region.writeq_td("TRGQ", b"1")  # there is no program yet
    region.close(clean=clean)
    region = make(store=tmp_path / "store")
    started = []
    region.register("PAYP", lambda task: started.append(task.readq_td("TRGQ", nohandle=True)))
    region.set_tdqueue("TRGQ", triggerlevel=5)
    region.run()
    assert started == [b"1", b""]
    region.close()


def test_a_queue_that_is_discarded_is_held_no_more():
    held = Held(abends=True)
    region = held.region
    region.set_tdqueue("TRGQ", enablestatus="DISABLED")
    region.discard_tdqueue("TRGQ")
    assert outcome(region.readq_td, "TRGQ") == "QIDERR"
    region.create_tdqueue("TRGQ", "TYPE(INTRA) RECOVSTATUS(PHYSICAL) TRANSID(PAYP) ATIFACILITY(FILE)")
    held.writes()
    assert held.started == 2
    held.resolve()
    held.writes()
    assert held.started == 3
    region.close()


@pytest.mark.rule("REC-ATI-CYCLE-HELD")
def test_a_cycle_is_held_until_the_last_unit_of_work_in_doubt_of_its_task_is_resolved():
    branches, started = [], []

    def program(task):
        started.append(list(task.readq_td_all("TRGQ")) if branches else [])
        for name in () if branches else ("XA1", "XA2"):
            task.writeq_td("LOGQ" if name == "XA1" else "LOGR", b"new")
            branch = task.region.recovery.branch(name, task)
            assert branch.prepare()
            branch.lose_coordinator()
            branches.append(branch)

    definitions = triggered("TRGQ", "PHYSICAL", "TERMINAL", level=1)
    with make(*definitions, queue("LOGQ"), queue("LOGR"), handlers={"PAYP": program}) as region:
        region.writeq_td("TRGQ", b"x")
        region.run()
        branches[0].commit()
        region.run()
        assert started == [[]]
        branches[1].commit()
        region.run()
        assert started == [[], [b"x"]]


@pytest.mark.rule("REC-ATI-CYCLE-HELD", "ATI-QZERO-DIRECT")
def test_qzero_ends_a_cycle_that_is_held_also_when_its_task_abends():
    """An abend leaves a cycle on; this one is over, so the next record begins another when nothing is in doubt."""
    branches, started = [], []

    def program(task):
        started.append(task.readq_td("TRGQ"))
        if branches:
            return
        task.writeq_td("LOGQ", b"new")
        branches.append(task.region.recovery.branch("XA1", task))
        assert branches[0].prepare()
        abend = branches[0].lose_coordinator()
        assert task.readq_td("TRGQ", nohandle=True) == b""
        raise abend

    definitions = triggered("TRGQ", "PHYSICAL", "TERMINAL", level=1)
    with make(*definitions, queue("LOGQ"), handlers={"PAYP": program}) as region:
        for record in (b"1", b"2"):
            region.writeq_td("TRGQ", record)
            region.run()
        assert started == [b"1"]
        branches[0].commit()
        region.run()
        region.writeq_td("TRGQ", b"3")
        region.run()
        assert started[:2] == [b"1", b"2"]
