"""Run the Mapepire server of a served system."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from tdqsim.errors import UsageError
from tdqsim.server.errors import cannot_listen
from tdqsim.server.mapepire.listener import Mapepire

if TYPE_CHECKING:
    from tdqsim.server.connections import Connections
    from tdqsim.server.host import Host
    from tdqsim.server.servefile import ServeFile
    from tdqsim.server.tls import Certificate


@asynccontextmanager
async def mapepire(
    host: Host, config: ServeFile, certificate: Certificate | None, connections: Connections
) -> AsyncIterator[int]:
    """Run the server; yields its port.

    Raises:
        TdqError: the port cannot be used, there is not exactly one system, or there is no TLS.
    """
    if len(host.systems) != 1:
        raise UsageError(f"listeners: mapepire: one system can be served, and there are {len(host.systems)}")
    if certificate is None:
        raise UsageError("listeners: mapepire: its clients always use TLS; add `tls: generated`, or a certificate")
    accounts = host.accounts
    assert accounts is not None, "the host was made for IBM i clients"
    (system,) = host.systems.values()
    server = Mapepire(
        host.engine, system, accounts, address=config.address, port=config.listeners.mapepire or 0,
        tls=certificate.context(), connections=connections,
    )  # fmt: skip
    try:
        await server.start()
    except OSError as error:
        raise cannot_listen("Mapepire", config.address, config.listeners.mapepire, error) from error
    try:
        yield server.port
    finally:
        await server.stop()
