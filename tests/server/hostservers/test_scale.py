"""Many clients: a crowd that waits, and a crowd that comes and goes."""

from __future__ import annotations

import gc

import pytest

from tests.server.hostservers.wire import RECEIVE_FOR_EVER, Client, eventually, send


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
    assert served.do(lambda: len(served.engine.dispatcher.fibers)) <= 2
