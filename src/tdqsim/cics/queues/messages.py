"""Messages that CICS writes to its own queues, CSMT, CSSL, CSQL and the like, and to the console.

The texts are in ``facts/kernel_messages.tsv``. A message is written like any WRITEQ, through aliases too, but a message
that cannot be written never fails the command: if its queue is missing, closed or full it is only logged. Messages to
the console are kept with those of WRITE OPERATOR in ``region.diagnostics.operator``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, cast

from tdqsim.cics.kernel.abstime import abstime, local_time
from tdqsim.cics.kernel.conditions import Condition
from tdqsim.cics.kernel.task import TaskBase, take_syncpoint
from tdqsim.cics.model.queue import ExtraTdQueue, IntraTdQueue, TdQueue
from tdqsim.cics.model.region import RegionData
from tdqsim.cics.queues.state_table import final_target
from tdqsim.cics.queues.td import writeq_td
from tdqsim.errors import TdqError
from tdqsim.facts import LIMITS, Cvda, table

_CONSOLE: Final = "Console"
_ROWS: Final = {row["id"]: row for row in table("kernel_messages")}
_LINE: Final = int(next(row["value"] for row in table("kernel") if row["name"] == "spool_line"))


class _Inserts(dict[str, object]):
    def __missing__(self, key: str) -> str:
        return "????"


class _NotWritten(TdqError):
    """A message cannot be written to its queue now."""


class Messages:
    """The messages of one region.

    Attributes:
        listeners: called with the id and the inserts of each message, before it is written.
    """

    __slots__ = ("_busy", "_region", "listeners")

    def __init__(self, region: RegionData) -> None:
        self._region = region
        self.listeners: list[Callable[[str, Mapping[str, object]], object]] = []
        self._busy = False

    def write(self, message: str, **inserts: object) -> None:
        """Write a message by its ID, such as DFHAC2236, with its inserts."""
        self.text(_ROWS[message]["destination"], self.compose(message, **inserts))

    def show(self, terminal: str, message: str, **inserts: object) -> None:
        """Show a message by its ID to the user of a terminal."""
        self._region.screens.screen(terminal).show(self.compose(message, **inserts))

    def compose(self, message: str, **inserts: object) -> str:
        """Log a message and return its text, without writing it to its destination."""
        region = self._region
        row = _ROWS[message]
        for listener in self.listeners:
            listener(message, inserts)
        text = self.shown(message, inserts)
        region.log.info("message", id=message, destination=row["destination"], text=text)
        now = local_time(abstime(region.clock.time_ns(), region.zone))
        from_region = {"date": f"{now:%m/%d/%Y}", "time": f"{now:%H:%M:%S}", "applid": region.applid}
        if region.machine is not None:
            message = region.machine.messages.get(message, message)
        return " ".join((message, *(from_region[name] for name in row["head"].split()), text))

    @staticmethod
    def shown(message: str, inserts: Mapping[str, object]) -> str:
        """The text of a message, without what comes from the region; empty and missing inserts are shown as ????."""
        row = _ROWS[message]
        shown = _Inserts({name: value for name, value in inserts.items() if value != ""})
        shown |= dict.fromkeys(set(row["without"].split()) - shown.keys(), "")
        return row["text"].format_map(shown).lstrip()

    def text(self, destination: str, text: str, prefix: str = "") -> bool:
        """Write a line of text to the console or to a queue, in pieces if it is longer than the queue's records.

        Args:
            destination: the queue, or Console.
            text: the line.
            prefix: text before each piece.

        Returns:
            Whether the line was written.
        """
        if destination == _CONSOLE:
            self._region.diagnostics.operator.append(prefix + text)
            return True
        if self._busy or self._region.closed:
            return False  # reporting this with a message could recurse without end
        self._busy = True
        try:
            self._put(destination, self._region.encode(text), self._region.encode(prefix))
        except TdqError as error:
            self._region.log.warning("message_lost", destination=destination, text=text, reason=str(error))
            return False
        finally:
            self._busy = False
        return True

    def _put(self, destination: str, data: bytes, prefix: bytes) -> None:
        queue = final_target(self._region, destination)
        line = max(1, _line_length(queue) - len(prefix))
        lines = [prefix + data[start : start + line] for start in range(0, max(len(data), bool(prefix)), line)]
        if self._region.exits.enabled and isinstance(queue, IntraTdQueue | ExtraTdQueue):
            lines = self._region.exits.message_lines(queue.name, lines)
        for each in lines:
            self._put_record(queue, each)

    def _put_record(self, queue: TdQueue, record: bytes) -> None:
        if isinstance(queue, ExtraTdQueue):
            if queue.openstatus is not Cvda.OPEN or not queue.output or queue.file is None:
                raise _NotWritten(f"queue {queue.name} is not open for output")
            definition = queue.definition
            if definition.recordformat == "FIXED" and definition.recordsize:
                record = record.ljust(definition.recordsize, self._region.encode(" "))
            queue.file.write(None, record)
            queue.writes += 1
        elif isinstance(queue, IntraTdQueue):
            if queue.uncommitted:
                raise _NotWritten(f"queue {queue.name} is being written by a unit of work, and a message does not wait")
            task = cast("TaskBase", self._region.task_manager.system())
            try:
                writeq_td(task, queue.name, record)
                take_syncpoint(task)
            except Condition as condition:
                raise _NotWritten(str(condition)) from condition
        else:
            raise _NotWritten(f"queue {queue.name} is remote")


def _line_length(queue: TdQueue) -> int:
    """The longest record the queue takes."""
    if isinstance(queue, ExtraTdQueue) and queue.definition.recordformat and queue.definition.recordsize > 1:
        size: int = queue.definition.recordsize
        return max(1, size - LIMITS["rdw_length"] if queue.definition.recordformat == "VARIABLE" else size)
    return _LINE
