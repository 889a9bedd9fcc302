"""Incidents as alerts: since when they last, that they begin and end, and a webhook that gets them."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import select
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from http.client import HTTPException
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the extra [serve] is not installed")
pytest.importorskip("httpx2", reason="httpx2 is not installed")

from fastapi.testclient import TestClient
from structlog.testing import capture_logs

from tdqsim import Region, define_tdqueue
from tdqsim.cics import Abend
from tdqsim.errors import DefinitionError
from tdqsim.server.alerts import AlertListener, Alerts
from tdqsim.server.errors import ServeError
from tdqsim.server.host import Host
from tdqsim.server.http import Gate, application
from tdqsim.server.incidents import incidents_of
from tdqsim.server.servefile import load_serve_file
from tdqsim.server.webhook import Webhook, post, read_secret

SECRET = b"0123456789abcdef"
ALERT: Any = {
    "event": "alert", "region": "PAYREGN", "state": "began", "kind": "Full", "what": "w", "cure": "t", "since_ns": 0,
    "time_ns": 1, "page": "/console/regions/PAYREGN/queues",
}  # fmt: skip


@pytest.fixture
def host() -> Iterator[Host]:
    made = Host(frozen=True)
    made.add(Region, [define_tdqueue(name="LOGQ", type="INTRA", recovstatus="LOGICAL")], applid="PAYREGN")
    made.add(Region, [], applid="LASTREGN", sysid="LAST")  # looked at after it, with nothing to tell
    yield made
    made.stop()


@pytest.fixture(autouse=True)
def _few_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that does not sleep when it has taken all would take for ever, and no test would end."""
    takes, take = iter(range(100)), AlertListener.take
    monkeypatch.setattr(AlertListener, "take", lambda self: (next(takes), take(self))[1])


def let_two_wait(host: Host) -> tuple[str, int]:
    """A unit of work that holds LOGQ, and a task that waits for it; return the unit and the time of the wait."""
    region = host.regions["PAYREGN"]
    unit = host.units.begin(region, "CICSUSER", 3600).result(60)
    host.units.do(unit, "CICSUSER", lambda task: task.writeq_td("LOGQ", b"held")).result(60)
    advance(host, 100)

    def begin() -> int:
        region.start(lambda task: task.writeq_td("LOGQ", b"waits"), transid="WAIT")
        return region.clock.time_ns()

    since_ns = host.engine.outside(begin).result(60)
    host.engine.submit(lambda: None).result(60)
    return unit, since_ns


def advance(host: Host, seconds: float) -> None:
    host.engine.submit(lambda: host.engine.dispatcher.clock.advance(seconds)).result(60)


def test_a_wait_is_measured_from_when_it_began(host: Host) -> None:
    """The first look comes long after it began."""
    unit, since_ns = let_two_wait(host)
    region = host.regions["PAYREGN"]

    def look() -> Any:
        return host.engine.outside(lambda: incidents_of(region)).result(60)

    advance(host, 9)
    assert look() == []
    advance(host, 3)
    (wait,) = look()
    assert (wait.kind, wait.since_ns) == ("Long wait", since_ns)
    assert "WAIT has waited for TOQ of LOGQ for 12 seconds; " in wait.what
    with TestClient(application(host, Gate(token="all")), base_url="http://127.0.0.1") as api:
        api.headers["Authorization"] = "Bearer all"
        (listed,) = api.get("/api/v1/regions/PAYREGN/incidents").json()
        assert (listed["kind"], listed["since_ns"], listed["page"]) == (
            "Long wait", since_ns, "/console/regions/PAYREGN/tasks",
        )  # fmt: skip
        tasks = {each["transid"]: each["since_ns"] for each in api.get("/api/v1/regions/PAYREGN/tasks").json()}
        assert tasks["WAIT"] == since_ns
    host.units.do(unit, "CICSUSER", lambda task: task.syncpoint(), last=True).result(60)
    assert look() == []


def test_an_alert_comes_when_an_incident_begins_and_when_it_ends_and_for_an_abend(host: Host) -> None:
    region = host.regions["PAYREGN"]

    def fail() -> None:
        with region.task(transid="FAIL") as task:
            task.abend("MINE")

    async def follow() -> list[tuple[str, str, str]]:
        woken = asyncio.Event()
        alerts = Alerts(host, look_seconds=100_000)
        listener = alerts.listen(woken.set)
        await alerts.look()
        unit, _since = await asyncio.to_thread(let_two_wait, host)
        await asyncio.to_thread(advance, host, 11)
        await alerts.look()
        await alerts.look()  # it is the same incident, which lasts
        late = alerts.listen(lambda: None)
        assert [each["state"] for each in late.take()] == ["began"]
        alerts.leave(late)
        assert len(host.abend_listeners) == 1  # the first one goes on to be told
        end = host.units.do(unit, "CICSUSER", lambda task: task.syncpoint(), last=True)
        await asyncio.wrap_future(end)
        await alerts.look()
        seen = listener.take()
        woken.clear()
        with pytest.raises(Abend):
            await host.ask(fail)
        await woken.wait()
        seen += listener.take()
        alerts.leave(listener)
        assert host.abend_listeners == []
        return [(each["kind"], each["state"], each["page"].partition("/PAYREGN/")[2]) for each in seen]

    first, second, abend = asyncio.run(follow())
    assert (first, second) == (("Long wait", "began", "tasks"), ("Long wait", "ended", "tasks"))
    assert abend[:2] == ("Abend", "happened")
    (dump,) = region.diagnostics.failures
    assert abend[2] == f"incidents/{dump.time_ns}/{dump.task}"


def test_a_listener_that_comes_after_all_have_left_is_told_nothing_that_has_ended(host: Host) -> None:
    async def follow() -> list[list[str]]:
        alerts = Alerts(host, look_seconds=100_000)
        first = alerts.listen(lambda: None)
        unit, _since = await asyncio.to_thread(let_two_wait, host)
        await asyncio.to_thread(advance, host, 10)
        await alerts.look()
        told = [first.take()]
        alerts.leave(first)
        await asyncio.wrap_future(host.units.do(unit, "CICSUSER", lambda task: task.syncpoint(), last=True))
        second = alerts.listen(lambda: None)
        told.append(second.take())
        await alerts.look()
        told.append(second.take())
        alerts.leave(second)
        return [[each["state"] for each in alerts] for alerts in told]

    assert asyncio.run(follow()) == [["began"], [], []]
    assert host.abend_listeners == []  # or the next listener would be told twice


def test_an_incident_that_comes_again_is_told_to_every_listener_as_another_one(host: Host) -> None:
    async def follow() -> list[list[tuple[str, int]]]:
        alerts = Alerts(host, look_seconds=100_000)
        listeners = [alerts.listen(lambda: None) for _ in range(2)]
        await alerts.look()
        for _ in range(2):
            unit, _since = await asyncio.to_thread(let_two_wait, host)
            await asyncio.to_thread(advance, host, 10)
            await alerts.look()
            await asyncio.wrap_future(host.units.do(unit, "CICSUSER", lambda task: task.syncpoint(), last=True))
            await asyncio.to_thread(advance, host, 5)
            await alerts.look()
            await alerts.look()
        told = [[(each["state"], each["time_ns"] - each["since_ns"]) for each in one.take()] for one in listeners]
        for one in listeners:
            alerts.leave(one)
        return told

    both = [("began", 10 * 10**9), ("ended", 15 * 10**9)] * 2
    assert asyncio.run(follow()) == [both, both]


def test_a_second_incident_of_a_kind_is_told_while_the_first_one_lasts(host: Host) -> None:
    region = host.regions["PAYREGN"]

    async def follow() -> list[str]:
        alerts = Alerts(host, look_seconds=100_000)
        listener = alerts.listen(lambda: None)
        await alerts.look()
        unit, _since = await asyncio.to_thread(let_two_wait, host)
        await asyncio.to_thread(advance, host, 10)
        await alerts.look()
        await host.ask(lambda: region.start(lambda task: task.writeq_td("LOGQ", b"waits"), transid="NEXT") and None)
        await asyncio.to_thread(advance, host, 10)
        await alerts.look()
        await asyncio.wrap_future(host.units.do(unit, "CICSUSER", lambda task: task.syncpoint(), last=True))
        alerts.leave(listener)
        return [each["what"].partition(" has waited")[0][-4:] for each in listener.take()]

    assert asyncio.run(follow()) == ["WAIT", "NEXT"]


def test_a_listener_that_takes_nothing_loses_the_oldest(host: Host) -> None:
    async def follow() -> tuple[int, int]:
        listener = Alerts(host, look_seconds=100_000).listen(lambda: None)
        for number in range(1003):
            listener.offer({**ALERT, "time_ns": number})
        return listener.lost, listener.take()[0]["time_ns"]

    assert asyncio.run(follow()) == (3, 3)


def test_a_stream_of_alerts(host: Host) -> None:
    """Server-sent events of the API, as a client reads them."""
    region, parts = host.regions["PAYREGN"], []

    def fail(region: Region) -> None:
        with region.task(transid="FAIL") as task:
            task.abend("MINE")

    async def follow() -> None:
        asked, ended = [{"type": "http.request", "body": b"", "more_body": False}], asyncio.Event()

        async def receive() -> Any:
            if not asked:
                await ended.wait()
            return asked.pop() if asked else {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            parts.append(message.get("body", b"").decode())
            if parts[-1] == ": listening\n\n":
                for each in (host.regions["LASTREGN"], region):
                    with pytest.raises(Abend):
                        await host.ask(partial(fail, each))
            elif "event: alert" in parts[-1]:
                ended.set()

        headers = [(b"host", b"127.0.0.1:80"), (b"authorization", b"Bearer all")]
        scope = {
            "type": "http", "method": "GET", "path": "/api/v1/alerts", "query_string": b"region=payregn",
            "headers": headers, "asgi": {"version": "3.0", "spec_version": "2.4"}, "http_version": "1.1",
            "scheme": "http", "server": ("127.0.0.1", 80), "client": ("127.0.0.1", 50000), "root_path": "",
        }  # fmt: skip
        await application(host, Gate(token="all"))(scope, receive, send)

    asyncio.run(follow())
    assert "LASTREGN" not in "".join(parts)  # only that of the region that was asked for
    data = next(line for line in "".join(parts).splitlines() if line.startswith("data: "))
    alert = json.loads(data[6:])
    assert (alert["kind"], alert["state"], alert["region"]) == ("Abend", "happened", "PAYREGN")
    assert "FAIL" in alert["what"]
    assert "MINE" in alert["what"]


# -- the webhook ------------------------------------------------------------------------------------------------------


class Receiver:
    """A webhook's receiver that answers with statuses, or raises them if they are exceptions; the last one repeats."""

    def __init__(self, *answers: int | Exception) -> None:
        self.answers = list(answers)
        self.got: list[tuple[str, bytes, dict[str, str]]] = []
        self.pauses: list[float] = []

    def send(self, url: str, body: bytes, headers: Any) -> int:
        self.got.append((url, body, dict(headers)))
        answer = self.answers[0] if len(self.answers) == 1 else self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)


def test_an_alert_is_signed_and_sent_again_until_it_is_taken() -> None:
    receiver = Receiver(ConnectionRefusedError("refused"), 503, 204)
    hook = Webhook("https://ops.example/hook?a=1", SECRET, send=receiver.send, pause=receiver.pause)
    assert asyncio.run(hook.deliver(ALERT))
    assert (hook.sent, hook.dropped, receiver.pauses) == (1, 0, [1, 2])
    (url, body, headers), *_again = receiver.got
    assert (url, json.loads(body)) == ("https://ops.example/hook?a=1", ALERT)
    assert headers["X-Tdqsim-Signature"] == f"sha256={hmac.new(SECRET, body, hashlib.sha256).hexdigest()}"
    assert len({each[2]["X-Tdqsim-Delivery"] for each in receiver.got}) == 1
    assert {each[1] for each in receiver.got} == {body}


@pytest.mark.parametrize("status", [199, 300, 301, 302, 304, 307, 308, 399, 400])
def test_any_other_answer_than_200_to_299_is_no_delivery(status: int) -> None:
    """Redirections are not followed, so an alert that is answered by one has reached nobody."""
    receiver = Receiver(status, 299)
    hook = Webhook("http://ops.example/", send=receiver.send, pause=receiver.pause)
    assert asyncio.run(hook.deliver(ALERT))
    assert (hook.sent, len(receiver.got), receiver.pauses) == (1, 2, [1])


def test_an_alert_that_nobody_takes_is_dropped_after_six_tries() -> None:
    receiver = Receiver(500)
    hook = Webhook("http://ops.example/", send=receiver.send, pause=receiver.pause)
    assert not asyncio.run(hook.deliver(ALERT))
    assert (hook.sent, hook.dropped) == (0, 1)
    assert receiver.pauses == [1, 2, 4, 8, 16]
    assert len(receiver.got) == 6
    assert "X-Tdqsim-Signature" not in receiver.got[0][2]


def test_a_webhook_that_nobody_answers_is_said_in_each_region_until_an_alert_is_taken(host: Host) -> None:
    receiver = Receiver(*[503] * 6, *[HTTPException("cut")] * 6, 204, 204, 503)
    regions = host.regions["PAYREGN"], host.regions["LASTREGN"]
    hook = Webhook("http://ops.example/hook?key=hidden", SECRET, send=receiver.send, pause=receiver.pause)

    async def follow() -> list[Any]:
        alerts = Alerts(host, look_seconds=100_000)
        sending = asyncio.get_running_loop().create_task(hook.run(alerts))
        await asyncio.sleep(0)
        (listener,) = alerts._listeners
        seen = []
        for numbers in ((1,), (2,), (3, 4), (5,)):
            for number in numbers:
                listener.offer({**ALERT, "time_ns": number})
            async with asyncio.timeout(60):
                while hook.sent + hook.dropped < numbers[-1]:
                    assert not sending.done()
                    await asyncio.sleep(0)
            await asyncio.sleep(0)
            seen.append(await host.ask(lambda: [list(each.notices.lasting) for each in regions]))
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)
        assert not alerts._listeners
        return seen

    once, twice, over, again = asyncio.run(follow())
    for (told,) in (*once, *again):
        assert (told.id, told.severity, told.resource) == ("TDQ0067", "error", "WEBHOOK")
        assert told.reason == "Alerts do not reach http://ops.example/hook: status 503"
        assert told.cure == "Start its receiver, or correct alerts in serve.yaml; alerts of the meantime are dropped."
    assert (twice, over) == (once, [[], []])
    assert receiver.pauses == [1, 2, 4, 8, 16] * 3  # and none before the first try of the next alert
    sent = [json.loads(body)["time_ns"] for _url, body, _headers in receiver.got]
    assert sent == [1] * 6 + [2] * 6 + [3, 4] + [5] * 6


def test_a_webhook_gets_an_abend_while_its_receiver_holds_an_earlier_one(host: Host) -> None:
    """The engine goes on while the receiver does not answer."""
    region = host.regions["PAYREGN"]
    answers, got = threading.Event(), []

    def fail() -> None:
        with region.task(transid="FAIL") as task:
            task.abend("MINE")

    def send(_url: str, body: bytes, _headers: Any) -> int:
        got.append(json.loads(body)["kind"])
        assert answers.wait(60)
        return 200

    async def follow() -> None:
        alerts = Alerts(host, look_seconds=100_000)
        hook = Webhook("http://ops.example/", send=send)
        sending = asyncio.get_running_loop().create_task(hook.run(alerts))
        await asyncio.sleep(0)
        for _time in range(2):
            with pytest.raises(Abend):
                await host.ask(fail)
        answers.set()
        while len(got) < 2:  # noqa: ASYNC110  (the receiver runs in another thread)
            await asyncio.sleep(0)
        sending.cancel()

    asyncio.run(follow())
    assert got == ["Abend", "Abend"]


def test_lost_alerts_of_a_webhook_are_logged_once(host: Host) -> None:
    receiver = Receiver(200)

    async def follow() -> None:
        alerts = Alerts(host, look_seconds=100_000)
        hook = Webhook("http://ops.example/", send=receiver.send)
        sending = asyncio.get_running_loop().create_task(hook.run(alerts))
        await asyncio.sleep(0)
        (listener,) = alerts._listeners
        for sent, lost in enumerate((3, 3, 5), 1):
            listener.lost = lost
            listener.offer(ALERT)
            while hook.sent < sent:
                assert not sending.done()
                await asyncio.sleep(0)
        sending.cancel()

    with capture_logs() as lines:
        asyncio.run(follow())
    assert [line["alerts"] for line in lines if line["event"] == "alerts_lost"] == [3, 2]


def test_a_post_has_the_body_and_does_not_follow_a_redirection() -> None:
    got: list[tuple[str, bytes]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            got.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(302)
            self.send_header("Location", "/elsewhere")
            self.end_headers()

        def log_message(self, *_args: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        assert post(f"http://127.0.0.1:{server.server_port}/hook?x=1", b"{}", {"A": "b"}, 60) == 302
        thread.join(60)
    assert got == [("/hook?x=1", b"{}")]


def test_a_receiver_that_answers_without_end_is_left() -> None:
    """Each byte comes within the time limit, the end of the answer does not."""

    def drip(listener: socket.socket) -> None:
        receiver, _ = listener.accept()
        with receiver, suppress(OSError):  # it is left while it sends
            receiver.recv(65536)
            receiver.sendall(b"HTTP/1.1 200 ")
            for _byte in range(500):
                if select.select([receiver], [], [], 0.02)[0]:
                    return  # it was left
                receiver.sendall(b"x")
            receiver.sendall(b"\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=drip, args=(listener,))
        thread.start()
        with pytest.raises(TimeoutError, match=r"the answer was not complete within 0\.5 seconds"):
            post(f"http://127.0.0.1:{listener.getsockname()[1]}/", b"", {}, 0.5)
        thread.join(60)


def test_the_secret_is_private_and_long_enough(tmp_path: Path) -> None:
    file = tmp_path / "alerts.key"
    with pytest.raises(ServeError, match="cannot be read"):
        read_secret(file)
    file.write_bytes(SECRET + b"\n")
    for mode in (0o640, 0o604):
        file.chmod(mode)
        with pytest.raises(ServeError, match="other users may read"):
            read_secret(file)
    file.chmod(0o600)
    assert read_secret(file) == SECRET
    file.write_bytes(SECRET + b" \r\n")
    assert read_secret(file) == SECRET + b" "
    file.write_bytes(b"short\n")
    with pytest.raises(ServeError, match="at least 16 bytes"):
        read_secret(file)


@pytest.mark.parametrize("url", ["ftp://ops", "ops.example/hook", "http://user:pw@ops/", "http://", "http://a b/"])
def test_the_url_of_a_webhook_is_checked(tmp_path: Path, url: str) -> None:
    file = tmp_path / "serve.yaml"
    file.write_text(f"directories: [pay]\nalerts: {{url: '{url}'}}\n")
    with pytest.raises(DefinitionError, match="must be the http or https URL"):
        load_serve_file(file)
    file.write_text("directories: [pay]\nalerts: {url: 'https://ops.example/hook', secret: alerts.key}\n")
    hook = load_serve_file(file).alerts
    assert hook is not None
    assert (hook.url, hook.secret) == ("https://ops.example/hook", str(tmp_path / "alerts.key"))
