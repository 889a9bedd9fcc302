"""Answers about regions, queues and records. Field names in capitals are the options of INQUIRE TDQUEUE."""

from __future__ import annotations

from typing import Annotated, Any, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from tdqsim.client._tdqueue_info import CvdaValue, TdqueueState

__all__ = [
    "BytesValue",
    "CvdaValue",
    "DecodedPage",
    "DecodedRecord",
    "PeekPage",
    "PredictedOutcome",
    "QueueDepth",
    "QueueExplanation",
    "QueuePage",
    "ReadRecord",
    "ReadRecords",
    "RecordHex",
    "RegionSummary",
    "RestoreResult",
    "SeedResult",
    "Snapshot",
    "SnapshotQueue",
    "TdqueueState",
    "WriteResult",
]


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
    codepage: str
    time_zone: str
    queues: Annotated[int, Field(description="how many are installed")]
    tasks: Annotated[int, Field(description="how many have begun and not ended")]
    abends: Annotated[dict[str, int], Field(description="how many by abend code")]


class QueuePage(TypedDict):
    """Queues in the order of their names."""

    queues: list[TdqueueState]
    next: Annotated[str | None, Field(description="what to give as after for the next page; null on the last")]
    count: Annotated[int, Field(description="queues from after on, on this page and behind it")]


class QueueDepth(TypedDict):
    """NUMITEMS over time."""

    time_ns: Annotated[int, Field(description="now, in nanoseconds since 1970")]
    depth: Annotated[int, Field(description="NUMITEMS now")]
    samples: Annotated[
        list[Annotated[list[int], Field(min_length=2, max_length=2)]],
        Field(description="pairs: nanoseconds since 1970, and NUMITEMS from then on"),
    ]


class PredictedOutcome(TypedDict):
    """What one request would meet."""

    command: str
    outcome: Annotated[str, Field(description="NORMAL, a condition, WAIT, SHIPPED or UNKNOWN")]
    nosuspend: Annotated[str, Field(description="for READQ TD, the outcome with NOSUSPEND; the same for others")]
    reason: str
    resp2: int


class QueueExplanation(TypedDict):
    """Why a queue is as it is."""

    explanation: Annotated[str, Field(description="all of it as sentences")]
    queue: str
    target: Annotated[str, Field(description="the queue that it stands for; empty for none")]
    statements: list[str]
    commands: Annotated[dict[str, PredictedOutcome], Field(description="by command, such as READQ TD")]
    starts: Annotated[bool, Field(description="whether the next committed WRITEQ starts the trigger's transaction")]
    history: list[str]


class PeekPage(TypedDict):
    """Records from a position on, in the encoding asked for."""

    position: int
    records: list[str]


class DecodedRecord(TypedDict):
    """A record by a layout: its values, or its bytes where it does not fit at all."""

    values: NotRequired[Annotated[dict[str, Any], Field(description="by the fields of the layout; decimals as text")]]
    problem: NotRequired[Annotated[str, Field(description="what does not fit")]]
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
    """What WRITEQ TD wrote."""

    written: Annotated[int, Field(description="bytes")]
    records: NotRequired[Annotated[int, Field(description="how many, where a list was sent")]]


class SeedResult(TypedDict):
    """What was put on a queue without a task."""

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

    applid: str
    queues: dict[str, SnapshotQueue]


class RestoreResult(TypedDict):
    """What a snapshot gave back."""

    restored: Annotated[int, Field(description="queues")]
