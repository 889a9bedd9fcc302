"""One shared look at a region: what it sees, when it looks, and that it does nothing for nobody."""

from __future__ import annotations

import asyncio
import re

import pytest

pytest.importorskip("nicegui", reason="nicegui is not installed: the extra [serve] brings it")

from tdqsim import Condition, Region, define_tdqueue
from tdqsim.core.codepage import codepage
from tdqsim.errors import TdqError
from tdqsim.facts import rules
from tdqsim.server.console.frame import _error_text
from tdqsim.server.console.live import Live
from tdqsim.server.console.queue_state import predict_set, read_queue, read_record, read_records
from tdqsim.server.console.record_text import dump, fields, layout_of, text_of
from tdqsim.server.console.region_state import depth, locked, read_region
from tdqsim.server.console.table import spark
from tdqsim.server.host import Host

DEFINITIONS = [
    define_tdqueue(name="PAYQ", type="INTRA"),
    define_tdqueue(name="LOGQ", type="INTRA", recovstatus="LOGICAL"),
    define_tdqueue(name="ALIA", type="INDIRECT", indirectname="PAYQ"),
]
PAGE = codepage("037")


@pytest.fixture
def host():
    host = Host()
    host.add(Region, DEFINITIONS, applid="PAYREGN", supplied_queues=False)
    yield host
    host.stop()


class Watcher:
    """Waits for the next change."""

    def __init__(self, live):
        self.live = live
        self.changed = asyncio.Event()
        live.start(["PAYREGN"], self.changed.set)

    async def until(self, condition):
        while not condition():
            self.changed.clear()
            await asyncio.wait_for(self.changed.wait(), 300)


def test_what_is_written_to_an_alias_is_seen_on_what_it_stands_for(host):
    async def watch():
        live = Live(host)
        await live.ready(["PAYREGN"])
        view, watcher = live.view("PAYREGN"), Watcher(live)
        assert [depth(queue) for queue in view.queues.values()] == [0, 0, -1]
        await host.ask(lambda: host.regions["PAYREGN"].writeq_td("ALIA", b"one"))
        await watcher.until(lambda: view.queues["PAYQ"].numitems == 1)
        assert [depth for _, depth in view.depths.of("PAYQ")] == [0, 1]
        live.stop(watcher.changed.set)

    asyncio.run(watch())


def test_a_queue_that_is_discarded_goes_and_one_that_is_installed_comes(host):
    async def watch():
        live = Live(host)
        await live.ready(["PAYREGN"])
        view, watcher = live.view("PAYREGN"), Watcher(live)
        region = host.regions["PAYREGN"]
        await host.ask(lambda: region.discard_tdqueue("ALIA"))
        await watcher.until(lambda: "ALIA" not in view.queues)
        await host.ask(lambda: region.create_tdqueue("NEWQ", "TYPE(INTRA)"))
        await watcher.until(lambda: "NEWQ" in view.queues)

    asyncio.run(watch())


def test_who_holds_and_who_waits_is_seen_and_goes_with_the_commit(host):
    async def watch():
        live = Live(host)
        await live.ready(["PAYREGN"])
        view, watcher = live.view("PAYREGN"), Watcher(live)
        region = host.regions["PAYREGN"]
        unit = await asyncio.wrap_future(host.units.begin(region, "CICSUSER"))
        await asyncio.wrap_future(host.units.do(unit, "CICSUSER", lambda task: task.writeq_td("LOGQ", b"held")))
        await watcher.until(lambda: locked(view.queues["LOGQ"]).startswith("TOQ"))
        reading = asyncio.ensure_future(host.ask(lambda: region.readq_td("LOGQ")))
        await watcher.until(lambda: any("not committed to LOGQ" in wait.what for wait in view.snapshot.waits))
        assert any(task.waits_for == "TD_READ LOGQ" for task in view.snapshot.tasks)
        commit = host.units.do(unit, "CICSUSER", lambda task: task.syncpoint(), last=True)
        await asyncio.wrap_future(commit)
        assert await reading == b"held"
        await watcher.until(lambda: not locked(view.queues["LOGQ"]) and not view.snapshot.waits)

    asyncio.run(watch())


def test_nobody_looking_costs_nothing(host):
    async def watch():
        live = Live(host)
        await live.ready(["PAYREGN"])
        assert live.idle
        watcher = Watcher(live)
        assert not live.idle
        pump = asyncio.all_tasks() - {asyncio.current_task()}
        live.stop(watcher.changed.set)
        await asyncio.wait(pump, timeout=300)
        assert live.idle
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(watch())


def test_a_queue_that_is_installed_while_nobody_looks_is_found(host):
    async def look_for():
        live, region = Live(host), host.regions["PAYREGN"]
        await live.ready(["PAYREGN"])
        assert not await live.has_queue("PAYREGN", "NEWQ")
        await host.ask(lambda: region.create_tdqueue("NEWQ", "TYPE(INTRA)"))
        assert await live.has_queue("PAYREGN", "NEWQ")
        assert live.view("PAYREGN").queues["NEWQ"].type == "INTRA"

    asyncio.run(look_for())


def test_who_starts_late_and_who_looks_once_leave_nobody_with_an_old_state(host):
    """A region's state is compared with what was read last, whoever read it."""

    async def watch():
        live, region = Live(host), host.regions["PAYREGN"]
        await live.ready(["PAYREGN"])
        first = Watcher(live)
        await host.ask(lambda: region.set_tdqueue("PAYQ", enablestatus="DISABLED"))
        await first.until(lambda: live.view("PAYREGN").queues["PAYQ"].enablestatus == "DISABLED")
        late = []
        live.start(["PAYREGN"], lambda: late.append(live.view("PAYREGN").queues["PAYQ"].enablestatus))
        assert late == ["DISABLED"]

        first.changed.clear()
        told = []
        live.start(["PAYREGN"], lambda: told.append("NEWQ" in live.view("PAYREGN").queues))
        host.engine.submit(lambda: region.create_tdqueue("NEWQ", "TYPE(INTRA)")).result()  # the pump has no turn
        assert await live.has_queue("PAYREGN", "NEWQ")
        assert told == [False, True]

    asyncio.run(watch())


def test_values_of_inquire_are_shown_as_times_names_and_numbers(host):
    region = host.regions["PAYREGN"]

    def both():
        region.writeq_td("PAYQ", b"one")
        return read_queue(region, "PAYQ", "").options

    options = {word: rest for word, *rest in host.engine.submit(both).result()}
    assert (options["ENABLESTATUS"], options["NUMITEMS"]) == (["ENABLED", "23"], ["1", ""])
    assert re.fullmatch(r"[0-9]+ \([0-9-]{10} [0-9:]{8}\)", options["INSTALLTIME"][0])


def test_looking_leaves_no_trace(host):
    region = host.regions["PAYREGN"]

    def both():
        region.writeq_td("PAYQ", b"one")
        before = (len(host.recent["PAYREGN"]), region.statistics.now().as_dict()["queues"], len(region.tasks))
        read_region(region, None)
        read_queue(region, "PAYQ", "")
        read_records(region, "PAYQ", 0, 10, with_uncommitted=True)
        predict_set(region, "PAYQ", "", "ENABLESTATUS", "DISABLED")
        after = (len(host.recent["PAYREGN"]), region.statistics.now().as_dict()["queues"], len(region.tasks))
        return before, after, region.inquire_tdqueue("PAYQ").enablestatus.name

    before, after, status = host.engine.submit(both).result()
    assert before == after
    assert status == "ENABLED"


def test_a_prediction_names_the_rule_that_no_page_confirms(host):
    region = host.regions["PAYREGN"]

    def ask(option, value):
        return host.engine.submit(lambda: predict_set(region, "PAYQ", "", option, value)).result()

    assert rules()["SET-NOT-DISABLED"].confidence == "unconfirmed"
    assert ask("ATITRANID", "PAY1").startswith("would get INVREQ RESP2 31: ")
    assert ask("ATITRANID", "PAY1").endswith(" (rule SET-NOT-DISABLED, unconfirmed)")
    assert ask("TRIGGERLEVEL", "2") == "would succeed"


def test_an_error_names_the_rule_that_no_page_confirms(host):
    region = host.regions["PAYREGN"]

    def refused(text):
        with region.task() as task, pytest.raises(Condition) as caught:
            task.execute(text, {"REC": b"x"})
        return _error_text(caught.value)

    def both():
        region.set_tdqueue("PAYQ", enablestatus="DISABLED")
        return refused("WRITEQ TD QUEUE('PAYQ') FROM(REC)"), refused("READQ TD QUEUE('NONE') INTO(REC)")

    disabled, missing = host.engine.submit(both).result()
    assert disabled.startswith("DISABLED: ")
    assert disabled.endswith(" (rule TD-DISABLED, unconfirmed)")
    assert missing.startswith("QIDERR: ")
    assert "rule" not in missing


def test_a_page_of_many_records_is_read_by_position(host):
    region = host.regions["PAYREGN"]
    host.engine.submit(lambda: region.seed("PAYQ", [b"%06d" % number for number in range(100_000)])).result()

    def at(position):
        return host.engine.submit(lambda: read_records(region, "PAYQ", position, 2, with_uncommitted=False)).result()

    assert at(99_998).records == (b"099998", b"099999")
    assert (at(10**12).position, at(10**12).count) == (99_999, 100_000)
    found = host.engine.submit(lambda: read_record(region, "PAYQ", 50_000, with_uncommitted=False)).result()
    assert found == b"050000"
    assert host.engine.submit(lambda: read_record(region, "PAYQ", 10**6, with_uncommitted=False)).result() is None


def test_a_record_is_shown_as_text_dump_and_fields():
    record = bytes.fromhex("F0F0F4F212345D00")
    assert text_of(record, PAGE, 100).startswith("0042")
    assert text_of(record, PAGE, 2) == "00 ... (6 bytes more)"
    assert dump(record, PAGE, 100) == "00000  F0F0F4F2 12345D00                    0042..)."
    layout = layout_of("01 R. 05 ID PIC 9(4). 05 AMOUNT PIC S9(3)V99 COMP-3.", PAGE)
    assert fields(record, layout) == ["ID = 42", "AMOUNT = -123.45"]
    with pytest.raises(TdqError):
        layout_of("01 R PIC X." * 10_000, PAGE)


def test_a_line_of_depths_has_steps_and_needs_two_samples():
    assert spark([(0, 5)], 10) == ""
    assert spark([(0, 0), (50, 10)], 100) == "0.0,22.0 50.0,22.0 50.0,2.0 100.0,2.0 100.0,2.0"
