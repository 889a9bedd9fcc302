"""The route of an operation: takes the arguments of its function from a request, and answers with the result.

FastAPI's own handler decides for each request anew what a function takes and where that is in the request, which takes
longer than most commands. :class:`OperationRoute` decides it once, by FastAPI's description of the function, and checks
the values with the same validators. It leaves a request that is not as documented to FastAPI's handler, which refuses
it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from email.message import Message
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from fastapi import HTTPException, Request, Response
from fastapi.routing import APIRoute
from pydantic import TypeAdapter

if TYPE_CHECKING:
    from fastapi._compat import ModelField
    from fastapi.dependencies.models import Dependant

__all__ = ["OperationRoute"]


class _NotAsDocumented(Exception):
    """The request is one that FastAPI's handler refuses."""


class OperationRoute(APIRoute):
    """The route of an operation."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The function that answers a request."""
        refuse = super().get_route_handler()
        *dependencies, function = _calls(self.dependant, set())
        body = self.body_field
        answer = TypeAdapter(self.response_model) if self.response_model else None
        status = self.status_code or 200

        async def handle(request: Request) -> Response:
            results: dict[object, Any] = {}
            try:
                given = {} if body is None else {body.name: _checked(body, await _json(request))}
                for each in dependencies:
                    results[each.function] = await each.function(**each.arguments(request, results))
                given |= function.arguments(request, results)
            except _NotAsDocumented:
                return await refuse(request)
            result = await function.function(**given)
            if isinstance(result, Response):
                return result
            content = b"" if answer is None else answer.dump_json(answer.validate_python(result))
            return Response(content, status, media_type="application/json")

        return handle


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
        optional = [each for each in (*self._query, *self._headers) if not each.field_info.is_required()]
        self._defaults = {each.name: each.get_default() for each in optional}
        self._required = {each.name for each in (*self._query, *self._headers)} - self._defaults.keys()

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
            values[field.name] = _checked(field, value)


def _checked(field: ModelField, value: object) -> Any:
    checked, errors = field.validate(value, {}, loc=())
    if errors:
        raise _NotAsDocumented
    return checked


async def _json(request: Request) -> Any:
    """The body of a request.

    Raises:
        _NotAsDocumented: there is none, or it is not JSON. HTTPException: it is too large or too late.
    """
    try:
        data = await request.body()
        if data and _is_json(request.headers.get("content-type", "")):
            return json.loads(data)
    except HTTPException:
        raise
    except Exception as error:  # FastAPI's handler reads the body again, and refuses the request
        raise _NotAsDocumented from error
    raise _NotAsDocumented


@lru_cache(maxsize=100)
def _is_json(content_type: str) -> bool:
    message = Message()
    message["content-type"] = content_type
    subtype = message.get_content_subtype()
    return message.get_content_maintype() == "application" and (subtype == "json" or subtype.endswith("+json"))
