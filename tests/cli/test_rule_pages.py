"""The chapters that are made from the tables of facts and from docstrings."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from pathlib import Path

from tdqsim.cics import COMMANDS
from tdqsim.cli.chapters import chapter_text
from tdqsim.cli.reference import MODULES, page
from tdqsim.facts import rules, table
from tdqsim.ibmi import DECLARATIONS

PUBLIC_NAMES = Path(__file__).parents[1] / "public" / "python.txt"


def test_every_rule_stands_with_its_source_in_one_chapter() -> None:
    chapters = {name: chapter_text(name) for name in ("sure", "differences", "choices")}
    homes = {"confirmed": "sure", "vendor source": "sure", "second-hand": "differences", "unconfirmed": "differences"}
    for rule in rules().values():
        row = f"| `{rule.id}` |"
        assert [name for name, text in chapters.items() if row in text] == [homes.get(rule.confidence, "choices")]
        if rule.address.startswith("https://"):
            assert f"]({rule.address})" in chapters[homes.get(rule.confidence, "choices")], rule.id


def test_the_degrees_of_confidence_add_up() -> None:
    text = chapter_text("sure")
    rows = [line.split(" | ") for line in text.partition("| --- |")[2].split("\n\n")[0].splitlines()[1:]]
    counts = {row[0].removeprefix("| "): int(row[1]) for row in rows}
    assert counts.pop("all") == sum(counts.values()) == len(rules())


def test_the_first_lines_tell_how_sure_the_rules_of_queues_are() -> None:
    lines = chapter_text("sure").splitlines()
    for line, name in zip(lines[2:4], ("transient data", "data queues"), strict=True):
        found = re.match(
            rf"- Of the (\d+) rules of {name}, .* say (\d+), .* say (\d+), (\d+) are .*, and (\d+) are", line
        )
        assert found is not None, line
        total, *degrees = map(int, found.groups())
        assert total == sum(degrees) > 100


def test_the_ten_open_points_are_open_and_say_what_to_do() -> None:
    points = table("open_points")
    assert len(points) == 10
    text = chapter_text("sure")
    for row in points:
        assert rules()[row["rule"]].confidence not in ("confirmed", "vendor source"), row["rule"]
        assert f"{row['point']} (`{row['rule']}`): {row['until']}" in text


def test_the_coverage_chapter_has_the_confidence_of_each_rule() -> None:
    text = chapter_text("coverage")
    assert "| confidence | rule |" in text
    for rule in rules().values():
        assert f"| {rule.confidence} | `{rule.id}` |" in text


def test_what_is_absent_stands_among_the_differences() -> None:
    differences = chapter_text("differences")
    for row in table("absent"):
        assert row["here"] in differences


def test_coverage_has_every_command_api_and_rule_and_names_no_test() -> None:
    text = chapter_text("coverage")
    for name in (*COMMANDS, *DECLARATIONS):
        assert f"\n| {name} | done |" in text or f"\n| {name} |  |" in text or f"\n| {name} | " in text, name
    for rule in rules().values():
        assert f"| {rule.confidence} | `{rule.id}` |" in text
    assert "| READQ TD | done |" in text
    heads = [
        line
        for line in text.splitlines()
        if line.startswith(("| command | s", "| option |", "| condition |", "| name |"))
    ]
    assert heads == [  # without the columns about tests, and with a state where not all is done
        "| command | state | options | conditions | without effect | rules |",
        "| option | INQUIRE | SET | values |",
        "| condition | RESP | state |",
        "| name | parameters | messages |",
    ]
    assert "tests/" not in text
    assert "untouched" not in text


def test_the_reference_has_every_public_name() -> None:
    pages = {module: page(module) for module in MODULES}
    overview = chapter_text("reference")
    for line in PUBLIC_NAMES.read_text("utf-8").splitlines():
        name = line.partition("(")[0]
        if name.startswith(("tdqsim.client.", "tdqsim.cobol.", "tdqsim.probe.")):
            continue  # the core's own reference does not have the extensions
        module = max((each for each in MODULES if name.startswith(f"{each}.")), key=len)
        below = name.removeprefix(f"{module}.")
        owner, _, member = below.partition(".")
        if owner.startswith("__"):
            continue
        if member and not hasattr(getattr(import_module(module), owner), member):
            continue  # a field, which its class describes
        value = inspect.getattr_static(getattr(import_module(module), owner), member) if member else None
        if callable(value) or isinstance(value, property):
            assert f"\n### {below}\n" in pages[module], name
        elif not member:
            assert f"\n## {below}\n" in pages[module], name
            assert f"| `{below}` |" in overview


def test_a_signature_and_the_parameters_of_a_docstring_are_shown() -> None:
    text = page("tdqsim.cics")
    section = text.partition("\n### Region.readq_td\n")[2].partition("\n### ")[0]
    assert "readq_td(" in section
    assert "    queue: QueueName,\n" in section
    assert "**Parameters:**" in section
    assert "- `queue`: " in section
