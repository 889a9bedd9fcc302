"""Symbolic maps as bytes: the input record of RECEIVE MAP, and the output record of SEND MAP.

Every named field has a halfword length, a flag byte, one byte for each word of DSATTS, and its data. In an input record
a field that was typed into has its length and its data, left-justified with blanks, or right-justified with zeros if it
is numeric; all other bytes are nulls. In an output record, data whose first byte is X'00' is replaced by INITIAL of the
map. Source: RECEIVE MAP, SEND MAP, Using complex fields (IBM Docs).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from tdqsim.cics.terminal.screen import Input, Sent
from tdqsim.core.codepage import CodePage

if TYPE_CHECKING:
    from tdqsim.definitions.bms import BmsField, BmsMap, Mapset

_PREFIX: Final = 12
_HEAD: Final = 3
_FROM_MAP: Final = (0x00, 0x80, 0x02, 0x82)
_CURSOR: Final = -1


def _places(mapset: Mapset, each: BmsMap) -> Iterator[tuple[str, BmsField, int]]:
    """Name, field and offset of each field in the symbolic map; a field of a table has its number after the name."""
    at = _PREFIX if mapset.tioapfx else 0
    extra = len(each.attributes)
    group = ""
    for field in each.fields:
        if not field.name:
            continue
        grouped = bool(field.group) and field.group == group
        group = field.group
        for index in range(field.occurs or 1):
            name = f"{field.name}({index + 1})" if field.occurs else field.name
            start = at - (_HEAD + extra if grouped else 0)  # later fields of a group have no length and flag bytes
            yield name, field, start
            at += field.length + (0 if grouped else _HEAD + extra)


def received(mapset: Mapset, each: BmsMap, typed: Input, page: CodePage) -> bytes | None:
    """The input record of a map; None (MAPFAIL) when nothing of the map was typed."""
    fields = {
        name: value for name, value in typed.fields.items() if any(name == one for one, _f, _a in _places(mapset, each))
    }
    if typed.short or not fields:
        return None
    extra = len(each.attributes)
    places = list(_places(mapset, each))
    size = max((at + _HEAD + extra + field.length for _name, field, at in places), default=0)
    record = bytearray(size)
    for name, field, at in places:
        if name not in fields:
            continue
        data = page.encode(fields[name])[: field.length]
        record[at : at + 2] = len(data).to_bytes(2, "big")
        start = at + _HEAD + extra
        fill = page.encode("0" if field.numeric else " ")
        record[start : start + field.length] = (
            data.rjust(field.length, fill) if field.numeric else data.ljust(field.length, fill)
        )
    return bytes(record)


def sent(
    mapset: Mapset,
    each: BmsMap,
    record: bytes,
    page: CodePage,
    *,
    maponly: bool,
    dataonly: bool,
    options: tuple[str, ...],
) -> Sent:
    """The output of SEND MAP."""
    fields: dict[str, str] = {}
    attributes: dict[tuple[str, str], bytes] = {}
    cursor: int | None = None
    extra = len(each.attributes)
    for name, field, at in _places(mapset, each):
        head = record[at : at + _HEAD + extra]
        data = record[at + _HEAD + extra : at + _HEAD + extra + field.length]
        given = b"" if maponly or not data or data[0] == 0 else data
        if given or not dataonly:
            fields[name] = page.decode(given).rstrip(" \0") if given else field.initial or page.decode(field.xinit)
        if maponly or len(head) < _HEAD + extra:
            continue
        attributes.update(_attributes(name, head, each.attributes))
        if cursor is None and int.from_bytes(head[:2], "big", signed=True) == _CURSOR:
            cursor = (field.line - 1) * each.width + field.column
    return Sent("SEND MAP", each.name, mapset.name, fields, attributes, cursor=cursor, options=options)


def _attributes(name: str, head: bytes, words: tuple[str, ...]) -> Mapping[tuple[str, str], bytes]:
    from tdqsim.definitions.bms import suffix_of  # noqa: PLC0415 (imports pydantic)

    attributes = {(name, "A"): head[2:3]} if head[2] not in _FROM_MAP else {}
    for index, word in enumerate(words):
        byte = head[_HEAD + index : _HEAD + index + 1]
        if byte != b"\0":
            attributes[name, suffix_of(word)] = byte
    return attributes
