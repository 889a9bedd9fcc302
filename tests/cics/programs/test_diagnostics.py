"""Operator messages, traces, dumps and journals: tests read what programs have written; and BIF DEEDIT."""

from __future__ import annotations

import pytest

from tdqsim import Condition, Region, TranslationError


@pytest.fixture
def region():
    with Region([]) as region:
        yield region


@pytest.fixture
def task(region):
    with region.task() as task:
        yield task


def test_a_journal_has_its_records_in_order_and_their_numbers_are_received(region, task):
    assert task.write_journalname("LOG", "AB", b"first") == 1
    got = {"REC": b"second", "LEN": 3}
    task.execute("WRITE JOURNALNAME('OTHER') JTYPEID('XY') FROM(REC) FLENGTH(LEN) REQID(ID)", got)
    assert got["ID"] == 2
    assert region.diagnostics.journals == [("LOG", "AB", b"first"), ("OTHER", "XY", b"sec")]


def test_wait_journalname_finds_the_record_written(region, task):
    number = task.write_journalname("LOG", "AB", b"first")
    task.wait_journalname("LOG", reqid=number)
    assert (task.eib.eibresp, len(region.diagnostics.journals)) == (0, 1)


def test_textlength_cuts_a_text_for_the_operator(region, task):
    task.write_operator("PAYMENTS LATE", 8)
    assert region.diagnostics.operator == ["PAYMENTS"]


def test_the_reply_of_the_operator(region, task):
    region.diagnostics.replies.extend(["YES", "PERHAPS"])
    got = {}
    task.execute("WRITE OPERATOR TEXT('CONTINUE?') MAXLENGTH(5) REPLY(ANSWER) REPLYLENGTH(LEN) TIMEOUT(9)", got)
    assert (got["ANSWER"], got["LEN"]) == ("YES", 3)
    with pytest.raises(Condition) as caught:
        task.write_operator("CONTINUE?", maxlength=5)
    assert caught.value.name == "LENGERR"
    with pytest.raises(Condition) as caught:
        task.write_operator("CONTINUE?", timeout=1)
    assert caught.value.name == "EXPIRED"


def test_a_trace_entry_has_what_the_command_gave(region, task):
    task.enter_tracenum(3, b"data", 2, resource="PAYMENT", exception=True)
    task.enter_tracenum(4)
    assert [entry[1:] for entry in region.diagnostics.trace] == [(3, b"da", "PAYMENT", True), (4, b"", "", False)]


def test_a_dump_has_the_data_and_its_id_is_received(region, task):
    got = {"REC": b"abcdef"}
    task.execute("DUMP TRANSACTION DUMPCODE('PAY1') FROM(REC) FLENGTH(4) DUMPID(ID)", got)
    assert got["ID"].rstrip() == "1/0001"
    task.dump_transaction("PAY2", b"abcdef", short=2)
    assert [entry[1:] for entry in region.diagnostics.dumps] == [("PAY1", b"abcd"), ("PAY2", b"ab")]


def test_deedit_leaves_the_digits_of_the_length_on_the_right(task):
    got = {"FIELD": b"1A2-9"}
    task.execute("BIF DEEDIT FIELD(FIELD) LENGTH(3)", got)
    assert bytes(got["FIELD"])[:3] == b"012"


def edited(task, text, page="cp037"):
    return task.bif_deedit(text.encode(page))["FIELD"].decode(page)


@pytest.mark.rule("BIF-DEEDIT")
@pytest.mark.parametrize("page", ["cp037", "ascii"])
def test_deedit_leaves_the_digits_only(task, page):
    assert edited(task, "   $25.68", page) == edited(task, "$25.68   ", page) == "000002568"
    assert edited(task, "no digit.", "cp037") == "000000000"


@pytest.mark.rule("BIF-DEEDIT-ZONED")
def test_deedit_does_not_change_a_last_byte_that_is_a_signed_digit(task):
    assert edited(task, "14-6704/B") == edited(task, "14-6704/B", "ascii") == "00146704B"
    assert task.bif_deedit(b"\xf1\x60\xa2")["FIELD"] == b"\xf0\xf1\xa2"
    assert task.bif_deedit(b"\xf1\x60\x92")["FIELD"] == b"\xf0\xf0\xf1"


@pytest.mark.rule("BIF-DEEDIT-SIGN")
@pytest.mark.parametrize(
    ("text", "number", "in_ascii"), [("1,2-", "001K", "001r"), ("12CR", "001K", "001r"), ("0-", "0}", "0p")]
)
def test_deedit_puts_a_minus_sign_over_the_last_digit(task, text, number, in_ascii):
    assert edited(task, text) == number
    assert edited(task, text, "ascii") == in_ascii


@pytest.mark.rule("BIF-DEEDIT-ONE-BYTE")
@pytest.mark.parametrize("text", ["-", "A", "5", " "])
def test_deedit_does_not_change_a_field_of_one_byte(task, text):
    assert edited(task, text) == text


def test_a_field_without_a_value_is_refused(task):
    with pytest.raises(TranslationError, match="FIELD must be bytes or text, not NoneType"):
        task.execute("BIF DEEDIT FIELD(FIELD)", {"FIELD": None})
