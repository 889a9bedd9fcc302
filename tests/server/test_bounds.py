"""Where the guide says how much is taken at most: that much is, and one more is refused."""

from __future__ import annotations

import asyncio
import re
import socket
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="the extra [serve] is not installed")
pytest.importorskip("httpx2", reason="httpx2 is not installed")

from fastapi.testclient import TestClient

from tdqsim import Region, define_tdqueue
from tdqsim.errors import TdqError
from tdqsim.facts import table
from tdqsim.ibmi import System
from tdqsim.server.host import Host
from tdqsim.server.http import Gate, application
from tdqsim.server.listening import HttpServer, http_config
from tdqsim.server.users import TooManySignOns, User, Users, hashed

REGION, SYSTEM = "/api/v1/regions/PAYREGN", "/api/v1/systems/PAYSYS"
QUEUE, DATA_QUEUE = f"{REGION}/queues/PAYQ", f"{SYSTEM}/queues/QGPL/ORDERS"
TEXT = {"text": "x"}


@pytest.fixture
def host():
    host = Host(frozen=True)
    host.add(Region, [define_tdqueue(name="PAYQ", type="INTRA")], applid="PAYREGN")
    system = host.add_system(System, "PAYSYS")

    def make():
        with system.job(user="QSECOFR") as job:
            job.crtdtaq("QGPL/ORDERS", maxlen=10)
            job.qsnddtaq("QGPL/ORDERS", data=b"x")

    host.engine.submit(make).result(timeout=300)
    yield host
    host.stop()


@pytest.fixture
def api(host):
    headers = {"Authorization": "Bearer all", "Host": "127.0.0.1:80"}
    with TestClient(application(host, Gate(token="all")), headers=headers, base_url="http://127.0.0.1") as client:
        yield client


@pytest.mark.parametrize(
    ("method", "path", "asked", "most"),
    [
        ("GET", f"{QUEUE}/records", lambda most: {"params": {"limit": most}}, 1000),
        ("GET", f"{REGION}/queues", lambda most: {"params": {"limit": most}}, 1000),
        ("GET", f"{SYSTEM}/queues", lambda most: {"params": {"limit": most}}, 1000),
        ("GET", f"{DATA_QUEUE}/entries", lambda most: {"params": {"limit": most}}, 1000),
        ("POST", f"{QUEUE}/read", lambda most: {"params": {"count": most}}, 1000),
        ("POST", f"{QUEUE}/records", lambda most: {"json": [TEXT] * most}, 1000),
        ("POST", f"{QUEUE}/seed", lambda most: {"json": [TEXT] * most}, 1000),
        ("POST", f"{REGION}/units-of-work", lambda most: {"params": {"idle_seconds": most}}, 3600),
        ("POST", f"{REGION}/wait", lambda most: {"json": {"queue": "PAYQ", "seconds": most}}, 300),
        ("POST", f"{DATA_QUEUE}/receive", lambda most: {"json": {"wait": most}}, 300),
        ("PUT", f"{REGION}/snapshot", lambda most: {"json": {"queues": {"PAYQ": {"records": [TEXT] * most}}}}, 10_000),
    ],
)
def test_that_much_is_taken_and_one_more_is_not(api, method, path, asked, most):
    assert api.post(f"{QUEUE}/records", json=TEXT).status_code == 201
    assert api.request(method, path, **asked(most)).is_success
    assert api.request(method, path, **asked(most + 1)).status_code == 422


def test_a_snapshot_has_at_most_ten_thousand_records(api, host):
    region = host.regions["PAYREGN"]
    host.engine.submit(lambda: region.seed("PAYQ", [b"x"] * 10_000)).result(timeout=300)
    assert len(api.get(f"{REGION}/snapshot").json()["queues"]["PAYQ"]["records"]) == 10_000
    assert api.post(f"{QUEUE}/records", json=TEXT).status_code == 201
    refused = api.get(f"{REGION}/snapshot")
    assert (refused.status_code, "10001 records" in refused.json()["detail"]) == (409, True)


def test_a_body_has_at_most_four_mebibytes(api):
    def body(length):
        made = b'{"text": "WRITEQ TD QUEUE(\'PAYQ\') FROM(R)", "variables": {"R": "'
        return {
            "content": made + b"x" * (length - len(made) - 3) + b'"}}',
            "headers": {"Content-Type": "application/json"},
        }

    assert api.post(f"{REGION}/exec", **body(4 * 1024 * 1024)).status_code != 413
    assert api.post(f"{REGION}/exec", **body(4 * 1024 * 1024 + 1)).status_code == 413


def test_a_unit_of_work_that_nobody_asks_for_a_minute_is_backed_out(api):
    unit = api.post(f"{REGION}/units-of-work").json()["id"]
    write = {"text": "WRITEQ TD QUEUE('PAYQ') FROM('A')"}
    assert api.post(f"/api/v1/units-of-work/{unit}/exec", json=write).status_code == 200
    api.post("/api/v1/clock", params={"advance": 59})
    assert api.post(f"/api/v1/units-of-work/{unit}/exec", json=write).status_code == 200
    api.post("/api/v1/clock", params={"advance": 60})
    assert api.post(f"/api/v1/units-of-work/{unit}/exec", json=write).status_code == 404


def test_a_thousand_units_of_work_are_open_at_most(host):
    region = host.regions["PAYREGN"]
    units = [host.units.begin(region, "CICSUSER").result(timeout=300) for _ in range(1000)]
    for unit in units[:2]:  # one that has ended makes room for one more, each time
        with pytest.raises(TdqError, match="1000 units of work are open"):
            host.units.begin(region, "CICSUSER")
        host.units.do(unit, "CICSUSER", lambda task: task.syncpoint(), last=True).result(timeout=300)
        host.engine.submit(lambda: None).result(timeout=300)  # the unit of work ends after its answer
        assert host.units.owner(unit) == ""
        host.units.begin(region, "CICSUSER").result(timeout=300)


def test_the_clock_goes_to_the_end_of_2199(api):
    def left() -> float:
        return 7_258_118_400 - api.get("/api/v1/clock").json()["time_ns"] / 10**9  # 2200-01-01T00:00:00Z

    while left() > 10**9:  # as far as one request goes
        assert api.post("/api/v1/clock", params={"advance": 10**9}).is_success
    assert api.post("/api/v1/clock", params={"advance": left() + 0.001}).status_code == 409
    assert api.post("/api/v1/clock", params={"advance": left()}).is_success


def test_a_session_lives_twelve_hours_and_ends_after_an_hour_without_use():
    now = [0.0]
    sessions = Gate().sessions
    sessions._now = lambda: now[0]
    used, _ = sessions.begin("A", cookie=False)
    idle, _ = sessions.begin("A", cookie=False)
    now[0] = 3600.0
    assert sessions.find(idle, cookie=False) is not None
    for hour in range(1, 24):
        now[0] = hour * 1800.0
        assert sessions.find(used, cookie=False) is not None
    assert sessions.find(idle, cookie=False) is None
    now[0] = 43_200.0
    assert sessions.find(used, cookie=False) is not None
    now[0] = 43_201.0
    assert sessions.find(used, cookie=False) is None
    assert len(sessions) == 0  # what has ended is not kept


@pytest.mark.parametrize(
    ("users", "origins", "most"), [(["A"], ["one"], 5), ([f"U{each}" for each in range(99)], ["one"], 30),
                                   (["A"], [str(each) for each in range(99)], 100)],
)  # fmt: skip
def test_so_many_sign_ons_may_fail_within_a_minute(users, origins, most):
    now = [0.0]
    counted = Users(now=lambda: now[0])
    tries = ((user, origin) for _ in range(99) for user in users for origin in origins)
    for _ in range(most):
        counted.admit(*next(tries))
        now[0] = 30.0  # the minute is that of the first one
    last = next(tries)
    now[0] = 59.0
    with pytest.raises(TooManySignOns) as refused:
        counted.admit(*last)
    assert refused.value.seconds == 1
    now[0] = 61.0
    counted.admit(*last)


def test_a_password_has_256_characters_at_most():
    longest = "p" * 256
    users = Users([User("ALICE", password=hashed(longest))])
    assert users.authenticate("ALICE", longest).id == "ALICE"
    with pytest.raises(TdqError, match="1 to 256"):
        hashed(longest + "p")


@pytest.mark.parametrize(
    ("cost", "name"), [("m={},t=3,p=4", 262_144), ("m=65536,t={},p=4", 16), ("m=65536,t=3,p={}", 16)]
)
def test_a_hash_asks_for_no_more_than_the_machine_has_left_for_it(tmp_path, cost, name):
    for given, good in ((name, True), (name + 1, False)):
        kept = f"$argon2id$v=19${cost.format(given)}$c29tZXNhbHQ$RdescudvJCsgt3ub+b2dWRWJTmaaObG"
        path = tmp_path / f"{given}.yaml"
        path.write_text(f"users:\n- {{id: A, roles: [look], password: '{kept}'}}\n")
        path.chmod(0o600)
        if good:
            assert Users.load(path).get("A") is not None
        else:
            with pytest.raises(TdqError, match=f"at most {name} is allowed"):
                Users.load(path)


def test_jobs_come_by_the_hundred_the_last_ones_unless_asked(tmp_path):
    host = Host()
    try:
        reader = define_tdqueue(name="JOBQ", type="EXTRA", typefile="OUTPUT", ddname="RDR")
        dd = {"RDR": {"sysout": "A,INTRDR"}}
        region = host.add(Region, [reader], applid="PAYREGN", dd=dd, datasets=tmp_path)

        def submit():
            for number in range(103):
                for card in (f"//J{number:03} JOB (1)", "/*EOF"):
                    region.writeq_td("JOBQ", card.encode("cp037"))

        host.engine.submit(submit).result(timeout=300)
        headers = {"Authorization": "Bearer all", "Host": "127.0.0.1:80"}
        with TestClient(application(host, Gate(token="all")), headers=headers, base_url="http://127.0.0.1") as api:
            for params, first, last in (({}, 3, 102), ({"position": 0}, 0, 99), ({"position": 100}, 100, 102)):
                names = [each["name"] for each in api.get(f"{REGION}/jobs", params=params).json()]
                assert names == [f"J{number:03}" for number in range(first, last + 1)]
    finally:
        host.stop()


def test_the_guide_says_how_long_and_how_many_connections_live():
    """Behaviour is tested with less of both; these are the numbers that a server has."""
    text = (Path(__file__).parents[2] / "src/tdqsim/guide/serve.md").read_text("utf-8")
    said = re.search(r"does not read the data sent to it for ([0-9]+) seconds .* beyond\s+([0-9,]+) ", text)
    assert said is not None
    bounds = {row["name"]: int(row["value"]) for row in table("server")}
    assert [bounds["answer_seconds"], bounds["connections"]] == [int(each.replace(",", "")) for each in said.groups()]


@contextmanager
def served(host):
    """The port of a server in a thread."""
    listens = threading.Event()
    http = HttpServer(http_config(application(host, Gate(token="all")), host="127.0.0.1", port=0), listens.set)
    thread = threading.Thread(target=asyncio.run, args=[http.serve()])
    thread.start()
    try:
        assert listens.wait(300)
        yield http.servers[0].sockets[0].getsockname()[1]
    finally:
        http.should_exit = True
        thread.join(300)


@pytest.mark.parametrize("more", [0, 1])
def test_a_body_that_does_not_say_its_length_is_bounded_too(host, more):
    """It comes over a socket, in chunks of 64 KiB without Content-Length; a client in the process would join them."""
    with served(host) as port, socket.create_connection(("127.0.0.1", port), timeout=300) as client:
        client.sendall(
            f"POST {REGION}/exec HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer all\r\n"
            "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
        )
        for _ in range(64):
            client.sendall(b"10000\r\n" + b"x" * 65536 + b"\r\n")
        client.sendall(b"1\r\nx\r\n" if more else b"0\r\n\r\n")  # the longer one is refused before its end
        answer = client.makefile("rb").readline()
    assert answer.startswith(b"HTTP/1.1 413 " if more else b"HTTP/1.1 422 ")
