"""CHKOBJ, CLRLIB, CRTDUPOBJ, WRKOBJLCK as text, and commands of IBM i that are not simulated."""

from __future__ import annotations

import pytest

from tdqsim.ibmi import EscapeMessage
from tests.ibmi.conftest import e
from tests.rules import rule

FILE_TYPE = "objtype *FILE: objects of this type are not simulated; *DTAQ, *LIB, *JRN, *JRNRCV, *PGM, *USRPRF are"
QGPL_ASKS = (
    "CPF0006 Errors occurred in command.\n   lib QGPL: the inquiry message CPA2129, which asks whether to clear it, is"
    " not simulated"
)


def refusal(job, text: str) -> str:
    with pytest.raises(EscapeMessage) as caught:
        job.command(text)
    return str(caught.value)


@pytest.fixture
def queue(job):
    return job.crtdtaq(dtaq="APPLIB/Q", maxlen=80)


@pytest.mark.rule("CHKOBJ-EXISTS")
def test_chkobj_and_then_crtdtaq(job):
    with pytest.raises(EscapeMessage) as caught:
        job.command("CHKOBJ OBJ(APPLIB/ORDERS) OBJTYPE(*DTAQ)")
    assert caught.value.message_id == rule("CHKOBJ-EXISTS").message == "CPF9801"
    assert caught.value.text == "Object ORDERS in library APPLIB not found."
    job.command("CRTDTAQ DTAQ(APPLIB/ORDERS) MAXLEN(80)")
    before = len(job.joblog)
    job.command("CHKOBJ OBJ(APPLIB/ORDERS) OBJTYPE(*DTAQ)")
    assert len(job.joblog) == before


@pytest.mark.rule("CHKOBJ-EXISTS")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("CHKOBJ NOLIB/Q *DTAQ", "CPF9810 Library NOLIB not found."),
        ("CHKOBJ NOQ *DTAQ", "CPF9801 Object NOQ in library *LIBL not found."),
        ("CHKOBJ NOLIB *LIB", "CPF9801 Object NOLIB in library QSYS not found."),
        ("CHKOBJ APPLIB/APPLIB *LIB", "CPF9801 Object APPLIB in library APPLIB not found."),
        ("CHKOBJ APPLIB/Q *JRN", "CPF9801 Object Q in library APPLIB not found."),
        ("CHKOBJ APPLIB/P *PGM", "CPF9801 Object P in library APPLIB not found."),
        ("CHKOBJ NOBODY *USRPRF", "CPF9801 Object NOBODY in library QSYS not found."),
    ],
)
def test_chkobj_of_what_is_not_there(job, queue, text, message):
    assert refusal(job, text) == message


@pytest.mark.rule("CHKOBJ-EXISTS")
@pytest.mark.parametrize("where", ["APPLIB/Q *DTAQ", "Q *DTAQ", "*LIBL/Q *DTAQ", "*CURLIB/Q *DTAQ", "APPLIB *LIB",
                                   "QSYS/APPLIB *LIB", "APPLIB/J *JRN", "P *PGM", "ANNA *USRPRF"])  # fmt: skip
def test_chkobj_of_what_is_there(system, job, queue, where):
    system.profiles["ANNA"].allobj = True
    job.crtjrn("APPLIB/J")
    system.register_program("APPLIB/P", print)
    job.chgcurlib("APPLIB")
    assert job.command(f"CHKOBJ {where}") is None


@pytest.mark.rule("CHKOBJ-AUTHORITY")
def test_chkobj_checks_authority(system, job, queue):
    job.grtobjaut("APPLIB/Q", "BERT", "*USE")
    other = system.job("OTHER", user="BERT")
    other.command("CHKOBJ APPLIB/Q *DTAQ AUT(*OBJOPR *READ)")
    other.command("CHKOBJ APPLIB/Q *DTAQ AUT(*NONE)")
    assert refusal(other, "CHKOBJ APPLIB/Q *DTAQ AUT(*READ *ADD)") == "CPF9802 Not authorized to object Q in APPLIB."
    assert rule("CHKOBJ-AUTHORITY").message == "CPF9802"
    system.job("OFFICER", user="QSECOFR").grtobjaut("APPLIB", "BERT", "*EXCLUDE", objtype="*LIB")
    assert refusal(other, "CHKOBJ APPLIB/Q *DTAQ") == "CPF9820 Not authorized to use library APPLIB."


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("CHKOBJ A/B *FILE", FILE_TYPE),
        ("CRTDUPOBJ A QGPL *DTAARA B", "OBJTYPE(*DTAARA): objects of this type are not simulated"),
        ("CHKOBJ ANNA *USRPRF AUT(*USE)", "aut *USE: authorities to objects of type *USRPRF are not simulated"),
    ],
)  # fmt: skip
def test_types_that_are_not_simulated_are_told(job, text, reason):
    assert refusal(job, text) == f"CPF0006 Errors occurred in command.\n   {reason}"


@pytest.mark.rule("CRTDUPOBJ-DTAQ")
def test_crtdupobj_has_no_data_queues(job, queue):
    said = "CPF0006 Errors occurred in command.\n  CPD0084 '*DTAQ' not valid for parameter OBJTYPE."
    assert refusal(job, "CRTDUPOBJ OBJ(Q*) FROMLIB(APPLIB) OBJTYPE(*DTAQ) TOLIB(QGPL)") == said
    assert rule("CRTDUPOBJ-DTAQ").message == "CPD0084"


@pytest.mark.rule("CLRLIB-CLEARS")
def test_clrlib_keeps_the_library_and_what_is_locked(system, job, queue):
    job.crtdtaq(dtaq="APPLIB/HELD", maxlen=5)
    job.crtdtaq(dtaq="APPLIB/OTHERS", maxlen=5)
    system.job("LOCKER", user="ANNA").alcobj([("APPLIB/HELD", "*EXCL")])
    with pytest.raises(EscapeMessage) as caught:
        job.command("CLRLIB APPLIB")
    assert caught.value.message_id == rule("CLRLIB-CLEARS").message == "CPF2161"
    assert [one.message_id for one in caught.value.diagnostics] == ["CPF9503"]
    assert [one.name for one in system.queues()] == ["HELD"]
    assert "APPLIB" in system.libraries


@pytest.mark.rule("CLRLIB-CLEARS")
def test_clrlib_of_qtemp_and_of_the_current_library(system, job, queue):
    job.crtdtaq(dtaq="QTEMP/MINE", maxlen=5)
    job.command("CLRLIB LIB(QTEMP)")
    assert refusal(job, "CHKOBJ QTEMP/MINE *DTAQ") == "CPF9801 Object MINE in library QTEMP not found."
    job.chgcurlib("APPLIB")
    job.command("CLRLIB LIB(*CURLIB)")
    assert list(system.queues()) == []


@pytest.mark.rule("CLRLIB-SYSTEM")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("CLRLIB QSYS", "CPF2129 Clear or delete of system library QSYS canceled."),
        ("CLRLIB NOLIB", "CPF2110 Library NOLIB not found."),
        ("CLRLIB QGPL", QGPL_ASKS),
    ],
)  # fmt: skip
def test_clrlib_refuses(job, text, message):
    assert refusal(job, text) == message
    assert rule("CLRLIB-SYSTEM").message == "CPF2129"


@pytest.mark.rule("CLRLIB-CLEARS")
def test_clrlib_needs_authority_to_the_library(system, job, queue):
    system.job("OFFICER", user="QSECOFR").grtobjaut("APPLIB", "BERT", "*EXCLUDE", objtype="*LIB")
    assert refusal(system.job("B", user="BERT"), "CLRLIB APPLIB") == "CPF2182 Not authorized to library APPLIB."


def test_wrkobjlck_as_text(system, job, queue):
    other = system.job("LOCKER", user="BERT", number="000007")
    job.command("ALCOBJ OBJ((APPLIB/Q *DTAQ *SHRRD))")
    other.command("ALCOBJ OBJ((APPLIB/Q *DTAQ *SHRUPD))")
    locks = job.command("WRKOBJLCK OBJ(APPLIB/Q) OBJTYPE(*DTAQ)")
    assert [(one.job, one.state) for one in locks] == [
        ("123456/ANNA/WORKER", "*SHRRD"),
        ("000007/BERT/LOCKER", "*SHRUPD"),
    ]


@pytest.mark.rule("CL-NOT-SIMULATED")
@pytest.mark.parametrize("name", ["DSPOBJD", "CHGOBJOWN", "WRKDTAQ", "DSPOBJAUT", "DLYJOB", "SNDPGMMSG", "RUNSQL",
                                  "OVRDSPF", "MONMSG", "QSYS/DLTOBJ", "RMVSRVTBLE", "APYJRNCHG", "WRKJRNA"])  # fmt: skip
def test_a_command_of_ibm_i_that_is_not_simulated(job, name):
    plain = name.removeprefix("QSYS/")
    with pytest.raises(EscapeMessage) as caught:
        job.command(f"{name} A/B")
    assert str(caught.value) == f"CPF0001 Error found on {plain} command.\n  TDQ9001 Command {plain} is not simulated."
    assert caught.value.message_data == e(plain.ljust(10))
    assert [one.message_id for one in caught.value.diagnostics] == [rule("CL-NOT-SIMULATED").message] == ["TDQ9001"]


@pytest.mark.rule("CL-KEYWORD-NOT-SIMULATED")
@pytest.mark.parametrize(
    ("command", "keyword"),
    [("CRTUSRPRF USRPRF(BOB) JOBD(QGPL/QDFTJOBD)", "JOBD"), ("SBMJOB CMD(CALL P) OUTQ(QPRINT)", "OUTQ"),
     ("CRTDUPOBJ OBJ(A) FROMLIB(B) OBJTYPE(*JRN) CST(*YES)", "CST"), ("GRTOBJAUT OBJ(A/B) AUTL(C)", "AUTL")],
)  # fmt: skip
def test_a_keyword_of_ibm_i_that_is_not_simulated(job, command, keyword):
    with pytest.raises(EscapeMessage) as caught:
        job.command(command)
    told = [one for one in caught.value.diagnostics if one.message_id == rule("CL-KEYWORD-NOT-SIMULATED").message]
    assert (caught.value.message_id, [one.message_id for one in told]) == ("CPF0006", ["TDQ9003"])
    assert told[0].text == f"Keyword {keyword} of command {command.split()[0]} is not simulated."


@pytest.mark.rule("CL-UNKNOWN")
@pytest.mark.parametrize("name", ["DSPOBJDX", "MYLIB/DSPOBJD", "SNDDTAQ", "CHGDTAQ"])
def test_a_name_that_no_command_has(job, name):
    assert "CPD0030" in refusal(job, f"{name} A/B")
