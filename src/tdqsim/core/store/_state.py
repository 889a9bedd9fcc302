"""The file ``state`` of a store of format 4 or 5, for salvage and upgrade.

It tells whether the store was closed cleanly, in two records that were written alternately, each with a number and a
checksum. A damaged record may have been the newer one, so the store then counts as not closed cleanly.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Final, NamedTuple
from zlib import crc32

from tdqsim.core.portable import OWN_FILE

_SLOT: Final = 512


class OldState(NamedTuple):
    """The contents of the file.

    Attributes:
        store_id: the store's unique identifier, in hexadecimal digits; empty when it is not known.
        clean: whether it was closed cleanly.
        salvaged: whether it was made by salvage and has not been closed cleanly since.
        boot: the identifier of the machine's boot in which the store was last opened, as in the head record.
        volatile: at a clean close, the number of the volatile file's last commit; 0 when there was no such file.
        problem: the problem with the file; empty for none.
    """

    store_id: str = ""
    clean: bool = False
    salvaged: bool = False
    boot: bytes = bytes(16)
    volatile: int = 0
    problem: str = ""


def read_state(path: Path) -> OldState:
    """Read the file of a store directory."""
    try:
        fd = os.open(path / "state", os.O_RDONLY | OWN_FILE)
    except FileNotFoundError:
        return OldState(problem="the file state is missing")
    with os.fdopen(fd, "rb") as handle:
        raw = handle.read(2 * _SLOT)
    written = [part for at in (0, _SLOT) if (part := raw[at : at + _SLOT]).strip(b" ")]
    slots = [slot for part in written if (slot := _slot(part)) is not None]
    if not slots:
        return OldState(problem="the file state is damaged: neither of its two records is whole")
    whole = len(slots) == len(written)
    _, fields = max(slots, key=lambda slot: slot[0])
    return OldState(
        str(fields.get("store_id", "")),
        clean=whole and bool(fields.get("clean")),
        salvaged=bool(fields.get("salvaged")),
        boot=_boot(fields.get("boot", "")),
        volatile=fields.get("commits", {}).get("volatile", [0])[0],
        problem="" if whole else "the file state: one of its two records was damaged or only partly written",
    )


def _slot(raw: bytes) -> tuple[int, dict[str, Any]] | None:
    """The number and the fields in a record; None when it is not whole."""
    body = raw[9:].rstrip()
    if raw[:9] != b"%08x " % crc32(body):
        return None
    try:
        number, fields = json.loads(body)
    except ValueError:
        return None
    return (number, fields) if isinstance(number, int) and isinstance(fields, dict) else None


def _boot(text: str) -> bytes:
    try:
        return bytes.fromhex(text.replace("-", "")).ljust(16, b"\0")[:16]
    except ValueError:  # not hexadecimal: a test has written it to simulate another boot
        return b"\xff" * 16
