"""What must be on a region's queues, worked out slowly from the words of a program that was killed.

The program says before each request what it is about to do, and afterwards what came of it. Here every request is
kept as an *effect*; one without an answer may have happened or not. After a kill the queues must look as they do for
at least one choice of those. Nothing is shared with the region but the names of the things.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from itertools import product
from typing import Any


class Impossible(AssertionError):
    """What was said, or seen, cannot be."""


class Work:
    """A unit of work: what it read, deleted and wrote of LOGICAL queues, and its last read of each PHYSICAL one."""

    def __init__(self) -> None:
        self.reads: dict[str, list[str]] = {}
        self.deleted: set[str] = set()
        self.writes: dict[str, list[str]] = {}

    def next_record(self, queue: str, committed: list[str]) -> str | None:
        read = self.reads.setdefault(queue, [])
        if queue not in self.deleted and len(read) < len(committed):
            read.append(committed[len(read)])
            return read[-1]
        own = self.writes.get(queue)
        return own.pop(0) if own else None

    def delete(self, queue: str) -> None:
        self.deleted.add(queue)
        self.writes[queue] = []


class State:
    """Every queue, and what a failure would put back or keep in doubt."""

    def __init__(self) -> None:
        self.kinds: dict[str, str] = {}
        self.records: dict[str, list[str]] = {}
        self.last_reads: dict[tuple[int, str], tuple[int, str]] = {}
        """(task, PHYSICAL queue): place of the record in the order of reading, and the record."""
        self.taken: dict[str, int] = {}
        self.prepared: dict[str, Work] = {}
        self.running = False
        self.clean = False

    # -- effects --------------------------------------------------------------------------------------------------

    def do(self, effect: tuple[Any, ...]) -> None:
        getattr(self, f"_{effect[0]}")(*effect[1:])

    def _create(self, queue: str, kind: str) -> None:
        self.kinds[queue] = kind
        self.records[queue] = []
        self.taken[queue] = 0

    def _discard(self, queue: str) -> None:
        if self.kinds.pop(queue, None) is None:
            raise Impossible(f"{queue} was discarded, and is not there")
        self._forget_reads_of(queue)
        del self.records[queue]

    def _put(self, queue: str, record: str) -> None:
        self.records[queue].append(record)

    def _take(self, queue: str, task: int | None) -> None:
        record = self.records[queue].pop(0) if self.records[queue] else None
        if record is None:
            return
        self.taken[queue] += 1
        if task is not None and self.kinds[queue] == "PHYSICAL":
            self.last_reads[task, queue] = (self.taken[queue], record)

    def _clear(self, queue: str) -> None:
        self.records[queue] = []
        self._forget_reads_of(queue)

    def _forget_reads_of(self, queue: str) -> None:
        for key in [key for key in self.last_reads if key[1] == queue]:
            del self.last_reads[key]

    def _end(self, task: int, work: Work | None) -> None:
        """A unit of work is over: committed, or backed out when there is no work."""
        for key in [key for key in self.last_reads if key[0] == task]:
            del self.last_reads[key]
        if work is not None:
            self._carry_out(work)

    def _carry_out(self, work: Work) -> None:
        for queue, read in work.reads.items():
            if queue not in work.deleted:
                if self.records[queue][: len(read)] != read:
                    raise Impossible(f"{read} were read of {queue}, which holds {self.records[queue]}")
                del self.records[queue][: len(read)]
        for queue in work.deleted:
            self.records[queue] = []
        for queue, written in work.writes.items():
            self.records[queue] += written

    def _prepare(self, task: int, name: str, work: Work) -> None:
        self._end(task, None)
        self.prepared[name] = work

    def _decide(self, name: str, commit: bool) -> None:
        work = self.prepared.pop(name)
        if commit:
            self._carry_out(work)

    def _close(self) -> None:
        self.running, self.clean = False, True

    def _open(self) -> None:
        if not self.clean:
            self.fail()
        self.running, self.clean = True, False

    # -- the region fails -----------------------------------------------------------------------------------------

    def fail(self) -> None:
        """What an emergency restart finds."""
        given_back: dict[str, list[tuple[int, str]]] = {}
        for (_, queue), read in self.last_reads.items():
            given_back.setdefault(queue, []).append(read)
        for queue, reads in given_back.items():
            self.records[queue][:0] = [record for _, record in sorted(reads)]
        self.last_reads.clear()
        for queue, kind in self.kinds.items():
            if kind == "NO":
                self.records[queue] = []
        self.running = False

    def shown(self) -> dict[str, tuple[str, list[str]]]:
        """Kind and records of every queue: what can be seen from outside."""
        return {queue: (kind, self.records[queue]) for queue, kind in self.kinds.items()}


class Ledger:
    """Reads what the program says, line by line."""

    def __init__(self) -> None:
        self.base = State()
        self.live = State()
        self.effects: list[list[Any]] = []
        """[effect, whether it was answered]: those that are not in ``base`` yet."""
        self.works: dict[int, Work] = {}
        self.asked: dict[int, tuple[Any, ...]] = {}
        self.waiting: dict[int, list[Any]] = {}

    # -- lines ----------------------------------------------------------------------------------------------------

    def read(self, line: list[Any]) -> None:
        word, task, *rest = line
        if word == "op":
            self._begin(task, *rest)
        elif word == "done":
            self._answer(task, *rest)
        else:
            raise Impossible(f"no such word: {line}")

    def _begin(self, task: int, kind: str, *rest: Any) -> None:
        self.asked[task] = (kind, *rest)
        effect = self._effect(task, kind, *rest)
        if effect is not None:
            self.live.do(deepcopy(effect))
            self.effects.append([effect, False])
            self.waiting[task] = self.effects[-1]

    def _effect(self, task: int, kind: str, *rest: Any) -> tuple[Any, ...] | None:
        if kind in ("write", "read", "delete") and rest[0] not in self.live.kinds:
            return None
        logical = kind in ("write", "read", "delete") and self.live.kinds[rest[0]] == "LOGICAL"
        match kind:
            case "write" if not logical:
                return ("put", *rest)
            case "read" if not logical:
                return ("take", rest[0], task or None)
            case "delete" if not logical:
                return ("clear", *rest)
            case "sync":
                return ("end", task, self.works.get(task, Work()))
            case "rollback":
                return ("end", task, None)
            case "prepare":
                return ("prepare", task, rest[0], self.works.get(task, Work()))
            case "discard" if rest[0] not in self.live.kinds:
                return None
            case "create" | "discard" | "decide" | "close" | "open":
                return (kind, *rest)
        return None

    def _answer(self, task: int, how: str, value: Any = None) -> None:
        asked = self.asked.pop(task)
        effect = self.waiting.pop(task, None)
        if effect is not None:
            self._confirm(effect, asked, how, value)
        elif how == "ok":
            if asked[0] == "discard":
                raise Impossible(f"{asked[1]} was discarded, and is not there")
            self._uncommitted(task, value, *asked)
        elif how == "QZERO" and (left := self._left(task, asked[1])):
            raise Impossible(f"QZERO of {asked[1]}, which has {left}")
        if asked[0] in ("sync", "rollback", "prepare") and how != "refused":
            self.works.pop(task, None)

    def _confirm(self, effect: list[Any], asked: tuple[Any, ...], how: str, value: Any) -> None:
        if how != "ok":
            self._never_was(effect, asked, how)
            return
        if asked[0] == "read":
            expected = self._head_before(effect)
            if value != expected:
                raise Impossible(f"{value} was read of {asked[1]}, {expected} was next")
        effect[1] = True
        while self.effects and self.effects[0][1]:
            self.base.do(deepcopy(self.effects.pop(0)[0]))

    def _never_was(self, effect: list[Any], asked: tuple[Any, ...], how: str) -> None:
        if how == "QZERO" and (found := self._head_before(effect)) is not None:
            raise Impossible(f"QZERO of {asked[1]}, which has {found}")
        self.effects.remove(effect)
        self.live = self._replay([each for each, _ in self.effects])
        while self.effects and self.effects[0][1]:
            self.base.do(deepcopy(self.effects.pop(0)[0]))

    def _head_before(self, effect: list[Any]) -> str | None:
        before = self._replay([each for each, _ in self.effects[: self.effects.index(effect)]])
        return next(iter(before.records[effect[0][1]]), None)

    def _uncommitted(self, task: int, value: Any, kind: str, *rest: Any) -> None:
        if kind not in ("write", "read", "delete"):
            return
        work = self.works.setdefault(task, Work())
        if kind == "write":
            work.writes.setdefault(rest[0], []).append(rest[1])
        elif kind == "delete":
            work.delete(rest[0])
        elif (expected := work.next_record(rest[0], self.live.records[rest[0]])) != value:
            raise Impossible(f"{value} was read of {rest[0]}, {expected} was next for task {task}")

    def _left(self, task: int, queue: str) -> str | None:
        if queue not in self.live.kinds:
            return None
        return deepcopy(self.works.get(task, Work())).next_record(queue, self.live.records[queue])

    # -- the kill -------------------------------------------------------------------------------------------------

    def _replay(self, effects: list[tuple[Any, ...]]) -> State:
        state = deepcopy(self.base)
        for effect in effects:
            state.do(deepcopy(effect))
        return state

    def possible(self) -> Iterator[State]:
        """The states that the store may be in now that the program is dead, each as a restart finds it."""
        open_ends = [number for number, (_, answered) in enumerate(self.effects) if not answered]
        for choice in product((True, False), repeat=len(open_ends)):
            happened = dict(zip(open_ends, choice, strict=True))
            chosen = [effect for number, (effect, _) in enumerate(self.effects) if happened.get(number, True)]
            try:
                state = self._replay(chosen)
            except (Impossible, KeyError, IndexError):
                continue  # one needs the other
            yield from self._restarted(state)

    @staticmethod
    def _restarted(state: State) -> Iterator[State]:
        if state.clean:
            kept = deepcopy(state)
            kept.clean = False
            yield kept
        state.clean = False
        state.fail()
        yield state

    def settle(self, seen: dict[str, tuple[str, list[str]]], prepared: set[str]) -> State:
        """Find the state that is the one seen, and go on from there.

        Raises:
            Impossible: there is none.
        """
        tried = []
        for state in self.possible():
            if state.shown() == seen and set(state.prepared) == prepared:
                self.go_on_from(state)
                return state
            tried.append(state)
        raise Impossible(self._difference(tried, seen, prepared))

    def go_on_from(self, state: State) -> None:
        self.base, self.live = deepcopy(state), deepcopy(state)
        self.effects.clear()
        self.works.clear()
        self.asked.clear()
        self.waiting.clear()

    @staticmethod
    def _difference(tried: list[State], seen: dict[str, tuple[str, list[str]]], prepared: set[str]) -> str:
        lines = [f"{len(tried)} states are possible, and what is there is none of them"]
        for state in tried[:4]:
            lines.append("possible:")
            shown = state.shown()
            lines += [
                f"  {queue}: should be {shown.get(queue)}, is {seen.get(queue)}"
                for queue in sorted(shown.keys() | seen.keys())
                if shown.get(queue) != seen.get(queue)
            ]
            if set(state.prepared) != prepared:
                lines.append(f"  in doubt: should be {sorted(state.prepared)}, is {sorted(prepared)}")
        return "\n".join(lines)
