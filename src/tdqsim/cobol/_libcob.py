"""Load libcob, the run-time of GnuCOBOL, into this process, with the shim between it and Python.

libcob has one state for the process, so only one thread may use it: the one that owns the regions. The shim separates
the tasks that wait inside a command. libcob changes signal handlers and the locale when it is loaded; both are
restored. A program that asks to end the process ends only its own run.
"""

from __future__ import annotations

import atexit
import ctypes
import hashlib
import locale
import os
import platform
import shutil
import tempfile
from collections.abc import Callable, Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Final, Protocol

from tdqsim.cobol.symbols import LINE_BITS
from tdqsim.cobol.toolchain import CobolMissing, c_compiler, compiler_release, private_folder
from tdqsim.hosting import codepage, run_program

DONE: Final = 0
LEFT: Final = 1
FAILED: Final = 2
STOPPED: Final = 3
CRASHED: Final = 4
INTERRUPTED: Final = 5
RUNAWAY: Final = 6
HEADING: Final = 4
STAND_INS: Final = 256
"""The number of functions that can stand in for programs."""
_TABLE: Final = 64 * 5 + HEADING
_SHIM: Final = ("_shim.c", "_copies.c", "_guarded.c", "_libcob_overrides.c", "_external_calls.c")
"""The source text of the shim and of the files that it includes."""


_COMMAND = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int)
_CALL = ctypes.PYFUNCTYPE(ctypes.c_ssize_t, ctypes.c_char_p)
_FAILURE = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int)
_CONVERT = ctypes.PYFUNCTYPE(
    ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t
)
_STATEMENT = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_uint)
_WARNED = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_size_t, ctypes.c_char_p)
_NAMED = ctypes.PYFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t
)
_DISPLAYED = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
_MOMENT = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
_OVERRAN = ctypes.PYFUNCTYPE(ctypes.c_int)


_LAST_WORDS: Final[list[int]] = []
_LOADED: Final[list[ctypes.PyDLL]] = []


def last_words_to(descriptor: int) -> None:
    """Let the run-time write there, not to stderr, in which program the process dies of a fault."""
    _LAST_WORDS.append(descriptor)
    for library in _LOADED:
        library.dfh_last_words(descriptor)


class Callbacks(Protocol):
    """The Python functions that the run-time calls."""

    def command(self, number: int) -> int:
        """Do the command of this number; its arguments are in the table.

        The number is negative when another program of the level issued the previous command, or none did. Returns one
        more than the number of the label to go to, 1 to go on, or -LEFT when the level is over.
        """

    def call(self, name: bytes) -> int:
        """Return the address of a CALLed program; 0 when libcob has to look for it, -1 when the level is over."""

    def failure(self, why: int, may_continue: int) -> int:
        """Handle the failure of a program of the level, whose storage still exists.

        Returns 1 to enter the level's program again, at the label of its abend exit; this has no effect unless
        ``may_continue`` is 1.
        """

    def statement(self, module: int, name: bytes, where: int) -> int:
        """Take note that a statement begins; returns DONE or LEFT."""

    def convert(self, national: int, data: int, size: int, ccsid: int, to: int, room: int) -> int:
        """Do NATIONAL-OF (1) or DISPLAY-OF (0); the result goes into a buffer of the given size. Returns its length.

        CCSID 0 stands for the code page in which programs run here. The result -1 means that the level is over.
        """

    def warned(self, module: int, text: bytes) -> int:
        """Issue the warning of a check whose policy is ``warn``; returns DONE or LEFT."""

    def named(self, data: int, size: int, kind: int, to: int, room: int) -> int:
        """Put the name of the item at an address into a buffer; returns DONE or LEFT.

        The buffer holds the name that the compiler knows, or is empty; a zero byte ends it. ``kind`` is libcob's type,
        with the flags above 16 bits.
        """

    def displayed(self, data: int, size: int, newline: int) -> int:
        """Do DISPLAY of a text, with or without the end of the line; returns DONE or LEFT."""

    def moment(self, to: int) -> int:
        """Put CURRENT-DATE and the days of year and week into a buffer, with a zero byte; returns DONE or LEFT."""

    def overran(self) -> int:
        """Return 1 when the task, which has used up its processor time with commands, was not suspended meanwhile."""

    def outside(self, number: int) -> int:
        """Answer a CALL of a program that is not there; returns DONE or LEFT.

        Its parameters are in the table; the RETURN-CODE is put into the first number of the table.
        """


class Libcob:
    """The run-time and its shim.

    Attributes:
        watched: the last argument of ``watch``: 0 nothing, 1 which statements are reached, 2 each one as it begins.
        table: the current command: how many arguments there are, from which program and frame, where its control area
            is; then five numbers each of the arguments: address, size, type, item, value of a binary number.
    """

    def __init__(self, shim: Path, callbacks: Callbacks) -> None:
        spoken = locale.setlocale(locale.LC_ALL)
        library = self._library = ctypes.PyDLL(str(shim), mode=ctypes.RTLD_GLOBAL)
        pointer = ctypes.c_void_p
        library.dfh_run.argtypes = (pointer, pointer, pointer, ctypes.c_long, ctypes.c_char_p, *2 * (ctypes.c_int,))
        library.dfh_failing_at.restype = library.dfh_statement_of.restype = ctypes.c_uint
        library.dfh_statement_of.argtypes = (ctypes.c_size_t,)
        for function in (
            library.dfh_message,
            library.dfh_module_name,
            library.dfh_module_source,
            library.dfh_failing_source,
        ):
            function.restype = ctypes.c_char_p
        library.dfh_module_name.argtypes = (ctypes.c_size_t,)
        library.dfh_module_source.argtypes = (ctypes.c_size_t, ctypes.c_uint)
        library.dfh_number.restype = ctypes.c_longlong
        library.dfh_active.argtypes = (ctypes.c_size_t, ctypes.c_char_p)
        library.dfh_caller.argtypes = (ctypes.c_size_t,)
        library.dfh_caller.restype = library.dfh_failing.restype = ctypes.c_size_t
        self._kept = (
            _COMMAND(callbacks.command),
            _CALL(callbacks.call),
            _FAILURE(callbacks.failure),
            _STATEMENT(callbacks.statement),
            _CONVERT(callbacks.convert),
        )
        library.dfh_start(*self._kept)
        self._overrides = (
            _WARNED(callbacks.warned),
            _NAMED(callbacks.named),
            _DISPLAYED(callbacks.displayed),
            _MOMENT(callbacks.moment),
        )
        library.dfh_overrides(*self._overrides)
        self._outside = _COMMAND(callbacks.outside)
        library.dfh_outside(self._outside)
        self._overran = _OVERRAN(callbacks.overran)
        library.dfh_overran(self._overran)
        library.dfh_stand_in.restype = ctypes.c_void_p
        self.stand_in: Callable[[int], int] = library.dfh_stand_in
        library.dfh_characters(_ebcdic())
        # libcob has set the locale from the environment, by which Python would decode the files that it opens
        locale.setlocale(locale.LC_ALL, spoken)
        self.run: Callable[[int, int, int | None, int, bytes, int, int], int] = library.dfh_run
        self.number: Callable[[int], int] = library.dfh_number
        library.dfh_number.argtypes = (ctypes.c_void_p,)
        library.dfh_table.restype = ctypes.c_void_p
        rows = (ctypes.c_int64 * _TABLE).from_address(library.dfh_table())
        self.table = memoryview(rows).cast("B").cast("q")
        self._areas(library)
        _LOADED.append(library)
        self.below: Callable[[], int] = library.dfh_below
        self.caller: Callable[[int], int] = library.dfh_caller
        self.failing: Callable[[], int] = library.dfh_failing
        self.watched = 0
        self.watch: Callable[[int], None] = library.dfh_watch
        self.forget_reached: Callable[[], None] = library.dfh_forget_reached

    def _areas(self, library: ctypes.PyDLL) -> None:
        """Declare the functions for areas with guard pages, and for the last words of the process."""
        library.dfh_area.restype = library.dfh_area_data.restype = ctypes.c_void_p
        library.dfh_area.argtypes = (ctypes.c_size_t, ctypes.c_char_p)
        library.dfh_area_data.argtypes = library.dfh_area_end.argtypes = (ctypes.c_void_p,)
        library.dfh_fault_address.restype = ctypes.c_size_t
        library.dfh_copy.restype, library.dfh_copy.argtypes = ctypes.c_void_p, (ctypes.c_void_p,)
        self.copy: Callable[[int], int | None] = library.dfh_copy
        self.area: Callable[[int, bytes], int | None] = library.dfh_area
        self.area_data: Callable[[int], int] = library.dfh_area_data
        self.area_end: Callable[[int], None] = library.dfh_area_end
        library.dfh_area_free.argtypes = (ctypes.c_void_p, ctypes.c_char_p)
        self.area_free: Callable[[int, bytes], None] = library.dfh_area_free
        library.dfh_original.restype = ctypes.c_size_t
        library.dfh_original.argtypes = (ctypes.c_void_p,)
        self.original: Callable[[int], int] = library.dfh_original
        library.dfh_valid.restype, library.dfh_area_of.restype = ctypes.c_long, ctypes.c_char_p
        library.dfh_valid.argtypes = library.dfh_area_of.argtypes = library.dfh_freed.argtypes = (ctypes.c_void_p,)
        self.sheltered: Callable[[], int] = library.dfh_sheltered
        self.valid: Callable[[int], int] = library.dfh_valid
        self.freed: Callable[[int], int] = library.dfh_freed
        self.area_of: Callable[[int], bytes] = library.dfh_area_of
        self.fault_address: Callable[[], int] = library.dfh_fault_address
        library.dfh_last_words.argtypes = (ctypes.c_int,)
        if _LAST_WORDS:
            library.dfh_last_words(_LAST_WORDS[-1])

    @property
    def message(self) -> str:
        """The run-time's message about its last error."""
        return bytes(self._library.dfh_message()).decode("utf-8", "replace").strip()

    @property
    def failed_at(self) -> str:
        """The file and line at which a program ended a level abnormally; empty when unknown."""
        source = bytes(self._library.dfh_failing_source()).decode("utf-8", "surrogateescape")
        return self._place(source, int(self._library.dfh_failing_at()))

    def place(self, module: int, statement: int | None = None) -> str:
        """The file and line of a statement, by default of the current one; empty when unknown."""
        where = int(self._library.dfh_statement_of(module)) if statement is None else statement
        return self._place(self.module_source(module, where >> LINE_BITS) if where else "", where)

    @staticmethod
    def _place(source: str, where: int) -> str:
        return f"{source}:{where & ((1 << LINE_BITS) - 1)}" if source else ""

    def module_name(self, module: int) -> str:
        """The PROGRAM-ID of a running program."""
        return bytes(self._library.dfh_module_name(module)).decode("latin-1")

    def is_active(self, module: int, program: str) -> bool:
        """Whether a program is this one, or has CALLed it directly or through other programs."""
        return bool(self._library.dfh_active(module, program.encode("latin-1")))

    def module_source(self, module: int, at: int) -> str:
        """The name of one of the source files of a program."""
        return bytes(self._library.dfh_module_source(module, at) or b"").decode("utf-8", "surrogateescape")

    def reached(self, program: str, source: str) -> dict[int, int]:
        """How often a program has reached the lines of a source since ``watch`` was called."""
        names = program.encode("latin-1"), source.encode("utf-8", "surrogateescape")
        count = self._library.dfh_reached(*names, None, 0)
        lines = (ctypes.c_longlong * (2 * count))()
        self._library.dfh_reached(*names, lines, count)
        return dict(zip(lines[::2], lines[1::2], strict=True))


def _ebcdic() -> bytes:
    """The EBCDIC byte for each byte of a program; the zones of digits are checked by it."""
    page = codepage(37)
    return b"".join(page.encode(chr(byte)) for byte in range(256))


@cache
def libcob(callbacks: Callbacks) -> Libcob:
    """The process's run-time; the shim is compiled for it.

    Args:
        callbacks: the functions it calls; there is one object for the process.

    Raises:
        CobolMissing: the compiler or GnuCOBOL's headers are not installed.
    """
    return Libcob(_shim(), callbacks)


def _shim() -> Path:
    """The shim, compiled once for this user, this release of GnuCOBOL and this machine; see :func:`private_folder`.

    It is written under a temporary name and then renamed, so that two processes can compile it at the same time.
    """
    folder_of_c = resources.files("tdqsim.cobol")
    texts = {name: folder_of_c.joinpath(name).read_bytes() for name in _SHIM}
    made_for = "\0".join((compiler_release(), platform.machine(), *platform.libc_ver()))
    digest = hashlib.sha256(b"".join(texts.values()) + made_for.encode()).hexdigest()
    shim = (private_folder("shim") or _folder_of_the_process()) / f"shim-{digest[:32]}.so"
    if not shim.is_file():
        with tempfile.TemporaryDirectory(prefix="new-", dir=shim.parent) as folder:
            _compile(texts, Path(folder) / shim.name).replace(shim)
    return shim


def _folder_of_the_process() -> Path:
    """A folder that only this user can write, for the process's life."""
    folder = Path(tempfile.mkdtemp(prefix="tdqsim-shim-"))
    owner = os.getpid()
    atexit.register(lambda: shutil.rmtree(folder, ignore_errors=True) if os.getpid() == owner else None)
    return folder


def _compile(texts: Mapping[str, bytes], shim: Path) -> Path:
    compiler = c_compiler()
    for name, text in texts.items():
        (shim.parent / name).write_bytes(text)
    command = [compiler, "-O1", "-shared", "-fPIC", "-o", str(shim), str(shim.parent / _SHIM[0])]
    command += ["-lcob", "-ldl", "-lrt"]
    done = run_program(command)
    if done.returncode:
        raise CobolMissing(f"the shim for GnuCOBOL cannot be compiled: {done.stderr.strip()}")
    return shim
