"""Nothing that one test leaves is found by the next."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from tests.testing.leaving import CASES
from tests.testing.test_plugin import run

pytest_plugins = ["pytester"]

TEST = """
import pytest
from tests.testing.leaving import CASES, DD, DEFINITIONS

@pytest.mark.tdq_expect("LEFT")
@pytest.mark.tdq_definitions(DEFINITIONS)
@pytest.mark.parametrize("turn", ["first", "second"])
def test_it(tdq_make_region, turn):
    CASES["{kind}"](tdq_make_region(dd=DD))
"""


JOBS = """
import pytest

@pytest.mark.parametrize("turn", ["first", "second"])
def test_it(tdq_system, turn):
    assert "LEFT" not in tdq_system.profiles
    tdq_system.crtusrprf("LEFT")
    job = tdq_system.job(user="LEFT")
    job.crtdtaq(dtaq="QGPL/LEFT", maxlen=20)
    job.crtdtaq(dtaq="QGPL/FORCED", maxlen=20, force="*YES")
    for queue in ("LEFT", "FORCED"):
        assert job.qrcvdtaq(queue, "QGPL") is None
        job.qsnddtaq(queue, "QGPL", b"left")
"""


def test_what_a_system_of_one_test_has_is_not_there_in_the_next(pytester: pytest.Pytester) -> None:
    text = run(pytester, JOBS)
    assert "2 passed" in text, text


def test_a_session_in_this_process_leaves_no_module_twice(pytester: pytest.Pytester) -> None:
    test = "def test_it(tdq_region, tdq_clock):\n    tdq_region.peek('CSMT')\n"
    assert "1 passed" in run(pytester, test, "--tdq-report", "page.html")
    loaded = {name: module for name, module in sys.modules.items() if name.partition(".")[0] == "tdqsim"}
    parts = [part for module in loaded.values() for part in vars(module).values() if isinstance(part, ModuleType)]
    ours = [part for part in parts if part.__name__.partition(".")[0] == "tdqsim"]
    assert ours
    assert [part for part in ours if loaded.get(part.__name__) is not part] == []


@pytest.mark.parametrize("kind", CASES)
def test_what_one_test_leaves_is_not_there_in_the_next(pytester: pytest.Pytester, kind: str) -> None:
    text = run(pytester, TEST.format(kind=kind))
    assert "2 passed" in text, text
