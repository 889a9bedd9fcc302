"""The answers file: what is written is read again in every code page, and a file from elsewhere is checked."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tdqsim.errors import DefinitionError
from tdqsim.probe import Answers, Observation, compare, read_answers, write_answers

HEAD = b"TDQPROBE 1 CICS 5.6 #@$\n"
TWO = Answers("CICS", "5.6", (Observation("TD-DISABLED", "1", "RESP", "84"), Observation("EIB-TD", "2", "T1", "a  b")))


@pytest.mark.parametrize("lines", [True, False])
@pytest.mark.parametrize(
    ("page", "same"), [("819", "819"), ("037", "037"), ("1047", "037"), ("273", "273"), ("500", "037"), ("297", "297")]
)
def test_what_is_written_is_read_again(page: str, same: str, lines: bool) -> None:
    """``same`` is the first page that has the three characters of the header where this one has them."""
    read = read_answers(write_answers(TWO, code_page=page, lines=lines))
    assert read.code_page == same
    assert (read.product, read.release, read.observations, read.complete) == ("CICS", "5.6", TWO.observations, True)


def test_a_file_of_an_interrupted_program_is_incomplete() -> None:
    read = read_answers(HEAD + b"TD-DISABLED 1 RESP 84\n")
    assert not read.complete
    assert read.observations == TWO.observations[:1]
    assert read_answers(write_answers(read)) == read


@pytest.mark.parametrize(
    ("page", "end", "last"),
    [("819", b"\r\n", b"\x1a"), ("819", b"\n", b""), ("037", b"\x15", b""), ("037", b"\x25", b""), ("037", b"\n", b"")],
)
def test_lines_end_as_each_system_ends_them(page: str, end: bytes, last: bytes) -> None:
    data = write_answers(TWO, code_page=page).replace(b"\n" if page == "819" else b"\x15", end) + last
    assert read_answers(data).observations == TWO.observations


def test_a_file_has_at_most_sixteen_million_bytes(tmp_path: Path) -> None:
    file = tmp_path / "answers"
    file.write_bytes(HEAD)
    os.truncate(file, 16_000_001)
    with pytest.raises(DefinitionError, match="is longer than 16,000,000 bytes"):
        read_answers(file)


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
        pytest.param(
            HEAD + b"".join(b"TD-X %d RESP 0\n" % number for number in range(50_001)),
            50_002,
            "there are more than 50,000 observations",
            id="many",
        ),
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


def _file(*lines: str, product: str = "CICS", complete: bool = True) -> Answers:
    """The answers of lines: rule, step, field and value."""
    found = tuple(Observation(*(*line.split(" ", 3), "")[:4]) for line in lines)
    return Answers(product, "5.6", found, complete)


QNAME = "TASK-ASSIGN-QNAME"  # INVREQ, RESP2 4


@pytest.mark.parametrize(
    ("here", "there", "differ", "adopted"),
    [
        ("16 4", "16 9", ["RESP2"], {"resp2": "9"}),
        ("16 4", "22 4", ["RESP"], {"resp": "LENGERR"}),
        ("16 5", "16 9", ["RESP2"], {}),  # the simulator does not give what the row of the rule says
        ("0 4", "0 9", ["RESP2"], {}),
        ("16 4", "16", ["RESP2"], {}),
        ("16", "16 4", ["RESP2"], {}),
    ],
)
def test_the_answer_of_a_rule_is_adopted(here: str, there: str, differ: list[str], adopted: dict[str, str]) -> None:
    machine, own = (_answers(**dict(zip(("RESP", "RESP2"), each.split(), strict=False))) for each in (there, here))
    found = compare(machine, own)
    assert [each.field for each in found.differences] == differ
    assert found.adoptable == ({QNAME: adopted} if adopted else {})
    assert found.reasons.keys() == (set() if adopted else {QNAME})


def test_of_two_answers_to_a_rule_the_first_is_adopted_and_what_differs_beside_it_is_no_reason() -> None:
    machine, own = (
        _file(*(f"{QNAME} {step} {rest}" for step in (1, 2) for rest in ("RESP 16", f"RESP2 {reason[step - 1]}", text)))
        for reason, text in (("78", "T1 Y"), ("44", "T1 X"))
    )
    found = compare(machine, own)
    assert found.adoptable == {QNAME: {"resp2": "7"}}
    assert found.reasons == {}


@pytest.mark.parametrize(("here", "adopted"), [("CPF2498", True), ("CPF9501", False)])
def test_a_message_is_adopted_where_the_simulator_gives_that_of_the_rule(here: str, adopted: bool) -> None:
    machine, own = (_file(f"DTAQ-SEND-EMPTY 1 MESSAGE {each}", product="IBMI") for each in ("CPF9999", here))
    assert compare(machine, own).adoptable == ({"DTAQ-SEND-EMPTY": {"message": "CPF9999"}} if adopted else {})


@pytest.mark.parametrize(("complete", "differ"), [(True, [("1", "0"), ("2", None)]), (False, [("1", "0")])])
def test_of_the_last_rule_of_an_interrupted_file_only_what_is_there_is_compared(complete: bool, differ: list) -> None:
    own = _file("TD-DISABLED 1 RESP 0", f"{QNAME} 1 RESP 16", f"{QNAME} 2 RESP 16")
    machine = _file("TD-DISABLED 1 RESP 0", f"{QNAME} 1 RESP 0", complete=complete)
    assert [(each.step, each.machine) for each in compare(machine, own).differences] == differ


@pytest.mark.parametrize("order", [1, -1])
def test_of_a_case_whose_rest_one_side_has_left_out_only_what_both_have_is_compared(order: int) -> None:
    part = _file(f"{QNAME} 1 RESP 16", f"{QNAME} LEFT-OUT REASON There is none.")
    whole = _file(f"{QNAME} 1 RESP 0", f"{QNAME} 2 RESP 0")
    assert [each.step for each in compare(*(part, whole)[::order]).differences] == ["1"]


def test_a_comparison_counts_the_rules_of_both_and_names_those_of_one() -> None:
    machine = _file(f"{QNAME} 1 T1 X", f"{QNAME} 1 T2 Y", "EIB-TD 1 RESP 0")
    found = compare(machine, _file(f"{QNAME} 1 T1", "TD-DISABLED 1 RESP 84"))
    assert (found.tried, found.unknown, found.untried) == (1, ("EIB-TD",), ("TD-DISABLED",))
    assert "T1: the simulator answers (empty), the machine X" in found.text()
    assert "T2: the simulator answers (no answer), the machine Y" in found.text()


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
