"""EXEC CICS in COBOL text becomes CALLs; nothing here needs a compiler."""

from __future__ import annotations

import re
import sys

import pytest

from tdqsim.cobol import CobolError
from tdqsim.cobol.calls import too_long, unserved
from tdqsim.cobol.translate import translate

PROGRAM = """\
#line 1 "pay.cbl"
 IDENTIFICATION DIVISION.
 PROGRAM-ID. PAY.
 DATA DIVISION.
 WORKING-STORAGE SECTION.
 01 REC PIC X(80).
 01 R PIC S9(8) COMP.
 PROCEDURE DIVISION.
{}
"""


def command(*lines: str):
    """The first command of a program with these lines."""
    return translate(PROGRAM.format("\n".join(lines)), "pay.cbl").commands[0]


@pytest.mark.rule("COBOL-TEXT")
def test_a_command_keeps_its_options_and_its_place():
    found = command(
        " EXEC CICS WRITEQ TD", "  QUEUE('PAYQ') FROM (REC)", "  LENGTH(LENGTH OF REC) RESP(R)", " END-EXEC."
    )
    assert found.text == "WRITEQ TD QUEUE(A1) FROM(A2) LENGTH(A3) RESP(A4)"
    assert found.written == ("'PAYQ'", "REC", "LENGTH OF REC", "R")
    assert (found.place.file, found.place.line) == ("pay.cbl", 8)


def test_arguments_go_by_reference_and_values_by_content():
    text = translate(
        PROGRAM.format(" EXEC CICS READQ TD QUEUE('A') INTO(REC(1:4)) LENGTH(12) SET(ADDRESS OF X) END-EXEC"), "pay.cbl"
    ).text
    wanted = "BY CONTENT 'A' BY REFERENCE REC(1:4) BY CONTENT 12 BY REFERENCE DFHEI-POINTER-1 END-CALL"
    assert f"CALL 'DFHEIP' USING DFHEI-NUMBER {wanted}" in text
    assert "SET DFHEI-POINTER-1 TO ADDRESS OF X" in text
    assert "SET ADDRESS OF X TO DFHEI-POINTER-1" in text


def test_labels_are_numbered_in_the_program_and_branched_to_after_each_command():
    translation = translate(
        PROGRAM.format(
            " EXEC CICS HANDLE CONDITION QZERO(NO-MORE) LENGERR(BAD) NOTOPEN END-EXEC\n"
            " EXEC CICS HANDLE ABEND LABEL(BAD) END-EXEC"
        ),
        "pay.cbl",
    )
    assert translation.labels == ("NO-MORE", "BAD")
    assert translation.commands[0].labels == (("QZERO", 1), ("LENGERR", 2), ("NOTOPEN", 0))
    assert translation.commands[1].labels == (("LABEL", 2),)
    branch = r"GO TO\s+#line \d+ .*\s+NO-MORE\s+#line \d+ .*\s+BAD\s+#line \d+ .*\s+DEPENDING ON"
    assert len(re.findall(branch, translation.text)) == 1  # where the program is entered, too
    assert translation.text.count("GO TO DFHEI-BRANCH") == 2


def of_size(commands: int, labels: int, lines: int) -> str:
    handles = "".join(f" EXEC CICS HANDLE CONDITION QZERO(L{at}) END-EXEC.\n" for at in range(labels))
    issued = " EXEC CICS READQ TD QUEUE('IN') INTO(REC) END-EXEC.\n" * (commands - labels)
    return PROGRAM.format(handles + issued + " MOVE 1 TO R.\n" * lines)


def calls_of(text: str) -> tuple[int, int]:
    """How many calls a translation takes, and how long its text is."""
    called = 0

    def count(_frame, event, _argument):
        nonlocal called
        called += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        translation = translate(text, "pay.cbl")
    finally:
        sys.setprofile(before)
    return called, len(translation.text) - len(text)


def test_a_long_program_is_translated_in_linear_time_and_room():
    calls, added = calls_of(of_size(40, 4, 2000))
    ten_times_calls, ten_times_added = calls_of(of_size(400, 40, 20_000))
    assert ten_times_calls < 11 * calls
    assert ten_times_added < 11 * added


@pytest.mark.parametrize(
    ("written", "number"),
    [("DFHRESP(QZERO)", "23"), ("dfhresp ( normal )", "0"), ("DFHVALUE(OPEN)", "18"), ("DFHRESP(DISABLED)", "84")],
)
def test_names_of_conditions_and_cvdas_become_numbers(written, number):
    assert f"IF R = {number}" in translate(PROGRAM.format(f" IF R = {written} CONTINUE."), "pay.cbl").text


def test_what_cannot_be_translated_is_told_with_file_and_line():
    with pytest.raises(CobolError) as caught:
        translate(
            PROGRAM.format(
                " IF R = DFHRESP(QZER0) CONTINUE.\n EXEC ADA COMMIT END-EXEC.\n"
                " EXEC CICS DELETEQ TD QUEUE\n (LOW-VALUES) END-EXEC.\n"
                " EXEC CICS DELETEQ TD QUEUE('(' END-EXEC.\n EXEC CICS RETURN"
            ).replace(" REC PIC X(80)", " REC OCCURS 2 TO 5 TIMES PIC X"),
            "pay.cbl",
        )
    assert caught.value.problems == (
        "pay.cbl:5: OCCURS 2 TO 5 without DEPENDING ON; write OCCURS 5",
        "pay.cbl:8: DFHRESP(QZER0): there is no such condition; did you mean QZERO?",
        "pay.cbl:9: EXEC ADA is not known; allowed are CICS, SQL, DLI",
        "pay.cbl:11: LOW-VALUES as an argument has no length; use an item or a literal",
        "pay.cbl:12: EXEC CICS DELETEQ: the parentheses do not match",
        "pay.cbl:13: EXEC CICS has no END-EXEC",
    )
    with pytest.raises(CobolError) as caught:
        translate("\n", "empty.cbl")
    assert caught.value.problems == ("empty.cbl:1: there is no PROGRAM-ID",)


def test_a_command_that_is_not_ended_swallows_no_other():
    with pytest.raises(CobolError) as caught:
        translate(PROGRAM.format(" EXEC CICS SUSPEND END-EX\n EXEC CICS RETURN END-EXEC."), "pay.cbl")
    assert caught.value.problems == ("pay.cbl:8: EXEC CICS has no END-EXEC",)


def test_stop_run_is_a_return():
    assert command(" STOP RUN.").text == "RETURN"


@pytest.mark.parametrize("inside", [" DISPLAY 'EXEC CICS RETURN END-EXEC'.", ' DISPLAY "STOP RUN".'])
def test_literals_are_left_alone(inside):
    assert translate(PROGRAM.format(inside), "pay.cbl").commands == ()


def test_a_using_of_the_program_is_kept():
    text = translate(
        PROGRAM.replace("PROCEDURE DIVISION.", "PROCEDURE DIVISION USING DFHEIBLK DFHCOMMAREA REC.").format(
            " EXEC CICS RETURN END-EXEC."
        ),
        "pay.cbl",
    ).text
    assert text.count("DFHEIBLK DFHCOMMAREA REC") == 1
    assert "USING DFHEIBLK DFHCOMMAREA DFHEIBLK" not in text


def test_sql_keeps_its_statement_and_host_variables():
    found = command(" EXEC SQL SELECT NAME INTO :REC FROM T WHERE ID = :R END-EXEC.")
    assert found.text == "SQL SELECT NAME INTO A1 FROM T WHERE ID = A2"
    assert found.written == ("REC", "R")


def test_dfhvalue_knows_every_cvda_of_the_vendors_table_and_hints_at_misspelt_ones():
    words = (
        "FULLAPI 384 DPLSUBSET 383 PHASEIN 168 OBTAINING 96 NOATI 76 THREADSAFE 1051 EMPTYREQ 31 VRRDS 732 HTTPYES 1033"
    )
    names = words.split()
    lines = "".join(f" IF R = DFHVALUE({name}) CONTINUE.\n" for name in names[::2])
    text = translate(PROGRAM.format(lines), "pay.cbl").text
    assert [line.split()[3] for line in text.split("\n") if line.startswith(" IF R = ")] == names[1::2]
    with pytest.raises(CobolError, match=r"DFHVALUE\(FULAPI\): there is no such CVDA; did you mean FULLAPI\?"):
        translate(PROGRAM.format(" IF R = DFHVALUE(FULAPI) CONTINUE."), "pay.cbl")


def test_dsiderr_is_filenotfound():
    assert "IF R = 12" in translate(PROGRAM.format(" IF R = DFHRESP(DSIDERR) CONTINUE."), "pay.cbl").text
    assert unserved(command(" EXEC CICS HANDLE CONDITION DSIDERR(L1) END-EXEC")) == ""


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("HANDLE AID CLEAR()", "HANDLE AID: CLEAR() has no label in its parentheses; write CLEAR(label)"),
        ("HANDLE AID CLEAR ( ) PF1", "HANDLE AID: CLEAR() has no label in its parentheses; write CLEAR(label)"),
        ("HANDLE CONDITION QZERO()", "HANDLE CONDITION: QZERO() has no label in its parentheses; write QZERO(label)"),
        ("HANDLE ABEND LABEL()", "HANDLE ABEND: LABEL() has no label in its parentheses; write LABEL(label)"),
    ],
)
def test_an_option_of_handle_with_empty_parentheses_is_named(written, said):
    with pytest.raises(CobolError) as caught:
        command(f" EXEC CICS {written} END-EXEC")
    assert caught.value.problems[0].startswith(f"pay.cbl:8: {said}")


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("WRITEQ TD QUEUE('CSERR') FROM(REC)", "QUEUE('CSERR') has 5 characters; a name here has at most 4"),
        ("LINK PROGRAM('PAYROLLCALC')", "PROGRAM('PAYROLLCALC') has 11 characters; a name here has at most 8"),
        ("WRITEQ TD QUEUE('PAY     ') FROM(REC)", ""),
        ("WRITEQ TD QUEUE(REC) FROM(REC)", ""),
    ],
)
def test_a_literal_that_is_too_long_for_a_name_is_told(written, said):
    assert [text.partition(", so ")[0] for _word, text in too_long(command(f" EXEC CICS {written} END-EXEC"))] == [
        *([said] if said else [])
    ]


def test_what_programs_write_in_another_way_is_translated_too():
    """EXECUTE, LENGTH without OF, NOHANDLE twice, RESP of HANDLE CONDITION, two ADDRESS OF, ZEROES, MAPONLY."""
    assert command(" EXECUTE CICS SUSPEND END-EXEC").text == "SUSPEND"
    assert command(" EXEC CICS SUSPEND NOHANDLE NOHANDLE END-EXEC").text == "SUSPEND NOHANDLE"
    handled = command(" EXEC CICS HANDLE CONDITION QZERO(OVER) RESP(R) END-EXEC")
    assert (handled.text, handled.labels) == ("HANDLE CONDITION RESP(A1)", (("QZERO", 1),))
    assert command(" EXEC CICS SEND MAP('M1') MAPONLY END-EXEC").text == "SEND MAP(A1) MAPONLY"
    assert command(" EXEC CICS SEND MAP('M1') DATAONLY END-EXEC").written == ("'M1'", "M1O")
    text = translate(
        PROGRAM.format(
            " EXEC CICS WRITEQ TD QUEUE('A') FROM(REC) LENGTH(LENGTH REC) END-EXEC\n"
            " EXEC CICS ADDRESS CWA(ADDRESS OF A) TWA(ADDRESS OF B) END-EXEC\n"
            " EXEC CICS GETMAIN SET(P) FLENGTH(8) INITIMG(ZEROES) END-EXEC"
        ),
        "pay.cbl",
    ).text
    assert "BY CONTENT FUNCTION BYTE-LENGTH(REC) END-CALL" in text
    assert "SET ADDRESS OF A TO DFHEI-POINTER-1 SET ADDRESS OF B TO DFHEI-POINTER-2" in text
    assert "BY CONTENT 8 BY CONTENT 0 END-CALL" in text


@pytest.mark.parametrize(
    ("written", "made"),
    [
        ("REC", "DFHEIBLK DFHCOMMAREA REC"),
        ("DFHCOMMAREA REC", "DFHEIBLK DFHCOMMAREA REC"),
        ("DFHEIBLK REC", "DFHEIBLK DFHCOMMAREA REC"),
        ("DFHEIBLK", "DFHEIBLK DFHCOMMAREA"),
    ],
)
def test_the_eib_and_the_commarea_are_the_first_two_of_using(written, made):
    text = PROGRAM.replace("DIVISION.\n{}", f"DIVISION USING {written}.\n{{}}").format(" EXEC CICS RETURN END-EXEC.")
    translation = translate(text, "pay.cbl")
    assert f"PROCEDURE DIVISION USING {made}." in translation.text
    assert " ".join(translation.using) == made


def test_the_statement_behind_a_command_of_several_lines_keeps_its_line():
    text = translate(PROGRAM.format(" EXEC CICS\n SUSPEND\n END-EXEC\n MOVE 1 TO R."), "pay.cbl").text
    assert text.endswith('END-CALL\n#line 10 "pay.cbl"\n\n MOVE 1 TO R.\n')


def test_headers_declaratives_and_calls_are_read_to_their_end():
    """COMMON, RECORDING MODE V, DECLARATIVES before the labels, IN as a qualifier, and a program that follows."""
    source = (
        " IDENTIFICATION DIVISION.\n PROGRAM-ID. PAY COMMON.\n DATA DIVISION.\n FILE SECTION.\n"
        " FD F1 RECORDING MODE IS V.\n 01 REC PIC X(80).\n PROCEDURE DIVISION.\n DECLARATIVES.\n END DECLARATIVES.\n"
        " MAIN SECTION.\n EXEC CICS HANDLE CONDITION QZERO(MAIN) END-EXEC.\n CALL 'SUB' USING A IN B C OF D IN E.\n"
        " END PROGRAM PAY.\n IDENTIFICATION DIVISION.\n PROGRAM-ID. NEXT1.\n PROCEDURE DIVISION.\n P1.\n GOBACK.\n"
    )
    made = translate(source, "pay.cbl", paragraphs=True)
    assert "PROGRAM-ID. PAY COMMON." in made.text
    assert "FD F1 ." in made.text
    assert made.text.index("DFHEI-BRANCH") > made.text.index("END DECLARATIVES.")
    assert made.calls[0].written == ("A IN B", "C OF D IN E")
    assert made.paragraphs == ("MAIN",)
    assert made.following[0].paragraphs == ()
