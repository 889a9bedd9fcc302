"""The file ``state`` of a store: what must be known before LMDB opens a file.

It has two slots of one form, written in turn, each with a number and a checksum; the newer one that is whole counts. So
a write that is cut off loses nothing, and none ever needs room on the disk that the file does not have.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Final, NamedTuple
from zlib import crc32

from tdqsim.core.portable import OWN_FILE, write_at
from tdqsim.core.store._layout import FORMAT
from tdqsim.errors import StoreDamaged, StoreVersionError

__all__ = ["State", "StateFile"]

_SLOT: Final = 512


_NO_COMMITS: Final[dict[str, list[int]]] = {}


class State(NamedTuple):
    """What is known of a store.

    Attributes:
        store_id: what tells it from other stores; in the head of each of its files too.
        format: the version of the layout.
        made: whether it was finished when it was made.
        clean: whether it was closed cleanly.
        salvaged: whether it was made by salvage, and nobody has closed it cleanly since.
        boot: which start of the machine it was last opened in.
        commits: at a clean close, the last commit of each of its files, and the checksum of the meta page that says so.
    """

    store_id: str
    format: int = FORMAT
    made: bool = False
    clean: bool = False
    salvaged: bool = False
    boot: str = ""
    commits: dict[str, list[int]] = _NO_COMMITS


class StateFile:
    """The file of one store directory.

    Attributes:
        path: where it is.
        note: what is wrong with it that was read, though one of its slots is whole; empty for nothing.
    """

    __slots__ = ("_number", "note", "path")

    def __init__(self, path: Path) -> None:
        self.path = path
        self.note = ""
        self._number = 0

    def read(self) -> State | None:
        """The state; None when there is no such file, or nothing in it.

        Raises:
            StoreDamaged: neither slot is whole.
            StoreVersionError: another version of tdqsim wrote it.
        """
        try:
            fd = os.open(self.path, os.O_RDONLY | OWN_FILE)
        except FileNotFoundError:
            return None
        with os.fdopen(fd, "rb") as handle:
            raw = handle.read(2 * _SLOT)
        if not raw.strip():  # it was just being made
            return None
        written = [part for at in (0, _SLOT) if (part := raw[at : at + _SLOT]).strip(b" ")]
        slots = [slot for part in written if (slot := _slot(part)) is not None]
        if len(slots) < len(written):
            self.note = (
                f"{self.path}: one of its two records was damaged, or written by halves; "
                f"the store goes on by the other one, which may say that it was not closed cleanly"
            )
        if not slots:
            raise StoreDamaged(f"{self.path}: the file is damaged: neither of its two records is whole")
        self._number, fields = max(slots, key=lambda slot: slot[0])
        if fields.get("format") != FORMAT:
            raise StoreVersionError(
                f"{self.path.parent}: the store has format {fields.get('format')}; "
                f"this tdqsim reads format {FORMAT} only"
            )
        try:
            return State(**fields)
        except TypeError:
            raise StoreDamaged(
                f"{self.path}: the file is damaged: its record has other fields than it should"
            ) from None

    def write(self, state: State, *, sync: bool = False) -> None:
        """Make ``state`` the newer one."""
        number = self._number + 1
        body = json.dumps([number, state._asdict()]).encode()
        record = b"%08x " % crc32(body) + body
        fd = os.open(self.path, os.O_RDWR | os.O_CREAT | OWN_FILE, 0o600)
        try:
            if os.fstat(fd).st_size < 2 * _SLOT:
                write_at(fd, b" " * (2 * _SLOT), 0)
            write_at(fd, record.ljust(_SLOT), number % 2 * _SLOT)
            if sync:
                os.fsync(fd)
        finally:
            os.close(fd)
        self._number = number


def _slot(raw: bytes) -> tuple[int, dict[str, Any]] | None:
    """The number and the fields in a slot; None when it is not whole."""
    body = raw[9:].rstrip()
    if raw[:9] != b"%08x " % crc32(body):
        return None
    try:
        number, fields = json.loads(body)
    except ValueError:
        return None
    return (number, fields) if isinstance(number, int) and isinstance(fields, dict) else None
