"""Answers with the fields of a table of facts, or of a record of the core, which are made from it at import.

The build writes ``tables.pyi`` for editors and type checkers: ``python -m tests.generators.stubs`` does it in a clone.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, NotRequired, Required, get_type_hints

from typing_extensions import TypedDict

from tdqsim.facts import INQUIRE_TDQUEUE_OPTIONS, table
from tdqsim.ibmi import RDQD0100, RDQD0200, DataQueueInfoRow

_NUMBERS: Final = frozenset({"BINARY", "HALF", "PACKED", "ABSTIME"})
_AS_TEXT: Final = {bytes: str, datetime | None: str | None}
"""The types whose values are text in JSON."""


def _made(name: str, about: str, fields: Mapping[str, Any], *, total: bool = True) -> Any:
    made = TypedDict(name, fields, total=total)
    made.__doc__ = about
    return made


def _record(name: str, about: str, record: type) -> Any:
    return _made(name, about, {each: _AS_TEXT.get(hint, hint) for each, hint in get_type_hints(record).items()})


def _statistics() -> dict[str, Any]:
    """The values of all records but those of queues, the name first."""
    kinds = {row["origin"]: row["kind"] for row in table("statistics") if row["record"] not in ("TQR", "TQG")}
    names = sorted(name for name in kinds if name.isidentifier() and name != "length")
    names.sort(key=lambda name: name != "name")
    return {name: NotRequired[str if kinds[name].startswith("C") else int] for name in names}


CvdaValue = _made("CvdaValue", "A CVDA by name and number.", {"cvda": str, "value": int})

_OPTIONS: Final = {
    option.name: CvdaValue if option.receiver == "CVDA" else int if option.receiver in _NUMBERS else str
    for option in INQUIRE_TDQUEUE_OPTIONS.values()
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

OtherStatistics = _made(
    "OtherStatistics",
    "The statistics of another type: one record with some of these values.\n\n"
    "``record`` is the beginning of the vendor's field names: XMG all transactions, XMR one transaction, XMC one\n"
    "transaction class, TSG temporary storage, LDR one program, A17 one file, DSG the dispatcher, STG the statistics.",
    {"record": str, **_statistics()},
)

DataQueueInfo = _record("DataQueueInfo", "A row of DATA_QUEUE_INFO.", DataQueueInfoRow)
DataQueueDescription = _record("DataQueueDescription", "Format RDQD0100 of QMHQRDQD; bytes in hexadecimal.", RDQD0100)
DdmDataQueueDescription = _record("DdmDataQueueDescription", "Format RDQD0200 of QMHQRDQD.", RDQD0200)
