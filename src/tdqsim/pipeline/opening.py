"""List the files of a read, and open them: local or in an object store, compressed or not."""

from __future__ import annotations

import glob
import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any, Protocol
from urllib.parse import unquote, urlparse

import pyarrow as pa
from pyarrow import fs

from tdqsim.errors import DatasetError
from tdqsim.hosting import read_at
from tdqsim.pipeline.publishing import place, reached

# Each column of a batch costs some fifty microseconds whatever its rows: wide records need large chunks.
CHUNK = 16 << 20
HIDDEN = ("_", ".")
ARROW_READS = "s3://"
CODECS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
_MARKS = {
    "gzip": (b"\x1f\x8b\x08",),
    "bz2": tuple(b"BZh%d1AY&SY" % level for level in range(1, 10)),
    "zstd": (b"\x28\xb5\x2f\xfd",),
}
NOT_UNPACKED = (".deflate", ".lz4", ".lzo", ".snappy", ".xz", ".zip")


class Opened(Protocol):
    """A file that can be read at any offset."""

    def read_at(self, size: int, offset: int) -> bytes:
        """Some bytes from an offset in the file; fewer at its end."""

    def close(self) -> None:
        """Close it."""


class _Local:
    """A local file, read through its descriptor, so that four-byte reads cost a microsecond."""

    def __init__(self, path: str) -> None:
        self.descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))

    def read_at(self, size: int, offset: int) -> bytes:
        return read_at(self.descriptor, size, offset)

    def close(self) -> None:
        os.close(self.descriptor)


class Unpacked:
    """The content of a compressed file, for reading forwards: going back restarts at the beginning.

    Attributes:
        held_back: this many bytes at its end are not read.
    """

    def __init__(self, path: str, codec: str) -> None:
        self.path, self.codec = path, codec
        self.held_back = 0
        self._has_content = False
        self._begin()

    def _begin(self) -> None:
        self.stream = pa.CompressedInputStream(_stream(self.path), self.codec)
        self.kept, self.start = b"", 0

    def _read(self, size: int) -> bytes:
        """The next bytes; EOFError if there are none, not even the header of an empty compressed file."""
        data: bytes = self.stream.read(size)
        if data:
            self._has_content = True
        elif not self._has_content and not _stream(self.path).read(1):
            raise EOFError(f"it has no bytes, and was cut: even without content a {self.codec} file has some")
        return data

    def read_at(self, size: int, offset: int) -> bytes:
        """Some bytes from an offset in the content; fewer at its end."""
        if offset < self.start:
            self.close()
            self._begin()
        while self.start + len(self.kept) < offset:
            self.start += len(self.kept)
            self.kept = self._read(min(offset - self.start, CHUNK))
            if not self.kept:
                return b""
        self.kept, self.start = self.kept[offset - self.start :], offset
        wanted = size + self.held_back
        while len(self.kept) < wanted and (more := self._read(wanted - len(self.kept))):
            self.kept += more
        return self.kept[: max(min(size, len(self.kept) - self.held_back), 0)]

    def size(self) -> int:
        """How many bytes can be read; decompresses all of them."""
        total = -self.held_back
        while chunk := self._read(CHUNK):
            total += len(chunk)
        self.close()
        self._begin()
        return total

    def close(self) -> None:
        """Close it."""
        self.stream.close()


def _stream(path: str) -> pa.NativeFile:
    """A file for reading forwards; from an object store, in requests of some megabytes."""
    if "://" not in path:
        return pa.OSFile(path)
    system, name = file_system(path)
    return system.open_input_stream(name, None, CHUNK)


class _Object:
    """An object of a store that fsspec reads: each read is one request; opening it needs none."""

    def __init__(self, uri: str) -> None:
        self.uri = uri
        self.target: Any = place(uri)

    def read_at(self, size: int, offset: int) -> bytes:
        with reached(self.uri):
            data: bytes = self.target.fs.cat_file(self.target.path, offset, offset + size) if size > 0 else b""
        return data

    def close(self) -> None:
        pass


def _opened(path: str) -> Opened:
    if "://" not in path:
        return _Local(path)
    if not path.startswith(ARROW_READS):
        return _Object(path)
    system, name = file_system(path)
    return system.open_input_file(name)  # type: ignore[no-any-return]


def compression(path: str) -> str:
    """The codec of a compressed file, from the suffix of its name or, of a local file, its first bytes; "" for none.

    Raises:
        DatasetError: the suffix is that of an unsupported compression.
    """
    ending = PurePosixPath(path).suffix.lower()  # works for URIs too
    if ending in NOT_UNPACKED:
        raise DatasetError(f"{path}: {ending} files are not decompressed here, only {', '.join(CODECS)}")
    return CODECS.get(ending) or _codec_by_bytes(path)


def _codec_by_bytes(path: str) -> str:
    if "://" in path:
        return ""
    try:
        with Path(path).open("rb") as file:
            head = file.read(10)
    except OSError:
        return ""  # the caller reports it
    if head.startswith((b"PK\x03\x04", b"\xfd7zXZ\x00")):
        kind = "a zip archive" if head[:2] == b"PK" else "an xz file"
        raise DatasetError(f"{path}: this is {kind}, by its first bytes; unpack it first")
    return next((codec for codec, marks in _MARKS.items() if any(map(head.startswith, marks))), "")


def open_file(path: str) -> Opened:
    """Open a path or URI for reading; compressed files are decompressed.

    Raises:
        DatasetError: it cannot be opened, or its compression is not supported.
    """
    codec = compression(path)
    try:
        with reached(path):
            opened: Opened = Unpacked(path, codec) if codec else _opened(path)
    except FileNotFoundError as error:  # it existed when the files were listed, perhaps on another machine
        raise DatasetError(
            f"{path}: cannot be read: there is no such file on {socket.gethostname()}: the tasks and the process that "
            "plans them need the same files; share them, or put them in an object store"
        ) from error
    except (OSError, ValueError) as error:
        raise DatasetError(f"{path}: cannot be read: {error}") from error
    return opened


def list_files(paths: tuple[str, ...], *, deep: bool = True) -> list[tuple[str, int]]:
    """Files and their sizes, sorted by name: the matches of patterns, and all files of directories that are not hidden.

    Args:
        paths: files, directories, patterns, or such places in an object store.
        deep: whether to include the files in subdirectories.

    Raises:
        DatasetError: a path does not exist or is not a regular file, or there is no file at all.
    """
    if not paths:
        raise DatasetError("no path was given: load(path), or the option data_paths")
    files = [entry for path in paths for entry in _expand(path, deep=deep)]
    if not files:
        raise DatasetError(f"{', '.join(paths)}: there is no file")
    return files


def _expand(path: str, *, deep: bool) -> Iterator[tuple[str, int]]:
    parsed = urlparse(path)
    if parsed.scheme == "file":
        path = unquote(parsed.path)
    elif parsed.scheme and "://" in path:
        yield from _remote(path)
        return
    matches = [path] if os.path.exists(path) else sorted(glob.glob(path))  # noqa: PTH110, PTH207 - text in, text out
    if not matches:
        folder = "" if Path(path).is_absolute() else f" in {Path.cwd()}"
        raise DatasetError(f"{path}: there is no such file or directory{folder}")
    for match in matches:
        try:
            yield from _local_files(Path(match), deep=deep)
        except OSError as error:
            raise DatasetError(
                f"{error.filename or match}: cannot be read: {error.strerror or error}; give access, or leave it out"
            ) from error


def _local_files(path: Path, *, deep: bool) -> Iterator[tuple[str, int]]:
    if path.is_dir():
        for entry in sorted(path.rglob("*") if deep else path.iterdir()):
            parts = entry.relative_to(path).parts
            if not entry.is_dir() and not any(part.startswith(HIDDEN) for part in parts):
                yield str(entry), _size(entry)
    else:
        yield str(path), _size(path)


def _size(path: Path) -> int:
    """The size of a regular file; other kinds are refused, as a pipe would block and a device has no size."""
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise DatasetError(f"{path}: is not a regular file; a data set must be one")
    return status.st_size


def file_system(uri: str) -> tuple[Any, str]:
    """Arrow's file system for a URI, and the name in it: Arrow's own for S3, else one made from fsspec.

    Arrow's own file systems for other stores retry for a quarter of an hour when access is denied, or end the process.

    Raises:
        DatasetError: the scheme is unknown, or the package for it is not installed.
        OSError, ValueError: the store cannot be reached, or the URI names none.
    """
    if uri.startswith(ARROW_READS):
        return fs.FileSystem.from_uri(uri)  # type: ignore[no-any-return]
    target: Any = place(uri)
    return fs.PyFileSystem(fs.FSSpecHandler(target.fs)), target.path


def _remote(path: str) -> Iterator[tuple[str, int]]:
    try:
        with reached(path):
            system, name = file_system(path)
            info = system.get_file_info(name)
            entries = [info] if info.is_file else system.get_file_info(fs.FileSelector(name, recursive=True))
    except (OSError, ValueError) as error:
        raise DatasetError(f"{path}: cannot be read: {error}") from error
    whole, inside = path.rstrip("/"), len(name.strip("/"))  # the part before it can be spelled in several ways
    for entry in sorted(entries, key=lambda entry: str(entry.path)):
        if entry.is_file and not entry.base_name.startswith(HIDDEN):
            yield whole + entry.path.strip("/")[inside:], entry.size
