"""Split a copybook into text words, and process COPY and REPLACE.

A text word is a word or PICTURE string, a literal, or the period that ends an entry. Commas and semicolons used as
separators are dropped. PICTURE strings need no special treatment: a period is a separator only if a space or the end of
the line follows.

Replacement works on text words, as in COBOL. In practice, copybooks mostly replace parts of words:
``==:TAG:== BY ==CUST==`` and ``LEADING ==OLD== BY ==NEW==``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from operator import itemgetter

from tdqsim.errors import LayoutError
from tdqsim.layouts._source import SourcePlace, SourceText, bad, read_source

MAX_COPY_DEPTH = 16
MAX_COPIES = 5_000
MAX_TOKENS = 1_000_000
MAX_TEXT = 16 * 1024 * 1024

CopyResolver = Callable[[str, str], tuple[str, str]]
"""Called with the text name and library name (or empty) of COPY; returns (file name, text), or raises LookupError."""

TOKEN = re.compile(
    r"""(?P<space>[ \n]+ | [,;](?=[ \n]|$))
      | (?P<pseudo>==(?:[^=]|=(?!=))*==)
      | (?P<literal>(?:[xXnNgGzZuU]|[nN][xX]|[uU][xX])?(?:'(?:[^'\n]|'')*'|"(?:[^"\n]|"")*"))
      | (?P<period>\.(?=[ \n]|$))
      | (?P<word>(?:[^ \n'",;.=]|[,;.](?![ \n]|$)|=(?!=))+)""",
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Token:
    """One text word. ``kind`` is word, literal, period or pseudo (the text between ``==``)."""

    kind: str
    text: str
    place: SourcePlace
    upper: str = field(init=False, repr=False, compare=False)
    """The text in upper case: COBOL words are not case-sensitive."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "upper", self.text.upper())


def read_tokens(
    source: SourceText, resolver: CopyResolver | None, *, source_format: str, columns: tuple[int, int]
) -> list[Token]:
    """Split the text into words, process COPY, EXEC SQL INCLUDE and REPLACE, and skip other EXEC statements.

    Raises:
        LayoutError: a literal is not closed, a character is not known, a COPY member cannot be found, or COPY and
            REPLACE produce more text than is allowed.
    """
    return _Expansion(resolver, source_format, columns).words(_split(source))


def _split(source: SourceText) -> list[Token]:
    words: list[tuple[str, str]] = []
    starts: list[int] = []
    text, position = source.text, 0
    while position < len(text):
        match = TOKEN.match(text, position)
        if match is None:
            what = (
                "a literal without its closing quote" if text[position] in "'\"" else f"unexpected {text[position]!r}"
            )
            raise bad(source.place(position), "", what)
        kind = str(match.lastgroup)
        if kind != "space":
            words.append((kind, match[0][2:-2] if kind == "pseudo" else match[0]))
            starts.append(position)
        position = match.end()
    return [Token(*word, place) for word, place in zip(words, source.places(starts), strict=True)]


def _statement_end(tokens: list[Token], position: int) -> int:
    """Return the index after the next period, or of the next COPY, REPLACE or EXEC."""
    while position < len(tokens):
        token = tokens[position]
        if token.kind == "word" and token.upper in ("COPY", "REPLACE", "EXEC"):
            return position
        position += 1
        if token.kind == "period":
            break
    return position


def _skip_exec(tokens: list[Token], position: int) -> int:
    """Skip EXEC SQL ... END-EXEC: of these, only INCLUDE is part of the record description, like COPY."""
    start = tokens[position]
    while position < len(tokens) and tokens[position].upper not in ("END-EXEC", "END-EXEC."):
        position += 1
    if position >= len(tokens):
        raise bad(start.place, "EXEC", "there is no END-EXEC")
    position += 1
    return position + 1 if position < len(tokens) and tokens[position].kind == "period" else position


@dataclass(frozen=True, slots=True)
class _Replacement:
    mode: str  # words, partial, LEADING or TRAILING
    old: tuple[str, ...]
    new: str
    words: tuple[Token, ...]  # of the new text, for the mode that replaces whole words


class _Replacements:
    """The pairs of one REPLACE or REPLACING; at each word, the first pair that fits is used.

    Pairs that replace whole words are indexed by their first word.
    """

    def __init__(self, pairs: Iterable[_Replacement] = ()) -> None:
        self._by_word = dict[str, list[tuple[int, _Replacement]]]()
        self._parts = list[tuple[int, _Replacement]]()
        for number, pair in enumerate(pairs):
            pairs_of_word = self._by_word.setdefault(pair.old[0], []) if pair.mode == "words" else self._parts
            pairs_of_word.append((number, pair))
        self._any_part = re.compile("|".join(re.escape(pair.old[0]) for _, pair in self._parts) or r"(?!)")

    def __bool__(self) -> bool:
        return bool(self._by_word or self._parts)

    def for_word(self, token: Token, upper: str) -> Iterable[_Replacement]:
        """Return the pairs that may fit at this word, in the order in which they were written."""
        whole = self._by_word.get(upper, [])
        if token.kind != "word" or not self._any_part.search(upper):
            return [pair for _, pair in whole]
        parts = [each for each in self._parts if each[1].old[0] in upper]
        return [pair for _, pair in sorted(whole + parts, key=itemgetter(0))]


def _replacements(tokens: list[Token], position: int, clause: str) -> tuple[_Replacements, int]:
    """Parse the pairs ``[LEADING|TRAILING] a BY b`` up to the period."""
    pairs: list[_Replacement] = []
    while position < len(tokens) and tokens[position].kind != "period":
        mode = "words"
        if tokens[position].upper in ("LEADING", "TRAILING") and tokens[position].kind == "word":
            mode, position = tokens[position].upper, position + 1
        if position + 2 >= len(tokens) or tokens[position + 1].upper != "BY":
            place = tokens[min(position, len(tokens) - 1)].place
            raise bad(place, clause, "expected ==text== BY ==text==")
        old, new = tokens[position], tokens[position + 2]
        pairs.append(_replacement(mode, old, new, clause))
        position += 3
    if not pairs:
        raise bad(tokens[position - 1].place, clause, "expected ==text== BY ==text==")
    return _Replacements(pairs), position


def _replacement(mode: str, old: Token, new: Token, clause: str) -> _Replacement:
    words = tuple(token.upper for token in _split_pseudo(old)) if old.kind == "pseudo" else (old.upper,)
    if not words:
        raise bad(old.place, clause, "the text to be replaced is empty")
    if mode == "words" and len(words) == 1 and not (words[0][0].isalnum() and words[0][-1].isalnum()):
        mode = "partial"
    return _Replacement(mode, words, new.text.strip(), tuple(_split_pseudo(replace(new, kind="pseudo"))))


def _split_pseudo(token: Token) -> list[Token]:
    source = SourceText(token.place.file)
    source.add(token.text, token.place.line, token.place.column + 2)
    return _split(source)


def _fit(tokens: list[Token], uppers: list[str], position: int, item: _Replacement) -> tuple[int, list[Token]]:
    """Return the number of words that a pair replaces at a position (0 if it does not fit), and the new words."""
    token, upper = tokens[position], uppers[position]
    if item.mode == "words":
        if tuple(uppers[position : position + len(item.old)]) != item.old:
            return 0, []
        return len(item.old), [replace(word, place=token.place) for word in item.words]
    old = item.old[0]
    if item.mode == "partial":
        text = re.sub(re.escape(old), lambda _: item.new, token.text, flags=re.IGNORECASE)
    elif item.mode == "LEADING":
        text = item.new + token.text[len(old) :] if upper.startswith(old) else token.text
    else:
        text = token.text[: -len(old)] + item.new if upper.endswith(old) else token.text
    if text == token.text:
        return 0, []
    return 1, [replace(word, place=token.place) for word in _split_pseudo(Token("pseudo", text, token.place))]


def _replace_statement(tokens: list[Token], position: int) -> tuple[_Replacements, int]:
    start = position
    position += 1
    if position < len(tokens) and tokens[position].upper == "OFF":
        replacements = _Replacements()
        position += 1
    else:
        replacements, position = _replacements(tokens, position, "REPLACE")
    return replacements, _period(tokens, position, tokens[start], "REPLACE")


def _period(tokens: list[Token], position: int, start: Token, clause: str) -> int:
    if position >= len(tokens) or tokens[position].kind != "period":
        raise bad(start.place, clause, "the statement has no closing period")
    return position + 1


@dataclass(frozen=True, slots=True)
class _CopyStatement:
    start: Token
    name: str
    library: str
    replacements: _Replacements
    verb: str = "COPY"


def _copy_statement(tokens: list[Token], position: int) -> tuple[_CopyStatement, int]:
    start = tokens[position]
    if position + 1 >= len(tokens) or tokens[position + 1].kind not in ("word", "literal"):
        raise bad(start.place, "COPY", "expected a text name")
    name, library = tokens[position + 1].text.strip("'\""), ""
    position += 2
    if position + 1 < len(tokens) and tokens[position].upper in ("OF", "IN"):
        library, position = tokens[position + 1].text.strip("'\""), position + 2
    replacements = _Replacements()
    if position < len(tokens) and tokens[position].upper == "SUPPRESS":
        position += 1
    if position < len(tokens) and tokens[position].upper == "REPLACING":
        replacements, position = _replacements(tokens, position + 1, "COPY REPLACING")
    return _CopyStatement(start, name, library, replacements), _period(tokens, position, start, "COPY")


class _Expansion:
    """The expansion of one copybook by COPY and REPLACE.

    It counts the words: without a limit, members that copy each other many times would grow exponentially.
    """

    def __init__(self, resolver: CopyResolver | None, source_format: str, columns: tuple[int, int]) -> None:
        self._resolver = resolver
        self._source_format = source_format
        self._columns = columns
        self._members = dict[tuple[str, str], list[Token]]()
        self._copies = self._words = self._characters = 0

    def words(self, tokens: list[Token], depth: int = 0) -> list[Token]:
        """Return the words of a text, including those of the members that it copies."""
        out: list[Token] = []
        active = _Replacements()  # the pairs of the last REPLACE statement
        position = 0
        while position < len(tokens):
            token = tokens[position]
            word = token.upper if token.kind == "word" else ""
            if word == "COPY":
                statement, position = _copy_statement(tokens, position)
                copied = self._copied(statement, depth)
                out += self._replaced(self._replaced(copied, statement.replacements), active)
            elif word == "REPLACE":
                active, position = _replace_statement(tokens, position)
            elif word == "EXEC":
                end = _skip_exec(tokens, position)
                words = [each.upper for each in tokens[position + 1 : position + 3]]
                if words == ["SQL", "INCLUDE"] and end > position + 4:
                    name = tokens[position + 3].text.strip("'\"")
                    included = _CopyStatement(token, name, "", _Replacements(), "EXEC SQL INCLUDE")
                    out += self._replaced(self._copied(included, depth), active)
                position = end
            else:
                end = _statement_end(tokens, position)
                own = tokens[position:end]
                self._count(own[0], len(own), sum(len(each.text) for each in own))
                out += self._replaced(own, active)
                position = end
        return out

    def _copied(self, statement: _CopyStatement, depth: int) -> list[Token]:
        name, place = f"{statement.verb} {statement.name}", statement.start.place
        if depth >= MAX_COPY_DEPTH:
            raise bad(place, name, f"COPY is nested more than {MAX_COPY_DEPTH} deep; does a member copy itself?")
        self._copies += 1
        if self._copies > MAX_COPIES:
            raise bad(place, name, f"there are more than {MAX_COPIES} COPY statements, with those of members")
        key = (statement.name, statement.library)
        if key not in self._members:
            self._members[key] = _split(self._member(statement))
        return self.words(self._members[key], depth=depth + 1)

    def _member(self, statement: _CopyStatement) -> SourceText:
        place, name = statement.start.place, f"{statement.verb} {statement.name}"
        if self._resolver is None:
            raise bad(place, name, "no library was given to look the member up in")
        try:
            file, text = self._resolver(statement.name, statement.library)
            return read_source(text, file, source_format=self._source_format, columns=self._columns)
        except LookupError as error:
            raise bad(place, name, str(error.args[0]) if error.args else "no such member") from error
        except LayoutError as error:
            raise LayoutError(f"{error} (copied at {place})") from error

    def _replaced(self, tokens: list[Token], replacements: _Replacements) -> list[Token]:
        """Replace from left to right; the new words are not searched again."""
        if not replacements:
            return tokens
        out: list[Token] = []
        uppers = [token.upper for token in tokens]
        position = 0
        while position < len(tokens):
            token = tokens[position]
            for item in replacements.for_word(token, uppers[position]):
                used, new = _fit(tokens, uppers, position, item)
                if used:
                    self._count(token, len(new), sum(len(word.text) for word in new))
                    out += new
                    position += used
                    break
            else:
                out.append(token)
                position += 1
        return out

    def _count(self, token: Token, words: int, characters: int) -> None:
        """Count the words read and inserted, and refuse a text that becomes too large for memory."""
        self._words += words
        self._characters += characters
        for count, most, what in ((self._words, MAX_TOKENS, "words"), (self._characters, MAX_TEXT, "characters")):
            if count > most:
                raise bad(token.place, "", f"more than {most} {what}, including the text that COPY and REPLACE insert")
