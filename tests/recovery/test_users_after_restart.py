"""The users of definitions that a restart takes from the catalogue are asked of the policy of the new run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tdqsim.cics import AccessList, Region
from tdqsim.definitions import define_connection, define_tdqueue, define_terminal, define_transaction
from tests.rules import expect_rule

USERS = ["CICSUSER", "CICSRGN", "ATI", "EVE"]
MANY, FEW = AccessList(users=USERS), AccessList(users=USERS[:2])
DEFINITIONS = [
    define_tdqueue(name="FILQ", type="INTRA", recovstatus="PHYSICAL", transid="RUNS", triggerlevel=2, userid="ATI", atifacility="FILE"),
    define_tdqueue(
        name="TERQ", type="INTRA", recovstatus="PHYSICAL", transid="RUNS", triggerlevel=2, atifacility="TERMINAL",
        facilityid="T001",
    ),
    define_transaction(name="RUNS"),
    define_terminal(name="T001", userid="EVE"),
    define_connection(name="FAR", securityname="EVE"),
]  # fmt: skip


def started(place: Path, policy: Any, ran: list[tuple[str, str]]) -> Region:
    region = Region(DEFINITIONS, store=place / "store", security=policy, supplied_queues=False)
    region.register("RUNS", lambda task: ran.append((task.assign("QNAME").rstrip(), task.userid)))
    return region


@pytest.mark.rule("ATI-USERID-UNKNOWN")
@pytest.mark.parametrize("clean", [True, False])
def test_no_task_runs_for_a_user_that_is_not_known_any_more(tmp_path: Path, clean: bool) -> None:
    ran: list[tuple[str, str]] = []
    started(tmp_path, MANY, ran).close(clean=clean)
    with started(tmp_path, FEW, ran) as region:
        assert list(region.resources.terminals) == ["T001"]
        for queue in ("FILQ", "TERQ"):
            region.writeq_td(queue, b"one")
            region.writeq_td(queue, b"two")
        region.run()
        assert ran == []
        assert not region.tasks
        for way in (region.task, lambda userid: region.start("RUNS", userid=userid)):
            expect_rule("SEC-USER-OUTSIDE", way, userid="EVE")
        with region.task() as task:
            expect_rule("IC-START-USERIDERR", task.start, "RUNS", userid="EVE")
        again = define_terminal(name="T002", userid="EVE")
        expect_rule("SEC-USER-INSTALL", region.install, [again])
        region.security = MANY
        region.writeq_td("FILQ", b"three")
        assert ran == []  # the cycle is on, until SET gives it up
        region.set_tdqueue("FILQ", triggerlevel=2)
        region.writeq_td("FILQ", b"four")
        region.run()
        assert ran[0] == ("FILQ", "ATI")


@pytest.mark.parametrize("clean", [True, False])
def test_tasks_run_for_the_users_of_the_catalogue(tmp_path: Path, clean: bool) -> None:
    ran: list[tuple[str, str]] = []
    region = started(tmp_path, MANY, ran)
    region.set_tdqueue("FILQ", enablestatus="DISABLED")
    region.set_tdqueue("FILQ", atiuserid="EVE")
    region.close(clean=clean)
    with started(tmp_path, MANY, ran) as region:
        for queue in ("FILQ", "TERQ"):
            region.writeq_td(queue, b"one")
            region.writeq_td(queue, b"two")
        region.run()
        assert sorted(set(ran)) == [("FILQ", "EVE"), ("TERQ", "EVE")]
