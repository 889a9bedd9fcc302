"""COBOL runs in one thread at a time; a second one is refused with the reason, and a region may be handed over."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from tdqsim import Abend, Region, define_tdqueue
from tdqsim.cobol import CobolPrograms

pytestmark = pytest.mark.cobc

SOURCE = """\
       IDENTIFICATION DIVISION.
       PROGRAM-ID. SAME.
       DATA DIVISION.
       WORKING-STORAGE SECTION.
       01 D PIC X(8) VALUE 'REGION A'.
       PROCEDURE DIVISION.
           EXEC CICS WRITEQ TD QUEUE('OUT') FROM(D) END-EXEC.
           GOBACK.
"""


def write_and_peek(folder: Path, applid: str) -> list[bytes]:
    with Region([define_tdqueue(name="OUT", type="INTRA")], applid=applid) as region:
        run_in(region, folder)
        return region.peek("OUT")


def run_in(region: Region, folder: Path) -> None:
    handle = region.start(CobolPrograms(region, sources=[folder], cache=folder / "compiled").handler("SAME"))
    region.run()
    handle.result()


def in_thread(call):
    """The result of a call in another thread, or its exception."""
    results = []

    def run():
        try:
            results.append(call())
        except Exception as error:  # noqa: BLE001
            results.append(error)

    thread = threading.Thread(target=run, name="the other")
    thread.start()
    thread.join()
    return results[0]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "SAME.cbl").write_text(SOURCE)
    return tmp_path


def test_a_second_thread_is_refused_while_the_first_has_a_region_with_cobol_open(folder):
    with Region([define_tdqueue(name="OUT", type="INTRA")], applid="FIRST") as region:
        run_in(region, folder)
        refused = in_thread(lambda: write_and_peek(folder, "SECOND"))
        assert isinstance(refused, Abend)
        assert "region FIRST has run COBOL in thread 'MainThread' and is open" in str(refused)
        assert "thread 'the other' cannot run COBOL for region SECOND" in str(refused)
        assert "use both regions in one thread" in str(refused)
        run_in(region, folder)
        assert region.peek("OUT") == [b"REGION A", b"REGION A"]


def test_another_thread_runs_cobol_after_the_first_has_closed_its_regions(folder):
    assert write_and_peek(folder, "FIRST") == [b"REGION A"]
    assert in_thread(lambda: write_and_peek(folder, "SECOND")) == [b"REGION A"]
    assert write_and_peek(folder, "THIRD") == [b"REGION A"]


def test_one_thread_runs_cobol_in_many_regions(folder):
    with (
        Region([define_tdqueue(name="OUT", type="INTRA")]) as one,
        Region([define_tdqueue(name="OUT", type="INTRA")]) as two,
    ):
        for region in (one, two, one):
            run_in(region, folder)
        assert (len(one.peek("OUT")), len(two.peek("OUT"))) == (2, 1)
