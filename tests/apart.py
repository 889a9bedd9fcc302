"""Run Python in a process of its own that need not import pytest and the package first.

Most of the time of a short process goes to its imports. Here one process, the *server*, imports them once, and each run
is forked from it. A run has its own arguments, directory, environment, standard streams and state, as if Python had been
started with these words; only what the server imported is there already. Tests that are about starting, importing or
hashing start Python itself.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import pkgutil
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
IMPORTED = [
    "execnet", "freezegun", "pdb", "tdqsim.cics.queues.datasets", "tdqsim.cobol.pytest_plugin", "tdqsim.ibmi",
    "tdqsim.server.links", "tdqsim.faults.active", "tdqsim.testing.clock", "tdqsim.testing.kit", "tdqsim.testing.plugin",
    "tdqsim.testing.stores",
]  # fmt: skip
"""What the server imports besides pytest, where it is there to be imported."""
MOST = 1 << 20
"""Bytes of the longest order."""


class Process:
    """A run of ``python WORDS``.

    Args:
        words: what follows ``python``: ``-m`` and a module, ``-c`` and a program, or a script; and arguments.
        cwd: its directory; that of this process by default.
        env: its environment; that of this process by default.
        files: descriptors for its standard input, output and errors; by default pipes, and the errors of this process.
    """

    def __init__(
        self,
        *words: object,
        cwd: Path | None = None,
        env: dict[str, str] | None = None,
        files: tuple[int, int, int] | None = None,
    ) -> None:
        self.returncode: int | None = None
        given = files or ()
        if not given:
            read, mine = os.pipe()
            self.stdin = os.fdopen(mine, "w", buffering=1)
            mine, written = os.pipe()
            self.stdout = os.fdopen(mine)
            given = (read, written, os.dup(2))
        mine, status = os.pipe()
        self._status = os.fdopen(mine)
        order = {
            "words": [str(word) for word in words], "cwd": str(cwd or Path.cwd()),
            "env": dict(os.environ) if env is None else env,
        }  # fmt: skip
        socket.send_fds(server(), [json.dumps(order).encode()], [*given, status])
        for each in (status,) if files else (*given, status):
            os.close(each)
        self.pid = int(self._status.readline())

    def poll(self) -> int | None:
        """The exit code, or a signal as a negative number; None while the process runs."""
        if self.returncode is None and select.select([self._status], [], [], 0)[0]:
            self.wait()
        return self.returncode

    def wait(self) -> int:
        """Wait for the end of the process, and return its exit code."""
        if self.returncode is None:
            self.returncode = int(self._status.readline())
            self._status.close()
        return self.returncode

    def end(self) -> int:
        """End the input of the process and wait for its end; its exit code."""
        self.stdin.close()
        self.stdout.read()
        self.stdout.close()
        return self.wait()

    def kill(self) -> None:
        """Kill the process if it has not ended."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)


def run(*words: object, cwd: Path | None = None, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run ``python WORDS`` to its end, without input; its exit code and what it printed."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors, Path(os.devnull).open("rb") as none:
        code = Process(*words, cwd=cwd, env=env, files=(none.fileno(), out.fileno(), errors.fileno())).wait()
        texts = []
        for file in (out, errors):
            file.seek(0)
            texts.append(file.read().decode())
    return subprocess.CompletedProcess(list(map(str, words)), code, *texts)


@cache
def server() -> socket.socket:
    """The socket of the server, which is started when it is first needed and ends with this process."""
    mine, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    command = [sys.executable, "-m", "tests.apart", str(its.fileno())]
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, pass_fds=[its.fileno()])
    its.close()

    def end() -> None:
        mine.close()
        process.wait()

    atexit.register(end)
    return mine


def serve(orders: socket.socket) -> None:
    """Fork a process for each order that comes."""
    import _pytest

    from tdqsim import Region

    for each in pkgutil.iter_modules(_pytest.__path__, "_pytest."):
        import_module(each.name)
    for name in IMPORTED:
        with suppress(ImportError):
            import_module(name)
    with Region():  # whose definitions are kept
        pass
    gc.collect()
    gc.freeze()  # pytest collects garbage several times when it ends
    signal.signal(signal.SIGCHLD, reap)
    while True:
        text, files, _, _ = socket.recv_fds(orders, MOST, 4)
        if not text:
            return
        if not os.fork():
            orders.close()
            watch(json.loads(text), files)
        for each in files:
            os.close(each)


def reap(*_signal: object) -> None:
    """Wait for the processes that have ended, so that the time they took counts as that of the tests."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def watch(order: dict, files: list[int]) -> None:
    """Fork the process, and write its number and how it ended to the last of the files."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    *streams, status = files
    child = os.fork()
    if not child:
        os.close(status)
        become(order, streams)
    for each in streams:
        os.close(each)
    os.write(status, b"%d\n" % child)
    _, ended = os.waitpid(child, 0)
    os.write(status, b"%d\n" % os.waitstatus_to_exitcode(ended))
    os._exit(0)


def become(order: dict, streams: list[int]) -> None:
    """Be the process."""
    for number, each in enumerate(streams):
        os.dup2(each, number)
        os.close(each)
    os.chdir(order["cwd"])
    os.environ.clear()
    os.environ.update(order["env"])
    # The server has imported the package before pytest, which warns of it where the package is not a clone's.
    rewriting = "-W ignore::pytest.PytestAssertRewriteWarning"
    os.environ["PYTEST_ADDOPTS"] = f"{rewriting} {os.environ.get('PYTEST_ADDOPTS', '')}".rstrip()
    first, *rest = order["words"]
    if first == "-m":
        sys.path[0] = order["cwd"]
        module, *rest = rest
        sys.argv = ["-m", *rest]
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    elif first == "-c":
        sys.path[0] = ""
        code, *rest = rest
        sys.argv = ["-c", *rest]
        exec(compile(code, "<string>", "exec"), {"__name__": "__main__"})
    else:
        sys.path[0] = str(Path(first).resolve().parent)
        sys.argv = [first, *rest]
        runpy.run_path(first, run_name="__main__")
    sys.exit()


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
