"""Shows the table of bars at the end of a run."""

from __future__ import annotations

import pytest

from tests.bench._table import lines


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One table: what was wanted, what is asserted, what was seen."""
    table = lines()
    if table:
        terminalreporter.section("bars: bar wanted, limit asserted, seen")
        for line in table:
            terminalreporter.write_line(line)
