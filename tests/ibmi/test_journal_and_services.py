from __future__ import annotations

import json
from datetime import datetime
from decimal import Decimal
from errno import ENOSPC

import pytest
from freezegun import freeze_time

from tdqsim.errors import ConversionError, StoreFull
from tdqsim.ibmi import JOURNAL_TYPES, EscapeMessage, ParameterError, System, export_journal
from tests.ibmi.conftest import b4, e
from tests.rules import expect_rule


@pytest.fixture
def officer(system):
    with system.job("OFFICER", user="QSECOFR", number="000077") as made:
        made.crtjrn("APPLIB/JRN")
        yield made


@pytest.mark.rule("DTAQ-JOURNAL")
def test_what_is_recorded(system, officer):
    officer.crtdtaq(dtaq="APPLIB/WORK", maxlen=20)
    officer.crtdtaq(dtaq="APPLIB/KEYED", maxlen=20, seq="*KEYED", keylen=2)
    for name in ("WORK", "KEYED"):
        officer.strjrnobj(f"APPLIB/{name}", "APPLIB/JRN")
    officer.qsnddtaq("WORK", "APPLIB", b"plain")
    officer.qsnddtaq("KEYED", "APPLIB", b"with key", b"K1")
    officer.qrcvdtaq("WORK", "APPLIB", remove=False)
    officer.qmhrdqm("WORK", "APPLIB")
    officer.qrcvdtaq("WORK", "APPLIB")
    officer.qrcvdtaq("KEYED", "APPLIB", 0, "EQ", b"K1")
    officer.qclrdtaq("WORK", "APPLIB")
    officer.qclrdtaq("KEYED", "APPLIB", "EQ", b"K1")
    officer.qclrdtaq("KEYED", "APPLIB")
    officer.rnmobj("APPLIB/WORK", "RENAMED")
    system.crtlib("TARGET")
    officer.movobj("APPLIB/RENAMED", "TARGET")
    officer.endjrnobj("APPLIB/KEYED")
    officer.qsnddtaq("KEYED", "APPLIB", b"unseen", b"K1")
    officer.dltdtaq("TARGET/RENAMED")
    entries = officer.dspjrn("APPLIB/JRN")
    assert " ".join(entry.type for entry in entries) == "QB QB QS QK QR QL QC QJ QC QN QM QE QD"
    assert [entry.sequence_number for entry in entries] == list(range(1, 14))
    sent, keyed, received = entries[2], entries[3], entries[4]
    assert (sent.code, sent.object, sent.library, sent.job_name, sent.number) == (
        "Q",
        "WORK",
        "APPLIB",
        "OFFICER",
        "000077",
    )
    assert (sent.entry_data, keyed.entry_data, received.entry_specific_data) == (b"plain", b"K1with key", b"")
    assert [entries[at].entry_specific_data for at in (5, 6, 7, 8)] == [b"K1", b"", b"K1", b""]
    assert sent.event == JOURNAL_TYPES["QS"] == "Send data queue entry, no key"
    assert (entries[-1].object, entries[-1].library) == ("RENAMED", "TARGET")


def test_a_receive_that_waited_is_recorded_for_its_job(system, officer):
    officer.crtdtaq(dtaq="APPLIB/WORK", maxlen=20)
    officer.strjrnobj("APPLIB/WORK", "APPLIB/JRN")
    waiting = system.start(lambda job: job.qrcvdtaq("WORK", "APPLIB", -1), name="SERVER")
    system.run()
    officer.qsnddtaq("WORK", "APPLIB", b"x")
    waiting.result()
    assert [(entry.type, entry.job_name) for entry in officer.dspjrn("APPLIB/JRN")][1:] == [
        ("QS", "OFFICER"),
        ("QR", "SERVER"),
    ]


@pytest.mark.rule("DTAQ-SEND-REPLAY-PROFILE")
def test_a_journal_entry_can_be_sent_again(system, officer):
    officer.crtdtaq(dtaq="APPLIB/SIGNED", maxlen=20, senderid="*YES", seq="*KEYED", keylen=2)
    officer.strjrnobj("APPLIB/SIGNED", "APPLIB/JRN")
    officer.qsnddtaq("SIGNED", "APPLIB", b"data", b"K1")
    block = officer.dspjrn("APPLIB/JRN")[-1].entry_specific_data
    officer.qclrdtaq("SIGNED", "APPLIB")
    with system.job("REPLAY", user="ANNA") as job:
        expect_rule("DTAQ-SEND-REPLAY-PROFILE", job.qsnddtaq, "SIGNED", "APPLIB", block, b"K1", from_journal_entry=True)
        system.grant_profile("QSECOFR", "ANNA")
        job.qsnddtaq("SIGNED", "APPLIB", block, b"K1", from_journal_entry=True)
        entry = job.qrcvdtaq("SIGNED", "APPLIB", 0, "EQ", b"K1")
        assert (entry.data, str(entry.sender)) == (b"data", "000077/QSECOFR/OFFICER")
        with pytest.raises(EscapeMessage, match="CPF2498"):
            job.qsnddtaq("SIGNED", "APPLIB", block[:48], b"K1", from_journal_entry=True)


@pytest.mark.rule("DTAQ-JOURNAL-EXISTS")
def test_journals_refuse(officer):
    error = expect_rule("DTAQ-JOURNAL-EXISTS", officer.crtjrn, "APPLIB/JRN")
    assert str(error) == "CPF7010 Object JRN in APPLIB type *JRN already exists."
    officer.crtdtaq(dtaq="APPLIB/WORK", maxlen=20)
    for call, message in (
        (lambda: officer.crtjrn("NOLIB/JRN"), "CPF9810"),
        (lambda: officer.crtjrn("QTEMP/JRN"), "QTEMP"),
        (lambda: officer.strjrnobj("APPLIB/WORK", "APPLIB/NOJRN"), "CPF9801"),
        (lambda: officer.strjrnobj("APPLIB/WORK", "NOLIB/JRN"), "CPF9810"),
        (lambda: officer.endjrnobj("APPLIB/WORK"), "CPF7031"),
        (lambda: officer.endjrnobj("APPLIB/WORK", "APPLIB/NOJRN"), "CPF9801 Object NOJRN in library APPLIB not found"),
        (lambda: [officer.strjrnobj("APPLIB/WORK", "APPLIB/JRN") for _ in range(2)], "CPF7030"),
    ):
        with pytest.raises(Exception, match=message):
            call()


@pytest.mark.rule("DTAQ-JOURNAL-LOCK", "DTAQ-JOURNAL-LIBRARY")
def test_locks_and_authorities_of_journaling(system, officer):
    system.crtlib("PRIVATE", aut="*EXCLUDE")
    officer.crtjrn("PRIVATE/JRN")
    officer.crtjrnrcv("PRIVATE/RCV")
    officer.crtdtaq("APPLIB/WORK", maxlen=20, aut="*ALL")
    officer.crtdtaq("APPLIB/UNREAD", maxlen=20, aut="*EXCLUDE")
    officer.grtobjaut("APPLIB/UNREAD", "ANNA", "*OBJOPR *OBJMGT")
    with system.job(user="ANNA", default_wait=0) as anna:
        officer.alcobj([("APPLIB/WORK", "*SHRRD")])
        expect_rule("DTAQ-JOURNAL-LOCK", anna.strjrnobj, "APPLIB/WORK", "APPLIB/JRN")
        officer.strjrnobj("APPLIB/WORK", "APPLIB/JRN")
        anna.endjrnobj("APPLIB/WORK")
        officer.strjrnobj("APPLIB/WORK", "APPLIB/JRN")
        officer.alcobj([("APPLIB/WORK", "*SHRUPD")])
        expect_rule("DTAQ-JOURNAL-LOCK", anna.endjrnobj, "APPLIB/WORK")
        for call, *given in (
            (anna.crtjrn, "APPLIB/NEW"), (anna.strjrnobj, "APPLIB/WORK", "PRIVATE/JRN"), (anna.dspjrn, "PRIVATE/JRN"),
            (anna.endjrnobj, "APPLIB/WORK", "PRIVATE/JRN"),
        ):  # fmt: skip
            receiver = {"jrnrcv": "PRIVATE/RCV"} if call == anna.crtjrn else {}
            expect_rule("DTAQ-JOURNAL-LIBRARY", call, *given, **receiver)
        anna.user_libraries = ("PRIVATE", "APPLIB")
        with pytest.raises(EscapeMessage, match="CPF9801"):
            anna.dspjrn("NOJRN")
        with pytest.raises(EscapeMessage, match="CPF2189 Not authorized to object UNREAD"):
            anna.strjrnobj("APPLIB/UNREAD", "APPLIB/JRN")


def test_export(officer, tmp_path):
    officer.crtdtaq(dtaq="APPLIB/WORK", maxlen=20)
    officer.strjrnobj("APPLIB/WORK", "APPLIB/JRN")
    officer.qsnddtaq("WORK", "APPLIB", b"\xc1\xc2")
    path = tmp_path / "journal.jsonl"
    assert export_journal(officer.dspjrn("APPLIB/JRN"), path) == 2
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert (rows[1]["type"], rows[1]["entry_data"], rows[1]["object"]) == ("QS", "c1c2", "WORK")
    assert datetime.fromisoformat(rows[1]["time"])


# -- SQL services -----------------------------------------------------------------------------------------------------


def test_data_queue_info_a_page_at_a_time(system, officer):
    """A page is as long as it may be, whatever the job may not see; QTEMP stands among the libraries."""
    for library in ("APP", "APP#", "ZLIB"):
        system.crtlib(library)
    for place in ("APP/B", "APP/A", "APP/SECRET", "APP#/A", "ZLIB/A"):
        officer.crtdtaq(dtaq=place, maxlen=5, aut="*EXCLUDE" if "SECRET" in place else "*ALL")
    with system.job(user="ANNA") as anna:
        anna.crtdtaq(dtaq="QTEMP/MINE", maxlen=5)
        seen, after = [], ("APP", "A")
        while rows := anna.qsys2.data_queue_info(after=after, limit=2):
            seen.append([(row.data_queue_library, row.data_queue_name) for row in rows])
            after = seen[-1][-1]
        whole = [(row.data_queue_library, row.data_queue_name) for row in anna.qsys2.data_queue_info()]
    flat = [place for page in seen for place in page]
    assert flat == [place for place in whole if place > ("APP", "A")]
    wanted = [("APP", "B"), ("APP#", "A"), ("QTEMP", "MINE"), ("ZLIB", "A")]
    assert [place for place in flat if place[0] != "APPLIB"] == wanted
    assert [len(page) for page in seen[:-1]] == [2] * (len(seen) - 1)


def test_data_queue_info(system, officer):
    officer.crtdtaq(
        dtaq="APPLIB/KEYED", maxlen=20, seq="*KEYED", keylen=2, senderid="*YES", text="Replies", size=[50, 5]
    )
    officer.crtdtaq(dtaq="APPLIB/FAR", type="*DDM", rmtdtaq="Q", rmtlocname="LP1")
    officer.crtdtaq(dtaq="APPLIB/SECRET", maxlen=20, aut="*EXCLUDE")
    for _ in range(6):
        officer.qsnddtaq("KEYED", "APPLIB", b"x", b"K1")
    far, keyed, _ = officer.qsys2.data_queue_info("*", "APPLIB")
    assert (keyed.data_queue_type, keyed.sequence, keyed.key_length, keyed.include_sender_id) == (
        "STANDARD",
        "KEYED",
        2,
        "YES",
    )
    assert (keyed.current_messages, keyed.maximum_messages, keyed.specified_maximum_messages) == (6, 50, 50)
    assert (keyed.initial_message_allocation, keyed.current_message_allocation) == (5, 50)
    assert officer.qmhqrdqd("KEYED", "APPLIB").initial_number_of_entries == 5
    assert (keyed.force, keyed.automatic_reclaim, keyed.last_reclaim_timestamp, keyed.text_description) == (
        "NO",
        "NO",
        None,
        "Replies",
    )
    assert (far.data_queue_type, far.maximum_message_length, far.sequence, far.remote_location, far.mode) == (
        "DDM",
        None,
        None,
        "LP1",
        "*NETATR",
    )
    with system.job(user="ANNA") as anna:
        assert [row.data_queue_name for row in anna.qsys2.data_queue_info("*", "APP*")] == ["FAR", "KEYED"]


@pytest.mark.rule("DTAQ-QSYS2-KEYED")
def test_data_queue_entries():
    with (
        freeze_time("2024-02-29 12:45:30.123456"),
        System(time_zone="Europe/Berlin") as system,
        system.job("J", system.crtusrprf("ANNA").name, "000009") as job,
    ):
        job.crtdtaq(dtaq="QGPL/WORK", maxlen=20, senderid="*YES")
        job.crtdtaq(dtaq="QGPL/KEYED", maxlen=20, seq="*KEYED", keylen=2)
        sql = job.qsys2
        sql.send_data_queue("Grüße", "WORK")
        sql.send_data_queue_utf8("Grüße", "WORK")
        first, second = sql.data_queue_entries("WORK")
        assert (first.message_data, second.message_data_utf8) == ("Grüße", "Grüße")
        assert first.message_enqueue_timestamp == datetime(2024, 2, 29, 13, 45, 30, 123456)
        assert (first.sender_job_name, first.sender_current_user, first.key_data) == ("000009/ANNA/J", "ANNA", None)
        assert [row.ordinal_position for row in sql.data_queue_entries("WORK", selection_type="REVERSE")] == [1, 2]
        assert sql.data_queue_entries("WORK", selection_type="LAST")[0].message_data_binary == "Grüße".encode()
        assert len(sql.data_queue_entries("WORK", limit=1)) == 1
        page = sql.data_queue_entries("WORK", skip=1, limit=1)
        assert [(row.ordinal_position, row.message_data_binary) for row in page] == [(2, "Grüße".encode())]
        assert sql.data_queue_entries("WORK", selection_type="FIRST", skip=1) == ()
        for key in (b"K2", b"K1"):
            sql.send_data_queue_binary(b"\x01", "KEYED", "QGPL", key)
        assert [row.key_data for row in sql.data_queue_entries("KEYED")] == [b"K1", b"K2"]
        assert [row.key_data for row in sql.data_queue_entries("KEYED", "*LIBL", "KEY", b"K1", "GT")] == [b"K2"]
        for selection in ("FIRST", "LAST", "REVERSE", "SOME"):
            expect_rule("DTAQ-QSYS2-KEYED", sql.data_queue_entries, "KEYED", selection_type=selection)
        expect_rule("DTAQ-RETRIEVE-NOT-KEYED", sql.data_queue_entries, "WORK", "*LIBL", "KEY", b"K1", "EQ")
        expect_rule("DTAQ-RETRIEVE-ORDER", sql.data_queue_entries, "KEYED", "*LIBL", "KEY", b"K1")
        expect_rule("DTAQ-RETRIEVE-KEY-LENGTH", sql.data_queue_entries, "KEYED", "*LIBL", "KEY", b"K", "EQ")


@pytest.mark.rule("DTAQ-QSYS2-KEY-TEXT")
def test_keys_of_the_services_may_be_text(job):
    job.crtdtaq(dtaq="APPLIB/ORDERDQ", maxlen=20, seq="*KEYED", keylen=3)
    sql = job.qsys2
    for key in ("030", "010", "020"):
        sql.send_data_queue(f"order {key}", "ORDERDQ", "APPLIB", key)
    for order, keys in {"EQ": ["020"], "NE": ["010", "030"], "GT": ["030"], "GE": ["020", "030"], "LT": ["010"],
                        "LE": ["010", "020"]}.items():  # fmt: skip
        rows = sql.data_queue_entries("ORDERDQ", "APPLIB", "KEY", "020", order)
        assert [row.key_data for row in rows] == [key.encode("cp037") for key in keys]
    assert sql.receive_data_queue("ORDERDQ", "APPLIB", key_data="020", key_order="EQ").message_data == "order 020"
    sql.clear_data_queue("ORDERDQ", "APPLIB", "010", "EQ")
    assert [row.message_data for row in sql.data_queue_entries("ORDERDQ", "APPLIB")] == ["order 030"]


@pytest.mark.rule("DTAQ-QSYS2-KEY-TEXT")
def test_a_key_that_cannot_be_bytes_is_refused_by_every_service(job):
    job.crtdtaq(dtaq="APPLIB/K", maxlen=20, seq="*KEYED", keylen=1)
    calls = [
        lambda key: job.qsys2.data_queue_entries("K", "APPLIB", "KEY", key, "EQ"),
        lambda key: job.qsys2.send_data_queue("x", "K", "APPLIB", key),
        lambda key: job.qsys2.receive_data_queue("K", "APPLIB", key_data=key, key_order="EQ"),
        lambda key: job.qsys2.clear_data_queue("K", "APPLIB", key, "EQ"),
    ]
    for call in calls:
        with pytest.raises(ConversionError, match="€"):
            call("€")
        with pytest.raises(ParameterError, match="key_data: bytes are needed"):
            call(5)
        with pytest.raises(EscapeMessage, match=r"CPF950[6F]"):
            call("12")
    assert job.qsys2.data_queue_entries("K", "APPLIB") == ()


def test_receive_and_clear_by_sql(system, job):
    job.crtdtaq(dtaq="QGPL/WORK", maxlen=20)
    sql = job.qsys2
    assert sql.receive_data_queue("WORK") is None
    before = system.clock.time_ns()
    assert sql.receive_data_queue("WORK", wait_time=Decimal("1.5")) is None
    assert system.clock.time_ns() - before >= 1_500_000_000
    sql.send_data_queue("text", "WORK")
    assert sql.receive_data_queue("WORK", remove="NO").message_data == "text"
    assert sql.receive_data_queue("WORK", wait_time=-1).message_data_binary == e("text")
    sql.send_data_queue("text", "WORK")
    sql.clear_data_queue("WORK")
    assert sql.receive_data_queue("WORK") is None
    expect_rule("DTAQ-RECEIVE-WAIT-TIME", sql.receive_data_queue, "WORK", wait_time=100_000)
    for call in (
        lambda: sql.receive_data_queue("WORK", remove="MAYBE"),
        lambda: sql.send_data_queue("x", "WORK", asynchronous="X"),
    ):
        with pytest.raises(ParameterError):
            call()


# -- QWCCVTDT -----------------------------------------------------------------------------------------------------------

STAMP = bytes.fromhex("AB5843DC614C0000")  # 2024-02-29 13:45:30.123456


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("*YMD", "1240229134530123"),
        ("*YYMD", "20240229134530123"),
        ("*MDY", "1022924134530123"),
        ("*MDYY", "02292024134530123"),
        ("*DMY", "1290224134530123"),
        ("*DMYY", "29022024134530123"),
        ("*JUL", "124060 134530123"),
        ("*LONGJUL", "2024060 134530123"),
        ("*JOB", "1240229134530123"),
        ("*SYSVAL", "1240229134530123"),
    ],
)
def test_each_time_format(job, form, text):
    assert job.qwccvtdt("*DTS", STAMP, form) == text
    assert job.qwccvtdt("*DTS", STAMP, form, precision="1") == text + "456"
    back = job.qwccvtdt(form, text + "456", "*DTS", precision="1")
    assert back == STAMP
    assert job.qwccvtdt(form, text, "*YYMD") == "20240229134530123"


@pytest.mark.rule("DTAQ-TIME-FORMAT", "DTAQ-TIME-DATE", "DTAQ-TIME-TIME", "DTAQ-TIME-CENTURY", "DTAQ-TIME-RANGE")
def test_times_that_are_refused(job):
    expect_rule("DTAQ-TIME-FORMAT", job.qwccvtdt, "*DTS", STAMP, "*CURRENT")
    expect_rule("DTAQ-TIME-FORMAT", job.qwccvtdt, "*SOMETHING", STAMP)
    expect_rule("DTAQ-TIME-FORMAT", job.qwccvtdt, "*DTS", STAMP, "*YYMD", output_time_zone="../../etc")
    for date in ("20230229", "20240230", "2024ABCD"):
        expect_rule("DTAQ-TIME-DATE", job.qwccvtdt, "*YYMD", date + "134530123")
    for form, date in (("*LONGJUL", "2023366 "), ("*JUL", "123366 "), ("*LONGJUL", "2024000 ")):
        expect_rule("DTAQ-TIME-DATE", job.qwccvtdt, form, date + "134530123")
    assert job.qwccvtdt("*LONGJUL", "2024366 134530123") == "20241231134530123"
    for time in ("240000000", "126000000", "12", "12AA00000"):
        expect_rule("DTAQ-TIME-TIME", job.qwccvtdt, "*YYMD", "20240229" + time)
    expect_rule("DTAQ-TIME-CENTURY", job.qwccvtdt, "*YMD", "2240229134530123")
    expect_rule("DTAQ-TIME-RANGE", job.qwccvtdt, "*YYMD", "20710510000000000", "*DTS")
    expect_rule("DTAQ-TIME-RANGE", job.qwccvtdt, "*YYMD", "19280824000000000", "*DTS")


def test_the_time_now_and_zones():
    with freeze_time("2024-07-01 10:00:00"), System(time_zone="Europe/Berlin") as system, system.job() as job:
        assert job.qwccvtdt("*CURRENT") == "20240701120000000"
        assert job.qwccvtdt("*CURRENT", output_time_zone="*UTC") == "20240701100000000"
        assert job.qwccvtdt("*YYMD", "20240701100000000", "*YYMD", input_time_zone="*UTC") == "20240701120000000"
        out = bytearray(17)
        job.call("QWCCVTDT", e("*CURRENT  "), b"", e("*YYMD     "), out, b4(0))
        assert out == e("20240701120000000")


@pytest.mark.parametrize("force", ["*YES", "*NO"])
@pytest.mark.parametrize("keyed", [True, False])
def test_the_journal_has_an_entry_that_is_put_back(system, force, keyed):
    with system.job(user="QSECOFR") as job:
        key, more = (b"K1", {"seq": "*KEYED", "keylen": 2}) if keyed else (None, {})
        job.crtdtaq("APPLIB/PUTBACK", maxlen=10, senderid="*YES", force=force, **more)
        job.crtjrn("APPLIB/JRN2")
        job.strjrnobj("APPLIB/PUTBACK", "APPLIB/JRN2")
        job.qsnddtaq("PUTBACK", "APPLIB", b"x", key)
        entry = job.receive("PUTBACK", "APPLIB", key=key)
        job.return_entry("PUTBACK", "APPLIB", entry)
        _, sent, received, again = job.dspjrn("APPLIB/JRN2")
        assert (sent.type, received.type, again.type) == (("QK", "QL", "QK") if keyed else ("QS", "QR", "QS"))
        assert sent.entry_specific_data == again.entry_specific_data
        assert job.receive("PUTBACK", "APPLIB", key=key) == entry


@pytest.mark.parametrize("force", ["*YES", "*NO"])
@pytest.mark.parametrize("keyed", [True, False])
def test_what_the_journal_has_no_room_for_is_neither_sent_nor_received(system, force, keyed):
    def full(step):
        if step == "before_commit":
            raise OSError(ENOSPC, "No space left on device")

    with system.job(user="QSECOFR") as job:
        key, more = (b"K1", {"seq": "*KEYED", "keylen": 2}) if keyed else (None, {})
        job.crtdtaq("APPLIB/PAY", maxlen=10, force=force, **more)
        job.crtjrn("APPLIB/JRN2")
        job.strjrnobj("APPLIB/PAY", "APPLIB/JRN2")
        for data in (b"1", b"2"):
            job.qsnddtaq("PAY", "APPLIB", data, key)
        system.store.durable.fault = full
        with pytest.raises(EscapeMessage, match="CPF6565"):
            job.qsnddtaq("PAY", "APPLIB", b"3", key)
        with pytest.raises(StoreFull):
            job.qrcvdtaq("PAY", "APPLIB", 0, "EQ", key)
        system.store.durable.fault = None
        assert [job.qrcvdtaq("PAY", "APPLIB", 0, "EQ", key).data for _ in "12"] == [b"1", b"2"]
        assert job.qmhqrdqd("PAY", "APPLIB").number_of_messages == 0
        types = ["QB", "QK", "QK", "QL", "QL"] if keyed else ["QB", "QS", "QS", "QR", "QR"]
        assert [entry.type for entry in job.dspjrn("APPLIB/JRN2")] == types


def test_scripts_that_make_receivers_run_as_they_are(system):
    with system.job(user="QSECOFR") as job:
        job.crtdtaq("APPLIB/PAY", maxlen=10)
        for text in (
            "CRTJRNRCV JRNRCV(APPLIB/RCV0001) THRESHOLD(100000) ASP(*LIBASP) UNIT(*ANY) AUT(*EXCLUDE) TEXT('Receiver')",
            "CRTJRNRCV APPLIB/RCV0002",
            (
                "CRTJRN JRN(APPLIB/PAYJRN) JRNRCV(APPLIB/RCV0001 APPLIB/RCV0002) MSGQ(QSYS/QSYSOPR) MNGRCV(*SYSTEM) "
                "DLTRCV(*YES) RCVSIZOPT(*RMVINTENT *MAXOPT3) MINENTDTA(*NONE) JRNCACHE(*NO) MNGRCVDLY(5) DLTRCVDLY(5) "
                "FIXLENDTA(*JOB *USR *PGM) JRNOBJLMT(*MAX10M) TEXT('Payments')"
            ),
            "STRJRNOBJ OBJ(APPLIB/PAY) OBJTYPE(*DTAQ) JRN(APPLIB/PAYJRN) IMAGES(*AFTER) LOGLVL(*ERRORS)",
            "ENDJRNOBJ OBJ(APPLIB/PAY) OBJTYPE(*DTAQ) JRN(APPLIB/PAYJRN) LOGLVL(*ALL)",
            "STRJRNOBJ APPLIB/PAY *DTAQ *LIBL/PAYJRN",
            "ENDJRNOBJ APPLIB/PAY *DTAQ JRN(*OBJ)",
        ):
            job.addlible("APPLIB") if "*LIBL/" in text else None
            job.command(text)
        assert [entry.type for entry in job.dspjrn("PAYJRN")] == ["QB", "QE", "QB", "QE"]
        assert system.libraries["APPLIB"].objects["*JRN", "PAYJRN"].text == "Payments"
        job.crtjrn("APPLIB/OTHER")
        job.strjrnobj("APPLIB/PAY", "APPLIB/PAYJRN")
        for text, said in {
            "CRTJRNRCV APPLIB/RCV0001": "CPF7010 Object RCV0001 in APPLIB type \\*JRNRCV already exists",
            "CRTJRN APPLIB/NEW JRNRCV(APPLIB/NORCV)": "CPF9801 Object NORCV in library APPLIB not found",
            "CRTJRN APPLIB/NEW JRNRCV(*LIBL/RCV0002)": "CPF7015 Error on JRNRCV specifications",
            "CRTJRNRCV NOLIB/RCV0001": "CPF9810",
            "CRTJRNRCV QTEMP/RCV0001": "QTEMP",
            "CRTJRN APPLIB/NEW JRNRCV(NOLIB/RCV0001)": "CPF9810",
            "ENDJRNOBJ APPLIB/PAY *DTAQ APPLIB/OTHER": "CPF7031",
            "ENDJRNOBJ APPLIB/PAY *DTAQ *LIBL/NOJRN": "CPF9801",
            "STRJRNOBJ APPLIB/PAY *DTAQ NOJRN": "CPF9801",
        }.items():
            with pytest.raises(EscapeMessage, match=said):
                job.command(text)
        assert ("*JRN", "NEW") not in system.libraries["APPLIB"].objects
        assert next(system.queues()).journal
