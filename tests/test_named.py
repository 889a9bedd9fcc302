"""``tdqsim.named.NamedTuple`` against the one of ``typing``."""

from __future__ import annotations

import pickle
from typing import NamedTuple as Standard
from typing import get_type_hints

import pytest

from tdqsim.named import NamedTuple


class Entry(NamedTuple):
    """An entry."""

    name: str
    data: bytes = b""

    @property
    def length(self) -> int:
        return len(self.data)


class StandardEntry(Standard):
    """An entry."""

    name: str
    data: bytes = b""


def test_a_class_is_as_that_of_typing() -> None:
    entry = Entry("PAYQ", b"10.00")
    assert entry == ("PAYQ", b"10.00")
    assert entry.length == 5
    assert Entry(name="PAYQ").data == b""
    assert repr(entry) == "Entry(name='PAYQ', data=b'10.00')"
    assert pickle.loads(pickle.dumps(entry)) == entry
    assert get_type_hints(Entry) == {"name": str, "data": bytes} == get_type_hints(StandardEntry)
    assert Entry.__doc__ == "An entry."
    assert Entry.__module__ == __name__
    assert Entry.__qualname__ == "Entry"
    assert Entry.__bases__ == StandardEntry.__bases__ == (tuple,)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'name'"):
        Entry()  # type: ignore[call-arg]
