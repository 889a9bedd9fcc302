"""Actions, updates and discards: each record by a command of its own, of the user.

The command for an installed resource is a method of a task, that for a definition a method of the region's CSD, named
as the table of actions names it. A record whose command is refused gets a ``<feedback>`` with EIBFN, RESP and RESP2, or
with the attributes that are wrong; the others are done all the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from tdqsim.cics import Condition, InstallRefused, Region, Task
from tdqsim.errors import DefinitionError, TdqError
from tdqsim.facts import EIBFN, Resp
from tdqsim.server.cmci.reading import CmciPlace, CmciRecord, again, csd_of
from tdqsim.server.cmci.tables import CmciAction, CmciResource
from tdqsim.server.host import Host
from tdqsim.server.http.common import as_task
from tdqsim.server.users import User

_MOST_ATTRIBUTES: Final = 6
"""The attributes that one ``<feedback>`` names at most."""


@dataclass(frozen=True, slots=True)
class Feedback:
    """A ``<feedback>``.

    Attributes:
        values: its attributes.
        errors: the attributes of each ``<installerror>`` in it.
    """

    values: Mapping[str, str]
    errors: Sequence[Mapping[str, str]] = ()


@dataclass(frozen=True, slots=True)
class ActedOn:
    """What an action has done.

    Attributes:
        records: the records that it has changed, as they are now; one that it has removed as it was.
        feedback: one entry for each record that it has not changed.
        permitted: whether nothing was refused for want of authority.
    """

    records: Sequence[CmciRecord]
    feedback: Sequence[Feedback]
    permitted: bool


async def act(
    host: Host,
    user: User,
    place: CmciPlace,
    resource: CmciResource,
    action: CmciAction,
    options: Mapping[str, Any],
    records: Sequence[CmciRecord],
) -> ActedOn:
    """Issue the command of an action for each record.

    Args:
        host: the regions.
        user: whose authority the tasks have.
        place: the context.
        resource: the resource of the records.
        action: the action.
        options: further options of its command.
        records: the records.
    """
    done: list[CmciRecord] = []
    feedback: list[Feedback] = []
    permitted = True
    regions = {each.applid: each for each in place.regions}
    for record in records:
        region = regions[record.region]
        refused = await _refused(host, user, region, resource, action, options, record)
        if refused is None:
            now: CmciRecord | None = await host.look(partial(again, resource, region, place, record.key, user.id))
            done.append(now or record)
        else:
            feedback.append(_feedback(action, record, refused))
            permitted = permitted and getattr(refused, "resp", None) is not Resp.NOTAUTH
    return ActedOn(done, feedback, permitted)


async def _refused(
    host: Host,
    user: User,
    region: Region,
    resource: CmciResource,
    action: CmciAction,
    options: Mapping[str, Any],
    record: CmciRecord,
) -> TdqError | None:
    """Issue the command for one record; return why it is refused, or None."""
    arguments = {name.lower(): value for name, value in {**action.options, **options}.items()}
    try:
        if resource.csd:
            words, keywords = _definition(resource, record)
            await host.ask(partial(_change_csd, region, user, action, words, {**keywords, **arguments}))
            return None
        method: Final = action.command.lower().replace(" ", "_")

        def issue(task: Task) -> None:
            getattr(task, method)(record.key, **arguments)

        await as_task(host, region, user, issue)
    except TdqError as error:
        return error
    return None


def _definition(resource: CmciResource, record: CmciRecord) -> tuple[tuple[str, ...], dict[str, Any]]:
    """The arguments of a CSD command that name the definition, the group, or the group in a list."""
    if resource.csd == "group":
        return (), {"group": record.key[0]}
    if resource.csd == "list":
        return (), {"grplist": record.key[0], "group": record.key[1]}
    group, name = record.key
    return (resource.csd, name), {"group": group}


def _change_csd(region: Region, user: User, action: CmciAction, words: Sequence[str], keywords: dict[str, Any]) -> Any:
    """Issue a command for the CSD; call it in the engine's thread."""
    verb = action.command.removeprefix("CSD ").lower()
    return getattr(csd_of(region, user.id), verb)(*words, **keywords)


async def create(
    host: Host, user: User, place: CmciPlace, resource: CmciResource, action: CmciAction, values: Mapping[str, str]
) -> ActedOn:
    """Create a definition in the CSD of a region, the only one of the scope.

    Args:
        host: the regions.
        user: whose command it is.
        place: the scope.
        resource: the resource.
        action: the action CREATE.
        values: the attributes by name.
    """
    (region,) = place.regions
    given = {name: value.strip() for name, value in values.items() if name != "DEFVER"}
    key = (given.pop("CSDGROUP", ""), given.pop("NAME", ""))
    attributes = definition_attributes(resource, given)
    try:
        await host.ask(
            partial(_change_csd, region, user, action, (resource.csd, key[1]), {"group": key[0], **attributes})
        )
    except TdqError as error:
        refused = CmciRecord(region.applid, key, "", {})
        permitted = getattr(error, "resp", None) is not Resp.NOTAUTH
        return ActedOn((), [_feedback(action, refused, error)], permitted)
    made: CmciRecord | None = await host.look(partial(again, resource, region, place, key, user.id))
    return ActedOn([] if made is None else [made], [], permitted=True)


def definition_attributes(resource: CmciResource, values: Mapping[str, str]) -> dict[str, str]:
    """The attributes of a definition for CSD DEFINE and ALTER; the CSD refuses those that it does not know."""
    names = {name: each.origin.removeprefix(".") for name, each in resource.attributes.items()}
    found = {names.get(name, name.lower()): value for name, value in values.items()}
    if found.get("type") == "REMOTE":
        del found["type"]  # a remote queue is one without a type
    return found


def _feedback(action: CmciAction, record: CmciRecord, error: TdqError) -> Feedback:
    found = {"keydata": record.keydata, "eyu_cicsname": record.region, "action": action.name}
    if isinstance(error, Condition):
        if action.command in EIBFN:
            found["eibfn"] = EIBFN[action.command].hex().upper()
        found["eibfn_alt"] = action.command
        found |= {"resp": str(int(error.resp)), "resp_alt": error.resp.name, "resp2": str(error.resp2)}
    elif isinstance(error, DefinitionError):
        names = dict.fromkeys(each.attribute.upper() for each in error.problems if each.attribute)
        found |= {f"attribute{number}": name for number, name in enumerate(list(names)[:_MOST_ATTRIBUTES], 1)}
    errors = [_install_error(record, each, error) for each in getattr(error, "refused", ())]
    return Feedback(found | {"errorcode": "0" if isinstance(error, Condition) else "1"}, errors)


def _install_error(record: CmciRecord, refused: InstallRefused, error: TdqError) -> Mapping[str, str]:
    return {
        "eyu_cicsname": record.region,
        "resourcename": refused.queue,
        "resourceversion": "0",
        "errorcode": "0",
        "resp": str(int(getattr(error, "resp", 0))),
        "resp2": str(getattr(error, "resp2", 0)),
    }
