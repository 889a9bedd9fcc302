"""The records of a resource, read in turns of the engine that start no task.

A resource with many instances is read some at a time, so that tasks run in between; its records then show the state of
different moments, as those of a browse do.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final

from tdqsim import state
from tdqsim.cics import Csd, Region
from tdqsim.definitions import Resource
from tdqsim.facts import RELEASES
from tdqsim.hosting import RegionInternals
from tdqsim.server.bounds import BOUNDS
from tdqsim.server.cmci.criteria import NOT_A_NUMBER, TASK_DIGITS, Criteria, generic, sort_key
from tdqsim.server.cmci.tables import CmciAttribute, CmciResource
from tdqsim.server.host import Host

_EPOCH: Final = datetime(1900, 1, 1)  # ABSTIME is local time
_NEVER: Final = "0000-00-00T00:00:00.000000+00:00"
_NOT_IN_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_WITHOUT_IDENTITY: Final = frozenset({"UOWENQ"})
"""The resource types whose browse returns nothing by which a resource is found again."""
_OF_GROUPS: Final = frozenset({"group", "list"})
"""The resources of the CSD that are no definitions: groups, and groups in lists."""
_KEY_PAGE: Final = "cp037"
_UOW_LENGTH: Final = 8
"""The bytes of the id of a unit of work that differ; a browse returns 16."""
_STARTUPS: Final[Mapping[str, str]] = {"INITIAL": "COLDSTART", "COLD": "COLDSTART", "WARM": "WARMSTART"}


@dataclass(frozen=True, slots=True)
class CmciRecord:
    """A record.

    Attributes:
        region: the APPLID of its region.
        key: what INQUIRE and SET take for it: its name, number or id; None if it is not inquired.
        keydata: its key attributes in EBCDIC, in hexadecimal.
        values: the values as text, by the names of the attributes in capitals.
    """

    region: str
    key: Any
    keydata: str
    values: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class CmciPlace:
    """The context and scope of a request.

    Attributes:
        plex: the name of the plex.
        regions: the regions in scope.
    """

    plex: str
    regions: Sequence[Region]

    @property
    def version(self) -> str:
        """``connect_version`` of an answer: the CICS TS release, such as 0630 for 6.3."""
        release = RELEASES.get(self.regions[0].options.release, "") if self.regions else ""
        major, _, minor = release.partition(".")
        return f"0{major}{minor}0"


async def records_of(
    host: Host,
    place: CmciPlace,
    resource: CmciResource,
    userid: str,
    criteria: Criteria | None = None,
    group: str = "",
) -> list[CmciRecord]:
    """The records of a resource in the regions of a scope that fit.

    Args:
        host: the regions.
        place: the scope.
        resource: the resource.
        userid: the user; empty for the owner of the process.
        criteria: which records; None for all.
        group: of definitions, the group or groups, as a generic name; all if empty.

    Raises:
        Condition: NOTAUTH 100: the user may not inquire resources of this kind in a region.
    """
    if resource.table == "CICSPLEX":
        return [_record(resource, None, {}, place, "")]
    found: list[CmciRecord] = []
    for region in place.regions:
        if resource.csd:
            of_groups = resource.csd in _OF_GROUPS
            for each in [""] if of_groups else await host.look(partial(groups_of, region, userid, group)):
                found += await host.look(partial(_defined, resource, region, place, each, userid))
            continue
        if not resource.inquire:
            found.append(await host.look(partial(_own, resource, region, place)))
            continue
        keys = await host.look(partial(state.keys, region, resource.inquire))
        step = BOUNDS["cmci_chunk"]
        for start in range(0, max(len(keys), 1), step):  # once without keys, for the check of the command
            part = keys[start : start + step]
            if criteria is not None and part and resource.inquire not in _WITHOUT_IDENTITY:
                part = await host.look(partial(_fitting, resource, region, place, part, userid, criteria))
            found += await host.look(partial(_browsed, resource, region, place, part, userid))
    return found if criteria is None else [each for each in found if criteria.fits(each.values)]


def again(resource: CmciResource, region: Region, place: CmciPlace, key: Any, userid: str) -> CmciRecord | None:
    """A record as it is now; None if it is no longer there. Call it in the engine's thread."""
    if not resource.csd:
        return next(iter(_browsed(resource, region, place, [key], userid)), None)
    csd = csd_of(region, userid)
    if resource.csd == "group":
        there = next(csd.definitions(group=key[0]), None) is not None
    elif resource.csd == "list":
        there = key[1] in csd.lists().get(key[0], ())
    else:
        found = csd.get(resource.csd, key[1], group=key[0])
        return None if found is None else _record(resource, region, _Definition(found), place, key)
    return _named(resource, region, place, key) if there else None


def csd_of(region: Region, userid: str) -> Csd:
    """The CSD of a region as a user may use it."""
    return region.csd.by(userid) if userid else region.csd


def groups_of(region: Region, userid: str, group: str) -> list[str]:
    """The groups of the CSD that a generic name fits; all if it is empty."""
    fits = generic(group or "*")
    return [each for each in csd_of(region, userid).groups() if fits(each)]


def _defined(resource: CmciResource, region: Region, place: CmciPlace, group: str, userid: str) -> list[CmciRecord]:
    """The definitions of a group, the groups, or the groups in lists."""
    csd = csd_of(region, userid)
    if resource.csd == "group":
        return [_named(resource, region, place, (each,)) for each in csd.groups()]
    if resource.csd == "list":
        pairs = [(name, each) for name, groups in csd.lists().items() for each in groups]
        return [_named(resource, region, place, pair) for pair in pairs]
    return [
        _record(resource, region, _Definition(each), place, (each.group, each.resource_name))
        for each in csd.definitions(resource.csd, group=group)
    ]


def _named(resource: CmciResource, region: Region, place: CmciPlace, key: tuple[str, ...]) -> CmciRecord:
    """The record of a group, or of a group in a list, which have nothing but their names."""
    names = (".name",) if resource.csd == "group" else (".list", ".group")
    return _record(resource, region, dict(zip(names, key, strict=True)), place, key)


class _Definition(Mapping[str, Any]):
    """The values of a definition by the origins of attributes; what it does not have is blank."""

    def __init__(self, resource: Resource) -> None:
        self._resource = resource

    def __getitem__(self, origin: str) -> Any:
        name = origin.removeprefix(".")
        found = getattr(self._resource, name, None)
        if name == "type" and not found:
            return "REMOTE"
        return self._resource.without_effect.get(name, "") if found is None else found

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def in_order(resource: CmciResource, records: list[CmciRecord]) -> list[CmciRecord]:
    """Records in the order of their keys, and of their regions for the same key."""
    key = [resource.attributes[name] for name in resource.key]
    return sorted(records, key=lambda each: [*(sort_key(one, each.values) for one in key)])


def _fitting(
    resource: CmciResource,
    region: Region,
    place: CmciPlace,
    keys: Sequence[Any],
    userid: str,
    criteria: Criteria,
) -> list[Any]:
    """The keys of the resources that fit, of which only what the criteria compare is read."""
    attributes = [resource.attributes[name] for name in criteria.names]
    rows = state.browse(region, resource.inquire, *resource.options(attributes), names=keys, userid=userid)
    return [
        _key(row[resource.inquire])
        for row in rows
        if _is_one(resource, row) and criteria.fits(_values(attributes, region, row, place))
    ]


def _browsed(
    resource: CmciResource, region: Region, place: CmciPlace, keys: Sequence[Any], userid: str
) -> list[CmciRecord]:
    options = resource.options(resource.attributes.values())
    rows = state.browse(region, resource.inquire, *options, names=keys, userid=userid)
    return [_record(resource, region, row, place, row.get(resource.inquire)) for row in rows if _is_one(resource, row)]


def _is_one(resource: CmciResource, row: Mapping[str, Any]) -> bool:
    if resource.where is None:
        return True
    option, wanted = resource.where
    value = row[option]
    text = str(getattr(value, "name", value)).strip()
    return bool(text) if wanted is None else text == wanted


def _own(resource: CmciResource, region: Region, place: CmciPlace) -> CmciRecord:
    """The record of a region itself, or of its statistics."""
    values: dict[str, Any] = {}
    fields = [each.origin[1:] for each in resource.attributes.values() if each.origin.startswith("#")]
    if fields and (found := state.statistics(region, "TDQUEUE")) is not None:
        values = {f"#{name}": found[name] for name in fields}
    return _record(resource, region, values, place, None)


def _record(
    resource: CmciResource, region: Region | None, row: Mapping[str, Any], place: CmciPlace, key: Any
) -> CmciRecord:
    values = _values(resource.attributes.values(), region, row, place)
    keydata = b"".join(
        values[each].ljust(resource.attributes[each].length).encode(_KEY_PAGE, "replace") for each in resource.key
    )
    return CmciRecord("" if region is None else region.applid, _key(key), keydata.hex().upper(), values)


def _key(key: Any) -> Any:
    """What INQUIRE takes for the identity that a browse returned."""
    return key.rstrip(" ") if isinstance(key, str) else key[:_UOW_LENGTH] if isinstance(key, bytes) else key


def _values(
    attributes: Iterable[CmciAttribute], region: Region | None, row: Mapping[str, Any], place: CmciPlace
) -> dict[str, str]:
    """The values of attributes as text."""
    values = {}
    for each in attributes:
        origin = each.origin
        if origin.startswith("'"):
            values[each.name] = origin.strip("'")
        else:
            value = _COMPUTED[origin](region, row, place) if origin.startswith("@") else row[origin]
            values[each.name] = _text(each, value, region)
    return values


_Computed = Callable[[Any, Mapping[str, Any], CmciPlace], Any]


def _requests(region: Region, row: Mapping[str, Any], _place: CmciPlace) -> int:
    found = state.statistics(region, "TDQUEUE", row["TDQUEUE"].rstrip(" "))
    return 0 if found is None else int(found["writes"] + found["reads"] + found["deletes"])


def _indirecttype(region: Region, row: Mapping[str, Any], _place: CmciPlace) -> str:
    found = state.queue(region, row["INDIRECTNAME"].rstrip(" "))
    return "NOTAPPLIC" if found is None else found.type


def _maxtasks(region: Region, _row: Mapping[str, Any], _place: CmciPlace) -> int:
    return RegionInternals(region).maxtasks


_COMPUTED: Final[Mapping[str, _Computed]] = {
    "@cicsname": lambda region, _row, _place: region.applid,
    "@cicsrel": lambda region, _row, _place: f"E{region.options.release[1:]}",
    "@requests": _requests,
    "@indirecttype": _indirecttype,
    "@startup": lambda region, _row, _place: _STARTUPS.get(region.recovery.start_type, region.recovery.start_type),
    "@sysid": lambda region, _row, _place: region.options.sysid,
    "@dfltuser": lambda region, _row, _place: region.options.dfltuser,
    "@maxtasks": _maxtasks,
    "@tasks": lambda region, _row, _place: len(region.tasks),
    "@plex": lambda _region, _row, place: place.plex,
}


def _text(attribute: CmciAttribute, value: Any, region: Region | None) -> str:
    """A value as it is in an answer."""
    kind = attribute.kind
    if kind == "CVDAS":
        return str(getattr(value, "name", value))
    if kind == "BINARY":
        return NOT_A_NUMBER if value == "" or value < 0 else str(value)
    if kind == "TASKNO":
        return str(value).zfill(TASK_DIGITS)
    if kind == "HEX":
        return bytes(value).hex().upper()
    if kind == "INTERVAL":
        return f"{value // 3600:03d}:{value // 60 % 60:02d}:{value % 60:02d}.000000"
    if kind == "DATETIME":
        assert region is not None, "only records of regions have times"
        return _moment(value, region)
    return _NOT_IN_XML.sub(".", str(value).rstrip(" "))


def _moment(value: int | datetime | str, region: Region) -> str:
    """A moment of local time, with the offset of the region's time zone; an ABSTIME is milliseconds since 1900."""
    if value == "" or (isinstance(value, int) and value <= 0):
        return _NEVER
    moment = _EPOCH + timedelta(milliseconds=value) if isinstance(value, int) else value
    assert isinstance(moment, datetime), moment
    local = moment.replace(tzinfo=region.options.zone)
    return local.isoformat(timespec="microseconds")
