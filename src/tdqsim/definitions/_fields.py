"""The kinds of attributes of resource definitions, as annotations for pydantic.

Examples are ``Annotated[int, Number(0, 32767)]`` and ``Annotated[Literal["YES", "NO"], Keyword()]``. Each accepts the
values of YAML files (always text here) and those of Python callers, and refuses others with a message that names the
allowed values.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import cache
from typing import Any, TypeAlias, get_args

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from tdqsim.facts import FORMATS, table

JsonSchema: TypeAlias = dict[str, Any]
"""A JSON schema, or a part of one."""
_PLAIN_SCALARS = ["string", "integer", "number", "boolean", "null"]  # the types that an editor gives to 0010, NO, NULL


def refuse(message: str) -> PydanticCustomError:
    """The error for a validator to raise; its message is shown unchanged."""
    return PydanticCustomError("tdq", "{message}", {"message": message})


def spoken(values: Sequence[str]) -> str:
    """Join words: ``A, B or C``; an empty value is called blank."""
    words = [value or "blank" for value in values]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


@cache
def _characters(kind: str) -> tuple[re.Pattern[str], str]:
    """The characters allowed in a kind of name, as a pattern and in words."""
    row = next(row for row in table("name_characters") if row["kind"] == kind)
    return re.compile(row["pattern"], re.ASCII), row["words"]


class _Kind:
    """The base of the annotations, which pydantic uses through ``check`` and ``schema``."""

    def __repr__(self) -> str:
        """``Number(0, 255)`` or ``Name(8)``, as shown by ``help()`` of a definition."""
        bounds = [str(value) for value in vars(self).values() if isinstance(value, int) and not isinstance(value, bool)]
        return f"{type(self).__name__}({', '.join(bounds)})"

    def check(self, value: object) -> object:
        raise NotImplementedError

    def schema(self) -> JsonSchema:
        raise NotImplementedError

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self.bound(source))

    def __get_pydantic_json_schema__(self, _schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchema:
        return self.schema()

    def bound(self, _source: object) -> Callable[[object], object]:
        """The validator for a field of this type."""
        return self.check


class Number(_Kind):
    """A whole number in a range, as an int or as text of decimal digits."""

    def __init__(self, minimum: int, maximum: int) -> None:
        self.minimum = minimum
        self.maximum = maximum

    def check(self, value: object) -> int:
        if (
            isinstance(value, str)
            and value.isascii()
            and value.isdigit()
            and len(value) <= max(10, len(str(self.maximum)))
        ):
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not self.minimum <= value <= self.maximum:
            raise refuse(f"must be a whole number from {self.minimum} to {self.maximum}")
        return value

    def schema(self) -> JsonSchema:
        return {"type": "integer", "minimum": self.minimum, "maximum": self.maximum}


class FileFormat(_Kind):
    """The version of the format of a file, as its key ``format``; a file without the key has format 1.

    Attributes:
        name: the name of the format in ``facts/formats.tsv``.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def check(self, value: object) -> int:
        if isinstance(value, bool) or str(value) != str(FORMATS[self.name]):
            raise refuse(f"is another version of the format; this tdqsim reads format {FORMATS[self.name]}")
        return FORMATS[self.name]

    def schema(self) -> JsonSchema:
        return {"type": "integer", "const": FORMATS[self.name]}


class Keyword(_Kind):
    """One of the words of a Literal type, in upper or lower case."""

    def bound(self, source: object) -> Callable[[object], object]:
        words = get_args(source)
        allowed = {word: word for word in words} | {word.lower(): word for word in words}
        message = f"must be {spoken(words)}"

        def check(value: object) -> object:
            if not isinstance(value, str):
                raise refuse(message)
            word = allowed.get(value)
            if word is None:
                word = allowed.get(value.upper())
            if word is None:
                raise refuse(message)
            return word

        return check

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        words = list(get_args(source))
        return core_schema.no_info_plain_validator_function(self.bound(source), metadata={"tdq_words": words})

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchema:
        words = schema["metadata"]["tdq_words"]
        return {"enum": list(dict.fromkeys([*words, *(word.lower() for word in words), *self.synonyms(words)]))}

    @staticmethod
    def synonyms(_words: Sequence[str]) -> list[str]:
        """Other spellings of the words."""
        return []


class Name(_Kind):
    """A name of some kind (see ``facts/name_characters.tsv``) of 1 to ``maximum`` characters.

    Attributes:
        maximum: the maximum number of characters.
        kind: the kind of name, which determines the characters.
        blank: whether an empty name is allowed.
        also: special values in addition to names, such as ``*LOC``.
    """

    def __init__(self, maximum: int, kind: str = "object", blank: bool = False, also: tuple[str, ...] = ()) -> None:
        self.maximum = maximum
        self.kind = kind
        self.blank = blank
        self.also = also

    def check(self, value: object) -> str:
        pattern, words = _characters(self.kind)
        if isinstance(value, str):
            if (self.blank and not value) or value in self.also:
                return value
            if 0 < len(value) <= self.maximum and pattern.fullmatch(value):
                return value
        special = f"{', '.join(self.also)} or " if self.also else ""
        raise refuse(f"must be {special}1 to {self.maximum} characters ({words})")

    def accepts(self, value: object) -> bool:
        """Whether ``check`` accepts the value."""
        try:
            self.check(value)
        except PydanticCustomError:
            return False
        return True

    def schema(self) -> JsonSchema:
        longest = max(self.maximum, *(len(word) for word in self.also), 0)
        schema = {"type": _PLAIN_SCALARS, "maxLength": longest, "pattern": f"^(?:{self.pattern()})$"}
        characters = _characters(self.kind)[0]
        if not characters.fullmatch("0"):
            return schema | {"type": [kind for kind in _PLAIN_SCALARS if kind not in ("integer", "number")]}
        least = 1 - 10 ** (self.maximum - 1) if characters.fullmatch("-1") else 0
        return schema | {"minimum": least, "maximum": 10**self.maximum - 1}

    def pattern(self) -> str:
        """A regular expression for the allowed values, without their length, for a JSON schema."""
        special = ("", *self.also) if self.blank else self.also
        return "|".join([_characters(self.kind)[0].pattern, *(re.escape(word) for word in special)])


class Text(_Kind):
    """Free text of ``minimum`` to ``maximum`` characters, on one line."""

    def __init__(self, maximum: int, minimum: int = 0) -> None:
        self.maximum, self.minimum = maximum, minimum

    def check(self, value: object) -> str:
        if not isinstance(value, str) or not self.minimum <= len(value) <= self.maximum or not value.isprintable():
            allowed = f"{self.minimum} to" if self.minimum else "at most"
            raise refuse(f"must be {allowed} {self.maximum} printable characters")
        return value

    def schema(self) -> JsonSchema:
        least: JsonSchema = {"minLength": self.minimum} if self.minimum else {}
        return {"type": _PLAIN_SCALARS, **least, "maxLength": self.maximum}


_STAMP = r"(?P<year>[0-9]{4}|[0-9]{2})[-/](?P<rest>[0-9]{2}[-/][0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?)"


class Timestamp(_Kind):
    """A date and time of day in the region's time zone: ``2024-05-31 12:00:00``, or CSD style ``24/05/31 12:00:00``."""

    def check(self, value: object) -> datetime:
        if isinstance(value, datetime) and value.tzinfo is None:
            return value
        match = re.fullmatch(_STAMP, value) if isinstance(value, str) else None
        if match:
            year = match["year"] if len(match["year"]) == 4 else f"20{match['year']}"
            try:
                return datetime.fromisoformat(f"{year}-{match['rest']}".replace("/", "-").replace("T", " "))
            except ValueError:
                pass  # a date such as 30 February, which is refused below
        raise refuse("must be a date and time such as 2024-05-31 12:00:00, without a time zone")

    def schema(self) -> JsonSchema:
        return {"type": "string", "examples": ["2024-05-31 12:00:00"]}


class WaitTime(_Kind):
    """``dd,hh,mm``: days 0 to 93, hours 0 to 23, minutes 0 to 59; normalized to two digits each."""

    def check(self, value: object) -> str:
        parts = value.split(",") if isinstance(value, str) and len(value) <= 16 else []
        if len(parts) == 3 and all(part.isascii() and part.isdigit() and len(part) <= 2 for part in parts):
            days, hours, minutes = (int(part) for part in parts)
            if days <= 93 and hours <= 23 and minutes <= 59:
                return f"{days:02},{hours:02},{minutes:02}"
        raise refuse("must be dd,hh,mm: days 0 to 93, hours 0 to 23, minutes 0 to 59")

    def schema(self) -> JsonSchema:
        return {"type": "string", "pattern": "^[0-9]{1,2},[0-9]{1,2},[0-9]{1,2}$"}


_LONGEST_DTIMOUT = 6800  # mmss: 68 minutes


class Dtimout(_Kind):
    """``NO``, or minutes and seconds as ``mmss``."""

    def check(self, value: object) -> str:
        text = str(value).upper() if isinstance(value, int | str) and not isinstance(value, bool) else ""
        digits = text.isascii() and text.isdigit() and len(text) <= 4
        if text != "NO" and not (digits and 1 <= int(text) <= _LONGEST_DTIMOUT and int(text) % 100 < 60):
            raise refuse(f"must be NO or minutes and seconds as mmss, from 1 to {_LONGEST_DTIMOUT}")
        return text

    def schema(self) -> JsonSchema:
        return {
            "type": ["string", "integer"],
            "pattern": "^([Nn][Oo]|([0-5]?[0-9]|6[0-7])?[0-5]?[0-9]|6800)$",
            "minimum": 1,
            "maximum": _LONGEST_DTIMOUT,
            "examples": ["NO", "0130"],
        }


_SHORTEST_RUNAWAY, _LONGEST_RUNAWAY = 500, 2_700_000  # milliseconds


class Runaway(_Kind):
    """``SYSTEM``, or a number of milliseconds as text: 0 for no limit, or 500 to 2700000."""

    def check(self, value: object) -> str:
        text = str(value).upper() if isinstance(value, int | str) and not isinstance(value, bool) else ""
        number = int(text) if text.isascii() and text.isdigit() and len(text) <= 7 else -1
        if text != "SYSTEM" and number != 0 and not _SHORTEST_RUNAWAY <= number <= _LONGEST_RUNAWAY:
            raise refuse(f"must be SYSTEM, 0 or {_SHORTEST_RUNAWAY} to {_LONGEST_RUNAWAY} milliseconds")
        return text if number < 0 else str(number)

    def schema(self) -> JsonSchema:
        return {
            "type": ["string", "integer"],
            "pattern": "^([Ss][Yy][Ss][Tt][Ee][Mm]|0*(0|[5-9][0-9]{2}|[1-9][0-9]{3,6}))$",
            "minimum": 0,
            "maximum": _LONGEST_RUNAWAY,
            "examples": ["SYSTEM", "5000"],
        }
