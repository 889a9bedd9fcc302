"""Names of objects and libraries in parameters of APIs and commands.

A library can be a name, ``*LIBL`` or ``*CURLIB`` (QGPL when the job has no current library). Every method accepts
``"LIB/NAME"``, or name and library; a name alone is looked up in the library list. Only this module converts names to
upper case.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from tdqsim.ibmi.errors import ParameterError
from tdqsim.ibmi.fact_tables import LIMITS
from tdqsim.ibmi.messages import MESSAGES

NAME_LENGTH: Final = LIMITS["name_length"]
NEGATIVE_KEY: Final = bytes(LIMITS["key_bytes_maximum"] + 1)
"""Stands for a key with a negative length: it is longer than any key, so that every queue refuses it."""
_NS: Final = 1_000_000_000
_NAME: Final = re.compile(r"[!-`{-~]{1,10}")
"""The characters of a name: printable ASCII without blanks and lower case letters."""


def is_object_name(name: str) -> bool:
    """Whether an object can have this name, for an API that does not convert the names in a program's bytes."""
    return _NAME.fullmatch(name) is not None


def object_name(value: str, what: str = "name") -> str:
    """Check a name or special value and convert it to upper case.

    Raises:
        ParameterError: it is not text, is longer than ten characters, or has a character that names cannot have.
    """
    if not isinstance(value, str):
        raise ParameterError(f"{what} {value!r}: a name is text of 1 to {NAME_LENGTH} characters")
    return _checked_name(value, what)


@lru_cache(maxsize=4096)
def _checked_name(value: str, what: str) -> str:
    if not 0 < len(value) <= NAME_LENGTH:
        raise ParameterError(f"{what} {value[:40]!r}: a name is text of 1 to {NAME_LENGTH} characters")
    if not value.isascii() or not value.isprintable():
        raise ParameterError(f"{what} {value!r}: a name has letters, digits, $ # @ _ . or a special value")
    return value.upper().rstrip()


def several_names(given: str | Iterable[str]) -> list[str]:
    """The names in a parameter that may have several: a list, or text with blanks between them, as in CL."""
    return given.split() if isinstance(given, str) else list(given)


def place(name: str, library: str = "", default: str = "*LIBL") -> tuple[str, str]:
    """Split ``"LIB/NAME"``, or check name and library; ``default`` is the library when neither names one."""
    if not library and isinstance(name, str):
        library, slash, last = name.rpartition("/")
        if "/" in library:
            raise ParameterError(f"name {name!r:.60}: allowed are NAME and LIB/NAME")
        name, library = last, library if slash else default
    return object_name(name), object_name(library, "library")


def wait_seconds(value: float, what: str, most: int = LIMITS["wait_seconds_maximum"]) -> int:
    """Convert the wait time for a lock or an entry from seconds to nanoseconds.

    Raises:
        ParameterError: it is not a number, below 0, or more than ``most``.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
        raise ParameterError(f"{what} {value!r:.40}: a number of seconds from 0 to {most} is needed")
    return round(value * _NS)


def object_values(message_id: str, name: str, library: str, object_type: str) -> tuple[str, ...]:
    """The values for a message about an object: as many of name, library and type as it has variables."""
    described = MESSAGES[message_id]
    kind = object_type.lstrip("*")
    ordered = (name, kind, library) if "type *&2" in described.text else (name, library, kind)
    return ordered[: described.values]
