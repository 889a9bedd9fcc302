from __future__ import annotations

from decimal import Decimal

import pytest

from tdqsim.definitions import define_dtaq, parse_definitions
from tdqsim.errors import DefinitionError
from tdqsim.ibmi import DECLARATIONS, EscapeMessage, MessagePlan
from tests.ibmi.conftest import b4, e, name20
from tests.rules import expect_rule


@pytest.mark.rule("DTAQ-CRT-EXISTS", "DTAQ-CRT-LIBRARY", "DTAQ-CRT-CHECKS")
def test_crtdtaq(job):
    job.crtdtaq(dtaq="APPLIB/WORK", maxlen=10)
    assert str(job.joblog[-1]) == "CPC9801 Object WORK type *DTAQ created in library APPLIB."
    expect_rule("DTAQ-CRT-EXISTS", job.crtdtaq, dtaq="APPLIB/WORK", maxlen=10)
    expect_rule("DTAQ-CRT-LIBRARY", job.crtdtaq, dtaq="NOLIB/WORK", maxlen=10)
    error = expect_rule("DTAQ-CRT-CHECKS", job.crtdtaq, dtaq="APPLIB/BAD", seq="*KEYED", dev="D", rmtdtaq="X")
    assert [str(one) for one in error.diagnostics] == [  # the table's order
        "CPD9263 RMTDTAQ not allowed with TYPE(*STD).",
        "CPD9263 DEV not allowed with TYPE(*STD).",
        "CPD9267 MAXLEN required with TYPE(*STD).",
        "CPD9502 KEYLEN required with SEQ(*KEYED).",
    ]
    assert job.joblog[-len(error.diagnostics) :] == list(error.diagnostics)
    assert ("*DTAQ", "BAD") not in job.system.libraries["APPLIB"].objects


@pytest.mark.parametrize(
    ("keywords", "expected"),
    [
        ({"maxlen": 10, "keylen": 3}, "CPD9501"),
        ({"maxlen": 10, "seq": "*KEYED"}, "CPD9502"),
        ({"maxlen": 10, "mode": "X"}, "CPD9263"),
        ({"type": "*DDM", "rmtdtaq": "X", "rmtlocname": "L", "maxlen": 10}, "CPD9266"),
        ({}, "CPD9267"),
        ({"type": "*DDM", "rmtdtaq": "X"}, "CPD9268"),
        ({"type": "*DDM", "rmtdtaq": "X", "rmtlocname": "*RDB"}, "CPD9191"),
        ({"type": "*DDM", "rmtdtaq": "X", "rmtlocname": "L", "rdb": "R"}, "CPD9192"),
        ({"type": "*DDM", "rmtdtaq": "X", "rmtlocname": "*RDB", "rdb": "R", "dev": "D"}, "CPD9266"),
        ({"type": "*DDM", "rmtdtaq": "X", "rmtlocname": "L", "mode": "SNASVCMG"}, "CPD2707"),
        ({"maxlen": 64513}, "CPD0084"),
    ],
)
def test_checks_between_keywords(job, keywords, expected):
    with pytest.raises(EscapeMessage) as caught:
        job.crtdtaq(dtaq="APPLIB/BAD", **keywords)
    assert caught.value.message_id == "CPF0006"
    assert expected in {one.message_id for one in caught.value.diagnostics}


@pytest.mark.parametrize("name", ["APPLIB/9BAD", "APPLIB/BAD*"])
def test_a_wrong_name_is_told_with_its_keyword_and_value(job, name):
    with pytest.raises(EscapeMessage) as caught:
        job.crtdtaq(dtaq=name, maxlen=10)
    assert caught.value.message_id == "CPF0006"
    (told,) = caught.value.diagnostics
    assert (told.message_id, told.text) == ("CPD0078", f"Value '{name}' for parameter DTAQ not a valid name.")


@pytest.mark.parametrize(
    ("command", "keyword"), [("CRTDTAQ DTAQ(APP*/ORDERS) MAXLEN(10)", "DTAQ"), ("DSPJOBLOG JOB(APP*/ORDERS)", "JOB")]
)
def test_a_generic_name_is_no_library_and_no_user(job, command, keyword):
    with pytest.raises(EscapeMessage) as caught:
        job.command(command)
    (told,) = caught.value.diagnostics
    assert (told.message_id, told.text) == ("CPD0078", f"Value 'APP*' for parameter {keyword} not a valid name.")


@pytest.mark.rule("DTAQ-DLT-NOT-FOUND", "DTAQ-DLT-LIBRARY")
def test_dltdtaq(job):
    job.crtdtaq(dtaq="APPLIB/WORK", maxlen=10)
    job.qsnddtaq("WORK", "APPLIB", b"x")
    job.dltdtaq("APPLIB/WORK")
    assert job.joblog[-1].message_id == "CPC2191"
    expect_rule("DTAQ-DLT-NOT-FOUND", job.dltdtaq, "APPLIB/WORK")
    expect_rule("DTAQ-DLT-LIBRARY", job.dltdtaq, "NOLIB/WORK")
    job.crtdtaq(dtaq="APPLIB/WORK", maxlen=10)
    assert job.qrcvdtaq("WORK", "APPLIB") is None  # the old entries are gone


@pytest.mark.parametrize("keylen", [1, 255, 256])
@pytest.mark.parametrize("force", ["*NO", "*YES"])
def test_a_key_has_1_to_256_bytes(job, keylen, force):
    job.crtdtaq(dtaq="APPLIB/KEYS", maxlen=10, seq="*KEYED", keylen=keylen, force=force)
    for key in (b"B" * keylen, b"A" * keylen):
        job.qsnddtaq("KEYS", "APPLIB", key[:10], key=key)
    found = job.qrcvdtaq("KEYS", "APPLIB", key_order="GE", key=b"\0" * keylen)
    assert (found.data, found.key) == ((b"A" * keylen)[:10], b"A" * keylen)


@pytest.mark.rule("CL-UNKNOWN-END")
def test_cl_text(job):
    queue = job.command("CRTDTAQ DTAQ(APPLIB/REPLIES) MAXLEN(100) SEQ(*KEYED) KEYLEN(8) TEXT('It''s here')")
    assert (queue.qualified, queue.attributes.keylen, queue.text) == ("APPLIB/REPLIES", 8, "It's here")
    expect_rule("DTAQ-CRT-EXISTS", job.command, "crtdtaq applib/replies 100")
    error = expect_rule("DTAQ-CRT-CHECKS", job.command, "CRTDTAQ DTAQ(APPLIB/X) MAXLEN(10) KEYLEN(3)")
    assert [one.message_id for one in error.diagnostics] == ["CPD9501"]
    for text in ("", "WRKDTAQ X"):
        expect_rule("CL-UNKNOWN-END", job.command, text)
    for text in ("CRTDTAQ", "DLTDTAQ", "CRTDTAQ DTAQ(A/B) MAXLEN(1)\nCRTDTAQ DTAQ(A/C) MAXLEN(1)"):
        expect_rule("DTAQ-CRT-CHECKS", job.command, text)
    job.command("DLTDTAQ DTAQ(APPLIB/REPLIES)")
    expect_rule("DTAQ-DLT-NOT-FOUND", job.command, "dltdtaq APPLIB/REPLIES")


def test_install(system):
    definitions = parse_definitions("""
    dtaq:
      - dtaq: NEWLIB/REQUESTS
        maxlen: 100
      - dtaq: NEWLIB/REPLIES
        maxlen: 100
        seq: KEYED
        keylen: 4
        senderid: "YES"
    """)
    with pytest.raises(DefinitionError, match="no such library"):
        system.install(definitions)
    system.install(definitions, create_libraries=True)
    with system.job() as job:
        assert job.qmhqrdqd("REPLIES", "NEWLIB").sequence == "K"
        with pytest.raises(DefinitionError, match="already exists"):
            system.install(definitions)
        job.crtdtaq(define_dtaq(dtaq="NEWLIB/MORE", maxlen=5))
    assert [queue.qualified for queue in system.queues()] == ["NEWLIB/MORE", "NEWLIB/REPLIES", "NEWLIB/REQUESTS"]


@pytest.mark.rule("DTAQ-XCL-VALUES")
def test_rtvdtaqxcl_of_a_standard_queue(job):
    job.crtdtaq(dtaq="APPLIB/REPLIES", maxlen=512, seq="*KEYED", keylen=8, senderid="*YES", size=["*MAX2GB", 32],
                autorcl="*YES", text="Replies")  # fmt: skip
    job.qsnddtaq("REPLIES", "APPLIB", b"x", b"12345678")
    found = job.rtvdtaqxcl("APPLIB/REPLIES")
    assert found._asdict() == {
        "nbrent": 1, "maxlen": Decimal(512), "maxkeylen": Decimal(8), "sndrid": "1", "nbrintent": 32, "nbrentalc": 32,
        "autorcl": "1", "force": "0", "type": "*STD      ", "seq": 3, "lib": "APPLIB    ", "devd": " " * 10, "mode": " " * 8,
        "rmtlocname": " " * 8, "lcllocname": " " * 8, "rmtnetid": " " * 8, "rmtdtaqnam": " " * 10, "rmtdtaqlib": " " * 10,
        "rdbname": " " * 18, "text": f"{'Replies':<50}",
    }  # fmt: skip
    stored = found.storage(job.page)
    assert (stored["NBRENT"].hex(), stored["MAXLEN"].hex(), stored["MAXKEYLEN"].hex()) == ("00000001", "00512f", "008f")
    assert (stored["SNDRID"], stored["TYPE"]) == (b"\xf1", "*STD      ".encode("cp037"))
    assert job.rtvdtaqinf("APPLIB/REPLIES") == found


def test_rtvdtaqxcl_returns_the_text_as_it_is(job):
    job.crtdtaq(dtaq="QTEMP/TEST", maxlen=1, text="blank")
    assert job.rtvdtaqxcl("QTEMP/TEST").text == "blank".ljust(50)


@pytest.mark.rule("DTAQ-XCL-VALUES")
def test_rtvdtaqxcl_of_ddm_queues(job):
    job.crtdtaq(dtaq="APPLIB/FAR", type="*DDM", rmtdtaq="Q", rmtlocname="LP1", lcllocname="*NETATR", rmtnetid="*NONE")
    far = job.rtvdtaqxcl("APPLIB/FAR")
    assert far[:8] == (0, 0, 0, "0", 0, 0, "0", "0")
    assert [part.rstrip() for part in far[10:19]] == [
        "APPLIB",
        "*LOC",
        "*NETATR",
        "LP1",
        "*NETATR",
        "*NONE",
        "Q",
        "*LIBL",
        "",
    ]
    assert (far.type, far.seq) == ("*DDM      ", 0)
    job.crtdtaq(dtaq="APPLIB/DB", type="*DDM", rmtdtaq="*CURLIB/Q", rmtlocname="*RDB", rdb="PARIS")
    database = [part.rstrip() for part in job.rtvdtaqxcl("APPLIB/DB")[10:19]]
    assert database == ["APPLIB", "", "", "*RDB", "", "", "Q", "*CURLIB", "PARIS"]


@pytest.mark.rule("DTAQ-XCL-USER", "DTAQ-XCL-LOCK", "DTAQ-XCL-KNOWN", "DTAQ-XCL-REST")
def test_escapes_of_rtvdtaqxcl(system, job):
    job.crtdtaq(dtaq="APPLIB/WORK", maxlen=10)
    error = expect_rule("DTAQ-XCL-USER", job.rtvdtaqxcl, "APPLIB/NOWHERE")
    assert [str(one) for one in error.diagnostics] == ["CPF9801 Object NOWHERE in library APPLIB not found."]
    assert (job.joblog[-1].message_id, job.joblog[-1].kind) == ("CPF9801", "diagnostic")
    job.qmhqcdq("WORK", "APPLIB", enforce_data_queue_locks=True)
    with system.job(user="QSECOFR") as other:
        other.alcobj([("APPLIB/WORK", "*EXCL")])
        expect_rule("DTAQ-XCL-LOCK", job.rtvdtaqxcl, "APPLIB/WORK")
    system.crtlib("OLD")
    job.addlible("OLD")
    system.dltlib("OLD")
    expect_rule("DTAQ-XCL-KNOWN", job.rtvdtaqxcl, "NOWHERE")
    system.faults = MessagePlan()
    system.faults.add("CPF9872", operation="QMHQRDQD")
    expect_rule("DTAQ-XCL-REST", job.rtvdtaqxcl, "APPLIB/WORK")


@pytest.mark.rule("DTAQ-DESCRIBE-FORMAT", "DTAQ-DESCRIBE-LENGTH", "DTAQ-DESCRIBE-NOT-DDM")
def test_describe_refuses(job):
    job.crtdtaq(dtaq="APPLIB/WORK", maxlen=10)
    expect_rule("DTAQ-DESCRIBE-FORMAT", job.qmhqrdqd, "WORK", "APPLIB", "RDQD0300")
    expect_rule(
        "DTAQ-DESCRIBE-LENGTH", job.call, "QMHQRDQD", bytearray(7), b4(7), e("RDQD0100"), name20("WORK", "APPLIB")
    )
    expect_rule("DTAQ-DESCRIBE-NOT-DDM", job.qmhqrdqd, "WORK", "APPLIB", "RDQD0200")


def test_every_command_is_declared():
    expected = {"CRTDTAQ", "DLTDTAQ", "RTVDTAQXCL", "ALCOBJ", "DLCOBJ", "WRKOBJLCK", "MOVOBJ", "RNMOBJ", "GRTOBJAUT", "RVKOBJAUT",
                "CRTJRNRCV", "CRTJRN", "STRJRNOBJ", "ENDJRNOBJ", "DSPJRN"}  # fmt: skip
    assert expected <= set(DECLARATIONS)
    for declaration in DECLARATIONS.values():
        assert declaration.summary.endswith((".", ":"))
