"""The notices of a region and a system in a server: incidents, and lines of the log."""

from __future__ import annotations

from structlog.testing import capture_logs

from tdqsim import Region, System, Task, define_tdqueue, define_terminal, define_transaction
from tdqsim.server.incidents import incidents_of, incidents_of_system
from tdqsim.server.notices import log_notices
from tdqsim.server.refusals import Refusals

QUEUE = define_tdqueue(name="PAYQ", type="INTRA", transid="PAYP", triggerlevel=2)


def test_a_trigger_that_waits_for_a_terminal_that_does_not_exist_is_an_incident() -> None:
    with Region([QUEUE, define_transaction(name="PAYP")], supplied_queues=False) as region:
        region.register("PAYP", lambda task: [*task.readq_td_all("PAYQ")])
        region.writeq_td("PAYQ", b"1")
        assert incidents_of(region) == []
        region.writeq_td("PAYQ", b"2")
        (incident,) = incidents_of(region)
        assert (incident.kind, incident.page) == ("Not done", ("queues", "PAYQ"))
        assert incident.what == (
            "TDQ0001 TDQUEUE(PAYQ): The task of its trigger (PAYP) waits for terminal PAYQ, which is not defined "
            "(ATIFACILITY is TERMINAL, which is the default)."
        )
        assert "ATIFACILITY(FILE)" in incident.cure
        region.install([define_terminal(name="PAYQ")])
        region.run()
        assert incidents_of(region) == []


def test_an_incident_of_a_trigger_ends_when_its_level_is_no_longer_reached() -> None:
    with Region([QUEUE], supplied_queues=False) as region:
        region.writeq_td_all("PAYQ", [b"1", b"2"])
        assert [each.what.split(":")[0] for each in incidents_of(region)] == ["DFHTD0183 TDQUEUE(PAYQ)"]
        region.deleteq_td("PAYQ")
        assert incidents_of(region) == []


def test_the_notices_of_a_system_go_to_the_log() -> None:
    with System("SYS1") as system, capture_logs() as lines:
        log_notices(system)
        system.notices.add("CPF9999", "DTAQ(LIB/Q)", "It fails.", "Mend it.")
    assert lines == [
        {
            "event": "notice", "log_level": "error", "id": "CPF9999", "system": "SYS1", "resource": "DTAQ(LIB/Q)",
            "reason": "It fails.", "cure": "Mend it.", "job": "",
        }
    ]  # fmt: skip


def test_a_trigger_that_was_missed_is_an_incident_in_the_words_of_its_notice() -> None:
    queue = define_tdqueue(
        name="PAYQ", type="INTRA", transid="PAYP", triggerlevel=1, atifacility="FILE", recovstatus="LOGICAL"
    )
    with Region([queue, define_transaction(name="PAYP")], supplied_queues=False) as region:

        @region.transaction("PAYP")
        def payp(task: Task) -> None:
            assert [*task.readq_td_all("PAYQ")] == [b"1"]
            task.syncpoint()
            task.delay(seconds=5)

        region.writeq_td("PAYQ", b"1")
        with region.task() as writer:
            writer.delay(seconds=1)
            writer.writeq_td("PAYQ", b"2")
        region.run()
        (incident,) = incidents_of(region)
        assert (incident.kind, incident.page) == ("Not done", ("queues", "PAYQ"))
        assert incident.what == (
            "TDQ0050 TDQUEUE(PAYQ): 1 records are there, its trigger level is reached, and no task of PAYP is started: "
            "they were committed after the queue was read to QZERO, while the task that did so was still running."
        )
        assert incident.cure == (
            "Let the task end after QZERO, or read again after its last syncpoint; trigger_next: TASKEND in region.yaml "
            "(SystemOptions in Python) starts a task when it has ended."
        )
        region.deleteq_td("PAYQ")
        assert incidents_of(region) == []


def test_a_trigger_whose_level_set_has_lowered_is_an_incident_without_a_notice() -> None:
    queue = define_tdqueue(name="PAYQ", type="INTRA", transid="PAYP", triggerlevel=9, atifacility="FILE")
    with Region([queue, define_transaction(name="PAYP")], supplied_queues=False) as region:
        region.writeq_td("PAYQ", b"1")
        region.set_tdqueue("PAYQ", triggerlevel=1)
        (incident,) = incidents_of(region)
        assert (incident.kind, [*region.notices]) == ("No trigger", [])


def test_what_a_system_has_said_is_an_incident_of_it() -> None:
    with System("SYS1") as system:
        system.notices.silence()
        system.notices.add("CPF9999", "DTAQ(LIB/Q)", "It fails.", "Mend it.")
        system.notices.add("CPF9998", "DTAQ(LIB/Q)", "It may surprise.", severity="warning")
        found = incidents_of_system(system, Refusals("SYS1"))
        assert [(each.kind, each.what, each.cure, each.page) for each in found] == [
            ("Not done", "CPF9999 DTAQ(LIB/Q): It fails.", "Mend it.", ())
        ]
        system.notices.over("DTAQ(LIB/Q)")
        assert incidents_of_system(system, Refusals("SYS1")) == []
