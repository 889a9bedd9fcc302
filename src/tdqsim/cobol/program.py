"""Running COBOL programs as a task's programs: link levels, commands, labels, and what ends them.

A *level* is one run of one program, with the programs that it CALLs. libcob refuses to enter an active program again
and keeps one storage a module, so each level runs copies of the modules under names of their own; when the level is
over its programs are cancelled, so that the next level finds their storage fresh, and the copies are used again.

A command's CALL ends up in :meth:`Level.command`. What it may come to:

================================  =====================================================================
the command ends, or a condition  DFHEIGDI is 0 and the program goes on
has a label                       DFHEIGDI is the label's number
RETURN, ABEND, a condition        the level is left by longjmp; what was raised is kept, and raised again
that nobody handles               when the level is over (no exception may pass COBOL's frames)
================================  =====================================================================

A HANDLE ABEND label is searched from the level of the abend upwards. Where the run-time itself has ended the program
(bad data, a bad address), the program is entered again, its storage as it is, and goes to the label at once. A CALLed
program has HANDLEs of its own, as if PUSH HANDLE were issued before and POP HANDLE behind it. Sources: LINK, XCTL,
RETURN, HANDLE ABEND (IBM Docs), CBLPSHPOP (Language Environment).
"""

from __future__ import annotations

import ctypes
import re
import shutil
import struct
import tempfile
import warnings
import weakref
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import tzinfo
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import Any, Final, NamedTuple

from tdqsim.cics import Abend, Condition, Task
from tdqsim.cics.kernel.abstime import abstime, local_time
from tdqsim.cics.kernel.conditions import TaskReturn, abend_code
from tdqsim.cics.kernel.eib import Completion
from tdqsim.cics.kernel.handling import NO_HANDLES, HandleStack
from tdqsim.cobol._libcob import DONE, FAILED, INTERRUPTED, LEFT, RUNAWAY, STOPPED, Libcob, libcob
from tdqsim.cobol.calls import Plan, plans_of
from tdqsim.cobol.compiler import Module, entry_symbol
from tdqsim.cobol.fields import Area, Areas
from tdqsim.cobol.mismatch import CobolWarning
from tdqsim.cobol.pages import NO_CODE_PAGES, CodePages
from tdqsim.cobol.storage import TaskStorage
from tdqsim.cobol.translate import ExecCommand
from tdqsim.cobol.view import ProgramStorage
from tdqsim.errors import TdqError

__all__ = [
    "AbendLabel",
    "CobolFailure",
    "Level",
    "Settings",
    "Verb",
    "Watcher",
    "begin_coverage",
    "copies_of",
    "reached_statements",
    "warned",
]

_PLACE: Final = re.compile(r"^(?:libcob: )?(?:[^\n]*?:\d+: )?(?:error: )?")
"""What libcob puts before its messages; the line in it is not always the statement's."""
_GENERATED: Final = ("MOVE", "CALL", "GO TO", "SET")
_ARGUMENTS: Final = 5
_SHORT: Final = _ARGUMENTS * 5 + 9
"""What is taken of the table at once: the command, the control area, and as many arguments as most commands have."""
_NS: Final = 10**9
_COMPLETIONS_KEPT: Final = 4096
_EIB_SIZE: Final = 85
_TEXT_PAGE: Final = "latin-1"


class CobolFailure(TdqError):
    """libcob found an error in a program, such as bad packed digits or a program that is not there.

    Attributes:
        message: in libcob's words, with the user's file and line.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class _Copies:
    """The loaded copies of one module; those that no level runs are used again."""

    def __init__(self, module: Module) -> None:
        self._module = module
        self._numbers = count(1)
        self._free: list[int] = []
        self._loaded: list[Any] = []
        self._folder = Path(tempfile.mkdtemp(prefix="tdqsim-copies-"))
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)

    def take(self) -> int:
        """The address of a program that nobody runs."""
        if self._free:
            return self._free.pop()
        copy = self._folder / f"{self._module.program}-{next(self._numbers)}.so"
        shutil.copyfile(self._module.path, copy)
        library = ctypes.PyDLL(str(copy), mode=ctypes.RTLD_LOCAL)
        self._loaded.append(library)
        entry = getattr(library, entry_symbol(self._module.program))
        return int(ctypes.cast(entry, ctypes.c_void_p).value or 0)

    def give_back(self, address: int) -> None:
        """Nobody runs it any more."""
        self._free.append(address)


_LOADED: Final[dict[Module, _Copies]] = {}
_COVERAGE: Final[dict[str, bool]] = {}


def copies_of(module: Module) -> _Copies:
    """The copies of a module in this process."""
    found = _LOADED.get(module)
    if found is None:
        found = _LOADED[module] = _Copies(module)
    return found


def begin_coverage() -> None:
    """Forget which statements were reached, and keep that from now on."""
    _COVERAGE["on"] = True
    if _LOADED:
        libcob(_CALLBACKS).forget_reached()


def reached_statements() -> Iterator[tuple[Module, frozenset[int]]]:
    """The modules that were loaded, each with the marks of the statements that were reached."""
    for module in _LOADED:
        yield module, frozenset(libcob(_CALLBACKS).reached(module.program))


Verb = Callable[[Mapping[str, Area | None], "Level"], Condition | None]
"""A user's function for a verb: gets the options with their areas, and the level; a Condition that it gives is
raised."""
Watcher = Callable[["Level", str, str], object]
"""Told of each statement: the level, the statement's verb and its place."""


def warned(text: str) -> None:
    """Tell of a mismatch as a warning, which pytest shows."""
    warnings.warn(text, CobolWarning, stacklevel=2)


@dataclass(slots=True)
class Settings:
    """How the programs of one region run.

    Attributes:
        modules: the module of a program by name; None when there is none.
        verbs: functions for verbs that the simulator does not have.
        on_statement: told of each statement, or None.
        on_warning: told of each mismatch that CICS would punish or that would show as garbage there.
        runaway_ms: milliseconds of processor time without a command after which a task is abend AICA; 0 for never.
        pages: what is converted between the programs' characters and those of records.
        cwa: the common work area, or None.
        checked, told: the commands that were looked at for mismatches, and those that were told.
    """

    modules: Callable[[str], Module | None]
    verbs: dict[str, Verb] = field(default_factory=dict)
    on_statement: Watcher | None = None
    on_warning: Callable[[str], object] = warned
    runaway_ms: int = 0
    pages: CodePages = NO_CODE_PAGES
    cwa: Any = None
    checked: set[object] = field(default_factory=set)
    told: set[object] = field(default_factory=set)

    @property
    def converts(self) -> bool:
        """Whether records of anything are converted."""
        return self.pages is not NO_CODE_PAGES

    @property
    def cwa_address(self) -> int | None:
        """Where the common work area is; None for none."""
        return None if self.cwa is None else ctypes.addressof(self.cwa)

    def find(self, name: str) -> Callable[[Task], None] | None:
        """The program of this name as a program of the region; None when there is none."""
        module = self.modules(name)
        if module is None:
            return None

        def run(task: Task) -> None:
            Level(task, module, self).run()

        return run


class AbendLabel:
    """A label of HANDLE ABEND: an abend exit that only its own level can branch to.

    Attributes:
        level: whose label.
        number: the label's number in its program.
        control: the address of the program's control area.
    """

    __slots__ = ("control", "level", "number")

    def __init__(self, level: Level, number: int, control: int) -> None:
        self.level = level
        self.number = number
        self.control = control

    def __call__(self, abend: Abend) -> None:
        """The level is gone, so the abend goes on."""
        raise abend


class _EibArea:
    """The storage of an EIB; it is used again and again."""

    def __init__(self) -> None:
        self.buffer = ctypes.create_string_buffer(_EIB_SIZE)
        self.address = ctypes.addressof(self.buffer)
        self.shown = memoryview(self.buffer).cast("B")


_EIBS: Final[list[_EibArea]] = []
_NO_EIB: Final = bytes(_EIB_SIZE)


class _Frame(NamedTuple):
    """A program of a level that has issued a command, and what was in force outside it."""

    serial: int
    handles: Any
    stack: HandleStack


class Level:
    """One run of one program, with those that it CALLs.

    Attributes:
        task: for which.
        module: the program.
        settings: how programs run here.
        statement: the EXEC SQL or EXEC DLI at hand, its host variables called A1, A2, ...
        storage: what the task's programs have.
        control: the address of the control area of the program whose command is at hand.
        branch: the number of the label that it goes to; 0 to go on.
        declared: the command at hand, or the last one.
    """

    current: Level | None = None

    def __init__(self, task: Task, module: Module, settings: Settings) -> None:
        self.task = task
        self.module = module
        self.settings = settings
        self.statement = ""
        self.branch = self.control = 0
        self.error: BaseException | None = None
        self.declared: ExecCommand | None = None
        if task.storage is None:
            task.storage = TaskStorage()
        self.storage: TaskStorage = task.storage
        self.libcob: Libcob = libcob(_CALLBACKS)
        self.called: dict[str, tuple[Module, int]] = {}
        self.entry = 0
        self._programs: dict[int, Module] = {}
        self._plans: dict[int, list[Plan]] = {}
        self._active = 0
        self._commands: set[str] | None = None
        self._frames: list[_Frame] = []
        self._serial = 0
        self._commarea = task.level.commarea if task.level is not None else None
        self._eib = _EIBS.pop() if _EIBS else _EibArea()
        self.eib_address, self._shown = self._eib.address, self._eib.shown
        self.checked = settings.checked
        self._slow: tuple[Any, ...] = ()
        self._last: Any = None
        self._fill_eib()

    def programs(self) -> Iterator[ProgramStorage]:
        """The items of the programs of this level, those of the one whose command is at hand first."""
        entries = [(self.module, self.entry), *self.called.values()]
        last = self._programs.get(self._active)
        for module, entry in sorted(entries, key=lambda each: each[0] is not last):
            yield ProgramStorage(module.program, module.symbols, entry - module.symbols.entry)

    def room_from(self, address: int) -> int:
        """Bytes from an address to the end of what it is in, as far as that is known; else 0."""
        area = self.commarea_address
        if area is not None and self._commarea is not None and area <= address < area + len(self._commarea):
            return area + len(self._commarea) - address
        rooms = (program.room_from(address) for program in self.programs())
        return next((room for room in rooms if room), 0) or self.storage.room_from(address)

    @property
    def place(self) -> str:
        """The user's file and line of the command at hand, or of the last one."""
        return "" if self.declared is None else str(self.declared.place)

    @property
    def verbs(self) -> Mapping[str, Verb]:
        """Functions for verbs that the simulator does not have."""
        return self.settings.verbs

    def run(self) -> None:
        """Run it to its end.

        Raises:
            TaskReturn: RETURN, XCTL. Abend, Condition: it ended so. CobolFailure comes as the cause of ASRA and AICA.
        """
        copies = copies_of(self.module)
        self.entry = copies.take()
        before, Level.current = Level.current, self
        self.storage.levels.append(self)
        library = self.libcob
        wanted = 2 if self.settings.on_statement is not None else len(_COVERAGE)
        if wanted != library.watched:
            library.watch(wanted)
            library.watched = wanted
        try:
            why = library.run(self.entry, self.eib_address, self.commarea_address, self.settings.runaway_ms)
        finally:
            Level.current = before
            self.storage.levels.remove(self)
            copies.give_back(self.entry)
            for module, entry in self.called.values():
                copies_of(module).give_back(entry)
            self._eib.shown[:] = _NO_EIB
            _EIBS.append(self._eib)
        error, self.error = self.error, None
        if error is not None:
            raise error.with_traceback(None) if isinstance(error, TaskReturn) else error
        if why not in (DONE, LEFT) and not (why == STOPPED and not library.message):
            raise self._ended_by(why)

    def _ended_by(self, why: int) -> BaseException:
        """What a level comes to that was ended other than by its program."""
        if why == INTERRUPTED:
            return KeyboardInterrupt(f"program {self.module.program} was interrupted at {self.libcob.failed_at}")
        message = _PLACE.sub("", self.libcob.message)
        place = self.libcob.failed_at or self.place or str(self.module.source)
        cause = CobolFailure(f"{place}: {message}")
        return Abend("AICA" if why == RUNAWAY else "ASRA", cause)

    @property
    def commarea_address(self) -> int | None:
        """Where the COMMAREA is; None when there is none."""
        if self._commarea is None:
            return None
        return ctypes.addressof((ctypes.c_char * len(self._commarea)).from_buffer(self._commarea))

    # -- the EIB ------------------------------------------------------------------------------------------------------

    def _fill_eib(self) -> None:
        eib = self.task.eib
        slow = (eib.moment_ns, eib.eibcalen, eib.eibaid, eib.eibcposn, eib.eibds, eib.eibreqid, eib.eibtrmid)
        if slow != self._slow:
            self._slow = slow
            self._shown[0:27] = b"".join(
                (
                    _clock(eib.moment_ns // _NS, eib.zone),
                    _text(eib.eibtrnid, 4),
                    bytes.fromhex(f"{eib.eibtaskn:07d}C"),
                    _text(eib.eibtrmid, 4),
                    struct.pack(">xxHH", eib.eibcposn, eib.eibcalen),
                    eib.eibaid,
                )
            )
            self._shown[35:51] = _text(eib.eibds, 8) + _text(eib.eibreqid, 8)
        if eib.last is not self._last:
            self._show(eib.last)

    def _show(self, last: Completion) -> None:
        """Put the end of a command into the EIB."""
        self._last = last
        known = _COMPLETED.get(id(last))
        if known is None or known[0] is not last:
            if len(_COMPLETED) > _COMPLETIONS_KEPT:
                _COMPLETED.clear()
            known = _COMPLETED[id(last)] = (last, *_completed(last))
        shown = self._shown
        shown[27:35], shown[51:59], shown[76:84] = known[1:]

    # -- commands -----------------------------------------------------------------------------------------------------

    def command(self) -> int:
        """Do the command at hand; gives the label to go to, or 0."""
        library = self.libcob
        rows = library.table[:_SHORT].tolist()
        number, count, module, frame, self.control = rows[:5]
        if count > _ARGUMENTS:
            rows = library.table[: count * 5 + 9].tolist()
        plans = self._plans.get(module)
        if plans is None:
            plans = self._plans_of(module)
        if frame != self._serial:
            self._enter(frame)
        self._active = module
        plan = plans[number - 1]
        declared = self.declared = plan.declared
        self.branch = 0
        if self.settings.on_statement is not None:
            self.settings.on_statement(self, declared.shown, str(declared.place))
        try:
            plan.issue(self, Areas(library, rows[9:], declared.written))
        except (Abend, Condition) as error:
            if not self._handles(error):
                raise
        if plan.plain:
            last = self.task.eib.last
            if last is not self._last:
                self._show(last)
        else:
            self._fill_eib()
        return self.branch

    def _plans_of(self, module: int) -> list[Plan]:
        found = self._programs[module] = self._module_of(module)
        plans = self._plans[module] = found.plans
        if not plans:
            plans += plans_of(found.commands)
        return plans

    def _module_of(self, module: int) -> Module:
        if not self.called:
            return self.module
        name = self.libcob.module_name(module).upper()
        if name == self.module.program:
            return self.module
        found = self.called.get(name)
        return self.module if found is None else found[0]  # a program inside this one

    def _enter(self, serial: int) -> None:
        """Another program of the level issues a command: a CALLed one begins without HANDLEs, as after a PUSH HANDLE.

        Those of its caller are in force again when it is over.
        """
        task = self.task
        known = {frame.serial for frame in self._frames}
        bottom = serial if serial in known else self.libcob.below()
        while self._frames and self._frames[-1].serial != bottom:
            left = self._frames.pop()
            task.handles, task.handle_stack = left.handles, left.stack
        if serial not in known:
            self._frames.append(_Frame(serial, task.handles, task.handle_stack))
            if len(self._frames) > 1:
                task.handles, task.handle_stack = NO_HANDLES, None
        self._serial = serial

    def _handles(self, error: Abend | Condition) -> bool:
        """Whether a HANDLE ABEND label of this level takes it."""
        label = self._abend_label()
        if label is None or (isinstance(error, Condition) and not abend_code(error)):
            return False
        self.branch = label.number
        self._disarm(error)
        return True

    def _abend_label(self) -> AbendLabel | None:
        label = self.task.handles.abend
        return label if isinstance(label, AbendLabel) and label.level is self else None

    def _disarm(self, error: BaseException) -> None:
        """The abend exit is out of action from here on."""
        handles = self.task.handles
        self.task.handles = handles._replace(abend=None, cancelled=handles.abend)
        self.task.abcode = self.task.to_abend(error).code

    def failure(self) -> bool:
        """The program at the top of the level has failed: whether it goes on at the label of its abend exit."""
        while len(self._frames) > 1:
            left = self._frames.pop()
            self.task.handles, self.task.handle_stack = left.handles, left.stack
        if self._frames:
            self._serial = self._frames[-1].serial
        label = self._abend_label()
        if label is None:
            return False
        ctypes.c_int.from_address(label.control).value = label.number
        self._disarm(self._ended_by(FAILED))
        return True

    def call(self, name: str) -> int:
        """The address of a program that is CALLed: a copy for this level; 0 when the region has none of that name."""
        found = self.called.get(name)
        if found is None:
            module = self.settings.modules(name)
            if module is None:
                return 0
            found = self.called[name] = module, copies_of(module).take()
        return found[1]

    def abend_exit(self, label: int) -> AbendLabel:
        """What HANDLE ABEND names: the program whose command is at hand goes on at a label."""
        return AbendLabel(self, label, self.control)

    def take_aid(self, label: int) -> Callable[[Any], Any]:
        """What HANDLE AID calls: the program goes on at a label once it has what was received."""

        def branch(received: Any) -> Any:
            self.branch = label
            return None if isinstance(received, Condition) else received

        return branch

    @property
    def twa_address(self) -> int | None:
        """Where the task's work area is; None for none."""
        return self.storage.twa(self.task.assign("TWALENG"))

    def generated(self, verb: str, place: str) -> bool:
        """Whether a statement is one of those that stand for a command."""
        if self._commands is None:
            programs = (self.module, *(module for module, _entry in self.called.values()))
            self._commands = {str(each.place) for module in programs for each in module.commands}
        return verb in _GENERATED and place in self._commands

    def take_branch(self, label: int) -> Callable[[Condition], None]:
        """What HANDLE CONDITION calls: the program goes on at a label."""

        def branch(_condition: Condition) -> None:
            self.branch = label

        return branch


_COMPLETED: Final[dict[int, tuple[Completion, bytes, bytes, bytes]]] = {}
"""How commands have ended, as bytes, by the identity of the end."""


def _completed(last: Completion) -> tuple[bytes, bytes, bytes]:
    """EIBFN with EIBRCODE, EIBRSRCE, and EIBRESP with EIBRESP2, as bytes."""
    return last.fn + last.rcode, _text(last.rsrce, 8), struct.pack(">ii", int(last.resp), last.resp2)


def _text(text: str, size: int) -> bytes:
    return text.ljust(size)[:size].encode(_TEXT_PAGE, "replace") if text else bytes(size)


@lru_cache(maxsize=64)
def _clock(second: int, zone: tzinfo) -> bytes:
    """EIBTIME and EIBDATE of a second."""
    moment = local_time(abstime(second * _NS, zone))
    date = (moment.year - 1900) * 1000 + moment.timetuple().tm_yday
    return bytes.fromhex(f"{moment:0%H%M%S}C{date:07d}C")


class _Callbacks:
    """What the run-time asks, of the level that is at hand. No exception may pass COBOL's frames: it is kept."""

    def command(self) -> int:
        level = Level.current
        assert level is not None
        try:
            return level.command()
        except BaseException as error:  # noqa: BLE001
            level.error = error
            return -LEFT
        finally:
            Level.current = level

    def call(self, name: bytes) -> int:
        level = Level.current
        assert level is not None
        try:
            return level.call(name.decode("latin-1").upper())
        except BaseException as error:  # noqa: BLE001
            level.error = error
            return -1

    def failure(self) -> int:
        level = Level.current
        assert level is not None
        try:
            return int(level.failure())
        except BaseException as error:  # noqa: BLE001
            level.error = error
            return 0

    def statement(self, module: int, name: bytes, where: int) -> int:
        level = Level.current
        watcher = None if level is None else level.settings.on_statement
        if level is None or watcher is None:
            return DONE
        place, verb = level.libcob.place(module, where), name.decode("latin-1")
        try:
            if not level.generated(verb, place):
                watcher(level, verb, place)
        except BaseException as error:  # noqa: BLE001
            level.error = error
            return LEFT
        finally:
            Level.current = level
        return DONE


_CALLBACKS: Final = _Callbacks()
