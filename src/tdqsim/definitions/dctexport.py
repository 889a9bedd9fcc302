"""Export as DFHDCT macro source: queues as entries of a destination control table.

Attributes that have no macro operand (WAIT, DESCRIPTION and others that are newer than the macros) are reported. The
data set attributes of an extrapartition queue are written as an SDSCI entry with the queue's DD name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from tdqsim.definitions.dct_operands import FORMATS, RECOVERY, WRITTEN
from tdqsim.definitions.group import Definitions
from tdqsim.definitions.tdqueue import Tdqueue

_LAST: Final = 71  # columns of a statement; column 72 marks a continuation
_CONTINUE: Final = " " * 15


def export_dct(definitions: Definitions) -> tuple[str, list[str]]:
    """Write macro source for the queues, in order; returns it, and a remark for everything that was left out.

    Args:
        definitions: the definitions to write; resources that are not queues are reported.
    """
    lines: list[str] = []
    remarks: list[str] = []
    described: set[str] = set()
    group = ""
    for entry in definitions.entries:
        queue = entry.resource
        if not isinstance(queue, Tdqueue):
            remarks.append(f"{queue.title}: is not a destination; left out")
            continue
        if queue.group != group:
            group = queue.group
            lines += _macro([("TYPE", "GROUP"), ("GROUP", group)])
        lines += _queue(queue, remarks, described)
    if lines:
        lines += [*_macro([("TYPE", "FINAL")]), "         END"]
    return "".join(f"{line}\n" for line in lines), remarks


def _queue(queue: Tdqueue, remarks: list[str], described: set[str]) -> Iterator[str]:
    values: dict[str, Any] = {**queue.attributes(), **queue.without_effect}
    del values["name"]
    values.pop("type", None)
    operands = [("TYPE", queue.type or "REMOTE"), ("DESTID", queue.name)]
    if queue.type == "EXTRA":
        name = str(values.pop("ddname", "") or "")
        sdsci = list(_taken(values, WRITTEN["SDSCI"])) + _record_format(values)
        if sdsci and not name:
            name = queue.name
            remarks.append(f"{queue.title}: DDNAME {name} was added, to name its SDSCI entry")
        if sdsci and name in described:
            remarks.append(f"{queue.title}: shares DD {name} with an earlier queue, whose SDSCI entry counts")
        elif sdsci:
            described.add(name)
            yield from _macro([("TYPE", "SDSCI"), ("DSCNAME", name), *sdsci])
        operands += [("DSCNAME" if sdsci else "FILE", name)] if name else []
    elif queue.type == "INTRA":
        operands += _facility(values)
    operands += _taken(values, WRITTEN[queue.type or "REMOTE"])
    remarks += [f"{queue.title} {name.upper()}: has no counterpart in DFHDCT; left out" for name in values]
    yield from _macro(operands)


def _taken(values: dict[str, Any], names: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The operands for these attributes, which are removed from the values."""
    for operand, attribute in names.items():
        value = values.pop(attribute, "")
        if value == "":
            continue
        text = str(value)
        if attribute == "recovstatus":
            text = RECOVERY[text]
        elif attribute == "transid" and not text.isalnum():
            text = f"'{text}'"  # no apostrophe is allowed in it
        yield operand, text


def _facility(values: dict[str, Any]) -> list[tuple[str, str]]:
    kind = str(values.pop("atifacility", "") or "")
    name = str(values.pop("facilityid", "") or "")
    if name:
        return [("DESTFAC", f"({kind or 'TERMINAL'},{name})")]
    return [("DESTFAC", kind)] if kind else []


def _record_format(values: dict[str, Any]) -> list[tuple[str, str]]:
    """RECFORM, which combines record and block format in one word; UNB if there is no block format."""
    record = FORMATS.get(str(values.get("recordformat") or ""))
    if record is None:
        return []
    block = FORMATS.get(str(values.get("blockformat") or ""), "UNB")
    for name in ("recordformat", "blockformat"):
        values.pop(name, None)
    return [("RECFORM", f"{record}{block}{values.pop('printcontrol', '') or ''}")]


def _macro(operands: Iterable[tuple[str, str]]) -> Iterator[str]:
    """A statement on as many lines as needed, split between operands, with a mark in column 72."""
    line = "         DFHDCT "
    pieces = [f"{name}={value}" for name, value in operands]
    for at, piece in enumerate(pieces):
        text = piece + ("," if at + 1 < len(pieces) else "")
        if len(line) + len(text) > _LAST and line.strip():
            yield f"{line:<{_LAST}}X"
            line = _CONTINUE
        line += text
    yield line
