"""Who looks. Everything of the console is behind the server's own gate; here is whom that has let in, and as what.

Whether a page still belongs to somebody is asked anew with each action and each refresh: a session ends while its pages
are open, and a user may lose a role.
"""

from __future__ import annotations

from dataclasses import dataclass

from starlette.requests import HTTPConnection
from starlette.types import Scope

from tdqsim.server.http.access import Gate
from tdqsim.server.users import Role, User

__all__ = ["Caller", "Door"]


@dataclass(frozen=True, slots=True)
class Caller:
    """Who looks.

    Attributes:
        user: as the server knows him; without an id he is the owner of the process.
    """

    user: User

    @property
    def name(self) -> str:
        """For people."""
        return self.user.id or "(owner)"

    @property
    def userid(self) -> str:
        """The user id of his tasks; empty for the region's default user."""
        return self.user.id

    @property
    def roles(self) -> str:
        """The roles of the user, as text."""
        return ", ".join(role.value for role in Role if self.may(role))

    def may(self, role: Role) -> bool:
        """Whether the user has a role."""
        return self.user.may(role)


class Door:
    """Says who a page belongs to.

    Args:
        gate: the server's gate.
    """

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    def who(self, connection: HTTPConnection) -> Caller | None:
        """The user of a request; None without a session, or when the user may no longer look."""
        user, _session = self._gate.identify(connection.headers)
        return Caller(user) if user is not None and user.may(Role.look) else None

    def name_of(self, scope: Scope) -> str:
        """The user's name for the log; empty without a session."""
        caller = self.who(HTTPConnection(scope))
        return "" if caller is None else caller.name
