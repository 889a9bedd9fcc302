"""Unmodified clients of Mapepire: mapepire-python (PyPI) and @ibm/mapepire-js (npm)."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PYTHON = os.environ.get("TDQ_MAPEPIRE_PYTHON") or sys.executable
"""A Python that has mapepire-python; by default this one."""
MODULES = Path(os.environ.get("TDQ_NODE_MODULES") or "/usr/lib/node_modules")
"""The folder of npm packages with @ibm/mapepire-js."""

BY_PYTHON = """
import sys
from mapepire_python import connect, DaemonServer
from mapepire_python.client.sql_job import SQLJob
from mapepire_python.base_job import QueryOptions

port = int(sys.argv[1])
server = DaemonServer(host="127.0.0.1", port=port, user="ANNA", password="Secret1pw")
job = SQLJob()
job.connect(server)
def run(sql, parameters=None, command=False):
    options = QueryOptions(parameters=parameters, isClCommand=command) if parameters or command else None
    return job.query(sql, opts=options).run(rows_to_fetch=100)
run("CALL QSYS2.SEND_DATA_QUEUE(MESSAGE_DATA => 'hello', DATA_QUEUE => 'Q', DATA_QUEUE_LIBRARY => 'QGPL')")
run("CALL QSYS2.SEND_DATA_QUEUE(?, ?, ?)", ["two", "Q", "QGPL"])
for _ in range(3):
    print(run("SELECT MESSAGE_DATA FROM TABLE(QSYS2.RECEIVE_DATA_QUEUE('Q', 'QGPL')) X")["data"])
print(run("CRTLIB LIB(NEWLIB)", command=True)["data"][0]["SUMMARY"])
try:
    run("SELECT NOPE FROM QSYS2.DATA_QUEUE_INFO")
except RuntimeError as error:
    print(error)
run("CALL QSYS2.SEND_DATA_QUEUE('question', 'K', 'QGPL', KEY_DATA => 'ask')")
print(run("SELECT * FROM TABLE(QSYS2.RECEIVE_DATA_QUEUE('K', 'QGPL', KEY_DATA => 'ask', KEY_ORDER => 'EQ'))")["data"][0]["KEY_DATA"])
run("CALL QSYS2.SEND_DATA_QUEUE(?, 'K', 'QGPL', ?)", ["reply", "an0"])
print(run("SELECT MESSAGE_DATA, KEY_DATA FROM TABLE(QSYS2.RECEIVE_DATA_QUEUE('K', 'QGPL', 'YES', 5, 'an0', 'EQ')) X")["data"])
run("CALL QSYS2.SEND_DATA_QUEUE_UTF8(?, 'Q', 'QGPL')", ["Grüße 東京 €"])
print(run("SELECT MESSAGE_DATA_UTF8 FROM TABLE(QSYS2.RECEIVE_DATA_QUEUE('Q', 'QGPL')) X")["data"][0])
run("CALL QSYS2.SEND_DATA_QUEUE_BINARY(?, 'Q', 'QGPL')", ["00FFC1"])
print(run("SELECT MESSAGE_DATA_BINARY FROM TABLE(QSYS2.RECEIVE_DATA_QUEUE('Q', 'QGPL')) X")["data"])
job.close()
with connect(server) as connection, connection.cursor() as cursor:
    for number in range(250):
        cursor.execute("CALL QSYS2.SEND_DATA_QUEUE(?, 'Q', 'QGPL')", (f"m{number}",))
    cursor.execute("SELECT MESSAGE_DATA FROM TABLE(QSYS2.DATA_QUEUE_ENTRIES('Q', 'QGPL')) X")
    print(cursor.fetchone(), len(cursor.fetchall()))
    connection.commit()
for more in ({"password": "wrong"}, {"password": "Secret1pw", "ca": open(sys.argv[2]).read()}):
    try:
        print(SQLJob().connect(DaemonServer(host="127.0.0.1", port=port, user="ANNA", **more))["success"])
    except Exception as error:
        print(error)
"""

BY_NODE = """
const { SQLJob, getRootCertificate } = require("@ibm/mapepire-js");
const server = { host: "127.0.0.1", port: Number(process.argv[2]), user: "ANNA", password: "Secret1pw" };
(async () => {
  const ca = await getRootCertificate({ ...server, rejectUnauthorized: false });
  const job = new SQLJob({ libraries: ["QGPL"], naming: "sql" });
  console.log((await job.connect({ ...server, ca })).success);
  const waiting = job.execute("SELECT MESSAGE_DATA FROM TABLE(QSYS2.RECEIVE_DATA_QUEUE('Q', WAIT_TIME => -1)) X");
  await job.execute("CALL QSYS2.CLEAR_DATA_QUEUE('K', 'QGPL')");
  await job.execute("CALL QSYS2.SEND_DATA_QUEUE(?, 'Q', CURRENT SCHEMA)", { parameters: ["woken"] });
  console.log((await waiting).data);
  const query = job.query("SELECT DATA_QUEUE_NAME N FROM QSYS2.DATA_QUEUE_INFO ORDER BY 1");
  console.log((await query.execute(1)).data, (await query.fetchMore(10)).data);
  await query.close();
  try { await job.execute("SELECT X FROM LIB.T"); } catch (error) { console.log(error.message.slice(0, 48)); }
  await job.close();
  try { await new SQLJob().connect({ ...server, ca, password: "wrong" }); } catch (error) { console.log(error.message); }
  try { await new SQLJob().connect(server); } catch (error) { console.log(error.code); }
  process.exit(0);
})().catch((error) => { console.log(error); process.exit(1); });
"""


needs_node = pytest.mark.skipif(
    shutil.which("node") is None or not (MODULES / "@ibm" / "mapepire-js").is_dir(),
    reason="needs Node and @ibm/mapepire-js (TDQ_NODE_MODULES: the folder of its packages)",
)

MANY_JOBS = """
const { SQLJob } = require("@ibm/mapepire-js");
const server = { host: "127.0.0.1", port: Number(process.argv[2]), user: "ANNA", password: "Secret1pw", rejectUnauthorized: false };
const half = Number(process.argv[3]), each = Number(process.argv[4]);
const receive = "SELECT MESSAGE_DATA M FROM TABLE(QSYS2.RECEIVE_DATA_QUEUE('Q', 'QGPL', WAIT_TIME => -1)) X";
const send = (job, text) => job.execute("CALL QSYS2.SEND_DATA_QUEUE(?, 'Q', 'QGPL')", { parameters: [text] });
(async () => {
  const jobs = [];
  for (let at = 0; at < 2 * half; at++) {
    jobs.push(new SQLJob());
    await jobs[at].connect(server);
  }
  const [senders, receivers] = [jobs.slice(0, half), jobs.slice(half)];
  const waiting = [];
  for (const job of receivers) {
    waiting.push(job.execute(receive));
    await job.execute("VALUES 1");
  }
  for (let at = 0; at < half; at++) await send(senders[0], `${at}`);
  const woken = await Promise.all(waiting);
  console.log("woken in order:", woken.every((one, at) => one.data[0].M === `${at}`));
  const got = [];
  const reading = receivers.map(async (job) => {
    for (let count = 0; count < each; count++) got.push((await job.execute(receive)).data[0].M);
  });
  await Promise.all(senders.map(async (job, at) => {
    for (let count = 0; count < each; count++) await send(job, `${at * each + count}`);
  }));
  await Promise.all(reading);
  console.log("received:", got.length, "different:", new Set(got).size);
  for (const job of jobs) await job.close();
  process.exit(0);
})().catch((error) => { console.log(error); process.exit(1); });
"""


def ran(*words: str, **environment: str) -> list[str]:
    done = subprocess.run(
        words, capture_output=True, text=True, timeout=300, check=False, env={**os.environ, **environment}
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


def has_python_client() -> bool:
    if sys.executable == PYTHON:
        return importlib.util.find_spec("mapepire_python") is not None
    return subprocess.run([PYTHON, "-c", "import mapepire_python"], check=False, capture_output=True).returncode == 0


@pytest.mark.skipif(not has_python_client(), reason="needs mapepire-python (TDQ_MAPEPIRE_PYTHON: a Python that has it)")
def test_mapepire_python(door, tmp_path):
    (tmp_path / "client.py").write_text(BY_PYTHON)
    lines = ran(PYTHON, str(tmp_path / "client.py"), str(door.door.port), str(door.pem))
    assert lines[-1] == "True"  # with the certificate as the authority
    refused = "The application server rejected the connection. (Password is incorrect.)"
    for line in (
        "[{'MESSAGE_DATA': 'hello'}]", "[{'MESSAGE_DATA': 'two'}]", "[]", "CPC2102 [COMP]: Library NEWLIB created.",
        "{'error': '[SQL0206] Column NOPE not in specified tables.', 'sql_state': '42703', 'sql_rc': -206}",
        "ask", "[{'MESSAGE_DATA': 'reply', 'KEY_DATA': 'an0'}]", "{'MESSAGE_DATA_UTF8': 'Grüße 東京 €'}",
        "[{'MESSAGE_DATA_BINARY': '00FFC1'}]", "('m0',) 249", refused,
    ):  # fmt: skip
        assert line in lines


@needs_node
def test_mapepire_js(door, tmp_path):
    (tmp_path / "client.js").write_text(BY_NODE)
    lines = ran("node", str(tmp_path / "client.js"), str(door.door.port), NODE_PATH=str(MODULES))
    for line in (
        "true", "[ { MESSAGE_DATA: 'woken' } ]", "[ { N: 'K' } ] [ { N: 'Q' } ]",
        "[SQL0204] T in LIB type *FILE not found. Served ",
        "The application server rejected the connection. (Password is incorrect.)",
    ):  # fmt: skip
        assert line in lines
    assert lines[-1] in ("SELF_SIGNED_CERT_IN_CHAIN", "DEPTH_ZERO_SELF_SIGNED_CERT")


@needs_node
@pytest.mark.parametrize("each", [50, pytest.param(500, marks=pytest.mark.slow)])
def test_twenty_jobs_of_mapepire_js(door, tmp_path, each):
    """Waiting receives are woken in order; of 500 or 5,000 messages none is lost and none comes twice."""
    (tmp_path / "many.js").write_text(MANY_JOBS)
    lines = ran("node", str(tmp_path / "many.js"), str(door.door.port), "10", str(each), NODE_PATH=str(MODULES))
    assert lines == ["woken in order: true", f"received: {10 * each} different: {10 * each}"]
