"""Actions, updates and discards of installed resources: each record by a command of its own, in a task of the user.

The command is a method of the task, named as the table of actions names it. A record whose command is refused gets a
``<feedback>`` with EIBFN, RESP and RESP2; the others are done all the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from tdqsim.cics import Condition, Region, Task
from tdqsim.errors import TdqError
from tdqsim.facts import EIBFN, Resp
from tdqsim.server.cmci.reading import CmciPlace, CmciRecord, again
from tdqsim.server.cmci.tables import CmciAction, CmciResource
from tdqsim.server.host import Host
from tdqsim.server.http.common import as_task
from tdqsim.server.users import User

Feedback = Mapping[str, str]
"""The attributes of a ``<feedback>``."""


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
        refused = await _refused(host, user, region, action, options, record)
        if refused is None:
            now: CmciRecord | None = await host.look(partial(again, resource, region, place, record.key, user.id))
            done.append(now or record)
        else:
            feedback.append(_feedback(action, record, refused))
            permitted = permitted and getattr(refused, "resp", None) is not Resp.NOTAUTH
    return ActedOn(done, feedback, permitted)


async def _refused(
    host: Host, user: User, region: Region, action: CmciAction, options: Mapping[str, Any], record: CmciRecord
) -> TdqError | None:
    """Issue the command for one record; return why it is refused, or None."""
    method: Final = action.command.lower().replace(" ", "_")
    arguments = {name.lower(): value for name, value in {**action.options, **options}.items()}

    def issue(task: Task) -> None:
        getattr(task, method)(record.key, **arguments)

    try:
        await as_task(host, region, user, issue)
    except TdqError as error:
        return error
    return None


def _feedback(action: CmciAction, record: CmciRecord, error: TdqError) -> Feedback:
    found = {"keydata": record.keydata, "eyu_cicsname": record.region, "action": action.name}
    if isinstance(error, Condition):
        found |= {"eibfn": EIBFN[action.command].hex().upper(), "eibfn_alt": action.command}
        found |= {"resp": str(int(error.resp)), "resp_alt": error.resp.name, "resp2": str(error.resp2)}
    return found | {"errorcode": "0" if isinstance(error, Condition) else "1"}
