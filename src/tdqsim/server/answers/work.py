"""Answers of commands, and about tasks and units of work."""

from __future__ import annotations

from typing import Annotated, NotRequired

from pydantic import Field
from typing_extensions import TypeAliasType, TypedDict

from tdqsim.server.answers.regions import BytesValue
from tdqsim.server.answers.tables import CvdaValue

OptionValue = TypeAliasType("OptionValue", str | bool | int | float | CvdaValue | BytesValue | None)
"""The value of an option or of a host variable."""


class CommandResult(TypedDict):
    """The result of an EXEC CICS command: its response, the received data, and the variables afterwards."""

    resp: int
    condition: str
    resp2: int
    received: Annotated[dict[str, OptionValue], Field(description="by option")]
    variables: Annotated[dict[str, OptionValue], Field(description="by name")]


CemtRow = dict[str, str | int | None]
"""A row of CEMT: the resource's name under its type, its options, and outcome, or resp and resp2."""


class CemtAnswer(TypedDict):
    """A CEMT request: the screen, and the rows under the resource type in the plural."""

    text: Annotated[str, Field(description="the screen")]
    errors: Annotated[int, Field(description="the number of resources that could not be inquired or changed")]
    request: str
    verb: str
    connections: NotRequired[list[CemtRow]]
    files: NotRequired[list[CemtRow]]
    programs: NotRequired[list[CemtRow]]
    tasks: NotRequired[list[CemtRow]]
    tdqueues: NotRequired[list[CemtRow]]
    terminals: NotRequired[list[CemtRow]]
    transactions: NotRequired[list[CemtRow]]
    tsqueues: NotRequired[list[CemtRow]]
    uows: NotRequired[list[CemtRow]]
    uowenqs: NotRequired[list[CemtRow]]
    uowlinks: NotRequired[list[CemtRow]]


class CeciAnswer(TypedDict):
    """A command of CECI."""

    text: Annotated[str, Field(description="the screen")]
    command: str
    name: str
    response: Annotated[str, Field(description="the condition")]
    eibresp: int
    eibresp2: int
    received: Annotated[dict[str, str | bool | int | float | None], Field(description="by option")]


class WaitResult(TypedDict):
    """A wait has ended because its condition is true."""

    met: bool


class OpenUnitOfWork(TypedDict):
    """A unit of work that stays open between requests."""

    id: str
    region: str


class CommitResult(TypedDict):
    """A unit of work has been committed."""

    committed: bool


class TaskEntry(TypedDict):
    """A task that has not ended."""

    task: int
    transid: str
    userid: str
    suspended: Annotated[list[str] | None, Field(description="the kind and the name of the resource that it waits for")]
    waits_for: Annotated[str, Field(description="empty if it does not wait")]
    held_by: Annotated[str, Field(description="the holder of the resource that it waits for; empty for none")]
    since_ns: Annotated[int, Field(description="when its wait began, in nanoseconds since 1970; 0 if it does not wait")]


class TaskExplanation(TypedDict):
    """What a task waits for, or how it has abended."""

    explanation: Annotated[str, Field(description="the whole explanation in sentences")]
    statements: Annotated[list[str], Field(description="the sentences; those of another region name it")]


class IncidentState(TypedDict):
    """Something in the present state of a region that needs attention."""

    kind: Annotated[str, Field(description="Deadlock, Long wait, Indoubt, Full, No trigger, Not done or Refused")]
    what: Annotated[str, Field(description="what happens")]
    todo: Annotated[str, Field(description="what ends it")]
    since_ns: Annotated[int, Field(description="when it began, in nanoseconds since 1970; 0 if that is not known")]
    page: Annotated[str, Field(description="the path of the page of the console with its details")]


class RefusedState(TypedDict):
    """Refused commands that are alike."""

    actor: Annotated[str, Field(description="the transaction, or the name of the job")]
    command: Annotated[str, Field(description="the command or API")]
    resource: Annotated[str, Field(description="the resource that it names; empty for none")]
    condition: Annotated[str, Field(description="the condition, or the id of the escape message")]
    count: Annotated[int, Field(description="the number of refusals")]
    begun_ns: Annotated[int, Field(description="the first refusal since the last pause of ten minutes")]
    first_ns: Annotated[int, Field(description="the first refusal, in nanoseconds since 1970")]
    last_ns: Annotated[int, Field(description="the last refusal")]
    task: Annotated[str, Field(description="the number of the last task or job")]
    userid: Annotated[str, Field(description="its user")]
    place: Annotated[str, Field(description="the line of the program or COBOL statement; empty if unknown")]
    what: Annotated[str, Field(description="what happens")]
    todo: Annotated[str, Field(description="what ends it")]
    present: Annotated[bool, Field(description="whether it is an incident now")]


class NoticeState(TypedDict):
    """Something that was asked for and does not happen, or has failed."""

    id: Annotated[str, Field(description="the vendor's message id if there is one, otherwise TDQ and digits")]
    resource: Annotated[str, Field(description="such as TDQUEUE(PAYQ); empty for the whole region or system")]
    reason: Annotated[str, Field(description="why, in sentences")]
    cure: Annotated[str, Field(description="what to do; empty for nothing")]
    severity: Annotated[str, Field(description="error, or warning for what may surprise")]
    event: Annotated[str, Field(description="the name of its event in the log; empty for none")]
    task: Annotated[str, Field(description="the number of the task, or the name of the job; empty for none")]
    traceback: Annotated[str, Field(description="the lines of the user's files in the traceback of an error")]
    time_ns: Annotated[int, Field(description="when, in nanoseconds since 1970")]
    times: Annotated[int, Field(description="how often it was given since its cause began")]
    lasts: Annotated[bool, Field(description="whether its cause has not ended, as far as is known")]


class DumpedItemState(TypedDict):
    """An item in the storage of a COBOL program."""

    program: str
    level: int
    name: Annotated[str, Field(description="with subscripts")]
    picture: Annotated[str, Field(description="level, picture and usage as declared")]
    value: Annotated[str, Field(description="a literal; 'no storage' if it has none")]
    hex: Annotated[str, Field(description="the first bytes")]


class DumpedWorkState(TypedDict):
    """The uncommitted changes of a task to a logically recoverable queue at its abend."""

    queue: str
    reads: Annotated[int, Field(description="the number of records read")]
    writes: Annotated[int, Field(description="the number of records written")]
    records: Annotated[list[str], Field(description="the first of the records written, in hexadecimal")]
    deleted: bool


class SourceLineState(TypedDict):
    """A line of a source."""

    number: Annotated[int, Field(description="from 1")]
    text: str


class DumpState(TypedDict):
    """A task at its abend."""

    code: Annotated[str, Field(description="the abend code")]
    program: Annotated[str, Field(description="the program that failed")]
    transid: str
    task: int
    userid: str
    time_ns: Annotated[int, Field(description="the time on the region's clock, in nanoseconds since 1970")]
    reason: str
    file: Annotated[str, Field(description="the source of the failing statement; empty if unknown")]
    line: Annotated[int, Field(description="its line; 0 if unknown")]
    statement: Annotated[str, Field(description="the text of that line; empty if unknown")]
    source: Annotated[list[SourceLineState], Field(description="that line with those around it; empty if unknown")]
    calls: Annotated[list[str], Field(description="the active COBOL programs, the failing one first")]
    commands: Annotated[list[str], Field(description="the last commands with their answers, the newest last")]
    last: Annotated[list[str], Field(description="the last command and the resource that it names; empty if unknown")]
    locks: Annotated[list[list[str]], Field(description="queue and end of each lock")]
    works: list[DumpedWorkState]
    storage: list[DumpedItemState]


class UnitOfWorkState(TypedDict):
    """A unit of work of a region."""

    uow: Annotated[str, Field(description="its identifier in hexadecimal")]
    state: str
    waitstate: str
    task: Annotated[int, Field(description="its task's number")]
