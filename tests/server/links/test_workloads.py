"""Workloads against two served processes and a link over TLS between them, each of which is killed now and then."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the extra [serve] is not installed")

from tdqsim.client import Client, RemoteError
from tests.quality.relay import Relay
from tests.quality.workload_targets import UNITS, ServedTarget
from tests.quality.workloads import Workload, bank, run_workload, unique_records
from tests.server.links.test_served import eventually, sides  # noqa: F401  (a fixture)

QUEUES = ["OWNQ", "FARQ"]


class LinkedTarget(ServedTarget):
    """The near region behind a relay; ``FARQ`` is a queue of the far region."""

    def __init__(self, near: Any, far: Any) -> None:
        self.near, self.far = near, far
        self.relay = Relay(near.ready["url"])
        self.client = self.connected()
        super().__init__(self.client.region("NEARAPPL"), {"FARQ": far.client.region("FARAPPL")})
        self.acquired()

    def connected(self) -> Client:
        return Client(self.relay.url, self.near.ready["token"], timeout=300)

    def acquired(self) -> None:
        """Wait for the link and for the end of what was in doubt."""

        def is_acquired() -> bool:
            unit = self.near.client.region("NEARAPPL").unit_of_work()
            try:
                unit.readq_td("FARQ", nosuspend=True)
            except RemoteError as refused:
                return refused.condition in ("QZERO", "QBUSY")
            finally:
                with suppress(RemoteError):
                    unit.syncpoint_rollback()
            return True

        eventually(is_acquired)
        eventually(
            lambda: all(unit["waitstate"] != "SHUNTED" for unit in self.far.client.region("FARAPPL").units_of_work())
        )

    def near_fails(self) -> None:
        self.near.kill()
        self.near.start()
        self.relay.behind(self.near.ready["url"])
        self.client.close()
        self.client = self.connected()
        self.acquired()
        self.restart(self.client.region("NEARAPPL"), self.near.client.region("NEARAPPL").about()["start"])

    def far_fails(self) -> None:
        self.far.kill()
        self.far.start()
        self.acquired()
        self.homes["FARQ"] = self.far.client.region("FARAPPL")
        self._lost = UNITS

    def faults(self) -> list[Callable[[], Any]]:
        return [
            self.near_fails,
            self.far_fails,
            lambda: self.relay.cut("answer"),
            lambda: self.relay.cut("execution", self.far_fails),
            lambda: self.relay.cut("execution", self.near_fails),
        ]

    def close(self) -> None:
        self.client.close()
        self.relay.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    "workload", [unique_records(QUEUES, operations=12), bank(QUEUES, operations=12)], ids=["records", "bank"]
)
def test_two_served_processes_commit_both_or_none(sides: Any, workload: Workload) -> None:  # noqa: F811
    near, far = sides
    far.start()
    near.start()
    target = LinkedTarget(near, far)
    try:
        found = run_workload(workload, target, seed=1, faults=target.faults(), every=12).check()
    finally:
        target.close()
    assert found.responses["SYNCPOINT", "NORMAL"]
