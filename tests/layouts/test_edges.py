"""Edges that no other test comes to: sizes at their bound, what is left out, and refusals that name their place."""

from __future__ import annotations

import pytest

from tdqsim.errors import ConversionError, LayoutError
from tdqsim.layouts import copybook_library, load_layout, parse_copybook, parse_layout_yaml, parse_picture


def record(text, **options):
    return parse_copybook(text, **options).record()


def test_a_stray_period_says_nothing():
    assert record("01 R. . 05 A PIC X. . 05 B PIC 9(2).").length == 3


def test_a_field_has_the_usage_of_its_group_or_none():
    assert record("01 R. 05 G COMP-3. 10 A PIC 9(5) COMP-3. 10 B PIC 9(5).").length == 6
    assert record("01 R. 05 G COMP-3. 10 P POINTER. 10 B PIC 9(5).").length == 7
    with pytest.raises(LayoutError, match=r"1:24: 10 A: USAGE PACKED-DECIMAL is not that of its group, BINARY"):
        record("01 R. 05 G USAGE COMP. 10 A PIC 9(4) COMP-3.")


def test_the_indicator_column_is_named_with_what_stands_there():
    with pytest.raises(LayoutError, match=r":2:7: indicator: column 7 is 'Q'; blank, \*, /, D or - is allowed"):
        record("000100 01  R.\n000200Q    05 A PIC X(30).\n000300     05 B PIC X(30).\n", source_format="fixed")


@pytest.mark.parametrize(
    ("statement", "column"),
    [
        ("COPY M REPLACING .", 8),
        ("COPY M REPLACING ==A== ==B==.", 18),
        ("COPY M REPLACING ==A== BY", 18),
        ("COPY M REPLACING LEADING", 18),
    ],
)
def test_a_replacement_that_is_none_is_refused(statement, column):
    with pytest.raises(LayoutError, match=rf":1:{column}: .*expected ==text== BY ==text=="):
        parse_copybook(statement, library=lambda _name, _library: ("m.cpy", "01 R PIC X."))


def test_a_member_is_looked_up_in_its_library_first(tmp_path):
    (tmp_path / "LIB").mkdir()
    (tmp_path / "M.cpy").write_text("plain")
    (tmp_path / "LIB" / "m.CPY").write_text("of the library")
    (tmp_path / "EMPTY").mkdir()
    found = copybook_library(tmp_path / "EMPTY", tmp_path)
    assert found("M", "")[1] == "plain"
    assert found("M", "LIB")[1] == "of the library"
    assert found("M", "NONE")[1] == "plain"
    for outside in ("../" + tmp_path.name + "/LIB", "..", "LIB/../LIB"):
        assert found("M", outside)[1] == "plain"
    for number in range(10):
        for suffix in ("cbl", "cpy") if number % 2 else ("cpy", "cbl"):  # a folder may list them in any order
            (tmp_path / f"M{number}.{suffix}").write_text(suffix)
        assert found(f"M{number}", "")[1] == "cbl"


def test_records_of_a_copybook_and_what_renames_their_parts():
    book = parse_copybook("01 R. 05 A PIC X. 05 B PIC XX. 66 C RENAMES A THRU B. 77 N PIC 9. 01 S PIC X(5).")
    assert [each.length for each in book.records] == [3, 1, 5]
    alone = parse_copybook("05 A PIC X. 05 B PIC XX.")
    assert [each.length for each in alone.records] == [3]
    behind = parse_copybook("77 N PIC 9. 05 A PIC X. 05 B PIC XX. 01 S. 05 D PIC X(5). 66 C RENAMES D.")
    assert [each.length for each in behind.records] == [1, 3, 5]
    assert behind.record("S").value(b"\xc1" * 5, "C") == "AAAAA"


def test_the_longest_record():
    assert record("01 R. 05 A PIC X(65536) OCCURS 256.").length == 16_777_216
    with pytest.raises(LayoutError, match="05 B: the record becomes longer than 16777216 bytes"):
        record("01 R. 05 A PIC X(65536) OCCURS 256. 05 B PIC X.")


def test_codes_of_a_depending_field_are_given_for_tables_of_variable_length_only():
    layout = record("01 R. 05 K PIC X. 05 T PIC X OCCURS 0 TO 3 DEPENDING ON K. 05 F PIC X OCCURS 2. 05 A PIC X.")
    told = layout.with_occurs_counts({"T": {"A": 1, "B": 2}})
    page = {"A": b"\xc1", "B": b"\xc2", "other": b"\xe9"}
    assert [len(told.decode(page[code] + b"\xf1" * 6)["T"]) for code in page] == [1, 2, 3]
    for no_table in ("F", "A"):
        with pytest.raises(LookupError, match=f"{no_table} is not a table with DEPENDING ON"):
            layout.with_occurs_counts({no_table: {"A": 1}})


def test_a_counter_is_whole_and_not_in_a_table_of_its_own():
    for counter in ("05 N PIC 9V9.", "05 X OCCURS 2. 10 N PIC 9.", "05 N PIC 9 OCCURS 2."):
        with pytest.raises(LayoutError, match="N must be a whole number, not in a table that T is not in"):
            record(f"01 R. {counter} 05 T PIC X OCCURS 0 TO 3 DEPENDING ON N.")


@pytest.mark.parametrize(
    ("counter", "table"),
    [
        ("05 N POINTER.", ""),
        ("05 N. 10 M PIC 9.", ""),
        ("05 N COMP-1.", ""),
        ("05 G OCCURS 2. 10 N PIC 9 OCCURS 2.", "10"),
    ],
)
def test_what_cannot_count(counter, table):
    with pytest.raises(LayoutError, match="N must be a whole number"):
        record(f"01 R. {counter} {table or '05'} T PIC X OCCURS 0 TO 3 DEPENDING ON N.")


@pytest.mark.parametrize(
    ("names", "place"), [("A THRU B2", (0, 4)), ("A THRU B", (0, 4)), ("B THRU B2", (0, 4)), ("B2 THRU C", (2, 3))]
)
def test_what_renames_may_end_and_begin_where_its_first_item_does(names, place):
    """Neither end of the last item may come before that of the first one; it may be at the same place."""
    layout = record(
        f"01 R. 05 A PIC X(4). 05 B REDEFINES A. 10 B1 PIC XX. 10 B2 PIC XX. 05 C PIC X. 66 N RENAMES {names}."
    )
    assert (layout.field("N").offset, layout.field("N").length) == place


@pytest.mark.parametrize(
    ("first", "last"), [("B2", "A"), ("A", "B1"), ("C", "A")], ids=["begins before", "ends before", "both"]
)
def test_renames_goes_forward(first, last):
    with pytest.raises(LayoutError, match=f"{last} does not come after {first}"):
        record(
            "01 R. 05 A PIC X(4). 05 B REDEFINES A. 10 B1 PIC XX. 10 B2 PIC XX. 05 C PIC X. "
            f"66 N RENAMES {first} THRU {last}."
        )


def test_a_table_of_a_group_that_is_not_there_is_left_out():
    layout = record("01 R. 05 K PIC X. 05 G. 10 T PIC XX OCCURS 3. 05 H REDEFINES G PIC X(6).")
    written = layout.encode({"K": "A", "H": "abcdef"})
    assert written == bytes.fromhex("C1 81 82 83 84 85 86")


def test_how_long_a_picture_may_be():
    assert parse_picture("X(16777216)").length == 16_777_216
    with pytest.raises(LayoutError, match="16777217 positions; at most 16777216 are allowed"):
        parse_picture("X(16777217)")


@pytest.mark.parametrize(
    ("clauses", "largest"),
    [
        ("PIC 9(4) COMP", 65_535), ("PIC 9(5) COMP", 2_147_483_647), ("PIC 9(9) COMP", 4_294_967_295),
        ("PIC 9(5) COMP-5", 4_294_967_295), ("PIC S9(4) COMP", 32_767), ("PIC S9(9) COMP", 2_147_483_647),
    ],
)  # fmt: skip
def test_the_largest_binary_number_is_written_and_the_next_is_not(clauses, largest):
    layout = record(f"01 R. 05 A {clauses}.")
    assert layout.decode(layout.encode({"A": largest})) == {"A": largest}
    with pytest.raises(ConversionError):
        layout.encode({"A": largest + 1})


@pytest.mark.parametrize(("clauses", "least"), [("PIC S9(4) COMP", -32_768), ("PIC 9(4) COMP", 0)])
def test_the_least_binary_number_is_written_and_the_next_is_not(clauses, least):
    layout = record(f"01 R. 05 A {clauses}.")
    assert layout.decode(layout.encode({"A": least})) == {"A": least}
    with pytest.raises(ConversionError):
        layout.encode({"A": least - 1})


def test_zero_is_blank_in_national_digits_too():
    layout = record("01 R. 05 A PIC 9(2) NATIONAL BLANK WHEN ZERO.")
    assert layout.encode({"A": 0}) == bytes.fromhex("0020 0020")
    assert layout.encode({"A": 7}) == bytes.fromhex("0030 0037")


@pytest.mark.parametrize(
    ("number", "written"),
    [
        (1.0, "41100000"),
        (0.5, "40800000"),
        (-118.625, "C276A000"),
        (0.0, "00000000"),
        (1 - 2**-30, "41100000"),
        (16 - 2**-24, "42100000"),
    ],
)
def test_hexadecimal_floating_point_is_rounded_and_normalised(number, written):
    layout = record("01 R. 05 A COMP-1.").with_rules(floating_point="IBM")
    assert layout.encode({"A": number}).hex().upper() == written


@pytest.mark.parametrize(("suffix", "yaml"), [(".yaml", True), (".YML", True), (".cpy", False), ("", False)])
def test_the_name_of_a_file_says_which_form_a_layout_has(tmp_path, suffix, yaml):
    text = "layout: R\nfields:\n- {name: A, picture: X(3)}\n" if yaml else "01 Q PIC X. 01 R. 05 A PIC X(3)."
    file = tmp_path / f"layout{suffix}"
    file.write_text(text)
    layout = load_layout(file, record="" if yaml else "R", code_page="cp037")
    assert layout.decode(b"\xc1\xc2\xc3") == {"A": "ABC"}


@pytest.mark.parametrize(("word", "blank"), [("true", None), ("TRUE", None), ("false", 0)])
def test_a_flag_in_yaml_is_true_or_false(word, blank):
    form = "layout: R\nfields:\n- {name: A, picture: ZZ9, blank_when_zero: WORD}\n"
    layout = parse_layout_yaml(form.replace("WORD", word))
    assert layout.encode({"A": 0}) == (b"\x40\x40\x40" if blank is None else b"\x40\x40\xf0")
    with pytest.raises(LayoutError, match="'perhaps': must be true or false"):
        parse_layout_yaml(form.replace("WORD", "perhaps"))


def test_a_word_is_no_value_of_a_number():
    assert record("01 R. 05 A PIC 9(3) VALUE 7. 05 B PIC S9V9 VALUE -1.5. 05 C COMP-2 VALUE 1.5E+3.").length == 13
    for word in ("ABC", "1.2.3", "1EX", "1E", "--1", "+", "1.5E+-3"):
        with pytest.raises(LayoutError, match="VALUE"):
            record(f"01 R. 05 A PIC 9(3) VALUE {word}.")


def test_numbers_in_the_sequence_area_are_enough_for_a_level_in_the_indicator_column():
    assert record("000100 01  R.\n      05 A PIC X(2).\n").length == 2


def test_a_tab_goes_to_every_eighth_column_where_that_fits():
    assert record("\t01  R.\n\t    05 A PIC X(2).\n", source_format="fixed").length == 2


def test_the_largest_copybook_that_a_library_gives(tmp_path):
    most = 4 * 1024 * 1024
    (tmp_path / "MOST.cpy").write_bytes(b" " * most)
    (tmp_path / "MORE.cpy").write_bytes(b" " * (most + 1))
    assert len(copybook_library(tmp_path)("MOST", "")[1]) == most
    with pytest.raises(LayoutError, match=r"MORE\.cpy: larger than 4194304 bytes"):
        copybook_library(tmp_path)("MORE", "")


@pytest.mark.parametrize("option", ["code_page: nope", "floating_point: nope", "variable_size_occurs: nope"])
def test_an_option_of_a_layout_in_yaml_is_refused_with_its_file(option):
    with pytest.raises(LayoutError, match=r"^L\.yaml: .*'nope'"):
        parse_layout_yaml(f"{option}\nfields:\n- {{name: A, picture: X}}\n", file="L.yaml")


def test_the_code_page_that_a_layout_in_yaml_names_is_kept(tmp_path):
    file = tmp_path / "own.yaml"
    file.write_text("code_page: ascii\nfields:\n- {name: A, picture: X}\n")
    assert load_layout(file, code_page="1047").decode(b"A") == {"A": "A"}
    file.write_text("fields:\n- {name: A, picture: X}\n")
    assert load_layout(file, code_page="1047").decode(b"\xad") == {"A": "["}  # in 037 it is another letter


def test_a_byte_order_mark_is_no_word_of_a_copybook(tmp_path):
    book = tmp_path / "book.cpy"
    book.write_bytes(b"\xef\xbb\xbf       01  R.\r\n           COPY INNER.\r\n")
    (tmp_path / "INNER.cpy").write_bytes(b"\xef\xbb\xbf           05  A PIC X(4).\r\n")
    assert load_layout(book).length == 4


def test_a_folder_is_no_member(tmp_path):
    book = tmp_path / "book.cpy"
    book.write_text("       01  R.\n           COPY INNER.\n")
    (tmp_path / "INNER").mkdir()
    with pytest.raises(LayoutError, match=r"book\.cpy:2:12: COPY INNER: no member INNER"):
        load_layout(book)
    (tmp_path / "INNER.cpy").write_text("           05  A PIC X(4).\n")
    assert load_layout(book).length == 4


def test_a_member_that_cannot_be_read_is_refused_by_name(tmp_path):
    book = tmp_path / "book.cpy"
    book.write_text("       01  R.\n           COPY INNER.\n")
    (tmp_path / "INNER.cpy").symlink_to("nowhere")
    with pytest.raises(LayoutError, match=r"INNER\.cpy: .* \(copied at .*book\.cpy:2:12\)"):
        load_layout(book)
    (tmp_path / "INNER.cpy").unlink()
    (tmp_path / "INNER.cpy").write_bytes(b" " * (4 * 1024 * 1024 + 1))
    with pytest.raises(LayoutError, match=r"INNER\.cpy: larger than 4194304 bytes.* \(copied at"):
        load_layout(book)
