"""Security: the checks that a region makes by calling its policy. A region without a policy checks nothing.

Command and resource security are checked for transactions whose definition says CMDSEC(YES) and RESSEC(YES). Both are
YES if the definition does not give them, as from CICS TS 6.2 on; the transactions of CICS itself have YES. A task whose
transaction has no definition is not checked. ``Region(cmdsec="ALWAYS", ressec="ALWAYS")`` (the system initialisation
parameters CMDSEC and RESSEC) checks every transaction. Surrogate users and unknown user ids are always checked.

==================  ============================================  =======================  =======================
Check               Commands                                      Asks                     Refused with
==================  ============================================  =======================  =======================
command security    INQUIRE, SET, CREATE, DISCARD TDQUEUE, ...    may_issue                NOTAUTH RESP2 100
resource security   those, on a queue; READQ, WRITEQ, DELETEQ TD  may_access               NOTAUTH RESP2 101
surrogate           ATIUSERID on SET, USERID on CREATE and START  may_act_for              NOTAUTH RESP2 102, 9
                    JOBUSERID on CREATE                           may_act_for              NOTAUTH RESP2 102
                    USER= of a job that WRITEQ TD submits         may_act_for              NOTAUTH
user known          the same                                      knows_user               USERIDERR
                    ``region.task(userid=)`` and its like         knows_user               TdqError
                    a mirror's user under ATTACHSEC(IDENTIFY)     knows_user               SYSIDERR
==================  ============================================  =======================  =======================

The levels are those of the resource classes CCICSCMD and DCICSDCT: READ for an inquiry, UPDATE for SET and for the
three TD requests (a read is destructive), ALTER for CREATE and DISCARD. READQ, WRITEQ and DELETEQ on an alias are
checked on the final target's name. A browse passes over queues that the user may not read. An access list may name
groups, as the permits of RACF do: the user's own entry decides; without one, the highest of those of all his groups
(SETROPTS GRPLIST). Sources: Introduction to command security, Resource security (IBM Docs); the level of the resource
checks is second-hand.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import IntEnum
from fnmatch import fnmatchcase

from tdqsim.errors import UsageError

__all__ = [
    "Access",
    "AccessList",
    "SecurityPolicy",
    "check_user",
    "link_user",
]


class Access(IntEnum):
    """Levels of access, each including those before it."""

    NONE = 0
    READ = 1
    UPDATE = 2
    ALTER = 3


class SecurityPolicy:
    """The decisions of the security manager. This base class allows everything; override the checks that may refuse.

    With any policy given to a region, security is *active*: ATIUSERID then shows the definition's user id.
    """

    def may_issue(self, user: str, resource_type: str, level: Access) -> bool:  # noqa: ARG002
        """Whether the user may issue SPI commands of this level on this type of resource (``TDQUEUE``)."""
        return True

    def may_access(self, user: str, queue: str, level: Access) -> bool:  # noqa: ARG002
        """Whether the user may access the queue of this name at this level."""
        return True

    def may_act_for(self, user: str, other: str) -> bool:  # noqa: ARG002
        """Whether the user may have work done for another user: ATIUSERID, USERID, JOBUSERID, USER= of a job."""
        return True

    def knows_user(self, user: str) -> bool:  # noqa: ARG002
        """Whether the security manager knows the user id."""
        return True


class AccessList(SecurityPolicy):
    """A policy that consists of lists, enough for most tests.

    Names of queues and resource types may be patterns with ``*`` and ``?``. The first matching pattern decides; a name
    that matches no pattern is refused. A group may stand in place of a user: its entry applies to members for whom no
    entry matches. Users and groups share one name space, so no group may have the name of a user.

    Args:
        queues: user or group -> {queue pattern: level}.
        commands: user or group -> {resource type pattern: level}; None leaves command security off.
        surrogates: user or group -> the user ids it may name; a user may always name itself.
        users: the user ids that exist; None for any.
        groups: user -> the groups of which it is a member, such as ``region.groups``; looked up at every check.
    """

    def __init__(
        self,
        queues: Mapping[str, Mapping[str, Access]] | None = None,
        commands: Mapping[str, Mapping[str, Access]] | None = None,
        surrogates: Mapping[str, Collection[str]] | None = None,
        users: Collection[str] | None = None,
        groups: Mapping[str, Collection[str]] | None = None,
    ) -> None:
        self._queues = queues
        self._commands = commands
        self._surrogates = surrogates
        self._users = users
        self._groups = {} if groups is None else groups

    def may_issue(self, user: str, resource_type: str, level: Access) -> bool:
        """See :meth:`SecurityPolicy.may_issue`."""
        return self._commands is None or self._level(self._commands, user, resource_type) >= level

    def may_access(self, user: str, queue: str, level: Access) -> bool:
        """See :meth:`SecurityPolicy.may_access`."""
        return self._queues is None or self._level(self._queues, user, queue) >= level

    def may_act_for(self, user: str, other: str) -> bool:
        """See :meth:`SecurityPolicy.may_act_for`."""
        if self._surrogates is None or other == user:
            return True
        return any(other in self._surrogates.get(name, ()) for name in (user, *self._groups.get(user, ())))

    def knows_user(self, user: str) -> bool:
        """See :meth:`SecurityPolicy.knows_user`."""
        return self._users is None or user in self._users

    def _level(self, lists: Mapping[str, Mapping[str, Access]], user: str, name: str) -> Access:
        own = _entry(lists.get(user, {}), name)
        if own is not None:
            return own
        levels = (_entry(lists.get(group, {}), name) for group in self._groups.get(user, ()))
        return max((level for level in levels if level is not None), default=Access.NONE)


def _entry(levels: Mapping[str, Access], name: str) -> Access | None:
    return next((level for pattern, level in levels.items() if fnmatchcase(name, pattern)), None)


def check_user(policy: SecurityPolicy | None, user: str, what: str) -> None:
    """Check a user id that was given by Python code, such as an argument of a region.

    Raises:
        UsageError: the policy does not know the user id.
    """
    if policy is not None and not policy.knows_user(user):
        raise UsageError(f"{what} {user!r}: the security policy does not know this user id")


def link_user(policy: SecurityPolicy | None, securityname: str) -> str:
    """The user of a link: SECURITYNAME; if the policy does not know it, blank, which means the default user."""
    return securityname if policy is None or policy.knows_user(securityname) else ""
