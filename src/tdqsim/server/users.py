"""The users of a server: one ``users.yaml`` for all its listeners.

::

    format: 1
    users:
    - id: ALICE
      roles: [operate]
      groups: [PAYTEAM]
      password: $argon2id$v=19$...
      ibmi: {2: 1C0E...}

``tdq users`` writes the file, which only its owner can read. A password is stored as its Argon2 hash, from which it
cannot be derived. The verifiers in ``ibmi`` are different: IBM i clients prove a password by a value that is derived
from it, so anyone who has the value can sign on. They are *password-equivalent*, and are stored only on request.

The answer, and the time that it takes, is the same for an unknown user, a wrong password and a disabled user. Sign-ons
are counted, by user and origin, before they are checked, so that simultaneous attempts are limited like consecutive
ones.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Annotated, Any, Final

import structlog
import yaml
from argon2 import PasswordHasher, Type, extract_parameters
from argon2.exceptions import InvalidHashError, VerificationError
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from tdqsim.definitions import FileFormat, read_model, read_private
from tdqsim.errors import TdqError, UsageError, WrongValue
from tdqsim.hosting import capitals
from tdqsim.server.bounds import BOUNDS
from tdqsim.server.errors import ServeError

_ID: Final = re.compile(r"[A-Z$#@][A-Z0-9$#@_]{0,9}", re.ASCII)
_VERIFIERS: Final = {0: 8, 2: 20, 4: 64}  # bytes by password level: DES, SHA-1, PBKDF2 with SHA-512
_HASHER: Final = PasswordHasher()
_log = structlog.get_logger("tdqsim.server")
_HEAD: Final = (
    "# Written by tdq users. Verifiers under ibmi are password-equivalent: anyone who reads them can sign on.\n"
)


class SignOnRefused(TdqError):
    """The user or the password is wrong, or the user may not sign on."""


class TooManySignOns(SignOnRefused):
    """Too many sign-ons of this user or from this origin have failed.

    Attributes:
        seconds: the time until the next attempt is allowed.
    """

    def __init__(self, seconds: float) -> None:
        super().__init__(f"too many sign-ons have failed; try again in {seconds:.0f} seconds")
        self.seconds = seconds


class Role(StrEnum):
    """The roles of users; each includes those before it."""

    look = "look"
    operate = "operate"
    break_ = "break"


_RANK: Final = {role: rank for rank, role in enumerate(Role)}


@dataclass(frozen=True, slots=True)
class User:
    """One user.

    Attributes:
        id: 1 to 10 characters, upper case; the user id of the user's tasks and jobs. Empty for the default user of each
            region.
        roles: the roles; empty for a user who can only sign on as an IBM i client.
        groups: the groups of the user.
        password: the Argon2 hash of the password; empty if the user has none and cannot sign on by password.
        ibmi: the verifiers for IBM i clients, by password level (0, 2, 4); password-equivalent.
        disabled: whether the user may not sign on.
    """

    id: str
    roles: frozenset[Role] = frozenset()
    groups: tuple[str, ...] = ()
    password: str = field(default="", repr=False)
    ibmi: Mapping[int, bytes] = field(default_factory=dict, repr=False)
    disabled: bool = False

    def may(self, role: Role) -> bool:
        """Whether the user has a role, or one that includes it."""
        return any(_RANK[each] >= _RANK[role] for each in self.roles)


def hashed(password: str) -> str:
    """The Argon2 hash of a password.

    Raises:
        TdqError: it is empty or too long.
    """
    if not 1 <= len(password) <= BOUNDS["password_length"]:
        raise UsageError(f"a password has 1 to {BOUNDS['password_length']} characters")
    return _HASHER.hash(password)


@cache
def _unknown_password() -> str:
    """The hash with which the password of an unknown user is compared, so that the check takes the same time."""
    return _HASHER.hash("nobody's password")


class Users:
    """The users of a server.

    Args:
        users: the users, with different ids.
        now: a monotonic clock in seconds, for counting sign-ons.
    """

    def __init__(self, users: Iterable[User] = (), *, now: Callable[[], float] = time.monotonic) -> None:
        self._users: dict[str, User] = {}
        self._attempts = _Attempts(now)
        self._followed: _Followed | None = None
        for user in users:
            self.put(user)

    @classmethod
    def load(cls, path: Path | str, *, follow: bool = False, now: Callable[[], float] = time.monotonic) -> Users:
        """The users of a file.

        Args:
            path: the file.
            follow: whether to read changes of the file when a user is looked up. A file that has become invalid or was
                removed changes nothing, and is logged once.
            now: a monotonic clock in seconds.

        Raises:
            DefinitionError: it cannot be read, is accessible to other users of the machine, or is invalid.
        """
        file = Path(path)
        stamp = _stamp(file)
        users = cls(_read(file), now=now)
        if follow:
            users._followed = _Followed(file, stamp, now)
        return users

    def write(self, path: Path | str) -> None:
        """Replace the file, completely or not at all; only its owner can read it.

        Raises:
            TdqError: it cannot be written.
        """
        file = Path(path)
        part = file.with_name(f".{file.name}.{os.getpid()}.part")
        text = _HEAD + yaml.safe_dump({"format": 1, "users": [_written(user) for user in self]}, sort_keys=False)
        try:
            with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as out:  # noqa: PTH123
                out.write(text)
                out.flush()
                os.fsync(out.fileno())
            part.replace(file)
        except OSError as error:
            with contextlib.suppress(OSError):
                part.unlink()
            raise ServeError(f"{file}: cannot be written: {error.strerror}") from error

    @property
    def groups(self) -> Mapping[str, tuple[str, ...]]:
        """The groups of each user, always in their current state."""
        return _Groups(self)

    def __iter__(self) -> Iterator[User]:
        return iter(self._users.values())

    def __len__(self) -> int:
        return len(self._users)

    def get(self, user_id: str) -> User | None:
        """The user with that id, in upper or lower case."""
        changed = None if self._followed is None else self._followed.changed()
        if changed is not None:
            self._users = {user.id: user for user in changed}
        return self._users.get(capitals(user_id))

    def put(self, user: User) -> None:
        """Add a user, or replace the user with the same id.

        Raises:
            TdqError: the id is invalid, or the maximum number of users exists.
        """
        if not _ID.fullmatch(user.id):
            raise UsageError(f"user id {user.id[:20]!r}: {_ID_RULE}")
        if user.id not in self._users and len(self._users) >= BOUNDS["users"]:
            raise UsageError(f"there are {len(self._users)} users, which is the maximum")
        self._users[user.id] = user

    def remove(self, user_id: str) -> None:
        """Remove a user.

        Raises:
            TdqError: there is no user with that id.
        """
        if self._users.pop(capitals(user_id), None) is None:
            raise UsageError(f"there is no user {user_id}")

    def authenticate(self, user_id: str, password: str, origin: str = "") -> User:
        """Check a password and return the user. This takes about 50 ms: do not call it in the thread of an event loop.

        Args:
            user_id: the user id, in upper or lower case.
            password: the password.
            origin: the origin of the sign-on, such as an address, by which sign-ons are counted.

        Raises:
            TooManySignOns: too many have failed. SignOnRefused: there is no such user, or the password is wrong.
        """
        self.admit(user_id, origin)
        user = self.get(user_id)
        kept = user.password if user is not None and user.password else _unknown_password()
        right = _matches(kept, password[: BOUNDS["password_length"] + 1])
        if not right or user is None or not user.password or user.disabled:
            raise SignOnRefused("the user or the password is wrong")
        self.succeeded(user_id, origin)
        return user

    def ibmi(self, user_id: str) -> Mapping[int, bytes]:
        """The verifiers of a user by password level; none for an unknown or a disabled one."""
        user = self.get(user_id)
        return {} if user is None or user.disabled else user.ibmi

    def admit(self, user_id: str, origin: str) -> None:
        """Count a sign-on before it is checked.

        Raises:
            TooManySignOns: too many have failed; do not check this one.
        """
        self._attempts.count(capitals(user_id)[:20], origin)

    def succeeded(self, user_id: str, origin: str) -> None:
        """The counted sign-on has succeeded."""
        self._attempts.forgive(capitals(user_id)[:20], origin)


class _Groups(Mapping[str, tuple[str, ...]]):
    """The groups by user for the security policy of a region, always from the current file."""

    def __init__(self, users: Users) -> None:
        self._users = users

    def __getitem__(self, user_id: str) -> tuple[str, ...]:
        user = self._users.get(user_id)
        if user is None:
            raise KeyError(user_id)
        return user.groups

    def __iter__(self) -> Iterator[str]:
        return (user.id for user in self._users)

    def __len__(self) -> int:
        return len(self._users)


def _matches(kept: str, password: str) -> bool:
    try:
        return _HASHER.verify(kept, password)
    except (VerificationError, InvalidHashError):
        return False


class _Followed:
    """The users file of a running server, which is checked for changes from time to time."""

    def __init__(self, path: Path, stamp: _Stamp, now: Callable[[], float]) -> None:
        self._path = path
        self._stamp = stamp
        self._now = now
        self._next = now() + BOUNDS["users_look_seconds"]
        self._lock = Lock()

    def changed(self) -> list[User] | None:
        """The users of the file if it has changed and is valid; otherwise None."""
        if self._now() < self._next or not self._lock.acquire(blocking=False):
            return None
        try:
            self._next = self._now() + BOUNDS["users_look_seconds"]
            stamp = _stamp(self._path)
            if stamp == self._stamp:
                return None
            self._stamp = stamp  # before the file is read, so that a change in the meantime is noticed the next time
            users = _read(self._path)
        except TdqError as error:
            _log.error("users_file_refused", file=str(self._path), error=str(error), kept="the users of before")
            return None
        finally:
            self._lock.release()
        _log.info("users_file_taken_in", file=str(self._path), users=len(users))
        return users


class _Attempts:
    """Counts of failed sign-ons in a time window: by user and origin, by origin, and by user."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._counts: OrderedDict[tuple[str, str], tuple[float, int]] = OrderedDict()

    def count(self, user: str, origin: str) -> None:
        now = self._now()
        kept = {key: self._current(key, now) for key in self._keys(user, origin)}
        for key, limit in self._keys(user, origin).items():
            since, count = kept[key]
            if count >= limit:
                raise TooManySignOns(max(since + BOUNDS["sign_on_seconds"] - now, 1))
        for key, (since, count) in kept.items():
            self._counts[key] = (since, count + 1)
            self._counts.move_to_end(key)
        while len(self._counts) > BOUNDS["sign_on_counted"]:
            self._counts.popitem(last=False)

    def forgive(self, user: str, origin: str) -> None:
        own, *others = self._keys(user, origin)
        self._counts.pop(own, None)
        for key in others:
            since, count = self._counts.get(key, (0.0, 0))
            if count > 0:
                self._counts[key] = (since, count - 1)

    def _current(self, key: tuple[str, str], now: float) -> tuple[float, int]:
        since, count = self._counts.get(key, (now, 0))
        return (since, count) if now - since < BOUNDS["sign_on_seconds"] else (now, 0)

    @staticmethod
    def _keys(user: str, origin: str) -> dict[tuple[str, str], int]:
        return {
            (f"u:{user}", f"o:{origin}"): BOUNDS["sign_on_user_origin"],
            ("", f"o:{origin}"): BOUNDS["sign_on_origin"],
            (f"u:{user}", ""): BOUNDS["sign_on_user"],
        }


_Stamp = tuple[int, int, int, int] | None


def _stamp(path: Path) -> _Stamp:
    """Values that change when a file is written or replaced; None if it does not exist."""
    try:
        status = path.stat(follow_symlinks=False)
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_mode


# -- the file ---------------------------------------------------------------------------------------------------------

_ID_RULE: Final = "must be 1 to 10 of A-Z, 0-9, $, #, @ and _, not beginning with a digit"


def _check_id(value: str) -> str:
    if not _ID.fullmatch(capitals(value)):
        raise WrongValue(_ID_RULE)
    return capitals(value)


def _check_hash(value: str) -> str:
    if not value:
        return value
    try:
        parameters = extract_parameters(value)
    except InvalidHashError:
        raise WrongValue("must be an Argon2 hash written by tdq users") from None
    if parameters.type is not Type.ID:
        raise WrongValue("must be an Argon2id hash")
    limits = (
        ("hash_memory_kib", parameters.memory_cost),
        ("hash_rounds", parameters.time_cost),
        ("hash_lanes", parameters.parallelism),
    )
    for name, given in limits:
        if not 1 <= given <= BOUNDS[name]:
            raise WrongValue(f"asks for {given} of {name}; at most {BOUNDS[name]} is allowed")
    return value


def _check_verifiers(value: Any) -> dict[int, bytes]:
    if not isinstance(value, dict):
        raise WrongValue("must be a mapping of password levels")  # pydantic needs a ValueError
    verifiers = {}
    for level, digits in value.items():
        number = int(level) if isinstance(level, str) and level in map(str, _VERIFIERS) else -1
        if number not in _VERIFIERS:
            raise WrongValue("password levels are 0, 2 and 4")
        if not isinstance(digits, str) or not re.fullmatch(
            rf"[0-9A-Fa-f]{{{2 * _VERIFIERS[number]}}}", digits, re.ASCII
        ):
            raise WrongValue(f"a verifier of level {number} has {2 * _VERIFIERS[number]} hexadecimal digits")
        verifiers[number] = bytes.fromhex(digits)
    return verifiers


def _check_flag(value: object) -> bool:
    if not isinstance(value, str) or value.lower() not in ("yes", "no", "true", "false"):
        raise WrongValue("must be yes or no")
    return value.lower() in ("yes", "true")


_Id = Annotated[str, Field(max_length=20), AfterValidator(_check_id)]


class _Entry(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")
    id: _Id
    roles: frozenset[Role]
    groups: Annotated[tuple[_Id, ...], Field(max_length=100)] = ()
    password: Annotated[str, Field(max_length=512), AfterValidator(_check_hash)] = ""
    ibmi: Annotated[dict[int, bytes], BeforeValidator(_check_verifiers)] = {}
    disabled: Annotated[bool, BeforeValidator(_check_flag)] = False

    def user(self) -> User:
        return User(self.id, self.roles, self.groups, self.password, self.ibmi, self.disabled)


def _check_once(entries: tuple[_Entry, ...]) -> tuple[_Entry, ...]:
    ids: set[str] = set()
    for entry in entries:
        if entry.id in ids:
            raise WrongValue(f"user {entry.id} is given twice")
        ids.add(entry.id)
    return entries


class UsersFile(BaseModel):
    """The contents of a users.yaml."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    format: Annotated[int, FileFormat("users file")] = 1
    users: Annotated[tuple[_Entry, ...], Field(max_length=BOUNDS["users"]), AfterValidator(_check_once)] = ()


def _read(path: Path) -> list[User]:
    file = read_model(path, read_private(path, BOUNDS["users_file_bytes"]), UsersFile, secrets=True)
    return [entry.user() for entry in file.users]


def _written(user: User) -> dict[str, Any]:
    given: dict[str, Any] = {"id": user.id, "roles": [role.value for role in Role if role in user.roles]}
    if user.groups:
        given["groups"] = list(user.groups)
    if user.password:
        given["password"] = user.password
    if user.ibmi:
        given["ibmi"] = {level: kept.hex().upper() for level, kept in sorted(user.ibmi.items())}
    if user.disabled:
        given["disabled"] = "yes"
    return given
