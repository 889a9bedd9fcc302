"""What comes over a page's websocket: what no page sends ends the connection with one line of the log, and no more."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from contextlib import ExitStack, suppress
from urllib.request import Request, urlopen

import pytest

pytest.importorskip("nicegui", reason="nicegui is not installed: the extra [serve] brings it")
sync = pytest.importorskip("websockets.sync.client", reason="websockets is not installed: the extra [serve] brings it")

from websockets.exceptions import ConnectionClosed  # noqa: E402  (it needs websockets)

from tdqsim.server.console.message_checks import Pace, problem_with  # noqa: E402
from tests.server.test_command_line import TDQ  # noqa: E402

EVENT = '42["event",{"client_id":"%s","id":1,"listener_id":"x","args":[]}]'
ODD = [
    "", "9", "x", "4", "42", "42[", "42[]", "42{}", "42[1]", '42["event"]', '42["event",1]', '42["event",{}]',
    '42["event",{"client_id":1}]', '42["other",{"client_id":"a"}]', '43["a"]', "44{}", '451-["event",{}]', "2probe", "5",
    "6", '42/other,["event",{}]', "42" + "[" * 100_000, "4" + "0" * 50_000, b"\x00\x01", "40{}", "40/other,",
]  # fmt: skip
INSIDE = [
    '42["event",{"client_id":"%s"}]', '42["event",{"client_id":"%s","id":[],"args":[]}]',
    '42["event",{"client_id":"%s","id":1,"args":["{"]}]', '42["event",{"client_id":"%s","id":1,"args":7}]',
    '42["ack",{"client_id":"%s"}]',
    '42["log",{"client_id":"%s"}]', '42["log",{"client_id":"%s","level":"loud","message":"x"}]',
    '42["javascript_response",{"client_id":"%s"}]', '42["handshake",{"client_id":"%s"}]',
]  # fmt: skip


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wire")
    (folder / "region.yaml").write_text("applid: PAYREGN\n")
    words = [*TDQ, "serve", str(folder), "--ready-file", str(folder / "ready.json")]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=log, text=True)
    assert any(line.startswith("Authorization:") for line in process.stdout), (folder / "log").read_text()
    yield json.loads((folder / "ready.json").read_text()), folder / "log"
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=300) == 0
    process.stdout.close()
    assert "Traceback" not in (folder / "log").read_text()


@pytest.fixture
def opened(served):
    """Opens a page, and its websocket."""
    found, _log = served
    head = {"Authorization": f"Bearer {found['token']}"}
    opened = ExitStack()

    def open_page():
        page = urlopen(Request(f"{found['url']}/console/", headers=head), timeout=300).read().decode()
        number = re.search(r"['\"]client_id['\"]\s*:\s*['\"]([0-9a-f-]{36})", page)[1]
        at = f"{found['url'].replace('http', 'ws')}/console/_nicegui_ws/socket.io/?EIO=4&transport=websocket"
        wire = opened.enter_context(sync.connect(at, additional_headers=head, open_timeout=300))
        wire.send("40")
        hand = {"client_id": number, "tab_id": "t", "document_id": "d", "next_message_id": 0}
        wire.send(f"420{json.dumps(['handshake', hand])}")
        while not wire.recv(300).startswith("430"):
            pass
        return wire, number

    with opened:
        yield open_page


def odd_lines(served):
    return [line for line in served[1].read_text().splitlines() if "odd_message" in line]


def closed(wire):
    try:
        while True:
            wire.recv(300)
    except ConnectionClosed as end:
        return end.rcvd


@pytest.mark.parametrize("message", ODD)
def test_what_no_page_sends_is_told_of_once_and_ends_the_connection(served, opened, message):
    before = len(odd_lines(served))
    wire, _number = opened()
    wire.send(message)
    assert closed(wire).code == 1008
    (line,) = odd_lines(served)[before:]
    assert "user=(owner)" in line
    assert "origin=127.0.0.1" in line


@pytest.mark.parametrize("message", INSIDE)
def test_what_is_odd_inside_an_event_ends_the_connection_too(served, opened, message):
    before = len(odd_lines(served))
    wire, number = opened()
    wire.send(message % number)
    closed(wire)
    (line,) = odd_lines(served)[before:]
    assert "user=(owner)" in line


def test_too_much_ends_the_connection(served, opened):
    before = len(odd_lines(served))
    wire, _number = opened()
    with suppress(ConnectionClosed):
        for _each in range(1001):
            wire.send("3")
    assert closed(wire).code == 1008
    (line,) = odd_lines(served)[before:]
    assert "more than 1000 messages in 5 seconds" in line


def test_too_long_a_message_ends_the_connection(opened):
    wire, number = opened()
    wire.send(f'42["log",{{"client_id":"{number}","level":"debug","message":"{"x" * 1_000_000}"}}]')
    assert closed(wire).code == 1009


def test_a_page_speaks_by_websocket_only(served):
    found, _log = served
    request = Request(
        f"{found['url']}/console/_nicegui_ws/socket.io/?EIO=4&transport=polling",
        headers={"Authorization": f"Bearer {found['token']}"},
    )
    with pytest.raises(OSError, match="400"):
        urlopen(request, timeout=300)


@pytest.mark.parametrize("message", ["3", "1", "40", "41", EVENT % "a", f"420{(EVENT % 'a')[2:]}"])
def test_what_pages_send_is_let_in(message):
    assert problem_with(message) == ""


def test_a_pace_that_a_page_keeps_is_never_too_much():
    pace = Pace(most=3, seconds=0)
    assert [pace.wrong() for _each in range(100)] == [""] * 100
    assert [Pace(most=3, seconds=3600).wrong()] == [""]
