"""The protocol by hand: what crosses the wire, what ends a connection, and what becomes of entries nobody reads."""

from __future__ import annotations

import asyncio
import random
import select
import socket
import ssl
import struct
import threading

import pytest

from tdqsim.server.hostservers import (
    Frame,
    FrameError,
    FrameReader,
    PasswordLevel,
    SignOnCode,
    block,
    blocks,
    reply,
    substitute,
    token,
)
from tdqsim.server.hostservers.command import expanded
from tests.server.hostservers.certificates import certificate
from tests.server.hostservers.wire import CLIENT, NAME, RECEIVE_FOR_EVER, RECEIVE_NOW, Client, eventually, frame, send

SERVER = bytes.fromhex("1122334455667788")
# From the reference page: three toolbox versions agreed on levels 0 to 3.
SUBSTITUTES = {
    ("TESTER", "Secret1pw"): (
        "2A45542716659B95", "B5662E99EFFFF7ADD4E44AD40F7C2837D7CCAE47",
        ("3D212C8EC05D54A6AC5EDBB0B26C212C1D0A86E3F2E5CBDC5ABA2E13A14241F534686F9ACEDCA12DAFC167F336FB701F07CA6DD50ED4C94A"
         "EF1C7F130500F26A"),
    ),
    ("LONGUSER01", "A1B2C3D4E5"): (
        "34F8BC98F86AEE89", "7BA389E406C0702A53C58793082A2F8AC5F56EF7",
        ("F799799EFB25FC2EED20B87E6D5A47E7696AF566F2A840AC1E3B6043D69AD75941468508D9604DE6A25A473BCD657D4EBF3655C92D6E9F8F"
         "F9E39D7E2DB26671"),
    ),
    ("NUMPW", "12345"): (
        "3BF0545DE82275AF", "1CB686D1B3DE3C2316CEF28C5359034BBBE62DD9",
        ("4316BC8BF626E778B3BBA8902520025A61D5D4C325F2967B218876E66817D7D4F30B382CD02C5C936FAC29930BF95FEFB00AD09CF798F81F"
         "DE55B1CB6E6E0DC6"),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("who", "expected"), SUBSTITUTES.items())
def test_substitutes(who, expected):
    user, password = who
    for level, image in zip(PasswordLevel, expected, strict=True):
        made = substitute(level, token(level, user, password), user, CLIENT, SERVER)
        assert made.hex().upper() == image


def test_frames_come_in_any_pieces():
    whole = frame(0xE007, 5, b"abc", 7) + frame(0xE007, 6, b"")
    reader = FrameReader(10_000)
    found = []
    for byte in whole:
        reader.feed(bytes((byte,)))
        if (one := reader.next()) is not None:
            found.append((one.request, one.correlation, one.body))
    assert found == [(5, 7, b"abc"), (6, 1, b"")]
    answer = reply(Frame(0, 0xE007, 9, 8, 0, 5, b""), 0x8002, b"\xf0\x00")
    assert answer == bytes.fromhex("00000016 0000E007 00000009 00000008 0002 8002 F000")


@pytest.mark.parametrize("bad", ["FFFFFFFF0000E007", "000000130000E007", "00000014000000E7", "000F00000000E007"])
def test_lying_lengths_end_at_once(bad):
    reader = FrameReader(4096)
    reader.feed(bytes.fromhex(bad).ljust(20, b"\0"))
    with pytest.raises(FrameError):
        reader.next()
    for data in (b"\0\0\0\5\x50\1", b"\0\0\1\0\x50\1abc", b"\0\0\0"):
        with pytest.raises(FrameError):
            list(blocks(data))


def test_compression():
    assert expanded(b"a\x1b\x1bb\x1bxy\0\3c", 100) == b"a\x1bbxyxyxyc"
    for bad, most in ((b"\x1b", 9), (b"\x1bab\0", 9), (b"\x1b\0\0\xff\xff", 100), (b"abc", 2)):
        with pytest.raises(FrameError):
            expanded(bad, most)


def test_a_client_that_goes_away_while_it_waits_takes_nothing(served, queue, connect):
    waiting = connect(served, "as-dtaq", 0xE007)
    assert waiting.sign_on() == 0
    waiting.send(2, RECEIVE_FOR_EVER, template=28)
    eventually(lambda: served.do(lambda: len(queue.waiters)) == 1)
    waiting.socket.close()
    eventually(lambda: served.do(lambda: len(queue.waiters)) == 0)
    other = connect(served, "as-dtaq", 0xE007)
    assert other.sign_on() == 0
    assert other.ask(5, send(b"entry"), template=22).fixed(20, 2) == b"\xf0\x00"
    got = other.ask(2, RECEIVE_NOW, template=28, correlation=77)
    assert (got.request, got.correlation, got.blocks(58)[0x5001]) == (0x8003, 77, b"entry")
    eventually(lambda: served.do(lambda: len(served.system.jobs)) == 1)


def test_answers_do_not_wake_the_loop(served, queue, connect, monkeypatch):
    """A client that waits for each answer, while the engine has nothing else to do."""
    client = connect(served, "as-dtaq", 0xE007)
    assert client.sign_on() == 0
    client.ask(5, send(b"entry"), template=22)  # the first use of a job runs as a task, which wakes the loop
    eventually(lambda: served.engine.while_resting(lambda: True))
    woken, real = [], served.loop.call_soon_threadsafe
    monkeypatch.setattr(served.loop, "call_soon_threadsafe", lambda *given: woken.append(given) or real(*given))
    for _ in range(300):
        client.ask(2, RECEIVE_NOW, template=28)
        client.ask(5, send(b"entry"), template=22)
    assert woken == []


def test_many_waiting_clients_each_get_one(served, queue, connect):
    clients = [connect(served, "as-dtaq", 0xE007) for _ in range(20)]
    for client in clients:
        assert client.sign_on() == 0
        client.send(2, RECEIVE_FOR_EVER, template=28)
    sender = connect(served, "as-dtaq", 0xE007)
    assert sender.sign_on("BERT") == 0
    for number in range(20):
        sender.ask(5, send(b"%d" % number), template=22)
    found = [client.answer().blocks(58)[0x5001] for client in clients]
    assert sorted(map(int, found)) == list(range(20))


@pytest.mark.skipif(not hasattr(select, "POLLRDHUP"), reason="the system does not tell that the other side has closed")
@pytest.mark.parametrize(("reset", "remove"), [(False, b"\xf0"), (True, b"\xf0"), (False, b"\xf1")])
def test_clients_that_have_gone_while_they_waited_take_nothing_with_them(served, queue, connect, reset, remove):
    """Also where their entries come before the server has heard that they are gone; the order stays."""
    clients = [connect(served, "as-dtaq", 0xE007) for _ in range(3)]
    for client in clients:
        assert client.sign_on() == 0
        client.send(2, RECEIVE_FOR_EVER[:-1] + remove, template=28)  # or they peek
        eventually(lambda: served.do(lambda: len(queue.waiters)) == clients.index(client) + 1)  # noqa: B023  (at once)
    stopped, go_on = threading.Event(), threading.Event()
    served.loop.call_soon_threadsafe(lambda: (stopped.set(), go_on.wait(300)))
    assert stopped.wait(300)
    for client in clients:
        if reset:
            client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.socket.close()

    def fill():
        with served.system.job(user="QSECOFR") as job:
            for number in range(4):
                job.qsnddtaq("Q", "QGPL", b"%d" % number)

    served.do(fill)
    go_on.set()
    eventually(lambda: not served.servers.connections and not served.do(lambda: len(served.system.jobs)))
    reader = connect(served, "as-dtaq", 0xE007)
    assert reader.sign_on() == 0
    entries = [reader.ask(2, RECEIVE_NOW, template=28).blocks(58)[0x5001] for _ in range(4)]
    assert entries == [b"0", b"1", b"2", b"3"]
    assert reader.ask(2, RECEIVE_NOW, template=28).fixed(20, 2) == b"\xf0\x06"


@pytest.mark.skipif(not hasattr(select, "POLLRDHUP"), reason="the system does not tell that the other side has closed")
@pytest.mark.parametrize("secure", [False, True])
def test_a_client_that_closes_right_after_a_receive_without_a_wait_takes_nothing_with_it(serve, tmp_path, secure):
    """The server finds the request and the end of the connection at the same moment."""
    pem, key = certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem, key)
    served = serve(tls=context)

    def make():
        with served.system.job(user="QSECOFR") as job:
            job.crtdtaq("QGPL/Q", maxlen=10, aut="*ALL")

    served.do(make)
    reader, client = Client(served, "as-dtaq", 0xE007), Client(served, "as-dtaq-s" if secure else "as-dtaq", 0xE007)
    if secure:
        trusting = ssl.create_default_context(cafile=str(pem))
        trusting.check_hostname = False
        client.socket = trusting.wrap_socket(client.socket)
    for one in (reader, client):
        assert one.sign_on() == 0
        one.ask(2, RECEIVE_NOW, template=28)  # from now on the queue is known
    for entry in (b"1", b"2"):
        reader.ask(5, send(entry), template=22)
    stopped, go_on = threading.Event(), threading.Event()
    served.loop.call_soon_threadsafe(lambda: (stopped.set(), go_on.wait(300)))
    assert stopped.wait(300)
    client.send(2, RECEIVE_NOW, template=28)
    client.socket.close()
    go_on.set()
    eventually(lambda: len(served.servers.connections) == 1)  # this does not wake the engine
    eventually(lambda: served.do(lambda: len(served.system.jobs)) == 1)
    entries = [reader.ask(2, RECEIVE_NOW, template=28).blocks(58)[0x5001] for _ in range(2)]
    assert entries == [b"1", b"2"]
    reader.socket.close()


def test_requests_sent_in_one_piece_do_not_keep_those_of_other_clients_waiting(served, queue, connect):
    many, other = (connect(served, "as-dtaq", 0xE007) for _ in range(2))
    assert [client.sign_on() for client in (many, other)] == [0, 0]
    for client in (many, other):
        client.ask(2, RECEIVE_NOW, template=28)  # from now on the queue is known
    stopped, go_on = threading.Event(), threading.Event()
    served.loop.call_soon_threadsafe(lambda: (stopped.set(), go_on.wait(300)))
    assert stopped.wait(300)
    eventually(lambda: served.engine.while_resting(lambda: True))
    many.socket.sendall(frame(0xE007, 5, send(b"many"), template=22) * 500)
    other.send(5, send(b"other"), template=22)
    go_on.set()
    for _ in range(500):
        assert many.answer().fixed(20, 2) == b"\xf0\x00"
    assert other.answer().fixed(20, 2) == b"\xf0\x00"
    entries = [other.ask(2, RECEIVE_NOW, template=28).blocks(58)[0x5001] for _ in range(501)]
    assert entries.index(b"other") < 400


def test_a_receive_that_waits_when_the_servers_stop_is_no_task_that_had_to_be_ended(served, queue, connect):
    clients = [connect(served, "as-dtaq", 0xE007) for _ in range(3)]
    for client in clients:
        assert client.sign_on() == 0
        client.send(2, RECEIVE_FOR_EVER, template=28)
    eventually(lambda: served.do(lambda: len(queue.waiters)) == 3)

    async def stop_and_go():
        await served.servers.stop()
        served.loop.stop()  # as a process that ends: nothing more is done in the loop

    asyncio.run_coroutine_threadsafe(stop_and_go(), served.loop)
    served.thread.join(300)
    ended = served.engine.stop(300)
    served.thread = threading.Thread(target=served.loop.run_forever, daemon=True)
    served.thread.start()
    assert (ended.in_time, ended.unfinished) == (True, ())
    assert all(client.answer() is None for client in clients)


def test_nothing_is_served_before_a_sign_on(served, queue, connect):
    for server, service in ((0xE007, "as-dtaq"), (0xE008, "as-rmtcmd")):
        for request in (1, 2, 5, 0x1001, 0x1002):
            client = connect(served, service, server)
            refused = client.ask(request, RECEIVE_NOW)
            assert (refused.request, refused.number(20, 4)) == (0xF002, SignOnCode.REQUEST_ID_NOT_VALID)
        client = connect(served, service, server)
        assert client.sign_on("ANNA", "wrong") in (SignOnCode.PASSWORD_WRONG, SignOnCode.PASSWORD_WRONG_NEXT_DISABLES)
        assert client.ask(0x7FFE).request == 0xFFFE
        assert client.ask(1, NAME, template=20).number(20, 4) == SignOnCode.REQUEST_ID_NOT_VALID
    assert "NOBODY" not in served.system.profiles


def test_the_port_mapper(served):
    for service, known in (("as-dtaq", True), ("as-signon", True), ("as-database", True), ("as-file", False)):
        with socket.create_connection(("127.0.0.1", served.ports["mapper"]), timeout=300) as client:
            client.sendall(service.encode())
            got = client.recv(5)
        expected = b"+" + served.ports[service].to_bytes(4, "big") if known else b"-\0\0\0\0"
        assert got == expected


def test_whatever_is_sent_harms_nobody(served, queue, connect, caplog):
    picked = random.Random(4)
    good = [
        (1, NAME, 20), (2, RECEIVE_NOW, 28), (3, NAME + bytes(60), 80), (5, send(b"x"), 22), (6, NAME + b"\xf0", 21),
        (0x1001, bytes(14), 14), (0x1002, b"\0" + block(0x1101, b"\x40" * 9), 1), (0x1003, NAME + b"\0\0\1" + bytes(12), 23),
    ]  # fmt: skip
    for round_number in range(150):
        server, service = ((0xE007, "as-dtaq"), (0xE008, "as-rmtcmd"), (0xE009, "as-signon"))[round_number % 3]
        client = connect(served, service, server)
        if server != 0xE009 and round_number % 5:
            assert client.sign_on() == 0
        request, body, template = picked.choice(good)
        data = bytearray(frame(server, request, body, template=template))
        for _ in range(picked.randrange(1, 6)):
            data[picked.randrange(20, len(data)) if picked.random() < 0.8 else picked.randrange(len(data))] = (
                picked.randrange(256)
            )
        client.socket.sendall(bytes(data)[: picked.randrange(1, len(data) + 1) if picked.random() < 0.2 else None])
        client.socket.close()
    last = connect(served, "as-dtaq", 0xE007)
    assert last.sign_on() == 0
    assert last.ask(1, NAME, template=20).request == 0x8001
    eventually(lambda: served.do(lambda: len(served.system.jobs)) == 1)
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


def test_the_same_servers_over_tls(serve, tmp_path):
    pem, key = certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem, key)
    served = serve(tls=context)
    assert {"as-signon-s", "as-dtaq-s", "as-rmtcmd-s"} <= set(served.ports)
    client = Client(served, "as-dtaq-s", 0xE007)
    trusting = ssl.create_default_context(cafile=str(pem))
    trusting.check_hostname = False
    client.socket = trusting.wrap_socket(client.socket)
    assert client.sign_on() == 0
    assert client.ask(0, bytes(6), template=6).request == 0x8000
    client.socket.close()


def test_answers_keep_the_order_of_requests_sent_in_one_piece(served, queue, connect):
    client = connect(served, "as-dtaq", 0xE007)
    assert client.sign_on() == 0
    asked = [
        (5, send(b"x"), 22),
        (0x7FFE, b"", 0),
        (2, RECEIVE_NOW, 28),
        (1, NAME, 20),
        (2, RECEIVE_NOW, 28),
        (0, bytes(6), 6),
    ]
    answers = [0x8002, 0xFFFE, 0x8003, 0x8001, 0x8002, 0x8000]
    client.socket.sendall(b"".join(
        frame(0xE007, request, body, round_ * 6 + place, template)
        for round_ in range(50) for place, (request, body, template) in enumerate(asked)
    ))  # fmt: skip
    got = [client.answer() for _ in range(300)]
    assert [one.correlation for one in got] == list(range(300))
    assert [one.request for one in got] == answers * 50


@pytest.mark.parametrize("secure", [False, True])
def test_long_answers_to_a_client_that_reads_late(serve, connect, tmp_path, secure):
    """They do not fit into what the operating system holds, so that parts of them wait here."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate(tmp_path))
    served, count = serve(tls=context), 150

    def fill():
        with served.system.job(user="QSECOFR") as job:
            job.crtdtaq("QGPL/Q", maxlen=64512, aut="*ALL")
            for number in range(count):
                job.qsnddtaq("QGPL/Q", data=b"%08d" % number * 8000)

    served.do(fill)
    client = connect(served, "as-dtaq-s" if secure else "as-dtaq", 0xE007)
    if secure:
        blind = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        blind.check_hostname, blind.verify_mode = False, ssl.CERT_NONE
        client.socket = blind.wrap_socket(client.socket)
    assert client.sign_on() == 0
    client.socket.sendall(b"".join(frame(0xE007, 2, RECEIVE_NOW, number, 28) for number in range(count + 1)))
    for number in range(count):
        got = client.answer()
        assert (got.correlation, got.blocks(58)[0x5001]) == (number, b"%08d" % number * 8000)
    assert client.answer().fixed(20, 2) == b"\xf0\x06"


def test_clients_that_break_off_while_they_are_answered_do_no_harm(served, queue, connect):
    for round_ in range(40):
        client = Client(served, "as-dtaq", 0xE007)
        assert client.sign_on() == 0
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, bytes((1, 0, 0, 0, 0, 0, 0, 0)))  # RST at the end
        client.socket.sendall((frame(0xE007, 5, send(b"x"), 1, 22) + frame(0xE007, 2, RECEIVE_NOW, 2, 28)) * 200)
        for _ in range(round_):
            client.answer()
        client.socket.close()
    eventually(lambda: not served.servers.connections and not served.do(lambda: len(served.system.jobs)))
    last = connect(served, "as-dtaq", 0xE007)
    assert last.sign_on() == 0
    assert last.ask(6, NAME + b"\xf0", template=21).fixed(20, 2) == b"\xf0\x00"
    assert last.ask(2, RECEIVE_NOW, template=28).fixed(20, 2) == b"\xf0\x06"


@pytest.mark.parametrize(
    ("options", "kind", "key_length"),
    [({}, b"\xf0", 0), ({"seq": "*LIFO"}, b"\xf1", 0), ({"seq": "*KEYED", "keylen": 256}, b"\xf2", 256)],
    ids=["FIFO", "LIFO", "KEYED"],
)
def test_the_attributes_of_a_queue_are_described_to_a_client(served, connect, options, kind, key_length):
    def make() -> None:
        with served.system.job(user="QSECOFR") as job:
            job.crtdtaq("QGPL/Q", maxlen=10, text="Orders", aut="*ALL", **options)

    served.do(make)
    client = connect(served, "as-dtaq", 0xE007)
    assert client.sign_on() == 0
    answer = client.ask(1, NAME, template=20)
    length, saved, forced = (10).to_bytes(4, "big"), b"\xf0", b"\xf0"
    described = length + saved + kind + key_length.to_bytes(2, "big") + forced + "Orders".ljust(50).encode("cp037")
    assert answer.fixed(22, len(described)) == described
