"""Files that take their name when they are whole: a task that is killed, or run twice, leaves no half of one.

A place may be in an object store, by any scheme that fsspec knows: there an object is whole as soon as it is there.
"""

from __future__ import annotations

import errno
import json
import os
import socket
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from tdqsim.core.portable import alive
from tdqsim.errors import DatasetError, TdqError

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

__all__ = [
    "file_system",
    "is_local",
    "left_behind",
    "no_room",
    "parquet_writer",
    "place",
    "publish_json",
    "published",
    "reached",
    "schema",
    "seed_line",
    "stamp",
    "state",
    "write_parquet",
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


def file_system(uri: str) -> tuple[Any, str]:
    """Arrow's file system for a URI and the name in it: Arrow's own for S3, else fsspec's.

    Arrow's own for the other stores tries for a quarter of an hour where nobody may come in, or ends the process.

    Raises:
        DatasetError: the scheme is not known, or what knows it is not installed.
        OSError, ValueError: the store cannot be reached, or the URI names none.
    """
    from pyarrow import fs  # noqa: PLC0415 - an extra

    if uri.startswith("s3://"):
        return fs.FileSystem.from_uri(uri)  # type: ignore[no-any-return]
    found: Any = place(uri)
    return fs.PyFileSystem(fs.FSSpecHandler(found.fs)), found.path


@contextmanager
def reached(path: object) -> Iterator[None]:
    """What goes wrong in an object store is reported like what goes wrong with a file, whatever its library raises.

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
    """What tells a file from another, or from itself after a change: its name, and its :func:`state`."""
    found = place(path)
    return str(found.resolve() if is_local(found) else path), *state(found)


def state(found: Any) -> tuple[int, str]:
    """What tells a file in a place from itself after a change, without reading it: size, times of change.

    Of a local file also the time that nobody can set: a copy that keeps the time of its original is another file. In an
    object store the tag of the content, where there is one.
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


# Parquet --------------------------------------------------------------------------------------------------------------


GROUP_ROWS = 1 << 17
# Beyond this size a dictionary of values is given up; with the usual megabyte, columns of different numbers pay for
# a dictionary of each of them, which halves the speed and makes the file larger.
DICTIONARY_BYTES = 1 << 16


def schema(columns: str) -> pa.Schema:
    """The schema of a table, from names and Arrow's names of types: ``region string, seq int64``."""
    import pyarrow as pa  # noqa: PLC0415 - an extra

    words = (column.split() for column in columns.split(","))
    return pa.schema([(name, pa.type_for_alias(kind)) for name, kind in words])


def parquet_writer(path: str | Path, schema: pa.Schema, compression: str = "zstd") -> pq.ParquetWriter:
    """A writer that gives dictionaries of values up early."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - an extra

    return pq.ParquetWriter(path, schema, compression=compression, dictionary_pagesize_limit=DICTIONARY_BYTES)


def write_parquet(
    path: str | Path, batches: Iterable[pa.RecordBatch], schema: pa.Schema, *, compression: str = "zstd"
) -> int:
    """Write batches to a file, in row groups of some hundred thousand rows; gives the number of rows.

    The file is written beside its place and renamed, so that a task that is run twice or killed leaves no half of it.

    Raises:
        DatasetError: it cannot be written (disk full, no permission); nothing is left.
    """
    import pyarrow as pa  # noqa: PLC0415 - an extra

    rows, waiting, count = 0, list[pa.RecordBatch](), 0
    try:
        with published(place(path)) as fresh, parquet_writer(fresh, schema, compression) as writer:
            for batch in batches:
                waiting.append(batch)
                count += batch.num_rows
                if count >= GROUP_ROWS:
                    writer.write_table(pa.Table.from_batches(waiting, schema), row_group_size=count)
                    rows, waiting, count = rows + count, [], 0
            if waiting:
                writer.write_table(pa.Table.from_batches(waiting, schema), row_group_size=max(count, 1))
    except OSError as error:
        raise DatasetError(f"{path}: cannot be written: {error}") from error
    return rows + count
