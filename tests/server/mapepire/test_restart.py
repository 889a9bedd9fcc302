"""A served system whose Mapepire clients live on while the server is stopped, killed and started again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager

import pytest

from tests.server.hostservers.wire import eventually
from tests.server.mapepire.test_clients import PYTHON, has_python_client

pytestmark = pytest.mark.skipif(
    not has_python_client(), reason="needs mapepire-python (TDQ_MAPEPIRE_PYTHON: a Python that has it)"
)

SERVER = """
import sys
from pathlib import Path
from tdqsim.server import serving
from tdqsim.server.servefile import load_serve_file
sys.exit(serving.serve(load_serve_file(Path(sys.argv[1])), ready_file=Path(sys.argv[2]),
                       started=lambda _served: print("ready", flush=True)))
"""
CLIENT = """
import sys, threading
from mapepire_python import DaemonServer
from mapepire_python.client.sql_job import SQLJob

port, what, count = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
server = DaemonServer(host="127.0.0.1", port=port, user="ANNA", password="SECRET1PW", ignoreUnauthorized=True)
lock = threading.Lock()

def say(text):
    with lock:
        print(text, flush=True)

def send(job, first):
    try:
        for number in range(first, first + count):
            say(f"asked {number}")
            job.query_and_run(f"CALL QSYS2.SEND_DATA_QUEUE('{number}', 'FORCED', 'QGPL')")
            say(f"sent {number}")
    except Exception:
        say("broken")

def receive(job, _first):
    try:
        sql = "SELECT MESSAGE_DATA M FROM TABLE(QSYS2.RECEIVE_DATA_QUEUE('FORCED', 'QGPL', WAIT_TIME => -1)) X"
        say("waiting")
        for _ in range(count):
            say("received " + job.query_and_run(sql)["data"][0]["M"])
    except Exception:
        say("broken")

def look(job, _first):
    sql = "SELECT MESSAGE_DATA M FROM TABLE(QSYS2.DATA_QUEUE_ENTRIES('FORCED', 'QGPL')) X"
    for row in job.query(sql).run(rows_to_fetch=100000)["data"]:
        say(row["M"])

acts = {"send": send, "receive": receive, "look": look}
jobs = []
for _ in range(int(sys.argv[4])):
    jobs.append(SQLJob())
    jobs[-1].connect(server)
threads = [threading.Thread(target=acts[what], args=(job, at * count)) for at, job in enumerate(jobs)]
for one in threads:
    one.start()
for one in threads:
    one.join()
"""


@pytest.fixture
def place(tmp_path):
    (tmp_path / "system").mkdir()
    (tmp_path / "system" / "system.yaml").write_text(
        "name: PAYSYS\ncommands:\n- CRTUSRPRF USRPRF(ANNA) PASSWORD(SECRET1PW)\n"
        "- CRTDTAQ DTAQ(QGPL/FORCED) MAXLEN(20) FORCE(*YES) AUT(*ALL)\n"
    )
    (tmp_path / "serve.yaml").write_text(
        "directories: [{path: system, store: store}]\nlisteners: {http: 0, control: no, mapepire: 0}\ntls: generated\n"
    )
    (tmp_path / "client.py").write_text(CLIENT)
    return tmp_path


@contextmanager
def served(place, end=signal.SIGTERM):
    """The server's process and its port."""
    words = [sys.executable, "-c", SERVER, str(place / "serve.yaml"), str(place / "ready.json")]
    with (place / "log").open("a") as log:
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        assert any(line.strip() == "ready" for line in process.stdout), (place / "log").read_text()
        yield process, json.loads((place / "ready.json").read_text())["ports"]["mapepire"]
    finally:
        process.send_signal(end)
        process.wait(300)
        process.stdout.close()


def client(place, port, *words):
    return subprocess.Popen(
        [PYTHON, str(place / "client.py"), str(port), *map(str, words)], stdout=subprocess.PIPE, text=True,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
    )  # fmt: skip


def entries(place, port):
    with client(place, port, "look", 1, 1) as looking:
        return [int(line) for line in looking.stdout.read().split()]


def lines_until(process, enough):
    lines = []
    for line in process.stdout:
        lines.append(line.strip())
        if enough(lines):
            break
    return lines


def numbers(lines, word):
    return [int(line.removeprefix(word)) for line in lines if line.startswith(word)]


def test_what_was_acknowledged_is_there_once_after_the_server_was_killed(place):
    with served(place, signal.SIGKILL) as (server, port), client(place, port, "send", 500, 4) as sending:
        lines = lines_until(sending, lambda seen: len(seen) > 300)
        server.kill()
        lines += sending.stdout.read().split("\n")
    sent, asked = numbers(lines, "sent "), numbers(lines, "asked ")
    assert 100 < len(sent) < 2000
    with served(place) as (_, port):
        kept = entries(place, port)
    assert len(kept) == len(set(kept))
    assert set(sent) <= set(kept) <= set(asked)


def test_stopped_server_loses_nothing_of_those_who_send_and_wait(place):
    with served(place) as (_, port), client(place, port, "send", 50, 4) as sending:
        assert len(numbers(sending.stdout.read().split("\n"), "sent ")) == 200
    received = []
    with client_and_server(place, 400) as (server, receiving):
        lines = lines_until(receiving, lambda seen: len(numbers(seen, "received ")) > 50)
        server.terminate()
        lines += receiving.stdout.read().split("\n")
        received += numbers(lines, "received ")
    with client_and_server(place, 400) as (_, receiving):
        left = 200 - len(received)
        received += numbers(lines_until(receiving, lambda seen: len(numbers(seen, "received ")) == left), "received ")
        receiving.kill()
    assert sorted(received) == list(range(200))


@contextmanager
def client_and_server(place, count):
    with served(place) as (server, port), client(place, port, "receive", count, 4) as receiving:
        yield server, receiving


def test_killed_client_that_waits_takes_no_entry(place):
    with served(place) as (_, port):
        with client(place, port, "receive", 1, 4) as waiting:
            lines_until(waiting, lambda seen: seen.count("waiting") == 4)
            waiting.kill()
        with client(place, port, "send", 10, 1) as sending:
            assert len(numbers(sending.stdout.read().split("\n"), "sent ")) == 10
        eventually(lambda: entries(place, port) == list(range(10)))
