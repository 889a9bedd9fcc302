"""A folder of CICS COBOL sources surveyed: which programs translate, compile and run, and what the others lack.

Each program is run once as a task of a region of its own, in a child process, so that whatever it does concerns nothing
else: transient data queues that its commands name by a literal are intrapartition queues, it has a terminal at which
ENTER was pressed, and the maps of all BMS sources are there. Files are not: a program that ends with a condition or an
abend of CICS has run. One that stops at a command that is not served has not.
"""

from __future__ import annotations

import json
import os
import re
import select
import signal
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from tdqsim.cobol.compiler import Options, compile_program, expand
from tdqsim.cobol.translate import CobolError, translate
from tdqsim.errors import TdqError

__all__ = ["Surveyed", "sources_in", "survey"]

_SUFFIXES: Final = (".cbl", ".cob", ".cobol", ".ccp")
_LIBRARY: Final = (".cpy", ".copy", ".cbl", ".cob", ".bms", ".dcl")
_COMMAND: Final = re.compile(rb"\bEXEC(?:UTE)?\s+CICS\b", re.IGNORECASE)
_QUEUE: Final = re.compile(r"(?:READQ|WRITEQ|DELETEQ) TD\b")
_LIKELY: Final = re.compile(r"cpy|copy", re.IGNORECASE)
_MISSING: Final = re.compile(r"EXEC (?:CICS|SQL|DLI) .*$")

State = Literal["yes", "no", "-"]


@dataclass(frozen=True, slots=True)
class Surveyed:
    """What became of one program.

    Attributes:
        source: its file.
        translated, compiled, ran: ``yes``, ``no``, or ``-`` where it did not come to that.
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
    found = []
    for path in sorted(folder.rglob("*")):
        if path.suffix.lower() in _SUFFIXES and path.is_file():
            text = path.read_bytes()
            if _COMMAND.search(text) and b"PROGRAM-ID" in text.upper():
                found.append(path)
    return found


def _libraries(folder: Path) -> tuple[Path, ...]:
    """The folders in which copybooks and maps may be, the nearest first."""
    places = {path.parent for path in folder.rglob("*") if path.suffix.lower() in _LIBRARY}
    return tuple(
        sorted(places, key=lambda each: ("cpy" not in each.name.lower() and "copy" not in each.name.lower(), each))
    )


def survey(
    folder: Path, *, copybooks: Sequence[Path] = (), cache: Path | None = None, run: bool = True, seconds: float = 20
) -> Iterator[Surveyed]:
    """Survey the programs of a folder.

    Args:
        folder: where the sources are; copybooks and BMS sources in it are found too.
        copybooks: further folders of copybooks, which come first.
        cache: where compiled modules are kept; a temporary folder by default.
        run: whether to run what compiles.
        seconds: how long a program may run.

    Raises:
        CobolMissing: there is no compiler.
    """
    options = Options((*copybooks, *_libraries(folder)), debug=True)
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
    ran, why = _apart(lambda: _run(source, options, cache, maps), seconds)
    return Surveyed(str(source), "yes", "yes", ran, size, queues, why)


# -- running one -----------------------------------------------------------------------------------------------------


def _run(source: Path, options: Options, cache: Path, maps: Path) -> tuple[State, str]:
    """Run a program in a region of its own; how that ended."""
    from tdqsim.cics import Abend, Condition, Region  # noqa: PLC0415  (the child only)
    from tdqsim.cobol.level import CobolFailure  # noqa: PLC0415
    from tdqsim.cobol.own import Unserved  # noqa: PLC0415
    from tdqsim.cobol.programs import CobolPrograms  # noqa: PLC0415
    from tdqsim.definitions import define_tdqueue, define_terminal  # noqa: PLC0415

    module = compile_program(source, options, cache)
    names = sorted(set(_queues(module.commands)))
    with Region([*(define_tdqueue(name=name, type="INTRA") for name in names), define_terminal(name="T001")]) as region:
        _install_maps(region, maps)
        programs = CobolPrograms(
            region, sources=[source.parent], cache=cache, copybooks=options.copybooks, runaway=3.0, on_warning=_silent
        )
        region.register("SURV", programs.program(source))
        region.screens.type("T001", "SURV")
        handle = next(iter(region.tasks.values())).strand
        region.run()
        if handle is None or not handle.done:
            return "yes", "waits for input"
        try:
            handle.result()
        except Abend as abend:
            if isinstance(abend.cause, Unserved):
                return "no", (_MISSING.search(str(abend.cause)) or [str(abend.cause)])[0]
            if abend.cause is not None and not isinstance(abend.cause, CobolFailure | Condition):
                return "no", f"{type(abend.cause).__name__}: {abend.cause}"
            return "yes", str(abend).partition("\n")[0][:120]
        return "yes", "ended normally"


def _silent(_text: str) -> None:
    """Mismatches are not what a survey is about."""


def _queues(commands: Iterable[Any]) -> Iterator[str]:
    """The queues that transient data commands name by a literal."""
    for command in commands:
        found = re.search(r"\bQUEUE\(A(\d+)\)", command.text) if _QUEUE.match(command.text) else None
        written = command.written[int(found[1]) - 1] if found else ""
        name = written.strip("'\"").rstrip(" ")
        if written[:1] in ("'", '"') and 0 < len(name) <= 4:
            yield name


def _install_maps(region: Any, folder: Path) -> None:
    from tdqsim.definitions.bms import parse_bms  # noqa: PLC0415

    for path in sorted(folder.rglob("*")):
        if path.suffix.lower() == ".bms":
            try:
                region.screens.install(parse_bms(path.read_text("latin-1"), str(path)))
            except TdqError:  # that mapset is not there for the program, and it says so if it comes to that
                continue


def _apart(work: Any, seconds: float) -> tuple[State, str]:
    """Do something in a child process and hear what it says, as long as it takes no longer than that."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        _say(work, reading, writing)
    os.close(writing)
    said, deadline = b"", time.monotonic() + seconds
    while (left := deadline - time.monotonic()) > 0 and select.select([reading], [], [], left)[0]:
        part = os.read(reading, 65536)
        if not part:
            break
        said += part
    os.close(reading)
    if not said:
        os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    if said:
        ran, why = json.loads(said)
        return ran, why
    number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    return "no", f"took more than {seconds} seconds" if number == signal.SIGKILL else f"ended the process ({status})"


def _say(work: Any, reading: int, writing: int) -> None:
    """The child: do it, say how it ended, and end without what the parent would do at its end."""
    status = 1
    try:
        os.close(reading)
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        try:
            said = work()
        except Exception as error:  # noqa: BLE001  (whatever it was, it is what became of the program)
            said = ("no", f"{type(error).__name__}: {error}"[:200])
        os.write(writing, json.dumps(said).encode())
        status = 0
    finally:
        os._exit(status)
