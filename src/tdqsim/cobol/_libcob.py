"""libcob in this process: loaded once, with the shim between it and Python.

All of libcob's state is the process's, so one thread uses it: the one that owns the regions. Tasks that wait inside a
command are told apart by what the shim takes and gives (:meth:`Libcob.state`). Loading takes over signals, which are
given back to Python; a program's wish to end the process ends its run.
"""

from __future__ import annotations

import ctypes
import faulthandler
import hashlib
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Final

from tdqsim.cobol.compiler import CobolMissing, compiler_path

__all__ = ["DONE", "FAILED", "LEFT", "STOPPED", "CobField", "Libcob", "libcob"]

DONE: Final = 0
LEFT: Final = 1
FAILED: Final = 2
STOPPED: Final = 3
_SIGNALS: Final = ("SIGINT", "SIGTERM", "SIGHUP", "SIGPIPE", "SIGSEGV", "SIGBUS", "SIGFPE", "SIGCHLD")


class _Attributes(ctypes.Structure):
    _fields_ = (
        ("type", ctypes.c_ushort),
        ("digits", ctypes.c_ushort),
        ("scale", ctypes.c_short),
        ("flags", ctypes.c_ushort),
        ("picture", ctypes.c_void_p),
    )


class CobField(ctypes.Structure):
    """A COBOL item as the run-time passes it: size in bytes, address, what it is."""

    _fields_ = (("size", ctypes.c_size_t), ("data", ctypes.c_void_p), ("attr", ctypes.POINTER(_Attributes)))


_FIELDS = ctypes.POINTER(ctypes.POINTER(CobField))
_CALLBACK = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int, _FIELDS)


class Libcob:
    """The run-time and its shim.

    Attributes:
        on_command: called for each command with the number of arguments and the fields; gives DONE or LEFT.
    """

    def __init__(self, shim: Path) -> None:
        kept = {name: signal.getsignal(getattr(signal, name)) for name in _SIGNALS}
        crashes = faulthandler.is_enabled()
        library = self._library = ctypes.PyDLL(str(shim), mode=ctypes.RTLD_GLOBAL)
        library.dfh_run.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
        library.dfh_entry.restype = ctypes.c_void_p
        library.dfh_message.restype = ctypes.c_char_p
        library.dfh_number.restype = ctypes.c_longlong
        self.on_command: Callable[[int, Any], int] = _nobody
        self._callback = _CALLBACK(lambda count, fields: self.on_command(count, fields))  # noqa: PLW0108  (it is set later)
        library.dfh_start(self._callback)
        for name, handler in kept.items():  # libcob has taken them over, and would end the process
            if handler is not None:
                signal.signal(getattr(signal, name), handler)
        if crashes:
            faulthandler.enable(file=2)  # sys.stderr may be something without a descriptor
        self.entry: int = library.dfh_entry()
        self.run: Callable[[int, int, int | None], int] = library.dfh_run
        self.number: Callable[[Any], int] = library.dfh_number
        self.set_number: Callable[[Any, int], None] = library.dfh_set_number
        self.take: Callable[[Any], None] = library.dfh_take
        self.give: Callable[[Any], None] = library.dfh_give

    @property
    def message(self) -> str:
        """What the run-time said of its last error."""
        return bytes(self._library.dfh_message()).decode("utf-8", "replace").strip()


def _nobody(_count: int, _fields: Any) -> int:
    return LEFT


@cache
def libcob() -> Libcob:
    """The process's run-time; the shim is compiled when this user has none yet.

    Raises:
        CobolMissing: there is no compiler, or GnuCOBOL's headers are not there.
    """
    compiler_path()
    return Libcob(_shim())


def _shim() -> Path:
    source = resources.files("tdqsim.cobol").joinpath("_shim.c").read_bytes()
    folder = _private_folder()
    shim = folder / f"shim-{hashlib.sha256(source).hexdigest()[:16]}.so"
    if not shim.is_file():
        _compile(source, shim)
    return shim


def _private_folder() -> Path:
    """A folder that only this user can write, for the process's life."""
    folder = Path(tempfile.mkdtemp(prefix="tdqsim-shim-"))
    import atexit  # noqa: PLC0415  (only where a shim is made)

    owner = os.getpid()
    atexit.register(lambda: shutil.rmtree(folder, ignore_errors=True) if os.getpid() == owner else None)
    return folder


def _compile(source: bytes, shim: Path) -> None:
    compiler = next(path for name in ("cc", "gcc", "clang") if (path := shutil.which(name)))
    text = shim.with_suffix(".c")
    text.write_bytes(source)
    command = [compiler, "-O1", "-shared", "-fPIC", "-o", str(shim), str(text), "-lcob"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise CobolMissing(f"the shim for GnuCOBOL cannot be compiled: {done.stderr.strip()}")
