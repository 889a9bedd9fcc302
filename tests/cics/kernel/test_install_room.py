"""A queue that is replaced by one of another RECOVSTATUS takes its records along, or stays as it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tdqsim.cics import Condition, InstallRefused, Region
from tdqsim.definitions import define_tdqueue
from tdqsim.facts import Resp
from tests.rules import rule

Make = Callable[..., Region]


def queue(name: str, recovstatus: str, **attributes: Any) -> Any:
    return define_tdqueue(name=name, type="INTRA", recovstatus=recovstatus, **attributes)


def nearly_full(make_region: Make) -> Region:
    """A region whose recoverable records take all the room but little, and that has some others."""
    region = make_region(queue("AQ", "NO"), queue("NOQ", "NO"), queue("LOGQ", "LOGICAL"), limit_bytes=8_000_000)
    region.writeq_td("AQ", b"one")
    region.seed("NOQ", [b"%03d" % number + b"." * 500 for number in range(999)])
    resp = Resp.NORMAL
    while resp is Resp.NORMAL:
        with region.task() as task:
            for number in range(100):
                task.writeq_td("LOGQ", b"%03d" % number + b"." * 500, nohandle=True)
                resp = task.eib.eibresp
                if resp is not Resp.NORMAL:
                    break
    assert resp is Resp.NOSPACE
    for name in ("AQ", "NOQ"):
        region.set_tdqueue(name, enablestatus="DISABLED")
    return region


@pytest.mark.rule("INSTALL-RECOVERY-ROOM")
def test_records_that_find_no_room_stay_where_they_are(make_region: Make) -> None:
    region = nearly_full(make_region)
    before, used = region.peek("NOQ"), region._core.intra.count()
    with pytest.raises(InstallRefused, match=rule("INSTALL-RECOVERY-ROOM").message):
        region.install([queue("AQ", "PHYSICAL"), queue("NOQ", "PHYSICAL")])
    with pytest.raises(Condition) as refused:
        region.create_tdqueue("NOQ", "TYPE(INTRA) RECOVSTATUS(LOGICAL)")
    assert (refused.value.name, refused.value.resp2) == ("INVREQ", 500)
    assert (region.peek("NOQ"), region._core.intra.count()) == (before, used)
    assert region.store.durable.queue(b"NOQ") is None
    for name in ("AQ", "NOQ"):  # neither of the two was replaced
        assert region.inquire_tdqueue(name, "RECOVSTATUS").recovstatus.name == "NOTRECOVABLE"
        region.set_tdqueue(name, enablestatus="ENABLED")
    assert [region.readq_td("AQ"), region.readq_td("NOQ")[:3]] == [b"one", b"000"]


@pytest.mark.rule("INSTALL-RECOVERY-ROOM")
@pytest.mark.parametrize("after", ["NO", "PHYSICAL", "LOGICAL"])
@pytest.mark.parametrize("before", ["NO", "PHYSICAL", "LOGICAL"])
def test_records_go_along(make_region: Make, before: str, after: str) -> None:
    region = make_region(queue("XQ", before), dfhintra={"ci_size": 512})
    records = [b"%03d" % number + b"." * 200 for number in range(20)]
    region.seed("XQ", records)
    region.set_tdqueue("XQ", enablestatus="DISABLED")
    region.install([queue("XQ", after)])
    assert region.peek("XQ") == records
    region.writeq_td("XQ", b"new")
    with region.task() as task:
        assert [task.readq_td("XQ"), task.readq_td("XQ")] == records[:2]
        task.syncpoint_rollback()
    gone = 0 if after == "LOGICAL" else 2
    assert region.peek("XQ") == [*records[gone:], b"new"]
    region.deleteq_td("XQ")
    assert region._core.intra.count() == 0
