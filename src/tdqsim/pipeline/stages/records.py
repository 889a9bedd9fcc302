"""Records of data sets as events: the record is the data, and columns may be made of its fields.

The text of a column may name fields in braces: ``region=CICS{REGION}``, ``data={PAYLOAD}``, ``command={OP:W=WRITEQ
TD,R=READQ TD}``. In key and data a field is replaced by its bytes, elsewhere by its value; after a colon follow texts
that replace values.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tdqsim.errors import DatasetError
from tdqsim.layouts import Layout
from tdqsim.pipeline._corrupt import CORRUPT_COLUMN
from tdqsim.pipeline.options import QsamOptions, read_options
from tdqsim.pipeline.source import ReadPlan
from tdqsim.pipeline.splits import Split, plan
from tdqsim.pipeline.stages.manifest import NotAllowed, StageTask

_FIELD: Final = re.compile(r"\{([^{}:]+)(?::([^{}]*))?\}")
_BYTES: Final = ("key", "data")
_OFFSET: Final = "Record_Offset_"


_FILE_SHIFT = 40
"""A file's own numbering begins at its place among the files, shifted left by this number of bits."""


@dataclass(frozen=True, slots=True)
class IngestTask(StageTask):
    """Read one file, or a part of one; its weight is in bytes.

    Attributes:
        path: the file.
        form: one of :data:`~tdqsim.pipeline.stages.ingest.FORMATS`.
        columns: columns that every record has.
        options: those of ``format("qsam")``.
        mode: one of :data:`~tdqsim.pipeline.stages.ingest.MODES`.
        file: the number of the file among the sources.
        part: for a data set its split; for lines a range of bytes; for Parquet some row groups; None for all.
    """

    path: str
    form: str
    columns: Mapping[str, str]
    options: Mapping[str, str]
    mode: str
    file: int = 0
    part: Any = None

    @property
    def first_seq(self) -> int:
        """The first sequence number, for a file that has none of its own."""
        return self.file << _FILE_SHIFT


def splits_of(task: IngestTask) -> list[tuple[int, Split]]:
    """The parts of a data set, with their bytes.

    Raises:
        DatasetError: its records cannot be located; the message names the file and the offset.
    """
    for name in ("region", "command"):
        if name not in task.columns:
            raise DatasetError(
                f"{task.path}: the records of a data set need --column {name}=..., a text or a field in braces"
            )
    return [(split.end - split.start, split) for split in plan(_options(task), count=False)]


def _options(task: IngestTask) -> QsamOptions:
    fixed = {"path": task.path, "generate_record_bytes": "true", "with_record_offset_col": _OFFSET, "mode": task.mode}
    if task.mode != "failfast":  # bad records are counted here, so the decoder must not refuse them
        fixed |= {"mode": "permissive", "generate_corrupt_fields": "true"}
    return read_options({**task.options, **fixed})


def records_of(task: IngestTask) -> Iterator[tuple[pa.Table, int]]:
    """The events of a part of a data set, in tables of some megabytes, each with the number of bad records.

    Sequence numbers come from the offset of the record in the file, which needs no counting.

    Raises:
        DatasetError: a record or a field is bad and the mode is failfast; or a field does not exist.
    """
    options = _options(task)
    maker = _Maker(task, options)
    corrupt = [CORRUPT_COLUMN] if options.generate_corrupt_fields and maker.fields else []
    reader = ReadPlan.of(options, [_OFFSET, "Record_Bytes", *maker.fields, *corrupt])
    for split in [task.part] if task.part is not None else [each for _, each in splits_of(task)]:
        for batch in reader.read(split):
            spoiled = pc.greater(pc.list_value_length(batch.column(CORRUPT_COLUMN)), 0) if corrupt else None
            yield _checked(maker.table(batch), task, spoiled)


def _checked(made: pa.Table, task: IngestTask, spoiled: pa.Array | None) -> tuple[pa.Table, int]:
    """Events that all have a region and a command, and how many records lacked one, according to the task's mode."""
    bad = np.zeros(made.num_rows, bool)
    if spoiled is not None:
        bad |= pc.fill_null(spoiled, fill_value=False).to_numpy(zero_copy_only=False)
    for name in ("region", "command"):
        empty = pc.fill_null(pc.equal(made.column(name), ""), fill_value=True)
        bad |= empty.combine_chunks().to_numpy(zero_copy_only=False)
    places = np.flatnonzero(bad)
    if not len(places):
        return made, 0
    offset = made.column("seq")[int(places[0])].as_py() - task.first_seq - 1
    text = f"{task.path}: record at offset {offset}: its field for region or command is empty or invalid"
    if task.mode == "failfast":
        raise DatasetError(f"{text}; correct it, or choose --mode dropmalformed to go on without it")
    if task.mode == "dropmalformed":
        return made.filter(pa.array(~bad)), len(places)
    mask = pa.array(bad)
    for name, value in (("region", "BADINPUT"), ("command", "BAD RECORD")):
        column = pc.if_else(mask, pa.scalar(value), made.column(name))
        made = made.set_column(made.schema.get_field_index(name), name, column)
    return made, len(places)


Piece = str | tuple[str, dict[str, str]]


class _Maker:
    """Makes the columns of events from those of records."""

    def __init__(self, task: IngestTask, options: QsamOptions) -> None:
        self._task = task
        self._layout = options.layout
        self._spans = {name: self._span(name, task.columns[name]) for name in _BYTES if name in task.columns}
        self._texts = {name: list(self._pieces(text)) for name, text in task.columns.items() if name not in _BYTES}
        named = [piece[0] for pieces in self._texts.values() for piece in pieces if isinstance(piece, tuple)]
        self.fields = list(dict.fromkeys(named))

    def _known(self, name: str) -> Any:
        if self._layout is None:
            raise DatasetError(f"--column with {{{name}}}: fields need --option copybook=FILE")
        return _field(self._layout, name)

    def _span(self, column: str, text: str) -> tuple[int, int] | bytes:
        """The bytes of a field in a record, or bytes that are the same in all records."""
        match = _FIELD.fullmatch(text)
        if match is None:
            if _FIELD.search(text):
                raise NotAllowed(f"--column {column}={text}: must be one field in braces, or text without fields")
            return text.encode("cp037")
        item = self._known(match[1])
        return item.offset, item.offset + item.size

    def _pieces(self, text: str) -> Iterator[Piece]:
        """A column's text, divided into texts and columns of fields; each field with the replacements of its values."""
        place = 0
        for match in _FIELD.finditer(text):
            if match.start() > place:
                yield text[place : match.start()]
            yield self._known(match[1]).name.replace("-", "_"), _replacements(match[2])
            place = match.end()
        if place < len(text):
            yield text[place:]

    def table(self, batch: pa.RecordBatch) -> pa.Table:
        """The events of some records."""
        rows, records = batch.num_rows, batch.column("Record_Bytes")
        seq = pc.add(batch.column(_OFFSET), self._task.first_seq + 1)
        columns = {"seq": seq, "data": records}
        for name, span in self._spans.items():
            if isinstance(span, bytes):
                columns[name] = pa.repeat(pa.scalar(span), rows)
            else:
                columns[name] = pc.binary_slice(records, *span)
        for name, pieces in self._texts.items():
            columns[name] = _joined(pieces, batch)
        return pa.table(columns)


def _field(layout: Layout, name: str) -> Any:
    wanted = name.upper().replace("_", "-")
    for item in layout.walk():
        if item.name.upper().replace("_", "-") == wanted and not item.is_group and item.occurs is None:
            return item
    known = ", ".join(item.name for item in layout.walk() if not item.is_group)
    raise DatasetError(f"--column with {{{name}}}: the copybook has no such elementary field; it has {known}")


def _replacements(text: str | None) -> dict[str, str]:
    by_value = {}
    for part in (text or "").split(",") if text else ():
        value, equals, new = part.partition("=")
        if not equals:
            raise NotAllowed(f"--column with {{...:{text}}}: after the colon, give VALUE=TEXT, separated by commas")
        by_value[value.strip()] = new
    return by_value


def _joined(pieces: list[Piece], batch: pa.RecordBatch) -> pa.Array:
    """Texts and values of fields, concatenated."""
    if len(pieces) == 1 and isinstance(pieces[0], str):
        return pa.repeat(pa.scalar(pieces[0]), batch.num_rows)
    parts = [piece if isinstance(piece, str) else _values(piece, batch) for piece in pieces]
    return parts[0] if len(parts) == 1 else pc.binary_join_element_wise(*parts, "")


def _values(piece: tuple[str, dict[str, str]], batch: pa.RecordBatch) -> pa.Array:
    """The values of a field as text; few are different, so each different one is converted once."""
    name, replaced = piece
    values = pc.utf8_trim_whitespace(batch.column(name).cast(pa.string()))
    if not replaced:
        return values
    coded = values.dictionary_encode()
    texts = [replaced.get(text, text) for text in coded.dictionary.to_pylist()]
    return pa.array(texts, pa.string()).take(coded.indices)
