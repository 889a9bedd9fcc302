"""QUERY SECURITY: the access of a user to a resource, without using the resource.

RESSEC and CMDSEC do not affect it. With RESTYPE the resource must be installed; the class is that of the resource type.
With RESCLASS the class may be any that the security manager knows, and CICS does not look for the resource. Sources:
QUERY SECURITY, RESID values (IBM Docs); the RESP2 values from Micro Focus Enterprise Developer, "Error Conditions".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final, Literal

from tdqsim.cics.kernel.authority import check_surrogate, report_violation
from tdqsim.cics.kernel.command import Cvda4, Flag, FullwordOrNone, Name8OrNone, Opt, command, to_cvda
from tdqsim.cics.kernel.conditions import Condition
from tdqsim.cics.kernel.issue import check_options
from tdqsim.cics.kernel.security import RESTYPES, XCMD, XDCT, XFCT, XPPT, XTST, XUSER, Access, SecurityPolicy
from tdqsim.cics.kernel.task import TaskBase
from tdqsim.cics.queues.state_table import final_target
from tdqsim.core.named import NamedTuple
from tdqsim.errors import UsageError
from tdqsim.facts import Cvda, Resp, table

if TYPE_CHECKING:
    from tdqsim.cics.model.region import RegionData

RestypeOrNone = Annotated[str | None, Opt("name", 12, "RESTYPE")]
Resid = Annotated[str, Opt("name", 246, "RESID")]
SecurityOption = Literal["READ", "UPDATE", "CONTROL", "ALTER"]

_LONGEST: Final = 246
_COMMANDS: Final = frozenset(row["name"] for row in table("security_commands"))
_CVDAS: Final = {
    "READ": (Access.READ, Cvda.READABLE, Cvda.NOTREADABLE),
    "UPDATE": (Access.UPDATE, Cvda.UPDATABLE, Cvda.NOTUPDATABLE),
    "CONTROL": (Access.CONTROL, Cvda.CTRLABLE, Cvda.NOTCTRLABLE),
    "ALTER": (Access.ALTER, Cvda.ALTERABLE, Cvda.NOTALTERABLE),
}
_RECEIVED: Final = dict.fromkeys(_CVDAS, Opt("cvda", 4))


class SecurityAnswer(NamedTuple):
    """The result of QUERY SECURITY; None for an option that was not asked for.

    Attributes:
        read: READABLE or NOTREADABLE.
        update: UPDATABLE or NOTUPDATABLE.
        control: CTRLABLE or NOTCTRLABLE.
        alter: ALTERABLE or NOTALTERABLE.
    """

    read: Cvda | None = None
    update: Cvda | None = None
    control: Cvda | None = None
    alter: Cvda | None = None

    def as_dict(self) -> dict[str, Cvda]:
        """The CVDAs by option."""
        return {name.upper(): value for name, value in self._asdict().items() if value is not None}


@command(
    "QUERY SECURITY",
    "INVREQ LENGERR NOTAUTH NOTFND QIDERR USERIDERR",
    _RECEIVED,
    otherwise=SecurityAnswer(),
)
def query_security(
    task: TaskBase,
    *options: SecurityOption,
    resid: Resid,
    restype: RestypeOrNone = None,
    resclass: Name8OrNone = None,
    residlength: FullwordOrNone = None,
    logmessage: Cvda4 = Cvda.LOG,
    userid: Name8OrNone = None,
    nohandle: Flag = False,
) -> SecurityAnswer:
    """Ask which access a user has to a resource.

    Args:
        options: the levels wanted: READ, UPDATE, CONTROL, ALTER; all when none is named.
        resid: the name of the resource.
        restype: its type: FILE, PROGRAM, SPCOMMAND, TDQUEUE, TRANSACTION, TRANSATTACH or TSQUEUE.
        resclass: its class in the security manager, instead of ``restype``.
        residlength: with ``resclass``: the length of the name, 1 to 246; in Python that of ``resid`` if not given.
        logmessage: LOG, or NOLOG, with which no message is written about access that the user does not have.
        userid: the user; that of the task if not given.
        nohandle: return with the response in the EIB instead of raising.

    Raises:
        Condition: INVREQ 7: LOGMESSAGE; 9: RESID is blank; 10: there is no security manager. LENGERR 6: RESIDLENGTH.
            NOTFND 1: the resource is not installed; 2: RESTYPE is not known; 3: RESID is not a name of SPCOMMAND; 5:
            RESCLASS is not known; 8: no profile of RESCLASS protects the resource. QIDERR 1: a target of an indirect
            queue is not installed. USERIDERR 8, NOTAUTH 9: the user is not known, or the task may not ask about it.
        UsageError: neither or both of RESTYPE and RESCLASS are given.
    """
    if (restype is None) == (resclass is None):
        raise UsageError("QUERY SECURITY takes one of RESTYPE and RESCLASS")
    words = [option.upper() for option in options] or list(_CVDAS)
    check_options("QUERY SECURITY", words, _CVDAS)
    log = to_cvda(logmessage)
    if log not in (Cvda.LOG, Cvda.NOLOG):
        raise Condition(Resp.INVREQ, 7, f"LOGMESSAGE must be LOG or NOLOG, not {logmessage!r}")
    policy = task._region.security
    user = task.userid if userid is None else userid.rstrip(" ")
    if policy is not None:
        check_surrogate(
            task, user, "DFHQUERY",
            unknown=Condition(Resp.USERIDERR, 8, f"user {user} is not known"),
            refused=Condition(Resp.NOTAUTH, 9, f"user {task.userid} may not ask about {user}"),
        )  # fmt: skip
    if restype is not None:
        resource_class, name = _by_type(task._region, restype.rstrip(" "), resid)
    else:
        resource_class, name = _by_class(policy, (resclass or "").rstrip(" "), resid, residlength)
    given: dict[str, Cvda] = {}
    for word in words:
        level, granted, refused = _CVDAS[word]
        permitted = policy is None or policy.permits(user, resource_class, name, level)
        given[word.lower()] = granted if permitted else refused
    if log is Cvda.LOG and any(value is _CVDAS[word.upper()][2] for word, value in given.items()):
        report_violation(task._region, user, task.transid, resource_class, name)
    return SecurityAnswer(**given)


def _by_type(region: RegionData, restype: str, resid: str) -> tuple[str, str]:
    """The class and the name of an installed resource."""
    known = RESTYPES.get(restype) if restype else None
    if known is None or known[0] == XUSER:
        allowed = ", ".join(sorted(word for word in RESTYPES if word))
        raise Condition(Resp.NOTFND, 2, f"RESTYPE {restype}: allowed are {allowed}")
    resource_class, length = known
    name = resid[:length].split(" ", maxsplit=1)[0]
    if not name:
        raise Condition(Resp.INVREQ, 9, "RESID is blank")
    if resource_class == XCMD:
        if name not in _COMMANDS:
            raise Condition(Resp.NOTFND, 3, f"{name} is not a resource type of system programming commands")
        return resource_class, name
    if not _is_installed(region, resource_class, name):
        raise Condition(Resp.NOTFND, 1, f"{restype} {name} is not installed")
    if resource_class == XDCT:
        try:
            return resource_class, final_target(region, name).name
        except Condition as condition:
            raise Condition(Resp.QIDERR, 1, condition.detail) from condition
    return resource_class, name


def _is_installed(region: RegionData, resource_class: str, name: str) -> bool:
    if resource_class == XDCT:
        return name in region.tdqueues
    if resource_class == XFCT:
        return name in region.files.known
    if resource_class == XPPT:
        return region.programs.definition(name) is not None or region.programs.find(name) is not None
    return resource_class == XTST or name in region.transactions


def _by_class(policy: SecurityPolicy | None, resclass: str, resid: str, residlength: int | None) -> tuple[str, str]:
    """The class and the name of a resource that CICS does not look for."""
    size = len(resid.rstrip(" ")) if residlength is None else residlength
    if residlength is not None and not 0 < size <= _LONGEST:
        raise Condition(Resp.LENGERR, 6, f"RESIDLENGTH is {size}; allowed are 1 to {_LONGEST}")
    name = resid[:size].split(" ", maxsplit=1)[0]
    if not name:
        raise Condition(Resp.INVREQ, 9, "RESID is blank")
    if policy is None:
        raise Condition(Resp.INVREQ, 10, "the region has no security policy")
    if not policy.has_class(resclass):
        raise Condition(Resp.NOTFND, 5, f"the security policy has no class {resclass}")
    if not policy.has_profile(resclass, name):
        raise Condition(Resp.NOTFND, 8, f"no profile of class {resclass} protects {name}")
    return resclass, name
