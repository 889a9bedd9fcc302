"""Many clients: a crowd that waits, a crowd that comes and goes, and what a request costs beside a bare echo."""

from __future__ import annotations

import asyncio
import gc
import threading
import time

import pytest

from tests.server.hostservers.wire import RECEIVE_FOR_EVER, RECEIVE_NOW, Client, eventually, send


@pytest.mark.slow
def test_five_hundred_wait_and_ten_thousand_come_and_go(served, queue, connect):
    waiting = [connect(served, "as-dtaq", 0xE007) for _ in range(500)]
    for client in waiting:
        assert client.sign_on() == 0
        client.send(2, RECEIVE_FOR_EVER, template=28)
    eventually(lambda: served.do(lambda: len(queue.waiters)) == 500)
    for number in range(10_000):
        client = Client(served, "as-dtaq", 0xE007)
        if number % 3:
            client.sign_on()
        client.socket.close()
    sender = connect(served, "as-dtaq", 0xE007)
    sender.sign_on("BERT")
    for number in range(500):
        sender.ask(5, send(b"%d" % number), template=22)
    assert sorted(int(client.answer().blocks(58)[0x5001]) for client in waiting) == list(range(500))
    for client in (*waiting, sender):
        client.socket.close()
    eventually(lambda: not served.servers.connections and not served.do(lambda: len(served.system.jobs)))
    gc.collect()
    assert served.do(lambda: len(served.system.directories)) == 0
    assert served.do(lambda: len(served.engine.dispatcher.strands)) <= 2


class _Echo(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        self.transport.write(data)


@pytest.mark.bench
def test_a_pair_beside_a_bare_echo_of_the_same_frames(served, queue, connect):
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    echo = asyncio.run_coroutine_threadsafe(loop.create_server(_Echo, "127.0.0.1", 0), loop).result(20)
    client = connect(served, "as-dtaq", 0xE007)
    assert client.sign_on() == 0
    bare = connect(served, "as-dtaq", 0xE007)
    bare.socket.close()
    bare.__init__(type("Echo", (), {"ports": {"echo": echo.sockets[0].getsockname()[1]}}), "echo", 0xE007)
    data = b"x" * 10

    def pairs(who, n):
        """Seconds of a pair: of the processor, in all threads of this process, and by the wall clock."""
        cpu, wall = time.process_time(), time.perf_counter()
        for _ in range(n):
            who.ask(5, send(data), template=22)
            who.ask(2, RECEIVE_NOW, template=28)
        return time.process_time() - cpu, time.perf_counter() - wall

    rounds = [(pairs(bare, 300), pairs(client, 300)) for _ in range(9)]
    ratio, by_wall = (sorted(echo[clock] / ours[clock] for echo, ours in rounds)[4] for clock in (0, 1))
    print(
        f"\n  write and read beside an echo: {ratio:.2f} of its rate (at least 0.25); by the wall clock {by_wall:.2f}"
    )
    loop.call_soon_threadsafe(echo.close)
    loop.call_soon_threadsafe(loop.stop)
    thread.join(20)
    loop.close()
    assert ratio >= 0.25
