"""The JSON API, asked as a client asks it, and the process around it."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from time import perf_counter

import pytest

pytest.importorskip("fastapi", reason="the extra [serve] is not installed")
pytest.importorskip("httpx2", reason="httpx2 is not installed")

from fastapi.testclient import TestClient

from tdqsim import Region, define_tdqueue, define_transaction
from tdqsim.cics import Abend
from tdqsim.client import Client, RemoteError
from tdqsim.errors import TdqError
from tdqsim.server.host import Host
from tdqsim.server.http import Gate, application, events
from tdqsim.server.open_units import UnknownUnit
from tdqsim.server.servefile import serve_file
from tdqsim.server.serving import serve
from tdqsim.server.users import Role, User, Users

DEFINITIONS = [
    define_tdqueue(name="PAYQ", type="INTRA"),
    define_tdqueue(name="LOGQ", type="INTRA", recovstatus="LOGICAL"),
    define_tdqueue(name="TRGQ", type="INTRA", atifacility="FILE", transid="TRGT", triggerlevel=2),
    define_transaction(name="TRGT"),
]


@pytest.fixture
def host():
    host = Host()
    host.add(Region, DEFINITIONS, applid="PAYREGN")
    yield host
    host.stop()


@pytest.fixture
def access():
    return Gate(Users([User("EYES", frozenset({Role.look}))]), token="all")


@pytest.fixture
def api(host, access):
    headers = {"Authorization": "Bearer all", "Host": "127.0.0.1:80"}
    with TestClient(application(host, access), headers=headers, base_url="http://127.0.0.1") as client:
        yield client


QUEUE = "/api/v1/regions/PAYREGN/queues/PAYQ"


def test_records_go_in_and_come_out(api):
    assert api.post(f"{QUEUE}/records", json={"text": "10.00"}).status_code == 201
    assert api.post(f"{QUEUE}/records", json={"hex": "C1C2"}).status_code == 201
    assert api.get(f"{QUEUE}/records").json()["records"] == ["10.00", "AB"]
    assert api.get(f"{QUEUE}/records", params={"encoding": "hex", "position": 1}).json()["records"] == ["C1C2"]
    assert api.post(f"{QUEUE}/read").json() == {"record": "10.00", "length": 5}
    assert api.delete(f"{QUEUE}/records").status_code == 204
    assert api.get(QUEUE).json()["NUMITEMS"] == 0


def test_inquire_tdqueue_gives_the_options_that_are_asked_for(api):
    answer = api.get(QUEUE, params={"options": "numitems, TRIGGERLEVEL"})
    assert set(answer.json()) == {"name", "NUMITEMS", "TRIGGERLEVEL"}
    assert len(api.get(QUEUE).json()) == 40
    refused = api.get(QUEUE, params={"options": "NUMITEM"})
    assert refused.status_code == 409
    assert refused.json()["detail"] == "options: NUMITEM is no option of INQUIRE TDQUEUE; did you mean NUMITEMS?"


def test_a_condition_is_a_problem_with_its_numbers(api):
    answer = api.post(f"{QUEUE}/read")
    assert answer.status_code == 409
    assert answer.headers["content-type"] == "application/problem+json"
    assert {key: answer.json()[key] for key in ("condition", "resp", "command")} == {
        "condition": "QZERO", "resp": 23, "command": "READQ TD"
    }  # fmt: skip
    assert api.get("/api/v1/regions/PAYREGN/queues/NONE").status_code == 404
    assert api.get("/api/v1/regions/NOWHERE").status_code == 404


def test_a_problem_names_the_rule_that_no_page_confirms(api):
    assert "unconfirmed_rules" not in api.post(f"{QUEUE}/read").json()  # QZERO stands on a page
    assert api.patch(QUEUE, json={"ENABLESTATUS": "DISABLED"}).status_code == 200
    assert api.post(f"{QUEUE}/read").json()["unconfirmed_rules"] == {"TD-DISABLED": "unconfirmed"}
    explained = api.get(f"{QUEUE}/explain").json()
    assert explained["commands"]["READQ TD"]["unconfirmed_rules"] == {"TD-DISABLED": "unconfirmed"}
    assert "(rule TD-DISABLED, unconfirmed)" in explained["explanation"]


def test_text_with_variables(api):
    statement = {"text": "WRITEQ TD QUEUE('PAYQ') FROM(REC) RESP(R)", "variables": {"REC": {"text": "hello"}}}
    assert api.post("/api/v1/regions/PAYREGN/exec", json=statement).json()["variables"]["R"] == 0
    read = {"text": "READQ TD QUEUE('PAYQ') INTO(REC) LENGTH(N) RESP(R)"}
    found = api.post("/api/v1/regions/PAYREGN/exec", json=read).json()
    assert (found["condition"], found["received"]["LENGTH"], found["received"]["INTO"]["text"]) == (
        "NORMAL",
        5,
        "hello",
    )


def test_a_unit_of_work_stays_open_and_is_committed(api):
    unit = api.post("/api/v1/regions/PAYREGN/units-of-work").json()["id"]
    write = {"text": "WRITEQ TD QUEUE('LOGQ') FROM(REC)", "variables": {"REC": {"text": "one"}}}
    assert api.post(f"/api/v1/units-of-work/{unit}/exec", json=write).status_code == 200
    queue = "/api/v1/regions/PAYREGN/queues/LOGQ"
    assert api.get(queue).json()["NUMITEMS"] == 0
    assert api.post(f"/api/v1/units-of-work/{unit}/commit").json() == {"committed": True}
    assert api.get(queue).json()["NUMITEMS"] == 1
    assert api.post(f"/api/v1/units-of-work/{unit}/exec", json=write).status_code == 404


def test_a_unit_of_work_is_backed_out(api):
    unit = api.post("/api/v1/regions/PAYREGN/units-of-work").json()["id"]
    write = {"text": "WRITEQ TD QUEUE('LOGQ') FROM(REC)", "variables": {"REC": {"text": "one"}}}
    api.post(f"/api/v1/units-of-work/{unit}/exec", json=write)
    assert api.delete(f"/api/v1/units-of-work/{unit}").status_code == 204
    assert api.get("/api/v1/regions/PAYREGN/queues/LOGQ/records").json()["records"] == []


def test_an_idle_unit_of_work_is_backed_out_by_time(api, host):
    began_ns = api.post("/api/v1/clock", params={"frozen": True}).json()["time_ns"]
    unit = api.post("/api/v1/regions/PAYREGN/units-of-work", params={"idle_seconds": 5}).json()["id"]
    write = {"text": "WRITEQ TD QUEUE('LOGQ') FROM(REC)", "variables": {"REC": {"text": "one"}}}
    api.post(f"/api/v1/units-of-work/{unit}/exec", json=write)
    assert api.post("/api/v1/clock", params={"advance": 6}).json()["time_ns"] == began_ns + 6_000_000_000
    assert api.post("/api/v1/regions/PAYREGN/wait", json={"tasks_ended": True}).json() == {"met": True}
    assert api.post(f"/api/v1/units-of-work/{unit}/commit").status_code == 404
    assert api.get("/api/v1/regions/PAYREGN/queues/LOGQ/records").json()["records"] == []


def test_set_and_the_vendors_refusal(api):
    assert api.patch(QUEUE, json={"ENABLESTATUS": "DISABLED"}).json()["ENABLESTATUS"]["cvda"] == "DISABLED"
    answer = api.post(f"{QUEUE}/records", json={"text": "x"})
    assert (answer.status_code, answer.json()["condition"]) == (409, "DISABLED")


def test_a_refusal_names_fields_and_values_and_nothing_of_python(api):
    refused = {
        ("PATCH", QUEUE): ({"ENABLESTATUS": "MAYBE"}, "body.ENABLESTATUS: Input should be 'ENABLED' or 'DISABLED'"),
        ("POST", f"{QUEUE}/records"): ({"hex": "C1ZZ"}, "body.hex: String should match pattern"),
        ("POST", "/api/v1/regions/PAYREGN/wait"): ({"condition": "NOSUCH"}, "body.condition: is not a condition"),
    }
    for (method, path), (body, text) in refused.items():
        answer = api.request(method, path, json=body)
        assert (answer.status_code, text in answer.json()["detail"]) == (422, True), answer.text
        assert not re.search(r"_?[A-Z]\w+\.|literal|\bint:", answer.json()["detail"]), answer.text
    answer = api.post(
        "/api/v1/regions/PAYREGN/exec",
        json={"text": "SET TDQUEUE('PAYQ') ENABLESTATUS(S)", "variables": {"S": "MAYBE"}},
    )
    assert "ENABLESTATUS must be a CVDA, by its name or number, not 'MAYBE'" in answer.json()["detail"]


def test_a_word_of_set_may_be_in_small_letters(api):
    assert api.patch(QUEUE, json={"ENABLESTATUS": "disabled"}).json()["ENABLESTATUS"]["cvda"] == "DISABLED"


def test_tasks_of_the_api_have_a_transaction_id_of_their_own(api):
    api.post("/api/v1/regions/PAYREGN/units-of-work")
    assert [each["transid"] for each in api.get("/api/v1/regions/PAYREGN/tasks").json()] == ["TAPI"]


def test_a_wait_for_a_condition_and_for_the_end_of_a_task(api):
    unit = api.post("/api/v1/regions/PAYREGN/units-of-work").json()["id"]
    (task,) = (each["task"] for each in api.get("/api/v1/regions/PAYREGN/tasks").json())
    wait = "/api/v1/regions/PAYREGN/wait"
    assert api.post(wait, json={"task": task, "seconds": 0.01}).status_code == 504
    api.delete(f"/api/v1/units-of-work/{unit}")
    assert api.post(wait, json={"task": task}).json() == {"met": True}
    assert api.post(wait, json={"condition": "QZERO", "seconds": 0.01}).status_code == 504
    api.post(f"{QUEUE}/read")
    assert api.post(wait, json={"condition": "QZERO", "position": 0}).json() == {"met": True}
    run = history_of(api)[0][1]["run"]
    assert api.post(wait, json={"condition": "QZERO", "position": 0, "run": run}).json() == {"met": True}
    refused = api.post(wait, json={"condition": "QZERO", "position": 0, "run": "0" * 8})
    assert (refused.status_code, refused.json()["run"]) == (409, run)
    assert api.post(wait, json={"queue": "PAYQ", "at_most": 0}).json() == {"met": True}
    api.post(f"{QUEUE}/records", json={"text": "one"})
    assert api.post(wait, json={"queue": "PAYQ", "at_most": 0, "seconds": 0.01}).status_code == 504


def test_a_trigger_runs_its_handler_and_a_client_waits_for_it(api, host):
    region = host.regions["PAYREGN"]
    host.engine.outside(
        lambda: region.register("TRGT", lambda task: task.writeq_td("PAYQ", task.readq_td("TRGQ")))
    ).result()
    for text in ("one", "two"):
        api.post("/api/v1/regions/PAYREGN/queues/TRGQ/records", json={"text": text})
    assert api.post("/api/v1/regions/PAYREGN/wait", json={"queue": "PAYQ"}).json() == {"met": True}
    assert api.get(f"{QUEUE}/records").json()["records"] == ["one"]


def test_queues_come_in_pages(api):
    text = "".join(f"- {{name: PG{number}, type: INTRA}}\n" for number in (2, 0, 3, 1))
    given = {"text": f"group: PAGES\ntdqueue:\n{text}"}
    assert api.post("/api/v1/regions/PAYREGN/definitions", json=given).status_code == 201
    seen, after = [], ""
    while after is not None:
        params = {"limit": 2, "prefix": "PG", "after": after}
        page = api.get("/api/v1/regions/PAYREGN/queues", params=params).json()
        seen.append([each["name"] for each in page["queues"]])
        after = page["next"]
    assert seen == [["PG0", "PG1"], ["PG2", "PG3"]]


@pytest.mark.parametrize(
    ("headers", "status", "detail"),
    [
        ({"Authorization": ""}, 401, "sign on first"),
        ({"Authorization": "Bearer wrong"}, 401, "Authorization has no valid token; sign on first"),
        ({"Host": "evil.example"}, 421, ""),
        ({"Origin": "http://evil.example"}, 403, ""),
        ({"Content-Length": "99999999"}, 413, ""),
    ],
)
def test_who_may_not_ask(api, headers, status, detail):
    answer = api.get("/api/v1/regions", headers=headers)
    assert (answer.status_code, detail in answer.text) == (status, True)


def test_who_may_look_may_not_write(api, access):
    token, _session = access.sessions.begin("EYES", cookie=False)
    eyes = {"Authorization": f"Bearer {token}"}
    assert api.get(QUEUE, headers=eyes).status_code == 200
    assert api.post(f"{QUEUE}/records", json={"text": "x"}, headers=eyes).status_code == 403
    assert api.post("/api/v1/clock", params={"frozen": True}, headers=eyes).status_code == 403


@pytest.mark.parametrize("body", [{}, {"text": "a", "hex": "00"}, {"words": "a"}, {"text": 5}])
def test_a_body_that_is_no_record_is_refused(api, body):
    assert api.post(f"{QUEUE}/records", json=body).status_code == 422


@pytest.mark.parametrize(
    ("kind", "sent", "status", "detail"),
    [
        ("application/json", b'{"text": "one"}', 201, ""),
        ("application/json; charset=utf-8", b'{"text": "one"}', 201, ""),
        ("application/vnd.pay+json", '{"text": "one"}'.encode("utf-16"), 201, ""),
        ("text/plain", b'{"text": "one"}', 422, "the body must be application/json, and this is text/plain"),
        ("", b'{"text": "one"}', 422, "header.content-type: the body must be application/json, and this is not given"),
        ("application/json", b"", 422, "body: Field required"),
        ("application/json", b'{"text": ', 422, "body.9: JSON decode error: Expecting value"),
        ("application/json", b"[" * 100_000, 400, "There was an error parsing the body: maximum recursion depth"),
        ("application/json", b'{"text": "\xe9"}', 400, "'utf-8' codec can't decode byte 0xe9 in position 10"),
        ("application/json", b"null", 422, "body: Input should be a valid list"),
    ],
)
def test_a_body_is_json_by_its_content_type(api, kind, sent, status, detail):
    headers = {"Content-Type": kind} if kind else {}
    answer = api.post(f"{QUEUE}/records", content=sent, headers=headers)
    assert answer.status_code == status, answer.text
    assert detail in answer.json().get("detail", "")


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("", 200),
        ("?limit=1&position=0&encoding=hex&uncommitted=yes", 200),
        ("?limit=7&limit=1", 200),  # the last one counts
        ("?other=1", 200),
        ("?limit=", 422),
        ("?limit=1001", 422),
        ("?limit=1&limit=0", 422),
        ("?encoding=HEX", 422),
        ("?limt=1", 422),  # it would have no effect
        ("?Limit=1", 422),
    ],
)
def test_a_query_is_checked_and_has_defaults(api, query, status):
    for _ in range(2):
        api.post(f"{QUEUE}/records", json={"text": "A"})
    answer = api.get(f"{QUEUE}/records{query}")
    assert answer.status_code == status
    if status == 200:
        records = ["A", "A"] if query in ("", "?other=1") else ["C1"] if "hex" in query else ["A"]
        assert answer.json()["records"] == records


def test_a_condition_that_its_client_gets_is_backed_out_and_no_abend(api):
    recoverable = QUEUE.replace("PAYQ", "LOGQ")
    refused = api.post(f"{recoverable}/records", json=[{"text": "FIRST"}, {"text": "X" * 32_764}])
    assert refused.json()["condition"] == "LENGERR"
    assert api.post(f"{recoverable}/read").json()["condition"] == "QZERO"
    assert api.get("/api/v1/regions/PAYREGN/dumps").json() == []


def test_a_bad_record_names_what_is_wrong(api):
    answer = api.post(f"{QUEUE}/records", json={"hex": "C1C"})
    assert answer.status_code == 422
    assert "body.hex: String should match pattern" in answer.json()["detail"]


def test_metrics_health_and_the_document(api):
    api.post(f"{QUEUE}/records", json={"text": "x"})
    assert 'tdq_queue_items{queue="PAYQ",region="PAYREGN"} 1.0' in api.get("/metrics").text
    assert api.get("/health", headers={"Host": "LOCALHOST:8470"}).json() == {"status": "up"}
    assert api.get("/ready").status_code == 200
    assert "/api/v1/regions/{name}/exec" in api.get("/api/v1/openapi.json").json()["paths"]


def metrics_of(api):
    found = {}
    for line in api.get("/metrics").text.splitlines():
        if not line.startswith("#"):
            name, _, value = line.rpartition(" ")
            found[name] = float(value)
    return found


def test_metrics_tell_units_of_work_and_how_long_commits_took(api):
    before, begun = metrics_of(api), perf_counter()
    unit = api.post("/api/v1/regions/PAYREGN/units-of-work").json()["id"]
    statement = {"text": "WRITEQ TD QUEUE('LOGQ') FROM(REC)", "variables": {"REC": {"text": "paid"}}}
    assert api.post(f"/api/v1/units-of-work/{unit}/exec", json=statement).status_code == 200
    assert api.post(f"/api/v1/units-of-work/{unit}/commit").status_code == 200
    after_commit = metrics_of(api)
    committed = 'tdq_units_of_work_total{outcome="committed",region="PAYREGN"}'
    assert after_commit[committed] > before.get(committed, 0)
    count, infinite = (f'tdq_commit_seconds_{each}region="PAYREGN"}}' for each in ("count{", 'bucket{le="+Inf",'))
    assert after_commit[count] > before.get(count, 0)
    assert after_commit[count] == after_commit[infinite]
    classes = [value for name, value in after_commit.items() if name.startswith("tdq_commit_seconds_bucket")]
    assert classes == sorted(classes)
    took = 'tdq_commit_seconds_sum{region="PAYREGN"}'
    assert 0 < after_commit[took] - before.get(took, 0) <= perf_counter() - begun  # they are parts of that time

    unit = api.post("/api/v1/regions/PAYREGN/units-of-work").json()["id"]
    assert api.post(f"/api/v1/units-of-work/{unit}/exec", json=statement).status_code == 200
    assert api.delete(f"/api/v1/units-of-work/{unit}").status_code == 204
    backed_out = 'tdq_units_of_work_total{outcome="backed_out",region="PAYREGN"}'
    assert metrics_of(api)[backed_out] == after_commit.get(backed_out, 0) + 1


def test_metrics_tell_waits_and_sessions(api, host, access):
    assert metrics_of(api)['tdq_waits{region="PAYREGN"}'] == 0
    waiting = host.waits.for_items(host.regions["PAYREGN"], "PAYQ", 5, 300)
    host.units.begin(host.regions["PAYREGN"], "ALICE", None).result(timeout=300)
    for _ in range(3):
        access.sessions.begin("EYES", cookie=False)
    found = metrics_of(api)
    assert found['tdq_waits{region="PAYREGN"}'] == 1  # the task that waits for its client's next request
    assert found['tdq_tasks{region="PAYREGN"}'] == 1
    assert found["tdq_requests_waiting"] == 1
    assert found["tdq_sessions"] == 3
    waiting.cancel()


@pytest.fixture
def served(tmp_path, request):
    """A server in a process of its own, over a region directory; the parameter is how long it waits for a request."""
    (tmp_path / "region.yaml").write_text("applid: PAYREGN\ndefinitions: [pay.yaml]\n")
    (tmp_path / "pay.yaml").write_text("group: PAY\ntdqueue:\n- {name: PAYQ, type: INTRA, recovstatus: PHYSICAL}\n")
    ready = tmp_path / "ready.json"
    command = [sys.executable, "-c", _SERVE, str(tmp_path), str(ready), str(getattr(request, "param", 300))]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert any(line.strip() == "ready" for line in process.stdout)
    yield process, ready
    if process.poll() is None:
        process.kill()
    process.wait()
    process.stdout.close()


_SERVE = """
import sys
from pathlib import Path
from tdqsim.server.servefile import serve_file
from tdqsim.server.serving import serve
sys.exit(serve(serve_file([Path(sys.argv[1])], Path(sys.argv[1]) / "store"), ready_file=Path(sys.argv[2]),
               request_seconds=float(sys.argv[3]), started=lambda _served: print("ready", flush=True)))
"""


def test_a_process_serves_a_directory_and_ends_in_order(served):
    process, ready = served
    assert ready.stat().st_mode & 0o777 == 0o600
    with Client.from_ready_file(ready) as client:
        assert [region["applid"] for region in client.regions()] == ["PAYREGN"]
        region = client.region("PAYREGN")
        region.writeq_td("PAYQ", b"\xc1\xc2")
        assert region.peek("PAYQ") == [b"\xc1\xc2"]
        with pytest.raises(RemoteError) as caught:
            region.readq_td("NONE")
        assert (caught.value.status, caught.value.condition, caught.value.resp) == (404, "QIDERR", 44)
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=300) == 0
    assert not ready.exists()
    with Region(store=Path(ready).parent / "store") as again:
        assert again.recovery.start_type == "WARM"
        assert again.peek("PAYQ") == [b"\xc1\xc2"]


def test_the_ready_file_says_where_and_who(served):
    process, ready = served
    found = json.loads(ready.read_text())
    assert found["pid"] == process.pid != os.getpid()
    assert found["url"].startswith("http://127.0.0.1:")


def test_a_server_that_does_not_start_leaves_the_ready_file_of_one_that_runs(served):
    process, ready = served
    there = ready.read_text()
    with pytest.raises(TdqError, match="in use"):
        serve(serve_file([ready.parent], ready.parent / "store"), ready_file=ready)
    assert ready.read_text() == there
    process.kill()
    process.wait()
    broken = ready.parent / "broken"
    broken.mkdir()
    with pytest.raises(TdqError):
        serve(serve_file([broken]), ready_file=ready)
    assert not ready.exists()  # its server was killed: who waits for the file waits for the next


@pytest.mark.parametrize("name", ["none/ready.json", "."])
def test_a_ready_file_that_cannot_be_written_is_told_before_anything_is_served(tmp_path, name):
    (tmp_path / "region.yaml").write_text("applid: PAYREGN\n")
    started = []
    with pytest.raises(TdqError, match=r"ready file .*: (cannot be written|is a directory)"):
        serve(serve_file([tmp_path]), ready_file=tmp_path / name, started=started.append)
    assert not started
    assert [each.name for each in tmp_path.iterdir()] == ["region.yaml"]


def connected(ready):
    found = json.loads(ready.read_text())
    host, port = found["url"].removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=300), found["token"]


def all_of(connection):
    return b"".join(iter(lambda: connection.recv(65536), b""))


@pytest.mark.parametrize("served", [1], indirect=True)
@pytest.mark.parametrize("sent", [b"", b"GET /api/v1/reg", b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n"])
def test_a_request_whose_head_never_ends_is_cut_off(served, sent):
    connection, _token = connected(served[1])
    with connection:
        connection.sendall(sent)
        assert all_of(connection) == b""


@pytest.mark.parametrize("served", [1], indirect=True)
def test_a_body_that_never_comes_is_cut_off_and_the_next_client_is_served(served):
    connection, token = connected(served[1])
    with connection:
        head = f"POST {QUEUE}/records HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n"
        connection.sendall(f'{head}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{{"te'.encode())
        answer = all_of(connection)
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"application/problem+json" in answer
    with Client.from_ready_file(served[1]) as client:
        assert client.region("PAYREGN").peek("PAYQ") == []


def test_the_event_stream_ends_when_the_server_stops(served):
    process, ready = served
    connection, token = connected(ready)
    with connection:
        connection.sendall(
            f"GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
        )
        seen = b""
        while b": listening" not in seen:
            seen += connection.recv(65536)
        process.send_signal(signal.SIGTERM)
        seen += all_of(connection)
    assert seen.endswith(b"0\r\n\r\n")  # the end of a chunked answer, not a connection that is cut
    assert process.wait(timeout=300) == 0


def history_of(api, **query):
    text = api.get("/api/v1/regions/PAYREGN/history", params={"follow": "false", **query}).text
    found = []
    for block in text.split("\n\n")[:-1]:
        fields = dict(line.split(": ", 1) for line in block.splitlines())
        assert json.loads(fields["data"])["event"] == fields["event"]
        event = json.loads(fields["data"])
        if "id" in fields:
            run, position = fields["id"].split("-")
            assert (run, int(position)) == (event["run"], event["position"])
        found.append((event.get("position"), event))
    return found


def test_the_history_goes_on_from_a_position(api):
    for word in ("one", "two"):
        api.post(f"{QUEUE}/records", json={"text": word})
    every = history_of(api)
    assert [position for position, _event in every] == list(range(len(every)))
    writes = [position for position, event in every if event.get("command") == "WRITEQ TD"]
    assert len(writes) == 2
    assert history_of(api, position=writes[1]) == every[writes[1] :]
    assert history_of(api, position=10**9) == []
    (run,) = {event["run"] for _position, event in every}
    assert history_of(api, position=writes[1], run=run) == every[writes[1] :]
    after = {run: {"Last-Event-ID": f"{run}-{writes[1]}"} for run in (run, "0" * 8)}
    again = api.get("/api/v1/regions/PAYREGN/history", params={"follow": "false"}, headers=after[run])
    assert again.text.startswith("event: ") == (writes[1] + 1 < len(every))
    assert f"id: {run}-{writes[1]}\n" not in again.text
    for follow, position, headers in (
        ("false", {"position": 1, "run": "0" * 8}, {}),
        ("true", {"position": 1, "run": "0" * 8}, {}),
        ("true", {}, after["0" * 8]),
        ("true", {"run": run}, after["0" * 8]),
    ):
        refused = api.get("/api/v1/regions/PAYREGN/history", params={"follow": follow, **position}, headers=headers)
        assert (refused.status_code, refused.json()["run"]) == (409, run)
        assert f"of run 00000000, but the present run is {run}" in refused.json()["detail"]
    assert api.get("/api/v1/regions/PAYREGN/history", params={"position": -1}).status_code == 422
    assert api.get("/api/v1/regions/NONE/history").status_code == 404


async def followed(api, sent, query=b"", headers=(), path="/api/v1/regions/PAYREGN/history"):
    """What a follower of the history gets, until ``sent``, which is called with each message, returns True."""
    parts, ended, looks = [], asyncio.Event(), iter(range(100))

    async def receive():
        next(looks)  # whether the client is still there: asked once each time that the stream is woken
        await ended.wait()
        return {"type": "http.disconnect"}

    async def send(message):
        parts.append(message.get("body", b"").decode())
        if await sent(message, parts):
            ended.set()

    headers = [(b"host", b"127.0.0.1:80"), (b"authorization", b"Bearer all")]
    scope = {"type": "http", "method": "GET", "path": path, "query_string": query, "headers": headers}
    about = {"asgi": {"version": "3.0", "spec_version": "2.4"}, "http_version": "1.1", "scheme": "http"}
    place = {"server": ("127.0.0.1", 80), "client": ("127.0.0.1", 50000), "root_path": ""}
    await api.app(scope | about | place, receive, send)
    return positions_of("".join(parts)), "".join(parts)


def positions_of(text):
    """The positions in the ids of the events of a history."""
    return [int(line.partition("-")[2]) for line in text.splitlines() if line.startswith("id: ")]


@pytest.mark.parametrize("meanwhile", [1, 0])
@pytest.mark.parametrize("before", [1, 0])
def test_a_follower_gets_each_event_once_also_those_that_happen_while_it_begins(api, before, meanwhile):
    def write(word):
        assert api.post(f"{QUEUE}/records", json={"text": word}).status_code == 201

    async def sent(message, parts):
        written = "".join(parts).count('"command": "WRITEQ TD"')
        if parts[-1] == ": listening\n\n":  # the server collects new events, and has not yet read the past ones
            for _ in range(meanwhile):
                await asyncio.to_thread(write, "meanwhile")
        elif written > before + meanwhile:
            return True
        elif message["type"] == "http.response.body":  # it has sent the past ones
            await asyncio.to_thread(write, "afterwards")
        return False

    for _ in range(before):
        write("before")
    ids, text = api.portal.call(followed, api, sent)
    assert ids == list(range(len(ids)))
    assert text.count('"command": "WRITEQ TD"') == before + meanwhile + 1


def test_a_follower_from_a_later_position_than_there_is_gets_all_events(api):
    """A client that connects again after the server was restarted, and does not name the run."""
    api.post(f"{QUEUE}/records", json={"text": "one"})
    every = [position for position, _event in history_of(api)]

    async def sent(_message, parts):
        return "id: " in parts[-1]

    ids, _text = api.portal.call(followed, api, sent, b"position=99")
    assert ids == every


def test_a_second_follower_from_the_end_of_the_first_gets_only_what_is_new(api):
    api.post(f"{QUEUE}/records", json={"text": "one"})
    end = history_of(api)[-1][0] + 1

    async def sent(message, parts):
        if "id: " in parts[-1]:
            return True
        if message["type"] == "http.response.body" and parts[-1] != ": listening\n\n":  # no past ones
            await asyncio.to_thread(api.post, f"{QUEUE}/records", json={"text": "two"})
        return False

    ids, _text = api.portal.call(followed, api, sent, b"position=%d" % end)
    assert ids[0] == end


def test_a_follower_that_reads_too_slowly_is_told_of_lost_events_once_each_time_and_is_forgotten(
    api, host, monkeypatch
):
    monkeypatch.setattr(events, "_STILL_HERE", 0.01)
    region, made, lost = host.regions["PAYREGN"], [], []
    subscribe = host.engine.subscribe
    monkeypatch.setattr(host.engine, "subscribe", lambda **given: made.append(subscribe(limit=3, **given)) or made[-1])

    async def seed(count):
        await host.ask(lambda: [region.seed("PAYQ", [b"x"]) for _ in range(count)] and None)

    async def sent(_message, parts):
        if parts[-1].startswith("event: "):
            lost.append(re.findall(r'"event": "lost", "events": ([0-9]+)', parts[-1]))
        elif not parts[-1].startswith(":"):
            return False
        if len(lost) < 3:
            await seed((5, 7, 2)[len(lost)])
        return len(lost) == 3 and parts[-1] == ": still here\n\n"

    api.portal.call(partial(followed, api, sent, path="/api/v1/events"))
    assert lost == [["2"], ["4"], []]
    made[0].take()
    host.engine.submit(lambda: region.seed("PAYQ", [b"x"])).result(timeout=300)
    assert made[0].take() == []


def test_history_that_is_kept_no_more_is_said_to_be_lost(api, host):
    region = host.regions["PAYREGN"]
    host.engine.submit(lambda: [region.seed("PAYQ", [b"x"]) for _ in range(5100)] and None).result(timeout=300)
    (nobody, lost), (first, _event), *others = history_of(api)
    assert (nobody, lost) == (None, {"event": "lost", "events": first})
    assert first >= 100
    assert history_of(api, position=50)[0] == (None, {"event": "lost", "events": first - 50})
    assert len(others) + 1 == 5000
    assert others[-1][0] == first + 4999


def test_the_history_goes_on_with_what_happens(served):
    _process, ready = served
    with Client.from_ready_file(ready) as client:
        client.region("PAYREGN").writeq_td("PAYQ", b"before")
        connection, token = connected(ready)
        with connection:
            path = "/api/v1/regions/PAYREGN/history"
            connection.sendall(
                f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
            )
            seen = b""
            while seen.count(b'"WRITEQ TD"') < 1:
                seen += connection.recv(65536)
            client.region("PAYREGN").writeq_td("PAYQ", b"after")
            while seen.count(b'"WRITEQ TD"') < 2:
                seen += connection.recv(65536)
    positions = positions_of(seen.decode())
    assert positions == list(range(len(positions)))  # none twice, none left out


def test_tasks_tell_what_they_wait_for_and_who_has_it(api):
    units = [api.post("/api/v1/regions/PAYREGN/units-of-work").json()["id"] for _ in range(2)]
    statement = {"text": "WRITEQ TD QUEUE('LOGQ') FROM(REC)", "variables": {"REC": {"text": "paid"}}}
    assert api.post(f"/api/v1/units-of-work/{units[0]}/exec", json=statement).status_code == 200
    tasks = "/api/v1/regions/PAYREGN/tasks"
    first, second = (each["task"] for each in api.get(tasks).json())
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(api.post, f"/api/v1/units-of-work/{units[1]}/exec", json=statement)
        found = {}
        while found.get("held_by", "") == "":
            found = next(each for each in api.get(tasks).json() if each["task"] == second)
        assert "LOGQ" in found["waits_for"]
        assert found["held_by"].startswith(f"task {first} ")
        assert api.post(f"/api/v1/units-of-work/{units[0]}/commit").status_code == 200
        assert waiting.result(timeout=300).status_code == 200
    for unit in units[1:]:
        api.delete(f"/api/v1/units-of-work/{unit}")


def test_requests_behind_one_that_was_given_up_are_answered_when_their_task_is_purged(host):
    region = host.regions["PAYREGN"]
    units, write = host.units, lambda task: task.writeq_td("LOGQ", b"x")

    def do(call):
        return host.engine.submit(call).result(timeout=300)

    first, second = (units.begin(region, "CICSUSER").result(timeout=300) for _ in range(2))
    units.do(first, "CICSUSER", write).result(timeout=300)
    blocked, given_up, behind = (units.do(second, "CICSUSER", write) for _ in range(3))
    commit = units.do(second, "CICSUSER", lambda task: task.syncpoint(), last=True)
    do(lambda: None)
    assert given_up.cancel()
    assert not commit.cancel()  # it would leave the task to return, which commits whatever was asked
    number = max(do(lambda: list(region.tasks)))
    do(lambda: region.task().__enter__().set_task(number, purgetype="FORCEPURGE"))
    assert isinstance(blocked.exception(timeout=300), Abend)
    for each in (behind, commit):
        assert isinstance(each.exception(timeout=300), UnknownUnit)
    units.do(first, "CICSUSER", lambda task: task.syncpoint_rollback(), last=True).result(timeout=300)


@pytest.mark.parametrize(("method", "end"), [("POST", "/commit"), ("DELETE", "")])
def test_the_end_of_a_unit_of_work_that_waits_is_503_when_the_server_ends(api, method, end):
    units = [api.post("/api/v1/regions/PAYREGN/units-of-work").json()["id"] for _ in range(2)]
    write = {"text": "WRITEQ TD QUEUE('LOGQ') FROM('A')"}
    assert api.post(f"/api/v1/units-of-work/{units[0]}/exec", json=write).status_code == 200
    tasks = "/api/v1/regions/PAYREGN/tasks"
    with ThreadPoolExecutor() as pool:
        waiting = [pool.submit(api.post, f"/api/v1/units-of-work/{units[1]}/exec", json=write)]
        while not any(each["held_by"] for each in api.get(tasks).json()):
            pass
        waiting.append(pool.submit(api.request, method, f"/api/v1/units-of-work/{units[1]}{end}"))
        api.portal.call(api.app.state.streams.end)
        try:
            answers = [each.result(timeout=300) for each in waiting]
            assert [each.status_code for each in answers] == [503, 503]
            said = "; the unit of work may have been committed" if method == "POST" else ""
            assert answers[1].json()["detail"] == f"the server is being stopped{said}"
        finally:
            api.delete(f"/api/v1/units-of-work/{units[0]}")


def test_a_backout_that_nobody_waits_for_is_one(host):
    region = host.regions["PAYREGN"]
    unit = host.units.begin(region, "CICSUSER").result(timeout=300)
    host.units.do(unit, "CICSUSER", lambda task: task.writeq_td("LOGQ", b"x")).result(timeout=300)
    back_out = host.units.do(unit, "CICSUSER", lambda task: task.syncpoint_rollback(), last=True)
    back_out.cancel()
    back_out.result(timeout=300)
    assert host.engine.submit(lambda: region.peek("LOGQ")).result(timeout=300) == []


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
@pytest.mark.parametrize("name", ["PAYQ%2Frecords", "PAYQ%2frecords", "%2F", "..%2Fclock", ""])
def test_a_slash_in_a_name_parts_no_path(api, host, method, name):
    """An escaped slash belongs to the name of the queue; an empty name is none, and nobody is sent elsewhere."""
    host.engine.submit(lambda: host.regions["PAYREGN"].seed("PAYQ", [b"kept"])).result(timeout=300)
    for end in ("", "/records", "/read"):
        answer = api.request(method, f"/api/v1/regions/PAYREGN/queues/{name}{end}", follow_redirects=False)
        assert answer.status_code in (404, 405, 422), answer.text
        assert answer.headers["content-type"] == "application/problem+json"
    assert api.get(f"{QUEUE}/records").json()["records"] == [host.regions["PAYREGN"].options.code_page.decode(b"kept")]


def test_the_address_that_the_server_tells_is_the_page_of_the_api(api):
    for path in ("/api/v1", "/api/v1/"):
        answer = api.get(path, follow_redirects=False)
        assert answer.status_code == 200
        assert 'href="/api/v1/openapi.json"' in answer.text


def test_a_wait_that_is_over_is_504(api):
    answer = api.post("/api/v1/regions/PAYREGN/wait", json={"queue": "PAYQ", "seconds": 0.01})
    assert (answer.status_code, answer.headers["content-type"]) == (504, "application/problem+json")


def test_return_is_refused_and_an_abend_ends_a_unit_of_work_with_an_answer(api):
    assert api.post("/api/v1/regions/PAYREGN/exec", json={"text": "RETURN"}).status_code == 409
    unit = api.post("/api/v1/regions/PAYREGN/units-of-work").json()["id"]
    assert api.post(f"/api/v1/units-of-work/{unit}/exec", json={"text": "RETURN"}).status_code == 409
    answer = api.post(f"/api/v1/units-of-work/{unit}/exec", json={"text": "ABEND ABCODE('OOPS')"})
    assert (answer.status_code, answer.json().get("abcode")) == (409, "OOPS")


def test_an_abend_backs_a_unit_of_work_out(api):
    unit = api.post("/api/v1/regions/PAYREGN/units-of-work").json()["id"]
    write = {"text": "WRITEQ TD QUEUE('LOGQ') FROM(REC)", "variables": {"REC": {"text": "one"}}}
    api.post(f"/api/v1/units-of-work/{unit}/exec", json=write)
    api.post(f"/api/v1/units-of-work/{unit}/exec", json={"text": "ABEND ABCODE('OOPS')"})
    assert api.post("/api/v1/regions/PAYREGN/wait", json={"tasks_ended": True}).json() == {"met": True}
    assert api.post(f"/api/v1/units-of-work/{unit}/commit").status_code == 404
    assert api.get("/api/v1/regions/PAYREGN/queues/LOGQ/records").json()["records"] == []
