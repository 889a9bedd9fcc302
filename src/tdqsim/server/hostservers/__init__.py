"""The host servers of an IBM i: sign-on, data queues, remote commands and program calls, for unmodified clients.

Each server is a state machine without sockets: it gets bytes and returns steps (``conversation``). A step is a reply to
write, work for the engine that returns a reply, or the end. ``frames`` parses the bytes, ``passwords`` and ``accounts``
check sign-ons, ``signon``, ``dataqueue``, ``command`` and ``database`` are the servers, ``messages`` encodes their
messages, ``user_accounts`` uses the users of a server as accounts, and ``listener`` runs the servers on ports of an
asyncio loop beside an engine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tdqsim.lazy import lazy_names

if TYPE_CHECKING:
    from tdqsim.server.hostservers.accounts import (
        Account,
        Accounts,
        CommandPasswords,
        SignOnCode,
        change_password,
        refused_password,
        sign_on,
    )
    from tdqsim.server.hostservers.command import CommandServer
    from tdqsim.server.hostservers.conversation import Conversation, End, HostSystem, Reply, SystemWork
    from tdqsim.server.hostservers.database import DatabaseServer
    from tdqsim.server.hostservers.dataqueue import DataQueueServer
    from tdqsim.server.hostservers.frames import Frame, FrameError, FrameReader, block, blocks, reply
    from tdqsim.server.hostservers.listener import HostServers
    from tdqsim.server.hostservers.passwords import PasswordLevel, covered, substitute, token, tokens
    from tdqsim.server.hostservers.signon import SignOn
    from tdqsim.server.hostservers.user_accounts import UserAccounts

__all__ = [
    "Account",
    "Accounts",
    "CommandPasswords",
    "CommandServer",
    "Conversation",
    "DataQueueServer",
    "DatabaseServer",
    "End",
    "Frame",
    "FrameError",
    "FrameReader",
    "HostServers",
    "HostSystem",
    "PasswordLevel",
    "Reply",
    "SignOn",
    "SignOnCode",
    "SystemWork",
    "UserAccounts",
    "block",
    "blocks",
    "change_password",
    "covered",
    "refused_password",
    "reply",
    "sign_on",
    "substitute",
    "token",
    "tokens",
]

# No __dir__: freezegun reads every name that a module lists, and would import pandas or FastAPI while time is frozen.
__getattr__, _ = lazy_names(
    __name__,
    {
        ".accounts": (
            "Account",
            "Accounts",
            "CommandPasswords",
            "SignOnCode",
            "change_password",
            "refused_password",
            "sign_on",
        ),
        ".command": ("CommandServer",),
        ".conversation": ("Conversation", "End", "HostSystem", "Reply", "SystemWork"),
        ".database": ("DatabaseServer",),
        ".dataqueue": ("DataQueueServer",),
        ".listener": ("HostServers",),
        ".frames": ("Frame", "FrameError", "FrameReader", "block", "blocks", "reply"),
        ".passwords": ("PasswordLevel", "covered", "substitute", "token", "tokens"),
        ".signon": ("SignOn",),
        ".user_accounts": ("UserAccounts",),
    },
)
