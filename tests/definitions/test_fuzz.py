"""Whatever the text: an answer or a DefinitionError, and in time that grows with the text's length."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tdqsim.definitions import load_region_file, parse_cl, parse_csd, parse_csd_listing, parse_dct, parse_definitions
from tdqsim.errors import DefinitionError

PIECES = [
    "DEFINE ", "TDQUEUE(", "TDQ(Q1)", " GROUP(G)", " TYPE(INTRA)", "TYPE(E)", "(", ")", "'", "''", "\n", "\n*", "//S DD *\n", "/*\n",
    "ADD ", "DESCRIPTION(", "*", " " * 30, "x" * 72, "DFHDCT ", "TYPE=", "INTRA", ",DESTID=Q1", "X\n", "KIKDCT", "CRTDTAQ ", "DTAQ(A/B)",
    " MAXLEN(5)", "+\n", "-\n", "/*", "*/", "group: G\n", "tdqueue:\n", "- name: Q1\n", "  type: INTRA\n", "[", "{", "}", "]", ": ", "!x ",
    "*a", "&a ", "\t", "\r\n", "\x00", "\ud800", "£", "é", '"', "|\n", ">\n", "%", "@", "---\n", "? ", "<<: ", "#", "LIST(", "\x1a", "\u2028",
]  # fmt: skip
texts = st.text(max_size=300) | st.lists(st.sampled_from(PIECES), max_size=40).map("".join)


@given(texts)
@pytest.mark.parametrize("parse", [parse_csd, parse_csd_listing, parse_dct, parse_cl])
def test_imports_take_anything(parse, text):
    found = parse(text)
    assert all(report.message for report in found.reports)
    assert all(entry.resource is not None for entry in found.definitions.entries)


def read_or_refused(text):
    try:
        return (), parse_definitions(text, file="f")
    except DefinitionError as error:
        return error.problems, None


@given(texts)
def test_yaml_is_read_or_refused(text):
    problems, found = read_or_refused(text)
    assert all(problem.file == "f" and problem.message for problem in problems)
    assert bool(problems) != (found is not None)


@given(st.binary(max_size=200))
def test_bytes_of_any_kind(data):
    text = data.decode("latin-1")
    for parse in (parse_csd, parse_csd_listing, parse_dct, parse_cl):
        parse(text)


KEYS = [
    "group", "groups", "tdqueue", "transaction", "terminal", "connection", "program", "dtaq", "name", "type", "INTRA", "EXTRA", "Q1",
    "applid", "dd", "path", "lrecl", "recfm", "dfhintra", "ci_size", "definitions", "start_transactions", "seed", "size", "handler", "waittime",
    "twasize", "definetime", "remotesystem", "dsname", "indirectname", "maxlen", "", "NO", "5", "X", "time_zone", "code_page",
]  # fmt: skip
values = st.recursive(
    st.sampled_from(KEYS) | st.integers() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=30,
)


@given(values)
def test_anything_in_any_place(value):
    """JSON is YAML: every key with every kind of value, in definition files and region files."""
    text = json.dumps(value)
    problems, found = read_or_refused(text)
    assert bool(problems) != (found is not None)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "region.yaml"
        path.write_text(text, "utf-8")
        try:
            load_region_file(path)
        except DefinitionError as error:
            assert all(problem.message for problem in error.problems)  # noqa: PT017 - either outcome is right


REPEATED = [
    "DEFINE TDQ(Q1) GROUP(G) TYPE(INTRA)\n", "A(\n", "A(", "A('\n", "(", ")", "'", "A ", "A", "\n", "*\n", "//S DD *\n", "A(b)", "A('x')",
    "DEFINE ", "DEFINE A(", "TDQ(Q) GROUP(G) ", " ", "''", "DFHDCT TYPE=INTRA,\n", " DFHDCT TYPE=INTRA,DESTID=Q1\n", f"{'a':71}X\n",
    " DFHDCT A=',", "CRTDTAQ A/B 5\n", "CRTDTAQ +\n", "/*", "*/", "+\n", "A(B(", "- ", "[", "a: ", "a:\n", "? ", "&a ", "- x\n", "'\n",
    '"', "|\n", "#\n", "{a, ", "%", "£", "<", "{{", "&", "@",
]  # fmt: skip


@pytest.mark.parametrize("piece", REPEATED)
def test_long_texts(piece):
    exercise(piece * (4_000 // len(piece)))


@pytest.mark.slow
@pytest.mark.parametrize("piece", REPEATED)
def test_very_long_texts(piece):
    exercise(piece * (300_000 // len(piece)))


@pytest.mark.slow
def test_a_million_lines():
    exercise("* comment\n" * 1_000_000)
    exercise("DEFINE TDQ(Q1) GROUP(G)\n" * 1_000_000)


def exercise(text):
    for parse in (parse_csd, parse_csd_listing, parse_dct, parse_cl):
        parse(text)
    problems, found = read_or_refused(text)
    assert bool(problems) != (found is not None)
