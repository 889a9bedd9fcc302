"""The journal of the durable environment: commits that LMDB has not made yet, read by others and after a kill."""

from __future__ import annotations

import random
import shutil
import signal
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from zlib import crc32

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tdqsim.core.store import Entry, Moves, Order, SearchOrder, Store, StoredQueue
from tdqsim.core.store.check import check
from tdqsim.errors import StoreDamaged, StoreError

KEYS = (b"a", b"b", b"c")
HEAD = 64
"""Bytes of the journal in front of its first frame; its end says how far the frames go."""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "store"


def journal(place: Path) -> Path:
    return place / "durable" / "journal"


def tree(place: Path) -> bytes:
    return (place / "durable" / "data.mdb").read_bytes()


def data(store: Store, name: bytes = b"Q") -> list[bytes]:
    queue = store.durable.queue(name)
    assert queue is not None
    found = [entry.data for entry in queue.entries()]
    assert queue.count == len(found)
    assert queue.data_bytes == sum(map(len, found))
    return found


def started(place: Path, records: int = 3) -> tuple[Store, StoredQueue]:
    """A store whose queue is in LMDB, empty, and has then got records, a commit each."""
    store = Store(place)
    queue = store.durable.create_queue(b"Q")
    store.durable.commit()
    for number in range(records):
        queue.put(b"record %d" % number)
        store.durable.commit()
    return store, queue


def killed(store: Store, place: Path, target: Path) -> Path:
    """The store as a process that is killed now leaves it."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(place, target)
    return target


def test_commits_reach_the_journal_and_not_the_tree(place, tmp_path):
    store, queue = started(place, 0)
    before = tree(place)
    queue.put(b"one")
    queue.put(b"two")
    store.durable.commit()
    queue.take()
    store.durable.commit()
    assert tree(place) == before
    with Store(killed(store, place, tmp_path / "copy")) as again:
        assert not again.closed_clean
        assert data(again) == [b"two"]
        assert again.durable.queue(b"Q").last_seq == 2
    store.close()
    with Store(place) as again:
        assert data(again) == [b"two"]


def test_what_is_not_committed_is_not_in_it(place, tmp_path):
    store, queue = started(place)
    queue.put(b"not committed")
    with Store(killed(store, place, tmp_path / "copy")) as again:
        assert data(again) == [b"record 0", b"record 1", b"record 2"]
    store.close(clean=False)


def test_more_than_the_journal_holds_goes_on_in_the_tree(place, tmp_path):
    store, queue = started(place, 0)
    for number in range(3000):
        queue.put(b"%d" % number + b"x" * 200)
        store.durable.commit()
        if number % 3:
            queue.take()
            store.durable.commit()
    expected = data(store)
    assert len(expected) == 1000
    with Store(killed(store, place, tmp_path / "copy")) as again:
        assert data(again) == expected
    store.close(clean=False)


@pytest.mark.parametrize("size", [255, 256, 1900, 5000, 300_000])
def test_records_of_any_length(place, tmp_path, size):
    store, queue = started(place, 1)
    queue.put(b"x" * size, b"", b"sender")
    store.durable.put_meta(b"key", b"y" * size)
    store.durable.commit()
    with Store(killed(store, place, tmp_path / "copy")) as again:
        assert data(again) == [b"record 0", b"x" * size]
        assert list(again.durable.queue(b"Q").entries())[1].sender == b"sender"
        assert again.durable.get_meta(b"key") == b"y" * size
    store.close(clean=False)


def test_a_commit_of_very_many_changes(place, tmp_path):
    store, queue = started(place, 1)
    for number in range(20_000):
        queue.put(b"%d" % number)
    store.durable.commit()
    with Store(killed(store, place, tmp_path / "copy")) as again:
        assert len(data(again)) == 20_001
    store.close(clean=False)


def test_abort_goes_back_to_the_last_commit_in_the_journal(place):
    store, queue = started(place)
    for _ in range(2):
        queue.take()
        queue.put(b"undone")
        store.durable.put_meta(b"undone", b"1")
        store.durable.create_queue(b"UNDONE").put(b"1")
        store.durable.abort()
        assert data(store) == [b"record 0", b"record 1", b"record 2"]
        assert store.durable.get_meta(b"undone") is None
        assert store.durable.queue(b"UNDONE") is None
    assert queue.put(b"record 3") == 4
    store.durable.commit()
    store.close()
    with Store(place) as store:
        assert data(store) == [b"record %d" % number for number in range(4)]


def test_queues_made_cleared_and_dropped_between_short_commits(place, tmp_path):
    store, queue = started(place)
    other = store.durable.create_queue(b"OTHER")
    other.put(b"other")
    store.durable.commit()
    queue.put(b"record 3")
    store.durable.commit()
    queue.clear()
    store.durable.commit()
    queue.put(b"after")
    store.durable.commit()
    store.durable.drop_queue(b"OTHER")
    store.durable.commit()
    with Store(killed(store, place, tmp_path / "copy")) as again:
        assert data(again) == [b"after"]
        assert again.durable.queue(b"OTHER") is None
    store.close(clean=False)


def test_a_process_that_is_killed_loses_no_commit(place):
    code = f"""
import os, sys
sys.path[:0] = {sys.path!r}
from pathlib import Path
from tdqsim.core.store import Store
store = Store(Path({str(place)!r}))
queue = store.durable.create_queue(b"Q")
for number in range(2500):
    queue.put(b"%d" % number)
    store.durable.commit()
queue.put(b"not committed")
os.kill(os.getpid(), 9)
"""
    done = subprocess.run([sys.executable, "-c", code], check=False)
    assert done.returncode == -signal.SIGKILL
    with Store(place, durability="power") as store:
        assert data(store) == [b"%d" % number for number in range(2500)]
        store.durable.queue(b"Q").put(b"with power")
        store.durable.commit()
        store.close(clean=False)
    with Store(place) as store:
        assert data(store)[-1] == b"with power"


# -- readers ----------------------------------------------------------------------------------------------------------


READER = f"""
import sys
sys.path[:0] = {sys.path!r}
from pathlib import Path
from tests.core.test_journal import Store, seen
store = None
for line in sys.stdin:
    if store is not None and line != "look\\n":
        store.close()
    if line != "look\\n":
        store = Store(Path(line.rstrip()), readonly=True)
    print(repr(list(seen(store))), flush=True)
"""


class Reader:
    """Another process that has a store open for reading."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", READER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, line: str) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        return self._process.stdout.readline().rstrip("\n")

    def close(self) -> None:
        self._process.communicate(timeout=60)


@pytest.fixture(scope="module")
def reader() -> Iterator[Reader]:
    found = Reader()
    yield found
    found.close()


def test_a_reader_sees_commits_as_they_are_appended(place, reader):
    store, queue = started(place, 0)
    reader.ask(str(place))
    for number in range(1500):  # LMDB commits in between
        queue.put(b"%d" % number + b"x" * 200)
        store.durable.commit()
        if number % 2:
            queue.take()
            store.durable.commit()
        if number % 100 == 0:
            assert reader.ask("look") == repr(list(seen(store)))
    store.close()


def test_a_store_that_this_process_has_open_is_not_called_damaged(place):
    with Store(place), pytest.raises(StoreError, match="has it open already") as caught:
        Store(place, readonly=True)
    assert not isinstance(caught.value, StoreDamaged)


Step = tuple[str, int, int]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(("put", "take", "meta", "unmeta", "commit", "commit", "abort", "clear")),
        st.integers(0, 2),
        st.integers(0, 2),
    ),
    max_size=60,
)


def change(store: Store, step: Step, number: int) -> None:
    what, which, key = step
    queue = store.durable.queue(b"%d" % which)
    assert queue is not None
    if what == "put":
        queue.put(b"%d" % number, KEYS[key] if queue.order is Order.KEYED else b"")
    elif what == "take":
        queue.take()
    elif what == "clear":
        queue.clear()
    elif what == "meta":
        store.durable.put_meta(KEYS[key], b"%d" % number)
    elif what == "unmeta":
        store.durable.delete_meta(KEYS[key])
    else:
        getattr(store.durable, what)()


def seen(store: Store) -> Iterator[object]:
    """Everything that can be asked."""
    yield list(store.durable.meta_items())
    for queue in store.durable.queues():
        yield queue.name, queue.count, queue.data_bytes, queue.peek()
        yield list(queue.entries())
        yield list(queue.entries(reverse=True, limit=2))
        if queue.order is Order.KEYED:
            yield [list(queue.search(order, b"b")) for order in SearchOrder]


@settings(max_examples=60, deadline=None)
@given(steps=STEPS)
def test_readers_and_a_restart_see_the_last_commit(tmp_path_factory, reader, steps):
    place = tmp_path_factory.mktemp("journal") / "store"
    store = Store(place)
    for name, order, length in ((b"0", Order.FIFO, 0), (b"1", Order.LIFO, 0), (b"2", Order.KEYED, 1)):
        store.durable.create_queue(name, order=order, key_length=length)
    store.durable.commit()
    committed = list(seen(store))
    assert reader.ask(str(place)) == repr(committed)
    for number, step in enumerate(steps):
        change(store, step, number)
        if step[0] in ("commit", "abort"):
            now = list(seen(store))
            assert now == committed or step[0] == "commit"
            committed = now
        assert reader.ask("look") == repr(committed)
    store.close(clean=False)
    with Store(place) as store:
        assert list(seen(store)) == committed


# -- moves ------------------------------------------------------------------------------------------------------------


def moved(store: Store, name: bytes, taken: int, put: list[tuple[int, bytes]]) -> Moves:
    """So many entries taken from the head of a queue, others put on it, and room for these reserved."""
    queue = store.durable.queue(name)
    assert queue is not None
    found = Moves(queue)
    for entry in queue.entries(limit=taken):
        if found.reads and entry.seq != found.last_read + 1:
            found.runs.append((found.first_read, found.last_read + 1 - found.first_read))
        if not found.reads or entry.seq != found.last_read + 1:
            found.first_read = entry.seq
        found.last_read = entry.seq
        found.reads += 1
        found.read_bytes += len(entry.data)
    for each in put:
        store.durable.reserve(len(each[1]))
        found.written.append(each)
        found.puts, found.reserved = found.puts + 1, found.reserved + len(each[1])
    return found


def commit_moves(store: Store, moves: list[Moves]) -> None:
    """Commit them shortly, or step by step where that is refused."""
    if store.durable.commit_moves(moves):
        assert all((each.reads, each.puts, each.reserved, len(each.written)) == (0, 0, 0, 0) for each in moves)
        return
    store.durable.release(sum(each.reserved for each in moves), sum(each.puts for each in moves))
    for each in moves:
        for _ in range(each.reads):
            each.stored.discard()
        for seq, record in each.written:
            each.stored.put(record, seq=seq)
    store.durable.commit()


MOVE_STEPS = st.lists(
    st.tuples(
        st.sampled_from(("move", "move", "move", "put", "take", "restore", "tree", "clear", "commit", "abort")),
        st.integers(0, 1),
        st.integers(0, 3),
        st.integers(0, 3),
        st.sampled_from((1, 1, 1, 2, 70_000)),
    ),
    max_size=40,
)


Model = dict[bytes, list[bytes]]


def step(
    store: Store, model: Model, what: str, which: int, many: int, more: int, gap: int, number: int, gone: list[Entry]
) -> None:
    """One change, of the model too; ``gone`` are entries that a move took and ``restore`` may put back."""
    one, other = (b"0", b"1") if which else (b"1", b"0")
    queue = store.durable.queue(one)
    assert queue is not None
    first = queue.last_seq + gap
    put = [(first + index, b"%d.%d" % (number, index)) for index in range(more)]
    if what == "move":
        gone[:] = queue.entries(limit=many)
        commit_moves(store, [moved(store, one, many, put), moved(store, other, 1, [])])
        assert all(queue.get(entry.seq) is None for entry in gone)
        model[one] = model[one][many:] + [record for _, record in put]
        model[other] = model[other][1:]
    elif what == "put":
        for seq, record in put:
            queue.put(record, seq=seq)
            model[one].append(record)
    elif what == "take":
        assert queue.take() == (model[one].pop(0) if model[one] else None)
    elif what == "restore" and gone and queue.count and gone[-1].seq < queue.first_seq and not queue.get(gone[-1].seq):
        queue.restore(gone.pop())
        model[one].insert(0, next(queue.entries()).data)
    elif what == "clear":
        assert queue.clear() == len(model[one])
        model[one].clear()
    elif what == "tree":  # a queue that is made goes to the tree, and all that is in the journal before it
        store.durable.create_queue(b"made %d" % number)
        store.durable.commit()
    elif what in ("commit", "abort"):
        getattr(store.durable, what)()


def held(store: Store) -> Model:
    return {name: data(store, name) for name in (b"0", b"1")}


@settings(max_examples=150, deadline=None)
@given(steps=MOVE_STEPS)
def test_moves_are_seen_by_readers_and_by_a_restart(tmp_path_factory, reader, steps):
    place = tmp_path_factory.mktemp("moves") / "store"
    store = Store(place)
    for name in (b"0", b"1"):
        queue = store.durable.create_queue(name)
        for number in range(3):
            queue.put(b"first %d" % number)
    store.durable.commit()
    model = held(store)
    committed, told = held(store), repr(list(seen(store)))
    reader.ask(str(place))
    gone: list[Entry] = []
    for number, (what, *arguments) in enumerate(steps):
        step(store, model, what, *arguments, number, gone)
        if what == "abort":
            model = {name: list(records) for name, records in committed.items()}
        assert held(store) == model
        if what in ("move", "tree", "commit", "abort"):
            committed, told = held(store), repr(list(seen(store)))
        assert reader.ask("look") == told
    store.close(clean=False)
    with Store(place) as store:
        assert held(store) == committed


@pytest.mark.parametrize("clean", [True, False])
def test_what_moves_have_taken_is_gone_from_the_tree_when_the_store_is_opened_again(place, clean):
    store, _ = started(place, 0)
    store.durable.create_queue(b"OTHER")
    for number in range(2000):  # more than the journal holds
        commit_moves(store, [moved(store, b"Q", number % 3, [(number * 7 + 1, b"%d" % number + b"x" * 150)])])
    store.close(clean=clean)
    with Store(place) as store:
        left = data(store)
        assert left == [b"%d" % number + b"x" * 150 for number in range(2000 - len(left), 2000)]
        store.durable.put_meta(b"key", b"value")
        store.durable.create_queue(b"THIRD")
        store.durable.commit()
        assert store.durable.statistics()["records"] == len(left) + len((b"Q", b"OTHER", b"THIRD")) + len(
            ("key", "state")
        )
    assert check(place).sound


@pytest.mark.parametrize("body", [b"", b"\0", b"\x40\0\0\0\1", b"\0\0\0\7\1", b"\x40\0\0\0" + b"\xff" * 8000])
def test_a_frame_that_holds_what_no_commit_writes_is_refused(place, body):
    """Its checksum is right: it was made by somebody, not by a damaged disk."""
    store, _ = started(place, 1)
    base = int.from_bytes(journal(place).read_bytes()[HEAD : HEAD + 8], "big")
    end = len(journal(place).read_bytes().rstrip(b"\0"))
    store.close(clean=False)
    front = struct.pack(">Q", base)
    frame = front + struct.pack(">II", len(body), crc32(body, crc32(front) ^ end)) + body
    frame += struct.pack(">4sQI", b"TDQ;", base, crc32(front, crc32(b"TDQ;")))
    raw = journal(place).read_bytes()
    journal(place).write_bytes(raw[:end] + frame + raw[end + len(frame) :])
    with pytest.raises(StoreDamaged, match="commit 2 in the journal is damaged"):
        Store(place)


def test_a_reader_is_told_of_a_journal_that_cannot_be_read(place):
    started(place)[0].close()
    journal(place).unlink()
    journal(place).mkdir()
    with pytest.raises(StoreError, match="journal: it cannot be read: Is a directory") as caught:
        data(Store(place, readonly=True))
    assert not isinstance(caught.value, StoreDamaged)


# -- damage -----------------------------------------------------------------------------------------------------------


def outcome(place: Path) -> list[bytes] | None:
    """What the queue holds; None when the store is refused."""
    try:
        with Store(place) as store:
            return data(store)
    except StoreDamaged:
        return None


@pytest.mark.parametrize(
    "seeds", [range(60), pytest.param(range(1000, 4000), marks=pytest.mark.slow)], ids=["few", "many"]
)
def test_a_flipped_bit_is_refused_or_makes_no_difference(place, tmp_path, seeds):
    store, _ = started(place, 40)
    raw = journal(place).read_bytes()
    end = len(raw.rstrip(b"\0"))
    expected = data(store)
    refused = 0
    for seed in seeds:
        copy = killed(store, place, tmp_path / "copy")
        pick = random.Random(seed)
        broken = bytearray(raw)
        broken[pick.randrange(end + 200)] ^= 1 << pick.randrange(8)
        journal(copy).write_bytes(broken)
        found = outcome(copy)
        assert found in (None, expected), seed
        refused += found is None
    assert refused > len(seeds) // 2
    store.close(clean=False)


def test_a_frame_cut_short_was_never_committed(place, tmp_path):
    store, queue = started(place, 5)
    before = journal(place).read_bytes()
    queue.put(b"the last")
    store.durable.commit()
    after = journal(place).read_bytes()
    changed = [at for at in range(HEAD, len(after)) if after[at] != before[at]]
    for end in range(changed[0], changed[-1] + 1, 7):
        copy = killed(store, place, tmp_path / "copy")
        journal(copy).write_bytes(before[:HEAD] + after[HEAD:end] + before[end:])
        old = [b"record %d" % number for number in range(5)]
        assert outcome(copy) in ((old,) if end < changed[-1] - 20 else (old, [*old, b"the last"])), end
    store.close(clean=False)


@pytest.mark.parametrize("size", [8, 90, 1000])
def test_a_process_killed_before_it_says_how_far_the_frames_go(place, tmp_path, size):
    """The frame is written first, so it was committed; where it is told may be torn."""
    store, queue = started(place, 4)
    before = journal(place).read_bytes()
    queue.put(b"x" * size)
    store.durable.commit()
    after = journal(place).read_bytes()
    old = [b"record %d" % number for number in range(4)]
    for end in range(HEAD + 1):
        copy = killed(store, place, tmp_path / "copy")
        journal(copy).write_bytes(after[:end] + before[end:HEAD] + after[HEAD:])
        assert outcome(copy) == [*old, b"x" * size], end
    store.close(clean=False)


@pytest.mark.parametrize("size", [20, 55, 4096])
def test_commits_that_are_gone_from_the_end_are_missed(place, tmp_path, size):
    """Zeros, other bytes, or an earlier part of the file in their place: refused, unless they lie behind the frames."""
    store, _ = started(place, 150)
    raw = journal(place).read_bytes()
    end = len(raw.rstrip(b"\0"))
    refused = 0
    for at in range(HEAD, end + size, max(size // 2, end // 40)):
        for other in (bytes(size), random.Random(at).randbytes(size), raw[at - size : at] if at > size else b""):
            copy = killed(store, place, tmp_path / "copy")
            journal(copy).write_bytes((raw[:at] + other + raw[at + len(other) :])[: len(raw)])
            found = outcome(copy)
            assert found in (None, data(store)), at
            refused += found is None
    assert refused > 20
    store.close(clean=False)


@pytest.mark.parametrize("zeros", [0, HEAD, 4096])
def test_a_journal_of_zeros_is_refused(place, zeros):
    store, _ = started(place)
    store.close(clean=False)
    raw = journal(place).read_bytes()
    journal(place).write_bytes(bytes(zeros or len(raw)) + raw[zeros or len(raw) :])
    with pytest.raises(StoreDamaged, match="journal"):
        Store(place)


def test_commits_of_one_length_do_not_change_places(place, tmp_path):
    """A page of the journal in the place of another: the frames in it are whole, but not where they belong."""
    store, queue = started(place, 0)
    ends = [len(journal(place).read_bytes().rstrip(b"\0"))]
    for number in range(2):
        queue.put(b"%03d" % number)
        store.durable.commit()
        ends.append(len(journal(place).read_bytes().rstrip(b"\0")))
    padding = b"x" * (256 - (ends[2] - ends[1]))
    for number in range(100):
        queue.put(b"%03d" % number + padding)
        store.durable.commit()
    raw = journal(place).read_bytes()
    for one, other in ((1, 2), (2, 1), (2, 4), (4, 3)):
        copy = killed(store, place, tmp_path / "copy")
        journal(copy).write_bytes(raw[: one * 4096] + raw[other * 4096 : (other + 1) * 4096] + raw[(one + 1) * 4096 :])
        assert outcome(copy) is None
    store.close(clean=False)


@pytest.mark.parametrize("cut", [1, 4096, 200_000])
def test_a_journal_that_was_cut_off_is_refused(place, cut):
    store, _ = started(place)
    store.close(clean=False)
    raw = journal(place).read_bytes()
    journal(place).write_bytes(raw[:-cut])
    with pytest.raises(StoreDamaged, match="journal has"):
        Store(place)


def test_a_journal_that_is_missing_is_refused_unless_it_is_not_needed(place):
    store, _ = started(place)
    store.close(clean=False)
    kept = journal(place).read_bytes()
    journal(place).unlink()
    for readonly in (False, True):
        with pytest.raises(StoreDamaged, match="journal is missing"):
            Store(place, readonly=readonly)
    journal(place).write_bytes(kept)
    Store(place).close()
    journal(place).unlink()
    with Store(place) as store:
        assert len(data(store)) == 3


def test_another_stores_journal_and_an_older_tree_are_refused(place, tmp_path):
    store, queue = started(place)
    old = tree(place)
    store.durable.create_queue(b"NEW")  # LMDB's commit
    store.durable.commit()
    queue.put(b"newer")
    store.durable.commit()
    store.close(clean=False)
    other, _ = started(tmp_path / "other")
    other.close(clean=False)
    copy = killed(store, place, tmp_path / "copy")
    shutil.copy(journal(tmp_path / "other"), journal(copy))
    with pytest.raises(StoreDamaged, match="journal belongs to another store"):
        Store(copy)
    copy = killed(store, place, tmp_path / "copy")
    (copy / "durable" / "data.mdb").write_bytes(old)
    with pytest.raises(StoreDamaged, match="the journal builds on commit"):
        Store(copy)


def test_check_and_salvage_know_of_the_journal(place, tmp_path):
    from tdqsim.core.store import check as storecheck

    store, queue = started(place, 5)
    queue.take()
    store.durable.commit()
    store.close(clean=False)
    report = storecheck.check(place)
    assert report.sound
    assert [(queue.count, queue.whole) for queue in report.queues] == [(4, 4)]
    storecheck.salvage(place, tmp_path / "saved")
    with Store(tmp_path / "saved") as saved:
        assert data(saved) == [b"record %d" % number for number in range(1, 5)]
    raw = bytearray(journal(place).read_bytes())
    raw[200] ^= 1
    journal(place).write_bytes(raw)
    report = storecheck.check(place)
    assert any("journal is damaged" in problem for problem in report.problems)
