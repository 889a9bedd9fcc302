"""The commands as the facade has them: what surrounds each, and which are where."""

from __future__ import annotations

import ast
import inspect
import itertools

import pytest

from tdqsim import TranslationError
from tdqsim.cics import COMMANDS, Region
from tdqsim.cics.commands import Task
from tdqsim.cics.stepped_task import SteppedTask
from tdqsim.definitions import define_tdqueue, define_transaction
from tdqsim.errors import DefinitionError, TdqError
from tdqsim.facts import Resp
from tdqsim.testing import stepped
from tests.rules import expect_rule, rule


def made(**options):
    queues = [
        define_tdqueue(name="LOGQ", type="INTRA", recovstatus="LOGICAL"),
        define_tdqueue(name="NOQ", type="INTRA"),
    ]
    return Region(
        [*queues, define_tdqueue(name="OTHQ", type="INTRA", recovstatus="LOGICAL")], supplied_queues=False, **options
    )


@pytest.mark.rule("HANDLE-EIB")
def test_commands_about_conditions_set_the_eib():
    row = rule("HANDLE-EIB")
    codes = iter(row.message.split())
    issued = (
        lambda task: task.handle_condition(QZERO=lambda _met: b""),
        lambda task: task.ignore_condition("QZERO"),
        lambda task: task.push_handle(),
        lambda task: task.pop_handle(),
        lambda task: task.handle_abend(lambda _abend: None),
        lambda task: task.asktime_eib(),
    )
    with made() as reg, reg.task() as task:
        for command in issued:
            task.readq_td("NOQ", nohandle=True)
            assert task.eib.eibresp is Resp.QZERO
            command(task)
            assert (task.eib.eibfn.hex().upper(), task.eib.eibresp, task.eib.eibresp2) == (
                next(codes),
                Resp[row.resp],
                int(row.resp2),
            )
        values = {"L": lambda _met: b"", "R": 7}
        task.readq_td("NOQ", nohandle=True)
        task.execute("HANDLE CONDITION QZERO(L) RESP(R)", values)
        assert values["R"] == 0
        task.execute("ASKTIME")
        assert task.eib.eibfn.hex() == "1002"
        task.asktime()
        assert task.eib.eibfn.hex() == "4a02"


@pytest.mark.rule("TD-QBUSY-PYTHON")
def test_qbusy_of_nosuspend_is_raised_in_python():
    with made() as reg, reg.task() as writer:
        writer.writeq_td("LOGQ", b"not committed")
        with reg.task() as reader:
            expect_rule("TD-QBUSY-PYTHON", reader.readq_td, "LOGQ", nosuspend=True)
            assert reader.readq_td("LOGQ", nosuspend=True, nohandle=True) == b""
            reader.ignore_condition("QBUSY")
            assert reader.readq_td("LOGQ", nosuspend=True) == b""
        with reg.task() as reader:
            reader.handle_condition(QBUSY=lambda _met: b"busy")
            assert reader.readq_td("LOGQ") == b"busy"
        with reg.task() as reader:
            reader.handle_condition(ERROR=lambda _met: b"not for QBUSY, which is no error to CICS")
            expect_rule("TD-QBUSY-PYTHON", reader.readq_td, "LOGQ", nosuspend=True)
            values = {"REC": b"as before"}
            reader.execute("READQ TD QUEUE('LOGQ') INTO(REC) NOSUSPEND", values)
            assert (reader.eib.eibresp, values["REC"]) == (Resp.QBUSY, b"as before")


@pytest.mark.rule("ENQ-ENQBUSY-PYTHON")
def test_enqbusy_of_nosuspend_is_raised_in_python():
    with made() as reg, reg.task() as owner:
        owner.enq("NAME")
        with reg.task() as other:
            expect_rule("ENQ-ENQBUSY-PYTHON", other.enq, "NAME", nosuspend=True)
            other.execute("ENQ RESOURCE('NAME') LENGTH(4) NOSUSPEND")
            assert other.eib.eibresp is Resp.ENQBUSY


@pytest.mark.rule("HANDLE-LABELS")
def test_labels_of_programs_are_functions_by_name():
    met = []
    labels = {"AT-END": lambda condition: met.append(condition.name), "FAILED": lambda abend: abend.code}

    def program(task):
        task.execute("EXEC CICS HANDLE CONDITION QZERO(AT-END) END-EXEC", labels=labels)
        task.execute("HANDLE ABEND LABEL(FAILED)", labels=labels)
        task.execute("READQ TD QUEUE('NOQ') INTO(REC)", {"REC": b""})
        task.abend("OOPS")

    with made() as reg:
        assert reg.start(program, transid="PROG").result() == "OOPS"
        assert met == ["QZERO"]
        with reg.task() as task, pytest.raises(TranslationError, match="needs a label that a function stands for"):
            task.execute("HANDLE CONDITION QZERO(NOWHERE)", {"NOWHERE": 7}, labels=labels)


def test_a_function_runs_under_the_transaction_id_it_is_given():
    with made() as reg:
        assert reg.start(lambda task: task.transid, transid="PAYP").result() == "PAYP"

        def collect(task):
            return task.transid

        assert reg.start(collect).result() == "COLL"


def test_commands_let_tasks_that_are_ready_go_first():
    """After a command of the program outside, whatever command it is."""
    with made() as reg, reg.task() as task:
        for command in (
            lambda: task.inquire_tdqueue("NOQ", "TYPE"),
            lambda: task.set_tdqueue("NOQ", triggerlevel=3),
            task.asktime,
            task.inquire_task_list,
            lambda: task.readq_td("NOQ", nohandle=True),
            lambda: task.writeq_td("NOQ", b"x"),
            lambda: task.readq_td("NOQ"),
            lambda: task.deleteq_td("NOQ"),
            lambda: task.deleteq_td("NONE", nohandle=True),
            lambda: task.writeq_td("LOGQ", b"x"),
            lambda: task.readq_td("LOGQ"),
            task.syncpoint,
            task.syncpoint_rollback,
            lambda: reg.writeq_td("NOQ", b"x"),  # of the region, a task each
            lambda: reg.readq_td("NOQ"),
            lambda: reg.execute("DELETEQ TD QUEUE('NOQ')"),
        ):
            ran = []
            reg.start(lambda _task, ran=ran: ran.append(1))
            command()
            assert ran == [1]


@pytest.mark.parametrize("normal", [True, False])
def test_the_end_of_a_task_lets_those_go_on_that_waited_for_it(normal):
    with made() as reg:
        task = reg.task()
        task.__enter__()
        task.writeq_td("LOGQ", b"x")
        waiting = reg.start(lambda own: own.writeq_td("LOGQ", b"y"))
        reg.dispatcher.run_ready()
        assert not waiting.done
        if normal:
            task.__exit__(None, None, None)
            assert waiting.done
        else:
            task.__exit__(ValueError, ValueError("x"), None)
            waiting.result()
        assert reg.peek("LOGQ") == ([b"x", b"y"] if normal else [b"y"])


def test_a_command_of_a_task_that_has_ended_or_of_a_closed_region_has_no_effect():
    reg = made()
    with reg.task() as task:
        task.writeq_td("NOQ", b"x")
    for command in (
        lambda: task.writeq_td("NOQ", b"y"),
        lambda: task.inquire_tdqueue("NOQ"),
        task.push_handle,
    ):
        with pytest.raises(TdqError, match="has ended"):
            command()
    assert reg.peek("NOQ") == [b"x"]
    reg.close()
    with pytest.raises(TdqError, match="is closed"):
        reg.inquire_tdqueue("NOQ")


# -- stepping ---------------------------------------------------------------------------------------------------------


def test_every_command_of_a_task_can_be_stepped():
    for command in COMMANDS.values():
        assert vars(SteppedTask)[command.method] is not getattr(Task, command.method)


def reads(task, queue="LOGQ"):
    return task.readq_td(queue)


def writes(task, *queues):
    for queue in queues:
        task.writeq_td(queue, b"record")


@pytest.mark.rule("STEP-LOCKS")
def test_own_an_end_that_it_has_itself():
    with made() as reg:
        first = stepped(reg, writes, "LOGQ", "LOGQ")
        assert first.step() == "writeq_td"
        first.step()
        assert first.done


@pytest.mark.rule("STEP-LOCKS")
def test_held_an_end_that_another_has_is_waited_for():
    with made() as reg:
        first, second = stepped(reg, writes, "LOGQ", "NOQ"), stepped(reg, writes, "LOGQ")
        first.step()
        assert second.step() == ""
        assert "LOGQ" in second.waits_for
        assert reg.inquire_task(second.fiber.local.number, "SUSPENDTYPE").suspendtype == "ENQUEUE "
        first.go()
        assert second.done
        assert reg.peek("LOGQ") == [b"record"] * 2


@pytest.mark.rule("STEP-LOCKS")
def test_claimed_an_end_that_others_wait_for_goes_to_them_first():
    with made() as reg:
        first, second, third = (stepped(reg, writes, "LOGQ", "NOQ") for _ in range(3))
        first.step()
        second.step()
        third.step()
        first.go()
        assert (second.before, third.before) == ("writeq_td", "")
        second.go()
        assert third.before == "writeq_td"


@pytest.mark.rule("STEP-LOCKS")
def test_a_reader_waits_for_the_commit_of_a_writer():
    with made() as reg:
        writer, reader = stepped(reg, writes, "LOGQ", "NOQ"), stepped(reg, reads)
        writer.step()
        reader.step()
        assert reader.waits_for == "TD_READ LOGQ"
        writer.step()
        assert reader.result() == b"record"


@pytest.mark.rule("STEP-LOCKS")
def test_retained_an_end_of_a_shunted_unit_of_work_is_refused():
    with made() as reg:
        with reg.task() as task:
            task.writeq_td("LOGQ", b"in doubt")
            branch = reg.recovery.branch("XA1", task)
        branch.prepare()
        branch.lose_coordinator()
        second = stepped(reg, writes, "LOGQ")
        second.step()
        assert second.done
        with pytest.raises(Exception, match="LOCKED"):
            second.result()


@pytest.mark.rule("STEP-LOCKS")
def test_a_deadlock_made_by_hand():
    with made() as reg:
        one, other = stepped(reg, writes, "LOGQ", "OTHQ"), stepped(reg, writes, "OTHQ", "LOGQ")
        one.step()
        other.step()
        one.step()
        other.step()
        assert one.waits_for
        assert other.waits_for
        assert reg.purge(one.fiber)
        with pytest.raises(Exception, match="AEXY"):
            one.result()
        assert other.done


def test_what_cannot_be_stepped():
    with made() as reg:
        first = stepped(reg, writes)
        assert first.done
        with pytest.raises(TdqError, match="has ended"):
            first.step()
        second = stepped(reg, reads)
        with pytest.raises(TdqError, match="allowed are 1 or more"):
            second.step(0)


@pytest.mark.parametrize("owner", [Task, Region])
def test_editors_that_read_the_source_show_what_each_command_does(owner):
    described = {}
    for part in owner.__mro__:
        if part.__module__ in ("tdqsim.cics.commands", "tdqsim.cics.region"):
            (found,) = ast.parse(inspect.getsource(part)).body
            for statement, following in itertools.pairwise([*found.body, ast.Pass()]):
                if isinstance(statement, ast.Assign) and statement.targets[0].id != "__slots__":
                    text = following.value.value if isinstance(following, ast.Expr) else ""
                    described[statement.targets[0].id] = text
    assert {"readq_td", "inquire_tdqueue"} <= described.keys()
    for name, text in described.items():
        assert text, name
        assert getattr(owner, name).__doc__.strip().startswith(text.removesuffix(".")), name


def test_a_handler_in_a_module_that_is_not_there_is_told_without_a_place_in_code():
    with Region([define_transaction(name="PAYP", handler="no_such_module:post")], supplied_queues=False) as region:
        with pytest.raises(DefinitionError) as caught:
            region.load_handlers()
        (problem,) = caught.value.problems
        missing = "ModuleNotFoundError: No module named 'no_such_module'"
        assert problem.message == f"module no_such_module cannot be imported: {missing}"
