"""No data set name leads out of its directory, symbolic links or not."""

from __future__ import annotations

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
