from __future__ import annotations

import io
import json

import pytest

from tdqsim.cli import main
from tdqsim.ibmi import System
from tests import apart

DEFINITIONS = """
dtaq:
  - dtaq: APPLIB/WORK
    maxlen: 50
    text: Work
  - dtaq: APPLIB/KEYED
    maxlen: 50
    seq: KEYED
    keylen: 2
    senderid: "YES"
  - dtaq: APPLIB/FAR
    type: "*DDM"
    rmtdtaq: Q
    rmtlocname: LP1
"""


@pytest.fixture
def tdq(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("TDQ_STORE", str(tmp_path / "store"))
    (tmp_path / "queues.yaml").write_text(DEFINITIONS)

    def run(*arguments, code=0):
        got = main(["dtaq", *arguments])
        shown = capsys.readouterr()
        assert got == code, shown.err
        assert "Traceback" not in shown.err
        return shown.out if code == 0 else shown.err

    run("create", str(tmp_path / "queues.yaml"), "--create-libraries")
    return run


def test_send_peek_receive_clear(tdq):
    tdq("send", "APPLIB/WORK", "first")
    tdq("send", "applib/work", "C1C2", "--hex")
    rows = json.loads(tdq("peek", "APPLIB/WORK", "--json"))
    assert [(row["position"], row["text"]) for row in rows] == [(1, "first"), (2, "AB")]
    assert "first" in tdq("peek", "APPLIB/WORK")
    assert tdq("receive", "APPLIB/WORK") == "first\n"
    assert tdq("receive", "APPLIB/WORK", "--hex", "-n", "5") == "C1C2\n"
    assert tdq("receive", "APPLIB/WORK") == ""
    for key in ("K1", "K2", "K2"):
        tdq("send", "APPLIB/KEYED", "x", "--key", key)
    assert len(json.loads(tdq("peek", "APPLIB/KEYED", "--key", "K1", "--key-order", "GT", "--json"))) == 2
    (row,) = json.loads(tdq("receive", "APPLIB/KEYED", "--key", "K1", "--json"))
    assert row["key"] == "D2F1"
    assert row["sender"].endswith("/QSECOFR/TDQ")
    assert tdq("clear", "APPLIB/KEYED", "--key", "K2") == "2 entries cleared\n"


def test_list_and_describe(tdq):
    assert [line.split()[1] for line in tdq("list").splitlines()] == ["QUEUE", "FAR", "KEYED", "WORK"]
    assert json.loads(tdq("list", "APP*", "--json"))[1]["key_length"] == 2
    assert tdq("list", "NO*").splitlines() == [tdq("list", "NO*").strip()]
    described = tdq("describe", "APPLIB/WORK")
    assert "RDQD0100" in described
    assert "Maximum number of entries allowed" in described
    both = json.loads(tdq("describe", "APPLIB/FAR", "--json"))
    assert both["RDQD0200"]["remote_location_name"] == "LP1"


def test_dump_and_seed(tdq, tmp_path):
    for key in ("K2", "K1"):
        tdq("send", "APPLIB/KEYED", f"data of {key}", "--key", key)
    lines = tdq("dump", "APPLIB/KEYED")
    assert [json.loads(line)["text"] for line in lines.splitlines()] == ["data of K1", "data of K2"]
    tdq("clear", "APPLIB/KEYED")
    (tmp_path / "dump.jsonl").write_text(lines)
    assert tdq("seed", "APPLIB/KEYED", str(tmp_path / "dump.jsonl")) == "2 entries sent\n"
    assert [json.loads(line)["data"] for line in tdq("dump", "APPLIB/KEYED").splitlines()] == [
        json.loads(line)["data"] for line in lines.splitlines()
    ]
    (tmp_path / "plain.txt").write_text("one\ntwo\n")
    tdq("seed", "APPLIB/WORK", str(tmp_path / "plain.txt"))
    assert tdq("receive", "APPLIB/WORK", "-n", "9") == "one\ntwo\n"
    tdq("delete", "APPLIB/WORK")


@pytest.mark.parametrize(
    ("arguments", "code", "expected"),
    [
        (("send", "APPLIB/NOWHERE", "x"), 1, "CPF9801 Object NOWHERE in library APPLIB not found"),
        (("send", "APPLIB/WORK", "x" * 51), 1, "CPF2498"),
        (("send", "APPLIB/WORK", "xyz", "--hex"), 2, "hexadecimal"),
        (("receive", "APPLIB/KEYED"), 1, "CPF9501"),
        (("receive", "APPLIB/KEYED", "--key", "K1", "--key-order", "XX"), 1, "CPF9504"),
        (("delete", "APPLIB/NOWHERE"), 1, "CPF2105"),
        (("seed", "APPLIB/WORK", "no-such-file"), 2, "no-such-file"),
        (("dump", "APPLIB/FAR"), 1, "CPF9511"),
        (("list", "--store", "nothing-here"), 3, "no store"),
    ],
)
def test_what_goes_wrong(tdq, arguments, code, expected):
    assert expected in tdq(*arguments, code=code)


@pytest.mark.parametrize(
    "line", ['{"data": "XYZ"}', '{"key": "F1"}', '{"text": 5}', '{"more": 1, "text": "x"}', "{", '{"text": "\u20ac"}']
)
def test_a_bad_seed_names_its_line(tdq, tmp_path, line):
    (tmp_path / "seed.jsonl").write_text(f'{{"text": "fine"}}\n{line}\n', encoding="utf-8")
    assert "seed.jsonl:2:" in tdq("seed", "APPLIB/WORK", str(tmp_path / "seed.jsonl"), code=2)
    assert tdq("receive", "APPLIB/WORK") == ""  # nothing of it was sent


@pytest.mark.parametrize("standard_input", [False, True])
def test_a_line_ends_where_the_file_says_so(tdq, tmp_path, monkeypatch, standard_input):
    text = 'a\fb\n\nc\x85d\r\n{"text": "e\x85f"}\nlast'
    (tmp_path / "lines.txt").write_text(text, newline="")
    if standard_input:
        monkeypatch.setattr("sys.stdin", io.StringIO(text))
    assert tdq("seed", "APPLIB/WORK", "-" if standard_input else str(tmp_path / "lines.txt")) == "4 entries sent\n"
    rows = json.loads(tdq("receive", "APPLIB/WORK", "-n", "9", "--json"))
    assert [row["hex"] for row in rows] == [
        one.encode("cp037").hex().upper() for one in ("a\fb", "c\x85d", "e\x85f", "last")
    ]


def test_letters_with_other_capitals_are_no_name(tdq, tmp_path):
    (tmp_path / "more.yaml").write_text("dtaq:\n  - {dtaq: APPLIB/SS, maxlen: 5}\n")
    tdq("create", str(tmp_path / "more.yaml"))
    for command in (("send", "x"), ("delete",), ("describe",)):
        assert "a name has letters" in tdq(command[0], "APPLIB/\u00df", *command[1:], code=2)
    assert json.loads(tdq("peek", "APPLIB/SS", "--json")) == []


def test_a_store_in_use_can_be_looked_at(tmp_path):
    with System("BUSY", store=tmp_path / "store") as system, system.job(user="QSECOFR") as job:
        job.crtdtaq(dtaq="QGPL/FORCED", maxlen=20, force="*YES")
        job.crtdtaq(dtaq="QGPL/LOOSE", maxlen=20)
        job.qsnddtaq("FORCED", "QGPL", b"\xc1")

        def tdq(*arguments):
            code = "import sys; from tdqsim.cli import main; sys.exit(main())"
            return apart.run("-c", code, "dtaq", *arguments, "--store", tmp_path / "store")

        listed = tdq("list", "--json")
        assert [(row["data_queue_name"], row["current_messages"]) for row in json.loads(listed.stdout)] == [
            ("FORCED", 1),
            ("LOOSE", 0),
        ]
        assert json.loads(tdq("dump", "QGPL/FORCED").stdout)["text"] == "A"
        refused = tdq("receive", "QGPL/FORCED")
        assert refused.returncode == 3
        assert "in use by process" in refused.stderr
        assert job.qrcvdtaq("FORCED", "QGPL").data == b"\xc1"


def test_input_that_cannot_be_used_is_said_to_be_so(tdq, tmp_path):
    (tmp_path / "binary").write_bytes(b"good\n\xff\xfe\x00")
    (tmp_path / "deep").write_text('{"data":' + "[" * 100_000)
    (tmp_path / "late").write_text("short\n" + "x" * 51)
    assert "not text in UTF-8" in tdq("seed", "APPLIB/WORK", str(tmp_path / "binary"), code=2)
    assert "deep:1:" in tdq("seed", "APPLIB/WORK", str(tmp_path / "deep"), code=2)
    assert "CPF2498" in tdq("seed", "APPLIB/WORK", str(tmp_path / "late"), code=1)
    for name in ("", "/", "APPLIB/ELEVENCHARS"):
        assert "1 to 10 characters" in tdq("describe", name, code=2)
    assert "1 to 10 characters" in tdq("send", "APPLIB/WORK", "x", "--user", "ELEVENCHARS", code=2)
    assert json.loads(tdq("describe", "APPLIB/WORK", "--json"))["RDQD0100"]["number_of_messages"] == 0
