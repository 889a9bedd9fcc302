"""Accounts with their verifiers, the check of a sign-on, and the change of a password.

An account stores no password, only a token for each password level (:mod:`~tdqsim.server.hostservers.passwords`).
Whether its profile is disabled and its password has expired are attributes of the user profile of the system (CHGUSRPRF
changes them): too many wrong passwords in a row set STATUS(*DISABLED) there, and a change of the password ends
PWDEXP(*YES). This module creates no profiles: a user without a profile in the system is unknown.
"""

from __future__ import annotations

import hmac
import itertools
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final, NamedTuple

from tdqsim.errors import TdqError
from tdqsim.facts import table
from tdqsim.hosting import capitals, codepage
from tdqsim.ibmi import ParameterError, System
from tdqsim.server.hostservers.passwords import (
    LONGEST_DES,
    PasswordLevel,
    covered,
    is_des_password,
    substitute,
    token,
    tokens,
)

BOUNDS: Final[Mapping[str, int]] = {row["name"]: int(row["value"]) for row in table("hostservers")}
_LOG: Final = logging.getLogger(__name__)
_EBCDIC: Final = codepage(37)
_DIGITS: Final = "0123456789"


class SignOnCode(IntEnum):
    """Return codes of a sign-on or a change of password."""

    GOOD = 0
    EXCHANGE_NOT_VALID = 0x00010001
    SERVER_ID_NOT_VALID = 0x00010002
    REQUEST_ID_NOT_VALID = 0x00010003
    SEED_NOT_VALID = 0x00010004
    SEED_REQUIRED = 0x00010005
    CREDENTIAL_NOT_VALID = 0x00010006
    USER_LENGTH = 0x00010007
    PASSWORD_LENGTH = 0x00010008
    REPLY_INDICATOR_NOT_VALID = 0x00010009
    START_NOT_VALID = 0x0001000A
    REQUEST_NOT_VALID = 0x0001000B
    CHANGE_NOT_VALID = 0x0001000C
    OLD_PASSWORD_NOT_VALID = 0x0001000D
    NEW_PASSWORD_NOT_VALID = 0x0001000E
    TOKEN_KIND_NOT_VALID = 0x0001000F
    GENERATE_NOT_VALID = 0x00010010
    USER_UNKNOWN = 0x00020001
    USER_DISABLED = 0x00020002
    NEW_PASSWORD_TOO_LONG = 0x00030001
    NEW_PASSWORD_TOO_SHORT = 0x00030002
    NEW_PASSWORD_REPEATS = 0x00030003
    NEW_PASSWORD_ADJACENT_DIGITS = 0x00030004
    NEW_PASSWORD_REPEATS_AT_ONCE = 0x00030005
    NEW_PASSWORD_NO_DIGIT = 0x00030007
    NEW_PASSWORD_CHARACTER = 0x00030008
    PASSWORD_WRONG = 0x0003000B
    PASSWORD_WRONG_NEXT_DISABLES = 0x0003000C
    PASSWORD_EXPIRED = 0x0003000D
    PASSWORD_NONE = 0x00030010
    PASSWORD_CHANGE_NOT_ALLOWED = 0x00030012
    PASSWORD_NOT_VALID = 0x00030013
    SECURITY_GENERAL = 0x00040000
    GENERATE_NOT_AUTHORIZED = 0x0004000E
    TOKEN_NOT_VALID = 0x00060001
    NO_MORE_TOKENS = 0x00060002
    TOKEN_SECONDS_NOT_VALID = 0x00060003
    TOKEN_TYPE_NOT_VALID = 0x00060004
    TICKET_NOT_SUPPORTED = 0x00060007


@dataclass(slots=True)
class Account:
    """The account of a user.

    Attributes:
        user: the name of the profile.
        tokens: the verifiers of the password, by level; none for PASSWORD(*NONE).
        wrong: the number of wrong passwords in a row.
        disabled: whether the user cannot sign on, even if the profile is enabled.
    """

    user: str
    tokens: dict[PasswordLevel, bytes] = field(default_factory=dict, repr=False)
    wrong: int = 0
    disabled: bool = False

    def set_password(self, password: str) -> None:
        """Store the tokens of a new password."""
        self.tokens = tokens(self.user, password)
        self.wrong = 0


class Accounts:
    """Accounts in memory.

    Args:
        accounts: the accounts of different users.

    Attributes:
        systems: the systems to which the accounts belong.
    """

    def __init__(self, accounts: Iterable[Account] = ()) -> None:
        self._accounts = {capitals(one.user): one for one in accounts}
        self.systems: list[System] = []

    @property
    def levels(self) -> frozenset[PasswordLevel]:
        """The present password levels of the systems; all levels if there is no system."""
        return frozenset(PasswordLevel.of(each.values["QPWDLVL"]) for each in self.systems) or frozenset(PasswordLevel)

    def join(self, system: System) -> None:
        """Let the accounts belong to a system; call this in the engine's thread."""
        self.systems.append(system)

    def find(self, user: str) -> Account | None:
        """The account of a user; the name is in upper case."""
        return self._accounts.get(user)

    def admit(self, _user: str, _origin: str) -> bool:
        """Count a sign-on; return whether it may be checked."""
        return True

    def succeeded(self, user: str, origin: str) -> None:
        """The counted sign-on has succeeded."""

    def change(self, account: Account, password: str) -> None:
        """Change the password of an account.

        Raises:
            TdqError: it cannot be stored; nothing has changed.
        """
        account.set_password(password)

    def keep(self, user: str, password: str | None) -> None:
        """Set the password of a user, and create an account if needed; None for no password.

        Raises:
            TdqError: it cannot be stored, or commands may not change it.
        """
        account = self._accounts.setdefault(user, Account(user))
        if password is None:
            account.tokens = {}
        else:
            account.set_password(password)


class CommandPasswords:
    """CRTUSRPRF and CHGUSRPRF on accounts: see :class:`~tdqsim.ibmi.System`'s ``passwords``."""

    def __init__(self, system: System, accounts: Accounts) -> None:
        self._system = system
        self._accounts = accounts
        accounts.join(system)

    def keep(self, user: str, password: str | None) -> None:
        """Store a password that the password level allows.

        Raises:
            ParameterError: the level does not allow it, or it cannot be stored.
        """
        level = self._system.values["QPWDLVL"]
        if password is not None and not _taken(PasswordLevel.of(level), user, password):
            raise ParameterError(f"password of {user}: QPWDLVL {level} does not allow such a password")
        try:
            self._accounts.keep(user, password)
        except TdqError as error:
            raise ParameterError(f"password of {user}: {error}") from error


def _taken(level: PasswordLevel, user: str, password: str) -> bool:
    """Whether the level allows a password; the rules for new ones apply only when users change their own."""
    fits = 1 <= len(password) <= BOUNDS["password_longest"] and password.isprintable() and password[0] != "*"
    return fits and level in tokens(user, password)


class Attempt(NamedTuple):
    """A sign-on or a change of password as it was sent.

    Attributes:
        user: the user, in upper case.
        kind: the kind of credential.
        sent: the substitute.
        seeds: the seeds of the client and of the server.
        origin: the origin of the request, such as an address.
    """

    user: str
    kind: int
    sent: bytes
    seeds: tuple[bytes, bytes]
    origin: str = ""


def sign_on(system: System, accounts: Accounts, level: PasswordLevel, attempt: Attempt) -> SignOnCode:
    """The return code of a sign-on; refused after too many failed ones."""
    if not accounts.admit(attempt.user, attempt.origin):
        return SignOnCode.SECURITY_GENERAL
    code = check(system, accounts.find(attempt.user), level, attempt)
    if code in (SignOnCode.GOOD, SignOnCode.PASSWORD_EXPIRED):
        accounts.succeeded(attempt.user, attempt.origin)
    return code


def check(system: System, account: Account | None, level: PasswordLevel, attempt: Attempt) -> SignOnCode:
    """The return code of a sign-on; wrong passwords are counted, a right one resets the count."""
    profile = system.profiles.get(attempt.user)
    if attempt.kind != level.credential:
        return SignOnCode.REQUEST_NOT_VALID
    if profile is None:  # the same answer as for a wrong password does not show which users there are
        return SignOnCode.PASSWORD_WRONG
    if profile.disabled or (account is not None and account.disabled):
        return SignOnCode.USER_DISABLED
    kept = account.tokens.get(level) if account is not None else None
    if account is None or kept is None:
        return SignOnCode.PASSWORD_NONE
    if not hmac.compare_digest(substitute(level, kept, account.user, *attempt.seeds), attempt.sent):
        return _wrong(system, account)
    account.wrong = 0
    return SignOnCode.PASSWORD_EXPIRED if profile.expired else SignOnCode.GOOD


def _wrong(system: System, account: Account) -> SignOnCode:
    account.wrong += 1
    most = system.values["QMAXSIGN"]
    if account.wrong >= most:
        account.wrong = 0  # an operator who enables the profile gives all attempts again
        system.chgusrprf(account.user, status="*DISABLED")
        return SignOnCode.PASSWORD_WRONG
    near = account.wrong == most - 1
    return SignOnCode.PASSWORD_WRONG_NEXT_DISABLES if near else SignOnCode.PASSWORD_WRONG


class NewPassword(NamedTuple):
    """The two passwords of a change, each encrypted with substitutes of the other.

    Attributes:
        old, new: the encrypted bytes.
        old_length, new_length: the lengths of the passwords in bytes; not sent at levels 0 and 1.
    """

    old: bytes
    new: bytes
    old_length: int
    new_length: int


def change_password(
    system: System, accounts: Accounts, level: PasswordLevel, attempt: Attempt, hidden: NewPassword
) -> SignOnCode:
    """Change a password, even an expired one. The old password is checked as for a sign-on."""
    code = sign_on(system, accounts, level, attempt)
    account = accounts.find(attempt.user)
    if account is None or code not in (SignOnCode.GOOD, SignOnCode.PASSWORD_EXPIRED):
        return code
    user, kept = account.user, account.tokens[level]
    # Each password is encrypted with the other one. The old one is known, so the new one is decrypted first.
    data, following = covered(level, kept, user, attempt.seeds, hidden.new, 2)
    new = _plain(level, data, hidden.new_length)
    refused = SignOnCode.PASSWORD_NOT_VALID if new is None else refused_password(system, level, new)
    if new is None or refused:
        return refused
    data, _ = covered(level, token(level, user, new), user, attempt.seeds, hidden.old, following)
    old = _plain(level, data, hidden.old_length)
    if old is None or not hmac.compare_digest(token(level, user, old), kept):
        return SignOnCode.OLD_PASSWORD_NOT_VALID
    try:
        accounts.change(account, new)
    except TdqError:
        _LOG.exception("the changed password of %s could not be stored", user)
        return SignOnCode.PASSWORD_CHANGE_NOT_ALLOWED
    system.chgusrprf(user, pwdexp=False)
    return SignOnCode.GOOD


def _plain(level: PasswordLevel, data: bytes, length: int) -> str | None:
    """The password in the decrypted bytes; None if they are not a password."""
    if level is PasswordLevel.DES:
        return _EBCDIC.printable(data[:LONGEST_DES]).rstrip(" ")
    if not 0 <= length <= len(data):
        return None
    try:
        return data[:length].decode("utf-16-be").rstrip(" ")
    except UnicodeDecodeError:
        return None


def refused_password(system: System, level: PasswordLevel, new: str) -> SignOnCode:
    """The reason why the system values refuse a new password; GOOD if they do not."""
    values = system.values
    longest = min(LONGEST_DES if level is PasswordLevel.DES else BOUNDS["password_longest"], values["QPWDMAXLEN"])
    neighbours = list(itertools.pairwise(new))
    valid = is_des_password(new) if level is PasswordLevel.DES else new.isprintable() and new[:1] != "*"
    against = {
        SignOnCode.NEW_PASSWORD_TOO_LONG: len(new) > longest,
        SignOnCode.NEW_PASSWORD_TOO_SHORT: len(new) < values["QPWDMINLEN"],
        SignOnCode.NEW_PASSWORD_CHARACTER: not valid,
        SignOnCode.NEW_PASSWORD_REPEATS: values["QPWDLMTREP"] == 1 and len(set(new)) < len(new),
        SignOnCode.NEW_PASSWORD_ADJACENT_DIGITS: values["QPWDLMTAJC"] == 1 and _digits_together(neighbours),
        SignOnCode.NEW_PASSWORD_REPEATS_AT_ONCE: values["QPWDLMTREP"] == 2 and any(a == b for a, b in neighbours),
        SignOnCode.NEW_PASSWORD_NO_DIGIT: values["QPWDRQDDGT"] == 1 and not any(one in _DIGITS for one in new),
    }
    return next((code for code, holds in against.items() if holds), SignOnCode.GOOD)


def _digits_together(neighbours: Iterable[tuple[str, str]]) -> bool:
    return any(a in _DIGITS and b in _DIGITS for a, b in neighbours)
