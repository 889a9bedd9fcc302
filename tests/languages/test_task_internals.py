"""What a language does with the task of its program: ends of commands, waits, POST and exits."""

from __future__ import annotations

import pytest

from tdqsim import Condition, Region, Resp
from tdqsim.hosting import RegionInternals, WaitQueue
from tdqsim.languages import Handles, TaskInternals, resolve


@pytest.fixture
def region():
    with Region(supplied_queues=False) as made:
        yield made


def ran(region, program):
    handle = region.start(program)
    region.run()
    return handle.result()


def test_a_command_completes_normally_or_with_a_condition(region):
    with region.task() as task:
        inside = TaskInternals(task)
        inside.completed("WRITEQ TD")
        assert (task.eib.eibfn, task.eib.eibresp) == (bytes.fromhex("0802"), Resp.NORMAL)
        inside.completed("NO SUCH")
        assert task.eib.eibfn == bytes(2)
        inside.respond(Condition(Resp.QIDERR), "WRITEQ TD", "PAYQ", nohandle=True)
        assert (task.eib.eibresp, task.eib.eibrsrce) == (Resp.QIDERR, "PAYQ    ")
        with pytest.raises(Condition, match="QIDERR"):
            inside.respond(Condition(Resp.QIDERR), "WRITEQ TD", "PAYQ")


def test_handles_of_a_program_are_put_back_by_its_language(region):
    with region.task() as task:
        task.ignore_condition("QIDERR")
        inside, before = TaskInternals(task), TaskInternals(task).handles
        inside.handles = Handles()
        with pytest.raises(Condition, match="QIDERR"):
            task.readq_td("NONE")
        inside.handles = before
        task.readq_td("NONE")
        assert task.eib.eibresp is Resp.QIDERR


def test_post_ends_when_its_time_has_come_or_another_command_takes_it_back(region):
    ends = []

    def program(task):
        TaskInternals(task).post(lambda posted: ends.append(("first", posted)), seconds=5)
        TaskInternals(task).post(lambda posted: ends.append(("second", posted)), seconds=5, reqid="MINE")
        assert (task.eib.eibreqid, ends) == ("MINE", [("first", False)])

    began = region.clock.time_ns()
    ran(region, program)
    assert ends == [("first", False), ("second", True)]
    assert region.clock.time_ns() - began >= 5 * 10**9


def test_cancel_of_its_reqid_posts_at_once(region):
    ends = []
    with region.task() as task:
        TaskInternals(task).post(ends.append, seconds=5, reqid="MINE")
        region.cancel(reqid="MINE")
        assert ends == [True]


def test_post_refuses_a_time_that_is_out_of_range(region):
    with region.task() as task, pytest.raises(Condition) as refused:
        TaskInternals(task).post(print, minutes=60, seconds=1)
    assert (refused.value.name, refused.value.resp2) == ("INVREQ", 5)


def test_a_task_waits_until_it_is_over(region):
    events, over = WaitQueue("an event"), []

    def program(task):
        TaskInternals(task).wait_until(lambda: bool(over), events, "EKCWAIT", "EVENT")
        return "over"

    handle = region.start(program)
    region.run()
    with region.task() as looking:
        (number,) = (each for each in region.tasks if each != looking.number)
        assert looking.inquire_task(number, "SUSPENDTYPE").suspendtype == "EKCWAIT "
    over.append(True)
    events.wake_all()
    region.run()
    assert handle.result() == "over"


def test_the_place_is_the_line_of_the_user_that_issues_the_command(region):
    with region.task() as task:
        assert TaskInternals(task).place.rpartition(":")[0] == __file__


def test_the_options_of_a_text_say_what_they_name():
    resolved = resolve("WRITEQ TD QUEUE('PAYQ') FROM(RECORD OF AREA) LENGTH(LENGTH OF RECORD)")
    options = {option.word: option for _declared, option in resolved.sends}
    assert (options["QUEUE"].text, options["QUEUE"].variable) == ("PAYQ", None)
    assert (str(options["FROM"].variable), options["FROM"].is_area) == ("RECORD OF AREA", True)
    assert (str(options["LENGTH"].variable), options["LENGTH"].is_area) == ("RECORD", False)


def test_what_a_region_keeps_private(region):
    inside, told = RegionInternals(region), []
    assert (inside.recorder, inside.watched, inside.maxtasks, inside.dd_cards) == (None, False, 0, ())
    inside.messages.listeners.append(lambda message, inserts: told.append((message, inserts["abcode"])))
    handle = region.start(lambda task: task.abend("PAY1"))
    region.run()
    assert told == [("DFHAC2236", "PAY1")]
    assert handle.done
