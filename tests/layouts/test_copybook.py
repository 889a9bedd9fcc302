from __future__ import annotations

import sys
from decimal import Decimal

import pytest

from tdqsim.errors import ConversionError, LayoutError
from tdqsim.layouts import copybook_library, load_copybook, merge_copybooks, parse_copybook
from tdqsim.layouts.copybook import read_copybook
from tests.rules import expect_rule

ONE_CLAUSE = [
    ("text", "05 A PIC X(10).", 10),
    ("alphabetic", "05 A PIC A(7).", 7),
    ("zoned", "05 A PIC 9(5).", 5),
    ("signed zoned", "05 A PIC S9(5)V99.", 7),
    ("sign trailing separate", "05 A PIC S9(5) SIGN IS TRAILING SEPARATE CHARACTER.", 6),
    ("sign leading", "05 A PIC S9(5) SIGN LEADING.", 5),
    ("comp halfword", "05 A PIC S9(4) COMP.", 2),
    ("comp fullword", "05 A PIC S9(9) COMP.", 4),
    ("comp doubleword", "05 A PIC S9(18) USAGE IS COMPUTATIONAL.", 8),
    ("binary", "05 A PIC 9(5) BINARY.", 4),
    ("comp-1", "05 A COMP-1.", 4),
    ("comp-2", "05 A USAGE COMP-2.", 8),
    ("comp-3", "05 A PIC S9(7)V99 COMP-3.", 5),
    ("packed-decimal", "05 A PIC 9(4) PACKED-DECIMAL.", 3),
    ("comp-4", "05 A PIC S9(8) COMP-4.", 4),
    ("comp-5", "05 A PIC S9(4) COMP-5.", 2),
    ("comp-6", "05 A PIC 9(5) COMP-6.", 3),
    ("pointer", "05 A POINTER.", 4),
    ("national", "05 A PIC N(5).", 10),
    ("dbcs", "05 A PIC G(5) DISPLAY-1.", 10),
    ("P positions", "05 A PIC 9(3)PPP.", 3),
    ("edited", "05 A PIC ZZ,ZZ9.99-.", 10),
    ("occurs", "05 A PIC X(3) OCCURS 4 TIMES.", 12),
    ("nested occurs", "05 G OCCURS 3. 10 A PIC X(2) OCCURS 2. 10 B PIC 9.", 15),
    ("occurs without its counter", "05 A PIC X(3) OCCURS 2 TO 4.", 12),
    ("occurs depending on", "05 N PIC 9. 05 A PIC X(3) OCCURS 1 TO 4 DEPENDING ON N.", 13),
    ("redefines", "05 A PIC X(8). 05 B REDEFINES A. 10 C PIC 9(4). 10 D PIC X(2).", 8),
    ("sync", "05 A PIC X. 05 B PIC S9(9) COMP SYNC.", 8),
    ("filler and value list", "05 FILLER PIC X(3) VALUE 'ABC'. 05 A PIC 9. 88 LOW VALUE 1 2 3 THRU 5, 9.", 4),
]


@pytest.mark.parametrize(("clause", "text", "length"), ONE_CLAUSE, ids=[row[0] for row in ONE_CLAUSE])
def test_one_clause_gives_the_right_length(clause, text, length):
    assert parse_copybook(text).record().length == length


def offsets(text, **options):
    return {".".join(item.path): (item.offset, item.length) for item in parse_copybook(text, **options).record().walk()}


COMBINED = """\
000100 01  CUSTOMER-RECORD.                                             CUST0001
000200*    the whole of it, with what parsers stumble over
000300     05  CUST-ID              PIC 9(8).                           CUST0003
000400     05  CUST-NAME.                                               CUST0004
000500         10 FIRST-NAME        PIC X(10).
000600         10 LAST-NAME         PIC X(15).
000700     05  BALANCE              PIC S9(9)V99 COMP-3.
000800     05  FLAGS                PIC X.
000900         88 ACTIVE            VALUE 'A' 'B'.
001000         88 CLOSED            VALUES ARE 'C' THRU 'E'.
001100     05  HALF                 PIC S9(4) COMP.
001200     05  NATIVE               PIC 9(9) COMP-5.
001300     05  SEPARATED         PIC S9(3)V9 SIGN IS LEADING SEPARATE.
001400     05  ADDRESS-PART.
001500         10 STREET            PIC X(20).
001600         10 CITY              PIC X(10).
001700     05  ADDRESS-CODED REDEFINES ADDRESS-PART.
001800         10 ADDRESS-CODE      PIC 9(6).
001900         10 FILLER            PIC X(24).
002000     05  ITEM-COUNT           PIC 9(2).
002100     05  ITEMS OCCURS 0 TO 5 TIMES DEPENDING ON ITEM-COUNT
002200           INDEXED BY IX.
002300         10 SKU               PIC X(4).
002400         10 QTY               PIC S9(3) COMP-3.
"""


def test_the_combined_copybook():
    found = offsets(COMBINED)
    assert found["CUST-ID"] == (0, 8)
    assert found["CUST-NAME.LAST-NAME"] == (18, 15)
    assert found["BALANCE"] == (33, 6)
    assert found["HALF"] == (40, 2)
    assert found["NATIVE"] == (42, 4)
    assert found["SEPARATED"] == (46, 5)
    assert found["ADDRESS-CODED.ADDRESS-CODE"] == (51, 6)
    assert found["ITEM-COUNT"] == (81, 2)
    assert found["ITEMS.QTY"] == (87, 2)
    layout = parse_copybook(COMBINED).record()
    assert (layout.name, layout.length, layout.minimum_length) == ("CUSTOMER-RECORD", 83 + 5 * 6, 83)
    assert [condition.name for condition in layout.field("FLAGS").conditions] == ["ACTIVE", "CLOSED"]
    assert layout.field("FLAGS").holds("CLOSED", "D")
    assert not layout.field("FLAGS").holds("active", "C")


@pytest.mark.rule("LAY-PACKED-LENGTH")
def test_packed_lengths():
    for digits, length in [(1, 1), (2, 2), (3, 2), (7, 4), (18, 10), (31, 16)]:
        assert parse_copybook(f"01 A PIC S9({digits}) COMP-3.").record().length == length


@pytest.mark.rule("LAY-SYNC-ALIGNMENT")
def test_slack_bytes_go_before_the_group_whose_first_item_is_aligned():
    found = offsets("01 R. 05 M PIC X(5). 05 N PIC XX. 05 O. 10 P COMP PIC S9(6) SYNC.")
    assert found["O"] == (8, 4)
    found = offsets("01 R. 05 B PIC X(5). 05 C. 10 D PIC XX. 10 E COMP PIC S9(6) SYNC.")
    assert found["C"] == (5, 7)
    assert found["C.E"] == (8, 4)
    found = offsets(
        "01 R. 05 A PIC X. 05 B COMP-2 SYNC. 05 C PIC X. 05 D PIC 9(4) COMP SYNC. 05 E PIC X. 05 F COMP-1 SYNC."
    )
    assert [found[name][0] for name in "BDF"] == [8, 18, 24]
    found = offsets("01 R. 05 A PIC X. 05 B PIC 9(4) COMP SYNC. 05 C PIC X. 05 D PIC 9(5) COMP SYNC.")
    assert (found["B"], found["D"]) == ((2, 2), (8, 4))
    assert offsets("01 R. 05 A PIC X. 05 B PIC 9(10) COMP SYNC.")["B"] == (4, 8)
    for group, item in (("COMP", "SYNC"), ("SYNC", "COMP")):  # the item has one of them from its group
        assert offsets(f"01 R. 05 A PIC X. 05 G {group}. 10 B PIC S9(9) {item}.")["G"] == (4, 4)


@pytest.mark.rule("LAY-SYNC-OCCURS")
def test_every_occurrence_of_occurs_is_aligned_alike():
    found = offsets(
        """01 WORK-RECORD. 05 WORK-CODE PIC X. 05 COMP-TABLE OCCURS 10 TIMES. 10 COMP-TYPE PIC X.
           10 COMP-PAY PIC S9(4)V99 COMP SYNC. 10 COMP-HOURS PIC S9(3) COMP SYNC. 10 COMP-NAME PIC X(5)."""
    )
    assert found["COMP-TABLE"] == (1, 16)
    assert found["COMP-TABLE.COMP-PAY"][0] == 4
    found = offsets("01 R. 05 G OCCURS 2. 10 A PIC X(5). 10 B REDEFINES A PIC S9(8) COMP SYNC. 05 Z PIC X.")
    assert (found["G"], found["Z"]) == ((0, 5), (10, 1))  # what redefines another item is aligned as that item is


def test_usage_and_sign_of_a_group_hold_for_what_is_in_it():
    found = offsets(
        "01 R. 05 G COMP-3. 10 A PIC S9(3). 10 B PIC 9(5). 05 H SIGN TRAILING SEPARATE. 10 C PIC S9. 10 D PIC 9."
    )
    assert (found["G.B"], found["H.C"], found["H.D"]) == ((2, 3), (5, 2), (7, 1))


def test_pointers_have_four_bytes_or_eight():
    assert parse_copybook("01 A POINTER.", pointer_size=8).record().length == 8
    assert parse_copybook("01 A PROCEDURE-POINTER.").record().length == 8


def test_renames():
    layout = parse_copybook(
        "01 R. 05 A PIC 99. 05 B PIC X(3). 05 C PIC X. 66 AB RENAMES A THRU B. 66 N RENAMES A."
    ).record()
    record = "42xyz!".encode("cp037")
    assert (layout.value(record, "AB"), layout.value(record, "N")) == ("42xyz", 42)
    assert (layout.field("AB").offset, layout.field("AB").length) == (0, 5)


def test_renames_behind_a_table_of_variable_length():
    """What is renamed is where the record has it; its names may be qualified."""
    layout = parse_copybook(
        "01 R. 05 N PIC 9. 05 T PIC XX OCCURS 0 TO 3 DEPENDING ON N. 05 G. 10 A PIC 99. 05 H. 10 A PIC X."
        " 66 M RENAMES A OF G OF R. 66 W RENAMES A IN G THRU A OF H."
    ).record()
    for record in ("1xx42!", "042!"):
        assert [layout.value(record.encode("cp037"), name) for name in "MW"] == [42, "42!"]


def test_free_format_tabs_and_comments():
    text = "*> a comment\n01 R.\n\t05 A PIC X. *> not the end 05 Z PIC X.\n* another\n\t05 B PIC 9(4)\n\t\tCOMP.\n"
    assert offsets(text) == {"A": (0, 1), "B": (1, 2)}


def test_source_format_directive():
    assert offsets(">>SOURCE FORMAT IS FREE\n01 R.\n05 A PIC X.\n") == {"A": (0, 1)}


def test_what_stands_behind_column_72_is_no_text():
    assert offsets("       01  R.\n           05  A PIC X(4).".ljust(95) + "GARBAGE.\n") == {"A": (0, 4)}


def test_continued_literal_and_word():
    first = "           05  A PIC X(60) VALUE 'this literal goes on over the"
    text = (
        "       01  R.\n"
        + first.ljust(72)
        + "\n      -    ' end of the line'.\n           05  LONG-N\n      -    AME PIC X(3).\n"
    )
    layout = parse_copybook(text, source_format="fixed").record()
    expected = "this literal goes on over the".ljust(72 - first.index("'") - 1) + " end of the line"
    assert layout.field("A").values[0][0] == expected
    assert layout.field("LONG-NAME").length == 3


def test_columns_can_be_moved():
    text = "AB* no\nAB 01 R.\nAB 05 A PIC X(7).   X\n"
    assert offsets(text, source_format="fixed", columns=(2, 20)) == {"A": (0, 7)}


def test_text_may_begin_in_the_indicator_column_next_to_a_number():
    stars, right = "*" * 72, "12345"
    lines = [f"{stars}", "01234501  R.", "000001   05 A PIC X(4).", "000002*  05 NO PIC X.", "000003   05 B PIC 9."]
    assert offsets("\n".join(line.ljust(72) + right for line in lines)) == {"A": (0, 4), "B": (4, 1)}
    assert offsets("34501  R.\n001   05 A PIC X(4).", source_format="fixed", columns=(3, 50)) == {"A": (0, 4)}


def test_text_from_column_7_with_names_behind_column_72_is_fixed():
    lines = [
        "      01  R.",
        "         05 A PIC X(4).",
        "      * a comment",
        "          * another",
        "         05 B PIC 9.",
    ]
    wanted = {"A": (0, 4), "B": (4, 1)}
    assert offsets("\n".join(line.ljust(72) + "CARD0001" for line in lines)) == wanted
    assert offsets("\n".join(lines)) == wanted
    far = "      01  R.\n      05 A PIC X(4)".ljust(90) + "COMP.\n"
    assert offsets(far) == {"A": (0, 4)}, "free: what stands behind column 72 is text"


def test_marks_in_the_sequence_area_are_no_text():
    text = "000100 01  R.\n           05 A PIC X(4).\nV5         05 B PIC 9.\n      05 C PIC X."
    assert offsets(text) == {"A": (0, 4), "B": (4, 1), "C": (5, 1)}


def test_tabs_are_narrow_where_wide_ones_would_push_text_out():
    far = " " * 41
    lines = ["       01  R.", f"           05  A{far}PIC X(4).", f"\t\t     05  B{far}PIC X(25).", "\t\t05 C\tPIC 9."]
    assert offsets("\n".join(lines)) == {"A": (0, 4), "B": (4, 25), "C": (29, 1)}
    assert offsets("       01 R.\n\t05 A\tPIC X(4).\n") == {"A": (0, 4)}


def test_a_name_may_stand_twice_in_a_group_while_nothing_refers_to_it():
    layout = parse_copybook("01 R. 05 A PIC X. 05 a PIC 9. 05 A-2 PIC XX. 05 G. 10 A PIC X.").record()
    assert [item.key for item in layout.walk()] == ["A", "a-2", "A-2-2", "G", "A"]
    assert layout.decode("x7yzw".encode("cp037")) == {"A": "x", "a-2": 7, "A-2-2": "yz", "G": {"A": "w"}}
    assert [layout.field(name).offset for name in ("A", "A-2", "G.A")] == [0, 1, 4]


@pytest.mark.parametrize("line_end", ["15", "0D25", "0D0A", ""])
def test_a_copybook_downloaded_in_binary(tmp_path, line_end):
    lines = ["       01  R.", "           COPY MEMBER.", "           05  B PIC 9(4)."]
    end = bytes.fromhex(line_end)
    path, member = tmp_path / "book.cpy", tmp_path / "MEMBER.cpy"
    path.write_bytes(b"".join(line.ljust(72 if end else 80).encode("cp037") + end for line in lines))
    member.write_bytes("           05  A PIC X(7).".ljust(80).encode("cp037") + end)
    assert [(item.name, item.offset) for item in load_copybook(path).record().walk()] == [("A", 0), ("B", 7)]


def test_sections_exec_sql_and_listing_words_are_passed_over():
    text = """\
       EJECT
           EXEC SQL DECLARE T TABLE ( A CHAR(3) NOT NULL ) END-EXEC.
       WORKING-STORAGE SECTION.
       01  R EXTERNAL.
           05  A PIC X(3).
"""
    assert offsets(text) == {"A": (0, 3)}


def test_several_records_are_named_or_taken_as_one():
    book = parse_copybook("01 A. 05 X PIC X(3). 01 B. 05 Y PIC X(5). 77 C PIC 9.")
    assert [layout.name for layout in book.records] == ["A", "B", "C"]
    assert book.record("b").length == 5
    assert [(item.name, item.offset) for item in book.whole.fields] == [("A", 0), ("B", 3), ("C", 8)]
    with pytest.raises(LayoutError, match="more than one record; it has A, B, C"):
        book.record()


def library(members):
    def resolve(name, library_name):
        if name.upper() not in members:
            raise LookupError(f"no member {name}")
        return f"{name}.cpy", members[name.upper()]

    return resolve


@pytest.mark.parametrize(
    ("statement", "member", "name"),
    [
        ("COPY M.", "05 A PIC X.", "A"),
        ("COPY M REPLACING ==:TAG:== BY ==CUST==.", "05 :TAG:-ID PIC X.", "CUST-ID"),
        ("COPY M REPLACING LEADING ==OLD== BY ==NEW==.", "05 OLD-ID PIC X.", "NEW-ID"),
        ("COPY M REPLACING TRAILING ==-X== BY ==-Y==.", "05 AB-X PIC X.", "AB-Y"),
        ("COPY M REPLACING AA BY BB.", "05 AA PIC X.", "BB"),
        ("COPY M OF LIB SUPPRESS REPLACING ==AA PIC X== BY ==CC PIC X==.", "05 AA PIC X.", "CC"),
        ("REPLACE ==AA== BY ==DD==. 05 AA PIC X. REPLACE OFF.", "", "DD"),
    ],
)
def test_copy_and_replace(statement, member, name):
    layout = parse_copybook(f"01 R. {statement}", library=library({"M": member})).record()
    assert [item.name for item in layout.fields] == [name]


def test_copy_looks_beside_the_file(tmp_path):
    (tmp_path / "inner.CPY").write_text("05 A PIC X(4).")
    (tmp_path / "outer.cpy").write_text("01 R. COPY INNER.")
    assert load_copybook(tmp_path / "outer.cpy").record().length == 4
    with pytest.raises(LookupError):
        copybook_library(tmp_path)("../outer", "")


@pytest.mark.parametrize(
    ("statement", "asked"),
    [("COPY M.", ("M", "")), ("COPY M OF LIB.", ("M", "LIB")), ("COPY 'M' IN 'LIB' SUPPRESS.", ("M", "LIB"))],
)
def test_copy_asks_for_the_member_of_the_library_that_it_names(statement, asked):
    seen = []

    def resolve(*names):
        seen.append(names)
        return "M.cpy", "05 A PIC X."

    assert parse_copybook(f"01 R. {statement}", library=resolve).record().length == 1
    assert seen == [asked]


def test_a_member_that_copy_names_is_read_as_utf_8(tmp_path):
    (tmp_path / "INNER.cpy").write_bytes("05 FILLER PIC X(4) VALUE 'Köln'. 05 A PIC X.".encode())
    (tmp_path / "outer.cpy").write_text("01 R. COPY INNER.")
    layout = load_copybook(tmp_path / "outer.cpy").record()
    assert layout.encode({"A": "x"}) == "Kölnx".encode("cp037")
    assert "Köln" in read_copybook(tmp_path / "INNER.cpy")


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ("01 R.\n05 A PIC X(3", 2, 10, "PICTURE"),
        ("01 R.\n05 A PIC Q.", 2, 10, "PICTURE 'Q'"),
        ("01 R.\n05 A PIC X(3) USAGE COMP-8.", 2, 21, "COMP-8"),
        ("01 R.\n05 A PIC X\n05 B PIC X.", 3, 1, "is the period before it missing"),
        ("01 R.\n51 A PIC X.", 2, 1, "level number"),
        ("01 R.\n05 A PIC X. BOO.", 2, 13, "expected a level number"),
        ("01 R.\n05 A PIC X PIC X.", 2, 12, "twice"),
        ("01 R.\n05 A PIC X OCCURS 3 TO 2.", 2, 12, "OCCURS"),
        ("01 R.\n05 A PIC X VALUE 'abc.", 2, 18, "closing quote"),
        (
            "01 R.\n05 N PIC 9.\n05 N PIC 9.\n05 T PIC X OCCURS 1 TO 3\nDEPENDING ON N.",
            4,
            1,
            "OCCURS DEPENDING ON: 05 T: there is more than one N",
        ),
        ("01 R.\n05 A PIC X SIGN LEADING.", 2, 1, "SIGN"),
        ("01 R.\n05 A PIC X BLANK ZERO.", 2, 1, "BLANK WHEN ZERO"),
        ("01 R.\n05 A PIC 9 JUST.", 2, 1, "JUSTIFIED"),
        ("01 R.\n05 A PIC S9 COMP-6.", 2, 1, "COMP-6"),
        ("01 R.\n05 A PIC X(20) COMP-3U.", 2, 1, "at most 38 digits"),
        ("01 R.\n05 A PIC X COMP-3.", 2, 1, "USAGE"),
        ("01 R.\n05 A PIC X\n", 2, 1, "closing period"),
        ("01 R.\nCOPY M.", 2, 1, "COPY M"),
        ("01 R.\n05 A PIC X(9999999) OCCURS 9.", 2, 1, "becomes longer than"),
        ("88 A VALUE 1.", 1, 1, "needs an item before"),
        ("01 R.\n05 A PIC X.\n66 B RENAMES C.", 3, 1, "RENAMES"),
        ("01 R.\n05 G OCCURS 2. 10 A PIC X.\n66 B RENAMES A.", 3, 1, "A is a record, a table or in one"),
        (
            "01 R. 05 N PIC 9. 05 G.\n10 T PIC X OCCURS 1 TO 3 DEPENDING ON N.\n66 B RENAMES G.",
            3,
            1,
            "RENAMES: 66 B: T",
        ),
        ("", 1, 1, "no field"),
    ],
)
def test_an_error_names_line_column_and_clause(text, line, column, words):
    with pytest.raises(LayoutError) as caught:
        parse_copybook(text, file="BOOK")
    assert str(caught.value).startswith(f"BOOK:{line}:{column}: ")
    assert words in str(caught.value)


@pytest.mark.rule(
    "LAY-BINARY-TOO-LONG",
    "LAY-ODO-MISSING",
    "LAY-GROUP-PICTURE",
    "LAY-ELEMENTARY-PICTURE",
    "LAY-REDEFINES-TARGET",
    "LAY-REDEFINES-FOLLOWS",
    "LAY-TWO-SIGNS",
)
def test_clauses_that_do_not_fit_are_refused():
    expect_rule("LAY-BINARY-TOO-LONG", parse_copybook, "01 A PIC 9(19) COMP.")
    expect_rule("LAY-ODO-MISSING", parse_copybook, "01 R. 05 A PIC X OCCURS 1 TO 3 DEPENDING ON N. 05 N PIC 9.")
    expect_rule("LAY-GROUP-PICTURE", parse_copybook, "01 R PIC X. 05 A PIC X.")
    expect_rule("LAY-ELEMENTARY-PICTURE", parse_copybook, "01 R. 05 A.")
    expect_rule("LAY-REDEFINES-TARGET", parse_copybook, "01 R. 05 A PIC X. 05 G. 10 B REDEFINES A PIC X.")
    for first in ("01 B REDEFINES A PIC X.", "01 B REDEFINES A. 05 C PIC X.", "05 B REDEFINES A PIC X."):
        expect_rule("LAY-REDEFINES-TARGET", parse_copybook, first)
    expect_rule("LAY-REDEFINES-FOLLOWS", parse_copybook, "01 R. 05 A PIC X. 05 B PIC X. 05 C REDEFINES A PIC X.")
    for picture in ("+9(8)+", "-9(3).99-", "+ZZ9CR", "-(4)9DB"):
        expect_rule("LAY-TWO-SIGNS", parse_copybook, f"01 R. 05 A PIC {picture}.")


def test_redefines_may_follow_each_other_and_name_each_other():
    layout = parse_copybook(
        "01 R. 05 A PIC X(4). 05 B REDEFINES A PIC 9(3). 05 C REDEFINES B PIC X. 05 D PIC X."
    ).record()
    assert [(item.name, item.offset, item.redefines) for item in layout.fields] == [
        ("A", 0, None), ("B", 0, ("A",)), ("C", 0, ("B",)), ("D", 4, None)
    ]  # fmt: skip


def test_one_sign_may_float_or_be_repeated():
    for picture, digits in (("+(4)", 3), ("-(3)9.99", 5), ("ZZ9.99-", 5), ("+9(8)", 8)):
        assert parse_copybook(f"01 R. 05 A PIC {picture}.").record().fields[0].digits == digits


@pytest.mark.parametrize("tag", ["CIDMOD", "@AB001", "*CR12 ", "000100", "  77", "X"])
def test_a_line_of_a_tag_only_does_not_turn_fixed_format_off(tag):
    text = f"       01  R.\nAB0001     05  A PIC X(3).\n{tag}\n{'AB0002     05  B PIC X.':72}NOTE1234\n"
    assert [item.name for item in parse_copybook(text).record().fields] == ["A", "B"]


@pytest.mark.parametrize("tag", ["@AB001", "#00012", "$X-001", "CR-017", "@A", "AB0001"])
def test_a_tag_before_an_entry_does_not_turn_fixed_format_off(tag):
    text = f"       01  R.\n{f'{tag:6}     05  A PIC X(3).':72}NOTE1234\n{tag}\n           05  B PIC X.\n"
    assert [item.name for item in parse_copybook(text).record().fields] == ["A", "B"]


@pytest.mark.parametrize("first", ["       01  R.", "000100 01  R."])
@pytest.mark.parametrize("tag", ["*CR12 ", "*CR012", "*A    "])
def test_a_tag_that_begins_with_a_star_is_no_comment(first, tag):
    text = f"{first}\n           05  A PIC X(3).\n{tag}     05  B PIC X(4).\n*CR013* NOTE\n"
    assert [item.name for item in parse_copybook(text).record().fields] == ["A", "B"]


def test_a_comment_of_free_format_stays_one():
    text = "01 R.\n*CR12  05 A PIC X.\n05 B PIC X.\n"
    assert [item.name for item in parse_copybook(text).record().fields] == ["B"]


@pytest.mark.parametrize("line", ["05 B.", "COMP."])
def test_a_short_line_that_is_an_entry_is_free_format(line):
    with pytest.raises(LayoutError, match=":2:1:"):
        parse_copybook(f"       01 R. 05 A PIC X.\n{line}\n")


def test_a_clause_may_follow_a_picture_without_a_blank():
    layout = parse_copybook("01 R. 05 A PIC S9(6)USAGE COMP-3. 05 B PIC S9(4)comp. 05 C PIC X(2)VALUE 'AB'.").record()
    assert [(item.length, str(item.usage)) for item in layout.fields] == [
        (4, "PACKED-DECIMAL"), (2, "BINARY"), (2, "DISPLAY")
    ]  # fmt: skip


@pytest.mark.rule("LAY-BINARY-LITTLE")
def test_comp_9_has_its_low_byte_first_and_begins_with_one_byte():
    layout = parse_copybook(
        "01 R. 05 A PIC 9(2) COMP-9. 05 B PIC S9(3) COMP-9. 05 C PIC 9(9) COMPUTATIONAL-9. 05 D PIC 9(1) COMP-9."
    ).record()
    record = bytes.fromhex("C8 FEFF 01000080 07")
    assert [item.length for item in layout.fields] == [1, 2, 4, 1]
    assert layout.decode(record) == {"A": 200, "B": -2, "C": 0x80000001, "D": 7}
    assert layout.encode(layout.decode(record)) == record


def test_binary_numbers_of_more_digits_than_a_compiler_takes():
    text = "01 R. 05 A PIC S9(19) COMP. 05 B PIC 9(20)V99 COMP-9. 05 C PIC S9(38) COMP."
    layout = parse_copybook(text, long_binary=True).record()
    assert [item.length for item in layout.fields] == [9, 10, 16]
    values = {"A": -(10**18), "B": Decimal("12345678901234567890.12"), "C": 1 - 10**38}
    record = (
        (-(10**18)).to_bytes(9, "big", signed=True)
        + (1234567890123456789012).to_bytes(10, "little")
        + (1 - 10**38).to_bytes(16, "big", signed=True)
    )
    assert layout.decode(record) == values
    assert layout.encode(values) == record
    with pytest.raises(ConversionError, match="does not fit"):
        layout.encode(values | {"A": 10**19})
    with pytest.raises(ConversionError, match="more digits"):
        layout.decode((10**19).to_bytes(9, "big", signed=True) + record[9:])


@pytest.mark.parametrize(
    "entry",
    [
        "05 F-{n} PIC X.",
        "05 F PIC X.",
        "05 R-{n} REDEFINES A PIC 9.",
        "05 T-{n} PIC X OCCURS 1 TO 3 DEPENDING ON N OF A.",
        "05 G-{n}. 10 N PIC 9. 10 T PIC X OCCURS 1 TO 3 DEPENDING ON N OF G-{n}.",
        "05 G-{n}. 10 N PIC 9. 10 T PIC X OCCURS 1 TO 3 DEPENDING ON N.",
    ],
)
def test_work_grows_with_the_fields_and_not_with_their_square(entry):
    small, large = (
        lines_run(parse_copybook, "01 R. 05 A. 10 N PIC 9.\n" + "\n".join(entry.format(n=n) for n in range(size)))
        for size in (50, 200)
    )
    assert large < 4.5 * small


def lines_run(call, *args):
    """How many lines of Python the call runs."""
    count = 0

    def trace(_frame, event, _arg):
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call(*args)
    finally:
        sys.settrace(before)
    return count


def test_a_member_that_copies_itself_is_refused():
    with pytest.raises(LayoutError, match="nested more than 16 deep"):
        parse_copybook("COPY M.", library=library({"M": "COPY M."}))


def growing(last):
    """Twelve members, each of which copies the next one ten times, down to ``last``."""
    members = {f"M{depth}": f"COPY M{depth + 1}.\n" * 10 for depth in range(12)}
    return library(members | {"M12": last})


@pytest.mark.parametrize(
    ("text", "last", "message"),
    [
        pytest.param("COPY M0.", "* nothing\n", r"M\d+.cpy:\d+:1: COPY M\d+: .* 5000 COPY statements", id="empty members"),
        pytest.param("01 R.\nCOPY M9.", "05 F PIC X.\n" * 1000, r"M12.cpy:\d+:1: more than 1000000 words", id="words"),
        pytest.param(
            "01 R.\nCOPY M10.", f"05 F PIC X VALUE\n'{'x' * 60000}'.\n" * 5, r"M12.cpy:\d+:.* 16777216 characters",
            id="characters",
        ),
        pytest.param(
            "01 R.\nCOPY M10.\nCOPY L REPLACING ==A== BY ==" + "B " * 500 + "==.", "X\n" * 9900, r"L.cpy:\d+:1: more than 1000000 words",
            id="what REPLACING puts in",
        ),
        pytest.param(
            "COPY M10.\nREPLACE ==:A:== BY ==" + "B" * 5000 + "==.\nCOPY P.", f"'{'x' * 160000}'\n", r"P.cpy:\d+:1: more than 16777216 char",
            id="parts of words",
        ),
    ],
)  # fmt: skip
def test_what_grows_by_copy_is_bounded(text, last, message):
    resolve = growing(last)
    more = library({"L": "A\n" * 300, "P": ":A::A:\n" * 300})
    with pytest.raises(LayoutError, match=message):
        parse_copybook(text, library=lambda *name: (more if name[0] in "LP" else resolve)(*name), source_format="free")


def test_a_member_is_looked_up_once():
    asked = []

    def resolve(name, library_name):
        asked.append(name)
        return name, "05 :T:-A PIC X."

    text = "01 R. COPY M REPLACING ==:T:== BY ==P==. COPY M REPLACING ==:T:== BY ==Q==."
    layout = parse_copybook(text, library=resolve).record()
    assert [item.name for item in layout.fields] == ["P-A", "Q-A"]
    assert asked == ["M"]


@pytest.mark.parametrize(
    "pair",
    [
        "==A{0}== BY ==B{0}==",
        "==A{0} PIC== BY ==B{0} PIC==",
        "LEADING ==A{0}-== BY ==B{0}-==",
        "==(A{0})== BY ==B{0}==",
    ],
)
def test_many_pairs_of_replacing_cost_a_word_no_more(pair):
    def text(pairs):
        fields = "".join(f"05 F{number} PIC X.\n" for number in range(200))
        return f"REPLACE {' '.join(pair.format(number) for number in range(pairs))}.\n01 R.\n{fields}"

    few, many = (lines_run(parse_copybook, text(pairs)) for pairs in (50, 100))
    assert many < 1.5 * few


def test_the_first_pair_that_fits_counts():
    text = "REPLACE ==:A:== BY ==X== ==:A:-B== BY ==Y== ==C== BY ==D== ==C D== BY ==E== LEADING ==F== BY ==G== ==FF== BY ==H==."
    layout = parse_copybook(f"{text} 01 R. 05 :A:-B PIC X. 05 C PIC X. 05 FF PIC X.").record()
    assert [item.name for item in layout.fields] == ["X-B", "D", "GF"]


TWO_COUNTERS = "01 R. 05 G. 10 N PIC 9. 05 H. 10 N PIC 9. 05 T PIC X OCCURS 1 TO 3 DEPENDING ON {}."


@pytest.mark.rule("LAY-ODO-AMBIGUOUS")
def test_a_counter_whose_name_fits_several_fields():
    expect_rule("LAY-ODO-AMBIGUOUS", parse_copybook, TWO_COUNTERS.format("N"))
    with pytest.raises(LayoutError, match="N is ambiguous: N OF G OF R or N OF H OF R"):
        parse_copybook(TWO_COUNTERS.format("N"))
    for name in ("N OF G", "N IN G", "N OF G OF R"):
        assert parse_copybook(TWO_COUNTERS.format(name)).record().decode("23ab".encode("cp037"))["T"] == ["a", "b"]
    near = parse_copybook("01 R. 05 G. 10 N PIC 9. 05 H. 10 N PIC 9. 10 I. 15 T PIC X OCCURS 1 TO 3 DEPENDING ON N.")
    assert near.record().decode("12ab".encode("cp037"))["H"]["I"]["T"] == ["a", "b"]
    last = parse_copybook(TWO_COUNTERS.format("N"), nearest_counter=True).record()
    assert last.decode("12ab".encode("cp037"))["T"] == ["a", "b"]


def test_the_table_of_offsets():
    rows = parse_copybook(COMBINED).record().table()
    row = next(row for row in rows if row.name == "ITEMS")
    assert (row.offset, row.position, row.end, row.occurs) == (83, 84, 113, "0 TO 5 DEPENDING ON ITEM-COUNT")
    row = next(row for row in rows if row.name == "ADDRESS-CODED")
    assert (row.redefines, row.usage) == ("ADDRESS-PART", "")


@pytest.mark.parametrize("words", ["FALSE 'N'", "WHEN SET TO FALSE IS 'N'", "WHEN FALSE 'N'"])
def test_what_set_to_false_moves_is_no_value_of_the_condition(words):
    layout = parse_copybook(f"01 R. 05 A PIC X. 88 Y VALUE 'Y' 'J' {words}. 05 B PIC X.").record()
    assert layout.field("A").conditions[0].values == (("Y", None), ("J", None))
    with pytest.raises(LayoutError, match=r":1:\d+: VALUE: after WHEN SET TO, FALSE is allowed"):
        parse_copybook("01 R. 05 A PIC X. 88 Y VALUE 'Y' WHEN SET TO B.")


def test_records_that_redefine_each_other_share_bytes_when_taken_as_one():
    book = parse_copybook("01 A. 05 X PIC XX. 01 B. 05 Y PIC X(3). 01 C REDEFINES B. 05 Z PIC 9(4).")
    assert [(item.name, item.offset) for item in book.whole.fields] == [("A", 0), ("B", 2), ("C", 2)]
    assert [(record.name, record.length) for record in book.records] == [("A", 2), ("B", 3), ("C", 4)]
    assert book.whole.decode("ab1234".encode("cp037")) == {"A": {"X": "ab"}, "B": {"Y": "123"}, "C": {"Z": 1234}}


def test_records_can_be_left_out():
    book = parse_copybook("01 H. 05 X PIC XX. 01 A. 05 G. 10 Y PIC X(3). 01 B. 05 Z PIC 9(4). 01 T. 05 E PIC X.")
    assert [item.name for item in book.without().fields] == ["H", "A", "B", "T"]
    inner = book.without("h", "T")
    assert inner.length == 7
    assert inner.decode("abc1234".encode("cp037")) == {"A": {"G": {"Y": "abc"}}, "B": {"Z": 1234}}
    assert book.without("H", "A", "T").name == "B"
    shared = parse_copybook(
        "01 H PIC X(4). 01 H2 REDEFINES H PIC X(3). 01 I PIC X(2). 01 A. 05 Y PIC X(3). 01 B. 05 Z PIC 9(4)."
    )
    assert [(item.name, item.offset) for item in shared.without("H", "H2", "I").walk()][1::2] == [("Y", 0), ("Z", 3)]
    with pytest.raises(LayoutError, match="no record 'Q'"):
        book.without("Q")
    with pytest.raises(LayoutError, match="no record is left"):
        book.without("H", "A", "B", "T")
    needy = parse_copybook("01 H. 05 N PIC 9. 01 A REDEFINES H. 05 T PIC X. 01 B. 05 Z PIC X.")
    with pytest.raises(LayoutError, match="field A needs H, which is left out"):
        needy.without("H")


def test_copybooks_are_merged_as_kinds_of_one_record():
    texts = ["01 A. 05 N PIC 9. 05 T PIC X OCCURS 1 TO 3 DEPENDING ON N.", "01 B. 05 X PIC 99. 05 Y REDEFINES X PIC XX.",
             "01 C PIC X(5)."]  # fmt: skip
    book = merge_copybooks([parse_copybook(text) for text in texts])
    assert [record.name for record in book.records] == ["A", "B", "C"]
    assert [(item.name, item.offset, item.redefines) for item in book.whole.fields] == [
        ("A", 0, None), ("B", 0, ("A",)), ("C", 0, ("A",)),
    ]  # fmt: skip
    values = book.whole.decode("31234".encode("cp037"))
    assert values == {"A": {"N": 3, "T": ["1", "2", "3"]}, "B": {"X": 31, "Y": "31"}, "C": "31234"}
    assert book.whole.field("B.Y").redefines == ("B", "X")
    assert book.whole.decode("11234".encode("cp037"))["A"] == {"N": 1, "T": ["1"]}


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        ([], "no copybook to merge"),
        (["01 A PIC X.", "01 a PIC 9."], "more than one of the copybooks has a record a"),
        (["01 A PIC X.", "01 B PIC X. 01 C PIC X."], "B, C follow each other"),
    ],
)
def test_copybooks_that_cannot_be_merged(texts, words):
    with pytest.raises(LayoutError, match=words):
        merge_copybooks([parse_copybook(text) for text in texts])


def steps(fields: int) -> int:
    """How many lines of Python, and calls, it takes to parse a copybook of so many fields."""
    text = "01 R.\n" + "".join(
        f"  05 G-{at}. 10 F-{at} PIC S9(5)V99 COMP-3. 10 H-{at} REDEFINES F-{at} PIC X(4).\n" for at in range(fields)
    )
    count = 0

    def seen(*_: object) -> None:
        nonlocal count
        count += 1

    sys.setprofile(seen)
    try:
        parse_copybook(text).record()
    finally:
        sys.setprofile(None)
    return count


def test_the_work_of_parsing_grows_with_the_number_of_fields() -> None:
    steps(10)  # what is made once
    assert steps(100) < 2.2 * steps(50)
