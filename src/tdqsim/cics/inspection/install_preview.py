"""What an installation of definitions would change, without changing anything.

Each definition is compared with the installed resource of the same type and name. A queue is refused for the reasons
for which the installation refuses it, except for those that only the installation can find: a lack of room in the store
for the records that would move.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, cast

from tdqsim.cics.inspection.installed import definition_now
from tdqsim.cics.spi.install import why_not_installed
from tdqsim.definitions import Resource

if TYPE_CHECKING:
    from tdqsim import definitions as defs
    from tdqsim.cics.model.region import RegionData

_ABSENT: Final = "(none)"
_NOT_COMPARED: Final = frozenset(Resource.model_fields) - {"description"}
"""The group and the definition signature."""


class PlannedInstall(NamedTuple):
    """What an installation would do with one definition.

    Attributes:
        kind: the resource type, such as ``TDQUEUE``.
        name: the name of the resource.
        change: new, changed, unchanged, replaced (an installed resource of a type that is not compared), refused, or
            ignored (a type that a region does not simulate).
        details: the attributes that would change, each with its present and its new value; or the reason of a refusal.
    """

    kind: str
    name: str
    change: Literal["new", "changed", "unchanged", "replaced", "refused", "ignored"]
    details: tuple[str, ...] = ()


def planned_installs(region: RegionData, resources: Iterable[Resource], user: str) -> list[PlannedInstall]:
    """What an installation by a user would do with each definition, in order.

    Args:
        region: the region.
        resources: the definitions.
        user: the user id; it must be a user of the region.
    """
    present = _present(region)
    return [_planned(region, present, each, user) for each in resources]


def _present(region: RegionData) -> dict[str, Mapping[str, object]]:
    """The installed resources by type and name; a value that is no definition is not compared."""
    return {
        "TDQUEUE": {name: definition_now(queue) for name, queue in region.tdqueues.items()},
        "TRANSACTION": {name: entry.definition for name, entry in region.transactions.items() if entry.defined},
        "PROGRAM": region.programs.definitions,
        "CONNECTION": region.connections,
        "TERMINAL": region.terminals,
        "FILE": region.files.known,
        "TSMODEL": region.ts.installed,
        "TRANCLASS": {} if region.limits is None else region.limits.classes,
    }


def _planned(
    region: RegionData, present: Mapping[str, Mapping[str, object]], new: Resource, user: str
) -> PlannedInstall:
    kind, name = new.kind, new.resource_name
    if kind not in present:
        return PlannedInstall(kind, name, "ignored")
    old = present[kind].get(name)
    differences = _differences(old, new) if isinstance(old, Resource) else ()
    if isinstance(old, Resource) and not differences:
        return PlannedInstall(kind, name, "unchanged")
    if kind == "TDQUEUE":
        refused = why_not_installed(region, cast("defs.Tdqueue", new), user)
        if refused is not None:
            return PlannedInstall(kind, name, "refused", (refused.reason, *differences))
    if old is None:
        return PlannedInstall(kind, name, "new")
    return PlannedInstall(kind, name, "changed" if differences else "replaced", differences)


def _differences(old: Resource, new: Resource) -> tuple[str, ...]:
    """The attributes with different values, as text: ``TRIGGERLEVEL 5 -> 10``."""
    before, after = old.model_dump(), new.model_dump()
    names = [name for name in {**after, **before} if name not in _NOT_COMPARED]
    return tuple(
        f"{name.upper()} {_shown(before.get(name))} -> {_shown(after.get(name))}"
        for name in names
        if before.get(name) != after.get(name)
    )


def _shown(value: object) -> str:
    return _ABSENT if value in (None, "") else str(value)
