"""Extrapartition queues: requests on data sets, through the public commands."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from tdqsim import SecurityOptions, state
from tdqsim.cics import AccessList, Condition
from tdqsim.cics.region import Region
from tdqsim.datasets import parse_dcb, write_records
from tdqsim.definitions import parse_definitions
from tdqsim.errors import DatasetError
from tdqsim.facts import Cvda, Resp
from tests.rules import expect_rule, rule

FIXED = "recordformat: FIXED, blockformat: BLOCKED, recordsize: 10, blocksize: 20"
VARIABLE = "recordformat: VARIABLE, blockformat: BLOCKED, recordsize: 84, blocksize: 200"
OUT = f"{{name: OUTQ, type: EXTRA, typefile: OUTPUT, ddname: OUT, {FIXED}}}"
IN = f"{{name: INQ, type: EXTRA, typefile: INPUT, ddname: IN, {FIXED}}}"


def records(*texts: str) -> list[bytes]:
    return [text.encode().ljust(10, b".") for text in texts]


@pytest.fixture
def make(tmp_path):
    regions = []

    def region(*queues: str, dd: dict | None = None, **options) -> Region:
        text = "group: TEST\ntdqueue:\n" + "".join(f"  - {queue}\n" for queue in queues)
        made = Region(
            parse_definitions(text), dd=dd or {}, datasets=tmp_path / "datasets", supplied_queues=False, **options
        )
        regions.append(made)
        return made

    (tmp_path / "datasets").mkdir()
    yield region
    for made in regions:
        made.close(clean=False)


@pytest.fixture
def data(tmp_path) -> Path:
    path = tmp_path / "data"
    path.write_bytes(b"".join(records("one", "two", "three", "four")))
    return path


def put_state(region: Region, queue: str, state: str) -> None:
    region.set_tdqueue(queue, openstatus=state)


def put_lines(region: Region, *texts: str) -> None:
    for record in records(*texts):
        region.writeq_td("OUTQ", record)


# -- reading ---------------------------------------------------------------------------------------------------------------


@pytest.mark.rule("EX-END", "EX-END-AGAIN", "EX-END-EMPTY", "EX-REOPEN-REREADS")
def test_an_input_queue_is_read_to_its_end_and_again_after_reopening(make, data):
    region = make(IN, dd={"IN": data})
    assert region.inquire_tdqueue("INQ", "EMPTYSTATUS").emptystatus is Cvda.NOTEMPTY
    assert [region.readq_td("INQ") for _ in range(4)] == records("one", "two", "three", "four")
    assert region.inquire_tdqueue("INQ", "EMPTYSTATUS").emptystatus is Cvda.NOTEMPTY
    expect_rule("EX-END", region.readq_td, "INQ")
    expect_rule("EX-END-AGAIN", region.readq_td, "INQ")
    assert region.inquire_tdqueue("INQ", "EMPTYSTATUS").emptystatus is Cvda.EMPTY
    put_state(region, "INQ", "CLOSED")
    assert region.inquire_tdqueue("INQ", "EMPTYSTATUS").emptystatus is Cvda.NOTAPPLIC
    put_state(region, "INQ", "OPEN")
    assert region.inquire_tdqueue("INQ", "EMPTYSTATUS").emptystatus is Cvda.NOTEMPTY
    assert region.readq_td("INQ") == records("one")[0]
    assert data.stat().st_size == 40  # nothing was taken away


@pytest.mark.rule("EX-READ-TRUNCATED", "EX-READ-NEGATIVE")
def test_an_area_that_is_too_short_gets_what_fits_and_the_record_is_passed(make, data):
    region = make(IN, dd={"IN": data})
    condition = expect_rule("EX-READ-TRUNCATED", region.readq_td, "INQ", 3)
    assert (condition.data, condition.length) == (b"one", 10)
    expect_rule("EX-READ-NEGATIVE", region.readq_td, "INQ", -1)
    assert region.readq_td("INQ", 10) == records("two")[0]


@pytest.mark.rule("EX-RDBACK", "EX-RDBACK-VARIABLE")
def test_reading_backward(make, data):
    backward = IN.replace("INPUT", "RDBACK")
    region = make(backward, dd={"IN": data})
    assert [region.readq_td("INQ") for _ in range(4)] == records("four", "three", "two", "one")
    variable = f"{{name: VBQ, type: EXTRA, typefile: RDBACK, ddname: VB, opentime: DEFERRED, {VARIABLE}}}"
    other = make(variable, dd={"VB": data})
    expect_rule("EX-RDBACK-VARIABLE", put_state, other, "VBQ", "OPEN")


def damaged(tmp_path: Path) -> Path:
    """VB: a good block, one whose second RDW lies, a good one."""
    good = bytes.fromhex("000C0000 00080000") + b"good"
    lying = bytes.fromhex("00140000 00080000") + b"half" + bytes.fromhex("7FFF0000") + b"lies"
    path = tmp_path / "damaged"
    path.write_bytes(good + lying + good)
    return path


@pytest.mark.rule("EX-IOERR-SKIP")
def test_a_block_in_error_is_skipped(make, tmp_path):
    queue = f"{{name: INQ, type: EXTRA, typefile: INPUT, ddname: IN, erroroption: SKIP, {VARIABLE}}}"
    region = make(queue, dd={"IN": damaged(tmp_path)})
    assert region.readq_td("INQ") == b"good"
    seen = [region.readq_td("INQ")]  # what stood in front of the lie
    expect_rule("EX-IOERR-SKIP", region.readq_td, "INQ")
    seen.append(region.readq_td("INQ"))
    assert seen == [b"half", b"good"]
    with pytest.raises(Condition, match="QZERO"):
        region.readq_td("INQ")


@pytest.mark.rule("EX-IOERR-IGNORE")
def test_a_block_in_error_is_accepted(make, tmp_path):
    path = tmp_path / "short"
    path.write_bytes(b"".join(records("one", "two")) + b"thr")
    region = make(IN, dd={"IN": path})
    assert [region.readq_td("INQ") for _ in range(2)] == records("one", "two")
    expect_rule("EX-IOERR-IGNORE", region.readq_td, "INQ")
    assert region.readq_td("INQ").startswith(b"thr")
    with pytest.raises(Condition, match="QZERO"):
        region.readq_td("INQ")


# -- writing ---------------------------------------------------------------------------------------------------------------


@pytest.mark.rule("EX-FIXED-LENGTH")
@pytest.mark.parametrize("size", [1, 9, 11, 32_767])
def test_a_fixed_length_record_has_exactly_its_length(make, tmp_path, size):
    region = make(OUT, dd={"OUT": tmp_path / "out"})
    expect_rule("EX-FIXED-LENGTH", region.writeq_td, "OUTQ", b"x" * size)
    region.close()
    assert (tmp_path / "out").read_bytes() == b""


@pytest.mark.rule("EX-VARIABLE-LENGTH", "EX-VARIABLE-LENGTH-FITS", "EX-WRITE-ZERO")
def test_a_variable_length_recordsize_includes_the_descriptor_word(make, tmp_path):
    queue = f"{{name: VBQ, type: EXTRA, typefile: OUTPUT, ddname: VB, {VARIABLE}}}"
    region = make(queue, dd={"VB": tmp_path / "vb"})
    expect_rule("EX-VARIABLE-LENGTH", region.writeq_td, "VBQ", b"x" * 81)
    expect_rule("EX-VARIABLE-LENGTH-FITS", region.writeq_td, "VBQ", b"x" * 80)
    expect_rule("EX-WRITE-ZERO", region.writeq_td, "VBQ", b"x", 0)
    with pytest.raises(Condition, match="LENGTH is 0; allowed are 1 to 32767"):
        region.writeq_td("VBQ", b"")
    foreseen = [region.explain("VBQ", size=size).commands["WRITEQ TD"].outcome for size in (0, 1, 80, 81)]
    assert foreseen == ["LENGERR", "NORMAL", "NORMAL", "LENGERR"]
    region.close()
    # BDW 88, RDW 84, the record
    assert (tmp_path / "vb").read_bytes() == bytes.fromhex("00580000 00540000") + b"x" * 80


@pytest.mark.rule("EX-MOD-NEW")
@pytest.mark.parametrize("there", [False, True])
def test_a_data_set_that_mod_has_made_is_said_at_the_close(make, tmp_path, there):
    if there:
        (tmp_path / "datasets" / "APP.LOG.NEW").write_bytes(b"")
    queue = "{name: OUTQ, type: EXTRA, typefile: OUTPUT, ddname: OUTD, dsname: APP.LOG.NEW, disposition: MOD, recordformat: FIXED, blockformat: BLOCKED, recordsize: 3}"  # fmt: skip
    region = make(queue)
    put_state(region, "OUTQ", "OPEN")
    region.writeq_td("OUTQ", region.encode("abc"))
    put_state(region, "OUTQ", "CLOSED")
    said = [each for each in region.notices if each.id == rule("EX-MOD-NEW").message]
    assert [each.resource for each in said] == ([] if there else ["TDQUEUE(OUTQ)"])
    assert all("DISPOSITION(MOD) has made it at the open" in each.reason for each in said)
    put_state(region, "OUTQ", "OPEN")
    region.writeq_td("OUTQ", region.encode("def"))
    put_state(region, "OUTQ", "CLOSED")
    assert (tmp_path / "datasets" / "APP.LOG.NEW").read_bytes() == region.encode("abcdef")
    assert len([each for each in region.notices if each.id == "TDQ0010"]) == len(said)


@pytest.mark.rule("EX-CRASH-LOSES-BLOCK")
def test_a_failed_region_loses_sysout_and_a_job_in_the_making(make, tmp_path):
    queues = ("{name: LOGQ, type: EXTRA, sysoutclass: B}", "{name: JOBQ, type: EXTRA, typefile: OUTPUT, ddname: RDR}")
    dd = {"RDR": {"sysout": "A,INTRDR"}}

    def life(*, clean: bool) -> tuple[list[bytes], list[str]]:
        with make(*queues, dd=dd, store=tmp_path / "store") as region:
            region.writeq_td("LOGQ", b"said")
            region.writeq_td("JOBQ", "//NIGHT JOB".encode("cp037"))
            region.close(clean=clean)
        with make(*queues, dd=dd, store=tmp_path / "store") as region:
            return region.peek("LOGQ"), [job.name for job in region.jobs]

    assert life(clean=False) == ([], [])
    assert life(clean=True) == ([b"said"], ["NIGHT"])


# -- room ------------------------------------------------------------------------------------------------------------------


def small(tmp_path: Path, size: int) -> dict:
    return {"OUT": {"path": str(tmp_path / "out"), "space": str(size)}}


@pytest.mark.rule("EX-NOSPACE", "EX-NOSPACE-FULL")
def test_a_full_data_set(make, tmp_path):
    region = make(OUT, "{name: CSMT, type: INTRA}", "{name: CSSL, type: INTRA}", dd=small(tmp_path, 40))
    put_lines(region, "1", "2", "3", "4")
    expect_rule("EX-NOSPACE", region.writeq_td, "OUTQ", records("5")[0])
    assert region.inquire_tdqueue("OUTQ", "EMPTYSTATUS").emptystatus is Cvda.FULL
    assert region.peek("OUTQ") == records("1", "2", "3", "4")
    assert region.peek("CSMT") + region.peek("CSSL") == []
    [line] = [line for line in region.diagnostics.operator if line.startswith(rule("EX-NOSPACE-FULL").message)]
    assert line.split()[1] == region.applid
    assert "Queue OUTQ (DD name OUT) is full." in line


@pytest.mark.rule("EX-CLOSE-X37", "EX-CLOSE-X37-SECOND")
def test_no_room_at_close(make, tmp_path, monkeypatch):
    region = make(OUT, dd={"OUT": tmp_path / "out"})
    put_lines(region, "1")
    limit_file_size(monkeypatch, region)
    expect_rule("EX-CLOSE-X37", put_state, region, "OUTQ", "CLOSED")
    assert region.inquire_tdqueue("OUTQ", "OPENSTATUS").openstatus is Cvda.OPEN
    expect_rule("EX-CLOSE-X37-SECOND", put_state, region, "OUTQ", "CLOSED")
    assert region.inquire_tdqueue("OUTQ", "OPENSTATUS").openstatus is Cvda.CLOSED


def test_a_last_block_that_is_lost_when_the_region_ends_is_told(make, tmp_path, monkeypatch):
    region = make(OUT, dd={"OUT": tmp_path / "out"})
    put_lines(region, "1")
    limit_file_size(monkeypatch, region)
    region.close()
    [told] = region.notices
    assert (told.id, told.severity, told.resource) == ("TDQ0072", "error", "TDQUEUE(OUTQ)")
    assert told.reason.startswith("Its data set (DD name OUT) was closed without its last block: ")
    assert "No space left on device" in told.reason


def limit_file_size(monkeypatch, region: Region) -> None:
    """The system refuses every further write of the queue's file for lack of room."""

    class Full:
        def __init__(self, file):
            self._file = file

        def write(self, _data):
            raise OSError(errno.ENOSPC, "No space left on device")

        def __getattr__(self, name):
            return getattr(self._file, name)

    writer = region.tdqueues["OUTQ"].file._writer
    monkeypatch.setattr(writer, "_file", Full(writer._file))


# -- which data set --------------------------------------------------------------------------------------------------------


@pytest.mark.rule("EX-OPEN-MISSING", "EX-INSTALL-MISSING")
def test_a_missing_data_set_leaves_the_queue_installed_and_closed(make):
    region = make(IN)
    assert region.inquire_tdqueue("INQ", "OPENSTATUS").openstatus is Cvda.CLOSED
    condition = expect_rule("EX-OPEN-MISSING", put_state, region, "INQ", "OPEN")
    assert "IN" in condition.detail
    with pytest.raises(Condition, match="NOTOPEN"):
        region.readq_td("INQ")


@pytest.mark.rule("EX-FREE-CLOSE")
def test_a_dd_that_is_freed_at_close_is_gone(make, data):
    region = make(IN, dd={"IN": {"path": str(data), "free": "CLOSE"}})
    for _again in range(2):
        put_state(region, "INQ", "CLOSED")
        put_state(region, "INQ", "OPEN")
        assert region.inquire_tdqueue("INQ", "OPENSTATUS").openstatus is Cvda.OPEN
        assert region.explain("INQ").commands["READQ TD"].outcome == rule("EX-FREE-CLOSE").resp
        condition = expect_rule("EX-FREE-CLOSE", region.readq_td, "INQ")
        assert "FREE=CLOSE" in condition.detail
        with pytest.raises(Condition, match="IOERR"):
            list(region.readq_td_all("INQ"))


@pytest.mark.rule("EX-FREE-CLOSE-OUTPUT")
def test_an_output_queue_whose_dd_is_freed_cannot_be_opened_again(make, tmp_path):
    region = make(OUT, dd={"OUT": {"path": str(tmp_path / "out"), "free": "CLOSE"}})
    put_lines(region, "1")
    put_state(region, "OUTQ", "CLOSED")
    expect_rule("EX-FREE-CLOSE-OUTPUT", put_state, region, "OUTQ", "OPEN")
    assert region.inquire_tdqueue("OUTQ", "OPENSTATUS").openstatus is Cvda.CLOSED


@pytest.mark.rule("EX-ONE-DD")
def test_two_queues_on_one_dd_are_not_open_together(make, data):
    region = make(IN, IN.replace("INQ", "INQ2").replace("{", "{opentime: DEFERRED, "), dd={"IN": data})
    condition = expect_rule("EX-ONE-DD", put_state, region, "INQ2", "OPEN")
    assert "INQ" in condition.detail
    put_state(region, "INQ", "CLOSED")
    put_state(region, "INQ2", "OPEN")
    assert region.readq_td("INQ2") == records("one")[0]


@pytest.mark.rule("EX-DUMMY-READ", "EX-DUMMY-WRITE")
def test_dummy(make):
    region = make(
        f"{{name: DIN, type: EXTRA, typefile: INPUT, dsname: DUMMY, {FIXED}}}",
        f"{{name: DOUT, type: EXTRA, typefile: OUTPUT, dsname: DUMMY, {FIXED}}}",
    )
    expect_rule("EX-DUMMY-READ", region.readq_td, "DIN")
    expect_rule("EX-DUMMY-WRITE", region.writeq_td, "DOUT", records("x")[0])
    assert region.peek("DOUT") == region.peek("DIN") == []
    assert region.inquire_tdqueue("DOUT", "DSNAME").dsname == "DUMMY".ljust(44)


def test_records_of_two_spool_data_sets_are_skipped_as_those_of_one(make):
    """Each open makes a spool data set of its own."""
    region = make("{name: LOGQ, type: EXTRA, typefile: OUTPUT, ddname: LOGOUT}")
    for texts in ((b"1", b"2"), (b"3", b"4")):
        for text in texts:
            region.writeq_td("LOGQ", text)
        put_state(region, "LOGQ", "CLOSED")
        put_state(region, "LOGQ", "OPEN")
    for skip, left in ((1, [b"2", b"3", b"4"]), (2, [b"3", b"4"]), (3, [b"4"])):
        assert state.records(region, "LOGQ", skip=skip, limit=9) == left


SYSOUT_FIXED = f"{{name: LOGQ, type: EXTRA, sysoutclass: A, {FIXED}}}"
SYSOUT_VARIABLE = f"{{name: LOGQ, type: EXTRA, sysoutclass: A, {VARIABLE}}}"
SYSOUT_BARE = "{name: LOGQ, type: EXTRA, sysoutclass: A}"
DUMMY_FIXED = f"{{name: LOGQ, type: EXTRA, typefile: OUTPUT, dsname: DUMMY, {FIXED}}}"
DUMMY_BARE = "{name: LOGQ, type: EXTRA, typefile: OUTPUT, dsname: DUMMY}"
DUMMY_VARIABLE = f"{{name: LOGQ, type: EXTRA, typefile: OUTPUT, dsname: DUMMY, {VARIABLE}}}"


@pytest.mark.rule("EX-SYSOUT-LENGTH", "EX-WRITE-ZERO")
@pytest.mark.parametrize(
    ("queue", "good", "bad"),
    [
        (SYSOUT_FIXED, [10], [9, 11]),
        (SYSOUT_VARIABLE, [1, 80], [81]),
        (SYSOUT_BARE, [1, 32_752], [32_753]),
        (DUMMY_FIXED, [10], [9, 11]),
        (DUMMY_VARIABLE, [1, 80], [81]),
        (DUMMY_BARE, [1, 32_752], [32_753]),
    ],
)
def test_lengths_are_checked_where_nothing_is_blocked(make, queue, good, bad):
    region = make(queue)
    for size in bad:
        expect_rule("EX-SYSOUT-LENGTH", region.writeq_td, "LOGQ", b"x" * size)
    expect_rule("EX-WRITE-ZERO", region.writeq_td, "LOGQ", b"")
    for size in good:
        region.writeq_td("LOGQ", b"x" * size)
    assert [len(record) for record in region.peek("LOGQ")] == ([] if "DUMMY" in queue else good)


@pytest.mark.rule("EX-SYSOUT-INQUIRE")
@pytest.mark.parametrize(
    ("queue", "true_of_it"),
    [
        (SYSOUT_FIXED, (Cvda.FIXED, Cvda.BLOCKED, 10, 20)),
        (SYSOUT_VARIABLE, (Cvda.VARIABLE, Cvda.BLOCKED, 84, 200)),
        (SYSOUT_BARE, (Cvda.VARIABLE, Cvda.UNBLOCKED, 32_756, 32_760)),
        (DUMMY_BARE, (Cvda.VARIABLE, Cvda.UNBLOCKED, 32_756, 32_760)),
    ],
)
def test_sysout_is_the_same_before_and_after_its_first_record(make, queue, true_of_it):
    region = make(queue)

    def shown():
        info = region.inquire_tdqueue("LOGQ", "RECORDFORMAT", "BLOCKFORMAT", "RECORDLENGTH", "BLOCKSIZE")
        return (info.recordformat, info.blockformat, info.recordlength, info.blocksize)

    assert shown() == true_of_it
    region.writeq_td("LOGQ", b"x" * 10)
    assert shown() == true_of_it


@pytest.mark.rule("EX-INTRDR")
@pytest.mark.parametrize("sysout", ["A,INTRDR", "(A,INTRDR)"])
def test_the_internal_reader_as_jcl_names_it(make, sysout):
    region = make("{name: JOBQ, type: EXTRA, typefile: OUTPUT, ddname: RDR}", dd={"RDR": {"sysout": sysout}})
    region.writeq_td("JOBQ", "//FIRST JOB (1)".encode("cp037"))
    region.writeq_td("JOBQ", "/*EOF".encode("cp037"))
    assert [job.name for job in region.jobs] == ["FIRST"]
    with pytest.raises(DatasetError, match="class '@'"):
        make(dd={"RDR": {"sysout": "@"}})


@pytest.mark.rule("EX-INTRDR")
def test_the_internal_reader_takes_jobs(make):
    told = []
    queue = f"{{name: JOBQ, type: EXTRA, typefile: OUTPUT, ddname: INTRDR, {FIXED.replace('10', '80').replace('20', '80')}}}"
    region = make(queue, dd={"INTRDR": {"sysout": "A", "writer": "INTRDR"}})
    region.jobs.on_submit = told.append

    def cards(task, *texts):
        for text in texts:
            task.writeq_td("JOBQ", text.encode("cp037").ljust(80, b"\x40"))

    with region.task(transid="SUBM") as task:
        cards(task, "//FIRST JOB (1),'A'", "//S1 EXEC PGM=IEFBR14", "/*EOF", "//SECOND JOB (1)", "//THIRD JOB (1)")
    assert [job.name for job in region.jobs] == ["FIRST", "SECOND"]
    assert [job.name for job in told] == ["FIRST", "SECOND"]
    with region.task(transid="NEXT") as task:
        cards(task, "//FOURTH JOB (1)")
    put_state(region, "JOBQ", "CLOSED")
    assert [(job.name, job.submitter[:5]) for job in region.jobs] == [
        ("FIRST", "SUBM "), ("SECOND", "SUBM "), ("THIRD", "SUBM "), ("FOURTH", "NEXT "),
    ]  # fmt: skip


# -- see and seed ----------------------------------------------------------------------------------------------------------


def test_peek_shows_what_has_not_been_read_and_moves_nothing(make, data):
    region = make(IN, dd={"IN": data})
    region.readq_td("INQ")
    assert region.peek("INQ") == records("two", "three", "four")
    assert region.peek("INQ", skip=1) == records("three", "four")
    assert region.readq_td("INQ") == records("two")[0]


def test_peek_of_a_closed_data_set(make, data):
    region = make(IN, dd={"IN": data})
    put_state(region, "INQ", "CLOSED")
    assert region.peek("INQ") == records("one", "two", "three", "four")


def test_seed_gives_an_input_queue_its_records(make, tmp_path):
    region = make(IN, dd={"IN": tmp_path / "seeded"})
    region.seed("INQ", records("old"))
    put_state(region, "INQ", "OPEN")
    region.seed("INQ", records("s1", "s2"))  # it is open behind it, as it was before
    assert region.readq_td("INQ") == records("s1")[0]
    with pytest.raises(Condition, match="INVREQ"):
        region.seed("INQ", records("late"))


def test_seed_refuses_a_record_that_does_not_fit(make, tmp_path):
    region = make(IN, dd={"IN": tmp_path / "seeded"})
    for status in ("CLOSED", "OPEN"):
        with pytest.raises(Condition, match="LENGERR"):
            region.seed("INQ", [b"short"])
        assert region.inquire_tdqueue("INQ", "OPENSTATUS").openstatus is Cvda[status]
        put_state(region, "INQ", "OPEN")


# -- what INQUIRE shows ----------------------------------------------------------------------------------------------------


def test_inquire_shows_what_is_true_of_the_open_data_set(make, data):
    queue = "{name: INQ, type: EXTRA, typefile: INPUT, ddname: IN}"
    region = make(queue, dd={"IN": {"path": str(data), "recfm": "FB", "lrecl": "10", "blksize": "20", "disp": "OLD"}})
    info = region.inquire_tdqueue("INQ")
    assert info.recordformat is Cvda.FIXED
    assert info.blockformat is Cvda.BLOCKED
    assert (info.recordlength, info.blocksize, info.databuffers) == (10, 20, 1)
    assert info.disposition is Cvda.OLD
    assert info.iotype is Cvda.INPUT
    put_state(region, "INQ", "CLOSED")
    closed = region.inquire_tdqueue("INQ")
    assert closed.recordformat is closed.blockformat is closed.disposition is closed.iotype is Cvda.NOTAPPLIC


@pytest.mark.parametrize(
    ("said", "card", "true_of_it"),
    [
        ("dsname: X.LIB(M)", {"dsname": "Y.SET"}, ("Y.SET", "", "")),
        ("dsname: X.LIB(M)", {"dsname": "Y.LIB(N)"}, ("Y.LIB", "N", "")),
        ("dsname: X.LIB(M)", {"sysout": "B"}, ("", "", "B")),
        ("dsname: X.LIB(M)", {"dummy": True}, ("DUMMY", "", "")),
        ("sysoutclass: A", {"dsname": "Y.SET"}, ("Y.SET", "", "")),
        ("sysoutclass: A", {"dummy": True}, ("DUMMY", "", "")),
    ],
)
def test_the_dd_card_says_where_the_records_of_an_open_queue_are(make, said, card, true_of_it):
    region = make(f"{{name: OUTQ, type: EXTRA, typefile: OUTPUT, ddname: OUT, {said}, {FIXED}}}", dd={"OUT": card})
    info = region.inquire_tdqueue("OUTQ", "DSNAME", "MEMBER", "SYSOUTCLASS")
    assert (info.dsname.rstrip(), info.member.rstrip(), info.sysoutclass.rstrip()) == true_of_it


def test_open_of_an_open_queue_and_close_of_a_closed_one_do_nothing(make, data):
    region = make(IN, dd={"IN": data})
    region.readq_td("INQ")
    put_state(region, "INQ", "OPEN")
    assert region.readq_td("INQ") == records("two")[0]
    put_state(region, "INQ", "CLOSED")
    put_state(region, "INQ", "CLOSED")
    assert region.inquire_tdqueue("INQ", "OPENSTATUS").openstatus is Cvda.CLOSED


@pytest.mark.rule("DS-GDG-LIMIT")
def test_a_generation_group_of_a_region_directory_keeps_its_limit(tmp_path):
    (tmp_path / "q.yaml").write_text(
        f"group: G\ntdqueue:\n- {{name: GENQ, type: EXTRA, typefile: OUTPUT, dsname: MY.GDG(+1), opentime: DEFERRED, {FIXED}}}\n"
    )
    (tmp_path / "region.yaml").write_text("definitions: [q.yaml]\ndatasets: data\ngdg: {MY.GDG: 2}\n")
    with Region.from_directory(tmp_path) as region:
        for text in ("one", "two", "three"):
            put_state(region, "GENQ", "OPEN")
            region.writeq_td("GENQ", records(text)[0])
            put_state(region, "GENQ", "CLOSED")
    left = sorted(path.name for path in (tmp_path / "data").glob("MY.GDG.*"))
    assert left == ["MY.GDG.G0002V00", "MY.GDG.G0003V00"]


@pytest.mark.rule("EX-READ-EMPTY")
def test_a_record_without_data(make, tmp_path):
    path = tmp_path / "lines"
    path.write_bytes(b"\nx\n")
    region = make("{name: INQ, type: EXTRA, ddname: IN}", dd={"IN": {"path": str(path), "recfm": "LF"}})
    host: dict = {}
    with region.task() as task:
        task.execute("READQ TD QUEUE('INQ') INTO(REC) LENGTH(LEN)", host)
        assert (host["LEN"], task.eib.eibresp.name) == (0, rule("EX-READ-EMPTY").resp)
    assert expect_rule("EX-READ-EMPTY", region.readq_td, "INQ") == b"x"
    put_state(region, "INQ", "CLOSED")
    put_state(region, "INQ", "OPEN")
    assert expect_rule("EX-READ-EMPTY", region.readq_td, "INQ") == b""


@pytest.mark.parametrize(("wanted", "resp2"), [("CLOSED", 909), ("OPEN", 908)])
def test_set_says_whether_open_or_close_has_failed(make, tmp_path, monkeypatch, wanted, resp2):
    region = make(OUT, dd={"OUT": {"path": str(tmp_path / "out")}})
    put_lines(region, "one")
    if wanted == "OPEN":
        put_state(region, "OUTQ", "CLOSED")

    def fails(_file):
        raise Condition(Resp.IOERR, detail="for the test")

    monkeypatch.setattr(type(region.tdqueues["OUTQ"].file), wanted.lower().removesuffix("d"), fails)
    with pytest.raises(Condition, match="for the test") as refused:
        put_state(region, "OUTQ", wanted)
    assert (refused.value.name, refused.value.resp2) == ("IOERR", resp2)
    monkeypatch.undo()
    put_state(region, "OUTQ", wanted)  # the second time
    assert region.inquire_tdqueue("OUTQ", "OPENSTATUS").openstatus == Cvda[wanted]


@pytest.mark.rule("EX-RECORDSIZE-DEFAULT")
def test_a_variable_recordsize_of_one_is_none(make, tmp_path):
    path = tmp_path / "vb"
    path.write_bytes(bytes.fromhex("00090000 00050000 C1"))
    queue = "{name: INQ, type: EXTRA, ddname: IN, recordsize: 1, recordformat: VARIABLE}"
    assert make(queue, dd={"IN": path}).readq_td("INQ") == b"\xc1"


@pytest.mark.rule("DS-CONCATENATION")
def test_concatenated_data_sets_of_a_region_directory(tmp_path):
    (tmp_path / "q.yaml").write_text(f"group: G\ntdqueue:\n- {IN}\n")
    (tmp_path / "data").mkdir()
    for name, text in (("data/one", "one"), ("data/PAY.TWO", "two"), ("three", "three")):
        (tmp_path / name).write_bytes(records(text)[0])
    (tmp_path / "region.yaml").write_text(
        "definitions: [q.yaml]\ndatasets: data\ndd:\n  IN:\n    path: data/one\n    free: CLOSE\n    concatenation:\n"
        "    - {dsname: PAY.TWO}\n    - {dummy: YES}\n    - {path: three, disp: SHR}\n"
    )
    with Region.from_directory(tmp_path) as region:
        assert list(region.readq_td_all("INQ")) == records("one", "two", "three")
        put_state(region, "INQ", "CLOSED")
        put_state(region, "INQ", "OPEN")
        expect_rule("EX-FREE-CLOSE", region.readq_td, "INQ")


@pytest.mark.rule("DS-DCB-DETECT")
@pytest.mark.parametrize(
    "dcb", ["RECFM=VB,LRECL=84", "RECFM=VBS,LRECL=84,BLKSIZE=20", "RECFM=RDW", "RECFM=RDWLE", "RECFM=LF"]
)
def test_a_format_that_nobody_knows_is_detected(make, tmp_path, dcb):
    path, written = tmp_path / "file", [b"first record", b"second", b"the third one"]
    write_records(path, written, parse_dcb(dcb))
    region = make(
        "{name: INQ, type: EXTRA, ddname: IN}",
        "{name: NOQ, type: EXTRA, ddname: NO, opentime: DEFERRED}",
        dd={"IN": {"path": str(path), "detect": "YES"}, "NO": {"path": str(path)}},
    )
    assert list(region.readq_td_all("INQ")) == written
    assert "no record format is known" in expect_rule("EX-OPEN-MISSING", put_state, region, "NOQ", "OPEN").detail


@pytest.mark.rule("DS-FIXED-WORDS")
def test_a_queue_of_fixed_records_is_not_opened_on_a_file_with_descriptor_words(make, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(bytes.fromhex("0010 0000 000C 0000") + b"one two ")
    fixed = IN.replace("10", "4").replace("20", "8").replace("}", ", opentime: DEFERRED}")
    region = make(fixed, dd={"IN": {"path": str(path)}})
    assert "as in RECFM=VB" in expect_rule("EX-OPEN-MISSING", put_state, region, "INQ", "OPEN").detail
    region = make(fixed, dd={"IN": {"path": str(path), "detect": "NO"}})
    put_state(region, "INQ", "OPEN")
    assert list(region.readq_td_all("INQ"))[2:] == [b"one ", b"two "]


@pytest.mark.rule("DS-DCB-DETECT")
def test_what_is_said_is_not_detected(make, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"one\ntwo\n")
    region = make(IN.replace("10", "4").replace("20", "8"), dd={"IN": {"path": str(path), "detect": "YES"}})
    assert list(region.readq_td_all("INQ")) == [b"one\n", b"two\n"]
    empty = make("{name: INQ, type: EXTRA, ddname: IN, opentime: DEFERRED}", dd={"IN": {"path": str(tmp_path / "empty"), "detect": "YES"}})  # fmt: skip
    (tmp_path / "empty").write_bytes(b"")
    assert "any format fits" in expect_rule("EX-OPEN-MISSING", put_state, empty, "INQ", "OPEN").detail


# -- who submits a job, and as whom it runs ------------------------------------------------------------------------------


JOBQ = "{name: JOBQ, type: EXTRA, typefile: OUTPUT, ddname: RDR, jobuserid: PAYJOB}"


def submitted(region, *texts, userid="BOB"):
    with region.task(userid=userid) as task:
        for text in (*texts, "/*EOF"):
            task.writeq_td("JOBQ", region.encode(text))
    return [(job.text(), job.user) for job in region.jobs]


@pytest.mark.rule("EX-INTRDR-JOBUSERID")
def test_a_job_without_user_runs_for_jobuserid(make):
    said = rule("EX-INTRDR-JOBUSERID").message
    region = make(JOBQ, dd={"RDR": {"sysout": "A,INTRDR"}})
    assert submitted(region, "//MYJOB JOB (1)") == [([f"//MYJOB JOB (1),{said}PAYJOB"], "PAYJOB")]
    region = make(JOBQ.replace(", jobuserid: PAYJOB", ""), dd={"RDR": {"sysout": "A,INTRDR"}})
    assert submitted(region, "//OWNJOB JOB") == [([f"//OWNJOB JOB {said}CICSRGN"], "CICSRGN")]
    region = make(JOBQ, dd={"RDR": {"sysout": "A,INTRDR"}}, security=SecurityOptions(regionuserid="PAYJOB"))
    assert submitted(region, "//MYJOB JOB (1)") == [([f"//MYJOB JOB (1),{said}PAYJOB"], "PAYJOB")]


@pytest.mark.rule("EX-INTRDR-USER")
@pytest.mark.parametrize("user", ["PAYJOB", "NOBODY", "&SYSUID"])
def test_a_job_for_a_user_needs_a_surrogate(make, user):
    policy = AccessList(
        surrogates={"ALICE": ["PAYJOB", "CICSRGN"], "CICSRGN": ["PAYJOB"]},
        users=["CICSUSER", "CICSRGN", "ALICE", "BOB", "PAYJOB"],
    )
    region = make(JOBQ, dd={"RDR": {"sysout": "A,INTRDR"}}, security=policy)
    card = region.encode(f"//MYJOB JOB (1),USER={user}")
    with region.task(userid="BOB") as task:
        expect_rule("EX-INTRDR-USER", task.writeq_td, "JOBQ", card)
        with pytest.raises(Condition):
            task.writeq_td_all("JOBQ", [card])
    assert submitted(region) == []
    if user == "NOBODY":
        with region.task(userid="ALICE") as task:
            expect_rule("EX-INTRDR-USER", task.writeq_td, "JOBQ", card)
    else:
        assert submitted(region, f"//MYJOB JOB (1),USER={user}", userid="ALICE")[0][1] == user
    assert submitted(region, "//MYJOB2 JOB", userid="BOB")[-1] == (["//MYJOB2 JOB USER=PAYJOB"], "PAYJOB")


@pytest.mark.rule("EX-BLOCKFORMAT")
@pytest.mark.parametrize(
    ("said", "blockformat"),
    [
        ("blockformat: BLOCKED, blocksize: 200", Cvda.BLOCKED),
        ("blockformat: UNBLOCKED, blocksize: 200", Cvda.UNBLOCKED),
        ("blocksize: 200", Cvda.BLOCKED),
        ("blocksize: 88", Cvda.UNBLOCKED),
    ],
)
def test_the_blockformat_that_inquire_shows(make, tmp_path, said, blockformat):
    queue = (
        f"{{name: OUTQ, type: EXTRA, typefile: OUTPUT, ddname: OUT, recordformat: VARIABLE, recordsize: 84, {said}}}"
    )
    region = make(queue, dd={"OUT": tmp_path / "out"})
    assert region.inquire_tdqueue("OUTQ").blockformat is blockformat


@pytest.mark.rule("SET-OPEN-FAILS")
def test_a_queue_whose_ddname_another_has_open_is_refused_also_after_its_own_open_and_close(make, tmp_path):
    attributes = f"type: EXTRA, typefile: OUTPUT, ddname: DD, dsname: PAY.OUT, disposition: MOD, {FIXED}"
    region = make(*(f"{{name: {name}, {attributes}}}" for name in ("OUTQ", "OTHQ")))
    for name in ("OUTQ", "OTHQ"):
        region.set_tdqueue(name, openstatus="CLOSED")
    for record in records("one", "two"):
        put_state(region, "OUTQ", "OPEN")
        region.writeq_td("OUTQ", record)
        put_state(region, "OUTQ", "CLOSED")
        put_state(region, "OTHQ", "OPEN")
        expect_rule("SET-OPEN-FAILS", region.set_tdqueue, "OUTQ", openstatus="OPEN")
        region.writeq_td("OTHQ", record)
        put_state(region, "OTHQ", "CLOSED")
    assert region.peek("OUTQ") == records("one", "one", "two", "two")
