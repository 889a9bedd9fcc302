"""The route of the management interface, and what its methods do.

==========  ==========================================================================================================
method      does
==========  ==========================================================================================================
GET         the records of a resource, or a part of a retained result set
PUT         an action, or an update of attributes, for the records that the criteria select
POST        creates a definition in the CSD of a region
DELETE      discards the records, or removes the definitions
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

import structlog
from fastapi import FastAPI, Request, Response
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tdqsim.cics import Condition
from tdqsim.errors import RegionClosed
from tdqsim.server.audit import OWNER_NAME, one_line
from tdqsim.server.cmci.acting import Feedback, act, create, definition_attributes
from tdqsim.server.cmci.answers import CmciOutcome, answer, document, error, refusal_body
from tdqsim.server.cmci.cache import ResultCache
from tdqsim.server.cmci.criteria import CriteriaError, criteria_of, ordered, sort_key
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

_log = structlog.get_logger("tdqsim.server")
_NO_CONTEXT: Final = frozenset({"CICSPLEX"})
"""The tables that need no context."""
_FUNCTIONS: Final[Mapping[str, str]] = {"GET": "GET", "PUT": "PERFORM SET", "DELETE": "PERFORM SET", "POST": "CREATE"}
_OF_DEFINITIONS: Final[Mapping[str, str]] = {"PUT": "PERFORM SET", "DELETE": "REMOVE", "POST": "CREATE"}
"""The functions that fail, by method; for definitions."""
_UPDATE: Final = "UPDATE"
_DISCARD: Final = "DISCARD"
_REMOVE: Final = "REMOVE"
_CREATE: Final = "CREATE"
_DUPLICATES: Final = frozenset({"DUPERROR", "DUPNOREPLACE", "DUPREPLACE"})
_NOT_GIVEN: Final = frozenset({"KIND", "GROUP", "HANDLER"})
"""Names that a client may not give to a definition: a handler is Python code, which clients never name here."""


class _Refused(Exception):
    """A request that was understood and is refused as a whole.

    Attributes:
        outcome: the answer.
        detail: what is wrong, for the log: the codes of the answer do not include it.
    """

    def __init__(self, response: str, reason: str = "", feedback: Sequence[Feedback] = (), detail: str = "") -> None:
        super().__init__(response, reason)
        self.detail = detail
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
            found = error(wrong.message, self.version, wrong.detail, info=wrong.info)
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
                refused = CmciOutcome("INVALIDPARM", "BY", "ORDER", feedback=_attribute_fault(wrong))
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
        body = None if request.method == "GET" else body_of(await _received(request))
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
            _log.info(
                "cmci_refused", userid=user.id or OWNER_NAME, resource=resource.name, response=outcome.response,
                reason=outcome.reason, detail=one_line(refused.detail),
            )  # fmt: skip
        except Condition as condition:
            outcome = CmciOutcome("NOTPERMIT", "USRID") if condition.name == "NOTAUTH" else CmciOutcome("FAILED")
        except RegionClosed:
            outcome = CmciOutcome("NOTAVAILABLE", "SCOPE")
        if outcome.response != "OK":
            functions = _OF_DEFINITIONS if resource.csd and request.method != "GET" else _FUNCTIONS
            outcome = replace(outcome, function=outcome.function or functions[request.method])
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
        parameters = parameters_of(options.get("PARAMETER", ""))
        if parameters is None:
            raise _Refused("INVALIDPARM", "PARM")
        try:
            criteria = criteria_of(options["CRITERIA"], resource.attributes) if "CRITERIA" in options else None
        except CriteriaError as wrong:
            raise _Refused("INVALIDPARM", "CRITERIA", _attribute_fault(wrong), str(wrong)) from None
        group = parameters.get("CSDGROUP", "")
        found = await records_of(self._host, place, resource, user.id, criteria, group)
        try:
            return await asyncio.to_thread(_arranged, found, options.get("ORDERBY"), resource)
        except CriteriaError as wrong:
            raise _Refused("INVALIDPARM", "BY", _attribute_fault(wrong), str(wrong)) from None

    async def _got(self, user: User, place: CmciPlace, resource: CmciResource, target: CmciTarget) -> CmciOutcome:
        _check_role(user, f"INQUIRE {resource.inquire or resource.table}")
        found: Sequence[CmciRecord] = await self._selected(user, place, resource, target.options)
        if not found:
            return CmciOutcome("NODATA", count=0)
        most = self._settings.warning_count
        if most and len(found) > most and "OVERRIDEWARNINGCOUNT" not in target.options:
            raise NotUnderstood("DFHWU4033", "yes", "override_warning_count_allowed")
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
        action, arguments, values = _wanted(request.method, resource, body)
        note_for_audit(
            request, operation=f"CMCI {action.name} {resource.name}", applid=target.scope or target.context,
            command=target.options.get("CRITERIA", ""),
        )  # fmt: skip
        _check_role(user, action.command, [*action.options.values()])
        options = {**arguments, **_options_of(resource, action, values)}
        if resource.csd and len(place.regions) != 1:
            raise _Refused("INVALIDPARM", "SCOPE")
        if action.name == _CREATE:
            count, done = 1, await create(self._host, user, place, resource, action, values)
        else:
            if resource.csd not in ("", "group", "list") and "CSDGROUP(" not in target.options.get("PARAMETER", ""):
                raise _Refused("INVALIDPARM", "PARM")
            selected = await self._selected(user, place, resource, target.options)
            if not selected:
                return CmciOutcome("NODATA", count=0)
            count, done = len(selected), await act(self._host, user, place, resource, action, options, selected)
        note_for_audit(request, resp="NORMAL" if not done.feedback else "some of it failed")
        if not done.feedback:
            return CmciOutcome(count=count, succeeded=count, records=done.records)
        response, reason = ("TABLEERROR", "DATAERROR") if done.permitted else ("NOTPERMIT", "USRID")
        return CmciOutcome(
            response, reason, count=count, succeeded=count - len(done.feedback), feedback=done.feedback,
            function="" if action.name != _UPDATE else "UPDATE" if resource.csd else "SET",
        )  # fmt: skip


async def _received(request: Request) -> bytes:
    """The body of a request.

    Raises:
        NotUnderstood: the client has left before its end.
    """
    try:
        return await request.body()
    except ClientDisconnect:
        raise NotUnderstood("DFHWU4007", "the client has left") from None


def _check_role(user: User, name: str, values: Sequence[str] = ()) -> None:
    if not user.may(operation(name, values).role):
        raise _Refused("NOTPERMIT", "USRID")


def _wanted(
    method: str, resource: CmciResource, body: CmciBody | None
) -> tuple[CmciAction, Mapping[str, str], Mapping[str, str]]:
    """The action of a request that changes something, the arguments of its command, and the attributes it gives.

    Raises:
        NotUnderstood: the body does not suit the method. _Refused: the resource has no such action, or the action has
            no such parameter.
    """
    kinds = {"PUT": ("action", "update"), "POST": ("create",), "DELETE": ("delete",)}[method]
    if body is None and method != "DELETE":
        raise NotUnderstood("DFHWU4006")
    if body is not None and body.kind not in kinds:
        raise NotUnderstood("DFHWU4007", body.kind)
    if body is None or body.kind == "delete":
        name = _REMOVE if resource.csd else _DISCARD
    else:
        name = {"update": _UPDATE, "create": _CREATE}.get(body.kind, body.action)
        if (body.kind == "action") is (name in (_UPDATE, _CREATE, _REMOVE)):
            raise _Refused("INVALIDPARM", "ACTION")
    action = resource.actions.get(name)
    if action is None:
        raise _Refused("INVALIDPARM", "ACTION")
    given = {} if body is None else body.parameters
    if given.keys() - action.parameters.keys() or action.required - given.keys():
        raise _Refused("INVALIDPARM", "ACTIONPARM" if name not in (_CREATE, _REMOVE) else "PARM")
    if given.get("DUPACTION", "DUPERROR") not in _DUPLICATES:
        raise _Refused("INVALIDPARM", "ACTIONPARM")
    arguments = {action.parameters[word]: value for word, value in given.items() if action.parameters[word]}
    values = None if body is None else body.attributes
    if name in (_UPDATE, _CREATE) and not values:
        raise NotUnderstood("DFHWU4007", "attributes")
    return action, arguments, values or {}


def _options_of(resource: CmciResource, action: CmciAction, values: Mapping[str, str]) -> dict[str, Any]:
    """The options of the command for the attributes of an update.

    Raises:
        _Refused: TABLEERROR: an attribute is not known or cannot be set, or its value is not a number.
    """
    if resource.csd:
        for name in values:
            if name in _NOT_GIVEN or (name in resource.key and action.name != _CREATE):
                raise _Refused("TABLEERROR", "INVALIDATTR", [_wrong(action, name, "1")])
        return {} if action.name == _CREATE else definition_attributes(resource, values)
    options: dict[str, Any] = {}
    for name, value in values.items():
        attribute = resource.attributes.get(name)
        if attribute is None or not attribute.settable:
            raise _Refused("TABLEERROR", "INVALIDATTR", [_wrong(action, name, "1")])
        if attribute.is_number and not (value.isascii() and value.isdigit() and len(value) < 10):
            raise _Refused("TABLEERROR", "DATAERROR", [_wrong(action, name, "2")])
        options[attribute.origin] = int(value) if attribute.is_number else value
    return options


def _wrong(action: CmciAction, attribute: str, code: str) -> Feedback:
    return Feedback({"action": action.name, "attribute1": attribute, "errorcode": code})


def _attribute_fault(wrong: CriteriaError) -> Sequence[Feedback]:
    return [Feedback({"attribute1": wrong.attribute, "errorcode": "1"})] if wrong.attribute else ()


def _arranged(records: list[CmciRecord], order: str | None, resource: CmciResource) -> list[CmciRecord]:
    """Records in the wanted order; this takes a while for many, and needs no region."""
    found = in_order(resource, records)
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
