"""The pictures of the guide show the figures of the tables beside this file."""

from __future__ import annotations

import pytest

from tests.bench._pictures import PICTURES, pictures

pytestmark = pytest.mark.house


def test_the_guide_shows_the_figures_of_the_tables() -> None:
    """Otherwise run ``python -m tests.bench._pictures``."""
    for name, text in pictures().items():
        assert (PICTURES / name).read_text(encoding="utf-8") == text, name
