"""A test of a Java program: a system with its queues, the program, and its results.

``Orders.java`` communicates with an IBM i through IBM's Toolbox. Here that system is simulated: each test gets a new
system, seeds the queue, runs the unmodified program in a JVM and checks the results.

    pytest examples/java_orders     (needs the extra serve, a JDK and jt400.jar; TDQ_JT400 is its path)
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tdqsim.hosting import Engine
from tdqsim.ibmi import EscapeMessage, Job, Parm, System
from tdqsim.server.hostservers import Account, Accounts, HostServers

JAR = Path(os.environ.get("TDQ_JT400", "/usr/share/java/jt400.jar"))
PRICES = {"LAMP": Decimal("12.50"), "CHAIR": Decimal("99.00")}
SERVICES = {"7": "as-signon", "3": "as-dtaq", "2": "as-rmtcmd"}  # AS400.SIGNON, DATAQUEUE and COMMAND

pytestmark = pytest.mark.skipif(
    not JAR.exists() or shutil.which("javac") is None, reason="needs a JDK and jt400.jar (TDQ_JT400 says where)"
)


def price(job: Job, item: str) -> Decimal:
    """The program PRICE, which the real system has in RPG."""
    if item not in PRICES:
        raise EscapeMessage(job.message("CPF9801", item, "PRICES", "FILE"))
    return PRICES[item]


def furnish(system: System) -> None:
    """Create the objects of the real system: a library, its queues, a program, a user."""
    system.crtusrprf("SHOPAPP")
    with system.job(user="QSECOFR") as job:
        job.command("CRTLIB SHOP AUT(*CHANGE)")
        job.command("CRTDTAQ SHOP/ORDERS MAXLEN(16)")
        job.command("CRTDTAQ SHOP/CONFIRMED MAXLEN(20) SEQ(*KEYED) KEYLEN(6)")
    system.register_program("SHOP/PRICE", price, [Parm("item", "CHAR(10)"), Parm("price", "PACKED(7:2)", use="out")])


class Shop:
    """The simulated system with its host servers."""

    def __init__(self, engine: Engine, loop: asyncio.AbstractEventLoop) -> None:
        self._engine = engine
        self._loop = loop
        self.system = engine.make(System, "SHOPSYS")
        self.do(lambda: furnish(self.system))
        account = Account("SHOPAPP")
        account.set_password("apples1")
        self.servers = HostServers(engine, self.system, Accounts([account]))
        self.later(self.servers.start())

    def do(self, call: Any) -> Any:
        """Run a call in the engine's thread."""
        return self._engine.submit(call).result(300)

    def later(self, work: Any) -> Any:
        """Run a call in the event loop of the servers."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(300)

    def seed(self, *orders: str) -> None:
        """Put orders on the queue."""

        def put() -> None:
            with self.system.job("SEED", user="QSECOFR") as job:
                for order in orders:
                    job.qsnddtaq("SHOP/ORDERS", data=job.page.encode(order))

        self.do(put)

    def confirmed(self) -> dict[str, str]:
        """The answers by order number."""

        def look() -> dict[str, str]:
            with self.system.job("LOOK", user="QSECOFR") as job:
                rows = job.qsys2.data_queue_entries("SHOP/CONFIRMED")
                return {job.page.decode(row.key_data): row.message_data for row in rows}

        found: dict[str, str] = self.do(look)
        return found

    def run(self, classes: Path) -> None:
        """Run the program under test until it ends."""
        ports = [f"{number}={self.servers.ports[service]}" for number, service in SERVICES.items()]
        command = ["java", "-cp", f"{JAR}:{classes}", "Orders", "127.0.0.1", "SHOPAPP", "apples1", *ports]
        subprocess.run(command, check=True, timeout=300)


@pytest.fixture(scope="session")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The compiled program."""
    folder = tmp_path_factory.mktemp("classes")
    source = Path(__file__).with_name("Orders.java")
    subprocess.run(["javac", "-cp", str(JAR), "-d", str(folder), str(source)], check=True)
    return folder


@pytest.fixture
def shop() -> Iterator[Shop]:
    """A new system for the test."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    with Engine() as engine:
        made = Shop(engine, loop)
        yield made
        made.later(made.servers.stop())
    loop.call_soon_threadsafe(loop.stop)
    thread.join(300)
    loop.close()


def test_every_order_is_confirmed_with_its_price(shop: Shop, classes: Path) -> None:
    shop.seed("000001LAMP", "000002CHAIR")
    shop.run(classes)
    assert shop.confirmed() == {"000001": "12.50", "000002": "99.00"}


def test_an_unknown_item_is_refused_and_the_other_orders_are_processed(shop: Shop, classes: Path) -> None:
    shop.seed("000001SPACESHIP", "000002LAMP")
    shop.run(classes)
    assert shop.confirmed() == {"000001": "REFUSED CPF9801", "000002": "12.50"}
