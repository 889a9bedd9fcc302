"""When a debugger stops a program, and what it asks while the program is stopped.

The programs call :meth:`DebugSession.on_statement` before each statement and command. To stop one, that call does not
return: the thread of the region carries out what the debugger asks (:meth:`DebugSession.ask`), one call after another,
until the debugger continues it. So storage is only read and changed by the thread that owns it, and only while nothing
else changes it. Meanwhile no task of the region, nor of its engine, runs, and a simulated clock stands still.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from queue import Empty, SimpleQueue
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, TypeVar

from tdqsim.cics import Abend, Condition
from tdqsim.cobol.debug_breakpoints import AnyBreakpoint, Breakpoints
from tdqsim.cobol.debug_frames import Depth, ProgramFrame, depth_of, frames_of, levels_of, storage_at
from tdqsim.cobol.debug_variables import StorageItem
from tdqsim.errors import TdqError
from tdqsim.languages import TaskInternals

if TYPE_CHECKING:
    from tdqsim.cics import Task
    from tdqsim.cobol.level import Level

T = TypeVar("T")
_PROGRAM_CHECK: Final = "ASRA"
_IN: Final = "stepIn"
_OUT: Final = "stepOut"
_HANDLES: Final = 100_000
"""The number of variables with parts that a client can expand during one stop."""


class NotStopped(TdqError):
    """The debugger asks for something that only a stopped program has."""


@dataclass(frozen=True, slots=True)
class DebugStop:
    """Why a program has stopped.

    Attributes:
        thread: the number of the task among those that the session has seen.
        reason: breakpoint, function breakpoint, step, pause, entry or exception.
        text: the statement, the command or the abend.
    """

    thread: int
    reason: str
    text: str


@dataclass(frozen=True, slots=True)
class _Step:
    task: Task
    mode: str
    depth: Depth


def _code(error: Exception) -> str:
    """The abend code of an exception that leaves a program."""
    if isinstance(error, Abend):
        return error.code
    return (error.abend_code if isinstance(error, Condition) else "") or _PROGRAM_CHECK


class DebugSession:
    """The stops of one debugger.

    Args:
        stopped: called with each stop, in the thread of the region.
        verified: called with the breakpoints that a program verifies when it first runs.

    Attributes:
        breakpoints: the breakpoints.
    """

    def __init__(
        self,
        stopped: Callable[[DebugStop], object],
        verified: Callable[[AnyBreakpoint], object],
    ) -> None:
        self.breakpoints = Breakpoints()
        self._tell_stopped = stopped
        self._tell_verified = verified
        self._lock = Lock()
        self._open = True
        self._held = False
        self._pause = ""
        self._step: _Step | None = None
        self._last: tuple[Task | None, int, str, str] = (None, 0, "", "")
        self._on_line = 0
        self._work: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        self._tasks: dict[int, Task] = {}
        self._seen = 0
        self._stopped: tuple[Task, str] | None = None
        self._frames: list[ProgramFrame] = []
        self._nodes: list[StorageItem | list[StorageItem]] = []

    # -- the thread of the region -------------------------------------------------------------------------------------

    def on_statement(self, level: Level, what: str, place: str) -> None:
        """DebugStop before a statement or command if a breakpoint, a step or a pause asks for it."""
        if not self._open:
            return
        for each in self.breakpoints.meet(level.module_of(level.running)) or ():
            self._tell_verified(each)
        reason, why = self._reason(level, what, place)
        if reason:
            self._hold(level.task, place, reason, why or what)

    def _reason(self, level: Level, what: str, place: str) -> tuple[str, str]:
        """Why to stop: the reason, empty for none, and a text about it."""
        task, run = level.task, level.run_number
        last, self._last = self._last, (task, run, place, what)
        same_line = last[:3] == (task, run, place)
        before = self._on_line if same_line else 0
        self._on_line = self.breakpoints.place_on_line(place, what, before)
        if self._pause:
            return self._pause, ""
        step = self._step
        if step is not None and step.task is task and self._is_reached(step, level):
            return "step", ""
        # the second statement on a line is not an arrival at that line; the same statement again is one, in a loop
        again = self._on_line <= before if self._on_line else last[3] == what
        arrives = not same_line or again
        found = self.breakpoints.at_place(place) if arrives else []
        if what.startswith("EXEC "):
            found = [*found, *self.breakpoints.at_command(what)]
        if not found:
            return "", ""
        storage = storage_at(level, level.module_of(level.running))
        stops = [(each.reason, *each.condition.stops(storage)) for each in found]  # all of them count
        return next(((reason, why) for reason, stop, why in stops if stop), ("", ""))

    @staticmethod
    def _is_reached(step: _Step, level: Level) -> bool:
        if step.mode == _IN:
            return True
        depth = depth_of(level)
        return depth < step.depth if step.mode == _OUT else depth <= step.depth

    def on_abend(self, level: Level, error: BaseException, *, handled: bool) -> None:
        """DebugStop where a program abends, if the client asks for it."""
        if not self._open or not isinstance(error, Exception) or vars(error).get("cobol_stopped"):
            return
        code = _code(error)
        if self.breakpoints.at_abend(code, handled=handled):
            vars(error)["cobol_stopped"] = True  # an abend passes every level of the task, and stops once
            text = str(error) if isinstance(error, Abend) else f"abend {code}: {error}"
            self._hold(level.task, "", "exception", text)

    def _hold(self, task: Task, place: str, reason: str, text: str) -> None:
        """Serve the requests of the debugger until it continues the program."""
        with self._lock:
            if not self._open:
                return
            self._pause, self._step = "", None
            self._held = True
            self._stopped = (task, place)
            self._frames, self._nodes = [], []
        try:
            self._tell_stopped(DebugStop(self._thread_of(task), reason, text))
            while (call := self._work.get()) is not None:
                call()
        finally:
            with self._lock:
                self._held = False
                self._stopped = None
            self._drain()

    def _drain(self) -> None:
        """Answer the requests that came too late: the program is not stopped."""
        while True:
            try:
                call = self._work.get_nowait()
            except Empty:
                return
            if call is not None:
                call()

    def _thread_of(self, task: Task) -> int:
        for number, known in list(self._tasks.items()):
            if known is task:
                return number
        self._forget_ended()
        self._seen += 1
        self._tasks[self._seen] = task
        return self._seen

    def _forget_ended(self) -> None:
        for number, task in list(self._tasks.items()):
            if TaskInternals(task).ended or not levels_of(task):
                del self._tasks[number]

    # -- the debugger's thread ----------------------------------------------------------------------------------------

    def ask(self, call: Callable[[], T]) -> T:
        """Have the thread of the stopped program call a function; returns its result.

        Raises:
            NotStopped: no program is stopped.
        """
        answer: Future[T] = Future()
        with self._lock:
            if not self._held:
                raise NotStopped("no program is stopped")
            self._work.put(partial(self._answer, answer, call))
        return answer.result()

    def _answer(self, answer: Future[Any], call: Callable[[], Any]) -> None:
        try:
            answer.set_result(self._while_stopped(call))
        except Exception as error:  # noqa: BLE001  (the debugger's request gets it)
            answer.set_exception(error)

    def _while_stopped(self, call: Callable[[], T]) -> T:
        if self._stopped is None:
            raise NotStopped("no program is stopped")
        return call()

    def pause(self, reason: str = "pause") -> None:
        """DebugStop the next statement of any program."""
        self._pause = reason

    def go_on(self, mode: str = "continue") -> None:
        """Let the stopped program continue, or step: ``next``, ``stepIn`` or ``stepOut``.

        Raises:
            NotStopped: no program is stopped.
        """
        step = None if mode == "continue" else self.ask(partial(self._stepping, mode))
        with self._lock:
            if not self._held:
                raise NotStopped("no program is stopped")
            self._step = step
            self._held = False
            self._work.put(None)

    def _stepping(self, mode: str) -> _Step:
        assert self._stopped is not None
        task = self._stopped[0]
        return _Step(task, mode, depth_of(levels_of(task)[-1]))

    def close(self) -> None:
        """Let the programs continue, and stop none again."""
        with self._lock:
            self._open = False
            self._pause, self._step = "", None
            if self._held:
                self._held = False
                self._work.put(None)

    # -- what a stopped program has; called by way of ask -------------------------------------------------------------

    def threads(self) -> list[tuple[int, str]]:
        """The tasks that run COBOL programs, as far as the session has seen them stop."""
        self._forget_ended()
        return [(number, f"task {task.number} {task.transid}") for number, task in self._tasks.items()]

    def stack(self, thread: int) -> list[tuple[int, ProgramFrame]]:
        """The call stack of a task, each frame with its number for :meth:`frame`."""
        task = self._tasks.get(thread)
        if task is None:
            raise NotStopped(f"there is no thread {thread}")
        assert self._stopped is not None
        frames = frames_of(task, self._stopped[1] if self._stopped[0] is task else "")
        first = len(self._frames) + 1
        self._frames += frames
        return list(enumerate(frames, first))

    def frame(self, number: int) -> ProgramFrame:
        """A frame of :meth:`stack`."""
        if not 1 <= number <= len(self._frames):
            raise NotStopped(f"there is no frame {number} in this stop")
        return self._frames[number - 1]

    def keep(self, node: StorageItem | Iterable[StorageItem]) -> int:
        """A number for :meth:`kept`, for a group, a table or a list of items."""
        if len(self._nodes) >= _HANDLES:
            raise NotStopped(f"this stop has {_HANDLES} open groups; continue and stop again")
        self._nodes.append(node if isinstance(node, StorageItem) else list(node))
        return len(self._nodes)

    def kept(self, number: int) -> StorageItem | list[StorageItem]:
        """What :meth:`keep` got."""
        if not 1 <= number <= len(self._nodes):
            raise NotStopped(f"there are no variables {number} in this stop")
        return self._nodes[number - 1]
