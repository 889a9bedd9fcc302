"""The host servers of an IBM i: sign-on, data queues, remote commands and program calls, for unmodified clients.

Each server is a state machine without sockets: bytes go in, and steps come out, a reply to be written, a piece of work
for the engine that gives a reply, or the end (``conversation``). ``frames`` takes the bytes apart, ``passwords`` and
``accounts`` check who signs on, ``signon``, ``dataqueue`` and ``command`` are the servers, ``told`` writes their
messages, ``user_accounts`` takes the users of a server for accounts, and ``face`` puts the servers on ports of an
asyncio loop beside an engine.
"""

from __future__ import annotations

from tdqsim.server.hostservers.accounts import Account, Accounts
from tdqsim.server.hostservers.face import HostServers

__all__ = ["Account", "Accounts", "HostServers"]
