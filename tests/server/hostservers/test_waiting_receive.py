"""Receives that wait on a connection, and the other requests of the same connection."""

from __future__ import annotations

import threading

from tests.server.hostservers.wire import NAME, RECEIVE_FOR_EVER, RECEIVE_NOW, eventually, frame, send


def signed_on(served, connect):
    client = connect(served, "as-dtaq", 0xE007)
    assert client.sign_on() == 0
    return client


def received(answer):
    return answer.blocks(20 + answer.template)[0x5001]


def test_send_of_the_same_connection_ends_a_receive_that_waits(served, connect, queue):
    client = signed_on(served, connect)
    client.send(2, RECEIVE_FOR_EVER, correlation=7, template=28)
    client.send(5, send(b"hello"), correlation=8, template=22)
    answers = {}
    for _ in range(2):
        answer = client.answer()
        answers[answer.correlation] = answer
    assert received(answers[7]) == b"hello"
    assert answers[8].request == 0x8002
    assert answers[8].fixed(20, 2) == b"\xf0\x00"


def test_attributes_are_answered_while_a_peek_waits(served, connect, queue):
    client = signed_on(served, connect)
    peek = NAME + b"\xf0\0\0" + (-1).to_bytes(4, "big", signed=True) + b"\xf1"
    client.send(2, peek, correlation=1, template=28)
    assert client.ask(1, NAME, correlation=2, template=20).correlation == 2
    client.send(5, send(b"x"), correlation=3, template=22)
    assert {client.answer().correlation, client.answer().correlation} == {1, 3}


def test_receives_of_one_connection_are_served_in_the_order_in_which_they_came(served, connect, queue):
    client, other = signed_on(served, connect), signed_on(served, connect)
    for correlation in (1, 2, 3):
        client.send(2, RECEIVE_FOR_EVER, correlation=correlation, template=28)
    client.ask(1, NAME, correlation=9, template=20)
    for entry in (b"a", b"b", b"c"):
        other.ask(5, send(entry), template=22)
    got = [client.answer() for _ in range(3)]
    assert {one.correlation: received(one) for one in got} == {1: b"a", 2: b"b", 3: b"c"}


def test_receive_without_a_wait_does_not_pass_one_that_came_before(served, connect, queue):
    client, other = signed_on(served, connect), signed_on(served, connect)
    client.ask(5, send(b"only"), template=22)
    busy = threading.Event()
    working = served.engine.submit(busy.wait)  # so that neither has begun when the server has read both
    client.socket.sendall(
        frame(0xE007, 2, RECEIVE_FOR_EVER, correlation=1, template=28)
        + frame(0xE007, 2, RECEIVE_NOW, correlation=2, template=28)
    )
    assert [other.ask(0x7FFE).request for _ in range(2)] == [0xFFFE, 0xFFFE]
    busy.set()
    assert working.result(300)
    got = {}
    for _ in range(2):
        answer = client.answer()
        got[answer.correlation] = answer
    assert received(got[1]) == b"only"
    assert got[2].fixed(20, 2) == b"\xf0\x06"


def test_client_that_goes_away_with_receives_that_wait_takes_no_entry_and_ends_its_job(served, connect, queue):
    client = signed_on(served, connect)
    for correlation in range(20):
        client.send(2, RECEIVE_FOR_EVER, correlation=correlation, template=28)
    client.ask(1, NAME, correlation=99, template=20)
    client.socket.close()
    eventually(lambda: not served.do(lambda: list(served.system.jobs)))
    other = signed_on(served, connect)
    for entry in (b"a", b"b"):
        other.ask(5, send(entry), template=22)
    assert [received(other.ask(2, RECEIVE_NOW, template=28)) for _ in range(2)] == [b"a", b"b"]
