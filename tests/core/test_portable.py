"""The lock on a file: taken by one, free again when given up or when its holder is gone."""

from __future__ import annotations

import os
from pathlib import Path

from tdqsim.core.portable import FileLock


def test_a_lock_that_is_given_up_can_be_taken_by_another(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    path.touch()
    one, other = (os.open(path, os.O_RDWR) for _ in range(2))
    try:
        first, second = FileLock(one, path), FileLock(other, path)
        assert first.take()
        assert not second.take()
        first.release()
        assert second.take()
        assert not first.take()
        second.release()
        assert first.take()
    finally:
        os.close(one)
        os.close(other)
