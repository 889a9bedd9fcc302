"""Compact and backup of stores."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import pytest
import structlog

from tdqsim.cics import Region
from tdqsim.core.store import Store
from tdqsim.core.store import check as storecheck
from tdqsim.core.store._meta import read_metas
from tdqsim.definitions import define_tdqueue
from tdqsim.errors import StoreDamaged, StoreError, StoreInUse
from tests.core import _child

# -- compact ----------------------------------------------------------------------------------------------------------


QUEUES = [
    define_tdqueue(name=name, type="INTRA", recovstatus=kind) for name, kind in {"LOG": "LOGICAL", "NON": "NO"}.items()
]


@pytest.mark.parametrize("clean", [True, False])
def test_compact_gives_room_back_and_keeps_everything_else(tmp_path: Path, clean: bool) -> None:
    path = tmp_path / "store"
    region = Region(QUEUES, store=path)
    for name in ("LOG", "NON"):
        region.seed(name, [b"%d" % n + b"x" * 2000 for n in range(3000)])
        for _ in range(2990):
            region.readq_td(name)
    region.close()
    if not clean:
        Store(path).close(clean=False)
    before = (path / "durable" / "data.mdb").stat().st_size
    report = storecheck.compact(path)
    assert report.sound
    assert (path / "durable" / "data.mdb").stat().st_size < before / 10
    assert storecheck.check(path).sound
    assert all(not (path / half / "lock.mdb").exists() for half in ("durable", "volatile"))  # no reader of old pages
    assert [read_metas(path / half)[0].sealed for half in ("durable", "volatile")] == [clean, clean]
    with Region(store=path) as region:
        assert region.recovery.start_type == ("WARM" if clean else "EMERGENCY")
        assert [record.rstrip(b"x") for record in region.peek("LOG")] == [b"%d" % n for n in range(2990, 3000)]
        assert region.inquire_tdqueue("NON").numitems == (10 if clean else 0)
        region.writeq_td("LOG", b"more")
    with Region(store=path) as region:
        assert region.recovery.start_type == "WARM"
        assert region.peek("LOG")[-1] == b"more"
    assert storecheck.check(path).sound


def test_compact_refuses_a_store_in_use_and_a_damaged_one(tmp_path: Path) -> None:
    with Region(QUEUES, store=tmp_path / "store") as region:
        region.writeq_td("LOG", b"some record")
        with pytest.raises(StoreInUse):
            storecheck.compact(tmp_path / "store")
    file = tmp_path / "store" / "durable" / "data.mdb"
    file.write_bytes(file.read_bytes().replace(b"some record", b"SOME record"))
    before = file.read_bytes()
    with pytest.raises(StoreDamaged, match="LOG"):
        storecheck.compact(tmp_path / "store")
    assert file.read_bytes() == before


# -- backup -----------------------------------------------------------------------------------------------------------


def test_a_store_is_backed_up_while_a_process_writes_it(tmp_path: Path) -> None:
    """Each unit of work writes to two queues; a copy has all of it or nothing, and all that was committed before."""
    code = """
    from tdqsim.cics import Region
    from tdqsim.definitions import define_tdqueue
    queues = [define_tdqueue(name=n, type="INTRA", recovstatus=k) for n, k in {"A": "LOGICAL", "B": "LOGICAL", "N": "NO"}.items()]
    region = Region(queues, store=sys.argv[1])
    region.writeq_td("N", b"not in the copy")
    print("open", flush=True)
    import select
    done = 0
    while not select.select([sys.stdin], [], [], 0)[0]:
        with region.task() as task:
            task.writeq_td("A", b"%d" % done)
            task.writeq_td("B", b"%d" % done)
        done += 1
        if done % 100 == 0:
            print(done, flush=True)
    region.close()
    """
    with _child.start(code, tmp_path / "store") as child:
        assert child.stdout is not None
        lines = iter(line.strip() for line in child.stdout if not line.startswith("20"))
        assert next(lines) == "open"
        for number in range(3):
            least = int(next(lines))
            target = tmp_path / f"copy{number}"
            assert storecheck.backup(tmp_path / "store", target).sound
            with Region(store=target) as region:
                assert region.recovery.start_type == "EMERGENCY"
                found = region.peek("A")
                assert found == region.peek("B") == [b"%d" % n for n in range(len(found))]
                assert len(found) >= least
                assert region.peek("N") == []
        child.communicate("stop\n", timeout=300)
    with Region(store=tmp_path / "store") as region:
        assert region.recovery.start_type == "WARM"


def test_the_backup_of_a_closed_store_is_that_store(tmp_path: Path) -> None:
    with Region(QUEUES, store=tmp_path / "store") as region:
        region.writeq_td("LOG", b"one")
        region.writeq_td("NON", b"two")
    assert storecheck.backup(tmp_path / "store", tmp_path / "copy").sound
    with Region(store=tmp_path / "copy") as region:
        assert (region.recovery.start_type, region.peek("LOG"), region.peek("NON")) == ("WARM", [b"one"], [b"two"])
    with pytest.raises(StoreError, match="a store already"):
        storecheck.backup(tmp_path / "store", tmp_path / "copy")


def test_the_backup_of_a_damaged_store_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    with Region(QUEUES, store=tmp_path / "store") as region:
        region.writeq_td("LOG", b"some record")
    file = tmp_path / "store" / "durable" / "data.mdb"
    file.write_bytes(file.read_bytes().replace(b"some record", b"SOME record"))
    with pytest.raises(StoreDamaged, match="LOG"):
        storecheck.backup(tmp_path / "store", tmp_path / "copy")
    assert not (tmp_path / "copy").exists()
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / "mine.txt").write_text("kept", "utf-8")
    with pytest.raises(StoreDamaged, match="LOG"):
        storecheck.backup(tmp_path / "store", tmp_path / "copy")
    assert [each.name for each in (tmp_path / "copy").iterdir()] == ["mine.txt"]


def test_the_backup_of_a_store_in_use_leaves_out_what_a_failure_would_discard(tmp_path: Path) -> None:
    with Store(tmp_path / "store", memory_bytes=1) as store:
        queue = store.volatile.create_queue(b"V")
        for _ in range(100):
            queue.put(b"volatile")
        assert store.volatile.overflowed
        assert storecheck.backup(tmp_path / "store", tmp_path / "copy").sound
    assert [each.name for each in (tmp_path / "copy").iterdir()] == ["durable"]
    with Store(tmp_path / "copy") as store:
        assert (store.closed_clean, store.volatile.queue(b"V")) == (False, None)


# -- readers ----------------------------------------------------------------------------------------------------------


def test_a_reader_that_keeps_pages_of_old_commits_is_reported(tmp_path: Path) -> None:
    """Its process has a transaction of LMDB open, as a program that was stopped while it looked would have."""
    code = """
    import lmdb
    env = lmdb.open(sys.argv[1], readonly=True, max_dbs=0, map_size=1 << 30)
    with env.begin() as txn:
        txn.get(b"x")
        print("reading", flush=True)
        sys.stdin.readline()
    """
    with Store(tmp_path / "store") as store, structlog.testing.capture_logs() as logged:
        queue = store.durable.create_queue(b"Q")

        def pairs(count: int) -> None:
            for _ in range(count):
                work = queue.work()
                work.put(b"x" * 1500)
                store.durable.commit((work,))
                work = queue.work()
                work.take()
                store.durable.commit((work,))

        pairs(1)
        with _child.start(code, tmp_path / "store" / "durable") as child:
            assert child.stdout is not None
            assert child.stdout.readline() == "reading\n"
            pairs(6000)
            child.communicate("stop\n", timeout=300)
        assert {(event["event"], event["pid"]) for event in logged} == {("reader_keeps_pages", child.pid)}
        assert all(event["commits_behind"] > 1000 for event in logged)
        sizes = [event["file_bytes"] for event in logged]
        assert sizes[0] > 64 << 20
        assert all(after >= 2 * before for before, after in itertools.pairwise(sizes))
        before = len(logged)
        pairs(6000)
        assert len(logged) == before


def test_a_check_that_takes_too_long_or_ends_otherwise_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "store"
    Store(path).close()
    with pytest.raises(StoreDamaged, match=f"{path}: it could not be read within 0 seconds$"):
        storecheck.check(path, timeout=0)
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(StoreDamaged, match=f"{path}: reading it ended with code 1$"):
        storecheck.check(path)
