"""What keeps the pipeline a thing that its next maintainer can read."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import tdqsim

ROOM = Path(tdqsim.__file__).parent / "pipeline"
LONGEST = 40
REASON = "Long, because"


def long_functions() -> Iterator[tuple[str, str]]:
    for path in sorted(ROOM.rglob("*.py")):
        text = path.read_text("utf-8")
        lines = text.splitlines()
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef) and (node.end_lineno or 0) - node.lineno >= LONGEST:
                yield f"{path.name}:{node.name}", "\n".join(lines[node.lineno : node.end_lineno])


def test_a_long_function_says_why_it_is() -> None:
    silent = [name for name, source in long_functions() if REASON not in source]
    assert silent == [], f"more than {LONGEST} lines: split it, or say why"
