"""The host servers of the systems that a server serves."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any

from tdqsim.errors import TdqError
from tdqsim.server.hostservers.face import HostServers
from tdqsim.server.hostservers.passwords import Account, Level

if TYPE_CHECKING:
    from tdqsim.server.host import Host
    from tdqsim.server.servefile import ServeFile
    from tdqsim.server.tls import Certificate
    from tdqsim.server.users import Users

__all__ = ["host_servers"]


@asynccontextmanager
async def host_servers(
    host: Host, users: Users | None, config: ServeFile, certificate: Certificate | None
) -> AsyncIterator[dict[str, dict[str, int]]]:
    """Run them; gives the ports by system and service.

    Raises:
        TdqError: a port cannot be had, or ports are named where there are several systems.
    """
    given = config.faces.ibmi if isinstance(config.faces.ibmi, dict) else {}
    if given and len(host.systems) > 1:
        raise TdqError("faces: ibmi: ports can be named where there is one system; yes gives each free ones")
    ports: dict[str, int] = {str(name): port for name, port in given.items() if name != "mapper"}
    mapper = next((port for name, port in given.items() if name == "mapper"), None)
    found: dict[str, dict[str, int]] = {}
    async with AsyncExitStack() as cleanup:
        for name, system in host.systems.items():
            context: Any = None if certificate is None else certificate.context()
            servers = HostServers(
                host.engine, system, _accounts(users), address=config.address, ports=ports, mapper=mapper, tls=context
            )
            try:
                await servers.start()
            except OSError as error:
                raise TdqError(f"{config.address}: a port of {name} cannot be listened to: {error.strerror}") from error
            cleanup.push_async_callback(servers.stop)
            found[name] = dict(servers.ports)
        yield found


def _accounts(users: Users | None) -> dict[str, Account]:
    known = () if users is None else tuple(users)
    levels = {int(level): level for level in Level}
    return {
        user.id: Account(user.id, {levels[at]: kept for at, kept in user.ibmi.items()}, disabled=user.disabled)
        for user in known
    }
