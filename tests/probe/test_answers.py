"""The answers file: what is written is read again in every code page, and a file from elsewhere is checked."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tdqsim.errors import DefinitionError
from tdqsim.probe import Answers, Observation, compare, read_answers, write_answers

HEAD = b"TDQPROBE 1 CICS 5.6 #@$\n"
TWO = Answers("CICS", "5.6", (Observation("TD-DISABLED", "1", "RESP", "84"), Observation("EIB-TD", "2", "T1", "a  b")))


@pytest.mark.parametrize("lines", [True, False])
@pytest.mark.parametrize("page", ["819", "037", "1047", "273", "500"])
def test_what_is_written_is_read_again(page: str, lines: bool) -> None:
    read = read_answers(write_answers(TWO, code_page=page, lines=lines))
    assert (read.product, read.release, read.observations, read.complete) == ("CICS", "5.6", TWO.observations, True)


def test_a_file_of_an_interrupted_program_is_incomplete() -> None:
    read = read_answers(HEAD + b"TD-DISABLED 1 RESP 84\n")
    assert not read.complete
    assert read.observations == TWO.observations[:1]


def test_bytes_without_a_name_are_called_bytes() -> None:
    with pytest.raises(DefinitionError, match=r"^<bytes>:2: "):
        read_answers(HEAD + b"TD-DISABLED 1\n")


def test_control_characters_of_a_machine_are_shown_as_dots() -> None:
    read = read_answers(HEAD + b"EIB-TD 1 T1 a\x00\x1b[2Jb\n*END 1\n")
    assert read.observations[0].value == "a..[2Jb"


@pytest.mark.parametrize(
    ("data", "line", "words"),
    [
        (b"", 1, "does not begin with TDQPROBE"),
        (b"PK\x03\x04", 1, "does not begin with TDQPROBE"),
        (b"TDQPROBE 2 CICS 5.6 #@$\n", 1, "has format 2; this tdqsim reads format 1"),
        (b"TDQPROBE 1 VSE 5.6 #@$\n", 1, "CICS or IBMI"),
        (HEAD + b"TD-DISABLED 1\n", 2, "fewer parts"),
        (HEAD + b"td-x 1 RESP 0\n", 2, "allowed is a rule id"),
        (HEAD + b"TD-X toolongstep RESP 0\n", 2, "allowed is 1 to 8 characters"),
        (HEAD + b"TD-X 1 RESP 0\nTD-X 1 RESP 1\n", 3, "is there twice"),
        (HEAD + b"TD-X 1 RESP 0\n*END 2\n", 3, "allowed is *END, or *END 1"),
        (HEAD + b"*END 0\nTD-X 1 RESP 0\n", 3, "after the trailer"),
        (HEAD + b"TD-X 1 T1 " + b"x" * 300, 2, "allowed are 255"),
    ],
)
def test_a_file_that_is_wrong_is_refused_with_its_line(data: bytes, line: int, words: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        read_answers(data, "answers")
    assert caught.value.problems[0].line == line
    assert words in str(caught.value)


@given(st.binary(max_size=400))
@settings(max_examples=100, deadline=None)
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    for start in (b"", HEAD):
        with suppress(DefinitionError):
            assert read_answers(start + data).product in {"CICS", "IBMI"}


def _answers(**values: str) -> Answers:
    return Answers("CICS", "5.6", tuple(Observation("TASK-ASSIGN-QNAME", "1", *item) for item in values.items()))


def test_a_comparison_names_the_rules_that_differ() -> None:
    found = compare(_answers(RESP="16", RESP2="9"), _answers(RESP="16", RESP2="4"))
    assert found.rules == ("TASK-ASSIGN-QNAME",)
    assert "RESP2: the simulator answers 4, the machine 9" in found.text()
    assert found.adoptable == {"TASK-ASSIGN-QNAME": {"resp2": "9"}}


def test_what_depends_on_the_environment_is_not_compared() -> None:
    ignored = {("TASK-ASSIGN-QNAME", "1", "RESP2")}
    assert compare(_answers(RESP="16", RESP2="9"), _answers(RESP="16", RESP2="4"), ignored=ignored).rules == ()


def test_a_difference_beside_the_answer_of_the_rule_is_reported_only() -> None:
    found = compare(_answers(T1="X"), _answers(T1="Y"))
    assert found.rules == ("TASK-ASSIGN-QNAME",)
    assert found.adoptable == {}
    assert "TASK-ASSIGN-QNAME" in found.reasons
