"""Security: the checks that a region makes by calling its policy. A region without a policy checks nothing.

Command and resource security are checked for transactions whose definition says CMDSEC(YES) and RESSEC(YES). Both are
YES if the definition does not give them, as from CICS TS 6.2 on; the transactions of CICS itself have YES. A task whose
transaction has no definition is not checked. CMDSEC(ALWAYS) and RESSEC(ALWAYS), system initialisation parameters and
attributes of :class:`~tdqsim.cics.SecurityOptions`, check every transaction. Attaching a transaction, surrogate users
and unknown user ids are always checked.

Each check asks :meth:`SecurityPolicy.permits` about a user, a resource class of RACF, a name in it, and a level:

==========  ==============================================  ======================================  ====================
Class       Commands                                        Name and level                          Refused with
==========  ==============================================  ======================================  ====================
TCICSTRN    a transaction is attached                       transaction, READ                       not attached
ACICSPCT    START, CANCEL; INQUIRE, SET TRANSACTION, REQID  transaction, READ (SET: UPDATE)         NOTAUTH 7, 101
MCICSPPT    LINK, XCTL, LOAD, HANDLE ABEND PROGRAM          program, READ                           NOTAUTH 101
FCICSFCT    file control; INQUIRE, SET FILE                 file, READ; to change it UPDATE         NOTAUTH 101
SCICSTST    temporary storage with SECURITY(YES)            queue, READ; to change it UPDATE        NOTAUTH 101
DCICSDCT    READQ, WRITEQ, DELETEQ TD; SPI on a queue       queue, UPDATE; inquiry READ,            NOTAUTH 101
                                                            CREATE and DISCARD ALTER
CCICSCMD    system programming commands                     resource type; inquiry READ, SET and    NOTAUTH 100
                                                            PERFORM UPDATE, CREATE, DISCARD ALTER
SURROGAT    START USERID                                    user.DFHSTART, READ                     NOTAUTH 9
            ATIUSERID on SET; USERID, JOBUSERID on CREATE   user.DFHINSTL, READ                     NOTAUTH 102
            USER= of a job that WRITEQ TD submits           user.SUBMIT, READ                       NOTAUTH
user known  the same                                        knows_user                              USERIDERR
            ``region.task(userid=)`` and its like           knows_user                              TdqError
            a mirror's user under ATTACHSEC(IDENTIFY)       knows_user                              SYSIDERR
==========  ==============================================  ======================================  ====================

READQ, WRITEQ and DELETEQ TD on an alias are checked on the final target's name. A browse passes over resources that the
user may not read. A user may always act for itself. Every refusal is reported by DFHXS1111 on CSCS. An access list may
name groups, as the permits of RACF do: the user's own entry decides; without one, the highest of those of all his
groups (SETROPTS GRPLIST). Sources: Introduction to command security, Resource and command check cross-reference,
Resource security (IBM Docs).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import IntEnum
from fnmatch import fnmatchcase
from typing import Final

from tdqsim.core.named import NamedTuple
from tdqsim.core.record_list import several
from tdqsim.errors import UsageError
from tdqsim.facts import table

_CLASSES: Final = {row["parameter"]: row["class"] for row in table("security_classes")}
RESTYPES: Final = {row["restype"]: (row["class"], int(row["length"])) for row in table("security_classes")}
"""The class and the length of names for each RESTYPE of QUERY SECURITY."""

# The resource classes, by the system initialisation parameter that makes CICS ask them.
XTRAN: Final = _CLASSES["XTRAN"]
XPCT: Final = _CLASSES["XPCT"]
XPPT: Final = _CLASSES["XPPT"]
XFCT: Final = _CLASSES["XFCT"]
XTST: Final = _CLASSES["XTST"]
XDCT: Final = _CLASSES["XDCT"]
XCMD: Final = _CLASSES["XCMD"]
XUSER: Final = _CLASSES["XUSER"]


class Access(IntEnum):
    """Levels of access, each including those before it."""

    NONE = 0
    READ = 1
    UPDATE = 2
    CONTROL = 3
    ALTER = 4


class PasswordCheck(NamedTuple):
    """The answer of the security manager about a password.

    Attributes:
        reason: empty if the password is right, otherwise ``unknown`` (user), ``wrong``, ``expired`` or ``revoked``.
        invalid: the wrong passwords since the last right one, including this one.
        changed_ns: when the password was changed, in nanoseconds since 1970; None if that is not recorded.
        expires_ns: when it expires; None if it does not expire.
        last_used_ns: when the user was last verified; None if never.
    """

    reason: str
    invalid: int = 0
    changed_ns: int | None = None
    expires_ns: int | None = None
    last_used_ns: int | None = None


class SecurityPolicy:
    """The decisions of the security manager. This base class allows everything; override the checks that may refuse.

    With any policy given to a region, security is *active*: ATIUSERID then shows the definition's user id.
    """

    def permits(self, user: str, resource_class: str, name: str, level: Access) -> bool:
        """Whether the user has this access to a resource. The region calls this for every check.

        It passes queues, commands and surrogates to the methods below, and allows access to all other resources.

        Args:
            user: the user id.
            resource_class: the class in RACF, such as ``FCICSFCT``; the docstring of this module lists them.
            name: the name of the resource in its class.
            level: the level of access.
        """
        if resource_class == XDCT:
            return self.may_access(user, name, level)
        if resource_class == XCMD:
            return self.may_issue(user, name, level)
        return resource_class != XUSER or self.may_act_for(user, name.rpartition(".")[0])

    def may_issue(self, user: str, resource_type: str, level: Access) -> bool:
        """Whether the user may issue SPI commands of this level on this type of resource (``TDQUEUE``)."""
        return True

    def may_access(self, user: str, queue: str, level: Access) -> bool:
        """Whether the user may access the queue of this name at this level."""
        return True

    def may_act_for(self, user: str, other: str) -> bool:
        """Whether the user may have work done for another user: ATIUSERID, USERID, JOBUSERID, USER= of a job."""
        return True

    def knows_user(self, user: str) -> bool:
        """Whether the security manager knows the user id."""
        return True

    def has_class(self, resource_class: str) -> bool:
        """Whether the class is defined, for RESCLASS of QUERY SECURITY."""
        return resource_class in _CLASSES.values()

    def has_profile(self, resource_class: str, name: str) -> bool:
        """Whether a profile protects the resource, for RESCLASS of QUERY SECURITY."""
        return True

    def check_password(self, user: str, password: str, now_ns: int) -> PasswordCheck:
        """Verify the password or password phrase of a user, and count wrong ones.

        Args:
            user: the user id.
            password: up to 8 characters for a password, 9 to 100 for a password phrase.
            now_ns: the time on the region's clock, in nanoseconds since 1970.
        """
        return PasswordCheck("" if self.knows_user(user) else "unknown")

    def verify_password(self, user: str, password: str, now_ns: int) -> PasswordCheck:
        """As :meth:`check_password`, with the number of wrong passwords even if the policy itself does not count them.

        The region calls this one.
        """
        wrong: dict[str, int] = vars(self).setdefault("_wrong_passwords", {})
        answer = self.check_password(user, password, now_ns)
        if answer.reason == "wrong":
            wrong[user] = wrong.get(user, 0) + 1
        counted = wrong.get(user, 0) if answer.reason else wrong.pop(user, 0)
        return answer if answer.invalid else answer._replace(invalid=counted)


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
        groups: user -> the groups of which it is a member, such as ``region.options.groups``; looked up at every check.

    Raises:
        WrongType: a name is given in place of a list of names; any part of it would be taken for a name in the list.
    """

    def __init__(
        self,
        queues: Mapping[str, Mapping[str, Access]] | None = None,
        commands: Mapping[str, Mapping[str, Access]] | None = None,
        surrogates: Mapping[str, Collection[str]] | None = None,
        users: Collection[str] | None = None,
        groups: Mapping[str, Collection[str]] | None = None,
    ) -> None:
        lists = {f"surrogates[{user!r:.40}]": names for user, names in (surrogates or {}).items()}
        lists |= {f"groups[{user!r:.40}]": names for user, names in (groups or {}).items()}
        for place, names in (lists | {"users": users or ()}).items():
            several(place, names, "names")
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
