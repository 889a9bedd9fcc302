from __future__ import annotations

import pytest

from tdqsim.definitions import define_tdqueue, parse_dct
from tests.rules import rule


def card(text, mark=" "):
    """A statement with its continuation mark in column 72."""
    assert len(text) < 72
    return f"{text:71}{mark}".rstrip() + "\n"


def queues(text):
    return {queue.name: queue for queue in parse_dct(text).definitions.tdqueues}


@pytest.mark.rule("DCT-SDSCI", "DCT-CONTINUATION")
def test_an_extrapartition_queue_and_its_control_block():
    text = (
        "* the table\n"
        + card("         PRINT NOGEN")
        + card("         DFHDCT TYPE=INITIAL,SUFFIX=A1       it's a remark")
        + card("         DFHDCT TYPE=EXTRA,DESTID=OUTQ,DSCNAME=OUTDD,", "X")
        + card("               OPEN=DEFERRED")
        + card("OUTDD    DFHDCT TYPE=SDSCI,DSCNAME=OUTDD,BLKSIZE=136,RECSIZE=132,", "-")
        + card("               RECFORM=VARUNBA,TYPEFLE=OUTPUT,BUFNO=2,ERROPT=SKIP,RE", "*")
        + card("               WIND=REREAD")
        + card("         DFHDCT TYPE=FINAL")
        + card("         END")
    )
    assert text.splitlines()[4].index("OPEN") + 1 == 16
    found = parse_dct(text)
    expected = define_tdqueue(
        name="OUTQ", group="DCTA1", type="EXTRA", ddname="OUTDD", opentime="DEFERRED", blocksize=136, recordsize=132,
        recordformat="VARIABLE", blockformat="UNBLOCKED", printcontrol="A", typefile="OUTPUT", databuffers=2,
        erroroption="SKIP", rewind="REREAD",
    )  # fmt: skip
    assert found.definitions.tdqueues == (expected,)
    assert found.reports == ()
    assert found.definitions.entries[0].line == 4


@pytest.mark.parametrize(
    ("recform", "formats"),
    [
        ("FIXUNB", ("FIXED", "UNBLOCKED", "")),
        ("FIXBLKM", ("FIXED", "BLOCKED", "M")),
        ("VARBLK", ("VARIABLE", "BLOCKED", "")),
    ],
)
def test_record_formats(recform, formats):
    text = card(f" DFHDCT TYPE=SDSCI,DSCNAME=D,RECFORM={recform}") + card(" DFHDCT TYPE=EXTRA,DESTID=Q1,DSCNAME=D")
    queue = queues(text)["Q1"]
    assert (queue.recordformat, queue.blockformat, queue.printcontrol) == formats


@pytest.mark.parametrize(("destrcv", "status"), [("NO", "NO"), ("PH", "PHYSICAL"), ("LG", "LOGICAL")])
def test_intrapartition(destrcv, status):
    queue = queues(card(f" DFHDCT TYPE=INTRA,DESTID=Q1,DESTRCV={destrcv},TRANSID=PAYP,TRIGLEV=5"))["Q1"]
    assert (queue.recovstatus, queue.transid, queue.triggerlevel) == (status, "PAYP", 5)


def test_indirect_and_remote():
    found = queues(
        card(" DFHDCT TYPE=INDIRECT,DESTID=LOGQ,INDDEST=CSSL")
        + card(" DFHDCT TYPE=REMOTE,DESTID=FARQ,SYSIDNT=CIC2,RMTNAME=NEAR,LENGTH=80")
        + card(" DFHDCT TYPE=REMOTE,DESTID=FAR2,SYSIDENT=CIC2")
    )
    assert (found["LOGQ"].type, found["LOGQ"].indirectname) == ("INDIRECT", "CSSL")
    assert (found["FARQ"].type, found["FARQ"].remotesystem, found["FARQ"].remotename) == ("", "CIC2", "NEAR")
    assert found["FARQ"].remotelength == 80
    assert found["FAR2"].remotesystem == "CIC2"


@pytest.mark.rule("DCT-DESTID")
def test_a_long_name_is_cut():
    found = parse_dct(card(" DFHDCT TYPE=INDIRECT,DESTID=LOGQUEUE,INDDEST=CSSL"))
    assert [queue.name for queue in found.definitions.tdqueues] == ["LOGQ"]
    assert rule("DCT-DESTID").message in found.reports[0].message


@pytest.mark.rule("DCT-SYSIDNT")
def test_remote_operands_without_a_system():
    found = parse_dct(card(" DFHDCT TYPE=EXTRA,DESTID=Q1,LENGTH=80,RMTNAME=X"))
    assert [queue.name for queue in found.definitions.tdqueues] == ["Q1"]
    assert all(rule("DCT-SYSIDNT").message in report.message for report in found.reports)
    assert len(found.reports) == 2


@pytest.mark.rule("DCT-KIKDCT")
def test_kicks():
    found = parse_dct(
        card("         KIKDCT TYPE=INITIAL,SUFFIX=1$")
        + card("         KIKDCT TYPE=EXTRA,DESTID=CSSL,FILE=SSLDD,TYPEFIL=OUTPUT,", "X")
        + card("               OPEN=INITIAL,ISTAT=ENABLED")
        + card("         KIKDCT TYPE=INDIR,DESTID=CSMT,PHYDEST=CSSL")
        + card("         KIKDCT TYPE=INTRA,DESTID=PAYQ")
        + card("         KIKDCT TYPE=FINAL")
    )
    cssl, csmt, payq = found.definitions.tdqueues
    assert (cssl.type, cssl.ddname, cssl.typefile, cssl.group) == ("EXTRA", "SSLDD", "OUTPUT", "DCT1$")
    assert (csmt.indirectname, payq.type) == ("CSSL", "INTRA")
    assert [report.subject for report in found.reports] == ["TDQUEUE(CSSL) ISTAT"]


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        (" DFHPCT TYPE=ENTRY", "DFHPCT"),
        (" DFHDCT TYPE=WIBBLE", "TYPE=WIBBLE"),
        (" DFHDCT TYPE=SDSCI,DSCNAME=D", "SDSCI D"),
        (" COPY OTHER", "COPY"),
        (" DFHDCT TYPE=INTRA,DESTID=Q1,REUSE=YES", "TDQUEUE(Q1) REUSE"),
        (" DFHDCT TYPE=EXTRA,DESTID=Q1,DSCNAME=D", "TDQUEUE(Q1) DSCNAME"),
        (" DFHDCT TYPE=INDIRECT,DESTID=Q1", "TDQUEUE(Q1) indirectname"),
    ],
)
def test_what_cannot_be_used_is_reported(text, subject):
    assert subject in [report.subject for report in parse_dct(card(text)).reports]


def test_a_continuation_whose_mark_got_lost():
    found = queues("     DFHDCT TYPE=INTRA,DESTID=Q1,\n         TRIGLEV=5,\n     DFHDCT TYPE=INTRA,DESTID=Q2\n")
    assert (found["Q1"].triggerlevel, found["Q2"].type) == (5, "INTRA")


def test_group_names():
    assert parse_dct(card(" DFHDCT TYPE=INTRA,DESTID=Q1")).definitions.groups == ("DCT",)
    assert parse_dct(card(" DFHDCT TYPE=INTRA,DESTID=Q1"), group="OLD").definitions.groups == ("OLD",)
    text = card(" DFHDCT TYPE=GROUP,GROUP=MINE") + card(" DFHDCT TYPE=INTRA,DESTID=Q1")
    assert parse_dct(text).definitions.groups == ("MINE",)


@pytest.mark.rule("DCT-KIKDCT")
@pytest.mark.parametrize("kind", ["INDIR", "indir", "INDIRECT"])
def test_an_indirect_entry_of_kicks(kind):
    found = parse_dct(
        f"         KIKDCT TYPE=INITIAL,SUFFIX=1$\n         KIKDCT TYPE={kind},DESTID=CSMT,PHYDEST=CSSL\n         KIKDCT TYPE=FINAL\n"
    )
    (queue,) = found.definitions.tdqueues
    assert (queue.title, queue.type, queue.indirectname, queue.group) == ("TDQUEUE(CSMT)", "INDIRECT", "CSSL", "DCT1$")
    assert found.reports == ()


@pytest.mark.rule("DCT-CONTINUATION")
def test_a_line_that_is_too_long_does_not_swallow_the_next_entry():
    long = "         DFHDCT TYPE=INTRA,DESTID=PAYQ,DESTFAC=(TERMINAL,L86A),TRIGLEV=30,TRANSID=PAYP"
    assert len(long) > 72
    found = parse_dct(f"{long}\n         DFHDCT TYPE=INTRA,DESTID=PAY2\n")
    assert [queue.name for queue in found.definitions.tdqueues] == ["PAYQ", "PAY2"]
    assert (2, "changed") in [(report.line, report.action) for report in found.reports]


def test_a_quoted_transaction_name():
    found = parse_dct("         DFHDCT TYPE=INTRA,DESTID=PAYQ,TRANSID='A,B'\n")
    assert [queue.transid for queue in found.definitions.tdqueues] == ["A,B"]
