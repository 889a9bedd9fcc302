"""DD cards, allocations, the DCB merge, DUMMY, concatenation, SYSOUT."""

from __future__ import annotations

from pathlib import Path

import pytest

from tdqsim.datasets import (
    Allocation,
    BlockError,
    DataSetDirectory,
    DatasetInUse,
    Dcb,
    DcbError,
    DDCard,
    DDTable,
    Disposition,
    DsnameError,
    ErrorOption,
    OpenError,
    PrintControl,
    RecordFormat,
    Space,
    SpaceExhausted,
    SpaceUnit,
    Spooling,
    parse_dcb,
    write_records,
)
from tests.rules import expect_rule, rule

FB = parse_dcb("RECFM=FB,LRECL=4,BLKSIZE=8")


@pytest.fixture
def volume(tmp_path):
    return DataSetDirectory(tmp_path / "volume")


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "data"
    path.write_bytes(b"AAAABBBB")
    return path


@pytest.mark.rule("DS-DD-ONE-OPEN")
def test_a_dd_is_open_once(data):
    dd = Allocation(DDCard("IN", path=data, dcb=FB))
    assert not dd.is_open
    reader = dd.open_input(owner="TDQUEUE(ONE)")
    assert (dd.is_open, dd.owner) == (True, "TDQUEUE(ONE)")
    for call in (dd.open_input, dd.open_output):
        error = expect_rule("DS-DD-ONE-OPEN", call, owner="TDQUEUE(TWO)")
        assert isinstance(error, DatasetInUse)
        assert "TDQUEUE(ONE)" in str(error)
    assert data.read_bytes() == b"AAAABBBB"
    reader.close()
    with dd.open_input() as again:  # from the start
        assert list(again) == [b"AAAA", b"BBBB"]


@pytest.mark.rule("DS-DD-FREE-CLOSE")
def test_free_close(data):
    dd = Allocation(DDCard("IN", path=data, dcb=FB, free_close=True))
    dd.open_input().close()
    expect_rule("DS-DD-FREE-CLOSE", dd.open_input)


@pytest.mark.rule("DS-DUMMY")
@pytest.mark.parametrize("card", [DDCard("D", dummy=True), DDCard("D", dsname="DUMMY"), DDCard("D", dsname="NULLFILE")])
def test_dummy(card):
    dd = Allocation(card)
    with dd.open_input(FB) as reader:
        assert (reader.get(), list(reader), reader.records_read) == (None, [], 0)
    with dd.open_output(FB) as writer:
        writer.put(b"AAAA")
    assert dd.dsname is None


@pytest.mark.rule("DS-LABEL", "DS-DCB-MERGE")
def test_a_data_set_made_by_name_remembers_its_dcb(volume):
    dd = Allocation(DDCard("OUT", dsname="HLQ.NEW(M)", dcb=parse_dcb("LRECL=4,BLKSIZE=80")), volume)
    with dd.open_output(Dcb(RecordFormat.FB, blksize=8)) as writer:
        writer.put(b"AAAA")
        assert (writer.dcb.lrecl, writer.dcb.blksize) == (4, 8)
    with Allocation(DDCard("IN", dsname="HLQ.NEW(M)"), volume).open_input() as reader:
        assert list(reader) == [b"AAAA"]
        assert (reader.dcb.recfm, reader.dcb.lrecl, reader.dcb.blksize) == (RecordFormat.FB, 4, 8)


@pytest.mark.rule("DS-DCB-MATCH")
@pytest.mark.parametrize("text", ["RECFM=VB,LRECL=8,BLKSIZE=16", "LRECL=2", "BLKSIZE=16", "RECFM=U"])
def test_input_must_match_the_data_set(volume, text):
    Allocation(DDCard("OUT", dsname="HLQ.A", dcb=FB), volume).open_output().close()
    dd = Allocation(DDCard("IN", dsname="HLQ.A"), volume)
    expect_rule("DS-DCB-MATCH", dd.open_input, parse_dcb(text))
    expect_rule("DS-DCB-MATCH", dd.open_output, parse_dcb(text.replace("=U", "=VB")), disposition=Disposition.MOD)
    assert not dd.is_open
    with dd.open_output(parse_dcb("RECFM=VB,LRECL=8,BLKSIZE=16"), disposition=Disposition.OLD) as writer:
        writer.put(b"new")  # from the start: whatever it was before
    with dd.open_input() as reader:
        assert list(reader) == [b"new"]


def test_the_cards_disp_and_space_count(data):
    dd = Allocation(DDCard("OUT", path=data, dcb=FB, disp=Disposition.MOD, space=Space(16)))
    with dd.open_output(disposition=Disposition.OLD) as writer:
        writer.put_all([b"CCCC", b"DDDD"])
        with pytest.raises(SpaceExhausted):
            writer.put(b"EEEE")
    assert data.read_bytes() == b"AAAABBBBCCCCDDDD"


@pytest.mark.rule("DS-X37-MEMBER")
def test_a_member_that_is_full(volume):
    dd = Allocation(DDCard("OUT", dsname="HLQ.LIB(M)", dcb=FB, space=Space(1, unit=SpaceUnit.BLK)), volume)
    with dd.open_output() as writer, pytest.raises(SpaceExhausted) as caught:
        writer.put_all([b"AAAA"] * 3)
    assert caught.value.code == rule("DS-X37-MEMBER").message


@pytest.mark.rule("DS-GDG-RELATIVE")
def test_a_new_generation_stays_the_same_while_allocated(volume):
    dd = Allocation(DDCard("OUT", dsname="HLQ.GDG(+1)", dcb=FB), volume)
    for record in (b"AAAA", b"BBBB"):
        with dd.open_output(disposition=Disposition.MOD) as writer:
            writer.put(record)
    assert volume.generations("HLQ.GDG") == ["HLQ.GDG.G0001V00"]
    with Allocation(DDCard("IN", dsname="HLQ.GDG(0)"), volume).open_input() as reader:
        assert list(reader) == [b"AAAA", b"BBBB"]


@pytest.mark.rule("DS-CONCATENATION", "DS-CONCATENATION-ALIKE")
def test_concatenation(tmp_path, data):
    second, third = tmp_path / "second", tmp_path / "third"
    second.write_bytes(b"CCCCDD")
    write_records(third, [b"EEEE"], FB)
    card = DDCard("IN", path=data, dcb=FB, concatenation=(DDCard(path=second, dcb=FB), DDCard(path=third, dcb=FB)))
    dd = Allocation(card)
    with dd.open_input() as reader:
        got = []
        with pytest.raises(BlockError) as caught:
            got.extend(iter(reader.get, None))
        assert caught.value.path == str(second)
        assert reader.get() == b"EEEE"
        assert reader.get() is None
        assert (got, reader.records_read) == ([b"AAAA", b"BBBB", b"CCCC"], 4)
    with dd.open_input(eropt=ErrorOption.SKP) as reader:
        assert list(reader) == [b"AAAA", b"BBBB", b"CCCC", b"EEEE"]
        assert reader.blocks_in_error == 1
    with dd.open_input() as reader:
        with pytest.raises(BlockError):
            list(reader)
        reader.accept_block()
        assert list(reader) == [b"DD", b"EEEE"]
    with pytest.raises(OpenError, match="backward"):
        dd.open_input(backward=True)
    with pytest.raises(OpenError, match="only be read"):
        dd.open_output()
    odd = DDCard("IN", path=data, dcb=FB, concatenation=(DDCard(path=second, dcb=parse_dcb("RECFM=FB,LRECL=2")),))
    expect_rule("DS-CONCATENATION-ALIKE", Allocation(odd).open_input)
    third.unlink()
    with pytest.raises(OpenError, match="must be there"):
        dd.open_input()
    assert not dd.is_open


@pytest.mark.rule("DS-CONCATENATION-LARGEST")
def test_of_concatenated_data_sets_of_format_v_the_largest_lrecl_comes_first(tmp_path):
    short, long = tmp_path / "short", tmp_path / "long"
    small, large = parse_dcb("RECFM=VB,LRECL=20"), parse_dcb("RECFM=VB,LRECL=40")
    write_records(short, [b"A" * 16], small)
    write_records(long, [b"B" * 36], large)
    refused = DDCard("IN", path=short, dcb=small, concatenation=(DDCard(path=long, dcb=large),))
    error = expect_rule("DS-CONCATENATION-LARGEST", Allocation(refused).open_input)
    assert "put it first, or give the first one LRECL=40" in str(error)
    for card in (DDCard("IN", path=long, dcb=large, concatenation=(DDCard(path=short, dcb=small),)),
                 DDCard("IN", path=short, dcb=large, concatenation=(DDCard(path=long, dcb=large),))):  # fmt: skip
        with Allocation(card).open_input() as reader:
            assert sorted(reader) == [b"A" * 16, b"B" * 36]


def test_looking_takes_no_turn(volume, data):
    dd = Allocation(DDCard("OUT", path=data, dcb=FB, disp=Disposition.OLD))
    with dd.open_output(disposition=Disposition.OLD) as writer:
        writer.put_all([b"CCCC", b"DDDD"])
        with dd.look() as reader:
            assert list(reader) == [b"CCCC", b"DDDD"]
        with dd.look(backward=True) as reader:
            assert reader.get() == b"DDDD"
        assert dd.is_open
    assert dd.path == data
    for card in (
        DDCard("D", dummy=True),
        DDCard("S", sysout="A"),
        DDCard("N", dsname="HLQ.NONE(M)"),
        DDCard("G", dsname="G(+1)"),
    ):
        assert Allocation(card, volume).path is None
    with Allocation(DDCard("D", dummy=True)).look() as reader:
        assert reader.get() is None
    with pytest.raises(OpenError, match="on the spool"):
        Allocation(DDCard("S", sysout="A")).look()
    member = Allocation(DDCard("M", dsname="HLQ.NEW(M)", dcb=FB), volume)
    assert member.path is None
    with member.open_output() as writer:  # looking before has not kept the library from being made
        writer.put(b"AAAA")
    assert member.path == volume.root / "HLQ.NEW" / "M"


def test_a_label_goes_with_its_data_set(volume):
    dd = Allocation(DDCard("OUT", dsname="HLQ.A"), volume)
    dd.open_output(FB).close()
    dd.path.unlink()
    with pytest.raises(DcbError, match="no record format"):
        dd.open_output()
    with dd.open_output(parse_dcb("RECFM=F,LRECL=2")) as writer:
        writer.put(b"AA")
    with dd.open_input() as reader:
        assert list(reader) == [b"AA"]


def test_rdback_through_a_dd(data):
    with Allocation(DDCard("IN", path=data)).open_input(FB, backward=True) as reader:
        assert list(reader) == [b"BBBB", b"AAAA"]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, "give one of"),
        ({"path": Path("x"), "dsname": "A"}, "give one of"),
        ({"dsname": "a.b"}, "qualifier"),
        ({"dummy": True, "writer": "INTRDR"}, "together with sysout"),
        ({"sysout": "A", "writer": "OTHER"}, "INTRDR"),
        ({"dummy": True, "concatenation": (DDCard("X", sysout="A"),)}, "only data sets"),
    ],
)
def test_cards_that_are_refused(fields, words):
    with pytest.raises((OpenError, DsnameError), match=words):
        DDCard("NAME", **fields)
    for name in ("TOOLONGXX", "1A", "a", "A.B"):
        with pytest.raises(OpenError, match="DD name"):
            DDCard(name, dummy=True)


def test_cards_from_text():
    assert DDCard.parse("in=/data/my,file") == DDCard("IN", path=Path("/data/my,file"))
    assert DDCard.parse("IN=a=b,RECFM=FB,LRECL=4") == DDCard("IN", path=Path("a=b"), dcb=parse_dcb("RECFM=FB,LRECL=4"))
    for text in ("IN", "IN=", "=x", "IN=x,RECFM=Q"):
        with pytest.raises(OpenError):
            DDCard.parse(text)


def test_cards_from_yaml(tmp_path):
    card = DDCard.from_mapping(
        "IN",
        {"path": "in.dat", "recfm": "FBA", "lrecl": 133, "blksize": 1330, "disp": "mod", "space": "TRK,(5,1)", "free": "CLOSE",
         "concatenation": [{"dsname": "HLQ.A"}]},
        tmp_path,
    )  # fmt: skip
    assert card == DDCard(
        "IN",
        path=tmp_path / "in.dat",
        dcb=Dcb(RecordFormat.FB, 133, blksize=1330, control=PrintControl.ASA),
        disp=Disposition.MOD,
        space=Space(5, 1, SpaceUnit.TRK),
        free_close=True,
        concatenation=(DDCard(dsname="HLQ.A"),),
    )
    assert DDCard.from_mapping("D", {"dummy": True}).is_dummy
    for bad, words in (
        ({"file": "x"}, "unknown key 'file'"),
        ({"path": ["x"]}, "one word or number"),
        ({"dummy": "maybe"}, "YES and NO"),
        ({"path": "x", "disp": "KEEP"}, "NEW"),
        ({"path": "x", "recfm": "FB,LRECL=3"}, "one word"),
        ({"path": "x", "concatenation": "y"}, "list of data sets"),
        ({"path": "x", "space": "lots"}, "SPACE"),
    ):
        with pytest.raises(OpenError, match=words):
            DDCard.from_mapping("X", bad)


def test_tables(volume, data):
    table = DDTable([DDCard("IN", path=data, dcb=FB)], volume)
    assert table.get("NONE") is None
    with pytest.raises(DatasetInUse, match="allocated already"):
        table.allocate(DDCard("IN", dummy=True))
    with pytest.raises(OpenError, match="needs a name"):
        table.allocate(DDCard(dummy=True))
    dynamic = table.allocate(DDCard("OUT", dsname="HLQ.A", dcb=FB))
    writer = dynamic.open_output(owner="Q")
    with pytest.raises(DatasetInUse, match="open for Q"):
        table.free("OUT")
    writer.close()
    table.free("OUT")
    table.free("OUT")
    assert [dd.card.name for dd in table] == ["IN"]
    with pytest.raises(OpenError, match="no data-set directory"):
        Allocation(DDCard("X", dsname="HLQ.A", dcb=FB)).open_input()


@pytest.mark.rule("DS-SYSOUT-CLASS", "DS-INTRDR-SUBMIT")
def test_sysout_and_internal_reader(tmp_path):
    spooling = Spooling(tmp_path, lambda: 5, "ascii")
    table = DDTable([DDCard("PRINT", sysout="*"), DDCard("JES", sysout="A", writer="INTRDR")], None, spooling)
    with table.get("PRINT").open_output(parse_dcb("RECFM=VBA,LRECL=137")) as writer:
        writer.put(b"1TITLE")
    [kept] = spooling.spool.datasets("A")
    assert (kept.ddname, kept.control, list(spooling.spool.read(kept))) == ("PRINT", PrintControl.ASA, [b"1TITLE"])
    with table.get("JES").open_output() as reader:
        reader.put(b"//JOBA JOB")
    assert [job.name for job in spooling.jobs] == ["JOBA"]
    with pytest.raises(OpenError, match="only be written"):
        table.get("PRINT").open_input()
    with pytest.raises(OpenError, match="no spool"):
        Allocation(DDCard("P", sysout="A")).open_output()
