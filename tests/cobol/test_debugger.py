"""The debugger, with a client on a port: the programs run in the thread of an engine."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tdqsim import Region, define_tdqueue
from tdqsim.cobol import CobolPrograms
from tdqsim.cobol.debug_adapter import DebugServer
from tdqsim.cobol.debug_conditions import StopCondition
from tdqsim.core.engine import Engine
from tdqsim.errors import UsageError

from .dap import DebugClient, Refused

pytestmark = pytest.mark.cobc

MAIN = """\
       IDENTIFICATION DIVISION.
       PROGRAM-ID. MAIN.
       DATA DIVISION.
       WORKING-STORAGE SECTION.
       77 WS-COUNT PIC S9(4) COMP VALUE 0.
       01 CUSTOMER.
          05 NAME PIC X(6) VALUE 'MILLER'.
          05 AMOUNT PIC S9(5)V99 COMP-3 VALUE -1.25.
          05 LINES-OF OCCURS 3.
             10 LINE-NO PIC 99 VALUE 7.
             10 LINE-TEXT PIC X(2) OCCURS 2 VALUE 'ab'.
       01 SHOWN REDEFINES CUSTOMER PIC X(10).
       PROCEDURE DIVISION.
       FIRST-PARA.
           PERFORM COUNT-UP.
           PERFORM COUNT-UP UNTIL WS-COUNT > 2.
           EXEC CICS WRITEQ TD QUEUE('OUT') FROM(NAME)
           END-EXEC
           EXEC CICS LINK PROGRAM('SUB') COMMAREA(CUSTOMER) END-EXEC
           CALL 'CALLED' USING WS-COUNT.
           EXEC CICS XCTL PROGRAM('LAST') END-EXEC
           GOBACK.
       COUNT-UP.
           ADD 1 TO WS-COUNT.
           CONTINUE.
"""
SUB = """\
       IDENTIFICATION DIVISION.
       PROGRAM-ID. SUB.
       DATA DIVISION.
       LINKAGE SECTION.
       01 DFHCOMMAREA PIC X(6).
       PROCEDURE DIVISION.
           MOVE 'SCHULZ' TO DFHCOMMAREA
           EXEC CICS RETURN END-EXEC.
"""
CALLED = """\
       IDENTIFICATION DIVISION.
       PROGRAM-ID. CALLED.
       DATA DIVISION.
       LINKAGE SECTION.
       01 N PIC S9(4) COMP.
       PROCEDURE DIVISION USING N.
           MOVE 99 TO N.
           GOBACK.
"""
LAST = """\
       IDENTIFICATION DIVISION.
       PROGRAM-ID. LAST.
       DATA DIVISION.
       WORKING-STORAGE SECTION.
       01 BAD PIC X(4) VALUE SPACES.
       01 N REDEFINES BAD PIC S9(7) COMP-3.
       PROCEDURE DIVISION.
           EXEC CICS HANDLE ABEND LABEL(ON-ABEND) END-EXEC
           EXEC CICS WRITEQ TD QUEUE('NONE') FROM(BAD) END-EXEC
           GOBACK.
       ON-ABEND.
           ADD 1 TO N.
           GOBACK.
"""


class Place:
    """An engine with a region of these programs, a debug server, and a client of it."""

    def __init__(self, folder, stack):
        self.folder = folder
        for name, text in (("MAIN", MAIN), ("SUB", SUB), ("CALLED", CALLED), ("LAST", LAST)):
            (folder / f"{name}.cbl").write_text(text)
        self.engine = stack.enter_context(Engine())
        self.region = self.engine.make(Region, [define_tdqueue(name="OUT", type="INTRA")])
        self.programs = self.engine.outside(
            lambda: CobolPrograms(self.region, sources=[folder], cache=folder / "compiled")
        ).result()
        self.server = stack.enter_context(DebugServer())
        self.client = DebugClient(self.server.port)
        stack.callback(self.client.close)

    @property
    def main(self):
        return self.folder / "MAIN.cbl"

    def start(self, name="MAIN"):
        return self.engine.submit(lambda: self.region.start(self.programs.handler(name)))

    def out(self):
        return self.engine.outside(lambda: self.region.peek("OUT")).result()


@pytest.fixture
def place(tmp_path):
    with contextlib.ExitStack() as stack:
        yield Place(tmp_path, stack)


def test_breakpoints_on_lines_stop_and_show_storage_that_can_be_changed(place):
    client = place.client
    client.attach({place.main: [17]})
    place.start()
    assert client.event("breakpoint")["breakpoint"] | {"source": 0} == {
        "id": 1, "verified": True, "line": 17, "source": 0
    }  # fmt: skip
    assert client.stopped() == ("breakpoint", [("MAIN FIRST-PARA", 17)])
    assert client.frames[0]["source"] == {"name": "MAIN.cbl", "path": str(place.main)}
    assert client.request("threads")["threads"][0]["id"] == client.thread

    items = client.variables("WORKING-STORAGE")
    assert list(items) == ["77 WS-COUNT", "01 CUSTOMER", "01 SHOWN"]
    assert (items["77 WS-COUNT"]["value"], items["77 WS-COUNT"]["type"]) == ("3", "77 PIC S9(4) COMP")
    assert items["01 SHOWN"]["type"] == "01 PIC X(10) REDEFINES CUSTOMER"
    group = items["01 CUSTOMER"]["variablesReference"]
    inside = client.below(group)
    assert {name: (each["value"], each["type"]) for name, each in inside.items()} == {
        "05 NAME": ("'MILLER'", "05 PIC X(6)"),
        "05 AMOUNT": ("-1.25", "05 PIC S9(5)V99 COMP-3"),
        "05 LINES-OF": ("3 occurrences", "05 OCCURS 3"),
    }
    assert client.below(group, format={"hex": True})["05 AMOUNT"]["value"] == "X'0000125D'"
    table = inside["05 LINES-OF"]["variablesReference"]
    second = client.below(table, start=1, count=1)
    assert list(second) == ["LINES-OF (2)"]
    line = client.below(second["LINES-OF (2)"]["variablesReference"])
    assert (line["10 LINE-NO"]["value"], line["10 LINE-NO"]["evaluateName"]) == (
        "7",
        "LINE-NO OF LINES-OF OF CUSTOMER (2)",
    )
    texts = client.below(line["10 LINE-TEXT"]["variablesReference"])
    assert {name: each["value"] for name, each in texts.items()} == {
        "LINE-TEXT (2, 1)": "'ab'", "LINE-TEXT (2, 2)": "'ab'",
    }  # fmt: skip

    assert (
        client.request("setVariable", variablesReference=group, name="05 NAME", value="'O''NEAL'")["value"]
        == "'O''NEAL'"
    )
    assert client.evaluate("shown", format={"hex": True}) == "X'4F274E45414C0000125D'"
    client.request("setExpression", expression="LINE-TEXT (2, 1)", value="X'0001'", frameId=client.frames[0]["id"])
    assert client.evaluate("LINE-TEXT (2, 1)") == "X'0001'"
    assert client.evaluate("LINE-TEXT (WS-COUNT - 1, 1)(2:1)") == "X'01'"
    client.request("setExpression", expression="NAME(1:2)", value="'XY'", frameId=client.frames[0]["id"])
    assert client.evaluate("NAME (WS-COUNT - 2 : WS-COUNT + 1)") == "'XYNE'"
    assert client.request("evaluate", expression="NAME(2:)", frameId=client.frames[0]["id"]) == {
        "result": "'YNEAL'", "name": "05 NAME", "type": "05 PIC X(5)", "variablesReference": 0,
        "evaluateName": "NAME OF CUSTOMER (2:5)",
    }  # fmt: skip
    client.request("setVariable", variablesReference=group, name="05 AMOUNT", value="12.5")
    assert client.evaluate("AMOUNT OF CUSTOMER") == "12.50"
    with pytest.raises(Refused, match="does not fit"):
        client.request("setVariable", variablesReference=group, name="05 AMOUNT", value="123456")
    with pytest.raises(Refused, match="no item NOWHERE"):
        client.evaluate("NOWHERE")
    with pytest.raises(Refused, match="NAME has 6 bytes"):
        client.evaluate("NAME(5:3)")

    eib = client.variables("EIB")
    assert eib["02 EIBRESP"]["value"] == "0"
    client.request("continue", threadId=client.thread)
    place.server.close()
    assert place.out() == [b"XYNEAL"]


def test_steps_go_in_over_and_out_of_performs_links_calls_and_xctl(place):
    client = place.client
    client.attach(stopOnEntry=True)
    done = place.start()
    assert client.stopped() == ("entry", [("MAIN FIRST-PARA", 15)])
    assert client.go("stepIn") == ("step", [("MAIN COUNT-UP", 24)])
    assert client.go("next") == ("step", [("MAIN COUNT-UP", 25)])
    assert client.go("next") == ("step", [("MAIN FIRST-PARA", 16)])
    assert client.go("stepIn")[1] == [("MAIN COUNT-UP", 24)]
    assert client.go("stepOut")[1] == [("MAIN FIRST-PARA", 17)]
    assert client.evaluate("WS-COUNT") == "3"
    assert client.go("next")[1] == [("MAIN FIRST-PARA", 19)]
    assert client.go("stepIn")[1] == [("SUB (LINK)", 7), ("MAIN FIRST-PARA", 19)]
    assert client.evaluate("DFHCOMMAREA") == "'MILLER'"
    assert client.evaluate("WS-COUNT", frame=1) == "3"
    gone = client.frames[1]["id"]
    assert client.go("stepOut")[1] == [("MAIN FIRST-PARA", 20)]
    with pytest.raises(Refused, match=f"there is no frame {gone} in this stop"):
        client.request("evaluate", expression="WS-COUNT", frameId=gone)
    assert client.evaluate("NAME") == "'SCHULZ'"
    assert client.go("stepIn")[1] == [("CALLED (CALL)", 7), ("MAIN FIRST-PARA", 20)]
    assert client.go("next")[1] == [("CALLED (CALL)", 8), ("MAIN FIRST-PARA", 20)]
    assert client.go("next")[1] == [("MAIN FIRST-PARA", 21)]
    assert client.evaluate("WS-COUNT") == "99"
    assert client.go("next")[1] == [("LAST (XCTL)", 8), ("MAIN FIRST-PARA", 21)]
    client.request("disconnect")
    assert done.exception(60).code == "ASRA"


def test_a_step_does_not_end_in_another_task(place):
    (place.folder / "YIELDS.cbl").write_text(
        "       IDENTIFICATION DIVISION.\n       PROGRAM-ID. YIELDS.\n       PROCEDURE DIVISION.\n"
        + "           EXEC CICS SUSPEND END-EXEC.\n" * 2
        + "           GOBACK.\n"
    )
    client = place.client
    client.attach(stopOnEntry=True)
    program = place.programs.handler("YIELDS")
    place.engine.submit(lambda: [place.region.start(program) for _ in range(2)] and None)
    assert client.stopped()[1][0][1] == 4
    first = client.thread
    assert client.go("next")[1][0][1] == 5
    assert client.thread == first
    client.request("disconnect")


def test_function_breakpoints_are_paragraphs_programs_and_commands(place):
    client = place.client
    functions = ["count-up", "SUB", "exec cics writeq td", "EXEC CICS LINK PROGRAM('OTHER')", "MAIN.NOWHERE"]
    functions.append("EXEC CICS XCTL PROGRAM('LAST')")
    client.attach(functions=functions)
    place.start()
    for _time in range(3):
        assert client.stopped() == ("function breakpoint", [("MAIN COUNT-UP", 24)])
        client.request("continue")
    assert client.stopped() == ("function breakpoint", [("MAIN FIRST-PARA", 17)])
    assert client.go()[1][0] == ("SUB (LINK)", 7)
    assert client.go()[1][0] == ("MAIN FIRST-PARA", 21)
    assert client.go()[1][0] == ("LAST (XCTL)", 9)
    verified = [each["breakpoint"]["id"] for each in (m["body"] for m in client.events if m["event"] == "breakpoint")]
    assert verified == [1, 2]


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("GO TO AGAIN.", "no command for 100 ms of processor time"),
        ("EXEC CICS ASKTIME END-EXEC", "its commands have not suspended the task for 100 ms of processor time"),
    ],
)
def test_a_loop_stops_at_its_aica_with_the_place_and_the_storage(place, statement, reason):
    (place.folder / "LOOPS.cbl").write_text(
        "       IDENTIFICATION DIVISION.\n       PROGRAM-ID. LOOPS.\n       DATA DIVISION.\n"
        "       WORKING-STORAGE SECTION.\n       77 N PIC 9 VALUE 7.\n       PROCEDURE DIVISION.\n"
        f"           MOVE 8 TO N.\n       AGAIN.\n           {statement}\n           GO TO AGAIN.\n"
    )
    place.programs.settings.runaway_ms = 100
    client = place.client
    client.attach(abends={"filters": ["abend"]})
    done = place.start("LOOPS")
    assert client.stopped() == ("exception", [("LOOPS AGAIN", 9)])
    assert client.request("exceptionInfo", threadId=client.thread) == {
        "exceptionId": "AICA",
        "description": f"abend AICA: CobolFailure: {place.folder / 'LOOPS.cbl'}:9: {reason}",
        "breakMode": "always",
    }
    assert client.evaluate("N") == "8"
    client.request("continue", threadId=client.thread)
    assert done.exception(60).code == "AICA"


def test_breakpoints_on_abends_stop_where_the_storage_still_is(place):
    client = place.client
    client.attach(abends={"filters": ["abend"], "filterOptions": [{"filterId": "handled", "condition": "X, AEY?"}]})
    done = place.start()
    assert client.stopped() == ("exception", [("LAST (XCTL)", 9), ("MAIN FIRST-PARA", 21)])
    assert client.request("exceptionInfo", threadId=client.thread)["exceptionId"] == "AEYH"
    assert client.go() == ("exception", [("LAST ON-ABEND (XCTL)", 12), ("MAIN FIRST-PARA", 21)])
    assert client.request("exceptionInfo", threadId=client.thread)["exceptionId"] == "ASRA"
    assert client.evaluate("N") == "X'20202020' (not valid)"
    client.request("continue")
    assert done.exception(60).code == "ASRA"


def test_a_pause_stops_the_next_statement_and_other_tasks_wait(place):
    client = place.client
    client.attach()
    client.request("pause", threadId=1)
    done = place.start("SUB")
    assert client.stopped()[0] == "pause"
    assert not done.done()
    with pytest.raises(Refused, match="no address now"):
        client.evaluate("DFHCOMMAREA")
    assert client.variables("LINKAGE")["01 DFHCOMMAREA"]["value"] == "no storage"
    client.request("disconnect")
    assert done.exception(60).code == "ASRA"  # there is no COMMAREA


def test_a_client_that_is_gone_lets_the_programs_go_on(place):
    client = place.client
    client.attach(functions=["MAIN"])
    done = place.start("MAIN")
    client.stopped()
    client.socket.shutdown(socket.SHUT_RDWR)
    assert done.exception(60).code == "ASRA"
    again = DebugClient(place.server.port)
    again.attach(functions=["SUB"])
    place.start("SUB")
    assert again.stopped()[1] == [("SUB", 7)]
    again.close()


@pytest.mark.parametrize(
    "sent",
    [
        b"POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 2\r\n\r\n{}",
        b"Content-Length: 99999999\r\n\r\n",
        b"Content-Length: 2\r\n\r\n[]",
        b"Content-Length: 3\r\n\r\n[[[",
        b"Content-Length: 14\r\n\r\n" + b'{"type": "no"}',
        b"X" * 5000,
    ],
)
def test_what_is_no_request_ends_the_connection(place, sent, caplog):
    place.client.socket.sendall(sent)
    place.client.socket.shutdown(socket.SHUT_WR)
    with contextlib.suppress(ConnectionResetError):
        assert place.client.file.read() == b""
    assert "the connection of a debugger is closed: " in caplog.text
    again = DebugClient(place.server.port)
    assert again.request("initialize")["supportsSetVariable"]
    again.close()


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        ("setBreakpoints", {"source": {"path": 5}}),
        ("setBreakpoints", {"source": [], "breakpoints": []}),
        ("setBreakpoints", {"source": {"path": "x"}, "breakpoints": [{"line": -1}]}),
        ("setBreakpoints", {"source": {"path": "x"}, "breakpoints": [{"line": 1}] * 10_001}),
        ("setFunctionBreakpoints", {"breakpoints": ["x"]}),
        ("variables", {"variablesReference": "1"}),
        ("variables", {"variablesReference": 1}),
        ("stackTrace", {"threadId": 99}),
        ("evaluate", {"expression": "x" * 10_001}),
        ("evaluate", {"expression": "NAME", "frameId": 1}),
        ("continue", {}),
        ("next", {}),
        ("__init__", {}),
        ("unknown", {}),
    ],
)
def test_wrong_requests_are_answered_by_an_error(place, command, arguments):
    place.client.request("initialize")
    with pytest.raises(Refused):
        place.client.request(command, **arguments)
    assert place.client.request("threads") == {"threads": []}


def test_a_second_debugger_is_refused_while_the_first_goes_on(place, caplog):
    place.client.attach()
    second = DebugClient(place.server.port)
    with contextlib.closing(second), pytest.raises(Refused, match="another debugger is connected to these programs"):
        second.request("initialize")
    assert "a debugger is refused: another debugger is connected" in caplog.text
    assert place.client.request("threads") == {"threads": []}
    place.client.request("disconnect")
    third = DebugClient(place.server.port)
    with contextlib.closing(third):
        assert third.request("initialize")["supportsSetVariable"]


def test_programs_run_without_hooks_before_and_after(place):
    assert place.programs.settings.on_statement is None
    place.client.attach()
    assert place.programs.settings.on_statement is not None
    place.client.request("disconnect")
    assert place.programs.settings.on_statement is None


def start(*words, folder):
    """Start a command that names its port; returns the process and the port."""
    process = subprocess.Popen(
        [sys.executable, *words], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    lines = []
    for line in process.stdout:
        lines.append(line)
        if (match := re.search(r"Waiting for a debugger on port (\d+)", line)) is not None:
            return process, int(match[1])
    raise AssertionError("".join(lines))


def run(*words, folder):
    """Start a command that names its port; returns the process and a client of it."""
    process, port = start(*words, folder=folder)
    return process, DebugClient(port)


@pytest.fixture
def sub(tmp_path):
    """A program that writes a record."""
    source = tmp_path / "ONE.cbl"
    source.write_text(CALLED.replace("CALLED", "ONE").replace("USING N", "").replace("LINKAGE", "WORKING-STORAGE"))
    return source


def test_tdq_cobol_run_waits_for_a_debugger(sub):
    command = ["-c", "import sys; from tdqsim.cli import main; sys.exit(main(sys.argv[1:]))"]
    process, client = run(*command, "cobol", "run", str(sub), "--debug", "0", folder=sub.parent)
    client.attach({sub: [7]})
    assert client.stopped() == ("breakpoint", [("ONE", 7)])
    assert client.go("next")[1] == [("ONE", 8)]
    assert client.evaluate("n") == "99"
    client.request("continue", threadId=client.thread)
    client.event("terminated")
    client.close()
    assert process.communicate(timeout=300)[0] == ""
    assert process.returncode == 0


def test_pytest_waits_for_a_debugger(sub):
    (sub.parent / "test_one.py").write_text(
        "from pathlib import Path\n"
        "from tdqsim.cobol import CobolPrograms\n"
        "def test_one(tdq_region):\n"
        "    programs = CobolPrograms(tdq_region, sources=['.'], cache='compiled')\n"
        "    handle = tdq_region.start(programs.handler('ONE'))\n"
        "    tdq_region.run()\n"
        "    handle.result()\n"
    )
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--tdq-debug=0", "test_one.py"]
    process, client = run("-m", "pytest", *options, folder=sub.parent)
    client.attach(functions=["ONE"])
    assert client.stopped() == ("function breakpoint", [("ONE", 7)])
    client.request("continue", threadId=client.thread)
    client.event("terminated")
    client.close()
    assert "1 passed" in process.communicate(timeout=300)[0]


def test_a_debugger_on_standard_streams_gets_the_output_as_events(sub):
    command = [sys.executable, "-c", "import sys; from tdqsim.cli import main; sys.exit(main(sys.argv[1:]))"]
    with subprocess.Popen(
        [*command, "cobol", "run", str(sub), "--debug", "stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        client = DebugClient(streams=(process.stdout, process.stdin))
        client.attach(functions=["ONE"])
        assert client.stopped()[0] == "function breakpoint"
        client.request("continue", threadId=client.thread)
        client.event("terminated")
        process.stdin.close()
        assert process.wait(60) == 0


def test_a_port_that_cannot_be_is_refused(sub):
    from typer.testing import CliRunner

    from tdqsim.cobol.tdq import app

    done = CliRunner().invoke(app, ["run", str(sub), "--debug", "70000"])
    assert "--debug 70000: must be a port from 0 to 65535, or stdio" in str(done.exception)


@pytest.mark.slow
def test_the_client_of_vs_codes_own_tests_attaches_stops_and_steps(sub):
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    shutil.copy(Path(__file__).with_name("testsupport.mjs"), sub.parent)
    (sub.parent / "package.json").write_text('{"type": "module", "private": true}', "utf-8")
    words = ["npm", "install", "--no-audit", "--no-fund", "--silent", "@vscode/debugadapter-testsupport@1.68"]
    if subprocess.run(words, cwd=sub.parent, check=False, timeout=600).returncode:
        pytest.skip("npm cannot install @vscode/debugadapter-testsupport")
    command = ["-c", "import sys; from tdqsim.cli import main; sys.exit(main(sys.argv[1:]))"]
    process, port = start(*command, "cobol", "run", str(sub), "--debug", "0", folder=sub.parent)
    words = ["node", "testsupport.mjs", str(port), str(sub)]
    try:
        done = subprocess.run(words, cwd=sub.parent, capture_output=True, text=True, check=False, timeout=300)
        process.communicate(timeout=300)
    finally:
        process.kill()
    assert done.stdout == "WORKING-STORAGE 01 N = 99 01 PIC S9(4) COMP\n", done.stderr
    assert process.returncode == 0


COPIED = """\
           ADD 1 TO WS-A.
           ADD 1 TO WS-A.
"""
PARTS = """\
       IDENTIFICATION DIVISION.
       PROGRAM-ID. PARTS.
       DATA DIVISION.
       WORKING-STORAGE SECTION.
       01 WS-A PIC 9(4) VALUE 0.
       01 UNUSED PIC X(4) VALUE 'none'.
       LOCAL-STORAGE SECTION.
       01 LS-B PIC X(3) VALUE 'abc'.
       PROCEDURE DIVISION.
       MAIN SECTION.
      * A comment without a statement.
           MOVE LS-B TO LS-B ADD 5 TO WS-A
           PERFORM VARYING WS-A FROM 1 BY 1 UNTIL WS-A > 3
              CONTINUE
           END-PERFORM
           COPY ADDING.
           CALL 'INNER'
           EXEC CICS RETURN END-EXEC.
       END-PARA.
           EXIT.
       IDENTIFICATION DIVISION.
       PROGRAM-ID. INNER.
       DATA DIVISION.
       WORKING-STORAGE SECTION.
       01 IN-C PIC 9 VALUE 1.
       PROCEDURE DIVISION.
       FIRST-P.
           PERFORM LOWER-P
           GOBACK.
       LOWER-P.
           ADD 1 TO IN-C.
       END PROGRAM INNER.
       END PROGRAM PARTS.
"""


def test_copybooks_nested_programs_lines_with_two_statements_and_local_storage(place):
    (place.folder / "ADDING.cpy").write_text(COPIED)
    source = place.folder / "PARTS.cbl"
    source.write_text(PARTS)
    client = place.client
    client.attach(
        {source: [11, 14], place.folder / "ADDING.cpy": [2]}, functions=["LOWER-P", "MAIN", "EXEC CICS RETURN"]
    )
    done = place.start("PARTS")
    assert client.stopped() == ("breakpoint", [("PARTS MAIN", 12)])
    assert client.variables("LOCAL-STORAGE")["01 LS-B"]["value"] == "'abc'"  # at the first statement
    assert list(client.variables("WORKING-STORAGE")) == ["01 WS-A", "01 UNUSED"]
    for number in ("1", "2", "3"):
        assert client.go() == ("breakpoint", [("PARTS MAIN", 14)]), number
        assert client.evaluate("WS-A") == number
    assert client.go() == ("breakpoint", [("PARTS", 2)])
    assert client.frames[0]["source"]["path"] == str(place.folder / "ADDING.cpy")
    assert client.go("next")[1] == [("PARTS MAIN", 17)]
    assert client.go("stepIn")[1] == [("INNER FIRST-P (CALL)", 28), ("PARTS MAIN", 17)]
    assert client.go("next") == ("function breakpoint", [("INNER LOWER-P (CALL)", 31), ("PARTS MAIN", 17)])
    assert client.go("stepOut")[1][0] == ("INNER FIRST-P (CALL)", 29)
    assert client.go() == ("function breakpoint", [("PARTS MAIN", 18)])
    assert client.variables("LOCAL-STORAGE")["01 LS-B"]["value"] == "'abc'"
    client.request("continue", threadId=client.thread)
    done.result(60)


TWICE = """\
       IDENTIFICATION DIVISION.
       PROGRAM-ID. TWICE.
       DATA DIVISION.
       WORKING-STORAGE SECTION.
       01 WS-A PIC 9(4) VALUE 0.
       PROCEDURE DIVISION.
       MAIN-P.
           PERFORM ADDS-P 3 TIMES
           EXEC CICS RETURN END-EXEC.
       ADDS-P.
           ADD 1 TO WS-A ADD 1 TO WS-A ADD 2 TO WS-A.
"""


def test_a_line_with_statements_of_one_verb_stops_once_each_time_it_is_entered(place):
    source = place.folder / "TWICE.cbl"
    source.write_text(TWICE)
    client = place.client
    client.attach({source: [11]}, functions=["EXEC CICS RETURN"])
    done = place.start("TWICE")
    assert client.stopped() == ("breakpoint", [("TWICE ADDS-P", 11)])
    for number in ("4", "8"):
        assert client.go() == ("breakpoint", [("TWICE ADDS-P", 11)])
        assert client.evaluate("WS-A") == number
    assert client.go("next")[1] == [("TWICE ADDS-P", 11)]  # a step goes to the next statement, on the same line too
    assert client.evaluate("WS-A") == "9"
    assert client.go() == ("function breakpoint", [("TWICE MAIN-P", 9)])
    client.request("continue", threadId=client.thread)
    done.result(60)


TIMES = """\
       IDENTIFICATION DIVISION.
       PROGRAM-ID. TIMES.
       DATA DIVISION.
       WORKING-STORAGE SECTION.
       01 WS-I PIC S9(4) COMP VALUE 0.
       01 WS-PRICE PIC S9(3)V99 COMP-3 VALUE 0.
       01 WS-NAME PIC X(4) VALUE LOW-VALUES.
       01 T.
          05 N PIC 99 OCCURS 10 VALUE 5.
       PROCEDURE DIVISION.
       MAIN-P.
           PERFORM UP-P 10 TIMES
           CONTINUE.
           GOBACK.
       UP-P.
           ADD 1 TO WS-I
           ADD 0.25 TO WS-PRICE
           IF WS-I = 7
              MOVE 'IT''S' TO WS-NAME
              MOVE 3 TO N (7)
           END-IF
           CONTINUE.
"""


def test_conditions_and_hit_counts_of_breakpoints_choose_the_arrivals_that_stop(place):
    (place.folder / "TIMES.cbl").write_text(TIMES)
    client, source = place.client, {"path": str(place.folder / "TIMES.cbl")}
    client.attach({source["path"]: [16]})

    def stops(*guards):
        """The values of WS-I at the stops on line 22, and the texts of the stops."""
        lines = [{"line": 13}, *({"line": 22} | guard for guard in guards)]
        answer = client.request("setBreakpoints", source=source, breakpoints=lines)["breakpoints"]
        place.start("TIMES")
        found, texts = [], []
        while client.stopped()[1][0][1] != 13:
            found.append(client.evaluate("WS-I"))
            texts.append(client.last["description"])
            client.request("continue", threadId=client.thread)
        client.request("continue", threadId=client.thread)
        return found, texts, [each.get("message") for each in answer[1:]]

    def where(condition="", hits=""):
        return stops({"condition": condition, "hitCondition": hits})[0]

    assert where("WS-I = 4") == ["4"]
    assert where("ws-i not = 4 and ws-i not > 5") == ["1", "2", "3", "5"]
    assert where("WS-PRICE >= 2.25 OR WS-I <> 1 AND WS-I < 3") == ["2", "9", "10"]
    assert where("WS-NAME = 'IT''S'") == ["7", "8", "9", "10"]
    assert where('WS-NAME (3:2) = "\'S"') == ["7", "8", "9", "10"]
    assert where("WS-NAME = LOW-VALUES AND WS-I NOT < 5") == ["5", "6"]
    assert where("N (WS-I) = 3") == ["7"]
    assert where("T = '05050505050503'") == []
    assert where("T (1:14) = '05050505050503'") == ["7", "8", "9", "10"]
    assert where(hits="4") == ["4"]
    assert where(hits="= 4") == ["4"]
    assert where(hits=">= 8") == ["8", "9", "10"]
    assert where(hits="% 4") == ["4", "8"]
    assert where("WS-I > 2", "% 3") == ["5", "8"]  # the third and the sixth of those for which it is true
    faulty_first = {"line": 16, "condition": "N (WS-I) = 5", "hitCondition": "2"}  # there is no N (0)
    assert stops(faulty_first)[0] == ["0", "2"]
    assert stops({"condition": "WS-I = 2"}, {"hitCondition": "2"}, {"hitCondition": "9"})[0] == ["2", "9"]

    found, texts, _messages = stops({"condition": "WS-J = 2", "hitCondition": "3"})
    assert found == [str(number) for number in range(1, 11)]
    assert texts[0] == "the condition WS-J = 2 has no value: program TIMES has no item WS-J; did you mean WS-I?"
    for guard, problem in (
        ({"condition": "WS-I"}, "'WS-I' is not a condition; valid are, for example, WS-COUNT > 10 and NAME (1:3) = "),
        ({"condition": "WS-I = 1 AND"}, "'WS-I = 1 AND' is not a condition"),
        ({"hitCondition": "0"}, "the hit count '0' is not a number N from 1 on, >= N or % N"),
    ):
        found, _texts, [message] = stops(guard)
        assert found == []
        assert message.startswith(problem), message


def test_a_breakpoint_on_a_command_has_a_condition_too(place):
    client = place.client
    client.attach({place.main: [17]}, functions=["COUNT-UP"])  # replaced by the next ones
    guarded = [{"name": "COUNT-UP", "condition": "WS-COUNT = 1"}, {"name": "EXEC CICS WRITEQ TD", "hitCondition": "2"}]
    client.request("setFunctionBreakpoints", breakpoints=guarded)
    place.start()
    assert client.stopped() == ("function breakpoint", [("MAIN COUNT-UP", 24)])
    assert client.evaluate("WS-COUNT") == "1"
    assert client.go() == ("breakpoint", [("MAIN FIRST-PARA", 17)])
    client.request("disconnect")


def test_a_condition_of_many_blanks_is_read_at_once():
    """What took a minute for 10,000 blanks is found wrong, or right, after each word was looked at once."""
    blanks = " " * 200_000
    open_quote = "A = " + "''" * 100_000 + "'"
    for text in (f"A{blanks}", f"A ={blanks}", f"A{blanks}NOT{blanks}", f"A = 'x' 'y'{' AND' * 50_000}", open_quote):
        with pytest.raises(UsageError, match="is not a condition"):
            StopCondition(text)
    with pytest.raises(UsageError, match="the hit count"):
        StopCondition("A = B", f"{blanks}x")
    StopCondition(f"A{blanks}NOT{blanks}={blanks}'B'{blanks}OR{blanks}C > 1")
