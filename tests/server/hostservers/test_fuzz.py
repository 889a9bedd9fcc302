"""Inputs that no client sends: each comes to answers or to an orderly end."""

from __future__ import annotations

import logging
import random
import time

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tdqsim.server.hostservers import block
from tests.server.hostservers.frames_check import check
from tests.server.hostservers.wire import NAME, RECEIVE_NOW, send


def called(name, *parameters, library="QSYS"):
    """The body of a program call: bytes are inputs, numbers the length of outputs."""
    made = f"{name:<10}{library:<10}".encode("cp037") + b"\4" + len(parameters).to_bytes(2, "big")
    for one in parameters:
        data, usage = (b"", 12) if isinstance(one, int) else (one, 13)
        length = one if isinstance(one, int) else len(one)
        made += block(0x1103, length.to_bytes(4, "big") + usage.to_bytes(2, "big") + data)
    return made


def e(text):
    return text.encode("cp037")


FOUR = (64).to_bytes(4, "big")
CALLS = [
    called("QUSRJOBI", 64, FOUR, e("JOBI0400"), e("*".ljust(26)), e(" " * 16)),
    called(
        "QMHRTVM",
        64,
        FOUR,
        e("RTVM0400"),
        e("CPF2105"),
        e("QCPFMSG   QSYS      "),
        b"x",
        b"\0\0\0\1",
        e("*YES".ljust(10)),
        e("*NO".ljust(10)),
        bytes(8),
    ),
    called("QWCRSVAL", 64, FOUR, b"\0\0\0\1", e("QCCSID    "), bytes(8)),
    called("QWCRTVCA", 46, b"\0\0\0\x2e", e("RTVC0100"), b"\0\0\0\1", b"\0\0\3\xf1", bytes(8)),
    called(
        "QGYOLJBL",
        64,
        FOUR,
        80,
        b"\0\0\0\5",
        e("*NEXT".ljust(10) + "*".ljust(26) + " " * 16)
        + bytes(4)
        + b"\0\0\0\x40" * 2
        + b"\0\0\0\x50\0\0\0\1\0\0\0\x54\0\0\0\0\0\0\1\x2e",
        b"\0\0\0\x54",
        bytes(8),
    ),
    called("QMHQRDQD", 120, b"\0\0\0\x78", e("RDQD0100"), e("Q         QGPL      ")),
    called(
        "QRCVDTAQ", e("K         "), e("QGPL      "), 3, 10, b"\0\0\x0f", e("GE"), b"\0\x3f", e("AAA"), b"\4\x4f", 44
    ),
    called("P", b"\0\0\x1f", e(" " * 9), library="QGPL"),
    called("S", b"\0\1\0\2\0\0\x1f" + b"\0\3" + e("abc     c"), library="QGPL"),
]
"""Programs of the system and registered ones."""
HEAD = bytes.fromhex("8F80000000000000000100010000000100000000")
"""What a request to the database server begins with: the parts of the reply, handles."""


def sql(text):
    raw = text.encode("utf-16-be")
    return HEAD + block(0x3831, (13488).to_bytes(2, "big") + len(raw).to_bytes(4, "big") + raw)


GOOD = {
    0x43: [
        (0, HEAD + block(0x380C, b"\0\1") + block(0x380F, b"\0\x25\0\6" + e("APPLIB"))),
        (1, HEAD + block(0x3813, b"\0\x25\0\2" + e("F") + b"\0\4" + e("QSYS") + e("L") + b"\0\6" + e("APPLIB"))),
        (2, sql("SELECT CURRENT SCHEMA FROM SYSIBM/SYSDUMMY1")), (3, HEAD), (2, sql("SET CURRENT SCHEMA ? ")),
        (4, HEAD + block(0x381F, bytes(22) + b"\0\3" + e("ABC".ljust(128)))), (5, sql("SET SCHEMA X")), (6, HEAD), (7, HEAD), (8, HEAD), (11, HEAD),
    ],
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
    0x45: [(2, body) for body in CALLS],
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
            before = 2 if first & 0x0F else 1  # seeds and start, or attributes
            assert check(bytes((first, number, len(body))) + body) == before + 1


def test_a_thousand_inputs(caplog):
    caplog.set_level(logging.ERROR)
    picked = random.Random(9)
    assert sum(check(inputs(picked)) for _ in range(1500)) > 1000
    assert not caplog.records


@given(st.binary(max_size=400))
@example(bytes.fromhex("570114" + "00" * 19 + "df"))  # a letter whose capital is in no page
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_bytes(data):
    check(data)


@pytest.mark.slow
def test_for_an_hour():
    """The inputs are other ones each time; one that fails is shown."""
    picked = random.Random()
    end = time.process_time() + 3600
    count = 0
    while time.process_time() < end:
        data = inputs(picked)
        try:
            check(data)
        except BaseException as error:
            error.add_note(f"input {count}: {data.hex()}")
            raise
        count += 1
    print(f"\n  {count:,} inputs")
