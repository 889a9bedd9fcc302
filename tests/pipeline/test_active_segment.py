"""The length of a record comes from the redefinition that it has: REDEFINES, DEPENDING ON, maps and record formats."""

from __future__ import annotations

import pytest

pytest.importorskip("pyarrow", reason="the extra tdqsim[spark] is not installed")

from tdqsim.errors import DatasetError
from tdqsim.pipeline.options import read_options
from tdqsim.pipeline.source import ReadPlan

TABLE_FIRST = (
    "01 R. 05 ID PIC X. 05 N PIC 9. 05 S1. 10 T PIC X(2) OCCURS 0 TO 3 DEPENDING ON N."
    " 05 S2 REDEFINES S1. 10 U PIC X(4)."
)
TABLE_LAST = (
    "01 R. 05 ID PIC X. 05 N PIC 9. 05 S2. 10 U PIC X(4)."
    " 05 S1 REDEFINES S2. 10 T PIC X(2) OCCURS 0 TO 3 DEPENDING ON N."
)
TABLES_IN_BOTH = (
    "01 R. 05 ID PIC X. 05 N PIC 9. 05 S1. 10 T PIC X(2) OCCURS 0 TO 3 DEPENDING ON N."
    " 05 S2 REDEFINES S1. 10 M PIC 9. 10 U PIC X OCCURS 0 TO 4 DEPENDING ON M."
)
MAP = {"segment_field": "ID", "redefine_segment_id_map:0": "S1 => 1", "redefine_segment_id_map:1": "S2 => 2"}
RULES = {"redefine_rule:0": "S1 => ID = '1'", "redefine_rule:1": "S2 => ID = '2'"}


FORMATS = ["F", "FB", "V", "VB", "VBS", "U", "D", "T", "length field"]
WORDS = {"is_rdw_big_endian": "true", "is_rdw_part_of_record_length": "true"}
BLOCK_WORDS = {"is_bdw_big_endian": "true", "bdw_adjustment": "-4"}


def with_word(data, code=0):
    return (len(data) + 4).to_bytes(2, "big") + bytes([code, 0]) + data


def stored(form, records, *, cobrix):
    """The bytes of records in a format, and the options that it needs; FB records are padded to the longest."""
    data, longest = [record.encode("cp037") for record in records], max(map(len, records))
    if form == "FB":
        block = {"block_length": str(longest)} if cobrix else {}
        return b"".join(each.ljust(longest, b"\x40") for each in data), {"record_length": str(longest), **block}
    if form == "V":
        return b"".join(map(with_word, data)), WORDS if cobrix else {}
    if form == "VB":
        return with_word(b"".join(map(with_word, data))), WORDS | BLOCK_WORDS if cobrix else {}
    if form == "VBS":  # each record in two segments, in blocks of their own
        halves = [(each[: len(each) // 2], each[len(each) // 2 :]) for each in data]
        blocks = [with_word(with_word(half, code)) for pair in halves for half, code in zip(pair, (1, 2), strict=True)]
        return b"".join(blocks), WORDS | BLOCK_WORDS if cobrix else {}
    if form == "U":
        return b"".join(each.ljust(longest, b"\x40") for each in data), {"block_length": str(longest)}
    if form == "D":
        return b"".join(each + b"\x15" for each in data), {"line_separator": "nl", "encoding": "ebcdic"}
    if form == "T":
        return "".join(f"{record}\n" for record in records).encode("ascii"), {}
    if form == "length field":
        return "".join(f"{len(record) + 2:02d}{record}" for record in records).encode("cp037"), {
            "record_length_field": "L"
        }
    return b"".join(data), {}


def rows(path, copybook, records, *, cobrix=False, **more):
    form = more.pop("record_format", "F")
    data, needed = stored(form, records, cobrix=cobrix)
    path.write_bytes(data)
    if form == "length field":
        copybook = copybook.replace("01 R.", "01 R. 05 L PIC 9(2).")
    else:
        needed = {"record_format": form} | needed
    given = {"path": str(path), "copybook_contents": copybook, "variable_size_occurs": "true", **needed, **more}
    plan = ReadPlan.of(read_options(given, cobrix=cobrix))
    return [row for part in plan.splits() for batch in plan.read(part) for row in batch.to_pylist()]


@pytest.mark.parametrize("cobrix", [False, True], ids=["qsam", "cobol"])
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("told", [MAP, RULES], ids=["map", "rules"])
@pytest.mark.parametrize("copybook", [TABLE_FIRST, TABLE_LAST], ids=["table first", "table last"])
def test_records_are_as_long_as_the_segment_that_they_have(tmp_path, copybook, told, form, cobrix):
    found = rows(tmp_path / "d", copybook, ["12AABB", "20WXYZ", "11CC"], cobrix=cobrix, record_format=form, **told)
    assert [row["ID"] for row in found] == ["1", "2", "1"]
    assert [row["S1"] and row["S1"]["T"] for row in found] == [["AA", "BB"], None, ["CC"]]
    assert [row["S2"] and row["S2"]["U"] for row in found] == [None, "WXYZ", None]


@pytest.mark.parametrize("cobrix", [False, True], ids=["qsam", "cobol"])
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("told", [MAP, RULES], ids=["map", "rules"])
def test_each_segment_has_a_table_of_its_own(tmp_path, told, form, cobrix):
    records = ["12AABB", "203xyz", "10", "200", "13AABBCC"]
    found = rows(tmp_path / "d", TABLES_IN_BOTH, records, cobrix=cobrix, record_format=form, **told)
    assert [(row["S1"] or {}).get("T") for row in found] == [["AA", "BB"], None, [], None, ["AA", "BB", "CC"]]
    assert [(row["S2"] or {}).get("U") for row in found] == [None, ["x", "y", "z"], None, [], None]


@pytest.mark.parametrize("cobrix", [False, True], ids=["qsam", "cobol"])
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("copybook", [TABLE_FIRST, TABLE_LAST], ids=["table first", "table last"])
def test_without_a_map_records_of_known_length_have_both_redefinitions(tmp_path, copybook, form, cobrix):
    if form == "F":
        return  # see below
    found = rows(tmp_path / "d", copybook, ["12AABB", "20WXYZ", "13AABBCC"], cobrix=cobrix, record_format=form)
    assert [row["S1"]["T"] for row in found] == [["AA", "BB"], [], ["AA", "BB", "CC"]]
    assert [row["S2"]["U"] for row in found] == ["AABB", "WXYZ", "AABB"]


@pytest.mark.parametrize("cobrix", [False, True], ids=["qsam", "cobol"])
@pytest.mark.parametrize("copybook", [TABLE_FIRST, TABLE_LAST, TABLES_IN_BOTH])
def test_without_a_map_the_length_is_not_known_and_the_options_are_named(tmp_path, copybook, cobrix):
    with pytest.raises(DatasetError, match="segment_field and redefine_segment_id_map:N"):
        rows(tmp_path / "d", copybook, ["12AABB", "20WXYZ"], cobrix=cobrix)


def test_a_segment_that_the_map_lacks_is_refused_where_it_is(tmp_path):
    with pytest.raises(DatasetError, match="record 2, at offset 6: segment '9' has no redefinition, so the length"):
        rows(tmp_path / "d", TABLE_FIRST, ["12AABB", "90WXYZ"], **MAP)


@pytest.mark.parametrize("cobrix", [False, True], ids=["qsam", "cobol"])
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("copybook", [TABLE_FIRST, TABLES_IN_BOTH])
def test_without_a_map_the_place_of_a_field_behind_is_not_known(tmp_path, copybook, form, cobrix):
    options = "segment_field and redefine_segment_id_map:N = NAME => ID, or by redefine_rule:N; or, if tables take all"
    with pytest.raises(DatasetError, match=f"the place of Z depends on T, which .* {options}"):
        rows(tmp_path / "d", copybook + " 05 Z PIC X.", ["12AABBz"], cobrix=cobrix, record_format=form)


@pytest.mark.parametrize("form", FORMATS)
def test_without_a_map_a_field_behind_stays_where_tables_take_all_their_room(tmp_path, form):
    records, given = ["12AABB  z", "20WXYZ  y"], {"variable_size_occurs": "max_size", "record_format": form}
    found = rows(tmp_path / "d", TABLE_FIRST + " 05 Z PIC X.", records, **given)
    assert [(row["S1"]["T"], row["S2"]["U"], row["Z"]) for row in found] == [
        (["AA", "BB"], "AABB", "z"), ([], "WXYZ", "y")
    ]  # fmt: skip


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("told", [MAP, RULES], ids=["map", "rules"])
def test_a_field_after_the_redefinitions_stays_at_its_place(tmp_path, told, form):
    copybook = TABLE_FIRST + " 05 Z PIC X."
    found = rows(tmp_path / "d", copybook, ["12AABBz", "20WXYZ  y", "11CCx"], record_format=form, **told)
    assert [row["Z"] for row in found] == ["z", "y", "x"]
