"""A store as a whole: opening, closing, who may use it, what survives."""

from __future__ import annotations

import os
import shutil
import warnings
from itertools import pairwise
from pathlib import Path

import pytest

from tdqsim.core.store import Order, Store
from tdqsim.errors import StoreDamaged, StoreError, StoreFull, StoreInUse, StoreMissing, StoreVersionError, WrongThread
from tests.core import _child


def fill(store: Store) -> None:
    for environment in (store.volatile, store.durable):
        queue = environment.create_queue(b"Q")
        for data in (b"a", b"b", b"c"):
            queue.put(data)
        environment.put_meta(b"key", b"value")
        environment.commit()


def contents(store: Store) -> list[list[bytes]]:
    queues = [environment.queue(b"Q") for environment in (store.volatile, store.durable)]
    return [[] if queue is None else [entry.data for entry in queue.entries()] for queue in queues]


FULL = [[b"a", b"b", b"c"], [b"a", b"b", b"c"]]


def test_a_new_store_is_created_and_was_closed_clean(place):
    with Store(place) as store:
        assert (store.created, store.closed_clean) == (True, True)
    with Store(place) as store:
        assert (store.created, store.closed_clean) == (False, True)


def test_what_was_put_is_there_after_a_clean_close(place):
    with Store(place) as store:
        fill(store)
        store.volatile.queue(b"Q").put(b"not yet committed")
    with Store(place) as store:
        assert contents(store) == [[*FULL[0], b"not yet committed"], FULL[1]]
        assert store.durable.get_meta(b"key") == b"value"


def test_an_unclean_end_is_noticed_and_loses_what_was_not_committed(place):
    store = Store(place)
    fill(store)
    store.durable.queue(b"Q").put(b"lost")
    store.durable.create_queue(b"LOST")
    store.close(clean=False)
    with Store(place) as store:
        assert (store.created, store.closed_clean) == (False, False)
        assert contents(store) == FULL
        assert store.durable.queue(b"LOST") is None
    with Store(place) as store:
        assert store.closed_clean


def test_discard_volatile_leaves_the_durable_data(place):
    with Store(place) as store:
        fill(store)
        old = store.volatile.queue(b"Q")
        store.discard_volatile()
        assert contents(store) == [[], FULL[1]]
        assert list(store.volatile.queues()) == []
        assert store.volatile.get_meta(b"key") is None
        with pytest.raises(StoreError, match="dropped"):
            old.put(b"x")
        store.volatile.create_queue(b"Q").put(b"new")
    with Store(place) as store:
        assert contents(store) == [[b"new"], FULL[1]]


def test_clear_leaves_nothing(place):
    with Store(place) as store:
        fill(store)
        store.clear()
        assert contents(store) == [[], []]
    with Store(place) as store:
        assert contents(store) == [[], []]


def test_a_temporary_store_goes_at_close_and_two_never_meet():
    with Store() as one, Store() as two:
        fill(one)
        assert contents(two) == [[], []]
        paths = [one.path, two.path]
        assert all(path.is_dir() for path in paths)
    assert not any(path.exists() for path in paths)


def test_a_temporary_store_goes_at_exit():
    code, out, err = _child.run("store = Store(); store.volatile.create_queue(b'Q').put(b'x'); print(store.path)")
    assert (code, err) == (0, "")
    assert not Path(out.strip()).exists()


def test_a_missing_store_is_said_to_be_missing_and_nothing_is_made(place):
    for options in ({"create": False}, {"readonly": True}):
        with pytest.raises(StoreMissing, match="no store"):
            Store(place, **options)
    assert not place.exists()


def test_arguments_are_checked(place):
    with pytest.raises(ValueError, match="durability 'disk'"):
        Store(place, durability="disk")
    place.write_text("a file")
    with pytest.raises(StoreError, match="directory of the store"):
        Store(place)


def test_a_second_user_is_refused_by_process_id(place):
    with Store(place):
        with pytest.raises(StoreInUse) as refused:
            Store(place)
        assert refused.value.pid == os.getpid()
        code, out, _ = _child.run(
            """
            try:
                Store(Path(sys.argv[1]))
            except StoreInUse as error:
                print(error.pid)
            """,
            place,
        )
        assert (code, out.strip()) == (0, str(os.getpid()))


def test_a_lock_file_left_behind_locks_nobody_out(place):
    Store(place).close()
    (place / "lock").write_text(f"{os.getpid()} \n")
    Store(place).close()
    (place / "lock").write_bytes(b"\xff" * 100)
    Store(place).close()


def test_a_killed_user_locks_nobody_out(place):
    code, _, _ = _child.run("store = Store(Path(sys.argv[1])); os.kill(os.getpid(), signal.SIGKILL)", place)
    assert code == -9
    with Store(place) as store:
        assert not store.closed_clean


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_is_refused_and_does_no_harm(place):
    with Store(place) as store:
        fill(store)
        queue = store.durable.queue(b"Q")
        queue.put(b"of the parent")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if not child:
            refused = 0
            for call in (lambda: queue.put(b"y"), queue.take, store.durable.commit, lambda: store.volatile.queue(b"Z")):
                try:
                    call()
                except WrongThread:
                    refused += 1
            store.close()
            os._exit(refused)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 4
        assert queue.count == 4
        with pytest.raises(StoreInUse):
            Store(place)
        store.durable.commit()
        assert contents(store)[1] == [*FULL[1], b"of the parent"]


def test_a_reader_in_another_process_sees_the_last_commit(place):
    with Store(place) as store:
        fill(store)
        store.durable.queue(b"Q").put(b"not committed")
        code = """
        store = Store(Path(sys.argv[1]), readonly=True)
        queue = store.durable.queue(b"Q")
        print(queue.count, queue.first_seq, [entry.data for entry in queue.entries()], queue.peek().data)
        print(store.durable.get_meta(b"key"), [queue.name for queue in store.durable.queues()])
        print(store.durable.age(store.durable.last_commit_ns + 5_000_000_000))
        for call in (lambda: queue.put(b"x"), queue.take, lambda: store.durable.create_queue(b"R"),
                     lambda: store.durable.put_meta(b"k", b""), queue.clear):
            try:
                call()
            except StoreError as error:
                print("reading only" in str(error))
        sys.stdout.flush()
        sys.stdin.readline()
        print(store.durable.queue(b"Q").count)
        store.close()
        """
        with _child.start(code, place) as child:
            lines = [child.stdout.readline().strip() for _ in range(8)]
            store.durable.commit()
            out, err = child.communicate("go on\n", timeout=60)
        assert lines == ["3 1 [b'a', b'b', b'c'] b'a'", "b'value' [b'Q']", "5.0", *["True"] * 5]
        assert (out.strip(), err) == ("4", "")
        assert contents(store)[1] == [*FULL[1], b"not committed"]


def test_abort_undoes_everything_since_the_last_commit(store):
    env = store.durable
    kept = env.create_queue(b"KEPT")
    kept.put(b"1", seq=5)
    gone = env.create_queue(b"GONE", order=Order.LIFO)
    gone.put(b"2")
    env.commit()
    kept.put(b"x")
    kept.take()
    kept.clear()
    env.drop_queue(b"GONE")
    again = env.create_queue(b"GONE")
    new = env.create_queue(b"NEW")
    env.put_meta(b"m", b"n")
    env.abort()
    assert not env.dirty
    assert (kept.count, kept.data_bytes, kept.first_seq, kept.last_seq) == (1, 1, 5, 5)
    assert env.queue(b"GONE") is gone
    assert (gone.count, gone.take()) == (1, b"2")
    assert env.queue(b"NEW") is None
    assert env.get_meta(b"m") is None
    for lost in (again, new):
        with pytest.raises(StoreError, match="dropped"):
            lost.put(b"x")
    assert kept.take() == b"1"


def test_the_volatile_environment_cannot_be_aborted(store):
    with pytest.raises(StoreError, match="nothing can be undone"):
        store.volatile.abort()


def test_a_commit_covers_many_queues_at_once(place):
    store = Store(place)
    commits = []
    store.durable.fault = commits.append
    queues = [store.durable.create_queue(b"Q%d" % number) for number in range(50)]
    for queue in queues:
        queue.put(b"x")
    store.durable.commit()
    assert commits.count("after_commit") == 1
    store.close(clean=False)
    with Store(place) as store:
        assert [queue.count for queue in store.durable.queues()] == [1] * 50


def test_the_volatile_environment_commits_itself(place):
    store = Store(place)
    queue = store.volatile.create_queue(b"Q")
    for number in range(10_000):
        queue.put(b"%d" % number)
    store.close(clean=False)
    with Store(place) as store:
        there = store.volatile.queue(b"Q").count
        assert 8_000 < there < 10_000
        assert [entry.seq for entry in store.volatile.queue(b"Q").entries()] == list(range(1, there + 1))


def test_cleared_entries_are_reclaimed_bit_by_bit_also_after_reopening(place):
    store = Store(place)
    queue = store.durable.create_queue(b"Q")
    for _ in range(5_000):
        queue.put(b"x" * 100)
    store.durable.commit()
    queue.clear()
    store.durable.commit()
    store.close(clean=False)
    records = []
    with Store(place) as store:
        queue = store.durable.queue(b"Q")
        for _ in range(20):
            queue.put(b"y")
            store.durable.commit()
            records.append(store.durable.statistics()["records"])
        assert records[0] > 2000
        assert records[-1] < 30
        assert all(before - after < 700 for before, after in pairwise(records))
        assert [entry.data for entry in queue.entries()] == [b"y"] * 20


def test_a_store_of_a_newer_format_is_refused(place, monkeypatch):
    monkeypatch.setattr("tdqsim.core.store._opening.FORMAT", 3)
    Store(place).close()
    monkeypatch.undo()
    with pytest.raises(StoreVersionError, match="format 3; this tdqsim reads up to 2"):
        Store(place)


def test_swapped_files_are_refused(place, tmp_path):
    with Store(place) as store:
        fill(store)
    other = tmp_path / "other"
    Store(other).close()
    for kind in ("volatile", "durable"):
        copy = tmp_path / f"copy-{kind}"
        shutil.copytree(place, copy)
        shutil.copy(other / kind / "data.mdb", copy / kind / "data.mdb")
        with pytest.raises(StoreDamaged, match="different stores"):
            Store(copy)
    copy = tmp_path / "copy"
    shutil.copytree(place, copy)
    shutil.copy(place / "volatile" / "data.mdb", copy / "durable" / "data.mdb")
    with pytest.raises(StoreDamaged, match="swapped"):
        Store(copy)


def test_an_older_half_is_refused_after_a_clean_close(place, tmp_path):
    Store(place).close()
    shutil.copy(place / "volatile" / "data.mdb", tmp_path / "old")
    with Store(place) as store:
        fill(store)
    shutil.copy(tmp_path / "old", place / "volatile" / "data.mdb")
    with pytest.raises(StoreDamaged, match="older than the other"):
        Store(place)


def test_after_the_machine_stopped_the_volatile_data_is_given_up(place):
    store = Store(place)
    fill(store)
    store.close(clean=False)
    (place / "lock").write_text("1 another-boot\n")
    with Store(place) as store:
        assert not store.closed_clean
        assert contents(store) == [[], FULL[1]]


def test_a_store_that_was_killed_while_it_was_made_is_made_again(place):
    Store(place).close()
    (place / "durable").rename(place / "durable.new")
    with Store(place) as store:
        assert store.created
        fill(store)


def test_a_store_with_one_half_missing_is_damaged(place):
    for kind in ("volatile", "durable"):
        Store(place).close()
        shutil.rmtree(place / kind)
        with pytest.raises(StoreDamaged, match="missing"):
            Store(place)
        shutil.rmtree(place)


# -- room -------------------------------------------------------------------------------------------------------------


def forever(call) -> None:
    """Call until it raises."""
    while True:
        call()


@pytest.mark.parametrize("size", [100, 1900, 4096, 64512])
@pytest.mark.parametrize("half", ["volatile", "durable"])
def test_a_full_store_refuses_and_loses_nothing_and_works_again(place, half, size):
    with Store(place, limit_bytes=2 * 2**20) as store:
        env = getattr(store, half)
        queue = env.create_queue(b"Q")
        for _ in range(3):
            put = 0

            def one_more() -> None:
                nonlocal put
                queue.put(b"%08d" % put + b"x" * size)
                put += 1
                if put % 50 == 0:
                    env.commit()

            with pytest.raises(StoreFull, match="no room"):
                forever(one_more)
            assert put * (size + 60) > 2**16
            assert queue.count == put
            env.commit()
            for number in range(put):
                assert queue.take()[:8] == b"%08d" % number
                if number % 8 == 0:
                    env.commit()
            assert queue.take() is None
            env.commit()
        assert (place / half / "data.mdb").stat().st_size <= 2 * 2**20


def test_a_full_store_keeps_everything_after_reopening(place):
    with Store(place, limit_bytes=2 * 2**20) as store:
        queue = store.durable.create_queue(b"Q")
        with pytest.raises(StoreFull):
            forever(lambda: queue.put(b"x" * 1000))
        count = queue.count
        store.durable.commit()
    with Store(place, limit_bytes=2 * 2**20) as store:
        assert sum(1 for _ in store.durable.queue(b"Q").entries()) == count
    with Store(place) as store:
        store.durable.queue(b"Q").put(b"room again")


def test_reserved_room_is_there_when_it_is_needed(place):
    with Store(place, limit_bytes=3 * 2**20) as store:
        env = store.durable
        queue = env.create_queue(b"Q")
        other = env.create_queue(b"OTHER")
        env.commit()
        reserved = 0

        def reserve() -> None:
            nonlocal reserved
            env.reserve(5000)
            reserved += 1

        with pytest.raises(StoreFull):
            forever(reserve)
        assert reserved > 50

        def put_other() -> None:
            other.put(b"y" * 3000)
            env.commit()

        with pytest.raises(StoreFull):
            forever(put_other)
        for _ in range(reserved):
            env.release(5000)
            queue.put(b"x" * 5000)
        env.commit()
        assert queue.count == reserved
        with pytest.raises(ValueError, match="only 0 for 0 puts are reserved"):
            env.release(1)


# -- SIGKILL ----------------------------------------------------------------------------------------------------------

KILLED = """
import random
random.seed(int(sys.argv[2]))
store = Store(Path(sys.argv[1]))
env = store.durable
names = [b"A", b"B", b"C"]
queues = [env.queue(name) or env.create_queue(name) for name in names]
die_at = random.randrange(1, 120)
where = random.choice(["before_commit", "after_commit", "grow", "inside"])
count = 0
def fault(point):
    global count
    count += 1
    if count >= die_at and point == where:
        os.kill(os.getpid(), signal.SIGKILL)
env.fault = fault
number = int(env.get_meta(b"number") or 0)
for turn in range(400):
    number += 1
    size = random.choice([10, 100, 3000, 50000])
    for queue in queues:
        queue.put(b"%d " % number + b"x" * size)
        if queue.count > 20:
            queue.take()
            queue.take()
    env.put_meta(b"number", b"%d" % number)
    store.volatile.put_meta(b"n", b"x" * size)
    if where == "inside" and turn == die_at:
        os.kill(os.getpid(), signal.SIGKILL)
    env.commit()
    os.write(1, b"%d\\n" % number)
os.kill(os.getpid(), signal.SIGKILL)
"""


def check_killed(place: Path, last: int) -> int:
    with Store(place) as store:
        assert not store.closed_clean
        number = int(store.durable.get_meta(b"number") or 0)
        assert number in (last, last + 1), "a commit that was reported is lost"
        for name in (b"A", b"B", b"C"):
            queue = store.durable.queue(name)
            found = [int(entry.data.split()[0]) for entry in queue.entries()] if queue is not None else []
            assert found == list(range(number - len(found) + 1, number + 1))
            assert queue is None or queue.count == len(found)
            assert queue is None or queue.data_bytes == sum(len(entry.data) for entry in queue.entries())
        return number


def kill_and_check(place: Path, seeds: range) -> None:
    last = 0
    for seed in seeds:
        code, out, err = _child.run(KILLED, place, seed)
        assert (code, err) == (-9, "")
        last = check_killed(place, int(out.split()[-1]) if out else last)
        with Store(place) as store:
            if store.durable.queue(b"A") is None:
                last = 0


def test_a_process_killed_at_any_point_loses_no_commit(place):
    kill_and_check(place, range(8))


@pytest.mark.slow
def test_a_thousand_processes_killed_at_any_point_lose_no_commit(place):
    kill_and_check(place, range(1000))
