"""The check of the records that ``seed`` puts on a queue.

``bytes(5)`` is five X'00' and a bytes object is a sequence of numbers, so records that are not checked turn a forgotten
pair of brackets into records of X'00'.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from tdqsim.errors import WrongType

_BYTES: Final = (bytes, bytearray, memoryview)


def checked_records(records: Iterable[bytes | str]) -> list[bytes | str]:
    """The records as a list, each bytes or text.

    Args:
        records: the records.

    Raises:
        TypeError: a single record is given in place of several, or one of them is neither bytes nor text.
    """
    if isinstance(records, (str, *_BYTES)):
        raise WrongType(f"seed: records is {records!r:.40}; allowed is a list of records, such as [{records!r:.40}]")
    found = list(records)
    for at, record in enumerate(found):
        if not isinstance(record, (str, *_BYTES)):
            raise WrongType(f"seed: records[{at}] is {record!r:.40}; allowed is bytes or str")
    return found
