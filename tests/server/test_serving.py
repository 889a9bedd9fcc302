"""The process: serve.yaml, TLS, where it may listen, and clients that are slow, silent or too many."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager
from functools import partial
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.request import urlopen

import pytest

pytest.importorskip("fastapi", reason="the extra [serve] is not installed")

from tdqsim.client import Client, RemoteError
from tdqsim.core.control import Address
from tdqsim.errors import DefinitionError, TdqError
from tdqsim.server.errors import ServeError
from tdqsim.server.host import Host
from tdqsim.server.servefile import changed, load_serve_file, serve_file
from tdqsim.server.serving import serve
from tdqsim.server.users import Role, User, Users, hashed
from tests.server.hostservers.wire import CLIENT, frame

CHILD = """
import sys
from pathlib import Path
from tdqsim.server import listening
from tdqsim.server.connections import Connections
from tdqsim.server.servefile import load_serve_file
from tdqsim.server.serving import serve
Connections.most = int(sys.argv[3])
listening.BOUNDS["answer_seconds"] = seconds = int(sys.argv[4])
sys.exit(serve(load_serve_file(Path(sys.argv[1])), ready_file=Path(sys.argv[2]), insecure=True, request_seconds=seconds,
               started=lambda _served: print("ready", flush=True)))
"""

TDQ = [sys.executable, "-c", "import sys; from tdqsim.cli import main; sys.exit(main())"]


@pytest.fixture
def place(tmp_path):
    pay, ship, ibm = tmp_path / "pay", tmp_path / "ship", tmp_path / "ibm"
    for folder in (pay, ship, ibm):
        folder.mkdir()
    (pay / "region.yaml").write_text("applid: PAYREGN\ndefinitions: [pay.yaml]\n")
    (pay / "pay.yaml").write_text("group: PAY\ntdqueue:\n- {name: PAYQ, type: INTRA}\n")
    (ship / "region.yaml").write_text("applid: SHIPREGN\nsysid: SHIP\n")
    (ibm / "system.yaml").write_text("name: PAYSYS\nlibraries: [PAYLIB]\ndefinitions: [queues.yaml]\n")
    (ibm / "queues.yaml").write_text("dtaq:\n- {dtaq: PAYLIB/ORDERS, maxlen: 80}\n")
    (tmp_path / "serve.yaml").write_text(
        "directories:\n- {path: pay, store: stores/pay}\n- ship\n- ibm\nlisteners: {http: 0, ibmi: yes}\n"
    )
    (tmp_path / "stores").mkdir()
    return tmp_path


@contextmanager
def running(file, *, most=4000, seconds=300, first="", **environment):
    """A server's process, which gives its clients so many seconds; ``first`` is done in it before the server starts."""
    ready = file.with_name("ready.json")
    words = [sys.executable, "-c", first + CHILD, str(file), str(ready), str(most), str(seconds)]
    with (file.parent / "log").open("w") as log:
        process = subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=log, text=True, env={**os.environ, **environment}
        )
    try:
        assert any(line.strip() == "ready" for line in process.stdout), (file.parent / "log").read_text()
        yield json.loads(ready.read_text())
    finally:
        process.send_signal(signal.SIGTERM)
        code = process.wait(timeout=300)
        process.stdout.close()
    assert code == 0, (file.parent / "log").read_text()


def test_several_regions_and_systems_are_served(place):
    with running(place / "serve.yaml") as found, Client(found["url"], found["token"]) as client:
        assert found["regions"] == ["PAYREGN", "SHIPREGN"]
        assert found["systems"] == ["PAYSYS"]
        assert set(found["ports"]["ibmi"]["PAYSYS"]) >= {"as-signon", "as-dtaq", "as-rmtcmd"}
        client.region("PAYREGN").writeq_td("PAYQ", b"one")
        queue = client.request("GET", "/systems/PAYSYS/queues/PAYLIB/ORDERS")
        assert queue["message_length"] == 80
    assert (place / "stores" / "pay").is_dir()
    with running(place / "serve.yaml") as found, Client(found["url"], found["token"]) as client:
        assert client.region("PAYREGN").peek("PAYQ") == [b"one"]  # closed clean: volatile records too


def test_each_region_has_the_handlers_of_its_own_directory(place):
    for name in ("pay", "ship"):
        (place / name / "region.yaml").write_text(
            f"applid: {name.upper()}REGN\ndefinitions: [queues.yaml]\nhandlers: posting\n"
        )
        (place / name / "queues.yaml").write_text(
            "group: PAY\ntdqueue:\n- {name: DONE, type: INTRA}\n"
            "- {name: PAYQ, type: INTRA, atifacility: FILE, transid: POST, triggerlevel: 1}\n"
            "transaction:\n- {name: POST, handler: 'posting:post'}\n"
        )
        (place / name / "posting.py").write_text(
            f"import told\n\ndef post(task):\n    import later_{name}\n    task.readq_td('PAYQ')\n"
            f"    task.writeq_td('DONE', told.WORD + later_{name}.WORD)\n"
        )
        (place / name / "told.py").write_text(f"WORD = b'{name}'\n")
        (place / name / f"later_{name}.py").write_text("WORD = b' later'\n")
    with running(place / "serve.yaml") as found, Client(found["url"], found["token"]) as client:
        for name in ("pay", "ship"):
            region = client.region(f"{name.upper()}REGN")
            region.writeq_td("PAYQ", b"one")
            region.wait("DONE", 1, seconds=10)
            assert region.peek("DONE") == [f"{name} later".encode()]


def test_the_handlers_that_transactions_name_are_imported_without_being_listed(place):
    (place / "pay" / "pay.yaml").write_text(
        "group: PAY\ntdqueue:\n- {name: DONE, type: INTRA}\n"
        "- {name: PAYQ, type: INTRA, atifacility: FILE, transid: POST, triggerlevel: 1}\n"
        "transaction:\n- {name: POST, handler: 'posting:post'}\n"
    )
    (place / "pay" / "posting.py").write_text("def post(task):\n    task.writeq_td('DONE', task.readq_td('PAYQ'))\n")
    with running(place / "serve.yaml") as found, Client(found["url"], found["token"]) as client:
        region = client.region("PAYREGN")
        region.writeq_td("PAYQ", b"one")
        region.wait("DONE", 1, seconds=120)
        assert region.peek("DONE") == [b"one"]


def test_what_a_region_warns_of_is_in_the_log_of_the_server(place):
    (place / "pay" / "pay.yaml").write_text(
        "group: PAY\ntdqueue:\n- {name: EXTQ, type: EXTRA, ddname: NOTHERE, typefile: INPUT, opentime: INITIAL}\n"
    )
    log, ready = place / "log", place / "ready.json"
    command = [sys.executable, "-c", "import sys; from tdqsim.cli import main; sys.exit(main(sys.argv[1:]))"]
    with log.open("w") as file:
        process = subprocess.Popen(
            [*command, "serve", str(place / "serve.yaml"), "--ready-file", str(ready)],
            stdout=subprocess.PIPE, stderr=file, text=True,
        )  # fmt: skip
    try:
        assert any(each.startswith("Serving") for each in process.stdout), log.read_text()
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)
        process.stdout.close()
    lines = [each for each in log.read_text().splitlines() if "open_failed" in each]
    assert len(lines) == 1
    assert "[error    ] open_failed" in lines[0]
    assert " [tdqsim.cics] " in lines[0]
    assert "applid=PAYREGN" in lines[0]
    assert "queue=EXTQ" in lines[0]
    assert "id=TDQ0009" in lines[0]


@pytest.mark.cobc
def test_the_command_of_the_guide_serves_two_regions(tmp_path):
    guide = (Path(__file__).resolve().parents[2] / "src/tdqsim/guide/serve.md").read_text("utf-8")
    (line,) = re.findall(r"^      (tdq serve card_posting .*)$", guide, re.MULTILINE)
    command = [sys.executable, "-c", "import sys; from tdqsim.cli import main; sys.exit(main(sys.argv[1:]))"]
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen(
            [*command, *shlex.split(line)[1:]], stdout=subprocess.PIPE, stderr=log, text=True, cwd=tmp_path
        )
    printed = []
    for each in process.stdout:
        printed.append(each)
        if each.startswith("Authorization: Bearer "):
            break
    try:
        assert printed, (tmp_path / "log").read_text()
        with Client(re.search(r"http://[0-9.:]+", printed[0])[0], printed[-1].split()[-1]) as client:
            assert [each["applid"] for each in client.regions()] == ["CARDREGN", "ORDREGN"]
            cards = client.region("CARDREGN")
            for queue, transid in (("PST1", "PPST"), ("PST4", "PPST"), ("PDON", "PEND")):
                assert cards.inquire_tdqueue(queue)["ATITRANID"] == transid
            assert cards.inquire_tdqueue("DALY")["DDNAME"] == "DALYTRAN"
            assert cards.inquire_tdqueue("PLOG")["INDIRECTNAME"] == "CSSL"
            cards.wait_for_tasks(seconds=240)
            assert [each["abcode"] for each in cards.history(follow=False) if each.get("abcode")] == []
    finally:
        process.send_signal(signal.SIGTERM)
        code = process.wait(60)
        process.stdout.close()
    assert code == 0, (tmp_path / "log").read_text()
    written = {each.name: each.stat().st_size for each in (tmp_path / "tdq-out" / "card_posting").iterdir()}
    assert written["POSTED.PS"] > 0


JOB = """
class Job:
    def __init__(self, request):
        self.request = request

    def prepare(self):
        if self.request.records is not None or set(self.request.dd) != {"KEPT"}:
            raise ValueError(self.request)
        made = self.request.output / "MADE"
        made.write_bytes(b"one two ")
        return {"MADE": made, "KEPT": made}
"""


def _with_a_job(place, job=JOB):
    pay = place / "pay"
    (pay / "pay_job.py").write_text(job)
    (pay / "kept").write_bytes(b"kept")
    (pay / "region.yaml").write_text(
        "applid: PAYREGN\ndefinitions: [pay.yaml]\njob: pay_job:Job\ndd:\n  KEPT: {path: kept, recfm: F, lrecl: 4}\n"
    )
    queue = "type: EXTRA, typefile: INPUT, recordformat: FIXED, recordsize: 4, opentime: INITIAL"
    (pay / "pay.yaml").write_text(
        f"group: PAY\ntdqueue:\n- {{name: MADE, ddname: MADE, {queue}}}\n- {{name: KEPT, ddname: KEPT, {queue}}}\n"
    )
    return pay


def test_the_job_of_a_directory_makes_the_data_sets_that_no_dd_card_names(place, monkeypatch):
    monkeypatch.chdir(place)
    pay = _with_a_job(place)
    for out, output in ((None, place / "tdq-out" / "pay"), (place / "out", place / "out" / "pay")):
        host = Host(out=out)
        try:
            region = host.add_directory(pay)
            read = [host.engine.submit(partial(region.readq_td, each)).result().rstrip() for each in ("MADE", "KEPT")]
        finally:
            host.stop()
        assert read == [b"one", b"kept"]
        assert (output / "MADE").read_bytes() == b"one two "


def test_a_job_that_cannot_be_imported_is_said_before_anything_is_served(place, monkeypatch):
    monkeypatch.chdir(place)
    pay = _with_a_job(place, "class Other: ...\n")
    host = Host()
    try:
        with pytest.raises(DefinitionError, match=r"job = 'pay_job:Job': cannot be imported: AttributeError"):
            host.add_directory(pay)
        assert host.regions == {}
    finally:
        host.stop()


def _ask_mapper(port, name):
    with socket.create_connection(("127.0.0.1", port)) as asked:
        asked.sendall(name)
        return asked.recv(5)


def test_with_tls_host_servers_without_it_are_listened_to_only_when_they_are_named(place):
    Users([User("ALICE", frozenset({Role.look}), password=hashed("apple pie"))]).write(place / "users.yaml")
    over_tls = {"as-signon-s", "as-dtaq-s", "as-rmtcmd-s", "as-database-s"}
    for listeners, more in (("yes", set()), ("{as-dtaq: 0, as-dtaq-s: 0, mapper: 0}", {"as-dtaq", "mapper"})):
        (place / "serve.yaml").write_text(
            f"directories: [ibm]\nlisteners: {{ibmi: {listeners}}}\ntls: generated\nusers: users.yaml\n"
        )
        with running(place / "serve.yaml") as found:
            ports = found["ports"]["ibmi"]["PAYSYS"]
            assert set(ports) == over_tls | more
            if "mapper" in ports:
                assert _ask_mapper(ports["mapper"], b"as-dtaq-s")[:1] == b"+"
                assert _ask_mapper(ports["mapper"], b"as-signon") == b"-\0\0\0\0"


def test_a_command_of_system_yaml_gives_a_profile_its_password(place):
    users = Users([User("ALICE", frozenset({Role.look}), password=hashed("apple pie"))])
    users.write(place / "users.yaml")
    (place / "ibm" / "system.yaml").write_text(
        "name: PAYSYS\nsystem_values: {QPWDLVL: 2}\ncommands: [CRTUSRPRF USRPRF(ANNA) PASSWORD(SECRET1)]\n"
    )
    (place / "serve.yaml").write_text("directories: [ibm]\nlisteners: {ibmi: yes}\nusers: users.yaml\n")
    with running(place / "serve.yaml"):
        pass
    anna = Users.load(place / "users.yaml").get("ANNA")
    assert (anna.roles, list(anna.ibmi)) == (frozenset(), [2])


def test_where_the_path_of_the_control_socket_is_too_long_commands_find_the_server_at_loopback(place, monkeypatch):
    long = place / ("x" * 100)
    long.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(long))
    (place / "serve.yaml").write_text("directories: [pay]\nlisteners: {http: 0}\n")
    with running(place / "serve.yaml"):
        address = Address.find(place / "pay")
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+", address.url)
        assert not list(long.glob("**/*.sock"))
        with Client(address.url, address.token, timeout=300) as client:
            assert client.region("PAYREGN").inquire_tdqueue("PAYQ").type.name == "INTRA"
    assert Address.find(place / "pay") is None


NO_CONTROL_FOLDER = """
import sys
import structlog
from tdqsim.core import control
structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
control._candidates = lambda: iter(())
"""


def test_without_a_folder_for_control_addresses_everything_else_is_served(place):
    (place / "serve.yaml").write_text("directories: [pay]\nlisteners: {http: 0}\n")
    with running(place / "serve.yaml", first=NO_CONTROL_FOLDER) as ready:
        assert Address.find(place / "pay") is None
        with Client(ready["url"], ready["token"], timeout=300) as client:
            assert client.region("PAYREGN").inquire_tdqueue("PAYQ").type.name == "INTRA"
    log = (place / "log").read_text()
    assert log.count("no_control_listener") == 1
    assert "Traceback" not in log


def test_the_connections_of_all_faces_have_one_bound(place):
    (place / "serve.yaml").write_text("directories: [ibm]\nlisteners: {http: 0, ibmi: {mapper: 0}}\n")
    with running(place / "serve.yaml", most=3) as found:
        ports = found["ports"]["ibmi"]["PAYSYS"]
        held = [socket.create_connection(("127.0.0.1", ports["as-dtaq"])) for _ in range(3)]
        for each in held:  # what is answered has been accepted
            each.sendall(frame(0xE007, 0x7001, CLIENT))
            assert each.recv(1000)
        for each in (ports["mapper"], ports["as-rmtcmd"], found["ports"]["http"]):
            with socket.create_connection(("127.0.0.1", each)) as refused:
                refused.settimeout(60)
                with contextlib.suppress(ConnectionResetError):
                    assert refused.recv(1) == b""
        for each in held:
            each.close()


@pytest.mark.parametrize(("users", "status"), [("", 200), ("users: users.yaml\n", 401)])
def test_metrics_are_open_on_loopback_only_without_users(place, users, status):
    Users([User("ALICE", frozenset({Role.look}), password=hashed("apple pie"))]).write(place / "users.yaml")
    (place / "serve.yaml").write_text(f"directories: [pay]\n{users}")
    with running(place / "serve.yaml") as found:
        asked = HTTPConnection("127.0.0.1", int(found["url"].rpartition(":")[2]), timeout=300)
        asked.request("GET", "/metrics")
        assert asked.getresponse().status == status
        asked.close()


def test_tls_with_a_certificate_of_the_run_and_users(place):
    Users([User("ALICE", frozenset({Role.look}), password=hashed("apple pie"))]).write(place / "users.yaml")
    (place / "serve.yaml").write_text("directories: [pay]\naddress: 0.0.0.0\ntls: generated\nusers: users.yaml\n")
    with running(place / "serve.yaml") as found:
        assert found["url"].startswith("https://0.0.0.0:")
        url = found["url"].replace("0.0.0.0", "127.0.0.1")
        with pytest.raises(TdqError, match="certificate"):
            Client(url, found["token"]).regions()
        with Client.sign_on(url, "alice", "apple pie", certificate=found["certificate"]) as client:
            assert [each["applid"] for each in client.regions()] == ["PAYREGN"]
            with pytest.raises(RemoteError) as caught:
                client.region("PAYREGN").writeq_td("PAYQ", b"x")
            assert caught.value.status == 403
        plain = HTTPConnection("127.0.0.1", int(url.rpartition(":")[2]), timeout=300)
        plain.request("GET", "/health")
        with pytest.raises((ConnectionError, HTTPException)):  # nothing is said without TLS
            plain.getresponse()
        plain.close()
        assert Path(found["certificate"]).parent.stat().st_mode & 0o077 == 0
    assert not Path(found["certificate"]).exists()


@pytest.mark.parametrize(
    ("text", "missing"),
    [("address: 0.0.0.0", "users and no TLS"), ("address: '::'", "users and no TLS"),
     ("address: 192.0.2.1\ntls: generated", "no users")],
)  # fmt: skip
def test_beyond_loopback_users_and_tls_are_asked_for(place, text, missing):
    (place / "serve.yaml").write_text(f"directories: [pay]\n{text}\n")
    with pytest.raises(TdqError, match=missing):
        serve(load_serve_file(place / "serve.yaml"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "directories.*required"),
        ("directories: []", "directories"),
        ("directories: [pay]\nlisteners: {http: 99999}", ":2: listeners.http"),
        ("directories: [pay]\nlisteners: {gopher: 70}", ":2: listeners.gopher.*not known"),
        ("directories: [pay]\nregions: {}", ":2: regions.*not known"),
        ("directories: [pay]\naddress: everywhere", ":2: address.*IP address"),
        ("directories:\n- {path: pay, stroe: x}", ":2: .*stroe"),
        ("directories: [pay]\ntls: maybe", ":2: tls"),
    ],
)
def test_a_serve_file_that_is_wrong_is_refused_in_words(tmp_path, text, said):
    (tmp_path / "serve.yaml").write_text(text)
    with pytest.raises(DefinitionError, match=said):
        load_serve_file(tmp_path / "serve.yaml")


def test_a_key_that_others_can_read_is_refused(place):
    for name in ("c.pem", "k.pem"):
        (place / name).write_text("none")
    config = serve_file([place / "pay"])
    with pytest.raises(TdqError, match="chmod 600"):
        serve(changed(config, certificate=place / "c.pem", key=place / "k.pem"))
    (place / "k.pem").chmod(0o600)
    with pytest.raises(TdqError, match="certificate"):
        serve(changed(config, certificate=place / "c.pem", key=place / "k.pem"))


def test_a_port_that_is_taken_and_a_name_that_is_are_said(place):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ServeError) as caught:
            serve(changed(serve_file([place / "pay"]), port=port))
        words = ["serve", str(place / "pay"), "--port", str(port)]
        found = subprocess.run([*TDQ, *words], capture_output=True, text=True, check=False)
    said = f"127.0.0.1 port {port} (HTTP) is in use by another program; name another port, or 0 for any free one"
    assert str(caught.value) == said
    assert (found.returncode, found.stderr) == (2, f"tdq: {said}\n")
    with pytest.raises(TdqError, match="PAYREGN is served already"):
        serve(serve_file([place / "pay", place / "pay"]))


def connect(found):
    return socket.create_connection(("127.0.0.1", found["ports"]["http"]), timeout=300)


def all_of(connection):
    try:
        return b"".join(iter(lambda: connection.recv(65536), b""))
    except ConnectionResetError:
        return b""


def test_hostile_clients_are_cut_off_and_others_served(place):
    (place / "serve.yaml").write_text("directories: [pay]\n")
    with running(place / "serve.yaml", most=20, seconds=2) as found:
        for lines in (40, 100):  # arrives in one part, in several
            flood = b"".join(b"X-%d: %s\r\n" % (n, b"a" * 1000) for n in range(lines))
            with connect(found) as sender:
                sender.sendall(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n" + flood + b"\r\n")
                assert b" 200 " not in all_of(sender)[:20]
        head = f"GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {found['token']}\r\n\r\n"
        with connect(found) as silent, connect(found) as drip, Client(found["url"], found["token"]) as client:
            silent.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            silent.sendall(head.encode())  # asks for events and never reads them
            drip.sendall(
                b"POST /api/v1/session HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Length: 5000000\r\n\r\n"
            )
            assert all_of(drip).startswith(b"HTTP/1.1 413")
            for _each in range(40):
                client.region("PAYREGN").writeq_td_all("PAYQ", [b"x"] * 1000)
            assert client.region("PAYREGN").inquire_tdqueue("PAYQ")["NUMITEMS"] == 40_000
        many = [connect(found) for _each in range(40)]
        ended = 0
        for each in many[25:]:  # beyond the bound they are closed at once
            ended += all_of(each) == b""
        for each in many:
            each.close()
        assert ended == 15
        with Client(found["url"], found["token"]) as client:
            assert client.regions()


def test_sigterm_ends_what_waits_in_order(place):
    (place / "serve.yaml").write_text("directories: [pay]\n")
    with running(place / "serve.yaml") as found, connect(found) as waiting:
        body = json.dumps({"queue": "PAYQ", "items": 5, "seconds": 200})
        waiting.sendall(
            f"POST /api/v1/regions/PAYREGN/wait HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {found['token']}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()
        )
        with Client(found["url"], found["token"]) as client:
            assert client.regions()
    # running() asserts that the process ended by itself, with 0


def test_a_request_that_waits_is_told_that_the_server_stops(place):
    """Whether it waits for a state, for a record that another unit of work has, or for an entry."""
    file = place / "pay" / "pay.yaml"
    file.write_text(file.read_text() + "- {name: LOGQ, type: INTRA, recovstatus: LOGICAL}\n")
    region = "/api/v1/regions/PAYREGN"
    asked = [
        (f"{region}/wait", {"queue": "PAYQ", "items": 5, "seconds": 300}),
        (f"{region}/queues/LOGQ/read", None),
        ("/api/v1/systems/PAYSYS/queues/PAYLIB/ORDERS/receive", {"wait": 300}),
    ]
    waiting = []
    with running(place / "serve.yaml") as found, Client(found["url"], found["token"]) as client:
        served = client.region("PAYREGN")
        served.writeq_td("LOGQ", b"one")
        unit = client.request("POST", "/regions/PAYREGN/units-of-work")["id"]
        client.request("POST", f"/units-of-work/{unit}/exec", {"text": "READQ TD QUEUE('LOGQ') INTO(R)"})
        headers = {"Authorization": f"Bearer {found['token']}", "Content-Type": "application/json"}
        for path, body in asked:
            one = HTTPConnection("127.0.0.1", found["ports"]["http"], timeout=300)
            one.request("POST", path, None if body is None else json.dumps(body), headers)
            waiting.append(one)

        def all_wait():
            with urlopen(f"{found['url']}/metrics", timeout=300) as metrics:
                told = metrics.read().decode()
            return "tdq_requests_waiting 1.0" in told and 'tdq_jobs{system="PAYSYS"} 1.0' in told

        while len(served.tasks()) < 2 or not all_wait():
            pass
    for one in waiting:
        answer = one.getresponse()
        assert (answer.status, answer.headers["content-type"]) == (503, "application/problem+json")
        assert json.load(answer)["detail"] == "the server is being stopped"
        one.close()
    log = (place / "log").read_text()
    assert "Traceback" not in log
    assert "graceful" not in log


def test_spans_are_sent_if_the_file_asks_for_them(place):
    pytest.importorskip("opentelemetry.exporter.otlp", reason="the extra [otel] is not installed")
    received = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self):
            received.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_args):
            pass

    file = place / "serve.yaml"
    file.write_text("directories: [pay]\nlisteners: {http: 0}\ntrace: yes\n")
    with ThreadingHTTPServer(("127.0.0.1", 0), Collector) as collector:
        Thread(target=collector.serve_forever).start()
        try:
            to = f"http://127.0.0.1:{collector.server_port}"
            with (
                running(file, OTEL_EXPORTER_OTLP_ENDPOINT=to) as found,
                Client(found["url"], found["token"]) as client,
            ):
                client.region("PAYREGN").writeq_td("PAYQ", b"secret")
        finally:
            collector.shutdown()
    assert {path for path, _ in received} == {"/v1/traces"}
    sent = b"".join(body for _, body in received)
    assert b"tdqsim" in sent
    assert b"WRITEQ TD" in sent
    assert b"PAYREGN" in sent
    assert b"secret" not in sent


def test_a_request_whose_body_is_missing_at_the_end_is_answered_without_a_traceback(place):
    ready, log = place / "ready.json", place / "log"
    with log.open("w") as file:
        process = subprocess.Popen(
            [*TDQ, "serve", str(place / "pay"), "--ready-file", str(ready)],
            stdout=subprocess.PIPE,
            stderr=file,
            text=True,
        )
    assert any(line.startswith("Authorization:") for line in process.stdout)
    found = json.loads(ready.read_text())
    with connect(found) as connection:
        connection.sendall(
            b"POST /api/v1/regions/PAYREGN/exec HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            b"Authorization: Bearer %s\r\nContent-Length: 20\r\n\r\n" % found["token"].encode()
        )
        with connect(found) as other:  # its answer shows that the first request was taken
            other.sendall(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
            assert b"200" in all_of(other)
        process.send_signal(signal.SIGTERM)
        answer = all_of(connection)
    assert process.wait(timeout=300) == 0
    process.stdout.close()
    assert answer.startswith(b"HTTP/1.1 503 ")
    assert b"the server is being stopped, and the body had not arrived" in answer
    assert "Traceback" not in log.read_text()


def test_an_address_that_is_none_is_wrong_input(place):
    words = ["serve", str(place / "pay"), "--address", "nonsense"]
    found = subprocess.run([*TDQ, *words], capture_output=True, text=True, check=False)
    assert (found.returncode, found.stderr) == (
        2,
        "tdq: address 'nonsense': must be an IP address, such as 127.0.0.1\n",
    )
