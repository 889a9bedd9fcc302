"""The XML documents of the management interface.

HTTP 200 stands for every request that was understood; what came of it is in ``<resultsummary>``, with all four
``api_response`` attributes. A request that was not understood is answered by an ``<error>`` with a message.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final
from xml.sax.saxutils import quoteattr

from fastapi import Response

from tdqsim.server.cmci.acting import Feedback
from tdqsim.server.cmci.reading import CmciRecord
from tdqsim.server.cmci.requests import ROOT
from tdqsim.server.cmci.tables import CODES, MESSAGES, CmciResource

_HEAD: Final = '<?xml version="1.0" encoding="UTF-8"?>\n'
_NAMESPACE: Final = "http://www.ibm.com/xmlns/prod/CICS/smw2int"
_MEDIA_TYPE: Final = "application/xml"
_HEADERS: Final = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
_OF_STATUS: Final[Mapping[int, str]] = {
    401: "DFHWU4030", 403: "DFHWU4031", 404: "DFHWU4041", 405: "DFHWU4050",
}  # fmt: skip
"""The message of a refusal that other parts of the server give."""
_SERVER_FAULT: Final = 500
_ESCAPED: Final = re.compile('[&<>"\t\n\r]').search


@dataclass(frozen=True, slots=True)
class CmciOutcome:
    """The result of a request, for ``<resultsummary>`` and what follows it.

    Attributes:
        response, reason: the names of the codes; no reason if empty.
        function: the function that failed, such as GET; empty if it did not.
        count: the number of records that the request is for; None to leave it out.
        succeeded: how many of them were changed; None to leave it out.
        records: the records to show; None for a summary alone.
        feedback: what was not done, and why.
        token: the token of the retained result set; empty for none.
    """

    response: str = "OK"
    reason: str = ""
    function: str = ""
    count: int | None = None
    succeeded: int | None = None
    records: Sequence[CmciRecord] | None = None
    feedback: Sequence[Feedback] = ()
    token: str = ""


def document(outcome: CmciOutcome, resource: CmciResource | None, version: str, address: str) -> bytes:
    """The answer to a request that was understood.

    Args:
        outcome: its result.
        resource: the resource of the records.
        version: ``connect_version``.
        address: the URL of the server, for the place of the schema.
    """
    parts = [
        f'{_HEAD}<response xmlns="{_NAMESPACE}" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" ',
        f"xsi:schemaLocation={quoteattr(f'{_NAMESPACE} {address}{ROOT}/schema/CICSSystemManagement.xsd')} ",
        f'version="3.0" connect_version="{version}">\n',
        _element("resultsummary", _summary(outcome)),
    ]
    if outcome.records and resource is not None:
        parts += ["<records>\n", *_elements(resource, outcome.records), "</records>\n"]
    if outcome.feedback:
        parts += ["<errors>\n", *map(_feedback, outcome.feedback), "</errors>\n"]
    parts.append("</response>\n")
    return "".join(parts).encode()


def _summary(outcome: CmciOutcome) -> dict[str, str]:
    found = {"api_source": "CICSPlex SM", "api_function": outcome.function} if outcome.function else {}
    found |= {
        "api_response1": str(CODES[outcome.response]),
        "api_response2": str(CODES[outcome.reason]) if outcome.reason else "0",
        "api_response1_alt": outcome.response,
        "api_response2_alt": outcome.reason,
    }
    if outcome.count is not None:
        found["recordcount"] = str(outcome.count)
    if outcome.records:
        found["displayed_recordcount"] = str(len(outcome.records))
    if outcome.succeeded is not None:
        found["successcount"] = str(outcome.succeeded)
    if outcome.token:
        found["cachetoken"] = outcome.token
    return found


def _elements(resource: CmciResource, records: Iterable[CmciRecord]) -> Iterable[str]:
    names = [(name, f" {name.lower()}=") for name in resource.attributes]
    for record in records:
        shown = "".join(start + _quoted(record.values[name]) for name, start in names)
        yield f'<{resource.element} _keydata="{record.keydata}"{shown}/>\n'


def _quoted(value: str) -> str:
    """A value of an attribute; most values need no escape."""
    return f'"{value}"' if _ESCAPED(value) is None else quoteattr(value)


def _element(name: str, values: Mapping[str, str]) -> str:
    return f"<{name}{''.join(f' {key}={quoteattr(value)}' for key, value in values.items())}/>\n"


def answer(body: bytes) -> Response:
    """The HTTP answer with a document."""
    return Response(body, media_type=_MEDIA_TYPE, headers=_HEADERS)


def error(
    message: str, version: str, detail: str = "", headers: Mapping[str, str] | None = None, *, info: str = "detail"
) -> Response:
    """The HTTP answer to a request that was not understood, with the status of its message."""
    status, text = MESSAGES[message]
    return Response(
        error_body(message, status, text, version, detail, info),
        status,
        media_type=_MEDIA_TYPE,
        headers=_HEADERS | dict(headers or {}),
    )


def refusal_body(status: int, detail: str, version: str) -> bytes:
    """The document for a refusal of another part of the server, such as a body that is too long."""
    message = _OF_STATUS.get(status, "DFHWU5001" if status >= _SERVER_FAULT else "DFHWU4029")
    return error_body(message, status, MESSAGES[message][1], version, detail)


def _feedback(found: Feedback) -> str:
    element = _element("feedback", found.values)
    if not found.errors:
        return element
    errors = "".join(_element("installerror", each) for each in found.errors)
    return f"{element.removesuffix('/>' + chr(10))}>\n{errors}</feedback>\n"


def error_body(message: str, status: int, text: str, version: str, detail: str, name: str = "detail") -> bytes:
    """The document of a message; ``name`` is that of the ``errorInfo`` with the detail."""
    info = f"<errorInfo name={quoteattr(name)}>{_escaped(detail)}</errorInfo>\n" if detail else ""
    return (
        f'{_HEAD}<error message_id="{message}" connect_version="{version}">\n'
        f"<title>{status} CICS management client interface HTTP Error</title>\n"
        f"<short>{HTTPStatus(status).phrase}. The request cannot be processed.</short>\n"
        f"<full>{_escaped(text)}</full>\n{info}</error>\n"
    ).encode("utf-8", "replace")


def _escaped(text: str) -> str:
    return "".join(
        {"&": "&amp;", "<": "&lt;", ">": "&gt;"}.get(each, each if each.isprintable() else ".") for each in text
    )
