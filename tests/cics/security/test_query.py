"""QUERY SECURITY."""

from __future__ import annotations

import pytest

from tdqsim.cics import Condition, Region
from tdqsim.definitions import define_program, define_tdqueue, define_transaction
from tdqsim.errors import UsageError
from tdqsim.facts import INQUIRE_OPTIONS, Cvda
from tests.cics.security.helpers import ksds, messages, region
from tests.rules import expect_rule, rule

TYPES = {
    "TRANSATTACH": ("TCICSTRN", "PAY1"),
    "TRANSACTION": ("ACICSPCT", "PAY1"),
    "PROGRAM": ("MCICSPPT", "PROG"),
    "FILE": ("FCICSFCT", "PAYF"),
    "TSQUEUE": ("SCICSTST", "PAYTSQ"),
    "TDQUEUE": ("DCICSDCT", "PAYQ"),
    "SPCOMMAND": ("CCICSCMD", "TDQUEUE"),
}
DEFINITIONS = [
    define_transaction(name="PAY1", ressec="NO", cmdsec="NO"),
    define_program(name="PROG"),
    define_tdqueue(name="PAYQ", type="INTRA"),
    define_tdqueue(name="ALIA", type="INDIRECT", indirectname="PAYQ"),
    define_tdqueue(name="LOST", type="INDIRECT", indirectname="NONE"),
]


def made(tmp_path, classes):
    reg = region(tmp_path, classes, *DEFINITIONS)
    reg.files.define("PAYF", ksds())
    return reg


def answers(task, **given):
    return [value.name for value in task.query_security(logmessage="NOLOG", **given)]


@pytest.mark.rule("QSEC-READ", "QSEC-UPDATE", "QSEC-CONTROL", "QSEC-ALTER")
@pytest.mark.parametrize("restype", TYPES)
def test_each_type_and_each_level(tmp_path, restype):
    resource_class, name = TYPES[restype]
    every = [("READABLE", "NOTREADABLE"), ("UPDATABLE", "NOTUPDATABLE"), ("CTRLABLE", "NOTCTRLABLE")]
    every.append(("ALTERABLE", "NOTALTERABLE"))
    for granted, level in enumerate(("NONE", "READ", "UPDATE", "CONTROL", "ALTER")):
        classes = f"{resource_class}:\n  {name}: {{access: {{ANN: {level}}}}}\n"
        with made(tmp_path, classes) as reg, reg.task(userid="ANN") as task:
            expected = [pair[at >= granted] for at, pair in enumerate(every)]
            assert answers(task, restype=restype, resid=name) == expected
            if level == "READ":
                answer = task.query_security("READ", "UPDATE", restype=restype, resid=name, logmessage="NOLOG")
                assert answer.read.name == rule("QSEC-READ").message
                assert answer.update.name == rule("QSEC-UPDATE").message
                assert (answer.control, answer.alter) == (None, None)
            if level == "CONTROL":
                answer = task.query_security(restype=restype, resid=name, logmessage="NOLOG")
                assert answer.control.name == rule("QSEC-CONTROL").message
                assert answer.alter.name == rule("QSEC-ALTER").message


@pytest.mark.rule("QSEC-INACTIVE", "QSEC-NO-PROFILE", "QSEC-RESSEC", "QSEC-RESCLASS-NONE")
def test_what_is_not_protected_and_what_is_not_checked(tmp_path):
    with made(tmp_path, "DCICSDCT:\n  OTHQ:\n") as reg, reg.task(transid="PAY1", userid="ANN") as task:
        assert answers(task, restype="TDQUEUE", resid="PAYQ")[0] == rule("QSEC-NO-PROFILE").message
        assert answers(task, restype="TDQUEUE", resid="PAYQ")[0] == rule("QSEC-RESSEC").message
        assert answers(task, restype="FILE", resid="PAYF")[3] == rule("QSEC-INACTIVE").message
    with Region(DEFINITIONS) as reg, reg.task() as task:
        assert answers(task, restype="TDQUEUE", resid="PAYQ")[3] == rule("QSEC-INACTIVE").message
        expect_rule("QSEC-RESCLASS-NONE", task.query_security, resclass="DCICSDCT", resid="PAYQ")


@pytest.mark.rule("QSEC-LOG")
def test_refused_access_is_reported_unless_nolog(tmp_path):
    with made(tmp_path, "DCICSDCT:\n  PAYQ: {access: {ANN: READ}}\n") as reg, reg.task(userid="ANN") as task:
        task.query_security("READ", restype="TDQUEUE", resid="PAYQ")
        task.query_security(restype="TDQUEUE", resid="PAYQ", logmessage="NOLOG")
        assert messages(reg, "CSCS") == ""
        task.query_security("UPDATE", "ALTER", restype="TDQUEUE", resid="PAYQ", logmessage=Cvda.LOG)
        assert messages(reg, "CSCS").count(rule("QSEC-LOG").message) == 1
        assert "by user ANN for resource PAYQ in class DCICSDCT" in messages(reg, "CSCS")


@pytest.mark.rule(
    "QSEC-NOTFND",
    "QSEC-RESTYPE",
    "QSEC-SPCOMMAND",
    "QSEC-LOGMESSAGE",
    "QSEC-RESID",
    "QSEC-INDIRECT",
    "QSEC-RESID-BLANK",
)
def test_restype_and_resid(tmp_path):
    with made(tmp_path, "DCICSDCT:\n  PAYQ: {access: {ANN: READ}}\n") as reg, reg.task(userid="ANN") as task:
        for restype in TYPES.keys() - {"TSQUEUE", "SPCOMMAND"}:
            expect_rule("QSEC-NOTFND", task.query_security, restype=restype, resid="NOPE")
        for restype in ("QUEUE", "SURROGAT", " "):
            expect_rule("QSEC-RESTYPE", task.query_security, restype=restype, resid="PAYQ")
        expect_rule("QSEC-SPCOMMAND", task.query_security, restype="SPCOMMAND", resid="TRANCLASS")
        assert answers(task, restype="SPCOMMAND", resid="TCLASS")[0] == "READABLE"
        expect_rule("QSEC-LOGMESSAGE", task.query_security, restype="TDQUEUE", resid="PAYQ", logmessage="OPEN")
        expect_rule("QSEC-RESID", task.query_security, restype="TDQUEUE", resid="  ")
        expect_rule("QSEC-INDIRECT", task.query_security, restype="TDQUEUE", resid="LOST")
        assert answers(task, restype="TDQUEUE", resid="ALIA")[0] == "READABLE"
        for resid in ("PAYQ    ", "PAYQ X"):
            assert answers(task, restype="TDQUEUE", resid=resid)[0] == rule("QSEC-RESID-BLANK").message
        for given in ({}, {"restype": "FILE", "resclass": "FCICSFCT"}):
            with pytest.raises(UsageError, match="one of RESTYPE and RESCLASS"):
                task.query_security(resid="PAYQ", **given)


@pytest.mark.rule("QSEC-RESCLASS", "QSEC-RESCLASS-PROFILE", "QSEC-RESIDLENGTH")
def test_classes_of_the_installation(tmp_path):
    classes = """\
    $PAYROLL:
      SALARY.*: {access: {ANN: READ}}
    DCICSDCT:
    """
    with made(tmp_path, classes) as reg, reg.task(userid="ANN") as task:
        assert answers(task, resclass="$PAYROLL", resid="SALARY.BOB")[:2] == ["READABLE", "NOTUPDATABLE"]
        assert answers(task, resclass="$PAYROLL", resid="SALARY.BOB", residlength=8)[0] == "READABLE"
        assert answers(task, resclass="$PAYROLL", resid="SALARY.BOB", residlength=246)[0] == "READABLE"
        expect_rule("QSEC-RESCLASS-PROFILE", task.query_security, resclass="$PAYROLL", resid="SALARY.X", residlength=6)
        expect_rule("QSEC-RESCLASS-PROFILE", task.query_security, resclass="DCICSDCT", resid="PAYQ")
        expect_rule("QSEC-RESCLASS", task.query_security, resclass="$OTHER", resid="SALARY.BOB")
        for length in (0, 247, -1):
            expect_rule(
                "QSEC-RESIDLENGTH", task.query_security, resclass="$PAYROLL", resid="SALARY.BOB", residlength=length
            )


@pytest.mark.rule("QSEC-USERID", "QSEC-SURROGATE")
def test_another_user(tmp_path):
    classes = """\
    DCICSDCT:
      PAYQ: {access: {CLERK: UPDATE}}
    SURROGAT:
      CLERK.DFHQUERY: {access: {ANN: READ}}
      CLERK.DFHSTART: {access: {BOB: READ}}
    """
    with made(tmp_path, classes) as reg:
        with reg.task(userid="ANN") as task:
            assert answers(task, restype="TDQUEUE", resid="PAYQ")[1] == "NOTUPDATABLE"
            assert answers(task, restype="TDQUEUE", resid="PAYQ", userid="CLERK   ")[1] == "UPDATABLE"
            task.query_security("ALTER", restype="TDQUEUE", resid="PAYQ", userid="CLERK")
            assert "by user CLERK for resource PAYQ in class DCICSDCT" in messages(reg, "CSCS")
            expect_rule("QSEC-USERID", task.query_security, restype="TDQUEUE", resid="PAYQ", userid="NOBODY")
        with reg.task(userid="BOB") as task:
            expect_rule("QSEC-SURROGATE", task.query_security, restype="TDQUEUE", resid="PAYQ", userid="CLERK")


def test_the_types_of_inquire_have_names_in_the_class_of_commands(tmp_path):
    with made(tmp_path, "CCICSCMD:\n  '**': {uacc: READ}\n") as reg, reg.task(userid="ANN") as task:
        for name in INQUIRE_OPTIONS.keys() - {"TRANCLASS"}:
            assert answers(task, restype="SPCOMMAND", resid=name)[:2] == ["READABLE", "NOTUPDATABLE"], name


def test_the_text_form_gets_the_cvdas_asked_for(tmp_path):
    with made(tmp_path, "DCICSDCT:\n  PAYQ: {access: {ANN: READ}}\n") as reg, reg.task(userid="ANN") as task:
        given = {"NAME": "PAYQ", "R": 0, "U": 0}
        task.execute("QUERY SECURITY RESTYPE('TDQUEUE') RESID(NAME) READ(R) UPDATE(U) NOLOG", given)
        assert (given["R"], given["U"]) == (Cvda.READABLE, Cvda.NOTUPDATABLE)
        assert messages(reg, "CSCS") == ""
        with pytest.raises(Condition, match="NOTFND"):
            task.execute("QUERY SECURITY RESTYPE('QUEUE') RESID(NAME) READ(R)", given)
