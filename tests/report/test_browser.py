"""Pages in a real browser: drawn, quiet, fetching nothing, fitting light and dark, wide and narrow."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tdqsim.report.diagram_svg import DiagramPicture
from tdqsim.report.flows import FlowCounts, Flows
from tdqsim.report.page import Page
from tdqsim.report.parts import Prose, Section
from tests.report.test_page import HOSTILE, page_with

pytestmark = [pytest.mark.browser, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    found = shutil.which("chromium")
    if found is None:
        pytest.skip("there is no chromium")
    with playwright.sync_playwright() as started:
        made = started.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield made
        made.close()


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 400)])
def test_a_page_of_hostile_names(browser: Any, tmp_path: Path, width: int, scheme: str) -> None:
    page = page_with(HOSTILE[1])
    for text in HOSTILE:
        page.parts += page_with(text).parts
    path = page.write(tmp_path / "page.html")
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
    heard: list[str] = []
    tab = context.new_page()
    tab.on("pageerror", lambda error: heard.append(str(error)))
    tab.on("console", lambda message: heard.append(message.text))
    tab.on("dialog", lambda dialog: heard.append(dialog.message))
    tab.on("request", lambda request: heard.append(request.url) if not request.url.startswith("file:") else None)
    tab.goto(path.as_uri())
    tab.eval_on_selector_all("details", "all => all.forEach(each => { each.open = true; })")
    plots = tab.query_selector_all(".plot")
    for plot in plots:
        plot.scroll_into_view_if_needed()
        plot.wait_for_selector("svg .axis", timeout=300_000)
    assert heard == []
    assert len(plots) == 3 * (len(HOSTILE) + 1)
    assert tab.query_selector("svg image, svg foreignObject, svg script, img") is None
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    first = tab.query_selector(".views button:nth-child(2)")
    assert first is not None
    first.focus()
    tab.keyboard.press("Enter")
    assert first.get_attribute("aria-pressed") == "true"
    assert heard == []
    context.close()


def test_what_nobody_has_scrolled_to_is_drawn_too(browser: Any, tmp_path: Path) -> None:
    page = page_with("first")
    for number in range(20):
        page.parts += [Prose("many lines\n" * 100, code=True), *page_with(f"at {number}").parts]
    for part in page.parts:
        if isinstance(part, Section):
            part.folded = False
    path = page.write(tmp_path / "page.html")
    tab = browser.new_page()
    tab.goto(path.as_uri())
    tab.wait_for_function(
        "() => [...document.querySelectorAll('.plot')].every(each => each.querySelector('svg .axis'))",
        timeout=300_000,
    )
    assert tab.locator(".plot").count() == 63
    assert tab.evaluate("scrollY") == 0
    tab.close()


OVERLAPS = """() => {
    const texts = [...document.querySelectorAll(".tdq-diagram svg text")].filter((each) => each.textContent);
    const places = texts.map((each) => each.getBoundingClientRect());
    const pairs = [];
    places.forEach((one, at) => places.slice(at + 1).forEach((other, later) => {
        if (one.left < other.right - 0.5 && other.left < one.right - 0.5 && one.top < other.bottom - 2.5 && other.top < one.bottom - 2.5)
            pairs.push(`${texts[at].textContent} / ${texts[at + 1 + later].textContent}`);
    }));
    return pairs;
}"""


def test_two_hundred_queues_fit_and_one_is_found_by_its_name(browser: Any, tmp_path: Path) -> None:
    counts = FlowCounts()
    for number in range(200):
        writer, reader = f"W{number % 7:03}", f"R{number % 11:03}"
        counts.commands[writer, "WRITEQ TD", f"Q{number:03}", "NORMAL"] = 1000 + number
        counts.commands[reader, "READQ TD", f"Q{number:03}", "NORMAL"] = 900 + number
        counts.commands[reader, "READQ TD", f"Q{number:03}", "IOERR"] = number % 3
    flows = Flows()
    flows.add("PAYREGN", counts)
    flows.deep("PAYREGN", [(f"Q{number:03}", 100) for number in range(200)])
    page = Page("Many queues")
    page.add("Flows", DiagramPicture("", flows.diagram(join=False), flows.table(), "flows"))
    tab = browser.new_page(viewport={"width": 1280, "height": 900})
    tab.goto(page.write(tmp_path / "page.html").as_uri())
    assert tab.locator(".tdq-diagram .box").count() == 218
    assert tab.evaluate(OVERLAPS) == []
    assert tab.evaluate("document.documentElement.scrollWidth") <= 1280
    tab.get_by_label("Find").fill("q123")
    assert tab.locator(".tdq-diagram .found .name").all_text_contents() == ["Q123"]
    place, sheet = (tab.locator(each).bounding_box() for each in (".tdq-diagram .found", ".tdq-diagram .sheet"))
    assert place is not None
    assert sheet is not None
    assert sheet["y"] <= place["y"] <= sheet["y"] + sheet["height"] - place["height"]
    tab.close()
