"""A page of the console whose server was killed and started again, and pages that do not exist."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.server.console.conftest import expect, region_files

COMMAND = "import sys; from tdqsim.cli import main; sys.exit(main())"


@dataclass
class Run:
    """A server's process, its address and its token."""

    process: subprocess.Popen[str]
    url: str
    token: str


def started(folder: Path, port: int, *directories: Path) -> Run:
    ready = folder / "ready.json"
    words = [sys.executable, "-c", COMMAND, "serve", "--port", str(port), "--ready-file", str(ready)]
    process = subprocess.Popen(
        [*words, *map(str, directories)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])},
    )
    assert any(line.startswith("Sign on in a browser") for line in process.stdout)
    found = json.loads(ready.read_text())
    return Run(process, found["url"], found["token"])


@pytest.fixture
def runs(tmp_path):
    directories, made = region_files(tmp_path), []

    def start(port: int = 0) -> Run:
        made.append(started(tmp_path, port, *directories[:2]))
        return made[-1]

    yield start
    for run in made:
        run.process.kill()
        run.process.wait(60)
        run.process.stdout.close()


def test_a_page_of_a_killed_server_is_grey_and_leads_to_the_sign_on_of_the_next(runs, person, screenshots):
    first = runs()
    browser = person(served=first)
    page = browser.open("regions/PAYREGN/queues/PAYQ", "PAYQ")
    first.process.kill()
    page.wait_for_function("document.body.classList.contains('tdq-lost')")
    page.screenshot(path=screenshots / "lost.png")
    second = runs(int(first.url.rpartition(":")[2]))
    page.get_by_label("Token").wait_for()
    expect(page.get_by_role("alert")).to_have_text(
        "The server no longer knows this session: it was started again, or the session has ended."
    )
    page.screenshot(path=screenshots / "sign_on_again.png")
    page.get_by_label("Token").fill(f"Bearer {second.token}")
    page.get_by_role("button", name="Sign on").click()
    page.get_by_role("heading", level=1, name="PAYQ").wait_for()  # the page that it was on
    browser.errors.clear()  # the browser reports each connection that was refused


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("nosuch", "there is no page /console/nosuch."),
        ("regions/NOSUCH/queues", "no region NOSUCH is served."),
    ],
)
def test_a_page_that_does_not_exist_says_so_and_leads_back(browser, path, said):
    browser.page.goto(f"{browser.url}/console/{path}")
    expect(browser.page.get_by_role("main").locator("h1, p")).to_have_text(["Not found", said, "Overview"])
    browser.page.get_by_role("link", name="Overview").click()
    browser.page.get_by_role("heading", level=1, name="Overview").wait_for()
    browser.errors.clear()  # the browser reports the status 404


def test_a_number_that_is_none_is_refused_with_what_is_allowed(browser):
    page = browser.open("regions/PAYREGN/queues/TRGQ", "TRGQ")
    page.get_by_label("Option").select_option("TRIGGERLEVEL")
    page.get_by_label("Value").fill("abc")
    page.get_by_role("button", name="SET TDQUEUE", exact=True).click()
    browser.status("TRIGGERLEVEL is a number from 0 to 32767")
