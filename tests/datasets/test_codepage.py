"""Code pages: lookup, both ways, conversion, what cannot be converted."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tdqsim.core.codepage import CodePage, codepage, known_codepages
from tdqsim.errors import ConversionError
from tests.rules import expect_rule

SHOP = (37, 273, 277, 278, 280, 284, 285, 297, 424, 500, 871, 875, 1026, 1047, *range(1140, 1150))
EBCDIC = [number for number in known_codepages() if codepage(number).kind == "EBCDIC"]


def test_every_page_a_shop_uses_is_there():
    assert set(SHOP) <= set(known_codepages())


@pytest.mark.parametrize(
    ("spelling", "ccsid"),
    [
        ("037", 37), ("37", 37), (37, 37), ("cp037", 37), ("CP037", 37), ("IBM-037", 37), ("ibm037", 37), ("IBM037", 37),
        ("CCSID 37", 37), ("EBCDIC-CP-037", 37), ("IBM-1047", 1047), ("cp1140", 1140), (1140, 1140), ("latin-1", 819),
        ("ISO-8859-1", 819), ("iso8859_1", 819), ("ascii", 367), ("US-ASCII", 367), ("cp1252", 1252), ("windows-1252", 1252),
    ],
)  # fmt: skip
def test_spellings(spelling, ccsid):
    assert codepage(spelling).ccsid == ccsid
    assert codepage(codepage(spelling)) is codepage(ccsid)


@pytest.mark.rule("DS-CODEPAGE-UNKNOWN")
@pytest.mark.parametrize("name", ["", "99999", "klingon", "cp", "IBM", "utf-8", "0x25"])
def test_unknown_pages_are_refused_with_what_is_allowed(name):
    error = expect_rule("DS-CODEPAGE-UNKNOWN", codepage, name)
    assert isinstance(error, ConversionError)
    assert "037" in str(error)
    assert "1140" in str(error)


def test_every_defined_byte_survives_a_round_trip():
    for page, byte in itertools.product(map(codepage, known_codepages()), range(256)):
        data = bytes([byte])
        if page.undefined(data) is not None:
            with pytest.raises(ConversionError, match=f"X'{byte:02X}'"):
                page.decode(data)
            continue
        text = page.decode(data)
        assert len(text) == 1
        assert page.decode(page.encode(text)) == text
        assert text == " " or byte != page.space


def test_no_two_bytes_are_one_character_but_for_thai_ones():
    pages = {}
    for ccsid in known_codepages():
        page = codepage(ccsid)
        defined = [bytes([byte]) for byte in range(256) if page.undefined(bytes([byte])) is None]
        doubled = [data for data in defined if page.encode(page.decode(data)) != data]
        if doubled:
            pages[ccsid] = len(doubled)
    assert pages == {838: 5, 1160: 4}


def test_known_characters():
    """Typed from the code charts, not from the codecs."""
    assert codepage(37).encode("Az09 @#$[]") == bytes.fromhex("C1A9F0F9407C7B5BBABB")
    assert codepage(1047).encode("[]^") == bytes.fromhex("ADBD5F")
    assert codepage(500).encode("[]!") == bytes.fromhex("4A5A4F")
    assert codepage(273).encode("ÄÖÜß") == bytes.fromhex("4AE05AA1")
    assert codepage(277).encode("ÆØÅ") == bytes.fromhex("7B7C5B")
    assert codepage(285).encode("£") == b"\x5b"
    assert codepage(1140).encode("€") == b"\x9f"
    assert codepage(1148).encode("€") == b"\x9f"
    assert codepage(1142).encode("€") == b"\x5a"
    assert codepage(1026).encode("İ") == b"\x5b"


@pytest.mark.rule("DS-CODEPAGE-NL")
def test_new_line_and_line_feed():
    for ccsid in EBCDIC:
        assert codepage(ccsid).decode(b"\x15\x25\xc1\xf0") == "\x85\nA0", ccsid


def test_errors_name_record_and_offset():
    page = codepage(37)
    with pytest.raises(ConversionError) as caught:
        page.encode("AB€", 7)
    assert (caught.value.record, caught.value.offset) == (7, 2)
    with pytest.raises(ConversionError) as caught:
        codepage(424).decode(b"\xc1\xff\x70", 3)
    assert caught.value.record == 3
    with pytest.raises(ConversionError) as caught:
        page.convert(b"\xc1\xc2\x41", codepage("ascii"), 2)
    assert (caught.value.record, caught.value.offset) == (2, 2)
    assert "X'41'" in str(caught.value)


def test_printable_shows_one_character_a_byte():
    assert codepage(37).printable(b"\xc1\x00\x15\x40\xf1") == "A.. 1"
    assert len(codepage(424).printable(bytes(range(256)))) == 256


@given(st.binary(max_size=50), st.sampled_from(EBCDIC))
def test_convert_there_and_back(data, ccsid):
    page = codepage(ccsid)
    for target in (codepage(819), codepage(1140)):
        places = [at for at in range(len(data)) if not has_counterpart(page, data[at : at + 1], target)]
        if places:
            with pytest.raises(ConversionError) as caught:
                page.convert(data, target)
            assert data[caught.value.offset] == data[places[0]]
        else:
            assert page.convert(data, target) == target.encode(page.decode(data))


def has_counterpart(page, byte, target):
    try:
        target.encode(page.decode(byte))
    except ConversionError:
        return False
    return True


def test_pages_are_made_once():
    assert codepage("IBM-1047") is codepage(1047)
    assert isinstance(codepage(1047), CodePage)
