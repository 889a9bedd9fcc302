"""The command line through a server: the same commands, on the region that is served."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from typing import NamedTuple
from unittest.mock import patch

import pytest

pytest.importorskip("fastapi", reason="the extra [serve] is not installed")

from tdqsim.cics import Abend
from tdqsim.cli import main
from tdqsim.client import Client, RemoteError
from tdqsim.server.host import Host

TDQ = [sys.executable, "-c", "import sys; from tdqsim.cli import main; sys.exit(main())"]


class Found(NamedTuple):
    """What a command did."""

    returncode: int
    stdout: str
    stderr: str


def tdq(*words, given="", **environment):
    """One command, in this process."""
    out, errors = io.StringIO(), io.StringIO()
    with (
        patch.dict(os.environ, environment), patch.object(sys, "stdin", io.StringIO(given)), redirect_stdout(out),
        redirect_stderr(errors),
    ):  # fmt: skip
        code = main([str(word) for word in words])
    return Found(code, out.getvalue(), errors.getvalue())


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pay")
    (folder / "region.yaml").write_text("applid: PAYREGN\ndefinitions: [pay.yaml]\n")
    (folder / "pay.yaml").write_text(
        "group: PAY\ntdqueue:\n- {name: PAYQ, type: INTRA}\n- {name: LOGQ, type: INTRA, recovstatus: LOGICAL}\n"
    )
    return folder


@pytest.fixture(scope="module")
def server(place):
    store, ready = place / "store", place / "ready.json"
    words = [*TDQ, "serve", str(place), "--store", str(store), "--ready-file", str(ready)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert any(line.startswith("Authorization:") for line in process.stdout)
    yield json.loads(ready.read_text())
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=300) == 0
    process.stdout.close()


@pytest.fixture
def store(server, place):
    with Client(server["url"], server["token"]) as client:
        for queue in ("PAYQ", "LOGQ"):
            client.region("PAYREGN").deleteq_td(queue)
    return place / "store"


def test_the_clock_runs_unless_it_was_frozen(server):
    with Client(server["url"], server["token"]) as client:
        assert client.clock()["frozen"] is False


def test_volatile_records_go_in_and_are_seen(store, place):
    assert tdq("write", "PAYQ", "one", "two", "--store", store).stdout == "PAYQ: 2 written\n"
    assert tdq("peek", "PAYQ", "--store", store).stdout == "one\ntwo\n"
    assert tdq("peek", place, "PAYQ").stdout == "one\ntwo\n"  # the directory leads there too
    (found,) = json.loads(tdq("inquire", "PAYQ", "--store", store, "--json").stdout)
    assert (found["NUMITEMS"], found["TYPE"]) == (2, "INTRA")
    assert "it holds 2 records" in tdq("explain", "PAYQ", "--store", store).stdout
    read = tdq("read", "PAYQ", "-n", "3", "--store", store)
    assert (read.stdout, read.returncode) == ("one\ntwo\n", 1)
    assert "QZERO" in read.stderr


def test_explain_of_a_task_shows_its_dump_and_its_queues(store, server):
    with Client(server["url"], server["token"]) as client:
        unit = client.region("PAYREGN").unit_of_work()
        unit.execute("WRITEQ TD QUEUE('LOGQ') FROM(REC)", {"REC": {"text": "held"}})
        with pytest.raises(RemoteError):
            unit.execute("ABEND ABCODE('MINE')")
        task = client.region("PAYREGN").dumps()[-1]["task"]
    shown = tdq("explain", "task", task, "--store", store).stdout.splitlines()
    assert shown[0].startswith(f"task {task} TAPI, program TAPI, user CICSUSER: abend MINE")
    commands = shown.index("Last commands:")
    assert shown[commands + 1 : commands + 3] == ["  WRITEQ TD LOGQ 'held': NORMAL 0", "Holds:"]
    assert "  LOGQ: 0 read, 1 written" in shown
    assert shown[shown.index("Queue LOGQ now:") + 1].endswith("it holds 0 records committed.")
    found = json.loads(tdq("explain", "task", task, "--store", store, "--json").stdout)
    assert (found["code"], found["task"], found["works"][0]["records"]) == ("MINE", task, ["88859384"])
    assert [each["queue"] for each in found["explanations"]] == ["LOGQ"]
    missing = tdq("explain", "task", "99999", "--store", store)
    assert (missing.returncode, missing.stderr.count(f" {task} TAPI MINE")) == (2, 1), missing


def test_explain_incidents_shows_abends_and_refused_commands(store, server):
    with Client(server["url"], server["token"]) as client:
        region = client.region("PAYREGN")
        region.execute("WRITEQ TD QUEUE('GONE') FROM(REC) NOHANDLE", {"REC": {"text": "x"}})
        unit = region.unit_of_work()
        with pytest.raises(RemoteError):
            unit.execute("ABEND ABCODE('OOPS')")
        (group,) = [each for each in region.refused_commands() if each["resource"] == "GONE"]
        assert [each["what"] for each in region.incidents() if " GONE " in each["what"]] == [group["what"]]
    shown = tdq("explain", "incidents", "--store", store).stdout.splitlines()
    assert any(line.startswith("Abend OOPS: TAPI, ") for line in shown), shown
    assert any(line.startswith(f"Refused: {group['what']} Last: ") for line in shown), shown


def test_notices_of_a_served_region_by_the_client_and_the_command_line(store, server):
    with Client(server["url"], server["token"]) as client:
        region = client.region("PAYREGN")
        region.install("group: N\ntdqueue:\n- {name: NOTQ, type: INTRA, transid: NONE, triggerlevel: 1}\n")
        region.execute("WRITEQ TD QUEUE('NOTQ') FROM(REC)", {"REC": {"text": "x"}})
        notice = region.notices()[-1]
        shown = tdq("explain", "notices", "--store", store)
        found = json.loads(tdq("explain", "notices", "--store", store, "--json").stdout)
        region.execute("SET TDQUEUE('NOTQ') DISABLED")
        region.discard_tdqueue("NOTQ")
        over = region.notices()[-1]
    words = {name: notice[name] for name in ("id", "resource", "reason", "severity", "times", "lasts")}
    assert words == {
        "id": "DFHTD0183", "resource": "TDQUEUE(NOTQ)", "severity": "error", "times": 1, "lasts": True,
        "reason": "Its trigger starts no task: TRANSACTION NONE is not defined.",
    }  # fmt: skip
    assert over["lasts"] is False
    assert shown.stdout.splitlines()[-1].partition(" UTC ")[2] == (
        "DFHTD0183 TDQUEUE(NOTQ): Its trigger starts no task: TRANSACTION NONE is not defined. "
        "Define and install TRANSACTION(NONE), or correct TRANSID."
    )
    assert found[-1] == notice


def test_notices_without_a_server_say_where_they_are(place, tmp_path):
    found = tdq("explain", "notices", "--store", tmp_path)
    assert (found.returncode, found.stderr) == (
        2,
        "tdq: notices: no server has the region; that of a command writes them to standard error\n",
    )


def test_explain_of_a_task_that_has_not_ended_says_what_it_does(store, server):
    with Client(server["url"], server["token"]) as client:
        region = client.region("PAYREGN")
        with region.unit_of_work() as unit:
            unit.execute("WRITEQ TD QUEUE('LOGQ') FROM(REC)", {"REC": {"text": "held"}})
            task = region.tasks()[-1]["task"]
            told = region.explain_task(task)
            shown = tdq("explain", "task", task, "--store", store)
            found = json.loads(tdq("explain", "task", task, "--store", store, "--json").stdout)
        assert region.explain_task(task)["statements"] == [f"There is no task {task}."]
    assert told["statements"][0].startswith(
        f"Task {task} TAPI of user CICSUSER waits for the client's next request, until "
    )
    assert told["statements"][1].endswith(" is INFLIGHT and holds TOQ of LOGQ.")
    assert shown.stdout == told["explanation"] + "\n"
    assert found == {"task": task, "statements": told["statements"]}


def test_explain_of_a_task_without_a_server_reads_the_dumps_in_the_store(tmp_path):
    region = tmp_path / "pay"
    region.mkdir()
    (region / "region.yaml").write_text("applid: PAYREGN\ndefinitions: [pay.yaml]\n")
    (region / "pay.yaml").write_text("group: PAY\ntdqueue:\n- {name: LOGQ, type: INTRA, recovstatus: LOGICAL}\n")
    host = Host()
    served = host.add_directory(region, tmp_path / "store")

    def fail(code):
        with served.task() as task:
            task.writeq_td("LOGQ", b"\xc8")
            task.abend(code)

    for code in ("ONE", "TWO"):
        assert isinstance(host.engine.submit(partial(fail, code)).exception(), Abend)
    host.stop()
    tasks = [each.task for each in served.diagnostics.failures]
    shown = tdq("explain", "task", tasks[0], "--store", tmp_path / "store")
    assert (shown.returncode, "abend ONE" in shown.stdout) == (0, True), shown
    assert "Queue LOGQ now:" in shown.stdout
    missing = tdq("explain", "task", "99999", "--store", tmp_path / "store")
    assert (missing.returncode, "ONE, " in missing.stderr, "TWO" in missing.stderr) == (2, True, True)
    without = tdq("explain", region, "task", "7")
    assert (without.returncode, "no store is given" in without.stderr) == (2, True)


def test_seed_set_cemt_and_snapshot(store):
    assert tdq("write", "--seed", "LOGQ", "a", "b", "--store", store).stdout == "LOGQ: 2 seeded\n"
    assert len(json.loads(tdq("peek", "--store", store, "--json").stdout)["LOGQ"]) == 2
    assert tdq("set", "LOGQ", "TRIGGERLEVEL=7", "--store", store).returncode == 0
    assert re.search(r"Tri\(0*7\)", tdq("cemt", "I TDQ(LOGQ)", "--store", store).stdout)
    assert "LOGQ" in tdq("cemt", "SET TDQ(LOGQ) TRI(0)", "--store", store).stdout
    refused = tdq("set", "NONE", "TRIGGERLEVEL=7", "--store", store)
    assert (refused.returncode, "QIDERR" in refused.stderr) == (1, True)
    names = [line.split()[0] for line in tdq("inquire", "--store", store, "--all").stdout.splitlines()[1:]]
    assert {"PAYQ", "LOGQ", "CSMT"} <= set(names)


def test_a_ceci_session_is_one_unit_of_work(store):
    lines = "WRITEQ TD QUEUE(LOGQ) FROM(kept)\nREADQ TD QUEUE(NONE)\n"
    found = tdq("ceci", "--store", store, given=lines)
    assert found.stdout.count("RESPONSE:") == 2
    assert found.returncode == 1
    assert tdq("peek", "LOGQ", "--store", store).stdout == "kept\n"
    tdq("ceci", "--store", store, given="WRITEQ TD QUEUE(LOGQ) FROM(gone)\nSYNCPOINT ROLLBACK\n")
    assert tdq("peek", "LOGQ", "--store", store).stdout == "kept\n"


def test_statistics_are_the_servers(store):
    before = json.loads(tdq("inquire", "--statistics", "--store", store, "--json", "--all").stdout)
    tdq("write", "PAYQ", "one", "--store", store)
    after = json.loads(tdq("inquire", "--statistics", "--store", store, "--json", "--all").stdout)
    writes = [next(each["writes"] for each in found["queues"] if each["name"] == "PAYQ") for found in (before, after)]
    assert writes[1] == writes[0] + 1


def test_many_records_are_paged(store):
    tdq("write", "--seed", "PAYQ", "--file", "-", "--store", store, given="".join(f"{n:05d}\n" for n in range(2500)))
    lines = tdq("peek", "PAYQ", "--store", store).stdout.splitlines()
    assert lines == [f"{n:05d}" for n in range(2500)]
    assert tdq("peek", "PAYQ", "-n", "2", "--store", store).stdout == "00000\n00001\n"


def test_an_address_that_is_none_is_refused_before_a_token_is_asked_for():
    for address in ("nonsense", "unix:/tmp/x", "http:/host", "localhost:8000"):
        found = tdq("peek", "PAYQ", "--server", address)
        assert found.returncode == 2
        assert found.stderr == f"tdq: --server {address}: give http://HOST:PORT or https://HOST:PORT\n"


def test_a_server_elsewhere_by_its_address(store, server):
    tdq("write", "PAYQ", "one", "--store", store)
    given = {"TDQ_TOKEN": server["token"]}
    assert tdq("peek", "PAYQ", "--server", server["url"], **given).stdout == "one\n"
    assert tdq("peek", "PAYQ", "--server", f"{server['url']}/PAYREGN", **given).stdout == "one\n"
    for url, said in (
        (f"{server['url']}/OTHER", "PAYREGN"), ("http://127.0.0.1:1", "cannot be reached"), ("nonsense", "http://"),
        ("unix:/tmp/x", "http://"),
    ):  # fmt: skip
        found = tdq("peek", "PAYQ", "--server", url, **given)
        assert found.returncode in (1, 2)
        assert said in found.stderr
    assert "TDQ_TOKEN" in tdq("peek", "PAYQ", "--server", server["url"]).stderr
    assert tdq("peek", "PAYQ", "--server", server["url"], TDQ_TOKEN="wrong").returncode == 1


def test_what_a_killed_server_left_is_as_good_as_nothing(place, tmp_path):
    store = tmp_path / "store"
    words = [*TDQ, "serve", str(place), "--store", str(store)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert any(line.startswith("Authorization:") for line in process.stdout)
    assert tdq("write", "LOGQ", "kept", "--store", store).returncode == 0
    process.kill()
    process.wait()
    process.stdout.close()
    assert tdq("peek", "LOGQ", "--store", store).stdout == "kept\n"
    assert tdq("write", "LOGQ", "more", "--store", store).returncode == 0
    assert tdq("peek", "LOGQ", "--store", store).stdout == "kept\nmore\n"


def test_dfhcsdup_on_the_csd_of_the_served_region(store, tmp_path):
    deck = tmp_path / "deck.csd"
    deck.write_text(
        "DEFINE TDQUEUE(CSDQ) GROUP(PAY) TYPE(INTRA)\nINSTALL GROUP(PAY)\nCOPY GROUP(NONE) TO(G)\nADD GROUP(PAY) LIST(L)\n"
    )
    found = tdq("csd", deck, "--store", store)
    assert found.returncode == 1
    assert "I 1 resources installed" in found.stdout
    assert f"E {deck}:3: NOTFND: there is no group NONE" in found.stdout
    assert "HIGHEST RETURN CODE WAS: 8" in found.stdout
    shown = json.loads(tdq("inquire", "CSDQ", "--store", store, "--json").stdout)[0]
    assert (shown["DEFINESOURCE"].rstrip(), shown["CHANGEAGENT"], shown["INSTALLAGENT"]) == (
        "PAY",
        "CSDBATCH",
        "CSDAPI",
    )
    assert "a server takes the user who has signed on" in tdq("csd", deck, "--store", store, "--user", "ANN").stderr
