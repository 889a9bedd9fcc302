"""Held load, kills under load, and what a server costs that nobody asks."""

from __future__ import annotations

import asyncio
import json
import os
import random
import resource
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from threading import Timer

import pytest

pytest.importorskip("fastapi", reason="the extra [serve] is not installed")

from tdqsim.client import Client
from tdqsim.errors import TdqError
from tests.server.running import QUEUE, Connection, processor_seconds, region_place, running, started

REGION = "/api/v1/regions/PAYREGN"
DATA_QUEUES = "/api/v1/systems/PAYSYS/queues/PAYLIB"


@pytest.fixture
def place(tmp_path):
    return region_place(tmp_path)


def resident(pid):
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Crowd:
    """Keep-alive connections, of which some wait and the others ask from time to time."""

    def __init__(self, found, waiting, busy):
        self.waiting = [Connection(found) for _ in range(waiting)]
        self.busy = [Connection(found) for _ in range(busy)]
        self.received, self.answered = [], 0
        self.written = {f"Q{number:03d}": set() for number in range(40)}

    async def open(self):
        """Connect and sign on, a hundred at once; then write a record in a unit of work that stays open."""
        turns = asyncio.Semaphore(100)

        async def one(connection):
            async with turns:
                await connection.open()
                status, body = await connection.ask("GET", "/api/v1/session")
                assert (status, json.loads(body)["user"]) == (200, "")

        await asyncio.gather(*map(one, [*self.waiting, *self.busy]))
        _status, body = await self.busy[0].ask("POST", f"{REGION}/units-of-work?idle_seconds=600")
        self.unit = f"/api/v1/units-of-work/{json.loads(body)['id']}"
        command = {"text": "WRITEQ TD QUEUE('LOCK') FROM('one')"}
        status, body = await self.busy[0].ask("POST", f"{self.unit}/exec", command)
        assert (status, json.loads(body)["condition"]) == (200, "NORMAL")

    def wait(self, seconds):
        """Begin the waits, of seven kinds: data ends five of them, and the time limit two."""
        kinds = (
            lambda one: self.for_state(one, 290, 200),
            lambda one: self.for_state(one, seconds, 504),
            lambda one: self.for_entry(one, "GOODS", 290),
            lambda one: self.for_entry(one, "EMPTY", seconds),
            lambda one: self.for_event(one, "/api/v1/events?region=PAYREGN&queue=LOGQ", b"WRITEQ TD"),
            lambda one: self.for_event(one, "/api/v1/alerts", b"abended ABCD"),
            self.for_lock,
        )
        return [asyncio.create_task(kinds[at % len(kinds)](one)) for at, one in enumerate(self.waiting)]

    async def for_state(self, one, seconds, expected):
        status, body = await one.ask("POST", f"{REGION}/wait", {"queue": "LOGQ", "items": 1, "seconds": seconds})
        assert status == expected, body

    async def for_entry(self, one, queue, seconds):
        status, body = await one.ask("POST", f"{DATA_QUEUES}/{queue}/receive", {"wait": seconds})
        assert status == 200, body
        self.received.append(json.loads(body)["entry"])

    async def for_event(self, one, path, text):
        status, _length = await one.send("GET", path)
        assert status == 200
        data = b""
        while text not in data:
            data += await one.reader.read(2**16)
            assert not one.reader.at_eof(), data

    async def for_lock(self, one):
        """READQ of a queue whose only record is not committed."""
        status, body = await one.ask("POST", f"{QUEUE}/LOCK/read")
        self.received.append(json.loads(body)["record" if status == 200 else "condition"])

    async def ask_until(self, end, pause):
        """Have each of the busy connections write and read, and pause in between."""
        draw = random.Random(42)

        async def ask(number, one, begin):
            queue = f"Q{number % 40:03d}"
            await asyncio.sleep(begin)
            while time.monotonic() < end:
                text = f"{number} {self.answered}"
                self.written[queue].add(text)
                status, body = await one.ask("POST", f"{QUEUE}/{queue}/records", {"text": text})
                assert (status, json.loads(body)) == (201, {"written": len(text)})
                status, body = await one.ask("POST", f"{QUEUE}/{queue}/read")
                assert status == 200, body
                self.written[queue].remove(json.loads(body)["record"])
                self.answered += 2
                await asyncio.sleep(pause)

        await asyncio.gather(*(ask(number, one, draw.random() * pause) for number, one in enumerate(self.busy)))

    async def end(self, waits):
        """Bring the data for which the connections wait, and close all."""
        goods = [{"data": {"text": f"{number}"}} for number in range(len(range(2, len(self.waiting), 7)))]
        for path, body, expected in (
            (f"{QUEUE}/LOGQ/records", {"text": "now"}, 201),
            (f"{REGION}/exec", {"text": "ABEND ABCODE('ABCD')"}, 409),
            (f"{DATA_QUEUES}/GOODS/entries", goods, 201),
            (f"{self.unit}/commit", None, 200),
        ):
            status, answer = await self.busy[0].ask("POST", path, body)
            assert status == expected, answer
        await asyncio.gather(*waits)
        for each in (*self.waiting, *self.busy):
            each.close()


@pytest.mark.slow
def test_two_thousand_connections_of_which_five_hundred_wait_for_a_minute(place):
    (place / "system").mkdir()
    (place / "system" / "system.yaml").write_text("name: PAYSYS\nlibraries: [PAYLIB]\ndefinitions: [queues.yaml]\n")
    (place / "system" / "queues.yaml").write_text(
        "dtaq:\n- {dtaq: PAYLIB/GOODS, maxlen: 80}\n- {dtaq: PAYLIB/EMPTY, maxlen: 80}\n"
    )

    async def hold(found, pid):
        crowd, memory, used = Crowd(found, 500, 1500), [], processor_seconds(pid)
        await crowd.open()
        waits = crowd.wait(60)
        await crowd.ask_until(time.monotonic() + 15, 5)  # until the kept events have reached their number
        for _third in range(3):
            memory.append(resident(pid))
            await crowd.ask_until(time.monotonic() + 15, 5)
        memory.append(resident(pid))
        used = processor_seconds(pid) - used
        await crowd.end(waits)
        return crowd, memory, used

    _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with running(place, files="-Sn 256") as (process, found):  # the server raises its own limit
        crowd, memory, used = asyncio.run(hold(found, process.pid))
    shown = ", ".join(f"{each / 2**20:.1f}" for each in memory)
    print(f"{crowd.answered} answers, {used:.1f} s of a processor; memory {shown} MB")
    entries = [int(each["data"]) for each in crowd.received if isinstance(each, dict)]
    assert sorted(entries) == list(range(72))
    assert Counter(each for each in crowd.received if not isinstance(each, dict)) == {None: 71, "one": 1, "QZERO": 70}
    assert not any(crowd.written.values())
    assert max(memory) < memory[0] * 1.02 + 2**20


@pytest.mark.slow
def test_a_server_that_may_open_few_files_says_what_to_set(place):
    with running(place, files="-n 500"):
        log = (place / "log").read_text()
    assert "few_open_files" in log
    assert "raise ulimit -Hn" in log


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
