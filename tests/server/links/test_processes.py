"""Two processes and a link between them that is cut, or one of which is killed, at every message: nothing is torn."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import apart

MESSAGES = 4
"""Messages of a unit of work each way, without HELLO: REQUEST, PREPARE, COMMIT and their answers; and one for no fault."""
_UNITS = 4
"""Units of work in a run: two that are interrupted, one that follows them, one undisturbed."""


class Process:
    """A node; see its module."""

    def __init__(self, authority, role: str, store: Path, port: int, fate: str = "") -> None:
        identity = authority.issue(f"{role}APPL")
        files = [str(identity.certificate), str(identity.key), str(identity.authority)]
        fates = [fate] if fate else []
        self.process = apart.Process("-m", "tests.server.links.node", role, store, port, *files, *fates, cwd=apart.ROOT)
        answer = self.answer()
        assert answer is not None
        self.port = answer["port"]

    def say(self, *words):
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(json.dumps(words) + "\n")
            self.process.stdin.flush()

    def answer(self):
        line = self.process.stdout.readline()
        return json.loads(line) if line else None

    def ask(self, *words):
        self.say(*words)
        return self.answer()

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        with contextlib.suppress(BrokenPipeError):  # what was said to it just before
            self.process.stdin.close()
        self.process.stdout.close()


class Pair:
    """NEAR dials FAR; either can be killed and started again from its store."""

    def __init__(self, authority, folder: Path, near: str = "", far: str = "") -> None:
        self.authority, self.folder = authority, folder
        self.far = Process(authority, "FAR", folder / "far", 0, far)
        self.port = self.far.port
        self.near = Process(authority, "NEAR", folder / "near", self.port, near)
        self.settled(lambda near, far: near["acquired"] and far["acquired"])

    def again(self) -> None:
        """Whoever was killed is started from its store."""
        if not self.far.alive:
            self.far.end()
            self.far = Process(self.authority, "FAR", self.folder / "far", self.port)
        if not self.near.alive:
            self.near.end()
            self.near = Process(self.authority, "NEAR", self.folder / "near", self.port)

    def settled(self, right) -> tuple[dict, dict]:
        end = time.monotonic() + 300
        while time.monotonic() < end:
            self.again()
            states = self.near.ask("look"), self.far.ask("look")
            if None not in states and right(*states):
                return states
            time.sleep(0.02)  # two other processes with real clocks
        raise AssertionError(states)

    def end(self) -> None:
        self.near.end()
        self.far.end()


@pytest.fixture
def pair(authority, tmp_path) -> Iterator:
    made = []

    def make(**fates: str) -> Pair:
        made.append(Pair(authority, tmp_path, **fates))
        return made[-1]

    yield make
    for one in made:
        one.end()


def lives_through(make, who: str, fate: str, how: str = "both") -> None:
    one = make(**{who: fate})
    outcomes = {}
    for number in range(_UNITS):
        record = f"{number}"
        outcomes[record] = one.near.ask(how, record)
        one.settled(lambda near, far: near["acquired"] and far["acquired"])

    def quiet(near, far):
        return (
            not any(state[what] for state in (near, far) for what in ("shunted", "decisions", "tasks"))
            and far["acquired"]
        )

    near, far = one.settled(quiet)
    assert near["records"] == far["records"], outcomes
    for record, outcome in outcomes.items():
        if outcome == "NORMAL":
            assert record in near["records"], outcomes
        if outcome not in (None, "NORMAL"):
            assert record not in near["records"], outcomes
    assert f"{_UNITS - 1}" in near["records"]


@pytest.mark.parametrize(
    ("who", "fate"),
    [("near", "kill:in:2"), ("near", "kill:out:3"), ("far", "kill:out:2"), ("far", "cut:in:3")],
    ids=[
        "coordinator with the vote",
        "coordinator about to decide",
        "mirror about to vote",
        "mirror with the decision",
    ],
)
@pytest.mark.parametrize("how", ["both", "linked"])
def test_at_the_messages_that_matter(pair, who, fate, how):
    lives_through(pair, who, fate, how)


@pytest.mark.slow
@pytest.mark.parametrize("act", ["kill", "cut"])
@pytest.mark.parametrize("who", ["near", "far"])
@pytest.mark.parametrize("way", ["out", "in"])
@pytest.mark.parametrize("number", range(1, 2 * MESSAGES))
@pytest.mark.parametrize("how", ["both", "linked"])
def test_at_every_message(pair, act, who, way, number, how):
    lives_through(pair, who, f"{act}:{way}:{number}", how)
