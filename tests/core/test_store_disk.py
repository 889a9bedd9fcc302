"""A disk that is really full: a small file system in memory, where the tests may mount one."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tdqsim.core.store import Store
from tdqsim.errors import StoreError, StoreFull


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 14 MB."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = shutil.which("mount")
    command = [mount or "mount", "-t", "tmpfs", "-o", "size=14m", "tmpfs", str(place)]
    if mount is None or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("a small file system can only be mounted by root")
    yield place
    subprocess.run(["umount", str(place)], check=True)


@pytest.mark.parametrize("size", [900, 5000])
def test_a_full_disk_is_refused_loses_nothing_and_is_left_behind(disk: Path, size: int) -> None:
    with Store(disk / "store") as store:
        queue = store.durable.create_queue(b"Q")
        ballast = disk / "ballast"
        ballast.write_bytes(bytes(6 * 2**20))
        put = 0

        def fill() -> None:
            nonlocal put
            while True:
                work = queue.work()
                for number in range(20):
                    work.put(b"%08d" % (put + number) + b"x" * size)
                store.durable.commit((work,))
                put += 20

        with pytest.raises(StoreFull, match="the disk is full"):
            fill()
        assert [int(entry.data[:8]) for entry in queue.entries()] == list(range(put))
        full_at = put
        ballast.unlink()
        with pytest.raises(StoreFull):
            fill()
        assert put > full_at + 100
        for number in range(0, put, 20):
            work = queue.work()
            for at in range(20):
                data = work.take()
                assert data is not None
                assert int(data[:8]) == number + at
            store.durable.commit((work,), {b"how far": b"%d" % number})
        work = queue.work()
        work.put(b"works again")
        store.durable.commit((work,))
    with Store(disk / "store") as store:
        assert store.closed_clean
        kept = store.durable.queue(b"Q")
        assert kept is not None
        assert [entry.data for entry in kept.entries()] == [b"works again"]


def test_volatile_queues_on_a_full_disk_stay_in_memory_until_that_is_used_up(disk: Path) -> None:
    with Store(disk / "store", memory_bytes=2 << 20) as store:
        queue = store.volatile.create_queue(b"V")
        put = 0
        with pytest.raises(StoreFull):  # noqa: PT012 - as often as it takes
            while True:
                queue.put(b"%08d" % put + bytes(500))
                put += 1
        assert queue.count == put > 10_000
        for number in range(put):
            data = queue.take()
            assert data is not None
            assert int(data[:8]) == number
        assert queue.count == 0
        queue.put(b"works again")
    with Store(disk / "store") as store:
        kept = store.volatile.queue(b"V")
        assert kept is not None
        assert kept.take() == b"works again"


def test_volatile_records_that_cannot_be_written_out_make_the_close_an_unclean_one(disk: Path) -> None:
    store = Store(disk / "store")
    work = store.durable.create_queue(b"Q").work()
    work.put(b"durable")
    store.durable.commit((work,))
    queue = store.volatile.create_queue(b"V")
    for _ in range(1000):
        queue.put(bytes(10_000))
    (disk / "ballast").write_bytes(bytes(8 * 2**20))
    with pytest.raises(StoreFull, match=r"full.*closed as by a failure, and 1000 volatile records .* are lost"):
        store.close()
    (disk / "ballast").unlink()
    with Store(disk / "store") as store:
        assert not store.closed_clean
        kept = store.durable.queue(b"Q")
        assert kept is not None
        assert kept.peek() is not None


def test_a_full_disk_leaves_no_half_made_store(disk: Path) -> None:
    ballast = disk / "ballast"
    with pytest.raises(OSError, match="No space left"):
        ballast.write_bytes(bytes(15 * 2**20))
    with pytest.raises(StoreError):
        Store(disk / "store")
    ballast.unlink()
    with Store(disk / "store") as store:
        assert store.created
