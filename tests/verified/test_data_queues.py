"""What the data queue APIs answer. These bodies run against a real IBM i too: see the chapter on verified tests.

Each makes its queues in the target's library, which is empty when it begins.
"""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.verified


@pytest.fixture
def target(tdq_job_target):
    return tdq_job_target


def make(target, name: str, keywords: str) -> str:
    """A queue in the library; gives the library's name."""
    assert target.command(f"CRTDTAQ DTAQ({target.library}/{name}) {keywords}").message == ""
    return target.library


def chars(text: str, length: int) -> bytes:
    """CHAR in CCSID 37."""
    return text.ljust(length).encode("cp037")


def packed(number: int, size: int) -> bytes:
    """A packed decimal, positive."""
    return bytes.fromhex(f"{number:0{size * 2 - 1}d}F")


@pytest.mark.parametrize(("seq", "order"), [("*FIFO", [b"A", b"B", b"C"]), ("*LIFO", [b"C", b"B", b"A"])])
def test_fifo_and_lifo(target, seq: str, order: list[bytes]) -> None:
    library = make(target, "Q", f"MAXLEN(10) SEQ({seq})")
    for data in (b"A", b"B", b"C"):
        target.qsnddtaq("Q", library, data)
    assert [target.qrcvdtaq("Q", library).data for _ in range(3)] == order
    assert target.qrcvdtaq("Q", library).data == b""


@pytest.mark.parametrize(
    ("order", "key", "got"),
    [("EQ", b"2", b"2a"), ("GE", b"2", b"2a"), ("GT", b"2", b"3"), ("LT", b"2", b"1"), ("LE", b"3", b"1"),
     ("NE", b"1", b"2a"), ("EQ", b"9", b""), ("GT", b"3", b""), ("LT", b"1", b"")],
)  # fmt: skip
def test_a_keyed_receive_gets_the_lowest_key_that_qualifies(target, order: str, key: bytes, got: bytes) -> None:
    library = make(target, "K", "MAXLEN(10) SEQ(*KEYED) KEYLEN(1)")
    for data in (b"3", b"2a", b"1", b"2b"):
        target.qsnddtaq("K", library, data, data[:1])
    answer = target.qrcvdtaq("K", library, 0, order, key)
    assert (answer.data, answer.key) == (got, got[:1])


def test_a_look_leaves_the_entry(target) -> None:
    library = make(target, "Q", "MAXLEN(10)")
    target.qsnddtaq("Q", library, b"A")
    assert target.qrcvdtaq("Q", library, remove=False).data == b"A"
    assert target.qmhqrdqd("Q", library).values["number_of_messages"] == 1
    assert target.qrcvdtaq("Q", library).data == b"A"
    assert target.qmhqrdqd("Q", library).values["number_of_messages"] == 0


def test_clear_by_key(target) -> None:
    library = make(target, "K", "MAXLEN(10) SEQ(*KEYED) KEYLEN(1)")
    for data in (b"1", b"2", b"3"):
        target.qsnddtaq("K", library, data, data)
    target.qclrdtaq("K", library, "GE", b"2")
    left = target.qmhrdqm("K", library, "K", "GE", b"0").values["messages"]
    assert left == [[b"1".hex(), b"1".hex()]]


def test_messages(target) -> None:
    library = make(target, "Q", "MAXLEN(10)")
    make(target, "K", "MAXLEN(10) SEQ(*KEYED) KEYLEN(2)")
    assert target.qsnddtaq("NOTHERE", library, b"A").message == "CPF9801"
    assert target.qrcvdtaq("NOTHERE", library).message == "CPF9801"
    assert target.qsnddtaq("Q", library, b"A" * 11).message == "CPF2498"
    assert target.qsnddtaq("K", library, b"A", b"1").message == "CPF9506"
    assert target.command(f"DLTDTAQ DTAQ({library}/NOTHERE)").message == "CPF2105"


def test_a_description(target) -> None:
    library = make(target, "K", "MAXLEN(80) SEQ(*KEYED) KEYLEN(4) SENDERID(*YES)")
    values = target.qmhqrdqd("K", library).values
    assert (values["message_length"], values["key_length"], values["sequence"]) == (80, 4, "K")
    assert values["include_sender_id"] == "Y"


def test_two_jobs_share_a_queue(target) -> None:
    library = make(target, "Q", "MAXLEN(10)")
    target.begin(1)
    target.qsnddtaq("Q", library, b"A", job=1)
    target.end(1)
    assert target.qrcvdtaq("Q", library).data == b"A"


def test_the_bytes_of_send_and_receive(target) -> None:
    library = make(target, "Q", "MAXLEN(10)")
    place = chars("Q", 10), chars(library, 10)
    sent = target.call("QSNDDTAQ", *place, packed(5, 3), b"HELLO")
    assert sent.message == ""
    received = target.call("QRCVDTAQ", *place, 3, 10, packed(0, 3))
    length, data = (bytes.fromhex(each) for each in received.values["storage"][2:4])
    assert (length, data) == (packed(5, 3), b"HELLO" + bytes(5))
    empty = target.call("QRCVDTAQ", *place, 3, 10, packed(0, 3))
    assert bytes.fromhex(empty.values["storage"][2]) == packed(0, 3)
