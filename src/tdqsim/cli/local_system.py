"""An IBM i system in a store, for ``tdq dtaq``; a server's is :class:`~tdqsim.cli.served.AnyJob` too."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tdqsim.cli.errors import InputError
from tdqsim.errors import DefinitionError, Problem
from tdqsim.ibmi import Job, KeyOrder, ParameterError, SeedEntry, System, dump_entries, seed_entries
from tdqsim.ibmi.systemfile import load_system_file

if TYPE_CHECKING:
    from tdqsim.definitions import Definitions


class ShownEntry(NamedTuple):
    """An entry that is shown; see :class:`~tdqsim.cli.served.ServedEntry`."""

    data: bytes
    key: bytes | None
    sender: str | None
    position: int
    enqueued: str


class LocalJob:
    """A job in a system that this process has opened; see :class:`~tdqsim.cli.served.AnyJob`."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self.page = job.page
        self.qsnddtaq, self.qrcvdtaq, self.qclrdtaq = job.qsnddtaq, job.qrcvdtaq, job.qclrdtaq

    def create_queues(self, definitions: Definitions, *, create_libraries: bool) -> list[str]:
        """Create the data queues of definitions, all or none; return their names."""
        try:
            made = self._job.system.install(definitions, create_libraries=create_libraries)
        except DefinitionError as error:
            raise DefinitionError([_placed(problem, definitions) for problem in error.problems]) from None
        return [queue.qualified for queue in made]

    def dltdtaq(self, name: str, library: str) -> list[str]:
        """Delete a data queue; return the last message."""
        self._job.dltdtaq(name, library)
        return [str(self._job.joblog[-1])]

    def data_queue_info(self, library: str) -> list[dict[str, Any]]:
        """The rows of DATA_QUEUE_INFO."""
        return [row._asdict() for row in self._job.qsys2.data_queue_info(data_queue_library=library)]

    def qmhqrdqd(self, name: str, library: str, form: str) -> dict[str, Any]:
        """The fields of a description."""
        if form == "RDQD0200":
            return self._job.qmhqrdqd(name, library, "RDQD0200")._asdict()
        return self._job.qmhqrdqd(name, library)._asdict()

    def data_queue_entries(
        self, name: str, library: str, key: bytes | None, order: KeyOrder, *, limit: int | None
    ) -> Iterator[ShownEntry]:
        """Entries in the queue's order."""
        selection = ("ALL", None, None) if key is None else ("KEY", key, order)
        for row in self._job.qsys2.data_queue_entries(name, library, *selection, limit=limit):
            yield ShownEntry(
                row.message_data_binary, row.key_data, row.sender_job_name, row.ordinal_position,
                row.message_enqueue_timestamp.isoformat(),
            )  # fmt: skip

    def seed_entries(self, name: str, library: str, entries: Iterable[SeedEntry]) -> int:
        """Send entries, all or none."""
        return seed_entries(self._job, name, library, entries)

    def dump_entries(self, name: str, library: str) -> Iterator[dict[str, Any]]:
        """Every entry as an object for a JSON line."""
        return dump_entries(self._job, name, library)


def _placed(problem: Problem, definitions: Definitions) -> Problem:
    """A problem of the installation with its file and line, and with a hint for this command."""
    file, line = definitions.place_of(problem.resource)
    message = problem.message.replace("create it with crtlib", "--create-libraries creates those that are not there")
    return problem._replace(file=file or problem.file, line=line, message=message)


@contextmanager
def local_job(
    store: Path, directory: Path | None, user: str, ccsid: int, *, create: bool = False, looking: bool = False
) -> Iterator[LocalJob]:
    """A job of the system in a store.

    Args:
        store: the directory of the store.
        directory: the directory of the system, for its name; None for a system without one.
        user: the profile.
        ccsid: of text.
        create: whether to create the store if it does not exist.
        looking: whether to read only, so that another process may be writing the store; shows its last commit.
    """
    name = "TDQSYS" if directory is None else load_system_file(directory)[0].name
    try:
        with System(name, store=store, create=create, readonly=looking) as system:  # noqa: SIM117
            with system.job("TDQ", user=user, ccsid=ccsid) as job:
                yield LocalJob(job)
    except ParameterError as error:
        raise InputError(str(error)) from None
