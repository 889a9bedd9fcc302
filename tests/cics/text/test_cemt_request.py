from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tdqsim.cics import CemtError
from tdqsim.cics.text.cemt_request import CemtRequest, parse_cemt
from tdqsim.facts import Cvda
from tests.rules import expect_rule


def understood(text):
    request = parse_cemt(text)
    return request.verb, request.names, request.values


@pytest.mark.rule("CEMT-ABBREVIATIONS")
@pytest.mark.parametrize(
    "text", ["CEMT INQUIRE TDQUEUE", "cemt i td", "I TD", "INQ TDQ ALL", "inqui tdque al", "CEMT- I TD"]
)
def test_words_may_be_shortened_and_all_is_the_default(text):
    assert understood(text) == ("INQUIRE", (), {})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I TD(CSMT)", ("INQUIRE", ("CSMT",), {})),
        ("I TD(CS*)", ("INQUIRE", ("CS*",), {})),
        ("I TD(A+C)", ("INQUIRE", ("A+C",), {})),
        ("I TD IND EN", ("INQUIRE", (), {"TYPE": Cvda.INDIRECT, "ENABLESTATUS": Cvda.ENABLED})),
        ("I TD EXT CL", ("INQUIRE", (), {"TYPE": Cvda.EXTRA, "OPENSTATUS": Cvda.CLOSED})),
        ("S TD(MYQ) DI", ("SET", ("MYQ",), {"ENABLESTATUS": Cvda.DISABLED})),
        ("S TD(A B C) ENA", ("SET", ("A", "B", "C"), {"ENABLESTATUS": Cvda.ENABLED})),
        ("S TD(A,B,C) ENA", ("SET", ("A", "B", "C"), {"ENABLESTATUS": Cvda.ENABLED})),
        ("S TD ALL TRIG(5)", ("SET", (), {"TRIGGERLEVEL": "5"})),
        ("SET TDQUEUE(X) ATITR(payp) NOT", ("SET", ("X",), {"ATITRANID": "PAYP", "ATIFACILITY": Cvda.NOTERMINAL})),
        ("DI TD(OLDQ)", ("DISCARD", ("OLDQ",), {})),
    ],
)
def test_requests(text, expected):
    assert understood(text) == expected


@pytest.mark.rule("CEMT-CONSOLE-MINUS")
def test_the_minus_of_the_console_and_the_question_mark_are_seen():
    assert parse_cemt("CEMT-I TD(CSMT)").console
    assert not parse_cemt("CEMT I TD(CSMT)").console
    assert parse_cemt("CEMT ? I TD").syntax_only
    assert parse_cemt("? I TD").syntax_only


@pytest.mark.rule("CEMT-T-AMBIGUOUS", "CEMT-NO-GENERIC-IN-LIST", "CEMT-SET-NEEDS-NAME")
@pytest.mark.parametrize(
    ("rule_id", "text"),
    [("CEMT-T-AMBIGUOUS", "I T"), ("CEMT-NO-GENERIC-IN-LIST", "S TD(A B*) DI"), ("CEMT-SET-NEEDS-NAME", "S TD DI")],
)
def test_what_the_rules_refuse(rule_id, text):
    expect_rule(rule_id, parse_cemt, text)


@pytest.mark.parametrize(
    ("text", "column", "words"),
    [
        ("", 1, "nothing to do"),
        ("CEMT", 5, "nothing to do"),
        ("I", 2, "INQUIRE what"),
        ("I T", 3, "T is ambiguous: it may be any of TASK TCLASS TDQUEUE TERMINAL TRANSACTION TRDUMPCODE"),
        ("X TD", 1, "not a verb"),
        ("I SYSTEM", 3, "not a resource type"),
        ("I TCLASS", 3, "not simulated"),
        ("P TD", 3, "not simulated"),
        ("S TD DI", 3, "needs a name"),
        ("DI TD", 4, "needs a name"),
        ("S TD(A)", 8, "SET what"),
        ("S TD(A B*) DI", 3, "not allowed in a list"),
        ("I TD()", 3, "names nothing"),
        ("I TD(ABCDE)", 3, "longer than"),
        ("S TD(A) EN DI", 12, "given twice"),
        ("S TD(A) TRIG", 9, "needs a value"),
        ("S TD(A) TRIG( )", 9, "needs a value"),
        ("S TD(A) EN(5)", 9, "takes no value"),
        ("S TD(A) INT", 9, "not an option of CEMT SET"),
        ("S TD(A) ATIU(BOB)", 9, "not an option of CEMT SET"),
        ("DI TD(A) EN", 10, "not an option of CEMT DISCARD"),
        ("I TD A", 6, "ambiguous"),
        ("I TD " + "EN " * 500, 1, "longer than"),
    ],
)
def test_what_cemt_does_not_take_is_refused_with_its_column(text, column, words):
    with pytest.raises(CemtError, match=words) as caught:
        parse_cemt(text)
    assert caught.value.column == column
    assert str(caught.value).startswith(f"column {column}: ")


PIECES = st.sampled_from(
    ["CEMT", "-", "I", "S", " ", "TD", "(", ")", "*", "+", "A", "EN", "DI", ",", "?", "=", "TRIG(5)", "é", "\n"]
)


@given(st.lists(PIECES, max_size=20).map("".join))
def test_any_text_is_understood_or_refused(text):
    error = request = None
    try:
        request = parse_cemt(text)
    except CemtError as raised:
        error = raised
    assert isinstance(request, CemtRequest) or 1 <= error.column <= len(text) + 1


@pytest.mark.rule("CEMT-OPEN-PARENTHESIS")
@pytest.mark.parametrize("text", ["I TDQ(PAYQ", "I TDQ(PAYQ  ", "INQUIRE TDQUEUE(PAYQ"])
def test_the_last_parenthesis_may_be_left_open(text):
    request = expect_rule("CEMT-OPEN-PARENTHESIS", parse_cemt, text)
    assert (request.verb, request.resource, request.names) == ("INQUIRE", "TDQUEUE", ("PAYQ",))


def test_the_value_of_set_may_be_left_open():
    assert parse_cemt("S TDQ(PAYQ) TRI(5").values == parse_cemt("S TDQ(PAYQ) TRI(5)").values


def test_a_parenthesis_inside_that_is_left_open_is_an_error():
    with pytest.raises(CemtError, match="cannot stand here"):
        parse_cemt("S TDQ(PAYQ TRI(5)")
