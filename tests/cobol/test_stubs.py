"""Stubs: commands that a test answers instead of the region."""

from __future__ import annotations

import pytest

from tdqsim import Abend, Condition
from tdqsim.cobol import Stub, StubAnswer
from tdqsim.errors import UsageError
from tdqsim.facts import Resp

pytestmark = pytest.mark.cobc

STORAGE = """
77 WS-LEN PIC S9(4) COMP.
77 WS-RESP PIC S9(8) COMP.
77 WS-RESP2 PIC S9(8) COMP.
01 WS-REC PIC X(8) VALUE ALL '.'.
01 LINE-1.
   05 L-REC PIC X(8).
   05 L-LEN PIC 9(3).
   05 L-RESP PIC 9(3).
   05 L-RESP2 PIC 9(3).
"""
READ = """
MOVE 8 TO WS-LEN
EXEC CICS READQ TD QUEUE('{queue}') INTO(WS-REC) LENGTH(WS-LEN) RESP(WS-RESP) RESP2(WS-RESP2) END-EXEC
MOVE WS-REC TO L-REC MOVE WS-LEN TO L-LEN MOVE WS-RESP TO L-RESP MOVE WS-RESP2 TO L-RESP2
EXEC CICS WRITEQ TD QUEUE('OUT') FROM(LINE-1) END-EXEC
"""


def test_the_second_read_of_a_queue_ends_with_a_condition_and_the_others_go_to_the_region(workshop):
    reads = READ.format(queue="IN") + READ.format(queue="LOGQ") + READ.format(queue="IN") + READ.format(queue="IN")
    workshop.program("READER", STORAGE, reads + "GOBACK.")
    for queue, record in (("IN", b"ONE"), ("IN", b"TWO"), ("LOGQ", b"LOG")):
        workshop.region.writeq_td(queue, record)
    stub = Stub("READQ TD", StubAnswer(resp="IOERR", resp2=7), where={"QUEUE": "IN"}, count=2)
    workshop.programs.stubs.append(stub)
    workshop.run("READER")
    assert workshop.out() == [
        b"ONE.....003000000",
        b"LOG.....003000000",
        b"LOG.....008017007",
        b"TWO.....003000000",
    ]
    assert [call["QUEUE"] for call in stub.calls] == [b"IN"]


def test_an_answer_gives_a_record_and_its_length(workshop):
    workshop.program("READER", STORAGE, READ.format(queue="NONE") * 2 + "GOBACK.")
    workshop.programs.stubs += [
        Stub("LENGTH", StubAnswer(abend="VERB")),  # the first word is the verb, which an option is not
        Stub("READQ TD", StubAnswer({"INTO": "ABCDEF"}), count="1"),
        Stub("READQ TD", StubAnswer({"LENGTH": 12, "INTO": b"XY"}, "LENGERR"), count="2-"),
    ]
    workshop.run("READER")
    assert workshop.out() == [b"ABCDEF..006000000", b"XYCDEF..012022000"]


def test_a_condition_of_a_stub_goes_to_the_label_or_is_an_abend(workshop):
    workshop.program(
        "LABEL",
        STORAGE,
        """
        EXEC CICS HANDLE CONDITION DISABLED(NONE-THERE) END-EXEC
        EXEC CICS READQ TD QUEUE('IN') INTO(WS-REC) END-EXEC
        GOBACK.
        NONE-THERE.
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM('OFF') END-EXEC
        EXEC CICS WRITEQ TD QUEUE('LOGQ') FROM('OFF') END-EXEC
        GOBACK.
        """,
    )
    workshop.programs.stubs += [
        Stub("READQ TD", StubAnswer(resp="DISABLED"), program="LABEL"),
        Stub("WRITEQ", StubAnswer(resp="NOSPACE"), where={"QUEUE": "LOGQ"}),
    ]
    with pytest.raises(Abend) as met:
        workshop.run("LABEL")
    assert met.value.code == "AEIR"
    assert workshop.out() == [b"OFF"]


def test_a_stub_may_end_the_task(workshop):
    workshop.program("READER", STORAGE, READ.format(queue="IN") + "GOBACK.")
    workshop.programs.stubs.append(Stub("READQ TD", StubAnswer(abend="AKCT")))
    with pytest.raises(Abend, match="AKCT"):
        workshop.run("READER")


def test_stubs_are_selected_by_program_and_transaction(workshop):
    workshop.program("OUTER", STORAGE, READ.format(queue="IN") + "CALL 'INNER' USING DFHEIBLK DFHCOMMAREA\nGOBACK.")
    workshop.program("INNER", STORAGE, READ.format(queue="IN") + "GOBACK.")
    workshop.programs.stubs += [
        Stub("READQ TD", StubAnswer({"INTO": b"T2"}), transaction="TRN2"),
        Stub("READQ TD", StubAnswer({"INTO": b"INNER"}), program="INNER"),
    ]
    for transid in ("TRN1", "TRN2"):
        workshop.region.writeq_td("IN", b"REAL")
        handle = workshop.region.start(workshop.programs.handler("OUTER"), transid=transid)
        workshop.region.run()
        handle.result()
    assert [record[:8] for record in workshop.out()] == [b"REAL....", b"INNER...", b"T2......", b"T2......"]


EIB = """
EXEC CICS RECEIVE INTO(WS-REC) LENGTH(WS-LEN) RESP(WS-RESP) END-EXEC
MOVE SPACES TO LINE-1
IF EIBEOC = X'FF' MOVE 'EOC' TO L-REC END-IF
IF EIBAID = '3' MOVE 'PF3' TO L-REC(4:3) END-IF
MOVE EIBCPOSN TO L-LEN
MOVE WS-RESP TO L-RESP
EXEC CICS WRITEQ TD QUEUE('OUT') FROM(LINE-1) END-EXEC
IF EIBEOC = X'00' MOVE 'RESET' TO L-REC END-IF
MOVE EIBTRMID(3:2) TO L-REC(7:2)
EXEC CICS WRITEQ TD QUEUE('OUT') FROM(LINE-1) END-EXEC
GOBACK.
"""


def test_receive_with_eoc_takes_one_line(workshop):
    workshop.program("TALKS", STORAGE, "MOVE 8 TO WS-LEN" + EIB)
    eib = {"EIBEOC": b"\xff", "EIBAID": "PF3", "EIBCPOSN": 81, "EIBTRMID": "T009"}
    workshop.programs.stubs.append(Stub("RECEIVE", StubAnswer({"INTO": "HELLO"}, "EOC", eib=eib)))
    workshop.run("TALKS")
    assert workshop.out() == [b"EOCPF3  081006   ", b"RESET 09081006   "]


WEB = """
77 TOKEN PIC X(8).
77 PORT PIC S9(8) COMP.
77 AMOUNT PIC S9(5) COMP-3.
77 STATE PIC S9(8) COMP.
77 PTR POINTER.
77 WS-LEN PIC S9(8) COMP.
01 LINE-1.
   05 L-TOKEN PIC X(8).
   05 L-PORT PIC 9(5).
   05 L-STATE PIC 9(4).
   05 L-BODY PIC X(4).
   05 L-LEN PIC 9(3).
"""


def test_web_and_urimap_stubs_take_one_line_each(workshop):
    workshop.program(
        "CALLSWEB",
        WEB,
        """
        EXEC CICS READQ TD QUEUE('IN') INTO(L-BODY) NOHANDLE END-EXEC
        EXEC CICS INQUIRE URIMAP('MAP1') PORT(PORT) ENABLESTATUS(STATE) END-EXEC
        IF EIBRESP NOT = DFHRESP(NORMAL) MOVE 'QZERO' TO TOKEN
            EXEC CICS WRITEQ TD QUEUE('OUT') FROM(TOKEN) END-EXEC END-IF
        EXEC CICS WEB OPEN URIMAP('MAP1') SESSTOKEN(TOKEN) END-EXEC
        EXEC CICS WEB RECEIVE SESSTOKEN(TOKEN) SET(PTR) LENGTH(WS-LEN) END-EXEC
        SET ADDRESS OF BODY TO PTR
        MOVE TOKEN TO L-TOKEN MOVE PORT TO L-PORT MOVE STATE TO L-STATE
        MOVE BODY TO L-BODY MOVE WS-LEN TO L-LEN
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(LINE-1) END-EXEC
        GOBACK.
        """,
        linkage="01 BODY PIC X(4).",
    )
    workshop.programs.stubs += [
        Stub("INQUIRE URIMAP", StubAnswer({"PORT": 8080, "ENABLESTATUS": "ENABLED"})),
        Stub("WEB OPEN", StubAnswer({"SESSTOKEN": "TOK"})),
        Stub("WEB RECEIVE", StubAnswer({"SET": "BODY"}), where={"SESSTOKEN": "TOK"}),
    ]
    workshop.run("CALLSWEB")
    assert workshop.out() == [b"TOK     080800023BODY004"]


def test_functions_of_verbs_come_before_the_region_and_may_leave_the_command_to_it(workshop):
    workshop.program("READER", STORAGE, READ.format(queue="IN") * 2 + "GOBACK.")
    workshop.region.writeq_td("IN", b"REAL")
    answers = iter([Condition(Resp.NOTAUTH, 101), NotImplemented])
    workshop.programs.verbs["READQ TD"] = lambda _options, _level: next(answers)
    workshop.run("READER")
    assert workshop.out() == [b"........008070101", b"REAL....004000000"]


def test_wrong_stubs_are_refused(workshop):
    with pytest.raises(UsageError, match="there is no condition 'IOERROR'; did you mean IOERR"):
        StubAnswer(resp="IOERROR")
    with pytest.raises(UsageError, match="'EIBEOX' is not a field of the EIB that a stub can set"):
        StubAnswer(eib={"EIBEOX": 1})
    with pytest.raises(UsageError, match="count '0' is not like 3, 2-4 or 5-"):
        Stub("READQ TD", StubAnswer(), count=0)
    workshop.program("READER", STORAGE, READ.format(queue="IN") + "GOBACK.")
    workshop.programs.stubs.append(Stub("READQ TD", StubAnswer({"SET": b"X"})))
    with pytest.raises(Abend) as met:
        workshop.run("READER")
    assert "the answer has SET, which is not an option of the command" in str(met.value.cause)


def test_a_stub_gives_the_lists_of_inquire_task_list(workshop):
    workshop.program(
        "STUBLIST",
        "77 N PIC S9(8) COMP.\n77 P USAGE POINTER.\n77 T USAGE POINTER.",
        """
        EXEC CICS INQUIRE TASK LIST LISTSIZE(N) SET(P) SETTRANSID(T) END-EXEC
        SET ADDRESS OF L-NUMBERS TO P
        SET ADDRESS OF L-IDS TO T
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(L-NUMBERS) END-EXEC
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(L-IDS) END-EXEC
        GOBACK.
        """,
        "01 L-NUMBERS PIC X(8).\n01 L-IDS PIC X(8).",
    )
    answer = StubAnswer({"LISTSIZE": 2, "SET": [41, 42], "SETTRANSID": ["PAYP", "AB"]})
    workshop.programs.stubs.append(Stub("INQUIRE TASK LIST", answer))
    workshop.run("STUBLIST")
    assert workshop.out() == [bytes.fromhex("0000041C0000042C"), b"PAYPAB  "]


def test_a_task_number_that_cannot_be_is_refused(workshop):
    workshop.program("NUMBERS", "77 P USAGE POINTER.", "EXEC CICS INQUIRE TASK LIST SET(P) END-EXEC\nGOBACK.")
    for number in ("PAYP", "-1", "4²", 12345678):
        workshop.programs.stubs[:] = [Stub("INQUIRE TASK LIST", StubAnswer({"SET": [number]}))]
        with pytest.raises(Abend, match=f"SET lists numbers of tasks, of at most 7 digits, not '?{number}"):
            workshop.run("NUMBERS")
