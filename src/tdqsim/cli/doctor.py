"""``tdq doctor``: what is installed, what each missing part would add, and which stores are in use on this machine.

The extras and what they need are those of the installed distribution; a program of another package is looked for on the
PATH. Nothing is started and nothing is imported but the metadata of packages.
"""

from __future__ import annotations

import platform
import re
import shutil
from importlib import metadata
from typing import Final, NamedTuple

import typer

from tdqsim import __version__
from tdqsim.cli.output import Json, emit, emit_json, emit_table
from tdqsim.core.codepage import known_codepages
from tdqsim.core.control import all_served

app = typer.Typer(rich_markup_mode=None)

_ADDS: Final = {
    "serve": "the console, the JSON API, host servers for IBM i clients (tdq serve)",
    "spark": "the pipeline on Spark; data sets and queues as tables",
    "test": "the pytest fixtures and strategies",
    "otel": "OpenTelemetry spans of regions",
    "guide": "the guide as a site (tdq guide --html)",
    "lakehouse": "data sets as Delta and Iceberg tables",
}
_PROGRAMS: Final = {
    "cobc": "GnuCOBOL 3 compiles COBOL programs (tdq cobol); apt install gnucobol3",
    "gcc": "the C compiler that GnuCOBOL needs; apt install gcc",
    "java": "Spark without the Java of the extra [spark]; apt install default-jre-headless",
}
_REQUIREMENT: Final = re.compile(r"^([A-Za-z0-9._-]+)[^;]*(?:;(.*))?$")
_EXTRA: Final = re.compile(r"""extra\s*==\s*['"]([^'"]+)['"]""")


class _Part(NamedTuple):
    """One line: the part, whether it is there, and what is missing or what it adds."""

    kind: str
    name: str
    state: str
    note: str


@app.command("doctor")
def doctor(as_json: Json = False) -> None:
    """Show what is installed, and what each missing part would add."""
    parts = [*_extras(), *_programs()]
    served = [(str(place), address) for place, address in all_served()]
    if as_json:
        emit_json(
            {
                "tdqsim": __version__,
                "python": platform.python_version(),
                "platform": platform.platform(),
                "code_pages": len(known_codepages()),
                "parts": [part._asdict() for part in parts],
                "served": [{"place": place, "name": each.name, "pid": each.pid} for place, each in served],
            }
        )
        return
    emit(f"tdqsim {__version__}, Python {platform.python_version()}, {platform.platform()}")
    emit(f"{len(known_codepages())} code pages")
    emit()
    emit_table(["part", "state", ""], [[f"{part.kind} {part.name}", part.state, part.note] for part in parts])
    emit()
    if served:
        emit_table(["in use", "by", "process"], [[place, each.name, str(each.pid)] for place, each in served])
    else:
        emit("No server of this user runs on this machine.")


def _extras() -> list[_Part]:
    """The extras of the distribution, with the packages that are missing."""
    missing: dict[str, list[str]] = {}
    for line in _requirements():
        match = _REQUIREMENT.match(line)
        extra = _EXTRA.search(line)
        if match is None or extra is None:
            continue
        lacking = missing.setdefault(extra[1], [])
        name = match[1].partition("[")[0]
        if name != "tdqsim" and not _is_installed(name):
            lacking.append(name)
    return [
        _Part(
            "extra",
            f"[{extra}]",
            "missing" if lacking else "installed",
            _ADDS.get(extra, "") + (f"; without {', '.join(lacking)}" if lacking else ""),
        )
        for extra, lacking in sorted(missing.items())
    ]


def _requirements() -> list[str]:
    """What the distribution needs; nothing if the package runs from a folder that was never installed."""
    try:
        return metadata.requires("tdqsim") or []
    except metadata.PackageNotFoundError:
        return []


def _is_installed(name: str) -> bool:
    try:
        metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def _programs() -> list[_Part]:
    found = {name: shutil.which(name) for name in _PROGRAMS}
    return [_Part("program", name, found[name] or "missing", note) for name, note in _PROGRAMS.items()]
