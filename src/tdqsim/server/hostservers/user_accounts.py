"""The accounts of a server's users: the verifiers under ``ibmi`` of ``users.yaml``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tdqsim.errors import TdqError
from tdqsim.server.hostservers.accounts import Account, Accounts
from tdqsim.server.hostservers.passwords import PasswordLevel, tokens
from tdqsim.server.users import TooManySignOns, User, Users, hashed

__all__ = ["UserAccounts"]


class UserAccounts(Accounts):
    """Accounts that follow the users.

    A changed password becomes the user's for all faces, with verifiers of the levels that the user had.

    Args:
        users: the users.
        path: their file, written anew at each change; None for none.
    """

    def __init__(self, users: Users, path: Path | None = None) -> None:
        super().__init__()
        self._users = users
        self._path = path
        self._known: dict[str, User] = {}

    def find(self, user: str) -> Account | None:
        """The account of a user, in capitals; made anew when the user was changed."""
        found = self._users.get(user)
        if found is None:
            return None
        if self._known.get(user) is not found:
            self._known[user] = found
            kept = {PasswordLevel(level): verifier for level, verifier in found.ibmi.items()}
            self._accounts[user] = Account(user, kept, disabled=found.disabled)
        return self._accounts[user]

    def admit(self, user: str, origin: str) -> bool:
        """See the base."""
        try:
            self._users.admit(user, origin)
        except TooManySignOns:
            return False
        return True

    def succeeded(self, user: str, origin: str) -> None:
        """See the base."""
        self._users.succeeded(user, origin)

    def change(self, account: Account, password: str) -> None:
        """See the base."""
        before = self._known[account.user]
        made = {int(level): kept for level, kept in tokens(account.user, password).items()}
        verifiers = {level: kept for level, kept in made.items() if level in before.ibmi}
        self._users.put(replace(before, ibmi=verifiers, password=hashed(password) if before.password else ""))
        if self._path is not None:
            try:
                self._users.write(self._path)
            except TdqError:
                self._users.put(before)
                raise
