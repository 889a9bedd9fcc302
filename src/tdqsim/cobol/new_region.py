"""Make a region directory from COBOL sources, copybooks, BMS maps and a CSD extract.

The sources stay where they are: ``region.yaml`` names their folders. Each transaction and each transient data queue
gets a case file with a skeleton. The data sets of files are empty; IDCAMS statements in the JCL among the sources give
their keys and record lengths. What the programs use but is missing is listed: copybooks, programs named in LINK,
XCTL and LOAD, queues and files without a definition, commands that only a stub can answer.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tdqsim.cobol.calls import unserved
from tdqsim.cobol.clusters import SUFFIXES, clusters_in, with_clusters
from tdqsim.cobol.compiler import Options, expand
from tdqsim.cobol.file_names import COPYBOOKS, MAPS, PROGRAMS
from tdqsim.cobol.translate import CobolError, ExecCommand, translate
from tdqsim.definitions import (
    Definitions,
    define_tdqueue,
    define_terminal,
    define_transaction,
    dump_definitions,
    parse_csd_listing,
)
from tdqsim.errors import DefinitionError, UsageError
from tdqsim.facts import SUPPLIED_QUEUES

_PROGRAM_ID: Final = re.compile(rb"\bPROGRAM-ID\b", re.IGNORECASE)
_GROUP: Final = "COBOL"
_TERMINAL: Final = "T001"
_NAME: Final = r"'([A-Z0-9@#$]{1,8}) *'"
_TD: Final = re.compile(rf"^EXEC CICS (?:READQ|WRITEQ|DELETEQ)\b(?=.*\bTD\b).*?\bQUEUE\({_NAME}\)")
_USES: Final = (
    ("program", re.compile(rf"^EXEC CICS (?:LINK|XCTL|LOAD)\b.*?\bPROGRAM\({_NAME}\)")),
    ("file", re.compile(rf"^EXEC CICS .*?\b(?:FILE|DATASET)\({_NAME}\)")),
    ("transaction", re.compile(rf"^EXEC CICS (?:START|RETURN)\b.*?\bTRANSID\({_NAME}\)")),
)


@dataclass(slots=True)
class MadeRegion:
    """The files of a new region directory.

    Attributes:
        files: the text of each file, by its path in the directory.
        missing: what is missing, one line each.
    """

    files: dict[str, str] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)


def make_region(directory: Path, sources: Iterable[Path], csd: Path | None = None) -> MadeRegion:
    """Make the files of a region directory for COBOL programs; nothing is written.

    Args:
        directory: the region directory.
        sources: sources, or folders of them, with copybooks and maps in them or in folders below.
        csd: DFHCSDUP commands, or the listing of LIST or EXTRACT.

    Raises:
        CobolMissing: there is no compiler.
        UsageError: a source or folder does not exist, or there is no program among them.
        OSError: a file cannot be read.
    """
    made = MadeRegion()
    sources = list(sources)
    inputs = _Sources(sources)
    if not inputs.programs:
        raise UsageError(f"{', '.join(map(str, sources))}: there is no COBOL program (a source with PROGRAM-ID)")
    definitions = Definitions.of(())
    if csd is not None:
        imported = parse_csd_listing(csd.read_text("utf-8", "replace"), file=str(csd))
        definitions = with_clusters(imported.definitions, clusters_in(inputs.jobs()))
        made.missing += [str(report) for report in imported.reports]
    commands = list(_commands(inputs, made.missing))
    definitions = _completed(definitions, commands, inputs, with_csd=csd is not None)
    made.missing += _not_there(definitions, commands, inputs)
    made.files["definitions.yaml"] = dump_definitions(definitions)
    made.files["region.yaml"] = _region_file(directory, inputs)
    known = {each.name for each in definitions.tdqueues if each.type in ("INTRA", "EXTRA")}
    at_terminal = {name for name, command in commands if command.verb in ("SEND", "RECEIVE")}
    for transaction in definitions.transactions:
        if transaction.program in inputs.programs:
            name, terminal = transaction.name, transaction.program in at_terminal
            when = f"{{terminal: {_TERMINAL}, text: {name}}}" if terminal else f"{{transaction: {name}}}"
            queues = [each for each in _queues(commands, transaction.program) if each in known]
            made.files[f"cases/{name}.case.yaml"] = _case(f"{name} runs", when, queues)
    for queue in definitions.tdqueues:
        if queue.type == "INTRA" and queue.name not in SUPPLIED_QUEUES:
            made.files[f"cases/queue-{queue.name}.case.yaml"] = _case(
                f"records on {queue.name}", f'{{write: {queue.name}, records: ["RECORD 1"]}}', [queue.name]
            )
    return made


class _Sources:
    """The programs by name, and the folders of programs and of copybooks."""

    def __init__(self, sources: Iterable[Path]) -> None:
        self.programs: dict[str, Path] = {}
        self.folders: list[Path] = []
        self.copybooks: list[Path] = []
        self._jobs: list[Path] = []
        for path in (file for source in sources for file in _files(source)):
            suffix = path.suffix.lower()
            if suffix in PROGRAMS and _PROGRAM_ID.search(path.read_bytes()):
                self.programs.setdefault(path.stem.upper(), path)
                _add(self.folders, path.parent)
            elif suffix in SUFFIXES:
                self._jobs.append(path)
            elif suffix and (suffix in COPYBOOKS or suffix in PROGRAMS or suffix == MAPS):
                _add(self.copybooks, path.parent)

    def jobs(self) -> Iterator[str]:
        """The texts of members with JCL or IDCAMS statements."""
        for path in self._jobs:
            yield path.read_text("latin-1")


def _files(source: Path) -> list[Path]:
    if not source.exists():
        raise UsageError(f"{source}: there is no such file or folder")
    return sorted(path for path in source.rglob("*") if path.is_file()) if source.is_dir() else [source]


def _add(folders: list[Path], folder: Path) -> None:
    if folder not in folders:
        folders.append(folder)


_Issued = tuple[str, ExecCommand]
"""A program's name and one of its commands."""


def _commands(inputs: _Sources, missing: list[str]) -> Iterator[_Issued]:
    """The commands of all programs; programs that cannot be translated are listed in ``missing``."""
    options = Options(tuple(inputs.copybooks))
    for name, path in inputs.programs.items():
        try:
            translation = translate(expand(path, options), str(path))
        except CobolError as error:
            missing += error.problems
            continue
        except DefinitionError as error:  # an error of a BMS source that the program names
            missing += map(str, error.problems)
            continue
        for each in (translation, *translation.following):
            for command in each.commands:
                yield name, command


def _completed(
    definitions: Definitions, commands: Iterable[_Issued], inputs: _Sources, *, with_csd: bool
) -> Definitions:
    """The definitions, completed with a terminal; without a CSD extract, also with the programs' resources."""
    terminal = Definitions.of([define_terminal(name=_TERMINAL, group=_GROUP)])
    if with_csd:
        return definitions + terminal
    queues = sorted({match[1] for _program, each in commands if (match := _TD.match(each.shown))} - {*SUPPLIED_QUEUES})
    resources = [define_tdqueue(name=name, group=_GROUP, type="INTRA") for name in queues if len(name) <= 4]
    transactions = [
        define_transaction(name=f"T{at:03d}", group=_GROUP, program=name) for at, name in enumerate(inputs.programs, 1)
    ]
    return Definitions.of([*resources, *transactions]) + terminal


def _not_there(definitions: Definitions, commands: Iterable[_Issued], inputs: _Sources) -> list[str]:
    """What programs and definitions name but does not exist."""
    known = {
        "program": {*inputs.programs},
        "file": {each.name for each in definitions.files},
        "transaction": {each.name for each in definitions.transactions},
        "queue": {*SUPPLIED_QUEUES, *(each.name for each in definitions.tdqueues)},
    }
    lines: dict[str, None] = {}
    for file in definitions.files:
        if not (file.keylength or file.organisation):
            lines[f"file {file.name}: no IDCAMS statement defines its data set {file.dataset}"] = None
    for each in definitions.transactions:
        if each.program and each.program not in known["program"]:
            lines[f"transaction {each.name}: there is no source of program {each.program}"] = None
    for program, command in commands:
        for kind, pattern in (*_USES, ("queue", _TD)):
            match = pattern.match(command.shown)
            if match and match[1] not in known[kind]:
                why = "there is no source" if kind == "program" else "it is not defined"
                lines[f"{kind} {match[1]}: {why} (used by {program})"] = None
        if why := unserved(command):
            lines[f"{command.place}: {why}"] = None
    return list(lines)


def _queues(commands: Iterable[_Issued], program: str) -> list[str]:
    """The transient data queues that a program names."""
    names = (match[1] for name, each in commands if name == program and (match := _TD.match(each.shown)))
    return list(dict.fromkeys(names))


def _region_file(directory: Path, inputs: _Sources) -> str:
    def listed(folders: Iterable[Path]) -> str:
        return "".join(f"    - {_quoted(os.path.relpath(each, directory))}\n" for each in folders)

    sources = f"  sources:\n{listed(inputs.folders)}" if inputs.folders else ""
    copybooks = f"  copybooks:\n{listed(inputs.copybooks)}" if inputs.copybooks else ""
    head = "# The region of COBOL programs: tdq run, tdq cobol test\ndefinitions: [definitions.yaml]\ncobol:\n"
    return f"{head}{sources}{copybooks}"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _case(name: str, when: str, queues: Iterable[str]) -> str:
    then = "".join(f"        {queue}: []\n" for queue in queues)
    expected = f"    then:\n      queues:\n{then}" if then else "    then: {}\n"
    return (
        "# A skeleton: fill in the input, then let tdq cobol test --update write the results.\n"
        f"cases:\n  - name: {_quoted(name)}\n    given: {{}}\n    when:\n      - {when}\n{expected}"
    )
