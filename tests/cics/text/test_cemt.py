from __future__ import annotations

import json
import re

import pytest
from freezegun import freeze_time

from tdqsim.cics import Access, AccessList, CemtError, Region, TranslationError, cemt
from tdqsim.cics.text import ceci
from tdqsim.definitions import define_tdqueue
from tdqsim.errors import TdqError
from tdqsim.facts import Cvda, Resp
from tests.cics.spi.helpers import region
from tests.rules import rule

SAMPLE = """
group: G
tdqueue:
  - {name: CADL, type: INDIRECT, indirectname: CSSL}
  - {name: CCSO, type: EXTRA, typefile: OUTPUT, ddname: COUT, disposition: MOD}
  - {name: CESE, type: EXTRA, typefile: OUTPUT, ddname: CEEMSG}
  - {name: MYQ1, type: INTRA, transid: XYZ1, facilityid: T001, triggerlevel: 5}
  - {name: FARQ, remotesystem: CICB}
"""


@pytest.fixture
def reg(tmp_path):
    with region(tmp_path, text=SAMPLE) as made:
        made.writeq_td("MYQ1", b"one")
        made.writeq_td("MYQ1", b"two")
        yield made


@pytest.mark.rule("CEMT-LINES", "CEMT-ALL-DEFAULT", "CEMT-SCREEN")
def test_the_screen_of_all_queues(tmp_path):
    with freeze_time("2024-05-31 12:34:56"), region(tmp_path, text=SAMPLE) as reg:
        reg.writeq_td("MYQ1", b"one")
        reg.writeq_td("MYQ1", b"two")
        assert cemt(reg, "CEMT I TD").text.splitlines() == [
            " CEMT I TD",
            " STATUS:  RESULTS - OVERTYPE TO MODIFY",
            "  Tdq(CADL)              Ind Nam(CSSL)",
            "  Tdq(CCSO)              Ext           Ena Ope",
            "                             Mod Out Dat(001) Ddn(COUT    )",
            "  Tdq(CESE)              Ext           Ena Ope",
            "                             Shr Out Dat(001) Ddn(CEEMSG  )",
            "  Tdq(MYQ1) Tri(00005) Ite(00002) Int Ter Ena Atit(T001) Tra(XYZ1) Use(CICSUSER)",
            "  Tdq(FARQ)              Rem           Ena Rna(FARQ) Rsy(CICB)",
            " " * 53 + "SYSID=TDQ1 APPLID=TDQREGN",
            "  RESPONSE: NORMAL                               TIME:  12.34.56  DATE: 05/31/24",
        ]


def test_a_queue_without_a_facility_shows_none():
    """Ter stands for a terminal; where there is none, nothing stands there."""
    queue = define_tdqueue(name="FILQ", type="INTRA", atifacility="FILE", transid="XYZ1", triggerlevel=5)
    with Region([queue], supplied_queues=False) as reg:
        line = cemt(reg, "CEMT- I TD(FILQ)").text.splitlines()[2]
        assert line == "  Tdq(FILQ) Tri(00005) Ite(00000) Int     Ena            Tra(XYZ1) Use(CICSUSER)"
        changed = cemt(reg, "CEMT S TD(FILQ) DI").text.splitlines()[2]
        assert changed == "  Tdq(FILQ) Tri(00005) Ite(00000) Int     Dis            Tra(XYZ1) Use(CICSUSER) NORMAL"
        assert cemt(reg, "CEMT I TD(NONE)").text.splitlines()[2] == f"  {'Tdq(NONE)':<68}NOT FOUND"


@pytest.mark.rule("CEMT-MORE-BELOW")
@pytest.mark.parametrize("call", [cemt, ceci.ceci])
def test_a_task_in_place_of_the_region_is_refused_by_name(reg, call):
    with reg.task() as task, pytest.raises(TypeError, match=rf"{call.__name__}: region is <Task .*; allowed is Region"):
        call(task, "INQUIRE TASK")
    with pytest.raises(TypeError, match="is None; allowed is str"):
        call(reg, None)


def test_a_page_says_that_there_is_more_below(reg):
    pages = [cemt(reg, "I TD", height=3, page=page).text.splitlines()[2:-2] for page in (1, 2, 3, 9)]
    assert [len(lines) for lines in pages] == [3, 3, 1, 1]
    assert [lines[-1][0] for lines in pages] == ["+", "+", " ", " "]
    assert pages[0][-1] == "+                            Mod Out Dat(001) Ddn(COUT    )"
    assert cemt(reg, "I TD", height=7).text == cemt(reg, "I TD").text


@pytest.mark.rule("CEMT-NOT-APPLICABLE")
def test_what_does_not_apply_is_not_shown(reg):
    reg.set_tdqueue("CCSO", openstatus="CLOSED")
    lines = cemt(reg, "CEMT- I TD(CCSO)").text.splitlines()
    assert lines[2:4] == ["  Tdq(CCSO)              Ext           Ena Clo", " " * 37 + "Dat(001) Ddn(COUT    )"]


@pytest.mark.rule("CEMT-PANEL")
def test_one_queue_is_a_line_and_a_panel_once_the_cursor_is_on_it(reg):
    result = cemt(reg, "I TD(MYQ1)")
    assert result.text == cemt(reg, "CEMT- I TD(MYQ1)").text.replace("CEMT- ", "")
    assert result.text.splitlines()[2].startswith("  Tdq(MYQ1) Tri(00005)")
    assert "RESPONSE: NORMAL" in result.text
    text = result.panel(result.rows[0])
    assert text.splitlines()[1] == " RESULT - OVERTYPE TO MODIFY"
    assert "RESPONSE" not in text
    assert "SYSID=TDQ1 APPLID=" in text
    for line in ["  Tdqueue(MYQ1)", "  Type(Intra)", "  Enablestatus( Enabled )", "  Triggerlevel( 00005 )", "  Numitems(00002)",
                 "  Installagent(Grplist)"]:  # fmt: skip
        assert line in text.splitlines()
    assert "Ddname" not in text
    assert "Tdq(MYQ1)" in cemt(reg, "CEMT-I TD(MYQ1)").text


@pytest.mark.rule("CEMT-GENERIC", "CEMT-FILTER")
@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("I TD", ["CADL", "CCSO", "CESE", "MYQ1", "FARQ"]),
        ("I TD(C*)", ["CADL", "CCSO", "CESE"]),
        ("I TD(*)", ["CADL", "CCSO", "CESE", "MYQ1", "FARQ"]),
        ("I TD(C+S+)", ["CCSO", "CESE"]),
        ("I TD(C+S)", []),
        ("I TD(*Q*)", ["MYQ1", "FARQ"]),
        ("I TD(MYQ1 CADL)", ["MYQ1", "CADL"]),
        ("I TD IND", ["CADL"]),
        ("I TD EXT EN MO", ["CCSO"]),
        ("I TD TRI(5)", ["MYQ1"]),
        ("I TD(C*) DD(CEEMSG)", ["CESE"]),
        ("I TD DI", []),
        ("I TD(MYQ1) IND", []),
        ("I TD(MYQ1 CADL) IND", ["CADL"]),
    ],
)
def test_which_queues_are_meant(reg, text, names):
    assert [row.name for row in cemt(reg, text).rows] == names


@pytest.mark.rule("CEMT-SET")
def test_set_changes_and_shows_what_became_of_it(reg):
    result = cemt(reg, "S TD(MYQ1 FARQ) DI")
    assert [row.outcome for row in result.rows] == ["NORMAL", "NORMAL"]
    assert reg.inquire_tdqueue("MYQ1", "ENABLESTATUS").enablestatus is Cvda.DISABLED
    assert all(line.endswith("NORMAL") for line in result.text.splitlines() if line.startswith("  Tdq"))
    assert "RESPONSE: NORMAL" in result.text
    cemt(reg, "S TD(MYQ1) TRI(9) ATITR(XYZ2) EN")
    assert reg.inquire_tdqueue("MYQ1", "TRIGGERLEVEL").triggerlevel == 5  # XYZ2 is not defined: nothing was changed


@pytest.mark.rule("CEMT-SET-ERRORS")
def test_each_queue_that_could_not_be_changed_says_why(reg):
    result = cemt(reg, "S TD(C*) DI")
    assert {row.name: row.outcome for row in result.rows} == {
        "CADL": "INVREQ RESP2 NOT PUBLISHED", "CCSO": "INVREQ RESP2(11)", "CESE": "INVREQ RESP2(11)",
    }  # fmt: skip
    assert result.errors == 3
    assert "RESPONSE: 3 ERRORS" in result.text
    bad = cemt(reg, "S TD(MYQ1) TRI(99999)")
    assert re.search(r"RESPONSE: 1 ERROR\b", bad.text)
    assert bad.rows[0].condition.resp is Resp.INVREQ


@pytest.mark.rule("CEMT-NOT-FOUND", "CEMT-NOT-AUTHORIZED")
def test_queues_that_are_not_there_or_not_to_be_seen(reg):
    result = cemt(reg, "I TD(NONE)")
    assert (result.rows[0].outcome, result.errors) == (rule("CEMT-NOT-FOUND").message, 1)
    assert rule("CEMT-NOT-FOUND").message in result.text
    reg._core.ressec, reg.security = "ALWAYS", AccessList(queues={"CICSUSER": {"MYQ1": Access.NONE, "*": Access.READ}})
    assert cemt(reg, "I TD(MYQ1)").rows[0].outcome == rule("CEMT-NOT-AUTHORIZED").message
    assert "MYQ1" not in [row.name for row in cemt(reg, "I TD").rows]


def test_discard(reg):
    assert cemt(reg, "DI TD(MYQ1)").rows[0].outcome == "INVREQ RESP2(31)"
    cemt(reg, "S TD(MYQ1) DI")
    assert cemt(reg, "DI TD(MYQ1)").rows[0].outcome == "NORMAL"
    assert cemt(reg, "I TD(MYQ1)").rows[0].outcome == "NOT FOUND"


@pytest.mark.rule("CEMT-QUESTION-MARK")
def test_a_question_mark_does_nothing(reg):
    asked = cemt(reg, "? S TD(MYQ1) DI")
    assert asked.rows == ()
    shown = asked.text.splitlines()
    assert shown[1] == " STATUS:  COMMAND SYNTAX CHECK"
    assert shown[2:6] == [
        "  CEMT Set TDqueue", "   < ( value ) | ALl >", "   < ENabled | DIsabled >", "   < OPen | CLosed >",
    ]  # fmt: skip
    assert cemt(reg, "? SET TD").rows == ()
    assert reg.inquire_tdqueue("MYQ1", "ENABLESTATUS").enablestatus is Cvda.ENABLED


def test_an_error_does_nothing(reg):
    with pytest.raises(CemtError):
        cemt(reg, "S TD(MYQ1) DI NONSENSE")
    assert reg.inquire_tdqueue("MYQ1", "ENABLESTATUS").enablestatus is Cvda.ENABLED


def test_the_result_is_json(reg):
    plain = cemt(reg, "I TD").as_dict()
    assert json.loads(json.dumps(plain)) == plain
    assert plain["tdqueues"][3]["NUMITEMS"] == 2
    failed = cemt(reg, "S TD(CCSO) DI").as_dict()["tdqueues"][0]
    assert (failed["outcome"], failed["resp"], failed["resp2"]) == ("INVREQ RESP2(11)", "INVREQ", 11)


# -- CECI ----------------------------------------------------------------------------------------------------------------


@pytest.mark.rule("CECI-BARE", "CECI-SCREEN")
def test_values_need_no_quotes_and_results_are_shown(reg):
    with ceci.session(reg) as session:
        written = session.execute("WRITEQ TD QUEUE(MYQ1) FROM(HELLO WORLD)")
        assert (written.name, written.response) == ("WRITEQ TD", Resp.NORMAL)
        assert "STATUS:  COMMAND EXECUTION COMPLETE" in written.text
        assert "RESPONSE: NORMAL        EIBRESP=+0000000000 EIBRESP2=+0000000000" in written.text
        asked = session.execute("INQUIRE TDQUEUE(MYQ1) NUMITEMS TYPE ATITRANID")
        assert asked.received == {"NUMITEMS": 3, "TYPE": Cvda.INTRA, "ATITRANID": "XYZ1"}
        assert "Type( +0000000222 )" in asked.text
        assert "Atitranid( 'XYZ1' )" in asked.text
    assert reg.peek("MYQ1")[-1] == "HELLO WORLD".encode("cp037")


@pytest.mark.rule("CECI-VARIABLES")
def test_variables_begin_with_an_ampersand(reg):
    with ceci.session(reg, {"&REC": b"from a variable"}) as session:
        session.execute("WRITEQ TD QUEUE(MYQ1) FROM(&REC)")
        for _ in range(3):
            result = session.execute("READQ TD QUEUE(MYQ1) INTO(&BACK)")
        assert session.variables["&BACK"] == b"from a variable" == result.received["INTO"]
        assert json.loads(json.dumps(result.as_dict()))["received"]["INTO"] == b"from a variable".hex().upper()


def write_and_fail(reg):
    with ceci.session(reg) as session:
        session.execute("WRITEQ TD QUEUE(TERQ) FROM(THREE)")
        raise ZeroDivisionError


@pytest.mark.rule("CECI-ONE-UNIT-OF-WORK")
def test_a_session_is_one_unit_of_work(tmp_path):
    with region(tmp_path) as reg:
        session = ceci.session(reg)
        session.execute("WRITEQ TD QUEUE(TERQ) FROM(ONE)")
        assert reg.peek("TERQ") == []
        session.end()
        assert len(reg.peek("TERQ")) == 1
        with pytest.raises(TdqError, match="has ended"):
            session.execute("SYNCPOINT")
        with ceci.session(reg) as session:
            session.execute("WRITEQ TD QUEUE(TERQ) FROM(TWO)")
            session.execute("SYNCPOINT ROLLBACK")
        assert len(reg.peek("TERQ")) == 1
        with pytest.raises(ZeroDivisionError):
            write_and_fail(reg)
        with ceci.session(reg) as session:
            session.execute("WRITEQ TD QUEUE(TERQ) FROM(FOUR)")
            assert session.execute("RETURN").response is Resp.NORMAL
            with pytest.raises(TdqError, match="has ended"):
                session.execute("SYNCPOINT")
        assert len(reg.peek("TERQ")) == 2


@pytest.mark.rule("CECS-CHECK")
def test_a_syntax_check_executes_nothing(reg):
    with ceci.session(reg) as session:
        assert "COMMAND SYNTAX CHECK" in session.check("DELETEQ TD QUEUE(MYQ1)")
        with pytest.raises(TranslationError):
            session.check("DELETEQ TD QUEUE")
        assert "QIDERR" in str(session.execute("DELETEQ QUEUE(MYQ1)"))  # without TD it is one of temporary storage
    assert len(reg.peek("MYQ1")) == 2


def test_numbers_and_names_without_quotes(reg):
    reg.create_tdqueue("0010", "TYPE(INTRA)")
    with ceci.session(reg) as session:
        session.execute("WRITEQ TD QUEUE(0010) FROM(4711) LENGTH(2)")
        assert session.execute("SET TDQUEUE(0010) TRIGGERLEVEL(7)").response is Resp.NORMAL
        assert session.execute("SET TDQUEUE(0010) ENABLESTATUS(DISABLED)").response is Resp.NORMAL
    assert reg.peek("0010") == ["47".encode("cp037")]
    assert reg.inquire_tdqueue("0010", "TRIGGERLEVEL", "ENABLESTATUS").as_dict() == {
        "TRIGGERLEVEL": 7, "ENABLESTATUS": Cvda.DISABLED,
    }  # fmt: skip


@pytest.mark.rule("CEMT-LINES")
def test_a_queue_without_a_terminal_says_nothing_of_one(reg):
    reg.create_tdqueue("FILQ", "TYPE(INTRA) ATIFACILITY(FILE) TRANSID(PAYP)")
    line = next(line for line in cemt(reg, "CEMT-I TD(FILQ)").text.splitlines() if "Tdq(FILQ)" in line)
    assert line.split()[:5] == ["Tdq(FILQ)", "Tri(00001)", "Ite(00000)", "Int", "Ena"]


@pytest.mark.rule("CECI-RECORD-SHOWN")
@pytest.mark.parametrize(
    ("command", "shown", "response"),
    [
        ("READQ TD QUEUE(MYQ1)", {"INTO": b"abcdef", "LENGTH": 6}, Resp.NORMAL),
        ("EXEC CICS READQ TD QUEUE(MYQ1) END-EXEC", {"INTO": b"abcdef", "LENGTH": 6}, Resp.NORMAL),
        ("READQ TD QUEUE(MYQ1) LENGTH(2)", {"INTO": b"ab"}, Resp.LENGERR),
        ("READQ TD QUEUE(MYQ1) SET(&P)", {"SET": b"abcdef"}, Resp.NORMAL),
    ],
)
def test_ceci_shows_a_record_though_it_is_not_said_where(reg, command, shown, response):
    reg.deleteq_td("MYQ1")
    reg.seed("MYQ1", [b"abcdef"])
    with ceci.session(reg) as session:
        result = session.execute(command)
    assert (result.received, result.response) == (shown, response)


@pytest.mark.rule("CECI-ABBREVIATION")
@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("WRITEQ TD Q(MYQ1) F(HELLO)", "WRITEQ TD"),
        ("writeq td que('MYQ1') from(it) len(2)", "WRITEQ TD"),
        ("INQ TDQ(MYQ1) NUM", "INQUIRE TDQUEUE"),
        ("SET TDQ(MYQ1) TRIG(7)", "SET TDQUEUE"),
        ("DELE TD Q(MYQ1)", "DELETEQ TD"),
    ],
)
def test_ceci_takes_beginnings_of_words(reg, command, name):
    with ceci.session(reg) as session:
        result = session.execute(command)
    assert (result.name, result.response) == (name, Resp.NORMAL)


@pytest.mark.parametrize("command", ["INQ T(MYQ1)", "WRITEQ TD Q(MYQ1) FR(X) X(1)", "S TDQ(MYQ1)", "Q"])
def test_ceci_does_not_guess(reg, command):
    with ceci.session(reg) as session, pytest.raises(TranslationError):
        session.execute(command)
    assert len(reg.peek("MYQ1")) == 2


@pytest.mark.rule("CECI-WORD")
@pytest.mark.parametrize("word", ["CECI ", "ceci  ", " CECI ", ""])
def test_the_word_ceci_may_stand_in_front(reg, word):
    with ceci.session(reg) as session:
        result = session.execute(f"{word}INQUIRE TDQUEUE('MYQ1') NUMITEMS")
        assert (result.name, result.received) == ("INQUIRE TDQUEUE", {"NUMITEMS": 2})
        assert "INQUIRE TDQUEUE" in session.check(f"{word.upper().replace('CECI', 'CECS')}INQUIRE TDQUEUE('MYQ1')")
        with pytest.raises(TranslationError, match=f"column {len(word) + 1}: FOO"):
            session.execute(f"{word}FOO")
        with pytest.raises(TranslationError, match="column 1: CECIREADQ"):
            session.execute("CECIREADQ TD QUEUE('MYQ1')")


@pytest.mark.parametrize("level", ["²", "٣", "X", "-1", "99999"])
def test_a_trigger_level_that_is_no_number_is_refused_and_equals_none(reg, level):
    refused = cemt(reg, f"S TDQ(MYQ1) TRIGGERLEVEL({level})").rows[0]
    assert (refused.condition.name, refused.condition.resp2) == ("INVREQ", 901)
    assert reg.inquire_tdqueue("MYQ1").triggerlevel == 5
    assert cemt(reg, f"I TDQ TRIGGERLEVEL({level})").rows == ()
