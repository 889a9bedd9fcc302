"""MXT: how many tasks are active at once, and which task begins next."""

from __future__ import annotations

import pytest

from tdqsim import Condition, Region, SecurityOptions, SystemOptions, define_tdqueue, define_transaction
from tdqsim.cics import Abend, Access, AccessList
from tdqsim.errors import DefinitionError, UsageError
from tests.rules import expect_rule

PLAIN = {"supplied_queues": False}


class Crowd:
    """Tasks that each wait for time, with the most that were in their program at once and the order of their begins."""

    def __init__(self, region: Region) -> None:
        self.region = region
        region.clock.freeze()  # however slow the machine is, nobody's wait is over before run() says so
        self.begun: list[object] = []
        self.inside = self.most = 0

    def program(self, task, name=None):
        self.begun.append(name)
        self.inside += 1
        self.most = max(self.most, self.inside)
        task.delay(interval=1)
        self.inside -= 1

    def start(self, name, transid="PAYP"):
        return self.region.start(self.program, name, transid=transid)


def maxtasks(region):
    with region.task() as task:
        return task.inquire_system("MAXTASKS").maxtasks


def set_maxtasks(region, value):
    with region.task() as task:
        task.set_system(maxtasks=value)


@pytest.mark.rule("LIMIT-MXT")
def test_at_mxt_a_further_task_waits_until_another_one_ends():
    with Region(system=SystemOptions(mxt=10), **PLAIN) as region:
        crowd = Crowd(region)
        handles = [crowd.start(number) for number in range(25)]
        region.dispatcher.run_ready()
        assert (crowd.inside, len(region.tasks)) == (10, 25)
        region.run()
        assert all(handle.done for handle in handles)
        assert (crowd.most, crowd.begun) == (10, list(range(25)))


def test_a_region_without_mxt_has_no_limit():
    with Region(**PLAIN) as region:
        crowd = Crowd(region)
        for number in range(300):
            crowd.start(number)
        region.dispatcher.run_ready()
        assert (crowd.inside, maxtasks(region)) == (300, 0)
        region.run()


def test_a_higher_maximum_admits_at_once_and_a_lower_one_ends_no_task():
    with Region(system=SystemOptions(mxt=10), **PLAIN) as region:
        crowd = Crowd(region)
        for number in range(30):
            crowd.start(number)
        region.dispatcher.run_ready()
        set_maxtasks(region, 20)
        region.dispatcher.run_ready()
        assert crowd.inside == 20
        set_maxtasks(region, 10)
        assert crowd.inside == 20
        region.run()
        assert (crowd.most, len(crowd.begun), len(region.tasks)) == (20, 30, 0)


def test_mxt_set_in_a_region_without_it_counts_the_tasks_that_run():
    with Region(**PLAIN) as region:
        crowd = Crowd(region)
        for number in range(8):
            crowd.start(number)
        region.dispatcher.run_ready()
        set_maxtasks(region, 10)
        for number in range(8, 14):
            crowd.start(number)
        region.dispatcher.run_ready()
        assert crowd.inside == 10
        region.run()
        assert len(crowd.begun) == 14


@pytest.mark.rule("LIMIT-MXT-WAIT")
def test_a_task_that_waits_for_mxt_shows_it_and_can_be_purged():
    with Region(system=SystemOptions(mxt=10), **PLAIN) as region:
        crowd = Crowd(region)
        handles = [crowd.start(number) for number in range(11)]
        region.dispatcher.run_ready()
        waiting = max(region.tasks)
        with region.task() as task:
            info = task.inquire_task(waiting, "SUSPENDTYPE", "SUSPENDVALUE")
            task.set_task(waiting, purgetype="PURGE")
        assert (info.suspendtype, info.suspendvalue) == ("MXT     ", "XM_HELD ")
        region.run()
        with pytest.raises(Abend) as purged:
            handles[-1].result()
        assert (purged.value.code, crowd.begun) == ("AEXY", list(range(10)))


@pytest.mark.rule("SET-SYSTEM-MAXTASKS")
@pytest.mark.parametrize("value", [0, 9, 2001])
def test_maxtasks_out_of_range(value):
    with Region(system=SystemOptions(mxt=10), **PLAIN) as region:
        expect_rule("SET-SYSTEM-MAXTASKS", set_maxtasks, region, value)
        assert maxtasks(region) == 10
    with pytest.raises(UsageError, match="10 to 2000"):
        Region(system=SystemOptions(mxt=value or 1))  # 0 is no limit there, as in region.yaml


def test_command_security():
    policy = AccessList(commands={"BOB": {"SYSTEM": Access.READ}})
    with Region(
        [define_transaction(name="PAYP")],
        system=SystemOptions(mxt=10),
        security=SecurityOptions(policy=policy, cmdsec="ALWAYS"),
        **PLAIN,
    ) as region:
        with region.task(transid="PAYP", userid="BOB") as task:
            assert task.inquire_system().maxtasks == 10
            with pytest.raises(Condition, match="NOTAUTH"):
                task.set_system(maxtasks=20)
        with region.task(transid="PAYP", userid="ANN") as task, pytest.raises(Condition, match="NOTAUTH"):
            task.inquire_system()


def test_region_yaml_gives_mxt(tmp_path):
    (tmp_path / "region.yaml").write_text("mxt: 20\n")
    with Region.from_directory(tmp_path) as region:
        assert maxtasks(region) == 20
    (tmp_path / "region.yaml").write_text("mxt: 9\n")
    with pytest.raises(DefinitionError, match="10 to 2000"):
        Region.from_directory(tmp_path)


def test_a_close_ends_the_tasks_that_wait():
    with Region(system=SystemOptions(mxt=10), **PLAIN) as region:
        crowd = Crowd(region)
        handles = [crowd.start(number) for number in range(15)]
        region.dispatcher.run_ready()
    assert all(handle.done for handle in handles)
    assert len(crowd.begun) == 10


@pytest.mark.parametrize("seed", [0, 7])
def test_triggered_tasks_keep_to_mxt(seed):
    queues = [
        define_tdqueue(name=f"Q{n:03}", type="INTRA", transid="PAYP", triggerlevel=1, atifacility="FILE")
        for n in range(100)
    ]
    with Region([*queues, define_transaction(name="PAYP")], system=SystemOptions(mxt=10), seed=seed, **PLAIN) as region:
        crowd = Crowd(region)

        def consume(task):
            crowd.program(task)
            while task.readq_td(task.assign("QNAME"), nohandle=True):
                pass

        region.register("PAYP", consume)
        for queue in queues:
            region.writeq_td(queue.name, b"record")
        region.run()
        assert (crowd.most, len(crowd.begun)) == (10, 100)
        assert not any(region.inquire_tdqueue(queue.name, "NUMITEMS").numitems for queue in queues)
