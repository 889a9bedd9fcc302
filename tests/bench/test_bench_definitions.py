"""How long it takes to load many definitions, beside PyYAML alone on the same text.

Run with ``pytest -m bench -s tests/bench/test_bench_definitions.py``. PyYAML's C loader makes dictionaries of untyped
values; loading definitions reads the same events, keeps lines, and checks every attribute.
"""

from __future__ import annotations

import itertools

import pytest
import yaml

from tdqsim.definitions import export_csd, parse_csd, parse_definitions
from tests.bench._ratio import compare, report
from tests.bench._table import hold

COUNT = 10_000
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"


def group(count: int) -> str:
    names = ("".join(letters) for letters in itertools.product(LETTERS, repeat=4))
    queue = (
        "- {{name: '{}', type: INTRA, transid: PAYP, triggerlevel: 5, recovstatus: LOGICAL, description: payments}}\n"
    )
    return "group: BIG\ntdqueue:\n" + "".join(queue.format(name) for name in itertools.islice(names, count))


@pytest.mark.bench
def test_loading_definitions():
    text = group(COUNT)
    definitions = parse_definitions(text)
    statements = export_csd(definitions)
    assert len(definitions.tdqueues) == len(parse_csd(statements).definitions.tdqueues) == COUNT

    def alone(n: int) -> None:
        for _ in range(n):
            yaml.load(text, yaml.CSafeLoader)

    def definition_file(n: int) -> None:
        for _ in range(n):
            parse_definitions(text)

    def define_statements(n: int) -> None:
        for _ in range(n):
            parse_csd(statements)

    costs = compare(
        {"definition file": definition_file, "CSD text": define_statements},
        n=1,
        rounds=3,
        reference=alone,
        reference_n=1,
    )
    report(f"{COUNT} definitions, against PyYAML's C loader on the same text", costs)
    for name, cost in costs.items():
        hold(10, cost.ratio, f"{COUNT:,} definitions from a {name}, to PyYAML's C loader on the text")
