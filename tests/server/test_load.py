"""Held load, kills under load, and what a server costs that nobody asks."""

from __future__ import annotations

import asyncio
import json
import os
import random
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import median
from threading import Timer

import pytest

pytest.importorskip("fastapi", reason="the extra [serve] is not installed")

from tdqsim.client import Client
from tdqsim.errors import TdqError
from tests.bench._table import reach

SERVER = """
import sys
from pathlib import Path
import structlog
from tdqsim.server import serving
from tdqsim.server.http.access import Operator
from tdqsim.server.servefile import changed, serve_file

def add_empty(app, _host, _gate):
    @app.post("/api/v1/empty")
    async def empty(_user: Operator) -> dict[str, str]:
        return {}

if sys.argv[2] != "console":
    serving.add_console = add_empty
structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))  # nobody reads the pipe of the output
config = serve_file([Path(sys.argv[1])], Path(sys.argv[1]) / "store")
sys.exit(serving.serve(config, ready_file=Path(sys.argv[1]) / "ready.json",
                       told=lambda _served: print("ready", flush=True)))
"""
QUEUE = "/api/v1/regions/PAYREGN/queues"


@pytest.fixture
def place(tmp_path):
    (tmp_path / "region.yaml").write_text("applid: PAYREGN\ndefinitions: [pay.yaml]\n")
    queues = "".join(f"- {{name: Q{n:03d}, type: INTRA}}\n" for n in range(40))
    (tmp_path / "pay.yaml").write_text(
        f"group: PAY\ntdqueue:\n- {{name: LOGQ, type: INTRA, recovstatus: LOGICAL}}\n{queues}"
    )
    return tmp_path


def started(place, *, console=False):
    words = [sys.executable, "-c", SERVER, str(place), "console" if console else "bare"]
    with (place / "log").open("w") as log:
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=log, text=True)
    assert any(line.strip() == "ready" for line in process.stdout), (place / "log").read_text()
    return process, json.loads((place / "ready.json").read_text())


@contextmanager
def running(place, **options):
    process, found = started(place, **options)
    try:
        yield process, found
    finally:
        process.terminate()
        code = process.wait(60)
        process.stdout.close()
    assert code == 0


class Connection:
    """A keep-alive connection with as little of its own as can be."""

    def __init__(self, found):
        self.port, self.token = found["ports"]["http"], found["token"]

    async def open(self):
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)
        return self

    async def ask(self, method, path, body=None):
        data = b"" if body is None else json.dumps(body).encode()
        self.writer.write(
            f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {self.token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n".encode()
            + data
        )
        head = await self.reader.readuntil(b"\r\n\r\n")
        length = next(
            (int(line[16:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length: ")), 0
        )
        return int(head[9:12]), await self.reader.readexactly(length)

    def close(self):
        self.writer.close()


def resident(pid):
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def processor_seconds(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


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


@pytest.mark.bench
def test_requests_cost_at_most_twice_an_empty_endpoint(place):
    """By the processor time of the server, which other work on the machine does not change; rates are told beside it."""

    async def asked(one, empty, count=400):
        for _each in range(count // 2):
            for path, body in ((f"{QUEUE}/Q000/records", {"text": "10.00"}), (f"{QUEUE}/Q000/read", None)):
                status, answer = await one.ask("POST", "/api/v1/empty" if empty else path, body)
                assert status < 300, answer

    async def compared(pid, found):
        used, rates = {True: 0.0, False: 0.0}, []
        one = await Connection(found).open()
        await asked(one, empty=False)
        for turn in range(14):  # in turn, so that what changes on the machine meets both
            empty = turn % 2 == 0
            before, began = processor_seconds(pid), time.perf_counter()
            await asked(one, empty)
            rates.append(400 / (time.perf_counter() - began))
            used[empty] += processor_seconds(pid) - before
        one.close()
        return used, [real / empty for empty, real in zip(rates[::2], rates[1::2], strict=True)]

    with running(place) as (process, found):
        used, rates = asyncio.run(compared(process.pid, found))
    ratio = used[True] / used[False]
    print(f"ratio {ratio:.2f} by processor time ({used[True]:.2f} and {used[False]:.2f} s for 2,800 requests), ")
    print(f"{median(rates):.2f} by requests a second, of rounds {[round(each, 2) for each in rates]}")
    reach(0.5, ratio, "serve: an empty endpoint's processor time, to a READQ's or WRITEQ's request")


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
