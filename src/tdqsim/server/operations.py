"""The table of operations, ``facts/operations.tsv``: the role, the route and the audit text of each.

A route of the API names its operation by its id. EXEC CICS text, CECI and CEMT name a command, whose role may depend on
a CVDA, such as FORCEPURGE of SET TASK. If a CVDA is in a variable, the command needs the highest role of its rows.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from typing import NamedTuple

from tdqsim.cics import parse_cemt
from tdqsim.errors import WrongValue
from tdqsim.facts import table
from tdqsim.languages import Resolved
from tdqsim.server.users import Role


class ServerOperation(NamedTuple):
    """An operation that a user can request.

    Attributes:
        name: the command, or the name of another operation.
        role: the required role.
        audit: the text of its audit line, with placeholders in braces.
    """

    name: str
    role: Role
    audit: str = ""

    def text(self, **parts: object) -> str:
        """The text of its audit line; default: its name."""
        return self.audit.format(**parts) or self.name


class Route(NamedTuple):
    """A route of the API.

    Attributes:
        method: the HTTP method, such as ``GET``.
        path: the path below ``/api/v1``, with parameters as ``{name}``.
        tag: its group in the OpenAPI document.
    """

    method: str
    path: str
    tag: str


@cache
def _rows() -> dict[str, dict[str, ServerOperation]]:
    """The operations by name and CVDA; the empty CVDA is for all values without a row."""
    rows: dict[str, dict[str, ServerOperation]] = {}
    for row in table("operations"):
        one = ServerOperation(row["operation"], Role(row["role"]), row["audit"])
        if rows.setdefault(row["operation"], {}).setdefault(row["value"], one) != one:
            raise WrongValue(f"facts/operations.tsv: {row['operation']} has two roles, or two audit texts")
    return rows


@cache
def _ids() -> dict[str, tuple[Route, ServerOperation]]:
    ids = {}
    for row in table("operations"):
        if row["id"]:
            method, path = row["route"].split(" ")
            ids[row["id"]] = Route(method, path, row["tag"]), operation(row["operation"])
    return ids


def _fitting(name: str) -> dict[str, ServerOperation]:
    rows = _rows()
    if name in rows:
        return rows[name]
    generic = [each for each in rows if each.endswith("*") and name.startswith(each[:-1])]
    return rows[max(generic, key=len)]


def operation(name: str, values: Collection[str] | None = ()) -> ServerOperation:
    """An operation with its required role.

    Args:
        name: the name, such as ``SET TASK``.
        values: the CVDAs of the command, such as ``FORCEPURGE``; None if they are unknown.
    """
    rows = _fitting(name)
    given = rows.values() if values is None else [rows[each] for each in values if each in rows] or [rows[""]]
    return max(given, key=lambda each: tuple(Role).index(each.role))._replace(name=name)


def operation_of_id(operation_id: str) -> ServerOperation:
    """The operation of the route with this operationId.

    Raises:
        KeyError: the table has no such id.
    """
    return _ids()[operation_id][1]


def route_of(operation_id: str) -> Route:
    """The route with this operationId.

    Raises:
        KeyError: the table has no such id.
    """
    return _ids()[operation_id][0]


def listed(operation_id: str | None) -> tuple[Route, ServerOperation] | None:
    """The route and the operation with this operationId; None for a route that the table does not list."""
    return None if operation_id is None else _ids().get(operation_id)


def operation_of_command(resolved: Resolved) -> ServerOperation:
    """The operation of an EXEC CICS command."""
    name = resolved.command.name
    by_variable = any(option.kind == "cvda" for option, _word in resolved.sends)
    return operation(name, None if by_variable else [cvda.name for _option, cvda in resolved.keywords])


def operation_of_request(text: str) -> ServerOperation:
    """The operation of a CEMT request; with ``?`` the request only shows its syntax.

    Raises:
        CemtError: the text is not a request.
    """
    request = parse_cemt(text)
    if request.syntax_only:
        return operation("CEMT")
    given = [str(getattr(each, "name", each)) for each in request.values.values()]
    return operation(f"{request.verb} {request.resource}", given)._replace(audit=operation("CEMT").audit)
