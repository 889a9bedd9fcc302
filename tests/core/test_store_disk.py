"""A disk that is really full: a small file system in memory, where the tests may mount one."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tdqsim.core.store import Store
from tdqsim.errors import StoreFull


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 12 MB."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = shutil.which("mount")
    command = [mount or "mount", "-t", "tmpfs", "-o", "size=12m", "tmpfs", str(place)]
    if mount is None or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("a small file system can only be mounted by root")
    yield place
    subprocess.run(["umount", str(place)], check=True)


@pytest.mark.parametrize("half", ["volatile", "durable"])
@pytest.mark.parametrize("size", [900, 5000])
def test_a_full_disk_is_refused_loses_nothing_and_is_left_behind(disk, half, size):
    with Store(disk / "store") as store:
        env = getattr(store, half)
        queue = env.create_queue(b"Q")
        ballast = disk / "ballast"
        ballast.write_bytes(bytes(6 * 2**20))
        put = 0

        def fill() -> None:
            nonlocal put
            while True:
                queue.put(b"%08d" % put + b"x" * size)
                put += 1
                if put % 20 == 0:
                    env.commit()

        with pytest.raises(StoreFull, match="the disk is full; nothing was changed"):
            fill()
        assert queue.count == put
        env.commit()
        assert [int(entry.data[:8]) for entry in queue.entries()] == list(range(put))
        full_at = put
        ballast.unlink()
        with pytest.raises(StoreFull):
            fill()
        assert put > full_at + 100
        env.commit()
        for number in range(put):
            assert int(queue.take()[:8]) == number
            if number % 20 == 0:
                env.commit()
        queue.put(b"works again")
    with Store(disk / "store") as store:
        assert [entry.data for entry in getattr(store, half).queue(b"Q").entries()] == [b"works again"]


def test_a_full_disk_leaves_no_half_made_store(disk):
    ballast = disk / "ballast"
    with pytest.raises(OSError, match="No space left"):
        ballast.write_bytes(bytes(13 * 2**20))
    with pytest.raises(StoreFull):
        Store(disk / "store")
    ballast.unlink()
    with Store(disk / "store") as store:
        assert store.created
