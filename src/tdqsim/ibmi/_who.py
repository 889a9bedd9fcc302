"""What the lower parts of this room know of a job: who it is, and how it is told things.

Locks, waits, journals and faults belong to jobs, and jobs are made of everything else. So that nothing below needs the
job's class, it is this protocol that they are given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from tdqsim.core.dispatch import Strand
from tdqsim.ibmi.messages import Message

if TYPE_CHECKING:
    from tdqsim.ibmi._waits import Waiter

__all__ = ["Who"]


class Who(Protocol):
    """A job, seen from below.

    Attributes:
        run_priority: 1 to 99, the lowest number is served first.
        waiters: its receives that wait.
        strand: where it runs, None for one that the program outside uses.
    """

    waiters: set[Waiter]
    strand: Strand | None

    @property
    def run_priority(self) -> int:
        """1 to 99."""

    @property
    def name(self) -> str:
        """Job name."""

    @property
    def user(self) -> str:
        """Its user profile."""

    @property
    def number(self) -> str:
        """Six digits."""

    @property
    def qualified_name(self) -> str:
        """``number/user/name``."""

    @property
    def current_user(self) -> str:
        """The profile it runs under now."""

    def check_usable(self) -> None:
        """Refuse when the job has ended or the system is closed."""

    def message(self, message_id: str, *values: str | int) -> Message:
        """A message with data in the CCSID of the job."""

    def note(self, operation: str, queue: Any = None, data: bytes = b"", key: bytes = b"", /, **info: Any) -> None:
        """Tell the system's recorder, if there is one, what this job has done."""
