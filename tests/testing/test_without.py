"""Other values for what an ablation cannot leave out."""

from __future__ import annotations

import pytest

from tdqsim.testing._without import another


@pytest.mark.parametrize("value", ["?", "??", "!", "a", "AA", "AB", b"?", b"", b"\0", 0, 7, True])
def test_another_value_is_different_and_of_the_same_size(value):
    other = another(value)
    assert other != value
    if isinstance(value, str | bytes):
        assert type(other) is type(value)
        assert len(other) == max(len(value), 1)
