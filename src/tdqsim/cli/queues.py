"""Commands that show queues, and SET: inquire, peek, set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from tdqsim.cli import on_demand
from tdqsim.cli.completing import offered_options, offered_queues
from tdqsim.cli.errors import Exit, InputError, aside, warn
from tdqsim.cli.output import Json, emit, emit_json, emit_table, record_value, shown_record
from tdqsim.cli.selection import is_generic, matching, supplied
from tdqsim.cli.target import (
    RegionTarget,
    changing,
    checked_queues,
    options_of,
    reading,
    say_forgotten,
    say_no_store,
    say_unknown,
    takes_target,
    unknown_outside,
)
from tdqsim.core.codepage import codepage
from tdqsim.core.spelling import did_you_mean
from tdqsim.facts import SET_TDQUEUE_OPTIONS

if TYPE_CHECKING:
    from tdqsim.cics import Region
    from tdqsim.cli.served import ServedRegion
    from tdqsim.facts.inquiries import TdqueueInfo

app = typer.Typer(rich_markup_mode=None)

Hex = Annotated[bool, typer.Option("--hex", help="Show hexadecimal digits instead of text.")]
Page = Annotated[
    str | None, typer.Option("--code-page", metavar="PAGE", help="The code page of text; default: the region's.")
]
All = Annotated[bool, typer.Option("--all", help="Also the supplied queues that were never used.")]
Names = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="QUEUE",
        help="Queues; * stands for any characters and + for one; default: all.",
        autocompletion=offered_queues,
        callback=checked_queues,
    ),
]
_SUMMARY: Final = ("TYPE", "NUMITEMS", "ENABLESTATUS", "OPENSTATUS", "ATITRANID", "TRIGGERLEVEL", "INDIRECTNAME",
                   "DDNAME", "REMOTESYSTEM", "RECOVSTATUS")  # fmt: skip
"""The options that a list of queues shows, most important first: a narrow terminal has no room for the last."""
_TIMES: Final = ("CHANGETIME", "DEFINETIME", "INSTALLTIME")
_UNKNOWN: Final = "?"  # shown instead of a number of records that only the running region knows


def _checked_options(options: list[str] | None) -> tuple[Any, ...]:
    """The options, checked; typed as Any because a type checker cannot see that they are literals."""
    known = on_demand.facts.INQUIRE_OPTIONS["TDQUEUE"]
    wanted = tuple(word.strip().upper() for each in options or () for word in each.split(","))
    for word in wanted:
        if word not in known:
            meant = did_you_mean(word, known)
            raise InputError(
                f"--option {word}: is not an option of INQUIRE TDQUEUE{meant}"
                if meant
                else f"--option {word}: INQUIRE TDQUEUE has {', '.join(sorted(known))}"
            )
    return wanted


@app.command("inquire")
@takes_target()
def inquire(
    target: RegionTarget,
    names: Names = None,
    option: Annotated[
        list[str] | None,
        typer.Option(
            "--option",
            metavar="OPTION",
            help="Only these options; repeatable, or with commas.",
            autocompletion=offered_options,
        ),
    ] = None,
    everything: All = False,
    as_json: Json = False,
    statistics: Annotated[
        bool, typer.Option("--statistics", help="The statistics of all queues in place of their state.")
    ] = False,
    report: Annotated[
        bool, typer.Option("--report", help="With --statistics: all types, as a report like that of DFHSTUP.")
    ] = False,
) -> None:
    """INQUIRE TDQUEUE: one queue with all options that apply, generic names, or all queues but unused supplied ones."""
    if statistics or report:
        from tdqsim.cli.operate import show_statistics  # noqa: PLC0415  (only for this option)

        if names or option:
            raise InputError("--statistics shows all queues: give neither a name nor --option")
        show_statistics(target, everything=everything, report=report, as_json=as_json)
        return
    words = names or []
    options = _checked_options(option)
    with reading(target) as region:
        single = len(words) == 1 and not is_generic(words[0])
        shown = options or (() if single or as_json else _SUMMARY)
        folded = frozenset() if words or everything else supplied(region)
        wanted = [name for name in matching(region, words) if name not in folded]
        infos = {name: region.inquire_tdqueue(name, *shown) for name in wanted}
        say_no_store(target, region)
        unknown = unknown_outside(region)
    if not infos and words:
        warn(f"no queue has the name {' or '.join(words)}")
        raise typer.Exit(Exit.CONDITION)
    if as_json:
        emit_json([_as_json(name, info, unknown=name in unknown) for name, info in infos.items()])
    elif single and not options:
        ((name, info),) = infos.items()
        values = info.as_dict() | ({"NUMITEMS": _UNKNOWN} if name in unknown else {})
        rows = [(key, _moment(value) if key in _TIMES else _cell(value)) for key, value in values.items()]
        emit_table(("option", "value"), [("TDQUEUE", name), *(row for row in rows if row[1])])
        aside(f"and {sum(not row[1] for row in rows)} options that do not apply or are blank (--option, --json)")
    else:
        _emit_infos(infos, shown, unknown=unknown, empty=bool(options))
    if folded and not as_json:
        aside(f"and {len(folded)} supplied queues that were never used (--all)")
    if unknown & infos.keys() and "NUMITEMS" in (shown or ("NUMITEMS",)):
        say_unknown(unknown & infos.keys())


def _moment(value: Any) -> str:
    """An ABSTIME, in milliseconds since 1900, as date and time; an empty text for none."""
    return f"{on_demand.abstime.local_time(value):%Y-%m-%d %H:%M:%S}" if value > 0 else ""


def _as_json(name: str, info: TdqueueInfo, *, unknown: bool) -> dict[str, Any]:
    values = {"TDQUEUE": name, **info.as_dict(plain=True)}
    return values | ({"NUMITEMS": None} if unknown and "NUMITEMS" in values else {})


def _emit_infos(
    infos: Mapping[str, TdqueueInfo],
    options: tuple[str, ...],
    *,
    unknown: frozenset[str] = frozenset(),
    empty: bool = True,
) -> None:
    rows = [
        [name, *(_UNKNOWN if option == "NUMITEMS" and name in unknown else _cell(info[option]) for option in options)]
        for name, info in infos.items()
    ]
    emit_table(("TDQUEUE", *options), rows, empty=empty, more="; --option shows them")


def _cell(value: object) -> str:
    """A value for people: an empty text if the option does not apply."""
    name = getattr(value, "name", None)  # a CVDA
    if name is not None:
        return "" if name in ("NOTAPPLIC", "IGNORE") else str(name)
    if isinstance(value, int):
        return "" if value == -1 else str(value)
    return str(value).rstrip()


# -- records ----------------------------------------------------------------------------------------------------------


@app.command("peek")
@takes_target()
def peek(
    target: RegionTarget,
    names: Names = None,
    limit: Annotated[
        int | None, typer.Option("--limit", "-n", min=0, help="The maximum number of records of each queue.")
    ] = None,
    page: Page = None,
    as_hex: Hex = False,
    fields: Annotated[
        bool, typer.Option("--fields", help="Show fields by the layouts that region.yaml gives to queues.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show the records of queues in order, without removing them."""
    words = names or []
    with reading(target) as region:
        say_no_store(target, region)
        if fields:
            chosen = list(matching(region, words)) if words else _holding(region)
            _peek_fields(target, region, chosen, limit, as_json=as_json)
            return
        table = codepage(page or options_of(region).code_page)
        wanted = list(matching(region, words)) if words else _holding(region)
        unknown = unknown_outside(region)
        hidden = {name for name in wanted if unknown and _stands_for(region, name) in unknown}
        say_unknown({_stands_for(region, name) for name in hidden} if words else unknown - supplied(region))
        if as_json:
            wanted += sorted(() if words else unknown - supplied(region))
            hidden |= unknown
            values = {
                name: None if name in hidden else [record_value(each, table) for each in region.peek(name, limit=limit)]
                for name in wanted
            }
            emit_json(values)
            return
        for name in (name for name in wanted if name not in hidden):
            if len(wanted) > 1:
                emit(f"{name}:")
            for record in region.peek(name, limit=limit):
                emit(shown_record(record, table, as_hex=as_hex))


def _peek_fields(
    target: RegionTarget, region: Region | ServedRegion, names: list[str], limit: int | None, *, as_json: bool
) -> None:
    """Print records by the layouts of their queues; a queue without a layout is an error."""
    layouts = on_demand.layout_of_queue.queue_layouts(target.region_file())
    missing = [name for name in names if name not in layouts]
    if missing:
        what = "no region directory is given" if target.directory is None else "region.yaml gives it no layout"
        raise InputError(f"--fields: queue {missing[0]}: {what}")
    if as_json:
        records = {name: region.peek(name, limit=limit) for name in names}
        emit_json({name: [layouts[name].decode(each, corrupt="null") for each in records[name]] for name in names})
        return
    for name in names:
        if len(names) > 1:
            emit(f"{name}:")
        for record in region.peek(name, limit=limit):
            emit(on_demand.layout_of_queue.in_a_line(record, layouts[name]))


def _stands_for(region: Region | ServedRegion, name: str) -> str:
    """The queue that has the records: the queue itself, or the target of an alias."""
    visited = {name}
    infos = {info.tdqueue.rstrip(): info.indirectname.rstrip() for info in region.browse_tdqueue("INDIRECTNAME")}
    while (following := infos.get(name)) and following not in visited:
        name = following
        visited.add(name)
    return name


def _holding(region: Region | ServedRegion) -> list[str]:
    """The queues that hold records."""
    return [info.tdqueue.rstrip() for info in region.browse_tdqueue("NUMITEMS") if info.numitems > 0]


# -- SET --------------------------------------------------------------------------------------------------------------


@app.command("set", context_settings={"ignore_unknown_options": True})  # so that --triggerlevel 9 can be answered
@takes_target(changes=True)
def set_queue(
    target: RegionTarget,
    name: Annotated[
        str, typer.Argument(metavar="QUEUE", help="The queue.", autocompletion=offered_queues, callback=checked_queues)
    ],
    changes: Annotated[
        list[str],
        typer.Argument(metavar="OPTION=VALUE...", help="ENABLESTATUS=DISABLED, TRIGGERLEVEL=5, OPENSTATUS=CLOSED ..."),
    ],
) -> None:
    """SET TDQUEUE: change attributes of a queue, if its state allows it."""
    options = _settings(changes)
    with changing(target) as region:
        region.set_tdqueue(name.upper(), **options)
        if isinstance(region, on_demand.cics.Region):
            say_forgotten("TDQUEUE", options)
        info = region.inquire_tdqueue(name.upper(), *_SUMMARY)
        _emit_infos({name.upper(): info}, _SUMMARY)


def _settings(changes: list[str]) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    for change in changes:
        option, equals, value = change.partition("=")
        word, text = option.strip().lstrip("-").upper(), value.strip().upper()
        known = SET_TDQUEUE_OPTIONS.get(word)
        if known is None:
            options = ", ".join(SET_TDQUEUE_OPTIONS)
            hint = did_you_mean(word, SET_TDQUEUE_OPTIONS)
            raise InputError(f"{change}: write OPTION=VALUE; SET TDQUEUE has {options}{hint}")
        if not equals or option.startswith("-"):
            given = value or "VALUE"
            raise InputError(f"{change}: write OPTION=VALUE, as in tdq set PAYQ {word}={given}")
        if word.lower() in settings:
            raise InputError(f"{change}: {word} is given twice")
        if known.kind != "BINARY":
            settings[word.lower()] = text
        elif text.isascii() and text.isdigit() and len(text) <= len(str(known.highest)):
            settings[word.lower()] = int(text)
        else:
            raise InputError(f"{change}: {word} is a number from {known.lowest} to {known.highest}")
    return settings
