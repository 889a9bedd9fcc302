"""What a job is: its names, its library list, what it remembers, and how it finds a data queue.

Names
    A library can be a name, ``*LIBL`` or ``*CURLIB`` (QGPL when the job has no current library). Every method takes
    ``"LIB/NAME"``, or name and library; a name alone is searched in the library list. Names are upper-cased in one
    place, :meth:`JobCore.object_name`.

What a job remembers until it ends
    The *address* of a queue that was found with a specific library: after MOVOBJ or RNMOBJ, and even when a new queue
    has the old name, the job goes on with the object it knew. And its own *authority* for an operation on an object: to
    revoke it does not reach a job that has used it. QSNDDTAQ, QRCVDTAQ, QMHQRDQD and QMHRDQM remember; the others look
    each time. An object that is deleted is forgotten.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NoReturn

from tdqsim.core.argument_types import types_told
from tdqsim.core.codepage import CodePage, codepage
from tdqsim.core.dispatch import Dispatcher, Strand
from tdqsim.ibmi._authority import granted_names
from tdqsim.ibmi._errors import JobEnded, ParameterError
from tdqsim.ibmi._fact import LIMITS, OPERATIONS, Operation
from tdqsim.ibmi._ground import job_page
from tdqsim.ibmi._locks import Request
from tdqsim.ibmi._machine import Machine
from tdqsim.ibmi._objects import SYSTEM_LIBRARIES, Library, SystemObject, new_name
from tdqsim.ibmi._queue import DataQueue
from tdqsim.ibmi._waits import Waiter
from tdqsim.ibmi.messages import DTAQ, MESSAGES, EscapeMessage, Message, message

__all__ = ["NAME_LENGTH", "JobCore", "object_values", "wait_seconds"]

NAME_LENGTH = LIMITS["name_length"]
_NS = 1_000_000_000
_NAME = re.compile(r"[!-`{-~]{1,10}")
"""What a name can be made of: printable ASCII without a blank and without small letters."""


class JobCore:
    """What all APIs and commands of a job share.

    Attributes:
        system: where it runs.
        name: job name.
        user: its user profile.
        number: six digits, by which it differs from active jobs of the same name and user.
        qualified_name: ``number/user/name``.
        doing: the API or command it is in, and the data queue and library it named, for a history.
        current_user: the profile it runs under now; sender IDs and authority go by it.
        ccsid: the CCSID of its characters; 65535 says that none are converted.
        page: code page of its CCSID, of the default one for 65535.
        run_priority: 1 to 99, the lowest number is served first.
        waiters: its receives that wait.
        default_wait: seconds that it waits for a lock.
        date_format: DATFMT, such as ``*YMD``, for QWCCVTDT.
        started_ns: when it was started, on the system's clock.
        joblog: messages that were sent to it, oldest first; the last few thousand of them.
        logged_at: when each of them was sent, on the system's clock.
        logged: how many messages were sent to it.
        ended: it can do no more.
        local_only: it sends to, receives from and clears no DDM data queue (CPF9511), as the data queue server's jobs.
    """

    local_only = False

    def __init__(
        self,
        system: Machine,
        name: str,
        user: str,
        number: str,
        *,
        current_library: str = "",
        library_list: tuple[str, ...] = ("QGPL", "QTEMP"),
        ccsid: int = 37,
        run_priority: int = LIMITS["run_priority"],
        default_wait: float = LIMITS["default_wait_seconds"],
    ) -> None:
        wait_seconds(default_wait, "default_wait")
        self.system = system
        self._dispatcher: Dispatcher = system.dispatcher
        self.name = new_name(name, "name")
        self.user = new_name(user, "user")
        self.number = number
        self.qualified_name = f"{number}/{self.user}/{self.name}"
        self.doing = ("", "", "")
        self._ccsid = ccsid
        self.page: CodePage = codepage(job_page(ccsid))
        self.waiters: set[Waiter] = set()
        self.run_priority = run_priority
        self.default_wait = default_wait
        self.date_format = "*YMD"
        self.joblog: list[Message] = []
        self.logged_at: list[int] = []
        self.logged = 0
        self.ended = False
        self.strand: Strand | None = None
        # Only the job itself finds its QTEMP, whatever profile it runs under.
        self.qtemp = Library(0, "QTEMP", "QSYS", user, public="*ALL")
        self._clock = system.clock
        self.started_ns: int = system.clock.time_ns()
        self._addresses: dict[tuple[str, str], DataQueue] = {}
        self._authorized: set[tuple[int, str, str]] = set()
        self._sending: dict[tuple[str, str], DataQueue] = {}
        self._receiving: dict[tuple[str, str], DataQueue] = {}
        self._remote_failures: dict[int, EscapeMessage] = {}
        self.current_library = current_library
        self.user_libraries = library_list
        self.current_user = user

    def __repr__(self) -> str:
        return f"<Job {self.qualified_name}{' ended' if self.ended else ''}>"

    @property
    def current_user(self) -> str:
        """The profile it runs under now (it changes as by a profile swap)."""
        return self._current_user

    @current_user.setter
    def current_user(self, user: str) -> None:
        self._dispatcher.check_thread()
        self._current_user = user = self.system.profile(user).name
        self.forget_places()
        self.sender_id = self.system.sender_id(self, user, self.ccsid)

    @property
    def ccsid(self) -> int:
        """The CCSID of its characters, as CHGJOB CCSID changes it; 65535 says that none are converted.

        Raises:
            ConversionError: set to one that is not known; the job keeps what it has.
        """
        return self._ccsid

    @ccsid.setter
    def ccsid(self, ccsid: int) -> None:
        self._dispatcher.check_thread()
        page = codepage(job_page(ccsid))
        self._ccsid, self.page = ccsid, page
        self.sender_id = self.system.sender_id(self, self._current_user, ccsid)

    @property
    def run_priority(self) -> int:
        """1 to 99, the lowest number is served first, as CHGJOB RUNPTY changes it.

        A receive that waits takes its place at once, by when it came among those of the new priority.

        Raises:
            ParameterError: set to something else; the job keeps what it has.
        """
        return self._run_priority

    @run_priority.setter
    def run_priority(self, run_priority: int) -> None:
        self._dispatcher.check_thread()
        least, most = LIMITS["run_priority_minimum"], LIMITS["run_priority_maximum"]
        if type(run_priority) is not int or not least <= run_priority <= most:
            raise ParameterError(f"run_priority {run_priority!r}: must be {least} to {most}")
        self._run_priority = run_priority
        for waiter in self.waiters:
            waiter.queue.waiters.move(waiter)

    @property
    def current_library(self) -> str:
        """The library that ``*CURLIB`` names, empty for none; as CHGCURLIB changes it, but without a look for it."""
        return self._current_library

    @current_library.setter
    def current_library(self, library: str) -> None:
        self._current_library = self.object_name(library, "current_library") if library else ""
        self.forget_places()

    @property
    def user_libraries(self) -> tuple[str, ...]:
        """The user part of the library list; as CHGLIBL changes it, but without a look for the libraries."""
        return self._user_libraries

    @user_libraries.setter
    def user_libraries(self, libraries: Sequence[str]) -> None:
        self._user_libraries = tuple(self.object_name(one, "library_list") for one in libraries)
        self.forget_places()

    def forget_places(self) -> None:
        """Empty what stands in front of look-ups: its library list or its user has changed."""
        self._dispatcher.check_thread()
        for directory in (self._sending, self._receiving):
            directory.clear()
            self.system.directories.pop(id(directory), None)

    def _keep_place(
        self, directory: dict[tuple[str, str], DataQueue], asked: tuple[str, str], queue: DataQueue
    ) -> None:
        """Have the next command find a queue without a look-up, until an object or a right changes."""
        self.system.directories[id(directory)] = directory
        directory[asked] = queue

    # -- messages -------------------------------------------------------------------------------------------------

    def message(self, message_id: str, *values: str | int) -> Message:
        """A message with data in the CCSID of the job."""
        self._dispatcher.check_thread()
        return message(message_id, *values, page=self.page)

    def fail(self, message_id: str, *values: str | int) -> NoReturn:
        """End the command with an escape message."""
        self._dispatcher.check_thread()
        if self.system.recorder is not None:
            self._note_failure(message_id)
        raise EscapeMessage(self.message(message_id, *values))

    def _fail_for(self, message_id: str, target: SystemObject) -> NoReturn:
        """End the command with an escape message about an object."""
        self.fail(message_id, *object_values(message_id, target.name, target.library, target.type))

    def _send_completion(self, message_id: str, target: SystemObject) -> None:
        """Put a completion message into the job log."""
        self.log(self.message(message_id, *object_values(message_id, target.name, target.library, target.type)))

    def log(self, *messages: Message) -> None:
        """Put messages into the job log, which forgets the oldest when it is full."""
        self._dispatcher.check_thread()
        self.joblog.extend(messages)
        self.logged_at.extend([self._clock.time_ns()] * len(messages))
        self.logged += len(messages)
        if len(self.joblog) > LIMITS["joblog_messages"]:
            surplus = len(self.joblog) - LIMITS["joblog_messages"] // 2
            del self.joblog[:surplus], self.logged_at[:surplus]

    def note(
        self, operation: str, queue: SystemObject | None = None, data: bytes = b"", key: bytes = b"", /, **info: Any
    ) -> None:
        """Tell the system's recorder, if there is one, what this job has done."""
        self._dispatcher.check_thread()
        if self.system.recorder is not None:
            self.system.note(operation, self, queue, data, key, **info)

    def _note_failure(self, message_id: str) -> None:
        """Tell the recorder that what the job is doing ends with an escape message."""
        operation, name, library = self.doing
        recorder = self.system.recorder
        if recorder is not None:
            place = f"{library}/{name}" if library else name
            recorder.trace((operation, self.qualified_name, place, b"", self._clock.time_ns(), b"", message_id))

    def keep_remote_failure(self, queue: DataQueue, error: EscapeMessage) -> None:
        """Remember that an asynchronous request failed."""
        self._dispatcher.check_thread()
        self._remote_failures[queue.number] = error

    def take_remote_failure(self, queue: DataQueue) -> EscapeMessage | None:
        """The failure of an earlier asynchronous request, once."""
        self._dispatcher.check_thread()
        return self._remote_failures.pop(queue.number, None)

    # -- every command --------------------------------------------------------------------------------------------

    def check_usable(self) -> None:
        """Refuse another thread, and when the job has ended or the system is closed."""
        self.system.check_open()
        if self.ended:
            raise JobEnded(f"job {self.qualified_name} has ended")

    def begin(self, operation: str, name: str = "", library: str = "") -> None:
        """The start of every command that is not on the hot path."""
        self.check_usable()
        self.doing = (operation, name, library)
        if self.system.faults is not None:
            self.meet_fault(operation, name, library)

    def meet_fault(self, operation: str, name: str, library: str) -> None:
        """Ask the planned faults whether one happens now."""
        self._dispatcher.check_thread()
        faults = self.system.faults
        planned = faults(self, operation, name, library) if faults is not None else None
        if planned is not None:
            self.doing = (operation, name, library)
            self._note_failure(planned.message_id)
            raise EscapeMessage(planned)

    def give_turn(self) -> None:
        """The end of every command: outside a started job, jobs that are ready run now."""
        self._dispatcher.check_thread()
        dispatcher = self._dispatcher
        if (dispatcher.ready or dispatcher.deadlines) and dispatcher.current is dispatcher.outside:
            dispatcher.run_ready()

    def _default_wait_ns(self) -> int:
        """How long it waits for a lock."""
        return round(self.default_wait * _NS)

    # -- libraries and objects ------------------------------------------------------------------------------------

    def library_list(self) -> Iterator[str]:
        """Its library list: system part, current library, user part."""
        self._dispatcher.check_thread()
        yield from SYSTEM_LIBRARIES
        if self.current_library:
            yield self.current_library
        yield from (name for name in self.user_libraries if name != self.current_library)

    def library(self, name: str) -> Library | None:
        """The library of that name; QTEMP is the job's own."""
        self._dispatcher.check_thread()
        return self.qtemp if name == "QTEMP" else self.system.libraries.get(name)

    def current(self) -> str:
        """What ``*CURLIB`` means now."""
        self._dispatcher.check_thread()
        return self.current_library or "QGPL"

    def _locate(self, operation: Operation, name: str, library: str) -> tuple[Library, SystemObject]:
        """Find an object by the rules of names, *LIBL and *CURLIB, without a look at what the job remembers."""
        if library == "*LIBL":
            return self._search_list(operation, name)
        wanted = self.current() if library == "*CURLIB" else library
        holder = self.library(wanted)
        if holder is None:
            self.fail(operation.library_missing, wanted)
        self._check_library(operation, holder)
        found = holder.objects.get(("*DTAQ", name))
        if found is None:
            missing = operation.object_missing
            self.fail(missing, *object_values(missing, name, library, "*DTAQ"))
        return holder, found

    def _search_list(self, operation: Operation, name: str) -> tuple[Library, SystemObject]:
        for wanted in self.library_list():
            holder = self.library(wanted)
            if holder is None:
                self.fail("CPF9807")
            found = holder.objects.get(("*DTAQ", name))
            if found is not None:
                self._check_library(operation, holder)
                return holder, found
        missing = operation.object_missing
        return self.fail(missing, *object_values(missing, name, "*LIBL", "*DTAQ"))

    def _check_library(self, operation: Operation, holder: Library) -> None:
        """Refuse when the user may not use the library so."""
        if not operation.library_authority <= self.granted(holder):
            self.fail(operation.library_message, holder.name)

    def granted(self, target: SystemObject) -> frozenset[str]:
        """The single authorities that its user has to an object."""
        self._dispatcher.check_thread()
        return self.system.granted(self._current_user, target)

    def _authorize(self, operation: Operation, target: SystemObject) -> None:
        """Refuse when the user lacks what the operation needs; a proof is remembered for operations that do so."""
        proof = (target.number, operation.name, self._current_user)
        if operation.cached and proof in self._authorized:
            return
        if not operation.object_authority <= self.granted(target):
            self._fail_for(operation.object_message, target)
        if operation.cached:
            self._authorized.add(proof)

    def may_use_profile(self, name: str) -> bool:
        """Whether its user has *USE to another profile; as for queues, a proof counts until the job ends."""
        self._dispatcher.check_thread()
        proof = (0, name, self._current_user)
        if proof not in self._authorized:
            profile = self.system.profile(self._current_user)
            granted = granted_names(self.system.profile_authorities.get((name, profile.name), "*EXCLUDE"))
            if not (profile.allobj or name == profile.name or granted >= granted_names("*USE")):
                return False
            self._authorized.add(proof)
        return True

    def open_queue(self, operation_name: str, name: str, library: str) -> DataQueue:
        """The data queue that an operation means, with authority proven.

        Raises:
            EscapeMessage: library or queue not found, or not authorized.
        """
        self._dispatcher.check_thread()
        operation = OPERATIONS[operation_name]
        specific = not library.startswith("*")
        known = self._addresses.get((name, library)) if operation.cached and specific else None
        if known is None or known.gone:
            found = self._locate(operation, name, library)[1]
            assert isinstance(found, DataQueue)
            known = found
        self._authorize(operation, known)
        if operation.cached and specific:
            self._addresses[(name, library)] = known
        return known

    def _open_alone(self, operation_name: str, name: str, library: str) -> tuple[Library, DataQueue]:
        """A data queue and its library, with authority proven and its lock waited for.

        After a wait everything is looked up again: others may have moved things meanwhile.
        """
        operation = OPERATIONS[operation_name]
        while True:
            holder, found = self._locate(operation, name, library)
            assert isinstance(found, DataQueue)
            self._authorize(operation, found)
            if not self.await_lock(operation_name, found):
                return holder, found

    def waits_for_nobody(self, name: str, library: str) -> bool:
        """Whether a send, or a receive without a wait time, is done at once: for servers, which can be quicker then.

        Args:
            name: a name in capitals, as the job has sent to it or received from it before.
            library: likewise.
        """
        self._dispatcher.check_thread()
        queue = self._sending.get((name, library)) or self._receiving.get((name, library))
        return queue is not None and queue.direct and not self.ended

    def await_lock(self, operation_name: str, target: SystemObject) -> bool:
        """Wait until the operation may have its lock, when it takes one; returns whether it had to wait.

        The command goes on without giving way, so the lock itself need not stand in the table; a receive that
        waits for an entry holds it.
        """
        self._dispatcher.check_thread()
        operation = OPERATIONS[operation_name]
        if operation.locked == "never" or (operation.locked == "enforced" and not self._enforced(target)):
            return False
        request = Request(target, operation.lock)
        locks = self.system.locks
        if not locks.blocked(self, request):
            return False
        if not locks.acquire(self, [request], self._default_wait_ns()):
            self._fail_for(operation.lock_message, target)
        locks.release(self, request)
        if target.gone:
            self._fail_for(operation.object_missing, target)
        return True

    @staticmethod
    def _enforced(target: SystemObject) -> bool:
        return isinstance(target, DataQueue) and target.enforce

    def object_name(self, value: str, what: str = "name") -> str:
        """A name in capitals, checked for what a name parameter can hold.

        Raises:
            ParameterError: it is not text, is longer than ten characters, or holds a character that its CCSID has not.
        """
        self._dispatcher.check_thread()
        if not isinstance(value, str):
            raise ParameterError(f"{what} {value!r}: a name is text of 1 to {NAME_LENGTH} characters")
        return _checked_name(value, what)

    @types_told
    def check_names(self, name: str, library: str) -> None:
        """Refuse names that no object can have, as an API does that takes the bytes of a program as they are.

        Raises:
            EscapeMessage: CPF9810 such a library, a blank one too; CPF9801 such a name.
        """
        self._dispatcher.check_thread()
        if not _NAME.fullmatch(library):
            self.fail("CPF9810", library)
        if not _NAME.fullmatch(name):
            self.fail("CPF9801", name, library, DTAQ)

    def place(self, name: str, library: str = "", default: str = "*LIBL") -> tuple[str, str]:
        """Name and library of ``"LIB/NAME"``, or of name and library; ``default`` when neither says a library."""
        self._dispatcher.check_thread()
        if not library and isinstance(name, str):
            library, slash, name = name.rpartition("/")
            library = library if slash else default
        return self.object_name(name), self.object_name(library, "library")


def wait_seconds(value: float, what: str, most: int = LIMITS["wait_seconds_maximum"]) -> int:
    """A number of seconds that a lock or an entry is waited for, in nanoseconds.

    Raises:
        ParameterError: it is no number, below 0, or more than ``most``.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
        raise ParameterError(f"{what} {value!r:.40}: a number of seconds from 0 to {most} is needed")
    return round(value * _NS)


@lru_cache(maxsize=4096)
def _checked_name(value: str, what: str) -> str:
    if not 0 < len(value) <= NAME_LENGTH:
        raise ParameterError(f"{what} {value[:40]!r}: a name is text of 1 to {NAME_LENGTH} characters")
    if not value.isascii() or not value.isprintable():
        raise ParameterError(f"{what} {value!r}: a name has letters, digits, $ # @ _ . or a special value")
    return value.upper().rstrip()


def object_values(message_id: str, name: str, library: str, object_type: str) -> tuple[str, ...]:
    """The values of a message about an object: as many of name, library and type as it has variables."""
    variables = sum(1 for _, length in MESSAGES[message_id].data if length)
    return (name, library, object_type.lstrip("*"))[:variables]
