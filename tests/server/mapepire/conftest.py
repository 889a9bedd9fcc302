from __future__ import annotations

import asyncio
import base64
import json
import ssl
from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytest.importorskip("websockets", reason="needs tdqsim[serve]")

from websockets.asyncio.client import ClientConnection, connect

from tdqsim.server import tls
from tdqsim.server.hostservers import Accounts
from tdqsim.server.mapepire.listener import Mapepire
from tests.server.hostservers.conftest import Served


class Door(Served):
    """A system behind a Mapepire server."""

    def __init__(self, folder: Any) -> None:
        super().__init__()
        made = tls.generated_certificate(folder, "127.0.0.1")
        self.pem, context = made.certificate, made.context()
        self.door = Mapepire(
            self.engine, self.system, Accounts(self.accounts.values()), tls=context, connections=self.connections
        )
        asyncio.run_coroutine_threadsafe(self.door.start(), self.loop).result(300)

        def make() -> None:
            with self.system.job(user="QSECOFR") as job:
                job.crtdtaq("QGPL/Q", maxlen=100, aut="*ALL")
                job.crtdtaq("QGPL/K", maxlen=100, seq="*KEYED", keylen=3, aut="*ALL")

        self.do(make)

    def stop(self) -> None:
        asyncio.run_coroutine_threadsafe(self.door.stop(), self.loop).result(300)
        super().stop()


class Socket:
    """A client that sends and receives JSON, in a loop of its own that runs only while it is used.

    The client with threads will not do: its threads read and write one TLS connection at the same time, which the ssl
    module of Python 3.11 does not support.
    """

    def __init__(self, door: Door, user: str = "ANNA", password: str = "Secret1pw") -> None:
        given = base64.b64encode(f"{user}:{password}".encode()).decode()
        self._loop = asyncio.new_event_loop()
        self._number = 0
        try:
            self._socket: ClientConnection = self._run(self._opened(door, f"Basic {given}"))
        except BaseException:
            self._loop.close()
            raise

    async def _opened(self, door: Door, authorization: str) -> ClientConnection:
        self._opening = connect(
            f"wss://127.0.0.1:{door.door.port}/db/", ssl=ssl.create_default_context(cafile=str(door.pem)),
            compression=None, additional_headers={"Authorization": authorization}, ping_interval=None,
            open_timeout=300,
        )  # fmt: skip
        return await self._opening.__aenter__()

    def _run(self, work: Any) -> Any:
        return self._loop.run_until_complete(asyncio.wait_for(work, 300))

    def send_text(self, text: str) -> None:
        self._run(self._socket.send(text))

    def receive(self) -> Any:
        return self._run(self._socket.recv())

    def abort(self) -> None:
        """Go away without a word."""
        self._socket.transport.abort()
        self._run(self._socket.wait_closed())

    def close(self) -> None:
        self._run(self._socket.close())
        self._loop.close()

    def send(self, kind: str, **fields: Any) -> str:
        self._number += 1
        self.send_text(json.dumps({"id": f"r{self._number}", "type": kind, **fields}))
        return f"r{self._number}"

    def answer(self) -> Any:
        text = self.receive()
        assert isinstance(text, str)
        assert text.endswith("\n")
        return json.loads(text)

    def ask(self, kind: str, **fields: Any) -> Any:
        number = self.send(kind, **fields)
        answer = self.answer()
        assert answer["id"] == number
        return answer


@pytest.fixture
def door(tmp_path) -> Iterator[Door]:
    made = Door(tmp_path)
    yield made
    made.stop()


@pytest.fixture
def client(door: Door) -> Iterator[Callable[..., Socket]]:
    made: list[Socket] = []

    def make(*args: str, connected: bool = True, **fields: Any) -> Socket:
        made.append(Socket(door, *args))
        if connected:
            assert made[-1].ask("connect", **fields)["success"]
        return made[-1]

    yield make
    for one in made:
        one.close()
