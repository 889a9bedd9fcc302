from __future__ import annotations

import os
import re
from decimal import Decimal
from pathlib import Path

import pytest

from tdqsim.errors import ConversionError, LayoutError
from tdqsim.layouts import load_layout_yaml, parse_copybook, parse_layout_yaml
from tests.rules import expect_rule

ODO = """01 R. 05 N PIC 9. 05 T OCCURS 0 TO 3 TIMES DEPENDING ON N. 10 A PIC X. 10 B PIC 9(2). 05 Z PIC X(2)."""


def ebcdic(text):
    return text.encode("cp037")


@pytest.mark.rule("LAY-ODO-SHIFT")
def test_what_follows_a_table_of_variable_length_moves():
    layout = parse_copybook(ODO).record()
    record = ebcdic("2x01y02zz")
    values = {"N": 2, "T": [{"A": "x", "B": 1}, {"A": "y", "B": 2}], "Z": "zz"}
    assert layout.decode(record) == values
    assert layout.encode(values) == record
    assert layout.encode({"N": 0, "T": [], "Z": "zz"}) == ebcdic("0zz")
    assert layout.encode(values | {"Z": "ab"}, base=record) == ebcdic("2x01y02ab")


def test_a_table_can_always_take_its_maximum():
    layout = parse_copybook(ODO).record().with_rules(variable_size_occurs="max_size")
    record = ebcdic("1x01y02z03zz")
    values = layout.decode(record)
    assert values == {"N": 1, "T": [{"A": "x", "B": 1}], "Z": "zz"}
    assert layout.encode(values, base=record) == record
    assert layout.minimum_length == layout.length == 12
    assert len(layout.encode(values)) == 12


@pytest.mark.rule("LAY-ODO-BOUNDS")
@pytest.mark.parametrize(("parse", "text"), [
    (parse_copybook, "01 R. 05 N PIC 9. 05 T PIC X OCCURS 3 TO {} DEPENDING ON N."),
    (parse_layout_yaml, "fields: [{{name: N, picture: 9}}, {{name: T, picture: X, occurs: {{minimum: 3, maximum: {}, depending_on: N}}}}]"),
])  # fmt: skip
def test_the_minimum_of_a_table_of_variable_length_is_below_its_maximum(parse, text):
    parse(text.format(4))
    expect_rule("LAY-ODO-BOUNDS", parse, text.format(3))


@pytest.mark.rule("LAY-ODO-RANGE")
@pytest.mark.parametrize(("record", "text"), [
    ("9x01y02z03zz", "field N X'F9': T has 1 to 3 occurrences, not 9 at offset 0"),
    ("0x01y02z03zz", "field N X'F0': T has 1 to 3 occurrences, not 0 at offset 0"),
    ("9xx1y02z03zz", "field N X'F9': T has 1 to 3 occurrences, not 9 at offset 0"),
])  # fmt: skip
def test_a_number_of_occurrences_that_the_table_does_not_allow_is_an_error(record, text):
    layout = parse_copybook(ODO.replace("0 TO 3", "1 TO 3")).record()
    expect_rule("LAY-ODO-RANGE", layout.decode, ebcdic(record))
    with pytest.raises(ConversionError, match=f"^{re.escape(text)}$"):
        layout.decode(ebcdic(record))
    assert len(layout.decode(ebcdic(record), corrupt="null")["T"]) == 3


def test_a_wrong_number_of_occurrences_is_named_where_the_counter_is():
    layout = parse_copybook(
        "01 R. 05 M PIC 9. 05 S PIC X OCCURS 0 TO 2 DEPENDING ON M. 05 N PIC 9. 05 T PIC 9 OCCURS 0 TO 3 DEPENDING ON N."
    ).record()
    with pytest.raises(ConversionError, match=r"^field N X'F4': T has 0 to 3 occurrences, not 4 at offset 2$"):
        layout.decode(ebcdic("1a4123"))


def test_tables_in_tables():
    layout = parse_copybook(
        "01 R. 05 G OCCURS 2. 10 N PIC 9. 10 T PIC X OCCURS 0 TO 3 DEPENDING ON N. 05 Z PIC X."
    ).record()
    record = ebcdic("2ab1cz")
    values = layout.decode(record)
    assert values == {"G": [{"N": 2, "T": ["a", "b"]}, {"N": 1, "T": ["c"]}], "Z": "z"}
    assert layout.encode(values) == record


@pytest.mark.parametrize("count", [1, 3])
def test_a_table_must_have_as_many_elements_as_its_count_says(count):
    with pytest.raises(ConversionError, match="N says"):
        parse_copybook(ODO).record().encode({"N": count, "T": [{"A": "x", "B": 1}] * 2, "Z": "zz"})


def test_the_size_of_a_table_cannot_change_in_a_base():
    layout = parse_copybook(ODO).record()
    with pytest.raises(ConversionError, match="cannot be changed in a base"):
        layout.encode({"N": 1, "T": [{"A": "x", "B": 1}]}, base=ebcdic("2x01y02zz"))
    three = {"N": 3, "T": [{"A": "x", "B": 1}, {"A": "y", "B": 2}, {"A": "z", "B": 3}]}
    assert layout.encode(three, base=ebcdic("9x01y02z03zz")) == ebcdic("3x01y02z03zz")


REDEFINED = "01 R. 05 K PIC X. 05 A. 10 A1 PIC X(4). 05 B REDEFINES A. 10 B1 PIC 9(2). 10 B2 PIC 9(2)."


def test_a_redefinition_of_a_table_of_variable_length_begins_with_it_and_moves_nothing():
    text = "01 R. 05 N PIC 9. 05 G. 10 T PIC X OCCURS 1 TO 3 DEPENDING ON N. 05 A REDEFINES G PIC X(2). 05 Z PIC 9."
    assert parse_copybook(text).record().decode(ebcdic("1x7")) == {"N": 1, "G": {"T": ["x"]}, "A": "x7", "Z": 7}


def test_a_redefinition_that_is_longer_gives_the_length_and_its_fillers_are_filled_up():
    layout = parse_copybook(
        "01 R. 05 A PIC X(2). 05 B REDEFINES A. 10 FILLER PIC X(4) VALUE 'abcd'. 10 C PIC X."
    ).record()
    assert layout.encode({"A": "xy"}) == ebcdic("xy") + bytes(3)
    assert layout.encode({"B": {"C": "z"}}) == ebcdic("abcdz")
    assert layout.encode({"A": "xy", "B": {"C": "z"}}) == ebcdic("xycdz")


def test_redefinitions_are_decoded_side_by_side_and_one_is_enough():
    layout = parse_copybook(REDEFINED).record()
    both = {"K": "k", "A": {"A1": "0102"}, "B": {"B1": 1, "B2": 2}}
    assert layout.decode(ebcdic("k0102")) == both
    assert layout.encode(both) == ebcdic("k0102")
    assert layout.encode({"K": "k", "A": {"A1": "wxyz"}}) == ebcdic("kwxyz")
    assert layout.encode({"K": "k", "B": {"B1": 1, "B2": 2}}) == ebcdic("k0102")
    assert layout.encode({"K": "k", "A": {"A1": "12 x"}, "B": {"B1": None, "B2": None}}) is not None


SEGMENTS = """01 R. 05 ID PIC X. 05 A. 10 A1 PIC X(4). 10 FILLER PIC X(4). 05 B REDEFINES A. 10 B1 PIC 9(4) COMP.
    10 FILLER PIC X(3). 10 B2 PIC 9. 10 C PIC X(2). 10 D REDEFINES C PIC 9(2)."""
OF_A, OF_B = ebcdic("1wxyz    "), b"\xf2\x00\x05" + ebcdic("   712")


def test_a_record_is_decoded_as_the_segment_that_it_is():
    layout = parse_copybook(SEGMENTS).record()
    b = {"B1": 5, "B2": 7, "C": "12", "D": 12}
    assert layout.decode(OF_B, segment="B") == {"ID": "2", "A": None, "B": b}
    assert layout.decode(OF_B, segment="B.D") == {"ID": "2", "A": None, "B": b | {"C": None}}
    assert layout.decode(OF_A, segment="A") == {"ID": "1", "A": {"A1": "wxyz"}, "B": None}
    assert {found.field for found in layout.found_in(OF_A, segment="a")} == {"ID", "A.A1", "A.FILLER-P1"}
    for name in ("ID", "NONE"):
        with pytest.raises(LookupError, match=name):
            layout.decode(OF_A, segment=name)


def test_a_field_says_which_segment_a_record_is():
    layout = parse_copybook(SEGMENTS).record().with_segments("ID", {"A": ["1"], "B": ["2", "3"]})
    assert layout.decode(OF_A) == {"ID": "1", "A": {"A1": "wxyz"}, "B": None}
    assert layout.decode(OF_B)["B"]["B1"] == 5
    assert layout.decode(b"\xf3" + OF_B[1:])["A"] is None
    assert layout.decode(b"\xf4" + OF_B[1:]) == {"ID": "4", "A": None, "B": None}
    assert layout.decode(OF_A, segment="B", corrupt="null")["A"] is None
    with pytest.raises(LookupError):
        layout.with_segments("B", {"A": ["1"]})
    with pytest.raises(LookupError):
        layout.with_segments("ID", {"NONE": ["1"]})


def test_a_segment_is_written_as_it_was_read_with_its_fillers():
    layout = parse_copybook(SEGMENTS).record().with_segments("ID", {"A": ["1"], "B": ["2"]})
    for record in (OF_A + bytes(1), OF_B):
        values = layout.decode(record)
        assert layout.encode(values) == record[: layout.length]
        assert layout.encode(values, base=record) == record


def test_the_segment_field_may_stand_behind_a_table_that_moves_it():
    text = "01 R. 05 N PIC 9. 05 T PIC X OCCURS 0 TO 3 DEPENDING ON N. 05 ID PIC X. 05 A PIC X. 05 B REDEFINES A PIC 9."
    layout = parse_copybook(text).record().with_segments("ID", {"A": "a", "B": "b"})
    assert layout.decode(ebcdic("0b7")) == {"N": 0, "T": [], "ID": "b", "A": None, "B": 7}
    assert layout.decode(ebcdic("2xya7")) == {"N": 2, "T": ["x", "y"], "ID": "a", "A": "7", "B": None}


@pytest.mark.parametrize(("occurs", "fewest"), [("0 TO 3", 0), ("2 TO 3", 2), ("3", 1)])
def test_the_lowest_number_of_occurs_depending_on(occurs: str, fewest: int) -> None:
    layout = parse_copybook(f"01 R. 05 N PIC 9. 05 T PIC X OCCURS {occurs} DEPENDING ON N.").record()
    assert (layout.minimum_length, layout.length) == (1 + fewest, 4)
    assert [len(layout.decode(ebcdic(f"{count}xyz"))["T"]) for count in range(fewest, 4)] == [*range(fewest, 4)]
    for count in range(fewest):
        with pytest.raises(ConversionError, match=f"T has {fewest} to 3 occurrences, not {count}"):
            layout.decode(ebcdic(f"{count}xyz"))


def test_a_count_that_is_no_number_is_the_maximum():
    layout = parse_copybook("01 R. 05 N PIC X(2). 05 T PIC X OCCURS 0 TO 3 DEPENDING ON N.").record()
    for count, expected in (("ab", 3), ("-1", 3), (" 2", 2), ("1 ", 1), ("  ", 3)):
        assert len(layout.decode(ebcdic(count + "xyz"))["T"]) == expected
    assert len(layout.with_rules(code_page="latin-1").decode("²²xyz".encode("latin-1"))["T"]) == 3


def test_a_group_as_text_takes_a_name_that_is_free():
    text = "01 R. 05 G. 10 A PIC X(2). 10 B PIC 9. 05 G-NT PIC X. 05 H. 10 C PIC X."
    layout = parse_copybook(text).record().with_groups_as_text(["G", "H"])
    assert layout.decode(ebcdic("ab1cd")) == {
        "G": {"A": "ab", "B": 1}, "G-NT1": "ab1", "G-NT": "c", "H": {"C": "d"}, "H-NT": "d"
    }  # fmt: skip
    assert layout.field("G-NT1").redefines == ("G",)


def test_a_group_as_text_is_of_its_group_inside_tables_and_in_its_code_page():
    text = "01 R. 05 N PIC 9. 05 T OCCURS 2. 10 G. 15 A PIC X(2). 05 H. 10 C PIC X."
    layout = parse_copybook(text).record().with_code_pages({"G": "latin-1"}).with_groups_as_text(["G", "H"])
    record = ebcdic("1") + b"\xe9a" + b"\xfcb" + ebcdic("c")
    expected = [{"G": {"A": "\xe9a"}, "G-NT": "\xe9a"}, {"G": {"A": "\xfcb"}, "G-NT": "\xfcb"}]
    assert layout.decode(record) == {"N": 1, "T": expected, "H": {"C": "c"}, "H-NT": "c"}
    assert layout.encode(layout.decode(record)) == record
    made, group = layout.field("G-NT"), layout.field("G")
    assert (made.path, made.redefines, made.place) == (("T", "G-NT"), ("T", "G"), group.place)


def test_fields_that_share_bytes_must_agree():
    with pytest.raises(ConversionError, match="contradicts"):
        parse_copybook(REDEFINED).record().encode({"K": "k", "A": {"A1": "0102"}, "B": {"B1": 9, "B2": 2}})


def test_a_text_that_is_longer_than_a_number_in_its_bytes_is_written_to_its_end():
    layout = parse_copybook("01 R. 05 T PIC X(5). 05 N REDEFINES T PIC 9(3).").record()
    assert layout.encode({"T": "123AB", "N": 123}) == ebcdic("123AB")


def test_a_contradiction_that_trimming_does_not_explain_names_the_field_that_was_found_first():
    layout = parse_copybook("01 R. 05 T PIC X(5). 05 A REDEFINES T PIC X(5). 05 G REDEFINES T. 10 N PIC 9(3).").record()
    values = {"T": "12345", "A": "AB", "G": {"N": 123}}
    with pytest.raises(ConversionError, match=r"^T: '12345' contradicts"):
        layout.encode(values, trimmed="left")


@pytest.mark.rule("LAY-SHORT-RECORD")
def test_a_short_record():
    layout = parse_copybook("01 R. 05 A PIC X(3). 05 B PIC X(4). 05 C PIC 9(2). 05 D PIC X.").record()
    assert layout.decode(ebcdic("abcde")) == {"A": "abc", "B": "de", "C": None, "D": None}
    assert layout.decode(ebcdic("abcdefg1")) == {"A": "abc", "B": "defg", "C": None, "D": None}
    for size in range(10):
        record = ebcdic("abcdefg42z"[:size])
        assert layout.encode(layout.decode(record), base=record) == record
    national = parse_copybook("01 R. 05 A PIC N(3).").record()
    cut = [national.decode("xyz".encode("utf-16-be")[:size])["A"] for size in range(7)]
    assert cut == [None, None, "x", "x", "xy", "xy", "xyz"]


def test_a_long_record_keeps_its_tail_in_a_base():
    layout = parse_copybook("01 R. 05 A PIC X(3).").record()
    assert layout.encode({"A": "xyz"}, base=ebcdic("abcdef")) == ebcdic("xyzdef")


def test_fillers_are_left_out_unless_asked_for():
    layout = parse_copybook(
        "01 R. 05 A PIC X. 05 FILLER PIC X(2) VALUE 'V'. 05 FILLER. 10 B PIC X. 10 PIC X. 05 FILLER. 10 FILLER PIC X."
    ).record()
    record = ebcdic("aV bcd")
    assert layout.decode(record) == {"A": "a", "FILLER-1": {"B": "b"}}
    full = layout.decode(record, fillers=True)
    assert full == {
        "A": "a",
        "FILLER-P1": "V ",
        "FILLER-1": {"B": "b", "FILLER-P2": "c"},
        "FILLER-2": {"FILLER-P3": "d"},
    }
    assert layout.encode(full) == record
    assert layout.encode({"A": "a", "FILLER-1": {"B": "b"}}) == ebcdic("aV b  ")


def test_missing_and_unknown_names_are_refused():
    layout = parse_copybook("01 R. 05 A PIC X. 05 G. 10 B PIC 9.").record()
    with pytest.raises(ConversionError, match="G: no value was given"):
        layout.encode({"A": "a"})
    with pytest.raises(ConversionError, match=r"G\.B: no value"):
        layout.encode({"A": "a", "G": {}})
    with pytest.raises(ConversionError, match="no field 'X'; it has A, G"):
        layout.encode({"A": "a", "G": {"B": 1}, "X": 1})
    with pytest.raises(ConversionError, match="mapping"):
        layout.encode({"A": "a", "G": 3})
    assert layout.encode({"G": {"B": 2}}, base=ebcdic("a1")) == ebcdic("a2")


def test_null_goes_out_and_comes_back():
    layout = parse_copybook("01 R. 05 A PIC X(2). 05 B PIC 9(2). 05 C PIC S9(3) COMP-3.").record()
    nothing = {"A": None, "B": None, "C": None}
    assert layout.decode(layout.encode(nothing)) == nothing
    with pytest.raises(ConversionError, match="None has no representation"):
        parse_copybook("01 R. 05 A PIC 9 COMP.").record().encode({"A": None})


def test_code_pages_of_single_fields():
    layout = parse_copybook("01 R. 05 A PIC X. 05 G. 10 B PIC X.").record().with_code_pages({"G": "1140"})
    assert layout.decode(b"\x9f\x9f") == {"A": "¤", "G": {"B": "€"}}
    with pytest.raises(LookupError):
        layout.with_code_pages({"Q": "037"})
    with pytest.raises(LayoutError, match="unknown code page"):
        layout.with_code_pages({"A": "nope"})


def test_an_underline_stands_for_a_hyphen_and_the_other_way_round():
    layout = parse_copybook("01 R. 05 SEG_ID PIC X. 05 G-1. 10 A_B PIC X. 10 A-B PIC X. 10 C-D PIC X.").record()
    assert [layout.field(name).offset for name in ("seg-id", "SEG_ID", "g_1.c_d", "A_B", "A-B")] == [0, 0, 3, 1, 2]
    assert layout.with_code_pages({"SEG-ID": "500"}).field("SEG_ID").code_page == "500"
    book = parse_copybook("01 R-1. 05 A PIC X. 01 R_2. 05 B PIC X. 01 R-2. 05 C PIC X.")
    assert [book.record(name).name for name in ("r_1", "R_2", "r-2")] == ["R-1", "R_2", "R-2"]


def test_a_field_is_found_by_name():
    layout = parse_copybook("01 R. 05 G. 10 A PIC X. 05 H. 10 A PIC X. 05 B PIC X OCCURS 2.").record()
    assert layout.field("h.a").offset == 1
    assert layout.value(ebcdic("12345"), "G.A") == "1"
    with pytest.raises(LookupError, match="more than one"):
        layout.field("A")
    with pytest.raises(LookupError, match="no field"):
        layout.field("C")


YAML = """\
layout: ORDER
code_page: "1047"
fields:
  - {name: ID, picture: 9(4)}
  - {name: AMOUNT, picture: S9(5)V99, usage: COMP-3}
  - {name: KIND, picture: X, conditions: {OPEN: O, REST: [A, [C, E]]}}
  - {name: SIGNED, picture: S9(3), sign: LEADING SEPARATE}
  - {name: COUNT, picture: 9}
  - name: LINES
    occurs: {maximum: 3, depending_on: COUNT}
    fields:
      - {name: SKU, picture: X(3), code_page: "037"}
  - {filler: 2}
"""


@pytest.mark.rule("LAY-GROUP-USAGE")
def test_a_national_group_makes_its_items_national():
    layout = parse_copybook(
        """01 N GROUP-USAGE NATIONAL. 02 G. 04 M PIC 99 VOLATILE. 04 D PIC N(2). 02 H GROUP-USAGE IS NATIONAL.
           04 A PIC 9(2).99 USAGE NATIONAL. 04 E PIC NN/N0B. 04 S PIC S9(2) SIGN LEADING SEPARATE."""
    ).record()
    values = {"G": {"M": 7, "D": "AB"}, "H": {"A": "12.50", "E": "AB/C0 ", "S": -3}}
    data = layout.encode(values)
    assert data == "07AB12.50AB/C0 -03".encode("utf-16-be")
    assert layout.decode(data) == values


def test_an_external_floating_point_number_is_text():
    layout = parse_copybook("01 R. 05 A PIC +9(2).99E+99. 05 B PIC -9V99E-99. 05 C PIC -V9E+99 NATIONAL.").record()
    assert [(item.offset, item.length) for item in layout.walk()] == [(0, 10), (10, 8), (18, 12)]
    assert layout.decode("+12.34E+05-123E-04".encode("cp037") + "-1E+02".encode("utf-16-be")) == {
        "A": "+12.34E+05", "B": "-123E-04", "C": "-1E+02",
    }  # fmt: skip
    with pytest.raises(LayoutError, match="cannot be combined"):
        parse_copybook("01 R. 05 A PIC 9(2)E+99.")


def test_fillers_get_the_literals_of_their_value_clauses():
    layout = parse_copybook(
        """01 R. 05 FILLER PIC X(3) VALUE ZEROS. 05 FILLER PIC X(2) VALUE LOW-VALUES. 05 FILLER PIC X(2) VALUE HIGH-VALUES.
           05 FILLER PIC X(3) VALUE ALL '*-'. 05 FILLER PIC X(3) VALUE X'01FF'. 05 FILLER PIC X(3) JUST VALUE 'A'.
           05 FILLER PIC N(2) VALUE SPACES. 05 FILLER PIC N VALUE HIGH-VALUES. 05 FILLER PIC S9(3) COMP-3 VALUE ZERO.
           05 FILLER COMP-1 VALUE 1.5. 05 FILLER PIC X VALUE 'TOO LONG'. 05 FILLER PIC X(2)."""
    ).record()
    assert layout.encode({}).hex() == (
        "f0f0f0" "0000" "ffff" "5c605c" "01ff40" "c14040" "00200020" "ffff" "000c" "41180000" "40" "4040"
    )  # fmt: skip


def test_condition_names_of_figurative_constants_and_in_the_order_of_the_code_page():
    layout = parse_copybook(
        """01 R. 05 A PIC X(2). 88 ZERO-A VALUE ZEROS. 88 LOW-A VALUE LOW-VALUES. 88 HIGH-A VALUE HIGH-VALUES.
           88 ALL-A VALUE ALL '*'. 88 LETTER-OR-DIGIT VALUE 'A' THRU '9'. 88 HEX-A VALUE X'C1'. 88 BLANK-A VALUE SPACE."""
    ).record()
    wanted = {
        "F0F0": "ZERO-A, LETTER-OR-DIGIT", "0000": "LOW-A", "FFFF": "HIGH-A", "5C5C": "ALL-A", "4040": "BLANK-A",
        "C140": "LETTER-OR-DIGIT, HEX-A", "F040": "LETTER-OR-DIGIT", "5C40": "", "00": "LOW-A", "": "",
    }  # fmt: skip
    for data, names in wanted.items():
        (found,) = layout.found_in(bytes.fromhex(data))
        assert found.remark == names, data
    field = layout.field("A")
    assert field.holds("LETTER-OR-DIGIT", "Z")
    assert not field.holds("LETTER-OR-DIGIT", "Z", code_page="819")
    assert field.holds("HEX-A", "A")  # padded, not repeated


def test_each_condition_name_of_a_field_is_asked_by_itself():
    """Not found by its name, which took quadratic time for a field with thousands of them."""
    layout = parse_copybook("01 R. 05 A PIC X. 88 SAME VALUE 'A'. 88 SAME VALUE 'B'.").record()
    assert [found.remark for found in layout.found_in(b"\xc2")] == ["SAME"]


def test_condition_names_of_a_group_and_of_numbers_with_a_comma():
    layout = parse_copybook(
        "01 R. 05 G. 88 YES VALUE 'AB'. 10 A PIC X. 10 B PIC X. 05 M PIC 9V9. 88 HALF VALUE 1,5. 05 FILLER PIC 9V9 VALUE 1,5."
    ).record()
    assert layout.field("G").holds("YES", "AB")
    with pytest.raises(ConversionError, match=r"G\.YES: give the text of the group, not its fields"):
        layout.field("G").holds("YES", {"A": "A", "B": "B"})
    assert layout.field("M").holds("HALF", Decimal("1.5"))
    assert layout.encode({"G": {"A": "A", "B": "B"}, "M": Decimal("1.5")}).hex() == "c1c2f1f5f1f5"


def test_a_layout_written_as_yaml_is_that_of_the_copybook(tmp_path):
    path = tmp_path / "order.yaml"
    path.write_text(YAML)
    layout = load_layout_yaml(path)
    book = parse_copybook(
        """01 ORDER. 05 ID PIC 9(4). 05 AMOUNT PIC S9(5)V99 COMP-3. 05 KIND PIC X. 05 SIGNED PIC S9(3) LEADING SEPARATE.
           05 COUNT PIC 9. 05 LINES OCCURS 0 TO 3 DEPENDING ON COUNT. 10 SKU PIC X(3). 05 FILLER PIC X(2)."""
    ).record()
    assert [(f.path, f.type, f.offset, f.length) for f in layout.walk()] == [
        (f.path, f.type, f.offset, f.length) for f in book.walk()
    ]
    assert (layout.name, layout.rules.code_page, layout.minimum_length) == ("ORDER", "1047", 16)
    assert layout.field("KIND").holds("REST", "D")
    assert layout.field("SKU").code_page == "037"


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("layout: A", 1, "no list of fields"),
        ("layout: A\nfields: []", 2, "at least one"),
        ("layout: A\nfields:\n- {name: X}", 3, "needs a PICTURE"),
        ("layout: A\nfields:\n- {name: X, picture: Q}", 3, "PICTURE 'Q'"),
        ("layout: A\nfields:\n- {name: X, pic: X}", 3, "pic"),
        ("layout: A\nfields:\n- {picture: X}", 3, "name"),
        ("layout: A\nfields:\n- {name: X, picture: X, usage: COMP-9}", 3, "COMP-9"),
        ("layout: A\nfields:\n- {name: X, picture: X, occurs: x}", 3, "whole number"),
        ("layout: A\nfields:\n- {name: X, picture: X, occurs: {maximum: 3}}", 3, "depending_on"),
        ("layout: A\nfields:\n- {name: X, picture: X, occurs: {minimum: 1, maximum: 3}}", 3, "needs maximum and"),
        ("layout: A\nfields:\n- {name: X, picture: X, occurs: {minimum: 1}}", 3, "needs maximum and depending_on"),
        ("layout: A\nfields:\n- {filler: 0}", 3, "a repetition of 0"),
        ("layout: A\nfields:\n- {name: A.B, picture: X}", 3, "name 'A.B': a name has letters, digits"),
        ("layout: A\nfields:\n- {name: '', picture: X}", 3, "name '': a name has letters, digits"),
        ("layout: [", 2, "no YAML"),
        ("fields: &a\n- name: X\n  fields: *a", 2, "nested more than"),
        ("- 1", 1, "expected a mapping"),
        ("layout: A\nlayout: B", 2, "twice"),
    ],
)
def test_errors_in_yaml_name_line_and_key(text, line, words):
    with pytest.raises(LayoutError) as caught:
        parse_layout_yaml(text, file="L")
    assert str(caught.value).startswith(f"L:{line}:")
    assert words in str(caught.value)


DALYTRAN = """\
       01  DALYTRAN-RECORD.
           05  TRAN-ID PIC X(16).
           05  TRAN-TYPE PIC X(02).
           05  TRAN-CAT PIC 9(04).
           05  TRAN-SOURCE PIC X(10).
           05  TRAN-DESC PIC X(100).
           05  TRAN-AMT PIC S9(09)V99.
           05  MERCHANT-ID PIC 9(09).
           05  MERCHANT-NAME PIC X(50).
           05  MERCHANT-CITY PIC X(50).
           05  MERCHANT-ZIP PIC X(10).
           05  CARD-NUM PIC X(16).
           05  ORIG-TS PIC X(26).
           05  PROC-TS PIC X(26).
           05  FILLER PIC X(20).
"""


def test_the_real_transactions():
    folder = Path(os.environ.get("TDQ_DATA") or Path(__file__).resolve().parents[2] / "../shared/data")
    path = folder / "carddemo" / "DALYTRAN.PS"
    if not path.is_file():
        pytest.skip(f"no real data at {path}")
    layout = parse_copybook(DALYTRAN).record()
    data = path.read_bytes()
    records = [data[at : at + 350] for at in range(0, len(data), 350)]
    values = [layout.decode(record, fillers=True) for record in records]
    assert sum(record["TRAN-AMT"] for record in values) == Decimal("104801.54")
    assert [record["TRAN-TYPE"] for record in values].count("01") == 250
    assert [layout.encode(record) for record in values] == records
    text = (folder / "carddemo" / "dailytran.ascii.txt").read_text("latin-1").splitlines()
    in_ascii = layout.with_rules(code_page="latin-1")
    assert [in_ascii.decode(line.encode("latin-1").ljust(350))["TRAN-AMT"] for line in text] == [
        r["TRAN-AMT"] for r in values
    ]


def test_an_empty_table_still_has_its_slack_bytes_before_it():
    layout = parse_copybook("01 R. 05 N PIC 9. 05 T OCCURS 0 TO 3 DEPENDING ON N. 10 A PIC 9 COMP SYNC.").record()
    assert layout.encode({"N": 0, "T": []}) == b"\xf0\x00"
    assert layout.encode({"N": 1, "T": [{"A": 7}]}) == b"\xf1\x00\x00\x07"


def test_more_digits_than_the_picture_are_corrupt():
    layout = parse_copybook("01 R. 05 A PIC S9(9) SIGN LEADING SEPARATE.").record()
    assert layout.decode_with_corrupt(ebcdic("9999999999"))[1][0].field == "A"


def test_what_is_found_where():
    layout = parse_copybook("""01 R. 05 N PIC 9. 05 T OCCURS 0 TO 3 DEPENDING ON N. 10 A PIC X. 88 IS-B VALUE 'B'. 88 IS-LETTER VALUES 'A' THRU 'Z'.
        05 P PIC S9(3) COMP-3. 88 NONE-YET VALUE ZERO SPACES.""").record()
    found = layout.found_in("2AB".encode("cp037") + b"\x12\x3f\xff")
    assert [(item.field, item.offset, item.hex, item.value, item.remark) for item in found] == [
        ("N", 0, "F2", 2, ""),
        ("T.A(1)", 1, "C1", "A", "IS-LETTER"),
        ("T.A(2)", 2, "C2", "B", "IS-B, IS-LETTER"),
        ("P", 3, "123F", 123, ""),
    ]
    (_, bad) = layout.found_in(b"\xf0\x1a\xaa")
    assert (bad.value, bad.remark) == (None, "a digit is over 9, or the sign is not A to F")


def test_the_length_of_a_record_by_its_tables():
    text = "01 R. 05 G OCCURS 2. 10 N PIC 9. 10 T PIC X(2) OCCURS 0 TO 3 DEPENDING ON N. 05 Z PIC X. 05 Y REDEFINES Z PIC 9."
    layout = parse_copybook(text).record()
    assert layout.length_of(ebcdic("2aabb0z") + b"more") == 7
    assert layout.length_of(ebcdic("3aabbcc3aabbccz")) == layout.length == 15
    assert layout.length_of(ebcdic("00z")) == layout.minimum_length == 3
    assert layout.length_of(ebcdic("x")) == 15  # what tells nothing means the maximum
    assert layout.with_rules(variable_size_occurs="max_size").length_of(ebcdic("00z")) == 15


@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "? "])
def test_a_layout_that_is_nested_without_end_is_refused(opening):
    """To compose it would overflow the stack of the YAML library and end the process."""
    with pytest.raises(LayoutError, match=r"f:1:\d+.*nested more than 108 levels deep"):
        parse_layout_yaml(opening * 100_000, file="f")
