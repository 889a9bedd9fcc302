"""Flow pictures in a browser: of all regions, of one, found by a name, and updated while they are shown."""

from __future__ import annotations

import pytest

from tests.server.console.conftest import expect

pytestmark = pytest.mark.browser


def label(page, text):
    """The text of an arrow or a line of a box."""
    return page.locator(".tdq-diagram .sheet svg [data-k]").get_by_text(text, exact=True)


def test_what_flows_is_a_picture_of_all_regions_that_is_updated_without_a_new_layout(person, server, screenshots):
    region = server.region
    region.deleteq_td("PHYQ")
    region.writeq_td("FARQ", "to CARDREGN")
    for _ in range(3):
        region.writeq_td("PHYQ", "one")
    first, second = person(), person(width=400, scheme="dark")
    for browser in (first, second):
        page = browser.open("flows", "Flows")
        page.locator(".tdq-diagram .sheet svg").get_by_text("PHYQ", exact=True).wait_for()
        label(page, "depth 3").wait_for()
        ships = page.get_by_role("table", name="Flows").get_by_role("row").filter(has_text="remote queue FARQ")
        ships.filter(has_text="transaction CSMI").filter(has_text="ships").wait_for()
        page.evaluate("document.querySelector('.tdq-diagram .sheet svg').dataset.first = 'yes'")
        page.screenshot(path=screenshots / f"flows-{page.viewport_size['width']}.png", full_page=True)
        assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]
    region.writeq_td("PHYQ", "one more")
    for browser in (first, second):
        label(browser.page, "depth 4").wait_for()
        assert browser.page.locator(".tdq-diagram .sheet svg").get_attribute("data-first") == "yes"
    for owner in ("PAYREGN", "CARDREGN"):
        first.page.locator(".tdq-diagram .owner").get_by_text(owner, exact=True).first.wait_for()


def test_a_queue_is_found_by_typing_its_name_and_leads_to_its_page(browser, server):
    for queue in ("PAYQ", "LOGQ", "TWOQ"):
        server.region.writeq_td(queue, "one")
    page = browser.open("regions/PAYREGN/flows", "Flows")
    for queue in ("PAYQ", "LOGQ", "TWOQ"):
        page.locator(".tdq-diagram .sheet svg").get_by_text(queue, exact=True).wait_for()
    page.get_by_label("Find").focus()
    page.keyboard.type("log")
    page.get_by_text("1 box found", exact=True).wait_for()
    expect(page.locator(".tdq-diagram .box.found .name")).to_have_text(["LOGQ"])
    page.locator(".tdq-diagram .box.faded .name").get_by_text("PAYQ", exact=True).wait_for()
    before = page.locator(".tdq-diagram .sheet svg").bounding_box()["width"]
    page.get_by_role("button", name="Larger").press("Enter")
    width = "document.querySelector('.tdq-diagram .sheet svg').getBoundingClientRect().width"
    page.wait_for_function(f"before => {width} > before", arg=before)
    page.get_by_label("Only about").fill("TWOQ")
    page.locator(".tdq-diagram .sheet svg").get_by_text("PAYQ", exact=True).wait_for(state="detached")
    page.locator(".tdq-diagram .sheet svg a").first.press("Enter")
    page.get_by_role("heading", level=1, name="Queue TWOQ").wait_for()


def test_the_overview_has_the_most_records_that_a_queue_held_however_shortly(browser, server):
    server.region.deleteq_td("PHYQ")
    server.region.perform_statistics(resetnow=True)
    server.region.writeq_td_all("PHYQ", ["one", "two", "three"])
    server.region.deleteq_td("PHYQ")
    page = browser.open("", "Overview")
    row = page.get_by_role("table", name="Queues that move").get_by_role("row").filter(has_text="PHYQ")
    row.wait_for()
    heads = page.get_by_role("table", name="Queues that move").get_by_role("columnheader").all_inner_texts()
    expect(row.get_by_role("cell").nth(heads.index("Most records"))).to_have_text("3")
    expect(row.get_by_role("cell").nth(heads.index("Depth"))).to_have_text("0")


def test_the_overview_has_what_moves_and_who_changed_what(browser, server):
    server.region.writeq_td("PAYQ", "one")
    server.region.set_tdqueue("TRGQ", triggerlevel=5)
    try:
        page = browser.open("", "Overview")
        change = page.get_by_role("table", name="Changes").get_by_role("row").filter(has_text="triggerlevel(5)").first
        change.filter(has_text="SET TDQUEUE").filter(has_text="PAYREGN").wait_for()
        page.get_by_role("table", name="Queues that move").get_by_role("link", name="PAYQ").click()
        page.get_by_role("heading", level=1, name="Queue PAYQ").wait_for()
    finally:
        server.region.set_tdqueue("TRGQ", triggerlevel=2)
