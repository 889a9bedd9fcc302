"""Records for a queue from Python, YAML, JSON lines or a data set.

In YAML (a list, in which every value is text as written) and JSON lines (one value a line), a record is text in the
code page, or a mapping with one of::

    text: "..."       text in the code page
    hex: "C1C2C3"     bytes in hexadecimal
    base64: "wcLD"    bytes in base64
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from tdqsim import datasets
from tdqsim.cics import Region
from tdqsim.core.codepage import CodePage
from tdqsim.core.hexadecimal import hex_bytes
from tdqsim.core.record_list import checked_records
from tdqsim.definitions.yamltext import ListNode, read_yaml
from tdqsim.errors import ConversionError, UsageError, WrongType
from tdqsim.ibmi import Job, SeedEntry, seed_entries

_KINDS: Final = ("text", "hex", "base64")
_LARGEST: Final = 64 * 2**20
_LONGEST_VALUE: Final = 2 * 32768  # hexadecimal digits of the longest record
_SHOWN: Final = 80
_YAML: Final = (".yaml", ".yml")
_JSON: Final = (".jsonl", ".ndjson", ".json")

Source = Path | str | Iterable[bytes | str]


def seed(owner: Region | Job, queue: str, source: Source, *, dcb: str = "") -> int:
    """Put records on a queue outside any task, or entries on a data queue by a job.

    Args:
        owner: the region, or a job of an IBM i system.
        queue: its name, or an alias; for a data queue, which must have no keys, ``LIBRARY/NAME``.
        source: records (bytes, or text in the region's or job's code page), or a file as a ``Path``.
        dcb: for a data set: its DCB as on a DD card, such as ``RECFM=FB,LRECL=80``.

    Returns:
        The number of records or entries.

    Raises:
        UsageError: the file has an error; the message has the place. Condition: see ``Region.seed``.
        WrongType: the owner is neither a region nor a job.
        EscapeMessage: the job may not send to the data queue.
    """
    if not isinstance(owner, Region | Job):
        raise WrongType(f"seed of {owner!r}: a region or a job of a system is needed")
    page = owner.options.code_page if isinstance(owner, Region) else owner.page
    records = load_records(source, page, dcb=dcb) if isinstance(source, Path) else source
    if isinstance(records, str):
        raise UsageError(f"records {records!r}: a list of records is needed, or a Path")
    if isinstance(owner, Region):
        return owner.seed(queue, records)
    library, slash, name = queue.partition("/")
    if not slash:
        raise UsageError(f"data queue {queue!r}: LIBRARY/NAME is needed, such as QGPL/ORDERS")
    sent = [
        SeedEntry(page.encode(each) if isinstance(each, str) else bytes(each), None)
        for each in checked_records(records)
    ]
    return seed_entries(owner, name, library, sent)


def load_records(path: Path, code_page: CodePage, *, dcb: str = "") -> list[bytes]:
    """The records of a file: YAML or JSON lines by its suffix, or a data set if a DCB is given.

    Raises:
        UsageError: the file has an error.
    """
    if dcb:
        return _data_set(path, dcb)
    if path.suffix not in _YAML + _JSON:
        raise UsageError(f"{path}: allowed are {', '.join(_YAML + _JSON)}, or a data set with dcb=")
    if path.stat().st_size > _LARGEST:
        raise UsageError(f"{path}: the file has more than {_LARGEST} bytes; seed a data set that large through a queue")
    try:
        text = path.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: the file is not UTF-8: {error}") from error
    values = _from_yaml(path, text) if path.suffix in _YAML else _from_json(path, text)
    return [_record(place, value, code_page) for place, value in values]


def _from_yaml(path: Path, text: str) -> list[tuple[str, object]]:
    root = read_yaml(text, str(path), longest=_LONGEST_VALUE)
    if not isinstance(root, ListNode):
        raise UsageError(f"{path}: a list of records is needed")
    return [(f"{path}:{node.line}", node.plain()) for node in root.items]


def _from_json(path: Path, text: str) -> list[tuple[str, object]]:
    records = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                records.append((f"{path}:{number}", json.loads(line)))
            except (ValueError, RecursionError) as error:
                raise UsageError(f"{path}:{number}: this is not JSON: {error}") from error
    return records


def _record(place: str, value: object, page: CodePage) -> bytes:
    if isinstance(value, str):
        value = {"text": value}
    if not isinstance(value, dict) or len(value) != 1 or next(iter(value)) not in _KINDS:
        raise UsageError(f"{place}: {_shown(value)}: a record is a text, or a mapping with one of {', '.join(_KINDS)}")
    kind, text = next(iter(value.items()))
    if not isinstance(text, str):
        raise UsageError(
            f"{place}: {kind} is {_shown(text)}; it must be a text (in quotes when it looks like a number)"
        )
    try:
        if kind == "text":
            return page.encode(text)
        return hex_bytes(text) if kind == "hex" else base64.b64decode(text, validate=True)
    except (ConversionError, ValueError, binascii.Error) as error:
        raise UsageError(f"{place}: {kind} {_shown(text)}: {error}") from error


def _shown(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}..."


def _data_set(path: Path, dcb: str) -> list[bytes]:
    with datasets.open_reader(path, datasets.parse_dcb(dcb, str(path))) as reader:
        return list(reader)
