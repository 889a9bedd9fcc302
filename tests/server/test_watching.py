"""``tdq serve --watch``: changed files of a region are taken up as CREATE or a new version of a program would be."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the extra [serve] is not installed")

from tdqsim.cics import Abend, Region
from tdqsim.facts import Cvda
from tdqsim.server.changed_files import ChangedFiles
from tdqsim.server.host import Host
from tdqsim.server.watching import RegionWatch

REGION = "applid: PAYREGN\ndefinitions: [pay.yaml]\nhandlers: [posting]\n"
PAY = "group: PAY\ntdqueue:\n- {name: PAYQ, type: INTRA}\n- {name: LOGQ, type: INTRA}\ntransaction:\n- {name: POST}\n"
POSTING = """\
from amounts import AMOUNT

def register(region):
    @region.transaction("POST")
    def post(task):
        task.writeq_td("PAYQ", AMOUNT)
"""


class Served:
    """A served region directory whose files a test changes.

    Attributes:
        folder: the directory.
        host, region: the server's host and region.
        watch: the watch of its files.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.host = Host()
        region = self.host.add_directory(folder)
        assert isinstance(region, Region)
        self.region = region
        self.watch = RegionWatch(self.host, folder, region)

    def change(self, file: str, text: str) -> None:
        """Write a file as an editor does: under another name, then renamed."""
        new = self.folder / f"{file}.new"
        new.write_text(text)
        new.replace(self.folder / file)

    def looked(self) -> list[tuple[str, str, bool]]:
        """Look once; return what was done: the thing, the text, whether it was refused."""
        count = asyncio.run(self.watch.look())
        entries = list(self.host.watched_changes[self.region.applid])
        return [(each.what, each.done, each.refused) for each in entries[len(entries) - count :]]

    def do(self, call: Callable[[], Any]) -> Any:
        """Call a function in the engine's thread."""
        return self.host.engine.submit(call).result(60)

    def posted(self) -> bytes:
        """Run POST; return the record that it has written."""
        self.do(lambda: self.region.start("POST"))
        record: bytes = self.do(lambda: self.region.readq_td("PAYQ"))
        return record


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    for name, text in (
        ("region.yaml", REGION), ("pay.yaml", PAY), ("posting.py", POSTING), ("amounts.py", "AMOUNT = b'one'\n"),
    ):  # fmt: skip
        (tmp_path / name).write_text(text)
    made = Served(tmp_path)
    yield made
    made.host.stop()


def test_without_a_change_nothing_is_done(served: Served) -> None:
    assert served.looked() == []
    assert served.looked() == []
    environment = served.folder / "environment"  # such as pip changes it
    environment.mkdir()
    (environment / "pyvenv.cfg").write_text("")
    (environment / "module.py").write_text("")
    (served.folder / "lost+found").mkdir(mode=0)  # only root may look into it
    assert served.looked() == []


def test_a_new_definition_is_installed_and_an_enabled_queue_is_refused_as_create_refuses_it(served: Served) -> None:
    served.do(lambda: served.region.writeq_td("PAYQ", b"kept"))
    changed = PAY.replace("PAYQ, type: INTRA", "PAYQ, type: INTRA, recovstatus: LOGICAL")
    served.change("pay.yaml", changed + "- {name: NEWT}\n")
    refused, new = served.looked()
    assert refused[::2] == ("TDQUEUE(PAYQ)", True)
    assert "it must be DISABLED" in refused[1]
    assert new == ("TRANSACTION(NEWT)", "installed", False)
    served.do(lambda: served.region.set_tdqueue("PAYQ", enablestatus="DISABLED"))
    served.change("pay.yaml", changed + "- {name: NEWT}\n")  # saved again
    assert served.looked() == [("TDQUEUE(PAYQ)", "replaced", False)]
    assert served.do(lambda: served.region.inquire_tdqueue("PAYQ").recovstatus) is Cvda.LOGICAL
    assert served.do(lambda: served.region.peek("PAYQ")) == [b"kept"]


def test_a_definition_that_leaves_the_files_remains_installed(served: Served) -> None:
    without = PAY.replace("- {name: LOGQ, type: INTRA}\n", "")
    served.change("pay.yaml", without)
    assert [each[0] for each in served.looked()] == ["TDQUEUE(LOGQ)"]
    assert served.do(lambda: "LOGQ" in served.region.tdqueues)
    served.change("pay.yaml", without + "- {name: NEWT}\n")
    assert served.looked() == [("TRANSACTION(NEWT)", "installed", False)]  # that LOGQ has left is told once


def test_an_error_in_a_definition_file_changes_nothing_and_names_the_line(served: Served) -> None:
    served.change("pay.yaml", PAY.replace("type: INTRA}", "type: INTER}", 1))
    ((what, why, refused),) = served.looked()
    assert (what, refused) == ("definitions", True)
    assert "pay.yaml:3" in why
    served.change("pay.yaml", PAY)
    assert served.looked() == []
    (served.folder / "pay.yaml").unlink()
    ((what, why, refused),) = served.looked()
    assert (what, refused) == ("definitions", True)
    assert "pay.yaml" in why


def test_changed_modules_are_imported_again_and_the_next_task_runs_them(served: Served) -> None:
    assert served.posted() == b"one"
    served.change("amounts.py", "AMOUNT = b'two'\n")  # a module that the module of the handler imports
    assert served.looked() == [("handlers", "imported again", False)]
    assert served.looked() == []
    assert served.posted() == b"two"
    served.change("posting.py", "import nothing_of_the_kind\n")
    ((what, why, refused),) = served.looked()
    assert (what, refused) == ("handlers", True)
    assert "nothing_of_the_kind" in why
    assert served.posted() == b"two"
    served.change("posting.py", POSTING.replace("AMOUNT)", "b'three')"))
    assert served.looked()[0][2] is False
    assert served.posted() == b"three"
    served.change("posting.py", "import nothing_of_the_kind\n")
    assert served.looked()[0][2] is True
    served.change("posting.py", "def register(region):\n    pass\n")
    assert served.looked() == [("handlers", "imported again; these transactions have no program now: POST", False)]


def test_a_file_that_is_written_in_place_with_the_same_length_is_changed(served: Served) -> None:
    file = served.folder / "amounts.py"
    before = file.stat().st_mtime_ns
    file.write_text("AMOUNT = b'two'\n")
    os.utime(file, ns=(before, before + 1))
    assert served.looked() == [("handlers", "imported again", False)]
    assert served.posted() == b"two"


def test_what_changes_while_files_become_watched_is_seen_by_the_next_look(tmp_path: Path) -> None:
    old, new = tmp_path / "old.yaml", tmp_path / "new.yaml"
    watched = [old]
    files = ChangedFiles(lambda: watched)
    old.write_text("1")
    new.write_text("1")
    watched.append(new)
    files.take_new()
    assert asyncio.run(files.changed()) == set()
    old.write_text("22")
    watched.append(tmp_path / "third.yaml")
    files.take_new()
    assert asyncio.run(files.changed()) == {old}


def test_handlers_of_region_yaml_are_registered(served: Served) -> None:
    served.change("other.py", POSTING.replace("AMOUNT)", "b'other')"))
    served.looked()
    served.change("region.yaml", REGION.replace("[posting]", "[other]"))
    assert served.looked() == [("handlers", "imported again", False)]
    assert served.posted() == b"other"


def test_a_running_task_keeps_the_program_with_which_it_began(served: Served) -> None:
    served.change("posting.py", POSTING.replace("task.writeq_td", "task.delay(seconds=60)\n        task.writeq_td"))
    assert len(served.looked()) == 1
    running = served.host.engine.submit(lambda: served.region.start("POST"))
    served.do(lambda: None)
    served.change("amounts.py", "AMOUNT = b'new'\n")
    assert len(served.looked()) == 1
    served.do(lambda: served.host.engine.dispatcher.clock.advance(61))
    running.result(60)
    assert served.do(lambda: served.region.readq_td("PAYQ")) == b"one"


def test_a_layout_of_region_yaml_is_read_once(served: Served) -> None:
    served.change("pay.cpy", "       01 PAY.\n          05 NAME PIC X(2).\n")
    served.change("region.yaml", REGION + "layouts: {PAYQ: pay.cpy}\n")
    assert served.looked() == [("layouts", "read again", False)]
    assert served.looked() == []


def test_region_yaml_gives_new_definition_files_and_says_what_needs_a_restart(served: Served) -> None:
    served.change("more.yaml", "group: MORE\ntdqueue:\n- {name: MORQ, type: INTRA}\n")
    served.change("region.yaml", REGION.replace("[pay.yaml]", "[pay.yaml, more.yaml]") + "code_page: '1140'\n")
    restart, installed = served.looked()
    assert restart[::2] == ("region.yaml", True)
    assert restart[1].startswith("code_page: ")
    assert installed == ("TDQUEUE(MORQ)", "installed", False)
    served.change("region.yaml", "applid: 4711-TOO-LONG\n")
    ((what, _why, refused),) = served.looked()
    assert (what, refused) == ("region.yaml", True)
    served.change("more.yaml", "group: MORE\ntdqueue:\n- {name: NXTQ, type: INTRA}\n")
    assert ("TDQUEUE(NXTQ)", "installed", False) in served.looked()


SOURCE = """\
       IDENTIFICATION DIVISION.
       PROGRAM-ID. SHOW.
       DATA DIVISION.
       WORKING-STORAGE SECTION.
       COPY AMOUNT.
       PROCEDURE DIVISION.
           EXEC CICS WRITEQ TD QUEUE('PAYQ') FROM(WS-AMOUNT) END-EXEC.
           EXEC CICS RETURN END-EXEC.
"""
COPYBOOK = "       01  WS-AMOUNT PIC X(3) VALUE '{}'.\n"


@pytest.mark.cobc
@pytest.mark.skipif(shutil.which("cobc") is None, reason="GnuCOBOL (cobc) is not installed")
def test_a_changed_copybook_gives_a_new_version_of_the_program(tmp_path: Path) -> None:
    (tmp_path / "cobol").mkdir()
    (tmp_path / "region.yaml").write_text(
        "applid: COBREGN\ndefinitions: [pay.yaml]\ncobol: {sources: [cobol], copybooks: [cobol], cache: cache}\n"
    )
    (tmp_path / "pay.yaml").write_text(PAY.replace("{name: POST}", "{name: POST, program: SHOW}"))
    (tmp_path / "cobol" / "SHOW.cbl").write_text(SOURCE)
    (tmp_path / "cobol" / "AMOUNT.cpy").write_text(COPYBOOK.format("ONE"))
    served = Served(tmp_path)
    try:
        assert served.posted() == b"ONE"
        served.change("cobol/AMOUNT.cpy", COPYBOOK.format("TWO"))
        assert served.looked() == [("program SHOW", "the next task runs the new version", False)]
        assert served.posted() == b"TWO"
        served.change("cobol/AMOUNT.cpy", "       01  WS-OTHER PIC X(3).\n")
        ((what, why, refused),) = served.looked()
        assert (what, refused) == ("program SHOW", True)
        assert "WS-AMOUNT" in why
        assert served.posted() == b"TWO"
    finally:
        served.host.stop()


def test_an_abend_after_a_change_names_the_new_line(served: Served) -> None:
    served.change("posting.py", POSTING.replace("task.writeq_td", "raise ValueError  #"))
    assert len(served.looked()) == 1
    with pytest.raises(Abend):
        served.posted()
    (dump,) = served.region.diagnostics.failures
    assert dump.statement.startswith("raise ValueError")
