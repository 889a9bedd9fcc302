"""DSNAME to file: names, members, generations, labels."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tdqsim.datasets import (
    DataSetDirectory,
    Dcb,
    DcbError,
    DDCard,
    DDTable,
    DsName,
    DsnameError,
    OpenError,
    parse_dcb,
    parse_dsname,
)
from tests.rules import expect_rule


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("A", DsName("A")),
        ("HLQ.NAME", DsName("HLQ.NAME")),
        ("HLQ.@1.#2.$3-X", DsName("HLQ.@1.#2.$3-X")),
        ("HLQ.LIB(MEMB)", DsName("HLQ.LIB", "MEMB")),
        ("HLQ.GDG(0)", DsName("HLQ.GDG", generation=0)),
        ("HLQ.GDG(-1)", DsName("HLQ.GDG", generation=-1)),
        ("HLQ.GDG(+1)", DsName("HLQ.GDG", generation=1)),
        (
            ".".join(["ABCDEFGH"] * 4 + ["ABCDEFGH"[:8]])[:44],
            DsName("ABCDEFGH.ABCDEFGH.ABCDEFGH.ABCDEFGH.ABCDEFGH"[:44]),
        ),
    ],
)
def test_names(text, parts):
    assert parse_dsname(text) == parts
    assert str(parts) == text


@pytest.mark.rule("DS-DSNAME-LENGTH", "DS-DSNAME-QUALIFIER")
def test_names_that_are_none():
    expect_rule("DS-DSNAME-LENGTH", parse_dsname, "A" * 45)
    expect_rule("DS-DSNAME-LENGTH", parse_dsname, "")
    for text in ("a.b", "A..B", ".A", "A.", "A.1B", "A.TOOLONGXX", "A B", "A/B", "..", "A.Ä", "A\0", "-A", "~"):
        expect_rule("DS-DSNAME-QUALIFIER", parse_dsname, text)
    for text in (
        "A(",
        "A)",
        "A()",
        "A(1M)",
        "A(TOOLONGXX)",
        "A(B)C",
        "A(M/N)",
        "A(..)",
        "A(1)",
        "A(B)(C)",
        f"{'A' * 8}." * 5,
    ):
        with pytest.raises(DsnameError):
            parse_dsname(text)


@given(st.text(max_size=60))
def test_no_text_leads_out_of_the_directory(text):
    try:
        parsed = parse_dsname(text)
    except DsnameError:
        return
    for part in (parsed.name, parsed.member):
        assert "/" not in part
        assert part not in {".", ".."}


@pytest.mark.rule("DS-DSNAME-MEMBER")
def test_files_and_members(tmp_path):
    volume = DataSetDirectory(tmp_path)
    assert volume.path("HLQ.NAME") == tmp_path / "HLQ.NAME"
    assert volume.path("HLQ.LIB(MEMB)", output=True) == tmp_path / "HLQ.LIB" / "MEMB"
    (tmp_path / "HLQ.LIB" / "MEMB").write_bytes(b"")
    (tmp_path / "HLQ.LIB" / "notes.txt").write_bytes(b"")
    (tmp_path / "HLQ.NAME").write_bytes(b"")
    assert volume.members("HLQ.LIB") == ["MEMB"]
    assert volume.members("HLQ.NONE") == []
    with pytest.raises(DsnameError, match="partitioned"):
        volume.path("HLQ.LIB")
    with pytest.raises(DsnameError, match="no members"):
        volume.path("HLQ.NAME(MEMB)")


@pytest.mark.rule("DS-GDG-RELATIVE", "DS-GDG-MISSING")
def test_generations(tmp_path):
    volume = DataSetDirectory(tmp_path)
    expect_rule("DS-GDG-MISSING", volume.path, "HLQ.GDG(0)")
    for number in (1, 2, 5):
        path = volume.path("HLQ.GDG(+1)" if number < 5 else "HLQ.GDG(+3)", output=True)
        assert path.name == f"HLQ.GDG.G{number:04d}V00"
        path.write_bytes(b"")
    (tmp_path / "HLQ.GDGX.G0009V00").write_bytes(b"")
    assert volume.generations("HLQ.GDG") == ["HLQ.GDG.G0001V00", "HLQ.GDG.G0002V00", "HLQ.GDG.G0005V00"]
    assert volume.path("HLQ.GDG(0)").name == "HLQ.GDG.G0005V00"
    assert volume.path("HLQ.GDG(-1)").name == "HLQ.GDG.G0002V00"
    assert volume.path("HLQ.GDG(-2)").name == "HLQ.GDG.G0001V00"
    expect_rule("DS-GDG-MISSING", volume.path, "HLQ.GDG(-3)")
    with pytest.raises(DsnameError, match="only be written"):
        volume.path("HLQ.GDG(+1)")
    (tmp_path / "HLQ.GDG.G9999V00").write_bytes(b"")
    with pytest.raises(DsnameError, match="end at 9999"):
        volume.path("HLQ.GDG(+1)", output=True)


def test_labels(tmp_path):
    volume = DataSetDirectory(tmp_path)
    path = volume.path("HLQ.LIB(MEMB)", output=True)
    assert volume.label(path) == Dcb()
    volume.write_label(path, parse_dcb("RECFM=FBA,LRECL=133,BLKSIZE=1330,BUFNO=9"))
    assert volume.label(volume.path("HLQ.LIB(OTHER)")) == parse_dcb("RECFM=FBA,LRECL=133,BLKSIZE=1330")
    label = tmp_path / ".vtoc" / "HLQ.LIB"
    assert label.read_text() == "RECFM=FBA,LRECL=133,BLKSIZE=1330\n"
    label.write_text("what is this?")
    with pytest.raises(DcbError, match=r"\.vtoc"):
        volume.label(path)
    label.write_bytes(b"RECFM=FB," * 1000)
    with pytest.raises(OpenError, match="longer than 4096"):
        volume.label(path)


@pytest.mark.rule("DS-GDG-LIMIT")
@pytest.mark.parametrize("most", [None, 1, 3])
def test_generations_beyond_the_limit_are_rolled_off(tmp_path, most):
    directory = DataSetDirectory(tmp_path, None if most is None else {"PAY.GDG": most})
    for number in range(5):
        table = DDTable([], directory)
        card = DDCard("OUT", dsname="PAY.GDG(+1)", dcb=parse_dcb("RECFM=F,LRECL=1"))
        with table.allocate(card).open_output() as writer:
            writer.put(b"%d" % number)
    kept = range(1, 6)[-most:] if most else range(1, 6)
    assert directory.generations("PAY.GDG") == [f"PAY.GDG.G{number:04d}V00" for number in kept]
    assert directory.path("PAY.GDG(0)").read_bytes() == b"4"
    assert directory.roll_off("OTHER") == []


def test_rewriting_a_generation_rolls_nothing_off(tmp_path):
    for number in range(1, 4):
        (tmp_path / f"PAY.GDG.G{number:04d}V00").write_bytes(b"x")
    directory = DataSetDirectory(tmp_path, {"PAY.GDG": 1})
    card = DDCard("OUT", dsname="PAY.GDG(-1)", dcb=parse_dcb("RECFM=F,LRECL=1"))
    DDTable([], directory).allocate(card).open_output().close()
    assert len(directory.generations("PAY.GDG")) == 3


@pytest.mark.rule("DS-GDG-BASE")
@pytest.mark.parametrize(("base", "most"), [("PAY.GDG", 0), ("PAY.GDG", 256), ("A" * 8 + ".B2345678" * 3 + ".X", 5), ("PAY(M)", 5), ("PAY(+1)", 5)])  # fmt: skip
def test_a_limit_is_for_a_generation_group(tmp_path, base, most):
    expect_rule("DS-GDG-BASE", DataSetDirectory, tmp_path, {base: most})
