from __future__ import annotations

import pytest

from tdqsim.definitions import define_dtaq, parse_cl, parse_definitions
from tdqsim.errors import DefinitionError
from tests.rules import expect_rule, rule


def dtaq(**keywords):
    return define_dtaq(**{"dtaq": "PAYLIB/ORDERS", "maxlen": 80} | keywords)


def ddm(**keywords):
    return define_dtaq(
        **{"dtaq": "PAYLIB/FAR", "type": "*DDM", "rmtdtaq": "*LIBL/NEAR", "rmtlocname": "OTHER"} | keywords
    )


@pytest.mark.rule("CRTDTAQ-DEFAULTS")
def test_defaults():
    queue = define_dtaq(dtaq="ORDERS", maxlen=80)
    assert (queue.library, queue.name, queue.type, queue.seq) == ("*CURLIB", "ORDERS", "*STD", "*FIFO")
    assert (queue.force, queue.senderid, queue.autorcl, queue.size) == ("*NO", "*NO", "*NO", (-1, 16))
    assert (queue.keylen, queue.text, queue.aut) == (0, "", "*LIBCRTAUT")


def test_yaml_form():
    found = parse_definitions(
        "dtaq:\n- dtaq: PAYLIB/ORDERS\n  maxlen: 64512\n  seq: KEYED\n  keylen: 256\n  senderid: '*YES'\n"
        "  size: [MAX2GB, 100]\n  text: Orders of the day\n- {dtaq: PAYLIB/SMALL, maxlen: 1, size: 10}\n"
    )
    first, second = found.dtaqs
    assert (first.seq, first.keylen, first.senderid, first.size) == ("*KEYED", 256, "*YES", (-2, 100))
    assert second.size == (10, 16)
    assert [queue.resource_name for queue in found.dtaqs] == ["PAYLIB/ORDERS", "PAYLIB/SMALL"]


@pytest.mark.rule("CRTDTAQ-KEYLEN-NOT-KEYED")
@pytest.mark.parametrize("seq", ["*FIFO", "*LIFO"])
def test_key_length_without_keys(seq):
    expect_rule("CRTDTAQ-KEYLEN-NOT-KEYED", dtaq, seq=seq, keylen=5)


@pytest.mark.rule("CRTDTAQ-KEYED-NO-KEYLEN")
def test_keys_without_length():
    expect_rule("CRTDTAQ-KEYED-NO-KEYLEN", dtaq, seq="*KEYED")


@pytest.mark.rule("CRTDTAQ-STD-DDM-KEYWORD")
@pytest.mark.parametrize(("keyword", "value"), [("rmtdtaq", "A"), ("rmtlocname", "A"), ("dev", "*LOC"), ("lcllocname", "A"), ("mode", "A"), ("rmtnetid", "A"), ("rdb", "A")])  # fmt: skip
def test_remote_keywords_on_a_standard_queue(keyword, value):
    expect_rule("CRTDTAQ-STD-DDM-KEYWORD", dtaq, **{keyword: value})


@pytest.mark.rule("CRTDTAQ-DDM-STD-KEYWORD")
@pytest.mark.parametrize(("keyword", "value"), [("maxlen", 80), ("seq", "*FIFO"), ("keylen", 5), ("force", "*NO"), ("senderid", "*NO"), ("size", 5), ("autorcl", "*NO")])  # fmt: skip
def test_standard_keywords_on_a_ddm_queue(keyword, value):
    expect_rule("CRTDTAQ-DDM-STD-KEYWORD", ddm, **{keyword: value})


@pytest.mark.rule("CRTDTAQ-STD-NO-MAXLEN")
def test_no_maximum_length():
    expect_rule("CRTDTAQ-STD-NO-MAXLEN", define_dtaq, dtaq="A")


@pytest.mark.rule("CRTDTAQ-DDM-REQUIRED")
@pytest.mark.parametrize("keyword", ["rmtdtaq", "rmtlocname"])
def test_ddm_needs_its_target(keyword):
    expect_rule("CRTDTAQ-DDM-REQUIRED", ddm, **{keyword: ""})


@pytest.mark.rule("CRTDTAQ-RDB-REQUIRED")
def test_rdb_needed():
    expect_rule("CRTDTAQ-RDB-REQUIRED", ddm, rmtlocname="*RDB")
    assert ddm(rmtlocname="*RDB", rdb="PAYDB").rdb == "PAYDB"


@pytest.mark.rule("CRTDTAQ-RDB-FORBIDDEN")
def test_rdb_forbidden():
    expect_rule("CRTDTAQ-RDB-FORBIDDEN", ddm, rdb="PAYDB")


@pytest.mark.rule("CRTDTAQ-RDB-DEVICE")
@pytest.mark.parametrize("keyword", ["dev", "lcllocname", "mode", "rmtnetid"])
def test_rdb_with_device(keyword):
    expect_rule("CRTDTAQ-RDB-DEVICE", ddm, rmtlocname="*RDB", rdb="PAYDB", **{keyword: "A"})


@pytest.mark.rule("CRTDTAQ-MODE-RESERVED")
@pytest.mark.parametrize("mode", ["SNASVCMG", "CPSVCMG"])
def test_reserved_modes(mode):
    expect_rule("CRTDTAQ-MODE-RESERVED", ddm, mode=mode)
    assert ddm(mode="OTHER").mode == "OTHER"


@pytest.mark.rule("CRTDTAQ-NAME")
@pytest.mark.parametrize("name", ["A/B/C", "TOOLONGNAME", "LIB/", "/Q", "1Q", "*LIBL/Q", "A B", "*ALL", 5])
def test_bad_names(name):
    expect_rule("CRTDTAQ-NAME", dtaq, dtaq=name)


def test_small_letters_count_as_capitals():
    found = dtaq(dtaq="lib/lower", maxlen=5, aut="mylist")
    assert (found.resource_name, found.aut) == ("LIB/LOWER", "MYLIST")


@pytest.mark.parametrize(("keyword", "bad"), [("maxlen", 0), ("maxlen", 64513), ("keylen", 257), ("text", "x" * 51), ("seq", "*NONE"), ("size", [1, 2, 3]), ("size", "*MAX"), ("size", 0), ("size", []), ("aut", "*NONE"), ("rmtlocname", "TOOLONGLOC")])  # fmt: skip
def test_bad_values(keyword, bad):
    with pytest.raises(DefinitionError) as caught:
        dtaq(**{keyword: bad})
    assert keyword in {problem.attribute for problem in caught.value.problems}


CL = """
             PGM        PARM(&LIB)  /* an ordinary program */
             DLTDTAQ    DTAQ(PAYLIB/ORDERS)   /* if it
                                                 is there */
 MAKE:       CRTDTAQ    DTAQ(PAYLIB/ORDERS) MAXLEN(200) +
                          SEQ(*KEYED) KEYLEN(10)  SENDERID(*YES) +
                          SIZE(*MAX2GB 100) TEXT('Bob''s (big) -
 orders')
             crtdtaq    paylib/pay 80
             QSYS/CRTDTAQ DTAQ(PAYLIB/FAR) TYPE(*DDM) RMTDTAQ(NEAR) RMTLOCNAME(OTHER)
             CRTDTAQ    DTAQ(PAYLIB/BAD) MAXLEN(99999)
             ENDPGM
"""


def test_cl_source():
    found = parse_cl(CL)
    orders, pay, far = found.definitions.dtaqs
    assert (orders.maxlen, orders.seq, orders.keylen, orders.size) == (200, "*KEYED", 10, (-2, 100))
    assert orders.text == "Bob's (big)  orders"
    assert (pay.resource_name, pay.maxlen) == ("PAYLIB/PAY", 80)
    assert (far.type, far.rmtdtaq) == ("*DDM", "NEAR")
    assert [entry.line for entry in found.definitions.entries] == [5, 9, 10]
    assert [(report.line, report.subject) for report in found.reports] == [
        (2, "PGM"), (3, "DLTDTAQ PAYLIB/ORDERS"), (11, "CRTDTAQ PAYLIB/BAD MAXLEN"), (12, "ENDPGM"),
    ]  # fmt: skip


@pytest.mark.rule("CRTDTAQ-KEYWORD", "CRTDTAQ-EXISTS")
@pytest.mark.parametrize(
    ("rule_id", "source"),
    [
        ("CRTDTAQ-KEYWORD", "CRTDTAQ DTAQ(A) MAXLEN(1) WIBBLE(1)"),
        ("CRTDTAQ-KEYWORD", "CRTDTAQ DTAQ(A) MAXLEN(1) GROUP(X)"),
        ("CRTDTAQ-KEYWORD", "CRTDTAQ DTAQ(A) MAXL(1)"),
        ("CRTDTAQ-EXISTS", "CRTDTAQ DTAQ(A) MAXLEN(1)\nCRTDTAQ DTAQ(*CURLIB/A) MAXLEN(2)"),
    ],
)
def test_cl_diagnostics(rule_id, source):
    reports = parse_cl(source).reports
    assert [rule(rule_id).message in report.message for report in reports] == [True]


@pytest.mark.parametrize("source", ["CRTDTAQ DTAQ(A", "CRTDTAQ DTAQ(A))", "CRTDTAQ A 1 2", "CRTDTAQ DTAQ(A) MAXLEN(1) MAXLEN(2)", "CRTDTAQ )", "CRTDTAQ DTAQ((A)"])  # fmt: skip
def test_cl_that_is_wrong(source):
    found = parse_cl(source)
    assert not found.definitions.entries
    assert [report.action for report in found.reports] == ["skipped"]


def test_delete_takes_away_what_was_made():
    found = parse_cl("CRTDTAQ A/B 80\nCRTDTAQ A/C 80\nDLTDTAQ DTAQ(A/B)\nCRTDTAQ A/B 90\n")
    assert [(queue.name, queue.maxlen) for queue in found.definitions.dtaqs] == [("C", 80), ("B", 90)]
    assert found.reports[0].action == "changed"


def test_a_comment_in_cl_separates_words_and_may_end_on_another_line():
    imported = parse_cl("CRTDTAQ/* of the\n night */A/* one */7\n")
    assert imported.reports == ()
    (entry,) = imported.definitions.entries
    assert (entry.resource.resource_name, entry.resource.maxlen) == ("*CURLIB/A", 7)


def test_a_comment_without_an_end_is_reported():
    found = parse_cl("CRTDTAQ A/ONE 5\n/* of the\n night */ CRTDTAQ A/TWO 5 /* the last\nCRTDTAQ A/SIX 5\n")
    assert [queue.name for queue in found.definitions.dtaqs] == ["ONE", "TWO"]
    assert [(report.line, report.subject, report.action) for report in found.reports] == [(3, "/*", "skipped")]
    assert "has no end" in found.reports[0].message


def test_variables_with_constants():
    found = parse_cl(
        "DCL VAR(&DTAQNM) TYPE(*CHAR) LEN(10) VALUE('TESTQ')\nDCL &LIB *CHAR 10 VALUE('QTEMP     ')\n"
        "CRTDTAQ DTAQ(&LIB/&DTAQNM) MAXLEN(1024)\nCHGVAR VAR(&DTAQNM) VALUE('OTHER')\nCRTDTAQ &LIB/&DTAQNM 5\n"
        "CHGVAR VAR(&DTAQNM) VALUE(&LIB)\nCRTDTAQ &LIB/&DTAQNM 5\n"
    )
    assert [queue.resource_name for queue in found.definitions.dtaqs] == ["QTEMP/TESTQ", "QTEMP/OTHER"]
    assert [(report.line, report.action) for report in found.reports] == [
        (3, "changed"), (3, "changed"), (5, "changed"), (5, "changed"), (7, "changed"), (7, "skipped"),
    ]  # fmt: skip


def test_a_listing_with_sequence_numbers():
    found = parse_cl("007700040712  CrtDtaQ Dtaq( QGPL/EVENTS ) +\n007800040712    MaxLen( 4150 ) Size( *MAX2GB )\n")
    assert [(queue.resource_name, queue.maxlen, queue.size) for queue in found.definitions.dtaqs] == [
        ("QGPL/EVENTS", 4150, (-2, 16))
    ]


def test_a_command_inside_another_is_pointed_out():
    reports = parse_cl("IF COND(&X) THEN(CRTDTAQ DTAQ(A/B) MAXLEN(1))").reports
    assert [(report.subject, "one stands inside" in report.message) for report in reports] == [("IF", True)]


def test_an_ampersand_in_text_is_no_variable():
    (queue,) = parse_cl("DCL &D *CHAR 1 VALUE('X')\nCRTDTAQ A/B 5 TEXT('R&D of &D')").definitions.dtaqs
    assert queue.text == "R&D of &D"
    (queue,) = parse_cl("DCL &T *CHAR 9 VALUE('it''s (x)')\nCRTDTAQ A/B 5 TEXT(&t)").definitions.dtaqs
    assert queue.text == "it's (x)"


@pytest.mark.parametrize(
    "keywords",
    [
        {"seq": "*KEYED", "force": "?", "rmtlocname": "*RDB", "rdb": "no name"},
        {"type": "*DDM", "seq": "*KEYED", "keylen": 1, "rdb": "no name"},
        {"type": "*DDM", "rmtdtaq": "no name", "rmtlocname": "*RDB", "text": "x" * 60, "maxlen": 5},
        {"dtaq": "LIB/Q", "seq": "*FIFO", "rmtlocname": "TOOLONGNAME", "rdb": "DB", "dev": "no name!"},
    ],
)
def test_each_problem_is_listed_once(keywords):
    with pytest.raises(DefinitionError) as caught:
        define_dtaq(**({"dtaq": "PAYLIB/ORDERS"} | keywords))
    problems = [(one.attribute, one.message) for one in caught.value.problems]
    assert len(problems) == len(set(problems)) > 1


@pytest.mark.parametrize("command", ["?CRTDTAQ DTAQ(A/B) MAXLEN(80)", "CRTDTAQ ??DTAQ(A/B) ?*MAXLEN(80)"])
def test_prompt_characters_are_passed_over(command):
    found = parse_cl(f"{command}\n")
    assert [(queue.dtaq, queue.maxlen) for queue in found.definitions.dtaqs] == [("A/B", 80)]
    assert found.reports == ()


@pytest.mark.parametrize("text", ["CRTDTAQ MYQ 50", "CRTDTAQ MYQ MAXLEN(50)", "CRTDTAQ DTAQ(MYQ) MAXLEN(50)"])
def test_a_name_without_a_library_may_stand_without_its_keyword(text):
    found = parse_cl(text)
    assert found.reports == ()
    assert [(queue.dtaq, queue.maxlen) for queue in found.definitions.dtaqs] == [("MYQ", 50)]
