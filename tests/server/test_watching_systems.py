"""``tdq serve --watch``: changed files of an IBM i system are taken up as CRTDTAQ, CRTLIB and other commands would be."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the extra [serve] is not installed")

from tdqsim.ibmi import System
from tdqsim.server.host import Host
from tdqsim.server.watching import watch_files
from tdqsim.server.watching_systems import SystemWatch

SYSTEM = "name: PAYSYS\ndefinitions: [queues.yaml]\ncommands:\n- CRTUSRPRF USRPRF(ALICE)\n"
QUEUES = "dtaq:\n- {dtaq: PAYLIB/ORDERS, maxlen: 80}\n- {dtaq: PAYLIB/LOG, maxlen: 80}\n"


class Served:
    """A served system directory whose files a test changes.

    Attributes:
        folder: the directory.
        host, system: the server's host and system.
        watch: the watch of its files.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.change("system.yaml", SYSTEM)
        self.change("queues.yaml", QUEUES)
        self.host = Host()
        system = self.host.add_directory(folder)
        assert isinstance(system, System)
        self.system = system
        self.watch = SystemWatch(self.host, folder, system)
        self.do(lambda job: job.qsnddtaq("ORDERS", "PAYLIB", b"kept"))

    def change(self, file: str, text: str) -> None:
        new = self.folder / f"{file}.new"
        new.write_text(text)
        new.replace(self.folder / file)

    def looked(self) -> list[tuple[str, str, bool]]:
        """Look once; return what was done: the thing, the text, whether it was refused."""
        count = asyncio.run(self.watch.look())
        entries = list(self.host.watched_changes_of_systems["PAYSYS"])
        return [(each.what, each.done, each.refused) for each in entries[len(entries) - count :]]

    def do(self, call: Callable[[Any], Any]) -> Any:
        """Call a function with a job of QSECOFR in the engine's thread."""

        def work() -> Any:
            with self.system.job("TEST", user="QSECOFR") as job:
                return call(job)

        return self.host.engine.submit(work).result(60)

    def entries(self) -> list[bytes]:
        rows = self.do(lambda job: job.qsys2.data_queue_entries("ORDERS", "PAYLIB"))
        return [row.message_data_binary for row in rows]


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    made = Served(tmp_path)
    yield made
    made.host.stop()


def test_a_new_data_queue_is_created_with_its_library_and_the_others_keep_their_entries(served: Served) -> None:
    assert served.looked() == []
    served.change("queues.yaml", QUEUES + "- {dtaq: NEWLIB/MORE, maxlen: 10}\n")
    assert served.looked() == [("DTAQ(NEWLIB/MORE)", "created", False)]
    served.do(lambda job: job.qsnddtaq("MORE", "NEWLIB", b"x"))
    assert served.entries() == [b"kept"]


def test_a_changed_definition_is_refused_as_long_as_the_data_queue_exists(served: Served) -> None:
    longer = QUEUES.replace("ORDERS, maxlen: 80", "ORDERS, maxlen: 90")
    served.change("queues.yaml", longer)
    ((what, why, refused),) = served.looked()
    assert (what, refused) == ("DTAQ(PAYLIB/ORDERS)", True)
    assert why == "the data queue already exists; it keeps its attributes and entries"
    assert served.entries() == [b"kept"]
    served.do(lambda job: job.command("DLTDTAQ DTAQ(PAYLIB/ORDERS)"))
    served.change("queues.yaml", longer)  # saved again
    assert served.looked() == [("DTAQ(PAYLIB/ORDERS)", "created", False)]
    assert served.do(lambda job: job.qmhqrdqd("ORDERS", "PAYLIB").message_length) == 90


def test_a_definition_that_leaves_the_files_remains(served: Served) -> None:
    served.change("queues.yaml", QUEUES.partition("- {dtaq: PAYLIB/LOG")[0])
    assert [(what, refused) for what, _done, refused in served.looked()] == [("DTAQ(PAYLIB/LOG)", False)]
    served.change("queues.yaml", QUEUES.partition("- {dtaq: PAYLIB/LOG")[0])  # saved again
    assert served.looked() == []  # it is told once
    served.do(lambda job: job.qsnddtaq("LOG", "PAYLIB", b"x"))


def test_an_error_in_a_file_changes_nothing_and_names_the_line(served: Served) -> None:
    served.change("queues.yaml", QUEUES.replace("LOG, maxlen: 80", "LOG, maxlen: many"))
    ((what, why, refused),) = served.looked()
    assert (what, refused) == ("files of the system", True)
    assert "queues.yaml:3" in why
    served.change("queues.yaml", QUEUES)
    assert served.looked() == []


def test_a_new_definition_of_a_data_queue_that_somebody_has_created_is_refused(served: Served) -> None:
    served.do(lambda job: job.crtdtaq("PAYLIB/HAND", maxlen=10))
    served.change("more.yaml", "dtaq:\n- {dtaq: PAYLIB/HAND, maxlen: 80}\n")
    served.change("system.yaml", SYSTEM.replace("[queues.yaml]", "[queues.yaml, more.yaml]") + "libraries: [PAYLIB]\n")
    assert served.looked() == [("DTAQ(PAYLIB/HAND)", "the data queue already exists", True)]
    assert served.looked() == []  # the file that is new is no change


def test_a_command_that_is_given_once_more_runs_once_and_a_refused_one_with_each_change(served: Served) -> None:
    again = ("command CRTUSRPRF", True)
    for more in ("", "libraries: [TOOLS]\n"):
        served.change("system.yaml", SYSTEM + "- CRTUSRPRF USRPRF(ALICE)\n" + more)
        assert [each[::2] for each in served.looked() if each[0].startswith("command")] == [again]


def test_system_yaml_gives_libraries_values_and_commands_and_says_what_needs_a_restart(served: Served) -> None:
    more = "- CRTUSRPRF USRPRF(BOB)\n- CHGUSRPRF USRPRF(NONE) PASSWORD(SECRET)\nlibraries: [TOOLS]\n"
    served.change("system.yaml", SYSTEM + more + "system_values: {QMAXSIGN: 7}\nccsid: 273\n")
    restart, values, library, bob, none = served.looked()
    assert restart[::2] == ("system.yaml", True)
    assert restart[1].startswith("ccsid: ")
    assert (values, library) == (("system values", "set", False), ("library TOOLS", "created", False))
    assert bob == ("command CRTUSRPRF", "run", False)
    assert none[::2] == ("command CHGUSRPRF", True)
    assert "SECRET" not in str(none)
    assert served.host.engine.outside(lambda: served.system.values["QMAXSIGN"]).result(60) == 7
    served.change("system.yaml", SYSTEM + "- CRTUSRPRF USRPRF(BOB)\n- CRTUSRPRF USRPRF(NONE)\n")
    assert [each for each in served.looked() if each[0].startswith("command")] == [("command CRTUSRPRF", "run", False)]


def test_the_watch_of_a_server_looks_at_its_systems(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tdqsim.server.watching.LOOK_SECONDS", 0)

    async def follow() -> None:
        watching = asyncio.get_running_loop().create_task(watch_files(served.host, [served.folder]))
        await asyncio.sleep(0)
        before = served.host.watched_changes_of_systems["PAYSYS"]
        served.change("queues.yaml", QUEUES + "- {dtaq: PAYLIB/MORE, maxlen: 10}\n")
        while not before:  # noqa: ASYNC110  (the watch runs in the same loop)
            await asyncio.sleep(0)
        watching.cancel()

    asyncio.run(follow())
    assert [each.what for each in served.host.watched_changes_of_systems["PAYSYS"]] == ["DTAQ(PAYLIB/MORE)"]
