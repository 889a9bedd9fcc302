"""Records in JSON: as text in the region's code page, as hexadecimal, or as base64."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from enum import IntEnum
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from tdqsim.cics import Region
from tdqsim.cics.text.cemt_request import parse_cemt
from tdqsim.core.codepage import CodePage
from tdqsim.errors import TdqError
from tdqsim.layouts import Layout, parse_copybook, parse_layout_yaml

__all__ = [
    "AwaitedState",
    "Decoding",
    "Encoding",
    "Line",
    "Record",
    "RequestBody",
    "Statement",
    "bytes_of",
    "decoded",
    "shown",
    "shown_bytes",
    "values_in",
    "values_out",
]  # fmt: skip

Encoding = Literal["text", "hex", "base64"]


class RequestBody(BaseModel):
    """A body: exactly what the document says; nothing more, and no number or text for what it nearly is."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Record(RequestBody):
    """One record; exactly one of its fields is given."""

    text: Annotated[str | None, Field(description="text, in the region's code page")] = None
    hex: Annotated[str | None, Field(description="pairs of hexadecimal digits")] = None
    base64: Annotated[str | None, Field(description="base64 of the bytes")] = None

    @model_validator(mode="after")
    def _one(self) -> Record:
        if sum(value is not None for value in (self.text, self.hex, self.base64)) != 1:
            raise ValueError("exactly one of text, hex and base64 must be given")
        return self

    def bytes_for(self, region: Region) -> bytes:
        """The bytes of the record.

        Raises:
            TdqError: the digits are none, or the text has a character that the code page has not.
        """
        return bytes_of(self, region.codepage)


def bytes_of(record: Record, page: CodePage) -> bytes:
    """The bytes of a record, its text in a code page.

    Raises:
        TdqError: the digits are none, or the text has a character that the code page has not.
    """
    try:
        if record.hex is not None:
            return bytes.fromhex(record.hex)
        if record.base64 is not None:
            return base64.b64decode(record.base64, validate=True)
    except (ValueError, binascii.Error) as error:
        raise TdqError(f"the record cannot be read: {error}") from error
    return page.encode(record.text or "")


class Statement(RequestBody):
    """An EXEC CICS command as text, with its host variables."""

    text: Annotated[str, Field(max_length=32768, description="such as READQ TD QUEUE('PAYQ') INTO(REC) RESP(R)")]
    variables: Annotated[
        dict[str, str | int | Record | None], Field(description="text, numbers, or records", max_length=1000)
    ] = {}


class Line(RequestBody):
    """What an operator types."""

    text: Annotated[str, Field(min_length=1, max_length=32768, description="such as INQUIRE TDQUEUE(P*)")]

    def only_looks(self) -> bool:
        """Whether a CEMT request changes nothing.

        Raises:
            CemtError: it is none.
        """
        request = parse_cemt(self.text)
        return request.syntax_only or request.verb == "INQUIRE"


class Decoding(RequestBody):
    """A layout; exactly one of copybook and yaml is given."""

    copybook: Annotated[str | None, Field(max_length=262_144, description="the text of a COBOL copybook")] = None
    record: Annotated[str | None, Field(max_length=30, description="which record of a copybook with several")] = None
    yaml: Annotated[str | None, Field(max_length=262_144, description="a layout in its YAML form")] = None

    @model_validator(mode="after")
    def _one(self) -> Decoding:
        if (self.copybook is None) == (self.yaml is None):
            raise ValueError("exactly one of copybook and yaml must be given")
        return self

    def layout(self) -> Layout:
        """The layout.

        Raises:
            LayoutError: the text is none.
        """
        if self.yaml is not None:
            return parse_layout_yaml(self.yaml, file="yaml")
        return parse_copybook(self.copybook or "", file="copybook").record(self.record)


class AwaitedState(RequestBody):
    """What a client waits for."""

    queue: Annotated[str | None, Field(max_length=4, description="the queue that is to have items")] = None
    items: Annotated[int, Field(ge=0, description="so many at least")] = 1
    tasks_ended: Annotated[bool, Field(description="wait until no task is left")] = False
    seconds: Annotated[float, Field(gt=0, le=300, description="at most so long")] = 30

    @model_validator(mode="after")
    def _one(self) -> AwaitedState:
        if (self.queue is None) == (not self.tasks_ended):
            raise ValueError("either queue or tasks_ended must be given")
        return self


def shown(record: bytes, region: Region, encoding: Encoding) -> str:
    """A record as a client asked for it."""
    return shown_bytes(record, region.codepage, encoding)


def shown_bytes(record: bytes, page: CodePage, encoding: Encoding) -> str:
    """The same with a code page."""
    if encoding == "hex":
        return record.hex().upper()
    if encoding == "base64":
        return base64.b64encode(record).decode()
    return page.decode(record)


def decoded(record: bytes, layout: Layout, region: Region) -> dict[str, Any]:
    """A record by a layout; what does not fit is null, and is told."""
    try:
        values, bad = layout.decode_with_corrupt(record)
    except (TdqError, LookupError) as error:
        return {"hex": record.hex().upper(), "text": region.codepage.decode(record), "problem": str(error)}
    found: dict[str, Any] = {"values": _jsonable(values)}
    if bad:
        found["problem"] = "; ".join(f"{each.field} X'{each.hex}': {each.reason}" for each in bad[:10])
    return found


def _jsonable(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _jsonable(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_jsonable(each) for each in value]
    if isinstance(value, (bytes, bytearray)):
        return {"hex": bytes(value).hex().upper()}
    return value if isinstance(value, (str, int, bool, type(None))) else str(value)  # a Decimal keeps its digits


def values_in(variables: Mapping[str, str | int | Record | None], region: Region) -> dict[str, Any]:
    """Host variables for a command."""
    return {
        name: value.bytes_for(region) if isinstance(value, Record) else value
        for name, value in variables.items()
        if value is not None
    }


def values_out(variables: Mapping[str, Any], region: Region) -> dict[str, Any]:
    """Host variables for a client: bytes as text and as hexadecimal, CVDAs by name and number."""
    found: dict[str, Any] = {}
    for name, value in variables.items():
        if isinstance(value, (bytes, bytearray)):
            found[name] = {"text": region.codepage.decode(bytes(value)), "hex": bytes(value).hex().upper()}
        elif isinstance(value, IntEnum):
            found[name] = {"cvda": value.name, "value": int(value)}
        else:
            found[name] = value if isinstance(value, (str, int, float, type(None))) else str(value)
    return found
