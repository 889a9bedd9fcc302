"""What ``tdq serve --watch`` needs for a region and for a system: which files have changed, and notes of what was done.

Files are compared by their time of change, size and number (inode), which costs little and works on every file system.
"""

from __future__ import annotations

from asyncio import to_thread
from collections import deque
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Final

import structlog
from pydantic import BaseModel

from tdqsim import Clock
from tdqsim.server.watched_change import WatchedChange

_KEPT: Final = 200
"""The number of entries that are kept for the console."""
_Stamp = tuple[int, int, int]
_log = structlog.get_logger("tdqsim.server")


class ChangedFiles:
    """Finds which of some files have changed.

    Args:
        watched: returns the files to watch at present; they need not exist.
    """

    def __init__(self, watched: Callable[[], Iterable[Path]]) -> None:
        self._watched = watched
        self._stamps = self._stamped()

    async def changed(self) -> set[Path]:
        """The files that were changed, made or deleted since the last call."""
        stamps = await to_thread(self._stamped)
        before, self._stamps = self._stamps, stamps
        return {path for path in {*stamps, *before} if stamps.get(path) != before.get(path)}

    def take_new(self) -> None:
        """Watch files that have been added to the watched ones; their present state is not a change."""
        self._stamps |= {path: stamp for path, stamp in self._stamped().items() if path not in self._stamps}

    def _stamped(self) -> dict[Path, _Stamp]:
        """The state of each watched file that exists."""
        stamps = {}
        for path in self._watched():
            try:
                state = path.stat()
            except OSError:
                continue
            stamps[path] = state.st_mtime_ns, state.st_size, state.st_ino
        return stamps


class ChangeNotes:
    """Notes of what was done with changes, for the log and the console.

    Args:
        clock: the clock of the region or system.
        names: its key and name for the log, such as ``applid``.

    Attributes:
        entries: the last notes, the newest last.
        count: the number of all notes.
    """

    def __init__(self, clock: Clock, **names: str) -> None:
        self.entries: deque[WatchedChange] = deque(maxlen=_KEPT)
        self.count = 0
        self._clock = clock
        self._log = _log.bind(**names)

    def compare(self, file: str, before: BaseModel, after: BaseModel, taken: Collection[str]) -> list[str]:
        """The names of the settings that differ; a note tells those that are not ``taken`` while the server runs."""
        names = [name for name in type(after).model_fields if getattr(before, name) != getattr(after, name)]
        needs_restart = [name for name in names if name not in taken]
        if needs_restart:
            done = f"{', '.join(needs_restart)}: a change of these settings needs a restart of the server"
            self.add(file, done, refused=True)
        return names

    def add(self, what: str, done: str, *, refused: bool = False) -> None:
        """Note what was done with a change; ``done`` is the reason if it was refused."""
        self.count += 1
        self.entries.append(WatchedChange(self._clock.time_ns(), what, done, refused))
        if refused:
            self._log.warning("change_refused", what=what, done=done)
        else:
            self._log.info("change_taken_up", what=what, done=done)
