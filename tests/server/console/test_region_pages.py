"""Tasks, units of work, commands, log, topology, time line, faults: what is done there by what a person presses."""

from __future__ import annotations

import re
from contextlib import ExitStack, suppress
from threading import Thread

import pytest

from tdqsim.client import Client, RemoteError
from tests.server.console.conftest import expect

pytestmark = pytest.mark.browser


@pytest.fixture(autouse=True)
def empty(server):
    for queue in ("PAYQ", "LOGQ", "TWOQ"):
        server.region.set_tdqueue(queue, enablestatus="ENABLED")
        server.region.deleteq_td(queue)


def rows(page, caption):
    return page.get_by_role("table", name=caption, exact=True).get_by_role("row")


def abend(server, code):
    """Have a task end with an abend."""
    with pytest.raises(RemoteError), server.region.unit_of_work(idle_seconds=3600) as unit:
        unit.execute(f"ABEND ABCODE('{code}')")


class Waiting(Thread):
    """A client whose READQ TD waits for another's commit."""

    def __init__(self, server, queue):
        super().__init__()
        self.answer = None
        self._server, self._queue = server, queue

    def run(self):
        with Client(self._server.url, self._server.token, timeout=300) as client:
            try:
                self.answer = client.region("PAYREGN").readq_td(self._queue)
            except RemoteError as error:
                self.answer = error


def test_who_waits_for_whom_is_shown_and_ended_by_a_purge(browser, server):
    page = browser.open("regions/PAYREGN/tasks", "Tasks")
    with server.region.unit_of_work(idle_seconds=3600) as unit:
        unit.execute("WRITEQ TD QUEUE('LOGQ') FROM(REC)", {"REC": {"text": "held"}})
        reader = Waiting(server, "LOGQ")
        reader.start()
        row = rows(page, "Waits").filter(has_text="what is not committed to LOGQ")
        row.wait_for()
        holder = row.get_by_role("cell").nth(2).inner_text()
        page.get_by_text(f"waits for what is not committed to LOGQ, which {holder} has.").wait_for()
        page.locator(".tdq-diagram .sheet svg").wait_for()
        waiter = rows(page, "Tasks").filter(has_text="TD_READ LOGQ")
        waiter.get_by_role("button", name=re.compile("^Purge task")).click()
        page.get_by_role("dialog").get_by_role("button", name="PURGE").click()
        browser.status("PURGE: NORMAL")
        reader.join(300)
        assert reader.answer.abcode == "AEXY"
        rows(page, "Waits").filter(has_text="LOGQ").wait_for(state="detached")


def test_a_ring_is_told_in_words(browser, server, screenshots):
    page = browser.open("regions/PAYREGN/tasks", "Tasks")
    write = "WRITEQ TD QUEUE('{}') FROM(REC)"
    record = {"REC": {"text": "held"}}
    with ExitStack() as stack:
        clients = [stack.enter_context(Client(server.url, server.token, timeout=300)) for _ in range(2)]
        one, two = (client.region("PAYREGN").unit_of_work(idle_seconds=3600) for client in clients)
        one.execute(write.format("LOGQ"), record)
        two.execute(write.format("TWOQ"), record)
        blocked = [
            Thread(target=_quietly, args=(unit, write.format(queue), record))
            for unit, queue in ((one, "TWOQ"), (two, "LOGQ"))
        ]
        for each in blocked:
            each.start()
        page.get_by_text("A deadlock, which only a purge or a timeout ends").wait_for()
        page.screenshot(path=screenshots / "tasks-in-a-ring.png", full_page=True)
        browser.open("regions/PAYREGN/incidents", "Incidents")
        ring = rows(page, "Incidents now").filter(has_text="Only a purge or a timeout ends it.")
        page.screenshot(path=screenshots / "incidents-in-a-ring.png", full_page=True)
        ring.get_by_role("link", name="Deadlock").click()
        page.get_by_role("heading", level=1, name="Tasks").wait_for()
        page.wait_for_function("window.socket?.connected")
        rows(page, "Tasks").filter(has_text="TWOQ").get_by_role("button", name="Forcepurge").click()
        page.get_by_role("dialog").get_by_role("button", name="FORCEPURGE").click()
        browser.status("FORCEPURGE: NORMAL")
        for each in blocked:
            each.join(300)
        with pytest.raises(RemoteError):
            one.syncpoint_rollback()
        two.syncpoint_rollback()


def _quietly(unit, text, variables):
    with suppress(RemoteError):
        unit.execute(text, variables)


def test_units_of_work_are_shown_with_what_they_hold(browser, server):
    page = browser.open("regions/PAYREGN/units", "Units of work")
    with server.region.unit_of_work(idle_seconds=3600) as unit:
        unit.execute("WRITEQ TD QUEUE('LOGQ') FROM(REC)", {"REC": {"text": "held"}})
        row = rows(page, "Units of work").filter(has_text="LOGQ TOQ")
        row.filter(has_text="LOGQ: 1 written").filter(has_text="INFLIGHT").wait_for()
        expect(row.get_by_role("button")).to_have_count(0)  # only one that is shunted indoubt can be forced
    rows(page, "Units of work").filter(has_text="LOGQ TOQ").wait_for(state="detached")


def test_a_cemt_line_inquires_sets_and_is_refused_in_words(browser, server):
    page = browser.open("regions/PAYREGN/commands", "Commands")
    screen = page.get_by_label("CEMT screen")
    page.get_by_label("CEMT line", exact=True).fill("I TDQ(PAYQ)")
    page.get_by_role("button", name="Enter the CEMT line").click()
    screen.get_by_text("Tdq(PAYQ").wait_for()
    page.get_by_label("CEMT line", exact=True).fill("I TDQ")
    page.get_by_role("button", name="Enter the CEMT line").click()
    screen.get_by_text("Tdq(TRGQ").wait_for()  # more than forty lines are shown
    page.get_by_label("CEMT line", exact=True).fill("SET TDQ(PAYQ) DISABLED")
    page.get_by_label("CEMT line", exact=True).press("Enter")
    browser.status("CEMT SET TDQ(PAYQ) DISABLED: NORMAL")
    assert server.region.inquire_tdqueue("PAYQ").enablestatus.name == "DISABLED"
    page.get_by_label("CEMT line", exact=True).fill("MAKE <b>COFFEE</b>")
    page.get_by_label("CEMT line", exact=True).press("Enter")
    screen.get_by_text("MAKE <b>COFFEE</b>").first.wait_for()


def test_a_ceci_session_is_one_unit_of_work_until_it_is_ended(browser, server, screenshots):
    page = browser.open("regions/PAYREGN/commands", "Commands")
    line, screen = page.get_by_label("CECI line", exact=True), page.get_by_label("CECI screen")

    def enter(text):
        line.fill(text)
        line.press("Enter")

    enter("WRITEQ TD QUEUE(LOGQ) FROM(10.00)")
    browser.status("CECI WRITEQ TD: NORMAL")
    screen.get_by_text("RESPONSE: NORMAL").wait_for()
    page.get_by_text("A unit of work is open.", exact=True).wait_for()
    assert server.region.peek("LOGQ") == []
    page.get_by_role("button", name="Commit the unit of work of CECI").click()
    browser.status("CECI: committed")
    assert len(server.region.peek("LOGQ")) == 1
    enter("READQ TD QUEUE(LOGQ)")
    browser.status("CECI READQ TD: NORMAL")
    screen.get_by_text("10.00").last.wait_for()
    page.get_by_role("button", name="Back out the unit of work of CECI").click()
    browser.status("CECI: backed out")
    assert len(server.region.peek("LOGQ")) == 1
    page.screenshot(path=screenshots / "ceci.png", full_page=True)
    enter("RETURN")
    browser.status("RETURN is refused here")
    enter("FLY TO MOON")
    browser.status("CECI FLY TO MOON: ")


def test_what_a_browser_leaves_open_is_backed_out(person, server):
    browser = person()
    page = browser.open("regions/PAYREGN/commands", "Commands")
    page.get_by_label("CECI line", exact=True).fill("WRITEQ TD QUEUE(TWOQ) FROM(left)")
    page.get_by_role("button", name="Enter the CECI line").click()
    browser.status("CECI WRITEQ TD: NORMAL")
    page.close()
    server.region.wait_for_tasks(seconds=300)
    assert server.region.peek("TWOQ") == []


def test_the_log_has_messages_and_events_and_can_be_searched(browser, server):
    browser.open("regions/PAYREGN/log", "Log")
    server.region.writeq_td("PAYQ", "one")
    abend(server, "<B>X")
    rows(browser.page, "Messages").filter(has_text="DFHAC2236").first.wait_for()
    rows(browser.page, "Messages").filter(has_text="<B>X").first.wait_for()
    browser.page.get_by_label("Lines that contain").fill("WRITEQ")
    rows(browser.page, "Events").filter(has_text="WRITEQ TD").first.wait_for()
    rows(browser.page, "Events").filter(has_text="task started").first.wait_for(state="detached")


def test_the_topology_is_a_picture_to_click_and_a_list(browser):
    page = browser.open("regions/PAYREGN/topology", "Topology")
    rows(page, "Queues and their targets").filter(has_text="ALIA").filter(has_text="is an alias of").wait_for()
    rows(page, "Queues and their targets").filter(has_text="TRGQ").filter(has_text="transaction TRGT").wait_for()
    rows(page, "Queues and their targets").filter(has_text="FARQ").filter(has_text="XXQ of CRD1").wait_for()
    page.locator("svg").get_by_text("TRGQ", exact=True).click()
    page.get_by_role("heading", level=1, name="Queue TRGQ").wait_for()


def test_the_time_line_has_tasks_with_their_ends(browser, server):
    page = browser.open("regions/PAYREGN/timeline", "Time line")
    abend(server, "BAD1")
    rows(page, "Tasks over time").filter(has_text="abend BAD1").first.wait_for()
    page.get_by_label("Tasks over time, as bars").locator("svg").wait_for()


def test_the_way_of_a_request_through_two_regions_is_shown_from_both(browser, server):
    """While it is open and after its end; the pages of the tasks lead to one another."""
    page = browser.open("regions/PAYREGN/tasks", "Tasks")
    with server.region.unit_of_work(idle_seconds=3600) as unit:
        unit.execute("WRITEQ TD QUEUE('FARQ') FROM(REC)", {"REC": {"text": "over the link"}})
        (number,) = [str(each["task"]) for each in server.region.tasks() if each["transid"] == "TAPI"]
        rows(page, "Tasks").get_by_role("link", name=number, exact=True).click()
        page.get_by_role("heading", level=1, name=f"Task {number}", exact=True).wait_for()
        there = rows(page, "Tasks").filter(has_text="CARDREGN")
        there.filter(has_text="normally").get_by_role("link", name=f"PAYREGN {number} TAPI").wait_for()
        rows(page, "Tasks").filter(has_text="not ended").filter(has_text="runs").wait_for()
    rows(page, "Tasks").filter(has_text="committed").filter(has_text="normally").wait_for()
    commands = rows(page, "Commands").filter(has_text="'over the link': NORMAL 0")
    commands.filter(has_text="PAYREGN").filter(has_text="WRITEQ TD FARQ").wait_for()
    commands.filter(has_text="CARDREGN").filter(has_text="WRITEQ TD XXQ").wait_for()
    there.get_by_role("link", name=re.compile("^CARDREGN ")).click()
    page.get_by_text("CSMI ended normally at").wait_for()
    page.locator("svg").get_by_text(f"{number} TAPI", exact=True).click()
    page.get_by_role("heading", level=1, name=f"Task {number}", exact=True).wait_for()
    page.get_by_role("link", name="Time line", exact=True).last.click()
    line = rows(page, "Tasks over time").filter(has_text="TAPI").filter(has_text="CARDREGN task")
    line.first.get_by_role("link", name=number, exact=True).wait_for()
    page.get_by_label("Tasks over time, as bars").locator("svg path[fill='#2f9e57']").last.click()
    page.get_by_role("heading", level=1, name=re.compile("^Task [0-9]+$")).wait_for()


def test_a_fault_is_switched_on_happens_and_is_switched_off(browser, server):
    page = browser.open("regions/PAYREGN/faults", "Faults")
    page.get_by_label("Condition", exact=True).select_option("IOERR")
    page.get_by_label("In place of").select_option("WRITEQ TD")
    page.get_by_label("Queue").fill("PAYQ")
    page.get_by_label("Times in a row").fill("0")
    page.get_by_role("button", name="Switch on").click()
    browser.status("Switch a fault on: NORMAL")
    with pytest.raises(RemoteError, match="IOERR"):
        server.region.writeq_td("PAYQ", "one")
    rows(page, "Faults").filter(has_text="condition=IOERR").filter(has_text="WRITEQ TD of task").wait_for()
    page.get_by_role("button", name="Switch off").click()
    page.get_by_text("No fault is active.").wait_for()
    server.region.writeq_td("PAYQ", "one")


def test_the_clock_is_frozen_advanced_and_let_go(browser, server):
    page = browser.open("clock", "Clock")
    page.get_by_role("button", name="Freeze").click()
    page.get_by_text("It stands still").wait_for()
    before = server.client.request("GET", "/clock")
    assert before["frozen"]
    page.get_by_label("Seconds").fill("3600")
    page.get_by_role("button", name="Advance").click()
    browser.status("Advance the clock by 3600 s: NORMAL")
    assert server.client.request("GET", "/clock")["time_ns"] == before["time_ns"] + 3600 * 10**9
    page.get_by_role("button", name="Step to the next deadline").click()
    browser.status("Step to the next deadline: NORMAL")
    page.get_by_role("button", name="Resume").click()
    page.get_by_text("It runs with the clock of the machine.").wait_for()
    assert not server.client.request("GET", "/clock")["frozen"]


@pytest.mark.parametrize(("how", "records"), [("Commit", 1), ("Back out", 0)])
def test_a_unit_of_work_in_doubt_is_decided_by_force(browser, server, how, records):
    page = browser.open("regions/PAYREGN/incidents", "Incidents")
    server.region.execute("START TRANSID('DOUB')")
    row = rows(page, "Incidents now").filter(has_text="It keeps TWOQ TOQ until the link returns")
    row.get_by_role("link", name="Indoubt").click()
    page.get_by_role("heading", level=1, name="Units of work").wait_for()
    page.wait_for_function("window.socket?.connected")
    page.get_by_text("has lost its coordinator. It keeps TWOQ TOQ").wait_for()
    page.get_by_role("button", name=re.compile(f"^{how}: ")).click()
    page.get_by_role("dialog").get_by_role("button", name=how.upper().replace(" ", "")).click()
    browser.status("NORMAL")
    page.get_by_text("0 shunted indoubt.").wait_for()
    assert len(server.region.peek("TWOQ")) == records


def test_an_abend_leads_from_the_overview_to_its_dump(person, server, screenshots):
    """The page has the place, the last command, what was backed out, and what explain says; data stays data."""
    server.region.execute("START TRANSID('FALT')")
    server.region.wait_for_tasks()
    browser = person()
    page = browser.open("", "Overview")
    row = page.get_by_role("table", name="Regions").get_by_role("row").filter(has_text="PAYREGN")
    row.get_by_role("cell").nth(11).get_by_role("link").click()
    page.get_by_role("heading", level=1, name="Incidents").wait_for()
    row = rows(page, "Abends").filter(has_text="FALT").first
    row.get_by_text('task.writeq_td("NONE"').wait_for()
    page.screenshot(path=screenshots / "incidents.png", full_page=True)
    row.get_by_role("link", name="AEYH").click()
    page.get_by_role("heading", level=1, name="Abend AEYH of task").wait_for()
    expect(page.locator(".tdq-source .here")).to_contain_text("> ")
    rows(page, "The task").filter(has_text="Place").filter(has_text="console_handlers.py:").wait_for()
    rows(page, "Last commands").filter(has_text="READQ TD PAYQ 'INVOICE 4711': NORMAL 0").wait_for()
    rows(page, "Last commands").filter(has_text="WRITEQ TD NONE '<b>no such queue</b>': QIDERR 0").wait_for()
    rows(page, "What was held").filter(has_text="TOQ").filter(has_text="<img src=x onerror=alert(1)>").wait_for()
    page.get_by_text("Queue NONE is not installed.", exact=True).wait_for()
    page.get_by_text("Queue LOGQ is logically recoverable and ENABLED").wait_for()
    assert page.locator("main img, .tdq-page img, .tdq-page pre b").count() == 0
    for width, scheme in ((1280, "dark"), (400, "light"), (400, "dark"), (1280, "light")):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        page.wait_for_timeout(300)
        page.screenshot(path=screenshots / f"incident-{width}-{scheme}.png", full_page=True)
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_statistics_have_the_records_of_other_types(browser, server):
    server.region.execute("START TRANSID('ECHO') FROM(REC)", {"REC": {"text": "x"}})
    server.region.wait_for_tasks()
    page = browser.open("regions/PAYREGN/statistics", "Statistics")
    kinds = {each["record"] for each in server.region.statistics()["records"]}
    shown = page.get_by_label("Statistics of", exact=True)
    shown.wait_for()
    assert {each.get_attribute("value") for each in shown.get_by_role("option").all()} >= kinds - {"TQG", "TQR"}
    shown.select_option(label="Transaction manager")
    rows(page, "Statistics of another type").filter(has_text="tasks").first.wait_for()
    shown.select_option(label="Transaction")
    rows(page, "Statistics of another type").filter(has_text="ECHO").wait_for()


def test_the_statistics_have_the_counts_of_the_queues(browser, server):
    for _time in range(2):
        server.region.writeq_td("PHYQ", "counted")
    server.region.readq_td("PHYQ")
    found = next(each for each in server.region.statistics()["queues"] if each["name"].rstrip() == "PHYQ")
    page = browser.open("regions/PAYREGN/statistics", "Statistics")
    row = rows(page, "Statistics of queues").filter(has_text="PHYQ")
    for at, text in enumerate(("INTRA", str(found["writes"]), str(found["reads"]), "0"), 1):
        expect(row.get_by_role("cell").nth(at)).to_have_text(text)
    rows(page, "Statistics of DFHINTRA").filter(has_text="control intervals").get_by_text("100,000").wait_for()
