"""The stream of notices: said once, bounded, shown by one subscriber only."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

import tdqsim
from tdqsim.core.notices import Notice, Notices, own_lines
from tdqsim.facts import notice_words, table

_SAY = re.compile(r'notices\.say\(\s*"(\w+)"')


def words(event: str, inserts: Mapping[str, object]) -> Notice:
    return Notice("TDQ9999", f"TDQUEUE({inserts['queue']})", f"{event}.", "Mend it.", "error", event)


@pytest.fixture
def notices(monkeypatch: pytest.MonkeyPatch) -> Notices:
    """A stream in a process whose logging is not configured."""
    monkeypatch.setattr(logging.Logger, "hasHandlers", lambda _self: False)  # pytest has a handler everywhere
    return Notices("region A", words, lambda: 7)


def test_a_notice_is_written_to_standard_error_once(notices: Notices, capsys: pytest.CaptureFixture[str]) -> None:
    assert notices.say("it_fails", queue="PAYQ", task=12)
    assert not notices.say("it_fails", queue="PAYQ", task=13)
    assert capsys.readouterr().err == "tdqsim: region A: TDQ9999 TDQUEUE(PAYQ): it_fails. Mend it.\n"
    (only,) = notices
    assert only == Notice(
        "TDQ9999", "TDQUEUE(PAYQ)", "it_fails.", "Mend it.", event="it_fails", task="12", time_ns=7
    )  # fmt: skip
    assert notices.times(only) == 2


def test_a_notice_is_said_again_when_its_cause_has_ended_and_comes_back(notices: Notices) -> None:
    notices.add("TDQ9998", "TDQUEUE(PAYQ)", "first")
    notices.over("TDQUEUE(DONE)")
    notices.over("TDQUEUE(PAYQ)", "TDQ9997")
    assert not notices.add("TDQ9998", "TDQUEUE(PAYQ)", "first")
    notices.over("TDQUEUE(PAYQ)")
    assert (notices.times(notices[0]), notices.lasting) == (1, ())
    assert notices.add("TDQ9998", "TDQUEUE(PAYQ)", "first")
    assert [each.reason for each in notices] == ["first", "first"]
    assert notices.lasting == (notices[1],)  # once, though it was said twice
    notices.silence()
    for number in range(999):  # which drop the first one, and not what is known of the second one
        notices.add("TDQ9997", "", str(number))
    assert notices[0].reason == "first"
    assert notices.lasting[0] == notices[0]
    assert not notices.add("TDQ9998", "TDQUEUE(PAYQ)", "first")
    notices.add("TDQ9997", "", "999")
    assert notices.lasting[0].reason == "0"
    assert notices.add("TDQ9998", "TDQUEUE(PAYQ)", "first")  # nothing is known of it any more


def test_standard_error_is_silent_while_another_face_shows(
    notices: Notices, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: list[Notice] = []
    notices.subscribe(seen.append)
    more: list[Notice] = []
    notices.subscribe(more.append)
    notices.add("TDQ9998", "", "one")
    notices.unsubscribe(seen.append)
    notices.add("TDQ9998", "", "one and a half")
    notices.unsubscribe(more.append)
    notices.unsubscribe(more.append)
    assert [each.reason for each in more] == ["one", "one and a half"]
    notices.add("TDQ9998", "", "two")
    notices.silence()
    notices.add("TDQ9998", "", "three")
    assert [each.reason for each in seen] == ["one"]
    assert capsys.readouterr().err == "tdqsim: region A: TDQ9998: two\n"
    assert len(notices) == 4


def test_standard_error_is_silent_when_the_user_has_configured_logging(
    notices: Notices, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    monkeypatch.setattr(logging.getLogger("tdqsim"), "handlers", [logging.NullHandler()])
    notices.add("TDQ9998", "", "one")
    assert capsys.readouterr().err == ""
    assert len(notices) == 1


def test_a_warning_is_no_error_in_the_log() -> None:
    logged: list[tuple[str, str]] = []

    class Log:
        def warning(self, event: str, **values: object) -> None:
            logged.append(("warning", event))

        def error(self, event: str, **values: object) -> None:
            logged.append(("error", event))

    notices = Notices("region A", words, lambda: 7, Log())
    notices.silence()
    notices.say("it_fails", queue="PAYQ")
    notices.add("TDQ9998", "", "fails", event="made_elsewhere")
    notices.add("TDQ9997", "", "surprises", severity="warning")
    assert logged == [("error", "it_fails"), ("error", "made_elsewhere"), ("warning", "notice")]


def test_the_memory_is_bounded_and_texts_are_on_one_line(notices: Notices) -> None:
    notices.silence()
    for number in range(1_001):
        notices.add("TDQ9998", "", f"{number}\x1b[2J\n{'x' * 5_000}")
    assert len(notices) == 1_000
    assert notices[0].reason.startswith("1 [2J xxx")
    assert len(notices[0].reason) == 2_004


def test_own_lines_leave_out_those_of_the_package() -> None:
    region = tdqsim.Region()
    try:
        region.writeq_td("NONE", b"x")
    except tdqsim.Condition as error:
        text = own_lines(error)
    assert text.startswith("Traceback (most recent call last):\n")
    assert [line.strip() for line in text.splitlines() if line.startswith("    ")] == ['region.writeq_td("NONE", b"x")']
    region.close()


def test_every_event_that_is_said_has_its_words() -> None:
    source = Path(tdqsim.__file__).parent
    said = {event for path in source.rglob("*.py") for event in _SAY.findall(path.read_text("utf-8"))}
    assert said - {row["event"] for row in table("notices")} == set()


def test_an_insert_that_is_missing_does_not_fail() -> None:
    assert notice_words("open_failed", {"queue": "OUTQ", "reason": "no DD."}) == Notice(
        "TDQ0009",
        "TDQUEUE(OUTQ)",
        "Its data set was not opened at install: no DD.",
        "Correct the definition or the DD card, then SET TDQUEUE(OUTQ) OPEN.",
        "error",
        "open_failed",
    )
    assert notice_words("open_failed", {}).resource == "TDQUEUE(????)"


def test_our_own_ids_belong_to_one_event() -> None:
    ids = [row["id"] for row in table("notices") if row["id"].startswith("TDQ")]
    assert sorted(ids) == sorted(set(ids))
