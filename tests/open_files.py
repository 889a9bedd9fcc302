"""What this process has open, for tests of what is closed again."""

from __future__ import annotations

import os
from pathlib import Path


def open_in(place: Path) -> list[str]:
    """The files at or below a path that are open here."""
    names = [os.path.realpath(each) for each in Path("/proc/self/fd").iterdir()]
    return [name for name in names if Path(name).is_relative_to(place)]
