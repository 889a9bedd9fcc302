"""Which orders of the tasks are left to try: dynamic partial-order reduction.

A run is a sequence of turns (see :mod:`._footprints`). Two runs are *equivalent* if one becomes the other by exchanging
neighbouring turns that do not conflict; they end in the same state. One run of each class is enough.

Method
    Source sets and sleep sets. After a run, each pair of conflicting turns of two tasks that could have come in the
    other order, a *race*, is looked up. The state before the first of them is then to be left by a task that begins
    the other order, unless one is known there already. A task is *asleep* in a state if all that begins with it there
    is explored elsewhere; it wakes up when another turn conflicts with its next one. A run in which every ready task is
    asleep is equivalent to an earlier one, and is ended at once.

    The states are kept as a tree. Any open branch may be tried next: :meth:`Explorer.next_prefix` takes those with the
    fewest switches first, and a policy with priorities takes the branch that they prefer.

What a turn enables
    A task that waits is made ready by another one's turn, or when no task is ready: then time moves, or the program
    outside the tasks continues. The turns before such a moment all come before those after it, in every order.

A timer that is due may be cancelled by a turn that comes first, and then takes no turn at all. So every choice is tried
in a state in which one is due.

With ``reduce=False`` every ready task is a branch of every state, up to a number of switches.

Sources: Godefroid, Partial-Order Methods for the Verification of Concurrent Systems (1996), for sleep sets; Flanagan
and Godefroid, Dynamic Partial-Order Reduction (2005); Abdulla, Aronsson, Jonsson and Sagonas, Source Sets (2017).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from tdqsim.testing._footprints import Footprint
from tdqsim.testing._orders import Choice, Pct, Policy, Redundant, TaskTurn

_MASK: Final = 2**64 - 1


def _conflict(one: TaskTurn, other: TaskTurn) -> bool:
    return one.number == other.number or one.footprint.conflicts(other.footprint)


def _predecessors(turns: Sequence[TaskTurn]) -> tuple[list[int], list[tuple[int, int]]]:
    """The turns that must come before each turn, and the races.

    Returns:
        For each turn, a number whose bits are the turns before it; and the pairs (first, second) of turns that can come
        in the other order.
    """
    before: list[int] = []
    races: list[tuple[int, int]] = []
    begin = 0
    for at, turn in enumerate(turns):
        if turn.fresh:
            begin = at
        mask = (1 << begin) - 1
        for earlier in range(at - 1, begin - 1, -1):
            other = turns[earlier]
            if mask >> earlier & 1:
                continue
            woke = turn.number in other.woke
            if woke or _conflict(other, turn):
                mask |= before[earlier] | 1 << earlier
                if not woke and other.number != turn.number:
                    races.append((earlier, at))
        before.append(mask)
    return before, races


def identities(turns: Sequence[TaskTurn]) -> list[int]:
    """For each number of turns from 0 on, the identity of a run that ends after so many.

    It is the same for equivalent runs, and different for others: it stands for the Foata normal form, the set of turns
    with the level of each, which is one more than the highest level of the turns that must come before it.
    """
    before, _ = _predecessors(turns)
    levels: list[int] = []
    found = [0]
    for turn, mask in zip(turns, before, strict=True):
        level = 1 + max((level for at, level in enumerate(levels) if mask >> at & 1), default=0)
        levels.append(level)
        found.append((found[-1] + _mixed(hash((level, turn.name, turn.footprint.frozen())))) & _MASK)
    return found


def _mixed(value: int) -> int:
    """A hash whose sums do not collide; those of tuples do: the last step of splitmix64."""
    value &= _MASK
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 & _MASK
    value = (value ^ value >> 27) * 0x94D049BB133111EB & _MASK
    return value ^ value >> 31


def identity(turns: Sequence[TaskTurn]) -> int:
    """The identity of a run; see :func:`identities`."""
    return identities(turns)[-1]


class _Node:
    """A state with more than one ready task.

    Attributes:
        parent, number: the state from which it was reached, and the task that was chosen there.
        ready: the tasks.
        default: the task that runs by default.
        asleep: tasks with which nothing new begins, and the footprints of their next turns.
        branches: the footprint of the first turn of each task that was chosen, in that order; None while it runs.
        open: tasks still to be chosen.
        done: chosen tasks with which everything was tried.
        switches: switches so far away from tasks that could have continued.
    """

    __slots__ = (
        "asleep", "branches", "children", "default", "done", "number", "open", "parent", "preempts", "ready",
        "switches",
    )  # fmt: skip

    def __init__(
        self, parent: _Node | None, number: int, ready: tuple[int, ...], default: int, asleep: dict[int, Footprint],
        *, preempts: bool,
    ) -> None:  # fmt: skip
        self.parent, self.number = parent, number
        self.ready, self.default, self.preempts = ready, default, preempts
        self.asleep = asleep
        self.branches: dict[int, Footprint | None] = {}
        self.children: dict[int, _Node] = {}
        self.open: set[int] = set()
        self.done: set[int] = set()
        self.switches = 0 if parent is None else parent.switches_with(number)

    def switches_with(self, number: int) -> int:
        return self.switches + (self.preempts and number != self.default)

    @property
    def finished(self) -> bool:
        return not self.open and len(self.done) == len(self.branches)

    @property
    def usable(self) -> set[int]:
        """The tasks with which something may begin that was not tried."""
        return self.open | {number for number in self.branches if number not in self.done}


@dataclass(slots=True)
class _Placed:
    """A state on the way of a run: the number of the turn that leaves it, and the task of that turn."""

    node: _Node
    turn: int
    chosen: int | None = None


class Walk(Policy):
    """One run through the tree, from its root into what is not known yet: the policy of a controller.

    Args:
        explorer: whose tree it is.
        prefix: the tasks to choose in the states from the root on.
        policy: chooses among what is open; by default the order is CICS order.

    Attributes:
        repeated: the run is equivalent to an earlier one.
    """

    def __init__(self, explorer: Explorer, prefix: Sequence[int], policy: Policy | None) -> None:
        self._explorer = explorer
        self._prefix = prefix
        self._policy = policy
        self._asleep: dict[int, Footprint] = {}
        self._path: list[_Placed] = []
        self._turns: list[TaskTurn] = []
        self.repeated = False

    def passed(self, turn: TaskTurn) -> None:
        """A turn is over; its footprint is known."""
        at = len(self._turns)
        self._turns.append(turn)
        asleep = self._asleep
        if self._path and self._path[-1].turn == at:
            node = self._path[-1].node
            asleep = dict(node.asleep)
            for number, footprint in node.branches.items():
                if number == turn.number:
                    break
                if footprint is not None:
                    asleep[number] = footprint
            known = node.branches[turn.number]
            if known is not None and known.frozen() != turn.footprint.frozen():
                self._explorer.steady = False
            node.branches[turn.number] = turn.footprint
        if asleep and self._explorer.reduce:
            self._asleep = {
                number: footprint for number, footprint in asleep.items() if not footprint.conflicts(turn.footprint)
            }

    def choose(self, step: int, ready: Sequence[Choice], default: int) -> int:
        """See :class:`~tdqsim.testing._orders.Policy`."""
        node = self._node([choice.number for choice in ready], default) if self._explorer.steady else None
        if node is None:
            return default if self._policy is None else self._policy.choose(step, ready, default)
        placed = _Placed(node, len(self._turns))
        self._path.append(placed)
        if len(self._path) <= len(self._prefix):
            index = node.ready.index(self._prefix[len(self._path) - 1])
        else:
            index = self._new(node, step, ready, default)
        placed.chosen = chosen = node.ready[index]
        node.open.discard(chosen)
        node.branches.setdefault(chosen, None)
        return index

    def forced(self, choice: Choice) -> None:
        """See :class:`~tdqsim.testing._orders.Policy`."""
        if choice.number in self._asleep and self._explorer.steady:
            self._repeats()

    def _new(self, node: _Node, step: int, ready: Sequence[Choice], default: int) -> int:
        """A choice that is not asleep, nor tried to its end."""
        allowed = node.usable or {number for number in node.ready if number not in node.asleep}
        if not allowed:
            self._repeats()
        left = [index for index, number in enumerate(node.ready) if number in allowed]
        usual = left.index(default) if default in left else 0
        if self._policy is None:
            return left[usual]
        return left[self._policy.choose(step, [ready[index] for index in left], usual)]

    def _node(self, numbers: list[int], default: int) -> _Node | None:
        """The state that the run has reached; None if an earlier run reached another one in the same way."""
        explorer, ready = self._explorer, tuple(numbers)
        parent, chosen = (self._path[-1].node, self._path[-1].chosen or 0) if self._path else (None, 0)
        node = explorer.root if parent is None else parent.children.get(chosen)
        if node is not None:
            explorer.steady = node.ready == ready
            return node if explorer.steady else None
        preempts = bool(self._turns) and self._turns[-1].number in ready
        node = _Node(parent, chosen, ready, ready[default], dict(self._asleep), preempts=preempts)
        if parent is None:
            explorer.root = node
        else:
            parent.children[chosen] = node
        if not explorer.reduce or min(ready) < 0:
            allowed = {each for each in ready if explorer.reduce or node.switches_with(each) <= explorer.most}
            node.open |= allowed - node.asleep.keys()
            explorer.offer(node, node.open - {node.default})
        return node

    def _repeats(self) -> None:
        self.repeated = True
        raise Redundant

    def end(self) -> None:
        """The run is over: find what it leaves to try."""
        if self._explorer.reduce:
            self._find_races()
        for placed in reversed(self._path):
            node, chosen = placed.node, placed.chosen
            if chosen is None:
                continue
            child = node.children.get(chosen)
            if child is not None and not child.finished:
                break
            node.done.add(chosen)
            node.children.pop(chosen, None)

    def _find_races(self) -> None:
        turns = self._turns
        node_at = {placed.turn: placed.node for placed in self._path}
        before, races = _predecessors(turns)
        for first, second in races:
            node = node_at.get(first)
            if node is None:
                continue
            free = [at for at in range(first + 1, second) if not before[at] >> first & 1] + [second]
            among = sum(1 << at for at in free)
            begin = {turns[at].number for at in free if not before[at] & among} & set(node.ready)
            if begin & (node.branches.keys() | node.open | node.asleep.keys()):
                continue
            own = turns[second].number
            wanted = own if own in begin else min(begin, default=None)
            for number in [wanted] if wanted is not None else node.ready:
                if number not in node.branches and number not in node.asleep:
                    node.open.add(number)
                    self._explorer.offer(node, (number,))


class Explorer:
    """The orders of one scenario: those that were run, and those that are known to be left.

    Args:
        reduce: run one order of each class only.
        most: without reduction, the largest number of switches.

    Attributes:
        root: the first state with more than one ready task.
        runs: how many runs have ended.
        repeated: how many were ended because they were equivalent to earlier ones.
        steady: whether runs that begin with the same choices did the same. If not, the tree says nothing about further
            runs: they follow their policy, and nothing is left out.
    """

    def __init__(self, *, reduce: bool = True, most: int = 0) -> None:
        self.reduce, self.most = reduce, most
        self.root: _Node | None = None
        self.runs = self.repeated = 0
        self.steady = True
        self._waves: dict[int, list[tuple[_Node, int]]] = {}

    def offer(self, node: _Node, numbers: Iterable[int]) -> None:
        """Note branches that are open now."""
        for number in numbers:
            self._waves.setdefault(node.switches_with(number), []).append((node, number))

    @property
    def complete(self) -> bool:
        """Whether nothing is left to try."""
        return self.runs > 0 and self.steady and (self.root is None or self.root.finished)

    @property
    def remaining(self) -> int:
        """How many branches are known to be left; there may be more behind them."""
        return sum(number in node.open for wave in self._waves.values() for node, number in wave)

    def walk(self, policy: Policy | None = None) -> Walk:
        """The next run: with a policy the branch that it prefers, otherwise one with the fewest switches.

        Call it only while the exploration is not complete.
        """
        return Walk(self, () if policy is not None else self.next_prefix(), policy)

    def next_prefix(self) -> list[int]:
        """The choices that lead to an open branch with the fewest switches, and of those to the newest."""
        for switches in sorted(self._waves):
            wave = self._waves[switches]
            while wave:
                node, number = wave.pop()
                if number in node.open:
                    return [*_way_to(node), number]
            del self._waves[switches]
        return []

    def ended(self, walk: Walk) -> None:
        """Take account of a run."""
        self.runs += 1
        self.repeated += walk.repeated
        if self.steady:
            walk.end()


def _way_to(node: _Node) -> list[int]:
    way: list[int] = []
    while node.parent is not None:
        way.append(node.number)
        node = node.parent
    way.reverse()
    return way


class Draw:
    """Random policies for one order after the other; the first is CICS order.

    Args:
        seed: the seed of the first policy; the others have those that follow.
        depth: see :class:`~tdqsim.testing._orders.Pct`.

    Attributes:
        steps: the largest number of decisions in a run so far.
    """

    def __init__(self, seed: int, depth: int) -> None:
        self._seed, self._depth = seed, depth
        self.steps = 1

    def policy(self, explorer: Explorer) -> Policy:
        """The policy for the next order."""
        if not explorer.runs:
            return Policy()
        self._seed += 1
        return Pct(self._seed - 1, self._depth, self.steps)
