"""The fact tables as typed records."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tdqsim.core.named import NamedTuple
from tdqsim.facts._codes import Cvda, Resp
from tdqsim.facts._tables import table

QUEUE_TYPES = ("INTRA", "EXTRA", "INDIRECT", "REMOTE")
"""The four kinds of queue, as INQUIRE TDQUEUE TYPE names them."""


class TdqueueAttribute(NamedTuple):
    """One attribute of a TDQUEUE definition.

    Attributes:
        name: the RDO name.
        types: the queue types that may have it.
        kind: ``name``, ``text``, ``integer`` or ``keyword``.
        minimum: the shortest length of names and text, the lowest value of integers; None for keywords.
        maximum: the longest length, or the highest value.
        values: the keywords allowed.
        default: the default value; empty when there is none, a phrase when it depends on other attributes.
        requires: the attributes that must or must not accompany it, in words.
        abbreviation: the shortest form known from a source; empty when unknown.
    """

    name: str
    types: tuple[str, ...]
    kind: str
    minimum: int | None
    maximum: int | None
    values: tuple[str, ...]
    default: str
    requires: str
    abbreviation: str


class InquireOption(NamedTuple):
    """One option of INQUIRE of a resource type.

    Attributes:
        name: the option.
        receiver: ``CVDA``, ``CHAR``, ``VARCHAR``, ``BINARY``, ``HALF``, ``HEX``, ``PACKED`` or ``ABSTIME``.
        length: bytes of the receiver.
        types: for TDQUEUE the queue types that have a value; empty for other resource types.
        values: the CVDAs it can return, apart from NOTAPPLIC.
        otherwise: the value returned for other queue types: a CVDA, ``""`` for blanks (pad to ``length``), or -1;
            None when every type has a value.
        closed_notapplic: it returns NOTAPPLIC for an extrapartition queue that is not open.
    """

    name: str
    receiver: str
    length: int
    types: tuple[str, ...]
    values: tuple[Cvda, ...]
    otherwise: Cvda | str | int | None
    closed_notapplic: bool


class SetOption(NamedTuple):
    """One option of SET TDQUEUE.

    Attributes:
        name: the option.
        kind: ``CVDA``, ``CHAR`` or ``BINARY``.
        types: the queue types that have it.
        values: the names of the CVDAs that it accepts; empty for other kinds.
        lowest, highest: the shortest and longest name, or the lowest and highest number; 0 for CVDAs.
    """

    name: str
    kind: str
    types: tuple[str, ...]
    values: tuple[str, ...]
    lowest: int
    highest: int


class SuppliedQueue(NamedTuple):
    """One queue of the group DFHDCTG, which CICS supplies; attributes that do not apply are empty.

    ``recordsize`` is 0 for a queue whose records have the length of CICS messages.
    """

    name: str
    type: str
    indirectname: str
    ddname: str
    disposition: str
    recordsize: int
    purpose: str


def _number(text: str) -> int | None:
    return int(text) if text else None


def _attribute(row: dict[str, str]) -> TdqueueAttribute:
    types = QUEUE_TYPES if row["types"] == "ANY" else tuple(row["types"].split())
    return TdqueueAttribute(
        row["name"],
        types,
        row["kind"],
        _number(row["minimum"]),
        _number(row["maximum"]),
        tuple(row["values"].split()),
        row["default"],
        row["requires"],
        row["abbreviation"],
    )


_OTHERWISE: Mapping[str, Cvda | str | int | None] = {"": None, "NOTAPPLIC": Cvda.NOTAPPLIC, "BLANKS": "", "-1": -1}


def _option(row: dict[str, str]) -> InquireOption:
    return InquireOption(
        row["option"],
        row["receiver"],
        int(row["length"]),
        tuple(row["types"].split()),
        tuple(Cvda[name] for name in row["values"].split()),
        _OTHERWISE[row["otherwise"]],
        row["closed"] == "NOTAPPLIC",
    )


def _inquire_options() -> dict[str, dict[str, InquireOption]]:
    options: dict[str, dict[str, InquireOption]] = {}
    for row in table("inquire"):
        options.setdefault(row["resource"], {})[row["option"]] = _option(row)
    return options


def _set_option(row: dict[str, str]) -> SetOption:
    values = tuple(row["values"].split())
    types = tuple(row["types"].split())
    if row["kind"] == "CVDA":
        return SetOption(row["name"], row["kind"], types, values, 0, 0)
    return SetOption(row["name"], row["kind"], types, (), int(values[0]), int(values[1]))


def _supplied(row: dict[str, str]) -> SuppliedQueue:
    return SuppliedQueue(
        name=row["name"],
        type=row["type"],
        indirectname=row["indirectname"],
        ddname=row["ddname"],
        disposition=row["disposition"],
        recordsize=int(row["recordsize"] or 0),
        purpose=row["purpose"],
    )


ABEND_CODES: Mapping[Resp, str] = MappingProxyType({Resp[row["name"]]: row["abend"] for row in table("abend")})
"""The abend code of each condition that a program does not handle. CICS ignores an unhandled condition without one."""

AIDS: Mapping[str, bytes] = MappingProxyType({row["name"]: row["value"].encode("latin-1") for row in table("aids")})
"""The character that EIBAID shows for each key, such as ``PF1``."""
EIBFN: Mapping[str, bytes] = MappingProxyType({row["command"]: bytes.fromhex(row["code"]) for row in table("eibfn")})
"""The two bytes of EIBFN by command name, such as ``READQ TD``."""

EIBRCODE: Mapping[Resp, int] = MappingProxyType({Resp[row["name"]]: int(row["code"], 16) for row in table("eibrcode")})
"""EIBRCODE byte 0 of READQ, WRITEQ and DELETEQ TD."""

TDQUEUE_ATTRIBUTES: Mapping[str, TdqueueAttribute] = MappingProxyType(
    {row["name"]: _attribute(row) for row in table("tdqueue_attributes")}
)
"""The attributes of a TDQUEUE definition by RDO name, in the order in which they are written in a DEFINE."""

INQUIRE_OPTIONS: Mapping[str, Mapping[str, InquireOption]] = MappingProxyType(_inquire_options())
"""The options of INQUIRE by resource type and name."""

SET_TDQUEUE_OPTIONS: Mapping[str, SetOption] = MappingProxyType(
    {row["name"]: _set_option(row) for row in table("set_tdqueue")}
)
"""The options of SET TDQUEUE by name."""

ATTRIBUTE_CVDA: Mapping[tuple[str, str], tuple[str, Cvda]] = MappingProxyType(
    {
        (row["attribute"], row["value"].replace("(none)", "")): (row["option"], Cvda[row["cvda"]])
        for row in table("attribute_cvda")
    }
)
"""(INQUIRE option, CVDA) by (attribute, value) of a definition; the value ``""`` means that it is omitted."""

SUPPLIED_QUEUES: Mapping[str, SuppliedQueue] = MappingProxyType(
    {row["name"]: _supplied(row) for row in table("supplied_queues")}
)
"""The queues of group DFHDCTG by name."""

RELEASES: Mapping[str, str] = MappingProxyType({row["changeagrel"]: row["release"] for row in table("releases")})
"""The CICS TS release of each CHANGEAGREL number."""

REGION_DEFAULTS: Mapping[str, str] = MappingProxyType({row["name"]: row["value"] for row in table("region_defaults")})
"""The default properties of a region by name, such as applid, sysid, dfltuser, code_page and release."""

FORMATS: Mapping[str, int] = MappingProxyType({row["name"]: int(row["version"]) for row in table("formats")})
"""The version of each format of files, by the name of the format."""

LIMITS: Mapping[str, int] = MappingProxyType({row["name"]: int(row["value"]) for row in table("limits")})
"""Limits and lengths that no attribute table holds."""
