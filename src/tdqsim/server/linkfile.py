"""The ``links:`` of ``serve.yaml``: which regions and systems of other processes are reached or let in, and where.

::

    links:
    - name: NEARAPPL
      certificate: near.pem
      key: near.key
      authority: authority.pem
      regions:
      - {sysid: FAR, applid: FARAPPL, to: 10.0.0.2:8489}
    - name: SYSB
      certificate: sysb.pem
      key: sysb.key
      authority: authority.pem
      port: 8490
      systems:
      - {name: SYSA}
      - {name: SYSC, rmtlocname: CHICAGO, to: 'sysc.example.com:8490'}

Each is one region or system that is served here, with the certificate that proves its name. Those with ``to`` are
dialled; the others are waited for, on ``port``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from ipaddress import ip_address
from typing import Annotated, Final, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

__all__ = ["LinkedRegion", "LinkedSystem", "ServedLinks", "check_names_once", "dialled"]

_TO: Final = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]{1,253})):([0-9]{1,5})", re.ASCII)
_HIGHEST_PORT: Final = 65535


def dialled(to: str) -> tuple[str, int] | None:
    """Host and port of ``host:port`` or ``[IPv6 address]:port``; None for nothing.

    Raises:
        ValueError: it is neither.
    """
    if not to:
        return None
    found = _TO.fullmatch(to)
    if found is None or not 1 <= int(found[3]) <= _HIGHEST_PORT:
        raise ValueError("must be host:port or [IPv6 address]:port, with a port from 1 to 65535")
    if found[1]:
        _check_ip(found[1])
    return found[1] or found[2], int(found[3])


def _check_to(value: str) -> str:
    dialled(value)
    return value


def _check_ip(value: str) -> str:
    try:
        return str(ip_address(value)) if value else value
    except ValueError:
        raise ValueError("must be an IP address, such as 127.0.0.1") from None


_PATH = Annotated[str, Field(min_length=1, max_length=4096)]
_NAME = Annotated[str, Field(pattern=r"^[A-Z$#@][A-Z0-9$#@]{0,7}$")]
_SYSID = Annotated[str, Field(pattern=r"^[A-Z0-9$#@]{1,4}$")]
_LOCATION = Annotated[str, Field(pattern=r"^([A-Z$#@][A-Z0-9$#@_.]{0,17})?$")]
_ADDRESS = Annotated[str, Field(max_length=300), AfterValidator(_check_to)]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class LinkedRegion(_Strict):
    """A region of another process, for function shipping.

    Attributes:
        sysid: how the region here calls it: 1 to 4 characters, as SYSID and REMOTESYSTEM name it.
        applid: its APPLID, the common name of its certificate.
        to: host and port where it waits, as ``10.0.0.2:8489``; without it, it dials and is waited for here.
    """

    sysid: _SYSID
    applid: _NAME
    to: _ADDRESS = ""


class LinkedSystem(_Strict):
    """A system of another process: one that DDM data queues here lie on, or one whose DDM queues lie here.

    Attributes:
        name: its name, the common name of its certificate.
        rmtlocname: RMTLOCNAME or RDB of the DDM data queues here that lie there; given together with ``to``.
        to: host and port where it waits; without it, it dials and is let in here, its users believed.
    """

    name: _NAME
    rmtlocname: _LOCATION = ""
    to: _ADDRESS = ""

    @model_validator(mode="after")
    def _together(self) -> Self:
        if bool(self.rmtlocname) != bool(self.to):
            raise ValueError(f"{self.name}: rmtlocname and to are given together, or neither, to let it in")
        return self


class ServedLinks(_Strict):
    """The links of one region or system that is served here.

    Attributes:
        name: the region's APPLID or the system's name, the common name of its certificate.
        certificate: its certificate, a PEM file.
        key: the private key, a PEM file that nobody else can read.
        authority: certificates of the authorities that are believed, a PEM file.
        address: where those that dial are waited for; unless given, where the faces listen.
        port: there; 0 for any that is free. Needed where one is waited for, and only there.
        regions: the links of a region.
        systems: the links of a system.
    """

    name: _NAME
    certificate: _PATH
    key: _PATH
    authority: _PATH
    address: Annotated[str, Field(max_length=45), AfterValidator(_check_ip)] = ""
    port: Annotated[int, Field(ge=0, le=65535)] | None = None
    regions: Annotated[tuple[LinkedRegion, ...], Field(max_length=1000)] = ()
    systems: Annotated[tuple[LinkedSystem, ...], Field(max_length=1000)] = ()

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if bool(self.regions) == bool(self.systems):
            raise ValueError(
                f"{self.name}: regions or systems are needed: a region links to regions, a system to systems"
            )
        _once(self.name, "sysid", (each.sysid for each in self.regions))
        _once(self.name, "applid", (each.applid for each in self.regions))
        _once(self.name, "rmtlocname", (each.rmtlocname for each in self.systems if each.to))
        _once(self.name, "name", (each.name for each in self.systems if not each.to))
        if self.name in {each.applid for each in self.regions} | {each.name for each in self.systems}:
            raise ValueError(f"{self.name}: it cannot be linked to itself")
        awaited = [
            *(each.applid for each in self.regions if not each.to),
            *(each.name for each in self.systems if not each.to),
        ]
        if awaited and self.port is None:
            raise ValueError(f"{self.name}: a port is needed, since {awaited[0]} has no to and is waited for")
        if not awaited and self.port is not None:
            raise ValueError(f"{self.name}: port {self.port}: nobody is waited for; all have to")
        return self


def _once(where: str, what: str, values: Iterable[str]) -> None:
    seen: set[str] = set()
    for value in values:
        if value in seen:
            raise ValueError(f"{where}: {what} {value} is there twice")
        seen.add(value)


def check_names_once(given: tuple[ServedLinks, ...]) -> tuple[ServedLinks, ...]:
    """The same; each region or system has its links in one place.

    Raises:
        ValueError: a name is there twice.
    """
    _once("links", "name", (each.name for each in given))
    return given
