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
job.close()
with connect(server) as connection, connection.cursor() as cursor:
    for number in range(250):
        cursor.execute("CALL QSYS2.SEND_DATA_QUEUE(?, 'Q', 'QGPL')", (f"m{number}",))
    cursor.execute("SELECT MESSAGE_DATA FROM TABLE(QSYS2.DATA_QUEUE_ENTRIES('Q', 'QGPL')) X")
    print(cursor.fetchone(), len(cursor.fetchall()))
    connection.commit()
try:
    SQLJob().connect(DaemonServer(host="127.0.0.1", port=port, user="ANNA", password="wrong"))
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
    lines = ran(PYTHON, str(tmp_path / "client.py"), str(door.door.port))
    refused = "The application server rejected the connection. (Password is incorrect.)"
    for line in (
        "[{'MESSAGE_DATA': 'hello'}]", "[{'MESSAGE_DATA': 'two'}]", "[]", "CPC2102 [COMP]: Library NEWLIB created.",
        "{'error': '[SQL0206] Column NOPE not in specified tables.', 'sql_state': '42703', 'sql_rc': -206}",
        "('m0',) 249", refused,
    ):  # fmt: skip
        assert line in lines


@pytest.mark.skipif(
    shutil.which("node") is None or not (MODULES / "@ibm" / "mapepire-js").is_dir(),
    reason="needs Node and @ibm/mapepire-js (TDQ_NODE_MODULES: the folder of its packages)",
)
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
