"""Messages as bytes and the channel that numbers them: what goes in comes out, and nothing else gets through."""

from __future__ import annotations

import json
import random
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tdqsim.core.messages import DATA_LIMIT, FrameDecoder, MessageError, MessageFrame
from tdqsim.core.transport import LinkDown, MessageChannel, Pipe

KINDS = {"SAY": {"word": str, "count": int, "loud": bool, "names": list}, "HUSH": {}}
FIELDS = {"word": "x", "count": 1, "loud": False, "names": []}

words = st.text(st.characters(exclude_categories=("Cs",)), max_size=40)
messages = st.builds(
    MessageFrame,
    st.just("SAY"),
    st.fixed_dictionaries(
        {
            "word": words,
            "count": st.integers(-(2**63), 2**63 - 1),
            "loud": st.booleans(),
            "names": st.lists(words, max_size=4),
        }
    ),
    st.binary(max_size=300),
    st.integers(0, 2**63 - 1),
    st.integers(0, 2**63 - 1),
)


@given(st.lists(messages, max_size=5), st.randoms(use_true_random=False))
def test_what_is_encoded_is_decoded_in_pieces_of_any_length(sent, chance):
    stream = b"".join(map(MessageFrame.to_bytes, sent))
    decoder, found, at = FrameDecoder(KINDS), [], 0
    while at < len(stream):
        piece = chance.randint(1, 50)
        found += decoder.feed(stream[at : at + piece])
        at += piece
    assert found == sent


@given(st.binary(max_size=400))
def test_any_bytes_are_messages_incomplete_or_refused(data):
    with suppress(MessageError):
        FrameDecoder(KINDS).feed(data)


@given(messages, st.integers(0, 10**9))
def test_a_message_with_some_bytes_changed_is_never_another_kind_of_error(message, seed):
    chance, frame = random.Random(seed), bytearray(message.to_bytes())
    for _ in range(chance.randint(1, 4)):
        frame[chance.randrange(len(frame))] = chance.randrange(256)
    try:
        found = FrameDecoder(KINDS).feed(bytes(frame))
    except MessageError:
        return
    for each in found:
        assert set(each.fields) == set(KINDS[each.kind])


def framed(header: bytes, data: bytes = b"", version: int = 1) -> bytes:
    return bytes((version, 0)) + len(header).to_bytes(2, "big") + len(data).to_bytes(4, "big") + header + data


def header(**changed: Any) -> bytes:
    return json.dumps({"kind": "SAY", "number": 1, "answers": 0, "fields": FIELDS} | changed).encode()


REFUSED = {
    "another version": framed(header(), version=2),
    "no version": b"\0" * 20,
    "data without bound": bytes((1, 0, 0, 2)) + (DATA_LIMIT + 1).to_bytes(4, "big") + b"{}",
    "no JSON": framed(b"hello"),
    "not UTF-8": framed(b'{"kind":"\xff"}'),
    "no object": framed(b"[1]"),
    "deep": framed(b"[" * 60_000),
    "a number without end": framed(b'{"number":' + b"9" * 6_000 + b"}"),
    "infinity": framed(header().replace(b'"count": 1', b'"count": Infinity')),
    "NaN": framed(header().replace(b'"count": 1', b'"count": NaN')),
    "a name twice": framed(header().replace(b'"number"', b'"kind": "SAY", "number"')),
    "one name too many": framed(header(more=1)),
    "one name too few": framed(b'{"kind":"SAY","number":1,"fields":{}}'),
    "an unknown kind": framed(header(kind="SHOUT")),
    "a kind that is no word": framed(header(kind=["SAY"])),
    "a number that is none": framed(header(number="1")),
    "a number that is true": framed(header(number=True)),
    "a number below 0": framed(header(number=-1)),
    "a number beyond": framed(header(number=2**63)),
    "an answer that is none": framed(header(answers=None)),
    "fields that are none": framed(header(fields=[])),
    "a field too many": framed(header(fields=FIELDS | {"more": 1})),
    "a field too few": framed(header(fields={"word": "x"})),
    "true for a number": framed(header(fields=FIELDS | {"count": True})),
    "a fraction": framed(header(fields=FIELDS | {"count": 1.5})),
    "a number for true": framed(header(fields=FIELDS | {"loud": 1})),
    "bytes for a word": framed(header(fields=FIELDS | {"word": None})),
    "a list of numbers": framed(header(fields=FIELDS | {"names": [1]})),
    "a great number": framed(header(fields=FIELDS | {"count": 2**63})),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_no_message_is_refused(what):
    with pytest.raises(MessageError):
        FrameDecoder(KINDS).feed(REFUSED[what])


def test_what_is_too_long_is_not_sent():
    with pytest.raises(MessageError, match="allowed are"):
        MessageFrame("SAY", FIELDS | {"word": "x" * 70_000}).to_bytes()
    with pytest.raises(MessageError, match="allowed are"):
        MessageFrame("SAY", FIELDS, b"x" * (DATA_LIMIT + 1)).to_bytes()
    whole = MessageFrame("SAY", FIELDS, b"x" * DATA_LIMIT)
    assert FrameDecoder(KINDS).feed(whole.to_bytes()) == [whole]


# -- channels ---------------------------------------------------------------------------------------------------------


class Ends:
    """A pipe with a channel at each end, and what they were told."""

    def __init__(self) -> None:
        self.pipe = Pipe()
        self.arrived: tuple[list[MessageFrame], list[MessageFrame]] = ([], [])
        self.lost: tuple[list[str], list[str]] = ([], [])
        self.here, self.there = (
            MessageChannel(self.pipe.ends[end], KINDS, self.arrived[end].append, self.lost[end].append)
            for end in (0, 1)
        )


def test_messages_are_numbered_each_way():
    ends = Ends()
    assert [ends.here.send("SAY", FIELDS, b"a"), ends.here.send("HUSH", {})] == [1, 2]
    assert ends.there.send("HUSH", {}, answers=2) == 1
    assert [(each.kind, each.number, each.data) for each in ends.arrived[1]] == [("SAY", 1, b"a"), ("HUSH", 2, b"")]
    assert [(each.number, each.answers) for each in ends.arrived[0]] == [(1, 2)]


@pytest.mark.parametrize("number", [0, 1, 3, 4])
def test_a_number_that_is_not_the_next_is_a_lost_link_for_both(number):
    ends = Ends()
    ends.here.send("HUSH", {})
    ends.pipe.ends[1].take(MessageFrame("HUSH", {}, b"", number).to_bytes())
    assert len(ends.arrived[1]) == 1
    assert (len(ends.lost[0]), len(ends.lost[1])) == (1, 1)
    assert f"message {number} came where 2 was due" in ends.lost[1][0]
    for channel in (ends.here, ends.there):
        assert channel.is_lost
        with pytest.raises(LinkDown):
            channel.send("HUSH", {})


def test_nothing_is_received_behind_a_number_that_is_not_the_next():
    ends = Ends()
    late, due = (MessageFrame("HUSH", {}, b"", number).to_bytes() for number in (2, 1))
    ends.pipe.ends[1].take(late + due)
    assert ends.arrived[1] == []


def test_the_first_message_is_decoded_once():
    decoder = FrameDecoder(KINDS)
    one, other = (MessageFrame("HUSH", {}, b"", number) for number in (1, 2))
    assert decoder.first(one.to_bytes()[:9]) is None
    first, rest = decoder.first(one.to_bytes()[9:] + other.to_bytes())
    assert (first, rest) == (one, other.to_bytes())
    assert decoder.feed(rest) == [other]


def test_bytes_that_are_no_message_are_a_lost_link():
    ends = Ends()
    ends.pipe.ends[0].take(b"GET / HTTP/1.1\r\n\r\n")
    assert ends.here.is_lost
    assert ends.there.is_lost
    ends.pipe.ends[0].take(MessageFrame("HUSH", {}, b"", 1).to_bytes())
    assert ends.arrived[0] == []


def test_a_message_that_is_too_long_is_no_gap():
    ends = Ends()
    with pytest.raises(MessageError):
        ends.here.send("SAY", FIELDS, b"x" * (DATA_LIMIT + 1))
    assert ends.here.send("HUSH", {}) == 1
    assert not ends.there.is_lost


def test_to_close_tells_both_once():
    ends = Ends()
    ends.here.close()
    ends.there.close()
    assert (len(ends.lost[0]), len(ends.lost[1])) == (1, 1)


def test_what_is_held_back_arrives_in_its_order_and_what_follows_waits_behind_it():
    ends = Ends()
    ends.pipe.holds = lambda frame: b"SAY" in frame
    for kind, fields in (("HUSH", {}), ("SAY", FIELDS), ("HUSH", {})):
        ends.here.send(kind, fields)
    ends.there.send("HUSH", {})
    assert [each.number for each in ends.arrived[1]] == [1]
    assert [each.number for each in ends.arrived[0]] == [1]
    ends.pipe.holds = None
    assert ends.pipe.release() == 2
    assert [each.number for each in ends.arrived[1]] == [1, 2, 3]


def test_what_was_held_back_when_the_pipe_is_cut_is_lost():
    ends = Ends()
    ends.pipe.holds = lambda _frame: True
    ends.here.send("HUSH", {})
    ends.pipe.close()
    assert ends.pipe.release() == 0
    assert ends.arrived[1] == []


def test_a_pipe_that_is_closed_before_a_frame_goes_loses_it():
    def cut(_frame: bytes) -> None:
        pipe.close()

    pipe = Pipe(before=cut)
    arrived: list[MessageFrame] = []
    here = MessageChannel(pipe.ends[0], KINDS, arrived.append, lambda _why: None)
    MessageChannel(pipe.ends[1], KINDS, arrived.append, lambda _why: None)
    with pytest.raises(LinkDown):
        here.send("HUSH", {})
    assert arrived == []
