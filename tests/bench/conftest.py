"""A disk to measure on, and the table of bars at the end of a run."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bench._table import lines

_DISK = Path("/var/tmp")


@pytest.fixture
def tmp_path(tmp_path: Path) -> Iterator[Path]:
    """A directory on a disk: other tests have theirs in memory, where nothing waits for a commit that is synced."""
    if not _DISK.is_dir():
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(prefix="tdqsim-bench-", dir=_DISK) as place:
        yield Path(place)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One table: what was wanted, what is asserted, what was seen."""
    table = lines()
    if table:
        terminalreporter.section("bars: bar wanted, limit asserted, seen")
        for line in table:
            terminalreporter.write_line(line)
