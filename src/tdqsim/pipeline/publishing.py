"""Files that take their name when they are whole: a task that is killed, or run twice, leaves no half of one.

A place may be in an object store, by any scheme that fsspec knows: there an object is whole as soon as it is there.
"""

from __future__ import annotations

import errno
import json
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tdqsim.core.portable import alive
from tdqsim.errors import DatasetError, TdqError

__all__ = [
    "is_local",
    "left_behind",
    "no_room",
    "place",
    "publish_json",
    "published",
    "reached",
    "seed_line",
    "stamp",
    "state",
]


def place(path: str | Path) -> Path:
    """A directory or file: a path, or what has the methods of one and is in an object store.

    Raises:
        DatasetError: the scheme is not known, or what knows it is not installed.
    """
    text = str(path)
    if "://" not in text or text.startswith("file://"):
        return Path(text.removeprefix("file://")).absolute()
    from upath import UPath  # noqa: PLC0415 - an extra

    try:
        found: Any = UPath(text)
        found.fs  # noqa: B018 - made when it is asked for
    except (ImportError, OSError, ValueError) as error:
        raise DatasetError(f"{text}: no such place can be reached: {error}") from error
    return found  # type: ignore[no-any-return]


@contextmanager
def reached(path: object) -> Iterator[None]:
    """Report errors of an object store like errors of files, whatever its library raises.

    Raises:
        DatasetError: the store could not be reached, or refused.
    """
    try:
        yield
    except (TdqError, OSError):
        raise
    except Exception as error:
        if "://" not in str(path):
            raise
        raise DatasetError(f"{path}: {type(error).__name__}: {error}") from error


def is_local(path: object) -> bool:
    """Whether a place is a path of this machine's own."""
    return isinstance(path, Path)


def stamp(path: str | Path) -> tuple[str, int, str]:
    """The identity of a file and its version: its name, and its :func:`state`."""
    found = place(path)
    return str(found.resolve() if is_local(found) else path), *state(found)


def state(found: Any) -> tuple[int, str]:
    """The version of a file, without reading it: size, times of change.

    Of a local file also the change time, which cannot be set: a copy that keeps the time of its original is another
    file. In an object store the tag of the content, where there is one.
    """
    if is_local(found):
        status = found.stat()
        return status.st_size, f"{status.st_mtime_ns} {status.st_ctime_ns}"
    info = found.fs.info(found.path)
    changed = next((info[name] for name in ("ETag", "etag", "LastModified", "mtime", "created") if name in info), "")
    return int(info["size"]), str(changed)


@contextmanager
def published(path: Path) -> Iterator[Path]:
    """A name to write to; at the end of the block the file takes its real name, whole or not at all.

    Raises:
        DatasetError: there is no room for it; or what the block raised as one, by the file's real name.
    """
    if not is_local(path):
        yield from _uploaded(path)
        return
    fresh = path.with_name(f".{path.name}.{socket.gethostname()}.{os.getpid()}.{threading.get_ident()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh.unlink(missing_ok=True)  # a link of that name would be written through
        yield fresh
        fresh.replace(path)
    except OSError as error:
        if (full := no_room(path, error)) is None:
            raise
        raise full from error
    except DatasetError as error:
        if str(fresh) not in str(error):
            raise
        raise DatasetError(str(error).replace(str(fresh), str(path))) from error
    finally:
        fresh.unlink(missing_ok=True)


def _uploaded(path: Any) -> Iterator[Path]:
    with TemporaryDirectory(prefix="tdqsim-") as folder:
        fresh = Path(folder) / path.name
        yield fresh
        path.fs.put_file(str(fresh), path.path)


def no_room(path: Path, error: OSError) -> DatasetError | None:
    """The error that says what to do when a disk is full; None when it was something else."""
    if error.errno not in (errno.ENOSPC, errno.EDQUOT):
        return None
    return DatasetError(f"{path}: there is no room for it; make some and run it again: what is finished is kept")


def publish_json(path: Path, value: object) -> None:
    """Write JSON under a name, whole or not at all."""
    with published(path) as fresh:
        fresh.write_text(json.dumps(value, ensure_ascii=False), "utf-8")


def seed_line(key: bytes | None, data: bytes, *, as_json: bool) -> str:
    """A line as ``tdq seed --hex`` takes it, or as JSON, with a key if there is one, as ``tdq dtaq seed`` does."""
    digits = data.hex().upper()
    return f"{json.dumps({'data': digits} | ({'key': key.hex().upper()} if key else {})) if as_json else digits}\n"


def left_behind(name: str) -> bool:
    """Whether a hidden file is one of :func:`published`'s, of this machine, and of a process that is gone."""
    head, _, rest = name.rpartition(f".{socket.gethostname()}.")
    pid = rest.partition(".")[0]
    return bool(head) and pid.isdecimal() and not alive(int(pid))
