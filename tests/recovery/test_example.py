"""The example that loses a link tells what happens, in the order in which it happens."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parents[2] / "examples" / "indoubt_link"

TOLD = [
    "after a decision to commit", "nothing is in doubt", "COMMIT is sent", "committed for ORDERS",
    "PAYQ in BANK:   ['payment for order 1']", "INDOUBT SHUNTED CONNECTION", "TDQ PAYQ TOQ, RETAINED", "LOCKED (RESP 100)",
    "started again", "LOCKED (RESP 100)", "comes back", "['payment for order 1', 'payment for order 2']", "NORMAL",
    "after a decision to back out", "VOTE is sent", "ROLLEDBACK for ORDERS", "RETAINED", "LOCKED (RESP 100)",
    "started again", "LOCKED (RESP 100)", "comes back", "PAYQ in BANK:   ['payment for order 1']", "NORMAL",
    "by hand", "LOCKED (RESP 100)", "SET UOW UOWSTATE(BACKOUT)", "PAYQ in BANK:   ['payment for order 1']", "NORMAL",
    "comes back", "BANK did BACKOUT, ORDERS had decided COMMIT",
]  # fmt: skip


def test_the_story_of_the_lost_link(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(HERE)
    import indoubt_link

    lines: list[str] = []
    assert indoubt_link.main(lines.append) == 0
    text = "\n".join(lines)
    at = 0
    for words in TOLD:
        found = text.find(words, at)
        assert found >= 0, f"{words!r} is missing after:\n{text[:at]}"
        at = found + 1
    sys.modules.pop("indoubt_link")
