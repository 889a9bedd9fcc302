from __future__ import annotations

from datetime import datetime

import pytest

from tdqsim.definitions import (
    Definitions,
    define_tdqueue,
    dump_definitions,
    export_csd,
    parse_csd,
    parse_csd_listing,
    parse_definitions,
)
from tests.rules import rule


def queues(text):
    return parse_csd(text).definitions.tdqueues


def reports(text):
    return [(report.line, report.subject, report.action) for report in parse_csd(text).reports]


def test_a_plain_definition():
    found = parse_csd(
        "DEFINE TDQUEUE(PAYQ) GROUP(PAYMENTS) TYPE(INTRA)\n"
        "       ATIFACILITY(FILE) TRANSID(PAYP) TRIGGERLEVEL(5)\n       RECOVSTATUS(LOGICAL)\n"
    )
    (queue,) = found.definitions.tdqueues
    expected = {"type": "INTRA", "atifacility": "FILE", "transid": "PAYP", "triggerlevel": 5, "recovstatus": "LOGICAL"}
    assert queue == define_tdqueue(name="PAYQ", group="PAYMENTS", **expected)
    assert found.reports == ()


@pytest.mark.rule("CSD-ABBREVIATION")
@pytest.mark.parametrize(
    "text",
    [
        "DEFINE TDQUEUE(Q1) GROUP(G) TYPE(EXTRA) RECORDFORMAT(VARIABLE) DESCRIPTION(x) DISPOSITION(MOD)",
        "Define TDq(Q1) G(G) TYPE(E) RECORDF(V) DES(x) DISP(M)",
        "USERDEFINE TDQ(Q1) GROUP(G) TYPE(E) RECORDF(V) DESC(x) DISP(M)",
        "DEF TDQU(Q1)TYPE(Ext)DESC(x)\nRECORDFORM(var) DISPOS(mod)\n\n    GROUP(G)",
    ],
)
def test_abbreviations(text):
    expected = {"type": "EXTRA", "recordformat": "VARIABLE", "description": "x", "disposition": "MOD"}
    assert queues(text) == (define_tdqueue(name="Q1", group="G", **expected),)
    assert reports(text) == []


def test_an_ambiguous_beginning_is_reported():
    assert reports("DEFINE TDQUEUE(Q1) GROUP(G) TYPE(INTRA) TR(X)") == [(1, "TDQUEUE(Q1) TR", "skipped")]


@pytest.mark.rule("CSD-COMMENT")
def test_comments_between_the_lines_of_a_command():
    text = "* DEFINE TDQUEUE(NO) GROUP(G)\nDEFINE TDQUEUE(Q1)\n*  TYPE(EXTRA)\n GROUP(G)\n*\n TYPE(INTRA)\n"
    assert [(queue.name, queue.type) for queue in queues(text)] == [("Q1", "INTRA")]
    assert reports(text) == []


@pytest.mark.parametrize(("value", "told"), [("TERMINAL", False), ("FILE", True), ("0TERMINAL", True)])
def test_an_attribute_of_another_type_is_ignored_only_with_its_default(value, told):
    text = f"DEFINE TDQUEUE(Q1) GROUP(G) TYPE(EXTRA) DDNAME(D) TRIGGERLEVEL(01) ATIFACILITY({value})"
    assert reports(text) == [(1, "TDQUEUE(Q1) atifacility", "skipped")] * told


@pytest.mark.rule("CSD-COLUMNS")
def test_columns_beyond_71():
    card = f"{'DEFINE TDQUEUE(Q1) GROUP(G) TYPE(INTRA)':72}"
    assert reports(f"{card}00010000\n") == []
    told = {column: reports(f"{card[: column - 1]:{column - 1}}X\n")[0][1] for column in (72, 73, 80)}
    assert told == {72: "X", 73: "X", 80: "X"}
    assert reports(f"{card[:71]}X00010000\n") == [(1, "X", "skipped")]
    assert reports(f"{card}TRANSID\n") == [(1, "TRANSID", "skipped")]
    assert [queue.name for queue in queues(f"{card}00010000\n{' TRANSID(PAYP)':72}00020000")] == ["Q1"]
    assert queues(f"{card}{'':20}TRANSID(PAYP)")[0].transid == "PAYP"


@pytest.mark.rule("CSD-CONTINUATION")
@pytest.mark.parametrize("sequence", ["", "00010000"])
def test_an_asterisk_in_column_72_continues_a_value_in_column_1(sequence):
    first = f"DEFINE TDQUEUE(Q1) GROUP(G) TYPE(INTRA) DESCRIPTION({'a' * 18} "
    assert len(first) == 71
    assert queues(f"{first}*{sequence}\nbbb)")[0].description == f"{'a' * 18} bbb"
    assert queues(f"{first[:-1]}c*{sequence}\nbbb)")[0].description == f"{'a' * 18}cbbb"
    assert reports(f"{first}*{sequence}\nbbb)") == []
    assert reports(f"{first}b{sequence}\nbbb)") == [(1, "b", "skipped")]
    assert queues(f"{first[:-1]}\n   bbb)")[0].description == f"{'a' * 18} bbb"


def test_an_export_continues_long_values_as_dfhcsdup_wants():
    written = export_csd(Definitions.of([define_tdqueue(name="Q1", type="INTRA", description="d" * 57)]))
    (first, second) = [line for line in written.splitlines() if "d" * 5 in line]
    assert (len(first), first[71], second.startswith("dd")) == (72, "*", True)
    assert queues(written)[0].description == "d" * 57


@pytest.mark.rule("CSD-COMMAND-END")
def test_a_verb_with_a_parenthesis_is_an_operand():
    text = (
        "DEFINE MAPSET(F1) GROUP(G) ADD(YES) DELETE(YES) LIST(X) DEFINE TDQUEUE(Q1) GROUP(G)\nTYPE(INTRA) ADD GROUP(G) LIST(L)\n"
        "LIST ALL"
    )
    found = parse_csd(text)
    assert [entry.resource.title for entry in found.definitions.entries] == ["MAPSET(F1)", "TDQUEUE(Q1)"]
    assert found.definitions.entries[0].resource.without_effect == {"add": "YES", "delete": "YES", "list": "X"}
    assert reports(text) == [(2, "ADD", "skipped"), (3, "LIST", "skipped")]


@pytest.mark.rule("CSD-DUPLICATE")
def test_the_first_of_two_definitions_stays():
    text = "DEFINE TDQ(Q1) GROUP(G) TYPE(INTRA)\nDEFINE TDQ(Q1) GROUP(G) TYPE(EXTRA)\nDEFINE TDQ(Q1) GROUP(H) TYPE(EXTRA)\n"
    found = parse_csd(f"{text}DEFINE MAPSET(Q1) GROUP(G)\n")
    *queues, mapset = (entry.resource for entry in found.definitions.entries)
    assert [(queue.group, queue.type) for queue in queues] == [("G", "INTRA"), ("H", "EXTRA")]
    assert mapset.title == "MAPSET(Q1)"
    assert [rule("CSD-DUPLICATE").message in report.message for report in found.reports] == [True]


@pytest.mark.rule("CSD-UNKNOWN")
@pytest.mark.parametrize(
    ("text", "line", "subject"),
    [
        ("DEFINE TDQ(Q1) GROUP(G) TYPE(INTRA)\n WIBBLE(1)", 2, "TDQUEUE(Q1) WIBBLE"),
        ("DEFINE TDQ(Q1) GROUP(G) TYPE(INTRA)\n_STATUS(ENABLED)", 2, "TDQUEUE(Q1) _STATUS"),
        ("DEFINE TDQ(Q1) GROUP(G) TYPE(INTRA)\nDEFINE _SIT(A) GROUP(G)", 2, "_SIT(A)"),
        ("DEFINE TDQ(Q1) GROUP(G) TYPE(INTRA)\nUPGRADE USING(X)", 2, "UPGRADE"),
        ("WIBBLE\nDEFINE TDQ(Q1) GROUP(G) TYPE(INTRA)", 1, "WIBBLE"),
        ("DEFINE TDQ(Q1) GROUP(G) TYPE(INTRA) DDNAME(X)", 1, "TDQUEUE(Q1) ddname"),
        ("DEFINE TDQ(Q1) GROUP(G) TYPE(INTRA) TRIGGERLEVEL(99999)", 1, "TDQUEUE(Q1) triggerlevel"),
        ("DEFINE TDQ(Q1) GROUP(G) TYPE(INTRA) USERID(BOB)", 1, "TDQUEUE(Q1) userid"),
        ("DEFINE TDQ(Q1) GROUP(G) TYPE(INTRA) ALONE", 1, "TDQUEUE(Q1) ALONE"),
        ("DEFINE TDQ(Q1) GROUP(G) TYPE(INTRA) TYPE(EXTRA)", 1, "TDQUEUE(Q1) TYPE"),
        ("DEFINE TDQ(Q1) GROUP(G) TYPE(INTRA) GROUP(H)", 1, "TDQUEUE(Q1) GROUP(H)"),
        ("%%%\nDEFINE TDQ(Q1) GROUP(G) TYPE(INTRA)", 1, "%%%"),
    ],
)
def test_what_is_not_known_is_skipped_and_the_rest_kept(text, line, subject):
    assert [(queue.name, queue.type, queue.group) for queue in queues(text)] == [("Q1", "INTRA", "G")]
    assert reports(text) == [(line, subject, "skipped")]


@pytest.mark.parametrize("text", ["DEFINE", "DEFINE TDQ", "DEFINE TDQ(Q1)", "DEFINE TDQ(Q1) GROUP(G)", "DEFINE TDQ(TOOLONG) GROUP(G) TYPE(INTRA)", "DEFINE TDQ() GROUP(G) TYPE(INTRA)", "DEFINE TDQ(Q1) GROUP(TOOLONGGROUP) TYPE(INTRA)"])  # fmt: skip
def test_a_definition_that_cannot_be_made(text):
    assert queues(text) == ()
    assert {action for _, _, action in reports(text)} == {"skipped"}


@pytest.mark.rule("CSD-JOB")
def test_a_job_around_the_commands():
    text = (
        "//PAY JOB (1)\n//* DD *\n//ONE EXEC PGM=IDCAMS\n//SYSIN DD *\n DEFINE TDQ(NO) GROUP(G) TYPE(INTRA)\n/*\n"
        "//TWO EXEC PGM=DFHCSDUP\n//DFHCSD DD DSN=CSD,DISP=SHR\n//SYSIN DD *\nDEFINE TDQ(Q1) GROUP(G) TYPE(INTRA)\n//SYSUT DD *,DLM='$$'\n"
        "DEFINE TDQ(Q2) GROUP(G) TYPE(INTRA)\n//\n/*\nDEFINE TDQ(Q3) GROUP(G) TYPE(INTRA)\n$$\n DEFINE TDQ(NO) GROUP(G) TYPE(INTRA)\n"
        "//SYSIN DD DATA\n//\nDEFINE TDQ(Q4) GROUP(G) TYPE(INTRA)\n/*\n DEFINE TDQ(NO) GROUP(G) TYPE(INTRA)\n//SYSIN DD DSN=OTHER\n"
    )
    assert [queue.name for queue in queues(text)] == ["Q1", "Q2", "Q3", "Q4"]


def test_a_job_without_data_in_the_stream():
    assert queues("//PAY JOB (1)\n//S EXEC PGM=DFHCSDUP\n//SYSIN DD DSN=X\nDEFINE TDQ(NO) GROUP(G) TYPE(INTRA)\n") == ()


@pytest.mark.rule("CSD-INTRDR")
def test_internal_reader_of_rehosting_products():
    for typefile in ("", "TYPEFILE(OUTPUT)"):
        found = parse_csd(f"DEFINE TDQ(JOBS) GROUP(G) TYPE(INTRDR) DDNAME(RDR) {typefile}")
        assert [(queue.type, queue.typefile, queue.ddname) for queue in found.definitions.tdqueues] == [
            ("EXTRA", "OUTPUT", "RDR")
        ]
        assert [rule("CSD-INTRDR").message in report.message for report in found.reports] == [True]


@pytest.mark.rule("CSD-POUND")
def test_the_pound_sign():
    found = parse_csd("DEFINE TDQ(Q£1) GROUP(G£) TYPE(INTRA) DESCRIPTION(costs £5)")
    assert [(queue.name, queue.group, queue.description) for queue in found.definitions.tdqueues] == [
        ("Q$1", "G$", "costs £5")
    ]
    assert rule("CSD-POUND").message in found.reports[0].message


@pytest.mark.rule("CSD-PLACEHOLDER")
@pytest.mark.parametrize("value", ["@HLQ@", "@HLQ@.LIB"])
def test_placeholders(value):
    found = parse_csd(f"DEFINE TDQ(Q1) GROUP(G) TYPE(EXTRA) DSNAME({value})")
    assert found.definitions.tdqueues[0].dsname == value
    assert [rule("CSD-PLACEHOLDER").message in report.message for report in found.reports] == [True]


@pytest.mark.parametrize("value", ["&HLQ..LIB", "<HLQ NAME>", "{{ hlq }}"])
def test_placeholders_that_are_no_names(value):
    found = parse_csd(
        f"DEFINE TDQ(Q1) GROUP(G) TYPE(EXTRA) DSNAME({value}) DDNAME(X)\nDEFINE LIBRARY(F) GROUP(G) DSNAME({value})"
    )
    assert found.definitions.tdqueues == (define_tdqueue(name="Q1", group="G", type="EXTRA", ddname="X"),)
    assert found.definitions.entries[1].resource.without_effect == {"dsname": value}
    assert [(report.line, report.action) for report in found.reports] == [(1, "skipped"), (2, "kept")]


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("(a (b) c)", "a (b) c"), ("(Bob's)", "Bob's"), ("('a) b')", "a) b"), ("('it''s')", "it's"), ("( a )", "a"),
        ("('' )", ""), ("(a\n   b)", "a b"), ("(/ * $ #)", "/ * $ #"), ("(DEFINE ADD)", "DEFINE ADD"),
    ],
)  # fmt: skip
def test_texts(written, text):
    found = parse_csd(f"DEFINE TDQ(Q1) GROUP(G) DESCRIPTION{written} TYPE(INTRA)\r\n")
    assert [queue.description for queue in found.definitions.tdqueues] == [text]
    assert found.reports == ()


def test_an_open_parenthesis_spoils_its_line_only():
    text = (
        "DEFINE TDQ(Q1) GROUP(G) TYPE(INTRA) DESCRIPTION(x (y)\n TRANSID(PAYP)\nDEFINE TDQ(Q2) GROUP(G) TYPE(INTRA)\n"
    )
    first, second = queues(text)
    assert (first.transid, first.description, second.name) == ("PAYP", "x (y)", "Q2")
    assert reports(text)[0][2] == "kept"


LISTING = """1                    DFHCSDUP  CICS RDO OFFLINE UTILITY        PAGE    1
0 LIST GROUP(PAYGRP) OBJECTS
0GROUP NAME: PAYGRP
 -----------
     TDQUEUE(PAYQ)      GROUP(PAYGRP  )    DESCRIPTION(Payments (all))
                        TYPE(INTRA)
    EXTRA PARTITION PARAMETERS
      DATABUFFERS(001)  DDNAME(        )  DISPOSITION(SHR)
    INTRA PARTITION PARAMETERS
      ATIFACILITY(TERMINAL)  RECOVSTATUS(LOGICAL)  FACILITYID(    )  TRANSID(PAYP)  TRIGGERLEVEL(00005)
    INDOUBT ATTRIBUTES
      WAIT(NO)  WAITACTION(REJECT)
    REMOTE ATTRIBUTES
      REMOTENAME(    )  REMOTESYSTEM(    )  REMOTELENGTH(00001)
    DEFINITION-SIGNATURE
      DEFINETIME(12/03/20 15:39:56)  CHANGETIME(12/03/21 08:00:01)  CHANGEUSRID(BOB     )
      CHANGEAGENT(CSDAPI)  CHANGEAGREL(0670)
     TRANSACTION(PAYP)  GROUP(PAYGRP)  PROGRAM(PAYPROG)  PROFILE(DFHCICST)
     WIBBLE(X)          GROUP(PAYGRP)
"""


@pytest.mark.rule("CSD-LISTING")
def test_a_listing():
    found = parse_csd_listing(LISTING)
    queue, transaction = found.definitions.resources
    assert (queue.title, queue.group, queue.description) == ("TDQUEUE(PAYQ)", "PAYGRP", "Payments (all)")
    assert (queue.transid, queue.triggerlevel, queue.wait, queue.recovstatus) == ("PAYP", 5, "NO", "LOGICAL")
    assert queue.definetime == datetime(2012, 3, 20, 15, 39, 56)
    assert queue.changetime == datetime(2012, 3, 21, 8, 0, 1)
    assert (queue.changeusrid, queue.changeagent, queue.changeagrel) == ("BOB", "CSDAPI", "0670")
    assert (transaction.title, transaction.program) == ("TRANSACTION(PAYP)", "PAYPROG")
    assert [entry.line for entry in found.definitions.entries] == [5, 18]


def test_a_listing_of_define_statements():
    found = parse_csd_listing(" DEFINE TDQUEUE(PAYQ) GROUP(G)\n        TYPE(INTRA) DEFINETIME(12/03/20 15:39:56)\n")
    assert [queue.name for queue in found.definitions.tdqueues] == ["PAYQ"]


@pytest.mark.rule("CSD-EXPORT")
def test_export():
    text = (
        "groups:\n- group: G\n  tdqueue:\n  - {name: PAYQ, type: INTRA, transid: PAYP, description: 'it''s ) odd', "
        "definetime: '2012-03-20 15:39:56'}\n  program:\n  - {name: P1, language: COBOL}\n- group: H\n  transaction:\n"
        "  - {name: PAYP, program: P1, twasize: 5}\n"
    )
    given = parse_definitions(text)
    written = export_csd(given)
    assert written.splitlines() == [
        "DEFINE TDQUEUE(PAYQ) GROUP(G)",
        "       TYPE(INTRA)",
        "       DESCRIPTION('it''s ) odd')",
        "       TRANSID(PAYP)",
        "       DEFINETIME(12/03/20 15:39:56)",
        "DEFINE PROGRAM(P1) GROUP(G)",
        "       LANGUAGE(COBOL)",
        "DEFINE TRANSACTION(PAYP) GROUP(H)",
        "       PROGRAM(P1)",
        "       TWASIZE(5)",
    ]
    again = parse_csd(written)
    assert [entry.resource for entry in again.definitions.entries] == [entry.resource for entry in given.entries]
    assert again.reports == ()
    assert parse_definitions(dump_definitions(given)).resources == given.resources


@pytest.mark.rule("CSD-LOWER-CASE")
def test_lower_case_is_folded_where_names_have_none():
    text = (
        "define tdqueue(payq) group(pay)\n  type(extra) ddname(payin) dsname(pay.in(m)) recordf(fixed)\n recordsize(80)\n"
        "  description(Kept as it is)\ndefine tdq(trgq) g(pay) type(intra)\n transid(payp) atif(file) userid(bob)\n"
    )
    found = parse_csd(text)
    assert found.reports == ()
    extra, intra = found.definitions.tdqueues
    assert (extra.name, extra.group, extra.ddname, extra.dsname) == ("PAYQ", "PAY", "PAYIN", "PAY.IN(M)")
    assert extra.description == "Kept as it is"
    assert (intra.transid, intra.userid) == ("payp", "BOB")  # a transaction's name may have lower case


@pytest.mark.rule("CSD-UNKNOWN")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("DEFINE WIBBLE(X) GROUP(G)\nFROB GROUP(G) X(1)\n", [(1, "WIBBLE(X)"), (2, "FROB")]),
        ("DEFINE TDQ(Q0) GROUP(G) TYPE(INTRA)\n  FROB GROUP(G)\n", [(2, "FROB")]),
        ("DEFINE TDQ(Q0) GROUP(G) TYPE(INTRA)\n  TRANSID\n", [(2, "TDQUEUE(Q0) TRANSID")]),
        (
            "DEFINE TDQ(Q0) GROUP(G) TYPE(INTRA)\n TRIGGERLEVEL(99999)\n FROB(1)\n",
            [(2, "TDQUEUE(Q0) triggerlevel"), (3, "TDQUEUE(Q0) FROB")],
        ),
        ("DEFINE PROGRAM(P) GROUP(G)\nFROB GROUP(G)\nFRIB\n", [(2, "FROB"), (3, "FRIB")]),
        ("DELETE GROUP(G)\nALL\nFROB ALL\n", [(1, "DELETE"), (3, "FROB")]),
        ("LIST\n  ALL\n  OBJECTS\n", [(1, "LIST")]),
        ("DEFINE TRAN(PAYP) GROUP(G)\n", [(1, "TRAN(PAYP)")]),
        ("DEFINE TDQ(Q0) GROUP(G) TYPE(INTRA)\n GROUP(H)\n", [(2, "TDQUEUE(Q0) GROUP(H)")]),
        ("//S EXEC PGM=DFHCSDUP\n//SYSIN DD DSN=MY.DECK\n//SYSIN DD *\n", [(2, "//SYSIN")]),
    ],
)
def test_nothing_is_passed_over_in_silence(text, expected):
    good = "DEFINE TDQ(LAST) GROUP(G) TYPE(INTRA)"
    found = parse_csd(f"{text}{good}\n")
    assert found.definitions.tdqueues[-1].name == "LAST"
    assert [(report.line, report.subject) for report in found.reports] == expected


def test_what_a_beginning_may_stand_for_is_said():
    found = parse_csd("DEFINE TRAN(PAYP) GROUP(G)\nDEFINE TDQ(Q1) GROUP(G) TYPE(INTRA) TR(X)\n")
    assert [report.message for report in found.reports] == [
        "may be TRANCLASS or TRANSACTION; write more of it",
        "may be TRANSID or TRIGGERLEVEL; write more of it",
    ]


def test_reports_hold_nothing_that_a_terminal_would_obey():
    found = parse_csd("DEFINE TDQ(Q1) GROUP(G) TYPE(INTRA) \x1b[2J DDNAME(\x1b[31m)\n")
    assert found.reports
    assert all(str(report).isprintable() for report in found.reports)


@pytest.mark.rule("CSD-PLACEHOLDER")
def test_a_name_that_is_wrong_because_of_a_placeholder_says_so():
    found = parse_csd("DEFINE TDQ(&QUEUE.) GROUP(G) TYPE(INTRA)\n")
    assert rule("CSD-PLACEHOLDER").message in found.reports[0].message


@pytest.mark.rule("CSD-JOB")
def test_a_job_in_lower_case():
    text = "//csd job\n//s1 exec pgm=dfhcsdup\n//sysin dd *\n define tdq(q0) group(g) type(intra)\n/*\n//s2 exec pgm=iefbr14\n"
    assert [queue.name for queue in queues(text)] == ["Q0"]


@pytest.mark.rule("CSD-LISTING")
@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("* DEFINE TDQ(NO) GROUP(G)\n*   TYPE(INTRA)\n", []),
        ("*TDQUEUE(NO) GROUP(G)\n* TYPE(INTRA)\n", []),
        ("DEF TDQ(Q1) GROUP(G) TYPE(INTRA)\n", ["Q1"]),
        ("USERDEFINE TDQ(Q1) GROUP(G) TYPE(INTRA)\n", ["Q1"]),
        ("ALTER TDQ(NO) GROUP(G) TYPE(INTRA)\n", []),
        ("0LIST GROUP(G)\n  TDQUEUE(Q1)  GROUP(G)\n  TYPE(INTRA)\n", ["Q1"]),
        ("  TDQUEUE(Q1)  GROUP(G)\n1  CICS UTILITY TRANSID(NO)  PAGE   2\n  TYPE(INTRA)\n  TDQUEUE(Q2) GROUP(G) TYPE(INTRA)", ["Q1", "Q2"]),
        ("define\n tdqueue(q1) group(g) type(intra)\n", ["Q1"]),
        ("LISTING 1) OF 2\n  TDQUEUE(Q1)  GROUP(G)  TYPE(INTRA)\n", ["Q1"]),
        ("GROUP(A)\nGROUP(B)\nTDQUEUE(Q1) GROUP(G) TYPE(INTRA)\nGROUP(C)\nGROUP(D)\n", ["Q1"]),
    ],
)  # fmt: skip
def test_commands_are_told_from_listings(text, names):
    found = parse_csd_listing(text)
    assert [queue.name for queue in found.definitions.tdqueues] == names
    assert not any(queue.transid for queue in found.definitions.tdqueues)


def test_a_listing_shows_nothing_as_zero():
    found = parse_csd_listing("  TDQUEUE(Q1)  GROUP(G)  TYPE(INTRA)  BLOCKSIZE(00000) RECORDSIZE(00000)\n")
    assert [queue.title for queue in found.definitions.tdqueues] == ["TDQUEUE(Q1)"]
    assert found.reports == ()


def test_what_csd_text_takes_for_the_group_is_no_attribute_of_a_resource_without_effect():
    found = parse_csd_listing("  MAPSET(P)  GROUP(G)  G(H)  RESIDENT(YES)\n")
    assert [entry.resource.without_effect for entry in found.definitions.entries] == [{"resident": "YES"}]
    assert [(report.subject, report.action) for report in found.reports] == [("MAPSET(P) g", "skipped")]


@pytest.mark.parametrize("kind", ["TRANSACTION", "MAPSET"])
def test_a_value_with_control_characters_is_left_out(kind):
    found = parse_csd(f"DEFINE {kind}(P) GROUP(G) PROFILE(A\x0cB)\n")
    assert [entry.resource.without_effect for entry in found.definitions.entries] == [{}]
    assert [(report.action, "printable" in report.message) for report in found.reports] == [("skipped", True)]


@pytest.mark.rule("CSD-PRINTED")
def test_a_printed_extract_has_a_column_for_the_printer():
    """Each line begins with a blank, and a full one ends in column 72."""
    full = f"{'        OPENTIME(INITIAL) TYPEFILE(OUTPUT)':56}DISPOSITION(MOD)"
    assert len(full) == 72
    found = parse_csd(f" DEFINE TDQUEUE(OUTQ) GROUP(G)\n        TYPE(EXTRA)\n{full}\n        RECORDSIZE(80)\n")
    assert found.reports == ()
    (queue,) = found.definitions.tdqueues
    assert (queue.disposition, queue.recordsize) == ("MOD", 80)
