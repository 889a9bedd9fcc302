"""Report the results of cases as JUnit XML for build servers, or write them back into the case file.

An update replaces only the ``then`` of cases that have differences: comments and the order of other keys stay. An
expectation that was met stays as it is written, patterns included.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

import yaml

from tdqsim.cobol.case_run import CaseResult
from tdqsim.definitions import ListNode, MapNode, ScalarNode, read_text, read_yaml

_WIDTH = 120


def junit_xml(results: Iterable[CaseResult]) -> str:
    """The results as JUnit XML: a test suite for each file."""
    by_file: dict[Path, list[CaseResult]] = {}
    for result in results:
        by_file.setdefault(result.file, []).append(result)
    suites = "".join(_suite(file, of_file) for file, of_file in by_file.items())
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n{suites}</testsuites>\n'


def _suite(file: Path, results: Sequence[CaseResult]) -> str:
    failures = sum(bool(each.differences) and not each.error for each in results)
    errors = sum(bool(each.error) for each in results)
    head = f"<testsuite name={quoteattr(str(file))} tests='{len(results)}' failures='{failures}' errors='{errors}'>"
    return f"{head}\n{''.join(_case(each) for each in results)}</testsuite>\n"


def _case(result: CaseResult) -> str:
    head = f"<testcase classname={quoteattr(str(result.file))} name={quoteattr(result.name)}"
    if result.passed:
        return f"{head}/>\n"
    kind = "error" if result.error else "failure"
    first = result.error or str(result.differences[0])
    return f"{head}><{kind} message={quoteattr(_xml(first))}>{escape(_xml(str(result)))}</{kind}></testcase>\n"


def _xml(text: str) -> str:
    """The text without the characters that XML cannot have."""
    return "".join(each if each >= " " or each in "\n\t" else "?" for each in text)


def update_case_file(path: Path, results: Iterable[CaseResult]) -> int:
    """Write the actual results into the ``then`` of the cases that have differences; returns their number."""
    changed = {each.name: each.found for each in results if each.differences and not each.error}
    lines = path.read_text("utf-8").split("\n")
    root = read_yaml(read_text(path), str(path), longest=32767)
    cases = root.items["cases"] if isinstance(root, MapNode) else None
    nodes = cases.items if isinstance(cases, ListNode) else []
    for node in reversed(nodes):
        name = node.items["name"] if isinstance(node, MapNode) else None
        if isinstance(node, MapNode) and isinstance(name, ScalarNode) and name.value in changed:
            _replace(lines, node, changed[name.value])
    path.write_text("\n".join(lines), "utf-8")
    return len(changed)


def _replace(lines: list[str], case: MapNode, actual: object) -> None:
    """Replace the lines of ``then`` of a case; if it has none, they are added at its end."""
    column = _column(lines[case.lines["name"] - 1], "name")
    text = yaml.safe_dump({"then": actual}, sort_keys=False, width=_WIDTH, allow_unicode=True, default_flow_style=None)
    block = [f"{' ' * column}{line}" for line in text.rstrip("\n").split("\n")]
    if "then" in case.lines:
        start = case.lines["then"] - 1
        first = lines[start][: _column(lines[start], "then")]
        block[0] = first + block[0][column:]
    else:
        start = _end(lines, max(case.lines.values()) - 1, column)
    end = _end(lines, start, column) if "then" in case.lines else start
    lines[start:end] = block


def _column(line: str, key: str) -> int:
    """The column at which a key begins in its line, after any dashes."""
    return line.index(key) if key in line else len(line) - len(line.lstrip())


def _end(lines: list[str], start: int, column: int) -> int:
    """The line after the value of the key in a line: the next one that is not indented more."""
    end = start + 1
    last = end
    while end < len(lines):
        line = lines[end]
        deep = len(line) - len(line.lstrip(" "))
        if line.strip() and not line.lstrip().startswith("#"):
            if deep <= column:
                break
            last = end + 1
        end += 1
    return last
