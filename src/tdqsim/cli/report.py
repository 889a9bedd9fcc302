"""The output of ``tdq run`` at its end: every queue by INQUIRE, depth and throughput, figures and checks of the job."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tdqsim.cli import on_demand
from tdqsim.cli.output import emit, emit_table

if TYPE_CHECKING:
    from tdqsim.cics import Region
    from tdqsim.job import Check, JobResult

_Row = dict[str, Any]
"""INQUIRE and statistics of a queue, by name."""
_COLUMNS: Final = ("TDQUEUE", "TYPE", "STATE", "NUMITEMS", "TRIGGERLEVEL", "DD / TARGET")
MESSAGES: Final = "MSGUSR"  # the DD of CSSL, to which CICS messages are written
_DEPTHS: Final = ("TDQUEUE", "writes", "reads", "deepest", "trigger tasks", "records/s")


@dataclass
class Report:
    """The outcome of a run.

    Attributes:
        applid, sysid: the region.
        seconds: the time of its work, without the generation of input.
        queues: INQUIRE and statistics of each queue, in browse order.
        tasks: the number of tasks.
        abends: a description of each task that ended abnormally, and of what did not happen, such as OPEN at install.
        waiting: a description of each task that was still waiting at the end.
        figures: the figures that the job reports.
        checks: the checks of the job.
        output: the directory of data sets that no DD card names.
    """

    applid: str
    sysid: str
    seed: int
    seconds: float
    queues: list[_Row]
    tasks: int
    abends: list[str]
    waiting: list[str]
    figures: dict[str, Any] = field(default_factory=dict)
    checks: tuple[Check, ...] = ()
    work: int = 0
    output: Path | None = None

    @classmethod
    def of(cls, region: Region, *, seed: int, seconds: float, tasks: int, abends: list[str]) -> Report:
        """The report of a region whose work is done."""
        collected = {record["name"]: record for record in region.statistics.now().queues}
        queues = []
        for info in region.browse_tdqueue():
            name = info.tdqueue.rstrip()
            counted = collected[name]
            counts = {key: counted[key] for key in ("writes", "reads", "deletes", "triggers", "peak_items")}
            queues.append({"TDQUEUE": name, **info.as_dict(plain=True), **counts})
        # Tasks of the region that wait for records that no task will write.
        core, fibers = on_demand.internals.core_of(region), region.dispatcher.fibers
        own = [(fiber.name, fiber.waiting_for) for fiber in fibers if fiber.owner is core]
        waiting = [f"{name} waits for {queue.name}" for name, queue in own if queue is not None]
        return cls(region.applid, region.options.sysid, seed, seconds, queues, tasks, abends, waiting)

    def take(self, result: JobResult) -> None:
        """Add the result of the job."""
        self.figures, self.checks, self.work = result.figures, result.checks, result.work

    @property
    def ok(self) -> bool:
        """Whether no task abended, no task waits, and every check passed."""
        return not self.abends and not self.waiting and all(check.ok for check in self.checks)

    @property
    def commands(self) -> int:
        """The number of READQ, WRITEQ and DELETEQ TD commands that ended normally."""
        return sum(queue[name] for queue in self.queues for name in ("writes", "reads", "deletes"))

    def as_dict(self) -> dict[str, object]:
        """All of the report, for one line of JSON; the figures of the job come first."""
        used = [queue for queue in self.queues if _used(queue)]
        return {
            **self.figures,
            "ok": self.ok,
            "checks": {check.name: check.ok for check in self.checks},
            "applid": self.applid,
            "sysid": self.sysid,
            "seed": self.seed,
            "seconds": round(self.seconds, 3),
            "records_per_second": self._rate(self.work),
            "td_commands": self.commands,
            "tasks": self.tasks,
            "abends": self.abends,
            "waiting": self.waiting,
            "output": None if self.output is None else str(self.output),
            "queues": [{name: queue[name] for name in _JSON_QUEUE} for queue in used],
        }

    def _rate(self, count: int) -> int:
        return round(count / self.seconds) if self.seconds > 0 else 0

    def inquired(self) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
        """INQUIRE of the queues that were used or are not supplied ones: column names and rows."""
        return _COLUMNS, [_inquired(queue) for queue in self.queues if _used(queue)]

    def show(self) -> None:
        """Print the report: tables, then figures, then checks."""
        used = [queue for queue in self.queues if _used(queue)]
        emit_table(*self.inquired(), title=f"INQUIRE TDQUEUE in {self.applid}")
        idle = len(self.queues) - len(used)
        if idle:
            emit(f"and {idle} supplied queues that were never used")
        emit()
        emit_table(_DEPTHS, map(self._depth, used), title="Depth and throughput")
        emit(
            f"{self.tasks:,} tasks and {self.commands:,} TD commands in {self.seconds:.2f} s"
            f" = {self._rate(self.commands):,} commands/s"
            + (f", {self._rate(self.work):,} records/s" if self.work else "")
        )
        self._show_outcome()

    def _show_outcome(self) -> None:
        for line in (*self.abends, *self.waiting):
            emit(line)
        if self.figures:
            emit()
            emit_table(
                ("figure", "value"), ((name, _figure(value)) for name, value in self.figures.items()), title="Result"
            )
        if self.checks:
            emit()
            emit_table(
                ("check", "", "seen"), ((each.name, "ok" if each.ok else "WRONG", each.detail) for each in self.checks)
            )
        if self.output is not None:
            self._show_place(self.output)

    def _show_place(self, output: Path) -> None:
        if any(each.name != MESSAGES and not each.name.startswith(".") for each in output.iterdir()):
            emit(f"data sets are in {output}")
        elif (messages := output / MESSAGES).is_file() and messages.stat().st_size:
            emit(f"the messages of CICS are in {messages}")

    def _depth(self, queue: _Row) -> tuple[object, ...]:
        intra = queue["TYPE"] == "INTRA"
        passed = max(queue["writes"], queue["reads"])
        return (
            queue["TDQUEUE"], queue["writes"], queue["reads"], queue["peak_items"] if intra else "",
            queue["triggers"] if intra else "", self._rate(passed) if passed else "",
        )  # fmt: skip


_JSON_QUEUE: Final = (
    "TDQUEUE",
    "TYPE",
    "ENABLESTATUS",
    "NUMITEMS",
    "writes",
    "reads",
    "deletes",
    "triggers",
    "peak_items",
)


def _used(queue: _Row) -> bool:
    """Whether a queue was used or is not a supplied one; most supplied queues are not used."""
    supplied = queue["INSTALLAGENT"] == "SYSTEM" or queue["DEFINESOURCE"].startswith("DFH")
    return not supplied or queue["NUMITEMS"] > 0 or any(queue[name] for name in ("writes", "reads", "deletes"))


def _inquired(queue: _Row) -> tuple[object, ...]:
    state = " ".join(
        word for word in (queue["ENABLESTATUS"], queue["OPENSTATUS"], queue["EMPTYSTATUS"]) if _applies(word)
    )
    target = next((queue[name] for name in ("DDNAME", "INDIRECTNAME", "REMOTESYSTEM") if queue[name].strip()), "")
    numbers = (_number(queue[name]) for name in ("NUMITEMS", "TRIGGERLEVEL"))
    return (queue["TDQUEUE"], queue["TYPE"], state, *numbers, target)


def _applies(word: str) -> bool:
    return word not in ("NOTAPPLIC", "IGNORE")


def _number(value: int) -> str:
    return "" if value == -1 else str(value)


def _figure(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}: {each}" for name, each in value.items()) or "none"
    return value.name if isinstance(value, Enum) else str(value)
