"""COBOL programs that LINK to COBOL programs of another region."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tdqsim import Region, Sysplex
from tdqsim.cics import Abend
from tdqsim.cobol import CobolPrograms
from tdqsim.definitions import define_connection, define_program, define_tdqueue
from tests.cobol.conftest import Workshop

pytestmark = pytest.mark.cobc

SERVER = """
MOVE DFHCOMMAREA TO WS-GOT
EXEC CICS WRITEQ TD QUEUE('FARQ') FROM(WS-GOT) END-EXEC
MOVE 'DONE' TO L-STATUS
IF L-NAME = 'BAD ' EXEC CICS ABEND ABCODE('OOPS') END-EXEC END-IF
IF L-NAME = 'SYNC' EXEC CICS SYNCPOINT END-EXEC END-IF
EXEC CICS RETURN END-EXEC.
"""
CLIENT = """
MOVE '{name}' TO WS-NAME
EXEC CICS WRITEQ TD QUEUE('LOGQ') FROM(WS-AREA) END-EXEC
EXEC CICS LINK PROGRAM('{program}') COMMAREA(WS-AREA) {options} RESP(WS-R) RESP2(WS-R2) END-EXEC
MOVE WS-STATUS TO OUT-STATUS
MOVE WS-R TO OUT-R
MOVE WS-R2 TO OUT-R2
EXEC CICS WRITEQ TD QUEUE('OUT') FROM(WS-OUT) END-EXEC
GOBACK.
"""
CLIENT_STORAGE = """
01 WS-AREA.
   05 WS-NAME PIC X(4).
   05 WS-STATUS PIC X(4) VALUE 'SENT'.
01 WS-R PIC S9(8) COMP.
01 WS-R2 PIC S9(8) COMP.
01 WS-OUT.
   05 OUT-STATUS PIC X(4).
   05 OUT-R PIC 9(4).
   05 OUT-R2 PIC 9(4).
"""


class Two(Workshop):
    """A workshop whose region has a link to FAR, which runs the programs of another folder."""

    def __init__(self, folder: Path, *, at_once: bool) -> None:
        here, there = folder / "near", folder / "far"
        here.mkdir()
        there.mkdir()
        super().__init__(here)
        self.sysplex = Sysplex(dispatcher=self.region.dispatcher, at_once=at_once)
        self.region.install(
            [define_connection(name="FAR"), define_program(name="REMOTE", remotesystem="FAR", remotename="SERVER")]
        )
        self.sysplex.add(self.region)
        self.far: Region = self.sysplex.region(
            [define_tdqueue(name="FARQ", type="INTRA", recovstatus="LOGICAL")], applid="FAR", sysid="FAR"
        )
        CobolPrograms(self.far, sources=[there], cache=there / "compiled")
        self.folder = there
        self.program(
            "SERVER",
            "01 WS-GOT PIC X(8).",
            SERVER,
            "01 DFHCOMMAREA.\n   05 L-NAME PIC X(4).\n   05 L-STATUS PIC X(4).",
        )
        self.folder = here

    def client(self, name: str, program: str = "REMOTE", options: str = "") -> None:
        text = CLIENT.format(name=name, program=program, options=options)
        self.program("CLIENT", CLIENT_STORAGE, text)


@pytest.fixture(params=[True, False], ids=["at once", "network"])
def two(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Two]:
    made = Two(tmp_path, at_once=request.param)
    yield made
    made.sysplex.close()


@pytest.mark.parametrize(
    ("program", "options"), [("REMOTE", ""), ("SERVER", "SYSID('FAR')"), ("SERVER", "SYSID('FAR') SYNCONRETURN")]
)
def test_the_server_has_the_storage_of_the_client_and_its_unit_of_work(two: Two, program: str, options: str) -> None:
    two.client("GOOD", program, options)
    two.run("CLIENT")
    assert two.out() == [b"DONE00000000"]
    assert two.far.peek("FARQ") == [b"GOODSENT"]
    assert two.region.peek("LOGQ") == [b"GOODSENT"]


def test_datalength_is_what_goes_there(two: Two) -> None:
    two.client("GOOD", options="DATALENGTH(2)")
    two.run("CLIENT")
    assert two.far.peek("FARQ") == [b"GO" + bytes(6)]
    assert two.out()[0][:4] == b"DONE"


def test_resp_and_resp2_of_a_program_that_is_not_there(two: Two) -> None:
    two.client("GOOD", "NOTHING", "SYSID('FAR')")
    two.run("CLIENT")
    assert two.out() == [b"SENT00270001"]


@pytest.mark.parametrize(("name", "code"), [("BAD ", "OOPS"), ("SYNC", "ADPL")])
def test_the_servers_abend_is_the_clients(two: Two, name: str, code: str) -> None:
    two.client(name)
    handle = two.region.start(two.programs.handler("CLIENT"))
    two.region.run()
    assert isinstance(handle.exception, Abend)
    assert handle.exception.code == code
    assert two.out() == two.far.peek("FARQ") == two.region.peek("LOGQ") == []


def test_load_of_a_program_of_another_region(two: Two) -> None:
    text = """
    EXEC CICS LOAD PROGRAM('REMOTE') SET(WS-P) RESP(WS-R) RESP2(WS-R2) END-EXEC
    MOVE WS-R TO OUT-R
    MOVE WS-R2 TO OUT-R2
    EXEC CICS WRITEQ TD QUEUE('OUT') FROM(WS-OUT) END-EXEC
    GOBACK.
    """
    two.program("CLIENT", f"{CLIENT_STORAGE}\n01 WS-P USAGE POINTER.", text)
    two.run("CLIENT")
    assert two.out()[0][4:] == b"00270009"
