"""The queues and workloads of the tests that run a workload in this process or against a server."""

from __future__ import annotations

from collections.abc import Callable

from tdqsim.definitions import define_tdqueue
from tests.quality.workloads import Workload, bank, registers, unique_records

LOGICAL = ["LOGA", "LOGB", "LOGC"]
QUEUES = [
    *(define_tdqueue(name=name, type="INTRA", recovstatus="LOGICAL") for name in LOGICAL),
    define_tdqueue(name="PHYQ", type="INTRA", recovstatus="PHYSICAL"),
    define_tdqueue(name="NORQ", type="INTRA"),
]
WORKLOADS: dict[str, Callable[[], Workload]] = {
    "records": lambda: unique_records(["LOGA", "PHYQ", "NORQ", "LOGB"]),
    "registers": lambda: registers(["LOGA", "LOGB"]),
    "bank": lambda: bank(LOGICAL),
}
