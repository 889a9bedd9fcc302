"""Whatever is raised inside any command or call, at whatever line: it happened or it did not, now and after a restart.

The requests to transient data queues have their own test beside this one. Here an exception is raised at the lines of
all others that change something, and of some that only look, one line after the other; of each the region is compared
with one in which nothing was raised, before and after a restart.
"""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import tdqsim
from tdqsim.cics import Region, Task
from tdqsim.cics.files import DataFile
from tdqsim.core.store import Durability
from tdqsim.definitions import define_tdqueue, define_terminal, define_transaction
from tdqsim.errors import DefinitionError
from tests.interrupts import RaiseAt

PACKAGE = str(Path(tdqsim.__file__).parent)
DURABILITY = pytest.mark.parametrize("durability", ["process", "power"])
SAMPLE = 2
"""So many of a command's lines by default, other ones for each durability; all of them in the slow test."""


class Boom(KeyboardInterrupt):
    """What is raised."""


def definitions() -> list[Any]:
    return [
        define_tdqueue(name="NOQ", type="INTRA", transid="TRIG", triggerlevel=100),
        define_tdqueue(name="PHYQ", type="INTRA", recovstatus="PHYSICAL", transid="TRIG", triggerlevel=100),
        define_tdqueue(name="LOGQ", type="INTRA", recovstatus="LOGICAL"),
        define_tdqueue(
            name="OUTQ", type="EXTRA", typefile="OUTPUT", recordsize=84, recordformat="VARIABLE", dsname="A.B",
            blockformat="UNBLOCKED", disposition="MOD", opentime="DEFERRED",
        ),
        define_transaction(name="TRIG"),
        define_terminal(name="T001"),
    ]  # fmt: skip


def opened(place: Path, durability: Durability, *given: Any) -> Region:
    return Region(*given, supplied_queues=False, store=place / "store", durability=durability, datasets=place / "ds")


def made(place: Path, durability: Durability, *given: Any) -> Region:
    region = opened(place, durability, *given)
    region.clock.freeze()
    region.register("TRIG", lambda _task: None)
    region.ts.define_model("R", recovery=True)
    region.files.define("KEPT", DataFile("KSDS", keylength=1, recordsize=3), recoverable=True, kept=True)
    region.files.define("ONCE", DataFile("KSDS", keylength=1, recordsize=3), kept=True)
    return region


def seen(region: Region) -> dict[str, Any]:
    """What of a region outlives its end."""
    queues = {}
    for each in region.browse_tdqueue("TYPE", "RECOVSTATUS", "TRIGGERLEVEL", "ATITRANID", "ATITERMID", "ATIFACILITY"):
        queue = each.tdqueue.rstrip()
        queues[queue] = (each, region.peek(queue) if region.tdqueues[queue].type == "INTRA" else None)
    files = {name: dict(file.data.records) for name, file in region.files.known.items()}
    return {
        "queues": queues,
        "order": list(region.tdqueues),
        "others": [list(region.resources.transactions), list(region.resources.terminals)],
        "ts": {name: list(queue.items) for name, queue in region.ts.queues.items()},
        "files": files,
    }


def disabled(*queues: str) -> Callable[[Region, Task], None]:
    def before(region: Region, _task: Task) -> None:
        for queue in queues:
            region.set_tdqueue(queue, enablestatus="DISABLED")

    return before


def nothing(_region: Region, _task: Task) -> None:
    """Nothing goes before."""


def group(region: Region, _task: Task) -> None:
    region.install([
        define_tdqueue(name="NEW1", type="INTRA"),
        define_tdqueue(name="NEW2", type="INTRA", recovstatus="LOGICAL"),
        define_transaction(name="NEWT"),
        define_terminal(name="T002"),
    ])  # fmt: skip


def written(_region: Region, task: Task) -> None:
    task.writeq_ts("RQ", b"one")
    task.writeq_ts("AQ", b"one")
    task.syncpoint()
    task.writeq_td("LOGQ", b"mine")


def held(file: str) -> Callable[[Region, Task], object]:
    return lambda _region, task: task.read_file(file, b"a", update=True)


def browsed(_region: Region, task: Task) -> None:
    task.startbr("KEPT", b"a")


COMMANDS: dict[str, tuple[Callable[[Region, Task], object], Callable[[Region, Task], object]]] = {
    "CREATE NO": (nothing, lambda r, _t: r.create_tdqueue("NEWQ", "TYPE(INTRA) TRANSID(TRIG)")),
    "CREATE PHYSICAL": (nothing, lambda _r, t: t.create_tdqueue("NEWQ", "TYPE(INTRA) RECOVSTATUS(PHYSICAL)")),
    "CREATE with work": (written, lambda _r, t: t.create_tdqueue("NEWQ", "TYPE(INTRA) RECOVSTATUS(LOGICAL)")),
    "CREATE again": (disabled("PHYQ"), lambda r, _t: r.create_tdqueue("PHYQ", "TYPE(INTRA) RECOVSTATUS(PHYSICAL)")),
    "CREATE to the store": (disabled("NOQ"), lambda r, _t: r.create_tdqueue("NOQ", "TYPE(INTRA) RECOVSTATUS(LOGICAL)")),
    "CREATE to memory": (disabled("LOGQ"), lambda r, _t: r.create_tdqueue("LOGQ", "TYPE(INTRA)")),
    "CREATE alias": (nothing, lambda r, _t: r.create_tdqueue("NEWQ", "TYPE(INDIRECT) INDIRECTNAME(NOQ)")),
    "install": (nothing, group),
    "DISCARD NO": (disabled("NOQ"), lambda r, _t: r.discard_tdqueue("NOQ")),
    "DISCARD PHYSICAL": (disabled("PHYQ"), lambda r, _t: r.discard_tdqueue("PHYQ")),
    "DISCARD LOGICAL": (disabled("LOGQ"), lambda r, _t: r.discard_tdqueue("LOGQ")),
    "DISCARD data set": (disabled("OUTQ"), lambda r, _t: r.discard_tdqueue("OUTQ")),
    "SET TRIGGERLEVEL": (nothing, lambda r, _t: r.set_tdqueue("PHYQ", triggerlevel=7)),
    "SET ATI": (
        disabled("PHYQ"),
        lambda r, _t: r.set_tdqueue("PHYQ", atifacility="TERMINAL", atitermid="T001", triggerlevel=9),
    ),
    "SET ENABLESTATUS": (nothing, lambda r, _t: r.set_tdqueue("PHYQ", enablestatus="DISABLED")),
    "SET OPENSTATUS": (nothing, lambda r, _t: r.set_tdqueue("OUTQ", openstatus="OPEN")),
    "INQUIRE": (nothing, lambda r, _t: r.inquire_tdqueue("PHYQ")),
    "browse": (nothing, lambda r, _t: list(r.browse_tdqueue("TRIGGERLEVEL"))),
    "WRITEQ TS": (written, lambda _r, t: t.writeq_ts("AQ", b"two")),
    "WRITEQ TS recoverable": (written, lambda _r, t: t.writeq_ts("RQ", b"two")),
    "WRITEQ TS REWRITE recoverable": (written, lambda _r, t: t.writeq_ts("RQ", b"two", item=1, rewrite=True)),
    "READQ TS": (written, lambda _r, t: t.readq_ts("RQ")),
    "DELETEQ TS": (written, lambda _r, t: t.deleteq_ts("AQ")),
    "DELETEQ TS recoverable": (written, lambda _r, t: t.deleteq_ts("RQ")),
    "SYNCPOINT with TS": (lambda _r, t: t.writeq_ts("RQ", b"one"), lambda _r, t: t.syncpoint()),
    "WRITE file": (nothing, lambda _r, t: t.write_file("KEPT", b"b22", b"b")),
    "WRITE file at once": (nothing, lambda _r, t: t.write_file("ONCE", b"b22", b"b")),
    "REWRITE file": (held("KEPT"), lambda _r, t: t.rewrite_file("KEPT", b"a33")),
    "REWRITE file at once": (held("ONCE"), lambda _r, t: t.rewrite_file("ONCE", b"a33")),
    "DELETE file": (nothing, lambda _r, t: t.delete_file("KEPT", b"a")),
    "DELETE file at once": (nothing, lambda _r, t: t.delete_file("ONCE", b"a")),
    "READNEXT": (browsed, lambda _r, t: t.readnext("KEPT")),
    "START": (nothing, lambda _r, t: t.start("TRIG")),
    "START PROTECT": (nothing, lambda _r, t: t.start("TRIG", protect=True)),
    "START INTERVAL": (nothing, lambda _r, t: t.start("TRIG", interval=100)),
    "ENQ": (nothing, lambda _r, t: t.enq(b"it")),
    "seed": (nothing, lambda r, _t: r.seed("PHYQ", [b"three", b"four"])),
    "peek": (nothing, lambda r, _t: r.peek("PHYQ")),
}  # fmt: skip


def begun(place: Path, durability: Durability, before: Callable[[Region, Task], object]) -> tuple[Region, Task]:
    region = made(place, durability, definitions())
    for queue in ("NOQ", "PHYQ", "LOGQ"):
        region.seed(queue, [b"one", b"two"])
    with region.task() as first:
        first.write_file("KEPT", b"a11", b"a")
        first.write_file("ONCE", b"a11", b"a")
    task = region.task()
    before(region, task)
    return region, task


def ended(region: Region, task: Task) -> dict[str, Any]:
    """The program goes on and ends, and others get what it had."""
    task.syncpoint()
    task.end(normal=True)
    region.run()
    assert not region.recovery.units
    assert not any(each._unit for each in region.tasks.values())
    assert not region._core.starts.requests or len(region._core.starts.requests) == 1
    with region.task() as other:
        if "LOGQ" in region.tdqueues:
            region.set_tdqueue("LOGQ", enablestatus="ENABLED")
            other.writeq_td("LOGQ", b"other")
        other.writeq_ts("RQ", b"other")
        other.enq(b"it", nosuspend=True)
        other.syncpoint_rollback()
    return seen(region)


def one(
    place: Path, durability: Durability, name: str, interrupt: RaiseAt | None, *, run: bool = True
) -> dict[str, Any]:
    """What there is after a command, or one that was interrupted, and that a restart finds the same."""
    before, command = COMMANDS[name]
    region, task = begun(place, durability, before)
    if interrupt is not None:
        with suppress(Boom), interrupt:
            command(region, task)
    elif run:
        command(region, task)
    found = ended(region, task)
    written = [each.reason for each in region.statistics.collections]
    region.close()
    with made(place, durability) as again:
        assert again.recovery.start_type == "WARM"
        assert seen(again) == found, interrupt and interrupt.where
    shutil.rmtree(place)
    return {**found, "statistics": written}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # a file opened just then goes unclosed
@pytest.mark.parametrize(
    ("name", "durability", "every"),
    [
        *((name, ("process", "power")[number % 2], False) for number, name in enumerate(COMMANDS)),
        *(
            pytest.param(*each, True, marks=pytest.mark.slow)
            for each in itertools.product(COMMANDS, ("process", "power"))
        ),
    ],
)
def test_it_happened_or_it_did_not(tmp_path: Path, name: str, durability: Durability, every: bool) -> None:
    """By default some lines, and one durability for every second command."""
    first = one(tmp_path / "first", durability, name, None, run=False)
    done = one(tmp_path / "done", durability, name, None)
    counting = RaiseAt(10**9, Boom, PACKAGE)  # what runs once in a process has run by now
    one(tmp_path / "count", durability, name, counting)
    many = 10**9 - counting.left
    assert many > 5
    step = 1 if every else max(1, many // SAMPLE)
    for number in range(1 if every or durability == "process" else 1 + step // 2, many + 1, step):
        interrupt = RaiseAt(number, Boom, PACKAGE)
        found = one(tmp_path / str(number), durability, name, interrupt)
        assert interrupt.where
        assert found in (first, done), interrupt.where


def lines_of_a_start(place: Path, durability: Durability) -> int:
    counting = RaiseAt(10**9, Boom, PACKAGE)
    with counting:
        region = opened(place, durability)
    region.close()
    return 10**9 - counting.left


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["some", "all"])
@DURABILITY
@pytest.mark.rule("RESTART-WARM-AGAIN")
def test_a_warm_start_that_was_interrupted_is_made_again(tmp_path: Path, durability: Durability, every: bool) -> None:
    region, task = begun(tmp_path, durability, written)
    found = ended(region, task)
    region.close()
    many = lines_of_a_start(tmp_path, durability)
    for number in range(1, many + 1, 1 if every else many // SAMPLE):
        interrupt = RaiseAt(number, Boom, PACKAGE)
        with suppress(Boom):
            with interrupt:
                region = opened(tmp_path, durability)
            region.close()
        with made(tmp_path, durability) as again:
            assert again.recovery.start_type == "WARM", interrupt.where
            assert seen(again) == found, interrupt.where


def test_a_warm_start_that_fails_loses_no_records(tmp_path: Path) -> None:
    region, task = begun(tmp_path, "process", nothing)
    found = ended(region, task)
    region.close()
    for _ in range(2):
        with pytest.raises(DefinitionError, match="no_such_module"):
            Region(store=tmp_path / "store", handlers=["no_such_module"])
    with made(tmp_path, "process") as again:
        assert again.recovery.start_type == "WARM"
        assert seen(again) == found
