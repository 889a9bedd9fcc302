"""What only looks: it writes nothing, runs nobody's code unasked, says what it cannot know, and fits the terminal."""

from __future__ import annotations

import json
import os
from importlib import import_module
from pathlib import Path

import pytest

from tdqsim.cli.output import emit, emit_json, emit_table
from tests import apart
from tests.cli.conftest import Tdq

TRIGGER = """\
group: PAY
tdqueue:
- {name: PAYQ, type: INTRA, recovstatus: LOGICAL, transid: PAYP, triggerlevel: 3, atifacility: FILE}
- {name: KEEP, type: INTRA, recovstatus: PHYSICAL}
- {name: NOTE, type: INTRA}
transaction:
- {name: PAYP}
"""

MORE = TRIGGER.replace(
    "transaction:",
    """\
- {name: NOTX, type: INDIRECT, indirectname: NOTE}
- {name: FIRE, type: INTRA, transid: PAYP, triggerlevel: 3, atifacility: FILE}
transaction:""",
)


def image(store: Path) -> dict[str, bytes]:
    """The bytes of a store's files, but for the lock that a process takes while it looks."""
    return {
        str(path.relative_to(store)): path.read_bytes()
        for path in sorted(store.rglob("*"))
        if path.is_file() and "lock" not in path.name
    }


@pytest.mark.parametrize(
    "command",
    [["explain", "PAYQ"], ["inquire"], ["peek"], ["peek", "--json"], ["inquire", "--statistics"], ["cemt", "I TDQ"], ["output"]],
    ids=lambda words: words[0],
)  # fmt: skip
def test_a_store_whose_trigger_cycle_is_on_can_be_looked_at_and_stays_as_it_is(
    tdq: Tdq, tmp_path: Path, command: list[str]
) -> None:
    (tmp_path / "pay.yaml").write_text(TRIGGER)
    tdq("write", "PAYQ", "A", "B", "C", "-d", "pay.yaml", "-s", "s1")
    before = image(tmp_path / "s1")
    ended = tdq(*command, "-s", "s1")
    assert (ended.code, ended.err.replace("and 59 supplied queues that were never used (--all)\n", "")) == (0, "")
    assert image(tmp_path / "s1") == before


RUNNING = """
import sys
from tdqsim import Region, load_definitions
with Region(load_definitions("pay.yaml"), store="s1") as region:
    for queue in ("NOTE", "KEEP"):
        region.writeq_td(queue, region.encode("HELLO"))
    print("ready", flush=True)
    sys.stdin.read()
"""


def test_what_only_a_running_region_knows_is_not_shown_as_nothing(tdq: Tdq, tmp_path: Path) -> None:
    (tmp_path / "pay.yaml").write_text(MORE)
    running = apart.Process("-c", RUNNING)
    assert running.stdout.readline() == "ready\n"
    listed = tdq("inquire", "-s", "s1", "--option", "NUMITEMS", "NOTE", "KEEP")
    assert [line.split() for line in listed.out.splitlines()[1:]] == [["NOTE", "?"], ["KEEP", "1"]]
    assert "NOTE holds is not known from outside" in listed.err
    (found,) = json.loads(tdq("inquire", "-s", "s1", "NOTE", "--json").out)
    assert found["NUMITEMS"] is None
    assert "not known from outside" in tdq("peek", "NOTE", "-s", "s1").err
    assert "not known from outside" not in tdq("peek", "KEEP", "-s", "s1").err
    assert "what only the running region knows" in tdq("explain", "PAYQ", "-s", "s1").err
    assert "records NOTE holds" in tdq("peek", "NOTX", "-s", "s1").err
    assert "records FIRE, NOTE holds" in tdq("peek", "-s", "s1").err
    seen = tdq("peek", "--json", "-s", "s1")
    values = json.loads(seen.out)
    assert [values.pop("FIRE"), values.pop("NOTE"), *values] == [None, None, "KEEP"]
    assert "records FIRE, NOTE holds" in seen.err
    assert "records NOTE holds" in tdq("cemt", "I TDQ(NOTE)", "-s", "s1").err
    assert tdq("cemt", "I TDQ(KEEP)", "-s", "s1").err.count("not known") == 0
    assert "records FIRE, NOTE holds" in tdq("inquire", "--statistics", "-s", "s1").err
    said = tdq("explain", "NOTE", "FIRE", "-s", "s1").out
    assert said.count("how many records it holds is not known from outside the region") == 4  # its state, READQ
    for wrong in ("it holds 0", "QZERO", "more are needed", "no program"):
        assert wrong not in said
    assert "no program" not in tdq("explain", "PAYQ", "-s", "s1").out
    running.end()


@pytest.mark.parametrize("named", [False, True])
def test_code_is_imported_only_from_a_region_directory_that_was_named(tdq: Tdq, tmp_path: Path, *, named: bool) -> None:
    (tmp_path / "region.yaml").write_text("definitions: [pay.yaml]\nhandlers: [evil]\n")
    (tmp_path / "pay.yaml").write_text(TRIGGER)
    (tmp_path / "evil.py").write_text("import pathlib; pathlib.Path('ran').touch()\ndef register(region): ...\n")
    ended = tdq("explain", *([tmp_path] if named else []), "PAYQ")
    assert ended.code == 0
    assert (tmp_path / "ran").exists() is named


@pytest.mark.parametrize("command", ["inquire", "peek", "read", "write", "set"])
def test_a_region_directory_is_not_searched_for_modules_by_what_runs_no_handlers(
    tdq: Tdq, tmp_path: Path, command: str
) -> None:
    (tmp_path / "region.yaml").write_text("definitions: [pay.yaml]\n")
    (tmp_path / "pay.yaml").write_text(TRIGGER)
    for stolen in ("structlog", "ebcdic", "lmdb"):
        (tmp_path / f"{stolen}.py").write_text(
            "import pathlib; pathlib.Path('ran').touch()\ndef register(region): ...\n"
        )
    more = {
        "write": ["NOTE", "A", "--seed"],
        "set": ["NOTE", "ENABLESTATUS=DISABLED"],
        "read": ["NOTE"],
        "peek": ["NOTE"],
    }
    tdq(command, *more.get(command, []), "-r", tmp_path, "-s", "s1")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("command", "text"),
    [
        (["inquire", "nowhere"], "nowhere: neither a queue (a name of 1 to 4 characters, or a generic one) nor a region"),
        (["inquire", "some"], "some"),
        (["inquire", "./some"], "./some: not a region directory; it has no region.yaml"),
        (["explain", "examples/nonesuch", "DALY", "-d", "pay.yaml"], "examples/nonesuch: neither a queue"),
        (["peek", "examples/nonesuch"], "examples/nonesuch: neither a queue"),
        (["inquire"], "which region? Name a region directory"),
        (["inquire", "--statistics"], "which region?"),
        (["cemt", "I TDQ"], "which region?"),
        (["inquire", "--statistics", "./some"], "./some: not a region directory; it has no region.yaml"),
    ],
)  # fmt: skip
def test_a_wrong_directory_is_named(tdq: Tdq, tmp_path: Path, command: list[str], text: str) -> None:
    (tmp_path / "some").mkdir()
    (tmp_path / "pay.yaml").write_text(TRIGGER)
    ended = tdq(*command)
    assert ended.code == 2
    assert text in ended.err or "which region?" in ended.err


def test_a_rule_is_shown_with_its_source(tdq: Tdq) -> None:
    shown = tdq("explain", "--rule", "td-indirect-missing")
    assert shown.code == 0
    assert "vendor silent: our choice" in shown.out
    assert json.loads(tdq("explain", "--rule", "TD-QIDERR", "--json").out)["confidence"] == "confirmed"
    wrong = tdq("explain", "--rule", "TD-QIDER")
    assert (wrong.code, "did you mean TD-QIDERR?" in wrong.err) == (2, True)


def test_to_explain_a_queue_that_is_not_there_is_a_condition(tdq: Tdq, tmp_path: Path) -> None:
    (tmp_path / "pay.yaml").write_text(TRIGGER)
    assert tdq("explain", "NONE", "-d", "pay.yaml").code == 1
    assert tdq("explain", "NOTE", "-d", "pay.yaml").code == 0


# -- on a terminal ----------------------------------------------------------------------------------------------------


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    # All are imported before one is changed: an import in between would take the changed function, and keep it.
    for module in [import_module(f"tdqsim.cli.{name}") for name in ("output", "explain", "guide")]:
        monkeypatch.setattr(module, "on_terminal", lambda: True)
    return monkeypatch


@pytest.mark.parametrize("width", [40, 80])
@pytest.mark.parametrize("command", [["inquire", "-d", "pay.yaml"], ["inquire", "-d", "pay.yaml", "--all"], ["inquire", "PAYQ", "-d", "pay.yaml"],
    ["inquire", "--statistics", "--all", "-d", "pay.yaml"], ["guide"], ["peek", "-d", "pay.yaml", "--json"]], ids=" ".join)  # fmt: skip
def test_tables_fit_the_terminal_and_cut_no_word(
    tdq: Tdq, tmp_path: Path, terminal: pytest.MonkeyPatch, command: list[str], width: int
) -> None:
    (tmp_path / "pay.yaml").write_text(TRIGGER)
    terminal.setenv("COLUMNS", str(width))
    ended = tdq(*command)
    assert ended.code == 0
    lines = [line.replace("\x1b[1m", "").replace("\x1b[0m", "") for line in ended.out.splitlines()]
    assert max(map(len, lines)) <= width
    if command[0] == "inquire" and command[1] == "-d":
        assert lines[0].split()[:3] == ["TDQUEUE", "TYPE", "NUMITEMS"]
        own = [line for line in lines if line.startswith("PAYQ")]
        assert own[0].split()[:3] == ["PAYQ", "INTRA", "0"]
        assert width == 40 or "ENABLED" in own[0]
        if width == 80 and "--all" not in command:
            assert {"PAYP", "LOGICAL", "3"} <= set(own[0].split())
            assert "DDNAME" not in lines[0]  # nothing would stand there


def test_what_has_no_room_is_named(capsys: pytest.CaptureFixture[str], terminal: pytest.MonkeyPatch) -> None:
    terminal.setenv("COLUMNS", "20")
    emit_table(("NAME", "NUMBER", "THIRD"), [("A" * 10, 12, "x" * 8), ("B", 3, "y")])
    out = capsys.readouterr().out
    assert "(no room for THIRD)" in out
    assert "x" not in out.replace("\x1b", "")


@pytest.mark.parametrize(("width", "shown"), [(28, True), (27, False)])
def test_the_last_column_is_folded_to_sixteen_characters_and_then_left_out(
    capsys: pytest.CaptureFixture[str], terminal: pytest.MonkeyPatch, width: int, shown: bool
) -> None:
    terminal.setenv("COLUMNS", str(width))
    emit_table(("NAME", "THIRD"), [("A" * 10, "word " * 8)])
    out = capsys.readouterr().out
    assert ("THIRD" in out.splitlines()[0], "(no room for THIRD)" in out) == (shown, not shown)


LONG = """\
       01  CUSTOMER-RECORD-WITH-LONG-NAME.
           05  CUSTOMER-NUMBER-OF-NUMBERS-X PIC 9(4).
           05  CUSTOMER-REDEFINED-AREA-NUMBR1 PIC X(240).
           05  CUSTOMER-REDEFINED-AREA-NUMBR2
               REDEFINES CUSTOMER-REDEFINED-AREA-NUMBR1.
              10 CUSTOMER-TABLE-WITH-LONG-NAME1 OCCURS 3 TIMES.
                15 CUSTOMER-TABLE-WITH-LONG-NAME2
                   PIC $$$,$$$,$$$,$$$,$$9.99CR.
           05  CUSTOMER-IDENTIFICATION-NUMBER OCCURS 0 TO 10 TIMES
               DEPENDING ON CUSTOMER-NUMBER-OF-NUMBERS-X.
               10 CUSTOMER-TOTAL-AMOUNT-IN-EUROS
                  PIC S9(13)V9(4) USAGE COMP-3.
"""


@pytest.mark.parametrize("width", [None, 100, 120])
def test_the_tables_of_a_long_copybook_fold_every_wide_column(
    tdq: Tdq, tmp_path: Path, request: pytest.FixtureRequest, width: int | None
) -> None:
    if width is not None:
        request.getfixturevalue("terminal").setenv("COLUMNS", str(width))
    (tmp_path / "long.cpy").write_text(LONG)
    (tmp_path / "long.bin").write_bytes(b"\xf0" * 334)
    ended = tdq("dataset", "layout", "long.cpy", "--data", "long.bin")
    lines = [line.replace("\x1b[1m", "").replace("\x1b[0m", "") for line in ended.out.splitlines()]
    assert max(map(len, lines)) <= (width or 100)
    joined = "".join("".join(line.split()) for line in lines)
    assert "no room" not in ended.out
    for part in ("DEPENDING", "redefines", "DECIMAL", "REDEFINED-"):
        assert part in joined
    assert [line.split()[-3] for line in lines if line.startswith("   05") and "CUSTOMER" in line][:1] == ["DISPLAY"]


# -- what reaches the terminal ----------------------------------------------------------------------------------------

EVIL = "\x1b]0;owned\x07\x9b31m\u202ebad\rGOOD\x7f"


def test_characters_that_act_on_a_terminal_are_shown_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    emit(EVIL)
    emit_table(("NAME",), [(EVIL,)], title=EVIL)
    emit_json({"name": EVIL, EVIL: 1})
    out = capsys.readouterr().out
    assert not set(out) & set("\x1b\x07\x9b\u202e\r\x7f")
    assert "\\x1b]0;owned\\x07\\x9b31m\\u202ebad\\x0dGOOD\\x7f" in out
    assert json.loads(out[out.index("{") :]) == {"name": EVIL, EVIL: 1}


@pytest.mark.parametrize(
    "command", [["inquire", EVIL], ["explain", EVIL], ["guide", EVIL], ["check", EVIL + ".yaml"], ["cemt", EVIL], [EVIL], ["inquire", "-o", EVIL], ["layout", EVIL]]
)  # fmt: skip
def test_what_was_typed_comes_back_escaped(tdq: Tdq, command: list[str]) -> None:
    ended = tdq(*command)
    assert ended.code in (1, 2)
    assert not set(ended.out + ended.err) & set("\x1b\x07\x9b\u202e\r\x7f")


def test_names_in_files_come_back_escaped(tdq: Tdq, tmp_path: Path) -> None:
    (tmp_path / "evil.yaml").write_text('group: G\ntdqueue:\n- {name: "\\e[31mA", type: "\\x9b31m"}\n')
    ended = tdq("check", "evil.yaml")
    assert ended.code == 2
    assert not set(ended.err) & set("\x1b\x9b")
    assert os.linesep in ended.err
