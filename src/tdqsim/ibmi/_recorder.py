"""Who records what jobs do: one slot of a system, empty by default.

What happens is told as one tuple, at the moment when it takes effect::

    (operation, job, queue, data, time_ns, key, message, info)

cut off behind the last that says anything, but not before ``time_ns``. ``operation`` is the API's or command's name
(the SQL services under the API whose work they do), or one of those below. A failure has the escape message's id and
the queue as the caller named it. A receive that waits shows when its entry is handed to it, so the order of the tuples
is the order in which entries were sent and taken.

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
    """What may be put into ``system.recorder``, and is told what jobs do: such as ``tdqsim.testing.History``."""

    @property
    def trace(self) -> Callable[[tuple[Any, ...]], object]:
        """Takes one tuple for each thing that happens; ``help('tdqsim.ibmi._recorder')`` tells what it has."""
