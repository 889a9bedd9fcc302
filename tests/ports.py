"""Ports of this machine for servers that a test starts, or starts again, at a port that is known before."""

from __future__ import annotations

import random
import socket
from contextlib import suppress


def free_ports(count: int) -> list[int]:
    """So many at which nobody listens.

    They are below those that Linux gives to connections and to listeners at port 0: until the server listens, and while
    it is started again, neither another test nor a client of this one gets one of them.
    """
    ports: set[int] = set()
    draw = random.SystemRandom()
    while len(ports) < count:
        port = draw.randrange(10_000, 32_000)
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            ports.add(port)
    return list(ports)
