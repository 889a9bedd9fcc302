"""Open the links of the served regions and systems according to ``serve.yaml``."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.x509.oid import NameOID

from tdqsim.errors import UsageError
from tdqsim.server import tls
from tdqsim.server.connections import Connections
from tdqsim.server.errors import cannot_listen
from tdqsim.server.linkfile import ServedLinks, dialled
from tdqsim.server.links.fault import LinkFault
from tdqsim.server.links.listener import Links
from tdqsim.server.links.opening import Identity

if TYPE_CHECKING:
    from tdqsim.server.host import Host


def check_links(given: Sequence[ServedLinks]) -> None:
    """Check the certificates of all links, before anything is created.

    Raises:
        TdqError: a file is missing or invalid, others can read a key, or a certificate has another name.
    """
    for each in given:
        identity = _identity(each)
        tls.certificate_of_user(identity.certificate, identity.key)
        identity.context(server=True)
        certificate = x509.load_pem_x509_certificate(identity.certificate.read_bytes())
        names = [str(part.value) for part in certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
        if [name.upper() for name in names] != [each.name]:
            raise UsageError(
                f"{each.certificate}: the certificate is of {', '.join(names) or 'an unknown name'}; "
                f"links of {each.name} need one with that common name"
            )


def _identity(given: ServedLinks) -> Identity:
    return Identity(Path(given.certificate), Path(given.key), Path(given.authority))


@asynccontextmanager
async def served_links(
    host: Host, given: Sequence[ServedLinks], address: str, connections: Connections
) -> AsyncIterator[dict[str, int]]:
    """Open the links; yields the ports on which others connect, by the name of region or system.

    At the end, open units of work of clients are backed out while the other sides can still be informed, then the links
    are closed.

    Raises:
        TdqError: a name is not served, a port cannot be used, or the fault in the environment is invalid.
    """
    ports: dict[str, int] = {}
    async with AsyncExitStack() as cleanup:
        for each in given:
            at = each.address or address
            links = Links(host.engine, _identity(each), address=at, port=each.port)
            connections.register(links.connections)
            fault = LinkFault.planned(each.name, links.cut)
            if fault is not None:
                links.watch(fault.watch)
            await asyncio.to_thread(_name, host, links, each)
            try:
                await links.start()
            except OSError as error:
                raise cannot_listen(f"links of {each.name}", at, each.port, error) from error
            cleanup.push_async_callback(links.stop)
            if links.port is not None:
                ports[each.name] = links.port
        if given:
            cleanup.push_async_callback(asyncio.to_thread, host.units.end_all)
        yield ports


def _name(host: Host, links: Links, given: ServedLinks) -> None:
    """Define the links of an entry."""
    if given.regions:
        region = host.regions.get(given.name)
        if region is None:
            raise UsageError(_not_served(given.name, "region", host.regions))
        for one in given.regions:
            links.join(region, one.sysid, one.applid, dialled(one.to))
        return
    system = host.systems.get(given.name)
    if system is None:
        raise UsageError(_not_served(given.name, "system", host.systems))
    for other in given.systems:
        to = dialled(other.to)
        if to is None:
            links.admit(system, other.name)
        else:
            links.reach(system, other.rmtlocname, other.name, to)


def _not_served(name: str, kind: str, there: Iterable[str]) -> str:
    return f"links: no {kind} {name} is served; there are {', '.join(there) or 'none'}"
