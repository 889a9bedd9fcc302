"""What is kept of a history."""

from __future__ import annotations

import random
import tracemalloc
from contextlib import suppress
from itertools import pairwise

import pytest

from tdqsim import Condition, Region, System, define_tdqueue, define_transaction
from tdqsim.report import history_sections
from tdqsim.report.digest import Digest, Moment
from tdqsim.report.parts import Part, Prose, Table
from tdqsim.testing.following import Follower

LOGICAL = define_tdqueue(
    name="PAYQ", type="INTRA", recovstatus="LOGICAL", transid="PAYP", triggerlevel=3, atifacility="FILE"
)
PLAIN = define_tdqueue(name="AUDT", type="INTRA")


def moment(what: str, at: int, **more: object) -> Moment:
    return Moment(at, what, **more)  # type: ignore[arg-type]


def test_depth_follows_writes_reads_and_backouts() -> None:
    with Region([LOGICAL, PLAIN], supplied_queues=False) as region:
        region.seed("AUDT", [b"s1", b"s2"])
        follower = Follower(region)
        with region.task() as task:
            task.writeq_td("PAYQ", b"1")
            task.writeq_td("PAYQ", b"2")
            task.syncpoint()
            task.readq_td("PAYQ")
            task.writeq_td("PAYQ", b"3")
            task.writeq_td("PAYQ", b"4")
            task.syncpoint_rollback()
            task.readq_td("AUDT")
        region.writeq_td("AUDT", b"5")
        region.deleteq_td("PAYQ")
        digest = follower.digest()
    pay, audit = digest.queues["PAYQ"], digest.queues["AUDT"]
    assert [point.value for point in pay.steps] == [0, 1, 2, 1, 2, 3, 2, 0]
    assert (pay.depth, pay.deepest) == (0, 3)
    assert [point.value for point in audit.steps] == [2, 1, 2]
    assert pay.counts == {"WRITEQ TD": 4, "READQ TD": 1, "DELETEQ TD": 1}


def test_refused_commands_are_counted_but_not_those_that_end_their_task() -> None:
    with Region([LOGICAL, PLAIN], supplied_queues=False) as region:
        region.set_tdqueue("AUDT", enablestatus="DISABLED")
        follower = Follower(region)
        with region.task() as task:
            for _time in range(3):
                task.writeq_td("AUDT", b"1", nohandle=True)
            task.readq_td("PAYQ", nohandle=True)  # QZERO is ordinary
        region.start(lambda task: task.writeq_td("AUDT", b"1"))
        region.run()
        digest = follower.digest()
    (table,) = history_sections.refused(digest)
    assert isinstance(table, Table)
    assert [(row[0], row[1], str(row[2]), row[4]) for row in table.rows] == [("WRITEQ TD", "AUDT", "DISABLED", 3)]


@pytest.mark.parametrize("seed", range(5))
def test_depth_at_the_end_is_what_is_there(seed: int) -> None:
    choose = random.Random(seed)
    with Region([LOGICAL, PLAIN, define_transaction(name="PAYP")], supplied_queues=False) as region:
        region.register("PAYP", lambda task: task.readq_td("PAYQ"))
        follower = Follower(region)
        for _ in range(200):
            with region.task() as task:
                for _ in range(choose.randrange(4)):
                    name = choose.choice(("PAYQ", "AUDT"))
                    act = choose.choice((task.readq_td, task.writeq_td, task.deleteq_td))
                    with suppress(Condition):
                        act(name, *([b"x"] if act == task.writeq_td else []))
                if choose.random() < 0.4:
                    task.syncpoint_rollback()
            region.run()
        digest = follower.digest()
        there = {name: len(region.peek(name)) for name in ("PAYQ", "AUDT")}
    assert {name: digest.queues[name].depth for name in there} == there


def test_tasks_waits_and_abends_are_bars() -> None:
    with Region([LOGICAL, PLAIN, define_transaction(name="BADT")], supplied_queues=False) as region:
        follower = Follower(region)

        def bad(task):
            task.writeq_td("PAYQ", b"1")
            task.delay(seconds=7)
            task.abend("OOPS")

        region.register("BADT", bad)
        region.start("BADT")
        region.run()
        digest = follower.digest()
        found = {bar.kind: bar for bar in digest.bars()}
    assert set(found) == {"abend", "backed out", "waits"}
    assert found["waits"].seconds[1] - found["waits"].seconds[0] >= 7
    assert "DELAY" in found["waits"].text
    assert found["abend"].text.endswith("abend OOPS")
    assert digest.abends == {"OOPS": 1}
    assert digest.queues["PAYQ"].depth == 0


def test_a_task_that_waits_for_another_is_shown_waiting() -> None:
    with Region([LOGICAL], supplied_queues=False) as region:
        follower = Follower(region)

        def holds(task):
            task.writeq_td("PAYQ", b"1")
            task.delay(seconds=2)

        one, other = region.start(holds), region.start(lambda task: task.writeq_td("PAYQ", b"2"))
        region.run()
        one.result(), other.result()
        bars = [bar for bar in follower.digest().bars() if bar.kind == "waits"]
    assert len(bars) == 2
    assert any("PAYQ" in bar.text for bar in bars)


def test_triggers_are_kept_with_the_queue_that_started_them() -> None:
    with Region([LOGICAL, define_transaction(name="PAYP")], supplied_queues=False) as region:

        def pay(task):
            with suppress(Condition):
                while True:
                    task.readq_td("PAYQ")

        region.register("PAYP", pay)
        follower = Follower(region)
        for number in range(6):
            region.writeq_td("PAYQ", b"%d" % number)
        region.run()
        digest = follower.digest()
    assert digest.trigger_count == 2
    assert [each.queue for each in digest.triggers] == ["PAYQ", "PAYQ"]
    assert all(each.task.endswith("PAYP") for each in digest.triggers)


def test_data_queues_too() -> None:
    with System() as system, system.job() as job:
        follower = Follower(system)
        job.crtdtaq(dtaq="QGPL/ORDERS", maxlen=10)
        for number in range(4):
            job.qsnddtaq("ORDERS", "QGPL", b"%d" % number)
        job.qrcvdtaq("ORDERS", "QGPL", remove=False)
        job.qrcvdtaq("ORDERS", "QGPL")
        job.qclrdtaq("ORDERS", "QGPL")
        job.qsnddtaq("ORDERS", "QGPL", b"last")
        digest = follower.digest()
    queue = digest.queues["QGPL/ORDERS"]
    assert [point.value for point in queue.steps] == [1, 2, 3, 4, 3, 0, 1]
    assert queue.counts["QSNDDTAQ"] == 5
    assert len({bar.lane for bar in digest.bars()}) == 1


def test_events_without_end_take_the_room_of_few() -> None:
    digest = Digest()
    tracemalloc.start()
    for number in range(9_000):
        task, queue = f"task {number}", f"Q{number % (700 if number < 2_000 else 7)}"
        digest.take(moment("START", number * 1000, task=task, part="begin"))
        digest.take(moment("WRITEQ TD", number * 1000, task=task, queue=queue, change=1, unit=f"u{number}"))
        digest.take(moment("COMMIT", number * 1000, task=task, part="commit", unit=f"u{number}"))
        digest.take(moment("END", number * 1000, task=task, part="end", wrong="ASRA" if number % 10 == 0 else ""))
        if number == 3_000:
            early = tracemalloc.get_traced_memory()[0]
    late = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert digest.events == 36_000
    assert late < early * 1.5
    assert len(digest.queues) == 500
    assert len(digest.queues_left_out) == 200
    lanes = {bar.lane for bar in digest.bars()}
    assert len(lanes) == 60
    assert digest.bars_left_out == 9_000 - 60
    assert sum(bar.kind == "abend" for bar in digest.bars()) == 30
    assert digest.abends == {"ASRA": 900}


def test_thinned_steps_keep_the_peak_and_the_end() -> None:
    digest = Digest(steps=50)
    for number in range(10_001):
        digest.take(moment("WRITEQ TD", number, queue="Q", change=1))
    for number in range(9_990):
        digest.take(moment("READQ TD", 10_001 + number, queue="Q", change=-1))
    steps = digest.steps("Q")
    assert len(steps) <= 102
    assert max(point.value for point in steps) == 10_001
    assert steps[-1].value == 11
    assert [point.order for point in steps] == sorted(point.order for point in steps)


def test_tasks_of_one_command_do_not_pile_up() -> None:
    digest = Digest(tasks=5)
    for number in range(1000):
        digest.take(moment("WRITEQ TD", number, task=f"task {number}", queue="Q", change=1))
    assert len({bar.lane for bar in digest.bars()}) <= 10


def test_operations_are_asked_for_their_line_only_when_shown() -> None:
    digest = Digest()
    asked = []
    for number in range(100):
        digest.take(moment("WRITEQ TD", number, queue="Q", line=lambda n=number: asked.append(n) or f"line {n}"))
    assert asked == []
    texts = [part.text for part in history_sections.operations(digest) if isinstance(part, Prose)]
    assert asked == list(range(92, 100))
    assert texts[1].splitlines() == [f"line {n}" for n in range(92, 100)]


@pytest.mark.parametrize("count", [3, 100, 999, 12_345, 200_000])
def test_the_line_of_a_long_history_is_as_fine_at_its_beginning_as_at_its_end(count: int) -> None:
    digest = Digest(steps=50)
    digest.follow(Moment(number, "WRITEQ TD", queue="PAYQ", change=1) for number in range(count))
    steps = digest.steps("PAYQ")
    assert (steps[0].value, steps[-1].value) == (1, count)
    gaps = [after.order - before.order for before, after in pairwise(steps[:-1])]
    assert len(steps) <= 102
    assert max(gaps) <= max(1, count // 10)
    assert [each.value for each in steps] == sorted(each.value for each in steps)


def test_conditions_are_counted_by_queue() -> None:
    with Region([PLAIN, LOGICAL], supplied_queues=False) as region:
        follower = Follower(region)
        for queue in ("AUDT", "AUDT", "PAYQ"):
            with suppress(Condition):
                region.readq_td(queue)
        region.writeq_td("AUDT", b"1")
        digest = follower.digest()
    assert (digest.queues["AUDT"].wrong, digest.queues["PAYQ"].wrong) == ({"QZERO": 2}, {"QZERO": 1})
    table = "".join(history_sections.depth(digest)[0].words.html())
    assert "QZERO 2" in table


def texts(parts: list[Part]) -> list[tuple[str, bool]]:
    return [(part.text, part.quiet) for part in parts if isinstance(part, Prose) and not part.code]


@pytest.mark.parametrize(
    ("count", "more"), [(8, []), (11, [("The 8 deepest are drawn; 3 more are in the table.", True)])]
)
def test_the_deepest_queues_are_drawn(count: int, more: list[tuple[str, bool]]) -> None:
    digest = Digest()
    for n in range(count):
        digest.take(moment("WRITEQ TD", n, queue=f"Q{n}", change=1))
    digest.take(moment("READQ TD", count, queue="NONE", wrong="QZERO"))
    assert texts(history_sections.depth(digest)) == more


def test_queues_that_are_not_followed_are_counted() -> None:
    digest = Digest()
    for n in range(502):
        digest.take(moment("WRITEQ TD", n, queue=f"Q{n}", change=1))
    followed = "The first 500 queues are followed; at least 2 more are not."
    assert texts(history_sections.depth(digest))[-1] == (followed, True)


@pytest.mark.parametrize(("count", "said"), [(30, False), (31, True)])
def test_the_last_thirty_triggers_are_shown(count: int, said: bool) -> None:
    digest = Digest()
    for n in range(count):
        digest.take(moment("task", n, part="begin", task=f"task {n}", queue="PAYQ", started_by="PAYQ"))
    (table,) = history_sections.triggers(digest)
    shown = "".join(table.html())
    assert shown.count("<tr>") == 31
    assert (f"30 of {count} are shown; the last ones" in shown) is said


@pytest.mark.parametrize(("count", "more"), [(20, []), (21, ["1 more queues had operations."])])
def test_twenty_queues_show_their_operations(count: int, more: list[str]) -> None:
    digest = Digest()
    for n in range(count):
        digest.take(moment("WRITEQ TD", n, queue=f"Q{n}", change=1, line=str))
    assert [text for text, quiet in texts(history_sections.operations(digest)) if quiet] == more
