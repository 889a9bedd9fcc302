"""Global user exits of transient data: XTDREQ, XTDIN, XTDOUT, XTDEREQ and XTDEREQC."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tdqsim import Condition, Region, define_tdqueue
from tdqsim.cics import CommandExit, DataExit, ExitPoint, ExitProgram, RequestExit, Sysplex
from tdqsim.errors import UsageError
from tdqsim.facts import Resp, table
from tdqsim.faults import Fault, FaultPlan, add_hook
from tdqsim.testing import History
from tests.rules import expect_rule

POINTS: tuple[ExitPoint, ...] = ("XTDEREQ", "XTDREQ", "XTDOUT", "XTDIN", "XTDEREQC")


@pytest.fixture
def region(make_region: Callable[..., Region]) -> Region:
    return make_region(
        define_tdqueue(name="NORQ", type="INTRA"),
        define_tdqueue(name="LOGQ", type="INTRA", recovstatus="LOGICAL"),
        define_tdqueue(name="ALIQ", type="INDIRECT", indirectname="NORQ"),
    )


def enable(region: Region, point: ExitPoint, program: ExitProgram) -> None:
    region.programs.exits.enable(point, program)


def noting(seen: list[Any], *names: str, code: str | None = None) -> ExitProgram:
    """An exit program that notes the values of parameters."""

    def program(given: Any) -> str | None:
        values = [getattr(given, name) for name in names]
        seen.append(values if len(values) > 1 else values[0])
        return code

    return program


# -- XTDREQ -----------------------------------------------------------------------------------------------------------


@pytest.mark.rule("EXIT-XTDREQ")
def test_xtdreq_has_the_name_without_its_blanks(region: Region) -> None:
    seen: list[Any] = []
    enable(region, "XTDREQ", noting(seen, "ueptdque"))
    region.writeq_td("LOGQ ", b"A")
    assert seen == ["LOGQ"]


@pytest.mark.rule("EXIT-XTDREQ-OK")
def test_the_eib_of_a_request_that_uerctdok_at_xtdreq_ends(region: Region) -> None:
    region.seed("NORQ", [b"A"])
    enable(region, "XTDREQ", noting([], "point", code="UERCTDOK"))
    with region.task() as task:
        assert task.readq_td("NORQ") == b""
        assert (task.eib.eibresp.name, task.eib.eibrsrce) == ("NORMAL", "NORQ    ")


@pytest.mark.rule("EXIT-XTDREQ-NOTAUTH")
def test_uerctdna_at_xtdreq_is_notauth(region: Region) -> None:
    enable(region, "XTDREQ", lambda given: "UERCTDNA" if given.ueptdtyp == "UEPTDPUR" else None)
    region.writeq_td("NORQ", b"A")
    expect_rule("EXIT-XTDREQ-NOTAUTH", region.deleteq_td, "NORQ")
    assert region.peek("NORQ") == [b"A"]


# -- XTDOUT and XTDIN -------------------------------------------------------------------------------------------------


@pytest.mark.rule("EXIT-XTDOUT")
@pytest.mark.rule("EXIT-XTDOUT-OK")
def test_xtdout_changes_or_suppresses_a_record(region: Region) -> None:
    def program(given: DataExit) -> str:
        assert (given.ueptdque, given.ueptdlud, given.ueptdlmd) == ("NORQ", len(given.ueptdaud), 0)
        if given.ueptdaud == b"secret":
            return "UERCTDOK"
        given.ueptdamd = given.ueptdaud.upper()
        assert given.ueptdlmd == given.ueptdlud
        return "UERCNORM"

    enable(region, "XTDOUT", program)
    with region.task() as task:
        for record in (b"one", b"secret", b"two"):
            task.writeq_td("ALIQ", record)
            assert task.eib.eibresp is Resp.NORMAL
    assert region.peek("NORQ") == [b"ONE", b"TWO"]


@pytest.mark.rule("EXIT-XTDIN")
@pytest.mark.parametrize("queue", ["NORQ", "LOGQ"])
def test_xtdin_changes_the_record_that_the_program_receives(region: Region, queue: str) -> None:
    def program(given: DataExit) -> None:
        given.ueptdamd = b"<" + given.ueptdaud + b">"

    enable(region, "XTDIN", program)
    region.writeq_td(queue, b"AB")
    region.writeq_td(queue, b"CD")
    assert region.readq_td(queue) == b"<AB>"
    with pytest.raises(Condition) as caught:
        region.readq_td(queue, 3)
    assert (caught.value.name, caught.value.data, caught.value.length) == ("LENGERR", b"<CD", 4)
    with pytest.raises(Condition, match="QZERO"):
        region.readq_td(queue)


@pytest.mark.rule("EXIT-XTDIN")
@pytest.mark.rule("EXIT-XTDOUT")
def test_both_are_called_for_data_sets(make_region: Callable[..., Region], tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"ABCD")
    region = make_region(
        define_tdqueue(
            name="INPQ",
            type="EXTRA",
            ddname="INDD",
            typefile="INPUT",
            recordformat="FIXED",
            recordsize=2,
            blockformat="UNBLOCKED",
        ),
        define_tdqueue(
            name="OUTQ",
            type="EXTRA",
            ddname="OUTDD",
            typefile="OUTPUT",
            recordformat="FIXED",
            recordsize=13,
            blockformat="UNBLOCKED",
        ),
        dd={
            "INDD": tmp_path / "in",
            "OUTDD": tmp_path / "out",
        },
        code_page="iso8859-1",
    )

    def program(given: DataExit) -> None:
        given.ueptdamd = given.ueptdaud + given.point.encode()

    enable(region, "XTDIN", program)
    enable(region, "XTDOUT", program)
    records = list(region.readq_td_all("INPQ"))
    assert records == [b"ABXTDIN", b"CDXTDIN"]
    assert region.writeq_td_all("OUTQ", records) == 2
    region.set_tdqueue("OUTQ", openstatus="CLOSED")
    assert (tmp_path / "out").read_bytes() == b"ABXTDINXTDOUTCDXTDINXTDOUT"
    with pytest.raises(Condition, match="NOTOPEN"):
        region.writeq_td("OUTQ", b"X")


def test_xtdout_is_not_called_for_a_write_that_is_refused(region: Region) -> None:
    seen: list[Any] = []
    enable(region, "XTDOUT", noting(seen, "ueptdaud"))
    for length in (0, -1):
        with pytest.raises(Condition, match="LENGERR"):
            region.writeq_td("NORQ", b"A", length)
    region.set_tdqueue("NORQ", enablestatus="DISABLED")
    with pytest.raises(Condition, match="DISABLED"):
        region.writeq_td("NORQ", b"A")
    assert seen == []


@pytest.mark.rule("EXIT-XTDOUT-MESSAGE")
def test_xtdout_suppresses_lines_of_a_message(make_region: Callable[..., Region]) -> None:
    region = make_region(define_tdqueue(name="CSMT", type="INTRA"), dfhintra={"ci_size": 512, "control_intervals": 100})
    seen: list[Any] = []
    commands: list[Any] = []
    suppressed = 0

    def program(given: DataExit) -> str:
        seen.append((given.ueptdque, given.ueptdnum, given.ueptdcur))
        return "UERCTDOK" if given.ueptdcur == suppressed else "UERCNORM"

    enable(region, "XTDOUT", program)
    for point in ("XTDEREQ", "XTDREQ", "XTDEREQC"):
        enable(region, point, noting(commands, "point"))  # type: ignore[arg-type]

    def message(number: int) -> int:
        """Write a message of two lines of which one is suppressed; the number of lines written."""
        nonlocal suppressed
        suppressed = number
        commands.clear()
        region._core.messages.text("CSMT", "X" * 200)
        assert commands == []  # no command of a program writes a message
        return len(list(region.readq_td_all("CSMT")))

    assert message(0) == 2
    assert seen == [("CSMT", 2, 1), ("CSMT", 2, 2)]
    seen.clear()
    assert message(1) == 0
    assert seen == [("CSMT", 2, 1)]
    assert message(2) == 1
    assert "XTDREQ" in commands  # of READQ


# -- XTDEREQ and XTDEREQC ---------------------------------------------------------------------------------------------


@pytest.mark.rule("EXIT-XTDEREQ")
def test_xtdereq_changes_the_values_of_a_command(region: Region) -> None:
    region.seed("NORQ", [b"ABCD", b"EFGH"])

    def program(given: CommandExit) -> None:
        values = given.uepclps
        if values.td_funct == "WRITEQ":
            values.td_queue, values.td_length = "LOGQ", 2
        if values.td_funct == "READQ":
            values.td_queue, values.td_length = "NORQ", 2

    enable(region, "XTDEREQ", program)
    region.writeq_td("SOMEQ"[:4], b"abcd")
    assert region.peek("LOGQ") == [b"ab"]
    with region.task() as task:
        assert task.readq_td("ANYQ", 4, nohandle=True) == b"AB"
        assert task.eib.eibresp is Resp.LENGERR
        assert task.eib.eibrsrce == "ANYQ    "
    with pytest.raises(UsageError, match="more than the 1 bytes"):
        region.writeq_td("ANYQ", b"x")


@pytest.mark.rule("EXIT-XTDEREQ-BYPASS")
@pytest.mark.rule("EXIT-XTDEREQC-BYPASS")
def test_uercbyp_bypasses_the_command(region: Region) -> None:
    seen: list[Any] = []

    def program(given: CommandExit) -> str:
        if given.uepclps.td_funct == "READQ":
            given.uepclps.td_into = b"MADE UP"
        else:
            given.uepresp, given.uepresp2 = Resp.NOSPACE, 9
        return "UERCBYP"

    enable(region, "XTDEREQ", program)
    enable(region, "XTDEREQC", noting(seen, "ueprsrce", "uepresp", "uepresp2"))
    with region.task() as task:
        assert task.readq_td("NONE") == b"MADE UP"
        task.writeq_td("NORQ", b"A", nohandle=True)
        assert (task.eib.eibresp, task.eib.eibresp2) == (Resp.NOSPACE, 9)
        task.handle_condition(NOSPACE=lambda condition: seen.append(condition.resp2))
        task.writeq_td("NORQ", b"A")
    assert region.peek("NORQ") == []
    assert seen == [["NONE", Resp.NORMAL, 0], ["NORQ", Resp.NOSPACE, 9], ["NORQ", Resp.NOSPACE, 9], 9]


@pytest.mark.rule("EXIT-XTDEREQC")
def test_xtdereqc_changes_the_response(region: Region) -> None:
    region.seed("NORQ", [b"ABCD"])
    codes: list[Any] = []

    def program(given: CommandExit) -> None:
        codes.append(given.ueprcode)
        if given.uepresp is Resp.LENGERR:
            given.uepclps.td_into = (given.uepclps.td_into or b"") + b"*"
            given.uepresp = Resp.NORMAL
        elif given.uepclps.td_funct == "DELETEQ":
            given.uepresp, given.uepresp2 = Resp.INVREQ, 3

    enable(region, "XTDEREQC", program)
    with region.task() as task:
        assert task.readq_td("NORQ", 3, nohandle=True) == b"ABC"  # with the changed record it is longer than LENGTH
        assert task.eib.eibresp is Resp.LENGERR
        with pytest.raises(Condition, match="RESP 16 RESP2 3"):
            task.deleteq_td("NORQ")
        assert task.eib.eibresp2 == 3
    assert codes == [bytes.fromhex("E10000000000"), bytes(6)]


@pytest.mark.rule("EXIT-XTDEREQ-VALUES")
def test_history_and_hooks_show_the_values_of_the_application(region: Region) -> None:
    seen: list[Any] = []

    class Looking:
        def before(self, _task: Any, command: str, arguments: Any) -> None:
            seen.append((command, arguments["queue"], arguments["from_"]))

        def after(self, _task: Any, command: str, arguments: Any, outcome: object) -> None:
            seen.append((command, arguments["queue"], arguments["from_"], outcome))

    def program(given: CommandExit) -> None:
        given.uepclps.td_queue, given.uepclps.td_from = "LOGQ", b"B"

    add_hook(region, Looking())
    enable(region, "XTDEREQ", program)
    history = History()
    with history.attach(region):
        region.writeq_td("NORQ", b"A")
    assert seen == [("WRITEQ TD", "NORQ", b"A"), ("WRITEQ TD", "NORQ", b"A", None)]
    assert region.peek("LOGQ") == [b"B"]
    assert "NORQ" in "".join(history.lines())


def test_a_planned_fault_ends_a_command_before_its_exits(region: Region) -> None:
    seen: list[Any] = []
    for point in POINTS:
        enable(region, point, noting(seen, "point"))
    with FaultPlan(Fault("NOSPACE", command="WRITEQ TD")).on(region), pytest.raises(Condition, match="NOSPACE"):
        region.writeq_td("NORQ", b"A")
    assert seen == []


@pytest.mark.rule("EXIT-XTDEREQC-REMOTE")
def test_the_remote_system_of_a_request() -> None:
    seen: list[Any] = []
    with Sysplex() as plex:
        near = Region(
            [define_tdqueue(name="REMQ", remotesystem="FAR", remotename="FARQ")],
            applid="NEAR", sysid="NEAR", dispatcher=plex.dispatcher, supplied_queues=False,
        )  # fmt: skip
        far = Region(
            [define_tdqueue(name="FARQ", type="INTRA")],
            applid="FAR", sysid="FAR", dispatcher=plex.dispatcher, supplied_queues=False,
        )  # fmt: skip
        plex.add(near)
        plex.add(far)
        plex.connect(near, far)
        enable(near, "XTDEREQC", noting(seen, "uep_td_remote_system", "uep_td_remote_name"))
        enable(far, "XTDEREQC", noting(seen, "uep_td_remote_system", "uep_td_remote_name"))
        outward: list[Any] = []
        enable(near, "XTDOUT", noting(outward, "ueptdque"))
        enable(far, "XTDOUT", noting(outward, "ueptdque"))
        near.writeq_td("REMQ", b"A")
        near.writeq_td("FARQ", b"B", sysid="FAR")
        assert far.peek("FARQ") == [b"A", b"B"]
    assert seen == [["", ""], ["FAR", "FARQ"], ["", ""], ["FAR", "FARQ"]]
    assert outward == ["FARQ", "FARQ"]  # only where the queue is


@pytest.mark.rule("EXIT-TOKENS")
def test_tokens(region: Region) -> None:
    seen: list[Any] = []

    def before(given: CommandExit) -> None:
        seen.append(("XTDEREQ", given.ueptdtok, given.ueptstok))
        given.ueptdtok, given.ueptstok = given.uepclps.td_from, "task"

    enable(region, "XTDEREQ", before)
    enable(region, "XTDEREQC", lambda given: seen.append(("XTDEREQC", given.ueptdtok, given.ueptstok)))
    with region.task() as task:
        task.writeq_td("NORQ", b"A")
        task.writeq_td("NORQ", b"B")
    region.writeq_td("NORQ", b"C")
    region.writeq_td("NORQ", b"D")
    assert [each[1:] for each in seen if each[0] == "XTDEREQ"] == [
        (None, None),
        (None, "task"),
        (None, None),
        (None, None),
    ]
    assert [each[1:] for each in seen if each[0] == "XTDEREQC"] == [(each, "task") for each in (b"A", b"B", b"C", b"D")]


@pytest.mark.rule("EXIT-RECURSION")
def test_the_recursion_counter(region: Region) -> None:
    seen: list[Any] = []

    def program(given: CommandExit) -> None:
        seen.append(given.ueprecur)
        if given.ueprecur < 2:
            given.task.writeq_td("LOGQ", b"A")

    enable(region, "XTDEREQ", program)
    with region.task() as task:
        task.handle_condition(ERROR=lambda _condition: None)
        task.writeq_td("NORQ", b"A")
        task.writeq_td("NORQ", b"A")
        assert task.eib.eibrsrce == "NORQ    "
    assert seen == [0, 1, 2, 0, 1, 2]
    assert len(region.peek("LOGQ")) == 4


@pytest.mark.rule("EXIT-ERROR")
def test_the_error_of_an_exit_program_is_seen(region: Region) -> None:
    def program(given: CommandExit) -> None:
        if given.uepclps.td_queue == "NORQ":
            given.task.readq_td("LOGQ")
        elif given.uepclps.td_funct == "WRITEQ":
            raise ArithmeticError("no")

    enable(region, "XTDEREQ", program)
    with region.task() as task:
        task.ignore_condition("QZERO")  # the exit program does not have the settings of the application
        with pytest.raises(UsageError, match="XTDEREQ: program ended with READQ TD LOGQ: QZERO"):
            task.writeq_td("NORQ", b"A")
    handle = region.start(lambda task: task.writeq_td("LOGQ", b"A"), transid="FAIL")
    region.run()
    with pytest.raises(Exception, match="ASRA"):
        handle.result()
    assert region.peek("LOGQ") == []


# -- programs ---------------------------------------------------------------------------------------------------------


@pytest.mark.rule("EXIT-ORDER")
@pytest.mark.rule("EXIT-CODES")
def test_several_programs_at_one_exit(region: Region) -> None:
    seen: list[Any] = []

    def first(given: RequestExit) -> str:
        seen.append(("first", given.uepcrca))
        return "UERCTDOK" if given.ueptdque == "LOGQ" else "UERCNORM"

    def second(given: RequestExit) -> str:
        seen.append(("second", given.uepcrca))
        if given.ueptdtyp == "UEPTDPUR":
            given.uepcrca = "UERCTDNA"
        return "UERCTDNA"

    enable(region, "XTDREQ", first)
    enable(region, "XTDREQ", second)
    region.writeq_td("LOGQ", b"A")  # UERCTDOK and UERCTDNA: neither counts
    region.writeq_td("NORQ", b"A")
    with pytest.raises(Condition, match="NOTAUTH"):
        region.deleteq_td("NORQ")
    assert seen == [("first", "UERCNORM"), ("second", "UERCTDOK")] + [
        ("first", "UERCNORM"), ("second", "UERCNORM"),
    ] * 2  # fmt: skip
    assert [region.peek(queue) for queue in ("LOGQ", "NORQ")] == [[b"A"], [b"A"]]


def test_a_disabled_program_is_not_called(region: Region) -> None:
    seen: list[Any] = []
    program = noting(seen, "point")
    exits = region.programs.exits
    with region.task() as task:
        for point in POINTS:
            exits.enable(point, program)
        assert exits.programs("XTDIN") == (program,)
        task.writeq_td("NORQ", b"A")
        assert task.readq_td("NORQ") == b"A"
        assert seen == ["XTDEREQ", "XTDREQ", "XTDOUT", "XTDEREQC", "XTDEREQ", "XTDREQ", "XTDIN", "XTDEREQC"]
        for point in POINTS:
            exits.disable(point, program)
        task.writeq_td("NORQ", b"B")
        assert len(seen) == 8
    assert region.tdqueues["NORQ"] is region._core.directory.queues["NORQ"]  # requests check for exits no more


def test_what_cannot_be_enabled(region: Region) -> None:
    exits = region.programs.exits
    with pytest.raises(UsageError, match="'XFCREQ' is not an exit; allowed are XTDEREQ, XTDREQ"):
        exits.enable("XFCREQ", print)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="XTDIN: 'PROG' cannot be called"):
        exits.enable("XTDIN", "PROG")  # type: ignore[arg-type]
    exits.enable("XTDIN", print)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="XTDIN: print is enabled there already"):
        exits.enable("XTDIN", print)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="XTDOUT: print is not enabled there"):
        exits.disable("XTDOUT", print)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("point", "code"), [("XTDREQ", "UERCBYP"), ("XTDIN", "UERCTDOK"), ("XTDEREQC", "UERCBYP"), ("XTDOUT", "UERCPURG")]
)
def test_a_return_code_of_another_exit_is_refused(region: Region, point: ExitPoint, code: str) -> None:
    region.seed("NORQ", [b"A"])
    enable(region, point, noting([], "point", code=code))
    with pytest.raises(UsageError, match=f"{point}: program returned '{code}'; allowed are UERCNORM"):
        region.writeq_td("NORQ", b"A") if point == "XTDOUT" else region.readq_td("NORQ")


@pytest.mark.parametrize("point", POINTS)
def test_only_what_the_vendor_names_can_be_changed(region: Region, point: ExitPoint) -> None:
    """Of all parameters those with ``change`` in the table."""
    changed: set[str] = set()

    def program(given: Any) -> None:
        for part in (given, getattr(given, "uepclps", None)):
            for name in sorted({row["name"].lower() for row in table("exits")} & set(dir(part))):
                try:
                    setattr(part, name, getattr(part, name))
                    changed.add(name)
                except AttributeError:
                    pass

    region.seed("NORQ", [b"A"])
    enable(region, point, program)
    region.writeq_td("NORQ", b"A")
    region.readq_td("NORQ")
    known = {
        "XTDREQ": {"uepcrca"},
        "XTDOUT": {"uepcrca", "ueptdamd"},
        "XTDIN": {"uepcrca", "ueptdamd"},
        "XTDEREQ": {
            "uepcrca", "ueptdtok", "uepresp", "uepresp2", "ueptstok",
            "td_queue", "td_from", "td_into", "td_length", "td_sysid",
        },
        "XTDEREQC": {"uepcrca", "ueptdtok", "uepresp", "uepresp2", "ueptstok", "td_into"},
    }  # fmt: skip
    assert changed == known[point]


def test_parameters_have_all_names_of_the_vendor(region: Region) -> None:
    missing: set[tuple[str, str]] = set()

    def program(given: Any) -> None:
        for row in table("exits"):
            if row["exit"] == given.point and row["kind"].endswith("parameter"):
                part = given.uepclps if row["kind"] == "command parameter" else given
                if not hasattr(part, row["name"].lower()):
                    missing.add((given.point, row["name"]))

    for point in POINTS:
        enable(region, point, program)
    region.writeq_td("NORQ", b"A")
    region.readq_td("NORQ")
    assert missing == set()
