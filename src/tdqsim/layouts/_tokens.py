"""Text words of a copybook, with COPY and REPLACE already carried out.

A text word is what stands between separators: a word or PICTURE string, a literal, or the period that ends an entry.
Commas and semicolons that separate are dropped. PICTURE strings need no special care here: a period is a separator
only where a space or the end of the line follows.

Replacing works on text words, as in COBOL; the two ways in which copybooks really use it are partial words:
``==:TAG:== BY ==CUST==`` and ``LEADING ==OLD== BY ==NEW==``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from tdqsim.errors import LayoutError
from tdqsim.layouts._source import SourcePlace, SourceText, bad, read_source

__all__ = ["CopyResolver", "Token", "read_tokens"]

MAX_COPY_DEPTH = 16
MAX_TOKENS = 1_000_000

CopyResolver = Callable[[str, str], tuple[str, str]]
"""Called with COPY's text name and library name (or empty); gives (file name, text), LookupError when unknown."""

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

    @property
    def upper(self) -> str:
        """The text in upper case: COBOL words know no case."""
        return self.text.upper()


def read_tokens(
    source: SourceText,
    resolver: CopyResolver | None,
    *,
    source_format: str,
    columns: tuple[int, int],
    depth: int = 0,
) -> list[Token]:
    """Split the text into words and carry out COPY, REPLACE, EXEC SQL INCLUDE's neighbours and section headers.

    Raises:
        LayoutError: an unterminated literal, an unknown character, or a COPY that cannot be resolved.
    """
    tokens = _split(source)
    out: list[Token] = []
    standing: list[_Replacement] = []
    position = 0
    while position < len(tokens):
        token = tokens[position]
        if token.kind == "word" and token.upper == "COPY":
            copied, position = _copy(tokens, position, resolver, depth, source_format=source_format, columns=columns)
            out += _apply(copied, standing)
        elif token.kind == "word" and token.upper == "REPLACE":
            standing, position = _replace_statement(tokens, position)
        elif token.kind == "word" and token.upper == "EXEC":
            position = _skip_exec(tokens, position)
        else:
            out += _apply([token], standing) if not standing else []
            end = _statement_end(tokens, position) if standing else position + 1
            if standing:
                out += _apply(tokens[position:end], standing)
            position = end
        if len(out) > MAX_TOKENS:
            raise bad(token.place, "", f"the copybook has more than {MAX_TOKENS} words")
    return out


def _split(source: SourceText) -> list[Token]:
    tokens: list[Token] = []
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
            shown = match[0][2:-2] if kind == "pseudo" else match[0]
            tokens.append(Token(kind, shown, source.place(position)))
        position = match.end()
    return tokens


def _statement_end(tokens: list[Token], position: int) -> int:
    """The index after the next period, or before the next COPY, REPLACE or EXEC."""
    while position < len(tokens):
        token = tokens[position]
        if token.kind == "word" and token.upper in ("COPY", "REPLACE", "EXEC"):
            return position
        position += 1
        if token.kind == "period":
            break
    return position


def _skip_exec(tokens: list[Token], position: int) -> int:
    """EXEC SQL ... END-EXEC says nothing about the record (DCLGEN members begin with one)."""
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


def _replacements(tokens: list[Token], position: int, clause: str) -> tuple[list[_Replacement], int]:
    """``[LEADING|TRAILING] a BY b`` pairs up to the period."""
    found: list[_Replacement] = []
    while position < len(tokens) and tokens[position].kind != "period":
        mode = "words"
        if tokens[position].upper in ("LEADING", "TRAILING") and tokens[position].kind == "word":
            mode, position = tokens[position].upper, position + 1
        if position + 2 >= len(tokens) or tokens[position + 1].upper != "BY":
            place = tokens[min(position, len(tokens) - 1)].place
            raise bad(place, clause, "expected ==text== BY ==text==")
        old, new = tokens[position], tokens[position + 2]
        found.append(_replacement(mode, old, new, clause))
        position += 3
    if not found:
        raise bad(tokens[position - 1].place, clause, "expected ==text== BY ==text==")
    return found, position


def _replacement(mode: str, old: Token, new: Token, clause: str) -> _Replacement:
    words = tuple(token.upper for token in _split_pseudo(old)) if old.kind == "pseudo" else (old.upper,)
    if not words:
        raise bad(old.place, clause, "the text to be replaced is empty")
    if mode == "words" and len(words) == 1 and not (words[0][0].isalnum() and words[0][-1].isalnum()):
        mode = "partial"
    return _Replacement(mode, words, new.text)


def _split_pseudo(token: Token) -> list[Token]:
    source = SourceText(token.place.file)
    source.add(token.text, token.place.line, token.place.column + 2)
    return _split(source)


def _apply(tokens: list[Token], replacements: list[_Replacement]) -> list[Token]:
    """Replace from left to right; what was put in is not looked at again."""
    if not replacements:
        return tokens
    out: list[Token] = []
    position = 0
    while position < len(tokens):
        for item in replacements:
            used, new = _match(tokens, position, item)
            if used:
                out += new
                position += used
                break
        else:
            out.append(tokens[position])
            position += 1
    return out


def _match(tokens: list[Token], position: int, item: _Replacement) -> tuple[int, list[Token]]:
    token = tokens[position]
    if item.mode == "words":
        window = tokens[position : position + len(item.old)]
        if tuple(word.upper for word in window) != item.old:
            return 0, []
        return len(item.old), [
            replace(word, place=token.place) for word in _split_pseudo(Token("pseudo", item.new, token.place))
        ]
    if token.kind != "word":
        return 0, []
    old, new = item.old[0], item.new.strip()
    if item.mode == "partial":
        text = re.sub(re.escape(old), lambda _: new, token.text, flags=re.IGNORECASE)
    elif item.mode == "LEADING":
        text = new + token.text[len(old) :] if token.upper.startswith(old) else token.text
    else:
        text = token.text[: -len(old)] + new if token.upper.endswith(old) else token.text
    if text == token.text:
        return 0, []
    return 1, [replace(word, place=token.place) for word in _split_pseudo(Token("pseudo", text, token.place))]


def _replace_statement(tokens: list[Token], position: int) -> tuple[list[_Replacement], int]:
    start = position
    position += 1
    if position < len(tokens) and tokens[position].upper == "OFF":
        found: list[_Replacement] = []
        position += 1
    else:
        found, position = _replacements(tokens, position, "REPLACE")
    return found, _period(tokens, position, tokens[start], "REPLACE")


def _period(tokens: list[Token], position: int, start: Token, clause: str) -> int:
    if position >= len(tokens) or tokens[position].kind != "period":
        raise bad(start.place, clause, "the statement has no closing period")
    return position + 1


def _copy(
    tokens: list[Token],
    position: int,
    resolver: CopyResolver | None,
    depth: int,
    *,
    source_format: str,
    columns: tuple[int, int],
) -> tuple[list[Token], int]:
    start = tokens[position]
    if position + 1 >= len(tokens) or tokens[position + 1].kind not in ("word", "literal"):
        raise bad(start.place, "COPY", "expected a text name")
    name, library = tokens[position + 1].text.strip("'\""), ""
    position += 2
    if position + 1 < len(tokens) and tokens[position].upper in ("OF", "IN"):
        library, position = tokens[position + 1].text.strip("'\""), position + 2
    replacements: list[_Replacement] = []
    if position < len(tokens) and tokens[position].upper == "SUPPRESS":
        position += 1
    if position < len(tokens) and tokens[position].upper == "REPLACING":
        replacements, position = _replacements(tokens, position + 1, "COPY REPLACING")
    position = _period(tokens, position, start, "COPY")
    if depth >= MAX_COPY_DEPTH:
        raise bad(
            start.place, f"COPY {name}", f"COPY is nested more than {MAX_COPY_DEPTH} deep; does a member copy itself?"
        )
    source = _member(start, name, library, resolver, source_format=source_format, columns=columns)
    inner = read_tokens(source, resolver, source_format=source_format, columns=columns, depth=depth + 1)
    return _apply(inner, replacements), position


def _member(
    start: Token,
    name: str,
    library: str,
    resolver: CopyResolver | None,
    *,
    source_format: str,
    columns: tuple[int, int],
) -> SourceText:
    if resolver is None:
        raise bad(start.place, f"COPY {name}", "no library was given to look the member up in")
    try:
        file, text = resolver(name, library)
        return read_source(text, file, source_format=source_format, columns=columns)
    except LookupError as error:
        raise bad(start.place, f"COPY {name}", str(error.args[0]) if error.args else "no such member") from error
    except LayoutError as error:
        raise LayoutError(f"{error} (copied at {start.place})") from error
