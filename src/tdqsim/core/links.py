"""Symbolic links: a written file stays in the directory that was named for it.

A file that is to be written is named by its directory and its name there. When that name is a symbolic link to
another directory, the maker of the link, not the user who named the file, would choose what is overwritten: such a
file is refused. A link that stays in its directory is followed, and so are links on the way to the directory, which
were named. What is only read may be anywhere.

A hard link is the file itself: it leads nowhere, and a user who can make one can write the file, as
``fs.protected_hardlinks`` has it. A hard-linked file is therefore written like any other.
"""

from __future__ import annotations

import errno
from os.path import realpath
from pathlib import Path

__all__ = ["leads_out", "stays_here"]


def leads_out(path: Path, home: Path) -> bool:
    """Whether a symbolic link on the way to a file leads out of a directory; a ring of links leads nowhere."""
    return not Path(realpath(path)).is_relative_to(realpath(home))


def stays_here(path: Path | str) -> Path:
    """The path of a file that is to be written.

    Raises:
        OSError: it is a symbolic link that leads out of the directory it stands in.
    """
    path = Path(path)
    if path.is_symlink() and leads_out(path, path.parent):
        said = f"is a symbolic link that leads out of {path.parent}; name the file itself"
        raise OSError(errno.ELOOP, said, str(path))
    return path
