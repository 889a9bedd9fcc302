"""Answers about the process, its sessions and its clock."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict


class ServerHealth(TypedDict):
    """The answer of a running process."""

    status: Annotated[str, Field(description="always up")]


class ServerReadiness(TypedDict):
    """Whether the server accepts calls."""

    status: Annotated[str, Field(description="ready, or not ready")]


class SessionToken(TypedDict):
    """A session that has started."""

    token: Annotated[str, Field(description="the bearer token")]
    user: str
    roles: list[str]
    seconds: Annotated[int, Field(description="the seconds after which it ends")]


class SessionState(TypedDict):
    """The user who is signed on."""

    user: Annotated[str, Field(description="empty for the owner of the server")]
    roles: list[str]
    groups: list[str]
    csrf: Annotated[str | None, Field(description="the X-CSRF-Token for changing requests of a browser")]


class ClockState(TypedDict):
    """The server's clock."""

    time_ns: Annotated[int, Field(description="nanoseconds since 1970")]
    frozen: bool
