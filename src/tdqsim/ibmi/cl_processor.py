"""The CL command processor: it parses the text, calls the command, and puts its messages into the job log.

QCMDEXC, the remote command server and people at a prompt use ``job.command``. :mod:`tdqsim.definitions.cl_command`
checks the text. Each error in it is a diagnostic message, and CPF0001 or CPF0006 ends the command. If the command
itself fails, it ends with its own escape message.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn, cast

from tdqsim.core.codepage import CodePage
from tdqsim.definitions.cl_command import Checked, check_command, escape_of, is_variable, joined_lines, read_command
from tdqsim.definitions.cl_expression import ClWord, Diagnostic
from tdqsim.errors import ConversionError
from tdqsim.ibmi.cl_authority import chgusrprf, crtusrprf, grtobjaut, rvkobjaut
from tdqsim.ibmi.cl_journal import crtjrn, crtjrnrcv, endjrnobj, strjrnobj
from tdqsim.ibmi.cl_library import BESIDE, addlible, chgcurlib, chglibl, clrlib, crtlib, dltlib, rmvlible
from tdqsim.ibmi.cl_object import alcobj, chkobj, dlcobj, movobj, rnmobj, wrkobjlck
from tdqsim.ibmi.cl_queue import RETURNED, crtdtaq, dltdtaq, rtvdtaqxcl
from tdqsim.ibmi.cl_variables import (
    ClVariable,
    Variables,
    Words,
    change_variable,
    check_variables,
    declare_variable,
    is_declared_as,
    made_variable,
    store,
)
from tdqsim.ibmi.commands import job_command
from tdqsim.ibmi.errors import ParameterError
from tdqsim.ibmi.fact_tables import LOCK_STATES
from tdqsim.ibmi.job_core import JobCore
from tdqsim.ibmi.joblog import dspjoblog
from tdqsim.ibmi.layouts import pack_decimal
from tdqsim.ibmi.messages import EscapeMessage, Message
from tdqsim.ibmi.parms import Parm

if TYPE_CHECKING:
    from tdqsim.ibmi.job import Job
    from tdqsim.ibmi.system import System

Values = Mapping[str, Any]
_WHOLE_DIGITS, _FRACTION, _SHORTEST_TEXT = 10, 5, 32  # CALL passes a literal as PACKED(15, 5), or as 32 characters
_NUMBER = re.compile(r"[+-]?(?=\.?[0-9])[0-9]{0,10}(?:\.[0-9]{0,5})?", re.ASCII)


@job_command
def command(job: JobCore, text: str, variables: Variables | None = None) -> Any:
    """Run one CL command, such as ``CRTDTAQ DTAQ(APPLIB/ORDERS) MAXLEN(80)``.

    The commands are CRTDTAQ, DLTDTAQ, RTVDTAQXCL (also as VC2XCL/RTVDTAQINF), CRTLIB, CLRLIB, DLTLIB, ADDLIBLE,
    RMVLIBLE, CHGLIBL, CHGCURLIB, ALCOBJ, DLCOBJ, WRKOBJLCK, CHKOBJ, MOVOBJ, RNMOBJ, CRTDUPOBJ, GRTOBJAUT, RVKOBJAUT,
    CRTUSRPRF, CHGUSRPRF, CRTJRNRCV, CRTJRN, STRJRNOBJ, ENDJRNOBJ, CALL, SBMJOB, DSPJOBLOG, DCL, CHGVAR.

    Args:
        text: the command.
        variables: the CL variables that the command may use, by name, such as ``&NBRENT``. ``DCL`` puts a
            :class:`ClVariable` with a type and a length into the dictionary; a parameter that returns a value checks
            both, and any other value there is replaced by the returned one.

    Returns:
        The result of the command's method: the queue for CRTDTAQ, the library for CRTLIB, the started job for SBMJOB,
        the messages for DSPJOBLOG, the locks for WRKOBJLCK, all values for RTVDTAQXCL, otherwise None.

    Raises:
        EscapeMessage: CPF0001 the text is not a known command, or its parentheses or apostrophes do not match; CPF0006
            a parameter is not valid, a variable is not declared or has another type than the parameter, or the text
            has characters that are not in the job's code page. The diagnostics name the errors. Further messages are
            those of the command.
        ParameterError: ``variables`` is no dictionary of CL variables.
    """
    job.check_usable()
    if variables is not None:
        check_variables(variables)
    try:
        return _run(job, text, variables)
    except EscapeMessage as error:
        job.log(error.message)
        raise


def _run(job: JobCore, text: str, variables: Variables | None) -> Any:
    text = joined_lines(text)
    try:
        job.page.encode(text)
    except ConversionError as error:
        _refuse_because(job, error)
    known: Variables = {} if variables is None else variables
    name = ""
    try:
        checked = _checked(job, text, known)
        name = checked.name
        if name in WITH_VARIABLES:
            return WITH_VARIABLES[name](job, checked.values, known)
        return HANDLERS[name](job, checked.values)
    except (ConversionError, ParameterError) as error:
        if name == "CALL":
            raise  # the called program raised it
        _refuse_because(job, error)


def _checked(job: JobCore, text: str, variables: Variables) -> Checked:
    """The checked command; refused if it has errors."""
    checked = check_command(read_command(text), Words(variables, job.page))
    if checked.diagnostics:
        refuse(job, checked.name, checked.diagnostics)
    return checked


def _refuse_because(job: JobCore, error: Exception) -> NoReturn:
    """End the command for a reason without a message id: the error's text is sent as the diagnostic."""
    reason = Message("", "diagnostic", 0, str(error), b"")
    job.log(reason)
    raise EscapeMessage(job.message("CPF0006"), (reason,)) from error


def refuse(job: JobCore, name: str, faults: tuple[Diagnostic, ...]) -> NoReturn:
    """Send the diagnostics and end the command with the escape message that follows them."""
    diagnostics = tuple(job.ruled(fault.message_id, *fault.values, rule=fault.rule) for fault in faults)
    job.log(*diagnostics)
    raise EscapeMessage(job.message(*escape_of(name, faults)), diagnostics)


def refuse_elements(job: JobCore, keyword: str, values: list[Any]) -> NoReturn:
    """Refuse values that do not have the shape of the parameter."""
    shown = " ".join(map(str, values))
    refuse(job, "", (Diagnostic("CPD0084", (len(shown), keyword, shown), keyword),))


def _crtlib(job: JobCore, values: Values) -> Any:
    return crtlib(job.handle,
        values["lib"], aut=values.get("aut", "*CHANGE"), crtaut=values.get("crtaut", "*CHANGE"),
        text=values.get("text", "*BLANK"),
    )  # fmt: skip


def _addlible(job: JobCore, values: Values) -> None:
    position = [str(one) for one in values.get("position", ["*FIRST"])]
    beside = len(position) == 2 and position[0] in BESIDE
    if not beside and position not in (["*FIRST"], ["*LAST"]):
        refuse_elements(job, "POSITION", position)
    addlible(job.handle, values["lib"], (position[0], position[1]) if beside else position[0])


def _chglibl(job: JobCore, values: Values) -> None:
    libl = values.get("libl", ["*SAME"])
    chglibl(job.handle, libl[0] if libl[0] in ("*SAME", "*NONE") else libl, values.get("curlib", "*SAME"))


def _objects(job: JobCore, values: Values) -> list[tuple[str, str]]:
    objects = []
    for one in values["obj"]:
        words = [str(word) for word in one] if isinstance(one, list) else [str(one)]
        # The elements are name, type, state, and a member, which only files have.
        if len(words) not in (3, 4) or words[1] != "*DTAQ" or words[2] not in LOCK_STATES:
            refuse_elements(job, "OBJ", words)
        objects.append((words[0], words[2]))
    return objects


def _alcobj(job: JobCore, values: Values) -> None:
    wait = values.get("wait", "*CLS")
    alcobj(job.handle, _objects(job, values), None if wait == "*CLS" else wait, values.get("scope", "*JOB"))


def _movobj(job: JobCore, values: Values) -> None:
    if values["tolib"] == "QTEMP":  # the command's definition excludes it
        refuse_elements(job, "TOLIB", [values["tolib"]])
    movobj(job.handle, values["obj"], values["tolib"])


def _authority(values: Values) -> tuple[str, list[str], str]:
    return values["obj"], values["user"], " ".join(values.get("aut", ["*CHANGE"]))


def _crtusrprf(job: JobCore, values: Values) -> None:
    groups = [one for one in values.get("supgrpprf", []) if one != "*NONE"]
    crtusrprf(job.handle,
        values["usrprf"], allobj="*ALLOBJ" in values.get("spcaut", []), grpprf=values.get("grpprf", "*NONE"),
        supgrpprf=groups, status=values.get("status", "*ENABLED"), pwdexp=values.get("pwdexp") == "*YES",
        password=values.get("password", "*NONE"), curlib=values.get("curlib", "*CRTDFT"),
        ccsid=values.get("ccsid", "*SYSVAL"),
    )  # fmt: skip


def _chgusrprf(job: JobCore, values: Values) -> None:
    pwdexp = {"*YES": True, "*NO": False}.get(values.get("pwdexp", "*SAME"))
    chgusrprf(
        job.handle,
        values["usrprf"],
        status=values.get("status", "*SAME"),
        pwdexp=pwdexp,
        password=values.get("password", "*SAME"),
        curlib=values.get("curlib", "*SAME"),
        ccsid=values.get("ccsid", "*SAME"),
    )


def _called(job: JobCore, values: Values, variables: Variables) -> None:
    parm = values.get("parm", [])
    if len(parm) == 1 and isinstance(parm[0], list) and not _with_type(parm[0]):
        parm = parm[0]  # without the keyword PARM the values are in their own parentheses
    storage: list[bytes | bytearray] = []
    plain: list[tuple[str, ClVariable]] = []
    for one in parm:
        if isinstance(one, ClWord) and not one.quoted and is_variable(one):
            area = _area(job, one, variables[one])
            storage.append(area.storage if isinstance(area, ClVariable) else area)
            if isinstance(area, ClVariable) and area is not variables[one]:
                plain.append((str(one), area))
        else:
            storage.append(_passed(job, one))
    cast("Job", job.handle).call_program(values["pgm"], parameters=storage)
    for name, area in plain:
        changed = area.value
        variables[name] = changed == "1" if isinstance(variables[name], bool) else changed


def _area(job: JobCore, name: str, value: Any) -> ClVariable | bytes | bytearray:
    """The storage of a variable that a program receives."""
    if isinstance(value, bytes | bytearray):
        return value
    if value is None:
        raise ParameterError(f"variable {name} has no value yet, so it has no storage that a program could change")
    return made_variable(name, value, job.page)


def _retrieved(job: JobCore, values: Values, variables: Variables) -> Any:
    """RTVDTAQXCL: store the values of the keywords that the command has."""
    wanted = [(row, values[row["keyword"].lower()]) for row in RETURNED if row["keyword"].lower() in values]
    faults = tuple(
        _wrong_variable(row, name)
        for row, name in wanted
        if not is_declared_as(variables[name], row["type"], (row["length"], row["also"]))
    )
    if faults:
        refuse(job, "RTVDTAQXCL", faults)
    found = rtvdtaqxcl(job.handle, values["dtaq"])
    for row, name in wanted:
        store(name, getattr(found, row["keyword"].lower()), variables)
    return found


def _wrong_variable(row: Mapping[str, str], name: str) -> Diagnostic:
    """CPD0783 for a decimal variable; the id for other types is not known, so the message is ours."""
    keyword, rule = row["keyword"], "DTAQ-XCL-VARIABLE"
    digits, _, decimals = row["length"].partition(" ")
    if row["type"] == "*DEC":
        return Diagnostic("CPD0783", (keyword, name, int(digits), int(decimals)), keyword, rule)
    return Diagnostic("TDQ9002", (keyword, name, row["type"], row["also"] or digits), keyword, rule)


def _with_type(value: Any) -> bool:
    """Whether this is a value with its type, as in ``(12.5 (*DEC 7 2))``."""
    return isinstance(value, list) and len(value) == 2 and isinstance(value[1], list) and not isinstance(value[0], list)


def _passed(job: JobCore, value: Any) -> bytearray:
    """The storage that a program gets for a value of PARM: of the type that is specified, or as for a literal."""
    if not _with_type(value):
        if isinstance(value, list):
            refuse_elements(job, "PARM", value)
        return literal(value, job.page)
    written, (word, *sizes) = value
    kind, convert = _PARM_TYPES.get(word, ("", str))
    try:
        parm = Parm("PARM", kind + (f"({':'.join(sizes)})" if sizes else ""))
        return bytearray(parm.encode(convert(written), job.page))
    except (ParameterError, ArithmeticError):
        refuse_elements(job, "PARM", [written, f"({' '.join(value[1])})"])


_PARM_TYPES: Mapping[str, tuple[str, Callable[[str], Any]]] = MappingProxyType(
    {"*CHAR": ("CHAR", str), "*DEC": ("PACKED", Decimal), "*LGL": ("IND", {"0": False, "1": True}.get)}
)


def _duplicated(_job: JobCore, values: Values) -> NoReturn:
    """CRTDUPOBJ: no object type that it can duplicate is simulated; *DTAQ is none of them."""
    raise ParameterError(f"OBJTYPE({' '.join(values['objtype'])}): objects of this type are not simulated")


def _submitted(job: JobCore, values: Values) -> Any:
    """SBMJOB CMD(...): run the command in a new job; errors in its text are reported at once."""
    tree = values["cmd"]
    words = tree[0] if len(tree) == 1 and isinstance(tree[0], list) else tree
    text = _as_text(words)
    _checked(job, text, {})
    name, user = values.get("job", "*JOBD"), values.get("user", "*CURRENT")
    libraries = _libraries(job, values)
    missing = [] if user == "*CURRENT" or user in job.system.profiles.by_name else [job.message("CPF2204", user)]
    named = dict.fromkeys((values.get("curlib", "*CURRENT"), *values.get("inllibl", ())))
    missing += [job.message("CPF2110", one) for one in named if not one.startswith("*") and job.library(one) is None]
    if missing:
        diagnostics = tuple(one._replace(kind="diagnostic") for one in missing)
        job.log(*diagnostics)
        job.fail("CPF1338", rule="PGM-SBMJOB-ERRORS", diagnostics=diagnostics)
    started = cast("System", job.handle.system).start(
        lambda own: own.command(text),
        name="QDFTJOBD" if name == "*JOBD" else name, user=job.current_user if user == "*CURRENT" else user,
        ccsid=job.ccsid, **libraries,
    )  # fmt: skip
    job.log(job.message("CPC1221", started.job.name, started.job.user, started.job.number, *_job_queue(values)))
    return started


def _libraries(job: JobCore, values: Values) -> dict[str, Any]:
    """The initial current library and library list of a submitted job; by default the submitter's."""
    current, wanted = values.get("curlib", "*CURRENT"), values.get("inllibl", ["*CURRENT"])
    named = {"*CURRENT": job.user_libraries, "*NONE": ()}.get(wanted[0], job.system.values.user_libraries)
    return {
        "current_library": {"*CURRENT": job.current_library}.get(current, "" if current.startswith("*") else current),
        "library_list": tuple(named if wanted[0].startswith("*") else wanted),
    }


def _job_queue(values: Values) -> tuple[str, str]:
    """Name and library of the job queue, which only appear in the message: job queues are not simulated."""
    library, _, name = values.get("jobq", "QBATCH").rpartition("/")
    return ("QBATCH", "QGPL") if name == "*JOBD" else (name, library or "QGPL")


def _as_text(values: Sequence[Any]) -> str:
    """The text of values, for a command inside a command."""
    return " ".join(f"({_as_text(one)})" if isinstance(one, list) else _written(one) for one in values)


def _written(value: ClWord) -> str:
    if value.raw is not None:
        return f"X'{value.raw.hex()}'"
    return "'" + value.replace("'", "''") + "'" if value.quoted else str(value)


def literal(value: ClWord, page: CodePage) -> bytearray:
    """The storage that a program gets for a literal: numbers as PACKED(15, 5), characters padded with blanks to 32.

    Raises:
        ConversionError: a character is not in the job's code page.
    """
    if not value.quoted and _NUMBER.fullmatch(value):
        return bytearray(pack_decimal(int(Decimal(value).scaleb(_FRACTION)), _WHOLE_DIGITS + _FRACTION))
    data = value.raw if value.raw is not None else page.encode(value)
    return bytearray(data.ljust(_SHORTEST_TEXT, page.encode(" ")))


HANDLERS: Mapping[str, Callable[[JobCore, Values], Any]] = MappingProxyType(
    {
        "CRTDTAQ": lambda job, values: crtdtaq(job.handle, **values),
        "DLTDTAQ": lambda job, values: dltdtaq(job.handle, values["dtaq"]),
        "CRTLIB": _crtlib,
        "DLTLIB": lambda job, values: dltlib(job.handle, values["lib"]),
        "ADDLIBLE": _addlible,
        "RMVLIBLE": lambda job, values: rmvlible(job.handle, values["lib"]),
        "CHGLIBL": _chglibl,
        "CHGCURLIB": lambda job, values: chgcurlib(job.handle, values["curlib"]),
        "ALCOBJ": _alcobj,
        "DLCOBJ": lambda job, values: dlcobj(job.handle, _objects(job, values), values.get("scope", "*JOB")),
        "MOVOBJ": _movobj,
        "RNMOBJ": lambda job, values: rnmobj(job.handle, values["obj"], values["newobj"]),
        "GRTOBJAUT": lambda job, values: grtobjaut(
            job.handle, *_authority(values), objtype=values["objtype"], replace=values.get("replace") == "*YES"
        ),
        "RVKOBJAUT": lambda job, values: rvkobjaut(job.handle, *_authority(values), objtype=values["objtype"]),
        "CRTUSRPRF": _crtusrprf,
        "CHGUSRPRF": _chgusrprf,
        "CRTJRNRCV": lambda job, values: crtjrnrcv(job.handle, values["jrnrcv"]),
        "CRTJRN": lambda job, values: crtjrn(
            job.handle,
            values["jrn"],
            jrnrcv=values.get("jrnrcv", ()),
            text=values.get("text", "*BLANK"),
        ),
        "STRJRNOBJ": lambda job, values: strjrnobj(job.handle, values["obj"], values["jrn"]),
        "SBMJOB": _submitted,
        "WRKOBJLCK": lambda job, values: wrkobjlck(job.handle, values["obj"]),
        "CHKOBJ": lambda job, values: chkobj(
            job.handle, values["obj"], values["objtype"], " ".join(values.get("aut", ["*NONE"]))
        ),
        "CLRLIB": lambda job, values: clrlib(job.handle, values["lib"]),
        "CRTDUPOBJ": _duplicated,
        "DSPJOBLOG": lambda job, values: dspjoblog(job.handle, values.get("job", "*")),
        "ENDJRNOBJ": lambda job, values: endjrnobj(job.handle, values["obj"], jrn=values.get("jrn", "*OBJ")),
    }
)
"""The function for each command that does not store values in variables."""

WITH_VARIABLES: Mapping[str, Callable[[JobCore, Values, Variables], Any]] = MappingProxyType(
    {
        "CALL": _called,
        "RTVDTAQXCL": _retrieved,
        "RTVDTAQINF": _retrieved,
        "DCL": lambda job, values, variables: declare_variable(job.page, variables, dict(values)),
        "CHGVAR": lambda job, values, variables: change_variable(job.page, variables, dict(values)),
    }
)
"""The function for each of the other commands."""
