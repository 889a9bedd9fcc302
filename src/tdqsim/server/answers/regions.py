"""Answers about regions, queues and records. Field names in capitals are the options of INQUIRE TDQUEUE."""

from __future__ import annotations

from typing import Annotated, Any, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from tdqsim.server.answers.tables import TdqueueState


class BytesValue(TypedDict):
    """Bytes, as text in the region's code page and in hexadecimal."""

    text: str
    hex: str


class RegionSummary(TypedDict):
    """A region."""

    applid: str
    sysid: str
    start: Annotated[str, Field(description="the type of start: INITIAL, COLD, WARM, EMERGENCY")]
    release: str
    code_page: str
    time_zone: str
    queues: Annotated[int, Field(description="the number of installed queues")]
    tasks: Annotated[int, Field(description="the number of tasks that have not ended")]
    abends: Annotated[dict[str, int], Field(description="the number of abended tasks by abend code")]
    ended: Annotated[str, Field(description="why the region has ended, as its store has failed; empty if it has not")]


class QueuePage(TypedDict):
    """Queues in the order of their names."""

    queues: list[TdqueueState]
    next: Annotated[str | None, Field(description="the value of after for the next page; null on the last page")]
    count: Annotated[int, Field(description="the number of queues after after, on this page and later ones")]


class QueueDepth(TypedDict):
    """NUMITEMS over time."""

    time_ns: Annotated[int, Field(description="now, in nanoseconds since 1970")]
    depth: Annotated[int, Field(description="NUMITEMS now")]
    samples: Annotated[
        list[Annotated[list[int], Field(min_length=2, max_length=2)]],
        Field(description="pairs: nanoseconds since 1970, and NUMITEMS from then on"),
    ]


class PeekPage(TypedDict):
    """Records from a position on, in the requested encoding."""

    position: int
    records: list[str]


class DecodedRecord(TypedDict):
    """A record decoded by a layout: its values, or its bytes if it does not match the layout."""

    values: NotRequired[Annotated[dict[str, Any], Field(description="by the fields of the layout; decimals as text")]]
    problem: NotRequired[Annotated[str, Field(description="a description of invalid fields")]]
    hex: NotRequired[str]
    text: NotRequired[str]


class DecodedPage(TypedDict):
    """Records from a position on, by a layout."""

    layout: NotRequired[Annotated[str, Field(description="the name of the queue's own layout")]]
    position: int
    records: list[DecodedRecord]


class ReadRecord(TypedDict):
    """One record that was read."""

    record: str
    length: int


class ReadRecords(TypedDict):
    """Records that were read."""

    records: list[str]


class WriteResult(TypedDict):
    """The result of WRITEQ TD."""

    written: Annotated[int, Field(description="bytes")]
    records: NotRequired[Annotated[int, Field(description="the number of records, if a list was sent")]]


class SeedResult(TypedDict):
    """The result of a seed."""

    seeded: Annotated[int, Field(description="records")]


class RecordHex(TypedDict):
    """A record in hexadecimal."""

    hex: str


class SnapshotQueue(TypedDict):
    """A queue of a snapshot."""

    enablestatus: str
    records: list[RecordHex]


class Snapshot(TypedDict):
    """The intrapartition queues of a region with their records."""

    format: int
    applid: str
    queues: dict[str, SnapshotQueue]


class RestoreResult(TypedDict):
    """The result of a restore."""

    restored: Annotated[int, Field(description="queues")]
