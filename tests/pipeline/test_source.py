# ruff: noqa: E402 - what the extra brings is imported after asking for it
"""Reading data sets part by part, without Spark."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

np = pytest.importorskip("numpy", reason="the extra tdqsim[spark] is not installed")
pa = pytest.importorskip("pyarrow", reason="the extra tdqsim[spark] is not installed")
pq = pytest.importorskip("pyarrow.parquet", reason="the extra tdqsim[spark] is not installed")

from tdqsim.cli.guide import chapter
from tdqsim.datasets import Dcb, RecordFormat, write_records
from tdqsim.errors import ConversionError, DatasetError, TdqError
from tdqsim.facts import table as facts_of
from tdqsim.pipeline import splits
from tdqsim.pipeline.descriptor_words import Frames
from tdqsim.pipeline.options import read_options
from tdqsim.pipeline.parquet import write_parquet
from tdqsim.pipeline.record_locations import walk_for
from tdqsim.pipeline.segments import whole_families
from tdqsim.pipeline.source import ReadPlan, columns_among
from tdqsim.pipeline.splits import plan
from tdqsim.pipeline.writer import PartWriter, commit_parts
from tests.generators.option_tables import PAGES, with_tables

COPYBOOK = "01 R. 05 KIND PIC X. 05 ID PIC 9(5). 05 TEXT PIC X(14)."
FORMATS = {
    "F": Dcb(RecordFormat.F, lrecl=20), "FB": Dcb(RecordFormat.FB, lrecl=20, blksize=200), "V": Dcb(RecordFormat.RDW),
    "VB": Dcb(RecordFormat.VB, lrecl=84, blksize=200), "VS": Dcb(RecordFormat.VS, lrecl=84, blksize=30),
    "VBS": Dcb(RecordFormat.VBS, lrecl=84, blksize=50), "D": Dcb(RecordFormat.LF), "RDW": Dcb(RecordFormat.RDW), "U": Dcb(RecordFormat.U),
}  # fmt: skip


def records(count=2000, kinds="CP"):
    for number in range(count):
        yield f"{kinds[number % len(kinds)]}{number:05d}text {number % 97:9d}".encode("cp037")


def options(path, record_format="FB", **more):
    given = {"path": str(path), "copybook_contents": COPYBOOK, "record_format": record_format, **more}
    if record_format == "U":
        given["block_length"] = "20"
    if record_format == "D":
        given |= {"encoding": "ebcdic"}
    return read_options(given)


def table(chosen, columns=None, split_bytes=None):
    if split_bytes:
        object.__setattr__(chosen, "split_bytes", split_bytes)
    reader = ReadPlan.of(chosen, columns)
    splits = plan(chosen)
    return pa.Table.from_batches([batch for split in splits for batch in reader.read(split)], reader.schema), splits


@pytest.mark.parametrize("record_format", FORMATS)
def test_every_record_format_in_parts(tmp_path, record_format):
    path = tmp_path / "data"
    # A file of undefined records keeps no block boundaries, so none is written by the data sets' own writer.
    write_records(path, records(), FORMATS["F" if record_format == "U" else record_format])
    chosen = options(
        path,
        record_format,
        generate_record_id="true",
        generate_record_bytes="true",
        with_record_offset_col="OFFSET",
        with_input_file_name_col="FILE",
    )
    found, splits = table(chosen, split_bytes=3000)
    assert len(splits) > 5
    assert found["ID"].to_pylist() == found["Record_Id"].to_pylist() == list(range(2000))
    assert found["Record_Bytes"].to_pylist() == list(records())
    assert set(found["Record_Byte_Length"].to_pylist()) == {20}
    assert set(found["FILE"].to_pylist()) == {str(path)}
    data, offsets = path.read_bytes(), found["OFFSET"].to_pylist()
    assert data[offsets[7] : offsets[7] + 6] == "P00007".encode("cp037")


@pytest.mark.parametrize("record_format", ["FB", "D"])
def test_a_part_of_several_batches(tmp_path, record_format):
    path, count = tmp_path / "data", 70_000
    write_records(path, records(count), FORMATS[record_format])
    chosen = options(path, record_format, generate_record_id="true", with_record_offset_col="OFFSET")
    found, splits = table(chosen)
    assert len(splits) == 1
    assert found["ID"].num_chunks > 1
    assert found["ID"].to_pylist() == found["Record_Id"].to_pylist() == list(range(count))
    step = 20 + (record_format == "D")
    assert found["OFFSET"].to_pylist() == list(range(0, step * count, step))


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.binary(min_size=1, max_size=60), min_size=1, max_size=80),
    st.sampled_from(["RDW", "VB", "VBS"]),
    st.integers(20, 400),
)
def test_variable_records_come_back_whatever_the_parts(tmp_path_factory, given_records, record_format, size):
    path = tmp_path_factory.mktemp("v") / "data"
    write_records(path, given_records, FORMATS[record_format])
    chosen = read_options({"path": str(path), "record_format": record_format, "generate_record_id": "true"})
    found, _ = table(chosen, split_bytes=size)
    assert found["Record_Bytes"].to_pylist() == given_records
    assert found["Record_Id"].to_pylist() == list(range(len(given_records)))


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=300), st.sampled_from([*FORMATS, "nl", "crlf"]))
def test_any_bytes_are_records_or_a_clear_error(data, record_format):
    given_options = {
        "record_format": "D" if record_format in ("nl", "crlf") else record_format,
        "record_length": "7",
        "block_length": "9",
    }
    if record_format in ("nl", "crlf"):
        given_options["line_separator"] = record_format
    try:
        frames = walk_for(read_options(given_options))(np.frombuffer(data, np.uint8), True)
    except DatasetError as error:
        assert "at offset" in str(error)  # noqa: PT017 - either outcome is right
        return
    assert (frames.lengths >= 0).all()
    assert (frames.starts + frames.lengths <= len(frames.data)).all()


@pytest.mark.parametrize(
    ("record_format", "change", "words"),
    [
        ("F", lambda data: data[:-3], "the last 17 bytes are no whole record of 20 bytes"),
        ("VB", lambda data: b"\x00\x02" + data[2:], "no block descriptor word"),
        ("VB", lambda data: data[:4] + b"\x7f\xff" + data[6:], "does not fit the"),
        ("VB", lambda _: b"\0\x0c\0\0" + b"\0\x04\0\0" + b"\0\x08\0\0", "does not fit the 4 bytes left in its block"),
        ("VB", lambda _: b"\0\x0b\0\0" + b"\0\x04\0\0" + b"\0\x08\0", "in the middle of a record descriptor word"),
        ("VB", lambda data: data[:-3], "cut short"),
        ("V", lambda data: b"\x00\x01" + data[2:], "no record descriptor word"),
        ("V", lambda data: data[:-3], "cut short"),
        ("VBS", lambda data: data[:6] + b"\x02" + data[7:], "segment of a spanned record is missing"),
    ],
)
def test_lying_lengths_name_file_and_offset(tmp_path, record_format, change, words):
    path = tmp_path / "data"
    write_records(path, records(30), FORMATS[record_format])
    changed = change(path.read_bytes())
    for head in (b"", b"head"):
        path.write_bytes(head + changed)
        with pytest.raises(DatasetError) as caught:
            table(options(path, record_format, file_start_offset=str(len(head))))
        assert str(caught.value).startswith(f"{path}: record ")
        assert ", at offset " in str(caught.value)
        assert words in str(caught.value)


@pytest.mark.parametrize("record_format", ["VB", "VBS"])
def test_a_block_may_have_no_records(tmp_path, record_format):
    path = tmp_path / "data"
    write_records(path, records(3), FORMATS[record_format])
    path.write_bytes(path.read_bytes() + b"\0\x04\0\0" + path.read_bytes())
    assert table(options(path, record_format))[0]["ID"].to_pylist() == [0, 1, 2] * 2


@pytest.mark.parametrize("record_format", ["FB", "VB", "RDW", "VBS"])
@pytest.mark.parametrize("size", [None, 500, 3000])
def test_one_poisoned_record_is_named_wherever_it_is(tmp_path, record_format, size):
    path = tmp_path / "data"
    many = list(records(1200))
    many[777] = many[777][:1] + "00x77".encode("cp037") + many[777][6:]
    write_records(path, many, FORMATS[record_format])
    with pytest.raises(ConversionError) as caught:
        table(options(path, record_format, mode="failfast"), split_bytes=size)
    offset = path.read_bytes().index(many[777][:6])
    assert str(caught.value).startswith(
        f"{path}: record 778, record at offset {offset}: field ID X'F0F0A7F7F7' at offset 1 of the record"
    )
    found, _ = table(options(path, record_format, mode="dropmalformed"), split_bytes=size)
    assert found.num_rows == 1199


@pytest.mark.parametrize(("size", "chunk"), [(None, 1 << 20), (500, 1 << 20), (3000, 1 << 20), (None, 512)])
def test_a_lying_word_in_the_middle_is_named_by_its_record(tmp_path, size, chunk, monkeypatch):
    monkeypatch.setattr(splits, "BLOCK_CHUNK", chunk)
    path = tmp_path / "data"
    write_records(path, records(1200), FORMATS["VB"])
    data = bytearray(path.read_bytes())
    at = data.index(list(records(1200))[700]) - 4
    data[at] = 0x7F
    path.write_bytes(data)
    with pytest.raises(DatasetError, match=rf"data: record 701, at offset {at}: the record descriptor word X'7F18"):
        table(options(path, "VB"), split_bytes=size)
    data[at] = 0
    block = data.rindex(b"\x00\xc4\x00\x00", 0, at)
    data[block : block + 2] = b"\x00\x03"
    path.write_bytes(data)
    with pytest.raises(DatasetError, match=rf"record 697, at offset {block}: X'00030000' is no block descriptor word"):
        table(options(path, "VB"), split_bytes=size)


def test_one_file_of_a_thousand_that_cannot_be_read(tmp_path):
    for number in range(1000):
        (tmp_path / f"f{number:04d}").write_bytes(b"\xc3\xf0\xf0\xf0\xf0\xf1".ljust(20, b"\x40"))
    chosen = options(tmp_path)
    assert table(chosen)[0].num_rows == 1000
    splits = plan(chosen)
    (tmp_path / "f0567").unlink()
    with pytest.raises(
        DatasetError,
        match=r"f0567: cannot be read: there is no such file on .+: the tasks and the process that plans them",
    ):
        [list(ReadPlan.of(chosen).read(split)) for split in splits]
    (tmp_path / "f0567").symlink_to(tmp_path / "gone")
    with pytest.raises(DatasetError, match=r"f0567: cannot be read: No such file"):
        plan(chosen)


@pytest.mark.parametrize("count", [1, 40])
@pytest.mark.parametrize("recfm", [RecordFormat.V, RecordFormat.VB])
def test_blocks_are_not_taken_for_records(tmp_path, count, recfm):
    path = tmp_path / "blocked"
    write_records(path, records(count), Dcb(recfm, lrecl=400))
    with pytest.raises(DatasetError, match=r"at offset 0: every record begins .* record_format VB"):
        table(options(path, "V"))
    assert table(options(path, "VB"))[0].num_rows == count
    taken = table(read_options({"path": str(path), "record_format": "RDW"}))[0]
    assert taken["Record_Bytes"][0].as_py()[4:].startswith(next(records(1)))


def test_descriptor_words_as_cobrix_has_them(tmp_path):
    path = tmp_path / "little"
    path.write_bytes(b"".join(b"\x00\x00" + len(r).to_bytes(2, "little") + r for r in records(5)))
    found, _ = table(options(path, "V", is_rdw_big_endian="false", is_rdw_part_of_record_length="false"))
    assert found["ID"].to_pylist() == [0, 1, 2, 3, 4]
    path.write_bytes(b"".join((len(r) + 4).to_bytes(2, "big") + b"\x00\x00" + r for r in records(5)))
    assert table(options(path, "V", rdw_adjustment="-4"))[0].num_rows == 5


@pytest.mark.parametrize(
    ("record_format", "head", "words"),
    [("V", b"", "is no record descriptor word"), ("VB", b"\0\x09\0\0", "does not fit the 4 bytes left in its block")],
)
def test_cobol_reads_no_empty_record(tmp_path, record_format, head, words):
    path = tmp_path / "data"
    path.write_bytes(head + b"\0\0\x01\0" + b"\xf1" + bytes(4))
    given_options = {"path": str(path), "copybook_contents": "01 R. 05 A PIC X.", "record_format": record_format}
    with pytest.raises(DatasetError, match=rf"record 2, at offset {len(head) + 5}: .*X'00000000' {words}"):
        table(read_options(given_options | {"is_bdw_big_endian": "true"}, cobrix=True))


def test_files_directories_globs_and_hidden_files(tmp_path, monkeypatch):
    tmp_path /= ".hidden"  # above the directory that is read
    (tmp_path / "_staging").mkdir(parents=True)
    write_records(tmp_path / "_staging" / "d", records(9), FORMATS["FB"])
    for name in ("b", "a", "_skip", ".skip"):
        write_records(tmp_path / name, records(3), FORMATS["FB"])
    (tmp_path / "sub").mkdir()
    write_records(tmp_path / "sub" / "c", records(2), FORMATS["FB"])
    found, _ = table(options(tmp_path, generate_record_id="true"))
    assert found["File_Id"].to_pylist() == [0] * 3 + [1] * 3 + [2] * 2
    assert table(options(tmp_path / "[ab]"))[0].num_rows == 6
    assert (
        table(read_options({"data_paths": f"{tmp_path}/a,{tmp_path}/sub", "copybook_contents": COPYBOOK}))[0].num_rows
        == 5
    )
    with pytest.raises(DatasetError, match="no such file"):
        table(options(tmp_path / "none"))
    monkeypatch.chdir(tmp_path)
    (part,) = plan(options("a"))
    monkeypatch.chdir("sub")  # as a task may have another current directory
    assert [batch.num_rows for batch in ReadPlan.of(options("a")).read(part)] == [3]


def test_headers_trailers_and_offsets(tmp_path):
    text = f"01 H. 05 A PIC X(30). {COPYBOOK} 01 T. 05 B PIC X(3)."
    path = tmp_path / "data"
    path.write_bytes(b"H" * 30 + b"".join(b"<<" + r + b">" for r in records(10)) + b"TTT")
    chosen = read_options({
        "path": str(path), "copybook_contents": text, "record_header_name": "H", "record_trailer_name": "T",
        "record_start_offset": "2", "record_end_offset": "1", "generate_record_id": "true", "input_split_records": "3",
    })  # fmt: skip
    found, splits = table(chosen)
    assert found["ID"].to_pylist() == found["Record_Id"].to_pylist() == list(range(10))
    assert len(splits) == 4


SEGMENTS = """01 R. 05 KIND PIC X. 05 ID PIC 9(5). 05 BODY PIC X(14). 05 COMPANY REDEFINES BODY. 10 NAME PIC X(14).
              05 PERSON REDEFINES BODY. 10 FIRST PIC X(4). 10 NUMBER-OF PIC 9(10)."""


def test_segments(tmp_path):
    path = tmp_path / "data"
    write_records(path, records(6), FORMATS["VB"])
    base = {"path": str(path), "copybook_contents": SEGMENTS, "record_format": "VB", "segment_field": "KIND"}
    found, _ = table(read_options(base | {"segment_filter": "P", "generate_record_id": "true"}))
    assert found["Record_Id"].to_pylist() == [1, 3, 5]
    maps = ["COMPANY => C", "PERSON => P,Y", "PERSON => X"]
    maps_by_option = {f"redefine-segment-id-map:{number}": each for number, each in enumerate(maps)}
    found, _ = table(read_options(base | maps_by_option))
    assert [row is None for row in found["COMPANY"].to_pylist()] == [False, True] * 3
    assert found["PERSON"].to_pylist()[1] == {"FIRST": "text", "NUMBER_OF": 1}


LEVELS = {"segment_field": "KIND", "segment_id_level0": "C", "segment_id_level1": "P,Q", "segment_id_level2": "X"}


def slow_ids(kinds, levels):
    """What Cobrix gives, written as plainly as can be."""
    out, root, level, counts = [], None, -1, {}
    for number, kind in enumerate(kinds):
        met = next((at for at, ids in enumerate(levels) if kind in ids), None)
        if met == 0:
            root, counts = f"ID_0_{number}", {}
        elif met:
            counts[met] = counts.get(met, 0) + 1
        level = level if met is None else met
        out.append([None if at > level else f"{root}_L{at}_{counts.get(at, 0)}" if at else root for at in range(3)])
    return out


@settings(max_examples=25, deadline=None)
@given(
    st.text("CPQXZ", max_size=60).map(lambda kinds: f"C{kinds}"),
    st.sampled_from(["FB", "VB", "RDW"]),
    st.integers(30, 200),
)
def test_segment_ids_go_on_from_part_to_part(tmp_path_factory, kinds, record_format, size):
    path = tmp_path_factory.mktemp("s") / "data"
    given_records = [f"{kind}{number:05d}{' ' * 14}".encode("cp037") for number, kind in enumerate(kinds)]
    write_records(path, given_records, FORMATS[record_format])
    more = LEVELS | {"segment_id_prefix": "ID"}
    found, _ = table(options(path, record_format, **more), split_bytes=size)
    assert found.schema.names[:3] == ["Seg_Id0", "Seg_Id1", "Seg_Id2"]
    ids = [list(row.values())[:3] for row in found.to_pylist()]
    assert ids == slow_ids(kinds, ["C", "PQ", "X"])
    found, _ = table(options(path, record_format, **more, segment_filter="P"), split_bytes=size)
    assert found["Seg_Id1"].to_pylist() == [row[1] for row, kind in zip(ids, kinds, strict=True) if kind == "P"]


def test_segment_ids_begin_with_the_time_of_the_read(tmp_path):
    path = tmp_path / "data"
    write_records(path, records(2), FORMATS["FB"])
    found, _ = table(options(path, segment_field="KIND", segment_id_root="C", generate_record_id="true"))
    assert found.schema.names[:5] == ["File_Id", "Record_Id", "Record_Byte_Length", "Seg_Id0", "KIND"]
    first, second = found["Seg_Id0"].to_pylist()
    assert first == second
    assert first[:14].isdigit()
    assert first[14:] == "_0_0"


@pytest.mark.parametrize("chunk", [splits.CHUNK, 512])
@pytest.mark.parametrize("record_format", FORMATS)
def test_parts_of_so_many_records(tmp_path, record_format, chunk, monkeypatch):
    monkeypatch.setattr(splits, "CHUNK", chunk)
    monkeypatch.setattr(splits, "BLOCK_CHUNK", chunk)
    path = tmp_path / "data"
    write_records(path, records(100), FORMATS["F" if record_format == "U" else record_format])
    chosen = options(path, record_format, input_split_records="7", generate_record_id="true")
    found, parts = table(chosen)
    assert found["ID"].to_pylist() == found["Record_Id"].to_pylist() == list(range(100))
    sizes = np.diff([part.first_record for part in parts])
    assert (sizes >= 7).all()
    assert len(parts) > 100 // 20
    if record_format not in ("VB", "VS", "VBS"):
        assert (sizes == 7).all()


MAPPED = """01 R. 05 KIND PIC X. 05 T PIC X OCCURS 0 TO 4 DEPENDING ON KIND.
            05 U PIC 9 OCCURS 1 TO 3 DEPENDING ON KIND. 05 Z PIC X."""
MAPPINGS = '{"T": {"A": 0, "B": 2}, "U": {"A": 1, "B": 2}}'


@pytest.mark.parametrize("name", ["occurs_mapping", "occurs_mappings"])
@pytest.mark.parametrize(
    ("sizes", "lines"),
    [("true", ["A1z", "Bxy12z", "Cwwww123z"]), ("max_size", ["A    1  z", "Bxy  12 z", "Cwwww123z"])],
)
def test_texts_that_tell_how_many(tmp_path, name, sizes, lines):
    path = tmp_path / "data"
    path.write_bytes(b"".join(line.encode("cp037") + b"\x15" for line in lines))
    given_options = {
        "path": str(path), "copybook_contents": MAPPED, "record_format": "D", "line_separator": "nl",
        "variable_size_occurs": sizes, name: MAPPINGS,
    }  # fmt: skip
    found, _ = table(read_options(given_options))
    assert found["T"].to_pylist() == [[], ["x", "y"], ["w"] * 4]
    assert found["U"].to_pylist() == [[1], [1, 2], [1, 2, 3]]
    assert found["Z"].to_pylist() == ["z"] * 3
    layout = read_options(given_options).layout
    line = lines[1].encode("cp037")
    assert layout.decode(line) == {"KIND": "B", "T": ["x", "y"], "U": [1, 2], "Z": "z"}
    assert layout.encode(layout.decode(line)) == line.replace(b"\x40", b"\x00")


def test_digits_that_stand_for_another_number(tmp_path):
    path = tmp_path / "data"
    path.write_bytes(b"".join(line.encode("cp037") + b"\x15" for line in ["1xyzz", "2z", "4wwwwz"]))
    given_options = {
        "path": str(path), "record_format": "D", "line_separator": "nl", "variable_size_occurs": "true",
        "copybook_contents": "01 R. 05 KIND PIC 9. 05 T PIC X OCCURS 0 TO 4 DEPENDING ON KIND. 05 Z PIC X.",
        "occurs_mapping": '{"T": {"1": 3, "2": 0}}',
    }  # fmt: skip
    found, _ = table(read_options(given_options))
    assert found.to_pylist() == [
        {"KIND": 1, "T": ["x", "y", "z"], "Z": "z"},
        {"KIND": 2, "T": [], "Z": "z"},
        {"KIND": 4, "T": ["w"] * 4, "Z": "z"},
    ]


def test_groups_as_text(tmp_path):
    path = tmp_path / "data"
    path.write_bytes("A1234z".encode("cp037"))
    text = "01 R. 05 A PIC X. 05 SUB-GROUP. 10 B PIC 99. 10 C PIC 99. 05 Z PIC X."
    found, _ = table(read_options({"path": str(path), "copybook_contents": text, "non_terminals": "SUB_GROUP"}))
    assert found.to_pylist() == [{"A": "A", "SUB_GROUP": {"B": 12, "C": 34}, "SUB_GROUP_NT": "1234", "Z": "z"}]


@pytest.mark.parametrize(("expression", "mapping"), [("LEN", ""), ("LEN * 2 - LEN", ""), ("TAG", '{"A": 6, "_": 8}')])
def test_length_fields(tmp_path, expression, mapping):
    path = tmp_path / "data"
    path.write_bytes("A06abcB08abcdeA06xyz".encode("cp037"))
    given_options = {
        "path": str(path),
        "copybook_contents": "01 R. 05 TAG PIC X. 05 LEN PIC 99. 05 T PIC X(9).",
        "record_length_field": expression,
    }
    if mapping:
        given_options["record_length_map"] = mapping
    assert table(read_options(given_options))[0]["T"].to_pylist() == ["abc", "abcde", "xyz"]


LENGTH_LAST = "01 R. 05 N PIC 9. 05 T PIC XX OCCURS 0 TO 2 DEPENDING ON N. 05 LEN PIC 99. 66 ALSO RENAMES LEN."


@pytest.mark.parametrize(
    ("text", "more", "lengths"),
    [
        ("2aabb071aaxx07", {}, [7, 7]),
        ("#2aabb07#2aabb07", {"record_start_offset": "1"}, [7, 7]),
        ("2aabb071aa050031aa05", {"variable_size_occurs": "shift_record"}, [7, 5, 3, 5]),
        ("2aabb07003", {"variable_size_occurs": "shift_record", "record_length_field": "ALSO"}, [7, 3]),
    ],
    ids=["end", "header", "moved", "renamed"],
)
def test_a_length_field_behind_others_is_read_where_it_is(tmp_path, text, more, lengths):
    path = tmp_path / "data"
    path.write_bytes(text.encode("cp037"))
    given = {"path": str(path), "copybook_contents": LENGTH_LAST, "record_length_field": "LEN", **more}
    assert table(read_options(given))[0]["LEN"].to_pylist() == lengths


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("LEN", "record 2, at offset 7: the last record is cut short: it ends before or in LEN, its length"),
        ("R", "record_length_field: R is not a single elementary field"),
        ("T", "record_length_field: T is not a single elementary field"),
    ],
)
@pytest.mark.parametrize("cut", ["2aabb0", "2aa"])
def test_what_is_no_length_of_a_record_is_refused(tmp_path, name, words, cut):
    path = tmp_path / "data"
    path.write_bytes(("2aabb07" + cut).encode("cp037"))
    text = LENGTH_LAST.replace("05 LEN", "05 R. 10 LEN")
    with pytest.raises(DatasetError, match=words):
        table(read_options({"path": str(path), "copybook_contents": text, "record_length_field": name}))


def test_modes(tmp_path):
    path = tmp_path / "data"
    bad = [*records(3), "C0?x?1text".encode("cp037").ljust(20, b"\x40"), *records(2)]
    write_records(path, bad, FORMATS["FB"])
    found, _ = table(options(path, generate_corrupt_fields="true"))
    assert found["ID"].to_pylist() == [0, 1, 2, None, 0, 1]
    assert found["_corrupt_fields"].to_pylist()[3] == [
        {"field_name": "ID", "raw_value": "0?x?1".encode("cp037"), "offset": 1}
    ]
    assert table(options(path, mode="dropmalformed"))[0].num_rows == 5
    with pytest.raises(
        ConversionError, match=r"data: record 4, record at offset 60: field ID X'F06FA76FF1' at offset 1"
    ):
        table(options(path, mode="failfast"))
    assert table(options(path, mode="failfast"), ["TEXT"])[0].num_rows == 6


def test_wanted_columns(tmp_path):
    path = tmp_path / "data"
    write_records(path, records(10), FORMATS["VB"])
    assert table(options(path, "VB"), ["ID"])[0].to_pydict() == {"ID": list(range(10))}
    with pytest.raises(DatasetError, match="no column 'NOPE'"):
        table(options(path, "VB"), ["NOPE"])


def test_records_of_other_lengths_are_passed_over(tmp_path):
    path = tmp_path / "data"
    write_records(path, [*records(2), b"\xc3\xf0", *records(1)], FORMATS["VB"])
    assert table(options(path, "VB", minimum_record_length="3"))[0].num_rows == 3
    assert table(options(path, "VB", minimum_record_length="2"))[0].num_rows == 4
    assert table(options(path, "VB", maximum_record_length="3"))[0].num_rows == 1
    assert table(options(path, "VB", maximum_record_length="2"))[0].num_rows == 1


@pytest.mark.parametrize(
    ("given_options", "words"),
    [
        ({"copybok": "x"}, "copybok is not known"),
        (
            {"ebcdic_code_page_class": "x"},
            "ebcdic_code_page_class is not supported: classes of the user are not loaded",
        ),
        ({"record_format": "Q"}, "must be one of F, FB, V"),
        ({"mode": "lenient"}, "permissive, dropmalformed, failfast"),
        ({"generate_record_id": "yes"}, "true or false"),
        ({"record_length": "-1"}, "whole number, 0 or more"),
        ({"copybook": "a", "copybook_contents": "b"}, "exclude each other"),
        ({"copybook": "/nonexistent/book.cpy"}, "book.cpy"),
        ({"copybook_contents": "01 R. 05 A PIC Q."}, "copybook_contents:1:16"),
        ({"copybook_contents": COPYBOOK, "ebcdic_code_page": "cp9999"}, "unknown code page"),
        ({"copybook_contents": COPYBOOK, "field_code_page:cp1140": "NOPE"}, "no field 'NOPE'"),
        ({"record_length_map": "nope", "record_length_field": "KIND"}, "must be JSON"),
        ({"record_length_map": '{"A": Infinity}', "record_length_field": "KIND"}, "with whole numbers"),
        ({"record_length_map": '{"A": 1.7}', "record_length_field": "KIND"}, "with whole numbers"),
        ({"record_length_map": '{"A": true}', "record_length_field": "KIND"}, "with whole numbers"),
        ({"record_length_map": '{"A": -5}', "record_length_field": "KIND"}, "with whole numbers"),
        ({"layout": "l.yaml", "record_name": "R"}, "record_name and layout exclude each other"),
        ({"layout": "l.yaml", "record_header_name": "R"}, "record_header_name and layout exclude each other"),
        ({"layout": "l.yaml", "comments_lbound": "3"}, "comments_lbound and layout exclude each other"),
        ({"copybooks": "a,b", "record_name": "R"}, "record_name and copybooks exclude each other"),
        ({"copybooks": "a,b", "record_trailer_name": "R"}, "record_trailer_name and copybooks exclude each other"),
        ({"redefine_segment_id_map:0": "A = B", "segment_field": "KIND"}, "FIELD => ID"),
        ({"schema_retention_policy": "x"}, "schema_retention_policy"),
        ({"segment-children:0": "A => B"}, "segment-children:0 needs segment_field"),
        ({"segment-children:0": "A = B", "segment_field": "KIND"}, "PARENT => CHILD"),
        ({"segment-children:0": "A => B, B", "segment_field": "KIND"}, "b is below more than one segment"),
        (
            {"segment-children:0": "A => B, C", "segment-children:1": "a => c", "segment_field": "KIND"},
            "c is below more than one segment",
        ),
        (
            {"segment-children:0": "A => B", "segment_field": "KIND", "mode": "failfast"},
            "and mode=failfast exclude each other",
        ),
        ({"segment_id_level0": "A"}, "needs segment_field"),
        ({"segment_id_level1": "A", "segment_field": "KIND"}, "not all levels above"),
        ({"segment_id_levelx": "A", "segment_field": "KIND"}, "segment_id_level0 and so on"),
        ({"segment_id_level0": "A", "segment_id_level00": "B", "segment_field": "KIND"}, "each once"),
        ({"redefine_rule:0": "A-B => true", "redefine_rule:1": "a_B => true"}, "a_B has a rule already"),
        (
            {
                "copybook_contents": f"01 H. 05 A PIC X. {COPYBOOK}",
                "record_header_name": "H",
                "record_trailer_name": "h",
            },
            "record_header_name and record_trailer_name name the same record, H",
        ),
        ({"copybook_contents": COPYBOOK, "occurs_mapping": '{"TEXT": {"A": 1}}'}, "TEXT is not a table"),
        ({"copybook_contents": COPYBOOK, "occurs_mapping": '{"TEXT": {"A": 1.5}}'}, "must be JSON"),
        ({"copybook_contents": COPYBOOK, "non_terminals": "TEXT"}, "TEXT is not a group"),
    ],
)
def test_bad_options_are_named(given_options, words):
    with pytest.raises(TdqError, match=words.replace("(", r"\(")):
        read_options(given_options)


def test_unknown_options_are_passed_over_when_asked():
    assert read_options({"whatever": "1", "pedantic": "false"}).mode == "permissive"


def test_the_table_of_options_is_whole():
    rows = facts_of("qsam_options")
    assert {row["status"] for row in rows} == {"same", "different", "own", "absent"}
    assert len({row["option"] for row in rows}) == len(rows)
    page = chapter("qsam-options")
    for row in rows:
        assert f"| `{row['option']}` | {row['applies']} | " in page
        assert f" | {row['default']} | {row['cobol']} | {row['status']} | {row['note']} |" in page


@pytest.mark.parametrize("name", PAGES)
def test_the_tables_of_options_are_those_of_their_declarations(name):
    assert with_tables(name) == chapter(name), "python -m tests.generators.option_tables writes them"


@pytest.mark.parametrize(
    ("given_options", "words"),
    [
        ({"enable_index_cache": "yes"}, "enable_index_cache is 'yes'; must be true or false"),
        ({"string_trimming_policy": "up"}, "'up'; must be one of both, none, left, right, keep_all"),
        ({"floating_point_format": "VAX"}, "must be one of IBM, IBM_little_endian, IEEE754"),
        ({"input_split_records": "many"}, "input_split_records is 'many'; must be a whole number, 0 or more"),
        ({"record_length_map": "[1]", "record_length_field": "F"}, "must be JSON such as"),
    ],
)
def test_every_value_is_checked_by_its_declaration(given_options, words):
    for cobrix in (False, True):
        with pytest.raises(DatasetError, match=words):
            read_options({"copybook_contents": "01 R. 05 F PIC X.", **given_options}, cobrix=cobrix)


def test_what_is_called_absent_is_refused_and_the_rest_is_not():
    for row in facts_of("qsam_options"):
        if row["status"] == "absent":
            with pytest.raises(DatasetError, match=f"{row['option']} is not supported"):
                read_options({row["option"]: "1"})
        elif row["default"]:
            read_options({row["option"]: row["default"]})


@pytest.mark.parametrize(("written", "meant"), [("copybok", "copybook"), ("record_fromat", "record_format")])
def test_a_misspelt_option_is_answered_by_the_one_that_was_meant(written, meant):
    with pytest.raises(DatasetError, match=f"option {written} is not known; did you mean {meant}[?]"):
        read_options({written: "x"})


@pytest.mark.parametrize("record_format", ["F", "FB", "V", "VB", "VBS", "D"])
def test_rows_are_written_and_read_back(tmp_path, record_format):
    source, target = tmp_path / "source", tmp_path / "target"
    write_records(source, records(100), FORMATS[record_format])
    found, _ = table(options(source, record_format))
    chosen = options(target, record_format)
    writer = PartWriter(chosen, found.schema)
    batches = found.to_batches(max_chunksize=30)
    commit_parts(chosen, [writer.write([batch], number) for number, batch in enumerate(batches)], overwrite=True)
    again, _ = table(options(target, record_format, generate_record_bytes="true"))
    assert again.drop_columns("Record_Bytes").equals(found)
    assert again["Record_Bytes"].to_pylist() == list(records(100))
    commit_parts(chosen, [writer.write(batches[:1], 0)], overwrite=False)
    assert table(options(target, record_format))[0].num_rows == 100 + len(batches[0])
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["source", "target"]


def test_lines_are_written_with_lf_unless_asked_otherwise(tmp_path):
    row = pa.RecordBatch.from_pylist([{"F": "ab"}])
    for more, expected in (({}, b"ab\n"), ({"line_separator": "crlf"}, b"ab\r\n")):
        target = tmp_path / "lines"
        chosen = read_options(
            {"path": str(target), "copybook_contents": "01 R. 05 F PIC X(2).", "record_format": "D", **more}
        )
        commit_parts(chosen, [PartWriter(chosen, row.schema).write([row], 0)], overwrite=True)
        assert target.read_bytes() == expected


def test_what_cannot_be_written_is_refused_and_changes_nothing(tmp_path):
    target = tmp_path / "target"
    schema = pa.schema([("KIND", pa.string()), ("ID", pa.int32()), ("TEXT", pa.string())])
    with pytest.raises(DatasetError, match="field TEXT has no column"):
        PartWriter(options(target), pa.schema(list(schema)[:2]))
    with pytest.raises(DatasetError, match="no field for the column EXTRA"):
        PartWriter(options(target), schema.append(pa.field("EXTRA", pa.int32())))
    writer = PartWriter(options(target), schema)
    good = {"KIND": "C", "ID": 1, "TEXT": "x"}
    with pytest.raises(ConversionError, match=r"record 2: .*123456"):
        writer.write([pa.RecordBatch.from_pylist([good, good | {"ID": 123456}], schema)], 0)
    assert list(tmp_path.iterdir()) == []


def test_nulls_are_written_as_asked(tmp_path):
    schema = pa.schema([("KIND", pa.string()), ("ID", pa.int32()), ("TEXT", pa.string())])
    rows = [pa.RecordBatch.from_pylist([{"KIND": None, "ID": None, "TEXT": None}], schema)]
    for more, expected in [
        ({}, bytes(20)),
        (
            {"write_null_strings_as_spaces": "true", "write_null_display_numbers_as_zeros": "true"},
            b"\x40" + b"\xf0" * 5 + b"\x40" * 14,
        ),
    ]:
        chosen = options(tmp_path / "t", **more)
        commit_parts(chosen, [PartWriter(chosen, schema).write(rows, 0)], overwrite=True)
        assert (tmp_path / "t").read_bytes() == expected


def test_a_parquet_file_is_there_whole_or_not_at_all(tmp_path):
    schema = pa.schema([("a", pa.int64())])
    batches = [pa.RecordBatch.from_pylist([{"a": number}], schema) for number in range(5)]
    target = tmp_path / "sub" / "out.parquet"
    assert write_parquet(target, batches, schema) == 5
    assert pq.read_table(target)["a"].to_pylist() == [0, 1, 2, 3, 4]

    def failing():
        yield batches[0]
        raise RuntimeError("broken")

    with pytest.raises(RuntimeError):
        write_parquet(target, failing(), schema)
    assert pq.read_table(target).num_rows == 5
    assert [path.name for path in target.parent.iterdir()] == ["out.parquet"]
    assert write_parquet(tmp_path / "none", [], schema) == 0
    assert pq.read_table(tmp_path / "none").schema.names == ["a"]
    with pytest.raises(DatasetError, match="cannot be written"):
        write_parquet(target / "below", batches, schema)


def test_very_many_columns(tmp_path):
    """What is done for each column or record does not look at all others."""
    path, many = tmp_path / "data", 4_000
    path.write_bytes(b"\xc1" * many)
    copybook = "01 R.\n" + "".join(f"05 F{number} PIC X.\n" for number in range(many))
    chosen = read_options({"path": str(path), "copybook_contents": copybook, "record_format": "F"})
    names = [f"F{number}" for number in range(many)]
    assert columns_among(ReadPlan.of(chosen).full.names, names) == names
    found, _ = table(chosen, ["F7", f"F{many - 1}"])
    assert found.to_pylist() == [{"F7": "A", f"F{many - 1}": "A"}]
    with pytest.raises(DatasetError, match="columns has F7 twice"):
        columns_among(ReadPlan.of(chosen).full.names, [*names, "f7"])
    records = "".join(f"01 R{number}. 05 A{number} PIC X.\n" for number in range(1_000))
    assert ReadPlan.of(read_options({"copybook_contents": records, "record_format": "F"})).schema.names[-1] == "A999"


@pytest.mark.parametrize(
    ("page", "given_options", "text"),
    [
        ("ascii", {}, "Z"),
        ("ascii", {"encoding": "ascii"}, "Z"),
        ("ascii", {"encoding": "ebcdic", "ebcdic_code_page": "1047"}, "!"),
        ("ascii", {"ebcdic_code_page": "1047"}, "!"),
        ("1047", {}, "!"),
        ("1047", {"encoding": "ebcdic"}, "!"),
        ("1047", {"encoding": "ascii"}, "Z"),
    ],
)
def test_a_layout_in_yaml_keeps_its_code_page_unless_options_say_another(tmp_path, page, given_options, text):
    path, layout = tmp_path / "data", tmp_path / "l.yaml"
    path.write_bytes(b"Z")
    layout.write_text(f"code_page: '{page}'\nfields:\n- {{name: T, picture: X}}\n")
    given_options = {"path": str(path), "layout": str(layout), "string_trimming_policy": "none"} | given_options
    assert table(read_options(given_options))[0].to_pylist() == [{"T": text}]


@pytest.mark.parametrize(
    ("given_options", "values"),
    [
        ({"floating_point_format": "IEEE754"}, {"F": 1.0, "D": None, "N": "A"}),
        ({"strict_sign_overpunching": "false"}, {"F": 0.03125, "D": 12, "N": "A"}),
        ({"is_utf16_big_endian": "false"}, {"F": 0.03125, "D": None, "N": "\u4100"}),
        ({}, {"F": 0.03125, "D": None, "N": "A"}),
    ],
)
def test_options_of_values_hold_for_a_layout_in_yaml_too(tmp_path, given_options, values):
    path, layout = tmp_path / "data", tmp_path / "l.yaml"
    path.write_bytes(bytes.fromhex("3F800000F1C20041"))
    fields = "- {name: F, usage: COMP-1}\n- {name: D, picture: 99}\n- {name: N, picture: N}\n"
    layout.write_text(f"fields:\n{fields}")
    found = table(read_options({"path": str(path), "layout": str(layout)} | given_options))[0].to_pylist()
    assert found == [values]


def test_a_read_has_one_plan_and_its_copybook_is_read_once(tmp_path):
    from pyspark.sql.types import StructType

    from tdqsim.pipeline import qsam

    data, copybook = tmp_path / "x.dat", tmp_path / "x.cpy"
    data.write_bytes(b"AB12" * 3)
    copybook.write_text("01 R. 05 T PIC X(2). 05 N PIC 9(2).")
    given = {"path": str(data), "copybook": str(copybook), "encoding": "ascii"}
    source = qsam.QsamDataSource(given)
    schema = source.schema()
    copybook.unlink()
    source = pickle.loads(pickle.dumps(source))  # as Spark hands it over
    reader = source.reader(StructType([schema["N"]]))
    reader = pickle.loads(pickle.dumps(reader))
    rows = [row for part in reader.partitions() for batch in reader.read(part) for row in batch.to_pylist()]
    assert rows == [{"N": 12}] * 3
    with pytest.raises(AttributeError, match="cannot assign"):
        reader.plan.schema = None


def test_columns_are_named_as_in_the_copybook_and_in_any_case(tmp_path):
    from pyspark.sql.types import IntegerType, StructType

    from tdqsim.pipeline.qsam import QsamDataSource

    data = tmp_path / "x.dat"
    data.write_bytes(b"AB12")
    given = {
        "path": str(data),
        "copybook_contents": "01 R. 05 TRAN-ID PIC X(2). 05 TRAN-AMT PIC 9(2).",
        "encoding": "ascii",
    }
    assert columns_among(["TRAN_ID", "TRAN_AMT"], ["tran-amt", "Tran_Id"]) == ["TRAN_AMT", "TRAN_ID"]
    with pytest.raises(DatasetError, match="there is no column 'TRAN-AMMT'"):
        columns_among(["TRAN_ID", "TRAN_AMT"], ["TRAN-AMMT"])
    reader = QsamDataSource(given).reader(StructType().add("tran_amt", IntegerType()))
    batches = [batch for part in reader.partitions() for batch in reader.read(part)]
    assert [(batch.schema.names, batch.to_pylist()) for batch in batches] == [(["tran_amt"], [{"tran_amt": 12}])]
    with pytest.raises(DatasetError, match="columns has TRAN_AMT twice"):
        QsamDataSource(given).reader(StructType().add("tran_amt", IntegerType()).add("TRAN_AMT", IntegerType()))


def test_what_follows_a_root_through_many_pieces_of_a_file_is_looked_at_once():
    """Otherwise a root with very many children takes the square of their number."""
    looked = []

    def roots_in(frames):
        looked.append(len(frames.starts))
        return np.flatnonzero(frames.data[frames.starts] == ord("A"))

    def piece(data):
        starts = np.arange(1, len(data), 2)
        return Frames(np.frombuffer(data, np.uint8), starts, np.ones_like(starts), starts, len(data))

    texts = [b"-b-c", b"-A-d-e", b"-f-g", b"-h-i", b"-j-A-k-A", b"-m", b"-A-n"]
    bases = np.cumsum([0, *map(len, texts[:-1])])
    families = list(whole_families(zip(bases, map(piece, texts), strict=True), roots_in))
    assert looked == [2, 3, 2, 2, 4, 1, 2]
    assert [each.data[each.starts].tobytes() for _, each in families] == [b"bc", b"AdefghijAk", b"Am", b"An"]
    assert [place for _, each in families for place in each.places] == list(range(1, 32, 2))
