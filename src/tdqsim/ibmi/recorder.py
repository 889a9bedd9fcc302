"""The recorder of a system: an optional object that receives the events of its jobs.

Each event is one tuple, passed at the moment when the operation takes effect::

    (operation, job, queue, data, time_ns, key, message, info)

Empty elements at the end are left out, but never those up to ``time_ns``. ``operation`` is the name of the API or
command (for an SQL service the name of the equivalent API), or one of those below. A failure has the id of the escape
message, and the queue as the caller named it. A receive that waits is recorded when its entry is handed to it, so the
order of the tuples is the order in which entries were sent and taken.

===========  ============================================================================================
``JOB``      a job has begun; ``ENDJOB``: it has ended
``WAIT``     a job begins to wait, for an entry or for a lock
``GIVEBACK`` an entry is on the queue again, because the job that it was handed to could not use it
===========  ============================================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

OnFailure: TypeAlias = Callable[[tuple[Any, ...]], object]
"""Called with the tuple of each operation that ends with an escape message, and the current user of its job."""


class SystemRecorder(Protocol):
    """An object for ``system.recorder``, such as ``tdqsim.testing.History``."""

    @property
    def trace(self) -> Callable[[tuple[Any, ...]], object]:
        """A function that is called with one tuple for each event; ``help('tdqsim.ibmi.recorder')`` describes it."""
