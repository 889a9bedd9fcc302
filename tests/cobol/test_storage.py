"""A program's items by name while its task waits."""

from __future__ import annotations

import resource
from decimal import Decimal

import pytest

from tdqsim.cics import Abend
from tdqsim.cobol import storage_of
from tdqsim.errors import TdqError

pytestmark = pytest.mark.cobc

STORAGE = """
77 WS-COUNT PIC S9(4) COMP VALUE 41.
77 WS-SMALL PIC S9(3)V99 VALUE -1.25.
01 WS-PACKED PIC S9(5)V99 COMP-3 VALUE 12.34.
01 CUSTOMER.
   05 NAME PIC X(8) VALUE 'MILLER'.
   05 LINES-OF OCCURS 3.
      10 LINE-NO PIC 99.
      10 LINE-TEXT PIC X(4) OCCURS 2.
   05 TAIL PIC X(2) VALUE 'zz'.
01 SUPPLIER.
   05 NAME PIC X(4) VALUE 'ACME'.
01 SHOWN REDEFINES SUPPLIER PIC X(4).
01 N-SHOWN PIC 9(4).
"""
WAITS = """
    MOVE 'second' TO LINE-TEXT(2, 1)
    EXEC CICS READQ TD QUEUE('LOGQ') INTO(N-SHOWN) END-EXEC
    MOVE WS-COUNT TO N-SHOWN
    EXEC CICS WRITEQ TD QUEUE('OUT') FROM(N-SHOWN) END-EXEC
    EXEC CICS WRITEQ TD QUEUE('OUT') FROM(CUSTOMER) END-EXEC
    GOBACK.
"""


@pytest.fixture
def waiting(workshop):
    """A task that waits in a READQ; its end is awaited."""
    workshop.program("WAITER", STORAGE, WAITS)
    region = workshop.region
    with region.task() as writer:
        writer.writeq_td("LOGQ", b"GO  ")
        handle = region.start(workshop.programs.handler("WAITER"))
        region.run()
        yield handle.local
    region.run()
    handle.result()


def test_items_are_read_by_name(waiting):
    storage = storage_of(waiting)
    assert storage["WS-COUNT"] == 41
    assert storage["ws-small"] == Decimal("-1.25")
    assert storage["WS-PACKED"] == Decimal("12.34")
    assert storage["NAME OF CUSTOMER"] == "MILLER  "
    assert storage["NAME IN SUPPLIER"] == "ACME"
    assert storage["SHOWN"] == "ACME"
    assert storage["LINE-TEXT OF CUSTOMER (2, 1)"] == "seco"
    assert storage["TAIL"] == "zz"
    assert storage["LINE-TEXT (WS-COUNT - 39, 1)(2:2)"] == "ec"
    assert storage["NAME OF CUSTOMER(2 : )"] == "ILLER  "
    assert storage["WS-PACKED (1:2)"] == "\x00\x01"
    assert storage["SUPPLIER"] == b"ACME"
    assert "NOWHERE" not in storage


def test_items_are_set_by_name(waiting, workshop):
    storage = storage_of(waiting)
    storage["WS-COUNT"] = 1234
    storage["WS-SMALL"] = "-99.01"
    storage["LINE-NO (3)"] = 7
    storage["NAME OF CUSTOMER"] = "SCHULZ"
    storage["NAME OF CUSTOMER (3:2)"] = "X"
    assert storage["NAME OF CUSTOMER"] == "SCX LZ  "
    storage["NAME OF CUSTOMER"] = "SCHULZ"
    assert storage["WS-SMALL"] == Decimal("-99.01")
    assert storage["LINE-NO (3)"] == 7
    assert storage.program("WAITER").raw("CUSTOMER")[:8] == b"SCHULZ  "


def test_a_program_goes_on_with_what_was_set(workshop, waiting):
    storage_of(waiting)["WS-COUNT"] = 77
    storage_of(waiting)["TAIL"] = "ab"
    region = workshop.region
    region.start(lambda task: task.suspend())
    region.purge  # noqa: B018
    assert storage_of(waiting)["WS-COUNT"] == 77


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("WS-COUNTER", "has no item WS-COUNTER; did you mean WS-COUNT"),
        ("NAME", "NAME OF CUSTOMER, NAME OF SUPPLIER"),
        ("LINE-TEXT (1)", "takes 2 subscripts, not 1"),
        ("LINE-NO (4)", "allowed are 1 to 3"),
        ("LINE-NO (WS-COUNT)", "subscript 41 of LINE-NO; allowed are 1 to 3"),
        ("LINE-NO (²)", "² is neither a whole number nor an item that contains one"),
        ("LINE-NO (WS-PACKED)", "WS-PACKED is neither a whole number nor an item that contains one"),
        ("LINE-NO (NOWHERE)", "has no item NOWHERE"),
        ("LINE-NO (1 + 1", "is not a name of an item"),
        ("TAIL (0:1)", "TAIL has 2 bytes"),
        ("TAIL (2:2)", "TAIL has 2 bytes"),
        ("TAIL (3:)", "TAIL has 2 bytes"),
        ("TAIL (1:0)", "TAIL has 2 bytes"),
        ("TAIL (X:1)", "has no item X"),
        (f"TAIL ({'9' * 5000}:1)", "neither a whole number nor"),
        ("(", "is not a name of an item"),
    ],
)
def test_a_wrong_name_is_told_why(waiting, name, why):
    with pytest.raises(TdqError, match=why.replace("(", r"\(").replace(")", r"\)")):
        storage_of(waiting)[name]


@pytest.mark.parametrize(
    ("name", "value"), [("WS-COUNT", 12345), ("N-SHOWN", -1), ("WS-PACKED", "1.234"), ("WS-COUNT", "x")]
)
def test_a_value_that_does_not_fit_is_refused(waiting, name, value):
    with pytest.raises(TdqError, match=name):
        storage_of(waiting)[name] = value


def test_items_of_local_storage_are_there_while_their_program_runs(workshop):
    workshop.program(
        "LOCALS",
        """
        77 WS-REC PIC X(4).
        01 WS-GLOBAL GLOBAL.
           05 WS-SHARED PIC X(6) VALUE 'shared'.
        LOCAL-STORAGE SECTION.
        77 LS-FIRST PIC X(3) VALUE 'abc'.
        01 LS-UNUSED PIC X(20) VALUE SPACES.
        01 LS-SHORT REDEFINES LS-UNUSED PIC X(5).
        01 FILLER.
           05 LS-IN-FILLER PIC 9(4) COMP VALUE 7.
           05 LS-TABLE PIC X(2) OCCURS 3 VALUE 'xy'.
        77 LS-PACKED PIC S9(5) COMP-3 VALUE -42.
        """,
        """
        CALL 'INNER' USING DFHEIBLK DFHCOMMAREA
        MOVE 'Hello' TO LS-SHORT
        MOVE 'SHARED' TO WS-SHARED
        EXEC CICS READQ TD QUEUE('LOGQ') INTO(WS-REC) END-EXEC
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(LS-FIRST) END-EXEC
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(LS-TABLE(2)) END-EXEC
        GOBACK.
        """,
    )
    workshop.program(
        "INNER",
        """
        LOCAL-STORAGE SECTION.
        77 LS-INNER PIC X(3) VALUE 'in '.
        """,
        "EXEC CICS WRITEQ TD QUEUE('OUT') FROM(LS-INNER) END-EXEC\nGOBACK.",
    )
    region = workshop.region
    with region.task() as writer:
        writer.writeq_td("LOGQ", b"GO  ")
        handle = region.start(workshop.programs.handler("LOCALS"))
        region.run()
        storage = storage_of(handle.local)
        assert storage["WS-SHARED"] == "SHARED"
        assert storage["LS-FIRST"] == "abc"
        assert storage["LS-SHORT"] == "Hello"
        assert storage["LS-UNUSED"] == "Hello".ljust(20)
        assert (storage["LS-IN-FILLER"], storage["LS-TABLE (3)"], storage["LS-PACKED"]) == (7, "xy", -42)
        assert not any(name.startswith("DFHEI-") for name in storage.program("LOCALS"))
        storage["LS-FIRST"], storage["LS-TABLE (2)"] = "set", "zz"
        with pytest.raises(TdqError, match="LS-INNER of program INNER has no address now"):
            storage.program("INNER")["LS-INNER"]
    region.run()
    handle.result()
    assert workshop.out() == [b"in ", b"set", b"zz"]


def test_edited_items_are_text_and_floating_point_is_float(workshop):
    workshop.program(
        "SHOWS",
        """
        77 EDITED PIC ZZ9.99.
        77 SHORT-FLOAT COMP-1 VALUE 1.5.
        77 LONG-FLOAT COMP-2 VALUE -2.25.
        01 TABLE-OF. 05 ROW-NO PIC 99 OCCURS 3 VALUE 4.
        """,
        """
        MOVE 1.5 TO EDITED MOVE 5 TO ROW-NO(2)
        EXEC CICS DELAY INTERVAL(1) END-EXEC
        COMPUTE EDITED = SHORT-FLOAT + LONG-FLOAT
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(EDITED) END-EXEC
        GOBACK.
        """,
    )
    seen = []

    def look(_task):
        storage = storage_of(shown.local)
        seen.extend(storage[name] for name in ("EDITED", "SHORT-FLOAT", "LONG-FLOAT", "ROW-NO (2)"))
        storage["SHORT-FLOAT"], storage["LONG-FLOAT"] = 0.5, 100.25

    shown = workshop.region.start(workshop.programs.handler("SHOWS"))
    looked = workshop.region.start(look)
    workshop.region.run()
    looked.result()
    shown.result()
    assert seen == ["  1.50", 1.5, -2.25, 5]
    assert workshop.out() == [b"100.75"]


def test_local_storage_is_new_for_each_call_and_there_from_the_first_statement(workshop):
    workshop.program(
        "OUTER",
        "77 WS-N PIC 9 VALUE 1.",
        """
        CALL 'AGAIN' USING DFHEIBLK DFHCOMMAREA
        MOVE 2 TO WS-N
        CALL 'AGAIN' USING DFHEIBLK DFHCOMMAREA
        MOVE 3 TO WS-N
        GOBACK.
        """,
    )
    workshop.program(
        "AGAIN",
        """
        LOCAL-STORAGE SECTION.
        77 LS-A PIC X(3) VALUE 'new'.
        01 LS-LARGE PIC X(3000) VALUE ALL 'z'.
        """,
        """
        MOVE 'old' TO LS-A
        DISPLAY LS-A
        EXEC CICS ASKTIME END-EXEC
        GOBACK.
        """,
    )
    seen = []

    def watch(level, what, _place):
        storage = storage_of(level.task)
        if what == "MOVE" and level.issuer == "AGAIN":
            seen.append((storage["WS-N"], storage["LS-A"], storage["LS-LARGE"] == "z" * 3000))
            storage["LS-A"] = "set"
        elif what == "DISPLAY":
            seen.append(storage["LS-A"])
        elif level.issuer == "OUTER" and what == "MOVE":
            seen.append("LS-A" in storage)

    workshop.programs.settings.on_statement = watch
    workshop.run("OUTER")
    assert seen == [(1, "new", True), "old", False, (2, "new", True), "old", False]


def test_a_program_that_calls_itself_has_its_own_local_storage_again_when_the_inner_run_ends(workshop):
    workshop.program(
        "SELFISH",
        """
        77 WS-DEPTH PIC 9 VALUE 0.
        LOCAL-STORAGE SECTION.
        77 LS-A PIC 9 VALUE 0.
        """,
        """
        ADD 1 TO WS-DEPTH
        MOVE WS-DEPTH TO LS-A
        IF WS-DEPTH < 3 CALL 'SELFISH' USING DFHEIBLK DFHCOMMAREA END-IF
        DISPLAY LS-A
        GOBACK.
        """,
    )
    source = workshop.folder / "SELFISH.cbl"
    source.write_text(source.read_text().replace("PROGRAM-ID. SELFISH.", "PROGRAM-ID. SELFISH IS RECURSIVE."))
    seen = []
    workshop.programs.settings.on_statement = lambda level, what, _place: (
        seen.append(storage_of(level.task)["LS-A"]) if what == "DISPLAY" else None
    )
    workshop.run("SELFISH")
    assert seen == [3, 2, 1]


def test_the_local_storage_of_programs_that_a_command_leaves_is_freed(workshop):
    workshop.program(
        "LEAVES",
        "LOCAL-STORAGE SECTION.\n77 LS-A PIC X(4000000) VALUE ALL 'x'.",
        "EXEC CICS RETURN END-EXEC.",
    )
    workshop.run("LEAVES")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(20):
        workshop.run("LEAVES")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 40_000  # KiB; all of them have 80 MB


def test_local_storage_is_unchanged_at_an_abend_exit_and_new_in_the_next_task(workshop):
    workshop.program(
        "CHECKED",
        """
        01 N PIC S9(5) COMP-3.
        01 B REDEFINES N PIC X(3).
        LOCAL-STORAGE SECTION.
        77 LS-A PIC X(3) VALUE 'new'.
        """,
        """
        EXEC CICS HANDLE ABEND LABEL(GOT-IT) END-EXEC
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(LS-A) END-EXEC
        MOVE 'old' TO LS-A
        MOVE SPACES TO B
        ADD 1 TO N
        GOBACK.
        GOT-IT.
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(LS-A) END-EXEC
        IF EIBTASKN = 1 ADD 1 TO N END-IF
        GOBACK.
        """,
    )
    with pytest.raises(Abend, match="ASRA"):
        workshop.run("CHECKED")
    for _ in range(3):
        workshop.run("CHECKED")
    assert workshop.out() == [b"new", b"old"] * 4
