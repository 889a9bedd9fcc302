"""`tdq new` on a full disk: the place is named and nothing partial stays."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from tests.cli.conftest import Tdq


@pytest.mark.parametrize("there", [False, True])
def test_new_names_the_place_and_leaves_nothing(
    tdq: Tdq, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: bool
) -> None:
    if there:
        (tmp_path / "pay").mkdir()
    write, written = Path.write_text, []

    def full(path: Path, *arguments: str) -> int:
        if written:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written.append(path)
        return write(path, *arguments)

    monkeypatch.setattr(Path, "write_text", full)
    ended = tdq("new", tmp_path / "pay")
    assert ended.code == 2
    assert ended.err == f"tdq: {tmp_path / 'pay'}: No space left on device; nothing was left there\n"
    assert written
    assert [*tmp_path.glob("pay/*")] == []
    assert (tmp_path / "pay").exists() is there
    monkeypatch.undo()
    assert tdq("new", tmp_path / "pay").code == 0
