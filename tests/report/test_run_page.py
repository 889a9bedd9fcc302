"""``tdq run --report`` and ``pytest --tdq-report``."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests import apart
from tests.cli.conftest import Tdq, tdq  # noqa: F401
from tests.report.conftest import Look

HANDLERS = """
from tdqsim import Condition

def fill(task):
    for number in range(7):
        task.writeq_td("PAYQ", task.encode(f"</script><b>{number}"))
    task.delay(seconds=3)

def pay(task):
    try:
        while True:
            task.readq_td("PAYQ")
    except Condition:
        pass

def bad(task):
    task.abend("OOPS")
"""

REGION = """
groups:
- group: PAY
  tdqueue:
  - {name: PAYQ, type: INTRA, transid: PAYP, triggerlevel: 3, atifacility: FILE}
  transaction:
  - {name: PAYP, handler: 'h:pay'}
  - {name: FILL, handler: 'h:fill'}
  - {name: BADT, handler: 'h:bad'}
"""


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    found = tmp_path / "region"
    found.mkdir()
    (found / "region.yaml").write_text("applid: PAYREGN\nsysid: PAY1\ndefinitions: [a.yaml]\nhandlers: [h]\n", "utf-8")
    (found / "a.yaml").write_text(REGION, "utf-8")
    (found / "h.py").write_text(HANDLERS, "utf-8")
    return found


def test_a_run_leaves_its_page(tdq: Tdq, directory: Path, look: Look) -> None:  # noqa: F811
    ended = tdq("run", directory, "--start", "FILL", "--report", "page.html", "--output", "out")
    assert ended.code == 0, ended.err
    page = look(Path("page.html"))
    for head in (
        "all is well",
        "What flowed",
        "Topology",
        "Depth over time",
        "Tasks and units of work",
        "Triggers",
        "The last operations",
    ):
        assert head in page.text
    assert "READQ TD PAYQ '</script><b>5'" in page.text
    assert len(page.figures) == 2
    kinds = {trace["name"] for trace in page.figures[1]["data"]}
    assert {"task", "waits"} <= kinds


def test_an_abend_is_on_the_page_of_its_run(tdq: Tdq, directory: Path, look: Look) -> None:  # noqa: F811
    ended = tdq("run", directory, "--start", "BADT", "--report", "page.html", "--output", "out")
    assert ended.code == 1
    page = look(Path("page.html"))
    assert "something is wrong" in page.text
    assert "abend OOPS" in page.text
    assert {trace["name"] for trace in page.figures[-1]["data"]} == {"abend"}
    assert "1 abend" in page.text


def test_a_page_that_cannot_be_written_is_said_before_the_run(tdq: Tdq, directory: Path) -> None:  # noqa: F811
    ended = tdq("run", directory, "--start", "FILL", "--report", "none/page.html", "--output", "out")
    assert ended.code == 2
    assert "there is no folder none" in ended.err
    assert not Path("out").exists()


TESTS = """
import pytest
from tdqsim import Condition, define_tdqueue, define_transaction

QUEUE = define_tdqueue(name="PAYQ", type="INTRA", recovstatus="LOGICAL", transid="PAYP", triggerlevel=2, atifacility="FILE")
pytestmark = pytest.mark.tdq_definitions(QUEUE, define_transaction(name="PAYP"))

def pay(task):
    try:
        while True:
            task.readq_td("PAYQ")
    except Condition:
        pass

@pytest.mark.parametrize("number", range(8))
def test_paid(tdq_region, number):
    tdq_region.register("PAYP", pay)
    for each in range(number):
        tdq_region.writeq_td("PAYQ", b"<script>%d" % each)
    tdq_region.run()
    assert number != 5

@pytest.mark.parametrize("name", ["</script><script>alert(2)</script>"])
def test_abends(tdq_region, tdq_clock, name):
    tdq_region.register("PAYP", lambda task: (task.readq_td("PAYQ"), task.delay(seconds=5), task.abend("BAD1")))
    tdq_region.writeq_td("PAYQ", b"a")
    tdq_region.writeq_td("PAYQ", b"b")
    tdq_region.run()

def test_orders(tdq_job):
    tdq_job.crtdtaq(dtaq="QGPL/ORDERS", maxlen=10)
    tdq_job.qsnddtaq("ORDERS", "QGPL", b"order")

def test_nothing():
    pass

@pytest.mark.skip(reason="not today")
def test_skipped(tdq_region):
    pass

@pytest.fixture
def broken(tdq_region):
    raise ValueError("broken")

def test_broken(broken):
    pass
"""


@pytest.mark.parametrize("processes", [pytest.param(0, marks=pytest.mark.slow), 2])
def test_a_section_for_each_test_failures_first(tmp_path: Path, look: Look, processes: int) -> None:
    (tmp_path / "test_it.py").write_text(TESTS, "utf-8")
    options = ["-q", "-p", "no:cacheprovider", "-n", processes, "--tdq-report", "page.html"]
    done = apart.run("-m", "pytest", *options, cwd=tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "tdqsim report: " in done.stdout
    page = look(tmp_path / "page.html")
    assert "3 of 13 failed" in page.text
    assert re.search(r"1 error in setup, 2 failed, 9 passed, 1 skipped", page.text)
    heads = re.findall(r"test_it\.py::(\S+) (passed|failed|error)", page.text)
    assert {name for name, _ in heads[:3]} == {
        "test_paid[5]", "test_abends[</script><script>alert(2)</script>]", "test_broken",
    }  # fmt: skip
    assert len(heads) == 3 + 7, "those that used no queue, or were skipped, have no section"
    assert "WRITEQ TD PAYQ '<script>4'" in page.text
    assert "QSNDDTAQ QGPL/ORDERS" in page.text
    assert "ValueError: broken" in page.text
    kinds = [{trace.get("name") for trace in figure["data"]} for figure in page.figures]
    assert {"abend", "backed out", "waits"} <= set().union(*(each for each in kinds if "abend" in each))


OF_A_DIRECTORY = """
import pytest

@pytest.mark.tdq_definitions("pay")
def test_paid(tdq_region):
    tdq_region.writeq_td("PAYQ", bytes.fromhex("C1C2C3C40012345C"))

@pytest.mark.tdq_regions("pay")
def test_linked(tdq_regions):
    tdq_regions["PAYREG"].writeq_td("PAYQ", bytes.fromhex("D1C2C3C40054321C"))

@pytest.mark.tdq_definitions("wrong")
def test_wrong(tdq_region):
    tdq_region.writeq_td("PAYQ", b"x")
"""
COPYBOOK = """\
       01  PAYMENT.
           05  ACCOUNT PIC X(4).
           05  AMOUNT  PIC S9(5)V99 COMP-3.
"""


def test_records_of_a_region_directory_are_shown_by_its_layouts(tmp_path: Path, look: Look) -> None:
    for name, copybook in (("pay", "pay.cpy"), ("wrong", "none.cpy")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "pay.cpy").write_text(COPYBOOK)
        (tmp_path / name / "pay.yaml").write_text("group: PAY\ntdqueue:\n- {name: PAYQ, type: INTRA}\n")
        (tmp_path / name / "region.yaml").write_text(
            f"applid: {name.upper()}REG\ndefinitions: [pay.yaml]\nlayouts: {{PAYQ: {copybook}}}\n"
        )
    (tmp_path / "test_it.py").write_text(OF_A_DIRECTORY)
    done = apart.run("-m", "pytest", "-q", "-p", "no:cacheprovider", "--tdq-report", "page.html", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    page = look(tmp_path / "page.html")
    for line in ("ACCOUNT=ABCD, AMOUNT=123.45", "ACCOUNT=JBCD, AMOUNT=543.21"):
        assert line in page.text
    assert re.search(r"records are shown as text: .*none\.cpy", page.text)
    assert "more regions and systems" not in page.text


def test_many_tests_make_a_page_of_bounded_size(tmp_path: Path) -> None:
    from tdqsim.testing._report_plugin import ReportPlugin

    class Config:
        invocation_params = type("Params", (), {"dir": tmp_path})

        @staticmethod
        def getoption(_name: str) -> str:
            return "page.html"

    plugin = ReportPlugin(Config())  # type: ignore[arg-type]
    section = "<details><summary>one</summary>" + "x" * 10_000 + "</details>"

    class Report:
        when, wasfailed, duration, longreprtext = "call", False, 0.01, ""
        skipped = False
        tdq_section = section

        def __init__(self, number: int) -> None:
            self.nodeid = f"test_it.py::test_{number:05d}"
            self.failed = number % 2 == 0
            self.outcome = "failed" if self.failed else "passed"

    for number in range(30_000):
        plugin.pytest_runtest_logreport(Report(number))  # type: ignore[arg-type]
    session = type("Session", (), {"exitstatus": 1})()
    plugin.pytest_sessionfinish(session)
    assert (tmp_path / "page.html").stat().st_size < 25_000_000
    text = (tmp_path / "page.html").read_text("utf-8")
    assert "15,000 of 30,000 failed" in text
    assert re.search(r"14,2\d\d more have no section", text)
    assert re.search(r"14,6\d\d more have no section", text)
    assert "20,000 of 30,000 are shown" in text


def test_a_page_that_cannot_be_is_refused_before_tests_run(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text("def test_it():\n    print('ran')\n", "utf-8")
    done = apart.run("-m", "pytest", "-q", "-p", "no:cacheprovider", "--tdq-report", "none/page.html", cwd=tmp_path)
    assert done.returncode == 4
    assert "--tdq-report" in done.stderr
    assert "there is no folder" in done.stderr
    assert "passed" not in done.stdout
