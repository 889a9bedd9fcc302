"""Programs that jobs call: the APIs in QSYS, and Python functions registered as LIB/PGM.

A registered function is called like an RPG program: with the job, and its parameters. If its parameters are declared
(:mod:`~tdqsim.ibmi.parms`), they are values, and the results of the function are stored in the output parameters.
Otherwise each parameter is a ``bytearray``, which the function may change in place. CALL and SBMJOB call these
functions from CL, QCMDEXC runs a CL command, QWCRTVCA returns the job's own name, the open list APIs return messages of
a job log, and the retrieve APIs describe jobs, messages and system values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn, cast

from tdqsim.core.callables import refuse_coroutine
from tdqsim.ibmi.byte_call import ABSENT_APIS, FORMS, call, call_form
from tdqsim.ibmi.byte_parameters import Storage, in_bytes
from tdqsim.ibmi.cl_processor import command
from tdqsim.ibmi.commands import job_command
from tdqsim.ibmi.errors import ParameterError
from tdqsim.ibmi.fact_tables import LIMITS
from tdqsim.ibmi.job_core import JobCore
from tdqsim.ibmi.layouts import pack_binary, unpack_binary, unpack_decimal
from tdqsim.ibmi.messages import EscapeMessage
from tdqsim.ibmi.names import place
from tdqsim.ibmi.objects import Program
from tdqsim.ibmi.open_lists import LIST_LIBRARY, LIST_PROGRAMS
from tdqsim.ibmi.parms import Parm
from tdqsim.ibmi.retrieve_programs import RETRIEVE_PROGRAMS

_SYSTEM = ("QSYS", "*LIBL", "*CURLIB")
_SUPPLIED = {**LIST_PROGRAMS, **RETRIEVE_PROGRAMS}
_QUALIFIED_JOB = 26
_COMMAND_DIGITS = 15


@job_command
def call_program(job: JobCore, name: str, library: str = "", parameters: Sequence[Storage] = ()) -> None:
    """Call a program: an API of QSYS, or a registered one.

    Args:
        name: ``"LIB/NAME"``, or a name.
        library: its library, ``*LIBL`` (the default) or ``*CURLIB``.
        parameters: storage of the caller, changed in place.

    Raises:
        EscapeMessage: MCH3401 there is no such library or program, or a message with which the program ends.
    """
    job.check_usable()
    name, library = place(name, library)
    parameters = [cast("Storage", in_bytes(job, one)) for one in parameters]
    program = _resolve(job, name, library)
    if program is not None:
        if program.parms is None:
            refuse_coroutine(program.function(job.handle, *parameters))
        else:
            _call_typed(job, program, program.parms, parameters)
        job.give_turn()
    elif name in _OWN:
        _OWN[name](job, parameters)
    elif name in _SUPPLIED:
        call_form(job, *_SUPPLIED[name], parameters)
    else:
        call(job.handle, name, *parameters)


def _resolve(job: JobCore, name: str, library: str) -> Program | None:
    """The registered program with a name; None for a program of the system."""
    programs = job.system.objects.programs
    if library == LIST_LIBRARY and name in LIST_PROGRAMS:
        return None
    if library == "*LIBL":
        for one in job.library_list():
            if (one, name) in programs:
                return programs[one, name]
    else:
        wanted = job.current() if library == "*CURLIB" else library
        if job.library(wanted) is None:
            _unresolved(job, wanted, "0401", asked=(library, name))
        if (wanted, name) in programs:
            return programs[wanted, name]
    if library not in _SYSTEM or not (name in FORMS or name in _OWN or name in _SUPPLIED):
        _unresolved(job, name, "0201", asked=(library, name))
    return None


def _call_typed(job: JobCore, program: Program, parms: Sequence[Parm], storage: Sequence[Storage]) -> None:
    """Call a program with values, and write its results if all of them fit."""
    needed = sum(1 for one in parms if not one.optional)
    if not needed <= len(storage) <= len(parms):
        job.fail("MCH0802")
    passed = (*storage, *(None for _ in parms[len(storage) :]))
    incoming = [
        _incoming(job, one, value, left_out=at >= len(storage))
        for at, (one, value) in enumerate(zip(parms, passed, strict=True))
    ]
    values = [value for one, value in zip(parms, incoming, strict=True) if one.use != "out"]
    returned = program.function(job.handle, *values)
    refuse_coroutine(returned)
    out = [(one, value) for one, value in zip(parms, passed, strict=True) if one.use != "in"]
    for value, data in _outgoing(job, out, returned):
        value[: len(data)] = data


def _incoming(job: JobCore, parm: Parm, storage: Storage, *, left_out: bool) -> Any:
    """The value of a parameter; None if it is omitted, null, or for output only."""
    if storage is None:
        if not left_out and not parm.omissible:
            job.fail("MCH3601", rule="PGM-NULL")
        return None
    if len(storage) < parm.length:
        job.fail("CPF24B4")
    if parm.use != "in" and not isinstance(storage, bytearray | memoryview):
        job.fail("CPF3C90")
    if parm.use == "out":
        return None
    try:
        return parm.decode(bytes(storage[: parm.length]), job.page)
    except ValueError:
        job.fail("MCH1202", rule="PGM-DECIMAL")


def _outgoing(
    job: JobCore, out: Sequence[tuple[Parm, Storage]], returned: Any
) -> list[tuple[bytearray | memoryview, bytes]]:
    """The storage and the bytes of each returned value; a value of None leaves its parameter unchanged."""
    values = returned if isinstance(returned, tuple) and len(out) != 1 else (returned,)
    if not out and returned is None:
        return []
    if len(values) != len(out):
        names = ", ".join(one.name for one, _ in out) or "none"
        raise ParameterError(f"a program returned {len(values)} values; parameters that go out are {names}")
    return [
        (storage, parm.encode(value, job.page))
        for (parm, storage), value in zip(out, values, strict=True)
        if value is not None and isinstance(storage, bytearray | memoryview)
    ]


def _unresolved(job: JobCore, name: str, kind: str, asked: tuple[str, str]) -> NoReturn:
    """End a call of a program (``asked``) with MCH3401; for an API that is not simulated a notice says so."""
    library, program = asked
    if program in ABSENT_APIS and library in (*_SYSTEM, LIST_LIBRARY):
        job.system.notices.say("api_not_simulated", program=program, what=ABSENT_APIS[program], job=job.qualified_name)
    sent = job.message("MCH3401", name, kind)
    data = bytes.fromhex(kind) + job.page.encode(name.ljust(30))
    raise EscapeMessage(sent._replace(message_data=data))


def _text(job: JobCore, parameters: Sequence[Storage], at: int, length: int | None = None) -> str:
    return job.page.printable(_stored(job, parameters, at)[:length])


def _stored(job: JobCore, parameters: Sequence[Storage], at: int) -> bytes:
    value = parameters[at] if at < len(parameters) else None
    if value is None:
        job.fail("CPF24B4")
    return bytes(value)


def _qcmdexc(job: JobCore, parameters: Sequence[Storage]) -> None:
    """QCMDEXC: run a command; parameters: its text, its length PACKED(15, 5)."""
    packed = _stored(job, parameters, 1)[: _COMMAND_DIGITS // 2 + 1]
    try:
        length = unpack_decimal(packed) // 10**5
    except ValueError:
        job.fail("CPF24B4")
    command(job.handle, _text(job, parameters, 0, max(length, 0)))


def _qwcrtvca(job: JobCore, parameters: Sequence[Storage]) -> None:
    """QWCRTVCA: retrieve current attributes; only the job's own name (key 1009) is supported."""
    receiver = parameters[0] if parameters else None
    if not isinstance(receiver, bytearray | memoryview):
        job.fail("CPF24B4")
    length, form = unpack_binary(_stored(job, parameters, 1)[:4]), _text(job, parameters, 2, 8)
    if form != "RTVC0100":
        job.fail("CPF3C21", form)
    key = unpack_binary(_stored(job, parameters, 4)[:4])
    if key != LIMITS["job_name_key"]:
        job.fail("CPF3C82", key, "QWCRTVCA")
    value = job.page.encode(f"{job.name:<10}{job.user:<10}{job.number}")
    field = pack_binary(key) + job.page.encode("C   ") + pack_binary(_QUALIFIED_JOB) + value
    answer = pack_binary(1) + pack_binary(len(field) + 4) + field
    room = min(max(length, 0), len(receiver), len(answer))
    receiver[:room] = answer[:room]


_OWN: dict[str, Callable[[JobCore, Sequence[Storage]], None]] = {"QCMDEXC": _qcmdexc, "QWCRTVCA": _qwcrtvca}
