"""Other values for what an ablation cannot leave out."""

from __future__ import annotations

import pytest

from tests.quality._without import another

pytestmark = pytest.mark.house


@pytest.mark.parametrize(
    "value", ["?", "??", "!", "a", "AA", "AB", "abba", "", b"?", b"", b"\0", b"\x01", bytearray(b"ab"), 0, 7, -1, True]
)
def test_another_value_is_different_and_of_the_same_size(value):
    other = another(value)
    assert other != value
    assert isinstance(other, int if isinstance(value, int) else type(value))
    if isinstance(value, str | bytes):
        assert len(other) == max(len(value), 1)
