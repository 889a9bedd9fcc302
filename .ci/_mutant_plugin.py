"""The pytest plugin of .ci/mutants.py.

It writes down how long each test took that passed, or, given a list of tests, it runs those in that order and writes
down which of them failed, and which modules of tests could not be collected.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path

import pytest

TIMES = "TDQ_MUTANTS_TIMES"
CHOSEN = "TDQ_MUTANTS_CHOSEN"
FAILED = "TDQ_MUTANTS_FAILED"
CURRENT = "TDQ_MUTANTS_TEST"
"""The test that runs; unlike PYTEST_CURRENT_TEST it stays so while a test runs pytest."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    os.environ[CURRENT] = written(item)
    try:
        return (yield)
    finally:
        os.environ.pop(CURRENT, None)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if TIMES in os.environ and report.when == "call" and report.passed:
        with Path(os.environ[TIMES]).open("a", encoding="utf-8") as file:
            file.write(f"{report.duration:.4f}\t{written(item)}\n")
    if FAILED in os.environ and report.failed:
        with Path(os.environ[FAILED]).open("a", encoding="utf-8") as file:
            file.write(f"{written(item)}\n")
    return report


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if FAILED in os.environ and report.failed:
        with Path(os.environ[FAILED]).open("a", encoding="utf-8") as file:
            file.write(f"{report.nodeid} cannot be collected\n")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if CHOSEN in os.environ:
        order = {test: at for at, test in enumerate(Path(os.environ[CHOSEN]).read_text("utf-8").split("\n"))}
        items[:] = sorted((item for item in items if written(item) in order), key=lambda item: order[written(item)])


def written(item: pytest.Item) -> str:
    """The test's id as pytest writes it into the environment."""
    return item.nodeid.replace("\x00", "(null)")
