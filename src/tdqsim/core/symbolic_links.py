"""Symbolic links: a file is only written in the directory that the user named for it.

If the name of an output file is a symbolic link to another directory, the person who made the link, not the user who
named the file, would choose which file is overwritten. Such a file is refused. A link within the same directory is
followed, and so are links in the path of the directory, because the user named that path. Files that are only read may
be anywhere.

A hard link is the file itself and does not lead elsewhere, and a user who can make one can also write the file (see
``fs.protected_hardlinks``). A hard-linked file is therefore written like any other.
"""

from __future__ import annotations

import errno
from os.path import realpath
from pathlib import Path


def leads_out(path: Path, home: Path) -> bool:
    """Whether a symbolic link in the path of a file leads out of a directory; a cycle of links does not."""
    return not Path(realpath(path)).is_relative_to(realpath(home))


def stays_here(path: Path | str) -> Path:
    """The path of a file that will be written.

    Raises:
        OSError: it is a symbolic link that leads out of its directory.
    """
    path = Path(path)
    if path.is_symlink() and leads_out(path, path.parent):
        message = f"is a symbolic link that leads out of {path.parent}; name the file itself"
        raise OSError(errno.ELOOP, message, str(path))
    return path
