# ruff: noqa: E402 - what the extra brings is imported after asking for it
"""The vectorised encoder against the plain one."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

pa = pytest.importorskip("pyarrow", reason="the extra tdqsim[spark] is not installed")

from tdqsim.errors import ConversionError
from tdqsim.pipeline.decoder import RecordDecoder
from tdqsim.pipeline.encoder import RecordEncoder
from tdqsim.pipeline.options import read_options
from tests.layouts.strategies import copybooks
from tests.pipeline.batches import fixed_batch


def options(text, **more):
    page = {} if more.get("encoding") == "ascii" else {"ebcdic_code_page": "cp037"}
    return read_options({"copybook_contents": text, "string_trimming_policy": "none", **page, **more})


def plainly(encoder, batch):
    """What the plain encoder makes of rows, or says of the first that it refuses."""
    made = []
    for number, row in enumerate(batch.to_pylist()):
        try:
            made.append(encoder.plain.encode(row))
        except ConversionError as error:
            return str(ConversionError(str(error), record=number + 1))
    return made


def at_once(encoder, batch):
    try:
        return encoder.encode(batch)
    except ConversionError as error:
        return str(error)


digits = st.sampled_from([*range(0xF0, 0xFA), 0x12, 0x1C, 0x1D, 0xC5, 0xD5, 0x40, 0x00, 0x60, 0x4E, 0xFF])


@settings(max_examples=60, deadline=None, phases=(Phase.explicit, Phase.reuse, Phase.generate))
@given(copybooks(), st.sampled_from(["ebcdic", "ascii"]), st.sampled_from(["IBM", "IEEE754_little_endian"]), st.data())
def test_both_encoders_agree(text, encoding, floating, data):
    chosen = options(text, encoding=encoding, floating_point_format=floating, drop_value_fillers="false")
    width = chosen.layout.length
    records = data.draw(st.lists(st.lists(digits, min_size=width, max_size=width).map(bytes), min_size=1, max_size=6))
    batch = fixed_batch(RecordDecoder(chosen.layout, chosen.shape), b"".join(records), width)
    encoder = RecordEncoder(chosen)
    assert at_once(encoder, batch) == plainly(encoder, batch)
    one = batch.slice(len(records) - 1)
    assert at_once(encoder, one) == plainly(encoder, one)


@settings(max_examples=80, deadline=None, phases=(Phase.explicit, Phase.reuse, Phase.generate))
@given(st.data())
def test_any_values_are_written_or_refused_alike(data):
    text = data.draw(
        st.sampled_from(
            ["9(5)", "S9(5)", "S9(4) COMP", "9(9) COMP", "9(18) COMP-5", "S9(7) COMP-3", "9(6) COMP-6", "S9(18)",
             "S9(3) SIGN LEADING", "S9(3) SIGN TRAILING SEPARATE", "9(3) BLANK WHEN ZERO", "S9(20) COMP-3", "9(3)P(2)"]
        )
    )  # fmt: skip
    chosen = options(f"01 R. 05 A PIC {text}.", write_null_comp3_numbers_as_zeros=data.draw(st.booleans()))
    numbers = st.one_of(st.none(), st.integers(-(10**6), 10**6), st.sampled_from([-(2**63), 2**63 - 1, 2**31, -32768]))
    kind = data.draw(st.sampled_from([pa.int64(), pa.decimal128(38, 0)]))
    batch = pa.RecordBatch.from_arrays([pa.array(data.draw(st.lists(numbers, min_size=1, max_size=4)), kind)], ["A"])
    encoder = RecordEncoder(chosen)
    assert at_once(encoder, batch) == plainly(encoder, batch)


@settings(max_examples=80, deadline=None, phases=(Phase.explicit, Phase.reuse, Phase.generate))
@given(
    st.lists(st.one_of(st.none(), st.text(st.characters(max_codepoint=0x17F), max_size=6)), min_size=1, max_size=5),
    st.sampled_from(["X(4)", "X(4) JUST", "A(5)", "N(4)"]),
    st.sampled_from(["037", "1047", "1140", "273"]),
    st.booleans(),
)
def test_any_text_is_written_or_refused_alike(texts, picture, page, blanks):
    chosen = options(
        f"01 R. 05 A PIC {picture}. 05 B PIC X.", ebcdic_code_page=page, write_null_strings_as_spaces=blanks
    )
    batch = pa.RecordBatch.from_arrays([pa.array(texts, pa.string()), pa.array(["b"] * len(texts))], ["A", "b"])
    encoder = RecordEncoder(chosen)
    assert at_once(encoder, batch) == plainly(encoder, batch)


@settings(max_examples=60, deadline=None, phases=(Phase.explicit, Phase.reuse, Phase.generate))
@given(st.lists(st.one_of(st.none(), st.floats()), min_size=1, max_size=5), st.sampled_from(["COMP-1", "COMP-2"]),
       st.sampled_from(["IBM", "IBM_little_endian", "IEEE754", "IEEE754_little_endian"]))  # fmt: skip
def test_any_float_is_written_or_refused_alike(values, usage, form):
    chosen = options(f"01 R. 05 A {usage}.", floating_point_format=form)
    batch = pa.RecordBatch.from_arrays([pa.array(values, pa.float64())], ["A"])
    encoder = RecordEncoder(chosen)
    assert at_once(encoder, batch) == plainly(encoder, batch)


def test_groups_tables_and_fields_that_nobody_gives():
    text = """01 R. 05 FILLER PIC X(2) VALUE 'AB'. 05 G. 10 N PIC S9(3)V99 COMP-3. 10 T OCCURS 2. 15 A PIC X. 15 B PIC S9(4) COMP.
              05 FILLER PIC 9(2). 05 C PIC S9(4) COMP SYNC."""
    chosen = options(text)
    rows = [
        {"G": {"N": Decimal("-1.25"), "T": [{"A": "x", "B": 1}, {"A": None, "B": -2}]}, "C": 7},
        {"G": {"N": None, "T": [{"A": "é", "B": 3}, {"A": "z", "B": 4}]}, "C": -7},
    ]
    batch = pa.RecordBatch.from_pylist(rows, RecordDecoder(chosen.layout, chosen.shape).schema)
    found = RecordEncoder(chosen).encode(batch)
    assert found == plainly(RecordEncoder(chosen), batch)
    assert found[0].hex(" ") == "c1 c2 00 12 5d a7 00 01 00 ff fe f0 f0 00 00 07"


def test_a_value_that_does_not_fit_names_its_record():
    chosen = options("01 R. 05 A PIC 9(3).")
    batch = pa.RecordBatch.from_arrays([pa.array([1, 2, 1000])], ["A"])
    with pytest.raises(ConversionError, match=r"record 13: .*1000.*3 digits"):
        RecordEncoder(chosen).encode(batch, 10)
