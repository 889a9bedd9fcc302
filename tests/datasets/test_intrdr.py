"""The internal reader and the spool."""

from __future__ import annotations

import os

import pytest

from tdqsim.core.codepage import codepage
from tdqsim.datasets import (
    DatasetIOError,
    DatasetNotOpen,
    DsnameError,
    InternalReader,
    JobLog,
    OpenError,
    RecordError,
    SysoutSpool,
    parse_dcb,
)
from tests.rules import expect_rule, rule

PAGE = codepage(37)


@pytest.fixture
def log():
    return JobLog(iter(range(100, 200)).__next__)


def submit(reader, *cards):
    for card in cards:
        reader.put(PAGE.encode(card.ljust(80)))


def names(log):
    return [(job.name, len(job.cards)) for job in log]


@pytest.mark.rule("DS-INTRDR-SUBMIT")
def test_the_next_job_card_eof_and_close_submit(log):
    reader = InternalReader(log)
    reader.submitter = "0000123"
    submit(reader, "//JOBA JOB (1),CLASS=A", "//S EXEC PGM=IEFBR14")
    assert names(log) == []
    reader.submitter = "0000456"
    submit(reader, "//JOBB     JOB")
    assert names(log) == [("JOBA", 2)]
    submit(reader, "/*EOF")
    assert names(log) == [("JOBA", 2), ("JOBB", 1)]
    submit(reader, "/*EOF", "//JOBC JOB ,NAME")
    reader.close()
    reader.close()
    assert names(log) == [("JOBA", 2), ("JOBB", 1), ("JOBC", 1)]
    first = log[0]
    assert (first.id, first.submitter, first.time_ns, len(log)) == ("JOB00001", "0000123", 100, 3)
    assert first.text() == ["//JOBA JOB (1),CLASS=A", "//S EXEC PGM=IEFBR14"]
    assert log[1].submitter == "0000456"
    with pytest.raises(DatasetNotOpen):
        submit(reader, "//JOBD JOB")


@pytest.mark.rule("DS-INTRDR-CONTROL")
def test_control_records(log):
    reader = InternalReader(log)
    submit(reader, "//GONE JOB", "/*DEL", "/*EOF", "//GONETOO JOB", "/*PURGE")
    submit(reader, "//CHECKED JOB", "/*SCAN", "//S EXEC PGM=X", "//PLAIN JOB", "/*JOBPARM ROOM=1")
    reader.close()
    assert [(job.name, job.scan_only, len(job.cards)) for job in log] == [("CHECKED", True, 2), ("PLAIN", False, 2)]


@pytest.mark.rule("DS-INTRDR-CONTROL", "DS-INTRDR-PURGE")
@pytest.mark.parametrize("kept", ["memory", "directory"])
def test_purge_without_a_job_deletes_the_job_before_it(tmp_path, kept):
    log = JobLog(lambda: 77, root=tmp_path / "jobs" if kept == "directory" else None)
    other, reader = InternalReader(log), InternalReader(log)
    submit(reader, "/*PURGE", "//ONE JOB", "//TWO JOB", "/*EOF", "/*DEL")  # no job to purge; no job to delete
    submit(other, "//OTHER JOB", "/*EOF")
    assert names(log) == [("ONE", 1), ("TWO", 1), ("OTHER", 1)]
    submit(reader, "/*PURGE", "/*PURGE")  # the job before the second one is deleted already
    assert names(log) == [("ONE", 1), ("OTHER", 1)]
    for control in ("/*DEL", "/*PURGE"):
        submit(reader, "//THREE JOB", "/*EOF", "//GONE JOB", control, "/*PURGE")  # the job before it is GONE
    submit(other, "//FOUR JOB", "/*EOF")
    assert [(job.id, job.name) for job in log] == [
        ("JOB00001", "ONE"), ("JOB00003", "OTHER"), ("JOB00004", "THREE"), ("JOB00005", "THREE"), ("JOB00006", "FOUR"),
    ]  # fmt: skip
    assert (len(log), log[1].name) == (5, "OTHER")
    submit(InternalReader(log), "/*PURGE")  # another stream
    assert len(log) == 5


@pytest.mark.rule("DS-INTRDR-PURGE-TAKEN")
def test_purge_leaves_a_job_that_a_handler_has_received(log):
    taken = []
    log.on_submit = lambda job: taken.append(job.name)
    reader = InternalReader(log)
    submit(reader, "//TAKEN JOB", "/*EOF", "/*PURGE")
    assert (taken, names(log)) == (["TAKEN"], [("TAKEN", 1)])

    def fail(_job):
        raise ValueError("no")

    log.on_submit = None
    submit(reader, "//KEPT JOB", "/*EOF")
    log.on_submit = fail
    with pytest.raises(ValueError, match="no"):
        submit(reader, "//FAILED JOB", "/*EOF")
    submit(reader, "/*PURGE")  # the job before it is FAILED, not KEPT
    assert names(log) == [("TAKEN", 1), ("KEPT", 1), ("FAILED", 1)]


def test_a_job_whose_file_cannot_be_deleted_is_an_error(tmp_path):
    log = JobLog(lambda: 77, root=tmp_path / "jobs")
    reader = InternalReader(log)
    submit(reader, "//ONE JOB", "/*EOF")
    (tmp_path / "jobs" / "JOB00001").unlink()
    (tmp_path / "jobs" / "JOB00001" / "file").mkdir(parents=True)
    with pytest.raises(DatasetIOError, match="job ONE cannot be deleted"):
        submit(reader, "/*PURGE")


def test_cards_outside_a_job_are_counted_and_dropped(log, caplog):
    reader = InternalReader(log)
    submit(reader, "hello", "//STEP EXEC PGM=X", "//* JOB", "// JOB", "//TOOLONGNAME JOB", "//lower JOB", "//A JOBX")
    reader.close()
    assert (names(log), reader.cards_ignored, reader.records_written) == ([], 7, 7)
    assert caplog.messages == ["INTRDR: a card that belongs to no job is dropped: 'hello'"]


def test_a_program_that_writes_jcl_in_ascii_is_told(log, caplog):
    reader = InternalReader(log)
    for card in (b"//PAYJOB JOB", b"//S EXEC PGM=IEFBR14"):
        reader.put(card)
    reader.close()
    assert (names(log), reader.cards_ignored) == ([], 2)
    (told,) = caplog.messages
    assert told.endswith("; it is JCL in ASCII, and the reader takes code page 037")


@pytest.mark.rule("DS-INTRDR-DATA")
def test_in_stream_data_may_look_like_jcl(log):
    reader = InternalReader(log)
    submit(reader, "//OUTER JOB", "//SYSUT1 DD DATA,DLM=ZZ", "//INNER JOB", "/*EOF", "ZZ")
    submit(reader, "//SYSIN DD DATA", "//INNER JOB", "/*", "//SYSIN DD *", "//NEXT JOB")
    submit(reader, "//X DD DSN=DATA,DISP=SHR", "//LAST JOB", "// DD *,DLM='$$'", "//NOT JOB", "$$")
    reader.close()
    assert names(log) == [("OUTER", 9), ("NEXT", 2), ("LAST", 4)]


@pytest.mark.rule("DS-INTRDR-LENGTH")
def test_cards_have_up_to_254_bytes(log):
    reader = InternalReader(log)
    reader.put(PAGE.encode("//A JOB"))
    reader.put(b"\x40" * 254)
    for record in (b"", b"\x40" * 255):
        assert isinstance(expect_rule("DS-INTRDR-LENGTH", reader.put, record), RecordError)
    reader.close()
    assert [len(card) for card in log[0].cards] == [7, 254]


def test_a_handler_sees_each_job_and_its_error_costs_no_card(log):
    seen = []

    def handler(job):
        seen.append(job.name)
        if job.name == "BAD":
            raise ValueError("no")

    log.on_submit = handler
    reader = InternalReader(log)
    submit(reader, "//BAD JOB")
    with pytest.raises(ValueError, match="no"):
        submit(reader, "//GOOD JOB")
    submit(reader, "//S EXEC PGM=X", "/*EOF")
    assert (seen, names(log)) == (["BAD", "GOOD"], [("BAD", 1), ("GOOD", 2)])


def test_a_handler_may_submit_to_the_same_reader(log):
    reader = InternalReader(log)
    log.on_submit = lambda job: submit(reader, "//SECOND JOB", "/*EOF") if job.name == "FIRST" else None
    submit(reader, "//FIRST JOB", "/*EOF")
    assert names(log) == [("FIRST", 1), ("SECOND", 1)]


def test_jobs_kept_in_a_directory_are_there_for_the_next_process(tmp_path):
    first = JobLog(lambda: 77, root=tmp_path / "jobs")
    assert (len(first), list(first)) == (0, [])
    for number in range(3):
        reader = InternalReader(first)
        reader.submitter = f"task {number}"
        submit(reader, f"//JOB{number} JOB", "/*SCAN" if number == 1 else "// EXEC PGM=X")
        reader.close()
    second = JobLog(lambda: 0, root=tmp_path / "jobs")
    assert [(job.id, job.name, job.submitter, job.scan_only, job.time_ns, len(job.cards)) for job in second] == [
        ("JOB00001", "JOB0", "task 0", False, 77, 2),
        ("JOB00002", "JOB1", "task 1", True, 77, 1),
        ("JOB00003", "JOB2", "task 2", False, 77, 2),
    ]
    assert second[2].text() == ["//JOB2 JOB", "// EXEC PGM=X"]
    assert len(second) == 3
    (tmp_path / "jobs" / "JOB00009").write_bytes(b"")
    (tmp_path / "jobs" / "notes").write_bytes(b"")
    with pytest.raises(OpenError, match="no job"):
        list(second)


def test_two_processes_that_share_a_directory_keep_all_jobs(tmp_path):
    logs = [JobLog(lambda: 77, root=tmp_path / "jobs") for _ in range(2)]
    for name, each in (("A", 0), ("B", 1), ("C", 1), ("D", 0), ("E", 1)):
        submit(InternalReader(logs[each]), f"//{name} JOB", "/*EOF")
    assert [(job.id, job.name) for job in logs[0]] == [
        ("JOB00001", "A"), ("JOB00002", "B"), ("JOB00003", "C"), ("JOB00004", "D"), ("JOB00005", "E")
    ]  # fmt: skip


@pytest.mark.rule("DS-SYSOUT-CLASS")
def test_spool_keeps_output_by_class(tmp_path):
    spool = SysoutSpool(tmp_path / "spool")
    assert spool.datasets() == []
    first, second = spool.open("A", "ONE", parse_dcb("RECFM=VBA")), spool.open("*", "TWO")
    third = spool.open("X", "ONE")
    first.put(b"1A")
    third.put(b"")
    assert [(each.number, each.sysout_class, each.ddname) for each in spool.datasets()] == [
        (1, "A", "ONE"), (2, "A", "TWO"), (3, "X", "ONE"),
    ]  # fmt: skip
    assert [each.number for each in spool.datasets("A")] == [1, 2]
    assert list(spool.read(spool.datasets()[0])) == [b"1A"]  # also while it is written
    with pytest.raises(DsnameError, match=r"A\.00001\.ONE\.\w+'?: is still open for output"):
        spool.purge(spool.datasets()[0])
    for writer in (first, second, third):
        writer.close()
    spool.purge(spool.datasets()[1])
    again = SysoutSpool(tmp_path / "spool")  # as after a restart
    assert [each.number for each in again.datasets()] == [1, 3]
    again.open("B", "NEW").close()
    assert [each.number for each in again.datasets()] == [1, 3, 4]
    for letter, ddname in (("a", "X"), ("AA", "X"), ("", "X"), ("../A", "X"), ("A", "../X")):
        with pytest.raises(OpenError):
            again.open(letter, ddname)


@pytest.mark.skipif(os.name != "posix", reason="what others may read is told by the modes of POSIX")
def test_what_is_on_the_spool_is_for_its_owner_only(tmp_path):
    before = os.umask(0)
    try:
        spool = SysoutSpool(tmp_path / "spool")
        spool.open("A", "LOGOUT").close()
    finally:
        os.umask(before)
    assert (tmp_path / "spool").stat().st_mode & 0o077 == 0


def test_a_temporary_spool_goes_with_its_close():
    spool = SysoutSpool()
    spool.open("A", "ONE").put(b"x")
    [dataset] = spool.datasets()
    assert list(spool.read(dataset)) == [b"x"]
    spool.close()
    assert not dataset.path.exists()
    assert spool.datasets() == []


# -- USER of the JOB statement ---------------------------------------------------------------------------------------------

FULL = "//MYJOB JOB (1),'" + "X" * 53 + "'"  # ends in column 71


@pytest.mark.rule("DS-INTRDR-USER")
@pytest.mark.parametrize(
    ("cards", "submitted"),
    [
        (["//MYJOB JOB"], ["//MYJOB JOB USER=PAYJOB"]),
        (["//MYJOB JOB (1)"], ["//MYJOB JOB (1),USER=PAYJOB"]),
        (["//MYJOB JOB (1),'USER=X, Y'"], ["//MYJOB JOB (1),'USER=X, Y',USER=PAYJOB"]),
        (["//MYJOB JOB (1,USER=BOB)"], ["//MYJOB JOB (1,USER=BOB),USER=PAYJOB"]),
        (["//MYJOB JOB (1) USER=BOB"], ["//MYJOB JOB (1),USER=PAYJOB USER=BOB"]),
        (["//MYJOB JOB (1),USER=BOB"], ["//MYJOB JOB (1),USER=BOB"]),
        (["//MYJOB JOB (1),", "//  CLASS=A"], ["//MYJOB JOB (1),", "//  CLASS=A,USER=PAYJOB"]),
        (["//MYJOB JOB (1),", "// USER=BOB,", "// CLASS=A"], ["//MYJOB JOB (1),", "// USER=BOB,", "// CLASS=A"]),
        (["//MYJOB JOB (1),'" + "X" * 50 + "'"], ["//MYJOB JOB (1),'" + "X" * 50 + "',", "// USER=PAYJOB"]),
        (
            ["//MYJOB JOB (1)", "//S EXEC PGM=A,", "// USER=BOB"],
            ["//MYJOB JOB (1),USER=PAYJOB", "//S EXEC PGM=A,", "// USER=BOB"],
        ),
    ],
)
def test_a_job_without_user_gets_the_readers(log, cards, submitted):
    reader = InternalReader(log)
    reader.job_user = "PAYJOB"
    submit(reader, *cards, "/*EOF")
    [job] = log
    assert job.text() == submitted
    assert {len(card) for card in job.cards} == {80}
    assert job.user == ("PAYJOB" if "USER=PAYJOB" in "".join(submitted) else "BOB")
    with pytest.raises(RecordError, match=r"^INTRDR: USER=PAYJOB has no room"):
        submit(reader, FULL)
    assert reader.records_written == len(cards) + 1


@pytest.mark.rule("DS-INTRDR-USER")
def test_a_card_keeps_its_sequence_number_and_bytes_that_are_no_characters(log):
    reader = InternalReader(log)
    reader.job_user = "PAYJOB"
    card = PAGE.encode("//MYJOB JOB (1)").ljust(40, b"\x40") + b"\x01\x02".ljust(32, b"\x40") + PAGE.encode("00000100")
    reader.put(card)
    submit(reader, "/*EOF")
    made = log[0].cards[0]
    operand = rule("DS-INTRDR-USER").message + "PAYJOB"
    assert (made[:27], made[72:], len(made)) == (PAGE.encode(f"//MYJOB JOB (1),{operand}"), card[72:], 80)


def test_a_user_that_is_refused_costs_nothing_but_its_card(log):
    asked = []

    def refuse(user):
        asked.append(user)
        raise PermissionError(user)

    reader = InternalReader(log)
    submit(reader, "//JOBA JOB (1)")
    reader.check_user = refuse
    for card in ("//JOBB JOB USER=ALICE", "//JOBC JOB (1),USER='ALICE',CLASS=A"):
        with pytest.raises(PermissionError):
            submit(reader, card)
    submit(reader, "//S EXEC PGM=A", "// USER=ALICE", "//JOBD JOB (1),")
    with pytest.raises(PermissionError):
        submit(reader, "//   USER=ALICE")
    submit(reader, "//   CLASS=A", "/*EOF")
    assert asked == ["ALICE"] * 3
    assert [job.text() for job in log] == [
        ["//JOBA JOB (1)", "//S EXEC PGM=A", "// USER=ALICE"],
        ["//JOBD JOB (1),", "//   CLASS=A"],
    ]
