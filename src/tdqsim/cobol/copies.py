"""The copies of compiled programs in which levels run.

libcob refuses to enter an active program again and has one storage for each module. So each run of a program takes a
copy of the module with storage of its own. After the run the copy is reused; the next run gets fresh storage. The
module itself is loaded once, with the names of source files in place of their stand-ins of the same length, and never
runs; the shim makes the copies from it (see ``_copies.c``).
"""

from __future__ import annotations

import ctypes
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from tdqsim.cobol.compiler import Module, entry_symbol
from tdqsim.cobol.outcomes import OUTCOMES
from tdqsim.errors import TdqError


class Copies:
    """The copies of one module; one that no level uses is reused."""

    def __init__(self, module: Module) -> None:
        self._module = module
        self._free: list[int] = []
        self._made: list[int] = []
        self._loaded: ctypes.PyDLL | None = None

    def take(self, copy: Callable[[int], int | None]) -> int:
        """Return the address of the program in a copy that no level uses.

        Args:
            copy: makes a copy of the module that has a function; returns the function's address there.

        Raises:
            TdqError: the process can map no more memory.
        """
        if self._free:
            return self._free.pop()
        loaded = self._loaded = self._loaded or _load(self._module)
        made = copy(_address(loaded, self._module))
        if made is None:
            raise TdqError(
                f"program {self._module.program}: {len(self._made):,} tasks run it, and the process has no room for "
                "another copy of its storage (the limit is often vm.max_map_count)"
            )
        self._made.append(made)
        return made

    def outcomes(self) -> list[tuple[int, int]]:
        """For each condition of the program how often it was true, and how often it was false, in all copies."""
        counts = [sum(each) for each in zip(*self._outcomes(), strict=True)] or [0] * 2 * len(self._module.outcomes)
        return list(zip(counts[::2], counts[1::2], strict=True))

    def forget_outcomes(self) -> None:
        """Clear the record of outcomes."""
        for recorded in self._outcomes():
            ctypes.memset(recorded, 0, ctypes.sizeof(recorded))

    def _outcomes(self) -> Iterator[ctypes.Array[ctypes.c_longlong]]:
        count = 2 * len(self._module.outcomes)
        if count and self._loaded is not None:
            first = ctypes.addressof(ctypes.c_longlong.in_dll(self._loaded, OUTCOMES))
            for made in self._made:
                yield (ctypes.c_longlong * count).from_address(first + made - _address(self._loaded, self._module))

    def give_back(self, address: int) -> None:
        """Return a copy for reuse."""
        self._free.append(address)


def _load(module: Module) -> ctypes.PyDLL:
    folder = Path(tempfile.mkdtemp(prefix="tdqsim-copies-"))
    file = folder / f"{module.program}.so"
    data = module.path.read_bytes()
    for stand_in, name in module.names.items():
        data = data.replace(stand_in.encode(), os.fsencode(name).ljust(len(stand_in), b"\0"))
    file.write_bytes(data)
    loaded = ctypes.PyDLL(str(file), mode=ctypes.RTLD_LOCAL)
    weakref.finalize(loaded, shutil.rmtree, folder, ignore_errors=True)
    return loaded


def _address(loaded: ctypes.PyDLL, module: Module) -> int:
    return int(ctypes.cast(getattr(loaded, entry_symbol(module.program)), ctypes.c_void_p).value or 0)


_LOADED: Final[dict[Module, Copies]] = {}


def copies_of(module: Module) -> Copies:
    """The copies of a module in this process."""
    copies = _LOADED.get(module)
    if copies is None:
        copies = _LOADED[module] = Copies(module)
    return copies


def loaded_modules() -> Iterator[Module]:
    """The modules of which copies were asked for."""
    yield from _LOADED
