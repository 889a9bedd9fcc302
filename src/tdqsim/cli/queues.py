"""Look at queues, and SET them: inquire, browse, peek, snapshot, set."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from tdqsim.cli.errors import Exit, InputError, warn
from tdqsim.cli.output import emit, emit_json, emit_table, record_value, shown_record
from tdqsim.cli.place import Place, at_place, looking, using

if TYPE_CHECKING:
    from tdqsim.cics import Region
    from tdqsim.cics.spi.tdqueue_options import TdqueueInfo

__all__ = ["app", "is_generic", "matching"]

app = typer.Typer()

Json = Annotated[bool, typer.Option("--json", help="Write JSON.")]
Hex = Annotated[bool, typer.Option("--hex", help="Show hexadecimal digits, not text.")]
Page = Annotated[
    str | None, typer.Option("--code-page", metavar="PAGE", help="The code page of text; default: the region's.")
]
Names = Annotated[
    list[str] | None,
    typer.Argument(metavar="[DIR] [QUEUE...]", help="Queues; * and + stand for any letters and for one; default: all."),
]
_SUMMARY: Final = ("TYPE", "ENABLESTATUS", "NUMITEMS", "TRIGGERLEVEL", "ATITRANID", "RECOVSTATUS", "OPENSTATUS",
                   "DDNAME", "INDIRECTNAME", "REMOTESYSTEM")  # fmt: skip


def is_generic(name: str) -> bool:
    """Whether a name has * (any characters) or + (one character) in it."""
    return "*" in name or "+" in name


def matching(region: Region, names: Iterable[str]) -> Iterator[str]:
    """The installed queues that the names mean, in browse order; a plain name is taken as it is."""
    wanted = [name.upper() for name in names]
    if not wanted:
        wanted = ["*"]
    installed = [info.tdqueue.rstrip() for info in region.browse_tdqueue("TYPE")]
    seen: set[str] = set()
    for name in wanted:
        pattern = re.compile("".join({"*": ".*", "+": "."}.get(letter) or re.escape(letter) for letter in name))
        found = [each for each in installed if pattern.fullmatch(each)] if is_generic(name) else [name]
        for each in found:
            if each not in seen:
                seen.add(each)
                yield each


def _checked_options(options: list[str] | None) -> tuple[str, ...]:
    from tdqsim.facts import INQUIRE_TDQUEUE_OPTIONS  # noqa: PLC0415  (a command imports what it uses)

    wanted = tuple(word.strip().upper() for each in options or () for word in each.split(","))
    for word in wanted:
        if word not in INQUIRE_TDQUEUE_OPTIONS:
            raise InputError(f"--option {word}: INQUIRE TDQUEUE has {', '.join(sorted(INQUIRE_TDQUEUE_OPTIONS))}")
    return wanted


@app.command("inquire")
@at_place()
def inquire(
    place: Place,
    names: Names = None,
    option: Annotated[
        list[str] | None,
        typer.Option("--option", "-o", metavar="OPTION", help="Only these options; repeatable, or with commas."),
    ] = None,
    as_json: Json = False,
) -> None:
    """INQUIRE TDQUEUE: one queue with all its options, generic names, or all queues."""
    words, place = place.split(names)
    options = _checked_options(option)
    with looking(place) as found:
        single = len(words) == 1 and not is_generic(words[0])
        shown = options or (() if single or as_json else _SUMMARY)
        infos = {name: found.inquire_tdqueue(name, *shown) for name in matching(found, words)}
    if not infos:
        warn(f"no queue is called {' or '.join(words)}")
        raise typer.Exit(Exit.CONDITION)
    if as_json:
        emit_json([{"TDQUEUE": name, **info.as_dict(plain=True)} for name, info in infos.items()])
    elif single and not options:
        ((name, info),) = infos.items()
        emit_table(
            ("option", "value"), [("TDQUEUE", name), *((key, _cell(value)) for key, value in info.as_dict().items())]
        )
    else:
        _emit_infos(infos, shown)


def _emit_infos(infos: dict[str, TdqueueInfo], options: tuple[str, ...]) -> None:
    rows = [[name, *(_cell(info[option]) for option in options)] for name, info in infos.items()]
    emit_table(("TDQUEUE", *options), rows)


def _cell(value: Any) -> str:
    """A value as people want it: nothing where an option does not apply."""
    if isinstance(value, Enum):
        return "" if value.name in ("NOTAPPLIC", "IGNORE") else value.name
    if isinstance(value, int):
        return "" if value == -1 else str(value)
    return str(value).rstrip()


@app.command("browse")
@at_place()
def browse(
    place: Place,
    directory: Annotated[str | None, typer.Argument(metavar="[DIR]", help="A region directory.")] = None,
    option: Annotated[
        list[str] | None,
        typer.Option("--option", "-o", metavar="OPTION", help="Options to show; repeatable, or with commas."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Go through the installed definitions by INQUIRE TDQUEUE START, NEXT and END, in the region's order."""
    from tdqsim.cics import Condition  # noqa: PLC0415
    from tdqsim.facts import Resp  # noqa: PLC0415

    options = _checked_options(option) or ("TYPE", "ENABLESTATUS", "NUMITEMS")
    infos = []
    with looking(place.at(directory)) as found, found.task() as task:
        task.inquire_tdqueue_start()
        while True:
            try:
                infos.append(task.inquire_tdqueue_next(*options))
            except Condition as condition:
                if condition.resp is not Resp.END:
                    raise
                break
        task.inquire_tdqueue_end()
    if as_json:
        emit_json([info.as_dict(plain=True) for info in infos])
    else:
        _emit_infos({info.tdqueue.rstrip(): info for info in infos}, options)


# -- records ----------------------------------------------------------------------------------------------------------


@app.command("peek")
@at_place()
def peek(
    place: Place,
    names: Names = None,
    limit: Annotated[
        int | None, typer.Option("--limit", "-n", min=0, help="At most so many records of each queue.")
    ] = None,
    page: Page = None,
    as_hex: Hex = False,
    as_json: Json = False,
) -> None:
    """Show the records of queues in order, without taking them."""
    words, place = place.split(names)
    with looking(place) as found:
        table = _code_page(page or found.codepage)
        wanted = list(matching(found, words)) if words else _holding(found)
        if as_json:
            values = {name: [record_value(each, table) for each in _records(found, name, limit)] for name in wanted}
            emit_json(values)
            return
        for name in wanted:
            if len(wanted) > 1:
                emit(f"{name}:")
            for record in _records(found, name, limit):
                emit(shown_record(record, table, as_hex=as_hex))


def _holding(region: Region) -> list[str]:
    """The queues that hold records."""
    return [info.tdqueue.rstrip() for info in region.browse_tdqueue("NUMITEMS") if info.numitems > 0]


def _records(region: Region, name: str, limit: int | None) -> list[bytes]:
    return region.peek(name, limit=limit)


def _code_page(name: Any) -> Any:
    from tdqsim.core.codepage import codepage  # noqa: PLC0415

    return codepage(name)


@app.command("snapshot")
@at_place()
def snapshot(
    place: Place,
    directory: Annotated[str | None, typer.Argument(metavar="[DIR]", help="A region directory.")] = None,
    page: Page = None,
) -> None:
    """Write every queue that holds records, with its state and its records, as JSON."""
    with looking(place.at(directory)) as found:
        table = _code_page(page or found.codepage)
        queues = {
            name: {
                **found.inquire_tdqueue(name, "TYPE", "ENABLESTATUS", "NUMITEMS").as_dict(plain=True),
                "records": [record_value(each, table) for each in found.peek(name)],
            }
            for name in _holding(found)
        }
        emit_json({"applid": found.applid, "sysid": found.sysid, "queues": queues})


# -- SET --------------------------------------------------------------------------------------------------------------


@app.command("set")
@at_place(changes=True)
def set_queue(
    place: Place,
    name: Annotated[str, typer.Argument(metavar="QUEUE", help="The queue.")],
    changes: Annotated[
        list[str],
        typer.Argument(metavar="OPTION=VALUE...", help="ENABLESTATUS=DISABLED, TRIGGERLEVEL=5, OPENSTATUS=CLOSED ..."),
    ],
) -> None:
    """SET TDQUEUE: change what CICS lets be changed, in the state in which it may be."""
    options = _settings(changes)
    with using(place) as found:
        found.set_tdqueue(name.upper(), **options)
        _emit_infos({name.upper(): found.inquire_tdqueue(name.upper(), *_SUMMARY)}, _SUMMARY)


_SETTABLE: Final = ("ATIFACILITY", "ATITERMID", "ATITRANID", "ATIUSERID", "ENABLESTATUS", "OPENSTATUS", "TRIGGERLEVEL")


def _settings(changes: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for change in changes:
        option, equals, value = change.partition("=")
        word = option.strip().upper()
        if not equals or word not in _SETTABLE:
            raise InputError(f"{change}: write OPTION=VALUE; SET TDQUEUE has {', '.join(_SETTABLE)}")
        if word == "TRIGGERLEVEL":
            if not value.strip().isdigit():
                raise InputError(f"{change}: TRIGGERLEVEL is a number from 0 to 32767")
            found["triggerlevel"] = int(value)
        else:
            found[word.lower()] = value.strip().upper()
    return found
