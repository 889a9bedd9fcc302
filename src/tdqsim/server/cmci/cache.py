"""Result sets that a request with NODISCARD retains: each for one user, for a time, and bounded in number."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from tdqsim.hosting import NS_PER_SECOND
from tdqsim.server.bounds import BOUNDS
from tdqsim.server.cmci.reading import CmciRecord
from tdqsim.server.cmci.tables import CmciResource

_TOKEN_BYTES: Final = 8


@dataclass(slots=True)
class ResultSet:
    """A retained result set.

    Attributes:
        user_id: the user who may use it.
        resource: the resource of its records.
        records: the records, in order.
        version: ``connect_version`` of the answers.
        used_ns: when it was used last.
    """

    user_id: str
    resource: CmciResource
    records: Sequence[CmciRecord]
    version: str
    used_ns: int


class ResultCache:
    """The retained result sets.

    Args:
        now_ns: the clock of the server, in nanoseconds.
    """

    def __init__(self, now_ns: Callable[[], int]) -> None:
        self._now_ns = now_ns
        self._sets: OrderedDict[str, ResultSet] = OrderedDict()  # the one that was used least recently first

    def __len__(self) -> int:
        return len(self._sets)

    def keep(self, user_id: str, resource: CmciResource, records: Sequence[CmciRecord], version: str) -> str:
        """Retain a result set; return its token. If there are too many, those that were used least recently end."""
        self._expire()
        own = [token for token, each in self._sets.items() if each.user_id == user_id]
        for token in own[: max(len(own) - BOUNDS["cmci_cache_sets"] + 1, 0)]:
            del self._sets[token]
        token = secrets.token_hex(_TOKEN_BYTES).upper()
        self._sets[token] = ResultSet(user_id, resource, records, version, self._now_ns())
        while len(self._sets) > 1 and sum(len(each.records) for each in self._sets.values()) > _MOST_RECORDS:
            self._sets.popitem(last=False)
        return token

    def find(self, user_id: str, token: str) -> ResultSet | None:
        """The result set of a token, which is used by that; None if it has ended, or belongs to another user."""
        self._expire()
        found = self._sets.get(token.upper())
        if found is None or found.user_id != user_id:
            return None
        found.used_ns = self._now_ns()
        self._sets.move_to_end(token.upper())
        return found

    def end(self, token: str) -> None:
        """Discard a result set."""
        self._sets.pop(token.upper(), None)

    def _expire(self) -> None:
        oldest = self._now_ns() - BOUNDS["cmci_cache_seconds"] * NS_PER_SECOND
        for token in [token for token, each in self._sets.items() if each.used_ns <= oldest]:
            del self._sets[token]


_MOST_RECORDS: Final = BOUNDS["cmci_cache_records"]
