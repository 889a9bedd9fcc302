"""The collating sequence of programs, and the places that portability finds."""

from __future__ import annotations

from pathlib import Path

import pytest

from tdqsim import Region, define_tdqueue
from tdqsim.cobol import CobolError, CobolPrograms
from tdqsim.cobol.portability import differences
from tdqsim.errors import DefinitionError, UsageError

DATA = """\
       DATA DIVISION.
       WORKING-STORAGE SECTION.
       01  LETTERS PIC X(3) VALUE 'A1a'.
       01  DIGITS  PIC X(3) VALUE '1Aa'.
       01  SMALL   PIC X    VALUE 'a'.
       01  REC.
           05  R1 PIC X VALUE 'N'.
           05  R2 PIC X VALUE 'N'.
           05  R3 PIC X VALUE 'N'.
           05  R4 PIC X VALUE 'N'.
       01  GROUP-1 VALUE 'b1Ba'.
           05  T PIC X OCCURS 4.
       PROCEDURE DIVISION.
           IF LETTERS < DIGITS MOVE 'Y' TO R1 END-IF
           IF SMALL < 'A' MOVE 'Y' TO R2 END-IF
           IF LETTERS < HIGH-VALUES AND LETTERS > LOW-VALUES
              AND LETTERS > SPACES AND SMALL = 'a'
              MOVE 'Y' TO R3
           END-IF
           IF LETTERS IS ALPHABETIC-UPPER MOVE 'Y' TO R4 END-IF
           SORT T ASCENDING KEY T
           EXEC CICS WRITEQ TD QUEUE('OUT') FROM(REC) END-EXEC
           EXEC CICS WRITEQ TD QUEUE('OUT') FROM(GROUP-1) END-EXEC
           EXEC CICS RETURN END-EXEC.
"""
HEADS = {
    "nothing": "",
    "an empty division": "ENVIRONMENT DIVISION.",
    "another section": "ENVIRONMENT DIVISION.\nINPUT-OUTPUT SECTION.",
    "an empty section": "ENVIRONMENT DIVISION.\nCONFIGURATION SECTION.",
    "both computers": "ENVIRONMENT DIVISION.\nCONFIGURATION SECTION.\nSOURCE-COMPUTER. IBM-370.\nOBJECT-COMPUTER. IBM-370.",
    "no entries": "ENVIRONMENT DIVISION.\nCONFIGURATION SECTION.\nOBJECT-COMPUTER.\nSPECIAL-NAMES.",
    "special names": "ENVIRONMENT DIVISION.\nCONFIGURATION SECTION.\nSOURCE-COMPUTER. IBM.\nSPECIAL-NAMES.\n    C01 IS TOP-OF-FORM.",
}


DATA_ONLY = DATA.partition("SECTION.\n")[2]


def run(folder: Path, head: str, body: str = DATA, **options: str) -> list[bytes]:
    lines = ["IDENTIFICATION DIVISION.", "PROGRAM-ID. ORDERED.", *head.split("\n")]
    (folder / "ORDERED.cbl").write_text("".join(f"       {line}\n" for line in lines if line) + body)
    with Region([define_tdqueue(name="OUT", type="INTRA")]) as region:
        programs = CobolPrograms(region, sources=[folder], cache=folder / "compiled", **options)
        handle = region.start(programs.handler("ORDERED"))
        region.run()
        handle.result()
        return region.peek("OUT")


@pytest.mark.cobc
@pytest.mark.parametrize("head", HEADS)
def test_ebcdic_order_puts_small_letters_before_capitals_before_digits(tmp_path, head):
    assert run(tmp_path, HEADS[head], collating_sequence="EBCDIC") == [b"YYYN", b"abB1"]


@pytest.mark.cobc
def test_ascii_is_the_default_and_a_program_keeps_its_own_sequence(tmp_path):
    assert run(tmp_path, "") == [b"NNYN", b"1Bab"]
    head = HEADS["special names"].replace(
        "SPECIAL", "OBJECT-COMPUTER. IBM\n    PROGRAM COLLATING SEQUENCE IS OWN.\nSPECIAL"
    )
    own = head.replace("C01 IS TOP-OF-FORM", "ALPHABET OWN IS NATIVE")
    assert run(tmp_path, own, collating_sequence="EBCDIC") == [b"NNYN", b"1Bab"]


@pytest.mark.cobc
def test_a_program_may_declare_the_alphabet_and_have_an_item_of_its_name(tmp_path):
    head = HEADS["special names"].replace(
        "SPECIAL", "OBJECT-COMPUTER. IBM\n    PROGRAM COLLATING SEQUENCE IS OWN.\nSPECIAL"
    )
    declared = head.replace("C01 IS TOP-OF-FORM", "ALPHABET OWN IS EBCDIC")
    assert run(tmp_path, f"{declared}\nDATA DIVISION.\nWORKING-STORAGE SECTION.\n77 EBCDIC PIC X.", DATA_ONLY) == [
        b"YYYN",
        b"abB1",
    ]


@pytest.mark.cobc
def test_errors_name_the_lines_of_the_source(tmp_path):
    with pytest.raises(CobolError, match=r"ORDERED\.cbl:10: error: 'NOWHERE' is not defined"):
        run(
            tmp_path,
            HEADS["special names"] + "\nDATA DIVISION.\nPROCEDURE DIVISION.\n    MOVE 1 TO NOWHERE.",
            collating_sequence="EBCDIC",
        )


def test_other_sequences_are_refused(tmp_path):
    with Region([]) as region, pytest.raises(UsageError, match="'latin'; it may be ASCII, EBCDIC"):
        CobolPrograms(region, sources=[tmp_path], cache=tmp_path, collating_sequence="latin")
    (tmp_path / "region.yaml").write_text("cobol: {sources: [.], collating_sequence: LATIN}\n")
    with pytest.raises(DefinitionError, match="collating_sequence"):
        Region.from_directory(tmp_path)


@pytest.mark.cobc
def test_region_yaml_sets_the_sequence(tmp_path):
    run(tmp_path, "")
    (tmp_path / "defs.yaml").write_text(
        "group: G\ntdqueue:\n  - {name: OUT, type: INTRA}\ntransaction:\n  - {name: ORDR, program: ORDERED}\n"
    )
    (tmp_path / "region.yaml").write_text(
        "definitions: [defs.yaml]\ncobol: {sources: [.], cache: compiled, collating_sequence: ebcdic}\n"
    )
    with Region.from_directory(tmp_path) as region:
        region.start("ORDR")
        region.run()
        assert region.peek("OUT") == [b"YYYN", b"abB1"]


def test_portability_finds_the_places_whose_result_depends_on_the_code_page():
    text = """\
01 NAME PIC X(3). 01 OTHER PIC IS X(3). 01 N PIC 9. 01 TABLE-1 PIC X(256).
01 FLAG PIC X. 88 GOOD VALUE 'A' THRU 'Z'. 88 FEW VALUE 'A' THRU 'I'. 88 DIGIT VALUE '0' THRU '9'.
88 ANY-CHARACTER VALUE 'A' THRU '9' '{' THRU '€'. 88 NUMBERS VALUE 1 THRU 9.
     IF NAME (1:2) IS NOT LESS THAN OTHER CONTINUE END-IF
     IF N < 5 AND N >= N CONTINUE END-IF
     IF LOW-VALUES < NAME CONTINUE END-IF
     IF NAME = OTHER CONTINUE END-IF
     IF N > OTHER CONTINUE END-IF
     INSPECT NAME CONVERTING TABLE-1 TO NAME
     INSPECT NAME CONVERTING LOW-VALUES TO SPACES
     INSPECT NAME CONVERTING 'abc' TO 'ABC'
     INSPECT NAME CONVERTING X'00' TO X'40'
     SORT F ON ASCENDING KEY NAME.
"""
    assert [(each.place.line, each.kind) for each in differences(text, "x.cbl")] == [
        (2, "collation"),
        (3, "collation"),
        (3, "collation"),
        (4, "collation"),
        (8, "collation"),
        (9, "code page"),
        (12, "hexadecimal"),
        (13, "collation"),
    ]
