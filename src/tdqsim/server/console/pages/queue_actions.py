"""The commands on a queue, each with its predicted condition, by the rules of the command itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, TypeVar

from tdqsim.cics import Region, Task
from tdqsim.hosting import hex_bytes
from tdqsim.server.console.controls import Block, Button, Control, Handler, card
from tdqsim.server.console.dialogs import confirmed
from tdqsim.server.console.frame import REFUSED, ActionRefused, Visit
from tdqsim.server.console.queue_state import SETTABLE, as_value, predict_set
from tdqsim.server.operations import operation
from tdqsim.state import Prediction

T = TypeVar("T")

_WAYS: Final = {"text": "text", "hex": "hexadecimal"}
_MOST_SEEDS: Final = 1000
_EXECUTED: Final = ("NORMAL", "WAIT", "UNKNOWN")
"""The predictions with which a button is enabled."""


class Actions:
    """The section of a queue's page with the commands.

    Args:
        visit: the page.
        region: the region of the queue.
        name: the name of the queue.
    """

    def __init__(self, visit: Visit, region: Region, name: str) -> None:
        self.visit, self.region, self.name = visit, region, name
        self._buttons: dict[str, Button] = {}
        self._unpredicted: list[Button] = []

    def build(self) -> None:
        """Add the section to the page."""
        may_write, may_seed = self.visit.may(operation("WRITEQ TD")), self.visit.may(operation("SEED"))
        with card("Do something"):
            if may_write:
                self._build_write()
                self._build_commands()
                self._build_set()
            if may_seed:
                self._build_seed()
            self._remarks = Block("p", "tdq-dim tdq-explain")

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
                "Option of SET TDQUEUE", "select", next(iter(options)), options=options, on_change=self._predict_set
            )
            self._value = Control("Value", on_change=self._predict_set, on_enter=self.set_option)
            self._unpredicted.append(Button("SET TDQUEUE", self.set_option, kind="plain"))
            self._predicted = Block("span", "tdq-dim", aria_live="polite")

    def _build_seed(self) -> None:
        with Block("details"):
            Block("summary", words="Seed records, outside any task")
            with Block("div", "tdq-row"):
                self._seeds = Control("Records to seed, one a line", "area", mono=True, grow=True)
                self._unpredicted.append(Button("Seed", self.seed, kind="plain"))

    def _add(self, command: str, label: str, act: Handler, kind: str = "") -> None:
        self._buttons[command] = Button(label, act, kind=kind, title="" if label == command else command)

    def predict(self, commands: Mapping[str, Prediction] | None) -> None:
        """Show the predicted condition of each command, and enable its button if it would be executed.

        Args:
            commands: the predictions by command; None if the queue is not installed, which disables all buttons.
        """
        lines = []
        for button in self._unpredicted:
            button.enable(commands is not None)
        for command, button in self._buttons.items():
            prediction = (commands or {}).get(command)
            if prediction is None:
                button.enable(False)
                continue
            button.enable(prediction.outcome in _EXECUTED)
            if prediction.outcome != "NORMAL" or prediction.reason:
                lines.append(str(prediction))
        self._remarks.say("\n".join(lines))

    # -- actions -------------------------------------------------------------------------------------------------

    def _bytes(self, text: str) -> bytes:
        return hex_bytes(text) if self._way.text == "hex" else self.region.options.code_page.encode(text)

    async def _task(self, name: str, action: Callable[[Task], T], **parts: object) -> T | ActionRefused:
        """One command on the queue as a separate task."""
        return await self.visit.task(operation(name), self.region, action, queue=self.name, **parts)

    async def write(self) -> None:
        """WRITEQ TD of the typed record."""
        text = self._record.text
        await self._task("WRITEQ TD", lambda task: task.writeq_td(self.name, self._bytes(text)))

    async def read(self) -> None:
        """READQ TD; the status line shows the record."""
        record = await self._task("READQ TD", lambda task: task.readq_td(self.name))
        if record is not REFUSED:
            what = operation("READQ TD").text(queue=self.name)
            self.visit.say(
                f"{what}: NORMAL, {len(record):,} bytes: {self.region.options.code_page.printable(record[:200])}", "ok"
            )

    async def clear(self) -> None:
        """DELETEQ TD, after a confirmation."""
        if await confirmed(f"Delete all records of {self.name}?", "DELETEQ TD"):
            await self._task("DELETEQ TD", lambda task: task.deleteq_td(self.name))

    async def discard(self) -> None:
        """DISCARD TDQUEUE, after a confirmation."""
        if await confirmed(f"Discard the definition of {self.name}, with its records?", "DISCARD TDQUEUE"):
            await self._task("DISCARD TDQUEUE", lambda task: task.discard_tdqueue(self.name))

    async def set(self, option: str, value: str) -> None:
        """SET TDQUEUE of one option."""

        def change(task: Task) -> None:
            changes: dict[str, Any] = {option.lower(): as_value(option, value)}
            task.set_tdqueue(self.name, **changes)

        await self._task("SET TDQUEUE", change, option=option, value=value)

    async def set_option(self) -> None:
        """SET TDQUEUE with the selected option and the typed value."""
        await self.set(self._option.text, self._value.text)
        await self._predict_set()

    async def _predict_set(self) -> None:
        """Show the predicted condition of the SET."""
        option, value = self._option.text, self._value.text
        if not value.strip():
            self._predicted.say("")
            return
        userid = self.visit.caller.userid
        self._predicted.say(await self.visit.ask(lambda: predict_set(self.region, self.name, userid, option, value)))

    async def seed(self) -> None:
        """Add records to the queue outside any task."""
        lines = [line for line in self._seeds.text.split("\n") if line]
        if not 0 < len(lines) <= _MOST_SEEDS:
            self.visit.say(f"Seed {self.name}: expected 1 to {_MOST_SEEDS} lines, got {len(lines)}", "bad")
            return
        count = await self.visit.do(operation("SEED"), lambda: self.region.seed(self.name, lines), queue=self.name)
        if count is not REFUSED:
            self.visit.say(f"Seed {self.name}: {count} records", "ok")
