"""What a command, a first test and a restart cost, each beside what it is made of or would be without us.

Process times of whole processes, their end included; what is compared takes turns, and the ratios' median counts.
"""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import islice, product
from pathlib import Path
from statistics import median
from time import process_time

import pytest

from tdqsim import Region, define_tdqueue
from tdqsim.definitions import Definitions

from ._table import hold

pytestmark = pytest.mark.bench

resource = pytest.importorskip("resource", reason="process times of children are told by POSIX systems")

ROUNDS = int(os.environ.get("TDQ_BENCH_ROUNDS", "11"))
PARTS = "import yaml, lmdb, greenlet, pydantic\nclass Model(pydantic.BaseModel):\n    name: str\n"
TYPER = "import typer"
TDQ = "import sys\nfrom tdqsim.cli import main\nsys.exit(main())"


def spent(command: list[str], directory: Path, **environ: str) -> float:
    """Seconds of processor time that a process took, from its start to its end."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    caches = {"PYTHONPYCACHEPREFIX": "", "PYTHONDONTWRITEBYTECODE": ""}
    done = subprocess.run(
        command, cwd=directory, env={**os.environ, **caches, **environ}, capture_output=True, text=True, check=False
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return (after.ru_utime - before.ru_utime) + (after.ru_stime - before.ru_stime)


def ratio(one: list[str], other: list[str], directory: Path, **environ: str) -> float:
    """How much the first takes for each second of the second; the first round compiles and does not count."""
    found = [spent(one, directory, **environ) / spent(other, directory, **environ) for _ in range(ROUNDS + 1)]
    return median(found[1:])


@pytest.mark.parametrize(
    ("limit", "wanted", "code"),
    [
        (28, 17, [TDQ, "inquire", "region"]),
        (28, 17, [TDQ, "check", "region"]),
        (10.5, 9, ["import tdqsim; tdqsim.Region"]),
    ],
    ids=["inquire", "check", "Region"],
)
def test_starts_of_python(tmp_path: Path, limit: float, wanted: float, code: list[str]) -> None:
    """The least that each takes in rounds of both: what else runs adds to either, but never takes away.

    A command of typer, YAML, a model of pydantic, LMDB and greenlets alone are 20 starts by machine instructions, of 26
    for inquire.
    """
    python = [sys.executable, "-c"]
    subprocess.run([*python, TDQ, "new", "region"], cwd=tmp_path, check=True, capture_output=True)
    rounds = [(spent([*python, *code], tmp_path), spent([*python, "pass"], tmp_path)) for _ in range(ROUNDS + 4)]
    own, bare = map(min, zip(*rounds, strict=True))
    hold(limit, own / bare, f"{' '.join(code[1:]) or code[0]}, to a start of Python", wanted=wanted)


def test_inquire(tmp_path: Path) -> None:
    """Two queues, a transaction, and the supplied queues.

    Half of the time that importing takes is our own modules, which the parts do not have; the bar asks for a third.
    """
    tdq = [sys.executable, "-c", TDQ]
    subprocess.run([*tdq, "new", "region"], cwd=tmp_path, check=True, capture_output=True)
    seen = ratio([*tdq, "inquire", "region"], [sys.executable, "-c", PARTS], tmp_path)
    hold(1.8, seen, "tdq inquire DIR, to importing what it is made of", wanted=1.5)


def test_help(tmp_path: Path) -> None:
    seen = ratio([sys.executable, "-c", TDQ, "--help"], [sys.executable, "-c", TYPER], tmp_path)
    hold(2, seen, "tdq --help, to importing typer")


@pytest.mark.parametrize(("what", "words"), [("command", "tdq in"), ("option", "tdq inquire --opt")])
def test_completion(tmp_path: Path, what: str, words: str) -> None:
    asked = {"_TDQ_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    seen = ratio([sys.executable, "-c", TDQ], [sys.executable, "-c", TYPER], tmp_path, **asked)
    hold(2, seen, f"a completion of a {what}, to importing typer")


FAKEREDIS = """
import fakeredis


def test_one():
    queue = fakeredis.FakeRedis()
    queue.rpush("PAYQ", b"10.00")
    assert queue.lpop("PAYQ") == b"10.00"
"""
OURS = """
import pytest
from tdqsim import define_tdqueue


@pytest.mark.tdq_definitions(define_tdqueue(name="PAYQ", type="INTRA"))
def test_one(tdq_region):
    tdq_region.writeq_td("PAYQ", b"10.00")
    assert tdq_region.readq_td("PAYQ") == b"10.00"
"""


def test_a_run_of_one_test(tmp_path: Path) -> None:
    """In an environment of pytest, fakeredis and tdqsim, which is made for it."""
    project = Path(__file__).parents[2]
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    python = str(next((tmp_path / "venv").glob("[bS]*/python*")))
    install = [python, "-m", "pip", "install", "-q", "pytest", "fakeredis", str(project)]
    done = subprocess.run(install, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no environment can be made here: {done.stderr[-200:]}")
    for name, text in (("test_ours.py", OURS), ("test_fakeredis.py", FAKEREDIS)):
        (tmp_path / name).write_text(text)
    pytest_of = [python, "-m", "pytest", "-q"]
    seen = ratio([*pytest_of, "test_ours.py"], [*pytest_of, "test_fakeredis.py"], tmp_path)
    hold(1.5, seen, "a pytest run of one test, to the same with fakeredis")


def test_a_restart_with_a_hundred_thousand_definitions(tmp_path: Path) -> None:
    """Half of either is making the queue itself, the same work; what remains to be saved is the rest of the install."""
    letters = "ABDEFGHIJKLMNOPQRSTUVWXYZ"
    names = ("".join(each) for each in product(letters, letters, letters, f"{letters}0123456789"))
    definitions = Definitions.of([define_tdqueue(name=name, type="INTRA") for name in islice(names, 100_000)])
    begun = process_time()
    region = Region(definitions, supplied_queues=False, store=tmp_path / "store")
    installed = process_time() - begun
    region.close()
    begun = process_time()
    with Region(store=tmp_path / "store") as again:
        restarted = process_time() - begun
        assert len(again.tdqueues) == 100_000
    hold(0.8, restarted / installed, "a restart with 100,000 definitions, to their install", wanted=0.7)
