"""``tdq serve --demo`` in a browser: it moves, and sometimes something goes wrong that a page explains.

The picture in README is the screenshot ``demo.png`` of this test.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tdqsim.client.served_process import ServerProcess, serving
from tests.server.console.conftest import expect

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    folder = tmp_path_factory.mktemp("demo")
    words = [Path("--demo"), Path("--output"), folder / "out"]
    with serving(words, folder) as found:
        yield found


def test_the_demonstration_moves_and_its_trouble_is_explained(person, screenshots):
    browser = person()
    page = browser.open("", "Overview")
    abend = page.get_by_role("table", name="Incidents").get_by_role("row").filter(has_text="CARDREGN")
    abend.filter(has_text="is not a zoned decimal number").get_by_role("link", name="Abend ASRA").wait_for()
    waits = page.get_by_role("table", name="Incidents").get_by_role("row").filter(has_text="Long wait")
    waits.filter(has_text="ORDL").wait_for()
    page.get_by_role("table", name="Waits").get_by_role("row").filter(has_text="ORDR").first.wait_for()
    page.screenshot(path=screenshots / "demo-overview.png", full_page=True)
    page.get_by_role("table", name="Changes").get_by_role("row").filter(
        has_text="enablestatus(DISABLED)"
    ).first.wait_for()
    page = browser.open("flows", "Flows")
    for name in ("DALY", "PRDR", "PST1", "PST2", "PST3", "PST4", "PPST", "PSTD", "REJS", "ORDI", "ORDR", "SHPQ"):
        page.locator(".tdq-diagram .name").get_by_text(name, exact=True).first.wait_for()
    expect(page.locator(".tdq-diagram .owner")).to_have_text(["CARDREGN", "ORDREGN", "QUEREGN", "STKREGN"])
    before = page.locator(".tdq-diagram .sheet svg [data-k]").all_text_contents()
    page.wait_for_function(
        "page => [...document.querySelectorAll('.tdq-diagram .sheet svg [data-k]')].map(e => e.textContent).join() !== page",
        arg=",".join(before),
    )
    page.screenshot(path=screenshots / "demo.png")
    page = browser.open("", "Overview")
    abend.filter(has_text="is not a zoned decimal number").get_by_role("link", name="Abend ASRA").click()
    page.get_by_role("heading", level=1, name="Abend ASRA").wait_for()
    page.get_by_text("is not a zoned decimal number").first.wait_for()
