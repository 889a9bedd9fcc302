"""Programs that jobs call: the APIs in QSYS, and Python functions registered as LIB/PGM.

A registered function is called like an RPG program: with the job, and its parameters. Where it has declared them
(:mod:`~tdqsim.ibmi.parms`) these are values, and what it returns goes into those that go out; where it has not, each is
a ``bytearray``, which it may change in place. CALL and SBMJOB call them from CL, QCMDEXC runs a CL command, QWCRTVCA
tells a job its own name, the open list APIs give of its log, and the retrieve APIs tell of jobs, messages and
system values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NoReturn, cast

from tdqsim.core.argument_types import types_told
from tdqsim.ibmi._byte_call import FORMS, ByteForms
from tdqsim.ibmi._byte_parameters import Storage, in_bytes
from tdqsim.ibmi._cl_processor import CommandProcessor
from tdqsim.ibmi._errors import ParameterError
from tdqsim.ibmi._fact import LIMITS
from tdqsim.ibmi._objects import Program
from tdqsim.ibmi._open_lists import LIST_LIBRARY, LIST_PROGRAMS, OpenLists
from tdqsim.ibmi._retrieve_programs import RETRIEVE_PROGRAMS
from tdqsim.ibmi.layouts import pack_binary, unpack_binary, unpack_decimal
from tdqsim.ibmi.messages import EscapeMessage
from tdqsim.ibmi.parms import Parm

__all__ = ["ProgramCalls"]


_SYSTEM = ("QSYS", "*LIBL", "*CURLIB")
_SUPPLIED = {**LIST_PROGRAMS, **RETRIEVE_PROGRAMS}
_QUALIFIED_JOB = 26
_COMMAND_DIGITS = 15


class ProgramCalls(ByteForms, CommandProcessor):
    """Calling programs by name."""

    @cached_property
    def open_lists(self) -> OpenLists:
        """The lists that the job has open."""
        return OpenLists()

    @types_told
    def call_program(self, name: str, library: str = "", parameters: Sequence[Storage] = ()) -> None:
        """Call a program: an API of QSYS, or a registered one.

        Args:
            name: ``"LIB/NAME"``, or a name.
            library: its library, ``*LIBL`` (when neither says one) or ``*CURLIB``.
            parameters: storage of the caller, changed in place.

        Raises:
            EscapeMessage: MCH3401 there is no such library or program, and what the program ends with.
        """
        self.check_usable()
        name, library = self.place(name, library)
        parameters = [cast("Storage", in_bytes(self, one)) for one in parameters]
        program = self._resolve(name, library)
        if program is not None:
            if program.parms is None:
                program.function(self, *parameters)
            else:
                self._call_typed(program, program.parms, parameters)
            self.give_turn()
        elif name in _OWN:
            _OWN[name](self, parameters)
        elif name in _SUPPLIED:
            self._call_form(*_SUPPLIED[name], parameters)
        else:
            self.call(name, *parameters)

    def _resolve(self, name: str, library: str) -> Program | None:
        """The registered program that is meant; None for one of the system's own."""
        programs = self.system.programs
        if library == LIST_LIBRARY and name in LIST_PROGRAMS:
            return None
        if library == "*LIBL":
            for one in self.library_list():
                if (one, name) in programs:
                    return programs[one, name]
        else:
            wanted = self.current() if library == "*CURLIB" else library
            if self.library(wanted) is None:
                self._unresolved(wanted, "0401")
            if (wanted, name) in programs:
                return programs[wanted, name]
        if library not in _SYSTEM or not (name in FORMS or name in _OWN or name in _SUPPLIED):
            self._unresolved(name, "0201")
        return None

    def _call_typed(self, program: Program, parms: Sequence[Parm], storage: Sequence[Storage]) -> None:
        """Call with values, and write what is returned when all of it fits."""
        needed = sum(1 for one in parms if not one.optional)
        if not needed <= len(storage) <= len(parms):
            self.fail("MCH0802")
        passed = (*storage, *(None for _ in parms[len(storage) :]))
        given = [
            self._incoming(one, value, left_out=at >= len(storage))
            for at, (one, value) in enumerate(zip(parms, passed, strict=True))
        ]
        values = [value for one, value in zip(parms, given, strict=True) if one.use != "out"]
        returned = program.function(self, *values)
        out = [(one, value) for one, value in zip(parms, passed, strict=True) if one.use != "in"]
        for value, data in self._outgoing(out, returned):
            value[: len(data)] = data

    def _incoming(self, parm: Parm, storage: Storage, *, left_out: bool) -> Any:
        """The value of a parameter, None for one that is left out, null or going out only."""
        if storage is None:
            if not left_out and not parm.omissible:
                self.fail("MCH3601")
            return None
        if len(storage) < parm.length:
            self.fail("CPF24B4")
        if parm.use != "in" and not isinstance(storage, bytearray | memoryview):
            self.fail("CPF3C90")
        if parm.use == "out":
            return None
        try:
            return parm.decode(bytes(storage[: parm.length]), self.page)
        except ValueError:
            self.fail("MCH1202")

    def _outgoing(
        self, out: Sequence[tuple[Parm, Storage]], returned: Any
    ) -> list[tuple[bytearray | memoryview, bytes]]:
        """Where the returned values go, and their bytes; None leaves a parameter as it is."""
        values = returned if isinstance(returned, tuple) and len(out) != 1 else (returned,)
        if not out and returned is None:
            return []
        if len(values) != len(out):
            names = ", ".join(one.name for one, _ in out) or "none"
            raise ParameterError(f"a program returned {len(values)} values; parameters that go out are {names}")
        return [
            (storage, parm.encode(value, self.page))
            for (parm, storage), value in zip(out, values, strict=True)
            if value is not None and isinstance(storage, bytearray | memoryview)
        ]

    def _unresolved(self, name: str, kind: str) -> NoReturn:
        sent = self.message("MCH3401", name, kind)
        data = bytes.fromhex(kind) + self.page.encode(name.ljust(30))
        raise EscapeMessage(sent._replace(message_data=data))

    def _text(self, parameters: Sequence[Storage], at: int, length: int | None = None) -> str:
        return self.page.printable(self._stored(parameters, at)[:length])

    def _stored(self, parameters: Sequence[Storage], at: int) -> bytes:
        value = parameters[at] if at < len(parameters) else None
        if value is None:
            self.fail("CPF24B4")
        return bytes(value)


def _qcmdexc(job: ProgramCalls, parameters: Sequence[Storage]) -> None:
    """Run a command: its text, its length PACKED(15, 5)."""
    packed = job._stored(parameters, 1)[: _COMMAND_DIGITS // 2 + 1]  # noqa: SLF001  (a function of this module)
    try:
        length = unpack_decimal(packed) // 10**5
    except ValueError:
        job.fail("CPF24B4")
    job.command(job._text(parameters, 0, max(length, 0)))  # noqa: SLF001  (a function of this module)


def _qwcrtvca(job: ProgramCalls, parameters: Sequence[Storage]) -> None:
    """Retrieve current attributes, of which the job's own name (key 1009) is known."""
    receiver = parameters[0] if parameters else None
    if not isinstance(receiver, bytearray | memoryview):
        job.fail("CPF24B4")
    length, form = unpack_binary(job._stored(parameters, 1)[:4]), job._text(parameters, 2, 8)  # noqa: SLF001
    if form != "RTVC0100":
        job.fail("CPF3C21", form)
    key = unpack_binary(job._stored(parameters, 4)[:4])  # noqa: SLF001  (a function of this module)
    if key != LIMITS["job_name_key"]:
        job.fail("CPF3C82", key, "QWCRTVCA")
    value = job.page.encode(f"{job.name:<10}{job.user:<10}{job.number}")
    field = pack_binary(key) + job.page.encode("C   ") + pack_binary(_QUALIFIED_JOB) + value
    answer = pack_binary(1) + pack_binary(len(field) + 4) + field
    room = min(max(length, 0), len(receiver), len(answer))
    receiver[:room] = answer[:room]


_OWN: dict[str, Callable[[ProgramCalls, Sequence[Storage]], None]] = {"QCMDEXC": _qcmdexc, "QWCRTVCA": _qwcrtvca}
