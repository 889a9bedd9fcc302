"""The report of a run: one HTML page that needs nothing beside it, JSON, and JUnit XML.

It reads the small tables only: regions, depths, ATI starts, differences, manifests. What it leaves out because it is
too much, it says, with the file in which all of it is.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from tempfile import gettempdir
from typing import Any, Final
from xml.sax.saxutils import quoteattr

import pyarrow.parquet as pq

from tdqsim.pipeline.publishing import is_local, place, publish_json, published
from tdqsim.pipeline.stages.manifest import manifest_path
from tdqsim.pipeline.stages.report_page import ROWS, Tables, page_of
from tdqsim.pipeline.stages.run import Checks, RunResult, few
from tdqsim.pipeline.stages.tables import read_table
from tdqsim.report.page import check_target

__all__ = ["check_report", "write_report"]

PAGE: Final = "report.html"


def check_report(run: Path, out: str | Path = "") -> None:
    """See, before work of hours, that :func:`write_report` can make its page and write it.

    Args:
        run: the run's directory.
        out: where the report goes; by default the run's directory.

    Raises:
        TdqError: the plotting library is not installed, or no file can be made there.
    """
    target = place(out) if out else run
    folder = target.absolute() if is_local(target) else Path(gettempdir())  # from where it goes to an object store
    there = next(each for each in (folder, *folder.parents) if each.exists())
    check_target(there / PAGE)


def write_report(run: Path, result: RunResult | None = None, out: str | Path = "") -> Path:
    """Write report.html, report.json and junit.xml; gives the place of the page.

    Args:
        run: the run's directory; replay at least must have been run there.
        result: the outcome of the whole run; read from the directory when not given.
        out: where they go, also in an object store; by default the run's directory.

    Raises:
        DatasetError: there is nothing to report of.
        TdqError: as :func:`check_report`; nothing is written then.
    """
    if result is not None:
        summary = result.as_dict()
    elif (run / "run.json").is_file():
        summary = json.loads((run / "run.json").read_text("utf-8"))
    else:
        summary = _summary_of_stages(run)
    tables = Tables.of(run)
    check_report(run, out)
    target = place(out) if out else run
    publish_json(target / "report.json", summary | {"regions_table": tables.regions.to_pylist()[:ROWS]})
    with published(target / "junit.xml") as fresh:
        fresh.write_text(_junit(summary), "utf-8")
    page = target / PAGE
    with published(page) as fresh:
        page_of(summary, tables).write(fresh)
    return page


def _summary_of_stages(run: Path) -> dict[str, Any]:
    """What can be said of stages that were run one by one."""
    regions = read_table(run, "replay", "regions").to_pylist()
    differences = _differences(run)
    causes = {row["region"]: row["cause"] for row in regions if row["cause"]}
    unexpected = {row["region"]: f"{row['unexpected']:,} of {row['events']:,}" for row in regions if row["unexpected"]}
    checks = Checks()
    checks.of_regions(regions, causes)
    checks.add("every response as expected", not unexpected, few(unexpected))
    if differences is not None:
        checks.of_differences(differences)
    return {
        "ok": all(checks.holds.values()),
        "checks": checks.holds,
        "details": checks.seen,
        "causes": causes,
        "differences": dict(differences or {}),
        "regions": len(regions),
        "events": sum(row["events"] for row in regions),
    }


def _differences(run: Path) -> Counter[str] | None:
    path = manifest_path(run, "reconcile")
    if not path.is_file():
        return None
    found: Counter[str] = Counter()
    for text in pq.read_table(path).column("details").to_pylist():
        found.update(json.loads(text)["differences"])
    return found


# JUnit ---------------------------------------------------------------------------------------------------------------


def _junit(summary: Mapping[str, Any]) -> str:
    """A test case for each check, and one for each region that did not end well."""
    details = summary.get("details", {})
    cases = [(name, holds, details.get(name, "")) for name, holds in summary["checks"].items()]
    cases += [(f"region {name}", False, cause) for name, cause in summary.get("causes", {}).items()]
    failures = sum(not holds for _, holds, _ in cases)
    lines_ = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<testsuite name="tdqsim pipeline" tests="{len(cases)}" failures="{failures}">',
    ]
    for name, holds, seen in cases:
        head = f'  <testcase classname="pipeline" name={quoteattr(_printable(name))}'
        lines_.append(f"{head}/>" if holds else f"{head}><failure message={quoteattr(_printable(seen))}/></testcase>")
    return "\n".join([*lines_, "</testsuite>", ""])


def _printable(text: str) -> str:
    """XML has no room for control characters."""
    return "".join(character if character.isprintable() else "?" for character in text)
