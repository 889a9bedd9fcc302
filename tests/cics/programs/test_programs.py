"""LINK as text, and the programs of transactions."""

from __future__ import annotations

import pytest

from tdqsim import Abend, Region, TdqError
from tdqsim.cics.programs.commands import abend_program
from tdqsim.cics.text import ceci
from tdqsim.definitions import define_program, define_tdqueue, define_terminal, define_transaction
from tests.rules import rule

TRIGGERED = define_tdqueue(
    name="PAYQ", type="INTRA", recovstatus="PHYSICAL", atifacility="FILE", transid="T1", triggerlevel=1
)


def uppercase(task):
    task.commarea[:1] = b"Z"


def uppercase_and_abend(task):
    task.commarea[:1] = b"Z"
    task.abend("SUBP")


@pytest.fixture
def reg():
    with Region([]) as made:
        made.programs.register("SUBP", uppercase)
        made.programs.register("BADP", uppercase_and_abend)
        yield made


@pytest.mark.rule("PGM-LINK-SHARES")
@pytest.mark.parametrize(
    ("held", "left"),
    [(bytearray(b"abc"), bytearray(b"Zbc")), (b"abc", b"Zbc")],
    ids=["an area", "bytes"],
)
def test_link_as_text_changes_the_callers_commarea(reg, held, left):
    variables = {"CA": held}
    received = reg.execute("LINK PROGRAM('SUBP') COMMAREA(CA)", variables)
    assert variables["CA"] == left
    assert type(variables["CA"]) is type(left)
    assert received == {"COMMAREA": b"Zbc"}


@pytest.mark.rule("PGM-LINK-SHARES")
def test_link_as_text_changes_text_an_item_of_a_group_and_part_of_an_area(reg):
    text = {"CA": reg.text(b"abc")}
    reg.execute("LINK PROGRAM('SUBP') COMMAREA(CA) RESP(R)", text)
    assert (reg.encode(text["CA"]), text["R"]) == (b"Zbc", 0)
    group = {"WS": {"CA": b"abc"}}
    reg.execute("LINK PROGRAM('SUBP') COMMAREA(CA OF WS) LENGTH(2)", group)
    assert group["WS"]["CA"] == b"Zbc"
    area = {"CA": bytearray(b"abcdef")}
    reg.execute("LINK PROGRAM('SUBP') COMMAREA(CA(3:2))", area)
    assert area["CA"] == b"abZdef"


@pytest.mark.rule("PGM-LINK-SHARES")
def test_the_change_is_there_though_the_program_abends_and_xctl_passes_a_copy(reg):
    variables = {"CA": b"abc"}
    with pytest.raises(Abend):
        reg.execute("LINK PROGRAM('BADP') COMMAREA(CA)", variables)
    assert variables["CA"] == b"Zbc"
    copied = {"CA": bytearray(b"abc")}

    def first(task):
        task.execute("XCTL PROGRAM('SUBP') COMMAREA(CA)", copied)

    reg.start(first).result()
    assert copied["CA"] == b"abc"


def test_ceci_shows_the_commarea_after_link(reg):
    with ceci.session(reg, {"&CA": b"abc"}) as session:
        assert session.execute("LINK PROGRAM(SUBP) COMMAREA(&CA)").received == {"COMMAREA": b"Zbc"}
        assert session.variables["&CA"] == b"Zbc"


@pytest.mark.rule("TRAN-PROGRAM")
def test_a_transaction_runs_the_program_of_the_program_table():
    ran = []
    with Region([define_transaction(name="T1", program="MAINP"), TRIGGERED]) as reg:
        with pytest.raises(TdqError, match="program MAINP is not defined"):
            reg.start("T1")
        reg.programs.register("MAINP", lambda task: ran.append((task.transid, task.assign("PROGRAM"))))
        reg.start("T1").result()
        reg.writeq_td("PAYQ", b"2")
        assert ran[:2] == [("T1", "MAINP"), ("T1", "MAINP")]


@pytest.mark.rule("TRAN-PROGRAM")
def test_a_handler_of_a_transaction_is_its_program_for_link_too():
    ran = []
    with Region(
        [define_transaction(name="T1", program="MAINP"), define_transaction(name="T2", program="MAINP")]
    ) as reg:
        reg.register("T1", lambda task: ran.append(task.transid))
        reg.start("T1").result()
        reg.start("T2").result()
        reg.start(lambda task: task.link("MAINP"), transid="T3").result()
        assert ran == ["T1", "T2", "T3"]
        reg.register("T2", lambda _task: ran.append("own"))
        reg.start("T2").result()
        assert ran[3:] == ["own"]


@pytest.mark.rule("TRAN-PROGRAM")
def test_a_cycle_of_the_last_run_goes_on_when_its_program_is_registered(tmp_path):
    queue = define_tdqueue(
        name="TERQ", type="INTRA", recovstatus="LOGICAL", transid="T1", triggerlevel=1, facilityid="T001"
    )
    definitions = [define_transaction(name="T1", program="MAINP"), queue, define_terminal(name="T001")]
    ran = []
    reg = Region(definitions, store=tmp_path / "s")
    reg.set_terminal("T001", servstatus="OUTSERVICE")
    reg.writeq_td("TERQ", b"1")
    reg.close(clean=False)
    with Region([], store=tmp_path / "s") as reg:
        reg.inquire_tdqueue("TERQ")
        reg.run()
        reg.programs.register("MAINP", lambda task: ran.append(task.readq_td("TERQ")))
        reg.run()
    assert ran[:1] == [b"1"]


FACILITIES = {"FILE": "08", "START": "04", "task": "00", "terminal": "01"}


@pytest.mark.rule("TASK-ASSIGN-FCI")
def test_fci_tells_the_kind_of_principal_facility():
    assert " ".join(FACILITIES.values()) == rule("TASK-ASSIGN-FCI").message
    seen = {}

    def noted(kind):
        def program(task):
            seen[kind] = task.assign("FCI").hex()
            if kind == "FILE":
                task.readq_td("PAYQ")

        return program

    with Region([TRIGGERED, define_terminal(name="T001")], handlers={"T1": noted("FILE"), "T2": noted("START")}) as reg:
        reg.writeq_td("PAYQ", b"1")
        reg.execute("START TRANSID('T2')")
        reg.run()
        reg.register("T3", noted("terminal"))
        reg.execute("START TRANSID('T3') TERMID('T001')")
        reg.run()
        with reg.task() as task:
            seen["task"] = task.assign("FCI").hex()
    assert seen == FACILITIES


@pytest.mark.rule("TASK-ASSIGN-ABPROGRAM")
@pytest.mark.parametrize("verb", ["link", "xctl"])
def test_abprogram_is_the_program_that_failed(verb):
    seen = []
    with Region([define_transaction(name="T1", program="MAINP")]) as reg:

        def mainp(task):
            seen.append(task.assign("ABPROGRAM"))
            task.handle_abend(lambda _abend: seen.append(task.assign("ABPROGRAM", "ABCODE")))
            task.link("MIDP")

        reg.programs.register("MAINP", mainp)
        reg.programs.register("MIDP", lambda task: getattr(task, verb)("BADP"))
        reg.programs.register("BADP", lambda task: task.abend("OOPS"))
        reg.start("T1").result()
    assert seen == ["", ("BADP", "OOPS")]


@pytest.mark.rule("TASK-ASSIGN-ABPROGRAM")
@pytest.mark.parametrize("verb", ["link", "xctl"])
@pytest.mark.parametrize(
    "fault", [lambda task: task.abend("OOPS"), lambda _task: 1 // 0, lambda task: task.readq_td("NOQ")]
)
def test_the_message_names_the_program_that_failed(verb, fault):
    definitions = [define_transaction(name="T1", program="MAINP"), define_tdqueue(name="CSMT", type="INTRA")]
    with Region(definitions, supplied_queues=False) as reg:
        reg.programs.register("MAINP", lambda task: getattr(task, verb)("BADP"))
        reg.programs.register("BADP", fault)
        with pytest.raises(Abend):
            reg.start("T1").result()
        message = "".join(map(reg.text, reg.peek("CSMT")))
        assert message.startswith(rule("TASK-ASSIGN-ABPROGRAM").message)
        assert "in program BADP" in message


@pytest.mark.rule("TASK-ASSIGN-INVOKINGPROG")
def test_invokingprog_and_returnprog_after_link_and_xctl():
    """The vendor's example: A links to B, B to C, C transfers to D and D to E."""
    seen = {}
    onward = {"A": ("link", "B"), "B": ("link", "C"), "C": ("xctl", "D"), "D": ("xctl", "E"), "E": None}

    def program(name):
        def run(task):
            seen[name] = task.assign("PROGRAM", "INVOKINGPROG", "RETURNPROG", "LINKLEVEL")
            if onward[name] is not None:
                getattr(task, onward[name][0])(onward[name][1])

        return run

    with Region([define_transaction(name="T1", program="A")]) as reg:
        for name in onward:
            reg.programs.register(name, program(name))
        reg.start("T1").result()
    assert seen == {
        "A": ("A", "", "", 1),
        "B": ("B", "A", "A", 2),
        "C": ("C", "B", "B", 3),
        "D": ("D", "C", "B", 3),
        "E": ("E", "D", "B", 3),
    }


@pytest.mark.parametrize(("options", "got"), [({}, b"abcdef"), ({"length": 2}, b"ab")], ids=["all", "LENGTH"])
def test_xctl_passes_as_much_of_the_commarea_as_length_says(reg, options, got):
    seen = []
    reg.programs.register("NEXTP", lambda task: seen.append(bytes(task.commarea)))
    reg.start(lambda task: task.xctl("NEXTP", b"abcdef", **options)).result()
    assert seen == [got]


@pytest.mark.parametrize("length", [-1, 32764])
def test_the_length_of_a_commarea_of_xctl_is_from_0_to_32763(reg, length):
    def first(task):
        task.xctl("SUBP", bytes(40_000), length, nohandle=True)
        return task.eib.eibresp.name, task.eib.eibresp2

    assert reg.start(first).result() == ("LENGERR", 11)


@pytest.mark.parametrize("verb", ["link", "xctl"])
def test_a_channel_is_the_current_one_of_the_program(reg, verb):
    seen = []
    reg.programs.register("NEXTP", lambda task: seen.append((task.assign("CHANNEL"), task.get_container("ONE").data)))

    def first(task):
        task.put_container("ONE", b"data", channel="CH")
        getattr(task, verb)("NEXTP", channel="CH")

    reg.start(first).result()
    assert [(channel.rstrip(), data) for channel, data in seen] == [("CH", b"data")]


def test_return_passes_its_channel_to_the_next_transaction_of_the_terminal():
    seen = []

    def first(task):
        task.put_container("ONE", b"data", channel="CH")
        task.return_(transid="NEXT", channel="CH")

    definitions = [define_terminal(name="T001"), define_transaction(name="PAYM"), define_transaction(name="NEXT")]
    with Region(
        definitions, handlers={"PAYM": first, "NEXT": lambda task: seen.append(task.get_container("ONE"))}
    ) as r:
        r.screens.type("T001", "PAYM")
        r.run()
        r.screens.type("T001", "more")
        r.run()
    assert [each.data for each in seen] == [b"data"]


def test_eibcalen_is_that_of_the_caller_again_when_a_linked_program_has_ended(reg):
    def outer(task):
        for program, area in (("SUBP", bytearray(b"abc")), ("BADP", bytearray(b"ab")), ("SUBP", bytearray(b"abcdef"))):
            try:
                task.link(program, area)
            except Abend:
                seen.append("abend")
            seen.append(task.eib.eibcalen)

    def first(task):
        task.link("OUTERP", bytearray(5))
        seen.append(task.eib.eibcalen)

    seen = []
    reg.programs.register("OUTERP", outer)
    reg.start(first).result()
    assert seen == [5, "abend", 5, 5, 0]


@pytest.mark.rule("DPL-EXECUTIONSET")
@pytest.mark.parametrize("way", ["xctl", "handle abend"])
def test_a_program_that_replaces_one_with_dplsubset_has_its_restrictions(way):
    def first(task):
        if way == "xctl":
            task.xctl("LAST")
        task.handle_abend(abend_program(task, "LAST"))
        task.abend("OOPS")

    def last(task):
        task.syncpoint(nohandle=True)
        seen.append((task.eib.eibresp.name, task.eib.eibresp2))

    seen = []
    with Region([define_program(name="SERVER", executionset="DPLSUBSET")]) as region:
        region.programs.register("SERVER", first)
        region.programs.register("LAST", last)
        region.start(lambda task: task.link("SERVER")).result()
    assert seen == [("INVREQ", 200)]


@pytest.mark.rule("TASK-HANDLE-ABEND-AGAIN")
@pytest.mark.parametrize(
    ("options", "seen"),
    [
        (None, ["first BANG"]),
        ({"cancel": True}, ["abend BANG"]),
        ({"program": True}, ["second BANG", "abend TWO"]),
    ],
    ids=["", "CANCEL", "PROGRAM"],
)
def test_a_level_has_one_exit_of_handle_abend_also_after_xctl(reg, options, seen):
    def last(task):
        def second(abend):
            told.append(f"second {abend.code}")
            task.abend("TWO")

        if options is not None:
            task.handle_abend(**({"program": second} if "program" in options else options))
        task.abend("BANG")

    def first(task):
        task.handle_abend(lambda abend: told.append(f"first {abend.code}"))
        task.xctl("LASTP")

    told = []
    reg.programs.register("LASTP", last)
    try:
        reg.start(first).result()
    except Abend as abend:
        told.append(f"abend {abend.code}")
    assert told == seen


def test_handle_abend_reset_after_xctl_makes_the_exit_active_that_was_cancelled_before_it(reg):
    def first(task):
        task.handle_abend(lambda abend: told.append(abend.code))
        task.handle_abend(cancel=True)
        task.xctl("LASTP")

    def last(task):
        task.handle_abend(reset=True)
        task.abend("BANG")

    told = []
    reg.programs.register("LASTP", last)
    reg.start(first).result()
    assert told == ["BANG"]


def test_the_program_of_handle_abend_gets_the_commarea_of_the_one_that_names_it(reg):
    def first(task):
        task.handle_abend(abend_program(task, "LASTP"))
        task.xctl("BADP", bytearray(b"other"))

    got = []
    reg.programs.register("LASTP", lambda task: got.append(bytes(task.commarea or b"")))
    reg.programs.register("FIRSTP", first)
    reg.start(lambda task: task.link("FIRSTP", bytearray(b"mine"))).result()
    assert got == [b"mine"]


@pytest.mark.parametrize("verb", ["link", "xctl"])
def test_a_condition_that_a_program_does_not_handle_is_its_abend_and_no_response_to_link_or_xctl(reg, verb):
    """Neither RESP or NOHANDLE of the caller's command takes it, nor HANDLE CONDITION of the caller."""
    reg.programs.register("BELOW", lambda task: task.readq_td("NONE"))
    taken = []

    def caller(task):
        task.handle_condition(QIDERR=taken.append, ERROR=taken.append)
        getattr(task, verb)("BELOW", nohandle=True)

    handle = reg.start(caller)
    reg.run()
    with pytest.raises(Abend) as met:
        handle.result()
    assert (met.value.code, met.value.cause.command, taken) == ("AEYH", "READQ TD", [])
    with reg.task() as task:
        task.handle_abend(lambda abend: taken.append(abend.code))
        task.link("BELOW")
    assert taken == ["AEYH"]
