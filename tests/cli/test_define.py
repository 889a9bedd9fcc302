"""check, schema, import, export, layout, guide."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from tests.cli.conftest import Tdq

GOOD = """\
group: PAY
tdqueue:
  - {name: PAYQ, type: INTRA, transid: PAYP, triggerlevel: 5}
  - {name: PAYX, type: INDIRECT, indirectname: PAYQ}
program:
  - {name: PAYPROG, language: COBOL}
"""
COPYBOOK = """\
       01  PAYMENT.
           05  ID       PIC 9(4).
           05  AMOUNT   PIC S9(5)V99 COMP-3.
"""


@pytest.fixture
def good(tmp_path: Path) -> Path:
    path = tmp_path / "pay.yaml"
    path.write_text(GOOD)
    return path


def test_check_counts_what_is_right_and_notes_what_has_no_effect(tdq: Tdq, good: Path) -> None:
    ended = tdq("check", good)
    assert ended.code == 0
    assert "resources in 1 group\n" in ended.out
    assert "PROGRAM(PAYPROG) language: is accepted and has no effect" in ended.out


def test_check_lists_all_problems_with_their_lines(tdq: Tdq, tmp_path: Path, good: Path) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text(
        "group: G\ntdqueue:\n- {name: A, type: INTRA, triggerlevel: 99999}\n- {name: TOOLONG, type: INTRA}\n"
    )
    ended = tdq("check", good, bad)
    assert ended.code == 2
    assert "bad.yaml:3: TDQUEUE(A) triggerlevel = '99999'" in ended.err
    assert "bad.yaml:4:" in ended.err
    found = json.loads(tdq("check", bad, "--json").out)
    assert (found["ok"], [problem["line"] for problem in found["problems"]]) == (False, [3, 4])


def test_check_takes_a_region_directory(tdq: Tdq, tmp_path: Path, good: Path) -> None:
    (tmp_path / "region.yaml").write_text(f"applid: PAYREGN\ndefinitions: [{good.name}]\n")
    assert tdq("check", tmp_path).code == 0
    (tmp_path / "region.yaml").write_text("applid: PAYREGNTOOLONG\n")
    assert "applid" in tdq("check", tmp_path).err


DECK = """\
DEFINE TDQUEUE(CSMX) GROUP(ONE) TYPE(INTRA) TRANSID(XYZ1)
DEFINE FILE(ACCT) GROUP(ONE) DSNAME(A.B) STRINGS(2) LSRPOOLID(3)
DEFINE FILE(CUST) GROUP(ONE) DSNAME(A.C) STRINGS(5)
DEFINE PROFILE(P1) GROUP(ONE)
DEFINE PROFILE(P2) GROUP(ONE)
DEFINE MAPSET(M1) GROUP(ONE)
DEFINE TDQUEUE(CSMX) GROUP(TWO) TYPE(INTRA)
"""


def test_what_has_no_effect_is_a_line_for_each_kind(tdq: Tdq, tmp_path: Path) -> None:
    (tmp_path / "deck.txt").write_text(DECK)
    assert "d.yaml: 7 resources, 0 remarks" in tdq("import", "csd", "deck.txt", "-o", "d.yaml").out
    first, *lines = tdq("check", "d.yaml").out.splitlines()
    assert first == "d.yaml: 7 resources in 2 groups"
    assert len(lines) == 4
    assert "  PROFILE: 2 resources have no effect; --notes lists them" in lines
    assert any(line.startswith("  FILE: ") and " of 2 resources have no effect; --notes" in line for line in lines)
    assert any("MAPSET(M1): is accepted and has no effect" in line for line in lines)
    assert any("TDQUEUE(CSMX): is not used: group ONE has it" in line for line in lines)
    every = tdq("check", "d.yaml", "--notes").out
    for note in ("FILE(CUST) strings", "FILE(ACCT) lsrpoolid", "PROFILE(P1)", "PROFILE(P2)"):
        assert f"{note}: is accepted and has no effect" in every
    (counted,) = json.loads(tdq("check", "d.yaml", "--json").out)["files"]
    assert counted["resources"] == 7
    assert len(counted["notes"]) == len(every.splitlines()) - 1


RING = """group: G
tdqueue:
- {name: AQ, type: INDIRECT, indirectname: BQ}
- {name: BQ, type: INDIRECT, indirectname: AQ}
"""
REGION = "definitions: [pay.yaml]\n"


@pytest.mark.parametrize(
    ("region", "definitions", "line", "words"),
    [
        ("code_page: 9999", GOOD, 2, "code_page = '9999': is not known; known are the CCSIDs 037"),
        ("code_page: foo", GOOD, 2, "code_page = 'foo': is not known"),
        ("cobol: {code_pages: {PAYQ: 999}}", GOOD, 2, "'999': is not known"),
        ("start_transactions: [NOPE]", GOOD, 2, "start_transactions = 'NOPE': is not defined"),
        ("start: [PAYP]", GOOD, 2, "start: must be AUTO, INITIAL or COLD"),
        ("security: {users: [ANN]}", GOOD, 0, "CICSUSER"),
    ],
)  # fmt: skip
def test_check_refuses_what_run_refuses(
    tdq: Tdq, good: Path, region: str, definitions: str, line: int, words: str
) -> None:
    directory = good.parent
    (directory / "region.yaml").write_text(REGION + region)
    good.write_text(definitions)
    ended = tdq("check", directory)
    assert ended.code == 2
    assert words in ended.err
    (problem,) = json.loads(tdq("check", directory, "--json").out)["problems"]
    assert problem["line"] == line
    assert tdq("run", directory, "--output", directory / "out").code != 0


@pytest.mark.parametrize(
    "region",
    [
        "handlers: [own]",
        "job: own:Job",
        "start_transactions: [PAYP]\nhandlers: [own]",
        pytest.param("cobol: {sources: [cobol]}", marks=pytest.mark.cobc),
    ],
)
def test_check_takes_what_is_there_without_running_it(tdq: Tdq, good: Path, region: str) -> None:
    (good.parent / "region.yaml").write_text(REGION + region)
    (good.parent / "own.py").write_text("def register(region): ...\ndef f(task): ...\nraise SystemExit('was run')")
    (good.parent / "cobol").mkdir()
    (good.parent / "cobol" / "PROG.cbl").write_text(
        "       IDENTIFICATION DIVISION.\n       PROGRAM-ID. PROG.\n       PROCEDURE DIVISION.\n           GOBACK.\n"
    )
    lines = ["- {name: T, handler: 'own:f'}", "- {name: U, program: PROG, handler: 'os.path:join'}"]
    lines += (
        ["- {name: V, program: PROG}"] if region.startswith("cobol") else ["- {name: V, handler: 'json.decoder:f'}"]
    )
    good.write_text("\n".join(["group: G", "transaction:", *lines, ""]))
    ended = tdq("check", good.parent)
    assert (ended.code, ended.err) == (0, "")


@pytest.mark.parametrize("module", ["", "def PROG(:"])
def test_a_cobol_program_is_named_by_the_program_of_its_transaction(tdq: Tdq, good: Path, module: str) -> None:
    """A module that is called like the language is not meant."""
    (good.parent / "region.yaml").write_text(REGION + "cobol: {sources: [.]}")
    (good.parent / "cobol.py").write_text(module)
    good.write_text("group: G\ntransaction:\n- {name: U, handler: 'cobol:PROG'}\n")
    said = tdq("check", good.parent).err
    assert "handler = 'cobol:PROG': write program: PROG instead" in said
    assert "module cobol" not in said
    assert "handler = 'cobol:PROG': write program: PROG instead" in tdq("run", good.parent).err


TRIGGERED = (
    "group: G\ntdqueue:\n- {name: PAYQ, type: INTRA, triggerlevel: 1, transid: PAYP}\n"
    "transaction:\n- {name: PAYP, program: PAYPROG}\n"
)


@pytest.mark.parametrize(
    ("region", "definitions", "place", "words"),
    [
        ("dd:\n  NOPE: {path: x}", GOOD.replace("transid: PAYP, ", ""), "region.yaml:3", "dd = 'NOPE': no queue has this DD name"),
        ("", RING.replace("BQ, type: INDIRECT, indirectname: AQ", "CQ, type: INTRA"), "pay.yaml:3", "TDQUEUE(AQ) indirectname = 'BQ': there is no queue"),
        ("", RING, "pay.yaml:3", "TDQUEUE(AQ) indirectname = 'BQ': leads back to itself: AQ leads to BQ leads to AQ"),
        ("", GOOD, "pay.yaml:3", "TDQUEUE(PAYQ) transid = 'PAYP': is not defined"),
        ("handlers: [json]", GOOD, "pay.yaml:3", "TDQUEUE(PAYQ) transid = 'PAYP': is not defined: in CICS the trigger starts nothing (DFHTD0183); here a registered handler runs"),
        ("handlers: [plain]", TRIGGERED.replace("PAYPROG", "PAYPROG, runaway: 500"), "pay.yaml:5", "TRANSACTION(PAYP) runaway = '500': limits COBOL programs only: a Python function is never interrupted"),
        ("", GOOD.replace("transid: PAYP, ", ""), "pay.yaml:3", "TDQUEUE(PAYQ) triggerlevel = '5': starts no task, because the queue has no TRANSID"),
        ("", "group: G\ntdqueue:\n- {name: EXTQ, type: EXTRA, ddname: CARD, typefile: INPUT}\n", "pay.yaml:3", "TDQUEUE(EXTQ) ddname = 'CARD': there is no DD card of this name in dd:, and the queue has no DSNAME: it cannot be opened"),
        ("cobol: {copybooks: [nowhere]}", GOOD, "region.yaml:2", "cobol.copybooks = 'nowhere': there is no such folder"),
        ("layouts: {NOPE: x.cpy}", GOOD, "region.yaml:2", "layouts = 'NOPE': there is no queue of this name, so the layout does nothing"),
        ("handlers:\n- json\n- nomod", GOOD, "region.yaml:4", "handlers = 'nomod': there is no module nomod"),
        ("", TRIGGERED, "pay.yaml:3", "TDQUEUE(PAYQ) facilityid = 'PAYQ': there is no TERMINAL of this name: the trigger's task waits for it. ATIFACILITY is TERMINAL, the default; FILE needs no terminal"),
        ("", TRIGGERED.replace("transid", "atifacility: SYSTEM, facilityid: CON1, transid"), "pay.yaml:3", "TDQUEUE(PAYQ) facilityid = 'CON1': there is no CONNECTION"),
        ("", "group: G\ntdqueue:\n- {name: FARQ, remotesystem: FAR, remotename: Q}\n", "pay.yaml:3", "TDQUEUE(FARQ) remotesystem = 'FAR': there is no CONNECTION of this name: requests would get SYSIDERR"),
        ("cobol: {sources: [.]}", TRIGGERED, "pay.yaml:5", "TRANSACTION(PAYP) program = 'PAYPROG': the transaction has no handler, and the program has no source below `cobol: sources:`"),
        ("handlers: [plain]", TRIGGERED, "region.yaml:2", "handlers = 'plain': module plain has no function register(region), and so registers no handler; did you mean registr?"),
        ("", TRIGGERED.replace("program: PAYPROG", "handler: 'plain:pay'"), "pay.yaml:5", "TRANSACTION(PAYP) handler = 'plain:pay': module plain has no function pay; did you mean payp?"),
        ("handlers: [xml.nomod]", GOOD, "region.yaml:2", "handlers = 'xml.nomod': there is no module"),
        ("handlers: [own.inner, own.nomod]", GOOD, "region.yaml:2", "handlers = 'own.nomod': there is no module"),
        ("job: nomod:Job", GOOD, "region.yaml:2", "job = 'nomod:Job': there is no module nomod"),
        ("", "group: G\ntransaction:\n- {name: T, handler: 'nomod:f'}\n", "pay.yaml:3", "TRANSACTION(T) handler = 'nomod:f': there is no module"),
    ],
)  # fmt: skip
def test_check_warns_of_names_that_lead_to_nothing(
    tdq: Tdq, good: Path, region: str, definitions: str, place: str, words: str
) -> None:
    (good.parent / "region.yaml").write_text(REGION + region)
    (good.parent / "plain.py").write_text("def registr(region): ...\ndef payp(task): ...\nraise SystemExit('was run')")
    (good.parent / "own").mkdir()
    (good.parent / "x.cpy").write_text("       01 R PIC X.\n")
    for module in ("__init__.py", "inner.py"):
        (good.parent / "own" / module).write_text("raise SystemExit('was run')")
    good.write_text(definitions)
    ended = tdq("check", good.parent)
    assert (ended.code, f"warning: {good.parent / place}: {words}" in ended.err) == (0, True)
    found = json.loads(tdq("check", good.parent, "--json").out)
    assert found["ok"]
    assert found["warnings"]


def test_a_ring_is_told_once_by_the_queues_in_it(tdq: Tdq, good: Path) -> None:
    good.write_text("group: G\ntdqueue:\n- {name: TAIL, type: INDIRECT, indirectname: AQ}\n" + RING.split("\n", 2)[2])
    assert tdq("check", good).err.splitlines() == [
        f"tdq: warning: {good}:4: TDQUEUE(AQ) indirectname = 'BQ': leads back to itself: AQ leads to BQ leads to AQ"
    ]


def test_check_of_files_warns_of_a_trigger_that_waits_for_a_terminal_of_none_of_them(tdq: Tdq, good: Path) -> None:
    good.write_text(TRIGGERED)
    ended = tdq("check", good)
    assert (ended.code, f"warning: {good}:3: TDQUEUE(PAYQ) facilityid = 'PAYQ': there is no TERMINAL" in ended.err) == (
        0,
        True,
    )
    other = good.parent / "terminals.yaml"
    other.write_text("group: T\nterminal:\n- {name: PAYQ}\n")
    assert tdq("check", good, other).err == ""


@pytest.mark.parametrize("region", [True, False])
def test_check_of_a_file_looks_for_its_handlers(tdq: Tdq, good: Path, region: bool) -> None:
    """Their modules are beside its region.yaml, in a folder above, or beside the file if there is none."""
    file = good
    if region:
        (good.parent / "region.yaml").write_text(REGION)
        (good.parent / "resources").mkdir()
        file = good.parent / "resources" / "pay.yaml"
    (good.parent / "plain.py").write_text("def payp(task): ...\nraise SystemExit('was run')")
    lines = [
        "- {name: A, handler: 'plain:payp'}",
        "- {name: B, handler: 'plain:pay'}",
        "- {name: C, handler: 'nomod:f'}",
    ]
    file.write_text("\n".join(["group: G", "transaction:", *lines, ""]))
    ended = tdq("check", file)
    absent = "there is no module nomod, neither in the region directory nor installed for this Python; run needs it"
    assert (ended.code, ended.err.splitlines()) == (
        0,
        [
            f"tdq: warning: {file}:5: TRANSACTION(C) handler = 'nomod:f': {absent}",
            f"tdq: warning: {file}:4: TRANSACTION(B) handler = 'plain:pay': module plain has no function pay; did you mean payp?",
        ],
    )
    (good.parent / "plain.py").write_text("def pay(task)\n")
    assert (
        tdq("check", file).code,
        f"{good.parent / 'plain.py'}:1: module plain is not valid Python" in tdq("check", file).err,
    ) == (2, True)


def test_check_refuses_a_module_of_handlers_that_is_not_valid_python(tdq: Tdq, good: Path) -> None:
    (good.parent / "region.yaml").write_text(f"{REGION}handlers: [payprog]")
    (good.parent / "payprog.py").write_text("def register(region):\n    retrun (\n")
    ended = tdq("check", good.parent)
    assert ended.code == 2
    assert f"{good.parent / 'payprog.py'}:2: module payprog is not valid Python: " in ended.err


def test_an_attribute_without_a_value_is_noted(tdq: Tdq, good: Path) -> None:
    good.write_text("group: G\ntdqueue:\n- name: PAYQ\n  type: INTRA\n  transid:\n")
    assert "TDQUEUE(PAYQ) transid: has no value, as if it were not given" in tdq("check", good).out


def test_a_tab_is_called_so(tdq: Tdq, good: Path) -> None:
    good.write_text("group: G\ntdqueue:\n\t- {name: PAYQ}\n")
    ended = tdq("check", good)
    assert (ended.code, "pay.yaml:3: is not valid YAML: a tab stands where YAML wants blanks" in ended.err) == (2, True)


def test_schema_is_json_schema(tdq: Tdq) -> None:
    assert json.loads(tdq("check", "--schema", "definitions").out)["$schema"].startswith("https://json-schema.org/")


def test_a_csd_deck_becomes_yaml_that_checks_and_goes_back(tdq: Tdq, tmp_path: Path) -> None:
    deck = tmp_path / "deck.txt"
    deck.write_text("DEFINE TDQUEUE(CSMX) GROUP(MYGRP) TYPE(INTRA)\n       TRANSID(XYZ1) TRIGGERLEVEL(5) NONSENSE(1)\n")
    made = tdq("import", "csd", deck, "-o", "made.yaml", "--lenient")
    assert made.code == 0
    assert "NONSENSE" in made.err
    assert tdq("check", "made.yaml").code == 0
    exported = tdq("export", "csd", "made.yaml").out
    assert "TDQUEUE(CSMX)" in exported
    assert "TRIGGERLEVEL(5)" in exported
    deck.write_text(exported)
    again = tdq("import", "csd", deck)
    assert again.out == (tmp_path / "made.yaml").read_text()


def test_a_dct_and_cl_source_become_yaml(tdq: Tdq, tmp_path: Path) -> None:
    dct = tmp_path / "dct.asm"
    dct.write_text("         DFHDCT TYPE=INDIRECT,DESTID=ABCD,INDDEST=CSSL\n         DFHDCT TYPE=FINAL\n")
    assert "name: ABCD" in tdq("import", "dct", dct).out
    cl = tmp_path / "cl.txt"
    cl.write_text("PGM\nCRTDTAQ DTAQ(MYLIB/ORDERS) MAXLEN(80)\nENDPGM\n")
    assert "ORDERS" in tdq("import", "cl", cl).out


QUEUES = "group: PAY\ntdqueue:\n- {name: PAYQ, type: INTRA}\n"
DATA_QUEUES = "dtaq:\n- {dtaq: APPLIB/ORDERS, maxlen: 80}\n"
LEFT_OUT = {"csd": "DTAQ(APPLIB/ORDERS)", "dct": "DTAQ(APPLIB/ORDERS)", "cl": "TDQUEUE(PAYQ)"}


@pytest.mark.parametrize("form", LEFT_OUT)
def test_an_export_says_what_it_leaves_out_and_writes_no_empty_file(tdq: Tdq, tmp_path: Path, form: str) -> None:
    (tmp_path / "td.yaml").write_text(QUEUES)
    (tmp_path / "dtaq.yaml").write_text(DATA_QUEUES)
    made = tdq("export", form, "td.yaml", "dtaq.yaml")
    assert (made.code, LEFT_OUT[form] in made.err, "left out" in made.err) == (0, True, True)
    assert ("PAYQ" in made.out, "ORDERS" in made.out) == (form != "cl", form == "cl")
    refused = tdq("export", form, "td.yaml" if form == "cl" else "dtaq.yaml", "-o", "made.txt")
    assert (refused.code, ": contains no " in refused.err, refused.out) == (2, True, "")
    assert not (tmp_path / "made.txt").exists()


def test_text_without_definitions_is_refused(tdq: Tdq, tmp_path: Path) -> None:
    empty = tmp_path / "empty.txt"
    empty.write_text("* nothing\n")
    ended = tdq("import", "csd", empty)
    assert ended.code == 2
    assert "contains nothing that can be defined" in ended.err
    assert not ended.out
    for text in ("* no YAML, but cards\n", "DEFINE TDQUEUE(PAYQ) GROUP(PAY) TYPE(INTRA)\n"):
        empty.write_text(text)
        assert "; tdq import converts CSD, DCT and CL text to YAML" in tdq("check", empty).err


def test_import_says_which_line_is_in_another_encoding(tdq: Tdq, tmp_path: Path) -> None:
    deck = tmp_path / "deck.txt"
    deck.write_bytes(b"* \n* \xe9\n")
    ended = tdq("import", "csd", deck)
    assert ended.code == 2
    assert "line 2: byte X'E9' is not utf-8" in ended.err
    assert "no such encoding" in tdq("import", "csd", deck, "--encoding", "ebcdic-x").err


def test_layout_prints_offsets_and_a_decoded_record(tdq: Tdq, tmp_path: Path) -> None:
    (tmp_path / "p.cpy").write_text(COPYBOOK)
    shown = tdq("dataset", "layout", "p.cpy", "--hex", "F0F0F4F2 0012345C")
    assert shown.code == 0
    assert "length 8" in shown.out
    assert [line.split() for line in shown.out.splitlines()[-2:]] == [
        ["0", "ID", "42", "F0F0F4F2"],
        ["4", "AMOUNT", "123.45", "0012345C"],
    ]
    (tmp_path / "data.bin").write_bytes(bytes.fromhex("F0F0F4F20012345CF0F0F4F30000001D"))
    found = json.loads(tdq("dataset", "layout", "p.cpy", "--data", "data.bin", "--number", 2, "--json").out)
    assert (found["length"], found["record"]) == (8, {"ID": 43, "AMOUNT": "-0.01"})
    assert "no record 3" in tdq("dataset", "layout", "p.cpy", "--data", "data.bin", "--number", 3).err
    assert "is not hexadecimal" in tdq("dataset", "layout", "p.cpy", "--hex", "XYZ").err


def test_a_wrong_copybook_names_its_line(tdq: Tdq, tmp_path: Path) -> None:
    (tmp_path / "p.cpy").write_text("       01  PAYMENT.\n           05  ID PIC Q(4).\n")
    ended = tdq("dataset", "layout", "p.cpy")
    assert ended.code == 2
    assert "p.cpy:2" in ended.err or "line 2" in ended.err


def test_the_guide_lists_and_shows_its_chapters(tdq: Tdq) -> None:
    listed = tdq("guide").out.splitlines()
    assert [line.split()[0] for line in listed[:5]] == ["Begin:", "chapter", "start-python", "start-cics", "start-data"]
    assert "Quick start for CICS people" in listed[3]
    assert "Import a CSD deck" in listed[3]
    groups = [line for line in listed if line.endswith(":")]
    assert groups == [
        "Begin:", "The three uses:", "CICS:", "IBM i:", "Break things:", "Programs, servers, data:", "Reference:",
    ]  # fmt: skip
    assert tdq("guide", "queues").out.startswith("# Queues")
    assert tdq("guide", "choices").out.startswith("# Design choices")


@pytest.mark.parametrize(
    ("words", "chapter", "section"),
    [
        ("dfhintra NOSPACE", "queues", "Lengths and space"),
        ("register a handler", "handlers", "Registering handlers"),
        ("ceda", "troubleshooting", "Command line and stores"),
        ("waitaction", "indoubt", ""),
    ],
)
def test_the_section_of_the_guide_that_fits_best_comes_first(tdq: Tdq, words: str, chapter: str, section: str) -> None:
    found = tdq("guide", "--search", words).out.splitlines()
    assert found[1].startswith(f"{chapter} ")
    assert section in found[1]
    assert max(map(len, found)) < 220


def test_the_guide_is_searched_by_section(tdq: Tdq) -> None:
    assert "and " in tdq("guide", "--search", "queue").out.splitlines()[-1]
    nothing = tdq("guide", "--search", "zzzzyx")
    assert (nothing.code, "no section of the guide contains 'zzzzyx'" in nothing.err) == (2, True)
    assert tdq("guide", "--search", " ").code == 2


CARDS = ["DEFINE TDQUEUE(CSMX) GROUP(MYGRP)", "       TYPE(INTRA)"]


def test_import_reads_the_standard_input(tdq: Tdq, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO("\n".join(CARDS).encode())))
    ended = tdq("import", "csd", "-")
    assert ended.code == 0
    assert "name: CSMX" in ended.out


@pytest.mark.parametrize(
    "text", ["".join(f"{card:<80}" for card in CARDS), "\x85".join([*CARDS, ""])], ids=["card images", "EBCDIC lines"]
)
def test_import_reads_text_as_it_lies_on_the_mainframe(tdq: Tdq, tmp_path: Path, text: str) -> None:
    deck = tmp_path / "deck"
    deck.write_bytes(text.encode("cp037"))
    ended = tdq("import", "csd", deck, "--encoding", "cp037")
    assert (ended.code, ended.err) == (0, "")
    assert "type: INTRA" in ended.out


def test_a_record_too_short_for_its_layout_is_shown_and_is_no_success(tdq: Tdq, tmp_path: Path) -> None:
    (tmp_path / "p.cpy").write_text(COPYBOOK)
    for more in ([], ["--json"]):
        ended = tdq("dataset", "layout", "p.cpy", "--hex", "F0F0", *more)
        assert ended.code == 1
        assert "the record has 2 bytes; PAYMENT has 8" in ended.err


def test_values_of_a_decoded_record_stand_before_its_bytes(tdq: Tdq, tmp_path: Path) -> None:
    (tmp_path / "p.cpy").write_text("       01  R.\n           05  T PIC X(200).\n           05  N PIC 9(3).\n")
    lines = tdq("dataset", "layout", "p.cpy", "--hex", "C1" * 200 + "F0F0F7").out.splitlines()
    title = next(at for at, line in enumerate(lines) if line == "record of 203 bytes")
    assert lines[title + 1].split() == ["offset", "field", "value", "bytes"]
    assert lines[-1].split() == ["200", "N", "7", "F0F0F7"]
    column = lines[title + 1].index("bytes")
    assert "".join(line[column:].strip() for line in lines[title + 2 : -1]) == f"{'C1' * 16}... 184 more"


@pytest.mark.parametrize("text", ["", "group: PAY\n", "group: PAY\ntdqueue: []\n"])
def test_a_file_that_defines_nothing_does_not_check(tdq: Tdq, tmp_path: Path, text: str) -> None:
    (tmp_path / "empty.yaml").write_text(text)
    ended = tdq("check", "empty.yaml")
    assert ended.code == 2
    assert "empty.yaml: defines nothing" in ended.err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("aplid: X\n", "region.yaml:1: aplid = 'X': is not known in a region file; did you mean applid?"),
        ("dd:\n  A: {pth: x, dummy: YES}\n", "region.yaml:2: dd.A.pth = 'x': is not known in a region file; did you mean path?"),
        ("dfhintra: {cisize: 512}\n", "did you mean ci_size?"),
        ("zzz: 1\n", "is not known in a region file; allowed are applid,"),
    ],
)  # fmt: skip
def test_a_misspelt_key_of_a_region_file_is_told_with_what_was_meant(
    tdq: Tdq, tmp_path: Path, text: str, message: str
) -> None:
    (tmp_path / "region.yaml").write_text(text)
    ended = tdq("check", tmp_path)
    assert ended.code == 2
    assert message in ended.err


def test_data_queues_that_cannot_be_created_are_named_with_file_and_line(tdq: Tdq, tmp_path: Path) -> None:
    (tmp_path / "pay.yaml").write_text("group: G\ntdqueue:\n- {name: PAYQ, type: INTRA}\n")
    ended = tdq("dtaq", "create", "pay.yaml", "-s", "sys")
    assert (ended.code, ended.err) == (
        2,
        "tdq: pay.yaml: no data queue (dtaq:) is defined, so there is none to create\n",
    )
    assert not (tmp_path / "sys").exists()
    (tmp_path / "q.yaml").write_text("dtaq:\n- {dtaq: APPLIB/ORDERS, maxlen: 20}\n")
    assert tdq("check", "q.yaml").out == "q.yaml: 1 resource\n"
    ended = tdq("dtaq", "create", "q.yaml", "-s", "sys")
    assert ended.code == 2
    assert "q.yaml:2: DTAQ(APPLIB/ORDERS)" in ended.err
    assert "--create-libraries" in ended.err
    assert tdq("dtaq", "create", "q.yaml", "-s", "sys", "--create-libraries").code == 0
    again = tdq("dtaq", "create", "q.yaml", "-s", "sys")
    assert "q.yaml:2: DTAQ(APPLIB/ORDERS) dtaq = 'APPLIB/ORDERS': the data queue already exists" in again.err


def test_layout_finds_a_record_in_a_data_set_of_any_format(tdq, tmp_path):
    (tmp_path / "pay.cpy").write_text("       01  PAY.\n           05  NAME  PIC X(3).\n")
    (tmp_path / "pay.vb").write_bytes(bytes.fromhex("00140000 00070000 C1D5D5 00090000 C2C5D54040".replace(" ", "")))
    shown = tdq("dataset", "layout", "pay.cpy", "--data", "pay.vb", "--dcb", "RECFM=VB,LRECL=84", "--number", "2")
    assert (shown.code, '"BEN"' in shown.out) == (0, True), shown.out + shown.err
    for words, said in (
        (("--data", "pay.vb", "--dcb", "RECFM=VB,LRECL=84", "--number", "3"), "no record 3"),
        (("--dcb", "RECFM=VB"), "give --data too"),
        (("--data", "pay.vb", "--dcb", "RECFM=XX"), "RECFM"),
    ):
        refused = tdq("dataset", "layout", "pay.cpy", *words)
        assert (refused.code, said in refused.err) == (2, True), refused.err


def test_check_reads_the_directory_of_a_system(tdq: Tdq, tmp_path: Path) -> None:
    queues = tmp_path / "queues.yaml"
    queues.write_text("dtaq:\n- {dtaq: PAYLIB/ORDERS, maxlen: 80}\n")
    system = tmp_path / "system.yaml"
    system.write_text("definitions: [queues.yaml]\ncommands:\n- CRTUSRPRF USRPRF(ALICE)\n")
    assert ": 1 resource\n" in tdq("check", tmp_path).out
    assert tdq("check", system).code == 0
    system.write_text(
        "libraries: [PAYLIB, 1BAD]\nsystem_values: {QPWDLVL: 9}\ncommands:\n"
        "- CRTUSRPRF USRPRF(ALICE)\n- CRTUSRPRF\n- FROB NOW(*YES)\n- CRTDTAQ DTAQ(PAYLIB/Q)\nport: 7\n"
        "ccsid: 9999\ntime_zone: Atlantis\n"
    )
    ended = tdq("check", tmp_path)
    assert ended.code == 2
    for told in ("system.yaml:1: libraries.1", "system.yaml:2: system_values", "system.yaml:5: commands.1",
                 "system.yaml:6: commands.2 = 'FROB NOW(*YES)': CPF0001", "system.yaml:8: port", "system.yaml:9: ccsid",
                 "system.yaml:10: time_zone",
                 "system.yaml:7: commands.3 = 'CRTDTAQ DTAQ(PAYLIB/Q)': MAXLEN: CPD9267: is required"):  # fmt: skip
        assert told in ended.err
    system.write_text("definitions: [queues.yaml]\n")
    queues.write_text("dtaq:\n- {dtaq: PAYLIB/ORDERS, maxlen: 0}\n")
    assert "queues.yaml:2" in tdq("check", tmp_path).err
    system.write_text("ccsid: 37\n")
    assert tdq("check", tmp_path).code == 0


def test_layout_reads_text_in_the_code_page_that_the_layout_names(tdq, tmp_path):
    (tmp_path / "l.yaml").write_text("code_page: ascii\nfields:\n- {name: A, picture: X(4)}\n")
    assert json.loads(tdq("dataset", "layout", "l.yaml", "--hex", "41424344", "--json").out)["record"] == {"A": "ABCD"}
    named = tdq("dataset", "layout", "l.yaml", "--hex", "C1C2C3C4", "--code-page", "037", "--json")
    assert json.loads(named.out)["record"] == {"A": "ABCD"}


def test_layout_refuses_options_that_would_do_nothing(tdq, tmp_path):
    (tmp_path / "p.cpy").write_text(COPYBOOK)
    alone = tdq("dataset", "layout", "p.cpy", "--number", 2)
    assert (alone.code, "--number is the number of a record in --data" in alone.err) == (2, True)
    nothing = tdq("dataset", "layout", "p.cpy", "--hex", "")
    assert (nothing.code, "the record has 0 bytes" in nothing.err) == (1, True)


FAULTS = {
    "an attribute": ("csd", "DEFINE TDQUEUE(Q1) GROUP(G) TYPE(INTRA) ATIFACILTY(FILE)\n", "did you mean ATIFACILITY?"),
    "a type": ("csd", "DEFINE TDQUEUE(Q1) GROUP(G) TYPE(INTRA)\nDEFINE TDQUEU1(Q2) GROUP(G)\n", "did you mean TDQUEUE?"),
    "a verb": ("csd", "DEFINE TDQUEUE(Q1) GROUP(G) TYPE(INTRA)\nDELTE GROUP(G)\n", "did you mean DELETE?"),
    "a value that is cut": ("csd", "DEFINE TDQUEUE(Q1) GROUP(G) TYPE(INTRA) TRANSID(PAYP\n", "is not closed"),
    "a queue": ("csd", "DEFINE TDQUEUE(Q1) GROUP(G) TYPE(INTRA)\nDEFINE TDQUEUE(Q2) TYPE(INTRA)\n", "has no group"),
    "an operand": (
        "dct", " DFHDCT TYPE=INTRA,DESTID=PAYQ,NONSENSE=1\n DFHDCT TYPE=FINAL\n", "has no counterpart in a queue"
    ),
    "a keyword": (
        "cl", "CRTDTAQ DTAQ(L/A) MAXLEN(80)\nCRTDTAQ DTAQ(L/B) MAXLEN(80) NONSENSE(1)\n", "the command is not run"
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", FAULTS)
def test_import_of_text_that_is_dropped_or_cut_has_an_exit_code(tdq: Tdq, tmp_path: Path, what: str) -> None:
    form, text, said = FAULTS[what]
    deck = tmp_path / "deck.txt"
    deck.write_text(text)
    made = tdq("import", form, deck)
    assert (made.code, said in made.err, "1 part of the text dropped or cut" in made.err) == (1, True, True)
    assert "name: " in made.out or "dtaq: " in made.out
    lenient = tdq("import", form, deck, "--lenient")
    assert (lenient.code, lenient.out, said in lenient.err) == (0, made.out, True)


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("csd", "DEFINE TDQUEUE(Q1) GROUP(G) TYPE(INTRA)\nADD GROUP(G) LIST(L)\n"),
        ("cl", "PGM\nDCL VAR(&X) TYPE(*CHAR)\nCRTDTAQ DTAQ(L/A) MAXLEN(80)\nCALL PGM(P)\nENDPGM\n"),
    ],
)
def test_import_passes_over_other_commands(tdq: Tdq, tmp_path: Path, form: str, text: str) -> None:
    deck = tmp_path / "deck.txt"
    deck.write_text(text)
    assert tdq("import", form, deck).code == 0


def test_a_record_of_a_layout_is_folded_to_80_columns_without_a_terminal(tdq: Tdq, tmp_path: Path) -> None:
    source = tmp_path / "long.cpy"
    source.write_text("       01  REC.\n           05 CITY PIC X(26).\n")
    shown = tdq("dataset", "layout", source, "--hex", "C1" * 26)
    assert shown.code == 0
    assert max(map(len, shown.out.splitlines())) <= 80
    assert shown.out.replace("\n", "").replace(" ", "").endswith("C1" * 16 + "...10more")
    assert '"AAAAAAAAAAAAAAAAAAAAAAAAAA"' in shown.out


def test_a_record_that_does_not_fit_its_layout_names_the_option_for_the_format(tdq: Tdq, tmp_path: Path) -> None:
    (tmp_path / "pay.cpy").write_text("       01  PAYMENT.\n           05  PAY-ID  PIC 9(6).\n")
    (tmp_path / "pay.vb").write_bytes(b"\x00\x0e\x00\x00\x00\x0a\x00\x00" + "000007".encode("cp037"))
    hint = "give its format by --dcb; tdq dataset pay.vb finds it out"
    assert hint in tdq("dataset", "layout", "pay.cpy", "--data", "pay.vb").err
    assert hint not in tdq("dataset", "layout", "pay.cpy", "--data", "pay.vb", "--dcb", "RECFM=VB").err


def test_an_import_names_the_file_of_what_it_drops(tdq: Tdq, tmp_path: Path) -> None:
    (tmp_path / "pay.csd").write_text("DEFINE TDQUEUE(PAYQ) GROUP(PAY) TYPE(INTRA) ATIFACILTY(FILE)\n")
    ended = tdq("import", "csd", "pay.csd", "-o", "pay.yaml")
    said = "tdq: pay.csd: line 1: TDQUEUE(PAYQ) ATIFACILTY: skipped: is not an attribute of TDQUEUE; did you mean ATIFACILITY?"
    assert (ended.code, ended.err.splitlines()[0]) == (1, said)
