"""What an operator does to a queue, each with what it would meet now, by the commands' own rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from tdqsim.cics import Region
from tdqsim.cics.look.explain import Prediction
from tdqsim.server.console.controls import Block, Button, Control
from tdqsim.server.console.dialogs import confirmed
from tdqsim.server.console.frame import REFUSED, Visit
from tdqsim.server.console.queue_look import SETTABLE, as_value, foresee_set
from tdqsim.server.users import Role

__all__ = ["Actions"]

_WAYS: Final = {"text": "text", "hex": "hexadecimal"}
_MOST_SEEDS: Final = 1000
_GOES_ON: Final = ("NORMAL", "WAIT", "SHIPPED", "UNKNOWN")


@dataclass(slots=True)
class Actions:
    """The section of a queue's page in which something is done.

    Attributes:
        visit: whose page it is.
        region: where the queue is.
        name: the queue.
    """

    visit: Visit
    region: Region
    name: str
    _buttons: dict[str, Button] = field(default_factory=dict)
    _told: Any = None
    _record: Any = None
    _way: Any = None
    _option: Any = None
    _value: Any = None
    _foreseen: Any = None
    _seeds: Any = None

    def build(self) -> None:
        """Make it."""
        operate, break_ = self.visit.may(Role.operate), self.visit.may(Role.break_)
        with Block("section", "tdq-card", aria_label="Do something"):
            Block("h2", words="Do something")
            if operate:
                self._build_write()
                self._build_commands()
                self._build_set()
            if break_:
                self._build_seed()
            self._told = Block("p", "tdq-dim tdq-explain")

    def _build_write(self) -> None:
        with Block("div", "tdq-row"):
            self._record = Control("Record", mono=True, grow=True, on_enter=self.write)
            self._way = Control("Given as", "select", "text", options=_WAYS)
            self._add("WRITEQ TD", "WRITEQ TD", self.write)

    def _build_commands(self) -> None:
        with Block("div", "tdq-row"):
            self._add("READQ TD", "READQ TD", self.read)
            for value in ("ENABLED", "DISABLED"):
                self._add(f"SET TDQUEUE {value}", value.capitalize(), partial(self.set, "ENABLESTATUS", value), "plain")
            for value in ("OPEN", "CLOSED"):
                if self.region.tdqueues[self.name].type == "EXTRA":
                    self._add(
                        f"SET TDQUEUE {value}", value.capitalize(), partial(self.set, "OPENSTATUS", value), "plain"
                    )
            self._add("DELETEQ TD", "DELETEQ TD", self.clear, "danger")
            self._add("DISCARD TDQUEUE", "DISCARD TDQUEUE", self.discard, "danger")

    def _build_set(self) -> None:
        type_ = self.region.tdqueues[self.name].type
        options = {option: option for option, types in SETTABLE.items() if type_ in types}
        if not options:
            return
        with Block("div", "tdq-row"):
            self._option = Control(
                "Option of SET TDQUEUE", "select", next(iter(options)), options=options, on_change=self._look_ahead
            )
            self._value = Control("Value", on_change=self._look_ahead, on_enter=self.set_option)
            Button("SET TDQUEUE", self.set_option, kind="plain")
            self._foreseen = Block("span", "tdq-dim", aria_live="polite")

    def _build_seed(self) -> None:
        with Block("details"):
            Block("summary", words="Seed records, outside any task")
            with Block("div", "tdq-row"):
                self._seeds = Control("Records to seed, one a line", "area", mono=True, grow=True)
                Button("Seed", self.seed, kind="plain")

    def _add(self, command: str, label: str, act: Callable[[], Any], kind: str = "") -> None:
        self._buttons[command] = Button(label, act, kind=kind, title="" if label == command else command)

    def foresee(self, commands: Mapping[str, Prediction]) -> None:
        """Show what each would meet now."""
        lines = []
        for command, button in self._buttons.items():
            told = commands.get(command)
            if told is None:
                button.enable(False)
                continue
            button.enable(told.outcome in _GOES_ON)
            if told.outcome != "NORMAL" or told.reason:
                lines.append(str(told))
        self._told.say("\n".join(lines))

    # -- what is done ---------------------------------------------------------------------------------------------

    def _bytes(self, text: str) -> bytes:
        return bytes.fromhex(text) if self._way.value == "hex" else self.region.codepage.encode(text)

    async def write(self) -> None:
        """WRITEQ TD of the record that was typed."""
        text = self._record.value
        await self.visit.task(
            Role.operate, f"WRITEQ TD {self.name}", self.region,
            lambda task: task.writeq_td(self.name, self._bytes(text)),
        )  # fmt: skip

    async def read(self) -> None:
        """READQ TD: the first record is taken, and shown in the status line."""
        what = f"READQ TD {self.name}"
        record = await self.visit.task(Role.operate, what, self.region, lambda task: task.readq_td(self.name))
        if record is not REFUSED:
            self.visit.say(
                f"{what}: NORMAL, {len(record):,} bytes: {self.region.codepage.printable(record[:200])}", "ok"
            )

    async def clear(self) -> None:
        """DELETEQ TD, when it is meant."""
        if await confirmed(f"Delete all records of {self.name}?", "DELETEQ TD"):
            await self.visit.task(
                Role.operate, f"DELETEQ TD {self.name}", self.region, lambda task: task.deleteq_td(self.name)
            )

    async def discard(self) -> None:
        """DISCARD TDQUEUE, when it is meant."""
        if await confirmed(f"Discard the definition of {self.name}, with its records?", "DISCARD TDQUEUE"):
            await self.visit.task(
                Role.operate, f"DISCARD TDQUEUE {self.name}", self.region, lambda task: task.discard_tdqueue(self.name)
            )

    async def set(self, option: str, value: str) -> None:
        """SET TDQUEUE of one option."""
        what = f"SET TDQUEUE({self.name}) {option}({value})"

        def change(task: Any) -> None:
            task.set_tdqueue(self.name, **{option.lower(): as_value(option, value)})

        await self.visit.task(Role.operate, what, self.region, change)

    async def set_option(self) -> None:
        """SET TDQUEUE as chosen and typed."""
        await self.set(self._option.value, self._value.value)
        await self._look_ahead()

    async def _look_ahead(self) -> None:
        """Say what the SET would meet."""
        option, value = self._option.value, self._value.value
        if not value.strip():
            self._foreseen.say("")
            return
        userid = self.visit.caller.userid
        self._foreseen.say(await self.visit.ask(lambda: foresee_set(self.region, self.name, userid, option, value)))

    async def seed(self) -> None:
        """Put records on the queue outside any task."""
        lines = [line for line in self._seeds.value.split("\n") if line]
        if not 0 < len(lines) <= _MOST_SEEDS:
            self.visit.say(f"Seed {self.name}: 1 to {_MOST_SEEDS} lines are needed, {len(lines)} are there", "bad")
            return
        count = await self.visit.do(Role.break_, f"Seed {self.name}", lambda: self.region.seed(self.name, lines))
        if count is not REFUSED:
            self.visit.say(f"Seed {self.name}: {count} records", "ok")
