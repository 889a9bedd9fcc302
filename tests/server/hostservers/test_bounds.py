"""How much the host servers take, and the levels that they announce: at the edge, and one beyond."""

from __future__ import annotations

from contextlib import suppress

import pytest

from tdqsim.server.hostservers.accounts import SignOnCode, refused_password
from tdqsim.server.hostservers.frames import block
from tdqsim.server.hostservers.passwords import PasswordLevel
from tests.rules import rule
from tests.server.hostservers.wire import CLIENT, NAME, frame

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
