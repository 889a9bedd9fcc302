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


class TaskExplanation(TypedDict):
    """What a task waits for, or how it has abended."""

    explanation: Annotated[str, Field(description="the whole explanation in sentences")]
    statements: Annotated[list[str], Field(description="the sentences; those of another region name it")]
