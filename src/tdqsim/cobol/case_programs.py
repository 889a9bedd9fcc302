"""Compile what cases need before the first one runs, on all cores; a case finds the modules in the cache.

The region of a case needs the programs of all its transactions; a case names further programs. From a program follows
each program that one of its commands or CALLs names as a literal. A name that is the value of an item is not followed:
its program is compiled when it is first needed. Errors are reported not here but by the case that needs the program.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from tdqsim.cobol.case_file import Case
from tdqsim.cobol.compiler import Module, compile_together
from tdqsim.cobol.file_names import source_of
from tdqsim.cobol.region_sources import transaction_programs
from tdqsim.cobol.source_check import options_of
from tdqsim.cobol.toolchain import default_cache
from tdqsim.cobol.translate import CobolError
from tdqsim.definitions import load_region_file
from tdqsim.errors import TdqError

_LITERAL: Final = re.compile(r"'([^' ]+) *'")
_NAME: Final = re.compile(r"[A-Z0-9@#$_-]{1,30}")

_Wanted = tuple[str, bool]
"""A program, and whether it is run from one of its paragraphs."""


def compile_for_cases(cases: Iterable[tuple[str, Case]], *, check_only: bool = False) -> None:
    """Compile the programs of the regions of cases, those that the cases name, and those that follow from them.

    Args:
        cases: for each case the directory of its region, and the case.
        check_only: whether cases are only looked at: then only their regions are made.
    """
    named: dict[tuple[str, str], set[_Wanted]] = {}
    for region, case in cases:
        named.setdefault((region, case.given.initial or ""), set()).update(_named_in(case))
    for (region, initial), wanted in named.items():
        with suppress(TdqError):
            _compile(region, initial, set() if check_only else wanted, follow=not check_only)


def _named_in(case: Case) -> Iterator[_Wanted]:
    for step in case.when:
        if step.program:
            yield step.program.upper(), False
        if step.paragraph:
            yield step.program.upper(), True


def _compile(region: str, initial: str, named: set[_Wanted], *, follow: bool) -> None:
    file = load_region_file(region)
    if file.cobol is None:
        return
    base = Path(file.directory)
    folders = [base / each for each in file.cobol.sources]
    cache = base / file.cobol.cache if file.cobol.cache else default_cache()
    options = options_of(file)
    options = replace(options, initial=initial) if initial else options

    new = named | {(name, False) for name in transaction_programs(file, file.load_definitions())}
    known: set[_Wanted] = set()
    while new:
        known |= new
        sources = (
            (source_of(name, folders) if _NAME.fullmatch(name) else None, paragraphs) for name, paragraphs in new
        )
        programs = [(source, replace(options, paragraphs=paragraphs)) for source, paragraphs in sources if source]
        found = {(name, False) for each in compile_together(programs, cache) for name in _named_by(each)}
        new = found - known if follow else set()


def _named_by(program: Module | CobolError) -> Iterator[str]:
    """What the commands and CALLs of a file name."""
    for module in () if isinstance(program, CobolError) else (program, *program.following):
        for command in module.commands:
            yield from (name.upper() for name in _LITERAL.findall(command.shown))
        yield from (call.program.upper() for call in module.calls)
