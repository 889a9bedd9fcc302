"""How much the host servers take, and the levels that they announce: at the edge, and one beyond."""

from __future__ import annotations

import asyncio
import gc
import logging
import socket
import weakref
from contextlib import suppress

import pytest

from tdqsim.server.connections import Connections
from tdqsim.server.hostservers import PasswordLevel, SignOnCode, block, listener, refused_password
from tdqsim.server.hostservers.accounts import BOUNDS
from tdqsim.server.hostservers.log_limit import LogLimit
from tests.rules import rule
from tests.server.hostservers.wire import CLIENT, NAME, RECEIVE_FOR_EVER, eventually, frame, send

BEFORE, AFTER = 4096, 4 * 1024 * 1024
PARAMETERS = 32 * 1024 * 1024


def entry(length):
    """A frame of so many bytes in all: an entry for a queue."""
    more = length - len(frame(0xE007, 5, NAME + b"\xf0\xf1" + block(0x5001, b"")))
    return frame(0xE007, 5, NAME + b"\xf0\xf1" + block(0x5001, bytes(more)), template=22)


@pytest.mark.parametrize(("signed_on", "most"), [(False, BEFORE), (True, AFTER)])
def test_a_frame_is_as_long_as_this_at_most(served, queue, connect, signed_on, most):
    for length in (most, most + 1):
        client = connect(served, "as-dtaq", 0xE007)
        if signed_on:
            assert client.sign_on() == 0
        answer = None
        with suppress(ConnectionError):
            client.socket.sendall(entry(length))
            answer = client.answer()
        assert (answer is not None) is (length == most)
        if answer is not None:  # refused, perhaps; the connection goes on
            assert client.ask(0x7FFE).request == 0xFFFE


def test_the_parameters_of_a_call_take_so_much_at_most(served, connect):
    client = connect(served, "as-rmtcmd", 0xE008)
    assert client.sign_on() == 0
    program = "NONE      QGPL      ".encode("cp037") + b"\0\0\2"

    def out(length):
        return block(0x1103, length.to_bytes(4, "big") + (12).to_bytes(2, "big"))

    for length, refused in ((PARAMETERS // 2, False), (PARAMETERS // 2 + 1, True)):
        answer = client.ask(0x1003, program + out(PARAMETERS // 2) + out(length))
        assert (answer.fixed(20, 2).hex().upper() == rule("RMTCMD-MAXIMUM").message) is refused


def test_a_new_password_has_128_characters_at_most(served):
    served.system.values["QPWDMAXLEN"] = 128
    for length, code in ((128, SignOnCode.GOOD), (129, SignOnCode.NEW_PASSWORD_TOO_LONG)):
        assert refused_password(served.system, PasswordLevel.SHA1, "p" * length) is code


def test_the_levels_that_the_servers_announce(served, connect):
    """Clients send commands in Unicode from level 10 of the command server on, and ask for messages from level 5 of the other."""
    sign_on = connect(served, "as-signon", 0xE009)
    answer = sign_on.ask(0x7003, block(0x1101, bytes(4)) + block(0x1102, b"\0\5") + block(0x1103, CLIENT))
    assert answer.blocks(24)[0x1102] == (5).to_bytes(2, "big")
    command = connect(served, "as-rmtcmd", 0xE008)
    assert command.sign_on() == 0
    assert command.ask(0x1001, bytes(14), template=14).number(34, 2) == 10


@pytest.mark.rule("MAPPER-SILENT")
def test_a_silent_connection_of_the_port_mapper_is_closed(serve, monkeypatch):
    assert str(BOUNDS["mapper_seconds"]) == rule("MAPPER-SILENT").message
    monkeypatch.setitem(BOUNDS, "mapper_seconds", 0)
    served = serve()
    at = ("127.0.0.1", served.ports["mapper"])
    with socket.create_connection(at, timeout=300) as silent, suppress(ConnectionResetError):
        assert silent.recv(1) == b""
    assert served.servers.connections == set()


def closed(client):
    """Whether the server closes the connection: waits until it does, or answers."""
    with suppress(ConnectionResetError):
        return client.answer() is None
    return True


def test_a_connection_without_a_sign_on_is_closed(serve, connect, monkeypatch):
    assert BOUNDS["sign_on_seconds"] == 60
    monkeypatch.setitem(BOUNDS, "sign_on_seconds", 0)
    served = serve()
    for service in ("as-signon", "as-dtaq", "as-rmtcmd", "as-database"):
        assert closed(connect(served, service, 0xE007))
    eventually(lambda: served.servers.connections == set())


def test_a_connection_with_a_user_outlives_the_time_for_a_sign_on(served, queue, connect):
    signed_on, silent = connect(served, "as-dtaq", 0xE007), connect(served, "as-dtaq", 0xE007)
    assert (signed_on.sign_on(), silent.ask(0x7FFE).request) == (0, 0xFFFE)
    now = served.loop.time
    served.loop.time = lambda: now() + 61
    served.loop.call_soon_threadsafe(lambda: None)  # to look at the clock
    assert closed(silent)
    assert signed_on.ask(5, send(b"a"), template=22).fixed(20, 2) == b"\xf0\x00"


def test_a_connection_beyond_the_most_is_closed_until_one_has_ended(served, queue, connect, monkeypatch):
    monkeypatch.setattr(Connections, "most", 2)
    first, _other = connect(served, "as-dtaq", 0xE007), connect(served, "as-signon", 0xE009)
    assert first.sign_on() == 0
    eventually(lambda: len(served.servers.connections) == 2)
    for service in ("as-dtaq", "as-signon", "mapper"):
        assert closed(connect(served, service, 0xE007))
    first.socket.close()
    eventually(lambda: len(served.servers.connections) == 1)
    assert connect(served, "as-dtaq", 0xE007).sign_on() == 0


def test_the_receive_behind_as_many_as_may_wait_begins_when_one_of_them_has_ended(served, queue, connect, monkeypatch):
    assert BOUNDS["waiting_receives"] == listener._MOST_ASIDE == 1000
    monkeypatch.setattr(listener, "_MOST_ASIDE", 2)
    one, other = connect(served, "as-dtaq", 0xE007), connect(served, "as-dtaq", 0xE007)
    assert (one.sign_on(), other.sign_on()) == (0, 0)
    for correlation in (1, 2, 3):
        one.send(2, RECEIVE_FOR_EVER, correlation=correlation, template=28)
    eventually(lambda: served.do(lambda: len(queue.waiters)) == 2)
    other.ask(1, NAME, template=20)  # the server has had the time to begin the third one too
    assert served.do(lambda: len(queue.waiters)) == 2
    for correlation, entry in enumerate((b"a", b"b", b"c"), 1):
        other.ask(5, send(entry), template=22)
        assert one.answer().correlation == correlation


def test_a_client_that_sends_on_while_a_receive_waits_is_cut_off_and_takes_nothing(served, queue, connect, monkeypatch):
    assert BOUNDS["waiting_bytes"] == 8 * 1024 * 1024
    monkeypatch.setattr(listener, "_MOST_ASIDE", 1)
    monkeypatch.setitem(BOUNDS, "waiting_bytes", 1000)
    one, other = connect(served, "as-dtaq", 0xE007), connect(served, "as-dtaq", 0xE007)
    assert (one.sign_on(), other.sign_on()) == (0, 0)
    one.send(2, RECEIVE_FOR_EVER, template=28)
    eventually(lambda: served.do(lambda: len(queue.waiters)) == 1)
    one.send(0x7FFE)
    other.ask(5, send(b"a"), template=22)
    assert [one.answer().request for _ in range(2)] == [0x8003, 0xFFFE]  # so much may wait
    one.send(2, RECEIVE_FOR_EVER, template=28)
    eventually(lambda: served.do(lambda: len(queue.waiters)) == 1)
    with suppress(ConnectionError):
        one.send(0x7FFE, bytes(1000))
    assert closed(one)
    eventually(lambda: served.do(lambda: len(queue.waiters)) == 0)
    other.ask(5, send(b"b"), template=22)
    assert served.do(lambda: queue.count) == 1


def test_a_client_that_reads_and_stops_again_at_once_is_read_no_further(served, queue, connect):
    client = connect(served, "as-dtaq", 0xE007)
    assert client.sign_on() == 0
    (connection,) = served.servers.connections

    async def is_read_after(*signs):
        for sign in signs:
            sign()
        for _ in range(2):
            await asyncio.sleep(0)  # what a sign leaves to be done follows in the next step of the loop
        return connection._transport.is_reading()

    stops, reads = connection.pause_writing, connection.resume_writing
    for signs, wanted in (((stops,), False), ((reads, stops), False), ((reads,), True)):
        assert asyncio.run_coroutine_threadsafe(is_read_after(*signs), served.loop).result(300) is wanted
    assert client.ask(0x7FFE).request == 0xFFFE


def test_a_name_of_no_service_is_refused_before_it_ends(served):
    for name in (b"as-nonesuch", b"as-dtaq" * 20):
        with socket.create_connection(("127.0.0.1", served.ports["mapper"]), timeout=300) as client:
            client.sendall(name)
            assert client.recv(5) == b"-\0\0\0\0"


@pytest.mark.rule("SIGNON-TEMPLATE", "DTAQ-TEMPLATE", "RMTCMD-TEMPLATE")
def test_a_template_beyond_the_frame_is_answered_and_the_connection_goes_on(served, connect, queue):
    def code(client, request, body, length):
        return client.ask(request, body, template=0xFFFF).fixed(20, length).hex().upper()

    seeds = block(0x1101, bytes(4)) + block(0x1102, b"\0\5") + block(0x1103, CLIENT)
    sign_on = connect(served, "as-signon", 0xE009)
    assert code(sign_on, 0x7003, seeds, 4) == rule("SIGNON-TEMPLATE").message
    assert sign_on.ask(0x7003, seeds).number(20, 4) == 0

    client = connect(served, "as-dtaq", 0xE007)
    assert code(client, 0x7001, CLIENT, 4) == rule("SIGNON-TEMPLATE").message
    assert client.sign_on() == 0
    assert code(client, 5, send(b"one"), 2) == rule("DTAQ-TEMPLATE").message
    assert client.ask(5, send(b"one"), template=22).fixed(20, 2) == b"\xf0\x00"

    command = connect(served, "as-rmtcmd", 0xE008)
    assert command.sign_on() == 0
    assert code(command, 0x1003, bytes(23), 2) == rule("RMTCMD-TEMPLATE").message
    assert command.ask(0x1001, bytes(14), template=14).request == 0x8001


def test_a_connection_that_has_ended_is_not_kept_until_the_time_for_a_sign_on_is_over(served, queue, connect):
    client = connect(served, "as-dtaq", 0xE007)
    assert client.sign_on() == 0
    (kept,) = map(weakref.ref, served.servers.connections)
    client.socket.sendall(frame(0xE007, 5, bytes(100_000))[:-1])
    client.socket.close()

    def released():
        gc.collect()
        return kept() is None

    eventually(released)


def test_of_many_warnings_of_a_minute_the_first_are_logged(caplog):
    now = 0.0
    limited = LogLimit(logging.getLogger("limited"), now=lambda: now)
    for number in range(25):
        limited.warning("no frame %d", number)
    assert len(caplog.messages) == 10
    now = 61.0
    limited.warning("another")
    assert caplog.messages[10:] == ["15 more warnings of this kind were not logged", "another"]
    now = 62.0
    for number in range(25):
        limited.warning("no frame %d", number)
    assert caplog.messages[12:] == [f"no frame {number}" for number in range(9)]
    now = 121.0  # a minute after the last minute began
    limited.warning("the next")
    assert caplog.messages[21:] == ["16 more warnings of this kind were not logged", "the next"]
