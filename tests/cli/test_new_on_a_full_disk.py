"""`tdq new` and `tdq guide --html` on a full disk: the place is named and nothing partial stays."""

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


@pytest.mark.parametrize("there", [False, True])
def test_a_site_names_the_place_and_leaves_nothing(
    tdq: Tdq, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: bool
) -> None:
    pytest.importorskip("material", reason="the extra tdqsim[guide] is not installed")
    target = tmp_path / "site"
    if there:
        target.mkdir()

    def full(config: dict[str, str]) -> None:
        Path(config["site_dir"], "assets").mkdir(parents=True)
        Path(config["site_dir"], "index.html").write_text("half", "utf-8")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/opt/material/templates/assets/fonts.css")

    monkeypatch.setattr("mkdocs.commands.build.build", full)
    monkeypatch.setattr("tdqsim.cli.site._make_pictures", lambda folder: folder.mkdir())
    ended = tdq("guide", "--html", target)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == f"tdq: {target}: No space left on device; nothing was left there\n"
    assert [*tmp_path.glob("site/*")] == []
    assert target.exists() is there
