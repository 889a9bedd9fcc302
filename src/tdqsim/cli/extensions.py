"""What packages beside the core bring to ``tdq``: each names it in a table ``tdq.tsv`` of its own.

A line of a table has a kind, a name, the module or object that Python imports when it is used (``module`` or
``module:name``), and for a command the heading and the line of help. The kinds:

    ``command``  a command; its module has a typer application ``app``
    ``dataset``  a command below ``tdq dataset``; its module has a typer application ``app``
    ``schema``   a function that makes the JSON schema of a kind of file, for ``tdq check --schema``
    ``check``    a function that gives the errors and the warnings of a region directory, for ``tdq check``
    ``new``      a function that makes the files of a new region directory, for ``tdq new``
    ``server``   a function or class for regions and systems that a server has (:mod:`tdqsim.cli.served`)
    ``kept``     a function that reads what a server has kept in a store

The core names none of these packages, and lives without them. These are tables and no entry points, because
``importlib.metadata`` alone takes half as long as ``tdq --help``.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from tdqsim.core.named import NamedTuple
from tdqsim.errors import NotInstalled

_PACKAGES: Final = Path(__file__).resolve().parents[1]
_TABLE: Final = "tdq.tsv"


class Extension(NamedTuple):
    """A line of a table.

    Attributes:
        kind: see the module.
        name: its name, within the kind.
        place: ``module`` or ``module:name``.
        group: of a command: the heading below which help lists it; empty to list it with ``--all`` only.
        about: of a command: what it does, in one line.
    """

    kind: str
    name: str
    place: str
    group: str = ""
    about: str = ""


@cache
def extensions(kind: str) -> dict[str, Extension]:
    """The lines of a kind, by name."""
    return {each.name: each for each in _lines() if each.kind == kind}


@cache
def _lines() -> tuple[Extension, ...]:
    return tuple(line for table in sorted(_PACKAGES.glob(f"*/{_TABLE}")) for line in _read(table))


def _read(table: Path) -> Iterator[Extension]:
    for line in table.read_text("utf-8").splitlines()[1:]:
        yield Extension(*line.split("\t"))


def extension(kind: str, name: str) -> Any:
    """The object that an extension brings.

    Raises:
        NotInstalled: no package here brings it.
    """
    found = extensions(kind).get(name)
    if found is None:
        raise NotInstalled(f"{kind} {name}: no package of tdqsim that is installed here has it")
    module, _, attribute = found.place.partition(":")
    loaded = import_module(module)
    return getattr(loaded, attribute) if attribute else loaded
