"""The lock on a file: taken by one, free again when given up or when its holder is gone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tdqsim.core.portable import FileLock, alive, read_at, write_at


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


@pytest.mark.skipif(sys.platform == "win32", reason="processes are not looked for on Windows")
def test_a_process_is_alive_until_it_has_ended() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        assert alive(process.pid)
    assert process.returncode is not None
    assert not alive(process.pid)
    assert alive(os.getpid())


@pytest.mark.skipif(not hasattr(os, "pread"), reason="the system has no pread")
def test_parts_that_the_system_delivers_or_takes_are_put_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, write = os.pread, os.pwrite
    monkeypatch.setattr(os, "pread", lambda fd, size, offset: read(fd, min(size, 3), offset))
    monkeypatch.setattr(os, "pwrite", lambda fd, data, offset: write(fd, data[:2], offset))
    fd = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT)
    try:
        write_at(fd, b"0123456789", 1)
        assert read_at(fd, 10, 1) == b"0123456789"
        assert read_at(fd, 100, 6) == b"56789"
        monkeypatch.setattr(os, "pwrite", lambda *_: 0)
        with pytest.raises(OSError, match="only 0 of 2 bytes"):
            write_at(fd, b"ab", 0)
    finally:
        os.close(fd)
