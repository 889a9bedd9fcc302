from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import io
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings

# Machines that run the tests may be busy: a slow example is no failure. The slow test of tests/test_many_examples.py runs
# the same tests with the other profile. In CI the examples are the same at every run: whether a push is green does not
# depend on luck. Runs by hand and the slow tests look for new ones. What else would fail like a small example is not
# looked for: tests that expect an example to be found would do that each time, for most of theirs.
for _profile, _examples in (("tdqsim", 40), ("many", 1000)):
    settings.register_profile(
        _profile, max_examples=_examples, deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True,
        phases=set(Phase) - {Phase.explain},
    )  # fmt: skip
settings.register_profile("tdqsim-ci", settings.get_profile("tdqsim"), derandomize=True)
settings.load_profile("tdqsim-ci" if os.environ.get("CI") else "tdqsim")

# Hundreds of tests start Python. Where bytecode is not to be kept each would compile the package anew, which is a quarter
# of all the work; what is written beside the sources git ignores.
if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):
    sys.dont_write_bytecode = False


# Each of them that makes a definition would look for plugins of pydantic in the metadata of every installed package: a
# hundredth of a second with 240 packages.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "1")


# Nor does a session of Spark leave a process behind that makes an archive for later ones.
os.environ.setdefault("TDQ_ARCHIVE", "no")


def in_memory(place: Path, room: int) -> bool:
    """Whether a directory has so many bytes left, and what is written there may be run."""
    try:
        state = os.statvfs(place)
    except (OSError, AttributeError):  # there is none, or the system does not tell
        return False
    may_run = not state.f_flag & getattr(os, "ST_NOEXEC", 0)
    return may_run and os.access(place, os.W_OK) and state.f_bavail * state.f_frsize >= room


# The tests make ten thousand stores, have them written through to the disk, and remove them. Where there is memory for
# them no disk need wait for that; --basetemp and TMPDIR say otherwise. What is left by processes that tests kill goes
# with the session; pytest keeps the directories of tests that failed.
MEMORY = Path("/dev/shm")


def remove(place: str, owner: int) -> None:
    """At the end of the process that made it, and not of those that tests fork."""
    if os.getpid() == owner:
        shutil.rmtree(place, ignore_errors=True)


if "TMPDIR" not in os.environ and in_memory(MEMORY, 4 << 30):
    os.environ["TMPDIR"] = tempfile.mkdtemp(prefix="tdqsim-tests-", dir=MEMORY)
    atexit.register(remove, os.environ["TMPDIR"], os.getpid())
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))
    tempfile.tempdir = None  # which may have been asked for


def missing_cobol() -> str:
    """What is missing to compile a COBOL program; empty when nothing is."""
    if find_spec("tdqsim.cobol") is None:
        return "this tdqsim has no part for COBOL"
    from tdqsim.cobol.toolchain import CobolMissing, compiler_path

    try:
        compiler_path()
    except CobolMissing as missing:
        return str(missing)
    return ""


@pytest.fixture
def checked_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stores are read through in this process, which is faster; that LMDB can end it has tests of its own."""
    from tdqsim.core.store import _working, check

    def run(path: Path, arguments: list[str], _timeout: float) -> check.StoreReport:
        with contextlib.redirect_stdout(io.StringIO()) as answer:
            assert _working.main(arguments) == 0
        return check._read(path, json.loads(answer.getvalue()))

    monkeypatch.setattr(check, "_run", run)


def pytest_addoption(parser: pytest.Parser) -> None:
    about = "run the modules, and the tests of each, in an order that is drawn with this seed"
    parser.addoption("--drawn-order", type=int, metavar="SEED", help=about)


def draw_order(items: list[pytest.Item], seed: int) -> None:
    """A test that passes alone and fails in some order needs what another one left, or does not tolerate it."""
    draw = random.Random(seed)
    modules = {item.path: draw.random() for item in items}
    items.sort(key=lambda item: (modules[item.path], draw.random()))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if (seed := config.getoption("--drawn-order")) is not None:
        draw_order(items, seed)
    marked = [item for item in items if item.get_closest_marker("cobc")]
    if marked and (missing := missing_cobol()):
        for item in marked:
            item.add_marker(pytest.mark.skip(reason=missing))


def plain(flags: str) -> str:
    """The flags of a C compiler without what makes it slow: debugging information and optimization."""
    return " ".join(each for each in flags.split() if not each.startswith(("-g", "-O", "-D_FORTIFY_SOURCE")))


# As distributions build it, cobc has C compiled with the debugging information of every macro: half of its time.
if "COB_CFLAGS" not in os.environ and shutil.which("cobc"):
    told = subprocess.run(["cobc", "--info"], capture_output=True, text=True, check=False).stdout
    if found := re.search(r"^COB_CFLAGS\s*:(.*)$", told, re.MULTILINE):
        os.environ["COB_CFLAGS"] = plain(found[1]) or "-pipe"

# What is imported and collected stays to the end: the garbage collector need not look through it again and again.
gc.disable()
GARBAGE = 20_000
"""So many new objects are looked through at once; Python's 700 are meant for smaller programs."""

TESTS = Path(__file__).parent


def pytest_collection(session: pytest.Session) -> None:
    """Have every second worker import the tests from the other end, where all are asked for.

    In a fresh clone all is compiled, and what one worker has compiled the other need not.
    """
    if int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % 2 and session.config.args == ["tests"]:
        for path in sorted(TESTS.rglob("test_*.py"), reverse=True):
            name = ".".join(path.relative_to(TESTS.parent).with_suffix("").parts)
            with contextlib.suppress(Exception, pytest.skip.Exception):  # the collection meets it too, and tells
                importlib.import_module(name)


def leaves_files(item: pytest.Item | None) -> bool:
    """Whether a test tolerates files that are closed by the garbage collector: an interrupt may leave some open."""
    filters = item.iter_markers("filterwarnings") if item else ()
    return any("PytestUnraisableExceptionWarning" in text for mark in filters for text in mark.args)


def left() -> dict[str, Any]:
    """What one test may leave to the next, which would fail for it; a microsecond."""
    return {
        "exception being handled": sys.exception(),
        "trace function": sys.gettrace(),
        "garbage collector is on": gc.isenabled(),
        "directory": os.getcwd(),  # noqa: PTH109  (a Path costs as much as all of this)
        "handler of the runaway timer": signal.getsignal(signal.SIGVTALRM),
    }


FOUND = pytest.StashKey[dict[str, Any]]()
"""What :func:`left` gives before the first test."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """Close such files before the next test, which would fail by them; a full collection takes as long as ten tests.

    A test that leaves the process other than it was fails itself, and not one that comes later.
    """
    if leaves_files(item) and not leaves_files(nextitem):
        gc.collect()
    yield
    assert left() == item.config.stash[FOUND]


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    gc.freeze()
    gc.set_threshold(GARBAGE, 20, 20)
    gc.enable()
    session.config.stash[FOUND] = left()
    # Tests that run a pytest of their own need no Hypothesis and no asyncio in it: to import them is half of what it
    # does. Not before: a worker of xdist goes by the variable too.
    os.environ.setdefault("PYTEST_ADDOPTS", "-p no:hypothesispytest -p no:anyio")
