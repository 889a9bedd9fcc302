"""The sources of the programs of a region's transactions, which ``tdq check DIRECTORY`` translates.

A program that only LINK, XCTL or CALL names is left to ``tdq cobol check``, because the name may be the value of an
item. A region without such sources needs no translator, so that is imported for the others only.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tdqsim.cobol import on_demand
from tdqsim.cobol.file_names import source_of
from tdqsim.definitions import Definitions, RegionFile, Transaction
from tdqsim.errors import Problem


def region_findings(file: RegionFile, definitions: Definitions) -> tuple[list[Problem], list[Problem]]:
    """The errors and the warnings about the programs of a region's transactions."""
    sources = list(dict.fromkeys(_sources(file, definitions)))
    return on_demand.source_check.source_findings(file, sources) if sources else ([], [])


def _sources(file: RegionFile, definitions: Definitions) -> Iterator[Path]:
    folders = () if file.cobol is None else [Path(file.directory) / each for each in file.cobol.sources]
    for program in transaction_programs(file, definitions):
        source = source_of(program, folders)
        if source is not None:
            yield source


def transaction_programs(file: RegionFile, definitions: Definitions) -> Iterator[str]:
    """The programs of the transactions that run in a region, in capitals; some may be no COBOL programs."""
    for entry in definitions.entries:
        each = entry.resource
        if isinstance(each, Transaction) and not each.handler and each.remotesystem in ("", file.sysid):
            yield each.program.upper()
