from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CARD_POSTING = ROOT / "examples" / "card_posting"
sys.path.insert(0, str(CARD_POSTING))


@pytest.fixture
def real_data() -> Path:
    """The public CardDemo files, where the machine has them."""
    base = Path(os.environ.get("TDQ_DATA") or ROOT.parent / "shared" / "data")
    folder = base / "carddemo"
    if not folder.is_dir():
        pytest.skip(f"the CardDemo data files are not at {folder}; set TDQ_DATA to their parent directory")
    return folder
