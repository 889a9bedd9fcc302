"""The page of one abend: the dump of its task, and the present state of the queues that it used."""

from __future__ import annotations

from functools import partial
from typing import Final

from fastapi import HTTPException, Request
from nicegui import ui

from tdqsim import state
from tdqsim.server.console.controls import Block, card
from tdqsim.server.console.frame import Console, Visit, frame
from tdqsim.server.console.live import RegionView
from tdqsim.server.console.page import region_name
from tdqsim.server.console.pages.incidents import day_and_time
from tdqsim.server.console.queue_state import read_queue
from tdqsim.server.console.record_text import text_of
from tdqsim.server.console.table import Cell, DataTable, Row, column, row
from tdqsim.state import Dump

_SHOWN: Final = 240
"""The maximum number of bytes of a record."""
_LINES: Final = 500
"""The maximum number of storage items."""
_FACTS: Final = (column("name", "Field"), column("value", "Value", mono=True))
_COMMANDS: Final = (column("number", "Number", num=True), column("command", "Command, record and answer", mono=True))
_HELD: Final = (
    column("queue", "Queue"), column("ends", "Held"), column("done", "Not committed"),
    column("records", "Records written", mono=True, wide=True),
)  # fmt: skip
_STORAGE: Final = (
    column("program", "Program"), column("name", "Item", mono=True), column("picture", "Picture", mono=True),
    column("value", "Value", mono=True, wide=True), column("hex", "Hexadecimal", mono=True),
)  # fmt: skip


def add(console: Console) -> None:
    """Register the page."""

    @ui.page("/regions/{region}/incidents/{time_ns}/{task}")
    async def incident(request: Request, region: str, time_ns: int, task: int) -> None:
        name = region_name(console, region)
        await console.live.ready([name])
        view = console.live.view(name)
        kept = await console.host.ask(lambda: list(view.region.diagnostics.failures))
        dump = next((each for each in kept if (each.time_ns, each.task) == (time_ns, task)), None)
        if dump is None:
            raise HTTPException(404, f"region {name} keeps no dump of task {task} at that time")
        title = f"Abend {dump.code} of task {dump.task} {dump.transid}"
        with frame(console, request, title, region=name, here="incidents") as visit:
            await _build(visit, view, dump)


async def _build(visit: Visit, view: RegionView, dump: Dump) -> None:
    with Block("div", "tdq-beside"):
        with Block("div"):
            _what(visit, view, dump)
            _where(dump)
            _commands(dump)
        with Block("div"):
            await _what_to_do(visit, view, dump)
    _held(visit, view, dump)
    if dump.storage:
        _storage(dump)


def _what(visit: Visit, view: RegionView, dump: Dump) -> None:
    page = visit.href("regions", view.region.applid, "tasks", str(dump.task))
    task: Cell = {"text": f"{dump.task} {dump.transid}, user {dump.userid}", "href": page}
    facts: dict[str, Cell] = {
        "Time": f"{day_and_time(dump.time_ns)} UTC",
        "Task": task,
        "Program": dump.program,
        "Place": f"{dump.file}:{dump.line}" if dump.file else "",
    }
    with card("What happened"):
        Block("p", "tdq-explain", dump.reason)
        rows: list[Row] = [row(name, name, value) for name, value in facts.items() if value]
        DataTable("The task", _FACTS, keep=True).show(rows)


def _where(dump: Dump) -> None:
    with card("Where"):
        if not dump.source:
            Block("p", "tdq-dim", "The source of the failing statement is not known.")
        else:
            with Block("pre", "tdq-source tdq-mono", tabindex="0", role="group", aria_label="Source"):
                for line in dump.source:
                    at = line.number == dump.line
                    Block("span", "here" if at else "", f"{line.number:6} {'>' if at else ' '} {line.text}\n")
        if dump.calls:
            Block("h3", words="Programs, the failing one first")
            Block("p", "tdq-explain tdq-mono", "\n".join(dump.calls))


def _commands(dump: Dump) -> None:
    with card("Last commands"):
        rows: list[Row] = [row(str(at), at, text) for at, text in enumerate(dump.commands, 1)]
        DataTable("Last commands", _COMMANDS, keep=True, empty="The task had issued no command.").show(rows)


def _held(visit: Visit, view: RegionView, dump: Dump) -> None:
    with card("What was held", "What the task held and had not committed; all of it was backed out"):
        queues = dict.fromkeys([*(queue for queue, _end in dump.locks), *(work.queue for work in dump.works)])
        rows = [_row(visit, view, dump, queue) for queue in queues]
        DataTable("What was held", _HELD, empty="It held no end of a queue.").show(rows)


def _row(visit: Visit, view: RegionView, dump: Dump, queue: str) -> Row:
    work = next((each for each in dump.works if each.queue == queue), None)
    name: Cell = {"text": queue, "href": visit.href("regions", view.region.applid, "queues", queue)}
    ends = ", ".join(end for held, end in dump.locks if held == queue)
    if work is None:
        return row(queue, name, ends, "", "")
    done = f"{work.reads:,} read, {work.writes:,} written{', deleted' if work.deleted else ''}"
    records = [text_of(record, view.region.options.code_page, _SHOWN) for record in work.records]
    more = [f"... {work.writes - len(records):,} more"] if work.writes > len(records) else []
    return row(queue, name, ends, done, {"lines": [*records, *more]})


def _storage(dump: Dump) -> None:
    with card("Storage", "Storage of the COBOL programs"):
        rows: list[Row] = []
        for at, item in enumerate(dump.storage[:_LINES]):
            rows.append(row(str(at), item.program, item.name, item.picture, item.value, item.hex))
        DataTable("Storage", _STORAGE).show(rows)
        if len(dump.storage) > _LINES:
            Block("p", "tdq-dim", f"{len(dump.storage) - _LINES:,} more items are in GET /regions/R/dumps.")


async def _what_to_do(visit: Visit, view: RegionView, dump: Dump) -> None:
    """The explanations, as of now, of the queues that the task used, and of what its last command named."""
    with card("What to do", "What to do: what it used, as it is now"):
        if not dump.queues and dump.resource is None:
            Block("p", "tdq-dim", "Its last command and its unit of work name no queue, program or transaction.")
        for queue in dump.queues:
            Block("h3", words=queue)
            details = await visit.ask(partial(read_queue, view.region, queue, visit.caller.userid))
            installed = queue in view.region.tdqueues
            predicted = [str(each) for name, each in details.commands.items() if installed and name.endswith(" TD")]
            Block("p", "tdq-explain", "\n".join([*details.explanation, *predicted]))
        if dump.resource is not None:
            kind, name = dump.resource
            Block("h3", words=name)
            now = partial(state.explain, view.region, name, kind=kind)
            Block("p", "tdq-explain", str(await visit.ask(now)))
