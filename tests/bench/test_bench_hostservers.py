"""What a request to the data queue server costs beside a bare echo of the same frames, over one connection each."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.bench._ratio import compare
from tests.bench._table import hold
from tests.server.hostservers.conftest import Served
from tests.server.hostservers.wire import RECEIVE_NOW, Client, send

pytestmark = pytest.mark.bench


class _Echo(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        self.transport.write(data)


class _Ports:
    """Where the echo is, as clients ask for it."""

    def __init__(self, port: int) -> None:
        self.ports = {"echo": port}


@contextmanager
def connections() -> Iterator[tuple[Client, Client]]:
    """One to an echo and one to the data queue server, both in the loop of the server."""
    served = Served()
    served.do(lambda: served.system.job(user="QSECOFR").crtdtaq("QGPL/Q", maxlen=10, aut="*ALL"))
    listening = asyncio.run_coroutine_threadsafe(served.loop.create_server(_Echo, "127.0.0.1", 0), served.loop)
    echo = listening.result(120)
    bare, client = Client(_Ports(echo.sockets[0].getsockname()[1]), "echo", 0xE007), Client(served, "as-dtaq", 0xE007)
    assert client.sign_on() == 0
    yield bare, client
    for one in (bare, client):
        one.socket.close()
    served.loop.call_soon_threadsafe(echo.close)
    served.stop()


def pairs(client: Client):
    def batch(n):
        for _ in range(n):
            client.ask(5, send(b"x" * 10), template=22)
            client.ask(2, RECEIVE_NOW, template=28)

    return batch


def test_write_and_read_beside_a_bare_echo():
    """At least 0.4 of its rate: a pair takes no more than 2.5 of its, by the time of the processor in all threads."""
    with connections() as (bare, client):
        cost = compare({"pair": pairs(client)}, n=200, rounds=21, reference=pairs(bare), reference_n=200, cpu=True)
        cost = cost["pair"]
    print(f"\n  {1 / cost.ratio:.2f} of the rate of an echo")
    hold(2.5, cost.ratio, "host servers: write and read (x an echo of the frames)")
