"""The identifiers of units of work in INQUIRE, and functions shared by the inquiries about units of work."""

from __future__ import annotations

from typing import Annotated, Final

from tdqsim.cics.kernel.command import Opt
from tdqsim.cics.model.region import RegionData
from tdqsim.cics.model.unit import UnitOfWork
from tdqsim.cics.spi.requests import refusal
from tdqsim.cics.uow.indoubt import kept_units, units_of_work

NS: Final = 1_000_000_000
UOW_LENGTH: Final = 16

UowId = Annotated[bytes | None, Opt("data", UOW_LENGTH)]
RequiredUowId = Annotated[bytes, Opt("data", UOW_LENGTH)]


def find_uow(region: RegionData, command_name: str, uow_id: bytes, cause: str = "not found") -> UnitOfWork:
    """The unit of work with an identifier of 16 bytes, or its first 8.

    Raises:
        Condition: there is none; the command and the cause select the condition.
    """
    wanted = long_id(bytes(uow_id))
    for uow in units_of_work(region):
        if long_id(uow.id) == wanted:
            return uow
    raise refusal(command_name, cause, f"there is no unit of work X'{wanted.hex().upper()}'")


def long_id(uow_id: bytes) -> bytes:
    """The identifier in the 16 bytes that INQUIRE UOW shows: followed by eight zero bytes."""
    return uow_id.ljust(UOW_LENGTH, b"\0")


def net_name(region: RegionData, uow: UnitOfWork) -> str:
    """NETUOWID: the name of a unit of work that is the same in this region and its coordinator."""
    if uow.link and uow.coordinator:  # coordinated by another region: the name given by that region
        return uow.coordinator
    return f"{region.applid}.{uow.id.hex().upper()}"


def age(region: RegionData, since_ns: int) -> int:
    """The whole seconds since a time in nanoseconds; 0 if the time is 0."""
    return (region.clock.time_ns() - since_ns) // NS if since_ns else 0


def uow_with_id(region: RegionData, uow_id: bytes) -> UnitOfWork | None:
    """The unit of work with an id; None if it has ended and no other region waits for its outcome."""
    unit = region.units.get(uow_id) or region.shunted.get(uow_id)
    return unit or next((uow for uow in kept_units(region) if uow.id == uow_id), None)
