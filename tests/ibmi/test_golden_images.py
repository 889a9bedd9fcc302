"""Every format, byte for byte, written out by hand."""

from __future__ import annotations

from datetime import datetime

import pytest
from freezegun import freeze_time

from tdqsim.ibmi import (
    RDQS0100,
    RDQS0200,
    ErrorCode,
    EscapeMessage,
    System,
    datetime_to_dts,
    dts_to_datetime,
    formats,
    layout,
    pack_decimal,
    parse_messages,
    unpack_decimal,
)
from tests.ibmi.conftest import b4, e, name20

MOMENT = "2024-02-29 13:45:30.123456"
STAMP = "AB5843DC614C0000"  # that moment, worked out from the definition of *DTS
STAMP_PLUS = "AB5843DC614C0004"  # the next stamp at the same moment: one nanosecond in the uniqueness bits


def unhex(text: str) -> bytes:
    return bytes.fromhex("".join(line.partition("#")[0] for line in text.splitlines()).replace(" ", ""))


@pytest.fixture
def frozen():
    with freeze_time(MOMENT), System("SYS1") as system:
        system.crtlib("APPLIB")
        system.crtusrprf("ANNA")
        with system.job("WORKER", user="ANNA", number="123456") as job:
            yield job


def describe(job, name, form="RDQD0100", length=None):
    length = length or (120 if form == "RDQD0100" else 108)
    receiver = bytearray(b"\xee" * length)
    job.call("QMHQRDQD", receiver, b4(length), e(form), name20(name, "APPLIB"))
    return bytes(receiver)


@pytest.mark.rule("DTAQ-DESCRIBE-SIZE")
def test_rdqd0100_of_a_keyed_queue(frozen):
    frozen.crtdtaq(dtaq="APPLIB/REPLIES", maxlen=512, seq="*KEYED", keylen=8, senderid="*YES", force="*YES",
                   size=["*MAX2GB", 32], autorcl="*YES", text="Replies")  # fmt: skip
    frozen.qsnddtaq("REPLIES", "APPLIB", b"x", b"12345678")
    assert describe(frozen, "REPLIES") == unhex("""
        00000078 00000078              # 0 bytes returned 120, available 120
        00000200 00000008              # 8 message length 512, key length 8
        D2 E8 E8                       # 16 K keyed, Y sender ID, Y force
        D98597938985A2                 # 19 text "Replies", 50 bytes with its blanks
    """) + b"\x40" * 43 + unhex("""
        F0 F1 F0                       # 69 0 standard, 1 automatic reclaim, 0 locks not enforced
        00000001 00000020              # 72 one message, 32 entries allocated
        D9C5D7D3C9C5E2404040           # 80 REPLIES
        C1D7D7D3C9C240404040           # 90 APPLIB
        00381BE0 00000020 FFFFFFFE     # 100 maximum 3677152, initial 32, specified -2
        0000000000000000               # 112 no reclaim yet
    """)  # fmt: skip


def test_rdqd0100_of_a_fifo_queue_after_a_reclaim(frozen):
    frozen.crtdtaq(dtaq="APPLIB/WORK", maxlen=16, autorcl="*YES", size=[100, 1])
    for _ in range(2):  # the second one extends the queue
        frozen.qsnddtaq("WORK", "APPLIB", b"x")
    for _ in range(2):
        frozen.qrcvdtaq("WORK", "APPLIB")
    image = describe(frozen, "WORK")
    assert image[8:19] == unhex("00000010 00000000 C6 D5 D5")  # MAXLEN 16, no key, F, N, N
    assert image[19:69] == b"\x40" * 50
    assert image[72:80] == unhex("00000000 00000001")  # empty, back at one entry
    assert image[100:112] == unhex("00000064 00000001 00000064")  # 100 allowed, 1 initial, 100 specified
    assert image[112:] == bytes.fromhex(STAMP)


@pytest.mark.rule("DTAQ-DESCRIBE-DDM")
def test_rdqd0100_and_0200_of_a_ddm_queue(frozen):
    frozen.crtdtaq(dtaq="APPLIB/FAR", type="*DDM", rmtdtaq="RUN01000/JK_ZLCL", rmtlocname="LP1", text="Far away")
    assert describe(frozen, "FAR") == unhex("""
        00000078 00000078 00000000 00000000   # no message length, no key length
        40 40 40                              # sequence, sender ID, force: blank
        C681994081A681A8                      # 19 text "Far away", 50 bytes with its blanks
    """) + b"\x40" * 42 + unhex("""
        F1 40 40                              # 69 1 DDM, reclaim and locks blank
        00000000 00000000                     # numbers are 0
        C6C1D940404040404040 C1D7D7D3C9C240404040
        00000000 00000000 00000000
        0000000000000000                      # last reclaim X'00'
    """)  # fmt: skip
    assert describe(frozen, "FAR", "RDQD0200") == unhex("""
        0000006C 0000006C              # 108 of 108 bytes
        5CD3D6C340404040 4040          # 8 device *LOC
        5CD5C5E3C1E3D940               # 18 mode *NETATR
        D3D7F14040404040               # 26 remote location LP1
        5CD3D6C340404040               # 34 local location *LOC
        5CD3D6C340404040               # 42 remote network *LOC
        D1D26DE9D3C3D3404040           # 50 remote queue JK_ZLCL
        D9E4D5F0F1F0F0F04040           # 60 RUN01000
        C6C1D940404040404040           # 70 FAR
        C1D7D7D3C9C240404040           # 80 APPLIB
        404040404040404040404040404040404040   # 90 no relational database
    """)  # fmt: skip


@pytest.mark.rule("DTAQ-DESCRIBE-RDB")
def test_rdqd0200_of_an_rdb_queue(frozen):
    frozen.crtdtaq(dtaq="APPLIB/DB", type="*DDM", rmtdtaq="*CURLIB/Q", rmtlocname="*RDB", rdb="PARIS")
    assert describe(frozen, "DB", "RDQD0200") == unhex("0000006C 0000006C") + e(
        " " * 10 + " " * 8 + "*RDB    " + " " * 8 + " " * 8  # device, mode, remote location, local location, network
        + "Q         *CURLIB   DB        APPLIB    " + "PARIS             "
    )  # fmt: skip


@pytest.mark.rule("DTAQ-DESCRIBE-PREFIX")
@pytest.mark.parametrize("length", [8, 9, 108, 112, 119])
def test_a_short_receiver_gets_a_clean_prefix(frozen, length):
    frozen.crtdtaq(dtaq="APPLIB/WORK", maxlen=16)
    whole = describe(frozen, "WORK")
    short = describe(frozen, "WORK", length=length)
    assert short == b4(length) + whole[4:length]
    longer = describe(frozen, "WORK", length=130)
    assert longer == whole + b"\xee" * 10


def retrieve(job, name, form, selection_form, selection, length=400):
    receiver = bytearray(b"\xee" * length)
    job.call("QMHRDQM", receiver, b4(length), e(form), name20(name, "APPLIB"), selection, b4(len(selection)),
             e(selection_form), b4(0))  # fmt: skip
    return bytes(receiver)


@pytest.mark.rule("DTAQ-RETRIEVE-PADDING")
def test_rdqm0100_all_of_a_fifo_queue(frozen):
    frozen.crtdtaq(dtaq="APPLIB/WORK", maxlen=100)
    frozen.qsnddtaq("WORK", "APPLIB", b"ABC")
    frozen.qsnddtaq("WORK", "APPLIB", b"DEFGHI")
    image = retrieve(frozen, "WORK", "RDQM0100", "RDQS0100", unhex("C1 404040 00000005"))
    expected = unhex(f"""
        0000005A 0000005A       # 0 bytes returned and available: 56 + 2 * 17
        00000002 00000002       # 8 two messages of two
        00000000 00000000       # 16 no key bytes returned, none available
        00000005 00000064       # 24 text bytes requested 5, available 100
        00000011 00000070       # 32 entry length returned 12 + 5, available 12 + 100
        00000038                # 40 the first entry is at 56
        C1D7D7D3C9C240404040    # 44 APPLIB
        0000                    # 54 reserved
        00000049 {STAMP}        # 56 next at 73, enqueued then
        4142430000              # text, padded with X'00'
        00000000 {STAMP_PLUS}   # 73 no next
        4445464748              # text, cut to 5
    """)
    assert image == expected + b"\xee" * (400 - len(expected))
    record = parse_messages(image, "RDQM0100")
    assert [entry.message_text for entry in record.messages] == [b"ABC\0\0", b"DEFGH"]


@pytest.mark.rule("DTAQ-RETRIEVE-PADDING")
def test_rdqm0200_all_of_a_fifo_queue(frozen):
    frozen.crtdtaq(dtaq="APPLIB/WORK", maxlen=100)
    frozen.qsnddtaq("WORK", "APPLIB", b"ABC")
    frozen.qsnddtaq("WORK", "APPLIB", b"DEFGHI")
    image = retrieve(frozen, "WORK", "RDQM0200", "RDQS0100", unhex("C1 404040 00000005"))
    expected = unhex(f"""
        00000060 00000060       # 56 + (16 + 3) + (16 + 5)
        00000002 00000002
        00000000 00000000
        00000005 00000064
        0000000000000000        # 32 reserved
        00000038
        C1D7D7D3C9C240404040
        0000
        0000004B {STAMP} 00000003 414243            # next at 75, three bytes enqueued, no padding
        00000000 {STAMP_PLUS} 00000006 4445464748   # six enqueued, five asked for
    """)
    assert image == expected + b"\xee" * (400 - len(expected))


@pytest.mark.rule("DTAQ-RETRIEVE-PADDING", "DTAQ-RETRIEVE-SENDER", "DTAQ-RETRIEVE-SENDER-LENGTH")
def test_rdqm_by_key_with_sender_id(frozen):
    frozen.crtdtaq(dtaq="APPLIB/REPLIES", maxlen=8, seq="*KEYED", keylen=3, senderid="*YES")
    frozen.qsnddtaq("REPLIES", "APPLIB", b"one", b"AAA")
    frozen.qsnddtaq("REPLIES", "APPLIB", b"two", b"BBB")
    # K, GE, reserved, 39 text bytes, 5 key bytes, key length 3, key BBB
    selection = unhex("D2 C7C5 40 00000027 00000005 00000003 424242")
    image = retrieve(frozen, "REPLIES", "RDQM0200", "RDQS0200", selection)
    expected = unhex(f"""
        00000074 00000074       # 56 + 16 + 5 + 39
        00000001 00000001
        00000005 00000003       # five key bytes returned, three there are
        00000027 0000002C       # 39 asked for, 8 + 36 available
        0000000000000000 00000038 C1D7D7D3C9C240404040 0000
        00000000 {STAMP_PLUS} 00000027   # enqueued length 3 + 36
        4242420000                       # key, padded with X'00'
        E6D6D9D2C5D940404040 C1D5D5C1404040404040 F1F2F3F4F5F6 C1D5D5C1404040404040   # WORKER ANNA 123456 ANNA
        74776F
    """)
    assert image[: len(expected)] == expected
    shorter = retrieve(frozen, "REPLIES", "RDQM0100", "RDQS0200", unhex("D2 D3E3 40 00000002 00000002 00000003 424242"))
    assert shorter[16:40] == unhex("00000002 00000003 00000002 0000002C 00000010 0000003B")
    assert shorter[56:72] == unhex(f"00000000 {STAMP} 4141 E6D6")  # key and text cut


@pytest.mark.rule("DTAQ-RETRIEVE-OFFSETS")
def test_rdqm_of_nothing(frozen):
    frozen.crtdtaq(dtaq="APPLIB/WORK", maxlen=100)
    image = retrieve(frozen, "WORK", "RDQM0100", "RDQS0100", unhex("C1 404040 00000005"))
    assert image[:16] == unhex("00000038 00000038 00000000 00000000")
    assert image[40:44] == b4(0)


@pytest.mark.rule("DTAQ-RETRIEVE-WHOLE-ENTRIES", "DTAQ-RETRIEVE-COUNTS")
def test_a_short_receiver_gets_whole_entries(frozen):
    frozen.crtdtaq(dtaq="APPLIB/WORK", maxlen=100)
    for text in (b"aaaaa", b"bbbbb", b"ccccc"):
        frozen.qsnddtaq("WORK", "APPLIB", text)
    selection = unhex("C1 404040 00000005")
    for length, returned, count in ((8, 8, None), (56, 56, 0), (72, 56, 0), (73, 73, 1), (106, 90, 2), (107, 107, 3)):
        image = retrieve(frozen, "WORK", "RDQM0100", "RDQS0100", selection, length)
        assert image[:8] == b4(returned) + b4(107)
        assert image[returned:] == b"\xee" * (length - returned)
        if count is not None:
            assert image[8:16] == b4(count) + b4(3)
            assert image[40:44] == b4(56 if count else 0)
            assert len(parse_messages(image, "RDQM0100").messages) == count


@pytest.mark.rule("DTAQ-RETRIEVE-WHOLE-ENTRIES", "DTAQ-RETRIEVE-COUNTS")
def test_a_shorter_entry_behind_one_that_does_not_fit_is_not_returned(frozen):
    frozen.crtdtaq(dtaq="APPLIB/WORK", maxlen=100)
    for text in (b"a", b"bbbbbbbb", b"c"):
        frozen.qsnddtaq("WORK", "APPLIB", text)
    image = retrieve(frozen, "WORK", "RDQM0200", "RDQS0100", unhex("C1 404040 00000032"), 56 + 17 + 23)
    assert image[:16] == b4(56 + 17) + b4(56 + 17 + 24 + 17) + b4(1) + b4(3)
    assert image[56:73] == b4(0) + unhex(f"{STAMP} 00000001") + b"a"
    assert image[73:96] == b"\xee" * 23


def test_qmhqcdq_records_are_packed_without_gaps(frozen):
    queue = frozen.crtdtaq(dtaq="APPLIB/WORK", maxlen=16)
    # two records of nine bytes: key 100 length 1 value 1, key 200 length 1 value 1
    changes = unhex("00000002 00000064 00000001 F1 000000C8 00000001 F1")
    frozen.call("QMHQCDQ", name20("WORK", "APPLIB"), changes, b4(0))
    assert (queue.autorcl, queue.enforce) == (True, True)
    assert describe(frozen, "WORK")[69:72] == unhex("F0 F1 F1")


@pytest.mark.rule("DTAQ-RECEIVE-SENDER-FORM")
def test_send_and_receive_in_bytes(frozen):
    frozen.crtdtaq(dtaq="APPLIB/REPLIES", maxlen=10, seq="*KEYED", keylen=3, senderid="*YES")
    frozen.call("QSNDDTAQ", e("REPLIES   "), e("APPLIB    "), unhex("00003F"), b"xyzzy", unhex("003F"), b"K01")
    length, data, key = bytearray(3), bytearray(b"\xee" * 10), bytearray(b"K00")
    sender = bytearray(b"\xee" * 50)
    frozen.call("QRCVDTAQ", e("REPLIES   "), e("APPLIB    "), length, data, unhex("00000F"), e("GT"), unhex("003F"), key,
                unhex("044F"), sender)  # fmt: skip
    assert length == unhex("00003F")
    assert data == b"xyz" + b"\xee" * 7
    assert key == b"K01"
    assert (
        sender
        == unhex("""
        0000044F 0000044F       # PACKED(7,0) 44 returned, 44 available
        E6D6D9D2C5D940404040    # WORKER
        C1D5D5C1404040404040    # ANNA
        F1F2F3F4F5F6            # 123456
        C1D5D5C1404040404040    # current user ANNA
    """)
        + b"\xee" * 6
    )


def test_errc0100_and_errc0200(frozen):
    def fail(code: bytearray) -> bytes:
        selection = unhex("C1 404040 00000005")
        frozen.call("QMHRDQM", bytearray(100), b4(100), e("RDQM0100"), name20("NOWHERE", "APPLIB"), selection, b4(8),
                    e("RDQS0100"), code)  # fmt: skip
        return bytes(code)

    data = "D5D6E6C8C5D9C5404040 C1D7D7D3C9C240404040 C4E3C1D8404040"  # NOWHERE, APPLIB, DTAQ: 27 bytes
    assert (
        fail(bytearray(b4(60) + b"\xee" * 56))
        == unhex(f"""
        0000003C 0000002B       # provided 60, available 16 + 27
        C3D7C6F9F8F0F1 F0       # CPF9801, reserved 0
        {data}
    """)
        + b"\xee" * 17
    )
    assert fail(bytearray(b4(16) + b"\xee" * 20)) == unhex("00000010 0000002B C3D7C6F9F8F0F1 F0") + b"\xee" * 8
    assert fail(bytearray(b4(8) + b"\xee" * 8)) == unhex("00000008 0000002B") + b"\xee" * 4
    assert (
        fail(bytearray(b4(-1) + b4(64) + b"\xee" * 56))
        == unhex(f"""
        FFFFFFFF 00000040 0000003B     # ERRC0200, provided 64, available 32 + 27
        C3D7C6F9F8F0F1 F0
        00000025 00000020 0000001B     # CCSID 37, data at 32, 27 bytes
        {data}
    """)
        + b"\xee" * 5
    )


@pytest.mark.parametrize(
    ("stamp", "moment"),
    [
        ("0000000000000000", datetime(1928, 8, 23, 12, 3, 6, 314752)),
        ("4A2FEC4C82000000", datetime(1970, 1, 1)),
        ("8000000000000000", datetime(2000, 1, 1)),
        ("90D2CDAE11F14000", datetime(2009, 5, 18, 11, 27, 58, 619412)),
        ("AB5843DC614C0000", datetime(2024, 2, 29, 13, 45, 30, 123456)),
        ("DFFFFFFFFFFF8000", datetime(2053, 7, 7, 20, 57, 40, 263928)),
    ],
)
def test_dts_vectors(stamp, moment):
    assert dts_to_datetime(bytes.fromhex(stamp)) == moment
    assert datetime_to_dts(moment) == bytes.fromhex(stamp)
    assert dts_to_datetime(bytes.fromhex(stamp[:-3] + "FFF")) == moment  # the uniqueness bits say nothing


@pytest.mark.parametrize(
    ("number", "digits", "image"),
    [(10, 5, "00010F"), (-1, 5, "00001D"), (8, 3, "008F"), (99999, 5, "99999F"), (44, 7, "0000044F"), (0, 2, "000F")],
)
def test_packed_vectors(number, digits, image):
    assert pack_decimal(number, digits).hex().upper() == image
    assert unpack_decimal(bytes.fromhex(image)) == number


def test_packed_signs_and_digits():
    assert [unpack_decimal(bytes.fromhex("00012" + sign)) for sign in "ABCDEF"] == [12, -12, 12, -12, 12, 12]
    for bad in ("000120", "0A012F", ""):
        with pytest.raises(ValueError, match="packed"):
            unpack_decimal(bytes.fromhex(bad))
    with pytest.raises(ValueError, match="digits"):
        pack_decimal(1000, 3)
    with pytest.raises(ValueError, match="digits"):
        pack_decimal(123, 2)  # its two bytes would hold three, but it is declared with two


def test_joqs_and_the_stamp_of_the_journal(frozen):
    frozen.crtdtaq(dtaq="APPLIB/WORK", maxlen=64)
    frozen.system.profiles["ANNA"].allobj = True
    frozen.crtjrn("APPLIB/JRN")
    frozen.strjrnobj("APPLIB/WORK", "APPLIB/JRN")
    frozen.qsnddtaq("WORK", "APPLIB", b"AAAAAAAAAA")
    entry = frozen.dspjrn("APPLIB/JRN")[-1]
    # stamp in bytes 1-8, N in byte 35, the data from byte 49 on, as in a dump of a real one
    assert entry.entry_specific_data == bytes.fromhex(STAMP) + e(" " * 26 + "N" + " " * 13) + b"A" * 10


def test_the_lengths_of_the_formats():
    lengths = {name: form.length for name, form in formats().items()}
    assert lengths["RDQD0100"] == 120
    assert lengths["RDQD0200"] == 108
    assert (lengths["RDQM0100"], lengths["RDQM0200"]) == (56, 56)
    assert (lengths["RDQM0100.entry"], lengths["RDQM0200.entry"]) == (12, 16)
    assert (lengths["RDQS0100"], lengths["RDQS0200"]) == (8, 16)
    assert (lengths["ERRC0100"], lengths["ERRC0200"]) == (16, 32)
    assert (lengths["SENDERID"], lengths["RCVSENDER"]) == (36, 44)
    assert "16 C1    Sequence" in layout("RDQD0100").describe()


def test_python_form_and_bytes_agree(frozen):
    frozen.crtdtaq(dtaq="APPLIB/REPLIES", maxlen=8, seq="*KEYED", keylen=3, senderid="*YES")
    frozen.qsnddtaq("REPLIES", "APPLIB", b"one", b"AAA")
    for form in ("RDQM0100", "RDQM0200"):
        everything = unhex("C1 404040 0000002C")
        image = retrieve(frozen, "REPLIES", form, "RDQS0100", everything)
        assert parse_messages(image, form) == frozen.qmhrdqm("REPLIES", "APPLIB", form, RDQS0100("A"))
        keyed = unhex("D2 C5D8 40 0000002C 00000003 00000003 414141")
        image = retrieve(frozen, "REPLIES", form, "RDQS0200", keyed)
        assert parse_messages(image, form) == frozen.qmhrdqm("REPLIES", "APPLIB", form, RDQS0200(b"AAA"))
    record = frozen.qmhqrdqd("REPLIES", "APPLIB")
    assert record == type(record)(**layout("RDQD0100").parse(describe(frozen, "REPLIES"), frozen.page))


def test_error_code_helper(frozen):
    for extended in (False, True):
        code = ErrorCode(100, extended=extended)
        frozen.call("QCLRDTAQ", e("NOWHERE   "), e("APPLIB    "), e("  "), unhex("000F"), b"", code.storage)
        assert code.report() == (43 if not extended else 59, "CPF9801", e("NOWHERE   APPLIB    DTAQ   "))
    signalled = ErrorCode(0)
    with pytest.raises(EscapeMessage, match="CPF9801"):
        frozen.call("QCLRDTAQ", e("NOWHERE   "), e("APPLIB    "), e("  "), unhex("000F"), b"", signalled.storage)
    assert signalled.report() == (0, "", b"")
