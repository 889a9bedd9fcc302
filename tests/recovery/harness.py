"""Kills the victim again and again, and compares what a restart finds with what it said."""

from __future__ import annotations

import json
import os
import random
import signal
import traceback
from pathlib import Path
from time import sleep
from typing import Any, Self

from tests import apart
from tests.recovery import victim
from tests.recovery.model import Ledger

POINTS = [("durable", point) for point in ("before_commit", "after_commit", "grow")]


class Harness:
    """A victim, and the ledger of its lives.

    Args:
        directory: where its store is.
        plant: the bug that the victim has; see ``victim.PLANTS``.
    """

    def __init__(self, directory: Path, plant: str = "") -> None:
        self.path = directory / "store"
        self.plant = plant
        self.ledger = Ledger()
        for queue, kind in victim.QUEUES.items():
            for state in (self.ledger.base, self.ledger.live):
                state.do(("create", queue, kind))
        self.ledger.base.clean = self.ledger.live.clean = True
        self.serial = 0
        self.kills = 0
        self.ways: dict[str, int] = {}
        self.process = apart.Process(victim.__file__, cwd=apart.ROOT)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.process.end()

    def kill(self, seed: int) -> None:
        """One life, its end, and the restart after it.

        Raises:
            AssertionError: what the restart found cannot be; the message has the seed and the last lines.
            RuntimeError: the victim was not killed, but ended by itself.
        """
        pick = random.Random(seed)
        point = pick.choice(POINTS) if pick.random() < 0.6 else None
        nth = pick.randrange(1, 8) if pick.random() < 0.3 else int(pick.expovariate(0.04)) + 1
        kill = [*point, nth] if point else None
        durability = pick.choice(["process", "power"])
        most = 1500 if kill else int(pick.expovariate(0.012)) + 1
        lines = self.live(seed, kill, most, pick.random() * 0.002, durability)
        try:
            for line in lines:
                self.ledger.read(line)
            self._restart(pick)
        except Exception as error:
            tail = "\n".join(json.dumps(line) for line in lines[-40:])
            where = "".join(traceback.format_exception(error)[-3:])
            raise AssertionError(
                f"seed {seed}, {durability}, killed at {kill}: {error}\n{where}\nlast lines:\n{tail}"
            ) from error
        self.kills += 1
        way = point[1] if point else "outside"
        self.ways[way] = self.ways.get(way, 0) + 1

    def live(
        self, seed: int, kill: list[Any] | None, most: int, delay: float = 0, durability: str = "process"
    ) -> list[list[Any]]:
        """One life, to its violent end after ``most`` lines or at the point ``kill``; the lines."""
        order = {
            "path": str(self.path), "seed": seed, "serial": self.serial, "kill": kill, "plant": self.plant,
            "durability": durability,
        }  # fmt: skip
        self.process.stdin.write(json.dumps(order) + "\n")
        lines: list[list[Any]] = []
        while True:
            line = json.loads(self.process.stdout.readline())
            if line[0] == "end":
                if line[1] != -signal.SIGKILL:  # a fault of the victim's is no finding
                    raise RuntimeError(f"seed {seed}: the victim ended by itself with {line[1]}")
                return lines
            lines.append(line)
            if line[0] == "op" and line[2] == "write":
                self.serial = max(self.serial, int(line[4].partition(":")[0]))
            if len(lines) == most:
                sleep(delay)  # so that the end comes in the middle of something
                for child in self._children():  # none when it has just been killed at its point
                    os.kill(child, signal.SIGKILL)

    def _children(self) -> list[int]:
        text = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return [int(child) for child in text.split()]

    def _restart(self, pick: random.Random) -> None:
        with_region = victim.region_at(str(self.path))
        try:
            seen = self._look(with_region)
            state = self.ledger.settle(seen, {uow.coordinator for uow in with_region.recovery.shunted.values()})
            for name in sorted(state.prepared):
                if pick.random() < 0.5:
                    self._decide(with_region, name, commit=pick.random() < 0.5)
        except BaseException:
            with_region.close(clean=False)
            raise
        clean = pick.random() < 0.3
        with_region.close(clean=clean)
        state = self.ledger.base
        if not clean:
            state.fail()
        state.running, state.clean = False, clean
        self.ledger.go_on_from(state)

    def _look(self, region: Any) -> dict[str, tuple[str, list[str]]]:
        seen = {}
        for queue in [each for each in region.tdqueues.values() if each.type == "INTRA"]:
            records = [victim.title_of(record) for record in region.peek(queue.name)]
            assert region.inquire_tdqueue(queue.name, "NUMITEMS").numitems == len(records), queue.name
            assert len(queue.stored.name) == len(queue.name)
            seen[queue.name] = (queue.recovstatus, records)
        stored = {
            each.name.decode() for half in (region.store.durable, region.store.volatile) for each in half.queues()
        }
        assert stored == set(seen), f"stored are {stored}, installed {set(seen)}"
        cis = sum(queue.cis for queue in region.tdqueues.values() if queue.type == "INTRA")
        assert region._core.intra.count() >= cis, (region._core.intra.count(), cis)
        return seen

    def _decide(self, region: Any, name: str, *, commit: bool) -> None:
        branch = region.recovery.branch(name)
        (branch.commit if commit else branch.back_out)()
        state = self.ledger.base
        state.do(("decide", name, commit))
        self.ledger.go_on_from(state)
        shown = self._look(region)
        assert shown == state.shown(), f"{name} was decided: {shown} should be {state.shown()}"
