"""The resource signature: who defined, changed and installed a resource, when, and by which agent.

The value of each field depends on how the resource was installed. The table ``facts/signature.tsv`` has a row for each
agent and field, after "Summary of the resource signature field values" (IBM Docs). A definition from a file contains no
signature: its change agent is CSDBATCH, its times are the time of installation, and its user is the region user, never
the date or the owner of the file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Final, Literal

from tdqsim.cics.kernel.abstime import abstime_of
from tdqsim.core.named import NamedTuple
from tdqsim.facts import Cvda, table

if TYPE_CHECKING:
    from datetime import datetime

    from tdqsim.definitions import Tdqueue

InstallAgent = Literal["GRPLIST", "CSDAPI", "CREATESPI", "SYSTEM"]
"""INSTALLAGENT: a definition was installed from the group list at a cold start, from a group by a command, by CREATE,
or by CICS itself."""

_FROM_FILE: Final = "CSDBATCH"
_NOT_SHOWN: Final = ("", "OVERRIDE")
"""The change agents for which INQUIRE returns that of a file: none, and one whose CVDA has no number on any page."""
_KEPT: Final = 100
"""The number of signatures that are kept, since definitions that are installed together mostly share one."""


class Signature(NamedTuple):
    """The nine fields of a resource signature.

    Attributes:
        definesource: 8 characters at most: the group, the program that issued CREATE, or SYSTEM.
        definetime: ABSTIME at which the definition was made.
        changeagent: CREATESPI, CSDAPI, CSDBATCH, DREPAPI or SYSTEM.
        changeagrel: release of CICS that was running then, four digits.
        changetime: ABSTIME of the last change.
        changeusrid: the user who ran the change agent.
        installagent: CREATESPI, CSDAPI, GRPLIST or SYSTEM.
        installtime: ABSTIME of the installation.
        installusrid: the user who installed it.
    """

    definesource: str
    definetime: int
    changeagent: Cvda
    changeagrel: str
    changetime: int
    changeusrid: str
    installagent: Cvda
    installtime: int
    installusrid: str


class Installer(NamedTuple):
    """The installing user and program, and the time.

    Attributes:
        now: ABSTIME of the installation.
        start: ABSTIME of the region's last cold start.
        user: user id of the task that installs or creates.
        regionuserid: user id of the region's own job.
        release: the region's release, four digits.
        program: the program that issued CREATE; the transaction id if there is none.
    """

    now: int
    start: int
    user: str
    regionuserid: str
    release: str
    program: str = ""


class _Own(NamedTuple):
    """The attributes of a definition on which its signature depends."""

    group: str
    definetime: datetime | None
    changetime: datetime | None
    changeusrid: str
    changeagent: str
    changeagrel: str


_own_of: Final = attrgetter(*_Own._fields)
_Origin = Callable[[_Own, Installer], str | int]


def _own_time(name: str) -> _Origin:
    def read(definition: _Own, by: Installer) -> int:
        # Without a change time, a definition shows its definition time there, and the other way round.
        stamp = getattr(definition, name) or definition.definetime or definition.changetime
        return by.now if stamp is None else abstime_of(stamp)

    return read


def _shown_agent(changeagent: str) -> str:
    return _FROM_FILE if changeagent in _NOT_SHOWN else changeagent


_FROM_DEFINITION: Final[Mapping[str, _Origin]] = {
    "DEFINETIME": _own_time("definetime"),
    "CHANGETIME": _own_time("changetime"),
    "CHANGEAGENT": lambda definition, _by: _shown_agent(definition.changeagent),
    "CHANGEAGREL": lambda definition, by: definition.changeagrel or by.release,
    "CHANGEUSRID": lambda definition, by: definition.changeusrid or by.regionuserid,
}
_ORIGINS: Final[Mapping[str, _Origin]] = {
    "group": lambda definition, _by: definition.group,
    "program": lambda _definition, by: by.program,
    "start": lambda _definition, by: by.start,
    "now": lambda _definition, by: by.now,
    "user": lambda _definition, by: by.user,
    "region": lambda _definition, by: by.regionuserid,
    "release": lambda _definition, by: by.release,
}


def _origin(field: str, word: str) -> _Origin:
    if word.startswith("'"):
        text = word.strip("'")
        return lambda _definition, _by: text
    return _FROM_DEFINITION[field] if word == "definition" else _ORIGINS[word]


@cache
def _plan(agent: str) -> tuple[_Origin, ...]:
    """For each field of :class:`Signature`, in order, the function that computes it."""
    rows = {row["field"]: row["origin"] for row in table("signature") if row["agent"] == agent}
    return tuple(_origin(field.upper(), rows[field.upper()]) for field in Signature._fields)


_AGENTS: Final = {name: Cvda[name] for name in ("CREATESPI", "CSDAPI", "CSDBATCH", "DREPAPI", "SYSTEM", "GRPLIST")}


def _agent(name: object) -> Cvda:
    return _AGENTS[str(name)]


def sign(agent: InstallAgent, definition: Tdqueue, by: Installer) -> Signature:
    """Make the signature of a definition at its installation.

    Args:
        agent: what installs it.
        definition: the definition.
        by: the installing user, and the time.
    """
    return _signed(agent, _Own(*_own_of(definition)), by)


@lru_cache(_KEPT)
def _signed(agent: InstallAgent, own: _Own, by: Installer) -> Signature:
    fields = [read(own, by) for read in _plan(agent)]
    fields[2], fields[6] = _agent(fields[2]), _agent(fields[6])
    return Signature._make(fields)
