"""READQ, WRITEQ and DELETEQ TD: options, length rules and conditions on queues that are not logically recoverable."""

from __future__ import annotations

import sys
from collections.abc import Callable
from inspect import signature
from pathlib import Path
from typing import Any

import pytest

from tdqsim import SecurityOptions
from tdqsim.cics import COMMANDS, AccessList, Condition, Region, Task
from tdqsim.definitions import define_tdqueue, define_terminal
from tdqsim.errors import TdqError
from tdqsim.facts import Cvda, Resp
from tests.rules import expect_rule, rule

from .helpers import fill

DIRECT = ("NOQ", "PHYQ")


@pytest.mark.rule("TD-READQ-QZERO", "TD-READQ-LENGERR-ZERO-EMPTY")
@pytest.mark.parametrize("queue", [*DIRECT, "LOGQ"])
def test_qzero_of_an_empty_queue(region: Region, queue: str) -> None:
    expect_rule("TD-READQ-QZERO", region.readq_td, queue)
    expect_rule("TD-READQ-LENGERR-ZERO-EMPTY", region.readq_td, queue, 0)


@pytest.mark.rule("TD-READQ-LENGERR-NEGATIVE")
@pytest.mark.parametrize("queue", [*DIRECT, "LOGQ"])
def test_lengerr_of_a_negative_length_reads_nothing(region: Region, queue: str) -> None:
    expect_rule("TD-READQ-LENGERR-NEGATIVE", region.readq_td, queue, -1)
    region.writeq_td(queue, b"stays")
    expect_rule("TD-READQ-LENGERR-NEGATIVE", region.readq_td, queue, -1)
    for wrong in (4.0, True):
        with pytest.raises(TypeError, match=rf"READQ TD: length is {wrong}; allowed is int or None"):
            region.readq_td(queue, wrong)
    assert region.peek(queue) == [b"stays"]


@pytest.mark.rule("TD-READQ-LENGERR-ZERO")
@pytest.mark.parametrize("queue", [*DIRECT, "LOGQ"])
def test_length_zero_consumes_the_record(region: Region, queue: str) -> None:
    region.writeq_td(queue, b"gone")
    with region.task() as task:
        error = expect_rule("TD-READQ-LENGERR-ZERO", task.readq_td, queue, 0)
    assert (error.data, error.length) == (b"", 4)
    assert region.peek(queue) == []


@pytest.mark.rule("TD-READQ-LENGERR-SHORT")
@pytest.mark.parametrize("queue", [*DIRECT, "LOGQ"])
def test_lengerr_truncates_to_a_short_area_and_consumes(region: Region, queue: str) -> None:
    region.writeq_td(queue, b"0123456789")
    with region.task() as task:
        error = expect_rule("TD-READQ-LENGERR-SHORT", task.readq_td, queue, 4)
    assert (error.data, error.length) == (b"0123", 10)
    assert region.peek(queue) == []


@pytest.mark.rule("TD-READQ-LENGTH-ENOUGH")
def test_a_long_enough_area(region: Region) -> None:
    fill(region, "NOQ", b"abc", b"def")
    assert expect_rule("TD-READQ-LENGTH-ENOUGH", region.readq_td, "NOQ", 3) == b"abc"
    assert expect_rule("TD-READQ-LENGTH-ENOUGH", region.readq_td, "NOQ", 100) == b"def"


@pytest.mark.rule("TD-WRITEQ-LENGERR")
@pytest.mark.parametrize("queue", [*DIRECT, "LOGQ"])
@pytest.mark.parametrize(
    ("record", "length"), [(b"", None), (b"abc", 0), (b"abc", -1), (b"x" * 4065, None), (b"a", 40000)]
)
def test_lengerr_of_lengths_that_cannot_be_written(
    region: Region, queue: str, record: bytes, length: int | None
) -> None:
    expect_rule("TD-WRITEQ-LENGERR", region.writeq_td, queue, record, length)
    for wrong in (float("nan"), 40000.0, True):
        with pytest.raises(TypeError, match=rf"WRITEQ TD: length is {wrong}; allowed is int or None"):
            region.writeq_td(queue, record, wrong)
    assert region.peek(queue) == []


@pytest.mark.rule("TD-INTRA-LONGEST-RECORD")
@pytest.mark.parametrize("queue", [*DIRECT, "LOGQ"])
def test_the_longest_record_is_the_control_interval_less_32(make_region: Callable[..., Region], queue: str) -> None:
    region = make_region(dfhintra={"ci_size": 512})
    region.writeq_td(queue, b"x" * 480)
    assert expect_rule("TD-INTRA-LONGEST-RECORD", region.writeq_td, queue, b"x" * 481).length == 0
    assert region.readq_td(queue) == b"x" * 480


def test_length_of_writeq_cuts_the_record(region: Region) -> None:
    region.writeq_td("NOQ", b"0123456789", 4)
    assert region.readq_td("NOQ") == b"0123"


@pytest.mark.rule("TD-QIDERR")
def test_an_unknown_name(region: Region) -> None:
    for call in (region.readq_td, region.deleteq_td):
        expect_rule("TD-QIDERR", call, "NONE")
    expect_rule("TD-QIDERR", region.writeq_td, "NONE", b"x")
    expect_rule("TD-QIDERR", region.readq_td, "LONGNAME")
    expect_rule("TD-QIDERR", region.readq_td, "")


def test_a_name_may_be_padded(region: Region) -> None:
    region.writeq_td("NOQ ", b"x")
    assert region.readq_td("NOQ ") == b"x"


def test_what_is_no_record_or_name_is_refused_in_words(region: Region) -> None:
    with pytest.raises(TypeError, match="a record is bytes"):
        region.writeq_td("NOQ", "text")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="name of a queue"):
        region.readq_td(7)  # type: ignore[arg-type]
    region.writeq_td("NOQ", bytearray(b"area"))  # type: ignore[arg-type]
    assert region.readq_td("NOQ") == b"area"


@pytest.mark.rule("TD-INDIRECT-CHAIN", "TD-INDIRECT-MISSING", "TD-INDIRECT-RING")
def test_indirect_queues_are_aliases_of_their_final_target(region: Region) -> None:
    expect_rule("TD-INDIRECT-CHAIN", region.writeq_td, "ALIA", b"x")
    assert region.peek("NOQ") == [b"x"]
    assert region.readq_td("ALI2") == b"x"
    region.writeq_td("ALIA", b"y")
    region.deleteq_td("ALIA")
    assert region.peek("NOQ") == []
    expect_rule("TD-INDIRECT-MISSING", region.readq_td, "MISS")
    expect_rule("TD-INDIRECT-RING", region.writeq_td, "RNG1", b"x")
    region.install([define_tdqueue(name="RNG0", type="INDIRECT", indirectname="RNG1")])  # it leads into the ring
    expect_rule("TD-INDIRECT-RING", region.writeq_td, "RNG0", b"x")


@pytest.mark.rule("TD-INDIRECT-STATISTICS")
def test_an_alias_counts_its_own_requests(region: Region) -> None:
    region.writeq_td("ALIA", b"x")
    region.writeq_td("NOQ", b"y")
    region.readq_td("ALIA")
    region.deleteq_td("ALIA")
    region.writeq_td("MISS", b"x", nohandle=True)  # what is not done is not counted
    for queue in ("MISS", "ALIA"):
        region.readq_td(queue, nohandle=True)
    region.deleteq_td("MISS", nohandle=True)
    queues = {name: region.tdqueues[name] for name in ("ALIA", "ALI2", "NOQ", "MISS")}
    assert {name: (queue.writes, queue.reads, queue.deletes) for name, queue in queues.items()} == {
        "ALIA": (1, 1, 1), "ALI2": (0, 0, 0), "NOQ": (2, 1, 1), "MISS": (0, 0, 0),
    }  # fmt: skip


def test_a_target_may_be_exchanged_while_running(region: Region) -> None:
    region.install([define_tdqueue(name="NONE", type="INTRA")])
    region.writeq_td("MISS", b"x")
    assert region.readq_td("NONE") == b"x"


@pytest.mark.rule("TD-SYSIDERR", "TD-SYSID-LOCAL")
def test_remote_queues_without_a_link(region: Region, make_region: Callable[..., Region]) -> None:
    expect_rule("TD-SYSIDERR", region.readq_td, "REMQ")
    expect_rule("TD-SYSIDERR", region.writeq_td, "NOQ", b"x", sysid="CICB")
    expect_rule("TD-SYSIDERR", region.deleteq_td, "NONE", sysid="CICB")
    assert expect_rule("TD-SYSID-LOCAL", region.writeq_td, "NOQ", b"x", sysid=region.options.sysid) is None
    short = make_region(sysid="AB")
    assert expect_rule("TD-SYSID-LOCAL", short.writeq_td, "NOQ", b"x", sysid="AB  ") is None
    assert region.peek("NOQ") == [b"x"]


@pytest.mark.rule("TD-REMOTE-DISABLED")
def test_a_disabled_remote_entry_ships_nothing(region: Region) -> None:
    region.set_tdqueue("REMQ", enablestatus="DISABLED")
    expect_rule("TD-REMOTE-DISABLED", region.readq_td, "REMQ")


@pytest.mark.rule("TD-DELETEQ")
@pytest.mark.parametrize("queue", [*DIRECT, "LOGQ"])
def test_deleteq_empties_and_keeps_the_queue(region: Region, queue: str) -> None:
    fill(region, queue, b"a", b"b")
    assert expect_rule("TD-DELETEQ", region.deleteq_td, queue) is None
    assert region.peek(queue) == []
    expect_rule("TD-DELETEQ", region.deleteq_td, queue)
    region.writeq_td(queue, b"c")
    assert region.readq_td(queue) == b"c"


@pytest.mark.rule("TD-DISABLED")
@pytest.mark.parametrize("queue", [*DIRECT, "LOGQ"])
def test_a_disabled_queue(region: Region, queue: str) -> None:
    region.writeq_td(queue, b"kept")
    region.set_tdqueue(queue, enablestatus="DISABLED")
    expect_rule("TD-DISABLED", region.readq_td, queue)
    expect_rule("TD-DISABLED", region.writeq_td, queue, b"x")
    expect_rule("TD-DISABLED", region.deleteq_td, queue)
    expect_rule("TD-DISABLED", region.readq_td, queue, -1)  # before the length is looked at
    region.set_tdqueue(queue, enablestatus="ENABLED")
    assert region.readq_td(queue) == b"kept"


@pytest.mark.rule("TD-NOTAUTH")
def test_security_is_asked_for_the_final_target(make_region: Callable[..., Region]) -> None:
    policy = AccessList(queues={"CICSUSER": {"LOGQ": 2, "ALIA": 2}})
    region = make_region(security=SecurityOptions(policy=policy, ressec="ALWAYS"))
    region.writeq_td("LOGQ", b"x")
    expect_rule("TD-NOTAUTH", region.writeq_td, "NOQ", b"x")
    expect_rule("TD-NOTAUTH", region.readq_td, "ALIA")
    region.security = None
    region.set_tdqueue("NOQ", enablestatus="DISABLED")
    region.security = policy
    expect_rule("TD-NOTAUTH", region.deleteq_td, "NOQ")  # before the state is looked at
    expect_rule("TD-NOTAUTH", region.readq_td, "NOQ", -1)
    assert [region.explain("NOQ").commands[name].outcome for name in ("READQ TD", "WRITEQ TD")] == ["NOTAUTH"] * 2


@pytest.mark.rule("TD-EXTRA-DELETEQ-INVREQ", "TD-EXTRA-DIRECTION-INVREQ", "TD-EXTRA-NOTOPEN")
def test_notopen_and_the_other_states_of_data_sets(make_region: Callable[..., Region], tmp_path: object) -> None:
    region = make_region(
        define_tdqueue(name="OUTQ", type="EXTRA", typefile="OUTPUT", recordformat="FIXED", recordsize=3),
        define_tdqueue(name="INQ", type="EXTRA", ddname="INDD", recordformat="FIXED", recordsize=3),
        dd={"OUTQ": f"{tmp_path}/out", "INDD": f"{tmp_path}/in"},
    )
    assert region.tdqueues["INQ"].openstatus is Cvda.CLOSED  # there is no such file
    for name in ("OUTQ", "INQ"):
        expect_rule("TD-EXTRA-DELETEQ-INVREQ", region.deleteq_td, name)
    expect_rule("TD-EXTRA-DIRECTION-INVREQ", region.readq_td, "OUTQ")
    expect_rule("TD-EXTRA-NOTOPEN", region.writeq_td, "INQ", b"abc")
    expect_rule("TD-EXTRA-NOTOPEN", region.readq_td, "INQ")
    Path(f"{tmp_path}/in").write_bytes(b"one")
    region.set_tdqueue("INQ", openstatus="OPEN")
    expect_rule("TD-EXTRA-DIRECTION-INVREQ", region.writeq_td, "INQ", b"abc")
    region.writeq_td("OUTQ", b"abc")
    region.set_tdqueue("OUTQ", openstatus="CLOSED")
    expect_rule("TD-EXTRA-NOTOPEN", region.writeq_td, "OUTQ", b"abc")
    expect_rule("TD-EXTRA-NOTOPEN", region.readq_td, "OUTQ")
    assert region.peek("OUTQ") == [b"abc"]


@pytest.mark.parametrize("name", ["READQ TD", "WRITEQ TD", "DELETEQ TD"])
def test_what_is_declared(name: str) -> None:
    declared = COMMANDS[name]
    documented = declared.function.__doc__ or ""
    assert all(resp.name in documented or resp is Resp.ERROR for resp in declared.conditions)
    assert declared.option("QUEUE") is not None
    assert declared.option("SYSID") is not None
    assert declared.option("NOHANDLE") is not None


def test_statistics_are_counted_for_requests_that_went_well(region: Region) -> None:
    for queue in (*DIRECT, "LOGQ"):
        fill(region, queue, b"a", b"b")
        region.readq_td(queue)
        with pytest.raises(Condition):
            region.readq_td(queue, -1)
        region.deleteq_td(queue)
        state = region.tdqueues[queue]
        assert (state.writes, state.reads, state.deletes, state.peak_items) == (2, 1, 1, 2)


def test_a_task_that_has_ended_issues_no_command(region: Region) -> None:
    with region.task() as task:
        pass
    with pytest.raises(TdqError, match="has ended"):
        task.writeq_td("NOQ", b"x")


@pytest.mark.rule("TD-WRITEQ-LENGTH-BEYOND")
@pytest.mark.parametrize("queue", ["NOQ", "PHYQ", "LOGQ", "ALIA"])
def test_a_length_beyond_the_record_is_refused_in_both_forms(region: Region, queue: str) -> None:
    said = rule("TD-WRITEQ-LENGTH-BEYOND").message
    with pytest.raises(TdqError, match=said):
        region.writeq_td(queue, b"abc", 4)
    with pytest.raises(TdqError, match=said):
        region.execute(f"EXEC CICS WRITEQ TD QUEUE('{queue}') FROM(D) LENGTH(4)", {"D": b"abc"})
    assert region.peek(queue) == []
    region.writeq_td(queue, bytearray(b"abc"), 3)
    region.writeq_td(queue, memoryview(b"abcd"), 2)
    assert region.peek(queue) == [b"abc", b"ab"]


@pytest.mark.parametrize(
    ("command", "text"),
    [
        (lambda task: task.writeq_ts("Q", b"abc", 4), "WRITEQ TS QUEUE('Q') FROM(D) LENGTH(4)"),
        (lambda task: task.start("TRAN", from_=b"abc", length=4), "START TRANSID('TRAN') FROM(D) LENGTH(4)"),
        (lambda task: task.start("TRAN", length=4), "START TRANSID('TRAN') FROM(D) LENGTH(4)"),
        (
            lambda task: task.put_container("C", b"abc", length=4, channel="CH"),
            "PUT CONTAINER('C') CHANNEL('CH') FROM(D) FLENGTH(4)",
        ),
        (lambda task: task.send_text(b"abc", 4), "SEND TEXT FROM(D) LENGTH(4)"),
        (
            lambda task: task.dump_transaction("ABCD", b"abc", short=4),
            "DUMP TRANSACTION DUMPCODE('ABCD') FROM(D) LENGTH(4)",
        ),
    ],
    ids=["WRITEQ TS", "START", "START without FROM", "PUT CONTAINER", "SEND TEXT", "DUMP TRANSACTION"],
)
def test_a_length_beyond_the_data_is_refused_by_other_commands_too(command: Callable[[Any], object], text: str) -> None:
    said = rule("TD-WRITEQ-LENGTH-BEYOND").message
    seen: list[str] = []

    def program(task: Task) -> None:
        for issue in (lambda: command(task), lambda: task.execute(f"EXEC CICS {text}", {"D": b"abc"})):
            with pytest.raises(TdqError, match=said) as caught:
                issue()
            assert not isinstance(caught.value, Condition)
            seen.append(str(caught.value))

    with Region([define_terminal(name="T001")], supplied_queues=False) as region:
        region.register("TRAN", program)
        region.screens.type("T001", "TRAN")
        region.run()
    assert len(seen) == 2


@pytest.mark.rule("EXEC-FLAGS-PYTHON")
@pytest.mark.parametrize("value", ["NO", "YES", 0, None])
def test_a_word_is_no_flag(value: object) -> None:
    with Region([define_tdqueue(name="LOGQ", type="INTRA")]) as region:
        region.writeq_td("LOGQ", b"kept")
        with region.task() as task:
            for call in (
                lambda: task.readq_td("LOGQ", nosuspend=value),
                lambda: task.readq_td("NONE", nohandle=value),
                lambda: task.writeq_td("NONE", b"x", nohandle=value),
                lambda: task.deleteq_td("NONE", nohandle=value),
                lambda: task.enq("A", nosuspend=value),
                lambda: task.syncpoint(nohandle=value),
                lambda: task.set_tdqueue("LOGQ", enablestatus="DISABLED", nohandle=value),
            ):
                assert repr(value) in str(expect_rule("EXEC-FLAGS-PYTHON", call))
        assert region.inquire_tdqueue("LOGQ", "ENABLESTATUS").enablestatus is Cvda.ENABLED
        assert region.readq_td("LOGQ", nosuspend=True) == b"kept"


def test_every_flag_is_given_by_its_name() -> None:
    """What is looked at are named arguments: a flag by place would be taken as it is."""
    for name, command in COMMANDS.items():
        flags = {option.parameter for option in command.options if option.kind == "flag"}
        assert all(each.kind is each.KEYWORD_ONLY for each in command.parameters if each.name in flags), name


@pytest.mark.parametrize("into", ["INTO", "SET"])
def test_readq_as_text_gives_the_record_and_its_length(region: Region, into: str) -> None:
    got: dict[str, Any] = {}
    region.writeq_td("NOQ", b"first", 3)
    region.execute(f"READQ TD QUEUE('NOQ') {into}(REC) LENGTH(LEN)", got)
    assert (bytes(got["REC"]), got["LEN"]) == (b"fir", 3)


def test_qiderr_says_which_rule_of_names_is_broken(region: Region) -> None:
    for name, hint in {
        "noq": "NOQ is, and names are in capitals",
        "TOOLONG": "the name of a queue has 1 to 4 characters",
        "": "the name of a queue has 1 to 4 characters",
        "NOX": r"did you mean NOQ\?",
    }.items():
        for command in (region.readq_td, region.deleteq_td):
            with pytest.raises(Condition, match=f": queue {name} is not installed; {hint}$"):
                command(name)
        for command in (region.set_tdqueue, region.discard_tdqueue):
            with pytest.raises(Condition, match=f": there is no queue {name}; {hint}$"):
                command(name)
        with pytest.raises(Condition, match=f": there is no TDQUEUE {name}; {hint}$"):
            region.inquire_tdqueue(name)
    with pytest.raises(Condition, match="queue noq is not installed; NOQ is"):
        region.peek("noq")


def test_qiderr_costs_the_same_among_many_queues() -> None:
    def calls(queues: int) -> int:
        found = 0

        def count(*_: object) -> None:
            nonlocal found
            found += 1

        names = [define_tdqueue(name=f"Q{number:03}", type="INTRA") for number in range(queues)]
        with Region(names, supplied_queues=False) as region, region.task() as task:
            task.readq_td("ZZZZ", nohandle=True)
            before = sys.getprofile()
            sys.setprofile(count)
            task.readq_td("ZZZZ", nohandle=True)
            sys.setprofile(before)
        return found

    assert calls(500) == calls(5) > 0


def test_no_command_has_nohandle_unless_it_is_given() -> None:
    commands = [signature(each).parameters for name, each in vars(Task).items() if name[0] != "_" and callable(each)]
    defaults = [each["nohandle"].default for each in commands if "nohandle" in each]
    assert len(defaults) > 100
    assert set(defaults) == {False}
