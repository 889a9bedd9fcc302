"""The dump of a task that abends, without COBOL."""

from __future__ import annotations

import pytest

from tdqsim import Region, define_tdqueue, define_transaction
from tdqsim.cics import Abend, Condition
from tdqsim.testing import History
from tests import apart
from tests.rules import rule

pytest_plugins = ["pytester"]
QUEUES = [define_tdqueue(name="LOGQ", type="INTRA", recovstatus="LOGICAL"), define_tdqueue(name="IN", type="INTRA")]


def fails(task):
    task.writeq_td("LOGQ", b"one")
    for number in range(25):
        task.writeq_td("LOGQ", b"%d" % number)
    task.writeq_td("NONE", b"two")


@pytest.fixture
def region():
    with Region(QUEUES) as made:
        yield made


def ended_abend(region, program):
    handle = region.start(program)
    region.run()
    with pytest.raises(Abend) as caught:
        handle.result()
    return caught.value


def test_it_has_the_line_the_last_command_and_what_the_task_held(region):
    dump = ended_abend(region, fails).dump
    assert (dump.code, dump.program, dump.transid, dump.task, dump.userid) == ("AEYH", "FAIL", "FAIL", 1, "CICSUSER")
    assert (dump.file, dump.statement) == (__file__, 'task.writeq_td("NONE", b"two")')
    assert [each.number - dump.line for each in dump.source] == [-3, -2, -1, 0, 1, 2, 3]
    assert dump.commands == ("WRITEQ TD NONE: QIDERR 0",)
    assert dump.locks == (("LOGQ", "TOQ"),)
    (work,) = dump.works
    assert (work.queue, work.reads, work.writes, work.deleted) == ("LOGQ", 0, 26, False)
    assert work.records == (b"one", *(b"%d" % number for number in range(19)))
    assert (dump.storage, dump.calls) == ((), ())
    assert region.peek("LOGQ") == []


@pytest.mark.parametrize(
    ("command", "resource"),
    [
        (lambda task: task.link("PRICE"), ("PROGRAM", "PRICE")),
        (lambda task: task.start("PAYX", b"data"), ("TRANSACTION", "PAYX")),
        (lambda task: task.readq_ts("AAAX"), ("TSQUEUE", "AAAX")),
        (lambda task: task.execute("READQ TS QNAME('LONG.NAME') INTO(A)", {}), ("TSQUEUE", "LONG.NAME")),
        (lambda task: task.readq_td("NONE"), None),
        (lambda task: task.abend("PAY1"), None),
    ],
)
def test_it_names_the_program_transaction_or_ts_queue_of_the_last_command(region, command, resource):
    dump = ended_abend(region, command).dump
    assert dump.resource == resource
    assert dump.queues == (("NONE",) if dump.last == ("READQ TD", "NONE") else ())


def test_a_history_gives_the_last_twenty_commands(region):
    with History().attach(region):
        dump = ended_abend(region, fails).dump
    assert len(dump.commands) == 20
    assert dump.commands[-1].endswith("WRITEQ TD NONE b'two' QIDERR")
    assert all("task 1 FAIL" in each for each in dump.commands)


def test_an_abend_command_and_a_python_error_have_dumps_too(region):
    def mine(task):
        task.writeq_td("IN", b"x")
        task.abend("MINE")

    def wrong(_task):
        raise KeyError("x")

    assert ended_abend(region, mine).dump.commands == ("WRITEQ TD IN: NORMAL 0",)
    dump = ended_abend(region, wrong).dump
    assert (dump.code, dump.statement, dump.commands) == ("ASRA", 'raise KeyError("x")', ())
    assert "KeyError" in dump.reason


def test_the_task_of_a_with_statement_leaves_a_dump_when_it_abends(region):
    with pytest.raises(Condition), region.task() as task:
        task.readq_td("IN")
    assert [each.code for each in region.diagnostics.abend_dumps] == ["AEIW"]


def test_no_dump_is_taken_of_a_handled_abend_and_fifty_are_kept(region):
    def handled(task):
        task.handle_abend(program=lambda _abend: None)
        task.abend("MINE")

    handle = region.start(handled)
    region.run()
    handle.result()
    assert not region.diagnostics.abend_dumps
    for _time in range(51):
        ended_abend(region, fails)
    assert [each.task for each in region.diagnostics.abend_dumps] == list(range(3, 53))


def test_a_handle_has_the_abend_once_it_has_ended_its_task(region):
    def waits(task):
        task.delay(seconds=1)
        task.abend("MINE")

    def returns(task):
        return task.number

    handle, well = region.start(waits), region.start(returns)
    assert handle.abend is None
    region.run()
    assert handle.abend is not None
    assert handle.abend.dump is region.diagnostics.abend_dumps[-1]
    assert (handle.abend.code, handle.abend.dump.code, handle.abend.dump.task) == ("MINE", "MINE", 1)
    assert (well.abend, well.result()) == (None, 2)


def test_a_failing_test_shows_the_dump_and_one_that_reads_the_abend_of_a_handle_has_asked_for_it(pytester):
    pytester.makepyfile(
        """
        def fails(task):
            task.abend("MINE")

        def test_read(tdq_region):
            handle = tdq_region.start(fails)
            tdq_region.run()
            assert handle.abend.code == "MINE"

        def test_not_read(tdq_region):
            tdq_region.start(fails)
            tdq_region.run()

        def test_result(tdq_region):
            handle = tdq_region.start(lambda task: task.writeq_td("NONE", b"x"))
            tdq_region.run()
            assert handle.result() is None
        """
    )
    done = apart.run("-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", cwd=pytester.path)
    assert "2 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    pytest.LineMatcher(done.stdout.splitlines()).fnmatch_lines(
        ["*dump of abend AEYH*", '*> *task.writeq_td("NONE", b"x")*', "*WRITEQ TD NONE*QIDERR*"]
    )


@pytest.mark.rule("TASK-AKCS-NO-DUMP", "TASK-ABEND-NODUMP")
def test_some_abends_take_no_transaction_dump_and_what_is_known_is_kept():
    waits = define_transaction(name="WAIT", dtimout="0005")
    with Region([*QUEUES, waits]) as region:
        writer = region.task().__enter__()
        writer.writeq_td("LOGQ", b"x")
        region.register("WAIT", lambda task: task.readq_td("LOGQ"))
        handles = [
            region.start("WAIT"),
            region.start(lambda task: task.abend()),
            region.start(lambda task: task.abend("QUIT", nodump=True)),
            region.start(lambda task: task.abend("MINE")),
        ]
        region.run()
        writer.syncpoint()
        codes = [handle.exception.code for handle in handles]
        assert codes == [rule("TASK-AKCS-NO-DUMP").message, rule("TASK-ABEND-NODUMP").message, "QUIT", "MINE"]
        assert [each.code for each in region.diagnostics.abend_dumps] == ["MINE"]
        assert sorted(each.code for each in region.diagnostics.failures) == ["????", "AKCS", "MINE", "QUIT"]
        assert all(handle.exception.dump is not None for handle in handles)
