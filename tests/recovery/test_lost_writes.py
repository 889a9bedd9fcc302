"""A loss of power under ``durability="power"``: of what was not synced any part may be missing.

A program that uses a region is recorded, and between any two of its syncs the region is started on what the disk may
have been left with. What was committed is there, what was not begun is not, a unit of work is there whole or not at
all, and the start is warm only after a clean close, with all records then.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from tdqsim.cics import Region
from tdqsim.core.store import _store
from tdqsim.definitions import define_tdqueue
from tests.recovery.lost_writes import Gap, gaps, images, leave, record
from tests.recovery.test_power import needs_strace

QUEUES = {"LOGA": "LOGICAL", "LOGB": "LOGICAL", "PHYS": "PHYSICAL", "NONQ": "NO"}
LIVES = 3
UNITS = 5
PROGRAM = (
    """
import os, sys
from tdqsim.cics import Region
from tdqsim.definitions import define_tdqueue

def mark(text):
    os.path.exists("/mark/" + text)

kinds = QUEUES
queues = [define_tdqueue(name=name, type="INTRA", recovstatus=kind) for name, kind in kinds.items()]
done = 0
def unit(region):
    with region.task() as task:
        task.writeq_td("LOGA", b"%d" % done)
        task.writeq_td("LOGB", b"%d" % done + b"x" * 3000)
        if done % 3 == 2:
            task.readq_td("LOGA")
for life in range(LIVES):
    mark("open")
    region = Region(queues, store=sys.argv[1] + "/store", supplied_queues=False, durability="power")
    mark("opened")
    for number in range(UNITS):
        region.writeq_td("NONQ", b"%d" % done)
        mark("begin")
        unit(region)
        done += 1
        mark("done")
    mark("close")
    region.close()
    mark("closed")
""".replace("QUEUES", repr(QUEUES))
    .replace("LIVES", str(LIVES))
    .replace("UNITS", str(UNITS))
)


def expected(units: int) -> tuple[list[bytes], list[bytes]]:
    """What LOGA and the beginnings of LOGB hold after so many units of work."""
    written = [b"%d" % n for n in range(units)]
    return written[sum(n % 3 == 2 for n in range(units)) :], written


def start(place: Path) -> tuple[str, list[bytes], list[bytes], list[bytes]]:
    queues = [define_tdqueue(name=name, type="INTRA", recovstatus=kind) for name, kind in QUEUES.items()]
    with Region(queues, store=place / "store", supplied_queues=False, durability="power") as region:
        second = [record.rstrip(b"x") for record in region.peek("LOGB")]
        return region.recovery.start_type, region.peek("LOGA"), second, region.peek("NONQ")


def allowed(marks: list[str], found: tuple[str, list[bytes], list[bytes], list[bytes]]) -> bool:
    """Whether a start may find this after a run that has come so far."""
    done, begun = marks.count("done"), marks.count("begin")
    kind, first, second, volatile = found
    if (first, second) not in [expected(units) for units in range(done, begun + 1)]:
        return False
    last = next((mark for mark in reversed(marks) if mark not in ("begin", "done")), "")
    closed = marks.count("closed")
    kinds = {"opened": {"EMERGENCY"}, "closed": {"WARM"}, "close": {"WARM", "EMERGENCY"}, "": {"INITIAL"}}.get(last)
    if last == "open":
        kinds = {"WARM", "EMERGENCY"} if closed else {"INITIAL", "EMERGENCY"}
    records = [b"%d" % n for n in range(UNITS * (closed + (last == "close")))]
    return kinds is not None and kind in kinds and volatile == (records if kind == "WARM" else [])


@pytest.fixture
def another_boot(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine was started anew."""
    monkeypatch.setattr(_store, "this_boot", lambda: b"another boot 000")


def judge(gap: Gap, place: Path, rng: random.Random, drawn: int, least: int) -> tuple[int, list[str]]:
    """Start on all images of a gap, or on a few of them; how many there were, and what was wrong."""
    wrong, seen = [], set()
    found = list(images(gap, rng, drawn))
    for what, ops in found if not least else rng.sample(found, min(least, len(found))):
        value = leave(ops, place)
        if value in seen:
            continue
        seen.add(value)
        try:
            result: Any = start(place)
        except Exception as error:  # noqa: BLE001 - whatever it is, the store was not started
            wrong.append(f"{what}, after {gap.marks[-3:]}: {error!r}")
            continue
        if not allowed(gap.marks, result):
            wrong.append(f"{what}, after {gap.marks[-3:]}: {result}")
    return len(seen), wrong


@needs_strace
@pytest.mark.usefixtures("another_boot", "checked_here")
@pytest.mark.parametrize(("drawn", "least"), [(2, 1), pytest.param(200, 0, marks=pytest.mark.slow)], ids=["few", "all"])
def test_what_was_synced_survives_whatever_else_is_lost(tmp_path: Path, drawn: int, least: int) -> None:
    root = tmp_path / "disk"
    root.mkdir()
    found = list(gaps(record(PROGRAM, root), root))
    assert len(found) > 3 * LIVES * UNITS
    total, wrong = 0, []
    for number, gap in enumerate(found):
        many, bad = judge(gap, tmp_path / "image", random.Random(number), drawn, least)
        total += many
        wrong += bad
    assert not wrong, "\n".join(wrong[:20])
    print(f"{len(found)} gaps, {total} images")
    assert total >= len(found)
