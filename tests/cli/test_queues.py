"""inquire, browse, peek, snapshot, set, read, write, seed on a region directory and a store."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from tdqsim import Region
from tests import apart
from tests.cli.conftest import Tdq

DEFINITIONS = """\
group: PAY
tdqueue:
  - {name: PAYQ, type: INTRA, atifacility: FILE, transid: PAYP, triggerlevel: 3}
  - {name: PAY2, type: INTRA}
  - {name: PAYL, type: INTRA, recovstatus: LOGICAL}
  - {name: PAYX, type: INDIRECT, indirectname: PAY2}
  - {name: CARD, type: EXTRA, typefile: INPUT, ddname: CARDIN, recordformat: FIXED, recordsize: 5}
  - {name: REPT, type: EXTRA, typefile: OUTPUT, ddname: REPORT, recordformat: FIXED, recordsize: 5}
transaction:
  - {name: PAYP, handler: "pay_handlers:payp"}
"""
HANDLERS = """\
def payp(task):
    for _ in range(3):
        task.writeq_td("PAY2", task.readq_td("PAYQ"))
"""


@pytest.fixture
def pay(tmp_path: Path) -> Path:
    """A region directory."""
    folder = tmp_path / "pay"
    folder.mkdir()
    (folder / "pay.yaml").write_text(DEFINITIONS)
    (folder / "pay_handlers.py").write_text(HANDLERS)
    (folder / "report.bin").write_bytes("BEGUN".encode("cp037"))
    (folder / "cards.bin").write_bytes("FIRSTOTHER".encode("cp037"))
    (folder / "region.yaml").write_text(
        "applid: PAYREGN\ndefinitions: [pay.yaml]\nhandlers: [pay_handlers]\n"
        "dd:\n  CARDIN: {path: cards.bin}\n  REPORT: {path: report.bin, disp: MOD}\n"
    )
    return folder


_NO_STORE = "no store: an empty region, made for this command; --store DIR (or TDQ_STORE) names the one to look at\n"


def test_peek_without_a_store_says_that_it_looks_at_an_empty_region(tdq: Tdq, pay: Path) -> None:
    ended = tdq("peek", "PAYQ", "--region", pay)
    assert (ended.code, ended.out, ended.err) == (0, "", _NO_STORE)
    tdq("write", "--seed", "PAYQ", "a", "--region", pay, "--store", pay / "store")
    assert "no store" not in tdq("peek", "PAYQ", "--region", pay, "--store", pay / "store").err


def test_a_set_of_one_cemt_command_says_that_it_is_forgotten(
    tdq: Tdq, pay: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = ("--region", pay, "--store", pay / "store")
    ended = tdq("cemt", "S TDQ(PAYL) DIS", *store)
    assert ended.code == 0
    assert "the region ended with this command: what SET changed is as defined again at its next start" in ended.err
    assert "(ENABLESTATUS); `tdq cemt` without a command keeps it for a session" in ended.err
    for kept in ("I TDQ(PAYL)", "S TDQ(PAYL) TRI(5)", "S TDQ(NONE) DIS"):
        assert "the region ended" not in tdq("cemt", kept, *store).err
    assert "Tri(00005)" in tdq("cemt", "I TDQ(PAYL)", *store).out
    monkeypatch.setattr("sys.stdin", io.StringIO("S TDQ(PAYL) DIS\nI TDQ(PAYL)\n"))
    session = tdq("cemt", *store)
    assert session.out.count(" Dis ") == 2
    assert session.err == ""


def test_a_set_of_one_command_that_is_forgotten_is_said(tdq: Tdq, pay: Path) -> None:
    store = ("--region", pay, "--store", pay / "store")
    assert "(ENABLESTATUS)" in tdq("set", "PAYL", "ENABLESTATUS=DISABLED", *store).err
    assert tdq("set", "PAYL", "TRIGGERLEVEL=5", *store).err == ""


def test_what_set_cannot_read_is_answered_with_what_to_write(tdq: Tdq, pay: Path) -> None:
    store = ("--region", pay, "--store", pay / "store")
    ended = tdq("set", "PAYL", "--triggerlevel", "9", *store)
    assert (ended.code, ended.err) == (
        2,
        "tdq: --triggerlevel: write OPTION=VALUE, as in tdq set PAYQ TRIGGERLEVEL=VALUE\n",
    )
    assert "as in tdq set PAYQ TRIGGERLEVEL=9" in tdq("set", "PAYL", "--triggerlevel=9", *store).err
    assert tdq("set", "PAYL", "TRIGERLEVEL=3", *store).err.endswith("; did you mean TRIGGERLEVEL?\n")
    twice = tdq("set", "PAYL", "TRIGGERLEVEL=3", "triggerlevel=4", *store)
    assert (twice.code, twice.err) == (2, "tdq: triggerlevel=4: TRIGGERLEVEL is given twice\n")


def names(text: str) -> list[str]:
    return [line.split()[0] for line in text.splitlines()[1:]]


def test_inquire_without_a_store_shows_the_region_as_it_would_start(tdq: Tdq, pay: Path) -> None:
    assert names(tdq("inquire", pay, "PAY*").out) == ["PAYQ", "PAY2", "PAYL", "PAYX"]
    assert names(tdq("inquire", "--region", pay, "PAY+", "CARD").out) == ["PAYQ", "PAY2", "PAYL", "PAYX", "CARD"]
    own = tdq("inquire", pay)
    assert names(own.out) == ["PAYQ", "PAY2", "PAYL", "PAYX", "CARD", "REPT"]
    assert own.err == f"{_NO_STORE}and 59 supplied queues that were never used (--all)\n"
    everything = names(tdq("inquire", pay, "--all").out)
    assert "CSSL" in everything
    assert "REPT" in everything
    assert (pay / "report.bin").read_bytes() == "BEGUN".encode("cp037")


def test_inquire_of_one_queue_shows_all_options(tdq: Tdq, pay: Path) -> None:
    lines = dict(line.split(maxsplit=1) for line in tdq("inquire", pay, "payq").out.splitlines() if " " in line)
    assert (lines["TYPE"], lines["TRIGGERLEVEL"], lines["ATITRANID"]) == ("INTRA", "3", "PAYP")
    (found,) = json.loads(tdq("inquire", pay, "PAYX", "--json").out)
    assert (found["TDQUEUE"], found["TYPE"], found["INDIRECTNAME"], found["NUMITEMS"]) == (
        "PAYX",
        "INDIRECT",
        "PAY2",
        -1,
    )
    chosen = json.loads(tdq("inquire", pay, "PAYQ", "--option", "numitems,type", "--json").out)
    assert chosen == [{"TDQUEUE": "PAYQ", "NUMITEMS": 0, "TYPE": "INTRA"}]


def test_an_unknown_queue_is_qiderr_and_exit_code_1(tdq: Tdq, pay: Path) -> None:
    ended = tdq("inquire", pay, "NONE")
    assert ended.code == 1
    assert "QIDERR (RESP 44 RESP2 1)" in ended.err
    assert tdq("inquire", pay, "NO*").code == 1
    assert tdq("inquire", pay, "PAYQ", "--option", "NONSENSE").code == 2


def test_inquire_goes_through_the_definitions_in_the_regions_order(tdq: Tdq, pay: Path) -> None:
    assert names(tdq("inquire", pay).out) == ["PAYQ", "PAY2", "PAYL", "PAYX", "CARD", "REPT"]
    order = names(tdq("inquire", pay, "--all").out)
    assert order[-6:] == ["PAYQ", "PAY2", "PAYL", "PAYX", "CARD", "REPT"]
    assert json.loads(tdq("inquire", pay, "--json", "--option", "TYPE").out)[-1]["TYPE"] == "EXTRA"
    assert tdq("inquire", "nowhere").code == 2


def test_records_go_in_and_come_out(tdq: Tdq, pay: Path) -> None:
    store = pay / "store"
    assert tdq("write", "PAY2", "HELLO", "WORLD", "-r", pay, "-s", store).out == "PAY2: 2 written\n"
    assert tdq("write", "PAYX", "C1C2", "--hex", "-r", pay, "-s", store).code == 0
    assert tdq("peek", pay, "PAY2", "-s", store).out.split() == ["HELLO", "WORLD", "AB"]
    assert tdq("peek", pay, "PAY2", "-s", store, "--hex", "-n", 1).out == "C8C5D3D3D6\n"
    assert tdq("read", "PAY2", "-r", pay, "-s", store).out == "HELLO\n"
    read = tdq("read", "PAY2", "-r", pay, "-s", store, "--all", "--json")
    assert [record["text"] for record in json.loads(read.out)] == ["WORLD", "AB"]
    empty = tdq("read", "PAY2", "-r", pay, "-s", store)
    assert empty.code == 1
    assert "QZERO (RESP 23)" in empty.err


def test_a_store_alone_is_enough_once_it_has_been_started(tdq: Tdq, pay: Path) -> None:
    store = pay / "store"
    tdq("write", "PAY2", "HELLO", "-d", pay / "pay.yaml", "-s", store, "--dd", f"REPORT={pay / 'r.bin'}")
    assert tdq("peek", "PAY2", "-s", store).out == "HELLO\n"
    assert tdq("inquire", "PAY2", "-s", store, "--option", "NUMITEMS", "--json").out.count('"NUMITEMS": 1') == 1


def test_written_records_trigger_handlers_and_seeded_ones_do_not(tdq: Tdq, pay: Path) -> None:
    store = pay / "store"
    assert tdq("write", "--seed", "PAYQ", "ONE", "TWO", "-r", pay, "-s", store).out == "PAYQ: 2 seeded\n"
    assert tdq("write", "--seed", "PAYQ", "THREE", "-r", pay, "-s", store).code == 0
    assert tdq("peek", "PAYQ", "-s", store).out.split() == ["ONE", "TWO", "THREE"]
    assert tdq("write", "PAYQ", "FOUR", "-r", pay, "-s", store).code == 0
    assert tdq("peek", "PAY2", "-s", store).out.split() == ["ONE", "TWO", "THREE"]
    assert tdq("peek", "PAYQ", "-s", store).out.split() == ["FOUR"]


def test_records_come_from_files(tdq: Tdq, pay: Path) -> None:
    store = pay / "store"
    (pay / "lines.txt").write_text("FIRST\nSECOND\r\n")
    assert tdq("write", "PAY2", "--file", pay / "lines.txt", "-r", pay, "-s", store).out == "PAY2: 2 written\n"
    assert (
        tdq(
            "write", "--seed", "PAY2", "-f", pay / "cards.bin", "--format", "FB", "--lrecl", 5, "-r", pay, "-s", store
        ).code
        == 0
    )
    assert tdq("peek", "PAY2", "-s", store).out.split() == ["FIRST", "SECOND", "FIRST", "OTHER"]
    out = pay / "out.bin"
    assert tdq("read", "PAY2", "-r", pay, "-s", store, "-n", 2, "-o", out).code == 0
    assert out.read_bytes() == "FIRSTSECOND".encode("cp037")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["PAY2"], "give records as arguments, or in a file"),
        (["PAY2", "X", "--file", "lines.txt"], "give records as arguments, or in a file"),
        (["PAY2", "XYZ", "--hex"], "is not hexadecimal"),
        (["PAY2", "--file", "missing.txt"], "missing.txt: No such file"),
        (["PAY2", "\N{SNOWMAN}"], "is not in code page 037"),
        (["PAY2", "X", "--code-page", "nonsense"], "nonsense"),
    ],
)
def test_records_that_are_not_right_write_nothing(tdq: Tdq, pay: Path, arguments: list[str], text: str) -> None:
    ended = tdq("write", *arguments, "-r", pay, "-s", pay / "store")
    assert ended.code == 2
    assert text in ended.err
    assert tdq("peek", "PAY2", "-s", pay / "store").out == ""


def test_a_command_that_changes_something_asks_for_a_store(tdq: Tdq, pay: Path) -> None:
    for command in (
        ["write", "PAY2", "X"],
        ["read", "PAY2"],
        ["write", "PAY2", "X", "--seed"],
        ["set", "PAY2", "TRIGGERLEVEL=5"],
    ):
        ended = tdq(*command, "-r", pay)
        assert ended.code == 2
        assert "--store DIR" in ended.err


def test_reading_and_setting_leave_data_sets_alone(tdq: Tdq, pay: Path) -> None:
    store = pay / "store"
    tdq("set", "PAYQ", "TRIGGERLEVEL=5", "-r", pay, "-s", store)
    assert tdq("inquire", "PAYQ", "-s", store, "--option", "TRIGGERLEVEL", "--json").out.count('"TRIGGERLEVEL": 5') == 1
    assert tdq("read", "CARD", "-r", pay, "-s", store).out == "FIRST\n"
    assert (pay / "report.bin").read_bytes() == "BEGUN".encode("cp037")


def test_set_says_what_it_does_not_do(tdq: Tdq, pay: Path) -> None:
    store = pay / "store"
    assert "OPTION=VALUE" in tdq("set", "PAYQ", "NONSENSE", "-r", pay, "-s", store).err
    for level in ("MANY", "²", "٣", "9" * 5000):
        assert "0 to 32767" in tdq("set", "PAYQ", f"TRIGGERLEVEL={level}", "-r", pay, "-s", store).err
    refused = tdq("set", "PAYX", "TRIGGERLEVEL=5", "-r", pay, "-s", store)
    assert refused.code == 1
    assert "INVREQ" in refused.err


def test_peek_without_a_name_shows_every_queue_with_records(tdq: Tdq, pay: Path) -> None:
    store = pay / "store"
    tdq("write", "PAY2", "HELLO", "-r", pay, "-s", store)
    assert json.loads(tdq("peek", pay, "-s", store, "--json").out) == {
        "PAY2": [{"length": 5, "text": "HELLO", "hex": "C8C5D3D3D6"}]
    }


def test_a_missing_or_foreign_store_is_exit_code_3(tdq: Tdq, pay: Path) -> None:
    ended = tdq("inquire", pay, "-s", pay / "nothing")
    assert ended.code == 3
    assert "there is no store" in ended.err
    (pay / "bad" / "durable").mkdir(parents=True)
    (pay / "bad" / "volatile").mkdir()
    for half in ("durable", "volatile"):
        (pay / "bad" / half / "data.mdb").write_bytes(b"nonsense" * 1000)
    assert tdq("inquire", pay, "-s", pay / "bad").code == 3


def test_a_store_in_use_can_be_looked_at_and_names_its_process(tdq: Tdq, pay: Path) -> None:
    store = pay / "store"
    code = (
        "import sys\nfrom tdqsim import Region\n"
        f"region = Region.from_directory({str(pay)!r}, store={str(store)!r}, handlers=())\n"
        "region.writeq_td('PAYL', b'\\xc1')\nprint('ready', flush=True)\nsys.stdin.read()\n"
    )
    process = apart.Process("-c", code)
    assert process.stdout.readline() == "ready\n"
    looked = tdq("peek", pay, "PAYL", "-s", store)
    assert (looked.code, looked.out) == (0, "A\n")
    assert f"in use by process {process.pid}; this is its last commit" in looked.err
    refused = tdq("write", "PAYL", "X", "-r", pay, "-s", store)
    assert refused.code == 3
    assert f"in use by process {process.pid}" in refused.err
    process.end()


def test_a_store_that_was_not_closed_says_so(tdq: Tdq, pay: Path) -> None:
    store = pay / "store"
    code = (
        "import os\nfrom tdqsim import Region\n"
        f"region = Region.from_directory({str(pay)!r}, store={str(store)!r}, handlers=())\n"
        "region.writeq_td('PAYL', b'\\xc1')\nos._exit(9)\n"
    )
    assert apart.run("-c", code).returncode == 9
    looked = tdq("peek", pay, "PAYL", "-s", store)
    assert looked.out == "A\n"
    assert "not closed by the process that had it last" in looked.err


def test_the_current_directory_and_the_environment_name_a_region(
    tdq: Tdq, pay: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(pay)
    assert "PAYQ" in tdq("inquire", "PAY*").out
    monkeypatch.chdir("/")
    monkeypatch.setenv("TDQ_REGION", str(pay))
    assert "PAYQ" in tdq("inquire", "PAY*").out
    with Region.from_directory(pay, store=pay / "store", handlers=()) as region:
        region.writeq_td("PAY2", b"\xc1")
    monkeypatch.setenv("TDQ_STORE", str(pay / "store"))
    assert tdq("peek", "PAY2").out == "A\n"
