"""Requests that cannot be taken: each is answered by its return code, and the connection goes on."""

from __future__ import annotations

import threading

import pytest

from tdqsim.server.hostservers import PasswordLevel, block, substitute, token
from tests.rules import rule
from tests.server.hostservers.wire import CLIENT, NAME, RECEIVE_NOW, frame, send

USER = block(0x1104, "ANNA      ".encode("cp037"))
SENT = block(0x1105, bytes(20))
SEEDS = block(0x1103, CLIENT)
TYPE, SECONDS = block(0x1116, b"\xf1"), block(0x1117, (60).to_bytes(4, "big"))


def code_of(answer, width):
    return answer.fixed(20, width).hex().upper()


STARTS = {
    "SIGNON-EXCHANGE": (0x7001, b"\1" * 7), "SIGNON-SEED": (0x7001, bytes(8)), "SIGNON-NO-SEED": (0x7002, b"\3\1" + SENT + USER),
    "SIGNON-REQUEST": (2, RECEIVE_NOW),
}  # fmt: skip
"""Before seeds are exchanged."""
SECONDS_STARTS = {
    "SIGNON-KIND": b"\x09\1" + SENT + USER, "SIGNON-USER-LENGTH": b"\3\1" + SENT + block(0x1104, b"\xc1"),
    "SIGNON-PASSWORD-LENGTH": b"\3\1" + block(0x1105, bytes(8)) + USER, "SIGNON-INDICATOR": b"\3\2" + SENT + USER,
    "SIGNON-START": b"\3\1" + USER, "SIGNON-TOKEN-GIVEN": b"\2\1" + block(0x1115, bytes(32)),
    "SIGNON-TICKET": b"\5\1" + block(0x1115, bytes(99)),
}  # fmt: skip
"""Bodies of 7002."""


@pytest.mark.rule(*STARTS, *SECONDS_STARTS, "SIGNON-SERVER")
def test_starting_a_server(served, connect):
    for service, server in (("as-dtaq", 0xE007), ("as-rmtcmd", 0xE008)):
        client = connect(served, service, server)
        found = {}
        for rule_id, (request, body) in STARTS.items():
            found[rule_id] = client.ask(request, body, correlation=7)
            assert found[rule_id].request == (0xF001 if request == 0x7001 else 0xF002)
        client.socket.sendall(frame(0xE00B, 0x7001, CLIENT, 7))
        found["SIGNON-SERVER"] = client.answer()
        assert client.ask(0x7001, CLIENT).number(20, 4) == 0
        for rule_id, body in SECONDS_STARTS.items():
            found[rule_id] = client.ask(0x7002, body, correlation=7)
            assert found[rule_id].request == 0xF002
        for rule_id, answer in found.items():
            assert (answer.correlation, code_of(answer, 4)) == (7, rule(rule_id).message), rule_id
        cut_off = client.ask(0x7002, b"\3\1\0\0\0\x09")
        assert code_of(cut_off, 4) == rule("SIGNON-START").message
        assert client.sign_on() == 0
    assert served.accounts["ANNA"].wrong == 0


SIGN_ON = {
    "SIGNON-EXCHANGE": (0x7003, block(0x1103, b"\1")), "SIGNON-SEED": (0x7003, block(0x1103, b"\xff" * 8)),
    "SIGNON-INDICATOR": (0x7003, SEEDS + block(0x1101, b"")), "SIGNON-START": (0x7003, SEEDS + block(0x1102, b"")),
    "SIGNON-NO-SEED": (0x7004, b"\3" + SENT + USER), "SIGNON-REQUEST": (0x70FF, b""),
}  # fmt: skip
SECONDS_SIGN_ON = {
    "SIGNON-KIND": (0x7004, b"\x08" + SENT + USER), "SIGNON-USER-LENGTH": (0x7004, b"\3" + SENT + block(0x1104, bytes(11))),
    "SIGNON-PASSWORD-LENGTH": (0x7004, b"\1" + SENT + USER), "SIGNON-REQUEST-NOT-VALID": (0x7004, b"\3" + USER),
    "SIGNON-CHANGE": (0x7005, b"\3" + SENT + USER + block(0x110C, bytes(20))),
    "SIGNON-TOKEN-GIVEN": (0x7004, b"\6" + block(0x1115, bytes(32))), "SIGNON-TICKET": (0x7004, b"\5" + block(0x1115, bytes(32))),
    "SIGNON-TOKEN-REQUEST": (0x7007, b"\3\1" + TYPE + SECONDS + USER),
    "SIGNON-TOKEN-KIND": (0x7007, b"\3\2" + TYPE + SECONDS + SENT + USER),
    "SIGNON-TOKEN-SECONDS": (0x7007, b"\3\1" + TYPE + block(0x1117, (3601).to_bytes(4, "big")) + SENT + USER),
    "SIGNON-TOKEN-TYPE": (0x7007, b"\3\1" + block(0x1116, b"\xf4") + SECONDS + SENT + USER),
    "SIGNON-TOKEN-ANOTHER": (0x7008, b"\1" + TYPE + SECONDS),
}  # fmt: skip


@pytest.mark.rule(*SIGN_ON, *SECONDS_SIGN_ON, "SIGNON-TOKEN")
def test_the_sign_on_server(served, connect):
    client = connect(served, "as-signon", 0xE009)
    found = {rule_id: (request, client.ask(request, body)) for rule_id, (request, body) in SIGN_ON.items()}
    seed = client.ask(0x7003, SEEDS).blocks(24)[0x1103]
    for rule_id, (request, body) in SECONDS_SIGN_ON.items():
        found[rule_id] = request, client.ask(request, body)
    made = substitute(PasswordLevel.SHA1, token(PasswordLevel.SHA1, "ANNA", "Secret1pw"), "ANNA", CLIENT, seed)
    right = b"\3\1" + TYPE + SECONDS + block(0x1105, made) + USER
    found["SIGNON-TOKEN"] = 0x7007, client.ask(0x7007, right)
    for rule_id, (request, answer) in found.items():
        assert (answer.request, code_of(answer, 4)) == (request | 0x8000, rule(rule_id).message), rule_id
    wrong = b"\3\1" + TYPE + SECONDS + SENT + USER + block(0x1128, b"\1")
    refused = client.ask(0x7007, wrong)
    assert code_of(refused, 4) == rule("SIGNON-WRONG").message
    assert "CPF22E2".encode("cp037") in refused.blocks(24)[0x112B]
    assert client.ask(0x7FFE).request == 0xFFFE


@pytest.mark.rule("DTAQ-REQUEST", "DTAQ-SYNTAX")
def test_the_data_queue_server(served, queue, connect):
    client = connect(served, "as-dtaq", 0xE007)
    assert client.sign_on() == 0
    for request in (7, 0x0FFF, 0x1002, 0x7001, 0x7002, 0x7004, 0xFFFF):
        refused = client.ask(request, NAME, correlation=request)
        assert (refused.request, refused.correlation) == (0x8002, request)
        assert code_of(refused, 2) == rule("DTAQ-REQUEST").message
    client.socket.sendall(frame(0xE008, 1, NAME))
    assert code_of(client.answer(), 2) == rule("DTAQ-REQUEST").message
    for request, body in (
        (0, b""), (1, NAME[:19]), (2, NAME + b"\xf2"), (2, RECEIVE_NOW[:-1]), (2, NAME + b"\xf1C5D8" + bytes(4) + b"\xf0"),
        (3, NAME + bytes(60)), (5, NAME + b"\xf0\xf1\0\0\0\x50\x50\1"), (6, NAME + b"\xf1"),
    ):  # fmt: skip
        refused = client.ask(request, body)
        assert (refused.request, code_of(refused, 2)) == (0x8002, rule("DTAQ-SYNTAX").message)
    assert client.ask(5, send(b"x"), template=22).fixed(20, 2) == b"\xf0\x00"


def message_of(refused):
    """The id in a reply that tells of a message."""
    return refused.fixed(28, 7).decode("cp037") if refused.fixed(20, 2) == b"\xf0\1" else ""


def named(name, library):
    return f"{name:<10}{library:<10}".encode("cp037")


def requests(place):
    """One of each request but create, with the id of its name."""
    return {
        "query": (1, place), "receive": (2, place + RECEIVE_NOW[20:]), "peek": (2, place + RECEIVE_NOW[20:-1] + b"\xf1"),
        "send": (5, place + send(b"x")[20:]), "clear": (6, place + b"\xf0"), "delete": (4, place),
    }  # fmt: skip


@pytest.mark.rule("DTAQ-SERVER-NAMES")
def test_names_that_nothing_can_have_are_searched_nowhere(served, queue, connect):
    client = connect(served, "as-dtaq", 0xE007)
    assert client.sign_on() == 0
    for place in (named("Q", ""), named("QGPL/Q", ""), named("", ""), named("Q", "A B")):
        for request, body in requests(place).values():
            assert message_of(client.ask(request, body)) == rule("DTAQ-SERVER-NAMES").message
    for request, body in requests(named("", "QGPL")).values():
        assert message_of(client.ask(request, body)) == rule("DTAQ-FIND-OBJECT").message
    assert client.ask(1, NAME).request == 0x8001


@pytest.mark.rule("DTAQ-FIND-OBJECT")
def test_a_letter_with_other_capitals_is_none_of_a_name(served, connect):
    def make():
        with served.system.job(user="QSECOFR") as job:
            job.crtdtaq("QGPL/SS", maxlen=10, aut="*ALL")

    served.do(make)
    client = connect(served, "as-dtaq", 0xE007)
    assert client.sign_on() == 0
    assert message_of(client.ask(1, named("\u00df", "QGPL"))) == rule("DTAQ-FIND-OBJECT").message
    assert client.ask(1, named("ss", "qgpl")).request == 0x8001


@pytest.mark.rule("DTAQ-SERVER-DDM")
def test_a_ddm_queue_is_none_of_this_server_s(served, connect):
    def make():
        with served.system.job(user="QSECOFR") as job:
            served.system.connect("LP1", served.system)
            job.crtdtaq("QGPL/REAL", maxlen=10, aut="*ALL")
            job.crtdtaq("QGPL/FAR", type="*DDM", rmtdtaq="QGPL/REAL", rmtlocname="LP1", aut="*ALL")

    served.do(make)
    client = connect(served, "as-dtaq", 0xE007)
    assert client.sign_on() == 0
    asked = requests(named("FAR", "QGPL"))
    del asked["delete"]
    for request, body in asked.values():
        assert message_of(client.ask(request, body)) == rule("DTAQ-SERVER-DDM").message


@pytest.mark.rule("DTAQ-SERVER-ATTRIBUTES")
@pytest.mark.parametrize("remove", [b"\xf0", b"\xf1"], ids=["receive", "peek"])
def test_attributes_do_not_prove_the_right_to_receive(served, connect, remove):
    def act(command):
        with served.system.job(user="QSECOFR") as job:
            job.command(command)

    for command in ("CRTDTAQ QGPL/SECTST MAXLEN(80)", "GRTOBJAUT QGPL/SECTST *DTAQ ANNA AUT(*READ *OBJOPR)"):
        served.do(lambda command=command: act(command))
    client = connect(served, "as-dtaq", 0xE007)
    assert client.sign_on() == 0
    assert client.ask(1, named("SECTST", "QGPL")).request == 0x8001
    served.do(lambda: act("RVKOBJAUT QGPL/SECTST *DTAQ ANNA AUT(*OBJOPR)"))
    answer = client.ask(2, named("SECTST", "QGPL") + RECEIVE_NOW[20:-1] + remove)
    assert message_of(answer) == rule("DTAQ-SERVER-ATTRIBUTES").message


@pytest.mark.rule("DTAQ-SERVER-EMPTY-KEY")
def test_a_key_of_no_bytes_clears_nothing(served, queue, connect):
    def make():
        with served.system.job(user="QSECOFR") as job:
            job.crtdtaq("QGPL/KEYED", maxlen=10, seq="*KEYED", keylen=3, aut="*ALL")
            job.qsnddtaq("QGPL/KEYED", data=b"x", key=b"KEY")

    served.do(make)
    client = connect(served, "as-dtaq", 0xE007)
    assert client.sign_on() == 0
    empty = b"\xf1" + block(0x5002, b"")
    for name, message_id in (
        ("KEYED", rule("DTAQ-SERVER-EMPTY-KEY").message), ("Q", "CPF9502"), ("NONE", rule("DTAQ-FIND-OBJECT").message),
    ):  # fmt: skip
        assert message_of(client.ask(6, named(name, "QGPL") + empty)) == message_id
    key = b"\xf1" + "EQ".encode("cp037") + bytes(4) + b"\xf0" + block(0x5002, b"KEY")
    assert client.ask(2, named("KEYED", "QGPL") + key).request == 0x8003


@pytest.mark.rule("DTAQ-RECEIVE-ORDER")
def test_the_order_of_a_search_has_capitals(served, connect):
    def make():
        with served.system.job(user="QSECOFR") as job:
            job.crtdtaq("QGPL/KEYED", maxlen=10, seq="*KEYED", keylen=3, aut="*ALL")

    served.do(make)
    client = connect(served, "as-dtaq", 0xE007)
    assert client.sign_on() == 0
    key = b"\xf1" + "eq".encode("cp037") + bytes(4) + b"\xf0" + block(0x5002, b"KEY")
    assert message_of(client.ask(2, named("KEYED", "QGPL") + key)) == rule("DTAQ-RECEIVE-ORDER").message


@pytest.mark.rule(
    "RMTCMD-EXCHANGE",
    "RMTCMD-SERVER",
    "RMTCMD-REQUEST",
    "RMTCMD-SYNTAX",
    "RMTCMD-PARAMETER",
    "RMTCMD-MAXIMUM",
    "RMTCMD-CCSID",
)
def test_the_remote_command_server(served, connect):
    client = connect(served, "as-rmtcmd", 0xE008)
    assert client.sign_on() == 0
    program = "P         QGPL      ".encode("cp037")

    def parameter(usage, length, data=b""):
        return block(0x1103, length.to_bytes(4, "big") + usage.to_bytes(2, "big") + data)

    for rule_id, request, body in (
        ("RMTCMD-EXCHANGE", 0x1001, bytes(13)), ("RMTCMD-REQUEST", 0x1005, b""), ("RMTCMD-REQUEST", 1, NAME),
        ("RMTCMD-SYNTAX", 0x1002, b"\0"), ("RMTCMD-SYNTAX", 0x1002, b""), ("RMTCMD-SYNTAX", 0x1003, program),
        ("RMTCMD-SYNTAX", 0x1003, program + b"\0\0\1"), ("RMTCMD-SYNTAX", 0x1003, program + b"\0\0\1\0\0\0\x99"),
        ("RMTCMD-PARAMETER", 0x1003, program + b"\0\0\1" + parameter(14, 4)),
        ("RMTCMD-PARAMETER", 0x1003, program + b"\0\0\1" + parameter(11, 1, b"ab")),
        ("RMTCMD-MAXIMUM", 0x1003, program + b"\0\1\0" + 256 * parameter(12, 1)),
        ("RMTCMD-MAXIMUM", 0x1003, program + b"\0\0\1" + parameter(12, 1 << 31)),
        ("RMTCMD-CCSID", 0x1002, b"\0" + block(0x1104, (99).to_bytes(4, "big") + b"X")),
    ):  # fmt: skip
        refused = client.ask(request, body)
        replies = {0x1001: 0x8001, 0x1003: 0x8003}
        assert refused.request == replies.get(request, 0x8002)
        assert code_of(refused, 2) == rule(rule_id).message, (rule_id, body)
    client.socket.sendall(frame(0xE007, 0x1002, b"\0"))
    assert code_of(client.answer(), 2) == rule("RMTCMD-SERVER").message
    german = (273).to_bytes(4, "big") + "CRTLIB LIB(GERMAN) TEXT('ä{')".encode("cp273")
    assert client.ask(0x1002, b"\0" + block(0x1104, german)).fixed(20, 2) == b"\0\0"


def test_a_client_that_does_not_read_is_not_read_from(served, connect):
    """Each short request would bring a long answer: they wait at the client, not here."""

    def fill():
        with served.system.job(user="QSECOFR") as job:
            job.crtdtaq("QGPL/Q", maxlen=64512, aut="*ALL")
            job.qsnddtaq("QGPL/Q", data=b"x" * 64512)

    served.do(fill)
    client = connect(served, "as-dtaq", 0xE007)
    assert client.sign_on() == 0
    (connection,) = served.servers.connections
    peek = RECEIVE_NOW[:-1] + b"\xf1"
    count = 1000
    sent = b"".join(frame(0xE007, 2, peek, number, 28) for number in range(count))
    writer = threading.Thread(target=client.socket.sendall, args=(sent,), daemon=True)
    writer.start()
    other = connect(served, "as-dtaq", 0xE007)
    assert other.sign_on() == 0
    for _ in range(300):  # those of the other one have their turns between them
        assert other.ask(2, peek, template=28).request == 0x8003
    assert connection._transport.get_write_buffer_size() < 4 << 20
    assert not connection._transport.is_reading()
    for number in range(count):
        assert client.answer().correlation == number
    writer.join(300)
