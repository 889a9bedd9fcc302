from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tdqsim.cics import Region

from .helpers import DEFINITIONS


@pytest.fixture
def region() -> Iterator[Region]:
    """A region with the queues of helpers.py and no supplied ones."""
    with Region(DEFINITIONS, supplied_queues=False) as made:
        yield made


@pytest.fixture
def make_region(tmp_path: Path) -> Iterator[Callable[..., Region]]:
    """Makes regions that are closed at the end of the test, before the directory of their stores goes."""
    made: list[Region] = []

    def make(*definitions: Any, **options: Any) -> Region:
        options.setdefault("supplied_queues", False)
        found = Region(definitions or DEFINITIONS, **options)
        made.append(found)
        return found

    yield make
    for found in made:
        found.close()
