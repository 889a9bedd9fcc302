"""The ``links:`` of ``serve.yaml``: the links to regions and systems of other processes.

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

Each entry is a region or system that is served here, with the certificate that proves its name. This side connects to
those with ``to``, and waits on ``port`` for the others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from ipaddress import ip_address
from typing import Annotated, Final, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from tdqsim.errors import WrongValue

_TO: Final = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]{1,253})):([0-9]{1,5})", re.ASCII)
_HIGHEST_PORT: Final = 65535


def dialled(to: str) -> tuple[str, int] | None:
    """Host and port of ``host:port`` or ``[IPv6 address]:port``; None for an empty text.

    Raises:
        ValueError: it has neither form.
    """
    if not to:
        return None
    match = _TO.fullmatch(to)
    if match is None or not 1 <= int(match[3]) <= _HIGHEST_PORT:
        raise WrongValue("must be host:port or [IPv6 address]:port, with a port from 1 to 65535")
    if match[1]:
        _check_ip(match[1])
    return match[1] or match[2], int(match[3])


def _check_to(value: str) -> str:
    dialled(value)
    return value


def _check_ip(value: str) -> str:
    try:
        return str(ip_address(value)) if value else value
    except ValueError:
        raise WrongValue("must be an IP address, such as 127.0.0.1") from None


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
        sysid: its SYSID in the region here: 1 to 4 characters, as in SYSID and REMOTESYSTEM.
        applid: its APPLID, the common name of its certificate.
        to: host and port on which it waits, such as ``10.0.0.2:8489``; without it, it connects to this side.
    """

    sysid: _SYSID
    applid: _NAME
    to: _ADDRESS = ""


class LinkedSystem(_Strict):
    """A system of another process: the target of DDM data queues here, or one whose DDM queues have their target here.

    Attributes:
        name: its name, the common name of its certificate.
        rmtlocname: RMTLOCNAME or RDB of the DDM data queues here that refer to it; given together with ``to``.
        to: host and port on which it waits; without it, it connects to this side, which trusts its user ids.
    """

    name: _NAME
    rmtlocname: _LOCATION = ""
    to: _ADDRESS = ""

    @model_validator(mode="after")
    def _together(self) -> Self:
        if bool(self.rmtlocname) != bool(self.to):
            raise WrongValue(f"{self.name}: give rmtlocname and 'to' together, or neither if it connects to this side")
        return self


class ServedLinks(_Strict):
    """The links of one region or system that is served here.

    Attributes:
        name: the APPLID of the region or the name of the system, the common name of its certificate.
        certificate: its certificate, a PEM file.
        key: the private key, a PEM file that no other user can read.
        authority: the certificates of the trusted authorities, a PEM file.
        address: the address on which to wait for the others; default: that of the other listeners.
        port: the port; 0 for any free port. Required if this side waits for a connection, and only then.
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
            raise WrongValue(f"{self.name}: give regions or systems: a region links to regions, a system to systems")
        _once(self.name, "sysid", (each.sysid for each in self.regions))
        _once(self.name, "applid", (each.applid for each in self.regions))
        _once(self.name, "rmtlocname", (each.rmtlocname for each in self.systems if each.to))
        _once(self.name, "name", (each.name for each in self.systems if not each.to))
        if self.name in {each.applid for each in self.regions} | {each.name for each in self.systems}:
            raise WrongValue(f"{self.name}: it cannot be linked to itself")
        awaited = [
            *(each.applid for each in self.regions if not each.to),
            *(each.name for each in self.systems if not each.to),
        ]
        if awaited and self.port is None:
            raise WrongValue(f"{self.name}: needs a port, because {awaited[0]} has no 'to' and connects to this side")
        if not awaited and self.port is not None:
            raise WrongValue(f"{self.name}: port {self.port}: not used, because every link has 'to'")
        return self


def _once(where: str, what: str, values: Iterable[str]) -> None:
    names: set[str] = set()
    for value in values:
        if value in names:
            raise WrongValue(f"{where}: {what} {value} occurs twice")
        names.add(value)


def check_names_once(given: tuple[ServedLinks, ...]) -> tuple[ServedLinks, ...]:
    """Return the argument after checking that each region or system has only one entry.

    Raises:
        ValueError: a name occurs twice.
    """
    _once("links", "name", (each.name for each in given))
    return given
