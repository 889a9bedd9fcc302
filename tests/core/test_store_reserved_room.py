"""Room held for later puts is room that would fit them: not much less than puts that hold nothing."""

from __future__ import annotations

import pytest

from tdqsim.core.store import Store
from tdqsim.errors import StoreFull


def fill(store: Store, data: bytes, *, reserved: bool) -> int:
    durable = store.durable
    queue = durable.create_queue(b"Q")
    count = 0
    try:
        while True:
            if reserved:
                durable.reserve(len(data))
                durable.release(len(data))
            queue.put(data)
            durable.commit()
            count += 1
    except StoreFull:
        durable.abort()
        return count


@pytest.mark.parametrize("size", [800, 3000])
def test_reserving_each_record_fits_nearly_as_many_records(size):
    counts = []
    for reserved in (False, True):
        store = Store(limit_bytes=4 << 20)
        counts.append(fill(store, b"x" * size, reserved=reserved))
        store.close()
    plain, held = counts
    assert held > 0.8 * plain
