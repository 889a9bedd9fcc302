"""Accounts that are the users of a server: users.yaml for all listeners."""

from __future__ import annotations

import pytest

from tdqsim.ibmi import ParameterError, System
from tdqsim.server.hostservers import (
    Account,
    Accounts,
    CommandPasswords,
    PasswordLevel,
    SignOnCode,
    change_password,
    sign_on,
    token,
    tokens,
)
from tests.server.hostservers.test_sign_on import attempt, hidden

pytest.importorskip("argon2", reason="needs tdqsim[serve]")

from tdqsim.server.hostservers import UserAccounts
from tdqsim.server.users import Role, SignOnRefused, TooManySignOns, User, Users, hashed


@pytest.fixture
def system():
    with System() as made:
        made.crtusrprf("ANNA")
        yield made


def test_the_users_of_a_server(system, tmp_path):
    """Verifiers come from users.yaml; a changed password is the user's for all listeners, and is in the file."""
    path = tmp_path / "users.yaml"
    verifiers = {int(level): kept for level, kept in tokens("ANNA", "Secret1pw").items()}
    Users([User("ANNA", frozenset({Role.look}), (), hashed("Secret1pw"), verifiers)]).write(path)
    users = Users.load(path)
    accounts = UserAccounts(users, path)
    for level in PasswordLevel:
        assert sign_on(system, accounts, level, attempt(level=level)) is SignOnCode.GOOD
    changed = change_password(
        system, accounts, PasswordLevel.SHA1, attempt(), hidden(PasswordLevel.SHA1, "Secret1pw", "Other2")
    )
    assert changed is SignOnCode.GOOD
    assert users.authenticate("anna", "Other2").id == "ANNA"
    again = Users.load(path)
    assert again.authenticate("ANNA", "Other2").ibmi == {
        int(key): kept for key, kept in tokens("ANNA", "Other2").items()
    }
    for known in (users, again):
        for level in PasswordLevel:
            assert sign_on(system, UserAccounts(known), level, attempt("Other2", level)) is SignOnCode.GOOD
        assert sign_on(system, UserAccounts(known), PasswordLevel.SHA1, attempt()) is SignOnCode.PASSWORD_WRONG
    kept = path.read_bytes()
    path.unlink()
    path.mkdir()  # it cannot be written any more
    changed = change_password(
        system, accounts, PasswordLevel.SHA1, attempt("Other2"), hidden(PasswordLevel.SHA1, "Other2", "Third3")
    )
    assert changed is SignOnCode.PASSWORD_CHANGE_NOT_ALLOWED
    assert sign_on(system, accounts, PasswordLevel.SHA1, attempt("Other2")) is SignOnCode.GOOD
    assert kept.startswith(b"#")


def test_users_without_verifiers_disabled_ones_and_those_without_a_profile(system):
    every = frozenset({Role.look})
    verifiers = {2: token(PasswordLevel.SHA1, "ANNA", "Secret1pw")}
    users = Users(
        [User("ANNA", every), User("OTHER", every, ibmi={2: token(PasswordLevel.SHA1, "OTHER", "Secret1pw")})]
    )
    accounts = UserAccounts(users)
    assert sign_on(system, accounts, PasswordLevel.SHA1, attempt()) is SignOnCode.PASSWORD_NONE
    users.put(User("ANNA", every, ibmi=verifiers))
    assert sign_on(system, accounts, PasswordLevel.SHA1, attempt()) is SignOnCode.GOOD
    assert sign_on(system, accounts, PasswordLevel.DES, attempt(level=PasswordLevel.DES)) is SignOnCode.PASSWORD_NONE
    users.put(User("ANNA", every, ibmi=verifiers, disabled=True))
    assert sign_on(system, accounts, PasswordLevel.SHA1, attempt()) is SignOnCode.USER_DISABLED
    assert sign_on(system, accounts, PasswordLevel.SHA1, attempt(user="OTHER")) is SignOnCode.PASSWORD_WRONG
    assert "OTHER" not in system.profiles


def test_sign_ons_are_counted_with_those_of_the_other_faces(system):
    users = Users([User("ANNA", frozenset({Role.look}), ibmi={2: token(PasswordLevel.SHA1, "ANNA", "Secret1pw")})])
    accounts = UserAccounts(users)
    codes = [sign_on(system, accounts, PasswordLevel.SHA1, attempt("no", user="NOBODY")) for _ in range(100)]
    assert codes[0] is SignOnCode.PASSWORD_WRONG
    assert codes[-1] is SignOnCode.SECURITY_GENERAL
    with pytest.raises(TooManySignOns):
        users.authenticate("NOBODY", "no")
    assert sign_on(system, accounts, PasswordLevel.SHA1, attempt()._replace(origin="10.0.0.1")) is SignOnCode.GOOD
    system.chgusrprf("ANNA", pwdexp=True)
    right = attempt()._replace(origin="10.0.0.2")
    codes = {sign_on(system, accounts, PasswordLevel.SHA1, right) for _ in range(100)}
    assert codes == {SignOnCode.PASSWORD_EXPIRED}  # whose right password is no failure


def test_passwords_by_command_are_those_of_the_second_system_too_at_its_level_and_in_its_store(system):
    with System("SYS2") as other:
        other.crtusrprf("ANNA")
        other.values["QPWDLVL"] = 0
        accounts = UserAccounts(Users([]))
        for each in (system, other):
            each.passwords = CommandPasswords(each, accounts)
        system.chgusrprf("ANNA", password="SECRET1PW")
        des = attempt("SECRET1PW", PasswordLevel.DES)
        assert sign_on(other, accounts, PasswordLevel.DES, des) is SignOnCode.GOOD
        again = UserAccounts(Users([]))
        again.join(other)
        assert sign_on(other, again, PasswordLevel.DES, des) is SignOnCode.GOOD


def test_a_second_password_by_command_enables_no_account_and_none_ends_the_first(system):
    accounts = Accounts([Account("ANNA", disabled=True)])
    system.passwords = CommandPasswords(system, accounts)
    system.chgusrprf("ANNA", password="Secret1pw")
    assert sign_on(system, accounts, PasswordLevel.SHA1, attempt()) is SignOnCode.USER_DISABLED
    system.crtusrprf("BERT", password="Secret1pw")
    assert sign_on(system, accounts, PasswordLevel.SHA1, attempt(user="BERT")) is SignOnCode.GOOD
    system.chgusrprf("BERT", password="*NONE")
    assert sign_on(system, accounts, PasswordLevel.SHA1, attempt(user="BERT")) is SignOnCode.PASSWORD_NONE


def test_commands_give_passwords_to_those_who_are_at_no_other_face(system, tmp_path):
    path = tmp_path / "users.yaml"
    users = Users([User("WEB", frozenset({Role.look}), password=hashed("pw"))])
    users.write(path)
    accounts = UserAccounts(users, path)
    system.passwords = CommandPasswords(system, accounts)
    system.chgusrprf("ANNA", password="Secret1pw")
    again = UserAccounts(Users.load(path))
    for known in (accounts, again):
        assert sign_on(system, known, PasswordLevel.SHA1, attempt()) is SignOnCode.GOOD
    assert not any(Users.load(path).get("ANNA").may(role) for role in Role)
    with pytest.raises(SignOnRefused):
        users.authenticate("ANNA", "Secret1pw")
    with pytest.raises(ParameterError, match="tdq users"):
        system.crtusrprf("WEB", password="mine")
    assert "WEB" not in system.profiles
    system.chgusrprf("ANNA", password="*NONE")
    assert sign_on(system, accounts, PasswordLevel.SHA1, attempt()) is SignOnCode.PASSWORD_NONE
    path.unlink()
    path.mkdir()  # it cannot be written any more
    with pytest.raises(ParameterError, match="cannot be written"):
        system.crtusrprf("BERT", password="x")
    assert users.get("BERT") is None
    assert "BERT" not in system.profiles
    system.values["QPWDLVL"] = 0
    with pytest.raises(ParameterError, match="QPWDLVL 0 does not allow such a password"):
        system.crtusrprf("BERT", password="longer than ten")
