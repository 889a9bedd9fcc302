"""What is wrong with programs before they are compiled: what ``tdq cobol check`` and ``tdq check`` find."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, NamedTuple

from tdqsim.cobol import calls
from tdqsim.cobol.compiler import Module, Options, expand
from tdqsim.cobol.file_names import misnamed
from tdqsim.cobol.toolchain import CobolMissing
from tdqsim.cobol.translate import CobolError, Translation, translate
from tdqsim.definitions import REGION_FILE_NAME, RegionFile
from tdqsim.errors import Problem

_PLACE: Final = re.compile(r"(.+?):(\d+): (?:error: |warning: )?(.*)", re.DOTALL)


class SourceFinding(NamedTuple):
    """What the check finds about a command.

    Attributes:
        wrong: whether it is a mistake; else tdqsim does not simulate what CICS has.
        text: file, line and what it is.
    """

    wrong: bool
    text: str


def findings(program: Translation | Module, source: Path | None = None) -> Iterator[SourceFinding]:
    """What is wrong with the commands of a program, and which of them are not simulated.

    Args:
        program: the program.
        source: its file, if it is the first program of it.
    """
    if source is not None and (other := misnamed(source)) is not None:
        name, line = other
        why = f"PROGRAM-ID is {name}, but LINK, XCTL and transactions find this program as {source.stem.upper()}, the"
        yield SourceFinding(False, f"{source}:{line}: warning: {why} name of its file; give both one name")
    for command in program.commands:
        if mistake := calls.misspelt(command):
            yield SourceFinding(True, f"{command.place}: error: {mistake}")
        elif why := calls.unserved(command):
            yield SourceFinding(False, f"{command.place}: not simulated: {why}")
        for _word, what in calls.too_long(command):
            yield SourceFinding(True, f"{command.place}: {command.verb}: {what}")


def options_of(file: RegionFile) -> Options:
    """The options of the compiler for the programs of a region."""
    if file.cobol is None:
        return Options()
    return Options(
        tuple(Path(file.directory) / each for each in file.cobol.copybooks),
        ebcdic_order=file.cobol.collating_sequence == "EBCDIC",
        initial=file.cobol.initial,
    )


def source_findings(file: RegionFile, sources: Iterable[Path]) -> tuple[list[Problem], list[Problem]]:
    """The errors and the warnings about sources of programs of a region."""
    errors: list[Problem] = []
    warnings: list[Problem] = []
    options = options_of(file)
    try:
        with ThreadPoolExecutor(os.cpu_count()) as pool:  # the preprocessors are processes
            for found in pool.map(lambda source: _findings(source, options), sources):
                for each in found:
                    (errors if each.wrong else warnings).append(_problem(each.text))
    except CobolMissing as missing:
        message = f"the programs of transactions are not checked: {missing}"
        return [], [Problem(str(Path(file.directory) / REGION_FILE_NAME), 0, "", "cobol", "", message)]
    return errors, warnings


def _findings(source: Path, options: Options) -> list[SourceFinding]:
    try:
        translation = translate(expand(source, options), str(source))
    except CobolError as error:
        return [SourceFinding(True, each) for each in error.problems]
    later = (found for each in translation.following for found in findings(each))
    return [*findings(translation, source), *later]


def _problem(text: str) -> Problem:
    place = _PLACE.fullmatch(text)
    if place is None:
        return Problem(text, 0, "", "", "", "the program cannot be translated")
    return Problem(place[1], int(place[2]), "", "", "", place[3])
