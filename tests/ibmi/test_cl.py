"""CL commands as text: what the command processor finds wrong, and what the commands then do."""

from __future__ import annotations

import pytest

from tdqsim.definitions import parse_cl
from tdqsim.definitions.cl_command import COMMANDS, check_command, read_command
from tdqsim.ibmi import EscapeMessage
from tests.rules import expect_rule, rule

WRONG = {
    "CL-UNKNOWN": [
        ("DSPJOBB", "Command DSPJOBB in library *LIBL not found."),
        ("MYLIB/CRTDTAQ DTAQ(APPLIB/Q)", "Command CRTDTAQ in library MYLIB not found."),
        ("", "Command  in library *LIBL not found."),
        ("   /* only a comment */ ", "Command  in library *LIBL not found."),
        ("'CRTDTAQ'", "Command  in library *LIBL not found."),
    ],
    "CL-KEYWORD": [
        ("CRTDTAQ DTAQ(APPLIB/Q) MAXLEN(5) SEQUENCE(*LIFO)", "Keyword SEQUENCE not valid for this command."),
        ("DLTDTAQ DTAQ(APPLIB/Q) FORCE(*YES)", "Keyword FORCE not valid for this command."),
    ],
    "CL-REQUIRED": [
        ("CRTDTAQ MAXLEN(5)", "Parameter DTAQ required."),
        ("MOVOBJ OBJ(APPLIB/Q) OBJTYPE(*DTAQ)", "Parameter TOLIB required."),
        ("DLTLIB LIB()", "Parameter LIB required."),
    ],
    "CL-VALUE": [
        ("CRTDTAQ DTAQ(APPLIB/Q) MAXLEN(5) SEQ(LIFO)", "'LIFO' not valid for parameter SEQ."),
        ("CRTDTAQ DTAQ(APPLIB/Q) MAXLEN(5) FORCE(YES)", "'YES' not valid for parameter FORCE."),
        ("CRTDTAQ DTAQ(APPLIB/Q) MAXLEN(five)", "'FIVE' not valid for parameter MAXLEN."),
        ("CRTDTAQ DTAQ(APPLIB/Q) MAXLEN(5) SEQ((*FIFO))", "'(*FIFO)' not valid for parameter SEQ."),
        ("ALCOBJ OBJ((APPLIB/Q *FILE *EXCL))", "'APPLIB/Q *FILE *EXCL' not valid for parameter OBJ."),
        ("MOVOBJ APPLIB/Q *DTAQ qtemp", "'QTEMP' not valid for parameter TOLIB."),
        ("ADDLIBLE APPLIB POSITION(*MIDDLE)", "'*MIDDLE' not valid for parameter POSITION."),
        ("GRTOBJAUT APPLIB/Q *DTAQ ANNA AUT(*WRITE)", "'*WRITE' not valid for parameter AUT."),
    ],
    "CL-RANGE": [
        ("CRTDTAQ DTAQ(APPLIB/Q) MAXLEN(64513)", "Value '64513' for parameter MAXLEN must be from 1 to 64512."),
        ("CRTDTAQ APPLIB/Q 5 SEQ(*KEYED) KEYLEN(0)", "Value '0' for parameter KEYLEN must be from 1 to 256."),
        ("CRTDTAQ APPLIB/Q -5", "Value '-5' for parameter MAXLEN must be from 1 to 64512."),
    ],
    "CL-NAME": [
        ("CRTDTAQ DTAQ(APPLIB/1Q) MAXLEN(5)", "Value '1Q' for parameter DTAQ not a valid name."),
        ("CRTLIB *LIBL", "Value '*LIBL' for parameter LIB not a valid name."),
    ],
    "CL-NAME-GENERIC": [
        ("DLTDTAQ APPLIB/1Q*", "Value '1Q*' for DTAQ not a name or generic name."),
    ],
    "CL-LONG": [
        ("CRTDTAQ DTAQ(APPLIB/ABCDEFGHIJK) MAXLEN(5)", "Value 'ABCDEFGHIJK' for parameter DTAQ exceeds 10 characters."),
        ("CRTLIB A TEXT('" + 51 * "x" + "')", f"Value '{51 * 'x'}' for parameter TEXT exceeds 50 characters."),
    ],
    "CL-POSITIONAL": [
        ("DLTDTAQ APPLIB/Q APPLIB/R", "Value 'APPLIB/R' is one too many by position; 1 are allowed."),
        ("DLTDTAQ APPLIB/Q\nDLTDTAQ APPLIB/R", "Value 'DLTDTAQ' is one too many by position; 1 are allowed."),
    ],
    "CL-AFTER-KEYWORD": [("CRTDTAQ DTAQ(APPLIB/Q) 5", "Value '5' by position stands after a keyword.")],
    "CL-TWICE": [
        ("CRTDTAQ APPLIB/Q DTAQ(APPLIB/R) MAXLEN(5)", "Keyword DTAQ specified more than once."),
        ("CRTDTAQ APPLIB/Q MAXLEN(5) MAXLEN(6)", "Keyword MAXLEN specified more than once."),
    ],
    "CL-TOO-MANY": [
        ("CRTDTAQ APPLIB/Q MAXLEN(5 6)", "Too many values for parameter MAXLEN; 1 are allowed."),
        ("CRTDTAQ APPLIB/Q 5 SIZE(1 2 3)", "Too many values for parameter SIZE; 2 are allowed."),
    ],
    "CL-PARENTHESIS": [
        ("CRTDTAQ DTAQ(APPLIB/Q MAXLEN(5)", "A matching parenthesis not found."),
        ("CRTDTAQ DTAQ(APPLIB/Q", "A matching parenthesis not found."),
    ],
    "CL-PARENTHESIS-RIGHT": [("CRTDTAQ DTAQ(APPLIB/Q)) MAXLEN(5)", "A matching parenthesis not found.")],
    "CL-EXPRESSION": [
        ("CRTDTAQ APPLIB/Q 5 TEXT('a' *CAT)", "Expression 'a *CAT' not complete."),
        ("CRTDTAQ APPLIB/Q 5 TEXT(*BCAT 'a')", "Expression '*BCAT a' not complete."),
        ("CRTDTAQ APPLIB/Q 5 TEXT(|<)", "Expression '|<' not complete."),
        ("CRTDTAQ APPLIB/Q 5 TEXT('a' || *CAT 'b')", "Expression 'a || *CAT b' not complete."),
        ("CRTDTAQ APPLIB/Q 5 TEXT('a' *CAT 'b' 'c')", "Expression 'a *CAT b c' not complete."),
        ("CRTDTAQ APPLIB/Q 5 TEXT('a' 'b' *CAT 'c')", "Expression 'a b *CAT c' not complete."),
    ],
    "CL-OPERAND": [
        ("CRTDTAQ APPLIB/Q 5 TEXT('a' *CAT 5)", "Operand '5' of an expression not a character string."),
        ("CRTDTAQ APPLIB/Q 5 TEXT(-.5 *CAT 'a')", "Operand '-.5' of an expression not a character string."),
        ("CRTDTAQ APPLIB/Q 5 TEXT('a' *CAT (b c))", "Operand '(B C)' of an expression not a character string."),
    ],
    "CL-APOSTROPHE": [("CRTDTAQ APPLIB/Q 5 TEXT('it''s)", "A matching apostrophe not found.")],
}


@pytest.mark.rule(*WRONG)
@pytest.mark.parametrize(("rule_id", "text", "said"), [(row, *case) for row, cases in WRONG.items() for case in cases])
def test_what_a_command_processor_refuses(officer, rule_id, text, said):
    with pytest.raises(EscapeMessage) as caught:
        officer.command(text)
    error = caught.value
    of_form = ("CL-UNKNOWN", "CL-PARENTHESIS", "CL-PARENTHESIS-RIGHT", "CL-APOSTROPHE")
    assert error.message_id == ("CPF0001" if rule_id in of_form else "CPF0006")
    assert (rule(rule_id).message, said) in [(one.message_id, one.text) for one in error.diagnostics]
    assert tuple(officer.joblog[-len(error.diagnostics) - 1 :]) == (*error.diagnostics, error.message)
    assert list(officer.system.queues()) == []


JOINED = {
    "CL-CAT": [
        ("ABC *CAT DEF", "ABCDEF"), ("'ABC ' *CAT 'DEF '", "ABC DEF"), ("'it''s '||'so'", "it's so"), ("a||b", "AB"),
        ("X'C1' *CAT 'b'", "Ab"), ("'a' *CAT '' *CAT ' b'", "a b"), ("('a' *CAT 'b') || 'c'", "abc"),
    ],
    "CL-TCAT": [
        ("ABC *TCAT DEF", "ABCDEF"), ("'ABC ' *TCAT DEF", "ABCDEF"), ("ABC *tcat ' DEF'", "ABC DEF"),
        ("'ABC '|<' DEF'", "ABC DEF"), ("'a ' *CAT '  ' *TCAT 'b'", "ab"), ("X'C140' *TCAT X'C2'", "AB"),
        ("'a' *TCAT 'b' *CAT 'c ' *TCAT 'd'", "abcd"), ("'  ' *TCAT 'b'", "b"),
    ],
    "CL-BCAT": [
        ("ABC *BCAT DEF", "ABC DEF"), ("'ABC  ' *BCAT DEF", "ABC DEF"), ("'a' |> ' b'", "a  b"),
        ("'a' *BCAT '' *BCAT 'b'", "a b"), ("'a'*BCAT 'b'", "a b"), ("X'C1' |> 'b'", "A b"),
    ],
}  # fmt: skip


@pytest.mark.rule(*JOINED)
@pytest.mark.parametrize(("written", "found"), [case for cases in JOINED.values() for case in cases])
def test_strings_are_joined(officer, written, found):
    officer.command(f"CRTDTAQ DTAQ(APPLIB/Q) MAXLEN(5) TEXT({written})")
    assert officer.qmhqrdqd("Q", "APPLIB").text_description.rstrip() == found


def test_expressions_stand_for_names_and_in_lists(system, officer):
    seen = []
    system.register_program(
        "APPLIB/SEE", lambda job, *given: seen.append([job.page.decode(one).rstrip() for one in given])
    )
    officer.command("CALL PGM(APPLIB *TCAT '/SEE') PARM(('a' *BCAT 'b') 'c' (X'C1'||'d'))")
    officer.command("CALL APPLIB/SEE ('a' *CAT 'b')")
    officer.command("SBMJOB CMD(CALL PGM(APPLIB/SEE) PARM('it''s' |> 'b'))")
    system.dispatcher.run()
    assert seen == [["a b", "c", "Ad"], ["ab"], ["it's b"]]
    with pytest.raises(EscapeMessage) as caught:  # what comes out is checked as any value
        officer.command("CRTDTAQ DTAQ(APPLIB/Q) MAXLEN(5) TEXT('x' *CAT '" + "y" * 50 + "')")
    assert [one.message_id for one in caught.value.diagnostics] == ["CPD0074"]
    many = " *TCAT ".join(["'  '"] * 2500)
    officer.command(f"CRTDTAQ DTAQ(APPLIB/Q) MAXLEN(5) TEXT({many})")
    assert not officer.qmhqrdqd("Q", "APPLIB").text_description.strip()


def test_everything_wrong_is_said_at_once(officer):
    with pytest.raises(EscapeMessage) as caught:
        officer.command("CRTDTAQ MAXLEN(0) SEQ(FIFO) COLOR(RED)")
    assert [one.message_id for one in caught.value.diagnostics] == ["CPD0043", "CPD0071", "CPD0085", "CPD0084"]


@pytest.mark.parametrize(
    "text", ["CRTDTAQ (", ")", "((((((((((", "A" * 40_000, "CRTDTAQ " + "(" * 5000, "'" * 9, "A/B/C X(Y)", "/* CRTDTAQ", "&X"]
)  # fmt: skip
def test_whatever_stands_there_is_refused_in_words(officer, text):
    with pytest.raises(EscapeMessage, match=r"CPF000[16]"):
        officer.command(text)


def test_commands_do_what_their_methods_do(system, officer):
    run = officer.command
    run("crtlib lib(one) text('It''s mine') /* a comment */ aut(*use)")
    assert (system.libraries["ONE"].text, system.libraries["ONE"].public) == ("It's mine", "*USE")
    queue = run("QSYS/CRTDTAQ DTAQ(ONE/Q) MAXLEN(10) SEQ(*KEYED) KEYLEN(2) SIZE(*MAX2GB 20) TEXT('Orders') AUT(*ALL)")
    attributes = queue.attributes
    assert (queue.qualified, attributes.keylen, attributes.size, attributes.initial) == ("ONE/Q", 2, -2, 20)
    run("CRTDTAQ ONE/R 5 TEXT(*BLANK)")
    run("ADDLIBLE ONE")
    run("ADDLIBLE APPLIB POSITION(*AFTER ONE)")
    assert officer.user_libraries[:2] == ("ONE", "APPLIB")
    run("CHGLIBL LIBL(APPLIB ONE) CURLIB(ONE)")
    run("RMVLIBLE APPLIB")
    assert (officer.user_libraries, officer.current_library) == (("ONE",), "ONE")
    run("CHGCURLIB *CRTDFT")
    run("CHGLIBL *NONE")
    assert (officer.user_libraries, officer.current_library) == ((), "")
    run("ALCOBJ OBJ((ONE/Q *DTAQ *EXCL) (ONE/R *DTAQ *SHRRD)) WAIT(0)")
    assert [one.state for one in officer.wrkobjlck("ONE/Q")] == ["*EXCL"]
    run("DLCOBJ ((ONE/Q *DTAQ *EXCL) (ONE/R *DTAQ *SHRRD))")
    run("MOVOBJ ONE/R *DTAQ APPLIB")
    run("RNMOBJ OBJ(APPLIB/R) OBJTYPE(*DTAQ) NEWOBJ(S)")
    assert [one.qualified for one in system.queues()] == ["APPLIB/S", "ONE/Q"]
    run("GRTOBJAUT ONE/Q *DTAQ (ANNA BERT) AUT(*OBJOPR *ADD)")
    run("GRTOBJAUT OBJ(ONE/Q) OBJTYPE(*DTAQ) USER(ANNA) AUT(*USE) REPLACE(*YES)")
    run("RVKOBJAUT ONE/Q *DTAQ BERT *ADD")
    run("RVKOBJAUT ONE *LIB *PUBLIC *ALL")
    assert (queue.private, system.libraries["ONE"].public) == ({"ANNA": "*USE", "BERT": "*OBJOPR"}, "*EXCLUDE")
    run("CRTUSRPRF NEWONE SPCAUT(*ALLOBJ) GRPPRF(ANNA) SUPGRPPRF(BERT BOB)")
    assert (system.profiles["NEWONE"].allobj, system.profiles["NEWONE"].groups) == (True, ("ANNA", "BERT", "BOB"))
    run("CRTJRN ONE/JRN")
    run("STRJRNOBJ ONE/Q *DTAQ ONE/JRN")
    run("ENDJRNOBJ ONE/Q *DTAQ")
    assert [entry.type for entry in officer.dspjrn("ONE/JRN")] == ["QB", "QE"]
    assert [one.message_id for one in officer.joblog] == [
        "CPC2102", "CPC9801", "CPC9801", "CPC2196", "CPC2196", "CPC2101", "CPC2197", "CPC2198", "CPC2101", "CPC2193", "CPC2192",
        "CPC2201", "CPC2201", "CPC2202", "CPC2202", "CPC2205",
    ]  # fmt: skip
    run("DLTLIB ONE")
    assert [one.qualified for one in system.queues()] == ["APPLIB/S"]


@pytest.mark.rule("CL-GENERIC")
def test_a_generic_delete(officer):
    for name in ("APPLIB/AB", "APPLIB/AC", "APPLIB/B", "QGPL/AB"):
        officer.command(f"CRTDTAQ {name} 5")
    officer.command("DLTDTAQ APPLIB/A*")
    assert [one.qualified for one in officer.system.queues()] == ["APPLIB/B", "QGPL/AB"]
    with pytest.raises(EscapeMessage, match=rule("CL-GENERIC").message):
        officer.command("DLTDTAQ APPLIB/A*")
    officer.command("DLTDTAQ A*")  # the library list
    assert [one.qualified for one in officer.system.queues()] == ["APPLIB/B"]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_of_the_table_can_be_checked(command):
    checked = check_command(read_command(f"VC2XCL/{command}" if command == "RTVDTAQINF" else command))
    assert {fault.message_id for fault in checked.diagnostics} <= {"CPD0071"}
    required = {one.keyword for one in COMMANDS[command] if one.required}
    assert {fault.keyword for fault in checked.diagnostics} == required


@pytest.mark.rule("CL-VALUE")
def test_imported_source_is_held_to_the_same(system):
    found = parse_cl("CRTDTAQ DTAQ(A/B) MAXLEN(5) SEQ(LIFO) FORCE(YES)")
    assert not found.definitions.dtaqs
    assert [rule("CL-VALUE").message in report.message for report in found.reports] == [True, True]


@pytest.mark.parametrize("text", [
    "CRTDTAQ DTAQ(QGPL/NEXT) +\n    MAXLEN(10) +  \r\n  TEXT('a +\n     b')", "CRTDTAQ -\nDTAQ(QGPL/NEXT)-\n MAXLEN(1+\n   0) TEXT('a-\n b')",
])  # fmt: skip
def test_a_command_over_several_lines(job, text):
    """A + at the end of a line goes on with what is not blank in the next, a - with all of it."""
    queue = job.command(text)
    assert (queue.attributes.maxlen, queue.text) == (10, "a b")


def test_diagnostics_of_parameters_that_do_not_go_together_are_messages_of_the_file(job):
    with pytest.raises(EscapeMessage) as caught:
        job.command("CRTDTAQ QGPL/X 10 KEYLEN(3) RMTDTAQ(Y)")
    found = [
        (one.message_id, one.text, one.message_data.decode("cp037"), one.help[:5]) for one in caught.value.diagnostics
    ]
    assert sorted(found) == [
        ("CPD9263", "RMTDTAQ not allowed with TYPE(*STD).", "RMTDTAQ   ", "Cause"),
        ("CPD9501", "KEYLEN allowed with SEQ(*KEYED) only.", "KEYLEN    ", "Cause"),
    ]
    with pytest.raises(EscapeMessage) as caught:
        job.command("CRTDTAQ QGPL/X 10 TEXT('two\n lines')")
    (told,) = caught.value.diagnostics
    assert (told.message_id, told.help[:5], told.message_data[4:14].decode("cp037")) == (
        "CPD0084",
        "Cause",
        "TEXT      ",
    )


@pytest.mark.rule("CL-SEVERAL")
@pytest.mark.parametrize(
    ("library", "left"),
    [
        ("*ALL", ["APPLIB/R", "ONE/R"]), ("*ALLUSR", ["APPLIB/R", "ONE/R", "QUSRSYS/Q"]),
        ("*USRLIBL", ["APPLIB/Q", "APPLIB/R", "ONE/R", "QUSRSYS/Q"]),
    ],
)  # fmt: skip
def test_deletion_from_several_libraries(system, officer, library, left):
    for one in ("ONE", "QUSRSYS"):
        system.crtlib(one)
    officer.command("CHGLIBL (ONE QGPL)")
    for each in ("APPLIB/Q", "APPLIB/R", "ONE/Q", "ONE/R", "QGPL/Q", "QUSRSYS/Q"):
        officer.command(f"CRTDTAQ {each} 5")
    officer.command(f"DLTDTAQ {library}/Q")
    assert [one.qualified for one in system.queues()] == left
    expect_rule("CL-SEVERAL", officer.command, f"DLTDTAQ {library}/Q")
    expect_rule("CL-SEVERAL", officer.command, f"DLTDTAQ {library}/X*")


@pytest.mark.parametrize("text", ["CRTUSRPRF NEWONE CCSID(99)", "CHGUSRPRF ANNA CCSID(99)"])
def test_a_ccsid_that_is_not_known_ends_the_command(officer, text):
    with pytest.raises(EscapeMessage, match="CPF0006") as caught:
        officer.command(text)
    assert caught.value.diagnostics[0].text.startswith("unknown code page '99'")


def test_what_is_accepted_as_shipped(system, officer):
    officer.command("CRTLIB ONE *PROD TEXT('One') AUT(*LIBCRTAUT) CRTAUT(*SYSVAL) ASP(1) CRTOBJAUD(*SYSVAL)")
    assert system.libraries["ONE"].public == "*CHANGE"
    assert officer.command("CRTDTAQ ONE/Q 5").public == "*CHANGE"
    officer.command("ALCOBJ ((ONE/Q *DTAQ *EXCL)) CONFLICT(*NORQSRLS)")
    officer.command("MOVOBJ ONE/Q *DTAQ APPLIB ASPDEV(*) TOASPDEV(*SYSBAS)")
    officer.command("CHGCURLIB ONE")
    assert (officer.joblog[-1].message_id, officer.joblog[-1].text) == ("CPC2198", "Current library changed to ONE.")


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("", ("ONE", ("APPLIB",))), ("CURLIB(*CURRENT) INLLIBL(*CURRENT)", ("ONE", ("APPLIB",))),
        ("CURLIB(*CRTDFT) INLLIBL(*NONE)", ("", ())), ("CURLIB(APPLIB) INLLIBL(ONE QTEMP)", ("APPLIB", ("ONE", "QTEMP"))),
        ("CURLIB(*USRPRF) INLLIBL(*SYSVAL) HOLD(*NO) JOBD(QGPL/QDFTJOBD)", ("", ("QGPL", "QTEMP"))),
    ],
)  # fmt: skip
def test_the_libraries_of_a_submitted_job(system, officer, said, found):
    system.crtlib("ONE")
    officer.command("CHGLIBL APPLIB CURLIB(ONE)")
    seen = []
    system.register_program("QGPL/LOOK", lambda job: seen.append((job.current_library, job.user_libraries)))
    officer.command(f"SBMJOB CMD(CALL QGPL/LOOK) {said}").result()
    assert seen == [found]


@pytest.mark.parametrize("keyword", ["JOBQ(*JOBD)", "JOBD(*USRPRF)", "JOBQ(QGPL/QBATCH)"])
def test_a_special_value_can_stand_for_a_name_and_its_library(officer, keyword):
    officer.command(f"SBMJOB CMD(DSPJOBLOG) {keyword}").result()
    assert officer.joblog[-1].message_id == "CPC1221"
    for bad in ("JOBQ(*LIBL)", "JOBQ(*USRPRF)", "JOBQ(*JOBD/QBATCH)"):
        with pytest.raises(EscapeMessage, match="CPF0006"):
            officer.command(f"SBMJOB CMD(DSPJOBLOG) {bad}")


def test_values_by_position_stand_where_the_pages_of_chglibl_alcobj_dspjoblog_and_sbmjob_have_them(system, officer):
    system.crtlib("ONE")
    officer.command("CHGLIBL (APPLIB QGPL) ONE")
    assert (officer.user_libraries, officer.current_library) == (("APPLIB", "QGPL"), "ONE")
    officer.command("CRTDTAQ APPLIB/WORK 10")
    officer.command("ALCOBJ ((APPLIB/WORK *DTAQ *EXCL)) 5")
    officer.command("DSPJOBLOG * *PRINT")
    seen = []
    system.register_program("QGPL/LOOK", lambda job: seen.append(job.qualified_name.split("/")[1:]))
    system.crtusrprf("BERTA")
    officer.command("SBMJOB NIGHTLY QGPL/QDFTJOBD BERTA QGPL/QBATCH CMD(CALL QGPL/LOOK)").result()
    assert seen == [["BERTA", "NIGHTLY"]]
