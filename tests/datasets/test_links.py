"""No data set leads out of its directory by a symbolic link, and no other file that is written is written through one."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tdqsim import Condition, Region, define_tdqueue
from tdqsim.datasets import DataSetDirectory, DDCard, DsnameError, parse_dcb
from tdqsim.ibmi import export_journal
from tdqsim.testing import History


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
    ):
        (room / name).symlink_to(outside / "file")
    DataSetDirectory(room).write_label(room / "PAY.DAILY", parse_dcb("RECFM=FB,LRECL=80"))
    Page("page", None, "").write(room / "page.html")
    publish_json(room / "x.json", {"a": 1})
    coverage.write({"A.cbl": coverage.SourceCoverage({1: True})}, room)
    coverage.leave_part(room)
    assert [file.read_text() for file in outside.iterdir()] == ["kept"] * there
    for name in (".vtoc/PAY.DAILY", "page.html", "x.json", "lcov.info", "index.html", "001-A.html"):
        assert (room / name).stat().st_size
        assert not (room / name).is_symlink()


def region_directory(root: Path, card: str) -> Path:
    (root / "region.yaml").write_text(f"definitions: [queues.yaml]\ndd:\n  {card}\n")
    (root / "queues.yaml").write_text(
        "groups:\n- group: G\n  tdqueue:\n"
        "  - {name: OUTQ, type: EXTRA, typefile: OUTPUT, ddname: OUT, recordsize: 4, recordformat: FIXED, opentime: INITIAL}\n"
    )
    return root


@pytest.mark.parametrize("disp", ["OLD", "MOD", "SHR"])
@pytest.mark.parametrize("way", ["a file", "a file that is not there", "an absolute path"])
def test_a_dd_card_writes_through_no_link_that_leads_out(tmp_path: Path, way: str, disp: str) -> None:
    root, outside = tmp_path / "region", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    if way != "a file that is not there":
        (outside / "file").write_text("kept")
    (root / "file").symlink_to(outside / "file")
    path = str(root / "file") if way == "an absolute path" else "file"
    with Region.from_directory(region_directory(root, f"OUT: {{path: {path}, disp: {disp}}}")) as region:
        with pytest.raises(Condition, match="NOTOPEN"):
            region.writeq_td("OUTQ", b"abcd")
        with pytest.raises(Condition, match="a symbolic link that leads out of"):
            region.set_tdqueue("OUTQ", openstatus="OPEN")
        with pytest.raises(Condition, match="a symbolic link that leads out of"):
            region.seed("OUTQ", [b"abcd"])
    assert [file.read_text() for file in outside.iterdir()] == ["kept"] * (way != "a file that is not there")


@pytest.mark.parametrize("path", ["file", "sub/file", "../beside/file"])
def test_a_dd_card_writes_where_it_says(tmp_path: Path, path: str) -> None:
    root = tmp_path / "region"
    for folder in (root, root / "real", tmp_path / "beside"):
        folder.mkdir()
    (root / "sub").symlink_to("real")
    (root / "file").symlink_to("plain")
    (tmp_path / "beside" / "file").symlink_to("another")
    with Region.from_directory(region_directory(root, f"OUT: {{path: {path}}}")) as region:
        region.writeq_td("OUTQ", b"abcd")
    assert (root / path).read_bytes() == b"abcd"
    written = {"file": root / "plain", "sub/file": root / "real" / "file"}
    assert written.get(path, tmp_path / "beside" / "another").read_bytes() == b"abcd"


def test_a_dd_card_reads_through_any_link(tmp_path: Path) -> None:
    (tmp_path / "there").write_bytes(b"abcd")
    (tmp_path / "region").mkdir()
    (tmp_path / "region" / "in").symlink_to(tmp_path / "there")
    queue = define_tdqueue(
        name="INQ", type="EXTRA", typefile="INPUT", ddname="IN", recordsize=4, recordformat="FIXED", opentime="INITIAL"
    )
    with Region([queue], dd={"IN": DDCard.from_mapping("IN", {"path": "in"}, tmp_path / "region")}) as region:
        assert region.readq_td("INQ") == b"abcd"


def write_history(path: Path) -> None:
    with History(path=path):
        pass


@pytest.mark.parametrize(
    ("write", "written"),
    [
        (write_history, '{"format": 1}\n'),
        (lambda path: History().save(path), '{"format": 1}\n'),
        (lambda path: export_journal([], path), ""),
    ],
)
@pytest.mark.parametrize("inside", [True, False])
def test_files_that_are_named_are_written_through_no_link_that_leads_out(
    tmp_path: Path, write: Callable[[Path], object], written: str, *, inside: bool
) -> None:
    room = tmp_path / "room"
    room.mkdir()
    there = (room if inside else tmp_path) / "file"
    there.write_text("kept")
    (room / "link").symlink_to(there)
    if inside:
        write(room / "link")
        assert there.read_text() == written
        return
    with pytest.raises(OSError, match=r"is a symbolic link that leads out of .*room; name the file itself: .*link"):
        write(room / "link")
    assert there.read_text() == "kept"


def test_a_hard_link_is_the_file_itself(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "PAY.DAILY").hardlink_to(tmp_path / "file")
    assert DataSetDirectory(tmp_path).path("PAY.DAILY", output=True) == tmp_path / "PAY.DAILY"
