"""Connected regions and IBM i systems are crashed at every point; what must hold holds, and what cannot is found."""

from __future__ import annotations

from typing import Any

import pytest

from tdqsim import EscapeMessage, Region, System, TdqError, define_tdqueue, define_transaction
from tdqsim.cics import Sysplex
from tdqsim.definitions import Definitions, define_dtaq
from tdqsim.ibmi.messages import message
from tdqsim.testing import (
    CrashFailure,
    History,
    check_history,
    enumerate_crashes,
    enumerate_sysplex_crashes,
    enumerate_system_crashes,
)


def intra(name: str, recovstatus: str = "LOGICAL", **attributes: Any) -> Any:
    return define_tdqueue(name=name, type="INTRA", recovstatus=recovstatus, **attributes)


REGIONS = {"CICA": [intra("HERE")], "CICB": [intra("FAR"), intra("FAR2", "NO")]}


def ship(queue: str):
    """One record is moved to the other region."""

    def scenario(sysplex: Sysplex, told: list[str]) -> None:
        region = sysplex.regions["CICA"]
        region.writeq_td("HERE", b"payment")
        told.append("accepted")

        def move(task) -> None:
            task.writeq_td(queue, task.readq_td("HERE"), sysid="CICB")
            task.syncpoint()
            told.append("moved")

        region.start(move)
        sysplex.run()

    return scenario


def is_on_one_queue(queue: str):
    def check(sysplex: Sysplex, told: list[str]) -> None:
        here, far = sysplex.regions["CICA"], sysplex.regions["CICB"]
        assert not here.recovery.shunted
        assert not far.recovery.shunted
        there = here.peek("HERE") + far.peek(queue)
        assert there == [b"payment"] or not told
        assert "moved" not in told or far.peek(queue) == [b"payment"]

    return check


def test_a_unit_of_work_of_two_regions_survives_the_end_of_either_everywhere() -> None:
    report = enumerate_sysplex_crashes(ship("FAR"), is_on_one_queue("FAR"), REGIONS)
    points = set(report.points)
    assert {"CICB: PREPARE arrives", "CICB: before VOTE is sent", "CICB: the decision arrives"} <= points
    for region in REGIONS:
        assert {f"{region}: durable: before commit", f"{region}: durable: after commit"} <= points
    assert report.tried == len(report.points) - 1 > 15


def test_what_a_crash_loses_of_a_queue_that_is_not_recoverable_is_found() -> None:
    with pytest.raises(CrashFailure) as failed:
        enumerate_sysplex_crashes(ship("FAR2"), is_on_one_queue("FAR2"), REGIONS)
    with pytest.raises(CrashFailure, match=f"point {failed.value.point} "):
        enumerate_sysplex_crashes(ship("FAR2"), is_on_one_queue("FAR2"), REGIONS, points=[failed.value.point])


def test_the_regions_that_are_left_go_on() -> None:
    """The region in the middle of a chain ends; a task that has nothing to do with it comes to its end."""
    regions = {"CICA": [intra("HERE")], "CICB": [intra("MID")], "CICC": [intra("LAST")]}
    prepared: list[Region] = []

    def scenario(sysplex: Sysplex, told: list[str]) -> None:
        for applid, queue in (("CICB", "MID"), ("CICC", "LAST")):
            sysplex.regions["CICA"].start(
                lambda task, sysid, name: task.writeq_td(name, b"x", sysid=sysid), applid, queue
            )
        first = len(prepared)
        sysplex.regions["CICA"].start(
            lambda task: (task.delay(seconds=5), told.append("alone" if len(prepared) == first else "late"))
        )
        sysplex.regions["CICB"].inquire_tdqueue("MID")  # the region may end here, before any task has run
        sysplex.run()
        told.append("all")

    def check(sysplex: Sysplex, told: list[str]) -> None:
        assert set(sysplex.regions) == set(regions)
        survivors = [
            name for name in ("MID", "LAST") if sysplex.regions["CICB" if name == "MID" else "CICC"].peek(name)
        ]
        assert ("alone" in told and survivors) or "all" not in told
        assert "late" not in told  # it does not wait for the restart

    report = enumerate_sysplex_crashes(
        scenario, check, regions, links=[("CICA", "CICB"), ("CICA", "CICC")], prepare=prepared.append
    )
    assert {point.partition(":")[0] for point in report.points[:-1]} == set(regions)


def test_a_restart_is_prepared_like_the_first_start() -> None:
    prepared: list[object] = []

    def is_prepared(subject: object, _told: list[str]) -> None:
        assert prepared[-1] is subject

    enumerate_crashes(
        lambda region, _told: region.writeq_td("HERE", b"x"), is_prepared, [intra("HERE")], prepare=prepared.append
    )
    enumerate_system_crashes(lambda _system, told: told.append("nothing"), is_prepared, prepare=prepared.append)

    def prepare(region: Region) -> None:
        region.start(lambda _task: prepared.append(region))

    def have_run(sysplex: Sysplex, _told: list[str]) -> None:
        assert set(sysplex.regions.values()) <= set(prepared)

    enumerate_sysplex_crashes(
        lambda sysplex, _told: sysplex.regions["CICA"].writeq_td("HERE", b"x"), have_run, REGIONS, prepare=prepare
    )


def test_a_trigger_far_away_is_not_lost() -> None:
    """A TERMINAL or SYSTEM start may be lost with its region; the records and the level bring it back."""
    regions = {
        "CICA": [],
        "CICB": [
            intra("PAYQ", transid="PAYP", triggerlevel=2, atifacility="FILE"),
            intra("DONE"),
            define_transaction(name="PAYP"),
        ],
    }

    def handler(task) -> None:
        while (record := task.readq_td("PAYQ", nohandle=True)) and task.eib.eibresp == 0:
            task.writeq_td("DONE", record)

    def scenario(sysplex: Sysplex, told: list[bytes]) -> None:
        for number in range(2):
            sysplex.regions["CICA"].writeq_td("PAYQ", b"%d" % number, sysid="CICB")
            told.append(b"%d" % number)
        sysplex.run()

    def check(sysplex: Sysplex, told: list[bytes]) -> None:
        region = sysplex.regions["CICB"]
        left = region.peek("PAYQ") + region.peek("DONE")
        assert set(told) <= set(left)
        assert len(left) == len(set(left))

    enumerate_sysplex_crashes(
        scenario, check, regions, prepare=lambda region: region.register("PAYP", handler) if region.applid == "CICB" else None
    )  # fmt: skip


def test_a_region_may_be_closed_in_a_task_of_another_while_it_has_tasks() -> None:
    seen: list[str] = []
    with Sysplex() as sysplex:
        one, other = (
            sysplex.region([intra("HERE")], applid=name, sysid=name, supplied_queues=False) for name in ("CICA", "CICB")
        )

        def kill(task) -> None:
            other.close(clean=False)
            seen.append("closed")
            task.delay(seconds=5)
            seen.append("woke")

        other.start(lambda task: task.delay(seconds=50))
        one.start(kill)
        one.start(lambda task: (task.delay(seconds=1), seen.append("first")))
        sysplex.run()
    assert seen == ["closed", "first", "woke"]


# -- IBM i --------------------------------------------------------------------------------------------------------

DTAQS = Definitions.of(
    [
        define_dtaq(dtaq="APPLIB/FORCED", maxlen=20, force="*YES"),
        define_dtaq(dtaq="APPLIB/PLAIN", maxlen=20),
        define_dtaq(dtaq="APPLIB/KEYED", maxlen=20, seq="*KEYED", keylen=2, force="*YES", senderid="*YES"),
    ]
)


def traffic(name: str, key: bytes | None = None):
    """One job sends, another one receives; what the calls returned is told."""

    def scenario(system: System, told: list[Any]) -> None:
        def send(job) -> None:
            for number in range(4):
                job.qsnddtaq(name, "APPLIB", b"%d" % number, key)
                told.append(("sent", b"%d" % number))

        def receive(job) -> None:
            for _ in range(2):
                entry = job.qrcvdtaq(name, "APPLIB", -1, "EQ", key)
                told.append(("received", entry.data))

        system.start(receive)
        system.start(send)
        system.run()

    return scenario


def entries(system: System, name: str) -> list[bytes]:
    queue = next(queue for queue in system.queues() if queue.name == name)
    return [entry.data for entry in queue.stored.entries()]


def nothing_forced_is_lost(name: str):
    """One receive may have taken its entry and not been told."""

    def check(system: System, told: list[Any]) -> None:
        sent = [data for what, data in told if what == "sent"]
        received = [data for what, data in told if what == "received"]
        left = entries(system, name)
        assert left == sorted(left)
        assert not set(left) & set(received)
        missing = set(sent) - set(received) - set(left)
        assert len(missing) <= 2  # an entry may be with each receive that has not come back

    return check


@pytest.mark.parametrize(("name", "key"), [("FORCED", None), ("KEYED", b"AB")])
def test_forced_entries_survive_everywhere(name: str, key: bytes | None) -> None:
    report = enumerate_system_crashes(traffic(name, key), nothing_forced_is_lost(name), DTAQS)
    assert report.tried == len(report.points) - 1 > 20
    assert any(point.startswith("before QSNDDTAQ APPLIB/") for point in report.points)
    assert "durable: after commit" in report.points


def test_messages_that_are_planned_come_in_every_run_and_a_restart_is_a_second_later() -> None:
    planned = message("CPF9872", "QSNDDTAQ", "QSYS", 1)

    def prepare(system: System) -> None:
        system.faults = lambda _job, operation, _name, _library: planned if operation == "QSNDDTAQ" else None

    def scenario(system: System, told: list[Any]) -> None:
        told.append(system.clock.time_ns())
        with system.job() as job:
            try:
                job.qsnddtaq("FORCED", "APPLIB", b"x")
                told.append("sent")
            except EscapeMessage as error:
                told.append(error.message_id)

    def check(system: System, told: list[Any]) -> None:
        assert told[1:] in ([], ["CPF9872"])
        assert not told or system.clock.time_ns() - told[0] == 1_000_000_000

    enumerate_system_crashes(scenario, check, DTAQS, prepare=prepare)


def no_wait(system: System, told: list[Any]) -> None:
    with system.job() as job:
        for number in range(3):
            job.qsnddtaq("FORCED", "APPLIB", b"f%d" % number)
            job.qsnddtaq("PLAIN", "APPLIB", b"p%d" % number)
            told.append(number)
        job.qrcvdtaq("FORCED", "APPLIB")
        told.append("received")


def test_a_forced_send_that_has_returned_is_there() -> None:
    def check(system: System, told: list[Any]) -> None:
        first = 1 if "received" in told else 0
        wanted = [b"f%d" % number for number in told if number != "received"]
        assert entries(system, "FORCED") in (wanted[first:], [*wanted, b"f%d" % len(wanted)], wanted[1:])

    enumerate_system_crashes(no_wait, check, list(DTAQS.dtaqs))


def test_what_force_no_may_lose_is_found_when_a_test_wants_it_kept() -> None:
    def check(system: System, told: list[Any]) -> None:
        assert len(entries(system, "PLAIN")) >= len([number for number in told if number != "received"])

    with pytest.raises(CrashFailure) as failed:
        enumerate_system_crashes(no_wait, check, DTAQS)
    assert "AssertionError" in str(failed.value)


def test_a_queue_that_was_made_or_deleted_is_whole_after_every_crash() -> None:
    def scenario(system: System, told: list[str]) -> None:
        with system.job() as job:
            job.crtdtaq(dtaq="APPLIB/NEW", maxlen=10, force="*YES")
            told.append("made")
            job.qsnddtaq("NEW", "APPLIB", b"1")
            told.append("sent")
            job.rnmobj("APPLIB/NEW", "OLD")
            told.append("renamed")
            job.dltdtaq("APPLIB/OLD")
            told.append("deleted")

    def check(system: System, told: list[str]) -> None:
        names = {queue.name for queue in system.queues()} & {"NEW", "OLD"}
        done = len(told)
        stages: list[set[str]] = [set(), {"NEW"}, {"NEW"}, {"OLD"}, set()]
        assert names in stages[done : done + 2]  # the command that was under way may be done
        if names and done >= 2:
            assert entries(system, names.pop()) == [b"1"]

    enumerate_system_crashes(scenario, check, DTAQS)


def test_a_scenario_that_is_not_the_same_each_time_is_refused() -> None:
    runs: list[int] = []

    def scenario(system: System, _told: list[Any]) -> None:
        runs.append(1)
        with system.job() as job:
            for _ in range(3 if len(runs) == 1 else 0):
                job.qsnddtaq("FORCED", "APPLIB", b"x")

    with pytest.raises(TdqError, match="does not do the same each time"):
        enumerate_system_crashes(scenario, lambda _system, _told: None, DTAQS)


def test_a_point_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="there is no point 1000; allowed are 0 to"):
        enumerate_system_crashes(no_wait, lambda _system, _told: None, DTAQS, points=[1000])


def test_the_fixture_crashes_a_region_a_sysplex_and_a_system(tdq_crashes) -> None:
    assert tdq_crashes(lambda region, _told: region.writeq_td("HERE", b"x"), lambda _r, _t: None, [intra("HERE")]).tried
    assert tdq_crashes.sysplex(ship("FAR"), is_on_one_queue("FAR"), REGIONS, points=[3]).tried == 1
    assert tdq_crashes.system(no_wait, lambda _system, _told: None, DTAQS, points=[0, 1]).tried == 2


# -- torn commits -------------------------------------------------------------------------------------------------


def much(region, told: list[Any]) -> None:
    """Units of work that are too large for the store's log, and a small one between them."""
    for number in range(2):
        with region.task() as task:
            for record in range(60):
                task.writeq_td("HERE", b"%d %d " % (number, record) + b"x" * 400)
        told.append(number)
        region.writeq_td("HERE", b"small %d" % number)


def all_or_nothing(region, told: list[Any]) -> None:
    records = [record.rstrip(b"x") for record in region.peek("HERE")]
    for number in range(2):
        count = sum(record.startswith(b"%d " % number) for record in records)
        assert count in (0, 60)
        assert count or number not in told


def torn_points(enumerate_them, *arguments: Any, **options: Any) -> list[int]:
    every = enumerate_them(*arguments, points=[], torn=True, **options).points
    return [number for number, point in enumerate(every) if "torn" in point]


@pytest.mark.parametrize("durability", ["process", "power"])
def test_torn_commits_of_every_size_are_noticed_or_harmless(durability: str) -> None:
    what: tuple[Any, ...] = (much, all_or_nothing, [intra("HERE")])
    torn = torn_points(enumerate_crashes, *what, durability=durability)
    assert len(torn) >= 4
    report = enumerate_crashes(*what, points=torn, torn=True, durability=durability)
    assert report.refused == 0 or durability == "process"


def test_a_torn_commit_that_was_synced_has_not_happened() -> None:
    def write(region: Region, told: list[Any]) -> None:
        for record in (b"1", b"2", b"3"):
            region.writeq_td("HERE", record)
            told.append(record)

    def is_as_told(region: Region, told: list[Any]) -> None:
        assert region.peek("HERE") == told

    torn = torn_points(enumerate_crashes, write, is_as_told, [intra("HERE")], durability="power")
    options: dict[str, Any] = {"points": torn, "torn": True, "durability": "power"}
    assert enumerate_crashes(write, is_as_told, [intra("HERE")], **options).tried >= 3


def test_torn_commits_of_connected_regions_and_systems_are_noticed_or_harmless() -> None:
    what: tuple[Any, ...] = (ship("FAR"), is_on_one_queue("FAR"), REGIONS)
    torn = torn_points(enumerate_sysplex_crashes, *what)
    assert enumerate_sysplex_crashes(*what, points=torn, torn=True).tried >= 4
    what = (no_wait, lambda _system, _told: None, DTAQS)
    torn = torn_points(enumerate_system_crashes, *what)
    assert enumerate_system_crashes(*what, points=torn[:4], torn=True).tried == 4


# -- histories over crashes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("recovstatus", ["LOGICAL", "PHYSICAL", "NO"])
def test_histories_over_every_crash_are_sound(recovstatus: str) -> None:
    """The checker knows what each restart must find, and so the test needs no check of its own."""
    queues = [intra("HERE", recovstatus), intra("DONE")]
    histories: list[History] = []

    def scenario(region, _told: list[Any]) -> None:
        histories.append(History().attach(region))
        for number in range(3):
            region.writeq_td("HERE", b"%d" % number)

        def move(task) -> None:
            for _ in range(2):
                task.writeq_td("DONE", task.readq_td("HERE"))
            task.syncpoint()
            task.readq_td("HERE")
            task.syncpoint_rollback()
            task.readq_td("HERE", nohandle=True)
            task.deleteq_td("HERE")

        region.start(move)
        region.run()

    def check(region, _told: list[Any]) -> None:
        history = histories[-1].attach(region)
        region.readq_td("HERE", nohandle=True)
        region.writeq_td("DONE", b"after")
        check_history(history.events, final={name: region.peek(name) for name in ("HERE", "DONE")}).check()

    enumerate_crashes(scenario, check, queues)
    assert len(histories) > 12


def test_histories_of_jobs_over_every_crash_are_sound() -> None:
    histories: list[History] = []

    def scenario(system: System, told: list[Any]) -> None:
        histories.append(History().attach(system))
        traffic("FORCED")(system, told)
        no_wait(system, told)
        with system.job() as job:
            job.qclrdtaq("FORCED", "APPLIB")

    def check(system: System, _told: list[Any]) -> None:
        history = histories[-1].attach(system)
        with system.job() as job:
            job.qrcvdtaq("FORCED", "APPLIB")
        final = {queue.qualified: [one.data for one in queue.stored.entries()] for queue in system.queues()}
        check_history(history.events, final=final).check()

    enumerate_system_crashes(scenario, check, DTAQS)
