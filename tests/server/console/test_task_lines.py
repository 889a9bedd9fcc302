"""Which tasks of several regions are parts of one request."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("nicegui", reason="nicegui is not installed: the extra [serve] brings it")

from tdqsim.server.console.task_lines import TaskLine, Ways, task_lines


def ended(task: int, uow: str, coordinator: str = "", time_ns: int = 5) -> dict[str, Any]:
    """The event of a committed unit of work."""
    network = {"coordinator": coordinator} if coordinator else {}
    return {"event": "unit_of_work", "task": task, "uow": uow, "committed": True, "time_ns": time_ns, **network}


def way(line: TaskLine, lines: list[TaskLine]) -> list[tuple[str, str]]:
    """(caller, task) of a way, each as region and number."""
    return [
        ("" if caller is None else f"{caller.region} {caller.number}", f"{task.region} {task.number}")
        for caller, task in Ways(lines).of(line)
    ]


def test_a_chain_of_regions_is_found_from_each_of_its_tasks() -> None:
    (first,) = task_lines("ONE", [ended(7, "A1")], set())
    second, other = task_lines("TWO", [ended(3, "B1", "ONE.A1"), ended(4, "B9")], set())
    (third,) = task_lines("TRE", [ended(9, "C1", "TWO.B1")], set())
    lines = [third, other, first, second]
    expected = [("", "ONE 7"), ("ONE 7", "TWO 3"), ("TWO 3", "TRE 9")]
    assert [way(each, lines) for each in (first, second, third)] == [expected] * 3
    assert way(other, lines) == [("", "TWO 4")]


def test_a_task_with_two_units_of_work_calls_each_region_in_one_of_them() -> None:
    (first,) = task_lines("ONE", [ended(7, "A1"), ended(7, "A2")], set())
    (second,) = task_lines("TWO", [ended(3, "B1", "ONE.A1")], set())
    (third,) = task_lines("TRE", [ended(9, "C1", "ONE.A2")], set())
    assert way(third, [first, second, third]) == [("", "ONE 7"), ("ONE 7", "TRE 9")]
    assert way(first, [first, second, third]) == [("", "ONE 7"), ("ONE 7", "TWO 3"), ("ONE 7", "TRE 9")]


def test_a_coordinator_of_which_no_event_is_kept_and_a_ring_end_the_search() -> None:
    (alone,) = task_lines("TWO", [ended(3, "B1", "GONE.A1")], set())
    assert way(alone, [alone]) == [("", "TWO 3")]
    (one,) = task_lines("ONE", [ended(7, "A1", "TWO.B1")], set())
    (two,) = task_lines("TWO", [ended(3, "B1", "ONE.A1")], set())
    assert sorted(task for _caller, task in way(one, [one, two])) == ["ONE 7", "TWO 3"]


def test_a_task_without_a_unit_of_work_has_a_way_of_its_own() -> None:
    (line,) = task_lines("ONE", [{"event": "task_started", "task": 1, "transid": "POST", "time_ns": 1}], {1})
    assert (line.transid, line.ended, way(line, [line])) == ("POST", 0, [("", "ONE 1")])


def test_a_mirror_without_a_unit_of_work_and_a_routed_transaction_name_what_has_called_them() -> None:
    (first,) = task_lines("ONE", [ended(7, "A1")], set())
    command = {"event": "command", "task": 3, "condition": "NORMAL", "time_ns": 2}
    (second,) = task_lines("TWO", [command | {"requester": "ONE.A1"}, ended(3, "B1")], set())
    (third,) = task_lines("TRE", [command | {"requester": "TWO.B1"}], set())
    (routed,) = task_lines("TRE", [{**command, "event": "task_started", "task": 4, "requester": "ONE 7"}], set())
    lines = [first, second, third, routed]
    assert way(third, lines) == [("", "ONE 7"), ("ONE 7", "TWO 3"), ("TWO 3", "TRE 3")]
    assert way(routed, lines) == [("", "ONE 7"), ("ONE 7", "TRE 4")]
    assert sorted(task for _caller, task in way(first, lines)) == ["ONE 7", "TRE 3", "TRE 4", "TWO 3"]
