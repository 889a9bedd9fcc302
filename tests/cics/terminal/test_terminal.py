"""Terminals as values: text, maps, keys and pseudo-conversations."""

from __future__ import annotations

import re

import pytest

from tdqsim import (
    Abend,
    Condition,
    DefinitionError,
    Region,
    TdqError,
    define_connection,
    define_tdqueue,
    define_terminal,
    define_transaction,
)
from tdqsim.cics import Sysplex
from tdqsim.cics.terminal import Sent
from tdqsim.definitions.bms import parse_bms
from tdqsim.errors import UsageError
from tdqsim.testing import StillClock

SOURCE = """\
PAYSET   DFHMSD TYPE=MAP,MODE=INOUT,LANG=COBOL,TIOAPFX=YES,            X
               STORAGE=AUTO,DSATTS=(COLOR)
PAYMAP   DFHMDI SIZE=(24,80)
         DFHMDF POS=(1,1),LENGTH=7,INITIAL='Account'
ACCT     DFHMDF POS=(1,10),LENGTH=6,ATTRB=(UNPROT,IC)
AMOUNT   DFHMDF POS=(2,10),LENGTH=5,ATTRB=(UNPROT,NUM),INITIAL='00000'
         DFHMSD TYPE=FINAL
         END
"""


@pytest.fixture
def region():
    definitions = [define_terminal(name="T001"), define_transaction(name="PAYM"), define_transaction(name="NEXT")]
    with Region(definitions) as region:
        region.screens.install(parse_bms(SOURCE))
        yield region


def begin(region, program, *typed, **options):
    region.register("PAYM", program)
    handle = region.screens.type("T001", *typed, **options)
    region.run()
    return handle.result()


def test_positions_of_a_map_without_size_are_those_of_a_screen_of_80_columns():
    """A number counts positions from 0; without POS a field follows the last one, over the end of the line."""
    mapset = parse_bms(
        "S        DFHMSD TYPE=MAP,MODE=INOUT\nM        DFHMDI\nA        DFHMDF POS=160,LENGTH=6\n"
        "B        DFHMDF POS=(3,10),LENGTH=75\nC        DFHMDF LENGTH=5\n         DFHMSD TYPE=FINAL\n         END\n"
    )
    assert [(field.name, field.line, field.column) for field in mapset.maps[0].fields] == [
        ("A", 3, 1), ("B", 3, 10), ("C", 4, 6)
    ]  # fmt: skip


@pytest.mark.parametrize("kind", ["SCRN", "DEFSCRN", "ALTSCRN"])
def test_a_terminal_is_a_3270_of_24_lines_of_80_columns(region, kind):
    assert begin(region, lambda task: task.assign(f"{kind}HT", f"{kind}WD"), "PAYM") == (24, 80)


INITIALS = (
    "S        DFHMSD TYPE=MAP,MODE=INOUT\nM        DFHMDI\nA        DFHMDF POS=(1,1),LENGTH=6,{}\n"
    "         DFHMSD TYPE=FINAL\n         END\n"
)


@pytest.mark.parametrize(
    ("written", "shown"), [("INITIAL='D''Or &&'", "D'Or &"), ("INITIAL='Łódź €'", "Łódź €"), ("XINIT=C1C2F3", "AB3")]
)
def test_a_field_shows_what_it_was_given_as_text_or_as_bytes_of_the_page(region, written, shown):
    region.screens.install(parse_bms(INITIALS.format(written)))
    begin(region, lambda task: task.send_map("M", mapset="S", maponly=True), "PAYM")
    assert region.screens.screen("T001").last.fields["A"] == shown


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("INITIAL=ABC", "INITIAL=ABC: it must be text in apostrophes"),
        ("XINIT=C1G2", "XINIT=C1G2: allowed are pairs of hexadecimal digits"),
        ("INITIAL='A',XINIT=C1", "INITIAL and XINIT exclude each other"),
    ],
)
def test_a_field_with_a_wrong_initial_value_is_refused(written, said):
    with pytest.raises(DefinitionError, match=re.escape(said)):
        parse_bms(INITIALS.format(written))


def test_the_first_receive_gets_the_input_that_started_the_task(region):
    assert begin(region, lambda task: task.receive(), "PAYM 100") == region.encode("PAYM 100")


@pytest.mark.parametrize(
    ("key", "got"),
    [("ENTER", "as it is"), ("PF3", "left"), ("PF4", "another"), ("CLEAR", "another"), ("PA1", "as it is")],
)
def test_what_handle_aid_names_is_called_for_its_key(region, key, got):
    def program(task):
        task.handle_aid(pf3=lambda _received: "left", ANYKEY=lambda _received: "another", PA1=lambda _received: "gone")
        task.handle_aid(PA1=lambda _received: "as it is")
        received = task.receive()
        return "as it is" if received == region.encode("PAYM") else received

    assert begin(region, program, "PAYM", key=key) == got


def test_handle_aid_is_not_for_a_command_with_nohandle(region):
    def program(task):
        task.handle_aid(PF3=lambda _received: "left")
        return task.receive(nohandle=True)

    assert begin(region, program, "PAYM", key="PF3") == region.encode("PAYM")


def test_a_key_is_given_back_by_none(region):
    def program(task):
        task.handle_aid(PF3=lambda _received: "left")
        task.handle_aid(PF3=None)
        return task.receive()

    assert begin(region, program, "PAYM", key="PF3") == region.encode("PAYM")


@pytest.mark.parametrize(("pops", "got"), [(0, None), (1, "left")])
def test_push_handle_suspends_handle_aid_until_pop_handle(region, pops, got):
    def program(task):
        task.handle_aid(PF3=lambda _received: "left")
        task.push_handle()
        for _ in range(pops):
            task.pop_handle()
        return task.receive()

    assert begin(region, program, "PAYM", key="PF3") == (got or region.encode("PAYM"))


def test_what_handle_aid_refuses(region):
    with region.task() as task:
        with pytest.raises(TdqError, match="'PF25' is not a key; allowed are ANYKEY, ENTER, CLEAR, PA1"):
            task.handle_aid(PF3=print, PF25=print)
        with pytest.raises(TdqError, match="HANDLE AID PF3: 3 cannot be called"):
            task.handle_aid(PF3=3)
        with pytest.raises(TdqError, match="16"):
            task.handle_aid(**{f"PF{number}": print for number in range(1, 18)})


def test_a_text_too_long_is_cut(region):
    def program(task):
        with pytest.raises(Condition) as caught:
            task.receive(4)
        return caught.value.name, caught.value.data, caught.value.length

    assert begin(region, program, "PAYM 100") == ("LENGERR", region.encode("PAYM"), 8)


def test_a_later_receive_waits(region):
    def program(task):
        task.receive()
        return task.receive(), task.eib.eibaid

    region.register("PAYM", program)
    handle = region.screens.type("T001", "PAYM")
    region.run()
    region.screens.type("T001", "more", key="PF3")
    region.run()
    assert handle.result() == (region.encode("more"), b"3")


def test_text_and_control_are_kept(region):
    def program(task):
        task.send_text(region.encode("HELLO WORLD"), 5, erase=True)
        task.send_control(freekb=True)

    begin(region, program, "PAYM")
    assert region.screens.screen("T001").sent == [
        Sent("SEND TEXT", text="HELLO", options=("ERASE",)),
        Sent("SEND CONTROL", options=("FREEKB",)),
    ]


SHOWN = ("ERASE", "ERASEAUP", "FREEKB", "ALARM", "FRSET")


@pytest.mark.parametrize("word", SHOWN)
def test_a_control_function_is_kept_with_what_was_sent(region, word):
    """Each alone, so that a command that drops one or takes one for another is noticed."""
    option = {word.lower(): True}

    def program(task):
        task.send_map("PAYMAP", "PAYSET", record(region, "ACC-01", ""), **option)
        task.send_control(**option)
        if word not in ("ERASEAUP", "FRSET"):
            task.send_text(b"", **option)

    begin(region, program, "PAYM")
    sent = region.screens.screen("T001").sent
    assert {each.options for each in sent} == {(word,)}
    assert len(sent) == (2 if word in ("ERASEAUP", "FRSET") else 3)


def test_the_cursor_goes_where_the_command_says(region):
    def program(task):
        task.send_map("PAYMAP", "PAYSET", record(region, "", "", -1), cursor=0)
        task.send_text(b"", cursor=6)
        task.send_control(cursor=7)

    begin(region, program, "PAYM")
    assert [each.cursor for each in region.screens.screen("T001").sent] == [0, 6, 7]


def test_the_options_of_send(region):
    def program(task):
        task.send(region.encode("HELLO"), 2, erase=True)
        task.send(region.encode("WORLD"), fmh=True)
        task.send(b"", last=True)

    begin(region, program, "PAYM")
    assert region.screens.screen("T001").sent == [
        Sent("SEND", text="HE", options=("ERASE",)),
        Sent("SEND", text="WORLD", options=("FMH",)),
        Sent("SEND", options=("LAST",)),
    ]


def test_maxlength_cuts_and_notruncate_keeps_the_rest_for_the_next_receive(region):
    def program(task):
        first = task.receive(maxlength=4, notruncate=True)
        with pytest.raises(Condition) as caught:
            task.receive(maxlength=2)
        return first, caught.value.name, caught.value.data

    parts = (region.encode("PAYM"), "LENGERR", region.encode(" 1"))
    assert begin(region, program, "PAYM 100") == parts


@pytest.mark.parametrize("into", ["INTO", "SET"])
def test_the_receivers_of_receive_as_text(region, into):
    def program(task):
        got = {}
        task.execute(f"RECEIVE {into}(REC) LENGTH(LEN)", got)
        return bytes(got["REC"]), got["LEN"]

    assert begin(region, program, "PAYM 100") == (region.encode("PAYM 100"), 8)


@pytest.mark.parametrize("into", ["INTO", "SET"])
def test_the_receivers_of_receive_map_as_text(region, into):
    def program(task):
        got = {}
        task.execute(f"RECEIVE MAP('PAYMAP') MAPSET('PAYSET') {into}(REC)", got)
        return bytes(got["REC"])[16:22]

    assert begin(region, program, "PAYM", ACCT="X1") == region.encode("X1    ")


def record(region, acct, amount, length=0):
    """An output record of PAYMAP: 12 bytes, then length, attribute, colour and data of each field."""
    fields = ((acct, 6), (amount, 5))
    return bytes(12) + b"".join(
        length.to_bytes(2, "big", signed=True) + b"\0\0" + region.encode(text).ljust(size, b"\0")
        for text, size in fields
    )


def test_a_map_shows_the_programs_data_or_its_own(region):
    begin(region, lambda task: task.send_map("PAYMAP", "PAYSET", record(region, "ACC-01", ""), erase=True), "PAYM")
    sent = region.screens.screen("T001").last
    assert dict(sent.fields) == {"ACCT": "ACC-01", "AMOUNT": "00000"}
    assert sent.options == ("ERASE",)


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ({}, {"ACCT": "ACC-01", "AMOUNT": "00042"}),
        ({"length": 22}, {"ACCT": "ACC-01", "AMOUNT": "00000"}),
        ({"dataonly": True, "length": 22}, {"ACCT": "ACC-01"}),
        ({"maponly": True}, {"AMOUNT": "00000"}),
    ],
    ids=["both", "LENGTH", "DATAONLY", "MAPONLY"],
)
def test_whose_data_a_map_shows(region, options, shown):
    """The record is cut before AMOUNT with LENGTH(22)."""
    data = record(region, "ACC-01", "00042")
    begin(region, lambda task: task.send_map("PAYMAP", "PAYSET", data, **options), "PAYM")
    fields = region.screens.screen("T001").last.fields
    assert {name: value for name, value in fields.items() if value} == shown


def test_the_cursor_goes_to_the_first_field_with_minus_one(region):
    begin(region, lambda task: task.send_map("PAYMAP", "PAYSET", record(region, "", "", -1)), "PAYM")
    assert region.screens.screen("T001").last.cursor == 10


def test_what_was_typed_comes_in_the_symbolic_map(region):
    def program(task):
        return task.receive_map("PAYMAP", "PAYSET")

    received = begin(region, program, "PAYM", ACCT="X1", AMOUNT="42")
    assert received[12:14] == b"\0\2"
    assert received[16:22] == region.encode("X1    ")
    assert received[26:31] == region.encode("00042")


@pytest.mark.parametrize("options", [{"key": "CLEAR"}, {"key": "PA1", "ACCT": "X1"}, {}])
def test_nothing_of_the_map_is_mapfail(region, options):
    def program(task):
        with pytest.raises(Condition) as caught:
            task.receive_map("PAYMAP", "PAYSET")
        return caught.value.name

    assert begin(region, program, "PAYM", **options) == "MAPFAIL"


@pytest.mark.parametrize(("names", "code"), [(("NOMAP", "PAYSET"), "ABM0"), (("PAYMAP", "NOSET"), "APCT")])
def test_a_map_that_is_not_there_is_an_abend(region, names, code):
    with pytest.raises(Abend) as caught:
        begin(region, lambda task: task.send_map(*names), "PAYM")
    assert caught.value.code == code


def test_send_refuses_a_negative_length(region):
    def program(task):
        with pytest.raises(Condition, match="LENGERR"):
            task.send(b"PAY", -1)
        task.send(b"PAY", 0)

    begin(region, program, "PAYM")


def test_a_task_without_terminal_is_refused(region):
    with region.task() as task:
        for call in (task.send, lambda _data: task.receive()):
            with pytest.raises(Condition, match="NOTALLOC"):
                call(b"x")
        for bms in (
            "SEND TEXT FROM('x')",
            "SEND CONTROL ERASE",
            "SEND MAP('M') MAPSET('S')",
            "RECEIVE MAP('M') INTO(R)",
        ):
            with pytest.raises(Abend, match="ABM3"):
                task.execute(f"{bms} RESP(R)", {"R": 0})
        with pytest.raises(Condition) as caught:
            task.return_(transid="NEXT")
        assert (caught.value.name, caught.value.resp2) == ("INVREQ", 1)


def test_a_pseudo_conversation_carries_its_commarea(region):
    seen = []
    region.register("NEXT", lambda task: seen.append((bytes(task.commarea), task.eib.eibcalen, task.eib.eibaid)))
    begin(region, lambda task: task.return_(transid="NEXT", commarea=b"state", length=4), "PAYM")
    region.screens.type("T001", "whatever", key="PF1")
    region.run()
    assert seen == [(b"stat", 4, b"1")]


@pytest.mark.rule("TERM-FIRST-INPUT")
def test_a_task_has_the_input_that_began_it_and_none_that_the_one_before_did_not_receive(region):
    """The first task of a conversation sends a map and returns, without a RECEIVE."""
    got = []
    region.register(
        "NEXT", lambda task: got.append((task.eib.eibaid, task.eib.eibcposn, task.receive_map("PAYMAP", "PAYSET")))
    )
    begin(region, lambda task: (task.send_map("PAYMAP", "PAYSET"), task.return_(transid="NEXT")), "PAYM")
    region.screens.type("T001", key="PF5", cursor=9, ACCT="4711")
    region.run()
    ((aid, cursor, record),) = got
    assert (aid, cursor) == (b"5", 9)
    assert "4711".encode("cp037") in record


def test_an_unknown_key_is_refused(region):
    with pytest.raises(Exception, match="allowed are ENTER"):
        region.screens.type("T001", key="PF25")


@pytest.mark.parametrize("position", ["²", "(1,²)", "(٣,1)"])
def test_a_position_of_other_digits_than_0_to_9_is_refused(position):
    source = (
        "S        DFHMSD TYPE=MAP,LANG=COBOL\n"
        "M        DFHMDI SIZE=(24,80)\n"
        f"F        DFHMDF POS={position},LENGTH=1\n"
        "         DFHMSD TYPE=FINAL\n"
    )
    with pytest.raises(DefinitionError, match="must be a number"):
        parse_bms(source)


def test_immediate_starts_the_next_transaction_without_input(region):
    ran = []
    region.register("NEXT", lambda task: ran.append(bytes(task.commarea)))
    begin(region, lambda task: task.return_(transid="NEXT", commarea=b"state", immediate=True), "PAYM")
    assert ran == [b"state"]
    begin(region, lambda task: task.return_(transid="NEXT", commarea=b"later"), "PAYM")
    assert ran == [b"state"]


@pytest.mark.parametrize(
    ("options", "got"),
    [
        ({"commarea": b"state", "length": 7}, (b"state\0\0", "")),
        ({"commarea": bytes(32763)}, (bytes(32763), "")),
        ({"channel": "CHAN"}, (b"", "CHAN")),
        ({}, (b"", "")),
    ],
)
def test_what_return_passes_goes_to_the_next_transaction_and_to_no_later_one(region, options, got):
    def next_one(task):
        seen.append((bytes(task.commarea or b""), task.assign("CHANNEL")))

    seen = []
    region.register("NEXT", next_one)
    begin(region, lambda task: task.return_(transid="NEXT", **options), "PAYM")
    for _ in range(2):
        region.screens.type("T001", "NEXTWORD")  # of what is typed four characters are the transaction
        region.run()
    assert seen == [got, (b"", "")]


@pytest.mark.parametrize("options", [{"commarea": b"x"}, {"channel": "CHAN"}, {"immediate": True}])
def test_return_below_the_highest_level_passes_nothing_on(region, options):
    def program(task):
        with pytest.raises(Abend) as caught:
            task.link("BELOW")
        return caught.value.code, caught.value.cause.name, caught.value.cause.resp2

    region.programs.register("BELOW", lambda task: task.return_(transid="NEXT", **options))
    seen = begin(region, program, "PAYM")
    assert seen == ("AEIP", "INVREQ", 2)


@pytest.mark.rule("TERM-RETURN-ABEND")
@pytest.mark.parametrize("abends", [True, False])
def test_the_transid_of_return_below_the_highest_level_is_gone_when_the_task_abends(region, abends):
    def program(task):
        task.link("BELOW")
        if abends:
            task.abend("OOPS")

    seen = []
    region.programs.register("BELOW", lambda task: task.return_(transid="NEXT"))
    region.register("NEXT", lambda _task: seen.append("NEXT"))
    region.register("PAYM", program)
    region.screens.type("T001", "PAYM")
    region.run()
    region.register("PAYM", lambda _task: seen.append("PAYM"))
    region.screens.type("T001", "PAYM")
    region.run()
    assert seen == (["PAYM"] if abends else ["NEXT"])


def test_return_immediate_begins_nothing_when_the_task_abends_at_its_last_syncpoint():
    """The other region that takes part is lost, so the task ends with ASPN."""
    queue = define_tdqueue(name="FARQ", type="INTRA", recovstatus="LOGICAL")
    here = [define_terminal(name="T001"), define_transaction(name="PAYM"), define_transaction(name="NEXT")]
    seen = []
    with Sysplex() as sysplex:
        region = sysplex.region([*here, define_connection(name="FAR", netname="THERE")], applid="HERE", sysid="HERE")
        far = sysplex.region([queue, define_connection(name="HERE", netname="HERE")], applid="THERE", sysid="FAR")

        def program(task):
            task.writeq_td("FARQ", b"x", sysid="FAR")
            sysplex.link(region, far).cut()
            task.return_(transid="NEXT", immediate=True)

        region.register("PAYM", program)
        region.register("NEXT", lambda _task: seen.append("NEXT"))
        handle = region.screens.type("T001", "PAYM")
        sysplex.run()
        assert isinstance(handle.exception, Abend)
        assert handle.exception.code == "ASPN"
        assert seen == []
        region.screens.type("T001", "NEXT")
        sysplex.run()
        assert seen == ["NEXT"]


def test_the_length_of_the_commarea_of_return_is_not_negative(region):
    def program(task):
        with pytest.raises(Condition) as caught:
            task.return_(transid="NEXT", commarea=b"state", length=-1)
        return caught.value.name

    assert begin(region, program, "PAYM") == "LENGERR"


def test_a_terminal_that_was_of_another_region_is_used_here_after_its_definition_is_replaced():
    definitions = [define_terminal(name="T001", remotesystem="FAR"), define_transaction(name="PAYM")]
    seen = []
    with Region(definitions) as region:
        region.register("PAYM", lambda task: seen.append(task.assign("FACILITY")))
        with pytest.raises(UsageError, match="terminal T001 belongs to system FAR"):
            region.screens.type("T001", "PAYM")
        region.install([define_terminal(name="T001")])
        region.screens.type("T001", "PAYM")
        region.run()
    assert seen == ["T001"]


def test_a_terminal_has_one_task_at_a_time():
    seen = []

    def slow(task):
        task.delay(seconds=5)
        seen.append("slow")

    def triggered(task):
        seen.append(task.assign("QNAME"))
        assert list(task.readq_td_all("TRGQ")) == [b"one"]

    queue = define_tdqueue(name="TRGQ", type="INTRA", facilityid="T001", transid="TRIG", triggerlevel=1)
    definitions = [define_terminal(name="T001"), queue, *(define_transaction(name=name) for name in ("SLOW", "TRIG"))]
    with Region(definitions, clock=StillClock(), handlers={"SLOW": slow, "TRIG": triggered}) as region:
        region.screens.type("T001", "SLOW")
        with pytest.raises(TdqError, match=r"terminal T001 is in use by task \d+ SLOW, which does not wait for input"):
            region.screens.type("T001", "SLOW again")
        region.writeq_td("TRGQ", b"one")
        assert seen == []
        region.run()
        assert seen == ["slow", "TRGQ"]
        region.set_terminal("T001", servstatus="OUTSERVICE")
        with pytest.raises(TdqError, match="terminal T001 is out of service"):
            region.screens.type("T001", "SLOW")
        with pytest.raises(TdqError, match="servstatus is False; allowed are INSERVICE and OUTSERVICE"):
            region.set_terminal("T001", servstatus=False)


def test_a_length_beyond_the_data_of_send_is_refused(region):
    def program(task):
        for send in (task.send, lambda *data: task.send_map("PAYMAP", "PAYSET", *data)):
            with pytest.raises(TdqError, match="LENGTH 4 is more than the 3 bytes of FROM"):
                send(b"abc", 4)
        with pytest.raises(TdqError, match="SEND MAP: LENGTH is -1; allowed are 0 and more"):
            task.send_map("PAYMAP", "PAYSET", b"abc", -1)

    region.register("PAYM", program)
    handle = region.screens.type("T001", "PAYM")
    region.run()
    handle.result()
    assert region.screens.screen("T001").sent == []
