"""Which checks are made for whom: RESSEC and CMDSEC, surrogates, users that are not known."""

from __future__ import annotations

import pytest

from tdqsim import SecurityOptions
from tdqsim.cics import Access, AccessList, Region, SecurityPolicy, Sysplex, cemt
from tdqsim.definitions import define_connection, define_tdqueue, define_terminal, define_transaction
from tdqsim.testing import stepped
from tests.rules import expect_rule, rule

NOBODY = AccessList(queues={}, commands={})


def made(**options):
    definitions = [
        define_tdqueue(name="PAYQ", type="INTRA", atifacility="FILE"),
        define_transaction(name="OPEN", cmdsec="NO", ressec="NO"),
        define_transaction(name="CMDS", ressec="NO"),
        define_transaction(name="RESS", cmdsec="NO"),
    ]
    return Region(definitions, security=SecurityOptions(policy=NOBODY, **options), supplied_queues=False)


@pytest.mark.rule("SEC-CMDSEC", "SEC-CMDSEC-NO")
def test_command_security_is_the_transactions():
    with made() as reg:
        with reg.task(transid="CMDS") as task:
            expect_rule("SEC-CMDSEC", task.inquire_tdqueue, "PAYQ", "TYPE")
            task.writeq_td("PAYQ", b"x")  # RESSEC is another thing
        for transid in ("OPEN", "RESS", "NOTD"):
            with reg.task(transid=transid) as task:
                task.inquire_tdqueue_start()  # command security; a browse passes over what may not be seen
                task.inquire_tdqueue_end()
        with reg.task(transid="OPEN") as task:
            expect_rule("SEC-CMDSEC-NO", task.inquire_tdqueue, "PAYQ", "TYPE")
    with made(cmdsec="ALWAYS") as reg:
        expect_rule("SEC-CMDSEC", reg.inquire_tdqueue, "PAYQ", "TYPE")


@pytest.mark.rule("SEC-RESSEC", "SEC-RESSEC-NO")
def test_resource_security_is_the_transactions():
    with made() as reg:
        with reg.task(transid="RESS") as task:
            expect_rule("SEC-RESSEC", task.writeq_td, "PAYQ", b"x")
            expect_rule("SEC-RESSEC", task.readq_td, "PAYQ")
            expect_rule("SEC-RESSEC", task.deleteq_td, "PAYQ")
            expect_rule("SEC-RESSEC", task.set_tdqueue, "PAYQ", triggerlevel=1)
            assert [info.tdqueue for info in task.browse_tdqueue("TYPE")] == []
        with reg.task(transid="OPEN") as task:
            expect_rule("SEC-RESSEC-NO", task.writeq_td, "PAYQ", b"x")
            assert [info.tdqueue for info in task.browse_tdqueue("TYPE")] == ["PAYQ"]
    with made(ressec="ALWAYS") as reg:
        expect_rule("SEC-RESSEC", reg.writeq_td, "PAYQ", b"x")


@pytest.mark.rule("SEC-SUPPLIED")
@pytest.mark.parametrize("transid", ["CSMI", "CEMT", "CECI"])
def test_the_transactions_of_cics_itself_are_checked(transid):
    with made() as reg:
        with reg.task(transid=transid) as task:
            expect_rule("SEC-SUPPLIED", task.writeq_td, "PAYQ", b"x")
            expect_rule("SEC-CMDSEC", task.inquire_tdqueue, "PAYQ", "TYPE")
        reg.install([define_transaction(name=transid, cmdsec="NO", ressec="NO")])
        with reg.task(transid=transid) as task:
            task.writeq_td("PAYQ", b"x")


def test_other_words_for_whether_checks_are_made_are_refused():
    with pytest.raises(Exception, match="ressec = 'YES': must be ASIS or ALWAYS"):
        Region([], security=SecurityOptions(ressec="YES"))


@pytest.mark.rule("IC-START-SURROGATE", "IC-START-USERIDERR")
def test_a_start_for_another_user():
    policy = AccessList(users=["BOB", "ADMIN", "ALICE", "CICSUSER", "CICSRGN"], surrogates={"BOB": ["ALICE"]})
    ran = []
    with Region([], security=policy, supplied_queues=False) as reg:
        reg.register("COPY", lambda task: ran.append(task.userid))
        with reg.task(userid="BOB") as task:
            expect_rule("IC-START-SURROGATE", task.start, "COPY", userid="ADMIN")
            expect_rule("IC-START-USERIDERR", task.start, "COPY", userid="NOBODY")
            task.start("COPY", userid="ALICE")
            task.start("COPY", userid="BOB")
            task.start("COPY")
        reg.run()
    assert ran == ["ALICE", "BOB", "BOB"]


@pytest.mark.rule("SIG-GRPLIST-REGION-USER")
def test_the_group_list_is_installed_by_the_regions_own_user():
    with Region([define_tdqueue(name="Q", type="INTRA")], security=SecurityOptions(dfltuser="DFLT")) as reg:
        info = reg.inquire_tdqueue("Q")
        assert (info.installusrid.rstrip(), info.changeusrid.rstrip()) == (
            rule("SIG-GRPLIST-REGION-USER").message,
            rule("SIG-GRPLIST-REGION-USER").message,
        )
        reg.install([define_tdqueue(name="R", type="INTRA")])
        assert reg.inquire_tdqueue("R").installusrid.rstrip() == "DFLT"
    with Region([define_tdqueue(name="Q", type="INTRA")], security=SecurityOptions(regionuserid="JOBUSER")) as reg:
        assert reg.inquire_tdqueue("Q").installusrid.rstrip() == "JOBUSER"


@pytest.mark.rule("INQ-ATITERMID-NONE")
def test_a_queue_without_a_terminal_shows_none():
    with Region([define_tdqueue(name="Q", type="INTRA"), define_terminal(name="T009")]) as reg:
        reg.set_tdqueue("Q", enablestatus="DISABLED")
        reg.set_tdqueue("Q", atifacility="NOTERMINAL", atitermid="T009")
        info = reg.inquire_tdqueue("Q", "ATIFACILITY", "ATITERMID")
        assert (info.atifacility.name, info.atitermid) == ("NOTERMINAL", "    ")
        reg.set_tdqueue("Q", atitermid="T008")
        assert reg.inquire_tdqueue("Q", "ATITERMID").atitermid == "    "
        assert next(each for each in reg.statistics.now().queues if each["name"] == "Q")["facility"] == ""


def test_levels_are_still_asked_of_the_policy():
    policy = AccessList(queues={"CICSUSER": {"PAYQ": Access.READ}}, commands={"CICSUSER": {"TDQUEUE": Access.READ}})
    with made(cmdsec="ALWAYS", ressec="ALWAYS") as reg:
        reg.security = policy
        assert reg.inquire_tdqueue("PAYQ", "TYPE").type.name == "INTRA"
        expect_rule("SEC-CMDSEC", reg.set_tdqueue, "PAYQ", triggerlevel=1)
        expect_rule("SEC-RESSEC", reg.writeq_td, "PAYQ", b"x")


@pytest.mark.rule("SEC-GROUP")
def test_access_lists_name_groups():
    lists = {
        "PAYTEAM": {"PAY*": Access.UPDATE},
        "READERS": {"*": Access.READ},
        "BOB": {"PAYQ": Access.READ},
    }
    groups = {"ALICE": ["READERS", "PAYTEAM"], "BOB": ["PAYTEAM"], "CAROL": ["READERS"], "DAN": ["PAYTEAM"]}
    queues = [define_tdqueue(name=name, type="INTRA") for name in ("PAYQ", "PAYR", "LOGQ")]
    with Region(
        queues, security=SecurityOptions(policy=AccessList(queues=lists, groups=groups), ressec="ALWAYS")
    ) as reg:
        allowed = {("ALICE", "PAYQ"), ("BOB", "PAYR"), ("DAN", "PAYQ")}
        for user, queue in sorted(
            allowed | {("ALICE", "LOGQ"), ("BOB", "PAYQ"), ("CAROL", "PAYQ"), ("DAN", "LOGQ"), ("EVE", "PAYQ")}
        ):
            with reg.task(userid=user) as task:
                if (user, queue) in allowed:
                    task.writeq_td(queue, b"x")
                else:
                    expect_rule("SEC-GROUP", task.writeq_td, queue, b"x")
        groups["DAN"] = []
        with reg.task(userid="DAN") as task:
            expect_rule("SEC-GROUP", task.writeq_td, "PAYQ", b"x")


def test_the_groups_of_a_region_are_there_for_its_policy():
    with Region(
        [define_tdqueue(name="PAYQ", type="INTRA")],
        security=SecurityOptions(groups={"DAN": ["PAYTEAM"]}, ressec="ALWAYS"),
    ) as reg:
        reg.security = AccessList(queues={"PAYTEAM": {"PAYQ": Access.UPDATE}}, groups=reg.options.groups)
        with reg.task(userid="DAN") as task:
            task.writeq_td("PAYQ", b"x")
        with reg.task(userid="EVE") as task:
            expect_rule("SEC-GROUP", task.writeq_td, "PAYQ", b"x")
    with Region([]) as reg:
        assert reg.options.groups == {}


def test_groups_issue_commands_and_name_other_users_too():
    policy = AccessList(
        commands={"OPERS": {"TDQUEUE": Access.UPDATE}, "READERS": {"*": Access.READ}},
        surrogates={"OPERS": ["ATI"]},
        groups={"BOB": ["READERS", "OPERS"], "CAROL": ["READERS"]},
    )
    assert policy.may_issue("BOB", "TDQUEUE", Access.UPDATE)
    assert policy.may_issue("CAROL", "TDQUEUE", Access.READ)
    assert not policy.may_issue("CAROL", "TDQUEUE", Access.UPDATE)
    assert [policy.may_act_for(user, "ATI") for user in ("BOB", "CAROL")] == [True, False]


# -- every way in which a user id enters ------------------------------------------------------------------------------

FEW = AccessList(users=["BOB", "CICSUSER", "CICSRGN"])


@pytest.mark.rule("SEC-DFLTUSER")
@pytest.mark.parametrize("argument", ["dfltuser", "regionuserid"])
def test_a_region_whose_own_users_are_not_known_does_not_start(argument, tmp_path):
    options = SecurityOptions(policy=FEW, **{argument: "EVE"})
    error = expect_rule("SEC-DFLTUSER", Region, [], security=options, store=tmp_path / "s")
    assert f"{argument} 'EVE'" in str(error)
    assert not (tmp_path / "s").exists()
    with Region([], security=SecurityOptions(**{argument: "EVE"})) as reg:
        error = expect_rule("SEC-DFLTUSER", setattr, reg, "security", FEW)
        assert f"{argument} 'EVE'" in str(error)
        assert reg.security is None
        reg.security = SecurityPolicy()  # it knows everybody
        reg.security = None


@pytest.mark.rule("SEC-USER-OUTSIDE")
def test_the_program_outside_names_users_that_are_known():
    with Region([define_tdqueue(name="Q", type="INTRA")], security=FEW, supplied_queues=False) as reg:
        ran = []
        reg.register("RUNS", lambda task: ran.append(task.userid))
        ways = [
            lambda user: reg.task(userid=user),
            lambda user: reg.start("RUNS", userid=user),
            lambda user: reg.start(lambda task: ran.append(task.userid), transid="FUNC", userid=user),
            lambda user: stepped(reg, lambda task: ran.append(task.userid), transid="STEP", userid=user),
            lambda user: reg.install([define_tdqueue(name="R", type="INTRA")], userid=user),
            lambda user: cemt(reg, "I TDQ", userid=user),
        ]
        for way in ways:
            assert "userid 'EVE'" in str(expect_rule("SEC-USER-OUTSIDE", way, "EVE"))
        reg.run()
        assert (ran, dict(reg.tasks), list(reg.tdqueues)) == ([], {}, ["Q"])
        for way in ways[1:3]:
            way("BOB")
        reg.run()
        assert ran == ["BOB", "BOB"]
        with reg.task(userid="BOB") as task:
            assert task.assign("USERID") == "BOB"


@pytest.mark.rule("SEC-USER-INSTALL")
def test_terminals_name_users_that_are_known_and_may_be_named():
    wanted = [define_terminal(name="T001", userid="EVE"), define_terminal(name="T002", userid="BOB")]
    no_surrogate = AccessList(surrogates={"BOB": ["EVE"]})
    for policy in (FEW, no_surrogate):
        with Region(wanted[:1], security=policy) as reg:  # a cold start goes on without it
            assert list(reg.resources.terminals) == []
            together = [wanted[0], define_tdqueue(name="R", type="INTRA")]
            error = expect_rule("SEC-USER-INSTALL", reg.install, together)
            assert "(T001): user ID EVE" in str(error)
            assert "R" not in reg.tdqueues
    with Region(wanted[1:], security=FEW) as reg:
        assert list(reg.resources.terminals) == ["T002"]
    with Region([], security=no_surrogate) as reg:
        reg.install(wanted[:1], userid="BOB")
        assert list(reg.resources.terminals) == ["T001"]


@pytest.mark.rule("SEC-SECURITYNAME")
@pytest.mark.parametrize("policy", [FEW, AccessList(surrogates={"BOB": ["EVE"]})], ids=["not known", "no surrogate"])
def test_a_link_whose_user_cannot_be_used_is_the_default_user_s(policy):
    """Nothing is refused; who installs a connection need not be a surrogate of its user."""
    queue = define_tdqueue(name="Q", type="INTRA", recovstatus="LOGICAL")
    far = [queue, define_connection(name="CICA", netname="A", securityname="EVE")]
    near = [
        define_tdqueue(name="FARQ", remotesystem="CICB", remotename="Q"),
        define_connection(name="CICB", netname="B"),
    ]
    with Sysplex() as plex:
        here = plex.region(near, applid="A", sysid="CICA", supplied_queues=False)
        there = plex.region(far, applid="B", sysid="CICB", security=policy, supplied_queues=False)
        assert list(there.resources.connections) == ["CICA"]
        with here.task() as task:
            task.writeq_td("FARQ", b"x")
            users = {there.inquire_task(number, "USERID").userid.rstrip() for number in there.tasks}
        assert users == {there.options.dfltuser if policy is FEW else "EVE"}
        assert there.peek("Q") == [b"x"]


@pytest.mark.rule("SEC-ATTACHSEC-UNKNOWN")
@pytest.mark.parametrize("attachsec", ["IDENTIFY", "LOCAL"])
def test_a_mirror_is_not_attached_for_a_user_that_is_not_known_there(attachsec):
    near = [
        define_tdqueue(name="FARQ", remotesystem="CICB", remotename="Q"),
        define_connection(name="CICB", netname="B"),
    ]
    far = [define_tdqueue(name="Q", type="INTRA"), define_connection(name="CICA", netname="A", attachsec=attachsec)]
    with Sysplex() as plex:
        here = plex.region(near, applid="A", sysid="CICA", supplied_queues=False)
        there = plex.region(far, applid="B", sysid="CICB", security=FEW, supplied_queues=False)
        with here.task(userid="EVE") as task:
            if attachsec == "LOCAL":
                task.writeq_td("FARQ", b"for the default user")
            else:
                error = expect_rule("SEC-ATTACHSEC-UNKNOWN", task.writeq_td, "FARQ", b"x")
                assert "user EVE is not known" in error.detail
                assert "SYSIDERR" in str(here.explain("FARQ", task=task))
        with here.task(userid="BOB") as task:
            task.writeq_td("FARQ", b"for BOB")
        assert there.peek("Q")[-1] == b"for BOB"
        assert len(there.peek("Q")) == (2 if attachsec == "LOCAL" else 1)
        assert not there.tasks
