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
``A => B``         text of this form: the two sides; only the right one may be empty, where it has commas
=================  =====================================================================================
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any, Final, Literal

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
            case "form":
                left, arrow, right = (part.strip() for part in text.partition("=>"))
                if not arrow or not left or not (right or "," in self.values):
                    raise ValueError
                return left, right
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
    empty = {"number": 0, "json": {}, "words": "", "form": ("", "")}
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
    """The values of the options of one read or write, by their names in lower case, checked and parsed once.

    ``values[name]`` is the value of an option, or its default, of the type that its table declares.

    Args:
        name: the table that declares the options.
        given: the user's options, in any case; the value None means that an option is not given.
        of: for a table of several formats: that of the read or write.
        place: the start of messages.
        column: the column with the defaults; where its cell is empty, the column ``default`` is used.
        numbered: options that may be given several times, as ``NAME:1``; in their names ``-`` and ``_`` are the same.
        prefixes: options whose names end with a part that the user chooses.
        conflicts: the table of conflicts; empty for none.
        hint: the end of the message about an unknown option.

    Attributes:
        written: the names of the options given, in lower case, each as the user wrote it.
        texts: the texts of the options given.
        known: the declarations of the options given.
        several: for each option that may be given several times, the names under which it was given.

    Raises:
        DatasetError: an option is unknown (unless the option ``pedantic`` is false) or not supported, its value is not
            allowed, or two options exclude each other, or one needs another.
    """

    def __init__(
        self,
        name: str,
        given: Mapping[str, object],
        *,
        of: str = "",
        place: str = "",
        column: str = "default",
        numbered: tuple[str, ...] = (),
        prefixes: tuple[str, ...] = (),
        conflicts: str = "",
        hint: str,
    ) -> None:
        super().__init__(_defaults(name, of, column))
        self._table, self._place = (name, of), place
        self.options = declared_options(name, of)
        self.written: dict[str, str] = {}
        self.texts: dict[str, str] = {}
        self.known: dict[str, DeclaredOption] = {}
        self.several: dict[str, list[str]] = {start: [] for start in (*numbered, *prefixes)}
        unknown = ""
        for written, value in given.items():
            if value is None:
                continue
            key, plain = str(written).lower(), str(written).lower().replace("-", "_")
            key = plain if plain.startswith(numbered) else key
            start = next((start for start in self.several if key.startswith(start)), "")
            self.written[key], self.texts[key] = str(written), str(value)
            if start:
                self.several[start].append(key)
            if key not in self.options and not start:
                unknown = unknown or str(written)
                continue
            self.known[key] = option = self.options[key if key in self.options else start]
            if option.row.get("status") == "absent":
                raise DatasetError(f"{place}option {written} is not supported: {option.row['note']}")
        if "pedantic" in self.known:
            self["pedantic"] = self._parsed("pedantic")
        if unknown and self.get("pedantic", True):
            meant = did_you_mean(unknown, [each.name for each in self.options.values()])
            raise DatasetError(f"{place}option {unknown} is not known{meant}; {hint}")
        there = self.written.keys() | {start for start, keys in self.several.items() if keys}
        for row in _conflicts(conflicts) if conflicts else ():
            if row["option"] in there:
                self._check(row)
        for key in self.known:
            self[key] = self._parsed(key)

    def _parsed(self, name: str) -> Any:
        try:
            return self.known[name].parse(self.texts[name])
        except (ValueError, RecursionError):  # or JSON is nested too deep
            raise self.bad(name, f"must be {self.known[name].allowed}") from None

    def _check(self, row: Mapping[str, str]) -> None:
        """Check for one conflict: a row of option, value, rule, other and other_value."""
        if one := self._as_written(row["option"], row["value"]):
            other = self._as_written(row["other"], row["other_value"])
            if other and row["rule"] == "excludes":
                raise DatasetError(f"options {one} and {other} exclude each other")
            if not other and row["rule"] == "needs":
                raise DatasetError(f"option {one} needs {row['other']}")

    def _as_written(self, name: str, value: str) -> str:
        """The option as the user wrote it, if it was given with this value (an empty ``value`` accepts any)."""
        key = next(iter(self.several.get(name, (name,))), "")
        if key not in self.written or (value and self.texts[key].strip().lower() != value):
            return ""
        return self.written[key] + (f"={value}" if value else "")

    def bad(self, name: str, problem: str) -> DatasetError:
        """An error about the value of an option."""
        shown = self.texts.get(name, "").strip()[:_SHOWN]
        return DatasetError(f"{self._place}option {self.written.get(name, name)} is {shown!r}; {problem}")

    def attributes(self, kind: type) -> dict[str, Any]:
        """The values of the options whose names, in Python's spelling, are attributes of a dataclass."""
        return {attribute: self[name] for attribute, name in _attributes(*self._table, kind).items()}

    def differing(self, column: str, value: str) -> tuple[str, ...]:
        """The options given that have a value in a column of their table, and are not as by default."""
        usual = _defaults(*self._table, "default")
        return tuple(
            name
            for name, option in self.known.items()
            if option.row[column] == value and self[name] != usual[option.name.lower()]
        )
