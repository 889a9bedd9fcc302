from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tdqsim.ibmi import RDQS0100, RDQS0200, Change, ParameterError, System, parse_messages
from tests.ibmi.conftest import b4, e, name20, retrieved
from tests.rules import expect_rule


@pytest.fixture
def keyed(job):
    job.crtdtaq(dtaq="APPLIB/KEYED", maxlen=10, seq="*KEYED", keylen=3)
    for key, data in ((b"GGG", b"g1"), (b"XXX", b"x1"), (b"AAA", b"a1"), (b"GGG", b"g2")):
        job.qsnddtaq("KEYED", "APPLIB", data, key)


def texts(answer):
    return [entry.message_text for entry in answer.messages]


@pytest.mark.parametrize("options", [{}, {"seq": "*KEYED", "keylen": 3}])
def test_bytes_available_count_the_sender_id_of_each_entry(job, options):
    job.crtdtaq(dtaq="APPLIB/SIGNED", maxlen=10, senderid="*YES", **options)
    for _ in range(3):
        job.qsnddtaq("SIGNED", "APPLIB", b"xx", b"KEY" if options else None)
    whole = job.qmhrdqm("SIGNED", "APPLIB", "RDQM0200", RDQS0100("A", 100))
    part = retrieved(job, "SIGNED", "APPLIB", "RDQM0200", RDQS0100("A", 100), 8)
    assert int.from_bytes(part[4:8], "big") == whole.bytes_returned == 56 + 3 * (16 + 36 + 2)


@pytest.mark.rule("DTAQ-RETRIEVE-KEYED-ALL")
def test_selections_of_a_keyed_queue_without_keys(job, keyed):
    order = [b"a1", b"g1", b"g2", b"x1"]
    for kind, expected in (("A", order), ("R", order[::-1]), ("F", order[:1]), ("L", order[-1:])):
        answer = job.qmhrdqm("KEYED", "APPLIB", "RDQM0200", RDQS0100(kind))
        assert texts(answer) == expected
        assert (answer.message_key_length_returned, answer.message_key_length_available) == (0, 3)


@pytest.mark.rule(
    "DTAQ-RETRIEVE-FORMAT", "DTAQ-RETRIEVE-LENGTH", "DTAQ-RETRIEVE-TYPE", "DTAQ-RETRIEVE-ORDER", "DTAQ-RETRIEVE-BYTES",
    "DTAQ-RETRIEVE-NOT-KEYED", "DTAQ-RETRIEVE-KEY-LENGTH", "DTAQ-RETRIEVE-KEY-RANGE", "DTAQ-RETRIEVE-TEMPLATE",
)  # fmt: skip
def test_retrieve_refuses(job, keyed):
    job.crtdtaq(dtaq="APPLIB/WORK", maxlen=10)

    def get(selection, name="KEYED", form="RDQM0100"):
        return lambda: job.qmhrdqm(name, "APPLIB", form, selection)

    expect_rule("DTAQ-RETRIEVE-FORMAT", get(RDQS0100(), form="RDQM0300"))
    expect_rule("DTAQ-RETRIEVE-LENGTH", retrieved, job, "WORK", "APPLIB", "RDQM0100", RDQS0100(), 7)
    expect_rule("DTAQ-RETRIEVE-TYPE", get(RDQS0100("K")))
    expect_rule("DTAQ-RETRIEVE-TYPE", get(RDQS0200(b"AAA", selection_type="A")))
    expect_rule("DTAQ-RETRIEVE-ORDER", get(RDQS0200(b"AAA", "XX")))
    for text in (-1, 65537):
        expect_rule("DTAQ-RETRIEVE-BYTES", get(RDQS0100("A", text)))
        expect_rule("DTAQ-RETRIEVE-BYTES", get(RDQS0200(b"AAA", "EQ", text)))
    for keys in (-1, 257):
        expect_rule("DTAQ-RETRIEVE-BYTES", get(RDQS0200(b"AAA", "EQ", 0, keys)))
    expect_rule("DTAQ-RETRIEVE-NOT-KEYED", get(RDQS0200(b"AAA"), "WORK"))
    expect_rule("DTAQ-RETRIEVE-KEY-LENGTH", get(RDQS0200(b"AA")))

    def raw(selection, length, form, name="KEYED"):
        job.call(
            "QMHRDQM",
            bytearray(99),
            b4(99),
            e("RDQM0100"),
            name20(name, "APPLIB"),
            selection,
            b4(length),
            e(form),
            b4(0),
        )

    for length in (7, 9):
        expect_rule("DTAQ-RETRIEVE-TEMPLATE", raw, e("A   ") + b4(1) + b"x", length, "RDQS0100")
    expect_rule("DTAQ-RETRIEVE-TEMPLATE", raw, e("KEQ ") + b4(1) + b4(1) + b4(3) + b"AAA", 18, "RDQS0200")
    for key_length in (0, -1, 257):
        selection = e("KEQ ") + b4(1) + b4(1) + b4(key_length) + b"AAA"
        expect_rule("DTAQ-RETRIEVE-KEY-RANGE", raw, selection, 19, "RDQS0200")
        expect_rule("DTAQ-RETRIEVE-NOT-KEYED", raw, selection, 19, "RDQS0200", "WORK")
    expect_rule("DTAQ-RETRIEVE-ORDER", raw, e("KXX ") + b4(1) + b4(1) + b4(0), 16, "RDQS0200")
    expect_rule("DTAQ-RETRIEVE-FORMAT", raw, bytes(8), 8, "RDQS0300")


def test_the_largest_request_is_repeated_as_it_is(job, keyed):
    answer = job.qmhrdqm("KEYED", "APPLIB", "RDQM0200", RDQS0200(b"AAA", "EQ", 65536, 256))
    assert (answer.maximum_message_text_length_requested, answer.message_key_length_returned) == (65536, 256)
    assert answer.messages[0].message_key == b"AAA" + bytes(253)
    assert texts(answer) == [b"a1"]


@pytest.mark.rule(
    "DTAQ-CHANGE-COUNT", "DTAQ-CHANGE-KEY", "DTAQ-CHANGE-VALUE", "DTAQ-CHANGE-LENGTH", "DTAQ-CHANGE-LAST-WINS"
)
def test_change(job):
    queue = job.crtdtaq(dtaq="APPLIB/WORK", maxlen=10)
    on, off = e("1"), e("0")
    expect_rule("DTAQ-CHANGE-COUNT", job.qmhqcdq, "WORK", "APPLIB")
    error = expect_rule("DTAQ-CHANGE-KEY", job.qmhqcdq, "WORK", "APPLIB", [Change(100, on), Change(300, on)])
    assert error.message_data == b4(300) + e("QMHQCDQ   ")
    assert not queue.autorcl  # nothing of a refused request is done
    for value in (b"", e("2"), e(" "), b"1"):
        expect_rule("DTAQ-CHANGE-VALUE", job.qmhqcdq, "WORK", "APPLIB", [Change(200, value)])
    job.qmhqcdq("WORK", "APPLIB", [Change(100, on), Change(100, off), Change(100, e("1 and more"))])
    assert queue.autorcl
    raw = b4(1) + b4(100) + b4(-1)
    error = expect_rule("DTAQ-CHANGE-LENGTH", job.call, "QMHQCDQ", name20("WORK", "APPLIB"), raw, b4(0))
    assert error.message_data == b4(-1) + b4(100)
    for short in (b"", b4(2) + b4(100) + b4(1) + on, b4(1) + b4(100) + b4(9) + on):
        expect_rule("DTAQ-ADDRESSING", job.call, "QMHQCDQ", name20("WORK", "APPLIB"), short, b4(0))


@given(
    st.lists(st.tuples(st.binary(min_size=2, max_size=2), st.binary(min_size=1, max_size=12)), max_size=12),
    st.sampled_from(["RDQM0100", "RDQM0200"]),
    st.integers(0, 20),
    st.integers(0, 5),
    st.integers(8, 400),
    st.sampled_from(["EQ", "NE", "LT", "LE", "GT", "GE"]),
    st.binary(min_size=2, max_size=2),
)
def test_retrieve_against_a_plain_sort(entries, form, text, keys, room, order, wanted):
    import operator

    with System() as system, system.job() as job:
        job.crtdtaq(dtaq="QGPL/K", maxlen=12, seq="*KEYED", keylen=2)
        for key, data in entries:
            job.qsnddtaq("K", "QGPL", data, key)
        compare = getattr(operator, order.lower())
        chosen = [one for one in sorted(entries, key=lambda one: one[0]) if compare(one[0], wanted)]
        answer = job.qmhrdqm("K", "QGPL", form, RDQS0200(wanted, order, text, keys))
        pad = (lambda data: data[:text].ljust(text, b"\0")) if form == "RDQM0100" else (lambda data: data[:text])
        expected = [(key[:keys].ljust(keys, b"\0"), pad(data)) for key, data in chosen]
        assert [(one.message_key, one.message_text) for one in answer.messages] == expected
        stamps = [one.message_enqueue_date_and_time for one in answer.messages]
        assert len(set(stamps)) == len(stamps)
        selection = RDQS0200(wanted, order, text, keys)
        short = retrieved(job, "K", "QGPL", form, selection, room)
        assert len(short) <= room
        if room >= 56:
            part = parse_messages(short, form)
            assert part.messages == answer.messages[: len(part.messages)]
            assert part.bytes_available == answer.bytes_available == answer.bytes_returned
            assert part.number_of_messages_available == len(chosen)


@given(st.binary(max_size=300), st.sampled_from(["RDQM0100", "RDQM0200"]))
def test_any_bytes_can_be_parsed_or_are_refused(data, form):
    try:
        parse_messages(data, form)
    except ValueError as error:
        assert form in str(error)  # noqa: PT017  (either outcome is fine)


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (
            lambda job: job.qmhrdqm("APPLIB/Q", selection="A"),
            "selection is str; allowed are RDQS0100('F') and other selections of that format, and RDQS0200(key, order)",
        ),
        (lambda job: job.qmhqrdqd("A/B/C"), "name 'A/B/C': allowed are NAME and LIB/NAME"),
        (lambda job: job.crtdtaq("A/B/C", maxlen=5), "name 'A/B/C': allowed are NAME and LIB/NAME"),
        (
            lambda job: job.qmhqcdq("APPLIB/Q", [Change(100, b"1")]),
            "library is list; pass the changes by name: changes=[Change(...)]",
        ),
    ],
)
def test_a_wrong_argument_is_told_with_what_is_allowed(job, call, reason):
    job.crtdtaq(dtaq="APPLIB/Q", maxlen=5)
    with pytest.raises(ParameterError) as caught:
        call(job)
    assert str(caught.value) == reason
