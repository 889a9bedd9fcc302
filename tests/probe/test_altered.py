"""The COBOL probe runs in regions whose behaviour is altered; the comparison names what was altered, and nothing else."""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path

import pytest

from tdqsim.cobol import CobolPrograms
from tdqsim.definitions.machine import Machine
from tdqsim.probe import Answers, compare, read_answers
from tdqsim.probe.cases import RESET, cics_cases
from tdqsim.probe.cics_cobol import cobol_sources
from tdqsim.probe.cics_run import make_probe_region, observe_cics
from tests.probe.cics_alterations import ALTERATIONS, Alteration

pytestmark = pytest.mark.cobc

SAMPLE = (
    "TASK-ASSIGN-QNAME",
    "TD-DISABLED",
    "ATI-DISABLED-QUEUE",
    "EIB-TD",
    "ENQ-LENGERR",
    "TS-LENGERR-WRITE",
    "ATI-QD",
    "LOCK-QBUSY-DEFAULT",
    "BROWSE-TASK-END",
    "TASK-ASSIGN-INVOKINGPROG",
    "UOW-NOT-FOUND",
)
"""The rules of the short run: conditions, the EIB, abend codes, a trigger, two other tasks, a lower level, bytes."""
PAIRS = 50
SEED = 38


class Machinery:
    """The compiled probe, and what the unaltered simulator observes."""

    def __init__(self, folder: Path, wanted: Iterable[str]) -> None:
        self.folder, self.wanted = folder, list(wanted)
        for source in cobol_sources("ZP", "5.6", wanted=self.wanted):
            (folder / f"{source.name}.cbl").write_text(source.text, "utf-8")
        self.own = observe_cics(wanted=self.wanted)
        self.runs = 0

    def answers(self, machine: Machine | None = None) -> Answers:
        """Run the compiled probe in a new region, and read the answers file that it writes."""
        self.runs += 1
        data = self.folder / f"run{self.runs}"
        data.mkdir()
        with make_probe_region(data, machine, code_page="819") as region:
            CobolPrograms(region, sources=[self.folder], cache=self.folder / "compiled")
            handle = region.start("ZPRB")
            region.run()
            handle.result()
        return read_answers(data / "ZPOUT")

    def differing(self, alterations: Iterable[Alteration]) -> set[str]:
        """The rules that the comparison names when a region is altered."""
        answers = dict(answer for each in alterations for answer in each.answers)
        with pytest.MonkeyPatch.context() as patch:
            for each in alterations:
                each.plant(patch)
            found = self.answers(Machine("machine.yaml", "CICS", "", answers) if answers else None)
        assert found.complete
        return set(compare(found, self.own).rules)


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> Machinery:
    return Machinery(tmp_path_factory.mktemp("short"), SAMPLE)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Machinery:
    return Machinery(tmp_path_factory.mktemp("whole"), cics_cases().keys() - {RESET})


def of_sample(alteration: Alteration) -> bool:
    return alteration.expected <= set(SAMPLE)


def test_there_are_more_than_fifty_alterations() -> None:
    assert len(ALTERATIONS) > PAIRS
    assert sum(1 for each in ALTERATIONS if each.answers) >= 25
    assert sum(1 for each in ALTERATIONS if not each.answers) >= 25


def test_the_program_observes_what_the_simulator_observes(short: Machinery) -> None:
    assert compare(short.answers(), short.own).differences == ()


@pytest.mark.parametrize("alteration", [each for each in ALTERATIONS if of_sample(each)], ids=lambda each: each.name)
def test_an_alteration_is_named(short: Machinery, alteration: Alteration) -> None:
    assert short.differing([alteration]) == alteration.expected


@pytest.mark.slow
def test_the_whole_program_observes_what_the_simulator_observes(whole: Machinery) -> None:
    assert compare(whole.answers(), whole.own).differences == ()


@pytest.mark.slow
@pytest.mark.parametrize("alteration", ALTERATIONS, ids=lambda each: each.name)
def test_each_alteration_is_named_and_nothing_else(whole: Machinery, alteration: Alteration) -> None:
    assert whole.differing([alteration]) == alteration.expected


def drawn_pairs() -> list[tuple[Alteration, Alteration]]:
    """Pairs of alterations of different rules, none of which hides the other."""
    drawing = random.Random(SEED)
    pairs: list[tuple[Alteration, Alteration]] = []
    while len(pairs) < PAIRS:
        first, second = drawing.sample(ALTERATIONS, 2)
        if not first.expected & second.expected:
            pairs.append((first, second))
    return pairs


@pytest.mark.slow
@pytest.mark.parametrize("pair", drawn_pairs(), ids=lambda pair: " + ".join(each.name for each in pair))
def test_both_alterations_of_a_pair_are_named(whole: Machinery, pair: tuple[Alteration, Alteration]) -> None:
    assert whole.differing(pair) == pair[0].expected | pair[1].expected
