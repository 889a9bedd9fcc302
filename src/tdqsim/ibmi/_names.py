"""Names of objects and places, as parameters of APIs and commands give them.

A library can be a name, ``*LIBL`` or ``*CURLIB`` (QGPL when the job has no current library). Every method takes
``"LIB/NAME"``, or name and library; a name alone is searched in the library list. Names are converted to upper case
here and nowhere else.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from tdqsim.ibmi._errors import ParameterError
from tdqsim.ibmi._fact_tables import LIMITS
from tdqsim.ibmi.messages import MESSAGES

__all__ = ["NAME_LENGTH", "is_object_name", "object_name", "object_values", "place", "wait_seconds"]

NAME_LENGTH: Final = LIMITS["name_length"]
_NS: Final = 1_000_000_000
_NAME: Final = re.compile(r"[!-`{-~]{1,10}")
"""What a name can be made of: printable ASCII without a blank and without lower case letters."""


def is_object_name(name: str) -> bool:
    """Whether an object can have this name, as an API sees it that takes a program's bytes unchanged."""
    return _NAME.fullmatch(name) is not None


def object_name(value: str, what: str = "name") -> str:
    """A name in upper case, checked for what a name parameter can hold.

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


def place(name: str, library: str = "", default: str = "*LIBL") -> tuple[str, str]:
    """Name and library of ``"LIB/NAME"``, or of name and library; ``default`` is used when neither names a library."""
    if not library and isinstance(name, str):
        library, slash, name = name.rpartition("/")
        library = library if slash else default
    return object_name(name), object_name(library, "library")


def wait_seconds(value: float, what: str, most: int = LIMITS["wait_seconds_maximum"]) -> int:
    """The nanoseconds of a wait time in seconds, for a lock or an entry.

    Raises:
        ParameterError: it is no number, below 0, or more than ``most``.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
        raise ParameterError(f"{what} {value!r:.40}: a number of seconds from 0 to {most} is needed")
    return round(value * _NS)


def object_values(message_id: str, name: str, library: str, object_type: str) -> tuple[str, ...]:
    """The values of a message about an object: as many of name, library and type as it has variables."""
    variables = sum(1 for _, length in MESSAGES[message_id].data if length)
    return (name, library, object_type.lstrip("*"))[:variables]
