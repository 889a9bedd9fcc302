"""Testers that follow the links of the OpenAPI document reach what is there: schemathesis gets past 404."""

from __future__ import annotations

from collections import Counter

import pytest

pytest.importorskip("fastapi", reason="the extra [serve] is not installed")
pytest.importorskip("schemathesis", reason="schemathesis is not installed")

import schemathesis
from hypothesis import HealthCheck, settings

from tdqsim import Region, define_tdqueue
from tdqsim.definitions import Definitions, define_dtaq
from tdqsim.ibmi import System
from tdqsim.server.host import Host
from tdqsim.server.http import Gate, application

QUEUE = define_dtaq(dtaq="QGPL/ORDERS", maxlen=80)
HEADERS = {"Authorization": "Bearer all", "Host": "127.0.0.1"}
WAYS = {
    "queues": (
        ["listRegions", "listTdqueues"],
        [
            "inquireTdqueue",
            "peekRecords",
            "writeRecords",
            "deleteRecords",
            "seedRecords",
            "getDepthHistory",
            "explainTdqueue",
        ],
    ),
    "units of work": (
        ["listRegions", "beginUnitOfWork"],
        ["commitUnitOfWork", "backOutUnitOfWork"],
    ),
    "data queues": (
        ["listSystems", "listDataQueues"],
        ["describeDataQueue", "browseEntries"],
    ),
}
"""Operations whose answers have links, and those that the links lead to."""


@pytest.fixture
def app():
    host = Host()
    host.add(Region, [define_tdqueue(name="PAYQ", type="INTRA")], applid="PAYREGN", supplied_queues=False)
    system = host.add_system(System, "PAYSYS")
    host.engine.submit(lambda: system.install(Definitions.of([QUEUE]))).result(timeout=300)
    yield application(host, Gate(token="all"))
    host.stop()


@pytest.mark.parametrize("way", WAYS)
def test_links_lead_to_what_is_there(app, way):
    sources, targets = WAYS[way]
    schema = schemathesis.openapi.from_asgi("/api/v1/openapi.json", app, headers=HEADERS)
    answers = {}

    class Machine(schema.include(operation_id=[*sources, *targets]).as_state_machine()):
        def get_call_kwargs(self, _case):
            return {"headers": HEADERS}

        def after_call(self, response, case):
            name = case.operation.definition.raw["operationId"]
            answers.setdefault(name, Counter())[response.status_code] += 1

        def validate_response(self, response, _case, **_more):
            assert response.status_code < 500 or response.status_code in (503, 504), response.text

    given = settings(
        max_examples=30, stateful_step_count=8, deadline=None, database=None, derandomize=False,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    missing = targets
    for _ in range(6):  # a drawn body may be refused for its content; a profile for CI would draw the same each time
        Machine.run(settings=given)
        missing = [each for each in targets if not any(200 <= status < 300 for status in answers.get(each, ()))]
        if not missing:
            break
    assert missing == []
