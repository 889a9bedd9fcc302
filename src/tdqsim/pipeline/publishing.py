"""Publish files only when they are complete: a task that is killed, or run twice, leaves no partial file.

A place may be in an object store, with any scheme that fsspec supports; there an object appears only when it is
complete.
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

from tdqsim.errors import DatasetError, TdqError
from tdqsim.hosting import alive


def place(path: str | Path) -> Path:
    """A directory or file: a path, or an object with the same methods for a place in an object store.

    Raises:
        DatasetError: the scheme is unknown, or the package for it is not installed.
    """
    text = str(path)
    if "://" not in text or text.startswith("file://"):
        return Path(text.removeprefix("file://")).absolute()
    from upath import UPath  # noqa: PLC0415 - an extra

    try:
        target: Any = UPath(text)
        target.fs  # noqa: B018 - made at the first access
    except (ImportError, OSError, ValueError) as error:
        raise DatasetError(f"{text}: no such place can be reached: {error}") from error
    return target  # type: ignore[no-any-return]


@contextmanager
def reached(path: object) -> Iterator[None]:
    """Report errors of an object store as errors of files, whatever its library raises.

    Raises:
        DatasetError: the store could not be reached, or refused access.
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
    """Whether a place is a local path of this machine."""
    return isinstance(path, Path)


def files_below(folder: Path) -> list[Path]:
    """All files below a directory, hidden ones too; in an object store it is listed anew."""
    if is_local(folder):
        return [path for path in folder.rglob("*") if path.is_file()]
    store: Any = folder
    store.fs.invalidate_cache()  # other processes write there
    names = store.fs.find(store.path)
    store.fs.invalidate_cache()
    return [folder / name.removeprefix(store.path).lstrip("/") for name in names]


def stamp(path: str | Path) -> tuple[str, int, str]:
    """The identity of a file and its version: its name, and its :func:`state`."""
    target = place(path)
    return str(target.resolve() if is_local(target) else path), *state(target)


def state(target: Any) -> tuple[int, str]:
    """The version of a file, determined without reading it: its size and times of change.

    For a local file this includes the change time, which cannot be set: a copy that preserves the modification time of
    its original is another file. In an object store it is the tag of the content, where there is one.
    """
    if is_local(target):
        status = target.stat()
        return status.st_size, f"{status.st_mtime_ns} {status.st_ctime_ns}"
    info = target.fs.info(target.path)
    changed = next((info[name] for name in ("ETag", "etag", "LastModified", "mtime", "created") if name in info), "")
    return int(info["size"]), str(changed)


@contextmanager
def published(path: Path) -> Iterator[Path]:
    """Give a temporary name to write to; at the end of the block the complete file takes its real name.

    Raises:
        DatasetError: the disk is full; or an error of the block, reported with the real name of the file.
    """
    if not is_local(path):
        yield from _uploaded(path)
        return
    fresh = path.with_name(f".{path.name}.{socket.gethostname()}.{os.getpid()}.{threading.get_ident()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh.unlink(missing_ok=True)  # writing to an existing link of that name would change its target
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
    """The error for a full disk, which names the remedy; None when the cause was something else."""
    if error.errno not in (errno.ENOSPC, errno.EDQUOT):
        return None
    return DatasetError(f"{path}: there is no room for it; make some and run it again: finished parts are kept")


def publish_json(path: Path, value: object) -> None:
    """Write JSON to a file that appears only when it is complete."""
    with published(path) as fresh:
        fresh.write_text(json.dumps(value, ensure_ascii=False), "utf-8")


def seed_line(key: bytes | None, data: bytes, *, as_json: bool) -> str:
    """A line for ``tdq write --seed --hex``; or as JSON, with a key if there is one, for ``tdq dtaq seed``."""
    digits = data.hex().upper()
    return f"{json.dumps({'data': digits} | ({'key': key.hex().upper()} if key else {})) if as_json else digits}\n"


def left_behind(name: str) -> bool:
    """Whether a hidden file was left by :func:`published` in a process of this machine that has ended."""
    head, _, rest = name.rpartition(f".{socket.gethostname()}.")
    pid = rest.partition(".")[0]
    return bool(head) and pid.isdecimal() and not alive(int(pid))
