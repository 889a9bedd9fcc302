"""Histories and journals as tables: what happened to queues, beside what is on them.

A history is a file of JSON lines that the test kit wrote, one array an event; it is read in pieces, so that a large one
is the work of several tasks. Journals are those of an IBM i system's store.
"""

from __future__ import annotations

import glob
import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa

from tdqsim.errors import DatasetError
from tdqsim.ibmi import JournalEntry, System
from tdqsim.pipeline.stored import opened

__all__ = ["HISTORY", "JOURNAL", "Piece", "history_pieces", "journals", "read_history", "read_journal"]

HISTORY: Final = pa.schema(
    [
        ("file", pa.string()),
        ("offset", pa.int64()),
        ("kind", pa.string()),
        ("task", pa.string()),
        ("queue", pa.string()),
        ("data", pa.binary()),
        ("time_us", pa.int64()),
        ("transid", pa.string()),
        ("uow", pa.string()),
        ("resp", pa.string()),
        ("resp2", pa.int32()),
        ("length", pa.int32()),
        ("info", pa.string()),
        ("_corrupt_record", pa.string()),
    ]
)
"""An event; ``task`` is the task's number or the job's name, ``info`` JSON text. See ``tdqsim.testing.Event``."""

JOURNAL: Final = pa.schema(
    [
        ("journal", pa.string()),
        ("seq", pa.int64()),
        ("time_us", pa.int64()),
        ("type", pa.string()),
        ("event", pa.string()),
        ("job", pa.string()),
        ("current_user", pa.string()),
        ("queue", pa.string()),
        ("data", pa.binary()),
        ("specific", pa.binary()),
    ]
)
"""A journal entry; ``data`` is what was sent (key and sender in front), ``specific`` the entry-specific data."""

_PIECE: Final = 32 * 2**20
_LONGEST_LINE: Final = 2**27
_BATCH: Final = 8192
_REST: Final[list[Any]] = ["", 0, "", "", 0, "", "", "NORMAL", 0, 0, {}]
_SHORTEST: Final = 5


class Piece(NamedTuple):
    """The lines of a file that begin at ``start`` or behind it, and before ``stop``."""

    file: str
    start: int
    stop: int


def history_pieces(path: str, piece: int = _PIECE) -> list[Piece]:
    """What a reader of histories has to do, in order.

    Args:
        path: a file, a directory (all its files but hidden ones), a pattern, or several of these with commas between.
        piece: a larger file is read in pieces of about so many bytes.

    Raises:
        DatasetError: there is no such file.
    """
    files: list[Path] = []
    for name in (part.strip() for part in path.split(",") if part.strip()):
        found = [Path(name)] if Path(name).exists() else [Path(each) for each in sorted(glob.glob(name))]  # noqa: PTH207
        if not found:
            raise DatasetError(f"{name}: there is no such history; give a file, a directory or a pattern")
        for each in found:
            inside = sorted(each.iterdir()) if each.is_dir() else [each]
            files += [file for file in inside if file.is_file() and not (each.is_dir() and file.name.startswith("."))]
    return [
        Piece(str(file), start, min(start + piece, size))
        for file, size in ((file, file.stat().st_size) for file in files)
        for start in range(0, size, piece)
    ]


def read_history(
    piece: Piece, columns: Sequence[str], *, mode: str = "permissive", queues: Sequence[str] = ()
) -> Iterator[pa.RecordBatch]:
    """The events of a piece.

    Args:
        piece: where.
        columns: those of :data:`HISTORY` that are wanted, in their order.
        mode: what a line that is no event does: ``permissive``, ``dropmalformed`` or ``failfast``.
        queues: only events of these; all by default.

    Raises:
        DatasetError: a line is no event under ``failfast``, or the file cannot be read; names file and offset.
    """
    schema = pa.schema([HISTORY.field(name) for name in columns])
    rows = (row for row in _events(piece, mode) if not queues or row["queue"] in queues)
    while batch := list(islice(rows, _BATCH)):
        yield pa.RecordBatch.from_pylist(batch, schema=schema)


def _events(piece: Piece, mode: str) -> Iterator[Mapping[str, Any]]:
    for offset, line in _lines(piece):
        try:
            yield {"file": piece.file, "offset": offset, **_event(line)}
        except (ValueError, TypeError, RecursionError) as error:
            if mode == "failfast":
                raise DatasetError(
                    f"{piece.file}: offset {offset}: this is no event of a history: {error}; correct the line, or "
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
            if piece.start:  # the line that this piece's start lies in is that of the piece before
                offset += len(file.readline(_LONGEST_LINE))
            while offset < piece.stop and (line := file.readline(_LONGEST_LINE)):
                if line.strip():
                    yield offset, line
                offset += len(line)
    except OSError as error:
        raise DatasetError(f"{piece.file}: the history cannot be read: {error.strerror}") from error


def _event(line: bytes) -> dict[str, Any]:
    values = json.loads(line)
    if not isinstance(values, list) or not _SHORTEST <= len(values) <= len(_REST):
        raise ValueError("an event is an array of kind, task, queue, data, nanoseconds, and up to six more")
    kind, task, queue, data, time_ns, transid, uow, resp, resp2, length, info = [*values, *_REST[len(values) :]]
    if not all(isinstance(text, str) for text in (kind, queue, data, transid, uow, resp)):
        raise ValueError("kind, queue, data, transid, unit of work and response must be text")
    if not all(type(number) is int for number in (time_ns, resp2, length)):
        raise ValueError("nanoseconds, RESP2 and length must be whole numbers")
    return {
        "kind": kind,
        "task": str(task),
        "queue": queue,
        "data": bytes.fromhex(data),
        "time_us": time_ns // 1000,
        "transid": transid,
        "uow": uow,
        "resp": resp,
        "resp2": resp2,
        "length": length,
        "info": json.dumps(info) if info else None,
    }


# journals ------------------------------------------------------------------------------------------------------------


def journals(path: Path, names: Sequence[str] = ()) -> dict[str, tuple[int, int]]:
    """The journals of a system's store, with how many entries each has and the number of its last one.

    Raises:
        DatasetError: there is no store, or no such journal.
    """
    with opened(path, "dtaq"):
        pass  # says what is wrong with the store, if anything is
    with System(path=path, create=False, readonly=True) as system:
        found: dict[str, Any] = {
            one.qualified: one.entries  # type: ignore[attr-defined]
            for library in system.libraries.values()
            for one in library.objects.values()
            if one.type == "*JRN"
        }
        wanted = [name if name in found else name.upper() for name in names] or sorted(found)
        for name in wanted:
            if name not in found:
                there = ", ".join(sorted(found)) or "none"
                raise DatasetError(f"{path}: there is no journal {name}; there are {there}")
        return {name: (found[name].count, found[name].last_seq) for name in wanted}


def read_journal(
    path: Path, name: str, columns: Sequence[str], after: int = 0, upto: int | None = None, queues: Sequence[str] = ()
) -> Iterator[pa.RecordBatch]:
    """The entries of a journal with numbers above ``after`` and not above ``upto``, oldest first.

    Args:
        path: the system's store.
        name: LIBRARY/NAME.
        columns: those of :data:`JOURNAL` that are wanted, in their order.
        after: the number before the first.
        upto: the last number; None for no end.
        queues: only entries of these data queues; all by default.
    """
    schema = pa.schema([JOURNAL.field(each) for each in columns])
    library, _, object_name = name.partition("/")
    with System(path=path, create=False, readonly=True) as system:
        journal: Any = system.libraries[library].objects["*JRN", object_name]
        rows = (_row(name, time_ns, entry) for time_ns, entry in journal.timed(after))
        rows = (row for row in rows if not queues or row["queue"] in queues)
        inside = _until(rows, upto)
        while batch := list(islice(inside, _BATCH)):
            yield pa.RecordBatch.from_pylist(batch, schema=schema)


def _until(rows: Iterator[dict[str, Any]], upto: int | None) -> Iterator[dict[str, Any]]:
    for row in rows:
        if upto is not None and row["seq"] > upto:
            return
        yield row


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
