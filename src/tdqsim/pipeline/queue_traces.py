"""Histories and journals as tables: the events of queues, as opposed to their contents.

A history is a file that the test kit writes: JSON lines, the version of the format and then one array for each event. A
large history is read in pieces by several tasks. Journals are read from the store of an IBM i system.
"""

from __future__ import annotations

import glob
import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, takewhile
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa

from tdqsim.errors import DatasetError, WrongValue
from tdqsim.facts import FORMATS
from tdqsim.ibmi import JournalEntry
from tdqsim.pipeline.limits import BOUNDS
from tdqsim.pipeline.parquet import schema
from tdqsim.pipeline.stored import Kind, chosen, opened

_PLACE: Final = "file string, offset int64, kind string"
_EVENT: Final = "queue string, data binary, time_us int64"
_END: Final = "info string, _corrupt_record string"

HISTORY: Final[Mapping[Kind, pa.Schema]] = {
    "tdqueue": schema(
        f"{_PLACE}, task int64, {_EVENT}, transid string, uow string, resp string, resp2 int32, length int32, {_END}"
    ),
    "dtaq": schema(f"{_PLACE}, job string, {_EVENT}, key binary, message string, {_END}"),
}
"""An event of a region's history, and of a system's; ``info`` is JSON text. See ``tdqsim.testing``.

In a file, an event is an array of the columns from ``kind`` to ``info``, but times are in nanoseconds, bytes are
hexadecimal digits, and ``info`` is an object.
"""

JOURNAL: Final = schema(
    "journal string, seq int64, time_us int64, type string, event string, job string, current_user string, "
    "queue string, data binary, specific binary"
)
"""A journal entry; ``data`` is what was sent (key and sender in front), ``specific`` the entry-specific data."""

_HEAD: Final = json.dumps({"format": FORMATS["history"]}).encode()
"""The first line of a file."""
_PIECE: Final = 32 * 2**20
_LONGEST_LINE: Final = BOUNDS["history_line_bytes"]
_BATCH: Final = 8192
_DEFAULTS: Final[Mapping[Kind, Mapping[str, Any]]] = {
    kind: {
        field.name: {"resp": "NORMAL", "info": {}}.get(field.name, 0 if pa.types.is_integer(field.type) else "")
        for field in list(columns)[2:-1]
    }
    for kind, columns in HISTORY.items()
}
"""The values of an event that may be left out at its end, if there are more than ``_SHORTEST``."""
_SHORTEST: Final = 5
_BITS: Final = {"resp2": 32, "length": 32}


class Piece(NamedTuple):
    """The lines of a file that begin at ``start`` or after it, and before ``stop``."""

    file: str
    start: int
    stop: int


def history_pieces(path: str, piece: int = _PIECE) -> list[Piece]:
    """The parts that a reader of histories reads, in order.

    Args:
        path: a file, a directory (all its files except hidden ones), a pattern, or several of these, separated by
            commas.
        piece: a larger file is read in pieces of about this many bytes.

    Raises:
        DatasetError: there is no such file.
    """
    files: list[Path] = []
    for name in (part.strip() for part in path.split(",") if part.strip()):
        matches = [Path(name)] if Path(name).exists() else [Path(each) for each in sorted(glob.glob(name))]  # noqa: PTH207
        if not matches:
            raise DatasetError(f"{name}: there is no such history; give a file, a directory or a pattern")
        for each in matches:
            inside = sorted(each.iterdir()) if each.is_dir() else [each]
            files += [file for file in inside if file.is_file() and not (each.is_dir() and file.name.startswith("."))]
    return [
        Piece(str(file), start, min(start + piece, size))
        for file, size in ((file, file.stat().st_size) for file in files)
        for start in range(0, size, piece)
    ]


def read_history(
    piece: Piece, kind: Kind, columns: Sequence[str], *, mode: str = "permissive", queues: Sequence[str] = ()
) -> Iterator[pa.RecordBatch]:
    """The events of a piece.

    Args:
        piece: the lines to read.
        kind: the kind of owner: a region or a system.
        columns: the columns of :data:`HISTORY` that are wanted, in their order.
        mode: how to treat a line that is not an event: ``permissive``, ``dropmalformed`` or ``failfast``.
        queues: only events of these; all by default.

    Raises:
        DatasetError: a line is not an event under ``failfast``, or the file cannot be read; the message names file and
            offset.
    """
    return _batches(_events(piece, kind, mode), HISTORY[kind], columns, queues)


def _batches(
    rows: Iterator[Mapping[str, Any]], whole: pa.Schema, columns: Sequence[str], queues: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    chosen_rows = (row for row in rows if not queues or row["queue"] in queues)
    while batch := list(islice(chosen_rows, _BATCH)):
        yield pa.RecordBatch.from_pylist(batch, schema=pa.schema([whole.field(name) for name in columns]))


def is_head(line: bytes, place: str) -> bool:
    """Whether a line is the first one of a history, which is anywhere in a file that was put together of several.

    Raises:
        DatasetError: it is that of another format.
    """
    if not line.startswith(b'{"format":'):
        return False
    if line.strip() != _HEAD:
        try:
            json.loads(line)
        except (ValueError, RecursionError):
            return False  # it is damaged, like any other line
        shown = line.strip()[:80].decode("ascii", "replace")
        raise DatasetError(f"{place}: the history begins with {shown}; this tdqsim reads {_HEAD.decode()}")
    return True


def _events(piece: Piece, kind: Kind, mode: str) -> Iterator[Mapping[str, Any]]:
    for offset, line in _lines(piece):
        if is_head(line, f"{piece.file}: offset {offset}"):
            continue
        try:
            yield {"file": piece.file, "offset": offset, **_event(json.loads(line), _DEFAULTS[kind])}
        except (ValueError, TypeError, RecursionError) as error:
            if mode == "failfast":
                raise DatasetError(
                    f"{piece.file}: offset {offset}: this is not an event of a history: {error}; correct the line, or "
                    "choose mode permissive or dropmalformed"
                ) from None
            if mode == "permissive":
                text = line.decode("utf-8", "backslashreplace").rstrip("\r\n")
                yield {"file": piece.file, "offset": offset, "queue": None, "_corrupt_record": text}


def _lines(piece: Piece) -> Iterator[tuple[int, bytes]]:
    try:
        with Path(piece.file).open("rb") as file:
            offset = max(0, piece.start - 1)
            file.seek(offset)
            if piece.start:  # the line that contains this piece's start belongs to the piece before
                offset += len(file.readline(_LONGEST_LINE))
            while offset < piece.stop and (line := file.readline(_LONGEST_LINE)):
                if line.strip():
                    yield offset, line
                offset += len(line)
    except OSError as error:
        raise DatasetError(f"{piece.file}: the history cannot be read: {error.strerror}") from error


def _event(values: Any, defaults: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of an event."""
    if not isinstance(values, list) or not _SHORTEST <= len(values) <= len(defaults):
        raise WrongValue("an event is an array of kind, task or job, queue, data, nanoseconds, and a few more")
    columns = {**defaults, **dict(zip(defaults, values, strict=False))}
    for name, value in columns.items():
        limit = 1 << _BITS.get(name, 64) - 1
        if type(value) is not type(defaults[name]) or (type(value) is int and not -limit <= value < limit):
            raise WrongValue(f"{name} is {value!r:.40}, which is not a value like {defaults[name]!r}")
    info = json.dumps(columns["info"]) if columns["info"] else None
    for name in columns.keys() & {"data", "key"}:
        columns[name] = bytes.fromhex(columns[name])
    return {**columns, "time_us": columns["time_us"] // 1000, "info": info}


# journals ------------------------------------------------------------------------------------------------------------


def journals(path: Path, names: Sequence[str] = ()) -> dict[str, int]:
    """The journals of a system's store, each with the number of its last entry.

    Raises:
        DatasetError: there is no store, or no such journal.
    """
    with opened(path, "dtaq") as stored:
        wanted = chosen(names, stored.journals, f"{path}: there is no journal")
        return {name: stored.journals[name].last for name in wanted}


def read_journal(
    path: Path, name: str, columns: Sequence[str], after: int = 0, upto: int | None = None, queues: Sequence[str] = ()
) -> Iterator[pa.RecordBatch]:
    """The entries of a journal with numbers above ``after`` and up to ``upto``, oldest first."""
    with opened(path, "dtaq") as stored:
        rows = (_row(name, time_ns, entry) for time_ns, entry in stored.journals[name].timed(after))
        yield from _batches(takewhile(lambda row: upto is None or row["seq"] <= upto, rows), JOURNAL, columns, queues)


def _row(journal: str, time_ns: int, entry: JournalEntry) -> dict[str, Any]:
    return {
        "journal": journal,
        "seq": entry.sequence_number,
        "time_us": time_ns // 1000,
        "type": entry.type,
        "event": entry.event,
        "job": f"{entry.number}/{entry.user}/{entry.job_name}",
        "current_user": entry.current_user,
        "queue": f"{entry.library}/{entry.object}",
        "data": entry.entry_data,
        "specific": entry.entry_specific_data,
    }
