"""What the console reads of an IBM i system, without a browser."""

from __future__ import annotations

import pytest

pytest.importorskip("nicegui", reason="nicegui is not installed: the extra [serve] brings it")

from tdqsim import System
from tdqsim.server.console.system_state import read_journal


def test_of_a_journal_the_last_entries_are_read_newest_first():
    with System("PAYSYS") as system, system.job("OFFICER", user="QSECOFR") as job:
        system.crtlib("APPLIB")
        job.crtjrn("APPLIB/JRN")
        job.crtdtaq(dtaq="APPLIB/WORK", maxlen=20)
        job.strjrnobj("APPLIB/WORK", "APPLIB/JRN")
        for data in (b"1", b"22", b"333"):
            job.qsnddtaq("WORK", "APPLIB", data)

        def read(limit: int) -> list[tuple[object, object, object]]:
            return [(row[0], row[2], row[-1]) for row in read_journal(system, "APPLIB/JRN", limit)]

        assert read(2) == [(4, "QS Send data queue entry, no key", 3), (3, "QS Send data queue entry, no key", 2)]
        assert [number for number, *_ in read(100)] == [4, 3, 2, 1]
        assert read_journal(system, "APPLIB/NONE", 2) == []
