"""GnuCOBOL and the C compiler of this machine: where they are, which release it is, and the user's cache."""

from __future__ import annotations

import logging
import os
import re
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Final

from tdqsim.errors import NotInstalled
from tdqsim.facts import table
from tdqsim.hosting import run_program

_RELEASE: Final = re.compile(r"\(GnuCOBOL\) ((\d+)\.(\d+)\S*)")
_RELEASES: Final = {row["name"]: row["value"] for row in table("cobol") if row["name"].startswith("release_")}
_PATIENCE: Final = 60
"""Seconds that a compiler may take to print its release."""
_LOG: Final = logging.getLogger("tdqsim.cobol")


class CobolMissing(NotInstalled):
    """There is no GnuCOBOL compiler that can be used, or no C compiler, on this machine."""


def compiler_path() -> str:
    """The path of ``cobc``.

    Raises:
        CobolMissing: it is not installed, or of an unsupported release; or there is no C compiler.
    """
    cobc = shutil.which("cobc")
    if cobc is None:
        raise CobolMissing("GnuCOBOL is not installed: there is no cobc on the PATH (Debian: apt install gnucobol3)")
    c_compiler()
    _check_release(cobc, Path(cobc).stat().st_mtime_ns)
    return cobc


def c_compiler() -> str:
    """The path of the C compiler.

    Raises:
        CobolMissing: there is no C compiler.
    """
    compiler = next((path for name in ("cc", "gcc", "clang") if (path := shutil.which(name))), None)
    if compiler is None:
        raise CobolMissing("there is no C compiler on the PATH, which cobc needs (Debian: apt install gcc)")
    return compiler


def compiler_release() -> str:
    """The release of ``cobc``, such as 3.1.2.0.

    Raises:
        CobolMissing: there is no usable compiler.
    """
    cobc = compiler_path()
    return _release_of(cobc, Path(cobc).stat().st_mtime_ns)[0]


@cache
def _check_release(cobc: str, stamp: int) -> None:
    """Refuse a release that works differently; log a note about an untested one, once.

    Raises:
        CobolMissing: the release is not supported.
    """
    name, release = _release_of(cobc, stamp)
    major, lowest = release[0], _number(_RELEASES["release_lowest"])
    if release < lowest or major != lowest[0]:
        wanted = f"{lowest[0]}.x from {_RELEASES['release_lowest']} on"
        raise CobolMissing(f"GnuCOBOL {wanted} is needed, {cobc} says {name} (Debian: apt install gnucobol3)")
    if release != _number(_RELEASES["release_tested"]):
        _LOG.warning("GnuCOBOL %s is untested here; %s is tested", name, _RELEASES["release_tested"])


def _number(release: str) -> tuple[int, int]:
    major, _, minor = release.partition(".")
    return int(major), int(minor)


@cache
def _release_of(cobc: str, stamp: int) -> tuple[str, tuple[int, int]]:
    """The release of a compiler as it prints it, and its first two numbers; ``stamp`` invalidates the cached result."""
    del stamp
    environment = {**os.environ, "LC_ALL": "C"}
    try:
        output = run_program([cobc, "--version"], environment=environment, timeout=_PATIENCE).stdout
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CobolMissing(f"{cobc} does not say its release: {error}") from error
    match = _RELEASE.search(output)
    if match is None:
        raise CobolMissing(f"{cobc} does not say which release of GnuCOBOL it is: {output.partition(chr(10))[0]!r}")
    return match[1], (int(match[2]), int(match[3]))


def default_cache() -> Path:
    """The user's folder for compiled programs."""
    return _user_cache() / "cobol"


def _user_cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "tdqsim"


def private_folder(name: str) -> Path | None:
    """A folder of the user's cache that no other user can write, created if needed; None if that is not possible."""
    folder = _user_cache() / name
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
        state = folder.stat()
    except (OSError, RuntimeError):  # RuntimeError: the user has no home directory
        return None
    return folder if state.st_uid == os.geteuid() and not state.st_mode & 0o022 else None
