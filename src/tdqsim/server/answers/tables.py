"""Answers with the fields of a table of facts, or of a record of the core, which are made from it at import.

The descriptions of the fields are those in the docstring of the record. The build writes ``tables.pyi`` for editors and
type checkers: ``python -m tests.generators.stubs`` does it in a clone.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from inspect import getdoc
from types import UnionType
from typing import Annotated, Any, Final, NotRequired, Required, Union, get_args, get_origin, get_type_hints

from pydantic import Field
from typing_extensions import TypedDict

from tdqsim.datasets import SubmittedJob
from tdqsim.facts import INQUIRE_OPTIONS, table
from tdqsim.faults import DiskFull, Fault, LinkCut, MessageFault
from tdqsim.ibmi import RDQD0100, RDQD0200, DataQueueInfoRow
from tdqsim.report import RefusedGroup
from tdqsim.server.incidents import Incident
from tdqsim.state import Dump, Explanation, Notice, PlannedInstall, Prediction, TaskState, UnitState

_NUMBERS: Final = frozenset({"BINARY", "HALF", "PACKED", "ABSTIME"})
_PLAIN: Final = (str, int, float, bool, type(None))
_LISTED: Final = re.compile(r"^    (\w+(?:, \w+)*): (.*(?:\n {5,}.*)*)", re.MULTILINE)
"""Attributes in a docstring, and the text about them."""
_MARKUP: Final = re.compile(r":\w+:`~?(?:\w+\.)*(\w+)`|``")
INNER: Final[dict[type, Any]] = {}
"""The answers that are made of the records inside other records, by the record."""


def _made(name: str, about: str, fields: Mapping[str, Any], *, total: bool = True) -> Any:
    made = TypedDict(name, fields, total=total)
    made.__doc__ = about
    return made


def _said(hint: Any, about: str) -> Any:
    return Annotated[hint, Field(description=about)]


def _json(hint: Any) -> Any:
    """The type of a value in JSON: lists for tuples, text for constants, bytes and times."""
    arguments = [_json(each) for each in get_args(hint) if each is not Ellipsis] if get_origin(hint) else []
    if hint in _PLAIN:
        return hint
    if get_origin(hint) is dict:
        return dict[arguments[0], arguments[1]]  # type: ignore[valid-type]
    if get_origin(hint) is tuple:
        return list[arguments[0]]  # type: ignore[valid-type]
    if get_origin(hint) in (Union, UnionType):
        return Union[*arguments]
    if isinstance(hint, type) and hasattr(hint, "__dataclass_fields__"):
        if hint not in INNER:
            INNER[hint] = _record(f"{hint.__name__.removesuffix('State')}State", hint)
        return INNER[hint]
    return str


def _hints(record: Any) -> dict[str, Any]:
    names = getattr(record, "_fields", None) or record.__dataclass_fields__
    return {name: _json(hint) for name, hint in get_type_hints(record).items() if name in names}


def _fields(record: type, only: Collection[str] = ()) -> dict[str, Any]:
    """The fields of a record, or some of them, with their descriptions."""
    listed = _LISTED.findall(getdoc(record) or "")
    about = {name: " ".join(_MARKUP.sub(r"\1", text).split()) for names, text in listed for name in names.split(", ")}
    return {
        name: _said(hint, about[name].rstrip(".")) if name in about else hint
        for name, hint in _hints(record).items()
        if not only or name in only
    }


def _record(name: str, record: type, about: str = "", only: Collection[str] = (), **others: Any) -> Any:
    """An answer with the fields of a record, or some of them, and others."""
    return _made(name, about or (getdoc(record) or "").partition("\n")[0], _fields(record, only) | others)


# -- tables of facts --------------------------------------------------------------------------------------------------

CvdaValue = _made("CvdaValue", "A CVDA by name and number.", {"cvda": str, "value": int})

_OPTIONS: Final = {
    option.name: CvdaValue if option.receiver == "CVDA" else int if option.receiver in _NUMBERS else str
    for option in INQUIRE_OPTIONS["TDQUEUE"].values()
}
TdqueueState = _made(
    "TdqueueState", "A queue: its name, and all options of INQUIRE TDQUEUE.", {"name": str, **_OPTIONS}
)
TdqueueOptions = _made(
    "TdqueueOptions",
    "A queue: its name, and the options of INQUIRE TDQUEUE that were asked for.",
    {"name": Required[str], **_OPTIONS},
    total=False,
)


def _statistics(*records: str) -> dict[str, Any]:
    """The values of records of statistics."""
    kinds = {row["origin"]: row["kind"] for row in table("statistics") if row["record"] in records}
    return {
        name: str if kind[0] in "CX" or _OPTIONS.get(name.upper()) is CvdaValue else int
        for name, kind in kinds.items()
        if name.isidentifier() and name != "length"
    }


QueueStatistics = _made(
    "QueueStatistics",
    "The statistics of one queue.",
    _statistics("TQR") | {"definetime": int, "changeagrel": str},
)
TotalStatistics = _made("TotalStatistics", "The statistics of the intrapartition data set.", _statistics("TQG"))
OtherStatistics = _made(
    "OtherStatistics",
    "The statistics of another type: one record with some of these values.\n\n"
    "``record`` is the beginning of the vendor's field names: XMG all transactions, XMR one transaction, XMC one\n"
    "transaction class, TSG temporary storage, LDR one program, A17 one file, DSG the dispatcher, STG the statistics.",
    {"record": str, "name": NotRequired[str]}
    | {
        name: NotRequired[hint]
        for name, hint in sorted(_statistics(*{row["record"] for row in table("statistics")} - {"TQR", "TQG"}).items())
    },
)
RegionStatistics = _made(
    "RegionStatistics",
    "The current statistics.",
    {
        "reason": str, "abstime": int, "queues": list[QueueStatistics], "total": TotalStatistics | None,
        "records": list[OtherStatistics],
    },
)  # fmt: skip

# -- records ----------------------------------------------------------------------------------------------------------

PlannedFault = _made(
    "PlannedFault",
    "A fault of a plan; which fields it has depends on its kind.",
    {"kind": _said(str, "condition, message, link or disk")}
    | {
        name: NotRequired[hint]
        for each in (Fault, MessageFault, LinkCut, DiskFull)
        for name, hint in _hints(each).items()
        if name != "kind"
    },
)
DefinitionChange = _record("DefinitionChange", PlannedInstall, "What the installation of a definition changes.")
DumpState = _record("DumpState", Dump, statement=_said(str, "the text of that line; empty if unknown"))
NoticeState = _record(
    "NoticeState",
    Notice,
    "Something that was asked for and does not happen, or has failed.",
    times=_said(int, "how often it was given since its cause began"),
    lasts=_said(bool, "whether its cause has not ended, as far as is known"),
)
RefusedState = _record(
    "RefusedState",
    RefusedGroup,
    "Refused commands that are alike.",
    what=_said(str, "what happens"),
    cure=_said(str, "what ends it"),
    present=_said(bool, "whether it is an incident now"),
)
IncidentState = _record(
    "IncidentState",
    Incident,
    "Something in the present state of a region that needs attention.",
    ("kind", "what", "cure", "since_ns"),
    page=_said(str, "the path of the page of the console with its details"),
)
PredictedOutcome = INNER[Prediction] = _record("PredictedOutcome", Prediction)
QueueExplanation = _record(
    "QueueExplanation",
    Explanation,
    "Why a queue is in its state.",
    explanation=_said(str, "the whole explanation in sentences"),
)
TaskEntry = _record(
    "TaskEntry",
    TaskState,
    "A task that has not ended.",
    ("transid", "userid", "suspended", "waits_for", "since_ns"),
    task=int,
    held_by=_said(str, "the holder of the resource that it waits for; empty for none"),
)
UnitOfWorkState = _record(
    "UnitOfWorkState",
    UnitState,
    "A unit of work of a region.",
    ("uow", "state", "waitstate"),
    task=_said(int, "its task's number"),
)
SubmittedJobInfo = _record(
    "SubmittedJobInfo",
    SubmittedJob,
    "A job that was submitted through the internal reader.",
    ("number", "name", "submitter", "time_ns"),
    id=str,
    scan=_said(bool, "whether it has a /*SCAN card, so that it is only checked"),
    cards=_said(int, "the number of its cards"),
    lines=_said(list[str], "its cards; only the first ones of a long job"),
)
DataQueueInfo = _record("DataQueueInfo", DataQueueInfoRow, "A row of DATA_QUEUE_INFO.")
DataQueueDescription = _record("DataQueueDescription", RDQD0100, "Format RDQD0100 of QMHQRDQD; bytes in hexadecimal.")
DdmDataQueueDescription = _record("DdmDataQueueDescription", RDQD0200, "Format RDQD0200 of QMHQRDQD.")
