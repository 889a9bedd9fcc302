"""``tdq new DIR --cobol``: a region directory from sources, copybooks, maps and a CSD extract."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tdqsim.cli import main
from tdqsim.cobol.new_region import make_region
from tdqsim.definitions import load_definitions
from tdqsim.errors import UsageError

pytestmark = pytest.mark.cobc

MAIN = """\
       IDENTIFICATION DIVISION.
       PROGRAM-ID. MAINP.
       DATA DIVISION.
       WORKING-STORAGE SECTION.
           COPY WSREC.
           COPY MENU.
       PROCEDURE DIVISION.
           MOVE LOW-VALUES TO MENU1O
           MOVE 'HELLO' TO TITLEO
           EXEC CICS WRITEQ TD QUEUE('OUTQ') FROM(WS-REC) END-EXEC
           EXEC CICS SEND MAP('MENU1') MAPSET('MENU') ERASE END-EXEC
           EXEC CICS RETURN END-EXEC
           EXEC CICS LINK PROGRAM('ABSENT') END-EXEC
           EXEC CICS WRITEQ TD QUEUE('GONE') FROM(WS-REC) END-EXEC
           EXEC CICS READ FILE('ACCT') INTO(WS-REC) RIDFLD(WS-REC)
           END-EXEC
           EXEC CICS WEB OPEN HOST('h') SESSTOKEN(WS-REC) END-EXEC.
"""
MENU = """\
MENU     DFHMSD TYPE=&SYSPARM,MODE=INOUT,LANG=COBOL,TIOAPFX=YES
MENU1    DFHMDI SIZE=(24,80)
TITLE    DFHMDF POS=(1,1),LENGTH=20
         DFHMSD TYPE=FINAL
         END
"""
CSD = """\
DEFINE TDQUEUE(OUTQ) GROUP(APP) TYPE(INTRA)
DEFINE TRANSACTION(MAIN) GROUP(APP) PROGRAM(MAINP)
DEFINE TRANSACTION(LOST) GROUP(APP) PROGRAM(LOSTP)
DEFINE TERMINAL(T009) GROUP(APP)
"""


@pytest.fixture
def checkout(tmp_path):
    for folder, name, text in (
        ("src/cbl", "MAINP.cbl", MAIN),
        ("src/cbl", "BROKEN.CBL", MAIN.replace("MAINP", "BROKEN").replace("WSREC", "NOSUCH")),
        ("src/cpy", "WSREC.cpy", "       01  WS-REC PIC X(8) VALUE 'A RECORD'.\n"),
        ("src/maps", "MENU.bms", MENU),
    ):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        (tmp_path / folder / name).write_text(text)
    (tmp_path / "app.csd").write_text(CSD)
    return tmp_path


def test_a_checkout_becomes_a_region_whose_cases_run(checkout, capsys):
    made = checkout / "region"
    assert main(["new", str(made), "--cobol", str(checkout / "src"), "--csd", str(checkout / "app.csd")]) == 0
    told = capsys.readouterr().out
    for what in (
        "transaction LOST: there is no source of program LOSTP",
        "NOSUCH",
        "program ABSENT: there is no source (used by MAINP)",
        "queue GONE: it is not defined (used by MAINP)",
        "file ACCT: it is not defined (used by MAINP)",
        'programs.verbs["WEB OPEN"]',
    ):
        assert any(line.startswith("not found: ") and what in line for line in told.splitlines()), (what, told)
    described = yaml.safe_load((made / "region.yaml").read_text())
    assert described["cobol"]["sources"] == ["../src/cbl"]
    assert sorted(described["cobol"]["copybooks"]) == ["../src/cpy", "../src/maps"]
    found = load_definitions(made / "definitions.yaml")
    assert [each.name for each in found.transactions] == ["MAIN", "LOST"]
    assert sorted(path.name for path in (made / "cases").iterdir()) == ["MAIN.case.yaml", "queue-OUTQ.case.yaml"]

    assert main(["cobol", "test", str(made)]) == 1
    told = capsys.readouterr().out
    assert "queues.OUTQ[1]: expected no record, found 'A RECORD'" in told
    case = made / "cases" / "MAIN.case.yaml"
    case.write_text(case.read_text().rstrip() + "\n      screen: {T001: {map: MENU1, fields: {TITLE: ''}}}\n")
    assert main(["cobol", "test", str(made), "--update"]) == 0
    (then,) = [each["then"] for each in yaml.safe_load(case.read_text())["cases"]]
    assert then["screen"] == {"T001": {"map": "MENU1", "fields": {"TITLE": "HELLO"}}}
    assert then["queues"] == {"OUTQ": ["A RECORD"]}
    capsys.readouterr()
    assert main(["cobol", "test", str(made)]) == 0


def test_only_intrapartition_queues_that_are_not_supplied_get_a_case(checkout):
    made, csd = checkout / "region", checkout / "app.csd"
    csd.write_text(
        f"{CSD}DEFINE TDQUEUE(TAPE) GROUP(APP) TYPE(EXTRA) DDNAME(TAPE)\nDEFINE TDQUEUE(CSSL) GROUP(APP) TYPE(INTRA)\n"
    )
    assert main(["new", str(made), "--cobol", str(checkout / "src"), "--csd", str(csd)]) == 0
    assert {each.name for each in load_definitions(made / "definitions.yaml").tdqueues} == {"OUTQ", "TAPE", "CSSL"}
    assert sorted(path.name for path in (made / "cases").glob("queue-*")) == ["queue-OUTQ.case.yaml"]


def test_without_a_csd_the_programs_show_queues_and_transactions(checkout, capsys):
    made = checkout / "region"
    (checkout / "src" / "cbl" / "BROKEN.CBL").unlink()
    assert main(["new", str(made), "--cobol", str(checkout / "src")]) == 0
    found = load_definitions(made / "definitions.yaml")
    assert [each.name for each in found.tdqueues] == ["GONE", "OUTQ"]
    assert [(each.name, each.program) for each in found.transactions] == [("T001", "MAINP")]
    assert "queue GONE" not in capsys.readouterr().out


def test_a_csd_needs_programs_and_an_existing_directory_is_not_touched(checkout, capsys):
    assert main(["new", str(checkout / "region"), "--csd", str(checkout / "app.csd")]) == 2
    assert "--csd needs --cobol" in capsys.readouterr().err
    assert main(["new", str(checkout), "--cobol", str(checkout / "src")]) == 2
    assert not Path(checkout / "region.yaml").exists()


def test_sources_that_do_not_exist_are_refused(tmp_path):
    with pytest.raises(UsageError, match="nowhere: there is no such file or folder"):
        make_region(tmp_path / "new", [tmp_path / "nowhere"])
    with pytest.raises(UsageError, match="there is no COBOL program"):
        make_region(tmp_path / "new", [tmp_path])
