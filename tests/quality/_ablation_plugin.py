"""What ``--tdq-ablate`` adds to the pytest plugin: tests run while a claim is taken away.

``--tdq-ablate CLAIM`` runs the chosen tests once, without the claim; a test that holds it fails. ``--tdq-ablate @FILE``
is for :mod:`~tests.quality.ablation`: the file says which tests to try for which claim, as JSON. For each claim they
run in turn, until one passes as it is and fails without the claim. The file with ``.done`` behind its name gets lines
of JSON:

    {"claim": "option READ TOKEN", "test": "tests/...::test_..."}     this test holds it
    {"claim": "option READ TOKEN", "test": ""}                        no test that was tried holds it
    {"trying": "option READ TOKEN", "test": "tests/...::test_..."}    the process ends here if the test never ends

A test that fails may leave something that makes others fail. So until a test has failed in a process, each runs as it
is first, and is passed over if it fails. After that each runs without the claim first, and one that fails must pass as
it is; if it does not, the process ends, and another one begins with its claim.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, Final

import pytest
from _pytest.runner import runtestprotocol

from tests.quality.evidence import EvidenceRecorder

_PROCESSOR_SECONDS: Final = 10
_SECONDS: Final = 60
"""A test that uses more processor time, or takes longer, has failed."""


class AblationPlugin:
    """Runs tests without a claim; see the module."""

    def __init__(self, config: pytest.Config) -> None:
        self._recorder = EvidenceRecorder()
        self._recorder.install()
        given = str(config.getoption("--tdq-ablate"))
        self._plan = Path(given[1:]) if given.startswith("@") else None
        self._failed = False
        if self._plan is None:
            self._recorder.ablated = given

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self) -> None:
        """Forget what an earlier test exercised."""
        self._recorder.begin()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """Try the claims of the plan, in place of running the tests in order."""
        if self._plan is None or session.config.option.collectonly:
            return None
        items = {item.nodeid: item for item in session.items}
        with self._plan.with_name(f"{self._plan.name}.done").open("a", encoding="utf-8", buffering=1) as done:
            for claim, tests in json.loads(self._plan.read_text("utf-8")).items():
                known = [items[test] for test in tests if test in items]
                for item in known:
                    verdict = self._try(claim, item, done)
                    if verdict is None:
                        return True
                    if verdict:
                        done.write(json.dumps({"claim": claim, "test": item.nodeid}) + "\n")
                        break
                else:
                    done.write(json.dumps({"claim": claim, "test": ""}) + "\n")
        return True

    def _try(self, claim: str, item: pytest.Item, done: Any) -> bool | None:
        """Whether a test fails only without the claim; None if this process must end."""
        fresh = not self._failed
        if fresh and not self._passes(item):
            return False
        done.write(json.dumps({"trying": claim, "test": item.nodeid}) + "\n")
        self._recorder.ablated = claim
        try:
            passes = self._passes(item)
        finally:
            self._recorder.ablated = ""
        self._failed = self._failed or not passes
        return False if passes else True if fresh or self._passes(item) else None

    @staticmethod
    def _passes(item: Any) -> bool:
        """Whether nothing of a test fails; one that is skipped notices nothing either."""
        if hasattr(item, "_initrequest"):
            item._initrequest()
        try:
            with _limit(item.nodeid):
                reports = runtestprotocol(item, nextitem=None, log=False)
        except pytest.fail.Exception:  # the time was over between two phases of the test
            return False
        return not any(report.failed for report in reports)


@contextmanager
def _limit(test: str) -> Iterator[None]:
    """Fail a test that takes too long."""

    def late(_number: int, _frame: FrameType | None) -> None:
        pytest.fail(f"{test} takes too long", pytrace=False)

    timers = ((signal.ITIMER_PROF, signal.SIGPROF, _PROCESSOR_SECONDS), (signal.ITIMER_REAL, signal.SIGALRM, _SECONDS))
    before = [signal.signal(number, late) for _timer, number, _limit in timers]
    for timer, _number, limit in timers:
        signal.setitimer(timer, limit)
    try:
        yield
    finally:
        for (timer, number, _limit), handler in zip(timers, before, strict=True):
            signal.setitimer(timer, 0)
            signal.signal(number, handler)
