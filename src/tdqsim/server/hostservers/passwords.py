"""Password substitutes: what a client sends instead of a password, for password levels 0 to 4.

A *token* comes from user and password and is what an account keeps; the substitute is made of the token, the seeds of
the two sides and the user. Levels 0 and 1 use DES, levels 2 and 3 SHA-1, level 4 PBKDF2 and SHA-512. The user name
stands in capitals, blank padded to ten characters; at levels 0 and 1 the password too, and one that begins with a digit
has a Q in front.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass, field
from enum import IntEnum

from cryptography.hazmat.decrepit.ciphers.algorithms import TripleDES
from cryptography.hazmat.primitives.ciphers import Cipher, modes

from tdqsim.core.codepage import codepage

__all__ = ["Account", "Credential", "Level", "SignOnCode", "check", "substitute", "token"]

_NAME = 10
_ROUNDS = 10_022
_SEQUENCE = (1).to_bytes(8, "big")
_EBCDIC = codepage(37)
_BLANK = b"\x40"
_MASK = (1 << 64) - 1


class Level(IntEnum):
    """How passwords are kept, by what clients send: QPWDLVL 0 and 1, 2 and 3, 4."""

    DES = 0
    SHA1 = 2
    PBKDF2 = 4

    @classmethod
    def of(cls, level: int) -> Level:
        """The kind of a QPWDLVL."""
        return cls(level - level % 2)


class Credential(IntEnum):
    """The kinds of credential in a request that we know."""

    DES = 1
    SHA1 = 3
    SHA512 = 7


_KIND = {Level.DES: Credential.DES, Level.SHA1: Credential.SHA1, Level.PBKDF2: Credential.SHA512}


class SignOnCode(IntEnum):
    """Return codes of a sign-on."""

    GOOD = 0
    REQUEST_NOT_VALID = 0x0001000B
    USER_UNKNOWN = 0x00020001
    USER_DISABLED = 0x00020002
    PASSWORD_WRONG = 0x0003000B
    PASSWORD_WRONG_NEXT_DISABLES = 0x0003000C
    PASSWORD_EXPIRED = 0x0003000D
    PASSWORD_NONE = 0x00030010


def token(level: Level, user: str, password: str) -> bytes:
    """What an account keeps of a password at one level."""
    name = user.upper().ljust(_NAME)
    if level is Level.SHA1:
        return hashlib.sha1((name + password.rstrip(" ")).encode("utf-16-be")).digest()  # noqa: S324  (the protocol's)
    if level is Level.PBKDF2:
        salt = hashlib.sha256((name + password[-4:].ljust(4)).encode("utf-16-be")).digest()
        return hashlib.pbkdf2_hmac("sha512", password.encode("utf-8"), salt, _ROUNDS, 64)
    return _des_token(user, password)


def substitute(level: Level, kept: bytes, user: str, client_seed: bytes, server_seed: bytes) -> bytes:
    """What a client sends for a token, given the seeds of the connection."""
    name = user.upper().ljust(_NAME)
    if level is Level.DES:
        return _des_substitute(kept, name, client_seed, server_seed)
    hashed = kept + server_seed + client_seed + name.encode("utf-16-be") + _SEQUENCE
    return (hashlib.sha1(hashed) if level is Level.SHA1 else hashlib.sha512(hashed)).digest()  # noqa: S324  (the protocol's)


def _des(key: bytes, data: bytes) -> bytes:
    encryptor = Cipher(TripleDES(key * 3), modes.ECB()).encryptor()  # noqa: S305  (one block; the protocol's)
    return encryptor.update(data) + encryptor.finalize()


def _xor(one: bytes, other: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(one, other, strict=True))


def _des_key(piece: bytes) -> bytes:
    mixed = int.from_bytes(bytes(byte ^ 0x55 for byte in piece), "big")
    return ((mixed << 1) & _MASK).to_bytes(8, "big")


def _des_token(user: str, password: str) -> bytes:
    name = _EBCDIC.encode(user.upper().ljust(_NAME))
    word = password.upper()
    if word[:1].isdigit():
        word = f"Q{word}"
    folded = bytearray(name[:8])
    if name[8:] != _BLANK * 2:
        tail = int.from_bytes(name[8:], "big")
        for place in range(8):
            folded[place] ^= ((tail >> (14 - 2 * place)) & 3) << 6
    secret = _EBCDIC.encode(word)[:_NAME].ljust(_NAME, _BLANK)
    made = _des(_des_key(secret[:8]), bytes(folded))
    if secret[8:] != _BLANK * 2:
        made = _xor(made, _des(_des_key(secret[8:].ljust(8, _BLANK)), bytes(folded)))
    return made


def _des_substitute(kept: bytes, name: str, client_seed: bytes, server_seed: bytes) -> bytes:
    encoded = _EBCDIC.encode(name)
    counted = ((int.from_bytes(server_seed, "big") + 1) & _MASK).to_bytes(8, "big")
    chain = bytes(8)
    for piece in (
        counted, client_seed, _xor(encoded[:8], counted), _xor(encoded[8:].ljust(8, _BLANK), counted), _SEQUENCE,
    ):  # fmt: skip
        chain = _des(kept, _xor(chain, piece))
    return chain


@dataclass(slots=True)
class Account:
    """Who may sign on.

    Attributes:
        user: the profile's name.
        tokens: what is kept of the password, by level; none for PASSWORD(*NONE).
        disabled: STATUS(*DISABLED).
        expired: the password has to be changed.
        wrong: wrong passwords in a row.
        most_wrong: QMAXSIGN: so many of them disable the profile.
    """

    user: str
    tokens: dict[Level, bytes] = field(default_factory=dict, repr=False)
    disabled: bool = False
    expired: bool = False
    wrong: int = 0
    most_wrong: int = 3

    def set_password(self, password: str) -> None:
        """Keep the tokens of a new password."""
        self.tokens = {level: token(level, self.user, password) for level in Level}
        self.expired, self.wrong = False, 0


def check(
    account: Account | None, level: Level, kind: int, sent: bytes, *, client_seed: bytes, server_seed: bytes
) -> SignOnCode:
    """What a sign-on with a substitute comes to; wrong passwords are counted, a right one begins the count anew."""
    if kind != _KIND[level]:
        return SignOnCode.REQUEST_NOT_VALID
    if account is None:
        return SignOnCode.USER_UNKNOWN
    if account.disabled:
        return SignOnCode.USER_DISABLED
    kept = account.tokens.get(level)
    if kept is None:
        return SignOnCode.PASSWORD_NONE
    expected = substitute(level, kept, account.user, client_seed, server_seed)
    if not hmac.compare_digest(expected, sent):
        account.wrong += 1
        account.disabled = account.wrong >= account.most_wrong
        near = account.wrong == account.most_wrong - 1
        return SignOnCode.PASSWORD_WRONG_NEXT_DISABLES if near else SignOnCode.PASSWORD_WRONG
    account.wrong = 0
    return SignOnCode.PASSWORD_EXPIRED if account.expired else SignOnCode.GOOD
