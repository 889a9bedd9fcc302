from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tdqsim.core.engine import Engine
from tdqsim.server.links import Identity, Links
from tests.server.links.authority import Authority


class Side:
    """One side of a link in this process: an engine, a region or system of it, and its links, on a loop of its own."""

    def __init__(self, identity: Identity, port: int | None, watch: Any = None) -> None:
        self.engine = Engine()
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        self.links = Links(self.engine, identity, port=port, watch=watch)

    def do(self, call: Callable[[], Any]) -> Any:
        return self.engine.submit(call).result(300)

    def start(self) -> None:
        self.later(self.links.start())

    def later(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(300)

    def stop(self) -> None:
        self.later(self.links.stop())
        self.engine.stop()
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(300)
        self.loop.close()


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def side(authority: Authority) -> Iterator[Callable[..., Side]]:
    made: list[Side] = []

    def make(name: str, port: int | None = None, watch: Any = None, identity: Identity | None = None) -> Side:
        made.append(Side(identity or authority.issue(name), port, watch))
        return made[-1]

    yield make
    for one in reversed(made):
        one.stop()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path
