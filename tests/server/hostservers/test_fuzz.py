"""Inputs that no client sends: each comes to answers or to an orderly end."""

from __future__ import annotations

import logging
import random
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tdqsim.server.hostservers.frames import block
from tests.server.hostservers.frames_check import check
from tests.server.hostservers.wire import NAME, RECEIVE_NOW, send

GOOD = {
    0x41: [
        (1, NAME), (2, RECEIVE_NOW), (3, NAME + bytes.fromhex("0000000AF4F0F00000F0") + b"\x40" * 50), (4, NAME), (5, send(b"x")),
        (6, NAME + b"\xf0"),
    ],
    0x42: [
        (0, bytes(14)), (1, b"\4" + block(0x1104, (1200).to_bytes(4, "big") + "CRTDTAQ X 5".encode("utf-16-be"))),
        (1, b"\0" + block(0x1101, "CALL QGPL/P PARM('a' X'00001F' (5 (*DEC 5 0)))".encode("cp037"))),
        (1, b"\4" + block(0x1101, "SBMJOB CMD(CALL QGPL/P) JOB(X)".encode("cp037"))),
        (2, "P         QGPL      ".encode("cp037") + b"\4\0\2" + block(0x1103, b"\0\0\0\3\0\x21\0\0\x1f") + block(0x1103, b"\0\0\0\x09\0\x21")),
    ],
    0x40: [(1, b"\3" + block(0x1105, bytes(20)) + block(0x1104, "ANNA      ".encode("cp037")) + block(0x1128, b"\1")),
           (2, b"\3" + block(0x1105, bytes(20)) + block(0x1104, bytes(10)) + block(0x110C, bytes(20)) + block(0x110D, bytes(20)))],
}  # fmt: skip
"""Requests that are served, by the first byte of the input: number of the request, body."""


def inputs(picked: random.Random) -> bytes:
    """Some good requests with some bytes changed, left out or put in."""
    first = picked.choice(tuple(GOOD))
    data = bytearray()
    for _ in range(picked.randrange(1, 5)):
        number, body = picked.choice(GOOD[first])
        data += bytes((number, min(len(body), 255))) + body[:255]
    for _ in range(picked.randrange(6)):
        at = picked.randrange(len(data))
        kind = picked.randrange(4)
        if kind == 0:
            data[at] = picked.randrange(256)
        elif kind == 1:
            del data[at : at + picked.randrange(4)]
        elif kind == 2:
            data[at:at] = picked.randbytes(picked.randrange(4))
        else:
            data[at : at + 4] = picked.choice((b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\x80\0\0\0", bytes(4)))
        if not data:
            break
    return bytes((first,)) + bytes(data)


def test_good_requests_are_answered():
    for first, requests in GOOD.items():
        for number, body in requests:
            assert check(bytes((first, number, len(body))) + body) >= 1


def test_a_thousand_inputs(caplog):
    caplog.set_level(logging.ERROR)
    picked = random.Random(9)
    assert sum(check(inputs(picked)) for _ in range(1500)) > 1000
    assert not caplog.records


@given(st.binary(max_size=400))
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_bytes(data):
    check(data)


@pytest.mark.slow
def test_for_an_hour():
    """The inputs are other ones each time; one that fails is shown."""
    picked = random.Random()
    end = time.monotonic() + 3600
    count = 0
    while time.monotonic() < end:
        data = inputs(picked)
        try:
            check(data)
        except BaseException as error:
            error.add_note(f"input {count}: {data.hex()}")
            raise
        count += 1
    print(f"\n  {count:,} inputs")
