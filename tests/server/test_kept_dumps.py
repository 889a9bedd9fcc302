"""The dumps of a served region with a store outlive the server."""

from __future__ import annotations

import pytest

pytest.importorskip("fastapi", reason="the extra [serve] is not installed")

from tdqsim.cics import Abend
from tdqsim.server.host import Host


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "region.yaml").write_text("applid: PAYREGN\ndefinitions: [pay.yaml]\n")
    (tmp_path / "pay.yaml").write_text("group: PAY\ntdqueue:\n- {name: LOGQ, type: INTRA, recovstatus: LOGICAL}\n")
    return tmp_path


def served_dumps(folder, *, failing=0):
    """Serve the region with its store, let tasks abend, and return its dumps."""
    host = Host()
    try:
        region = host.add_directory(folder, folder / "store")

        def fail():
            with region.task() as task:
                task.writeq_td("LOGQ", b"\x00\xc1")
                task.abend("MINE")

        for _time in range(failing):
            assert isinstance(host.engine.submit(fail).exception(), Abend)
        return host.engine.outside(lambda: list(region.diagnostics.failures)).result()
    finally:
        host.stop()


def test_a_server_with_the_same_store_has_them_again(folder):
    before = served_dumps(folder, failing=2)
    assert [(each.code, each.works[0].records) for each in before] == [("MINE", (b"\x00\xc1",))] * 2
    assert served_dumps(folder) == before


def test_a_line_that_was_written_only_partly_is_skipped(folder):
    (first, _second) = served_dumps(folder, failing=2)
    kept = folder / "store" / "dumps.jsonl"
    kept.write_bytes(kept.read_bytes()[:-20])
    (third,) = served_dumps(folder, failing=1)[1:]
    assert served_dumps(folder) == [first, third]


def test_the_file_does_not_grow_without_end(folder):
    last = served_dumps(folder, failing=230)
    kept = folder / "store" / "dumps.jsonl"
    assert len(kept.read_bytes().splitlines()) < 110
    assert served_dumps(folder) == last
    assert kept.stat().st_mode & 0o077 == 0
