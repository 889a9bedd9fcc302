"""The process in which :mod:`~tdqsim.cobol.survey` runs one program once, as a task of a new region.

Transient data queues that its commands name by a literal are intrapartition queues; it has a terminal at which ENTER
was pressed, and the maps of all BMS sources; it has no files. Standard input contains a JSON object that says what to
run. The result goes to a file that this object names, because standard output belongs to the program.
"""

from __future__ import annotations

import _thread
import json
import re
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

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


def main() -> None:
    """Run the program that the standard input names."""
    asked = json.load(sys.stdin)
    alarm = threading.Timer(asked["seconds"], _thread.interrupt_main)
    alarm.daemon = True
    try:
        alarm.start()
        outcome = _run(asked)
    except KeyboardInterrupt:
        outcome = ("yes", f"still issues commands after {asked['seconds']} seconds")
    except Exception as error:  # noqa: BLE001  (any exception is the result of the survey)
        outcome = ("no", f"{type(error).__name__}: {error}"[:200])
    Path(asked["answer"]).write_text(json.dumps(outcome), "utf-8")


def _run(asked: Mapping[str, Any]) -> tuple[str, str]:
    source, cache = Path(asked["source"]), Path(asked["cache"])
    copybooks = tuple(map(Path, asked["copybooks"]))
    module = compile_program(source, Options(copybooks), cache)
    names = sorted(set(_queues(module.commands)))
    region = Region([*(define_tdqueue(name=name, type="INTRA") for name in names), define_terminal(name="T001")])
    with region:
        _install_maps(region, Path(asked["maps"]))
        programs = CobolPrograms(
            region, sources=[source.parent], cache=cache, copybooks=copybooks, runaway=3.0, on_warning=_silent
        )
        region.register("SURV", programs.program(source))
        region.screens.type("T001", "SURV")
        handle = TaskInternals(next(iter(region.tasks.values()))).strand
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


if __name__ == "__main__":
    main()
