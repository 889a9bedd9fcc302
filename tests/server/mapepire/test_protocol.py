"""The Mapepire protocol: connection, requests, paging, errors."""

from __future__ import annotations

import json
import ssl
import urllib.request

import pytest
from structlog.testing import capture_logs
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tdqsim.server.incidents import incidents_of_system
from tdqsim.server.refusals import Refusals
from tdqsim.testing import History
from tests.server.hostservers.wire import eventually
from tests.server.mapepire.conftest import Socket

RECEIVE = "SELECT MESSAGE_DATA FROM TABLE(QSYS2.RECEIVE_DATA_QUEUE('Q', 'QGPL', WAIT_TIME => -1)) X"
ENTRIES = "SELECT ORDINAL_POSITION P, MESSAGE_DATA M FROM TABLE(QSYS2.DATA_QUEUE_ENTRIES('Q', 'QGPL')) X"
SEND = "CALL QSYS2.SEND_DATA_QUEUE(?, 'Q', 'QGPL')"


def put(one, *texts):
    assert one.ask("prepare_sql_execute", sql=SEND, parameters=[[each] for each in texts])["success"]


def test_connect_and_the_job(client, door):
    one = client(connected=False)
    assert one.ask("getdbjob")["error"] == "Not connected"
    answer = one.ask("connect", technique="tcp", application="a test", props="")
    assert (answer["success"], answer["job"].split("/")[1:]) == (True, ["QUSER", "QZDASOINIT"])
    assert one.ask("getdbjob")["job"] == answer["job"]
    assert one.ask("ping").items() >= {"alive": True, "db_alive": True}.items()
    assert one.ask("getversion")["version"] == "2.3.3"
    assert one.ask("setconfig", tracelevel="ON")["tracelevel"] == "ON"
    assert one.ask("gettracedata")["tracedata"] == ""
    again = one.ask("connect")
    assert again["job"] != answer["job"]
    assert door.do(lambda: len(door.system.jobs)) == 1


@pytest.mark.parametrize("who", [("ANNA", "wrong"), ("NOBODY", "Secret1pw")])
def test_wrong_password_and_unknown_user_read_the_same(client, who):
    answer = client(*who, connected=False).ask("connect")
    assert (answer["success"], answer["sql_state"]) == (False, "08004")
    assert answer["error"] == "The application server rejected the connection. (Password is incorrect.)"


@pytest.mark.parametrize("level", range(5))
def test_password_at_each_level(client, door, level):
    door.system.values["QPWDLVL"] = level
    assert client().ask("ping")["db_alive"]
    for wrong in ("Secret1px", "Secret1pwSecret1pw", "pässword€"):
        answer = client("ANNA", wrong, connected=False).ask("connect")
        assert "Password is incorrect." in answer["error"]
        assert client().ask("ping")["db_alive"]  # the count of wrong ones begins anew


@pytest.mark.parametrize("who", [("ANNA", "with:colon"), ("", "x"), ("A*", "x"), ("ANNA", "")])
def test_upgrade_without_a_usable_user_and_password(door, who):
    with pytest.raises(InvalidStatus) as refused:
        Socket(door, *who)
    assert refused.value.response.status_code == 403


def test_version_by_http(door):
    context = ssl.create_default_context(cafile=str(door.pem))
    with urllib.request.urlopen(f"https://127.0.0.1:{door.door.port}/version", context=context) as answer:
        assert json.load(answer) == {"version": "2.3.3"}


def test_send_and_receive_with_parameters(client):
    one = client()
    sent = one.ask("prepare_sql_execute", sql=SEND, parameters=["hello"], rows=100, terse=False)
    assert sent.items() >= {"success": True, "has_results": False, "update_count": 0, "is_done": True}.items()
    got = one.ask("sql", sql=RECEIVE, rows=100, terse=True)
    assert got.items() >= {"success": True, "has_results": True, "update_count": -1, "data": [["hello"]]}.items()
    assert got["metadata"]["columns"][0].items() >= {"name": "MESSAGE_DATA", "type": "CLOB"}.items()


def test_pages(client):
    one = client()
    put(one, *"abcde")
    first = one.ask("sql", sql=ENTRIES, rows=2)
    assert (first["data"], first["is_done"]) == ([{"P": 1, "M": "a"}, {"P": 2, "M": "b"}], False)
    more = one.ask("sqlmore", cont_id=first["id"], rows=3)
    assert ([row["M"] for row in more["data"]], more["is_done"]) == (["c", "d", "e"], False)
    last = one.ask("sqlmore", cont_id=first["id"], rows=3)
    assert (last["data"], last["is_done"]) == ([], True)
    assert one.ask("sqlclose", cont_id=first["id"])["success"]
    assert one.ask("sqlmore", cont_id=first["id"])["error"] == "Bad request: invalid correlation ID"
    assert one.ask("sqlmore")["error"] == "Correlation ID not specified"
    none = one.ask("sql", sql=ENTRIES, rows=0)
    assert (none["data"], none["is_done"]) == ([], False)


def test_prepare_and_execute(client):
    one = client()
    prepared = one.ask("prepare_sql", sql=SEND)
    assert prepared["parameter_count"] == 1
    assert prepared["metadata"]["parameters"][0].items() >= {"mode": "IN", "name": "MESSAGE_DATA"}.items()
    for text in ("a", "b"):
        assert one.ask("execute", cont_id=prepared["id"], parameters=[text])["success"]
    entries = one.ask("prepare_sql", sql=ENTRIES)["id"]
    assert [row["M"] for row in one.ask("execute", cont_id=entries, rows=1)["data"]] == ["a"]
    again = one.ask("execute", cont_id=entries)  # what was not read of the rows before is forgotten
    assert [row["M"] for row in again["data"]] == ["a", "b"]


def test_a_second_setting_of_traces_leaves_the_first_and_a_row_among_values_is_no_batch(client):
    one = client()
    one.ask("setconfig", tracelevel="ON")
    answer = one.ask("setconfig", tracedest="FILE")
    assert (answer["tracelevel"], answer["tracedest"]) == ("ON", "FILE")
    assert not one.ask("prepare_sql_execute", sql=SEND, parameters=[["a"], "b"])["success"]
    assert one.ask("sql", sql=ENTRIES)["data"] == []


def test_waiting_receive_holds_up_nothing(client):
    one = client()
    waiting = one.send("sql", sql=RECEIVE)
    assert one.ask("ping")["alive"]
    sent = one.send("prepare_sql_execute", sql=SEND, parameters=["x"])
    answers = {answer["id"]: answer for answer in (one.answer(), one.answer())}
    assert answers[waiting]["data"] == [{"MESSAGE_DATA": "x"}]
    assert answers[sent]["success"]


def test_client_that_goes_away_takes_no_entry(client, door):
    gone, one = client(), client()
    for _ in range(20):
        gone.send("sql", sql=RECEIVE)
    gone.ask("ping")
    gone.abort()
    eventually(lambda: door.do(lambda: len(door.system.jobs)) == 1)
    put(one, "a", "b")
    assert [row["M"] for row in one.ask("sql", sql=ENTRIES)["data"]] == ["a", "b"]


def test_waiting_receives_are_woken_in_order(client):
    clients = [client() for _ in range(20)]
    for each in clients:
        each.send("sql", sql=RECEIVE)
        each.ask("ping")
    put(client(), *(str(each) for each in range(20)))
    assert [each.answer()["data"] for each in clients] == [[{"MESSAGE_DATA": str(at)}] for at in range(20)]


def test_refused_sql_has_all_three_fields_and_the_session_goes_on(client):
    one = client()
    put(one, "stays")
    refused = one.ask("sql", sql="SELECT NOPE FROM TABLE(QSYS2.RECEIVE_DATA_QUEUE('Q', 'QGPL')) X")
    assert refused.items() >= {"success": False, "sql_rc": -206, "sql_state": "42703"}.items()
    assert refused["error"] == "[SQL0206] Column NOPE not in specified tables."
    fails = one.ask(
        "sql", sql="SELECT CAST(MESSAGE_DATA AS INTEGER) FROM TABLE(QSYS2.RECEIVE_DATA_QUEUE('Q', 'QGPL')) X"
    )
    assert (fails["success"], fails["sql_rc"]) == (False, -420)
    assert one.ask("sql", sql=ENTRIES)["data"] == [{"P": 1, "M": "stays"}]


def test_binary_data_is_hexadecimal_text(client):
    one = client()
    sql = "CALL QSYS2.SEND_DATA_QUEUE_BINARY(?, 'K', 'QGPL', ?)"
    assert one.ask("prepare_sql_execute", sql=sql, parameters=["00FFC1", "abc"])["success"]
    got = one.ask("sql", sql="SELECT MESSAGE_DATA_BINARY, KEY_DATA FROM TABLE(QSYS2.DATA_QUEUE_ENTRIES('K', 'QGPL'))")
    assert got["data"] == [{"MESSAGE_DATA_BINARY": "00FFC1", "KEY_DATA": "abc"}]


def test_half_of_a_surrogate_pair_is_refused_and_the_session_goes_on(client):
    one = client()
    sql = "CALL QSYS2.SEND_DATA_QUEUE_UTF8(?, 'Q', 'QGPL')"
    refused = one.ask("prepare_sql_execute", sql=sql, parameters=["ab\ud800"])
    assert (refused["sql_rc"], refused["sql_state"]) == (-330, "22021")
    assert refused["error"].endswith("character 3 of the data is not in UTF-8: U+D800, half of a surrogate pair")
    assert one.ask("ping")["db_alive"]


def test_cl_answers_the_messages_of_the_command(client):
    one = client()
    good = one.ask("cl", cmd="CRTLIB LIB(NEWLIB)")
    assert (good["success"], good["data"][0]["SUMMARY"]) == (True, "CPC2102 [COMP]: Library NEWLIB created.")
    bad = one.ask("cl", cmd="DLTDTAQ DTAQ(QGPL/NONE)", terse=False)
    assert bad.items() >= {"success": False, "sql_rc": -443, "sql_state": "38501"}.items()
    assert bad["error"] == "[CPF2105] Object NONE in QGPL type *DTAQ not found."
    assert bad["data"][-1]["MESSAGE_ID"] == "CPF2105"


def test_a_command_waits_for_the_one_before_it_and_holds_up_nothing_else(client, door):
    door.do(lambda: door.system.register_program("QGPL/TAKE", lambda job: job.qrcvdtaq("Q", "QGPL", -1), []))
    one, other = client(), client()
    first, second = one.send("cl", cmd="CALL PGM(QGPL/TAKE)"), one.send("cl", cmd="CRTLIB LIB(NEWLIB)")
    assert [one.ask("ping")["alive"] for _ in range(2)] == [True, True]
    put(other, "x")
    assert [one.answer()["id"], one.answer()["id"]] == [first, second]


def test_a_new_job_of_a_connection_knows_none_of_the_statements_of_the_one_before(client):
    one = client()
    prepared = one.ask("prepare_sql", sql=SEND)["id"]
    assert one.ask("connect")["success"]
    refused = one.ask("execute", cont_id=prepared, parameters=["a"])
    assert refused["error"] == "Bad request: invalid correlation ID"


def test_libraries_and_naming(client, door):
    def make():
        door.system.crtlib("APPLIB")
        with door.system.job(user="QSECOFR") as job:
            job.crtdtaq("APPLIB/OWN", maxlen=5, aut="*ALL")

    door.do(make)
    schema = "VALUES CURRENT SCHEMA"
    assert client().ask("sql", sql=schema, terse=True)["data"] == [["ANNA"]]
    one = client(props="libraries=APPLIB,QGPL;naming=sql")
    assert one.ask("sql", sql=schema, terse=True)["data"] == [["APPLIB"]]
    assert one.ask("sql", sql="CALL QSYS2.SEND_DATA_QUEUE('x', 'OWN', CURRENT SCHEMA)")["success"]
    assert one.ask("sql", sql="CALL QSYS2.SEND_DATA_QUEUE('x', 'OWN')")["success"]
    for name in ("QGPL", "APPLIB"):
        assert one.ask("sql", sql=f"SET SCHEMA {name}")["success"]
        assert one.ask("sql", sql=schema, terse=True)["data"] == [[name]]
    assert client(props="naming=system").ask("sql", sql=schema, terse=True)["data"] == [["*LIBL"]]


def test_text_that_is_no_request(client):
    one = client(connected=False)
    one.send_text("{")
    assert one.answer().items() >= {"id": "unparseable_1", "success": False}.items()
    one.send_text("[" * 100_000)
    assert one.answer()["id"] == "unparseable_2"
    one.send_text('{"id": "x"}')
    assert one.answer()["id"] == "incomplete_3"
    one.send_text('{"id": {}, "type": []}')
    assert one.answer()["id"] == "incomplete_4"
    assert one.ask("nonsense")["error"] == "Unknown request type: nonsense"
    assert one.ask("dove", sql="x")["success"] is False
    assert one.ask("exit")["success"]
    with pytest.raises(ConnectionClosed):
        one.receive()


def test_authority_of_the_user(client, door):
    def make():
        with door.system.job(user="QSECOFR") as job:
            job.crtdtaq("QGPL/SECRET", maxlen=5, aut="*EXCLUDE")

    door.do(make)
    refused = client().ask("sql", sql="CALL QSYS2.SEND_DATA_QUEUE('x', 'SECRET', 'QGPL')")
    assert "[CPF9802]" in refused["error"]


def test_library_that_does_not_exist_is_not_added_and_the_log_says_so(client, door, caplog):
    one = client(props="libraries=QTEMP,NOWHERE,NOLIB")
    job = door.do(lambda: next(iter(door.system.jobs.values())))
    assert door.do(lambda: job.user_libraries) == ("QTEMP",)
    for name in ("NOWHERE", "NOLIB"):
        assert f"libraries: not added to the library list: CPF2110 Library {name} not found." in caplog.text
    one.ask("connect", props="libraries=QSYS,*LIBL,QTEMP")
    job = door.do(lambda: next(iter(door.system.jobs.values())))
    assert door.do(lambda: job.user_libraries) == ("QSYS", "QGPL", "QTEMP")
    caplog.clear()
    door.do(lambda: door.system.crtlib("APPLIB"))
    one.ask("connect", props="libraries=QSYS,APPLIB,*LIBL")
    job = door.do(lambda: next(iter(door.system.jobs.values())))
    assert door.do(lambda: job.user_libraries) == ("QSYS", "APPLIB", "QGPL", "QTEMP")
    assert "not added" not in caplog.text


def test_audit_log_has_one_line_for_each_statement_of_a_connection(client, door):
    with capture_logs() as lines:
        one = client(application="Earlier Client")
        assert one.ask("connect", application="Python Client")["success"]
        job = one.ask("getdbjob")["job"]
        put(one, "secret 1", "secret 2", "secret 3")
        for sql in ("SELECT 'secret'", "insert into secret", "CALL QSYS2.SEND_DATA_QUEUE('secret', 'NONE', 'QGPL')"):
            assert not one.ask("sql", sql=sql)["success"]
        one.ask("exit")
        with pytest.raises(ConnectionClosed):  # a client that does not answer the close is waited for 10 seconds
            one.receive()
        eventually(lambda: not door.do(lambda: len(door.system.jobs)))
    same = {
        "event": "change", "log_level": "info", "interface": "mapepire", "userid": "ANNA", "client": "Python Client",
        "origin": "127.0.0.1", "system": "SYS1", "job": job,
    }  # fmt: skip
    assert lines == [
        {**same, "operation": "CALL SEND_DATA_QUEUE", "resp": "NORMAL", "times": 3},
        {**same, "operation": "SELECT", "resp": "-104", "times": 1},
        {**same, "operation": "INSERT", "resp": "-84", "times": 1},
        {**same, "operation": "CALL SEND_DATA_QUEUE", "resp": "-443", "times": 1},
    ]


def test_refused_service_is_an_incident_and_part_of_the_history_like_the_api(client, door):
    refusals, history = Refusals("SYS1"), History()

    def watch():
        door.system.on_failure = refusals.message
        door.system.recorder = history

    door.do(watch)
    one = client()
    job = one.ask("getdbjob")["job"]
    assert not one.ask("sql", sql="CALL QSYS2.SEND_DATA_QUEUE('secret', 'NONE', 'QGPL')")["success"]
    put(one, "x")
    incidents = door.do(lambda: incidents_of_system(door.system, refusals))
    assert [incident.kind for incident in incidents] == ["Refused"]
    assert [group.userid for group in refusals] == ["ANNA"]  # and not QUSER, whose jobs those of all clients are
    assert "QSNDDTAQ" in incidents[0].what
    assert "NONE" in incidents[0].what
    assert "secret" not in incidents[0].what
    sent = [(event.job, event.queue, event.message) for event in history.events if event.kind == "QSNDDTAQ"]
    assert sent == [(job, "QGPL/NONE", "CPF9801"), (job, "QGPL/Q", "")]
