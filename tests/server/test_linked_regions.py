"""Regions that one server serves are linked by their definitions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the extra [serve] is not installed")

from tdqsim.cics import Condition, Task
from tdqsim.definitions import define_connection
from tdqsim.facts import Cvda, Resp
from tdqsim.server.host import Host

PAY = """\
group: PAY
connection:
- {name: CRD1, netname: SHIPREGN}
tdqueue:
- {name: PAYQ, type: INTRA, recovstatus: LOGICAL}
- {name: FARQ, remotesystem: CRD1}
program:
- {name: STOCK, remotesystem: CRD1}
"""
SHIP = """\
group: SHIP
tdqueue:
- {name: FARQ, type: INTRA, recovstatus: LOGICAL}
"""


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    for name, applid, sysid, definitions in (("pay", "PAYREGN", "PAY", PAY), ("ship", "SHIPREGN", "CRD1", SHIP)):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "region.yaml").write_text(f"applid: {applid}\nsysid: {sysid}\ndefinitions: [{name}.yaml]\n")
        (folder / f"{name}.yaml").write_text(definitions)
    made = Host()
    yield made
    made.stop()


def do(host: Host, call: Callable[[], Any]) -> Any:
    return host.engine.submit(call).result(60)


@pytest.mark.parametrize("order", [("pay", "ship"), ("ship", "pay")])
def test_a_unit_of_work_over_two_regions_of_a_server(host: Host, tmp_path: Path, order: tuple[str, str]) -> None:
    for name in order:
        host.add_directory(tmp_path / name)
    pay, ship = host.regions["PAYREGN"], host.regions["SHIPREGN"]
    assert do(host, lambda: pay.inquire_connection("CRD1").connstatus) is Cvda.ACQUIRED

    def stock(task: Task) -> None:
        task.writeq_td("FARQ", bytes(task.commarea or b""))

    do(host, lambda: ship.programs.register("STOCK", stock))

    def program(task: Task, *, commits: bool) -> None:
        task.writeq_td("PAYQ", b"paid")
        task.writeq_td("FARQ", b"shipped")
        task.link("STOCK", bytearray(b"linked"))
        if not commits:
            task.syncpoint_rollback()

    for commits in (False, True):
        do(host, lambda commits=commits: pay.start(lambda task: program(task, commits=commits)))
        assert do(host, lambda: ship.peek("FARQ")) == ([b"shipped", b"linked"] if commits else [])
        assert do(host, lambda: pay.peek("PAYQ")) == ([b"paid"] if commits else [])


def test_a_connection_that_is_installed_later_links_two_regions(host: Host, tmp_path: Path) -> None:
    (tmp_path / "pay" / "pay.yaml").write_text("group: PAY\ntdqueue:\n- {name: FARQ, remotesystem: CRD1}\n")
    for name in ("pay", "ship"):
        host.add_directory(tmp_path / name)
    pay, ship = host.regions["PAYREGN"], host.regions["SHIPREGN"]
    with pytest.raises(Condition) as refused:
        do(host, lambda: pay.writeq_td("FARQ", b"x"))
    assert refused.value.resp is Resp.SYSIDERR

    do(host, lambda: pay.install([define_connection(name="CRD1", netname="SHIPREGN")]))
    do(host, lambda: pay.writeq_td("FARQ", b"x"))
    assert do(host, lambda: ship.peek("FARQ")) == [b"x"]


def test_regions_with_one_sysid_are_served_and_not_linked(
    host: Host, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for name, applid in (("pay", "PAYREGN"), ("ship", "SHIPREGN")):
        (tmp_path / name / "region.yaml").write_text(f"applid: {applid}\ndefinitions: [{name}.yaml]\n")
        host.add_directory(tmp_path / name)
    assert "region_not_linked" in caplog.text
    assert "needs other names" in caplog.text
    with pytest.raises(Condition) as refused:
        do(host, lambda: host.regions["PAYREGN"].writeq_td("FARQ", b"x"))
    assert refused.value.resp is Resp.SYSIDERR
    do(host, lambda: host.regions["SHIPREGN"].writeq_td("FARQ", b"x"))
