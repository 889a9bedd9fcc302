"""The outcome of a run: totals over its regions table, and the results of the checks."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tdqsim.pipeline.stages.manifest import digest_of
from tdqsim.pipeline.stages.tables import read_table


@dataclass(frozen=True, slots=True)
class RegionOutcomes:
    """The rows of the regions table, one for each region that was replayed."""

    rows: Sequence[Mapping[str, Any]]

    @classmethod
    def of(cls, run: Path) -> RegionOutcomes:
        """The outcomes in a run's directory.

        Raises:
            DatasetError: replay was not run there, or was not completed.
        """
        return cls(read_table(run, "replay", "regions").to_pylist())

    @property
    def causes(self) -> dict[str, str]:
        """Regions that did not end well, each with the cause."""
        return {row["region"]: row["cause"] for row in self.rows if row["cause"]}

    @property
    def abends(self) -> Counter[str]:
        """How many tasks abended, by code."""
        counts: Counter[str] = Counter()
        for row in self.rows:
            counts.update(json.loads(row["abends"]))
        return counts

    @property
    def digest(self) -> str:
        """A digest of the output of all regions, which is the same for the same input and seed."""
        return digest_of(sorted((row["region"], row["digest"]) for row in self.rows))

    def total(self, column: str) -> int:
        """The sum of a column."""
        return sum(row[column] for row in self.rows)


class Checks:
    """The checks, in order, and the observed values of those that fail.

    Attributes:
        holds: whether each check holds.
        seen: for each failed check, the observed value.
    """

    def __init__(self) -> None:
        self.holds: dict[str, bool] = {}
        self.seen: dict[str, str] = {}

    def add(self, name: str, holds: bool, seen: str = "") -> None:
        """Add a check."""
        self.holds[name] = holds
        if not holds:
            self.seen[name] = seen

    def of_regions(self, regions: RegionOutcomes, causes: Mapping[str, str]) -> None:
        """Add the checks on the regions of a run; ``causes`` are those of regions that did not end well."""
        waiting = {row["region"]: row["waiting"] for row in regions.rows if row["waiting"]}
        self.add("every region ended well", not causes, few(causes))
        self.add("no task abended", not regions.abends, few(abends_of(regions.rows)))
        self.add("no task waits", not waiting, few(waiting))

    def of_differences(self, differences: Mapping[str, int]) -> None:
        """Add the check that the output is as expected."""
        shown = few({name: f"{count:,}" for name, count in differences.items()})
        self.add("every record as expected, in its order", not differences, shown)


def few(findings: Mapping[str, str]) -> str:
    """The first three findings, and the number of the others."""
    shown = "; ".join(f"{name}: {text}" for name, text in list(findings.items())[:3])
    return shown + (f"; and {len(findings) - 3} more" if len(findings) > 3 else "")


def abends_of(regions: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """How many tasks of each region abended, by code, from rows of the regions table."""
    abends = {row["region"]: json.loads(row["abends"]) for row in regions if row["abends"] != "{}"}
    return {name: ", ".join(f"{code} {count:,}" for code, count in codes.items()) for name, codes in abends.items()}
