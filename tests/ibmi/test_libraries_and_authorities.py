"""Libraries, authorities, names and limits of a system, and acknowledged sends."""

from __future__ import annotations

import signal
import textwrap
import threading

import pytest

from tdqsim.definitions import Definitions, define_dtaq, define_tdqueue
from tdqsim.errors import DefinitionError, TdqError, WrongThread
from tdqsim.ibmi import (
    RDQS0100,
    Change,
    EscapeMessage,
    ParameterError,
    System,
    layout,
    pack_binary,
    qualified_name,
    unpack_binary,
    unpack_decimal,
)
from tests import apart
from tests.ibmi.conftest import fill, retrieved
from tests.rules import expect_rule, rule


@pytest.fixture
def anna(system):
    with system.job("ANNAS", user="ANNA") as made:
        yield made


# -- libraries --------------------------------------------------------------------------------------------------------


@pytest.mark.rule("DTAQ-LIB-DELETE", "DTAQ-LIB-DELETE-OBJECTS")
@pytest.mark.parametrize("by", ["system", "job"])
def test_a_library_goes_with_everything_in_it(system, officer, by):
    officer.crtlib("L1")
    officer.crtdtaq("L1/Q", maxlen=5, force="*YES")
    officer.crtdtaq("L1/R", maxlen=5)
    officer.crtjrn("L1/JRN")
    officer.crtdtaq("APPLIB/KEPT", maxlen=5)
    officer.strjrnobj("APPLIB/KEPT", "L1/JRN")
    officer.qsnddtaq("L1/Q", data=b"x")
    waiting = system.start(lambda own: own.qrcvdtaq("L1/R", wait=-1))
    locked = system.start(lambda own: own.alcobj([("L1/R", "*SHRRD")], wait=60))
    system.dispatcher.run_ready()
    (system if by == "system" else officer).dltlib("L1")
    assert "L1" not in system.libraries
    assert [queue.qualified for queue in system.queues()] == ["APPLIB/KEPT"]
    assert expect_rule("DTAQ-LIB-DELETE", waiting.result).message_id == "CPF9805"
    assert locked.exception is None  # it had its lock and is over
    for act in (lambda: officer.qsnddtaq("Q", "L1", b"x"), lambda: officer.qrcvdtaq("Q", "L1")):
        with pytest.raises(EscapeMessage, match="CPF9810"):
            act()
    officer.qsnddtaq("KEPT", "APPLIB", b"y")  # journaling to a journal that is gone has ended
    assert not next(system.queues()).journal
    officer.crtlib("L1")
    assert officer.crtdtaq("L1/Q", maxlen=5).count == 0


@pytest.mark.rule("DTAQ-LIB-DELETE-REFUSED", "DTAQ-LIB-DELETE-SYSTEM")
def test_a_library_that_must_stay_stays_whole(system, officer, anna):
    officer.crtlib("L1")
    officer.crtdtaq("L1/A", maxlen=5)
    officer.crtdtaq("L1/B", maxlen=5)
    for granted in ("*USE", "*OBJEXIST", "*OBJEXIST *OBJOPR *READ"):
        officer.grtobjaut("L1", "ANNA", granted, objtype="*LIB", replace=True)
        expect_rule("DTAQ-LIB-DELETE-REFUSED", anna.dltlib, "L1")
    expect_rule("DTAQ-LIB-DELETE-SYSTEM", officer.dltlib, "QTEMP")
    for name in ("QSYS", "QGPL"):
        expect_rule("DTAQ-LIB-DELETE-SYSTEM", officer.dltlib, name)
        with pytest.raises(TdqError, match="belongs to the system"):
            system.dltlib(name)
    with pytest.raises(EscapeMessage, match="CPF2110"):
        officer.dltlib("NOLIB")
    with pytest.raises(EscapeMessage, match="CPF2111"):
        officer.crtlib("L1")
    assert len(system.libraries["L1"].objects) == 2


@pytest.mark.rule("DTAQ-LIB-DELETE-SOME", "DTAQ-LIB-DELETE-SOME-ID")
def test_objects_that_cannot_be_deleted_stay_and_so_does_the_library(system, officer, anna):
    anna.crtlib("L1")
    officer.crtdtaq("L1/LOCKED", maxlen=5, aut="*ALL")
    officer.crtdtaq("L1/FREE", maxlen=5, aut="*ALL", force="*YES")
    officer.crtdtaq("L1/OTHERS", maxlen=5, aut="*CHANGE")
    officer.crtjrn("L1/JRN")
    officer.alcobj([("L1/LOCKED", "*SHRRD")])
    anna.alcobj([("L1/FREE", "*EXCL")])  # its own lock does not matter
    waiting = system.start(lambda own: own.qrcvdtaq("L1/FREE", wait=-1))
    system.dispatcher.run_ready()
    error = expect_rule("DTAQ-LIB-DELETE-SOME-ID", anna.dltlib, "L1")
    assert [(one.message_id, one.kind) for one in error.diagnostics] == [
        ("CPF9503", "diagnostic"), ("CPF2189", "diagnostic"), ("CPF2189", "diagnostic"),
    ]  # fmt: skip
    assert [one.text.split()[-3] for one in error.diagnostics[:1]] == ["LOCKED"]
    assert error.rule == "DTAQ-LIB-DELETE-SOME-ID"
    assert anna.joblog[-3:] == list(error.diagnostics)
    assert waiting.exception.message_id == "CPF9805"
    assert sorted(name for _, name in system.libraries["L1"].objects) == ["JRN", "LOCKED", "OTHERS"]
    officer.dlcobj([("L1/LOCKED", "*SHRRD")])
    with pytest.raises(EscapeMessage, match="CPF2161"):
        anna.dltlib("L1")
    assert sorted(name for _, name in system.libraries["L1"].objects) == ["JRN", "OTHERS"]
    with pytest.raises(EscapeMessage, match="CPF2161"):  # nothing more can be deleted
        anna.dltlib("L1")
    officer.grtobjaut("L1/OTHERS", "ANNA", "*OBJEXIST")
    with pytest.raises(EscapeMessage, match="CPF2161"):
        anna.dltlib("L1")
    assert [name for _, name in system.libraries["L1"].objects] == ["JRN"]
    officer.dltlib("L1")
    assert "L1" not in system.libraries


def test_what_stays_of_a_library_is_there_after_a_restart(tmp_path):
    with System("SYS1", store=tmp_path / "store") as system, system.job(user="QSECOFR") as job, system.job() as other:
        system.crtlib("L1")
        for name in ("GONE", "KEPT"):
            job.crtdtaq(f"L1/{name}", maxlen=5, force="*YES")
            job.qsnddtaq(f"L1/{name}", data=b"x")
        job.crtjrn("L1/JRN")
        job.strjrnobj("L1/KEPT", "L1/JRN")
        other.alcobj([("L1/KEPT", "*SHRRD")])
        with pytest.raises(EscapeMessage, match="CPF2161"):
            job.dltlib("L1")
        assert not next(system.queues()).journal  # the journal could be deleted
    with System("SYS1", store=tmp_path / "store") as system, system.job() as job:
        assert [name for _, name in system.libraries["L1"].objects] == ["KEPT"]
        assert (next(system.queues()).journal, job.qrcvdtaq("KEPT", "L1").data) == (0, b"x")


@pytest.mark.rule("DTAQ-LIB-DELETE-LISTED")
@pytest.mark.parametrize("part", ["current", "user"])
def test_a_library_in_the_jobs_own_list_is_not_deleted(system, officer, part):
    system.values["QLIBLCKLVL"] = 0
    officer.crtlib("L1")
    officer.crtdtaq("L1/Q", maxlen=5)
    officer.chgcurlib("L1") if part == "current" else officer.addlible("L1")
    expect_rule("DTAQ-LIB-DELETE-LISTED", officer.dltlib, "L1")
    assert len(system.libraries["L1"].objects) == 1
    officer.chgcurlib("*CRTDFT") if part == "current" else officer.rmvlible("L1")
    officer.dltlib("L1")
    assert "L1" not in system.libraries


@pytest.mark.rule("DTAQ-LIB-DELETE-LOCKED")
def test_a_library_in_another_jobs_list_is_not_deleted_unless_qliblcklvl_is_0(system, officer, anna):
    for name in ("L1", "L2", "L3"):
        officer.crtlib(name)
        officer.crtdtaq(f"{name}/Q", maxlen=5)
    anna.addlible("L1")
    anna.chgcurlib("L2")
    for name in ("L1", "L2"):
        error = expect_rule("DTAQ-LIB-DELETE-LOCKED", officer.dltlib, name)
        assert error.rule == "DTAQ-LIB-DELETE-LOCKED"
        assert len(system.libraries[name].objects) == 1
    officer.dltlib("L3")
    system.values["QLIBLCKLVL"] = 0
    officer.dltlib("L1")
    with pytest.raises(EscapeMessage, match="CPF9807"):
        anna.qrcvdtaq("NONE", "*LIBL")
    system.values["QLIBLCKLVL"] = 1
    with pytest.raises(EscapeMessage, match="CPF210D"):
        officer.dltlib("L2")
    anna.end()
    officer.dltlib("L2")
    assert not {"L1", "L2", "L3"} & system.libraries.keys()


def test_a_deleted_library_stays_away_over_a_restart(tmp_path):
    with System("SYS1", store=tmp_path / "store") as system, system.job() as job:
        system.crtlib("L1")
        job.crtdtaq("L1/Q", maxlen=5, force="*YES")
        job.qsnddtaq("L1/Q", data=b"x")
        system.dltlib("L1")
    with System("SYS1", store=tmp_path / "store") as system:
        assert sorted(system.libraries) == ["QGPL", "QSYS"]
        assert list(system.queues()) == []


@pytest.mark.rule("DTAQ-LIBL-COMMANDS", "DTAQ-LIBL-TWICE", "DTAQ-LIBL-AUTHORITY", "DTAQ-LIBL-FULL")
def test_the_library_list(system, anna):
    for name in ("ONE", "TWO", "THREE"):
        system.crtlib(name)
    system.crtlib("SECRET", aut="*EXCLUDE")
    anna.chglibl(["ONE", "TWO"], curlib="THREE")
    assert (anna.user_libraries, anna.current_library) == (("ONE", "TWO"), "THREE")
    anna.chglibl("*SAME", "*CRTDFT")
    assert (anna.user_libraries, anna.current_library) == (("ONE", "TWO"), "")
    anna.addlible("THREE", ("*AFTER", "ONE"))
    anna.addlible("QGPL", "*LAST")
    assert anna.user_libraries == ("ONE", "THREE", "TWO", "QGPL")
    expect_rule("DTAQ-LIBL-TWICE", anna.addlible, "ONE")
    for act, *given in ((anna.addlible, "SECRET"), (anna.chgcurlib, "SECRET"), (anna.chglibl, ["ONE", "SECRET"])):
        expect_rule("DTAQ-LIBL-AUTHORITY", act, *given)
    for wrong, message_id in (
        (lambda: anna.rmvlible("QTEMP"), "CPF2104"),
        (lambda: anna.addlible("APPLIB", ("*BEFORE", "QTEMP")), "CPF2149"),
        (lambda: anna.chglibl(["ONE", "NOLIB"]), "CPF2110"),
        (lambda: anna.chglibl("*NONE", "NOLIB"), "CPF2110"),
        (lambda: anna.chglibl("ONE ONE"), "CPF2184"),
    ):
        with pytest.raises(EscapeMessage, match=message_id):
            wrong()
    for wrong in (lambda: anna.addlible("APPLIB", "*MIDDLE"), lambda: anna.chglibl(["ONE"] * 251)):
        with pytest.raises(ParameterError):
            wrong()
    assert anna.user_libraries == ("ONE", "THREE", "TWO", "QGPL")
    anna.command("ADDLIBLE APPLIB POSITION(*REPLACE THREE)")
    assert anna.user_libraries == ("ONE", "APPLIB", "TWO", "QGPL")
    anna.user_libraries = [f"L{number}" for number in range(250)]
    expect_rule("DTAQ-LIBL-FULL", anna.addlible, "ONE")
    anna.addlible("ONE", ("*REPLACE", "L0"))
    anna.chglibl("*NONE")
    assert anna.user_libraries == ()
    assert rule("DTAQ-LIBL-COMMANDS").message == ""


@pytest.mark.rule("DTAQ-ADDRESS-LIBL")
def test_names_are_a_list_or_text_as_in_cl(system, officer):
    for lib in ("L1", "L2"):
        officer.crtlib(lib)
    with system.job("TEXT", library_list="L1 L2") as job:
        assert job.user_libraries == ("L1", "L2")
        job.user_libraries = "l2"
        assert job.user_libraries == ("L2",)
    officer.crtusrprf("GUDRUN", grpprf="ANNA", supgrpprf="BERT")
    assert system.profiles["GUDRUN"].groups == ("ANNA", "BERT")
    assert system.crtusrprf("INGE", grpprf="ANNA", supgrpprf="BERT DORA").groups == ("ANNA", "BERT", "DORA")
    for name in ("R1", "R2"):
        officer.crtjrnrcv(f"L1/{name}")
    officer.crtjrn("L1/JRN", jrnrcv="L1/R1 L1/R2")
    with pytest.raises(EscapeMessage) as caught:
        officer.crtjrn("L1/OTHER", jrnrcv="L1/R2")
    assert caught.value.message_id == "CPF7015"


def test_a_search_of_the_list_is_never_out_of_date(system, officer):
    for name in ("ONE", "TWO"):
        system.crtlib(name)
    officer.chglibl(["ONE", "TWO"])
    officer.crtdtaq("TWO/Q", maxlen=5)

    def ends_in(library):
        officer.qsnddtaq("Q", "*LIBL", b"x")
        assert officer.qrcvdtaq("Q", library).data == b"x"

    ends_in("TWO")
    officer.crtdtaq("ONE/Q", maxlen=5)
    ends_in("ONE")
    officer.rnmobj("ONE/Q", "R")
    ends_in("TWO")
    officer.movobj("ONE/R", "QGPL")
    officer.rnmobj("QGPL/R", "Q")
    officer.chglibl(["QGPL", "TWO"])
    assert officer.qmhqrdqd("Q").data_queue_library_used == "QGPL"
    officer.crtdtaq("QTEMP/Q", maxlen=5)
    officer.addlible("QTEMP")
    ends_in("QTEMP")
    officer.dltdtaq("QTEMP/Q")
    officer.dltdtaq("QGPL/Q")
    ends_in("TWO")
    officer.crtdtaq("ONE/Q", maxlen=5)
    ends_in("TWO")
    for change, library in (
        (lambda: officer.addlible("ONE"), "ONE"),
        (lambda: officer.rmvlible("ONE"), "TWO"),
        (lambda: officer.chgcurlib("ONE"), "ONE"),
        (lambda: officer.chgcurlib("*CRTDFT"), "TWO"),
        (lambda: officer.chglibl(["ONE", "TWO"]), "ONE"),
    ):
        change()  # nothing else looks for the queue again
        ends_in(library)


# -- an acknowledged send ---------------------------------------------------------------------------------------------

SENDER = textwrap.dedent("""
    import os, signal, sys
    from tdqsim.ibmi import System

    system = System("SYS1", store=sys.argv[1])
    job = system.job()
    keyed = {"seq": "*KEYED", "keylen": 1} if sys.argv[2] == "*KEYED" else {"seq": sys.argv[2]}
    job.crtdtaq("QGPL/Q", maxlen=10, force="*YES", **keyed)
    key = b"k" if keyed["seq"] == "*KEYED" else None
    for number in range(2):
        system.start(lambda own: own.qrcvdtaq("Q", "QGPL", -1, "EQ", key))
    system.dispatcher.run_ready()

    def program(own):
        for text in (b"one", b"two", b"three"):
            own.qsnddtaq("Q", "QGPL", text, key)
        assert own.qrcvdtaq("Q", "QGPL", 0, "EQ", key).data == b"three"  # the others are promised to those who wait
        assert own.qmhqrdqd("Q", "QGPL").number_of_messages == 0
        os.kill(os.getpid(), signal.SIGKILL)

    system.start(program)
    system.run()
""")


@pytest.mark.rule("DTAQ-FORCE-WAITER")
@pytest.mark.parametrize("seq", ["*FIFO", "*LIFO", "*KEYED"])
def test_an_acknowledged_send_is_there_after_a_kill_though_somebody_waited(tmp_path, seq):
    done = apart.run("-c", SENDER, tmp_path / "store", seq)
    assert done.returncode == -signal.SIGKILL
    with System("SYS1", store=tmp_path / "store") as system, system.job() as job:
        found = [entry.message_text for entry in job.qmhrdqm("Q", "QGPL").messages]
    expected = rule("DTAQ-FORCE-WAITER").message.split()
    assert sorted(text.rstrip(b"\0").decode() for text in found) == sorted(expected)


def test_what_was_promised_is_taken_once_by_whom_it_was_promised_to(system, officer):
    officer.crtdtaq("APPLIB/Q", maxlen=5, force="*YES", autorcl="*YES")
    first, second = (system.start(lambda own: own.qrcvdtaq("APPLIB/Q", wait=-1).data) for _ in range(2))
    system.dispatcher.run_ready()
    system.dispatcher.clock.freeze()  # sent in one moment they are still told from each other

    def program(own):
        for text in (b"1", b"2", b"3"):
            own.qsnddtaq("APPLIB/Q", data=text)
        assert [row.message_data_binary for row in own.qsys2.data_queue_entries("APPLIB/Q")] == [b"3"]
        assert own.qrcvdtaq("APPLIB/Q", remove=False).data == b"3"
        first.job.end()  # before it could run
        assert own.qrcvdtaq("APPLIB/Q").data == b"1"  # what had been promised to it is free again at once
        assert own.qclrdtaq("APPLIB/Q") == 1

    system.start(program).result()
    assert second.result() == b"2"
    assert officer.qmhqrdqd("APPLIB/Q").number_of_messages == 0


# -- authority --------------------------------------------------------------------------------------------------------


@pytest.mark.rule("DTAQ-GRANT-ADDS", "DTAQ-GRANT-REPLACE")
def test_granting_adds(officer, anna):
    officer.crtdtaq("APPLIB/Q", maxlen=5, aut="*EXCLUDE")
    officer.grtobjaut("APPLIB/Q", "ANNA", "*OBJOPR")
    with pytest.raises(EscapeMessage, match="CPF9802"):
        anna.qrcvdtaq("APPLIB/Q")
    officer.grtobjaut("APPLIB/Q", "ANNA", "*READ")
    assert anna.qrcvdtaq("APPLIB/Q") is None
    with pytest.raises(EscapeMessage, match="CPF9802"):
        anna.qsnddtaq("APPLIB/Q", data=b"x")
    officer.grtobjaut("APPLIB/Q", "ANNA", "*ALL")
    officer.grtobjaut("APPLIB/Q", "ANNA", "*USE")
    anna.qsnddtaq("APPLIB/Q", data=b"x")
    officer.grtobjaut("APPLIB/Q", "ANNA", "*USE", replace=True)
    with officer.system.job("NEXT", user="ANNA") as later:
        expect_rule("DTAQ-GRANT-REPLACE", later.qsnddtaq, "APPLIB/Q", data=b"x")
    assert rule("DTAQ-GRANT-ADDS").message == ""


@pytest.mark.rule("DTAQ-GRANT-EXCLUDE")
def test_exclusion_takes_away_and_gives_way(system, officer):
    officer.crtdtaq("APPLIB/Q", maxlen=5, aut="*ALL")

    def may_send(user="ANNA"):
        with system.job("TRY", user=user) as job:
            try:
                job.qsnddtaq("APPLIB/Q", data=b"x")
            except EscapeMessage as refused:
                return refused.message_id
        return "yes"

    assert may_send() == "yes"
    officer.grtobjaut("APPLIB/Q", "ANNA", "*EXCLUDE")
    assert may_send() == rule("DTAQ-GRANT-EXCLUDE").message
    officer.grtobjaut("APPLIB/Q", "ANNA", "*CHANGE")
    assert may_send() == "yes"


@pytest.mark.rule("DTAQ-REVOKE-SOME")
def test_revoking_takes_what_is_named(system, officer):
    queue = officer.crtdtaq("APPLIB/Q", maxlen=5, aut="*USE")
    officer.grtobjaut("APPLIB/Q", ["ANNA", "BERT"], "*CHANGE")
    officer.rvkobjaut("APPLIB/Q", "ANNA", "*ADD *UPD")
    assert queue.private == {"ANNA": "*OBJOPR *READ *DLT *EXECUTE", "BERT": "*CHANGE"}
    officer.rvkobjaut("APPLIB/Q", "ANNA BERT", "*ALL")
    assert queue.private == {}  # the public authority is theirs again
    officer.grtobjaut("APPLIB/Q", "ANNA", "*EXCLUDE")
    officer.rvkobjaut("APPLIB/Q", "ANNA", "*CHANGE")
    assert queue.private == {"ANNA": "*EXCLUDE"}
    officer.rvkobjaut("APPLIB/Q", "ANNA", "*EXCLUDE")
    assert queue.private == {}
    officer.rvkobjaut("APPLIB/Q", "*PUBLIC", "*OBJOPR")
    assert queue.public == "*READ *EXECUTE"
    officer.rvkobjaut("APPLIB/Q", "*PUBLIC")
    assert queue.public == "*EXCLUDE"
    with system.job(user="ANNA") as anna:
        expect_rule("DTAQ-REVOKE-SOME", anna.qrcvdtaq, "APPLIB/Q")


@pytest.mark.rule("DTAQ-REVOKE-EXCLUDE")
@pytest.mark.parametrize("users", ["*PUBLIC", ["ANNA", "*PUBLIC"]])
def test_an_exclusion_cannot_be_revoked_from_public(officer, users):
    queue = officer.crtdtaq("APPLIB/Q", maxlen=5, aut="*EXCLUDE")
    officer.grtobjaut("APPLIB/Q", "ANNA", "*USE")
    expect_rule("DTAQ-REVOKE-EXCLUDE", officer.rvkobjaut, "APPLIB/Q", users, "*EXCLUDE")
    assert (queue.public, queue.private) == ("*EXCLUDE", {"ANNA": "*USE"})


@pytest.mark.rule("DTAQ-AUTHORITY-GROUP")
def test_groups_count_when_the_user_is_not_named(system, officer):
    system.crtusrprf("STAFF")
    system.crtusrprf("CHIEFS")
    system.crtusrprf("GREG", grpprf="STAFF", supgrpprf=("CHIEFS",))
    officer.crtdtaq("APPLIB/Q", maxlen=5, aut="*EXCLUDE")
    with system.job(user="GREG") as job:
        expect_rule("DTAQ-AUTHORITY-GROUP", job.qsnddtaq, "APPLIB/Q", data=b"x")
        officer.grtobjaut("APPLIB/Q", "STAFF", "*OBJOPR")
        expect_rule("DTAQ-AUTHORITY-GROUP", job.qsnddtaq, "APPLIB/Q", data=b"x")
        officer.grtobjaut("APPLIB/Q", "CHIEFS", "*ADD")  # those of the groups together
        job.qsnddtaq("APPLIB/Q", data=b"x")
    officer.grtobjaut("APPLIB/Q", "GREG", "*READ")  # what the user has himself comes first
    with system.job(user="GREG") as job:
        expect_rule("DTAQ-AUTHORITY-GROUP", job.qsnddtaq, "APPLIB/Q", data=b"x")
    system.crtusrprf("BOSSES", allobj=True)
    system.crtusrprf("GRETA", grpprf="STAFF", supgrpprf=("CHIEFS",) * 14 + ("BOSSES",))  # 15 at most
    officer.rvkobjaut("APPLIB/Q", ["STAFF", "CHIEFS"], "*ALL")
    with system.job(user="GRETA") as job:
        job.qsnddtaq("APPLIB/Q", data=b"x")
    for wrong in (
        lambda: system.crtusrprf("X", grpprf="NOBODY"),
        lambda: system.crtusrprf("X", supgrpprf=("STAFF",)),
        lambda: system.crtusrprf("X", grpprf="STAFF", supgrpprf=("CHIEFS",) * 16),
        lambda: system.crtusrprf("STAFF", grpprf="STAFF"),
    ):
        with pytest.raises(ParameterError):
            wrong()
    assert "X" not in system.profiles


@pytest.mark.rule("DTAQ-AUTHORITY-LIBRARY")
def test_authority_to_a_library_can_be_granted_and_revoked(system, officer, anna):
    system.crtlib("PRIVATE", aut="*EXCLUDE")
    officer.crtdtaq("PRIVATE/Q", maxlen=5, aut="*ALL")
    expect_rule("DTAQ-AUTHORITY-LIBRARY", anna.qsnddtaq, "Q", "PRIVATE", b"x")
    officer.grtobjaut("PRIVATE", "ANNA", "*USE", objtype="*LIB")
    anna.addlible("PRIVATE")
    anna.qsnddtaq("Q", "*LIBL", b"x")
    officer.rvkobjaut("PRIVATE", "ANNA", "*ALL", objtype="*LIB")
    expect_rule("DTAQ-AUTHORITY-LIBRARY", anna.qsnddtaq, "Q", "*LIBL", b"x")  # a library is looked at each time


@pytest.mark.rule("DTAQ-NO-PROFILE")
def test_nobody_comes_into_being_by_a_mistyped_name(system, officer):
    officer.crtdtaq("APPLIB/Q", maxlen=5)
    before = dict(system.profiles)
    for wrong in (
        lambda: system.job(user="ANNNA"),
        lambda: system.start(print, user="ANNNA"),
        lambda: system.chgusrprf("ANNNA"),
        lambda: system.grant_profile("ANNA", "ANNNA"),
        lambda: system.crtautl("LIST", {"ANNNA": "*USE"}),
        lambda: setattr(officer, "current_user", "ANNNA"),
    ):
        with pytest.raises(ParameterError, match=rule("DTAQ-NO-PROFILE").message):
            wrong()
    assert system.profiles == before


def test_crtusrprf_as_a_command(system, officer, anna):
    anna.crtusrprf("NEWONE", grpprf="ANNA")
    assert system.profiles["NEWONE"].groups == ("ANNA",)
    for wrong, message_id in (
        (lambda: anna.crtusrprf("newone"), "CPF2214"),
        (lambda: anna.crtusrprf("OTHER", grpprf="NOBODY"), "CPF2204"),
        (lambda: anna.crtusrprf("OTHER", allobj=True), "CPF2292"),
    ):
        with pytest.raises(EscapeMessage, match=message_id):
            wrong()
    officer.crtusrprf("OTHER", allobj=True)
    assert system.profiles["OTHER"].allobj


@pytest.mark.rule("DTAQ-CRT-AUTL")
def test_an_authorization_list_must_be_there(system, officer):
    expect_rule("DTAQ-CRT-AUTL", officer.crtdtaq, "APPLIB/Q", maxlen=5, aut="NOAUTL")
    with pytest.raises(DefinitionError, match=rule("DTAQ-CRT-AUTL").message):
        system.install(define_many(define_dtaq(dtaq="APPLIB/Q", maxlen=5, aut="NOAUTL")))
    assert list(system.queues()) == []
    system.crtautl("noautl", {"*PUBLIC": "*USE"})
    assert officer.crtdtaq("APPLIB/Q", maxlen=5, aut="noautl").autl == "NOAUTL"


def define_many(*dtaqs):
    from tdqsim.definitions import Definitions

    return Definitions.of(dtaqs)


# -- names, sizes, CCSIDs ---------------------------------------------------------------------------------------------


@pytest.mark.rule("DTAQ-NAMES")
def test_one_order_of_names_everywhere(system, officer):
    officer.chglibl("APPLIB")
    queue = officer.crtdtaq("applib/q", maxlen=5)
    assert queue.qualified == "APPLIB/Q"
    assert officer.crtdtaq("R", "APPLIB", maxlen=5).qualified == "APPLIB/R"
    assert officer.crtdtaq(dtaq="applib/s", maxlen=5, seq="*fifo").qualified == "APPLIB/S"
    for name in (("APPLIB/Q",), ("applib/q", ""), ("Q", "APPLIB"), ("q", "applib"), ("Q",), ("Q", "*LIBL")):
        library = name[1] if len(name) == 2 else ""
        officer.qsnddtaq(name[0], library, b"x")
        assert officer.qmhqrdqd(*name).number_of_messages == 1
        assert len(officer.qmhrdqm(*name).messages) == 1
        assert len(officer.qsys2.data_queue_entries(*name)) == 1
        officer.qmhqcdq(*name, automatic_reclaim=True)
        assert officer.rtvdtaqxcl(*name).nbrent == 1
        assert officer.wrkobjlck(*name) == ()
        assert officer.qrcvdtaq(*name).data == b"x"
        assert officer.qclrdtaq(*name) == 0
    assert [row.data_queue_name for row in officer.qsys2.data_queue_info("APPLIB/*")] == ["Q", "R", "S"]
    officer.rnmobj("R", "T", library="APPLIB")
    officer.movobj("T", "QGPL", library="APPLIB")
    officer.dltdtaq("T", "QGPL")
    with pytest.raises(EscapeMessage, match="CPF9801 Object X/Y in library APPLIB"):
        officer.qsnddtaq("X/Y", "APPLIB", b"x")
    for wrong in ("", "APPLIB/", "ABCDEFGHIJK", "A" * 300, 5, None, b"Q"):
        with pytest.raises(ParameterError):
            officer.qsnddtaq(wrong, data=b"x")
    assert rule("DTAQ-NAMES").message == ""


@pytest.mark.rule("DTAQ-CRT-TOO-LARGE")
@pytest.mark.parametrize(
    ("size", "maxlen", "allowed"),
    [
        (("*MAX16MB", 1000), 64512, None),  # 64 MB to begin with
        (("*MAX16MB", 259), 64512, 259),
        (("*MAX16MB", 260), 64512, None),
        (("*MAX2GB", 16), 64512, 33232),
        ((2**31 - 1, 1), 64512, (2**31 - 160) // (64512 + 28)),
        ((100, 200), 10, 200),
    ],
)
def test_entries_must_fit_into_an_object(officer, size, maxlen, allowed):
    if allowed is None:
        expect_rule("DTAQ-CRT-TOO-LARGE", officer.crtdtaq, "APPLIB/Q", maxlen=maxlen, size=size)
        assert list(officer.system.queues()) == []
    else:
        officer.crtdtaq("APPLIB/Q", maxlen=maxlen, size=size)
        assert officer.qmhqrdqd("APPLIB/Q").maximum_number_of_entries_allowed == allowed


@pytest.mark.rule("DTAQ-CCSID-65535")
def test_no_conversion_is_a_ccsid(system):
    with system.job(ccsid=65535) as job:
        assert (job.ccsid, job.page.ccsid) == (65535, int(rule("DTAQ-CCSID-65535").message))
    with System(ccsid=65535) as other, other.job() as job:
        assert (job.ccsid, job.page.ccsid) == (65535, 37)


@pytest.mark.parametrize("wait", [float("nan"), float("inf"), -5, "5", True])
def test_a_wait_for_a_lock_is_a_number_of_seconds(system, officer, wait):
    officer.crtdtaq("APPLIB/Q", maxlen=5)
    with pytest.raises(ParameterError, match="wait"):
        officer.alcobj([("APPLIB/Q", "*EXCL")], wait)
    with pytest.raises(ParameterError, match="default_wait"):
        system.job("OTHER", default_wait=wait)
    assert officer.wrkobjlck("APPLIB/Q") == ()


@pytest.mark.rule("DTAQ-CHANGE-LAST-WINS")
def test_only_the_last_value_of_a_key_is_looked_at(officer):
    officer.crtdtaq("APPLIB/Q", maxlen=5)
    x, one, nought = (officer.page.encode(text) for text in "X10")
    officer.qmhqcdq("APPLIB/Q", changes=[Change(100, x), Change(200, one), Change(100, one), Change(200, nought)])
    described = officer.qmhqrdqd("APPLIB/Q")
    assert described.automatic_reclaim + described.enforce_data_queue_locks == rule("DTAQ-CHANGE-LAST-WINS").message
    with pytest.raises(EscapeMessage, match="CPF3C81"):
        officer.qmhqcdq("APPLIB/Q", changes=[Change(100, one), Change(100, x)])


@pytest.mark.rule("DTAQ-JOBLOG-LENGTH")
def test_the_job_log_does_not_grow_for_ever(system, anna):
    most = int(rule("DTAQ-JOBLOG-LENGTH").message)
    lengths = []
    for _ in range(most // 2 + 10):
        for act in (anna.addlible, anna.rmvlible):
            act("APPLIB")
            lengths.append(len(anna.joblog))
    assert lengths == [*range(1, most), *[most] * 21]
    assert anna.joblog[-1].message_id == "CPC2197"


# -- looking with a short receiver ------------------------------------------------------------------------------------


@pytest.mark.rule("DTAQ-RETRIEVE-WHOLE-ENTRIES")
@pytest.mark.parametrize("form", ["RDQM0100", "RDQM0200"])
@pytest.mark.parametrize("keywords", [{}, {"senderid": "*YES"}, {"seq": "*LIFO"}])
def test_a_short_look_says_what_a_long_one_says(officer, form, keywords):
    officer.crtdtaq("APPLIB/Q", maxlen=9, **keywords)
    fill(officer, "Q", b"1", b"22", b"333", b"4444")

    for kind in "ARFL":
        for text in (None, 2):
            selection = RDQS0100(kind, text)
            whole = layout(form).parse(retrieved(officer, "Q", "APPLIB", form, selection), officer.page)
            for room in (8, 54, 80, 120):
                short = layout(form).parse(retrieved(officer, "Q", "APPLIB", form, selection, room), officer.page)
                assert short["bytes_available"] == whole["bytes_available"]
                if room > 54:
                    said = "number_of_messages_available"
                    assert short[said] == whole[said]


@pytest.mark.rule("DTAQ-RETRIEVE-SHORT-LOOK")
def test_a_short_look_does_not_walk_the_queue(officer, monkeypatch):
    queue = officer.crtdtaq("APPLIB/Q", maxlen=9)
    fill(officer, "Q", *[b"x"] * 50)
    looked = []
    entries = type(queue.stored)
    walk = entries.entries
    monkeypatch.setattr(entries, "entries", lambda *a, **k: (looked.append(one) or one for one in walk(*a, **k)))
    receiver = bytearray(8)
    encode = officer.page.encode
    officer.call(
        "QMHRDQM", receiver, (8).to_bytes(4, "big"), encode("RDQM0200"), encode("Q         APPLIB    "),
        encode("A") + bytes(3) + (9).to_bytes(4, "big"), (8).to_bytes(4, "big"), encode("RDQS0100"), bytes(8),
    )  # fmt: skip
    assert len(looked) == int(rule("DTAQ-RETRIEVE-SHORT-LOOK").message)
    looked.clear()
    none = bytearray(8)  # and when no text is asked for
    officer.call("QMHRDQM", none, 8, "RDQM0200", "APPLIB/Q", encode("A") + bytes(7), 8, "RDQS0100", bytes(8))
    assert len(looked) <= int(rule("DTAQ-RETRIEVE-SHORT-LOOK").message)
    assert unpack_binary(none[4:]) == layout("RDQM0200").length + 50 * layout("RDQM0200.entry").length
    head = layout("RDQM0200").length
    assert int.from_bytes(receiver[4:], "big") == head + 50 * (layout("RDQM0200.entry").length + 1)


@pytest.mark.rule("DTAQ-RETRIEVE-AVAILABLE-LIMIT")
def test_more_bytes_than_a_field_can_say(officer):
    officer.crtdtaq("APPLIB/Q", maxlen=1, size=("*MAX2GB", 16))
    for _ in range(40000):
        officer.qsnddtaq("APPLIB/Q", data=b"x")
    receiver = bytearray(8)
    selection = officer.page.encode("A") + bytes(3) + pack_binary(65536)
    officer.call("QMHRDQM", receiver, 8, "RDQM0100", "APPLIB/Q", selection, 8, "RDQS0100", bytes(8))
    assert unpack_binary(receiver[4:]) == int(rule("DTAQ-RETRIEVE-AVAILABLE-LIMIT").message)
    for wrong in (2**31, -(2**31) - 1):
        with pytest.raises(ValueError, match="does not fit"):
            pack_binary(wrong)
    assert [unpack_binary(pack_binary(number)) for number in (2**31 - 1, -(2**31))] == [2**31 - 1, -(2**31)]


# -- values for parameters --------------------------------------------------------------------------------------------


@pytest.mark.rule("DTAQ-CALL-VALUES")
def test_inputs_of_a_call_may_be_values(officer):
    officer.crtdtaq("APPLIB/Q", maxlen=9, seq="*KEYED", keylen=2)
    officer.call("QSNDDTAQ", "Q", "APPLIB", 3, b"abcdef", 2, b"k1", "*NO", "*NO")
    length, data, key = bytearray(3), bytearray(9), bytearray(b"k0")
    officer.call("QRCVDTAQ", "Q", "APPLIB", length, data, 0, "GT", 2, key, 0, bytearray(0), "*YES", 9, bytes(8), "*SEC")
    assert (unpack_decimal(length), bytes(data[:3]), bytes(key)) == (3, b"abc", b"k1")
    described = bytearray(layout("RDQD0100").length)
    officer.call("QMHQRDQD", described, len(described), "RDQD0100", "APPLIB/Q")
    assert layout("RDQD0100").parse(bytes(described), officer.page)["message_length"] == 9
    by_bytes = bytearray(len(described))
    name = officer.page.encode("Q         APPLIB    ")
    officer.call("QMHQRDQD", by_bytes, pack_binary(len(by_bytes)), officer.page.encode("RDQD0100"), name)
    assert by_bytes == described
    expect_rule("DTAQ-CALL-VALUES", officer.call, "QSNDDTAQ", "ABCDEFGHIJK", "APPLIB", 1, b"x")
    for wrong in (
        ("QSNDDTAQ", "Q", "APPLIB", 100000, b"x"),
        ("QSNDDTAQ", "Q", "APPLIB", -100000, b"x"),
        ("QSNDDTAQ", "Q", "APPLIB", "1", b"x"),
        ("QSNDDTAQ", "Q", "APPLIB", True, b"x"),
        ("QSNDDTAQ", 5, "APPLIB", 1, b"x"),
        ("QSNDDTAQ", "Q", "APPLIB", 1, "x"),  # data has no code page
        ("QRCVDTAQ", "Q", "APPLIB", 3, data, 0),
        ("QMHQRDQD", described, 2**31, "RDQD0100", "APPLIB/Q"),
        ("QMHQRDQD", "x", 120, "RDQD0100", "APPLIB/Q"),
        ("QMHQCDQ", "APPLIB/Q", bytes(4), "x"),
        ("QMHQCDQ", "APPLIB/Q", bytes(4), 0),
    ):
        with pytest.raises(ParameterError, match=f"{wrong[0]}"):
            officer.call(*wrong)
    assert officer.qmhqrdqd("APPLIB/Q").number_of_messages == 0


# -- for servers ------------------------------------------------------------------------------------------------------


@pytest.mark.rule("DTAQ-RECEIVE-WHOLE")
def test_a_receive_with_everything_the_queue_has(system, officer):
    officer.crtdtaq("APPLIB/Q", maxlen=5, senderid="*YES", seq="*KEYED", keylen=2)
    officer.qsnddtaq("APPLIB/Q", data=b"x", key=b"k1")
    peeked = officer.receive("APPLIB/Q", key=b"k0", key_order="GE", remove=False)
    entry = officer.receive("APPLIB/Q", key=b"k0", key_order="GE")
    assert entry == peeked
    assert (entry.data, entry.key) == (b"x", b"k1")
    assert officer.page.decode(entry.sender) == f"{officer.name:<10}QSECOFR   {officer.number}QSECOFR   "
    before = system.clock.time_ns()
    most = int(rule("DTAQ-RECEIVE-WHOLE").message)
    assert officer.receive("APPLIB/Q", wait=most + 1.5, key=b"k1") is None
    assert most + 1 <= (system.clock.time_ns() - before) / 10**9 <= most + 3
    assert officer.qrcvdtaq("APPLIB/Q", wait=most, key=b"k1") is None
    with pytest.raises(EscapeMessage, match="CPF2472"):
        officer.qrcvdtaq("APPLIB/Q", wait=most + 1, key=b"k1")
    with pytest.raises(ParameterError, match="wait"):
        officer.receive("APPLIB/Q", wait=-1, key=b"k1")


def test_the_twenty_bytes_of_a_qualified_name():
    encoded = "ORDERS    APPLIB    ".encode("cp037")
    assert qualified_name("ORDERS", "APPLIB") == qualified_name("applib/orders") == encoded
    assert qualified_name("ORDERS") == "ORDERS    *LIBL     ".encode("cp037")
    for wrong in (("ABCDEFGHIJK", "LIB"), ("", "LIB"), ("A/B", "ABCDEFGHIJK"), ("/", "")):
        with pytest.raises(ValueError, match="each part"):
            qualified_name(*wrong)


ENTRIES = {
    "job": lambda system, _: system.job("MORE"),
    "start": lambda system, _: system.start(print),
    "run": lambda system, _: system.run(),
    "crtlib": lambda system, _: system.crtlib("MORE"),
    "dltlib": lambda system, _: system.dltlib("APPLIB"),
    "crtusrprf": lambda system, _: system.crtusrprf("MORE"),
    "crtautl": lambda system, _: system.crtautl("MORE", {}),
    "grant_profile": lambda system, _: system.grant_profile("ANNA", "BERT"),
    "install": lambda system, _: system.install(Definitions.of([define_dtaq(dtaq="APPLIB/NEW", maxlen=1)])),
    "connect": lambda system, _: system.connect("FAR", system),
    "queues": lambda system, _: list(system.queues()),
    "close": lambda system, _: system.close(),
    "send": lambda _, job: job.qsnddtaq("Q", "APPLIB", b"y"),
    "receive": lambda _, job: job.qrcvdtaq("Q", "APPLIB"),
    "raw receive": lambda _, job: job.receive("Q", "APPLIB"),
    "clear": lambda _, job: job.qclrdtaq("Q", "APPLIB"),
    "describe": lambda _, job: job.qmhqrdqd("Q", "APPLIB"),
    "retrieve": lambda _, job: job.qmhrdqm("Q", "APPLIB"),
    "change": lambda _, job: job.qmhqcdq("Q", "APPLIB", automatic_reclaim=True),
    "byte form": lambda _, job: job.call("QCLRDTAQ", "Q         ".encode("cp037"), "APPLIB    ".encode("cp037")),
    "services": lambda _, job: job.qsys2.data_queue_entries("Q", "APPLIB"),
    "command": lambda _, job: job.command("DLTDTAQ APPLIB/Q"),
    "delete": lambda _, job: job.dltdtaq("APPLIB/Q"),
    "lock": lambda _, job: job.alcobj([("APPLIB/Q", "*EXCL")]),
    "end": lambda _, job: job.end(),
    "user": lambda _, job: setattr(job, "current_user", "BERT"),
}


@pytest.mark.parametrize("entry", ENTRIES)
def test_another_thread_is_refused_without_effect(system, officer, entry):
    queue = officer.crtdtaq("APPLIB/Q", maxlen=5)
    officer.qsnddtaq("Q", "APPLIB", b"x")  # so that the short ways are known
    assert officer.qrcvdtaq("Q", "APPLIB", remove=False).data == b"x"
    before = (sorted(system.libraries), sorted(system.profiles), len(system.jobs), queue.autorcl, officer.current_user)
    caught = []

    def elsewhere():
        try:
            ENTRIES[entry](system, officer)
        except BaseException as error:  # noqa: BLE001  (whatever it is, the test looks at it)
            caught.append(error)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert [type(error) for error in caught] == [WrongThread]
    after = (sorted(system.libraries), sorted(system.profiles), len(system.jobs), queue.autorcl, officer.current_user)
    assert after == before
    assert [row.message_data_binary for row in officer.qsys2.data_queue_entries("Q", "APPLIB")] == [b"x"]
    assert officer.wrkobjlck("APPLIB/Q") == ()


@pytest.mark.parametrize(
    ("definition", "keywords"),
    [
        (define_tdqueue(name="Q", type="INTRA"), {}),
        (5, {}),
        (define_dtaq(dtaq="APPLIB/R", maxlen=5), {"maxlen": 10}),
    ],
)
def test_crtdtaq_takes_a_name_with_keywords_or_a_definition_alone(officer, definition, keywords):
    with pytest.raises(ParameterError, match="allowed are LIB/NAME with keywords, or what define_dtaq gives alone"):
        officer.crtdtaq(definition, **keywords)
    assert officer.qsys2.data_queue_info("APPLIB/*") == ()


@pytest.mark.rule("DTAQ-FLAGS-PYTHON")
def test_the_machines_words_are_no_python_flags(system, officer):
    officer.crtdtaq("APPLIB/Q", maxlen=5)
    officer.qsnddtaq("APPLIB/Q", data=b"kept")
    before = set(system.profiles)
    calls = {
        "remove": lambda: officer.qrcvdtaq("APPLIB/Q", remove="*NO"),
        "remove '": lambda: officer.receive("APPLIB/Q", remove="*NO"),
        "asynchronous": lambda: officer.qsnddtaq("APPLIB/Q", data=b"x", asynchronous="*NO"),
        "from_journal_entry": lambda: officer.qsnddtaq("APPLIB/Q", data=b"x", from_journal_entry="*NO"),
        "key 100": lambda: officer.qmhqcdq("APPLIB/Q", automatic_reclaim="*NO"),
        "key 200": lambda: officer.qmhqcdq("APPLIB/Q", enforce_data_queue_locks="*NO"),
        "replace": lambda: officer.grtobjaut("APPLIB/Q", "QPGMR", "*USE", replace="*NO"),
        "allobj": lambda: officer.crtusrprf("EVE", allobj="*NO"),
        "pwdexp": lambda: system.crtusrprf("EVE", pwdexp="*NO"),
        "pwdexp '": lambda: system.chgusrprf("QPGMR", pwdexp="*NO"),
    }
    for name, call in calls.items():
        assert name in str(expect_rule("DTAQ-FLAGS-PYTHON", call))
    assert set(system.profiles) == before
    assert officer.qrcvdtaq("APPLIB/Q", remove=False).data == b"kept"
    assert [officer.qrcvdtaq("APPLIB/Q").data, officer.qrcvdtaq("APPLIB/Q")] == [b"kept", None]


def test_a_lock_is_waited_for_as_long_as_the_job_says(system, officer, anna):
    officer.crtdtaq("APPLIB/Q", maxlen=5)
    officer.alcobj([("APPLIB/Q", "*EXCL")])
    for wait in (30, 2):
        anna.default_wait = wait
        before = system.clock.time_ns()
        with pytest.raises(EscapeMessage, match="CPF1002"):
            anna.alcobj([("APPLIB/Q", "*EXCL")])
        assert (system.clock.time_ns() - before) // 10**9 == wait
