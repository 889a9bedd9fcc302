"""Find the COBOL program of a TRANSACTION by its PROGRAM.

The region's settings name the folders; in region.yaml::

    cobol:
      sources: [cobol]
      copybooks: [copy]
      code_pages: {PAYQ: "037"}
      layouts: {PAYQ: copy/PAYREC.cpy}

Paths are relative to the directory of region.yaml. Without ``cache``, compiled programs go to the user's cache folder.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import Any, Final
from weakref import WeakKeyDictionary

from tdqsim.cics import Region
from tdqsim.cobol.code_pages import CodePages, Conversion
from tdqsim.cobol.programs import CobolPrograms, Program
from tdqsim.cobol.settings import issue_warning
from tdqsim.cobol.toolchain import default_cache
from tdqsim.definitions import Mapset, parse_bms
from tdqsim.errors import DefinitionError, Problem
from tdqsim.layouts import load_copybook

_MAPSETS_KEPT: Final = 256


class CobolResolver:
    """The COBOL programs of regions, as their settings describe them; see the kernel's ``Resolver``."""

    def __init__(self) -> None:
        self._programs: WeakKeyDictionary[Region, CobolPrograms] = WeakKeyDictionary()

    def handler(self, region: Region, name: str) -> Program:
        """Refuse ``handler: cobol:NAME``: the PROGRAM of a transaction names its program.

        Raises:
            DefinitionError: always.
        """
        del region
        message = f"write program: {name} instead (PROGRAM({name}) in CSD text); its source is in a folder of sources:"
        raise DefinitionError([Problem("<handlers>", 0, "", "handler", f"cobol:{name}", message)])

    def find(self, region: Region, name: str) -> Program | None:
        """The program of a transaction; None when there is no source of that name."""
        return self.programs(region).find(name)

    def programs(self, region: Region) -> CobolPrograms:
        """The COBOL programs of a region.

        Raises:
            DefinitionError: the region's settings do not name their folders.
        """
        programs = self._programs.get(region)
        if programs is None:
            programs = self._programs[region] = _described(region, region.options.settings.get("cobol"))
            wanted = [each for each in region.resources.transactions.values() if each.handler is None]
            with ThreadPoolExecutor(os.cpu_count()) as pool:  # the compilers are processes
                for _ in pool.map(
                    programs.module, dict.fromkeys(each.program_name for each in wanted if each.program_name)
                ):
                    pass
        return programs


COBOL: Final = CobolResolver()
"""The entry point ``cobol`` of the group ``tdqsim.handlers``."""


def _described(region: Region, settings: Mapping[str, Any] | None) -> CobolPrograms:
    if settings is None:
        message = "a transaction has a COBOL program, but cobol: does not say where the sources are"
        raise DefinitionError([Problem("region.yaml", 0, "region", "cobol", "", message)])
    base = Path(settings.get("directory", "."))
    for folder in (*settings.get("sources", ()), *settings.get("copybooks", ())):
        for path in sorted((base / folder).glob("*.[bB][mM][sS]")):
            _install_maps(region, path)
    programs = CobolPrograms(
        region,
        sources=[base / each for each in settings.get("sources", ())],
        copybooks=[base / each for each in settings.get("copybooks", ())],
        cache=base / settings["cache"] if settings.get("cache") else default_cache(),
        ssrange=settings.get("ssrange", "ABEND"),
        initial=settings.get("initial", "LOW-VALUES"),
        numcheck=settings.get("numcheck", "OFF"),
        zoned_move=settings.get("zoned_move", "OFF"),
        collating_sequence=settings.get("collating_sequence", "ASCII"),
        code_pages=_code_pages(settings, base),
        runaway=settings.get("runaway", 5000),
        cwa=settings.get("cwa", 0),
    )
    if region.options.code_page.encode("A") != b"A":
        programs.settings.pages = CodePages(_code_pages(settings, base), expected=True)
    return programs


def _install_maps(region: Region, path: Path) -> None:
    """Install the maps of a BMS source; warn if it cannot be read, since only programs with its maps fail."""
    try:
        region.screens.install(_mapset(path, path.stat().st_mtime_ns))
    except (DefinitionError, OSError) as error:
        issue_warning(str(error))


@lru_cache(_MAPSETS_KEPT)
def _mapset(path: Path, _modified: int) -> Mapset:
    return parse_bms(path.read_text("latin-1"), str(path))


def _code_pages(settings: Mapping[str, Any], base: Path) -> dict[str, Conversion]:
    """The conversions that ``code_pages`` and ``layouts`` describe.

    Raises:
        DefinitionError: a layout is for a queue or file without a code page.
    """
    pages, layouts = settings.get("code_pages") or {}, settings.get("layouts") or {}
    for name in layouts.keys() - pages.keys():
        message = "it has a layout, but code_pages: has no code page for it"
        raise DefinitionError([Problem("region.yaml", 0, "region", "cobol.layouts", name, message)])
    return {
        name: Conversion(page, load_copybook(base / layouts[name]).record() if name in layouts else None)
        for name, page in pages.items()
    }
