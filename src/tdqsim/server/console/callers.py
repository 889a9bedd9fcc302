"""The users of the console's pages. The server's gate has authenticated every request before it gets here.

Each action and each refresh of a page identifies its user again, because a session may end while its pages are open,
and a user may lose a role.
"""

from __future__ import annotations

from dataclasses import dataclass

from starlette.requests import HTTPConnection
from starlette.types import Scope

from tdqsim.server.http.access import Gate
from tdqsim.server.users import Role, User


@dataclass(frozen=True, slots=True)
class Caller:
    """The user of a page.

    Attributes:
        user: the user; without an id it is the owner of the process.
    """

    user: User

    @property
    def name(self) -> str:
        """The name to display."""
        return self.user.id or "(owner)"

    @property
    def userid(self) -> str:
        """The user id of the tasks of this user; empty for the default user of the region."""
        return self.user.id

    @property
    def roles(self) -> str:
        """The roles of the user, as text."""
        return ", ".join(role.value for role in Role if self.may(role))

    def may(self, role: Role) -> bool:
        """Whether the user has a role."""
        return self.user.may(role)


class Callers:
    """Identifies the users of pages.

    Args:
        gate: the server's gate.
    """

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    def identify(self, connection: HTTPConnection) -> Caller | None:
        """The user of a request; None without a session, or without the role ``look``."""
        user, _session = self._gate.identify(connection.headers)
        return Caller(user) if user is not None and user.may(Role.look) else None

    def name_of(self, scope: Scope) -> str:
        """The name of the user for the log; empty without a session."""
        caller = self.identify(HTTPConnection(scope))
        return "" if caller is None else caller.name
