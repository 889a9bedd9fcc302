"""The commands on a queue, each with the condition it would get now, by the commands' own rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, TypeVar

from tdqsim.cics import Region, Task
from tdqsim.cics.look.explain import Prediction
from tdqsim.core.hexadecimal import hex_bytes
from tdqsim.server.console.controls import Block, Button, Control, Handler
from tdqsim.server.console.dialogs import confirmed
from tdqsim.server.console.frame import REFUSED, ActionRefused, Visit
from tdqsim.server.console.queue_look import SETTABLE, as_value, foresee_set
from tdqsim.server.operations import operation

__all__ = ["Actions"]

T = TypeVar("T")

_WAYS: Final = {"text": "text", "hex": "hexadecimal"}
_MOST_SEEDS: Final = 1000
_GOES_ON: Final = ("NORMAL", "WAIT", "SHIPPED", "UNKNOWN")


@dataclass(slots=True, repr=False)
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
    _unforeseen: list[Button] = field(default_factory=list)
    _told: Block = field(init=False)
    _record: Control = field(init=False)
    _way: Control = field(init=False)
    _option: Control = field(init=False)
    _value: Control = field(init=False)
    _foreseen: Block = field(init=False)
    _seeds: Control = field(init=False)

    def build(self) -> None:
        """Make it."""
        may_write, may_seed = self.visit.may(operation("WRITEQ TD")), self.visit.may(operation("SEED"))
        with Block("section", "tdq-card", aria_label="Do something"):
            Block("h2", words="Do something")
            if may_write:
                self._build_write()
                self._build_commands()
                self._build_set()
            if may_seed:
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
            self._unforeseen.append(Button("SET TDQUEUE", self.set_option, kind="plain"))
            self._foreseen = Block("span", "tdq-dim", aria_live="polite")

    def _build_seed(self) -> None:
        with Block("details"):
            Block("summary", words="Seed records, outside any task")
            with Block("div", "tdq-row"):
                self._seeds = Control("Records to seed, one a line", "area", mono=True, grow=True)
                self._unforeseen.append(Button("Seed", self.seed, kind="plain"))

    def _add(self, command: str, label: str, act: Handler, kind: str = "") -> None:
        self._buttons[command] = Button(label, act, kind=kind, title="" if label == command else command)

    def foresee(self, commands: Mapping[str, Prediction] | None) -> None:
        """Show the condition that each command would get now.

        Args:
            commands: by their names; None where the queue is not installed, so that nothing can be done.
        """
        lines = []
        for button in self._unforeseen:
            button.enable(commands is not None)
        for command, button in self._buttons.items():
            told = (commands or {}).get(command)
            if told is None:
                button.enable(False)
                continue
            button.enable(told.outcome in _GOES_ON)
            if told.outcome != "NORMAL" or told.reason:
                lines.append(str(told))
        self._told.say("\n".join(lines))

    # -- what is done ---------------------------------------------------------------------------------------------

    def _bytes(self, text: str) -> bytes:
        return hex_bytes(text) if self._way.text == "hex" else self.region.codepage.encode(text)

    async def _task(self, name: str, action: Callable[[Task], T], **parts: object) -> T | ActionRefused:
        """One command on the queue as a task of its own."""
        return await self.visit.task(operation(name), self.region, action, queue=self.name, **parts)

    async def write(self) -> None:
        """WRITEQ TD of the record that was typed."""
        text = self._record.text
        await self._task("WRITEQ TD", lambda task: task.writeq_td(self.name, self._bytes(text)))

    async def read(self) -> None:
        """READQ TD: the first record is taken, and shown in the status line."""
        record = await self._task("READQ TD", lambda task: task.readq_td(self.name))
        if record is not REFUSED:
            what = operation("READQ TD").text(queue=self.name)
            self.visit.say(
                f"{what}: NORMAL, {len(record):,} bytes: {self.region.codepage.printable(record[:200])}", "ok"
            )

    async def clear(self) -> None:
        """DELETEQ TD, when it is meant."""
        if await confirmed(f"Delete all records of {self.name}?", "DELETEQ TD"):
            await self._task("DELETEQ TD", lambda task: task.deleteq_td(self.name))

    async def discard(self) -> None:
        """DISCARD TDQUEUE, when it is meant."""
        if await confirmed(f"Discard the definition of {self.name}, with its records?", "DISCARD TDQUEUE"):
            await self._task("DISCARD TDQUEUE", lambda task: task.discard_tdqueue(self.name))

    async def set(self, option: str, value: str) -> None:
        """SET TDQUEUE of one option."""

        def change(task: Task) -> None:
            changes: dict[str, Any] = {option.lower(): as_value(option, value)}
            task.set_tdqueue(self.name, **changes)

        await self._task("SET TDQUEUE", change, option=option, value=value)

    async def set_option(self) -> None:
        """SET TDQUEUE as chosen and typed."""
        await self.set(self._option.text, self._value.text)
        await self._look_ahead()

    async def _look_ahead(self) -> None:
        """Show the condition that the SET would get."""
        option, value = self._option.text, self._value.text
        if not value.strip():
            self._foreseen.say("")
            return
        userid = self.visit.caller.userid
        self._foreseen.say(await self.visit.ask(lambda: foresee_set(self.region, self.name, userid, option, value)))

    async def seed(self) -> None:
        """Put records on the queue outside any task."""
        lines = [line for line in self._seeds.text.split("\n") if line]
        if not 0 < len(lines) <= _MOST_SEEDS:
            self.visit.say(f"Seed {self.name}: 1 to {_MOST_SEEDS} lines are needed, {len(lines)} are there", "bad")
            return
        count = await self.visit.do(operation("SEED"), lambda: self.region.seed(self.name, lines), queue=self.name)
        if count is not REFUSED:
            self.visit.say(f"Seed {self.name}: {count} records", "ok")
