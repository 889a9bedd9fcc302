"""A cycle that goes on after a restart waits for the handler of its transaction; handlers are given with the region."""

from __future__ import annotations

import pytest

from tdqsim.cics import Region
from tdqsim.core.clock import Clock
from tdqsim.definitions import define_tdqueue, define_terminal, define_transaction
from tests.rules import rule

DEFINITIONS = [
    define_tdqueue(name="TERQ", type="INTRA", recovstatus="LOGICAL", transid="TA", triggerlevel=1, facilityid="T001"),
    define_terminal(name="T001"),
]


def last_run(path, definitions=DEFINITIONS):
    """Ends with a TERMINAL cycle on, as an emergency restart finds it."""
    reg = Region(definitions, store=path, supplied_queues=False)
    reg.register("TA", lambda task: task.abend("OOPS"))
    reg.set_terminal("T001", servstatus="OUTSERVICE")
    reg.writeq_td("TERQ", b"record")
    reg.close(clean=False)


@pytest.mark.rule("RESTART-AWAITS-HANDLER")
@pytest.mark.parametrize("defined", [False, True])
def test_a_pending_start_waits_for_its_handler(tmp_path, defined):
    assert rule("RESTART-AWAITS-HANDLER").command == "start"
    more = [define_transaction(name="TA", program="PROG")] if defined else []
    last_run(tmp_path / "store", [*DEFINITIONS, *more])
    seen = []
    with Region([], store=tmp_path / "store", supplied_queues=False) as reg:
        reg.inquire_tdqueue("TERQ")
        reg.run()
        assert seen == []
        reg.register("TA", lambda task: seen.append(task.readq_td("TERQ")))
        reg.run()
        assert seen[:1] == [b"record"]


def test_handlers_are_callables_by_transaction(tmp_path):
    last_run(tmp_path / "store")
    seen = []

    def program(task):
        seen.append((task.transid, task.readq_td("TERQ", nohandle=True)))

    with Region([], store=tmp_path / "store", supplied_queues=False, handlers={"TA": program}) as reg:
        reg.inquire_tdqueue("TERQ")
        assert seen[0] == ("TA", b"record")


@pytest.mark.parametrize("start", ["WARM", "EMERGENCY"])
def test_callables_are_given_to_the_transactions_of_the_catalogue_too(tmp_path, start):
    given = {"TA": lambda task: task.transid}
    first = Region([define_transaction(name="TA")], store=tmp_path / "store", handlers=given)
    if start == "WARM":
        first.close()
    else:
        first.shutdown(immediate=True)
    with Region(store=tmp_path / "store", handlers=given) as again:
        assert (again.recovery.start_type, again.start("TA").result()) == (start, "TA")


def test_a_handler_given_so_must_be_callable(tmp_path):
    with pytest.raises(Exception, match="cannot be called; a handler is a function of its task"):
        Region([], handlers={"TA": "not.callable"}, store=tmp_path / "store")
    assert not (tmp_path / "store").exists()


def test_neither_disable_and_enable_nor_set_of_the_trigger_frees_a_stuck_queue():
    """Only a read of the queue to its end does."""
    started = []

    def program(task):
        started.append(task.number)
        task.abend("OOPS")

    with Region(DEFINITIONS, supplied_queues=False, handlers={"TA": program}) as reg:
        for _ in range(3):
            reg.writeq_td("TERQ", b"x")
            reg.run()
        assert len(started) == 1  # the task has abended: the cycle stays on
        for _ in range(5):
            reg.set_tdqueue("TERQ", enablestatus="DISABLED")
            reg.set_tdqueue("TERQ", enablestatus="ENABLED")
            reg.writeq_td("TERQ", b"x")
            reg.run()
        assert len(started) == 1
        reg.set_tdqueue("TERQ", triggerlevel=2)
        reg.writeq_td("TERQ", b"x")
        reg.run()
        assert len(started) == 1
        assert len(list(reg.readq_td_all("TERQ"))) == 9
        for _ in range(2):
            reg.writeq_td("TERQ", b"x")
        reg.run()
        assert len(started) == 2


@pytest.mark.rule("RESTART-AWAITS-HANDLER")
def test_starts_that_wait_for_a_handler_begin_in_the_order_in_which_they_were_due(tmp_path):
    clock = Clock()
    with Region([define_transaction(name="TA")], store=tmp_path / "store", clock=clock) as reg:
        for at, data in ((3, b"third"), (1, b"first"), (2, b"second")):
            reg.execute(f"START TRANSID('TA') FROM(D) SECONDS({at})", {"D": data})
    clock.advance(10)
    seen = []
    with Region([], store=tmp_path / "store", clock=clock) as reg:
        reg.run()
        assert seen == []
        reg.register("TA", lambda task: seen.append(task.retrieve()))
        reg.run()
    assert seen == [b"first", b"second", b"third"]
