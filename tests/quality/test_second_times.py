"""The page of second times names tests that are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.house

TESTS = Path(__file__).parents[1]


def test_every_test_of_the_page_is_there():
    page = (TESTS / "SECOND_TIMES.md").read_text("utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| ")][2:]
    named = [re.findall(r"`([a-z0-9_/]+\.py)::(\w+)`", row) for row in rows]
    assert len(rows) > 40
    assert [row for row, tests in zip(rows, named, strict=True) if not tests and "*none*" not in row] == []
    missing = [
        f"{path}::{test}"
        for tests in named
        for path, test in tests
        if not (TESTS / path).exists()
        or not re.search(rf"^(def|class) {test}\b|^{test} = ", (TESTS / path).read_text("utf-8"), re.MULTILINE)
    ]
    assert missing == []
