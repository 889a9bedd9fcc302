"""The pages of an IBM i system."""

from __future__ import annotations

import pytest

from tests.server.console.conftest import expect

pytestmark = pytest.mark.browser

ORDERS = "/systems/PAYSYS/queues/APPLIB/ORDERS"


def rows(page, caption):
    return page.get_by_role("table", name=caption, exact=True).get_by_role("row")


def test_a_system_its_libraries_queues_and_a_cl_command(browser, server):
    page = browser.open("systems", "IBM i systems")
    rows(page, "IBM i systems").filter(has_text="LABSYS").wait_for()
    page.get_by_role("link", name="PAYSYS").click()
    page.get_by_role("heading", level=1, name="System PAYSYS").wait_for()
    rows(page, "Libraries").filter(has_text="APPLIB").wait_for()
    page.get_by_label("CL command line").fill("CRTDTAQ DTAQ(APPLIB/MADE) MAXLEN(40) TEXT('<b>made</b>')")
    page.get_by_role("button", name="Enter the CL command").click()
    rows(page, "Data queues").filter(has_text="APPLIB/MADE").filter(has_text="<b>made</b>").wait_for()
    page.get_by_label("Library or name has").fill("keyed")
    rows(page, "Data queues").filter(has_text="APPLIB/MADE").wait_for(state="detached")
    page.get_by_label("CL command line").fill("DLTDTAQ DTAQ(APPLIB/NOTHERE)")
    page.get_by_role("button", name="Enter the CL command").click()
    browser.status("CPF2105")
    page.get_by_role("log", name="Messages of the job").wait_for()
    for text in ("CRTJRN APPLIB/PAYJRN", "STRJRNOBJ APPLIB/MADE *DTAQ APPLIB/PAYJRN"):
        page.get_by_label("CL command line").fill(text)
        page.get_by_role("button", name="Enter the CL command").click()
        browser.status(text.partition(" ")[0])
    rows(page, "Journal entries, the last ones").filter(has_text="QB").filter(has_text="APPLIB/MADE").wait_for()
    assert page.get_by_role("combobox", name="Journal").input_value() == "APPLIB/PAYJRN"


def test_entries_are_sent_seen_received_and_cleared(person, server):
    one, other = person(), person()
    other.open("systems/PAYSYS", "System PAYSYS")
    page = one.open("systems/PAYSYS/queues/APPLIB/ORDERS", "Data queue APPLIB/ORDERS")
    page.get_by_label("Entry", exact=True).fill("<script>order</script>")
    page.get_by_role("button", name="QSNDDTAQ").click()
    one.status("QSNDDTAQ APPLIB/ORDERS: NORMAL")
    rows(page, "Entries of ORDERS").filter(has_text="<script>order</script>").wait_for()
    count = rows(other.page, "Data queues").filter(has_text="APPLIB/ORDERS").get_by_role("cell").nth(2)
    count.get_by_text("1", exact=True).wait_for()
    page.get_by_label("Shown as").select_option("hex")
    rows(page, "Entries of ORDERS").filter(has_text="00000  4CA28399").wait_for()
    page.get_by_role("button", name="QRCVDTAQ").click()
    one.status("QRCVDTAQ APPLIB/ORDERS: 22 bytes: <script>order</script>")
    page.get_by_role("button", name="QRCVDTAQ").click()
    one.status("QRCVDTAQ APPLIB/ORDERS: no entry")
    for _ in range(3):
        server.client.request("POST", f"{ORDERS}/entries", {"data": {"text": "more"}})
    rows(page, "Entries of ORDERS").nth(3).wait_for()
    server.client.request("POST", f"{ORDERS}/entries", [{"data": {"text": f"E{at}"}} for at in range(42)])
    page.get_by_role("button", name="Last").click()
    page.get_by_text("41 to 45 of 45").wait_for()
    page.get_by_label("From entry").fill("21")
    page.get_by_label("From entry").press("Enter")
    page.get_by_text("21 to 40 of 45").wait_for()
    page.get_by_role("button", name="First").click()
    page.get_by_text("1 to 20 of 45", exact=True).wait_for()
    page.get_by_role("button", name="QCLRDTAQ").click()
    page.get_by_role("dialog").get_by_role("button", name="QCLRDTAQ").click()
    one.status("QCLRDTAQ APPLIB/ORDERS: NORMAL")
    assert server.client.request("GET", f"{ORDERS}/entries")["entries"] == []


def test_a_keyed_queue_takes_keys(browser, server):
    page = browser.open("systems/PAYSYS/queues/APPLIB/KEYED", "Data queue APPLIB/KEYED")
    page.get_by_label("Entry", exact=True).fill("first")
    page.get_by_label("Key, of a keyed queue").fill("K01")
    page.get_by_role("button", name="QSNDDTAQ").click()
    rows(page, "Entries of KEYED").filter(has_text="K01").wait_for()
    page.get_by_label("Key order").select_option("GE")
    page.get_by_label("Key, of a keyed queue").fill("A00")
    page.get_by_role("button", name="QRCVDTAQ").click()
    browser.status("QRCVDTAQ APPLIB/KEYED: 5 bytes: first")
    page.get_by_role("button", name="QSNDDTAQ").click()
    page.get_by_label("Key, of a keyed queue").fill("TOO LONG A KEY")
    page.get_by_role("button", name="QSNDDTAQ").click()
    browser.status("CPF")


def test_a_data_queue_that_is_deleted_has_no_values_and_no_buttons(browser, server):
    def command(text):
        server.client.request("POST", "/systems/PAYSYS/commands", {"text": text})

    command("CRTDTAQ DTAQ(APPLIB/GONE) MAXLEN(77)")
    page = browser.open("systems/PAYSYS/queues/APPLIB/GONE", "Data queue APPLIB/GONE")
    rows(page, "Attributes").filter(has_text="77").wait_for()
    command("DLTDTAQ DTAQ(APPLIB/GONE)")
    page.get_by_text("Data queue APPLIB/GONE does not exist.").wait_for()
    rows(page, "Attributes").filter(has_text="77").wait_for(state="detached")
    doing = page.get_by_role("region", name="Do something")
    expect(doing.locator("button:enabled")).to_have_count(0)
    expect(doing.get_by_role("button")).to_have_count(3)
