"""Commands on the region itself: each is a task of its own with its syncpoint, also when it ends with a condition."""

from __future__ import annotations

import pytest

from tdqsim import TdqError
from tdqsim.cics import Condition

from .helpers import trigger


@pytest.mark.rule("TASK-ALONE")
@pytest.mark.parametrize("recovstatus", ["NO", "PHYSICAL", "LOGICAL"])
def test_reading_to_qzero_from_outside_frees_a_stuck_cycle(make_region, recovstatus):
    region = make_region(*trigger(recovstatus=recovstatus, atifacility="TERMINAL", facilityid="T001"))
    started = []

    def fails(task):
        started.append(task.number)
        task.abend("BOOM")

    region.register("PAYP", fails)
    for _ in range(3):
        region.writeq_td("TRGQ", b"one")
    for _ in range(3):
        region.readq_td("TRGQ")
    with pytest.raises(Condition, match="QZERO"):
        region.readq_td("TRGQ")
    assert len(started) == 1
    for _ in range(3):
        region.writeq_td("TRGQ", b"two")
    assert len(started) == 2
    while region.readq_td("TRGQ", nohandle=True):
        pass
    for _ in range(3):
        region.writeq_td("TRGQ", b"three")
    assert len(started) == 3


@pytest.mark.rule("TASK-ALONE")
def test_return_and_xctl_as_text_end_the_task_normally(region):
    region.programs.register("LAST", lambda task: task.writeq_td("LOGQ", b"one"))
    assert region.execute("RETURN") == region.execute("XCTL PROGRAM('LAST')") == {}
    assert region.peek("LOGQ") == [b"one"]


def test_what_is_no_condition_is_refused_whatever_its_type(region):
    with region.task() as task, pytest.raises(TdqError, match="5 is not a condition"):
        task.ignore_condition(5)
