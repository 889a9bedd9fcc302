"""Password substitutes: what a client sends instead of a password, for password levels 0 to 4.

A *token* comes from user and password and is what an account keeps; the substitute is made of the token, the seeds of
the two sides, the user and a sequence number, 1 for a sign-on. Levels 0 and 1 use DES, levels 2 and 3 SHA-1, level 4
PBKDF2 and SHA-512. The user name stands in capitals, blank padded to ten characters; at levels 0 and 1 the password
too, and one that begins with a digit has a Q in front.

A change of password hides the new password under substitutes of the old token with the sequence numbers from 2 on, and
the old password under those of the new token with the numbers after them: so the one proves the other.
"""

from __future__ import annotations

import hashlib
import re
from enum import IntEnum

from cryptography.hazmat.decrepit.ciphers.algorithms import TripleDES
from cryptography.hazmat.primitives.ciphers import Cipher, modes

from tdqsim.core.codepage import codepage

__all__ = ["LONGEST_DES", "Credential", "PasswordLevel", "covered", "is_des_password", "substitute", "token", "tokens"]

_NAME = 10
LONGEST_DES = 10
"""Characters of a password at levels 0 and 1."""
_DES_PASSWORD = re.compile(r"[A-Z$#@][A-Z0-9$#@_]*", re.ASCII)
_ROUNDS = 10_022
_EBCDIC = codepage(37)
_BLANK = b"\x40"
_MASK = (1 << 64) - 1


class Credential(IntEnum):
    """The kinds of credential in a request; no tokens and tickets are given here."""

    DES = 1
    PROFILE_TOKEN = 2
    SHA1 = 3
    TICKET = 5
    IDENTITY_TOKEN = 6
    SHA512 = 7


class PasswordLevel(IntEnum):
    """How passwords are kept, by what clients send: QPWDLVL 0 and 1, 2 and 3, 4."""

    DES = 0
    SHA1 = 2
    PBKDF2 = 4

    @property
    def credential(self) -> Credential:
        """The kind of credential that clients send at this level."""
        return {
            PasswordLevel.DES: Credential.DES,
            PasswordLevel.SHA1: Credential.SHA1,
            PasswordLevel.PBKDF2: Credential.SHA512,
        }[self]

    @classmethod
    def of(cls, level: int) -> PasswordLevel:
        """The kind of a QPWDLVL."""
        return cls(level - level % 2)


def token(level: PasswordLevel, user: str, password: str) -> bytes:
    """The token that an account keeps of a password at one level."""
    name = user.upper().ljust(_NAME)
    if level is PasswordLevel.SHA1:
        return hashlib.sha1((name + password.rstrip(" ")).encode("utf-16-be")).digest()  # noqa: S324  (the protocol's)
    if level is PasswordLevel.PBKDF2:
        salt = hashlib.sha256((name + password[-4:].ljust(4)).encode("utf-16-be")).digest()
        return hashlib.pbkdf2_hmac("sha512", password.encode("utf-8"), salt, _ROUNDS, 64)
    return _des_token(user, password)


def is_des_password(word: str) -> bool:
    """Whether it is a password for levels 0 and 1: ten letters and digits at most, the first no digit."""
    return len(word) <= LONGEST_DES and _DES_PASSWORD.fullmatch(word.upper()) is not None


def tokens(user: str, password: str) -> dict[PasswordLevel, bytes]:
    """The tokens of a password, without those of levels that know no such password."""
    word = f"Q{password}" if password[:1].isdigit() else password
    levels = [level for level in PasswordLevel if level is not PasswordLevel.DES or is_des_password(word)]
    return {level: token(level, user, password) for level in levels}


def substitute(
    level: PasswordLevel, kept: bytes, user: str, client_seed: bytes, server_seed: bytes, sequence: int = 1
) -> bytes:
    """The substitute that a client sends for a token, given the seeds of the connection."""
    name = user.upper().ljust(_NAME)
    if level is PasswordLevel.DES:
        return _des_substitute(kept, name, client_seed, server_seed, sequence)
    hashed = kept + server_seed + client_seed + name.encode("utf-16-be") + sequence.to_bytes(8, "big")
    return (hashlib.sha1(hashed) if level is PasswordLevel.SHA1 else hashlib.sha512(hashed)).digest()  # noqa: S324  (the protocol's)


def covered(
    level: PasswordLevel, kept: bytes, user: str, seeds: tuple[bytes, bytes], data: bytes, sequence: int
) -> tuple[bytes, int]:
    """Data under the substitutes of a token, from a sequence number on, or laid open again; and the next number.

    Args:
        level: whose substitutes.
        kept: the token.
        user: whose.
        seeds: the client's and the server's.
        data: as many bytes as some substitutes have.
        sequence: the number of the first.
    """
    found = b""
    while len(found) < len(data):
        cover = substitute(level, kept, user, *seeds, sequence)
        piece = data[len(found) : len(found) + len(cover)]
        found += _xor(piece, cover[: len(piece)])
        sequence += 1
    return found, sequence


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


def _des_substitute(kept: bytes, name: str, client_seed: bytes, server_seed: bytes, sequence: int) -> bytes:
    encoded = _EBCDIC.encode(name)
    counted = ((int.from_bytes(server_seed, "big") + sequence) & _MASK).to_bytes(8, "big")
    chain = bytes(8)
    for piece in (
        counted, client_seed, _xor(encoded[:8], counted), _xor(encoded[8:].ljust(8, _BLANK), counted),
        sequence.to_bytes(8, "big"),
    ):  # fmt: skip
        chain = _des(kept, _xor(chain, piece))
    return chain
