"""What tasks and the commands of this folder ask of their region.

A region is composed of parts, and nothing below it knows the class: each folder says, as a protocol, what it needs.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from datetime import tzinfo
from typing import Any, Protocol

from tdqsim.cics.kernel.handlers import TransactionEntry
from tdqsim.cics.kernel.issue import Hook, Recorder
from tdqsim.cics.kernel.levels import ProgramLevel
from tdqsim.cics.kernel.security import SecurityPolicy
from tdqsim.core.clock import Clock
from tdqsim.core.codepage import CodePage
from tdqsim.core.dispatch import Dispatcher, Strand

__all__ = ["TaskRegion"]


class TaskRegion(Protocol):
    """What a task and its control commands need of a region; :class:`~tdqsim.cics.region.Region` documents it."""

    applid: str
    sysid: str
    default_user: str
    zone: tzinfo
    codepage: CodePage
    clock: Clock
    dispatcher: Dispatcher
    directory: Any
    hardening: Any
    store: Any
    closed: bool
    is_watched: bool
    log: Any
    messages: Any
    transactions: dict[str, TransactionEntry]
    enqueues: dict[bytes, Any]
    enqueued: dict[object, dict[bytes, Any]]
    browses: dict[str, Any]
    starts: Any
    failed: bool
    abends: dict[str, int]
    cmdsec: str
    ressec: str

    @property
    def hook(self) -> Hook | None: ...  # noqa: D102
    @property
    def recorder(self) -> Recorder | None: ...  # noqa: D102
    @property
    def security(self) -> SecurityPolicy | None: ...  # noqa: D102
    @property
    def tasks(self) -> MutableMapping[int, Any]: ...  # noqa: D102
    @property
    def terminals(self) -> MutableMapping[str, Any]: ...  # noqa: D102

    def encode(self, text: str) -> bytes:
        """Text in the region's code page."""

    def text(self, record: bytes) -> str:
        """A record as text, by the region's code page."""

    def when_free(self, terminal: str, attach: Any, /) -> None:
        """Call ``attach`` with the facility once a terminal is in service and has no task."""

    def new_uow(self, task: Any, /) -> Any:
        """A unit of work for a task."""

    def commit(self, uow: Any, /) -> bool:
        """End a unit of work; False when it had to be backed out."""

    def back_out(self, uow: Any, /) -> None:
        """Undo a unit of work."""

    def task_ended(self, task: Any, /, *, normal: bool) -> None:
        """Settle what a task leaves."""

    def attach(
        self,
        entry: TransactionEntry,
        *,
        startcode: str,
        userid: str,
        facility: Any = None,
        request: Any = None,
        data: bytes | None = None,
        args: tuple[Any, ...] = (),
        level: ProgramLevel | None = None,
        reqid: str = "",
    ) -> Strand:
        """Make a task for a transaction that can be attached."""
