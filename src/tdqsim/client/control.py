"""Where a served directory or store is found: what a server leaves for the command line.

A folder of this user alone has a small file for each directory and each store that is served. It is ``tdqsim`` in
``XDG_RUNTIME_DIR``, else ``tdqsim-UID`` in ``/tmp``, else ``.tdqsim`` in the user's home: the first one that is this
user's own, or can be made. Commands look in all of them, since a server may have another environment.

A file names the address (a Unix socket beside it, elsewhere loopback) and the token. A file
whose server was killed names an address that nobody answers at; it is as good as none.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from tdqsim.errors import UsageError

__all__ = ["Address", "announce", "control_folder", "find", "withdraw"]

_MOST: Final = 65536
_PATIENCE: Final = 5.0


class Address(NamedTuple):
    """Where something is served.

    Attributes:
        url: ``unix:PATH``, or ``http://127.0.0.1:PORT``.
        token: the bearer token of the run.
        pid: the server's process.
        name: the region or system that is in the directory or store; empty for what has several.
        kind: ``region`` or ``system``.
    """

    url: str
    token: str
    pid: int
    name: str
    kind: str


def control_folder(*, make: bool = False) -> Path | None:
    """The folder that is this user's own; None when there is none.

    Args:
        make: make it when it is not there.
    """
    for folder in _candidates():
        if make:
            with contextlib.suppress(OSError):
                folder.mkdir(mode=0o700)
        if _is_private(folder):
            return folder
    return None


def _candidates() -> Iterator[Path]:
    """Where the folder can be, the best place first."""
    if not hasattr(os, "geteuid"):  # pragma: no cover - elsewhere than on POSIX systems
        import tempfile  # noqa: PLC0415  (every command looks here first; what it seldom needs is imported then)

        yield Path(tempfile.gettempdir()) / "tdqsim-user"
        return
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    if runtime.startswith("/"):
        yield Path(runtime) / "tdqsim"
    yield Path("/tmp") / f"tdqsim-{os.geteuid()}"  # noqa: S108  (another user can take the name: then it is not private)
    with contextlib.suppress(RuntimeError):  # a user without a home
        yield Path.home() / ".tdqsim"


def _is_private(folder: Path) -> bool:
    """Whether it is a directory of this user that nobody else can use."""
    try:
        found = folder.lstat()
    except OSError:
        return False
    private = stat.S_ISDIR(found.st_mode) and not found.st_mode & 0o077
    return private and (not hasattr(os, "geteuid") or found.st_uid == os.geteuid())


def _file_of(folder: Path, place: Path) -> Path:
    import hashlib  # noqa: PLC0415  (where nothing was ever served, nothing is looked for)

    return folder / f"{hashlib.sha256(str(place.resolve()).encode('utf-8', 'surrogateescape')).hexdigest()[:32]}.json"


def announce(places: Iterable[Path], address: Address) -> list[Path]:
    """Leave a file for each place; gives the files.

    Raises:
        UsageError: there is no folder that is this user's own.
    """
    import json  # noqa: PLC0415  (a server's)

    folder = control_folder(make=True)
    if folder is None:
        raise UsageError("there is no folder of this user's own for control addresses; set XDG_RUNTIME_DIR")
    _sweep(folder)
    left = []
    for place in places:
        file = _file_of(folder, place)
        part = file.with_suffix(f".{os.getpid()}")
        with contextlib.suppress(FileNotFoundError):
            part.unlink()
        record = {"place": str(place.resolve()), "url": address.url, "token": address.token, "pid": address.pid,
                  "name": address.name, "kind": address.kind}  # fmt: skip
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as out:  # noqa: PTH123
            json.dump(record, out)
        part.replace(file)
        left.append(file)
    return left


def _sweep(folder: Path) -> None:
    """Take away what servers have left that were killed: nobody answers there, whatever process has their number."""
    for file in folder.iterdir():
        url = _read(file).get("url", "") if file.suffix == ".json" else f"unix:{file}" if file.suffix == ".sock" else ""
        if url and not _answers(str(url)):
            file.unlink(missing_ok=True)


def _answers(url: str) -> bool:
    """Whether somebody listens there; only a refusal says that nobody does."""
    import socket  # noqa: PLC0415  (a server's)
    from urllib.parse import urlsplit  # noqa: PLC0415

    try:
        if url.startswith("unix:"):
            if not hasattr(socket, "AF_UNIX"):
                return False
            with socket.socket(socket.AF_UNIX) as asked:
                asked.settimeout(_PATIENCE)
                asked.connect(url.removeprefix("unix:"))
        else:
            parts = urlsplit(url)
            socket.create_connection((parts.hostname or "", parts.port or 0), _PATIENCE).close()
    except (ConnectionRefusedError, FileNotFoundError):
        return False
    except (OSError, ValueError):
        return True  # it is not known: what is left does no harm
    return True


def withdraw(files: Iterable[Path]) -> None:
    """Take files away that this process has left."""
    for file in files:
        found = _read(file)
        if found.get("pid") == os.getpid():
            file.unlink(missing_ok=True)


def find(place: Path) -> Address | None:
    """Where a directory or a store is served, if it says so; whether somebody answers there is not asked."""
    for folder in filter(_is_private, _candidates()):
        found = _read(_file_of(folder, place))
        if found.get("place") == str(place.resolve()) and found.keys() >= set(Address._fields):
            url, token, name, kind = (str(found[word]) for word in ("url", "token", "name", "kind"))
            return Address(url, token, int(str(found["pid"])), name, kind)
    return None


def _read(file: Path) -> dict[str, object]:
    try:
        with file.open("rb") as source:
            text = source.read(_MOST)
    except OSError:
        return {}
    import json  # noqa: PLC0415  (where something is served)

    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
