"""Held load, kills under load, and what a server costs that nobody asks."""

from __future__ import annotations

import asyncio
import os
import random
import time
from contextlib import suppress
from pathlib import Path
from threading import Timer

import pytest

pytest.importorskip("fastapi", reason="the extra [serve] is not installed")

from tdqsim.client import Client
from tdqsim.errors import TdqError
from tests.server.running import QUEUE, Connection, processor_seconds, region_place, running, started


@pytest.fixture
def place(tmp_path):
    return region_place(tmp_path)


def resident(pid):
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


async def held(found, seconds, waiting, busy):
    """So many wait, so many ask in turn; then what is waited for comes. Gives how many were answered."""
    answered = 0

    async def wait_for_record(number):
        one = await Connection(found).open()
        status, _body = await one.ask(
            "POST", "/api/v1/regions/PAYREGN/wait", {"queue": "LOGQ", "items": 1, "seconds": 290}
        )
        one.close()
        assert status == 200, number

    async def ask_in_turn(number, until):
        nonlocal answered
        one = await Connection(found).open()
        queue = f"{QUEUE}/Q{number % 40:03d}"
        while time.monotonic() < until:
            status, body = await one.ask("POST", f"{queue}/records", {"text": "10.00"})
            assert status == 201, body
            status, body = await one.ask("POST", f"{queue}/read")
            assert status == 200, body
            answered += 2
        one.close()

    waits = [asyncio.create_task(wait_for_record(number)) for number in range(waiting)]
    until = time.monotonic() + seconds
    await asyncio.gather(*(ask_in_turn(number, until) for number in range(busy)))
    one = await Connection(found).open()
    assert (await one.ask("POST", f"{QUEUE}/LOGQ/records", {"text": "now"}))[0] == 201
    await asyncio.gather(*waits)
    assert (await one.ask("POST", f"{QUEUE}/LOGQ/read"))[0] == 200
    one.close()
    return answered


@pytest.mark.slow
def test_two_thousand_connections_of_which_five_hundred_wait(place):
    with running(place) as (process, found):
        asyncio.run(held(found, 5, 500, 1500))
        before = resident(process.pid)
        answered = asyncio.run(held(found, 60, 500, 1500))
        after = resident(process.pid)
        print(f"{answered} answers in 60 s, memory {before >> 20} MB before, {after >> 20} MB after")
        assert answered > 0
        assert after < before * 1.2 + 16 * 2**20


@pytest.mark.slow
def test_an_idle_server_costs_less_than_one_percent_of_a_core(place):
    with running(place, console=True) as (process, found):
        with Client(found["url"], found["token"]) as client:
            client.region("PAYREGN").writeq_td("Q000", b"x")
        time.sleep(2)
        before = processor_seconds(process.pid)
        time.sleep(20)
        used = processor_seconds(process.pid) - before
    print(f"{used:.2f} s of a processor in 20 s")
    assert used < 0.2


@pytest.mark.slow
def test_what_was_acknowledged_survives_two_hundred_kills(place):
    kills = int(os.environ.get("TDQ_KILLS", "200"))
    draw = random.Random(20)
    acknowledged, number = [], 0
    for kill in range(kills):
        process, found = started(place)
        client = Client(found["url"], found["token"])
        region = client.region("PAYREGN")
        there = [int(record) for record in region.peek("LOGQ", limit=1000)]
        assert there[: len(acknowledged)] == acknowledged
        assert there[len(acknowledged) :] in ([], [number - 1])  # what was under way happened or did not
        taken = 0
        while len(there) - taken > 5:  # taken, committed and acknowledged: gone for good
            assert int(region.readq_td("LOGQ")) == there[taken]
            taken += 1
        acknowledged = there[taken:]
        killer = Timer(draw.random() * 0.3, process.kill)
        killer.start()
        with suppress(TdqError):  # it cannot be reached any more
            while True:
                number += 1
                region.writeq_td("LOGQ", str(number - 1).encode())
                acknowledged.append(number - 1)
        client.close()
        killer.join()
        process.wait()
        process.stdout.close()
        print(f"{kill + 1} kills, {number} records written", flush=True)
    process, found = started(place)
    with Client(found["url"], found["token"]) as client:
        there = [int(record) for record in client.region("PAYREGN").peek("LOGQ", limit=1000)]
    process.kill()
    process.wait()
    process.stdout.close()
    assert there[: len(acknowledged)] == acknowledged
