"""Arrows run downward only: which room imports which, read from the sources."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src" / "tdqsim"

BELOW = {
    "core": set(),
    "facts": set(),
    "definitions": {"core", "facts"},
    "datasets": {"core", "facts"},
    "layouts": {"core", "facts"},
    "cics": {"core", "facts", "definitions", "datasets", "layouts"},
    "ibmi": {"core", "facts", "definitions", "datasets", "layouts"},
    "pipeline": {"core", "facts", "definitions", "datasets", "layouts", "cics", "ibmi", "job"},
    "testing": {"core", "facts", "definitions", "datasets", "layouts", "cics", "ibmi"},
}
"""Each room and the rooms it may use. A room may always use ``errors``; the command line may use all."""

COMMAND_LINE_ONLY = {"rich", "typer"}


def room_of(path: Path) -> str:
    relative = path.relative_to(SOURCE)
    return relative.parts[0] if len(relative.parts) > 1 else relative.stem


def imports_of(path: Path) -> set[str]:
    """The full names of all modules a file imports, wherever in it."""
    package = ["tdqsim", *path.relative_to(SOURCE).parts[:-1]]
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*start, *((node.module or "").split(".") if node.module else [])])
            found |= {base} | {f"{base}.{alias.name}" for alias in node.names}
    return found


def is_command_line(path: Path) -> bool:
    return room_of(path) == "cli"


OTHERS = [path for path in sorted(SOURCE.rglob("*.py")) if not is_command_line(path)]
IN_ROOMS = [path for path in OTHERS if room_of(path) in BELOW]


@pytest.mark.parametrize("path", IN_ROOMS, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_module_imports_only_from_rooms_below_it(path: Path) -> None:
    room = room_of(path)
    used = {name.split(".")[1] for name in imports_of(path) if name.startswith("tdqsim.")}
    allowed = BELOW[room] | {room, "errors", "__version__"}
    if room == "facts":
        allowed |= {"core"}
    assert used <= allowed, f"{room} uses {sorted(used - allowed)}"


@pytest.mark.parametrize("path", OTHERS, ids=lambda path: str(path.relative_to(SOURCE)))
def test_the_libraries_of_the_command_line_stay_there(path: Path) -> None:
    used = {name.split(".")[0] for name in imports_of(path)} & COMMAND_LINE_ONLY
    if room_of(path) == "pipeline":
        used -= {"rich"}  # its progress bar, imported where there is a terminal
    assert not used, f"{path.name} uses {sorted(used)}"


def test_every_room_is_known_here() -> None:
    rooms = {entry.name for entry in SOURCE.iterdir() if (entry / "__init__.py").is_file()}
    assert rooms <= BELOW.keys() | {"cli"}
