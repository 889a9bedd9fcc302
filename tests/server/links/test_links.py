"""Links over TCP: who is let in, function shipping and DDM between two engines, links that are cut and come back."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading

import pytest

from tdqsim.cics import Abend, Condition, Region
from tdqsim.core.messages import MessageFrame
from tdqsim.definitions import define_connection, define_program, define_tdqueue, define_transaction, define_tsmodel
from tdqsim.errors import TdqError
from tdqsim.facts import Cvda
from tdqsim.ibmi import EscapeMessage, System
from tdqsim.server.links import Identity
from tdqsim.server.links.wire import BOUNDS
from tests.ports import free_ports
from tests.server.hostservers.wire import eventually
from tests.server.links.authority import Authority

NEAR = [
    define_tdqueue(name="OWNQ", type="INTRA", recovstatus="LOGICAL"),
    define_tdqueue(name="FARQ", remotesystem="FAR", remotename="FARQ"),
    define_tdqueue(name="FARN", remotesystem="FAR", remotename="FARN"),
]
FAR = [
    define_tdqueue(name="FARQ", type="INTRA", recovstatus="LOGICAL"),
    define_tdqueue(name="FARN", type="INTRA", recovstatus="NO"),
]


@pytest.fixture
def regions(side):
    """Two regions, the link between them acquired."""
    far = side("FARAPPL", port=0)
    far.region = far.engine.make(Region, FAR, applid="FARAPPL", sysid="FAR", supplied_queues=False)
    far.link = far.links.join(far.region, "NEAR", "NEARAPPL")
    far.start()
    near = side("NEARAPPL")
    near.region = near.engine.make(Region, NEAR, applid="NEARAPPL", sysid="NEAR", supplied_queues=False)
    near.link = near.links.join(near.region, "FAR", "FARAPPL", ("127.0.0.1", far.links.port))
    near.start()
    near.later(near.links.up())
    return near, far


def test_explain_follows_a_request_to_the_region_of_another_process(regions):
    """Its rules, its units of work and what it would answer; and it changes nothing there."""
    near, far = regions
    far.do(lambda: far.region.writeq_td("FARQ", b"one"))
    near.do(lambda: [near.region.start(lambda task: [task.writeq_td("FARQ", b"two"), task.delay(hours=9)])])
    eventually(lambda: any(task.transid == "CSMI" for task in far.do(lambda: [*far.region.tasks.values()])))
    (unit,) = near.do(near.region.recovery.units_of_work)
    numbers = far.do(lambda: list(far.region.tasks))
    found = near.do(lambda: near.region.explain("FARQ"))
    local = far.do(lambda: far.region.explain("FARQ"))
    assert [f"In region FARAPPL: {each}" for each in local.statements] == [*found.statements[1:]]
    assert f"part of unit of work {unit.id.hex().upper()} of region NEARAPPL, holds TOQ" in str(found)
    outcomes = {name: (each.outcome, each.reason) for name, each in found.commands.items()}
    assert outcomes["READQ TD"] == ("NORMAL", "queue FARQ of region FARAPPL takes it")
    assert outcomes["WRITEQ TD"][0] == "WAIT"
    assert outcomes["WRITEQ TD"][1].startswith("queue FARQ of region FARAPPL: the TOQ end is ")
    assert far.do(lambda: list(far.region.tasks)) == numbers
    far.do(lambda: far.region.set_tdqueue("FARN", enablestatus=Cvda.DISABLED))
    refused = near.do(lambda: near.region.explain("FARN").commands["READQ TD"])
    assert (refused.outcome, refused.resp2) == ("DISABLED", 0)
    assert refused.unconfirmed_rules == {"TD-DISABLED": "unconfirmed"}
    far.do(lambda: far.region.install([define_connection(name="NEAR", netname="NEARAPPL", inservice="NO")]))
    closed = near.do(lambda: near.region.explain("FARN"))
    assert "cannot be asked there: connection NEAR of region FARAPPL is not in service" in str(closed)
    assert closed.commands["READQ TD"].outcome == "SYSIDERR"


def test_explain_follows_a_task_to_the_region_of_another_process(regions):
    """Its mirror and what that waits for; programs, transactions and TS queues; and it changes nothing there."""
    near, far = regions
    far.do(lambda: [far.region.start(lambda task: [task.writeq_td("FARQ", b"held"), task.delay(hours=9)])])
    far.do(lambda: far.region.programs.register("SERVER", lambda task: task.writeq_td("FARQ", b"more")))
    near.do(lambda: [near.region.start(lambda task: task.link("SERVER", sysid="FAR"), transid="PAYP")])
    eventually(lambda: far.do(lambda: far.region.tdqueues["FARQ"].write_end.waiting.waiters))
    (number,) = near.do(lambda: list(near.region.tasks))
    numbers = far.do(lambda: list(far.region.tasks))
    text = near.do(lambda: str(near.region.explain(str(number), kind="TASK")))
    assert f"Task {number} PAYP of user CICSUSER waits for region FARAPPL over connection FAR: LINK SERVER." in text
    assert f"In region FARAPPL: Task {numbers[1]} CSMI of user CICSUSER waits for TOQ of FARQ, held by task " in text
    near.do(lambda: near.region.install([define_program(name="RPGM", remotesystem="FAR", remotename="SERVER")]))
    remote = near.do(lambda: near.region.explain("RPGM", kind="PROGRAM").statements)
    assert remote == ("Program RPGM is SERVER of system FAR.", "In region FARAPPL: Program SERVER can run.")
    near.do(lambda: near.region.install([define_transaction(name="NOTD", remotesystem="FAR")]))
    remote = near.do(lambda: near.region.explain("NOTD", kind="TRANSACTION").statements)
    assert remote[1:] == ("In region FARAPPL: Transaction NOTD is not defined.",)
    near.do(lambda: near.region.install([define_tsmodel(name="FARM", prefix="FAR", remotesystem="FAR")]))
    remote = near.do(lambda: near.region.explain("FART", kind="TSQUEUE").statements)
    assert remote[1:] == ("In region FARAPPL: TS queue FART does not exist.",)
    assert far.do(lambda: list(far.region.tasks)) == numbers


def test_function_shipping(regions):
    near, far = regions
    near.do(lambda: near.region.writeq_td("FARN", b"one"))
    assert far.do(lambda: far.region.peek("FARN")) == [b"one"]
    assert near.do(lambda: near.region.readq_td("FARN")) == b"one"
    with pytest.raises(Condition, match="QZERO"):
        near.do(lambda: near.region.readq_td("FARN"))

    def unit_of_work(back_out):
        def program(task):
            task.writeq_td("OWNQ", b"own")
            task.writeq_td("FARQ", b"far")
            if back_out:
                task.syncpoint_rollback()
            else:
                task.syncpoint()

        return near.region.start(program)

    near.do(lambda: unit_of_work(back_out=True))
    assert far.do(lambda: far.region.peek("FARQ")) == []
    near.do(lambda: unit_of_work(back_out=False))
    assert near.do(lambda: near.region.peek("OWNQ")) == [b"own"]
    assert far.do(lambda: far.region.peek("FARQ")) == [b"far"]
    assert near.do(lambda: near.region.tasks) == {}
    eventually(lambda: far.do(lambda: far.region.tasks) == {})


def test_a_program_of_the_other_process_runs_in_the_unit_of_work(regions):
    near, far = regions

    def server(task):
        task.writeq_td("FARQ", bytes(task.commarea))
        task.commarea[:4] = task.assign("APPLID").encode()[:4]
        if task.commarea[4:] == b"bad!":
            task.abend("OOPS")

    def client(data):
        def program(task):
            area = bytearray(data)
            task.writeq_td("OWNQ", data)
            task.link("SERVER", area, sysid="FAR")
            return bytes(area)

        return near.region.start(program)

    far.do(lambda: far.region.programs.register("SERVER", server))
    with pytest.raises(Abend, match="OOPS"):
        near.do(lambda: client(b"1234bad!"))
    assert far.do(lambda: far.region.peek("FARQ")) == near.do(lambda: near.region.peek("OWNQ")) == []
    assert near.do(lambda: client(b"1234good")) == b"FARAgood"
    assert far.do(lambda: far.region.peek("FARQ")) == near.do(lambda: near.region.peek("OWNQ")) == [b"1234good"]
    assert near.do(lambda: near.region.tasks) == {}
    eventually(lambda: far.do(lambda: far.region.tasks) == {})


def test_a_link_that_is_cut_comes_back(regions):
    near, far = regions
    for cutting in (near, far):
        cutting.do(cutting.link.cut)
        eventually(lambda: near.do(lambda: near.link.acquired) and far.do(lambda: far.link.acquired))
        near.do(lambda: near.region.writeq_td("FARN", b"again"))
    assert far.do(lambda: far.region.peek("FARN")) == [b"again", b"again"]


def test_a_link_is_dialled_again_after_pauses_that_double_to_the_longest_and_begin_anew_with_each_loss(
    regions, monkeypatch
):
    near, far = regions
    pauses, slept = [], asyncio.sleep

    def sleep(seconds):
        pauses.append(seconds)
        return slept(0)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    for times in (1, 2):
        near.do(near.link.cut)
        eventually(lambda times=times: len(pauses) == times and near.do(lambda: near.link.acquired))
    far.later(far.links.stop())
    eventually(lambda: len(pauses) > 8)
    assert pauses[:9] == [0.1, 0.1, 0.1, 0.2, 0.4, 0.8, 1.6, 2, 2]


def test_a_second_partner_is_dialled_too_and_cut_with_the_first(regions, side):
    near, far = regions
    other = side("OTHRAPPL", port=0)
    other.region = other.engine.make(Region, FAR, applid="OTHRAPPL", sysid="OTHR", supplied_queues=False)
    other.link = other.links.join(other.region, "NEAR", "NEARAPPL")
    other.start()
    both = side("NEARAPPL")
    both.region = both.engine.make(Region, [], applid="NEARAPPL", sysid="NEAR", supplied_queues=False)
    near.later(near.links.stop())
    links = [
        both.links.join(both.region, sysid, f"{sysid}APPL", ("127.0.0.1", one.links.port))
        for sysid, one in (("FAR", far), ("OTHR", other))
    ]
    both.start()
    both.later(both.links.up())
    for record in (b"one", b"two"):
        for sysid in ("FAR", "OTHR"):
            both.do(lambda sysid=sysid, record=record: both.region.writeq_td("FARN", record, sysid=sysid))
        ends = [link.end._channel for link in links]
        both.do(both.links.cut)
        eventually(lambda ends=ends: all(each.is_lost for each in ends))
        eventually(lambda: all(both.do(lambda: [link.acquired for link in links])))
    assert [one.do(lambda one=one: one.region.peek("FARN")) for one in (far, other)] == [[b"one", b"two"]] * 2


def silent_caller(far, authority):
    """A connection of one who is known, and has said nothing."""
    plain = socket.create_connection(("127.0.0.1", far.links.port))
    return authority.issue("NEARAPPL").context(server=False).wrap_socket(plain)


def test_a_link_outlives_the_time_in_which_a_caller_must_identify_itself(regions, authority):
    """The same moment ends a connection whose caller has said nothing."""
    near, far = regions
    first, opened, now = near.link._transport, tuple(far.links.connections), far.loop.time
    with silent_caller(far, authority) as silent:
        eventually(lambda: len(far.links.connections) == 2)
        far.later(asyncio.sleep(0))
        far.loop.time = lambda: now() + 11  # type: ignore[method-assign]
        far.later(asyncio.sleep(0))
        assert silent.recv(1) == b""
    assert tuple(far.links.connections) == opened
    near.do(lambda: near.region.writeq_td("FARN", b"one"))
    assert near.link._transport is first


def test_a_side_that_is_behind_is_sent_no_more_and_then_goes_on(regions, monkeypatch):
    """Reading stops while more waits to be processed than may, and begins again when that is done."""
    monkeypatch.setitem(BOUNDS, "untaken_bytes", 1)
    near, far = regions
    (connection,) = far.links.connections
    busy = threading.Event()
    working = far.engine.outside(busy.wait)  # a task would begin behind all that has arrived by then
    written = near.engine.submit(lambda: near.region.writeq_td("FARN", b"one"))
    eventually(lambda: not connection._socket.is_reading())
    busy.set()
    assert working.result(300)
    written.result(300)
    near.do(lambda: near.region.writeq_td("FARN", b"two"))
    assert far.do(lambda: far.region.peek("FARN")) == [b"one", b"two"]


def test_a_side_that_is_behind_is_sent_no_more_while_what_is_left_is_still_too_much(regions, monkeypatch):
    monkeypatch.setitem(BOUNDS, "untaken_bytes", 900)
    near, far = regions
    (connection,) = far.links.connections
    first, between, second = threading.Event(), threading.Event(), threading.Event()
    far.engine.outside(first.wait)
    small = near.engine.submit(lambda: near.region.writeq_td("FARN", b"one"))
    eventually(lambda: connection._waiting > 0)
    far.engine.outside(lambda: between.set() or second.wait())
    large = near.engine.submit(lambda: near.region.writeq_td("FARN", bytes(900)))
    eventually(lambda: connection._waiting > 900)
    first.set()
    assert between.wait(300)
    far.later(asyncio.sleep(0))  # by then the loop knows that the small one is taken
    assert not connection._socket.is_reading()
    second.set()
    small.result(300)
    large.result(300)
    assert far.do(lambda: far.region.peek("FARN")) == [b"one", bytes(900)]


def test_a_side_that_does_not_read_is_given_up(side, authority, monkeypatch):
    monkeypatch.setitem(BOUNDS, "unsent_bytes", 2**20)
    monkeypatch.setitem(BOUNDS, "opening_seconds", 1000)  # it is not closed for its silence
    far = side("FARAPPL", port=0)
    far.start()
    with silent_caller(far, authority):
        eventually(lambda: len(far.links.connections) == 1)
        (connection,) = far.links.connections
        eventually(lambda: connection._socket is not None)
        for length in (2**24, 2**21):  # the first is more than the system takes, the second waits behind it
            connection.send(bytes(length))
        eventually(lambda: not far.links.connections)


def test_a_region_that_has_ended_lets_nobody_believe_that_its_link_is_there(regions):
    near, far = regions
    greetings = []
    near.links.watch(lambda way, _data: greetings.append(way))
    far.do(far.region.close)
    eventually(lambda: greetings.count("out") > 1)  # it was accepted, given up, and dialled again


def test_a_region_whose_link_is_down_says_so(side):
    near = side("NEARAPPL")
    region = near.engine.make(Region, NEAR, applid="NEARAPPL", sysid="NEAR", supplied_queues=False)
    (port,) = free_ports(1)
    near.links.join(region, "FAR", "FARAPPL", ("127.0.0.1", port))
    near.start()
    with pytest.raises(Condition, match="SYSIDERR"):
        near.do(lambda: region.writeq_td("FARN", b"one"))


def test_ddm_queues(side):
    there = side("SYSB", port=0)
    there.system = there.engine.make(System, "SYSB")
    there.links.admit(there.system, "SYSA")
    there.start()
    here = side("SYSA")
    here.system = here.engine.make(System, "SYSA")
    here.links.reach(here.system, "BLOC", "SYSB", ("127.0.0.1", there.links.port))

    there.do(lambda: there.system.job(user="QSECOFR").crtdtaq("QGPL/Q", maxlen=10, aut="*ALL"))
    job = here.do(lambda: here.system.job(user="QPGMR"))
    here.do(lambda: job.crtdtaq("QGPL/D", type="*DDM", rmtdtaq="QGPL/Q", rmtlocname="BLOC"))
    with pytest.raises(EscapeMessage, match="CPF9510"):
        here.do(lambda: job.qsnddtaq("D", "QGPL", b"early"))
    here.start()
    here.later(here.links.up())
    here.do(lambda: job.qsnddtaq("D", "QGPL", b"x"))
    assert here.do(lambda: job.qrcvdtaq("D", "QGPL")).data == b"x"
    waiting = here.engine.submit(lambda: here.system.job(user="QPGMR").qrcvdtaq("D", "QGPL", -1))
    eventually(lambda: there.do(lambda: len(next(there.system.queues()).waiters)))
    there.do(lambda: there.system.job(user="QSECOFR").qsnddtaq("Q", "QGPL", b"late"))
    assert waiting.result(300).data == b"late"
    with pytest.raises(EscapeMessage, match="CPF2498"):
        here.do(lambda: job.qsnddtaq("D", "QGPL", b"much too long"))


def test_a_requester_that_goes_away_while_it_waits_takes_nothing(side):
    there = side("SYSB", port=0)
    there.system = there.engine.make(System, "SYSB")
    there.do(lambda: there.system.job(user="QSECOFR").crtdtaq("QGPL/Q", maxlen=10, aut="*ALL"))
    there.links.admit(there.system, "SYSA")
    there.start()
    here = side("SYSA")
    here.system = here.engine.make(System, "SYSA")
    here.links.reach(here.system, "BLOC", "SYSB", ("127.0.0.1", there.links.port))
    here.start()
    here.later(here.links.up())
    here.do(lambda: here.system.job(user="QPGMR").crtdtaq("QGPL/D", type="*DDM", rmtdtaq="QGPL/Q", rmtlocname="BLOC"))
    waiting = here.engine.submit(lambda: here.system.job(user="QPGMR").qrcvdtaq("D", "QGPL", -1))
    queue = next(iter(there.do(lambda: list(there.system.queues()))))
    eventually(lambda: there.do(lambda: len(queue.waiters)) == 1)
    for connection in tuple(there.links.connections):
        connection.fail()
    with pytest.raises(EscapeMessage, match="CPF9510"):
        waiting.result(300)
    eventually(lambda: there.do(lambda: len(queue.waiters)) == 0)
    there.do(lambda: there.system.job(user="QSECOFR").qsnddtaq("Q", "QGPL", b"kept"))
    here.later(here.links.up())
    assert here.do(lambda: here.system.job(user="QPGMR").qrcvdtaq("D", "QGPL", 5)).data == b"kept"


def dial(port, context, said):
    """What a stranger hears who says this."""
    with socket.create_connection(("127.0.0.1", port), timeout=300) as plain:
        try:
            with context.wrap_socket(plain) as secure:
                secure.sendall(said)
                return secure.recv(4096)
        except (ssl.SSLError, ConnectionError):
            return b"no"


def opening(kind="ISC", caller="NEARAPPL", called="FARAPPL", number=1):
    return MessageFrame("OPEN", {"kind": kind, "from": caller, "to": called}, number=number).to_bytes()


def test_who_is_let_in(regions, authority, tmp_path, caplog):
    near, far = regions
    port = far.links.port
    known = authority.issue("NEARAPPL").context(server=False)
    other = authority.issue("OTHER").context(server=False)
    (tmp_path / "strange").mkdir()
    stranger = Authority(tmp_path / "strange").issue("NEARAPPL")
    nobody = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    nobody.check_hostname, nobody.verify_mode = False, ssl.CERT_NONE
    strange = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    strange.check_hostname, strange.verify_mode = False, ssl.CERT_NONE
    strange.load_cert_chain(stranger.certificate, stranger.key)
    assert dial(port, nobody, opening()) in (b"no", b"")
    assert dial(port, strange, opening()) in (b"no", b"")
    assert b"REFUSED" in dial(port, other, opening())
    assert b"certificate there is of OTHER" in dial(port, other, opening())
    assert b"REFUSED" in dial(port, other, opening(caller="OTHER"))
    assert b"no DDM link" in dial(port, known, opening(kind="DDM"))
    assert b"no ISC link" in dial(port, known, opening(called="ELSE"))
    dial(port, known, opening(called="ELSE\nWARNING a line of its own"))
    told = [record.getMessage() for record in caplog.records if "refused" in record.getMessage()]
    assert any("a line of its own" in line for line in told)
    assert not any("\n" in line for line in told)
    for garbage in (
        b"\xff" * 100,
        b"GET / HTTP/1.0\r\n\r\n",
        MessageFrame("HELLO", {"applid": "X"}, number=1).to_bytes(),
        b"\1\0\0\0\0\x10\0\0",
    ):
        assert b"REFUSED" in dial(port, known, garbage)
    assert near.do(lambda: near.link.acquired)
    near.do(lambda: near.region.writeq_td("FARN", b"one"))


def test_a_side_that_is_not_who_was_dialled(side, monkeypatch):
    monkeypatch.setitem(BOUNDS, "redial_first_ms", 10**9)
    monkeypatch.setitem(BOUNDS, "opening_seconds", 1000)
    far = side("FALSE", port=0)
    region = far.engine.make(Region, FAR, applid="FARAPPL", sysid="FAR", supplied_queues=False)
    link = far.links.join(region, "NEAR", "NEARAPPL")
    far.start()
    near = side("NEARAPPL")
    other = near.engine.make(Region, NEAR, applid="NEARAPPL", sysid="NEAR", supplied_queues=False)
    joined = near.links.join(other, "FAR", "FARAPPL", ("127.0.0.1", far.links.port))
    near.start()
    with pytest.raises(asyncio.TimeoutError):
        near.later(asyncio.wait_for(near.links.up(), 1))
    assert not far.do(lambda: link.acquired)
    assert not near.do(lambda: joined.acquired)
    eventually(lambda: not near.links.connections and not far.links.connections)


def test_a_doubled_or_reordered_message_is_a_lost_link(regions):
    near, far = regions
    near.do(lambda: near.region.writeq_td("FARN", b"one"))

    for number in (1, 99):  # it was there already; it comes too early
        before = near.link.end._channel, far.link.end._channel
        again = MessageFrame("ABANDON", {"key": "X"}, number=number).to_bytes()
        near.do(lambda again=again: near.link.end._channel._transport.send(again))
        eventually(lambda before=before: before[0].is_lost and before[1].is_lost)
        eventually(lambda: near.do(lambda: near.link.acquired) and far.do(lambda: far.link.acquired))
    near.do(lambda: near.region.writeq_td("FARN", b"two"))
    assert far.do(lambda: far.region.peek("FARN")) == [b"one", b"two"]


def test_files_that_are_no_certificates(tmp_path, authority):
    good = authority.issue("X")
    (tmp_path / "bad.pem").write_text("nothing")
    for bad in (
        Identity(tmp_path / "none", good.key, good.authority),
        Identity(good.certificate, good.key, tmp_path / "bad.pem"),
    ):
        with pytest.raises(TdqError, match="certificates of links"):
            bad.context(server=True)
