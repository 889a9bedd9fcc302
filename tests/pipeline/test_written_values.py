# ruff: noqa: E402 - what the extra brings is imported after asking for it
"""What columns become in records, and records in columns: nulls, edited numbers, blank numbers."""

from __future__ import annotations

from decimal import Decimal

import pytest

pa = pytest.importorskip("pyarrow", reason="the extra tdqsim[spark] is not installed")

from tdqsim.errors import ConversionError
from tdqsim.pipeline.decoder import RecordDecoder
from tdqsim.pipeline.encoder import RecordEncoder
from tdqsim.pipeline.options import read_options
from tests.pipeline.batches import fixed_batch


def options(clauses, **more):
    return read_options({"copybook_contents": f"01 R. 05 A {clauses}.", **more})


def written(clauses, values, kind, **more):
    batch = pa.RecordBatch.from_arrays([pa.array(values, kind)], ["A"])
    return [record.hex().upper() for record in RecordEncoder(options(clauses, **more)).encode(batch)]


def read(clauses, data, numbers="IBM", **more):
    chosen = options(clauses, **more)
    decoder = RecordDecoder(chosen.layout.with_rules(numbers=numbers), chosen.shape, corrupt=True)
    batch = fixed_batch(decoder, bytes.fromhex(data), chosen.layout.length)
    return batch.column(0).to_pylist(), [entry["raw_value"] for row in batch.column(1).to_pylist() for entry in row]


@pytest.mark.parametrize(
    ("clauses", "kind", "expected"),
    [
        ("PIC S9(4) COMP", pa.int32(), "0000"),
        ("PIC 9(9)V99 COMP-5", pa.decimal128(20, 2), "0000000000000000"),
        ("COMP-1", pa.float32(), "00000000"),
        ("COMP-2", pa.float64(), "0000000000000000"),
        ("POINTER", pa.binary(), "00000000"),
        ("PIC 9(3)", pa.int32(), "000000"),
        ("PIC 9(3) COMP-3", pa.int32(), "0000"),
        ("PIC X(2)", pa.string(), "0000"),
    ],
)
def test_null_is_written_as_low_values(clauses, kind, expected):
    assert written(clauses, [None], kind) == [expected]


@pytest.mark.parametrize(
    ("clauses", "kind", "values", "records"),
    [
        ("PIC ZZ9.99", pa.decimal128(5, 2), ["7.05", "0.00"], ["4040F74BF0F5", "4040F04BF0F0"]),
        ("PIC Z(3)", pa.int32(), [7, 0], ["4040F7", "404040"]),
        ("PIC +9(2)", pa.int32(), [7, -7], ["4EF0F7", "60F0F7"]),
        ("PIC 9(2).9-", pa.decimal128(3, 1), ["7.5", "-7.5"], ["F0F74BF540", "F0F74BF560"]),
        ("PIC 9(3),99", pa.decimal128(5, 2), ["7.05", None], ["F0F0F76BF0F5", "000000000000"]),
        ("PIC S9(2).9", pa.decimal128(3, 1), ["7.5", "-7.5"], ["F0F74BC5", "F0F74BD5"]),
        ("PIC S9(2).9 SIGN TRAILING SEPARATE", pa.decimal128(3, 1), ["-7.5"], ["F0F74BF560"]),
    ],
)
def test_edited_numbers_are_columns_of_numbers(clauses, kind, values, records):
    numbers = [Decimal(value) if isinstance(value, str) else value for value in values]
    assert written(clauses, numbers, kind) == records
    assert read(clauses, "".join(records)) == (numbers, [])


def test_edited_numbers_that_are_none_are_corrupt():
    values, corrupt = read("PIC ZZ9.99", "4040F74BF0F5" + "C1C2C34BF0F5" + "404040404040" + "F14BF04BF0F5")
    assert values == [Decimal("7.05"), None, None, None]
    assert corrupt == [bytes.fromhex("C1C2C34BF0F5"), bytes.fromhex("F14BF04BF0F5")]


def test_a_blank_field_with_decimals_is_zero_where_its_clause_says_so():
    assert read("PIC 9(2)V9 BLANK WHEN ZERO", "404040F0F1F5") == ([Decimal("0.0"), Decimal("1.5")], [])


@pytest.mark.parametrize(
    ("clauses", "digits", "expected"),
    [
        ("PIC +9(2)", "555", 555),
        ("PIC S9(2) SIGN TRAILING SEPARATE", "555", 555),
        ("PIC +9(9)", "2147483647", 2**31 - 1),
        ("PIC +9(9)", "2147483648", None),  # the column is an int
        ("PIC +9(18)", "1234567890123456789", 1234567890123456789),
        ("PIC +9(18)", "9223372036854775808", None),
        ("PIC +9(20)", "123456789012345678901", None),  # a decimal of 20 digits
    ],
)
def test_a_digit_may_be_in_the_place_of_a_separate_sign_for_cobrix_only(clauses, digits, expected):
    data = digits.encode("cp037")
    assert read(clauses, data.hex(), numbers="Cobrix") == ([expected], [] if expected else [data])
    assert read(clauses, data.hex()) == ([None], [data])


def test_unsigned_halfwords_use_their_top_bit():
    assert read("PIC 9(4) COMP", "FFFE0001") == ([65534, 1], [])
    assert written("PIC 9(4) COMP", [65534, 1], pa.int32()) == ["FFFE", "0001"]


def test_a_count_that_is_not_given_is_that_of_the_table():
    text = "01 R. 05 G. 10 N PIC 9. 05 T PIC X OCCURS 0 TO 3 DEPENDING ON N. 05 U PIC X OCCURS 0 TO 3 DEPENDING ON N."
    chosen = read_options({"copybook_contents": text, "variable_size_occurs": "shift_record"})
    encoder = RecordEncoder(chosen)

    def records(counts, tables):
        table = pa.array(tables, pa.list_(pa.string()))
        group = pa.StructArray.from_arrays([pa.array(counts, pa.int32())], ["N"])
        return [
            record.decode("cp037") for record in encoder.encode(pa.record_batch([group, table, table], ["G", "T", "U"]))
        ]

    assert records([None, None, 1], [["a", "b"], [], ["c"]]) == ["2abab", "0", "1cc"]
    table = pa.array([["a"]], pa.list_(pa.string()))
    assert encoder.encode(pa.record_batch([table, table], ["T", "U"])) == ["1aa".encode("cp037")]
    with pytest.raises(ConversionError, match="1 elements were given; N says 2"):
        records([2], [["a"]])
