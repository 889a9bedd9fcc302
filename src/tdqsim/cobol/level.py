"""Run COBOL programs as a task's programs: link levels, commands, labels, and the ends of programs.

A *level* is one run of one program, with the programs that it CALLs. libcob refuses to enter an active program again
and has one storage for each module, so each level runs copies of the modules under names of their own; at the end of
the level its programs are cancelled, so that the next level gets fresh storage, and the copies are reused.

The CALL of a command reaches :meth:`Level.command`. Its outcomes:

================================  =====================================================================
the command ends, or a condition  DFHEI-NUMBER is 0 and the program continues
has a label                       DFHEI-NUMBER is the label's number
RETURN, ABEND, a condition        the level is left by longjmp; the exception is kept, and raised again
without a handler                 when the level is over (no exception may pass COBOL's frames)
================================  =====================================================================

A HANDLE ABEND label is searched from the level of the abend upwards. If the run-time has ended the program (bad data, a
bad address), the program is entered again with its storage unchanged, and goes to the label at once. A CALLed program
has HANDLEs of its own, as if PUSH HANDLE were issued before the CALL and POP HANDLE after it. Sources: LINK, XCTL,
RETURN, HANDLE ABEND (IBM Docs), CBLPSHPOP (Language Environment).
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from threading import get_ident
from types import FunctionType
from typing import Any, Final

from tdqsim.cics import Abend, Condition, Task
from tdqsim.cobol import watching
from tdqsim.cobol._libcob import CRASHED, DONE, HEADING, INTERRUPTED, LEFT, RUNAWAY, STOPPED, Libcob, libcob
from tdqsim.cobol.abends import AbendLabel, CobolFailure
from tdqsim.cobol.calls import Plan, answers, plans_of
from tdqsim.cobol.code_pages import converted
from tdqsim.cobol.compiler import Module
from tdqsim.cobol.copies import copies_of, loaded_modules
from tdqsim.cobol.display import DisplayLines, current_date
from tdqsim.cobol.eib_area import EibArea
from tdqsim.cobol.external_calls import answer_call, stand_in
from tdqsim.cobol.guarded_areas import GuardedArea
from tdqsim.cobol.one_thread import is_owner, take_over
from tdqsim.cobol.program_storage import ProgramStorage
from tdqsim.cobol.settings import Settings, Verb
from tdqsim.cobol.storage import TaskStorage, storage_of
from tdqsim.cobol.translate import ExecCommand
from tdqsim.languages import Handles, ProgramLevel, TaskInternals, TaskReturn

_PLACE: Final = re.compile(r"^(?:libcob: )?(?:[^\n]*?:\d+: )?(?:error: )?")
"""The prefix of libcob's messages. It is removed because its line is not always that of the statement."""
_GENERATED: Final = ("MOVE", "CALL", "GO TO", "SET", "IF")
_WELL: Final = (DONE, LEFT)
_TYPE: Final = 0xFFFF
_FLAGS: Final = 16
_PACKED: Final = 0x12
_SIGNED: Final = 0x01
_ROWS: Final = HEADING * 8
_RUNS: Final = count(1)
_NO_TASK: Final[Any] = None
"""The task and the storage of a level while no task runs it."""


_COVERAGE: Final[dict[str, bool]] = {}


def watch_statements() -> None:
    """Report the statements of programs that run already; those of others are reported from their start."""
    if any(loaded_modules()):
        library = libcob(_CALLBACKS)
        library.watch(2)
        library.watched = 2


def begin_coverage() -> None:
    """Clear the record of the statements that were reached, and start recording."""
    _COVERAGE["on"] = True
    if any(loaded_modules()):
        libcob(_CALLBACKS).forget_reached()


def coverage_is_on() -> bool:
    """Whether statements that are reached are recorded."""
    return bool(_COVERAGE)


def reached_lines(program: str, source: str) -> dict[int, int]:
    """How often programs of a name have reached the lines of a source."""
    return libcob(_CALLBACKS).reached(program, source) if any(loaded_modules()) else {}


_Frame = tuple[int, Handles]
"""The number of a program of a level that has issued a command, and the handlers in force before it."""


class _Current:
    """The level that runs now; None while no level runs."""

    __slots__ = ("level",)

    def __init__(self) -> None:
        self.level: Level | None = None


_CURRENT: Final = _Current()


class Level:
    """One run of one program, with the programs that it CALLs; the object is reused for the next run.

    Attributes:
        task: the task for which it runs.
        module: the program.
        settings: how programs run here.
        statement: the current EXEC SQL or EXEC DLI, its host variables called A1, A2, ...
        storage: the storage of the task's programs.
        branch: the number of the label that the program goes to; 0 to continue.
        ended: whether the current command ends the level normally.
        in_statement: the address of libcob's record of the program whose statement is watched; 0 between statements.
        run_number: the number of the run among all runs of the process.
    """

    __slots__ = (
        "_active", "_commands", "_commarea", "_copies", "_eib", "_frames", "_plan", "_plans", "_program_level",
        "branch", "called", "checked", "eib_address", "ended", "entry", "error", "in_statement", "libcob", "module",
        "run_number", "settings", "statement", "storage", "task",
    )  # fmt: skip

    def __init__(self, module: Module, settings: Settings) -> None:
        self.module = module
        self.settings = settings
        self.checked = settings.checked
        self.libcob: Libcob = libcob(_CALLBACKS)
        self._copies = copies_of(module)
        self._eib = EibArea()
        self.eib_address = self._eib.address
        self.called: dict[str, tuple[Module, int]] = {}
        self._frames: list[_Frame] = []
        self._plans: list[Plan] = []
        self._clear()

    def _clear(self) -> None:
        """Reset it for the next run."""
        self.task: Task = _NO_TASK
        self.storage: TaskStorage = _NO_TASK
        self.statement = ""
        self.branch = self.entry = self._active = self.in_statement = self.run_number = 0
        self.ended = False
        self.error: BaseException | None = None
        self._plan: Plan | None = None
        self._commands: set[str] | None = None
        self._commarea: memoryview | None = None
        self._program_level: ProgramLevel | None = None
        if self.called:
            self.called = {}
        self._frames.clear()

    @property
    def declared(self) -> ExecCommand | None:
        """The current command, or the last one."""
        return None if self._plan is None else self._plan.declared

    def programs(self) -> Iterator[ProgramStorage]:
        """The items of the programs of this level, those of the program that issued the current command first."""
        entries = [(self.module, self.entry), *self.called.values()]
        running = self.running
        last = self.module_of(running) if running else None
        for module, entry in sorted(entries, key=lambda each: each[0] is not last):
            active = bool(running) and self.libcob.is_active(running, module.program)
            yield ProgramStorage(module.program, module.symbols, entry - module.symbols.entry, active=active)

    @property
    def number(self) -> int:
        """1 for the first program of the task, and one more for each LINK; XCTL does not change it."""
        return 1 if self._program_level is None else self._program_level.number

    @property
    def running(self) -> int:
        """The address of libcob's record of the program of the current statement or command; 0 before the first one."""
        return self.in_statement or self._active

    def room_from(self, address: int) -> int:
        """Bytes from an address to the end of the area that contains it; 0 when no known area does."""
        area = self.commarea_address
        if area is not None and self._commarea is not None and area <= address < area + len(self._commarea):
            return area + len(self._commarea) - address
        # a program's item in the LINKAGE SECTION may be shorter or longer than the area that it lies on
        got = max(each.room_from(address) for each in (self.storage, self.settings.shared))
        return got or next(filter(None, (program.room_from(address) for program in self.programs())), 0)

    @property
    def place(self) -> str:
        """The user's file and line of the current command, or of the last one."""
        declared = self.declared
        return "" if declared is None else str(declared.place)

    @property
    def issuer(self) -> str:
        """The PROGRAM-ID of the program that has issued the current command."""
        return self.module_of(self.running).program

    def mark_eib(self, offset: int, data: bytes) -> None:
        """Set an indicator of the EIB until the next command."""
        self._eib.mark(offset, data)

    @property
    def verbs(self) -> Mapping[str, Verb]:
        """Functions that answer commands by their verbs."""
        return self.settings.verbs

    def run(self, task: Task) -> None:
        """Run the program for a task, to its end.

        Raises:
            TaskReturn: RETURN or XCTL. Abend, Condition: its end; CobolFailure is the cause of ASRA and AICA.
        """
        if not (self.settings.has_run and is_owner(get_ident())):
            take_over(task.region)
            self.settings.has_run = True
        storage = storage_of(task)
        self.task, self.storage, self.run_number = task, storage, next(_RUNS)
        commarea = guarded = given = None
        level = TaskInternals(task).level
        if level is not None:
            self._program_level = level
            given = level.commarea
            if given is not None and not isinstance(given.obj, ctypes.Array):  # it is not storage of a COBOL program
                guarded = GuardedArea(self.libcob, "COMMAREA", given)
                level.commarea = guarded.view()
            self._commarea = level.commarea
            commarea = self.commarea_address
        library, settings = self.libcob, self.settings
        wanted = 2 if settings.on_statement is not None or watching.debugged() else len(_COVERAGE)
        if wanted != library.watched:
            library.watch(wanted)
            library.watched = wanted
        eib = self._eib.begin(task.eib)
        entry = self.entry = self._copies.take(library.copy)
        before, _CURRENT.level = _CURRENT.level, self
        storage.levels.append(self)
        try:
            limit = self._runaway_ms(task)
            why = library.run(entry, self.eib_address, commarea, limit, eib, task.number, settings.checks)
            # STOPPED without a message is STOP RUN, which ends the level normally.
            if why not in _WELL and self.error is None and not (why == STOPPED and not library.message):
                self.error = self._ended_by(why)
        finally:
            _CURRENT.level = before
            if guarded is not None and given is not None:
                self._give_back(guarded, given)
            storage.levels.remove(self)
            if storage.page is not None and not storage.levels:
                storage.page.close()
            self._copies.give_back(entry)
            for module, called in self.called.values():
                copies_of(module).give_back(called)
            error = self.error
            self._clear()
        if error is not None:
            # TaskReturn is a normal end: a traceback would keep frames and their objects alive.
            raise error.with_traceback(None) if isinstance(error, TaskReturn) else error

    def _runaway_ms(self, task: Task) -> int:
        """The runaway limit of a task: RUNAWAY of its transaction, or that of the region."""
        entry = task.region.resources.transactions.get(task.transid)
        own = None if entry is None else entry.definition.runaway_ms
        return self.settings.runaway_ms if own is None else own

    def _give_back(self, guarded: GuardedArea, given: memoryview) -> None:
        """Put the COMMAREA into the storage of the caller, which has seen nothing of it so far."""
        if not given.readonly:
            given[:] = guarded.view()
        if self._program_level is not None:
            self._program_level.commarea = given

    def _ended_by(self, why: int) -> BaseException:
        """The exception for a level that its program has not ended normally."""
        if why == INTERRUPTED:
            return KeyboardInterrupt(f"program {self.module.program} was interrupted at {self.libcob.failed_at}")
        message = _PLACE.sub("", self.libcob.message)
        place = self.libcob.failed_at or self.place or str(self.module.source)
        if why == CRASHED and (item := self._item_at(self.libcob.fault_address())):
            message += f" (item {item})"
        cause = CobolFailure(f"{place}: {message}")
        return Abend("AICA" if why == RUNAWAY else "ASRA", cause)

    def _item_at(self, address: int) -> str:
        """The name of the smallest item that has a byte at an address; empty if none has."""
        found = [each for program in self.programs() for each in program.items_at(address)]
        return min(found)[1] if found else ""

    @property
    def commarea_address(self) -> int | None:
        """The address of the COMMAREA, or None."""
        if self._commarea is None:
            return None
        return ctypes.addressof((ctypes.c_char * len(self._commarea)).from_buffer(self._commarea))

    # -- commands -----------------------------------------------------------------------------------------------------

    def command(self, number: int) -> int:
        """Do a command; returns one more than the number of the label to go to, or -LEFT at the end of the level."""
        library = self.libcob
        if number < 0:
            number = -number
            self._enter(library)
            if library.sheltered() and (call := self._plans[number - 1].call) is not None:
                call.tell_of_reads(self, self._plans[number - 1].rows(library.table, _ROWS))
        plan = self._plan = self._plans[number - 1]
        self.branch = 0
        settings = self.settings
        if self._eib.marked:
            self._eib.unmark()
        watcher = settings.on_statement
        if watcher is not None:
            watcher(self, plan.declared.shown, str(plan.declared.place))
        answered = False
        try:
            rows = plan.rows(library.table, _ROWS)
            answered = bool(settings.stubs or settings.verbs) and answers(self, plan, rows)
            if not answered:
                plan.issue(self, rows)
        except (Abend, Condition) as error:
            if not self._handles(error):
                raise
        if self.ended:
            return -LEFT
        last = self.task.eib.last
        if plan.yields and not last.resp:
            self.storage.yields += 1
        if plan.plain and not answered:
            if last is not self._eib.last:
                self._eib.show_last(last)
        else:
            self._eib.show(self.task.eib)
        return self.branch + 1

    def module_of(self, module: int) -> Module:
        """The module of one of libcob's records; for a program inside another one, the module that contains it."""
        if not self.called:
            return self.module
        name = self.libcob.module_name(module).upper()
        if name == self.module.program:
            return self.module
        called = self.called.get(name)
        return self.module if called is None else called[0]  # a program inside this one

    def _enter(self, library: Libcob) -> None:
        """Switch to another program of the level, which issues a command: a CALLed one has no HANDLEs yet.

        The HANDLEs of its caller are in force again when it has ended.
        """
        table = library.table
        self._active, serial = table[1], table[2]
        module = self.module_of(self._active) if self.called else self.module
        self._plans = module.plans
        if not self._plans:
            self._plans += plans_of(module.commands)
        if self._frames:
            self._turn_to(serial, library)
        else:
            task = self.task
            self._frames.append((serial, TaskInternals(task).handles))

    def _turn_to(self, serial: int, library: Libcob) -> None:
        """Switch frames: to a new one, or to one whose CALLs have ended."""
        task = self.task
        known = {frame[0] for frame in self._frames}
        bottom = serial if serial in known else library.below()
        while self._frames and self._frames[-1][0] != bottom:
            TaskInternals(task).handles = self._frames.pop()[1]
        if serial not in known:
            self._frames.append((serial, TaskInternals(task).handles))
            if len(self._frames) > 1:
                TaskInternals(task).handles = Handles()

    def _handles(self, error: Abend | Condition) -> bool:
        """Whether a HANDLE ABEND label of this level handles an exception."""
        label = self._abend_label()
        if label is None or not (error.abend_code if isinstance(error, Condition) else not error.cancel):
            return False
        self.branch = label.number
        watching.note_abend(self, error, handled=True)
        self._disarm(error)
        return True

    def _abend_label(self) -> AbendLabel | None:
        label = TaskInternals(self.task).handles.abend
        return label if isinstance(label, AbendLabel) and label.run == self.run_number else None

    def _disarm(self, error: BaseException) -> None:
        """Deactivate the abend exit, as CICS does when it enters one."""
        handles = TaskInternals(self.task).handles
        TaskInternals(self.task).handles = handles._replace(abend=None, cancelled=handles.abend)
        TaskInternals(self.task).note_abend(error)

    def failure(self, why: int, *, may_continue: bool) -> bool:
        """Handle a failure of a program of the level; returns whether its first program continues at its abend exit."""
        self._active = self.libcob.failing() or self._active
        error = self._ended_by(why)
        if may_continue and self._continues(error):
            return True
        self.error = error
        self.note_end(error)
        return False

    def note_end(self, error: BaseException) -> None:
        """Report the abend that ends the level to a debugger, and keep the state of its programs for the dump."""
        watching.note_abend(self, error, handled=False)
        if self.settings.on_abend is not None:
            self.settings.on_abend(self, error)

    def _continues(self, error: BaseException) -> bool:
        # The programs that were CALLed have ended, so the HANDLEs of the program at the top are in force again.
        while len(self._frames) > 1:
            TaskInternals(self.task).handles = self._frames.pop()[1]
        if (label := self._abend_label()) is None:
            return False
        # This is DFHEI-NUMBER: when the program is entered again, its first paragraph goes to the label with this
        # number.
        ctypes.c_int.from_address(label.control).value = label.number
        watching.note_abend(self, error, handled=True)
        self._disarm(error)
        return True

    def call(self, name: str) -> int:
        """Return the address of a CALLed program: a copy for this level; 0 when the region has no such program."""
        if outside := stand_in(self, name):
            return outside
        if name == self.module.program:
            return self.entry
        loaded = self.called.get(name)
        if loaded is None:
            module = self.settings.modules(name)
            if module is None:
                return 0
            loaded = self.called[name] = module, copies_of(module).take(self.libcob.copy)
            self._commands = None  # this program has commands too
        return loaded[1]

    def abend_exit(self, label: int) -> AbendLabel:
        """Return the exit for HANDLE ABEND LABEL: the program of the current command continues at that label."""
        return AbendLabel(self.run_number, label, self.libcob.table[HEADING - 1])

    def take_aid(self, label: int) -> Callable[[Any], Any]:
        """Return the function for HANDLE AID: the program continues at a label after the input has been received."""

        def branch(received: Any) -> Any:
            self.branch = label
            return None if isinstance(received, Condition) else received

        return branch

    @property
    def twa_address(self) -> int | None:
        """The address of the task's work area; None when there is none."""
        return self.storage.twa(self.libcob, self.task.assign("TWALENG"))

    @property
    def cwa_address(self) -> int | None:
        """The address of the common work area; None when there is none."""
        settings = self.settings
        if not settings.cwa_size:
            return None
        if settings.cwa is None:
            settings.cwa = GuardedArea(self.libcob, "CWA", bytes(settings.cwa_size))
        return settings.cwa.address

    def name_at(self, address: int, size: int, given: str, kind: int) -> str:
        """The name of the number with this storage, with its subscripts.

        Args:
            address: the address of the item.
            size: its length in bytes.
            given: its name without subscripts, as the compiler gives it; empty if unknown.
            kind: libcob's type, with the flags above 16 bits.
        """
        packed, signed = kind & _TYPE == _PACKED, bool(kind >> _FLAGS & _SIGNED)
        for program in self.programs():
            items = program.numbers_at(address, size)
            if given:
                items = {name: item for name, item in items.items() if item.name == given.upper()}
            for name, item in items.items():
                if item.is_packed is packed and item.is_signed is signed:
                    return name
        return given or "a number"

    def generated(self, verb: str, place: str) -> bool:
        """Whether a statement is one that the translator generated for a command."""
        if self._commands is None:
            programs = (self.module, *(module for module, _entry in self.called.values()))
            self._commands = {str(each.place) for module in programs for each in module.commands}
            self._commands.update(*(module.headers for module in programs))
        return verb in _GENERATED and place in self._commands

    def take_branch(self, label: int) -> Callable[[Condition], None]:
        """Let the program continue at a label; HANDLE CONDITION calls this."""

        def branch(_condition: Condition) -> None:
            self.branch = label

        return branch


class _Callbacks:
    """The callbacks of the run-time, for the current level. Exceptions are kept, since none may pass COBOL's frames."""

    def command(self, number: int) -> int:
        level = _CURRENT.level
        try:
            assert level is not None
            answer = level.command(number)
        except BaseException as error:  # noqa: BLE001
            answer = _abended(level, error)
        _CURRENT.level = level
        return answer

    def call(self, name: bytes) -> int:
        level = _CURRENT.level
        assert level is not None
        try:
            return level.call(name.decode("latin-1").upper())
        except BaseException as error:  # noqa: BLE001
            level.error = error
            return -1

    def failure(self, why: int, may_continue: int) -> int:
        level = _CURRENT.level
        assert level is not None
        try:
            return int(level.failure(why, may_continue=bool(may_continue)))
        except BaseException as error:  # noqa: BLE001
            level.error = error
            return 0

    def statement(self, module: int, name: bytes, where: int) -> int:
        level = _CURRENT.level
        watcher = None if level is None else level.settings.on_statement
        if level is None or watcher is None:
            return DONE
        try:
            place, verb = level.libcob.place(module, where), name.decode("latin-1")
            level.in_statement = module
            if not level.generated(verb, place):
                watcher(level, verb, place)
        except BaseException as error:  # noqa: BLE001
            level.error = error
            return LEFT
        finally:
            level.in_statement = 0
            _CURRENT.level = level
        return DONE

    def convert(self, national: int, data: int, size: int, ccsid: int, to: int, room: int) -> int:
        level = _CURRENT.level
        try:
            result = converted(ctypes.string_at(data, size), ccsid, national=bool(national))[:room]
            ctypes.memmove(to, result, len(result))
        except BaseException as error:  # noqa: BLE001
            _kept(level, error)
            return -1
        return len(result)

    def warned(self, module: int, text: bytes) -> int:
        level = _CURRENT.level
        try:
            assert level is not None
            place, message = level.libcob.place(module), text.decode("latin-1")
            if (place, message) not in level.settings.warned:
                level.settings.warned.add((place, message))
                level.settings.on_warning(f"{place}: {message}")
        except BaseException as error:  # noqa: BLE001
            return -_kept(level, error)
        return DONE

    def named(self, data: int, size: int, kind: int, to: int, room: int) -> int:
        level = _CURRENT.level
        try:
            assert level is not None
            given = ctypes.string_at(to).decode("latin-1")
            name = level.name_at(data, size, given, kind).encode("latin-1")[: room - 1]
            ctypes.memmove(to, name + b"\0", len(name) + 1)
        except BaseException as error:  # noqa: BLE001
            return -_kept(level, error)
        return DONE

    def displayed(self, data: int, size: int, newline: int) -> int:
        level = _CURRENT.level
        try:
            assert level is not None
            storage = level.storage
            if storage.page is None:
                storage.page = DisplayLines(level.task)
            storage.page.display(ctypes.string_at(data, size), end=bool(newline))
        except BaseException as error:  # noqa: BLE001
            return -_kept(level, error)
        finally:
            _CURRENT.level = level
        return DONE

    def moment(self, to: int) -> int:
        level = _CURRENT.level
        try:
            assert level is not None
            text = current_date(level.task)
            ctypes.memmove(to, text + b"\0", len(text) + 1)
        except BaseException as error:  # noqa: BLE001
            return -_kept(level, error)
        return DONE

    def overran(self) -> int:
        level = _CURRENT.level
        assert level is not None
        storage = level.storage
        suspended = storage.yields + TaskInternals(level.task).suspensions
        if suspended == storage.yields_known:
            return 1
        storage.yields_known = suspended
        return 0

    def outside(self, number: int) -> int:
        level = _CURRENT.level
        assert level is not None
        level.in_statement = level.libcob.table[1]
        try:
            answer_call(level, number)
        except BaseException as error:  # noqa: BLE001
            return -_abended(level, error)
        finally:
            level.in_statement = 0
            _CURRENT.level = level
        return DONE


def _abended(level: Level | None, error: BaseException) -> int:
    """Keep the exception of a command, and report it while the storage of the level's programs exists."""
    try:
        if level is not None and not isinstance(error, TaskReturn):
            level.note_end(error)
    except BaseException as later:  # noqa: BLE001
        error = later
    return _kept(level, error)


def _kept(level: Level | None, error: BaseException) -> int:
    """Keep an exception until the end of the level."""
    assert level is not None
    level.error = error
    return -LEFT


_CALLBACKS: Final = _Callbacks()

DISCARDING: Final = frozenset(
    each.__code__ for each in (*vars(_Callbacks).values(), _abended, _kept) if isinstance(each, FunctionType)
)
"""Code that C calls: ctypes prints and discards an exception that is raised before its ``try``. It is there that Python
handles a signal that came while C ran."""
