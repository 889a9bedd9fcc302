"""Nothing that one test leaves is found by the next."""

from __future__ import annotations

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


@pytest.mark.parametrize("kind", CASES)
def test_what_one_test_leaves_is_not_there_in_the_next(pytester: pytest.Pytester, kind: str) -> None:
    text = run(pytester, TEST.format(kind=kind))
    assert "2 passed" in text, text
