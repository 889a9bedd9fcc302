"""Random histories of three regions: terminals in TORREG, transactions in AORREG, queues in QORREG.

A user enters PAYM at a terminal, which is routed to AORREG. In one unit of work PAYM writes its token to a queue of
AORREG and to one of QORREG, links to a program of QORREG that writes it to a third queue, and starts STRT with it, which
writes it to a fourth queue. The queue of QORREG triggers TRGT at a terminal of TORREG, which moves the tokens to a
fifth queue. Meanwhile links are cut, regions fail, and terminals go out of service, at any message and any dispatch.

The model of a history (:meth:`World.check`), from the pages that the rules ROUTE-*, DPL-*, IC-* name: each token is
everywhere or nowhere, once; it is everywhere if its relay task ended normally and the program has committed, nowhere if
the program has backed out, has abended by itself, or could not be routed. Once all is well a trigger starts its task.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from tdqsim.cics import Abend, Condition, Region, Task
from tdqsim.cics.ship.messages import STEPS
from tdqsim.core.fiber import Fiber
from tdqsim.definitions import (
    define_connection,
    define_program,
    define_terminal,
    define_transaction,
    define_tsmodel,
)
from tdqsim.errors import RegionClosed
from tests.recovery.complexes import Complex, remote
from tests.recovery.helpers import queue

NAMES: Final = ("TORREG", "AORREG", "QORREG")
PAIRS: Final = (("TORREG", "AORREG"), ("TORREG", "QORREG"), ("AORREG", "QORREG"))
TERMINALS: Final = ("T001", "T002")
PLACES: Final = {"LOGA": "AORREG", "STRQ": "AORREG", "DONQ": "QORREG"}
"""The queues in which each token is at the end, besides QUEQ or SEEN of QORREG, and their regions."""
FAILURES: Final = ("AZI6", "AKCS", "AEYQ", "AEXI", "AEXJ", "AEX8", "ASPN")


class World:
    """Three regions and what happens to them, all from one seed.

    Args:
        seed: of everything; with an even one messages go as over a network.
        directory: where the stores are.
        well: whether nothing fails.
        level: the trigger level; 0 for any.
    """

    def __init__(self, seed: int, directory: Path, *, well: bool = False, level: int = 0) -> None:
        self.random = rng = random.Random(seed)
        self.well = well
        self.told: list[str] = []
        self.scripts: dict[str, str] = {}
        self.relays: dict[str, tuple[Fiber, int]] = {}
        self.life = 0  # how often TORREG was started again, which clears its screens
        self.quiet = self.ending = False
        level = level or rng.choice((1, 1, 2))
        self.complex = Complex(
            directory, *self._regions(level, rng.choice(TERMINALS)), at_once=bool(seed % 2),
            seed=rng.choice((0, 0, seed + 1)),
        )  # fmt: skip
        for name in NAMES:
            self._register(name)
        for pair in PAIRS:
            self.link(pair).fault = self._at_message(pair)

    @staticmethod
    def _regions(level: int, terminal: str) -> list[tuple[str, str, list[Any]]]:
        links = {name: [define_connection(name=each[:3], netname=each) for each in NAMES if each != name]
                 for name in NAMES}  # fmt: skip
        terminals = [define_terminal(name=name, remotesystem="TOR") for name in TERMINALS]
        trigger = {"atifacility": "TERMINAL", "facilityid": terminal, "transid": "TRGT", "triggerlevel": level}
        return [
            ("TORREG", "TOR", [
                *links["TORREG"], *(define_terminal(name=name) for name in TERMINALS),
                define_transaction(name="PAYM", remotesystem="AOR"), define_transaction(name="STRT", remotesystem="AOR"),
                define_transaction(name="TRGT", remotesystem="QOR"),
            ]),
            ("AORREG", "AOR", [
                *links["AORREG"], *terminals, queue("LOGA"), queue("STRQ"), remote("QUEQ", "QOR"),
                define_program(name="SRVR", remotesystem="QOR"), define_transaction(name="PAYM", dtimout="10"),
                define_transaction(name="STRT"), define_tsmodel(name="KEPT", prefix="REC", recovery="YES"),
            ]),
            ("QORREG", "QOR", [
                *links["QORREG"], *terminals, queue("QUEQ", **trigger), queue("SEEN"), queue("DONQ"),
                define_transaction(name="TRGT", dtimout="10"),
            ]),
        ]  # fmt: skip

    def _register(self, name: str) -> None:
        region = self[name]
        if name == "AORREG":
            region.register("PAYM", self.paym)
            region.register("STRT", self.strt)
        elif name == "QORREG":
            region.register("TRGT", self.trgt)
            region.programs.register("SRVR", lambda task: task.writeq_td("DONQ", bytes(task.commarea)))

    def __getitem__(self, name: str) -> Region:
        return self.complex[name]

    def __contains__(self, name: str) -> bool:
        return name in self.complex.sysplex.regions

    def link(self, pair: tuple[str, str]) -> Any:
        return self.complex.link(*pair)

    # -- the programs ---------------------------------------------------------------------------------------------

    def paym(self, task: Task) -> None:
        rng = self.random
        token = task.text(task.receive()).split()[1]
        record = token.encode()
        steps: list[Callable[[], object]] = [
            lambda: task.writeq_td("LOGA", record),
            lambda: task.writeq_td("QUEQ", record),
            lambda: task.link("SRVR", bytearray(record)),
            lambda: task.start(
                "STRT", record, protect=True, reqid=f"REC{token}", termid=rng.choice(("", "", *TERMINALS))
            ),
        ]
        rng.shuffle(steps)
        for step in steps:
            if rng.random() < 0.2:
                task.suspend()
            if rng.random() < 0.1:
                task.send_text(task.encode(f"{token} more?"))
                task.receive()
            step()
        how = self.scripts[token]
        if how == "backs out":
            task.syncpoint_rollback()
        elif how == "abends":
            task.abend("MINE")
        elif rng.random() < 0.5:
            task.syncpoint()
        task.send_text(task.encode(f"{token} done"))

    def strt(self, task: Task) -> None:
        while record := task.retrieve(nohandle=True):
            task.writeq_td("STRQ", record)

    def trgt(self, task: Task) -> None:
        while record := task.readq_td("QUEQ", nosuspend=True, nohandle=True):
            task.writeq_td("SEEN", record)
            task.send_text(record)
            task.syncpoint()

    # -- what goes on ---------------------------------------------------------------------------------------------

    def _at_message(self, pair: tuple[str, str]) -> Callable[[str], None]:
        def fault(step: str) -> None:
            if self.well or self.quiet or self.ending:
                return
            kind, victim = self.random.random(), self.random.choice(pair)
            if kind < 0.02 and victim in self:
                self.told.append(f"{victim} fails at {step} of {pair}")
                self.end(victim, clean=False)
            elif kind > 0.98:
                self.told.append(f"cut {pair} at {step}")
                self.link(pair).cut()

        return fault

    def end(self, name: str, *, clean: bool) -> None:
        self.ending = True
        self[name].close(clean=clean)
        self.ending = False

    def begin(self, name: str) -> None:
        self.told.append(f"{name} is started")
        self.life += name == "TORREG"
        self.complex.start(name)
        self._register(name)
        for pair in PAIRS:
            if name in pair and all(each in self for each in pair):
                self.link(pair).fault = self._at_message(pair)

    def enter(self, terminal: str, *, new: bool = True) -> None:
        """Enter what a task at the terminal waits for, or PAYM with a new token."""
        if "TORREG" not in self:
            return
        tor = self["TORREG"]
        facility, screen = tor._core.terminal_control.get("TERMINAL", terminal), tor.screens.screen(terminal)
        if screen.waiting:
            tor.screens.type(terminal, "go on")
        elif new and facility.task is None and facility.inservice:
            token = f"{len(self.scripts):05}"
            self.scripts[token] = self.random.choice(("commits", "commits", "commits", "backs out", "abends"))
            self.told.append(f"{token} {self.scripts[token]} at {terminal}")
            self.relays[token] = tor.screens.type(terminal, f"PAYM {token}"), self.life

    def _one_thing(self) -> None:
        rng = self.random
        pair, name, terminal, kind = rng.choice(PAIRS), rng.choice(NAMES), rng.choice(TERMINALS), rng.random()
        if kind < 0.5 or self.well:
            self.enter(terminal)
        elif kind < 0.6 and all(each in self for each in pair):
            step = rng.choice(STEPS)
            self.told.append(f"cut {pair} at {step}")
            self.link(pair).cut_at(step, nth=rng.randint(1, 2))
        elif kind < 0.75 and all(each in self for each in pair):
            self.told.append(f"restore {pair}")
            self.link(pair).restore()
        elif kind < 0.8 and name in self:
            self.told.append(f"{name} ends")
            self.end(name, clean=rng.random() < 0.3)
        elif kind < 0.95 and name not in self:
            self.begin(name)
        elif "TORREG" in self:
            self["TORREG"].set_terminal(terminal, servstatus="INSERVICE" if rng.random() < 0.6 else "OUTSERVICE")

    def operate(self) -> None:
        """What happens from outside: one thing after some dispatches."""
        for _ in range(self.random.randint(4, 14)):
            for _ in range(self.random.randint(0, 8)):
                self.complex.sysplex.dispatcher.yield_now()
            self._one_thing()

    def run(self) -> None:
        for _ in range(self.random.randint(1, 3)):
            self.complex.sysplex.dispatcher.spawn(self.operate, name="operator")
            self.complex.run()
        self.settle()

    def settle(self) -> None:
        """Nothing more goes wrong: all come together again, and the users enter what is waited for."""
        self.quiet = True
        self.told.append("all is well again")
        self.complex.run()
        for name in self.random.sample(NAMES, 3):
            if name not in self:
                self.begin(name)
        for pair in PAIRS:
            self.link(pair).restore()
            self.link(pair).cut()  # also forgets a cut at a message to come
            self.link(pair).restore()
        for _ in range(2 * len(self.scripts) + 2):
            for terminal in TERMINALS:
                self["TORREG"].set_terminal(terminal, servstatus="INSERVICE")
                self.enter(terminal, new=False)
            self.complex.run()

    # -- what must hold then --------------------------------------------------------------------------------------

    def contents(self) -> dict[str, Counter[bytes]]:
        found = {name: Counter(self[where].peek(name)) for name, where in PLACES.items()}
        found["QUEQ or SEEN"] = Counter(self["QORREG"].peek("QUEQ")) + Counter(self["QORREG"].peek("SEEN"))
        return found

    def check(self) -> None:
        assert self.complex.left() == []
        for name in NAMES:
            waiting = [facility for facility in self[name]._core.facilities.values() if facility.requests]
            assert waiting == [], f"{name}: {waiting}"
        found = self.contents()
        for token, script in self.scripts.items():
            counts = {name: each[token.encode()] for name, each in found.items()}
            assert counts in (dict.fromkeys(found, 0), dict.fromkeys(found, 1)), f"token {token}: {counts}"
            expected = self.expected(token, script)
            assert expected is None or counts["LOGA"] == expected, f"token {token}: {counts}, {expected} expected"
        before = self.contents()
        for name in NAMES:
            self.end(name, clean=False)
        for name in NAMES:
            self.begin(name)
        self.complex.run()
        assert self.contents() == before
        assert self.complex.left() == []
        self._check_trigger()

    def expected(self, token: str, script: str) -> int | None:
        """How often a token is there at the end; None if the failures leave both possible."""
        relay, life = self.relays[token]
        assert relay.done, relay
        error = relay.exception
        if script != "commits":
            return 0
        if isinstance(error, Abend):
            assert error.code in FAILURES, repr(error)
            assert error.code == "AKCS" or not self.well, repr(error)
            return None if error.code == "AZI6" else 0  # with any other code the routed task has backed out
        if error is not None:
            assert isinstance(error, RegionClosed), repr(error)
            return None
        shown = (sent.text for name in TERMINALS for sent in self["TORREG"].screens.screen(name).sent)
        return int(f"{token} done" in shown) if life == self.life else None

    def _check_trigger(self) -> None:
        """When nothing fails, a trigger starts its task at the terminal, however the last cycle has ended."""
        qor = self["QORREG"]
        with qor.task() as task, suppress(Condition):
            while True:
                task.readq_td("QUEQ")
        for _ in range(2):
            qor.writeq_td("QUEQ", b"last")
        self.complex.run()
        assert qor.peek("QUEQ") == []
        assert Counter(qor.peek("SEEN"))[b"last"] == 2
        assert self.complex.left() == []
