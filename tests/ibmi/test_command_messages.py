"""The messages that end CL commands, compared with the vendor's list of each command (``ibmi_command_messages.tsv``)."""

from __future__ import annotations

import pytest

from tdqsim.facts import table
from tdqsim.ibmi import DECLARATIONS, MESSAGES, EscapeMessage
from tests.rules import expect_rule, rule


@pytest.fixture
def officer(system):
    with system.job("OFFICER", user="QSECOFR") as made:
        made.crtdtaq("APPLIB/Q1", maxlen=10)
        made.crtdtaq("APPLIB/Q2", maxlen=10)
        yield made


def ended(job, text: str) -> list[str]:
    with pytest.raises(EscapeMessage) as caught:
        job.command(text)
    error = caught.value
    assert [one.kind for one in error.diagnostics] == ["diagnostic"] * len(error.diagnostics)
    assert tuple(job.joblog[-len(error.diagnostics) - 1 :]) == (*error.diagnostics, error.message)
    return [str(error.message), *map(str, error.diagnostics)]


@pytest.mark.rule("DTAQ-LOCK-NO-OBJECT")
@pytest.mark.parametrize(
    ("text", "messages"),
    [
        (
            "ALCOBJ OBJ((APPLIB/NOQ *DTAQ *EXCL)) WAIT(0)",
            ["CPF1085 Objects not allocated.", "CPF9801 Object NOQ in library APPLIB not found."],
        ),
        (
            "ALCOBJ OBJ((APPLIB/Q1 *DTAQ *EXCL) (NOLIB/Q *DTAQ *EXCL))",
            ["CPF1085 Objects not allocated.", "CPF9810 Library NOLIB not found."],
        ),
        (
            "DLCOBJ OBJ((APPLIB/NOQ *DTAQ *EXCL))",
            ["CPF1005 Objects not deallocated.", "CPF9801 Object NOQ in library APPLIB not found."],
        ),
        (
            "DLCOBJ OBJ((NOLIB/Q *DTAQ *EXCL))",
            ["CPF1005 Objects not deallocated.", "CPF9810 Library NOLIB not found."],
        ),
    ],
)
def test_alcobj_and_dlcobj_of_what_is_not_there(officer, text, messages):
    assert ended(officer, text) == messages
    assert officer.wrkobjlck("APPLIB/Q1") == ()
    assert rule("DTAQ-LOCK-NO-OBJECT").message == "CPF1085"


@pytest.mark.rule("DTAQ-LOCK-NO-OBJECT")
def test_alcobj_without_authority(system, officer):
    officer.grtobjaut("APPLIB/Q1", "*PUBLIC", "*EXCLUDE")
    with system.job(user="BERT") as bert:
        assert ended(bert, "ALCOBJ OBJ((APPLIB/Q1 *DTAQ *SHRRD))") == [
            "CPF1085 Objects not allocated.",
            "CPF2189 Not authorized to object Q1 in APPLIB type *DTAQ.",
        ]


@pytest.mark.rule("DTAQ-GRANT-NO-OBJECT")
@pytest.mark.parametrize("command", ["GRTOBJAUT", "RVKOBJAUT"])
@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("APPLIB/NOQ *DTAQ", "CPF2208 Object NOQ in library APPLIB type *DTAQ not found."),
        ("NOQ *DTAQ", "CPF2208 Object NOQ in library *LIBL type *DTAQ not found."),
        ("NOLIB/Q *DTAQ", "CPF2209 Library NOLIB not found."),
        ("NOLIB *LIB", "CPF2208 Object NOLIB in library QSYS type *LIB not found."),
    ],
)
def test_authority_to_what_is_not_there(officer, command, what, message):
    assert ended(officer, f"{command} {what} ANNA *USE") == [message]
    assert rule("DTAQ-GRANT-NO-OBJECT").message == "CPF2208"
    data = officer.message("CPF2208", "NOQ", "DTAQ", "APPLIB").message_data
    assert data == "NOQ       DTAQ   APPLIB    ".encode("cp037")


@pytest.mark.rule("DTAQ-GRANT-NO-OBJECT", "DTAQ-GRANT-NOT-AUTHORIZED")
def test_authority_that_the_user_may_not_give(system, officer):
    with system.job(user="BERT") as bert:
        expect_rule("DTAQ-GRANT-NOT-AUTHORIZED", bert.grtobjaut, "APPLIB/Q1", "ANNA", "*USE")
        assert ended(bert, "RVKOBJAUT APPLIB/Q1 *DTAQ ANNA *USE") == [
            "CPF2224 Not authorized to revoke authority for object Q1 in APPLIB type *DTAQ."
        ]
        officer.grtobjaut("APPLIB", "BERT", "*EXCLUDE", objtype="*LIB")
        assert ended(bert, "GRTOBJAUT APPLIB/Q1 *DTAQ ANNA *USE") == ["CPF2216 Not authorized to use library APPLIB."]


@pytest.mark.rule("DTAQ-GRANT-NO-PROFILE")
@pytest.mark.parametrize("command", ["GRTOBJAUT", "RVKOBJAUT"])
def test_authority_of_users_who_are_not_there(officer, command):
    assert ended(officer, f"{command} APPLIB/Q1 *DTAQ (ANNA NOBODY NOONE) *USE") == [
        "CPF2227 One or more errors occurred during processing of command.",
        "CPF2204 User profile NOBODY not found.",
        "CPF2204 User profile NOONE not found.",
    ]
    assert next(iter(officer.system.queues())).private == {}
    assert rule("DTAQ-GRANT-NO-PROFILE").message == "CPF2227"


@pytest.mark.rule("DTAQ-GRANT-EXCLUDE-ALONE")
def test_exclude_stands_alone(officer):
    expect_rule("DTAQ-GRANT-EXCLUDE-ALONE", officer.grtobjaut, "APPLIB/Q1", "ANNA", "*EXCLUDE *READ")
    assert ended(officer, "GRTOBJAUT APPLIB/Q1 *DTAQ ANNA (*READ *EXCLUDE)") == [
        "CPF2290 *EXCLUDE cannot be specified with another authority."
    ]
    officer.command("GRTOBJAUT APPLIB/Q1 *DTAQ ANNA *EXCLUDE")


@pytest.mark.rule("CL-SEVERAL-SOME")
def test_dltdtaq_of_several_deletes_what_it_can(system, officer):
    with system.job("LOCKER", user="ANNA") as other:
        other.alcobj([("APPLIB/Q1", "*SHRRD")])
        officer.crtdtaq("APPLIB/Q3", maxlen=5)
        officer.default_wait = 0
        assert ended(officer, "DLTDTAQ APPLIB/Q*") == [
            "CPF2117 2 objects type *DTAQ deleted. 1 objects not deleted.",
            "CPF9503 Cannot lock data queue Q1 in APPLIB.",
        ]
    assert [one.name for one in system.queues()] == ["Q1"]
    assert rule("CL-SEVERAL-SOME").message == "CPF2117"


@pytest.mark.rule("CL-GENERIC", "CL-SEVERAL")
@pytest.mark.parametrize("where", ["APPLIB/X*", "*ALL/X", "*USRLIBL/Q1"])
def test_dltdtaq_of_several_that_are_not_there(officer, where):
    library, _, name = where.partition("/")
    assert ended(officer, f"DLTDTAQ {where}") == [f"CPF2105 Object {name} in {library} type *DTAQ not found."]


@pytest.mark.rule("DTAQ-CRT-TOO-MANY")
def test_crtdtaq_with_more_entries_than_an_object_has(officer):
    most = 2**31 - 1
    expect_rule("DTAQ-CRT-TOO-MANY", officer.crtdtaq, "APPLIB/Q", maxlen=10, size=(most, most))
    assert len(list(officer.system.queues())) == 2


@pytest.mark.rule("PGM-SBMJOB-ERRORS")
@pytest.mark.parametrize(
    ("keyword", "diagnostics"),
    [
        ("USER(NOBODY)", ["CPF2204 User profile NOBODY not found."]),
        ("CURLIB(NOLIB)", ["CPF2110 Library NOLIB not found."]),
        ("INLLIBL(QGPL NOLIB APPLIB)", ["CPF2110 Library NOLIB not found."]),
        (
            "USER(NOBODY) CURLIB(NOLIB) INLLIBL(NOLIB)",
            ["CPF2204 User profile NOBODY not found.", "CPF2110 Library NOLIB not found."],
        ),
    ],
)
def test_sbmjob_of_a_user_or_library_that_is_not_there(system, officer, keyword, diagnostics):
    before = len(system.jobs)
    assert ended(officer, f"SBMJOB CMD(CRTLIB A) {keyword}") == [
        "CPF1338 Errors occurred on SBMJOB command.",
        *diagnostics,
    ]
    assert len(system.jobs) == before
    assert rule("PGM-SBMJOB-ERRORS").message == "CPF1338"


def test_a_library_of_the_list_that_is_gone(system, officer):
    officer.crtlib("GONE")
    with system.job(user="QSECOFR", library_list=("GONE",)) as job:
        system.dltlib("GONE")
        assert ended(job, "DLTDTAQ NOQ") == ["CPF2110 Library GONE not found."]
        assert ended(job, "GRTOBJAUT NOQ *DTAQ ANNA") == ["CPF2209 Library GONE not found."]
        assert ended(job, "ALCOBJ ((NOQ *DTAQ *EXCL))")[0] == "CPF1085 Objects not allocated."
        assert ended(job, "MOVOBJ NOQ *DTAQ APPLIB")[0].startswith("CPF9807 ")
        assert ended(job, "CHKOBJ NOQ *DTAQ") == ["CPF9810 Library GONE not found."]


def test_the_lists_are_those_of_commands(job):
    rows = table("ibmi_command_messages")
    assert len({row["command"] for row in rows}) == 19
    assert {row["command"] for row in rows} <= DECLARATIONS.keys() | {"CRTDUPOBJ", "SBMJOB"}
    assert {row["how"] for row in rows} == {"escape", "status"}
    assert {row["message"] for row in rows if row["command"] == "DLCOBJ"} == {"CPF1005"}
    assert {row["message"] for row in rows if row["command"] == "DLTDTAQ"} == {
        "CPF2105", "CPF2110", "CPF2113", "CPF2117", "CPF2182", "CPF2189", "CPF9503",
    }  # fmt: skip
    assert {row["message"] for row in rows if row["command"] == "SBMJOB"} == {"CPF133A", "CPF1338", "CPF1651"}
    assert "CPF9801" not in {row["message"] for row in rows if row["command"] == "CRTDUPOBJ"}
    assert "CPF2208" in MESSAGES
