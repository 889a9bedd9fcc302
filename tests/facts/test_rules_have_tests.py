"""Every rule has a test, and every marker names a rule."""

from __future__ import annotations

import pytest

from tdqsim.facts import rules
from tests.facts._markers import marked_tests

pytestmark = pytest.mark.house


def test_every_rule_has_a_test_and_every_marker_names_a_rule():
    missing = sorted(rules().keys() - marked_tests().keys())
    assert not missing, f"rules without a test: {missing}"
    unknown = {rule_id: tests for rule_id, tests in marked_tests().items() if rule_id not in rules()}
    assert not unknown, f"markers without a row: {unknown}"
