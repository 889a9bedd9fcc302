"""Every public method of Region, Task, System and Job from elsewhere is WrongThread and changes nothing.

The objects' own public attributes are found by looking; arguments are made up. A method that refuses another thread does
so before it looks at its arguments, so that none fit is no excuse.
"""

from __future__ import annotations

import inspect
import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from tdqsim.cics import Region
from tdqsim.definitions import define_tdqueue
from tdqsim.errors import WrongThread
from tdqsim.ibmi import System
from tests.core.test_threads import elsewhere

FOR_ALL_THREADS = {
    "encode": "asks the code page, which never changes",
    "text": "asks the code page, which never changes",
    "transaction": "gives a decorator; what that calls, register, refuses",
    "handles_condition": "looks a name up in a value that is replaced as a whole, never changed",
    "let_others_run": "does nothing where nothing is ready; what it calls otherwise, run_ready, refuses",
    "give_up": "frees by assignments alone, as the end of a fiber needs it wherever that happens",
    "to_abend": "makes a value of a value",
}
"""Methods that look at nothing that another thread may be changing, each with why."""


def methods(thing: object) -> list[str]:
    """The public methods of an object, static and class methods (factories) not counted."""
    found = []
    for name in dir(type(thing)):
        static = inspect.getattr_static(type(thing), name)
        if name.startswith("_") or isinstance(static, staticmethod | classmethod | property):
            continue
        if callable(getattr(thing, name, None)):
            found.append(name)
    return found


def some_arguments(method: Any) -> tuple[list[Any], dict[str, Any]]:
    """As many arguments as it needs, and those that it needs by name."""
    try:
        parameters = inspect.signature(method).parameters.values()
    except (TypeError, ValueError):
        return [], {}
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    needed = [each for each in parameters if each.default is each.empty]
    by_name = {each.name: "PAYQ" for each in needed if each.kind is inspect.Parameter.KEYWORD_ONLY}
    return ["PAYQ" for each in needed if each.kind in positional], by_name


def accepted(thing: object) -> dict[str, str]:
    """The methods that a forked child may call, and what comes of it; a child, since it may end in a crash."""
    left = [name for name in methods(thing) if name not in FOR_ALL_THREADS]
    found = {}
    while left:
        answers = in_a_child([getattr(thing, name) for name in left])
        if len(answers) < len(left):
            answers.append("crashed")  # the next child goes on after it
        found |= {name: answer for name, answer in zip(left, answers, strict=False) if answer != "WrongThread"}
        del left[: len(answers)]
    return found


def in_a_child(calls: list[Any]) -> list[str]:
    """What comes of each call in one forked child, until one ends it. What is refused changes nothing for the next."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            for call in calls:
                signal.alarm(5)
                os.write(writing, f"{answered(call)}\n".encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        answers = pipe.read().decode().splitlines()
    os.waitpid(child, 0)
    return answers


def answered(method: Any) -> str:
    try:
        positional, by_name = some_arguments(method)
        answer = method(*positional, **by_name)
        if isinstance(answer, Iterator):  # it does its work when it is asked for the first thing
            next(answer, None)
    except WrongThread:
        return "WrongThread"
    except BaseException as error:  # noqa: BLE001
        return f"raised {type(error).__name__}"
    return "did it"


def test_a_child_goes_on_after_what_ends_it():
    assert in_a_child([lambda: 1, lambda: os._exit(1), lambda: 2]) == ["did it"]


@pytest.fixture
def region():
    with Region([define_tdqueue(name="PAYQ", type="INTRA", recovstatus="LOGICAL")], supplied_queues=False) as made:
        yield made


@pytest.fixture
def system():
    with System() as made:
        yield made


def test_of_a_region(region):
    assert accepted(region) == {}


def test_of_a_task(region):
    with region.task() as task:
        assert accepted(task) == {}


def test_of_a_system(system):
    assert accepted(system) == {}


def test_of_a_job(system):
    assert accepted(system.job("TESTJOB")) == {}


def test_what_is_called_in_another_thread(region):
    """The same by threads, for the calls by which a second thread did harm: no effect at all."""
    for call in (
        lambda: region.start(lambda task: task.writeq_td("PAYQ", b"x")),
        lambda: region.writeq_td("PAYQ", b"x"),
        region.run,
        lambda: region.clock.advance(5),
    ):
        assert isinstance(elsewhere(call), WrongThread)
    assert region.peek("PAYQ") == []
    assert not region.tasks
    region.writeq_td("PAYQ", b"mine")
    assert region.peek("PAYQ") == [b"mine"]
