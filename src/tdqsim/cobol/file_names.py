"""The suffixes of the files of COBOL programs, copybooks and maps.

A copybook may also have a suffix of programs. When a folder has two files of one name, the file with a suffix that only
copybooks have is the copybook.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

PROGRAMS: Final = (".cbl", ".cob", ".cobol", ".ccp")
"""The suffixes of programs, in the order in which they are searched, in any case."""
COPYBOOKS: Final = ("", ".cpy", ".copy", ".inc", ".dcl")
"""The suffixes that only copybooks have; DCLGEN writes ``.dcl``."""
MAPS: Final = ".bms"
"""The suffix of BMS sources."""


def source_of(name: str, folders: Iterable[Path]) -> Path | None:
    """The source of a program: the first file of its name; None when there is none.

    Args:
        name: the program, in capitals.
        folders: the folders of sources, in order.
    """
    candidates = (
        folder / f"{stem}{suffix}"
        for folder in folders
        for stem in (name, name.lower())
        for ending in PROGRAMS
        for suffix in (ending, ending.upper())
    )
    return next((path for path in candidates if path.is_file()), None)


def names_in(folders: Iterable[Path]) -> list[str]:
    """The names of the programs whose sources are in folders."""
    files = (path for folder in folders if folder.is_dir() for path in folder.iterdir())
    return sorted({path.stem.upper() for path in files if path.suffix.lower() in PROGRAMS})
