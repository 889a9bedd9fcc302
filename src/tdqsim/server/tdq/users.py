"""``tdq users``: manage the users of a server in ``users.yaml``."""

from __future__ import annotations

import sys
from collections.abc import Collection
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tdqsim.cli import InputError
from tdqsim.hosting import capitals

if TYPE_CHECKING:
    from tdqsim.server.users import Users

app = typer.Typer(help="Manage the users of a server: users.yaml, for all its listeners.", no_args_is_help=True)


class _Role(str, Enum):  # noqa: UP042  (the parser needs this form of a choice)
    look = "look"
    operate = "operate"
    break_ = "break"


_FileOption = Annotated[Path, typer.Option("--file", "-f", help="The file.", envvar="TDQ_USERS")]
_UserArgument = Annotated[str, typer.Argument(metavar="USER", help="1 to 10 characters, as a user id or user profile.")]
_IbmiOption = Annotated[
    bool,
    typer.Option(
        "--ibmi",
        help="Also store verifiers for IBM i clients. They are password-equivalent: anyone who reads them can sign on.",
    ),
]
_LevelOption = Annotated[
    list[int] | None,
    typer.Option(
        "--qpwdlvl",
        min=0,
        max=4,
        help="With --ibmi: the QPWDLVL of a system that the user signs on to; repeatable. Default: a new system's.",
    ),
]
_FILE = Path("users.yaml")


def _load(file: Path) -> Users:
    from tdqsim.errors import ExtraMissing

    try:
        from tdqsim.server.users import Users
    except ModuleNotFoundError as error:
        raise ExtraMissing(error.name, "serve") from error
    return Users.load(file) if file.exists() else Users()


def _password() -> str:
    """The password: entered twice at a terminal, or a line of standard input; not an argument, which others can see."""
    if sys.stdin.isatty():
        entered: str = typer.prompt("Password", hide_input=True, confirmation_prompt=True)
        return entered
    line = sys.stdin.readline(1000).rstrip("\r\n")
    if not line:
        raise InputError("the password is read from standard input, which was empty")
    return line


def _verifiers(user: str, password: str, levels: Collection[int]) -> dict[int, bytes]:
    """The verifiers by which IBM i clients prove a password, for these levels (QPWDLVL)."""
    from tdqsim.server.hostservers import PasswordLevel, token

    kinds = {PasswordLevel.of(level) for level in levels}
    try:
        return {int(kind): token(kind, user, password) for kind in sorted(kinds)}
    except UnicodeError as error:
        raise InputError("the password has characters that IBM i clients cannot send; omit --ibmi") from error


def _levels(given: list[int] | None) -> Collection[int]:
    """The password levels of the options; default: that of a new system."""
    from tdqsim.ibmi import SystemValues

    return given or (SystemValues()["QPWDLVL"],)


@app.command()
def add(
    user: _UserArgument,
    role: Annotated[
        list[_Role], typer.Option(help="look, operate (commands too) or break (faults, clock, forced ends too).")
    ] = [_Role.look],  # noqa: B006  (the parser needs a list; it is never changed)
    group: Annotated[list[str] | None, typer.Option(help="A group of the user; repeatable.")] = None,
    file: _FileOption = _FILE,
    ibmi: _IbmiOption = False,
    qpwdlvl: _LevelOption = None,
) -> None:
    """Add a user. Asks for the password, or reads it from standard input."""
    users = _load(file)
    from tdqsim.server.users import Role, User, hashed

    if users.get(user) is not None:
        raise InputError(f"there is a user {capitals(user)} already; tdq users passwd changes the password")
    password = _password()
    roles = frozenset(Role(each.value) for each in role)
    kept = _verifiers(capitals(user), password, _levels(qpwdlvl) if ibmi else ())
    groups = tuple(capitals(each) for each in group or ())
    users.put(User(capitals(user), roles, groups, hashed(password), kept))
    users.write(file)
    typer.echo(f"{capitals(user)} may {', '.join(r.value for r in Role if r in roles)}.")


@app.command()
def passwd(
    user: _UserArgument, file: _FileOption = _FILE, ibmi: _IbmiOption = False, qpwdlvl: _LevelOption = None
) -> None:
    """Change a user's password; replaces verifiers for IBM i, with the same levels unless --qpwdlvl is given."""
    from dataclasses import replace

    users = _load(file)
    from tdqsim.server.users import hashed

    existing = users.get(user)
    if existing is None:
        raise InputError(f"there is no user {user}")
    password = _password()
    levels = tuple(existing.ibmi) if existing.ibmi and not qpwdlvl else _levels(qpwdlvl)
    kept = _verifiers(existing.id, password, levels if ibmi or existing.ibmi else ())
    users.put(replace(existing, password=hashed(password), ibmi=kept))
    users.write(file)
    typer.echo(f"{existing.id} has a new password.")


@app.command()
def remove(user: _UserArgument, file: _FileOption = _FILE) -> None:
    """Remove a user."""
    users = _load(file)
    users.remove(user)
    users.write(file)
    typer.echo(f"{capitals(user)} was removed.")


@app.command("list")
def list_(file: _FileOption = _FILE) -> None:
    """List the users with their roles and groups; never a password."""
    users = _load(file)
    from tdqsim.server.users import Role

    for user in users:
        roles = ",".join(role.value for role in Role if role in user.roles)
        words = [user.id, roles or "-", ",".join(user.groups) or "-"]
        marks = [mark for mark, there in (("ibmi", user.ibmi), ("disabled", user.disabled)) if there]
        typer.echo("  ".join([*words, *marks]))
