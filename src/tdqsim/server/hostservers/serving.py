"""Run the host servers of the served systems."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from ssl import SSLContext
from typing import TYPE_CHECKING

from tdqsim.errors import UsageError
from tdqsim.server.errors import cannot_listen
from tdqsim.server.hostservers.listener import HostServers

if TYPE_CHECKING:
    from tdqsim.server.connections import Connections
    from tdqsim.server.host import Host
    from tdqsim.server.servefile import ServeFile
    from tdqsim.server.tls import Certificate


@asynccontextmanager
async def host_servers(
    host: Host, config: ServeFile, certificate: Certificate | None, connections: Connections
) -> AsyncIterator[dict[str, dict[str, int]]]:
    """Run the host servers; yields the ports by system and service.

    Raises:
        TdqError: a port cannot be used, or ports are named for several systems.
    """
    given = config.listeners.ibmi if isinstance(config.listeners.ibmi, dict) else {}
    if given and len(host.systems) > 1:
        raise UsageError("listeners: ibmi: ports can be named for one system only; for several, use yes for free ports")
    ports: dict[str, int] = {str(name): port for name, port in given.items() if name != "mapper"}
    mapper = next((port for name, port in given.items() if name == "mapper"), None)
    accounts = host.accounts
    assert accounts is not None, "the host was made for host servers"
    listening: dict[str, dict[str, int]] = {}
    async with AsyncExitStack() as cleanup:
        for name, system in host.systems.items():
            context: SSLContext | None = None if certificate is None else certificate.context()
            servers = HostServers(
                host.engine,
                system,
                accounts,
                address=config.address,
                ports=ports,
                mapper=mapper,
                tls=context,
                connections=connections,
            )
            try:
                await servers.start()
            except OSError as error:
                raise cannot_listen(f"a port of the host servers of {name}", config.address, None, error) from error
            cleanup.push_async_callback(servers.stop)
            listening[name] = dict(servers.ports)
        yield listening
