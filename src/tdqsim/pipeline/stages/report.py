"""The report of a run: one HTML page that needs nothing beside it, JSON, and JUnit XML.

It reads the small tables only: regions, depths, ATI starts, differences, manifests. What it leaves out because it is
too much, it says, with the file in which all of it is.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from operator import itemgetter
from pathlib import Path
from typing import Any, Final
from xml.sax.saxutils import quoteattr

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tdqsim import __version__
from tdqsim.pipeline.publishing import place, publish_json, published
from tdqsim.pipeline.stages.events import Slice, open_pieces
from tdqsim.pipeline.stages.manifest import manifest_path
from tdqsim.pipeline.stages.plots import bars, lines
from tdqsim.pipeline.stages.run import RunResult, abends_of, few
from tdqsim.pipeline.stages.tables import read_table, table_files

__all__ = ["write_report"]

ROWS: Final = 50
"""The most rows of a table on the page."""

_STYLE: Final = """
:root{color-scheme:light dark}body{font:15px/1.45 system-ui,sans-serif;max-width:1000px;margin:2rem auto;padding:0 1rem}
h1{font-size:1.5rem;margin-bottom:.2rem}h2{font-size:1.15rem;margin:2rem 0 .5rem}table{border-collapse:collapse}
td span[title]{cursor:help}
td,th{padding:.2rem .7rem;border-bottom:1px solid #8884;text-align:left;vertical-align:top}td.n,th.n{text-align:right;
font-variant-numeric:tabular-nums}.ok{color:#287a38}.wrong{color:#c22;font-weight:600}.verdict{font-size:1.1rem}
.wide{overflow-x:auto}svg{width:100%;height:auto}svg text{font:11px system-ui,sans-serif;fill:currentColor}
.grid{stroke:#8885;stroke-width:.6}.legend span{margin-right:1.2rem;white-space:nowrap}.legend i{display:inline-block;
width:.8em;height:.8em;margin-right:.35em}.none,.note{opacity:.75}code{font-size:.9em;word-break:break-all}
@media(prefers-color-scheme:dark){.ok{color:#6c7}.wrong{color:#f77}}
"""


def write_report(run: Path, result: RunResult | None = None, out: str | Path = "") -> Path:
    """Write report.html, report.json and junit.xml; gives the place of the page.

    Args:
        run: the run's directory; replay at least must have been run there.
        result: the outcome of the whole run; read from the directory when not given.
        out: where they go, also in an object store; by default the run's directory.

    Raises:
        DatasetError: there is nothing to report of.
    """
    if result is not None:
        summary = result.as_dict()
    elif (run / "run.json").is_file():
        summary = json.loads((run / "run.json").read_text("utf-8"))
    else:
        summary = _summary_of_stages(run)
    tables = _Tables(run)
    target = place(out) if out else run
    publish_json(target / "report.json", summary | {"regions_table": tables.regions.to_pylist()[:ROWS]})
    with published(target / "junit.xml") as fresh:
        fresh.write_text(_junit(summary), "utf-8")
    page = target / "report.html"
    with published(page) as fresh:
        fresh.write_text(_page(summary, tables, run), "utf-8")
    return page


def _summary_of_stages(run: Path) -> dict[str, Any]:
    """What can be said of stages that were run one by one."""
    regions = read_table(run, "replay", "regions").to_pylist()
    differences = _differences(run)
    causes = {row["region"]: row["cause"] for row in regions if row["cause"]}
    checks = {
        "every region ended well": not causes,
        "no task abended": all(row["abends"] == "{}" for row in regions),
        "no task waits": not any(row["waiting"] for row in regions),
        "every response as expected": not any(row["unexpected"] for row in regions),
    }
    seen = {
        "every region ended well": few(causes),
        "no task abended": few(abends_of(regions)),
        "no task waits": few({row["region"]: row["waiting"] for row in regions if row["waiting"]}),
        "every response as expected": few(
            {row["region"]: f"{row['unexpected']:,} of {row['events']:,}" for row in regions if row["unexpected"]}
        ),
    }
    if differences is not None:
        checks["every record as expected, in its order"] = not differences
        seen["every record as expected, in its order"] = few({name: f"{n:,}" for name, n in differences.items()})
    return {
        "ok": all(checks.values()),
        "checks": checks,
        "details": {name: seen[name] for name, holds in checks.items() if not holds},
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


class _Tables:
    """The small tables of a run."""

    def __init__(self, run: Path) -> None:
        self.run = run
        self.regions = read_table(run, "replay", "regions")
        self.queues = read_table(run, "replay", "queue_final")
        self.depth = read_table(run, "replay", "depth")
        self.starts = read_table(run, "replay", "ati_events", ["depth", "attached_us", "began_us", "waited_dispatches"])
        self.buckets = pq.read_table(manifest_path(run, "replay")).to_pylist()
        done = manifest_path(run, "reconcile").is_file()
        files = table_files(run, "reconcile", "diffs") if done else []
        self.diffs = pa.concat_tables([pq.read_table(f, partitioning=None) for f in files]) if files else None


# the page ------------------------------------------------------------------------------------------------------------


def _page(summary: Mapping[str, Any], tables: _Tables, run: Path) -> str:
    name = run.resolve().name
    verdict = (
        '<span class="ok">all is well</span>' if summary["ok"] else '<span class="wrong">something is wrong</span>'
    )
    parts = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width">',
        f"<title>tdqsim pipeline: {escape(name)}</title><style>{_STYLE}</style></head><body>",
        f'<h1>{escape(name)}</h1><p class="verdict">{verdict}</p>',
        _facts(summary),
        "<h2>Checks</h2>", _checks(summary),
        _figures(summary),
        "<h2>Differences</h2>", _diffs(summary, tables),
        _unexpected(tables),
        "<h2>Depth over time</h2>", _depths(tables),
        "<h2>Triggers</h2>", _triggers(tables),
        "<h2>Throughput</h2>", _throughput(summary, tables),
        "<h2>Regions</h2>", _regions(tables),
        "<h2>Queues and data sets at the end</h2>", _queues(tables),
        f'<p class="note">tdqsim {escape(__version__)}</p></body></html>',
    ]  # fmt: skip
    return "\n".join(part for part in parts if part)


class _Long(str):
    """A text that is cut in a table, and whole where the pointer rests on it."""

    __slots__ = ()


class _Html(str):
    """Markup of this page's own; every other text is escaped, whatever it begins with."""

    __slots__ = ()


_OK: Final = _Html('<span class="ok">ok</span>')
_WRONG: Final = _Html('<span class="wrong">wrong</span>')


def _table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    found = [list(row) for row in rows]
    kinds = [{type(row[at]) for row in found if row[at] != ""} for at in range(len(columns))]
    numeric = [bool(each) and each <= {int, float} for each in kinds]

    def cell(value: Any, at: int, tag: str) -> str:
        text = f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
        marked = text if isinstance(value, _Html) else escape(text)
        if isinstance(value, _Long):
            marked = f'<span title="{marked}">{escape(_brief(text, 24))}</span>'
        return f"<{tag}{' class=n' if numeric[at] else ''}>{marked}</{tag}>"

    head = "".join(cell(name, at, "th") for at, name in enumerate(columns))
    body = "".join(f"<tr>{''.join(cell(v, at, 'td') for at, v in enumerate(row))}</tr>" for row in found)
    return f'<div class="wide"><table><tr>{head}</tr>{body}</table></div>'


def _facts(summary: Mapping[str, Any]) -> str:
    said = [f"{summary['regions']:,} regions"]
    if "events" in summary:
        said.append(f"{summary['events']:,} events")
    if "engine" in summary:
        said.append(f"engine {summary['engine']} ({summary['engine_why']})")
        said.append(f"{summary['seconds']} s")
    if "independent_result" in summary:
        said.append(f"compared with a result computed by {summary['independent_result']}")
    shown = f"<p>{escape('; '.join(said))}.</p>"
    if "digest" in summary:
        shown += f"<p class=note>Digest of everything that came out: <code>{escape(summary['digest'])}</code></p>"
    return shown


def _checks(summary: Mapping[str, Any]) -> str:
    details = summary.get("details", {})
    return _table(
        ("check", "", "seen"),
        (
            (
                name,
                _OK if holds else _WRONG,
                "" if holds else details.get(name, ""),
            )
            for name, holds in summary["checks"].items()
        ),
    )


_NO_FIGURES: Final = (
    "ok", "checks", "details", "engine", "engine_why", "independent_result", "regions", "causes", "differences",
    "digest", "seconds", "stage_seconds", "records_per_second", "output", "events",
)  # fmt: skip


def _figures(summary: Mapping[str, Any]) -> str:
    rows = []
    for name, value in summary.items():
        if name in _NO_FIGURES:
            continue
        shown = ", ".join(f"{key}: {each:,}" for key, each in value.items()) if isinstance(value, dict) else value
        rows.append((name, f"{shown:,}" if isinstance(shown, int) else shown))
    return f"<h2>Figures</h2>{_table(('figure', 'value'), rows)}" if rows else ""


def _diffs(summary: Mapping[str, Any], tables: _Tables) -> str:
    if tables.diffs is None:
        return '<p class="none">Reconcile was not run.</p>'
    counts = summary["differences"]
    if not counts:
        return '<p class="none">None: every record that was expected came out, in its order, and no other.</p>'
    plot = bars(sorted(counts.items()), "queue and kind", "differences")
    samples = _samples(tables.diffs)
    rows = (
        (
            d["region"],
            d["queue"],
            d["kind"],
            d["position"],
            _key(d["key"]),
            d["field"].replace(" ", "\u00a0"),
            _Long(d["expected"] or ""),
            _Long(d["actual"] or ""),
        )
        for d in samples
    )
    table = _table(("region", "queue", "kind", "record", "key", "field", "expected", "actual"), rows)
    return plot + table + _rest_of_diffs(sum(counts.values()), len(samples), tables.diffs.num_rows)


def _rest_of_diffs(every: int, shown: int, kept: int) -> str:
    """What is said of differences that are not on the page: those beyond the first of each kind are only counted."""
    if shown == every:
        return ""
    some = "all" if kept == every else f"{kept:,}, the first of each kind of each queue of a region,"
    return f'<p class="note">{shown:,} of {every:,} are shown; {some} are in reconcile/diffs.</p>'


def _samples(diffs: pa.Table) -> list[dict[str, Any]]:
    """Some differences of each queue and kind, from many regions: the first of each, then the second of each."""
    ranks: Counter[tuple[str, str, str]] = Counter()
    kinds: dict[tuple[str, str], list[tuple[int, int, dict[str, Any]]]] = {}
    for at, row in enumerate(diffs.select(["region", "queue", "kind"]).to_pylist()):
        group = (row["queue"], row["kind"])
        rank = ranks[(row["region"], *group)] = ranks[(row["region"], *group)] + 1
        kinds.setdefault(group, []).append((rank, at, row))
    most = max(5, ROWS // max(1, len(kinds)))
    places = [at for found in kinds.values() for _, at, _ in sorted(found, key=itemgetter(0, 1))[:most]]
    return diffs.take(sorted(places)[: ROWS * 2]).to_pylist()  # type: ignore[no-any-return]


def _unexpected(tables: _Tables) -> str:
    """Responses that were expected otherwise."""
    total = sum(tables.regions.column("unexpected").to_pylist())
    if not total:
        return ""
    rows: list[tuple[Any, ...]] = []
    columns = ["region", "seq", "command", "queue", "resp", "resp2", "cause"]
    for path in table_files(tables.run, "replay", "results"):
        found = pq.read_table(path, columns=columns, filters=[("as_expected", "==", False)], partitioning=None)
        some = found.slice(0, ROWS - len(rows)).to_pylist()
        wanted = _wanted(tables.run, path.stem, some)
        rows += [
            (r["region"], r["seq"], r["command"], r["queue"] or "", text, r["resp"], r["resp2"], r["cause"] or "")
            for r, text in zip(some, wanted, strict=True)
        ]
        if len(rows) >= ROWS:
            break
    heads = ("region", "event", "command", "queue", "expected", "response", "RESP2", "cause")
    more = _more(total, len(rows), "replay/results, where as_expected is false")
    return f"<h2>Responses otherwise than expected</h2>{_table(heads, rows)}{more}"


def _wanted(run: Path, bucket: str, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The responses that some events of a bucket expected; nothing where the exchange is not there any more."""
    pieces = open_pieces(sorted((run / "exchange" / bucket).glob("[0-9]*.arrow"))) if rows else {}
    return [_response(pieces.get(row["region"], []), row["seq"]) for row in rows]


def _response(slices: Sequence[Slice], seq: int) -> str:
    for each in slices:
        place = each.start + int(np.searchsorted(each.numbers, seq))
        if place < each.stop and each.table.column("seq")[place].as_py() == seq:
            resp, resp2 = (each.table.column(name)[place].as_py() for name in ("resp", "resp2"))
            return ", ".join([*([resp] if resp else []), *([f"RESP2 {resp2}"] if resp2 is not None else [])])
    return ""


def _key(key: bytes | None) -> str:
    """A key as text when it is some, else in hexadecimal."""
    if key is None:
        return ""
    text = key.decode("cp037").rstrip()
    return text if text.isprintable() and text.isascii() else _brief(f"X'{key.hex().upper()}'")


def _brief(text: str | None, most: int = 20) -> str:
    """Long records would push the next column off the page."""
    return "" if text is None else text if len(text) <= most else f"{text[:most]}..."


def _more(all_of_them: int, shown: int, where: str) -> str:
    if all_of_them <= shown:
        return ""
    return f'<p class="note">{shown:,} of {all_of_them:,} are shown; the rest is in {escape(where)}.</p>'


def _depths(tables: _Tables) -> str:
    """The queues that were deepest, each in its region."""
    queues = tables.queues.filter(pc.not_equal(tables.queues.column("kind"), "DD"))
    deepest = queues.sort_by([("peak", "descending"), ("region", "ascending"), ("queue", "ascending")]).slice(0, 6)
    series = []
    timed = tables.depth.num_rows and len(tables.depth.column("time_us").unique()) > len(tables.regions)
    for row in deepest.to_pylist():
        mask = pc.and_(
            pc.equal(tables.depth.column("region"), row["region"]), pc.equal(tables.depth.column("queue"), row["queue"])
        )
        points = tables.depth.filter(mask)
        times, steps = points.column("time_us").to_pylist(), points.column("step").to_pylist()
        x = [(each - times[0]) / 1e6 for each in times] if timed else steps
        series.append(
            (f"{row['region']} {row['queue']}", list(zip(x, points.column("depth").to_pylist(), strict=True)))
        )
    label = "seconds since the first event (simulated)" if timed else "dispatches of tasks, or events"
    note = _more(queues.num_rows, len(series), "replay/depth; shown are those that were deepest")
    return lines(series, label, "records on the queue") + note


def _triggers(tables: _Tables) -> str:
    starts = tables.starts
    if not starts.num_rows:
        return '<p class="none">No queue started a task.</p>'
    latency = pc.subtract(starts.column("began_us"), starts.column("attached_us")).to_pylist()
    waited = Counter(starts.column("waited_dispatches").to_pylist())
    shown = sorted(waited.items())[:40]
    plot = bars(
        [(str(name), value) for name, value in shown], "dispatches between trigger and first instruction", "tasks"
    )
    rows = [
        ("tasks started by a trigger level", starts.num_rows),
        ("records on the queue at that moment, median", _median(starts.column("depth").to_pylist())),
        ("trigger latency, median (simulated microseconds)", _median(latency)),
        ("trigger latency, greatest (simulated microseconds)", max(latency)),
    ]
    return _table(("", "value"), rows) + plot


def _median(values: list[int]) -> int:
    ordered = sorted(values)
    return ordered[len(ordered) // 2]


def _throughput(summary: Mapping[str, Any], tables: _Tables) -> str:
    stages = summary.get("stage_seconds", {})
    table = _table(("stage", "seconds"), [(name, float(value)) for name, value in stages.items()]) if stages else ""
    rates = []
    for bucket in tables.buckets:
        seconds = bucket["seconds"] or 0.001
        rates.append((str(bucket["bucket"]), round(bucket["rows"] / seconds)))
    return table + "<p>Replay, by bucket:</p>" + bars(rates, "bucket", "rows written a second")


def _regions(tables: _Tables) -> str:
    ordered = tables.regions.to_pylist()
    ordered.sort(key=lambda row: (not row["cause"], not row["unexpected"], -row["events"], row["region"]))
    rows = [
        (
            r["region"], r["kind"], r["events"], r["unexpected"], r["tasks"], r["dispatches"], r["ati_starts"],
            abends_of([r]).get(r["region"], ""), r["cause"] or r["waiting"],
        )
        for r in ordered[:ROWS]
    ]  # fmt: skip
    columns = (
        "region", "kind", "events", "unexpected responses", "tasks", "dispatches", "trigger starts", "abends", "cause",
    )  # fmt: skip
    return _table(columns, rows) + _more(len(ordered), len(rows), "replay/regions")


def _queues(tables: _Tables) -> str:
    rows = tables.queues.sort_by([("depth", "descending"), ("region", "ascending"), ("queue", "ascending")])
    shown = rows.slice(0, ROWS).to_pylist()
    table = _table(
        ("region", "queue or DD", "kind", "records", "deepest", "bytes"),
        (
            (r["region"], r["queue"], r["kind"], r["depth"], "" if r["kind"] == "DD" else r["peak"], r["bytes"])
            for r in shown
        ),
    )
    return table + _more(rows.num_rows, len(shown), "replay/queue_final")


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
