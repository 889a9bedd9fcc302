"""QUSRJOBI, QMHRTVM, QWCRSVAL, QWCRNETA: what they tell, and what they refuse."""

from __future__ import annotations

from struct import unpack_from

import pytest
from freezegun import freeze_time

from tdqsim.errors import ConversionError
from tdqsim.ibmi import MESSAGES, EscapeMessage, ParameterError, System
from tests.ibmi.conftest import e
from tests.rules import expect_rule


def binary(value):
    return value.to_bytes(4, "big", signed=True)


def job_information(job, form, name="*", internal="", length=600):
    receiver = bytearray(b"\xee" * length)
    job.call_program(
        "QUSRJOBI", "QSYS", [receiver, binary(length), e(form.ljust(8)), e(name.ljust(26)), e(internal.ljust(16))]
    )
    return receiver


def text(raw, at, length):
    return bytes(raw[at : at + length]).decode("cp037").rstrip()


def test_what_is_told_of_a_job(system, job):
    job.current_library = "QGPL"
    told = job_information(job, "JOBI0400", f"{job.name:<10}{job.user:<10}{job.number}")
    returned, available = unpack_from(">ii", told)
    assert returned == available == 564
    assert bytes(told[564:]) == b"\xee" * 36
    assert (text(told, 8, 10), text(told, 18, 10), text(told, 28, 6)) == (job.name, job.user, job.number)
    assert (text(told, 50, 10), text(told, 60, 2)) == ("*ACTIVE", "B")
    assert unpack_from(">i", told, 300) == (37,)
    assert text(told, 219, 4) == "*YMD"
    by_identifier = job_information(job, "JOBI0600", "*INT", text(told, 34, 16))
    assert text(by_identifier, 91, 10) == job.current_user
    assert unpack_from(">i", job_information(job, "JOBI0150"), 64) == (job.run_priority,)
    libraries = job_information(job, "JOBI0700")
    assert unpack_from(">iiii", libraries, 64) == (1, 0, 1, len(job.user_libraries))
    assert text(libraries, 80, 22).split() == ["QSYS", "QGPL"]
    short = job_information(job, "JOBI0150", length=20)
    assert unpack_from(">ii", short) == (20, 144)


@pytest.mark.rule("RTV-JOB", "RTV-JOB-INTERNAL", "RTV-FORMAT")
def test_jobs_and_formats_that_are_not_there(job):
    expect_rule("RTV-JOB", job_information, job, "JOBI0400", f"{'NONE':<10}{'NOBODY':<10}000000")
    expect_rule("RTV-JOB-INTERNAL", job_information, job, "JOBI0400", "*INT", "999999")
    for form in ("JOBI0100", "JOBI0750", "JOBI0800", "JOBI0900", "JOBI", "RTVM"):
        expect_rule("RTV-FORMAT", job_information, job, form)
    with pytest.raises(EscapeMessage, match="CPF3C24"):
        job_information(job, "JOBI0400", length=7)
    assert unpack_from(">ii", job_information(job, "JOBI0400", length=8)) == (8, 564)
    code = bytearray(binary(16) + bytes(12))
    job.call_program(
        "QUSRJOBI", "QSYS", [bytearray(100), binary(100), e("JOBI9999"), e("*".ljust(26)), e(" " * 16), code]
    )
    assert text(code, 8, 7) == "CPF3C21"


def described(job, message_id, data=b"", replace="*YES", option=None, length=5120, file="QCPFMSG   QSYS      "):
    receiver = bytearray(length)
    more = [] if option is None else [e(option.ljust(10)), binary(0), binary(0)]
    job.call_program(
        "QMHRTVM", "QSYS",
        [receiver, binary(length), e("RTVM0400"), e(message_id.ljust(7)), e(file), data, binary(len(data)), e(replace.ljust(10)),
         e("*NO       "), bytearray(8), *more],
    )  # fmt: skip
    at, size, help_at, help_size = unpack_from(">ii4xii", receiver, 64)
    return (
        text(receiver, 26, 7),
        unpack_from(">i", receiver, 8)[0],
        text(receiver, at, size),
        text(receiver, help_at, help_size),
    )


@pytest.mark.rule("RTV-MESSAGE", "RTV-MESSAGE-FILE")
def test_what_is_told_of_a_message(job):
    row = MESSAGES["CPF2105"]
    data = e("ORDERS    APPLIB    DTAQ   ")
    found = described(job, "CPF2105", data)
    assert found[:3] == ("CPF2105", 40, "Object ORDERS in APPLIB type *DTAQ not found.")
    assert "ORDERS" in found[3]
    assert described(job, "CPF2105", replace="*NO")[2:] == (row.text, row.help)
    assert described(job, "CPF2498", e("Q         LIB       ") + binary(9))[2].endswith("Q in LIB is 9.")
    assert described(job, "CPF2105", b"")[2] == "Object  in  type * not found."
    seen = [described(job, "", option="*FIRST")[0]]
    while (following := described(job, seen[-1], option="*NEXT")[0]) != "":
        seen.append(following)
    assert seen == sorted(MESSAGES)
    expect_rule("RTV-MESSAGE", described, job, "CPF0000")
    expect_rule("RTV-MESSAGE-FILE", described, job, "CPF2105", file="USERMSG   QGPL      ")
    with pytest.raises(EscapeMessage, match="CPF24B4"):
        job.call_program("QMHRTVM", "QSYS", [bytearray(100), binary(100)])


def values(job, *names, program="QWCRSVAL", length=400):
    receiver = bytearray(length)
    listed = b"".join(e(name.ljust(10)) for name in names)
    job.call_program(program, "QSYS", [receiver, binary(length), binary(len(names)), listed, bytearray(8)])
    found = {}
    assert unpack_from(">i", receiver) == (len(names),)
    for number in range(len(names)):
        (at,) = unpack_from(">i", receiver, 4 + 4 * number)
        (size,) = unpack_from(">i", receiver, at + 12)
        raw = receiver[at + 16 : at + 16 + size]
        found[text(receiver, at, 10)] = (
            int.from_bytes(raw, "big") if text(receiver, at + 10, 1) == "B" else text(raw, 0, size)
        )
        assert text(receiver, at + 11, 1) == ""
    return found


@pytest.mark.rule("RTV-VALUE")
def test_system_values():
    with (
        freeze_time("2026-03-05 07:08:09.250"),
        System("SYS9", time_zone="Europe/Berlin", ccsid=273) as system,
        system.job() as job,
    ):
        system.values["QPWDMINLEN"] = 8
        assert values(job, "QCCSID", "QDATE", "QTIME", "QUTCOFFSET", "QDATFMT", "QPWDMINLEN", "QMAXSIGN", "QSYSLIBL") == {
            "QCCSID": 273, "QDATE": "1260305", "QTIME": "080809250", "QUTCOFFSET": "+0100", "QDATFMT": "YMD", "QPWDMINLEN": 8,
            "QMAXSIGN": "000003", "QSYSLIBL": "QSYS",
        }  # fmt: skip
        assert values(job, "QCENTURY", "QYEAR", "QMONTH", "QDAY", "QHOUR", "QMINUTE", "QSECOND") == {
            "QCENTURY": "1", "QYEAR": "26", "QMONTH": "03", "QDAY": "05", "QHOUR": "08", "QMINUTE": "08", "QSECOND": "09",
        }  # fmt: skip
        assert values(job, "SYSNAME", program="QWCRNETA") == {"SYSNAME": "SYS9"}
        expect_rule("RTV-VALUE", values, job, "QNOTHING")
        expect_rule("RTV-VALUE", values, job, "SYSNAME")
        expect_rule("RTV-VALUE", values, job, "QCCSID", program="QWCRNETA")
        with pytest.raises(EscapeMessage, match="CPF3C24"):
            values(job, "QCCSID", length=20)
        for count in (0, -1, 1 << 30):
            with pytest.raises(EscapeMessage, match="CPF24B4"):
                job.call_program(
                    "QWCRSVAL", "QSYS", [bytearray(99), binary(99), binary(count), e("QCCSID    "), bytearray(8)]
                )


def test_system_values_that_can_be_set(system):
    assert (system.values["QPWDLVL"], len(system.values), min(system.values)) == (3, 8, "QLIBLCKLVL")
    for name, value in (("QPWDLVL", 5), ("QMAXSIGN", 0), ("QPWDMINLEN", "6"), ("QPWDRQDDGT", True), ("QCCSID", 37)):
        with pytest.raises(ParameterError, match=name):
            system.values[name] = value
    with pytest.raises(ParameterError, match="but not removed"):
        del system.values["QPWDLVL"]


@pytest.mark.rule("USRPRF-PASSWORD-AUTHORITY", "USRPRF-PASSWORD-KEPT")
def test_passwords_without_a_server(system):
    with system.job(user="QPGMR") as job:
        expect_rule("USRPRF-PASSWORD-AUTHORITY", job.command, "CRTUSRPRF PAUL PASSWORD(SECRET)")
        job.command("CRTUSRPRF PAUL PASSWORD(*NONE)")
    with system.job(user="QSECOFR") as job:
        expect_rule("USRPRF-PASSWORD-KEPT", job.command, "CRTUSRPRF EDDA PASSWORD(*USRPRF)")
    assert "EDDA" not in system.profiles


def test_a_ccsid_that_changes_is_the_one_that_everything_is_in(system):
    with system.job(user="QSECOFR") as job:
        job.crtdtaq("APPLIB/SIGNED", maxlen=10, senderid="*YES")
        job.crtdtaq("QTEMP/NOTED", maxlen=10)
        job.ccsid = 273
        assert (job.ccsid, job.page.ccsid) == (273, 273)
        assert job.page.encode("Ä") == "Ä".encode("cp273")
        assert unpack_from(">i", job_information(job, "JOBI0400"), 372) == (273,)
        with pytest.raises(ConversionError):
            job.ccsid = 99999
        assert (job.ccsid, job.page.ccsid) == (273, 273)
        job.ccsid = 65535
        assert (job.ccsid, job.page.ccsid) == (65535, 37)
