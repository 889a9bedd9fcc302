"""The client: the names of a task's and of a job's methods, histories, and connections that are lost."""

from __future__ import annotations

import inspect
import json
import socket
from contextlib import contextmanager
from itertools import takewhile
from threading import Thread

import pytest

pytest.importorskip("fastapi", reason="the extra [serve] is not installed")

from tdqsim import Cvda, Region, Task
from tdqsim.client import Client, LostConnection, RemoteError, RemoteRegion, RemoteSystem, RemoteUnitOfWork
from tdqsim.client.served_process import region_directory, serving
from tdqsim.definitions import Definitions, define_tdqueue
from tdqsim.errors import UsageError
from tdqsim.ibmi import Job
from tests.ports import free_ports

QUEUES = [
    define_tdqueue(name="PAYQ", type="INTRA"),
    define_tdqueue(name="LOGQ", type="INTRA", recovstatus="LOGICAL"),
]
OF_TRANSIENT_DATA = {
    "readq_td", "writeq_td", "writeq_td_all", "deleteq_td", "inquire_tdqueue", "browse_tdqueue", "set_tdqueue",
    "create_tdqueue", "discard_tdqueue", "perform_statistics", "execute", "start", "set_task", "set_uow", "syncpoint",
    "syncpoint_rollback",
}  # fmt: skip
OF_DATA_QUEUES = {"qsnddtaq", "qrcvdtaq", "qclrdtaq", "qmhqrdqd", "qmhqcdq", "dltdtaq", "command"}


def methods(*kinds):
    return {
        name: member
        for kind in kinds
        for name, member in inspect.getmembers(kind, inspect.isfunction)
        if name[0] != "_"
    }


def plain(function):
    """Names of what may be given by position, without whose method it is; and of all that may be given."""
    given = list(inspect.signature(function).parameters.values())[1:]
    by_place = [each.name for each in given if each.kind is each.POSITIONAL_OR_KEYWORD]
    return by_place, {each.name for each in given}


@pytest.mark.parametrize(
    ("remote", "local", "needed"),
    [((RemoteRegion, RemoteUnitOfWork), Task, OF_TRANSIENT_DATA), ((RemoteSystem,), Job, OF_DATA_QUEUES)],
    ids=["task", "job"],
)
def test_a_method_of_the_same_name_takes_the_same(remote, local, needed):
    there = methods(*remote)
    assert needed <= there.keys()
    for name in needed & methods(local).keys():
        ours, theirs = plain(there[name]), plain(getattr(local, name))
        assert ours[0] == theirs[0][: len(ours[0])], name
        if not any(each.kind is each.VAR_KEYWORD for each in inspect.signature(there[name]).parameters.values()):
            assert ours[1] <= theirs[1], name


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    with serving([region_directory(Definitions.of(QUEUES), folder / "region")], folder) as found:
        yield found


@pytest.fixture
def region(server):
    with Client(server.url, server.token, timeout=300) as client:
        region = client.region("TDQREGN")
        for queue in ("PAYQ", "LOGQ"):
            region.deleteq_td(queue)
        yield region


def test_commands_do_what_a_tasks_methods_do(region):
    region.writeq_td("PAYQ", "one")
    region.writeq_td("PAYQ", b"\xc1\xc2\xc3", 2)
    assert region.inquire_tdqueue("PAYQ", "numitems").as_dict() == {"NUMITEMS": 2}
    assert region.readq_td("PAYQ") == "one".encode("cp037")
    assert region.readq_td("PAYQ", nosuspend=True) == b"\xc1\xc2"
    with pytest.raises(RemoteError) as met:
        region.readq_td("PAYQ")
    assert (met.value.condition, met.value.resp) == ("QZERO", 23)
    region.create_tdqueue("NEWQ", "TYPE(INTRA)")
    assert {each.tdqueue for each in region.browse_tdqueue("TYPE")} >= {"NEWQ", "PAYQ"}
    region.set_tdqueue("NEWQ", enablestatus="DISABLED")
    region.discard_tdqueue("NEWQ")
    with pytest.raises(RemoteError) as met:
        region.inquire_tdqueue("NEWQ")
    assert (met.value.condition, met.value.status) == ("QIDERR", 404)
    region.perform_statistics()
    with pytest.raises(RemoteError) as met:
        region.start("NONE", b"data")
    assert met.value.condition == "TRANSIDERR"


def test_the_names_of_a_region_and_its_code_page(region):
    assert (region.applid, region.sysid, region.code_page) == ("TDQREGN", "TDQ1", "037")


def test_set_of_a_task_or_unit_of_work_that_is_not_there_is_told(region):
    for call, condition in (
        (lambda: region.set_task(99999, purgetype="FORCEPURGE"), "TASKIDERR"),
        (lambda: region.set_uow(b"12345678", uowstate="BACKOUT"), "UOWNOTFOUND"),
    ):
        with pytest.raises(RemoteError) as met:
            call()
        assert met.value.condition == condition


def test_a_record_that_another_unit_of_work_holds_is_qbusy(region):
    region.writeq_td("LOGQ", b"one")
    with region.unit_of_work() as holder, region.unit_of_work() as other:
        assert holder.readq_td("LOGQ") == b"one"
        for reader in (region, other):
            with pytest.raises(RemoteError, match="READQ TD: QBUSY") as met:
                reader.readq_td("LOGQ", nosuspend=True)
            assert (met.value.status, met.value.condition, met.value.resp) == (409, "QBUSY", 25)


@pytest.mark.parametrize("name", ["", "A/B", "..", ".", "?", "#A", "%", "A B", "é"])
def test_a_name_that_no_queue_has_is_qiderr(region, name):
    """Whatever is in it: it names no other place of the server."""
    for call in (region.readq_td, region.deleteq_td, region.peek, region.discard_tdqueue):
        with pytest.raises(RemoteError, match="QIDERR"):
            call(name)
    with pytest.raises(RemoteError, match="QIDERR"):
        region.writeq_td(name, "x")
    with pytest.raises(RemoteError, match="QIDERR"):
        region.set_tdqueue(name, enablestatus="DISABLED")


def test_what_inquire_gives_is_what_a_region_of_this_process_gives(region):
    here = Region(QUEUES)
    there = region.inquire_tdqueue("LOGQ")
    ours = here.inquire_tdqueue("LOGQ")
    times = {"CHANGETIME", "DEFINETIME", "INSTALLTIME", "INSTALLAGENT", "DEFINESOURCE", "CHANGEAGENT"}
    plain = {name: value for name, value in ours.as_dict(plain=True).items() if name not in times}
    assert {name: value for name, value in there.as_dict(plain=True).items() if name not in times} == plain
    assert (there.enablestatus, there.enablestatus.name, there["recovstatus"]) == (23, "ENABLED", Cvda.LOGICAL)
    there, ours = ({each.tdqueue.rstrip(): each.type for each in one.browse_tdqueue("TYPE")} for one in (region, here))
    assert there == ours
    with pytest.raises(AttributeError, match=r"TYPE was not requested.*; available are NUMITEMS"):
        _ = region.inquire_tdqueue("LOGQ", "NUMITEMS").type
    with pytest.raises(KeyError):
        region.inquire_tdqueue("LOGQ", "NUMITEMS")["TYPE"]
    here.close()


def test_lists_of_any_length_come_a_page_at_a_time(region):
    records = [b"%d" % number for number in range(2500)]
    assert region.seed("PAYQ", iter(records)) == 2500
    assert region.peek("PAYQ") == records
    assert region.peek("PAYQ", skip=999, limit=1002) == records[999:2001]
    with pytest.raises(UsageError, match="at most 1000 records in one task"):
        region.writeq_td_all("PAYQ", iter(records[:1001]))
    assert region.inquire_tdqueue("PAYQ").numitems == 2500
    assert region.writeq_td_all("PAYQ", iter(records[:1000])) == 1000


def test_entries_beyond_a_page_are_asked_for_up_to_the_limit():
    entry = {"data": "C1", "key": None, "sender": None, "position": 1, "enqueued": "", "current_user": None}
    with scripted({"entries": [entry] * 1000}, {"entries": [entry] * 2}) as (server, client):
        assert len(list(client.system("S").data_queue_entries("Q", "L", limit=1002))) == 1002
    assert [path.partition("&encoding")[0] for _, path in server.asked] == [
        "/api/v1/systems/S/queues/L/Q/entries?position=0&limit=1000",
        "/api/v1/systems/S/queues/L/Q/entries?position=1000&limit=2",
    ]


def test_a_unit_of_work_has_them_too(region):
    with region.unit_of_work(idle_seconds=3600) as unit:
        unit.writeq_td("LOGQ", b"kept")
        assert region.peek("LOGQ") == []
    assert region.peek("LOGQ") == [b"kept"]
    with pytest.raises(RemoteError, match="QZERO"), region.unit_of_work(idle_seconds=3600) as unit:
        assert [unit.readq_td("LOGQ") for _ in range(2)] == [b"kept"]
    assert region.peek("LOGQ") == [b"kept"]
    with pytest.raises(RemoteError, match="OOPS"), region.unit_of_work(idle_seconds=3600) as unit:
        unit.execute("ABEND ABCODE('OOPS')")  # it has ended with that: there is nothing to back out


def test_what_has_happened_is_told_and_then_what_happens(server, region):
    region.writeq_td("PAYQ", "one")
    before = list(region.history(follow=False))
    assert [each["position"] for each in before] == list(range(len(before)))
    (run,) = {each["run"] for each in before}
    with pytest.raises(RemoteError, match=f"of run 00000000, but the present run is {run}"):
        region.wait_for_condition("QZERO", position=0, run="00000000")
    follow = region.history(len(before), run=run)
    with Client(server.url, server.token, timeout=300) as other:
        other.region("TDQREGN").writeq_td("LOGQ", "two")
    event = next(each for each in follow if each["event"] == "command")
    assert (event["command"], event["queue"], event["position"]) == ("WRITEQ TD", "LOGQ", len(before))
    follow.close()


def test_a_wait_may_take_longer_than_a_request(server):
    with Client(server.url, server.token, timeout=300) as client:
        client.region("TDQREGN").wait("PAYQ", 0, seconds=200)
        assert client._connection.sock.gettimeout() == 500
        with pytest.raises(RemoteError) as met:
            client.region("TDQREGN").wait("PAYQ", 1000, seconds=0.01)
    assert met.value.status == 504


# -- connections that are lost ----------------------------------------------------------------------------------------


class Server:
    """Answers requests as it is told: with an answer, or by ending the connection before or after the request."""

    def __init__(self, *script):
        self.script = list(script)
        self.asked = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.thread = Thread(target=self.live, daemon=True)
        self.thread.start()

    def live(self):
        while self.script:
            connection, _ = self.listener.accept()
            with connection, connection.makefile("rb") as lines:
                while self.script and self.one(connection, lines):
                    pass
        self.listener.close()

    def one(self, connection, lines):
        """One request; whether the connection goes on."""
        what = self.script.pop(0)
        if what == "end":
            return False
        head = list(takewhile(lambda line: line not in (b"\r\n", b""), iter(lines.readline, None)))
        if not head:
            self.script.insert(0, what)
            return False
        sizes = [int(line.split(b":")[1]) for line in head if line.lower().startswith(b"content-length")]
        lines.read(sum(sizes))
        self.asked.append((head[0].decode().split()[0], head[0].decode().split()[1]))
        if what == "lose":
            return False
        status = what.get("status", 200) if isinstance(what, dict) else 200
        kind = (
            "text/event-stream" if isinstance(what, str) else f"application/{'problem+' if status >= 400 else ''}json"
        )
        answer = f"HTTP/1.1 {status} OK\r\nContent-Type: {kind}\r\n".encode()
        if isinstance(what, bytes):  # a whole answer, of another program
            connection.sendall(what)
            return False
        if isinstance(what, str):  # a stream that is cut off
            connection.sendall(answer + b"Transfer-Encoding: chunked\r\n\r\n%X\r\n%b\r\n" % (len(what), what.encode()))
            return False
        body = json.dumps(what).encode()
        connection.sendall(answer + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        return True


@contextmanager
def scripted(*script):
    server = Server(*script)
    with Client(server.url, "token", timeout=300) as client:
        yield server, client
    server.script.clear()


def test_a_connection_that_has_ended_is_opened_anew_before_a_write():
    with scripted({"a": 1}, "end", {"b": 2}) as (server, client):
        client.request("GET", "/x")
        peer_has_ended(client)
        assert client.request("POST", "/y", {}) == {"b": 2}
    assert server.asked == [("GET", "/api/v1/x"), ("POST", "/api/v1/y")]


def test_queues_come_page_by_page():
    pages = {"queues": [{"name": "A"}], "next": "A"}, {"queues": [{"name": "B"}], "next": None}
    with scripted(*pages) as (server, client):
        assert [each["name"] for each in client.region("R").queues()] == ["A", "B"]
    assert [path for _, path in server.asked] == [
        "/api/v1/regions/R/queues?limit=1000", "/api/v1/regions/R/queues?after=A&limit=1000"
    ]  # fmt: skip


def peer_has_ended(client):
    """Wait until the end of the connection has arrived."""
    sock = client._connection.sock
    sock.settimeout(300)
    assert sock.recv(1, socket.MSG_PEEK) == b""


def test_a_request_that_only_looks_is_asked_again():
    with scripted("lose", {"a": 1}) as (server, client):
        assert client.request("GET", "/x") == {"a": 1}
    assert server.asked == [("GET", "/api/v1/x")] * 2


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_a_write_that_may_have_happened_is_never_repeated(method):
    with scripted("lose", {"a": 1}) as (server, client):
        with pytest.raises(LostConnection) as lost:
            client.request(method, "/x", {})
        assert lost.value.sent
        assert client.request("GET", "/y") == {"a": 1}  # the next request has a connection of its own
    assert server.asked == [(method, "/api/v1/x"), ("GET", "/api/v1/y")]


def test_a_request_that_is_not_answered_in_time_is_not_asked_again():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        with Client(f"http://127.0.0.1:{silent.getsockname()[1]}", "", timeout=0.05) as client:
            with pytest.raises(
                LostConnection, match="the connection ended before the answer was complete: timed out"
            ) as lost:
                client.request("GET", "/x")
            assert lost.value.sent
        silent.accept()[0].close()
        silent.setblocking(False)
        with pytest.raises(BlockingIOError):  # there was one connection
            silent.accept()


def test_nobody_there_is_told_at_once():
    (port,) = free_ports(1)
    with Client(f"http://127.0.0.1:{port}", "") as client, pytest.raises(LostConnection) as lost:
        client.request("POST", "/x", {})
    assert not lost.value.sent


def event(position, run=None):
    data = {"event": "command", "position": position} | ({"run": run} if run else {})
    return f"id: 5f3a90c1-{position}\ndata: {json.dumps(data)}\n\n"


OTHER_RUN = {"status": 409, "run": "bbbbbbbb", "detail": "the position is of run aaaaaaaa, the present is bbbbbbbb"}


def test_a_history_begins_anew_with_the_run_of_a_restarted_server():
    script = (event(3, "aaaaaaaa"), OTHER_RUN, event(0, "bbbbbbbb"), event(1, "bbbbbbbb"))
    with scripted(*script) as (server, client):
        follow = client.region("R").history(3, run="aaaaaaaa")
        got = [next(follow) for _ in range(3)]
        follow.close()
    assert [(each["position"], each["run"]) for each in got] == [(3, "aaaaaaaa"), (0, "bbbbbbbb"), (1, "bbbbbbbb")]
    asked = [path.removeprefix("/api/v1/regions/R/history?") for _, path in server.asked]
    assert asked == [
        "position=3&follow=True&run=aaaaaaaa", "position=4&follow=True&run=aaaaaaaa",
        "position=0&follow=True", "position=1&follow=True&run=bbbbbbbb",
    ]  # fmt: skip


def test_a_history_from_a_position_of_another_run_is_refused():
    said = "of run aaaaaaaa, the present is bbbbbbbb"
    with scripted(OTHER_RUN) as (server, client), pytest.raises(RemoteError, match=said) as refused:
        next(client.region("R").history(3, run="aaaaaaaa"))
    assert (refused.value.status, refused.value.run, len(server.asked)) == (409, "bbbbbbbb", 1)


def test_a_history_goes_on_behind_the_last_event():
    with scripted(": listening\n\n" + event(3) + event(4), event(5)) as (server, client):
        follow = client.region("R").history(3)
        assert [next(follow)["position"] for _ in range(3)] == [3, 4, 5]
        follow.close()
    assert [path for _, path in server.asked] == [
        "/api/v1/regions/R/history?position=3&follow=True", "/api/v1/regions/R/history?position=5&follow=True"
    ]  # fmt: skip


def test_a_history_ends_when_the_server_cannot_be_reached_any_more():
    with scripted(event(3)) as (_server, client):
        follow = client.region("R").history(3)
        assert next(follow)["position"] == 3
        with pytest.raises(LostConnection, match="cannot be reached") as lost:
            next(follow)
    assert not lost.value.sent


def test_a_history_of_past_events_that_is_cut_off_is_told_and_not_asked_for_again():
    with scripted(event(3), event(4)) as (server, client):
        past = client.region("R").history(3, follow=False)
        assert next(past)["position"] == 3
        with pytest.raises(LostConnection):
            next(past)
    assert len(server.asked) == 1


def test_an_event_without_a_position_does_not_move_it():
    lost = 'data: {"event": "lost", "count": 2}\n\n'
    with scripted(event(3) + lost, event(4)) as (server, client):
        follow = client.region("R").history(3)
        assert [next(follow)["event"] for _ in range(3)] == ["command", "lost", "command"]
        follow.close()
    assert [path for _, path in server.asked][1] == "/api/v1/regions/R/history?position=4&follow=True"


def test_events_and_alerts_arrive_one_by_one():
    with scripted(": listening\n\n" + event(3), event(4)) as (server, client):
        assert next(client.events("R", "PAYQ"))["position"] == 3
        assert next(client.alerts())["position"] == 4
    paths = ["/api/v1/events?region=R&queue=PAYQ", "/api/v1/alerts"]
    assert [path for _, path in server.asked] == paths


def test_the_clock_and_the_faults_of_a_server(server):
    with Client(server.url, server.token, timeout=300) as client:
        assert client.freeze()["frozen"] is True
        assert client.clock()["frozen"] is True
        assert client.thaw()["frozen"] is False
        region = client.region("TDQREGN")
        region.set_faults('[{"kind": "condition", "condition": "IOERR", "command": "READQ TD", "queue": "PAYQ"}]')
        assert [each["condition"] for each in region.faults()["faults"]] == ["IOERR"]
        region.remove_faults()
        assert region.faults()["faults"] == []


def test_a_user_signs_on_for_a_token():
    with scripted({"token": "hers"}) as (server, _client):
        Client.sign_on(server.url, "ANNA", "apple pie", timeout=300).close()
    assert server.asked == [("POST", "/api/v1/session")]


def test_faults_are_removed():
    with scripted({}) as (server, client):
        client.region("R").remove_faults()
    assert server.asked == [("DELETE", "/api/v1/regions/R/faults")]


def test_a_start_without_an_interval_has_none(region, monkeypatch):
    statements = []
    answer = lambda _self, text, variables: statements.append((text, variables)) or {"resp": 0}  # noqa: E731
    monkeypatch.setattr(type(region), "execute", answer)
    region.start("PAYP")
    region.start("PAYP", b"\xc1", interval=5)
    assert statements == [
        ("START TRANSID(T)", {"T": "PAYP"}),
        ("START TRANSID(T) FROM(FROM) INTERVAL(INTERVAL)", {"T": "PAYP", "FROM": {"hex": "c1"}, "INTERVAL": 5}),
    ]


def answered(status, kind, body, more=""):
    return f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n{more}Content-Length: {len(body)}\r\n\r\n{body}".encode()


@pytest.mark.parametrize(
    ("answer", "detail"),
    [
        (answered("302 Found", "text/html", "", "Location: https://far/\r\n"), "302 Found: it leads to https://far/"),
        (answered("200 OK", "text/html", "<html>"), "200 OK: <html>"),
        (answered("502 Bad Gateway", "text/html", "x" * 300), f"502 Bad Gateway: {'x' * 80}"),
        (answered("200 OK", "application/json", ""), "200 OK: "),
        (answered("200 OK", "application/json", "[" * 100_000), f"200 OK: {'[' * 80}"),
        (answered("409 Conflict", "application/problem+json", "[1]"), "409 Conflict: [1]"),
    ],
)
def test_what_another_program_answers_is_an_error(answer, detail):
    with scripted(answer, answer) as (_, client):
        for ask in (client.regions, lambda: next(client.events())):
            with pytest.raises(RemoteError) as met:
                ask()
            assert str(met.value) == f"unexpected answer: {detail}"


def test_an_event_or_a_problem_of_another_form_is_told():
    problem = {"status": 409, "detail": "D", "resp": None, "resp2": "x", "unconfirmed_rules": [1]}
    with scripted("data: {\n\n", problem) as (_, client):
        with pytest.raises(RemoteError, match="unexpected answer: an event that is not JSON: data: "):
            next(client.events())
        with pytest.raises(RemoteError, match=r"^D$") as met:
            client.regions()
        assert (met.value.resp, met.value.resp2, met.value.unconfirmed_rules) == (0, 0, {})


@pytest.mark.parametrize(
    ("given", "said"),
    [
        *((url, "url") for url in ("http://[::1", "http://host:port", "ftp://host", "http://", "host:80")),
        ("http://host/tdqsim", "url"),
        ("http://ALICE:secret@host", "url of host: a user"),
    ],
)
def test_an_address_that_cannot_be_is_refused(given, said):
    with pytest.raises(UsageError, match=said) as met:
        Client(given, "")
    assert "secret" not in str(met.value)


@pytest.mark.parametrize(
    ("token", "timeout", "said"), [("abc\n", 1, "token"), ("é", 1, "token"), ("abc", 0, "timeout 0")]
)
def test_a_token_or_time_limit_that_cannot_be_is_refused(token, timeout, said):
    with pytest.raises(UsageError, match=said):
        Client("http://host", token, timeout=timeout)


@pytest.mark.parametrize("text", ["", "[]", '{"url": "http://host"}'])
def test_a_file_that_is_no_ready_file_is_told(tmp_path, text):
    (tmp_path / "ready.json").write_text(text)
    with pytest.raises(UsageError, match=r"ready\.json: is not the ready file of a server"):
        Client.from_ready_file(tmp_path / "ready.json")
