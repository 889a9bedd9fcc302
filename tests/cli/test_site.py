"""The guide as a site: every chapter, nothing fetched, and a search that works from a folder of files."""

from __future__ import annotations

import html
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tdqsim.cli import main
from tdqsim.cli.chapters import CHAPTERS, GROUPS
from tdqsim.cli.reference import MODULES
from tests.cli.conftest import Tdq


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The whole site, which takes seconds to build; the tests only read it."""
    pytest.importorskip("material", reason="the extra tdqsim[guide] is not installed")
    made = tmp_path_factory.mktemp("guide") / "site"
    assert main(["guide", "--html", str(made)]) == 0
    return made


def test_every_chapter_is_there_and_nothing_is_fetched(site: Path) -> None:
    pages = {path.stem: path.read_text("utf-8") for path in site.glob("*.html")}
    assert {*CHAPTERS, *MODULES, "index", "404"} == pages.keys()
    for name, page in pages.items():
        loaded = re.findall(r"<(?:script|link|img|iframe)[^>]*(?:src|href)=\"?([^\" >]+)", page)
        assert [place for place in loaded if place.startswith(("http:", "https:", "//"))] == [], name
    for start in ("start-python", "start-cics", "start-data"):
        assert f'href="{start}.html"' in pages["index"]
    for chapter in CHAPTERS.values():
        assert chapter.purpose in html.unescape(pages["index"])
    assert [name for name in GROUPS if f">{name}</h2>" not in re.sub(r"<a .*?</a>", "", pages["index"])] == []
    assert "test_payments.py" in pages["testing"]
    assert 'id="tdqsim.cics' in pages["tdqsim.cics"] or "Region.readq_td" in pages["tdqsim.cics"]
    assert "```" not in pages["testing"]


def test_the_chapter_of_reports_shows_pictures_made_for_it(site: Path) -> None:
    page = (site / "report.html").read_text("utf-8")
    for name, words in (("run", "records read = records in"), ("topology", "DALYTRAN")):
        assert f'<iframe src="pictures/{name}.html"' in page
        assert words in (site / "pictures" / f"{name}.html").read_text("utf-8")


def test_a_directory_with_something_in_it_is_left_alone(tdq: Tdq, tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "mine.txt").write_text("mine")
    refused = tdq("guide", "--html", "site")
    assert (refused.code, "not empty" in refused.err) == (2, True)
    assert [path.name for path in (tmp_path / "site").iterdir()] == ["mine.txt"]


@pytest.fixture
def page() -> Iterator[Any]:
    """A page of a browser that has no network."""
    api = pytest.importorskip("playwright.sync_api")
    browser_path = shutil.which("chromium")
    if browser_path is None:
        pytest.skip("there is no chromium")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        page = browser.new_context(offline=True).new_page()
        page.set_default_timeout(300_000)
        yield page
        browser.close()


@pytest.mark.browser
def test_the_pictures_are_drawn_without_a_server(site: Path, page: Any) -> None:
    page.goto((site / "report.html").as_uri())
    page.locator('iframe[src="pictures/topology.html"]').scroll_into_view_if_needed()
    picture = page.frame_locator('iframe[src="pictures/topology.html"]').locator(".tdq-diagram")
    picture.locator("svg text").get_by_text("DALYTRAN").first.wait_for()
    picture.get_by_label("Find").fill("DALY")
    picture.locator(".box.found").first.wait_for()  # the script of the page runs


@pytest.mark.browser
def test_the_search_works_without_a_server(site: Path, page: Any) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto((site / "index.html").as_uri())
    page.focus("input.md-search__input")  # it wakes up then
    page.wait_for_selector(".md-search-result__meta >> text=Type to start")
    page.locator("input.md-search__input").press_sequentially("TRIGGERLEVEL")
    page.wait_for_selector(".md-search-result__item")
    found = page.locator(".md-search-result__item").all_inner_texts()
    assert any("handlers" in text for text in found)
    assert [url for url in asked if not url.startswith("file:")] == []


def test_each_chapter_is_in_its_part_of_the_navigation(site: Path) -> None:
    page = (site / "index.html").read_text("utf-8")
    navigation = page[page.index('<nav class="md-nav md-nav--primary') : page.index('<div class="md-content"')]
    places = {name: navigation.index(f'href="{name}.html"') for name in CHAPTERS if name != "reference"}
    groups = list(dict.fromkeys(CHAPTERS[name].group for name in sorted(places, key=places.__getitem__)))
    assert groups == [group for group in GROUPS if any(CHAPTERS[name].group == group for name in places)]
    order = sorted(places, key=places.__getitem__)
    assert order == [name for name in CHAPTERS if name in places]
