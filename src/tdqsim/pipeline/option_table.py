"""The options of a data source: the table that declares them, and the values of one read or write.

A table declares each option once: its name, its allowed values, its default, and its text in the reference. The checks,
the messages and the tables of the guide are made from it. The allowed values are one of:

=================  =====================================================================================
nothing            text; blanks around it do not count
``as is``          text with its blanks
``list``           words with commas between them
``true false``     words, in any case; ``word=other`` means the same as the other, ``word=`` is empty
``0..``, ``1..9``  a whole number from the first to the last
``integer``        a whole number, which may be negative
``{"A": 1}``       a JSON object of this form, with whole numbers
``A => B``         text of this form
=================  =====================================================================================
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any, ClassVar, Final, Literal

from tdqsim.errors import DatasetError
from tdqsim.facts import table
from tdqsim.hosting import did_you_mean

_LARGEST: Final = 10**12 - 1
"""The largest number for an option that declares no other."""
_SHOWN: Final = 60
_FLAG: Final = ["true", "false"]


@dataclass(frozen=True, slots=True, eq=False)
class DeclaredOption:
    """One option, as its table declares it.

    Attributes:
        name: as users write it.
        kind: how its text is read.
        values: its allowed values; see the module's docstring.
        words: for a choice: each word with its meaning.
        row: the cells of its row.
        attribute: its name as an attribute: ``startingSequence`` is ``starting_sequence``.
    """

    name: str
    kind: Literal["text", "as is", "list", "number", "json", "form", "words"]
    values: str
    words: Mapping[str, str]
    row: Mapping[str, str]
    attribute: str = field(init=False)

    def __post_init__(self) -> None:
        attribute = re.sub("(?<=[a-z])[A-Z]", lambda capital: f"_{capital[0]}", self.name).lower()
        object.__setattr__(self, "attribute", attribute)

    @classmethod
    def from_row(cls, row: Mapping[str, str]) -> DeclaredOption:
        """The option declared by a row."""
        name, values, words = row["option"], row["values"], dict[str, str]()
        if values in ("", "as is", "list"):
            return cls(name, values or "text", values, words, row)  # type: ignore[arg-type]
        if values == "integer" or ".." in values:
            return cls(name, "number", values, words, row)
        if values.startswith("{") or "=>" in values:
            return cls(name, "json" if values.startswith("{") else "form", values, words, row)
        for word, equals, meaning in (each.partition("=") for each in values.split()):
            words[word] = meaning if equals else word
        return cls(name, "words", values, words, row)

    @property
    def allowed(self) -> str:
        """Its allowed values, in words."""
        least, _, most = self.values.partition("..")
        to = f", {least} to {most}" if most else f", {least} or more"
        choices = " or ".join(self.words) if len(self.words) < 3 else f"one of {', '.join(self.words)}"
        return {
            "list": "words with commas between them",
            "number": "a whole number" + ("" if least == "integer" else to),
            "json": f"JSON such as {self.values}, with whole numbers",
            "words": choices,
        }.get(self.kind, self.values)

    def parse(self, text: str) -> Any:
        """The value of a text: bool, int, tuple, dict or str.

        Raises:
            ValueError: it is not allowed.
        """
        match self.kind:
            case "as is":
                return text
            case "list":
                return tuple(filter(None, map(str.strip, text.split(","))))
            case "json":
                return _like(json.loads(self.values), json.loads(text))
            case "number":
                return self._number(text.strip())
            case "words":
                meanings = {word.lower(): meaning for word, meaning in self.words.items()}
                if (lower := text.strip().lower()) not in meanings:
                    raise ValueError
                return lower == "true" if list(self.words) == _FLAG else meanings[lower]
        return text.strip()

    def _number(self, text: str) -> int:
        """A whole number; empty text is 0, where 0 is allowed."""
        least, _, most = self.values.partition("..")
        signed = least == "integer"
        digits = (text.removeprefix("-") if signed else text) or "0"
        if not (digits.isascii() and digits.isdigit() and len(digits) < 20):
            raise ValueError
        if int(digits) > int(most or _LARGEST) or (not signed and int(digits) < int(least)):
            raise ValueError
        return int(text or "0")


@cache
def _defaults(name: str, of: str, column: str) -> dict[str, Any]:
    """The defaults in a column of a table or, where that cell is empty, in the column ``default``."""
    empty = {"number": 0, "json": {}, "words": ""}
    values = dict[str, Any]()
    for known, option in declared_options(name, of).items():
        text = option.row[column] or option.row["default"]
        values[known] = empty[option.kind] if not text and option.kind in empty else option.parse(text)
    return values


@cache
def _attributes(name: str, of: str, kind: type) -> dict[str, str]:
    """The attributes of a dataclass that are options in Python's spelling, with the names of these."""
    names = {option.attribute: known for known, option in declared_options(name, of).items()}
    return {each.name: names[each.name] for each in fields(kind) if each.name in names}


@cache
def _conflicts(name: str) -> list[dict[str, str]]:
    """The rows of a table of conflicts: those that exclude each other, then those that need each other."""
    return sorted(table(name), key=lambda row: row["rule"] == "needs")


def _like(example: Any, value: Any) -> Any:
    """A value of JSON of the form of an example: an object of such objects, or of whole numbers, also as text."""
    if isinstance(example, dict) and isinstance(value, dict):
        inner = next(iter(example.values()))
        return {key: _like(inner, each) for key, each in value.items()}
    if not isinstance(example, dict) and type(value) in (int, str) and str(value).isascii() and str(value).isdigit():
        return int(value)
    raise ValueError


@cache
def declared_options(name: str, of: str = "") -> dict[str, DeclaredOption]:
    """The options of a table, by their names in lower case; only those of one format, if the table is for several."""
    rows = [row for row in table(name) if not of or row["formats"] in ("both", of)]
    return {row["option"].lower(): DeclaredOption.from_row(row) for row in rows}


class OptionValues(dict[str, Any]):
    """The values of the options of one read or write, by their names in lower case, parsed once.

    ``values[name]`` is the value of an option, or its default, of the type that its table declares. The values that
    were given are there from :meth:`check_values` on.

    Args:
        name: the table that declares the options.
        given: the user's options, in any case; the value None means that an option is not given.
        of: for a table of several formats: that of the read or write.
        place: the start of messages.
        column: the column with the defaults; where its cell is empty, the column ``default`` is used.

    Attributes:
        written: the names of the options given, in lower case, each as the user wrote it.
        texts: the texts of the options given.
    """

    numbered: ClassVar[tuple[str, ...]] = ()
    """Options that may be given several times, as ``NAME:1``; in their names ``-`` and ``_`` are the same."""
    prefixes: ClassVar[tuple[str, ...]] = ()
    """Options whose names end with a part that the user chooses."""

    def __init__(
        self, name: str, given: Mapping[str, object], *, of: str = "", place: str = "", column: str = "default"
    ) -> None:
        super().__init__(_defaults(name, of, column))
        self._table, self._place = (name, of), place
        self.options = declared_options(name, of)
        self.written: dict[str, str] = {}
        self.texts: dict[str, str] = {}
        for written, value in given.items():
            if value is not None:
                lower = str(written).lower()
                plain = lower.replace("-", "_")
                known = plain if plain.startswith(self.numbered) else lower
                self.written[known], self.texts[known] = str(written), str(value)

    def _option(self, name: str) -> DeclaredOption | None:
        if name in self.options:
            return self.options[name]
        return next((self.options[start] for start in (*self.numbered, *self.prefixes) if name.startswith(start)), None)

    # checks -----------------------------------------------------------------------------------------------------------

    def check_names(self, *, unknown: bool, hint: str) -> None:
        """Check that every option given exists.

        Args:
            unknown: whether unknown options are ignored.
            hint: the end of the message about an unknown option.

        Raises:
            DatasetError: an option is unknown or not supported.
        """
        for name, written in self.written.items():
            option = self._option(name)
            if option is None and not unknown:
                meant = did_you_mean(name, [each.name for each in self.options.values()])
                raise DatasetError(f"{self._place}option {written} is not known{meant}; {hint}")
            if option is not None and option.row.get("status") == "absent":
                raise DatasetError(f"{self._place}option {written} is not supported: {option.row['note']}")

    def check_values(self, *names: str) -> None:
        """Parse the value of every option that was given, or of some, whether or not this read or write uses it.

        Raises:
            DatasetError: a value is not allowed.
        """
        for name in names or self.written:
            option = self._option(name)
            if option is not None and name in self.texts:
                try:
                    self[name] = option.parse(self.texts[name])
                except (ValueError, RecursionError):  # or JSON is nested too deep
                    raise self.bad(name, f"must be {option.allowed}") from None

    def check_conflicts(self, name: str) -> None:
        """Check for conflicts, with a table of option, value, rule, other and other_value.

        Raises:
            DatasetError: two options exclude each other, or one needs another.
        """
        several = {start for start in self.numbered for known in self.written if known.startswith(start)}
        given = self.written.keys() | several
        for row in _conflicts(name):
            if row["option"] not in given or not (one := self._as_written(row["option"], row["value"])):
                continue
            other = self._as_written(row["other"], row["other_value"]) if row["other"] in given else ""
            if other and row["rule"] == "excludes":
                raise DatasetError(f"options {one} and {other} exclude each other")
            if not other and row["rule"] == "needs":
                raise DatasetError(f"option {one} needs {row['other']}")

    def _as_written(self, name: str, value: str) -> str:
        """The option as the user wrote it, if it was given with this value (an empty ``value`` accepts any)."""
        if name in self.numbered:
            written = next((known for known in self.written if known.startswith(name)), "")
        else:
            written = name if name in self.written else ""
        if not written or (value and self.texts[written].strip().lower() != value):
            return ""
        return self.written[written] + (f"={value}" if value else "")

    def bad(self, name: str, problem: str) -> DatasetError:
        """An error about the value of an option."""
        shown = self.texts.get(name, "").strip()[:_SHOWN]
        return DatasetError(f"{self._place}option {self.written.get(name, name)} is {shown!r}; {problem}")

    # values -----------------------------------------------------------------------------------------------------------

    def attributes(self, kind: type) -> dict[str, Any]:
        """The values of the options whose names, in Python's spelling, are attributes of a dataclass."""
        return {attribute: self[name] for attribute, name in _attributes(*self._table, kind).items()}

    def starting_with(self, prefix: str) -> Iterator[tuple[str, str]]:
        """Name and text of each option whose name begins with ``prefix``."""
        return ((name, value) for name, value in self.texts.items() if name.startswith(prefix))

    def arrows(self, prefix: str, *, empty: bool = False) -> Iterator[tuple[str, str, str]]:
        """Name, left and right side of each option of the form ``LEFT => RIGHT``, whose right side may be ``empty``."""
        for name, value in self.starting_with(prefix):
            left, arrow, right = value.partition("=>")
            if not arrow or not left.strip() or not (right.strip() or empty):
                raise self.bad(name, f"must be {self.options[prefix].values}")
            yield name, left.strip(), right.strip()


def reference_table(name: str, columns: Mapping[str, str], **only: str) -> str:
    """Options as a table in Markdown, for the reference.

    Args:
        name: the table that declares them.
        columns: the cells shown, by the headings of their columns.
        only: show only rows that have these cells.
    """
    lines = [f"| {' | '.join(columns)} |", f"|{' --- |' * len(columns)}"]
    for option in declared_options(name).values():
        if all(option.row[cell] == value for cell, value in only.items()):
            cells = {**option.row, "option": f"`{option.name}`", "values": option.allowed}
            lines.append(f"| {' | '.join(cells[cell] for cell in columns.values())} |")
    return "\n".join(lines) + "\n"
