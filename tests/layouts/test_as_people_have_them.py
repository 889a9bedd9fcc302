"""Copybooks as people have them: marks in columns 1 to 6, EXEC SQL INCLUDE, text after column 72, odd characters."""

from __future__ import annotations

import pytest

from tdqsim.errors import LayoutError
from tdqsim.layouts import load_copybook, parse_copybook


@pytest.mark.parametrize(
    "mark",
    ["1.006A", "01.021", "R12.01", "(C)001", "12-345", "1/2/24", "#12.34", "ABC.DE", "V1.2  ", "A,B   ", "+-+-+-", "'X'   "],
)  # fmt: skip
def test_columns_1_to_6_may_have_any_marks(mark):
    lines = [f"{mark} 01  REC.", f"{mark}     05  A  PIC X(3).", "           05  B  PIC 9(2).", f"{mark}* a remark"]
    layout = parse_copybook("\n".join(lines)).record()
    assert [(item.name, item.offset, item.length) for item in layout.fields] == [("A", 0, 3), ("B", 3, 2)]


def test_one_mark_does_not_make_the_other_lines_free_format():
    text = "000100 01  REC.\n1.006A     05 A PIC X.\n           05 B PIC X(2)."
    assert parse_copybook(text).record().length == 3


def test_free_format_stays_free_format():
    text = "01 REC.\n  05 A PIC X.\n  05 B PIC X(2).\n  05 LONG-NAME 1-2-3 PIC X."
    with pytest.raises(LayoutError, match="is not a clause"):
        parse_copybook(text)
    assert parse_copybook(text.replace(" 1-2-3", "")).record().length == 4


def test_a_message_names_the_mark_that_is_read_as_text():
    text = "01 REC.\n05 B PIC X.\n1.006A     05 A PIC X."
    with pytest.raises(
        LayoutError, match=r"read as free format, though line 3 has '1.006A' in columns 1 to 6: set source"
    ):
        parse_copybook(text)


def test_exec_sql_include_is_a_copy(tmp_path):
    (tmp_path / "MEMB.cpy").write_text("           05 M PIC X(4).\n")
    (tmp_path / "r.cpy").write_text(
        "       01 R.\n           05 A PIC X.\n           EXEC SQL INCLUDE MEMB END-EXEC.\n           05 B PIC X.\n"
    )
    assert [(item.name, item.offset) for item in load_copybook(tmp_path / "r.cpy").record().fields] == [
        ("A", 0),
        ("M", 1),
        ("B", 5),
    ]
    (tmp_path / "MEMB.cpy").unlink()
    with pytest.raises(LayoutError, match="EXEC SQL INCLUDE MEMB: "):
        load_copybook(tmp_path / "r.cpy")
    declared = "01 R. EXEC SQL DECLARE T TABLE (A CHAR(1)) END-EXEC. 05 A PIC X."
    assert parse_copybook(declared).record().length == 1


def test_a_period_after_column_72_is_named():
    text = "       01  R.\n" + "           05  A  PIC X(3)".ljust(79) + ".\n           05  B  PIC X.\n"
    with pytest.raises(LayoutError, match="nothing after column 72 is read, and line 2 has a period in column 80"):
        parse_copybook(text)


@pytest.mark.parametrize(("char", "shown"), [("\xa0", "X'A0'"), ("\0", "X'00'")])
def test_a_character_that_is_not_seen_is_shown(char, shown):
    with pytest.raises(LayoutError) as refused:
        parse_copybook(f"01 R. 05 A{char}PIC X.")
    assert shown in str(refused.value) or repr(char)[1:-1] in str(refused.value)
