"""Full disks: what a commit has promised holds, and what was not promised is never half there."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tdqsim.cics import Region, Sysplex
from tdqsim.core.store import check as storecheck
from tdqsim.errors import StoreError, StoreFull
from tests.recovery.helpers import NAMES, make, queue, queues

PAGE = 4096


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 8 MB."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = shutil.which("mount")
    command = [mount or "mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(place)]
    if mount is None or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("a small file system can only be mounted by root")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def fill(region: Region, name: str, serial: int, *, size: int = 1500) -> int:
    """Units of work of five records each until there is no room; how many records were written to the queue."""
    while True:
        with region.task() as task:
            for _ in range(5):
                task.writeq_td(name, b"%08d" % serial + b"x" * size, nohandle=True)
                if task.eib.eibresp != 0:
                    assert task.condition is not None
                    assert task.condition.name == "NOSPACE"
                    return serial  # what was written of this unit of work before is committed with the block
                serial += 1


def close(region: Region, *, clean: bool, refused: bool) -> None:
    """Close a region; ``refused`` when its store has no room for the records that are in memory."""
    if not refused:
        region.close(clean=clean)
        return
    with pytest.raises(StoreFull, match="volatile records that are in memory are lost"):
        region.close(clean=clean)
    assert region.closed


@pytest.mark.parametrize("clean", [True, False], ids=["closed", "failed"])
@pytest.mark.parametrize("kind", NAMES)
def test_a_full_disk_is_nospace_and_costs_nothing(disk, kind, clean):
    name = NAMES[kind]
    region = make(store=disk / "store")
    count = fill(region, name, 0)
    assert count > 500
    assert [int(record[:8]) for record in region.peek(name)] == list(range(count))
    taken = [region.readq_td(name) for _ in range(200)]  # a full store can be emptied
    assert [int(record[:8]) for record in taken] == list(range(200))
    again = fill(region, name, count)
    assert again > count
    close(region, clean=clean, refused=clean and kind == "NO")
    with make(store=disk / "store") as region:
        assert region.recovery.start_type == ("WARM" if clean and kind != "NO" else "EMERGENCY")
        kept = [] if kind == "NO" else list(range(200, again))
        assert [int(record[:8]) for record in region.peek(name)] == kept


def test_a_close_without_room_for_records_in_memory_costs_nothing_recoverable(disk):
    """It says what is lost, closes everything, and is for the next start what a failure is."""
    region = make(store=disk / "store")
    for number in range(20):
        for name in NAMES.values():
            region.writeq_td(name, b"%s %d" % (name.encode(), number))
    fill(region, "NOQ", 0)
    task = region.task()
    task.writeq_td("LOGQ", b"of a task that has not ended")
    with pytest.raises(StoreFull, match=r"no room.*volatile records that are in memory are lost"):
        region.close()
    assert region.closed
    assert region.recovery.failed
    assert region.close() == ()  # once is enough
    with make(store=disk / "store") as region:  # the lock is free
        assert region.recovery.start_type == "EMERGENCY"
        assert region.peek("NOQ") == []
        for name in ("PHYQ", "LOGQ"):
            assert region.peek(name) == [b"%s %d" % (name.encode(), number) for number in range(20)]


def test_a_sysplex_closes_the_other_regions_of_one_that_has_no_room(disk, tmp_path):
    sysplex = Sysplex()
    full = sysplex.region(queues(), applid="FULL", sysid="FULL", store=disk / "store", supplied_queues=False)
    other = sysplex.region(queues(), applid="MORE", sysid="MORE", store=tmp_path / "more", supplied_queues=False)
    other.writeq_td("NOQ", b"kept")
    fill(full, "NOQ", 0)
    with pytest.raises(StoreFull, match="volatile records that are in memory are lost"):
        sysplex.close()
    with make(store=tmp_path / "more") as region:
        assert region.recovery.start_type == "WARM"
        assert region.peek("NOQ") == [b"kept"]


def test_room_of_a_logical_write_is_held_until_its_commit(disk):
    """Others fill the disk meanwhile; the commit that was promised room has it."""
    with make(store=disk / "store") as region, region.task() as task:
        for number in range(40):
            task.writeq_td("LOGQ", b"%08d" % number + b"x" * 3000)
        fill(region, "PHYQ", 0)
        task.syncpoint()
        assert len(region.peek("LOGQ")) == 40


def test_a_prepared_unit_of_work_can_commit_on_a_disk_that_is_full_since(disk):
    region = make(store=disk / "store")
    with region.task() as task:
        for number in range(40):
            task.writeq_td("LOGQ", b"%08d" % number + b"x" * 3000)
        branch = region.recovery.branch("XA1", task)
    assert branch.prepare()
    region.close(clean=False)
    with make(store=disk / "store") as region:
        fill(region, "PHYQ", 0)
        region.recovery.branch("XA1").commit()
        assert len(region.peek("LOGQ")) == 40


@pytest.mark.parametrize("clean", [True, False], ids=["closed", "failed"])
@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.parametrize(
    ("size", "start"),
    [
        (600, "AUTO"),
        pytest.param(150, "AUTO", marks=pytest.mark.slow),
        pytest.param(12, "AUTO", marks=pytest.mark.slow),  # tens of thousands of records
        pytest.param(12, "COLD", marks=pytest.mark.slow),
        pytest.param(1500, "AUTO", marks=pytest.mark.slow),
        pytest.param(1500, "COLD", marks=pytest.mark.slow),
        pytest.param(3900, "AUTO", marks=pytest.mark.slow),
        (3900, "COLD"),
    ],
)
def test_a_full_store_is_started_again(tmp_path, size, kind, clean, start):
    """What a start has to note, and the read it gives back, have room when a WRITEQ has none."""
    path, name, given_back = tmp_path / "store", NAMES[kind], b"%08d" % 0 + b"y" * size
    limit = (4 if size > 1000 else 3) << 20  # many small records take long to write
    region = make(queue("PHY2", "PHYSICAL"), *queues(), store=path, limit_bytes=limit)
    region.writeq_td("PHY2", given_back)
    count = fill(region, name, 0, size=size)
    task = region.task()
    assert task.readq_td("PHY2") == given_back
    assert count > 10
    in_memory = kind == "NO"  # and more than there is room for when it is closed
    close(region, clean=clean, refused=clean and in_memory)
    region = make(queue("PHY2", "PHYSICAL"), *queues(), store=path, limit_bytes=limit, start=start)
    assert len(region.peek(name)) == (0 if in_memory or start == "COLD" else count)
    assert region.peek("PHY2") == ([] if clean or start == "COLD" else [given_back])
    while region.readq_td(name, nohandle=True):
        pass
    assert fill(region, name, 0, size=size) > 5
    close(region, clean=clean, refused=clean and in_memory)


def test_a_salvage_to_a_full_disk_leaves_nothing(disk, tmp_path):
    with make(store=tmp_path / "store") as region:
        region.seed("LOGQ", [b"x" * 3000] * 100)
    for left in (0, 1, 2, 3, 4, 16, 64):
        with (disk / "other").open("wb") as other:
            os.posix_fallocate(other.fileno(), 0, 8 * 2**20 - (left + 1) * PAGE)
        with pytest.raises(StoreError, match=f"{disk / 'saved'}.*(disk is full|No space left|no room)"):
            storecheck.salvage(tmp_path / "store", disk / "saved")
        assert [file.name for file in disk.iterdir()] == ["other"]
    (disk / "other").unlink()
    assert storecheck.salvage(tmp_path / "store", disk / "saved").saved == 100
