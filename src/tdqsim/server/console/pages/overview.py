"""The overview: what is wrong, what moves, what waits and what was changed, in all regions and systems."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple
from urllib.parse import urlencode

from fastapi import Request
from nicegui import ui

from tdqsim.hosting import NS_PER_SECOND
from tdqsim.server.activity import INTERVAL, INTERVALS
from tdqsim.server.console.controls import Block, card
from tdqsim.server.console.frame import Console, Visit, frame
from tdqsim.server.console.live import RegionView
from tdqsim.server.console.page import ConsolePage
from tdqsim.server.console.pages.incidents import day_and_time, incidents_of
from tdqsim.server.console.pages.queues import is_unusable
from tdqsim.server.console.pages.systems import SystemReader, add_systems_table
from tdqsim.server.console.pages.tasks import moment
from tdqsim.server.console.region_state import depth, trigger
from tdqsim.server.console.table import Cell, DataTable, RichCell, Row, column, row, spark
from tdqsim.server.incidents import Incident, incidents_of_system
from tdqsim.state import Dump, Wait

_REGIONS: Final = (
    column("name", "Region"),
    column("start", "Start type"),
    column("rate", "Commands/s", num=True),
    column("queues", "Queues", num=True),
    column("records", "Records", num=True),
    column("disabled", "Not enabled or closed", num=True),
    column("cycles", "Trigger cycles", num=True),
    column("tasks", "Tasks", num=True),
    column("waits", "Waiting", num=True),
    column("units", "Units of work", num=True),
    column("indoubt", "Indoubt", num=True),
    column("incidents", "Incidents", num=True),
    column("abends", "Abends"),
)
_WRONG: Final = (
    column("region", "Region"), column("kind", "Incident"), column("when", "Since"), column("what", "What", wide=True),
)  # fmt: skip
_MOVING: Final = (
    column("region", "Region"), column("queue", "Queue"), column("depth", "Depth", num=True),
    column("line", "Last 5 minutes"), column("most", "Most records", num=True), column("trigger", "Starts"),
)  # fmt: skip
_WAITS: Final = (
    column("region", "Region"), column("who", "Who waits"), column("what", "For"), column("holder", "Held by"),
    column("since", "Since"),
)  # fmt: skip
_CHANGES: Final = (
    column("time", "Time"), column("region", "Region"), column("user", "User"), column("command", "Command"),
    column("details", "Options", mono=True, wide=True),
)  # fmt: skip
_LISTED: Final = 8
_AGAIN: Final = 2.0
_MINUTES_NS: Final = INTERVAL * INTERVALS * NS_PER_SECOND
_LATELY: Final = 2
"""The number of intervals of which the rate is the mean."""


class _Moving(NamedTuple):
    """A queue whose depth has changed lately, with its samples of the last minutes."""

    changes: int
    view: RegionView
    queue: str
    samples: list[tuple[int, int]]


def add(console: Console) -> None:
    """Register the page."""
    reader = SystemReader(console)

    @ui.page("/")
    async def overview(request: Request) -> None:
        with frame(console, request, "Overview", here="overview") as visit:
            await _Overview(visit, reader).build()


class _Overview(ConsolePage):
    def __init__(self, visit: Visit, reader: SystemReader) -> None:
        super().__init__(visit)
        self.reader = reader

    async def build(self) -> None:
        console = self.visit.console
        names = tuple(console.host.regions)
        with card("Is anything wrong?"):
            self.verdict = Block("p", aria_live="polite")
            self.wrong = DataTable("Incidents", _WRONG, empty="Nothing is wrong.")
        with card("Regions"):
            self.regions = DataTable("Regions", _REGIONS, empty="No region is served.")
        with Block("div", "tdq-cols"):
            with card("What moves"):
                with Block("p", "tdq-dim"):
                    Block("a", words="All flows as a picture", href=self.visit.href("flows"))
                self.moving = DataTable(
                    "Queues that move", _MOVING, empty="No depth has changed in the last 5 minutes."
                )
            with card("What waits"):
                self.waits = DataTable("Waits", _WAITS, empty="No task waits for another one.")
        with card("What was changed"):
            self.changes = DataTable("Changes", _CHANGES, empty="No resource has been changed.")
        await self.visit.follow(names, self._refresh)
        self.visit.every(_AGAIN, self._refresh)
        if console.host.systems:
            await add_systems_table(self.visit, self.reader)

    async def _refresh(self) -> None:
        console = self.visit.console
        views = [console.live.view(name) for name in console.host.regions]
        present = {view.region.applid: await incidents_of(self.visit, view) for view in views}
        systems, refused = console.host.systems, console.host.refused_jobs
        jobs = await self.visit.ask(
            lambda: {name: incidents_of_system(each, refused[name]) for name, each in systems.items()}
        )
        self._show_wrong(views, present, jobs)
        self.regions.show([_row(self.visit, view, len(present[view.region.applid])) for view in views])
        moving = sorted((each for view in views for each in _moving(view)), key=lambda each: -each.changes)
        self.moving.show([self._moves(each) for each in moving[:_LISTED]])
        self.waits.show(list(self._waiting(views))[:_LISTED])
        self.changes.show(list(self._changed(views))[:_LISTED])

    def _show_wrong(
        self, views: Iterable[RegionView], regions: dict[str, list[Incident]], systems: dict[str, list[Incident]]
    ) -> None:
        rows = [
            self._incident(place, name, each)
            for place, present in (("regions", regions), ("systems", systems))
            for name, incidents in present.items()
            for each in incidents
        ]
        now, alike = len(rows), _abends(views)
        for (applid, code, transid), dumps in alike[:_LISTED]:
            dump = dumps[-1]
            href = self.visit.href("regions", applid, "incidents", str(dump.time_ns), str(dump.task))
            kind: Cell = {"text": f"Abend {code}", "href": href, "tone": "bad"}
            times = f"{len(dumps):,} times, last: " if len(dumps) > 1 else ""
            text = f"{transid}, {times}task {dump.task}: {dump.reason or dump.statement}"
            rows.append(row(f"{applid} {code} {transid}", applid, kind, day_and_time(dump.time_ns), text))
        self.wrong.show(rows)
        kept = sum(len(dumps) for _, dumps in alike)
        words = _verdict(now, kept)
        self.verdict.say(words, "tdq-verdict bad" if now else "tdq-verdict warn" if rows else "tdq-verdict ok")

    def _incident(self, place: str, name: str, incident: Incident) -> Row:
        since = day_and_time(incident.since_ns) if incident.since_ns else "now"
        kind: Cell = {"text": incident.kind, "href": self.visit.href(place, name, *incident.page), "tone": "bad"}
        return row(f"{place} {name} {incident.kind} {incident.key}", name, kind, since, incident.what)

    def _moves(self, moving: _Moving) -> Row:
        applid = moving.view.region.applid
        queue = moving.view.queues[moving.queue]
        href = self.visit.href("regions", applid, "queues", queue.name)
        now = moving.view.snapshot.time_ns
        line: Cell = {
            "spark": spark(moving.samples, now),
            "title": f"depth of {queue.name}, one value a second",
            "text": "",
        }
        return row(
            f"{applid} {queue.name}",
            applid, {"text": queue.name, "href": href}, {"text": f"{depth(queue):,}", "href": href}, line,
            {"text": f"{queue.peak_items:,}", "href": href},
            trigger(queue),
        )  # fmt: skip

    def _waiting(self, views: Iterable[RegionView]) -> Iterator[Row]:
        for view in views:
            applid = view.region.applid
            for wait in view.snapshot.waits:
                since = moment(wait.since_ns) if wait.since_ns else ""
                who: Cell = {"text": wait.waiter, "href": self.visit.href("regions", applid, *_page_of(wait))}
                yield row(f"{applid} {wait.waiter} {wait.what}", applid, who, wait.what, wait.holder, since)

    def _changed(self, views: Iterable[RegionView]) -> Iterator[Row]:
        activity = self.visit.console.host.activity
        changes = sorted(
            ((change, view.region.applid) for view in views for change in tuple(activity[view.region.applid].changes)),
            key=lambda each: -each[0].time_ns,
        )
        for at, (change, applid) in enumerate(changes):
            href = self.visit.href("regions", applid, "log")
            failed = f": {change.condition}" if change.condition != "NORMAL" else ""
            command: Cell = {"text": f"{change.command}{failed}", "tone": "bad"} if failed else change.command
            region: Cell = {"text": applid, "href": href}
            yield row(
                f"{applid} {change.time_ns} {at}",
                day_and_time(change.time_ns),
                region,
                change.userid,
                command,
                change.details,
            )


def _verdict(now: int, dumps: int) -> str:
    """How many incidents there are now, and of how many abends there are dumps, in words."""
    if not now and not dumps:
        return "No incident, no abend."
    present = f"{now:,} {'incident' if now == 1 else 'incidents'} now" if now else "No incident now"
    kept = f"; {dumps:,} {'abend' if dumps == 1 else 'abends'} with a dump" if dumps else ""
    return f"{present}{kept}."


def _page_of(wait: Wait) -> tuple[str, ...]:
    """The parts of the address of the page of a waiting task, or of all tasks if what waits is none."""
    return ("tasks", str(wait.task)) if wait.task else ("tasks",)


def _abends(views: Iterable[RegionView]) -> list[tuple[tuple[str, str, str], list[Dump]]]:
    """The dumps of abends by region, code and transaction, those with the newest dump first."""
    alike: dict[tuple[str, str, str], list[Dump]] = {}
    for view in views:
        for dump in view.snapshot.dumps:
            alike.setdefault((view.region.applid, dump.code, dump.transid), []).append(dump)
    return sorted(alike.items(), key=lambda each: -each[1][-1].time_ns)


def _moving(view: RegionView) -> Iterator[_Moving]:
    """The queues of a region whose depths have changed in the last minutes."""
    now = view.snapshot.time_ns
    for name, times in view.depths.latest():
        if now - times <= _MINUTES_NS and name in view.queues:
            samples = view.depths.of(name)
            since = [at for at, (time_ns, _) in enumerate(samples) if now - time_ns <= _MINUTES_NS]
            if since:
                yield _Moving(len(since), view, name, samples[max(0, since[0] - 1) :])


def _row(visit: Visit, view: RegionView, present: int) -> Row:
    region, snapshot = view.region, view.snapshot
    queues = view.queues.values()
    unusable = sum(map(is_unusable, queues))
    indoubt = sum(unit.state == "INDOUBT" for unit in snapshot.units)
    abends = ", ".join(f"{code} {count:,}" for code, count in sorted(snapshot.abends.items()))
    intervals = visit.console.host.activity[region.applid].per_interval(snapshot.time_ns)
    rate = sum(commands for commands, _ in intervals[-_LATELY - 1 : -1]) / (_LATELY * INTERVAL)
    line = spark([(at, commands) for at, (commands, _) in enumerate(intervals)], len(intervals) - 1)

    def link(words: int | str, page: str, tone: str = "", **query: str) -> RichCell:
        """A figure that is a link to the page with its details."""
        text = f"{words:,}" if isinstance(words, int) else words
        href = visit.href("regions", region.applid, page)
        return {"text": text, "href": f"{href}?{urlencode(query)}" if query else href, "tone": tone if words else ""}

    return row(
        region.applid,
        link(region.applid, "queues"),
        link("ended", "incidents", "bad") if region.closed else region.recovery.start_type,
        {**link(f"{rate:,.1f}", "flows"), "spark": line, "title": "commands over the last 5 minutes"},
        link(len(view.queues), "queues", show="all"),
        link(sum(max(depth(queue), 0) for queue in queues), "queues", show="filled"),
        link(unusable, "queues", "warn", show="off"),
        link(sum(queue.cycle for queue in queues), "queues", show="cycle"),
        link(len(snapshot.tasks), "tasks"),
        link(len(snapshot.waits), "tasks", "warn"),
        link(len(snapshot.units), "units"),
        link(indoubt, "units", "bad"),
        link(present + len(snapshot.dumps), "incidents", "bad"),
        link(abends, "incidents", "bad") if abends else "none",
    )
