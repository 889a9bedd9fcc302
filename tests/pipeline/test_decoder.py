# ruff: noqa: E402 - what the extra brings is imported after asking for it
"""The vectorised decoder against the plain one."""

from __future__ import annotations

import math
from decimal import Decimal

import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

pa = pytest.importorskip("pyarrow", reason="the extra tdqsim[spark] is not installed")
np = pytest.importorskip("numpy", reason="the extra tdqsim[spark] is not installed")

from tdqsim.errors import LayoutError
from tdqsim.layouts import parse_copybook
from tdqsim.pipeline.decoder import RecordDecoder
from tdqsim.pipeline.shape import Shape
from tests.layouts.strategies import copybooks
from tests.pipeline.batches import fixed_batch

EXACT = Shape(string_trimming_policy="none", drop_value_fillers=False)


def layout_of(text, **rules):
    return parse_copybook(text).record().with_rules(**rules)


def normal(value):
    """The plain decoder's value with the columns' names."""
    if isinstance(value, dict):
        return {key.replace("-", "_"): normal(inner) for key, inner in value.items()}
    return [normal(inner) for inner in value] if isinstance(value, list) else value


def single(value):
    """Floats as a COMP-1 column holds them; none beyond its range."""
    if isinstance(value, dict):
        return {key: single(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [single(inner) for inner in value]
    if not isinstance(value, float) or beyond_single(value):
        return None if isinstance(value, float) else value
    with np.errstate(under="ignore"):
        return str(np.float32(value))


def beyond_single(value):
    """Whether a float is none in four bytes of IEEE 754."""
    return math.isfinite(value) and abs(value) > float(np.finfo(np.float32).max)


@settings(max_examples=40, deadline=None, phases=(Phase.explicit, Phase.reuse, Phase.generate))
@given(copybooks(), st.sampled_from(["shift_record", "max_size"]), st.data())
def test_both_decoders_agree(text, mode, data):
    layout = layout_of(text, variable_size_occurs=mode)
    records = []
    for _ in range(data.draw(st.integers(1, 6))):
        size = data.draw(st.integers(0, layout.length + 2))
        raw = data.draw(st.binary(min_size=size, max_size=size))
        style = data.draw(st.sampled_from(["raw", "digits", "canonical"]))
        records.append(bytes(0xF0 + byte % 10 for byte in raw) if style == "digits" else raw)
        if style == "canonical":
            records[-1] = bytes(0x12 for _ in raw[:-1]) + b"\x1c"
    lengths = np.array([len(record) for record in records], np.int64)
    starts = np.concatenate(([0], np.cumsum(lengths)[:-1])).astype(np.int64)
    batch = RecordDecoder(layout, EXACT, corrupt=True).decode(b"".join(records), starts, lengths)
    batch.validate(full=True)
    for row, record in zip(batch.to_pylist(), records, strict=True):
        plain, corrupt = layout.decode_with_corrupt(record, fillers=True)
        found = {
            (bad["field_name"], bad["offset"], bad["raw_value"].hex().upper()) for bad in row.pop("_corrupt_fields")
        }
        expected = {(bad.field, bad.offset, bad.hex) for bad in corrupt}
        too_large = {
            (each.field, each.offset, each.hex)
            for each in layout.found_in(record)
            if isinstance(each.value, float) and len(each.hex) == 8 and beyond_single(each.value)
        }  # COMP-1 beyond the range of a float column
        assert found == expected | too_large
        assert single(row) == single(normal(plain))


@settings(max_examples=40, deadline=None, phases=(Phase.explicit, Phase.reuse, Phase.generate))
@given(copybooks(), st.data())
def test_records_evenly_spaced_and_with_gaps_between_them_are_decoded_alike(text, data):
    layout = layout_of(text, variable_size_occurs="max_size")
    digits = st.sampled_from([*range(0xF0, 0xFA), 0x12, 0x1C, 0x1D, 0xC5, 0xD5, 0x40, 0x00, 0xFF])
    record = st.lists(digits, min_size=layout.length, max_size=layout.length).map(bytes)
    records = data.draw(st.lists(record, min_size=1, max_size=5))
    decoder = RecordDecoder(layout, EXACT, corrupt=True)
    even = fixed_batch(decoder, b"".join(records), layout.length)
    gaps = [data.draw(st.binary(max_size=9)) for _ in records]
    starts, position = [], 0
    for gap, one_record in zip(gaps, records, strict=True):
        starts.append(position + len(gap))
        position += len(gap) + len(one_record)
    joined = b"".join(gap + one_record for gap, one_record in zip(gaps, records, strict=True))
    apart = decoder.decode(joined, np.array(starts, np.int64), np.full(len(records), layout.length, np.int64))
    apart.validate(full=True)
    assert str(apart.to_pylist()) == str(even.to_pylist())  # as text, in which one NaN equals another
    for row, one_record in zip(even.to_pylist(), records, strict=True):
        plain, corrupt = layout.decode_with_corrupt(one_record, fillers=True)
        if len(row.pop("_corrupt_fields")) == len(corrupt):
            assert single(row) == single(normal(plain))


@pytest.mark.parametrize("policy", ["both", "left", "right", "none"])
def test_text_trimmed_before_it_is_translated_is_that_trimmed_after(policy):
    layout = layout_of("01 R. 05 A PIC X(6). 05 B PIC X(3).")
    texts = ["ab cd   x", "  \x05ab   y", " é  é\x1f  z", "abcdef   ", "       \x01 "]
    batch = fixed_batch(RecordDecoder(layout, Shape(string_trimming_policy=policy)), ebcdic("".join(texts)), 9)
    blanks = "".join(map(chr, range(0x21)))
    trim = {"both": str.strip, "left": str.lstrip, "right": str.rstrip}.get(policy, lambda text, _: text)
    assert batch["A"].to_pylist() == [trim(text[:6], blanks) for text in texts]
    assert batch["B"].to_pylist() == [trim(text[6:], blanks) for text in texts]


@given(
    st.integers(1, 9),
    st.lists(st.lists(st.sampled_from("\0\x05 a\xe9~"), min_size=9, max_size=9).map("".join), min_size=1, max_size=5),
)
def test_texts_of_every_width(width, rows):
    layout = layout_of(f"01 R. 05 FILLER PIC X. 05 A PIC X({width}). 05 N PIC 9.")
    records = [b"\xc1" + ebcdic(row[:width]) + b"\xf7" for row in rows]
    batch = fixed_batch(RecordDecoder(layout, Shape()), b"".join(records), width + 2)
    batch.validate(full=True)
    blanks = "".join(map(chr, range(0x21)))
    texts = [None if row[:width] == "\0" * width else row[:width].strip(blanks) for row in rows]
    assert batch["A"].to_pylist() == texts
    assert batch["N"].to_pylist() == [7] * len(rows)


def ebcdic(text):
    return text.encode("cp037")


def one(text, record, *, shape=None, **rules):
    decoder = RecordDecoder(layout_of(text, **rules), shape, corrupt=True)
    row = fixed_batch(decoder, record, len(record)).to_pylist()[0]
    row.pop("_corrupt_fields")
    return row


def test_types_of_columns():
    clauses = {
        "9(9)": "int32", "9(10)": "int64", "9(18)": "int64", "9(19)": "decimal128(19, 0)", "S9(31)V9(7)": "decimal128(38, 7)",
        "S9(4) COMP": "int32", "9(9) COMP": "int64", "S9(9) COMP": "int32", "9(18) COMP": "decimal128(20, 0)", "S9(18) COMP": "int64",
        "9(8) COMP-5": "int64", "9(4)V99 COMP-5": "decimal128(10, 2)", "VPP99": "decimal128(4, 4)", "9(8)PP": "decimal128(10, 0)", "X(3) COMP": "binary",
    }  # fmt: skip
    for picture, expected in clauses.items():
        schema = RecordDecoder(layout_of(f"01 R. 05 A PIC {picture}.")).schema
        assert str(schema.field("A").type) == expected, picture
    assert (
        str(RecordDecoder(layout_of("01 R. 05 A COMP-1. 05 B COMP-2.")).schema.types)
        == "[DataType(float), DataType(double)]"
    )


def test_exact_integers_types_are_decimals_when_asked():
    decoder = RecordDecoder(
        layout_of("01 R. 05 A PIC 9(4). 05 B PIC S9(4) COMP."), Shape(strict_integral_precision=True)
    )
    assert [str(kind) for kind in decoder.schema.types] == ["decimal128(4, 0)", "decimal128(4, 0)"]
    assert fixed_batch(decoder, ebcdic("0042") + b"\xff\xd6", 6).to_pylist() == [{"A": Decimal(42), "B": Decimal(-42)}]


@pytest.mark.parametrize(
    ("policy", "expected"), [("both", "a b"), ("left", "a b "), ("right", " a b"), ("none", " a b ")]
)
def test_trimming(policy, expected):
    assert one("01 R. 05 A PIC X(5).", ebcdic(" a b "), shape=Shape(string_trimming_policy=policy)) == {"A": expected}


def test_text_beyond_ascii():
    assert one("01 R. 05 A PIC X(4). 05 B PIC X(2).", "é ü ".encode("cp037") + b"\x9f\x40", code_page="1140") == {
        "A": "é ü",
        "B": "€",
    }


def test_shapes_and_names():
    text = "01 R. 05 CUST-ID PIC 9. 05 FILLER PIC X. 05 FILLER. 10 B PIC X. 05 T PIC 9 OCCURS 2. 05 G OCCURS 2. 10 X PIC X."
    record = ebcdic("1ab23cd")
    assert one(text, record) == {"CUST_ID": 1, "FILLER_1": {"B": "b"}, "T": [2, 3], "G": [{"X": "c"}, {"X": "d"}]}
    assert one(text, record, shape=Shape(schema_retention_policy="keep_original", drop_group_fillers=True)) == {
        "R": {"CUST_ID": 1, "T": [2, 3], "G": [{"X": "c"}, {"X": "d"}]}
    }
    assert one(text, record, shape=Shape(drop_value_fillers=False))["FILLER_P1"] == "a"
    named = one(
        text,
        record,
        shape=Shape(drop_value_fillers=False, filler_naming_policy="previous_field_name", drop_group_fillers=True),
    )
    assert named["FILLER_AFTER_CUST_ID"] == "a"
    assert one(text, record, shape=Shape(flat=True)) == {
        "CUST_ID": 1, "FILLER_1_B": "b", "T_1": 2, "T_2": 3, "G_1_X": "c", "G_2_X": "d",
    }  # fmt: skip
    assert one(
        "01 R. 05 A PIC 9(3). 05 B PIC X COMP.",
        ebcdic("007") + b"\xab",
        shape=Shape(display_pic_always_string=True, binary_as_hex=True),
    ) == {"A": "007", "B": "AB"}


def test_only_wanted_columns_are_decoded():
    layout = layout_of("01 R. 05 A PIC 9(3). 05 B PIC X.")
    decoder = RecordDecoder(layout, columns=["B"])
    assert fixed_batch(decoder, ebcdic("???x"), 4).to_pylist() == [{"B": "x"}]
    with pytest.raises(LayoutError, match="no column 'C'; it has A, B"):
        RecordDecoder(layout, columns=["C"])


def test_comp_2_is_exact():
    data = bytes.fromhex("401999999999999AC276A000000000000000000000000001")
    layout = layout_of("01 R. 05 A COMP-2.")
    expected = [layout.decode(data[at : at + 8])["A"] for at in (0, 8, 16)]
    assert fixed_batch(RecordDecoder(layout), data, 8).column(0).to_pylist() == expected


def test_no_records():
    layout = layout_of("01 R. 05 N PIC 9. 05 A PIC X OCCURS 0 TO 3 DEPENDING ON N.")
    assert RecordDecoder(layout, corrupt=True).decode(b"", np.zeros(0, np.int64), np.zeros(0, np.int64)).num_rows == 0


def test_thirty_eight_digits_and_unsigned_64_bit():
    text = "01 R. 05 A PIC S9(38). 05 B PIC S9(31) COMP-3. 05 C PIC 9(18) COMP-5. 05 D PIC S9(20)V9(18)."
    a, b, d = -(10**38 - 1), 10**30 + 7, Decimal("-12345678901234567890.123456789012345678")
    values = {"A": a, "B": b, "C": 2**64 - 1, "D": d}
    layout = layout_of(text)
    batch = fixed_batch(RecordDecoder(layout), layout.encode(values) * 3, layout.length)
    assert batch.to_pylist() == [{"A": Decimal(a), "B": Decimal(b), "C": Decimal(2**64 - 1), "D": d}] * 3


MOVING = [
    """01 R. 05 K PIC 9. 05 A. 10 N PIC 9. 10 T PIC X(2) OCCURS 0 TO 4 DEPENDING ON N. 10 X PIC 9(3).
    05 B REDEFINES A. 10 M PIC 9. 10 U PIC 9(3) OCCURS 0 TO 3 DEPENDING ON M. 10 Y PIC 9(2).""",
    """01 R. 05 K PIC 9. 05 G OCCURS 0 TO 3 DEPENDING ON K. 10 A. 15 N PIC 9. 15 T PIC X OCCURS 0 TO 2 DEPENDING ON N.
    10 B REDEFINES A. 15 M PIC 9. 15 U PIC 9 OCCURS 2. 10 Z PIC 9. 05 E PIC 9(4).""",
    """01 R. 05 K PIC 9. 05 A PIC X(9). 05 B REDEFINES A. 10 N PIC 9. 10 T PIC 9 OCCURS 0 TO 4 DEPENDING ON N. 10 C PIC 99.
    10 D REDEFINES C. 15 M PIC 9. 15 U PIC 9 OCCURS 0 TO 2 DEPENDING ON M. 15 V PIC 9. 05 E PIC 9 OCCURS 0 TO 9
    DEPENDING ON K. 05 F PIC 99.""",
    """01 R. 05 G OCCURS 2. 10 A PIC X(3). 10 B REDEFINES A. 15 M PIC 9. 15 U PIC 9 OCCURS 0 TO 2 DEPENDING ON M.
    15 V PIC 9. 05 E PIC 9.""",
]


@settings(max_examples=60, deadline=None, phases=(Phase.explicit, Phase.reuse, Phase.generate))
@given(st.sampled_from(MOVING), st.lists(st.text("01234x", max_size=30), min_size=1, max_size=6))
@example(MOVING[1], ["31x404", "xx11212"])  # the first one ends where a redefinition is longer than its table
@example(MOVING[1], ["31x404", "5"])
def test_tables_of_variable_length_in_redefinitions_and_tables(text, records):
    layout = layout_of(text)
    records = [record.encode("cp037") for record in records]
    lengths = np.array([len(record) for record in records], np.int64)
    starts = np.cumsum(lengths) - lengths
    batch = RecordDecoder(layout, EXACT, corrupt=True).decode(b"".join(records), starts, lengths)
    batch.validate(full=True)
    for row, record in zip(batch.to_pylist(), records, strict=True):
        plain, corrupt = layout.decode_with_corrupt(record, fillers=True)
        bad = [(each["field_name"], each["offset"], each["raw_value"]) for each in row.pop("_corrupt_fields")]
        assert sorted(bad) == sorted((each.field, each.offset, bytes.fromhex(each.hex)) for each in corrupt)
        assert row == normal(plain)


def test_segments_with_tables_are_decoded_apart():
    layout = layout_of(MOVING[0])
    records = [record.encode("cp037") for record in ("12aabb123", "2198742", "10789", "2212345607")]
    lengths = np.array([len(record) for record in records], np.int64)
    first = np.array([True, False, True, False])
    batch = RecordDecoder(layout).decode(
        b"".join(records), np.cumsum(lengths) - lengths, lengths, {("A",): first, ("B",): ~first}
    )
    assert batch.to_pylist() == [
        {"K": 1, "A": {"N": 2, "T": ["aa", "bb"], "X": 123}, "B": None},
        {"K": 2, "A": None, "B": {"M": 1, "U": [987], "Y": 42}},
        {"K": 1, "A": {"N": 0, "T": [], "X": 789}, "B": None},
        {"K": 2, "A": None, "B": {"M": 2, "U": [123, 456], "Y": 7}},
    ]


def test_the_tables_of_a_redefinition_that_a_record_lacks_move_nothing():
    layout = layout_of(
        "01 R. 05 K PIC 9. 05 A. 10 N PIC 9. 10 T PIC X OCCURS 0 TO 3 DEPENDING ON N. 05 B REDEFINES A PIC X(4)."
        " 05 C PIC X."
    )
    records = [record.encode("cp037") for record in ("11xc", "21bcde")]
    lengths = np.array([len(record) for record in records], np.int64)
    first = np.array([True, False])
    batch = RecordDecoder(layout).decode(
        b"".join(records), np.cumsum(lengths) - lengths, lengths, {("A",): first, ("B",): ~first}
    )
    assert batch.to_pylist() == [
        {"K": 1, "A": {"N": 1, "T": ["x"]}, "B": None, "C": "c"},
        {"K": 2, "A": None, "B": "1bcd", "C": "e"},
    ]


def test_a_redefinition_in_a_table_is_decoded_for_the_records_that_have_it():
    layout = layout_of(
        "01 R. 05 K PIC X. 05 G OCCURS 2. 10 A PIC 9(2). 10 B REDEFINES A. 15 C PIC 9 OCCURS 2.",
        variable_size_occurs="max_size",
    )
    data = "11234".encode("cp037") + "21?34".encode("cp037")
    first = np.array([True, False])
    batch = RecordDecoder(layout, corrupt=True).decode(
        data, np.array([0, 5]), np.array([5, 5]), {("G", "A"): first, ("G", "B"): ~first}
    )
    bad = {"field_name": "G.B.C(1,2)", "raw_value": b"\x6f", "offset": 2}
    assert batch.to_pylist() == [
        {"K": "1", "G": [{"A": 12, "B": None}, {"A": 34, "B": None}], "_corrupt_fields": []},
        {
            "K": "2",
            "G": [{"A": None, "B": {"C": [1, None]}}, {"A": None, "B": {"C": [3, 4]}}],
            "_corrupt_fields": [bad],
        },
    ]
