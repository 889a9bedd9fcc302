"""What users hold is small, and what the room works with has types."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import tdqsim.ibmi
from tdqsim.ibmi import ParameterError, System

ROOM = Path(tdqsim.ibmi.__file__).parent
TYPED = {"job", "jobs", "core", "system", "queue", "dispatcher", "locks", "waiter", "handle"}
"""Parameters and attributes of these names have a type of their own, never Any."""


def names(thing: object) -> list[str]:
    return [name for name in dir(thing) if not name.startswith("_")]


def test_a_job_and_a_system_show_commands_and_few_parts(system, job):
    assert len(names(job)) <= 65
    assert len(names(system)) <= 45


def test_no_tower_of_base_classes(system, job):
    assert len(type(job).__mro__) <= 4
    assert len(type(system).__mro__) <= 4


def test_a_job_a_system_and_a_queue_have_types():
    loose = []
    for path in ROOM.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            annotated = [(node.arg, node.annotation)] if isinstance(node, ast.arg) else []
            if isinstance(node, ast.AnnAssign):
                annotated.append((getattr(node.target, "attr", getattr(node.target, "id", "")), node.annotation))
            for name, annotation in annotated:
                if name in TYPED and annotation is not None and "Any" in ast.unparse(annotation):
                    loose.append(f"{path.name}: {name}: {ast.unparse(annotation)}")
    assert loose == []


def test_a_trace_has_one_form_however_an_entry_is_sent_and_received(system, job):
    """Plain, journaled, forced and awaited sends are recorded alike, but for the moment."""
    events = []

    class Recorder:
        trace = events.append

    queues = {"PLAIN": {}, "FORCED": {"force": "*YES"}, "JOURNALED": {}, "SHRINKING": {"autorcl": "*YES"}}
    job.crtjrn("APPLIB/J")
    for name, keywords in queues.items():
        job.crtdtaq(f"APPLIB/{name}", maxlen=10, **keywords)
    job.strjrnobj("APPLIB/JOURNALED", "APPLIB/J")
    system.recorder = Recorder()
    for name in queues:
        for _ in range(2):  # the first one finds the queue, the second one remembers it
            job.qsnddtaq(name, "APPLIB", b"x")
            job.qrcvdtaq(name, "APPLIB")
    forms = {tuple(type(value) for value in event) for event in events if event[0] == "QSNDDTAQ"}
    assert len(forms) == 1
    shown = [(event[0], event[3], *event[5:]) for event in events]
    assert shown == shown[:2] * (2 * len(queues))


@pytest.mark.parametrize("name", ["", "paysys", "TOOLONGNAME", "1SYS", "A B", "SYS1\n", 5])
def test_a_system_is_named_as_in_system_yaml(name: str) -> None:
    with pytest.raises(ParameterError, match=r"^name .*1 to 8 characters"):
        System(name)
