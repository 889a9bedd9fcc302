"""The table of operations, ``facts/operations.tsv``: the role, the route and the audit text of each.

A route of the API names its operation by its id. EXEC CICS text, CECI and CEMT name a command; its CVDA may decide, as
FORCEPURGE of SET TASK does. Where a CVDA is in a variable, the command needs the highest role of its rows.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from typing import NamedTuple

from tdqsim.cics.text.cemt_request import CemtRequest
from tdqsim.cics.text.translator import Resolved
from tdqsim.facts import table
from tdqsim.server.users import Role

__all__ = [
    "Route",
    "ServerOperation",
    "operation",
    "operation_of_command",
    "operation_of_id",
    "operation_of_request",
    "route_of",
]


class ServerOperation(NamedTuple):
    """Something that a user wants done.

    Attributes:
        name: the command, or the name of what is no command.
        role: the role that it needs.
        audit: the text of its audit line, with the names of its parts in braces.
    """

    name: str
    role: Role
    audit: str = ""

    def text(self, **parts: object) -> str:
        """The text of its audit line; its name where the table has none."""
        return self.audit.format(**parts) or self.name


class Route(NamedTuple):
    """A route of the API.

    Attributes:
        method: such as ``GET``.
        path: below ``/api/v1``, with the parameters as ``{name}``.
        tag: the group of the OpenAPI document that it is in.
    """

    method: str
    path: str
    tag: str


@cache
def _rows() -> dict[str, dict[str, ServerOperation]]:
    """The operations by name and value; the value is empty for all that have no row of their own."""
    found: dict[str, dict[str, ServerOperation]] = {}
    for row in table("operations"):
        one = ServerOperation(row["operation"], Role(row["role"]), row["audit"])
        if found.setdefault(row["operation"], {}).setdefault(row["value"], one) != one:
            raise ValueError(f"facts/operations.tsv: {row['operation']} has two roles, or two audit texts")
    return found


@cache
def _ids() -> dict[str, tuple[Route, ServerOperation]]:
    found = {}
    for row in table("operations"):
        if row["id"]:
            method, path = row["route"].split(" ")
            found[row["id"]] = Route(method, path, row["tag"]), operation(row["operation"])
    return found


def _fitting(name: str) -> dict[str, ServerOperation]:
    rows = _rows()
    if name in rows:
        return rows[name]
    generic = [each for each in rows if each.endswith("*") and name.startswith(each[:-1])]
    return rows[max(generic, key=len)]


def operation(name: str, values: Collection[str] | None = ()) -> ServerOperation:
    """An operation with the role that it needs.

    Args:
        name: such as ``SET TASK``.
        values: the CVDAs that are given, such as ``FORCEPURGE``; None when they are not known.
    """
    rows = _fitting(name)
    given = rows.values() if values is None else [rows[each] for each in values if each in rows] or [rows[""]]
    return max(given, key=lambda each: tuple(Role).index(each.role))._replace(name=name)


def operation_of_id(operation_id: str) -> ServerOperation:
    """What the route with this operationId does.

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


def operation_of_command(resolved: Resolved) -> ServerOperation:
    """What an EXEC CICS command does."""
    name = resolved.command.name
    by_variable = any(option.kind == "cvda" for option, _word in resolved.sends)
    return operation(name, None if by_variable else [cvda.name for _option, cvda in resolved.keywords])


def operation_of_request(request: CemtRequest) -> ServerOperation:
    """What a CEMT request does; with a ``?`` it only shows what could be asked for."""
    if request.syntax_only:
        return operation("CEMT")
    given = [str(getattr(each, "name", each)) for each in request.values.values()]
    return operation(f"{request.verb} {request.resource}", given)._replace(audit=operation("CEMT").audit)
