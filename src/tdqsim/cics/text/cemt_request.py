"""The parser of CEMT requests: ``I TD(CS*) EN``, ``S TD(A B C) DI``, ``S TA(42) PU``.

The table ``facts/cemt.tsv`` has the resource types, their keywords, the verbs for each, and the shortest abbreviations.
Source: CEMT, starting and using (IBM Docs).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from tdqsim.core.argument_types import explains_wrong_types
from tdqsim.errors import TdqError
from tdqsim.facts import Cvda, table

_LONGEST: Final = 1024
_DIGITS: Final = "0123456789"
_HEX: Final = "0123456789ABCDEF"
_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"
_GENERIC: Final = "*+"
_TOKEN: Final = re.compile(r"\s*(?:([^\s()=,?]+)\s*(?:\(([^()]*)\))?|([,?]))")
_LABEL: Final = re.compile(r"CEMT(?:(-)|(?=\s|\?|$))", re.IGNORECASE)


class CemtError(TdqError):
    """The request is not valid for CEMT; nothing was done. ``column`` counts from 1."""

    def __init__(self, message: str, column: int = 1) -> None:
        self.column = column
        super().__init__(f"column {column}: {message}")


@dataclass(frozen=True, slots=True)
class CemtRequest:
    """One request.

    Attributes:
        verb: INQUIRE, SET or DISCARD; empty for ``?`` alone, which lists the verbs.
        resource: such as TDQUEUE; empty for a verb with ``?``, which lists the resource types.
        names: the names as typed; empty for all.
        values: for each option, the value that a resource must have (INQUIRE) or gets (SET): a CVDA, or text.
        console: whether the request begins with ``CEMT-``: a single resource is shown as a line, not as a panel.
        syntax_only: whether the request has ``?``: it is not carried out.
        text: the request as typed.
    """

    verb: str
    resource: str
    names: tuple[str, ...]
    values: dict[str, Cvda | str] = field(default_factory=dict)
    console: bool = False
    syntax_only: bool = False
    text: str = ""


@dataclass(frozen=True, slots=True)
class _Keyword:
    name: str
    resource: str
    shortest: int
    verbs: tuple[str, ...]
    option: str
    cvda: str


def _keywords(kind: str) -> tuple[_Keyword, ...]:
    return tuple(
        _Keyword(
            row["keyword"].upper(),
            row["resource"],
            sum(letter.isupper() for letter in row["keyword"]),
            tuple(row["verbs"].split()),
            row["option"],
            row["cvda"],
        )
        for row in table("cemt")
        if row["kind"] == kind
    )


_VERBS: Final = _keywords("verb")
_RESOURCES: Final = _keywords("resource")
_OPTIONS: Final = _keywords("keyword")


def _unabbreviated(word: str, among: tuple[_Keyword, ...], what: str, column: int) -> _Keyword:
    """The keyword of an abbreviation."""
    upper = word.upper()
    matches = [keyword for keyword in among if keyword.name.startswith(upper)]
    long_enough = [keyword for keyword in matches if len(upper) >= keyword.shortest]
    for choice in ([keyword for keyword in matches if keyword.name == upper], long_enough, matches):
        if len(choice) == 1:
            return choice[0]
    names = " ".join(keyword.name for keyword in matches or among)
    if matches:
        raise CemtError(f"{word} is ambiguous: it may be any of {names}", column)
    raise CemtError(f"{word} is not {what}; allowed are {names}", column)


@dataclass(frozen=True, slots=True)
class _Word:
    text: str
    argument: str | None
    column: int


def _words(text: str, offset: int) -> tuple[list[_Word], bool]:
    """Split the text into words, each with its operand in parentheses; the second value is True if there is a ``?``."""
    words: list[_Word] = []
    is_question = False
    text = text.rstrip()
    if text.rpartition("(")[1] and ")" not in text.rpartition("(")[2]:  # CEMT takes the end of the line for it
        text += ")"
    end = len(text)
    while offset < end:
        match = _TOKEN.match(text, offset)
        if match is None:
            raise CemtError(f"{text[offset:].strip()[0]!r} cannot stand here", offset + 1)
        if match[1]:
            words.append(_Word(match[1], match[2], match.start(1) + 1))
        is_question = is_question or match[3] == "?"
        offset = match.end()
    return words, is_question


def _names(word: _Word, kind: _Keyword) -> tuple[str, ...]:
    if word.argument is None:
        return ()
    names = tuple(name.upper() for name in re.split(r"[,\s]+", word.argument.strip()) if name)
    if not names:
        raise CemtError(f"{word.text}() names nothing", word.column)
    if kind.option == "none":
        raise CemtError(
            f"{kind.name} takes no name in parentheses; name an option, such as RESOURCE(PAYQ)", word.column
        )
    form, longest = kind.option.rstrip(_DIGITS), int(kind.option.lstrip(_LETTERS))
    for name in names:
        _check_name(word, kind.name, name, form, longest)
        if len(names) > 1 and any(letter in name for letter in _GENERIC):
            raise CemtError(f"{name}: * and + are not allowed in a list of names", word.column)
    return names


def _check_name(word: _Word, resource: str, name: str, form: str, longest: int) -> None:
    if len(name) > longest:
        what = "a queue's name" if resource == "TDQUEUE" else f"a {resource}"
        raise CemtError(f"{name} is longer than the {longest} characters of {what}", word.column)
    allowed = {"number": _DIGITS, "hex": _HEX}.get(form)
    if allowed is not None and not set(name) <= {*allowed, *_GENERIC}:
        raise CemtError(f"{name}: allowed are up to {longest} of the digits {allowed}", word.column)


def _option(word: _Word, verb: str, resource: str) -> tuple[str, Cvda | str]:
    among = tuple(keyword for keyword in _OPTIONS if keyword.resource == resource and verb in keyword.verbs)
    keyword = _unabbreviated(word.text, among, f"an option of CEMT {verb} {resource}", word.column)
    if keyword.cvda:
        if word.argument is not None:
            raise CemtError(f"{keyword.name} takes no value", word.column)
        return keyword.option, Cvda[keyword.cvda]
    if word.argument is None or not word.argument.strip():
        raise CemtError(f"{keyword.name} needs a value in parentheses", word.column)
    return keyword.option, word.argument.strip().upper()


def _simulated(verb: str) -> str:
    return " ".join(keyword.name for keyword in _RESOURCES if verb in keyword.verbs)


@explains_wrong_types
def parse_cemt(text: str) -> CemtRequest:
    """Parse a request, with or without a leading CEMT.

    Raises:
        CemtError: an unknown or ambiguous word, SET without a name or without anything to set, a value that is
            missing or not allowed; the message names the column and what is allowed.
    """
    if len(text) > _LONGEST:
        raise CemtError(f"the request is longer than {_LONGEST} characters")
    stripped = len(text) - len(text.lstrip())
    label = _LABEL.match(text, stripped)
    words, is_question = _words(text, label.end() if label else stripped)
    console = bool(label and label[1])
    if not words:
        if is_question:
            return CemtRequest("", "", (), {}, console, is_question, text.strip())
        raise CemtError("nothing to do; begin with INQUIRE, SET or DISCARD", len(text) + 1)
    verb = _unabbreviated(words[0].text, _VERBS, "a verb of CEMT", words[0].column).name
    if len(words) == 1:
        if is_question:
            return CemtRequest(verb, "", (), {}, console, is_question, text.strip())
        raise CemtError(f"{verb} what? Allowed here are {_simulated(verb)}", len(text) + 1)
    kind = _unabbreviated(words[1].text, _RESOURCES, "a resource type", words[1].column)
    resource = kind.name
    if verb not in kind.verbs:
        others = _simulated(verb) or "none"
        raise CemtError(f"CEMT {verb} {resource} is not simulated; simulated are {others}", words[1].column)
    names = _names(words[1], kind)
    rest = [word for word in words[2:] if word.text.upper() not in ("ALL", "AL")]
    everything = len(rest) < len(words) - 2
    values: dict[str, Cvda | str] = {}
    for word in rest:
        option, value = _option(word, verb, resource)
        if option in values:
            raise CemtError(f"{word.text}: {option} is given twice", word.column)
        values[option] = value
    if is_question:
        return CemtRequest(verb, resource, names, values, console, is_question, text.strip())
    if verb != "INQUIRE" and not names and not everything:
        raise CemtError(f"{verb} needs a name, a generic name or ALL", words[1].column)
    if verb == "SET" and not values:
        raise CemtError("SET what? Give at least one option, such as DISABLED", len(text) + 1)
    return CemtRequest(verb, resource, names, values, console, is_question, text.strip())
