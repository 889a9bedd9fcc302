"""Compare costs within one run: what is compared is interleaved, and the median of the ratios is reported.

A time alone says little on a shared machine, where the same work may take twice as long a minute later. So a
benchmark times small slices of each contender in turn, divides each slice by the slice of the reference taken beside
it, and takes the median of those quotients. The reference is a call of an empty Python function unless another is
named.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from time import perf_counter_ns, process_time_ns

from tdqsim.core.collection import nothing_collected

Batch = Callable[[int], object]
"""Does its work ``n`` times: the loop is inside, so that no call of ours is timed with each turn."""


def _nothing() -> None:
    """The empty Python function everything is compared with."""


def empty_call(n: int) -> None:
    """Call an empty Python function ``n`` times: the reference of all ratios."""
    call = _nothing
    for _ in range(n):
        call()


@dataclass(frozen=True, slots=True)
class Cost:
    """What one contender costs.

    Attributes:
        name: the contender.
        ratio: median over all rounds of its time for one turn divided by the reference's beside it.
        ns: median nanoseconds for one turn, for the reader; it is never asserted.
        rounds: how many quotients the median was taken of.
    """

    name: str
    ratio: float
    ns: float
    rounds: int

    def __str__(self) -> str:
        """One line of a report."""
        return f"{self.name:<48} {self.ratio:>10.1f} x   {self.ns:>12.1f} ns"


def _time(batch: Batch, n: int, clock: Callable[[], int]) -> float:
    start = clock()
    batch(n)
    return (clock() - start) / n


def compare(
    contenders: dict[str, Batch],
    *,
    n: int | dict[str, int] = 10_000,
    rounds: int = 9,
    reference: Batch = empty_call,
    reference_n: int = 100_000,
    cpu: bool = False,
) -> dict[str, Cost]:
    """Time the contenders side by side.

    Args:
        contenders: name -> function that does its work as many times as it is told.
        n: turns in one slice, for all contenders or for each by name.
        rounds: how often every contender gets a slice. A first slice of each is thrown away.
        reference: what one turn is divided by.
        reference_n: turns in one slice of the reference.
        cpu: time of the process instead of the wall's: what others do on the machine then matters less.

    Returns:
        The cost of each contender by name, in the order given.
    """
    clock = process_time_ns if cpu else perf_counter_ns
    turns = n if isinstance(n, dict) else dict.fromkeys(contenders, n)
    ratios: dict[str, list[float]] = {name: [] for name in contenders}
    times: dict[str, list[float]] = {name: [] for name in contenders}
    with nothing_collected():
        for turn in range(rounds + 1):
            for name, batch in contenders.items():
                unit = _time(reference, reference_n, clock)
                took = _time(batch, turns[name], clock)
                if turn:
                    ratios[name].append(took / unit)
                    times[name].append(took)
    return {name: Cost(name, median(ratios[name]), median(times[name]), rounds) for name in contenders}


def report(title: str, costs: dict[str, Cost]) -> str:
    """The costs as text, one line each, also printed (run pytest with ``-s`` to see it)."""
    text = "\n".join([title, *(f"  {cost}" for cost in costs.values())])
    print(f"\n{text}")
    return text
