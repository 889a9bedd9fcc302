"""The route of the management interface, and what its methods do.

==========  ==========================================================================================================
method      does
==========  ==========================================================================================================
GET         the records of a resource, or a part of a retained result set
PUT         an action, or an update of attributes, for the records that the criteria select
DELETE      discards them
==========  ==========================================================================================================

A context is the APPLID of a region, or the plex of all regions that are served; with the plex, the scope may be a
region. What a user may do needs a role (``facts/operations.tsv``), and the permission of the region's policy.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from fastapi import FastAPI, Request, Response
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tdqsim.cics import Condition
from tdqsim.errors import RegionClosed
from tdqsim.server.cmci.acting import act
from tdqsim.server.cmci.answers import CmciOutcome, answer, document, error, refusal_body
from tdqsim.server.cmci.cache import ResultCache
from tdqsim.server.cmci.criteria import CriteriaError, ordered, predicate, sort_key
from tdqsim.server.cmci.reading import CmciPlace, CmciRecord, in_order, records_of
from tdqsim.server.cmci.requests import (
    ROOT,
    CachedTarget,
    CmciBody,
    CmciTarget,
    NotUnderstood,
    body_of,
    is_name,
    parameters_of,
    target_of,
)
from tdqsim.server.cmci.signing import CHALLENGE, Signing
from tdqsim.server.cmci.tables import CmciAction, CmciResource, resource_named
from tdqsim.server.host import Host
from tdqsim.server.http.access import Gate, note_for_audit
from tdqsim.server.http.signon import Authenticate
from tdqsim.server.notices import why_ended
from tdqsim.server.operations import operation
from tdqsim.server.servefile import Cmci
from tdqsim.server.users import SignOnRefused, TooManySignOns, User

_NO_CONTEXT: Final = frozenset({"CICSPLEX"})
"""The tables that need no context."""
_FUNCTIONS: Final[Mapping[str, str]] = {"GET": "GET", "PUT": "PERFORM SET", "DELETE": "PERFORM SET", "POST": "CREATE"}
_UPDATE: Final = "UPDATE"
_DISCARD: Final = "DISCARD"


class _Refused(Exception):
    """A request that was understood and is refused as a whole.

    Attributes:
        outcome: the answer.
    """

    def __init__(self, response: str, reason: str = "", feedback: Sequence[Mapping[str, str]] = ()) -> None:
        super().__init__(response, reason)
        self.outcome = CmciOutcome(response, reason, feedback=feedback)


def add_cmci(app: FastAPI, host: Host, gate: Gate, authenticate: Authenticate, settings: Cmci) -> None:
    """Add the interface to an application."""
    served = _Cmci(host, Signing(gate, authenticate), settings)
    gate.own_sign_on = (ROOT,)
    app.add_middleware(_RefusesInXml, served=served)
    for path in (ROOT, ROOT + "/{rest:path}"):
        app.add_api_route(
            path, served.handle, methods=["GET", "PUT", "POST", "DELETE"], include_in_schema=False,
            response_class=Response,
        )  # fmt: skip


class _Cmci:
    """The interface."""

    def __init__(self, host: Host, signing: Signing, settings: Cmci) -> None:
        self._host = host
        self._signing = signing
        self._settings = settings
        self._cache = ResultCache(host.engine.dispatcher.clock.time_ns)

    @property
    def version(self) -> str:
        """``connect_version`` of answers that are of no single region: that of the first region."""
        return CmciPlace(self._settings.plex, list(self._host.regions.values())[:1]).version

    async def handle(self, request: Request) -> Response:
        """Answer a request."""
        try:
            user, secret = await self._signing.user_of(request, request.scope.get("tdqsim.user"))
        except TooManySignOns as refused:
            waits = {"Retry-After": str(round(refused.seconds))}
            return error("DFHWU4032", self.version, str(refused), waits)
        except SignOnRefused as refused:
            return error("DFHWU4030", self.version, str(refused), CHALLENGE)
        try:
            target = target_of(request.method, request.scope["path"], request.scope["query_string"])
            if isinstance(target, CachedTarget):
                found = await self._page(request, user, target)
            else:
                found = await self._resource(request, user, target)
        except NotUnderstood as wrong:
            found = error(wrong.message, self.version, wrong.detail)
        self._signing.set_cookie(found, secret)
        return found

    async def _answer(
        self, request: Request, outcome: CmciOutcome, resource: CmciResource | None, version: str
    ) -> Response:
        address = f"{request.url.scheme}://{request.headers.get('host', '')}"
        return answer(await asyncio.to_thread(document, outcome, resource, version, address))

    # -- retained result sets -----------------------------------------------------------------------------------------

    async def _page(self, request: Request, user: User, target: CachedTarget) -> Response:
        found = self._cache.find(user.id, target.token)
        if found is None:
            raise NotUnderstood("DFHWU4042", target.token[:16])
        records = found.records
        if "ORDERBY" in target.options:
            try:
                records = await asyncio.to_thread(_sorted, records, target.options["ORDERBY"], found.resource)
            except CriteriaError as wrong:
                refused = CmciOutcome("INVALIDPARM", "ATTRIBUTE", "ORDER", feedback=_attribute_fault(wrong))
                return await self._answer(request, refused, found.resource, found.version)
        if target.index > len(records):
            raise NotUnderstood("DFHWU4008", str(target.index))
        keeps = "NODISCARD" in target.options
        if not keeps:
            self._cache.end(target.token)
        end = None if target.count is None else target.index - 1 + target.count
        shown = None if "SUMMONLY" in target.options else records[target.index - 1 : end]
        outcome = CmciOutcome(count=len(records), records=shown, token=target.token.upper() if keeps else "")
        return await self._answer(request, outcome, found.resource, found.version)

    # -- resources ----------------------------------------------------------------------------------------------------

    async def _resource(self, request: Request, user: User, target: CmciTarget) -> Response:
        resource = resource_named(target.resource)
        if resource is None:
            raise NotUnderstood("DFHWU4041", target.resource[:40])
        if not target.context and resource.table not in _NO_CONTEXT:
            raise NotUnderstood("DFHWU4004")
        body = None if request.method == "GET" else body_of(await request.body())
        version = self.version
        try:
            place = self._place(target)
            version = place.version
            if request.method == "GET":
                outcome = await self._got(user, place, resource, target)
            else:
                outcome = await self._changed(request, user, place, resource, target, body)
        except _Refused as refused:
            outcome = refused.outcome
        except Condition as condition:
            outcome = CmciOutcome("NOTPERMIT", "USRID") if condition.name == "NOTAUTH" else CmciOutcome("FAILED")
        except RegionClosed:
            outcome = CmciOutcome("NOTAVAILABLE", "SCOPE")
        if outcome.response != "OK":
            outcome = replace(outcome, function=outcome.function or _FUNCTIONS[request.method])
        return await self._answer(request, outcome, resource, version)

    def _place(self, target: CmciTarget) -> CmciPlace:
        """The regions of a context and scope.

        Raises:
            _Refused: INVALIDPARM: there is none of that name. NOTAVAILABLE: the region has ended.
        """
        regions, plex = self._host.regions, self._settings.plex
        if target.context not in ("", plex, *regions) or not is_name(target.context or plex):
            raise _Refused("INVALIDPARM", "CONTEXT")
        name = target.scope
        if target.context in regions and target.context != plex:
            if name not in ("", target.context):
                raise _Refused("INVALIDPARM", "SCOPE")
            name = target.context
        if name not in ("", plex, *regions):
            raise _Refused("INVALIDPARM", "SCOPE")
        wanted = [regions[name]] if name in regions else list(regions.values())
        running = [each for each in wanted if not why_ended(each)]
        if wanted and not running:
            raise _Refused("NOTAVAILABLE", "SCOPE")
        return CmciPlace(plex, running)

    async def _selected(
        self, user: User, place: CmciPlace, resource: CmciResource, options: Mapping[str, str]
    ) -> list[CmciRecord]:
        """The records that the criteria select, in order.

        Raises:
            _Refused: INVALIDPARM: the criteria, the parameters or ORDERBY are not valid.
        """
        if parameters_of(options.get("PARAMETER", "")) is None:
            raise _Refused("INVALIDPARM", "PARM")
        try:
            fits = predicate(options["CRITERIA"], resource.attributes) if "CRITERIA" in options else None
        except CriteriaError as wrong:
            raise _Refused("INVALIDPARM", "CRITERIA", _attribute_fault(wrong)) from None
        found = await records_of(self._host, place, resource, user.id)
        try:
            return await asyncio.to_thread(_chosen, found, fits, options.get("ORDERBY"), resource)
        except CriteriaError as wrong:
            raise _Refused("INVALIDPARM", "ATTRIBUTE", _attribute_fault(wrong)) from None

    async def _got(self, user: User, place: CmciPlace, resource: CmciResource, target: CmciTarget) -> CmciOutcome:
        _check_role(user, f"INQUIRE {resource.inquire or resource.table}")
        found: Sequence[CmciRecord] = await self._selected(user, place, resource, target.options)
        if not found:
            return CmciOutcome("NODATA", count=0)
        most = self._settings.warning_count
        if most and len(found) > most and "OVERRIDEWARNINGCOUNT" not in target.options:
            return CmciOutcome("WARNING", "MAXRECORDS", count=len(found))
        keeps = "NODISCARD" in target.options
        token = self._cache.keep(user.id, resource, found, place.version) if keeps else ""
        shown = found
        if target.count is not None:
            shown = found[: target.count] if target.count > 0 else found[target.count :]
        return CmciOutcome(count=len(found), records=None if "SUMMONLY" in target.options else shown, token=token)

    async def _changed(
        self,
        request: Request,
        user: User,
        place: CmciPlace,
        resource: CmciResource,
        target: CmciTarget,
        body: CmciBody | None,
    ) -> CmciOutcome:
        action, values = _wanted(request.method, resource, body)
        note_for_audit(
            request, operation=f"CMCI {action.name} {resource.name}", applid=target.scope or target.context,
            command=target.options.get("CRITERIA", ""),
        )  # fmt: skip
        _check_role(user, action.command, [*action.options.values()])
        options = _options_of(resource, values)
        selected = await self._selected(user, place, resource, target.options)
        if not selected:
            return CmciOutcome("NODATA", count=0)
        done = await act(self._host, user, place, resource, action, options, selected)
        note_for_audit(request, resp="NORMAL" if not done.feedback else "some of it failed")
        if not done.feedback:
            return CmciOutcome(count=len(selected), succeeded=len(selected), records=done.records)
        response, reason = ("TABLEERROR", "DATAERROR") if done.permitted else ("NOTPERMIT", "USRID")
        return CmciOutcome(
            response, reason, count=len(selected), succeeded=len(done.records), feedback=done.feedback,
            function="SET" if action.name == _UPDATE else "",
        )  # fmt: skip


def _check_role(user: User, name: str, values: Sequence[str] = ()) -> None:
    if not user.may(operation(name, values).role):
        raise _Refused("NOTPERMIT", "USRID")


def _wanted(method: str, resource: CmciResource, body: CmciBody | None) -> tuple[CmciAction, Mapping[str, str]]:
    """The action of a request that changes something, and the attributes of an update.

    Raises:
        NotUnderstood: the body does not suit the method. _Refused: the resource has no such action.
    """
    if method == "DELETE":
        if body is not None and body.kind != "delete":
            raise NotUnderstood("DFHWU4007", body.kind)
        name, values = _DISCARD, None
    else:
        if body is None:
            raise NotUnderstood("DFHWU4006")
        if body.kind not in (("action", "update") if method == "PUT" else ("create",)):
            raise NotUnderstood("DFHWU4007", body.kind)
        name, values = (body.action, None) if body.kind == "action" else (_UPDATE, body.attributes or {})
        if body.kind == "create" or (body.kind == "action" and name == _UPDATE):
            name = ""
    action = resource.actions.get(name)
    if action is None:
        raise _Refused("INVALIDPARM", "ACTION")
    if body is not None and body.parameters:
        raise _Refused("INVALIDPARM", "ACTIONPARM")
    if values is not None and not values:
        raise NotUnderstood("DFHWU4007", "attributes")
    return action, values or {}


def _options_of(resource: CmciResource, values: Mapping[str, str]) -> dict[str, Any]:
    """The options of SET for the attributes of an update.

    Raises:
        _Refused: TABLEERROR: an attribute is not known or cannot be set, or its value is not a number.
    """
    options: dict[str, Any] = {}
    for name, value in values.items():
        attribute = resource.attributes.get(name)
        if attribute is None or not attribute.settable:
            raise _Refused("TABLEERROR", "INVALIDATTR", [{"action": _UPDATE, "attribute1": name, "errorcode": "1"}])
        if attribute.is_number and not (value.isascii() and value.isdigit() and len(value) < 10):
            raise _Refused("TABLEERROR", "DATAERROR", [{"action": _UPDATE, "attribute1": name, "errorcode": "2"}])
        options[attribute.origin] = int(value) if attribute.is_number else value
    return options


def _attribute_fault(wrong: CriteriaError) -> Sequence[Mapping[str, str]]:
    return [{"attribute1": wrong.attribute, "errorcode": "1"}] if wrong.attribute else ()


def _chosen(records: list[CmciRecord], fits: Any, order: str | None, resource: CmciResource) -> list[CmciRecord]:
    """The records that fit, in the wanted order; this takes a while for many, and needs no region."""
    found = in_order(resource, records if fits is None else [each for each in records if fits(each.values)])
    return found if order is None else _sorted(found, order, resource)


def _sorted(records: Sequence[CmciRecord], order: str, resource: CmciResource) -> list[CmciRecord]:
    """Records in the order of ORDERBY; those that are equal keep theirs."""
    found = list(records)
    for attribute, descending in reversed(ordered(order, resource.attributes)):
        found.sort(key=lambda each, one=attribute: sort_key(one, each.values), reverse=descending)  # type: ignore[misc]
    return found


# -- refusals of other parts ------------------------------------------------------------------------------------------


class _RefusesInXml:
    """Writes the refusals of other parts of the server as documents of this interface, for its paths."""

    def __init__(self, app: ASGIApp, served: _Cmci) -> None:
        self._app = app
        self._served = served

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith(ROOT):
            await self._app(scope, receive, send)
            return
        start: Message | None = None

        async def in_xml(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start" and _is_problem(message):
                start = message
                return
            if start is not None and message["type"] == "http.response.body":
                detail = json.loads(message["body"])["detail"]
                body = refusal_body(start["status"], detail, self._served.version)
                headers = MutableHeaders(scope=start)
                headers["content-type"], headers["content-length"] = "application/xml", str(len(body))
                await send(start)
                start, message = None, {**message, "body": body}
            await send(message)

        await self._app(scope, receive, in_xml)


def _is_problem(message: Message) -> bool:
    return Headers(raw=message["headers"]).get("content-type", "").startswith("application/problem+json")
