from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tdqsim.errors import WouldWaitForever
from tdqsim.facts import table
from tdqsim.ibmi import EscapeMessage, JobEnded, MessagePlan, ParameterError, System
from tests.ibmi.conftest import fill
from tests.rules import expect_rule

STATES = ("*SHRRD", "*SHRNUP", "*SHRUPD", "*EXCLRD", "*EXCL")


@pytest.fixture
def other(system):
    with system.job("OTHER", user="QSECOFR", default_wait=5) as made:
        yield made


@pytest.fixture
def work(officer):
    return officer.crtdtaq(dtaq="APPLIB/WORK", maxlen=10, aut="*CHANGE")


# Written out again from the lock table of the manual: which pairs two jobs may hold at once.
TOGETHER = {
    ("*SHRRD", "*SHRRD"), ("*SHRRD", "*SHRNUP"), ("*SHRRD", "*SHRUPD"), ("*SHRRD", "*EXCLRD"),
    ("*SHRNUP", "*SHRRD"), ("*SHRNUP", "*SHRNUP"),
    ("*SHRUPD", "*SHRRD"), ("*SHRUPD", "*SHRUPD"),
    ("*EXCLRD", "*SHRRD"),
}  # fmt: skip


@pytest.mark.rule("DTAQ-LOCK-ALCOBJ")
@pytest.mark.parametrize("held", STATES)
@pytest.mark.parametrize("asked", STATES)
def test_the_lock_table(officer, other, work, held, asked):
    other.alcobj([("APPLIB/WORK", held)])
    if (held, asked) in TOGETHER:
        officer.alcobj([("APPLIB/WORK", asked)], wait=0)
        assert len(officer.wrkobjlck("APPLIB/WORK")) == 2
    else:
        expect_rule("DTAQ-LOCK-ALCOBJ", officer.alcobj, [("APPLIB/WORK", asked)], 0)
    other.alcobj([("APPLIB/WORK", "*EXCL")], wait=0) if held == "*EXCL" else None  # a job's own locks never conflict


@pytest.mark.rule("DTAQ-LOCK-ALCOBJ")
@pytest.mark.parametrize(("held", "asked"), [("*EXCL", "*SHRRD"), ("*SHRRD", "*SHRUPD")])
def test_the_lock_table_by_stepping_two_jobs(system, work, held, asked):
    def program(job, state):
        job.alcobj([("APPLIB/WORK", state)], wait=60)
        job.dlcobj([("APPLIB/WORK", state)])

    one, two = system.stepped(program, held, name="ONE"), system.stepped(program, asked, name="TWO")
    assert one.step() == "dlcobj"
    assert two.step() == ("dlcobj" if (held, asked) in TOGETHER else "")
    one.step()
    assert one.done
    assert (two.before, two.waits_for) == ("dlcobj", "")
    two.result()


def test_all_locks_or_none(officer, other, work):
    officer.crtdtaq(dtaq="APPLIB/REST", maxlen=10)
    other.alcobj([("APPLIB/REST", "*EXCL")])
    expect_rule("DTAQ-LOCK-ALCOBJ", officer.alcobj, [("APPLIB/WORK", "*SHRRD"), ("APPLIB/REST", "*SHRRD")], 3)
    assert officer.wrkobjlck("APPLIB/WORK") == ()
    other.dlcobj([("APPLIB/REST", "*EXCL")])
    officer.alcobj([("APPLIB/WORK", "*SHRRD"), ("APPLIB/REST", "*SHRRD")], 0)
    officer.dlcobj([("APPLIB/WORK", "*SHRRD"), ("APPLIB/REST", "*SHRRD")])
    assert officer.wrkobjlck("APPLIB/WORK") == officer.wrkobjlck("APPLIB/REST") == ()
    for bad in ([], [("APPLIB/WORK", "*READ")], [("APPLIB/WORK", "*SHRRD")] * 51):
        with pytest.raises(ParameterError):
            officer.alcobj(bad)


def test_a_lock_that_is_taken_twice_is_shown_twice_and_is_gone_after_the_second_dlcobj(officer, other, work):
    lock = [("APPLIB/WORK", "*EXCL")]
    for _ in range(2):
        officer.alcobj(lock)
    assert [(entry.state, entry.status) for entry in officer.wrkobjlck("APPLIB/WORK")] == [("*EXCL", "HELD")] * 2
    officer.dlcobj(lock)
    assert len(officer.wrkobjlck("APPLIB/WORK")) == 1
    expect_rule("DTAQ-LOCK-ALCOBJ", other.alcobj, lock, 0)
    officer.dlcobj(lock)
    other.alcobj(lock, 0)


@pytest.mark.rule("DTAQ-LOCK-ENFORCED")
def test_each_send_and_receive_asks_for_the_lock_of_a_queue_that_enforces_locks(officer, other, work):
    officer.qmhqcdq("WORK", "APPLIB", enforce_data_queue_locks=True)
    other.default_wait = 0
    for _ in range(2):
        for _ in range(2):
            other.qsnddtaq("WORK", "APPLIB", b"x")
            assert other.qrcvdtaq("WORK", "APPLIB").data == b"x"
        officer.alcobj([("APPLIB/WORK", "*EXCL")])
        expect_rule("DTAQ-LOCK-ENFORCED", other.qsnddtaq, "WORK", "APPLIB", b"x")
        expect_rule("DTAQ-LOCK-ENFORCED", other.qrcvdtaq, "WORK", "APPLIB")
        officer.dlcobj([("APPLIB/WORK", "*EXCL")])


def test_a_wait_for_a_lock_ends_when_it_is_released(system, officer, other, work):
    officer.alcobj([("APPLIB/WORK", "*EXCL")])
    waiting = system.start(lambda job: job.alcobj([("APPLIB/WORK", "*SHRRD")], wait=60), name="PATIENT")
    system.dispatcher.run_ready()
    entries = officer.wrkobjlck("APPLIB/WORK")
    assert [(entry.state, entry.status) for entry in entries] == [("*EXCL", "HELD"), ("*SHRRD", "WAIT")]
    officer.dlcobj([("APPLIB/WORK", "*EXCL")])
    assert waiting.done  # the command outside gave it its turn, and its end released what it got
    assert officer.wrkobjlck("APPLIB/WORK") == ()


@pytest.mark.rule("DTAQ-LOCK-ALCOBJ-DELETED")
def test_a_delete_ends_all_waits_for_a_lock(system, officer, work):
    officer.alcobj([("APPLIB/WORK", "*EXCL")])
    waiting = [system.start(lambda job: job.alcobj([("APPLIB/WORK", "*SHRRD")], wait=60)) for _ in range(2)]
    system.dispatcher.run_ready()
    officer.dltdtaq("APPLIB/WORK")
    assert [one.exception.message_id for one in waiting if one.done] == ["CPF1002", "CPF1002"]


def test_waits_for_a_lock_end_in_the_order_in_which_they_came(system, officer, work):
    got = []

    def take(job, state, until_told):
        job.alcobj([("APPLIB/WORK", state)], wait=60)
        got.append((job.name, state))
        if until_told:
            job.qrcvdtaq("GO", "APPLIB", -1)

    officer.crtdtaq("APPLIB/GO", maxlen=10)
    officer.alcobj([("APPLIB/WORK", "*EXCL")])
    for number, state in enumerate(("*SHRRD", "*SHRUPD", "*EXCL", "*SHRRD"), 1):
        system.start(take, state, state != "*EXCL", name=f"J{number}")
        system.dispatcher.run_ready()
    officer.dlcobj([("APPLIB/WORK", "*EXCL")])
    assert got == [("J1", "*SHRRD"), ("J2", "*SHRUPD"), ("J4", "*SHRRD")]
    for _ in range(3):
        officer.qsnddtaq("GO", "APPLIB", b"x")
    assert got[3:] == [("J3", "*EXCL")]


def test_whose_turn_a_lock_was_and_who_finds_it_taken_keeps_nobody_waiting(system, officer, work):
    got = []

    def take(job, state):
        job.alcobj([("APPLIB/WORK", state)], wait=60)
        got.append(job.name)

    def overtake(job):
        officer.dlcobj([("APPLIB/WORK", "*EXCL")])
        job.alcobj([("APPLIB/WORK", "*SHRRD")], wait=60)
        job.qrcvdtaq("GO", "APPLIB", -1)

    officer.crtdtaq("APPLIB/GO", maxlen=10)
    officer.alcobj([("APPLIB/WORK", "*EXCL")])
    for name, state in (("FIRST", "*EXCL"), ("SECOND", "*SHRRD")):
        system.start(take, state, name=name)
        system.dispatcher.run_ready()
    system.start(overtake, name="NEWCOMER")
    system.dispatcher.run_ready()
    assert got == ["SECOND"]
    officer.qsnddtaq("GO", "APPLIB", b"x")
    assert got == ["SECOND", "FIRST"]


def test_whose_turn_a_lock_was_and_who_ends_without_it_keeps_nobody_waiting(system, officer, work):
    got = []

    def take(job, state):
        job.alcobj([("APPLIB/WORK", state)], wait=60)
        got.append(job.name)

    officer.alcobj([("APPLIB/WORK", "*EXCL")])
    first, _ = system.start(take, "*EXCL", name="FIRST"), system.start(take, "*SHRRD", name="SECOND")
    system.dispatcher.run_ready()
    system.start(lambda _: (officer.dlcobj([("APPLIB/WORK", "*EXCL")]), first.job.end()))
    system.dispatcher.run_ready()
    assert got == ["SECOND"]


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 3),
    st.lists(st.tuples(st.integers(0, 4), st.sampled_from("ARE"), st.sampled_from("PQ"), st.sampled_from(STATES))),
)
def test_nobody_waits_for_a_lock_that_he_could_have(seed, steps):
    with System("SYS1", seed=seed) as system, system.job("OFFICER", user="QSECOFR") as officer:
        for name in ("P", "Q", *(f"ORDERS{number}" for number in range(5))):
            officer.crtdtaq(f"QGPL/{name}", maxlen=20)

        def obey(job, orders):
            while True:
                what, objects, state = job.qrcvdtaq(orders, "QGPL", -1).data.decode().split()
                locks = [(f"QGPL/{one}", state) for one in objects]
                with suppress(EscapeMessage):
                    job.alcobj(locks, 30_000) if what == "A" else job.dlcobj(locks)

        jobs = [system.start(obey, f"ORDERS{number}", name=f"J{number}") for number in range(5)]
        system.dispatcher.run_ready()
        for number, what, name, state in steps:
            if what == "E":
                jobs[number].job.end()
                jobs[number] = system.start(obey, f"ORDERS{number}", name=f"J{number}")
            else:
                objects = "PQ" if what == "A" and name == "Q" else name
                officer.qsnddtaq(f"ORDERS{number}", "QGPL", f"{what} {objects} {state}".encode())
            system.dispatcher.run_ready()
            entries = [(name, one) for name in "PQ" for one in officer.wrkobjlck(f"QGPL/{name}")]
            held = [(name, one.job, one.state) for name, one in entries if one.status == "HELD"]
            waits = [(name, one.job, one.state) for name, one in entries if one.status == "WAIT"]

            def conflicts(asked, held=held):
                return [one for one in held if one[:2] != asked[:2] and one[0] == asked[0]
                        and (one[2], asked[2]) not in TOGETHER]  # fmt: skip

            assert not any(map(conflicts, held))
            for waiter in {job for _, job, _ in waits}:
                assert any(conflicts(asked) for asked in waits if asked[1] == waiter)


def test_the_end_of_a_job_releases_its_locks(system, officer, work):
    with system.job(user="QSECOFR") as holder:
        holder.alcobj([("APPLIB/WORK", "*EXCL")])
        expect_rule("DTAQ-LOCK-ALCOBJ", officer.alcobj, [("APPLIB/WORK", "*SHRRD")], 0)
    officer.alcobj([("APPLIB/WORK", "*SHRRD")], 0)


OPERATIONS = {
    "QSNDDTAQ": lambda job: job.qsnddtaq("WORK", "APPLIB", b"x"),
    "QRCVDTAQ": lambda job: job.qrcvdtaq("WORK", "APPLIB"),
    "QRCVDTAQ peek": lambda job: job.qrcvdtaq("WORK", "APPLIB", remove=False),
    "QCLRDTAQ": lambda job: job.qclrdtaq("WORK", "APPLIB"),
    "QMHQRDQD": lambda job: job.qmhqrdqd("WORK", "APPLIB"),
    "QMHRDQM": lambda job: job.qmhrdqm("WORK", "APPLIB"),
}


@pytest.mark.rule("DTAQ-LOCK-IGNORED", "DTAQ-LOCK-ENFORCED")
@pytest.mark.parametrize("held", STATES)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_locks_and_operations(officer, other, work, operation, held):
    fill(officer, "WORK", b"1", b"2")
    act = OPERATIONS[operation]
    officer.alcobj([("APPLIB/WORK", held)])
    act(other)  # ignored by default
    officer.qmhqcdq("WORK", "APPLIB", enforce_data_queue_locks=True)
    act(officer)  # its own lock never stands in its way
    reading = operation in ("QMHQRDQD", "QMHRDQM")
    blocked = held == "*EXCL" if reading else held in ("*SHRNUP", "*EXCLRD", "*EXCL")
    before = other.system.clock.time_ns()
    if blocked:
        expect_rule("DTAQ-LOCK-ENFORCED", act, other)
        assert other.system.clock.time_ns() - before >= 5_000_000_000  # its default wait, on the simulated clock
    else:
        act(other)
    officer.qmhqcdq("WORK", "APPLIB", enforce_data_queue_locks=False)
    act(other)


@pytest.mark.rule("DTAQ-LOCK-OLD-RULE", "DTAQ-LOCK-TIMEOUT")
def test_waiters_keep_waiting_under_the_old_rule(system, officer, work):
    officer.qmhqcdq("WORK", "APPLIB", enforce_data_queue_locks=True)
    officer.alcobj([("APPLIB/WORK", "*EXCL")])
    waiting = system.start(lambda job: job.qsnddtaq("WORK", "APPLIB", b"x"), default_wait=30)
    system.dispatcher.run_ready()
    officer.qmhqcdq("WORK", "APPLIB", enforce_data_queue_locks=False)
    assert not waiting.done
    with system.job() as late:
        late.qsnddtaq("WORK", "APPLIB", b"y")  # the new rule: no lock is looked at
    expect_rule("DTAQ-LOCK-OLD-RULE", waiting.result)
    officer.qmhqcdq("WORK", "APPLIB", enforce_data_queue_locks=True)
    with system.job(default_wait=30) as late:
        expect_rule("DTAQ-LOCK-TIMEOUT", late.qsnddtaq, "WORK", "APPLIB", b"z")


@pytest.mark.rule("DTAQ-LOCK-DEADLOCK")
def test_the_deadlock_that_the_manual_warns_of(system, officer, work):
    officer.qmhqcdq("WORK", "APPLIB", enforce_data_queue_locks=True)

    def program(job):
        job.alcobj([("APPLIB/WORK", "*EXCL")], scope="*THREAD")
        return job.qrcvdtaq("WORK", "APPLIB", -1)

    stuck = system.start(program)
    system.dispatcher.run_ready()
    expect_rule("DTAQ-LOCK-DEADLOCK", officer.qsnddtaq, "WORK", "APPLIB", b"x")
    with pytest.raises(WouldWaitForever, match="data queue APPLIB/WORK"):
        stuck.result()
    stuck.job.end()
    with pytest.raises(JobEnded):
        stuck.result()
    officer.qsnddtaq("WORK", "APPLIB", b"x")


@pytest.mark.rule("DTAQ-LOCK-EXTEND")
def test_a_send_that_extends_a_journaled_queue_makes_no_receive_fail_unplanned(system, officer, other):
    officer.crtjrnrcv("APPLIB/RCV1")
    officer.crtjrn("APPLIB/JRN", jrnrcv=["APPLIB/RCV1"])
    officer.crtdtaq("APPLIB/SMALL", maxlen=10, size=["*MAX16MB", 1])
    officer.strjrnobj("APPLIB/SMALL", "APPLIB/JRN")
    officer.qmhqcdq("SMALL", "APPLIB", enforce_data_queue_locks=True)
    system.faults = MessagePlan()
    for number in range(3):
        fill(other, "SMALL", b"%d" % number, b"more")
        system.faults.add("CPF9503", operation="QRCVDTAQ", name="SMALL", times=1)
        expect_rule("DTAQ-LOCK-EXTEND", officer.qrcvdtaq, "SMALL", "APPLIB")
        assert officer.qrcvdtaq("SMALL", "APPLIB").data  # tried again


def test_the_lock_that_a_send_to_a_queue_that_enforces_locks_has_waited_for_is_free_after_it(system, officer, work):
    officer.qmhqcdq("WORK", "APPLIB", enforce_data_queue_locks=True)
    officer.crtdtaq(dtaq="APPLIB/LATER", maxlen=10)
    officer.alcobj([("APPLIB/WORK", "*EXCL")])

    def program(job):
        job.qsnddtaq("WORK", "APPLIB", b"x")
        return job.qrcvdtaq("LATER", "APPLIB", -1).data

    sending = system.start(program, user="QSECOFR")
    system.dispatcher.run_ready()
    officer.dlcobj([("APPLIB/WORK", "*EXCL")])
    assert officer.qrcvdtaq("WORK", "APPLIB").data == b"x"
    officer.alcobj([("APPLIB/WORK", "*EXCL")], wait=0)
    officer.qsnddtaq("LATER", "APPLIB", b"end")
    assert sending.result() == b"end"


def test_an_enforced_wait_holds_its_lock(system, officer, work):
    officer.qmhqcdq("WORK", "APPLIB", enforce_data_queue_locks=True)
    waiting = system.start(lambda job: job.qrcvdtaq("WORK", "APPLIB", -1))
    system.dispatcher.run_ready()
    assert [entry.state for entry in officer.wrkobjlck("APPLIB/WORK")] == ["*SHRUPD"]
    expect_rule("DTAQ-DLT-IN-USE", officer.dltdtaq, "APPLIB/WORK")
    officer.qsnddtaq("WORK", "APPLIB", b"x")
    assert waiting.result().data == b"x"
    assert officer.wrkobjlck("APPLIB/WORK") == ()


@pytest.mark.rule("DTAQ-CHANGE-LOCKED", "DTAQ-CHANGE-WAITER", "DTAQ-DLT-IN-USE")
def test_what_stands_in_the_way_of_a_change(system, officer, other, work):
    for held in ("*SHRNUP", "*EXCLRD", "*EXCL"):
        other.alcobj([("APPLIB/WORK", held)])
        expect_rule("DTAQ-CHANGE-LOCKED", officer.qmhqcdq, "WORK", "APPLIB", automatic_reclaim=True)
        expect_rule("DTAQ-DLT-IN-USE", officer.dltdtaq, "APPLIB/WORK")
        other.dlcobj([("APPLIB/WORK", held)])
    peeking = system.start(lambda job: job.qrcvdtaq("WORK", "APPLIB", -1, remove=False))
    system.dispatcher.run_ready()
    officer.qmhqcdq("WORK", "APPLIB", automatic_reclaim=True)
    waiting = system.start(lambda job: job.qrcvdtaq("WORK", "APPLIB", -1))
    system.dispatcher.run_ready()
    expect_rule("DTAQ-CHANGE-WAITER", officer.qmhqcdq, "WORK", "APPLIB", automatic_reclaim=False)
    officer.qsnddtaq("WORK", "APPLIB", b"x")
    assert peeking.result() == waiting.result()
    officer.qmhqcdq("WORK", "APPLIB", automatic_reclaim=False)


# -- authority --------------------------------------------------------------------------------------------------------

GRANTS = {
    "*USE": {"QRCVDTAQ", "QRCVDTAQ peek", "QCLRDTAQ", "QMHQRDQD", "QMHRDQM"},
    "*CHANGE": {"QSNDDTAQ", "QRCVDTAQ", "QRCVDTAQ peek", "QCLRDTAQ", "QMHQRDQD", "QMHRDQM"},
    "*ALL": {*OPERATIONS, "QMHQCDQ", "DLTDTAQ"},
    "*EXCLUDE": set(),
    "*OBJOPR *ADD": {"QSNDDTAQ"},
    "*OBJOPR *READ": {"QRCVDTAQ", "QRCVDTAQ peek", "QCLRDTAQ", "QMHQRDQD", "QMHRDQM"},
    "*READ *ADD": set(),
    "*OBJMGT": {"QMHQCDQ"},
    "*OBJEXIST": {"DLTDTAQ"},
}


@pytest.mark.rule("DTAQ-AUTHORITY-OBJECT", "DTAQ-AUTHORITY-RECEIVE", "DTAQ-AUTHORITY-CHANGE", "DTAQ-DLT-AUTHORITY")
@pytest.mark.parametrize("authority", GRANTS)
def test_what_each_authority_allows(system, officer, work, authority):
    every = {
        **OPERATIONS,
        "QMHQCDQ": lambda job: job.qmhqcdq("WORK", "APPLIB", automatic_reclaim=True),
        "DLTDTAQ": lambda job: job.dltdtaq("APPLIB/WORK"),
    }
    officer.grtobjaut("APPLIB/WORK", "ANNA", authority)
    for name, act in every.items():
        with system.job(user="ANNA") as job:
            if name in GRANTS[authority]:
                act(job)
            else:
                refused = {"DLTDTAQ": "DTAQ-DLT-AUTHORITY", "QMHQCDQ": "DTAQ-AUTHORITY-CHANGE"}
                expect_rule(refused.get(name, "DTAQ-AUTHORITY-OBJECT"), act, job)


def test_the_operation_table_is_what_the_manual_says():
    rows = {row["operation"]: row for row in table("ibmi_operations")}
    assert rows["QSNDDTAQ"]["object_authority"] == "OBJOPR ADD"
    for name in ("QRCVDTAQ", "QCLRDTAQ", "QMHQRDQD", "QMHRDQM"):
        assert rows[name]["object_authority"] == "OBJOPR READ"
    assert rows["QMHQCDQ"]["object_authority"] == "OBJMGT"
    asked = {name: row["library_authority"] for name, row in rows.items() if row["library_authority"] != "EXECUTE"}
    assert asked == {"MOVOBJ": "DLT EXECUTE", "RNMOBJ": "UPD EXECUTE"}


@pytest.mark.rule("DTAQ-AUTHORITY-LIBRARY")
def test_the_library(system, officer):
    system.crtlib("PRIVATE", aut="*EXCLUDE")
    officer.crtdtaq(dtaq="PRIVATE/WORK", maxlen=10, aut="*ALL")
    with system.job(user="ANNA") as job:
        expect_rule("DTAQ-AUTHORITY-LIBRARY", job.qsnddtaq, "WORK", "PRIVATE", b"x")
        for text in ("CRTDTAQ PRIVATE/MINE 10", "CRTJRN PRIVATE/MINE", "CRTJRNRCV PRIVATE/MINE"):
            with pytest.raises(Exception, match="CPF9820"):
                job.command(text)


@pytest.mark.rule("DTAQ-AUTHORITY-CACHE")
def test_revoking_does_not_reach_a_job_that_has_used_the_queue(system, officer, work):
    officer.qsnddtaq("WORK", "APPLIB", b"1")
    with system.job(user="ANNA") as job:
        for act in OPERATIONS.values():
            act(job)
        officer.rvkobjaut("APPLIB/WORK", "*PUBLIC")
        for name, act in OPERATIONS.items():
            if name == "QCLRDTAQ":
                expect_rule("DTAQ-AUTHORITY-OBJECT", act, job)  # it keeps no such memory
            else:
                act(job)
        job.qsnddtaq("WORK", "APPLIB", b"x")
        job.current_user = "BERT"  # the proof was of another user
        expect_rule("DTAQ-AUTHORITY-OBJECT", job.qsnddtaq, "WORK", "APPLIB", b"x")
    with system.job(user="ANNA") as job:
        expect_rule("DTAQ-AUTHORITY-OBJECT", job.qsnddtaq, "WORK", "APPLIB", b"x")


@pytest.mark.rule("DTAQ-AUTHORITY-CACHE-EACH")
def test_a_describe_does_not_prove_the_right_to_send(system, officer, work):
    officer.grtobjaut("APPLIB/WORK", "*PUBLIC", "*USE", replace=True)
    with system.job(user="ANNA") as job:
        job.qmhqrdqd("WORK", "APPLIB")
        expect_rule("DTAQ-AUTHORITY-CACHE-EACH", job.qsnddtaq, "WORK", "APPLIB", b"x")


@pytest.mark.rule("DTAQ-AUTHORITY-CACHE-EACH")
@pytest.mark.parametrize("proves", ["QRCVDTAQ", "QMHQRDQD", "QMHRDQM"])
def test_one_proof_serves_the_apis_that_need_the_same_authorities(system, officer, work, proves):
    with system.job(user="ANNA") as job:
        OPERATIONS[proves](job)
        officer.rvkobjaut("APPLIB/WORK", "*PUBLIC")
        for name in ("QRCVDTAQ", "QMHQRDQD", "QMHRDQM"):
            OPERATIONS[name](job)
        expect_rule("DTAQ-AUTHORITY-OBJECT", job.qsnddtaq, "WORK", "APPLIB", b"x")


def test_authorization_lists_and_private_authority(system, officer):
    system.crtautl("PAYLIST", {"*PUBLIC": "*EXCLUDE", "ANNA": "*CHANGE"})
    officer.crtdtaq(dtaq="APPLIB/PAY", maxlen=10, aut="PAYLIST")
    with system.job(user="ANNA") as anna, system.job(user="BERT") as bert:
        anna.qsnddtaq("PAY", "APPLIB", b"x")
        expect_rule("DTAQ-AUTHORITY-OBJECT", bert.qsnddtaq, "PAY", "APPLIB", b"x")
        officer.grtobjaut("APPLIB/PAY", "BERT", "*CHANGE")
        bert.qsnddtaq("PAY", "APPLIB", b"x")
        with pytest.raises(Exception, match="CPF2223"):
            bert.grtobjaut("APPLIB/PAY", "BERT", "*ALL")
        with pytest.raises(ParameterError, match="allowed are"):
            officer.grtobjaut("APPLIB/PAY", "BERT", "*EVERYTHING")


def test_the_owner_has_all(system, job):
    job.crtdtaq(dtaq="APPLIB/MINE", maxlen=10, aut="*EXCLUDE")
    job.qsnddtaq("MINE", "APPLIB", b"x")
    job.qmhqcdq("MINE", "APPLIB", enforce_data_queue_locks=True)
    job.dltdtaq("APPLIB/MINE")


# -- finding, moving, renaming ----------------------------------------------------------------------------------------


@pytest.mark.rule("DTAQ-FIND-LIBRARY", "DTAQ-FIND-OBJECT", "DTAQ-FIND-LIST-DELETED", "DTAQ-FIND-CURLIB")
def test_library_resolution(system, officer, job):
    expect_rule("DTAQ-FIND-LIBRARY", job.qrcvdtaq, "WORK", "NOLIB")
    expect_rule("DTAQ-FIND-OBJECT", job.qrcvdtaq, "WORK", "*LIBL")
    job.crtdtaq(dtaq="WORK", maxlen=10)  # *CURLIB, which is QGPL
    assert job.qmhqrdqd("WORK", "*CURLIB").data_queue_library_used == "QGPL"
    job.chgcurlib("APPLIB")
    expect_rule("DTAQ-FIND-OBJECT", job.qrcvdtaq, "WORK", "*CURLIB")
    assert job.qmhqrdqd("WORK", "*LIBL").data_queue_library_used == "QGPL"
    job.crtdtaq(dtaq="WORK", maxlen=20)
    assert job.qmhqrdqd("WORK", "*LIBL").data_queue_library_used == "APPLIB"  # the current library comes first
    system.crtlib("OLD")
    job.addlible("OLD", "*LAST")
    job.chgcurlib("*CRTDFT")
    system.dltlib("OLD")
    job.rmvlible("QGPL")
    expect_rule("DTAQ-FIND-LIST-DELETED", job.qrcvdtaq, "WORK", "*LIBL")
    job.rmvlible("OLD")
    expect_rule("DTAQ-FIND-OBJECT", job.qrcvdtaq, "WORK", "*LIBL")
    for call in (job.chgcurlib, job.addlible):
        with pytest.raises(Exception, match="CPF2110"):
            call("NOLIB")


@pytest.mark.rule("DTAQ-FIND-FIRST-MATCH")
def test_a_match_without_authority_is_an_error(system, officer):
    system.crtlib("FIRST")
    officer.crtdtaq(dtaq="FIRST/WORK", maxlen=10, aut="*EXCLUDE")
    officer.crtdtaq(dtaq="APPLIB/WORK", maxlen=10)
    with system.job(user="ANNA", library_list=("FIRST", "APPLIB")) as job:
        expect_rule("DTAQ-FIND-FIRST-MATCH", job.qsnddtaq, "WORK", "*LIBL", b"x")


@pytest.mark.rule("DTAQ-ADDRESS-CACHE", "DTAQ-ADDRESS-LIBL")
@pytest.mark.parametrize("how", ["rename", "move"])
def test_a_job_keeps_reaching_the_queue_it_knew(system, officer, job, how):
    system.crtlib("ARCHIVE")
    officer.crtdtaq(dtaq="APPLIB/WORK", maxlen=10)
    job.addlible("APPLIB")
    job.qsnddtaq("WORK", "APPLIB", b"old")
    if how == "rename":
        officer.rnmobj("APPLIB/WORK", "WORKOLD")
    else:
        officer.movobj("APPLIB/WORK", "ARCHIVE")
    officer.crtdtaq(dtaq="APPLIB/WORK", maxlen=20)
    job.qsnddtaq("WORK", "APPLIB", b"also old")
    used = job.qmhqrdqd("WORK", "APPLIB")
    expected = ("WORKOLD", "APPLIB") if how == "rename" else ("WORK", "ARCHIVE")
    assert (used.data_queue_name_used, used.data_queue_library_used) == expected
    assert (used.number_of_messages, used.message_length) == (2, 10)
    assert job.qmhrdqm("WORK", "APPLIB").number_of_messages_available == 2
    assert job.qmhqrdqd("WORK", "*LIBL").number_of_messages == 0  # resolved again: the new one
    with system.job(user="ANNA") as fresh:
        assert fresh.qrcvdtaq("WORK", "APPLIB") is None
        assert fresh.qmhqrdqd("WORK", "APPLIB").message_length == 20
    officer.dltdtaq("/".join(reversed(expected)))
    assert job.qrcvdtaq("WORK", "APPLIB") is None  # forgotten with its end: the new queue now
    assert job.qmhqrdqd("WORK", "APPLIB").message_length == 20


def test_moving_and_renaming_refuse(system, officer, other, work):
    system.crtlib("ARCHIVE")
    officer.crtdtaq(dtaq="ARCHIVE/WORK", maxlen=10)
    officer.crtdtaq(dtaq="QTEMP/WORK", maxlen=10)
    for call, message in (
        (
            lambda: officer.movobj("APPLIB/WORK", "ARCHIVE"),
            "CPF2112 Object WORK in ARCHIVE type \\*DTAQ already exists",
        ),
        (lambda: officer.movobj("APPLIB/WORK", "NOLIB"), "CPF2110"),
        (lambda: officer.rnmobj("APPLIB/NOWHERE", "X"), "CPF2105 Object NOWHERE in APPLIB type \\*DTAQ not found"),
        (lambda: officer.movobj("NOLIB/WORK", "ARCHIVE"), "CPF2110"),
        (lambda: officer.movobj("QTEMP/WORK", "ARCHIVE"), "CPF2112"),
        (lambda: officer.movobj("APPLIB/WORK", "QTEMP"), "no object can be moved into QTEMP"),
    ):
        with pytest.raises(Exception, match=message):
            call()
    other.alcobj([("APPLIB/WORK", "*SHRRD")])
    with pytest.raises(Exception, match="CPF2114"):
        officer.rnmobj("APPLIB/WORK", "NEW")
    with system.job(user="ANNA") as anna, pytest.raises(Exception, match="CPF2189"):
        anna.rnmobj("APPLIB/WORK", "NEW")


def test_moving_to_the_current_library_and_renaming_in_qtemp(officer, work):
    officer.command("MOVOBJ APPLIB/WORK *DTAQ *CURLIB")
    assert officer.qmhqrdqd("WORK", "QGPL").data_queue_library_used == "QGPL"
    officer.crtdtaq(dtaq="QTEMP/TEMP", maxlen=10)
    officer.rnmobj("QTEMP/TEMP", "NEW")
    assert officer.qmhqrdqd("NEW", "QTEMP").data_queue_name_used == "NEW"


@pytest.mark.rule("DTAQ-MOVE-LIBRARY")
@pytest.mark.parametrize(
    ("source", "target", "moves"),
    [
        ("*DLT *EXECUTE", "*ADD *READ", True),
        ("*EXECUTE", "*ADD *READ", False),
        ("*DLT", "*ADD *READ", False),
        ("*DLT *EXECUTE", "*ADD", False),
        ("*DLT *EXECUTE", "*READ", False),
        ("*UPD *EXECUTE", "", True),
        ("*EXECUTE", "", False),
        ("*UPD", "", False),
    ],
)
def test_moving_and_renaming_need_authority_to_the_libraries(system, officer, source, target, moves):
    for name, authority in (("OLD", source), ("NEW", target)):
        officer.crtlib(name, aut="*EXCLUDE")
        if authority:
            officer.grtobjaut(name, "ANNA", authority, objtype="*LIB")
    officer.crtdtaq("OLD/Q", maxlen=10, aut="*ALL")
    with system.job(user="ANNA") as anna:
        call, to = (anna.movobj, "NEW") if target else (anna.rnmobj, "R")
        if moves:
            call("OLD/Q", to)
        else:
            expect_rule("DTAQ-MOVE-LIBRARY", call, "OLD/Q", to)


@pytest.mark.rule("DTAQ-LOCK-STEPPED")
def test_two_jobs_stepped_by_hand(system, officer, work):
    officer.crtdtaq("APPLIB/REST", maxlen=10)

    def program(first, second):
        def run(job):
            job.alcobj([(first, "*EXCL")])
            job.alcobj([(second, "*EXCL")], wait=10)
            job.dlcobj([(first, "*EXCL"), (second, "*EXCL")])
            return "both"

        return run

    one = system.stepped(program("APPLIB/WORK", "APPLIB/REST"), user="QSECOFR")
    two = system.stepped(program("APPLIB/REST", "APPLIB/WORK"), user="QSECOFR")
    assert (one.before, two.before) == ("alcobj", "alcobj")
    assert officer.wrkobjlck("APPLIB/WORK") == ()
    assert (one.step(), two.step()) == ("alcobj", "alcobj")  # each has its first
    assert (one.step(), two.step()) == ("", "")  # each waits for the other's
    assert one.waits_for == two.waits_for == "an object lock"
    assert [entry.status for entry in officer.wrkobjlck("APPLIB/WORK")] == ["HELD", "WAIT"]
    expect_rule("DTAQ-LOCK-STEPPED", one.result)  # its wait is over first, and its end frees the other
    assert two.result() == "both"


def test_a_stepped_receive(system, officer, work):
    waiting = system.stepped(lambda job: [job.qrcvdtaq("APPLIB/WORK", wait=-1).data, job.qmhqrdqd("APPLIB/WORK")])
    assert waiting.before == "qrcvdtaq"
    officer.qsnddtaq("APPLIB/WORK", data=b"x")
    assert (waiting.before, waiting.step(), waiting.done) == ("qrcvdtaq", "qmhqrdqd", False)
    assert waiting.result()[0] == b"x"


def test_a_lock_that_was_taken_twice_is_released_twice(officer, work):
    for _ in range(2):
        officer.alcobj([("APPLIB/WORK", "*SHRRD")])
    for left in (1, 0):
        officer.dlcobj([("APPLIB/WORK", "*SHRRD")])
        assert [entry.state for entry in officer.wrkobjlck("APPLIB/WORK")] == ["*SHRRD"] * left


def test_the_end_of_a_job_releases_what_is_left_of_a_lock_that_was_taken_several_times(system, officer, work):
    with system.job(user="QSECOFR") as holder:
        for _ in range(3):
            holder.alcobj([("APPLIB/WORK", "*EXCL")])
        holder.dlcobj([("APPLIB/WORK", "*EXCL")])
        expect_rule("DTAQ-LOCK-ALCOBJ", officer.alcobj, [("APPLIB/WORK", "*SHRRD")], 0)
    assert officer.wrkobjlck("APPLIB/WORK") == ()
    officer.alcobj([("APPLIB/WORK", "*EXCL")], 0)


def test_a_job_that_only_its_own_locks_stand_in_the_way_of_gets_its_turn_first(system, officer, work):
    got = []

    def upgrade(job):
        job.alcobj([("APPLIB/WORK", "*SHRRD")])
        job.alcobj([("APPLIB/WORK", "*EXCL")], wait=60)
        got.append(job.name)

    def take(job):
        job.alcobj([("APPLIB/WORK", "*EXCL")], wait=60)
        got.append(job.name)

    officer.alcobj([("APPLIB/WORK", "*SHRRD")])
    system.start(upgrade, name="UPGRADES")
    system.dispatcher.run_ready()
    system.start(take, name="TAKES")
    system.dispatcher.run_ready()
    officer.dlcobj([("APPLIB/WORK", "*SHRRD")])
    assert got == ["UPGRADES", "TAKES"]


@pytest.mark.parametrize("users", [[], "", " "])
def test_an_authority_is_granted_to_somebody(officer, work, users):
    with pytest.raises(ParameterError, match="a user profile or \\*PUBLIC is needed"):
        officer.grtobjaut("APPLIB/WORK", users, "*USE")
