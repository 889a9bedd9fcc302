"""Apply changed files of a served system directory: ``tdq serve --watch``.

====================================  ==============================================================================
changed file                          is taken up
====================================  ==============================================================================
a definition file                     each new data queue is created, with its library, as CRTDTAQ would do it. What
                                      exists keeps its attributes and entries: a changed definition is refused, as
                                      CRTDTAQ refuses a data queue that exists. A data queue whose definition was
                                      removed from the files remains.
``system.yaml``                       its definition files; new libraries are created; commands that have been added
                                      are run by QSECOFR, in order; system values are set. Other settings need a restart
====================================  ==============================================================================

A command that was refused is run again when ``system.yaml`` changes the next time.
"""

from __future__ import annotations

from asyncio import to_thread
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final

from tdqsim.definitions import Definitions, Dtaq
from tdqsim.errors import DefinitionError, TdqError
from tdqsim.ibmi import SYSTEM_FILE_NAME, System, SystemFile, load_system_file, run_commands
from tdqsim.server.changed_files import ChangedFiles, ChangeNotes
from tdqsim.server.host import Host

_TAKEN_UP: Final = frozenset({"commands", "definitions", "libraries", "system_values"})
"""The settings of system.yaml whose changes are applied."""


class SystemWatch:
    """Watches the files of one system directory.

    Args:
        host: the served systems.
        directory: the directory of the system.
        system: the system, as it was made from the present files.

    Raises:
        DefinitionError: a file has errors.
    """

    def __init__(self, host: Host, directory: Path, system: System) -> None:
        self._host, self._directory, self._system = host, directory, system
        self._notes = ChangeNotes(system.clock, system=system.name)
        host.watched_changes_of_systems[system.name] = self._notes.entries
        self._file, definitions = load_system_file(directory)
        self._queues = _by_place(definitions)
        self._ran = Counter(self._file.commands)
        self._files = ChangedFiles(self._watched)

    async def look(self) -> int:
        """Check for changed files and apply them; return the number of new entries."""
        changed = await self._files.changed()
        if not changed:
            return 0
        count = self._notes.count
        try:
            file, definitions = await to_thread(load_system_file, self._directory)
        except TdqError as error:
            self._notes.add("files of the system", str(error), refused=True)
            return 1
        before, self._file = self._file, file
        self._files.take_new()
        await self._take_settings(before, file)
        await self._take_queues(_by_place(definitions))
        await self._take_commands(file)
        return self._notes.count - count

    def _watched(self) -> Iterator[Path]:
        yield self._directory / SYSTEM_FILE_NAME
        yield from (self._directory / each for each in self._file.definitions)

    async def _take_settings(self, before: SystemFile, file: SystemFile) -> None:
        if "system_values" in self._notes.compare(SYSTEM_FILE_NAME, before, file, _TAKEN_UP):
            await self._do("system values", "set", partial(self._system.values.set_all, file.system_values))
        for library in file.libraries:
            if library not in before.libraries and library not in self._system.libraries:
                await self._do(f"library {library}", "created", partial(self._system.crtlib, library))

    async def _take_queues(self, new: dict[str, Dtaq]) -> None:
        """Create each data queue that is new or whose definition has changed since it was last created."""
        for place, queue in new.items():
            old = self._queues.get(place)
            if old == queue:
                continue
            create = partial(self._system.install, Definitions.of([queue]), create_libraries=True)
            if await self._do(
                f"DTAQ({place})", "created", create, "it keeps its attributes and entries" if old else ""
            ):
                self._queues[place] = queue
        for place in self._queues.keys() - new.keys():
            del self._queues[place]
            self._notes.add(f"DTAQ({place})", "is no longer in the files, and remains; DLTDTAQ deletes it")

    async def _take_commands(self, file: SystemFile) -> None:
        left, commands = Counter(file.commands) - self._ran, []
        for command in file.commands:
            if left[command] > 0:
                left[command] -= 1
                commands.append(command)
        if not commands:
            return
        errors = await self._host.ask(lambda: list(run_commands(self._system, commands)))
        for command, error in zip(commands, errors, strict=True):
            what = f"command {command.split(maxsplit=1)[0].upper()}"  # not the parameters: one may be a password
            if error is None:
                self._ran[command] += 1
            self._notes.add(what, "run" if error is None else str(error), refused=error is not None)

    async def _do(self, what: str, done: str, act: Callable[[], object], kept: str = "") -> bool:
        """Do something in the engine's thread, and note the result; return whether it was done."""
        try:
            await self._host.ask(act)
        except TdqError as error:
            problems = error.problems if isinstance(error, DefinitionError) else ()
            why = "; ".join(each.message for each in problems) or str(error)
            self._notes.add(what, f"{why}{f'; {kept}' if kept else ''}", refused=True)
            return False
        self._notes.add(what, done)
        return True


def _by_place(definitions: Definitions) -> dict[str, Dtaq]:
    return {each.dtaq: each for each in definitions.dtaqs}
