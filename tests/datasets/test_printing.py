"""What control characters do to paper."""

from __future__ import annotations

import pytest

from tdqsim.core.codepage import codepage
from tdqsim.datasets import PrintControl, render, render_asa, render_machine

PAGE = codepage(37)


def asa(*records):
    return list(render_asa([PAGE.encode(record) for record in records]))


@pytest.mark.rule("DS-ASA")
def test_asa():
    assert asa("1TITLE", " one", "0two", "-three", "+_____", " ", "1PAGE 2", "2ch", "?odd") == [
        "TITLE", "one", "", "two", "", "", "three", "", "\f", "PAGE 2", "ch", "odd",
    ]  # fmt: skip
    assert asa("0x") == ["", "x"]
    assert asa("+x") == ["x"]
    assert asa() == []


@pytest.mark.rule("DS-ASA")
def test_overprinting():
    assert asa(" AB", "+ __C") == ["AB_C"]
    assert asa(" ab", "+AB") == ["AB"]


@pytest.mark.rule("DS-MACHINE")
def test_machine():
    def machine(*records):
        return list(render_machine([code + PAGE.encode(text) for code, text in records]))

    lines = machine((b"\x8b", ""), (b"\x09", "one"), (b"\x11", "two"), (b"\x01", "ab"), (b"\x09", "__"), (b"\x0b", "not"),
                    (b"\x89", "last"), (b"\x09", "next"), (b"\x03", "nothing"), (b"\xff", "odd"))  # fmt: skip
    assert lines == ["one", "two", "", "ab", "", "last", "\f", "next", "odd"]


def test_render_by_control():
    records = [PAGE.encode("1x"), PAGE.encode("0y")]
    assert list(render(records, PrintControl.ASA)) == ["x", "", "y"]
    assert list(render(records, PrintControl.NONE)) == ["1x", "0y"]
    assert list(render([b"\x09\xc1"], PrintControl.MACHINE)) == ["A"]
    assert list(render([b"", b"\xf1\x00"], PrintControl.ASA)) == ["."]
