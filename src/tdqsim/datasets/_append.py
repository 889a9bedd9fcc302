"""Find the position at which DISP=MOD continues writing: after the last record, provided the data set is undamaged."""

from __future__ import annotations

import os
from pathlib import Path

from tdqsim.datasets._deblock import deblocker_for
from tdqsim.datasets._files import RawFile
from tdqsim.datasets._limits import limit
from tdqsim.datasets.dcb import Dcb
from tdqsim.datasets.errors import OpenError

_CHUNK = 16 * limit("read_ahead_minimum")


def end_of_data(path: Path, file: RawFile, dcb: Dcb) -> tuple[int, bool]:
    """Return the file's size, and whether its last line lacks the separator.

    Records written after a truncated block could not be found by any reader, so such a file is refused.

    Raises:
        OpenError: the file is damaged.
    """
    assert dcb.recfm is not None
    size = os.fstat(file.fileno()).st_size
    if separator := dcb.recfm.separator:
        file.seek(max(size - len(separator), 0))
        return size, size > 0 and file.read(len(separator)) != separator
    if dcb.recfm.fixed:
        if size % dcb.lrecl:
            raise _damaged(path, size - size % dcb.lrecl, f"its {size} bytes are not a multiple of LRECL {dcb.lrecl}")
        return size, False
    _walk(path, file, dcb, size)
    return size, False


def _walk(path: Path, file: RawFile, dcb: Dcb, size: int) -> None:
    """Read the whole file as a reader would, and raise an error at the first damage."""
    deblocker = deblocker_for(dcb)
    base, data = 0, b""
    file.seek(0)
    while base + len(data) < size:
        chunk = file.read(_CHUNK) or b""
        data += chunk
        final = not chunk or base + len(data) >= size
        _, _, place, damage = deblocker.split(data, 0, final=final)
        if damage is not None:
            raise _damaged(path, base + place, damage.problem)
        base, data = base + place, data[place:]
        if not chunk:
            return


def _damaged(path: Path, offset: int, problem: str) -> OpenError:
    return OpenError(path, f"DISP=MOD cannot write behind the last record: {problem}", offset=offset)
