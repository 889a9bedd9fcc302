"""Statistics that outlive their region: ``tdq run`` leaves them with the store, ``tdq stats`` reads them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from tempfile import mkstemp
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from tdqsim.cics import Region

__all__ = ["read", "write"]

_NAME: Final = "statistics.json"


def write(store: Path, region: Region) -> None:
    """Keep the region's statistics of this moment."""
    text = json.dumps(region.statistics.now().as_dict(), indent=1)
    descriptor, temporary = mkstemp(prefix=f"{_NAME}.", dir=store)  # nobody's link has that name
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    Path(temporary).replace(store / _NAME)


def read(store: Path) -> dict[str, Any] | None:
    """What the last run over the store kept; None when there is nothing that can be read."""
    try:
        found = json.loads((store / _NAME).read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) and {"queues", "total"} <= found.keys() else None
