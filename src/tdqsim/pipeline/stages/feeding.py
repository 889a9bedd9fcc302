"""Feeding one region, or one IBM i system, its events in order, and taking down every response."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa

from tdqsim.cics import Abend, Condition, Region, Task
from tdqsim.cics.queues import IntraQueue
from tdqsim.core.clock import Clock
from tdqsim.errors import TdqError
from tdqsim.ibmi import EscapeMessage, System
from tdqsim.pipeline.stages.depths import Depths
from tdqsim.pipeline.stages.tables import Rows

__all__ = ["BEFORE", "IBMI_COMMANDS", "CicsFeed", "IbmiFeed", "RecordedClock"]

BEFORE: Final = ("DD", "SEED", "EXPECT")
"""Commands that are no commands: what is there before the start, and what must be there at the end."""

IBMI_COMMANDS: Final = ("QSNDDTAQ", "QSNDDTAQ JE", "QRCVDTAQ", "QCLRDTAQ")
NORMAL: Final = "NORMAL"
FAILED: Final = "ERROR"
_COLUMNS: Final = ("seq", "time_us", "task", "tran", "command", "queue", "key", "data", "resp", "resp2")


class RecordedClock(Clock):
    """A clock that only events and simulated waits move: the same run gives the same times.

    Args:
        start_ns: nanoseconds since 1970 UTC at which it begins.
    """

    __slots__ = ("_start_ns",)

    def __init__(self, start_ns: int) -> None:
        super().__init__(simulated=True)
        self._start_ns = start_ns

    def time_ns(self) -> int:
        """The start, and the jumps made since."""
        return self._start_ns + self._jumped_ns


class _Feed:
    """What both kinds have in common: rows of responses."""

    def __init__(self, clock: Clock, results: Rows, depths: Depths) -> None:
        self.clock = clock
        self.results = results
        self.depths = depths
        self.events = 0
        self.unexpected = 0

    def feed(self, batch: pa.RecordBatch) -> None:
        """A batch of events, in order."""
        if set(batch.column("command").unique().to_pylist()) <= set(BEFORE):
            return
        columns = [batch.column(batch.schema.get_field_index(name)).to_pylist() for name in _COLUMNS]
        for event in zip(*columns, strict=True):
            if event[4] not in BEFORE:
                self._one(*event)

    def _one(
        self, seq: int, time_us: int | None, task: int | None, tran: str | None, command: str, queue: str | None,
        key: bytes | None, data: bytes | None, resp: str | None, resp2: int | None,
    ) -> None:  # fmt: skip
        if time_us:
            self.clock.advance_to(time_us * 1000)
        given, given2, cause, out = NORMAL, 0, None, None
        try:
            out = self._issue(task or 0, tran or "", command, queue or "", key, data)
        except Condition as condition:
            given, given2, out = condition.resp.name, condition.resp2, condition.data or None
        except Abend as abend:
            given, cause = abend.code, str(abend)
        except EscapeMessage as escape:
            given, cause = escape.message_id, escape.text
        except TdqError as error:
            given, cause = FAILED, str(error)
        except (TypeError, ValueError, KeyError) as error:  # a poisoned event: a row, and on with the next one
            given, cause = FAILED, f"event {seq}: {type(error).__name__}: {error}"
        expected = None if resp is None and resp2 is None else (resp or given, given2 if resp2 is None else resp2)
        right = None if expected is None else expected == (given, given2)
        self.unexpected += right is False
        self.events += 1
        depth = self._depth(queue or "")
        now = self.clock.time_ns() // 1000
        if depth is not None:
            self.depths.sample(queue or "", seq, now, depth)
        length = None if out is None else len(out)
        self.results.add(seq, now, task, command, queue, given, given2, right, length, out, depth, cause)

    def _issue(
        self, task: int, tran: str, command: str, queue: str, key: bytes | None, data: bytes | None
    ) -> bytes | None:
        raise NotImplementedError

    def _depth(self, queue: str) -> int | None:
        raise NotImplementedError


class CicsFeed(_Feed):
    """Feeds a region.

    Args:
        region: the region.
        results: where responses go.
        depths: where depths go.
    """

    def __init__(self, region: Region, results: Rows, depths: Depths) -> None:
        super().__init__(region.clock, results, depths)
        self.region = region
        self.tasks: dict[int, Task] = {}
        self._ends: dict[str, Callable[[Task], None]] = {
            "SYNCPOINT": lambda task: task.syncpoint(),
            "SYNCPOINT ROLLBACK": lambda task: task.syncpoint_rollback(),
        }

    def _issue(
        self,
        task: int,
        tran: str,
        command: str,
        queue: str,
        key: bytes | None,  # noqa: ARG002
        data: bytes | None,
    ) -> bytes | None:
        actor: Any = self._task(task, tran) if task else self.region
        if command == "WRITEQ TD":
            actor.writeq_td(queue, data or b"")
            return None
        if command == "READQ TD":
            return bytes(actor.readq_td(queue))
        if command == "DELETEQ TD":
            actor.deleteq_td(queue)
            return None
        if command == "START":
            self.region.start(tran, data=data)
            self.region.dispatcher.run_ready()
            return None
        if command == "EXEC CICS":
            self._execute(actor, data or b"")
            return None
        if task and command in ("RETURN", "ABEND", *self._ends):
            self._end(task, command)
            return None
        raise TdqError(f"command {command!r} with task {task}: there is no such event; see tdq guide pipeline")

    def _execute(self, actor: Any, text: bytes) -> None:
        line = text.decode("ascii", "backslashreplace")
        if isinstance(actor, Region):
            with actor.task() as alone:
                alone.execute(line)
        else:
            actor.execute(line)

    def _task(self, number: int, tran: str) -> Task:
        found = self.tasks.get(number)
        if found is None:
            found = self.tasks[number] = self.region.task(transid=tran) if tran else self.region.task()
            found.__enter__()
        return found

    def _end(self, number: int, command: str) -> None:
        task = self.tasks[number]
        if command in self._ends:
            self._ends[command](task)
            return
        del self.tasks[number]
        error = Abend("ASRA") if command == "ABEND" else None
        task.__exit__(None if error is None else Abend, error, None)

    def _depth(self, queue: str) -> int | None:
        found = self.region.tdqueues.get(queue)
        return found.numitems if isinstance(found, IntraQueue) else None

    def finish(self) -> None:
        """The events are over: tasks that are still on end normally, and whatever waits for time runs."""
        for number in list(self.tasks):
            task = self.tasks.pop(number)
            task.__exit__(None, None, None)
        self.region.run()


class IbmiFeed(_Feed):
    """Feeds an IBM i system, from one job.

    Args:
        system: the system.
        results: where responses go.
        depths: where depths go.
    """

    def __init__(self, system: System, results: Rows, depths: Depths) -> None:
        super().__init__(system.clock, results, depths)
        self.system = system
        self.job = system.job("REPLAY")
        self._queues = {f"{queue.library}/{queue.name}": queue for queue in system.queues()}

    def _issue(
        self,
        task: int,  # noqa: ARG002
        tran: str,  # noqa: ARG002
        command: str,
        queue: str,
        key: bytes | None,
        data: bytes | None,
    ) -> bytes | None:
        library, _, name = queue.rpartition("/")
        library = library or "*LIBL"
        if command == "QSNDDTAQ":
            self.job.qsnddtaq(name, library, data or b"", key)
            return None
        if command == "QSNDDTAQ JE":
            self.job.qsnddtaq(name, library, data or b"", from_journal_entry=True)
            return None
        if command == "QRCVDTAQ":
            entry = self.job.qrcvdtaq(name, library, 0, "EQ", key)
            return None if entry is None else bytes(entry.data)
        if command == "QCLRDTAQ":
            self.job.qclrdtaq(name, library, "EQ", key)
            return None
        raise TdqError(f"command {command!r}: an IBM i system knows {', '.join(IBMI_COMMANDS)}")

    def _depth(self, queue: str) -> int | None:
        found = self._queues.get(queue)
        return None if found is None or found.ddm else found.stored.count

    def finish(self) -> None:
        """The events are over."""
        self.system.run()
        self.job.end()
