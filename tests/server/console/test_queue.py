"""A queue's page: everything that can be done there, by what a person sees and presses."""

from __future__ import annotations

import re

import pytest

from tests.server.console.conftest import errors_in, expect

pytestmark = pytest.mark.browser

HOSTILE = "<script>document.title='owned'</script><img src=x onerror=alert(1)>"


@pytest.fixture(autouse=True)
def empty(server):
    region = server.region
    for queue in ("PAYQ", "LOGQ", "PHYQ", "TRGQ"):
        region.set_tdqueue(queue, enablestatus="ENABLED")
        region.deleteq_td(queue)


def rows(page, caption):
    return page.get_by_role("table", name=caption).get_by_role("row")


def test_a_record_is_written_seen_read_and_deleted(browser, server):
    page = browser.open("regions/PAYREGN/queues/PAYQ", "Queue PAYQ")
    page.get_by_label("Record", exact=True).fill(HOSTILE)
    page.get_by_role("button", name="WRITEQ TD").click()
    browser.status("WRITEQ TD PAYQ: NORMAL")
    assert server.region.peek("PAYQ") == [HOSTILE.encode("cp037")]
    rows(page, "Records of PAYQ").filter(has_text=HOSTILE).wait_for()

    page.get_by_role("button", name="READQ TD").click()
    browser.status(f"READQ TD PAYQ: NORMAL, {len(HOSTILE)} bytes: {HOSTILE}")
    assert server.region.peek("PAYQ") == []
    assert "owned" not in page.title()

    server.region.writeq_td("PAYQ", "one")
    page.get_by_role("button", name="DELETEQ TD").click()
    page.get_by_role("dialog").get_by_role("button", name="No").click()
    page.get_by_role("dialog").wait_for(state="hidden")  # until it is gone there are two buttons DELETEQ TD
    assert server.region.peek("PAYQ") == [b"one".decode().encode("cp037")]
    page.get_by_role("button", name="DELETEQ TD").click()
    page.get_by_role("dialog").get_by_role("button", name="DELETEQ TD").click()
    browser.status("DELETEQ TD PAYQ: NORMAL")
    assert server.region.peek("PAYQ") == []


def test_a_record_is_given_and_shown_in_hexadecimal_and_by_a_layout(browser, server):
    page = browser.open("regions/PAYREGN/queues/PAYQ", "Queue PAYQ")
    page.get_by_label("Given as").select_option("hex")
    page.get_by_label("Record", exact=True).fill("F0F0F4F212345D")
    page.get_by_label("Record", exact=True).press("Enter")
    browser.status("WRITEQ TD PAYQ: NORMAL")
    page.get_by_label("Shown as").select_option("hex")
    rows(page, "Records of PAYQ").filter(has_text="00000  F0F0F4F2 12345D").wait_for()
    page.get_by_text("Layout: a COBOL copybook").click()
    page.get_by_label("Copybook").fill("01 R. 05 ID PIC 9(4). 05 AMOUNT PIC S9(3)V99 COMP-3.")
    page.get_by_role("button", name="Use it").click()
    rows(page, "Records of PAYQ").filter(has_text="AMOUNT = -123.45").wait_for()
    page.get_by_role("button", name="Whole record 1").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("ID = 42").wait_for()
    dialog.get_by_role("button", name="Close").click()
    page.get_by_label("Copybook").fill("no copybook at all")
    page.get_by_role("button", name="Use it").click()
    browser.status("Copybook: ")


def test_a_record_that_cannot_be_is_refused_in_words(browser, server):
    page = browser.open("regions/PAYREGN/queues/PAYQ", "Queue PAYQ")
    page.get_by_label("Given as").select_option("hex")
    page.get_by_label("Record", exact=True).fill("XYZ")
    page.get_by_role("button", name="WRITEQ TD").click()
    browser.status("WRITEQ TD PAYQ: 'X' at position 1 is not a hexadecimal digit")
    assert server.region.peek("PAYQ") == []


def test_records_are_paged_by_position(browser, server):
    for number in range(45):
        server.region.writeq_td("PAYQ", f"record {number}")
    page = browser.open("regions/PAYREGN/queues/PAYQ", "Queue PAYQ")
    pages = page.get_by_role("navigation", name="Pages of records")
    pages.get_by_text("1 to 20 of 45").wait_for()
    pages.get_by_role("button", name="Last").click()
    pages.get_by_text("41 to 45 of 45").wait_for()
    rows(page, "Records of PAYQ").filter(has_text="record 44").wait_for()
    pages.get_by_role("button", name="Previous").click()
    pages.get_by_text("21 to 40 of 45").wait_for()
    page.get_by_label("From record").fill("45")
    pages.get_by_text("45 to 45 of 45").wait_for()
    pages.get_by_role("button", name="First").click()
    pages.get_by_text("1 to 20 of 45").wait_for()


def test_set_says_before_what_the_vendor_would_say(browser, server):
    page = browser.open("regions/PAYREGN/queues/TRGQ", "Queue TRGQ")
    page.get_by_label("Option of SET TDQUEUE").select_option("ATITRANID")
    page.get_by_label("Value").fill("OTHR")
    page.get_by_text("ATITRANID can be changed only while").wait_for()
    page.get_by_role("button", name="SET TDQUEUE DISABLED").click()
    browser.status("SET TDQUEUE(TRGQ) ENABLESTATUS(DISABLED): NORMAL")
    assert server.region.inquire_tdqueue("TRGQ").enablestatus.name == "DISABLED"
    page.get_by_role("table", name="INQUIRE TDQUEUE(TRGQ)").get_by_text("DISABLED").wait_for()
    page.get_by_text("WRITEQ TD would get DISABLED").wait_for()
    expect(page.get_by_role("button", name="WRITEQ TD")).to_be_disabled()
    page.get_by_role("button", name="SET TDQUEUE ENABLED").click()
    browser.status("SET TDQUEUE(TRGQ) ENABLESTATUS(ENABLED): NORMAL")
    page.get_by_label("Option of SET TDQUEUE").select_option("TRIGGERLEVEL")
    page.get_by_label("Value").fill("5")
    page.get_by_role("button", name="SET TDQUEUE", exact=True).click()
    browser.status("SET TDQUEUE(TRGQ) TRIGGERLEVEL(5): NORMAL")
    assert server.region.inquire_tdqueue("TRGQ")["TRIGGERLEVEL"] == 5


def test_a_data_set_is_closed_and_opened(browser, server):
    page = browser.open("regions/PAYREGN/queues/OUTQ", "Queue OUTQ")
    page.get_by_role("button", name="SET TDQUEUE CLOSED").click()
    browser.status("SET TDQUEUE(OUTQ) OPENSTATUS(CLOSED): NORMAL")
    assert server.region.inquire_tdqueue("OUTQ").openstatus.name == "CLOSED"
    page.get_by_role("button", name="SET TDQUEUE OPEN").click()
    browser.status("SET TDQUEUE(OUTQ) OPENSTATUS(OPEN): NORMAL")


def test_records_are_seeded_outside_any_task(browser, server):
    page = browser.open("regions/PAYREGN/queues/TRGQ", "Queue TRGQ")
    page.get_by_text("Seed records, outside any task").click()
    page.get_by_label("Records to seed, one a line").fill("one\ntwo\nthree")
    page.get_by_role("button", name="Seed").click()
    browser.status("Seed TRGQ: 3 records")
    assert len(server.region.peek("TRGQ")) == 3
    assert server.client.request("GET", "/regions/PAYREGN/tasks") == []


def test_what_one_browser_does_another_sees(person, server):
    one, other = person(), person()
    one.open("regions/PAYREGN/queues/LOGQ", "Queue LOGQ")
    other.open("regions/PAYREGN/queues", "Queues")
    row = rows(other.page, "Queues").filter(has_text="LOGQ")
    row.wait_for()
    one.page.get_by_label("Record", exact=True).fill("seen by both")
    one.page.get_by_role("button", name="WRITEQ TD").click()
    row.get_by_role("cell").nth(2).get_by_text("1", exact=True).wait_for()


def test_what_is_not_committed_is_shown_when_asked_for(browser, server):
    with server.region.unit_of_work(idle_seconds=3600) as unit:
        unit.execute("WRITEQ TD QUEUE('LOGQ') FROM(REC)", {"REC": {"text": "in flight"}})
        page = browser.open("regions/PAYREGN/queues/LOGQ", "Queue LOGQ")
        page.get_by_text("written 1 record, uncommitted").wait_for()
        page.get_by_role("navigation", name="Pages of records").get_by_text(re.compile("^[0-9]+ to ")).wait_for()
        expect(rows(page, "Records of LOGQ").filter(has_text="in flight")).to_have_count(0)
        page.get_by_label("with uncommitted records").check()
        rows(page, "Records of LOGQ").filter(has_text="in flight").wait_for()


def test_a_queue_that_is_not_there_is_said_not_to_be(browser):
    answer = browser.page.goto(f"{browser.url}/console/regions/PAYREGN/queues/NONE")
    assert answer.status == 404
    assert browser.page.goto(f"{browser.url}/console/regions/NOWHERE/queues").status == 404
    browser.errors.clear()  # the browser reports the two 404s


def test_a_dialog_has_headings_of_the_pages_size(browser, server):
    server.region.writeq_td("PAYQ", "one")
    page = browser.open("regions/PAYREGN/queues/PAYQ", "Queue PAYQ")
    page.get_by_role("button", name="Whole record 1").click()
    heading = page.get_by_role("dialog").get_by_role("heading", level=2)
    assert float(heading.evaluate("each => getComputedStyle(each).fontSize").removesuffix("px")) < 20


def test_a_page_with_an_open_dialog_may_be_left(browser, server, server_folder):
    server.region.writeq_td("PAYQ", "one")
    page = browser.open("regions/PAYREGN/queues/PAYQ", "Queue PAYQ")
    page.get_by_role("button", name="Whole record 1").click()
    page.get_by_role("dialog").wait_for()
    browser.open("regions/PAYREGN/commands", "Commands")
    page.get_by_label("CECI line", exact=True).fill("WRITEQ TD QUEUE(TWOQ) FROM(left)")
    page.get_by_role("button", name="Enter the CECI line").click()
    browser.status("CECI WRITEQ TD: NORMAL")
    browser.open("clock", "Clock")
    # Pages are deleted in the order in which they were left, and with the second one its unit of work ends.
    server.region.wait_for_tasks(seconds=300)
    assert errors_in(server_folder) == []


def test_landmarks_and_headings_of_columns_have_names_of_their_own(browser):
    page = browser.open("regions/PAYREGN/tasks", "Tasks")
    page.get_by_role("table").first.wait_for()
    regions = [each.get_attribute("aria-label") for each in page.get_by_role("region").all()]
    assert len(regions) == len(set(regions))
    headings = page.get_by_role("columnheader")
    assert all(each.inner_text() or each.get_attribute("aria-label") for each in headings.all())


def test_a_queue_that_is_discarded_has_no_values_and_no_buttons_until_it_is_installed_again(browser, server):
    region = server.region
    region.create_tdqueue("GONE", "TYPE(INTRA) RECOVSTATUS(LOGICAL)")
    region.writeq_td("GONE", "last words")
    page = browser.open("regions/PAYREGN/queues/GONE", "Queue GONE")
    inquired = page.get_by_role("table", name="INQUIRE TDQUEUE(GONE)")
    inquired.get_by_text("LOGICAL").wait_for()
    rows(page, "Records of GONE").filter(has_text="last words").wait_for()
    page.get_by_role("button", name="SET TDQUEUE DISABLED").click()
    browser.status("ENABLESTATUS(DISABLED): NORMAL")
    page.get_by_role("button", name="DISCARD TDQUEUE").click()
    page.get_by_role("dialog").get_by_role("button", name="DISCARD TDQUEUE").click()
    browser.status("DISCARD TDQUEUE GONE: NORMAL")
    page.get_by_text("Queue GONE is not installed.").wait_for()
    inquired.get_by_text("LOGICAL").wait_for(state="detached")
    rows(page, "Records of GONE").filter(has_text="last words").wait_for(state="detached")
    doing = page.get_by_role("region", name="Do something")
    expect(doing.locator("button:enabled")).to_have_count(0)
    assert doing.get_by_role("button").count() >= 6

    region.create_tdqueue("GONE", "TYPE(INTRA)")
    inquired.get_by_text("NOTRECOVABLE").wait_for()
    page.get_by_label("Record", exact=True).fill("first words")
    page.get_by_role("button", name="WRITEQ TD").click()
    browser.status("WRITEQ TD GONE: NORMAL")
