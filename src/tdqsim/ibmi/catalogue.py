"""The catalogue: the records of libraries, objects, profiles and authorization lists that survive a restart.

Each record is a JSON text in the store's durable meta data, committed by the command that changed it. The entries of
journals, of FORCE(*YES) queues and of queues that are or were journaled are durable too, those of others volatile.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from json import JSONDecoder, JSONEncoder
from typing import Any, Final

from tdqsim.core.store import Store
from tdqsim.core.store.keeper import KEPT_BY, claim
from tdqsim.errors import StoreError
from tdqsim.ibmi.authority import AuthorizationList, Profile
from tdqsim.ibmi.journals import Journal, JournalReceiver
from tdqsim.ibmi.objects import Library, SystemObject
from tdqsim.ibmi.queue import Attributes, DataQueue

_KINDS = frozenset(
    {
        KEPT_BY.decode(), "system", "object", "profile", "profileaut", "private", "autl", "allocation", "stream",
        "password",
    }
)  # fmt: skip
_ASIDE = frozenset({"system", "profile"})
"""Kinds of records that a system open for reading only may change in memory; the change is not stored."""
_encode: Final = JSONEncoder().encode
_decode: Final = JSONDecoder().raw_decode
_KEEPER = "an IBM i system"
_QUEUE_NAME = re.compile(rb"J?[0-9]+")


class Catalogue:
    """The records of one store.

    Args:
        store: the store.
        readonly: nothing is stored; a queue whose entries the writing process has not yet committed looks empty.
    """

    def __init__(self, store: Store, *, readonly: bool = False) -> None:
        self._store = store
        self._durable = store.durable
        self._readonly = readonly
        self._scratch: Store | None = None

    def record(self, kind: str, name: str, record: dict[str, Any]) -> dict[bytes, bytes | None]:
        """One record as meta data, to be committed with the change it describes."""
        if self._readonly:
            if kind not in _ASIDE:
                raise StoreError(f"{self._store.path}: the system is open for reading only")
            return {}
        return {f"{kind}/{name}".encode(): _encode(record).encode()}

    def _records(self, kind: str) -> Iterator[tuple[str, dict[str, Any]]]:
        prefix = f"{kind}/".encode()
        for key, value in list(self._durable.metas(prefix)):
            yield key[len(prefix) :].decode(), _decode(str(value, "utf-8"))[0]

    def check_ours(self) -> None:
        """Refuse a store that another program uses.

        Raises:
            StoreError: the store belongs to a region or another program.
        """
        if self._durable.get_meta(KEPT_BY) != _KEEPER.encode():
            for key, _ in self._durable.metas():
                if key.partition(b"/")[0].decode("latin-1") not in _KINDS:
                    raise StoreError(f"{self._store.path}: the store is not one of an IBM i system")
            for environment in (self._durable, self._store.volatile):
                for stored in environment.queues():
                    if not _QUEUE_NAME.fullmatch(stored.name):
                        raise StoreError(f"{self._store.path}: the store is not one of an IBM i system")
        claim(self._store, _KEEPER, readonly=self._readonly)

    def counters(self) -> dict[str, int]:
        """The next numbers of objects and jobs."""
        return dict(self._records("system")).get("counters", {"object": 1, "job": 1})

    def profiles(self) -> Iterator[Profile]:
        """The user profiles."""
        for name, record in self._records("profile"):
            yield Profile(name, **record | {"groups": tuple(record["groups"])})

    def profile_authorities(self) -> Iterator[tuple[tuple[str, str], str]]:
        """The authorities of users to profiles, by (profile, user)."""
        for name, record in self._records("profileaut"):
            profile, _, user = name.partition("/")
            yield (profile, user), record["authority"]

    def authorization_lists(self) -> Iterator[AuthorizationList]:
        """The authorization lists."""
        for name, record in self._records("autl"):
            yield AuthorizationList(name, **record)

    def objects(self) -> Iterator[SystemObject]:
        """Libraries, journals, receivers and data queues; journals and queues are attached to their entries."""
        private: dict[str, dict[str, str]] = {}
        for name, record in self._records("private"):
            number, _, user = name.partition("/")
            private.setdefault(number, {})[user] = record["authority"]
        allocations = dict(self._durable.metas(b"allocation/"))
        for number, record in self._records("object"):
            allocation = allocations.get(b"allocation/" + number.encode())
            yield self._object(int(number), record, private.get(number, {}), allocation)

    def private(self, number: int, authorities: Mapping[str, str]) -> dict[bytes, bytes | None]:
        """The records of users' private authorities to an object; an empty authority removes the user's record."""
        records: dict[bytes, bytes | None] = {}
        for user, words in authorities.items():
            record = self.record("private", f"{number}/{user}", {"authority": words})
            records |= record if words else dict.fromkeys(record)
        return records

    def _object(
        self, number: int, record: dict[str, Any], private: dict[str, str], allocation: bytes | None
    ) -> SystemObject:
        kind = record.pop("type")
        if kind != "*DTAQ":
            if kind != "*JRN":
                return (Library if kind == "*LIB" else JournalReceiver)(number, **record, private=private)
            journal = Journal(number, **record, private=private)
            journal.attach(self._durable)
            return journal
        attributes = Attributes(**record.pop("attributes"))
        queue = DataQueue(number, **record, private=private, attributes=attributes)
        if not queue.ddm:
            self.attach(queue)
            if allocation is not None:
                queue._restore(allocation)
        return queue

    def attach(self, queue: DataQueue) -> None:
        """Connect a queue to its entries; one that the writing process has not yet committed looks empty."""
        if self._readonly and self._scratch is None:
            self._scratch = Store()
        queue.attach(self._store, aside=self._scratch)

    def close(self) -> None:
        """Close the temporary store that reading another process's store needs."""
        if self._scratch is not None:
            self._scratch.close()

    def drop_strays(self, known: set[int]) -> None:
        """Drop stored entries that belong to no object: those of a QTEMP, or of an interrupted delete."""
        if self._readonly:
            return
        environment: Any
        for environment in (self._store.volatile, self._store.durable):
            for stored in list(environment.queues()):
                if int(stored.name.lstrip(b"J")) not in known:
                    environment.drop(stored)
