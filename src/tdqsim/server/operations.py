"""Which role each operation needs: the table ``facts/operations.tsv``, for every way by which an operation can come.

A route of the API is an operation by its method and path. EXEC CICS text, CECI and CEMT name a command; its CVDA may
decide, as FORCEPURGE of SET TASK does. Where a CVDA is in a variable, the command needs the highest role of its rows.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache
from typing import Final, NamedTuple

from tdqsim.cics.text.cemt_request import CemtRequest
from tdqsim.cics.text.translator import Resolved
from tdqsim.facts import table
from tdqsim.server.users import Role

__all__ = [
    "ServerOperation",
    "operation",
    "operation_id",
    "operation_of_command",
    "operation_of_request",
    "operation_of_route",
]


class ServerOperation(NamedTuple):
    """Something that a user wants done.

    Attributes:
        name: the command, or the name of what is no command.
        role: the role that it needs.
    """

    name: str
    role: Role


@cache
def _rows() -> dict[str, dict[str, Role]]:
    """The role by operation and value; the value is empty for all that have no row of their own."""
    found: dict[str, dict[str, Role]] = {}
    for row in table("operations"):
        role = Role(row["role"])
        if found.setdefault(row["operation"], {}).setdefault(row["value"], role) is not role:
            raise ValueError(f"facts/operations.tsv: {row['operation']} has two roles")
    return found


@cache
def _routes() -> dict[str, Mapping[str, str]]:
    return {row["route"]: row for row in table("operations") if row["route"]}


def _fitting(name: str) -> dict[str, Role]:
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
    if values is None:
        return ServerOperation(name, _highest(rows.values()))
    return ServerOperation(name, _highest([rows[each] for each in values if each in rows] or [rows[""]]))


def _highest(roles: Collection[Role]) -> Role:
    return max(roles, key=tuple(Role).index)


def operation_of_route(method: str, path: str) -> ServerOperation:
    """What a route does.

    Args:
        method: such as ``GET``.
        path: below ``/api/v1``, with the parameters as ``{name}``.

    Raises:
        KeyError: the table has no such route.
    """
    return operation(_routes()[f"{method} {path}"]["operation"])


def operation_id(method: str, path: str) -> str | None:
    """The operationId of a route in the OpenAPI document; None for a route that is not in the table."""
    row = _routes().get(f"{method} {path}")
    return None if row is None else row["id"]


def operation_of_command(resolved: Resolved) -> ServerOperation:
    """What an EXEC CICS command does."""
    name = resolved.command.name
    by_variable = any(option.kind == "cvda" for option, _word in resolved.sends)
    return operation(name, None if by_variable else [cvda.name for _option, cvda in resolved.keywords])


_NOTHING: Final = ServerOperation("CEMT", Role.look)


def operation_of_request(request: CemtRequest) -> ServerOperation:
    """What a CEMT request does; with a ``?`` it only shows what could be asked for."""
    if request.syntax_only:
        return _NOTHING
    given = [str(getattr(each, "name", each)) for each in request.values.values()]
    return operation(f"{request.verb} {request.resource}", given)
