"""Resource definitions as JSON in the meta data of a store: the catalogue's entries and the records of the CSD.

An entry is a mapping with ``kind`` (for a queue its TYPE) and ``fields``, the attributes that were specified.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tdqsim.cics.model.unit import Record
from tdqsim.errors import StoreDamaged, WrongType, WrongValue

if TYPE_CHECKING:
    from tdqsim import definitions as defs

CSD: Final = b"csd/"
"""The prefix of the meta data that are the CSD."""
_encode: Final = json.JSONEncoder(separators=(",", ":")).encode
_set: Final = object.__setattr__
_decode: Final = json.JSONDecoder().raw_decode
_MOMENTS: Final = frozenset({"definetime", "changetime"})


def fields_of(resource: defs.Resource) -> Record:
    """The attributes set in a definition. They are texts, numbers and times, so that no serializer is needed."""
    values = resource.__dict__
    return {
        name: str(values[name]) if isinstance(values[name], datetime) else values[name]
        for name in resource.model_fields_set
        if name != "without_effect"
    }


def same_definition(one: defs.Resource, other: defs.Resource) -> bool:
    """Whether two definitions have the same attributes, specified or by default."""
    return type(one) is type(other) and all(
        value == other.__dict__[name] for name, value in one.__dict__.items() if name != "without_effect"
    )


def as_json(record: object) -> bytes:
    """An entry in the form in which the store keeps it."""
    return _encode(record).encode()


def damaged(store: Path, key: bytes, error: Exception) -> StoreDamaged:
    """The error for an entry that is not what was written."""
    return StoreDamaged(f"{store}: the entry {key!r} cannot be read: {error}")


def read_entry(store: Path, key: bytes, value: bytes) -> Record:
    """The entry in a value of the store.

    Raises:
        StoreDamaged: it is none.
    """
    try:
        text = str(value, "utf-8")
        record, end = _decode(text)
        if not isinstance(record, dict) or end != len(text):
            raise WrongType(f"it is {text}")  # the error is raised in one function only
    except (TypeError, ValueError) as error:
        raise damaged(store, key, error) from error
    return record


@cache
def _kinds() -> Mapping[str, type[defs.Resource]]:
    """The classes of definitions by TYPE of a queue, or by kind of resource."""
    from tdqsim import definitions as package  # noqa: PLC0415  (imports pydantic: not needed earlier)

    return {
        "INTRA": package.IntraQueue,
        "EXTRA": package.ExtraQueue,
        "INDIRECT": package.IndirectQueue,
        "": package.RemoteQueue,
        "TRANSACTION": package.Transaction,
        "TERMINAL": package.Terminal,
        "CONNECTION": package.Connection,
        "TSMODEL": package.Tsmodel,
        "TRANCLASS": package.Tranclass,
        "FILE": package.File,
        "PROGRAM": package.ProgramDefinition,
        "OTHER": package.OtherResource,
    }


@cache
def _plain_queue() -> tuple[defs.Resource, frozenset[str]]:
    """An intrapartition queue with nothing but defaults, and its attributes."""
    made = _kinds()["INTRA"]
    return made.model_construct(set()), frozenset(made.model_fields)


def resource_of(store: Path, key: bytes, record: Record) -> defs.Resource:
    """The definition in an entry.

    The definition of an intrapartition queue is not validated again, because there may be a hundred thousand of them:
    it was valid when it was written, the store's checksum ensures that it is unchanged, and missing attributes have
    their defaults.

    Raises:
        StoreDamaged: there is none.
    """
    try:
        kind, given = record["kind"], record["fields"]
        if kind != "INTRA":
            return _kinds()[kind].model_validate(given)
        plain, known = _plain_queue()
        if "name" not in given or not given.keys() <= known:
            raise WrongValue(f"it has the attributes {', '.join(given)}")  # the error is raised in one function only
        for moment in given.keys() & _MOMENTS:
            if given[moment] is not None:
                given[moment] = datetime.fromisoformat(given[moment])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise damaged(store, key, error) from error
    made = object.__new__(type(plain))  # as model_copy(), which takes twice as long
    _set(made, "__dict__", {**plain.__dict__, **given})
    _set(made, "__pydantic_fields_set__", set(given))
    _set(made, "__pydantic_extra__", None)
    _set(made, "__pydantic_private__", None)
    return made
