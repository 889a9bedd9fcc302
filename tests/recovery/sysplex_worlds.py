"""Random sysplexes: two to four regions, some behind others, whose tasks move records about while links are cut, bounce
or are replaced, and regions fail, at any dispatch and at any message. Each record is there once at the start, so it must be there once at the
end, unless somebody has decided without the coordinator and the damage was reported.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from tdqsim.cics import Abend, Region, Sysplex, Task
from tdqsim.cics.ship.messages import RESYNC_STEPS, STEPS
from tdqsim.cics.ship.remote import LinkEnd
from tdqsim.cics.uow.indoubt import decisions, heuristics
from tdqsim.core.fiber import Fiber
from tdqsim.definitions import define_connection, define_tdqueue, define_transaction
from tdqsim.errors import RegionClosed, StoreError, StoreFull
from tdqsim.facts import Resp
from tests.recovery.helpers import queue

NAMES: Final = "ABCD"
QUEUES: Final = {"Q": "LOGQ", "X": "LOG2"}
"""What the remote entries of other regions' queues begin with."""
ROUND: Final = "ROND"
"""A queue of the region itself, by way of another one."""


def applid(letter: str) -> str:
    return f"REG{letter}"


def sysid(letter: str) -> str:
    return f"SYS{letter}"


class World:
    """One sysplex and what happens to it, all from one seed.

    Args:
        seed: of everything; with an even one messages go as over a network.
        directory: where the stores are.
        unilateral: whether some decide without their coordinators.
        full: whether stores refuse a commit now and then.
    """

    def __init__(self, seed: int, directory: Path, *, unilateral: bool = False, full: bool = False) -> None:
        self.random = rng = random.Random(seed)
        self.directory = directory
        self.unilateral = unilateral
        self.full = full
        self.sysplex = Sysplex(seed=rng.choice((0, 0, seed + 1)), at_once=bool(seed % 2))
        self.letters = NAMES[: rng.randint(2, 4)]
        self.pairs = self._pairs()
        self.definitions = {letter: self._definitions(letter) for letter in self.letters}
        self.damage = 0
        self.told: list[str] = []
        self.handles: list[Fiber] = []
        self.quiet, self.ending = True, False
        self.tokens = Counter()
        for letter in self.letters:
            self.start(letter)
            for name in QUEUES.values():
                records = [b"%s-%s-%d" % (letter.encode(), name.encode(), n) for n in range(rng.randint(0, 4))]
                self[letter].seed(name, records)
                self.tokens.update(records)
        for pair in self.pairs:
            self.link(pair).fault = self._at_message(pair)
        self.quiet = False

    # -- how it is made -------------------------------------------------------------------------------------------

    def _pairs(self) -> list[str]:
        """Which regions are linked: all hang together, some by way of others."""
        rng, pairs = self.random, []
        for at, letter in enumerate(self.letters[1:], 1):
            pairs.append(rng.choice(self.letters[:at]) + letter)
        for one in self.letters:
            for other in self.letters:
                if one < other and one + other not in pairs and rng.random() < 0.3:
                    pairs.append(one + other)
        return pairs

    def _next(self, here: str, target: str) -> str:
        """The neighbour on the shortest way to a region."""
        ways = [[here]]
        while True:
            way = ways.pop(0)
            for pair in self.pairs:
                if way[-1] in pair:
                    other = pair.replace(way[-1], "")
                    if other == target:
                        return [*way, other][1]
                    if other not in way:
                        ways.append([*way, other])

    def _neighbour(self, letter: str) -> str:
        return self.random.choice([pair.replace(letter, "") for pair in self.pairs if letter in pair])

    def _definitions(self, letter: str) -> list[Any]:
        rng = self.random
        found: list[Any] = []
        for name in QUEUES.values():
            wait = "NO" if self.unilateral and rng.random() < 0.2 else "YES"
            action = {} if wait == "NO" else {"waitaction": rng.choice(("REJECT", "QUEUE"))}
            found.append(queue(name, wait=wait, **action))
        found.append(queue("PHYQ", "PHYSICAL"))
        found.append(define_tdqueue(name=ROUND, remotesystem=sysid(self._neighbour(letter)), remotename=f"Q{letter}"))
        for other in self.letters:
            if other == letter:
                continue
            by = self._next(letter, other)
            for prefix, name in QUEUES.items():
                there = name if by == other else f"{prefix}{other}"
                found.append(define_tdqueue(name=f"{prefix}{other}", remotesystem=sysid(by), remotename=there))
        for pair in self.pairs:
            if letter in pair:
                other = pair.replace(letter, "")
                found.append(define_connection(name=sysid(other), netname=applid(other)))
        mirror: dict[str, Any] = {"action": rng.choice(("COMMIT", "BACKOUT"))}
        if self.unilateral:
            mirror |= rng.choice(({}, {"wait": "NO"}, {"waittime": "00,00,01"}))
        found.append(define_transaction(name="CSMI", **mirror))
        found.append(define_transaction(name="MOVE", dtimout=str(rng.randint(1, 30))))
        return found

    def start(self, letter: str) -> None:
        region = Region(
            self.definitions[letter], applid=applid(letter), sysid=sysid(letter), store=self.directory / letter,
            supplied_queues=False, dispatcher=self.sysplex.dispatcher,
        )  # fmt: skip
        region.register("MOVE", self.move)
        self.sysplex.add(region)
        if self.full:
            region.store.durable.fault = self._at_commit
        for pair in self.pairs:
            if letter in pair and all(each in self for each in pair):
                self.link(pair).fault = self._at_message(pair)

    def __contains__(self, letter: str) -> bool:
        return applid(letter) in self.sysplex.regions

    def __getitem__(self, letter: str) -> Region:
        return self.sysplex.regions[applid(letter)]

    def link(self, pair: str) -> Any:
        return self.sysplex.link(*(applid(letter) for letter in pair))

    # -- what goes on ---------------------------------------------------------------------------------------------

    def tell(self, what: str) -> None:
        self.told.append(what)

    def _any_queue(self, task: Task) -> tuple[str, str | None]:
        """A queue's name, and SYSID or none."""
        rng, here = self.random, task.region.applid[-1]
        target = rng.choice(self.letters)
        if rng.random() < 0.05:
            return ROUND, None
        if target == here:
            return rng.choice([*QUEUES.values()]), rng.choice((None, sysid(here)))
        if rng.random() < 0.1:
            return "LOGQ", sysid(self._neighbour(here))
        return rng.choice([*QUEUES]) + target, None

    def move(self, task: Task) -> str:
        """Read some records and write them elsewhere, in one unit of work; how it ended."""
        rng = self.random
        for _ in range(rng.randint(1, 2)):
            whole = self._move_some(task)
            way = rng.random()
            if not whole or way < 0.15:
                task.syncpoint_rollback()
            elif way < 0.2:
                task.abend("MINE")
            elif way < 0.8:
                task.syncpoint(nohandle=True)
                assert task.eib.eibresp in (Resp.NORMAL, Resp.ROLLEDBACK)
        return "over"

    def _move_some(self, task: Task) -> bool:
        rng = self.random
        carried: list[bytes] = []
        for _ in range(rng.randint(1, 4)):
            if rng.random() < 0.3:
                task.suspend()
            if rng.random() < 0.1:
                task.writeq_td("PHYQ", b"note", nohandle=True)
                task.readq_td("PHYQ", nohandle=True)
            elif carried and rng.random() < 0.6:
                self._put(task, carried)
            else:
                name, system = self._any_queue(task)
                record = task.readq_td(name, sysid=system, nosuspend=rng.random() < 0.3, nohandle=True)
                carried += [record] if record else []
        for _ in range(4):
            if carried:
                self._put(task, carried)
        return not carried

    def _put(self, task: Task, carried: list[bytes]) -> None:
        name, system = self._any_queue(task)
        task.writeq_td(name, carried[-1], sysid=system, nohandle=True)
        if task.eib.eibresp is Resp.NORMAL:
            carried.pop()

    def _at_message(self, pair: str) -> Callable[[str], None]:
        def fault(step: str) -> None:
            if self.quiet or self.ending:
                return
            kind = self.random.random()
            victim = self.random.choice(pair)
            if kind < 0.03 and victim in self:
                self.tell(f"{victim} fails at {step} of {pair}")
                self.end(victim, clean=False)
            elif kind > 0.97 and all(letter in self for letter in pair):
                self.tell(f"bounce {pair} at {step}")
                self.ending = True
                try:
                    self.link(pair).cut()
                    self.link(pair).restore()
                finally:
                    self.ending = False

        return fault

    def _at_commit(self, point: str) -> None:
        if point == "before_commit" and not self.quiet and self.random.random() < 0.05:
            raise StoreFull("no room, for the test")

    def end(self, letter: str, *, clean: bool) -> None:
        self.damage += len(self[letter].recovery.damage)
        self.ending = True
        if clean:
            self[letter].store.durable.fault = None
        self[letter].close(clean=clean)
        self.ending = False

    def operate(self) -> None:
        """What happens from outside: one thing after some dispatches."""
        rng = self.random
        for _ in range(rng.randint(3, 12)):
            for _ in range(rng.randint(0, 6)):
                self.sysplex.dispatcher.yield_now()
            self._one_thing()

    def _one_thing(self) -> None:
        rng = self.random
        pair, letter, kind = rng.choice(self.pairs), rng.choice(self.letters), rng.random()
        there = all(each in self for each in pair)
        if kind < 0.2 and letter in self:
            self.tell(f"MOVE in {letter}")
            self.handles.append(self[letter].start("MOVE"))
        elif kind < 0.4 and there:
            step = rng.choice((*STEPS, *RESYNC_STEPS))
            self.tell(f"cut {pair} at {step}")
            self.link(pair).cut_at(step, nth=rng.randint(1, 2))
        elif kind < 0.5 and there:
            self._lose(pair)
        elif kind < 0.7 and there:
            self.tell(f"restore {pair}")
            self.link(pair).restore()
        elif kind < 0.8 and letter in self:
            clean = rng.random() < 0.3
            self.tell(f"{letter} {'ends' if clean else 'fails'}")
            self.end(letter, clean=clean)
        elif kind < 0.92 and letter not in self:
            self.tell(f"{letter} is started")
            self.start(letter)
        elif kind < 0.95 and letter in self:
            waiting = [task for task in self[letter].tasks.values() if task.transid == "MOVE" and task._has_uow]
            if waiting:
                self.tell(f"purge a task of {letter}")
                self[letter].purge(rng.choice(waiting))
        elif self.unilateral and letter in self and self[letter].recovery.shunted:
            uow_id = rng.choice([*self[letter].recovery.shunted])
            how = rng.choice(("COMMIT", "BACKOUT", "FORCE"))
            self.tell(f"SET UOW {how} in {letter}")
            self[letter].set_uow(uow_id, uowstate=how, nohandle=True)

    def _lose(self, pair: str) -> None:
        """Cut a link; it, or another one, may be there again before anybody has had a turn."""
        after = self.random.choice(("", "restore", "replace"))
        self.tell(f"cut {pair} {after}".rstrip())
        self.link(pair).cut()
        if after == "restore":
            self.link(pair).restore()
        elif after == "replace" and all(letter in self for letter in pair):
            one, other = (self[letter] for letter in pair)
            self.sysplex.connect(one, other).fault = self._at_message(pair)

    def run(self) -> None:
        rng = self.random
        for _ in range(rng.randint(1, 4)):
            for _ in range(rng.randint(1, 4)):
                letter = rng.choice(self.letters)
                if letter in self:
                    self.tell(f"MOVE in {letter}")
                    self.handles.append(self[letter].start("MOVE"))
            self.handles.append(self.sysplex.dispatcher.spawn(self.operate, name="operator"))
            self.sysplex.run()
            if self.unilateral and rng.random() < 0.3:
                self.sysplex.clock.advance(61)
                self.sysplex.run()
            if rng.random() < 0.5:
                self._one_thing()
        self.settle()

    def settle(self) -> None:
        """Nothing more goes wrong: all come together again, in any order."""
        self.quiet = True
        self.tell("all is well again")
        rng = self.random
        self.sysplex.run()
        todo = [*self.letters, *self.pairs]
        rng.shuffle(todo)
        for each in (*todo, *self.pairs):
            if len(each) == 1 and each not in self:
                self.start(each)
            elif len(each) == 2 and all(letter in self for letter in each):
                self.link(each).restore()
        for pair in self.pairs:
            link = self.link(pair)
            link.fault = None
            link.cut()  # what a store would not take is asked for again
            link.restore()
        self.sysplex.run()

    # -- what must hold then --------------------------------------------------------------------------------------

    def contents(self) -> dict[str, list[bytes]]:
        return {f"{letter} {name}": self[letter].peek(name) for letter in self.letters for name in QUEUES.values()}

    def check(self) -> None:
        for handle in self.handles:
            self._check_ending(handle)
        for letter in self.letters:
            self._check_region(self[letter])
        found = Counter(record for records in self.contents().values() for record in records)
        if not self.damage:
            assert found == self.tokens, f"missing {self.tokens - found}, too many {found - self.tokens}"
        before = self.contents()
        for letter in self.letters:
            self[letter].close(clean=False)
        for letter in self.letters:
            self.start(letter)
        self.sysplex.run()
        assert self.contents() == before
        for letter in self.letters:
            self._check_region(self[letter])

    def _check_ending(self, handle: Fiber) -> None:
        assert handle.done, handle
        error = handle.exception
        cause = error.cause if isinstance(error, Abend) else error
        if isinstance(cause, RegionClosed) or (isinstance(cause, StoreError) and "the store is closed" in str(cause)):
            return  # its region ended
        if self.full and isinstance(cause, StoreFull):
            return
        if error is not None:
            assert isinstance(error, Abend), repr(error)
            assert error.code in ("MINE", "AKCS", "AEXY", "AEXJ", "ASPN"), repr(error)

    def _check_region(self, region: Region) -> None:
        self.damage += len(region.recovery.damage)
        region._core.damage.clear()
        assert not region.recovery.shunted, [*region.recovery.shunted.values()]
        assert not region.recovery.units, [*region.recovery.units.values()]
        assert not decisions(region._core)
        assert not heuristics(region._core)
        assert not region.tasks, [*region.tasks.values()]
        for end in region._core.links.values():
            assert isinstance(end, LinkEnd)
            assert not end.mirrors, end
            assert not end.branches, end
        region.inquire_uowenq_start()
        enqueue = region.inquire_uowenq_next(nohandle=True)
        region.inquire_uowenq_end()
        assert not enqueue, enqueue
        for name in QUEUES.values():
            assert region.inquire_tdqueue(name, "NUMITEMS").numitems == len(region.peek(name))
