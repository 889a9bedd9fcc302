"""The depth of queues over time, kept by the server before anybody looks."""

from __future__ import annotations

import pytest

pytest.importorskip("fastapi", reason="the extra [serve] is not installed")
pytest.importorskip("httpx2", reason="httpx2 is not installed")

from fastapi.testclient import TestClient

from tdqsim import Region, define_tdqueue
from tdqsim.ibmi import System
from tdqsim.server.activity import Activity
from tdqsim.server.host import Host
from tdqsim.server.http import Gate, application

DEFINITIONS = [
    define_tdqueue(name="PAYQ", type="INTRA"),
    define_tdqueue(name="LOGQ", type="INTRA", recovstatus="LOGICAL"),
    define_tdqueue(name="ALIA", type="INDIRECT", indirectname="PAYQ"),
]
SECOND = 10**9


@pytest.fixture
def host():
    host = Host(frozen=True)
    host.add(Region, DEFINITIONS, applid="PAYREGN")
    yield host
    host.stop()


def done(host, call):
    return host.engine.submit(call).result(timeout=300)


def samples(host, queue):
    """Seconds since the first sample, and depths."""
    found = host.depths["PAYREGN"].of(queue)
    return [((time_ns - found[0][0]) / SECOND, depth) for time_ns, depth in found]


def later(host, seconds):
    done(host, lambda: host.engine.dispatcher.clock.advance(seconds))


def test_a_burst_is_one_sample_and_what_was_before_stays(host):
    region = host.regions["PAYREGN"]
    assert samples(host, "PAYQ") == []
    done(host, lambda: region.seed("LOGQ", [b"x"] * 3))  # in the second in which the server begins
    assert samples(host, "LOGQ") == [(0, 0), (0, 3)]
    later(host, 5)
    done(host, lambda: [region.writeq_td("PAYQ", b"x") for _ in range(500)])
    later(host, 5)
    done(host, lambda: region.readq_td("ALIA"))  # by the name that stands for it
    later(host, 5)
    done(host, lambda: region.deleteq_td("PAYQ"))
    assert samples(host, "PAYQ") == [(0, 0), (5, 500), (10, 499), (15, 0)]
    later(host, 5)
    done(host, lambda: region.seed("PAYQ", [b"x"] * 7))
    assert samples(host, "PAYQ")[-1] == (20, 7)


def test_what_is_not_committed_is_not_counted(host):
    region = host.regions["PAYREGN"]
    unit = host.units.begin(region, "ALICE", None).result(timeout=300)
    later(host, 2)
    host.units.do(unit, "ALICE", lambda task: task.writeq_td("LOGQ", b"x")).result(timeout=300)
    assert {depth for _, depth in samples(host, "LOGQ")} <= {0}
    later(host, 2)
    host.units.do(unit, "ALICE", lambda task: task.syncpoint(), last=True).result(timeout=300)
    host.waits.for_tasks(region, 300).result(timeout=600)
    assert samples(host, "LOGQ")[-1] == (4, 1)


def test_the_ring_is_bounded_and_forgets_queues_that_are_gone(host):
    region = host.regions["PAYREGN"]
    for number in range(300):
        later(host, 2)
        done(host, lambda: region.writeq_td("PAYQ", b"x"))
        assert samples(host, "PAYQ")[-1][1] == number + 1
    assert [depth for _, depth in samples(host, "PAYQ")] == list(range(61, 301))
    done(host, lambda: region.discard_tdqueue("ALIA"))
    done(host, lambda: region.set_tdqueue("LOGQ", enablestatus="DISABLED"))
    done(host, lambda: region.discard_tdqueue("LOGQ"))
    assert samples(host, "LOGQ") == []


def test_the_depths_of_a_store_are_there_from_the_start(tmp_path):
    for turn in range(2):
        host = Host(frozen=True)
        try:
            region = host.add(Region, DEFINITIONS if not turn else (), applid="PAYREGN", store=tmp_path / "store")
            later(host, 2)
            done(host, lambda region=region: region.writeq_td("LOGQ", b"x"))
            assert [depth for _, depth in samples(host, "LOGQ")] == [turn, turn + 1]
        finally:
            host.stop()


def test_a_client_asks_for_depths_and_metrics_tell_of_data_queues(host):
    region, system = host.regions["PAYREGN"], host.add_system(System, "PAYSYS")

    def send():
        with system.job() as job:
            job.crtdtaq("QGPL/ORDERS", maxlen=10)
            for _ in range(3):
                job.qsnddtaq("QGPL/ORDERS", data=b"x")

    done(host, send)
    later(host, 2)
    done(host, lambda: region.writeq_td("PAYQ", b"x"))
    headers = {"Authorization": "Bearer all", "Host": "127.0.0.1:80"}
    with TestClient(application(host, Gate(token="all")), headers=headers, base_url="http://127.0.0.1") as api:
        found = api.get("/api/v1/regions/PAYREGN/queues/PAYQ/depth").json()
        assert (found["depth"], [depth for _, depth in found["samples"]]) == (1, [0, 1])
        assert found["samples"][1][0] - found["samples"][0][0] == 2 * SECOND
        assert api.get("/api/v1/regions/PAYREGN/queues/NONE/depth").status_code == 404
        metrics = api.get("/metrics").text.splitlines()
    assert 'tdq_data_queue_entries{library="QGPL",queue="ORDERS",system="PAYSYS"} 3.0' in metrics
    assert 'tdq_jobs{system="PAYSYS"} 0.0' in metrics


def test_activity_counts_each_interval_of_five_seconds():
    activity = Activity()
    for second, failed in ((1, 0), (2, 1), (6, 0), (21, 1)):
        if second * SECOND >= activity.next_ns:
            activity.at(second * SECOND)
        activity.commands += 1
        activity.failed += failed
    assert activity.per_interval(24 * SECOND)[-5:] == [(2, 1), (1, 0), (0, 0), (0, 0), (1, 1)]
    assert activity.per_interval(31 * SECOND)[-2:] == [(0, 0), (0, 0)]
