from __future__ import annotations

import pytest
from freezegun import freeze_time

from tdqsim.core.clock import Clock
from tdqsim.core.dispatch import Dispatcher
from tdqsim.errors import SystemClosed, WouldWaitForever
from tdqsim.ibmi import RDQS0100, EscapeMessage, JobEnded, ParameterError, System
from tests.ibmi.conftest import drain, retrieved
from tests.rules import expect_rule

SECOND = 1_000_000_000


@pytest.fixture
def work(job):
    return job.crtdtaq(dtaq="APPLIB/WORK", maxlen=10)


@pytest.fixture
def keyed(job):
    return job.crtdtaq(dtaq="APPLIB/KEYED", maxlen=10, seq="*KEYED", keylen=1)


def waiter(*key, wait=-1, **options):
    """A program that receives once from WORK, or from KEYED with an order and a key."""
    if key:
        return lambda job: job.qrcvdtaq("KEYED", "APPLIB", wait, *key, **options)
    return lambda job: job.qrcvdtaq("WORK", "APPLIB", wait, **options)


def test_a_wait_ends_with_its_time(system, job, work):
    before = system.clock.time_ns()
    assert job.qrcvdtaq("WORK", "APPLIB", 30) is None
    assert 30 * SECOND <= system.clock.time_ns() - before < 31 * SECOND
    before = system.clock.time_ns()
    assert job.qrcvdtaq("WORK", "APPLIB", 1500, wait_units="*MSEC") is None
    assert 1.5 * SECOND <= system.clock.time_ns() - before < 2.5 * SECOND
    before = system.clock.time_ns()
    assert job.qrcvdtaq("WORK", "APPLIB", 99_999) is None  # the longest wait
    assert 99_999 * SECOND <= system.clock.time_ns() - before < 100_000 * SECOND
    with pytest.raises(EscapeMessage, match="CPF2472"):
        job.qrcvdtaq("WORK", "APPLIB", 100_000)


def test_a_wait_without_end_says_so(job, work):
    with pytest.raises(WouldWaitForever, match="an entry of data queue APPLIB/WORK"):
        job.qrcvdtaq("WORK", "APPLIB", -1)
    job.qsnddtaq("WORK", "APPLIB", b"x")  # nothing is left of the wait
    assert job.qrcvdtaq("WORK", "APPLIB", -1).data == b"x"


def test_a_send_ends_a_wait(system, job, work):
    waiting = system.start(waiter())
    system.run()
    assert not waiting.done
    job.qsnddtaq("WORK", "APPLIB", b"x")
    assert waiting.done
    assert waiting.result().data == b"x"
    assert job.qrcvdtaq("WORK", "APPLIB") is None


def test_the_entry_is_handed_over_at_once(system, job, work):
    waiting = system.start(waiter())

    def program(sender):
        sender.qsnddtaq("WORK", "APPLIB", b"x")
        counts = sender.qmhqrdqd("WORK", "APPLIB").number_of_messages, sender.qsys2.data_queue_info("WORK")[0][7]
        return (*counts, sender.qrcvdtaq("WORK", "APPLIB"))  # before the waiting job could run

    sending = system.start(program)
    assert sending.result() == (0, 0, None)
    assert waiting.result().data == b"x"


@pytest.mark.rule("DTAQ-RECEIVE-ONE-GETS-IT")
@pytest.mark.parametrize("seed", range(4))
def test_the_highest_run_priority_is_served_first(seed):
    with System(seed=seed) as system, system.job(user="QSECOFR") as job:
        system.crtlib("APPLIB")
        job.crtdtaq(dtaq="APPLIB/WORK", maxlen=10)
        jobs = []
        for priority in (50, 20, 50, 10):
            jobs.append(system.start(waiter(), run_priority=priority))
            system.run()  # so that they wait in this order
        for text in (b"1", b"2", b"3", b"4"):
            job.qsnddtaq("WORK", "APPLIB", text)
        assert [one.result().data for one in jobs] == [b"3", b"2", b"4", b"1"]


@pytest.mark.rule("DTAQ-RECEIVE-ONE-GETS-IT")
def test_who_begins_to_wait_after_another_was_served_stands_behind_all_who_wait(system, job, work):
    jobs = []
    for texts in ((), (b"1",), (b"2", b"3")):
        for _ in range(2 - len(jobs) if not jobs else 1 if len(texts) == 1 else 0):
            jobs.append(system.start(waiter()))
            system.run()
        for text in texts:
            job.qsnddtaq("WORK", "APPLIB", text)
    assert [one.result().data for one in jobs] == [b"1", b"2", b"3"]


@pytest.mark.rule("DTAQ-RECEIVE-ONE-GETS-IT")
def test_a_run_priority_that_changes_moves_a_wait_by_when_it_came():
    with System() as system, system.job(user="QSECOFR") as job:
        system.crtlib("APPLIB")
        job.crtdtaq(dtaq="APPLIB/WORK", maxlen=10)
        jobs = []
        for priority in (50, 20, 30):
            jobs.append(system.start(waiter(), run_priority=priority))
            system.run()
        with pytest.raises(ParameterError, match="run_priority 100: must be 1 to 99"):
            jobs[0].job.run_priority = 100
        assert jobs[0].job.run_priority == 50
        jobs[0].job.run_priority = 20
        jobs[1].job.run_priority = 99
        jobs[1].job.run_priority = 30
        for text in (b"1", b"2", b"3"):
            job.qsnddtaq("WORK", "APPLIB", text)
        assert [one.result().data for one in jobs] == [b"1", b"2", b"3"]
        jobs[0].job.run_priority = 1  # it waits no more


def test_only_an_entry_that_satisfies_the_key_ends_the_wait(system, job, keyed):
    low, five = system.start(waiter("LT", b"3")), system.start(waiter("EQ", b"5"))
    system.run()
    job.qsnddtaq("KEYED", "APPLIB", b"nine", b"9")
    assert not low.done
    assert not five.done
    job.qsnddtaq("KEYED", "APPLIB", b"five", b"5")
    assert (low.done, five.result().data) == (False, b"five")
    job.qsnddtaq("KEYED", "APPLIB", b"two", b"2")
    assert low.result().key == b"2"
    assert job.qrcvdtaq("KEYED", "APPLIB", 0, "NE", b"0").data == b"nine"


def test_a_waiting_peek_leaves_the_entry(system, job, work):
    peeking = [system.start(waiter(remove=False)) for _ in range(2)]
    taking = system.start(waiter())
    late = system.start(waiter(wait=7))
    system.dispatcher.run_ready()
    job.qsnddtaq("WORK", "APPLIB", b"x")
    assert [one.result().data for one in (*peeking, taking)] == [b"x"] * 3
    assert late.result() is None
    peeking = system.start(waiter(remove=False))
    system.run()
    job.qsnddtaq("WORK", "APPLIB", b"y")
    assert peeking.result().data == b"y"
    assert job.qrcvdtaq("WORK", "APPLIB").data == b"y"


@pytest.mark.rule("DTAQ-RECEIVE-JOB-ENDED")
def test_the_end_of_a_job_ends_its_wait(system, job, work):
    waiting = system.start(waiter())
    system.run()
    waiting.job.end()
    with pytest.raises(JobEnded):
        waiting.result()
    job.qsnddtaq("WORK", "APPLIB", b"x")
    assert job.qrcvdtaq("WORK", "APPLIB").data == b"x"
    never = system.start(waiter())
    never.job.end()
    with pytest.raises(JobEnded):
        never.result()


def test_an_entry_goes_to_the_next_receive_when_the_job_that_was_handed_it_ends_before_it_runs(system, job, work):
    first, second = system.start(waiter()), system.start(waiter())
    system.run()

    def program(sender):
        sender.qsnddtaq("WORK", "APPLIB", b"x")
        first.job.end()

    system.start(program).result()
    assert second.result().data == b"x"


@pytest.mark.parametrize("force", ["*NO", "*YES"])
@pytest.mark.parametrize("how", ["received", "cleared"])
def test_entries_that_were_handed_over_are_seen_by_nobody_and_keep_their_places(system, job, force, how):
    job.crtdtaq("APPLIB/WORK", maxlen=10, force=force)
    first, second = system.start(waiter()), system.start(waiter())
    system.run()

    def program(own):
        for data in (b"1", b"2", b"3"):
            own.qsnddtaq("WORK", "APPLIB", data)
        assert [one.message_text for one in own.qmhrdqm("WORK", "APPLIB", "RDQM0200").messages] == [b"3"]
        part = retrieved(own, "WORK", "APPLIB", "RDQM0200", RDQS0100("A"), 8)
        assert int.from_bytes(part[4:8], "big") == 56 + 16 + 1  # the header, and one entry
        if how == "received":
            assert own.qrcvdtaq("WORK", "APPLIB").data == b"3"
        else:
            assert own.qclrdtaq("WORK", "APPLIB") == 1
        first.job.end()
        second.job.end()
        return drain(own, "WORK")

    assert system.start(program).result() == [b"1", b"2"]


def test_an_entry_that_is_put_back_ends_a_wait(system, job, work):
    job.qsnddtaq("WORK", "APPLIB", b"x")
    entry = job.receive("WORK", "APPLIB")
    waiting = system.start(waiter())
    system.run()
    job.return_entry("WORK", "APPLIB", entry)
    assert waiting.done
    assert waiting.result().data == b"x"
    assert job.qrcvdtaq("WORK", "APPLIB") is None


@pytest.mark.rule("DTAQ-RECEIVE-DELETED")
def test_the_delete_of_a_queue_ends_all_waits_for_it(system, job, work):
    waiting = [system.start(waiter()) for _ in range(3)]
    system.run()
    job.dltdtaq("APPLIB/WORK")
    assert [one.exception.message_id for one in waiting if one.done] == ["CPF9805"] * 3


@pytest.mark.rule("DTAQ-RECEIVE-DELETED")
def test_the_queue_is_deleted_during_the_wait(system, job, work):
    waiting = system.start(waiter())
    system.run()
    job.dltdtaq("APPLIB/WORK")
    expect_rule("DTAQ-RECEIVE-DELETED", waiting.result)


def test_a_rename_does_not_end_a_wait(system, job, work):
    waiting = system.start(waiter())
    system.run()
    job.rnmobj("APPLIB/WORK", "OTHER")
    job.qsnddtaq("OTHER", "APPLIB", b"x")
    assert waiting.result().data == b"x"


def test_closing_ends_what_waits_and_reports_it(system, job, work):
    waiting = system.start(waiter())
    system.run()
    assert system.close() == (waiting,)
    for act in (
        waiting.result,
        lambda: system.job("LATE"),
        system.run,
        system.write_out,
        lambda: job.qrcvdtaq("WORK", "APPLIB"),
    ):
        with pytest.raises(SystemClosed, match=system.name):
            act()


def test_each_entry_is_given_once(system, job, work):
    def server(own):
        found = []
        while (entry := own.qrcvdtaq("WORK", "APPLIB", 60)) is not None:
            found.append(entry.data)
        return found

    servers = [system.start(server) for _ in range(5)]
    for number in range(100):
        job.qsnddtaq("WORK", "APPLIB", b"%03d" % number)
    found = [one.result() for one in servers]
    assert sorted(data for one in found for data in one) == [b"%03d" % number for number in range(100)]


def test_two_systems_on_one_dispatcher():
    dispatcher = Dispatcher(Clock())
    with System("A", dispatcher=dispatcher) as first, System("B", dispatcher=dispatcher) as second:
        for system in (first, second):
            with system.job() as job:
                job.crtdtaq(dtaq="QGPL/WORK", maxlen=10)
        waiting = second.start(lambda job: job.qrcvdtaq("WORK", "QGPL", -1))

        def program(job):
            with second.job() as there:
                there.qsnddtaq("WORK", "QGPL", b"x")

        first.start(program).result()
        assert waiting.result().data == b"x"
    with pytest.raises(ValueError, match="dispatcher"):
        System(dispatcher=dispatcher, clock=Clock())


@pytest.mark.rule("DTAQ-LOCK-WAIT-OVER")
def test_the_lock_of_a_wait_is_gone_when_the_wait_is_over(system, job, work):
    with system.job("OFFICER", user="QSECOFR") as officer, system.job("OTHER", user="QSECOFR") as other:
        officer.qmhqcdq("WORK", "APPLIB", enforce_data_queue_locks=True)
        assert other.qrcvdtaq("WORK", "APPLIB", 5) is None
        assert officer.wrkobjlck("APPLIB/WORK") == ()
        officer.alcobj([("APPLIB/WORK", "*EXCL")], wait=0)
        expect_rule("DTAQ-LOCK-WAIT-OVER", other.alcobj, [("APPLIB/WORK", "*EXCL")], 0)  # a real lock is in the way
        officer.dlcobj([("APPLIB/WORK", "*EXCL")])
        waiting = system.start(waiter(), user="QSECOFR")
        system.run()
        officer.qsnddtaq("WORK", "APPLIB", b"x")
        assert waiting.result().data == b"x"
        assert officer.wrkobjlck("APPLIB/WORK") == ()
        waiting = system.start(waiter(), user="QSECOFR")
        system.run()
        assert [entry.state for entry in officer.wrkobjlck("APPLIB/WORK")] == ["*SHRUPD"]
        waiting.job.end()
        system.run()
        assert officer.wrkobjlck("APPLIB/WORK") == ()


@freeze_time("2024-01-31 12:00:00")
def test_one_seed_gives_one_trace():
    def trace(seed):
        names = []
        with System(seed=seed) as system, system.job() as job:
            job.crtdtaq(dtaq="QGPL/WORK", maxlen=10)
            for number in range(6):
                system.start(lambda own, n: (names.append(n), own.qrcvdtaq("WORK", "QGPL", 1), names.append(n)), number)
            system.run()
        return names

    assert trace(0)[:6] == list(range(6))
    assert trace(7) == trace(7)
    assert trace(7) != trace(0)


def test_an_ended_job_is_handed_no_entry_even_before_its_tasks_have_noticed_the_end():
    with System() as system:
        with system.job(user="QSECOFR") as other:
            other.crtdtaq("QGPL/ENDQ", maxlen=5)
            ending = system.job(user="QSECOFR")
            waiting = [
                system.dispatcher.spawn(lambda: ending.qrcvdtaq("ENDQ", "QGPL", -1), name="a receive", owner=system)
                for _ in range(3)
            ]
            system.dispatcher.run_ready()
            ending.end()

            def use(job):
                job.qsnddtaq("ENDQ", "QGPL", b"a")
                return job.qrcvdtaq("ENDQ", "QGPL")

            assert system.start(use, user="QSECOFR").result().data == b"a"
        system.dispatcher.run_ready()
        assert [type(one.exception).__name__ for one in waiting] == ["JobEnded"] * 3
