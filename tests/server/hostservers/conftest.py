from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tdqsim.core.engine import Engine
from tdqsim.definitions.machine import Machine
from tdqsim.ibmi import System
from tdqsim.server.connections import Connections
from tdqsim.server.hostservers import Account, Accounts, HostServers
from tests.server.hostservers.java import JAR, compile_java
from tests.server.hostservers.wire import Client

SERVICES = ("as-signon", "as-dtaq", "as-rmtcmd", "as-database")


class Served:
    """A system behind its host servers, the loop in a thread of its own."""

    def __init__(
        self, level: int = 3, tls: ssl.SSLContext | None = None, *, machine: Machine | None = None, ccsid: int = 37
    ) -> None:
        self.engine = Engine()
        self.engine.__enter__()
        self.system: System = self.engine.make(System, "SYS1", machine=machine, ccsid=ccsid)
        self.accounts = {user: Account(user) for user in ("ANNA", "BERT")}
        self.system.values["QPWDLVL"] = level
        self.do(self._fill)
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        self.connections = Connections()
        self.servers = HostServers(
            self.engine,
            self.system,
            Accounts(self.accounts.values()),
            mapper=0,
            tls=tls,
            ports=dict.fromkeys(SERVICES, 0),
            connections=self.connections,
        )
        asyncio.run_coroutine_threadsafe(self.servers.start(), self.loop).result(300)

    def _fill(self) -> None:
        for user, account in self.accounts.items():
            self.system.crtusrprf(user)
            account.set_password("Secret1pw")

    def do(self, call: Callable[[], Any]) -> Any:
        """Something done where the system lives."""
        return self.engine.submit(call).result(300)

    @property
    def ports(self) -> dict[str, int]:
        return self.servers.ports

    def stop(self) -> None:
        asyncio.run_coroutine_threadsafe(self.servers.stop(), self.loop).result(300)
        self.engine.__exit__(None, None, None)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(300)
        self.loop.close()


@pytest.fixture
def serve() -> Iterator[Callable[..., Served]]:
    made: list[Served] = []

    def make(level: int = 3, tls: ssl.SSLContext | None = None) -> Served:
        made.append(Served(level, tls))
        return made[-1]

    yield make
    for one in made:
        one.stop()


@pytest.fixture
def served(serve: Callable[..., Served]) -> Served:
    return serve()


@pytest.fixture
def connect() -> Iterator[Callable[..., Client]]:
    made: list[Client] = []

    def make(*args: Any) -> Client:
        made.append(Client(*args))
        return made[-1]

    yield make
    for one in made:
        one.socket.close()


@pytest.fixture
def queue(served: Served) -> Any:
    def make() -> Any:
        with served.system.job(user="QSECOFR") as job:
            return job.crtdtaq("QGPL/Q", maxlen=10, aut="*ALL")

    return served.do(make)


@pytest.fixture(scope="session")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All programs that the toolbox of the distributions compiles, compiled at once."""
    target = tmp_path_factory.mktemp("classes")
    compile_java(JAR, target, "Toolbox", "Clients", "Queues", "Programs", "Pools")
    return target
