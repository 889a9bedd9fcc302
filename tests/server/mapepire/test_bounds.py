"""How much the Mapepire server takes over its socket, and what becomes of a client whose rights go while it is there."""

from __future__ import annotations

import logging
import socket
import ssl

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tdqsim.server.connections import Connections
from tdqsim.server.hostservers.accounts import BOUNDS
from tests.server.hostservers.wire import eventually
from tests.server.mapepire.conftest import Door, Socket
from tests.server.mapepire.test_protocol import ENTRIES, RECEIVE, SEND, put

FRAME = 4 * 1024 * 1024


def waiting(door):
    """The receives that wait for an entry of QGPL/Q."""
    return door.do(lambda: sum(len(each.waiters) for each in door.system.queues()))


def revoke(door):
    """Take the authority to QGPL/Q from everybody who has none of his own."""
    with door.system.job(user="QSECOFR") as job:
        job.rvkobjaut("QGPL/Q", "*PUBLIC")


def test_a_message_has_at_most_four_mebibytes_and_one_more_byte_ends_the_connection(client):
    one = client()
    one.send_text('{"id":"most","type":"ping"}'.ljust(FRAME))
    assert one.answer()["id"] == "most"
    one.send_text('{"id":"more","type":"ping"}'.ljust(FRAME + 1))
    with pytest.raises(ConnectionClosed) as closed:
        one.answer()
    assert closed.value.rcvd.code == 1009
    assert client().ask("ping")["alive"]


def test_the_request_behind_as_many_receives_as_may_wait_is_answered_when_one_of_them_has_ended(
    client, door, monkeypatch
):
    assert BOUNDS["waiting_receives"] == 1000
    monkeypatch.setitem(BOUNDS, "waiting_receives", 2)
    one, other = client(), client()
    receives = [one.send("sql", sql=RECEIVE) for _ in range(2)]
    eventually(lambda: waiting(door) == 2)
    behind = one.send("getversion")
    assert other.ask("getversion")["success"]
    assert other.ask("getversion")["success"]  # the server has had the time to answer the other one too
    put(other, "a")
    assert [one.answer()["id"], one.answer()["id"]] == [receives[0], behind]
    put(other, "b")
    assert one.answer()["id"] == receives[1]


def test_a_client_that_goes_away_behind_as_many_receives_as_may_wait_ends_its_job(client, door, monkeypatch):
    monkeypatch.setitem(BOUNDS, "waiting_receives", 2)
    gone, one = client(), client()
    for _ in range(4):
        gone.send("sql", sql=RECEIVE)
    eventually(lambda: waiting(door) == 2)
    gone.abort()
    eventually(lambda: door.do(lambda: len(door.system.jobs)) == 1)
    put(one, "a", "b")
    assert [row["M"] for row in one.ask("sql", sql=ENTRIES)["data"]] == ["a", "b"]


def test_a_client_that_goes_away_in_the_midst_of_a_batch_takes_none_of_its_entries(client, door):
    gone, one = client(), client()
    put(one, "a", "b")
    gone.send("prepare_sql_execute", sql=RECEIVE, parameters=[[], [], []])
    eventually(lambda: waiting(door) == 1)
    gone.abort()
    eventually(lambda: door.do(lambda: len(door.system.jobs)) == 1)
    assert [row["M"] for row in one.ask("sql", sql=ENTRIES)["data"]] == ["a", "b"]


def test_of_the_statements_of_a_connection_the_oldest_is_forgotten(client, monkeypatch):
    assert BOUNDS["mapepire_cursors"] == 1000
    monkeypatch.setitem(BOUNDS, "mapepire_cursors", 2)
    one = client()
    kept = [one.ask("prepare_sql", sql=ENTRIES)["id"] for _ in range(3)]
    assert one.ask("execute", cont_id=kept[0])["error"] == "Bad request: invalid correlation ID"
    assert [one.ask("execute", cont_id=each)["success"] for each in kept[1:]] == [True, True]


def test_a_connection_beyond_the_most_is_refused_until_one_has_ended(client, door, monkeypatch):
    assert Connections.most == 4000
    monkeypatch.setattr(Connections, "most", 2)
    one, other = client(), client()
    with pytest.raises(InvalidStatus) as refused:
        client()
    assert refused.value.response.status_code == 503
    assert b"connections" in refused.value.response.body
    one.abort()
    eventually(lambda: door.do(lambda: len(door.system.jobs)) == 1)
    assert other.ask("getversion")["success"]  # what was to do after the end of the job is done
    assert client().ask("ping")["alive"]


def test_connections_of_other_listeners_count_too(client, door, monkeypatch):
    monkeypatch.setattr(Connections, "most", 1)
    with socket.create_connection(("127.0.0.1", door.ports["as-signon"]), timeout=300):
        eventually(lambda: len(door.servers.connections) == 1)
        with pytest.raises(InvalidStatus) as refused:
            client()
        assert refused.value.response.status_code == 503
    eventually(lambda: not door.servers.connections)
    assert client().ask("ping")["alive"]


def test_a_silent_connection_is_closed(tmp_path, monkeypatch):
    assert BOUNDS["mapper_seconds"] == 10
    monkeypatch.setitem(BOUNDS, "mapper_seconds", 0.2)
    door = Door(tmp_path)
    context = ssl.create_default_context(cafile=str(door.pem))
    try:
        with (
            socket.create_connection(("127.0.0.1", door.door.port), timeout=300) as plain,
            context.wrap_socket(plain, server_hostname="127.0.0.1") as silent,
        ):
            assert silent.recv(1) == b""
    finally:
        door.stop()


def test_a_connection_without_a_sign_on_is_closed(door, monkeypatch):
    assert BOUNDS["sign_on_seconds"] == 60
    monkeypatch.setitem(BOUNDS, "sign_on_seconds", 0)
    one = Socket(door)
    with pytest.raises(ConnectionClosed):
        one.receive()
    one.close()


def test_a_connection_with_a_job_outlives_the_time_for_a_sign_on(client, door):
    one, silent = client(), client(connected=False)
    assert silent.ask("ping")["alive"]
    now = door.loop.time
    door.loop.time = lambda: now() + 61
    door.loop.call_soon_threadsafe(lambda: None)  # to look at the clock
    with pytest.raises(ConnectionClosed):
        silent.receive()
    assert one.ask("ping")["db_alive"]


def test_a_user_who_is_disabled_while_connected_keeps_the_job_and_gets_no_other(client, door):
    """STATUS(*DISABLED) is about sign-ons, of which ``connect`` is one, and that ends the job before it; it ends no other."""
    one, again, other = client(), client(), client("BERT", "Secret1pw")
    job = one.ask("getdbjob")["job"]
    door.do(lambda: door.system.chgusrprf("ANNA", status="*DISABLED"))
    refused = again.ask("connect")
    assert refused["error"] == "The application server rejected the connection. (User ID is disabled.)"
    assert again.ask("getdbjob")["error"] == "Not connected"
    assert one.ask("getdbjob")["job"] == job
    put(one, "sent")
    assert client(connected=False).ask("connect")["sql_state"] == "08004"
    assert other.ask("connect")["success"]
    door.do(lambda: door.system.chgusrprf("ANNA", status="*ENABLED"))
    assert one.ask("connect")["job"] != job


def test_a_password_that_is_changed_while_connected_is_asked_for_by_the_next_connect(client, door):
    one = client()
    door.do(lambda: door.accounts["ANNA"].set_password("Another1pw"))
    assert one.ask("ping")["db_alive"]
    assert "Password is incorrect." in one.ask("connect")["error"]
    assert client("ANNA", "Another1pw").ask("ping")["db_alive"]


def test_authority_that_is_revoked_is_missed_by_the_next_connection_and_not_by_the_job_that_has_used_it(client, door):
    """As on the system itself: a job that has sent goes on sending, and what it has not done before it may not do."""
    one = client()
    put(one, "a")
    door.do(lambda: revoke(door))
    put(one, "b")
    assert one.ask("sql", sql=RECEIVE)["error"] == "[CPF9802] Not authorized to object Q in QGPL."
    other = client()
    refused = other.ask("prepare_sql_execute", sql=SEND, parameters=["c"])
    assert refused["error"] == "[CPF9802] Not authorized to object Q in QGPL."


@pytest.mark.parametrize("given", [b"\xe9\xe9", b"QU5OQQ=="])
def test_an_upgrade_whose_credentials_are_no_text_is_refused_without_a_trace_in_the_log(door, caplog, given):
    upgrade = (
        b"GET /db/ HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nAuthorization: Basic " + given + b"\r\n\r\n"
    )
    context = ssl.create_default_context(cafile=str(door.pem))
    plain = socket.create_connection(("127.0.0.1", door.door.port))
    with context.wrap_socket(plain, server_hostname="127.0.0.1") as client:
        client.sendall(upgrade)
        assert client.recv(12) == b"HTTP/1.1 403"
    assert not [record for record in caplog.records if record.exc_info]


def test_what_websockets_asserts_of_damaged_frames_is_one_line_of_the_log(caplog):
    """The package reports it as an error of its own: which of the frames did it depends on when the client goes away."""
    log = logging.getLogger("tdqsim.server.mapepire.listener.websockets")
    log.error("unexpected internal error", exc_info=AssertionError())
    log.error("connection handler failed", exc_info=ValueError())
    assert [(record.getMessage(), bool(record.exc_info)) for record in caplog.records] == [
        ("a client broke the protocol of websockets", False), ("connection handler failed", True),
    ]  # fmt: skip
