"""A job's core: its attributes, library list and job log, and how it finds and remembers data queues.

Two things that a job remembers until it ends
    The *address* of a queue that was found with a specific library: the job keeps using the object that it found first,
    also after MOVOBJ or RNMOBJ, and even when a new queue has the old name. And its *authority* for an operation on an
    object: revoking the authority does not affect a job that has already used it. QSNDDTAQ, QRCVDTAQ, QMHQRDQD and
    QMHRDQM remember both, and those that need the same authorities share the proof; other operations look up and check
    each time. A deleted object is forgotten.

The commands of a job are functions in this package whose first parameter is a :class:`JobCore`. Programs use a
:class:`~tdqsim.ibmi.Job`: a :class:`JobBase`, which holds the core privately, with those functions as its methods.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NoReturn

from tdqsim.core.codepage import CodePage
from tdqsim.core.stepping import Stepped
from tdqsim.core.store import Entry, Work
from tdqsim.ibmi.authority import granted_names
from tdqsim.ibmi.data import JobData, job_page
from tdqsim.ibmi.errors import JobEnded, ParameterError
from tdqsim.ibmi.fact_tables import COMMAND_MESSAGES, LIMITS, OPERATIONS, Operation
from tdqsim.ibmi.layouts import layout
from tdqsim.ibmi.lock_manager import Request
from tdqsim.ibmi.machine import machine_message
from tdqsim.ibmi.messages import DTAQ, EscapeMessage, Message, message
from tdqsim.ibmi.names import is_object_name, object_name, object_values, place, several_names, wait_seconds
from tdqsim.ibmi.objects import SYSTEM_LIBRARIES, Library, SystemObject, new_name
from tdqsim.ibmi.open_list import OpenLists
from tdqsim.ibmi.queue import DataQueue
from tdqsim.ibmi.system_core import SystemBase, SystemCore
from tdqsim.ibmi.waits import Waiter, give_back, leave

_NS = 1_000_000_000


class JobCore(JobData):
    """The state that all APIs and commands of a job share.

    Attributes:
        handle: the public job object.
        ccsid: the CCSID of its characters; 65535 means no conversion.
        sender_id: its sender ID, the 36 bytes stored with an entry of a SENDERID(*YES) queue.
        operation: its current API or command, and the data queue and library that the caller named, for a history.
        waiters: its receives that wait.
        default_wait: seconds that it waits for a lock.
        date_format: DATFMT, such as ``*YMD``, for QWCCVTDT.
        current_library: the library that ``*CURLIB`` stands for, empty for none.
        user_libraries: the user part of the library list.
        qtemp: its QTEMP, which no other job can access.
        started_ns: the moment of its start, on the system's clock.
        joblog: messages that were sent to it, oldest first; only the last few thousand.
        logged_at: the moment when each of them was sent, on the system's clock.
        logged: how many messages were sent to it in total.
        open_lists: the open lists of QGYOLJBL.
        local_only: whether it may not use DDM data queues (CPF9511), like the jobs of the data queue server.
        route: for a request of another system that it carries out, the DDM queues that the request has passed.
        remote_failures: failures of asynchronous sends, by the number of their DDM queue.
        schema: CURRENT SCHEMA of its SQL statements; ``*LIBL``: the library list.
        sending, receiving: caches of the data queues for its next send or receive, by name and library as passed.
        addresses: the queues that it found with a specific library, by name and library.
        authorized: the checks that succeeded: (object number, authorities, user).
        stepped: holds it before each command; None for a job that runs freely.
        in_command: whether a stepped job is inside a command.
    """

    __slots__ = (
        "addresses", "authorized", "ccsid", "current_library", "date_format", "default_wait", "handle", "in_command",
        "joblog", "local_only", "logged", "logged_at", "open_lists", "operation", "qtemp", "receiving",
        "remote_failures", "route", "schema", "sender_id", "sending", "started_ns", "stepped", "user_libraries",
        "waiters",
    )  # fmt: skip
    system: SystemCore

    def __init__(
        self, handle: JobBase, system: SystemCore, name: str, user: str, number: str, *, current_library: str,
        library_list: str | Sequence[str], ccsid: int, run_priority: int, default_wait: float,
    ) -> None:  # fmt: skip
        wait_seconds(default_wait, "default_wait")
        page = job_page(ccsid)
        super().__init__(system, new_name(name, "name"), new_name(user, "user"), number, page, run_priority)
        self.handle = handle
        self.ccsid = ccsid
        self.sender_id = b""
        self.schema = "*LIBL"
        self.operation = ("", "", "")
        self.waiters: set[Waiter] = set()
        self.default_wait = default_wait
        self.date_format = "*YMD"
        self.current_library = ""
        self.user_libraries: tuple[str, ...] = ()
        self.qtemp = Library(0, "QTEMP", "QSYS", user, public="*ALL")
        self.started_ns = system.clock.time_ns()
        self.joblog: list[Message] = []
        self.logged_at: list[int] = []
        self.logged = 0
        self.open_lists = OpenLists()
        self.local_only = False
        self.route: tuple[str, ...] = ()
        self.addresses: dict[tuple[str, str], DataQueue] = {}
        self.authorized: set[tuple[int, str, str]] = set()
        self.remote_failures: dict[int, EscapeMessage] = {}
        self.sending: dict[tuple[str, str], DataQueue] = {}
        self.receiving: dict[tuple[str, str], DataQueue] = {}
        self.stepped: Stepped[object] | None = None
        self.in_command = False
        self.set_run_priority(run_priority)
        self.set_current_library(current_library)
        self.set_user_libraries(library_list)
        self.set_current_user(user)

    # -- attributes ---------------------------------------------------------------------------------------------------

    def set_current_user(self, user: str) -> None:
        """Run under another user profile."""
        self.current_user = self.system.profiles.find(user).name
        self.forget_places()
        self._make_sender_id()

    def set_ccsid(self, ccsid: int) -> None:
        """Change the CCSID; a CCSID that is not known leaves it unchanged."""
        self.page = job_page(ccsid)
        self.ccsid = ccsid
        self._make_sender_id()

    def _make_sender_id(self) -> None:
        values = {"job_name": self.name, "user": self.user, "number": self.number, "current_user": self.current_user}
        self.sender_id = layout("SENDERID").build(values, self.page)

    def set_run_priority(self, run_priority: int) -> None:
        """Change the run priority; a receive that waits moves to its new place at once."""
        least, most = LIMITS["run_priority_minimum"], LIMITS["run_priority_maximum"]
        if type(run_priority) is not int or not least <= run_priority <= most:
            raise ParameterError(f"run_priority {run_priority!r}: must be {least} to {most}")
        self.run_priority = run_priority
        for waiter in self.waiters:
            waiter.queue.waiters.move(waiter)

    def set_current_library(self, library: str) -> None:
        """Change the current library without checking that it exists; empty for none."""
        self.current_library = object_name(library, "current_library") if library else ""
        self.forget_places()

    def set_user_libraries(self, libraries: str | Sequence[str]) -> None:
        """Change the user part of the library list without checking that the libraries exist."""
        self.user_libraries = tuple(object_name(one, "library_list") for one in several_names(libraries))
        self.forget_places()

    # -- messages -----------------------------------------------------------------------------------------------------

    def message(self, message_id: str, *values: str | int) -> Message:
        """A message with data in the CCSID of the job."""
        return message(message_id, *values, page=self.page)

    def ruled(self, message_id: str, *values: str | int, rule: str = "") -> Message:
        """A message that belongs to a rule: the one that machine.yaml gives for the rule, if it names the rule."""
        other = self.system.machine.get(rule)
        if other is None:
            return self.message(message_id, *values)
        return machine_message(other, message_id, values, self.page)

    def fail(
        self, message_id: str, *values: str | int, rule: str = "", diagnostics: tuple[Message, ...] = (), hint: str = ""
    ) -> NoReturn:
        """End the command with an escape message: its id in the message file, and the values of its variables.

        ``rule`` is the id of the rule, where a machine.yaml may give another message for it. ``diagnostics`` are the
        messages that were sent before and give the cause. ``hint`` says in our words what is wrong where the message
        does not; it is in the second-level text, and in a note of the exception.
        """
        sent = self.ruled(message_id, *values, rule=rule)
        self._note_failure(sent.message_id)
        error = EscapeMessage(sent._replace(help=f"{sent.help} {hint}") if hint else sent, diagnostics, rule)
        if hint:
            error.add_note(hint)
        raise error

    def fail_after(self, cause: EscapeMessage, message_id: str, rule: str = "") -> NoReturn:
        """End the command with an escape message that only says that it failed; the cause becomes a diagnostic."""
        diagnostic = cause.message._replace(kind="diagnostic")
        self.log(diagnostic)
        raise EscapeMessage(self.ruled(message_id, rule=rule), (diagnostic,), rule) from cause

    def fail_for(self, message_id: str, target: SystemObject, rule: str = "") -> NoReturn:
        """End the command with an escape message about an object."""
        self.fail(message_id, *object_values(message_id, target.name, target.library, target.type), rule=rule)

    def send_completion(self, message_id: str, target: SystemObject) -> None:
        """Put a completion message about an object into the job log."""
        self.log(self.message(message_id, *object_values(message_id, target.name, target.library, target.type)))

    def sent(self, queue: DataQueue, entry: Entry) -> Sequence[Work]:
        """See :class:`~tdqsim.ibmi.queue.QueueUser`."""
        return self.system.journals.sent(self, queue, entry)

    def received(self, queue: DataQueue, entry: Entry) -> Sequence[Work]:
        """See :class:`~tdqsim.ibmi.queue.QueueUser`."""
        return self.system.journals.received(self, queue, entry.key)

    def log(self, *messages: Message) -> None:
        """Put messages into the job log; when it is full, the oldest ones are dropped."""
        self.joblog.extend(messages)
        self.logged_at.extend([self.system.clock.time_ns()] * len(messages))
        self.logged += len(messages)
        surplus = len(self.joblog) - LIMITS["joblog_messages"]
        if surplus > 0:
            del self.joblog[:surplus], self.logged_at[:surplus]

    def _note_failure(self, message_id: str) -> None:
        """Record that the current operation ends with an escape message."""
        recorder, on_failure = self.system.recorder, self.system.on_failure
        if recorder is None and on_failure is None:
            return
        operation, name, library = self.operation
        asked = f"{library}/{name}" if library else name
        event = (operation, self.qualified_name, asked, b"", self.system.clock.time_ns(), b"", message_id)
        if recorder is not None:
            recorder.trace(event)
        if on_failure is not None:
            on_failure((*event, self.current_user))

    # -- every command ------------------------------------------------------------------------------------------------

    def begin(self, operation: str, name: str = "", library: str = "") -> None:
        """Begin an operation: check that the job and the system are usable, and let a planned fault end it."""
        self.check_usable()
        self.operation = (operation, name, library)
        faults = self.system.faults
        planned = faults(self.handle, operation, name, library) if faults is not None else None
        if planned is not None:
            self.operation = (operation, name, library)  # set again, because the hook may have called the job
            self._note_failure(planned.message_id)
            raise EscapeMessage(planned)

    def give_turn(self) -> None:
        """At the end of a command outside a started job, run the jobs that are ready."""
        dispatcher = self.system.dispatcher
        if (dispatcher.ready or dispatcher.deadlines) and dispatcher.current is dispatcher.outside:
            dispatcher.run_ready()

    def default_wait_ns(self) -> int:
        """The time that it waits for a lock."""
        return round(self.default_wait * _NS)

    # -- libraries and objects ----------------------------------------------------------------------------------------

    def library_list(self) -> Iterator[str]:
        """Its library list: system part, current library, user part."""
        yield from SYSTEM_LIBRARIES
        if self.current_library:
            yield self.current_library
        yield from self.user_libraries

    def library(self, name: str) -> Library | None:
        """The library with this name, or None; QTEMP is the job's own."""
        return self.qtemp if name == "QTEMP" else self.system.objects.libraries.get(name)

    def current(self) -> str:
        """The library that ``*CURLIB`` stands for now."""
        return self.current_library or "QGPL"

    def locate(self, operation: Operation, name: str, library: str) -> tuple[Library, DataQueue]:
        """Find a data queue by the rules for names, *LIBL and *CURLIB, without the job's remembered addresses."""
        if library == "*LIBL":
            return self._search_list(operation, name)
        wanted = self.current() if library == "*CURLIB" else library
        holder = self.library(wanted)
        if holder is None:
            self.fail(operation.library_missing, wanted)
        self.check_library(operation, holder)
        queue = holder.objects.get(("*DTAQ", name))
        if not isinstance(queue, DataQueue):
            missing = operation.object_missing
            self.fail(missing, *object_values(missing, name, library, "*DTAQ"))
        return holder, queue

    def _search_list(self, operation: Operation, name: str) -> tuple[Library, DataQueue]:
        for wanted in self.library_list():
            holder = self.library(wanted)
            if holder is None:
                if "CPF9807" in COMMAND_MESSAGES.get(operation.name, ("CPF9807",)):
                    self.fail("CPF9807")
                self.fail(operation.library_missing, wanted)
            queue = holder.objects.get(("*DTAQ", name))
            if isinstance(queue, DataQueue):
                self.check_library(operation, holder)
                return holder, queue
        missing = operation.object_missing
        return self.fail(missing, *object_values(missing, name, "*LIBL", "*DTAQ"))

    def check_library(self, operation: Operation, holder: Library) -> None:
        """Fail if the user lacks an authority to a library."""
        if not operation.library_authority <= self.granted(holder):
            self.fail(operation.library_message, holder.name)

    def granted(self, target: SystemObject) -> frozenset[str]:
        """The single authorities that its user has to an object."""
        return self.system.profiles.granted(self.current_user, target)

    def authorize(self, operation: Operation, target: SystemObject, rule: str = "") -> None:
        """Fail if the user lacks an authority; for some operations a success is remembered (see the module's text).

        ``rule`` is the rule of the failure's message, if there is one.
        """
        proof = (target.number, operation.proof, self.current_user)
        if operation.cached and proof in self.authorized:
            return
        if not operation.object_authority <= self.granted(target):
            self.fail_for(operation.object_message, target, rule)
        if operation.cached:
            self.authorized.add(proof)

    def may_use_profile(self, name: str) -> bool:
        """Whether its user has *USE to another profile; a success is remembered until the job ends."""
        proof = (0, name, self.current_user)
        if proof not in self.authorized:
            profiles = self.system.profiles
            profile = profiles.find(self.current_user)
            granted = granted_names(profiles.authorities.get((name, profile.name), "*EXCLUDE"))
            if not (profile.allobj or name == profile.name or granted >= granted_names("*USE")):
                return False
            self.authorized.add(proof)
        return True

    def open_queue(self, operation_name: str, name: str, library: str, *, remember: bool = True) -> DataQueue:
        """The data queue that an operation names, with authority checked.

        Args:
            operation_name: the API or command.
            name: the data queue.
            library: its library.
            remember: False neither uses nor adds to what the job remembers.

        Raises:
            EscapeMessage: library or queue not found, or not authorized.
        """
        operation = OPERATIONS[operation_name]
        if not remember:
            operation = operation._replace(cached=False)
        specific = not library.startswith("*")
        known = self.addresses.get((name, library)) if operation.cached and specific else None
        if known is None or known.deleted:
            known = self.locate(operation, name, library)[1]
        self.authorize(operation, known, "DTAQ-FIND-FIRST-MATCH" if library == "*LIBL" else "")
        if operation.cached and specific:
            self.addresses[(name, library)] = known
        return known

    def open_for(self, operation: str, places: dict[tuple[str, str], DataQueue], name: str, library: str) -> DataQueue:
        """Begin a send or receive whose queue is not in the cache: find the queue, and cache it if possible.

        Args:
            operation: QSNDDTAQ or QRCVDTAQ.
            places: the job's cache for this operation.
            name: the data queue as the caller names it.
            library: its library as the caller names it.
        """
        asked = name, library
        name, library = place(name, library)
        if self.stepped is not None and not self.in_command:
            self.stepped.stand_before(operation.lower())
        self.begin(operation, name, library)
        queue = self.open_queue(operation, name, library)
        if not queue.ddm:
            self.await_lock(operation, queue)
            queue.bind()
            self.remember(places, asked, queue)
        return queue

    def open_alone(self, operation_name: str, name: str, library: str) -> tuple[Library, DataQueue]:
        """Find a data queue and its library, check the authority, and wait for the operation's lock.

        After a wait everything is looked up again, because other jobs may have moved objects meanwhile.
        """
        operation = OPERATIONS[operation_name]
        while True:
            holder, queue = self.locate(operation, name, library)
            self.authorize(operation, queue)
            if not self.await_lock(operation_name, queue):
                return holder, queue

    def await_lock(self, operation_name: str, target: DataQueue) -> bool:
        """Wait until the operation can have its lock, if it takes one; returns whether it had to wait.

        No other job runs until the command ends, so the lock itself need not be recorded. Only a receive that waits for
        an entry records its lock.
        """
        operation = OPERATIONS[operation_name]
        if operation.locked == "never" or (operation.locked == "enforced" and not target.enforce):
            return False
        request = Request(target, operation.lock)
        locks = self.system.locks
        if not locks.blocked(self, request):
            return False
        if not locks.acquire(self, [request], self.default_wait_ns()):
            rule = "DTAQ-LOCK-ENFORCED" if operation.locked == "enforced" else ""
            self.fail_for(operation.lock_message, target, rule)
        locks.release(self, request)
        if target.deleted:
            self.fail_for(operation.object_missing, target)
        return True

    def check_names(self, name: str, library: str) -> None:
        """Refuse names that no object can have, for an API that does not convert the names in a program's bytes.

        Raises:
            EscapeMessage: CPF9810 the library's name is not valid, or blank; CPF9801 the queue's name is not valid.
        """
        if not is_object_name(library):
            self.fail("CPF9810", library, rule="DTAQ-SERVER-NAMES" if self.local_only else "")
        if not is_object_name(name):
            self.fail("CPF9801", name, library, DTAQ)

    # -- remembered addresses and authorities -------------------------------------------------------------------------

    def remember(self, places: dict[tuple[str, str], DataQueue], asked: tuple[str, str], queue: DataQueue) -> None:
        """Cache a standard queue for the next command, until an object or an authority changes.

        It is not cached if each command must first do something else: wait for a lock, check for a planned fault, or
        wait for a step of a test.
        """
        if not queue.enforce and self.system.faults is None and self.stepped is None:
            self.system.clear_on_change(places, places.clear)
            places[asked] = queue

    def forget_places(self) -> None:
        """Clear the caches of data queues, because its library list or its user has changed."""
        self.sending.clear()
        self.receiving.clear()

    def forget(self) -> None:
        """Forget addresses and authorities, at the end of the job."""
        self.addresses.clear()
        self.authorized.clear()
        self.forget_places()

    # -- the end ------------------------------------------------------------------------------------------------------

    def end(self) -> None:
        """End the job: end its wait, release its locks, and delete its QTEMP."""
        if self.ended:
            return
        self.ended = True
        self.forget()
        for waiter in tuple(self.waiters):  # at once, so that no entry is handed to a job that has ended
            leave(waiter)
            if not self.system.failed:
                give_back(waiter)
            waiter.parked.wake_one()
        system, fiber = self.system, self.fiber
        if fiber is not None and fiber is not system.dispatcher.current:
            fiber.cancel(JobEnded(f"job {self.qualified_name} has ended"))
        system.locks.release_all(self)
        for one in list(self.qtemp.objects.values()) if not system.failed else ():
            system.objects.remove(one, self.qtemp, job=self)
        system.objects.temporary.pop(self.qualified_name, None)
        system.jobs.pop(self.qualified_name, None)
        self.note("ENDJOB")


class JobBase:
    """The attributes of a job for programs; :class:`~tdqsim.ibmi.Job` adds the commands."""

    __slots__ = ("__weakref__", "_core", "joblog", "name", "number", "qualified_name", "started", "system", "user")

    def __init__(
        self, system: SystemBase, name: str, user: str, number: str, *, current_library: str = "",
        library_list: str | Sequence[str] = ("QGPL", "QTEMP"), ccsid: int = 37,
        run_priority: int = LIMITS["run_priority"], default_wait: float = LIMITS["default_wait_seconds"],
    ) -> None:  # fmt: skip
        self.system = system
        self.started: object = None
        self._core = core = JobCore(
            self, system._core, name, user, number, current_library=current_library, library_list=library_list,
            ccsid=ccsid, run_priority=run_priority, default_wait=default_wait,
        )  # fmt: skip
        self.name, self.user, self.number, self.qualified_name = core.name, core.user, core.number, core.qualified_name
        self.joblog = core.joblog

    def __repr__(self) -> str:
        return f"<Job {self.qualified_name}{' ended' if self.ended else ''}>"

    def _changing(self) -> JobCore:
        """Its core, for changing an attribute; only its own thread may do that."""
        self._core.system.dispatcher.check_thread()
        return self._core

    @property
    def current_user(self) -> str:
        """The profile it runs under now. Setting it swaps profiles."""
        return self._core.current_user

    @current_user.setter
    def current_user(self, user: str) -> None:
        self._changing().set_current_user(user)

    @property
    def ccsid(self) -> int:
        """The CCSID of its characters, which CHGJOB CCSID changes; 65535 means no conversion.

        Raises:
            ConversionError: the new CCSID is not known; the old one stays.
        """
        return self._core.ccsid

    @ccsid.setter
    def ccsid(self, ccsid: int) -> None:
        self._changing().set_ccsid(ccsid)

    @property
    def page(self) -> CodePage:
        """The code page of its CCSID; for 65535 that of the default CCSID."""
        return self._core.page

    @property
    def run_priority(self) -> int:
        """The run priority, which CHGJOB RUNPTY changes: 1 to 99, the lowest number is served first.

        Setting it moves a waiting receive at once, in order of arrival among those of the new priority.

        Raises:
            ParameterError: the new value is not 1 to 99; the old one stays.
        """
        return self._core.run_priority

    @run_priority.setter
    def run_priority(self, run_priority: int) -> None:
        self._changing().set_run_priority(run_priority)

    @property
    def default_wait(self) -> float:
        """Seconds that it waits for a lock, which CHGJOB DFTWAIT changes."""
        return self._core.default_wait

    @default_wait.setter
    def default_wait(self, seconds: float) -> None:
        self._changing().default_wait = seconds

    @property
    def date_format(self) -> str:
        """DATFMT, such as ``*YMD``, for QWCCVTDT."""
        return self._core.date_format

    @date_format.setter
    def date_format(self, date_format: str) -> None:
        self._changing().date_format = date_format

    @property
    def current_library(self) -> str:
        """The library that ``*CURLIB`` stands for, empty for none. Setting it does not check that it exists."""
        return self._core.current_library

    @current_library.setter
    def current_library(self, library: str) -> None:
        self._changing().set_current_library(library)

    @property
    def user_libraries(self) -> tuple[str, ...]:
        """The user part of the library list. Setting it does not check that the libraries exist."""
        return self._core.user_libraries

    @user_libraries.setter
    def user_libraries(self, libraries: str | Sequence[str]) -> None:
        self._changing().set_user_libraries(libraries)

    @property
    def ended(self) -> bool:
        """Whether it has ended and accepts no further commands."""
        return self._core.ended

    @property
    def local_only(self) -> bool:
        """Whether it may not use DDM data queues (CPF9511), like the jobs of the data queue server."""
        return self._core.local_only

    @local_only.setter
    def local_only(self, local_only: bool) -> None:
        self._changing().local_only = local_only
