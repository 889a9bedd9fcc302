"""The part of the pytest plugin for ``--tdq-evidence FILE``: collects what tests exercise, from every process."""

from __future__ import annotations

import json
from collections.abc import Generator
from pathlib import Path
from typing import Any, Final

import pytest

from tdqsim.core.symbolic_links import stays_here
from tests.quality.evidence import Evidence, EvidenceRecorder, load_evidence

_OUTPUT: Final = "tdq_evidence"


class EvidencePlugin:
    """Records what tests exercise, in each process that runs tests; the controlling process writes the file."""

    def __init__(self, config: pytest.Config) -> None:
        self._worker = getattr(config, "workeroutput", None)
        self._path = Path(config.getoption("--tdq-evidence"))
        self._gathered = Evidence()
        self._recorder = EvidenceRecorder()
        self._recorder.install()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Keep what a test has exercised, if it passed."""
        report = yield
        if report.when == "call" and report.passed:
            rules = [str(rule) for marker in item.iter_markers("rule") for rule in marker.args]
            two_forms = item.get_closest_marker("two_forms") is not None
            self._recorder.passed(item.nodeid, rules, report.duration, two_forms=two_forms)
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self) -> None:
        """Start the record of a test."""
        self._recorder.begin()

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Add the record of a worker of pytest-xdist that has ended."""
        self._gathered.merge(getattr(node, "workeroutput", {}).get(_OUTPUT, {}))

    def pytest_sessionfinish(self) -> None:
        """Pass the record to the controlling process, or write the file."""
        if self._worker is not None:
            self._worker[_OUTPUT] = self._recorder.evidence.as_dict()
            return
        total = load_evidence(self._path) if self._path.is_file() else Evidence()
        total.merge(self._recorder.evidence.as_dict())
        total.merge(self._gathered.as_dict())
        stays_here(self._path).write_text(json.dumps(total.as_dict(), indent=0), "utf-8")
