"""CL commands for authority: GRTOBJAUT, RVKOBJAUT, CRTUSRPRF and CHGUSRPRF, for data queues and libraries."""

from __future__ import annotations

from collections.abc import Sequence

from tdqsim.core.capitals import capitals
from tdqsim.ibmi.authority import DEFAULT_LIBRARY, NONE, SAME, SYSTEM_VALUE, added, granted_names, revoked
from tdqsim.ibmi.declare import declare
from tdqsim.ibmi.errors import ParameterError, check_flags
from tdqsim.ibmi.fact_tables import OPERATIONS
from tdqsim.ibmi.job_core import JobCore
from tdqsim.ibmi.names import object_values, place, several_names
from tdqsim.ibmi.objects import SystemObject, new_name

_TYPES = ("*DTAQ", "*LIB")


@declare("GRTOBJAUT")
def grtobjaut(
    job: JobCore,
    obj: str,
    user: str | Sequence[str],
    aut: str = "*CHANGE",
    *,
    library: str = "",
    objtype: str = "*DTAQ",
    replace: bool = False,
) -> None:
    """Grant users, or ``*PUBLIC``, more authority to an object.

    Args:
        obj: ``LIB/NAME``, or a name; for a library its name.
        user: a user profile or ``*PUBLIC``, or several.
        aut: ``*USE``, ``*CHANGE``, ``*ALL``, ``*EXCLUDE``, or single ones such as ``"*OBJOPR *ADD"``. *EXCLUDE
            removes the present authorities, and a later grant replaces it.
        library: the object's library, ``*LIBL`` (the default) or ``*CURLIB``.
        objtype: ``*DTAQ`` or ``*LIB``.
        replace: REPLACE(*YES): remove the present authorities first.

    Raises:
        EscapeMessage: CPF2208, CPF2209 no such object or library, CPF2216 not authorized to the library, CPF2223 not
            authorized to grant, CPF2290 *EXCLUDE with another authority, CPF2227 no such profile, which CPF2204 among
            the ``diagnostics`` names.
        ParameterError: an authority or object type that does not exist; ``replace`` is neither True nor False.
    """
    job.begin("GRTOBJAUT")
    check_flags(replace=replace)
    granted_names(aut)
    if "*EXCLUDE" in aut.split() and len(set(aut.split())) > 1:
        job.fail("CPF2290")
    target, users = _secured(job, "GRTOBJAUT", obj, library, objtype), _users(job, user)
    authorities = {one: added("" if replace else _authority(target, one), aut) for one in users}
    _secure(job, "GRTOBJAUT", target, authorities, "CPC2201", user=" ".join(users), aut=aut)


@declare("RVKOBJAUT")
def rvkobjaut(
    job: JobCore,
    obj: str,
    user: str | Sequence[str],
    aut: str = "*CHANGE",
    *,
    library: str = "",
    objtype: str = "*DTAQ",
) -> None:
    """Revoke authorities of users, or of ``*PUBLIC``. Jobs that have already used the queue keep theirs until they end.

    A user who has no authority left is removed from the object, so that the public authority applies again.

    Args:
        obj: ``LIB/NAME``, or a name; for a library its name.
        user: a user profile or ``*PUBLIC``, or several.
        aut: the authorities to revoke, as for GRTOBJAUT; ``*ALL`` revokes all, ``*EXCLUDE`` removes an exclusion, but
            not from *PUBLIC.
        library: the object's library, ``*LIBL`` (the default) or ``*CURLIB``.
        objtype: ``*DTAQ`` or ``*LIB``.

    Raises:
        EscapeMessage: CPF22A4 *EXCLUDE from *PUBLIC, CPF2224 not authorized to revoke; otherwise as for GRTOBJAUT.
        ParameterError: an authority or object type that does not exist.
    """
    job.begin("RVKOBJAUT")
    granted_names(aut)
    target, users = _secured(job, "RVKOBJAUT", obj, library, objtype), _users(job, user)
    if "*PUBLIC" in users and "*EXCLUDE" in aut.split():
        job.fail("CPF22A4")
    present = {one: _authority(target, one) for one in users}
    authorities = {one: revoked(before, aut) for one, before in present.items() if before}
    if "*PUBLIC" in authorities:
        authorities["*PUBLIC"] = authorities["*PUBLIC"] or "*EXCLUDE"
    _secure(job, "RVKOBJAUT", target, authorities, "CPC2202", user=" ".join(users), aut=aut)


def _secured(job: JobCore, command: str, obj: str, library: str, objtype: str) -> SystemObject:
    operation = OPERATIONS[command]
    if objtype not in _TYPES:
        raise ParameterError(f"objtype {objtype!r}: allowed are {', '.join(_TYPES)}")
    target: SystemObject
    if objtype == "*LIB":
        name = place(obj, library, default="QSYS")[0]
        missing = operation.object_missing
        target = job.library(name) or job.fail(missing, *object_values(missing, name, "QSYS", objtype))
    else:
        target = job.locate(operation, *place(obj, library))[1]
    job.authorize(operation, target)
    return target


def _users(job: JobCore, user: str | Sequence[str]) -> list[str]:
    names = several_names(user)
    if not names:
        raise ParameterError("user: a user profile or *PUBLIC is needed")
    users = [name if name == "*PUBLIC" else new_name(name, "user") for name in names]
    missing = [name for name in users if name != "*PUBLIC" and name not in job.system.profiles.by_name]
    if missing:
        sent = tuple(job.message("CPF2204", name) for name in missing)
        diagnostics = tuple(one._replace(kind="diagnostic") for one in sent)
        job.log(*diagnostics)
        job.fail("CPF2227", rule="DTAQ-GRANT-NO-PROFILE", diagnostics=diagnostics)
    return users


def _authority(target: SystemObject, user: str) -> str:
    if user != "*PUBLIC":
        return target.private.get(user, "")
    return "" if target.public == "*AUTL" else target.public


def _secure(
    job: JobCore, command: str, target: SystemObject, authorities: dict[str, str], completion: str, *,
    user: str, aut: str,
) -> None:  # fmt: skip
    job.system.objects.change_authorities(target, authorities)
    job.note(command, target, user=user, aut=aut)
    job.log(job.message(completion))
    job.give_turn()


@declare("CRTUSRPRF")
def crtusrprf(
    job: JobCore, usrprf: str, *, allobj: bool = False, grpprf: str = "*NONE", supgrpprf: str | Sequence[str] = (),
    status: str = "*ENABLED", pwdexp: bool = False, password: str = NONE, curlib: str = DEFAULT_LIBRARY,
    ccsid: int | str = SYSTEM_VALUE,
) -> None:  # fmt: skip
    """Create a user profile, with the attributes that matter for data queues.

    Args:
        usrprf: its name.
        allobj: SPCAUT(*ALLOBJ).
        grpprf: the group whose authorities the user also has, or ``*NONE``.
        supgrpprf: further groups, as a list or as text with blanks between them.
        status: ``*ENABLED``, or ``*DISABLED`` to refuse sign-on.
        pwdexp: whether the password must be changed before a sign-on.
        password: the password for sign-on to a server of the system; ``*USRPRF`` is the profile's name, ``*NONE`` means
            no password.
        curlib: the current library of the user's jobs of host servers, ``*CRTDFT`` for none.
        ccsid: the CCSID of these jobs, ``*SYSVAL`` for that of the system.

    Raises:
        ConversionError: there is no such CCSID.
        EscapeMessage: CPF2214 it exists, CPF2204 no such group, CPF2292 only a user with *ALLOBJ may grant *ALLOBJ or
            set a password. (A real system requires *SECADM for any new profile; that is not modelled.)
        ParameterError: the password is not valid, or there is no server that keeps passwords.
    """
    job.begin("CRTUSRPRF")
    check_flags(allobj=allobj, pwdexp=pwdexp)
    name = new_name(usrprf, "usrprf")
    if name in job.system.profiles.by_name:
        job.fail("CPF2214", name)
    further = several_names(supgrpprf)
    for group in (*further, *(() if grpprf == "*NONE" else (grpprf,))):
        if capitals(group) not in job.system.profiles.by_name:
            job.fail("CPF2204", capitals(group))
    if (allobj or password != NONE) and not job.system.profiles.find(job.current_user).allobj:
        job.fail("CPF2292")
    job.system.profiles.crtusrprf(
        name, allobj=allobj, grpprf=grpprf, supgrpprf=further, status=status, pwdexp=pwdexp,
        password=password, curlib=curlib, ccsid=ccsid,
    )  # fmt: skip
    job.log(job.message("CPC2205", name))
    job.give_turn()


@declare("CHGUSRPRF")
def chgusrprf(
    job: JobCore, usrprf: str, *, status: str = "*SAME", pwdexp: bool | None = None, password: str = SAME,
    curlib: str = SAME, ccsid: int | str = SAME,
) -> None:  # fmt: skip
    """Change the sign-on attributes of a user profile, for instance to enable it after too many wrong passwords.

    Args:
        usrprf: its name.
        status: ``*ENABLED``, ``*DISABLED`` or ``*SAME``.
        pwdexp: whether the password must be changed before a sign-on; None leaves it unchanged.
        password: the new password, ``*USRPRF``, ``*NONE`` or ``*SAME``.
        curlib: the current library of the user's jobs of host servers, ``*CRTDFT`` for none, or ``*SAME``.
        ccsid: the CCSID of these jobs, ``*SYSVAL`` for that of the system, or ``*SAME``.

    Raises:
        ConversionError: there is no such CCSID.
        EscapeMessage: CPF2204 no such profile, CPF2292 the job's user does not have *ALLOBJ.
        ParameterError: there is no such status, or the password cannot be kept.
    """
    job.begin("CHGUSRPRF")
    name = new_name(usrprf, "usrprf")
    if name not in job.system.profiles.by_name:
        job.fail("CPF2204", name)
    if not job.system.profiles.find(job.current_user).allobj:
        job.fail("CPF2292")
    job.system.profiles.chgusrprf(name, status=status, pwdexp=pwdexp, password=password, curlib=curlib, ccsid=ccsid)
    job.log(job.message("CPC2206", name))
    job.give_turn()
