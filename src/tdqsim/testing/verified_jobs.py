"""Tests that can also run against a real IBM i, through a small target for the data queue APIs.

A test marked ``verified`` that has the fixture ``tdq_job_target`` uses only that. By default it is the simulator. If
you have an IBM i, write a target for it: an object with the methods of :class:`JobTarget` that reaches the machine by
SQL services through ODBC or JDBC, by a toolkit that calls programs, or from a job on the machine itself. Then run the
same tests::

    pytest -m verified --tdq-job-target mysite:make_target --tdq-transcript ibmi.jsonl
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from tdqsim.ibmi import RDQS0100, RDQS0200, EscapeMessage

if TYPE_CHECKING:
    from tdqsim.ibmi import Job, KeyOrder, System

JOB_OPERATIONS = (
    "setup", "begin", "end", "command", "qsnddtaq", "qrcvdtaq", "qclrdtaq", "qmhqrdqd", "qmhrdqm", "call",
)  # fmt: skip
"""The methods of :class:`JobTarget` whose calls are in transcripts."""

_LIBRARY = "TDQTEST"
_DESCRIBED = (
    "message_length", "key_length", "sequence", "include_sender_id", "force_indicator", "type_of_data_queue",
    "automatic_reclaim", "number_of_messages",
)  # fmt: skip


class JobAnswer(NamedTuple):
    """The answer of an API or command of a verified test.

    Attributes:
        message: the ID of the escape message that ended it; empty if it succeeded.
        data: the entry that was received; empty for none.
        key: its key.
        values: other results by name: text, numbers, lists; bytes in hexadecimal.
    """

    message: str = ""
    data: bytes = b""
    key: bytes = b""
    values: dict[str, Any] = {}  # noqa: RUF012  (never changed)


class JobTarget(Protocol):
    """The target of verified tests of data queues. A *job* is a number that the test chooses; job 0 always exists.

    Attributes:
        library: the library in which the tests create their queues.
    """

    library: str

    def setup(self) -> JobAnswer:
        """Ensure that the library exists and is empty; ``values`` has its name, and values that identify it."""

    def begin(self, job: int) -> JobAnswer:
        """Begin a job: a separate connection."""

    def end(self, job: int) -> JobAnswer:
        """End it."""

    def command(self, text: str, *, job: int = 0) -> JobAnswer:
        """Run a CL command: CRTDTAQ or DLTDTAQ, such as ``CRTDTAQ DTAQ(TDQTEST/ORDERS) MAXLEN(80)``."""

    def qsnddtaq(self, name: str, library: str, data: bytes, key: bytes | None = None, *, job: int = 0) -> JobAnswer:
        """QSNDDTAQ."""

    def qrcvdtaq(
        self, name: str, library: str, wait: int = 0, key_order: KeyOrder = "EQ", key: bytes | None = None, *,
        remove: bool = True, job: int = 0,
    ) -> JobAnswer:  # fmt: skip
        """QRCVDTAQ; ``data`` and ``key`` of the entry."""

    def qclrdtaq(
        self, name: str, library: str, key_order: KeyOrder = "EQ", key: bytes | None = None, *, job: int = 0
    ) -> JobAnswer:
        """QCLRDTAQ."""

    def qmhqrdqd(self, name: str, library: str, *, job: int = 0) -> JobAnswer:
        """QMHQRDQD, RDQD0100: its fields by name, without offsets and dates."""

    def qmhrdqm(
        self, name: str, library: str, selection: str = "A", key_order: str = "", key: bytes = b"", *, job: int = 0
    ) -> JobAnswer:
        """QMHRDQM: ``messages`` is a list of pairs of text and key."""

    def call(self, api: str, *storage: bytes | int, job: int = 0) -> JobAnswer:
        """Call an API's program with the bytes of its parameters; a number means an output of that many bytes X'00'.

        ``storage`` is a list of the parameters' bytes afterwards.
        """


class SimulatedJobTarget:
    """The simulator as a target of verified tests of data queues.

    Args:
        system: a new system.
        library: the library for the tests.
    """

    def __init__(self, system: System, library: str = _LIBRARY) -> None:
        self.system = system
        self.library = library
        self._jobs: dict[int, Job] = {}

    def setup(self) -> JobAnswer:
        """See :class:`JobTarget`."""
        if self.library in self.system.libraries:
            self.system.dltlib(self.library)
        self.system.crtlib(self.library)
        self._jobs[0] = self.system.job()
        return JobAnswer(values={"library": self.library, "machine": "tdqsim"})

    def begin(self, job: int) -> JobAnswer:
        """See :class:`JobTarget`."""
        self._jobs[job] = self.system.job()
        return JobAnswer()

    def end(self, job: int) -> JobAnswer:
        """See :class:`JobTarget`."""
        self._jobs.pop(job).end()
        return JobAnswer()

    def _do(self, job: int, act: Callable[[Job], JobAnswer]) -> JobAnswer:
        try:
            return act(self._jobs[job])
        except EscapeMessage as error:
            return JobAnswer(error.message_id)

    def command(self, text: str, *, job: int = 0) -> JobAnswer:
        """See :class:`JobTarget`."""
        return self._do(job, lambda one: _nothing(one.command(text)))

    def qsnddtaq(self, name: str, library: str, data: bytes, key: bytes | None = None, *, job: int = 0) -> JobAnswer:
        """See :class:`JobTarget`."""
        return self._do(job, lambda one: _nothing(one.qsnddtaq(name, library, data, key)))

    def qrcvdtaq(
        self, name: str, library: str, wait: int = 0, key_order: KeyOrder = "EQ", key: bytes | None = None, *,
        remove: bool = True, job: int = 0,
    ) -> JobAnswer:  # fmt: skip
        """See :class:`JobTarget`."""

        def act(one: Job) -> JobAnswer:
            entry = one.qrcvdtaq(name, library, wait, key_order, key, remove=remove)
            return JobAnswer() if entry is None else JobAnswer("", entry.data, entry.key)

        return self._do(job, act)

    def qclrdtaq(
        self, name: str, library: str, key_order: KeyOrder = "EQ", key: bytes | None = None, *, job: int = 0
    ) -> JobAnswer:
        """See :class:`JobTarget`."""
        return self._do(job, lambda one: _nothing(one.qclrdtaq(name, library, key_order, key)))

    def qmhqrdqd(self, name: str, library: str, *, job: int = 0) -> JobAnswer:
        """See :class:`JobTarget`."""

        def act(one: Job) -> JobAnswer:
            described = one.qmhqrdqd(name, library)
            return JobAnswer(values={field: getattr(described, field) for field in _DESCRIBED})

        return self._do(job, act)

    def qmhrdqm(
        self, name: str, library: str, selection: str = "A", key_order: str = "", key: bytes = b"", *, job: int = 0
    ) -> JobAnswer:
        """See :class:`JobTarget`."""

        def act(one: Job) -> JobAnswer:
            chosen = RDQS0200(key, key_order) if selection == "K" else RDQS0100(selection)
            messages = one.qmhrdqm(name, library, "RDQM0200", chosen)
            return JobAnswer(
                values={"messages": [[each.message_text.hex(), each.message_key.hex()] for each in messages.messages]}
            )

        return self._do(job, act)

    def call(self, api: str, *storage: bytes | int, job: int = 0) -> JobAnswer:
        """See :class:`JobTarget`."""

        def act(one: Job) -> JobAnswer:
            areas = [bytearray(each) for each in storage]
            one.call(api, *areas)
            return JobAnswer(values={"storage": [area.hex() for area in areas]})

        return self._do(job, act)


def _nothing(_value: object) -> JobAnswer:
    return JobAnswer()
