from __future__ import annotations

import pytest

from tdqsim.core.dispatch import Dispatcher
from tdqsim.core.messages import MessageFrame
from tdqsim.core.transport import LinkDown, Pipe
from tdqsim.errors import TdqError
from tdqsim.ibmi import EscapeMessage, System
from tdqsim.ibmi.ddm import DdmLink, InProcessLink
from tests.rules import expect_rule


@pytest.fixture
def pair():
    dispatcher = Dispatcher()
    with System("HERE", dispatcher=dispatcher) as here, System("THERE", dispatcher=dispatcher) as there:
        here.connect("LP1", there)
        for system in (here, there):
            system.crtlib("APPLIB")
        for made in (here, there):
            made.crtusrprf("ANNA")
            made.crtusrprf("BERT")
        with here.job("LOCAL", user="ANNA") as job, there.job("REMOTE", user="BERT") as far:
            job.crtdtaq(dtaq="APPLIB/FAR", type="*DDM", rmtdtaq="APPLIB/REAL", rmtlocname="LP1")
            far.crtdtaq(dtaq="APPLIB/REAL", maxlen=10, senderid="*YES")
            yield job, far


def test_it_works_like_a_local_queue(pair):
    job, far = pair
    job.qsnddtaq("FAR", "APPLIB", b"1")
    job.qsnddtaq("FAR", "APPLIB", b"2")
    entry = far.qrcvdtaq("REAL", "APPLIB")
    assert (entry.data, entry.sender.current_user) == (b"1", "ANNA")
    assert job.qrcvdtaq("FAR", "APPLIB").data == b"2"
    with job.system.job(user="BERT") as other:
        other.qsnddtaq("FAR", "APPLIB", b"another")
    assert far.qrcvdtaq("REAL", "APPLIB").sender.current_user == "BERT"
    job.qsnddtaq("FAR", "APPLIB", b"3")
    job.qclrdtaq("FAR", "APPLIB")
    assert job.qrcvdtaq("FAR", "APPLIB") is None


def test_a_receive_waits_on_the_other_system(pair):
    job, far = pair
    waiting = job.system.start(lambda own: own.qrcvdtaq("FAR", "APPLIB", -1))
    job.system.run()
    far.qsnddtaq("REAL", "APPLIB", b"x")
    assert waiting.result().data == b"x"
    before = job.system.clock.time_ns()
    assert job.qrcvdtaq("FAR", "APPLIB", 1999, wait_units="*MSEC") is None
    assert 1_000_000_000 <= job.system.clock.time_ns() - before < 1_900_000_000  # milliseconds are ignored


def test_a_receive_that_waits_on_a_system_that_is_closed_fails_like_the_next_one(pair):
    job, far = pair
    waiting = job.system.start(lambda own: own.qrcvdtaq("FAR", "APPLIB", -1))
    job.system.run()
    far.system.close()
    for receive in (waiting.result, lambda: job.qrcvdtaq("FAR", "APPLIB")):
        with pytest.raises(EscapeMessage, match="CPF9510"):
            receive()


@pytest.mark.rule("DTAQ-DDM-PEEK", "DTAQ-DDM-CLEAR-KEY", "DTAQ-RETRIEVE-DDM", "DTAQ-CHANGE-DDM")
def test_what_is_refused(pair):
    job, _ = pair
    expect_rule("DTAQ-DDM-PEEK", job.qrcvdtaq, "FAR", "APPLIB", remove=False)
    expect_rule("DTAQ-DDM-CLEAR-KEY", job.qclrdtaq, "FAR", "APPLIB", "EQ", b"K")
    expect_rule("DTAQ-RETRIEVE-DDM", job.qmhrdqm, "FAR", "APPLIB")
    expect_rule("DTAQ-CHANGE-DDM", job.qmhqcdq, "FAR", "APPLIB", automatic_reclaim=True)
    for call in (lambda: job.strjrnobj("APPLIB/FAR", "JRN"), lambda: job.qsys2.data_queue_entries("FAR", "APPLIB")):
        job.crtjrn("JRN") if not job.system.libraries["QGPL"].objects else None
        with pytest.raises(Exception, match="CPF9511"):
            call()


@pytest.mark.rule("DTAQ-DDM-ASYNC", "DTAQ-DDM-NO-LINK", "DTAQ-SEND-ASYNC-LOCAL")
def test_errors_of_the_other_side(pair):
    job, far = pair
    expect_rule("DTAQ-SEND-ASYNC-LOCAL", far.qsnddtaq, "REAL", "APPLIB", b"x", asynchronous=True)
    with pytest.raises(Exception, match="CPF2498"):
        job.qsnddtaq("FAR", "APPLIB", b"x" * 11)
    far.dltdtaq("APPLIB/REAL")
    with pytest.raises(Exception, match="CPF9801 Object REAL in library APPLIB"):
        job.qsnddtaq("FAR", "APPLIB", b"x")
    job.qsnddtaq("FAR", "APPLIB", b"x", asynchronous=True)  # nothing is said yet
    expect_rule("DTAQ-DDM-ASYNC", job.qrcvdtaq, "FAR", "APPLIB")
    far.crtdtaq("APPLIB/REAL", maxlen=10)
    assert job.qrcvdtaq("FAR", "APPLIB") is None  # it is said once
    job.crtdtaq(dtaq="APPLIB/LOST", type="*DDM", rmtdtaq="Q", rmtlocname="NOWHERE")
    expect_rule("DTAQ-DDM-NO-LINK", job.qsnddtaq, "LOST", "APPLIB", b"x")


def test_by_relational_database_name(pair):
    job, far = pair
    job.system.connect("PARIS", far.system)
    job.crtdtaq(dtaq="APPLIB/DB", type="*DDM", rmtdtaq="APPLIB/REAL", rmtlocname="*RDB", rdb="PARIS")
    job.qsnddtaq("DB", "APPLIB", b"x")
    assert far.qrcvdtaq("REAL", "APPLIB").data == b"x"


def test_connected_systems_share_a_dispatcher():
    with System("A") as first, System("B") as second, pytest.raises(ValueError, match="share one dispatcher"):
        first.connect("B", second)


@pytest.fixture
def ring():
    """A's RING is B's RING, which is A's RING; B's ONWARD is A's REAL."""
    dispatcher = Dispatcher()
    with System("A", dispatcher=dispatcher) as first, System("B", dispatcher=dispatcher) as second:
        first.connect("LB", second)
        second.connect("LA", first)
        for system, location in ((first, "LB"), (second, "LA")):
            system.crtlib("APPLIB")
            with system.job("MAKER") as job:
                job.crtdtaq(dtaq="APPLIB/RING", type="*DDM", rmtdtaq="APPLIB/RING", rmtlocname=location)
        with first.job("MAKER") as job, second.job("MAKER") as far:
            job.crtdtaq(dtaq="APPLIB/REAL", maxlen=10)
            job.crtdtaq(dtaq="APPLIB/ROUND", type="*DDM", rmtdtaq="APPLIB/ONWARD", rmtlocname="LB")
            far.crtdtaq(dtaq="APPLIB/ONWARD", type="*DDM", rmtdtaq="APPLIB/REAL", rmtlocname="LA")
            yield job, far


@pytest.mark.rule("DTAQ-DDM-RING")
def test_a_ring_of_ddm_queues_is_refused_wherever_it_is_entered(ring):
    for job in ring:
        expect_rule("DTAQ-DDM-RING", job.qsnddtaq, "RING", "APPLIB", b"x")
        expect_rule("DTAQ-DDM-RING", job.qclrdtaq, "RING", "APPLIB")
        expect_rule("DTAQ-DDM-RING", job.qrcvdtaq, "RING", "APPLIB", -1)


def test_a_ddm_queue_may_stand_for_another_one(ring):
    job, far = ring
    for _ in range(3):
        job.qsnddtaq("ROUND", "APPLIB", b"round")
    far.qsnddtaq("ONWARD", "APPLIB", b"straight")
    assert [job.qrcvdtaq("REAL", "APPLIB").data for _ in range(4)] == [b"round"] * 3 + [b"straight"]
    job.qsnddtaq("REAL", "APPLIB", b"back")
    assert job.qrcvdtaq("ROUND", "APPLIB").data == b"back"


def test_a_queue_of_the_same_name_in_another_library_is_no_ring(ring):
    job, far = ring
    job.system.crtlib("OTHER")
    job.crtdtaq(dtaq="APPLIB/SAME", type="*DDM", rmtdtaq="APPLIB/SAME", rmtlocname="LB")
    far.crtdtaq(dtaq="APPLIB/SAME", type="*DDM", rmtdtaq="OTHER/SAME", rmtlocname="LA")
    job.crtdtaq(dtaq="OTHER/SAME", type="*DDM", rmtdtaq="APPLIB/END", rmtlocname="LB")
    far.crtdtaq("APPLIB/END", maxlen=10)
    job.qsnddtaq("SAME", "APPLIB", b"far")
    assert far.qrcvdtaq("END", "APPLIB").data == b"far"


@pytest.mark.rule("DTAQ-DDM-CLOSED")
def test_a_system_that_is_closed_is_an_escape_message(pair):
    job, far = pair
    job.qsnddtaq("FAR", "APPLIB", b"x")
    far.system.close()
    expect_rule("DTAQ-DDM-CLOSED", job.qsnddtaq, "FAR", "APPLIB", b"x")
    job.qsnddtaq("FAR", "APPLIB", b"x", asynchronous=True)
    expect_rule("DTAQ-DDM-CLOSED", job.qrcvdtaq, "FAR", "APPLIB")


@pytest.fixture(params=[True, False], ids=["at once", "network"])
def linked(request):
    """Two systems and their link: requests are carried out where they are sent, or as over a network."""
    dispatcher = Dispatcher()
    with System("HERE", dispatcher=dispatcher) as here, System("THERE", dispatcher=dispatcher) as there:
        link = InProcessLink(there, at_once=request.param)
        here.connect("LP1", link)
        for system in (here, there):
            system.crtlib("APPLIB")
        with here.job("LOCAL") as job, there.job("REMOTE") as far:
            for name, key in (("PLAIN", {}), ("KEYED", {"seq": "*KEYED", "keylen": 3})):
                job.crtdtaq(dtaq=f"APPLIB/{name}", type="*DDM", rmtdtaq=f"APPLIB/{name}", rmtlocname="LP1")
                far.crtdtaq(dtaq=f"APPLIB/{name}", maxlen=64512, senderid="*YES", **key)
            yield job, far, link


def test_every_request_and_every_byte_gets_there(linked):
    job, far, _ = linked
    every = bytes(range(256)) * 252
    for data in (b"x", b"\x00", every):
        job.qsnddtaq("PLAIN", "APPLIB", data)
        sent = far.qrcvdtaq("PLAIN", "APPLIB")
        far.qsnddtaq("PLAIN", "APPLIB", data)
        got = job.qrcvdtaq("PLAIN", "APPLIB")
        assert sent.data == got.data == data
        assert got.sender.job_name.strip() == "REMOTE"
    job.qsnddtaq("KEYED", "APPLIB", b"data", b"\x00\xffK")
    assert job.qrcvdtaq("KEYED", "APPLIB", 0, "EQ", b"\x00\xffK").data == b"data"
    job.qsnddtaq("KEYED", "APPLIB", b"data", b"abc")
    job.qclrdtaq("KEYED", "APPLIB")
    assert job.qrcvdtaq("KEYED", "APPLIB", 0, "GE", b"\x00\x00\x00") is None
    with pytest.raises(Exception, match="CPF2498"):
        job.qsnddtaq("PLAIN", "APPLIB", b"x" * 64513)
    with pytest.raises(Exception, match="CPF9501"):
        job.qsnddtaq("KEYED", "APPLIB", b"x")
    assert sum(name.endswith("/QRWTSRVR") for name in far.system.jobs) == 1  # one has served them all


def test_several_jobs_of_one_user_wait_at_once(linked):
    job, far, _ = linked
    waiting = [job.system.start(lambda own: own.qrcvdtaq("PLAIN", "APPLIB", -1).data) for _ in range(3)]
    job.system.run()
    assert not any(each.done for each in waiting)
    for each in (b"1", b"2", b"3"):
        far.qsnddtaq("PLAIN", "APPLIB", each)
    assert [each.result() for each in waiting] == [b"1", b"2", b"3"]


def test_an_answer_reaches_the_job_that_has_asked_though_another_has_waited_longer(linked):
    job, far, _ = linked
    first = job.system.start(lambda own: own.qrcvdtaq("PLAIN", "APPLIB", -1).data)
    second = job.system.start(lambda own: own.qrcvdtaq("KEYED", "APPLIB", -1, "EQ", b"key").data)
    job.system.run()
    far.qsnddtaq("KEYED", "APPLIB", b"to the second", b"key")
    job.system.dispatcher.run_ready()
    assert (first.done, second.done, second.result()) == (False, True, b"to the second")
    far.qsnddtaq("PLAIN", "APPLIB", b"to the first")
    assert first.result() == b"to the first"


@pytest.mark.rule("DTAQ-DDM-LOST")
def test_a_link_that_is_lost_while_a_receive_waits(linked):
    job, far, link = linked
    job.system.start(lambda own: own.qrcvdtaq("PLAIN", "APPLIB", -1))
    waiting = job.system.start(lambda own: outcome(lambda: own.qrcvdtaq("PLAIN", "APPLIB", -1)))
    job.system.run()
    link.pipe.close()
    job.system.run()
    assert "CPF9510" in waiting.result()
    expect_rule("DTAQ-DDM-LOST", job.qsnddtaq, "PLAIN", "APPLIB", b"x")
    far.qmhqcdq("PLAIN", "APPLIB", automatic_reclaim=True)  # no receive waits there any more
    far.qsnddtaq("PLAIN", "APPLIB", b"x")
    assert far.qrcvdtaq("PLAIN", "APPLIB").data == b"x"


def test_an_entry_is_lost_when_the_link_is_cut_after_the_answer_has_left(linked):
    job, far, link = linked
    far.qsnddtaq("PLAIN", "APPLIB", b"first")
    far.qsnddtaq("PLAIN", "APPLIB", b"second")
    link.pipe.holds = lambda frame: b"first" in frame
    waiting = job.system.start(lambda own: outcome(lambda: own.qrcvdtaq("PLAIN", "APPLIB", -1)))
    job.system.run()
    assert not waiting.done
    link.pipe.close()
    job.system.run()
    assert "CPF9510" in waiting.result()
    assert far.qrcvdtaq("PLAIN", "APPLIB").data == b"second"


def test_an_entry_goes_back_to_its_place_when_the_link_is_cut_before_the_answer_has_left(linked):
    job, far, link = linked
    for data in (b"first", b"second"):
        far.qsnddtaq("PLAIN", "APPLIB", data)
    far.system.faults = lambda *_: link.pipe.close()  # while the other system carries out the request
    waiting = job.system.start(lambda own: outcome(lambda: own.qrcvdtaq("PLAIN", "APPLIB")))
    assert "CPF9510" in waiting.result()
    far.system.faults = None
    assert [far.qrcvdtaq("PLAIN", "APPLIB").data for _ in "12"] == [b"first", b"second"]


def outcome(call) -> str:
    try:
        return repr(call())
    except TdqError as error:
        return str(error)


@pytest.mark.parametrize("number", [0, 2, 7])
def test_a_message_that_comes_twice_or_out_of_order_is_a_lost_link(linked, number):
    job, _, link = linked
    job.qsnddtaq("PLAIN", "APPLIB", b"x")
    link.pipe.ends[1].take(MessageFrame("CLEAR", dict.fromkeys(("user", "name", "library"), "X") | {"route": []}, b"",
                                          number if number != 2 else 3).to_bytes())  # fmt: skip
    assert link.pipe.closed
    expect_rule("DTAQ-DDM-LOST", job.qsnddtaq, "PLAIN", "APPLIB", b"x")


NAMED = {"user": "ANNA", "name": "Q", "library": "QGPL", "route": []}
DONE = {"found": False, "key": -1, "sender": 0, "time_ns": 0}


@pytest.mark.parametrize(("kind", "fields", "answers"), [("DONE", DONE, 0), ("CLEAR", NAMED, 1), ("CLEAR", NAMED, 0)])
def test_what_is_no_answer_is_a_lost_link(kind, fields, answers):
    with System("HERE") as system:
        pipe = Pipe()
        link = DdmLink(system.dispatcher, pipe.ends[1])
        wrong = MessageFrame(kind, fields, number=1, answers=answers).to_bytes()
        pipe.ends[0].open(lambda _question: pipe.ends[0].send(wrong), lambda _why: None)
        with pytest.raises(LinkDown, match="the link is gone"):
            link.clear("ANNA", "Q", "QGPL")


def test_a_user_without_a_profile_on_the_other_system_gets_messages_with_ids(pair):
    job, _ = pair
    job.system.crtusrprf("GUEST")
    with job.system.job(user="QSECOFR") as owner:
        owner.command("GRTOBJAUT OBJ(APPLIB/FAR) OBJTYPE(*DTAQ) USER(GUEST) AUT(*ALL)")
        owner.command("GRTOBJAUT OBJ(APPLIB) OBJTYPE(*LIB) USER(GUEST) AUT(*USE)")
    with job.system.job(user="GUEST") as guest, pytest.raises(EscapeMessage, match="CPF9510") as caught:
        guest.qsnddtaq("FAR", "APPLIB", b"x")
    (reason,) = caught.value.diagnostics
    assert (reason.message_id, reason.kind, reason.message_data) == (
        "CPF2204",
        "diagnostic",
        "GUEST     ".encode("cp037"),
    )


def test_who_waits_on_the_other_system_has_gone_on_when_a_send_returns(pair):
    job, far = pair
    waiting = far.system.start(lambda own: own.qrcvdtaq("REAL", "APPLIB", -1), user="BERT")
    far.system.dispatcher.run_ready()
    job.qsnddtaq("FAR", "APPLIB", b"x")
    assert waiting.done
    assert waiting.result().data == b"x"
