from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tdqsim.errors import TdqError
from tdqsim.ibmi import DECLARATIONS, EscapeMessage, ParameterError, System
from tests.ibmi.conftest import b4, e, fill, name20
from tests.rules import expect_rule

WORK, LIB, NO_WAIT = e("WORK      "), e("APPLIB    "), bytes.fromhex("00000F")


@pytest.fixture
def fifo(job):
    return job.crtdtaq(dtaq="APPLIB/WORK", maxlen=10)


@pytest.mark.rule("DTAQ-SEND-PARAMETER-COUNT", "DTAQ-SEND-NOT-PACKED")
def test_send_parameters(job, fifo):
    good = [WORK, LIB, bytes.fromhex("00001F"), b"x", bytes.fromhex("000F"), b"", e("*NO       "), e("*NO       ")]
    for count in range(10):
        given_now = (good * 2)[:count]
        if count in (4, 6, 7, 8):
            job.call("QSNDDTAQ", *given_now)
        else:
            expect_rule("DTAQ-SEND-PARAMETER-COUNT", job.call, "QSNDDTAQ", *given_now)
    expect_rule(
        "DTAQ-SEND-NOT-PACKED", job.call, "QSNDDTAQ", WORK, LIB, b4(1)[1:], b"x"
    )  # binary where packed is needed
    assert fifo.stored.count == 4


@pytest.mark.rule("DTAQ-RECEIVE-PARAMETER-COUNT", "DTAQ-RECEIVE-SENDER-LEFT-OUT", "DTAQ-RECEIVE-SENDER-LENGTH")
def test_receive_parameters(job, fifo):
    good = [WORK, LIB, bytearray(3), bytearray(10), NO_WAIT, e("  "), bytes.fromhex("000F"), b"", bytes.fromhex("000F"),
            bytearray(), e("*YES      "), bytes.fromhex("00010F"), b4(0), e("*SEC      ")]  # fmt: skip
    for count in (5, 10, 13, 14):
        job.call("QRCVDTAQ", *good[:count])
    for count in (0, 4, 11, 15):
        expect_rule("DTAQ-RECEIVE-PARAMETER-COUNT", job.call, "QRCVDTAQ", *(good * 2)[:count])
    expect_rule("DTAQ-RECEIVE-SENDER-LEFT-OUT", job.call, "QRCVDTAQ", *good[:9])
    expect_rule("DTAQ-RECEIVE-SENDER-LENGTH", job.call, "QRCVDTAQ", *good[:8], bytes.fromhex("007F"), bytearray(44))
    assert job.system.dispatcher.clock is job.system.clock


@pytest.mark.rule("DTAQ-DESCRIBE-COUNT", "DTAQ-RETRIEVE-COUNT", "DTAQ-CHANGE-PARAMETER-COUNT")
def test_counts_of_the_others(job):
    expect_rule("DTAQ-DESCRIBE-COUNT", job.call, "QMHQRDQD", bytearray(8), b4(8), e("RDQD0100"))
    expect_rule("DTAQ-RETRIEVE-COUNT", job.call, "QMHRDQM", bytearray(8))
    error = expect_rule("DTAQ-CHANGE-PARAMETER-COUNT", job.call, "QMHQCDQ", name20("WORK", "APPLIB"))
    assert error.message_data == b4(1)


@pytest.mark.rule("DTAQ-RETRIEVE-ADDRESSING")
def test_qmhrdqm_has_cpf9509_in_place_of_cpf24b4(job, fifo):
    def retrieve(receiver, code):
        selection = e("A   ") + b4(5)
        job.call(
            "QMHRDQM", receiver, b4(60), e("RDQM0100"), name20("WORK", "APPLIB"), selection, b4(8), e("RDQS0100"), code
        )

    error = expect_rule("DTAQ-RETRIEVE-ADDRESSING", retrieve, None, b4(0))
    assert error.message.text == "Space access error."
    for receiver, code in ((bytearray(40), b4(0)), (memoryview(bytearray(480)).cast("I")[::2], b4(0)), (bytearray(60), b"\0\0\0"),
                           (bytearray(60), bytearray(b4(16)))):  # fmt: skip
        expect_rule("DTAQ-RETRIEVE-ADDRESSING", retrieve, receiver, code)


@pytest.mark.rule("DTAQ-LITERAL", "DTAQ-ADDRESSING", "DTAQ-RECEIVE-STORAGE")
def test_storage_of_the_caller(job, fifo):
    fill(job, "WORK", b"123456")
    expect_rule("DTAQ-LITERAL", job.call, "QRCVDTAQ", WORK, LIB, bytearray(3), bytes(10), NO_WAIT)
    expect_rule("DTAQ-LITERAL", job.call, "QRCVDTAQ", WORK, LIB, bytearray(3), memoryview(bytes(10)), NO_WAIT)
    expect_rule("DTAQ-ADDRESSING", job.call, "QRCVDTAQ", WORK, LIB, bytearray(3), None, NO_WAIT)
    expect_rule("DTAQ-ADDRESSING", job.call, "QRCVDTAQ", WORK[:9], LIB, bytearray(3), bytearray(10), NO_WAIT)
    expect_rule("DTAQ-ADDRESSING", job.call, "QRCVDTAQ", WORK, LIB, bytearray(2), bytearray(10), NO_WAIT)
    expect_rule("DTAQ-RECEIVE-STORAGE", job.call, "QRCVDTAQ", WORK, LIB, bytearray(3), bytearray(5), NO_WAIT)
    assert fifo.stored.count == 1
    whole = bytearray(20)
    job.call("QRCVDTAQ", WORK, LIB, bytearray(3), memoryview(whole)[4:12], NO_WAIT)
    assert whole == b"\0" * 4 + b"123456" + b"\0" * 10
    with pytest.raises(ParameterError, match=r"parameter 1 \(Data queue name\): storage is needed"):
        job.call("QRCVDTAQ", 7, LIB, bytearray(3), bytearray(5), NO_WAIT)
    with pytest.raises(ParameterError, match=r"parameter 1 \(Data queue name\): character"):
        job.call("QRCVDTAQ", "\u20ac", LIB, bytearray(3), bytearray(5), NO_WAIT)
    with pytest.raises(ParameterError, match="QRCVDTAQ"):
        job.call("QRCVDTAX")


def test_an_entry_that_does_not_fit_goes_back_to_its_place(system, job, fifo):
    rooms = [bytearray(5), bytearray(6)]
    for_ever = b"\x00\x00\x1d"
    short, other = [
        system.start(lambda own, room=room: own.call("QRCVDTAQ", WORK, LIB, bytearray(3), room, for_ever))
        for room in rooms
    ]
    system.run()
    job.qsnddtaq("WORK", "APPLIB", b"123456")
    with pytest.raises(EscapeMessage, match="CPF24B4"):
        short.result()
    other.result()  # the next one that waits has it, in a receiver that is just long enough
    assert rooms == [bytes(5), b"123456"]
    job.qsnddtaq("WORK", "APPLIB", b"234567")
    with pytest.raises(EscapeMessage, match="CPF24B4"):
        job.call("QRCVDTAQ", WORK, LIB, bytearray(3), bytearray(5), NO_WAIT)
    job.call("QRCVDTAQ", WORK, LIB, bytearray(3), rooms[0].ljust(6), NO_WAIT)
    assert job.qrcvdtaq("WORK", "APPLIB") is None


@pytest.mark.rule("DTAQ-ERRC-INVALID", "DTAQ-ERRC-SIGNALLED", "DTAQ-ERRC-REPORTED")
def test_the_error_code(job):
    def clear(code):
        job.call("QCLRDTAQ", WORK, LIB, e("  "), bytes.fromhex("000F"), b"", code)

    for start in (b4(1), b4(7), b4(-2), b4(-1) + b4(11), b4(-1) + b4(-5)):
        expect_rule("DTAQ-ERRC-INVALID", clear, bytearray(start + bytes(60)))
    expect_rule("DTAQ-ERRC-SIGNALLED", clear, bytearray(b4(0)))
    expect_rule("DTAQ-ERRC-SIGNALLED", clear, b4(0))  # nothing is to be written: a literal will do
    expect_rule("DTAQ-ERRC-SIGNALLED", clear, bytearray(b4(-1) + b4(0)))
    expect_rule("DTAQ-LITERAL", clear, b4(16) + bytes(12))
    expect_rule("DTAQ-ADDRESSING", clear, bytearray(2))
    uninitialised = bytearray(e(" " * 20))  # blanks: bytes provided X'40404040'
    expect_rule("DTAQ-ADDRESSING", clear, uninitialised)
    code = bytearray(b4(31) + bytes(27))
    clear(code)
    assert code[4:15] == b4(43) + e("CPF9801")
    assert code[16:] == e("WORK      APPLI")
    short = bytearray(b4(8) + b"\xee" * 23)
    clear(short)
    assert short == b4(8) + b4(43) + b"\xee" * 19


def test_names_are_taken_as_they_are(job, fifo):
    for name, library, message in (("work", "APPLIB", "CPF9801"), ("WORK", "applib", "CPF9810"), ("", "APPLIB", "CPF9801"),
                                   ("WO RK", "APPLIB", "CPF9801"), ("WORK", "", "CPF9810")):  # fmt: skip
        with pytest.raises(EscapeMessage) as caught:
            job.call("QMHQRDQD", bytearray(8), b4(8), e("RDQD0100"), name20(name, library))
        assert caught.value.message_id == message
        with pytest.raises(EscapeMessage) as caught:
            job.call("QRCVDTAQ", e(f"{name:10}"), e(f"{library:10}"), bytearray(3), bytearray(8), 0)
        assert caught.value.message_id == message


def test_only_the_first_eight_bytes_of_a_format_count(job, fifo):
    receiver = bytearray(8)
    job.call("QMHQRDQD", receiver, b4(8), e("RDQD0100  "), name20("WORK", "APPLIB"))
    assert receiver == b4(8) + b4(120)  # bytes returned, bytes available


def test_qwccvtdt_in_bytes(job):
    stamp = bytes.fromhex("AB5843DC614C0000")
    out = bytearray(b"\xee" * 30)
    job.call("QWCCVTDT", e("*DTS      "), stamp, e("*YYMD     "), out, b4(0))
    assert out == e("20240229134530123") + b"\xee" * 13
    job.call("QWCCVTDT", e("*DTS      "), stamp, e("*MDY      "), out, b4(0), e("*SYS      "), e("*SYS      "), bytearray(),
             b4(0), e("1"))  # fmt: skip
    assert out[:19] == e("1022924134530123456")
    job.call("QWCCVTDT", e("*MDY      "), out[:16], e("*DTS      "), out, b4(0))
    assert out[:8].hex().upper() == "AB5843DC612F8000"


def test_each_declaration_says_what_it_is():
    for name in ("QSNDDTAQ", "QRCVDTAQ", "QCLRDTAQ", "QMHQRDQD", "QMHRDQM", "QMHQCDQ", "QWCCVTDT"):
        text = DECLARATIONS[name].help()
        assert name in text
        assert "messages:" in text
    assert DECLARATIONS["QRCVDTAQ"].counts == (5, 10, 13, 14)
    assert DECLARATIONS["QSNDDTAQ"].counts == (4, 6, 7, 8)
    assert DECLARATIONS["QMHRDQM"].error_code == 7
    assert DECLARATIONS["QSNDDTAQ"].error_code is None


storage = st.one_of(st.none(), st.binary(max_size=40), st.binary(max_size=40).map(bytearray))
likely = st.sampled_from([WORK, LIB, NO_WAIT, e("RDQM0100"), e("RDQS0100"), e("RDQS0200"), e("RDQD0100"), b4(8), b4(120),
                          b4(0), b4(-1), name20("WORK", "APPLIB"), bytes.fromhex("C140404000000005"), e("*YES      ")])  # fmt: skip
parameters = st.lists(st.one_of(storage, likely, likely.map(bytearray)), max_size=14)


@settings(max_examples=80)
@given(st.sampled_from(["QSNDDTAQ", "QRCVDTAQ", "QCLRDTAQ", "QMHQRDQD", "QMHRDQM", "QMHQCDQ", "QWCCVTDT"]), parameters)
def test_any_storage_at_all_gives_a_message_or_works(api, given_now):
    with System() as system, system.job() as job:
        system.crtlib("APPLIB")
        job.crtdtaq(dtaq="APPLIB/WORK", maxlen=10)
        job.qsnddtaq("WORK", "APPLIB", b"12345")
        try:
            job.call(api, *given_now)
        except TdqError as error:
            assert str(error)  # noqa: PT017  (either outcome is fine; an error must say something)


@pytest.mark.parametrize(
    ("api", "passed", "message_id", "hint"),
    [
        ("QSNDDTAQ", 5, "CPF24B4", "5 parameters were passed; QSNDDTAQ takes 4, 6, 7 or 8."),
        ("QMHQRDQD", 3, "CPF24B4", "3 parameters were passed; QMHQRDQD takes 4."),
        ("QMHRDQM", 7, "CPF9509", "7 parameters were passed; QMHRDQM takes 8."),
        ("QRCVDTAQ", 8, "CPF3C36", "8 parameters were passed; QRCVDTAQ takes 5, 10, 13 or 14."),
    ],
)
def test_the_second_level_text_says_how_many_parameters_an_api_takes(job, api, passed, message_id, hint):
    with pytest.raises(EscapeMessage) as caught:
        job.call(api, *[bytearray(64)] * passed)
    assert caught.value.message_id == message_id
    assert caught.value.message.help.endswith(hint)
    assert caught.value.__notes__ == [hint]


@pytest.mark.rule("DTAQ-SEND-NOT-PACKED")
def test_the_second_level_text_tells_of_a_length_that_is_a_literal_of_cl(job):
    job.crtdtaq(dtaq="APPLIB/Q", maxlen=20)
    with pytest.raises(EscapeMessage) as caught:
        job.command("CALL QSNDDTAQ PARM('Q' 'APPLIB' 5 'hello')")
    assert caught.value.message_id == "CPF24B4"
    hint = (
        "Parameter 3 (Length of data) is packed decimal with 5 digits, and X'000000' is not; CL passes a literal number"
    )
    hint += " with 15 digits, 5 of them decimals, so that a variable TYPE(*DEC) LEN(5 0) is needed."
    assert caught.value.__notes__ == [hint]
