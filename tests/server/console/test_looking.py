"""The console in a browser: its pages, and what they look like."""

from __future__ import annotations

import re

import pytest

from tests.server.console.conftest import expect

pytestmark = pytest.mark.browser

PAGES = {
    "": "Overview",
    "flows": "Flows",
    "regions/PAYREGN/flows": "Flows",
    "regions/PAYREGN/queues": "Queues",
    "regions/PAYREGN/queues/PAYQ": "Queue PAYQ",
    "regions/PAYREGN/incidents": "Incidents",
    "regions/PAYREGN/tasks": "Tasks",
    "regions/PAYREGN/tasks/1": "Task 1",
    "regions/PAYREGN/start": "Start",
    "regions/PAYREGN/units": "Units of work",
    "regions/PAYREGN/commands": "Commands",
    "regions/PAYREGN/log": "Log",
    "regions/PAYREGN/topology": "Topology",
    "regions/PAYREGN/timeline": "Time line",
    "regions/PAYREGN/statistics": "Statistics",
    "regions/PAYREGN/output": "Jobs and SYSOUT",
    "regions/PAYREGN/definitions": "Definitions",
    "regions/PAYREGN/snapshots": "Snapshots",
    "regions/PAYREGN/faults": "Faults",
    "clock": "Clock",
    "systems": "IBM i systems",
    "systems/PAYSYS": "System PAYSYS",
    "systems/PAYSYS/queues/APPLIB/ORDERS": "Data queue APPLIB/ORDERS",
}


def test_the_queues_are_a_region_of_the_page_with_rows_of_controls(browser):
    page = browser.open("regions/PAYREGN/queues", "Queues")
    page.get_by_label("Name has").wait_for()
    expect(page.locator("section.tdq-card[aria-label=Queues] > div.tdq-row")).to_have_count(1)


@pytest.mark.parametrize(
    ("width", "scheme"),
    [
        (1280, "light"),
        (400, "dark"),
        pytest.param(1280, "dark", marks=pytest.mark.slow),
        pytest.param(400, "light", marks=pytest.mark.slow),
    ],
)
def test_each_page_is_there_and_as_wide_as_the_browser(person, server, screenshots, width, scheme):
    region = server.region
    region.deleteq_td("PAYQ")
    for number in range(3):
        region.writeq_td("PAYQ", f"record {number} <script>alert(1)</script>")
    browser = person(width=width, scheme=scheme)
    for path, heading in PAGES.items():
        page = browser.open(path, heading)
        page.wait_for_timeout(300)
        name = path.replace("/", "-") or "overview"
        page.screenshot(path=screenshots / f"{name}-{width}-{scheme}.png", full_page=True)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate("document.querySelector('header').getBoundingClientRect().height") <= 140


def figure(page, region, heading):
    """The cell of a region's row in a column of the overview."""
    table = page.get_by_role("table", name="Regions")
    table.get_by_role("columnheader", name=heading, exact=True).wait_for()
    headings = [each.inner_text() for each in table.get_by_role("columnheader").all()]
    return table.get_by_role("row").filter(has_text=region).get_by_role("cell").nth(headings.index(heading))


def test_figures_of_the_overview_have_separators_and_lead_to_their_page(browser, server):
    cards = server.client.region("CARDREGN")
    cards.deleteq_td("XXQ")
    for records in (1000, 234):
        cards.seed("XXQ", ["record"] * records)
    page = browser.open("", "Overview")
    figure(page, "CARDREGN", "Records").get_by_role("link", name="1,234", exact=True).click()
    page.get_by_role("heading", level=1, name="Queues").wait_for()
    expect(page.get_by_label("Show", exact=True)).to_have_value("filled")
    page.get_by_role("table", name="Queues").get_by_role("link", name="XXQ").wait_for()
    cards.deleteq_td("XXQ")
    browser.open("", "Overview")
    figure(page, "CARDREGN", "Records").get_by_role("link", name="0", exact=True).wait_for()


def test_a_closed_data_set_is_counted_with_the_queues_that_are_not_enabled(browser, server):
    server.region.set_tdqueue("OUTQ", openstatus="CLOSED")
    try:
        page = browser.open("", "Overview")
        figure(page, "PAYREGN", "Not enabled or closed").get_by_role("link", name="1", exact=True).click()
        page.get_by_role("heading", level=1, name="Queues").wait_for()
        row = page.get_by_role("table", name="Queues").get_by_role("row").filter(has_text="ENABLED CLOSED")
        row.get_by_role("link", name="OUTQ").wait_for()
    finally:
        server.region.set_tdqueue("OUTQ", openstatus="OPEN")


def test_a_page_that_is_connected_late_shows_what_has_changed_since_it_was_made(person, server):
    """Another page has shown the change by then, so the server has nothing new to see."""
    first, late = person(), person()
    first.open("", "Overview")
    scripts = []
    late.page.route(re.compile(r"/socket\.io[^/]*\.js"), lambda script: scripts.append(script))  # noqa: PLW0108 - it must be a function
    late.page.goto(f"{server.url}/console/", wait_until="commit")
    server.region.set_tdqueue("OUTQ", openstatus="CLOSED")
    try:
        column = "Not enabled or closed"
        figure(first.page, "PAYREGN", column).get_by_role("link", name="1", exact=True).wait_for()
        while not scripts:
            late.page.wait_for_timeout(10)
        for script in scripts:
            script.continue_()
        late.page.wait_for_function("window.socket?.connected")
        figure(late.page, "PAYREGN", column).get_by_role("link", name="1", exact=True).wait_for()
    finally:
        server.region.set_tdqueue("OUTQ", openstatus="OPEN")
