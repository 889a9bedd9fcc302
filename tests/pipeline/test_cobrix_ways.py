# ruff: noqa: E402 - what the extra brings is imported after asking for it
"""What people who come from Cobrix expect of a read: names, types and values as they are there.

Every expectation is written by hand from what Cobrix does; none of its data is used.
"""

from __future__ import annotations

import bz2
import gzip
from decimal import Decimal

import pytest

np = pytest.importorskip("numpy", reason="the extra tdqsim[spark] is not installed")
pa = pytest.importorskip("pyarrow", reason="the extra tdqsim[spark] is not installed")

from tdqsim.core.codepage import codepage, known_codepages
from tdqsim.datasets import Dcb, RecordFormat, write_records
from tdqsim.errors import ConversionError, DatasetError, LayoutError
from tdqsim.layouts import Rules, parse_copybook
from tdqsim.pipeline import splits
from tdqsim.pipeline.decoder import RecordDecoder
from tdqsim.pipeline.encoder import RecordEncoder
from tdqsim.pipeline.options import read_options
from tdqsim.pipeline.shape import Shape
from tdqsim.pipeline.source import ReadPlan
from tdqsim.pipeline.splits import plan
from tdqsim.pipeline.writer import PartWriter, commit_parts
from tests.pipeline.batches import fixed_batch


def decoded(copybook, *records, rules=None, **shape):
    """The records as a batch of columns."""
    layout = parse_copybook(copybook, rules=rules).record()
    decoder = RecordDecoder(layout, Shape(**shape))
    return fixed_batch(decoder, b"".join(records), layout.length)


# code pages ---------------------------------------------------------------------------------------------------------

TEXTS = "01 R. 05 A PIC X(4). 05 B PIC X(2)."


def texts(page, *records, policy="both"):
    rules = Rules(code_page=page)
    layout = parse_copybook(TEXTS, rules=rules).record()
    found = decoded(TEXTS, *records, rules=rules, string_trimming_policy=policy).to_pylist()
    if policy == "none":
        assert found == [layout.decode_with_corrupt(record)[0] for record in records]
    return [row["A"] for row in found]


@pytest.mark.parametrize(
    ("page", "policy", "expected"),
    [
        ("037", "both", ["A\x07B\x9f", "é\x00\x9f\x9f"]),
        ("037_text", "none", ["A B ", "é   "]),
        ("037_text", "both", ["A B", "é"]),
        ("037_text", "right", ["A B", "é"]),
        ("037_extended", "none", ["A\x07B ", "é\x00  "]),
        ("037_extended", "both", ["A\x07B", "é"]),
        ("500_text", "none", ["A\x07B ", "é\x00  "]),
        ("common", "none", ["A B ", "    "]),
        ("common", "both", ["A B", ""]),
        ("common_extended", "none", ["A\x07B ", " \x00  "]),
    ],
)
def test_control_characters_are_blanks_where_the_page_says_so(page, policy, expected):
    records = [bytes.fromhex("C12FC2FF 4040"), bytes.fromhex("5100FFFF 4040")]
    assert texts(page, *records, policy=policy) == expected


def test_what_is_kept_depends_on_the_page():
    every = bytes(range(256))
    for ccsid, kept in [
        (37, {0x0D, 0x15, 0x25, 0x41, 0xCA}), (1047, {0x0D, 0x25}), (870, {0x0D, 0x25}), (1160, {0x0D, 0x25}),
    ]:  # fmt: skip
        read, whole = codepage(f"{ccsid:03d}_text").decode(every), codepage(ccsid).decode(every)
        hidden = {byte for byte in range(256) if not whole[byte].isprintable() and byte != 0x40}
        assert {byte for byte in hidden if read[byte] != " "} == kept
        assert all(read[byte] == whole[byte] for byte in set(range(256)) - hidden)
    for name in ("273_text", "1141_TEXT", "cp037_extended", "IBM-1047-extended"):
        read = codepage(name).decode(every)
        assert read[0x25] == "\n"
        assert read[0x05] == "\t"
        assert read[0x04] == read[0xFF] == read[0x20] == " "


def test_cr_and_lf_are_those_of_the_machine_in_every_page():
    for ccsid in known_codepages():
        if codepage(ccsid).kind == "EBCDIC":
            for name in (f"{ccsid}", f"{ccsid}_text", f"{ccsid}_extended", "common", "common_extended"):
                assert codepage(name).decode(b"\x0d\x25") == "\r\n"


def test_the_page_common_extended_has_the_control_characters_that_cobrix_gives_it():
    substituted = bytes.fromhex("0406 08090A 1415 17 1A1B")
    page = codepage("common_extended")
    assert page.decode(substituted) == "\x1a" * 10
    assert page.decode(bytes.fromhex("07 20242B 303F 41FF")) == " " * 8  # DEL and SUB too
    assert page.decode(bytes.fromhex("00 05 0B 16 18 1C 26 2D 37 3D")) == "\x00\t\x0b\x08\x18\x1c\x17\x05\x04\x15"
    with pytest.raises(ConversionError, match="is not in code page 037_common_extended"):
        page.encode("\x1a")


def test_the_macron_of_page_273():
    assert codepage(273).decode(b"\xbc") == codepage(1141).decode(b"\xbc") == "\xaf"
    assert codepage(273).encode("\xaf§ß") == bytes.fromhex("BC7CA1")


def test_text_is_written_as_by_the_whole_page():
    for name in ("037_text", "037_extended"):
        page = codepage(name)
        assert page.encode("é \n\x00") == bytes.fromhex("51402500")
        assert (page.ccsid, page.space, page.kind) == (37, 0x40, "EBCDIC")
        assert codepage(819).convert(b"A B", page) == bytes.fromhex("C140C2")
        assert codepage(name) is page
    assert codepage("common").convert(bytes.fromhex("C1C251"), codepage(367)) == b"AB "
    assert codepage("common").encode("A [\n¦") == bytes.fromhex("C140BA256A")
    assert codepage("common_extended").encode("\x00") == b"\x00"
    for lost in ("é", "\x00", "\xa0"):
        with pytest.raises(ConversionError, match="is not in code page 037_common"):
            codepage("common").encode(lost)


@pytest.mark.parametrize("name", ["latin-1_text", "_text", "99999_extended", "037_blank", "text", "extended"])
def test_ways_of_reading_that_there_are_not(name):
    with pytest.raises(ConversionError, match="unknown code page"):
        codepage(name)


def test_national_pages_typed_from_the_code_charts():
    assert codepage(274).encode("é{ù}[]") == bytes.fromhex("C0516A544A5A")
    assert codepage(275).encode("ÉÇ$ãÕ") == bytes.fromhex("4A5B5A797B")
    assert codepage(1160).encode("€") == b"\xfe"
    assert codepage(924).encode("€Š") == bytes.fromhex("9F6A")
    assert codepage(1153).encode("€") == codepage(1155).encode("€") == b"\x9f"
    assert codepage(1154).encode("€") == b"\xe1"
    assert codepage(880).kind == "EBCDIC"


# names and types ----------------------------------------------------------------------------------------------------


def schema_of(copybook, **given):
    reader = ReadPlan.of(read_options({"copybook_contents": copybook, **given}))
    return {field.name: str(field.type) for field in reader.full}


@pytest.mark.parametrize(
    ("copybook", "names"),
    [
        ("05 A. 10 B PIC X. 10 C PIC X. 05 D. 10 E PIC X.", ["B", "C", "E"]),
        ("03 A. 05 B PIC X. 03 D OCCURS 2. 05 E PIC X.", ["B", "D"]),
        ("05 A. 10 B PIC X. 05 C PIC X.", ["A", "C"]),
        ("01 A. 05 B PIC X. 01 C. 05 D PIC X.", ["B", "D"]),
        ("01 A. 05 B PIC X. 01 C PIC X.", ["A", "C"]),
        ("01 R. 05 A. 10 B PIC X.", ["A"]),
    ],
)
def test_groups_at_the_root_are_dissolved_where_there_is_nothing_else(copybook, names):
    assert list(schema_of(copybook)) == names


def test_groups_at_the_root_stay_when_asked():
    given = {"schema_retention_policy": "keep_original"}
    assert list(schema_of("05 A. 10 B PIC X. 05 D. 10 E PIC X.", **given)) == ["A", "D"]
    assert list(schema_of("01 R. 05 A. 10 B PIC X.", **given)) == ["R"]


@pytest.mark.parametrize(
    ("copybook", "policy"),
    [
        ("05 A. 10 B PIC X. 10 C PIC 99. 05 D. 10 E PIC X(3).", "collapse_root"),
        ("05 A. 10 B PIC X. 10 C PIC 99. 05 D. 10 E PIC X(3).", "keep_original"),
        ("05 A. 10 B PIC X. 10 C PIC 99. 05 D REDEFINES A. 10 E PIC X(3).", "collapse_root"),
        ("05 A. 10 B PIC X. 10 C PIC 99. 05 E PIC X(3).", "collapse_root"),
    ],
)
def test_what_was_dissolved_is_written_back(copybook, policy):
    chosen = read_options({"copybook_contents": copybook, "schema_retention_policy": policy})
    record = "x12abc"[: chosen.layout.length].encode("cp037")
    batch = fixed_batch(RecordDecoder(chosen.layout, chosen.shape), record, len(record))
    assert RecordEncoder(chosen).encode(batch) == [record]


@pytest.mark.parametrize(
    ("clauses", "kind", "strict"),
    [
        ("PIC 9(3)PP", "decimal128(5, 0)", "decimal128(5, 0)"),
        ("PIC 9(15)P", "decimal128(16, 0)", "decimal128(16, 0)"),
        ("PIC S9(3)PP COMP-3", "decimal128(5, 0)", "decimal128(5, 0)"),
        ("PIC 9(2)PP COMP", "decimal128(4, 0)", "decimal128(4, 0)"),
        ("PIC VPP99", "decimal128(4, 4)", "decimal128(4, 4)"),
        ("PIC 9(4) COMP", "int32", "decimal128(4, 0)"),
        ("PIC S9(9) COMP", "int32", "decimal128(9, 0)"),
        ("PIC 9(9) COMP", "int64", "decimal128(9, 0)"),
        ("PIC S9(18) COMP-5", "int64", "decimal128(18, 0)"),
        ("PIC 9(18) COMP", "decimal128(20, 0)", "decimal128(18, 0)"),
        ("PIC 9(7)", "int32", "decimal128(7, 0)"),
        ("PIC 9(20)", "decimal128(20, 0)", "decimal128(20, 0)"),
        ("PIC 9(5)V99", "decimal128(7, 2)", "decimal128(7, 2)"),
        ("PIC ZZ9", "int32", "decimal128(3, 0)"),
    ],
)
def test_types_of_numbers(clauses, kind, strict):
    copybook = f"01 R. 05 A {clauses}."
    assert schema_of(copybook) == {"A": kind}
    assert schema_of(copybook, strict_integral_precision="true") == {"A": strict}


def test_numbers_with_zeros_behind_them():
    copybook = "01 R. 05 A PIC 9(3)PP. 05 B PIC S9(3)PPP COMP-3. 05 C PIC 9(2)PP COMP. 05 D PIC 9(15)P."
    record = bytes.fromhex("F0F1F2 123D 0007") + b"\xf1" * 15
    row = decoded(copybook, record).to_pylist()[0]
    assert row == {"A": Decimal(1200), "B": Decimal(-123000), "C": Decimal(700), "D": Decimal(1111111111111110)}


def test_binary_numbers_of_more_digits_than_their_picture_are_null_where_that_is_strict():
    copybook = "01 R. 05 A PIC 9(2) COMP. 05 B PIC S9(4) COMP-5."
    records = [bytes.fromhex("0063 270F"), bytes.fromhex("0064 8000")]
    assert decoded(copybook, *records).to_pylist() == [{"A": 99, "B": 9999}, {"A": 100, "B": -32768}]
    found = decoded(copybook, *records, strict_integral_precision=True).to_pylist()
    assert found == [{"A": 99, "B": 9999}, {"A": None, "B": None}]


FILLERS = """01 REC. 05 FILLER PIC X. 05 FIELD-1 PIC X. 05 FILLER PIC X. 05 FILLER PIC XX. 05 B-GROUP. 10 FILLER PIC X.
             10 C PIC X. 05 FILLER. 10 FILLER PIC X. 10 E PIC X. 05 F PIC X."""


def test_fillers_are_called_after_what_is_before_them():
    given = {"filler_naming_policy": "previous_field_name", "drop_value_fillers": "false"}
    named = schema_of(FILLERS, **given)
    assert list(named) == [
        "FILLER_AFTER_REC", "FIELD_1", "FILLER_AFTER_FIELD_1", "FILLER_AFTER_FILLER_AFTER_FIELD_1", "B_GROUP",
        "FILLER_AFTER_B_GROUP", "F",
    ]  # fmt: skip
    assert named["B_GROUP"] == "struct<FILLER_AFTER_B_GROUP: string, C: string>"
    assert named["FILLER_AFTER_B_GROUP"] == "struct<FILLER_AFTER_FILLER: string, E: string>"
    numbered = schema_of(FILLERS, drop_value_fillers="false")
    assert list(numbered) == ["FILLER_P1", "FIELD_1", "FILLER_P2", "FILLER_P3", "B_GROUP", "FILLER_1", "F"]


def test_fillers_behind_fillers_that_are_left_out_have_names_of_their_own():
    copybook = "01 R. 05 FILLER PIC X. 05 FILLER. 10 A PIC X. 05 FILLER PIC X. 05 FILLER. 10 A PIC X."
    named = schema_of(copybook, filler_naming_policy="previous_field_name")
    assert list(named) == ["FILLER_AFTER_FILLER", "FILLER_AFTER_FILLER_2"]


def test_numbers_kept_as_text():
    copybook = "01 R. 05 A PIC 9(3). 05 B PIC S9(3)V9. 05 C PIC 9(2)P. 05 D PIC 9(4) COMP. 05 E PIC 9(3) COMP-3."
    assert schema_of(copybook, display_pic_always_string="true") == {
        "A": "string", "B": "decimal128(4, 1)", "C": "decimal128(3, 0)", "D": "int32", "E": "int32",
    }  # fmt: skip
    chosen = read_options({"copybook_contents": copybook, "display_pic_always_string": "true"})
    record = bytes.fromhex("F0F4F2 F0F1F2D3 F1F2 0007 123F")
    batch = fixed_batch(RecordDecoder(chosen.layout, chosen.shape), record, len(record))
    assert batch.to_pylist() == [{"A": "042", "B": Decimal("-12.3"), "C": Decimal(120), "D": 7, "E": 123}]
    assert RecordEncoder(chosen).encode(batch) == [record]
    wrong = batch.set_column(0, "A", pa.array(["4x2"]))
    with pytest.raises(ConversionError, match="record 1: A: '4x2' does not fit"):
        RecordEncoder(chosen).encode(wrong)


# segments -----------------------------------------------------------------------------------------------------------

KINDS = "01 R. 05 KIND PIC X. 05 ID PIC 9."


def read(path, copybook, **given):
    """The rows of a file, read part by part without Spark."""
    chosen = read_options({"path": str(path), "copybook_contents": copybook, **given})
    reader = ReadPlan.of(chosen)
    return [row for split in plan(chosen) for batch in reader.read(split) for row in batch.to_pylist()]


def seg_ids(tmp_path, kinds, **levels):
    path = tmp_path / "data"
    path.write_bytes("".join(f"{kind}{number % 10}" for number, kind in enumerate(kinds)).encode("cp037"))
    rows = read(path, KINDS, segment_field="KIND", segment_id_prefix="P", **levels)
    return [(row["KIND"], *(value for name, value in row.items() if name.startswith("Seg_Id"))) for row in rows]


@pytest.mark.parametrize("mark", ["_", "*"])
@pytest.mark.parametrize("size", ["", "3"])
def test_the_last_level_may_be_all_other_segments(tmp_path, mark, size):
    more = {"input_split_records": size} if size else {}
    found = seg_ids(tmp_path, "RAXRBB", segment_id_level0="R", segment_id_level1="A", segment_id_level2=mark, **more)
    assert found == [
        ("R", "P_0_0", None, None),
        ("A", "P_0_0", "P_0_0_L1_1", None),
        ("X", "P_0_0", "P_0_0_L1_1", "P_0_0_L2_1"),
        ("R", "P_0_3", None, None),
        ("B", "P_0_3", "P_0_3_L1_0", "P_0_3_L2_1"),
        ("B", "P_0_3", "P_0_3_L1_0", "P_0_3_L2_2"),
    ]


def test_every_record_is_a_root_where_the_only_level_is_all_segments(tmp_path):
    assert seg_ids(tmp_path, "AB", segment_id_root="_") == [("A", "P_0_0"), ("B", "P_0_1")]


def test_records_below_a_root_that_there_is_not(tmp_path):
    found = seg_ids(tmp_path, "ARA", segment_id_level0="R", segment_id_level1="A")
    assert found == [("A", "", "_L1_1"), ("R", "P_0_1", None), ("A", "P_0_1", "P_0_1_L1_1")]


def test_unsigned_binary_numbers_with_their_top_bit_set():
    copybook = "01 R. 05 A PIC 9(4) COMP. 05 B PIC 9(8) COMP. 05 C PIC 9(9) COMP."
    record = bytes.fromhex("FFFE 80000000 80000000")
    assert decoded(copybook, record).to_pylist() == [{"A": 65534, "B": None, "C": 2147483648}]


def test_packed_numbers_of_a_digit_too_many():
    copybook = "01 R. 05 A PIC S9(38) COMP-3."
    layout = parse_copybook(copybook).record()
    digits = "81234567890123456789012345678901234567"
    records = [bytes.fromhex(f"{first}{digits}D") for first in "05394"]
    found = decoded(copybook, *records).to_pylist()
    assert found == [{"A": -int(digits)}, *[{"A": None}] * 4]
    assert found == [layout.decode_with_corrupt(record)[0] for record in records]


def test_many_digits_with_zeros_behind_them():
    copybook = "01 R. 05 A PIC S9(17)PPP. 05 B PIC S9(17)PPP COMP-3. 05 C PIC S9(9)P(12) COMP. 05 D PIC S9(20)PP."
    digits = "69881731261689377"
    record = bytes.fromhex("".join(f"F{digit}" for digit in digits[:-1]) + "D7" + digits + "D" + "FFFFFFF9")
    record += bytes.fromhex("F1" * 19 + "C2")
    row = decoded(copybook, record).to_pylist()[0]
    assert row["A"] == row["B"] == -int(digits) * 1000
    assert row["C"] == -7 * 10**12
    assert row["D"] == int("1" * 19 + "2") * 100
    assert row == parse_copybook(copybook).record().decode(record)


def test_binary_numbers_of_more_digits_than_their_column_with_zeros_behind_them():
    copybook = "01 R. 05 A PIC 9(2)PP COMP. 05 B PIC S9(9)P(12) COMP."
    records = [bytes.fromhex("0063 00000001"), bytes.fromhex("0064 7FFFFFFF"), bytes.fromhex("FFFF 80000000")]
    layout = parse_copybook(copybook).record()
    found = fixed_batch(RecordDecoder(layout, corrupt=True), b"".join(records), 6)
    found.validate(full=True)
    assert found["A"].to_pylist() == [9900, None, None]
    assert found["B"].to_pylist() == [10**12, None, None]
    assert [[bad["field_name"] for bad in row] for row in found["_corrupt_fields"].to_pylist()] == [
        [],
        ["A", "B"],
        ["A", "B"],
    ]


@pytest.mark.parametrize(
    ("clauses", "data", "expected"),
    [
        ("PIC S9(3)", "F0F2C0 F0F2D0 F0F2F0 404040 000000 40F2C0 F0F0D0 F06FF1", ["+020", "-020", "020", None, None, "+20", "-000", None]),
        ("PIC 9(3)", "F0F2F0 F0F2C0 F0F2D0 F140F2", ["020", None, None, "12"]),
        ("PIC S9(3) SIGN LEADING", "C0F2F1 D0F2F1 F0F2F1 40C2F1", ["+021", "-021", "021", "+21"]),
        ("PIC S9(3) SIGN LEADING SEPARATE", "4EF0F2F1 60F0F2F1 40F0F2F1 4E404040", ["+021", "-021", "021", None]),
        ("PIC S9(3) SIGN TRAILING SEPARATE", "F0F2F14E F0F2F160", ["+021", "-021"]),
        ("PIC S9(20)", "F1" * 19 + "D2", ["-" + "1" * 19 + "2"]),
        ("PIC ZZ9", "4040F7 F0F1F2", ["7", "012"]),
        ("PIC +9(3)", "4EF0F4F2 60F0F4F2", ["+042", "-042"]),
    ],
)  # fmt: skip
def test_the_digits_of_display_numbers(clauses, data, expected):
    copybook = f"01 R. 05 A {clauses}. 05 B PIC X."
    records = [bytes.fromhex(word) + b"\x40" for word in data.split()]
    rules = Rules(numbers="Cobrix")
    found = decoded(copybook, *records, rules=rules, display_pic_always_string=True)
    found.validate(full=True)
    assert found["A"].to_pylist() == expected
    nested = f"01 R. 05 T OCCURS 1. 10 N PIC 9. 10 U PIC X OCCURS 0 TO 2 DEPENDING ON N. 05 A {clauses}."
    moving = RecordDecoder(parse_copybook(nested, rules=rules).record(), Shape(display_pic_always_string=True))
    rows = [fixed_batch(moving, b"\xf1\xc1" + record[:-1], len(record) + 1).to_pylist()[0]["A"] for record in records]
    assert rows == expected


def test_the_digits_of_ascii_display_numbers():
    rules = Rules(code_page="ascii", numbers="Cobrix")
    copybook = "01 R. 05 A PIC S9(3). 05 B PIC 9(2)."
    found = decoded(copybook, b"02{07", b"02K7 ", b"021  ", rules=rules, display_pic_always_string=True).to_pylist()
    assert found == [{"A": "+020", "B": "07"}, {"A": "-022", "B": "7"}, {"A": "021", "B": None}]


def test_the_digits_of_display_numbers_by_the_rules_of_ibm():
    records = [bytes.fromhex(data) for data in ("40F2C0", "F140D2", "F0F2A1", "F0F2B1", "F0F240")]
    found = decoded("01 R. 05 A PIC S9(3).", *records, display_pic_always_string=True)
    assert found["A"].to_pylist() == ["+20", "-102", "021", "-021", None]


def test_digits_of_display_numbers_and_what_is_no_number():
    layout = parse_copybook("01 R. 05 A PIC S9(3).").record()
    decoder = RecordDecoder(layout, Shape(display_pic_always_string=True), corrupt=True)
    data = bytes.fromhex("F0F2C0 F0C2C1")
    batch = decoder.decode(data, np.array([0, 3, 4]), np.array([3, 3, 2]))
    assert batch["A"].to_pylist() == ["+020", None, None]
    assert [[bad["raw_value"].hex() for bad in row] for row in batch["_corrupt_fields"].to_pylist()] == [
        [],
        ["f0c2c1"],
        [],
    ]


def test_records_before_the_first_root_are_left_out(tmp_path):
    levels = {"segment_id_level0": "R", "segment_id_level1": "A"}
    found = seg_ids(tmp_path, "XYRXAY", **levels)
    assert found == [
        ("R", "P_0_2", None), ("X", "P_0_2", None), ("A", "P_0_2", "P_0_2_L1_1"), ("Y", "P_0_2", "P_0_2_L1_1"),
    ]  # fmt: skip
    assert seg_ids(tmp_path, "XYRXAY", **levels, input_split_records="1") == found
    assert seg_ids(tmp_path, "XY", **levels) == []
    ids = read(tmp_path / "data", KINDS, segment_field="KIND", generate_record_id="true", **levels)
    assert ids == []


@pytest.mark.parametrize(
    ("levels", "words"),
    [
        ({"segment_id_level0": "_", "segment_id_level1": "A"}, "segment_id_level0: _ .* for the last level"),
        ({"segment_id_level0": "A", "segment_id_level1": "B,*"}, "segment_id_level1: .* stands alone"),
    ],
)
def test_all_other_segments_are_the_last_level_alone(levels, words):
    with pytest.raises(DatasetError, match=words):
        read_options({"segment_field": "KIND", **levels})


NESTED = """01 R. 05 KIND PIC X. 05 BODY. 10 COMPANY. 15 NAME PIC X(4). 10 PERSON REDEFINES COMPANY. 15 AGE PIC 9(4).
            10 PLACE REDEFINES COMPANY. 15 P PIC XX OCCURS 2. 05 Z PIC X."""
NESTED_MAP = {
    "segment_field": "KIND", "redefine_segment_id_map:0": "COMPANY => C,D", "redefine-segment-id-map:1": "PERSON => P",
    "redefine-segment-id-map:2": "PLACE => L",
}  # fmt: skip


def test_redefinitions_inside_other_groups(tmp_path):
    path = tmp_path / "data"
    path.write_bytes("CacmezP0042zLabcdzXabcdzD    zP00x2z".encode("cp037"))
    company, person, place = ({"COMPANY": None, "PERSON": None, "PLACE": None} | found for found in (
        {"COMPANY": {"NAME": "acme"}}, {"PERSON": {"AGE": 42}}, {"PLACE": {"P": ["ab", "cd"]}},
    ))  # fmt: skip
    expected = [
        company, person, place, person | {"PERSON": None}, company | {"COMPANY": {"NAME": ""}}, person | {"PERSON": {"AGE": None}},
    ]  # fmt: skip
    rows = read(path, NESTED, **NESTED_MAP)
    assert [row["BODY"] for row in rows] == expected
    assert [row["Z"] for row in rows] == ["z"] * 6
    corrupt = read(path, NESTED, **NESTED_MAP, generate_corrupt_fields="true")
    assert [len(row["_corrupt_fields"]) for row in corrupt] == [0, 0, 0, 0, 0, 1]
    assert len(read(path, NESTED, **NESTED_MAP, mode="dropmalformed")) == 5
    flat = read(path, NESTED, **NESTED_MAP, flatten="true")
    assert flat[1] == {
        "KIND": "P", "BODY_COMPANY_NAME": None, "BODY_PERSON_AGE": 42, "BODY_PLACE_P_1": None, "BODY_PLACE_P_2": None, "Z": "z",
    }  # fmt: skip


def test_redefinitions_in_tables(tmp_path):
    path = tmp_path / "data"
    path.write_bytes("A12B34".encode("cp037"))
    copybook = "01 R. 05 K PIC X. 05 T OCCURS 2. 10 U. 15 N PIC 9. 10 V REDEFINES U. 15 X PIC X."
    rows = read(
        path, copybook, segment_field="K", redefine_segment_id_map="U => A", **{"redefine-segment-id-map:1": "V => B"}
    )
    assert rows[0]["T"] == [{"U": {"N": 1}, "V": None}, {"U": {"N": 2}, "V": None}]
    assert rows[1]["T"] == [{"U": None, "V": {"X": "3"}}, {"U": None, "V": {"X": "4"}}]


def test_a_redefinition_that_there_is_not_is_named():
    with pytest.raises(DatasetError, match="no column and no field is called nope"):
        ReadPlan.of(
            read_options({"copybook_contents": NESTED, "segment_field": "KIND", "redefine_segment_id_map": "NOPE => A"})
        )
    text = "01 R. 05 K PIC X. 05 G. 10 A. 15 N PIC 9. 10 B REDEFINES A PIC X. 05 T PIC X OCCURS 0 TO 9 DEPENDING ON N."
    with pytest.raises(DatasetError, match="the number of T is in A"):
        ReadPlan.of(
            read_options({"copybook_contents": text, "segment_field": "K", "redefine_segment_id_map": "A => A"})
        )


def test_redefinitions_where_the_root_is_kept(tmp_path):
    path = tmp_path / "data"
    path.write_bytes("CacmezP0042z".encode("cp037"))
    rows = read(path, NESTED, **NESTED_MAP, schema_retention_policy="keep_original")
    assert rows[0]["R"]["BODY"] == {"COMPANY": {"NAME": "acme"}, "PERSON": None, "PLACE": None}
    assert rows[1]["R"]["BODY"] == {"COMPANY": None, "PERSON": {"AGE": 42}, "PLACE": None}
    assert rows[1]["R"]["KIND"] == "P"


# files --------------------------------------------------------------------------------------------------------------

RECORD = "01 R. 05 A PIC X(3). 05 N PIC 9(3)."


def packed(kind, data):
    if kind == "gz":
        return gzip.compress(data[:7]) + gzip.compress(data[7:])  # a file of several members, as some tools make it
    if kind == "bz2":
        return bz2.compress(data)
    return pa.compress(data, codec="zstd", asbytes=True)


@pytest.mark.parametrize("kind", ["gz", "bz2", "zst"])
@pytest.mark.parametrize("record_format", ["F", "VB", "V", "D"])
def test_compressed_files_are_read_as_if_they_were_not(tmp_path, kind, record_format):
    many = [
        f"ab{number % 10}{number % 1000:03d}".encode("ascii" if record_format == "D" else "cp037")
        for number in range(3000)
    ]
    forms = {
        "F": Dcb(RecordFormat.F, lrecl=6), "VB": Dcb(RecordFormat.VB, lrecl=20, blksize=100), "V": Dcb(RecordFormat.RDW),
        "D": Dcb(RecordFormat.LF),
    }  # fmt: skip
    plain = tmp_path / "plain"
    write_records(plain, many, forms[record_format])
    path = tmp_path / f"data.{kind}"
    path.write_bytes(packed(kind, plain.read_bytes()))
    given = {"record_format": record_format, "generate_record_id": "true", "input_split_records": "100"}
    rows = read(path, RECORD, **given)
    assert [(row["Record_Id"], row["N"]) for row in rows] == [(number, number % 1000) for number in range(3000)]
    chosen = read_options({"path": str(path), "copybook_contents": RECORD, **given})
    assert len(plan(chosen)) == 1
    some = read(
        path,
        RECORD,
        record_format=record_format,
        file_start_offset="0" if record_format == "VB" else str(len(plain.read_bytes()) // 3000),
    )
    assert len(some) == (3000 if record_format == "VB" else 2999)


def test_compressed_files_that_are_damaged_or_of_another_kind(tmp_path):
    path = tmp_path / "data.gz"
    path.write_bytes(packed("gz", b"\xc1" * 600)[:-15])
    with pytest.raises(DatasetError, match=r"data\.gz: cannot be read"):
        read(path, RECORD)
    path.write_bytes(b"\xc1" * 600)
    with pytest.raises(DatasetError, match=r"data\.gz: cannot be read"):
        read(path, RECORD)
    other = tmp_path / "data.snappy"
    other.write_bytes(b"\xc1" * 600)
    with pytest.raises(DatasetError, match=r"\.snappy files are not decompressed here, only \.gz, \.bz2, \.zst"):
        read(other, RECORD)
    writing = read_options({"path": str(path), "copybook_contents": RECORD})
    with pytest.raises(DatasetError, match="writes are not compressed"):
        PartWriter(writing, pa.schema([("A", pa.string()), ("N", pa.int32())]))


TABLES = "01 R. 05 ID PIC 9. 05 N PIC 9. 05 T OCCURS 0 TO 5 DEPENDING ON N. 10 M PIC 9. 10 U PIC X OCCURS 1 TO 3 DEPENDING ON M. 05 Z PIC X."


def test_a_table_that_nothing_tells_the_length_of_has_its_maximum(tmp_path):
    path = tmp_path / "data"
    path.write_bytes("abcZdefY".encode("cp037"))
    rows = read(path, "01 R. 05 T PIC X OCCURS 1 TO 3. 05 Z PIC X.")
    assert rows == [{"T": ["a", "b", "c"], "Z": "Z"}, {"T": ["d", "e", "f"], "Z": "Y"}]


def test_binary_numbers_that_cobrix_alone_knows(tmp_path):
    path = tmp_path / "data"
    low, wide = -(10**18), 12345678901234567890
    path.write_bytes(b"\xc8\xfe\xff" + low.to_bytes(9, "big", signed=True) + wide.to_bytes(9, "little"))
    copybook = "01 R. 05 A PIC 9(2) COMP-9. 05 B PIC S9(4) COMP-9. 05 C PIC S9(19) COMP. 05 D PIC 9(18)V99 COMP-9."
    row = {"A": 200, "B": -2, "C": low, "D": Decimal("123456789012345678.90")}
    options = read_options({"path": str(path), "copybook_contents": copybook})
    reader = ReadPlan.of(options)
    assert [str(kind) for kind in reader.schema.types] == [
        "int32", "int32", "decimal128(19, 0)", "decimal128(20, 2)"
    ]  # fmt: skip
    batches = [batch for split in plan(options) for batch in reader.read(split)]
    assert [made for batch in batches for made in batch.to_pylist()] == [row]
    assert RecordEncoder(options).encode(batches[0]) == [path.read_bytes()]
    path.write_bytes(b"\0\0\0" + (10**19).to_bytes(9, "big", signed=True) + bytes(9))
    assert read(path, copybook) == [{"A": 0, "B": 0, "C": None, "D": 0}]


def test_fixed_records_that_are_as_long_as_their_tables(tmp_path):
    path = tmp_path / "data"
    path.write_bytes(
        "10z221a2bcz311a3xyzz"[:2].encode("cp037")
        + "z".encode("cp037")
        + "221a2bcz".encode("cp037")
        + "311xz".encode("cp037")
    )
    expected = [
        {"ID": 1, "N": 0, "T": [], "Z": "z"},
        {"ID": 2, "N": 2, "T": [{"M": 1, "U": ["a"]}, {"M": 2, "U": ["b", "c"]}], "Z": "z"},
        {"ID": 3, "N": 1, "T": [{"M": 1, "U": ["x"]}], "Z": "z"},
    ]
    for value in ("true", "shift_record"):
        for size in ({}, {"input_split_records": "1"}):
            rows = read(path, TABLES, variable_size_occurs=value, generate_record_id="true", **size)
            assert [{name: row[name] for name in expected[0]} for row in rows] == expected
            assert [row["Record_Byte_Length"] for row in rows] == [3, 8, 5]
    with pytest.raises(DatasetError, match="no whole record"):
        read(path, TABLES, variable_size_occurs="pad_record")
    path.write_bytes("10z22".encode("cp037"))
    with pytest.raises(DatasetError, match="record 2, at offset 3: the last record is cut short"):
        read(path, TABLES, variable_size_occurs="true")


def test_fixed_records_with_tables_are_padded_where_that_is_said(tmp_path):
    path = tmp_path / "data"
    copybook = "01 R. 05 N PIC 9. 05 T PIC X OCCURS 0 TO 3 DEPENDING ON N. 05 Z PIC X."
    path.write_bytes("1az  2abz ".encode("cp037"))
    assert read(path, copybook, variable_size_occurs="pad_record") == [
        {"N": 1, "T": ["a"], "Z": "z"}, {"N": 2, "T": ["a", "b"], "Z": "z"},
    ]  # fmt: skip
    assert len(read(path, copybook, variable_size_occurs="true", record_length="5")) == 2


@pytest.mark.parametrize("sizes", ["max_size", "shift_record"])
def test_a_number_of_occurrences_that_there_cannot_be_is_the_maximum(tmp_path, sizes):
    path = tmp_path / "data"
    copybook = "01 R. 05 N PIC 9. 05 M PIC 9. 05 T PIC X OCCURS 1 TO 3 DEPENDING ON N. 05 U PIC X OCCURS 0 TO 2 DEPENDING ON M."
    records = ["10a", "24bcde", "x2fghij", "01klmn", "90opq", "1xrst"]
    write_records(path, [record.encode("cp037") for record in records], Dcb(RecordFormat.RDW))
    rows = read(path, copybook, record_format="V", variable_size_occurs=sizes)
    shift = sizes == "shift_record"
    assert [row["T"] for row in rows] == [["a"], ["b", "c"], ["f", "g", "h"], ["k", "l", "m"], ["o", "p", "q"], ["r"]]
    expected = [[], ["d", "e"], ["i", "j"], ["n"], [], ["s", "t"]]
    assert [row["U"] for row in rows] == (expected if shift else [[], ["e", None], ["i", "j"], ["n"], [], [None, None]])
    layout = read_options({"copybook_contents": copybook, "variable_size_occurs": sizes}).layout
    assert [layout.decode(record.encode("cp037"), corrupt="null") for record in records] == rows


def test_nested_tables_under_a_root_that_is_kept(tmp_path):
    path = tmp_path / "data"
    path.write_bytes("10z221a2bcz".encode("cp037"))
    rows = read(path, TABLES, variable_size_occurs="true", schema_retention_policy="keep_original")
    assert [row["R"]["Z"] for row in rows] == ["z", "z"]
    assert rows[1]["R"]["T"] == [{"M": 1, "U": ["a"]}, {"M": 2, "U": ["b", "c"]}]


def test_the_length_that_a_field_says_is_adjusted(tmp_path):
    path = tmp_path / "data"
    path.write_bytes("2ab3cde".encode("cp037"))
    copybook = "01 R. 05 LEN PIC 9. 05 T PIC X(5)."
    rows = read(path, copybook, record_length_field="LEN", rdw_adjustment="1")
    assert [row["T"] for row in rows] == ["ab", "cde"]


HEADED = "01 HEAD-ER. 05 H PIC X(4). 01 A. 05 X PIC X. 05 Y PIC X. 01 B. 05 Z PIC 9(2). 01 TAIL. 05 T PIC X(3)."


def test_records_that_header_and_trailer_leave_follow_each_other(tmp_path):
    path = tmp_path / "data"
    path.write_bytes("HHHHab12cd34TTT".encode("cp037"))
    rows = [{"X": "a", "Y": "b", "Z": 12}, {"X": "c", "Y": "d", "Z": 34}]
    assert read(path, HEADED, record_header_name="HEAD_ER", record_trailer_name="TAIL") == rows
    assert read(path, HEADED, file_header_field="head-er", file_trailer_field="tail") == rows
    path.write_bytes("HHHHab12TTTcd34TTT".encode("cp037"))
    found = read(path, HEADED, record_header_name="HEAD-ER")
    assert found == [rows[0] | {"T": "TTT"}, rows[1] | {"T": "TTT"}]
    path.write_bytes("HHHH12TTT".encode("cp037"))
    redefined = read(path, HEADED.replace("01 B.", "01 B REDEFINES A."), record_header_name="HEAD-ER")
    assert redefined == [{"X": "1", "Y": "2", "Z": 12, "T": "TTT"}]
    with pytest.raises(LayoutError, match="field A needs HEAD-ER, which is left out"):
        read(path, HEADED.replace("01 A.", "01 A REDEFINES HEAD-ER."), record_header_name="HEAD-ER")


def test_several_copybooks_describe_the_same_bytes(tmp_path):
    (tmp_path / "a.cpy").write_text("       01 COMPANY. 05 K PIC X. 05 NAME PIC X(3).\n")
    (tmp_path / "b.cpy").write_text(
        "01 PERSON. 05 K2 PIC X. 05 AGE PIC 9(2).\n01 PLACE REDEFINES PERSON. 05 N PIC 9. 05 P PIC X OCCURS 0 TO 2 DEPENDING ON N.\n"
    )
    path = tmp_path / "data"
    path.write_bytes("Cabc".encode("cp037") + "242 ".encode("cp037"))
    chosen = {
        "path": str(path),
        "copybooks": f"{tmp_path}/a.cpy, {tmp_path}/b.cpy",
        "schema_retention_policy": "keep_original",
    }
    reader = ReadPlan.of(read_options(chosen))
    rows = [row for split in plan(reader.options) for batch in reader.read(split) for row in batch.to_pylist()]
    assert rows[1] == {
        "COMPANY": {"K": "2", "NAME": "42"},
        "PERSON": {"K2": "2", "AGE": 42},
        "PLACE": {"N": 2, "P": ["4", "2"]},
    }
    assert list(ReadPlan.of(read_options(chosen | {"schema_retention_policy": "collapse_root"})).full.names) == [
        "K",
        "NAME",
        "K2",
        "AGE",
        "N",
        "P",
    ]
    mapped = read_options(
        chosen
        | {"segment_field": "K", "redefine_segment_id_map": "COMPANY => C", "redefine-segment-id-map:1": "PERSON => 2"}
    )
    reader = ReadPlan.of(mapped, ["COMPANY", "PERSON"])
    rows = [row for split in plan(mapped) for batch in reader.read(split) for row in batch.to_pylist()]
    assert rows == [
        {"COMPANY": {"K": "C", "NAME": "abc"}, "PERSON": None},
        {"COMPANY": None, "PERSON": {"K2": "2", "AGE": 42}},
    ]
    with pytest.raises(LayoutError, match="more than one of the copybooks has a record COMPANY"):
        read_options(chosen | {"copybooks": f"{tmp_path}/a.cpy,{tmp_path}/a.cpy"})
    with pytest.raises(DatasetError, match="copybook and copybooks exclude each other"):
        read_options(chosen | {"copybook": str(tmp_path / "a.cpy")})


# text ---------------------------------------------------------------------------------------------------------------

LINES = "01 R. 05 A PIC X(4). 05 B PIC X(2)."


def test_empty_lines_are_passed_over(tmp_path):
    path = tmp_path / "data"
    for separator, data in (("lf", b"\nab\n\n\n  \ncd\n\n"), ("crlf", b"\r\nab\r\n\r\n\r\n  \r\ncd\r\n\r\n")):
        path.write_bytes(data)
        rows = read(path, LINES, record_format="D", line_separator=separator, generate_record_id="true")
        assert [(row["Record_Id"], row["A"]) for row in rows] == [(0, "ab"), (1, ""), (2, "cd")]
        parts = read(path, LINES, record_format="D", line_separator=separator, input_split_records="1")
        assert [row["A"] for row in parts] == ["ab", "", "cd"]


@pytest.mark.parametrize(
    ("charset", "policy", "expected"),
    [
        (None, "both", ["aéb", "x\ufffdy", "ab"]),
        ("us-ascii", "both", ["a  b", "x y", "ab"]),
        ("us-ascii", "none", ["a  b", "x y ", "ab"]),
        ("utf-8", "both", ["aéb", "x\ufffdy", "ab"]),
        ("UTF8", "keep_all", ["aéb", "x\ufffdy ", "ab\x01\x02"]),
        ("iso-8859-1", "both", ["aÃ©b", "xÿy", "ab"]),
        ("windows-1252", "right", ["aÃ©b", "xÿy", "ab"]),
        ("us-ascii", "keep_all", ["a  b", "x y ", "ab\x01\x02"]),
    ],
)
def test_text_beyond_ascii(tmp_path, charset, policy, expected):
    path = tmp_path / "data"
    path.write_bytes("aéb12\n".encode() + b"x\xffy 34\nab\x01\x0256\n")
    given = {"record_format": "D", "string_trimming_policy": policy} | ({"ascii_charset": charset} if charset else {})
    rows = read(path, LINES, **given)
    assert [row["A"] for row in rows] == expected
    assert [row["B"] for row in rows] == ["12", "34", "56"]
    nested = "01 R. 05 N PIC 9. 05 T OCCURS 0 TO 1 DEPENDING ON N. 10 A PIC X(4). 10 M PIC 9. 10 U PIC X OCCURS 0 TO 2 DEPENDING ON M."
    path.write_bytes("1aéb21ü\n".encode() + b"1x\xffy 0\n1ab\x01\x020\n")
    rows = read(path, nested, variable_size_occurs="true", **given)
    assert [row["T"][0]["A"] for row in rows] == expected


def test_half_of_a_surrogate_is_one_wrong_character(tmp_path):
    path = tmp_path / "data"
    path.write_bytes(b"a\xed\xba\x80b12\na\xed\xba b12\n")
    rows = read(path, "01 R. 05 A PIC X(5). 05 B PIC X(2).", record_format="D")
    assert [row["A"] for row in rows] == ["a\ufffdb", "a\ufffd b"]


def test_lines_longer_than_their_record(tmp_path):
    path = tmp_path / "data"
    copybook = "01 R. 05 A PIC X(4)."
    path.write_bytes(b"abcdefghij\nabcd\nabcde\nabcdef\nx\nabcdefgh\nabcde")
    assert [row["A"] for row in read(path, copybook, record_format="D")] == [
        "abcd",
        "abcd",
        "abcd",
        "abcd",
        "x",
        "abcd",
        "abcd",
    ]
    found = read(path, copybook, record_format="D", generate_record_bytes="true")
    assert [row["Record_Bytes"] for row in found] == [
        b"abcd", b"abcd", b"abcde", b"abcdef", b"x", b"abcdefgh", b"abcd",
    ]  # fmt: skip
    given = {"record_format": "D", "allow_partial_records": "true"}
    parts = ["abcd", "efgh", "ij", "abcd", "abcd", "abcd", "ef", "x", "abcd", "efgh", "abcd", "e"]
    assert [row["A"] for row in read(path, copybook, **given)] == parts
    assert [row["A"] for row in read(path, copybook, **given, input_split_records="2")] == parts
    path.write_bytes(b"abcdefghi\r\nabcd\r\nabcde\r\n")
    found = read(path, copybook, **given, line_separator="crlf", generate_record_bytes="true")
    assert [row["Record_Bytes"] for row in found] == [b"abcd", b"efgh", b"i", b"abcd", b"abcd", b"e"]


def test_text_past_the_end_of_a_record(tmp_path):
    path = tmp_path / "data"
    path.write_bytes(b"abcd\nabcdef\nab\n")
    copybook = "01 R. 05 A PIC X(4). 05 B PIC X(2). 05 N PIC 9. 05 T PIC X OCCURS 2."
    base = {"record_format": "D"}
    assert [row["B"] for row in read(path, copybook, **base)] == [None, "ef", None]
    rows = read(path, copybook, **base, improved_null_detection="false")
    assert [row["B"] for row in rows] == ["", "ef", None]
    assert [row["N"] for row in rows] == [None] * 3


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, ["", None]),
        ({"ebcdic_code_page": "cp037"}, ["é", None]),
        ({"ebcdic_code_page": "cp037_extended", "string_trimming_policy": "none"}, ["é\x05 ", None]),
        ({"ebcdic_code_page": "common"}, ["", None]),
        ({"ebcdic_code_page": "common_extended", "string_trimming_policy": "none"}, [" \x05 ", None]),
        ({"ebcdic_code_page": "1047", "string_trimming_policy": "right"}, ["é", None]),
        ({"ebcdic_code_page": "500", "string_trimming_policy": "none"}, ["é\x05 ", None]),
        ({"ebcdic_code_page": "037", "string_trimming_policy": "keep_all"}, ["é  ", "   "]),
        ({"string_trimming_policy": "none", "field_code_page:cp273_extended": "A"}, ["é\x05 "[:0] + "]\x05 ", None]),
    ],
)
def test_control_characters_under_the_names_of_code_pages(tmp_path, given, expected):
    path = tmp_path / "data"
    path.write_bytes(bytes.fromhex("512DFF 000000"))
    found = [row["A"] for row in read(path, "01 R. 05 A PIC X(3).", **given)]
    if "field_code_page:cp273_extended" in given:
        assert found == [codepage(273).decode(b"\x51") + "\x05 ", None]
    else:
        assert found == expected


def test_lines_of_both_kinds(tmp_path):
    path = tmp_path / "data"
    path.write_bytes(b"ab  1\r\ncd  2\nef  3\r\n")
    copybook = "01 R. 05 A PIC X(4). 05 N PIC 9(2)."
    for separator in ("lf", "crlf"):
        rows = read(path, copybook, record_format="D", line_separator=separator, generate_record_id="true")
        assert [row["Record_Byte_Length"] for row in rows] == [5, 5, 5]
        assert [row["A"] for row in rows] == ["ab", "cd", "ef"]


@pytest.mark.parametrize("record_format", ["V", "D"])
def test_records_of_other_lengths_are_not_counted(tmp_path, record_format):
    path = tmp_path / "data"
    lines = ["abcd12", "a", "abcd34", "abcd5678", "abcd56"]
    page = "ascii" if record_format == "D" else "cp037"
    form = Dcb(RecordFormat.LF if record_format == "D" else RecordFormat.RDW)
    write_records(path, [line.encode(page) for line in lines], form)
    given = {
        "record_format": record_format, "minimum_record_length": "3", "maximum_record_length": "7", "generate_record_id": "true",
        "segment_field": "A", "segment_id_root": "abcd", "segment_id_prefix": "P",
    }  # fmt: skip
    for more in ({}, {"input_split_records": "1"}):
        rows = read(path, LINES, **given, **more)
        assert [(row["Record_Id"], row["Seg_Id0"], row["B"]) for row in rows] == [
            (0, "P_0_0", "12"), (1, "P_0_1", "34"), (2, "P_0_2", "56"),
        ]  # fmt: skip


# other options ------------------------------------------------------------------------------------------------------


def test_corrupt_bytes_as_text(tmp_path):
    path = tmp_path / "data"
    path.write_bytes(bytes.fromhex("C1C2C3 F0AFF1"))
    given = {"generate_corrupt_fields": "true", "binary_as_hex": "true"}
    assert schema_of(RECORD, **given)["_corrupt_fields"].startswith(
        "list<element: struct<field_name: string not null, raw_value: string not null, offset"
    )
    assert read(path, RECORD, **given) == [
        {"A": "ABC", "N": None, "_corrupt_fields": [{"field_name": "N", "raw_value": "F0AFF1", "offset": 3}]}
    ]
    assert read(path, RECORD, **given, mode="dropmalformed") == []


def test_corrupt_fields_by_the_names_of_their_columns(tmp_path):
    path = tmp_path / "data"
    path.write_bytes("x12x4x".encode("cp037"))
    copybook = "01 R. 05 A-GROUP. 10 A-NUM PIC 9. 05 T-1 PIC 9 OCCURS 3. 05 T-2 OCCURS 2. 10 N-1 PIC 9."
    found = read(path, copybook, generate_corrupt_fields="true")[0]["_corrupt_fields"]
    assert [bad["field_name"] for bad in found] == ["A_NUM", "T_1[2]", "N_1"]


def test_numbers_of_occurrences_need_no_column_to_be_written(tmp_path):
    copybook = "01 R. 05 N PIC 9. 05 T PIC X OCCURS 0 TO 5 DEPENDING ON N."
    chosen = read_options({"path": str(tmp_path / "out"), "copybook_contents": copybook, "record_format": "V"})
    schema = pa.schema([("T", pa.list_(pa.string()))])
    batch = pa.RecordBatch.from_pylist([{"T": ["a", "b"]}, {"T": []}], schema)
    commit_parts(chosen, [PartWriter(chosen, schema).write([batch], 0)], overwrite=True)
    rows = read(tmp_path / "out", copybook, record_format="V")
    assert rows == [{"N": 2, "T": ["a", "b"]}, {"N": 0, "T": []}]


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("enable_index_cache", "true"), ("improve_locality", "false"), ("optimize_allocation", "true"),
        ("debug_layout_positions", "true"), ("records_per_block", "4"), ("metadata", "extended"), ("block_length", "12"),
        ("input_split_size_compressed_mb", "10"), ("enable_self_checks", "true"),
    ],
)  # fmt: skip
def test_options_that_are_passed_over(tmp_path, option, value):
    path = tmp_path / "data"
    path.write_bytes(bytes.fromhex("C1C2C3 F0F0F1"))
    assert read(path, RECORD, record_format="FB", **{option: value}) == [{"A": "ABC", "N": 1}]


def test_several_paths(tmp_path):
    for name in "ab":
        (tmp_path / name).write_bytes(f"{name}  001".encode("cp037"))
    for name, value in (
        ("paths", f"{tmp_path}/a, {tmp_path}/b"),
        ("paths", f'["{tmp_path}/a", "{tmp_path}/b"]'),
        ("data_paths", f"{tmp_path}/a,{tmp_path}/b"),
    ):
        chosen = read_options({"copybook_contents": RECORD, name: value})
        reader = ReadPlan.of(chosen)
        assert [row["A"] for split in plan(chosen) for batch in reader.read(split) for row in batch.to_pylist()] == [
            "a",
            "b",
        ]
    with pytest.raises(DatasetError, match="must be JSON, or paths with commas"):
        read_options({"paths": "[a, b"})


def test_an_old_name_of_records_with_descriptor_words(tmp_path):
    path = tmp_path / "data"
    path.write_bytes(bytes.fromhex("000A0000 C1C2C3 F0F0F1"))
    assert read(path, RECORD, is_xcom="true") == [{"A": "ABC", "N": 1}]


# families -----------------------------------------------------------------------------------------------------------

FAMILY = """01 R. 05 K PIC X. 05 BODY. 10 COMPANY. 15 NAME PIC X(3). 10 DEPT REDEFINES COMPANY. 15 D-NO PIC 9(3).
            10 PERSON REDEFINES COMPANY. 15 P PIC X(3). 10 CLIENT REDEFINES COMPANY. 15 C PIC X(3). 05 Z PIC X."""
FAMILY_OPTIONS = {
    "segment_field": "K", "redefine_segment_id_map:0": "COMPANY => C", "redefine-segment-id-map:1": "DEPT => D",
    "redefine-segment-id-map:2": "PERSON => P", "redefine-segment-id-map:3": "CLIENT => L",
    "segment-children:0": "COMPANY => DEPT,CLIENT", "segment_children:1": "DEPT => PERSON",
}  # fmt: skip


def families(records):
    """The same, written as plainly as can be: the company of each C, with what is below it."""
    rows, company, dept = [], None, None
    for record in records:
        kind, text = record[0], record[1:4]
        if kind == "C":
            company, dept = {"NAME": text.strip(), "DEPT": [], "CLIENT": []}, None
            rows.append(company)
        elif company is not None and kind == "L":
            company["CLIENT"].append({"C": text.strip()})
        elif company is not None and kind == "D":
            dept = {"D_NO": int(text), "PERSON": []}
            company["DEPT"].append(dept)
        elif dept is not None and kind == "P":
            dept["PERSON"].append({"P": text.strip()})
    return rows


RECORDS = (
    "P000y", "Cacmez", "D001a", "Pann b", "Pbobc", "Lx  d", "D002e", "Pcicf", "Xskpg", "Cnonez", "Cbig z", "Pdan ", "Ly  h", "D003i", "Peve j",
)  # fmt: skip


@pytest.mark.parametrize("record_format", ["F", "V", "VB"])
def test_a_row_for_each_root_with_its_children(tmp_path, record_format):
    path = tmp_path / "data"
    records = [record.ljust(5)[:5] for record in RECORDS]
    forms = {
        "F": Dcb(RecordFormat.F, lrecl=5),
        "V": Dcb(RecordFormat.RDW),
        "VB": Dcb(RecordFormat.VB, lrecl=20, blksize=30),
    }
    write_records(path, [record.encode("cp037") for record in records], forms[record_format])
    given = {"record_format": record_format, **FAMILY_OPTIONS}
    for more in ({}, {"input_split_records": "1"}):
        rows = read(path, FAMILY, **given, **more)
        assert [row["BODY"]["COMPANY"] for row in rows] == families(records)
        assert [list(row) for row in rows] == [["K", "BODY", "Z"]] * 3
    rows = read(
        path, FAMILY, **given, generate_record_id="true", with_input_file_name_col="F", with_record_offset_col="O"
    )
    assert [(row["Record_Id"], row["Record_Byte_Length"], row["F"]) for row in rows] == [
        (9, 40, str(path)), (10, 5, str(path)), (15, 25, str(path)),
    ]  # fmt: skip
    assert [path.read_bytes()[row["O"] :][:4].decode("cp037") for row in rows] == ["Cacm", "Cnon", "Cbig"]
    kept = read(path, FAMILY, **given, schema_retention_policy="keep_original")
    assert [row["R"]["BODY"]["COMPANY"] for row in kept] == families(records)
    chosen = read_options({"path": str(path), "copybook_contents": FAMILY, **given})
    reader = ReadPlan.of(chosen, [])
    assert sum(batch.num_rows for split in plan(chosen) for batch in reader.read(split)) == 3


def test_families_longer_than_what_is_read_at_once(tmp_path, monkeypatch):
    path = tmp_path / "data"
    records = [f"{kind}{number % 1000:03d}z" for number, kind in enumerate("P" + ("CDPPLDPPP" + "LDPPPPPPPP" * 9) * 40)]
    write_records(path, [record.encode("cp037") for record in records], Dcb(RecordFormat.RDW))
    monkeypatch.setattr(splits, "CHUNK", 100)
    rows = read(path, FAMILY, record_format="V", **FAMILY_OPTIONS)
    assert [row["BODY"]["COMPANY"] for row in rows] == families(records)


def test_roots_and_children_of_several_copybooks(tmp_path):
    (tmp_path / "a.cpy").write_text("01 COMPANY. 05 K PIC X. 05 NAME PIC X(3).\n")
    (tmp_path / "b.cpy").write_text("01 PERSON. 05 FILLER PIC X. 05 AGE PIC 9(3).\n")
    path = tmp_path / "data"
    path.write_bytes("CabcP042P043Cxyz".encode("cp037"))
    given = {
        "path": str(path), "copybooks": f"{tmp_path}/a.cpy,{tmp_path}/b.cpy", "schema_retention_policy": "keep_original",
        "segment_field": "K", "redefine_segment_id_map:0": "COMPANY => C", "redefine_segment_id_map:1": "PERSON => P",
        "segment-children:0": "COMPANY => PERSON",
    }  # fmt: skip
    chosen = read_options(given)
    reader = ReadPlan.of(chosen)
    rows = [row for split in plan(chosen) for batch in reader.read(split) for row in batch.to_pylist()]
    assert rows == [
        {"COMPANY": {"K": "C", "NAME": "abc", "PERSON": [{"AGE": 42}, {"AGE": 43}]}},
        {"COMPANY": {"K": "C", "NAME": "xyz", "PERSON": []}},
    ]
    with pytest.raises(DatasetError, match="company is no column, or is in a table; see keep_original"):
        ReadPlan.of(read_options(given | {"schema_retention_policy": "collapse_root"}))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"segment-children:2": "PERSON => COMPANY"}, "no segment is above all others"),
        ({"segment-children:2": "PERSON => NOPE"}, "nope has no ids"),
        (
            {"segment-children:2": "PERSON => NOPE", "redefine_segment_id_map:9": "NOPE => N"},
            "no column and no field is called nope",
        ),
    ],
)
def test_families_that_there_cannot_be(change, words):
    with pytest.raises(DatasetError, match=words):
        ReadPlan.of(read_options({"copybook_contents": FAMILY, **FAMILY_OPTIONS, **change}))


@pytest.mark.parametrize(
    ("value", "kind"), [("true", "string"), ("hex", "string"), ("raw", "binary"), ("binary", "binary")]
)
def test_the_bytes_of_each_field_behind_it(tmp_path, value, kind):
    path = tmp_path / "data"
    path.write_bytes(bytes.fromhex("C1F0F2 12 F0C1 C2F0"))
    copybook = "01 R. 05 A PIC X. 05 G. 10 N PIC 99. 05 FILLER PIC X. 05 T OCCURS 2. 10 X PIC X. 05 U PIC X OCCURS 1 TO 2 DEPENDING ON N."
    assert list(schema_of(copybook, debug=value).items())[:2] == [("A", "string"), ("A_debug", kind)]
    row = read(path, copybook, debug=value, record_format="F", variable_size_occurs="max_size")[0]
    told = (lambda text: text) if kind == "string" else bytes.fromhex
    assert row == {
        "A": "A", "A_debug": told("C1"), "G": {"N": 2, "N_debug": told("F0F2")},
        "T": [{"X": "0", "X_debug": told("F0")}, {"X": "A", "X_debug": told("C1")}],
        "U": ["B", "0"], "U_debug": [told("C2"), told("F0")],
    }  # fmt: skip
    assert read(path, copybook, debug=value, record_format="F", variable_size_occurs="true")[0] == row
    for plain in ("false", "none"):
        assert list(schema_of(copybook, debug=plain)) == ["A", "G", "T", "U"]


def test_bytes_as_text_where_there_is_no_record():
    layout = parse_copybook("01 R. 05 A PIC X(3) COMP.").record()
    decoder = RecordDecoder(layout, Shape(binary_as_hex=True))
    assert fixed_batch(decoder, b"", 3).to_pydict() == {"A": []}
    assert fixed_batch(decoder, b"\x01\x02\xff", 3).to_pydict() == {"A": ["0102FF"]}


def test_bytes_of_fields_in_tables_in_tables(tmp_path):
    (tmp_path / "data").write_bytes("122ab1cz".encode("cp037"))
    (row,) = read(tmp_path / "data", TABLES, debug="raw", variable_size_occurs="true", record_format="F")
    assert [(each["M"], each["U"], each["U_debug"]) for each in row["T"]] == [
        (2, ["a", "b"], [b"\x81", b"\x82"]), (1, ["c"], [b"\x83"])
    ]  # fmt: skip
    assert (row["Z"], row["Z_debug"]) == ("z", b"\xa9")


def test_bytes_of_fields_as_text_are_for_lines():
    with pytest.raises(DatasetError, match="option debug is 'string', which works only with lines"):
        schema_of(TABLES, debug="string")


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore")
def test_families_and_compressed_files_in_spark(spark, tmp_path):
    records = [record.ljust(5)[:5] for record in RECORDS]
    (tmp_path / "data.gz").write_bytes(gzip.compress("".join(records).encode("cp037")))
    frame = spark.read.format("qsam").options(copybook_contents=FAMILY, **FAMILY_OPTIONS).load(str(tmp_path))
    assert frame.schema.simpleString() == (
        "struct<K:string,BODY:struct<COMPANY:struct<NAME:string,DEPT:array<struct<D_NO:int,PERSON:array<struct<P:string>>>>,"
        "CLIENT:array<struct<C:string>>>>,Z:string>"
    )
    assert [row.BODY.COMPANY.asDict(recursive=True) for row in frame.collect()] == families(records)
    assert frame.count() == 3
    assert frame.selectExpr("BODY.COMPANY.NAME", "size(BODY.COMPANY.DEPT) n").collect()[0]["n"] == 2
