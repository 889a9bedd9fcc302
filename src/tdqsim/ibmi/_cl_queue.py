"""CL commands for data queues: CRTDTAQ, DLTDTAQ, RTVDTAQXCL and its other name RTVDTAQINF."""

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
from tdqsim.ibmi._create import create_queue, obstacle_to
from tdqsim.ibmi._declare import declare
from tdqsim.ibmi._describe import DescribeApi
from tdqsim.ibmi._errors import ParameterError
from tdqsim.ibmi._job_core import object_values
from tdqsim.ibmi._queue import DataQueue
from tdqsim.ibmi.layouts import char, layout, pack_binary, pack_decimal
from tdqsim.ibmi.messages import DTAQ, MESSAGES, EscapeMessage, Message, message

if TYPE_CHECKING:
    from tdqsim.definitions import DtaqAttributes, DtaqKeywords

__all__ = ["RTVDTAQXCL", "QueueCommands"]

_SEVERAL = ("*USRLIBL", "*ALL", "*ALLUSR")
_CPD = re.compile(r"(CPD[0-9A-F]{4}): ?")
_KEYWORDS = table("ibmi_rtvdtaqxcl")
_ESCAPES = MappingProxyType({row["cause"]: row["escape"] for row in table("ibmi_xcl_escapes")})
_SEQUENCES = MappingProxyType({"F": 1, "L": 2, "K": 3})
_TRUE = ("Y", "1")


class RTVDTAQXCL(NamedTuple):
    """The return variables of RTVDTAQXCL, as CL holds them.

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
        """Each variable's bytes by keyword: *INT four bytes, *DEC packed, *LGL and *CHAR characters."""
        return {row["keyword"]: _stored(value, row, page) for value, row in zip(self, _KEYWORDS, strict=True)}


def _stored(value: Any, row: dict[str, str], page: CodePage) -> bytes:
    if row["type"] == "*INT":
        return pack_binary(value)
    if row["type"] == "*DEC":
        digits = int(row["length"].split()[0])
        return pack_decimal(int(value), digits)
    return char(value, int(row["length"]), page)


class QueueCommands(DescribeApi):
    """The commands that make, delete and describe data queues."""

    @overload
    def crtdtaq(self, definition: Dtaq, /) -> DataQueue: ...
    @overload
    def crtdtaq(self, definition: str, library: str = "", /, **keywords: Unpack[DtaqKeywords]) -> DataQueue: ...
    @overload
    def crtdtaq(self, /, **keywords: Unpack[DtaqAttributes]) -> DataQueue: ...
    @declare("CRTDTAQ")
    def crtdtaq(self, definition: Dtaq | str | None = None, library: str = "", /, **keywords: Any) -> DataQueue:
        """Create a data queue.

        Args:
            definition: ``"LIB/NAME"`` or a name; or a definition that ``define_dtaq`` or a definition file gave,
                instead of keywords.
            library: its library; the current one when nothing says one.
            keywords: those of the command in lower case: ``dtaq="LIB/NAME"``, ``maxlen``, ``seq``, ``keylen``, ...

        Returns:
            The queue; CPC9801 is in the job log.

        Raises:
            EscapeMessage: CPF0006 keywords that do not go together (the CPD diagnostics say which), CPF9870 it exists,
                CPF9810 no library, CPF9820 not authorized to it, CPF2283 no such authorization list, CPF950A the
                initial entries do not fit into the largest object that SIZE allows.
            ParameterError: something else than a name or a definition, or keywords beside a definition.
        """
        if isinstance(definition, str):
            keywords["dtaq"] = "/".join(reversed(self.place(definition, library, default="*CURLIB")))
            definition = None
        if definition is not None and (keywords or not isinstance(definition, Dtaq)):
            given = "keywords beside a definition" if keywords else type(definition).__name__
            raise ParameterError(f"{given}: allowed are LIB/NAME with keywords, or what define_dtaq gives alone")
        self.begin("CRTDTAQ", str(keywords.get("dtaq", "")))
        definition = definition if definition is not None else self._defined(keywords)
        wanted = self.current() if definition.library == "*CURLIB" else definition.library
        holder = self.library(wanted)
        if holder is None:
            self.fail("CPF9810", wanted)
        if not {"READ", "ADD"} <= self.granted(holder):
            self.fail("CPF9820", wanted)
        if ("*DTAQ", definition.name) in holder.objects:
            self.fail("CPF9870", *object_values("CPF9870", definition.name, wanted, DTAQ))
        obstacle = obstacle_to(self.system, holder, definition)
        if obstacle is not None:
            self.fail(*obstacle)
        queue = create_queue(self.system, holder, definition, self.current_user, self)
        self._send_completion("CPC9801", queue)
        self.give_turn()
        return queue

    def _defined(self, keywords: dict[str, Any]) -> Dtaq:
        try:
            return define_dtaq(**keywords)
        except DefinitionError as error:
            diagnostics = tuple(_diagnostic(problem, self.page) for problem in error.problems)
            self.log(*diagnostics)
            raise EscapeMessage(self.message("CPF0006"), diagnostics) from error

    @declare("DLTDTAQ")
    def dltdtaq(self, dtaq: str, library: str = "") -> None:
        """Delete a data queue and every entry on it, whatever is on it and whoever waits for it.

        Args:
            dtaq: ``LIB/NAME``, or a name; a generic name (``APP*``) deletes every queue whose name begins so.
            library: its library, ``*LIBL`` (when neither says one) or ``*CURLIB``. ``*USRLIBL`` (the current library
                and the user part of the list), ``*ALL`` and ``*ALLUSR`` (those whose names do not begin with Q, and
                QGPL) are searched for every queue of the name.

        Raises:
            EscapeMessage: CPF2105 and CPF2110 not found, CPF2125 none of several that could be, CPF2189 and CPF2182 not
                authorized, CPF2114 in use.
        """
        name, library = self.place(dtaq, library)
        self.begin("DLTDTAQ", name, library)
        if name.endswith("*") or library in _SEVERAL:
            self._delete_several(name, library)
        else:
            self._delete(name, library)
        self.give_turn()

    def _searched(self, library: str) -> Iterable[str]:
        """The libraries that a special value stands for."""
        if library == "*LIBL":
            return self.library_list()
        if library == "*USRLIBL":
            return filter(None, dict.fromkeys((self.current_library, *self.user_libraries)))
        every = sorted(self.system.libraries)
        if library == "*ALLUSR":
            return (one for one in every if not one.startswith("Q") or one == "QGPL")
        return ("QTEMP", *every) if library == "*ALL" else (self.current() if library == "*CURLIB" else library,)

    def _delete_several(self, name: str, library: str) -> None:
        found = [
            (each, holder.name)
            for holder in map(self.library, self._searched(library))
            if holder is not None
            for kind, each in sorted(holder.objects)
            if kind == "*DTAQ" and (each.startswith(name[:-1]) if name.endswith("*") else each == name)
        ]
        if not found:
            self.fail("CPF2125")
        for each, holder_name in found:
            self._delete(each, holder_name)

    def _delete(self, name: str, library: str) -> None:
        holder, found = self._open_alone("DLTDTAQ", name, library)
        self.system.remove_object(found, holder, self, self.system.journals.entry(self, found, "QD"))
        self._send_completion("CPC2191", found)

    @declare("RTVDTAQXCL")
    def rtvdtaqxcl(self, dtaq: str, library: str = "") -> RTVDTAQXCL:
        """Retrieve information about a data queue into CL variables.

        Args:
            dtaq: ``LIB/NAME``, ``*LIBL/NAME``, ``*CURLIB/NAME``, or a name.
            library: its library, ``*LIBL`` (when neither says one) or ``*CURLIB``.

        Raises:
            EscapeMessage: XCL9002 what the user can mend, XCL9003 a lock, XCL9004 another known cause, XCL9005 the
                rest; the message that tells the cause is in the job log and in ``diagnostics``.
        """
        name, library = self.place(dtaq, library)
        try:
            self.begin("RTVDTAQXCL", name, library)
            return _variables(*self._described(name, library))
        except EscapeMessage as error:
            if error.message_id in _ESCAPES.values():
                raise
            cause = error.message._replace(kind="diagnostic")
            self.log(cause)
            escape = _ESCAPES.get(cause.message_id, _ESCAPES["*"])
            raise EscapeMessage(self.message(escape), (cause,)) from error

    def rtvdtaqinf(self, dtaq: str, library: str = "") -> RTVDTAQXCL:
        """RTVDTAQXCL under its other name."""
        return self.rtvdtaqxcl(dtaq, library)

    def _described(self, name: str, library: str) -> tuple[dict[str, Any], bool]:
        basic = layout("RDQD0100")
        values = basic.parse(self.describe(name, library, basic.name, basic.length), self.page)
        ddm = values["type_of_data_queue"] == basic["type_of_data_queue"].ddm
        if ddm:
            distributed = layout("RDQD0200")
            values |= distributed.parse(self.describe(name, library, distributed.name, distributed.length), self.page)
        return values, ddm


def _diagnostic(problem: Problem, page: CodePage) -> Message:
    """What is wrong with a definition as a command tells it: by its id, else as a value with its reason."""
    found, keyword = _CPD.search(problem.message), problem.attribute.upper()
    shown = problem.value if problem.value.isascii() and problem.value.isprintable() else ""
    if found is not None and found[1] in MESSAGES:
        return message(found[1], *(keyword, shown)[: MESSAGES[found[1]].values], page=page)
    told = message("CPD0084", len(shown), keyword, shown, page=page)
    given = f" (given: {problem.value})" if problem.value else ""
    return told._replace(text=f"{keyword} {problem.message}{given}".lstrip())


def _variables(values: dict[str, Any], ddm: bool) -> RTVDTAQXCL:
    column = "ddm" if ddm else "standard"
    return RTVDTAQXCL(*(_cl_value(row, values.get(row[column], row[column])) for row in _KEYWORDS))


def _cl_value(row: dict[str, str], value: Any) -> Any:
    if row["type"] == "*CHAR":
        return ("" if value == "blank" else str(value)).ljust(int(row["length"]))
    if row["type"] == "*LGL":
        return "1" if value in _TRUE else "0"
    number = int(_SEQUENCES.get(value, value))
    return Decimal(number) if row["type"] == "*DEC" else number
