"""What a READQ and a WRITEQ over HTTP cost beside an empty endpoint behind the same sign-on."""

from __future__ import annotations

import asyncio
import time
from statistics import median

import pytest

pytest.importorskip("fastapi", reason="the extra [serve] is not installed")

from tests.bench._table import hold
from tests.server.running import QUEUE, Connection, processor_seconds, region_place, running

pytestmark = pytest.mark.bench


def test_requests_beside_an_empty_endpoint(tmp_path):
    """By the processor time of the server; other work on the machine adds up to a fifth. Rates are printed beside it."""

    async def asked(one, empty, count=400):
        for _each in range(count // 2):
            for path, body in ((f"{QUEUE}/Q000/records", {"text": "10.00"}), (f"{QUEUE}/Q000/read", None)):
                status, answer = await one.ask("POST", "/api/v1/empty" if empty else path, body)
                assert status < 300, answer

    async def compared(pid, found):
        used, rates = {True: 0.0, False: 0.0}, []
        one = await Connection(found).open()
        await asked(one, empty=False)
        await asked(one, empty=True)
        for turn in range(14):  # in turn, so that what changes on the machine meets both
            empty = turn % 2 == 0
            before, began = processor_seconds(pid), time.perf_counter()
            await asked(one, empty)
            rates.append(400 / (time.perf_counter() - began))
            used[empty] += processor_seconds(pid) - before
        one.close()
        return used, [real / empty for empty, real in zip(rates[::2], rates[1::2], strict=True)]

    with running(region_place(tmp_path)) as (process, found):
        used, rates = asyncio.run(compared(process.pid, found))
    ratio = used[True] / used[False]
    print(f"ratio {ratio:.2f} by processor time ({used[True]:.2f} and {used[False]:.2f} s for 2,800 requests), ")
    print(f"{median(rates):.2f} by requests a second, of rounds {[round(each, 2) for each in rates]}")
    hold(1.5, 1 / ratio, "server: write and read over HTTP (x an empty endpoint, signed on)", wanted=1.4)
