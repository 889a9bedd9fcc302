"""Regions killed with SIGKILL: between commands, inside commits, growth and starts; then started again and compared."""

from __future__ import annotations

import pytest

from tests.recovery import victim
from tests.recovery.harness import Harness
from tests.recovery.model import Impossible, Ledger

DEADLY = 400
"""Kills within which a planted bug has to show."""


def kill_many(directory, kills, first_seed):
    with Harness(directory) as harness:
        for seed in range(first_seed, first_seed + kills):
            harness.kill(seed)
        return harness


def test_what_is_committed_survives_kills_and_nothing_else(tmp_path):
    harness = kill_many(tmp_path, 25, 1)
    assert set(harness.ways) >= {"outside", "before_commit", "after_commit"}
    assert harness.serial > 300


@pytest.mark.slow
@pytest.mark.parametrize("first_seed", range(10_000, 40_000, 1000))
def test_thousands_of_kills(tmp_path, first_seed):
    kill_many(tmp_path, 100, first_seed)


@pytest.mark.parametrize("plant", [name for name in victim.PLANTS if name])
def test_the_harness_finds_a_bug_planted_for_it(tmp_path, plant):
    with Harness(tmp_path, plant) as harness:
        with pytest.raises(AssertionError, match="seed"):  # noqa: PT012  (one of many kills must find it)
            for seed in range(501, 501 + DEADLY):
                harness.kill(seed)
        assert harness.kills < DEADLY


@pytest.mark.parametrize("half", ["durable", "volatile"])
def test_a_first_start_that_is_killed_is_done_again(tmp_path, half):
    """The very first start installs everything or nothing; a store without its definitions would be no region."""
    with Harness(tmp_path) as harness:
        for point in ("before_commit", "after_commit", "grow"):
            for nth in range(1, 5):
                harness.path = tmp_path / f"{point}{nth}"
                lines = harness.live(1, [half, point, nth], 3)
                with victim.region_at(str(harness.path)) as region:
                    installed = {
                        queue.name: queue.recovstatus for queue in region.tdqueues.values() if queue.type == "INTRA"
                    }
                    assert victim.QUEUES.items() <= installed.items()
                    if len(lines) == 1:  # it never said that it was ready
                        assert installed == victim.QUEUES
                    assert region.inquire_transaction("WORK").dtimeout == 10


# -- the ledger itself ------------------------------------------------------------------------------------------------

LINES = {
    "a commit": [["op", 1, "write", "LOG1", "1:12"], ["done", 1, "ok"], ["op", 1, "sync"], ["done", 1, "ok"]],
    "a commit without an answer": [["op", 1, "write", "LOG1", "1:12"], ["done", 1, "ok"], ["op", 1, "sync"]],
    "no commit": [["op", 1, "write", "LOG1", "1:12"], ["done", 1, "ok"]],
    "a backout": [["op", 1, "write", "LOG1", "1:12"], ["done", 1, "ok"], ["op", 1, "rollback"], ["done", 1, "ok"]],
}
STATES = {"a commit": [["1:12"]], "a commit without an answer": [["1:12"], []], "no commit": [[]], "a backout": [[]]}


def ledger() -> Ledger:
    made = Ledger()
    for state in (made.base, made.live):
        state.do(("create", "LOG1", "LOGICAL"))
        state.do(("create", "PHY1", "PHYSICAL"))
        state.running = True
    return made


@pytest.mark.parametrize("what", LINES)
@pytest.mark.parametrize("records", [["1:12"], [], ["1:12", "1:12"]], ids=str)
def test_the_ledger_knows_what_may_be(what, records):
    made = ledger()
    for line in LINES[what]:
        made.read(line)
    seen = {"LOG1": ("LOGICAL", records), "PHY1": ("PHYSICAL", [])}
    if records in STATES[what]:
        made.settle(seen, set())
    else:
        with pytest.raises(Impossible):
            made.settle(seen, set())


def test_the_ledger_gives_back_one_read():
    made = ledger()
    for serial in (1, 2):
        made.read(["op", 1, "write", "PHY1", f"{serial}:12"])
        made.read(["done", 1, "ok"])
    for serial in (1, 2):
        made.read(["op", 2, "read", "PHY1"])
        made.read(["done", 2, "ok", f"{serial}:12"])
    made.settle({"LOG1": ("LOGICAL", []), "PHY1": ("PHYSICAL", ["2:12"])}, set())


@pytest.mark.parametrize("value", ["2:12", "1:13"])
def test_the_ledger_notices_a_wrong_record(value):
    made = ledger()
    for line in (["op", 1, "write", "PHY1", "1:12"], ["done", 1, "ok"], ["op", 2, "read", "PHY1"]):
        made.read(line)
    with pytest.raises(Impossible):
        made.read(["done", 2, "ok", value])
