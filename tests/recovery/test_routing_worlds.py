"""Random histories of three regions with routed transactions, shipped STARTs, DPL and triggers at remote terminals."""

from __future__ import annotations

import itertools
import shutil
from pathlib import Path

import pytest

from tests.recovery.routing_worlds import NAMES, PAIRS, World

SOAK = range(1000, 3000)
RULES = ("ROUTE-ATI-ONCE", "ROUTE-SESSION-FAILED", "DPL-UNIT-OF-WORK", "IC-START-PROTECT", "REC-TWO-PHASE")


def lives_through(seed: int, directory: Path, *, well: bool = False) -> None:
    world = World(seed, directory, well=well)
    try:
        world.run()
        world.check()
    except BaseException as error:
        error.add_note(f"seed {seed}: {'; '.join(world.told)}")
        raise
    finally:
        world.complex.sysplex.close()


@pytest.mark.rule(*RULES)
@pytest.mark.parametrize("seed", [3, 10])
def test_each_token_is_everywhere_or_nowhere(tmp_path: Path, seed: int) -> None:
    lives_through(seed, tmp_path)


@pytest.mark.slow
@pytest.mark.rule(*RULES)
@pytest.mark.parametrize("well", [True, False], ids=["nothing fails", "failures"])
def test_each_token_is_everywhere_or_nowhere_in_many_histories(tmp_path: Path, *, well: bool) -> None:
    for seed in SOAK[:200] if well else SOAK:
        directory = tmp_path / str(seed)
        lives_through(seed, directory, well=well)
        shutil.rmtree(directory)


def fails_at(directory: Path, pair: tuple[str, str], number: int, end: str, *, at_once: bool) -> bool:
    """One PAYM; at the given message of a link the link is cut, or a region fails. False if there are fewer messages."""
    world = World(15 if at_once else 12, directory, well=True, level=1)
    left = number

    def fault(step: str) -> None:
        nonlocal left
        left -= not world.quiet
        if left == 0 and not world.quiet:
            world.told.append(f"{end} at {step} of {pair}")
            if end == "cut":
                world.link(pair).cut()
            else:
                world.end(end, clean=False)

    try:
        world.link(pair).fault = fault
        world.enter("T001")
        world.scripts["00000"] = "commits"
        world.complex.run()
        world.well = False
        world.settle()
        world.check()
    except BaseException as error:
        error.add_note("; ".join(world.told))
        raise
    finally:
        world.complex.sysplex.close()
    return left <= 0


@pytest.mark.slow
@pytest.mark.rule(*RULES)
@pytest.mark.parametrize("at_once", [True, False], ids=["at once", "network"])
@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("end", ["cut", *NAMES])
def test_a_cut_and_a_failure_at_every_message(
    tmp_path: Path, pair: tuple[str, str], end: str, *, at_once: bool
) -> None:
    """Of a routed transaction with a shipped request, a DPL and a START at a terminal of the first region."""
    for number in itertools.count(1):
        directory = tmp_path / str(number)
        if not fails_at(directory, pair, number, end, at_once=at_once):
            break
        shutil.rmtree(directory)
    assert number > 6


@pytest.mark.slow
def test_the_histories_notice_requests_that_are_not_sent_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bug planted for them: requests for tasks at terminals stay where they are when the link is back."""
    from tdqsim.cics.terminal.routing import Routing

    monkeypatch.setattr(Routing, "link_acquired", lambda _self, _system: None)
    noticed = 0
    for seed in range(30):
        try:
            lives_through(seed, tmp_path / str(seed))
        except AssertionError:
            noticed += 1
    assert noticed
