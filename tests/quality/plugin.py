"""The pytest options of the project's own tests: ``-p tests.quality.plugin``."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tdqsim quality")
    group.addoption("--tdq-evidence", default="", metavar="FILE", help="add what tests that pass exercise to this file")
    group.addoption("--tdq-ablate", default="", metavar="CLAIM", help="run tests without a command, option, ...")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--tdq-evidence"):
        from tests.quality._evidence_plugin import EvidencePlugin

        config.pluginmanager.register(EvidencePlugin(config), "tdqsim-evidence")
    if config.getoption("--tdq-ablate"):
        from tests.quality._ablation_plugin import AblationPlugin

        config.pluginmanager.register(AblationPlugin(config), "tdqsim-ablation")
