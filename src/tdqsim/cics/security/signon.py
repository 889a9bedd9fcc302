"""VERIFY PASSWORD and VERIFY PHRASE; SIGNON and SIGNOFF of the task's terminal.

SIGNON changes the user of the terminal, not that of the task that issues it: the next tasks at the terminal have the
new user. The policy keeps the passwords; wrong ones are counted. ESMRESP has the return codes of RACF. Sources: VERIFY
PASSWORD, VERIFY PHRASE, SIGNON (IBM Docs), SIGNOFF (CICS TX, IBM Docs); most RESP2 values of SIGNON as remembered.
"""

from __future__ import annotations

from typing import Annotated, Final

from tdqsim.cics.kernel.abstime import abstime
from tdqsim.cics.kernel.command import Flag, Fullword, Name8, Opt, Password8, Password8OrNone, command
from tdqsim.cics.kernel.conditions import Condition
from tdqsim.cics.kernel.security import PasswordCheck
from tdqsim.cics.kernel.task import TaskBase
from tdqsim.cics.model.task import Facility
from tdqsim.core.named import NamedTuple
from tdqsim.facts import Resp, table

Phrase = Annotated[str, Opt("name", 100, "PHRASE", secret=True)]

_DAY_NS: Final = 24 * 3600 * 10**9
_LONGEST: Final = 100
_CODES: Final = {row["reason"]: row for row in table("security_codes")}
_TIMES: Final = {
    "CHANGETIME": Opt("abstime", 8),
    "DAYSLEFT": Opt("halfword", 2),
    "ESMREASON": Opt("fullword", 4),
    "ESMRESP": Opt("fullword", 4),
    "EXPIRYTIME": Opt("abstime", 8),
    "INVALIDCOUNT": Opt("halfword", 2),
    "LASTUSETIME": Opt("abstime", 8),
}


class Verified(NamedTuple):
    """The result of VERIFY PASSWORD and VERIFY PHRASE; times are ABSTIME.

    Attributes:
        changetime: when the password was changed; 0 if that is not recorded.
        daysleft: the days until it expires; -1 if it does not expire.
        esmreason: the reason code of the security manager.
        esmresp: its return code; 0 if the password is right.
        expirytime: when it expires; 0 if it does not.
        invalidcount: the wrong passwords since the last right one.
        lastusetime: when the user was last verified; 0 if never.
    """

    changetime: int = 0
    daysleft: int = -1
    esmreason: int = 0
    esmresp: int = 0
    expirytime: int = 0
    invalidcount: int = 0
    lastusetime: int = 0


class SignedOn(NamedTuple):
    """The result of SIGNON.

    Attributes:
        esmreason: the reason code of the security manager.
        esmresp: its return code.
    """

    esmreason: int = 0
    esmresp: int = 0


def _check(task: TaskBase, user: str, password: str) -> PasswordCheck:
    """Ask the policy, and write the messages about wrong passwords.

    Raises:
        Condition: INVREQ 18: there is no security manager. USERIDERR 8, NOTAUTH 2, 3, 19.
    """
    region = task._region
    if region.security is None:
        raise Condition(Resp.INVREQ, 18, "the region has no security policy")
    answer = region.security.verify_password(user, password, region.clock.time_ns())
    if answer.reason:
        row = _CODES[answer.reason]
        if answer.reason == "wrong":
            region.messages.write("DFHXS1201", transid=task.transid, userid=user)
        brings = {"ESMRESP": int(row["esmresp"]), "ESMREASON": 0, "INVALIDCOUNT": answer.invalid}
        detail = f"the password of user {user} is {answer.reason}"
        detail = {"unknown": f"user {user} is not known", "revoked": f"user {user} is revoked"}.get(
            answer.reason, detail
        )
        raise Condition(Resp[row["resp"]], int(row["resp2"]), detail, brings=brings)
    if answer.invalid:
        region.messages.write("DFHXS1206", transid=task.transid, userid=user, invalid=answer.invalid)
    return answer


def _verify(task: TaskBase, user: str, password: str) -> Verified:
    answer, region = _check(task, user, password), task._region

    def moment(time_ns: int | None) -> int:
        return 0 if time_ns is None else abstime(time_ns, region.zone)

    left = None if answer.expires_ns is None else (answer.expires_ns - region.clock.time_ns()) // _DAY_NS
    return Verified(
        moment(answer.changed_ns), -1 if left is None else left, 0, 0,
        moment(answer.expires_ns), answer.invalid, moment(answer.last_used_ns),
    )  # fmt: skip


@command("VERIFY PASSWORD", "INVREQ NOTAUTH USERIDERR", _TIMES)
def verify_password(task: TaskBase, password: Password8, userid: Name8, *, nohandle: Flag = False) -> Verified:
    """Check that a password is that of a user. No terminal is needed, and no user is signed on.

    Args:
        password: up to 8 characters.
        userid: the user, up to 8 characters.
        nohandle: return with the response in the EIB instead of raising.

    Returns:
        Times and counts; None after a condition that was not raised.

    Raises:
        Condition: USERIDERR 8: the user is not known. NOTAUTH 2: the password is wrong; 3: it has expired; 19: the user
            is revoked. INVREQ 18: the region has no security policy.
    """
    return _verify(task, userid.rstrip(" "), password.rstrip(" "))


@command("VERIFY PHRASE", "INVREQ LENGERR NOTAUTH USERIDERR", _TIMES)
def verify_phrase(
    task: TaskBase, phrase: Phrase, phraselen: Fullword, userid: Name8, *, nohandle: Flag = False
) -> Verified:
    """Check that a password phrase is that of a user; one of up to 8 characters is checked as a password.

    Args:
        phrase: the phrase.
        phraselen: its length, 1 to 100.
        userid: the user, up to 8 characters.
        nohandle: return with the response in the EIB instead of raising.

    Returns:
        As VERIFY PASSWORD.

    Raises:
        Condition: LENGERR 1: PHRASELEN is out of range. The others as VERIFY PASSWORD.
    """
    if not 0 < phraselen <= _LONGEST:
        raise Condition(Resp.LENGERR, 1, f"PHRASELEN is {phraselen}; allowed are 1 to {_LONGEST}")
    return _verify(task, userid.rstrip(" "), phrase[:phraselen])


def _terminal(task: TaskBase, resp2: int, preset: int) -> Facility:
    """The terminal of the task, whose user can be changed."""
    facility = task._facility
    if facility is None:
        raise Condition(Resp.INVREQ, resp2, "the task has no terminal")
    if facility.surrogate is not None:
        raise Condition(Resp.INVREQ, 4, f"another system owns terminal {facility.name}")
    definition = task._region.terminals.get(facility.name)
    if definition is not None and definition.userid:
        raise Condition(Resp.INVREQ, preset, f"terminal {facility.name} has preset security")
    return facility


@command(
    "SIGNON",
    "INVREQ NOTAUTH USERIDERR",
    {"ESMREASON": Opt("fullword", 4), "ESMRESP": Opt("fullword", 4)},
)
def signon(task: TaskBase, userid: Name8, password: Password8OrNone = None, *, nohandle: Flag = False) -> SignedOn:
    """Sign a user on at the terminal of the task. The user of the task itself stays as it is.

    Args:
        userid: the user, up to 8 characters.
        password: the password.
        nohandle: return with the response in the EIB instead of raising.

    Returns:
        The codes of the security manager; None after a condition that was not raised.

    Raises:
        Condition: INVREQ 9: a user is signed on already; 10: the task has no terminal; 11: the terminal has preset
            security; 4: another system owns it; 18: the region has no security policy. USERIDERR 8: the user is not
            known; 30: the user id is blank. NOTAUTH 1: a password is required; 2, 3, 19: as VERIFY PASSWORD.
    """
    facility = _terminal(task, 10, 11)
    user = userid.rstrip(" ")
    if not user:
        raise Condition(Resp.USERIDERR, 30, "USERID is blank")
    if facility.userid:
        raise Condition(Resp.INVREQ, 9, f"user {facility.userid} is signed on at terminal {facility.name}")
    policy = task._region.security
    if policy is not None and policy.knows_user(user) and not (password or "").strip(" "):
        raise Condition(Resp.NOTAUTH, 1, f"a password is required for user {user}")
    _check(task, user, (password or "").rstrip(" "))
    facility.userid = user
    return SignedOn()


@command("SIGNOFF", "INVREQ")
def signoff(task: TaskBase, *, nohandle: Flag = False) -> None:
    """Sign off the user of the task's terminal; further tasks there have the default user.

    Args:
        nohandle: return with the response in the EIB instead of raising.

    Raises:
        Condition: INVREQ 1: nobody is signed on; 2: the task has no terminal; 3: the terminal has preset security; 4:
            another system owns it.
    """
    facility = _terminal(task, 2, 3)
    if not facility.userid:
        raise Condition(Resp.INVREQ, 1, f"nobody is signed on at terminal {facility.name}")
    facility.userid = ""
