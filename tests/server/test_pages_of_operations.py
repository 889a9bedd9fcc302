"""Each operation of the API has a page of the console, or a reason why it has none."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

pytest.importorskip("nicegui", reason="nicegui is not installed: the extra [serve] brings it")

from tdqsim.facts import table

PAGES = {
    "overview": ("listRegions", "getRegion"),
    "queues": ("listTdqueues",),
    "queue": ("inquireTdqueue", "explainTdqueue", "getDepthHistory"),
    "queue_records": ("peekRecords", "peekDecodedRecords", "peekRecordsByLayout"),
    "queue_actions": ("setTdqueue", "discardTdqueue", "writeRecords", "readRecords", "deleteRecords", "seedRecords"),
    "tasks": ("listTasks", "purgeTask"),
    "task": ("explainTask",),
    "incidents": ("listDumps", "listIncidents", "listRefusedCommands", "listNotices", "streamAlerts"),
    "units": ("listUnitsOfWork", "endUnitOfWork"),
    "commands": (
        "executeCommandInUnitOfWork", "executeCeci", "executeCemt", "executeCommand", "beginUnitOfWork",
        "commitUnitOfWork", "backOutUnitOfWork",
    ),
    "log": ("streamHistory", "streamEvents"),
    "topology": ("getDefinitions",),
    "statistics": ("getStatistics",),
    "output": ("listJobs", "getJobCards", "listSysoutDatasets", "printSysoutDataset"),
    "definitions": ("installDefinitions",),
    "snapshots": ("takeSnapshot", "restoreSnapshot"),
    "faults": ("getFaults", "setFaults", "removeFaults"),
    "clock": ("getClock", "setClock"),
    "systems": ("listSystems", "getSystem", "listRefusedApis", "listSystemNotices", "listDataQueues", "executeClCommand"),
    "data_queue": (
        "describeDataQueue", "browseEntries", "sendEntries", "receiveEntry", "clearDataQueue",
    ),
}  # fmt: skip
"""The operations by the module of the page that shows them or does the same."""
NO_PAGE = {
    "waitForState": "pages update themselves",
    "executeDfhcsdup": "a job for the batch, by tdq csd or a client; the page of definitions installs what it reads",
    "signOff": "a button in the bar of each page",
    "changeDataQueue": "the CL line of the page of a system: CHGDTAQ",
    "deleteDataQueue": "the CL line of the page of a system: DLTDTAQ",
    "installDataQueues": "the CL line of the page of a system: CRTDTAQ",
}


def test_each_operation_has_a_page_or_a_reason():
    """A new operation fails here until it is in one of the tables."""
    listed = [*(each for many in PAGES.values() for each in many), *NO_PAGE]
    assert sorted(listed) == sorted(row["id"] for row in table("operations") if row["id"])


@pytest.mark.parametrize("page", PAGES)
def test_the_page_exists(page):
    assert find_spec(f"tdqsim.server.console.pages.{page}") is not None
