"""The package works where a system has nothing of what only POSIX systems have: all of it is hidden, and it is used."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tdqsim.client import served_process as served
from tdqsim.definitions import Definitions, define_tdqueue

HIDDEN = """\
import asyncio, importlib, io, os, pathlib, pkgutil, shutil, signal, socket, subprocess, sys, threading, warnings
import greenlet, lmdb, pydantic, typer, yaml, filelock  # what the package leans on has its own ways
try:
    import platformdirs, uvicorn
except ImportError:
    pass
warnings.simplefilter("ignore")  # filelock says that its lock is a soft one

for module in ("fcntl", "grp", "pwd", "resource", "termios", "tty", "pty", "syslog", "posix"):
    sys.modules[module] = None
filelock.FileLock = filelock.SoftFileLock  # what filelock has where it finds no fcntl either
import shutil  # which has seen on import what there is; on Windows it has none of it
shutil._use_fd_functions = False
for name in ("fork", "forkpty", "register_at_fork", "pwrite", "pread", "pwritev", "preadv", "fdatasync", "fchmod",
             "posix_fallocate", "posix_fadvise", "sched_getaffinity", "sched_setaffinity", "getuid", "geteuid", "getgid",
             "getegid", "getpgid", "killpg", "setsid", "statvfs", "fstatvfs", "mkfifo", "chown", "getloadavg",
             "getresuid", "getpgrp", "setpgid",
             "lchown", "fchown", "fchdir", "nice", "pipe2", "sendfile", "copy_file_range", "memfd_create", "eventfd",
             "confstr", "sysconf", "ctermid", "ttyname", "openpty", "lockf", "sync", "major", "minor", "mknod",
             "O_CLOEXEC", "O_NOFOLLOW", "O_DIRECTORY", "O_NONBLOCK", "O_NOCTTY", "O_SYNC", "O_DSYNC"):
    if hasattr(os, name):
        delattr(os, name)
for name in ("SIGHUP", "SIGKILL", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGQUIT", "SIGCHLD", "alarm", "setitimer",
             "pthread_sigmask", "pthread_kill", "sigwait", "siginterrupt", "getitimer", "sigpending"):
    if hasattr(signal, name):
        delattr(signal, name)
send = os.kill


def no_question(pid, number):
    # elsewhere than on POSIX systems 0 is Ctrl-C
    if not number and sys._getframe(1).f_globals["__name__"].startswith("tdqsim"):
        raise AssertionError(f"os.kill({pid}, 0) asks nothing: it ends the process")
    send(pid, number)


os.kill = no_question
pair, unix = socket.socketpair, socket.AF_UNIX
socket.socketpair = lambda *_: pair(unix)  # Windows has it too, made of internet sockets
del socket.AF_UNIX


def no_handler(*_):
    raise NotImplementedError


asyncio.SelectorEventLoop.add_signal_handler = no_handler
"""


def run(code: str, directory: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", HIDDEN + textwrap.dedent(code)]
    return subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)


@pytest.fixture(autouse=True)
def _needs_filelock() -> None:
    pytest.importorskip("filelock")


def test_every_module_is_imported(tmp_path: Path) -> None:
    code = """
        import tdqsim
        wrong = []
        for found in pkgutil.walk_packages(tdqsim.__path__, "tdqsim.", onerror=lambda name: None):
            if found.name.startswith(("tdqsim.examples", "tdqsim.pipeline")) or found.name.endswith("__main__"):
                continue  # the pipeline runs where Spark does
            try:
                importlib.import_module(found.name)
            except ModuleNotFoundError as error:
                if error.name.partition(".")[0] in ("tdqsim", *(n for n, m in sys.modules.items() if m is None)):
                    wrong.append((found.name, repr(error)))
            except Exception as error:
                wrong.append((found.name, repr(error)))
        print(wrong)
    """
    done = run(code, tmp_path)
    assert done.stdout == "[]\n", done.stdout + done.stderr


def test_regions_and_systems_live_on_a_store(tmp_path: Path) -> None:
    code = """
        from tdqsim import Region, StoreInUse, System, define_tdqueue
        queues = [define_tdqueue(name="LOGQ", type="INTRA", recovstatus="LOGICAL"), define_tdqueue(name="VOLQ", type="INTRA"),
                  define_tdqueue(name="OUTQ", type="EXTRA", typefile="OUTPUT", ddname="OUT", recordformat="FIXED", recordsize=80,
                  disposition="MOD", opentime="INITIAL")]
        for turn in range(2):
            with Region(queues, store="r", datasets="d", dd={"OUT": "out.txt"}) as region:
                for name in ("LOGQ", "VOLQ", "OUTQ"):
                    region.writeq_td(name, b"x" * 80)
                try:
                    Region(queues, store="r")
                except StoreInUse as error:
                    print("in use", error.pid == os.getpid())
                print([region.inquire_tdqueue(name).numitems for name in ("LOGQ", "VOLQ")])
        for turn in range(2):
            with System(store="s") as system:
                job = system.job()
                if not turn:
                    job.crtdtaq("QGPL/ORDERS", maxlen=80, force="*YES")
                job.qsnddtaq("QGPL/ORDERS", data=b"x")
                print(job.qmhqrdqd("QGPL/ORDERS").number_of_messages)
    """
    done = run(code, tmp_path)
    assert done.stdout.split("\n") == ["in use True", "[1, 1]", "in use True", "[2, 2]", "1", "2", ""], done.stderr


def test_the_commands_work(tmp_path: Path) -> None:
    code = """
        from tdqsim.cli import main
        steps = ["new pay", "check pay", "run pay", "write PAYQ 1.00 --region pay --store s", "peek PAYQ --region pay --store s",
                 "inquire --region pay --store s", "store check s", "explain PAYQ --region pay --store s", "run card_posting --records 20",
                 "guide queues", "check --schema definitions", "dtaq list --store none"]
        print([(step, code) for step in steps if (code := main(step.split())) != (3 if "none" in step else 0)], file=sys.stderr)
    """
    done = run(code, tmp_path)
    assert done.stderr.splitlines()[-1:] == ["[]"], done.stdout[-2000:] + done.stderr


def test_a_process_that_died_locks_nobody_out(tmp_path: Path) -> None:
    write = """
        from tdqsim import Region, define_tdqueue
        region = Region([define_tdqueue(name="LOGQ", type="INTRA", recovstatus="LOGICAL")], store="r")
        region.writeq_td("LOGQ", b"x")
        print(region.inquire_tdqueue("LOGQ").numitems, flush=True)
        os._exit(0)
    """
    assert [run(write, tmp_path).stdout for _ in range(2)] == ["1\n", "2\n"]


def test_a_test_of_the_users_runs(tmp_path: Path) -> None:
    code = """
        from tdqsim.cli import main
        import pytest
        main(["new", "pay"])
        sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", "pay"]))
    """
    done = run(code, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_users_of_a_server_are_kept(tmp_path: Path) -> None:
    for extra in ("argon2", "cryptography"):
        pytest.importorskip(extra)
    code = """
        from tdqsim.cli import main
        sys.stdin = io.StringIO("a long password\\n")
        print([main(step.split()) for step in ("users add ANNA --file users.yaml --role operate", "users list --file users.yaml")])
    """
    done = run(code, tmp_path)
    assert done.stdout.splitlines()[-1] == "[0, 0]", done.stdout + done.stderr


def test_a_region_is_served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for extra in ("fastapi", "uvicorn", "prometheus_client"):
        pytest.importorskip(extra)
    monkeypatch.setattr(served, "_COMMAND", HIDDEN + served._COMMAND)
    queue = define_tdqueue(name="LOGQ", type="INTRA", recovstatus="LOGICAL")
    directory = served.region_directory(Definitions.of([queue]), tmp_path / "region")
    with served.serving([directory], tmp_path) as server:
        server.region.writeq_td("LOGQ", b"x")
        assert server.region.readq_td("LOGQ") == b"x"


def test_freezing_time_imports_nothing_that_a_package_loads_late():
    """freezegun looks at every name that a module lists; pandas, imported with time frozen, does not return."""
    script = (
        "import sys, tdqsim.pipeline.stages, tdqsim.server.hostservers, tdqsim.server.http\n"
        "from freezegun import freeze_time\n"
        "with freeze_time('2026-01-01'): pass\n"
        "print(*sorted({'pandas', 'pyspark', 'fastapi', 'uvicorn', 'nicegui'} & sys.modules.keys()))"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300, check=True)
    assert run.stdout.split() == []
