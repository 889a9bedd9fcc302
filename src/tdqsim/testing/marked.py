"""What the marker ``tdq_definitions`` of a test names, for plugins that start something with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tdqsim.definitions import Definitions
from tdqsim.testing.kit import definitions_of, folders_of


class MarkedDefinitions(NamedTuple):
    """What the marker names.

    Attributes:
        directories: the region directories.
        given: everything that is named.
        base: the folder of the test's file, in which relative paths start.
        handlers: whether the handlers that transactions name are imported.
    """

    directories: list[Path]
    given: list[Any]
    base: Path
    handlers: bool

    def definitions(self) -> Definitions:
        """The definitions in the files and of the resources.

        Raises:
            DefinitionError: a file is wrong, or two definitions conflict.
        """
        return definitions_of(self.given, self.base)

    def folders(self) -> list[Path]:
        """The folders from which handlers are imported: those of the files, and the region directories."""
        return folders_of(self.given, self.base)


def marked_definitions(item: pytest.Item) -> MarkedDefinitions:
    """What the markers ``tdq_definitions`` of a test name."""
    markers = list(item.iter_markers("tdq_definitions"))
    base = Path(item.path).parent
    given = [each for marker in markers for each in marker.args]
    directories = [base / each for each in given if isinstance(each, Path | str) and (base / each).is_dir()]
    handlers = all(marker.kwargs.get("handlers", True) for marker in markers)
    return MarkedDefinitions(directories, given, base, handlers)
