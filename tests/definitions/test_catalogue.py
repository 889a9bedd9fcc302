from __future__ import annotations

import pytest

from tdqsim import definitions


def test_every_public_name_is_there():
    for name in definitions.__all__:
        assert getattr(definitions, name) is not None


def test_other_names_are_not():
    with pytest.raises(AttributeError, match="no attribute 'wibble'"):
        _ = definitions.wibble
