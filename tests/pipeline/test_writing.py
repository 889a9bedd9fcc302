# ruff: noqa: E402 - what the extra brings is imported after asking for it
"""Data sets written in every format: a slow reader of this file finds the records, and a read gives equal rows."""

from __future__ import annotations

import struct
from decimal import Decimal

import pytest
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st

np = pytest.importorskip("numpy", reason="the extra tdqsim[spark] is not installed")
pa = pytest.importorskip("pyarrow", reason="the extra tdqsim[spark] is not installed")

from tdqsim.errors import ConversionError, DatasetError, TdqError
from tdqsim.facts import table as facts_of
from tdqsim.pipeline.decoder import RecordDecoder
from tdqsim.pipeline.option_table import declared_options
from tdqsim.pipeline.options import read_options
from tdqsim.pipeline.source import ReadPlan
from tdqsim.pipeline.splits import plan
from tdqsim.pipeline.writer import PartWriter, commit_parts, write_data_set
from tdqsim.testing.strategies import records
from tests.layouts.strategies import copybooks

COPYBOOK = "01 R. 05 KIND PIC X. 05 ID PIC 9(5). 05 AMOUNT PIC S9(3)V99 COMP-3. 05 NAME PIC X(8)."
ROWS = [
    {"KIND": "C", "ID": 1, "AMOUNT": Decimal("-1.25"), "NAME": "abc"},
    {"KIND": "P", "ID": 2, "AMOUNT": Decimal("7.00"), "NAME": "defgh"},
    {"KIND": "C", "ID": 3, "AMOUNT": None, "NAME": "i j"},
]


def read(path, **options):
    chosen = read_options({"path": str(path), **options})
    reader = ReadPlan.of(chosen)
    return [row for split in plan(chosen) for batch in reader.read(split) for row in batch.to_pylist()]


# a slow reader --------------------------------------------------------------------------------------------------------


def chopped(data, size):
    return [data[at : at + size] for at in range(0, len(data), size)]


def blocks(data, big, adjustment):
    while data:
        word = data[:4] if big else data[3::-1]
        size = struct.unpack(">I", word)[0] & 0x7FFFFFFF if word[0] & 0x80 else struct.unpack(">HH", word)[0]
        assert size + adjustment > 0
        yield data[4 : 4 + size + adjustment]
        data = data[4 + size + adjustment :]


def segments(data, big, adjustment):
    """The segment code and the bytes of each record or segment with a descriptor word."""
    while data:
        size = struct.unpack(">H" if big else "<H", data[:2] if big or any(data[:2]) else data[2:4])[0] + adjustment
        assert 0 <= size <= len(data) - 4
        yield data[2] & 3 if big or any(data[:2]) else 0, data[4 : 4 + size]
        data = data[4 + size :]


def joined(parts):
    """Whole records of their segments."""
    made = []
    for code, part in parts:
        if code in (0, 1):
            made.append(part)
        else:
            made[-1] += part
    return made


def slowly(data, options, width):
    """The records in a file, by options that are all given."""
    form = options["record_format"]
    big_rdw, big_bdw = (options.get(name) != "false" for name in ("is_rdw_big_endian", "is_bdw_big_endian"))
    rdw = int(options.get("rdw_adjustment", 0)) - 4 * (options.get("is_rdw_part_of_record_length") == "true")
    bdw = int(options.get("bdw_adjustment", 0))
    if form in ("D", "D2", "T"):
        end = {"lf": b"\n", "crlf": b"\r\n", "nl": b"\x15"}[options["line_separator"]]
        assert not data or data.endswith(end)
        return data.split(end)[:-1]
    if form in ("V", "RDW"):
        return [part for _, part in segments(data, big_rdw, rdw)]
    if form == "FB" and "bdw_adjustment" in options:
        return [record for block in blocks(data, big_bdw, bdw) for record in chopped(block, width)]
    if form in ("VB", "VS", "VBS"):
        each = [list(segments(block, big_rdw, rdw)) for block in blocks(data, big_bdw, bdw)]
        assert form != "VS" or all(len(block) == 1 for block in each)
        return joined(part for block in each for part in block)
    return chopped(data, width)


flags = st.sampled_from(["true", "false"])


@st.composite
def formats(draw, form, width):
    """Options of a record format, all of them given."""
    options = {"record_format": form}
    if form in ("V", "RDW", "VB", "VS", "VBS"):
        options |= {"is_rdw_big_endian": draw(flags), "is_rdw_part_of_record_length": draw(flags)}
        if draw(st.booleans()):
            options["rdw_adjustment"] = str(draw(st.integers(-9, 0)))
    if form in ("VB", "VS", "VBS") or (form == "FB" and draw(st.booleans())):
        options |= {"is_bdw_big_endian": draw(flags), "bdw_adjustment": str(draw(st.sampled_from([-4, 0, -9])))}
    if form == "VB":
        options["block_length"] = str(width + draw(st.integers(8, 200)))
    if form in ("VS", "VBS"):
        options["block_length"] = str(draw(st.integers(9, 200)))
    if form == "FB" and "bdw_adjustment" not in options:
        options["block_length"] = str(width * draw(st.integers(1, 3)))
    if form == "U":
        options["block_length"] = str(width)
    if form in ("D", "D2", "T"):
        options["line_separator"] = draw(st.sampled_from(["lf", "crlf", "nl"]))
    return options


PAGES = [
    {"ebcdic_code_page": "cp037_extended"}, {"ebcdic_code_page": "cp273"}, {"ebcdic_code_page": "1047_extended"}, {"ebcdic_code_page": "1140"}, {"encoding": "ascii"}
]  # fmt: skip
FORMATS = list(declared_options("qsam_options")["record_format"].words)


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_that_can_be_read_is_written(form, tmp_path):
    @settings(max_examples=12, deadline=None, phases=(Phase.explicit, Phase.reuse, Phase.generate))
    @given(copybooks(), st.sampled_from(PAGES), st.booleans(), st.data())
    def check(text, page, cobrix, data):
        width = read_options({"copybook_contents": text}).layout.length
        page = {"encoding": "ebcdic", **page}
        more = {"string_trimming_policy": "keep_all", "debug_ignore_file_size": "true"}
        moving = "shift_record" if data.draw(st.booleans()) and form not in ("U", "FB") else "max_size"
        options = data.draw(formats(form, width)) | page | more | {"variable_size_occurs": moving}
        chosen = read_options(options | {"copybook_contents": text, "path": str(tmp_path / "out")}, cobrix=cobrix)
        layout = chosen.layout
        truth = data.draw(st.lists(records(layout), max_size=6))
        bad_end = chosen.recfm.separator[-1:]
        assume(not bad_end or not any(bad_end in one or one[-1:] == b"\r" or one == b"\x1a" for one in truth))
        assume(chosen.rdw_big_endian or cobrix or not chosen.recfm.spanned)
        lengths = [len(record) for record in truth]
        starts = [sum(lengths[:number]) for number in range(len(truth))]
        rows = RecordDecoder(layout, chosen.shape).decode(
            b"".join(truth), np.array(starts, int), np.array(lengths, int)
        )
        # Not every number that a REDEFINES makes of a text can be written; the text has all its bytes.
        given_rows = rows.select([name for name in rows.schema.names if not name.startswith("G")])
        writer = PartWriter(chosen, given_rows.schema)
        half = len(truth) // 2
        parts = [writer.write([given_rows.slice(half)], 1), writer.write([given_rows.slice(0, half)], 0)]
        commit_parts(chosen, parts, overwrite=True)
        written = (tmp_path / "out").read_bytes()
        if chosen.counted:
            assert written == b"".join(truth)
        else:
            assert slowly(written, options, width) == truth
        if written:
            reader = ReadPlan.of(chosen)
            again = [row for split in plan(chosen) for batch in reader.read(split) for row in batch.to_pylist()]
            assert again == rows.to_pylist()
        assert [each.name for each in tmp_path.iterdir()] == ["out"]

    check()


def test_rows_are_mappings_tables_or_records(tmp_path):
    path = tmp_path / "out"
    assert write_data_set(ROWS, path, copybook_contents=COPYBOOK) == 3
    assert path.read_bytes().hex() == (
        "c3f0f0f0f0f100125d818283" + "40" * 5 + "d7f0f0f0f0f200700c8485868788" + "40" * 3
        + "c3f0f0f0f0f3000000894091" + "40" * 5
    )  # fmt: skip
    table = pa.Table.from_pylist(ROWS, schema=ReadPlan.of(read_options({"copybook_contents": COPYBOOK})).schema)
    for rows in (table, table.to_reader(), (row for row in ROWS), table.combine_chunks().to_batches()[0]):
        write_data_set(rows, path, mode="append", copybook_contents=COPYBOOK)
    assert read(path, copybook_contents=COPYBOOK) == 5 * ROWS
    write_data_set([b"abc", {"Record_Bytes": b"d"}], path, mode="overwrite", record_format="V")
    assert path.read_bytes().hex() == "00070000616263" + "0005000064"
    with pytest.raises(DatasetError, match="out: exists already; choose mode overwrite or append"):
        write_data_set([b"abc"], path, record_format="V")
    with pytest.raises(DatasetError, match="mode is 'ignore'; must be error, overwrite or append"):
        write_data_set([b"abc"], path, mode="ignore", record_format="V")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"ID": 123456}, "record 2: ID: '123456' does not fit; allowed: 5 digits with scale 0"),
        ({"ID": -1}, "record 2: ID: '-1' does not fit; allowed: no negative numbers, the PICTURE has no S"),
        ({"ID": 1.5}, "record 2: ID: '1.5' does not fit; allowed: an int or a Decimal"),
        ({"ID": "x"}, "record 2: ID: 'x' does not fit; allowed: an int or a Decimal"),
        (
            {"AMOUNT": Decimal("1.234")},
            "record 2: AMOUNT: '1.234' does not fit; allowed: 2 digits after the decimal point",
        ),
        ({"NAME": "123456789"}, "record 2: NAME: '123456789' does not fit; allowed: text of 8 bytes"),
        ({"NAME": "ab\u20acd"}, "record 2: NAME: .*(euro|20AC|\u20ac).*037"),
        ({"NAME": 5}, "record 2: NAME: '5' does not fit; allowed: text"),
        ({"T": 5}, "record 2: T: '5' does not fit; allowed: a list of at most 2 elements"),
        ({"T": [{"A": "x"}] * 3}, "record 2: T: 3 elements were given; 2"),
        ({"T": ["x"]}, "record 2: T: 'x' does not fit; allowed: a struct of A"),
        ({"T": [{"A": "x"}, {"A": "yz"}]}, "record 2: T.* 'yz' does not fit; allowed: text of 1 bytes"),
        ({"EXTRA": 1}, "the copybook has no field for the column EXTRA"),
        ({"ID": None, "NAME": None}, ""),
    ],
)
def test_a_value_that_does_not_fit_is_named_and_nothing_is_written(tmp_path, change, words):
    text = COPYBOOK + " 05 T OCCURS 2. 10 A PIC X."
    rows = [ROWS[0] | {"T": []}, ROWS[1] | {"T": []} | change]
    target = tmp_path / "made" / "for" / "it"
    for more in ({}, {"output": "directory"}, {"partition_by": "KIND"}):
        given = {"copybook_contents": text, "ebcdic_code_page": "037", "record_format": "VB", **more}
        if words:
            with pytest.raises(TdqError, match=words):
                write_data_set(rows, target, **given)
            assert list(tmp_path.iterdir()) == []
        else:
            assert write_data_set(rows, target, mode="overwrite", **given) == 2
            return


def test_a_row_without_a_column_is_refused(tmp_path):
    with pytest.raises(DatasetError, match="the copybook's field NAME has no column NAME"):
        write_data_set([ROWS[0], {"KIND": "C", "ID": 1, "AMOUNT": None}], tmp_path / "a", copybook_contents=COPYBOOK)
    with pytest.raises(DatasetError, match=r"b'abc.*is no row: with a copybook, a row is a mapping"):
        write_data_set([b"abc"], tmp_path / "a", copybook_contents=COPYBOOK)
    with pytest.raises(ConversionError, match="record 2: Record_Bytes: '5' is no bytes"):
        write_data_set([b"abc", {"Record_Bytes": 5}], tmp_path / "a", record_format="V")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("record", "options", "words"),
    [
        (
            b"ab",
            {"record_format": "F", "record_length": "3"},
            "has 2 bytes: all records of record_format F have 3 bytes",
        ),
        (
            b"ab",
            {"record_format": "U", "block_length": "3"},
            "has 2 bytes: all records of record_format U have 3 bytes",
        ),
        (b"a" * 9, {"record_format": "VB", "record_length": "12"}, "has 9 bytes: at most 8 are allowed"),
        (b"a" * 65533, {"record_format": "V"}, "has 65533 bytes: its descriptor word would contain 65537"),
        (
            b"",
            {"record_format": "V", "is_rdw_part_of_record_length": "false"},
            "would contain 0; allowed are 1 to 65535",
        ),
        (b"a\nb", {"record_format": "D"}, "byte 1 is X'0A', which ends a line"),
        (b"a\nb", {"record_format": "D", "line_separator": "crlf"}, "byte 1 is X'0A', which ends a line"),
        (b"ab\r", {"record_format": "D"}, "its last byte is X'0D'"),
        (b"", {"record_format": "D"}, "a read would skip an empty record"),
        (b"\x1a", {"record_format": "D"}, "a line of X'1A' marks the end of the file"),
        (b"ab", {"record_format": "V", "minimum_record_length": "3"}, "a read would skip it"),
        (b"abc", {"record_format": "V", "maximum_record_length": "2"}, "a read would skip it"),
    ],
)
def test_a_record_that_would_not_be_read_is_refused(tmp_path, record, options, words):
    good = {"3": b"abc", "2": b"ab"}[options.get("maximum_record_length", "3")]
    batches = pa.table({"Record_Bytes": pa.chunked_array([[good, good], [good, record]])})
    for rows, number in (([good, record], 2), (batches, 4)):
        with pytest.raises(ConversionError, match=f"record {number}: the record .*{words}"):
            write_data_set(rows, tmp_path / "out", **options)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("part_of_length", "size"), [("true", 65531), ("false", 65535)])
def test_the_longest_record_is_written_and_read(tmp_path, part_of_length, size):
    path, options = tmp_path / "out", {"record_format": "V", "is_rdw_part_of_record_length": part_of_length}
    write_data_set([b"a" * size], path, **options)
    assert path.read_bytes() == b"\xff\xff\x00\x00" + b"a" * size
    assert [len(row["Record_Bytes"]) for row in read(path, **options)] == [size]


@pytest.mark.parametrize(("adjustment", "word"), [("-10", "80008002"), ("-7", "7fff0000")])
def test_a_long_block_has_the_descriptor_word_of_large_blocks(tmp_path, adjustment, word):
    path = tmp_path / "out"
    given = {"record_format": "FB", "record_length": "32760", "is_bdw_big_endian": "true", "bdw_adjustment": adjustment}
    write_data_set([bytes(32760)] * 2, path, **given)
    assert [path.read_bytes()[at : at + 4].hex() for at in (0, 32764)] == [word] * 2
    assert len(read(path, **given)) == 2


@pytest.mark.parametrize(
    ("form", "block_length", "lengths"),
    [("VB", 32, ["00200000", "00120000"]), ("VBS", 22, ["00120000"] * 3)],  # no segment without data at the end
)
def test_a_block_is_filled_as_far_as_whole_records_or_segments_with_data_go(tmp_path, form, block_length, lengths):
    path = tmp_path / "out"
    write_data_set([bytes(10)] * 3, path, record_format=form, record_length="18", block_length=str(block_length))
    written = path.read_bytes()
    found = []
    while written:
        found.append(written[:4].hex())
        written = written[int.from_bytes(written[:2], "big") :]
    assert found == lengths


@pytest.mark.parametrize("option", [row["option"] for row in facts_of("qsam_options") if row["applies"] == "read only"])
def test_options_that_only_a_read_has_are_refused(tmp_path, option):
    values = {"flatten": "true", "paths": "a", "data_paths": "a", "record_extractor": "m:f"}
    values |= dict.fromkeys(("file_start_offset", "file_end_offset"), "5")
    given = {
        "path": str(tmp_path / "out"),
        "copybook_contents": "01 H. 05 A PIC X. 01 R. 05 B PIC X.",
        "record_length": "2",
    }
    given |= {"record_extractor": "m:f"} if option == "re_additional_info" else {}
    given |= {"record_header_parser": "m:f"} if option == "rhp_additional_info" else {}
    if option in ("record_extractor", "re_additional_info", "rhp_additional_info"):
        del given["record_length"]
    if option == "data_paths":
        del given["path"]
    given |= {option: values.get(option, "H")}
    with pytest.raises(DatasetError, match=rf"{option}.*only for reading|one path is written"):
        PartWriter(read_options(given), None)


def test_bytes_that_a_read_skips_are_written_as_zeros(tmp_path):
    more = {"record_start_offset": "2", "record_end_offset": "1", "copybook_contents": COPYBOOK}
    for form in ("F", "V"):
        write_data_set(ROWS, tmp_path / form, record_format=form, **more)
        assert read(tmp_path / form, record_format=form, **more) == ROWS
    raw = [row["Record_Bytes"] for row in read(tmp_path / "V", record_format="V")]
    assert [(record[:2], record[-1:], len(record)) for record in raw] == [(b"\0\0", b"\0", 20)] * 3
    kept = more | {"generate_record_bytes": "true", "record_format": "F"}
    changed = bytearray((tmp_path / "F").read_bytes())
    changed[0:2] = b"xy"
    (tmp_path / "F").write_bytes(changed)
    rows = read(tmp_path / "F", **kept)
    table = pa.Table.from_pylist([row | {"ID": row["ID"] + 1} for row in rows])
    write_data_set(table, tmp_path / "G", write_onto_record_bytes="true", **kept)
    assert (tmp_path / "G").read_bytes()[:8] == b"xy" + "C00002".encode("cp037")


# lengths in the records -----------------------------------------------------------------------------------------------

SIZED = "01 R. 05 SIZE PIC 9(2). 05 A PIC X(4). 05 N PIC 9(4) COMP. 05 Z PIC X(4)."


def test_a_record_has_the_length_that_its_field_says(tmp_path):
    path, options = tmp_path / "out", {"copybook_contents": SIZED, "record_length_field": "SIZE"}
    rows = [
        {"SIZE": 12, "A": "abcd", "N": 5, "Z": "wxyz"},
        {"SIZE": 4, "A": "ab", "N": None, "Z": None},
        {"SIZE": 14, "A": "abcd", "N": 5, "Z": ""},
    ]
    write_data_set(rows, path, **options)
    data = "12abcd".encode("cp037") + b"\0\5" + "wxyz".encode("cp037") + "04ab".encode("cp037")
    assert path.read_bytes() == data + "14abcd".encode("cp037") + b"\0\5" + b"\x40" * 4 + b"\0\0"
    assert read(path, **options) == rows
    for row, words in (
        (
            rows[0] | {"SIZE": 11},
            "record 1: SIZE: the record has 12 bytes and says 11; allowed: room for all its values",
        ),
        (rows[0] | {"SIZE": 0}, "record 1: SIZE: the record has 12 bytes and says 0"),
        (rows[0] | {"SIZE": None}, "record 1: no length of the record: record length field SIZE is null"),
    ):
        with pytest.raises(ConversionError, match=words):
            write_data_set([row], tmp_path / "bad", **options)
    mapped = {"record_length_field": "A", "record_length_map": '{"S": 6}', "copybook_contents": SIZED}
    write_data_set([{"SIZE": 1, "A": "S", "N": None, "Z": None}], path, mode="overwrite", **mapped)
    assert path.read_bytes() == "01S   ".encode("cp037")


# segments -------------------------------------------------------------------------------------------------------------

FAMILY = """01 R. 05 KIND PIC X. 05 COMPANY-ID PIC 9(2). 05 COMPANY. 10 NAME PIC X(6).
   05 PERSON REDEFINES COMPANY. 10 FIRST PIC X(4). 05 PHONE REDEFINES COMPANY. 10 DIGITS PIC X(3)."""
MAPPED = {
    "copybook_contents": FAMILY, "segment_field": "KIND", "redefine_segment_id_map:0": "COMPANY => C",
    "redefine_segment_id_map:1": "PERSON => P,Q", "redefine_segment_id_map:2": "PHONE => T",
}  # fmt: skip


def row(kind, company=None, person=None, phone=None):
    return {"KIND": kind, "COMPANY_ID": 7, "COMPANY": company, "PERSON": person, "PHONE": phone}


def test_a_record_with_a_length_ends_with_its_segment(tmp_path):
    rows = [
        row("C", company={"NAME": "ibm"}),
        row("Q", person={"FIRST": "ann"}),
        row("T", phone={"DIGITS": "123"}),
        row("X"),
    ]
    write_data_set(rows, tmp_path / "v", record_format="V", **MAPPED)
    records = [each["Record_Bytes"].decode("cp037") for each in read(tmp_path / "v", record_format="V")]
    assert records == ["C07ibm   ", "Q07ann ", "T07123", "X07"]
    assert read(tmp_path / "v", record_format="V", **MAPPED) == rows
    write_data_set(rows, tmp_path / "f", **MAPPED)
    assert (tmp_path / "f").stat().st_size == 4 * 9
    assert read(tmp_path / "f", **MAPPED) == rows
    for wrong in (row("C", person={"FIRST": "x"}), row("X", company={"NAME": "x"}), row(None, company={"NAME": "x"})):
        with pytest.raises(
            ConversionError, match=r"record 1: (COMPANY|PERSON): has a value, and KIND is '[CX]?'; allowed: "
        ):
            write_data_set([wrong], tmp_path / "bad", **MAPPED)


def test_a_root_is_written_with_the_segments_below_it(tmp_path):
    options = MAPPED | {
        "segment-children:0": "COMPANY => PERSON",
        "segment-children:1": "PERSON => PHONE",
        "record_format": "VB",
    }
    people = [{"FIRST": "ann", "PHONE": [{"DIGITS": "12"}, {"DIGITS": "3"}]}, {"FIRST": "bob", "PHONE": []}]
    rows = [
        {"KIND": "C", "COMPANY_ID": 7, "COMPANY": {"NAME": "ibm", "PERSON": people}},
        {"KIND": "C", "COMPANY_ID": 8, "COMPANY": {"NAME": "x", "PERSON": []}},
    ]
    write_data_set(rows, tmp_path / "out", **options)
    records = [each["Record_Bytes"].decode("cp037") for each in read(tmp_path / "out", record_format="VB")]
    assert records == ["C07ibm   ", "P07ann ", "T0712 ", "T073  ", "P07bob ", "C08x     "]
    assert read(tmp_path / "out", **options) == rows
    write_data_set(rows, tmp_path / "tree", partition_by="COMPANY_ID", **options)
    assert read(tmp_path / "tree" / "COMPANY_ID=7", **options) == rows[:1]
    with pytest.raises(ConversionError, match="record 1: KIND: 'P' does not fit; allowed: the ids of roots, C"):
        write_data_set([rows[0] | {"KIND": "P"}], tmp_path / "bad", **options)


# one file or many -----------------------------------------------------------------------------------------------------


def tree(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_rows_are_divided_by_columns(tmp_path):
    target = tmp_path / "tree"
    rows = [row | {"DAY": day} for row, day in zip(ROWS, ["a/b", None, "a/b"], strict=True)]
    options = {"copybook_contents": COPYBOOK, "record_format": "VB", "partition_by": "DAY, KIND"}
    write_data_set(rows, target, **options)
    null = "DAY=__HIVE_DEFAULT_PARTITION__/KIND=P/part-00000"
    assert tree(target) == [
        "DAY=__HIVE_DEFAULT_PARTITION__/KIND=P/part-00000",
        "DAY=a%2Fb/KIND=C/part-00000",
        "_SUCCESS",
    ]
    read_back = {"copybook_contents": COPYBOOK, "record_format": "VB"}
    assert read(target / "DAY=a%2Fb", **read_back) == [ROWS[0], ROWS[2]]
    write_data_set(rows[:1], target, mode="append", **options)
    assert len(read(target, **read_back)) == 4
    write_data_set(rows[:1], target, mode="overwrite", **options)
    assert tree(target) == ["DAY=a%2Fb/KIND=C/part-00000", "_SUCCESS"]
    assert not (target / null).parent.parent.exists()
    for name in ("NONE", "_DAY"):
        with pytest.raises(DatasetError, match=f"partition_by: {name} is no column to divide by"):
            write_data_set([row | {"_DAY": 1} for row in rows], tmp_path / "bad", **options | {"partition_by": name})


def test_each_task_may_have_a_file_of_its_own(tmp_path):
    given = {
        "path": str(tmp_path / "out"),
        "copybook_contents": COPYBOOK,
        "output": "directory",
        "partition_by": "KIND",
    }
    options = read_options(given)
    writer = PartWriter(options, None)
    lost = writer.write([ROWS], 0)  # a first attempt whose task was lost
    parts = [writer.write([ROWS[:2]], 0, 1), writer.write([ROWS[2:]], 1)]
    commit_parts(options, parts, overwrite=False)
    assert [len(lost.files), [name.split("-")[:2] for name in tree(tmp_path / "out")]] == [
        2, [["KIND=C/part", "00000"], ["KIND=C/part", "00001"], ["KIND=P/part", "00000"], ["_SUCCESS"]]
    ]  # fmt: skip
    assert [each["ID"] for each in read(tmp_path / "out", copybook_contents=COPYBOOK)] == [1, 3, 2]
    commit_parts(options, [PartWriter(options, None).write([ROWS[:1]], 0)], overwrite=False)
    assert sorted(each["ID"] for each in read(tmp_path / "out", copybook_contents=COPYBOOK)) == [1, 1, 2, 3]
    writer = PartWriter(read_options(given | {"path": str(tmp_path / "other" / "out")}), None)
    writer.write([ROWS], 0)
    writer.discard()
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
