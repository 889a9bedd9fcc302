"""CL variables: RTVDTAQXCL as text, DCL, CHGVAR, and variables in the parameters of other commands."""

from __future__ import annotations

from decimal import Decimal

import pytest

from tdqsim.ibmi import ClVariable, EscapeMessage, ParameterError, System
from tests.ibmi.conftest import e
from tests.rules import rule

EVERY_KEYWORD = {
    "NBRENT": ("*INT", 2), "MAXLEN": ("*DEC LEN(5 0)", Decimal(80)), "MAXKEYLEN": ("*DEC LEN(3 0)", Decimal(4)),
    "SNDRID": ("*LGL", "1"), "NBRINTENT": ("*INT", 16), "NBRENTALC": ("*INT LEN(4)", 16), "AUTORCL": ("*LGL", "0"),
    "FORCE": ("*LGL LEN(1)", "0"), "TYPE": ("*CHAR LEN(10)", "*STD      "), "SEQ": ("*INT", 3),
    "LIB": ("*CHAR LEN(10)", "APPLIB    "), "DEVD": ("*CHAR LEN(10)", 10 * " "), "MODE": ("*CHAR LEN(8)", 8 * " "),
    "RMTLOCNAME": ("*CHAR LEN(10)", 10 * " "), "LCLLOCNAME": ("*CHAR LEN(8)", 8 * " "),
    "RMTNETID": ("*CHAR LEN(8)", 8 * " "), "RMTDTAQNAM": ("*CHAR LEN(10)", 10 * " "),
    "RMTDTAQLIB": ("*CHAR LEN(10)", 10 * " "), "RDBNAME": ("*CHAR LEN(18)", 18 * " "),
    "TEXT": ("*CHAR LEN(50)", "Replies".ljust(50)),
}  # fmt: skip

NO_ARITHMETIC = (
    "VALUE: constants, variables and strings joined by *CAT are simulated, arithmetic and logical operators are not"
)
NO_LIST = (
    "variable &N is list: allowed are what DCL makes, str, int, Decimal, bool, bytes, bytearray, and None for one that"
    " has no value yet"
)


@pytest.fixture
def queue(job):
    job.crtdtaq(dtaq="APPLIB/REPLIES", maxlen=80, seq="*KEYED", keylen=4, senderid="*YES", text="Replies")
    for key in (b"0001", b"0002"):
        job.qsnddtaq("REPLIES", "APPLIB", b"reply", key)
    return "APPLIB/REPLIES"


def declared(job, *texts: str):
    """A dictionary with the variables that these DCL commands declare."""
    variables = {}
    for text in texts:
        job.command(f"DCL {text}", variables)
    return variables


def refusal(job, text: str, variables) -> list[tuple[str, str]]:
    before = dict(variables)
    with pytest.raises(EscapeMessage) as caught:
        job.command(text, variables)
    assert caught.value.message_id == "CPF0006"
    assert variables == before
    return [(one.message_id, one.text) for one in caught.value.diagnostics]


@pytest.mark.rule("DTAQ-XCL-COMMAND")
@pytest.mark.parametrize("keyword", EVERY_KEYWORD)
def test_rtvdtaqxcl_returns_one_keyword(job, queue, keyword):
    kind, value = EVERY_KEYWORD[keyword]
    variables = declared(job, f"VAR(&V) TYPE({kind.replace(' ', ') ', 1).removesuffix(')')})")
    job.command(f"RTVDTAQXCL {queue} {keyword}(&V)", variables)
    assert variables["&V"].value == value


@pytest.mark.rule("DTAQ-XCL-COMMAND")
def test_rtvdtaqinf_is_found_in_its_library_only(job, queue):
    variables = declared(job, "&N *INT")
    job.command(f"VC2XCL/RTVDTAQINF DTAQ({queue}) NBRENT(&N)", variables)
    assert variables["&N"].value == 2
    with pytest.raises(EscapeMessage) as caught:
        job.command(f"RTVDTAQINF DTAQ({queue}) NBRENT(&N)", variables)
    assert [str(one) for one in caught.value.diagnostics] == ["CPD0030 Command RTVDTAQINF in library *LIBL not found."]


def test_rtvdtaqxcl_needs_dtaq(job):
    assert refusal(job, "RTVDTAQXCL NBRENT(&N)", {"&N": 0}) == [("CPD0071", "Parameter DTAQ required.")]


@pytest.mark.rule("DTAQ-XCL-VARIABLE")
@pytest.mark.parametrize(
    ("declaration", "keyword", "message"),
    [
        ("*DEC LEN(5 1)", "MAXLEN", "CPD0783 Variable &V for parameter MAXLEN must be TYPE(*DEC), LEN(5,0)."),
        ("*INT", "MAXKEYLEN", "CPD0783 Variable &V for parameter MAXKEYLEN must be TYPE(*DEC), LEN(3,0)."),
        ("*INT LEN(2)", "NBRENT", "TDQ9002 Variable &V for parameter NBRENT must be TYPE(*INT), LEN(4)."),
        ("*UINT", "SEQ", "TDQ9002 Variable &V for parameter SEQ must be TYPE(*INT), LEN(4)."),
        ("*CHAR LEN(1)", "FORCE", "TDQ9002 Variable &V for parameter FORCE must be TYPE(*LGL), LEN(1)."),
        ("*CHAR LEN(9)", "LIB", "TDQ9002 Variable &V for parameter LIB must be TYPE(*CHAR), LEN(10)."),
        ("*CHAR LEN(32)", "TEXT", "TDQ9002 Variable &V for parameter TEXT must be TYPE(*CHAR), LEN(50)."),
    ],
)
def test_rtvdtaqxcl_refuses_a_variable_of_another_type_or_length(job, queue, declaration, keyword, message):
    variables = declared(job, f"&V {declaration}", "&OTHER *INT")
    other = "SEQ" if keyword == "NBRENT" else "NBRENT"
    text = f"RTVDTAQXCL {queue} {other}(&OTHER) {keyword}(&V)"
    assert [" ".join(one) for one in refusal(job, text, variables)] == [message]
    assert variables["&OTHER"].value == 0
    assert rule("DTAQ-XCL-VARIABLE").message == "CPD0783"


@pytest.mark.rule("CL-VARIABLE")
@pytest.mark.parametrize(
    "text",
    ["RTVDTAQXCL APPLIB/REPLIES NBRENT(&NO)", "CRTDTAQ APPLIB/&NO 5", "CALL X PARM(&NO)", "CHGVAR &NO 5",
     "CRTDTAQ APPLIB/Q 5 TEXT('a' *CAT &NO)", "SBMJOB CMD(CALL X PARM(&NO))"],
)  # fmt: skip
def test_a_variable_must_be_declared(job, queue, text):
    assert refusal(job, text, {}) == [("CPD0727", "Variable &NO is referred to but not declared.")]
    with pytest.raises(EscapeMessage, match=rule("CL-VARIABLE").message):
        job.command(text)


def test_rtvdtaqxcl_replaces_a_plain_value(job, queue):
    variables = {"&Q": "REPLIES", "&N": None, "&LEN": 0, "&TYPE": ""}
    job.command("RTVDTAQXCL APPLIB/&Q NBRENT(&N) MAXLEN(&LEN) TYPE(&TYPE)", variables)
    assert variables == {"&Q": "REPLIES", "&N": 2, "&LEN": Decimal(80), "&TYPE": "*STD      "}


def test_rtvdtaqxcl_of_no_queue_leaves_the_variables(job):
    variables = declared(job, "&N *INT VALUE(7)")
    with pytest.raises(EscapeMessage) as caught:
        job.command("RTVDTAQXCL APPLIB/NONE NBRENT(&N)", variables)
    assert (caught.value.message_id, [one.message_id for one in caught.value.diagnostics]) == ("XCL9002", ["CPF9801"])
    assert variables["&N"].value == 7


@pytest.mark.rule("CL-DCL")
@pytest.mark.parametrize(
    ("text", "shown", "value"),
    [
        ("VAR(&V) TYPE(*CHAR)", "TYPE(*CHAR) LEN(32)", 32 * " "),
        ("&V *DEC", "TYPE(*DEC) LEN(15 5)", Decimal(0)),
        ("&V *DEC 7", "TYPE(*DEC) LEN(7 0)", Decimal(0)),
        ("&V *DEC (7 2) 12.5", "TYPE(*DEC) LEN(7 2)", Decimal("12.5")),
        ("&V *DEC VALUE(-12.50)", "TYPE(*DEC) LEN(4 2)", Decimal("-12.5")),
        ("&V *CHAR VALUE('it''s')", "TYPE(*CHAR) LEN(4)", "it's"),
        ("&V *LGL", "TYPE(*LGL) LEN(1)", "0"),
        ("&V *LGL VALUE('1')", "TYPE(*LGL) LEN(1)", "1"),
        ("&V *INT", "TYPE(*INT) LEN(4)", 0),
        ("&V *INT 2 -32768", "TYPE(*INT) LEN(2)", -32768),
        ("&V *UINT 8 18446744073709551615", "TYPE(*UINT) LEN(8)", 18446744073709551615),
    ],
)
def test_dcl(job, text, shown, value):
    variable = declared(job, text)["&V"]
    assert (str(variable), variable.value) == (shown, value)


@pytest.mark.rule("CL-DCL")
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("&V *DEC 16", "LEN(16): a *DEC variable has the length 1 to 15, and at most 9 decimal positions"),
        ("&V *DEC (15 10)", "LEN(15 10): a *DEC variable has the length 1 to 15, and at most 9 decimal positions"),
        ("&V *INT 3", "LEN(3): a *INT variable has the length 2 or 4 or 8"),
        ("&V *LGL 2", "LEN(2): a *LGL variable has the length 1 to 1"),
        ("&V *CHAR 0", "LEN(0): a *CHAR variable has the length 1 to 32767"),
        ("&V *CHAR (5 1)", "LEN(5 1): a *CHAR variable has the length 1 to 32767"),
        ("&V *LGL VALUE(Y)", "'Y': a *LGL variable is '0' or '1'"),
        ("&V *INT VALUE(X)", "VAR(&V): 'X' is not a number"),
        ("&THERE *INT", "VAR(&THERE): the variable is declared already"),
    ],
)
def test_dcl_refuses(job, text, reason):
    assert refusal(job, f"DCL {text}", declared(job, "&THERE *INT")) == [("", reason)]


@pytest.mark.parametrize("name", ["V", "&1", "&ABCDEFGHIJK", "'&V'"])
def test_dcl_refuses_what_is_no_name_of_a_variable(job, name):
    assert [one[0] for one in refusal(job, f"DCL VAR({name}) TYPE(*INT)", {})] == ["CPD0084"]


@pytest.mark.rule("CL-CHGVAR")
@pytest.mark.parametrize(
    ("declaration", "value", "after"),
    [
        ("*CHAR 6", "XYZ", "XYZ   "), ("*CHAR 6", "'12'", "12    "), ("*CHAR 2", "'ABC'", "AB"),
        ("*CHAR 6", "(AB *CAT 'CD')", "ABCD  "), ("*CHAR 6", "('x ' *TCAT &TEXT *TCAT 'y')", "xaby  "),
        ("*CHAR 5", "12", "00012"), ("*CHAR 5", "-1.5", "-01.5"), ("*CHAR 4", "&NUMBER", "0007"),
        ("*DEC (5 2)", "'+123.1'", Decimal("123.1")), ("*DEC (5 0)", "'+123.99'", Decimal(123)),
        ("*DEC (5 2)", "'-123'", Decimal(-123)), ("*DEC (5 2)", "2,7", Decimal("2.7")), ("*INT", "&NUMBER", 7),
        ("*LGL", "'1'", "1"),
    ],
)  # fmt: skip
def test_chgvar(job, declaration, value, after):
    variables = declared(job, f"&V {declaration}", "&TEXT *CHAR 4 ab", "&NUMBER *INT VALUE(7)")
    variables["&TEXT"].value = "ab"
    job.command(f"CHGVAR &V {value}", variables)
    assert variables["&V"].value == after


@pytest.mark.rule("CL-CHGVAR")
@pytest.mark.parametrize(
    ("declaration", "value", "reason"),
    [
        ("*DEC (3 0)", "1000", "1000 in a variable TYPE(*DEC) LEN(3 0): it does not fit into 3 digits"),
        ("*DEC (3 0)", "1.5", "1.5 in a variable TYPE(*DEC) LEN(3 0): it has more than 0 decimals"),
        ("*INT 2", "40000", "40000 in a variable TYPE(*INT) LEN(2): it does not fit into 2 bytes"),
        ("*INT", "'five'", "VAR(&V): 'five' is not a number"),
        ("*INT", "1.5", "VAR(&V): 1.5 has a fraction, which a *INT variable has not"),
        ("*CHAR 2", "123", "VAR(&V): 123 does not fit into 2 characters"),
        ("*INT", "(&V + 1)", NO_ARITHMETIC),
    ],
)  # fmt: skip
def test_chgvar_refuses(job, declaration, value, reason):
    assert refusal(job, f"CHGVAR &V {value}", declared(job, f"&V {declaration}")) == [("", reason)]


def test_a_called_program_changes_the_variables(job):
    job.crtdtaq(dtaq="APPLIB/Q", maxlen=20)
    variables = declared(job, "&LEN *DEC (5 0)", "&DATA *CHAR 20", "&WAIT *DEC (5 0)", "&QUEUE *CHAR 10 Q")
    variables["&TEXT"] = "hello"
    job.command("CHGVAR &LEN 5", variables)
    job.command("CALL PGM(QSNDDTAQ) PARM(&QUEUE 'APPLIB' &LEN &TEXT)", variables)
    job.command("CHGVAR &LEN 0", variables)
    job.command("CALL PGM(QRCVDTAQ) PARM(&QUEUE 'APPLIB' &LEN &DATA &WAIT)", variables)
    assert (variables["&LEN"].value, variables["&DATA"].value) == (5, "hello".ljust(20))


def test_a_program_changes_plain_values_and_areas(system: System, job):
    def program(_job, number, text, flag, area):
        number[:], text[:], flag[:], area[:1] = (9).to_bytes(4, "big"), e("yes"), e("1"), b"!"

    system.register_program("APPLIB/CHANGE", program)
    variables = {"&N": 1, "&TEXT": "abc", "&FLAG": False, "&AREA": bytearray(3)}
    job.command("CALL APPLIB/CHANGE PARM(&N &TEXT &FLAG &AREA)", variables)
    assert variables == {"&N": 9, "&TEXT": "yes", "&FLAG": True, "&AREA": bytearray(b"!\0\0")}


def test_variables_in_the_parameters_of_commands(job):
    variables = declared(job, "&LIB *CHAR 10 APPLIB", "&LEN *DEC (5 0) 30", "&SEQ *CHAR 10 '*LIFO'", "&TEXT *CHAR 4 ab")
    variables["&TEXT"].value = "ab"
    job.command("CRTDTAQ &LIB/Q MAXLEN(&LEN) SEQ(&SEQ) TEXT(&TEXT *CAT 'c')", variables)
    made = job.qmhqrdqd("Q", "APPLIB")
    assert (made.message_length, made.sequence, made.text_description) == (30, "L", "ab  c")


def test_sbmjob_has_the_values_of_the_moment(system, job):
    got = []
    system.register_program("APPLIB/TAKE", lambda _job, text: got.append(bytes(text)))
    variables = {"&TEXT": "Anna B"}
    started = job.command("SBMJOB CMD(CALL APPLIB/TAKE PARM(&TEXT))", variables)
    variables["&TEXT"] = "Carl"
    started.result()
    assert got == [e("Anna B".ljust(32))]


@pytest.mark.parametrize(
    ("variables", "reason"),
    [
        ([], "variables is list: a dictionary of CL variables by name is needed"),
        ({"NBRENT": 0}, "variable 'NBRENT': a name is & and 1 to 10 characters in capitals, as in '&NBRENT'"),
        ({"&A": 0, "&nbrent": 0}, "variable '&nbrent': a name is & and 1 to 10 characters in capitals, as in '&NBRENT'"),
        ({"&N": [1]}, NO_LIST),
        ({"&A": "X", "&N": [1]}, NO_LIST),
    ],
)  # fmt: skip
def test_what_is_no_dictionary_of_variables(job, variables, reason):
    with pytest.raises(ParameterError) as caught:
        job.command("CRTLIB A", variables)
    assert str(caught.value) == reason
    assert "A" not in job.system.libraries


def test_a_variable_without_a_value(job):
    assert refusal(job, "CRTLIB &LIB", {"&LIB": None}) == [("", "variable &LIB has no value yet")]


def test_bytes_that_are_no_number_are_told(job):
    variables = declared(job, "&N *DEC (5 0)")
    variables["&N"].storage[:] = b"abc"
    assert isinstance(variables["&N"], ClVariable)
    assert repr(variables["&N"]) == "<ClVariable TYPE(*DEC) LEN(5 0) X'616263'>"
    assert refusal(job, "CRTDTAQ APPLIB/Q &N", variables)[0][1].startswith("variable &N TYPE(*DEC) LEN(5 0): ")
