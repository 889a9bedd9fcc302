"""TSMODEL definitions: what their attributes must not be together."""

from __future__ import annotations

import pytest

from tdqsim.definitions import define_tsmodel
from tdqsim.errors import DefinitionError


@pytest.mark.parametrize(
    ("attributes", "words"),
    [
        ({"prefix": "  "}, "must be 1 to 16 characters"),
        ({"prefix": "A", "recovery": "YES", "location": "MAIN"}, "is allowed with location AUXILIARY only"),
        ({"prefix": "AB", "remoteprefix": "C"}, "needs remotesystem"),
        ({"prefix": "AB", "remotesystem": "SYS1", "remoteprefix": "ABC"}, "must be no longer than prefix"),
    ],
)
def test_tsmodel_attributes_that_do_not_go_together(attributes: dict[str, str], words: str) -> None:
    with pytest.raises(DefinitionError, match=words):
        define_tsmodel(name="M", **attributes)  # type: ignore[arg-type]


def test_tsmodel_remoteprefix_may_be_as_long_as_prefix() -> None:
    made = define_tsmodel(name="M", prefix="AB", remotesystem="SYS1", remoteprefix="CD")
    assert (made.remotesystem, made.remoteprefix) == ("SYS1", "CD")
