"""Regions and their queues: INQUIRE, SET, DISCARD, explain."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Self, cast

from fastapi import Query
from pydantic import BeforeValidator, ConfigDict, create_model, model_validator

from tdqsim import state
from tdqsim.cics import Condition, Region
from tdqsim.errors import UsageError, WrongValue
from tdqsim.facts import INQUIRE_OPTIONS, SET_TDQUEUE_OPTIONS, SetOption
from tdqsim.hosting import did_you_mean
from tdqsim.server.answers.regions import QueueDepth, QueuePage, RegionSummary
from tdqsim.server.answers.tables import QueueExplanation, TdqueueOptions, TdqueueState
from tdqsim.server.bounds import BOUNDS
from tdqsim.server.http.access import Caller
from tdqsim.server.http.common import EndedRegion, PathRegion, Routes, Served, as_task
from tdqsim.server.http.values import RequestBody, Whole, plain, values_out
from tdqsim.server.notices import why_ended
from tdqsim.server.users import User

routes = Routes()

_NOT_THIS_QUEUE = 101  # RESP2 of NOTAUTH


_CAPITALS = BeforeValidator(lambda given: given.upper() if isinstance(given, str) else given)


_ANY_OF: Final = {"BINARY": (Whole, 0), "CHAR": (str, "")}


def _changes(schema: dict[str, Any]) -> None:
    """Require at least one option in the document, and remove defaults, because other options are not changed."""
    schema["minProperties"] = 1
    for option in schema["properties"].values():
        option.pop("default", None)


class _SetOptions(RequestBody):
    """Options of SET TDQUEUE by name, at least one."""

    model_config = ConfigDict(json_schema_extra=_changes)

    @model_validator(mode="after")
    def _some(self) -> Self:
        if not self.model_fields_set:
            raise WrongValue(f"give at least one option; SET TDQUEUE has {', '.join(type(self).model_fields)}")
        return self


def _field(option: SetOption) -> tuple[object, object]:
    """The type and the default of one option."""
    if option.kind != "CVDA":
        return _ANY_OF[option.kind]
    values = option.values[::-1]  # the value that enables it first
    return Annotated[Literal[values] | Whole, _CAPITALS], values[0]


if TYPE_CHECKING:
    SetTdqueue = _SetOptions
else:
    SetTdqueue = create_model(
        "SetTdqueue",
        __base__=_SetOptions,
        __doc__=_SetOptions.__doc__,
        **{option.name: _field(option) for option in SET_TDQUEUE_OPTIONS.values()},
    )


@routes.operation("listRegions")
async def regions(host: Served, _user: Caller) -> list[RegionSummary]:
    """The regions that are served."""
    return await host.ask(lambda: [_about(region) for region in host.regions.values()])


@routes.operation("getRegion")
async def region(host: Served, region: EndedRegion) -> RegionSummary:
    """One region."""
    return await host.ask(lambda: _about(region))


def _about(region: Region) -> RegionSummary:
    return {
        "applid": region.applid,
        "sysid": region.options.sysid,
        "start": region.recovery.start_type,
        "release": region.options.release,
        "code_page": region.options.code_page.name,
        "time_zone": str(region.options.zone),
        "queues": len(region.tdqueues),
        "tasks": len(region.tasks),
        "abends": dict(region.statistics.abends),
        "ended": why_ended(region),
    }


def _queue(region: Region, name: str, user: User, options: Iterable[str] = ()) -> TdqueueState:
    values = state.inquire(region, name, *options, userid=user.id).as_dict()
    return cast("TdqueueState", {"name": name, **values_out(values, region)})


def _readable(region: Region, names: Iterable[str], user: User) -> Iterator[TdqueueState]:
    """The results of INQUIRE for queues; as in a browse, queues that the user may not read are left out."""
    for name in names:
        try:
            yield _queue(region, name, user)
        except Condition as condition:
            if condition.resp2 != _NOT_THIS_QUEUE:
                raise


@routes.operation("listTdqueues")
async def queues(
    host: Served,
    region: PathRegion,
    user: Caller,
    prefix: Annotated[str, Query(max_length=4, description="only names with this beginning")] = "",
    after: Annotated[str, Query(max_length=4, description="only names after this one")] = "",
    limit: Annotated[int, Query(ge=1, le=BOUNDS["queues_page"])] = 100,
) -> QueuePage:
    """The queues of a region, in the order of their names, a page at a time."""

    def look() -> QueuePage:
        names = sorted(each for each in region.tdqueues if each.startswith(prefix) and each > after)
        page = names[:limit]
        more = page[-1] if len(names) > limit else None
        return {"queues": list(_readable(region, page, user)), "next": more, "count": len(names)}

    return await host.ask(look)


@routes.operation("inquireTdqueue")
async def inquire(
    host: Served,
    region: PathRegion,
    queue: str,
    user: Caller,
    options: Annotated[
        str, Query(max_length=1000, description="only these options, separated by commas; all if empty")
    ] = "",
) -> TdqueueOptions:
    """INQUIRE TDQUEUE with all options, or with those that are named."""
    wanted = [each.strip().upper() for each in options.split(",")] if options else []
    known = INQUIRE_OPTIONS["TDQUEUE"]
    for each in wanted:
        if each not in known:
            raise UsageError(f"options: {each} is no option of INQUIRE TDQUEUE{did_you_mean(each, known)}")
    return cast("TdqueueOptions", await host.look(lambda: _queue(region, queue, user, wanted)))


@routes.operation("setTdqueue")
async def set_queue(host: Served, region: PathRegion, queue: str, given: SetTdqueue, user: Caller) -> TdqueueState:
    """SET TDQUEUE, with the options by name, such as ``{"ENABLESTATUS": "DISABLED"}``."""
    options = {name.lower(): value for name, value in given.model_dump(exclude_unset=True).items()}
    await as_task(host, region, user, lambda task: task.set_tdqueue(queue, **options))
    return await host.ask(lambda: _queue(region, queue, user))


@routes.operation("discardTdqueue", status_code=204)
async def discard(host: Served, region: PathRegion, queue: str, user: Caller) -> None:
    """DISCARD TDQUEUE."""
    await as_task(host, region, user, lambda task: task.discard_tdqueue(queue))


@routes.operation("getDepthHistory")
async def depth(host: Served, region: PathRegion, queue: str, user: Caller) -> QueueDepth:
    """NUMITEMS of an intrapartition queue over time: the moments of changes, with a resolution of one second."""

    def look() -> QueueDepth:
        now = int(state.inquire(region, queue, "NUMITEMS", userid=user.id).numitems)
        samples = [list(each) for each in host.depths[region.applid].of(queue.rstrip(" "))]
        return {"time_ns": region.clock.time_ns(), "depth": now, "samples": samples}

    return await host.ask(look)


@routes.operation("explainTdqueue")
async def explain(
    host: Served,
    region: PathRegion,
    queue: str,
    user: Caller,
    size: Annotated[int, Query(ge=1, le=32767, description="the length of the record whose WRITEQ is predicted")] = 1,
) -> QueueExplanation:
    """Why a queue is in its state, and the predicted result of each command, in sentences and as fields."""
    pause = partial(region.dispatcher.yield_now, always=True)
    explanation = await host.ask(lambda: state.explain(region, queue, size=size, userid=user.id, pause=pause))
    answer: QueueExplanation = plain(explanation, explanation=str(explanation))
    return answer
