"""A process that is killed at any moment: what it said was committed is there, and nothing is there by halves.

The child commits units of work on two queues, of which one is the other's ledger, and says after each commit how far it
is; it is killed at a random moment, also inside LMDB's commit and while its file grows. A bug planted on purpose, a unit
of work in two commits, must be found by the same harness: else it could not find others.
"""

from __future__ import annotations

import random
import signal
from pathlib import Path

import pytest

from tdqsim.core.store import Order, SearchOrder, Store
from tests.core import _child

VICTIM = """
    import random
    path, seed, planted, durability = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "planted", sys.argv[4]
    rng = random.Random(seed)
    store = Store(path, durability=durability, memory_bytes=20000)
    durable = store.durable
    def queue(name, order=Order.FIFO, length=0):
        return durable.queue(name) or durable.create_queue(name, order, length)
    data, ledger, stack, keyed = queue(b"DATA"), queue(b"LEDGER"), queue(b"STACK", Order.LIFO), queue(b"KEYED", Order.KEYED, 8)
    spill = store.volatile.queue(b"SPILL") or store.volatile.create_queue(b"SPILL")
    number = int(durable.get_meta(b"number") or b"0")
    if planted:
        fault = lambda step: None
    while True:
        number += 1
        works = [each.work() for each in (data, ledger, stack, keyed)]
        size = rng.choice([20, 300, 2500])
        name = b"%08d" % number
        works[0].put(name.ljust(size, b"."))
        works[1].put(name)
        works[2].put(name.ljust(size, b"."))
        works[3].put_entry(Entry(name.ljust(size, b"."), name, b"S" * 36, number))
        if number % 3 == 0 or data.count > 400:
            for _ in range(rng.choice([1, 5, 40])):
                works[0].take(), works[1].take(), works[2].take(), works[3].take_entry()
        if number % 997 == 0:
            for work in works:
                work.clear()
        if planted:
            durable.commit(works[:1])
            durable.commit(works[1:], {b"number": name})
        else:
            durable.commit(works, {b"number": name})
        for _ in range(3):
            spill.put(name.ljust(size))
        if number % 7 == 0:
            for _ in range(21):
                spill.take()
        sys.stdout.write(f"{number}\\n")
        sys.stdout.flush()
"""


def kill(path: Path, seed: int, planted: str, durability: str) -> int:
    """Start the victim, kill it at a moment that the seed says, and give the last number it told."""
    rng = random.Random(seed)
    child = _child.forked(VICTIM, path, seed, planted, durability)
    told = 0
    for _ in range(rng.choice([1, 3, 30, 120])):
        told = int(child.stdout.readline() or told)
    signal.sigtimedwait([signal.SIGUSR2], rng.random() * 0.003)
    child.kill()
    rest = child.stdout.read().rpartition("\n")[0].splitlines()  # the last line may be cut off
    assert child.end() == -signal.SIGKILL
    return max([told, *map(int, rest)])


def problem(path: Path, told: int) -> str:
    """What is not as it must be in the store of a victim; empty when nothing is."""
    with Store(path) as store:
        number = int(store.durable.get_meta(b"number") or b"0")
        found = {queue.name: [entry.data[:8] for entry in queue.entries()] for queue in store.durable.queues()}
        if store.closed_clean:
            return "a victim does not close its store"
        if number not in (told, told + 1):
            return f"it told of {told}, and {number} is there"
        data, ledger = found.get(b"DATA", []), found.get(b"LEDGER", [])
        if data != ledger:
            return f"the queue and its ledger differ: {len(data)} and {len(ledger)}"
        if data and int(data[-1]) != number:
            return f"the last record is {data[-1]!r}, {number} was committed"
        keyed = store.durable.queue(b"KEYED")
        if keyed is not None and [entry.data[:8] for entry in keyed.search(SearchOrder.GE, bytes(8))] != [
            entry.key for entry in keyed.entries()
        ]:
            return "the keyed queue has an entry under another key"
        stack = found.get(b"STACK", [])
        if stack != sorted(stack, reverse=True):
            return "the stack is not in order"
        assert all(queue.order in Order for queue in store.durable.queues())
        spill = store.volatile.queue(b"SPILL")
        spilled = [entry.data[:8] for entry in spill.entries()] if spill is not None else []
        if spilled != sorted(spilled):
            return "what had overflowed is not in order"
        store.discard_volatile()
    return ""


@pytest.mark.parametrize(
    ("rounds", "durability"),
    [(12, "process"), (4, "power"), pytest.param(1500, "process", marks=pytest.mark.slow),
     pytest.param(500, "power", marks=pytest.mark.slow)],
)  # fmt: skip
def test_killed_at_any_moment(tmp_path: Path, rounds: int, durability: str) -> None:
    place = tmp_path / "store"
    for seed in range(rounds):
        told = kill(place, seed, "sound", durability)
        assert problem(place, told) == "", f"round {seed}"


def test_the_harness_finds_a_planted_bug(tmp_path: Path) -> None:
    place = tmp_path / "store"
    for seed in range(400):
        told = kill(place, seed, "planted", "process")
        if problem(place, told):
            return
    pytest.fail("a unit of work in two commits was never seen by halves")
