"""Survey a folder of CICS COBOL sources: which programs can be translated, compiled and run, and what the others lack.

Each program is run once, in a separate process (:mod:`~tdqsim.cobol.survey_process`), so that it can harm nothing else.
A program has run if it ends, also with a condition or an abend of CICS, if it waits, or if it still issues commands
when its time is over. It has not run if it stops at a command that is not supported.
"""

from __future__ import annotations

import json
import re
import signal
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, Literal

from tdqsim.cobol.child_process import ChildProcess
from tdqsim.cobol.compiler import Options, compile_program, expand
from tdqsim.cobol.file_names import COPYBOOKS, MAPS, PROGRAMS
from tdqsim.cobol.survey_process import run_once
from tdqsim.cobol.translate import CobolError, translate

_LIBRARY: Final = frozenset([*COPYBOOKS, *PROGRAMS, MAPS]) - {""}
_COMMAND: Final = re.compile(rb"\bEXEC(?:UTE)?\s+CICS\b", re.IGNORECASE)
_QUEUE: Final = re.compile(r"(?:READQ|WRITEQ|DELETEQ) TD\b")

State = Literal["yes", "no", "-"]


@dataclass(frozen=True, slots=True)
class Surveyed:
    """The result for one program.

    Attributes:
        source: its file.
        translated, compiled, ran: ``yes``, ``no``, or ``-`` if this step was not reached.
        commands: how many EXEC commands it has.
        transient_data: whether one of them is for a transient data queue.
        why: what went wrong, or how it ended.
    """

    source: str
    translated: State
    compiled: State
    ran: State
    commands: int = 0
    transient_data: bool = False
    why: str = ""


def sources_in(folder: Path) -> list[Path]:
    """The CICS programs in a folder and below: sources with EXEC CICS and a PROGRAM-ID."""
    sources = []
    for path in sorted(folder.rglob("*")):
        if path.suffix.lower() in PROGRAMS and path.is_file():
            text = path.read_bytes()
            if _COMMAND.search(text) and b"PROGRAM-ID" in text.upper():
                sources.append(path)
    return sources


def _libraries(folder: Path) -> tuple[Path, ...]:
    """The folders that may contain copybooks and maps, the nearest first."""
    places = {path.parent for path in folder.rglob("*") if path.suffix.lower() in _LIBRARY and path.is_file()}
    return tuple(
        sorted(places, key=lambda each: ("cpy" not in each.name.lower() and "copy" not in each.name.lower(), each))
    )


def survey(
    folder: Path, *, copybooks: Sequence[Path] = (), cache: Path | None = None, run: bool = True, seconds: float = 60
) -> Iterator[Surveyed]:
    """Survey the programs of a folder.

    Args:
        folder: the folder of the sources; it may also contain copybooks and BMS sources.
        copybooks: further folders of copybooks, which are searched first.
        cache: where compiled modules are kept; a temporary folder by default.
        run: whether to run the programs that compile.
        seconds: how long a program may run.

    Raises:
        CobolMissing: there is no compiler.
    """
    options = Options((*copybooks, *_libraries(folder)))
    with tempfile.TemporaryDirectory(prefix="tdqsim-survey-") as temporary:
        for source in sources_in(folder):
            yield _one(source, options, cache or Path(temporary), folder if run else None, seconds)


def _one(source: Path, options: Options, cache: Path, maps: Path | None, seconds: float) -> Surveyed:
    try:
        translation = translate(expand(source, options), str(source))
    except CobolError as error:
        return Surveyed(str(source), "no", "-", "-", why=error.problems[0])
    size = len(translation.commands)
    queues = any(_QUEUE.match(command.text) for command in translation.commands)
    try:
        compile_program(source, options, cache)
    except CobolError as error:
        return Surveyed(str(source), "yes", "no", "-", size, queues, error.problems[0])
    if maps is None:
        return Surveyed(str(source), "yes", "yes", "-", size, queues)
    ran, why = _run(source, options, cache, maps, seconds)
    return Surveyed(str(source), "yes", "yes", ran, size, queues, why)


def _run(source: Path, options: Options, cache: Path, maps: Path, seconds: float) -> tuple[State, str]:
    """Run a program in a separate process; returns how it ended."""
    child = ChildProcess(partial(run_once, source, options, cache, maps, seconds))
    answers = list(child.lines())
    if answers:
        ran, why = json.loads(answers[0])
        return ran, why
    if child.died.startswith(f"signal {signal.SIGALRM.value} "):
        return "no", f"took more than {seconds} seconds without a command"
    return "no", f"ended the process: {child.died or f'exit code {child.code}'}"
