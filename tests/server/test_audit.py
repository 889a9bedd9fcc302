"""The log of a server: one format, its level, and an audit line for each change, whichever interface was used."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import structlog

pytest.importorskip("fastapi", reason="the extra [serve] is not installed")
pytest.importorskip("httpx2", reason="httpx2 is not installed")

from fastapi.testclient import TestClient
from structlog.testing import capture_logs

from tdqsim import Region, Sysplex, define_connection, define_tdqueue, define_transaction
from tdqsim.cics import Task
from tdqsim.cics.kernel.command import COMMANDS
from tdqsim.cics.kernel.region_log import RegionLog
from tdqsim.cics.queues import td
from tdqsim.cics.text.translator import resolve
from tdqsim.server.audit import audit, command_text
from tdqsim.server.host import Host
from tdqsim.server.http import Gate, application
from tdqsim.server.logs import configure_log
from tdqsim.server.users import Role, User, Users

assert Sysplex  # regions of one server are linked as those of a Sysplex
REGION = "/api/v1/regions/PAYREGN"


@pytest.fixture
def host() -> Iterator[Host]:
    made = Host()
    queues = [define_tdqueue(name="PAYQ", type="INTRA"), define_tdqueue(name="FARQ", remotesystem="CRD1")]
    made.add(Region, [*queues, define_connection(name="CRD1", netname="SHIPREGN")], applid="PAYREGN", sysid="PAY1")
    made.add(Region, [define_tdqueue(name="FARQ", type="INTRA")], applid="SHIPREGN", sysid="CRD1")
    yield made
    made.stop()


@pytest.fixture
def api(host: Host) -> Iterator[TestClient]:
    headers = {"Authorization": "Bearer all"}
    with TestClient(application(host, Gate(token="all")), headers=headers, base_url="http://127.0.0.1") as client:
        yield client


def changes(lines: Any) -> list[dict[str, Any]]:
    """The audit lines, without their level and event."""
    return [
        {key: value for key, value in line.items() if key not in ("event", "log_level")}
        for line in lines
        if line["event"] == "change"
    ]


def test_a_route_is_logged_by_its_operation_and_its_queue(api: TestClient) -> None:
    with capture_logs() as lines:
        api.post(f"{REGION}/queues/PAYQ/records", json={"text": "TOPSECRET"})
        api.patch(f"{REGION}/queues/NONE", json={"ENABLESTATUS": "DISABLED"})
        api.get(f"{REGION}/queues/PAYQ")  # it changes nothing
    written, refused = changes(lines)
    about = {"interface": "http", "userid": "(owner)", "origin": "testclient", "applid": "PAYREGN"}
    path = f"{REGION}/queues/PAYQ/records"
    assert written == about | {
        "operation": "WRITEQ TD", "queue": "PAYQ", "method": "POST", "path": path, "status": 201,
    }  # fmt: skip
    assert (refused["operation"], refused["queue"], refused["status"]) == ("SET TDQUEUE", "NONE", 404)
    assert "TOPSECRET" not in str(lines)


def test_a_command_is_logged_with_its_text_and_its_condition(api: TestClient) -> None:
    unit = api.post(f"{REGION}/units-of-work").json()["id"]
    with capture_logs() as lines:
        api.post(f"{REGION}/exec", json={"text": "READQ TD QUEUE('PAYQ') INTO(REC) NOHANDLE"})
        api.post(f"{REGION}/cemt", json={"text": "SET TDQ(NONE) DISABLED"})
        api.post(f"/api/v1/units-of-work/{unit}/ceci", json={"text": "WRITEQ TD QUEUE(PAYQ) FROM(SECRET)"})
        api.delete(f"/api/v1/units-of-work/{unit}")
    read, cemt, ceci, end = changes(lines)
    assert (read["operation"], read["resp"], read["status"]) == ("READQ TD", "QZERO", 200)
    assert read["command"] == "READQ TD QUEUE('PAYQ') INTO(REC) NOHANDLE"
    assert (cemt["operation"], cemt["command"], cemt["resp"]) == (
        "SET TDQUEUE", "SET TDQ(NONE) DISABLED", "some of it failed",
    )  # fmt: skip
    assert (ceci["operation"], ceci["command"], ceci["resp"]) == (
        "WRITEQ TD", "WRITEQ TD QUEUE(PAYQ) FROM(...)", "NORMAL",
    )  # fmt: skip
    assert (end["operation"], end["unit"]) == ("SYNCPOINT ROLLBACK", unit)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("WRITEQ TD QUEUE('PAYQ') FROM('it''s (x)') LENGTH(3)", "WRITEQ TD QUEUE('PAYQ') FROM(...) LENGTH(3)"),
        ("writeq td queue(Q) from (REC)", "writeq td queue(Q) from (...)"),
        ("WRITEQ TD FROM(REC(I)) QUEUE('PAYQ')", "WRITEQ TD FROM(...) QUEUE('PAYQ')"),
        ("DELETEQ TD QUEUE('A B')", "DELETEQ TD QUEUE('A B')"),
        ("SIGNON USERID('BRK') PASSWORD('pw-x')", "SIGNON USERID('BRK') PASSWORD(...)"),
        ("SIGNON PASSWORD( 'pw)x' ) USERID('BRK')", "SIGNON PASSWORD( ...) USERID('BRK')"),
        ("VERIFY PASSWORD('pw-x') USERID('BRK')", "VERIFY PASSWORD(...) USERID('BRK')"),
        ("VERIFY PHRASE('pw-x') PHRASELEN(4) USERID('BRK')", "VERIFY PHRASE(...) PHRASELEN(4) USERID('BRK')"),
        ("WRITE OPERATOR TEXT('pw-x')", "WRITE OPERATOR TEXT(...)"),
        ("READ FILE('ACCT') RIDFLD('pw-x') INTO(REC)", "READ FILE('ACCT') RIDFLD(...) INTO(REC)"),
        ("LINK PROGRAM('P') COMMAREA(AREA)", "LINK PROGRAM('P') COMMAREA(...)"),
    ],
)
def test_the_text_of_a_command_is_shown_without_secrets_and_the_data_that_it_sends(text: str, shown: str) -> None:
    assert command_text(resolve(text)) == shown


def test_a_name_in_a_host_variable_is_shown_and_data_in_one_is_not(api: TestClient) -> None:
    secret = {"text": "pw-x"}
    with capture_logs() as lines:
        for text in ("WRITEQ TD QUEUE(Q) FROM(REC) LENGTH(2)", "VERIFY PASSWORD(P) USERID(U)", "DELETEQ TD QUEUE(NO)"):
            variables = {"Q": "PAYQ", "REC": secret, "P": "pw-x", "U": "O'BRIEN"}
            api.post(f"{REGION}/exec", json={"text": text, "variables": variables})
    assert [line["command"] for line in changes(lines)] == [
        "WRITEQ TD QUEUE('PAYQ') FROM(...) LENGTH(2)",
        """VERIFY PASSWORD(...) USERID("O'BRIEN")""",
        "DELETEQ TD QUEUE(NO)",
    ]


@pytest.mark.parametrize("verb", ["SIGNON PASSWORD", "VERIFY PASSWORD", "VERIFY PHRASE"])
def test_no_password_is_in_the_line_of_a_command_even_if_it_is_refused(host: Host, verb: str) -> None:
    gate = Gate(Users([User("EYES", frozenset({Role.look})), User("HANDS", frozenset({Role.operate}))]), token="all")
    length = "PHRASELEN(4) " if "PHRASE" in verb else ""
    with TestClient(application(host, gate), base_url="http://127.0.0.1") as client, capture_logs() as lines:
        for user in ("EYES", "HANDS"):
            headers = {"Authorization": f"Bearer {gate.sessions.begin(user, cookie=False)[0]}"}
            text = f"{verb}('pw-x') {length}USERID('BRK')"
            assert client.post(f"{REGION}/exec", json={"text": text}, headers=headers).status_code in (200, 403, 409)
            unit = client.post(f"{REGION}/units-of-work", headers=headers).json().get("id")
            if unit:
                path = f"/api/v1/units-of-work/{unit}/ceci"
                assert client.post(path, json={"text": text.replace("'", "")}, headers=headers).status_code < 500
    shown = [line["command"] for line in changes(lines) if "command" in line]
    assert len(shown) == 3
    assert all("(...)" in each and "pw-x" not in each for each in shown)
    assert "pw-x" not in str(lines)


def test_every_option_of_a_password_is_declared_as_a_secret() -> None:
    words = {"PASSWORD", "NEWPASSWORD", "PHRASE", "NEWPHRASE", "OLDPASSWORD", "OLDPHRASE"}
    options = [option for command in COMMANDS.values() for option in command.options if option.word in words]
    assert {option.word for option in options} >= {"PASSWORD", "PHRASE"}
    assert not [option for option in options if option.is_shown]


def test_a_request_that_was_shipped_to_a_region_is_logged_there(host: Host) -> None:
    region = host.regions["PAYREGN"]
    with capture_logs() as lines:
        host.engine.submit(lambda: region.writeq_td("FARQ", b"secret")).result(60)
    (line,) = changes(lines)
    del line["task"]
    assert line == {
        "interface": "link", "userid": "CICSUSER", "operation": "WRITEQ TD", "applid": "SHIPREGN", "queue": "FARQ",
        "resp": "NORMAL",
    }  # fmt: skip


@pytest.mark.usefixtures("restored")
def test_commands_that_were_shipped_are_logged_at_debug_only(host: Host) -> None:
    region, stream = host.regions["PAYREGN"], io.StringIO()
    configure_log("json", "info", stream)
    host.engine.submit(lambda: region.writeq_td("FARQ", b"secret")).result(60)
    assert stream.getvalue() == ""
    configure_log("json", "debug", stream)
    host.engine.submit(lambda: region.writeq_td("FARQ", b"secret")).result(60)
    assert '"interface": "link"' in stream.getvalue()


@pytest.fixture
def restored() -> Iterator[None]:
    """Give back the configuration of logging."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    levels = {
        name: logger.level for name, logger in root.manager.loggerDict.items() if isinstance(logger, logging.Logger)
    }
    yield
    structlog.reset_defaults()
    root.handlers[:] = handlers
    root.setLevel(level)
    for name, logger in root.manager.loggerDict.items():
        if isinstance(logger, logging.Logger):
            logger.setLevel(levels.get(name, logging.NOTSET))


@pytest.mark.usefixtures("restored")
def test_everything_is_logged_in_one_format() -> None:
    """The server's events, those of regions, and messages of libraries."""
    stream = io.StringIO()
    configure_log("json", "info", stream)
    audit("http", "", "WRITEQ TD", applid="PAYREGN", queue="PAYQ", status=201)
    RegionLog("PAYREGN").warning("open_failed", queue="OUTQ", reason="no DD")
    logging.getLogger("a.library").warning("%d things", 3)
    logging.getLogger("a.library").error("it failed", exc_info=ValueError("boom"))
    own, region, library, failure = map(json.loads, stream.getvalue().splitlines())
    assert {own["event"], own["level"], own["userid"], own["queue"]} == {"change", "info", "(owner)", "PAYQ"}
    assert (region["event"], region["applid"], region["queue"]) == ("open_failed", "PAYREGN", "OUTQ")
    assert (region["logger"], region["level"]) == ("tdqsim.cics", "warning")
    assert (library["event"], library["logger"]) == ("3 things", "a.library")
    assert "ValueError: boom" in failure["exception"]
    for line in (own, region, library, failure):
        assert line["timestamp"].endswith("Z")


@pytest.mark.usefixtures("restored")
@pytest.mark.parametrize(("level", "shown"), [("debug", 3), ("info", 3), ("warning", 2), ("error", 0)])
def test_the_level_holds_for_the_server_and_its_regions(level: Any, shown: int) -> None:
    stream = io.StringIO()
    configure_log("text", level, stream)
    audit("http", "ALICE", "WRITEQ TD")
    structlog.get_logger("tdqsim.server").warning("users_file_refused")
    RegionLog("PAYREGN").warning("open_failed")
    assert len(stream.getvalue().splitlines()) == shown


def _abends(task: Task) -> None:
    task.abend("OWN1")


def _condition(task: Task) -> None:
    task.writeq_td("NONE", b"x")


def _program_check(_task: Task) -> None:
    json.loads("no JSON")


def _wrong_type(task: Task) -> None:
    task.writeq_td("PAYQ", {"not": "bytes"})  # type: ignore[arg-type]


def _wrong_call(task: Task) -> None:
    task.writeq_td("PAYQ", b"x", lenght=3)  # type: ignore[call-arg]


@pytest.mark.usefixtures("restored")
@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize(
    ("program", "code"),
    [(_abends, "OWN1"), (_condition, "AEYH"), (_program_check, "ASRA"), (_wrong_type, "ASRA"), (_wrong_call, "ASRA")],
)
def test_an_abend_is_one_line_of_the_log_with_its_place(form: Any, program: Callable[[Task], None], code: str) -> None:
    stream = io.StringIO()
    configure_log(form, "info", stream)
    with Region(
        [define_tdqueue(name="PAYQ", type="INTRA"), define_transaction(name="TEST")], applid="PAYREGN"
    ) as region:
        region.transaction("TEST")(program)
        region.start("TEST")
        region.run()
    (line,) = stream.getvalue().splitlines()
    assert "abend" in line
    assert code in line
    own = f"{__file__}:{program.__code__.co_firstlineno + 1}"
    assert ("decoder.py:" if program is _program_check else own) in line  # the innermost line outside the package
    assert "Traceback" not in line


@pytest.mark.usefixtures("restored")
@pytest.mark.parametrize("form", ["text", "json"])
def test_a_fault_of_the_product_is_logged_with_its_traceback(form: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The traceback has no values of variables, which may be records."""
    stream = io.StringIO()
    with Region([define_tdqueue(name="PAYQ", type="INTRA")], applid="PAYREGN") as region:
        configure_log(form, "info", stream)

        @region.transaction("TEST")
        def write(task: Task) -> None:
            secret = b"TOPSECRET"
            monkeypatch.setattr(td, "_record", None)  # a function of the command, which is called for a bytearray
            task.writeq_td("PAYQ", bytearray(secret))

        region.start("TEST")
        region.run()
    text = stream.getvalue()
    assert "Traceback (most recent call last)" in text
    assert "TypeError" in text
    assert "TOPSECRET" not in text
