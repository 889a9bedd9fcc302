"""The plugin, as a user's test session sees it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import ClassVar

import pytest

from tests import apart

pytest_plugins = ["pytester"]

REGION_TEST = """
import pytest
from tdqsim import define_tdqueue

@pytest.mark.tdq_definitions(define_tdqueue(name="PAYQ", type="INTRA", transid="PAYP", triggerlevel=5))
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


class Kept:
    """What a session in this process has imported of the package.

    pytester makes Python forget what the session was the first to import. Packages, and modules that were imported
    before, still have the forgotten modules; later tests would import others beside them, with classes of their own.
    """

    modules: ClassVar[dict[str, ModuleType]] = {}

    def pytest_unconfigure(self) -> None:
        mine = {
            name: module for name, module in sys.modules.items() if name.partition(".")[0] in ("tdqsim", "freezegun")
        }
        self.modules.update(mine)


def run(pytester: pytest.Pytester, text: str, *options: str) -> str:
    """What a session prints that runs these tests, in this process."""
    pytester.makepyfile(test_it=text)
    plugins = [] if installed() else ["-p", "tdqsim.testing.plugin"]
    plugins += ["-p", "no:cacheprovider", "-p", "no:tdqsim-frames"]  # which would hide frames in this session, too
    done = run_direct(pytester, "-q", *plugins, *options, "test_it.py")
    return "\n".join([*done.outlines, *done.errlines])


def run_direct(pytester: pytest.Pytester, *options: str) -> pytest.RunResult:
    """A session in this process, which imports no module that an earlier one has imported."""
    sys.modules.update(Kept.modules)
    done = pytester.runpytest_inprocess(*options, plugins=[Kept()])
    sys.modules.update(Kept.modules)
    return done


def failures(text: str) -> dict[str, str]:
    """What a session prints of each test that failed, by its name."""
    told = text.partition("short test summary info")[0]
    _, *parts = re.split(r"^_+ (\w+) _+$", told, flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def run_apart(tmp_path: Path, text: str, *options: str, forked: bool = False) -> str:
    """The same in a process of its own; a forked one has imported the package already."""
    (tmp_path / "test_it.py").write_text(text, "utf-8")
    plugins = [] if installed() else ["-p", "tdqsim.testing.plugin"]
    words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", *options, *plugins, "test_it.py"]
    if forked:
        done = apart.run(*words, cwd=tmp_path)
    else:
        done = subprocess.run([sys.executable, *words], cwd=tmp_path, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def installed() -> bool:
    """Whether the entry point is known: the package was installed since it has one."""
    from importlib.metadata import entry_points

    return any(point.value == "tdqsim.testing.plugin" for point in entry_points(group="pytest11"))


def test_a_misspelt_marker_is_refused_at_collection(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("import pytest\n@pytest.mark.tdq_definition('a.yaml')\ndef test_it(): pass\n")
    result = run_direct(pytester, "-W", "ignore::pytest.PytestUnknownMarkWarning")
    result.stderr.fnmatch_lines(["*test_it: unknown marker tdq_definition; did you mean tdq_definitions[?]*"])
    assert result.ret == pytest.ExitCode.USAGE_ERROR


def test_a_misspelt_environment_variable_is_named(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TDQ_CAHCE", "cache")
    assert "tdqsim: environment variable TDQ_CAHCE has no effect; did you mean TDQ_CACHE?" in run(
        pytester, "def test_it(): pass"
    )


def test_a_test_without_definitions_is_told_so(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_it(tdq_region): tdq_region.writeq_td('PAYQ', b'x')\n")
    result = run_direct(pytester)
    result.stdout.fnmatch_lines(["the test has no marker tdq_definitions: its region has only queues of CICS"])


def test_a_failing_test_shows_seed_schedule_and_queues(pytester: pytest.Pytester) -> None:
    text = run(pytester, REGION_TEST)
    assert "1 failed" in text
    assert "seed 7 (--tdq-seed 7)" in text
    assert "schedule, the last 1 of 1 dispatches: task 2" in text
    assert "PAYQ: INTRA ENABLED, 2 records, RECOVSTATUS NO, starts PAYP at 5: 'payment 1', 'payment 2'" in text
    assert "WRITEQ TD PAYQ 'payment 2'" in text
    assert "seed 11" in run(pytester, REGION_TEST, "--tdq-seed", "11")


def test_every_test_has_regions_of_its_own(pytester: pytest.Pytester) -> None:
    text = run(pytester, ISOLATED)
    assert "9 passed" in text, text


def test_sessions_of_pytester_one_after_the_other_read_definition_files(tmp_path: Path) -> None:
    body = """
import pytest
pytest_plugins = ["pytester"]

@pytest.mark.parametrize("turn", ["first", "second"])
def test_session(pytester, turn):
    (pytester.path / "payments.yaml").write_text("group: PAY\\ntdqueue:\\n- {name: PAYQ, type: INTRA}\\n")
    pytester.makepyfile(
        "import pytest\\n@pytest.mark.tdq_definitions('payments.yaml')\\n"
        "def test_it(tdq_region): assert tdq_region.peek('PAYQ') == []"
    )
    pytester.runpytest_inprocess().assert_outcomes(passed=1)
"""
    text = run_apart(tmp_path, body, forked=True)
    assert "2 passed" in text, text


@pytest.mark.slow
def test_every_test_has_regions_of_its_own_under_xdist(tmp_path: Path) -> None:
    text = run_apart(tmp_path, ISOLATED, "-n", "2")
    assert "9 passed" in text, text


def test_a_failing_test_of_jobs_shows_what_happened_to_each_data_queue(pytester: pytest.Pytester) -> None:
    body = """
def test_it(tdq_job):
    tdq_job.crtdtaq(dtaq="QGPL/ORDERS", maxlen=20)
    tdq_job.qsnddtaq("ORDERS", "QGPL", b"order 1")
    tdq_job.qsnddtaq("ORDERS", "QGPL", b"order 2")
    tdq_job.qrcvdtaq("ORDERS", "QGPL")
    assert False
"""
    text = run(pytester, body)
    assert "QGPL/ORDERS: 1 entries: 'order 2'" in text
    assert "QSNDDTAQ QGPL/ORDERS 'order 1'" in text
    assert "QRCVDTAQ QGPL/ORDERS 'order 1'" in text


PLEX = """
groups:
- group: CICA
  tdqueue:
  - {name: PAYQ, remotesystem: CICB, remotename: PAYQ}
- group: CICB
  tdqueue:
  - {name: PAYQ, type: INTRA}
- group: ALLOF
  transaction:
  - {name: PAYP}
"""


def test_definitions_come_from_files_and_region_directories(pytester: pytest.Pytester) -> None:
    (pytester.path / "plex.yaml").write_text(PLEX, "utf-8")
    for name, other in (("CICA", "CICB"), ("CICB", "CICA")):
        directory = pytester.mkdir(name)
        (directory / "region.yaml").write_text(
            f"applid: {name}\nsysid: {name}\ndefinitions: [d.yaml]\nsupplied_queues: NO\n"
        )
        (directory / "d.yaml").write_text(
            f"group: G\nconnection:\n- {{name: {other}, netname: {other}}}\ntdqueue:\n- {{name: {name[:4]}, type: INTRA}}\n"
        )
    for name, queue in (("payments", "PAYQ"), ("wrong", "TOOLONG")):
        (pytester.path / f"{name}.yaml").write_text(
            f"group: PAY\ntdqueue:\n  - {{name: {queue}, type: INTRA}}\n", "utf-8"
        )
    body = """
import pytest

@pytest.mark.tdq_regions("plex.yaml", common="ALLOF")
def test_regions_of_one_file(tdq_regions):
    assert list(tdq_regions) == ["CICA", "CICB"]
    assert all("PAYP" in region.resources.transactions for region in tdq_regions.values())
    tdq_regions["CICA"].writeq_td("PAYQ", b"there")
    assert tdq_regions["CICB"].peek("PAYQ") == [b"there"]

@pytest.mark.tdq_regions("CICA", "CICB")
def test_region_directories(tdq_regions):
    tdq_regions["CICA"].writeq_td("CICB", b"there", sysid="CICB")
    assert tdq_regions["CICB"].peek("CICB") == [b"there"]

@pytest.mark.tdq_definitions("payments.yaml")
def test_a_file_beside_the_test(tdq_region):
    assert set(tdq_region.tdqueues) == {"PAYQ", "CSCS", "CSMT", "CSQL", "CSSL"}

def test_regions_without_a_marker(tdq_regions):
    pass

@pytest.mark.tdq_definitions("wrong.yaml")
def test_a_wrong_file(tdq_region):
    pass
"""
    text = run(pytester, body)
    assert "3 passed, 2 errors" in text, text
    assert "needs the marker tdq_regions" in text
    assert "wrong.yaml:3" in text


def test_a_failed_test_says_why_records_stay_and_that_they_are_ebcdic(pytester: pytest.Pytester) -> None:
    body = """
import pytest
from tdqsim import define_tdqueue, define_transaction

QUEUE = define_tdqueue(name="PAYQ", type="INTRA", transid="PAYP", triggerlevel=2, atifacility="FILE")

@pytest.mark.tdq_definitions(QUEUE, define_transaction(name="PAYP"))
def test_unread(tdq_region):
    tdq_region.register("PAYP", lambda task: task.readq_td_all("PAYQ"))  # nobody iterates
    tdq_region.writeq_td_all("PAYQ", [tdq_region.encode("ONE"), tdq_region.encode("TWO")])
    assert tdq_region.peek("PAYQ") == [b"ONE", b"TWO"]
    assert b"ONE" in tdq_region.peek("PAYQ")
"""
    text = run(pytester, body + BROKEN)
    assert "the state cannot be shown: AttributeError: " in text
    assert "2 failed, 1 passed" in text
    assert "one side is ASCII, the other is the same text in EBCDIC, code page 037: compare text," in text
    assert "    It starts PAYP at 2 records. The level is reached, but the count is looked at only " in text


BROKEN = """

def test_broken(tdq_region, monkeypatch):
    monkeypatch.setattr(tdq_region._core, "tdqueues", None)
    raise AssertionError

def test_after(tdq_region):
    pass
"""


def test_the_plugin_loads_nothing_before_a_fixture_is_used(tmp_path: Path) -> None:
    body = """
import sys

def test_it():
    loaded = {name.removeprefix("tdqsim.") for name in sys.modules if name.startswith("tdqsim")}
    others = {name for each in ("cobol", "client") for name in (each, f"{each}.pytest_plugin")}
    plugin = {"testing", "testing._frames_plugin", "testing._lazy_modules", "testing.plugin"}
    assert loaded - others == {"tdqsim", "core", "core.collection", "core.named", "core.own_frames", "errors", "lazy", *plugin}
    assert "lmdb" not in sys.modules
"""
    text = run_apart(tmp_path, body)
    assert "1 passed" in text, text


def test_pytest_does_not_rewrite_the_modules_of_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = tmp_path / "site" / "other-1.dist-info"  # pytest takes the files of a distribution with a plugin
    installed.mkdir(parents=True)
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1\n")
    (installed / "entry_points.txt").write_text("[pytest11]\nother = json\n")
    (installed / "RECORD").write_text("tdqsim/__init__.py,,\nhelpers/__init__.py,,\n")
    (tmp_path / "site" / "helpers").mkdir()
    (tmp_path / "site" / "helpers" / "__init__.py").write_text("")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"), prepend=os.pathsep)
    body = """
import helpers, sys

def test_it(tdq_region, tdq_job):
    loaded = {name: type(module.__loader__).__name__ for name, module in sys.modules.items() if hasattr(module, "__loader__")}
    assert loaded["helpers"] == "AssertionRewritingHook"
    assert {loaded[name] for name in ("tdqsim.cics", "tdqsim.ibmi", "tdqsim.testing.kit")} == {"SourceFileLoader"}
"""
    text = run_apart(tmp_path, body)
    assert "1 passed" in text, text


def test_a_schedule_that_failed_is_run_again_by_option(pytester: pytest.Pytester) -> None:
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
    text = run(pytester, body)
    assert "replay(scenario, 'at:0=2')" in text
    assert "1 failed" in run(pytester, body, "--tdq-schedule", "at:0=2")
    assert "1 passed" in run(pytester, body, "--tdq-schedule", "at:")


def test_a_verified_test_writes_a_transcript(pytester: pytest.Pytester) -> None:
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
    text = run(pytester, body, "--tdq-transcript", "out.jsonl")
    assert "1 passed" in text, text
    from tdqsim import Region, define_tdqueue
    from tdqsim.testing import compare_transcript
    from tdqsim.testing.verified import load_transcript

    def make() -> Region:
        return Region([define_tdqueue(name="PAYQ", type="INTRA", recovstatus="LOGICAL")], supplied_queues=False)

    calls = load_transcript(pytester.path / "out.jsonl")
    assert [call.operation for call in calls][:3] == ["writeq_td", "begin", "readq_td"]
    assert compare_transcript(calls, make) == []
    wrong = calls[2]._replace(answer=calls[2].answer._replace(resp="QZERO", data=b""))
    (difference,) = compare_transcript([*calls[:2], wrong, *calls[3:]], make)
    assert "the target answered" in str(difference)
    assert difference.simulated.resp == "LENGERR"


# -- what goes wrong behind a test -------------------------------------------------------------------------------------

PAYMENTS = """\
group: PAY
tdqueue:
- {name: PAYQ, type: INTRA, transid: PAYP, triggerlevel: 1, atifacility: FILE}
transaction:
- {name: PAYP, handler: "payflow:post"}
"""
PAYFLOW = """\
seen = []

def post(task):
    seen.append(task.text(task.readq_td("PAYQ")))
    if seen[-1] == "BAD":
        raise ValueError("no such account")
"""


def test_the_fixture_loads_the_handlers_that_transactions_name(pytester: pytest.Pytester) -> None:
    place = pytester.mkdir("definitions")
    (place / "payments.yaml").write_text(PAYMENTS)
    (place / "payflow.py").write_text(PAYFLOW)
    body = """
import sys
import pytest
from tdqsim import define_tdqueue

@pytest.mark.tdq_definitions("definitions/payments.yaml")
@pytest.mark.parametrize("time", [1, 2])
def test_it(tdq_region, time):
    tdq_region.writeq_td("PAYQ", tdq_region.encode("GOOD"))
    assert sys.modules["payflow"].seen == ["GOOD"]  # imported anew for each test

@pytest.mark.tdq_definitions("definitions/payments.yaml", handlers=False)
def test_without(tdq_region):
    seen = []
    tdq_region.register("PAYP", lambda task: seen.append(task.text(task.readq_td("PAYQ"))))
    tdq_region.writeq_td("PAYQ", tdq_region.encode("MINE"))
    assert seen == ["MINE"]
    assert "payflow" not in sys.modules

@pytest.mark.tdq_definitions("definitions/payments.yaml")
class TestOfOneFile:
    @pytest.mark.tdq_definitions(define_tdqueue(name="MYQ", type="INTRA"), handlers=False)
    def test_with_a_second_marker(self, tdq_region):
        assert tdq_region.peek("MYQ") == []
        assert "payflow" not in sys.modules
"""
    text = run(pytester, body)
    assert "4 passed" in text, text


TRIGGERED = """
import pytest
from tdqsim import define_connection, define_tdqueue, define_terminal, define_transaction
QUEUE = define_tdqueue(name="PAYQ", type="INTRA", transid="PAYP", triggerlevel=1, atifacility="FILE")
TERM = define_tdqueue(name="PAYQ", type="INTRA", transid="PAYP", triggerlevel=1), define_transaction(name="PAYP")
SYST = define_tdqueue(name="PAYQ", type="INTRA", transid="PAYP", triggerlevel=1, atifacility="SYSTEM",
                      facilityid="CON1"), define_transaction(name="PAYP")
"""
WRONG = {
    "abend": ('"payments.yaml"', "BAD", ["task 2 PAYP: abend ASRA: ValueError: no such account (", "payflow.py:6)", 'tdq_expect("ASRA")']),
    "no_program": ("QUEUE, define_transaction(name='PAYP')", "A", ["DFHAC2016 TDQUEUE(PAYQ): No task of PAYP is attached: it has no program", 'tdq_expect("DFHAC2016")']),
    "no_transaction": ("QUEUE", "A", ["DFHTD0183 TDQUEUE(PAYQ): Its trigger starts no task: TRANSACTION PAYP is not defined.", 'tdq_expect("DFHTD0183")']),
    "disabled": ("QUEUE, define_transaction(name='PAYP', status='DISABLED')", "A", ["DFHAC2008 TDQUEUE(PAYQ): No task of PAYP is attached: TRANSACTION PAYP is disabled."]),
    "no_terminal": ("TERM", "A", ["TDQ0001 TDQUEUE(PAYQ): The task of its trigger (PAYP) waits for terminal PAYQ, which is not defined", "ATIFACILITY(FILE)"]),
    "terminal_out_of_service": ("TERM, define_terminal(name='PAYQ', inservice='NO')", "A", ["TDQ0002 TDQUEUE(PAYQ): The task of its trigger (PAYP) waits for terminal PAYQ, which is out"]),
    "no_connection": ("SYST", "A", ["TDQ0003 TDQUEUE(PAYQ): The task of its trigger (PAYP) waits for connection CON1, which is not defined"]),
    "connection_out_of_service": ("SYST, define_connection(name='CON1', netname='FAR', inservice='NO')", "A", ["TDQ0004 TDQUEUE(PAYQ)", "which is out of service"]),
    "connection_released": ("SYST, define_connection(name='CON1', netname='FAR')", "A", ["TDQ0053 TDQUEUE(PAYQ)", "whose connection is released"]),
    "terminal_of_a_released_system": ("TERM, define_terminal(name='PAYQ', remotesystem='FAR')", "A", ["TDQ0054 TDQUEUE(PAYQ)", "terminal PAYQ of system FAR, whose connection"]),
    "remote": ("QUEUE, define_transaction(name='PAYP', remotesystem='FAR')", "A", ["DFHTD0340 TDQUEUE(PAYQ): Its trigger starts no task: TRANSACTION PAYP is remote"]),
}  # fmt: skip
"""What goes wrong behind a WRITEQ: the definitions, the record, and what the report of the failed test says."""


@pytest.mark.parametrize("expected", [False, True])
def test_what_goes_wrong_in_a_triggered_task_fails_the_test_that_caused_it(
    pytester: pytest.Pytester, *, expected: bool
) -> None:
    pytester.path.joinpath("payments.yaml").write_text(PAYMENTS)
    pytester.path.joinpath("payflow.py").write_text(PAYFLOW)
    codes = '"ASRA", "4038", "DFHAC2016", "DFHTD0183", "DFHTD0340", "DFHAC2008", "TDQ0001", "TDQ0002", "TDQ0003", "TDQ0004", "TDQ0053", "TDQ0054"'
    mark = f"@pytest.mark.tdq_expect({codes})" if expected else ""
    tests = [
        f"""
{mark}
@pytest.mark.tdq_definitions({definitions})
def test_{name}(tdq_region):
    tdq_region.writeq_td("PAYQ", tdq_region.encode("{record}"))
    assert tdq_region.notices

def test_after_{name}(tdq_region):
    pass
"""
        for name, (definitions, record, _lines) in WRONG.items()
    ]
    text = run(pytester, TRIGGERED + "".join(tests))
    told = failures(text)
    assert list(told) == ([] if expected else [f"test_{name}" for name in WRONG]), text
    for name in () if expected else WRONG:
        assert [line for line in WRONG[name][2] if line not in told[f"test_{name}"]] == []
    assert ("22 passed" if expected else "11 failed, 11 passed") in text, text


def test_the_reason_is_told_where_the_own_assertion_of_the_test_fails_first(pytester: pytest.Pytester) -> None:
    names = ("no_program", "no_transaction", "disabled", "no_terminal")
    tests = [
        f"""
@pytest.mark.tdq_definitions({WRONG[name][0]})
def test_{name}(tdq_region):
    tdq_region.writeq_td("PAYQ", b"A")
    tdq_region.writeq_td("PAYQ", b"B")
    assert tdq_region.peek("PAYQ") == []
"""
        for name in names
    ]
    text = run(pytester, TRIGGERED + "".join(tests))
    told = failures(text)
    assert list(told) == [f"test_{name}" for name in names], text
    for name in names:
        assert told[f"test_{name}"].count(f"notice of region TDQREGN: {WRONG[name][2][0]}") == 1


def test_an_abend_that_somebody_was_told_of_and_a_trigger_that_starts_later_fail_no_test(
    pytester: pytest.Pytester,
) -> None:
    body = """
import pytest
from tdqsim import Abend, define_tdqueue, define_terminal, define_transaction

def test_result(tdq_region):
    handle = tdq_region.start(lambda task: task.abend("MINE"))
    with pytest.raises(Abend):
        handle.result()

def test_purge(tdq_region):
    handle = tdq_region.start(lambda task: task.delay(seconds=9))
    tdq_region.dispatcher.run_ready()
    assert tdq_region.purge(handle)
    tdq_region.run()

def test_closed_meanwhile(tdq_region):
    tdq_region.start(lambda task: task.delay(seconds=9))

@pytest.mark.tdq_definitions(
    define_tdqueue(name="PAYQ", type="INTRA", transid="PAYP", triggerlevel=1), define_transaction(name="PAYP")
)
def test_trigger(tdq_region):
    done = []
    tdq_region.register("PAYP", lambda task: done.extend(task.readq_td_all("PAYQ")))
    tdq_region.writeq_td("PAYQ", b"A")
    assert [each.id for each in tdq_region.notices.lasting] == ["TDQ0001"]
    tdq_region.install([define_terminal(name="PAYQ")])
    tdq_region.run()
    assert done == [b"A"]
    assert tdq_region.notices.lasting == ()
"""
    text = run(pytester, body)
    assert "4 passed" in text, text


def test_the_report_of_a_failed_test_has_the_last_five_dumps_once_each(pytester: pytest.Pytester) -> None:
    body = """
def test_it(tdq_region):
    for number in range(6):
        tdq_region.start(lambda task, code=f"AB0{number}": task.abend(code))
    tdq_region.run()
    with tdq_region.task() as task:
        task.abend("LAST")
"""
    found = re.findall(r"- dump of abend (\w+) -", run(pytester, body))
    assert found == ["AB02", "AB03", "AB04", "AB05", "LAST"]


def test_crashes_use_the_definitions_of_the_marker_and_their_handlers(pytester: pytest.Pytester) -> None:
    pytester.path.joinpath("payments.yaml").write_text(
        PAYMENTS.replace("name: PAYQ,", "name: PAYQ, recovstatus: LOGICAL,")
        + "dtaq:\n- {dtaq: QGPL/ORDERS, maxlen: 9}\n"
    )
    pytester.path.joinpath("payflow.py").write_text(PAYFLOW)
    body = """
import pytest
pytestmark = pytest.mark.tdq_definitions("payments.yaml")

def test_region(tdq_crashes):
    def scenario(region, told):
        region.writeq_td("PAYQ", region.encode("A"))
        told.append("written")

    def check(region, told):
        assert region.resources.transactions["PAYP"].program is not None
        assert region.peek("PAYQ") in ([], [region.encode("A")])

    assert tdq_crashes(scenario, check).tried > 3

def test_system(tdq_crashes):
    def scenario(system, told):
        system.job().qsnddtaq("ORDERS", "QGPL", b"A")

    report = tdq_crashes.system(scenario, lambda system, told: None)
    assert report.tried > 0
"""
    text = run(pytester, body)
    assert "2 passed" in text, text


def test_a_task_that_loops_ends_with_aica_and_its_dump(pytester: pytest.Pytester) -> None:
    body = """
import gc, time
import pytest
from tdqsim import define_tdqueue

def no_command(task):
    while True:
        pass

def asktime(task):
    while True:
        task.asktime()

def inquire(task):
    while True:
        task.inquire_tdqueue("PAYQ")

def catches(task):
    while True:
        try:
            asktime(task)
        except Exception:
            pass

@pytest.mark.tdq_runaway(0.2)
def test_catches(tdq_region):
    tdq_region.start(catches).result()

def collects(task):
    until = time.process_time() + 0.6
    def slow(phase, info):  # Python discards what is raised here
        while time.process_time() < until:
            sum(range(10000))
    gc.callbacks.append(slow)
    try:
        gc.collect()
    finally:
        gc.callbacks.remove(slow)
    no_command(task)

@pytest.mark.tdq_runaway(0.1)
def test_slow_dump(tdq_region, monkeypatch):
    def lines(*_):
        until = time.process_time() + 0.4
        while time.process_time() < until:
            sum(range(1000))
        return []
    monkeypatch.setattr("linecache.getlines", lines)
    tdq_region.start(no_command)
    tdq_region.run()

@pytest.mark.tdq_runaway(0.4)
def test_collector(tdq_region):
    tdq_region.start(collects)
    tdq_region.run()

def works(task):
    end = time.process_time() + 0.5
    while time.process_time() < end:
        pass
    return "done"

@pytest.mark.tdq_runaway(0)
def test_no_limit(tdq_region):
    assert tdq_region.start(works).result() == "done"
"""
    loops = ("no_command", "asktime", "inquire")
    for loop in loops:
        body += f"""
@pytest.mark.tdq_runaway(0.2)
@pytest.mark.tdq_definitions(define_tdqueue(name="PAYQ", type="INTRA", transid="PAYP", triggerlevel=1, atifacility="FILE"))
def test_{loop}(tdq_region):
    tdq_region.register("PAYP", {loop})
    tdq_region.writeq_td("PAYQ", b"A")
    assert tdq_region.peek("PAYQ") == [b"A"]

def test_after_{loop}(tdq_region):
    tdq_region.writeq_td("CSMT", b"A")
"""
    text = run(pytester, body, "--tdq-runaway", "0.1")
    told = failures(text)
    assert list(told) == ["test_catches", "test_slow_dump", "test_collector", *(f"test_{loop}" for loop in loops)]
    assert "6 failed, 4 passed" in text
    for loop in loops:
        report = told[f"test_{loop}"]
        assert "dump of abend AICA" in report
        assert "the task has run for 0.2 seconds of processor time without being suspended: it loops" in report
        assert "task 2 PAYP" in report
    assert "its program has caught the abend" in told["test_catches"]
    for name in ("test_slow_dump", "test_collector"):
        assert "dump of abend AICA" in told[name]  # not lost where Python discards it
        assert "has caught the abend" not in told[name]


def test_a_started_job_that_raises_fails_the_test_that_started_it(pytester: pytest.Pytester) -> None:
    body = """
import pytest

def pay(job):
    raise ValueError("no such account")

def test_told(tdq_system):
    tdq_system.start(pay, name="PAYJOB")
    tdq_system.run()

@pytest.mark.tdq_expect("ValueError")
def test_expected(tdq_system):
    tdq_system.start(pay, name="PAYJOB")
    tdq_system.run()
"""
    text = run(pytester, body)
    assert "1 failed, 1 passed" in text, text
    assert "/PAYJOB: no such account (" in failures(text)["test_told"]


@pytest.mark.parametrize(
    ("marker", "allowed"),
    [
        ("tdq_definitions()", "tdq_definitions(*what, handlers=True): definition files*"),
        ("tdq_definitions('a.yaml', grup='X')", "tdq_definitions(*what, handlers=True): definition files*"),
        ("tdq_definitions('a.yaml', handlers='no')", "tdq_definitions(*what, handlers=True): definition files*"),
        ("tdq_regions()", "tdq_regions(*what, common=''): *"),
        ("tdq_expect()", "tdq_expect(*codes): *"),
        ("tdq_expect('not a code')", "tdq_expect(*codes): *"),
        ("tdq_start({'COLD'})", "tdq_start(type): start type (AUTO, COLD, INITIAL) *"),
        ("tdq_start('WARM')", "tdq_start(type): start type (AUTO, COLD, INITIAL) *"),
        ("tdq_runaway('long')", "tdq_runaway(seconds): *"),
        ("tdq_seed('x')", "tdq_seed(number): *"),
    ],
)
def test_wrong_arguments_of_a_marker_are_refused(pytester: pytest.Pytester, marker: str, allowed: str) -> None:
    pytester.makepyfile(f"import pytest\n@pytest.mark.{marker}\ndef test_it(tdq_region): pass\n")
    result = run_direct(pytester)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    shown = marker.replace("(", "[(]", 1)
    result.stderr.fnmatch_lines([f"*test_it: marker {shown}: allowed is {allowed.replace('[', '[[]')}"])


def test_a_marker_of_a_test_without_a_fixture_is_refused(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("import pytest\n@pytest.mark.tdq_seed(7)\ndef test_it(): pass\n")
    result = run_direct(pytester)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*test_it: marker tdq_seed does nothing: the test asks for no fixture tdq_[*]"])
