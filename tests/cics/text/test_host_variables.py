"""Host variables of command text: names, groups, tables, parts of them, and areas that receive."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tdqsim.cics import Condition, Region, Task
from tdqsim.definitions import define_tdqueue
from tdqsim.errors import TdqError


@pytest.fixture
def task() -> Iterator[Task]:
    queue = define_tdqueue(name="Q", type="INTRA")
    with Region([queue], supplied_queues=False, applid="SHORT") as region, region.task() as made:
        yield made


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("X OF H OF G", b"deep"),
        ("ws-rec", b"rec"),
        ("A-B", b"as written"),
        ("T(2)", b"two"),
        ("T(I)", b"two"),
        ("S(9:2)", b"89"),
        ("S(10:)", b"9"),
        ("S(1:)", b"0123456789"),
        ("S) LENGTH(LENGTH OF I", b"0123"),
    ],
)
def test_what_a_name_stands_for(task: Task, source: str, wanted: bytes) -> None:
    variables = {
        "a-b": b"lower", "A_B": b"underline", "A-B": b"as written", "WS_REC": b"rec", "T": [b"one", b"two"], "I": 2,
        "G": {"H": {"X": b"deep"}}, "S": b"0123456789",
    }  # fmt: skip
    task.execute(f"WRITEQ TD QUEUE('Q') FROM({source})", variables)
    assert task.readq_td("Q") == wanted


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("T(0)", r"T\(0\): subscript 0 is not in 1 to 2"),
        ("T(3)", r"T\(3\): subscript 3 is not in 1 to 2"),
        ("S(9:3)", r"S\(9:3\): positions 9 to 11 are not all in 1 to 10"),
        ("S(0:3)", r"S\(0:3\): positions 0 to 2 are not all in 1 to 10"),
        ("S) LENGTH(N", r"LENGTH must be a whole number, not b'.x00.x00.x03'"),
        ("S) LENGTH(M", "LENGTH is -1; allowed are 1 to"),
    ],
)
def test_what_is_not_there_is_refused(task: Task, source: str, words: str) -> None:
    variables = {"T": [b"one", b"two"], "S": b"0123456789", "N": b"\x00\x00\x03", "M": b"\xff\xff"}
    with pytest.raises((TdqError, Condition), match=words):
        task.execute(f"WRITEQ TD QUEUE('Q') FROM({source})", variables)


def test_variables_that_are_no_mapping_are_refused_before_the_command_is_issued(task: Task) -> None:
    task.writeq_td("Q", b"stays")
    for wrong in ("x", [1]):
        with pytest.raises(TypeError, match=r"^execute: variables is .*; allowed is a dict of values by name$"):
            task.execute("READQ TD QUEUE('Q') RESP(R)", wrong)  # type: ignore[arg-type]
    assert task.readq_td("Q") == b"stays"


def read(task: Task, into: str, record: bytes, variables: dict[str, Any]) -> dict[str, Any]:
    task.writeq_td("Q", record)
    task.execute(f"READQ TD QUEUE('Q') INTO({into})", variables)
    return variables


def test_an_area_receives_at_its_beginning_each_time_and_keeps_its_size(task: Task) -> None:
    variables: dict[str, Any] = {"A": bytearray(b"........")}
    assert read(task, "A", b"abc", variables) == {"A": bytearray(b"abc.....")}
    assert read(task, "A(3:4)", b"de", variables) == {"A": bytearray(b"abde....")}
    assert read(task, "A", b"z", variables) == {"A": bytearray(b"zbde....")}


def test_a_receiver_is_found_by_its_other_spelling_and_in_tables_of_tables(task: Task) -> None:
    assert read(task, "WS-REC", b"new", {"WS_REC": b"old"}) == {"WS_REC": b"new"}
    table = {"T": [[bytearray(2), bytearray(2)], [bytearray(2), bytearray(2)]]}
    assert read(task, "T(2,1)", b"zz", table)["T"] == [[b"\0\0", b"\0\0"], [b"zz", b"\0\0"]]
    assert read(task, "T(1,2)", b"yy", table)["T"] == [[b"\0\0", b"yy"], [b"zz", b"\0\0"]]


def test_values_in_areas_are_as_cics_stores_them(task: Task) -> None:
    areas: dict[str, Any] = {"NAME": bytearray(b"........"), "TIME": bytearray(8), "MANY": bytearray(4)}
    task.execute("ASSIGN APPLID(NAME)", areas)
    assert areas["NAME"] == "SHORT   ".encode("cp037")
    moment = task.execute("ASKTIME ABSTIME(TIME)", areas)["ABSTIME"]
    assert areas["TIME"].hex().upper() == f"{moment:015d}C"  # packed decimal
    task.writeq_td("Q", b"x")
    task.execute("INQUIRE TDQUEUE('Q') NUMITEMS(MANY)", areas)
    assert areas["MANY"] == b"\0\0\0\x01"
    with pytest.raises(TdqError, match=r"NAME\(1:4\) has 4 bytes and may receive 8: CICS would write beyond it"):
        task.execute("ASSIGN APPLID(NAME(1:4))", areas)
    assert areas["NAME"] == "SHORT   ".encode("cp037")
