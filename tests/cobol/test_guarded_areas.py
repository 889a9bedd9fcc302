"""Storage overruns end the task with ASRA at their statement, and never the process; reads beyond an area are told."""

from __future__ import annotations

import ctypes
import mmap
import re
import sys
from pathlib import Path

import pytest

from tdqsim import Abend
from tdqsim.cobol import CobolWarning, storage_of
from tests.rules import rule

pytestmark = [pytest.mark.cobc, pytest.mark.rule("COBOL-OVERRUN")]

LINKAGE = "01 DFHCOMMAREA.\n    05 A-KEY PIC X(26).\n    05 A-REST PIC X({}).\n    05 A-LAST PIC X(20)."


def linked(workshop, program: str, commarea: bytearray) -> None:
    with workshop.region.task() as task:
        task.link(program, commarea)


def overrun(workshop, program: str, commarea: bytearray) -> str:
    """What the ASRA says with which a LINK ends."""
    with pytest.raises(Abend) as caught:
        linked(workshop, program, commarea)
    assert caught.value.code == rule("COBOL-OVERRUN").message == "ASRA"
    return str(caught.value.cause)


@pytest.mark.parametrize("rest", [20, 4000, 30000])
def test_a_write_beyond_a_short_commarea_is_asra_at_its_statement(workshop, rest):
    workshop.program("SHORTC", "77 N PIC 9.", "MOVE 1 TO N\nMOVE SPACES TO A-REST\nGOBACK.", LINKAGE.format(rest))
    workshop.region.programs.register("SHORTC", workshop.programs.handler("SHORTC"))
    for size in (1, 7, 25, 26, 27):
        said = overrun(workshop, "SHORTC", bytearray(b"x" * size))
        assert "SHORTC.cbl:13: protection exception (S0C4): byte " in said
        assert re.search(rf"of the COMMAREA, which has {size} bytes; address 0x[0-9a-f]+ \(item A-REST\)$", said)


def test_a_commarea_that_is_long_enough_is_shared_with_its_caller(workshop):
    workshop.program("LONGC", "", "MOVE 'KEY' TO A-KEY\nMOVE 'END' TO A-LAST\nGOBACK.", LINKAGE.format(4))
    workshop.region.programs.register("LONGC", workshop.programs.handler("LONGC"))
    given = bytearray(b"-" * 50)
    linked(workshop, "LONGC", given)
    assert bytes(given) == b"KEY".ljust(26) + b"----" + b"END".ljust(20)


def test_what_was_written_before_an_overrun_stays_in_the_storage_of_the_caller(workshop):
    workshop.program("PARTC", "", "MOVE 'KEY' TO A-KEY\nMOVE 'END' TO A-LAST\nGOBACK.", LINKAGE.format(4))
    workshop.region.programs.register("PARTC", workshop.programs.handler("PARTC"))
    given = bytearray(b"-" * 30)
    overrun(workshop, "PARTC", given)
    assert bytes(given) == b"KEY".ljust(26) + b"----"


def test_a_read_beyond_a_commarea_gives_zeros_and_one_warning(workshop):
    workshop.program(
        "READC",
        "01 W PIC X(20).",
        """
        MOVE A-LAST TO W
        MOVE A-LAST TO W
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(W) END-EXEC
        GOBACK.
        """,
        LINKAGE.format(4),
    )
    workshop.region.programs.register("READC", workshop.programs.handler("READC"))
    with pytest.warns(
        CobolWarning, match=r"READC\.cbl:\d+: byte 3\d of the COMMAREA was read, which has 30 bytes"
    ) as told:
        linked(workshop, "READC", bytearray(b"-" * 30))
    assert len(told) == 1
    assert workshop.out() == [bytes(20)]


def test_a_read_without_a_command_is_told_at_the_end_of_the_program(workshop):
    workshop.program("READD", "01 W PIC X(20).", "MOVE A-LAST TO W\nGOBACK.", LINKAGE.format(4))
    workshop.region.programs.register("READD", workshop.programs.handler("READD"))
    with pytest.warns(CobolWarning, match=r"READD\.cbl:\d+: byte 3\d of the COMMAREA was read"):
        linked(workshop, "READD", bytearray(b"-" * 30))


@pytest.mark.parametrize(
    "command",
    ["READQ TD QUEUE('IN') INTO(A-LAST)", "FORMATTIME ABSTIME(T) YYMMDD(A-LAST)"],
)
def test_a_command_that_writes_beyond_an_area_is_asra_too(workshop, command):
    workshop.region.writeq_td("IN", b"RECORD")
    workshop.program(
        "INTOC", "01 T PIC S9(15) COMP-3 VALUE 0.", f"EXEC CICS {command} END-EXEC\nGOBACK.", LINKAGE.format(4)
    )
    workshop.region.programs.register("INTOC", workshop.programs.handler("INTOC"))
    said = overrun(workshop, "INTOC", bytearray(b"-" * 30))
    assert "INTOC.cbl:" in said
    assert "protection exception (S0C4): byte 31 of the COMMAREA, which has 30 bytes" in said


@pytest.mark.parametrize(
    ("command", "told", "record"),
    [
        ("FROM(A-REST)", "FROM(A-REST): 4 of 8 bytes that were read are behind the COMMAREA", b"----" + bytes(4)),
        ("FROM(A-REST) LENGTH(6)", "FROM(A-REST): 2 of 6 bytes that were read are behind the COMMAREA", b"----" + bytes(2)),
        ("FROM(A-LAST) LENGTH(1)", "FROM(A-LAST): 1 of 1 bytes that were read are behind the COMMAREA", bytes(1)),
    ],
)  # fmt: skip
def test_a_command_that_reads_beyond_an_area_takes_zeros_and_tells_it_once(workshop, command, told, record):
    write = f"EXEC CICS WRITEQ TD QUEUE('OUT') {command} END-EXEC"
    workshop.program("FROMC", "77 N PIC 9.", f"PERFORM 2 TIMES\n    {write}\nEND-PERFORM\nGOBACK.", LINKAGE.format(8))
    workshop.region.programs.register("FROMC", workshop.programs.handler("FROMC"))
    with pytest.warns(CobolWarning) as warned:
        linked(workshop, "FROMC", bytearray(b"-" * 30))
    (said,) = [str(each.message) for each in warned]
    assert said.endswith(f"FROMC.cbl:13: WRITEQ: {told}: on the mainframe they are other storage")
    assert workshop.out() == [record] * 2


def test_a_name_that_a_command_reads_beyond_an_area_is_told(workshop):
    workshop.program(
        "NAMEC", "77 N PIC 9.", "EXEC CICS DELETEQ TD QUEUE(A-LAST) RESP(N) END-EXEC\nGOBACK.", LINKAGE.format(1)
    )
    workshop.region.programs.register("NAMEC", workshop.programs.handler("NAMEC"))
    with pytest.warns(CobolWarning, match=r"QUEUE\(A-LAST\): 2 of 4 bytes that were read are behind the COMMAREA"):
        linked(workshop, "NAMEC", bytearray(b"-" * 29))


def test_a_command_that_takes_no_more_than_the_area_has_is_not_told(workshop):
    workshop.program(
        "PARTF", "", "EXEC CICS WRITEQ TD QUEUE('OUT') FROM(A-REST) LENGTH(4) END-EXEC\nGOBACK.", LINKAGE.format(8)
    )
    workshop.region.programs.register("PARTF", workshop.programs.handler("PARTF"))
    linked(workshop, "PARTF", bytearray(b"-" * 30))
    assert workshop.out() == [b"----"]


@pytest.mark.parametrize(
    ("get", "name"),
    [
        ("GETMAIN SET(P) FLENGTH(16)", "storage of GETMAIN, which has 16 bytes"),
        ("READQ TD QUEUE('IN') SET(P) LENGTH(L)", "area of SET, which has 6 bytes"),
    ],
)
def test_other_areas_of_the_region_are_guarded_too(workshop, get, name):
    workshop.region.writeq_td("IN", b"RECORD")
    workshop.program(
        "AREAS",
        "01 P POINTER.\n01 L PIC S9(4) COMP.",
        f"EXEC CICS {get} END-EXEC\nSET ADDRESS OF L-X TO P\nMOVE SPACES TO L-X\nGOBACK.",
        "01 L-X PIC X(2000).",
    )
    with pytest.raises(Abend) as caught:
        workshop.run("AREAS")
    assert caught.value.code == rule("COBOL-OVERRUN").message == "ASRA"
    assert re.search(rf"of the {name}; address 0x[0-9a-f]+ \(item L-X\)$", str(caught.value.cause))


def freeing(workshop, use: str) -> None:
    """A program that uses storage after FREEMAIN, and the area of a second GETMAIN in between."""
    workshop.program(
        "FREES",
        "01 P POINTER.\n01 Q POINTER.\n01 W PIC X(4).\n01 R PIC S9(8) COMP.",
        f"""
        EXEC CICS GETMAIN SET(P) FLENGTH(32) INITIMG('*') END-EXEC
        SET ADDRESS OF L-X TO P
        EXEC CICS FREEMAIN DATA(L-X) END-EXEC
        EXEC CICS GETMAIN SET(Q) FLENGTH(32) INITIMG('-') END-EXEC
        SET ADDRESS OF L-Y TO Q
        {use}
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(L-Y) END-EXEC
        GOBACK.
        """,
        "01 L-X.\n    05 L-1 PIC X(4).\n    05 L-2 PIC X(4).\n01 L-Y PIC X(4).\n01 L-Z PIC X(40).",
    )
    workshop.run("FREES")


FREED = r"storage of GETMAIN that FREEMAIN at \S+FREES\.cbl:18 has freed"


@pytest.mark.parametrize("use", ["MOVE SPACES TO L-2", "EXEC CICS READQ TD QUEUE('IN') INTO(L-2) END-EXEC"])
def test_a_write_to_freed_storage_is_asra_at_its_statement(workshop, use):
    workshop.region.writeq_td("IN", b"ABCD")
    with pytest.raises(Abend) as caught:
        freeing(workshop, use)
    assert caught.value.code == rule("COBOL-OVERRUN").message == "ASRA"
    assert re.search(
        rf"FREES\.cbl:21: protection exception \(S0C4\): byte 5 of the {FREED}, which has 32 bytes",
        str(caught.value.cause),
    )
    assert workshop.out() == []


@pytest.mark.parametrize(
    "use",
    [
        "SET ADDRESS OF L-Z TO Q EXEC CICS FREEMAIN DATA(L-Z) END-EXEC\nMOVE SPACES TO L-Y",  # longer than its area
        "EXEC CICS LINK PROGRAM('LOOKS') END-EXEC\nMOVE SPACES TO L-2",
    ],
)
def test_a_write_to_freed_storage_is_asra_also_after_a_command_was_there(workshop, use):
    workshop.region.programs.register("LOOKS", lambda task: storage_of(task)["L-2"])
    with pytest.raises(Abend, match=r"protection exception \(S0C4\): byte \d of the storage .* has freed"):
        freeing(workshop, use)


def test_freed_storage_that_is_kept_takes_no_memory(workshop):
    held = []

    def measure(_task):
        held.append(int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE)

    workshop.region.programs.register("MEASURE", measure)
    look = "EXEC CICS LINK PROGRAM('MEASURE') END-EXEC"
    freeing(
        workshop,
        f"""
        {look}
        PERFORM 16 TIMES
            EXEC CICS GETMAIN SET(P) FLENGTH(16000000) INITIMG('*') END-EXEC
            EXEC CICS FREEMAIN DATAPOINTER(P) END-EXEC
        END-PERFORM
        {look}
        """,
    )
    assert held[1] - held[0] < 100_000_000


@pytest.mark.parametrize(
    ("use", "told", "out"),
    [
        ("MOVE L-2 TO W MOVE L-1 TO W MOVE W TO L-Y", rf"FREES\.cbl:21: byte 5 of the {FREED} was read", [bytes(4)]),
        (
            "EXEC CICS WRITEQ TD QUEUE('OUT') FROM(L-2) END-EXEC",
            rf"FREES\.cbl:21: WRITEQ: FROM\(L-2\): 4 of 4 bytes that were read are in the {FREED}",
            [bytes(4), b"----"],
        ),
        (
            "EXEC CICS LINK PROGRAM('NEXT') COMMAREA(L-X) END-EXEC",
            rf"FREES\.cbl:21: LINK: COMMAREA\(L-X\) is in the {FREED}",
            [bytes(8), b"----"],
        ),
    ],
)
def test_a_read_of_freed_storage_gives_zeros_and_one_warning(workshop, use, told, out):
    workshop.region.programs.register("NEXT", lambda task: task.writeq_td("OUT", bytes(task.commarea)))
    with pytest.warns(CobolWarning, match=told) as warned:
        freeing(workshop, use)
    assert (len(warned), workshop.out()) == (1, out)


@pytest.mark.parametrize(
    "use",
    [
        "EXEC CICS FREEMAIN DATA(L-X) RESP(R) END-EXEC\nIF R NOT = 16 MOVE 'LOST' TO L-Y END-IF",
        "EXEC CICS FREEMAIN DATAPOINTER(P) RESP(R) END-EXEC\nIF R NOT = 16 MOVE 'LOST' TO L-Y END-IF",
        "EXEC CICS ADDRESS SET(ADDRESS OF L-X) USING(Q) END-EXEC\nMOVE L-1 TO W",
        """
        EXEC CICS FREEMAIN DATA(L-Y) END-EXEC
        PERFORM 40 TIMES
            EXEC CICS GETMAIN SET(Q) FLENGTH(32) INITIMG('-') END-EXEC
            EXEC CICS FREEMAIN DATAPOINTER(Q) END-EXEC
        END-PERFORM
        EXEC CICS GETMAIN SET(Q) FLENGTH(32) INITIMG('-') END-EXEC
        SET ADDRESS OF L-Y TO Q
        """,
    ],
)
def test_a_program_that_does_not_look_into_freed_storage_is_told_nothing(workshop, use):
    freeing(workshop, use)
    assert workshop.out() == [b"----"]


def test_an_overrun_tells_the_address_of_the_byte_in_its_message_and_dump(workshop):
    workshop.program(
        "WHERE",
        "01 P POINTER.",
        """
        SET P TO ADDRESS OF DFHCOMMAREA
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(P) END-EXEC
        MOVE 'X' TO A-BYTE
        GOBACK.
        """,
        "01 DFHCOMMAREA.\n    05 A-REST PIC X(40).\n    05 A-BYTE PIC X.",
    )
    workshop.region.programs.register("WHERE", workshop.programs.handler("WHERE"))
    said = overrun(workshop, "WHERE", bytearray(30))
    (pointer,) = workshop.out()
    address = int.from_bytes(pointer, sys.byteorder) + 40
    assert said.endswith(f"byte 41 of the COMMAREA, which has 30 bytes; address {address:#x} (item A-BYTE)")
    (dump,) = workshop.region.diagnostics.abend_dumps
    assert f"address {address:#x} (item A-BYTE)" in str(dump)


def test_a_program_goes_on_at_its_abend_label_after_an_overrun(workshop):
    workshop.program(
        "LABELC",
        "01 D PIC X(3) VALUE 'BAD'.",
        """
        EXEC CICS HANDLE ABEND LABEL(OOPS) END-EXEC
        MOVE SPACES TO A-LAST
        GOBACK.
        OOPS.
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(D) END-EXEC
        GOBACK.
        """,
        LINKAGE.format(4),
    )
    workshop.region.programs.register("LABELC", workshop.programs.handler("LABELC"))
    linked(workshop, "LABELC", bytearray(b"-" * 10))
    assert workshop.out() == [b"BAD"]


def test_link_from_cobol_passes_the_storage_of_the_caller(workshop):
    """So an overrun is seen in the item behind it, as on the mainframe."""
    workshop.program("INNER", "", "MOVE 'Z' TO A-KEY (6:1)\nGOBACK.", LINKAGE.format(4))
    workshop.program(
        "OUTER",
        "01 G.\n    05 AREA-1 PIC X(5) VALUE 'abcde'.\n    05 NEXT-1 PIC X(3) VALUE 'fgh'.",
        "EXEC CICS LINK PROGRAM('INNER') COMMAREA(AREA-1) END-EXEC\n"
        "EXEC CICS WRITEQ TD QUEUE('OUT') FROM(G) END-EXEC\nGOBACK.",
    )
    workshop.run("OUTER")
    assert workshop.out() == [b"abcdeZgh"]


def test_python_may_look_beyond_an_area(workshop):
    """A test that looks where a pointer of the program leads."""
    seen = []
    workshop.region.writeq_td("IN", b"RECORD")
    workshop.programs.verbs["LOOK"] = lambda options, _level: seen.append(ctypes.string_at(options["AT"].pointer, 20))
    workshop.program(
        "POINTS",
        "01 P POINTER.\n01 L PIC S9(4) COMP.",
        "EXEC CICS READQ TD QUEUE('IN') SET(P) LENGTH(L) END-EXEC\nEXEC CICS LOOK AT(P) END-EXEC\nGOBACK.",
    )
    workshop.run("POINTS")
    assert seen == [b"RECORD" + bytes(14)]


def test_a_linked_program_writes_beyond_a_commarea_that_is_longer_than_its_area(workshop):
    """LINK passes an item of nine bytes of an area of five."""
    workshop.program("FAROVER", "", "MOVE ALL 'Z' TO A-REST\nGOBACK.", LINKAGE.format(30000))
    workshop.program(
        "FARLINK",
        "",
        "EXEC CICS LINK PROGRAM('FAROVER') COMMAREA(DFHCOMMAREA) END-EXEC\nGOBACK.",
        "01 DFHCOMMAREA PIC X(9).",
    )
    assert "FAROVER.cbl:11: protection exception (S0C4): byte " in overrun(workshop, "FARLINK", bytearray(5))
