"""The plugin, as a user's test session sees it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

REGION_TEST = """
import pytest
from tdqsim import define_tdqueue

@pytest.mark.tdq_definitions(define_tdqueue(name="PAYQ", type="INTRA"))
@pytest.mark.tdq_seed(7)
def test_fails(tdq_region):
    tdq_region.writeq_td("PAYQ", b"payment 1")
    tdq_region.start(lambda task: task.writeq_td("PAYQ", b"payment 2"))
    tdq_region.run()
    assert tdq_region.peek("PAYQ") == []
"""

ISOLATED = """
import pytest
from tdqsim import define_tdqueue

pytestmark = pytest.mark.tdq_definitions(define_tdqueue(name="PAYQ", type="INTRA"))

@pytest.mark.parametrize("number", range(6))
def test_starts_empty(tdq_region, number):
    assert tdq_region.peek("PAYQ") == []
    tdq_region.writeq_td("PAYQ", b"%d" % number)

def test_two_regions(tdq_sysplex, tdq_make_region):
    one = tdq_sysplex.add(tdq_make_region(applid="CICA", sysid="CICA"))
    two = tdq_sysplex.add(tdq_make_region(applid="CICB", sysid="CICB"))
    tdq_sysplex.connect(one, two)
    one.writeq_td("PAYQ", b"there", sysid="CICB")
    assert (one.peek("PAYQ"), two.peek("PAYQ")) == ([], [b"there"])

def test_clock(tdq_region, tdq_clock):
    from datetime import UTC, datetime
    before = datetime.now(UTC)
    tdq_region.start(lambda task: task.delay(seconds=90))
    tdq_region.run()
    assert (datetime.now(UTC) - before).total_seconds() == 90
    assert tdq_region.clock.now() == datetime.now(UTC)

def test_job(tdq_system, tdq_job):
    tdq_job.crtdtaq(dtaq="QGPL/ORDERS", maxlen=20)
    tdq_job.qsnddtaq("ORDERS", "QGPL", b"order")
    assert tdq_job.qrcvdtaq("ORDERS", "QGPL").data == b"order"
"""


def run(tmp_path: Path, text: str, *options: str) -> str:
    (tmp_path / "test_it.py").write_text(text, "utf-8")
    plugins = [] if "-p" in options else ["-p", "tdqsim.testing.plugin"] if not installed() else []
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *plugins, *options, "test_it.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def installed() -> bool:
    """Whether the entry point is known: the package was installed since it has one."""
    from importlib.metadata import entry_points

    return any(point.value == "tdqsim.testing.plugin" for point in entry_points(group="pytest11"))


def test_a_failing_test_shows_seed_schedule_and_queues(tmp_path: Path) -> None:
    text = run(tmp_path, REGION_TEST)
    assert "1 failed" in text
    assert "seed 7 (--tdq-seed 7)" in text
    assert "schedule, the last 1 of 1 dispatches: task 2" in text
    assert "PAYQ: INTRA ENABLED, 2 records, RECOVSTATUS NO: 'payment 1', 'payment 2'" in text
    assert "WRITEQ TD PAYQ 'payment 2'" in text
    assert "seed 11" in run(tmp_path, REGION_TEST, "--tdq-seed", "11")


@pytest.mark.parametrize("options", [(), pytest.param(("-n", "2"), marks=pytest.mark.slow)], ids=["alone", "xdist"])
def test_every_test_has_regions_of_its_own(tmp_path: Path, options: tuple[str, ...]) -> None:
    text = run(tmp_path, ISOLATED, *options)
    assert "9 passed" in text, text


def test_definitions_come_from_files_beside_the_test(tmp_path: Path) -> None:
    (tmp_path / "payments.yaml").write_text("group: PAY\ntdqueue:\n  - {name: PAYQ, type: INTRA}\n", "utf-8")
    body = """
import pytest

@pytest.mark.tdq_definitions("payments.yaml")
def test_it(tdq_region):
    assert list(tdq_region.tdqueues) == ["PAYQ"]
"""
    text = run(tmp_path, body)
    assert "1 passed" in text, text


def test_a_wrong_definition_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "payments.yaml").write_text("group: PAY\ntdqueue:\n  - {name: TOOLONG, type: INTRA}\n", "utf-8")
    body = """
import pytest

@pytest.mark.tdq_definitions("payments.yaml")
def test_it(tdq_region):
    pass
"""
    text = run(tmp_path, body)
    assert "1 error" in text
    assert "payments.yaml:3" in text


def test_the_plugin_loads_nothing_before_a_fixture_is_used(tmp_path: Path) -> None:
    body = """
import sys

def test_it():
    loaded = sorted(name for name in sys.modules if name.startswith("tdqsim"))
    assert loaded == ["tdqsim", "tdqsim.errors", "tdqsim.testing", "tdqsim.testing.plugin"]
    assert "lmdb" not in sys.modules
"""
    text = run(tmp_path, body)
    assert "1 passed" in text, text


def test_importing_tdqsim_does_not_import_the_kit() -> None:
    code = "import sys, tdqsim; tdqsim.Region; assert not [m for m in sys.modules if m.startswith('tdqsim.testing')]"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_schedule_that_failed_is_run_again_by_option(tmp_path: Path) -> None:
    body = """
from tdqsim import define_tdqueue

def scenario(stage):
    region = stage.region([define_tdqueue(name="PAYQ", type="INTRA")])
    for name in (b"1", b"2"):
        region.start(lambda task, name=name: task.writeq_td("PAYQ", name))
    region.run()
    assert region.peek("PAYQ") == [b"1", b"2"]

def test_it(tdq_explore):
    tdq_explore(scenario, 50)
"""
    text = run(tmp_path, body)
    assert "replay(scenario, 'at:0=2')" in text
    assert "1 failed" in run(tmp_path, body, "--tdq-schedule", "at:0=2")
    assert "1 passed" in run(tmp_path, body, "--tdq-schedule", "at:")


def test_a_verified_test_writes_a_transcript(tmp_path: Path) -> None:
    body = """
import pytest
from tdqsim import define_tdqueue

@pytest.mark.verified
@pytest.mark.tdq_definitions(define_tdqueue(name="PAYQ", type="INTRA", recovstatus="LOGICAL"))
def test_it(tdq_target):
    assert tdq_target.writeq_td("PAYQ", b"record").resp == "NORMAL"
    tdq_target.begin(1)
    assert tdq_target.readq_td("PAYQ", task=1, length=3)[:3] == ("LENGERR", 0, b"rec")
    tdq_target.rollback(task=1)
    tdq_target.end(1)
    assert tdq_target.inquire_tdqueue("PAYQ", "NUMITEMS", "TYPE").values == {"NUMITEMS": 1, "TYPE": "INTRA"}
    assert tdq_target.readq_td("NONE").resp == "QIDERR"
"""
    text = run(tmp_path, body, "--tdq-transcript", "out.jsonl")
    assert "1 passed" in text, text
    from tdqsim import Region, define_tdqueue
    from tdqsim.testing import compare_transcript
    from tdqsim.testing.verified import load_transcript

    def make() -> Region:
        return Region([define_tdqueue(name="PAYQ", type="INTRA", recovstatus="LOGICAL")], supplied_queues=False)

    calls = load_transcript(tmp_path / "out.jsonl")
    assert [call.operation for call in calls][:3] == ["writeq_td", "begin", "readq_td"]
    assert compare_transcript(calls, make) == []
    wrong = calls[2]._replace(answer=calls[2].answer._replace(resp="QZERO", data=b""))
    (difference,) = compare_transcript([*calls[:2], wrong, *calls[3:]], make)
    assert "the target answered" in str(difference)
    assert difference.simulated.resp == "LENGERR"
