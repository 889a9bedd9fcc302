"""Answers about definitions, faults, statistics, jobs and SYSOUT data sets."""

from __future__ import annotations

from typing import Annotated, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from tdqsim.server.answers.tables import OtherStatistics


class DefinitionChange(TypedDict):
    """What the installation of a definition changes."""

    kind: Annotated[str, Field(description="the resource type, such as TDQUEUE")]
    name: str
    change: Annotated[
        str,
        Field(
            description="new, changed, unchanged, replaced (by a definition of a type that is not compared), refused, "
            "or ignored (a type that is not simulated)"
        ),
    ]
    details: Annotated[
        list[str], Field(description="the changed attributes with their old and new values, or why it is refused")
    ]


class InstallResult(TypedDict):
    """Definitions that were read, and installed unless the request only checks them."""

    installed: bool
    names: list[str]
    yaml: Annotated[str, Field(description="the definitions as a definition file")]
    reports: Annotated[list[str], Field(description="the reports of the import of CSD or DCT text")]
    changes: Annotated[list[DefinitionChange], Field(description="what the installation changes, or would change")]


class DfhcsdupResult(TypedDict):
    """A run of DFHCSDUP."""

    lines: Annotated[list[str], Field(description="the listing")]
    return_code: Annotated[int, Field(description="0, 4 (warning), 8 (refused) or 12 (not understood)")]


class InstalledDefinitions(TypedDict):
    """The installed definitions."""

    yaml: Annotated[str, Field(description="the text of a definition file")]
    data_sets: Annotated[dict[str, str], Field(description="the file of each DD name")]


class PlannedFault(TypedDict):
    """A fault of a plan; which fields it has depends on its kind."""

    kind: Annotated[str, Field(description="condition, message, link or disk")]
    condition: NotRequired[str]
    command: NotRequired[str]
    queue: NotRequired[str]
    transid: NotRequired[str]
    task: NotRequired[int]
    region: NotRequired[str]
    message: NotRequired[str]
    operation: NotRequired[str]
    name: NotRequired[str]
    library: NotRequired[str]
    job: NotRequired[str]
    system: NotRequired[str]
    values: NotRequired[list[str | int]]
    step: NotRequired[str]
    regions: NotRequired[list[str]]
    restore: NotRequired[int | float]
    half: NotRequired[str]
    owner: NotRequired[str]
    nth: NotRequired[int]
    times: NotRequired[int]
    delay: NotRequired[int | float]


class FaultState(TypedDict):
    """The active faults, and those that have occurred."""

    faults: list[PlannedFault]
    happened: list[str]


class QueueStatistics(TypedDict):
    """The statistics of one queue."""

    name: str
    type: str
    writes: int
    reads: int
    deletes: int
    triggerlevel: int
    recovery: str
    facility_type: str
    facility: str
    wait: str
    waitaction: str
    transid: str
    triggers: int
    cis_in_use: int
    peak_cis: int
    items: int
    peak_items: int
    remotesystem: str
    remotename: str
    indirectname: str
    iotype: str
    ddname: str
    dsname: str
    member: str
    definesource: str
    definetime: int
    changeagent: str
    changeagrel: str
    changetime: int
    changeusrid: str
    installagent: str
    installtime: int
    installusrid: str


class TotalStatistics(TypedDict):
    """The statistics of the intrapartition data set."""

    ci_reads: int
    ci_writes: int
    formatting_writes: int
    ci_size: int
    control_intervals: int
    cis_in_use: int
    peak_cis: int
    nospace: int
    buffers: int
    strings: int
    io_errors: int


class RegionStatistics(TypedDict):
    """The current statistics."""

    reason: str
    abstime: int
    queues: list[QueueStatistics]
    total: TotalStatistics | None
    records: list[OtherStatistics]


class SubmittedJobInfo(TypedDict):
    """A job that was submitted through the internal reader."""

    number: int
    id: str
    name: str
    submitter: str
    time_ns: int
    scan: Annotated[bool, Field(description="whether it has a /*SCAN card, so that it is only checked")]
    cards: Annotated[int, Field(description="the number of its cards")]
    lines: Annotated[list[str], Field(description="its cards; only the first ones of a long job")]


SysoutDatasetInfo = TypedDict("SysoutDatasetInfo", {"number": int, "class": str, "ddname": str, "control": str})
"""A SYSOUT data set."""
