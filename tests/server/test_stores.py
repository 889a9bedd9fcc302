"""A store that is deleted, replaced or broken while it is served: the region or system ends, and everything says so."""

from __future__ import annotations

import asyncio
import errno
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="the extra [serve] is not installed")
pytest.importorskip("httpx2", reason="httpx2 is not installed")

from fastapi.testclient import TestClient

from tdqsim.cics.internals import core_of
from tdqsim.errors import StoreError
from tdqsim.server.host import Host
from tdqsim.server.http import Gate, application
from tdqsim.server.stores import StoreWatch
from tdqsim.server.users import Users

REGION, SYSTEM = "/api/v1/regions/PAYREGN", "/api/v1/systems/PAYSYS"


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    """A region and a system, each with a store."""
    pay, system = tmp_path / "pay", tmp_path / "system"
    pay.mkdir()
    system.mkdir()
    (pay / "region.yaml").write_text("applid: PAYREGN\ndefinitions: [pay.yaml]\n")
    (pay / "pay.yaml").write_text("group: PAY\ntdqueue:\n- {name: PAYQ, type: INTRA, recovstatus: LOGICAL}\n")
    (system / "system.yaml").write_text("name: PAYSYS\ndefinitions: [queues.yaml]\nlibraries: [PAYLIB]\n")
    (system / "queues.yaml").write_text("dtaq:\n- {dtaq: PAYLIB/ORDERS, maxlen: 80}\n")
    host = Host()
    host.add_directory(pay, tmp_path / "pay-store")
    host.add_directory(system, tmp_path / "system-store")
    yield host
    host.stop()


@pytest.fixture
def api(host: Host) -> Iterator[TestClient]:
    headers = {"Authorization": "Bearer all", "Host": "127.0.0.1:80"}
    app = application(host, Gate(Users([]), token="all", open_metrics=True))
    with TestClient(app, headers=headers, base_url="http://127.0.0.1") as client:
        yield client


def test_stores_that_are_there_stay_open(host: Host, api: TestClient) -> None:
    watch = StoreWatch(host)
    assert api.post(f"{REGION}/queues/PAYQ/records", json={"text": "x"}).status_code == 201
    asyncio.run(watch.look())
    assert api.get("/ready").status_code == 200
    assert api.get(REGION).json()["ended"] == ""
    assert api.get(SYSTEM).json()["ended"] == ""
    assert 'tdq_region_up{region="PAYREGN"} 1.0' in api.get("/metrics").text


@pytest.mark.parametrize("replaced", [False, True])
def test_a_region_whose_store_was_deleted_ends_and_refuses_work(
    host: Host, api: TestClient, tmp_path: Path, replaced: bool
) -> None:
    store, watch = tmp_path / "pay-store", StoreWatch(host)
    assert api.post(f"{REGION}/queues/PAYQ/records", json={"text": "x"}).status_code == 201
    store.rename(tmp_path / "away")
    if replaced:
        shutil.copytree(tmp_path / "away", store)
    asyncio.run(watch.look())
    error = f"{store}: the store was deleted or replaced while it was in use"
    refused = api.post(f"{REGION}/queues/PAYQ/records", json={"text": "y"})
    assert (refused.status_code, refused.json()["title"]) == (409, "RegionClosed")
    assert refused.json()["detail"] == f"region PAYREGN: Its store has failed, and it has ended: {error}."
    assert api.get("/ready").status_code == 503
    assert api.get("/health").status_code == 200
    (incident,) = api.get(f"{REGION}/incidents").json()
    assert (incident["kind"], incident["what"]) == (
        "Not done",
        f"TDQ0013: Its store has failed, and it has ended: {error}.",
    )
    assert api.get(SYSTEM).json()["ended"] == ""  # the other goes on


def test_a_system_whose_store_was_deleted_ends_and_refuses_work(host: Host, api: TestClient, tmp_path: Path) -> None:
    store, watch = tmp_path / "system-store", StoreWatch(host)
    entries = f"{SYSTEM}/queues/PAYLIB/ORDERS/entries"
    assert api.post(entries, json={"data": {"text": "x"}}).status_code == 201
    shutil.rmtree(store)
    asyncio.run(watch.look())
    said = f"Its store has failed, and it has ended: {store}: the store was deleted or replaced while it was in use."
    refused = api.post(entries, json={"data": {"text": "y"}})
    assert (refused.status_code, refused.json()["detail"]) == (409, f"system PAYSYS: {said}")
    assert api.get(SYSTEM).json()["ended"] == said
    assert [(each["id"], each["reason"]) for each in api.get(f"{SYSTEM}/notices").json()] == [("TDQ0013", said)]
    assert 'tdq_system_up{system="PAYSYS"} 0.0' in api.get("/metrics").text
    assert api.get(REGION).json()["ended"] == ""


def test_a_region_whose_store_answers_eio_does_not_look_alive(host: Host, api: TestClient) -> None:
    region, error = host.region("PAYREGN"), StoreError("data.mdb: Input/output error")
    host.engine.outside(lambda: core_of(region).committer.refused(errno.errorcode[errno.EIO], error)).result()
    why = "Its store has failed, and it has ended: data.mdb: Input/output error."
    asked = ["/queues", "/queues/PAYQ", "/queues/PAYQ/records", "/queues/PAYQ/explain", "/tasks", "/statistics"]
    refused = [api.get(f"{REGION}{path}") for path in asked]
    refused += [
        api.post(f"{REGION}/exec", json={"text": "ASKTIME"}),
        api.post(f"{REGION}/cemt", json={"text": "I TDQ"}),
    ]
    assert {(each.status_code, each.json()["detail"]) for each in refused} == {(409, f"region PAYREGN: {why}")}
    assert [each["ended"] for each in api.get("/api/v1/regions").json()] == [why]
    assert api.get("/ready").status_code == 503
    metrics = api.get("/metrics").text
    assert 'tdq_region_up{region="PAYREGN"} 0.0' in metrics
    assert 'tdq_queue_items{queue="PAYQ"' not in metrics


def test_a_system_whose_store_answers_eio_ends(host: Host, api: TestClient) -> None:
    system, watch = host.system("PAYSYS"), StoreWatch(host)
    system.store.durable.failed = "Input/output error"
    asyncio.run(watch.look())
    assert api.get(SYSTEM).json()["ended"].endswith("-store: Input/output error.")
    assert api.get(f"{SYSTEM}/queues").status_code == 409
