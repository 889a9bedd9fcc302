"""``tdq new``: write a small region directory, or copy an example."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Final

import typer

from tdqsim import definitions
from tdqsim.cli.completing import beginning
from tdqsim.cli.errors import InputError
from tdqsim.cli.examples import copyable
from tdqsim.cli.extensions import extension
from tdqsim.cli.output import emit
from tdqsim.core.spelling import did_you_mean

app = typer.Typer(rich_markup_mode=None)

_REGION: Final = """\
# yaml-language-server: $schema=.schemas/region.json
# Everything that is needed to start the region: tdq run
applid: PAYREGN
sysid: PAY1
definitions: [payments.yaml]
handlers: [payments]
"""
_DEFINITIONS: Final = """\
# yaml-language-server: $schema=.schemas/definitions.json
# Attributes are those of RDO in lower case; every value is text, exactly as written.
group: PAYMENTS
tdqueue:
  - name: PAYQ
    type: INTRA
    recovstatus: LOGICAL
    transid: PAYP
    triggerlevel: 2
    atifacility: FILE
  - {name: DONE, type: INTRA}
transaction:
  - {name: PAYP, program: PAYPROG, handler: "payments:post"}
"""
_HANDLER: Final = '''\
"""The program of transaction PAYP: post the payments that are on the queue."""

from tdqsim import Task


def post(task: Task) -> None:
    """Read the queue that has started this task until it is empty."""
    for record in task.readq_td_all(task.assign("QNAME")):
        amount = task.text(record)
        task.writeq_td("DONE", task.encode(f"posted {amount}"))
'''
_TEST: Final = '''\
"""Run this test with pytest; tdqsim provides the fixture."""

import pytest

from tdqsim import Region
from tdqsim.testing import assert_records

pytestmark = pytest.mark.tdq_definitions(".")


def test_two_payments_start_the_posting(tdq_region: Region) -> None:
    for amount in ("10.00", "20.00"):
        tdq_region.writeq_td("PAYQ", tdq_region.encode(amount))
    assert_records(tdq_region, "DONE", ["posted 10.00", "posted 20.00"])
    assert_records(tdq_region, "PAYQ", [])
'''
_SETTINGS: Final = {
    "python.testing.pytestEnabled": True,
    "yaml.schemas": {".schemas/region.json": "region.yaml", ".schemas/definitions.json": "payments.yaml"},
}


def _files() -> dict[str, str]:
    return {
        "region.yaml": _REGION,
        "payments.yaml": _DEFINITIONS,
        "payments.py": _HANDLER,
        "test_payments.py": _TEST,
        ".schemas/region.json": _as_json(definitions.region_json_schema()),
        ".schemas/definitions.json": _as_json(definitions.json_schema()),
        ".vscode/settings.json": _as_json(_SETTINGS),
    }


def _as_json(value: object) -> str:
    return json.dumps(value, indent=2) + "\n"


def _offered_examples(incomplete: str) -> list[tuple[str, str]]:
    return beginning(((name, "example") for name in copyable()), incomplete)


@app.command("new")
def new(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="The directory; it must not exist, or be empty.")],
    source: Annotated[
        str,
        typer.Option("--example", metavar="NAME", help="Copy this example instead.", autocompletion=_offered_examples),
    ] = "",
    cobol: Annotated[
        list[Path] | None,
        typer.Option(
            "--cobol", metavar="SRC", help="Make it for COBOL programs: a source, or a folder; may be repeated."
        ),
    ] = None,
    csd: Annotated[
        Path | None, typer.Option("--csd", metavar="FILE", help="With --cobol: the definitions, as DFHCSDUP text.")
    ] = None,
) -> None:
    """Write a small region directory to begin with: definitions, a handler, a test, settings of an editor."""
    if csd is not None and not cobol:
        raise InputError("--csd needs --cobol: the programs that the definitions belong to")
    copied = _example(source) if source else None
    if directory.is_symlink() or (directory.exists() and (not directory.is_dir() or any(directory.iterdir()))):
        raise InputError(f"{directory}: already exists and is not empty; name a new directory")
    with whole_or_nothing(directory):
        if copied is not None and copied.is_file():
            directory.mkdir(parents=True, exist_ok=True)
            shutil.copy(copied, directory)
        elif copied is not None:
            shutil.copytree(copied, directory, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
        elif cobol:
            made = extension("new", "cobol")(directory, cobol, csd)
            _write(directory, made.files)
            for line in made.missing:
                emit(f"not found: {line}")
        else:
            _write(directory, _files())
    emit(f"{directory}: {', '.join(sorted(path.name for path in directory.iterdir()))}")
    emit(f"next: {'; '.join(_next(directory))}")


@contextmanager
def whole_or_nothing(directory: Path) -> Iterator[None]:
    """Empty the directory again if it cannot be written, as on a full disk; the error names it."""
    was_there = directory.exists()
    try:
        yield
    except OSError as error:
        for path in list(directory.iterdir()) if was_there else ():
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
        if not was_there:
            shutil.rmtree(directory, ignore_errors=True)
        reason = error.strerror or str(error)  # shutil collects the errors of several files
        raise InputError(f"{error.filename or directory}: {reason}; nothing was left there") from error


def _write(directory: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


def _next(directory: Path) -> list[str]:
    """The commands to try in the new directory."""
    tests = [f"pytest {directory}"] if any(directory.glob("test_*.py")) else []
    if (directory / "region.yaml").is_file():
        cases = [f"tdq cobol test {directory}"] if any(directory.rglob("*.case.yaml")) else []
        return [f"tdq check {directory}", f"tdq run {directory}", *tests, *cases]
    programs = [f"python {path}{_operands(path)}" for path in sorted(directory.glob("*.py"))]
    return tests or programs or ["read the first lines of each file: they say what it is for"]


def _operands(program: Path) -> str:
    """What stands behind the program's name in the line of its docstring that says how it is run."""
    usage = re.search(rf"python examples/.*\b{program.name}( \S.*)?\n", program.read_text("utf-8"))
    return (usage and usage[1]) or ""


def _example(name: str) -> Path:
    known = copyable()
    if name not in known:
        raise InputError(
            f"--example {name}: there is no such example{did_you_mean(name, known)}; there are {', '.join(known)}"
        )
    return known[name]
