"""Every rule in words has an example that is executed, or a reason why it has none."""

from __future__ import annotations

import pytest

from tdqsim.facts import rules
from tests.facts._examples import ExampleFailed, examples, needs, run_example
from tests.facts._steps import agrees, altered, literal, parse_steps

IN_WORDS = {row.id for row in rules().values() if not row.resp and not row.message}

PROSE = {
    "RESTART-COLD-KILLED": "the region has to be killed between two writes of its start, which only a copied store shows",
}
"""Rules that stay words only, each with the reason; the tests that carry them are ordinary ones."""


@pytest.mark.parametrize("rule_id", [pytest.param(each.id, marks=needs(each)) for each in examples().values()])
def test_the_example_of_a_rule(rule_id):
    run_example(examples()[rule_id])


def test_every_rule_in_words_has_an_example_or_a_reason():
    assert IN_WORDS - examples().keys() == PROSE.keys()
    assert len(PROSE) <= 30
    assert examples().keys() <= IN_WORDS


def test_every_example_compares_something():
    assert [each.id for each in examples().values() if not any(step.compared for step in each.then)] == []


@pytest.mark.parametrize(
    ("example", "words"),
    [
        ("READQ TD QUEUE(NOR1)", "QZERO"),
        ("READQ TD QUEUE(NOR1) -> NORMAL", "QZERO"),
        ("1 + 1 -> 3", "was 2"),
        ("T1 WRITEQ TD QUEUE(LOG1) FROM(A)\nT2 READQ TD QUEUE(LOG1) -> A", "waits"),
        ("T1 WRITEQ TD QUEUE(LOG1) FROM(A)\nT2 READQ TD QUEUE(LOG1)", "waits"),
        ('region.tdqueues["NONE"]', "KeyError"),
    ],
)
def test_an_example_that_does_not_hold_fails(example, words):
    steps = tuple(parse_steps(example))
    with pytest.raises(ExampleFailed, match=words):
        run_example(examples()["TD-FIFO"]._replace(given=(), when=(), then=steps))


@pytest.mark.parametrize("value", ["A", "'1'", "1", "True", "[]", "{}", '["A"]', '{"RESP": "QZERO"}', "None"])
def test_an_altered_value_no_longer_agrees(value):
    outcome = literal(value)
    assert agrees(literal(value), outcome)
    assert not agrees(altered(literal(value)), outcome)
