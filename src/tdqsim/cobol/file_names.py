"""The suffixes of the files of COBOL programs, copybooks and maps.

A copybook may also have a suffix of programs. When a folder has two files of one name, the file with a suffix that only
copybooks have is the copybook.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

PROGRAMS: Final = (".cbl", ".cob", ".cobol", ".ccp")
"""The suffixes of programs, in the order in which they are searched, in any case."""
COPYBOOKS: Final = ("", ".cpy", ".copy", ".inc", ".dcl")
"""The suffixes that only copybooks have; DCLGEN writes ``.dcl``."""
MAPS: Final = ".bms"
"""The suffix of BMS sources."""
_PROGRAM_ID: Final = re.compile(
    rb"""^[^*\n]*?\bPROGRAM-ID\b\.?\s+['"]?([A-Z0-9$#@_-]+)""", re.IGNORECASE | re.MULTILINE
)


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


def misnamed(source: Path) -> tuple[str, int] | None:
    """The PROGRAM-ID of a source and its line, if it is not the file's name, by which CICS and this package find it.

    CICS loads a program by the name of its load module, which the link step gives and the file's name stands for here.
    """
    try:
        text = source.read_bytes()
    except OSError:
        return None
    found = _PROGRAM_ID.search(text)
    name = found[1].decode("ascii").upper() if found else source.stem.upper()
    return None if found is None or name == source.stem.upper() else (name, text.count(b"\n", 0, found.start(1)) + 1)


def misnamed_in(folders: Iterable[Path]) -> dict[str, tuple[Path, int]]:
    """Sources whose PROGRAM-ID is not the file's name, by PROGRAM-ID: the first file, and the line."""
    found: dict[str, tuple[Path, int]] = {}
    for path in (path for folder in folders if folder.is_dir() for path in sorted(folder.iterdir())):
        if path.suffix.lower() in PROGRAMS and (other := misnamed(path)) is not None:
            found.setdefault(other[0], (path, other[1]))
    return found


def names_in(folders: Iterable[Path]) -> list[str]:
    """The names of the programs whose sources are in folders."""
    files = (path for folder in folders if folder.is_dir() for path in folder.iterdir())
    return sorted({path.stem.upper() for path in files if path.suffix.lower() in PROGRAMS})
