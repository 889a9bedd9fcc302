"""Sources as shops have them: fixed format with all its oddities, and functions that the compiler lacks."""

from __future__ import annotations

import shutil

import pytest

from tdqsim import Abend, Region
from tdqsim.cli import main
from tdqsim.cobol import CobolError, CobolPrograms, Options, compile_program
from tdqsim.cobol.compiler import expand
from tdqsim.cobol.margins import cut_off, without_margins

pytestmark = pytest.mark.cobc


def card(text: str, *, sequence: str = "", mark: str = " ", right: str = "") -> str:
    """One line of fixed format: sequence number, indicator, text, and what stands behind column 72."""
    line = f"{sequence:<6}{mark}{text}"
    assert len(line) <= 72
    return f"{line:<72}{right}\n"


def write(workshop, name: str, *lines: str) -> None:
    (workshop.folder / f"{name}.cbl").write_text("".join(lines))


def test_national_of_and_display_of_convert_between_code_pages(workshop):
    workshop.program(
        "NATL",
        """
        01 WS-EBC PIC X(4) VALUE X'C1C2C37B'.
        01 WS-ASC PIC X(4).
        01 WS-UTF PIC X(8).
        77 CCSID-EBC PIC 9(5) COMP VALUE 1140.
        77 CCSID-ASC PIC S9(8) COMP VALUE 819.
        """,
        """
        MOVE FUNCTION DISPLAY-OF (FUNCTION NATIONAL-OF
            (WS-EBC(1:4), CCSID-EBC) CCSID-ASC) TO WS-ASC
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(WS-ASC) END-EXEC
        MOVE FUNCTION NATIONAL-OF('AB') TO WS-UTF
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(WS-UTF) LENGTH(4) END-EXEC
        MOVE FUNCTION DISPLAY-OF(FUNCTION NATIONAL-OF('abcd'), 37)
          TO WS-ASC
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(WS-ASC) END-EXEC
        MOVE FUNCTION DISPLAY-OF(FUNCTION NATIONAL-OF('abcd'))(2:2)
          TO WS-ASC
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(WS-ASC) END-EXEC
        GOBACK.
        """,
    )
    workshop.run("NATL")
    assert workshop.out() == [b"ABC#", b"\0A\0B", "abcd".encode("cp037"), b"bc  "]


@pytest.mark.parametrize(
    ("called", "said"),
    [
        ("NATIONAL-OF('AB', 99999)", "CCSID 99999"),
        (f"CONCATENATE({'WS-ASC ' * 17})", "CONCATENATE has more than 16 arguments"),
    ],
)
def test_a_function_with_arguments_that_are_not_supported_is_asra(workshop, called, said):
    workshop.program("NOCCSID", "01 WS-ASC PIC X(4).", f"MOVE FUNCTION {called} TO WS-ASC\nGOBACK.")
    with pytest.raises(Abend, match=said) as met:
        workshop.run("NOCCSID")
    assert met.value.code == "ASRA"


def test_fixed_format_with_everything_that_cards_had(workshop):
    (workshop.folder / "OUTREC.cpy").write_text(
        card("01  :TAG:-REC.", sequence="000100", right="COPY0001")
        + card("    05  :TAG:-TEXT          PIC X(20).", sequence="000200", right="COPY0002")
    )
    write(
        workshop,
        "CARDS",
        card("IDENTIFICATION DIVISION.", sequence="000100", right="CARDS001"),
        card("PROGRAM-ID.    CARDS.", sequence="000200", right="CARDS002"),
        card("THIS IS A COMMENT WITH EXEC CICS IN IT", sequence="000300", mark="*"),
        card("ENVIRONMENT DIVISION.", sequence="000400"),
        card("CONFIGURATION SECTION.", sequence="000400"),
        card("SOURCE-COMPUTER. IBM-370.", sequence="000400"),
        card("DATA DIVISION.", sequence="000500"),
        card("WORKING-STORAGE SECTION.", sequence="000600"),
        card("01  LONG-TEXT PIC X(60) VALUE 'A LITERAL THAT IS CUT AT COLUMN SE", sequence="000700"),
        card("    'VENTY-TWO, AND ISN''T OVER'.", sequence="000800", mark="-"),
        card("COPY OUTREC REPLACING ==:TAG:== BY ==WS==.", sequence="000900"),
        card("PROCEDURE DIVISION.", sequence="001000", right="CARDS010"),
        card("MAIN-PARA.", sequence="001100"),
        card("    EXEC CICS WRITEQ TD QUEUE('OUT') FROM(LENGTH OF", sequence="", mark="D"),
        card("    move 'lower case' to ws-text", sequence="001200"),
        card("    if ws-text = 'lower case'", sequence="001300"),
        card("        exec cics", sequence="001400", right="CARDS014"),
        card("    A COMMENT INSIDE THE COMMAND", sequence="001500", mark="*"),
        card("             writeq td", sequence="001600"),
        card("             queue", sequence="001700"),
        card("                ('OUT')", sequence="001800"),
        card("", mark="/"),
        card("             from(ws-rec)", sequence="001900"),
        card("        end-exec", sequence="002000"),
        card("    else", sequence="002100"),
        card("        EXEC CICS ABEND ABCODE('NOPE') END-EXEC", sequence="002200"),
        card("    end-if.", sequence="002300"),
        card("    EXEC CICS WRITEQ TD QUEUE('OUT') FROM(LONG-TEXT) LENGTH(60)", sequence="002400", right="CARDS024"),
        card("         END-EXEC.", sequence="002500"),
        card("    EXEC CICS RETURN END-EXEC.", sequence="002600"),
    )
    workshop.run("CARDS")
    assert workshop.out()[0] == b"lower case".ljust(20)
    assert workshop.out()[1].rstrip() == b"A LITERAL THAT IS CUT AT COLUMN SEVENTY-TWO, AND ISN'T OVER"


def test_free_format_has_no_margins_in_the_program_and_its_copybooks(workshop):
    far = " " * 60
    (workshop.folder / "TEXTS.cpy").write_text(
        f"exec sql declare T table (ID integer not null, {far} NAME char(3)) end-exec.\n"
        f"01 texts pic x(3) {far} value 'abc'.\n"
    )
    write(
        workshop,
        "FREELY",
        "       >>SOURCE FORMAT IS FREE\n",
        "identification division.\nprogram-id. FREELY.\ndata division.\nworking-storage section.\n",
        "copy dfhaid.\nexec sql include TEXTS end-exec.\nprocedure division.\n",
        f"if eibaid = dfhenter or low-values {far} exec cics writeq td queue('OUT') from(texts) end-exec end-if\n",
        f"       >>SOURCE FORMAT IS FIXED\n{card('           GOBACK.', right='THE END!')}",
    )
    workshop.run("FREELY")
    assert workshop.out() == [b"abc"]


@pytest.mark.parametrize(
    "directive",
    [
        "       >>SOURCE FREE",
        "  >>source format is free",
        '      $SET SOURCEFORMAT"FREE"',
        ">>SET SOURCEFORMAT'VARIABLE'",
    ],
)
def test_text_after_column_72_is_ignored_in_fixed_format_only(directive):
    text = "\n".join(
        [f"{'000100 MOVE A TO B':<72}ignored", directive, *2 * ["x" * 90], "  >>SOURCE FIXED", "y" * 90]
    ).encode()
    lines = without_margins(text.split(b"\n"))
    assert [len(line) for line in lines] == [72, len(directive), 90, 90, 16, 72]
    assert [line for line, _ in cut_off(text)] == [1, 6]


def test_a_source_in_latin_1_keeps_its_bytes_and_its_messages_are_readable(workshop):
    lines = [
        "IDENTIFICATION DIVISION.", "PROGRAM-ID. UMLAUTS.", "DATA DIVISION.", "WORKING-STORAGE SECTION.",
        "01 A PIC X(3) VALUE 'äöü'.", "PROCEDURE DIVISION.",
        "    EXEC CICS WRITEQ TD QUEUE('OUT') FROM(A) END-EXEC",
        "    EXEC CICS WRITEQ TD QUEUE('ÄÖÜ') FROM('ß') END-EXEC", "    GOBACK.",
    ]  # fmt: skip
    (workshop.folder / "UMLAUTS.cbl").write_bytes("".join(map(card, lines)).encode("latin-1"))
    with pytest.raises(Abend, match="queue ÄÖÜ is not installed"):
        workshop.run("UMLAUTS")
    assert workshop.out() == ["äöü".encode("latin-1")]
    (workshop.folder / "WRONG.cbl").write_bytes(
        "".join(map(card, [*lines[:-1], "    MOVE 'x' TO ß."])).encode("latin-1")
    )
    with pytest.raises(CobolError, match=r"WRONG.cbl:9: error: 'ß' is not defined"):
        workshop.programs.program(workshop.folder / "WRONG.cbl")


def test_the_response_goes_to_items_of_any_usage(workshop):
    workshop.program(
        "RESPS",
        """
        01 GRP.
           05 R1 PIC S9(4) COMP OCCURS 3.
        77 R2 PIC S9(5) COMP-3.
        77 R3 PIC 9(4).
        77 I PIC 9 VALUE 2.
        01 SHOWN.
           05 S1 PIC 9(4).
           05 S2 PIC 9(4).
           05 S3 PIC 9(4).
        01 REC PIC X(4).
        """,
        """
        EXEC CICS READQ TD QUEUE('NONE') INTO(REC) RESP(R1(I)) RESP2(R3)
             END-EXEC
        MOVE R1(2) TO S1 MOVE R3 TO S3
        EXEC CICS READQ TD QUEUE('IN') INTO(REC) RESP(R2) END-EXEC
        MOVE R2 TO S2
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(SHOWN) END-EXEC
        EVALUATE TRUE
          WHEN R1 OF GRP(2) = DFHRESP(QIDERR) AND R2 = DFHRESP(QZERO)
            EXEC CICS RETURN END-EXEC
          WHEN OTHER
            EXEC CICS ABEND ABCODE('OTHR') END-EXEC
        END-EVALUATE
        GOBACK.
        """,
    )
    workshop.run("RESPS")
    assert workshop.out() == [b"004400230000"]


def test_a_copybook_may_have_the_name_of_its_program_and_an_item_that_of_a_record_format(workshop):
    (workshop.folder / "SAME.cpy").write_text(card("01  WS-SAME PIC X(4) VALUE 'SAME'."))
    write(
        workshop,
        "SAME",
        card("IDENTIFICATION DIVISION."),
        card("PROGRAM-ID. SAME."),
        card("ENVIRONMENT DIVISION."),
        card("INPUT-OUTPUT SECTION."),
        card("FILE-CONTROL."),
        card("    SELECT OUT-FILE ASSIGN TO OUTF."),
        card("DATA DIVISION."),
        card("FILE SECTION."),
        card("FD  OUT-FILE"),
        card("    RECORDING MODE IS F"),
        card("    LABEL RECORDS ARE STANDARD."),
        card("01  OUT-RECORD PIC X(80)."),
        card("WORKING-STORAGE SECTION."),
        card("COPY SAME."),
        card("01  GROUP-1."),
        card("    05  F PIC X VALUE ';'."),
        card("EXEC SQL INCLUDE SQLCA END-EXEC"),
        card("EXEC SQL INCLUDE SQLDA END-EXEC."),
        card("PROCEDURE DIVISION."),
        card("    MOVE F TO WS-SAME(4:1)"),
        card("    EXEC CICS WRITEQ TD QUEUE('OUT') FROM(WS-SAME) END-EXEC"),
        card("    EXEC CICS RETURN END-EXEC."),
    )
    workshop.run("SAME")
    assert workshop.out() == [b"SAM;"]


def test_items_may_have_names_that_only_gnucobol_reserves(workshop):
    names = (
        "CURSOR",
        "SCREEN",
        "X",
        "Y",
        "FILE-ID",
        "SECONDS",
        "PREVIOUS",
        "PRINTER",
        "NORMAL",
        "USER",
        "COLOR",
        "WAIT",
    )
    storage = "01 ALL-OF.\n" + "\n".join(f"   05 {name} PIC X VALUE '{name[0]}'." for name in names)
    moves = "\n".join(f"MOVE {name} TO X" for name in names)
    workshop.program(
        "NAMES", storage, f"{moves}\nEXEC CICS WRITEQ TD QUEUE('OUT') FROM(ALL-OF) LENGTH(12) END-EXEC\nGOBACK."
    )
    workshop.run("NAMES")
    assert workshop.out() == [b"CSWYFSPPNUCW"]


def test_names_of_intrinsic_functions_stay_reserved_for_them(workshop):
    workshop.program(
        "TURNED",
        "01 WS-TEXT PIC X(3) VALUE 'ABC'.\n01 WS-SIZE PIC 9.",
        "MOVE FUNCTION REVERSE(WS-TEXT) TO WS-TEXT.\nMOVE FUNCTION BYTE-LENGTH(WS-TEXT) TO WS-SIZE.\n"
        "EXEC CICS WRITEQ TD QUEUE('OUT') FROM(WS-TEXT) END-EXEC\n"
        "EXEC CICS WRITEQ TD QUEUE('OUT') FROM(WS-SIZE) END-EXEC\nGOBACK.",
    )
    workshop.run("TURNED")
    assert workshop.out() == [b"CBA", b"3"]


@pytest.mark.slow  # seconds of the compiler's
def test_a_program_of_eight_hundred_commands_compiles_and_runs(workshop):
    """GnuCOBOL 3.1 crashes, or hangs, over the source listing of such a program: none is asked for."""
    items = "\n".join(f"01 WS-{at} PIC X(4) VALUE '{at:04}'." for at in range(1600))
    commands = "\n".join(
        f"P{at}.\n    MOVE WS-{at} TO WS-0\n"
        f"    EXEC CICS WRITEQ TD QUEUE('OUT')\n         FROM(WS-{at}) END-EXEC\n"
        f"    IF WS-0 = '{at:04}' CONTINUE\n    ELSE MOVE WS-1 TO WS-0 END-IF."
        for at in range(1, 801)
    )
    workshop.program("LONG", items, f"{commands}\n    EXEC CICS RETURN END-EXEC.")
    workshop.run("LONG")
    assert workshop.out() == [f"{at:04}".encode() for at in range(1, 801)]


def test_nested_programs_use_the_eib_and_global_items_of_the_linkage_section(workshop):
    source = [
        "IDENTIFICATION DIVISION.", "PROGRAM-ID. OUTER.", "DATA DIVISION.", "WORKING-STORAGE SECTION.",
        "01 ARG PIC X(3) VALUE 'arg'.", "LINKAGE SECTION.", "01 GOT PIC X(3) GLOBAL.", "PROCEDURE DIVISION.",
        "    CALL 'MIDDLE' USING ARG",
        "    EXEC CICS WRITEQ TD QUEUE('OUT') FROM(ARG) END-EXEC",
        "    EXEC CICS RETURN END-EXEC.",
        "IDENTIFICATION DIVISION.", "PROGRAM-ID. MIDDLE.", "DATA DIVISION.", "LINKAGE SECTION.",
        "01 PASSED PIC X(3) GLOBAL.", "PROCEDURE DIVISION USING PASSED.",
        "    EXEC CICS GETMAIN SET(ADDRESS OF GOT) FLENGTH(3) INITIMG('g')",
        "    END-EXEC",
        "    EXEC CICS WRITEQ TD QUEUE('OUT') FROM(GOT) END-EXEC",
        "    CALL 'INNER'", "    GOBACK.",
        "IDENTIFICATION DIVISION.", "PROGRAM-ID. INNER.", "PROCEDURE DIVISION.",
        "    EXEC CICS WRITEQ TD QUEUE('NOPE') FROM(PASSED) NOHANDLE",
        "    END-EXEC",
        "    IF EIBRESP = DFHRESP(QIDERR) AND EIBCALEN = 0",
        "       MOVE 'yes' TO PASSED", "    END-IF", "    GOBACK.",
        "END PROGRAM INNER.", "END PROGRAM MIDDLE.", "END PROGRAM OUTER.",
    ]  # fmt: skip
    write(workshop, "OUTER", *map(card, source))
    workshop.run("OUTER")
    assert workshop.out() == [b"ggg", b"yes"]


def test_functions_need_no_keyword_with_a_repository_paragraph(workshop):
    source = [
        "IDENTIFICATION DIVISION.", "PROGRAM-ID. REPOS.", "ENVIRONMENT DIVISION.", "CONFIGURATION SECTION.",
        "REPOSITORY. FUNCTION ALL INTRINSIC.", "DATA DIVISION.", "WORKING-STORAGE SECTION.", "01 A PIC X(3) VALUE 'abc'.",
        "PROCEDURE DIVISION.", "    MOVE UPPER-CASE(A) TO A",
        "    EXEC CICS WRITEQ TD QUEUE('OUT') FROM(A) END-EXEC", "    GOBACK.",
    ]  # fmt: skip
    write(workshop, "REPOS", *map(card, source))
    workshop.run("REPOS")
    assert workshop.out() == [b"ABC"]


def test_the_length_of_a_variable_group_and_figurative_constants_as_arguments(workshop):
    workshop.program(
        "LENGTHS",
        """
        01 TAB.
           05 N PIC 9 VALUE 3.
           05 E OCCURS 0 TO 5 DEPENDING ON N PIC X(2).
        01 REC PIC X(10) VALUE '0123456789'.
        """,
        """
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(REC) LENGTH(LENGTH OF TAB) END-EXEC
        MOVE 0 TO N
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(REC) LENGTH(LENGTH OF TAB) END-EXEC
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(SPACES) LENGTH(1) END-EXEC
        EXEC CICS DELAY INTERVAL(ZERO) END-EXEC
        GOBACK.
        """,
    )
    workshop.run("LENGTHS")
    assert workshop.out() == [b"0123456", b"0", b" "]


@pytest.mark.parametrize("text", ["EXEC SQL SELECT A, B END-EXEC", "EXEC SQL INCLUDE SQLCA END-EXEC"])
def test_a_statement_in_a_literal_is_text(workshop, text):
    workshop.program("TEXTS", f"01 A PIC X(40) VALUE '{text}'.", "EXEC CICS WRITEQ TD QUEUE('OUT') FROM(A) END-EXEC.")
    workshop.run("TEXTS")
    assert workshop.out() == [text.encode().ljust(40)]


def test_copy_in_a_command_is_an_option_and_no_copy_statement(workshop):
    """In the program and in a copybook, with and without a blank before the parenthesis, at the end of a line."""
    asked = []

    def answer(options, _level):
        asked.append(sorted(options))

    (workshop.folder / "BLOCK.cpy").write_text(
        card("    EXEC CICS INQUIRE PROGRAM('A') COPY(WS-N)") + card("    END-EXEC.")
    )
    workshop.programs.verbs.update({"ISSUE": answer, "INQUIRE PROGRAM": answer, "CSD COPY": answer})
    workshop.program(
        "COPIES",
        "01 WS-N PIC S9(8) COMP.\n01 WS-T PIC X(4) VALUE 'COPY'.",
        """
        EXEC CICS ISSUE COPY TERMID(WS-T) CTLCHAR('C') END-EXEC
        EXEC CICS CSD COPY
            RESTYPE(WS-N) AS('COPY') END-EXEC
        EXEC CICS INQUIRE PROGRAM('A') COPY (WS-N) END-EXEC
        EXEC CICS INQUIRE PROGRAM('A') COPY
            (WS-N) END-EXEC.
        COPY BLOCK.
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(WS-T) END-EXEC
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM('EXEC CICS COPY') END-EXEC
        EXEC CICS RETURN END-EXEC.
        """,
    )
    workshop.run("COPIES")
    assert asked == [
        ["COPY", "CTLCHAR", "ISSUE", "TERMID"], ["AS", "COPY", "CSD", "RESTYPE"], *3 * [["COPY", "INQUIRE", "PROGRAM"]]
    ]  # fmt: skip
    assert workshop.out() == [b"COPY", b"EXEC CICS COPY"]


@pytest.mark.cobc
def test_a_program_is_compiled_once_wherever_it_is(tmp_path):
    """The cache has a module by the contents of its files; what fails names the files of each folder."""
    for folder in ("one", "two/deeper"):
        place = tmp_path / folder
        (place / "copy").mkdir(parents=True)
        (place / "copy" / "ITEM.cpy").write_text("       01  P PIC S9(3) COMP-3 VALUE 0.\n")
        (place / "DIVS.cbl").write_text(
            "       IDENTIFICATION DIVISION.\n       PROGRAM-ID. DIVS.\n       DATA DIVISION.\n"
            "       WORKING-STORAGE SECTION.\n           COPY ITEM.\n       PROCEDURE DIVISION.\n"
            "           DIVIDE 1 BY P GIVING P\n           GOBACK.\n"
        )
        with Region() as region:
            programs = CobolPrograms(region, sources=[place], copybooks=[place / "copy"], cache=tmp_path / "cache")
            handle = region.start(programs.handler("DIVS"))
            region.run()
        assert f"{place / 'DIVS.cbl'}:7: decimal-divide exception" in str(handle.abend.cause)
        assert str(place / "DIVS.cbl") in programs.module("DIVS").symbols.sources
    assert len(list((tmp_path / "cache").iterdir())) == 1


@pytest.mark.cobc
def test_an_error_of_the_compiler_names_the_file_as_it_is(tmp_path):
    source = tmp_path / "BAD.cbl"
    source.write_text(
        "       IDENTIFICATION DIVISION.\n       PROGRAM-ID. BAD.\n       PROCEDURE DIVISION.\n           MOVE 1 TO NONE.\n"
    )
    with pytest.raises(CobolError) as caught:
        compile_program(source, Options(), tmp_path / "cache")
    assert f"{source}:4: error: 'NONE' is not defined" in str(caught.value)


def _problems(folder, text):
    """What the compiler says of a source BAD.cbl, with / for the folder."""
    (folder / "BAD.cbl").write_text(text)
    with pytest.raises(CobolError) as caught:
        compile_program(folder / "BAD.cbl", Options(copybooks=(folder / "copy",)), folder / "cache")
    return [each.replace(str(folder), "") for each in caught.value.problems]


@pytest.mark.cobc
def test_each_copybook_names_others_and_the_first_folder_and_the_suffix_of_copybooks_come_first(tmp_path):
    first, last = tmp_path / "first", tmp_path / "last"
    named = {"OUTERA": "INNERA", "OUTERB": "INNERB", "INNERA": "DEEPA", "INNERB": "DEEPB"}
    for folder in (last, first):
        folder.mkdir()
    for at, (name, other) in enumerate(named.items()):
        ((last, first)[at % 2] / f"{name}.cpy").write_text(f"       COPY {other}.\n")
    for folder, suffix, size in ((last, "cpy", 1), (first, "cbl", 2), (first, "cpy", 3)):
        (folder / f"DEEPA.{suffix}").write_text(f"       01 T-A PIC X({size}).\n")
    (last / "DEEPB.cob").write_text("       01 T-B PIC X(4).\n")
    source = tmp_path / "NAMES.cbl"
    source.write_text(
        "       IDENTIFICATION DIVISION.\n       PROGRAM-ID. NAMES.\n       DATA DIVISION.\n"
        "       WORKING-STORAGE SECTION.\n       COPY OUTERA.\n       COPY OUTERB.\n"
    )
    text = expand(source, Options(copybooks=(first, last)))
    assert [line.split()[-1] for line in text.split("\n") if " PIC " in line] == ["X(3).", "X(4)."]


def test_a_copybook_that_is_missing_is_told_with_the_folders(tmp_path):
    assert _problems(tmp_path, OPTION.format("ASKTIME").replace("ITEM", "NONE")) == [
        "/BAD.cbl:5: error: there is no copybook NONE in , /copy; name its folder (--copybooks, or in region.yaml)"
    ]


@pytest.mark.cobc
def test_free_format_without_its_directive_is_told_with_the_cure(tmp_path):
    cure = (
        "read in fixed format; a program in free format has '>>SOURCE FORMAT IS FREE', from column 8, in its first line"
    )
    problems = _problems(tmp_path, "identification division.\n")
    assert problems == ["/BAD.cbl:1: error: invalid indicator 'f' at column 7", f"/BAD.cbl: {cure}"]


OPTION = """\
       IDENTIFICATION DIVISION.
       PROGRAM-ID. OPTS.
       DATA DIVISION.
       WORKING-STORAGE SECTION.
           COPY ITEM.
       PROCEDURE DIVISION.
           EXEC CICS {} END-EXEC
           GOBACK.
"""


@pytest.mark.cobc
@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        ("READQ TD QUEUE('Q') INTO(D) LENGHT(N)", 1, "LENGHT is not an option of READQ; did you mean LENGTH?"),
        ("READ FILE('F') INTO(D) RIDFLD(D) XRBA", 0, "OPTS.cbl:7: not simulated: "),
        ("READQ TD QUEUE('Q') INTO(D) LENGTH(N)", 0, "OPTS.cbl: OPTS, 1 commands"),
    ],
)  # fmt: skip
def test_check_tells_a_misspelt_option_from_one_that_is_not_simulated(tmp_path, capsys, command, code, said):
    """region.yaml names the folders of sources and copybooks."""
    for folder in ("region", "src", "copy"):
        (tmp_path / folder).mkdir()
    (tmp_path / "region" / "region.yaml").write_text("cobol: {sources: [../src], copybooks: [../copy]}\n")
    (tmp_path / "copy" / "ITEM.cpy").write_text("       01  D PIC X(8).\n       01  N PIC S9(4) COMP.\n")
    (tmp_path / "src" / "OPTS.cbl").write_text(OPTION.format(command))
    assert main(["cobol", "check", str(tmp_path / "region")]) == code
    assert said in capsys.readouterr().out


@pytest.mark.cobc
def test_compile_takes_the_folders_of_region_yaml_and_refuses_a_misspelt_option(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "copy").mkdir()
    (tmp_path / "src").mkdir()
    (tmp_path / "region.yaml").write_text("cobol: {sources: [src], copybooks: [copy]}\n")
    (tmp_path / "copy" / "ITEM.cpy").write_text("       01  D PIC X(8).\n       01  N PIC S9(4) COMP.\n")
    for name, command in (("ONE", "ASKTIME"), ("TWO", "READQ TD QUEUE('Q') INTO(D) LENGHT(N)"), ("WEBS", "WEB OPEN")):
        (tmp_path / "src" / f"{name}.cbl").write_text(OPTION.format(command).replace("OPTS", name))
    assert main(["cobol", "compile", str(tmp_path)]) == 1
    source = tmp_path / "src"
    mistake = "EXEC CICS READQ TD QUEUE('Q') INTO(D) LENGHT(N): LENGHT is not an option of READQ; did you mean LENGTH?"
    assert capsys.readouterr().out.splitlines() == [
        f"{source / 'ONE.cbl'}: ONE compiled",
        f"{source / 'TWO.cbl'}:7: error: {mistake}",
        f"{source / 'TWO.cbl'}: TWO compiled",
        f"{source / 'WEBS.cbl'}: WEBS compiled",
    ]


MEETING = """\
#!/bin/sh
# cobc that does not begin with one program before it has been asked for two
case " $* " in *" -E "*)
    touch "{place}/asked-$$"
    for _ in $(seq 1200); do
        [ "$(ls {place}/asked-* | wc -l)" -ge 2 ] && exec {cobc} "$@"
        sleep 0.05
    done
    echo "no other program was compiled meanwhile" >&2
    exit 1
esac
exec {cobc} "$@"
"""


@pytest.mark.cobc
def test_the_programs_of_a_regions_transactions_are_compiled_at_the_same_time(tmp_path, monkeypatch):
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "cobc").write_text(MEETING.format(place=tmp_path, cobc=shutil.which("cobc")))
    (tmp_path / "bin" / "cobc").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")
    (tmp_path / "region.yaml").write_text("cobol: {sources: [.], cache: cache}\ndefinitions: [defs.yaml]\n")
    names = ("ONE", "TWO")
    (tmp_path / "defs.yaml").write_text(
        "group: G\ntransaction: [{name: ONE, program: ONE}, {name: TWO, program: TWO}]\n"
    )
    for name in names:
        text = OPTION.replace("           COPY ITEM.\n", "").format("ASKTIME").replace("OPTS", name)
        (tmp_path / f"{name}.cbl").write_text(text)
    with Region.from_directory(tmp_path) as region:
        handles = [region.start(name) for name in names]
        region.run()
        assert [handle.result() for handle in handles] == [None, None]


def test_a_copybook_that_has_changed_or_has_another_before_it_is_compiled_again(tmp_path):
    """In one process, which looks at no file that has not changed. CBL and PROCESS may be several lines."""
    copy, first = tmp_path / "copy", tmp_path / "first"
    source = tmp_path / "COPIES.cbl"
    source.write_text(
        "       CBL APOST\n       PROCESS NODYNAM\n       IDENTIFICATION DIVISION.\n       PROGRAM-ID. COPIES.\n"
        "       DATA DIVISION.\n       WORKING-STORAGE SECTION.\n       COPY SIZES.\n       PROCEDURE DIVISION.\n"
        "           MOVE 'A' TO T.\n"
    )
    copy.mkdir()
    first.mkdir()
    options = Options(copybooks=(first, copy))

    def size() -> int:
        symbols = compile_program(source, options, tmp_path / "cache").symbols
        return next(item.size for item in symbols.items if item.name == "T")

    (copy / "SIZES.cpy").write_text("       01 T PIC X(4).\n")
    assert [size(), size()] == [4, 4]
    (copy / "SIZES.cpy").write_text("       01 T PIC X(12).\n")
    assert size() == 12
    (first / "SIZES.cpy").write_text("       01 T PIC X(7).\n")
    assert size() == 7
    made = compile_program(source, options, tmp_path / "cache")
    (tmp_path / "sizes.cpy").write_text("       01 T PIC X(9).\n")
    assert size() == 9
    (tmp_path / "sizes.cpy").unlink()
    again = compile_program(source, options, tmp_path / "cache")
    (tmp_path / "OTHER.cbl").touch()
    assert compile_program(source, options, tmp_path / "cache") is again
    assert (again.path, again.symbols) == (made.path, made.symbols)
