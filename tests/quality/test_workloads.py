"""Workloads against regions in this process: right regions pass whatever is cut, and planted bugs are found."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest

from tdqsim.cics import Region, Sysplex
from tdqsim.definitions import define_tdqueue
from tdqsim.errors import UsageError
from tdqsim.testing.verified import Answer
from tests.quality.workload_cases import QUEUES, WORKLOADS
from tests.quality.workload_targets import UNITS, RegionTarget
from tests.quality.workloads import (
    Workload,
    WorkloadOperation,
    WorkloadRun,
    bank,
    registers,
    run_workload,
    unique_records,
)

pytestmark = pytest.mark.house

SEEDS = range(4)


class Unsure(RegionTarget):
    """Some answers do not arrive: the request was executed, or it was not; its region fails and is restarted."""

    def __init__(self, store: Path, seed: int, losses: float = 0.1) -> None:
        self.store, self.losses, self.chance = store, losses, Random(seed)
        self.done: set[int] = set()
        super().__init__(Region(QUEUES, store=store, supplied_queues=False))

    def again(self, *, clean: bool) -> None:
        self.region.close(clean=clean)
        self.restart(Region(store=self.store, supplied_queues=False))

    def _lossy(self, call: Callable[[], Answer]) -> Answer:
        drawn = self.chance.random() / self.losses if self.losses else 1
        if drawn < 0.5:
            return Answer("UNKNOWN")
        answer = call()
        return Answer("UNKNOWN") if drawn < 1 else answer

    def writeq_td(self, queue: str, record: bytes, *, task: int = 0, length: int | None = None) -> Answer:
        if record.endswith(b"first"):
            return super().writeq_td(queue, record)
        return self._lossy(lambda: RegionTarget.writeq_td(self, queue, record, task=task, length=length))

    def readq_td(self, queue: str, *, task: int = 0, length: int | None = None, nosuspend: bool = False) -> Answer:
        return self._lossy(lambda: RegionTarget.readq_td(self, queue, task=task, length=length, nosuspend=nosuspend))

    def begin(self, task: int) -> Answer:
        self.done.discard(task)
        return super().begin(task)

    def syncpoint(self, *, task: int) -> Answer:
        def call() -> Answer:
            self.done.add(task)
            return RegionTarget.syncpoint(self, task=task)

        return self._lossy(call)

    def rollback(self, *, task: int) -> Answer:
        return Answer("ENDED") if task in self.done else super().rollback(task=task)


def run(name: str, target: Unsure, seed: int) -> WorkloadRun:
    faults = [lambda: target.again(clean=False), lambda: target.again(clean=True)]
    try:
        return run_workload(WORKLOADS[name](), target, seed=seed, faults=faults, every=40)
    finally:
        target.region.close()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", WORKLOADS)
def test_a_right_region_passes_though_answers_are_lost_and_it_fails(name: str, seed: int, tmp_path: Path) -> None:
    found = run(name, Unsure(tmp_path, seed), seed).check()
    assert found.responses["SYNCPOINT", "NORMAL"]
    assert found.responses["SYNCPOINT", "UNKNOWN"] + found.responses["WRITEQ TD", "UNKNOWN"]


@pytest.mark.slow
@pytest.mark.parametrize("losses", [0.05, 0.2, 0.5])
@pytest.mark.parametrize("name", WORKLOADS)
def test_soak_of_a_right_region(name: str, losses: float, tmp_path: Path) -> None:
    for seed in range(60):
        run(name, Unsure(tmp_path / str(seed), seed, losses), seed).check()


# -- planted bugs -----------------------------------------------------------------------------------------------------


class Forgetful(Unsure):
    """Every seventh write is answered, and not executed."""

    wrong, count = frozenset({"lost"}), 0

    def writeq_td(self, queue: str, record: bytes, *, task: int = 0, **_: object) -> Answer:
        self.count += 1
        return super().writeq_td(queue, record, task=task) if self.count % 7 else Answer("NORMAL")


class Twice(Unsure):
    """Every seventh write is executed twice."""

    wrong, count = frozenset({"duplicated", "unexpected"}), 0

    def writeq_td(self, queue: str, record: bytes, *, task: int = 0, **_: object) -> Answer:
        self.count += 1
        if self.count % 7 == 0:
            super().writeq_td(queue, record, task=task)
        return super().writeq_td(queue, record, task=task)


class Dirty(Unsure):
    """Backouts commit what was written."""

    wrong = frozenset({"phantom", "duplicated", "lost", "read-uncommitted", "unexpected"})

    def rollback(self, *, task: int) -> Answer:
        return self.syncpoint(task=task)


class Split(Unsure):
    """Each write in a unit of work is committed at once."""

    wrong = frozenset({"phantom", "duplicated", "lost", "read-uncommitted", "unexpected", "reordered"})

    def writeq_td(self, queue: str, record: bytes, *, task: int = 0, **_: object) -> Answer:
        answer = super().writeq_td(queue, record, task=task)
        if task:
            RegionTarget.syncpoint(self, task=task)
        return answer


class Lifo(Unsure):
    """A read outside a unit of work takes the second record if there is one."""

    wrong = frozenset({"reordered"})

    def readq_td(self, queue: str, *, task: int = 0, nosuspend: bool = False, **_: object) -> Answer:
        first = super().readq_td(queue, task=task, nosuspend=nosuspend)
        if task or first.resp != "NORMAL":
            return first
        second = super().readq_td(queue, nosuspend=nosuspend)
        super().writeq_td(queue, first.data)
        return second if second.resp == "NORMAL" else super().readq_td(queue, nosuspend=nosuspend)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("records", Forgetful),
        ("registers", Forgetful),
        ("bank", Forgetful),
        ("records", Twice),
        ("bank", Twice),
        ("records", Dirty),
        ("registers", Dirty),
        ("bank", Dirty),
        ("records", Split),
        ("bank", Split),
        ("records", Lifo),
    ],
)
def test_a_planted_bug_is_found(name: str, kind: type[Unsure], tmp_path: Path) -> None:
    kinds = set()
    for seed in SEEDS:
        found = run(name, kind(tmp_path / str(seed), seed, losses=0.0), seed)
        kinds |= {each.kind for each in found.verdict.anomalies}
        if kinds & kind.wrong:
            with pytest.raises(AssertionError, match="records written"):
                found.check()
            return
    raise AssertionError(f"found only {kinds}")


def test_a_bank_that_loses_money_says_the_total(tmp_path: Path) -> None:
    found = run("bank", Forgetful(tmp_path, 0, losses=0.0), 0)
    assert any("instead of 300" in each for each in found.problems)


# -- the judge --------------------------------------------------------------------------------------------------------


class Scripted:
    """A target whose answers are given."""

    def __init__(self, answers: list[Answer], final: list[bytes]) -> None:
        self.answers, self.final, self.looked = iter(answers), final, False

    def peek(self, _queue: str) -> list[bytes]:
        looked, self.looked = self.looked, True
        return self.final if looked else []

    def lost(self) -> str:
        return ""

    def inquire_tdqueue(self, _queue: str, *_options: str) -> Answer:
        return Answer("NORMAL", values={"RECOVSTATUS": "LOGICAL"})

    def _next(self, *_arguments: object, **_options: object) -> Answer:
        return next(self.answers)

    begin = end = writeq_td = readq_td = deleteq_td = syncpoint = rollback = _next


ONE, TWO = WorkloadOperation("WRITEQ TD", "Q", b"one"), WorkloadOperation("WRITEQ TD", "Q", b"two")
READ, BEGIN, SYNCPOINT = WorkloadOperation("READQ TD", "Q"), WorkloadOperation("BEGIN"), WorkloadOperation("SYNCPOINT")
OK, LOST, QZERO, ENDED = Answer("NORMAL"), Answer("UNKNOWN"), Answer("QZERO"), Answer("ENDED")


def judged(operations: list[WorkloadOperation], answers: list[Answer], final: list[bytes]) -> set[str]:
    def process() -> Iterator[WorkloadOperation]:
        for operation in operations:  # noqa: UP028  (what is sent to it is an answer)
            yield operation

    workload = Workload(("Q",), lambda _random, _problems: [process()])
    return {each.kind for each in run_workload(workload, Scripted(answers, final)).verdict.anomalies}


@pytest.mark.parametrize(
    ("operations", "answers", "final", "wrong"),
    [
        ([ONE], [LOST], [], set()),
        ([ONE], [LOST], [b"one"], set()),
        ([ONE], [LOST], [b"one", b"one"], {"unexpected"}),
        ([ONE], [OK], [], {"lost"}),
        ([ONE, TWO], [LOST, OK], [b"two", b"one"], set()),  # it was executed later
        ([ONE, TWO], [OK, OK], [b"two", b"one"], {"reordered"}),
        ([ONE, READ], [OK, LOST], [], set()),
        ([ONE, READ], [OK, LOST], [b"one"], set()),
        ([ONE, TWO, READ], [OK, OK, LOST], [], {"lost"}),  # one read removes one record
        ([ONE, TWO, READ], [OK, OK, LOST], [b"one"], {"reordered"}),
        ([ONE, READ, READ], [LOST, QZERO, Answer("NORMAL", data=b"one")], [], set()),
        ([BEGIN, ONE, TWO, SYNCPOINT], [OK, OK, OK, LOST, ENDED, OK], [], set()),
        ([BEGIN, ONE, TWO, SYNCPOINT], [OK, OK, OK, LOST, ENDED, OK], [b"one", b"two"], set()),
        ([BEGIN, ONE, TWO, SYNCPOINT], [OK, OK, OK, LOST, ENDED, OK], [b"one"], {"lost"}),
        ([BEGIN, ONE, SYNCPOINT], [OK, OK, LOST, OK, OK], [b"one"], {"phantom"}),  # the backout said that it was open
        ([ONE, BEGIN, READ, SYNCPOINT], [OK, OK, Answer("NORMAL", data=b"one"), LOST, ENDED, OK], [], set()),
        ([ONE, BEGIN, READ, SYNCPOINT], [OK, OK, Answer("NORMAL", data=b"one"), LOST, ENDED, OK], [b"one"], set()),
    ],
)
def test_an_unknown_request_explains_either_outcome_and_no_more(
    operations: list[WorkloadOperation], answers: list[Answer], final: list[bytes], wrong: set[str]
) -> None:
    assert judged(operations, answers, final) == wrong


def test_queues_must_be_empty_before() -> None:
    target = Scripted([], [b"left"])
    target.looked = True
    with pytest.raises(UsageError, match="queue Q is not empty"):
        run_workload(unique_records(["Q"]), target)


def test_a_first_record_that_cannot_be_written_ends_a_workload() -> None:
    with pytest.raises(UsageError, match="the first record of queue ONE cannot be written: DISABLED"):
        run_workload(bank(["ONE", "TWO"]), Scripted([Answer("DISABLED")], []))


# -- two linked regions -----------------------------------------------------------------------------------------------

NEAR = [
    define_tdqueue(name="OWNA", type="INTRA", recovstatus="LOGICAL"),
    define_tdqueue(name="FARA", remotesystem="FAR", remotename="FARA"),
    define_tdqueue(name="FARB", remotesystem="FAR", remotename="FARB"),
]
FAR = [define_tdqueue(name=name, type="INTRA", recovstatus="LOGICAL") for name in ("FARA", "FARB")]
LINKED = ["OWNA", "FARA", "FARB"]


class Linked(RegionTarget):
    """A region with a link to another one that has two of the three queues; each can fail and is restarted."""

    def __init__(self, folder: Path, *, at_once: bool) -> None:
        folder.mkdir(exist_ok=True)
        self.folder, self.plex = folder, Sysplex(at_once=at_once)
        self.chance, self.is_cut = Random(0), False
        self.far = self.plex.region(FAR, applid="FARAPPL", sysid="FAR", supplied_queues=False, store=folder / "far")
        near = self.plex.region(NEAR, applid="NEARAPPL", sysid="NEAR", supplied_queues=False, store=folder / "near")
        self.plex.connect(near, self.far)
        super().__init__(near, {"FARA": self.far, "FARB": self.far})

    def cut(self) -> None:
        """Let the link be cut before one of the next messages; it comes back after the request."""
        link, left = self.plex.link("NEARAPPL", "FARAPPL"), self.chance.randrange(6)

        def fault(_step: str) -> None:
            nonlocal left
            left -= 1
            if left < 0:
                link.fault, self.is_cut = None, True
                link.cut()

        link.fault = fault

    def lost(self) -> str:
        if self.is_cut:
            self.is_cut = False
            self.plex.link("NEARAPPL", "FARAPPL").restore()
            return super().lost() or UNITS
        return super().lost()

    def again(self) -> None:
        """The near region fails and is restarted."""
        self.region.close(clean=False)
        region = Region(applid="NEARAPPL", sysid="NEAR", supplied_queues=False, store=self.folder / "near",
                        dispatcher=self.plex.dispatcher)  # fmt: skip
        self.plex.add(region)
        self.restart(region)

    def close(self) -> None:
        self.region.close()
        self.far.close()


LINKED_WORKLOADS: dict[str, Callable[[], Workload]] = {
    "records": lambda: unique_records(LINKED),
    "registers": lambda: registers(LINKED),
    "bank": lambda: bank(LINKED),
}


def run_linked(name: str, target: Linked, seed: int) -> WorkloadRun:
    try:
        return run_workload(LINKED_WORKLOADS[name](), target, seed=seed, faults=[target.cut, target.again], every=12)
    finally:
        target.close()


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize("name", LINKED_WORKLOADS)
def test_two_linked_regions_commit_both_or_none(name: str, at_once: bool, tmp_path: Path) -> None:
    found = run_linked(name, Linked(tmp_path, at_once=at_once), seed=1).check()
    assert found.responses["SYNCPOINT", "NORMAL"]


class SplitLinked(Linked):
    """What a unit of work writes in the other region is committed there at once."""

    def writeq_td(self, queue: str, record: bytes, *, task: int = 0, length: int | None = None) -> Answer:
        return super().writeq_td(queue, record, task=0 if queue in self.homes else task, length=length)


def test_a_unit_of_work_that_is_split_over_two_regions_is_found(tmp_path: Path) -> None:
    found = run_linked("bank", SplitLinked(tmp_path, at_once=True), seed=1)
    assert {each.queue for each in found.verdict.anomalies} & {"FARA", "FARB"}
    assert found.problems


@pytest.mark.slow
@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize("name", LINKED_WORKLOADS)
def test_soak_of_two_linked_regions(name: str, at_once: bool, tmp_path: Path) -> None:
    for seed in range(60):
        run_linked(name, Linked(tmp_path / str(seed), at_once=at_once), seed).check()
