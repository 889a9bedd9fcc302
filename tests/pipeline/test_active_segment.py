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


def rows(path, copybook, records, *, cobrix=False, **more):
    form = more.get("record_format", "F")
    data = [record.encode("cp037") for record in records]
    if form == "V":
        data = [(len(each) + 4).to_bytes(2, "big") + b"\0\0" + each for each in data]
        if cobrix:
            more |= {"is_rdw_big_endian": "true", "is_rdw_part_of_record_length": "true"}
    if form == "D":
        data = [each + b"\x15" for each in data]
        more |= {"line_separator": "nl"}
        if cobrix:
            more |= {"encoding": "ebcdic"}
    path.write_bytes(b"".join(data))
    given = {"path": str(path), "copybook_contents": copybook, "variable_size_occurs": "true", **more}
    plan = ReadPlan.of(read_options(given, cobrix=cobrix))
    return [row for part in plan.splits() for batch in plan.read(part) for row in batch.to_pylist()]


@pytest.mark.parametrize("cobrix", [False, True], ids=["qsam", "cobol"])
@pytest.mark.parametrize("form", ["F", "V", "D"])
@pytest.mark.parametrize("told", [MAP, RULES], ids=["map", "rules"])
@pytest.mark.parametrize("copybook", [TABLE_FIRST, TABLE_LAST])
def test_records_are_as_long_as_the_segment_that_they_have(tmp_path, copybook, told, form, cobrix):
    found = rows(tmp_path / "d", copybook, ["12AABB", "20WXYZ", "11CC"], cobrix=cobrix, record_format=form, **told)
    assert [row["ID"] for row in found] == ["1", "2", "1"]
    assert [row["S1"] and row["S1"]["T"] for row in found] == [["AA", "BB"], None, ["CC"]]
    assert [row["S2"] and row["S2"]["U"] for row in found] == [None, "WXYZ", None]


@pytest.mark.parametrize("form", ["F", "V"])
def test_each_segment_has_a_table_of_its_own(tmp_path, form):
    records = ["12AABB", "203xyz", "10", "200", "13AABBCC"]
    found = rows(tmp_path / "d", TABLES_IN_BOTH, records, record_format=form, **MAP)
    assert [(row["S1"] or {}).get("T") for row in found] == [["AA", "BB"], None, [], None, ["AA", "BB", "CC"]]
    assert [(row["S2"] or {}).get("U") for row in found] == [None, ["x", "y", "z"], None, [], None]


@pytest.mark.parametrize("cobrix", [False, True], ids=["qsam", "cobol"])
@pytest.mark.parametrize("copybook", [TABLE_FIRST, TABLE_LAST, TABLES_IN_BOTH])
def test_without_a_map_the_length_is_not_known_and_the_options_are_named(tmp_path, copybook, cobrix):
    with pytest.raises(DatasetError, match="segment_field and redefine_segment_id_map:N"):
        rows(tmp_path / "d", copybook, ["12AABB", "20WXYZ"], cobrix=cobrix)


def test_a_segment_that_the_map_lacks_is_refused_where_it_is(tmp_path):
    with pytest.raises(DatasetError, match="record 2, at offset 6: segment '9' has no redefinition, so the length"):
        rows(tmp_path / "d", TABLE_FIRST, ["12AABB", "90WXYZ"], **MAP)


def test_a_field_after_the_redefinitions_stays_at_its_place(tmp_path):
    copybook = TABLE_FIRST + " 05 Z PIC X."
    found = rows(tmp_path / "d", copybook, ["12AABBz", "20WXYZ  y", "11CCx"], **MAP)
    assert [row["Z"] for row in found] == ["z", "y", "x"]
