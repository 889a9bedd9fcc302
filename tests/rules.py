"""How tests are tied to the rows of the rule tables.

A test names its rows with ``@pytest.mark.rule("ID", ...)`` and compares what happened with the row, through
:func:`rule` or :func:`expect_rule`, so that altering the row makes the test fail. The slow check in
``tests/facts/test_rule_alterations.py`` does just that: it sets ``TDQ_RULES_ALTER=ID:column=value`` and expects failure.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from tdqsim.errors import DefinitionError, TdqError
from tdqsim.facts import Resp, Rule, rules


def rule(rule_id: str) -> Rule:
    """The row with this id; KeyError names an id that no table holds."""
    row = rules().get(rule_id)
    if row is None:
        raise KeyError(f"no rules table has a row {rule_id}")
    target, _, change = os.environ.get("TDQ_RULES_ALTER", "").partition(":")
    if target == rule_id:
        column, _, value = change.partition("=")
        row = row._replace(**{column: value})
    return row


def expect_rule(rule_id: str, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Run the call and assert that it ended as the row says.

    A row with RESP NORMAL: the call returns, and its value is returned. Any other RESP (name or number): a condition with
    that ``resp``, and with ``resp2`` when the row has one. A row with a message only: an error whose ``message_id`` is the
    row's message or whose text holds it (for a DefinitionError: the text of one of its problems). The error is returned.
    """
    row = rule(rule_id)
    assert row.resp or row.message, f"{rule_id}: the row has no outcome to compare; use the marker alone"
    try:
        result = call(*args, **kwargs)
    except TdqError as error:
        _compare(row, error)
        return error
    assert row.resp in ("NORMAL", "0"), f"{rule_id}: expected {row.resp or row.message}, the call returned {result!r}"
    return result


def _compare(row: Rule, error: TdqError) -> None:
    if row.resp:
        expected = Resp(int(row.resp)) if row.resp.isdigit() else Resp[row.resp]
        assert getattr(error, "resp", None) == expected, f"{row.id}: expected {expected.name}, got {error!r}"
        if row.resp2:
            assert getattr(error, "resp2", None) == int(row.resp2), f"{row.id}: RESP2 {row.resp2} expected: {error!r}"
        return
    message_id = getattr(error, "message_id", None)
    if message_id is not None:
        assert message_id == row.message, f"{row.id}: expected {row.message}, got {error!r}"
        return
    texts = [problem.message for problem in error.problems] if isinstance(error, DefinitionError) else [str(error)]
    assert any(row.message in text for text in texts), f"{row.id}: none of {texts} holds {row.message!r}"
