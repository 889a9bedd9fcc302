"""Each class of resources: which command needs which level, and for which transactions it is checked."""

from __future__ import annotations

from functools import partial

import pytest

from tdqsim.cics import Condition, Region, Sysplex, cemt
from tdqsim.definitions import (
    define_connection,
    define_program,
    define_tdqueue,
    define_transaction,
    define_tsmodel,
)
from tests.cics.security.helpers import LOGS, ksds, messages, policy_file, region
from tests.rules import expect_rule, rule

KEY = b"01"
LEVELS = ("NONE", "READ", "UPDATE", "CONTROL", "ALTER")


def refused(call, *args, **kwargs) -> bool:
    """Whether security refuses a call; other conditions of the call do not count."""
    try:
        call(*args, **kwargs)
    except Condition as condition:
        return condition.name == "NOTAUTH"
    return False


def files(tmp_path, level):
    reg = region(tmp_path, f"FCICSFCT:\n  PAYF: {{access: {{ANN: {level}}}}}\n")
    reg.files.define("PAYF", ksds(b"01one", b"02two"))
    return reg


FILE_COMMANDS = {
    "READ": lambda task: task.read_file("PAYF", KEY),
    "STARTBR": lambda task: task.startbr("PAYF", KEY),
    "RESETBR": lambda task: task.resetbr("PAYF", KEY),
    "READNEXT": lambda task: task.readnext("PAYF"),
    "READPREV": lambda task: task.readprev("PAYF"),
    "ENDBR": lambda task: task.endbr("PAYF"),
    "UNLOCK": lambda task: task.unlock("PAYF"),
    "READ UPDATE": lambda task: task.read_file("PAYF", KEY, update=True),
    "READ TOKEN": lambda task: task.read_file("PAYF", KEY, token=1),
    "WRITE": lambda task: task.write_file("PAYF", b"09x", b"09"),
    "REWRITE": lambda task: task.rewrite_file("PAYF", b"01x"),
    "DELETE": lambda task: task.delete_file("PAYF", KEY),
}


@pytest.mark.rule("SEC-XFCT-READ", "SEC-XFCT-UPDATE")
@pytest.mark.parametrize("level", LEVELS)
def test_file_control_needs_read_and_to_change_update(tmp_path, level):
    with files(tmp_path, level) as reg, reg.task(userid="ANN") as task:
        found = [name for name, call in FILE_COMMANDS.items() if refused(call, task)]
    names = list(FILE_COMMANDS)
    assert found == {"NONE": names, "READ": names[7:]}.get(level, [])
    for row, name in (("SEC-XFCT-READ", "READ"), ("SEC-XFCT-UPDATE", "WRITE")):
        with files(tmp_path, "NONE" if row == "SEC-XFCT-READ" else "READ") as reg, reg.task(userid="ANN") as task:
            expect_rule(row, FILE_COMMANDS[name], task)


@pytest.mark.rule("SEC-XFCT-FIRST")
def test_a_file_is_looked_up_before_the_policy_is_asked_and_its_state_after(tmp_path):
    with files(tmp_path, "NONE") as reg, reg.task(userid="ANN") as task:
        with pytest.raises(Condition, match="FILENOTFOUND"):
            task.read_file("OTHER", KEY)
        reg.files.known["PAYF"].enablestatus = "DISABLED"
        expect_rule("SEC-XFCT-FIRST", task.read_file, "PAYF", KEY)


@pytest.mark.rule("SEC-XFCT-INQUIRE", "SEC-XFCT-SET", "SEC-XCMD-SET-FILE")
def test_inquire_and_set_of_files(tmp_path):
    classes = """\
    FCICSFCT:
      PAYF: {access: {ANN: READ, BOB: UPDATE}}
      OTHF: {access: {BOB: READ}}
    CCICSCMD:
      FILE: {access: {ANN: UPDATE, BOB: READ}}
    """
    with region(tmp_path, classes, cmdsec="ALWAYS") as reg:
        for name in ("PAYF", "OTHF"):
            reg.files.define(name, ksds(b"01one"))
        with reg.task(userid="ANN") as task:
            assert task.inquire_file("PAYF", "ENABLESTATUS").enablestatus.name == "ENABLED"
            expect_rule("SEC-XFCT-INQUIRE", task.inquire_file, "OTHF", "ENABLESTATUS")
            expect_rule("SEC-XFCT-SET", task.set_file, "PAYF", enablestatus=24)
            task.inquire_file_start()
            assert task.inquire_file_next("ENABLESTATUS").file.rstrip() == "PAYF"
            with pytest.raises(Condition, match="END"):
                task.inquire_file_next("ENABLESTATUS")
        with reg.task(userid="BOB") as task:
            expect_rule("SEC-XCMD-SET-FILE", task.set_file, "PAYF", enablestatus=24)


TS_COMMANDS = {
    "READQ": lambda task: task.readq_ts("PAYTSQ", item=1),
    "WRITEQ": lambda task: task.writeq_ts("PAYTSQ", b"x"),
    "REWRITE": lambda task: task.writeq_ts("PAYTSQ", b"x", item=1, rewrite=True),
    "DELETEQ": lambda task: task.deleteq_ts("PAYTSQ"),
}


def ts_region(tmp_path, level, **model):
    others = [define_tsmodel(name="LONG", prefix="PAYTSX"), define_tsmodel(name="SHORT", prefix="P")]
    models = [*others, define_tsmodel(name="PAYM", prefix="PAY", **model)] if model else []
    reg = region(tmp_path, f"SCICSTST:\n  PAYTSQ: {{access: {{ANN: {level}, CLERK: ALTER}}}}\n", *models)
    with reg.task(userid="CLERK") as task:
        task.writeq_ts("PAYTSQ", b"one")
    return reg


@pytest.mark.rule("SEC-XTST-READ", "SEC-XTST-UPDATE")
@pytest.mark.parametrize("level", LEVELS)
def test_temporary_storage_needs_read_and_to_change_update(tmp_path, level):
    with ts_region(tmp_path, level, security="YES") as reg, reg.task(userid="ANN") as task:
        found = [name for name, call in TS_COMMANDS.items() if refused(call, task)]
    names = list(TS_COMMANDS)
    assert found == {"NONE": names, "READ": names[1:]}.get(level, [])
    for row, given, name in (("SEC-XTST-READ", "NONE", "READQ"), ("SEC-XTST-UPDATE", "READ", "WRITEQ")):
        with ts_region(tmp_path, given, security="YES") as reg, reg.task(userid="ANN") as task:
            expect_rule(row, TS_COMMANDS[name], task)


@pytest.mark.rule("SEC-XTST-MODEL")
@pytest.mark.parametrize("model", [{}, {"security": "NO"}], ids=["no model", "NO"])
def test_temporary_storage_is_checked_only_if_its_model_says_so(tmp_path, model):
    with ts_region(tmp_path, "NONE", **model) as reg, reg.task(userid="ANN") as task:
        expect_rule("SEC-XTST-MODEL", task.writeq_ts, "PAYTSQ", b"x")
        task.deleteq_ts("PAYTSQ")


@pytest.mark.rule("SEC-XPPT", "SEC-XPPT-FIRST")
def test_programs_need_read(tmp_path):
    ran = []
    classes = """\
    MCICSPPT:
      SUBP: {access: {ANN: READ}}
      FIRST:
    """
    definitions = [define_transaction(name="PAY1", program="FIRST")]
    with region(tmp_path, classes, *definitions) as reg:
        reg.programs.register("SUBP", lambda task: ran.append(task.userid))
        reg.programs.register("FIRST", lambda task: task.link("SUBP"))
        reg.programs.register("LEAVES", lambda task: task.xctl("SUBP"))
        with reg.task(userid="BOB") as task:
            expect_rule("SEC-XPPT", task.link, "SUBP")
            expect_rule("SEC-XPPT", task.xctl, "SUBP")
            expect_rule("SEC-XPPT", task.load, "SUBP")
            with pytest.raises(Condition, match="PGMIDERR"):
                task.link("NOPE")
        expect_rule("SEC-XPPT-FIRST", reg.start("PAY1", userid="ANN").result)
    assert ran == ["ANN"]


def test_a_distributed_program_link_is_checked_where_the_program_is(tmp_path):
    near = [
        define_program(name="SUBP", remotesystem="CICB"),
        define_connection(name="CICB", netname="B"),
    ]
    there = policy_file(tmp_path, "MCICSPPT:\n  SUBP: {access: {ANN: READ}}\n")
    ran = []
    with Sysplex() as plex:
        here = plex.region(near, applid="A", sysid="CICA", supplied_queues=False)
        far = plex.region(
            [*LOGS, define_connection(name="CICA", netname="A", attachsec="IDENTIFY")],
            applid="B", sysid="CICB", supplied_queues=False, security=there,
        )  # fmt: skip
        far.programs.register("SUBP", lambda task: ran.append(task.userid))
        with here.task(userid="BOB") as task:
            expect_rule("SEC-XPPT", task.link, "SUBP")
        with here.task(userid="ANN") as task:
            task.link("SUBP")
    assert ran == ["ANN"]


@pytest.mark.rule("SEC-XPCT-START", "SEC-XPCT-CANCEL", "SEC-XPCT-REQID")
def test_started_transactions_need_read(tmp_path):
    classes = """\
    ACICSPCT:
      PAY1: {access: {ANN: READ}}
    """
    with region(tmp_path, classes, define_transaction(name="PAY1")) as reg:
        ran = []
        reg.register("PAY1", lambda task: ran.append(task.userid))
        with reg.task(userid="BOB") as task:
            expect_rule("SEC-XPCT-START", task.start, "PAY1")
            with pytest.raises(Condition, match="TRANSIDERR"):
                task.start("NOPE")
        with reg.task(userid="ANN") as task:
            task.start("PAY1", interval=100, reqid="LATER")
        with reg.task(userid="BOB") as task:
            expect_rule("SEC-XPCT-REQID", task.inquire_reqid, "LATER")
            expect_rule("SEC-XPCT-CANCEL", task.cancel, "LATER")
        with reg.task(userid="ANN") as task:
            assert task.inquire_reqid("LATER", "TRANSID").transid == "PAY1"
            task.cancel("LATER")
            task.start("PAY1")
        reg.run()
    assert ran == ["ANN"]


@pytest.mark.rule("SEC-XPCT-CANCEL-FIRST")
def test_the_transid_of_cancel_is_checked_before_the_request_is_looked_for(tmp_path):
    classes = "ACICSPCT:\n  PAY1: {access: {ANN: READ}}\n"
    with region(tmp_path, classes, define_transaction(name="PAY1")) as reg:
        with reg.task(userid="BOB") as task:
            expect_rule("SEC-XPCT-CANCEL-FIRST", task.cancel, "NONE", transid="PAY1")
            expect_rule("IC-CANCEL-NOTFND", task.cancel, "NONE")
        with reg.task(userid="ANN") as task:
            expect_rule("IC-CANCEL-NOTFND", task.cancel, "NONE", transid="PAY1")


@pytest.mark.rule("SEC-STATISTICS")
@pytest.mark.parametrize(
    ("resource_class", "kind", "name"),
    [
        ("FCICSFCT", "file", "PAYF"),
        ("MCICSPPT", "program", "PROG"),
        ("DCICSDCT", "tdqueue", "PAYQ"),
        ("ACICSPCT", "transaction", "PAY1"),
    ],
)
def test_statistics_of_a_resource_need_read(tmp_path, resource_class, kind, name):
    definitions = [define_transaction(name="PAY1"), define_tdqueue(name="PAYQ", type="INTRA")]
    with region(tmp_path, f"{resource_class}:\n  {name}: {{access: {{ANN: READ}}}}\n", *definitions) as reg:
        reg.files.define("PAYF", ksds(b"01one"))
        reg.programs.register("PROG", lambda _task: None)
        for user in ("ANN", "BOB"):
            with reg.task(userid=user) as task:
                for command in (
                    partial(task.collect_statistics, **{kind: name}),
                    partial(task.extract_statistics, name, **{kind: True}),
                ):
                    if user == "ANN":
                        assert command() is not None
                    else:
                        expect_rule("SEC-STATISTICS", command)


@pytest.mark.rule("SEC-XPCT-INQUIRE", "SEC-XPCT-SET")
def test_inquire_and_set_of_transactions(tmp_path):
    classes = """\
    ACICSPCT:
      PAY1: {access: {ANN: READ, CLERK: UPDATE}}
      PAY2: {access: {CLERK: UPDATE}}
    """
    definitions = [define_transaction(name=name) for name in ("PAY1", "PAY2")]
    with region(tmp_path, classes, *definitions) as reg:
        with reg.task(userid="ANN") as task:
            assert task.inquire_transaction("PAY1", "STATUS").status.name == "ENABLED"
            expect_rule("SEC-XPCT-INQUIRE", task.inquire_transaction, "PAY2", "STATUS")
            expect_rule("SEC-XPCT-SET", task.set_transaction, "PAY1", status="DISABLED")
            task.inquire_transaction_start()
            assert task.inquire_transaction_next("STATUS").transaction == "PAY1"
            with pytest.raises(Condition, match="END"):
                task.inquire_transaction_next("STATUS")
        with reg.task(userid="CLERK") as task:
            task.set_transaction("PAY1", status="DISABLED")


def test_each_class_is_checked_for_ressec_yes_and_not_for_no(tmp_path):
    classes = """\
    ACICSPCT:
      PAY1:
    MCICSPPT:
      SUBP:
    FCICSFCT:
      PAYF:
    SCICSTST:
      PAYTSQ:
    DCICSDCT:
      PAYQ:
    """
    definitions = [
        *LOGS,
        define_transaction(name="PAY1"),
        define_transaction(name="YES", ressec="YES"),
        define_transaction(name="NO", ressec="NO"),
        define_tsmodel(name="M", prefix="PAY", security="YES"),
        define_tdqueue(name="PAYQ", type="INTRA"),
    ]
    calls = [
        lambda task: task.start("PAY1"),
        lambda task: task.link("SUBP"),
        FILE_COMMANDS["READ"],
        TS_COMMANDS["WRITEQ"],
        lambda task: task.writeq_td("PAYQ", b"x"),
    ]
    with Region(definitions, security=policy_file(tmp_path, classes), supplied_queues=False) as reg:
        reg.register("PAY1", lambda _task: None)
        reg.programs.register("SUBP", lambda _task: None)
        reg.files.define("PAYF", ksds(b"01one"))
        found = {}
        for transid in ("YES", "NO", "NODF"):
            with reg.task(transid=transid, userid="ANN") as task:
                found[transid] = [refused(call, task) for call in calls]
    assert found == {"YES": [True] * 5, "NO": [False] * 5, "NODF": [False] * 5}


@pytest.mark.rule("SEC-XS1111")
def test_a_refusal_is_reported_on_cscs_and_a_prediction_is_not(tmp_path):
    classes = """\
    FCICSFCT:
      PAYF:
    DCICSDCT:
      PAYQ:
    """
    with region(tmp_path, classes, define_tdqueue(name="PAYQ", type="INTRA")) as reg:
        reg.files.define("PAYF", ksds(b"01one"))
        with reg.task(transid="PAY1", userid="ANN") as task:
            assert "NOTAUTH" in str(reg.explain("PAYQ", task=task))
            assert [info.tdqueue for info in task.browse_tdqueue("TYPE")] == []
            assert messages(reg, "CSCS") == ""
            assert refused(task.read_file, "PAYF", KEY)
        text = messages(reg, "CSCS")
    assert text.startswith(rule("SEC-XS1111").message)
    assert "PAY1 Security violation by user ANN for resource PAYF in class FCICSFCT." in text
    assert "SAF codes are (X'00000008',X'00000000')." in text
    assert text.count("DFHXS1111") == 1


def test_an_operator_s_refusals_are_reported_too(tmp_path):
    classes = """\
    CCICSCMD:
      TASK: {access: {ANN: READ}}
      TDQUEUE: {access: {ANN: READ}}
    """
    with region(tmp_path, classes, define_tdqueue(name="PAYQ", type="INTRA")) as reg:
        assert cemt(reg, "S TDQ(PAYQ) DIS", userid="ANN").rows[0].condition.name == "NOTAUTH"
        assert messages(reg, "CSCS").count("resource TDQUEUE in class CCICSCMD") == 1
        with pytest.raises(Condition, match="NOTAUTH"):
            cemt(reg, "I FILE", userid="ANN")
        assert messages(reg, "CSCS").count("resource FILE in class CCICSCMD") == 1
