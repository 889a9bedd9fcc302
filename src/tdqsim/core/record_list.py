"""The check that a list was not given as its only element.

Text is a sequence of its letters, ``bytes(5)`` is five X'00' and a bytes object is a sequence of numbers: a forgotten
pair of brackets would give names of one letter, or records of X'00'.
"""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from typing import Final, TypeVar

from tdqsim.errors import WrongType

T = TypeVar("T")

_BYTES: Final = (bytes, bytearray, memoryview)


def several(place: str, given: Iterable[T], of: str) -> Iterable[T]:
    """The elements as given, unless one of them stands where a list of them is needed.

    Args:
        place: the argument, for the message.
        given: the elements.
        of: what they are, for the message.

    Raises:
        WrongType: text, bytes or a path is given.
    """
    if isinstance(given, (str, PathLike, *_BYTES)):
        raise WrongType(f"{place} is {given!r:.40}; allowed is a list of {of}, such as [{given!r:.40}]")
    return given


def checked_records(records: Iterable[bytes | str]) -> list[bytes | str]:
    """The records as a list, each bytes or text.

    Args:
        records: the records.

    Raises:
        TypeError: a single record is given in place of several, or one of them is neither bytes nor text.
    """
    found = list(several("seed: records", records, "records"))
    for at, record in enumerate(found):
        if not isinstance(record, (str, *_BYTES)):
            raise WrongType(f"seed: records[{at}] is {record!r:.40}; allowed is bytes or str")
    return found
