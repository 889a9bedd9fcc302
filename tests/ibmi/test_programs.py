"""Programs that jobs call: registered functions, QCMDEXC, QWCRTVCA, and CALL and SBMJOB from CL."""

from __future__ import annotations

import pytest

from tdqsim.errors import TdqError
from tdqsim.ibmi import EscapeMessage, ParameterError, qualified_name
from tests.ibmi.conftest import b4, e
from tests.rules import expect_rule, rule


@pytest.fixture
def seen(system):
    calls = []

    def program(job, *parameters):
        calls.append((job.name, [bytes(one) for one in parameters]))
        if parameters:
            parameters[0][:1] = b"\xff"

    system.register_program("applib/pgm", program)
    return calls


def test_a_registered_program_changes_the_storage_of_its_caller(system, job, seen):
    storage = bytearray(b"abc")
    job.call_program("APPLIB/PGM", parameters=[storage])
    job.call_program("pgm", "applib", [storage])
    job.chglibl("APPLIB")
    job.call_program("PGM")
    assert seen == [("WORKER", [b"abc"]), ("WORKER", [b"\xffbc"]), ("WORKER", [])]
    assert storage == b"\xffbc"
    with pytest.raises(TdqError, match="library NOLIB does not exist"):
        system.register_program("NOLIB/PGM", print)
    with pytest.raises(ParameterError):
        system.register_program("APPLIB/1", print)


@pytest.mark.rule("PGM-UNRESOLVED")
@pytest.mark.parametrize(
    ("name", "kind", "what"),
    [("APPLIB/NOPE", b"\x02\x01", "NOPE"), ("NOPE", b"\x02\x01", "NOPE"), ("NOLIB/PGM", b"\x04\x01", "NOLIB")],
)
def test_what_is_not_there(job, name, kind, what):
    error = expect_rule("PGM-UNRESOLVED", job.call_program, name)
    assert error.message_data == kind + e(f"{what:<30}")


@pytest.mark.rule("PGM-LITERAL")
def test_call_passes_literals_as_cl_does(job, seen):
    job.command("CALL PGM(APPLIB/PGM) PARM('it''s' 5 -7 WORD '5')")
    text, number, minus, word, digit = seen[0][1]
    assert text == e(f"{'it' + chr(39) + 's':<32}")
    assert number.hex().upper() == rule("PGM-LITERAL").message
    assert minus.hex().upper() == "000000000700000D"
    assert (word, digit) == (e(f"{'WORD':<32}"), e(f"{'5':<32}"))
    job.command("CALL APPLIB/PGM")
    assert seen[1][1] == []


@pytest.mark.rule("PGM-SBMJOB")
def test_sbmjob_runs_the_command_in_a_job_of_its_own(system, job, seen):
    started = job.command("SBMJOB CMD(CALL PGM(APPLIB/PGM) PARM('a b' 'it''s')) JOB(NIGHTLY) USER(BERT)")
    assert job.joblog[-1].message_id == rule("PGM-SBMJOB").message
    assert started.job.qualified_name in job.joblog[-1].text
    started.result()
    assert seen == [("NIGHTLY", [e(f"{'a b':<32}"), e(f"{'it' + chr(39) + 's':<32}")])]
    job.command("SBMJOB CMD(CRTDTAQ APPLIB/Q 5)").result()
    assert [queue.qualified for queue in system.queues()] == ["APPLIB/Q"]
    with pytest.raises(EscapeMessage, match="CPF0006"):
        job.command("SBMJOB CMD(CRTDTAQ APPLIB/Q FIVE)")


def test_qcmdexc(system, job):
    command = e("CRTDTAQ APPLIB/Q 5 and so on")
    job.call_program("QCMDEXC", parameters=[command, bytes.fromhex("000000001800000F")])
    assert [queue.qualified for queue in system.queues()] == ["APPLIB/Q"]
    with pytest.raises(EscapeMessage, match="CPF24B4"):
        job.call_program("QCMDEXC", parameters=[command])
    with pytest.raises(EscapeMessage, match="CPF24B4"):
        job.call_program("QCMDEXC", parameters=[command, b"\x00" * 8])
    with pytest.raises(EscapeMessage, match="CPF0001"):
        job.call_program("QCMDEXC", parameters=[e("NONSENSE"), bytes.fromhex("000000000800000F")])


def test_qwcrtvca_tells_the_name_of_the_job(job):
    receiver = bytearray(b"\xee" * 50)
    asked = [receiver, b4(46), e("RTVC0100"), b4(1), b4(1009), bytearray(16)]
    job.call_program("QSYS/QWCRTVCA", parameters=asked)
    assert receiver[:20] == b4(1) + b4(42) + b4(1009) + e("C   ") + b4(26)
    assert receiver[20:46] == e("WORKER    ANNA      123456")
    assert receiver[46:] == b"\xee" * 4
    with pytest.raises(EscapeMessage, match="CPF3C21"):
        job.call_program("QWCRTVCA", parameters=[receiver, b4(46), e("RTVC0900"), b4(1), b4(1009)])
    with pytest.raises(EscapeMessage, match="CPF3C82"):
        job.call_program("QWCRTVCA", parameters=[receiver, b4(46), e("RTVC0100"), b4(1), b4(1)])


def test_the_apis_are_programs_of_qsys(job):
    job.crtdtaq("APPLIB/Q", maxlen=7)
    receiver = bytearray(120)
    job.call_program("QMHQRDQD", "QSYS", [receiver, b4(120), e("RDQD0100"), qualified_name("APPLIB/Q")])
    assert receiver[8:12] == b4(7)


@pytest.mark.rule("JOBLOG-NONE", "JOBLOG-OTHER", "PRF-NONE", "PRF-NOTAUTH")
def test_job_logs_and_changed_profiles(system, job):
    other = system.job("OTHER", user="BERT")
    with pytest.raises(EscapeMessage):
        other.command("NONSENSE")
    expect_rule("JOBLOG-NONE", job.dspjoblog, "NONE")
    expect_rule("JOBLOG-OTHER", job.dspjoblog, "OTHER")
    expect_rule("PRF-NOTAUTH", job.chgusrprf, "BERT", status="*DISABLED")
    with system.job(user="QSECOFR") as officer:
        assert [one.message_id for one in officer.dspjoblog(other.qualified_name)] == ["CPD0030", "CPF0001"]
        assert officer.command("DSPJOBLOG BERT/OTHER") == officer.dspjoblog("OTHER")
        expect_rule("PRF-NONE", officer.chgusrprf, "NOBODY")
        officer.chgusrprf("BERT", status="*DISABLED", pwdexp=True)
        officer.command("CHGUSRPRF BERT STATUS(*SAME) PWDEXP(*NO)")
    assert (system.profiles["BERT"].disabled, system.profiles["BERT"].expired) == (True, False)


@pytest.mark.parametrize(
    "command",
    [
        "CALL APPLIB/PGM ('ab' 'cd')",
        "CALL APPLIB/PGM (('ab' 'cd'))",
        "CALL PGM(APPLIB/PGM) PARM('ab' 'cd')",
        "CALL PGM(APPLIB/PGM) PARM(('ab' 'cd'))",
    ],
)
def test_values_without_the_keyword_parm_are_passed_one_by_one(job, seen, command):
    job.command(command)
    assert seen[0][1] == [e(f"{'ab':<32}"), e(f"{'cd':<32}")]


def test_a_list_is_no_parameter(job, seen):
    with pytest.raises(EscapeMessage, match="CPD0084 'a b c' not valid for parameter PARM"):
        job.command("CALL PGM(APPLIB/PGM) PARM(('a' 'b' 'c') 'd')")
    assert seen == []
