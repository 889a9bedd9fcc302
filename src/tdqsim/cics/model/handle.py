"""The handle of a started task: the fiber that runs it, with the abend that has ended it."""

from __future__ import annotations

from typing import Any

from tdqsim.cics.kernel.conditions import Abend
from tdqsim.core.fiber import Fiber, T_co


class TaskHandle(Fiber[T_co]):
    """A task that :meth:`Region.start <tdqsim.cics.Region.start>` has started, whose program returns T_co."""

    __slots__ = ()
    _name: Any  # the task

    def abandon(self) -> None:
        """End the task, since it was not ended by its program."""
        self._name.end()

    @property
    def abend(self) -> Abend | None:
        """The abend that has ended the task, with its ``code`` and ``dump``; None while it runs and at a normal end.

        As with :meth:`result`, a test that reads an abend here has asked for it, and does not fail because of it.
        """
        if not isinstance(self.exception, Abend):
            return None
        self.reported = True
        return self.exception
