"""VERIFY PASSWORD and PHRASE, SIGNON and SIGNOFF."""

from __future__ import annotations

import pytest

from tdqsim.cics import Condition, PasswordCheck, Region, SecurityPolicy
from tdqsim.definitions import define_terminal, define_transaction
from tdqsim.testing import StillClock
from tests.cics.security.helpers import LOGS, messages
from tests.rules import expect_rule, rule

DAY = 24 * 3600
POLICY = """\
users:
  CICSUSER:
  CICSRGN:
  ANN: {password: pw4ann, phrase: a phrase of ann, changed: 2026-01-31}
  BOB: {password: pw4bob, revoked: YES}
  CLERK:
    password: pw4clerk
passwords: {revoke: 3, interval: 90}
"""
CHANGED_NS = 1769817600 * 10**9
"""31 January 2026, 00:00 UTC."""


@pytest.fixture
def reg(tmp_path):
    path = tmp_path / "policy.yaml"
    path.write_text(POLICY)
    definitions = [*LOGS, define_terminal(name="T001"), define_terminal(name="T002", userid="CLERK")]
    clock = StillClock(CHANGED_NS + 10 * DAY * 10**9)
    with Region(definitions, security=path, supplied_queues=False, clock=clock) as made:
        yield made


@pytest.mark.rule(
    "PASSWORD-WRONG", "PASSWORD-REVOKED", "PASSWORD-UNKNOWN", "PASSWORD-NONE", "PASSWORD-XS1201", "PASSWORD-ESMRESP",
    "PASSWORD-INVALIDCOUNT",
)  # fmt: skip
def test_passwords_are_verified_and_wrong_ones_counted(reg):
    with reg.task() as task:
        task.verify_password("pw4ann", "ANN")
        task.verify_password("pw4ann  ", "ANN     ")
        assert messages(reg, "CSCS") == ""
        assert expect_rule("PASSWORD-WRONG", task.verify_password, "PW4ANN", "ANN").brings["INVALIDCOUNT"] == 1
        assert expect_rule("PASSWORD-WRONG", task.verify_password, "", "ANN").brings["INVALIDCOUNT"] == 2
        assert messages(reg, "CSCS").count(rule("PASSWORD-XS1201").message) == 2
        assert task.verify_password("pw4ann", "ANN").invalidcount == 2
        text = messages(reg, "CSCS")
        assert rule("PASSWORD-INVALIDCOUNT").message in text
        assert "for userid ANN has been verified after 2 invalid attempts" in text
        assert task.verify_password("pw4ann", "ANN").invalidcount == 0
        expect_rule("PASSWORD-UNKNOWN", task.verify_password, "pw4ann", "NOBODY")
        error = expect_rule("PASSWORD-REVOKED", task.verify_password, "pw4bob", "BOB")
        assert error.brings["ESMRESP"] == int(rule("PASSWORD-ESMRESP").message)
        for _ in range(3):
            expect_rule("PASSWORD-WRONG", task.verify_password, "x", "CLERK")
        expect_rule("PASSWORD-REVOKED", task.verify_password, "pw4clerk", "CLERK")
        assert "pw4" not in messages(reg, "CSCS")
    with Region([]) as other, other.task() as task:
        expect_rule("PASSWORD-NONE", task.verify_password, "pw4ann", "ANN")


class OnePassword(SecurityPolicy):
    """A policy that counts nothing."""

    def check_password(self, user: str, password: str, now_ns: int) -> PasswordCheck:
        del user, now_ns
        return PasswordCheck("" if password == "right" else "wrong")


def test_wrong_passwords_are_counted_if_the_policy_does_not():
    with Region([*LOGS], security=OnePassword(), supplied_queues=False) as region, region.task() as task:
        for invalid in (1, 2):
            error = expect_rule("PASSWORD-WRONG", task.verify_password, "no", "ANN")
            assert error.brings["INVALIDCOUNT"] == invalid
        assert task.verify_password("right", "BOB").invalidcount == 0
        assert task.verify_password("right", "ANN").invalidcount == 2
        assert messages(region, "CSCS").count("DFHXS1206") == 1
        assert task.verify_password("right", "ANN").invalidcount == 0
        assert messages(region, "CSCS").count("DFHXS1206") == 1


@pytest.mark.parametrize(("revoke", "most"), [(0, 9), (1, 1), (2, 2)])
def test_how_many_wrong_passwords_revoke_a_user(tmp_path, revoke, most):
    path = tmp_path / "policy.yaml"
    path.write_text(POLICY.replace("revoke: 3", f"revoke: {revoke}"))
    with Region([], security=path) as reg, reg.task() as task:
        task.verify_password("pw4clerk", "CLERK")
        for _ in range(most):
            with pytest.raises(Condition, match=r"NOTAUTH .* 2"):
                task.verify_password("x", "CLERK")
        if revoke:
            with pytest.raises(Condition, match=r"NOTAUTH .* 19"):
                task.verify_password("pw4clerk", "CLERK")
        else:
            assert task.verify_password("pw4clerk", "CLERK").invalidcount == most


@pytest.mark.rule("PASSWORD-EXPIRED", "PASSWORD-NO-EXPIRY")
def test_times_and_days(reg):
    with reg.task() as task:
        first = task.verify_password("pw4ann", "ANN")
        assert first.daysleft == 80
        assert task.formattime(first.changetime).yyyymmdd == "20260131"
        assert task.formattime(first.expirytime).yyyymmdd == "20260501"
        assert first.lastusetime == 0
        reg.clock.advance(DAY)
        second = task.verify_password("pw4ann", "ANN")
        assert second.daysleft == 79
        assert task.formattime(second.lastusetime).yyyymmdd == "20260210"
        assert str(task.verify_password("pw4clerk", "CLERK").daysleft) == rule("PASSWORD-NO-EXPIRY").message
        reg.clock.advance(79 * DAY - 1)
        assert task.verify_password("pw4ann", "ANN").daysleft == 0
        reg.clock.advance(1)
        expect_rule("PASSWORD-EXPIRED", task.verify_password, "pw4ann", "ANN")
        expect_rule("PASSWORD-WRONG", task.verify_password, "x", "ANN")


@pytest.mark.rule("PHRASE-SHORT", "PHRASE-LENGTH")
def test_phrases(reg):
    with reg.task() as task:
        task.verify_phrase("a phrase of ann", 15, "ANN")
        task.verify_phrase("a phrase of ann and more", 15, "ANN")
        task.verify_phrase("a phrase of ann", 100, "ANN")
        task.verify_phrase("pw4ann", 6, "ANN")
        expect_rule("PHRASE-SHORT", task.verify_phrase, "a phrase of ann", 8, "ANN")
        for length in (0, 101, -1):
            expect_rule("PHRASE-LENGTH", task.verify_phrase, "a phrase of ann", length, "ANN")
        with pytest.raises(Condition, match="NOTAUTH"):
            task.verify_phrase("a phrase of bob", 15, "ANN")


def at_terminal(reg, terminal, program):
    """Run a program at a terminal; its result and the user that it had."""
    with_user = []

    def run(task):
        with_user.append(task.userid)
        return program(task)

    reg.register("PGM", run)
    handle = reg.screens.type(terminal, "PGM")
    reg.run()
    return handle.result(), with_user[0]


@pytest.mark.rule("SIGNON-TERMINAL-USER", "SIGNON-ALREADY", "SIGNOFF-DEFAULT", "SIGNOFF-NOBODY")
def test_a_terminal_user_signs_on_and_off(reg):
    _, before = at_terminal(reg, "T001", lambda task: (task.signon("ANN     ", "pw4ann  "), task.asktime()))
    assert before == "CICSUSER"
    assert at_terminal(reg, "T001", lambda _task: None)[1] == rule("SIGNON-TERMINAL-USER").message
    at_terminal(reg, "T001", lambda task: expect_rule("SIGNON-ALREADY", task.signon, "CLERK", "pw4clerk"))
    at_terminal(reg, "T001", lambda task: expect_rule("SIGNON-ALREADY", task.signon, "ANN", "pw4ann"))
    at_terminal(reg, "T001", lambda task: task.signoff())
    assert at_terminal(reg, "T001", lambda _task: None)[1] == rule("SIGNOFF-DEFAULT").message
    at_terminal(reg, "T001", lambda task: expect_rule("SIGNOFF-NOBODY", task.signoff))


@pytest.mark.rule(
    "SIGNON-NO-TERMINAL", "SIGNON-PRESET", "SIGNON-NO-PASSWORD", "SIGNON-BLANK", "SIGNOFF-NO-TERMINAL", "SIGNOFF-PRESET",
)  # fmt: skip
def test_sign_on_and_off_refused(reg):
    with reg.task() as task:
        expect_rule("SIGNON-NO-TERMINAL", task.signon, "ANN", "pw4ann")
        expect_rule("SIGNOFF-NO-TERMINAL", task.signoff)

    def tries(task):
        expect_rule("SIGNON-NO-PASSWORD", task.signon, "ANN")
        expect_rule("SIGNON-BLANK", task.signon, " ", "pw4ann")
        for user, password, numbers in (
            ("ANN", "x", ("NOTAUTH", 2)),
            ("BOB", "pw4bob", ("NOTAUTH", 19)),
            ("NOBODY", "x", ("USERIDERR", 8)),
        ):
            with pytest.raises(Condition) as caught:
                task.signon(user, password)
            assert (caught.value.name, caught.value.resp2) == numbers

    at_terminal(reg, "T001", tries)
    assert at_terminal(reg, "T001", lambda _task: None)[1] == "CICSUSER"

    def preset(task):
        expect_rule("SIGNON-PRESET", task.signon, "ANN", "pw4ann")
        expect_rule("SIGNOFF-PRESET", task.signoff)

    assert at_terminal(reg, "T002", preset)[1] == "CLERK"


def test_sign_on_without_a_policy_and_with_one_of_your_own():
    definitions = [define_terminal(name="T001"), define_transaction(name="PGM")]
    with Region(definitions, supplied_queues=False) as reg:

        def no_policy(task):
            with pytest.raises(Condition, match=r"INVREQ .* 18"):
                task.signon("ANN", "any")

        at_terminal(reg, "T001", no_policy)
        reg.security = SecurityPolicy()  # it knows everybody, and every password is right
        at_terminal(reg, "T001", lambda task: task.signon("ANN", "any"))
        assert at_terminal(reg, "T001", lambda _task: None)[1] == "ANN"


@pytest.mark.parametrize("command", ["PASSWORD('pw4ann')", "PHRASE('a phrase of ann') PHRASELEN(15)"])
def test_the_text_form_gets_times_counts_and_codes(reg, command):
    words = "CHANGETIME DAYSLEFT ESMREASON ESMRESP EXPIRYTIME INVALIDCOUNT LASTUSETIME".split()
    text = " ".join(f"{word}({word})" for word in words)
    wrong = command.replace("ann", "bob")
    with reg.task() as task:
        task.verify_password("pw4ann", "ANN")
        given = dict.fromkeys(words, 99)
        task.execute(f"VERIFY {wrong} USERID('ANN') {text} NOHANDLE", given)
        assert [given[word] for word in words] == [99, 99, 0, 8, 99, 1, 99]
        task.execute(f"VERIFY {command} USERID('ANN') {text}", given)
        assert [given[word] for word in ("DAYSLEFT", "ESMREASON", "ESMRESP", "INVALIDCOUNT")] == [80, 0, 0, 1]
        times = [task.formattime(given[word]).yyyymmdd for word in ("CHANGETIME", "EXPIRYTIME", "LASTUSETIME")]
        assert times == ["20260131", "20260501", "20260210"]
        task.execute(f"VERIFY {command} USERID('NOBODY') ESMRESP(ESMRESP) NOHANDLE", given)
        assert (task.eib.eibresp, task.eib.eibresp2, given["ESMRESP"]) == (69, 8, 4)
        reg.security = None
        task.execute(f"VERIFY {command} USERID('ANN') NOHANDLE")
        assert (task.eib.eibresp, task.eib.eibresp2) == (16, 18)


def test_the_text_form_of_sign_on_gets_codes(reg):
    given = {"CODE": 99, "REASON": 99}

    def program(task):
        text = "SIGNON USERID('ANN') PASSWORD({}) ESMRESP(CODE) ESMREASON(REASON) NOHANDLE"
        task.execute(text.format("'x'"), given)
        failed = dict(given)
        task.execute(text.format("'pw4ann'"), given)
        return failed, dict(given)

    failed, right = at_terminal(reg, "T001", program)[0]
    assert failed == {"CODE": 8, "REASON": 0}
    assert right == {"CODE": 0, "REASON": 0}
