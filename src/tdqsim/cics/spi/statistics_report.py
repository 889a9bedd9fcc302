"""A report of statistics as text: a section for each type, with the titles of DFHSTUP's reports in their order.

It is made from the statistics as values for JSON (:meth:`~tdqsim.cics.spi.statistics.Collection.as_dict`), which a
file and the API have too. A section shows a global record as a title and a value on each line, and records of resources
as a table. The tables ``facts/statistics_report.tsv`` and ``facts/statistics.tsv`` have the titles. Source: Control
parameters of the DFHSTUP program; CICS statistics in DSECTs and DFHSTUP report (IBM Docs).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from tdqsim.cics.kernel.abstime import local_time
from tdqsim.cics.spi.statistics_records import report_columns
from tdqsim.facts import table

_TITLES: Final = {(row["kind"], row["name"]): row["title"] for row in table("statistics_report")}
_SECTIONS: Final = [row["name"] for row in table("statistics_report") if row["kind"] == "section"]
_WIDTH: Final = 56


def statistics_report(statistics: Mapping[str, Any], applid: str) -> str:
    """The report of one collection of statistics.

    Args:
        statistics: the result of ``Collection.as_dict``.
        applid: the APPLID of the region.
    """
    when = local_time(statistics["abstime"])
    reason = _TITLES["reason", statistics["reason"]]
    lines = [f"{reason} Statistics Report  Collection Date-Time {when:%m/%d/%Y-%H:%M:%S}  Applid {applid}"]
    for record, title, found in _sections(statistics):
        lines += ["", title, "_" * len(title)]
        lines += _table(record, found) if "name" in found[0] else _values(record, found[0])
    return "\n".join(lines) + "\n"


def _sections(statistics: Mapping[str, Any]) -> Iterator[tuple[str, str, list[Mapping[str, Any]]]]:
    """The sections of a report that have values: the record, the title, and its values: one mapping for each resource.

    A global record has one mapping, without ``name``.
    """
    for record in _SECTIONS:
        found = list(records_of(statistics, record))
        if found:
            yield record, _TITLES["section", record], found


def columns_of(record: str, found: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The titles of the fields of a section by name; fields in which no record has anything are left out."""
    return {
        name: title
        for name, title in report_columns(record).items()
        if any(each[name] != "" and (each[name] or record != "TQR") for each in found)
    }


def records_of(statistics: Mapping[str, Any], record: str) -> Iterator[Mapping[str, Any]]:
    """The values of one type of statistics."""
    if record == "TQR":
        yield from statistics["queues"]
    elif record == "TQG":
        yield from [statistics["total"]] if statistics["total"] else []
    else:
        yield from (each for each in statistics.get("records", ()) if each["record"] == record)


def _values(record: str, values: Mapping[str, Any]) -> Iterator[str]:
    for name, title in report_columns(record).items():
        dots = " ." * ((_WIDTH - len(title)) // 2)
        yield f"  {title:<{_WIDTH - len(dots)}}{dots} : {values[name]:>12}"


def _table(record: str, found: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The records as rows."""
    columns = columns_of(record, found)
    rows = [list(columns.values()), *([str(each[name]) for name in columns] for each in found)]
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    numbers = [isinstance(found[0][name], int) for name in columns]
    for row in rows:
        cells = zip(row, widths, numbers, strict=True)
        yield ("  " + "  ".join(f"{cell:{'>' if number else '<'}{width}}" for cell, width, number in cells)).rstrip()
