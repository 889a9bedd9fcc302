"""What a server makes of region.yaml beside the region: layouts of records, transactions to start, its name."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("fastapi", reason="the extra [serve] is not installed")
pytest.importorskip("httpx2", reason="httpx2 is not installed")

from fastapi.testclient import TestClient

from tdqsim import Region
from tdqsim.cli import main
from tdqsim.client.served_process import region_directory
from tdqsim.core.store.keeper import holder
from tdqsim.definitions import Definitions, define_tdqueue, define_transaction
from tdqsim.errors import DefinitionError, TdqError
from tdqsim.server.host import Host
from tdqsim.server.http import Gate, application

COPYBOOK = """\
       01  PAYMENT.
           05  ACCOUNT PIC X(4).
           05  AMOUNT  PIC S9(5)V99 COMP-3.
       01  REFUND.
           05  REASON PIC X(2).
"""
HANDLERS = """\
def begin(task):
    task.writeq_td("PAYQ", b"\\xc1\\xc2\\xc3\\xc4\\x00\\x12\\x34\\x5c")
"""


@pytest.fixture
def place(tmp_path):
    (tmp_path / "region.yaml").write_text(
        "applid: PAYREGN\ndefinitions: [pay.yaml]\nhandlers: [handlers_of_pay]\nstart_transactions: [BEGN]\n"
        "layouts:\n  PAYQ: {path: copy/pay.cpy, record: PAYMENT}\n  BACK: {path: copy/pay.cpy, record: REFUND}\n"
    )
    (tmp_path / "pay.yaml").write_text(
        "group: PAY\ntdqueue:\n- {name: PAYQ, type: INTRA, recovstatus: LOGICAL}\n- {name: LOGQ, type: INTRA}\n"
        "transaction:\n- {name: BEGN, handler: 'handlers_of_pay:begin'}\n"
    )
    (tmp_path / "handlers_of_pay.py").write_text(HANDLERS)
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / "pay.cpy").write_text(COPYBOOK)
    return tmp_path


@pytest.fixture
def host():
    host = Host()
    yield host
    host.stop()


def test_records_are_shown_by_the_layouts_of_their_queues(host, place):
    host.add_directory(place)
    host.start_transactions()
    headers = {"Authorization": "Bearer all", "Host": "127.0.0.1:80"}
    with TestClient(application(host, Gate(token="all")), headers=headers, base_url="http://127.0.0.1") as api:
        base = "/api/v1/regions/PAYREGN"
        assert api.post(f"{base}/wait", json={"tasks_ended": True, "seconds": 120}).status_code == 200
        found = api.get(f"{base}/queues/PAYQ/records/decoded").json()
        assert found == {
            "layout": "PAYMENT", "position": 0, "records": [{"values": {"ACCOUNT": "ABCD", "AMOUNT": "123.45"}}]
        }  # fmt: skip
        assert api.get(f"{base}/queues/LOGQ/records/decoded").status_code == 404


def test_a_transaction_of_start_is_started_once(host, place):
    region = host.add_directory(place)
    assert host.engine.submit(lambda: region.inquire_tdqueue("PAYQ").numitems).result() == 0
    for _again in range(2):
        host.start_transactions()
    host.waits.for_tasks(region, 120).result()
    assert host.engine.submit(lambda: region.inquire_tdqueue("PAYQ").numitems).result() == 1


def test_a_wrong_layout_is_said_before_anything_is_made(host, place, capsys):
    file = place / "region.yaml"
    file.write_text(file.read_text().replace("record: REFUND", "record: NONE"))
    with pytest.raises(DefinitionError, match=r"TDQUEUE\(BACK\) layouts.*NONE.*PAYMENT"):
        host.add_directory(place)
    assert (host.regions, host.served) == ({}, [])
    assert main(["check", str(place)]) == 2
    assert "TDQUEUE(BACK)" in capsys.readouterr().err
    file.write_text("layouts: {TOOLONG: copy/pay.cpy}\n")
    assert main(["check", str(place)]) == 2
    assert "TOOLONG" in capsys.readouterr().err


def test_the_command_line_shows_fields(place, capsys):
    words = ["--region", str(place), "--store", str(place / "store")]
    assert main(["write", "PAYQ", "--seed", "--hex", "C1C2C3C40012345C", "C1C2C3C4FFFFFFFF", *words]) == 0
    capsys.readouterr()
    assert main(["peek", "PAYQ", "--fields", *words]) == 0
    assert capsys.readouterr().out == "ACCOUNT=ABCD, AMOUNT=123.45\nACCOUNT=ABCD, AMOUNT=X'FFFFFFFF'\n"
    assert main(["peek", "PAYQ", "--fields", "--json", *words]) == 0
    shown = json.loads(capsys.readouterr().out)["PAYQ"]
    assert shown == [{"ACCOUNT": "ABCD", "AMOUNT": "123.45"}, {"ACCOUNT": "ABCD", "AMOUNT": None}]
    assert main(["peek", "LOGQ", "--fields", *words]) == 2
    assert "LOGQ" in capsys.readouterr().err


def test_the_page_of_a_run_shows_fields(place, tmp_path):
    page = tmp_path / "page.html"
    assert main(["run", str(place), "--report", str(page), "--output", str(tmp_path / "out")]) == 0
    assert "ACCOUNT=ABCD, AMOUNT=123.45" in page.read_text("utf-8")


def test_a_name_that_is_taken_makes_nothing(host, tmp_path):
    places, stores = [tmp_path / "one", tmp_path / "two"], [tmp_path / "first", tmp_path / "second"]
    for folder in places:
        region_directory(Definitions.of([define_tdqueue(name="PAYQ", type="INTRA")]), folder)
    host.add_directory(places[0], stores[0])
    with pytest.raises(TdqError, match="TDQREGN is served already"):
        host.add_directory(places[1], stores[1])
    assert holder(stores[0])
    assert not stores[1].exists()
    with pytest.raises(TdqError, match="TDQREGN is served already"):
        host.add(Region, ())
    with pytest.raises(TdqError, match="TDQREGN is served already"):
        host.add(lambda **_options: Region((), store=stores[1]), applid="OTHER")
    assert not holder(stores[1])  # it was made, and is closed


def test_a_system_whose_name_is_taken_makes_nothing(host, tmp_path):
    stores = [tmp_path / "first", tmp_path / "second"]
    (tmp_path / "system.yaml").write_text("name: PAYSYS\n")
    host.add_directory(tmp_path, stores[0])
    with pytest.raises(TdqError, match="PAYSYS is served already"):
        host.add_directory(tmp_path, stores[1])
    assert not stores[1].exists()


def test_a_directory_for_a_server_may_leave_handlers_out(tmp_path):
    given = Definitions.of([define_transaction(name="PAYT", handler="nowhere:run")])
    with pytest.raises(DefinitionError, match="nowhere"):
        Region.from_directory(region_directory(given, tmp_path / "with"))
    Region.from_directory(region_directory(given, tmp_path / "without", handlers=False)).close()
