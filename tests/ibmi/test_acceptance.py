"""What callers can get wrong at the edges: lengths below zero, the order of checks, moves during waits, names."""

from __future__ import annotations

from decimal import Decimal

import pytest

from tdqsim.cics import Region
from tdqsim.core.store import Store
from tdqsim.definitions import load_definitions
from tdqsim.errors import DefinitionError, StoreError, TdqError
from tdqsim.ibmi import (
    RDQS0100,
    RDQS0200,
    ErrorCode,
    EscapeMessage,
    ParameterError,
    System,
    pack_decimal,
    parse_messages,
    parse_seed,
    seed_entries,
)
from tests.ibmi.conftest import b4, e, fill, name20, retrieved
from tests.rules import expect_rule


def c10(text: str) -> bytes:
    return e(f"{text:<10}")


def length3(value: int) -> bytes:
    return pack_decimal(value, 5)


def length2(value: int) -> bytes:
    return pack_decimal(value, 3)


def keyed(job):
    job.crtdtaq(dtaq="APPLIB/K", maxlen=10, seq="*KEYED", keylen=3)
    job.qsnddtaq("K", "APPLIB", b"x", b"abc")


def outcome(call, *args, **kwargs):
    try:
        call(*args, **kwargs)
    except EscapeMessage as error:
        return error.message_id
    return None


# -- lengths ----------------------------------------------------------------------------------------------------------


@pytest.mark.rule("DTAQ-KEY-LENGTH-NEGATIVE")
def test_a_key_length_below_zero_is_a_wrong_key_length(job):
    keyed(job)
    place = c10("K"), c10("APPLIB")
    key = length2(-3), bytearray(b"abc")
    end = length2(0), bytearray(44)
    expect_rule("DTAQ-KEY-LENGTH-NEGATIVE", job.call, "QSNDDTAQ", *place, length3(1), b"x", *key)
    expect_rule("DTAQ-KEY-LENGTH-NEGATIVE", job.call, "QCLRDTAQ", *place, e("EQ"), *key, ErrorCode(0).storage)
    receive = (*place, bytearray(3), bytearray(10), length3(0), e("EQ"), *key, *end)
    expect_rule("DTAQ-KEY-LENGTH-NEGATIVE", job.call, "QRCVDTAQ", *receive)
    assert job.qmhqrdqd("K", "APPLIB").number_of_messages == 1


def test_a_key_length_below_zero_is_a_key_for_a_queue_without_keys(job):
    job.crtdtaq(dtaq="APPLIB/Q", maxlen=10)
    sent = c10("Q"), c10("APPLIB"), length3(1), b"x", length2(-1), b"abc"
    assert outcome(job.call, "QSNDDTAQ", *sent) == "CPF9502"


@pytest.mark.rule("DTAQ-SEND-LENGTH-FIRST")
def test_a_length_over_maxlen_is_refused_before_the_storage_is_looked_at(job):
    job.crtdtaq(dtaq="APPLIB/Q", maxlen=10)
    place = c10("Q"), c10("APPLIB")
    expect_rule("DTAQ-SEND-LENGTH-FIRST", job.call, "QSNDDTAQ", *place, length3(11), b"only these")
    assert outcome(job.call, "QSNDDTAQ", *place, length3(10), b"too short") == "CPF24B4"
    assert job.qmhqrdqd("Q", "APPLIB").number_of_messages == 0


@pytest.mark.rule("DTAQ-RECEIVE-SIZE-NEGATIVE")
def test_a_receiver_size_below_zero_takes_nothing(job):
    job.crtdtaq(dtaq="APPLIB/Q", maxlen=10)
    fill(job, "Q", b"abcdef")
    data = bytearray(10)
    group_1 = e("  "), length2(0), bytearray(1), length2(0), bytearray(44)
    group_2 = c10("*YES"), length3(-1), ErrorCode(0).storage
    call = ("QRCVDTAQ", c10("Q"), c10("APPLIB"), bytearray(3), data, length3(0), *group_1, *group_2)
    expect_rule("DTAQ-RECEIVE-SIZE-NEGATIVE", job.call, *call)
    assert (data, job.qmhqrdqd("Q", "APPLIB").number_of_messages) == (bytearray(10), 1)


def test_what_a_job_remembers_does_not_spare_its_arguments_the_checks(job):
    job.crtdtaq(dtaq="APPLIB/Q", maxlen=10)
    keyed(job)
    for _ in range(2):  # the second time the job knows the queues
        assert outcome(job.qrcvdtaq, "Q", "APPLIB", wait_units="*BAD") == "CPF2472"
        for wait in (0.0, False, "0"):
            with pytest.raises(ParameterError):
                job.qrcvdtaq("Q", "APPLIB", wait)
        for key in ("abc", 5):
            with pytest.raises(ParameterError):
                job.qsnddtaq("K", "APPLIB", b"x", key)
        job.qsnddtaq("Q", "APPLIB", b"x")
        assert job.qrcvdtaq("Q", "APPLIB").data == b"x"


@pytest.mark.rule("DTAQ-RECEIVE-PARAMETER-COUNT", "DTAQ-RECEIVE-SENDER-LEFT-OUT")
def test_each_wrong_number_of_parameters_of_a_receive(job):
    for count in (0, 4, 6, 7, 8, 11, 12, 15):
        expect_rule("DTAQ-RECEIVE-PARAMETER-COUNT", job.call, "QRCVDTAQ", *[bytearray(44)] * count)
    expect_rule("DTAQ-RECEIVE-SENDER-LEFT-OUT", job.call, "QRCVDTAQ", *[bytearray(44)] * 9)


# -- the order of checks ----------------------------------------------------------------------------------------------


@pytest.mark.rule("DTAQ-ORDER-OF-CHECKS")
def test_format_and_receiver_come_before_the_queue(job):
    receiver, selection = bytearray(100), e("A   ") + b4(10)

    def describe(length, form, qualified):
        return outcome(job.call, "QMHQRDQD", receiver, b4(length), e(form), qualified)

    def retrieve(length, form, name, template, library="APPLIB", selection_form="RDQS0100"):
        given = receiver, b4(length), e(form), name20(name, library), selection, b4(template), e(selection_form)
        return outcome(job.call, "QMHRDQM", *given, ErrorCode(0).storage)

    assert describe(7, "RDQX0100", name20("q", "nowhere")) == "CPF3C21"
    assert describe(7, "RDQD0100", name20("q", "nowhere")) == "CPF3C24"
    assert describe(8, "RDQD0100", name20("q", "nowhere")) == "CPF9810"
    assert retrieve(7, "RDQX0100", "Q", 7, selection_form="RDQX0200") == "CPF3C21"
    assert retrieve(7, "RDQM0100", "Q", 7, "NOWHERE") == "CPF3C24"
    assert retrieve(99, "RDQM0100", "Q", 7, "NOWHERE") == "CPF9810"
    assert retrieve(99, "RDQM0100", "Q", 7) == "CPF9801"
    job.crtdtaq(dtaq="APPLIB/Q", maxlen=10)
    job.crtdtaq(dtaq="APPLIB/D", type="*DDM", rmtdtaq="A/B", rmtlocname="FAR")
    assert retrieve(99, "RDQM0100", "D", 7) == "CPF9511"
    assert retrieve(99, "RDQM0100", "Q", 7) == "CPF950D"
    assert receiver == bytearray(100)


def test_the_output_format_is_told_before_the_selection_format(job):
    with pytest.raises(EscapeMessage) as caught:
        job.call("QMHRDQM", bytearray(99), b4(99), e("RDQX0100"), name20("Q", "APPLIB"), e("A   ") + b4(1), b4(8),
                 e("RDQX0200"), ErrorCode(0).storage)  # fmt: skip
    assert (caught.value.message_id, caught.value.message_data) == ("CPF3C21", e("RDQX0100"))


@pytest.mark.parametrize("ccsid", [37, 273, 290, 420, 875])
def test_bytes_that_are_no_characters_are_refused_like_any_others(system, ccsid):
    with system.job(ccsid=ccsid) as job:
        job.crtdtaq(dtaq="APPLIB/Q", maxlen=10)
        page = job.page.encode
        for value in range(256):
            byte = bytes((value,))
            name = byte * 10 + page(f"{'APPLIB':<10}")
            assert outcome(job.call, "QMHQRDQD", bytearray(120), b4(120), page("RDQD0100"), name) is not None
            selection = byte + page("   ") + b4(10)
            outcome(job.call, "QMHRDQM", bytearray(99), b4(99), page("RDQM0100"),
                    page(f"{'Q':<10}{'APPLIB':<10}"), selection, b4(8), page("RDQS0100"), bytearray(4))  # fmt: skip
            outcome(job.call, "QWCCVTDT", page(f"{'*YMD':<10}"), byte * 16, page(f"{'*YYMD':<10}"), bytearray(20),
                    bytearray(4))  # fmt: skip


# -- reclaim ----------------------------------------------------------------------------------------------------------


# -- journal entries as data ------------------------------------------------------------------------------------------


def recorded(system, job):
    system.profiles["ANNA"].allobj = True
    job.crtjrn("APPLIB/J")
    job.crtdtaq(dtaq="APPLIB/Q", maxlen=20, senderid="*YES", aut="*ALL")
    job.strjrnobj("APPLIB/Q", "APPLIB/J")
    job.qsnddtaq("Q", "APPLIB", b"hello")
    return next(entry.entry_specific_data for entry in job.dspjrn("APPLIB/J") if entry.type == "QS")


@pytest.mark.rule("DTAQ-SEND-REPLAY-PROFILE", "DTAQ-SEND-REPLAY-CACHE")
def test_a_replay_needs_use_of_the_profile_and_the_proof_lasts_until_the_job_ends(system, job):
    block = recorded(system, job)
    with system.job("REPLAY", user="BOB") as other:

        def replay():
            other.qsnddtaq("Q", "APPLIB", block, from_journal_entry=True)

        expect_rule("DTAQ-SEND-REPLAY-PROFILE", replay)
        system.grant_profile("ANNA", "BOB", "*OBJOPR")
        expect_rule("DTAQ-SEND-REPLAY-PROFILE", replay)
        system.grant_profile("ANNA", "BOB", "*USE")
        replay()
        system.grant_profile("ANNA", "BOB", "*EXCLUDE")
        replay()
        other.current_user = "BERT"  # what BOB was granted is not his
        expect_rule("DTAQ-SEND-REPLAY-PROFILE", replay)
    with system.job("REPLAY", user="BOB") as other:
        expect_rule("DTAQ-SEND-REPLAY-CACHE", other.qsnddtaq, "Q", "APPLIB", block, from_journal_entry=True)


@pytest.mark.rule("DTAQ-DDM-REPLAY")
def test_a_journal_entry_is_not_replayed_to_another_system(job):
    job.crtdtaq(dtaq="APPLIB/D", type="*DDM", rmtdtaq="A/B", rmtlocname="FAR")
    expect_rule("DTAQ-DDM-REPLAY", job.qsnddtaq, "D", "APPLIB", bytes(60), from_journal_entry=True)


@pytest.mark.rule("DTAQ-RECEIVE-STORAGE")
def test_an_entry_of_another_system_that_does_not_fit_stays_there(system, job):
    job.crtdtaq(dtaq="APPLIB/D", type="*DDM", rmtdtaq="QGPL/X", rmtlocname="FAR")
    with System("FAR", dispatcher=system.dispatcher) as far:
        system.connect("FAR", far)
        far.crtusrprf("ANNA")
        there = far.job()
        there.crtdtaq(dtaq="QGPL/X", maxlen=100)
        job.qsnddtaq("D", "APPLIB", b"abcdef")
        call = ("QRCVDTAQ", c10("D"), c10("APPLIB"), bytearray(3), bytearray(5), length3(0))
        expect_rule("DTAQ-RECEIVE-STORAGE", job.call, *call)
        assert there.qrcvdtaq("X", "QGPL").data == b"abcdef"


# -- what others do while a lock is waited for ------------------------------------------------------------------------


@pytest.fixture
def holder(system):
    system.crtlib("OTHERLIB")
    with system.job("HOLDER", user="QSECOFR") as made:
        made.crtdtaq(dtaq="APPLIB/Q", maxlen=5)
        made.alcobj([("APPLIB/Q", "*EXCL")])
        yield made


def waiting(system, command):
    started = system.start(command, user="QSECOFR")
    system.dispatcher.run_ready()
    assert not started.done
    return started


@pytest.mark.rule("DTAQ-LOCK-LOOK-AGAIN")
@pytest.mark.parametrize(
    "command", [lambda job: job.movobj("APPLIB/Q", "OTHERLIB"), lambda job: job.dltdtaq("APPLIB/Q")]
)
def test_a_queue_that_was_renamed_meanwhile_is_not_found(system, holder, command):
    started = waiting(system, command)
    holder.rnmobj("APPLIB/Q", "R")
    holder.dlcobj([("APPLIB/R", "*EXCL")])
    expect_rule("DTAQ-LOCK-LOOK-AGAIN", started.result)
    assert [queue.qualified for queue in system.queues()] == ["APPLIB/R"]


def test_a_place_that_was_taken_meanwhile_is_left_alone(system, holder):
    started = waiting(system, lambda job: job.movobj("APPLIB/Q", "OTHERLIB"))
    holder.crtdtaq(dtaq="OTHERLIB/Q", maxlen=7)
    holder.dlcobj([("APPLIB/Q", "*EXCL")])
    assert outcome(started.result) == "CPF2112"
    assert [(queue.qualified, queue.maxlen) for queue in system.queues()] == [("APPLIB/Q", 5), ("OTHERLIB/Q", 7)]


def test_a_delete_takes_the_queue_that_has_the_name_now(system, holder):
    started = waiting(system, lambda job: job.dltdtaq("APPLIB/Q"))
    holder.movobj("APPLIB/Q", "OTHERLIB")
    holder.crtdtaq(dtaq="APPLIB/Q", maxlen=6)
    holder.dlcobj([("OTHERLIB/Q", "*EXCL")])
    started.result()
    assert [queue.qualified for queue in system.queues()] == ["OTHERLIB/Q"]


@pytest.mark.rule("DTAQ-LOCK-ALCOBJ-DELETED")
def test_a_queue_that_was_deleted_meanwhile_is_not_allocated(system, holder):
    started = waiting(system, lambda job: job.alcobj([("APPLIB/Q", "*SHRRD")]))
    holder.dltdtaq("APPLIB/Q")
    assert started.done  # it does not wait to the end of its time, though the lock of the holder is still there
    expect_rule("DTAQ-LOCK-ALCOBJ-DELETED", started.result)


# -- names, options, times --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ELEVENCHARS", "", "A B", "1ST", "\u00c9", None, 5])
def test_names_that_are_none(system, job, name):
    job.crtdtaq(dtaq="APPLIB/Q", maxlen=5)
    system.profiles["ANNA"].allobj = True
    before = set(system.libraries), set(system.profiles), set(system.jobs)
    for call in (
        lambda: system.job(name), lambda: system.job("OTHER", user=name), lambda: system.crtlib(name),
        lambda: system.crtusrprf(name), lambda: job.rnmobj("APPLIB/Q", name), lambda: setattr(job, "current_user", name),
    ):  # fmt: skip
        with pytest.raises(ParameterError):
            call()
    assert (set(system.libraries), set(system.profiles), set(system.jobs)) == before
    assert job.current_user == "ANNA"


@pytest.mark.parametrize(
    "options",
    [
        {"run_priority": 0}, {"run_priority": 100}, {"default_wait": -1}, {"default_wait": float("nan")},
        {"ccsid": 4711}, {"current_library": "ELEVENCHARS"}, {"library_list": ["QGPL", ""]}, {"number": "12345"},
    ],
)  # fmt: skip
def test_options_of_a_job_out_of_range(system, options):
    with pytest.raises(TdqError):
        system.job("OTHER", **options)
    assert not system.jobs


def test_authorities_that_are_none(system):
    for call in (
        lambda: system.crtlib("L", aut="*ANY"), lambda: system.crtlib("L", crtaut=""),
        lambda: system.grant_profile("A", "B", "use"), lambda: system.crtautl("LIST", {"A": "*USE *ANY"}),
    ):  # fmt: skip
        with pytest.raises(ParameterError):
            call()
    assert "L" not in system.libraries
    assert not system.authorization_lists


def test_names_are_put_in_capitals(system):
    system.crtlib("lower")
    with system.job("small", user="anna") as job:
        job.crtdtaq(dtaq="LOWER/Q", maxlen=5)
        assert (job.qualified_name.split("/")[1:], job.current_user) == (["ANNA", "SMALL"], "ANNA")


def test_two_definitions_of_one_queue_create_neither(system, tmp_path):
    file = tmp_path / "queues.yaml"
    file.write_text("dtaq:\n  - dtaq: QGPL/X\n    maxlen: 5\n  - dtaq: X\n    maxlen: 6\n")
    with pytest.raises(DefinitionError):
        system.install(load_definitions(file))
    assert not list(system.queues())


def test_a_seed_with_an_entry_that_is_too_long_sends_nothing(job):
    job.crtdtaq(dtaq="APPLIB/Q", maxlen=5)
    assert outcome(seed_entries, job, "Q", "APPLIB", parse_seed(job, ["short", "too long"])) == "CPF2498"
    with pytest.raises(ParameterError, match="'z' at position 2 is not a hexadecimal digit"):
        parse_seed(job, ['{"data": "Fz"}'])
    assert job.qmhqrdqd("Q", "APPLIB").number_of_messages == 0


@pytest.mark.rule("DTAQ-TIME-JULIAN", "DTAQ-TIME-RANGE", "DTAQ-TIME-PRECISION")
def test_times_at_the_edges(job):
    stamp = bytes.fromhex("AB5843DC614C0000")  # 2024-02-29 13:45:30.123456
    assert job.qwccvtdt("*DTS", stamp, "*JUL") == "124060 134530123"
    assert job.qwccvtdt("*DTS", stamp, "*LONGJUL") == "2024060 134530123"
    assert job.qwccvtdt("*JUL", "124060 134530123", "*YYMD") == "20240229134530123"
    for value, zone in (("00010101000000000", "America/New_York"), ("99991231235959999", "Asia/Tokyo")):
        zones = {"input_time_zone": "*UTC", "output_time_zone": zone}
        expect_rule("DTAQ-TIME-RANGE", job.qwccvtdt, "*YYMD", value, "*YYMD", **zones)
    expect_rule("DTAQ-TIME-PRECISION", job.qwccvtdt, "*CURRENT", output_format="*YYMD", precision="2")


def test_wait_times_of_receive_data_queue(job):
    job.crtdtaq(dtaq="APPLIB/Q", maxlen=5)
    for wait in (float("nan"), float("inf"), Decimal("NaN"), "5", None):
        with pytest.raises(ParameterError):
            job.qsys2.receive_data_queue("Q", "APPLIB", wait_time=wait)
    for wait in (100_000, -100_000):
        assert outcome(job.qsys2.receive_data_queue, "Q", "APPLIB", wait_time=wait) == "CPF2472"
    assert job.qsys2.receive_data_queue("Q", "APPLIB", wait_time=1.5) is None


def test_stores_are_kept_apart(tmp_path):
    with System("SYS1", store=tmp_path / "system") as system:
        system.crtlib("APPLIB")
    with Region(store=tmp_path / "region"):
        pass
    for start in ("AUTO", "COLD", "INITIAL"):
        with pytest.raises(StoreError, match="IBM i system"):
            Region(store=tmp_path / "system", start=start)
    with pytest.raises(StoreError, match="IBM i system"):
        Region(store=tmp_path / "system", readonly=True)
    for readonly in (False, True):
        with pytest.raises(StoreError, match="not one of an IBM i system"):
            System("SYS1", store=tmp_path / "region", readonly=readonly)
    with Region(store=tmp_path / "region", start="COLD"):
        pass
    with Store(tmp_path / "region", readonly=True) as store:
        assert store.durable.get_meta(b"kept-by") == b"a CICS region"
    with System("SYS1", store=tmp_path / "system") as system:
        assert "APPLIB" in system.libraries
    with pytest.raises(StoreError):
        System("SYS1", store=tmp_path / "region")


@pytest.mark.parametrize("form", ["RDQM0100", "RDQM0200"])
@pytest.mark.parametrize("senderid", ["*NO", "*YES"])
def test_records_and_bytes_tell_the_same(job, form, senderid):
    job.crtdtaq(dtaq="APPLIB/K", maxlen=9, seq="*KEYED", keylen=2, senderid=senderid)
    for key, data in ((b"22", b"two"), (b"11", b"one"), (b"22", b"two again")):
        job.qsnddtaq("K", "APPLIB", data, key)
    for selection in (
        RDQS0100("A"), RDQS0100("R", 4), RDQS0100("F", 0), RDQS0100("L", 100), RDQS0200(b"11", "GT"),
        RDQS0200(b"22", "EQ", 5, 1), RDQS0200(b"11", "GE", 60, 4), RDQS0200(b"11", "LT"),
    ):  # fmt: skip
        answer = retrieved(job, "K", "APPLIB", form, selection)
        assert job.qmhrdqm("K", "APPLIB", form, selection) == parse_messages(answer, form)
