"""Code pages of records, what behaves otherwise in ASCII, and the commands of ``tdq cobol``."""

from __future__ import annotations

import re
import warnings
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from tdqsim import Region
from tdqsim.cli import main
from tdqsim.cobol import CobolPrograms, CobolWarning, Conversion
from tdqsim.cobol.area_warnings import unconverted
from tdqsim.cobol.code_pages import CodePages
from tdqsim.cobol.portability import differences
from tdqsim.cobol.survey import survey
from tdqsim.cobol.tdq import app
from tdqsim.cobol.translate import ExecCommand
from tdqsim.layouts import parse_copybook

RECORD = "01 R. 05 NAME PIC X(3). 05 AMOUNT PIC S9(3). 05 COUNT-OF PIC S9(4) COMP. 05 PARTS PIC X OCCURS 2."
COPIES = """
EXEC CICS READQ TD QUEUE('IN') INTO(R) END-EXEC
ADD 1 TO AMOUNT
ADD 1 TO COUNT-OF
IF NAME = 'ABC' MOVE 'XYZ' TO NAME END-IF
EXEC CICS WRITEQ TD QUEUE('OUT') FROM(R) END-EXEC
GOBACK.
"""


@pytest.mark.cobc
def test_a_record_with_a_layout_is_converted_field_by_field(workshop):
    layout = parse_copybook(RECORD).record()
    pages = {name: Conversion("037", layout) for name in ("IN", "OUT")}
    programs = CobolPrograms(workshop.region, sources=[workshop.folder], cache=workshop.folder / "c", code_pages=pages)
    storage = RECORD.replace("PIC X OCCURS", "\n   PIC X OCCURS").replace(". 05", ".\n   05")
    workshop.program("CONVERT", storage, COPIES)
    workshop.region.writeq_td("IN", "ABC".encode("cp037") + b"\xf0\xf1\xd2" + b"\xff\xfe" + "de".encode("cp037"))
    handle = workshop.region.start(programs.handler("CONVERT"))
    workshop.region.run()
    handle.result()
    # -12 + 1 is -11, its sign over the last digit; -2 + 1 in binary
    assert workshop.out() == ["XYZ".encode("cp037") + b"\xf0\xf1\xd1" + b"\xff\xff" + "de".encode("cp037")]


def test_what_redefines_decides_nothing_and_the_characters_of_groups_are_converted():
    copybook = """
    01 R.
       05 HEAD. 10 KIND PIC X. 10 COUNT-OF PIC S9(4) COMP.
       05 OTHER REDEFINES HEAD. 10 TEXT-1 PIC X(3).
       05 LINES-OF OCCURS 2. 10 LINE-1 PIC X. 10 N PIC S9(4) COMP.
       05 TAIL PIC S9(4) COMP.
       05 TAIL-1 REDEFINES TAIL PIC X(2).
    """
    conversion = Conversion("037", parse_copybook(copybook).record())
    assert conversion.to_program(b"\xc1\xc1\xc1" + b"\xc1\xc1\xc1" * 2 + b"\xc1\xc1", "INTO") == (
        b"A\xc1\xc1" + b"A\xc1\xc1" * 2 + b"\xc1\xc1"
    )
    assert conversion.to_region(b"ABC", "RIDFLD") == b"\xc1\xc2\xc3"  # a key is text
    pages = CodePages({"in": conversion})
    assert (pages.of("IN  "), pages.of("OUT")) == (conversion, None)


def test_sub_has_a_byte_of_its_own_in_a_code_page_with_the_euro_sign():
    euro = Conversion("1140")  # X'9F' is the euro sign, which programs get as SUB
    assert euro.to_program(b"\x9f\x3f\xc1", "INTO") == b"\x1a\x1aA"
    assert euro.to_region(b"\x1aA", "FROM") == b"\x3f\xc1"


def test_each_queue_without_a_code_page_is_told_of_once():
    told: list[str] = []
    level = SimpleNamespace(settings=SimpleNamespace(warned=set(), on_warning=told.append))
    for name in ("PAYQ", "LOGQ", "PAYQ"):
        unconverted(level, ExecCommand("READQ TD", "P.cbl:7"), name)
    assert [each.partition(" has")[0] for each in told] == ["P.cbl:7: READQ: PAYQ", "P.cbl:7: READQ: LOGQ"]


@pytest.mark.cobc
def test_a_code_page_alone_is_text_from_end_to_end_and_names_are_for_all(workshop):
    programs = CobolPrograms(
        workshop.region, sources=[workshop.folder], cache=workshop.folder / "c", code_pages={"*": "037"}
    )
    workshop.program("TEXTUAL", "01 T PIC X(5) VALUE 'Hello'.", "EXEC CICS WRITEQ TD QUEUE('OUT') FROM(T) END-EXEC.")
    handle = workshop.region.start(programs.handler("TEXTUAL"))
    workshop.region.run()
    handle.result()
    assert workshop.out() == ["Hello".encode("cp037")]


def test_what_behaves_otherwise_is_told_with_its_line():
    text = """\
 01 AMOUNT PIC S9(5)V99.
 01 PACKED PIC S9(5) COMP-3.
 77 P USAGE POINTER.
 PROCEDURE DIVISION.
     IF EIBAID = X'F3' CONTINUE END-IF
     IF NAME > 'A' CONTINUE END-IF
     IF NAME > LOW-VALUES CONTINUE END-IF.
"""
    assert [(each.place.line, each.kind) for each in differences(text, "x.cbl")] == [
        (1, "sign"),
        (3, "size"),
        (5, "hexadecimal"),
        (6, "collation"),
    ]


@pytest.mark.cobc
def test_a_survey_tells_what_runs_and_what_stops(tmp_path, workshop):
    workshop.program("GOOD", "77 X PIC X.", "EXEC CICS WRITEQ TD QUEUE('OUT') FROM(X) END-EXEC\nGOBACK.")
    workshop.program("ABENDS", "77 X PIC X.", "EXEC CICS ABEND ABCODE('OOPS') END-EXEC\nGOBACK.")
    workshop.program("STOPS", "77 X PIC X.", "EXEC CICS WEB OPEN HOST(X) END-EXEC\nGOBACK.")
    workshop.program("BROKEN", "77 X PIC X.", "MOVE 1 TO NOWHERE\nEXEC CICS RETURN END-EXEC.")
    workshop.program("WRONG", "77 X PIC X.", "IF X = DFHRESP(NONSUCH) CONTINUE.\nEXEC CICS RETURN END-EXEC.")
    found = {each.source.rpartition("/")[2]: each for each in survey(workshop.folder, cache=tmp_path / "cache")}
    shown = {name: (each.translated, each.compiled, each.ran) for name, each in found.items()}
    assert shown == {
        "ABENDS.cbl": ("yes", "yes", "yes"),
        "BROKEN.cbl": ("yes", "no", "-"),
        "GOOD.cbl": ("yes", "yes", "yes"),
        "STOPS.cbl": ("yes", "yes", "no"),
        "WRONG.cbl": ("no", "-", "-"),
    }
    assert "WEB OPEN" in found["STOPS.cbl"].why
    assert "OOPS" in found["ABENDS.cbl"].why
    assert found["GOOD.cbl"].transient_data


@pytest.mark.cobc
def test_a_program_is_run_from_the_command_line(workshop, capfd):
    spoken = "DISPLAY 'Bye'\nEXEC CICS WRITE OPERATOR TEXT(T) END-EXEC\nGOBACK."
    workshop.program("SAYS", "01 T PIC X(5) VALUE 'Hello'.", spoken)
    assert main(["cobol", "run", str(workshop.folder / "SAYS.cbl"), "--trace"]) == 0
    output = capfd.readouterr().out
    assert "operator: Hello" in output
    assert re.search(r"^CESE: TDQC \d{14} Bye$", output, re.MULTILINE)
    assert "SAYS.cbl:8 EXEC CICS WRITE OPERATOR TEXT(T)" in output


@pytest.mark.cobc
def test_check_names_the_commands_that_only_a_function_answers(workshop):
    workshop.program(
        "ASKS",
        "01 X PIC X(4).",
        """
        EXEC CICS WEB OPEN HOST(X) END-EXEC
        EXEC CICS INQUIRE URIMAP('U') HOST(X) END-EXEC
        EXEC CICS READQ TD QUEUE(X) INTOO(X) END-EXEC
        EXEC SQL COMMIT END-EXEC
        EXEC CICS SPOOLCLOSE RESP(X) END-EXEC
        GOBACK.
        """,
    )
    told = CliRunner().invoke(app, ["check", str(workshop.folder / "ASKS.cbl")]).output
    for line, command, function in (
        (7, "EXEC CICS WEB OPEN HOST(X): WEB is not a command", "WEB OPEN"),
        (8, "EXEC CICS INQUIRE URIMAP('U') HOST(X): no command INQUIRE", "INQUIRE URIMAP"),
        (10, 'EXEC SQL COMMIT: only a test answers it: SqlStub(SqlAnswer(...), kind="COMMIT"), or a function', "SQL"),
        (11, "EXEC CICS SPOOLCLOSE RESP(X): SPOOLCLOSE is not a command", "SPOOLCLOSE"),
    ):
        assert f"ASKS.cbl:{line}: not simulated: {command}" in told
        assert f'programs.verbs["{function}"]' in told
    misspelt = "error: EXEC CICS READQ TD QUEUE(X) INTOO(X): INTOO is not an option of READQ; did you mean INTO?"
    assert f"ASKS.cbl:9: {misspelt}" in told


@pytest.mark.cobc
def test_folders_that_are_named_as_libraries_are_no_sources(workshop, tmp_path):
    for name in ("PAY.PROD.COBOL", "PAY.PROD.BMS", "PAY.PROD.CPY"):
        (workshop.folder / name).mkdir()
    (workshop.folder / "PAY.PROD.CPY" / "TEXT.cpy").write_text("       77  X PIC X.\n")
    workshop.program("GOOD", "COPY TEXT.", "EXEC CICS WRITEQ TD QUEUE('OUT') FROM(X) END-EXEC\nGOBACK.")
    (workshop.folder / "GOOD.cbl").rename(workshop.folder / "PAY.PROD.COBOL" / "GOOD.cbl")
    checked = CliRunner().invoke(app, ["check", str(workshop.folder), "-I", str(workshop.folder / "PAY.PROD.CPY")])
    assert (checked.exit_code, "GOOD, 1 commands" in checked.output) == (0, True), checked.output
    assert [each.ran for each in survey(workshop.folder, cache=tmp_path / "cache")] == ["yes"]


@pytest.mark.cobc
def test_an_ebcdic_region_reports_a_queue_without_a_code_page_and_converts_the_others(workshop):
    workshop.program(
        "WRITES",
        "77 X PIC X.",
        """
        EXEC CICS WRITEQ TD QUEUE('CONV') FROM('ABC') END-EXEC
        EXEC CICS WRITEQ TD QUEUE('PLAI') FROM('ABC') END-EXEC
        EXEC CICS WRITEQ TD QUEUE('PLAI') FROM('AGAIN') END-EXEC
        GOBACK.
        """,
    )
    (workshop.folder / "defs.yaml").write_text(
        "group: G\ntdqueue:\n  - {name: CONV, type: INTRA}\n  - {name: PLAI, type: INTRA}\n"
        "transaction:\n  - {name: WRIT, program: WRITES}\n"
    )
    for page, warned in (('code_page: "037"\n', True), ("", False)):
        (workshop.folder / "region.yaml").write_text(
            f'{page}definitions: [defs.yaml]\ncobol: {{sources: [.], cache: cache, code_pages: {{CONV: "037"}}}}\n'
        )
        with Region.from_directory(workshop.folder) as region, warnings.catch_warnings(record=True) as issued:
            warnings.simplefilter("always")
            region.start("WRIT")
            region.run()
            assert region.peek("CONV") == [bytes.fromhex("C1C2C3")]
            assert region.peek("PLAI") == [b"ABC", b"AGAIN"]
        texts = [str(each.message) for each in issued if each.category is CobolWarning]
        assert len(texts) == warned  # once for each queue
        assert all("WRITEQ: PLAI has no code page in cobol: code_pages" in text for text in texts)
