"""What no other side says: each input comes to answers, or the link is given up."""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tdqsim.core.messages import MessageFrame
from tdqsim.core.transport import LinkDown, Pipe
from tdqsim.ibmi import EscapeMessage, System
from tdqsim.ibmi.ddm import KINDS, DdmLink, DdmServer
from tests.server.links.frames_check import check


def test_some_hundred_inputs():
    picked = random.Random(8)
    assert sum(check(bytes((picked.randrange(3),)) + picked.randbytes(picked.randrange(80))) for _ in range(600)) > 300


@given(st.binary(max_size=300))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_bytes(data):
    check(data)


@pytest.fixture
def system():
    with System("SYS1") as made:
        yield made


def asked(system, name):
    """What a system answers to a request of a name that no system sends."""
    pipe, heard = Pipe(), []
    pipe.ends[0].open(heard.append, lambda _why: None)
    DdmServer(system, pipe.ends[1], at_once=False)
    named = {"user": "QSECOFR", "name": name, "library": "QGPL", "route": []}
    pipe.ends[0].send(MessageFrame("CLEAR", named, number=1).to_bytes())
    system.dispatcher.run_ready()
    return b"".join(heard)


def test_a_name_that_is_no_name_is_answered(system):
    assert b"CPF9510" in asked(system, "\ud800")


def answered(system, **changed):
    """What a requester comes to whose request is answered so."""
    pipe = Pipe()

    def answer(_question):
        fields = {"found": True, "key": -1, "sender": 0, "time_ns": 0, **changed}
        if "ids" in changed:
            fields = {"kinds": ["escape"], "severities": ["40"], "texts": ["x"], "lengths": ["0"], **changed}
        kind = "FAILED" if "ids" in changed else "DONE"
        assert fields.keys() == KINDS[kind].keys()
        pipe.ends[0].send(MessageFrame(kind, fields, b"data", number=1, answers=1).to_bytes())

    pipe.ends[0].open(answer, lambda _why: None)
    link = DdmLink(system.dispatcher, pipe.ends[1])
    return link.receive("QSECOFR", "Q", "QGPL", None, "", None)


def test_a_good_answer(system):
    assert answered(system).data == b"data"
    with pytest.raises(EscapeMessage, match="CPF9801"):
        answered(system, ids=["CPF9801"])


@pytest.mark.parametrize(
    "changed",
    [
        {"sender": 1}, {"sender": 36}, {"sender": -1}, {"key": 5}, {"ids": ["CPF98011"]}, {"ids": ["\ud800PF9801"]},
        {"ids": ["CPF9801"], "severities": ["100"]}, {"ids": ["CPF9801"], "severities": ["high"]}, {"ids": []},
    ],
    ids=str,
)  # fmt: skip
def test_an_answer_that_is_none_is_a_lost_link(system, changed):
    with pytest.raises(LinkDown):
        answered(system, **changed)


def test_answers_that_nobody_awaits_are_not_kept(system):
    pipe = Pipe()
    link = DdmLink(system.dispatcher, pipe.ends[1])
    done = {"found": False, "key": -1, "sender": 0, "time_ns": 0}
    for number in range(1, 50):
        pipe.ends[0].send(MessageFrame("DONE", done, number=number, answers=number).to_bytes())
    pipe.ends[0].open(lambda _question: pipe.ends[0].send(MessageFrame("DONE", done, number=50, answers=1).to_bytes()), lambda _why: None)  # fmt: skip
    assert link.receive("QSECOFR", "Q", "QGPL", None, "", None) is None
