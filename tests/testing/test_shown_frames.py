"""Which lines a failed test shows: the user's, and not those of the package."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests import apart
from tests.testing.test_plugin import installed

HEAD = """
import pytest
from tdqsim import Region, define_tdqueue, define_transaction
from tdqsim.testing import assert_records, raises_condition

pytestmark = pytest.mark.tdq_definitions(
    define_tdqueue(name="PAYQ", type="INTRA"),
    define_tdqueue(name="TRGQ", type="INTRA", atifacility="FILE", transid="TRGT", triggerlevel=1),
    define_transaction(name="TRGT"),
)

def reads(task):
    task.readq_td("PAYQ")  # in a handler

def fails(task):
    raise KeyError("in a handler")

"""
CASES = {
    "a refused command": ("tdq_region", ["tdq_region.readq_td('PAYQ')"]),
    "a refused EXEC text": ("tdq_region", ["tdq_region.execute('READQ TD')"]),
    "a wrong type": ("tdq_region", ["tdq_region.writeq_td('PAYQ', 'text')"]),
    "an abend of a task": (
        "tdq_region",
        ["handle = tdq_region.start(reads)", "tdq_region.run()", "handle.result()"],
        'task.readq_td("PAYQ")  # in a handler',
    ),
    "an exception of a handler": (
        "tdq_region",
        ["handle = tdq_region.start(fails)", "tdq_region.run()", "handle.result()"],
        'raise KeyError("in a handler")',
    ),
    "a task in a with statement": ("tdq_region", ["with tdq_region.task() as task:", "    task.abend('LEFT')"]),
    "an assertion of the kit": ("tdq_region", ["assert_records(tdq_region, 'PAYQ', [b'one'])"]),
    "another condition": (
        "tdq_region",
        ["with raises_condition('NOSPACE'):", "    tdq_region.readq_td('PAYQ')"],
        "tdq_region.readq_td('PAYQ')",
        "with raises_condition('NOSPACE'):",
    ),
    "no such option": ("tdq_region", ["with tdq_region.task() as task:", "    task.set_tdqueue('PAYQ', status=1)"]),
    "an IBM i message": ("tdq_job", ["tdq_job.qrcvdtaq('PAYQ', 'QGPL')"]),
    "without a fixture": ("", ["with Region([]) as region:", "    region.readq_td('PAYQ')"]),
    "a definition": ("", ["define_tdqueue(name='TOOLONG', type='INTRA')"]),
}
OTHERS = """
@pytest.mark.tdq_definitions("none.yaml")
def test_definitions(tdq_region):
    pass

def test_trigger(tdq_region):
    tdq_region.register("TRGT", reads)
    tdq_region.writeq_td("TRGQ", b"one")

def test_fault(tdq_region):
    core, queues = tdq_region._core, tdq_region._core.tdqueues
    core.tdqueues = None
    try:
        tdq_region.peek("PAYQ")
    finally:
        core.tdqueues = queues  # the report of the failure reads them
"""


def run_apart(place: Path, text: str, *options: str) -> str:
    """What a session prints that runs these tests, in a process of its own: it hides frames of the package."""
    (place / "test_it.py").write_text(text, "utf-8")
    plugins = [] if installed() else ["-p", "tdqsim.testing.plugin"]
    done = apart.run("-m", "pytest", "-q", "-p", "no:cacheprovider", *options, *plugins, "test_it.py", cwd=place)
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def failures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What a session prints of the failure of each case, and of the other tests by their names."""
    tests = [
        f"def test_{number}({fixture}):\n    " + "\n    ".join(lines) + "\n"
        for number, (fixture, lines, *_) in enumerate(CASES.values())
    ]
    text = run_apart(tmp_path_factory.mktemp("cases"), HEAD + "\n".join(tests) + OTHERS)
    text, _, summary = text.partition("short test summary")
    head, *parts = re.split(r"^_+ (?:ERROR at setup of )?test_(\w+) _+$", text, flags=re.MULTILINE)
    assert "tdqsim/" not in head + summary
    assert "entries are hidden" not in head + summary
    numbers = [str(number) for number in range(len(CASES))]
    assert parts[::2] == ["definitions", *numbers, "trigger", "fault"], text
    return dict(zip(["definitions", *CASES, "trigger", "fault"], parts[1::2], strict=True))


@pytest.mark.parametrize("name", CASES)
def test_a_failure_shows_the_lines_of_the_user(failures: dict[str, str], name: str) -> None:
    _, lines, *handler = CASES[name]
    text = failures[name]
    shown = re.findall(r"^>\s+(.*)", text, re.MULTILINE)
    assert shown == (handler if name == "another condition" else [*handler, lines[-1].strip()]), text
    assert "tdqsim/" not in text
    assert "entries are hidden" not in text


def test_a_failure_by_a_trigger_names_the_line_of_the_handler(failures: dict[str, str]) -> None:
    line = 1 + HEAD[: HEAD.index("# in a handler")].count("\n")
    assert re.search(rf"queue PAYQ is empty \(/\S+/test_it\.py:{line}\)", failures["trigger"])
    assert "tdqsim/" not in failures["trigger"]
    assert "entries are hidden" not in failures["trigger"]


def test_a_project_of_the_same_name_is_the_user_s(tmp_path: Path) -> None:
    project = tmp_path / "tdqsim" / "tests"
    project.mkdir(parents=True)
    body = "tdq_region.register('TRGT', reads)\n    tdq_region.writeq_td('TRGQ', b'one')\n"
    assert f"({project}/test_it.py:" in run_apart(project, f"{HEAD}def test_it(tdq_region):\n    {body}")


def test_the_wrong_definitions_of_a_fixture_are_shown_without_the_package(failures: dict[str, str]) -> None:
    assert re.search(r"(?<!\S)/\S+/none\.yaml: cannot be read", failures["definitions"])
    assert "tdqsim/" not in failures["definitions"]


@pytest.mark.parametrize("options", [["--full-trace"], ["-p", "no:tdqsim-frames"]])
def test_the_lines_of_the_package_are_shown_on_demand(tmp_path: Path, options: list[str]) -> None:
    text = run_apart(tmp_path, f"{HEAD}def test_it(tdq_region):\n    tdq_region.readq_td('PAYQ')\n", *options)
    assert "tdqsim/" in text


def test_the_lines_of_a_fault_of_the_package_are_shown(failures: dict[str, str]) -> None:
    assert "tdqsim/" in failures["fault"]
