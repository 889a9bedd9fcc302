"""The sources of the programs of a region's transactions, which ``tdq check DIRECTORY`` translates.

A program that only LINK, XCTL or CALL names is left to ``tdq cobol check``, because the name may be the value of an
item. A region without such sources needs no translator, so that is imported for the others only.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tdqsim.cobol import on_demand
from tdqsim.cobol.file_names import misnamed_in, source_of
from tdqsim.definitions import Definitions, RegionFile, Transaction
from tdqsim.errors import Problem


def region_findings(file: RegionFile, definitions: Definitions) -> tuple[list[Problem], list[Problem]]:
    """The errors and the warnings about the programs of a region's transactions."""
    folders = () if file.cobol is None else [Path(file.directory) / each for each in file.cobol.sources]
    found = {name: source_of(name, folders) for name in transaction_programs(file, definitions)}
    sources = list(dict.fromkeys(source for source in found.values() if source is not None))
    errors, warnings = on_demand.source_check.source_findings(file, sources) if sources else ([], [])
    missing = [name for name, source in found.items() if source is None]
    others = misnamed_in(folders) if missing else {}  # each file is read once, however many programs are missing
    for name in missing:
        if (other := others.get(name)) is not None:
            message = f"its PROGRAM-ID is {name}, which a transaction names, but its file has another name: rename it"
            warnings.append(Problem(str(other[0]), other[1], "", "", "", message))
    return errors, warnings


def transaction_programs(file: RegionFile, definitions: Definitions) -> Iterator[str]:
    """The programs of the transactions that run in a region, in capitals; some may be no COBOL programs."""
    for entry in definitions.entries:
        each = entry.resource
        if isinstance(each, Transaction) and not each.handler and each.remotesystem in ("", file.sysid):
            yield each.program.upper()
