"""The recorder of a system: one slot, empty by default, for an object that takes the events of its jobs.

Each event is one tuple, passed at the moment when it takes effect::

    (operation, job, queue, data, time_ns, key, message, info)

cut off after the last element that is not empty, but not before ``time_ns``. ``operation`` is the name of the API or
command (for the SQL services that of the API whose work they do), or one of those below. A failure has the escape
message's id and the queue as the caller named it. A receive that waits is recorded when its entry is handed to it, so
the order of the tuples is the order in which entries were sent and taken.

===========  ============================================================================================
``JOB``      a job has begun; ``ENDJOB``: it has ended
``WAIT``     a job begins to wait, for an entry or for a lock
``GIVEBACK`` an entry is on the queue again: the job it had been handed to could not use it
===========  ============================================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

__all__ = ["SystemRecorder"]


class SystemRecorder(Protocol):
    """What ``system.recorder`` can be, such as ``tdqsim.testing.History``."""

    @property
    def trace(self) -> Callable[[tuple[Any, ...]], object]:
        """Takes one tuple for each event; ``help('tdqsim.ibmi._recorder')`` describes it."""
