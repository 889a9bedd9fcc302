"""The part of the pytest plugin for ``--tdq-mutants FILE``: lists the mutants that no test noticed.

The file is the output of ``tdq cobol mutate --json``. Nothing is mutated in this run: the tests use the real code.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from tdqsim.report.parts import Mark, Part, Prose, Table

_HEADS: Final = ("where", "command", "mistake", "change", "outcome")
_NOT_NOTICED: Final = ("survived", "not loaded")
_SHOWN: Final = 50


class _Row(NamedTuple):
    where: str
    command: str
    mistake: str
    change: str
    outcome: str


class MutantsPlugin:
    """The mutants of a file.

    Raises:
        pytest.UsageError: the file cannot be read, or was not written by ``tdq cobol mutate --json``.
    """

    def __init__(self, config: pytest.Config) -> None:
        path = Path(config.invocation_params.dir, config.getoption("--tdq-mutants"))
        try:
            report = json.loads(path.read_text("utf-8"))
            self._counts: dict[str, int] = {str(name): int(count) for name, count in report["counts"].items()}
            self._rows = [_row(each) for each in report["mutants"]]
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise pytest.UsageError(
                f"--tdq-mutants {path}: not a file written by tdq cobol mutate --json: {error}"
            ) from error

    def parts(self) -> Iterator[Part]:
        """The section of the page of ``--tdq-report``."""
        yield Prose(self._summary())
        rows = [(*each[:-1], Mark(each.outcome, good=False)) for each in self._not_noticed()]
        if rows:
            yield Table(_HEADS, rows, "Mutants that no test noticed")

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """List the mutants in the summary of the terminal."""
        terminalreporter.section("mutants")
        rows = self._not_noticed()
        for each in rows[:_SHOWN]:
            terminalreporter.write_line(f"{each.outcome}: {each.where}: {each.command}: {each.mistake}: {each.change}")
        if len(rows) > _SHOWN:
            terminalreporter.write_line(f"and {len(rows) - _SHOWN:,} more")
        terminalreporter.write_line(self._summary())

    def _not_noticed(self) -> list[_Row]:
        return [each for each in self._rows if each.outcome in _NOT_NOTICED]

    def _summary(self) -> str:
        counts = ", ".join(f"{count:,} {name}" for name, count in self._counts.items() if count)
        return f"{len(self._rows):,} mutants: {counts or 'none'}"


def _row(mutant: dict[str, Any]) -> _Row:
    where = f"{mutant['file']}:{int(mutant['line'])}"
    return _Row(where, *(str(mutant[name]) for name in ("command", "kind", "change", "outcome")))
