"""Regions and their messages: delayed, doubled, out of order, lost while regions come together, and no messages at all;
and two regions in two threads, which have nothing in common but bytes."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tdqsim.cics import Region
from tdqsim.cics.ship.messages import KINDS, RESYNC_STEPS, STEPS
from tdqsim.cics.ship.remote import LinkEnd
from tdqsim.core.engine import Engine
from tdqsim.core.messages import FrameDecoder, MessageFrame
from tdqsim.core.transport import LinkDown
from tdqsim.definitions import define_tdqueue
from tests.recovery.complexes import Complex, pair
from tests.recovery.helpers import outcome, queue

LONG = 60.0


@pytest.fixture(params=[True, False], ids=["at once", "network"])
def two(tmp_path, request):
    made = pair(tmp_path, at_once=request.param)
    yield made
    made.sysplex.close()


def move(task) -> str | None:
    for name in ("LOCL", "REMQ"):
        task.writeq_td(name, b"new")
    return outcome(task.syncpoint)


def everywhere(made: Complex) -> set[tuple[bytes, ...]]:
    return {tuple(records) for records in made.contents().values()}


# -- delays -----------------------------------------------------------------------------------------------------------


@pytest.mark.rule("REC-TWO-PHASE")
@pytest.mark.parametrize("step", ["REQUEST", "REPLY", "PREPARE", "VOTE", "COMMIT", "COMMITTED"])
def test_a_message_that_comes_late_changes_nothing(two, step):
    """Meanwhile the requester waits, others have their turns, and what is locked over there is locked."""
    two.link().delay_at(step)
    handle = two["NEAR"].start(move)
    two.run()
    assert not handle.done
    assert two.link().release() == 1
    two.run()
    assert handle.result() is None
    assert two["FAR"].peek("FARQ") == [b"new"]
    assert b"new" in two["NEAR"].peek("LOCL")
    assert two.left() == []


@pytest.mark.parametrize(("hops", "taken"), [(8, True), (9, False), (0, False)])
def test_a_request_that_has_gone_through_too_many_regions_is_refused_by_the_region_that_gets_it(two, hops, taken):
    """Also where the region that sends it does not count."""
    pipe = two.link()._pipe
    carry = pipe.carry

    def altered(data: bytes, to: Any) -> None:
        (message,) = FrameDecoder(KINDS).feed(data)
        if message.kind == "REQUEST":
            fields = {**message.fields, "hops": hops}
            data = MessageFrame(message.kind, fields, message.data, message.number, message.answers).to_bytes()
        carry(data, to)

    pipe.carry = altered
    met = two["NEAR"].start(lambda task: outcome(task.writeq_td, "REMQ", b"new")).result()
    assert met == (None if taken else "ISCINVREQ")
    assert two["FAR"].peek("FARQ") == [b"new"] * taken
    assert two.link().acquired
    assert two.left() == []


@pytest.mark.parametrize("step", ["BACKOUT", "BACKED_OUT"])
def test_a_backout_that_comes_late_is_a_backout(two, step):
    def work(task):
        task.writeq_td("REMQ", b"new")
        task.syncpoint_rollback()

    two.link().delay_at(step)
    handle = two["NEAR"].start(work)
    two.run()
    assert not handle.done
    two.link().release()
    two.run()
    assert handle.done
    assert everywhere(two) == {()}
    assert two.left() == []


@pytest.mark.parametrize("step", ["REQUEST", "REPLY", "PREPARE", "VOTE", "COMMIT", "COMMITTED"])
@pytest.mark.parametrize("end", ["purge", "cut", "NEAR", "FAR"])
def test_what_ends_while_a_message_is_under_way_ends_the_same_everywhere(two, step, end):
    two.link().delay_at(step)
    handle = two["NEAR"].start(move)
    two.run()
    if end == "purge":
        two["NEAR"].purge(handle)
        two.run()
        two.link().release()
    elif end == "cut":
        two.link().cut()
    else:
        two[end].close(clean=False)
    two.run()
    two.recover(end)
    decided = step in ("COMMIT", "COMMITTED")
    assert everywhere(two) == {(b"new",) if decided else ()}
    assert two.left() == []


# -- what is no link any more -----------------------------------------------------------------------------------------


def frames(two: Complex) -> list[tuple[Any, bytes]]:
    """What goes over the link from now on, with the end for which it is."""
    seen: list[tuple[Any, bytes]] = []
    pipe = two.link()._pipe
    carry = pipe.carry

    def watched(data: bytes, to: Any) -> None:
        seen.append((to, data))
        carry(data, to)

    pipe.carry = watched
    return seen


@pytest.mark.parametrize("trick", ["doubled", "swallowed"])
@pytest.mark.parametrize("step", ["REQUEST", "REPLY", "PREPARE", "VOTE", "COMMIT", "COMMITTED"])
def test_a_message_that_comes_twice_or_never_is_a_lost_link(two, step, trick):
    """A message that never comes is noticed when the next one does, or when the link is cut at last."""
    pipe = two.link()._pipe
    carry = pipe.carry

    def tricked(data: bytes, to: Any) -> None:
        (message,) = FrameDecoder(KINDS).feed(data)
        if message.kind != step:
            carry(data, to)
        elif trick == "doubled":
            carry(data, to)
            carry(data, to)

    pipe.carry = tricked
    handle = two["NEAR"].start(move)
    two.run()
    if trick == "doubled":
        assert not two.link().acquired
    else:
        assert not handle.done
        two.link().cut()
        two.run()
    assert handle.done
    two.link().restore()
    two.run()
    assert len(everywhere(two)) == 1
    assert two.left() == []


def test_messages_out_of_order_are_a_lost_link(two):
    seen = frames(two)
    two["NEAR"].start(move).result()
    (to, _), _, (_, second) = seen[:3]
    assert two.link().acquired
    to.take(second)
    assert not two.link().acquired
    two.link().restore()
    assert two.left() == []
    assert everywhere(two) == {(b"new",)}


@pytest.mark.parametrize("seed", range(8))
def test_bytes_that_are_no_message_are_a_lost_link_and_nothing_else(two, seed):
    chance = random.Random(seed)
    seen = frames(two)
    with two["NEAR"].task() as task:
        task.writeq_td("LOCL", b"new")
        task.writeq_td("REMQ", b"new")
        to, frame = chance.choice(seen)
        broken = bytearray(frame)
        for _ in range(chance.randint(1, 6)):
            broken[chance.randrange(len(broken))] = chance.randrange(256)
        to.take(bytes(broken[: chance.randint(9, len(broken))]) + b"\xff" * (1 << 21))
        assert not two.link().acquired
        assert outcome(task.syncpoint) == "ROLLEDBACK"
    two.link().restore()
    assert everywhere(two) == {()}
    assert two.left() == []


STRANGE = {
    "an answer to nothing": ("VOTE", {"vote": True, "failure": "", "resp": 0, "resp2": 0, "length": 0, "detail": ""}),
    "an end of nothing": ("COMMIT", {"key": "NEAR.00000000000000FF", "urgent": False}),
    "no unit of work": ("ASK", {"key": "nobody's"}),
    "another command": (
        "REQUEST",
        {
            "key": "NEAR.01", "command": "LINK", "queue": "FARQ", "nosuspend": False, "userid": "X", "transid": "X",
            "hops": 1, "dtimout_ns": -1, "length": 0,
        },
    ),
    "too many hops": (
        "REQUEST",
        {
            "key": "NEAR.01", "command": "READQ TD", "queue": "FARQ", "nosuspend": False, "userid": "X",
            "transid": "X", "hops": 10**9, "dtimout_ns": -1, "length": 0,
        },
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", STRANGE)
def test_messages_that_no_region_sends_do_no_harm(two, what):
    kind, fields = STRANGE[what]
    pipe = two.link()._pipe
    answers = 99 if kind == "VOTE" else 0
    pipe.ends[1].take(MessageFrame(kind, fields, b"", 2, answers).to_bytes())
    two.run()
    two.link().cut()
    two.link().restore()
    assert two["NEAR"].start(move).result() is None
    assert everywhere(two) == {(b"new",)}
    assert two.left() == []


@pytest.mark.parametrize(
    "kinds", [("COMMIT",), ("PREPARE", "REQUEST")], ids=["a commit before its prepare", "a request behind its prepare"]
)
def test_what_no_unit_of_work_can_be_asked_for_any_more_or_yet_is_a_lost_link(two, kinds):
    seen = frames(two)
    with two["NEAR"].task() as task:
        task.writeq_td("LOCL", b"new")
        task.writeq_td("REMQ", b"new")
        far, request = next((to, *FrameDecoder(KINDS).feed(frame)) for to, frame in seen)
        key = request.fields["key"]
        fields = {"COMMIT": {"key": key, "urgent": False}, "PREPARE": {"key": key}, "REQUEST": request.fields}
        for number, kind in enumerate(kinds, request.number + 1):
            data = request.data if kind == "REQUEST" else b""
            far.take(MessageFrame(kind, fields[kind], data, number, 0).to_bytes())
            two.run()
        assert not two.link().acquired
        assert outcome(task.syncpoint) == "ROLLEDBACK"
    two.link().restore()
    assert everywhere(two) == {()}
    assert two.left() == []


# -- resynchronisation ------------------------------------------------------------------------------------------------


@pytest.mark.rule("REC-RESYNC")
@pytest.mark.parametrize("step", STEPS)
def test_the_link_is_lost_once_more_while_the_regions_come_together(two, step):
    two.link().cut_at(step)
    saw = two["NEAR"].start(move)
    two.run()
    two.link().restore()
    two.link().cut()
    two.link().restore()
    assert len(everywhere(two)) == 1, saw
    two.link().cut()
    two.link().restore()
    assert two.left() == []


@pytest.mark.rule("REC-RESYNC")
@pytest.mark.parametrize("again", RESYNC_STEPS)
@pytest.mark.parametrize("step", ["VOTE", "COMMIT", "COMMITTED"])
def test_a_message_of_resynchronisation_is_lost(two, step, again):
    """The link is cut at it as soon as it is back: what was in doubt is so still, and the next time it is settled."""
    two.link().cut_at(step)
    two["NEAR"].start(move)
    two.run()
    link = two.link()
    link.cut_at(again)
    link.restore()
    two.run()
    link.cut()
    link.restore()
    two.run()
    assert everywhere(two) == {(b"new",) if step in ("COMMIT", "COMMITTED") else ()}
    assert two.left() == []


# -- two threads ------------------------------------------------------------------------------------------------------


class Wire:
    """One end of a way between two engines: bytes go from thread to thread, cut into pieces."""

    other: Wire

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.acquired = True

    def open(self, receive: Callable[[bytes], None], lost: Callable[[str], None]) -> None:
        self.receive, self.lost = receive, lost

    def send(self, data: bytes) -> None:
        if not self.acquired:
            raise LinkDown("cut")
        for at in range(0, len(data), 7):
            self.other.engine.outside(partial(self.other.receive, data[at : at + 7]))

    def close(self) -> None:
        self.cut()

    def cut(self) -> None:
        for end in (self, self.other):
            if end.acquired:
                end.acquired = False
                end.engine.outside(partial(end.lost, "cut"))


def test_regions_of_two_threads_have_nothing_in_common_but_bytes(tmp_path: Path):
    with Engine() as here, Engine() as there:
        near = here.make(
            Region,
            [queue("LOCL"), define_tdqueue(name="REMQ", remotesystem="FAR", remotename="FARQ")],
            applid="NEAR", sysid="NEAR", store=tmp_path / "near", supplied_queues=False,
        )  # fmt: skip
        far = there.make(
            Region, [queue("FARQ")], applid="FAR", sysid="FAR", store=tmp_path / "far", supplied_queues=False
        )
        wires = (Wire(here), Wire(there))
        wires[0].other, wires[1].other = wires[1], wires[0]
        ends = []
        for engine, region, name, wire in ((here, near, "FAR", wires[0]), (there, far, "NEAR", wires[1])):

            def attach(region: Region = region, name: str = name, wire: Wire = wire) -> LinkEnd:
                end = LinkEnd(wire, region._core, name, at_once=False)
                end.connect(wire)
                region._core.links[name] = end
                return end

            ends.append(engine.outside(attach).result(LONG))
        for engine, end in ((here, ends[0]), (there, ends[1])):
            engine.outside(end.hello).result(LONG)
        assert here.wait_until(lambda: ends[0].netname).result(LONG) == "FAR"

        moving = [here.submit(lambda: near.start(move)) for _ in range(20)]
        assert {each.result(LONG) for each in moving} == {None}
        assert there.submit(lambda: far.peek("FARQ")).result(LONG) == [b"new"] * 20
        assert here.submit(lambda: near.readq_td("REMQ")).result(LONG) == b"new"
        wires[0].cut()
        assert here.submit(lambda: outcome(near.readq_td, "REMQ")).result(LONG) == "SYSIDERR"
        assert there.submit(lambda: (list(far.recovery.units), far.tasks)).result(LONG) == ([], {})
