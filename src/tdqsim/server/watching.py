"""Apply changed files of a served region directory: ``tdq serve --watch``.

====================================  ==============================================================================
changed file                          is taken up
====================================  ==============================================================================
a definition file                     each new or changed definition is installed by itself, as CREATE would do it; a
                                      queue keeps its records. What CREATE would refuse is refused. A definition that
                                      was removed from the files remains installed.
a Python module of the directory      all of its loaded modules are imported again, and ``register`` is called again
a COBOL source or copybook            each program that it changes is compiled; the next task runs the new version
``region.yaml``                       its definition files, handlers and layouts; other settings need a restart
====================================  ==============================================================================

A task that runs keeps the program with which it began. If a file has an error, everything that came from it before
remains, and the next change of the file is the next try. The files are looked at once a second. Those of IBM i systems
are watched by :mod:`tdqsim.server.watching_systems`.
"""

from __future__ import annotations

import asyncio
import sys
from asyncio import to_thread
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Final

from tdqsim.cics import Region
from tdqsim.cobol.handlers import COBOL
from tdqsim.definitions import REGION_FILE_NAME, Resource, load_region_file
from tdqsim.errors import TdqError
from tdqsim.hosting import EngineStopped
from tdqsim.job import importable, own_files
from tdqsim.report import queue_layouts
from tdqsim.server.changed_files import ChangedFiles, ChangeNotes
from tdqsim.server.host import Host
from tdqsim.server.watching_systems import SystemWatch

LOOK_SECONDS: Final = 1.0
"""The interval of the check of the files, in seconds."""
_TAKEN_UP: Final = frozenset({"definitions", "handlers", "layouts", "directory"})
"""The settings of region.yaml whose changes are applied."""


class RegionWatch:
    """Watches the files of one region directory.

    Args:
        host: the served regions.
        directory: the directory of the region.
        region: the region, as it was made from the present files.

    Raises:
        DefinitionError: region.yaml has errors.
    """

    def __init__(self, host: Host, directory: Path, region: Region) -> None:
        self._host, self._directory, self._region = host, directory, region
        self._notes = ChangeNotes(region.clock, applid=region.applid)
        host.watched_changes[region.applid] = self._notes.entries
        self._file = load_region_file(directory)
        self._definitions = _by_name(self._file.load_definitions().resources)
        self._files = ChangedFiles(self._watched)

    async def look(self) -> int:
        """Check for changed files and apply them; return the number of new entries."""
        changed = await self._files.changed()
        if not changed:
            return 0
        count = self._notes.count
        if self._directory / REGION_FILE_NAME in changed:
            await self._take_region_file()
        if changed & {*self._definition_files(), self._directory / REGION_FILE_NAME}:
            await self._take_definitions()
        if any(path.suffix == ".py" for path in changed):
            await self._host.ask(self._take_handlers)
        if any(map(self._is_cobol, changed)):
            await self._take_programs()
        if changed & set(self._layout_files()):
            await self._take_layouts()
        return self._notes.count - count

    # -- the files ----------------------------------------------------------------------------------------------------

    def _watched(self) -> Iterator[Path]:
        yield self._directory / REGION_FILE_NAME
        yield from self._definition_files()
        yield from self._layout_files()
        yield from (path for path in own_files(self._directory) if path.suffix == ".py")
        yield from self._cobol_files()

    def _definition_files(self) -> Iterator[Path]:
        return (self._file.directory / path for path in self._file.definitions)

    def _layout_files(self) -> Iterator[Path]:
        return (self._file.directory / each.path for each in self._file.layouts.values() if each.path)

    def _cobol_folders(self) -> list[Path]:
        cobol = self._file.cobol
        return [] if cobol is None else [self._file.directory / each for each in (*cobol.sources, *cobol.copybooks)]

    def _cobol_files(self) -> Iterator[Path]:
        return (path for folder in self._cobol_folders() for path in folder.rglob("*") if path.suffix != ".py")

    def _is_cobol(self, path: Path) -> bool:
        """Whether a file, which may have been deleted, is in a folder of COBOL sources or copybooks."""
        return path.suffix != ".py" and any(folder in path.parents for folder in self._cobol_folders())

    # -- taking up ----------------------------------------------------------------------------------------------------

    async def _take_region_file(self) -> None:
        try:
            file = await to_thread(load_region_file, self._directory)
        except TdqError as error:
            self._notes.add(REGION_FILE_NAME, str(error), refused=True)
            return
        before, self._file = self._file, file
        self._notes.compare(REGION_FILE_NAME, before, file, _TAKEN_UP)
        if before.layouts != file.layouts:
            await self._take_layouts()
        if before.handlers != file.handlers:
            await self._host.ask(self._take_handlers)
        self._files.take_new()

    async def _take_layouts(self) -> None:
        try:
            self._host.layouts[self._region.applid] = await to_thread(queue_layouts, self._file)
        except TdqError as error:
            self._notes.add("layouts", str(error), refused=True)
        else:
            self._notes.add("layouts", "read again")

    async def _take_definitions(self) -> None:
        """Install each definition that is new or has changed since it was last installed."""
        try:
            new = _by_name((await to_thread(self._file.load_definitions)).resources)
        except TdqError as error:
            self._notes.add("definitions", str(error), refused=True)
            return
        for name, resource in new.items():
            old = self._definitions.get(name)
            if old == resource:
                continue
            try:
                await self._host.ask(partial(self._region.install, [resource]))
            except TdqError as error:
                self._notes.add(resource.title, str(error), refused=True)
            else:
                self._definitions[name] = resource
                self._notes.add(resource.title, "installed" if old is None else "replaced")
        for name in self._definitions.keys() - new.keys():
            removed = self._definitions.pop(name)
            self._notes.add(removed.title, "is no longer in the files, and remains installed; DISCARD removes it")
        self._host.engine.tell(partial(self._host.waits.all_changed, self._region))

    def _take_handlers(self) -> None:
        """Import the modules of the directory again; in the engine's thread."""
        transactions, own = self._region.resources.transactions, set(self._own_modules())
        before = {name: sys.modules[name] for name in own}
        handlers = {name: entry.handler for name, entry in transactions.items()}
        with importable(self._directory):
            for name, module in before.items():
                _forget(name, module)
            for name, entry in transactions.items():
                if getattr(handlers[name], "__module__", None) in own:
                    entry.handler = None
            try:
                self._region.load_handlers(*self._file.handlers)
            except Exception as error:  # noqa: BLE001  (the register function of a module may raise anything)
                for name in set(self._own_modules()) - before.keys():
                    del sys.modules[name]
                sys.modules.update(before)
                for name, entry in transactions.items():
                    entry.handler = handlers.get(name)
                what = str(error) if isinstance(error, TdqError) else f"{type(error).__name__}: {error}"
                self._notes.add("handlers", what, refused=True)
                return
        lost = [name for name in handlers if handlers[name] is not None and transactions[name].handler is None]
        without = f"; these transactions have no program now: {', '.join(lost)}" if lost else ""
        self._notes.add("handlers", f"imported again{without}")

    def _own_modules(self) -> Iterator[str]:
        """The names of the loaded modules whose files are in the directory."""
        folder = self._directory.resolve()
        for name, module in tuple(sys.modules.items()):
            file = getattr(module, "__file__", None)
            if file and folder in Path(file).resolve().parents:
                yield name

    async def _take_programs(self) -> None:
        """Compile the changed COBOL programs in another thread, and let the next tasks run them."""
        programs = COBOL.programs(self._region)
        compiled = await to_thread(programs.compile_again)
        for name, reason in compiled.errors.items():
            self._notes.add(f"program {name}", reason, refused=True)
        for name in await self._host.ask(partial(programs.take, compiled.modules)):
            self._notes.add(f"program {name}", "the next task runs the new version")


def _forget(name: str, module: ModuleType) -> None:
    """Let the next import read the source of a module.

    Its compiled file is deleted, because Python trusts one that is as old as the source to the second.
    """
    sys.modules.pop(name, None)
    compiled = getattr(module, "__cached__", None)
    if compiled:
        with suppress(OSError):
            Path(compiled).unlink(missing_ok=True)


async def watch_files(host: Host, directories: Iterable[Path]) -> None:
    """Check for changed files of the served directories until this is cancelled.

    Args:
        host: the regions and systems.
        directories: their directories, in the order of ``host.served``.

    Raises:
        DefinitionError: a file has errors.
    """
    watches = [
        RegionWatch(host, directory, host.region(name))
        if kind == "region"
        else SystemWatch(host, directory, host.system(name))
        for directory, (kind, name) in zip(directories, host.served, strict=True)
    ]
    with suppress(EngineStopped):
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            for watch in watches:
                await watch.look()


def _by_name(resources: Iterable[Resource]) -> dict[tuple[str, str], Resource]:
    return {(each.kind, each.resource_name): each for each in resources}
