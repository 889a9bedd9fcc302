"""The directory of a store: who may open it, what it refuses, what it leaves alone."""

from __future__ import annotations

import gc
import itertools
import os
import stat
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from tdqsim.cics import Region
from tdqsim.core.store import Entry, Order, SearchOrder, Store
from tdqsim.core.store import check as storecheck
from tdqsim.core.store._durable import Durable
from tdqsim.errors import StoreDamaged, StoreError, StoreFull, StoreInUse, StoreMissing, StoreVersionError
from tdqsim.ibmi import System
from tests.core import _child
from tests.open_files import open_in


def put(store: Store, name: bytes, *records: bytes) -> None:
    queue = store.durable.queue(name) or store.durable.create_queue(name)
    work = queue.work()
    for data in records:
        work.put(data)
    store.durable.commit((work,))


def seen(store: Store, name: bytes) -> list[bytes]:
    queue = store.durable.queue(name)
    return [] if queue is None else [entry.data for entry in queue.entries()]


# -- life -------------------------------------------------------------------------------------------------------------


def test_a_new_store_is_created_and_found_again(place: Path) -> None:
    with Store(place) as store:
        assert store.created
        assert store.closed_clean
        put(store, b"Q", b"one")
    with Store(place) as store:
        assert not store.created
        assert store.closed_clean
        assert store.notes == ()
        assert seen(store, b"Q") == [b"one"]


def test_what_is_not_closed_is_not_clean_and_keeps_what_is_committed(place: Path) -> None:
    store = Store(place)
    put(store, b"Q", b"one")
    store.volatile.create_queue(b"V").put(b"in memory")
    store.close(clean=False)
    with Store(place) as store:
        assert not store.closed_clean
        assert seen(store, b"Q") == [b"one"]
        assert store.volatile.queue(b"V") is None


def test_a_store_that_is_dropped_without_a_close_keeps_no_file_open(place: Path) -> None:
    Store(place)
    gc.collect()
    assert open_in(place) == []


def test_an_opening_that_is_interrupted_leaves_a_store_that_was_closed(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mark of the clean close had gone already, so it is set again."""
    with Store(place) as store:
        store.volatile.create_queue(b"V").put(b"one")
    sync, calls = Durable.sync, itertools.count(1)

    def interrupted(durable: Durable) -> None:
        if next(calls) == 1:
            raise KeyboardInterrupt
        sync(durable)

    with monkeypatch.context() as patch:
        patch.setattr(Durable, "sync", interrupted)
        with pytest.raises(KeyboardInterrupt):
            Store(place)
    with Store(place) as store:
        assert store.closed_clean
        queue = store.volatile.queue(b"V")
        assert queue is not None
        assert queue.take() == b"one"


def test_what_was_written_out_outlives_the_process_and_what_was_not_does_not(place: Path) -> None:
    store = Store(place)
    queue = store.volatile.create_queue(b"V")
    queue.put(b"one")
    queue.put(b"two")
    store.volatile.write_out()
    queue.put(b"three")
    store.close(clean=False)
    with Store(place) as store:
        queue = store.volatile.queue(b"V")
        assert queue is not None
        assert [queue.take(), queue.take(), queue.take()] == [b"one", b"two", None]


@pytest.mark.parametrize("clean", [False, True], ids=["killed", "closed"])
@pytest.mark.parametrize("taken", [1, 7, 250])
@pytest.mark.parametrize("order", Order)
def test_what_is_there_again_of_what_was_written_out(place: Path, order: Order, taken: int, clean: bool) -> None:
    """After a close all that was not taken; after a kill the end of that, and nothing twice."""
    store = Store(place)
    queue = store.volatile.create_queue(b"V", order, 3 if order is Order.KEYED else 0)
    records = [b"%03d" % number for number in range(300)]
    for record in records:
        if order is Order.KEYED:
            queue.put_entry(Entry(record, record))
        else:
            queue.put(record)
    store.volatile.write_out()
    expected = records[::-1] if order is Order.LIFO else records
    assert [queue.take() for _ in range(taken)] == expected[:taken]
    assert queue.count == 300 - taken
    assert queue.data_bytes == 3 * (300 - taken)
    assert [entry.data for entry in queue.entries(reverse=True)] == expected[: taken - 1 : -1]
    assert queue.peek(2).data == expected[taken + 2]  # type: ignore[union-attr]
    store.close(clean=clean)
    with Store(place) as store:
        again = store.volatile.queue(b"V")
        assert again is not None
        found = [entry.data for entry in again.entries()]
    assert len(found) == 300 - taken if clean else len(found) <= 300 - taken
    assert found == expected[300 - len(found) :]


def test_a_temporary_store_leaves_nothing() -> None:
    with Store() as store:
        put(store, b"Q", b"one")
        path = store.path
        assert path.is_dir()
    assert not path.exists()


@pytest.mark.parametrize("order", [Order.FIFO, Order.LIFO])
def test_a_cleared_queue_says_how_many_went(place: Path, order: Order) -> None:
    """Of those committed what was not taken, and what the same work has put, in front and behind."""
    with Store(place) as store:
        queue = store.durable.create_queue(b"Q", order)
        for back, went in (((), 4), ((b"again", b"too"), 6)):
            put(store, b"Q", b"1", b"2", b"3")
            work = queue.work()
            work.take()
            for record in back:
                work.put_back(record)
            work.put(b"4")
            work.put(b"5")
            assert work.clear() == went
            store.durable.commit((work,))
            assert queue.count == 0


def test_clear_leaves_what_is_to_be_kept_and_nothing_else(place: Path) -> None:
    with Store(place) as store:
        put(store, b"Q", b"one", bytes(5000))
        store.durable.commit(meta={b"gone": b"x"})
        store.volatile.create_queue(b"V").put(b"x")
        store.clear({b"kept": b"y"})
        assert list(store.durable.metas()) == [(b"kept", b"y")]
        assert list(store.durable.queues()) == []
        assert list(store.volatile.queues()) == []
        put(store, b"Q", b"two")
        assert seen(store, b"Q") == [b"two"]


def test_a_second_page_of_a_keyed_queue_is_counted_anew_after_an_insert(place: Path) -> None:
    """The position of the first page is remembered; entries that come before it move what stands there."""
    with Store(place) as store:
        queue = store.durable.create_queue(b"Q", Order.KEYED, 2)

        def put(*numbers: int) -> None:
            work = queue.work()
            for number in numbers:
                work.put_entry(Entry(b"d%d" % number, b"%02d" % number))
            store.durable.commit((work,))

        put(*range(0, 20, 2))
        assert [entry.data for entry in queue.entries(skip=5, limit=2)] == [b"d10", b"d12"]
        put(1, 3)
        assert [entry.data for entry in queue.entries(skip=5, limit=2)] == [b"d6", b"d8"]
        assert [entry.data for entry in queue.entries(skip=5, limit=2, reverse=True)] == [b"d8", b"d6"]


def test_a_closed_store_refuses_by_name(place: Path) -> None:
    store = Store(place)
    queue = store.durable.create_queue(b"Q")
    work = queue.work()
    store.close()
    store.close()
    with pytest.raises(StoreError, match="the store is closed"):
        store.durable.commit((work,))
    with pytest.raises(StoreError, match="the store is closed"):
        store.durable.get_meta(b"x")


def test_a_queue_of_a_closed_store_gives_no_records_that_it_has_read_ahead(place: Path) -> None:
    store = Store(place)
    queue = store.durable.create_queue(b"Q")
    work = queue.work()
    for number in range(3):
        work.put(b"%d" % number)
    store.durable.commit((work,))
    work = queue.work()
    assert work.take() == b"0"
    store.close()
    assert queue.work().take() is None


def test_meta_data_of_any_length_is_kept_replaced_and_deleted(place: Path) -> None:
    values = {b"a": b"", b"b": b"x" * 1900, b"c": b"y" * 1901, b"d": os.urandom(300_000)}
    with Store(place) as store:
        store.durable.commit(meta=values)
        assert dict(store.durable.metas()) == values
        before = store.durable.statistics()["records"]
        store.durable.commit(meta={b"d": b"short", b"c": None})
        assert store.durable.statistics()["records"] < before - 150
    with Store(place) as store:
        assert dict(store.durable.metas()) == {b"a": b"", b"b": b"x" * 1900, b"d": b"short"}
        assert list(store.durable.metas(b"b")) == [(b"b", b"x" * 1900)]
        with pytest.raises(ValueError, match="at most 480"):
            store.durable.commit(meta={b"k" * 481: b""})


@pytest.mark.parametrize("half", ["volatile", "durable"])
def test_queues_that_cannot_be_are_refused(place: Path, half: str) -> None:
    with Store(place) as store:
        owner: Any = getattr(store, half)
        owner.create_queue(b"Q")
        for name, order, length in ((b"", Order.FIFO, 0), (b"x" * 481, Order.FIFO, 0), (b"K", Order.KEYED, 0),
                                    (b"K", Order.KEYED, 257), (b"F", Order.FIFO, 1), (b"Q", Order.FIFO, 0)):  # fmt: skip
            with pytest.raises(ValueError, match="queue"):
                owner.create_queue(name, order, length)


@pytest.mark.parametrize("half", ["volatile", "durable"])
def test_entries_that_do_not_fit_are_refused(place: Path, half: str) -> None:
    with Store(place) as store:
        owner: Any = getattr(store, half)
        keyed, fifo = owner.create_queue(b"K", Order.KEYED, 3), owner.create_queue(b"F")
        if half == "durable":
            keyed, fifo = keyed.work(), fifo.work()
        for queue, entry in ((keyed, Entry(b"x", b"ab")), (fifo, Entry(b"x", b"k")), (fifo, Entry(b"x")),
                             (keyed, Entry(b"x", b"abc", b"s" * 256)), (keyed, Entry(b"x", b"abc", b"", 2**64))):  # fmt: skip
            with pytest.raises(ValueError, match="queue"):
                queue.put_entry(entry)
        with pytest.raises(ValueError, match="key"):
            keyed.put(b"without a key")
        with pytest.raises(ValueError, match="only a KEYED queue"):
            fifo.take_key(SearchOrder.EQ, b"x")


def test_what_is_put_back_before_a_record_that_shares_its_entry_takes_the_place_of_what_was_taken(
    place: Path, tmp_path: Path
) -> None:
    with Store(place) as store:
        put(store, b"Q", b"one", b"two", b"three", b"four")
        queue = store.durable.queue(b"Q")
        assert queue is not None
        for _ in range(2):
            work = queue.work()
            work.take()
            store.durable.commit((work,))
        work = queue.work()
        work.put_back(b"back")
        store.durable.commit((work,))
        for _ in range(3):  # thrown away each time
            work = queue.work()
            assert [work.take(), work.take(), work.take(), work.take()] == [b"back", b"three", b"four", None]
            work = queue.work()
            assert work.take() == b"back"
        assert [entry.data for entry in queue.entries(reverse=True)] == [b"four", b"three", b"back"]
    assert storecheck.check(place).sound
    storecheck.salvage(place, tmp_path / "new")
    with Store(tmp_path / "new") as store:
        assert seen(store, b"Q") == [b"back", b"three", b"four"]


def test_only_a_stores_keeper_sees_numbers_that_have_no_holes(place: Path) -> None:
    with Store(place) as store:
        queue = store.durable.create_queue(b"Q")
        put(store, b"Q", b"a", b"b", b"c")
        assert (queue.now.first, queue.now.last, queue.now.count) == (1, 3, 3)
        work = queue.work()
        work.take()
        work.put_back(b"z")
        work.put_back(b"y")
        store.durable.commit((work,))
        assert (queue.now.first, queue.now.last) == (0, 3)
        before = queue.now.number
        work = queue.work()
        assert work.clear() == 4
        store.durable.commit((work,))
        assert queue.count == 0
        assert queue.now.number != before
        put(store, b"Q", b"d")
        assert (queue.now.first, queue.now.last) == (4, 4)


def stopped(place: Path) -> None:
    """What is on the disk when the machine stops while a store is open."""
    store = Store(place)
    put(store, b"Q", b"one", b"two")
    store.volatile.create_queue(b"V").put(b"x")
    store.volatile.write_out()
    store.close(clean=False)
    storecheck.as_if_machine_stopped(place)


def test_after_a_stop_of_the_machine_the_durable_half_is_looked_through_and_the_volatile_one_given_up(
    place: Path,
) -> None:
    stopped(place)
    with Store(place) as store:
        assert not store.closed_clean
        assert seen(store, b"Q") == [b"one", b"two"]
        assert list(store.volatile.queues()) == []


def test_after_a_stop_of_the_machine_damage_is_refused(place: Path) -> None:
    stopped(place)
    file = place / "durable" / "data.mdb"
    data = bytearray(file.read_bytes())
    at = data.rfind(b"onetwo")
    while at >= 0:
        data[at] ^= 1
        at = data.rfind(b"onetwo", 0, at)
    file.write_bytes(data)
    with pytest.raises(StoreDamaged, match="the machine stopped while the store was in use"):
        Store(place)


def test_discarding_that_is_interrupted_brings_nothing_back(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Store(place) as store:
        store.volatile.create_queue(b"V").put(b"x")
        store.volatile.write_out()

        def interrupt(*_: object, **__: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr("shutil.rmtree", interrupt)
        with pytest.raises(KeyboardInterrupt):
            store.discard_volatile()
        monkeypatch.undo()
        queue = store.volatile.create_queue(b"V")
        queue.put(b"y")
        store.volatile.write_out()
        assert [queue.take(), queue.take()] == [b"y", None]


def test_what_is_discarded_after_a_clean_close_is_another_file_from_then_on(place: Path) -> None:
    for record in (b"one", b"two"):
        with Store(place) as store:
            store.discard_volatile()
            store.volatile.create_queue(b"V").put(record)
    with Store(place, readonly=True) as store:
        assert [queue.name for queue in store.volatile.queues()] == [b"V"]
        queue = store.volatile.queue(b"V")
        assert queue is not None
        assert queue.count == 1


# -- one writer, many readers -----------------------------------------------------------------------------------------


def test_only_one_process_writes(place: Path) -> None:
    with Store(place):
        code, _, errors = _child.run("Store(Path(sys.argv[1]))", place)
        assert code == 1
        assert "StoreInUse" in errors
        assert str(os.getpid()) in errors
        with pytest.raises(StoreInUse):
            Store(place)


def test_a_reader_sees_the_last_commit_and_is_told_that_volatile_records_cannot_be_seen(place: Path) -> None:
    with Store(place) as store:
        put(store, b"Q", b"one")
        store.volatile.create_queue(b"V").put(b"in memory")
        with _child.start(
            """
            store = Store(Path(sys.argv[1]), readonly=True)
            def look():
                queue = store.durable.queue(b"Q")
                print(queue.count, [entry.data.decode() for entry in queue.entries()], flush=True)
            print(store.closed_clean, store.volatile.queue(b"V"), flush=True)
            look()
            sys.stdin.readline()
            look()
            try:
                store.durable.queue(b"Q").work().put(b"x")
            except StoreError as error:
                print(error)
            """,
            place,
        ) as child:
            assert child.stdout is not None
            assert child.stdout.readline().split() == ["False", "None"]
            assert child.stdout.readline().strip() == "1 ['one']"
            put(store, b"Q", b"two")
            out, errors = child.communicate("go on\n", timeout=300)
            assert out.splitlines()[0] == "2 ['one', 'two']", errors
            assert "open for reading only" in out.splitlines()[1]
    with Store(place, readonly=True) as reader:
        assert reader.closed_clean
        queue = reader.volatile.queue(b"V")
        assert queue is not None
        assert [entry.data for entry in queue.entries()] == [b"in memory"]
        with pytest.raises(StoreError, match="reading only"):
            queue.take()


def test_looking_changes_no_file(place: Path) -> None:
    with Store(place) as store:
        put(store, b"Q", b"one")
    files = ("durable/data.mdb", "lock")
    before = [(place / name).read_bytes() for name in files]
    with Store(place, readonly=True) as reader:
        assert seen(reader, b"Q") == [b"one"]
    assert [(place / name).read_bytes() for name in files] == before


def test_who_may_only_read_can_look(place: Path) -> None:
    with Store(place) as store:
        put(store, b"Q", b"one")
    for where, _, files in os.walk(place):
        for name in files:
            Path(where, name).chmod(0o444)
        Path(where).chmod(0o555)
    code = """
    if os.getuid() == 0:
        for parent in reversed(Path(sys.argv[1]).parents):
            parent.chmod(parent.stat().st_mode | 0o555)
        Store().close()  # imports what the other user may be unable to reach
        os.setuid(65534)
    store = Store(Path(sys.argv[1]), readonly=True)
    print([entry.data.decode() for entry in store.durable.queue(b"Q").entries()])
    """
    try:
        status, out, errors = _child.run(code, place)
        assert (status, out.strip()) == (0, "['one']"), errors
    finally:
        for where, _, _ in os.walk(place):
            Path(where).chmod(0o755)


def test_the_child_of_a_fork_may_not_use_it(place: Path) -> None:
    code = """
    store = Store(Path(sys.argv[1]))
    queue = store.durable.create_queue(b"Q")
    work = queue.work(); work.put(b"one"); store.durable.commit((work,))
    pid = os.fork()
    if not pid:
        try:
            work = queue.work(); work.take(); store.durable.commit((work,))
        except StoreError as error:
            print(error, flush=True)
        store.close()
        os._exit(0)
    os.waitpid(pid, 0)
    try:
        Store(Path(sys.argv[1]))
    except StoreInUse:
        print("locked", flush=True)
    work = queue.work(); print(work.take()); store.durable.commit((work,)); store.close()
    """
    status, out, errors = _child.run(code, place)
    assert status == 0, errors
    assert "belongs to the process that opened it" in out
    assert out.splitlines()[1:] == ["locked", "b'one'"]


# -- what is refused --------------------------------------------------------------------------------------------------


def test_no_store_and_none_to_be_made(place: Path) -> None:
    with pytest.raises(StoreMissing):
        Store(place, create=False)
    with pytest.raises(StoreMissing):
        Store(place, readonly=True)
    assert not place.exists()


def test_files_that_are_no_store_are_refused_and_left_alone(place: Path) -> None:
    for kind in ("volatile", "durable"):
        (place / kind).mkdir(parents=True)
        (place / kind / "data.mdb").write_bytes(bytes(8192))
    (place / "lock").write_bytes(b"4711 boot\n")
    before = {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}
    for readonly in (False, True):
        with pytest.raises(StoreDamaged, match="meta pages"):
            Store(place, readonly=readonly)
    assert {path: path.read_bytes() for path in place.rglob("*") if path.is_file()} == before


def test_a_store_of_another_format_is_refused_by_name(place: Path) -> None:
    store = Store(place)
    store.durable.mark(lambda head, _: head._replace(format=99))
    store.close(clean=False)
    with pytest.raises(StoreVersionError, match=r"has format 99; this tdqsim reads format 1$"):
        Store(place)


def test_files_are_private(place: Path) -> None:
    before = os.umask(0)
    try:
        with Store(place, memory_bytes=1) as store:
            put(store, b"Q", b"one")
            store.volatile.create_queue(b"V").put(b"x")
            store.volatile.write_out()
    finally:
        os.umask(before)
    modes = {str(path.relative_to(place)): stat.S_IMODE(path.stat().st_mode) for path in [place, *place.rglob("*")]}
    assert {name for name, mode in modes.items() if mode & 0o077} == set()
    assert "volatile/data.mdb" in modes


@pytest.mark.parametrize("name", ["lock", "durable", "durable/data.mdb", "durable/lock.mdb"])
def test_symbolic_links_are_not_followed(place: Path, tmp_path: Path, name: str) -> None:
    with Store(place) as store:
        put(store, b"Q", b"one")
    target = tmp_path / "target"
    (place / name).rename(target)
    (place / name).symlink_to(target)
    before = target.read_bytes() if target.is_file() else b""
    with pytest.raises(StoreError, match=name.rpartition("/")[2]):
        Store(place)
    assert (target.read_bytes() if target.is_file() else b"") == before


@pytest.mark.parametrize("half", ["durable", "volatile"])
@pytest.mark.parametrize("what", ["link to a file", "link to nothing", "link to itself", "link to a directory", "file"])
def test_what_has_the_place_of_a_directory_is_refused_at_once(
    place: Path, tmp_path: Path, half: str, what: str
) -> None:
    with Store(place) as store:
        put(store, b"Q", b"one")
    other = tmp_path / "other"
    if half == "durable":
        (place / half).rename(tmp_path / "moved")
    if what == "file":
        (place / half).write_text("kept")
    else:
        target = {"link to itself": half, "link to nothing": "nowhere"}.get(what, str(other))
        (place / half).symlink_to(target)
        (other.mkdir if what.endswith("directory") else other.touch)()
    with pytest.raises(StoreError, match=rf"{half}: it is (a symbolic link|not a directory)"):
        Store(place)
    assert not other.is_dir() or list(other.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
@pytest.mark.parametrize("name", ["lock", "durable/data.mdb", "durable/lock.mdb"])
def test_a_named_pipe_is_refused_at_once(place: Path, name: str) -> None:
    Store(place).close()
    (place / name).unlink()
    os.mkfifo(place / name)
    with pytest.raises(StoreError, match=f"{name}: it is not a regular file"):
        Store(place)
    if name == "durable/data.mdb":
        (problem,) = storecheck.check(place).problems
        assert problem.endswith(f"{name}: it is not a regular file")


def test_a_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError, match="file"):
        Store(tmp_path / "file" / "store")


@pytest.mark.parametrize("sizes", [(1, 4, 0), (1, 100, 0), (1, 4, 100), (100, 4, 0)])
@pytest.mark.parametrize("order", Order)
def test_records_take_no_more_memory_than_the_store_allows(
    place: Path, order: Order, sizes: tuple[int, int, int]
) -> None:
    data, key, sender = sizes
    with Store(place, memory_bytes=20_000) as store:
        queue = store.volatile.create_queue(b"V", order, key if order is Order.KEYED else 0)
        for number in range(100):
            if order is Order.KEYED:
                queue.put_entry(Entry(bytes(data), number.to_bytes(key, "big"), bytes(sender)))
            else:
                queue.put(bytes(data))
            assert queue.memory_bytes() <= 20_000
        assert len(list(queue.entries())) == 100


def test_keys_with_several_entries_count_as_memory(place: Path) -> None:
    with Store(place, memory_bytes=100_000) as store:
        queue = store.volatile.create_queue(b"V", Order.KEYED, 4)
        for number in range(200):
            queue.put_entry(Entry(b"x", (number // 2).to_bytes(4, "big")))
        assert queue.memory_bytes() > 100 * 640
        assert queue.take_key(SearchOrder.EQ, bytes(4)) == Entry(b"x", bytes(4))
        assert queue.memory_bytes() < 200 * 160 + 99 * 640


@pytest.mark.parametrize("keys", [1, 9000])
def test_many_keyed_entries_are_moved_to_a_disk_that_has_little_more_room_than_they_need(
    place: Path, keys: int
) -> None:
    with Store(place, limit_bytes=48 << 20) as store:
        queue = store.volatile.create_queue(b"V", Order.KEYED, 4)
        for number in range(9000):
            queue.put_entry(Entry(b"%d" % number, (number % keys).to_bytes(4, "big")))
        store.volatile.write_out()
        assert store.volatile.disk.queue(b"V").count == 9000
        assert [entry.data for entry in queue.entries()] == [b"%d" % number for number in range(9000)]


def test_bad_arguments(place: Path) -> None:
    with pytest.raises(ValueError, match="'process' or 'power'"):
        Store(place, durability="none")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="1 or more"):
        Store(place, memory_bytes=0)
    assert not place.exists()


@pytest.mark.parametrize("make", [Store, lambda path: Region(store=path), lambda path: System(store=path)])
def test_an_empty_path_is_not_the_current_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Any) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=r"path '': it must name a directory"):
        make("")
    assert list(tmp_path.iterdir()) == []


def test_errors_of_lmdb_and_the_system_name_the_file(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reservation that the disk answers with an input error, and a commit that LMDB cannot write."""
    with Store(place) as store:
        put(store, b"Q", b"one")

        def broken(*_: object) -> None:
            raise OSError(5, "Input/output error")

        monkeypatch.setattr(os, "posix_fallocate", broken)
        work = store.durable.create_queue(b"R").work()
        with pytest.raises(StoreError, match=r"data\.mdb: it cannot grow: Input/output error"):  # noqa: PT012 - as often as it takes
            for _ in range(100):
                work.put(bytes(1_000_000))
        monkeypatch.undo()
        assert seen(store, b"Q") == [b"one"]


def with_both_files(place: Path, *records: bytes) -> None:
    with Store(place) as store:
        put(store, b"Q", *records)
        queue = store.volatile.queue(b"V") or store.volatile.create_queue(b"V")
        for record in records:
            queue.put(record)


@pytest.mark.parametrize("half", ["durable", "volatile"])
def test_files_that_were_not_closed_together_are_noticed(place: Path, half: str) -> None:
    with_both_files(place, b"one")
    old = (place / half / "data.mdb").read_bytes()
    with_both_files(place, b"two")
    (place / half / "data.mdb").write_bytes(old)
    with pytest.raises(StoreDamaged, match="volatile: the file has changed since the store was closed"):
        Store(place)


@pytest.mark.parametrize("half", ["durable", "volatile"])
def test_a_file_of_another_store_is_noticed(tmp_path: Path, half: str) -> None:
    for name in ("a", "b"):
        with_both_files(tmp_path / name, name.encode(), *[b"x"] * 5)
    (tmp_path / "b" / half / "data.mdb").rename(tmp_path / "a" / half / "data.mdb")
    with pytest.raises(StoreDamaged, match="belongs to another store"):
        Store(tmp_path / "a")


# -- room -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [pytest.param(100, marks=pytest.mark.slow), 1900, 5000])
def test_a_limit_refuses_before_anything_changes_and_an_emptied_store_can_be_filled_again(
    place: Path, size: int
) -> None:
    with Store(place, limit_bytes=6 << 20) as store:
        queue = store.durable.create_queue(b"Q")
        fills = []
        for _ in range(2 if size < 1000 else 4):
            put_ = 0
            with pytest.raises(StoreFull, match="it may have 6291456 bytes"):  # noqa: PT012 - as often as it takes
                while True:
                    work = queue.work()
                    work.put(b"%08d" % put_ + bytes(size))
                    store.durable.commit((work,))
                    put_ += 1
            assert store.durable.room_for(size)
            assert queue.count == put_
            fills.append(put_)
            for number in range(put_):
                work = queue.work()
                data = work.take()
                assert data is not None
                assert int(data[:8]) == number
                store.durable.commit((work,), {b"last": data[:8]})
        assert min(fills) * size > 500_000
        assert (place / "durable" / "data.mdb").stat().st_size <= 6 << 20
        put(store, b"Q", b"x")
        assert store.durable.room_for(size) == ""


def test_what_works_hold_is_counted_until_they_are_thrown_away(place: Path) -> None:
    with Store(place, limit_bytes=8 << 20) as store:
        queue = store.durable.create_queue(b"Q")
        works = []
        with pytest.raises(StoreFull):  # noqa: PT012 - as often as it takes
            while True:
                works.append(queue.work())
                works[-1].put(bytes(100_000))
        many = len(works)
        works.clear()
        work = queue.work()
        for _ in range(many - 2):
            work.put(bytes(100_000))
        store.durable.commit((work,))
        assert queue.count == many - 2


def test_the_room_of_what_was_cleared_is_found_again(place: Path) -> None:
    with Store(place, limit_bytes=8 << 20) as store:
        for _ in range(5):
            queue = store.durable.create_queue(b"Q")
            with pytest.raises(StoreFull):  # noqa: PT012 - as often as it takes
                for _ in range(100_000):
                    work = queue.work()
                    for _ in range(20):
                        work.put(bytes(500))
                    store.durable.commit((work,))
            assert queue.count * 500 > 1_000_000
            store.durable.drop(queue)


def test_a_fault_is_called_where_it_can_break_things(place: Path) -> None:
    steps: list[str] = []
    with Store(place) as store:
        store.durable.fault = steps.append
        work = store.durable.create_queue(b"Q").work()
        for _ in range(10):
            work.put(bytes(1_000_000))
        store.durable.commit((work,))
    assert steps[-2:] == ["before_commit", "after_commit"]
    assert "grow" in steps


def test_the_room_of_long_records_that_were_cleared_is_found_again(place: Path) -> None:
    with Store(place) as store:
        put(store, b"Q", b"short")
        records = store.durable.statistics()["records"]
        put(store, b"Q", *[bytes(100_000)] * 5)
        assert store.durable.statistics()["records"] > records + 5
        work = store.durable.have_queue(b"Q").work()
        assert work.clear() == 6
        store.durable.commit((work,))
        for _ in range(3):
            store.durable.commit(meta={b"x": b"any commit"})
        assert store.durable.statistics()["records"] == records  # one record less, and the meta data


def test_numbers_of_many_records_cost_no_more(place: Path) -> None:
    """A queue of two hundred thousand records is counted, looked into and cleared without a walk over it."""
    with Store(place) as store:
        queue = store.durable.create_queue(b"Q")
        work = queue.work()
        for number in range(200_000):
            work.put(b"%d" % number)
        store.durable.commit((work,))
        assert queue.count == 200_000
        entry = queue.peek(150_000)
        assert entry is not None
        assert entry.data == b"150000"
        records = store.durable.statistics()["records"]
        work = queue.work()
        assert work.clear() == 200_000
        store.durable.commit((work,))
        assert store.durable.statistics()["records"] > records - 100
        while store.durable.statistics()["records"] > 10:
            put(store, b"Q", b"x")
            work = queue.work()
            work.take()
            store.durable.commit((work,))


def test_damage_that_lmdb_meets_in_writing_is_told_with_the_files_name(tmp_path: Path) -> None:
    """A page of the tree becomes none while the store is open."""
    store = Store(tmp_path / "store")
    store.durable.commit(meta={b"key": b"value"})
    file = tmp_path / "store" / "durable" / "data.mdb"
    with file.open("r+b") as damaged:
        for page in range(2, file.stat().st_size // 4096):
            damaged.seek(page * 4096 + 10)
            damaged.write(bytes(2))  # the flags that say what a page is
    try:
        with pytest.raises(StoreDamaged, match=r"durable/data\.mdb: the commit was not made"):
            store.clear({b"key": b"value"})
        with pytest.raises(StoreDamaged, match=r"durable/data\.mdb: the commit was not made"):
            store.durable.commit(meta={b"key": b"another"})
    finally:
        store.close(clean=False)


# -- positions --------------------------------------------------------------------------------------------------------


def test_a_position_in_a_keyed_queue_is_found_from_either_end_and_from_the_last_one(place: Path) -> None:
    keys = [b"%03d" % (each % 1000) for each in range(25_000)]
    with Store(place) as store:
        queue = store.durable.create_queue(b"K", Order.KEYED, 3)
        work = queue.work()
        work.put_many([Entry(b"%d" % number, key) for number, key in enumerate(keys)])
        store.durable.commit((work,))
        whole = [entry.data for entry in queue.entries()]
        assert whole == [b"%d" % number for number in sorted(range(25_000), key=lambda each: (keys[each], each))]
        pauses: list[None] = []
        for skip in (0, 1, 12_499, 12_600, 12_400, 24_998, 24_999, 25_000, 30_000):
            for reverse, wanted in ((False, whole), (True, whole[::-1])):
                found = queue.entries(reverse=reverse, skip=skip, limit=3, pause=lambda: pauses.append(None))
                assert [entry.data for entry in found] == wanted[skip : skip + 3], (skip, reverse)
        assert pauses
        assert [list(queue.entries(reverse=True, skip=skip)) for skip in (25_009, 25_008)] == [[], []]
        work = queue.work()
        work.take_entry()
        store.durable.commit((work,))
        assert [entry.data for entry in queue.entries(skip=12_599, limit=1)] == [whole[12_600]]
        for search, chosen in ((SearchOrder.GE, whole[24_975:]), (SearchOrder.NE, whole[1:24_975] + whole[25_000:])):
            found = queue.search(search, b"999", skip=20)
            assert [entry.data for entry in found] == chosen[20:]


def test_takes_by_key_see_what_other_works_commit_between_them(place: Path) -> None:
    with Store(place) as store:
        queue = store.durable.create_queue(b"K", Order.KEYED, 1)

        def put(*keys: bytes) -> None:
            work = queue.work()
            work.put_many([Entry(b"data", key) for key in keys])
            store.durable.commit((work,))

        put(b"3", b"5", b"7", b"8")
        work = queue.work()

        def taken() -> bytes | None:
            entry = work.take_key(SearchOrder.GE, b"0")
            return entry and entry.key

        assert [taken(), taken()] == [b"3", b"5"]
        put(b"1", b"4", b"6")
        assert [taken() for _ in range(6)] == [b"1", b"4", b"6", b"7", b"8", None]


def test_a_take_by_key_finds_what_those_before_it_left_out(place: Path) -> None:
    with Store(place) as store:
        queue = store.durable.create_queue(b"K", Order.KEYED, 1)
        work = queue.work()
        work.put_many([Entry(b"data", b"%d" % number) for number in range(10)])
        store.durable.commit((work,))
        work = queue.work()
        for search, asked, wanted in (
            ("EQ", 0, 0), ("EQ", 1, 1), ("EQ", 2, 2), ("EQ", 3, 3), ("EQ", 6, 6), ("GE", 3, 4), ("GT", 3, 5),
            ("LT", 9, 7), ("NE", 8, 9), ("GE", 0, 8), ("GE", 0, None),
        ):  # fmt: skip
            taken = work.take_key(SearchOrder[search], b"%d" % asked)
            assert (taken and int(taken.key)) == wanted, (search, asked)


def test_takes_in_key_order_read_one_long_entry_at_a_time(place: Path) -> None:
    with Store(place) as store:
        queue = store.durable.create_queue(b"K", Order.KEYED, 1)
        work = queue.work()
        work.put_many([Entry(bytes(1_000_000), b"%d" % number) for number in range(10)])
        store.durable.commit((work,))
        del work
        work = queue.work()
        tracemalloc.start()
        try:
            for _ in range(5):
                assert work.take() == bytes(1_000_000)
            assert tracemalloc.get_traced_memory()[1] < 5_000_000
        finally:
            tracemalloc.stop()


def test_changes_of_a_keyed_queue_beyond_memory_share_commits(place: Path) -> None:
    """2,000 entries, then 1,000 pairs of their keys, a drain of 1,500 by GE, and a CLEAR by key: few commits."""
    with Store(place, memory_bytes=20_000) as store:
        queue = store.volatile.create_queue(b"K", Order.KEYED, 4)
        for number in range(2000):
            queue.put_entry(Entry(b"old", number.to_bytes(4, "big")))
        disk = store.volatile.disk
        before = disk.commits
        for number in range(1000):
            key = (number * 7 % 2000).to_bytes(4, "big")
            queue.put_entry(Entry(b"new", key))
            oldest = queue.take_key(SearchOrder.EQ, key)
            assert oldest is not None
            assert oldest.data == b"old"
        drained = [queue.take_key(SearchOrder.GE, bytes(4)) for _ in range(1500)]
        assert [int.from_bytes(entry.key, "big") for entry in drained if entry is not None] == list(range(1500))
        assert queue.count == 500
        assert queue.clear_keys(SearchOrder.LT, (1900).to_bytes(4, "big")) == 400
        assert [entry.key for entry in queue.entries()] == [number.to_bytes(4, "big") for number in range(1900, 2000)]
        assert disk.commits - before < 120


def test_puts_beyond_memory_share_more_commits_than_takes(place: Path) -> None:
    with Store(place, memory_bytes=1 << 20) as store:
        queue = store.volatile.create_queue(b"K", Order.KEYED, 4)
        for number in range(24_000):
            queue.put_entry(Entry(b"new", (number * 7 % 24_000).to_bytes(4, "big")))
        assert store.volatile.disk.commits < 20
        assert queue.count == 24_000
        steps: list[str] = []
        sys.setprofile(lambda _frame, event, _what: steps.append(event))
        first, found = [*queue.entries(limit=1)], next(queue.search(SearchOrder.GE, bytes(4)))
        sys.setprofile(None)
        assert first == [found] == [Entry(b"new", bytes(4))]
        assert len(steps) < 60_000  # most of them read ahead on the disk, and some thousand entries are in memory
        assert queue.take_key(SearchOrder.EQ, (7).to_bytes(4, "big")) == Entry(b"new", (7).to_bytes(4, "big"))


@pytest.mark.parametrize("order", list(Order))
def test_what_is_put_back_on_a_queue_beyond_memory_is_the_next_one_taken(place: Path, order: Order) -> None:
    keyed = order is Order.KEYED
    with Store(place, memory_bytes=20_000) as store:
        queue = store.volatile.create_queue(b"Q", order, 2 if keyed else 0)
        for number in range(1000):
            data = b"%03d" % number
            queue.put_entry(Entry(data, data[:2])) if keyed else queue.put(data)
        assert store.volatile.overflowed
        for turn in range(3):
            taken = [queue.take_entry() for _ in range(15)]
            wanted = range(15) if order is not Order.LIFO else range(999, 984, -1)
            assert [entry.data for entry in taken if entry is not None] == [b"%03d" % number for number in wanted], turn
            for entry in reversed(taken):
                assert entry is not None
                queue.put_back(entry if keyed else entry.data)
        assert (queue.count, queue.data_bytes) == (1000, 3000)
        places = [0, 14, 15, 500, 997, 999, 1000]
        found = [[int(entry.data) for entry in queue.entries(skip=place, limit=2)] for place in places]
        upward = [[0, 1], [14, 15], [15, 16], [500, 501], [997, 998], [999], []]
        assert found == (upward if order is not Order.LIFO else [[999 - one for one in each] for each in upward])


def test_a_keyed_queue_in_memory_after_entries_were_put_back_and_after_a_clear(place: Path) -> None:
    with Store(place) as store:
        queue = store.volatile.create_queue(b"K", Order.KEYED, 1)
        first, second, third = (Entry(data, b"a") for data in (b"1", b"2", b"3"))
        for entry in (first, second, third):
            queue.put_entry(entry)
        assert [queue.take_entry(), queue.take_entry()] == [first, second]
        queue.put_back(second)  # before a single entry
        queue.put_back(first)  # before several
        assert list(queue.entries()) == [first, second, third]
        assert queue.clear() == 3
        queue.put_entry(Entry(b"4", b"b"))
        assert queue.take_entry() == Entry(b"4", b"b")


@pytest.mark.parametrize("clean", [True, False])
def test_entries_of_a_keyed_queue_outlive_a_clear_of_those_that_were_beyond_memory(place: Path, clean: bool) -> None:
    store = Store(place, memory_bytes=20_000)
    queue = store.volatile.create_queue(b"K", Order.KEYED, 3)
    for number in range(1000):
        queue.put_entry(Entry(b"old", b"%03d" % number))
    assert queue.take_entry() == Entry(b"old", b"000")
    assert queue.clear() == 999
    queue.put_entry(Entry(b"new", b"abc"))
    store.volatile.write_out()
    store.close(clean=clean)
    with Store(place) as store:
        again = store.volatile.queue(b"K")
        assert again is not None
        assert list(again.entries()) == [Entry(b"new", b"abc")]


def test_a_look_at_a_keyed_queue_shows_nothing_that_comes_or_is_cleared_meanwhile(place: Path) -> None:
    with Store(place, memory_bytes=20_000) as store:
        queue = store.volatile.create_queue(b"K", Order.KEYED, 4)
        for number in range(1000):
            queue.put_entry(Entry(b"old", b"%04d" % number))
        queue.put_entry(Entry(b"last", b"last"))
        look = queue.entries()
        assert next(look) == Entry(b"old", b"0000")
        for number in range(2000):  # moves what was in memory to the disk
            queue.put_entry(Entry(b"new", b"z%03d" % (number % 1000)))
        assert [entry.key for entry in look] == [*(b"%04d" % number for number in range(1, 1000)), b"last"]
        durable = store.durable.create_queue(b"D", Order.KEYED, 4)
        work = durable.work()
        for number in range(1000):
            work.put_entry(Entry(b"old", b"%04d" % number))
        store.durable.commit((work,))
        look = durable.entries()
        assert next(look) == Entry(b"old", b"0000")
        work = durable.work()
        work.clear()
        store.durable.commit((work,))
        assert len(list(look)) < 300  # those that had been read


def test_what_a_work_has_read_of_its_own_is_not_read_again_in_place_of_another_record(place: Path) -> None:
    long = b"long " * 1000
    with Store(place) as store:
        put(store, b"Q", b"short")
        queue = store.durable.queue(b"Q")
        assert queue is not None
        assert queue.work().take() == b"short"  # reads ahead
        put(store, b"Q", long)
        work = queue.work()
        work.put(b"own")
        assert work.take_own() == b"own"
        store.durable.commit((work,))
        work = queue.work()
        assert [work.take(), work.take(), work.take()] == [b"short", long, None]
        for data in (b"1", b"2"):
            work.put(data)
        assert work.take_own() == b"1"
        assert work.clear() == 1


def test_a_note_is_written_once_and_gives_way_to_newer_meta_data(place: Path) -> None:
    with Store(place) as store:
        durable = store.durable
        durable.notes[b"count"] = b"1"
        durable.commit(meta={b"count": b"2"})
        assert durable.get_meta(b"count") == b"2"
        durable.notes[b"count"] = b"3"
        durable.commit(meta={b"other": b"x"})
        assert durable.get_meta(b"count") == b"3"
        durable.commit(meta={b"count": b"4"})
        durable.commit(meta={b"other": b"y"})
        assert durable.get_meta(b"count") == b"4"


def test_a_queue_is_the_same_object_before_and_after_all_queues_are_listed(place: Path) -> None:
    with Store(place) as store:
        put(store, b"A", b"one")
        put(store, b"B", b"two")
    with Store(place) as store:
        first = store.durable.queue(b"B")
        listed = list(store.durable.queues())
        assert [queue.name for queue in listed] == [b"A", b"B"]
        assert listed[1] is first is store.durable.queue(b"B")
