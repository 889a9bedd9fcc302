from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tdqsim.cics import TranslationError
from tdqsim.cics.text.exec_text import (
    AddressOf,
    HexLiteral,
    LengthOf,
    NumberLiteral,
    Reference,
    TextLiteral,
    parse_exec,
)


def options(text):
    return {option.word: option.argument for option in parse_exec(text).options}


def test_a_command_of_a_program():
    assert options("EXEC CICS READQ TD QUEUE('PAYQ') INTO(REC) LENGTH(LEN) RESP(R) END-EXEC.") == {
        "READQ": None,
        "TD": None,
        "QUEUE": TextLiteral("PAYQ"),
        "INTO": Reference("REC"),
        "LENGTH": Reference("LEN"),
        "RESP": Reference("R"),
    }


@pytest.mark.rule("EXEC-TEXT-FREE-FORM")
@pytest.mark.parametrize(
    "text",
    [
        "writeq td queue('PAYQ') from(Rec)",
        "WRITEQ TD QUEUE('PAYQ') FROM(Rec) END-EXEC. .",
        "EXEC CICS WRITEQ TD\n     QUEUE ('PAYQ')\n     FROM (Rec)\nEND-EXEC",
        "Exec Cics WriteQ TD *> a remark\n From(Rec) /* another\n one */ Queue( 'PAYQ' ) End-Exec",
        "EXECUTE CICS WRITEQ TD FROM(Rec)\n000100* a comment line\n      / and one more\n QUEUE('PAYQ')",
        "      * a comment line first\n       WRITEQ TD, FROM(Rec); QUEUE('PAYQ').",
    ],
)
def test_case_order_blanks_lines_and_comments_do_not_matter(text):
    assert options(text) == options("WRITEQ TD QUEUE('PAYQ') FROM(Rec)")


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("'it''s'", TextLiteral("it's")),
        ('"it\'s ""so"""', TextLiteral('it\'s "so"')),
        ("''", TextLiteral("")),
        ("X'C1c2'", HexLiteral(b"\xc1\xc2")),
        ('x"00"', HexLiteral(b"\0")),
        ("80", NumberLiteral(80, "80")),
        ("-1", NumberLiteral(-1, "-1")),
        ("DFHRESP(QZERO)", NumberLiteral(23, "DFHRESP(QZERO)")),
        ("dfhvalue( intra )", NumberLiteral(222, "DFHVALUE(INTRA)")),
        ("LENGTH OF WS-REC", LengthOf(Reference("WS-REC"))),
        ("ADDRESS OF L-REC", AddressOf(Reference("L-REC"))),
        ("LENGTH", Reference("LENGTH")),
        ("A OF B IN C", Reference("A", ("B", "C"))),
        ("CARD(I)", Reference("CARD", (), ("I",))),
        ("CARD(1, J 3)", Reference("CARD", (), (1, "J", 3))),
        ("REC(5:10)", Reference("REC", (), (), (5, 10))),
        ("REC(N:)", Reference("REC", (), (), ("N", None))),
        ("CARD OF T(2)(1:4)", Reference("CARD", ("T",), (2,), (1, 4))),
        ("0010-Q", Reference("0010-Q")),
    ],
)
def test_arguments(argument, value):
    assert options(f"V FROM({argument})")["FROM"] == value


@pytest.mark.rule("EXEC-TEXT-ERROR-COLUMN")
@pytest.mark.parametrize(
    ("text", "column", "words"),
    [
        ("", 1, "no command"),
        ("EXEC CICS END-EXEC", 11, "no command"),
        ("EXEC SQL SELECT", 6, "EXEC must be followed by CICS"),
        ("READQ TD QUEUE('X", 16, "no closing quote"),
        ("READQ TD QUEUE(", 16, "end of the text"),
        ("READQ TD QUEUE()", 16, "no argument"),
        ("READQ TD QUEUE(A B)", 18, "is missing after the argument"),
        ("READQ TD)", 9, "option's name"),
        ("READQ 'TD'", 7, "option's name"),
        ("V A(DFHRESP(NOPE))", 13, "no such condition"),
        ("V A(DFHVALUE(NOPES))", 14, "no such CVDA; did you mean"),
        ("V A(X'ABC')", 5, "pairs"),
        ("V A(1234567890123456789)", 5, "18 digits"),
        ("V A(B(1)(2))", 12, "subscripts already"),
        ("V A(B(1 2 3 4 5 6 7 8))", 21, "7 subscripts"),
        ("V A(B OF)", 9, "name of a group"),
        ("V A(%)", 5, "cannot stand here"),
    ],
)
def test_an_error_names_its_column_and_what_is_expected(text, column, words):
    with pytest.raises(TranslationError, match=words) as caught:
        parse_exec(text)
    assert caught.value.column == column
    assert f"column {column}" in str(caught.value)


def test_in_a_text_of_several_lines_line_and_column_are_named():
    with pytest.raises(TranslationError, match="line 2 column 7") as caught:
        parse_exec("READQ TD\nQUEUE(%)")
    assert (caught.value.line, caught.value.column) == (2, 16)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("V A(B)" + " " * 65531, "longer than 65536 characters"),
        ("V" + " A(1)" * 256, "at most 256 options"),
        ("V A(" + "B OF " * 49 + "C)", "at most 48 qualifiers"),
        (None, "a str, not NoneType"),
        (5, "a str, not int"),
    ],
)
def test_text_beyond_all_bounds_is_refused(text, words):
    with pytest.raises(TranslationError, match=words):
        parse_exec(text)


@pytest.mark.parametrize("text", ["V A(B)" + " " * 65530, "V" + " A(1)" * 255, "V A(" + "B OF " * 48 + "C)"])
def test_text_as_long_as_may_be_is_taken(text):
    assert parse_exec(text).options[0].word == "V"


PIECES = st.sampled_from(
    [
        *(
            "EXEC",
            "CICS",
            "END-EXEC",
            "READQ",
            "TD",
            "QUEUE",
            "(",
            ")",
            "'",
            '"',
            "X'",
            "LENGTH",
            " OF ",
            "IN",
            ":",
            ".",
        ),
        *("DFHRESP", "QZERO", "DFHVALUE", "-", "+", "12", "*>", "/*", "*/", "&A", "ADDRESS", ",", "é", "      *"),
        *(" ", "\n", "\t"),
    ]
)


@settings(max_examples=4 * settings.default.max_examples)
@given(st.lists(PIECES, max_size=40).map("".join))
@example("(" * 2000)
@example("'" * 2001)
@example("/*" * 2000)
@example("A(B(1:" * 50)
def test_any_text_is_parsed_or_refused_with_a_column_inside_it(text):
    error = parsed = None
    try:
        parsed = parse_exec(text)
    except TranslationError as raised:
        error = raised
    if error is not None:
        assert 1 <= error.column <= len(text) + 1
    else:
        assert parsed.options
        assert all(text[option.offset :].upper().startswith(option.word) for option in parsed.options)


@given(st.text(max_size=200))
def test_hostile_text_never_does_anything_else(text):
    with suppress(TranslationError):
        parse_exec(text)


NAMES = st.from_regex(r"[A-Z][A-Z0-9]{0,7}", fullmatch=True).filter(lambda name: name not in ("X", "OF", "IN"))


@given(
    st.lists(st.tuples(NAMES, st.none() | st.text(st.characters(codec="ascii"), max_size=20)), min_size=1, max_size=8)
)
def test_what_is_written_comes_back(command):
    words = []
    for word, value in command:
        quoted = "" if value is None else "('{}')".format(value.replace("'", "''"))
        words.append(word + quoted)
    parsed = parse_exec("EXEC CICS " + " ".join(words) + " END-EXEC")
    found = [(option.word, option.argument.value if option.argument else None) for option in parsed.options]
    assert found == command
