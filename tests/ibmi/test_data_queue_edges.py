"""Edges of the data queue APIs: storage of the caller, entries that go back, commands by position."""

from __future__ import annotations

from array import array

import pytest
from freezegun import freeze_time

from tdqsim.definitions import define_dtaq, parse_cl, parse_definitions
from tdqsim.ibmi import ErrorCode, EscapeMessage, System
from tests.ibmi.conftest import b4, e, name20
from tests.rules import expect_rule, rule

SEQUENCES = ("*FIFO", "*LIFO", "*KEYED")


def keys(seq: str) -> tuple[dict[str, int], bytes | None]:
    """What CRTDTAQ needs for a sequence, and a key for its entries."""
    return ({"keylen": 1}, b"K") if seq == "*KEYED" else ({}, None)


# -- the storage of the caller ----------------------------------------------------------------------------------------


@pytest.mark.rule("DTAQ-LITERAL")
@pytest.mark.parametrize("name", ["WORK", "NONE"])
def test_an_error_code_that_cannot_be_changed_is_a_literal(job, name):
    job.crtdtaq(dtaq="APPLIB/WORK", maxlen=10)
    for storage in (b4(16) + bytes(12), memoryview(b4(16) + bytes(12))):
        changes = b4(1) + b4(100) + b4(1) + e("1")
        expect_rule("DTAQ-LITERAL", job.call, "QMHQCDQ", name20(name, "APPLIB"), changes, storage)
    assert job.qmhqrdqd("WORK", "APPLIB").automatic_reclaim == "0"


@pytest.mark.parametrize("kind", ["b", "c", "i"])
def test_a_view_is_storage_whatever_its_items_are(job, kind):
    job.crtdtaq(dtaq="APPLIB/WORK", maxlen=10)
    whole, plain = bytearray(120), bytearray(120)
    job.call("QMHQRDQD", plain, b4(120), e("RDQD0100"), name20("WORK", "APPLIB"))
    job.call("QMHQRDQD", memoryview(whole).cast(kind), b4(120), e("RDQD0100"), name20("WORK", "APPLIB"))
    assert whole == plain
    length = memoryview(array("B", b4(120))).cast(kind)
    job.call("QMHQRDQD", bytearray(120), length, e("RDQD0100"), name20("WORK", "APPLIB"))
    code = bytearray(b4(16) + bytes(12))
    job.call("QMHQCDQ", name20("NONE", "APPLIB"), b4(1) + b4(100) + b4(1) + e("1"), memoryview(code).cast(kind))
    assert code[8:15] == e("CPF9801")


@pytest.mark.rule("DTAQ-ERRC-REPORTED")
@pytest.mark.parametrize(("provided", "told"), [(8, ""), (14, ""), (15, "CPF9801"), (16, "CPF9801")])
def test_an_error_code_without_room_for_the_id_tells_none(job, provided, told):
    code = ErrorCode(provided)
    job.call("QMHQCDQ", name20("NONE", "APPLIB"), b4(1) + b4(100) + b4(1) + e("1"), code.storage)
    assert code.report() == (16 + 27, told, b"")


# -- places -----------------------------------------------------------------------------------------------------------


@pytest.mark.rule("DTAQ-ADDRESS-LIBL")
def test_a_place_is_looked_up_again_when_an_attribute_of_the_job_says_another(system, job):
    system.crtlib("OTHER")
    for library in ("APPLIB", "OTHER"):
        job.crtdtaq(dtaq=f"{library}/WORK", maxlen=10)
    job.current_library, job.user_libraries = "APPLIB", ["APPLIB"]
    for library in ("*CURLIB", "*LIBL"):
        job.qsnddtaq("WORK", library, b"1")
        assert job.qrcvdtaq("WORK", library).data == b"1"
    job.current_library, job.user_libraries = "other", ["other"]
    for library in ("*CURLIB", "*LIBL"):
        job.qsnddtaq("WORK", library, b"2")
    assert [job.qmhqrdqd("WORK", one).number_of_messages for one in ("APPLIB", "OTHER")] == [0, 2]
    assert (job.current_library, job.user_libraries) == ("OTHER", ("OTHER",))


# -- descriptions -----------------------------------------------------------------------------------------------------


@pytest.mark.rule("DTAQ-FORCE-QTEMP")
def test_a_forced_queue_of_qtemp_says_so(job):
    for seq in SEQUENCES:
        more, key = keys(seq)
        name = f"Q{seq[1]}"
        job.crtdtaq(dtaq=f"QTEMP/{name}", maxlen=10, seq=seq, force="*YES", **more)
        assert job.qmhqrdqd(name, "QTEMP").force_indicator == rule("DTAQ-FORCE-QTEMP").message
        assert job.rtvdtaqxcl(f"QTEMP/{name}").force == "1"
        assert [one.force for one in job.qsys2.data_queue_info(f"QTEMP/{name}")] == ["YES"]
        job.qsnddtaq(name, "QTEMP", b"1", key)
        assert job.qrcvdtaq(name, "QTEMP", key=key).data == b"1"
        job.dltdtaq(f"QTEMP/{name}")


@pytest.mark.rule("DTAQ-TEXT-CODE-PAGE")
def test_text_that_the_code_page_of_the_job_has_not(system, job):
    with system.job("EURO", user="ANNA", ccsid=1140) as other:
        other.crtdtaq(dtaq="APPLIB/WORK", maxlen=10, text="5 \u20ac")
        other.crtdtaq(dtaq="APPLIB/FAR", type="*DDM", rmtdtaq="L/Q", rmtlocname="LP1", text="5 \u20ac")
        assert other.qmhqrdqd("WORK", "APPLIB").text_description == "5 \u20ac"
    shown = f"5 {rule('DTAQ-TEXT-CODE-PAGE').message}"
    for name in ("WORK", "FAR"):
        assert job.qmhqrdqd(name, "APPLIB").text_description == shown
        assert job.rtvdtaqxcl(f"APPLIB/{name}").text == shown.ljust(50)
        receiver = bytearray(120)
        job.call("QMHQRDQD", receiver, b4(120), e("RDQD0100"), name20(name, "APPLIB"))
        assert receiver[19:69] == e(shown.ljust(50))


@pytest.mark.rule("DTAQ-TEXT-CODE-PAGE")
@pytest.mark.parametrize("name", ["\u0178", "\xff", "\xb5", "\u0141"])
def test_a_message_about_a_name_that_the_code_page_of_the_job_has_not(job, name):
    """The capitals of two of these are in no page that has the letters."""
    with pytest.raises(EscapeMessage) as caught:
        job.command(f"DLTDTAQ QGPL/{name}")
    assert name.upper() in str(caught.value)


@pytest.mark.rule("CRTDTAQ-TEXT-BLANK")
def test_text_blank_is_no_text(job):
    told = rule("CRTDTAQ-TEXT-BLANK").message
    definition = define_dtaq(dtaq="APPLIB/THREE", maxlen=10, text="*BLANK")
    (loaded,) = parse_definitions('dtaq: [{dtaq: APPLIB/FOUR, maxlen: 10, text: "*BLANK"}]').resources
    (imported,) = parse_cl("CRTDTAQ DTAQ(APPLIB/FIVE) MAXLEN(10) TEXT(*BLANK)").definitions.resources
    for made in (
        job.crtdtaq("APPLIB/ONE", maxlen=10, text="*BLANK"),
        job.command("CRTDTAQ DTAQ(APPLIB/TWO) MAXLEN(10) TEXT(*BLANK)"),
        *map(job.crtdtaq, (definition, loaded, imported)),
    ):
        assert job.qmhqrdqd(made.name, "APPLIB").text_description == told
        assert job.qsys2.data_queue_info(made.name, "APPLIB")[0].text_description is None
    assert job.crtlib("ONE", text="*BLANK").text == job.command("CRTLIB TWO TEXT(*BLANK)").text == told


# -- entries ----------------------------------------------------------------------------------------------------------


@pytest.mark.rule("DTAQ-RETURN-FULL")
@pytest.mark.parametrize("force", ["*NO", "*YES"])
@pytest.mark.parametrize("seq", SEQUENCES)
def test_an_entry_goes_back_to_a_queue_that_has_become_full(tmp_path, seq, force):
    more, key = keys(seq)
    with System("SYS1", store=tmp_path / "store") as system, system.job("A", "QSECOFR") as job:
        system.crtlib("APPLIB")
        job.crtdtaq(dtaq="APPLIB/WORK", maxlen=10, seq=seq, force=force, size=(1, 1), **more)
        job.qsnddtaq("WORK", "APPLIB", b"1", key)
        entry = job.receive("WORK", "APPLIB", key=key)
        job.qsnddtaq("WORK", "APPLIB", b"2", key)
        job.return_entry("WORK", "APPLIB", entry)
        told = job.qmhqrdqd("WORK", "APPLIB")
        assert (told.number_of_messages, told.number_of_entries_currently_allocated) == (2, 2)
    with System("SYS1", store=tmp_path / "store") as system, system.job("A", "QSECOFR") as job:
        told = job.qmhqrdqd("WORK", "APPLIB")
        assert (told.number_of_messages, told.number_of_entries_currently_allocated) == (2, 2)
        with pytest.raises(EscapeMessage, match=rule("DTAQ-RETURN-FULL").message):
            job.qsnddtaq("WORK", "APPLIB", b"3", key)
        assert [job.qrcvdtaq("WORK", "APPLIB", key=key).data for _ in "12"] == [b"1", b"2"]
        job.qsnddtaq("WORK", "APPLIB", b"3", key)


@pytest.mark.parametrize("force", ["*NO", "*YES"])
@pytest.mark.parametrize("order", ["abc", "acb", "bac", "cba"])
@pytest.mark.parametrize("seq", ["*FIFO", "*KEYED"])
def test_entries_that_go_back_are_in_the_order_in_which_they_came(tmp_path, seq, order, force):
    """In whatever order those who had them give them back; one that is left, or newer, keeps its place too."""
    more, key = keys(seq)
    with System("SYS1", store=tmp_path / "store") as system, system.job("A", "QSECOFR") as job:
        system.crtlib("APPLIB")
        job.crtdtaq(dtaq="APPLIB/WORK", maxlen=10, seq=seq, force=force, senderid="*YES", **more)
        for data in (b"a", b"b", b"c", b"left"):
            job.qsnddtaq("WORK", "APPLIB", data, key)
        had = {each: job.receive("WORK", "APPLIB", key=key) for each in "abc"}
        job.qsnddtaq("WORK", "APPLIB", b"newer", key)
        for each in order:
            job.return_entry("WORK", "APPLIB", had[each])
        seen = [job.qrcvdtaq("WORK", "APPLIB", key=key).data for _ in range(5)]
        assert seen == [b"a", b"b", b"c", b"left", b"newer"]


@pytest.mark.parametrize("other", [{"seq": "*KEYED", "keylen": 1}, {"senderid": "*YES"}, {"maxlen": 3}])
def test_an_entry_does_not_go_into_another_queue_of_the_name(job, other):
    job.crtdtaq(dtaq="APPLIB/WORK", maxlen=4)
    job.qsnddtaq("WORK", "APPLIB", b"data")
    entry = job.receive("WORK", "APPLIB")
    job.dltdtaq("APPLIB/WORK")
    job.crtdtaq(dtaq="APPLIB/WORK", **{"maxlen": 4, **other})
    with pytest.raises(EscapeMessage, match="CPF9805"):
        job.return_entry("WORK", "APPLIB", entry)
    assert job.qmhqrdqd("WORK", "APPLIB").number_of_messages == 0


@pytest.mark.rule("DTAQ-RECLAIM")
@pytest.mark.parametrize(("force", "clean"), [("*NO", True), ("*YES", True), ("*YES", False)])
@pytest.mark.parametrize("clear", ["all", "key", "receive", "waiting"])
def test_a_reclaim_is_known_after_a_restart(tmp_path, clear, force, clean):
    with System("SYS1", store=tmp_path / "store") as system, system.job("A", "QSECOFR") as job:
        system.crtlib("APPLIB")
        job.crtdtaq(
            dtaq="APPLIB/WORK", maxlen=10, seq="*KEYED", keylen=1, force=force, autorcl="*YES", size=("*MAX16MB", 1)
        )
        for _ in "12":
            job.qsnddtaq("WORK", "APPLIB", b"x", b"K")
        system.write_out()
        if clear in ("all", "key"):
            job.qclrdtaq("WORK", "APPLIB", "EQ", b"K" if clear == "key" else None)
        else:
            job.qrcvdtaq("WORK", "APPLIB", key=b"K")
        if clear == "waiting":
            waiting = system.start(lambda own: own.qrcvdtaq("WORK", "APPLIB", -1, "EQ", b"W"), user="QSECOFR")
            system.run()
            job.qsnddtaq("WORK", "APPLIB", b"x", b"W")
            assert waiting.result().data == b"x"
        if clear in ("receive", "waiting"):
            job.qrcvdtaq("WORK", "APPLIB", key=b"K")
        before = job.qmhqrdqd("WORK", "APPLIB")
        assert before.number_of_entries_currently_allocated == 1
        assert before.last_reclaim_date_and_time != bytes(8)
        system.close(clean=clean)
    with System("SYS1", store=tmp_path / "store") as system, system.job("A", "QSECOFR") as job:
        assert job.qmhqrdqd("WORK", "APPLIB") == before


@pytest.mark.rule("DTAQ-STAMPS")
@pytest.mark.parametrize("force", ["*NO", "*YES"])
@pytest.mark.parametrize("seq", SEQUENCES)
def test_stamps_rise_over_a_restart(tmp_path, seq, force):
    with freeze_time("2026-01-01"):
        more, _ = keys(seq)
        with System("SYS1", store=tmp_path / "store") as system, system.job("A", "QSECOFR") as job:
            system.crtlib("APPLIB")
            job.crtdtaq(dtaq="APPLIB/WORK", maxlen=10, seq=seq, force=force, **more)
            for one in (b"C", b"B", b"A"):
                job.qsnddtaq("WORK", "APPLIB", one, one if more else None)
        with System("SYS1", store=tmp_path / "store") as system, system.job("A", "QSECOFR") as job:
            for one in (b"E", b"D"):
                job.qsnddtaq("WORK", "APPLIB", one, one if more else None)
            found = job.qmhrdqm("WORK", "APPLIB").messages
    stamps = sorted((one.message_enqueue_date_and_time, one.message_text[:1]) for one in found)
    assert [text for _, text in stamps] == [b"C", b"B", b"A", b"E", b"D"]
    assert len({stamp for stamp, _ in stamps}) == len(stamps)


def test_a_handed_entry_hides_no_other_after_a_restart(tmp_path):
    with freeze_time("2026-01-01"):
        with System("SYS1", store=tmp_path / "store") as system, system.job("A", "QSECOFR") as job:
            system.crtlib("APPLIB")
            job.crtdtaq(dtaq="APPLIB/WORK", maxlen=10, seq="*KEYED", keylen=1)
            for one in (b"C", b"B", b"A"):
                job.qsnddtaq("WORK", "APPLIB", one, one)
        with System("SYS1", store=tmp_path / "store") as system:
            waiting = system.start(lambda own: own.qrcvdtaq("WORK", "APPLIB", -1, "EQ", b"Z"), user="QSECOFR")
            system.run()

            def look(own):
                own.qsnddtaq("WORK", "APPLIB", b"Z", b"Z")
                return [one.message_text[:1] for one in own.qmhrdqm("WORK", "APPLIB").messages]

            looking = system.start(look, user="QSECOFR")
            assert (looking.result(), waiting.result().data) == ([b"A", b"B", b"C"], b"Z")


# -- commands ---------------------------------------------------------------------------------------------------------


@pytest.mark.rule("CL-POSITION-LIST")
@pytest.mark.parametrize(
    "text",
    [
        "CALL QCLRDTAQ ('WORK' 'APPLIB')", "call qclrdtaq (WORK APPLIB)", "CALL QSYS/QCLRDTAQ ('WORK' 'APPLIB')",
        "CALL QCLRDTAQ PARM('WORK' 'APPLIB')", "CALL PGM (QCLRDTAQ) PARM ('WORK' 'APPLIB')",
        "SBMJOB CMD(CALL QCLRDTAQ ('WORK' 'APPLIB'))", "SBMJOB CLEAR CMD(CALL PGM(QCLRDTAQ) PARM('WORK' 'APPLIB'))",
    ],
)  # fmt: skip
def test_a_list_by_position_after_a_word(system, job, text):
    job.crtdtaq("APPLIB/WORK", maxlen=10)
    job.qsnddtaq("APPLIB/WORK", data=b"x")
    job.command(text)
    system.run()
    assert job.qmhqrdqd("APPLIB/WORK").number_of_messages == 0


@pytest.mark.rule("CL-KEYWORD")
@pytest.mark.parametrize("text", ["CRTDTAQ COLOR(RED)", "CRTDTAQ DTAQ(APPLIB/WORK) MAXLEN(5) COLOR (RED)"])
def test_a_keyword_that_there_is_not(job, text):
    with pytest.raises(EscapeMessage) as caught:
        job.command(text)
    assert rule("CL-KEYWORD").message in [one.message_id for one in caught.value.diagnostics]
