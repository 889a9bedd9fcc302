"""Stores that are deleted or replaced while they are served, and those of systems that can no longer be written.

A process can continue to write into a deleted file, and what it commits there is lost. So the
file of each store is compared once a second with the one that was opened: if it is another, or none, the region or
system ends as one whose store has failed, with a notice. A region ends by itself if the operating system cannot write
its store; a system is ended here.
"""

from __future__ import annotations

import asyncio
from asyncio import to_thread
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias

from tdqsim.cics import Region
from tdqsim.hosting import EngineStopped, RegionInternals
from tdqsim.ibmi import System
from tdqsim.server.host import Host

_LOOK_SECONDS: Final = 1.0
"""The interval of the check of the files, in seconds."""
_FILE: Final = Path("durable", "data.mdb")
_Identity: TypeAlias = tuple[int, int] | None
"""The device and inode number of a file; None if there is none."""


class StoreWatch:
    """Watches the stores of the regions and systems that a host serves now.

    Args:
        host: the regions and systems.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        served: tuple[Region | System, ...] = (*host.regions.values(), *host.systems.values())
        self._opened = [(each, each.store.path, _identity(each.store.path)) for each in served]

    async def look(self) -> None:
        """Compare the files with those that were opened, and end what has lost its store."""
        for owner, path, opened in tuple(self._opened):
            if owner.closed:
                continue
            failed = owner.store.durable.failed if isinstance(owner, System) else ""
            error = f"{path}: {failed}" if failed else ""
            if await to_thread(_identity, path) != opened:
                error = f"{path}: the store was deleted or replaced while it was in use"
            if error:
                await asyncio.wrap_future(self._host.engine.outside(partial(_end, owner, error)))

    async def keep_looking(self) -> None:
        """Check the files until this is cancelled."""
        with suppress(EngineStopped):
            while True:
                await asyncio.sleep(_LOOK_SECONDS)
                await self.look()


def _identity(store: Path) -> _Identity:
    try:
        found = (store / _FILE).stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _end(owner: Region | System, error: str) -> None:
    """End a region or system as after a failure of its store; call in the engine's thread."""
    if isinstance(owner, Region):
        RegionInternals(owner).store_failed(error)
    elif not owner.closed:
        owner.notices.say("store_failed", error=error)
        owner.close(clean=False)
