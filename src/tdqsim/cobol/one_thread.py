"""One thread at a time runs COBOL: the run-time has one state for the process.

Regions with COBOL may be passed from one thread to another, but two threads must not have open regions that have
run COBOL: their programs would get each other's storage and records.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from tdqsim.errors import UsageError

if TYPE_CHECKING:
    from tdqsim.cics import Region


class CobolThreads(UsageError):
    """A second thread runs COBOL while the first one has a region with COBOL open."""


_THREADS: Final[WeakKeyDictionary[Region, threading.Thread]] = WeakKeyDictionary()
"""The thread in which each region has last run COBOL."""
_ALONE: Final = threading.Lock()


class _Owner:
    """The thread that has last run COBOL."""

    ident = 0


def is_owner(ident: int) -> bool:
    """Whether this thread was the last one that ran COBOL."""
    return ident == _Owner.ident


def take_over(region: Region) -> None:
    """Let this thread run COBOL for a region.

    Raises:
        CobolThreads: another thread has an open region that has run COBOL.
    """
    thread = threading.current_thread()
    with _ALONE:
        for other, user in list(_THREADS.items()):
            if other is not region and user is not thread and user.is_alive() and not other.closed:
                raise CobolThreads(
                    f"region {other.applid} has run COBOL in thread {user.name!r} and is open; thread "
                    f"{thread.name!r} cannot run COBOL for region {region.applid}, because the run-time of "
                    "GnuCOBOL has one state for the process. Close that region first, use both regions in one thread "
                    "(several regions of one Engine have one), or run them in two processes"
                )
        _THREADS[region] = thread
        _Owner.ident = thread.ident or 0
