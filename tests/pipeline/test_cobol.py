# ruff: noqa: E402 - what the extra brings is imported after asking for it
"""``format("cobol")``, and what both formats refuse: expectations are written by hand from what Cobrix does."""

from __future__ import annotations

import os
from decimal import Decimal
from importlib import resources
from pathlib import Path

import pytest

np = pytest.importorskip("numpy", reason="the extra tdqsim[spark] is not installed")
pa = pytest.importorskip("pyarrow", reason="the extra tdqsim[spark] is not installed")
pytest.importorskip("pyspark", reason="the extra tdqsim[spark] is not installed")

from tdqsim.errors import ConversionError, DatasetError, TdqError
from tdqsim.facts import table
from tdqsim.pipeline.encoder import RecordEncoder
from tdqsim.pipeline.expressions import Expression, ExpressionError
from tdqsim.pipeline.extractors import RecordFile
from tdqsim.pipeline.options import read_options
from tdqsim.pipeline.qsam import CobolDataSource, QsamDataSource
from tdqsim.pipeline.source import ReadPlan
from tdqsim.pipeline.splits import plan
from tdqsim.pipeline.writer import PartWriter, commit_parts

TEXT = "01 R. 05 F PIC X(4)."
DATA = Path(os.environ.get("TDQ_DATA", Path(__file__).resolve().parents[2] / "../shared/data"))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "data"


def read(path, copybook=TEXT, *, cobrix=True, **given):
    """The rows of a file, read whole and in parts."""
    options = {"path": str(path), "copybook_contents": copybook, **{name: str(value) for name, value in given.items()}}
    checked = read_options(options, cobrix=cobrix)
    reader = ReadPlan.of(checked)
    return [row for split in plan(checked) for batch in reader.read(split) for row in batch.to_pylist()]


def texts(*args, **given):
    return [row["F"] for row in read(*args, **given)]


def ebcdic(text):
    return text.encode("cp037")


# descriptor words ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "given"),
    [
        ("0000 0300 / 0200 0000", {}),  # little-endian, in either half, not counting themselves
        ("0003 0000 / 0000 0002", {"is_rdw_big_endian": "true"}),
        ("0007 0000 / 0006 0000", {"is_rdw_big_endian": "true", "is_rdw_part_of_record_length": "true"}),
        ("0000 0500 / 0000 0400", {"rdw_adjustment": "-2"}),
        ("0003 FFFF / 0002 4040", {"is_rdw_big_endian": "true"}),  # the other half is not looked at there
        ("0300 0000 / 0200 0000", {"record_header_parser": "xcom"}),
        ("0003 0000 / 0002 0000", {"record_header_parser": "rdw_big_endian"}),
    ],
)
def test_record_descriptor_words_as_cobrix_has_them(path, words, given):
    first, second = (bytes.fromhex(word) for word in words.split("/"))
    path.write_bytes(first + ebcdic("abc") + second + ebcdic("xy"))
    assert texts(path, record_format="V", **given) == ["abc", "xy"]


def test_a_record_of_no_bytes_is_refused_as_there(path):
    path.write_bytes(bytes(4) + ebcdic("abcd"))
    with pytest.raises(DatasetError, match="record 1, at offset 0: X'00000000' is no record descriptor word"):
        read(path, record_format="V")


@pytest.mark.parametrize(
    ("block", "given"),
    [
        ("0000 0E00 / 0000 0600", {"is_rdw_big_endian": "true"}),
        ("000E 0000 / 0006 0000", {"is_rdw_big_endian": "true", "is_bdw_big_endian": "true"}),
        ("8000 000E / 8000 0006", {"is_rdw_big_endian": "true", "is_bdw_big_endian": "true"}),
        ("0E00 0080 / 0600 0080", {"is_rdw_big_endian": "true"}),
        ("0000 1200 / 0000 0A00", {"is_rdw_big_endian": "true", "bdw_adjustment": "-4"}),
    ],
)
def test_block_descriptor_words_as_cobrix_has_them(path, block, given):
    first, second = (bytes.fromhex(word) for word in block.split("/"))
    record = bytes.fromhex("00030000") + ebcdic("abc")
    path.write_bytes(first + 2 * record + second + bytes.fromhex("00020000") + ebcdic("xy"))
    assert texts(path, record_format="VB", **given) == ["abc", "abc", "xy"]


SPANNED = "0010 0000 0006 0000 E9E9 0006 0100 C1C1 000A 0000 0006 0200 C2C2"


def test_both_halves_of_a_record_descriptor_word_are_looked_at(path):
    path.write_bytes(bytes.fromhex(SPANNED))
    assert texts(path, cobrix=False, record_format="VBS") == ["ZZ", "AABB"]
    with pytest.raises(
        DatasetError, match=r"record 2, at offset 10: .*X'00060100' contains more than a length.*VS or VBS"
    ):
        read(path, cobrix=False, record_format="VB")
    for junk in ("4040", "FFFF", "0001", "0400"):
        path.write_bytes(bytes.fromhex(f"0006 0000 C1C1 0006 {junk} C2C2"))
        with pytest.raises(DatasetError, match=f"record 2, at offset 6: .*X'0006{junk}' contains more than a length"):
            read(path, cobrix=False, record_format="V")
    for junk in ("0400", "8000", "00FF"):
        path.write_bytes(bytes.fromhex(f"000A 0000 0006 {junk} C1C1"))
        with pytest.raises(DatasetError, match="contains more than a length"):
            read(path, cobrix=False, record_format="VBS")
    path.write_bytes(bytes.fromhex("000A 0001 0006 0000 C1C1"))
    with pytest.raises(DatasetError, match="X'000A0001' is no block descriptor word"):
        read(path, cobrix=False, record_format="VB")


def test_fixed_records_in_blocks_with_descriptor_words(path):
    rows = ["aaaa", "bbbb", "cccc"]
    little = bytes.fromhex("00000800") + ebcdic("aaaabbbb") + bytes.fromhex("00000400") + ebcdic("cccc")
    path.write_bytes(little)
    assert texts(path, record_format="FB") == rows
    for step in ("1", "2"):
        assert texts(path, record_format="FB", input_split_records=step) == rows
    assert [row["Record_Id"] for row in read(path, record_format="FB", generate_record_id="true")] == [0, 1, 2]
    with pytest.raises(DatasetError, match="a block descriptor word stands before the records"):
        read(path, cobrix=False, record_format="FB")
    path.write_bytes(bytes.fromhex("000C0000") + ebcdic("aaaabbbb") + bytes.fromhex("00080000") + ebcdic("cccc"))
    with pytest.raises(DatasetError, match="a block descriptor word stands before the records"):
        read(path, cobrix=False, record_format="FB")
    assert texts(path, cobrix=False, record_format="FB", is_bdw_big_endian="true") == rows
    path.write_bytes(bytes.fromhex("00000500") + ebcdic("aaaab"))
    with pytest.raises(
        DatasetError, match="record 1, at offset 0: a block of 5 bytes is no multiple of the record length"
    ):
        read(path, record_format="FB")
    path.write_bytes(ebcdic("aaaabbbbcccc"))
    assert texts(path, record_format="FB", block_length="8") == texts(path, record_format="FB", records_per_block="2")
    assert texts(path, cobrix=False, record_format="FB") == rows


# options that do not go together ------------------------------------------------------------------------------------

VALUES = {
    "redefine_segment_id_map": "F => A", "segment_children": "A => B", "redefine_rule": "F => true",
    "comments_lbound": "6", "comments_ubound": "72", "segment_id_level": "A", "segment_id_root": "A",
    "record_length_map": '{"A": 1}', "enable_indexes": "false", "mode": "failfast",
}  # fmt: skip
FLAGS = ("is_", "generate_", "flatten", "push_", "strict_", "display_", "truncate_", "enable_")


def shown(text):
    """An option, or option=value, as a user gives it."""
    name, _, value = text.partition("=")
    written = f"{name}:0" if name in ("redefine_segment_id_map", "segment_children", "redefine_rule") else name
    written = "segment_id_level0" if name == "segment_id_level" else written
    return written, value or VALUES.get(name) or ("true" if name.startswith(FLAGS) else "1")


# Cobrix 2.10's own, and those that would else be passed over in silence; a value after = is the one that conflicts
EXCLUDE = {
    "copybook": "copybooks copybook_contents layout",
    "copybooks": "copybook_contents layout",
    "copybook_contents": "layout",
    "path": "data_paths",
    "paths": "data_paths",
    "record_extractor": (
        "is_text=true record_length is_record_sequence is_xcom is_rdw_big_endian is_rdw_part_of_record_length "
        "rdw_adjustment record_length_field record_header_parser rhp_additional_info"
    ),
    "record_length": (
        "is_text=true is_record_sequence is_xcom minimum_record_length maximum_record_length is_rdw_big_endian "
        "is_rdw_part_of_record_length rdw_adjustment record_length_field record_header_parser rhp_additional_info"
    ),
    "record_length_field": (
        "is_record_sequence is_xcom record_format=fb record_format=vb record_format=vs record_format=vbs "
        "record_format=d record_format=d2 record_format=t is_text=true"
    ),
    "record_format": "is_xcom is_record_sequence is_text",
    "is_text=true": (
        "is_rdw_big_endian is_rdw_part_of_record_length rdw_adjustment is_xcom record_header_parser "
        "rhp_additional_info"
    ),
    "block_length": "records_per_block",
    "record_header_name": "file_start_offset layout copybooks",
    "file_header_field": "file_start_offset layout copybooks",
    "record_trailer_name": "file_end_offset layout copybooks",
    "file_trailer_field": "file_end_offset layout copybooks",
    "encoding=ebcdic": "ascii_charset",
    "encoding=ascii": "ebcdic_code_page",
    "truncate_comments=false": "comments_lbound comments_ubound",
    "display_pic_always_string=true": "strict_integral_precision=true",
    "enable_indexes=false": "enable_index_cache=true",
    "segment_children": (
        "segment_id_level segment_id_root generate_record_bytes=true generate_corrupt_fields=true flatten=true "
        "segment_filter redefine_rule mode=dropmalformed mode=failfast"
    ),
    "record_name": "layout copybooks",
    "truncate_comments": "layout",
    "comments_lbound": "layout",
    "comments_ubound": "layout",
}  # fmt: skip
NEED = {
    "record_length_map": "record_length_field",
    "segment_children": "segment_field",
    "redefine_segment_id_map": "segment_field",
    "segment_id_level": "segment_field",
    "segment_id_root": "segment_field",
    "segment_filter": "segment_field",
    "re_additional_info": "record_extractor",
    "rhp_additional_info": "record_header_parser",
}
PAIRS = [(one, other) for one, others in EXCLUDE.items() for other in others.split()]


@pytest.mark.parametrize("cobrix", [False, True])
@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_contradictory_options_are_refused_by_name(one, other, cobrix):
    (first, value), (second, against) = shown(one), shown(other)
    with pytest.raises(DatasetError, match=f"{first}.* and {second}.* exclude each other"):
        read_options({first: value, second: against}, cobrix=cobrix)


@pytest.mark.parametrize("cobrix", [False, True])
@pytest.mark.parametrize(("one", "other"), NEED.items())
def test_an_option_that_needs_another_says_so(one, other, cobrix):
    name, value = shown(one)
    with pytest.raises(DatasetError, match=f"{name} needs {other}$"):
        read_options({name: value}, cobrix=cobrix)


@pytest.mark.parametrize("given", [{}, {"comments_lbound": "6"}, {"truncate_comments": "true"}])
def test_a_copybook_ends_in_column_72(path, given):
    path.write_bytes(ebcdic("123"))
    line = f"000100 01 R. 05 F PIC {'9' * 2:>49}"
    assert len(line) == 71
    copybook = f"{line}99999999\n000200{'.':>10}\n"  # nines from column 70 to 79: three of them count
    assert read(path, copybook, **given) == [{"F": 123}]


def test_every_contradiction_of_the_table_is_tried():
    assert len(table("qsam_conflicts")) == len(PAIRS) + len(NEED)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"minimum_record_length": "10", "maximum_record_length": "8"}, "minimum_record_length is more than maximum"),
        ({"minimum_record_length": "0"}, "minimum_record_length is '0'; must be a whole number, 1 or more"),
        ({"maximum_record_length": "0"}, "maximum_record_length is '0'"),
        ({"record_format": "FB", "records_per_block": "-1"}, "records_per_block is '-1'"),
        ({"record_format": "F", "records_per_block": "-1"}, "records_per_block is '-1'"),
        ({"record_format": "V", "records_per_block": "0"}, "records_per_block is '0'"),
        ({"record_format": "FB", "block_length": "-1"}, "block_length is '-1'"),
        ({"metadata": "wrong"}, "metadata is 'wrong'; must be one of basic, extended"),
        ({"record_header_name": "R", "record_trailer_name": "r"}, "name the same record, R"),
        ({"redefine_rule:0": "F => 1 +"}, "redefine_rule of f is '1 .'.*ends too early"),
        ({"redefine_rule:0": "F => true", "redefine_rule:1": "f => false"}, "f has a rule already"),
        ({"redefine_rule:0": "F => NONE = 1"}, "no field 'NONE'"),
        ({"redefine_rule:0": "NONE => F = 1"}, "no field is called none"),
        ({"record_length_field": "F + 1", "record_length_map": '{"A": 1}'}, "record_length_map goes with a single"),
        ({"record_extractor": "no.such.module:thing"}, "record_extractor is .*must be module:callable"),
        ({"record_extractor": "math:pi"}, "cannot be called"),
        ({"debug": "string"}, "works only with lines"),
    ],
)
def test_bad_values_are_refused_by_name(path, given, words):
    path.write_bytes(ebcdic("abcd"))
    with pytest.raises(TdqError, match=words):
        read(path, "01 R. 05 G. 10 F PIC X(4)." if "redefine" not in str(given) else TEXT, **given)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"record_format": "D", "ebcdic_code_page": "273"}, "ebcdic_code_page is '273'; .* is ASCII; give encoding=ebcdic"),
        ({"is_text": "true", "ebcdic_code_page": "273"}, "ebcdic_code_page is '273'; .* is ASCII; give encoding=ebcdic"),
        ({"record_format": "F", "ascii_charset": "latin-1"}, "ascii_charset is 'latin-1'; .* is EBCDIC; give encoding=ascii"),
    ],
)  # fmt: skip
def test_a_page_that_would_be_passed_over_is_refused(given, words):
    options = {"copybook_contents": TEXT, **given}
    with pytest.raises(DatasetError, match=words):
        read_options(options)
    asked = words.rpartition("=")[2]
    assert read_options({**options, "encoding": asked}).layout.rules.code_page.startswith(("273", "latin-1"))
    assert read_options(options, cobrix=True).layout.rules.code_page in ("ascii", "common")


def test_unknown_options_are_passed_over_under_cobol_unless_it_is_pedantic():
    assert read_options({"copybook_contents": TEXT, "whatever": "1"}, cobrix=True).mode == "permissive"
    with pytest.raises(DatasetError, match="whatever is not known"):
        read_options({"copybook_contents": TEXT, "whatever": "1", "pedantic": "true"}, cobrix=True)
    with pytest.raises(DatasetError, match="no copybook was given"):
        read_options({}, cobrix=True)


# values --------------------------------------------------------------------------------------------------------------


def test_code_pages_of_fields_count_in_ascii_too(path):
    path.write_bytes(b"\xbf\xe9\n\xbf\xe9\n")
    copybook = "01 R. 05 A PIC X. 05 B PIC X."
    pages = {"field_code_page:cp1251": "A", "ascii_charset": "ISO-8859-1"}
    for cobrix in (True, False):
        assert read(path, copybook, cobrix=cobrix, record_format="D", **pages) == 2 * [{"A": "ї", "B": "é"}]


def test_text_is_trimmed_on_both_sides_unless_asked_otherwise(path):
    path.write_bytes(ebcdic(" ab "))
    for cobrix in (True, False):
        assert texts(path, cobrix=cobrix) == ["ab"]
        assert texts(path, cobrix=cobrix, string_trimming_policy="right") == [" ab"]


def test_floating_point_is_that_of_the_machine_unless_asked_otherwise(path):
    path.write_bytes(bytes.fromhex("43142EFC"))
    for cobrix in (True, False):
        ((found,), (asked,)) = (
            read(path, "01 R. 05 F COMP-1.", cobrix=cobrix, **more)
            for more in ({}, {"floating_point_format": "IEEE754"})
        )
        assert found["F"] == pytest.approx(322.94, abs=0.01)
        assert asked["F"] == pytest.approx(148.18, abs=0.01)


def test_a_table_takes_its_maximum_size_unless_asked_otherwise(path):
    copybook = "01 R. 05 N PIC 9. 05 T PIC X OCCURS 0 TO 3 DEPENDING ON N. 05 B PIC X."
    path.write_bytes(ebcdic("1abcZ"))
    for cobrix in (True, False):
        assert read(path, copybook, cobrix=cobrix) == [{"N": 1, "T": ["a"], "B": "Z"}]


def test_relaxed_signs_of_numbers_that_stay_text(path):
    path.write_bytes(bytes.fromhex("F1C2D3 60F1C2"))
    given = {"display_pic_always_string": "true", "strict_sign_overpunching": "false"}
    assert read(path, "01 R. 05 F PIC S9(3).", **given) == [{"F": "-123"}, {"F": "+12"}]
    assert read(path, "01 R. 05 F PIC S9(3).", strict_sign_overpunching="false") == [{"F": -123}, {"F": 12}]
    assert read(path, "01 R. 05 F PIC S9(3).") == [{"F": None}, {"F": None}]


def test_a_line_is_too_long_as_a_whole(path):
    path.write_bytes(b"1234\n1\n23456\nabc\n" + 9 * b"x")
    given = {"record_format": "D", "minimum_record_length": "2", "maximum_record_length": "4"}
    assert texts(path, **given) == ["1234", "abc"]


def test_native_binary_numbers_are_like_others_under_cobol(path):
    path.write_bytes(bytes.fromhex("C646E3CB 00000007"))
    copybook = "01 R. 05 N PIC 9(5) COMP-5."
    assert read(path, copybook) == [{"N": None}, {"N": 7}]
    assert read(path, copybook, cobrix=False) == [{"N": 0xC646E3CB}, {"N": 7}]


def test_the_last_record_by_a_length_field_is_what_is_left_under_cobol(path):
    path.write_bytes(ebcdic("2a4b"))
    copybook, given = "01 R. 05 L PIC 9. 05 T PIC X(3).", {"record_length_field": "L"}
    assert read(path, copybook, **given) == [{"L": 2, "T": "a"}, {"L": 4, "T": "b"}]
    with pytest.raises(DatasetError, match="the last record is cut short"):
        read(path, copybook, cobrix=False, **given)


def test_a_length_that_is_none_is_told(path):
    copybook, given = "01 R. 05 L PIC X. 05 T PIC X(3).", {"record_length_field": "L"}
    for first, words in ((ebcdic("x"), "'x', no integer"), (b"\0", "null, no integer")):
        path.write_bytes(first + ebcdic("abc"))
        with pytest.raises(DatasetError, match=f"record 1, at offset 0: record length field L is {words}"):
            read(path, copybook, **given)
        with pytest.raises(DatasetError, match="is not mapped"):
            read(path, copybook, record_length_map='{"A": 1}', **given)


# expressions ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 + 2 * 3 - 4", 3),
        ("(1 + 2) * 3 / 2", 4),
        ("-7 / 2", -3),
        ("N - 1", 4),
        ("LONG-NAME-1 + 1", 10),
        ("D * 10", 20),
        ("T = 'A'", True),
        ("T != 'it''s'", True),
        ("in(T, 'B', 'A')", True),
        ("in(N, 1, null)", False),
        ("EMPTY = null && N >= 5", True),
        ("EMPTY > 1 || false", False),
        ("!(N = 5) || true && N < 4", False),
        ("IF(N = 5, 100, 200)", 100),
        ("DIGITS = 12", True),
    ],
)
def test_expressions(text, expected):
    values = {"N": 5, "LONG-NAME-1": 9, "D": Decimal("2.9"), "T": "A ", "EMPTY": None, "DIGITS": "12"}
    value = Expression(text, "option").value(values)
    assert (value, type(value)) == (expected, type(expected))


@pytest.mark.parametrize(
    "text", ["", "1 +", "(1", "1)", "a b", "in(1)", "if(true, 1)", "'x", "1 ; 2", "(" * 99, "x" * 3000]
)
def test_what_is_no_expression_is_refused(text):
    with pytest.raises(DatasetError, match=r"^option is "):
        Expression(text, "option")


@pytest.mark.parametrize("text", ["1 / N", "T + 1", "E + 1", "1 && true", "T < 1", "!N"])
def test_an_expression_without_a_value_says_why(text):
    with pytest.raises(ExpressionError):
        Expression(text, "option").value({"N": 0, "T": "x", "E": None})


RULED = "01 R. 05 ID PIC 9. 05 G1. 10 F1 PIC S9(2). 05 G2 REDEFINES G1. 10 F2 PIC X(2). 05 H. 10 P PIC X. 10 Q REDEFINES P PIC 9."


def test_redefinitions_by_rules(path):
    path.write_bytes(ebcdic("1118") + ebcdic("2223") + b"\0" + ebcdic("334"))
    rules = {
        "redefine-rule:1": "G1 => ID = 1",
        "redefine_rule:2": "g2 => in(ID, 2, null)",
        "redefine-rule:3": "Q => ID = 2",
    }
    one, two, three = read(path, RULED, **rules)
    assert (one["G1"], one["G2"], one["H"]) == ({"F1": 11}, None, {"P": "8", "Q": None})
    assert (two["G1"], two["G2"], two["H"]) == (None, {"F2": "22"}, {"P": "3", "Q": 3})
    assert (three["ID"], three["G1"], three["G2"]) == (None, None, {"F2": "33"})
    mapped = {"segment_field": "ID", "redefine_segment_id_map:0": "G1 => 1", "redefine_rule:0": "Q => F1 = 11"}
    assert [(row["G1"], row["H"]["Q"]) for row in read(path, RULED, **mapped)] == [
        ({"F1": 11}, 8), (None, None), (None, None)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("ID + 1", "redefine_rule of q: 'ID . 1' is neither true nor false"),
        ("1 / (ID - 1) = 1", "redefine_rule of q: .*zero"),
    ],
)
def test_a_rule_without_a_truth_value_is_refused(path, rule, words):
    path.write_bytes(ebcdic("1118"))
    with pytest.raises(DatasetError, match=words):
        read(path, RULED, **{"redefine_rule:0": f"Q => {rule}"})


# code of the user's --------------------------------------------------------------------------------------------------


def test_a_record_file_ends_where_the_data_ends():
    data = b"0123456789"
    file = RecordFile(lambda size, at: data[at : at + size], 2, 5)
    assert (file.read(2), file.tell(), file.read(9), file.tell(), file.read(1)) == (b"23", 4, b"4", 5, b"")


def counted(file, context):
    """Each record behind a digit that says how long it is; the text is left out as often as it says."""
    while size := file.read(1):
        if size == b"\xff":
            raise ValueError("a bad mark")
        record = file.read(int(size.decode("cp037")))
        if record.decode("cp037") != context.additional_info:
            yield record


class Headers:
    """A header of two digits; 00 is followed by four bytes that are no record."""

    header_length = 2

    def __init__(self, info):
        self.header_in_record = info == "whole"

    def parse(self, header, offset, size, number):
        length = int(header.decode("cp037"))
        return (length, True) if length else (4, False)


def test_a_record_extractor_finds_the_records(path):
    path.write_bytes(ebcdic("3abc1x4wxyz2no"))
    given = {"record_extractor": f"{__name__}:counted", "re_additional_info": "no", "generate_record_id": "true"}
    for cobrix in (True, False):
        rows = read(path, cobrix=cobrix, **given)
        assert [(row["Record_Id"], row["Record_Byte_Length"], row["F"]) for row in rows] == [
            (0, 3, "abc"), (1, 1, "x"), (2, 4, "wxyz")
        ]  # fmt: skip
    assert [row["F"] for row in read(path, minimum_record_length="2", maximum_record_length="3", **given)] == ["abc"]
    checked = read_options({"path": str(path), "copybook_contents": TEXT, **given}, cobrix=True)
    (split,) = plan(checked)
    assert [batch.num_rows for batch in ReadPlan.of(checked).read(split)] == [3]  # not a batch for each record
    path.write_bytes(ebcdic("3abc") + b"\xff")
    with pytest.raises(DatasetError, match=r"record 2, at offset 4: .*counted: ValueError: a bad mark"):
        read(path, **given)


def test_a_record_header_parser_says_how_long_records_are(path):
    path.write_bytes(ebcdic("03abc00----02xy"))
    given = {"record_format": "V", "record_header_parser": f"{__name__}.Headers"}
    assert texts(path, **given) == ["abc", "xy"]
    assert texts(path, rhp_additional_info="whole", **given) == ["03ab", "02xy"]
    path.write_bytes(ebcdic("03abc05xy"))
    with pytest.raises(DatasetError, match=r"record 2, at offset 5: .*5 bytes should follow, 2 are left"):
        read(path, **given)


# schemas -------------------------------------------------------------------------------------------------------------

BOOK = """01 R. 05 COUNT PIC 9(1). 05 GROUP OCCURS 0 TO 2 TIMES DEPENDING ON COUNT. 10 IN-NAME PIC X(3). 05 P-GROUP COMP-3.
    10 FLD1 PIC 9(6)V99. 10 FLD2 REDEFINES FLD1 PIC S9(5). 05 T PIC X(2) OCCURS 3. 05 N PIC S9(4)."""


def fields(source, **given):
    schema = source({"path": "x", "copybook_contents": BOOK, **given}).schema()
    out = {}

    def walk(kind, before):
        for field in getattr(kind, "fields", ()):
            out[before + field.name] = field
            walk(getattr(field.dataType, "elementType", field.dataType), f"{before}{field.name}.")

    walk(schema, "")
    return out


@pytest.mark.parametrize("source", [CobolDataSource, QsamDataSource])
def test_columns_have_metadata(source):
    basic = {name: field.metadata for name, field in fields(source).items()}
    assert basic == {
        "COUNT": {}, "GROUP": {"minElements": 0, "maxElements": 2}, "GROUP.IN_NAME": {"maxLength": 3}, "P_GROUP": {},
        "P_GROUP.FLD1": {}, "P_GROUP.FLD2": {}, "T": {"maxLength": 2, "minElements": 3, "maxElements": 3}, "N": {},
    }  # fmt: skip
    assert all(field.metadata == {} for field in fields(source, metadata="false").values())
    assert fields(source, display_pic_always_string="true")["N"].metadata == {"maxLength": 5}
    extended = {name: field.metadata for name, field in fields(source, metadata="extended").items()}
    assert extended["GROUP.IN_NAME"] == {
        "level": 10, "offset": 1, "byte_size": 3, "originalName": "IN-NAME", "pic": "X(3)", "maxLength": 3
    }  # fmt: skip
    assert extended["P_GROUP.FLD2"] == {
        "level": 10, "offset": 7, "byte_size": 3, "redefines": "FLD1", "usage": "COMP-3", "pic": "S9(5)",
        "precision": 5, "signed": True, "sign_separate": False,
    }  # fmt: skip
    assert extended["GROUP"]["depending_on"] == "COUNT"
    assert extended["P_GROUP.FLD1"]["scale"] == 2


def test_generated_columns_are_never_null():
    flags = {"generate_record_id": "true", "generate_record_bytes": "true", "generate_corrupt_fields": "true"}
    found = fields(CobolDataSource, segment_field="COUNT", segment_id_level0="1", **flags)
    never = [name for name, field in found.items() if not field.nullable]
    assert never == [
        "File_Id", "Record_Id", "Record_Byte_Length", "Record_Bytes", "_corrupt_fields.field_name",
        "_corrupt_fields.raw_value",
    ]  # fmt: skip
    assert not found["_corrupt_fields"].dataType.containsNull
    assert found["Seg_Id0"].metadata == {"maxLength": 65}
    assert "_corrupt_fields.offset" in fields(QsamDataSource, generate_corrupt_fields="true")


def test_spark_has_names_types_and_metadata_of_both_formats(spark, path):
    path.write_bytes(bytes.fromhex("00000300") + ebcdic("abc"))
    reader = spark.read.format("cobol").option("copybook_contents", TEXT).option("record_format", "V")
    frame = reader.option("generate_record_id", "true").load(str(path))
    assert [(field.name, field.nullable, field.metadata) for field in frame.schema.fields] == [
        ("File_Id", False, {}), ("Record_Id", False, {}), ("Record_Byte_Length", False, {}), ("F", True, {"maxLength": 4})
    ]  # fmt: skip
    assert [tuple(row) for row in frame.collect()] == [(0, 0, 3, "abc")]


# writing back --------------------------------------------------------------------------------------------------------

SEGMENTS = """01 R. 05 ID PIC X. 05 A. 10 A1 PIC X(4). 10 FILLER PIC X(4). 10 A2 PIC 9(3) COMP-3. 05 B REDEFINES A.
    10 B1 PIC 9(4) COMP. 10 FILLER PIC X(3). 10 B2 PIC S9V9. 10 C PIC X(3). 10 D REDEFINES C PIC 9(3)."""
RECORDS = [
    ebcdic("1wxyz    ") + bytes.fromhex("123F"),
    ebcdic("2") + bytes.fromhex("0005") + ebcdic("   1J789"),
    ebcdic("1    abcd") + bytes.fromhex("000C"),
    ebcdic("2") + bytes.fromhex("FFFF") + ebcdic(" \x07 1 xyz"),
]
MAPPED = {"segment_field": "ID", "redefine_segment_id_map:0": "A => 1", "redefine_segment_id_map:1": "B => 2"}


def batches(given):
    options = read_options(given)
    reader = ReadPlan.of(options)
    return [batch for split in plan(options) for batch in reader.read(split)]


def test_segments_are_written_back_as_they_were_read(path):
    path.write_bytes(b"".join(RECORDS[:2]))
    given = {"path": str(path), "copybook_contents": SEGMENTS, **MAPPED}
    (batch,) = batches(given)
    assert [row["A"] is None for row in batch.to_pylist()] == [False, True]
    assert RecordEncoder(read_options(given)).encode(batch) == RECORDS[:2]


def test_records_are_written_back_byte_for_byte_but_for_what_changed(path, tmp_path):
    path.write_bytes(b"".join(RECORDS))
    given = {"path": str(path), "copybook_contents": SEGMENTS, **MAPPED, "generate_record_bytes": "true"}
    found = batches(given)
    target = tmp_path / "target"
    onto = read_options(given | {"path": str(target), "write_onto_record_bytes": "true"})
    writer = PartWriter(onto, found[0].schema)
    commit_parts(onto, [writer.write(found, 0)], overwrite=True)
    assert target.read_bytes() == path.read_bytes()
    rows = [row for batch in found for row in batch.to_pylist()]
    rows[0]["A"]["A2"] = 45
    rows[3]["B"]["D"], rows[3]["B"]["C"] = 42, None
    changed = pa.RecordBatch.from_pylist(rows, schema=found[0].schema)
    assert RecordEncoder(onto).encode(changed) == [
        RECORDS[0][:-2] + bytes.fromhex("045F"), *RECORDS[1:3], RECORDS[3][:-3] + ebcdic("042")
    ]  # fmt: skip
    with pytest.raises(DatasetError, match="needs the column Record_Bytes"):
        PartWriter(onto, pa.schema([field for field in found[0].schema if field.name != "Record_Bytes"]))


def test_one_occurrence_of_a_group_is_written_onto_the_bytes_of_the_record(path, tmp_path):
    copybook = "01 R. 05 G OCCURS 2. 10 N PIC S9(3) COMP-3. 10 T PIC X(2)."
    record = bytes.fromhex("001C") + ebcdic("ab") + bytes.fromhex("002F") + ebcdic("cd")  # X'F' is no sign of +2
    path.write_bytes(record)
    given = {"path": str(path), "copybook_contents": copybook, "generate_record_bytes": "true"}
    (batch,) = batches(given)
    (row,) = batch.to_pylist()
    row["G"][0]["N"] = 7
    onto = read_options(given | {"path": str(tmp_path / "target"), "write_onto_record_bytes": "true"})
    changed = pa.RecordBatch.from_pylist([row], schema=batch.schema)
    assert RecordEncoder(onto).encode(changed) == [bytes.fromhex("007C") + record[2:]]


TRIMMED = """01 R. 05 BODY PIC X(12). 05 NUMS REDEFINES BODY. 10 N PIC 9(4) COMP. 10 P PIC S9(3) COMP-3. 10 FILLER PIC X(4).
    10 T PIC X(4)."""


@pytest.mark.parametrize("policy", ["both", "left", "right", "none"])
def test_a_text_whose_left_characters_were_trimmed_does_not_contradict_the_fields_that_share_its_bytes(path, policy):
    """BODY begins with X'0001040C' and X'0203123C': control characters, which the numbers say."""
    records = [bytes.fromhex("0001040C 40404040") + ebcdic("0007"), bytes.fromhex("0203005C 40404040") + ebcdic("ABCD")]
    path.write_bytes(b"".join(records))
    given = {"path": str(path), "copybook_contents": TRIMMED, "string_trimming_policy": policy}
    (batch,) = batches(given)
    assert RecordEncoder(read_options(given)).encode(batch) == records
    rows = batch.to_pylist()
    assert rows[0]["BODY"].strip()[-4:] == "0007"
    rows[0]["BODY"] = rows[0]["BODY"][:-1] + "8"
    changed = pa.RecordBatch.from_pylist(rows, schema=batch.schema)
    with pytest.raises(ConversionError, match=r"record 1: BODY: .* contradicts another field"):
        RecordEncoder(read_options(given)).encode(changed)


EXPORT = """01 R. 05 KIND PIC X. 05 STAMP PIC X(26). 05 NUMBER-OF PIC 9(9) COMP. 05 BRANCH PIC X(9). 05 BODY PIC X(460).
    05 CUSTOMER REDEFINES BODY. 10 CUSTOMER-ID PIC 9(9) COMP. 10 NAMES PIC X(25) OCCURS 3. 10 ADDRESS-LINE PIC X(50) OCCURS 3.
       10 FILLER PIC X(94). 10 SCORE PIC 9(3) COMP-3. 10 FILLER PIC X(135).
    05 ACCOUNT REDEFINES BODY. 10 ACCOUNT-ID PIC 9(11). 10 ACTIVE PIC X. 10 BALANCE PIC S9(10)V99 COMP-3.
       10 CREDIT PIC S9(10)V99. 10 FILLER PIC X(429).
    05 POSTING REDEFINES BODY. 10 POSTING-ID PIC X(16). 10 KIND-OF PIC XX. 10 FILLER PIC X(114). 10 AMOUNT PIC S9(9)V99 COMP-3.
       10 MERCHANT PIC 9(9) COMP. 10 FILLER PIC X(318).
    05 LINK REDEFINES BODY. 10 CARD-NUMBER PIC X(16). 10 OF-CUSTOMER PIC 9(9). 10 FILLER PIC X(435).
    05 CARD REDEFINES BODY. 10 CARD-NUMBER PIC X(16). 10 OF-ACCOUNT PIC 9(11) COMP. 10 FILLER PIC X(436)."""
SEGMENTS_OF_EXPORT = {"CUSTOMER": "C", "ACCOUNT": "A", "POSTING": "T", "LINK": "X", "CARD": "D"}


@pytest.mark.parametrize("cobrix", [True, False])
def test_a_real_export_of_many_segments_is_written_back_byte_for_byte(tmp_path, cobrix):
    source = DATA / "carddemo" / "CARDDEMO.EXPORT.DATA.PS"
    if not source.is_file():
        pytest.skip(f"the real data set {source} is not on this machine (TDQ_DATA says where they are)")
    maps = {
        f"redefine_segment_id_map:{at}": f"{name} => {kind}"
        for at, (name, kind) in enumerate(SEGMENTS_OF_EXPORT.items())
    }
    given = {
        "path": str(source),
        "copybook_contents": EXPORT,
        "segment_field": "KIND",
        "generate_record_bytes": "true",
        **maps,
    }
    options = read_options(given, cobrix=cobrix)
    found = [batch for split in plan(options) for batch in ReadPlan.of(options).read(split)]
    rows = [row for batch in found for row in batch.to_pylist()]
    assert [sum(row[name] is not None for row in rows) for name in SEGMENTS_OF_EXPORT] == [50, 50, 300, 50, 50]
    assert {row["POSTING"]["KIND_OF"] for row in rows if row["POSTING"]} == {"01", "03"}
    onto = read_options(given | {"path": str(tmp_path / "out"), "write_onto_record_bytes": "true"}, cobrix=cobrix)
    commit_parts(onto, [PartWriter(onto, found[0].schema).write(found, 0)], overwrite=True)
    assert (tmp_path / "out").read_bytes() == source.read_bytes()


def test_what_would_be_read_otherwise_is_not_written(path):
    rows = pa.schema([("F", pa.string())])
    given = {"path": str(path), "copybook_contents": TEXT}
    spanned = given | {"record_format": "VBS", "is_rdw_big_endian": "false"}
    with pytest.raises(DatasetError, match="VS and VBS need is_rdw_big_endian=true"):
        PartWriter(read_options(spanned), rows)
    with pytest.raises(DatasetError, match="record_header_parser: a write does not know the headers of your parser"):
        PartWriter(read_options(given | {"record_header_parser": "mine:parser"}), rows)
    options = read_options(given | {"record_format": "V"}, cobrix=True)
    batch = pa.RecordBatch.from_pylist([{"F": "abcd"}, {"F": "x"}])
    commit_parts(options, [PartWriter(options, rows).write([batch], 0)], overwrite=True)
    assert texts(path, record_format="V") == ["abcd", "x"]


def test_every_option_of_cobrix_is_on_the_page_for_its_users():
    page = (resources.files("tdqsim") / "guide" / "coming-from-cobrix.md").read_text("utf-8")
    for row in table("qsam_options"):
        assert row["status"] == "own" or f"`{row['option']}`" in page, row["option"]


def test_segment_ids_of_children_begin_anew_under_each_root(path):
    path.write_bytes(ebcdic("PaCbCcPdCe"))
    levels = {"segment_id_level0": "P", "segment_id_level1": "C", "segment_id_prefix": "ID"}
    rows = read(path, "01 R. 05 K PIC X. 05 F PIC X.", segment_field="K", **levels)
    assert [row["Seg_Id1"] for row in rows] == [None, "ID_0_0_L1_1", "ID_0_0_L1_2", None, "ID_0_3_L1_1"]
