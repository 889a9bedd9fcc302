"""``tdq explain``: describe the state of queues, and predict the result of each command."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import asdict, replace
from datetime import UTC, datetime
from difflib import get_close_matches
from pathlib import Path
from shutil import get_terminal_size
from textwrap import wrap
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from tdqsim import testing
from tdqsim.cli import on_demand
from tdqsim.cli.completing import offered_queues
from tdqsim.cli.errors import Exit, InputError, warn
from tdqsim.cli.extensions import extension
from tdqsim.cli.output import Json, emit, emit_json, emit_table, on_terminal, shown_record
from tdqsim.cli.queues import Page
from tdqsim.cli.selection import matching
from tdqsim.cli.target import RegionTarget, checked_queues, options_of, reading, takes_target, unknown_outside
from tdqsim.core.codepage import CodePage, codepage
from tdqsim.core.hexadecimal import hex_bytes
from tdqsim.errors import ConversionError
from tdqsim.facts import CONFIDENCE, rules

if TYPE_CHECKING:
    from tdqsim.cics import Region
    from tdqsim.cics.inspection.explain import Explanation
    from tdqsim.cics.model.dump import Dump
    from tdqsim.cli.served import ServedRegion

app = typer.Typer(rich_markup_mode=None)

_LAST_EVENTS: Final = 8
_HEXADECIMAL: Final = re.compile(r"[Xx]'([0-9A-Fa-f]*)'")


def _task_of(words: list[str] | None) -> int | None:
    """The number in the words ``task N``; None for other words."""
    is_task = words is not None and len(words) == 2 and words[0].lower() == "task" and words[1].isdecimal()
    return int(words[1]) if words is not None and is_task else None


def _asked_for(what: str, words: list[str] | None) -> bool:
    """Whether the words ask for the incidents, or for the notices."""
    return words is not None and [each.lower() for each in words] == [what]


def _checked_words(words: list[str] | None) -> Any:
    if _task_of(words) is not None or _asked_for("incidents", words) or _asked_for("notices", words):
        return words
    return checked_queues(words)


Words = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="QUEUE",
        help="Queues; * stands for any characters and + for one. Or task N: a task, or the dump of an abended one. "
        "Or incidents, or notices.",
        autocompletion=offered_queues,
        callback=_checked_words,
    ),
]


@app.command("explain")
@takes_target()
def explain(
    target: RegionTarget,
    names: Words = None,
    size: Annotated[int, typer.Option(min=1, help="The length of the record whose WRITEQ is predicted.")] = 1,
    history: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A history file: also show the last operations.")
    ] = None,
    record: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Show what happened to this record; X'...' for bytes.")
    ] = None,
    rule: Annotated[
        str | None, typer.Option(metavar="ID", help="Show a rule of behaviour with its source and confidence.")
    ] = None,
    page: Page = None,
    as_json: Json = False,
) -> None:
    """Explain the state of queues and why a trigger has not fired, and predict the result of each command.

    The handlers of a directory or definition file that you name are imported: they decide whether a transaction can
    start.

    With the words task N: explain what a task in a server waits for, also in another region; or show the dump of one
    that has abended, also after the server has ended. With the word incidents: what is wrong now in a server, which
    tasks have abended, and which commands were refused. With the word notices: all that a server's region has said
    since its start of what was asked for and does not happen.
    """
    if rule is not None:
        _show_rule(rule.strip().upper(), as_json=as_json)
        return
    words = names or []
    task = _task_of(words)
    if _asked_for("incidents", words):
        _show_incidents(target, as_json=as_json)
        return
    if _asked_for("notices", words):
        _show_notices(target, as_json=as_json)
        return
    if task is not None:
        _show_dump(target, task, size, as_json=as_json)
        return
    if not words:
        raise InputError("which queue? Name one or more queues, or generic names")
    if record is not None and history is None:
        raise InputError("--record needs --history FILE, which has the operations")
    with reading(target, programs=True) as region:
        explanations = [_explained(region, name, size) for name in matching(region, words)]
        installed = {info.tdqueue.rstrip() for info in region.browse_tdqueue("TYPE")}
        missing = [name for name in matching(region, words) if name not in installed]
        unknown = unknown_outside(region)
        table = codepage(page or options_of(region).code_page)
    if history is not None:
        explanations = [_with_history(each, history, table, record) for each in explanations]
    if as_json:
        emit_json([_as_json(each) for each in explanations])
    else:
        _emit(explanations)
    if unknown:
        warn(
            "this leaves out what only the running region knows: the records of its non-recoverable queues, and the "
            "handlers that its program has registered"
        )
    if missing:
        raise typer.Exit(Exit.CONDITION)


def _show_rule(name: str, *, as_json: bool) -> None:
    """Show one row of the table of rules."""
    rule = rules().get(name)
    if rule is None:
        near = get_close_matches(name, rules())
        raise InputError(f"there is no rule {name}{f'; did you mean {near[0]}?' if near else ''}")
    if as_json:
        emit_json(rule._asdict())
        return
    outcome = {"then": f"{rule.resp} {rule.resp2}".strip(), "message": rule.message}
    confidence = f"{rule.confidence}: {CONFIDENCE[rule.confidence]}"
    source = " ".join(filter(None, (rule.source, rule.release and f"({rule.release})", rule.address)))
    parts = {"command": rule.command, "when": rule.circumstances, **outcome, "confidence": confidence}
    parts |= {"source": source, "what it says": rule.point}
    emit_table(("rule", rule.id), [each for each in parts.items() if each[1]])


def _show_dump(target: RegionTarget, task: int, size: int, *, as_json: bool) -> None:
    """Show the dump of a task that has abended, and explain what it used; explain a task that has not ended.

    The dump comes from the server that has the region, or from those that a server has kept in the store.
    """
    with target.served() as region:
        if region is not None:
            told = region.explain_task(task)["statements"]
            if task in [each["task"] for each in region.tasks()]:
                emit_json({"task": task, "statements": told}) if as_json else emit("\n".join(told))
                return
            dump = _chosen(task, [on_demand.dump.Dump.from_dict(each) for each in region.dumps()])
            explanations = [_explained(region, queue, size) for queue in dump.queues]
    if region is None:
        told = []
        dump = _chosen(task, _kept_dumps(target, f"task {task}"))
        with reading(target, programs=True) as local:
            explanations = [_explained(local, queue, size) for queue in dump.queues]
    if as_json:
        emit_json({**dump.as_dict(), "statements": told, "explanations": [_as_json(each) for each in explanations]})
        return
    emit(str(dump))
    if dump.resource is not None and told:
        emit(f"What {dump.resource[1]} is now:")
        emit("\n".join(told[2:]))
    for each in explanations:
        emit(f"Queue {each.queue} now:")
        _emit([each])


def _show_incidents(target: RegionTarget, *, as_json: bool) -> None:
    """Show what is wrong now in a region of a server, the abends, and the refused commands.

    Without a server, these are the abends and refused commands that a server has kept in the store.
    """
    with target.served() as region:
        if region is not None:
            present: list[Any] = [each for each in region.incidents() if each["kind"] != "Refused"]
            dumps = [on_demand.dump.Dump.from_dict(each) for each in region.dumps()]
            refused: list[Any] = list(region.refused_commands())
    if region is None:
        present, dumps = [], _kept_dumps(target, "incidents")
        groups = extension("kept", "refused")(_store_of(target, "incidents"))
        refused = [{**each.as_dict(), "what": each.what, "cure": each.cure} for each in groups]
    if as_json:
        names = ("task", "transid", "code", "time_ns", "reason")
        abends = [{name: getattr(each, name) for name in names} for each in dumps]
        emit_json({"incidents": present, "abends": abends, "refused": refused})
        return
    lines = [f"{each['kind']}: {each['what']} {each['cure']}" for each in present]
    lines += [
        f"Abend {each.code}: {each.transid}, {_moment(each.time_ns)}: {each.reason}. See tdq explain task {each.task}."
        for each in dumps
    ]
    lines += [f"Refused: {each['what']} Last: {_moment(each['last_ns'])}. {each['cure']}" for each in refused]
    emit("\n".join(lines) or "No incident.")


def _show_notices(target: RegionTarget, *, as_json: bool) -> None:
    """Show the notices of a region of a server."""
    with target.served() as region:
        if region is None:
            raise InputError("notices: no server has the region; that of a command writes them to standard error")
        said = region.notices()
    if as_json:
        emit_json(said)
        return
    for each in said:
        times = f" ({each['times']:,} times)" if each["times"] > 1 else ""
        about = f"{each['id']} {each['resource']}".rstrip()
        cure = f" {each['cure']}" if each["cure"] else ""
        emit(f"{_moment(each['time_ns'])} {about}: {each['reason']}{cure}{times}{'' if each['lasts'] else ' Over.'}")
    if not said:
        emit("No notice.")


def _moment(time_ns: int) -> str:
    return f"{datetime.fromtimestamp(time_ns / 1e9, UTC):%Y-%m-%d %H:%M:%S} UTC"


def _store_of(target: RegionTarget, what: str) -> Path:
    """The store in which a server has kept what is asked for."""
    if target.store is None:
        raise InputError(
            f"{what}: no server has the region, and no store is given in which a server has kept dumps. "
            "A test that fails shows its dump, and a program finds it in region.diagnostics.failures"
        )
    return target.store


def _kept_dumps(target: RegionTarget, what: str) -> list[Dump]:
    """The dumps that a server has kept in the store."""
    store = _store_of(target, what)
    try:
        kept: list[Dump] = extension("kept", "dumps")(store)
    except OSError as error:
        raise InputError(f"{store}: the dumps cannot be read: {error.strerror}") from error
    return kept


def _chosen(task: int, dumps: list[Dump]) -> Dump:
    """The newest dump of a task with this number."""
    found = next((each for each in reversed(dumps) if each.task == task), None)
    if found is None:
        listed = ", ".join(f"{each.task} {each.transid} {each.code}" for each in dumps)
        raise InputError(f"task {task}: there is no dump of it; there are dumps of {listed or 'no task'}")
    return found


def _explained(region: Region | ServedRegion, name: str, size: int) -> Explanation:
    """The explanation of a queue, of a region in this process or in a server."""
    if isinstance(region, on_demand.cics.Region):
        return region.explain(name, size=size)
    explanation = region.explain(name, size=size)
    commands = {
        command: on_demand.explain_requests.Prediction(**each) for command, each in explanation["commands"].items()
    }
    statements, history = tuple(explanation["statements"]), tuple(explanation["history"])
    return on_demand.explain.Explanation(
        explanation["queue"], explanation["target"], statements, commands, explanation["starts"], history
    )


def _emit(explanations: Iterable[Explanation]) -> None:
    several = list(explanations)
    indent = "  " if len(several) > 1 else ""
    for each in several:
        if indent:
            emit(f"{each.queue}:")
        for line in str(each).splitlines():
            emit("\n".join(_folded(line, indent)))


def _folded(sentence: str, indent: str) -> list[str]:
    """A sentence as a list item, wrapped to the width of the terminal; on one line without a terminal."""
    if not on_terminal():
        return [f"{indent}- {sentence}"]
    width = get_terminal_size().columns
    return wrap(sentence, width, initial_indent=f"{indent}- ", subsequent_indent=f"{indent}  ", break_long_words=False)


def _as_json(explanation: Explanation) -> dict[str, object]:
    values = asdict(explanation)
    for each in values["commands"].values():
        del each["command"]
    return values


# -- the operations of a history ---------------------------------------------------------------------------------------


def _with_history(explanation: Explanation, file: Path, page: CodePage, record: str | None) -> Explanation:
    """Add the last operations on the queue from a history, or those on one of its records."""
    events = [event for event in testing.load_history(file) if isinstance(event, testing.Event)]
    if record is None:
        chosen = [event for event in events if event.queue == explanation.target and event.kind != "QUEUE"][
            -_LAST_EVENTS:
        ]
    else:
        chosen = on_demand.history.story_of(events, explanation.target, _bytes_of(record, page))
    return replace(explanation, history=tuple(event.line(lambda data: shown_record(data, page)) for event in chosen))


def _bytes_of(record: str, page: CodePage) -> bytes:
    hexadecimal = _HEXADECIMAL.fullmatch(record)
    try:
        return hex_bytes(hexadecimal[1]) if hexadecimal else page.encode(record)
    except (ValueError, ConversionError) as error:
        raise InputError(f"--record {record!r}: {error}") from error
