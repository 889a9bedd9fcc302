"""Records in JSON: as text in the code page of the region, in hexadecimal, or in base64."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum, IntEnum
from typing import Annotated, Any, Final, Literal

from fastapi import Query
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, RootModel, model_validator
from pydantic.json_schema import SkipJsonSchema

from tdqsim.cics import Region
from tdqsim.errors import TdqError, UsageError, WrongValue
from tdqsim.facts import Resp
from tdqsim.hosting import CodePage, hex_bytes
from tdqsim.layouts import Layout, Rules, parse_copybook, parse_layout_yaml
from tdqsim.server.answers.regions import DecodedRecord
from tdqsim.server.answers.work import OptionValue
from tdqsim.server.bounds import BOUNDS

HEX: Final = "^([0-9A-Fa-f]{2})*$"
_BASE64: Final = "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"
Encoding = Literal["text", "hex", "base64"]


def _whole(value: object) -> object:
    """Accept 103.0 as a whole number, because JSON does not distinguish it from 103."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


WHOLE: Final = BeforeValidator(_whole)
"""Put this after the bounds of a number in ``Annotated``, so that the document contains the bounds."""
Whole = Annotated[int, WHOLE]
Position = Annotated[int, Query(ge=0, le=2**53 - 1, description="the position of the first; from 0")]
"""A position in a queue or a history, up to the largest integer that every JSON parser reads exactly."""


class RequestBody(BaseModel):
    """A request body: no additional fields, and no conversion between numbers and text."""

    model_config = ConfigDict(extra="forbid", strict=True)


def _one_of(*names: str) -> dict[str, Any]:
    """The schema of a body that has exactly one of these fields."""
    return {"oneOf": [{"required": [name]} for name in names]}


_Given = SkipJsonSchema[None]
"""The type of a field without a value, which the document does not show as nullable."""


def _check_condition(name: str) -> str:
    if name not in Resp.__members__:
        raise WrongValue("is not a condition, such as NOSPACE or QZERO")
    return name


_Condition = Annotated[
    str, Field(json_schema_extra={"enum": sorted(Resp.__members__)}), AfterValidator(_check_condition)
]


class Record(RequestBody):
    """One record; give exactly one of its fields."""

    model_config = ConfigDict(json_schema_extra=_one_of("text", "hex", "base64"))
    text: Annotated[str, Field(description="text, in the region's code page")] | _Given = None
    hex: Annotated[str, Field(pattern=HEX, description="pairs of hexadecimal digits")] | _Given = None
    base64: Annotated[str, Field(pattern=_BASE64, description="base64 of the bytes")] | _Given = None

    @model_validator(mode="after")
    def _one(self) -> Record:
        _check_one(self, "text", "hex", "base64")
        return self

    def bytes_for(self, region: Region) -> bytes:
        """The bytes of the record.

        Raises:
            TdqError: the digits are invalid, or the text has a character that the code page does not have.
        """
        return bytes_of(self, region.options.code_page)


class Records(RootModel[Annotated[list[Record], Field(max_length=BOUNDS["page_records"])]]):
    """Several records, in order."""


def _check_one(body: BaseModel, *names: str) -> None:
    if [getattr(body, name) is not None for name in names if name in body.model_fields_set] != [True]:
        raise WrongValue(f"exactly one of {', '.join(names)} must be given, and must not be null")


def bytes_of(record: Record, page: CodePage) -> bytes:
    """The bytes of a record, its text in a code page.

    Raises:
        TdqError: the digits are invalid, or the text has a character that the code page does not have.
    """
    try:
        if record.hex is not None:
            return hex_bytes(record.hex)
        if record.base64 is not None:
            return base64.b64decode(record.base64, validate=True)
    except (ValueError, binascii.Error) as error:
        raise UsageError(f"the record cannot be read: {error}") from error
    return page.encode(record.text or "")


class Statement(RequestBody):
    """An EXEC CICS command as text, with its host variables."""

    text: Annotated[str, Field(max_length=32768, description="such as READQ TD QUEUE('PAYQ') INTO(REC) RESP(R)")]
    variables: Annotated[
        dict[str, str | Whole | Record | None], Field(description="text, numbers, or records", max_length=1000)
    ] = {}


class Line(RequestBody):
    """A command line of an operator."""

    text: Annotated[str, Field(min_length=1, max_length=32768, description="such as INQUIRE TDQUEUE(P*)")]


class Decoding(RequestBody):
    """A layout; give exactly one of copybook and yaml."""

    model_config = ConfigDict(json_schema_extra=_one_of("copybook", "yaml"))
    copybook: Annotated[str, Field(max_length=262_144, description="the text of a COBOL copybook")] | _Given = None
    record: Annotated[str, Field(max_length=30, description="the record, if the copybook has several")] | None = None
    yaml: Annotated[str, Field(max_length=262_144, description="a layout in its YAML form")] | _Given = None

    @model_validator(mode="after")
    def _one(self) -> Decoding:
        _check_one(self, "copybook", "yaml")
        return self

    def layout(self, code_page: str) -> Layout:
        """The layout; ``code_page`` applies if the layout has none.

        Raises:
            LayoutError: the text is not a layout.
        """
        if self.yaml is not None:
            return parse_layout_yaml(self.yaml, file="yaml", code_page=code_page)
        rules = Rules(code_page=code_page)
        return parse_copybook(self.copybook or "", file="copybook", rules=rules).record(self.record)


Run = Annotated[str, Field(pattern="^[0-9a-f]{8}$")]
"""A run of the server, to which positions in the histories of its regions belong."""


class AwaitedState(RequestBody):
    """The state to wait for: a number of items of a queue, a condition, or the end of a task or of all tasks."""

    model_config = ConfigDict(json_schema_extra=_one_of("queue", "condition", "task", "tasks_ended"))
    queue: (
        Annotated[str, Field(min_length=1, max_length=4, description="the queue whose items are counted")] | _Given
    ) = None
    items: Annotated[int, Field(ge=0, description="the minimum number of items"), WHOLE] = 1
    at_most: Annotated[int, Field(ge=0, description="the maximum number of items"), WHOLE] | _Given = None
    condition: Annotated[_Condition, Field(description="wait until a command ends with this condition")] | _Given = None
    position: (
        Annotated[int, Field(ge=0, description="the position in the history from which conditions count"), WHOLE]
        | _Given
    ) = None
    run: Annotated[Run, Field(description="the run of the position; 409 for another")] | _Given = None
    task: (
        Annotated[int, Field(ge=1, le=9_999_999, description="wait until no task has this number"), WHOLE] | _Given
    ) = None
    tasks_ended: Annotated[Literal[True], Field(description="wait until no task is left")] | _Given = None
    seconds: Annotated[float, Field(gt=0, le=BOUNDS["wait_seconds"], description="the time limit")] = 30

    @model_validator(mode="after")
    def _one(self) -> AwaitedState:
        _check_one(self, "queue", "condition", "task", "tasks_ended")
        return self


def shown(record: bytes, region: Region, encoding: Encoding) -> str:
    """A record in the encoding that the client requested."""
    return shown_bytes(record, region.options.code_page, encoding)


def shown_bytes(record: bytes, page: CodePage, encoding: Encoding) -> str:
    """The same with a code page."""
    if encoding == "hex":
        return record.hex().upper()
    if encoding == "base64":
        return base64.b64encode(record).decode()
    return page.decode(record)


def decoded(record: bytes, layout: Layout, region: Region) -> DecodedRecord:
    """A record decoded by a layout; invalid fields are null, and ``problem`` describes them."""
    try:
        values, bad = layout.decode_with_corrupt(record)
    except (TdqError, LookupError) as error:
        return {"hex": record.hex().upper(), "text": region.options.code_page.decode(record), "problem": str(error)}
    record_values: DecodedRecord = {"values": _jsonable(values)}
    if bad:
        record_values["problem"] = "; ".join(f"{each.field} X'{each.hex}': {each.reason}" for each in bad[:10])
    return record_values


def plain(value: Any, **others: object) -> Any:
    """A record of the core in JSON, with other fields: bytes in hexadecimal, constants by their names.

    An answer keeps only the fields that its type names.
    """
    if is_dataclass(value):
        return {each.name: plain(getattr(value, each.name)) for each in fields(value)} | others
    if hasattr(value, "_asdict"):
        return plain(value._asdict()) | others
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return list(map(plain, value))
    if isinstance(value, (bytes, bytearray)):
        return value.hex().upper()
    if isinstance(value, Enum):
        return value.name
    return value if isinstance(value, (str, int, float, type(None))) else str(value)


def _jsonable(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _jsonable(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_jsonable(each) for each in value]
    if isinstance(value, (bytes, bytearray)):
        return {"hex": bytes(value).hex().upper()}
    return (
        value if isinstance(value, (str, int, bool, type(None))) else str(value)
    )  # a Decimal becomes text, to keep its digits


def values_in(variables: Mapping[str, str | int | Record | None], region: Region) -> dict[str, Any]:
    """The host variables of a request, for a command."""
    return {
        name: value.bytes_for(region) if isinstance(value, Record) else value
        for name, value in variables.items()
        if value is not None
    }


def values_out(variables: Mapping[str, Any], region: Region) -> dict[str, OptionValue]:
    """Host variables for the answer: bytes as text and in hexadecimal, CVDAs by name and number."""
    plain_values: dict[str, OptionValue] = {}
    for name, value in variables.items():
        if isinstance(value, (bytes, bytearray)):
            plain_values[name] = {
                "text": region.options.code_page.decode(bytes(value)),
                "hex": bytes(value).hex().upper(),
            }
        elif isinstance(value, IntEnum):
            plain_values[name] = {"cvda": value.name, "value": int(value)}
        else:
            plain_values[name] = value if isinstance(value, (str, int, float, type(None))) else str(value)
    return plain_values
