"""A region or a job in a server, with the methods of a local one that commands use.

The package of the client provides them (:mod:`tdqsim.cli.extensions`, kind ``server``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from tdqsim.core.codepage import CodePage
    from tdqsim.definitions import Definitions
    from tdqsim.ibmi import DataQueueEntry, KeyOrder, SeedEntry


class ServedEntry(Protocol):
    """An entry of a data queue, which is shown or was received."""

    @property
    def data(self) -> bytes:
        """The data."""

    @property
    def key(self) -> bytes | None:
        """The key; None if the queue is not keyed."""

    @property
    def sender(self) -> str | None:
        """The job that sent it, if the queue keeps sender ids."""

    @property
    def position(self) -> int:
        """The position in the queue, from 1; 0 for a received entry."""

    @property
    def enqueued(self) -> str:
        """The time of the send in ISO form; only for an entry that was not received."""


class ServedUnit(Protocol):
    """A unit of work in a server that stays open while a session lasts."""

    def ceci(self, text: str) -> Mapping[str, Any]:
        """Execute a CECI request; its parts, and the screen as ``text``."""


class ServedRegion(Protocol):
    """A region in a server; the methods are those of a region, and answers have the form of the API."""

    @property
    def applid(self) -> str:
        """Its APPLID."""

    @property
    def sysid(self) -> str:
        """Its SYSID."""

    @property
    def code_page(self) -> str:
        """The name of its code page."""

    def about(self) -> Mapping[str, Any]:
        """APPLID, SYSID, time zone and the like."""

    def readq_td(self, queue: str) -> bytes:
        """READQ TD."""

    def writeq_td_all(self, queue: str, records: Iterable[bytes]) -> int:
        """WRITEQ TD of each record, in one task; the number of records."""

    def seed(self, name: str, records: Iterable[bytes]) -> int:
        """Add records without a task; their number."""

    def peek(self, name: str, *, limit: int | None = None) -> list[bytes]:
        """The records of a queue, which stay there."""

    def inquire_tdqueue(self, tdqueue: str, *options: Any) -> Any:
        """INQUIRE TDQUEUE with these options, or with all."""

    def browse_tdqueue(self, *options: Any) -> Iterator[Any]:
        """INQUIRE TDQUEUE of all queues."""

    def set_tdqueue(self, tdqueue: str, **options: Any) -> object:
        """SET TDQUEUE."""

    def explain(self, name: str, *, size: int = 1) -> Mapping[str, Any]:
        """Why a queue is in its state, and the predicted result of each command."""

    def explain_task(self, number: int) -> Mapping[str, Any]:
        """What a task waits for."""

    def tasks(self) -> Iterable[Mapping[str, Any]]:
        """The tasks that have not ended."""

    def dumps(self) -> Iterable[Mapping[str, Any]]:
        """The dumps of tasks that have abended."""

    def incidents(self) -> Iterable[Mapping[str, Any]]:
        """What needs attention now."""

    def notices(self) -> Iterable[Mapping[str, Any]]:
        """What was asked for and did not happen."""

    def refused_commands(self) -> Iterable[Mapping[str, Any]]:
        """The commands that were refused."""

    def statistics(self) -> Mapping[str, Any]:
        """The current statistics."""

    def jobs(self) -> Iterable[Mapping[str, Any]]:
        """The jobs that were submitted through the internal reader."""

    def job(self, number: int) -> list[str]:
        """The cards of a job."""

    def sysout(self, letter: str = "") -> Iterable[Mapping[str, Any]]:
        """The SYSOUT data sets."""

    def printed(self, number: int) -> Iterable[str]:
        """The lines of a SYSOUT data set in printed form."""

    def cemt(self, text: str) -> Mapping[str, Any]:
        """Execute a CEMT request; its rows, and the screen as ``text``."""

    def dfhcsdup(self, text: str, *, file: str = "SYSIN") -> Mapping[str, Any]:
        """Carry out DFHCSDUP commands; ``lines``, the listing, and ``return_code``."""

    def unit_of_work(self) -> AbstractContextManager[ServedUnit]:
        """Begin a unit of work."""


class AnyJob(Protocol):
    """A job of an IBM i system, in a server or in the store of this process."""

    @property
    def page(self) -> CodePage:
        """The code page of text."""

    def create_queues(self, definitions: Definitions, *, create_libraries: bool) -> list[str]:
        """Create the data queues of definitions, all or none; their names."""

    def dltdtaq(self, name: str, library: str, /) -> list[str]:
        """Delete a data queue; the messages."""

    def data_queue_info(self, library: str, /) -> Iterable[Mapping[str, Any]]:
        """The rows of DATA_QUEUE_INFO."""

    def qmhqrdqd(self, name: str, library: str, form: Any, /) -> Mapping[str, Any]:
        """The fields of a description."""

    def qsnddtaq(self, name: str, library: str, data: bytes, key: bytes | None, /) -> object:
        """Send an entry."""

    def qrcvdtaq(
        self, name: str, library: str, wait: int, order: KeyOrder, key: bytes | None, /
    ) -> DataQueueEntry | ServedEntry | None:
        """Receive an entry."""

    def qclrdtaq(self, name: str, library: str, order: KeyOrder, key: bytes | None, /) -> int:
        """Clear a queue, or some keys of it; the number of entries that are gone."""

    def data_queue_entries(
        self, name: str, library: str, key: bytes | None, order: KeyOrder, /, *, limit: int | None
    ) -> Iterator[ServedEntry]:
        """Entries in the queue's order."""

    def seed_entries(self, name: str, library: str, entries: Iterable[SeedEntry], /) -> int:
        """Send entries; their number."""

    def dump_entries(self, name: str, library: str) -> Iterator[dict[str, Any]]:
        """Every entry as an object for a JSON line."""
