"""No data set name leads out of its directory, symbolic links or not; and no file of our own is written through one."""

from __future__ import annotations

import os
import socket
import threading
from pathlib import Path

import pytest

from tdqsim.datasets import DataSetDirectory, DsnameError, parse_dcb


@pytest.mark.parametrize(
    ("link", "dsname"),
    [("PAY.DAILY", "PAY.DAILY"), ("PAY.LIB", "PAY.LIB(MEMBER)"), ("PAY.GDG.G0001V00", "PAY.GDG(0)")],
)
@pytest.mark.parametrize("output", [False, True])
def test_a_link_out_of_the_directory_is_refused(tmp_path: Path, link: str, dsname: str, *, output: bool) -> None:
    root, outside = tmp_path / "data", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (outside / "file").write_text("")
    (root / link).symlink_to(outside if "(MEMBER)" in dsname else outside / "file")
    with pytest.raises(DsnameError, match="a symbolic link that leads out of"):
        DataSetDirectory(root).path(dsname, output=output)


def test_a_link_within_the_directory_is_followed(tmp_path: Path) -> None:
    (tmp_path / "PAY.NEW").write_text("")
    (tmp_path / "PAY.DAILY").symlink_to(tmp_path / "PAY.NEW")
    assert DataSetDirectory(tmp_path).path("PAY.DAILY").samefile(tmp_path / "PAY.NEW")


def test_labels_are_written_into_the_directory_only(tmp_path: Path) -> None:
    root, outside = tmp_path / "data", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (root / ".vtoc").symlink_to(outside)
    with pytest.raises(DsnameError, match="a symbolic link that leads out of"):
        DataSetDirectory(root).write_label(root / "PAY.DAILY", parse_dcb("RECFM=FB,LRECL=80"))
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize("there", [True, False], ids=["file", "nothing"])
def test_nobodys_link_takes_the_place_of_a_file_while_it_is_made(tmp_path: Path, *, there: bool) -> None:
    """The names under which files are made before they get their own can be known."""
    from tdqsim.cobol import coverage
    from tdqsim.pipeline.publishing import publish_json
    from tdqsim.pipeline.stages.manifest import holding
    from tdqsim.report.page import Page

    outside, room = tmp_path / "outside", tmp_path / "room"
    outside.mkdir()
    (room / ".vtoc").mkdir(parents=True)
    if there:
        (outside / "file").write_text("kept")
    pid = os.getpid()
    for name in (
        f".vtoc/PAY.DAILY.{pid}.new",
        f".page.html.{pid}",
        f".x.json.{socket.gethostname()}.{pid}.{threading.get_ident()}",
        "lcov.info",
        "index.html",
        "001-A.html",
        f"part-{pid}.json",
        ".lock",
    ):
        (room / name).symlink_to(outside / "file")
    DataSetDirectory(room).write_label(room / "PAY.DAILY", parse_dcb("RECFM=FB,LRECL=80"))
    Page("page", None, "").write(room / "page.html")
    publish_json(room / "x.json", {"a": 1})
    coverage.write({"A.cbl": {1: True}}, room)
    coverage.leave_part(room)
    with pytest.raises(OSError, match=r"symbolic link"), holding(room):
        pass
    assert [file.read_text() for file in outside.iterdir()] == ["kept"] * there
    for name in (".vtoc/PAY.DAILY", "page.html", "x.json", "lcov.info", "index.html", "001-A.html"):
        assert (room / name).stat().st_size
        assert not (room / name).is_symlink()
