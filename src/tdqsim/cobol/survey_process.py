"""The process in which :mod:`~tdqsim.cobol.survey` runs one program once, as a task of a new region.

Transient data queues that its commands name by a literal are intrapartition queues; it has a terminal at which ENTER
was pressed, and the maps of all BMS sources; it has no files. What it writes to standard output is dropped.
"""

from __future__ import annotations

import _thread
import json
import os
import re
import signal
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, TextIO

from tdqsim.cics import Abend, Condition, Region
from tdqsim.cobol.abends import CobolFailure
from tdqsim.cobol.compiler import Options, compile_program
from tdqsim.cobol.programs import CobolPrograms
from tdqsim.cobol.stubs import Unserved
from tdqsim.cobol.translate import ExecCommand
from tdqsim.definitions import define_tdqueue, define_terminal, parse_bms
from tdqsim.errors import TdqError
from tdqsim.languages import TaskInternals

_QUEUE: Final = re.compile(r"(?:READQ|WRITEQ|DELETEQ) TD\b")
_NAMED: Final = re.compile(r"\bQUEUE\(A(\d+)\)")
_MISSING: Final = re.compile(r"EXEC (?:CICS|SQL|DLI) .*$")
_SHOWN: Final = 120
_GRACE: Final = 30.0
"""Seconds after the end of its time until a run that does not answer is killed."""


def run_once(source: Path, options: Options, cache: Path, maps: Path, seconds: float, lines: TextIO) -> None:
    """Run a program for some seconds; sends "yes" or "no" and how it ended, as a line of JSON."""
    signal.setitimer(signal.ITIMER_REAL, seconds + _GRACE)  # ends the process
    alarm = threading.Timer(seconds, _thread.interrupt_main)
    alarm.daemon = True
    with Path(os.devnull).open("w", encoding="utf-8") as null:
        os.dup2(null.fileno(), 1)
        os.dup2(null.fileno(), 2)
    try:
        alarm.start()
        outcome = _run(source, options, cache, maps)
    except KeyboardInterrupt:
        outcome = ("yes", f"still issues commands after {seconds} seconds")
    except Exception as error:  # noqa: BLE001  (any exception is the result of the survey)
        outcome = ("no", f"{type(error).__name__}: {error}"[:200])
    lines.write(json.dumps(outcome) + "\n")


def _run(source: Path, options: Options, cache: Path, maps: Path) -> tuple[str, str]:
    module = compile_program(source, options, cache)
    names = sorted(set(_queues(module.commands)))
    region = Region([*(define_tdqueue(name=name, type="INTRA") for name in names), define_terminal(name="T001")])
    with region:
        _install_maps(region, maps)
        programs = CobolPrograms(
            region, sources=[source.parent], cache=cache, copybooks=options.copybooks, runaway=3000, on_warning=_silent
        )
        region.register("SURV", programs.program(source))
        region.screens.type("T001", "SURV")
        handle = TaskInternals(next(iter(region.tasks.values()))).fiber
        region.run()
        if handle is None or not handle.done:
            return "yes", "waits for input"
        try:
            handle.result()
        except Abend as abend:
            return _ended(abend)
        return "yes", "ended normally"


def _ended(abend: Abend) -> tuple[str, str]:
    cause = abend.cause
    if isinstance(cause, Unserved):
        return "no", (_MISSING.search(str(cause)) or [str(cause)])[0]
    if cause is not None and not isinstance(cause, CobolFailure | Condition):
        return "no", f"{type(cause).__name__}: {cause}"
    return "yes", str(abend).partition("\n")[0][:_SHOWN]


def _silent(_text: str) -> None:
    """Ignore warnings about areas, which are not part of a survey."""


def _queues(commands: Iterable[ExecCommand]) -> Iterator[str]:
    """The queues that transient data commands name by a literal."""
    for command in commands:
        match = _NAMED.search(command.text) if _QUEUE.match(command.text) else None
        written = command.written[int(match[1]) - 1] if match else ""
        name = written.strip("'\"").rstrip(" ")
        if written[:1] in ("'", '"') and 0 < len(name) <= 4:
            yield name


def _install_maps(region: Region, folder: Path) -> None:
    for path in sorted(folder.rglob("*")):
        if path.suffix.lower() == ".bms" and path.is_file():
            try:
                region.screens.install(parse_bms(path.read_text("latin-1"), str(path)))
            except TdqError:  # the program lacks this mapset, and fails with a message if it uses it
                continue
