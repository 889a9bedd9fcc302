"""Parsing of one CL command, and checking of its parameters against the command's definition.

These are the checks of a CL command processor before it runs a command: the command exists; parentheses and apostrophes
match; each keyword belongs to the command and occurs once; positional parameters precede those with keywords and are
not too many; required parameters are present; each value is valid for its parameter. All errors are reported, each as a
diagnostic message with its id, keyword and value; a command with a diagnostic is not run. The command definitions are
the rows of ``facts/ibmi_cl.tsv``; the return variables of RTVDTAQXCL are those of ``facts/ibmi_rtvdtaqxcl.tsv``. A
command of the vendor that is not among them is known by its name (``facts/ibmi_cl_absent.tsv``), so that the message
can say that it is not simulated.

A CL variable (``&NAME``) is replaced by its value before a parameter is checked. A parameter that returns a value takes
the variable itself, and so does PARM of CALL.

Words are converted to upper case, quoted text is not changed. Expressions are evaluated first
(:mod:`~tdqsim.definitions.cl_expression`). Special values need their asterisk, and keywords cannot be abbreviated.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

from tdqsim.core.capitals import capitals
from tdqsim.core.codepage import codepage
from tdqsim.definitions.cl_expression import ClWord, Diagnostic, evaluated, has_operator, shown
from tdqsim.facts import LIMITS, table

LONGEST_COMMAND = 32_702
COMMENT = r"(?:(?<![A-Za-z0-9@#$_.])/\*|/\*(?![A-Za-z]))"
"""The expression of the beginning of a comment; the ``/*`` of LIB/*ALL is none."""
_TOKEN = re.compile(
    rf"(?P<comment>{COMMENT}.*?\*/)|(?P<quoted>[Xx]?'(?:[^']|'')*+'?)|(?P<open>\()|(?P<close>\))|(?P<space>\s++)"
    rf"|(?P<symbol>\|[|<>])|(?P<word>(?:[^\s()'/|]|(?!{COMMENT})/|\|(?![|<>]))++)|(?P<stray>.)",
    re.DOTALL,
)
_QUOTED = re.compile(r"'(?:[^']|'')*+'")
_HEXADECIMAL = re.compile(r"[Xx]'((?:[0-9A-Fa-f]{2})+)'", re.ASCII)
_KEYWORD = re.compile(r"[A-Z][A-Z0-9]{0,9}", re.ASCII)
_DEEPEST = 5
_LIBRARIES = ("*LIBL", "*CURLIB")
_JOB_PARTS = 2
_JOB_NUMBER = re.compile(r"[0-9]{6}", re.ASCII)
_CL_VARIABLE = re.compile(r"&[A-Z@#$][A-Z0-9@#$_]{0,9}", re.ASCII)
_ITSELF = ("variable", "text")
"""Kinds of parameters that take a variable itself, not its value."""

NO_VARIABLES: Mapping[str, ClWord] = MappingProxyType({})


def is_variable(name: str) -> bool:
    """Whether this is the name of a CL variable: ``&`` and 1 to 10 characters in capitals."""
    return _CL_VARIABLE.fullmatch(name) is not None


class ClCommand(NamedTuple):
    """A parsed command.

    Attributes:
        name: its name in upper case; empty when the text has none.
        library: the library that qualifies the name, or ``*LIBL``.
        parameters: keyword (empty for a positional parameter) and values of each, in order.
        faults: the errors in the text.
    """

    name: str
    library: str
    parameters: tuple[tuple[str, list[object]], ...]
    faults: tuple[Diagnostic, ...]


class ClParameter(NamedTuple):
    """One parameter of a command's definition."""

    keyword: str
    position: int
    required: bool
    kind: str
    limits: tuple[int, ...]
    most: int
    values: frozenset[str]


class Checked(NamedTuple):
    """A checked command: its values by keyword in lower case, and the errors."""

    name: str
    values: Mapping[str, object]
    diagnostics: tuple[Diagnostic, ...]


@cache
def _definitions() -> Mapping[str, tuple[ClParameter, ...]]:
    definitions: dict[str, list[ClParameter]] = {}
    for row in table("ibmi_cl"):
        kind, *limits = row["kind"].split()
        definitions.setdefault(row["command"], []).append(
            ClParameter(
                row["keyword"], int(row["position"]), row["required"] == "yes", kind, tuple(map(int, limits)),
                int(row["most"]), frozenset(row["values"].split()),
            )
        )  # fmt: skip
    for row in table("ibmi_rtvdtaqxcl"):
        definitions["RTVDTAQXCL"].append(ClParameter(row["keyword"], 0, False, "variable", (), 1, frozenset()))
    definitions["RTVDTAQINF"] = definitions["RTVDTAQXCL"]
    return {name: tuple(parameters) for name, parameters in definitions.items()}


_CONTINUED = re.compile(r"\+[ \t]*\r?\n[ \t]*|-[ \t]*\r?\n")
"""A continuation: + without the blanks at the beginning of the next line, - with them."""

COMMANDS = _definitions()
"""The parameters of every known command, by command name."""
_LIBRARIES_OF = {"RTVDTAQXCL": ("*LIBL", "QSYS", "VC2XCL"), "RTVDTAQINF": ("VC2XCL",)}
"""The libraries in which a command is found, if they are others than QSYS and the library list."""
_ABSENT = {row["command"]: row["library"] for row in table("ibmi_cl_absent")}
_ABSENT_KEYWORDS = {row["command"]: frozenset(row["keywords"].split()) for row in table("ibmi_cl_absent_keywords")}
"""The library of each command of the vendor that is not simulated."""

_NAME = re.compile({row["kind"]: row["pattern"] for row in table("name_characters")}["ibmi"], re.ASCII)


# -- parsing ----------------------------------------------------------------------------------------------------------


def joined_lines(text: str) -> str:
    """Join the lines of a command."""
    return _CONTINUED.sub("", text)


def read_command(text: str) -> ClCommand:
    """Parse one command.

    A word followed by a blank and a left parenthesis is a keyword only if the command has this keyword; otherwise it is
    a positional value, as in ``CALL PGM1 ('A' 'B')``.
    """
    if len(text) > LONGEST_COMMAND:
        return ClCommand("", "*LIBL", (), (Diagnostic("CPD0103", (len(text), LONGEST_COMMAND)),))
    tokens = [match for match in _TOKEN.finditer(text) if not match["space"] and not match["comment"]]
    apart = {at for at, match in enumerate(tokens) if at and match.start() > tokens[at - 1].end()}
    reader = _Reader([match[0] for match in tokens], apart)
    library, slash, name = reader.command_name().rpartition("/")
    keywords = {one.keyword for one in COMMANDS.get(name, ())}
    parameters = reader.parameters(keywords) if not reader.faults else ()
    return ClCommand(name, library if slash else "*LIBL", tuple(parameters), tuple(reader.faults))


class _Reader:
    """A parser of tokens from left to right."""

    def __init__(self, tokens: Sequence[str], apart: Container[int]) -> None:
        self.tokens = tokens
        self.apart = apart  # the indexes of tokens that follow a blank
        self.at = 0
        self.faults: list[Diagnostic] = []

    def command_name(self) -> str:
        """The first word; empty when there is none."""
        if not self.tokens or self.tokens[0] in "()" or "'" in self.tokens[0]:
            return ""
        self.at = 1
        return self.tokens[0].upper()

    def _is_keyword(self, keywords: Container[str], *, first: bool) -> bool:
        """Whether the next word is a keyword; ``first`` means that no keyword precedes it."""
        word, behind = self.tokens[self.at].upper(), self.at + 1
        if self.tokens[behind : behind + 1] != ["("] or not _KEYWORD.fullmatch(word):
            return False
        return not first or behind not in self.apart or word in keywords

    def parameters(self, keywords: Container[str]) -> list[tuple[str, list[object]]]:
        """Parse the parameters of a command that has these keywords."""
        parameters: list[tuple[str, list[object]]] = []
        named = False
        while self.at < len(self.tokens):
            piece = self.tokens[self.at]
            if self._is_keyword(keywords, first=not named):
                self.at += 2
                named = True
                parameters.append((piece.upper(), self.values(1)))
            elif piece == "(":
                self.at += 1
                parameters.append(("", self.values(1)))
            elif piece == ")":
                self.faults.append(Diagnostic("CPD0013", (), rule="CL-PARENTHESIS-RIGHT"))
                return parameters
            else:
                parameters.append(("", [self.word()]))
        return parameters

    def word(self) -> ClWord:
        """Parse one word, and remove its apostrophes."""
        piece = self.tokens[self.at]
        self.at += 1
        if piece[:2].upper() == "X'":
            match = _HEXADECIMAL.fullmatch(piece)
            if match is None:
                self.faults.append(Diagnostic("CPD0014", (), rule="CL-APOSTROPHE"))
            raw = bytes.fromhex(match[1]) if match is not None else b""
            return ClWord(codepage(37).printable(raw), quoted=True, raw=raw)
        if not piece.startswith("'"):
            return ClWord(capitals(piece), quoted=False)
        if not _QUOTED.fullmatch(piece):
            self.faults.append(Diagnostic("CPD0014", (), rule="CL-APOSTROPHE"))
        return ClWord(piece[1:].removesuffix("'").replace("''", "'"), quoted=True)

    def values(self, depth: int) -> list[object]:
        """Parse the values up to the closing parenthesis."""
        values: list[object] = []
        while self.at < len(self.tokens):
            piece = self.tokens[self.at]
            if piece == ")":
                self.at += 1
                return values
            if piece == "(" and depth < _DEEPEST:
                self.at += 1
                values.append(self.values(depth + 1))
            elif piece == "(":
                break
            else:
                values.append(self.word())
        self.faults.append(Diagnostic("CPD0013", (), rule="CL-PARENTHESIS"))
        self.at = len(self.tokens)
        return values


# -- checking ---------------------------------------------------------------------------------------------------------

_NOT_SIMULATED = "TDQ9001"
_SYNTAX_ERRORS = frozenset({"CPD0013", "CPD0014", "CPD0030", _NOT_SIMULATED})
"""Errors that end a command before its parameters are checked."""


def escape_of(name: str, faults: Sequence[Diagnostic]) -> tuple[str, ...]:
    """The id and the values of the escape message that ends a command after its diagnostics.

    CPF0001, with the command's name or ``*N``, if the command is not known or has a syntax error; CPF0006 if its
    parameters are wrong.
    """
    if any(fault.message_id in _SYNTAX_ERRORS for fault in faults):
        return "CPF0001", (name or "*N")[:10]
    return ("CPF0006",)


def check_command(command: ClCommand, variables: Mapping[str, ClWord] = NO_VARIABLES) -> Checked:
    """Check a command against its definition, and report all errors, not just the first.

    Args:
        command: the parsed command.
        variables: the values of the CL variables by name.
    """
    definition = COMMANDS.get(command.name)
    if command.faults:
        return Checked(command.name, {}, command.faults)
    if definition is None or command.library not in _LIBRARIES_OF.get(command.name, ("*LIBL", "QSYS")):
        return Checked(command.name, {}, (_not_found(command),))
    written, faults = _by_keyword(command, definition)
    values: dict[str, object] = {}
    for parameter in definition:
        if parameter.keyword in written:
            value, wrong = _checked(parameter, written[parameter.keyword], variables)
            faults.extend(wrong)
            values[parameter.keyword.lower()] = value
        elif parameter.required:
            faults.append(Diagnostic("CPD0071", (parameter.keyword,), parameter.keyword, "CL-REQUIRED"))
    return Checked(command.name, values, tuple(faults))


def _not_found(command: ClCommand) -> Diagnostic:
    """CPD0030, unless the vendor has the command and this simulation does not."""
    if command.library in ("*LIBL", _ABSENT.get(command.name)) and command.name in _ABSENT:
        return Diagnostic(_NOT_SIMULATED, (command.name,), rule="CL-NOT-SIMULATED")
    return Diagnostic("CPD0030", (command.name[:10], command.library[:10]))


def _by_keyword(
    command: ClCommand, definition: tuple[ClParameter, ...]
) -> tuple[dict[str, list[object]], list[Diagnostic]]:
    positional = sorted((one.position, one.keyword) for one in definition if one.position)
    known = {one.keyword for one in definition}
    by_keyword: dict[str, list[object]] = {}
    faults: list[Diagnostic] = []
    after_keyword = False
    for place, (written, values) in enumerate(command.parameters):
        keyword = written
        if written:
            after_keyword = True
        elif after_keyword:
            faults.append(Diagnostic("CPD0015", (shown(values),), rule="CL-AFTER-KEYWORD"))
            continue
        elif place >= len(positional):
            faults.append(Diagnostic("CPD0041", (shown(values), len(positional)), rule="CL-POSITIONAL"))
            continue
        else:
            keyword = positional[place][1]
        if keyword in _ABSENT_KEYWORDS.get(command.name, ()):
            faults.append(Diagnostic("TDQ9003", (keyword, command.name), keyword, "CL-KEYWORD-NOT-SIMULATED"))
        elif keyword not in known:
            faults.append(Diagnostic("CPD0043", (keyword,), keyword))
        elif keyword in by_keyword:
            faults.append(Diagnostic("CPD0044", (keyword,), keyword, "CL-TWICE"))
        else:
            by_keyword[keyword] = values
    return by_keyword, faults


def _checked(
    parameter: ClParameter, values: list[object], variables: Mapping[str, ClWord]
) -> tuple[object, list[Diagnostic]]:
    """The value of a parameter, and its errors."""
    keyword = parameter.keyword
    undeclared: list[str] = []
    if parameter.kind != "declaration":
        values, undeclared = _with_values(values, variables, itself=parameter.kind in _ITSELF)
    if undeclared:
        return "", [Diagnostic("CPD0727", (name,), keyword, "CL-VARIABLE") for name in undeclared]
    if parameter.kind == "command":
        return values, _too_many(parameter, values)
    values, wrong = evaluated(values)
    if wrong:
        return "", [fault._replace(keyword=keyword) for fault in wrong]
    if parameter.kind in ("elements", "text"):
        return values, _too_many(parameter, values)
    if not values:
        return "", [Diagnostic("CPD0071", (keyword,), keyword, "CL-REQUIRED")]
    faults = _too_many(parameter, values)
    if parameter.most > 1 and len(values) == 1 and isinstance(values[0], list):
        values = values[0]
    checked: list[object] = []
    for value in values:
        converted, more = _one(parameter, value)
        checked.append(converted)
        faults.extend(more)
    return (checked if parameter.most > 1 else checked[0]), faults


def _with_values(
    values: list[object], variables: Mapping[str, ClWord], *, itself: bool
) -> tuple[list[object], list[str]]:
    """Replace the variables in the values of a parameter; returns the values and the names that are not declared.

    A variable that is ``itself`` the value of a parameter stays; one in a list or an expression does not. The blanks at
    the end of a variable matter in an expression only.
    """
    joined = has_operator(values)
    undeclared: list[str] = []
    replaced: list[object] = []
    for value in values:
        if isinstance(value, list):
            inner, more = _with_values(value, variables, itself=False)
            replaced.append(inner)
            undeclared += more
            continue
        if not isinstance(value, ClWord) or value.quoted or "&" not in value:
            replaced.append(value)
            continue
        names = [name for name in value.split("/") if is_variable(name)]
        undeclared += [name for name in names if name not in variables]
        if itself and not joined and value in names:
            replaced.append(value)
        elif value in names:
            whole = variables.get(value, value)
            replaced.append(whole if joined else whole.without_blanks())
        else:
            parts = (variables.get(part, part) if part in names else part for part in value.split("/"))
            replaced.append(ClWord("/".join(part.rstrip(" ") for part in parts), quoted=False))
    return replaced, undeclared


def _too_many(parameter: ClParameter, values: Sequence[object]) -> list[Diagnostic]:
    if len(values) <= parameter.most:
        return []
    return [Diagnostic("CPD0040", (parameter.keyword, parameter.most), parameter.keyword, "CL-TOO-MANY")]


def _one(parameter: ClParameter, value: object) -> tuple[object, list[Diagnostic]]:
    keyword, kind = parameter.keyword, parameter.kind
    if not isinstance(value, ClWord):
        return "", [_not_valid(parameter, value)]
    if not value.quoted and value in parameter.values and kind not in ("qualified", "generic-qualified"):
        return str(value), []
    if kind in ("variable", "declaration"):
        known = not value.quoted and is_variable(value)
        return str(value), [] if known else [_not_valid(parameter, value)]
    if kind == "word":
        return "", [_not_valid(parameter, value)]
    if kind == "integer":
        return _integer(parameter, value)
    if kind == "char":
        wrong = len(value) > parameter.limits[0]
        return str(value), [Diagnostic("CPD0074", (keyword, str(value), parameter.limits[0]), keyword)] if wrong else []
    if kind in ("qualified", "generic-qualified"):
        return _qualified(parameter, value)
    if kind == "job":
        return _job(parameter, value)
    return _name(parameter, value, parameter.limits[0], generic=kind == "generic")


def _not_valid(parameter: ClParameter, value: object) -> Diagnostic:
    text = shown([value])
    return Diagnostic("CPD0084", (len(text), parameter.keyword, text), parameter.keyword)


def _integer(parameter: ClParameter, value: ClWord) -> tuple[object, list[Diagnostic]]:
    low, high = parameter.limits
    digits = value.removeprefix("+").removeprefix("-")
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 15:
        return 0, [_not_valid(parameter, value)]
    number = int(value)
    if not low <= number <= high:
        return 0, [Diagnostic("CPD0085", (parameter.keyword, str(value), low, high), parameter.keyword)]
    return number, []


def _name(parameter: ClParameter, value: str, most: int, *, generic: bool = False) -> tuple[object, list[Diagnostic]]:
    plain = value.removesuffix("*") if generic else value
    if len(value) > most:
        return "", [Diagnostic("CPD0074", (parameter.keyword, str(value), most), parameter.keyword)]
    if not _NAME.fullmatch(plain):
        wrong = "CPD0079" if generic else "CPD0078"
        return "", [Diagnostic(wrong, (len(value), parameter.keyword, str(value)), parameter.keyword)]
    return str(value), []


def _qualified(parameter: ClParameter, value: ClWord) -> tuple[object, list[Diagnostic]]:
    library, slash, name = value.rpartition("/")
    longest = LIMITS["object_name_length"]
    alone = {one for one in parameter.values if parameter.kind == "qualified" and one not in _LIBRARIES}
    if value in alone:
        return str(value), []
    _, faults = _name(parameter, name, longest, generic=parameter.kind == "generic-qualified")
    if slash and (library not in parameter.values or library in alone):
        faults = faults + _name(parameter, library, longest)[1]
    return str(value), faults


def _job(parameter: ClParameter, value: ClWord) -> tuple[object, list[Diagnostic]]:
    """A job name: ``number/user/name``, ``user/name`` or ``name``."""
    *before, name = value.split("/")
    if len(before) > _JOB_PARTS or (len(before) == _JOB_PARTS and not _JOB_NUMBER.fullmatch(before[0])):
        return "", [_not_valid(parameter, value)]
    longest = LIMITS["object_name_length"]
    return str(value), [fault for one in (*before[-1:], name) for fault in _name(parameter, one, longest)[1]]
