"""Outcomes of conditions: the compiler's C text is changed so that each condition counts how often it has each outcome.

The conditions are those of IF, WHEN (of EVALUATE and SEARCH), and UNTIL. In the C text they are the ``if`` after the
trace of an IF or WHEN, and the ``if ... break;`` of the loop of a PERFORM. A module has a count for each outcome, true
and then false for each condition, under the name ``dfh_outcomes``.
"""

from __future__ import annotations

import re
from typing import Final

OUTCOMES: Final = "dfh_outcomes"
_NAME: Final = re.compile(r'\b(st_\d+)\b[^;=]*=\s*"(IF|WHEN|PERFORM)"\s*;')
_MARK: Final = re.compile(r"\s*module->module_stmt = 0x([0-9A-F]+);")
_TRACE: Final = re.compile(r"(\s*)cob_trace_stmt \((st_\d+)\);")
_IF: Final = re.compile(r"(\s*)if \((?!unlikely)")
_WHEN: Final = re.compile(r"(\s*)/\* WHEN \*/")
_LOOP: Final = re.compile(r"(\s*)for \(;;\)$")
_INSIDE: Final = 2
"""The compiler indents the body of a loop by this many blanks."""
_MACRO: Final = """\
long long {name}[{size}];
#define DFH_OUTCOME(n, c) ((c) ? ++{name}[2 * (n)] != 0 : ++{name}[2 * (n) + 1] == 0)
"""


def with_outcomes(text: str, declarations: str) -> tuple[str, list[int]]:
    """Change a program's C text.

    Args:
        text: the C text.
        declarations: the text of its header files, which name the statements.

    Returns:
        The changed text, and the mark of each condition: the file in the bits above 20, the line in the bits below.
    """
    made = _Outcomes(text, dict(_NAME.findall(declarations)))
    lines = made.lines()
    if not made.marks:
        return text, []
    last = max((at for at, line in enumerate(lines) if line.startswith("#include")), default=-1)
    lines.insert(last + 1, _MACRO.format(name=OUTCOMES, size=2 * len(made.marks)))
    return "\n".join(lines), made.marks


class _Outcomes:
    """One pass over a C text."""

    def __init__(self, text: str, verbs: dict[str, str]) -> None:
        self._lines = text.split("\n")
        self._verbs = verbs
        self.marks: list[int] = []

    def lines(self) -> list[str]:
        mark, wanted, loops = 0, -1, dict[int, int]()
        performs = False
        at = 0
        while at < len(self._lines):
            line = self._lines[at]
            if match := _MARK.match(line):
                mark = int(match[1], 16)
            elif match := _TRACE.match(line):
                verb = self._verbs.get(match[2], "")
                wanted = len(match[1]) if verb in ("IF", "WHEN") else -1
                performs = verb == "PERFORM"
            elif match := _WHEN.match(line):
                wanted = len(match[1])
                mark = self._next_mark(at, mark)
            elif match := _LOOP.match(line):
                loops[len(match[1])] = mark if performs else loops.get(len(match[1]) - _INSIDE, 0) if loops else 0
            elif match := _IF.match(line):
                end, indent = self._end(at, len(match[0]) - 1), len(match[1])
                until = loops.get(indent - _INSIDE, 0) if self._lines[end + 1].strip() == "break;" else 0
                if indent == wanted or until:
                    self._record(at, end, len(match[0]) - 1, until or mark)
                    wanted = -1
                at = end
            at += 1
        return self._lines

    def _next_mark(self, at: int, mark: int) -> int:
        """The mark of the first statement after a WHEN that has none."""
        for line in self._lines[at:]:
            if match := _MARK.match(line):
                return int(match[1], 16)
            if _TRACE.match(line):
                break
        return mark

    def _end(self, at: int, column: int) -> int:
        """The line with the parenthesis that closes the condition."""
        depth = 0
        while at < len(self._lines):
            plain = re.sub(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'', "", self._lines[at][column:])
            depth += plain.count("(") - plain.count(")")
            if depth <= 0:
                return at
            at, column = at + 1, 0
        return at - 1

    def _record(self, at: int, end: int, column: int, mark: int) -> None:
        number = len(self.marks)
        self.marks.append(mark)
        line = self._lines[at]
        self._lines[at] = f"{line[:column]}(DFH_OUTCOME ({number}, {line[column:]}"
        self._lines[end] += "))"
