"""Parse the text of one EXEC CICS command into words, options and arguments.

This half of the translator knows no command: it turns text into an :class:`ExecText` whose options keep their column in
the text. :mod:`tdqsim.cics.text.translator` then finds the command and the meaning of its options.

It accepts what COBOL programs contain: any case and order, blanks before a parenthesis, line ends anywhere, literals in
either kind of quote with the quote doubled inside, ``X'..'``, numbers, ``DFHRESP(..)``, ``DFHVALUE(..)``, ``LENGTH
OF``, ``ADDRESS OF``, qualified names (``A OF B``), subscripts and reference modification, with or without ``EXEC CICS``
and ``END-EXEC``. Comments: ``*>`` to the end of the line, a line with ``*`` or ``/`` in column 7 after blanks or
digits, and ``/* */``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from tdqsim.core.spelling import did_you_mean
from tdqsim.errors import TdqError
from tdqsim.facts import CVDAS, Resp, table

_BOUNDS: Final = {row["name"]: int(row["value"]) for row in table("exec_text")}


class TranslationError(TdqError):
    """The text of a command cannot be translated; nothing was executed.

    Attributes:
        column: the column of the error, counted from 1 in the whole text.
        line: the line of the error, from 1. The column in the message is counted within this line.
        reason: the message without the place.
        option: the word that is not an option of the command; empty for other errors.
    """

    def __init__(self, message: str, text: str, offset: int, option: str = "") -> None:
        before = text[:offset]
        self.column = offset + 1
        self.line = before.count("\n") + 1
        shown = offset - (before.rfind("\n") + 1) + 1
        place = f"line {self.line} column {shown}" if "\n" in text else f"column {shown}"
        self.reason = message
        self.option = option
        super().__init__(f"{place}: {message}")


@dataclass(frozen=True, slots=True)
class TextLiteral:
    """A literal in quotes."""

    value: str


@dataclass(frozen=True, slots=True)
class HexLiteral:
    """X'..'."""

    value: bytes


@dataclass(frozen=True, slots=True)
class NumberLiteral:
    """A number, or the value of DFHRESP or DFHVALUE.

    Attributes:
        value: the number.
        text: the number as written.
        bare: whether text needs no quotes here (CECI), so that ``0010`` may also be a name.
    """

    value: int
    text: str
    bare: bool = False


@dataclass(frozen=True, slots=True)
class Reference:
    """A host variable: ``name``, its qualifiers (innermost first), subscripts, and (start, length) of a substring."""

    name: str
    qualifiers: tuple[str, ...] = ()
    subscripts: tuple[int | str, ...] = ()
    part: tuple[int | str, int | str | None] | None = None

    def __str__(self) -> str:
        """The reference as written, with normalized blanks."""
        text = " OF ".join((self.name, *self.qualifiers))
        if self.subscripts:
            text += f"({' '.join(str(item) for item in self.subscripts)})"
        if self.part:
            start, length = self.part
            text += f"({start}:{'' if length is None else length})"
        return text


@dataclass(frozen=True, slots=True)
class LengthOf:
    """LENGTH OF a host variable."""

    reference: Reference


@dataclass(frozen=True, slots=True)
class AddressOf:
    """ADDRESS OF a host variable."""

    reference: Reference


Argument = TextLiteral | HexLiteral | NumberLiteral | Reference | LengthOf | AddressOf


@dataclass(frozen=True, slots=True)
class Option:
    """One word of the command, in upper case, with its argument if it has one.

    Attributes:
        word: the word.
        argument: the argument in parentheses, or None.
        offset: the offset of the word in the text, from 0.
        argument_offset: the offset of the argument.
    """

    word: str
    argument: Argument | None
    offset: int
    argument_offset: int = 0

    @property
    def variable(self) -> Reference | None:
        """The host variable of the argument, also that of ADDRESS OF and LENGTH OF; None for none."""
        given = self.argument
        if isinstance(given, AddressOf | LengthOf):
            return given.reference
        return given if isinstance(given, Reference) else None

    @property
    def is_area(self) -> bool:
        """Whether the argument stands for the storage of a host variable: neither its length nor a literal."""
        return isinstance(self.argument, AddressOf | Reference)

    @property
    def text(self) -> str | None:
        """The value of a literal in quotes; None for another argument."""
        return self.argument.value if isinstance(self.argument, TextLiteral) else None


@dataclass(frozen=True, slots=True)
class ExecText:
    """The text of a command, and its words in order."""

    text: str
    options: tuple[Option, ...]

    def error(self, message: str, offset: int = 0) -> TranslationError:
        """A TranslationError for the given offset of the text."""
        return TranslationError(message, self.text, offset)


_TOKEN: Final = re.compile(
    r"""
    (?P<blank>\A[ 0-9]{6}[*/][^\n]* | \n(?:[ 0-9]{6}[*/][^\n]*)? | [^\S\n]+ | [,;]+ | \*>[^\n]* | /\*.*?\*/)
  | (?P<hex>[Xx]'[^'\n]*' | [Xx]"[^"\n]*")
  | (?P<quoted>'(?:[^']|'')*' | "(?:[^"]|"")*")
  | (?P<number>[+-]?[0-9]+(?![A-Za-z0-9@#$_-]))
  | (?P<word>[&]?[A-Za-z0-9@#$_£§][A-Za-z0-9@#$_£§-]*)
  | (?P<mark>[():.])
    """,
    re.VERBOSE | re.DOTALL,
)
_KIND_END: Final = "end"
_WHOLE: Final = re.compile(rf"[+-]?[0-9]{{1,{_BOUNDS['digits']}}}")


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    offset: int

    def is_word(self, *words: str) -> bool:
        return self.kind == "word" and self.text.upper() in words


def _unreadable(text: str, offset: int) -> TranslationError:
    character = text[offset]
    if character in "'\"":
        return TranslationError("the literal that begins here has no closing quote", text, offset)
    return TranslationError(f"{character!r} cannot stand here", text, offset)


def _tokens(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    offset = 0
    while offset < len(text):
        match = _TOKEN.match(text, offset)
        if match is None:
            raise _unreadable(text, offset)
        kind = str(match.lastgroup)
        if kind != "blank":
            tokens.append(_Token(kind, match.group(), offset))
        offset = match.end()
    return tokens


class _Parser:
    """A parser of the tokens of one command; every method leaves the position after what it has read."""

    def __init__(self, text: str, *, bare: bool) -> None:
        self.text = text
        self.bare = bare
        self.tokens = _tokens(text)
        self.at = 0
        self.end = len(text)
        self._strip()

    @property
    def token(self) -> _Token:
        if self.at < len(self.tokens):
            return self.tokens[self.at]
        return _Token(_KIND_END, "", self.end)

    def error(self, message: str) -> TranslationError:
        return TranslationError(message, self.text, self.token.offset)

    def next(self) -> _Token:
        token = self.token
        self.at += 1
        return token

    def take(self, mark: str) -> bool:
        if self.token.kind == "mark" and self.token.text == mark:
            self.at += 1
            return True
        return False

    def need(self, mark: str, after: str) -> None:
        if not self.take(mark):
            token = self.token.text or "the end of the text"
            raise self.error(f"{mark!r} is missing after {after}; found {token}")

    def _strip(self) -> None:
        """Skip EXEC CICS and END-EXEC."""
        tokens = self.tokens
        while tokens and tokens[-1].text == ".":
            self.end = tokens.pop().offset
        if tokens and tokens[-1].is_word("END-EXEC"):
            self.end = tokens.pop().offset
        if tokens and tokens[0].is_word("EXEC", "EXECUTE"):
            self.at = 1
            if not self.token.is_word("CICS"):
                raise self.error(f"EXEC must be followed by CICS, not by {self.token.text or 'nothing'}")
            self.at = 2

    def command(self) -> tuple[Option, ...]:
        options: list[Option] = []
        while self.token.kind != _KIND_END:
            if len(options) == _BOUNDS["options"]:
                raise self.error(f"a command has at most {_BOUNDS['options']} options")
            options.append(self.option())
        if not options:
            raise self.error("there is no command in the text")
        return tuple(options)

    def option(self) -> Option:
        token = self.token
        if token.kind != "word":
            raise self.error(f"an option's name is expected, not {token.text}")
        self.at += 1
        word = token.text.upper()
        if not self.take("("):
            return Option(word, None, token.offset)
        offset = self.token.offset
        if self.take(")"):
            raise TranslationError(f"{word}() has no argument", self.text, offset)
        argument = self.bare_argument() if self.bare else self.argument()
        self.need(")", f"the argument of {word}")
        return Option(word, argument, token.offset, offset)

    def bare_argument(self) -> Argument:
        """An argument in CECI's form: text needs no quotes, a variable begins with ``&``."""
        token = self.token
        if token.kind in ("quoted", "hex") or token.is_word("DFHRESP", "DFHVALUE") or token.text.startswith("&"):
            return self.argument()
        start, depth = token.offset, 0
        while self.token.kind != _KIND_END and (depth or self.token.text != ")"):
            depth += {"(": 1, ")": -1}.get(self.next().text, 0)
        written = self.text[start : self.token.offset].strip()
        return NumberLiteral(int(written), written, bare=True) if _WHOLE.fullmatch(written) else TextLiteral(written)

    def argument(self) -> Argument:
        token = self.token
        if token.kind == "quoted":
            self.at += 1
            quote = token.text[0]
            return TextLiteral(token.text[1:-1].replace(quote * 2, quote))
        if token.kind == "hex":
            self.at += 1
            return self._hex(token)
        if token.kind == "number":
            return self._number()
        if token.is_word("DFHRESP", "DFHVALUE"):
            return self._dfh()
        if token.is_word("LENGTH", "ADDRESS") and self._follows("OF"):
            self.at += 2
            reference = self.reference()
            return LengthOf(reference) if token.is_word("LENGTH") else AddressOf(reference)
        return self.reference()

    def _follows(self, word: str) -> bool:
        return self.at + 1 < len(self.tokens) and self.tokens[self.at + 1].is_word(word)

    def _hex(self, token: _Token) -> HexLiteral:
        try:
            return HexLiteral(bytes.fromhex(token.text[2:-1]))
        except ValueError:
            raise TranslationError(
                f"{token.text} must hold pairs of the digits 0-9 and A-F", self.text, token.offset
            ) from None

    def _number(self) -> NumberLiteral:
        token = self.token
        if len(token.text.lstrip("+-")) > _BOUNDS["digits"]:
            raise self.error(f"a number has at most {_BOUNDS['digits']} digits")
        self.at += 1
        return NumberLiteral(int(token.text), token.text)

    def _dfh(self) -> NumberLiteral:
        function = self.next().text.upper()
        self.need("(", function)
        token = self.next()
        name = token.text.upper()
        known = Resp.__members__ if function == "DFHRESP" else CVDAS
        if name not in known:
            kind = "condition" if function == "DFHRESP" else "CVDA"
            reason = f"{function}({token.text}): there is no such {kind}{did_you_mean(name, known)}"
            raise TranslationError(reason, self.text, token.offset)
        self.need(")", f"{function}({name}")
        return NumberLiteral(int(known[name]), f"{function}({name})")

    def reference(self) -> Reference:
        name = self._name("a value or the name of a host variable")
        qualifiers: list[str] = []
        while self.token.is_word("OF", "IN"):
            if len(qualifiers) == _BOUNDS["qualifiers"]:
                raise self.error(f"a name has at most {_BOUNDS['qualifiers']} qualifiers")
            self.at += 1
            qualifiers.append(self._name("the name of a group"))
        subscripts, part = self._in_parentheses()
        if subscripts and part is None:
            more, part = self._in_parentheses()
            if more:
                raise self.error(f"{name} has subscripts already")
        return Reference(name, tuple(qualifiers), subscripts, part)

    def _name(self, what: str) -> str:
        token = self.token
        if token.kind != "word":
            raise self.error(f"{what} is expected, not {token.text or 'the end of the text'}")
        self.at += 1
        return token.text

    def _in_parentheses(self) -> tuple[tuple[int | str, ...], tuple[int | str, int | str | None] | None]:
        """The subscripts, or the start and length of a substring, in the parentheses; neither if there are none."""
        if not self.take("("):
            return (), None
        items = [self._index()]
        if self.take(":"):
            length = None if self.take(")") else self._index()
            if length is not None:
                self.need(")", "the length")
            return (), (items[0], length)
        while not self.take(")"):
            if len(items) == _BOUNDS["subscripts"]:
                raise self.error(f"a name has at most {_BOUNDS['subscripts']} subscripts")
            items.append(self._index())
        return tuple(items), None

    def _index(self) -> int | str:
        if self.token.kind == "number":
            return self._number().value
        return self._name("a number or the name of a host variable")


def parse_exec(text: str, *, bare: bool = False) -> ExecText:
    """Parse the text of one command.

    Args:
        text: the text.
        bare: values need no quotes and variables begin with ``&``, as in CECI.

    Raises:
        TranslationError: the text is not a command; the error names the column and what is expected there.
    """
    if not isinstance(text, str):
        raise TranslationError(f"the text of a command is a str, not {type(text).__name__}", "", 0)
    if len(text) > _BOUNDS["text_length"]:
        raise TranslationError(f"the text is longer than {_BOUNDS['text_length']} characters", "", 0)
    return ExecText(text, _Parser(text, bare=bare).command())
