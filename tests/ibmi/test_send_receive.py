from __future__ import annotations

import pytest

from tdqsim.errors import SystemClosed
from tdqsim.hosting import JobInternals
from tdqsim.ibmi import JobEnded, ParameterError, System
from tests.ibmi.conftest import b4, drain, e, fill
from tests.rules import expect_rule

KEYS = (b"GGG", b"XXX", b"AAA")


@pytest.fixture
def fifo(job):
    return job.crtdtaq(dtaq="APPLIB/WORK", maxlen=10)


@pytest.fixture
def keyed(job):
    queue = job.crtdtaq(dtaq="APPLIB/KEYED", maxlen=10, seq="*KEYED", keylen=3)
    for key in KEYS:
        job.qsnddtaq("KEYED", "APPLIB", key.lower(), key)
    return queue


def test_fifo_and_lifo(job, fifo):
    job.crtdtaq(dtaq="APPLIB/STACK", maxlen=10, seq="*LIFO")
    for name in ("WORK", "STACK"):
        fill(job, name, b"1", b"2", b"3")
    assert drain(job, "WORK") == [b"1", b"2", b"3"]
    assert drain(job, "STACK") == [b"3", b"2", b"1"]


@pytest.mark.rule("DTAQ-SEND-TOO-LONG", "DTAQ-SEND-EMPTY")
def test_lengths(job, fifo):
    job.qsnddtaq("WORK", "APPLIB", b"x" * 10)
    error = expect_rule("DTAQ-SEND-TOO-LONG", job.qsnddtaq, "WORK", "APPLIB", b"x" * 11)
    assert error.message_data == e("WORK      APPLIB    ") + b4(10)
    assert error.text == "Invalid length. MAXLEN for data queue WORK in APPLIB is 10."
    expect_rule("DTAQ-SEND-EMPTY", job.qsnddtaq, "WORK", "APPLIB", b"")
    expect_rule(
        "DTAQ-SEND-EMPTY", job.call, "QSNDDTAQ", e("WORK      "), e("APPLIB    "), bytes.fromhex("00005D"), b"12345"
    )
    assert fifo.stored.count == 1


@pytest.mark.rule("DTAQ-SEND-KEY-MISSING", "DTAQ-SEND-KEY-LENGTH", "DTAQ-SEND-NOT-KEYED")
def test_keys_of_a_send(job, fifo, keyed):
    met = expect_rule("DTAQ-SEND-KEY-MISSING", job.qsnddtaq, "KEYED", "APPLIB", b"x")
    assert [each.id for each in met.rules] == ["DTAQ-SEND-KEY-MISSING"]  # QRCVDTAQ has another rule with this message
    for key in (b"", b"AA", b"AAAA"):
        expect_rule("DTAQ-SEND-KEY-LENGTH", job.qsnddtaq, "KEYED", "APPLIB", b"x", key)
    expect_rule("DTAQ-SEND-NOT-KEYED", job.qsnddtaq, "WORK", "APPLIB", b"x", b"K")
    job.qsnddtaq("WORK", "APPLIB", b"x", b"")
    assert (fifo.stored.count, keyed.stored.count) == (1, 3)


@pytest.mark.rule(
    "DTAQ-RECEIVE-KEY-MISSING", "DTAQ-RECEIVE-KEY-LENGTH", "DTAQ-RECEIVE-NOT-KEYED", "DTAQ-RECEIVE-ORDER",
    "DTAQ-RECEIVE-WAIT-TIME",
)  # fmt: skip
def test_parameters_of_a_receive(job, fifo, keyed):
    expect_rule("DTAQ-RECEIVE-KEY-MISSING", job.qrcvdtaq, "KEYED", "APPLIB")
    expect_rule("DTAQ-RECEIVE-KEY-LENGTH", job.qrcvdtaq, "KEYED", "APPLIB", 0, "EQ", b"AA")
    expect_rule("DTAQ-RECEIVE-NOT-KEYED", job.qrcvdtaq, "WORK", "APPLIB", 0, "EQ", b"AA")
    expect_rule("DTAQ-RECEIVE-ORDER", job.qrcvdtaq, "KEYED", "APPLIB", 0, "XX", b"AAA")
    assert job.qrcvdtaq("WORK", "APPLIB", 0, "XX", b"") is None  # the order does not matter without a key
    expect_rule("DTAQ-RECEIVE-WAIT-TIME", job.qrcvdtaq, "WORK", "APPLIB", 100_000)
    expect_rule("DTAQ-RECEIVE-WAIT-TIME", job.qrcvdtaq, "WORK", "APPLIB", 1, wait_units="*HOUR")
    assert keyed.stored.count == 3


@pytest.mark.rule("DTAQ-RECEIVE-CUT")
def test_size_of_data_receiver(job, fifo):
    fill(job, "WORK", b"abcdef", b"ghi", b"jkl")
    assert job.qrcvdtaq("WORK", "APPLIB", receiver_size=4)[:2] == (b"abcd", 6)
    length, data = bytearray(3), bytearray(b"\xee" * 3)
    tail = [e("  "), bytes.fromhex("000F"), b"", bytes.fromhex("000F"), b"", e("*YES      ")]
    # bytes for the outputs of group 1 are fine here: nothing is written to them
    tail[4] = bytearray()
    job.call("QRCVDTAQ", e("WORK      "), e("APPLIB    "), length, data, bytes.fromhex("00000F"), *tail,
             bytes.fromhex("00002F"), b4(0))  # fmt: skip
    assert (length.hex(), data) == ("00003f", b"gh\xee")
    job.call("QRCVDTAQ", e("WORK      "), e("APPLIB    "), length, data, bytes.fromhex("00000F"), *tail,
             bytes.fromhex("00000F"), b4(0))  # fmt: skip
    assert (length.hex(), data) == ("00003f", b"gh\xee")  # size 0: consumed, nothing moved
    assert fifo.stored.count == 0


def test_sender_ids(system, job):
    job.crtdtaq(dtaq="APPLIB/SIGNED", maxlen=10, senderid="*YES")
    job.qsnddtaq("SIGNED", "APPLIB", b"x" * 10)  # MAXLEN without the sender ID
    job.current_user = "BERT"
    job.qsnddtaq("SIGNED", "APPLIB", b"y")
    first, second = (job.qrcvdtaq("SIGNED", "APPLIB") for _ in range(2))
    assert first.data == b"x" * 10
    assert first.sender == ("WORKER", "ANNA", "123456", "ANNA")
    assert str(second.sender) == "123456/ANNA/WORKER"
    assert second.sender.current_user == "BERT"
    system.crtusrprf("A@")
    job.current_user = "A@"
    for ccsid, at in ((273, b"\xb5"), (37, b"\x7c")):
        job.ccsid = ccsid  # the sender ID is in the CCSID of the job
        job.qsnddtaq("SIGNED", "APPLIB", b"z")
        assert job.receive("SIGNED", "APPLIB").sender[26:29] == b"\xc1" + at + b"\x40"


@pytest.mark.rule("DTAQ-CLEAR-ALL", "DTAQ-CLEAR-KEY")
def test_clear(job, fifo, keyed):
    fill(job, "WORK", b"1", b"2")
    assert job.qclrdtaq("WORK", "APPLIB") == 2
    assert job.qclrdtaq("WORK", "APPLIB") == 0
    assert job.qclrdtaq("KEYED", "APPLIB", "LT", b"XXX") == 2
    assert job.qrcvdtaq("KEYED", "APPLIB", 0, "NE", b"000").key == b"XXX"
    for key in KEYS:
        job.qsnddtaq("KEYED", "APPLIB", b"again", key)
    job.call("QCLRDTAQ", e("KEYED     "), e("APPLIB    "), e("EQ"), bytes.fromhex("003F"), b"XXX", b4(0))
    assert keyed.stored.count == 2
    job.call("QCLRDTAQ", e("KEYED     "), e("APPLIB    "))
    assert keyed.stored.count == 0


@pytest.mark.rule("DTAQ-CLEAR-KEY-LENGTH", "DTAQ-CLEAR-NOT-KEYED", "DTAQ-CLEAR-ORDER")
def test_keys_of_a_clear(job, fifo, keyed):
    expect_rule("DTAQ-CLEAR-KEY-LENGTH", job.qclrdtaq, "KEYED", "APPLIB", "EQ", b"AA")
    expect_rule("DTAQ-CLEAR-NOT-KEYED", job.qclrdtaq, "WORK", "APPLIB", "EQ", b"AA")
    expect_rule("DTAQ-CLEAR-ORDER", job.qclrdtaq, "KEYED", "APPLIB", "  ", b"AAA")
    assert keyed.stored.count == 3


@pytest.mark.rule("DTAQ-SEND-FULL", "DTAQ-ALLOCATION-STAYS")
def test_extension_and_a_full_queue(job):
    queue = job.crtdtaq(dtaq="APPLIB/SMALL", maxlen=10, size=[70, 2])
    seen = []
    for _ in range(70):
        job.qsnddtaq("SMALL", "APPLIB", b"x")
        seen.append(job.qmhqrdqd("SMALL", "APPLIB").number_of_entries_currently_allocated)
    assert seen == [2] * 2 + [66] * 64 + [70] * 4
    expect_rule("DTAQ-SEND-FULL", job.qsnddtaq, "SMALL", "APPLIB", b"x")
    assert queue.stored.count == 70
    job.qclrdtaq("SMALL", "APPLIB")
    assert job.qmhqrdqd("SMALL", "APPLIB").number_of_entries_currently_allocated == 70
    job.qsnddtaq("SMALL", "APPLIB", b"x")


@pytest.mark.rule("DTAQ-SEND-FULL")
def test_entries_that_were_put_back_count_for_a_full_queue(job):
    job.crtdtaq("APPLIB/SMALL", maxlen=10, size=[4, 4])
    fill(job, "SMALL", b"1", b"2", b"3", b"4")
    had = [job.receive("SMALL", "APPLIB") for _ in "1234"]
    job.qsnddtaq("SMALL", "APPLIB", b"5")
    for entry in had[1:]:
        job.return_entry("SMALL", "APPLIB", entry)
    expect_rule("DTAQ-SEND-FULL", job.qsnddtaq, "SMALL", "APPLIB", b"6")
    assert drain(job, "SMALL") == [b"2", b"3", b"4", b"5"]


def test_a_queue_has_room_for_its_initial_entries_though_size_asks_for_fewer(job):
    job.crtdtaq("APPLIB/SMALL", maxlen=10, size=[5])
    found = job.qmhqrdqd("SMALL", "APPLIB")
    assert (found.maximum_number_of_entries_specified, found.initial_number_of_entries) == (5, 16)
    assert (found.number_of_entries_currently_allocated, found.maximum_number_of_entries_allowed) == (16, 16)


@pytest.mark.rule("DTAQ-RECLAIM", "DTAQ-RECLAIM-LATER")
@pytest.mark.parametrize("how", ["receive", "clear", "clear by key", "handed over"])
def test_automatic_reclaim(system, job, how):
    job.crtdtaq(dtaq="APPLIB/KEYED", maxlen=10, size=["*MAX16MB", 1], seq="*KEYED", keylen=1)

    def send_two():
        job.qsnddtaq("KEYED", "APPLIB", b"x", b"1")
        job.qsnddtaq("KEYED", "APPLIB", b"x", b"2")

    def empty():
        if how == "clear":
            job.qclrdtaq("KEYED", "APPLIB")
        elif how == "clear by key":
            job.qclrdtaq("KEYED", "APPLIB", "GT", b"0")
        else:
            while job.qrcvdtaq("KEYED", "APPLIB", 0, "GT", b"0"):
                pass

    def allocated():
        found = job.qmhqrdqd("KEYED", "APPLIB")
        return found.number_of_entries_currently_allocated, any(found.last_reclaim_date_and_time)

    send_two()
    empty()
    assert allocated() == (65, False)
    job.qmhqcdq("KEYED", "APPLIB", automatic_reclaim=True)
    assert allocated() == (65, False)  # not at the change itself
    if how == "handed over":
        waiting = system.start(lambda other: other.qrcvdtaq("KEYED", "APPLIB", -1, "GT", b"0"))
        system.run()
        job.qsnddtaq("KEYED", "APPLIB", b"x", b"1")
        assert waiting.result().data == b"x"
    else:
        send_two()
        empty()
    assert allocated() == (1, True)
    reclaimed = job.qmhqrdqd("KEYED", "APPLIB").last_reclaim_date_and_time
    system.clock.advance(60)
    job.qsnddtaq("KEYED", "APPLIB", b"x", b"1")
    empty()
    assert job.qmhqrdqd("KEYED", "APPLIB").last_reclaim_date_and_time == reclaimed  # it was not extended
    send_two()
    empty()
    assert job.qmhqrdqd("KEYED", "APPLIB").last_reclaim_date_and_time != reclaimed
    assert allocated() == (1, True)


def test_python_values_are_checked(job, fifo):
    for bad in ("text", 5, None):
        with pytest.raises(ParameterError, match="bytes are needed"):
            job.qsnddtaq("WORK", "APPLIB", bad)
    with pytest.raises(ParameterError) as refused:
        job.qsnddtaq("WORK", "APPLIB", "text")
    assert str(refused.value) == "data: bytes are needed, not str; job.page.encode('text') makes bytes of text"
    with pytest.raises(ParameterError, match="whole number"):
        job.qrcvdtaq("WORK", "APPLIB", 1.5)
    with pytest.raises(ParameterError, match="1 to 10 characters"):
        job.qsnddtaq("ELEVENCHARS", "APPLIB", b"x")
    with pytest.raises(ParameterError, match="letters"):
        job.qsnddtaq("WÖRK", "APPLIB", b"x")
    job.qsnddtaq("WORK", "APPLIB", bytearray(b"mutable"))
    assert job.qrcvdtaq("work", "applib").data == b"mutable"
    job.qsnddtaq("WORK", "APPLIB", memoryview(b"view"))
    with pytest.raises(ParameterError, match="receiver_size"):
        job.qrcvdtaq("WORK", "APPLIB", receiver_size=-1)


def test_after_the_end(system, job, fifo):
    job.qsnddtaq("WORK", "APPLIB", b"x")
    job.qrcvdtaq("WORK", "APPLIB")
    job.end()
    job.end()
    for call in (job.qsnddtaq, job.qrcvdtaq):
        with pytest.raises(JobEnded, match="123456/ANNA/WORKER"):
            call("WORK", "APPLIB", *([b"x"] if call == job.qsnddtaq else []))
    other = system.job()
    other.qsnddtaq("WORK", "APPLIB", b"x")
    system.close()
    system.close()
    with pytest.raises(SystemClosed, match="closed"):
        other.qsnddtaq("WORK", "APPLIB", b"x")


def test_jobs_have_names_and_numbers():
    with System() as system, system.job() as first, system.job() as second:
        assert int(second.number) == int(first.number) + 1
        assert first.qualified_name == f"{first.number}/QPGMR/QPADEV0001"
        with pytest.raises(ParameterError, match="six digits"):
            system.job(number="12")
        with pytest.raises(ParameterError, match="active"):
            system.job(number=first.number)


def test_qtemp_belongs_to_one_job(system, job):
    job.crtdtaq(dtaq="QTEMP/MINE", maxlen=10)
    job.qsnddtaq("MINE", "*LIBL", b"x")
    with system.job() as other:
        expect_rule("DTAQ-FIND-OBJECT", other.qrcvdtaq, "MINE", "QTEMP")
    assert job.qrcvdtaq("MINE", "QTEMP").data == b"x"


def test_ccsid_of_the_job(system):
    with system.job(ccsid=273) as german:
        german.crtdtaq(dtaq="APPLIB/W", maxlen=10, text="Größe")
        image = bytearray(120)
        german.call("QMHQRDQD", image, b4(120), "RDQD0100".encode("cp273"), "W         APPLIB    ".encode("cp273"))
        assert image[19:69] == "Größe".ljust(50).encode("cp273")


def test_a_clear_by_key_takes_the_equal_ones_by_default(job, keyed):
    job.qclrdtaq("KEYED", "APPLIB")
    for key in (b"AAA", b"BBB", b"AAA"):
        job.qsnddtaq("KEYED", "APPLIB", b"x", key)
    assert job.qclrdtaq("KEYED", "APPLIB", key=b"AAA") == 2
    assert job.qclrdtaq("KEYED", "APPLIB") == 1


def test_a_server_needs_no_fiber_for_a_queue_that_the_job_knows_and_whose_entries_are_in_memory(system, job):
    system.profiles["ANNA"].allobj = True
    job.crtjrn("APPLIB/J")
    for name, force in ("PLAIN", "*NO"), ("FORCED", "*YES"), ("JOURNALED", "*NO"):
        job.crtdtaq(f"APPLIB/{name}", maxlen=10, force=force)
    job.strjrnobj("APPLIB/JOURNALED", "APPLIB/J")
    look = JobInternals(job).is_immediate
    names = ("PLAIN", "FORCED", "JOURNALED")
    assert [look(name, "APPLIB") for name in names] == [False, False, False]
    for name in names:
        job.qsnddtaq(name, "APPLIB", b"x")
    assert [look(name, "APPLIB") for name in names] == [True, False, False]
