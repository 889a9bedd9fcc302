"""The loaded copies of compiled programs.

libcob refuses to enter an active program again and has one storage for each module. So each run of a program takes a
copy of the module under a name of its own. After the run the copy is reused; the next run gets fresh storage. In
the copy the names of source files replace their stand-ins of the same length.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Final

from tdqsim.cobol.compiler import Module, entry_symbol
from tdqsim.cobol.outcomes import OUTCOMES


class Copies:
    """The loaded copies of one module; a copy that no level uses is reused."""

    def __init__(self, module: Module) -> None:
        self._module = module
        self._numbers = count(1)
        self._free: list[int] = []
        self._loaded: list[ctypes.PyDLL] = []
        self._folder = Path(tempfile.mkdtemp(prefix="tdqsim-copies-"))
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)

    def take(self) -> int:
        """Return the address of a copy that no level uses."""
        return self._free.pop() if self._free else self._load()

    def _load(self) -> int:
        copy = self._folder / f"{self._module.program}-{next(self._numbers)}.so"
        data = self._module.path.read_bytes()
        for stand_in, name in self._module.names.items():
            data = data.replace(stand_in.encode(), os.fsencode(name).ljust(len(stand_in), b"\0"))
        copy.write_bytes(data)
        library = ctypes.PyDLL(str(copy), mode=ctypes.RTLD_LOCAL)
        self._loaded.append(library)
        entry = getattr(library, entry_symbol(self._module.program))
        return int(ctypes.cast(entry, ctypes.c_void_p).value or 0)

    def outcomes(self) -> list[tuple[int, int]]:
        """For each condition of the program how often it was true, and how often it was false, in all copies."""
        counts = [sum(each) for each in zip(*map(self._outcomes, self._loaded), strict=True)]
        counts = counts or [0] * 2 * len(self._module.outcomes)
        return list(zip(counts[::2], counts[1::2], strict=True))

    def forget_outcomes(self) -> None:
        """Clear the record of outcomes."""
        for library in self._loaded:
            recorded = self._outcomes(library)
            ctypes.memset(recorded, 0, ctypes.sizeof(recorded))

    def _outcomes(self, library: ctypes.PyDLL) -> ctypes.Array[ctypes.c_longlong]:
        count = 2 * len(self._module.outcomes)
        return (ctypes.c_longlong * count).in_dll(library, OUTCOMES) if count else (ctypes.c_longlong * 0)()

    def give_back(self, address: int) -> None:
        """Return a copy for reuse."""
        self._free.append(address)


_LOADED: Final[dict[Module, Copies]] = {}


def copies_of(module: Module) -> Copies:
    """The copies of a module in this process."""
    copies = _LOADED.get(module)
    if copies is None:
        copies = _LOADED[module] = Copies(module)
    return copies


def loaded_modules() -> Iterator[Module]:
    """The modules with loaded copies."""
    yield from _LOADED
