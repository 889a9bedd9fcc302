"""Take the dump of a task that abends: all that is known of it at that moment, as one frozen value.

A dump is taken before the task's unit of work is backed out, so that it has what the task held. The last commands
come from the region's recorder if that keeps them (a history), or from the trace of its COBOL programs; otherwise only
the last command is known, from the EIB. So a dump costs nothing until a task abends. A program in another language adds
what it knows to the exception with which it fails (:func:`note_program`).
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol, runtime_checkable

from tdqsim.cics.kernel.conditions import Abend, Condition
from tdqsim.cics.kernel.dump_codes import request_dump
from tdqsim.cics.kernel.eib import NO_COMMAND, Completion
from tdqsim.cics.model.dump import Dump, DumpedWork, ProgramState, SourceLine
from tdqsim.cics.model.region import RegionData
from tdqsim.cics.model.task import TaskData
from tdqsim.core.own_frames import own_places
from tdqsim.facts import EIBFN

_COMMANDS: Final = 20
"""The number of commands in a dump, the last ones."""
_RECORDS: Final = 20
"""The number of uncommitted records of a queue in a dump, the first ones."""
_AROUND: Final = 3
"""The number of source lines before and after the failing one."""
_STATE: Final = "cics_program_state"
_NAMES: Final = {fn: name for name, fn in EIBFN.items()}


@runtime_checkable
class CommandRecorder(Protocol):
    """A recorder that keeps the commands of tasks."""

    def last_commands(self, task: int, most: int) -> Sequence[str]:
        """The last commands of a task with their answers, at most ``most``, the newest last."""


def note_program(error: BaseException, describe: Callable[[], ProgramState]) -> None:
    """Add to an exception what the language of a program that it leaves knows.

    Args:
        error: the exception.
        describe: returns the state of the program; called only for the first program that the exception leaves.
    """
    if _STATE not in vars(error):
        vars(error)[_STATE] = describe()


def take_dump(task: TaskData, abend: Abend) -> Dump:
    """Take the dump of a task that abends, keep it in the region, and set ``abend.dump``."""
    region = task._region
    state = next((found for each in _chain(abend) if (found := vars(each).get(_STATE)) is not None), None)
    file, line = _python_place(abend) if state is None else (state.file, state.line)
    uow = task._uow if task._has_uow else None
    dump = abend.dump = Dump(
        abend.code,
        task._abprogram,
        task.transid,
        task.number,
        task.userid,
        region.clock.time_ns(),
        str(abend),
        file,
        line,
        _source(file, line),
        () if state is None else state.calls,
        _commands(task, abend, state),
        _last(task, abend),
        () if uow is None else tuple((lock.queue.name, lock.end) for lock in uow.locks),
        () if uow is None else tuple(_work(queue.name, work) for queue, work in uow.works.items()),
        () if state is None else state.storage,
    )
    region.diagnostics.failures.append(dump)
    if not abend.nodump and not request_dump(region, abend.code):
        region.diagnostics.abend_dumps.append(dump)
    return dump


def _work(name: str, work: Any) -> DumpedWork:
    written = work.written
    return DumpedWork(name, work.reads, len(written), tuple(written[:_RECORDS]), work.deleted)


def _chain(abend: Abend) -> list[BaseException]:
    """An abend, the exceptions behind it, and those behind them."""
    found: list[BaseException] = []
    error: BaseException | None = abend
    while error is not None and error not in found:
        found.append(error)
        error = (error.cause if isinstance(error, Abend) else None) or error.__cause__
    return found


def _python_place(abend: Abend) -> tuple[str, int]:
    """The innermost line outside this package that the exception has passed; an empty name if there is none."""
    *_, place = ("", 0), *own_places(_chain(abend)[-1].__traceback__ or abend.__traceback__)
    return place


def _source(file: str, line: int) -> tuple[SourceLine, ...]:
    if not file or not line:
        return ()
    first = max(line - _AROUND, 1)
    linecache.checkcache(file)  # the file may have changed since the last dump
    texts = linecache.getlines(file)[first - 1 : line + _AROUND]
    return tuple(SourceLine(number, text.rstrip("\r\n")) for number, text in enumerate(texts, first))


def last_commands(region: RegionData, number: int) -> tuple[str, ...] | None:
    """The last commands of a task with their answers, the newest last; None if no recorder of the region keeps them."""
    recorder: object = region.recorder
    return tuple(recorder.last_commands(number, _COMMANDS)) if isinstance(recorder, CommandRecorder) else None


def _commands(task: TaskData, abend: Abend, state: ProgramState | None) -> tuple[str, ...]:
    recorded = last_commands(task._region, task.number)
    if recorded is not None:
        return recorded
    if state is not None and state.commands:
        return state.commands[-_COMMANDS:]
    (name, resource), cause = _last(task, abend), _condition(abend)
    if not name:
        return ()
    resp, resp2 = (task.eib.last.resp, task.eib.last.resp2) if cause is None else (cause.resp, cause.resp2)
    return (f"{name}{f' {resource}' if resource else ''}: {resp.name} {resp2}",)


def _condition(abend: Abend) -> Condition | None:
    """The condition of the command that has failed; None if the abend has another cause."""
    return next((each for each in _chain(abend) if isinstance(each, Condition) and each.command), None)


def _last(task: TaskData, abend: Abend) -> tuple[str, str]:
    """The command that has failed, else the last command, and the resource that it names."""
    cause = _condition(abend)
    if cause is not None:
        return cause.command, cause.resource.rstrip(" ")
    last: Completion = task.eib.last
    if last is NO_COMMAND:
        return "", ""
    return _NAMES.get(last.fn, f"EIBFN X'{last.fn.hex().upper()}'"), last.rsrce.rstrip(" ")
