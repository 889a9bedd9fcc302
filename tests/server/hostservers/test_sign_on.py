"""Signing on and changing passwords, by hand: return codes, what is counted, what a change keeps."""

from __future__ import annotations

import pytest

from tdqsim.ibmi import MESSAGES, System
from tdqsim.server.hostservers import (
    Account,
    Accounts,
    PasswordLevel,
    SignOnCode,
    block,
    change_password,
    covered,
    sign_on,
    substitute,
    token,
)
from tdqsim.server.hostservers.accounts import Attempt, NewPassword, check
from tests.rules import rule
from tests.server.hostservers.wire import CLIENT, Client

SERVER = bytes.fromhex("1122334455667788")
SEEDS = (CLIENT, SERVER)


@pytest.fixture
def system():
    with System() as made:
        made.crtusrprf("ANNA")
        yield made


def attempt(password="Secret1pw", level=PasswordLevel.SHA1, user="ANNA", kind=None):
    sent = substitute(level, token(level, user, password), user, *SEEDS)
    return Attempt(user, int(level.credential) if kind is None else kind, sent, SEEDS)


def anna(password="Secret1pw"):
    account = Account("ANNA")
    account.set_password(password)
    return account


def hidden(level, old, new, user="ANNA", proof=None):
    """What a client sends for a change of password."""

    def raw(word):
        if level is PasswordLevel.DES:
            return (
                word.upper()
                .ljust(10)[: 8 if len(word) <= 8 else 10]
                .encode("cp037")
                .ljust(8 if len(word) <= 8 else 16, b"\x40")
            )
        step = 20 if level is PasswordLevel.SHA1 else 64
        data = word.encode("utf-16-be")
        return data.ljust(-(-len(data) // step) * step, b"\0")

    data, following = covered(level, token(level, user, old), user, SEEDS, raw(new), 2)
    back, _ = covered(level, token(level, user, new), user, SEEDS, raw(old if proof is None else proof), following)
    return NewPassword(back, data, 2 * len(old), 2 * len(new))


def test_what_a_sign_on_comes_to(system):
    account = Account("ANNA")

    def tried(one=None, who=account):
        return check(system, who, PasswordLevel.SHA1, attempt() if one is None else one)

    assert tried() is SignOnCode.PASSWORD_NONE
    account.set_password("Secret1pw")
    assert tried() is SignOnCode.GOOD
    assert tried(attempt(kind=1)) is SignOnCode.REQUEST_NOT_VALID
    assert tried(who=None) is SignOnCode.PASSWORD_NONE
    assert check(system, Account("NOBODY"), PasswordLevel.SHA1, attempt(user="NOBODY")) is SignOnCode.PASSWORD_WRONG
    assert "NOBODY" not in system.profiles
    system.chgusrprf("ANNA", pwdexp=True)
    assert tried() is SignOnCode.PASSWORD_EXPIRED
    assert tried(attempt("wrong")) is SignOnCode.PASSWORD_WRONG  # an expired password is told of only by who has it


@pytest.mark.rule(
    "SIGNON-UNKNOWN", "SIGNON-DISABLED", "SIGNON-WRONG", "SIGNON-WRONG-NEXT", "SIGNON-EXPIRED", "SIGNON-NONE",
    "SIGNON-NEW-LONG", "SIGNON-NEW-CHARACTER", "SIGNON-NEW-PROOF",
)  # fmt: skip
def test_each_refusal_has_its_code(system):
    level, account = PasswordLevel.SHA1, anna("OLD")
    accounts = Accounts([account, Account("EMPTY")])
    system.crtusrprf("EMPTY")

    def change(new, **more):
        return change_password(system, accounts, level, attempt("OLD"), hidden(level, "OLD", new, **more))

    def tried(one):
        return sign_on(system, accounts, level, one)

    found = {
        "SIGNON-UNKNOWN": tried(attempt(user="NOBODY")), "SIGNON-NONE": tried(attempt(user="EMPTY")),
        "SIGNON-WRONG": tried(attempt("x")), "SIGNON-WRONG-NEXT": tried(attempt("x")),
        "SIGNON-NEW-LONG": change("x" * 129), "SIGNON-NEW-CHARACTER": change("*X"), "SIGNON-NEW-PROOF": change("NEW", proof="X"),
    }  # fmt: skip
    system.chgusrprf("ANNA", pwdexp=True)
    found["SIGNON-EXPIRED"] = tried(attempt("OLD"))
    system.chgusrprf("ANNA", status="*DISABLED")
    found["SIGNON-DISABLED"] = tried(attempt("OLD"))
    for rule_id, code in found.items():
        assert f"{code:08X}" == rule(rule_id).message, rule_id


def test_too_many_wrong_passwords_disable_the_profile(system):
    account = anna()
    tries = [check(system, account, PasswordLevel.SHA1, attempt("wrong")) for _ in range(2)]
    assert tries == [SignOnCode.PASSWORD_WRONG, SignOnCode.PASSWORD_WRONG_NEXT_DISABLES]
    assert check(system, account, PasswordLevel.SHA1, attempt()) is SignOnCode.GOOD  # the count begins anew
    tries = [check(system, account, PasswordLevel.SHA1, attempt("wrong")) for _ in range(4)]
    assert tries[1:] == [SignOnCode.PASSWORD_WRONG_NEXT_DISABLES, SignOnCode.PASSWORD_WRONG, SignOnCode.USER_DISABLED]
    assert check(system, account, PasswordLevel.SHA1, attempt()) is SignOnCode.USER_DISABLED
    with system.job(user="QSECOFR") as job:
        job.command("CHGUSRPRF USRPRF(ANNA) STATUS(*ENABLED)")
        assert str(job.joblog[-1]) == "CPC2206 User profile ANNA changed."
    tries = [check(system, account, PasswordLevel.SHA1, attempt("wrong")) for _ in range(2)]
    assert tries == [SignOnCode.PASSWORD_WRONG, SignOnCode.PASSWORD_WRONG_NEXT_DISABLES]  # all of them are given again
    assert check(system, account, PasswordLevel.SHA1, attempt()) is SignOnCode.GOOD


def test_a_new_password_is_tried_as_often_as_any(system):
    account = anna()
    assert check(system, account, PasswordLevel.SHA1, attempt("wrong")) is SignOnCode.PASSWORD_WRONG
    account.set_password("Other2")
    assert check(system, account, PasswordLevel.SHA1, attempt("wrong")) is SignOnCode.PASSWORD_WRONG


def test_a_disabled_profile_stays_so_after_a_restart(tmp_path):
    with System("SYS1", store=tmp_path / "s") as system:
        system.crtusrprf("ANNA", pwdexp=True)
        for _ in range(3):
            check(system, anna(), PasswordLevel.SHA1, attempt("wrong"))
        assert not system.profiles["ANNA"].disabled  # three accounts, one wrong password each
        account = anna()
        for _ in range(3):
            check(system, account, PasswordLevel.SHA1, attempt("wrong"))
    with System("SYS1", store=tmp_path / "s") as system:
        assert system.profiles["ANNA"].disabled
        assert system.profiles["ANNA"].expired


@pytest.mark.rule(
    "SIGNON-NEW-SHORT", "SIGNON-NEW-MAXLEN", "SIGNON-NEW-REPEAT", "SIGNON-NEW-DIGITS", "SIGNON-NEW-REPEAT-AT-ONCE",
    "SIGNON-NEW-NO-DIGIT",
)  # fmt: skip
@pytest.mark.parametrize("level", PasswordLevel)
def test_the_system_values_for_new_passwords(system, level):
    account = anna("OLD")
    for rule_id, name, value, new, good in (
        ("SIGNON-NEW-SHORT", "QPWDMINLEN", 6, "FIVE5", "SIXTY6"), ("SIGNON-NEW-MAXLEN", "QPWDMAXLEN", 6, "SEVENTY", "SIXTY6"),
        ("SIGNON-NEW-REPEAT", "QPWDLMTREP", 1, "ABCA", "ABC"), ("SIGNON-NEW-DIGITS", "QPWDLMTAJC", 1, "A12B", "A1B2"),
        ("SIGNON-NEW-REPEAT-AT-ONCE", "QPWDLMTREP", 2, "ABBA", "ABAB"), ("SIGNON-NEW-NO-DIGIT", "QPWDRQDDGT", 1, "ABC", "ABC1"),
    ):  # fmt: skip
        before = system.values[name]
        system.values[name] = value
        codes = []
        for word in (new, good):
            account.set_password("OLD")
            codes.append(
                change_password(system, Accounts([account]), level, attempt("OLD", level), hidden(level, "OLD", word))
            )
        assert [f"{code:08X}" for code in codes] == [rule(rule_id).message, "00000000"]
        system.values[name] = before


def test_as_many_tries_as_the_system_value_says(system):
    system.values["QMAXSIGN"] = 5
    account = anna()
    tries = [check(system, account, PasswordLevel.SHA1, attempt("wrong")) for _ in range(6)]
    assert tries[2:] == [
        SignOnCode.PASSWORD_WRONG, SignOnCode.PASSWORD_WRONG_NEXT_DISABLES, SignOnCode.PASSWORD_WRONG, SignOnCode.USER_DISABLED,
    ]  # fmt: skip


@pytest.mark.parametrize("level", PasswordLevel)
@pytest.mark.parametrize(("old", "new"), [("SECRET1", "OTHER2"), ("SECRET1PWD", "N"), ("OLD", "NEWLONGPW1")])
def test_a_change_of_password(system, level, old, new):
    account = anna(old)
    accounts = Accounts([account])
    system.chgusrprf("ANNA", pwdexp=True)
    code = change_password(system, accounts, level, attempt(old, level), hidden(level, old, new))
    assert code is SignOnCode.GOOD
    for each in PasswordLevel:
        assert check(system, account, each, attempt(new, each)) is SignOnCode.GOOD
        assert check(system, account, each, attempt(old, each)) is SignOnCode.PASSWORD_WRONG
        account.wrong = 0


@pytest.mark.parametrize("level", [PasswordLevel.SHA1, PasswordLevel.PBKDF2])
def test_a_long_password_with_all_kinds_of_characters(system, level):
    account = anna("Alt")
    new = "Grüße an 東京 " + "x" * 100
    assert change_password(system, Accounts([account]), level, attempt("Alt", level), hidden(level, "Alt", new)) == 0
    assert check(system, account, level, attempt(new, level)) is SignOnCode.GOOD


@pytest.mark.parametrize(
    ("level", "new", "expected"),
    [
        (PasswordLevel.DES, "A-B", SignOnCode.NEW_PASSWORD_CHARACTER),
        (PasswordLevel.DES, "1ABC", SignOnCode.NEW_PASSWORD_CHARACTER),  # a client puts a Q in front
        (PasswordLevel.SHA1, "*NONE", SignOnCode.NEW_PASSWORD_CHARACTER),
        (PasswordLevel.SHA1, "x" * 129, SignOnCode.NEW_PASSWORD_TOO_LONG),
        (PasswordLevel.SHA1, " ", SignOnCode.NEW_PASSWORD_TOO_SHORT),
        (PasswordLevel.PBKDF2, "a\x00b", SignOnCode.NEW_PASSWORD_CHARACTER),
    ],
)
def test_new_passwords_that_are_refused(system, level, new, expected):
    account = anna("OLD")
    code = change_password(system, Accounts([account]), level, attempt("OLD", level), hidden(level, "OLD", new))
    assert code is expected
    assert check(system, account, level, attempt("OLD", level)) is SignOnCode.GOOD


NOT_TAKEN = (SignOnCode.PASSWORD_NOT_VALID, SignOnCode.OLD_PASSWORD_NOT_VALID, SignOnCode.NEW_PASSWORD_CHARACTER)


def test_a_change_that_does_not_fit_changes_nothing(system):
    account = anna("OLD")
    accounts = Accounts([account])
    level = PasswordLevel.SHA1

    def change(one, more):
        return change_password(system, accounts, level, one, more)

    assert change(attempt("WRONG"), hidden(level, "WRONG", "NEW")) is SignOnCode.PASSWORD_WRONG
    assert change(attempt("OLD"), hidden(level, "OLD", "NEW", proof="OTHER")) is SignOnCode.OLD_PASSWORD_NOT_VALID
    right = hidden(level, "OLD", "NEW")
    for broken in (
        right._replace(new_length=5000), right._replace(old_length=3), right._replace(new=bytes(20)),
        right._replace(new=b"\xd8" * 20, new_length=20),
    ):  # fmt: skip
        assert change(attempt("OLD"), broken) in NOT_TAKEN
    assert change(attempt("OLD", user="NOBODY"), right) is SignOnCode.PASSWORD_WRONG
    system.chgusrprf("ANNA", status="*DISABLED")
    assert change(attempt("OLD"), right) is SignOnCode.USER_DISABLED
    system.chgusrprf("ANNA", status="*ENABLED")
    assert check(system, account, level, attempt("OLD")) is SignOnCode.GOOD


def test_a_refusal_brings_its_message_when_it_is_asked_for(served, connect, monkeypatch):
    clock, later = type(served.system.clock), [0]
    now = clock.time_ns
    monkeypatch.setattr(clock, "time_ns", lambda self: now(self) + later[0])

    def refused(user, password, asked):
        client: Client = connect(served, "as-signon", 0xE009)
        got = client.ask(0x7003, block(0x1101, bytes(4)) + block(0x1102, b"\0\5") + block(0x1103, CLIENT))
        seed = got.blocks(24)[0x1103]
        sent = substitute(PasswordLevel.SHA1, token(PasswordLevel.SHA1, user, password), user, CLIENT, seed)
        body = b"\x03" + block(0x1105, sent) + block(0x1104, user.ljust(10).encode("cp037"))
        return client.ask(0x7004, body + (block(0x1128, b"\1") if asked else b""), template=1)

    for user, password, message_id in (("NOBODY", "x", "CPF22E2"), ("ANNA", "wrong", "CPF22E2")):
        assert refused(user, password, asked=False).blocks(24) == {}
        told = refused(user, password, asked=True).blocks(24)
        assert told[0x112A] == b"\0\1"
        assert message_id.encode("cp037") in told[0x112B]
        assert MESSAGES[message_id].text.replace("&1", user).encode("cp037") in told[0x112B]
    good = refused("ANNA", "Secret1pw", asked=True)
    assert good.number(20, 4) == 0
    assert len(good.blocks(24)[0x1106]) == 8
    assert 0x1107 not in good.blocks(24)
    before = good.blocks(24)[0x1106]
    for _ in range(2):  # each is told the moment of the one before it
        later[0] += 60 * 10**9
        told = refused("ANNA", "Secret1pw", asked=True).blocks(24)
        assert told[0x1107] == before
        before = told[0x1106]


class Levels(Client):
    """A client that sends what the password level of the server asks for."""

    def start(self, level, password, user="ANNA"):
        """7001 and 7002 to a server; the return code."""
        kind = PasswordLevel.of(level)
        found = self.ask(0x7001, CLIENT, attributes=0x0300)
        assert found.attributes & 0xFF == level
        made = substitute(kind, token(kind, user, password), user, CLIENT, found.fixed(24, 8))
        body = bytes((kind.credential, 1)) + block(0x1105, made) + block(0x1104, user.ljust(10).encode("cp037"))
        return self.ask(0x7002, body, attributes=0x0200).number(20, 4)

    def retrieve(self, level, password, user="ANNA"):
        """7003 and 7004 to the sign-on server; the reply."""
        kind = PasswordLevel.of(level)
        found = self.ask(0x7003, block(0x1103, CLIENT)).blocks(24)
        assert found[0x1119] == bytes((level,))
        made = substitute(kind, token(kind, user, password), user, CLIENT, found[0x1103])
        body = bytes((kind.credential,)) + block(0x1113, bytes((0, 0, 4, 176))) + block(0x1105, made)
        return self.ask(0x7004, body + block(0x1104, user.ljust(10).encode("cp037")) + block(0x1128, b"\1"))


@pytest.mark.parametrize("level", range(5))
def test_signing_on_to_each_server_at_each_level(serve, level):
    served = serve(level)
    made = []

    def client(service, server):
        made.append(Levels(served, service, server))
        return made[-1]

    good = client("as-signon", 0xE009).retrieve(level, "Secret1pw")
    assert (good.request, good.number(20, 4)) == (0xF004, 0)
    assert good.blocks(24)[0x1114] == (37).to_bytes(4, "big")
    for service, server in (("as-dtaq", 0xE007), ("as-rmtcmd", 0xE008)):
        assert client(service, server).start(level, "Secret1pw") == 0
        assert client(service, server).start(level, "Secret1px") == SignOnCode.PASSWORD_WRONG
        assert client(service, server).start(level, "Secret1pw", "NOBODY") == SignOnCode.PASSWORD_WRONG
        assert client(service, server).start(level, "Secret1pw") == 0  # the count of wrong ones begins anew
    cased = client("as-signon", 0xE009).retrieve(level, "SECRET1PW")
    assert cased.number(20, 4) == (0 if level < 2 else SignOnCode.PASSWORD_WRONG)
    served.do(lambda: served.system.chgusrprf("ANNA", pwdexp=True))
    assert client("as-dtaq", 0xE007).start(level, "Secret1pw") == SignOnCode.PASSWORD_EXPIRED
    served.do(lambda: served.system.chgusrprf("ANNA", status="*DISABLED"))
    refused = client("as-signon", 0xE009).retrieve(level, "Secret1pw")
    assert refused.number(20, 4) == SignOnCode.USER_DISABLED
    assert "CPF22E3".encode("cp037") in refused.blocks(24)[0x112B]
    for each in made:
        each.socket.close()
