"""The report of a run: one HTML page that needs no other files, JSON, and JUnit XML.

It reads only the small tables: regions, depths, ATI starts, differences, manifests. Where it shows only a part of
something, it says so, and names the file that has all of it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from tempfile import gettempdir
from typing import Any, Final
from xml.sax.saxutils import quoteattr

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tdqsim.errors import DatasetError
from tdqsim.pipeline.parquet import read_parquet
from tdqsim.pipeline.publishing import is_local, place, publish_json, published
from tdqsim.pipeline.stages.events import Slice, open_pieces
from tdqsim.pipeline.stages.exchange import bucket_files
from tdqsim.pipeline.stages.manifest import read_manifest, sum_of
from tdqsim.pipeline.stages.outcome import Checks, RegionOutcomes, abends_of, few
from tdqsim.pipeline.stages.tables import read_table, table_files
from tdqsim.report import (
    COLOURS,
    Mark,
    Page,
    Part,
    Point,
    Prose,
    Series,
    Stretch,
    Table,
    bars,
    check_target,
    lines,
    time_line,
)

PAGE: Final = "report.html"
Summary = Mapping[str, Any]
"""The contents of report.json: figures, checks and differences of a run."""
Rows = list[dict[str, Any]]


def check_report(run: Path, out: str | Path = "") -> None:
    """Check, before hours of work, that :func:`write_report` can make and write its page.

    Raises:
        TdqError: the plotting library is not installed, or no file can be written there.
    """
    target = place(out) if out else run
    folder = target.absolute() if is_local(target) else Path(gettempdir())  # uploads start there
    there = next(each for each in (folder, *folder.parents) if each.exists())
    check_target(there / PAGE)


def write_report(run: Path, out: str | Path = "") -> Path:
    """Write report.html, report.json and junit.xml; returns the path of the page.

    Args:
        run: the run's directory; at least replay must have been run there.
        out: the output directory, which may be in an object store; by default the run's directory.

    Raises:
        DatasetError: there is nothing to report, or a file of the run is damaged.
        TdqError: as :func:`check_report`; nothing is written then.
    """
    try:
        whole = run / "run.json"
        summary = json.loads(whole.read_text("utf-8")) if whole.is_file() else _summary_of_stages(run)
        tables = Tables.of(run)
        check_report(run, out)
        target = place(out) if out else run
        publish_json(target / "report.json", summary | {"regions_table": tables.regions.to_pylist()[:ROWS]})
        with published(target / "junit.xml") as fresh:
            fresh.write_text(_junit(summary), "utf-8")
        page = target / PAGE
        with published(page) as fresh:
            page_of(summary, tables).write(fresh)
    except (pa.ArrowException, json.JSONDecodeError, UnicodeDecodeError) as error:
        raise DatasetError(f"{run}: a file in it is damaged: {error}; give tdq pipeline run or replay again") from error
    return page


def _summary_of_stages(run: Path) -> dict[str, object]:
    """The outcome of stages that were run one by one."""
    regions = RegionOutcomes.of(run)
    reconciled = read_manifest(run, "reconcile")
    differences = sum_of(reconciled, "differences")
    unexpected = {
        row["region"]: f"{row['unexpected']:,} of {row['events']:,}" for row in regions.rows if row["unexpected"]
    }
    checks = Checks()
    checks.of_regions(regions, regions.causes)
    checks.add("every response as expected", not unexpected, few(unexpected))
    if reconciled:
        checks.of_differences(differences)
    return {
        "ok": all(checks.holds.values()),
        "checks": checks.holds,
        "details": checks.seen,
        "causes": regions.causes,
        "differences": dict(differences),
        "regions": len(regions.rows),
        "events": regions.total("events"),
    }


# JUnit ---------------------------------------------------------------------------------------------------------------


def _junit(summary: Summary) -> str:
    """A test case for each check, and one for each region that did not end well."""
    details = summary.get("details", {})
    cases = [(name, holds, details.get(name, "")) for name, holds in summary["checks"].items()]
    cases += [(f"region {name}", False, cause) for name, cause in summary.get("causes", {}).items()]
    failures = sum(not holds for _, holds, _ in cases)
    lines_ = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<testsuite name="tdqsim pipeline" tests="{len(cases)}" failures="{failures}">',
    ]
    for name, holds, value in cases:
        head = f'  <testcase classname="pipeline" name={quoteattr(_printable(name))}'
        lines_.append(f"{head}/>" if holds else f"{head}><failure message={quoteattr(_printable(value))}/></testcase>")
    return "\n".join([*lines_, "</testsuite>", ""])


def _printable(text: str) -> str:
    """Text without control characters, which XML does not allow."""
    return "".join(character if character.isprintable() else "?" for character in text)


# the page -------------------------------------------------------------------------------------------------------------


ROWS: Final = 50
"""The maximum number of rows of a table on the page."""

_LONG: Final = 120
_LONG_BYTES: Final = 40
"""The maximum number of characters of a value on the page; fewer for digits of bytes, so that two values fit."""
_BARS: Final = 40
_MEGA: Final = 1_000_000
_STAGE_TABLES: Final = {
    "ingest": "split.exchange", "replay": "replay", "expected": "split.expected", "reconcile": "reconcile",
}  # fmt: skip
"""The stages whose manifest gives the number of rows of a stage of a whole run."""
_NO_FIGURES: Final = (
    "ok", "checks", "details", "engine", "engine_why", "regions", "causes", "differences",
    "digest", "seconds", "stage_seconds", "stage_memory", "records_per_second", "output", "events",
)  # fmt: skip


@dataclass(frozen=True)
class Tables:
    """The small tables of a run."""

    run: Path
    regions: pa.Table
    queues: pa.Table
    depth: pa.Table
    starts: pa.Table
    diffs: pa.Table | None

    @classmethod
    def of(cls, run: Path) -> Tables:
        """Read the tables of a run."""
        files = table_files(run, "reconcile", "diffs")
        return cls(
            run,
            read_table(run, "replay", "regions"),
            read_table(run, "replay", "queue_final"),
            read_table(run, "replay", "depth"),
            read_table(run, "replay", "ati_events", ["depth", "attached_us", "began_us", "waited_dispatches"]),
            pa.concat_tables(map(read_parquet, files)) if files else None,
        )


def page_of(summary: Summary, tables: Tables) -> Page:
    """The page of a run."""
    mark = Mark("all is well", good=True) if summary["ok"] else Mark("something is wrong", good=False)
    page = Page(f"tdqsim pipeline: {tables.run.resolve().name}", mark, _lead(summary))
    page.add("Checks", _checks(summary), *_digest(summary))
    page.add("Figures", *_figures(summary))
    page.add("Differences", *_differences(summary, tables))
    page.add("Unexpected responses", *_unexpected(tables))
    page.add("Stages", *_stages(summary, tables))
    page.add("Skew of parts", *_skew(tables))
    page.add("Depth over time", *_depths(tables))
    page.add("Triggers", *_triggers(tables))
    page.add("Regions", _regions(tables))
    page.add("Queues and data sets at the end", _queues(tables))
    return page


def _lead(summary: Summary) -> str:
    said = [f"{summary['regions']:,} regions"]
    if "events" in summary:
        said.append(f"{summary['events']:,} events")
    if "engine" in summary:
        said.append(f"engine {summary['engine']} ({summary['engine_why']})")
        said.append(f"{summary['seconds']} s")
    return f"{'; '.join(said)}."


def _digest(summary: Summary) -> list[Part]:
    digest = summary.get("digest")
    return [Prose(f"Digest of all output: {digest}", quiet=True)] if digest else []


def _checks(summary: Summary) -> Table:
    details = summary.get("details", {})
    rows = [
        (name, Mark("ok" if holds else "wrong", good=holds), "" if holds else details.get(name, ""))
        for name, holds in summary["checks"].items()
    ]
    return Table(("check", "", "seen"), rows)


def _figures(summary: Summary) -> list[Part]:
    rows = []
    for name, value in summary.items():
        if name not in _NO_FIGURES:
            shown = ", ".join(f"{key}: {each:,}" for key, each in value.items()) if isinstance(value, dict) else value
            rows.append((name, shown))
    return [Table(("figure", "value"), rows)] if rows else []


# differences ---------------------------------------------------------------------------------------------------------


def _differences(summary: Summary, tables: Tables) -> list[Part]:
    if tables.diffs is None:
        return [Prose("Reconcile was not run.", quiet=True)]
    counts = summary["differences"]
    if not counts:
        return [Prose("None: every record that was expected came out, in its order, and no other.")]
    samples = _samples(tables.diffs)
    rows = [
        (
            each["region"], each["queue"], each["kind"], each["position"], _key(each["key"]), each["field"],
            _brief(each["expected"]), _brief(each["actual"]),
        )
        for each in samples
    ]  # fmt: skip
    heads = ("region", "queue", "kind", "record", "key", "field", "expected", "actual")
    parts: list[Part] = [bars("By queue and kind", sorted(counts.items())[:_BARS], "queue and kind", "differences")]
    for column in ("region", "field"):
        parts += _kept_by(tables.diffs, column)
    parts.append(Table(heads, rows, "The first of each kind, from many regions", most=len(rows)))
    total = sum(counts.values())
    if len(rows) < total:
        kept = tables.diffs.num_rows
        some = "all" if kept == total else f"{kept:,}, the first of each kind of each queue of a region,"
        parts.append(Prose(f"{len(rows):,} of {total:,} are shown; {some} are in reconcile/diffs.", quiet=True))
    return parts


def _kept_by(diffs: pa.Table, column: str) -> list[Part]:
    """The differences that are kept, counted by region or field: the most frequent."""
    counted = Counter(each or "(whole record)" for each in diffs.column(column).to_pylist()).most_common()
    picture = bars(f"By {column}, of the {diffs.num_rows:,} kept", counted[:_BARS], column, "differences")
    left = len(counted) - _BARS
    return [picture, *([Prose(f"{left:,} more have fewer.", quiet=True)] if left > 0 else [])]


def _samples(diffs: pa.Table) -> Rows:
    """Some differences of each queue and kind, from many regions: first the first of each region, then the second."""
    ranks: Counter[tuple[str, str, str]] = Counter()
    kinds: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for at, row in enumerate(diffs.select(["region", "queue", "kind"]).to_pylist()):
        group = (row["queue"], row["kind"])
        rank = ranks[(row["region"], *group)] = ranks[(row["region"], *group)] + 1
        kinds.setdefault(group, []).append((rank, at))
    most = max(5, ROWS // max(1, len(kinds)))
    places = [at for queue_places in kinds.values() for _, at in sorted(queue_places)[:most]]
    return diffs.take(sorted(places)[: ROWS * 2]).to_pylist()  # type: ignore[no-any-return]


def _key(key: bytes | None) -> str:
    """A key as text if it is text, else in hexadecimal."""
    if key is None:
        return ""
    text = key.decode("cp037").rstrip()
    return text if text.isprintable() and text.isascii() else _brief(f"X'{key.hex().upper()}'")


def _brief(text: str | None) -> str:
    if text is None:
        return ""
    most = _LONG_BYTES if text.startswith(("X'", "...X'")) else _LONG
    return text if len(text) <= most else f"{text[:most]}..."


def _unexpected(tables: Tables) -> list[Part]:
    """The responses that differ from the expected ones."""
    total = sum(tables.regions.column("unexpected").to_pylist())
    if not total:
        return []
    rows: list[tuple[object, ...]] = []
    columns = ["region", "seq", "command", "queue", "resp", "resp2", "cause"]
    for path in table_files(tables.run, "replay", "results"):
        unexpected = read_parquet(path, columns, filters=[("as_expected", "==", False)])
        some = unexpected.slice(0, ROWS - len(rows)).to_pylist()
        wanted = _wanted(tables.run, path.stem, some)
        rows += [
            (r["region"], r["seq"], r["command"], r["queue"] or "", text, r["resp"], r["resp2"], r["cause"] or "")
            for r, text in zip(some, wanted, strict=True)
        ]
        if len(rows) >= ROWS:
            break
    heads = ("region", "event", "command", "queue", "expected", "response", "RESP2", "cause")
    return [Table(heads, rows, total=total, rest="the rest is in replay/results, where as_expected is false")]


def _wanted(run: Path, bucket: str, rows: Rows) -> list[str]:
    """The responses that some events of a bucket expected; empty if the exchange no longer exists."""
    files = bucket_files(run, "exchange").get(int(bucket), ()) if rows else ()
    pieces = open_pieces([path for path in files if path.is_file()])
    return [_response(pieces.get(row["region"], []), row["seq"]) for row in rows]


def _response(slices: Sequence[Slice], seq: int) -> str:
    for each in slices:
        place = each.start + int(np.searchsorted(each.numbers, seq))
        if place < each.stop and each.table.column("seq")[place].as_py() == seq:
            resp, resp2 = (each.table.column(name)[place].as_py() for name in ("resp", "resp2"))
            return ", ".join([*([resp] if resp else []), *([f"RESP2 {resp2}"] if resp2 is not None else [])])
    return ""


# how it went ---------------------------------------------------------------------------------------------------------


def _stages(summary: Summary, tables: Tables) -> list[Part]:
    """The stages in order, with their throughput in rows a second and their memory."""
    whole = "stage_seconds" in summary
    seconds: Mapping[str, float] = summary["stage_seconds"] if whole else _work(tables)
    memory: Mapping[str, int] = summary.get("stage_memory", {})
    rows, stretches, start = [], [], 0.0
    for name, took in seconds.items():
        count = _rows_of(tables, name)
        rate = round(count / took) if count and took else ""
        mega = round(memory.get(name, 0) / _MEGA) or ""
        rows.append((name, took, count or "", rate, mega))
        hint = f"{name}: {took} s" + (f", {rate:,} rows a second" if rate else "")
        lane = f"{name}, {rate:,} rows/s" if rate else name
        stretches.append(Stretch(lane, "stage", hint, (0, 0), (start, start + took)))
        start += took
    heads = ("stage", "seconds", "rows", "rows a second", "memory, MB")
    table = Table(heads, rows, "Stages")
    parts: list[Part] = [
        time_line("Stages, and what they did in a second", stretches, {"stage": (COLOURS[0], 0.7)}, "seconds", table)
    ]
    if not whole:
        parts.append(Prose("The stages were run one by one: their seconds are those of their parts, added up."))
    elif any(memory.values()):
        peaks = [(name, round(value / _MEGA, 1)) for name, value in memory.items()]
        parts.append(bars("Memory of all processes, at most", peaks, "stage", "MB"))
    else:
        parts.append(Prose("The memory of the processes cannot be seen here.", quiet=True))
    return parts


def _work(tables: Tables) -> dict[str, float]:
    """The seconds of the parts of each stage that was run."""
    manifests = {name: read_manifest(tables.run, stage) for name, stage in _STAGE_TABLES.items()}
    return {name: round(sum(part.seconds for part in parts), 3) for name, parts in manifests.items() if parts}


def _rows_of(tables: Tables, stage: str) -> int:
    """How many rows a stage processed; reconcile reports it, because the rows it writes are the differences."""
    parts = read_manifest(tables.run, _STAGE_TABLES.get(stage, ""))
    return sum(part.details.get("compared", part.rows) for part in parts)


def _skew(tables: Tables) -> list[Part]:
    """How uneven the parts of replay are; the slowest part decides when the stage ends."""
    parts = sorted(read_manifest(tables.run, "replay"), key=attrgetter("seconds"), reverse=True)
    if not parts:
        return []
    middle = parts[len(parts) // 2].seconds
    ratio = f"{parts[0].seconds / middle:.2f} times" if middle else "many times"
    rows = [(each.bucket, each.rows, round(each.seconds, 3)) for each in parts[:_BARS]]
    table = Table(("part", "rows", "seconds"), rows, "Parts of replay, the slowest first", total=len(parts))
    values = [(str(bucket), seconds) for bucket, _, seconds in rows]
    text = f"Replay had {len(parts):,} parts; the slowest took {ratio} as long as the one in the middle."
    return [Prose(text), bars("Seconds of the slowest parts of replay", values, "part", "seconds", table)]


def _depths(tables: Tables) -> list[Part]:
    """The queues with the greatest depths, each in its region."""
    queues = tables.queues.filter(pc.not_equal(tables.queues.column("kind"), "DD"))
    deepest = queues.sort_by([("peak", "descending"), ("region", "ascending"), ("queue", "ascending")]).slice(0, 6)
    series = []
    timed = tables.depth.num_rows and len(tables.depth.column("time_us").unique()) > len(tables.regions)
    for row in deepest.to_pylist():
        mask = pc.and_(
            pc.equal(tables.depth.column("region"), row["region"]), pc.equal(tables.depth.column("queue"), row["queue"])
        )
        points = tables.depth.filter(mask).to_pylist()
        first = points[0]["time_us"] if points else 0
        steps = [
            Point(each["step"], (each["time_us"] - first) / 1e6 if timed else 0.0, each["depth"]) for each in points
        ]
        series.append(Series(f"{row['region']} {row['queue']}", steps))
    if not series:
        return []
    rows = [(row["region"], row["queue"], row["peak"], row["depth"]) for row in deepest.to_pylist()]
    heads = ("region", "queue", "deepest", "at the end")
    words = Table(heads, rows, "The deepest queues", total=queues.num_rows, rest="the rest is in replay/depth")
    return [lines("The deepest queues", series, "dispatches of tasks, or events", "records on the queue", words)]


def _triggers(tables: Tables) -> list[Part]:
    starts = tables.starts
    if not starts.num_rows:
        return [Prose("No queue started a task.", quiet=True)]
    latency = pc.subtract(starts.column("began_us"), starts.column("attached_us")).to_pylist()
    waited = Counter(starts.column("waited_dispatches").to_pylist())
    shown = [(str(name), value) for name, value in sorted(waited.items())[:_BARS]]
    rows = [
        ("tasks started by a trigger level", starts.num_rows),
        ("records on the queue at that moment, median", _median(starts.column("depth").to_pylist())),
        ("trigger latency, median (simulated microseconds)", _median(latency)),
        ("trigger latency, greatest (simulated microseconds)", max(latency)),
    ]
    picture = bars("From trigger to first instruction", shown, "dispatches between", "tasks")
    return [Table(("", "value"), rows), picture]


def _median(values: list[int]) -> int:
    return sorted(values)[len(values) // 2]


def _regions(tables: Tables) -> Table:
    ordered = tables.regions.to_pylist()
    ordered.sort(key=lambda row: (not row["cause"], not row["unexpected"], -row["events"], row["region"]))
    rows = [
        (
            r["region"], r["kind"], r["events"], r["unexpected"], r["tasks"], r["dispatches"], r["ati_starts"],
            abends_of([r]).get(r["region"], ""), r["cause"] or r["waiting"],
        )
        for r in ordered[:ROWS]
    ]  # fmt: skip
    heads = (
        "region", "kind", "events", "unexpected responses", "tasks", "dispatches", "trigger starts", "abends", "cause",
    )  # fmt: skip
    return Table(heads, rows, total=len(ordered), rest="the rest is in replay/regions")


def _queues(tables: Tables) -> Table:
    ordered = tables.queues.sort_by([("depth", "descending"), ("region", "ascending"), ("queue", "ascending")])
    rows = [
        (r["region"], r["queue"], r["kind"], r["depth"], "" if r["kind"] == "DD" else r["peak"], r["bytes"])
        for r in ordered.slice(0, ROWS).to_pylist()
    ]
    heads = ("region", "queue or DD", "kind", "records", "deepest", "bytes")
    return Table(heads, rows, total=ordered.num_rows, rest="the rest is in replay/queue_final")
