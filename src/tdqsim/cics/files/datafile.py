"""A data set of records by key, in memory: KSDS, ESDS or RRDS, and paths over its alternate indexes.

Every organisation is one sorted map from an identification to a record: the key of a KSDS, the relative byte address of
an ESDS, or the relative record number of an RRDS, the last two as four bytes, big-endian, as in RIDFLD. A path has the
same records in the order of an alternate key; among equal keys they are in the order of writing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, Literal, Protocol

from tdqsim.errors import UsageError

if TYPE_CHECKING:
    from sortedcontainers import SortedDict

Organisation = Literal["KSDS", "ESDS", "RRDS"]
NUMBER_SIZE: Final = 4


def _in_order() -> SortedDict[bytes, bytes]:
    """An empty map that is sorted by key."""
    from sortedcontainers import SortedDict  # noqa: PLC0415  (few regions have files)

    return SortedDict()


class RecordView(Protocol):
    """Records in the order of an identification: a data set by its own, or a path by its alternate key."""

    @property
    def keylength(self) -> int:
        """Bytes of an identification."""

    def at_or_after(self, key: bytes) -> tuple[bytes, bytes] | None:
        """The first place whose identification is this or higher, with the record's own identification."""

    def after(self, place: bytes) -> tuple[bytes, bytes] | None:
        """The next place."""

    def before(self, place: bytes) -> tuple[bytes, bytes] | None:
        """The place before."""

    def shown(self, place: bytes) -> bytes:
        """The identification that RIDFLD shows for a place."""


class DataFile:
    """The data set of a file.

    Args:
        organisation: KSDS, ESDS or RRDS.
        keylength, keyposition: the length and position (from 0) of the key of a KSDS.
        recordsize: the longest record, in bytes.
        recordformat: F if all records have that length, otherwise V.

    Attributes:
        records: identification -> record.
        paths: the alternate indexes, which are updated with the records.
        kept_as: the prefix of the keys of its records on the region's store; empty if it is only in memory.
    """

    def __init__(
        self,
        organisation: Organisation = "KSDS",
        *,
        keylength: int = 0,
        keyposition: int = 0,
        recordsize: int = 32767,
        recordformat: Literal["V", "F"] = "V",
    ) -> None:
        if organisation == "KSDS" and not (0 < keylength <= 255 and 0 <= keyposition <= recordsize - keylength):
            raise UsageError(
                f"a key of {keylength} bytes at {keyposition}: allowed are 1 to 255 bytes inside the record"
            )
        self.organisation = organisation
        self.keylength = keylength if organisation == "KSDS" else NUMBER_SIZE
        self.keyposition = keyposition
        self.recordsize = recordsize
        self.recordformat = recordformat
        self.records = _in_order()
        self.paths: list[Path] = []
        self.kept_as = b""
        self._end = 0

    def load(self, records: Mapping[bytes, bytes]) -> None:
        """Replace all records by these."""
        for key in list(self.records):
            self.remove(key)
        for key, record in records.items():
            self.put(key, record)

    def key_of(self, record: bytes) -> bytes:
        """The key inside a record of a KSDS."""
        return record[self.keyposition : self.keyposition + self.keylength]

    def next_address(self) -> bytes:
        """The address of the next record of an ESDS: after all records that it ever had."""
        return self._end.to_bytes(NUMBER_SIZE, "big")

    def put(self, key: bytes, record: bytes) -> None:
        """Add or replace a record. May be called again."""
        for path in self.paths:
            path.forget(key)
            path.note(key, record)
        self.records[key] = record
        if self.organisation == "ESDS":
            self._end = max(self._end, int.from_bytes(key, "big") + len(record))

    def remove(self, key: bytes) -> None:
        """Remove a record, if it exists. May be called again."""
        for path in self.paths:
            path.forget(key)
        self.records.pop(key, None)

    def clash(self, key: bytes, record: bytes) -> bool:
        """Whether a unique alternate key of a record belongs to another one."""
        return any(path.unique and path.taken(key, record) for path in self.paths)

    # -- as a view ------------------------------------------------------------------------------------------------

    def at_or_after(self, key: bytes) -> tuple[bytes, bytes] | None:
        """See :class:`RecordView`; a place is the identification itself."""
        return self._place(self.records.bisect_left(key))

    def after(self, place: bytes) -> tuple[bytes, bytes] | None:
        """See :class:`RecordView`."""
        return self._place(self.records.bisect_right(place))

    def before(self, place: bytes) -> tuple[bytes, bytes] | None:
        """See :class:`RecordView`."""
        return self._place(self.records.bisect_left(place) - 1)

    def shown(self, place: bytes) -> bytes:
        """See :class:`RecordView`."""
        return place

    def _place(self, index: int) -> tuple[bytes, bytes] | None:
        if not 0 <= index < len(self.records):
            return None
        key: bytes = self.records.keys()[index]
        return key, key


class Path:
    """A path: the records of a data set by an alternate key.

    Args:
        base: the data set, which updates the path from now on.
        keylength, keyposition: the length and position of the alternate key.
        unique: whether no two records may have the same alternate key.
    """

    def __init__(self, base: DataFile, *, keylength: int, keyposition: int, unique: bool = False) -> None:
        self.base = base
        self.keylength = keylength
        self.keyposition = keyposition
        self.unique = unique
        self._written = 0
        self._place_of: dict[bytes, bytes] = {}
        self._places = _in_order()
        for key, record in base.records.items():
            self.note(key, record)
        base.paths.append(self)

    def _alternate(self, record: bytes) -> bytes | None:
        key = record[self.keyposition : self.keyposition + self.keylength]
        return key if len(key) == self.keylength else None

    def note(self, key: bytes, record: bytes) -> None:
        """Add a record to the index."""
        alternate = self._alternate(record)
        if alternate is not None:
            self._written += 1
            place = self._place_of[key] = alternate + self._written.to_bytes(8, "big")
            self._places[place] = key

    def forget(self, key: bytes) -> None:
        """Remove a record from the index, if it is there."""
        place = self._place_of.get(key)
        if place is not None:
            self._places.pop(place, None)
            self._place_of.pop(key, None)

    def taken(self, key: bytes, record: bytes) -> bool:
        """Whether another record has the alternate key of this one."""
        alternate = self._alternate(record)
        first = None if alternate is None else self.at_or_after(alternate)
        return first is not None and self.shown(first[0]) == alternate and first[1] != key

    def at_or_after(self, key: bytes) -> tuple[bytes, bytes] | None:
        """See :class:`RecordView`; a place is the alternate key and the order of writing."""
        return self._place(self._places.bisect_left(key))

    def after(self, place: bytes) -> tuple[bytes, bytes] | None:
        """See :class:`RecordView`."""
        return self._place(self._places.bisect_right(place))

    def before(self, place: bytes) -> tuple[bytes, bytes] | None:
        """See :class:`RecordView`. Equal keys come in the order of writing in this direction too."""
        key = self.shown(place)
        following = self.after(place)
        if following is not None and self.shown(following[0]) == key:
            return following
        before = self._place(self._places.bisect_left(key) - 1)
        return None if before is None else self.at_or_after(self.shown(before[0]))

    def shown(self, place: bytes) -> bytes:
        """See :class:`RecordView`."""
        return place[: self.keylength]

    def _place(self, index: int) -> tuple[bytes, bytes] | None:
        if not 0 <= index < len(self._places):
            return None
        return self._places.peekitem(index)  # type: ignore[no-any-return]
