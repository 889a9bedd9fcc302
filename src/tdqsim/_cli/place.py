"""Which region a command is about: a region directory, or definitions and a store.

A command that only looks opens the store read-only: it may be in use by another process, and what is shown is that
process's last commit. A command that changes something needs the store for itself. Without a store there is nothing that
could last from one command to the next, so such commands ask for one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tdqsim._cli.errors import InputError, warn

if TYPE_CHECKING:
    from tdqsim.cics import Region
    from tdqsim.definitions.regionfile import RegionFile

__all__ = ["DdOption", "DefinitionsOption", "Place", "RegionOption", "StoreOption", "looking", "split_region", "using"]

RegionOption = Annotated[
    Path | None,
    typer.Option("--region", "-r", metavar="DIR", envvar="TDQ_REGION", help="A region directory (with region.yaml)."),
]
DefinitionsOption = Annotated[
    list[Path] | None, typer.Option("--definitions", "-d", metavar="FILE", help="A definition file or folder; repeatable.")
]
StoreOption = Annotated[
    Path | None, typer.Option("--store", "-s", metavar="DIR", envvar="TDQ_STORE", help="The store's directory.")
]
DdOption = Annotated[
    list[str] | None, typer.Option("--dd", metavar="NAME=FILE", help="The file of a DD name; repeatable.")
]

_REGION_FILE = "region.yaml"


@dataclass
class Place:
    """Where a command works.

    Attributes:
        directory: the region directory, or None.
        definitions: definition files given beside or instead of it.
        store: the store's directory, or None.
        dd: DD cards as given, ``NAME=FILE``.
        extra: further arguments for the region.
    """

    directory: Path | None
    definitions: list[Path] = field(default_factory=list)
    store: Path | None = None
    dd: list[str] = field(default_factory=list)
    extra: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.directory is None and not self.definitions and Path(_REGION_FILE).is_file():
            self.directory = Path()
        if self.directory is not None and not (self.directory / _REGION_FILE).is_file():
            raise InputError(f"{self.directory}: no region directory; there is no {_REGION_FILE} in it")

    def region_file(self) -> RegionFile:
        """What region.yaml says; the defaults where there is none."""
        from tdqsim.definitions.regionfile import RegionFile, load_region_file  # noqa: PLC0415

        return RegionFile() if self.directory is None else load_region_file(self.directory)

    def require_store(self) -> Path:
        """The store, for a command that changes something."""
        if self.store is None:
            raise InputError("this command needs a store to work on: --store DIR (it is made when there is none)")
        return self.store


def split_region(words: list[str] | None, region: Path | None) -> tuple[list[str], Path | None]:
    """Take a region directory off the front of the arguments, where one stands there.

    A queue's name has at most four characters and no slash, so a directory with a region.yaml cannot be one.
    """
    words = list(words or [])
    if words and region is None and (Path(words[0]) / _REGION_FILE).is_file():
        return words[1:], Path(words[0])
    return words, region
