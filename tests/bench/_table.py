"""The bars of the benchmarks, asserted, and shown in one table at the end of a run.

Each row has the bar that is wanted, the limit that is asserted and what was seen. Where the bar is met the two are one;
where it is not, the limit is what holds today, with what the machine adds, and the bar beside it says so.
"""

from __future__ import annotations

from typing import NamedTuple


class _Row(NamedTuple):
    what: str
    wanted: float
    limit: float
    seen: float
    at_least: bool = False

    def passes(self, bar: float) -> bool:
        return self.seen >= bar if self.at_least else self.seen <= bar


_ROWS: list[_Row] = []


def hold(limit: float, seen: float, what: str, *, wanted: float | None = None) -> None:
    """Assert a limit, and have it shown.

    Args:
        limit: what must not be exceeded.
        seen: what was measured.
        what: the work, and the unit of the figures.
        wanted: the bar, where it is another than the limit.
    """
    _ROWS.append(_Row(what, limit if wanted is None else wanted, limit, seen))
    assert seen <= limit, f"{what}: {seen:.2f}, at most {limit}"


def reach(limit: float, seen: float, what: str, *, wanted: float | None = None) -> None:
    """The same of a figure that must not be less."""
    _ROWS.append(_Row(what, limit if wanted is None else wanted, limit, seen, at_least=True))
    assert seen >= limit, f"{what}: {seen:.2f}, at least {limit}"


def lines() -> list[str]:
    """The table so far, heading first; nothing when nothing was measured."""
    if not _ROWS:
        return []
    width = max(len(row.what) for row in _ROWS)
    shown = [f"{'work':<{width}}    {'bar':>8} {'limit':>8} {'seen':>8}"]
    for row in _ROWS:
        beyond = " too little" if row.at_least else " too much"
        remark = beyond if not row.passes(row.limit) else " the bar is not met" if not row.passes(row.wanted) else ""
        sign = ">=" if row.at_least else "<="
        shown.append(f"{row.what:<{width}} {sign} {row.wanted:>8g} {row.limit:>8g} {row.seen:>8.2f}{remark}")
    return shown
