"""Texts that are no commands: each ends with a message, never with an exception of Python."""

from __future__ import annotations

import random
from contextlib import suppress

import pytest

from tdqsim.ibmi import EscapeMessage, System
from tests.rules import expect_rule, rule

GOOD = (
    "CRTDTAQ DTAQ(QGPL/Q) MAXLEN(10) TEXT('x')", "CALL QGPL/P PARM('a' X'00001F' (5 (*DEC 5 0)))", "SBMJOB CMD(CALL QGPL/P) JOB(X)",
    "CRTLIB LIB(A) TEXT('a' *CAT 'b')", "CHGLIBL LIBL(QGPL QTEMP)", "ALCOBJ OBJ((QGPL/Q *DTAQ *EXCL)) WAIT(0)", "GRTOBJAUT QGPL/Q *DTAQ ANNA *USE",
    "CRTUSRPRF NEW PASSWORD(*NONE)", "MOVOBJ QGPL/Q *DTAQ QTEMP", "RNMOBJ QGPL/Q *DTAQ QZ", "DLTDTAQ QGPL/Q*", "DSPJOBLOG JOB(1/2/3)",
    "CHGUSRPRF ANNA STATUS(*ENABLED)", "ADDLIBLE A POSITION(*AFTER QGPL)", "DLTLIB A", "CRTJRN QGPL/J", "STRJRNOBJ QGPL/Q *DTAQ QGPL/J",
)  # fmt: skip
BITS = (
    "東京", "\ud800", "\0", "\x0e\x0f", "\x0eAB\x0f", "'", "''", "(", ")", "((", "'" * 50, "x" * 40_000, "(" * 300, "*", "*CAT", "||", "/", "//",
    "X'", "X'4", "/*", "*/", "9" * 400, "-1", "1.5", "é", "\uffff", "\t\n\r", "&A", "%", "*NONE", "'東'", "€",
)  # fmt: skip


def spoilt(picked: random.Random) -> str:
    text = list(picked.choice(GOOD))
    for _ in range(picked.randrange(1, 4)):
        at = picked.randrange(len(text) + 1)
        if picked.randrange(2):
            text[at:at] = picked.choice(BITS)
        else:
            del text[at : at + picked.randrange(1, 4)]
    return "".join(text)


@pytest.mark.parametrize("ccsid", [37, 273, 65535])
def test_spoilt_commands(ccsid):
    picked, ended = random.Random(ccsid), 0
    with System("SYS1") as system:
        system.crtusrprf("ANNA")
        system.register_program("QGPL/P", lambda _job, *_parameters: None)
        for _ in range(500):
            with system.job(user=picked.choice(("QSECOFR", "ANNA")), ccsid=ccsid) as job:
                with suppress(EscapeMessage):
                    job.command(spoilt(picked))
                    continue
                ended += job.joblog[-1].kind == "escape"
    assert ended > 400


@pytest.mark.rule("CL-CODE-PAGE")
@pytest.mark.parametrize(
    "text", ["CRTLIB A TEXT('東京')", "CRTLIB 東", "東京", "CALL QGPL/P '€'", "SBMJOB CMD(CALL QGPL/P '\ud800')"]
)
def test_characters_that_the_code_page_has_not(system, text):
    with system.job(user="QSECOFR") as job:
        expect_rule("CL-CODE-PAGE", job.command, text)
        assert [one.message_id for one in job.joblog] == ["", rule("CL-CODE-PAGE").message]
        assert "is not in code page 037" in job.joblog[0].text
    with system.job(user="QSECOFR", ccsid=1140) as euro:
        euro.command("CRTLIB EUROLIB TEXT('€')")
