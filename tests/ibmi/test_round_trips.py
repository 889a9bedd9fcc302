"""What is built can be parsed back, for every format and for any values."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tdqsim.core.codepage import codepage
from tdqsim.ibmi import datetime_to_dts, dts_to_datetime, formats, layout, pack_decimal, unpack_decimal
from tdqsim.ibmi.dts import ns_to_dts, stamper

PAGE = codepage(37)
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789*$#@_ "


def values_for(form):
    kinds = {}
    for field in form.fields:
        if field.kind == "B":
            kinds[field.name] = st.integers(-(2**31), 2**31 - 1)
        elif field.kind == "P":
            kinds[field.name] = st.integers(-(10 ** (2 * field.length - 1)) + 1, 10 ** (2 * field.length - 1) - 1)
        elif field.kind == "C":
            kinds[field.name] = st.text(LETTERS, max_size=field.length).map(str.rstrip)
        else:
            size = {"min_size": field.length, "max_size": field.length} if field.length else {"max_size": 40}
            kinds[field.name] = st.binary(**size)
    return st.fixed_dictionaries(kinds)


@pytest.mark.parametrize("name", sorted(formats()))
@settings(max_examples=15)
@given(data=st.data())
def test_each_format(name, data):
    form = layout(name)
    values = data.draw(values_for(form))
    lengths = {field.name: len(values[field.name]) for field in form.fields if field.length is None}
    built = form.build(values, PAGE)
    assert len(built) == form.length + sum(lengths.values())
    assert form.parse(built, PAGE, lengths) == values
    cut = data.draw(st.integers(0, len(built)))
    part = form.parse(built[:cut], PAGE, lengths)
    assert part == {key: values[key] for key in part}  # a receiver that ended early: whole fields only


@given(
    st.integers(1, 8).flatmap(
        lambda n: st.tuples(st.just(n), st.integers(-(10 ** (2 * n - 1)) + 1, 10 ** (2 * n - 1) - 1))
    )
)
def test_packed_decimal(case):
    length, number = case
    assert len(pack_decimal(number, 2 * length - 1)) == length
    assert unpack_decimal(pack_decimal(number, 2 * length - 1)) == number


@given(st.datetimes(datetime(1928, 8, 25), datetime(2071, 5, 9)))
def test_stamps(moment):
    assert dts_to_datetime(datetime_to_dts(moment)) == moment


@given(st.lists(st.integers(0, 3 * 10**18), min_size=1, max_size=20), st.sampled_from([0, 3600, -18000, 19800]))
def test_stamps_of_moments(moments, offset):
    stamp = stamper(lambda _: offset)
    for moment in moments:
        assert stamp(moment) == ns_to_dts(moment, offset)
        expected = datetime(1970, 1, 1) + timedelta(microseconds=moment // 1000, seconds=offset)
        assert dts_to_datetime(stamp(moment)) == expected
    ordered = sorted(set(moments))
    assert [stamp(moment) for moment in ordered] == sorted({stamp(moment) for moment in ordered})
