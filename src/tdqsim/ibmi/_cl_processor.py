"""The one CL command processor: text in, the command's method called, its messages in the job log.

``job.command`` is what QCMDEXC, the remote command server and people at a prompt use. What is wrong with the text
itself is found by :mod:`tdqsim.definitions.cl_command`; each fault is a diagnostic message, and CPF0006 ends the
command. What the command then refuses is its own escape message.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from types import MappingProxyType
from typing import Any, NoReturn

from tdqsim.core.argument_types import types_told
from tdqsim.core.codepage import CodePage
from tdqsim.definitions.cl_command import ClWord, Diagnostic, check_command, joined_lines, read_command
from tdqsim.errors import ConversionError
from tdqsim.ibmi._cl_authority import AuthorityCommands
from tdqsim.ibmi._cl_journal import JournalCommands
from tdqsim.ibmi._cl_library import LibraryCommands
from tdqsim.ibmi._cl_object import ObjectCommands
from tdqsim.ibmi._cl_queue import QueueCommands
from tdqsim.ibmi._errors import ParameterError
from tdqsim.ibmi._fact import LOCK_STATES
from tdqsim.ibmi.layouts import pack_decimal
from tdqsim.ibmi.messages import EscapeMessage, Message
from tdqsim.ibmi.parms import Parm

__all__ = ["CommandProcessor"]

Values = Mapping[str, Any]
_WHOLE_DIGITS, _FRACTION, _SHORTEST_TEXT = 10, 5, 32  # how CALL passes a literal
_NUMBER = re.compile(r"[+-]?(?=\.?[0-9])[0-9]{0,10}(?:\.[0-9]{0,5})?", re.ASCII)


class CommandProcessor(QueueCommands, ObjectCommands, LibraryCommands, AuthorityCommands, JournalCommands):
    """All commands, by method and by text."""

    @types_told
    def command(self, text: str) -> Any:
        """Run one CL command, such as ``CRTDTAQ DTAQ(APPLIB/ORDERS) MAXLEN(80)``.

        The commands are CRTDTAQ, DLTDTAQ, CRTLIB, DLTLIB, ADDLIBLE, RMVLIBLE, CHGLIBL, CHGCURLIB, ALCOBJ, DLCOBJ,
        MOVOBJ, RNMOBJ, GRTOBJAUT, RVKOBJAUT, CRTUSRPRF, CHGUSRPRF, CRTJRNRCV, CRTJRN,
        STRJRNOBJ, ENDJRNOBJ, CALL, SBMJOB, DSPJOBLOG.

        Returns:
            What the command's method returns: the queue of CRTDTAQ, the library of CRTLIB, the started job of SBMJOB,
            the messages of DSPJOBLOG, else None.

        Raises:
            EscapeMessage: CPF0006 the text is not one known command with parameters that it can have, or has characters
                that the job's code page has not (the diagnostics say what), and those of the command.
        """
        self.check_usable()
        try:
            return self._run(text)
        except EscapeMessage as error:
            self.log(error.message)
            raise

    def _run(self, text: str) -> Any:
        text = joined_lines(text)
        try:
            self.page.encode(text)
        except ConversionError as error:
            self._refuse_because(error)
        checked = check_command(read_command(text))
        handler = HANDLERS.get(checked.name)
        faults = checked.diagnostics
        if not faults and handler is None:
            faults = (Diagnostic("CPD0030", (checked.name, "*LIBL")),)
        if faults or handler is None:
            self.refuse(faults)
        try:
            return handler(self, checked.values)
        except ParameterError as error:
            if checked.name == "CALL":
                raise  # it is the program's
            self._refuse_because(error)

    def _refuse_because(self, error: Exception) -> NoReturn:
        """End the command for what no diagnostic has an id for: the reason is told as it is."""
        reason = Message("", "diagnostic", 0, str(error), b"")
        self.log(reason)
        raise EscapeMessage(self.message("CPF0006"), (reason,)) from error

    def refuse(self, faults: tuple[Diagnostic, ...]) -> NoReturn:
        """Send the diagnostics and end the command."""
        self._dispatcher.check_thread()
        diagnostics = tuple(self.message(fault.message_id, *fault.values) for fault in faults)
        self.log(*diagnostics)
        raise EscapeMessage(self.message("CPF0006"), diagnostics)

    def refuse_elements(self, keyword: str, values: list[Any]) -> NoReturn:
        """Refuse values that do not have the shape of the parameter."""
        self._dispatcher.check_thread()
        shown = " ".join(map(str, values))
        self.refuse((Diagnostic("CPD0084", (len(shown), keyword, shown), keyword),))


def _crtlib(job: CommandProcessor, values: Values) -> Any:
    return job.crtlib(
        values["lib"], aut=values.get("aut", "*CHANGE"), crtaut=values.get("crtaut", "*CHANGE"),
        text=values.get("text", "*BLANK"),
    )  # fmt: skip


def _addlible(job: CommandProcessor, values: Values) -> None:
    position = [str(one) for one in values.get("position", ["*FIRST"])]
    beside = len(position) == 2 and position[0] in ("*AFTER", "*BEFORE")
    if not beside and position not in (["*FIRST"], ["*LAST"]):
        job.refuse_elements("POSITION", position)
    job.addlible(values["lib"], (position[0], position[1]) if beside else position[0])


def _chglibl(job: CommandProcessor, values: Values) -> None:
    libl = values.get("libl", ["*SAME"])
    job.chglibl(libl[0] if libl[0] in ("*SAME", "*NONE") else libl, values.get("curlib", "*SAME"))


def _objects(job: CommandProcessor, values: Values) -> list[tuple[str, str]]:
    found = []
    for one in values["obj"]:
        words = [str(word) for word in one] if isinstance(one, list) else [str(one)]
        # name, type, state, and a member, which only files have
        if len(words) not in (3, 4) or words[1] != "*DTAQ" or words[2] not in LOCK_STATES:
            job.refuse_elements("OBJ", words)
        found.append((words[0], words[2]))
    return found


def _alcobj(job: CommandProcessor, values: Values) -> None:
    wait = values.get("wait", "*CLS")
    job.alcobj(_objects(job, values), None if wait == "*CLS" else wait, values.get("scope", "*JOB"))


def _authority(values: Values) -> tuple[str, list[str], str]:
    return values["obj"], values["user"], " ".join(values.get("aut", ["*CHANGE"]))


def _crtusrprf(job: CommandProcessor, values: Values) -> None:
    groups = [one for one in values.get("supgrpprf", []) if one != "*NONE"]
    job.crtusrprf(
        values["usrprf"], allobj="*ALLOBJ" in values.get("spcaut", []), grpprf=values.get("grpprf", "*NONE"),
        supgrpprf=groups, status=values.get("status", "*ENABLED"), pwdexp=values.get("pwdexp") == "*YES",
        password=values.get("password", "*NONE"),
    )  # fmt: skip


def _chgusrprf(job: CommandProcessor, values: Values) -> None:
    pwdexp = {"*YES": True, "*NO": False}.get(values.get("pwdexp", "*SAME"))
    job.chgusrprf(
        values["usrprf"], status=values.get("status", "*SAME"), pwdexp=pwdexp, password=values.get("password", "*SAME")
    )


def _called(job: Any, values: Values) -> None:
    parm = values.get("parm", [])
    if len(parm) == 1 and isinstance(parm[0], list) and not _with_type(parm[0]):
        parm = parm[0]  # by position they stand in parentheses of their own
    job.call_program(values["pgm"], parameters=[_passed(job, one) for one in parm])


def _with_type(value: Any) -> bool:
    """Whether it is a value and its type, as in ``(12.5 (*DEC 7 2))``."""
    return isinstance(value, list) and len(value) == 2 and isinstance(value[1], list) and not isinstance(value[0], list)


def _passed(job: CommandProcessor, value: Any) -> bytearray:
    """A value of PARM as a program gets it: of the type that it names, or as a literal."""
    if not _with_type(value):
        if isinstance(value, list):
            job.refuse_elements("PARM", value)
        return literal(value, job.page)
    given, (word, *sizes) = value
    kind, convert = _PARM_TYPES.get(word, ("", str))
    try:
        parm = Parm("PARM", kind + (f"({':'.join(sizes)})" if sizes else ""))
        return bytearray(parm.encode(convert(given), job.page))
    except (ParameterError, ArithmeticError):
        job.refuse_elements("PARM", [given, f"({' '.join(value[1])})"])


_JOBD_LIBRARIES = ("QGPL", "QTEMP")
"""QUSRLIBL, for what takes the library list of a job description or of the system."""
_PARM_TYPES: Mapping[str, tuple[str, Callable[[str], Any]]] = MappingProxyType(
    {"*CHAR": ("CHAR", str), "*DEC": ("PACKED", Decimal), "*LGL": ("IND", {"0": False, "1": True}.get)}
)


def _submitted(job: Any, values: Values) -> Any:
    """SBMJOB CMD(...): the command runs in a job of its own; what is wrong with its text is said now."""
    tree = values["cmd"]
    words = tree[0] if len(tree) == 1 and isinstance(tree[0], list) else tree
    text = _as_text(words)
    checked = check_command(read_command(text))
    if checked.diagnostics:
        job.refuse(checked.diagnostics)
    name, user = values.get("job", "*JOBD"), values.get("user", "*CURRENT")
    started = job.system.start(
        lambda own: own.command(text),
        name="QDFTJOBD" if name == "*JOBD" else name, user=job.current_user if user == "*CURRENT" else user,
        ccsid=job.ccsid, **_libraries(job, values),
    )  # fmt: skip
    job.log(job.message("CPC1221", started.job.name, started.job.user, started.job.number, *_job_queue(values)))
    return started


def _libraries(job: Any, values: Values) -> dict[str, Any]:
    """The current library and the library list that a submitted job begins with: the submitter's unless said."""
    current, wanted = values.get("curlib", "*CURRENT"), values.get("inllibl", ["*CURRENT"])
    named = {"*CURRENT": job.user_libraries, "*NONE": ()}.get(wanted[0], _JOBD_LIBRARIES)
    return {
        "current_library": {"*CURRENT": job.current_library}.get(current, "" if current.startswith("*") else current),
        "library_list": tuple(named if wanted[0].startswith("*") else wanted),
    }


def _job_queue(values: Values) -> tuple[str, str]:
    """Name and library of the job queue, for the message: there are none."""
    library, _, name = values.get("jobq", "QBATCH").rpartition("/")
    return ("QBATCH", "QGPL") if name == "*JOBD" else (name, library or "QGPL")


def _as_text(values: Sequence[Any]) -> str:
    """Values as they were written, for a command inside a command."""
    return " ".join(f"({_as_text(one)})" if isinstance(one, list) else _written(one) for one in values)


def _written(value: ClWord) -> str:
    if value.raw is not None:
        return f"X'{value.raw.hex()}'"
    return "'" + value.replace("'", "''") + "'" if value.quoted else str(value)


def literal(value: ClWord, page: CodePage) -> bytearray:
    """A value of PARM as a program gets it: numbers PACKED(15, 5), characters blank padded to 32.

    Raises:
        ConversionError: a character that the code page of the job has not.
    """
    if not value.quoted and _NUMBER.fullmatch(value):
        return bytearray(pack_decimal(int(Decimal(value).scaleb(_FRACTION)), _WHOLE_DIGITS + _FRACTION))
    data = value.raw if value.raw is not None else page.encode(value)
    return bytearray(data.ljust(_SHORTEST_TEXT, page.encode(" ")))


HANDLERS: Mapping[str, Callable[[Any, Values], Any]] = MappingProxyType(
    {
        "CRTDTAQ": lambda job, values: job.crtdtaq(**values),
        "DLTDTAQ": lambda job, values: job.dltdtaq(values["dtaq"]),
        "CRTLIB": _crtlib,
        "DLTLIB": lambda job, values: job.dltlib(values["lib"]),
        "ADDLIBLE": _addlible,
        "RMVLIBLE": lambda job, values: job.rmvlible(values["lib"]),
        "CHGLIBL": _chglibl,
        "CHGCURLIB": lambda job, values: job.chgcurlib(values["curlib"]),
        "ALCOBJ": _alcobj,
        "DLCOBJ": lambda job, values: job.dlcobj(_objects(job, values), values.get("scope", "*JOB")),
        "MOVOBJ": lambda job, values: job.movobj(values["obj"], values["tolib"]),
        "RNMOBJ": lambda job, values: job.rnmobj(values["obj"], values["newobj"]),
        "GRTOBJAUT": lambda job, values: job.grtobjaut(
            *_authority(values), objtype=values["objtype"], replace=values.get("replace") == "*YES"
        ),
        "RVKOBJAUT": lambda job, values: job.rvkobjaut(*_authority(values), objtype=values["objtype"]),
        "CRTUSRPRF": _crtusrprf,
        "CHGUSRPRF": _chgusrprf,
        "CRTJRNRCV": lambda job, values: job.crtjrnrcv(values["jrnrcv"]),
        "CRTJRN": lambda job, values: job.crtjrn(
            values["jrn"],
            jrnrcv=values.get("jrnrcv", ()),
            text=values.get("text", "*BLANK"),
        ),
        "STRJRNOBJ": lambda job, values: job.strjrnobj(values["obj"], values["jrn"]),
        "CALL": _called,
        "SBMJOB": _submitted,
        "DSPJOBLOG": lambda job, values: job.dspjoblog(values.get("job", "*")),
        "ENDJRNOBJ": lambda job, values: job.endjrnobj(values["obj"], jrn=values.get("jrn", "*OBJ")),
    }
)
"""What each command of the definitions calls."""
