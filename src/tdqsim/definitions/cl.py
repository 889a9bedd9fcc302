"""Import of CL source: the CRTDTAQ and DLTDTAQ commands in programs and job streams.

A command ends with its line unless a ``+`` or ``-`` at the end continues it (``-`` keeps the blanks at the beginning of
the next line). ``/* */`` is a comment. Text is enclosed in apostrophes, and an apostrophe in it is doubled. CL keywords
cannot be abbreviated; the first parameters may be positional. A command with an error would not run, so it is skipped
and reported, with the id of the diagnostic if that is known. A variable is replaced by the constant of its DCL or of an
earlier CHGVAR. The source is read from top to bottom; IF and GOTO are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from tdqsim.core.capitals import capitals
from tdqsim.definitions._build import build
from tdqsim.definitions.cl_command import COMMANDS, COMMENT
from tdqsim.definitions.dtaq import Dtaq
from tdqsim.definitions.group import GroupEntry
from tdqsim.definitions.imports import Imported, Importer

_TOKEN = re.compile(
    rf"(?P<comment>{COMMENT})|(?P<quoted>'(?:[^'\n]|'')*+'?)|(?P<open>\()|(?P<close>\))|(?P<space>\s++)"
    rf"|(?P<word>(?:[^\s()'/]|(?!{COMMENT})/)++)"
)
_LABEL = re.compile(r"[A-Za-z@#$][\w@#$]*:", re.ASCII)
_KEYWORD = re.compile(r"[A-Za-z][A-Za-z0-9]*", re.ASCII)
_VARIABLE = re.compile(r"&[A-Z@#$][A-Z0-9@#$_]*", re.ASCII | re.IGNORECASE)
_WORD = re.compile(r"[^\s()']+")
_PROMPT = re.compile(r"\?[?*<&%/!-]?")  # selective prompting before a command or keyword, which an import ignores
_LISTED = re.compile(r"[0-9]{12}")  # sequence number and date at the beginning of a line in source listings
_SETTERS = {"DCL": ("var", "type", "len", "value"), "CHGVAR": ("var", "value")}
_POSITIONAL = {"CRTDTAQ": ("dtaq", "maxlen"), "DLTDTAQ": ("dtaq",)}
_SPECIAL = [one.keyword.lower() for one in COMMANDS["CRTDTAQ"] if one.kind == "word"]
_KEYWORDS = frozenset(Dtaq.model_fields) - {
    "group", "description", "definetime", "changetime", "changeusrid", "changeagent", "changeagrel", "without_effect",
}  # fmt: skip


class _Command(NamedTuple):
    text: str
    line: int


class _State:
    """The state while a source is read: the queues created so far, and the variables with a constant value."""

    def __init__(self, importer: Importer) -> None:
        self.importer = importer
        self.made: dict[str, GroupEntry] = {}
        self.variables: dict[str, str] = {}


class _Parameter(NamedTuple):
    keyword: str  # lower case; empty for one given by position
    values: list[str]


def parse_cl(text: str, *, file: str = "<cl>") -> Imported:
    """Import the data queues that the CRTDTAQ commands in CL source would create; the rest is reported.

    A DLTDTAQ removes a queue that an earlier command of the same source creates; any other DLTDTAQ is reported.
    """
    importer = Importer(file)
    state = _State(importer)
    for command in _commands(text, importer):
        _run(command, state)
    importer.entries.extend(state.made.values())
    return importer.result()


def _run(command: _Command, state: _State) -> None:
    importer = state.importer
    tokens = list(_tokens(command.text))
    first = next((index for index, piece in enumerate(tokens) if not _LABEL.fullmatch(piece)), None)
    if first is None:
        return
    name = _unprompted(tokens[first]).upper().rpartition("/")[2]
    if name in _SETTERS:
        _set_variable(name, _parameters(tokens[first + 1 :]) or [], state)
        return
    if name not in _POSITIONAL:
        inside = " (one stands inside this command)" if "CRTDTAQ" in (piece.upper() for piece in tokens) else ""
        importer.skipped(command.line, name, f"only CRTDTAQ and DLTDTAQ are imported{inside}", fault=False)
        return
    rest = _with_constants(name, tokens[first + 1 :], command, state)
    if rest is None:
        return
    parameters = _parameters(rest)
    if parameters is None:
        importer.skipped(command.line, name, "CPF0006: its parentheses do not match")
        return
    values = _by_keyword(name, parameters, command, importer)
    if values is None:
        return
    if name == "CRTDTAQ":
        _create(values, command, importer, state.made)
    else:
        _delete(values, command, importer, state.made)


def _set_variable(name: str, parameters: list[_Parameter], state: _State) -> None:
    """Record the constant that DCL or CHGVAR assigns to a variable; another value makes it unknown."""
    positional = iter(_SETTERS[name])
    by_keyword = {parameter.keyword or next(positional, ""): parameter.values for parameter in parameters}
    variable = "".join(by_keyword.get("var", ()))
    value = by_keyword.get("value", [])
    if len(value) == 1 and not _VARIABLE.search(value[0]):
        state.variables[variable] = value[0]
    elif value or name == "DCL":
        state.variables.pop(variable, None)


def _with_constants(name: str, tokens: list[str], command: _Command, state: _State) -> list[str] | None:
    """Replace the variables in the tokens, except in quoted text; None when one has no constant value."""
    unknown: set[str] = set()
    used: dict[str, str] = {}

    def constant(match: re.Match[str]) -> str:
        variable = match[0].upper()
        value = state.variables.get(variable)
        if value is None:
            unknown.add(variable)
            return match[0]
        used[variable] = value.strip()
        return used[variable]

    replaced = []
    for piece in tokens:
        text = piece if piece.startswith("'") else _VARIABLE.sub(constant, piece)
        is_word = text == piece or _WORD.fullmatch(text)
        replaced.append(text if is_word else f"""'{text.replace("'", "''")}'""")
    for variable, value in used.items():
        state.importer.changed(command.line, f"{name} {variable}", f"is taken for its constant {value!r}")
    for variable in sorted(unknown):
        message = "is a variable without a constant; the command is not imported"
        state.importer.skipped(command.line, f"{name} {variable}", message)
    return None if unknown else replaced


def _commands(text: str, importer: Importer) -> Iterator[_Command]:
    """The commands, with continuation lines joined and comments removed."""
    parts: list[str] = []
    first_line = opened = 0
    in_comment = False
    keep_blanks = False
    for number, raw in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        written = raw.rstrip("\r\f\x1a").expandtabs()
        opened = opened if in_comment and "*/" not in written else number
        line, in_comment = _without_comments(written[12:] if _LISTED.match(written) else written, in_comment=in_comment)
        line = line.rstrip()
        if not parts:
            if not line.strip() or line.lstrip().startswith("//"):
                continue
            first_line = number
        mark = line[-1:] if line.endswith(("+", "-")) else ""
        body = line[:-1] if mark else line + " " * in_comment  # a comment separates words
        parts.append(body if keep_blanks or not parts else body.lstrip())
        keep_blanks = mark == "-"
        if not mark and not in_comment:
            yield _Command("".join(parts), first_line)
            parts = []
            keep_blanks = False
    if in_comment:
        importer.skipped(opened, "/*", "this comment has no end; all behind it is taken for a part of it")
    if parts:
        yield _Command("".join(parts), first_line)


def _without_comments(line: str, *, in_comment: bool) -> tuple[str, bool]:
    """The line without comments, and whether a comment is still open at its end."""
    kept: list[str] = []
    position = 0
    while position < len(line):
        if in_comment:
            end = line.find("*/", position)
            if end < 0:
                return "".join(kept), True
            position, in_comment = end + 2, False
            kept.append(" ")
            continue
        match = _TOKEN.match(line, position)
        if match is None or match["comment"]:
            in_comment = match is not None
            position += 2
            continue
        kept.append(match[0])
        position = match.end()
    return "".join(kept), in_comment


def _tokens(text: str) -> Iterator[str]:
    for match in _TOKEN.finditer(text):
        if not match["space"]:
            yield match[0]


def _parameters(tokens: list[str]) -> list[_Parameter] | None:
    """Parse ``KEYWORD(values)`` and positional values; None when parentheses do not match."""
    parameters: list[_Parameter] = []
    index = 0
    while index < len(tokens):
        piece = _unprompted(tokens[index])
        follows = tokens[index + 1] if index + 1 < len(tokens) else ""
        if piece == ")":
            return None
        if follows == "(" and _KEYWORD.fullmatch(piece):
            values, index = _values(tokens, index + 2)
            if index < 0:
                return None
            parameters.append(_Parameter(piece.lower(), values))
        elif piece == "(":
            values, index = _values(tokens, index + 1)
            if index < 0:
                return None
            parameters.append(_Parameter("", values))
        else:
            parameters.append(_Parameter("", [_unquoted(piece)]))
            index += 1
    return parameters


def _values(tokens: list[str], index: int) -> tuple[list[str], int]:
    """The values up to the closing parenthesis, with those of inner lists, and the index after it; -1 if missing."""
    values: list[str] = []
    depth = 1
    while index < len(tokens):
        piece = tokens[index]
        index += 1
        depth += (piece == "(") - (piece == ")")
        if depth == 0:
            return values, index
        if piece not in "()":
            values.append(_unquoted(piece))
    return values, -1


def _unprompted(piece: str) -> str:
    """The word without the prompt characters that may precede it."""
    match = _PROMPT.match(piece)
    return piece[match.end() :] if match else piece


def _unquoted(piece: str) -> str:
    if piece.startswith("'"):
        return piece[1:].removesuffix("'").replace("''", "'")
    return capitals(piece)


def _by_keyword(
    name: str, parameters: list[_Parameter], command: _Command, importer: Importer
) -> dict[str, object] | None:
    """The parameters by keyword; None when one is not known, or specified twice."""
    positional = iter(_POSITIONAL[name])
    known = _KEYWORDS if name == "CRTDTAQ" else {"dtaq"}
    values: dict[str, object] = {}
    for parameter in parameters:
        keyword = parameter.keyword or next(positional, "")
        if keyword not in known:
            what = keyword.upper() or " ".join(parameter.values)
            message = (
                "CPD0043: the keyword is not valid for this command" if keyword else "is one value by position too many"
            )
            importer.skipped(command.line, f"{name} {what}", f"{message}; the command is not run")
            return None
        if keyword in values:
            importer.skipped(command.line, f"{name} {keyword.upper()}", "is given twice; the command is not run")
            return None
        values[keyword] = parameter.values if keyword == "size" else " ".join(parameter.values)
    return values


def _create(values: dict[str, object], command: _Command, importer: Importer, made: dict[str, GroupEntry]) -> None:
    title = f"CRTDTAQ {values.get('dtaq', '')}".strip()
    bare = [name for name in _SPECIAL if not str(values.get(name, "*")).startswith("*")]
    for keyword in bare:
        shown = f"CPD0084: {values[keyword]!r} is not valid; special values begin with an asterisk"
        importer.skipped(command.line, f"{title} {keyword.upper()}", f"{shown}; the command is not run")
    if bare:
        return
    resource, faults = build("DTAQ", values)
    for fault in faults:
        shown = f" = {fault.value!r}" if fault.value else ""
        message = f"{fault.message}{shown}; the command is not run"
        importer.skipped(command.line, f"{title} {fault.attribute.upper()}", message)
    if resource is None:
        return
    if resource.resource_name in made:
        importer.skipped(command.line, title, "CPF9870: the queue is made by an earlier command")
        return
    made[resource.resource_name] = GroupEntry(resource, importer.file, command.line)


def _delete(values: dict[str, object], command: _Command, importer: Importer, made: dict[str, GroupEntry]) -> None:
    name = str(values.get("dtaq", ""))
    library, _, queue = name.rpartition("/")
    full = f"{'*CURLIB' if library in ('', '*LIBL') else library}/{queue}"
    if made.pop(full, None) is None:
        importer.skipped(command.line, f"DLTDTAQ {name}", "no earlier command makes the queue")
    else:
        importer.changed(command.line, f"DLTDTAQ {name}", "takes away the queue that an earlier command makes")
