"""Worker processes that Spark hangs up on: no traceback on the terminal; any other failure is told.

The daemon is started and spoken to as Spark's Java side does it, without a Java: connect, read the process id, hang up.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="the extra tdqsim[spark] is not installed")

OURS, STAGES, SPARKS = "tdqsim.pipeline._worker", "tdqsim.pipeline._stage_worker", "pyspark.daemon"
IMPORTED = (
    "import sys, gc; assert {'tdqsim.pipeline.stages.run', 'pyspark.worker'} <= set(sys.modules) and gc.isenabled()"
)
WORKER = """
import sys
{first}
def main(infile, outfile):
    word = infile.readline()
    infile.read()  # until Spark hangs up
    outfile.write(b"rows" if word != b"many\\n" else bytes(1 << 20))
    if word == b"fail\\n":
        outfile.raw.close()
        raise RuntimeError("of its own")
    sys.exit(-1)
"""


class Daemon:
    """A daemon that runs a worker of the test's."""

    def __init__(self, folder: Path, module: str, first: str = "", **environ: str) -> None:
        self.sockets = tempfile.mkdtemp(prefix="tdq")  # the name of a socket has a hundred bytes
        (folder / "pyspark_test.py").write_text(WORKER.format(first=first))
        self.process = subprocess.Popen(
            [sys.executable, "-m", module, "pyspark_test"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join((str(folder), os.environ.get("PYTHONPATH", ""))),
                "PYTHON_UNIX_DOMAIN_ENABLED": "true",
                "PYTHON_WORKER_FACTORY_SOCK_DIR": self.sockets,
                "SPARK_REUSE_WORKER": "1",
                **environ,
            },
        )
        assert self.process.stdout is not None
        (size,) = struct.unpack(">i", self.process.stdout.read(4))
        self.path = self.process.stdout.read(size).decode()

    def connected(self) -> socket.socket:
        made = socket.socket(socket.AF_UNIX)
        made.connect(self.path)
        return made

    def task(self, word: bytes) -> None:
        """A worker is told a word, then Spark hangs up."""
        with self.connected() as spark:
            assert len(spark.recv(4, socket.MSG_WAITALL)) == 4  # its process id: it has begun
            spark.sendall(word + b"\n")

    def said(self) -> str:
        """What is on the terminal when all workers have ended; they are not stopped."""
        self.process.kill()
        try:
            return self.process.communicate(timeout=300)[1].decode()
        finally:
            with suppress(ProcessLookupError):  # it is a group of its own, and has ended
                os.killpg(self.process.pid, signal.SIGKILL)
            shutil.rmtree(self.sockets, ignore_errors=True)


@pytest.mark.parametrize("raises", ["", "1"])
@pytest.mark.parametrize("word", [b"few", b"many"])
@pytest.mark.parametrize(
    ("module", "first"),
    [(OURS, ""), (STAGES, IMPORTED), (SPARKS, "import tdqsim.pipeline.qsam"), (SPARKS, "import pyspark_qsam")],
)
def test_a_worker_that_spark_hangs_up_on_says_nothing(
    module: str, first: str, word: bytes, raises: str, tmp_path: Path
) -> None:
    daemon = Daemon(tmp_path, module, first, PYTHON_DAEMON_KILL_WORKER_ON_FLUSH_FAILURE=raises)
    daemon.task(word)
    assert daemon.said() == ""


def test_spark_may_hang_up_before_a_worker_has_begun(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path, OURS)
    os.kill(daemon.process.pid, signal.SIGSTOP)
    daemon.connected().close()
    os.kill(daemon.process.pid, signal.SIGCONT)
    daemon.task(b"few")  # the daemon takes one after the other
    assert daemon.said() == ""


def test_a_worker_that_fails_of_its_own_says_so(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path, OURS)
    daemon.task(b"fail")
    assert "RuntimeError: of its own" in daemon.said()


def test_without_this_package_sparks_daemon_would_say_it(tmp_path: Path) -> None:
    """What these tests look for is there to be found."""
    daemon = Daemon(tmp_path, SPARKS)
    daemon.task(b"few")
    assert "BrokenPipeError" in daemon.said()
