"""The build writes the stubs that editors and type checkers need: ``tests/generators/stubs.py``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class StubsHook(BuildHookInterface):
    """Makes the stubs before the files of a wheel or an editable install are gathered."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the stubs into the source tree; a wheel takes them from there."""
        root = Path(self.root)
        sys.path[:0] = [str(root / "src"), str(root)]
        from tests.generators.stubs import write_stubs  # noqa: PLC0415  (only now its path is there)

        write_stubs()
