"""Requests that are not as a client sends them get an answer as CICS gives it, and harm nothing."""

from __future__ import annotations

import asyncio
import contextlib
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tdqsim import Region, define_tdqueue
from tdqsim.server.host import Host
from tdqsim.server.http import Gate, application
from tests.server.cmci.conftest import ROOT, TOKEN, Cmci, read, served

INTRA = "CICSIntrapartitionTDQueue"
PAYQ = f"{INTRA}/SIMREG1?CRITERIA=(TDQUEUE=PAYQ)"


@pytest.mark.parametrize(
    ("path", "status", "message"),
    [
        ("", 400, "DFHWU4001"), (INTRA, 400, "DFHWU4004"), (f"{INTRA}/", 400, "DFHWU4004"),
        (f"{INTRA}//SIMREG1", 400, "DFHWU4004"), ("CICSNope/SIMREG1", 404, "DFHWU4041"),
        (f"{INTRA}/SIMREG1/A/B", 400, "DFHWU4029"), (f"{INTRA}/SIMREG1//0", 400, "DFHWU4009"),
        (f"{INTRA}/SIMREG1///", 400, "DFHWU4009"), (f"{INTRA}/SIMREG1//1x", 400, "DFHWU4009"),
        (f"{INTRA}/SIMREG1//{'9' * 12}", 400, "DFHWU4009"), (f"{INTRA}/SIMREG1?FOO", 400, "DFHWU4003"),
        (f"{INTRA}/SIMREG1?FOO=1", 400, "DFHWU4003"), (f"{INTRA}/SIMREG1?SUMMONLY=1", 400, "DFHWU4003"),
        (f"{INTRA}/SIMREG1?CRITERIA", 400, "DFHWU4003"), (f"{INTRA}/SIMREG1?SUMMONLY&SUMMONLY", 400, "DFHWU4003"),
        (f"{INTRA}/{'A' * 250}", 400, "DFHWU4002"), (f"{INTRA}/%E9%E9", 200, ""), (f"{INTRA}/A%00B", 200, ""),
        (f"{INTRA}/SIMREG1%2FSIMREG1", 200, ""), (f"{INTRA}/TOOLONGNAME", 200, ""),
    ],
)  # fmt: skip
def test_uris(cmci, path, status, message):
    answer = cmci.ask(path)
    assert (answer.status, answer.message) == (status, message)
    if not message:
        assert answer.codes[0] == "INVALIDPARM"


@pytest.mark.parametrize(
    ("method", "body", "message"),
    [
        ("PUT", "", "DFHWU4006"), ("PUT", "  ", "DFHWU4006"), ("POST", "", "DFHWU4006"), ("PUT", "disable", "DFHWU4007"),
        ("PUT", "<request/>", "DFHWU4007"), ("PUT", "<request><action/></request>", "DFHWU4007"),
        ("PUT", '<request><action name="DISABLE"/><action name="ENABLE"/></request>', "DFHWU4007"),
        ("PUT", '<request><action name="DISABLE"><attributes A="1"/></action></request>', "DFHWU4007"),
        ("PUT", "<request><update/></request>", "DFHWU4007"), ("PUT", "<request><update><attributes/></update></request>", "DFHWU4007"),
        ("PUT", '<request><create><attributes A="1"/></create></request>', "DFHWU4007"),
        ("POST", '<request><action name="DISABLE"/></request>', "DFHWU4007"),
        ("DELETE", '<request><action name="DISABLE"/></request>', "DFHWU4007"),
        ("PUT", '<!DOCTYPE request><request><action name="DISABLE"/></request>', "DFHWU4007"),
        ("PUT", '<!DOCTYPE r [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><request><action name="&b;"/></request>', "DFHWU4007"),
        ("PUT", '<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><request><action name="DISABLE">&x;</action></request>', "DFHWU4007"),
        ("PUT", '<?php x?><request><action name="DISABLE"/></request>', "DFHWU4007"),
        ("PUT", '<request><action name="DISABLE"/></request><request/>', "DFHWU4007"),
        ("PUT", "<request>" + '<action name="A">' * 5000, "DFHWU4007"),
        ("PUT", '<request><action name="DISABLE">' + '<parameter name="P"/>' * 2 + "</action></request>", "DFHWU4007"),
        ("PUT", '<request><action name="DISABLE">' + "".join(f'<parameter name="P{n}"/>' for n in range(1001)) + "</action></request>", "DFHWU4007"),
        ("PUT", '<request><action name="DISABLE"/></request>' + " " * 70000, "DFHWU4007"),
        ("PUT", '<request><update><attributes A="1" a="2"/></update></request>', "DFHWU4007"),
        ("PUT", b"\xff\xfe<request>".decode("latin-1"), "DFHWU4007"),
        ("PUT", '<?xml version="1.0" encoding="nope"?><request/>', "DFHWU4007"),
        ("PUT", '<?xml version="1.0" encoding="big5"?><request/>', "DFHWU4007"),
        ("PUT", '<?xml version="1.0" encoding="hex"?><request/>', "DFHWU4007"),
    ],
)  # fmt: skip
def test_bodies(cmci, method, body, message):
    before = cmci.ask(f"{INTRA}/SIMREG1").records
    answer = cmci.ask(PAYQ if method != "POST" else f"{INTRA}/SIMREG1", method, body)
    assert (answer.status, answer.message) == (400, message)
    assert cmci.ask(f"{INTRA}/SIMREG1").records == before


def test_refusals_of_the_server_are_documents_too(cmci):
    client, auth = cmci.client, ("ANY", TOKEN)
    long = client.get(f"{ROOT}/{INTRA}/SIMREG1?CRITERIA=({'A' * 50_000})", auth=auth)
    assert (long.status_code, read(long).message) == (431, "DFHWU4029")
    large = client.put(f"{ROOT}/{INTRA}/SIMREG1", content=b"x" * 5_000_000, auth=auth)
    assert (large.status_code, read(large).message) == (413, "DFHWU4029")
    patch = client.patch(f"{ROOT}/{INTRA}/SIMREG1", auth=auth, headers={"Authorization": f"Bearer {TOKEN}"})
    assert (patch.status_code, read(patch).message) == (405, "DFHWU4050")
    other = client.get(f"{ROOT}/{INTRA}/SIMREG1", headers={"Host": "evil.example"}, auth=auth)
    assert (other.status_code, read(other).message) == (421, "DFHWU4029")
    assert cmci.ask(f"{INTRA}/SIMREG1").codes == ("OK", "")


@pytest.fixture(scope="module")
def fuzzed():
    host = Host(frozen=True)
    host.add(Region, [define_tdqueue(name="PAYQ", type="INTRA")], applid="SIMREG1", supplied_queues=False)
    with served(host) as client:
        yield Cmci(client)
    host.stop()


PIECES = st.sampled_from(
    ["TDQUEUE", "=", "'", "(", ")", "NOT", "AND", "OR", " ", "*", "+", "%", "%AC", "\\", "<", ">", "&", "?", "//", "1",
     "CRITERIA=", "PARAMETER=", "ORDERBY=", "SUMMONLY", "NODISCARD", "/", "SIMREG1", "\xac", "\u6771", "%7F", "."]
)  # fmt: skip


@given(st.lists(PIECES, max_size=30), st.sampled_from(["GET", "PUT", "POST", "DELETE"]))
def test_any_uri_gets_a_document(fuzzed, pieces, method):
    text = "".join(pieces).replace("?", "%3F", 1) if "CRITERIA=" not in pieces else "".join(pieces)
    answer = fuzzed.ask(f"{INTRA}/SIMREG1?{text}".replace("#", ""), method, "<request/>")
    assert answer.message or answer.summary["api_response1"]


def test_any_body_gets_a_document(fuzzed):
    """A body that is right, with bytes changed, removed and doubled."""
    right = b'<request><update><parameter name="CSD"/><attributes TRIGGERLEVEL="9"/></update></request>'
    made = random.Random(57)
    for _ in range(300):
        body = bytearray(right)
        for _ in range(made.randint(1, 4)):
            at = made.randrange(len(body))
            body[at : at + made.randint(0, 3)] = made.choice([b"", b"<", b"&", b'"', b"\x00", b"\xff", b"]]>", b"<!--"])
        answer = fuzzed.ask(f"{INTRA}/SIMREG1", "PUT", bytes(body))
        assert answer.message in ("DFHWU4006", "DFHWU4007") or answer.codes[0] in ("INVALIDPARM", "TABLEERROR", "OK")


@pytest.mark.parametrize("method", ["GET", "PUT"])
def test_a_client_that_leaves_in_the_middle_changes_nothing(host, cmci, method):
    """It leaves before the end of its body, or while its answer is sent."""
    messages = [{"type": "http.request", "body": b'<request><action name="DIS', "more_body": method == "PUT"}]
    sent = []

    async def receive():
        return messages.pop() if messages else {"type": "http.disconnect"}

    async def send(message):
        sent.append(message)
        if method == "GET" and message["type"] == "http.response.body":
            raise OSError("the connection was lost")

    path = f"{ROOT}/{INTRA}/SIMREG1"
    headers = [(b"host", b"127.0.0.1"), (b"authorization", f"Bearer {TOKEN}".encode())]
    headers += [(b"content-length", b"54")] if method == "PUT" else []
    scope = {
        "type": "http", "method": method, "path": path, "raw_path": path.encode(), "query_string": b"", "headers": headers,
        "scheme": "http", "server": ("127.0.0.1", 80), "client": ("127.0.0.1", 5), "http_version": "1.1", "root_path": "",
    }  # fmt: skip
    app = application(host, Gate(None, token=TOKEN))
    with contextlib.suppress(OSError):
        asyncio.run(app(scope, receive, send))
    assert sent[0]["status"] == (200 if method == "GET" else 400)
    assert [each["enablestatus"] for each in cmci.ask(f"{INTRA}/SIMREG1").records] == ["ENABLED", "ENABLED"]


def test_many_results():
    """Ten thousand queues in one answer, and by pages."""
    host = Host(frozen=True)
    names = [f"{a}{b}{c}{d}" for a in "ABCDEFGHIJ" for b in "0123456789" for c in "0123456789" for d in "0123456789"]
    host.add(
        Region, [define_tdqueue(name=each, type="INTRA") for each in names], applid="SIMREG1", supplied_queues=False
    )
    try:
        with served(host) as client:
            cmci = Cmci(client)
            token = cmci.ask(f"{INTRA}/SIMREG1?SUMMONLY&NODISCARD").summary["cachetoken"]
            assert cmci.ask(f"CICSResultCache/{token}/10000/5").names == ["J999"]
            assert len(cmci.ask(f"{INTRA}/SIMREG1?CRITERIA=(NUMITEMS=0)").records) == 10_000
    finally:
        host.stop()
