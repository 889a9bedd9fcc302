from __future__ import annotations

import json

import pytest
from freezegun import freeze_time

from tdqsim.cics import TdqueueInfo
from tdqsim.cics.kernel.abstime import abstime, local_time
from tdqsim.definitions import define_tdqueue
from tdqsim.errors import TdqError
from tdqsim.facts import INQUIRE_OPTIONS, Cvda, Resp
from tests.cics.spi.helpers import definitions, region
from tests.rules import expect_rule

SIGNATURE = {
    "CHANGEAGENT", "CHANGEAGREL", "CHANGETIME", "CHANGEUSRID", "DEFINESOURCE", "DEFINETIME", "INSTALLAGENT",
    "INSTALLTIME", "INSTALLUSRID",
}  # fmt: skip
NOTHING = {
    "ATIFACILITY": Cvda.NOTAPPLIC, "ATITERMID": "    ", "ATITRANID": "    ", "ATIUSERID": "        ",
    "BLOCKFORMAT": Cvda.NOTAPPLIC, "BLOCKSIZE": -1, "DATABUFFERS": -1, "DDNAME": "        ",
    "DISPOSITION": Cvda.NOTAPPLIC, "DSNAME": " " * 44, "EMPTYSTATUS": Cvda.NOTAPPLIC, "ENABLESTATUS": Cvda.NOTAPPLIC,
    "ERROROPTION": Cvda.NOTAPPLIC, "INDIRECTNAME": "    ", "INDOUBT": Cvda.NOTAPPLIC, "INDOUBTWAIT": Cvda.NOTAPPLIC,
    "IOTYPE": Cvda.NOTAPPLIC, "MEMBER": "        ", "NUMITEMS": -1, "OPENSTATUS": Cvda.NOTAPPLIC,
    "PRINTCONTROL": Cvda.NOTAPPLIC, "RECORDFORMAT": Cvda.NOTAPPLIC, "RECORDLENGTH": -1, "RECOVSTATUS": Cvda.NOTAPPLIC,
    "REMOTENAME": "    ", "REMOTESYSTEM": "    ", "REWIND": Cvda.NOTAPPLIC, "SYSOUTCLASS": " ", "TRIGGERLEVEL": -1,
}  # fmt: skip
GOLDEN = {
    "PAYQ": {
        "TYPE": Cvda.INTRA, "ATIFACILITY": Cvda.NOTERMINAL, "ATITRANID": "PAYP", "ATIUSERID": "CICSUSER",
        "ENABLESTATUS": Cvda.ENABLED, "INDOUBT": Cvda.REJECT, "INDOUBTWAIT": Cvda.WAIT, "NUMITEMS": 2,
        "RECOVSTATUS": Cvda.NOTRECOVABLE, "TRIGGERLEVEL": 500,
    },
    "TERQ": {
        "TYPE": Cvda.INTRA, "ATIFACILITY": Cvda.TERMINAL, "ATITERMID": "T001", "ATITRANID": "PAYP",
        "ATIUSERID": "CICSUSER", "ENABLESTATUS": Cvda.ENABLED, "INDOUBT": Cvda.NOTAPPLIC, "INDOUBTWAIT": Cvda.NOWAIT,
        "NUMITEMS": 0, "RECOVSTATUS": Cvda.LOGICAL, "TRIGGERLEVEL": 20,
    },
    "PHYQ": {
        "TYPE": Cvda.INTRA, "ATIFACILITY": Cvda.TERMINAL, "ATITERMID": "PHYQ", "ENABLESTATUS": Cvda.ENABLED,
        "INDOUBT": Cvda.QUEUE, "INDOUBTWAIT": Cvda.WAIT, "NUMITEMS": 0, "RECOVSTATUS": Cvda.PHYSICAL, "TRIGGERLEVEL": 0,
    },
    "EXTO": {
        "TYPE": Cvda.EXTRA, "BLOCKSIZE": 800, "DATABUFFERS": 3, "DDNAME": "OUTDD   ", "DSNAME": "PAY.OUT".ljust(44),
        "ENABLESTATUS": Cvda.ENABLED, "ERROROPTION": Cvda.SKIP, "MEMBER": "MEMB    ", "OPENSTATUS": Cvda.CLOSED,
        "RECORDLENGTH": 80, "REWIND": Cvda.REREAD,
    },
    "SYSO": {
        "TYPE": Cvda.EXTRA, "BLOCKSIZE": -1, "DATABUFFERS": 1, "DDNAME": "SYSO    ", "ENABLESTATUS": Cvda.ENABLED,
        "ERROROPTION": Cvda.IGNORERR, "OPENSTATUS": Cvda.CLOSED, "RECORDLENGTH": 1, "REWIND": Cvda.LEAVE, "SYSOUTCLASS": "A",
    },
    "ALIA": {"TYPE": Cvda.INDIRECT, "INDIRECTNAME": "PAYQ"},
    "REMQ": {"TYPE": Cvda.REMOTE, "REMOTESYSTEM": "CICB", "REMOTENAME": "FARQ", "ENABLESTATUS": Cvda.ENABLED},
}  # fmt: skip


@pytest.fixture
def reg(tmp_path):
    with region(tmp_path) as made:
        made.writeq_td("PAYQ", b"one")
        made.writeq_td("PAYQ", b"two")
        yield made


@pytest.mark.rule(
    "INQ-NULL-VALUES", "INQ-INTRA", "INQ-EXTRA-CLOSED", "INQ-INDIRECT-ALONE", "INQ-REMOTE-ALONE", "INQ-SIGNATURE-ALL",
    "INQ-INDOUBT-NOWAIT", "INQ-INDOUBT-ANY-RECOVERY", "INQ-TRIGGERLEVEL-NONE", "INQ-ATIUSERID", "INQ-DSNAME-MEMBER",
)  # fmt: skip
@pytest.mark.parametrize("name", GOLDEN)
def test_every_option_of_every_type(reg, name):
    found = reg.inquire_tdqueue(name).as_dict()
    assert {option: value for option, value in found.items() if option not in SIGNATURE} == NOTHING | GOLDEN[name]
    assert set(found) == set(INQUIRE_OPTIONS["TDQUEUE"])


@pytest.mark.parametrize("name", GOLDEN)
def test_the_kind_and_length_of_every_value(reg, name):
    for option, value in reg.inquire_tdqueue(name).as_dict().items():
        fact = INQUIRE_OPTIONS["TDQUEUE"][option]
        if fact.receiver == "CVDA":
            assert isinstance(value, Cvda), option
            assert value in (*fact.values, Cvda.NOTAPPLIC), option
        elif fact.receiver == "CHAR":
            assert len(value) == fact.length, option
        else:
            assert type(value) is int, option


@pytest.mark.rule("INQ-DSNAME-MEMBER")
@pytest.mark.parametrize("generation", ["0", "+1", "-1", "-12"])
def test_a_generation_belongs_to_dsname_and_is_no_member(reg, generation):
    dsname = f"PAY.GDG({generation})"
    reg.install([define_tdqueue(name="GENQ", type="EXTRA", typefile="INPUT", dsname=dsname, opentime="DEFERRED")])
    info = reg.inquire_tdqueue("GENQ", "DSNAME", "MEMBER")
    assert (info.dsname.rstrip(), info.member.rstrip()) == (dsname, "")


@pytest.mark.rule("INQ-SIGNATURE-ALL")
@pytest.mark.parametrize("name", GOLDEN)
def test_the_signature_of_every_type(reg, name):
    info = reg.inquire_tdqueue(name)
    now = abstime(reg.clock.time_ns())
    assert (info.changeagent, info.installagent) == (Cvda.CSDBATCH, Cvda.GRPLIST)
    assert (info.definesource, info.changeagrel) == ("PAYGRP  ", "0750")
    assert 0 <= now - info.installtime < 60_000
    assert info.definetime == info.changetime


@pytest.mark.rule("SIGNATURE-GRPLIST", "SIGNATURE-CSDAPI", "ABSTIME-LOCAL-MILLISECONDS")
def test_the_signature_by_way_of_installing_and_time_zone(tmp_path):
    with freeze_time("2024-07-01 12:00:00") as frozen, region(tmp_path, time_zone="Europe/Berlin") as reg:
        frozen.move_to("2024-07-01 13:00:00.123456")
        reg.install(definitions("group: LATER\ntdqueue: [{name: NEWQ, type: INTRA}]"), userid="BOB")
        first, second = reg.inquire_tdqueue("PAYQ"), reg.inquire_tdqueue("NEWQ")
    assert (first.installagent, second.installagent) == (Cvda.GRPLIST, Cvda.CSDAPI)
    assert (first.installusrid, second.installusrid) == ("CICSRGN ", "BOB     ")
    assert (first.definesource, second.definesource) == ("PAYGRP  ", "LATER   ")
    assert str(local_time(first.installtime)) == "2024-07-01 14:00:00"
    assert str(local_time(second.installtime)) == "2024-07-01 15:00:00.123000"


def test_only_what_is_asked_for_is_returned(reg):
    info = reg.inquire_tdqueue("PAYQ", "NUMITEMS", "type")
    assert info.as_dict() == {"NUMITEMS": 2, "TYPE": Cvda.INTRA}
    assert (info.numitems, info["numitems"], info["TYPE"]) == (2, 2, Cvda.INTRA)
    assert "NUMITEMS" in info
    assert "DDNAME" not in info
    assert list(info) == ["NUMITEMS", "TYPE"]
    with pytest.raises(AttributeError, match="DDNAME was not requested"):
        _ = info.ddname
    with pytest.raises(AttributeError, match="COLOUR was not requested"):
        _ = info.colour
    assert info == reg.inquire_tdqueue("PAYQ", "TYPE", "NUMITEMS")
    assert "INTRA" in repr(info)


def test_plain_values_are_json(reg):
    plain = reg.inquire_tdqueue("EXTO").as_dict(plain=True)
    assert json.loads(json.dumps(plain)) == plain
    assert (plain["TYPE"], plain["DDNAME"], plain["INDIRECTNAME"]) == ("EXTRA", "OUTDD", "")


@pytest.mark.rule("INQ-BUNDLE")
def test_an_unknown_option_is_refused_by_name(reg):
    for _ in range(2):
        error = expect_rule("INQ-BUNDLE", reg.inquire_tdqueue, "PAYQ", "BUNDLE")
        assert "; allowed are ATIFACILITY, " in str(error)
    with pytest.raises(
        TdqError, match=r"NUMITEM is not an option of INQUIRE TDQUEUE; did you mean NUMITEMS\?; allowed"
    ):
        reg.inquire_tdqueue("PAYQ", "NUMITEM")


@pytest.mark.parametrize("option", [["TYPE", "NUMITEMS"], 5, None])
def test_an_option_that_is_no_word_is_refused(reg, option):
    with reg.task() as task:
        task.inquire_tdqueue_start()
        for inquiry in (
            lambda: task.inquire_tdqueue("PAYQ", option),
            lambda: task.inquire_tdqueue_next(option),
            lambda: list(reg.browse_tdqueue(option)),
        ):
            with pytest.raises(TypeError, match=r"^INQUIRE TDQUEUE: option .*; each option is a word of its own"):
                inquiry()


def test_a_name_may_come_padded(reg):
    assert reg.inquire_tdqueue("PAYQ ", "NUMITEMS").numitems == 2


@pytest.mark.rule("INQ-QIDERR")
def test_an_unknown_queue(reg):
    expect_rule("INQ-QIDERR", reg.inquire_tdqueue, "NOQ")
    expect_rule("INQ-QIDERR", reg.inquire_tdqueue, "payq")


@pytest.mark.rule("INQ-RECEIVERS-UNCHANGED")
def test_after_an_exception_nothing_is_returned_and_the_eib_says_why(reg):
    with reg.task() as task:
        info = task.inquire_tdqueue("NOQ", "NUMITEMS", nohandle=True)
        assert info == TdqueueInfo()
        assert (task.eib.eibresp, task.eib.eibresp2, task.eib.eibfn, task.eib.eibrsrce) == (
            Resp.QIDERR, 1, b"\x5c\x02", "NOQ     ",
        )  # fmt: skip
        assert task.eib.eibrcode == bytes.fromhex("0000002C0000")
        task.inquire_tdqueue("PAYQ", "NUMITEMS")
        assert (task.eib.eibresp, task.eib.eibresp2, task.eib.eibfn, task.eib.eibrsrce) == (
            Resp.NORMAL, 0, b"\x5c\x02", "PAYQ    ",
        )  # fmt: skip


# -- browse --------------------------------------------------------------------------------------------------------------

NAMES = ["PAYQ", "TERQ", "PHYQ", "EXTO", "SYSO", "ALIA", "REMQ", "DUAL", "CQUE"]


def browse(issuer, *options):
    found = []
    issuer.inquire_tdqueue_start()
    while info := issuer.inquire_tdqueue_next(*options, nohandle=True):
        found.append(info)
    issuer.inquire_tdqueue_end()
    return found


@pytest.mark.rule("BROWSE-ALL-ONCE")
def test_a_browse_returns_every_queue_once_with_its_options(reg):
    found = browse(reg, "TYPE")
    assert [info.tdqueue for info in found] == NAMES
    assert [info.type for info in found] == [reg.inquire_tdqueue(name, "TYPE").type for name in NAMES]
    assert [info.tdqueue for info in reg.browse_tdqueue("TYPE")] == NAMES
    with reg.task() as task:
        assert browse(task, "TYPE") == found == list(task.browse_tdqueue("TYPE"))


@pytest.mark.rule("BROWSE-END", "BROWSE-END-AGAIN")
def test_after_the_last_queue_every_next_ends(reg):
    browsed = iter(NAMES)
    reg.inquire_tdqueue_start()
    for _ in browsed:
        reg.inquire_tdqueue_next("TYPE")
    expect_rule("BROWSE-END", reg.inquire_tdqueue_next)
    expect_rule("BROWSE-END-AGAIN", reg.inquire_tdqueue_next)
    reg.inquire_tdqueue_end()


@pytest.mark.rule("BROWSE-ILLOGIC-START", "BROWSE-ILLOGIC-NEXT", "BROWSE-ILLOGIC-END")
def test_a_browse_out_of_sequence(reg):
    expect_rule("BROWSE-ILLOGIC-NEXT", reg.inquire_tdqueue_next)
    expect_rule("BROWSE-ILLOGIC-END", reg.inquire_tdqueue_end)
    reg.inquire_tdqueue_start()
    expect_rule("BROWSE-ILLOGIC-START", reg.inquire_tdqueue_start)
    assert reg.inquire_tdqueue_next("TYPE").tdqueue == "PAYQ"
    reg.inquire_tdqueue_end()
    expect_rule("BROWSE-ILLOGIC-NEXT", reg.inquire_tdqueue_next)


def test_next_with_an_option_that_is_not_known_leaves_the_browse_where_it_is(reg):
    reg.inquire_tdqueue_start()
    for name in NAMES[:2]:
        with pytest.raises(TdqError, match="NUMITEM"):
            reg.inquire_tdqueue_next("NUMITEM")
        assert reg.inquire_tdqueue_next("TYPE").tdqueue == name


def test_the_iterator_does_not_occupy_the_browse(reg):
    reg.inquire_tdqueue_start()
    assert [(a.tdqueue, b.tdqueue) for a in reg.browse_tdqueue("TYPE") for b in reg.browse_tdqueue("TYPE")] == [
        (a, b) for a in NAMES for b in NAMES
    ]
    assert reg.inquire_tdqueue_next().tdqueue == "PAYQ"


@pytest.mark.rule("BROWSE-EIB")
def test_the_eib_of_a_browse(reg):
    with reg.task() as task:
        task.inquire_tdqueue_start()
        assert (task.eib.eibfn, task.eib.eibresp) == (b"\x5c\x02", Resp.NORMAL)
        for _ in NAMES:
            task.inquire_tdqueue_next()
        task.inquire_tdqueue_next(nohandle=True)
        assert (task.eib.eibfn, task.eib.eibresp, task.eib.eibresp2) == (b"\x5c\x02", Resp.END, 2)
        assert task.eib.eibrcode == bytes.fromhex("000000530000")
