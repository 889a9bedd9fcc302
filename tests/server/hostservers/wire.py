"""A client of a few lines, for tests of the wire."""

from __future__ import annotations

import socket
import time

from tdqsim.server.hostservers import FrameReader, PasswordLevel, block, substitute, token

CLIENT = bytes.fromhex("0000018B00000001")


def frame(server, request, body=b"", correlation=1, template=0, attributes=0):
    length = 20 + len(body)
    return (
        length.to_bytes(4, "big") + attributes.to_bytes(2, "big") + server.to_bytes(2, "big") + bytes(4)
        + correlation.to_bytes(4, "big") + template.to_bytes(2, "big") + request.to_bytes(2, "big") + body
    )  # fmt: skip


class Client:
    """A client of a few lines."""

    def __init__(self, served, service, server):
        self.socket = socket.create_connection(("127.0.0.1", served.ports[service]), timeout=300)
        self.server = server
        self.reader = FrameReader(1 << 24)

    def sign_on(self, user="ANNA", password="Secret1pw"):
        got = self.ask(0x7001, CLIENT, attributes=0x0300)
        made = substitute(PasswordLevel.SHA1, token(PasswordLevel.SHA1, user, password), user, CLIENT, got.fixed(24, 8))
        body = b"\x03\x01" + block(0x1105, made) + block(0x1104, user.ljust(10).encode("cp037"))
        return self.ask(0x7002, body, attributes=0x0200).number(20, 4)

    def send(self, request, body=b"", **more):
        self.socket.sendall(frame(self.server, request, body, **more))

    def ask(self, request, body=b"", **more):
        self.send(request, body, **more)
        return self.answer()

    def answer(self):
        while (one := self.reader.next()) is None:
            data = self.socket.recv(65536)
            if not data:
                return None
            self.reader.feed(data)
        return one


NAME = "Q         QGPL      ".encode("cp037")
RECEIVE_FOR_EVER = NAME + b"\xf0\0\0" + (-1).to_bytes(4, "big", signed=True) + b"\xf0"
RECEIVE_NOW = NAME + b"\xf0\0\0" + bytes(4) + b"\xf0"


def send(entry):
    return NAME + b"\xf0\xf1" + block(0x5001, entry)


def eventually(look):
    end = time.monotonic() + 300
    while time.monotonic() < end:
        if look():
            return
        time.sleep(0.005)  # the other side is in another thread, and the clock is real
    raise AssertionError("it never came")
