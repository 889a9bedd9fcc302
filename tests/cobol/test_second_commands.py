"""Commands of programs that are issued a second time: storage, keys, lengths, levels, tables, and warnings."""

from __future__ import annotations

import pytest

from tdqsim import Abend, define_terminal
from tdqsim.cobol import CobolPrograms, CobolWarning
from tdqsim.cobol.copies import copies_of
from tdqsim.facts import Resp
from tests.cobol.test_dpl import CLIENT_STORAGE, Two
from tests.rules import rule

pytestmark = pytest.mark.cobc


def test_getmain_of_a_second_block_has_its_own_length_and_initimg_and_freemain_frees_it_alone(workshop):
    """LENGTH is that of a halfword; lengths are rounded up to 16 bytes; without INITIMG the storage is not cleared."""
    workshop.program(
        "BLOCKS",
        "77 P USAGE POINTER.\n77 Q USAGE POINTER.\n77 N USAGE POINTER.\n77 H PIC S9(4) COMP VALUE 16.\n"
        "77 R PIC S9(8) COMP.\n01 S PIC 9(4).",
        """
        EXEC CICS GETMAIN SET(P) LENGTH(H) INITIMG('*') END-EXEC
        EXEC CICS GETMAIN SET(Q) FLENGTH(17) INITIMG('+') END-EXEC
        EXEC CICS GETMAIN SET(N) FLENGTH(1) END-EXEC
        SET ADDRESS OF L-P TO P
        SET ADDRESS OF L-Q TO Q
        SET ADDRESS OF L-N TO N
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(L-P) LENGTH(20) END-EXEC
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(L-Q) LENGTH(34) END-EXEC
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(L-N) LENGTH(18) END-EXEC
        EXEC CICS FREEMAIN DATA(L-Q) END-EXEC
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(L-P) LENGTH(15) END-EXEC
        EXEC CICS FREEMAIN DATAPOINTER(Q) RESP(R) END-EXEC
        MOVE R TO S
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(S) END-EXEC
        EXEC CICS FREEMAIN DATA(L-P) RESP(R) END-EXEC
        MOVE R TO S
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(S) END-EXEC
        GOBACK.
        """,
        "01 L-P PIC X.\n01 L-Q PIC X.\n01 L-N PIC X.",
    )
    with pytest.warns(CobolWarning) as told:
        workshop.run("BLOCKS")
    assert [str(each.message).partition("FROM")[2][:6] for each in told] == ["(L-P) ", "(L-Q) ", "(L-N) ", "(L-P) "]
    assert workshop.out() == [
        b"*" * 16 + bytes(4),
        b"+" * 32 + bytes(2),
        b"\x9f" * 16 + bytes(2),
        b"*" * 15,
        b"0016",
        b"0000",
    ]


def test_the_cwa_is_that_of_the_tasks_before(workshop):
    workshop.program(
        "SHARES",
        "77 P USAGE POINTER.\n77 Q USAGE POINTER.",
        """
        EXEC CICS ADDRESS CWA(P) END-EXEC
        EXEC CICS ADDRESS CWA(Q) END-EXEC
        IF P NOT = Q EXEC CICS ABEND ABCODE('TWO ') END-EXEC END-IF
        SET ADDRESS OF L-CWA TO P
        ADD 1 TO L-CWA
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(L-CWA) END-EXEC
        GOBACK.
        """,
        "01 L-CWA PIC S9(4) COMP.",
    )
    programs = CobolPrograms(workshop.region, sources=[workshop.folder], cache=workshop.folder / "compiled", cwa=2)
    for _task in range(3):
        workshop.region.start(programs.handler("SHARES"))
        workshop.region.run()
    assert workshop.out() == [b"\0\1", b"\0\2", b"\0\3"]


@pytest.mark.parametrize(
    ("length", "taken"), [("00032767", 32767), ("00032768", -32768), ("00065535", -1), ("00065792", 256)]
)
def test_length_of_enq_is_the_low_halfword_of_a_longer_number(workshop, length, taken):
    workshop.program(
        "HALVES",
        "01 A PIC X(32767) VALUE SPACES.\n01 N PIC 9(8).\n77 F PIC S9(8) COMP.",
        """
        EXEC CICS READQ TD QUEUE('IN') INTO(N) END-EXEC
        MOVE N TO F
        EXEC CICS ENQ RESOURCE(A) LENGTH(F) END-EXEC
        GOBACK.
        """,
    )
    workshop.region.writeq_td("IN", length.encode())
    with pytest.raises(Abend, match=rf"the name has {taken} bytes"):
        workshop.run("HALVES")


@pytest.mark.parametrize("moved", ["PF4", "PF3"])
def test_a_second_receive_shows_its_own_key_and_handle_aid_without_label_takes_the_label_back(workshop, moved):
    """EIBAID and EIBCPOSN after each RECEIVE of a conversation."""
    workshop.program(
        "TALKS",
        "01 SHOWN.\n   05 A PIC X.\n   05 C PIC 9(4).\n01 T PIC X(8).\n77 L PIC S9(4) COMP.",
        """
        MAIN.
            EXEC CICS HANDLE AID PF3(LEAVE-IT) PF4(LEAVE-IT) END-EXEC
            EXEC CICS RECEIVE INTO(T) LENGTH(L) NOHANDLE END-EXEC
            PERFORM SHOW-IT
            EXEC CICS HANDLE AID PF4 END-EXEC
            MOVE 8 TO L
            EXEC CICS RECEIVE INTO(T) LENGTH(L) END-EXEC
            PERFORM SHOW-IT
            EXEC CICS RETURN END-EXEC.
        SHOW-IT.
            MOVE EIBAID TO A  MOVE EIBCPOSN TO C
            EXEC CICS WRITEQ TD QUEUE('OUT') FROM(SHOWN) END-EXEC.
        LEAVE-IT.
            EXEC CICS WRITEQ TD QUEUE('OUT') FROM('LABEL') END-EXEC
            EXEC CICS RETURN END-EXEC.
        """,
    )
    region = workshop.region
    region.install([define_terminal(name="T001")])
    region.register("TALK", workshop.programs.handler("TALKS"))
    region.screens.type("T001", "TALK", key="PF3", cursor=4)
    region.run()
    region.screens.type("T001", "NEXT", key=moved, cursor=90)
    region.run()
    assert workshop.out() == [b"30004", b"40090" if moved == "PF4" else b"LABEL"]


def test_eibaid_changes_with_the_key_alone_and_eibcposn_with_the_cursor_alone(workshop):
    workshop.program(
        "KEYED",
        "01 T PIC X(8).\n77 L PIC S9(4) COMP.\n01 SHOWN.\n   05 A PIC X.\n   05 C PIC 9(4).",
        """
        PERFORM 3 TIMES
          MOVE 8 TO L
          EXEC CICS RECEIVE INTO(T) LENGTH(L) END-EXEC
          MOVE EIBAID TO A  MOVE EIBCPOSN TO C
          EXEC CICS WRITEQ TD QUEUE('OUT') FROM(SHOWN) END-EXEC
        END-PERFORM
        EXEC CICS RETURN END-EXEC.
        """,
    )
    region = workshop.region
    region.install([define_terminal(name="T001")])
    region.register("KEYD", workshop.programs.handler("KEYED"))
    for key, cursor in (("PF3", 4), ("PF4", 4), ("PF4", 90)):
        region.screens.type("T001", "KEYD", key=key, cursor=cursor)
        region.run()
    assert workshop.out() == [b"30004", b"40004", b"40090"]


def test_length_of_enq_as_a_literal_is_the_low_halfword_too(workshop):
    enq = "EXEC CICS ENQ RESOURCE(A) LENGTH({}) RESP(R) END-EXEC\n"
    last = "EXEC CICS ENQ RESOURCE(A) LENGTH(32768) END-EXEC\nGOBACK."
    workshop.program("LITERAL", "01 A PIC X(32767).\n77 R PIC S9(8) COMP.", enq.format(32767) + last)
    with pytest.raises(Abend, match="the name has -32768 bytes"):
        workshop.run("LITERAL")


def test_a_commarea_that_is_shorter_or_longer_at_the_next_link_has_that_length_and_returns_to_its_caller(workshop):
    workshop.program(
        "BELOW",
        "77 N PIC S9(4) COMP.",
        """
        MOVE EIBCALEN TO N
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(DFHCOMMAREA) LENGTH(N) END-EXEC
        MOVE 'x' TO DFHCOMMAREA (N:1)
        GOBACK.
        """,
        "01 DFHCOMMAREA PIC X(12).",
    )
    workshop.program(
        "ABOVE",
        "01 WHOLE.\n   05 A PIC X(6) VALUE 'ABCDEF'.\n   05 REST PIC X(6) VALUE 'GHIJKL'.\n01 N PIC 9(4).",
        """
        EXEC CICS LINK PROGRAM('BELOW') COMMAREA(A) END-EXEC
        EXEC CICS LINK PROGRAM('BELOW') COMMAREA(A) LENGTH(3) END-EXEC
        EXEC CICS LINK PROGRAM('BELOW') COMMAREA(A) LENGTH(12) END-EXEC
        EXEC CICS LINK PROGRAM('BELOW') COMMAREA(REST) LENGTH(2) END-EXEC
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(WHOLE) END-EXEC
        MOVE EIBCALEN TO N
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(N) END-EXEC
        GOBACK.
        """,
    )
    with pytest.warns(CobolWarning, match="has 6 bytes and the command uses 12"):
        workshop.run("ABOVE")
    assert workshop.out() == [b"ABCDEF", b"ABC", b"ABxDExGHIJKL", b"GH", b"ABxDExGxIJKx", b"0000"]


def test_a_commarea_of_a_python_program_is_changed_by_each_of_its_links(workshop):
    """Between them it may grow: no view of it is left. One that is read-only stays as it is."""
    workshop.program(
        "ADDS",
        "77 N PIC 9(4).",
        """
        ADD 1 TO L-N
        IF EIBCALEN > 4 MOVE 'X' TO L-REST END-IF
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(L-N) END-EXEC
        GOBACK.
        """,
        "01 DFHCOMMAREA.\n   05 L-N PIC 9(4).\n   05 L-REST PIC X.",
    )
    given, fixed = bytearray(b"0007"), b"0001"
    with workshop.region.task() as task:
        task.link("ADDS", given)
        task.link("ADDS", given)
        given.extend(b".")
        task.link("ADDS", given)
        task.link("ADDS", fixed)
    assert (given, fixed) == (b"0010X", b"0001")
    assert workshop.out() == [b"0008", b"0009", b"0010", b"0002"]


def test_the_areas_of_set_of_two_commands_are_there_at_the_same_time(workshop):
    """GETMAIN takes the place of neither."""
    workshop.program(
        "TWOSETS",
        "77 H PIC S9(4) COMP.\n77 P USAGE POINTER.",
        """
        EXEC CICS READQ TD QUEUE('IN') SET(ADDRESS OF L-1) LENGTH(H) END-EXEC
        EXEC CICS READQ TS QUEUE('KEPT') SET(ADDRESS OF L-2) LENGTH(H) END-EXEC
        EXEC CICS GETMAIN SET(P) FLENGTH(16) END-EXEC
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(L-1) END-EXEC
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(L-2) END-EXEC
        GOBACK.
        """,
        "01 L-1 PIC X(5).\n01 L-2 PIC X(6).",
    )
    workshop.region.writeq_td("IN", b"first")
    with workshop.region.task() as task:
        task.writeq_ts("KEPT", b"second")
    workshop.run("TWOSETS")
    assert workshop.out() == [b"first", b"second"]


@pytest.mark.rule("PGM-RELEASE-COUNT")
def test_the_second_load_needs_a_second_release_and_gives_entry_and_lengths_up_to_those_of_a_halfword(workshop):
    """LENGTH is a halfword, so it is at most 32767 here; FLENGTH is the whole length."""
    workshop.region.programs.define_table("LARGE", b"T" * 40_000)
    workshop.region.programs.define_table("SMALL", b"small")
    workshop.program(
        "LOADS",
        "77 P USAGE POINTER.\n77 E USAGE POINTER.\n77 F PIC S9(8) COMP.\n77 H PIC S9(4) COMP.\n77 R PIC S9(8) COMP.\n"
        "01 SHOWN.\n   05 S1 PIC 9(5).\n   05 S2 PIC 9(5).\n01 RS.\n   05 R1 PIC 9(3) OCCURS 5.",
        """
        EXEC CICS LOAD PROGRAM('LARGE') ENTRY(E) FLENGTH(F) LENGTH(H) END-EXEC
        MOVE F TO S1 MOVE H TO S2
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(SHOWN) END-EXEC
        EXEC CICS LOAD PROGRAM('SMALL') SET(P) FLENGTH(F) LENGTH(H) END-EXEC
        MOVE F TO S1 MOVE H TO S2
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(SHOWN) END-EXEC
        SET ADDRESS OF L-1 TO E
        EXEC CICS LOAD PROGRAM('LARGE') SET(P) END-EXEC
        IF P NOT = E EXEC CICS ABEND ABCODE('TWO ') END-EXEC END-IF
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(L-1) END-EXEC
        EXEC CICS RELEASE PROGRAM('LARGE') RESP(R) END-EXEC
        MOVE R TO R1 (1)
        EXEC CICS RELEASE PROGRAM('LARGE') RESP(R) END-EXEC
        MOVE R TO R1 (2)
        EXEC CICS RELEASE PROGRAM('LARGE') RESP(R) END-EXEC
        MOVE R TO R1 (3)
        MOVE EIBRESP2 TO R1 (5)
        EXEC CICS RELEASE PROGRAM('SMALL') RESP(R) END-EXEC
        MOVE R TO R1 (4)
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(RS) END-EXEC
        GOBACK.
        """,
        "01 L-1 PIC X(3).",
    )
    workshop.run("LOADS")
    over = rule("PGM-RELEASE-COUNT")
    assert workshop.out() == [
        b"4000032767",
        b"0000500005",
        b"TTT",
        f"000000{Resp[over.resp]:03}000{int(over.resp2):03}".encode(),
    ]


def test_a_warning_is_given_once_for_each_command_and_option(workshop):
    workshop.program(
        "WARNS",
        "01 S PIC X(2).\n01 T PIC X(2).",
        """
        PERFORM 2 TIMES
          EXEC CICS ASSIGN STARTCODE(S) SYSID(S) USERID(T) END-EXEC
        END-PERFORM
        EXEC CICS ASSIGN SYSID(S) END-EXEC
        GOBACK.
        """,
    )
    told: list[str] = []
    workshop.programs.settings.on_warning = told.append
    workshop.run("WARNS")
    workshop.run("WARNS")
    assert [each.rpartition("WARNS.cbl:")[2].partition(" has")[0] for each in told] == [
        "9: ASSIGN: SYSID(S)",
        "9: ASSIGN: USERID(T)",
        "11: ASSIGN: SYSID(S)",
    ]


def test_synconreturn_counts_for_its_link_alone(tmp_path):
    """What a LINK without it has done in the other region is backed out with the caller."""
    two = Two(tmp_path, at_once=True)
    two.program(
        "CLIENT",
        CLIENT_STORAGE,
        """
        MOVE 'KEPT' TO WS-NAME
        EXEC CICS LINK PROGRAM('REMOTE') COMMAREA(WS-AREA) SYNCONRETURN END-EXEC
        MOVE 'ALSO' TO WS-NAME
        EXEC CICS LINK PROGRAM('REMOTE') COMMAREA(WS-AREA) SYNCONRETURN END-EXEC
        MOVE 'GONE' TO WS-NAME
        EXEC CICS LINK PROGRAM('REMOTE') COMMAREA(WS-AREA) END-EXEC
        EXEC CICS ABEND ABCODE('OOPS') END-EXEC.
        """,
    )
    try:
        with pytest.raises(Abend, match="OOPS"):
            two.run("CLIENT")
        assert two.far.peek("FARQ") == [b"KEPTSENT", b"ALSODONE"]
    finally:
        two.sysplex.close()


def test_programs_that_a_level_has_called_are_given_back_with_it(workshop):
    """The second task finds new storage in each of them; statements that translation adds stay unseen."""
    counts = "ADD 1 TO N\nEXEC CICS WRITEQ TD QUEUE('OUT') FROM(N) END-EXEC\nGOBACK."
    for name in ("FIRSTC", "SECONDC"):
        workshop.program(name, f"77 N PIC 9 VALUE {2 if name == 'FIRSTC' else 5}.", counts)
    call = "CALL '{}' USING DFHEIBLK DFHCOMMAREA\n"
    body = "EXEC CICS ASKTIME END-EXEC\n" + (call.format("FIRSTC") + call.format("SECONDC")) * 2
    workshop.program("CALLER", "77 N PIC 9.", f"{body}GOBACK.")
    seen: list[str] = []
    workshop.programs.settings.on_statement = lambda level, what, _place: seen.append(f"{level.issuer} {what}")
    for _time in range(3):
        seen.clear()
        workshop.run("CALLER")
        shown = [each.split()[1] for each in seen if not each.startswith("CALLER")]
        assert shown == ["ADD", "EXEC", "GOBACK"] * 4, seen
    assert workshop.out() == [b"3", b"6", b"4", b"7"] * 3
    for name in ("FIRSTC", "SECONDC"):
        assert len(copies_of(workshop.programs.module(name))._made) == 1


def test_each_program_behind_the_first_of_a_file_is_called(workshop):
    text = (
        "       IDENTIFICATION DIVISION.\n       PROGRAM-ID. {0}.\n       PROCEDURE DIVISION.\n{1}           GOBACK.\n"
        "       END PROGRAM {0}.\n"
    )
    calls = "".join(f"           CALL '{name}'.\n" for name in ("BEHIND1", "BEHIND2"))
    write = "           EXEC CICS WRITEQ TD QUEUE('OUT')\n           FROM('{}') END-EXEC\n"
    (workshop.folder / "THREE.cbl").write_text(
        text.format("THREE", calls) + "".join(text.format(name, write.format(name)) for name in ("BEHIND1", "BEHIND2"))
    )
    workshop.run("THREE")
    assert workshop.out() == [b"BEHIND1", b"BEHIND2"]


def test_display_of_a_linked_program_goes_on_with_the_line_of_the_task(workshop):
    """The line that is open at the end of the task is written once; a second task begins one of its own."""
    workshop.program("INNERD", "77 N PIC 9.", "DISPLAY 'inner ' WITH NO ADVANCING\nGOBACK.")
    workshop.program(
        "OUTERD",
        "77 N PIC 9.",
        """
        DISPLAY 'outer ' WITH NO ADVANCING
        EXEC CICS LINK PROGRAM('INNERD') END-EXEC
        DISPLAY 'last'
        EXEC CICS LINK PROGRAM('INNERD') END-EXEC
        GOBACK.
        """,
    )
    for _task in range(2):
        workshop.run("OUTERD")
    shown = [workshop.region.options.code_page.decode(each)[25:].lstrip() for each in workshop.region.peek("CESE")]
    assert shown == ["outer inner last", "inner "] * 2


def test_new_versions_of_several_programs_are_taken_together(workshop):
    """Both have changed; the second has a program behind it in its file, which has changed too.

    FIRSTV is also found by a name that a handler was registered with.
    """
    write = "           EXEC CICS WRITEQ TD QUEUE('OUT')\n           FROM('{}') END-EXEC\n"
    text = (
        "       IDENTIFICATION DIVISION.\n       PROGRAM-ID. {0}.\n       PROCEDURE DIVISION.\n{1}           GOBACK.\n"
        "       END PROGRAM {0}.\n"
    )
    for version in ("old", "newer"):
        (workshop.folder / "FIRSTV.cbl").write_text(text.format("FIRSTV", write.format(f"first {version}")))
        behind = text.format("BEHINDV", write.format(f"behind {version}"))
        (workshop.folder / "SECONDV.cbl").write_text(
            text.format("SECONDV", f"{write.format(f'second {version}')}           CALL 'BEHINDV'.\n") + behind
        )
        found = workshop.programs.compile_again()
        assert found.errors == {}
        assert sorted(workshop.programs.take(found.modules)) == (["FIRSTV", "SECONDV"] if version != "old" else [])
        if version == "old":
            workshop.region.programs.register("FIRSTV", workshop.programs.handler("FIRSTV"))
        for name in ("FIRSTV", "SECONDV"):
            workshop.run(name)
        with workshop.region.task() as task:
            task.link("FIRSTV")
    assert workshop.out() == [
        b"first old",
        b"second old",
        b"behind old",
        b"first old",
        b"first newer",
        b"second newer",
        b"behind newer",
        b"first newer",
    ]
