"""The screens of CEMT INQUIRE and SET TDQUEUE as text: a line or two for each queue, or one queue as a panel.

Where each field stands is the table ``facts/cemt_layout.tsv``, fixed words are ``facts/cemt_texts.tsv``. Values that do
not apply or are negative are not shown. Source: CEMT INQUIRE TDQUEUE (IBM Docs).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final, NamedTuple

from tdqsim.cics.kernel.abstime import format_abstime
from tdqsim.facts import INQUIRE_TDQUEUE_OPTIONS, Cvda, table

__all__ = ["LINE_WIDTH", "cemt_text", "expanded_panel", "page_of", "queue_lines", "screen", "syntax_panel"]

LINE_WIDTH: Final = 80
_STATUS_LENGTH: Final = 3
_SETTABLE: Final = frozenset(row["name"] for row in table("set_tdqueue")) - {"ATIUSERID"}


class _Field(NamedTuple):
    line: int
    column: int
    label: str
    option: str
    format: str


@cache
def _layout(queue_type: str) -> tuple[_Field, ...]:
    return tuple(
        _Field(int(row["line"]), int(row["column"]), row["label"], row["option"], row["format"])
        for row in table("cemt_layout")
        if row["type"] == queue_type
    )


@cache
def _texts() -> Mapping[str, str]:
    return {row["text"]: row["value"] for row in table("cemt_texts")}


def cemt_text(name: str) -> str:
    """A fixed text of the screen."""
    return _texts()[name]


def _is_nothing(value: Any) -> bool:
    """Whether a value says that there is none; a number 1 is something, though it equals NOTAPPLIC."""
    return value is Cvda.NOTAPPLIC or (value == -1 if isinstance(value, int) else not value.strip())


def _shown(field: _Field, value: Any) -> str:
    """The field as it appears; empty when its value is none."""
    if _is_nothing(value):
        return ""
    if field.format == "status":
        return _texts().get(f"status_{value.name}", str(value.name[:_STATUS_LENGTH].capitalize()))
    width = int(field.format[-1])
    text = f"{value:0{width}d}" if field.format.startswith("number") else f"{value:<{width}}"
    return f"{field.label}({text})"


def queue_lines(values: Mapping[str, Any], outcome: str = "") -> list[str]:
    """The line or lines of one queue among several.

    Args:
        values: TDQUEUE and the options by name, as INQUIRE returns them.
        outcome: what SET or DISCARD did, put at the end of the first line.
    """
    lines: dict[int, str] = {}
    for field in _layout(values["TYPE"].name):
        shown = _shown(field, values.get(field.option, -1))
        if shown:
            line = lines.get(field.line, "")
            lines[field.line] = f"{line:<{field.column}}{shown}"
    if outcome:
        lines[1] = f"{lines[1]:<{LINE_WIDTH - len(outcome) - 1}} {outcome}"
    return [lines[number] for number in sorted(lines)]


def _panel_value(option: str, value: Any) -> str:
    if isinstance(value, Cvda):
        return value.name.capitalize()
    if INQUIRE_TDQUEUE_OPTIONS[option].receiver == "ABSTIME":
        formatted = format_abstime(value, datesep="/", timesep=":")
        return f"{formatted.mmddyy} {formatted.time}"
    return f"{value:05d}" if isinstance(value, int) else str(value)


def expanded_panel(values: Mapping[str, Any]) -> list[str]:
    """One queue with one attribute a line; those that SET can change have blanks inside their parentheses."""
    lines = [f"  Tdqueue({values['TDQUEUE']})"]
    for option in ("TYPE", *(name for name in INQUIRE_TDQUEUE_OPTIONS if name != "TYPE")):
        value = values[option]
        if _is_nothing(value):
            continue
        shown = _panel_value(option, value)
        lines.append(f"  {option.capitalize()}({f' {shown} ' if option in _SETTABLE else shown})")
    return lines


def page_of(lines: Sequence[str], height: int, page: int) -> list[str]:
    """One page of the body; ``+`` in column 1 of its last line says that there is more below.

    Args:
        lines: the whole body.
        height: lines on a page; 0 for all on one.
        page: which one, from 1; past the last one it is the last.
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
    """What may follow, as ``?`` shows it: keywords with their shortest form in capitals, one option a line.

    Without a verb that is the verbs, without a resource type the resource types.
    """
    if not verb or not resource:
        kind = "resource" if verb else "verb"
        return [f"  {row['keyword']}" for row in table("cemt") if row["kind"] == kind]
    options: dict[str, list[str]] = {}
    spelled = verb.capitalize()
    for row in table("cemt"):
        if row["kind"] == "verb" and row["keyword"].upper() == verb:
            spelled = row["keyword"]
        elif row["kind"] == "keyword" and verb in row["verbs"].split():
            shown = row["keyword"] if row["cvda"] else f"{row['keyword']}( value )"
            options.setdefault(row["option"], []).append(shown)
    lines = [f"  CEMT {spelled} TDqueue", "   < ( value ) | ALl >"]
    return lines + [f"   < {' | '.join(words)} >" for words in options.values()]


def screen(
    command: str,
    body: Sequence[str],
    response: str,
    identity: tuple[str, str],
    when: tuple[str, str],
    *,
    heading: str = "heading",
) -> str:
    """The whole screen.

    Args:
        command: the first line.
        body: the lines between the status line and the foot.
        response: NORMAL, or how many errors there were.
        identity: sysid and applid.
        when: hh.mm.ss and mm.dd.yy.
        heading: the name of the text in the status line.
    """
    sysid, applid = identity
    foot = [
        cemt_text("identity").format(blank="", sysid=sysid, applid=applid),
        cemt_text("response").format(response=response, time=when[0], date=when[1]),
    ]
    return "\n".join(line.rstrip() for line in (f" {command}", cemt_text(heading), *body, *foot))
