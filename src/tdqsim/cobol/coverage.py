"""Statement coverage of COBOL programs: which lines with statements were reached, as lcov and as HTML pages.

The compiler marks every statement; while coverage is on, the run-time records the marks that were reached. In a pytest
run ``--tdq-cobol-coverage=DIR`` switches it on and writes ``lcov.info`` and ``index.html`` to DIR; the results of
pytest-xdist's processes are merged.
"""

from __future__ import annotations

import html
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tdqsim.cobol.level import begin_coverage, reached_statements

__all__ = ["Coverage", "begin", "collected", "leave_part", "merged", "write"]

_LINE_BITS: Final = 20
_PART: Final = "part-*.json"

Coverage = Mapping[str, Mapping[int, bool]]
"""Source file -> line with statements -> whether one of them was reached."""


def begin() -> None:
    """Start collecting coverage anew, for all regions of this process."""
    begin_coverage()


def collected() -> dict[str, dict[int, bool]]:
    """The coverage of each program that has been loaded since :func:`begin`."""
    coverage: dict[str, dict[int, bool]] = {}
    for module, reached in reached_statements():
        for mark in module.symbols.statements:
            file = module.symbols.sources[mark >> _LINE_BITS]
            lines = coverage.setdefault(file, {})
            line = mark & ((1 << _LINE_BITS) - 1)
            lines[line] = lines.get(line, False) or mark in reached
    return coverage


def leave_part(folder: Path) -> None:
    """Write this process's coverage to a file for :func:`merged`."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps({file: {str(line): hit for line, hit in lines.items()} for file, lines in collected().items()})
    _put(folder / f"part-{os.getpid()}.json", text)


def merged(folder: Path) -> dict[str, dict[int, bool]]:
    """The coverage of all processes that wrote to a folder; their files are removed."""
    coverage: dict[str, dict[int, bool]] = {}
    for part in sorted(folder.glob(_PART)):
        for file, lines in json.loads(part.read_text("utf-8")).items():
            known = coverage.setdefault(file, {})
            for line, hit in lines.items():
                known[int(line)] = known.get(int(line), False) or hit
        part.unlink()
    return coverage


def write(coverage: Coverage, folder: Path) -> None:
    """Write ``lcov.info``, ``index.html`` and a page for each source.

    Args:
        coverage: by source file and line.
        folder: the folder; it is created.
    """
    folder.mkdir(parents=True, exist_ok=True)
    _put(folder / "lcov.info", "".join(_lcov(file, coverage[file]) for file in sorted(coverage)))
    rows = []
    for number, file in enumerate(sorted(coverage), 1):
        page = f"{number:03d}-{Path(file).stem}.html"
        _put(folder / page, _page(file, coverage[file]))
        lines = coverage[file]
        share = 100 * sum(lines.values()) / max(len(lines), 1)
        row = f'<tr><td><a href="{html.escape(page)}">{html.escape(file)}</a>'
        rows.append(f"{row}<td>{sum(lines.values())} of {len(lines)}<td>{share:.0f}%</tr>\n")
    table = f"<table><tr><th>Source<th>Lines reached<th></tr>\n{''.join(rows)}</table>"
    _put(folder / "index.html", _document("COBOL statement coverage", table))


def _put(file: Path, text: str) -> None:
    """Replace a file of the folder: a symbolic link of that name is removed, and its target is not touched."""
    file.unlink(missing_ok=True)
    file.write_text(text, "utf-8")


def _lcov(file: str, lines: Mapping[int, bool]) -> str:
    data = "".join(f"DA:{line},{int(hit)}\n" for line, hit in sorted(lines.items()))
    return f"TN:\nSF:{file}\n{data}LF:{len(lines)}\nLH:{sum(lines.values())}\nend_of_record\n"


def _page(file: str, lines: Mapping[int, bool]) -> str:
    try:
        source = Path(file).read_text("utf-8", "replace").splitlines()
    except OSError:  # the source was deleted after the program was compiled
        source = []
    kinds = {True: "hit", False: "missed", None: ""}
    rows = [
        f'<span class="{kinds[lines.get(at)]}">{at:6d}  {html.escape(text)}</span>\n'
        for at, text in enumerate(source, 1)
    ]
    return _document(file, f"<pre>{''.join(rows)}</pre>")


def _document(title: str, body: str) -> str:
    style = "body{font-family:sans-serif}.hit{background:#d4f4d4}.missed{background:#f8d0d0}td{padding:0 1em}"
    head = f"<meta charset=utf-8><title>{html.escape(title)}</title><style>{style}</style>"
    return f"<!doctype html>{head}<h1>{html.escape(title)}</h1>{body}\n"
