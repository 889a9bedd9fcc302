"""A system that answers EIO: the region ends itself as failed, and its next start is an emergency one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tdqsim.cics import Region
from tests.recovery.test_power import needs_strace
from tests.rules import rule

PROGRAM = """
import sys
from tdqsim import RegionClosed
from tdqsim.cics import Region
from tdqsim.definitions import define_tdqueue

queues = [define_tdqueue(name=n, type="INTRA", recovstatus=k) for n, k in {"LOG": "LOGICAL", "NON": "NO"}.items()]
region = Region(queues, store=sys.argv[1], supplied_queues=False, durability=sys.argv[2])
print("started", flush=True)
region.writeq_td("NON", b"volatile")
started = sys.argv[3] == "tasks"
done = 0
try:
    while sys.argv[3] == "overflow":
        region.writeq_td("NON", bytes(4000))
    while done < 100:
        if started:
            tasks = [region.start(lambda task, n=done + n: task.writeq_td("LOG", b"%d" % n)) for n in range(3)]
            region.run()
            for task in tasks:
                task.result()
            done += 3
        else:
            with region.task() as task:
                task.writeq_td("LOG", b"%d" % done)
            done += 1
except Exception as error:
    print(done, type(error).__name__, error, sep="|", flush=True)
for command in (lambda: region.writeq_td("LOG", b"x"), lambda: region.readq_td("NON"), region.task, region.run):
    try:
        command()
        print("went on")
    except RegionClosed as error:
        print("closed", error, sep="|")
print(region.recovery.failed, region.closed)
region.close()
"""


def refused(tmp_path: Path, call: str, when: int, durability: str, how: str, *only: str) -> list[str]:
    """What the program prints when the system refuses a call from its nth time on."""
    command = [
        "strace",
        "-f",
        "--seccomp-bpf",  # what is not traced is not stopped
        "-o",
        "/dev/null",
        *only,
        "-e",
        f"trace={call}",
        "-e",
        f"inject={call}:error=EIO:when={when}+",
    ]
    done = subprocess.run(
        [*command, sys.executable, "-c", PROGRAM, str(tmp_path / "store"), durability, how], capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return [line for line in done.stdout.splitlines() if not line.startswith("20")]


@needs_strace
@pytest.mark.rule("REC-STORE-FAILED")
@pytest.mark.parametrize(
    ("call", "durability", "when", "how"),
    [
        ("fdatasync", "power", 8, "commands"), ("pwrite64", "power", 20, "tasks"), ("pwrite64", "process", 30, "tasks"),
        ("writev", "process", 7, "commands"), pytest.param("fdatasync", "power", 8, "tasks", marks=pytest.mark.slow),
        pytest.param("pwrite64", "power", 20, "commands", marks=pytest.mark.slow),
        pytest.param("pwrite64", "process", 30, "commands", marks=pytest.mark.slow),
        pytest.param("writev", "process", 7, "tasks", marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_a_region_whose_store_cannot_be_written_ends_itself_as_failed(
    tmp_path: Path, call: str, durability: str, when: int, how: str
) -> None:
    said = refused(tmp_path, call, when, durability, how)
    assert said[0] == "started"
    done, _, error = said[1].split("|", 2)
    assert "Input/output error" in error
    assert len(said) == 7
    for line in said[2:6]:
        assert line.startswith("closed|")
        assert rule("REC-STORE-FAILED").message in line
        assert "Input/output error" in line
    assert said[6] == "True True"
    with Region(store=tmp_path / "store") as region:
        assert region.recovery.start_type == "EMERGENCY"
        found = region.peek("LOG")
        assert found == [b"%d" % n for n in range(len(found))]
        assert len(found) >= int(done)
        assert region.peek("NON") == []


@needs_strace
@pytest.mark.rule("REC-STORE-FAILED")
@pytest.mark.parametrize("call", ["pwrite64", "writev"])
def test_a_region_whose_overflow_file_cannot_be_written_ends_itself_as_failed(tmp_path: Path, call: str) -> None:
    """Records that are not recoverable go there when they are too many for the memory."""
    file = tmp_path / "store" / "volatile" / "data.mdb"
    file.parent.mkdir(parents=True)  # which strace wants to be there
    said = refused(tmp_path, call, 5, "process", "overflow", "-P", str(file))
    assert said[0] == "started"
    assert "volatile/data.mdb" in said[1]
    assert "Input/output error" in said[1]
    for line in said[2:6]:
        assert line.startswith("closed|")
        assert rule("REC-STORE-FAILED").message in line
    assert said[6] == "True True"
    with Region(store=tmp_path / "store") as region:
        assert region.recovery.start_type == "EMERGENCY"
        assert region.peek("NON") == []
