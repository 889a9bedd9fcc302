"""What a commit costs in syncs and what it promises: durability ``process`` and ``power``, counted by strace."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests import apart

ROOT = Path(__file__).parents[2]
HEAD = """
import os, sys
from tdqsim.cics import Region
from tdqsim.definitions import define_tdqueue

def region(durability, place="", **options):
    names = {"LOG1": "LOGICAL", "LOG2": "LOGICAL", "PHYQ": "PHYSICAL", "NOQ": "NO"}
    queues = [define_tdqueue(name=name, type="INTRA", recovstatus=kind) for name, kind in names.items()]
    queues += [define_tdqueue(name=f"Q{n:03d}", type="INTRA", recovstatus="LOGICAL") for n in range(100)]
    return Region(queues, store=sys.argv[1] + place, supplied_queues=False, durability=durability, **options)

def mark():
    os.access("/begin-or-end", os.F_OK)  # seen in the trace
def marked(work):
    mark()
    work()
    mark()
"""


def traceable() -> bool:
    if shutil.which("strace") is None:
        return False
    return (
        subprocess.run(
            ["strace", "-f", "--seccomp-bpf", "-o", "/dev/null", "true"], capture_output=True, check=False
        ).returncode
        == 0
    )


needs_strace = pytest.mark.skipif(not traceable(), reason="syncs are counted by strace, which cannot be used here")


def syncs(tmp_path: Path, code: str) -> list[int]:
    """How many syncs each part between two marks makes."""
    trace = tmp_path / "trace"
    program = HEAD + textwrap.dedent(code)
    command = [
        "strace",
        "-f",
        "--seccomp-bpf",  # what is not traced is not stopped
        "-e",
        "trace=fsync,fdatasync,msync,sync_file_range,access,faccessat,faccessat2",
        "-o",
        str(trace),
    ]
    done = subprocess.run(
        [*command, sys.executable, "-c", program, str(tmp_path / "store")], cwd=ROOT, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    between = trace.read_text().split("/begin-or-end")[1::2]
    return [len(re.findall(r"\b(fsync|fdatasync|msync|sync_file_range)\(", each)) for each in between]


WORK = {
    "one reads and writes in a unit of work": (
        """
        def work():
            for n in range(20):
                with r.task() as t:
                    t.readq_td("LOG1")
                    t.writeq_td("LOG2", b"x" * 100)
        """,
        20,
    ),
    "one command a unit of work": (
        """
        def work():
            for n in range(20):
                r.writeq_td("LOG1", b"x" * 100)
            for n in range(20):
                r.writeq_td("PHYQ", b"x" * 100)
        """,
        40,
    ),
    "much volatile traffic before": (
        """
        def work():
            for n in range(5):
                for m in range(2000):
                    r.writeq_td("NOQ", b"x" * 100)
                r.writeq_td("LOG1", b"x" * 100)
        """,
        5,
    ),
    "a hundred records a unit of work": (
        """
        def work():
            for n in range(4):
                with r.task() as t:
                    for m in range(50):
                        t.readq_td("LOG1")
                        t.writeq_td("LOG2", b"x" * 100)
        """,
        4,
    ),
    "a hundred tasks that commit together": (
        """
        def work():
            for n in range(100):
                r.start(lambda t, n=n: t.writeq_td(f"Q{n:03d}", b"x" * 100))
            r.run()
        """,
        1,
    ),
    "backout": (
        """
        def work():
            with r.task() as t:
                for m in range(50):
                    t.readq_td("LOG1")
                    t.writeq_td("LOG2", b"x" * 100)
                t.syncpoint_rollback()
        """,
        0,
    ),
}


ANSWERED = """
def work():
    r.writeq_td("LOG1", b"x")
    os.access("/answered", os.F_OK)
r = region("power", "answered")
marked(work)
r.close()
"""


@needs_strace
def test_durability_power_syncs_each_commit_once_before_the_answer(tmp_path):
    text = "".join(
        f'{textwrap.dedent(code)}r = region("power", "{number}")\nr.seed("LOG1", [b"x" * 100] * 300)\nmarked(work)\nr.close()\n'
        for number, (code, _) in enumerate(WORK.values())
    )
    *counted, one = syncs(tmp_path, text + ANSWERED)
    assert dict(zip(WORK, counted, strict=True)) == {what: expected for what, (_, expected) in WORK.items()}
    assert one == 1
    between = (tmp_path / "trace").read_text().split("/begin-or-end")[-2]
    assert re.search(
        r"(fdatasync|fsync|msync).*/answered", between, re.DOTALL
    )  # nothing is told before the disk has it


@needs_strace
def test_durability_process_never_syncs_but_at_the_end(tmp_path):
    code, _ = WORK["one command a unit of work"]
    closing = 'r = region("process", "closing")\nr.writeq_td("NOQ", b"x")\nr.writeq_td("LOG1", b"x")\nmarked(r.close)\n'
    working, ending = syncs(tmp_path, f'{textwrap.dedent(code)}r = region("process")\nmarked(work)\n{closing}')
    assert working == 0
    assert ending >= 2  # both halves are on the disk before it is said to be clean


PROMISE = """
r = region(sys.argv[2])
for number in range(300):
    with r.task() as t:
        t.writeq_td("LOG1", b"%d" % number)
        t.writeq_td("LOG2", b"%d" % number)
    r.writeq_td("PHYQ", b"%d" % number)
    os.write(1, b"%d\\n" % number)
"""


@pytest.mark.parametrize("durability", ["process", "power"])
def test_what_was_answered_survives_a_kill(tmp_path, durability):
    store = tmp_path / "store"
    child = apart.Process("-c", HEAD + PROMISE, store, durability)
    answered = [child.stdout.readline() for _ in range(40)]
    child.kill()
    answered += child.stdout.read().splitlines()
    child.end()
    count = len(answered)
    from tdqsim.cics import Region

    with Region(store=store) as region:
        for name in ("LOG1", "LOG2", "PHYQ"):
            records = [int(record) for record in region.peek(name)]
            assert records == list(range(len(records)))
            assert count <= len(records) <= count + 1
