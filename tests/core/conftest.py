"""What the tests of the store share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tdqsim.core.store import Store


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Where a store can be made."""
    return tmp_path / "store"


@pytest.fixture
def store(place: Path) -> Iterator[Store]:
    """A new store."""
    with Store(place) as opened:
        yield opened
