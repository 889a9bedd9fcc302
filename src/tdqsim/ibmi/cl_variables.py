"""CL variables: DCL, CHGVAR, and the dictionary that a caller of ``job.command`` passes.

The dictionary stands for the variables of one CL program, by name (``&NBRENT``). DCL puts a :class:`ClVariable` into
it, which has a type and a length. Any other value may be put there as it is, and has the type that CL would declare it
with: text is *CHAR, an int *INT, a Decimal *DEC, a bool *LGL, a bytearray storage without a type. A parameter that
returns a value stores it in a ClVariable only if type and length are those of the parameter, and replaces any other
value.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping, MutableMapping
from decimal import Decimal
from typing import Any, NoReturn

from tdqsim.core.codepage import CodePage
from tdqsim.definitions.cl_command import is_variable
from tdqsim.definitions.cl_expression import ClWord
from tdqsim.errors import ConversionError
from tdqsim.facts import table
from tdqsim.ibmi.errors import ParameterError
from tdqsim.ibmi.parm_types import Codec, codec

Variables = MutableMapping[str, Any]
"""The CL variables of one program by name, such as ``&NBRENT``."""

_TYPES = {row["type"]: row for row in table("ibmi_cl_types")}
_NUMBER = re.compile(r"[+-]?(?=[.,]?[0-9])[0-9]*[.,]?[0-9]*", re.ASCII)
_INTEGER_DIGITS = {2: 5, 4: 10, 8: 20}
_LONGEST_TEXT = int(_TYPES["*CHAR"]["most"])


class ClVariable:
    """A CL variable, as DCL declares it.

    Attributes:
        type: ``*CHAR``, ``*DEC``, ``*INT``, ``*UINT`` or ``*LGL``.
        length: bytes, or digits of a ``*DEC``.
        decimals: the digits after the decimal point of a ``*DEC``, otherwise 0.
        page: the code page of its characters.
        storage: its bytes, which a called program receives and changes.
    """

    __slots__ = ("_codec", "decimals", "length", "page", "storage", "type")

    def __init__(self, type: str, length: int, decimals: int, page: CodePage) -> None:  # DCL's keyword
        self.type = type
        self.length = length
        self.decimals = decimals
        self.page = page
        self._codec = _codec(type, length, decimals)
        self.storage = bytearray(self._codec.length)
        self.value = {"*CHAR": "", "*LGL": "0"}.get(type, 0)

    @property
    def value(self) -> str | int | Decimal:
        """Its value: text of its full length for ``*CHAR``, ``'1'`` or ``'0'`` for ``*LGL``, otherwise a number.

        Raises:
            ValueError: its bytes are not a value of its type, because a program has stored something else.
        """
        value = self._codec.decode(bytes(self.storage), self.page)
        if self.type == "*CHAR":
            return self.page.printable(bytes(self.storage))
        if self.type == "*LGL":
            return "1" if value else "0"
        return Decimal(value) if self.type == "*DEC" else int(value)

    @value.setter
    def value(self, value: str | int | Decimal) -> None:
        if self.type == "*LGL":
            if value not in ("0", "1"):
                raise ParameterError(f"{value!r}: a *LGL variable is '0' or '1'")
            self.storage[:] = self._codec.encode(value == "1", self.page)
            return
        if self.type == "*CHAR":
            value = str(value)[: self.length]
        try:
            self.storage[:] = self._codec.encode(value, self.page)
        except (ValueError, ConversionError) as error:
            raise ParameterError(f"{value} in a variable {self}: {error}") from error

    def __str__(self) -> str:
        decimals = f" {self.decimals}" if self.type == "*DEC" else ""
        return f"TYPE({self.type}) LEN({self.length}{decimals})"

    def __repr__(self) -> str:
        try:
            return f"<ClVariable {self} {self.value!r}>"
        except ValueError:
            return f"<ClVariable {self} X'{self.storage.hex()}'>"


def _codec(kind: str, length: int, decimals: int) -> Codec:
    if kind in ("*INT", "*UINT"):
        return codec("LEN", f"{kind[1:4].replace('UIN', 'UNS')}({_INTEGER_DIGITS[length]})")
    if kind == "*DEC":
        return codec("LEN", f"PACKED({length}:{decimals})")
    return codec("LEN", f"CHAR({length})" if kind == "*CHAR" else "IND")


def check_variables(variables: Any) -> None:
    """Refuse what is not a dictionary of variables.

    Raises:
        ParameterError: it is no mapping that can be changed, or a name or value in it cannot be a variable's.
    """
    if not isinstance(variables, MutableMapping):
        raise ParameterError(f"variables is {type(variables).__name__}: a dictionary of CL variables by name is needed")
    for name, value in variables.items():
        if not isinstance(name, str) or not is_variable(name):
            raise ParameterError(
                f"variable {name!r:.40}: a name is & and 1 to 10 characters in capitals, as in '&NBRENT'"
            )
        if not isinstance(value, ClVariable | str | int | Decimal | bytes | bytearray | None):
            raise ParameterError(
                f"variable {name} is {type(value).__name__}: allowed are what DCL makes, str, int, Decimal, bool,"
                " bytes, bytearray, and None for one that has no value yet"
            )


class Words(Mapping[str, ClWord]):
    """The values of variables as words of a command; a value is converted when a command uses it."""

    def __init__(self, variables: Variables, page: CodePage) -> None:
        self._variables = variables
        self._page = page

    def __getitem__(self, name: str) -> ClWord:
        value = self._variables[name]
        if value is None:
            raise ParameterError(f"variable {name} has no value yet")
        if isinstance(value, bytes | bytearray):
            return ClWord(self._page.printable(bytes(value)), quoted=True, raw=bytes(value))
        made = made_variable(name, value, self._page)
        if made.type == "*CHAR":
            return ClWord.of_text(str(_read(name, made)))
        return ClWord(_shown(name, made), quoted=False)

    def __contains__(self, name: object) -> bool:
        return name in self._variables

    def __iter__(self) -> Iterator[str]:
        return iter(self._variables)

    def __len__(self) -> int:
        return len(self._variables)


def _read(name: str, variable: ClVariable) -> str | int | Decimal:
    try:
        return variable.value
    except ValueError as error:
        raise ParameterError(f"variable {name} {variable}: {error}") from error


def _shown(name: str, variable: ClVariable) -> str:
    value = _read(name, variable)
    return f"{value:f}" if isinstance(value, Decimal) else str(value)


def made_variable(name: str, value: Any, page: CodePage) -> ClVariable:
    """The variable of a value: the value itself, or one with the type that CL would declare it with."""
    if isinstance(value, ClVariable):
        return value
    if isinstance(value, bool):
        made = ClVariable("*LGL", 1, 0, page)
        made.value = "1" if value else "0"
        return made
    if isinstance(value, str):
        made = ClVariable("*CHAR", min(max(len(page.encode(value)), 1), _LONGEST_TEXT), 0, page)
    elif isinstance(value, Decimal):
        made = ClVariable("*DEC", 15, 5, page)
    else:
        made = ClVariable("*INT", 4, 0, page)
    try:
        made.value = value
    except ParameterError as error:
        raise ParameterError(f"variable {name}: {error}") from error
    return made


def is_declared_as(value: Any, kind: str, lengths: Container[str]) -> bool:
    """Whether a returned value may be stored: a ClVariable must have the type and one of the lengths."""
    if not isinstance(value, ClVariable):
        return True
    length = f"{value.length} {value.decimals}" if value.type == "*DEC" else str(value.length)
    return value.type == kind and length in lengths


def store(name: str, value: Any, variables: Variables) -> None:
    """Store a returned value."""
    present = variables[name]
    if isinstance(present, ClVariable):
        present.value = value
    else:
        variables[name] = value


def declare_variable(page: CodePage, variables: Variables, values: dict[str, Any]) -> None:
    """DCL: put a variable into the dictionary.

    Raises:
        ParameterError: it is there already, or length and value do not fit the type.
    """
    name, kind = values["var"], values["type"]
    if name in variables:
        raise ParameterError(f"VAR({name}): the variable is declared already")
    row, initial = _TYPES[kind], values.get("value", [])
    length, decimals = _length(row, values.get("len", []), initial)
    made = ClVariable(kind, length, decimals, page)
    if initial:
        _assign(name, made, initial, variables, page)
    variables[name] = made


def _length(row: dict[str, str], written: list[int], initial: list[object]) -> tuple[int, int]:
    """Length and decimal positions; by default those of the initial value, or of the type."""
    kind, most = row["type"], int(row["most"])
    if not written:
        length, decimals = int(row["default"]), int(row["decimals"])
        if initial and isinstance(initial[0], ClWord) and kind in ("*CHAR", "*DEC"):
            whole, _, part = initial[0].lstrip("+-").replace(",", ".").partition(".")
            length, decimals = (len(initial[0]), 0) if kind == "*CHAR" else (len(whole + part), len(part))
        return max(length, 1), decimals
    length, decimals = written[0], written[1] if len(written) > 1 else 0
    allowed = [int(one) for one in row["lengths"].split()]
    fits = length in allowed if allowed else 1 <= length <= most
    if not fits or (len(written) > 1 and kind != "*DEC") or decimals > min(int(row["most_decimals"]), length):
        words = " or ".join(row["lengths"].split()) or f"1 to {most}"
        more = f", and at most {row['most_decimals']} decimal positions" if kind == "*DEC" else ""
        raise ParameterError(f"LEN({' '.join(map(str, written))}): a {kind} variable has the length {words}{more}")
    return length, decimals


def change_variable(page: CodePage, variables: Variables, values: dict[str, Any]) -> None:
    """CHGVAR: assign a constant, a variable, or an expression of strings.

    Raises:
        ParameterError: the value does not fit the variable, or is an expression that is not simulated.
    """
    name = values["var"]
    present = variables[name]
    if isinstance(present, ClVariable):
        _assign(name, present, values["value"], variables, page)
        return
    target = ClVariable("*CHAR", _LONGEST_TEXT, 0, page) if present is None else made_variable(name, present, page)
    if isinstance(present, str) or present is None:
        target = ClVariable("*CHAR", _LONGEST_TEXT, 0, page)
    _assign(name, target, values["value"], variables, page)
    value = target.value
    if target.type == "*CHAR":
        value = str(value).rstrip(" ")
    variables[name] = value == "1" if isinstance(present, bool) else value


def _assign(name: str, target: ClVariable, values: list[Any], variables: Variables, page: CodePage) -> None:
    """Convert a value as CHGVAR does: see the tables of its page for numbers in text, and for text in numbers."""
    value = values[0] if len(values) == 1 else values
    while isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, ClWord):
        _not_simulated(values)
    if not value.quoted and is_variable(value):
        source = made_variable(value, variables[value], page)
        text, number = str(_read(value, source)), source.type not in ("*CHAR", "*LGL")
        text = _shown(value, source) if number else text
    else:
        text, number = str(value), not value.quoted and _NUMBER.fullmatch(value) is not None
        if value.startswith("%") and not value.quoted:
            _not_simulated(values)
    if target.type == "*CHAR":
        target.value = _right(name, text, target.length) if number else text
        if value.raw is not None:
            target.storage[:] = value.raw[: target.length].ljust(target.length, page.encode(" "))
    elif target.type == "*LGL":
        target.value = text.strip()
    else:
        target.value = _number(name, text.strip(), target, exact=number)


def _not_simulated(values: list[Any]) -> NoReturn:
    what = (
        "built-in functions" if any(str(one).startswith("%") for one in values) else "arithmetic and logical operators"
    )
    raise ParameterError(f"VALUE: constants, variables and strings joined by *CAT are simulated, {what} are not")


def _right(name: str, number: str, length: int) -> str:
    """A number in text: right-justified, with zeros on its left."""
    number = number.removeprefix("+")
    if len(number) > length:
        raise ParameterError(f"VAR({name}): {number} does not fit into {length} characters")
    sign = "-" if number.startswith("-") else ""
    return sign + number.removeprefix("-").rjust(length - len(sign), "0")


def _number(name: str, text: str, target: ClVariable, *, exact: bool) -> int | Decimal:
    """The number in a text; fractional digits beyond the variable's are dropped from a string only."""
    if not _NUMBER.fullmatch(text):
        raise ParameterError(f"VAR({name}): {text!r} is not a number")
    whole, _, part = text.replace(",", ".").partition(".")
    kept = part if exact else part[: target.decimals]
    value = Decimal(f"{whole}.{kept}" if kept else whole)
    if target.type == "*DEC":
        return value
    if value != value.to_integral_value():
        raise ParameterError(f"VAR({name}): {text} has a fraction, which a {target.type} variable has not")
    return int(value)
