"""The page of options says what the table says."""

from __future__ import annotations

from tdqsim.cli.chapters import CHAPTERS
from tdqsim.cli.guide import chapter
from tdqsim.facts import table


def test_every_option_is_on_the_page_with_its_status() -> None:
    lines = chapter("qsam-options").splitlines()
    shown = {tuple(cell.strip() for cell in line.split("|")[1:7:5]) for line in lines if line.startswith("| `")}
    assert shown == {(f"`{row['option']}`", row["status"]) for row in table("qsam_options")}


def test_the_chapters_of_the_pipeline_are_there() -> None:
    assert {"pipeline", "pipeline-scale", "qsam-options"} <= CHAPTERS.keys()


def test_every_option_of_cobrix_is_on_the_page_for_its_users() -> None:
    page = chapter("coming-from-cobrix")
    theirs = [row["option"].partition(":")[0] for row in table("qsam_options") if row["status"] != "own"]
    assert len(theirs) > 80
    assert [option for option in theirs if f"`{option}`" not in page] == []
