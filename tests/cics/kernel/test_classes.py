"""Transaction classes: how many tasks of a class are active and wait, and in which order they begin."""

from __future__ import annotations

import pytest

from tdqsim import Region, SystemOptions, define_tdqueue, define_terminal, define_transaction
from tdqsim.cics import Abend
from tdqsim.definitions import define_tranclass
from tests.rules import expect_rule, rule

PLAIN = {"supplied_queues": False}


class Crowd:
    """A region whose tasks wait for time, with the names of the tasks in order of their begins."""

    def __init__(self, *definitions, **options):
        members = [
            define_transaction(name="LOWP", tranclass="PAYCLASS", priority=1),
            define_transaction(name="HIGH", tranclass="PAYCLASS", priority=200),
            define_transaction(name="FREE"),
        ]
        self.region = Region([*definitions, *members], **PLAIN, **options)
        self.region.clock.freeze()  # however slow the machine is, nobody's wait is over before run() says so
        self.begun = []
        self.inside = self.most = 0
        for transid in ("LOWP", "HIGH", "FREE"):
            self.region.register(transid, self.program)

    def program(self, task, name=None):
        self.begun.append(name or task.transid)
        self.inside += 1
        self.most = max(self.most, self.inside)
        task.delay(interval=1)
        self.inside -= 1

    def start(self, transid, *names):
        handles = [self.region.start(transid, name) for name in names]
        self.region.dispatcher.run_ready()
        return handles

    def numbers(self):
        with self.region.task() as task:
            info = task.inquire_tranclass("PAYCLASS")
        return info.active, info.queued

    def set(self, **limits):
        with self.region.task() as task:
            task.set_tranclass("PAYCLASS", **limits)
        self.region.dispatcher.run_ready()

    def __enter__(self):
        return self

    def __exit__(self, *_error):
        self.region.close()


def pay_class(maxactive, purgethresh="NO"):
    return define_tranclass(name="PAYCLASS", maxactive=maxactive, purgethresh=purgethresh)


def code_of(handle):
    with pytest.raises(Abend) as abend:
        handle.result()
    return abend.value.code


@pytest.mark.rule("LIMIT-CLASS")
def test_tasks_over_maxactive_wait_and_others_do_not():
    with Crowd(pay_class(2)) as crowd:
        crowd.start("LOWP", "A", "B", "C", "D")
        crowd.start("FREE", "E", "F", "G")
        assert crowd.begun == ["A", "B", "E", "F", "G"]
        assert crowd.numbers() == (2, 2)
        crowd.region.run()
        assert crowd.begun[5:] == ["C", "D"]
        assert crowd.numbers() == (0, 0)


@pytest.mark.rule("LIMIT-CLASS")
def test_with_maxactive_0_every_task_waits():
    with Crowd(pay_class(0)) as crowd:
        crowd.start("LOWP", "A", "B")
        crowd.region.run()
        assert (crowd.begun, crowd.numbers()) == ([], (0, 2))
        crowd.set(maxactive=1)
        crowd.region.run()
        assert crowd.begun == ["A", "B"]


@pytest.mark.rule("LIMIT-CLASS-PRIORITY")
@pytest.mark.parametrize("seed", [0, 3])
def test_the_highest_priority_begins_first_and_of_equals_the_first_that_came(seed):
    with Crowd(pay_class(1), seed=seed) as crowd:
        crowd.start("LOWP", "A")
        crowd.start("LOWP", "B", "C")
        crowd.start("HIGH", "D", "E")
        crowd.region.run()
        assert crowd.begun == ["A", "D", "E", "B", "C"]


@pytest.mark.rule("LIMIT-CLASS-MXT")
def test_a_task_that_waits_for_its_class_takes_no_place_of_mxt():
    with Crowd(pay_class(1), system=SystemOptions(mxt=10)) as crowd:
        crowd.start("LOWP", *map(str, range(30)))
        crowd.start("FREE", *"ABCDEFGHIJ")
        assert crowd.begun == ["0", *"ABCDEFGHI"]
        assert crowd.numbers() == (1, 29)
        crowd.region.run()
        assert (crowd.most, len(crowd.begun)) == (10, 40)


def test_priority_decides_between_a_class_and_tasks_without_one_at_mxt():
    with Crowd(pay_class(5), system=SystemOptions(mxt=10)) as crowd:
        crowd.start("FREE", *"ABCDEFGHIJ")
        crowd.start("FREE", "K")
        crowd.start("HIGH", "L")
        crowd.region.run()
        assert crowd.begun[10:] == ["L", "K"]


@pytest.mark.rule("LIMIT-THRESHOLD")
def test_a_task_that_arrives_at_the_threshold_ends_with_akcc():
    with Crowd(pay_class(1, 3)) as crowd:
        handles = crowd.start("LOWP", "A", "B", "C", "D")
        assert crowd.numbers() == (1, 2)
        expect_rule("LIMIT-THRESHOLD", handles[3].result)
        crowd.region.run()
        assert crowd.begun == ["A", "B", "C"]


@pytest.mark.rule("LIMIT-THRESHOLD-MESSAGE")
def test_the_message_of_the_threshold_goes_to_csmt_or_to_the_terminal():
    definitions = [pay_class(1, 1), define_terminal(name="T001"), define_tdqueue(name="CSMT", type="INTRA")]
    message = rule("LIMIT-THRESHOLD-MESSAGE").message
    with Crowd(*definitions) as crowd:
        crowd.start("LOWP", "A", "B")
        written = [crowd.region.text(record) for record in crowd.region.peek("CSMT")]
        assert [text for text in written if text.startswith(message)]
        assert "Transaction LOWP has failed with abend AKCC." in written[0]
        crowd.region.screens.type("T001", "LOWP")
        crowd.region.dispatcher.run_ready()
        shown = crowd.region.screens.screen("T001").last.text
        assert shown.startswith(message)
        assert "Transaction LOWP has failed with abend AKCC." in shown


@pytest.mark.rule("LIMIT-THRESHOLD")
def test_with_threshold_1_no_task_waits():
    with Crowd(pay_class(1, 1)) as crowd:
        _first, second = crowd.start("LOWP", "A", "B")
        assert code_of(second) == "AKCC"


@pytest.mark.rule("SET-TRANCLASS-MAXACTIVE")
def test_set_maxactive():
    with Crowd(pay_class(1)) as crowd:
        crowd.start("LOWP", *"ABCDE")
        crowd.set(maxactive=3)
        assert crowd.begun == ["A", "B", "C"]
        crowd.set(maxactive=1)
        assert crowd.numbers() == (3, 2)
        crowd.region.run()
        assert crowd.begun == [*"ABCDE"]


@pytest.mark.rule("SET-TRANCLASS-THRESHOLD")
def test_a_lower_threshold_ends_the_tasks_of_the_lowest_priority():
    with Crowd(pay_class(1)) as crowd:
        crowd.start("LOWP", "A")
        handles = [*crowd.start("LOWP", "B", "C"), *crowd.start("HIGH", "D", "E"), *crowd.start("LOWP", "F")]
        crowd.set(purgethresh=4, maxactive=2)
        assert crowd.begun == ["A", "D"]
        assert [handle.done for handle in handles] == [False, False, False, False, True]
        expect_rule("SET-TRANCLASS-THRESHOLD", handles[4].result)
        crowd.set(purgethresh=2)
        assert [handle.done for handle in handles] == [True, True, False, False, True]
        crowd.region.run()
        assert crowd.begun == ["A", "D", "E"]


def test_a_class_installed_again_keeps_its_tasks():
    with Crowd(pay_class(1)) as crowd:
        crowd.start("LOWP", "A", "B", "C")
        crowd.region.install([pay_class(2)])
        crowd.region.dispatcher.run_ready()
        assert crowd.numbers() == (2, 1)
        crowd.region.run()


def test_classes_are_there_again_after_a_warm_start(tmp_path):
    members = [pay_class(4, 9), define_transaction(name="LOWP", tranclass="PAYCLASS")]
    with Region(members, store=tmp_path / "store", **PLAIN) as region, region.task() as task:
        task.set_tranclass("PAYCLASS", maxactive=7)
    with Region(store=tmp_path / "store", **PLAIN) as region, region.task() as task:
        assert task.inquire_tranclass("PAYCLASS", "MAXACTIVE", "PURGETHRESH").as_dict() == {
            "MAXACTIVE": 4, "PURGETHRESH": 9
        }  # fmt: skip


@pytest.mark.parametrize("seed", [0, pytest.param(5, marks=pytest.mark.slow)])
def test_a_storm_of_2000_triggers_runs_one_at_a_time_and_processes_every_record(seed):
    queues = [
        define_tdqueue(name=f"Q{n:03}", type="INTRA", transid="LOWP", triggerlevel=1, atifacility="FILE")
        for n in range(1000)
    ]
    with Crowd(pay_class(1), *queues, system=SystemOptions(mxt=50), seed=seed) as crowd:
        processed = []

        def consume(task):
            crowd.inside += 1
            crowd.most = max(crowd.most, crowd.inside)
            task.suspend()
            while record := task.readq_td(task.assign("QNAME"), nohandle=True):
                processed.append(record)
            crowd.inside -= 1

        crowd.region.register("LOWP", consume)
        for wave in range(2):
            for queue in queues:
                crowd.region.start(lambda task, name: task.writeq_td(name, b"record"), queue.name)
            crowd.region.run()
            assert len(processed) == 1000 * (wave + 1)
        assert crowd.most == 1
