"""The file with the statistics of the last run: ``tdq run`` writes it, ``tdq inquire --statistics`` reads it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from tempfile import mkstemp
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from tdqsim.cics import Region

_NAME: Final = "statistics.json"


def write(store: Path, region: Region) -> None:
    """Write the current statistics of the region."""
    text = json.dumps({"applid": region.applid, **region.statistics.now().as_dict()}, indent=1)
    descriptor, temporary = mkstemp(
        prefix=f"{_NAME}.", dir=store
    )  # a random name, so that no other user can have put a link there
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    Path(temporary).replace(store / _NAME)


def read(store: Path) -> dict[str, Any] | None:
    """The statistics of the last run on the store; None if they do not exist or cannot be read."""
    try:
        statistics = json.loads((store / _NAME).read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return statistics if isinstance(statistics, dict) and {"queues", "total"} <= statistics.keys() else None
