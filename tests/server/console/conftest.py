"""A server with two regions, and a real browser that may talk to it and to nobody else.

A screenshot of each page is kept in the folder that ``TDQ_SCREENSHOTS`` names, else in pytest's own temporary one.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tdqsim.client import Client
from tdqsim.client.served_process import ServerProcess, serving

pytest.importorskip("argon2", reason="argon2-cffi is not installed: the extra [serve] brings it")
pytest.importorskip("nicegui", reason="nicegui is not installed: the extra [serve] brings it")
playwright = pytest.importorskip(
    "playwright.sync_api", reason="playwright is not installed: the dependency group tests brings it"
)

from tdqsim.server.users import Role, User, Users, hashed  # noqa: E402  (it needs argon2)

PATIENCE = int(os.environ.get("TDQ_BROWSER_SECONDS", "300")) * 1000
"""Milliseconds in which a page must show what a test waits for."""
expect = playwright.expect
"""Waits until an element has the state that a test expects, which a read of its present state does not."""
expect.set_options(timeout=PATIENCE)
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
  - name: JOBQ
    type: EXTRA
    typefile: OUTPUT
    ddname: JOBDD
    recordformat: FIXED
    blockformat: UNBLOCKED
    recordsize: 80
    blocksize: 80
  - name: PRTQ
    type: EXTRA
    typefile: OUTPUT
    ddname: PRTDD
    recordformat: VARIABLE
    blockformat: UNBLOCKED
    recordsize: 200
    blocksize: 208
transaction:
  - {name: TRGT}
  - {name: DOUB}
  - {name: FALT}
connection:
  - {name: CRD1, netname: CARDREGN}
"""
PAYREGN_MORE = """\
dd:
  OUTDD: {path: out.bin, recfm: V, lrecl: 204}
  JOBDD: {sysout: "A,INTRDR"}
  PRTDD: {sysout: B}
handlers: [console_handlers]
"""
CARDREGN = """\
group: CARDS
tdqueue:
  - {name: XXQ, type: INTRA}
"""
PAYSYS = """\
group: PAYSYS
dtaq:
  - {dtaq: APPLIB/ORDERS, maxlen: 80}
  - {dtaq: APPLIB/KEYED, maxlen: 80, seq: "*KEYED", keylen: 3}
"""
HANDLERS = """\
from tdqsim.cics.uow.indoubt import hand_over


def register(region):
    @region.transaction("DOUB")
    def in_doubt(task):
        task.writeq_td("TWOQ", b"in doubt")
        part = hand_over(task, f"COORDINATOR {task.number}")
        part.prepare()
        part.lose_coordinator()

    @region.transaction("ECHO")
    def echo(task):
        task.writeq_td("PAYQ", task.retrieve())

    @region.transaction("FALT")
    def fault(task):
        task.writeq_td("PAYQ", region.encode("INVOICE 4711"))
        task.readq_td("PAYQ")
        task.writeq_td("LOGQ", region.encode("<img src=x onerror=alert(1)>"))
        task.writeq_td("NONE", region.encode("<b>no such queue</b>"))
"""
LABSYS = """\
group: LABSYS
dtaq:
  - {dtaq: LAB/ONLY, maxlen: 80}
"""
SYSTEMS = {"PAYSYS": PAYSYS, "LABSYS": LABSYS}
REGIONS = {"PAYREGN": ("PAY1", PAYREGN), "CARDREGN": ("CRD1", CARDREGN)}


def region_files(folder: Path) -> list[Path]:
    """The directories of the two regions."""
    for applid, (sysid, definitions) in REGIONS.items():
        (folder / applid).mkdir()
        (folder / applid / "definitions.yaml").write_text(definitions)
        (folder / applid / "region.yaml").write_text(
            f"applid: {applid}\nsysid: {sysid}\ndefinitions: [definitions.yaml]\n"
            + (PAYREGN_MORE if applid == "PAYREGN" else "")
        )
    (folder / "console_handlers.py").write_text(HANDLERS)
    for name, definitions in SYSTEMS.items():
        (folder / name).mkdir()
        (folder / name / "system.yaml").write_text(f"name: {name}\ndefinitions: [queues.yaml]\n")
        (folder / name / "queues.yaml").write_text(definitions)
    return [folder / name for name in (*REGIONS, *SYSTEMS)]


@pytest.fixture(scope="module")
def server_folder(tmp_path_factory) -> Path:
    """The folder of the module's server, with its ``server.log``."""
    return tmp_path_factory.mktemp("served")


@pytest.fixture(scope="module")
def served(server_folder) -> Iterator[ServerProcess]:
    """A server of its own for a module of tests; it logs no error until its end."""
    with serving(region_files(server_folder), server_folder, modules=[server_folder]) as served:
        yield served
    assert errors_in(server_folder) == []


def errors_in(folder: Path) -> list[str]:
    """The lines of a server's log that report an error, but for abends of tasks, which the pages of tests make."""
    lines = (folder / "server.log").read_text("utf-8").splitlines()
    errors = [line for line in lines if re.search(r"\[(error|critical) *\]|Traceback", line, re.IGNORECASE)]
    return [line for line in errors if not re.search(r"\[error *\] abend ", line)]


@pytest.fixture
def server(served) -> Iterator[ServerProcess]:
    """The same server with a connection of the test's own: one that is silent for long is closed."""
    with Client(served.url, served.token, timeout=300) as client:
        yield replace(served, client=client)


@dataclass(frozen=True)
class WithUsers:
    """A server whose users have passwords: each the password ``secret of ID``."""

    url: str


@pytest.fixture(scope="module")
def with_users(tmp_path_factory) -> Iterator[WithUsers]:
    """A server with a user of each role."""
    folder = tmp_path_factory.mktemp("users")
    directories = region_files(folder)
    users = Users(
        User(f"{role.value.upper()}ER", frozenset({role}), password=hashed(password_of(role))) for role in Role
    )
    users.write(folder / "users.yaml")
    places = "".join(f"- {each.name}\n" for each in directories if each.name not in SYSTEMS)
    (folder / "serve.yaml").write_text(f"directories:\n{places}users: users.yaml\n")
    command = "import sys; from tdqsim.cli import main; sys.exit(main())"
    words = [sys.executable, "-c", command, "serve", str(folder / "serve.yaml"), "--port", "0"]
    process = subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYTHONPATH": str(folder)},
    )
    with process:
        told = []
        for line in process.stdout:
            told.append(line)
            if line.startswith("Users sign on"):
                break
        yield WithUsers(re.search(r"http://[0-9.:]+", "".join(told))[0])
        process.terminate()
        assert process.wait(300) == 0


def password_of(role: Role) -> str:
    """The password of the user who has a role."""
    return f"secret of {role.value}"


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """The browser; not for the whole session, since its tool keeps an event loop running in this thread."""
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

    def sign_on_as(self, role: Role) -> None:
        """Sign on as the user who has a role."""
        self.page.goto(f"{self.url}/console/")
        self.page.get_by_label("User").fill(f"{role.value.upper()}ER")
        self.page.get_by_label("Password").fill(password_of(role))
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
        context.set_default_timeout(PATIENCE)
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
