"""The screens of CEMT INQUIRE and SET as text: one or two lines for each resource, or a panel for a single one.

The table ``facts/cemt_layout.tsv`` has the position of each field, ``facts/cemt_texts.tsv`` the fixed words. Values
that do not apply or are negative are not shown. Source: CEMT INQUIRE TDQUEUE (IBM Docs).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final, NamedTuple

from tdqsim.cics.kernel.abstime import format_abstime
from tdqsim.facts import INQUIRE_OPTIONS, Cvda, table
from tdqsim.facts.info import Value

LINE_WIDTH: Final = 80
_STATUS_LENGTH: Final = 3
_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"
_SETTABLE: Final = frozenset(
    (row["resource"], row["option"])
    for row in table("cemt")
    if row["kind"] == "keyword" and "SET" in row["verbs"].split()
)


class _Field(NamedTuple):
    line: int
    column: int
    label: str
    option: str
    format: str


@cache
def _layout(type_name: str) -> tuple[_Field, ...]:
    return tuple(
        _Field(int(row["line"]), int(row["column"]), row["label"], row["option"], row["format"])
        for row in table("cemt_layout")
        if row["type"] == type_name
    )


@cache
def _texts() -> Mapping[str, str]:
    return {row["text"]: row["value"] for row in table("cemt_texts")}


def cemt_text(name: str) -> str:
    """A fixed text of the screen."""
    return _texts()[name]


def _is_nothing(value: Value) -> bool:
    """Whether a value means "none"; the number 1 does not, although it equals the CVDA NOTAPPLIC."""
    if isinstance(value, bytes):
        return not any(value)
    return value is Cvda.NOTAPPLIC or (value == -1 if isinstance(value, int) else not value.strip())


def _shown(field: _Field, value: Value) -> str:
    """The field as it appears on the screen; empty if it has no value."""
    if _is_nothing(value):
        return ""
    if isinstance(value, Cvda) and field.format == "status":
        return _texts().get(f"status_{value.name}", str(value.name[:_STATUS_LENGTH].capitalize()))
    width = int(field.format.lstrip(_LETTERS))
    return f"{field.label}({_written(value, width)})"


def _written(value: Value, width: int) -> str:
    if isinstance(value, bytes):
        return value.hex().upper()[:width]
    return f"{value:0{width}d}" if isinstance(value, int) else f"{value.rstrip()[:width]:<{width}}"


def label_of(resource: str) -> str:
    """The label before the name of a resource, such as ``Tdq``."""
    name_field = next(
        (field for field in _layout(resource if resource != "TDQUEUE" else "INTRA") if field.option == resource), None
    )
    return resource[:3].capitalize() if name_field is None else name_field.label


def thing_lines(resource: str, values: Mapping[str, Value], outcome: str = "") -> list[str]:
    """The line or lines of one resource in a list.

    Args:
        resource: the resource type.
        values: its name and the options by name, as INQUIRE returns them.
        outcome: the outcome of SET or DISCARD, for the end of the first line.
    """
    lines: dict[int, str] = {}
    of_type = values["TYPE"] if resource == "TDQUEUE" else None
    for field in _layout(of_type.name if isinstance(of_type, Cvda) else resource):
        shown = _shown(field, values.get(field.option, -1))
        if shown:
            line = lines.get(field.line, "")
            lines[field.line] = f"{line:<{field.column}}{shown}"
    if outcome:
        lines[1] = f"{lines[1]:<{LINE_WIDTH - len(outcome) - 1}} {outcome}"
    return [lines[number] for number in sorted(lines)]


def _panel_value(resource: str, option: str, value: Value) -> str:
    if isinstance(value, Cvda):
        return value.name.capitalize()
    if isinstance(value, bytes):
        return value.hex().upper()
    if isinstance(value, int) and INQUIRE_OPTIONS[resource][option].receiver == "ABSTIME":
        formatted = format_abstime(value, datesep="/", timesep=":")
        return f"{formatted.mmddyy} {formatted.time}"
    return f"{value:05d}" if isinstance(value, int) else str(value)


def expanded_panel(resource: str, name: str, values: Mapping[str, Value]) -> list[str]:
    """The panel of one resource, one attribute a line; those that SET can change have blanks inside the parentheses."""
    options = INQUIRE_OPTIONS[resource]
    lines = [f"  {resource.capitalize()}({name})"]
    for option in (*(name for name in ("TYPE",) if name in options), *(name for name in options if name != "TYPE")):
        value = values.get(option, -1)
        if _is_nothing(value):
            continue
        shown = _panel_value(resource, option, value)
        lines.append(f"  {option.capitalize()}({f' {shown} ' if (resource, option) in _SETTABLE else shown})")
    return lines


def page_of(lines: Sequence[str], height: int, page: int) -> list[str]:
    """One page of the body; ``+`` in column 1 of its last line means that there is more below.

    Args:
        lines: the whole body.
        height: the lines of a page; 0 for all on one page.
        page: the number of the page, from 1; a number past the last gives the last page.
    """
    if not height or len(lines) <= height:
        return list(lines)
    last = (len(lines) - 1) // height
    first = min(max(page, 1) - 1, last) * height
    shown = list(lines[first : first + height])
    if first + height < len(lines):
        shown[-1] = f"+{shown[-1][1:]}"
    return shown


def syntax_panel(verb: str = "", resource: str = "") -> list[str]:
    """The help of ``?``: the keywords that may follow, with their shortest form in capitals, one option a line.

    Without a verb it lists the verbs, without a resource type the resource types.
    """
    rows = table("cemt")
    if not verb:
        return [f"  {row['keyword']}" for row in rows if row["kind"] == "verb"]
    if not resource:
        return [f"  {row['keyword']}" for row in rows if row["kind"] == "resource" and verb in row["verbs"].split()]
    spelled = {row["keyword"].upper(): row["keyword"] for row in rows if row["kind"] != "keyword"}
    form = next(row["option"] for row in rows if row["kind"] == "resource" and row["keyword"].upper() == resource)
    options: dict[str, list[str]] = {}
    for row in rows:
        if row["kind"] == "keyword" and row["resource"] == resource and verb in row["verbs"].split():
            shown = row["keyword"] if row["cvda"] else f"{row['keyword']}( value )"
            options.setdefault(row["option"], []).append(shown)
    lines = [f"  CEMT {spelled[verb]} {spelled[resource]}"]
    lines += [] if form == "none" else ["   < ( value ) | ALl >"]
    return lines + [f"   < {' | '.join(words)} >" for words in options.values()]


def screen(
    command: str,
    body: Sequence[str],
    response: str,
    identity: tuple[str, str],
    when: tuple[str, str],
    *,
    heading: str = "heading",
    foot: str = "response",
) -> str:
    """The whole screen.

    Args:
        command: the first line.
        body: the lines between the status line and the foot.
        response: NORMAL, or the number of errors.
        identity: sysid and applid.
        when: the time as hh.mm.ss and the date as mm/dd/yy.
        heading: the name, in ``cemt_texts.tsv``, of the text in the status line.
        foot: the name of the text in the last line.
    """
    sysid, applid = identity
    last = [
        cemt_text("identity").format(blank="", sysid=sysid, applid=applid),
        cemt_text(foot).format(blank="", response=response, time=when[0], date=when[1]),
    ]
    return "\n".join(line.rstrip() for line in (f" {command}", cemt_text(heading), *body, *last))
