"""Coverage of COBOL programs: statements reached and outcomes of conditions, as lcov and as HTML pages.

The compiler marks every statement; while coverage is on, the run-time counts how often each mark was reached. The count
of a line is that of its first statement. A branch is an outcome, true or false, of an IF, of a WHEN (of EVALUATE and
SEARCH), or of an UNTIL. Several WHEN before the same statements are one condition, at the line of the first of these
statements. In a pytest run ``--tdq-cobol-coverage=DIR`` switches coverage on and writes ``lcov.info`` and
``index.html`` to DIR; the results of pytest-xdist's processes are added up.
"""

from __future__ import annotations

import html
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from tdqsim.cobol._paragraph_entries import GO_BACK, PARAGRAPH
from tdqsim.cobol.compiler import Module
from tdqsim.cobol.copies import copies_of, loaded_modules
from tdqsim.cobol.level import begin_coverage, reached_lines

_PART: Final = "part-*.json"

Branches = dict[int, list[tuple[int, int]]]
"""Line -> for each of its conditions how often it was true, and how often it was false."""


class SourceCoverage(dict[int, int]):
    """The coverage of a source: for each line with statements how often it was reached.

    Attributes:
        branches: by line, for each condition how often it was true, and how often it was false.
    """

    def __init__(self, lines: Mapping[int, int] | None = None, branches: Branches | None = None) -> None:
        super().__init__(lines or {})
        self.branches: Branches = branches or {}

    def add(self, other: SourceCoverage) -> None:
        """Add the coverage by another process, or by another program with the same source."""
        for line, count in other.items():
            self[line] = self.get(line, 0) + count
        for line, pairs in other.branches.items():
            known = self.branches.get(line, [])
            if len(known) == len(pairs):
                self.branches[line] = [(a + c, b + d) for (a, b), (c, d) in zip(known, pairs, strict=True)]
            elif len(known) < len(pairs):
                self.branches[line] = pairs

    @property
    def outcomes(self) -> list[int]:
        """How often each outcome was met."""
        return [met for pairs in self.branches.values() for pair in pairs for met in pair]


Coverage = Mapping[str, SourceCoverage]
"""Coverage by source file."""


def begin() -> None:
    """Start collecting coverage anew, for all regions of this process."""
    begin_coverage()
    for module in loaded_modules():
        copies_of(module).forget_outcomes()


def collected(others: Iterable[Module] = ()) -> dict[str, SourceCoverage]:
    """The coverage of each program that has been loaded since :func:`begin`, and of others, which have not run."""
    coverage: dict[str, SourceCoverage] = {}
    counted: dict[tuple[str, str], dict[int, int]] = {}
    for module in dict.fromkeys([*others, *loaded_modules()]):
        files: dict[str, SourceCoverage] = {}
        asked = {str(each.place) for each in module.commands if each.verb == PARAGRAPH and each.text != GO_BACK}
        for mark in module.symbols.statements:
            source, line = module.symbols.place(mark)
            if asked and f"{source}:{line}" in asked:
                continue
            if (reached := counted.get((module.program, source))) is None:
                reached = counted[module.program, source] = reached_lines(module.program, source)
            # taken out: a program that is loaded in two forms is counted once
            lines = files.setdefault(source, SourceCoverage())
            lines[line] = lines.get(line, 0) + reached.pop(line, 0)
        generated = {str(each.place) for each in module.commands}
        for mark, pair in zip(module.outcomes, copies_of(module).outcomes(), strict=True):
            file, line = module.symbols.place(mark)
            if file in files and f"{file}:{line}" not in generated:
                files[file].branches.setdefault(line, []).append(pair)
        for file, lines in files.items():
            coverage.setdefault(file, SourceCoverage()).add(lines)
    return coverage


def leave_part(folder: Path, others: Iterable[Module] = ()) -> None:
    """Write this process's coverage to a file for :func:`merged`, with that of programs that have not run."""
    folder.mkdir(parents=True, exist_ok=True)
    parts = {file: {"lines": lines, "branches": lines.branches} for file, lines in collected(others).items()}
    _put(folder / f"part-{os.getpid()}.json", json.dumps(parts))


def merged(folder: Path) -> dict[str, SourceCoverage]:
    """The coverage of all processes that wrote to a folder; their files are removed."""
    coverage: dict[str, SourceCoverage] = {}
    for part in sorted(folder.glob(_PART)):
        for file, kept in json.loads(part.read_text("utf-8")).items():
            branches = {int(line): [(a, b) for a, b in pairs] for line, pairs in kept["branches"].items()}
            lines = {int(line): count for line, count in kept["lines"].items()}
            coverage.setdefault(file, SourceCoverage()).add(SourceCoverage(lines, branches))
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
        row = f'<tr><td><a href="{html.escape(page)}">{html.escape(file)}</a>'
        rows.append(f"{row}{_share(list(lines.values()))}{_share(lines.outcomes)}</tr>\n")
    heads = "<th>Source<th>Lines reached<th><th>Outcomes of conditions<th>"
    _put(folder / "index.html", _document("COBOL coverage", f"<table><tr>{heads}</tr>\n{''.join(rows)}</table>"))


def _share(counts: list[int]) -> str:
    met = sum(map(bool, counts))
    return f"<td>{met} of {len(counts)}<td>{f'{100 * met / len(counts):.0f}%' if counts else ''}"


def _put(file: Path, text: str) -> None:
    """Replace a file of the folder: a symbolic link of that name is removed, and its target is not touched."""
    file.unlink(missing_ok=True)
    file.write_text(text, "utf-8")


def _lcov(file: str, lines: SourceCoverage) -> str:
    data = "".join(f"DA:{line},{count}\n" for line, count in sorted(lines.items()))
    branches = "".join(
        f"BRDA:{line},{block},{branch},{met if lines.get(line, 1) else '-'}\n"
        for line, pairs in sorted(lines.branches.items())
        for block, pair in enumerate(pairs)
        for branch, met in enumerate(pair)
    )
    if branches:
        branches += f"BRF:{len(lines.outcomes)}\nBRH:{sum(map(bool, lines.outcomes))}\n"
    return f"TN:\nSF:{file}\n{branches}{data}LF:{len(lines)}\nLH:{sum(map(bool, lines.values()))}\nend_of_record\n"


def _page(file: str, lines: SourceCoverage) -> str:
    try:
        source = Path(file).read_text("utf-8", "replace").splitlines()
    except OSError:  # the source was deleted after the program was compiled
        source = []
    rows = [
        f'<span class="{_kind(lines, at)}">{at:6d} {lines.get(at, ""):>6}  '
        f"{html.escape(text)}{_never(lines, at)}</span>\n"
        for at, text in enumerate(source, 1)
    ]
    return _document(file, f"<pre>{''.join(rows)}</pre>")


def _kind(lines: SourceCoverage, line: int) -> str:
    if line not in lines:
        return ""
    if not lines[line]:
        return "missed"
    return "hit" if all(met for pair in lines.branches.get(line, []) for met in pair) else "part"


def _never(lines: SourceCoverage, line: int) -> str:
    """The outcomes that the conditions of a line never had."""
    pairs = lines.branches.get(line, []) if lines.get(line) else []
    missing = [f"never {name}" for pair in pairs for met, name in zip(pair, ("true", "false"), strict=True) if not met]
    return f"<i>  {', '.join(missing)}</i>" if missing else ""


def _document(title: str, body: str) -> str:
    colours = ".hit{background:#d4f4d4}.part{background:#f8f0c0}.missed{background:#f8d0d0}"
    style = f"body{{font-family:sans-serif}}{colours}td{{padding:0 1em}}"
    head = f"<meta charset=utf-8><title>{html.escape(title)}</title><style>{style}</style>"
    return f"<!doctype html>{head}<h1>{html.escape(title)}</h1>{body}\n"
