# ruff: noqa: E402 - what the extra brings is imported after asking for it
"""What people who come from Cobrix expect of a read: names, types and values as they are there.

Every expectation is written by hand from what Cobrix does; none of its data is used.
"""

from __future__ import annotations

from decimal import Decimal

import pytest

np = pytest.importorskip("numpy", reason="the extra tdqsim[spark] is not installed")
pa = pytest.importorskip("pyarrow", reason="the extra tdqsim[spark] is not installed")

from tdqsim.core.codepage import codepage
from tdqsim.errors import ConversionError
from tdqsim.layouts import Rules, parse_copybook
from tdqsim.pipeline.decoder import RecordDecoder
from tdqsim.pipeline.encoder import RecordEncoder
from tdqsim.pipeline.options import read_options
from tdqsim.pipeline.shape import Shape
from tdqsim.pipeline.source import SplitReader
from tdqsim.pipeline.splits import plan


def decoded(copybook, *records, rules=None, **shape):
    """The records as a batch of columns."""
    layout = parse_copybook(copybook, rules=rules).record()
    decoder = RecordDecoder(layout, Shape(**shape))
    return decoder.decode_fixed(b"".join(records), layout.length)


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


def test_text_is_written_as_by_the_whole_page():
    for name in ("037_text", "037_extended", "common"):
        page = codepage(name)
        assert page.encode("é \n\x00") == bytes.fromhex("51402500")
        assert (page.ccsid, page.space, page.kind) == (37, 0x40, "EBCDIC")
        assert codepage(819).convert(b"A B", page) == bytes.fromhex("C140C2")
        assert codepage(name) is page
    assert codepage("common").convert(bytes.fromhex("C1C251"), codepage(367)) == b"AB "


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
    reader = SplitReader(read_options({"copybook_contents": copybook, **given}))
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
    batch = RecordDecoder(chosen.layout, chosen.shape).decode_fixed(record, len(record))
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
    batch = RecordDecoder(chosen.layout, chosen.shape).decode_fixed(record, len(record))
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
    reader = SplitReader(chosen)
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
