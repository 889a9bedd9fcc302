"""Limits that keep hostile files from costing much."""

from __future__ import annotations

import pytest

from tdqsim.definitions import imports as imports_module
from tdqsim.definitions import parse_csd, parse_definitions
from tdqsim.errors import DefinitionError, Problem


def test_reports_are_limited():
    text = "WIBBLE(\n" * (10_100)
    assert len(parse_csd(text).reports) == 10_000


@pytest.mark.parametrize("depth", [21, 100_000])
@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "? "])
def test_nesting_is_limited(opening, depth):
    with pytest.raises(DefinitionError) as caught:
        parse_definitions(opening * depth)
    (problem,) = caught.value.problems
    assert ("nested more than 20 levels deep" in problem.message) is (opening != "? ")  # a name must be text


def test_a_value_as_long_as_allowed_is_read():
    with pytest.raises(DefinitionError, match="at most 58 printable"):
        parse_definitions(f"group: G\ntdqueue:\n- {{name: Q, type: INTRA, description: {'x' * 32768}}}\n")


def test_a_value_longer_than_allowed_is_refused_where_it_stands():
    text = f"group: G\ntdqueue:\n- {{name: Q, type: INTRA, description: {'x' * 32769}}}\n"
    with pytest.raises(DefinitionError, match="32768"):
        parse_definitions(text)


def test_nesting_as_deep_as_allowed_is_read():
    with pytest.raises(DefinitionError) as caught:
        parse_definitions("[" * 20 + "]" * 20)
    assert "nested" not in str(caught.value)


def test_problems_are_limited():
    text = "group: G\ntdqueue:\n" + "- {name: TOOLONG, type: INTRA}\n" * 1100
    with pytest.raises(DefinitionError) as caught:
        parse_definitions(text)
    assert len(caught.value.problems) == 1000


def test_messages_do_not_repeat_long_values():
    with pytest.raises(DefinitionError) as caught:
        parse_definitions(f"group: G\ntdqueue:\n- {{name: {'Q' * 30_000}, type: INTRA}}\n")
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("word", "found"),
    [("TRIG", "TRIGGERLEVEL"), ("TR", None), ("TYPE", "TYPE"), ("TYPEF", "TYPEFILE"), ("", None), ("X", None)],
)
def test_unique_beginnings(word, found):
    assert imports_module.expand(word, ["TYPE", "TYPEFILE", "TRANSID", "TRIGGERLEVEL"]) == found


@pytest.mark.parametrize("part", ["x", "\u20ac", "\0"])
def test_a_problem_is_told_in_at_most_4_kb(part):
    much = part * 100_000
    problem = Problem("file.yaml", 3, much, much, much, much)
    assert len(str(problem).encode()) <= 4096
    assert str(problem).count("00,0") >= 3  # how long each part is
    assert str(problem).startswith("file.yaml:3: ")
    assert str(Problem("f", 0, "", "name", "PAYQ", "is wrong")) == "f: name = 'PAYQ': is wrong"


def test_a_problem_of_a_file_is_told_in_at_most_4_kb():
    for text in ("group: G\ntdqueue:\n- {%s: 1}\n", "group: G\ntdqueue:\n- {name: [%s]}\n", "- %s\n", "{%s"):
        with pytest.raises(DefinitionError) as caught:
            parse_definitions(text % ("x" * 300_000))
        assert all(len(str(each).encode()) <= 4096 for each in caught.value.problems)
