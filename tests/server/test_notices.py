"""The notices of a region and a system in a server: incidents, and lines of the log."""

from __future__ import annotations

from structlog.testing import capture_logs

from tdqsim import Region, System, define_tdqueue, define_terminal, define_transaction
from tdqsim.server.incidents import incidents_of
from tdqsim.server.notices import log_notices

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
        assert "ATIFACILITY(FILE)" in incident.todo
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
