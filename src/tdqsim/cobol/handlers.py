"""``handler: cobol:PROGRAM`` in a TRANSACTION: how a region finds its COBOL programs.

The region's own settings say where they are; in region.yaml::

    cobol:
      sources: [cobol]
      copybooks: [copy]
      cache: .cobol

Paths are relative to the directory of region.yaml. Without ``cache`` compiled modules are in the user's cache folder.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from tdqsim.cics import Region
from tdqsim.cobol.programs import CobolPrograms
from tdqsim.errors import DefinitionError, Problem

__all__ = ["cobol_programs", "handler"]

_KEYS: Final = ("sources", "copybooks", "cache", "debug", "flags")
_KNOWN: dict[int, tuple[Region, CobolPrograms]] = {}


def handler(region: Region, program: str) -> Any:
    """The handler of a transaction with ``handler: cobol:PROGRAM``; the entry point ``cobol`` of ``tdqsim.handlers``.

    Raises:
        DefinitionError: the region's settings do not say where its COBOL programs are.
        CobolError: there is no source of that name, or it cannot be compiled.
    """
    return cobol_programs(region).handler(program)


def cobol_programs(region: Region) -> CobolPrograms:
    """The COBOL programs of a region, as its settings describe them.

    Raises:
        DefinitionError: there is no such setting, or it is wrong.
    """
    kept = _KNOWN.get(id(region))
    if kept is not None and kept[0] is region:
        return kept[1]
    found = _described(region, region.settings.get("cobol"), Path(region.settings.get("directory", ".")))
    _KNOWN[id(region)] = region, found
    return found


def _described(region: Region, settings: Any, base: Path) -> CobolPrograms:
    if not isinstance(settings, Mapping):
        raise _refused("cobol", "", "a transaction has a COBOL program, but region.yaml does not say where sources are")
    unknown = sorted(set(settings) - set(_KEYS))
    if unknown:
        raise _refused(f"cobol: {unknown[0]}", unknown[0], f"is no setting; allowed are {', '.join(_KEYS)}")
    return CobolPrograms(
        region,
        sources=[base / each for each in _list(settings, "sources")],
        copybooks=[base / each for each in _list(settings, "copybooks")],
        cache=base / settings["cache"] if "cache" in settings else default_cache(),
        debug=str(settings.get("debug", "YES")).upper() != "NO",
        flags=_list(settings, "flags"),
    )


def _list(settings: Mapping[str, Any], key: str) -> Sequence[str]:
    value = settings.get(key, [])
    if isinstance(value, str):
        return [value]
    if not isinstance(value, Sequence):
        raise _refused(f"cobol: {key}", str(value), "must be a name or a list of names")
    return [str(each) for each in value]


def _refused(field: str, value: str, message: str) -> DefinitionError:
    return DefinitionError([Problem("region.yaml", 0, "region", field, value, message)])


def default_cache() -> Path:
    """The user's folder for compiled modules."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "tdqsim" / "cobol"
