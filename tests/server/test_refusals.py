"""Refused commands: which count, that alike ones are one incident, and that they outlive the server."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the extra [serve] is not installed")
pytest.importorskip("httpx2", reason="httpx2 is not installed")

from fastapi.testclient import TestClient

from tdqsim import Region, System, Task, define_tdqueue
from tdqsim.cics import Abend
from tdqsim.report.refused import what_to_do
from tdqsim.server.alerts import Alerts
from tdqsim.server.host import Host
from tdqsim.server.http import Gate, application
from tdqsim.server.refusals import read_refused
from tests.server.test_command_line import tdq

QUEUES = [define_tdqueue(name=name, type="INTRA") for name in ("PAYQ", "OFFQ")]


@pytest.fixture
def host() -> Iterator[Host]:
    made = Host(frozen=True)
    region = made.add(Region, QUEUES, applid="PAYREGN")
    made.engine.submit(lambda: region.set_tdqueue("OFFQ", enablestatus="DISABLED")).result(60)
    yield made
    made.stop()


def run(host: Host, program: Callable[[Task], object], *, transid: str = "POST") -> Any:
    """Run a program as a task of PAYREGN; return the exception that it ends with, or None."""
    region = host.region("PAYREGN")

    def work() -> None:
        with region.task(transid=transid) as task:
            program(task)

    return host.engine.submit(work).exception(60)


def refused_write(task: Task) -> None:
    task.writeq_td("OFFQ", b"x", nohandle=True)


def listed(host: Host, path: str = "regions/PAYREGN/refused") -> Any:
    with TestClient(application(host, Gate(token="all")), base_url="http://127.0.0.1") as api:
        return api.get(f"/api/v1/{path}", headers={"Authorization": "Bearer all"}).json()


def test_alike_refusals_are_one_incident_with_its_place(host: Host) -> None:
    begun = host.engine.dispatcher.clock.time_ns()
    for _time in range(1000):
        assert run(host, refused_write) is None
    (group,) = listed(host)
    assert (group["command"], group["resource"], group["condition"]) == ("WRITEQ TD", "OFFQ", "DISABLED")
    assert (group["actor"], group["count"], group["first_ns"], group["present"]) == ("POST", 1000, begun, True)
    file, _, line = group["place"].rpartition(":")
    assert Path(file).samefile(__file__)
    assert int(line) == refused_write.__code__.co_firstlineno + 1
    (incident,) = listed(host, "regions/PAYREGN/incidents")
    assert (incident["kind"], incident["page"]) == ("Refused", "/console/regions/PAYREGN/queues/OFFQ")
    assert incident["what"].startswith("WRITEQ TD OFFQ of POST was refused 1,000 times with DISABLED at ")
    assert "ENABLED" in incident["cure"]


def test_the_ordinary_course_of_a_program_is_no_incident(host: Host) -> None:
    run(host, lambda task: task.readq_td("PAYQ", nohandle=True))  # QZERO
    run(host, lambda task: task.readq_ts("NONE", item=1, nohandle=True))  # QIDERR of a TS queue
    run(host, lambda task: task.writeq_td("NONE", b"x", nohandle=True))
    assert [(each["command"], each["condition"]) for each in listed(host)] == [("WRITEQ TD", "QIDERR")]


def test_a_refusal_that_ends_its_task_is_an_abend_only(host: Host) -> None:
    region = host.region("PAYREGN")
    host.engine.submit(lambda: region.start(refused_write, transid="POST")).result(60)
    host.engine.submit(lambda: host.engine.dispatcher.clock.advance(1)).result(60)
    run(host, lambda task: task.writeq_td("GONE", b"x", nohandle=True))
    for queue in ("OFFQ", "NONE"):
        with pytest.raises(Abend):
            host.engine.submit(
                lambda queue=queue: region.start(lambda task: task.writeq_td(queue, b"x"), transid="POST").result()
            ).result(60)
    assert [(each["resource"], each["count"]) for each in listed(host)] == [("OFFQ", 1), ("GONE", 1)]  # newest last


def test_an_operator_sees_the_answer_and_makes_no_incident(host: Host) -> None:
    run(host, refused_write, transid="TCON")
    run(host, refused_write, transid="CECI")
    assert listed(host) == []


def test_an_alert_begins_with_the_first_refusal_and_ends_ten_minutes_after_the_last(host: Host) -> None:
    async def follow() -> list[tuple[str, str, str, str]]:
        alerts = Alerts(host, look_seconds=100_000)
        listener = alerts.listen(lambda: None)
        for seconds in (0, 599, 599, 601):
            await asyncio.to_thread(run, host, refused_write)
            await alerts.look()
            advance = host.engine.outside(lambda seconds=seconds: host.engine.dispatcher.clock.advance(seconds))
            await asyncio.wrap_future(advance)
        await alerts.look()
        alerts.leave(listener)
        return [(each["region"], each["kind"], each["state"], each["page"]) for each in listener.take()]

    page = "/console/regions/PAYREGN/queues/OFFQ"
    assert asyncio.run(follow()) == [
        ("PAYREGN", "Refused", "began", page), ("PAYREGN", "Refused", "ended", page),
    ]  # fmt: skip


def test_a_job_of_an_ibm_i_system_without_authority_is_an_incident(host: Host) -> None:
    system = host.add_system(System, "PAYSYS")

    def prepare() -> None:
        system.crtlib("PAYLIB")
        with system.job("SETUP", user="QSECOFR") as job:
            job.command("CRTDTAQ DTAQ(PAYLIB/ORDERS) MAXLEN(80) AUT(*EXCLUDE)")
            job.command("CRTUSRPRF USRPRF(ALICE)")

    def send() -> None:
        with system.job("POSTER", user="ALICE") as job:
            job.qsnddtaq("ORDERS", "PAYLIB", b"x")

    host.engine.submit(prepare).result(60)
    for _time in range(2):
        assert "CPF9802" in str(host.engine.submit(send).exception(60))
    (group,) = listed(host, "systems/PAYSYS/refused")
    assert (group["actor"], group["command"], group["resource"]) == ("POSTER", "QSNDDTAQ", "PAYLIB/ORDERS")
    assert (group["condition"], group["count"], group["userid"], group["present"]) == ("CPF9802", 2, "ALICE", True)

    async def follow() -> list[tuple[str, str]]:
        alerts = Alerts(host, look_seconds=100_000)
        listener = alerts.listen(lambda: None)
        await alerts.look()
        alerts.leave(listener)
        return [(each["region"], each["page"]) for each in listener.take()]

    assert asyncio.run(follow()) == [("PAYSYS", "/console/systems/PAYSYS")]


@pytest.mark.parametrize(
    ("command", "condition", "counts"),
    [
        ("READQ TD", "NOTAUTH", True), ("READ", "NOTOPEN", True), ("READQ TD", "LENGERR", True),
        ("READQ TD", "QBUSY", False), ("READ", "NOTFND", False), ("RETRIEVE", "ENDDATA", False),
        ("READQ TS", "QIDERR", False), ("QRCVDTAQ", "CPF9801", True), ("CHGDTAQ", "CPF9801", False),
        ("CHGDTAQ", "CPF9802", True), ("QRCVDTAQ", "CPF2472", False),
    ],
)  # fmt: skip
def test_which_conditions_count(command: str, condition: str, counts: bool) -> None:
    assert bool(what_to_do(command, condition)) is counts


# -- after the server -------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "region.yaml").write_text("applid: PAYREGN\ndefinitions: [pay.yaml]\n")
    (tmp_path / "pay.yaml").write_text("group: PAY\ntdqueue:\n- {name: PAYQ, type: INTRA}\n")
    return tmp_path


def serve_and_refuse(folder: Path, times: int, *, stop: bool = True) -> tuple[Host, Any]:
    host = Host()
    host.add_directory(folder, folder / "store")
    for _time in range(times):
        run(host, lambda task: task.writeq_td("NONE", b"x", nohandle=True))
    found = listed(host)
    if stop:
        host.stop()
    return host, found


def test_they_outlive_the_server_and_go_on(folder: Path) -> None:
    _host, before = serve_and_refuse(folder, 5)
    _host, again = serve_and_refuse(folder, 0)
    assert again == before
    (group,) = serve_and_refuse(folder, 1)[1]
    assert (group["count"], group["first_ns"]) == (6, before[0]["first_ns"])
    assert (folder / "store" / "refused.jsonl").stat().st_mode & 0o077 == 0


def test_a_killed_server_has_kept_them(folder: Path, tmp_path: Path) -> None:
    """Its file is as it was at the last line: the count had doubled last with the fourth refusal."""
    host, _found = serve_and_refuse(folder, 5, stop=False)
    try:
        shutil.copytree(folder / "store", tmp_path / "copy", ignore=shutil.ignore_patterns("*.mdb", "lock*"))
        (group,) = read_refused(tmp_path / "copy")
        assert (group.command, group.condition, group.count) == ("WRITEQ TD", "QIDERR", 4)
    finally:
        host.stop()


def test_tdq_explain_incidents_reads_the_store(folder: Path) -> None:
    serve_and_refuse(folder, 3)
    shown = tdq("explain", "incidents", "--store", folder / "store")
    assert shown.returncode == 0, shown
    assert shown.stdout.startswith("Refused: WRITEQ TD NONE of POST was refused 3 times with QIDERR at ")
    assert shown.stdout.endswith("Define the queue, or correct its name in the program.\n")
    found = json.loads(tdq("explain", "incidents", "--store", folder / "store", "--json").stdout)
    assert [each["count"] for each in found["refused"]] == [3]
    assert (found["incidents"], found["abends"]) == ([], [])
