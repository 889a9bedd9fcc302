"""What a region may say when: a message that cannot come at that moment is a lost link, and nothing is torn."""

from __future__ import annotations

from contextlib import suppress

import pytest

from tdqsim.cics import Region
from tdqsim.cics.ship.messages import KINDS
from tdqsim.cics.ship.network import FarLink
from tdqsim.core.dispatch import Dispatcher
from tdqsim.core.messages import FrameDecoder, MessageFrame
from tdqsim.core.transport import LinkDown, Pipe
from tdqsim.definitions import define_tdqueue
from tdqsim.errors import TdqError

URGENT = {"COMMIT": {"urgent": False}}
KEY = "FARAPPL.00000000000000FF"
REPLY = {"held": True, "failure": "", "resp": 0, "resp2": 0, "length": 0, "detail": ""}
VOTE = {name: value for name, value in REPLY.items() if name != "held"} | {"vote": True}


class Peer:
    """A region at whose link there is somebody who says what he likes: in the name of FARAPPL."""

    def __init__(self, region: Region) -> None:
        self.region = region
        self.link = FarLink(region, "FAR", "FARAPPL")
        self.attach()

    def attach(self, *steps: tuple[str, dict[str, object]]) -> None:
        pipe, decode = Pipe(), FrameDecoder(KINDS)
        self.end, self.number, self.heard = pipe.ends[0], 0, []
        self.end.open(lambda data: self.heard.extend(decode.feed(data)), lambda _why: None)
        self.link.attach(pipe.ends[1])
        for kind, fields in steps:
            with suppress(LinkDown):
                self.end.send(self.frame(kind, **fields))
        self.run()

    def run(self) -> None:
        self.region.dispatcher.run_ready()

    def frame(self, kind: str, answers: int = 0, data: bytes = b"", **fields: object) -> bytes:
        self.number += 1
        return MessageFrame(kind, fields, data, self.number, answers).to_bytes()

    def say(self, kind: str, answers: int = 0, data: bytes = b"", **fields: object) -> None:
        with suppress(LinkDown):
            self.end.send(self.frame(kind, answers, data, **fields))
        self.run()

    def step(self, kind: str, key: str = KEY, queue: str = "FARQ") -> None:
        if kind == "REQUEST":
            self.say(
                kind, data=b"x", key=key, command="WRITEQ TD", queue=queue, nosuspend=False, userid="ANNA",
                transid="MOVE", hops=1, dtimout_ns=-1, length=0,
            )  # fmt: skip
        elif kind in ("COMMIT", "BACKOUT"):
            self.say(kind, key=key, urgent=False)
        else:
            self.say(kind, key=key)

    def last(self, kind: str) -> MessageFrame:
        return next(one for one in reversed(self.heard) if one.kind == kind)

    def kinds(self) -> list[str]:
        return [one.kind for one in self.heard if one.answers]

    def left(self) -> tuple[int, ...]:
        return (
            len(self.region.recovery.units),
            len(self.region.recovery.shunted),
            len(self.link.end.mirrors) + len(self.link.end.served.turns),
            len(self.region.tasks),
        )


@pytest.fixture
def peer():
    region = Region(
        [
            define_tdqueue(name="FARQ", type="INTRA", recovstatus="LOGICAL", waitaction="QUEUE"),
            define_tdqueue(name="BACK", remotesystem="FAR", remotename="FARQ"),
        ],
        applid="NEARAPPL", sysid="NEAR", supplied_queues=False,
    )  # fmt: skip
    with region:
        yield Peer(region)


LOST = {
    "a commit before its prepare": ["REQUEST", "COMMIT"],
    "a reminder before its prepare": ["REQUEST", "REMIND"],
    "a request behind its prepare": ["REQUEST", "PREPARE", "REQUEST"],
    "a second prepare": ["REQUEST", "PREPARE", "PREPARE"],
}


def test_a_link_that_has_never_been_there_has_the_name_of_its_other_end():
    with Region([], supplied_queues=False) as region:
        FarLink(region, "FAR", "FARAPPL")
        shown = region.inquire_connection("FAR").as_dict(plain=True)
    assert (shown["NETNAME"], shown["CONNSTATUS"]) == ("FARAPPL", "RELEASED")


def test_a_link_that_is_accepted_a_second_time_takes_the_place_of_the_first(peer):
    """What was in flight over the first is backed out, and what still comes over it is not carried out."""
    first, lost = peer.end, []
    first.open(lambda _data: None, lost.append)
    peer.step("REQUEST")
    late = peer.frame("REQUEST", data=b"late", key=KEY, command="WRITEQ TD", queue="FARQ", nosuspend=False,
                      userid="ANNA", transid="MOVE", hops=1, dtimout_ns=-1, length=0)  # fmt: skip
    peer.attach()
    assert len(lost) == 1
    with suppress(LinkDown):
        first.send(late)
    peer.run()
    assert peer.link.acquired
    assert peer.left() == (0, 0, 0, 0)
    for kind in ("REQUEST", "PREPARE", "COMMIT"):
        peer.step(kind)
    assert peer.region.peek("FARQ") == [b"x"]


@pytest.mark.parametrize("what", LOST)
def test_what_cannot_come_yet_or_any_more_is_a_lost_link(peer, what):
    for kind in LOST[what]:
        assert peer.link.acquired
        peer.step(kind)
    assert not peer.link.acquired
    peer.attach()
    if "PREPARE" in LOST[what]:  # it had promised: it asks
        peer.say("DECISION", peer.last("ASK").number, decision="COMMIT")
    assert peer.region.peek("FARQ") == [b"x"] * ("PREPARE" in LOST[what])
    assert peer.left() == (0, 0, 0, 0)


@pytest.mark.parametrize("again", ["COMMIT", "BACKOUT", "REMIND"])
@pytest.mark.parametrize("decision", ["COMMIT", "BACKOUT"])
def test_the_first_decision_is_the_one_that_holds(peer, decision, again):
    for kind in ("REQUEST", "PREPARE", decision, again):
        peer.step(kind)
    assert peer.region.peek("FARQ") == [b"x"] * (decision == "COMMIT")
    assert peer.link.acquired
    assert peer.left() == (0, 0, 0, 0)


@pytest.mark.parametrize("kind", ["REQUEST", "PREPARE", "COMMIT", "REMIND", "BACKOUT", "ABANDON"])
def test_what_comes_while_a_request_waits(peer, kind):
    """Only that it is given up; anything else has to wait for the answer over there."""
    peer.step("REQUEST", queue="BACK")
    assert peer.last("REQUEST").fields["queue"] == "FARQ"
    peer.step(kind)
    assert peer.link.acquired is (kind in ("BACKOUT", "ABANDON"))
    if kind == "ABANDON":
        peer.step("BACKOUT")
    if peer.link.acquired:
        assert peer.last("BACKOUT").fields["key"].startswith("NEARAPPL.")
        peer.say("BACKED_OUT", peer.last("BACKOUT").number, done=True)
        assert peer.kinds() == ["REPLY", "BACKED_OUT"]
    assert peer.left() == (0, 0, 0, 0)


@pytest.mark.parametrize("kind", ["REQUEST", "PREPARE", "COMMIT", "REMIND", "BACKOUT", "ABANDON"])
def test_what_comes_while_a_prepare_waits(peer, kind):
    peer.step("REQUEST", queue="BACK")
    peer.say("REPLY", peer.last("REQUEST").number, **REPLY)
    peer.step("REQUEST")
    peer.step("PREPARE")
    assert peer.kinds() == ["REPLY", "REPLY"]
    assert peer.last("PREPARE").fields["key"].startswith("NEARAPPL.")
    peer.step(kind)
    assert peer.link.acquired is (kind in ("BACKOUT", "ABANDON"))
    if peer.link.acquired:
        peer.say("VOTE", peer.last("PREPARE").number, **VOTE)
        if kind == "ABANDON":
            assert peer.kinds()[-1] == "VOTE"
            peer.step("BACKOUT")
        peer.say("BACKED_OUT", peer.last("BACKOUT").number, done=True)
        assert peer.kinds()[2:] == ["VOTE", "BACKED_OUT"]
    assert peer.region.peek("FARQ") == []
    assert peer.left() == (0, 0, 0, 0)


@pytest.mark.parametrize("kind", ["REQUEST", "PREPARE", "COMMIT", "REMIND", "BACKOUT", "ABANDON"])
def test_a_unit_of_work_of_another_region_is_a_lost_link(peer, kind):
    for step in ("REQUEST", "PREPARE"):
        peer.step(step)
    peer.link.cut()
    peer.run()
    assert len(peer.region.recovery.shunted) == 1
    other = Peer.__new__(Peer)
    other.region, other.link = peer.region, FarLink(peer.region, "OTHR", "OTHRAPPL")
    other.attach()
    other.step(kind)
    assert not other.link.acquired
    assert len(peer.region.recovery.shunted) == 1
    assert peer.left()[2:] == (0, 0)


@pytest.mark.parametrize("key", ["", "NEARAPPL", "NEARAPPL.", "NEARAPPL.01", "NEARAPPL.nothing", KEY, "\ud800", "NEARAPPL.00 000000000000FF"])  # fmt: skip
def test_a_question_for_what_is_no_unit_of_work_here_is_a_lost_link(peer, key):
    peer.step("ASK", key)
    assert not peer.link.acquired
    peer.attach()
    peer.step("ASK", "NEARAPPL.00000000000000FF")
    assert peer.kinds() == ["DECISION"]


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("VOTE", VOTE), ("COMMITTED", {"done": True}), ("REQUEST", None), ("HELLO", {"applid": "FARAPPL"}),
        ("REPLY", {**REPLY, "failure": "CONDITION"}), ("REPLY", {**REPLY, "failure": "CONDITION", "resp": 99999}),
        ("REPLY", {**REPLY, "failure": "ABEND"}), ("REPLY", {**REPLY, "failure": "ABEND ABCDE"}),
        ("REPLY", {**REPLY, "failure": "WORSE"}),
    ],
    ids=str,
)  # fmt: skip
def test_an_answer_that_is_none_to_that_question_is_a_lost_link(peer, kind, fields):
    handle = peer.region.start(lambda task: task.writeq_td("BACK", b"x"))
    peer.run()
    asked = peer.last("REQUEST")
    peer.say(kind, asked.number, **(asked.fields if fields is None else fields))
    assert not peer.link.acquired
    with pytest.raises(TdqError, match="SYSIDERR"):
        handle.result()
    assert peer.left() == (0, 0, 0, 0)


@pytest.mark.parametrize("failure", ["CONDITION", "ABEND ABCDE", "WORSE"])
def test_a_vote_that_is_none_backs_out(peer, failure):
    def move(task):
        task.writeq_td("FARQ", b"x")
        task.writeq_td("BACK", b"x")
        task.syncpoint()

    handle = peer.region.start(move)
    peer.run()
    peer.say("REPLY", peer.last("REQUEST").number, **REPLY)
    peer.say("VOTE", peer.last("PREPARE").number, **{**VOTE, "failure": failure})
    assert not peer.link.acquired
    with pytest.raises(TdqError, match="ROLLEDBACK"):
        handle.result()
    assert peer.region.peek("FARQ") == []
    assert peer.left() == (0, 0, 0, 0)


def test_an_answer_to_what_was_not_asked_is_a_lost_link(peer):
    peer.say("VOTE", 99, **VOTE)
    assert not peer.link.acquired


def test_another_name_is_a_lost_link(peer):
    peer.say("HELLO", applid="FARAPPL")
    assert peer.link.acquired
    peer.say("HELLO", applid="OTHRAPPL")
    assert not peer.link.acquired
    assert peer.link.end.netname == "FARAPPL"


def test_what_comes_in_one_piece_behind_that_is_let_go(peer):
    wrong = peer.frame("HELLO", applid="OTHRAPPL")
    with suppress(LinkDown):
        peer.end.send(wrong + peer.frame("REMIND", key=KEY) + peer.frame("PREPARE", key=KEY))
    peer.run()
    assert not peer.link.acquired
    assert peer.left() == (0, 0, 0, 0)


@pytest.mark.parametrize("kind", ["COMMIT", "REMIND"])
@pytest.mark.parametrize("seed", range(6))
def test_a_commit_of_what_the_last_link_left_unprepared_leaves_nothing_behind(seed, kind):
    """It may come over the next link before anybody has come to the loss of the one before."""
    with Region(
        [define_tdqueue(name="FARQ", type="INTRA", recovstatus="LOGICAL")],
        applid="NEARAPPL", sysid="NEAR", supplied_queues=False, dispatcher=Dispatcher(seed=seed),
    ) as region:  # fmt: skip
        peer = Peer(region)
        peer.step("REQUEST")
        peer.attach(("HELLO", {"applid": "FARAPPL"}), (kind, {"key": KEY, **URGENT.get(kind, {})}))
        assert region.peek("FARQ") == []
        assert peer.left() == (0, 0, 0, 0)
