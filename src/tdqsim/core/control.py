"""The addresses of servers on this machine: files that a server leaves for the command line.

A private folder of the user has a small file for each directory and each store that is served. The folder is ``tdqsim``
in ``XDG_RUNTIME_DIR``, otherwise ``tdqsim-UID`` in ``/tmp``, otherwise ``.tdqsim`` in the home directory: the first
that belongs to the user or can be created. Commands search all of them, because the environment of the server may
differ.

A file contains the address (a Unix socket in the same folder; without Unix sockets a port on loopback) and the token.
If a server was killed, its files remain, but their address does not answer; they are then ignored.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from tdqsim.core.named import NamedTuple
from tdqsim.core.portable import alive
from tdqsim.errors import UsageError

_MOST: Final = 65536
_PATIENCE: Final = 5.0


class Address(NamedTuple):
    """The address of a region or system in a server.

    Attributes:
        url: ``unix:PATH``, or ``http://127.0.0.1:PORT``.
        token: the bearer token of the run.
        pid: the server's process.
        name: the region or system of the directory or store; empty if there are several.
        kind: ``region`` or ``system``.
    """

    url: str
    token: str
    pid: int
    name: str
    kind: str

    @staticmethod
    def folder() -> Path | None:
        """The private folder of this user, which is made where there is none; None if it cannot be."""
        for folder in _candidates():
            with contextlib.suppress(OSError):
                folder.mkdir(mode=0o700)
            if _is_private(folder):
                return folder
        return None

    @classmethod
    def find(cls, place: Path) -> Address | None:
        """The address that a server left for a directory or store; does not check whether the server answers."""
        for folder in filter(_is_private, _candidates()):
            address = _read(_file_of(folder, place))
            if address.get("place") == str(place.resolve()) and address.keys() >= set(cls._fields):
                url, token, name, kind = (str(address[word]) for word in ("url", "token", "name", "kind"))
                return cls(url, token, int(str(address["pid"])), name, kind)
        return None

    @contextlib.contextmanager
    def announced(self, places: Iterable[Path]) -> Iterator[None]:
        """Leave a file for each place, until the end of the block.

        Raises:
            UsageError: there is no private folder.
        """
        left: list[Path] = []
        try:
            folder = self.folder()
            if folder is None:
                raise UsageError("there is no private folder for control addresses; set XDG_RUNTIME_DIR")
            _sweep(folder)
            left += (_write(folder, place, self) for place in places)
            yield
        finally:
            for file in left:
                if _read(file).get("pid") == self.pid:  # another server may have replaced it
                    file.unlink(missing_ok=True)


def _candidates() -> Iterator[Path]:
    """The possible places of the folder, in the order of preference."""
    if not hasattr(os, "geteuid"):  # pragma: no cover - elsewhere than on POSIX systems
        import tempfile  # every command runs this; modules that are rarely needed are imported later

        yield Path(tempfile.gettempdir()) / "tdqsim-user"
        return
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    if runtime.startswith("/"):
        yield Path(runtime) / "tdqsim"
    yield Path("/tmp") / f"tdqsim-{os.geteuid()}"  # noqa: S108  (not used if another user has it)
    with contextlib.suppress(RuntimeError):  # the user has no home directory
        yield Path.home() / ".tdqsim"


def _is_private(folder: Path) -> bool:
    """Whether it is a directory of this user that no other user can access."""
    try:
        status = folder.lstat()
    except OSError:
        return False
    private = stat.S_ISDIR(status.st_mode) and not status.st_mode & 0o077
    return private and (not hasattr(os, "geteuid") or status.st_uid == os.geteuid())


def _file_of(folder: Path, place: Path) -> Path:
    import hashlib  # needed only if something was served

    return folder / f"{hashlib.sha256(str(place.resolve()).encode('utf-8', 'surrogateescape')).hexdigest()[:32]}.json"


def _write(folder: Path, place: Path, address: Address) -> Path:
    import json  # only servers need it

    file = _file_of(folder, place)
    part = file.with_suffix(f".{os.getpid()}")
    with contextlib.suppress(FileNotFoundError):
        part.unlink()
    record = {"place": str(place.resolve())} | address._asdict()
    with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as out:  # noqa: PTH123
        json.dump(record, out)
    part.replace(file)
    return file


def _sweep(folder: Path) -> None:
    """Remove the files of killed servers, whose addresses do not answer even if another process has the process id."""
    for file in folder.iterdir():
        url = _read(file).get("url", "") if file.suffix == ".json" else f"unix:{file}" if file.suffix == ".sock" else ""
        if url and not _answers(str(url)):
            file.unlink(missing_ok=True)


def _answers(url: str) -> bool:
    """Whether a server listens at an address; False only if the connection is refused."""
    import socket  # only servers need it
    from urllib.parse import urlsplit

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
        return True  # unknown: a file that remains does no harm
    return True


def all_served() -> Iterator[tuple[Path, Address]]:
    """Every directory and store of this user that a running process serves, with the address of the server."""
    for folder in filter(_is_private, _candidates()):
        for file in sorted(folder.glob("*.json")):
            place = _read(file).get("place")
            address = Address.find(Path(str(place))) if place else None
            if address is not None and alive(address.pid):
                yield Path(str(place)), address


def _read(file: Path) -> dict[str, object]:
    try:
        with file.open("rb") as source:
            text = source.read(_MOST)
    except OSError:
        return {}
    import json  # needed only if something is served

    try:
        values = json.loads(text)
    except ValueError:
        return {}
    return values if isinstance(values, dict) else {}
