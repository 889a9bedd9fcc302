"""CL commands for data queues: CRTDTAQ, DLTDTAQ, RTVDTAQXCL and its alias RTVDTAQINF."""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack, overload

from tdqsim.core.codepage import CodePage
from tdqsim.definitions import Dtaq, define_dtaq
from tdqsim.errors import DefinitionError, Problem
from tdqsim.facts import table
from tdqsim.ibmi.commands import job_command
from tdqsim.ibmi.create import create, new_queue, obstacle_to
from tdqsim.ibmi.declare import declare
from tdqsim.ibmi.describe import describe
from tdqsim.ibmi.errors import ParameterError
from tdqsim.ibmi.job_core import JobBase, JobCore
from tdqsim.ibmi.layouts import char, layout, pack_binary, pack_decimal
from tdqsim.ibmi.messages import DTAQ, MESSAGES, EscapeMessage, Message, message
from tdqsim.ibmi.names import object_values, place
from tdqsim.ibmi.queue import DataQueue

if TYPE_CHECKING:
    from tdqsim.definitions.attributes import DtaqAttributes, DtaqKeywords

_SEVERAL = ("*USRLIBL", "*ALL", "*ALLUSR")
_CPD = re.compile(r"(CPD[0-9A-F]{4}): ?")
RETURNED = table("ibmi_rtvdtaqxcl")
"""The return variables of RTVDTAQXCL, in the order of its result."""
_ESCAPES = MappingProxyType({row["cause"]: row["escape"] for row in table("ibmi_xcl_escapes")})
_XCL_RULES = {
    "XCL9002": "DTAQ-XCL-USER", "XCL9003": "DTAQ-XCL-LOCK", "XCL9004": "DTAQ-XCL-KNOWN", "XCL9005": "DTAQ-XCL-REST",
}  # fmt: skip
"""The rule of each escape message of RTVDTAQXCL."""
_SEQUENCES = MappingProxyType({"F": 1, "L": 2, "K": 3})
_TOO_LARGE = MappingProxyType({"CPF9517": "DTAQ-CRT-TOO-LARGE", "CPF9518": "DTAQ-CRT-TOO-MANY"})
_TRUE = ("Y", "1")


class RTVDTAQXCL(NamedTuple):
    """The return variables of RTVDTAQXCL, with the values of CL variables.

    *INT is an integer, *DEC a Decimal, *LGL ``'1'`` or ``'0'``, *CHAR text padded with blanks to its length.
    """

    nbrent: int
    maxlen: Decimal
    maxkeylen: Decimal
    sndrid: str
    nbrintent: int
    nbrentalc: int
    autorcl: str
    force: str
    type: str
    seq: int
    lib: str
    devd: str
    mode: str
    rmtlocname: str
    lcllocname: str
    rmtnetid: str
    rmtdtaqnam: str
    rmtdtaqlib: str
    rdbname: str
    text: str

    def storage(self, page: CodePage) -> dict[str, bytes]:
        """The bytes of each variable by keyword: *INT four bytes, *DEC packed, *LGL and *CHAR characters."""
        return {row["keyword"]: _stored(value, row, page) for value, row in zip(self, RETURNED, strict=True)}


def _stored(value: Any, row: dict[str, str], page: CodePage) -> bytes:
    if row["type"] == "*INT":
        return pack_binary(value)
    if row["type"] == "*DEC":
        digits = int(row["length"].split()[0])
        return pack_decimal(int(value), digits)
    return char(value, int(row["length"]), page)


@overload
def crtdtaq(job: JobBase, definition: Dtaq, /) -> DataQueue: ...
@overload
def crtdtaq(job: JobBase, definition: str, library: str = "", /, **keywords: Unpack[DtaqKeywords]) -> DataQueue: ...
@overload
def crtdtaq(job: JobBase, /, **keywords: Unpack[DtaqAttributes]) -> DataQueue: ...
@declare("CRTDTAQ")
def crtdtaq(job: JobCore, definition: Dtaq | str | None = None, library: str = "", /, **keywords: Any) -> DataQueue:
    """Create a data queue.

    Args:
        definition: ``"LIB/NAME"`` or a name; or, instead of keywords, a definition from ``define_dtaq`` or a definition
            file.
        library: its library; by default the current one.
        keywords: those of the command in lower case: ``dtaq="LIB/NAME"``, ``maxlen``, ``seq``, ``keylen`` and so on.

    Returns:
        The queue; CPC9801 is in the job log.

    Raises:
        EscapeMessage: CPF0006 the keywords are not valid together (the CPD diagnostics name them), CPF9870 it exists,
            CPF9810 no such library, CPF9820 not authorized to it, CPF2283 no such authorization list, CPF9517 the
            initial entries do not fit into the largest object that SIZE allows, CPF9518 those of a SIZE in entries.
        ParameterError: the first argument is neither a name nor a definition, or there are keywords with a definition.
    """
    if isinstance(definition, str):
        keywords["dtaq"] = "/".join(reversed(place(definition, library, default="*CURLIB")))
        definition = None
    if definition is not None and (keywords or not isinstance(definition, Dtaq)):
        wrong = "keywords in addition to a definition" if keywords else type(definition).__name__
        raise ParameterError(f"{wrong}: allowed are LIB/NAME with keywords, or what define_dtaq gives alone")
    job.begin("CRTDTAQ", str(keywords.get("dtaq", "")))
    definition = definition if definition is not None else _defined(job, keywords)
    library, name = definition.library, definition.name
    wanted = job.current() if library == "*CURLIB" else library
    holder = job.library(wanted)
    if holder is None:
        job.fail("CPF9810", wanted)
    if not {"READ", "ADD"} <= job.granted(holder):
        job.fail("CPF9820", wanted)
    if ("*DTAQ", name) in holder.objects:
        job.fail("CPF9870", *object_values("CPF9870", name, wanted, DTAQ))
    queue = new_queue(definition, holder, job.current_user)
    obstacle = obstacle_to(job.system, queue)
    if obstacle is not None:
        job.fail(*obstacle, rule=_TOO_LARGE.get(obstacle[0], ""))
    create(job.system, [(holder, queue)], job)
    job.send_completion("CPC9801", queue)
    job.give_turn()
    return queue


def _defined(job: JobCore, keywords: dict[str, Any]) -> Dtaq:
    try:
        return define_dtaq(**keywords)
    except DefinitionError as error:
        diagnostics = tuple(_diagnostic(problem, job.page) for problem in error.problems)
        job.log(*diagnostics)
        raise EscapeMessage(job.ruled("CPF0006", rule="DTAQ-CRT-CHECKS"), diagnostics) from error


@declare("DLTDTAQ")
def dltdtaq(job: JobCore, dtaq: str, library: str = "") -> None:
    """Delete a data queue with all its entries, even while jobs wait for it.

    Args:
        dtaq: ``LIB/NAME``, or a name; a generic name (``APP*``) deletes every queue whose name begins with APP.
        library: its library, ``*LIBL`` (the default) or ``*CURLIB``. In ``*USRLIBL`` (the current library and the user
            part of the list), ``*ALL`` and ``*ALLUSR`` (QGPL and all libraries whose names do not begin with Q) every
            queue with the name is deleted.

    Raises:
        EscapeMessage: CPF2105 and CPF2110 not found, or no queue matches; CPF2189 and CPF2182 not authorized, CPF9503
            in use; CPF2117 of several queues some were not deleted, see ``diagnostics``.
    """
    name, library = place(dtaq, library)
    job.begin("DLTDTAQ", name, library)
    if name.endswith("*") or library in _SEVERAL:
        _delete_several(job, name, library)
    else:
        _delete(job, name, library)
    job.give_turn()


def _searched(job: JobCore, library: str) -> Iterable[str]:
    """The libraries that a special value stands for."""
    if library == "*LIBL":
        return job.library_list()
    if library == "*USRLIBL":
        return filter(None, dict.fromkeys((job.current_library, *job.user_libraries)))
    every = sorted(job.system.objects.libraries)
    if library == "*ALLUSR":
        return (one for one in every if not one.startswith("Q") or one == "QGPL")
    return ("QTEMP", *every) if library == "*ALL" else (job.current() if library == "*CURLIB" else library,)


def _delete_several(job: JobCore, name: str, library: str) -> None:
    queues = [
        (each, holder.name)
        for holder in map(job.library, _searched(job, library))
        if holder is not None
        for kind, each in sorted(holder.objects)
        if kind == "*DTAQ" and (each.startswith(name[:-1]) if name.endswith("*") else each == name)
    ]
    if not queues:
        rule = "CL-GENERIC" if name.endswith("*") else "CL-SEVERAL"
        job.fail("CPF2105", *object_values("CPF2105", name, library, DTAQ), rule=rule)
    kept: list[Message] = []
    for each, holder_name in queues:
        try:
            _delete(job, each, holder_name)
        except EscapeMessage as error:
            kept.append(error.message._replace(kind="diagnostic"))
    if kept:
        job.log(*kept)
        deleted = len(queues) - len(kept)
        job.fail("CPF2117", DTAQ, deleted, len(kept), rule="CL-SEVERAL-SOME", diagnostics=tuple(kept))


def _delete(job: JobCore, name: str, library: str) -> None:
    holder, queue = job.open_alone("DLTDTAQ", name, library)
    job.system.objects.remove(queue, holder, job, job.system.journals.entry(job, queue, "QD"))
    job.send_completion("CPC2191", queue)


@declare("RTVDTAQXCL")
def rtvdtaqxcl(job: JobCore, dtaq: str, library: str = "") -> RTVDTAQXCL:
    """Retrieve information about a data queue into CL variables.

    Args:
        dtaq: ``LIB/NAME``, ``*LIBL/NAME``, ``*CURLIB/NAME``, or a name.
        library: its library, ``*LIBL`` (the default) or ``*CURLIB``.

    Raises:
        EscapeMessage: XCL9002 an error that the user can correct, XCL9003 a lock, XCL9004 another known cause, XCL9005
            any other cause; the message with the cause is in the job log and in ``diagnostics``.
    """
    name, library = place(dtaq, library)
    try:
        job.begin("RTVDTAQXCL", name, library)
        return _variables(*_described(job, name, library))
    except EscapeMessage as error:
        if error.message_id in _ESCAPES.values():
            raise
        cause = error.message._replace(kind="diagnostic")
        job.log(cause)
        escape = _ESCAPES.get(cause.message_id, _ESCAPES["*"])
        raise EscapeMessage(job.ruled(escape, rule=_XCL_RULES[escape]), (cause,)) from error


@job_command
def rtvdtaqinf(job: JobCore, dtaq: str, library: str = "") -> RTVDTAQXCL:
    """RTVDTAQXCL under its other name."""
    return rtvdtaqxcl(job.handle, dtaq, library)


def _described(job: JobCore, name: str, library: str) -> tuple[dict[str, Any], bool]:
    basic = layout("RDQD0100")
    values = basic.parse(describe(job, name, library, basic.name, basic.length), job.page)
    ddm = values["type_of_data_queue"] == basic["type_of_data_queue"].ddm
    if ddm:
        distributed = layout("RDQD0200")
        values |= distributed.parse(describe(job, name, library, distributed.name, distributed.length), job.page)
    return values, ddm


def _diagnostic(problem: Problem, page: CodePage) -> Message:
    """The diagnostic message for a problem of a definition: the one it names, or CPD0084 with the problem's text."""
    named, keyword = _CPD.search(problem.message), problem.attribute.upper()
    shown = problem.value if problem.value.isascii() and problem.value.isprintable() else ""
    if named is not None and named[1] in MESSAGES:
        values = (len(shown), keyword, shown) if MESSAGES[named[1]].values > 1 else (keyword,)
        return message(named[1], *values, page=page)
    sent = message("CPD0084", len(shown), keyword, shown, page=page)
    written = f" (given: {problem.value})" if problem.value else ""
    return sent._replace(text=f"{keyword} {problem.message}{written}".lstrip())


def _variables(values: dict[str, Any], ddm: bool) -> RTVDTAQXCL:
    column = "ddm" if ddm else "standard"
    fixed = {row[column]: "" if row[column] == "blank" else row[column] for row in RETURNED}
    return RTVDTAQXCL(*(_cl_value(row, (fixed | values)[row[column]]) for row in RETURNED))


def _cl_value(row: dict[str, str], value: Any) -> Any:
    if row["type"] == "*CHAR":
        return str(value).ljust(int(row["length"]))
    if row["type"] == "*LGL":
        return "1" if value in _TRUE else "0"
    number = int(_SEQUENCES.get(value, value))
    return Decimal(number) if row["type"] == "*DEC" else number
