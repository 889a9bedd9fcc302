"""as-database: pools of JDBC connections of JTOpen and node-jt400 whose systems are used for data queues."""

from __future__ import annotations

import os
import shutil
import ssl
import subprocess
from pathlib import Path

import pytest

from tdqsim.server.hostservers import block
from tests.rules import rule
from tests.server.hostservers.certificates import certificate
from tests.server.hostservers.java import HERE, JAR, SHORT
from tests.server.hostservers.test_toolbox import pytestmark as needs_java
from tests.server.hostservers.wire import eventually

NAMES = ("as-signon", "as-dtaq", "as-rmtcmd", "as-database")
MODULES = Path(os.environ.get("TDQ_NODE_MODULES") or "/usr/lib/node_modules")
"""The folder of npm packages with node-jt400."""

ONLY = (
    "is not simulated by as-database, which executes only SELECT CURRENT SCHEMA FROM SYSIBM.SYSDUMMY1 and SET SCHEMA."
    " SQL for data queues is executed by Mapepire and by job.sql."
)
ROUNDS = "round 0, OTHER0; round 1, OTHER1; round 2, OTHER2; round 3, OTHER3; round 4, OTHER4; round 5, OTHER5;"
SEEN = f"""
pool: {ROUNDS} ANNA true 2
pool with naming system: {ROUNDS} *LIBL true 2
pool over TLS: {ROUNDS} ANNA true 2
wrong password: 08004 -99999 The application server rejected the connection. (Password is incorrect.:ANNA)
libraries: APPLIB null
job: QZDASOINITQUSER     NUMBER
library that does not exist: [PWS1301] Not added to the library list: CPF2110 Library NOWHERE not found.
SELECT MESSAGE_DATA FROM TABLE(QSYS2.RECEIVE_DATA_QUEUE('FIFO', 'QGPL')) X: 42612 -84 [SQL0084] SQL statement not allowed: SELECT RECEIVE_DATA_QUEUE {ONLY}
SELECT * FROM ORDERS: 42612 -84 [SQL0084] SQL statement not allowed: SELECT {ONLY}
INSERT INTO ORDERS VALUES(1): 42612 -84 [SQL0084] SQL statement not allowed: INSERT {ONLY}
SELECT 1: 42601 -104 [SQL0104] Token <END-OF-STATEMENT> was not valid.
SELECT X': 42601 -104 [SQL0104] Token ' was not valid.
SET SCHEMA: 42601 -104 [SQL0104] Token <END-OF-STATEMENT> was not valid.
long: 42612 -84 [SQL0084] SQL statement not allowed: a statement of more than 1000 bytes {ONLY}
two parameters: 42612 -84 [SQL0084] SQL statement not allowed: SELECT {ONLY}
tables: 42612 -84 [SQL0084] SQL statement not allowed: CALL {ONLY}
product: 07.05.0000 V7R5m0
SET SCHEMA: 0 APPLIB
CURRENT SCHEMA: WHERE_I_AM APPLIB false
transaction: true
too long a schema: 22001 0 Data truncation
closed: true
"""


def applib(served):
    served.do(lambda: served.system.crtlib("APPLIB"))


@pytest.mark.java
@needs_java[1]
def test_pools_of_the_toolbox(serve, classes, tmp_path):
    pem, key = certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem, key)
    served = serve(tls=context)
    applib(served)
    trust = tmp_path / "trust.p12"
    subprocess.run(
        ["keytool", "-importcert", "-noprompt", "-alias", "us", "-file", str(pem), "-keystore", str(trust), "-storepass", "trusting"],
        check=True, capture_output=True,
    )  # fmt: skip
    ports = [str(served.ports[name + suffix]) for suffix in ("", "-s") for name in NAMES]
    done = subprocess.run(
        ["java", *SHORT, f"-Djavax.net.ssl.trustStore={trust}", "-Djavax.net.ssl.trustStorePassword=trusting",
         "-cp", f"{JAR}:{classes}", "Pools", *ports],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.stdout.splitlines() == SEEN.strip().splitlines(), done.stderr
    eventually(lambda: not served.servers.connections and not served.do(lambda: len(served.system.jobs)))


@pytest.mark.java
@pytest.mark.skipif(
    shutil.which("node") is None or not (MODULES / "node-jt400").is_dir(),
    reason="needs Node, a JDK and node-jt400 (TDQ_NODE_MODULES: the folder of its packages)",
)
def test_node_jt400(served):
    done = subprocess.run(
        ["node", str(HERE / "pool.js"), *(str(served.ports[name]) for name in NAMES)],
        capture_output=True, text=True, timeout=300, check=False, env={**os.environ, "NODE_PATH": str(MODULES)},
    )  # fmt: skip
    assert done.stdout.splitlines() == [
        "read: one",
        "waited: woken",
        "request: question",
        "reply: answer",
        f"SELECT * FROM ORDERS: [SQL0084] SQL statement not allowed: SELECT {ONLY}",
        "SELECT 1: [SQL0104] Token <END-OF-STATEMENT> was not valid.",
        "connect: java.lang.ClassCastException",
        "wrong password: The application server rejected the connection. (Password is incorrect.:ANNA)",
    ], done.stderr  # fmt: skip


# -- frames -----------------------------------------------------------------------------------------------------------

WANTED = bytes.fromhex("8F800000")
"""A reply with all of its parts."""


def request(handle=1, rest=b"", wanted=WANTED):
    return wanted + bytes(4) + handle.to_bytes(2, "big") * 2 + bytes(2) + handle.to_bytes(2, "big") + bytes(4) + rest


def sql(text):
    raw = text.encode("utf-16-be")
    return block(0x3831, (13488).to_bytes(2, "big") + len(raw).to_bytes(4, "big") + raw)


def outcome(frame):
    """The error class and the code of a reply."""
    return frame.number(34, 2), frame.number(36, 4, signed=True)


@pytest.fixture
def database(served, connect):
    client = connect(served, "as-database", 0xE004)
    assert client.sign_on() == 0
    return client


def test_attributes_of_the_server(database, served):
    got = database.ask(0x1F80, request(rest=block(0x380C, b"\0\1")), template=20)
    assert (got.request, outcome(got)) == (0x2800, (0, 0))
    sent = got.blocks(40)[0x3804][2:]
    job = served.do(lambda: next(iter(served.system.jobs.values())).qualified_name)
    assert int.from_bytes(sent[19:21], "big") == 37
    assert sent[50:60].decode("cp037") == "V7R5M00010"
    assert sent[60:78].decode("cp037").rstrip() == "SYS1"
    assert sent[88:114].decode("cp037") == f"QZDASOINITQUSER     {job[:6]}"
    assert sent[116:].decode("cp037") == "*LIBL"


def test_statement_before_the_attributes_and_execution_of_none(database):
    assert outcome(database.ask(0x1803, request(rest=sql("COMMIT")), template=20)) == (1, -843)
    database.ask(0x1F80, request(), template=20)
    assert outcome(database.ask(0x180E, request(), template=20)) == (1, -514)
    assert outcome(database.ask(0x1803, request(), template=20)) == (1, -901)


def test_refused_statement_is_not_executed_and_its_message_is_kept_by_its_handle(database):
    database.ask(0x1F80, request(), template=20)
    assert outcome(database.ask(0x1803, request(2, sql("SET SCHEMA A")), template=20)) == (0, 0)
    assert outcome(database.ask(0x1803, request(2, sql("CREATE TABLE T")), template=20)) == (1, -84)
    assert outcome(database.ask(0x1803, request(3, sql("SELECT")), template=20)) == (1, -104)
    assert outcome(database.ask(0x180E, request(2), template=20)) == (1, -514)
    told = database.ask(0x1F00, request(3, wanted=bytes.fromhex("E2000000")), template=20).blocks(40)
    assert told[0x3801][2:].decode("cp037") == "SQL0104"
    assert told[0x3802][4:].decode("cp037") == "Token <END-OF-STATEMENT> was not valid."
    assert int.from_bytes(told[0x3807][12:16], "big", signed=True) == -104
    assert told[0x3807][131:].decode("cp037") == "42601"
    assert 0x3801 not in database.ask(0x1F00, request(9, wanted=bytes.fromhex("E2000000")), template=20).blocks(40)


@pytest.mark.rule("QSYS2-DATABASE-NOT-SERVED")
def test_statement_that_as_database_does_not_serve(database):
    database.ask(0x1F80, request(), template=20)
    assert outcome(database.ask(0x1803, request(rest=sql("VALUES 1")), template=20)) == (1, -84)
    told = database.ask(0x1F00, request(wanted=bytes.fromhex("E2000000")), template=20).blocks(40)
    assert rule("QSYS2-DATABASE-NOT-SERVED").message in told[0x3802][4:].decode("cp037")


def test_request_that_wants_no_reply_gets_none(database):
    database.send(0x1D00, request(wanted=bytes(4)), template=20)
    database.send(0x1800, request(rest=sql("nonsense"), wanted=bytes(4)), template=20)
    got = database.ask(0, request(), template=20, correlation=7)
    assert (got.correlation, outcome(got)) == (7, (7, -201))  # the answer to a test of the connection


def test_client_that_goes_away_after_requests_without_a_reply_leaves_no_job(served, connect):
    for _ in range(50):
        client = connect(served, "as-database", 0xE004)
        assert client.sign_on() == 0
        for _ in range(5):
            client.send(0x1D00, request(wanted=bytes(4)), template=20)
        client.socket.close()
    eventually(lambda: not served.servers.connections and not served.do(lambda: len(served.system.jobs)))


def test_unknown_and_malformed_requests_are_answered(database):
    database.ask(0x1F80, request(), template=20)
    assert outcome(database.ask(0x18FF, request(), template=20)) == (7, -201)
    assert outcome(database.ask(0x1803, request(rest=b"\0\0\0\1"), template=20)) == (1, -901)
    assert outcome(database.ask(0x1805, b"", template=0)) == (1, -901)
    long = database.ask(0x1803, request(rest=sql("COMMIT"), wanted=bytes.fromhex("80080000")), template=20)
    assert outcome(long) == (1, -84)
    database.server = 0xE006
    assert outcome(database.ask(0x1800, request(), template=20)) == (1, -84)
    database.server = 0xE004
    database.send(0x1FFF, request(), template=20)
    assert database.answer() is None


def test_parameter_of_set_schema_that_is_missing(database):
    database.ask(0x1F80, request(), template=20)
    database.ask(0x1803, request(rest=sql("SET CURRENT SCHEMA ? ")), template=20)
    assert outcome(database.ask(0x1805, request(rest=block(0x381F, bytes(30))), template=20)) == (1, -901)
    null = bytes(20) + b"\xff\xff" + bytes(130)
    assert outcome(database.ask(0x1805, request(rest=block(0x381F, null)), template=20)) == (0, 0)


def test_library_list_of_the_job(database, served):
    applib(served)

    def named(*libraries):
        data = (37).to_bytes(2, "big") + len(libraries).to_bytes(2, "big")
        for place, name in libraries:
            data += place.encode("cp037") + len(name).to_bytes(2, "big") + name.encode("cp037")
        return request(rest=block(0x3813, data))

    def present():
        return served.do(lambda: next(iter(served.system.jobs.values())).user_libraries)

    database.server = 0xE005
    assert outcome(database.ask(0x180C, named(("F", "APPLIB"), ("L", "QSYS")), template=20)) == (0, 0)
    assert present() == ("APPLIB", "QGPL", "QTEMP", "QSYS")
    assert outcome(database.ask(0x180C, named(("C", "APPLIB"), ("L", "APPLIB")), template=20)) == (5, 1301)
    assert present() == ("APPLIB",)
    database.server = 0xE004
    told = database.ask(0x1F00, request(wanted=bytes.fromhex("E2000000")), template=20).blocks(40)
    assert told[0x3801][2:].decode("cp037") == "PWS1301"
    assert told[0x3802][4:].decode("cp037").endswith("CPF2103 Library APPLIB already exists in library list.")
