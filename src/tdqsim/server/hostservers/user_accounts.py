"""The accounts of a server's users, with the verifiers in ``ibmi`` of ``users.yaml``.

Without a users file the verifiers are in the stores of the systems, so that passwords survive a restart.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from tdqsim.errors import TdqError, UsageError
from tdqsim.ibmi import System
from tdqsim.server.hostservers.accounts import Account, Accounts
from tdqsim.server.hostservers.passwords import PasswordLevel, tokens
from tdqsim.server.users import TooManySignOns, User, Users, hashed

_KEPT = b"password/"
"""The beginning of the keys of the verifiers in a store."""


class UserAccounts(Accounts):
    """Accounts that are derived from the users.

    A changed password applies to all listeners, and gets verifiers for the levels in use.

    Args:
        users: the users.
        path: their file, which is written at each change; None to keep the verifiers in the stores of the systems.
    """

    def __init__(self, users: Users, path: Path | None = None) -> None:
        super().__init__()
        self._users = users
        self._path = path
        self._known: dict[str, User] = {}

    def join(self, system: System) -> None:
        """See the base class. Takes the passwords that an earlier server has kept in the store of the system."""
        super().join(system)
        if self._path is not None:
            return
        for key, value in list(system.store.durable.metas(_KEPT)):
            user = key[len(_KEPT) :].decode()
            kept = {int(level): bytes.fromhex(verifier) for level, verifier in json.loads(value).items()}
            self._users.put(User(user, ibmi=kept))

    def find(self, user: str) -> Account | None:
        """The account of a user; the name is in upper case. It is created again if the user has changed."""
        known = self._users.get(user)
        if known is None:
            return None
        if self._known.get(user) is not known:
            self._known[user] = known
            kept = {PasswordLevel(level): verifier for level, verifier in known.ibmi.items()}
            self._accounts[user] = Account(user, kept, disabled=known.disabled)
        return self._accounts[user]

    def admit(self, user: str, origin: str) -> bool:
        """See the base class."""
        try:
            self._users.admit(user, origin)
        except TooManySignOns:
            return False
        return True

    def succeeded(self, user: str, origin: str) -> None:
        """See the base class."""
        self._users.succeeded(user, origin)

    def change(self, account: Account, password: str) -> None:
        """See the base class."""
        before = self._known[account.user]
        self._put(
            before,
            replace(
                before,
                ibmi=self._verifiers(account.user, password),
                password=hashed(password) if before.password else "",
            ),
        )

    def keep(self, user: str, password: str | None) -> None:
        """See the base class. Commands cannot change a password that is also valid for other listeners.

        A new user has neither a role nor a password for the other listeners.
        """
        before = self._users.get(user)
        if before is not None and before.password:
            raise UsageError("the password of this user is for all listeners of the server; change it by tdq users")
        made = {} if password is None else self._verifiers(user, password)
        self._put(before, replace(before or User(user), ibmi=made))

    def _put(self, before: User | None, after: User) -> None:
        self._users.put(after)
        try:
            if self._path is not None:
                self._users.write(self._path)
            else:
                self._keep_in_stores(after)
        except TdqError:
            if before is None:
                self._users.remove(after.id)
            else:
                self._users.put(before)
            raise

    def _keep_in_stores(self, user: User) -> None:
        text = json.dumps({str(level): verifier.hex() for level, verifier in user.ibmi.items()}).encode()
        for system in self.systems:
            system.store.durable.commit(meta={_KEPT + user.id.encode(): text if user.ibmi else None})

    def _verifiers(self, user: str, password: str) -> dict[int, bytes]:
        """The verifiers of a password by password level, only for the levels in use."""
        return {int(level): kept for level, kept in tokens(user, password).items() if level in self.levels}
