"""Errors as problem+json (RFC 9457): the vendor's condition in fields, never a traceback.

=====================  ======  ==================================================================
cause                  status  fields in addition to title and detail
=====================  ======  ==================================================================
a CICS condition       409     condition, resp, resp2, command, resource, unconfirmed_rules; 404 for QIDERR, 403
                               for NOTAUTH
an abend               409     abcode
an IBM i message       409     message_id; 404 if an object is not found, 403 without authority to it
a position of another  409     run: the present one
run of the server
not found              404
other refusals         409     text that is not a command, definition or layout; an impossible change
not as documented      422     errors: the parts of the request; a request that the document allows never gets 422
time limit             504
the server is stopped  503     while a request waited
=====================  ======  ==================================================================
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from http import HTTPStatus
from typing import Annotated, Any, Final, NotRequired

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import Field, TypeAdapter
from typing_extensions import TypedDict

from tdqsim.cics import Abend, Condition
from tdqsim.errors import TdqError, WouldWaitForever
from tdqsim.facts import unconfirmed
from tdqsim.ibmi import EscapeMessage
from tdqsim.server.host import OtherRun, UnknownRegion
from tdqsim.server.open_units import TooManyUnits, UnknownUnit

_STATUS: Final = {"QIDERR": HTTPStatus.NOT_FOUND, "NOTAUTH": HTTPStatus.FORBIDDEN, "TASKIDERR": HTTPStatus.NOT_FOUND}
_NOT_FOUND_MESSAGES: Final = frozenset({"CPF9801", "CPF9810"})
_NOT_AUTHORIZED: Final = frozenset({"CPF9802", "CPF9820"})


class ProblemDetails(TypedDict):
    """A refusal (RFC 9457)."""

    type: str
    title: Annotated[str, Field(description="the condition, the message id, or the kind of refusal")]
    status: Annotated[int, Field(description="the HTTP status")]
    detail: str
    condition: NotRequired[Annotated[str, Field(description="the name of a CICS condition")]]
    resp: NotRequired[int]
    resp2: NotRequired[int]
    command: NotRequired[str]
    resource: NotRequired[str]
    abcode: NotRequired[Annotated[str, Field(description="the abend code")]]
    message_id: NotRequired[Annotated[str, Field(description="the id of an IBM i message")]]
    unconfirmed_rules: NotRequired[
        Annotated[
            dict[str, str],
            Field(
                description="the rules that the condition or message rests on, by id, with their confidence; not "
                "given if a page or program of the vendor shows one of them"
            ),
        ]
    ]
    run: NotRequired[Annotated[str, Field(description="the present run, if a position was of another")]]
    errors: NotRequired[Annotated[list[str], Field(description="the parts of the request that are wrong")]]


PROBLEM_SCHEMA: Final[dict[str, Any]] = TypeAdapter(ProblemDetails).json_schema()
_REFERENCE: Final = {"$ref": "#/components/schemas/ProblemDetails"}
_REFUSALS: Final = (400, 401, 403, 404, 405, 408, 409, 413, 421, 422, 429, 431, 503, 504)
DOCUMENTED: Final[dict[int | str, dict[str, Any]]] = {
    status: {"description": HTTPStatus(status).phrase, "content": {"application/problem+json": {"schema": _REFERENCE}}}
    for status in _REFUSALS
}
"""All possible refusals, for the OpenAPI document."""
_OF_A_UNION: Final = re.compile(r".*\[.*|constrained-\w+|str|int|_?[A-Z]\w*[a-z]\w*")
"""Names of types and classes in an error location: fields and parameters are lower case, host variables upper case."""
_NOT_THERE: Final = (UnknownRegion, UnknownUnit)


def problem(status: int, title: str, detail: str, **fields: Any) -> JSONResponse:
    """A problem document."""
    body = {"type": "about:blank", "title": title, "status": int(status), "detail": detail, **fields}
    return JSONResponse(body, status_code=int(status), media_type="application/problem+json")


async def answer_for(_request: Request, error: Exception) -> JSONResponse:
    """The answer to a request that ended with an error of the simulator."""
    if isinstance(error, Condition):
        fields = {
            "condition": error.name,
            "resp": int(error.resp),
            "resp2": error.resp2,
            "command": error.command,
            "resource": error.resource,
        } | _doubts(error)
        return problem(_STATUS.get(error.name, HTTPStatus.CONFLICT), error.name, str(error), **fields)
    if isinstance(error, Abend):
        return problem(HTTPStatus.CONFLICT, "abend", str(error), abcode=error.code, **_doubts(error.cause))
    if isinstance(error, EscapeMessage):
        status = HTTPStatus.NOT_FOUND if error.message_id in _NOT_FOUND_MESSAGES else HTTPStatus.CONFLICT
        status = HTTPStatus.FORBIDDEN if error.message_id in _NOT_AUTHORIZED else status
        return problem(status, error.message_id, str(error), message_id=error.message_id, **_doubts(error))
    if isinstance(error, _NOT_THERE):
        return problem(HTTPStatus.NOT_FOUND, "not there", str(error))
    if isinstance(error, TooManyUnits):
        return problem(HTTPStatus.TOO_MANY_REQUESTS, "too many units of work", str(error))
    if isinstance(error, WouldWaitForever):
        return problem(HTTPStatus.CONFLICT, "would wait for ever", str(error))
    if isinstance(error, OtherRun):
        return problem(HTTPStatus.CONFLICT, "another run", str(error), run=error.run)
    if isinstance(error, TimeoutError):
        return problem(HTTPStatus.GATEWAY_TIMEOUT, "not in time", str(error) or "the wait has reached its time limit")
    assert isinstance(error, TdqError), error
    return problem(HTTPStatus.CONFLICT, type(error).__name__, str(error))


def _doubts(error: BaseException | None) -> dict[str, dict[str, str]]:
    """The field for the rules of a condition or message, if no page or program of the vendor shows them."""
    doubtful = unconfirmed(error.rules if isinstance(error, (Condition, EscapeMessage)) else ())
    return {"unconfirmed_rules": doubtful} if doubtful else {}


def drop_frames(error: BaseException) -> None:
    """Remove the frames from an error that was answered.

    A frame that refers to the error it raises forms a reference cycle with it. The cycle keeps the body of the request
    until the next garbage collection: up to megabytes each, for thousands of requests.
    """
    error.__cause__ = error.__context__ = error.__traceback__ = None


def _place(loc: Iterable[int | str]) -> str:
    """The location in a request, without the names of classes and validators that pydantic inserts for a union."""
    return ".".join(str(each) for each in loc if not _OF_A_UNION.fullmatch(str(each)))


def _reason(wrong: dict[str, Any]) -> str:
    """What the parser says of a body that is not JSON; of other errors the message says it."""
    return f": {wrong['ctx']['error']}" if wrong["type"] == "json_invalid" else ""


async def not_valid(request: Request, error: Exception) -> JSONResponse:
    """The answer to a request that does not match the OpenAPI document."""
    assert isinstance(error, RequestValidationError), error
    wrong = [
        f"{_place(each['loc'])}: {each['msg'].removeprefix('Value error, ')}{_reason(each)}"
        for each in error.errors()
        if each["type"] != "none_required"
    ]
    if isinstance(error.body, bytes):  # nobody has parsed it
        given = request.headers.get("content-type", "")
        wrong = [f"header.content-type: the body must be application/json, and this is {given[:80] or 'not given'}"]
    drop_frames(error)
    return problem(HTTPStatus.UNPROCESSABLE_ENTITY, "not as documented", "; ".join(wrong[:10]), errors=wrong[:100])
