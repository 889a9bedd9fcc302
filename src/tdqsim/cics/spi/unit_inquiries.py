"""What INQUIRE of units of work, enqueues, links, tasks and transactions have in common: options, values, browses.

The options are the table ``facts/inquire_units.tsv``. A browse belongs to the task that started it (or to the region,
for commands outside a task); there is one at a time of each resource type. It walks over what there was at START and
passes over what has ended since. Sources: Browsing resource definitions, Exception conditions for browsing (IBM Docs).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple

from tdqsim.cics.kernel.command import CommandGroup, Opt, OptionKind
from tdqsim.cics.kernel.security import Access
from tdqsim.cics.spi.info import Info
from tdqsim.cics.spi.inquire_commands import open_browses
from tdqsim.cics.spi.requests import may_issue, refusal
from tdqsim.cics.uow.indoubt import units_of_work
from tdqsim.errors import TdqError
from tdqsim.facts import table

if TYPE_CHECKING:
    from tdqsim.cics.region import Region
    from tdqsim.cics.uow.unit import UnitOfWork

__all__ = [
    "NS",
    "UOW_LENGTH",
    "Reader",
    "UnitInquiries",
    "UowId",
    "age",
    "find_uow",
    "long_id",
    "net_name",
    "read",
    "receivers",
]

NS: Final = 1_000_000_000
UOW_LENGTH: Final = 16
_KINDS: Final[dict[str, OptionKind]] = {
    "CVDA": "cvda", "CHAR": "name", "VARCHAR": "name", "BINARY": "fullword", "HALF": "halfword", "HEX": "data",
    "PACKED": "fullword",
}  # fmt: skip

UowId = Annotated[bytes | None, Opt("data", UOW_LENGTH)]
Reader = Callable[[Any, Any], Any]
"""Gives the value of one option from the thing and the region."""


class _Option(NamedTuple):
    name: str
    receiver: str
    length: int


def _options() -> dict[str, dict[str, _Option]]:
    found: dict[str, dict[str, _Option]] = {}
    for row in table("inquire_units"):
        option = _Option(row["option"], row["receiver"], int(row["length"]))
        found.setdefault(row["resource"], {})[option.name] = option
    return found


_OPTIONS: Final = _options()


def receivers(resource: str, **more: Opt) -> dict[str, Opt]:
    """The receivers of INQUIRE of a resource type, after those that only one form of the command has."""
    found = {name: Opt(_KINDS[option.receiver], option.length) for name, option in _OPTIONS[resource].items()}
    return {**more, **found}


def find_uow(region: Region, command_name: str, uow_id: bytes, cause: str = "not found") -> UnitOfWork:
    """The unit of work of an identifier, 16 bytes or the first 8.

    Raises:
        Condition: there is none: what the command says for the cause.
    """
    wanted = long_id(bytes(uow_id))
    for uow in units_of_work(region):
        if long_id(uow.id) == wanted:
            return uow
    raise refusal(command_name, cause, f"there is no unit of work X'{wanted.hex().upper()}'")


def long_id(uow_id: bytes) -> bytes:
    """The 16 bytes that INQUIRE UOW shows: the identifier and eight bytes of zero."""
    return uow_id.ljust(UOW_LENGTH, b"\0")


def net_name(region: Region, uow: UnitOfWork) -> str:
    """NETUOWID: the name that a unit of work and the region that coordinates it both know it by."""
    if uow.link and uow.coordinator:  # another region's: its name for it
        return uow.coordinator
    return f"{region.applid}.{uow.id.hex().upper()}"


def age(region: Region, since_ns: int) -> int:
    """Whole seconds since a moment; 0 for no moment."""
    return (region.clock.time_ns() - since_ns) // NS if since_ns else 0


def read(
    resource: str, thing: Any, region: Region, readers: Mapping[str, Reader], options: tuple[str, ...]
) -> dict[str, Any]:
    """The values of the options wanted, all when none is named; text is padded to its length unless that varies.

    Raises:
        TdqError: an option that INQUIRE of this resource type does not have.
    """
    known = _OPTIONS[resource]
    found: dict[str, Any] = {}
    for name in [option.upper() for option in options] or known:
        if name not in known:
            raise TdqError(f"{name} is no option of INQUIRE {resource}; allowed are {', '.join(known)}")
        value = readers[name](thing, region)
        length = known[name].length
        found[name] = value[:length].ljust(length) if known[name].receiver == "CHAR" else value
    return found


def _always(_thing: Any) -> bool:
    return True


class UnitInquiries(CommandGroup):
    """How an INQUIRE is issued, in its four forms."""

    __slots__ = ()

    def _inquire_one(
        self, command_name: str, resource: str, level: Access, find: Callable[[], Info], nohandle: bool
    ) -> Info:
        def work() -> Info:
            may_issue(self.region, self.userid, resource, level)
            return find()

        return self.issue(command_name, work, nohandle=nohandle, otherwise=Info())

    def _browse_start(
        self, resource: str, things: Callable[[], Iterator[Any]], nohandle: bool, *, word: str = ""
    ) -> None:
        def work() -> None:
            may_issue(self.region, self.userid, resource, Access.READ)
            browses = open_browses(self)
            if resource in browses:
                raise refusal(f"INQUIRE {resource}", "browse sequence", f"a browse of {resource} is open already")
            browses[resource] = things()

        self.issue(f"INQUIRE {word or resource} START", work, nohandle=nohandle, otherwise=None)

    def _browse_next(
        self,
        resource: str,
        values: Callable[[Any], dict[str, Any]],
        nohandle: bool,
        *,
        there: Callable[[Any], bool] = _always,
        word: str = "",
    ) -> Info:
        name = f"INQUIRE {resource}"

        def work() -> Info:
            browse = open_browses(self).get(resource)
            if browse is None:
                raise refusal(name, "browse sequence", f"no browse of {resource} is open; START one first")
            thing = next((each for each in browse if there(each)), None)
            if thing is None:
                raise refusal(name, "no more", f"there is no more {resource}")
            return Info(values(thing))

        return self.issue(f"INQUIRE {word or resource} NEXT", work, nohandle=nohandle, otherwise=Info())

    def _browse_end(self, resource: str, nohandle: bool, *, word: str = "") -> None:
        def work() -> None:
            if open_browses(self).pop(resource, None) is None:
                raise refusal(f"INQUIRE {resource}", "browse sequence", f"no browse of {resource} is open")

        self.issue(f"INQUIRE {word or resource} END", work, nohandle=nohandle, otherwise=None)
