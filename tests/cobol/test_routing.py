"""A COBOL program as a transaction that is routed from a terminal of another region."""

from __future__ import annotations

import pytest

from tdqsim import Sysplex
from tdqsim.definitions import define_connection, define_tdqueue, define_terminal, define_transaction
from tests.cobol.conftest import Workshop

pytestmark = pytest.mark.cobc

STORAGE = """
01 WS-IN PIC X(9).
77 WS-LEN PIC S9(4) COMP.
01 WS-SHOWN.
   05 WS-SYSID PIC X(4).
   05 WS-TERM PIC X(4).
   05 WS-CODE PIC X(2).
   05 WS-TYPED PIC X(9) VALUE SPACES.
01 WS-NAME PIC X(4).
"""
PROGRAM = """
MOVE 9 TO WS-LEN
IF EIBCALEN = 0
    EXEC CICS ASSIGN SYSID(WS-SYSID) STARTCODE(WS-CODE) END-EXEC
    MOVE EIBTRMID TO WS-TERM
    IF WS-CODE = 'QD'
        EXEC CICS ASSIGN QNAME(WS-NAME) END-EXEC
        EXEC CICS READQ TD QUEUE(WS-NAME) INTO(WS-TYPED) LENGTH(WS-LEN) END-EXEC
    ELSE
        EXEC CICS RECEIVE INTO(WS-IN) LENGTH(WS-LEN) END-EXEC
        EXEC CICS SEND TEXT FROM(WS-IN) LENGTH(WS-LEN) ERASE END-EXEC
        MOVE 9 TO WS-LEN
        EXEC CICS RECEIVE INTO(WS-TYPED) LENGTH(WS-LEN) END-EXEC
    END-IF
    EXEC CICS SEND TEXT FROM(WS-SHOWN) END-EXEC
    EXEC CICS WRITEQ TD QUEUE('LOGQ') FROM(WS-TYPED) END-EXEC
    EXEC CICS RETURN TRANSID('PAYM') COMMAREA(WS-TERM) END-EXEC
ELSE
    EXEC CICS SEND TEXT FROM(DFHCOMMAREA) LENGTH(4) END-EXEC
    EXEC CICS RETURN END-EXEC
END-IF.
"""


def test_a_cobol_program_has_a_conversation_with_a_terminal_of_another_region(workshop: Workshop) -> None:
    workshop.program("PAYX", STORAGE, PROGRAM, "01 DFHCOMMAREA PIC X(4).")
    aor = workshop.region
    with Sysplex(dispatcher=aor.dispatcher, at_once=False) as sysplex:
        sysplex.add(aor)
        remote = {"remotesystem": aor.options.sysid, "remotename": "PAYX"}
        tor = sysplex.region(
            [define_terminal(name="T001"), define_transaction(name="PAYM", **remote)], applid="TOR", sysid="TOR"
        )
        sysplex.connect(tor, aor)
        trigger = {"atifacility": "TERMINAL", "facilityid": "R001", "transid": "PAYX", "triggerlevel": 1}
        aor.install(
            [
                define_connection(name="TOR"),
                define_terminal(name="R001", remotesystem="TOR", remotename="T001"),
                define_transaction(name="PAYX"),
                define_tdqueue(name="TRGQ", type="INTRA", **trigger),
            ]
        )
        aor.register("PAYX", workshop.programs.handler("PAYX"))
        for text in ("PAYM 100", "more", "next"):
            tor.screens.type("T001", text)
            sysplex.run()
        aor.writeq_td("TRGQ", b"record")
        sysplex.run()
        screen = tor.screens.screen("T001")
        shown = [f"{aor.options.sysid:4}R001{code}{text:9}" for code, text in (("TD", "more"), ("QD", "record"))]
        assert [each.text for each in screen.sent] == ["PAYM 100", shown[0], "R001", shown[1]]
        assert screen.next_transid == "PAYM"
        assert [record.rstrip() for record in aor.peek("LOGQ")] == [b"more", b"record"]
