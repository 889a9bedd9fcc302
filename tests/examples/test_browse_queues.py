"""The browse script."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tdqsim import Region, StartOptions
from tests import apart
from tests.examples.conftest import CARD_POSTING, ROOT


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return apart.run(ROOT / "examples" / "browse_queues.py", *arguments)


def test_it_lists_every_queue_of_a_region_directory() -> None:
    done = run(CARD_POSTING)
    assert (done.returncode, done.stderr) == (0, "")
    lines = {line.split()[0]: line.split() for line in done.stdout.splitlines()}
    assert lines["DALY"] == ["DALY", "EXTRA", "ENABLED", "DD", "DALYTRAN"]
    assert lines["PST1"] == ["PST1", "INTRA", "ENABLED", "0", "records"]
    assert lines["PLOG"] == ["PLOG", "INDIRECT", "->", "CSSL"]


def test_it_copies_records_and_takes_none(tmp_path: Path) -> None:
    store = tmp_path / "store"
    with Region.from_directory(
        CARD_POSTING, store=store, handlers=(), start=StartOptions(open_data_sets=False)
    ) as region:
        region.seed("PST2", [b"first", b"second one"])
    for _ in range(2):
        done = run(CARD_POSTING, store, "--copy-to", tmp_path / "copies")
        assert "2 copied to" in done.stdout
        assert (tmp_path / "copies" / "PST2").read_bytes() == b"\x00\x05first\x00\x0asecond one"


def test_it_says_what_is_wrong_on_one_line(tmp_path: Path) -> None:
    done = run(tmp_path)
    assert done.returncode == 1
    assert "region.yaml" in done.stderr
    assert "Traceback" not in done.stderr
    assert "there is no store" in run(CARD_POSTING, tmp_path / "nothing").stderr
