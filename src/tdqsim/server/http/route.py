"""The route of an operation: takes the arguments of its function from a request, and answers with the result.

FastAPI finds out at each request what a function takes and where that is in the request, which takes longer than most
commands. :class:`OperationRoute` finds it out once, from FastAPI's description of the function, and checks the values
with the same validators. A request that they refuse is answered by FastAPI's own application of the route, so that its
refusals stay those of the OpenAPI document.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from email.message import Message
from functools import cached_property, lru_cache
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from fastapi import HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import TypeAdapter
from starlette.requests import ClientDisconnect
from starlette.types import Message as AsgiMessage
from starlette.types import Receive, Scope, Send

from tdqsim.hosting import did_you_mean

if TYPE_CHECKING:
    from fastapi._compat import ModelField
    from fastapi.dependencies.models import Dependant


class _NotAsDocumented(Exception):
    """The request is one that FastAPI's handler refuses."""


class OperationRoute(APIRoute):
    """The route of an operation."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        super().__init__(path, endpoint, **options)
        *self._dependencies, self._function = _calls(self.dependant, set())
        self._parameters = {name for each in (*self._dependencies, self._function) for name in each.parameters}
        self._refuse, self.app = self.app, self._handle

    @cached_property
    def _answer(self) -> TypeAdapter[Any] | None:
        """Writes a result as JSON; made at the first request, because it takes a millisecond."""
        return TypeAdapter(self.response_model) if self.response_model else None

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        request = Request(scope, receive, send)
        body = b"" if self.body_field is None else await _body(request)
        try:
            arguments = await self._arguments(request, body)
        except _NotAsDocumented:
            await self._refuse(scope, _again(body, receive), send)
            return
        result = await self._function.function(**arguments)
        if not isinstance(result, Response):
            content = b"" if self._answer is None else self._answer.dump_json(self._answer.validate_python(result))
            result = Response(content, self.status_code or 200, media_type="application/json")
        await result(scope, receive, send)

    def _check_names(self, others: set[str]) -> None:
        """Check that no other name of a query resembles one of the parameters; it is of somebody else then.

        Raises:
            RequestValidationError: one does, and would have no effect.
        """
        for name in others:
            if suggestion := did_you_mean(name, self._parameters):
                wrong = f"there is no parameter {name[:40]}{suggestion}"
                raise RequestValidationError([{"type": "parameter", "loc": ("query",), "msg": wrong}])

    async def _arguments(self, request: Request, body: bytes) -> dict[str, Any]:
        """The arguments of the function.

        Raises:
            _NotAsDocumented: a value or the body is missing or not valid. RequestValidationError: a parameter is
                misspelt. HTTPException, TdqError: a dependency refuses the request.
        """
        field, given = self.body_field, dict[str, Any]()
        if field is not None:
            _take((field,), {field.alias: _json(request, body)}, given)
            if not given:
                raise _NotAsDocumented
        results: dict[object, Any] = {}
        if request.scope["query_string"] and (others := request.query_params.keys() - self._parameters):
            self._check_names(others)
        for each in self._dependencies:
            if each.of_request:
                results[each.function] = await each.function(request)
            else:
                results[each.function] = await each.function(**each.arguments(request, results))
        return given | self._function.arguments(request, results)


async def _body(request: Request) -> bytes:
    """The body of a request.

    Raises:
        HTTPException: it is too large or too late, or the client has disconnected.
    """
    try:
        return await request.body()
    except ClientDisconnect:
        raise HTTPException(HTTPStatus.BAD_REQUEST, "There was an error parsing the body") from None


def _again(body: bytes, receive: Receive) -> Receive:
    """Receive the body of a request once more, and then what follows it."""
    messages: list[AsgiMessage] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> AsgiMessage:
        return messages.pop() if messages else await receive()

    return again


def _calls(dependant: Dependant, known: set[object]) -> Iterator[_Call]:
    """The calls of a request: the functions on which a function depends, and the function last."""
    for each in dependant.dependencies:
        if each.call not in known:
            yield from _calls(each, known)
    known.add(dependant.call)
    yield _Call(dependant)


class _Call:
    """A function with the places of its arguments, except that of the body.

    Args:
        dependant: FastAPI's description of the function.
    """

    def __init__(self, dependant: Dependant) -> None:
        self.function: Any = dependant.call
        self._results = [(str(each.name), each.call) for each in dependant.dependencies]
        self._request = dependant.request_param_name or dependant.http_connection_param_name
        self._path = dependant.path_params
        self._query = dependant.query_params
        self._headers = dependant.header_params
        self.parameters = [each.alias for each in self._query]
        optional = [each for each in (*self._query, *self._headers) if not each.field_info.is_required()]
        self._defaults = {each.name: each.get_default() for each in optional}
        self._required = {each.name for each in (*self._query, *self._headers)} - self._defaults.keys()
        self.of_request = self._request is not None and not (
            self._results or self._path or self._query or self._headers
        )

    def arguments(self, request: Request, results: Mapping[object, Any]) -> dict[str, Any]:
        """The arguments by name.

        Args:
            request: the request.
            results: the results of the functions on which this one depends.

        Raises:
            _NotAsDocumented: a value is missing or not valid.
        """
        values = self._defaults.copy()
        for name, function in self._results:
            values[name] = results[function]
        _take(self._path, request.path_params, values)
        if self._query and request.scope["query_string"]:
            _take(self._query, request.query_params, values)
        if self._headers:
            _take(self._headers, request.headers, values)
        if not self._required <= values.keys():
            raise _NotAsDocumented
        if self._request is not None:
            values[self._request] = request
        return values


def _take(fields: Sequence[ModelField], given: Mapping[str, Any], values: dict[str, Any]) -> None:
    """Add the values of the parameters that are given."""
    for field in fields:
        value = given.get(field.alias)
        if value is not None:
            values[field.name], errors = field.validate(value, {}, loc=())
            if errors:
                raise _NotAsDocumented


def _json(request: Request, body: bytes) -> Any:
    """The value of a body.

    Raises:
        _NotAsDocumented: there is none, or it is not JSON.
    """
    if not body or not _is_json(request.headers.get("content-type", "")):
        raise _NotAsDocumented
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise _NotAsDocumented from None


@lru_cache(maxsize=100)
def _is_json(content_type: str) -> bool:
    message = Message()
    message["content-type"] = content_type
    subtype = message.get_content_subtype()
    return message.get_content_maintype() == "application" and (subtype == "json" or subtype.endswith("+json"))
