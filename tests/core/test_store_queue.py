"""What a stored queue does: written once, run over the volatile and the durable environment."""

from __future__ import annotations

import threading

import pytest

from tdqsim.core.store import Entry, Environment, Order, SearchOrder, Store, StoredQueue
from tdqsim.errors import StoreError, WrongThread


def data_of(queue: StoredQueue, **options) -> list[bytes]:
    return [entry.data for entry in queue.entries(**options)]


@pytest.fixture
def keyed(environment: Environment) -> StoredQueue:
    """Keys B, A, C, A, B with the data 1 to 5."""
    queue = environment.create_queue(b"KEYED", order=Order.KEYED, key_length=1)
    for number, key in enumerate([b"B", b"A", b"C", b"A", b"B"], start=1):
        queue.put(b"%d" % number, key)
    return queue


def test_fifo_hands_out_in_order_of_arrival(environment):
    queue = environment.create_queue(b"Q")
    assert [queue.put(data) for data in (b"a", b"", b"c")] == [1, 2, 3]
    assert (queue.count, queue.data_bytes, queue.first_seq, queue.last_seq) == (3, 2, 1, 3)
    assert [queue.take() for _ in range(4)] == [b"a", b"", b"c", None]
    assert (queue.count, queue.data_bytes, queue.first_seq, queue.last_seq) == (0, 0, 4, 3)


def test_lifo_hands_out_the_youngest_first(environment):
    queue = environment.create_queue(b"Q", order=Order.LIFO)
    for data in (b"a", b"b", b"c"):
        queue.put(data)
    assert queue.take() == b"c"
    queue.put(b"d")
    assert data_of(queue) == [b"d", b"b", b"a"]
    assert queue.peek() == Entry(4, 0, b"", b"", b"d")
    assert [queue.take() for _ in range(4)] == [b"d", b"b", b"a", None]


def test_keyed_hands_out_by_key_and_by_arrival_within_a_key(keyed):
    assert data_of(keyed) == [b"2", b"4", b"1", b"5", b"3"]
    assert data_of(keyed, reverse=True) == [b"3", b"5", b"1", b"4", b"2"]
    assert keyed.take() == b"2"
    assert keyed.peek().key == b"A"


@pytest.mark.parametrize(
    ("search", "expected"),
    [
        (SearchOrder.EQ, [b"1", b"5"]),
        (SearchOrder.NE, [b"2", b"4", b"3"]),
        (SearchOrder.LT, [b"2", b"4"]),
        (SearchOrder.LE, [b"2", b"4", b"1", b"5"]),
        (SearchOrder.GT, [b"3"]),
        (SearchOrder.GE, [b"1", b"5", b"3"]),
    ],
)
def test_search_yields_all_that_qualify_and_find_the_first_of_them(keyed, search, expected):
    assert [entry.data for entry in keyed.search(search, b"B")] == expected
    assert keyed.find(search, b"B").data == expected[0]
    assert keyed.take_key(search, b"B").data == expected[0]
    assert keyed.clear_keys(search, b"B") == len(expected) - 1
    assert keyed.find(search, b"B") is None
    assert keyed.count == 5 - len(expected)


def test_only_a_keyed_queue_is_searched_and_only_with_a_whole_key(environment, keyed):
    plain = environment.create_queue(b"PLAIN")
    with pytest.raises(ValueError, match="only a KEYED queue"):
        plain.find(SearchOrder.EQ, b"A")
    with pytest.raises(ValueError, match="key of 2 bytes"):
        keyed.find(SearchOrder.EQ, b"AB")
    with pytest.raises(ValueError, match="key of 0 bytes"):
        keyed.put(b"x")
    assert keyed.count == 5


def test_an_entry_keeps_its_time_key_and_sender(environment):
    queue = environment.create_queue(b"Q")
    queue.put(b"data", b"key", b"sender", seq=10, time_ns=2**63 + 5)
    queue.put(b"", b"k" * 256, b"s" * 255, time_ns=2**64 - 1)
    assert queue.get(10) == Entry(10, 2**63 + 5, b"key", b"sender", b"data")
    assert queue.take_entry() == Entry(10, 2**63 + 5, b"key", b"sender", b"data")
    assert queue.take_entry() == Entry(11, 2**64 - 1, b"k" * 256, b"s" * 255, b"")


@pytest.mark.parametrize("size", [0, 1, 1899, 1900, 1901, 2000, 2038, 4096, 64512, 70000])
@pytest.mark.parametrize("slots", [(b"", b""), (b"k" * 256, b"s" * 36)])
def test_any_length_comes_back_whole(environment, size, slots):
    queue = environment.create_queue(b"Q")
    data = bytes(index * 7 & 0xFF for index in range(size))
    queue.put(data, *slots)
    queue.put(b"next")
    assert queue.peek() == Entry(1, 0, *slots, data)
    assert queue.data_bytes == size + 4
    assert queue.take() == data
    assert queue.take() == b"next"


@pytest.mark.parametrize("size", [0, 1700, 1758, 1800, 64512])
def test_any_length_comes_back_whole_under_the_longest_key(environment, size):
    queue = environment.create_queue(b"Q", order=Order.KEYED, key_length=256)
    queue.put(b"z" * size, b"k" * 256, b"s" * 255)
    assert queue.take_entry() == Entry(1, 0, b"k" * 256, b"s" * 255, b"z" * size)


def test_the_caller_may_choose_rising_sequence_numbers(environment):
    queue = environment.create_queue(b"Q")
    queue.put(b"a", seq=5)
    queue.put(b"b", seq=2**40)
    assert (queue.first_seq, queue.last_seq) == (5, 2**40)
    with pytest.raises(ValueError, match=f"over {2**40}"):
        queue.put(b"c", seq=2**40)
    assert queue.put(b"last", seq=2**64 - 2) == 2**64 - 2
    with pytest.raises(ValueError, match="sequence number"):
        queue.put(b"none left")
    assert [queue.take() for _ in range(4)] == [b"a", b"b", b"last", None]


def test_what_is_not_allowed_changes_nothing(environment):
    queue = environment.create_queue(b"Q")
    queue.put(b"a")
    for bad in (
        lambda: queue.put(b"x", time_ns=-1),
        lambda: queue.put(b"x", time_ns=2**64),
        lambda: queue.put(b"x", sender=b"s" * 256),
        lambda: queue.put(b"x", key=b"k" * 257),
        lambda: queue.put(b"x", b"", b"s", time_ns=2**64),
        lambda: queue.restore(Entry(1, 0, b"", b"", b"again")),
        lambda: queue.restore(Entry(0, 0, b"", b"", b"zero")),
        lambda: queue.restore(Entry(2**64 - 1, 0, b"", b"", b"too high")),
        lambda: environment.create_queue(b""),
        lambda: environment.create_queue(b"Q"),
        lambda: environment.create_queue(b"n" * 481),
        lambda: environment.create_queue(b"K", order=Order.KEYED),
        lambda: environment.create_queue(b"K", order=Order.KEYED, key_length=257),
        lambda: environment.create_queue(b"K", key_length=1),
    ):
        with pytest.raises(ValueError):
            bad()
    with pytest.raises(TypeError):
        queue.put("text")
    assert (queue.count, queue.data_bytes, queue.last_seq) == (1, 1, 1)
    assert [queue.name for queue in environment.queues()] == [b"Q"]
    assert queue.take() == b"a"


def test_get_and_remove_by_number(environment):
    queue = environment.create_queue(b"Q")
    for data in (b"a", b"b", b"c", b"d"):
        queue.put(data)
    assert queue.get(3).data == b"c"
    assert queue.remove(3).data == b"c"
    assert queue.remove(3) is None
    assert queue.get(0) is None
    assert queue.get(2**64) is None
    assert queue.remove(1).data == b"a"
    assert queue.first_seq == 2
    assert data_of(queue) == [b"b", b"d"]
    assert [queue.take() for _ in range(3)] == [b"b", b"d", None]


def test_a_keyed_entry_is_got_by_number_and_key(keyed):
    assert keyed.get(4, b"A").data == b"4"
    assert keyed.get(4, b"B") is None
    assert keyed.remove(4, b"A").data == b"4"
    assert keyed.count == 4


def test_restore_puts_an_entry_back_before_the_first(environment):
    queue = environment.create_queue(b"Q")
    for data in (b"a", b"b", b"c"):
        queue.put(data)
    first = queue.take_entry()
    second = queue.take_entry()
    queue.restore(first)
    assert (queue.first_seq, queue.count) == (1, 2)
    queue.restore(second)
    assert data_of(queue) == [b"a", b"b", b"c"]
    assert queue.put(b"d") == 4


def test_entries_can_be_continued_and_limited(environment):
    queue = environment.create_queue(b"Q")
    for number in range(300):
        queue.put(b"%d" % number)
    assert len(data_of(queue)) == 300
    assert data_of(queue, limit=2) == [b"0", b"1"]
    assert data_of(queue, after=298) == [b"298", b"299"]
    assert data_of(queue, after=queue.get(299)) == [b"299"]
    assert data_of(queue, reverse=True, after=3) == [b"1", b"0"]
    assert data_of(queue, limit=0) == []


def test_entries_of_a_keyed_queue_continue_after_an_entry(keyed):
    after = keyed.find(SearchOrder.EQ, b"B")
    assert data_of(keyed, after=after) == [b"5", b"3"]
    assert data_of(keyed, after=after, reverse=True) == [b"4", b"2"]
    with pytest.raises(ValueError, match="not after a number"):
        keyed.entries(after=1)


def test_a_queue_may_change_while_it_is_walked(environment):
    queue = environment.create_queue(b"Q")
    for number in range(1000):
        queue.put(b"%d" % number)
    seen = []
    for entry in queue.entries():
        seen.append(entry.seq)
        if entry.seq % 2 == 0:
            queue.remove(entry.seq)
            queue.put(b"new", seq=queue.last_seq + 10)
        if len(seen) >= 1000:
            break
    assert seen == list(range(1, 1001))


def test_a_walk_ends_when_the_queue_is_cleared(environment):
    queue = environment.create_queue(b"Q")
    for number in range(1000):
        queue.put(b"%d" % number)
    walk = queue.entries()
    next(walk)
    queue.clear()
    queue.put(b"new")
    assert len(list(walk)) < 200


def test_clear_says_how_many_went_and_keeps_counting(environment):
    queue = environment.create_queue(b"Q")
    for number in range(2000):
        queue.put(b"%d" % number)
    assert queue.clear() == 2000
    assert (queue.count, queue.data_bytes, queue.take(), queue.peek()) == (0, 0, None, None)
    assert queue.put(b"new") == 2001
    assert data_of(queue) == [b"new"]
    assert queue.clear() == 1
    assert queue.clear() == 0


def test_a_dropped_queue_is_gone_and_its_name_free(environment):
    queue = environment.create_queue(b"Q")
    queue.put(b"old")
    environment.drop_queue(b"Q")
    assert environment.queue(b"Q") is None
    with pytest.raises(StoreError, match="dropped"):
        queue.put(b"x")
    assert (queue.count, queue.take()) == (0, None)
    with pytest.raises(StoreError, match="no queue"):
        environment.drop_queue(b"Q")
    again = environment.create_queue(b"Q", order=Order.LIFO)
    assert (again.count, again.take(), again.order) == (0, None, Order.LIFO)


def test_queues_come_by_name(environment):
    for name in (b"CCC", b"A", b"BB"):
        environment.create_queue(name)
    assert [queue.name for queue in environment.queues()] == [b"A", b"BB", b"CCC"]
    assert environment.queue(b"BB") is environment.queue(b"BB")
    assert environment.queue(b"") is None


def test_many_queues_do_not_meet(environment):
    queues = [
        environment.create_queue(b"Q%03d" % number, order=order) for number in range(40) for order in [Order.FIFO]
    ]
    for turn in range(50):
        for number, queue in enumerate(queues):
            queue.put(b"%d.%d" % (number, turn))
    for number, queue in enumerate(queues):
        assert [queue.take() for _ in range(51)] == [b"%d.%d" % (number, turn) for turn in range(50)] + [None]


def test_meta_data(environment):
    environment.put_meta(b"a/1", b"one")
    environment.put_meta(b"a/2", b"x" * 5000)
    environment.put_meta(b"b/1", b"")
    environment.put_meta(b"a/1", b"uno")
    assert environment.get_meta(b"a/1") == b"uno"
    assert environment.get_meta(b"none") is None
    assert list(environment.meta_items(b"a/")) == [(b"a/1", b"uno"), (b"a/2", b"x" * 5000)]
    environment.delete_meta(b"a/2")
    environment.delete_meta(b"a/2")
    assert [key for key, _ in environment.meta_items(b"")] == [b"a/1", b"b/1"]
    with pytest.raises(ValueError, match="at most 480"):
        environment.put_meta(b"k" * 481, b"")


def test_dirty_says_whether_there_is_something_to_commit(environment):
    assert not environment.dirty
    environment.commit()
    queue = environment.create_queue(b"Q")
    assert environment.dirty
    environment.commit()
    assert not environment.dirty
    assert queue.take() is None
    assert not environment.dirty
    queue.put(b"x")
    assert environment.dirty


def test_another_thread_is_refused(environment):
    queue = environment.create_queue(b"Q")
    queue.put(b"x")
    refused = []

    def use() -> None:
        for call in (
            lambda: queue.put(b"y"),
            queue.take,
            queue.take_entry,
            queue.peek,
            lambda: queue.put(b"y", b"k"),
            lambda: queue.get(1),
            lambda: list(queue.entries()),
            queue.clear,
            lambda: environment.create_queue(b"R"),
            lambda: environment.put_meta(b"k", b"v"),
            environment.commit,
        ):
            try:
                call()
            except WrongThread:
                refused.append(call)

    thread = threading.Thread(target=use)
    thread.start()
    thread.join()
    assert len(refused) == 11
    assert data_of(queue) == [b"x"]


def test_nothing_can_be_used_after_close(place):
    store = Store(place)
    queue = store.volatile.create_queue(b"Q")
    queue.put(b"x")
    store.close()
    store.close()
    with pytest.raises(StoreError, match="closed"):
        queue.put(b"y")
    with pytest.raises(StoreError, match="closed"):
        queue.take()
    with pytest.raises(StoreError, match="closed"):
        store.durable.create_queue(b"R")
