"""The console in a browser: its pages, and what they look like."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.browser

PAGES = {
    "": "Overview",
    "regions/PAYREGN/queues": "Queues",
    "regions/PAYREGN/queues/PAYQ": "Queue PAYQ",
    "regions/PAYREGN/tasks": "Tasks",
    "regions/PAYREGN/units": "Units of work",
    "regions/PAYREGN/commands": "Commands",
    "regions/PAYREGN/log": "Log",
    "regions/PAYREGN/topology": "Topology",
    "regions/PAYREGN/timeline": "Time line",
    "regions/PAYREGN/faults": "Faults",
    "clock": "Clock",
    "systems": "IBM i systems",
    "systems/PAYSYS": "System PAYSYS",
    "systems/PAYSYS/queues/APPLIB/ORDERS": "Data queue APPLIB/ORDERS",
}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
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
