"""A server with two regions, and a real browser that may talk to it and to nobody else.

A screenshot of each page is kept in the folder that ``TDQ_SCREENSHOTS`` names, else in pytest's own temporary one.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

pytest.importorskip("nicegui", reason="nicegui is not installed: the extra [serve] brings it")
playwright = pytest.importorskip(
    "playwright.sync_api", reason="playwright is not installed: the extra [test] brings it"
)

from tdqsim.testing.served import ServerProcess, serving

CHROMIUM = os.environ.get("TDQ_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
PAYREGN = """\
group: PAYROLL
tdqueue:
  - {name: PAYQ, type: INTRA}
  - {name: LOGQ, type: INTRA, recovstatus: LOGICAL}
  - {name: TWOQ, type: INTRA, recovstatus: LOGICAL}
  - {name: PHYQ, type: INTRA, recovstatus: PHYSICAL}
  - {name: TRGQ, type: INTRA, atifacility: FILE, transid: TRGT, triggerlevel: 2}
  - {name: ALIA, type: INDIRECT, indirectname: PAYQ}
  - {name: FARQ, remotesystem: CRD1, remotename: XXQ}
  - name: OUTQ
    type: EXTRA
    typefile: OUTPUT
    ddname: OUTDD
    recordformat: VARIABLE
    blockformat: UNBLOCKED
    recordsize: 200
    blocksize: 208
transaction:
  - {name: TRGT}
  - {name: WAIT}
connection:
  - {name: CRD1, netname: CARDREGN}
"""
CARDREGN = """\
group: CARDS
tdqueue:
  - {name: XXQ, type: INTRA}
"""
REGIONS = {"PAYREGN": ("PAY1", PAYREGN), "CARDREGN": ("CRD1", CARDREGN)}


def region_files(folder: Path) -> list[Path]:
    """The directories of the two regions."""
    for applid, (sysid, definitions) in REGIONS.items():
        (folder / applid).mkdir()
        (folder / applid / "definitions.yaml").write_text(definitions)
        (folder / applid / "region.yaml").write_text(
            f"applid: {applid}\nsysid: {sysid}\ndefinitions: [definitions.yaml]\n"
            + ("dd:\n  OUTDD: {path: out.bin, recfm: V, lrecl: 204}\n" if applid == "PAYREGN" else "")
        )
    return [folder / applid for applid in REGIONS]


@pytest.fixture(scope="module")
def server(tmp_path_factory) -> Iterator[ServerProcess]:
    """A server of its own for a module of tests."""
    folder = tmp_path_factory.mktemp("served")
    with serving(region_files(folder), folder) as served:
        yield served


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """The browser."""
    if CHROMIUM is None:
        pytest.skip("no chromium is installed; TDQ_CHROMIUM may name one")
    with playwright.sync_playwright() as tool:
        browser = tool.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@dataclass
class Browser:
    """One person's browser.

    Attributes:
        page: what it shows.
        strangers: addresses outside the server that a page has asked for.
        errors: what went wrong in the pages' scripts.
    """

    page: Any
    url: str
    strangers: list[str]
    errors: list[str]

    def open(self, path: str, heading: str | None = None) -> Any:
        """Go to a page of the console and wait until it is alive."""
        self.page.goto(f"{self.url}/console/{path}")
        if heading is not None:
            self.page.get_by_role("heading", level=1, name=heading).wait_for()
        self.page.wait_for_function("window.socket?.connected")
        return self.page

    def sign_on(self, token: str) -> None:
        """Sign on with a token."""
        self.page.goto(f"{self.url}/console/")
        self.page.get_by_label("Token").fill(token)
        self.page.get_by_role("button", name="Sign on").click()
        self.page.get_by_role("heading", level=1, name="Overview").wait_for()

    def status(self, words: str) -> None:
        """Wait until the status line has these words."""
        self.page.get_by_role("status").filter(has_text=words).wait_for()


@pytest.fixture
def person(chromium, server) -> Iterator[Callable[..., Browser]]:
    """Makes browsers, each a person's own, signed on."""
    contexts, made = [], []

    def make(*, width: int = 1280, scheme: str = "light", signed_on: bool = True, served: Any = server) -> Browser:
        context = chromium.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, reduced_motion="reduce"
        )
        contexts.append(context)
        context.set_default_timeout(20_000)
        browser = Browser(context.new_page(), served.url, [], [])
        made.append(browser)
        here = urlsplit(served.url).netloc

        def only_here(route: Any) -> None:
            if urlsplit(route.request.url).netloc == here or route.request.url.startswith(("data:", "blob:")):
                route.continue_()
            else:
                browser.strangers.append(route.request.url)
                route.abort()

        context.route("**/*", only_here)
        browser.page.on("pageerror", lambda error: browser.errors.append(str(error)))
        browser.page.on("console", lambda line: browser.errors.append(line.text) if line.type == "error" else None)
        if signed_on:
            browser.sign_on(served.token)
        return browser

    yield make
    for context in contexts:
        context.close()
    for browser in made:
        assert not browser.strangers, browser.strangers
        assert not browser.errors, browser.errors


@pytest.fixture
def browser(person) -> Browser:
    """One person's browser, signed on."""
    return person()


@pytest.fixture(scope="session")
def screenshots(tmp_path_factory) -> Path:
    """The folder that screenshots are kept in."""
    named = os.environ.get("TDQ_SCREENSHOTS")
    folder = Path(named) if named else tmp_path_factory.mktemp("screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    return folder
