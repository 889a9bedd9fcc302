"""Password substitutes, which a client sends instead of a password, for password levels 0 to 4.

An account stores a *token*, which is computed from the user and the password. The substitute is computed from the
token, the seeds of both sides, the user and a sequence number, which is 1 for a sign-on. Levels 0 and 1 use DES, levels
2 and 3 SHA-1, level 4 PBKDF2 and SHA-512. The user name is in upper case and padded with blanks to ten characters. At
levels 0 and 1 so is the password, and a password that begins with a digit gets a Q in front.

A change of password encrypts the new password with substitutes of the old token, with sequence numbers from 2 on, and
the old password with substitutes of the new token, with the numbers after these. So each password proves the other.
"""

from __future__ import annotations

import hashlib
import re
from enum import IntEnum

from cryptography.hazmat.decrepit.ciphers.algorithms import TripleDES
from cryptography.hazmat.primitives.ciphers import Cipher, modes

from tdqsim.hosting import codepage

_NAME = 10
LONGEST_DES = 10
"""The maximum length of a password at levels 0 and 1."""
_DES_PASSWORD = re.compile(r"[A-Z$#@][A-Z0-9$#@_]*", re.ASCII)
_ROUNDS = 10_022
_EBCDIC = codepage(37)
_BLANK = b"\x40"
_MASK = (1 << 64) - 1


class Credential(IntEnum):
    """The kinds of credential in a request; tokens and tickets are not supported."""

    DES = 1
    PROFILE_TOKEN = 2
    SHA1 = 3
    TICKET = 5
    IDENTITY_TOKEN = 6
    SHA512 = 7


class PasswordLevel(IntEnum):
    """The kinds of password level, by the substitutes that clients send: QPWDLVL 0 and 1, 2 and 3, 4."""

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
        """The kind of a QPWDLVL value."""
        return cls(level - level % 2)


def token(level: PasswordLevel, user: str, password: str) -> bytes:
    """The token of a password at a level."""
    name = user.upper().ljust(_NAME)
    if level is PasswordLevel.SHA1:
        return hashlib.sha1((name + password.rstrip(" ")).encode("utf-16-be")).digest()  # noqa: S324  (required by the protocol)
    if level is PasswordLevel.PBKDF2:
        salt = hashlib.sha256((name + password[-4:].ljust(4)).encode("utf-16-be")).digest()
        return hashlib.pbkdf2_hmac("sha512", password.encode("utf-8"), salt, _ROUNDS, 64)
    return _des_token(user, password)


def is_des_password(word: str) -> bool:
    """Whether a password is valid at levels 0 and 1: at most ten letters and digits, not beginning with a digit."""
    return len(word) <= LONGEST_DES and _DES_PASSWORD.fullmatch(word.upper()) is not None


def tokens(user: str, password: str) -> dict[PasswordLevel, bytes]:
    """The tokens of a password at all levels that allow it."""
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
    return (hashlib.sha1(hashed) if level is PasswordLevel.SHA1 else hashlib.sha512(hashed)).digest()  # noqa: S324  (required by the protocol)


def covered(
    level: PasswordLevel, kept: bytes, user: str, seeds: tuple[bytes, bytes], data: bytes, sequence: int
) -> tuple[bytes, int]:
    """Encrypt or decrypt data with the substitutes of a token; return the result and the next sequence number.

    Args:
        level: the level of the substitutes.
        kept: the token.
        user: the user.
        seeds: the seeds of the client and of the server.
        data: the data, whose length is a multiple of that of a substitute.
        sequence: the sequence number of the first substitute.
    """
    result = b""
    while len(result) < len(data):
        cover = substitute(level, kept, user, *seeds, sequence)
        piece = data[len(result) : len(result) + len(cover)]
        result += _xor(piece, cover[: len(piece)])
        sequence += 1
    return result, sequence


def _des(key: bytes, data: bytes) -> bytes:
    encryptor = Cipher(TripleDES(key * 3), modes.ECB()).encryptor()  # noqa: S305  (one block; required by the protocol)
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
