"""The COBOL programs of one region: folders of sources, compiled when they are first needed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from tdqsim.cics import Region
from tdqsim.cobol.compiler import Module, Options, compile_program
from tdqsim.cobol.program import Settings, Verb
from tdqsim.cobol.translate import CobolError
from tdqsim.core.codepage import codepage

__all__ = ["CobolPrograms"]

_ASCII: Final = 819
"""The code page of what terminals and these programs say to each other: they run in ASCII."""
_SUFFIXES: Final = (".cbl", ".CBL", ".cob", ".COB", ".cobol")


class CobolPrograms:
    """COBOL programs by name: the file that is called as they are, in the first folder that has it.

    Args:
        region: whose programs they become: LINK and XCTL find them.
        sources: folders of sources.
        copybooks: folders of copybooks.
        cache: the folder for compiled modules.
        debug: whether bad data and bad addresses are errors rather than wrong results.
        flags: further options of ``cobc``.
        verbs: functions for EXEC CICS verbs that the simulator does not have.
    """

    def __init__(
        self,
        region: Region,
        *,
        sources: Iterable[Path | str],
        cache: Path | str,
        copybooks: Iterable[Path | str] = (),
        debug: bool = True,
        flags: Iterable[str] = (),
        verbs: Mapping[str, Verb] | None = None,
    ) -> None:
        self._sources = [Path(folder) for folder in sources]
        self._cache = Path(cache)
        self._options = Options(tuple(map(Path, copybooks)), debug, tuple(flags))
        self._modules: dict[str, Module | None] = {}
        self.settings = Settings(self.module)
        self.verbs = self.settings.verbs
        self.verbs.update(verbs or {})
        region.screens.codepage = codepage(_ASCII)
        region.programs.finders.append(self.settings.find)

    def handler(self, program: str) -> Any:
        """The handler of a transaction whose program this is.

        Raises:
            CobolError: there is no source of that name, or it cannot be compiled.
        """
        found = self.find(program)
        if found is None:
            places = ", ".join(map(str, self._sources)) or "no folder"
            raise CobolError([f"program {program}: there is no source of that name in {places}"])
        return found

    def find(self, program: str) -> Any:
        """The program of this name as a handler; None when there is no source."""
        return self.settings.find(program.upper())

    def module(self, name: str) -> Module | None:
        """The compiled program of this name; None when there is no source.

        Raises:
            CobolError: it cannot be compiled.
        """
        if name not in self._modules:
            source = self._source(name)
            self._modules[name] = None if source is None else compile_program(source, self._options, self._cache)
        return self._modules[name]

    def _source(self, name: str) -> Path | None:
        candidates = (
            folder / f"{stem}{suffix}"
            for folder in self._sources
            for stem in (name, name.lower())
            for suffix in _SUFFIXES
        )
        return next((path for path in candidates if path.is_file()), None)
