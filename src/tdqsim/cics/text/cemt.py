"""CEMT for transient data: ``cemt(region, "I TD(CS*)")`` does what the transaction does, and gives its screen.

INQUIRE, SET and DISCARD TDQUEUE with CEMT's abbreviations, generic names and lists (see
:mod:`tdqsim.cics.text.cemt_request`). One queue alone is shown as a panel, several as a line or two each; ``CEMT-``
always
gives lines. Source: CEMT INQUIRE TDQUEUE, CEMT SET TDQUEUE (IBM Docs).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tdqsim.cics.kernel.abstime import abstime, format_abstime
from tdqsim.cics.kernel.conditions import Condition
from tdqsim.cics.spi.tdqueue_options import TdqueueInfo
from tdqsim.cics.text.cemt_request import CemtRequest, parse_cemt
from tdqsim.cics.text.cemt_screen import cemt_text, expanded_panel, page_of, queue_lines, screen, syntax_panel
from tdqsim.facts import Cvda, Resp

if TYPE_CHECKING:
    from tdqsim.cics.region import Region

__all__ = ["CemtResult", "CemtRow", "cemt"]

_WORDS: Final = {Resp.QIDERR: "not_found", Resp.NOTAUTH: "not_authorized"}


@dataclass(frozen=True, slots=True)
class CemtRow:
    """One queue of the result.

    Attributes:
        name: the queue's name.
        values: what INQUIRE TDQUEUE returned; None when it could not be inquired.
        outcome: what the screen says at the end of the line: NORMAL after SET, NOT FOUND and so on; empty after an
            INQUIRE that found it.
        condition: the condition that the request met, or None.
    """

    name: str
    values: TdqueueInfo | None
    outcome: str
    condition: Condition | None = None


@dataclass(frozen=True, slots=True)
class CemtResult:
    """What a request did.

    Attributes:
        request: as understood.
        rows: the queues, in the order of the region's table, or of the list given.
        text: the screen.
    """

    request: CemtRequest
    rows: tuple[CemtRow, ...]
    text: str

    @property
    def errors(self) -> int:
        """How many queues could not be inquired or changed."""
        return sum(row.condition is not None for row in self.rows)

    def as_dict(self) -> dict[str, Any]:
        """The same as JSON-able values."""
        return {
            "request": self.request.text,
            "verb": self.request.verb,
            "errors": self.errors,
            "tdqueues": [_row_dict(row) for row in self.rows],
        }


def _row_dict(row: CemtRow) -> dict[str, Any]:
    found: dict[str, Any] = {"TDQUEUE": row.name}
    if row.values is not None:
        found |= row.values.as_dict(plain=True)
    if row.outcome:
        found["outcome"] = row.outcome
    if row.condition is not None:
        found |= {"resp": row.condition.name, "resp2": row.condition.resp2}
    return found


def cemt(region: Region, text: str, *, height: int = 0, page: int = 1) -> CemtResult:
    """Do what an operator's request says.

    Args:
        region: where.
        text: the request, with or without ``CEMT`` in front.
        height: lines of queues on a screen; 0 for all on one.
        page: which screen, from 1.

    Returns:
        The queues concerned, and the screen.

    Raises:
        CemtError: the request is not understood; nothing was done.
    """
    request = parse_cemt(text)
    if request.syntax_only:
        lines = page_of(syntax_panel(request.verb, request.resource), height, page)
        return CemtResult(request, (), _screen(region, request, lines, cemt_text("normal"), heading="syntax_heading"))
    act = {"INQUIRE": _inquired, "SET": _set, "DISCARD": _discarded}[request.verb]
    found = [act(region, request, name) for name in list(_matching(region, request))]
    rows = tuple(row for row in found if row is not None)
    lines = page_of(_body(rows, console=request.console), height, page)
    return CemtResult(request, rows, _screen(region, request, lines, _response(rows)))


def _pattern(name: str) -> re.Pattern[str]:
    pieces = {"*": ".*", "+": "."}
    return re.compile("".join(pieces.get(letter) or re.escape(letter) for letter in name))


def _matching(region: Region, request: CemtRequest) -> Iterator[str]:
    """The names the request means, those of a list as they are, filtered when it is an INQUIRE."""
    generic = not request.names or any(letter in request.names[0] for letter in "*+")
    if not generic:
        yield from request.names
        return
    pattern = _pattern(request.names[0]) if request.names else None
    for info in region.browse_tdqueue(*request.values if request.verb == "INQUIRE" else ()):
        name = info.tdqueue.rstrip()
        if (pattern is None or pattern.fullmatch(name)) and (request.verb != "INQUIRE" or _fits(info, request)):
            yield name


def _fits(info: TdqueueInfo, request: CemtRequest) -> bool:
    return all(_equal(info[option], wanted) for option, wanted in request.values.items())


def _equal(value: Any, wanted: Cvda | str) -> bool:
    if isinstance(wanted, Cvda):
        return bool(value == wanted)
    if isinstance(value, int):
        return wanted.isdigit() and value == int(wanted)
    return bool(value.rstrip() == wanted)


def _outcome(condition: Condition) -> str:
    word = _WORDS.get(condition.resp)
    return cemt_text(word) if word else f"{condition.name} RESP2({condition.resp2})"


def _inquired(region: Region, request: CemtRequest, name: str) -> CemtRow | None:
    try:
        info = region.inquire_tdqueue(name)
    except Condition as condition:
        return CemtRow(name, None, _outcome(condition), condition)
    return CemtRow(name, info, "") if _fits(info, request) else None


def _after(region: Region, name: str, condition: Condition | None) -> CemtRow:
    try:
        info = region.inquire_tdqueue(name)
    except Condition as second:
        return CemtRow(name, None, _outcome(condition or second), condition or second)
    return CemtRow(name, info, _outcome(condition) if condition else cemt_text("normal"), condition)


def _set(region: Region, request: CemtRequest, name: str) -> CemtRow:
    settings: dict[str, Any] = {option.lower(): value for option, value in request.values.items()}
    if "triggerlevel" in settings and settings["triggerlevel"].isdigit():
        settings["triggerlevel"] = int(settings["triggerlevel"])
    try:
        region.set_tdqueue(name, **settings)
    except Condition as condition:
        return _after(region, name, condition)
    return _after(region, name, None)


def _discarded(region: Region, _request: CemtRequest, name: str) -> CemtRow:
    try:
        region.discard_tdqueue(name)
    except Condition as condition:
        return _after(region, name, condition)
    return CemtRow(name, None, cemt_text("normal"))


def _response(rows: tuple[CemtRow, ...]) -> str:
    errors = sum(row.condition is not None for row in rows)
    if not rows:
        return f"1 ERROR ({cemt_text('not_found')})"
    return cemt_text("normal") if not errors else f"{errors} ERROR{'S' if errors > 1 else ''}"


def _body(rows: tuple[CemtRow, ...], *, console: bool) -> list[str]:
    if len(rows) == 1 and rows[0].values is not None and not console and not rows[0].outcome:
        return expanded_panel({"TDQUEUE": rows[0].name.ljust(4)} | rows[0].values.as_dict())
    lines: list[str] = []
    for row in rows:
        if row.values is None:
            lines.append(f"  Tdq({row.name:<4}) {row.outcome:>66}")
        else:
            lines += queue_lines({"TDQUEUE": row.name} | row.values.as_dict(), row.outcome)
    return lines


def _screen(region: Region, request: CemtRequest, body: list[str], response: str, *, heading: str = "heading") -> str:
    now = format_abstime(abstime(region.clock.time_ns(), region.zone), datesep=".", timesep=".")
    identity = (region.sysid, region.applid)
    return screen(request.text.upper(), body, response, identity, (now.time, now.mmddyy), heading=heading)
