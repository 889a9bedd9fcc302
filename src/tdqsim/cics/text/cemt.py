"""CEMT: ``cemt(region, "I TD(CS*)")`` carries out the request as the transaction does, and returns its screen.

INQUIRE, SET and DISCARD with CEMT's abbreviations, generic names and lists (see :mod:`tdqsim.cics.text.cemt_request`),
of TDQUEUE, TASK, TRANSACTION, UOW, UOWENQ, UOWLINK and CONNECTION, and of FILE, PROGRAM, TERMINAL and TSQUEUE
(:mod:`~tdqsim.cics.text.cemt_resources`). The screen shows the values that INQUIRE returns: the resource types, their
options and the functions that read the values are those of :mod:`tdqsim.cics.spi.inquiry`. SET and DISCARD call the
commands. A single resource is shown as a panel, several with one or two lines each; ``CEMT-`` always gives lines. The
request runs in its own CEMT task, which INQUIRE TASK shows too. Source: CEMT INQUIRE, CEMT SET (IBM Docs).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from tdqsim.cics.kernel.abstime import abstime, format_abstime
from tdqsim.cics.kernel.authority import check_command, report_refusal
from tdqsim.cics.kernel.conditions import Condition, is_published
from tdqsim.cics.kernel.security import Access
from tdqsim.cics.model.region import RegionBase, RegionData
from tdqsim.cics.spi.create import discard_tdqueue
from tdqsim.cics.spi.inquire_connection import CONNECTION
from tdqsim.cics.spi.inquire_file import FILE, set_file
from tdqsim.cics.spi.inquire_task import TASK, set_task
from tdqsim.cics.spi.inquire_transaction import TRANSACTION, set_transaction
from tdqsim.cics.spi.inquire_uow import UOW, set_uow
from tdqsim.cics.spi.inquire_uowenq import UOWENQ
from tdqsim.cics.spi.inquire_uowlink import UOWLINK, set_uowlink
from tdqsim.cics.spi.inquiry import ResourceType, all_visible, inquire_one
from tdqsim.cics.spi.tdqueue_options import TDQUEUE
from tdqsim.cics.text.cemt_request import CemtRequest, parse_cemt
from tdqsim.cics.text.cemt_resources import PROGRAM, TERMINAL, TSQUEUE, set_terminal
from tdqsim.cics.text.cemt_screen import (
    LINE_WIDTH,
    cemt_text,
    expanded_panel,
    label_of,
    page_of,
    screen,
    syntax_panel,
    thing_lines,
)
from tdqsim.cics.text.parts import check_region, task_of
from tdqsim.cics.ts.commands import deleteq_ts
from tdqsim.facts import SET_TDQUEUE_OPTIONS, Cvda, Resp
from tdqsim.facts.info import Info, Value

if TYPE_CHECKING:
    from tdqsim.cics.commands import Task

_WORDS: Final = {
    Resp.QIDERR: "not_found", Resp.TASKIDERR: "not_found", Resp.TRANSIDERR: "not_found", Resp.UOWNOTFOUND: "not_found",
    Resp.FILENOTFOUND: "not_found", Resp.PGMIDERR: "not_found", Resp.TERMIDERR: "not_found",
    Resp.UOWLNOTFOUND: "not_found", Resp.SYSIDERR: "not_found", Resp.NOTAUTH: "not_authorized",
}  # fmt: skip
_TRANSID: Final = "CEMT"
_NAME_LENGTHS: Final = {
    "TDQUEUE": 4, "TRANSACTION": 4, "CONNECTION": 4, "TERMINAL": 4, "FILE": 8, "PROGRAM": 8, "TSQUEUE": 16,
}  # fmt: skip
_NUMBER_LENGTH: Final = 7
_UOW_LENGTH: Final = 16

_Key = Any
"""A resource's key: text, a number, or bytes, depending on the resource type."""
_Settings = dict[str, Any]
"""The new values of SET, by parameter of its command."""


def _hex(key: bytes) -> str:
    return key.hex().upper()


def _bytes(name: str) -> bytes:
    return bytes.fromhex(name.ljust(len(name) + len(name) % 2, "0"))


def _set_tdqueue(task: Task, name: str, settings: _Settings) -> None:
    for option in SET_TDQUEUE_OPTIONS.values():
        word = option.name.lower()
        if option.kind == "BINARY" and word in settings:
            settings[word] = _number(settings[word])
    task.set_tdqueue(name, **settings)


def _number(text: str) -> int | str:
    """Decimal digits as a number; other text unchanged, which then matches no number and is refused by SET."""
    return int(text) if text.isascii() and text.isdigit() else text


@dataclass(frozen=True, slots=True)
class _Kind:
    """A resource type of CEMT.

    Attributes:
        resource: its table for INQUIRE.
        key: converts a typed name into the key of a resource.
        shown: converts the identifying value of a resource into its name on the screen.
        change: carries out SET; None if there is no SET.
        discard: carries out DISCARD; None if there is no DISCARD.
    """

    resource: ResourceType[_Key, Any, Any]
    key: Callable[[str], _Key] = str
    shown: Callable[[_Key], str] = str
    change: Callable[[Task, _Key, _Settings], None] | None = None
    discard: Callable[[Task, _Key], None] | None = None


_KINDS: Final[Mapping[str, _Kind]] = {
    "CONNECTION": _Kind(CONNECTION),
    "FILE": _Kind(FILE, change=lambda task, name, settings: set_file(task, name, **settings)),
    "PROGRAM": _Kind(PROGRAM),
    "TERMINAL": _Kind(TERMINAL, change=set_terminal),
    "TSQUEUE": _Kind(TSQUEUE, change=lambda task, name, _settings: deleteq_ts(task, name)),
    "TASK": _Kind(
        TASK,
        int,
        lambda number: f"{number:0{_NUMBER_LENGTH}d}",
        lambda task, number, settings: set_task(task, number, **settings),
    ),
    "TDQUEUE": _Kind(
        TDQUEUE,
        change=_set_tdqueue,
        discard=discard_tdqueue,
    ),
    "TRANSACTION": _Kind(
        TRANSACTION,
        change=lambda task, name, settings: set_transaction(task, name, **settings),
    ),
    "UOW": _Kind(
        UOW,
        lambda name: _bytes(name)[: _UOW_LENGTH // 2],
        lambda uow_id: _hex(uow_id)[:_UOW_LENGTH],
        lambda task, uow_id, settings: set_uow(task, uow_id, **settings),
    ),
    "UOWENQ": _Kind(UOWENQ),
    "UOWLINK": _Kind(UOWLINK, _bytes, _hex, lambda task, token, settings: set_uowlink(task, token, **settings)),
}


@dataclass(frozen=True, slots=True)
class CemtRow:
    """One resource of the result.

    Attributes:
        name: its name, without padding.
        values: the values from INQUIRE; None if INQUIRE failed.
        outcome: the text at the end of its line on the screen: NORMAL after SET, NOT FOUND and so on; empty after a
            successful INQUIRE.
        condition: the condition of the request, or None.
    """

    name: str
    values: Info | None
    outcome: str
    condition: Condition | None = None


@dataclass(frozen=True, slots=True)
class CemtResult:
    """The result of a request.

    Attributes:
        request: the parsed request.
        rows: the resources, in the order of the region's table or of the given list.
        text: the screen, with one or two lines for each resource.
        panel: returns the expanded screen of one of :attr:`rows`, with one attribute a line; a CEMT user gets it with
            the cursor on its line and ENTER.
    """

    request: CemtRequest
    rows: tuple[CemtRow, ...]
    text: str
    panel: Callable[[CemtRow], str] = field(repr=False, compare=False)

    @property
    def errors(self) -> int:
        """The number of resources that could not be inquired or changed; 1 if no resource matches."""
        if not self.rows:
            return 0 if self.request.syntax_only else 1
        return sum(row.condition is not None for row in self.rows)

    def as_dict(self) -> dict[str, Any]:
        """The result as values for JSON: the resources under the plural of their type, such as ``tdqueues``."""
        resource = self.request.resource
        return {
            "request": self.request.text,
            "verb": self.request.verb,
            "errors": self.errors,
            f"{resource.lower() or 'tdqueue'}s": [_row_dict(resource, row) for row in self.rows],
        }


def _row_dict(resource: str, row: CemtRow) -> dict[str, Any]:
    values: dict[str, Any] = {resource: row.name} if row.name else {}
    if row.values is not None:
        values |= {option: _jsonable(value) for option, value in row.values.as_dict(plain=True).items()}
    if row.outcome:
        values["outcome"] = row.outcome
    if row.condition is not None:
        values |= {"resp": row.condition.name, "resp2": row.condition.resp2}
    return values


def _jsonable(value: Value) -> Any:
    return _hex(value) if isinstance(value, bytes) else value


def cemt(region: RegionBase, text: str, *, height: int = 0, page: int = 1, userid: str = "") -> CemtResult:
    """Carry out a request of an operator.

    Args:
        region: the region.
        text: the request, with or without a leading ``CEMT``.
        height: the lines of the screen's body; 0 for all on one screen.
        page: the number of the screen, from 1.
        userid: the operator's user ID; the default user if not given.

    Returns:
        The resources concerned, and the screen.

    Raises:
        CemtError: the request has a syntax error; nothing was done.
    """
    check_region(region, "cemt")
    core = region._core
    request = parse_cemt(text)
    panel = partial(_panel, core, request)
    if request.syntax_only:
        lines = page_of(syntax_panel(request.verb, request.resource), height, page)
        text = _screen(core, request, lines, cemt_text("normal"), heading="syntax_heading")
        return CemtResult(request, (), text, panel)
    with task_of(core, _TRANSID, userid) as task:
        rows = tuple(_rows(task, _KINDS[request.resource], request))
    lines = page_of(_body(request, rows), height, page)
    return CemtResult(request, rows, _screen(core, request, lines, _response(rows)), panel)


# -- carrying out a request -------------------------------------------------------------------------------------------


def _rows(task: Task, kind: _Kind, request: CemtRequest) -> Iterator[CemtRow]:
    if request.verb == "INQUIRE":
        yield from _inquired(task, kind, request)
        return
    for name in list(_named(task, kind, request)):
        try:
            if request.verb == "SET":
                assert kind.change is not None, request
                kind.change(task, kind.key(name), {option.lower(): value for option, value in request.values.items()})
            else:
                assert kind.discard is not None, request
                kind.discard(task, kind.key(name))
        except Condition as condition:
            report_refusal(task, condition)
            yield _after(task, kind, name, condition)
        else:
            yield _after(task, kind, name, None, gone=request.verb == "DISCARD")


def _named(task: Task, kind: _Kind, request: CemtRequest) -> Iterator[str]:
    """The names that the request selects; the names of a list are returned unchanged."""
    if request.names and not _is_generic(request.names):
        yield from request.names
        return
    for values in _matching(task, kind, request):
        yield _name_of(kind, values)


def _inquired(task: Task, kind: _Kind, request: CemtRequest) -> Iterator[CemtRow]:
    if not request.names or _is_generic(request.names):
        for values in _matching(task, kind, request):
            if _fits(values, request):
                name = _name_of(kind, values)
                values.pop(kind.resource.word, None)
                yield CemtRow(name, kind.resource.info(values), "")
        return
    for name in request.names:
        try:
            info = inquire_one(task, kind.resource, kind.key(name), ())
        except Condition as condition:
            report_refusal(task, condition)
            yield CemtRow(name, None, _outcome(condition), condition)
        else:
            if _fits(info.as_dict(), request):
                yield CemtRow(name, info, "")


def _is_generic(names: tuple[str, ...]) -> bool:
    return any(letter in names[0] for letter in "*+")


def _matching(task: Task, kind: _Kind, request: CemtRequest) -> Iterator[dict[str, Value]]:
    """The resources that match the names of the request, with their values."""
    try:
        check_command(task, kind.resource.name, Access.READ)
    except Condition as condition:
        report_refusal(task, condition)
        raise
    pattern = _pattern(request.names[0]) if request.names else None
    for values in all_visible(task, kind.resource, list(kind.resource.keys(task._region))):
        if pattern is None or pattern.fullmatch(_name_of(kind, values)):
            yield values


def _name_of(kind: _Kind, values: Mapping[str, Value]) -> str:
    word = kind.resource.word
    return kind.shown(values[word]).rstrip() if word else ""


def _pattern(name: str) -> re.Pattern[str]:
    pieces = {"*": ".*", "+": "."}
    return re.compile("".join(pieces.get(letter) or re.escape(letter) for letter in name))


def _fits(values: Mapping[str, Value], request: CemtRequest) -> bool:
    return all(_equal(values[option], wanted) for option, wanted in request.values.items())


def _equal(value: Value, wanted: Cvda | str) -> bool:
    if isinstance(wanted, Cvda):
        return bool(value == wanted)
    if isinstance(value, int):
        return value == _number(wanted)
    return bool(value.rstrip() == wanted)


def _outcome(condition: Condition) -> str:
    word = _WORDS.get(condition.resp)
    if word:
        return cemt_text(word)
    if not is_published(condition.resp2):
        return f"{condition.name} RESP2 NOT PUBLISHED"
    return f"{condition.name} RESP2({condition.resp2})"


def _after(task: Task, kind: _Kind, name: str, condition: Condition | None, *, gone: bool = False) -> CemtRow:
    """The resource's row after SET or DISCARD; the resource may no longer exist."""
    try:
        info = inquire_one(task, kind.resource, kind.key(name), ())
    except Condition as second:
        if condition is None and (gone or kind.resource is not TDQUEUE):
            return CemtRow(name, None, cemt_text("normal"))
        failed = condition or second
        return CemtRow(name, None, _outcome(failed), failed)
    return CemtRow(name, info, _outcome(condition) if condition else cemt_text("normal"), condition)


# -- the screen -------------------------------------------------------------------------------------------------------


def _response(rows: tuple[CemtRow, ...]) -> str:
    errors = sum(row.condition is not None for row in rows)
    if not rows:
        return f"1 ERROR ({cemt_text('not_found')})"
    return cemt_text("normal") if not errors else f"{errors} ERROR{'S' if errors > 1 else ''}"


def _body(request: CemtRequest, rows: tuple[CemtRow, ...]) -> list[str]:
    resource, kind = request.resource, _KINDS[request.resource]
    lines: list[str] = []
    for row in rows:
        if row.values is None:
            begin = f"  {label_of(resource)}({_padded(resource, row.name)})"
            lines.append(f"{begin} {row.outcome:>{LINE_WIDTH - len(begin) - 2}}")
        else:
            named = {kind.resource.word: kind.key(row.name)} if row.name else {}
            lines += thing_lines(resource, named | row.values.as_dict(), row.outcome)
    return lines


def _panel(region: RegionData, request: CemtRequest, row: CemtRow) -> str:
    """The expanded screen of one resource; without attributes if INQUIRE failed."""
    values = {} if row.values is None else row.values.as_dict()
    body = expanded_panel(request.resource, _padded(request.resource, row.name), values)
    return _screen(region, request, body, "", heading="panel_heading", foot="panel_foot")


def _padded(resource: str, name: str) -> str:
    return name.ljust(_NAME_LENGTHS.get(resource, 0))


def _screen(
    region: RegionData,
    request: CemtRequest,
    body: list[str],
    response: str,
    *,
    heading: str = "heading",
    foot: str = "response",
) -> str:
    now = format_abstime(abstime(region.clock.time_ns(), region.zone), datesep="/", timesep=".")
    when = (now.time, now.mmddyy)
    identity = (region.sysid, region.applid)
    return screen(request.text.upper(), body, response, identity, when, heading=heading, foot=foot)
