from __future__ import annotations

import pytest

from tdqsim.core.dispatch import Dispatcher
from tdqsim.ibmi import System
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
