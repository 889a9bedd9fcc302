from __future__ import annotations

import pytest

from tdqsim import SecurityOptions
from tdqsim.cics import Access, AccessList, Condition, Region, Sysplex
from tdqsim.cics.inspection.installed import installed
from tdqsim.cics.text import ceci
from tdqsim.definitions import define_connection, define_tdqueue, define_terminal, define_transaction
from tdqsim.errors import TdqError
from tdqsim.facts import Cvda, Resp
from tests.cics.spi.helpers import condition, region
from tests.rules import expect_rule, rule


@pytest.fixture
def reg(tmp_path):
    with region(tmp_path) as made:
        yield made


def status(reg, name):
    return reg.inquire_tdqueue(name, "ENABLESTATUS").enablestatus


@pytest.mark.rule("SET-DISABLE-IDLE", "SET-NAMES-OR-NUMBERS")
@pytest.mark.parametrize("value", ["DISABLED", "disabled", Cvda.DISABLED, 24])
def test_an_idle_queue_is_disabled_at_once(reg, value):
    reg.set_tdqueue("PAYQ", enablestatus=value)
    assert status(reg, "PAYQ") is Cvda.DISABLED
    assert condition(reg.writeq_td, "PAYQ", b"x") == (Resp.DISABLED, 0)
    reg.set_tdqueue("PAYQ", enablestatus=Cvda.ENABLED)
    reg.writeq_td("PAYQ", b"x")


@pytest.mark.rule("SET-DISABLING", "SET-DISABLING-OWNER", "SET-PENDING-ENABLESTATUS", "SET-PENDING-TRIGGERLEVEL")
def test_a_queue_in_use_is_disabled_by_its_last_user(reg):
    with reg.task() as owner:
        owner.writeq_td("TERQ", b"one")
        reg.set_tdqueue("TERQ", enablestatus="DISABLED")
        assert status(reg, "TERQ") is Cvda.DISABLING
        owner.writeq_td("TERQ", b"two")
        assert condition(reg.writeq_td, "TERQ", b"other") == (Resp.DISABLED, 0)
        expect_rule("SET-PENDING-ENABLESTATUS", reg.set_tdqueue, "TERQ", enablestatus="ENABLED")
        expect_rule("SET-PENDING-ENABLESTATUS", reg.set_tdqueue, "TERQ", enablestatus="DISABLED")
        reg.set_tdqueue("TERQ", triggerlevel=7)
        assert condition(reg.set_tdqueue, "TERQ", atitranid="PAY2") == (Resp.INVREQ, 30)
    assert status(reg, "TERQ") is Cvda.DISABLED
    assert reg.inquire_tdqueue("TERQ", "NUMITEMS", "TRIGGERLEVEL").as_dict() == {"NUMITEMS": 2, "TRIGGERLEVEL": 7}


@pytest.mark.rule("SET-C-NAME")
def test_a_queue_of_cics_cannot_be_disabled(reg):
    expect_rule("SET-C-NAME", reg.set_tdqueue, "CQUE", enablestatus="DISABLED")
    reg.set_tdqueue("CQUE", enablestatus="ENABLED", triggerlevel=3)


@pytest.mark.rule("SET-NOT-DISABLED")
@pytest.mark.parametrize(
    "change",
    [{"atitranid": "PAY2"}, {"atitermid": "T002"}, {"atifacility": "TERMINAL"}, {"atiuserid": "BOB"}],
)
def test_trigger_attributes_need_a_disabled_queue(reg, change):
    before = reg.inquire_tdqueue("PAYQ")
    expect_rule("SET-NOT-DISABLED", reg.set_tdqueue, "PAYQ", **change)
    assert reg.inquire_tdqueue("PAYQ") == before


@pytest.mark.rule("SET-ATI-SESSION")
def test_atifacility_of_a_session_is_terminal_to_set():
    """ATIFACILITY(TERMINAL) is a terminal or a session: what INQUIRE has returned can be set again and changes nothing."""
    ran = []
    system = define_tdqueue(name="SESS", type="INTRA", transid="PAYP", atifacility="SYSTEM", facilityid="CONN")
    others = [define_transaction(name="PAYP"), define_connection(name="CONN"), define_terminal(name="T001")]
    others += [define_connection(name="DUAL", netname="NOWHERE"), define_terminal(name="DUAL")]
    with Sysplex() as sysplex:
        reg = sysplex.region([system, *others], supplied_queues=False)
        sysplex.region([define_connection(name="HERE", netname="TDQREGN")], applid="CONN", sysid="CONN")

        @reg.transaction("PAYP")
        def program(task):
            ran.append((task.eib.eibtrmid, reg._core.terminal_control.get("SYSTEM", "CONN").task is task))
            task.deleteq_td("SESS")

        def after(**change):
            reg.set_tdqueue("SESS", enablestatus="DISABLED")
            reg.set_tdqueue("SESS", **change, enablestatus="ENABLED")
            reg.writeq_td("SESS", b"x")
            reg.run()
            return ran.pop() if ran else None

        assert after() == ("CONN", True)
        assert after(atifacility=reg.inquire_tdqueue("SESS").atifacility) == ("CONN", True)
        assert after(atifacility="NOTERMINAL") == ("", False)
        assert after(atifacility="TERMINAL") == ("CONN", True)
        assert after(atitermid="T001") == ("T001", False)
        assert after(atifacility="NOTERMINAL") == ("", False)
        assert after(atifacility="TERMINAL") == ("CONN", True)  # as defined, not as it was set before
        assert after(atitermid="T001") == ("T001", False)
        assert after(atitermid="CONN") == ("CONN", True)
        assert after(atifacility="NOTERMINAL") == ("", False)
        assert after(atitermid="T001") == ("", False)
        assert after(atifacility="TERMINAL") == ("T001", False)
        assert after(atifacility="TERMINAL", atitermid="CONN") == ("CONN", True)
        reg.set_tdqueue("SESS", enablestatus="DISABLED")
        kinds = []
        for name in ("T001", "DUAL", "NONE", "CONN", "DUAL", "NONE"):  # DUAL is both, NONE neither: as it was
            reg.set_tdqueue("SESS", atitermid=name)
            kinds.append(reg.extract_statistics("SESS")["facility_type"])
        assert kinds == ["TERMINAL"] * 3 + ["SYSTEM"] * 3


@pytest.mark.rule("SET-ATITRANID-LEVEL")
def test_atitranid_comes_with_the_default_triggerlevel(reg):
    level = int(rule("SET-ATITRANID-LEVEL").message)
    reg.install([define_tdqueue(name="SAID", type="INTRA", triggerlevel=0)])
    for name in ("PHYQ", "SAID", "CQUE"):
        assert reg.inquire_tdqueue(name, "TRIGGERLEVEL").triggerlevel == 0
    for name in ("PHYQ", "SAID"):
        reg.set_tdqueue(name, enablestatus="DISABLED")
        reg.set_tdqueue(name, atitranid="PAYP")
    assert reg.inquire_tdqueue("PHYQ", "TRIGGERLEVEL").triggerlevel == level
    assert reg.inquire_tdqueue("SAID", "TRIGGERLEVEL").triggerlevel == 0
    reg.set_tdqueue("PHYQ", triggerlevel=0)
    reg.set_tdqueue("PHYQ", atitranid="PAY2")
    assert reg.inquire_tdqueue("PHYQ", "TRIGGERLEVEL").triggerlevel == 0
    reg.install([define_tdqueue(name="FIVE", type="INTRA", triggerlevel=5)])
    for change in ({"enablestatus": "DISABLED"}, {"triggerlevel": 0}, {"atitranid": "PAYP"}):
        reg.set_tdqueue("FIVE", **change)
    assert reg.inquire_tdqueue("FIVE", "TRIGGERLEVEL").triggerlevel == 0
    reg.install([define_tdqueue(name="BOTH", type="INTRA")])
    reg.set_tdqueue("BOTH", enablestatus="DISABLED")
    reg.set_tdqueue("BOTH", atitranid="PAYP", triggerlevel=0)
    assert reg.inquire_tdqueue("BOTH", "TRIGGERLEVEL").triggerlevel == 0


@pytest.mark.parametrize("changes", [
    [{"triggerlevel": 7}],
    [{"triggerlevel": 0}],
    [{"atitranid": "PAYP"}],
    [{"atitranid": "PAYP"}, {"triggerlevel": 0}],
    [{"atitranid": "PAYP", "triggerlevel": 1}, {"atifacility": "NOTERMINAL"}],
    [{"atifacility": "NOTERMINAL"}, {"atitermid": "T001"}],
    [{"atitermid": "T001"}],
])  # fmt: skip
@pytest.mark.parametrize("name", ["PAYQ", "TERQ", "PHYQ"])
def test_what_is_installed_is_told_as_it_stands_so_that_another_region_has_the_same(reg, name, changes):
    reg.set_tdqueue(name, enablestatus="DISABLED")
    for change in changes:
        reg.set_tdqueue(name, **change)
    reg.set_tdqueue(name, enablestatus="ENABLED")
    told = ("ATIFACILITY", "ATITERMID", "ATITRANID", "TRIGGERLEVEL")
    with Region(installed(reg._core), supplied_queues=False) as other:
        assert other.inquire_tdqueue(name, *told) == reg.inquire_tdqueue(name, *told)


@pytest.mark.rule("SET-USERID-FACILITY", "SET-UNKNOWN-TRANSACTION")
def test_what_a_trigger_attribute_may_not_be(reg):
    reg.set_tdqueue("TERQ", enablestatus="DISABLED")
    expect_rule("SET-USERID-FACILITY", reg.set_tdqueue, "TERQ", atiuserid="BOB")
    expect_rule("SET-UNKNOWN-TRANSACTION", reg.set_tdqueue, "TERQ", atitranid="NONE")
    for name, remotesystem in (("FARP", "CICB"), ("HERE", reg.options.sysid)):
        reg.install([define_transaction(name=name, remotesystem=remotesystem)])
    expect_rule("SET-UNKNOWN-TRANSACTION", reg.set_tdqueue, "TERQ", atitranid="FARP")
    reg.set_tdqueue("TERQ", atitranid="HERE")
    for name in ("TOOLONG", "IGNORE"):
        with pytest.raises(TdqError, match="at most 4 characters"):
            reg.set_tdqueue("TERQ", atitranid=name)
    for number in (-1, 1, 5):
        with pytest.raises(TypeError, match=f"atitermid is {number}; allowed is str or None"):
            reg.set_tdqueue("TERQ", atitermid=number)


@pytest.mark.rule("SET-TRIGGERLEVEL-RANGE")
@pytest.mark.parametrize("value", [-2, 32768, "5", 2.5, True])
def test_a_triggerlevel_out_of_range(reg, value):
    expect_rule("SET-TRIGGERLEVEL-RANGE", reg.set_tdqueue, "PAYQ", triggerlevel=value)
    assert reg.inquire_tdqueue("PAYQ", "TRIGGERLEVEL").triggerlevel == 500


@pytest.mark.rule("SET-BAD-CVDA")
@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("PAYQ", {"enablestatus": "DISABLING"}),
        ("PAYQ", {"enablestatus": "ON"}),
        ("PAYQ", {"enablestatus": 99999}),
        ("PAYQ", {"enablestatus": -1}),
        ("EXTO", {"openstatus": Cvda.OPENING}),
    ],
)
def test_a_cvda_that_the_option_does_not_take(reg, name, change):
    expect_rule("SET-BAD-CVDA", reg.set_tdqueue, name, **change)


@pytest.mark.rule("SET-WRONG-TYPE")
@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("PAYQ", {"openstatus": "OPEN"}),
        ("EXTO", {"triggerlevel": 5}),
        ("EXTO", {"atitranid": "PAYP"}),
        ("SYSO", {"atifacility": "TERMINAL"}),
    ],
)
def test_an_option_of_another_type(reg, name, change):
    expect_rule("SET-WRONG-TYPE", reg.set_tdqueue, name, **change)


@pytest.mark.rule("SET-REMOTE-INDIRECT")
@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("ALIA", {"enablestatus": "DISABLED"}),
        ("ALIA", {}),
        ("REMQ", {"triggerlevel": 5}),
        ("REMQ", {"openstatus": "OPEN"}),
    ],
)
def test_remote_and_indirect_definitions_cannot_be_changed(reg, name, change):
    expect_rule("SET-REMOTE-INDIRECT", reg.set_tdqueue, name, **change)


@pytest.mark.rule("SET-QIDERR")
def test_an_unknown_queue(reg):
    expect_rule("SET-QIDERR", reg.set_tdqueue, "NOQ", enablestatus="DISABLED")


@pytest.mark.rule("SET-OPEN-FAILS")
def test_a_data_set_that_cannot_be_opened(tmp_path):
    text = "group: G\ntdqueue: [{name: INQ, type: EXTRA, dsname: NOT.THERE, opentime: DEFERRED}]"
    with region(tmp_path, text=text) as reg:
        expect_rule("SET-OPEN-FAILS", reg.set_tdqueue, "INQ", openstatus="OPEN")
        assert reg.inquire_tdqueue("INQ", "OPENSTATUS").openstatus is Cvda.CLOSED


def test_under_nohandle_the_response_is_in_the_eib(reg):
    with reg.task() as task:
        task.set_tdqueue("PAYQ", triggerlevel=99999, nohandle=True)
        assert (task.eib.eibresp, task.eib.eibfn, task.eib.eibrsrce) == (Resp.INVREQ, b"\x5c\x04", "PAYQ    ")
        task.set_tdqueue("PAYQ", triggerlevel=9)
        assert (task.eib.eibresp, task.eib.eibfn, task.eib.eibrsrce) == (Resp.NORMAL, b"\x5c\x04", "PAYQ    ")


# -- security ------------------------------------------------------------------------------------------------------------


@pytest.mark.rule(
    "SET-NOTAUTH-COMMAND", "INQ-NOTAUTH-COMMAND", "BROWSE-NOTAUTH-START", "CREATE-NOTAUTH", "DISCARD-NOTAUTH"
)
def test_command_security():
    policy = AccessList(commands={"CICSUSER": {"TDQUEUE": Access.NONE}})
    with region(security=SecurityOptions(policy=policy, cmdsec="ALWAYS", ressec="ALWAYS")) as reg:
        expect_rule("INQ-NOTAUTH-COMMAND", reg.inquire_tdqueue, "PAYQ")
        assert condition(reg.inquire_tdqueue, "NOQ") == (Resp.NOTAUTH, 100)
        expect_rule("SET-NOTAUTH-COMMAND", reg.set_tdqueue, "PAYQ", triggerlevel=3)
        expect_rule("BROWSE-NOTAUTH-START", reg.inquire_tdqueue_start)
        expect_rule("CREATE-NOTAUTH", reg.create_tdqueue, "NEWQ", "TYPE(INTRA)")
        expect_rule("DISCARD-NOTAUTH", reg.discard_tdqueue, "PAYQ")
        with pytest.raises(Condition):
            next(reg.browse_tdqueue())


@pytest.mark.rule("SET-NOTAUTH-QUEUE", "INQ-NOTAUTH-QUEUE", "BROWSE-SKIPS-HIDDEN")
def test_resource_security():
    policy = AccessList(queues={"CICSUSER": {"PHYQ": Access.NONE, "PAYQ": Access.UPDATE, "*": Access.READ}})
    with region(security=SecurityOptions(policy=policy, cmdsec="ALWAYS", ressec="ALWAYS")) as reg:
        expect_rule("INQ-NOTAUTH-QUEUE", reg.inquire_tdqueue, "PHYQ")
        assert condition(reg.inquire_tdqueue, "NOQ") == (Resp.QIDERR, 1)
        assert reg.inquire_tdqueue("TERQ", "TYPE").type is Cvda.INTRA
        expect_rule("SET-NOTAUTH-QUEUE", reg.set_tdqueue, "TERQ", triggerlevel=3)
        reg.set_tdqueue("PAYQ", triggerlevel=3)
        assert condition(reg.discard_tdqueue, "PAYQ") == (Resp.NOTAUTH, 101)
        assert condition(reg.create_tdqueue, "NEWQ", "TYPE(INTRA)") == (Resp.NOTAUTH, 101)
        seen = [info.tdqueue for info in reg.browse_tdqueue("TYPE")]
        assert "PHYQ" not in seen
        assert len(seen) == 8


@pytest.mark.rule("SET-SURROGATE", "SET-USERIDERR")
def test_the_user_of_triggered_tasks():
    policy = AccessList(
        users=["CICSUSER", "CICSRGN", "PAYUSER", "BOB", "ALICE"],
        surrogates={"CICSUSER": ["BOB", "PAYUSER"], "CICSRGN": ["PAYUSER"]},
    )
    with region(security=SecurityOptions(policy=policy, cmdsec="ALWAYS", ressec="ALWAYS")) as reg:
        reg.set_tdqueue("PAYQ", enablestatus="DISABLED")
        expect_rule("SET-SURROGATE", reg.set_tdqueue, "PAYQ", atiuserid="ALICE")
        expect_rule("SET-USERIDERR", reg.set_tdqueue, "PAYQ", atiuserid="NOBODY")
        reg.set_tdqueue("PAYQ", atiuserid="BOB")
        assert reg.inquire_tdqueue("PAYQ", "ATIUSERID").atiuserid == "BOB     "


@pytest.mark.rule("API-NOTAUTH-FINAL-TARGET")
def test_requests_on_an_alias_are_checked_on_the_final_target():
    policy = AccessList(queues={"CICSUSER": {"PAYQ": Access.UPDATE}})
    with region(security=SecurityOptions(policy=policy, cmdsec="ALWAYS", ressec="ALWAYS")) as reg:
        reg.writeq_td("ALIA", b"x")
        assert reg.readq_td("ALIA") == b"x"
        expect_rule("API-NOTAUTH-FINAL-TARGET", reg.writeq_td, "PHYQ", b"x")
    with region(
        security=SecurityOptions(
            policy=AccessList(queues={"CICSUSER": {"ALIA": Access.ALTER}}), cmdsec="ALWAYS", ressec="ALWAYS"
        )
    ) as reg:
        expect_rule("API-NOTAUTH-FINAL-TARGET", reg.writeq_td, "ALIA", b"x")


# -- the table of options and types ----------------------------------------------------------------------------------------

VALUES = {
    "ATIFACILITY": "TERMINAL",
    "ATITERMID": "T002",
    "ATITRANID": "PAY2",
    "ATIUSERID": "BOB",
    "ENABLESTATUS": "ENABLED",
    "OPENSTATUS": "CLOSED",
    "TRIGGERLEVEL": 3,
}
OF_TYPE = {"INTRA": "PAYQ", "EXTRA": "EXTO", "INDIRECT": "ALIA", "REMOTE": "REMQ"}


# SET TDQUEUE (IBM Docs): what an enabled queue of each type takes, and what only a disabled one takes besides.
TAKES = {
    "INTRA": {"ENABLESTATUS", "TRIGGERLEVEL"},
    "EXTRA": {"ENABLESTATUS", "OPENSTATUS"},
    "INDIRECT": set(),
    "REMOTE": {"ENABLESTATUS"},
}
TAKES_DISABLED = {"INTRA": {"ATIFACILITY", "ATITERMID", "ATITRANID", "ATIUSERID"}, "EXTRA": set(), "REMOTE": set()}


@pytest.mark.rule("SET-TABLE")
@pytest.mark.parametrize("queue_type", OF_TYPE)
def test_every_option_on_every_type_enabled_and_disabled(reg, queue_type):
    name = OF_TYPE[queue_type]
    for option, value in VALUES.items():
        met = condition(reg.set_tdqueue, name, **{option.lower(): value})[0]
        assert met is (Resp.NORMAL if option in TAKES[queue_type] else Resp.INVREQ), option
    if queue_type == "INDIRECT":
        return
    for option, value in VALUES.items():
        reg.set_tdqueue(name, enablestatus="DISABLED")
        if queue_type == "INTRA":
            reg.set_tdqueue(name, atifacility="NOTERMINAL")
        met = condition(reg.set_tdqueue, name, **{option.lower(): value})[0]
        taken = option in TAKES[queue_type] | TAKES_DISABLED[queue_type]
        assert met is (Resp.NORMAL if taken else Resp.INVREQ), option


@pytest.mark.parametrize("option", ["enablestatus", "atifacility"])
@pytest.mark.parametrize("value", [True, False])
def test_a_truth_value_is_no_cvda(reg, option, value):
    """True equals 1, the number of the CVDA IGNORE, which would leave the queue unchanged without a word."""
    reg.set_tdqueue("PAYQ", enablestatus="DISABLED")
    with pytest.raises(Condition, match=f"not {value}") as met:
        reg.set_tdqueue("PAYQ", **{option: value})
    assert met.value.resp is Resp.INVREQ


def test_a_resp2_that_no_page_gives_is_not_shown_as_if_it_were_real(reg):
    """The EIB has a number, so that a program can be tested; what a person reads says that CICS's is not known."""
    with pytest.raises(Condition) as met:
        reg.set_tdqueue("PAYQ", enablestatus="WRONG")
    expected = (
        "SET TDQUEUE PAYQ: INVREQ (RESP 16 RESP2 not published): "
        "queue PAYQ: ENABLESTATUS must be DISABLED or ENABLED, not 'WRONG'"
    )
    assert str(met.value) == expected
    assert (met.value.resp2, met.value.resp2_text) == (902, "RESP2 not published")
    assert repr(met.value).startswith("Condition(INVREQ, RESP2 not published, ")
    with ceci.session(reg) as session:
        assert "RESP2 not published" in session.execute("SET TDQUEUE(PAYQ) TRIGGERLEVEL(-5)").text
        assert "RESP2 not published" not in session.execute("READQ TD QUEUE(NONE)").text
