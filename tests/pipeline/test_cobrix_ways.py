# ruff: noqa: E402 - what the extra brings is imported after asking for it
"""What people who come from Cobrix expect of a read: names, types and values as they are there.

Every expectation is written by hand from what Cobrix does; none of its data is used.
"""

from __future__ import annotations

import pytest

np = pytest.importorskip("numpy", reason="the extra tdqsim[spark] is not installed")
pa = pytest.importorskip("pyarrow", reason="the extra tdqsim[spark] is not installed")

from tdqsim.core.codepage import codepage
from tdqsim.errors import ConversionError
from tdqsim.layouts import Rules, parse_copybook
from tdqsim.pipeline.decoder import RecordDecoder
from tdqsim.pipeline.shape import Shape


def decoded(copybook, *records, rules=None, **shape):
    """The records as a list of dicts, by the vectorised decoder; and they are the same by the plain one."""
    layout = parse_copybook(copybook, rules=rules).record()
    decoder = RecordDecoder(layout, Shape(**shape))
    return decoder.decode_fixed(b"".join(records), layout.length)


# code pages ---------------------------------------------------------------------------------------------------------

TEXTS = "01 R. 05 A PIC X(4). 05 B PIC X(2)."


def texts(page, *records, policy="both"):
    rules = Rules(code_page=page)
    layout = parse_copybook(TEXTS, rules=rules).record()
    found = decoded(TEXTS, *records, rules=rules, string_trimming_policy=policy).to_pylist()
    if policy == "none":
        assert found == [layout.decode(record) for record in records]
    return [row["A"] for row in found]


@pytest.mark.parametrize(
    ("page", "policy", "expected"),
    [
        ("037", "both", ["A\x07B\x9f", "é\x00\x9f\x9f"]),
        ("037_text", "none", ["A B ", "é   "]),
        ("037_text", "both", ["A B", "é"]),
        ("037_text", "right", ["A B", "é"]),
        ("037_extended", "none", ["A\x07B ", "é\x00  "]),
        ("037_extended", "both", ["A\x07B", "é"]),
        ("500_text", "none", ["A\x07B ", "é\x00  "]),
        ("common", "none", ["A B ", "    "]),
        ("common", "both", ["A B", ""]),
    ],
)
def test_control_characters_are_blanks_where_the_page_says_so(page, policy, expected):
    records = [bytes.fromhex("C12FC2FF 4040"), bytes.fromhex("5100FFFF 4040")]
    assert texts(page, *records, policy=policy) == expected


def test_what_is_kept_depends_on_the_page():
    every = bytes(range(256))
    for ccsid, kept in [
        (37, {0x0D, 0x15, 0x25, 0x41, 0xCA}), (1047, {0x0D, 0x25}), (870, {0x0D, 0x25}), (1160, {0x0D, 0x25}),
    ]:  # fmt: skip
        read, whole = codepage(f"{ccsid:03d}_text").decode(every), codepage(ccsid).decode(every)
        hidden = {byte for byte in range(256) if not whole[byte].isprintable() and byte != 0x40}
        assert {byte for byte in hidden if read[byte] != " "} == kept
        assert all(read[byte] == whole[byte] for byte in set(range(256)) - hidden)
    for name in ("273_text", "1141_TEXT", "cp037_extended", "IBM-1047-extended"):
        read = codepage(name).decode(every)
        assert read[0x25] == "\n"
        assert read[0x05] == "\t"
        assert read[0x04] == read[0xFF] == read[0x20] == " "


def test_text_is_written_as_by_the_whole_page():
    for name in ("037_text", "037_extended", "common"):
        page = codepage(name)
        assert page.encode("é \n\x00") == bytes.fromhex("51402500")
        assert (page.ccsid, page.space, page.kind) == (37, 0x40, "EBCDIC")
        assert codepage(819).convert(b"A B", page) == bytes.fromhex("C140C2")
        assert codepage(name) is page
    assert codepage("common").convert(bytes.fromhex("C1C251"), codepage(367)) == b"AB "


@pytest.mark.parametrize("name", ["latin-1_text", "_text", "99999_extended", "037_blank", "text", "extended"])
def test_ways_of_reading_that_there_are_not(name):
    with pytest.raises(ConversionError, match="unknown code page"):
        codepage(name)


def test_national_pages_typed_from_the_code_charts():
    assert codepage(274).encode("é{ù}[]") == bytes.fromhex("C0516A544A5A")
    assert codepage(275).encode("ÉÇ$ãÕ") == bytes.fromhex("4A5B5A797B")
    assert codepage(1160).encode("€") == b"\xfe"
    assert codepage(924).encode("€Š") == bytes.fromhex("9F6A")
    assert codepage(1153).encode("€") == codepage(1155).encode("€") == b"\x9f"
    assert codepage(1154).encode("€") == b"\xe1"
    assert codepage(880).kind == "EBCDIC"
