"""The refused commands of one region or system of a server; they outlive the server if it has a store.

The groups are those of :mod:`tdqsim.report.refused`. The file ``refused.jsonl`` in the store gets a line when a group
is new, when its number of refusals has doubled, and when it begins again after a pause; the last line of a group
counts. At the end of the server the file is written anew, so only a killed process loses the newest counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import structlog

from tdqsim.cics import Task
from tdqsim.ibmi import SETUP_JOB
from tdqsim.languages import TaskInternals
from tdqsim.report import RefusedCommands, RefusedGroup
from tdqsim.server.kept_lines import KeptLines, kept_values

_FILE: Final = "refused.jsonl"
_OPERATORS: Final = frozenset({"CECI", "CEMT", "TCON", "TDQCONSOLE", SETUP_JOB})
"""The transactions and jobs whose users see the answers to their commands."""
_log = structlog.get_logger("tdqsim.server")


class Refusals:
    """The refused commands of a region or system.

    Args:
        name: the APPLID of the region, or the name of the system.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._commands = RefusedCommands()
        self._file: KeptLines | None = None

    def __iter__(self) -> Iterator[RefusedGroup]:
        """The groups, the one with the newest refusal last."""
        return iter(self._commands)

    def now(self, time_ns: int) -> list[RefusedGroup]:
        """The groups that still hold."""
        return self._commands.now(time_ns)

    def keep_in(self, store: Path) -> None:
        """Take over the groups that an earlier server has kept in a store, and keep those to come."""
        try:
            for group in read_refused(store):
                self._commands.put(group)
            self._file = KeptLines(store / _FILE)
        except OSError as error:
            _log.warning("refused_commands_not_read", name=self._name, reason=str(error))

    def command(self, task: Task, command: str, resource: str, condition: str, time_ns: int) -> None:
        """A command of a task has ended with a condition."""
        if task.transid in _OPERATORS:
            return
        number, userid = str(task.number), task.userid
        self._note(
            self._commands.add(task.transid, command, resource, condition, time_ns, task=number, userid=userid), task
        )

    def message(self, event: tuple[object, ...]) -> None:
        """An operation of a job of an IBM i system has ended with an escape message.

        Args:
            event: as the recorder of a system gets it, and the current user of the job: that of a server job is QUSER.
        """
        operation, job, queue, _data, time_ns, _key, message, user = event
        number, _, name = str(job).split("/")
        if name in _OPERATORS or not isinstance(time_ns, int):
            return
        api, resource, condition = map(str, (operation, queue, message))
        self._note(self._commands.add(name, api, resource, condition, time_ns, task=number, userid=str(user)), None)

    def abended(self, task: Task) -> None:
        """A task has abended; a refusal that has ended it does not count, because the dump shows it."""
        taken_back = self._commands.abended(str(task.number), task.abcode or "")
        if taken_back and self._file is not None:
            self._write(self._file)

    def close(self) -> None:
        """Write the file anew with the present counts."""
        if self._file is not None and any(self):
            self._write(self._file)

    def _note(self, added: RefusedGroup | None, task: Task | None) -> None:
        """Add the place to a group, and keep it in the file, if it is new, has doubled, or begins again."""
        if added is None or (added.count & (added.count - 1) and added.begun_ns != added.last_ns):
            return
        group = added if task is None else replace(added, place=_place(task))
        self._commands.put(group)
        if self._file is not None:
            self._write(self._file, group)

    def _write(self, file: KeptLines, group: RefusedGroup | None = None) -> None:
        """Add a line for a group, or write the file anew."""
        try:
            if group is None:
                file.replace(self._values())
            else:
                file.add(group.as_dict(), self._values)
        except OSError as error:
            _log.warning("refused_commands_not_kept", name=self._name, reason=str(error))

    def _values(self) -> list[dict[str, Any]]:
        return [each.as_dict() for each in self]


def read_refused(store: Path) -> list[RefusedGroup]:
    """The groups that a server has kept in a store, the one with the newest refusal last.

    Raises:
        OSError: the file cannot be read.
    """
    groups = {each.id: each for each in kept_values(store / _FILE, RefusedGroup.from_dict)}
    return sorted(groups.values(), key=lambda each: each.last_ns)


def _place(task: Task) -> str:
    """The place in the program that issues the command: of a COBOL program its statement, else the Python line."""
    inside = TaskInternals(task)
    if inside.storage is not None:
        from tdqsim.cobol.debug_frames import levels_of  # noqa: PLC0415  (loaded only with COBOL programs)

        levels = levels_of(task)
        if levels:
            return levels[-1].place
    return inside.place
